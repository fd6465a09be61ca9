"""What was learned from sessions, who said what, and what is kept of it with the
commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from memcli.text.controls import for_display, for_prompt, strip_controls
from memcli.text.secrets import redact_secrets
from memcli.views.entries import Keys
from memcli.views.text import count, in_one_line

if TYPE_CHECKING:
    from memcli.commands.drop import DropReport
    from memcli.commands.extract import AfterSession, Learned, MomentReport
    from memcli.commands.forget import ForgottenReport
    from memcli.commands.history import ForgetReport, HistoryReport, ReplayReport
    from memcli.commands.inbox import InboxReport
    from memcli.commands.keep import KeepReport
    from memcli.history.docs import Doc
    from memcli.sessions.discover import Discovery
    from memcli.sessions.model import Session, Turn

_SHOWN = 400
_NEWEST = 12  # corrections that fit a screen
_WHO = {
    "user": "person",
    "assistant": "agent",
    "agent": "another agent",
    "injected": "harness",
}
_DONE = {
    "learned": "+",
    "reinforced": "=",
    "restored": "<",
    "noted": "+",
    "retired": "-",
}


def extract_keys(done: AfterSession) -> Keys:
    report = done.extract
    return {
        **report._asdict(),
        **dict.fromkeys(("extract", "why", "spoken", "turns", "read", "patches"), ...),
        "engine_because": report.why,
        "sessions": [
            {
                **each._asdict(),
                "failed": [{"scope": s, "why": why} for s, why in each.failed],
            }
            for each in report.sessions
        ],
    }


def extract_text(done: AfterSession) -> str:
    """What was learned, by session, and what was not."""
    report = done.extract
    lines = [line for session in report.sessions for line in _session_text(session)]
    if skipped := {one.scope for session in report.sessions for one in session.skipped}:
        lines.append(
            f"{count(len(skipped), 'scope')} skipped: --json says which and why"
        )
    if report.more:
        number = count(len(report.more), "older session")
        lines.append(f"{number} not read: --all reads every one, --json names them")
    if done.reinforced:
        number = count(len(done.reinforced), "entry", "entries")
        lines.append(f"reinforced {number} that the sessions recalled")
    if done.compacted:
        merged = sorted(Counter(event.what for event in done.compacted).items())
        lines.append(
            "compacted: " + ", ".join(f"{what} {number}" for what, number in merged)
        )
    if report.sessions:
        lines.append(f"engine {report.engine}: {report.why}")
    else:
        none = "no new sessions of this repository: mem extract --list says where it looked"
        lines.insert(0, none)
    return for_display("\n".join(lines))


def inbox_keys(report: InboxReport) -> Keys:
    left_out = ("became", "named", "by")
    return {
        "proposals": [
            {key: value for key, value in one._asdict().items() if key not in left_out}
            for one in report.proposals
        ]
    }


def inbox_text(report: InboxReport) -> str:
    """Each proposal with its title, its text, the words around, and where it is
    from."""
    lines = []
    for one in report.proposals:
        lines.append(f"{one.id[:8]}  {one.since}  {one.kind}: {one.title}")
        text = " ".join(one.text.split())
        around = one.around if one.around not in (text, one.title) else ""
        told = [text if text.rstrip(".") != one.title else "", around]
        lines += [f"          {each}" for each in filter(None, told)]
        lines.append(f"          from {one.source}")
    none = "nothing waits: mem extract proposes what is likely"
    hint = "mem keep ID writes one, mem drop ID forgets it"
    return for_display("\n".join([*lines, hint] if lines else [none]))


def keep_text(report: KeepReport) -> str:
    """What was written where, a line each."""
    lines = [
        f"{event.what} {event.id[:8]} in {event.path}: {event.title}"
        for event in report.events
    ]
    return for_display("\n".join(lines))


def drop_text(report: DropReport) -> str:
    """What was dropped, a line each."""
    lines = [f"dropped {one.id[:8]}: {one.title}" for one in report.dropped]
    return for_display("\n".join(lines))


def replay_text(report: ReplayReport) -> str:
    """How many corrections could have been prevented, and each with what was known
    before."""
    found = report.corrections
    lines = [
        f"{count(report.replayed, 'session')}, {report.corrected} of them corrected by a person,"
        f" {count(len(found), 'correction')}"
    ]
    if report.replayed < report.sessions:
        lines.append(
            f"of {report.sessions}, the newest: it ends after {report.seconds:.0f} s"
        )
    if not report.enough:
        lines.append("too little history: shares say something from 20 sessions on")
    counts = {
        "findable before that session": sum(
            bool(one.memory or one.history) for one in found
        ),
        "  in memory": sum(bool(one.memory) for one in found),
        "  in history": sum(bool(one.history) for one in found),
        "told by a hook": sum(one.told for one in found),
    }
    for what, number in counts.items() if found else ():
        share = f"{number / len(found):5.0%}" if report.enough else ""
        lines.append(f"{what:<30}{number:>4} of {len(found)}{share}")
    for one in found[:_NEWEST]:
        known = one.memory or one.history
        how = "told" if one.told else "findable" if known else "not known"
        lines += [f"{one.date}  {how:<9}  {in_one_line(one.said)}"]
        lines += [f"{'':<23}{known}"] if known else []
    left = len(found) - _NEWEST
    lines += [f"... and {left} more (--json lists all)"] if left > 0 else []
    return for_display("\n".join(lines))


def _session_text(session: Learned) -> list[str]:
    if session.note:
        return [f"{session.name}: {session.note}"]
    said = [
        f"{number} {what}"
        for what, number in Counter(e.what for e in session.events).items()
    ]
    dropped = sum(session.dropped.values())
    said += [f"{dropped} dropped"] if dropped else []
    what = f"{session.name} ({session.format}, {count(session.turns, 'turn')})"
    lines = [f"{what}: {', '.join(said) or 'nothing learned'}"]
    for event in session.events:
        tail = f"{event.scope}, id {event.id[:8]}" if event.id else event.scope
        lines.append(f"  {_DONE[event.what]} {event.path}: {event.title} ({tail})")
    lines += [f"  dropped {number}: {why}" for why, number in session.dropped.items()]
    lines += [
        f"  found, and over the most of a session: {title}" for title in session.more
    ]
    lines += [f"  ? proposed: {title} (mem inbox)" for title in session.proposed]
    return lines + [f"  not looked at: {what}" for what in session.cut]


def moment_text(report: MomentReport) -> str:
    if report.what == "checkpoint":
        return f"noted in {report.path}"
    return f"wrote {report.path}: {count(report.risks, 'risk')}"


def turns_text(sessions: Iterable[Session]) -> str:
    """Each turn with its line, its speaker and how it begins."""
    lines = []
    for each in sessions:
        people = sum(turn.human for turn in each.turns)
        about = f"{each.format}, {len(each.turns)} turns, {people} of a person"
        lines.append(
            f"# {each.id}: {about}" + (f", {each.cut} left out" if each.cut else "")
        )
        for turn in each.turns:
            words = " ".join(_words(turn).split())
            words = words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"
            lines.append(f"{turn.line or turn.offset:>6} {_speaker(turn):<13} {words}")
    return "\n".join(lines)


def turns_keys(sessions: Iterable[Session]) -> Keys:
    def one(turn: Turn) -> dict[str, object]:
        who = _speaker(turn)
        return {
            "line": turn.line,
            "speaker": who,
            "time": turn.time,
            "text": _words(turn),
        }

    told = [
        {"id": s.id, "format": s.format, "turns": list(map(one, s.turns))}
        for s in sessions
    ]
    return {"sessions": told}


def _speaker(turn: Turn) -> str:
    return turn.tool or _WHO.get(turn.origin, turn.origin)


def _words(turn: Turn) -> str:
    text = turn.text or ", ".join(
        f"{key}: {value}" for key, value in turn.input.items()
    )
    return redact_secrets(strip_controls(f"(failed) {text}" if turn.error else text))


def doc_text(doc: Doc) -> str:
    """A whole exchange or commit."""
    head = f"{doc.handle}  {doc.date[:16].replace('T', ' ')}  {doc.who}  {doc.unit}"
    about = [
        f"{name}: {', '.join(values)}" for name, values in doc.about.items() if values
    ]
    return for_display("\n".join([head, *about, "", for_prompt(doc.whole)]))


def doc_keys(doc: Doc) -> Keys:
    return {
        **dict.fromkeys(doc._fields, ...),
        "id": doc.handle,
        **doc.facts,
        "title": for_prompt(doc.title),
        "said": [{"speaker": who, "text": for_prompt(text)} for who, text in doc.said],
        "about": doc.about,
    }


def history_text(report: HistoryReport) -> str:
    """One line of what is kept and what was new."""
    new = report.added
    mb = report.added.bytes / (1 << 20)
    of = f" of {count(len(new.agents), 'agent')}" if new.agents else ""
    size = f"{mb:.0f} MB" if mb >= 1 else f"{mb * 1024:.0f} KB"
    kept = f"{count(report.sessions, 'session')} and {count(report.commits, 'commit')}"
    came = f"{count(new.sessions, 'session')}{of} and {count(new.commits, 'commit')}"
    added = f"new: {came}" if new.sessions or new.commits else "nothing is new"
    return f"{kept} are kept, {size}; {added} ({report.seconds:.0f} s)"


def history_keys(report: HistoryReport) -> Keys:
    new = report.added
    return {
        **dict.fromkeys(("added", "looked"), ...),
        "bytes": new.bytes,
        "new": {
            "sessions": new.sessions,
            "exchanges": new.exchanges,
            "commits": new.commits,
        },
        "agents": new.agents,
        "problems": [{"path": path, "what": what} for path, what in new.problems],
    }


def looked_text(found: Discovery) -> str:
    """Where it was looked for sessions, and what of it is this repository's."""
    rows = [
        f"{o.agent:<9} {o.found:>5} of {o.files:>5}  {o.folder}" for o in found.looked
    ]
    mine = [f"{o.format:<9} {o.session or o.path.stem}  {o.path}" for o in found.found]
    return "\n".join(
        [*rows, "", *mine, *(f"unread: {at}: {why}" for at, why in found.unread)]
    )


def looked_keys(found: Discovery) -> Keys:
    unread = [{"path": path, "why": why} for path, why in found.unread]
    return {"found": ..., "sessions": found.found, "unread": unread}


def forgotten_text(report: ForgottenReport) -> str:
    """Which entries are gone, and what still holds their words."""
    lines = [
        f"forgot {for_display(title)} ({path}, id {name[:8]})"
        for name, path, title in report.entries
    ]
    if report.exchanges:
        lines.append(f"and {count(report.exchanges, 'exchange')} of history")
    lines += [f"not reached: {left}" for left in report.left]
    return "\n".join(lines)


def forget_text(report: ForgetReport) -> str:
    """What is gone, and what was learned from it."""
    units = report.units
    what = units[0] if len(units) == 1 else f"{len(units)} sessions or commits"
    lines = [f"{'would forget' if report.dry_run else 'forgot'} {what}"]
    if report.entries:
        lines.append("learned from it, and still in memory (mem retire ID):")
        lines += [f"  {id[:8]}  {path}  {title}" for id, path, title in report.entries]
    return "\n".join(lines)

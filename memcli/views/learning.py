"""What the verbs of learning say: what sessions taught, what waits for a yes, what
memory was worth, and who said what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memcli.text.controls import for_display, strip_controls
from memcli.text.secrets import redact_secrets
from memcli.views.entries import Keys
from memcli.views.text import count, in_one_line, place

if TYPE_CHECKING:
    from memcli.commands.drop import DropReport
    from memcli.commands.extract import AfterSession, MomentReport
    from memcli.commands.history import Correction, ReplayReport
    from memcli.commands.inbox import InboxReport
    from memcli.commands.keep import KeepReport
    from memcli.extraction.extract import Learned
    from memcli.extraction.placement import PlacedFinding
    from memcli.extraction.proposals import Proposal
    from memcli.sessions.discover import Discovery
    from memcli.sessions.model import Session, Turn

_MOST_CHARACTERS = 400  # of a turn
_MOST_CORRECTIONS = 12  # as many as fit a screen
_SPEAKERS = {
    "user": "person",
    "assistant": "agent",
    "agent": "another agent",
    "injected": "harness",
}
_SIGNS = {
    "learned": "+",
    "reinforced": "=",
    "restored": "<",
    "noted": "+",
    "retired": "-",
}


def extract_keys(done: AfterSession) -> Keys:
    """The report's fields with those of the sessions as objects."""
    report = done.extract
    sessions = []
    for session in report.sessions:
        failed = [{"scope": scope, "why": why} for scope, why in session.failed]
        sessions.append({**session._asdict(), "failed": failed})
    return {
        **report._asdict(),
        **dict.fromkeys("extract why spoken turns read patches".split(), ...),
        "engine_because": report.why,
        "sessions": sessions,
    }


def extract_text(done: AfterSession) -> str:
    """What was learned, by session, and what was not."""
    report = done.extract
    lines = []
    if not report.sessions:
        none = "no new sessions of this repository"
        lines.append(f"{none}: mem extract --show sessions says where it looked")
    for session in report.sessions:
        lines += _session_lines(session)
    if report.more:
        number = count(len(report.more), "older session")
        lines.append(f"{number} not read: --all reads every one, --json names them")
    if done.reinforced:
        number = count(len(done.reinforced), "entry", "entries")
        lines.append(f"reinforced {number} that the sessions recalled")
    if done.compacted:
        counts = sorted(Counter(event.what for event in done.compacted).items())
        merged = ", ".join(f"{what} {number}" for what, number in counts)
        lines.append(f"compacted: {merged}")
    read = [session for session in report.sessions if not session.note]
    if read and (report.engine != "rules" or not any(each.events for each in read)):
        lines.append(f"by {report.engine}: {report.why}")
    return for_display("\n".join(lines))


def proposed_lines(done: AfterSession) -> list[str]:
    """What a run that writes nothing would let wait for a yes."""
    titles = (title for each in done.extract.sessions for title in each.proposed)
    return [f"would propose: {title}" for title in map(for_display, titles)]


def _session_lines(session: Learned) -> list[str]:
    if session.note:
        return [f"{place(session.name)}: {session.note}"]
    counts = Counter(event.what for event in session.events)
    done = [f"{number} {what}" for what, number in counts.items()]
    if session.dropped:
        done.append(f"{sum(session.dropped.values())} dropped")
    name = f"{place(session.name)} ({session.format}, {count(session.turns, 'turn')})"
    lines = [f"{name}: {', '.join(done) or 'nothing learned'}"]
    lines += map(_event_line, session.events)
    lines += [f"  dropped {number}: {why}" for why, number in session.dropped.items()]
    lines += [
        f"  found, and over the most of a session: {each}" for each in session.more
    ]
    lines += [f"  not written again: {what}" for what in session.refused]
    lines += [f"  ? proposed: {title} (mem inbox)" for title in session.proposed]
    lines += [f"  not looked at: {what}" for what in session.cut]
    return lines


def _event_line(event: PlacedFinding) -> str:
    tail = f"{event.scope}, id {event.id[:8]}" if event.id else event.scope
    return f"  {_SIGNS[event.what]} {place(event.path)}: {event.title} ({tail})"


def moment_text(report: MomentReport) -> str:
    """Which file was written before or in the work."""
    if report.what == "checkpoint":
        return f"noted in {place(report.path)}"
    return f"wrote {place(report.path)}: {count(report.risks, 'risk')}"


def inbox_keys(report: InboxReport) -> Keys:
    """The proposals as objects."""
    hidden = ("became", "named", "by")
    proposals = []
    for proposal in report.proposals:
        fields = proposal._asdict().items()
        proposals.append({key: value for key, value in fields if key not in hidden})
    return {"proposals": proposals}


def inbox_text(report: InboxReport) -> str:
    """Each proposal with its title, its text, the words around, and where it is
    from."""
    if not report.proposals:
        return "nothing waits: mem extract proposes what is likely"
    lines = []
    for proposal in report.proposals:
        lines += _proposal_lines(proposal)
    lines.append("mem keep ID writes one, mem drop ID forgets it")
    return for_display("\n".join(lines))


def _proposal_lines(proposal: Proposal) -> list[str]:
    title = proposal.title
    lines = [f"{proposal.id[:8]}  {proposal.since}  {proposal.kind}: {title}"]
    text = " ".join(proposal.text.split())
    if text and text.rstrip(".") != title:
        lines.append(f"          {text}")
    if proposal.around and proposal.around not in (text, title):
        lines.append(f"          {proposal.around}")
    return [*lines, f"          from {place(proposal.source)}"]


def keep_text(report: KeepReport) -> str:
    """What was written where, a line each."""
    lines = [
        f"{event.what} {event.id[:8]} in {place(event.path)}: {event.title}"
        for event in report.events
    ]
    return for_display("\n".join(lines))


def drop_text(report: DropReport) -> str:
    """What was dropped, a line each."""
    lines = [f"dropped {each.id[:8]}: {each.title}" for each in report.dropped]
    return for_display("\n".join(lines))


def eval_text(report: ReplayReport) -> str:
    """How many corrections could have been prevented, and each with what was known
    before."""
    if not report.sessions:
        return "nothing to replay: mem index --history has found no session of an agent"
    corrections = report.corrections
    replayed = f"{count(report.replayed, 'session')}, {report.corrected} of them"
    number = count(len(corrections), "correction")
    lines = [f"{replayed} corrected by a person, {number}"]
    if report.replayed < report.sessions:
        limit = f"it ends after {report.seconds:.0f} s"
        lines.append(f"of {report.sessions}, the newest: {limit}")
    if not report.enough:
        lines.append("too little history: shares say something from 20 sessions on")
    if corrections:
        lines += _share_lines(report)
    else:
        lines.append(
            "a correction puts right what an agent did or said, in four telling words"
            " or more; a rule that a person states is none, though mem extract keeps it"
        )
    for correction in corrections[:_MOST_CORRECTIONS]:
        lines += _correction_lines(correction)
    left = len(corrections) - _MOST_CORRECTIONS
    if left > 0:
        lines.append(f"... and {left} more (--json lists all)")
    return for_display("\n".join(lines))


def _share_lines(report: ReplayReport) -> list[str]:
    corrections = report.corrections
    known_by: dict[str, Sequence[object]] = {
        "findable before that session": [
            correction.memory or correction.history for correction in corrections
        ],
        "  in memory": [correction.memory for correction in corrections],
        "  in history": [correction.history for correction in corrections],
        "told by a hook": [correction.told for correction in corrections],
    }
    lines = []
    for what, values in known_by.items():
        number = sum(map(bool, values))
        share = _share(number, len(corrections)) if report.enough else ""
        lines.append(f"{what:<30}{number:>4} of {len(corrections)}{share}")
    telling = report.telling
    if telling.prompts:
        each = telling.tokens / telling.prompts
        asked = f"{telling.answered:>4} of {telling.prompts}"
        lines.append(f"{'prompts told something':<30}{asked}, {each:.0f} tokens each")
    return lines


def _share(number: int, whole: int) -> str:
    """A share and its 95 % interval by Wilson's score."""
    spread = 1.96**2 / whole
    share = number / whole
    middle = share + spread / 2
    reach = math.sqrt(spread * (share * (1 - share) + spread / 4))
    low, high = ((middle + sign * reach) / (1 + spread) for sign in (-1, 1))
    return f"{share:5.0%} ({low:.0%} to {high:.0%})"


def _correction_lines(correction: Correction) -> list[str]:
    known = correction.memory or correction.history
    how = "findable" if known else "not known"
    if correction.told:
        how = "told"
    lines = [f"{correction.date}  {how:<9}  {in_one_line(correction.said)}"]
    return [*lines, f"{'':<23}{known}"] if known else lines


def turns_text(sessions: Iterable[Session]) -> str:
    """Each turn with its line, its speaker and how it begins."""
    lines = []
    for session in sessions:
        people = sum(turn.human for turn in session.turns)
        head = f"# {session.id}: {session.format}, {len(session.turns)} turns"
        left_out = f", {session.cut} left out" if session.cut else ""
        lines.append(f"{head}, {people} of a person{left_out}")
        for turn in session.turns:
            words = " ".join(_turn_words(turn).split())
            if len(words) > _MOST_CHARACTERS:
                words = words[: _MOST_CHARACTERS - 1] + "…"
            number = f"{turn.line or turn.offset:>6}"
            lines.append(f"{number} {_speaker(turn):<13} {words}")
    return "\n".join(lines)


def turns_keys(sessions: Iterable[Session]) -> Keys:
    """Each session with its turns as objects."""
    rows = [
        {
            "id": session.id,
            "format": session.format,
            "turns": [_turn_object(turn) for turn in session.turns],
        }
        for session in sessions
    ]
    return {"sessions": rows}


def _turn_object(turn: Turn) -> dict[str, object]:
    return {
        "line": turn.line,
        "speaker": _speaker(turn),
        "time": turn.time,
        "text": _turn_words(turn),
    }


def _speaker(turn: Turn) -> str:
    return turn.tool or _SPEAKERS.get(turn.origin, turn.origin)


def _turn_words(turn: Turn) -> str:
    inputs = (f"{key}: {value}" for key, value in turn.input.items())
    text = turn.text or ", ".join(inputs)
    return redact_secrets(strip_controls(f"(failed) {text}" if turn.error else text))


def looked_text(discovery: Discovery) -> str:
    """Where it was looked for sessions, and what of it is this repository's."""
    lines = [
        f"{looked.agent:<9} {looked.found:>5} of {looked.files:>5}  {looked.folder}"
        for looked in discovery.looked
    ]
    lines.append("")
    lines += [
        f"{looked.format:<9} {looked.session or place(looked.path.stem)}  {place(str(looked.path))}"
        for looked in discovery.found
    ]
    lines += [f"unread: {place(str(path))}: {why}" for path, why in discovery.unread]
    return "\n".join(lines)


def looked_keys(discovery: Discovery) -> Keys:
    """The sessions under that name, and why others were not read."""
    unread = [{"path": path, "why": why} for path, why in discovery.unread]
    return {"found": ..., "sessions": discovery.found, "unread": unread}

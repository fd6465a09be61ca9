"""Output of the learning commands: what was learned, what waits for a yes, what memory
could have prevented, and who said what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from memcli.text.controls import for_display, strip_controls
from memcli.text.secrets import redact_secrets
from memcli.views.entries import Keys
from memcli.views.text import count, first, in_one_line, place

if TYPE_CHECKING:
    from memcli.commands.drop import DropReport
    from memcli.commands.extract import AfterSession, MomentReport
    from memcli.commands.history import Correction, ReplayReport
    from memcli.commands.inbox import InboxReport
    from memcli.commands.keep import KeepReport
    from memcli.extraction.extract import ExtractReport, Learned
    from memcli.extraction.placement import PlacedFinding
    from memcli.extraction.proposals import Proposal
    from memcli.sessions.discover import Discovery
    from memcli.sessions.model import Session, Turn

_MORE = "a language model finds more: mem init --learn-with claude (or anthropic)"
_MOST_CHARACTERS = 400  # of a turn
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
    """The report's fields, with the sessions as objects."""
    report = done.extract
    sessions = []
    for session in report.sessions:
        failed = [{"scope": scope, "why": why} for scope, why in session.failed]
        sessions.append({**session._asdict(), "failed": failed})
    return {
        **report._asdict(),
        **dict.fromkeys("extract spoken turns read patches".split(), ...),
        "sessions": sessions,
    }


def extract_text(outcome: AfterSession) -> str:
    """What was learned from each session, and what was not."""
    report = outcome.extract
    lines = []
    if not report.sessions:
        none = "no new sessions of this repository"
        lines.append(f"{none}: mem extract --show sessions shows where it looked")
    for session in report.sessions:
        lines += _session_lines(session)
    if report.more:
        number = count(len(report.more), "older session")
        lines.append(f"{number} not read: --all reads them all, --json lists them")
    lines += _afterwards(outcome)
    if engine := _engine_line(report):
        lines.append(engine)
    return for_display("\n".join(lines))


def _afterwards(outcome: AfterSession) -> Iterator[str]:
    """What was done with memory after the sessions were read."""
    if outcome.reinforced:
        number = count(len(outcome.reinforced), "entry", "entries")
        yield f"reinforced {number} that the sessions recalled"
    if outcome.compacted:
        counts = sorted(Counter(event.what for event in outcome.compacted).items())
        merged = ", ".join(f"{what} {number}" for what, number in counts)
        yield f"compacted: {merged}"


def _engine_line(report: ExtractReport) -> str:
    """What learned, where a person may want the other; "" if nothing was read, or
    rules found something."""
    read = [session for session in report.sessions if not session.note]
    if read and report.engine != "rules":
        return "by a language model: --engine rules does without"
    if read and not any(each.events for each in read):
        return f"by rules: {_MORE}"
    return ""


def proposed_lines(done: AfterSession) -> list[str]:
    """What a dry run would propose."""
    titles = (title for each in done.extract.sessions for title in each.proposed)
    return [f"would propose: {title}" for title in map(for_display, titles)]


def _session_lines(session: Learned) -> list[str]:
    if session.note:
        return [f"{place(session.name)}: {session.note}"]
    counts = Counter(event.what for event in session.events)
    learned = [f"{number} {what}" for what, number in counts.items()]
    if session.dropped:
        learned.append(f"{sum(session.dropped.values())} dropped")
    name = f"{place(session.name)} ({session.format}, {count(session.turns, 'turn')})"
    lines = [f"{name}: {', '.join(learned) or 'nothing learned'}"]
    lines += map(_event_line, session.events)
    lines += [f"  dropped {number}: {why}" for why, number in session.dropped.items()]
    lines += [
        f"  found, but over the limit for one session: {each}" for each in session.more
    ]
    lines += [f"  not written again: {lesson}" for lesson in session.refused]
    lines += [f"  ? proposed: {title} (mem inbox)" for title in session.proposed]
    lines += [f"  not looked at: {part}" for part in session.cut]
    return lines


def _event_line(event: PlacedFinding) -> str:
    tail = f"{event.scope}, id {event.id[:8]}" if event.id else event.scope
    return f"  {_SIGNS[event.what]} {place(event.path)}: {event.title} ({tail})"


def moment_text(report: MomentReport) -> str:
    """The file that was written before or during work."""
    if report.what == "checkpoint":
        return f"recorded in {place(report.path)}"
    return f"wrote {place(report.path)}: {count(report.risks, 'risk')}"


def inbox_keys(report: InboxReport) -> Keys:
    """The proposals as objects."""
    hidden = ("became", "named", "by", "points")
    proposals = []
    for proposal in report.proposals:
        fields = proposal._asdict().items()
        proposals.append({key: value for key, value in fields if key not in hidden})
    return {"proposals": proposals}


def inbox_text(report: InboxReport) -> str:
    """Each proposal with its title, text, context and source."""
    if not report.proposals:
        return "no proposals; mem extract makes them"
    lines = []
    for proposal in report.proposals:
        lines += _proposal_lines(proposal)
    lines.append("mem keep ID writes one to memory, mem drop ID deletes it")
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
    """One line for each entry: what was written, and where."""
    lines = [
        f"{event.what} {event.id[:8]} in {place(event.path)}: {event.title}"
        for event in report.events
    ]
    return for_display("\n".join(lines))


def drop_text(report: DropReport) -> str:
    """One line for each dropped proposal."""
    lines = [f"dropped {each.id[:8]}: {each.title}" for each in report.dropped]
    return for_display("\n".join(lines))


def eval_text(report: ReplayReport) -> str:
    """How many corrections could have been prevented, and what was known before
    each."""
    if not report.sessions:
        return "nothing to replay: mem index --history found no agent session"
    corrections = report.corrections
    replayed = f"{count(report.replayed, 'session')}, {report.corrected} of them"
    lines = [
        f"{replayed} corrected by a person, {count(len(corrections), 'correction')}"
    ]
    if report.replayed < report.sessions:
        stopped = f"stopped after {report.seconds:.0f} s"
        lines.append(f"of {report.sessions}, the newest: {stopped}")
    if not report.enough:
        lines.append("too little history: shares mean something from 20 sessions on")
    if corrections:
        lines += _share_lines(report)
    else:
        lines.append(
            "a correction sets right what an agent did or said, in four telling words"
            " or more; a stated rule does not count, though mem extract keeps it"
        )
    lines += first(list(chain.from_iterable(map(_correction_lines, corrections))))
    return for_display("\n".join(lines))


def _share_lines(report: ReplayReport) -> list[str]:
    corrections = report.corrections
    telling = report.telling
    ruled = [correction for correction in corrections if correction.rule]
    told_there = sum(correction.told for correction in ruled)
    before = sum(bool(correction.history) for correction in corrections)
    rows = [
        ("a rule of memory says it", len(ruled), len(corrections)),
        ("  told there, had it stood", told_there, len(ruled)),
        ("said before that session", before, len(corrections)),
        ("prompts told something", telling.answered, telling.prompts),
        ("  the agent took it up", telling.used, telling.answered),
    ]
    lines = []
    for what, number, whole in filter(itemgetter(2), rows):
        share = _share(number, whole) if report.enough else ""
        lines.append(f"{what:<28}{number:>4} of {whole}{share}")
    if telling.answered:
        each = telling.tokens / telling.answered
        lines.append(f"{'  tokens of such a prompt':<28}{each:>4.0f}")
    return lines


def _share(number: int, total: int) -> str:
    """A share and its 95 % interval by Wilson's score."""
    spread = 1.96**2 / total
    share = number / total
    middle = share + spread / 2
    reach = math.sqrt(spread * (share * (1 - share) + spread / 4))
    low, high = ((middle + sign * reach) / (1 + spread) for sign in (-1, 1))
    return f"{share:5.0%} ({low:.0%} to {high:.0%})"


def _correction_lines(correction: Correction) -> list[str]:
    known = correction.rule or correction.history
    how = "said before" if known else "not known"
    if correction.rule:
        how = "told" if correction.told else "not told"
    lines = [f"{correction.date}  {how:<11}  {in_one_line(correction.said)}"]
    return [*lines, f"{'':<25}{known}"] if known else lines


def turns_text(sessions: Iterable[Session]) -> str:
    """Each turn with its line, its speaker and its first words."""
    lines = []
    for session in sessions:
        people = sum(turn.human for turn in session.turns)
        head = f"# {session.id}: {session.format}, {len(session.turns)} turns"
        left_out = f", {session.cut} left out" if session.cut else ""
        lines.append(f"{head}, {people} by a person{left_out}")
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
    """The places searched for sessions, and which sessions belong to this
    repository."""
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
    """The sessions of that name, and why others were not read."""
    unread = [{"path": path, "why": why} for path, why in discovery.unread]
    return {"found": ..., "sessions": discovery.found, "unread": unread}

"""A session as a model is shown it: what the person said, what the agent found out and
how it closed, within a bound. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from memcli.extraction.rules.commands import command_of, essence
from memcli.extraction.rules.statements import stated
from memcli.extraction.rules.words import is_logged, says, sentences, spoken
from memcli.extraction.segments import moments
from memcli.providers.llm.ledger import BYTES_PER_TOKEN
from memcli.sessions import speakers
from memcli.sessions.model import Turn
from memcli.text.controls import fence_behind, fence_safe
from memcli.text.secrets import redact_secrets

TOKENS = 2_500  # of a session at most
FAILED = (160, 80)  # characters kept of the head and the tail of a failed result
CALL = 100  # characters of a call that failed
FINDINGS = 6  # sentences in which the agent finds something out, the latest
FINDING = 40  # characters of the shortest of them
PASTED = 3  # lines of code or of a log that are still shown
RANGES = 8  # stretches of turns left out that are named
NOTE = 300  # bytes of the words that name them
ROOM = TOKENS * BYTES_PER_TOKEN - NOTE  # bytes of the lines

# What a line is worth where not all fit: a failure the least, the end the most.
_FAILURE, _REPLY, _FOUND, _PERSON, _LIKELY, _RULE, _END = range(7)


class _Limits(NamedTuple):
    """Characters kept of the head and the tail of a turn of the person, and of what the
    agent said last before the next one."""

    person: tuple[int, int]
    closing: tuple[int, int]


# What a person said is whole where there is room; else less is kept of each turn, so
# that all of them are seen.
LIMITS = (
    _Limits(person=(6000, 2000), closing=(300, 200)),
    _Limits(person=(1500, 500), closing=(300, 200)),
    _Limits(person=(400, 200), closing=(160, 80)),
)


class SessionDigest(NamedTuple):
    """A session as it is sent, the words of each turn shown by its number, from 1 in
    the session, and what was left out."""

    text: str
    shown: Mapping[int, str]
    cut: tuple[str, ...] = ()


class _Line(NamedTuple):
    number: int
    speaker: str
    text: str
    worth: int

    @property
    def row(self) -> str:
        """As it is sent. Only a turn begins at the margin: no text can feign one."""
        rows = [row for row in self.text.splitlines() if row.strip()]
        return f"[{self.number}] {self.speaker}: " + "\n  ".join(rows)

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.row.encode("utf-8", "replace")) + 1


def digest(turns: Sequence[Turn], first: int = 0) -> SessionDigest:
    """The digest of the turns from index `first` on; they keep their numbers in the
    session."""
    closing = set(moments(turns, first, len(turns)))
    findings = _findings(turns, first, closing)
    for limits in LIMITS:
        lines = [*_lines(turns, first, closing, findings, limits)]
        if _fit(lines):
            break
    kept = _within(lines, turns)
    cut = _left_out(lines, {line.number for line in kept})
    rows = [f"({note})" for note in cut]
    rows += [line.row for line in kept]
    # Once more as a whole: a key may stand in one turn and its value in the next.
    text = fence_safe(redact_secrets("\n".join(rows)), "transcript")
    return SessionDigest(
        text=f"<transcript>\n{text}\n</transcript>\n" if kept else "",
        shown={line.number: line.text for line in kept},
        cut=cut,
    )


def _lines(
    turns: Sequence[Turn],
    first: int,
    closing: set[int],
    findings: Mapping[int, str],
    limits: _Limits,
) -> Iterator[_Line]:
    """What is shown of the turns from `first` on."""
    calls = dict[str, str]()
    # What a person says word for word again is shown where it was said last.
    said_last = {turn.text: index for index, turn in enumerate(turns) if turn.human}
    for index in range(first, len(turns)):
        turn = turns[index]
        line = _Line(number=index + 1, speaker="agent", text="", worth=_REPLY)
        if turn.human:
            if said_last[turn.text] != index:
                continue
            typed = _cut(_without_code(turn.text), limits.person)
            line = line._replace(speaker="user", text=typed, worth=_PERSON)
        elif turn.origin == "agent":
            text = _cut(_without_code(turn.text), limits.closing)
            line = line._replace(speaker="another agent", text=text)
        elif _is_call(turn):
            calls[turn.call] = command_of(turn)
        elif _has_failed(turn):
            line = line._replace(text=_failed(turn, calls), worth=_FAILURE)
        elif index in closing:
            text = _cut(_without_code(turn.text), limits.closing)
            line = line._replace(text=text)
        elif index in findings:
            text = redact_secrets(findings[index])
            line = line._replace(text=text, worth=_FOUND)
        if line.text:
            yield line


def _is_call(turn: Turn) -> bool:
    return turn.role == "assistant" and bool(turn.tool)


def _has_failed(turn: Turn) -> bool:
    return turn.role == "tool" and turn.error


def _failed(turn: Turn, calls: Mapping[str, str]) -> str:
    call = " ".join(redact_secrets(essence(calls.get(turn.call, ""))).split())[:CALL]
    shown = " ".join(_cut(turn.text, FAILED).split())
    return f"{turn.tool or 'tool'} failed{call and f' (`{call}`)'}: {shown}"


def _cut(text: str, limits: tuple[int, int]) -> str:
    # Redacted before it is cut: half a credential is not recognised.
    return speakers.cut(redact_secrets(text.strip()), limits)


def _findings(turns: Sequence[Turn], first: int, closing: set[int]) -> dict[int, str]:
    """What the agent found out on the way, by the index of its turn."""
    findings = [
        (index, sentence.text)
        for index in range(first, len(turns))
        if spoken(turns[index]) and index not in closing
        for sentence in sentences(turns[index].text)
        if len(sentence.text) > FINDING and says("finding", sentence.low)
    ]
    by_turn = groupby(findings[-FINDINGS:], key=itemgetter(0))
    return {index: " … ".join(text for _, text in group) for index, group in by_turn}


def _without_code(text: str) -> str:
    """What was worded, without code, tables and logs of more than a few lines."""
    shown_rows = list[str]()
    for pasted, group in groupby(_marked(text.split("\n")), key=itemgetter(0)):
        rows = [row for _, row in group]
        long = pasted and len(rows) > PASTED
        shown_rows += [f"[… {len(rows)} pasted lines …]"] if long else rows
    return "\n".join(shown_rows)


def _marked(rows: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """Each line with whether it is code or a log."""
    fence = ""
    for row in rows:
        before = fence
        fence = fence_behind(row.strip(), fence)
        yield bool(fence or before) or is_logged(row), row


def _fit(lines: Sequence[_Line]) -> bool:
    """Whether all lines can be sent."""
    return sum(line.size for line in lines) <= ROOM


def _within(lines: Sequence[_Line], turns: Sequence[Turn]) -> list[_Line]:
    """The lines that fit: all, else the end and what rules rank highest."""
    if _fit(lines):
        return [*lines]
    room = ROOM
    kept = list[_Line]()
    ranked = _by_rules(lines, turns)
    for line in sorted(ranked, key=lambda line: (-line.worth, -line.number)):
        if line.size <= room:
            kept.append(line)
            room -= line.size
    return sorted(kept, key=lambda line: line.number)


def _by_rules(lines: Sequence[_Line], turns: Sequence[Turn]) -> Iterator[_Line]:
    """The lines worth what rules make of their turns; the end is worth most."""
    worth = {
        statement.turn: _RULE if statement.is_rule else _LIKELY
        for statement in stated(turns)
    }
    last = max((line.number for line in lines if line.worth == _PERSON), default=0)
    for line in lines:
        if line.number >= last and line.worth in (_PERSON, _REPLY):
            yield line._replace(worth=_END)
        else:
            most = max(line.worth, worth.get(line.number - 1, 0))
            yield line._replace(worth=most)


def _left_out(lines: Sequence[_Line], kept: set[int]) -> tuple[str, ...]:
    """Which turns are not shown, in words."""
    stretches = [
        [line.number for line in group]
        for is_kept, group in groupby(lines, key=lambda line: line.number in kept)
        if not is_kept
    ]
    if not stretches:
        return ()
    named = [
        f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
        for numbers in stretches[:RANGES]
    ]
    count = sum(map(len, stretches))
    more = " and others" if len(stretches) > RANGES else ""
    told = f"turns {', '.join(named)}{more}"
    return (f"the session is too long for one call; left out are {count}: {told}",)

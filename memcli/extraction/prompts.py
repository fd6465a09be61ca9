"""What a language model is asked about a session, and the strict reading of what it
answers: it can fill the fields of the schema and nothing else, never name files to
write to, or ids. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from memcli.extraction.episodes import moments
from memcli.extraction.rules.commands import command_of, essence
from memcli.extraction.rules.words import says, sentences, spoken
from memcli.extraction.scopes import BY_NAME, TEXTS, ExtractionScope
from memcli.memory.values import KINDS, TYPES
from memcli.providers.llm.ledger import read_items
from memcli.sessions import speakers
from memcli.sessions.model import Finding, Stretch, Turn
from memcli.sessions.tools import changed_by
from memcli.text.controls import fence_safe, strip_private
from memcli.text.secrets import redact_secrets

# of a call's transcript at most; characters of a token
TOKENS = 40_000
CHARACTERS = 4
# Characters kept of the head and the tail of a turn.
PERSON = (3000, 1500)
CLOSING = (1400, 900)
OTHER_AGENT = (2000, 600)
FAILED = (240, 240)
FOUND = (
    3  # sentences kept of what an agent says on the way, those that find something out
)
# calls in a row that are shown, and characters of each
CALLS = 8
CALL = 140
_FINDS = {"finding", "reason", "settle"}
MEMORIES = 4_000  # characters of related memories shown beside a transcript
ITEMS = 20
TITLE = 160
TEXT = 2400

SYSTEM, JUDGE, RISKS = (TEXTS[name] for name in ("system", "judge", "risks"))
ITEM, VERDICTS, RISK = (TEXTS["schemas"][name] for name in ("item", "verdicts", "risk"))


class CondensedPart(NamedTuple):
    """A part of a transcript as it is sent, the numbers of its turns, and what was left
    out."""

    text: str
    numbers: frozenset[int]
    cut: tuple[str, ...]


def transcript(turns: Sequence[Turn], first: int = 0) -> list[CondensedPart]:
    """The turns from index `first` on, numbered in the session, in parts that fit a
    call."""
    parts: list[list[tuple[int, str]]] = []
    size = 0
    for number, line in _lines(turns, first):
        if not parts or size + len(line) > TOKENS * CHARACTERS:
            parts = [*parts, []]
            size = 0
        parts[-1].append((number, line))
        size += len(line) + 1
    found = []
    for at, part in enumerate(parts, 1):
        cut = f"part {at} of {len(parts)}: the session is too long for one call"
        lines = [f"({cut})"][: len(parts) - 1] + [line for _, line in part]
        shown = f"<transcript>\n{redact_secrets(chr(10).join(lines))}\n</transcript>\n"
        numbers = frozenset(range(part[0][0], part[-1][0] + 1))
        found.append(CondensedPart(shown, numbers, (cut,) if len(parts) > 1 else ()))
    return found


def _lines(turns: Sequence[Turn], first: int) -> Iterator[tuple[int, str]]:
    closing = set(moments(turns, 0, len(turns)))
    calls: dict[str, int] = {}
    for number, turn in enumerate(turns[first:], first + 1):
        if turn.role == "assistant" and turn.tool:
            if call := _call(turn):
                calls.setdefault(call, number)
        elif text := _words(turn, closing=number - 1 in closing):
            yield from _called(calls)
            calls = {}
            agent = "agent" if turn.role == "assistant" else "another agent"
            failed = turn.role == "tool" and f"{turn.tool or 'tool'} failed"
            who = failed or ("user" if turn.human else agent)
            yield number, f"[{number}] {who}: {fence_safe(text, 'transcript')}"
    yield from _called(calls)


def _called(calls: dict[str, int]) -> Iterator[tuple[int, str]]:
    if calls:
        number = next(iter(calls.values()))
        more = f"; {len(calls) - CALLS} more" if len(calls) > CALLS else ""
        text = fence_safe("; ".join(list(calls)[:CALLS]) + more, "transcript")
        yield number, f"[{number}] calls: {text}"


def _call(turn: Turn) -> str:
    text = " ".join(essence(command_of(turn)).split())
    short = text if len(text) <= CALL else text[: CALL - 1] + "…"
    shown = f"`{short}`" if text else ", ".join(changed_by(turn))
    return f"{turn.tool} {shown}" if shown else ""


def _words(turn: Turn, *, closing: bool) -> str:
    text = turn.text.strip()
    if turn.role == "tool" and not turn.human:
        return speakers.cut(" ".join(text.split()), FAILED) if turn.error else ""
    if turn.human or turn.origin == "agent":
        return speakers.cut(text, PERSON if turn.human else OTHER_AGENT)
    if closing and spoken(turn):
        return speakers.cut(text, CLOSING)
    said = sentences(text) if spoken(turn) else []
    found = [
        one.text for one in said if says("finding", one.low) and len(one.text) > 40
    ]
    return " … ".join(found[-FOUND:])


def schema(item: Mapping[str, Any], scopes: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of a reply with a list of items, of these scopes."""
    known = {"scope": scopes, "kind": KINDS, "type": TYPES}
    enums = {
        key: {"type": "string", "enum": list(values)} for key, values in known.items()
    }
    fields = {key: enums.get(key, value) for key, value in item["properties"].items()}
    items = {"type": "array", "items": {**item, "properties": fields}}
    return {**item, "required": ["items"], "properties": {"items": items}}


def instruction(
    scopes: Sequence[ExtractionScope],
    inputs: Mapping[str, str],
    segments: Sequence[Stretch] = (),
) -> str:
    """What follows the transcript: what to look for in each scope, and what else is to
    be read."""
    parts = ["Name for each item the scope that it belongs to:"]
    parts += [f"- {scope.name}: {scope.looks_for}" for scope in scopes]
    if any(scope.name == "episode" for scope in scopes):
        spans = ", ".join(
            f"{segment.start + 1} to {segment.end}" for segment in segments
        )
        parts.append(f"Segments for episodes: turns {spans}.")
    shown = dict.fromkeys(
        [*(name for scope in scopes for name in scope.shows), "known memories"]
    )
    for name in (name for name in shown if inputs.get(name)):
        tag = name.strip(".").replace(" ", "-").replace(".", "-").lower()
        parts.append(fenced(tag, inputs[name]))
    return "\n".join(parts)


def fenced(tag: str, text: str) -> str:
    """A text between tags, which it cannot close."""
    return f"<{tag}>\n{fence_safe(text, tag)}\n</{tag}>"


def memories(texts: Sequence[str]) -> str:
    """Memories as they are shown, the first given first, as many as there is room
    for."""
    ends = accumulate(len(text) + 1 for text in texts)
    kept = [text for text, end in zip(texts, ends, strict=True) if end <= MEMORIES]
    return redact_secrets(strip_private("\n".join(kept)))


class Parsed(NamedTuple):
    """The findings of a reply, their outcomes, odd items, how many named no turn that
    was shown."""

    findings: tuple[Finding, ...]
    outcomes: tuple[str, ...]
    odd: tuple[str, ...]
    unplaced: int


def parse_reply(text: str, scopes: Sequence[str], numbers: frozenset[int]) -> Parsed:
    """The findings of a reply. Raises ProviderError when it is no list; one odd item is
    dropped."""
    items, odd = read_items(text, schema(ITEM, scopes))
    # What is drawn from memories or files comes from no turn.
    last = max(numbers, default=1)
    items = items[:ITEMS]
    turns = [item["turn"] if BY_NAME[item["scope"]].turns else last for item in items]
    placed = [(i, n) for i, n in zip(items, turns, strict=True) if n in numbers]
    ends = tuple(item.get("outcome", "") for item, _ in placed)
    findings = tuple(_finding(item, number - 1) for item, number in placed)
    return Parsed(
        findings=findings, outcomes=ends, odd=odd, unplaced=len(items) - len(placed)
    )


def _finding(item: Mapping[str, Any], turn: int) -> Finding:
    scope = item["scope"]
    title = _cut(item["title"], TITLE)
    body = _cut(item["text"], TEXT)
    said: dict[str, Any] = {
        key: tuple(item.get(key, ())) for key in ("tags", "paths", "commands")
    }
    renamed = {"person": "about_person", "outside": "tainted", "known": "reinforces"}
    said |= {
        renamed.get(k, k): item[k]
        for k in ("type", "importance", *renamed)
        if k in item
    }
    norm = item.get("norm", False) and BY_NAME[scope].norms
    return Finding(
        scope=scope,
        title=title,
        body=body,
        turn=turn,
        kind=item["kind"],
        institutional=norm,
        **said,
    )


def _cut(text: str, longest: int) -> str:
    # Redacted before it is cut: half a credential is not recognised.
    return redact_secrets(text[: 8 * longest])[:longest]


def parse_risks(text: str) -> tuple[tuple[str, str], ...]:
    """Title and text of each foreseen risk. Raises ProviderError."""
    items, _ = read_items(text, schema(RISK))
    return tuple(
        (_cut(item["title"], TITLE), _cut(item["text"], TEXT)) for item in items[:ITEMS]
    )

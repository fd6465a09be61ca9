"""What a language model is asked about a session, and the strict reading of what it
answers: it can fill the fields of the schema and nothing else, never name files to
write to, or ids. Pure."""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from memcli.extraction import rules
from memcli.extraction.rules.commands import cut
from memcli.extraction.scopes import BY_NAME, TEXTS, ExtractionScope
from memcli.memory.tombstones import words_of
from memcli.memory.values import KINDS, TYPES
from memcli.providers.llm.ledger import read_items
from memcli.sessions.model import Finding, Stretch
from memcli.text.controls import fence_safe, strip_controls, strip_private
from memcli.text.secrets import redact_secrets

MEMORIES = 4_000  # characters of related memories shown beside a transcript
ITEMS = 20  # of a reply that are read
LESSONS = 5  # that a session may leave
TITLE = 90
TEXT = 2400
QUOTE = 8  # bytes of the shortest quote that is no whole turn
COVERED = 0.2
"""The share of a title's words that the turn of what is kept has at least. Chosen on 52
labelled lessons of public sessions (5 of them below it; 31 % of 244 other turns above
it)."""

SYSTEM, JUDGE, RISKS = (TEXTS[name] for name in ("system", "judge", "risks"))
ITEM, VERDICTS, RISK = (TEXTS["schemas"][name] for name in ("item", "verdicts", "risk"))


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
    shown: Collection[int] = (),
) -> str:
    """What follows the transcript: what to look for in each scope, and what else is to
    be read. Segments are named by the numbers of their turns that are `shown`."""
    parts = ["Name for each item the scope that it belongs to:"]
    parts += [f"- {scope.name}: {scope.looks_for}" for scope in scopes]
    spans = filter(None, (_span(segment, shown) for segment in segments))
    if any(scope.name == "episode" for scope in scopes):
        parts.append(f"Segments for episodes: turns {', '.join(spans) or 'none'}.")
    names = dict.fromkeys(
        [*(name for scope in scopes for name in scope.shows), "known memories"]
    )
    for name in (name for name in names if inputs.get(name)):
        tag = name.strip(".").replace(" ", "-").replace(".", "-").lower()
        parts.append(fenced(tag, inputs[name]))
    return "\n".join(parts)


def _span(segment: Stretch, shown: Collection[int]) -> str:
    """The first and the last turn of a segment that are shown; "" without any."""
    inside = [number for number in shown if segment.start < number <= segment.end]
    return f"{min(inside)} to {max(inside)}" if inside else ""


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
    was shown or quoted what does not stand there, the titles of lessons over the
    most."""

    findings: tuple[Finding, ...]
    outcomes: tuple[str, ...]
    odd: tuple[str, ...]
    unplaced: int
    unquoted: int
    more: tuple[str, ...]


def parse_reply(
    text: str, scopes: Sequence[str], shown: Mapping[int, str], most: int = LESSONS
) -> Parsed:
    """The findings of a reply about turns `shown` by their numbers. Raises
    ProviderError when it is no list; one odd item is dropped."""
    items, odd = read_items(text, schema(ITEM, scopes))
    # What is drawn from memories or files comes from no turn.
    last = max(shown, default=1)
    kept = []
    more = []
    unplaced = unquoted = lessons = 0
    for item in items[:ITEMS]:
        scope = BY_NAME[item["scope"]]
        turn = item["turn"] if scope.turns else last
        is_lesson = scope.name != "episode"
        if turn not in shown:
            unplaced += 1
        elif not _is_quoted(item, shown[turn]):
            unquoted += 1
        elif is_lesson and lessons >= most:
            more.append(_title(item["title"]))
        else:
            lessons += 1 if is_lesson else 0
            rests = scope.turns and is_lesson
            is_unsaid = rests and not _is_about(item["title"], shown[turn])
            kept.append({**item, "turn": turn, "is_unsaid": is_unsaid})
    return Parsed(
        findings=tuple(map(_finding, kept)),
        outcomes=tuple(item.get("outcome", "") for item in kept),
        odd=odd,
        unplaced=unplaced,
        unquoted=unquoted,
        more=tuple(more),
    )


def _is_quoted(item: Mapping[str, Any], turn_text: str) -> bool:
    """Whether an item's quote stands in its turn. An episode tells of many turns, and
    what is drawn from memories of none."""
    scope = BY_NAME[item["scope"]]
    if scope.name == "episode" or not scope.turns:
        return True
    quote = _folded(item.get("quote", ""))
    turn = _folded(strip_controls(turn_text))  # as the reply was read
    return quote == turn or (len(quote.encode()) >= QUOTE and quote in turn)


def _is_about(title: str, turn_text: str) -> bool:
    """Whether a turn has enough of a title's words: a quote that stands in a turn does
    not vouch for a lesson on something else."""
    words = words_of(title)
    found = set(words_of(strip_controls(turn_text)))
    met = sum(word in found for word in words)
    return 0 < met >= COVERED * len(words)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _finding(item: Mapping[str, Any]) -> Finding:
    """An item as a finding. What a model worded weighs what a sure rule does, until a
    person confirms it."""
    scope = BY_NAME[item["scope"]]
    is_lesson = scope.name != "episode"
    fields: dict[str, Any] = {
        key: tuple(item.get(key, ())) for key in ("tags", "paths", "commands")
    }
    is_unsaid = item["is_unsaid"]
    renamed = {"person": "about_person", "outside": "tainted", "known": "reinforces"}
    fields |= {
        renamed.get(key, key): item[key] for key in ("type", *renamed) if key in item
    }
    return Finding(
        scope=scope.name,
        title=_title(item["title"]),
        body=_cut(item["text"], TEXT),
        turn=item["turn"] - 1,
        kind=item["kind"],
        importance=rules.SURE if is_lesson else None,
        priority="medium" if is_lesson else "",
        institutional=item.get("norm", False) and scope.norms and not is_unsaid,
        is_unsaid=is_unsaid,
        **fields | ({"reinforces": ""} if is_unsaid else {}),
    )


def _title(text: str) -> str:
    """A title that ends at a word."""
    return cut(redact_secrets(text[: 8 * TEXT]), TITLE)


def _cut(text: str, longest: int) -> str:
    # Redacted before it is cut: half a credential is not recognised.
    return redact_secrets(text[: 8 * longest])[:longest]


def parse_risks(text: str) -> tuple[tuple[str, str], ...]:
    """Title and text of each foreseen risk. Raises ProviderError."""
    items, _ = read_items(text, schema(RISK))
    return tuple(
        (_title(item["title"]), _cut(item["text"], TEXT)) for item in items[:ITEMS]
    )

"""A chunk as the server sends it, and the row that it becomes in the index in
memory."""

import json
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memcli.index.refresh import Row
from memcli.index.vectors import embedded_text, is_content
from memcli.index.view import AROUND
from memcli.memory.entry_values import LISTS
from memcli.memory.values import LEVELS, STORES
from memcli.memory.words import OVERLAP, SIZE, low_forms

MOST_NUMBER = 36_500  # days, the most that any value of an entry counts

_NUMBERS = frozenset(
    "importance count surprise stability difficulty success_count".split()
)
_FLAGS = frozenset("pressing written embed".split())
_ALIKE = "part type kind date title text tags parts around".split()
"""The fields of a chunk that its row has, too."""


class Brought(NamedTuple):
    """A chunk as the server sends it."""

    project: str
    id: int
    entry: str
    part: int
    type: str
    kind: str
    date: str
    title: str
    text: str
    tags: str
    parts: str
    around: str
    metadata: dict[str, Any]
    model: str
    dim: int
    vector: str | None
    order: int | None  # of its entry in the file
    line: int | None
    path: str
    level: str
    store: str
    job: str
    task: str
    of: str


def is_sound(chunk: Brought) -> bool:
    """Whether a push of mem can have written this: whoever may push for a team may
    write anything."""
    is_placed = chunk.level in LEVELS and chunk.store in STORES
    is_listed = chunk.order is not None and chunk.line is not None
    is_named = chunk.entry.isprintable() and chunk.part >= 0
    return is_placed and is_listed and is_named and isinstance(chunk.metadata, dict)


def checked_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an entry that have the type they should have."""
    checked = {"importance": 0.5, "count": 0}
    for key, value in values.items():
        if key in LISTS:
            fits = isinstance(value, list) and all(
                isinstance(item, str) for item in value
            )
        elif key in _NUMBERS:
            fits = type(value) in (int, float) and 0 <= value <= MOST_NUMBER
        else:
            fits = isinstance(value, bool if key in _FLAGS else str)
        if fits:
            checked[key] = value
    return checked


def as_rows(chunks: Sequence[Brought]) -> list[Row]:
    """Chunks as rows of the index in memory, each with the line where it begins; the
    server only knows the line of the entry."""
    ends = dict[tuple[str, str, int | None], int]()
    lines = {}
    for chunk in sorted(chunks, key=lambda chunk: chunk.part):
        entry = (chunk.project, chunk.entry, chunk.order)
        line = ends.get(entry, chunk.line or 1)
        lines[chunk.project, chunk.id] = line
        ends[entry] = line + chunk.text.count("\n", 0, SIZE - OVERLAP)
    return [_as_row(chunk, lines[chunk.project, chunk.id]) for chunk in chunks]


def _as_row(chunk: Brought, line: int) -> Row:
    values = chunk.metadata
    if "promoted_to" in values:
        targets = [f"{target}@{chunk.project}" for target in values["promoted_to"]]
        values["promoted_to"] = targets
    fields = chunk._asdict()
    return Row(
        **{name: fields[name] for name in _ALIKE},
        entry=f"{chunk.entry}@{chunk.project}",
        offset=chunk.order or 0,
        line=line,
        live=1,
        metadata=json.dumps(values),
        rank=0,
        importance=0.0,
        moment="",
    )


def literal(vector: bytes) -> str:
    """A vector of whole numbers in pgvector's text form."""
    return f"[{','.join(map(str, memoryview(vector).cast('b')))}]"


def quantised(vector: str) -> bytes:
    """The vector that `literal` wrote; b"" for any other text."""
    try:
        return array("b", json.loads(vector)).tobytes()
    except (TypeError, ValueError, OverflowError):
        return b""


def content_words(chunk: Brought) -> list[str]:
    """The distinct content words of the text that was embedded for a chunk."""
    text = chunk.around.partition(AROUND)[0] or chunk.text
    forms = low_forms(embedded_text(chunk.title, text))
    return list(dict.fromkeys(word for word in forms if is_content(word)))

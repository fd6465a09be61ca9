"""Notes of basic-memory: front matter, prose, observations and relations. Pure.

`- [category] text #tag (context)` is an observation, `- type [[Other note]]` a relation.
An observation becomes an entry; what else the note says becomes one more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from memcli.exchange.exporter import fenced
from memcli.exchange.importers.draft import (
    Draft,
    day,
    headline,
    key_of,
    shortened,
    split_front,
    words,
)

FORM = "basic-memory"
_OBSERVATION = re.compile(
    r"^[ \t]*[-*][ \t]+\[([^\]\n\[(]{2,40})\](?!\()[ \t]+(\S[^\n]*)(?:\n|\Z)", re.MULTILINE
)
_RELATION = re.compile(
    r"^[ \t]*+[-*][ \t]++((?:[\w-][\w -]{0,39}?)?)[ \t]*+\[\[([^\]\n]+)\]\][^\n]*(?:\n|\Z)",
    re.MULTILINE,
)
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")
_EMPTY = re.compile(
    r"^#{1,6}[ \t]+(?:Observations?|Relations?)[ \t]*(?:\n|\Z)", re.MULTILINE | re.IGNORECASE
)
_TITLE = re.compile(r"\A\s*#[ \t]+[^\n]*(?:\n|\Z)")
_KIND_OF = {
    "decision": "decision",
    "preference": "preference",
    "pitfall": "pitfall gotcha issue problem bug warning risk error mistake",
    "architecture": "architecture design structure component",
    "workflow": "method technique workflow process procedure step steps howto how-to",
    "policy": "policy rule requirement constraint convention standard",
}
_KINDS = {word: kind for kind, names in _KIND_OF.items() for word in names.split()}


class _Note(NamedTuple):
    """A note in parts: `relations` are (type, title of the other note)."""

    name: str
    title: str
    values: Mapping[str, Any]
    prose: str
    observations: tuple[tuple[str, str], ...]
    relations: tuple[tuple[str, str], ...]


def is_note(values: Mapping[str, Any], body: str) -> bool:
    """Whether a text with this front matter is such a note."""
    return "permalink" in values or (
        "title" in values and bool(_OBSERVATION.search(body) or _RELATION.search(body))
    )


def drafts(files: Mapping[str, str]) -> Iterator[Draft]:
    """The drafts of all notes; `supports` and `contradicts` lead to the first draft of the note
    they name.
    """
    notes = [_read(name, text) for name, text in files.items()]
    made = {note.title.casefold(): list(_drafts(note)) for note in notes}
    for note in notes:
        first, *others = made[note.title.casefold()] or (None,)
        if first is not None:
            supports, contradicts = (
                tuple(
                    made[other.casefold()][0].key
                    for kind, other in note.relations
                    if kind.lower().replace(" ", "_") in kinds and made.get(other.casefold())
                )
                for kinds in (("supports",), ("contradicts", "contrasts_with"))
            )
            yield first._replace(supports=supports, contradicts=contradicts)
            yield from others


def _read(name: str, text: str) -> _Note:
    values, body = split_front(text.replace("\r\n", "\n"))
    hidden = _without_fences(body)
    observations = tuple(
        (found[1].strip(), found[2].strip()) for found in _OBSERVATION.finditer(hidden)
    )
    relations = tuple((found[1].strip(), found[2].strip()) for found in _RELATION.finditer(hidden))
    spans = [
        found.span() for pattern in (_OBSERVATION, _RELATION) for found in pattern.finditer(hidden)
    ]
    prose = _TITLE.sub("", _EMPTY.sub("", _without(body, sorted(spans))), count=1).strip()
    title = str(values.get("title") or name.rpartition("/")[2].removesuffix(".md"))
    return _Note(name, title, values, prose, observations, relations)


def _without_fences(body: str) -> str:
    """`body`, of the same length, with nothing in its fences: examples in them are prose."""
    parts, at = [], 0
    for start, end in fenced(body):
        parts += [body[at:start], re.sub(r"[^\n]", "\0", body[start:end])]
        at = end
    return "".join([*parts, body[at:]])


def _without(body: str, spans: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts.append(body[at:start])
        at = max(at, end)
    return "".join([*parts, body[at:]])


def _drafts(note: _Note) -> Iterator[Draft]:
    tags, created = (
        words(note.values.get("tags")),
        day(note.values.get("created") or note.values.get("date")),
    )
    identity = str(note.values.get("permalink") or note.name)
    links = "\n".join(f"- {kind or 'see'} {other}" for kind, other in note.relations)
    if note.prose:
        text = "\n\n".join(filter(None, (note.prose, links)))
        yield Draft(
            f"{FORM}:{note.name}",
            key_of(FORM, identity, text),
            shortened(note.title),
            text,
            created=created,
            tags=tags,
        )
    for category, words_ in note.observations:
        text = " ".join(_TAG.sub("", words_).split())
        title, rest = headline(text)
        yield Draft(
            f"{FORM}:{note.name}",
            key_of(FORM, identity, category, words_),
            title,
            rest or f"({note.title})",
            kind=_KINDS.get(category.lower(), "fact"),
            created=created,
            tags=tuple(dict.fromkeys((*tags, *_TAG.findall(words_)))),
        )

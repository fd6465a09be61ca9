"""Exchanges and commits as the record keeps them, and the parts in which they are
searched. Pure."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from memcli.memory.words import clean, sub_words
from memcli.named import NamedTuple

PART = 2400  # characters that are searched as one; a longer text is searched in parts
PARTS = 64
TITLE = 100  # characters of the title of an exchange or a commit


class Doc(NamedTuple):
    """An exchange (`source` "session") or a commit; `unit` is the session's id or the
    hash, `turn` the number in it (from 1; of a commit 0), `key` names it for good,
    `said` are (speaker, text) of person, agent and error, `about` paths and commands,
    `supersedes` the commits it takes back."""

    source: str
    unit: str
    turn: int
    key: str
    who: str
    date: str
    title: str
    said: tuple[tuple[str, str], ...]
    about: Mapping[str, Sequence[str]] = {}
    supersedes: tuple[str, ...] = ()
    short: int = 7  # so much of the unit names no other one

    @property
    def handle(self) -> str:
        """Its short name: `s:3f2a1c9.41`, `c:9f1c2d3`."""
        is_session = self.source == "session"
        unit = self.unit[: self.short]
        return f"s:{unit}.{self.turn}" if is_session else f"c:{unit}"

    @property
    def event(self) -> str:
        """The event's own name, by which entries name their source."""
        return self.key.partition(":")[2]

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.said)

    @property
    def words(self) -> str:
        """All its words: what was said, files and commands."""
        return "\n".join([self.text, *chain.from_iterable(self.about.values())])

    @property
    def whole(self) -> str:
        """All that was said, with who said it; a commit has one voice."""
        is_session = self.source == "session"
        return "\n\n".join(
            f"{who}: {text}" if is_session else text for who, text in self.said
        )

    @property
    def facts(self) -> dict[str, object]:
        """Its facts, under their names in JSON."""
        is_session = self.source == "session"
        return {
            "source": self.source,
            "session_id" if is_session else "commit": self.unit,
            "agent" if is_session else "author": self.who,
            "date": self.date,
            "turn": self.turn if is_session else None,
        }


class PastStretch(NamedTuple):
    """A stretch of a session, or a commit: its exchanges in order, `best` the one that
    matches; `met` is how many terms of the task it has, `newer` the handle of a later
    hit about the same thing."""

    docs: tuple[Doc, ...]
    best: int
    score: float
    met: int
    newer: str = ""

    @property
    def doc(self) -> Doc:
        """The exchange that matches."""
        return self.docs[self.best]


Rarity = Mapping[str, float]
"""The terms of a task that occur anywhere, the rarest first, with their idf."""


class DocPlace(NamedTuple):
    """Where a doc is, without the words of its body."""

    id: int
    source: str
    unit: str
    turn: int
    date: str
    who: str
    title: str


def events_of(values: Mapping[str, object]) -> list[str]:
    """The events that an entry names as its source; a position (`@…`) is one of its
    session."""
    sources = values.get("source") or ()
    every = sources if isinstance(sources, (list, tuple)) else [sources]
    events = []
    for source in map(str, every):
        name, _, event = source.rpartition("#")
        units = (name, values.get("session_id")) if event.startswith("@") else ("",)
        events += [f"{unit}{event}" for unit in units]
    return events


def touches(doc: Doc, path: str) -> bool:
    """Whether a file was edited in it; the path may be the end of the whole one."""
    return any(
        f"/{edited}".endswith(f"/{path}") for edited in doc.about.get("paths", ())
    )


def unpacked(body: bytes) -> tuple[tuple[str, str], ...]:
    return tuple((speaker, text) for speaker, text in json.loads(zlib.decompress(body)))


def parts_of(passages: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(the person's words, the others') of each part of a doc, as they are searched."""
    person = "\n".join(text for speaker, text in passages if speaker == "person")
    others = "\n".join(text for speaker, text in passages if speaker != "person")
    pieces = list(_pieces(others))
    parts = [(person[:PART], ""), *((piece, "") for piece in _pieces(person[PART:]))]
    if len(parts) == 1 and pieces:
        parts = [(person[:PART], pieces.pop(0))]
    parts += [("", piece) for piece in pieces]
    return [(_searched(spoken), _searched(theirs)) for spoken, theirs in parts[:PARTS]]


def _pieces(text: str) -> Iterator[str]:
    while len(text) > PART:
        cut = text.rfind("\n", PART // 2, PART)
        cut = cut if cut > 0 else PART
        yield text[:cut]
        text = text[cut:]
    if text.strip():
        yield text


def _searched(text: str) -> str:
    plain = clean(text)
    return f"{plain} {sub_words(plain)}".strip()

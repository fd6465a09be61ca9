"""Secrets in memory files, and sentences that try to command the agent: documents in, rows out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from memcli.diagnostics.document import FAIL, WARN, Check, Document, key_line, lines_at
from memcli.memory.parser import MemoryFile
from memcli.text.injections import find_injections
from memcli.text.secrets import find_secrets


def hostile(documents: Sequence[Document]) -> Iterator[Check]:
    """The secrets in these documents, and their sentences that try to command the agent."""
    for document in documents:
        reading = _read(document)
        yield from _secrets(reading)
        yield from _injections(reading)


class _Reading(NamedTuple):
    """What of a document is asked for secrets, `bare`, and for commands to the agent, `shown`.

    The latter is made of `parts`, each with its line.
    """

    document: Document
    bare: str
    parts: Sequence[tuple[int, str]]
    shown: str


_USUAL = re.compile(
    r"---\r?\n(?:(?:id: [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:type|domain|phase|status|kind|priority): [a-z]{1,14}"
    r"|(?:importance|reinforcement_count): [0-9.]{1,9}"
    r"|(?:last_reinforced|created_at): '?[0-9]{4}-[0-9]{2}-[0-9]{2}'?)\r?\n)++---\r?\n"
)
"""Front matter in which no secret can hide: half of many files, and not worth a look."""


def _read(document: Document) -> _Reading:
    """What is to be looked at. An archive is never injected, nor are keys but the title."""
    memory = document.memory
    parts = _shown_parts(memory) if document.place.store != "archive" else []
    return _Reading(
        document, _USUAL.sub("\n", memory.text), parts, "\n\n".join(text for _, text in parts)
    )


def _shown_parts(memory: MemoryFile) -> list[tuple[int, str]]:
    """(line, text) of all that an answer may show: prose, titles that are keys, bodies."""
    prose = [segment for segment in memory.segments if segment.kind == "prose"]
    lines = lines_at(memory.text, (segment.start for segment in prose))
    parts = [(line, memory.text[s.start : s.end]) for line, s in zip(lines, prose, strict=True)]
    for entry in memory.entries:
        parts.append((entry.line, entry.body))
        if "title" in entry.extra:
            parts.append((key_line(memory, entry, "title"), entry.title))
    return parts


def _secrets(reading: _Reading) -> Iterator[Check]:
    """Credentials, by kind and place; the value is never repeated."""
    document = reading.document
    text = document.memory.text
    found = find_secrets(text) if find_secrets(reading.bare) else []
    for secret, line in zip(found, lines_at(text, (secret.start for secret in found)), strict=True):
        hint = "take it out and revoke it: what was committed stays in git's history"
        yield Check("secrets", FAIL, secret.kind, hint, document.path, line)


def _injections(reading: _Reading) -> Iterator[Check]:
    """Sentences that try to command the agent."""
    parts, joined = reading.parts, reading.shown
    starts = [0, *accumulate(len(text) + 2 for _, text in parts)]
    for span in find_injections(joined):
        at = bisect_right(starts, span.start) - 1
        line = parts[at][0] + joined.count("\n", starts[at], span.start)
        detail = f"reads like an instruction to the agent ({span.kind})"
        hint = "reword it or take it out; recall shows a notice in its place"
        yield Check("injections", WARN, detail, hint, reading.document.path, line)

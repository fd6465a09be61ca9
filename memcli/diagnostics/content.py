"""What stands in memory files: documents in, rows out."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from memcli.diagnostics.scene import (
    FAIL,
    PASS,
    WARN,
    Check,
    Document,
    Scene,
    absolute,
    key_line,
    lines_at,
)
from memcli.memory.conflicts import conflict_lines
from memcli.memory.levels import OUTERMOST, Place
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.prose import sections
from memcli.memory.values import Entry, Problem
from memcli.recall.budget import tokens
from memcli.storage.files import Unreadable, read_text
from memcli.text.injections import find_injections
from memcli.text.secrets import find_secrets


def check_content(scene: Scene) -> Iterator[Check]:
    """Every rule about content, as rows."""
    app = scene.app
    others = _others(scene) if scene.files else None
    yield from content(
        scene.documents,
        scene.unreadable,
        today=app.project.now.isoformat(),
        max_tokens=app.project.config.max_tokens,
        others=others,
    )


_ID = re.compile(r"^[ \t]*[\"']?id[\"']?[ \t]*:[ \t]*[\"']?([^\s\"']+)", re.MULTILINE)


def _others(scene: Scene) -> list[Document]:
    """The memory files beside the named ones that may hold an id of theirs, too."""
    paths = {absolute(scene.app, name) for name in scene.files}
    wanted = ids(scene.documents)
    found = []
    for file in scene.app.project.listing.files if wanted else ():
        if file.path not in paths and file.place.store != "archive":
            try:
                text = read_text(file.path, file.base)
            except Unreadable:
                continue
            if not wanted.isdisjoint(_ID.findall(text)):
                found.append(Document(parse(text, file.name), file.place, file.tree, len(text)))
    return found


LARGE = 5_000_000
"""Bytes of a memory file that nobody reads any more."""
PASSED = {
    "readable": "every file can be read",
    "front-matter": "no damaged front matter",
    "conflicts": "no conflict markers",
    "duplicate-ids": "no id stands twice",
    "secrets": "no secrets",
    "values": "every value can be used",
    "dates": "no date lies in the future",
    "ids": "every entry has an id",
    "references": "every id that is named stands somewhere",
    "injections": "no text reads like an instruction to the agent",
    "institutional": "within its budget",
    "file-size": "no file above 5 MB",
}
"""Every content check, in the order of its rows, and what is said when it finds nothing."""


def content(
    documents: Sequence[Document],
    unreadable: Iterable[Problem],
    *,
    today: str,
    max_tokens: int,
    others: Sequence[Document] | None = None,
) -> list[Check]:
    """The rows of these documents, a PASS for each check that found nothing.

    `others` are documents outside of the selection, in which ids may stand, too; None says that the
    documents are all there are, so that an id which stands in none of them stands nowhere.
    """
    rows = list(map(_unreadable, unreadable))
    for document in documents:
        for check in _OF_ONE:
            rows += check(document)
        rows += future(document, today)
    rows += hostile(documents)
    rows += duplicates(documents, others or ())
    rows += institutional(documents, max_tokens)
    if others is None:
        rows += dangling(documents)
    names = [name for name in PASSED if others is None or name != "references"]
    return [row for name in names for row in _rows_or_pass(name, rows)]


def _rows_or_pass(name: str, rows: Iterable[Check]) -> list[Check]:
    found = sorted((row for row in rows if row.name == name), key=lambda row: (row.path, row.line))
    return found or [Check(name, PASS, PASSED[name])]


def _unreadable(problem: Problem) -> Check:
    hint = next(
        (hint for word, hint in _READABLE if word in problem.message), "check its permissions"
    )
    return Check("readable", FAIL, problem.message, hint, problem.path, problem.line)


_READABLE = (
    ("UTF-8", "save the file as UTF-8"),
    ("link", "put the file itself there"),
    ("regular", "put a regular file there, or remove it"),
    ("no such file", "name a file that exists"),
)


# --- one document


def damaged(document: Document) -> Iterator[Check]:
    """Blocks that were meant as entries and cannot be read, and values that cannot be used."""
    text = document.memory.text
    hidden = _secret_lines(text) if document.memory.problems else frozenset()
    for problem in document.memory.problems:
        unreadable = problem.severity == "unreadable"
        message = (
            problem.message if problem.line not in hidden else "cannot be used (it holds a secret)"
        )
        lost = "mend it there: until then it counts as prose, and its values as nothing"
        yield Check(
            "front-matter" if unreadable else "values",
            FAIL if unreadable else WARN,
            message,
            lost if unreadable else "correct it there",
            document.path,
            problem.line,
        )


_OPENING = re.compile(r"\n---[ \t]*\n(?:id|type):[ \t]*\S")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


def glued(document: Document) -> Iterator[Check]:
    """Blocks that stand right below a line of text: they are part of that text, and were hardly
    meant so.
    """
    text = document.memory.text.replace("\r\n", "\n")
    starts = [
        start
        for match in _OPENING.finditer(text)
        if _is_below_text(text, start := match.start() + 1)
    ]
    fences = [match.start() for match in _FENCE.finditer(text)] if starts else []
    what = "a block of front matter without a blank line before it belongs to the text above"
    for start, line in zip(starts, lines_at(text, starts), strict=True):
        if bisect_left(fences, start) % 2 == 0:
            yield Check(
                "front-matter", WARN, what, "put a blank line before it", document.path, line
            )


def _is_below_text(text: str, start: int) -> bool:
    """Whether the line above `start` is neither blank nor a rule."""
    return bool(text[text.rfind("\n", 0, start - 1) + 1 : start].strip(" \t\n-"))


def _secret_lines(text: str) -> frozenset[int]:
    """Lines that must not be quoted."""
    found = find_secrets(text)
    first = lines_at(text, (secret.start for secret in found))
    last = lines_at(text, (secret.end - 1 for secret in found))
    return frozenset(n for one, two in zip(first, last, strict=True) for n in range(one, two + 1))


def conflicts(document: Document) -> Iterator[Check]:
    """Conflict markers that git left and nobody resolved."""
    for line in conflict_lines(document.memory.text):
        hint = "resolve it and save the file; writers leave the file alone until then"
        yield Check("conflicts", FAIL, "a conflict is not resolved", hint, document.path, line)


def unnamed(document: Document) -> Iterator[Check]:
    """Entries without an id of their own."""
    missing = [entry for entry in document.memory.entries if not entry.identified]
    if missing and document.place.store != "archive":
        detail = "1 entry has no id" if len(missing) == 1 else f"{len(missing)} entries have no id"
        yield Check("ids", WARN, detail, "mem doctor --fix", document.path, missing[0].line)


def oversized(document: Document) -> Iterator[Check]:
    """A file that has grown beyond use."""
    if document.size > LARGE:
        detail = f"{document.size / 1e6:.1f} MB"
        yield Check("file-size", WARN, detail, "mem compact --stale, or split it", document.path)


_OF_ONE: tuple[Callable[[Document], Iterator[Check]], ...] = (
    damaged,
    glued,
    conflicts,
    unnamed,
    oversized,
)


def future(document: Document, today: str) -> Iterator[Check]:
    """Dates after today."""
    for entry in document.memory.entries:
        for key, day in (
            ("created_at", entry.created_at),
            ("last_reinforced", entry.last_reinforced),
        ):
            if day > today:
                line = key_line(document.memory, entry, key)
                detail = f"{key}: {day} lies in the future and counts as today"
                yield Check("dates", WARN, detail, "correct it there", document.path, line)


# --- several documents


def duplicates(documents: Iterable[Document], others: Iterable[Document]) -> Iterator[Check]:
    """Ids that stand twice within one git work tree; an archive keeps what stood elsewhere."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for document, asked in (*((d, False) for d in others), *((d, True) for d in documents)):
        if document.place.store == "archive":
            continue
        for entry in document.memory.entries:
            key, place = (document.tree, entry.id), (document.path, entry.line)
            if entry.identified and first.setdefault(key, place) != place and asked:
                yield _duplicate(document, entry, *first[key])


def _duplicate(document: Document, entry: Entry, path: str, line: int) -> Check:
    same = path == document.path
    hint = "mem compact" if same else "remove the id of the copy, then: mem doctor --fix"
    where = key_line(document.memory, entry, "id")
    return Check(
        "duplicate-ids",
        FAIL,
        f"id {entry.id} stands already in {path}:{line}",
        hint,
        document.path,
        where,
    )


REFERENCES = ("supports", "contradicts", "superseded_by", "merged_from", "promoted_to")


def dangling(documents: Sequence[Document]) -> Iterator[Check]:
    """Ids that entries name and that stand in no file."""
    loose = [
        (document, entry, key, name)
        for document in documents
        if document.place.store != "archive"
        for entry in document.memory.entries
        if not entry.extra.keys().isdisjoint(REFERENCES)
        for key in REFERENCES
        for name in named(entry, key)
    ]
    if not loose:
        return
    known = ids(documents)
    merged = merged_ids(documents)
    lost = [
        item
        for item in loose
        if item[3] not in known and (item[2] == "merged_from" or item[3] not in merged)
    ]
    if lost:  # it may be a section of prose; to look at all of them takes long
        known |= {section.id for document in documents for section in sections(document.memory)}
    for document, entry, key, name in lost:
        if name not in known:
            line = key_line(document.memory, entry, key)
            detail = f"{key} names {name}, which stands nowhere"
            hint = f"restore that entry, or take the id out of {key}"
            yield Check("references", WARN, detail, hint, document.path, line)


def ids(documents: Iterable[Document]) -> set[str]:
    """Every id that stands in these documents."""
    return {entry.id for document in documents for entry in document.memory.entries}


def merged_ids(documents: Iterable[Document]) -> set[str]:
    """Every id that an entry of these documents was merged from: it leads on to that entry."""
    entries = (entry for document in documents for entry in document.memory.entries)
    return {name for entry in entries for name in named(entry, "merged_from")}


def named(entry: Entry, key: str) -> list[str]:
    """The ids that a key of an entry names."""
    value = entry.extra.get(key) or ()
    return (
        [value]
        if isinstance(value, str)
        else list(value)
        if isinstance(value, (list, tuple))
        else []
    )


def institutional(documents: Iterable[Document], max_tokens: int) -> Iterator[Check]:
    """Institutional text that does not fit into its half of an answer, together with that above it."""
    norms = [document for document in documents if document.place.store == "institutional"]
    norms.sort(key=lambda document: OUTERMOST[document.place.level])
    full: list[Document] = []
    for document in norms if max_tokens else ():
        chain = [other for other in norms if _above(other.place, document.place)]
        size = sum(map(tokens, {other.memory.text.strip() for other in chain}))
        if size > max_tokens // 2 and not any(other in full for other in chain):
            full.append(document)
            yield _over_budget(document, size, max_tokens // 2)


def _above(outer: Place, inner: Place) -> bool:
    near = outer.job in ("", inner.job) and outer.task in ("", inner.task)
    return near and OUTERMOST[outer.level] <= OUTERMOST[inner.level]


def _over_budget(document: Document, size: int, fund: int) -> Check:
    detail = f"{size} tokens of institutional text, {fund} are shown (half of max_tokens)"
    return Check("institutional", WARN, detail, "shorten it, or raise max_tokens", document.path, 1)


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

"""Memory as a marked section of CLAUDE.md or AGENTS.md, and as linked notes for
Obsidian. Pure."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from memcli.install.git_hooks import EXPORT
from memcli.memory.values import Entry, listed
from memcli.memory.words import body_of
from memcli.recall.budget import cut_words
from memcli.text import matching
from memcli.text.controls import for_prompt, strip_controls, strip_private
from memcli.text.secrets import redact_secrets

BEGIN = EXPORT.begin()
END = EXPORT.end
HEAD = matching.table("exchange/handout.md").rstrip("\n").split("\n")
TITLES = {"norms": "### Norms", "rules": "### Rules", "lessons": "### Lessons"}
ENTRY_TOKENS = 150  # a longer body is cut at a sentence
ENTRY_LINES = 12
LINKS = ("supports", "contradicts", "superseded_by", "merged_from", "promoted_from")

_pattern = partial(matching.pattern, "exchange/exporter")


class ExportNote(NamedTuple):
    """One entry to hand out, or (with `group` norms) the text of one institutional
    file."""

    group: str
    title: str
    facts: str
    text: str


class Handout(NamedTuple):
    """The section with its marks, how many notes are in it, and how many found no
    room."""

    text: str
    shown: int
    more: int


def compose(notes: Sequence[ExportNote], *, lines: int, size: int) -> Handout:
    """The notes that fit, best first: norms in half of the room, rules in half of the
    rest."""
    frame = [BEGIN, *HEAD, "", _more(10**6), END]
    body = list[str]()
    shown = 0
    for group, share in (("norms", 2), ("rules", 2), ("lessons", 1)):
        mine = [note for note in notes if note.group == group]
        left = size - _size(frame) - _size(body)
        room = (lines - len(frame) - len(body)) // share
        found, count = _group(group, mine, room, left // share)
        body = body + found * bool(count)
        shown = shown + count
    more = len(notes) - shown
    tail = ["", _more(more)] if more else []
    return Handout("\n".join([BEGIN, *HEAD, *body, *tail, END]) + "\n", shown, more)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _more(number: int) -> str:
    return f"({number} more: `mem list`)"


def _group(
    group: str, notes: Sequence[ExportNote], lines: int, size: int
) -> tuple[list[str], int]:
    out = ["", TITLES[group], ""]
    shown = 0
    size -= _size(out)
    for note in notes:
        room = (lines - len(out), size)
        found = _norm(note, *room) if group == "norms" else _entry(note)
        if found and len(found) <= room[0] and _size(found) <= size:
            out = out + found
            shown = shown + 1
            size = size - _size(found)
    return out, shown


def _entry(note: ExportNote) -> list[str]:
    body = cut_words(body_of(note.text, note.title).strip(), ENTRY_TOKENS)
    lines = [line for line in body.split("\n") if line.strip()]
    if len(lines) > ENTRY_LINES:
        lines = [*lines[: ENTRY_LINES - 1], "…"]
    fences = _pattern("fence").findall("\n".join(lines))
    if len(fences) % 2:
        lines.append(fences[-1])
    safe = safe_text("\n".join(lines)) if lines else ""
    title = safe_text(" ".join(note.title.split())).replace("*", "\\*")
    return [
        f"- **{title}** ({note.facts})",
        *(f"  {line}" for line in safe.split("\n") if safe),
    ]


def _norm(note: ExportNote, room: int, size: int) -> list[str]:
    text = safe_text(note.text)
    text = (
        _pattern("hashes")
        .sub(lambda found: "#" * min(6, len(found[1]) + 3), text)
        .strip()
    )
    missing = f"({note.title}: more stands in the file)"
    kept: list[str] = []
    for part in filter(None, re.split(r"\n[ \t]*\n", text)):
        lines = [*kept, *([""] if kept else []), *part.split("\n")]
        if len(lines) >= room or _size([*lines, missing]) > size:
            return [*kept, missing] if kept else []
        kept = lines
    return kept


def safe_text(text: str) -> str:
    """Text for a file that agents obey: no secrets, no commands, no `@path` outside
    code."""
    text = for_prompt(text).replace("<!--", "&lt;!--")
    parts = []
    at = 0
    for start, end in fenced(text):
        parts += [_without_imports(text[at:start]), text[start:end]]
        at = end
    return "".join([*parts, _without_imports(text[at:])])


def fenced(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of fenced code that are closed, with their fences, as CommonMark
    has them."""
    start = 0
    fence = ""
    for mark in _pattern("mark").finditer(text):
        own = mark[1] or mark[3]
        info = mark[2] or mark[4]
        if not fence:
            start = mark.start()
            fence = own
        elif own.startswith(fence) and not (info or "").strip():
            yield start, mark.end()
            fence = ""


def _without_imports(text: str) -> str:
    """Text without `@path`, but in code spans, where the backticks tell for sure what
    is one."""
    sure = all(ticks == "`" for ticks in _pattern("ticks").findall(text))
    sure = sure and all(line.count("`") % 2 == 0 for line in text.split("\n"))
    parts = _pattern("span").split(text) if sure else [text]
    return "".join(
        part if i % 2 else _pattern("at").sub("&#64;", part)
        for i, part in enumerate(parts)
    )


def notes(entries: Sequence[Entry]) -> dict[str, str]:
    """The text of each note by its file name."""
    names: dict[str, str] = {}
    for entry in entries:
        name = _note_name(entry.title, entry.id[:8])
        taken = name.casefold() in map(str.casefold, names.values())
        names[entry.id] = _note_name(entry.title, entry.id) if taken else name
    return {f"{names[entry.id]}.md": _note_text(entry, names) for entry in entries}


def _note_name(title: str, id: str) -> str:
    words = (
        _pattern("unsafe")
        .sub(" ", redact_secrets(strip_controls(title)))[:80]
        .strip(". ")
    )
    return f"{words} {_pattern('unsafe').sub(' ', strip_controls(id))[:40]}".strip(". ")


def _note_text(entry: Entry, names: dict[str, str]) -> str:
    values: dict[str, object] = {
        "id": entry.id, "type": entry.type, "kind": entry.kind, "status": entry.status,
        "importance": entry.importance, "created": entry.created_at,
        "tags": [tag.replace(" ", "-") for tag in listed(entry, "tags")],
    }  # fmt: skip
    for key in LINKS:
        known = (names[id] for id in listed(entry, key) if id in names)
        values[key] = [f"[[{name}]]" for name in known]
    rows = [
        f"{k}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in values.items()
        if v not in ("", [])
    ]
    body = redact_secrets(strip_controls(strip_private(entry.body))).strip()
    return "\n".join(["---", *map(redact_secrets, rows), "---", body, ""])

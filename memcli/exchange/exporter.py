"""Memory as a marked section of CLAUDE.md or AGENTS.md. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memcli.install.git_hooks import EXPORT
from memcli.memory.grammar import unclosed_fence
from memcli.memory.words import body_of, uncut
from memcli.recall.budget import cut_words
from memcli.text import matching
from memcli.text.controls import for_prompt, outside_code
from memcli.text.matching import verbose

BEGIN = EXPORT.begin()
END = EXPORT.end
HEAD = matching.table("exchange/handout.md").rstrip("\n").split("\n")
TITLES = {"norms": "### Norms", "rules": "### Rules", "lessons": "### Lessons"}
SHARES = {"norms": 2, "rules": 2, "lessons": 1}
"""Norms get half of the space, rules half of the rest, lessons what is left."""
ENTRY_TOKENS = 150  # longer bodies are cut at a sentence
ENTRY_LINES = 12


@verbose
def _import() -> str:
    """The `@` that makes a path an import of that file."""
    return r"(?<!\w) @ (?= [\w~./\\-] )"


@verbose(lines=True)
def _hashes() -> str:
    """The mark of a heading."""
    return r"^ (\#{1,6}) (?= [ \t] )"


class ExportNote(NamedTuple):
    """One entry to export, or (with `group` norms) the text of an institutional
    file."""

    group: str
    title: str
    facts: str
    text: str


class Handout(NamedTuple):
    """The section with its markers, how many notes are in it, and how many did not
    fit."""

    text: str
    shown: int
    more: int


def compose(notes: Sequence[ExportNote], *, lines: int, size: int) -> Handout:
    """The section with the notes that fit, best first: norms get half of the space,
    rules half of the rest."""
    frame = [BEGIN, *HEAD, "", _more(10**6), END]
    body: list[str] = []
    shown = 0
    for group, share in SHARES.items():
        used = [*frame, *body]
        part = _Part(
            group,
            lines=(lines - len(used)) // share,
            size=(size - _size(used)) // share,
        )
        for note in notes:
            if note.group == group:
                part.add(note)
        if part.shown:
            body += part.text
            shown += part.shown
    left_out = len(notes) - shown
    tail = ["", _more(left_out)] if left_out else []
    text = "\n".join([BEGIN, *HEAD, *body, *tail, END])
    return Handout(text=f"{text}\n", shown=shown, more=left_out)


class _Part:
    """The notes of one group that fit."""

    def __init__(self, group: str, *, lines: int, size: int) -> None:
        self.text = ["", TITLES[group], ""]
        self.lines = lines - len(self.text)
        self.size = size - _size(self.text)
        self.shown = 0

    def add(self, note: ExportNote) -> None:
        """Add a note, if it fits."""
        is_norm = note.group == "norms"
        text = _norm(note, self.lines, self.size) if is_norm else note_lines(note)
        if text and len(text) <= self.lines and _size(text) <= self.size:
            self.text += text
            self.lines -= len(text)
            self.size -= _size(text)
            self.shown += 1


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _more(number: int) -> str:
    return f"({number} more: `mem list`)"


def note_lines(note: ExportNote) -> list[str]:
    """An entry as a list item with its text below, safe for a file that agents obey."""
    whole, text = uncut(note.title, body_of(note.text, note.title).strip())
    body = cut_words(text, ENTRY_TOKENS)
    lines = [line for line in body.split("\n") if line.strip()]
    if len(lines) > ENTRY_LINES:
        lines = [*lines[: ENTRY_LINES - 1], "…"]
    fence = unclosed_fence("\n".join(lines))
    if fence:
        lines.append(fence)
    safe = safe_text("\n".join(lines)) if lines else ""
    title = safe_text(" ".join(whole.split())).replace("*", "\\*")
    shown = [f"  {line}" for line in safe.split("\n")] if safe else []
    return [f"- **{title}** ({safe_text(note.facts)})", *shown]


def _norm(note: ExportNote, room: int, size: int) -> list[str]:
    text = _hashes().sub(_below_ours, safe_text(note.text)).strip()
    missing = f"({note.title}: more stands in the file)"
    lines_left: list[str] = []
    for part in filter(None, re.split(r"\n[ \t]*\n", text)):
        between = [""] if lines_left else []
        lines = [*lines_left, *between, *part.split("\n")]
        if len(lines) >= room or _size([*lines, missing]) > size:
            fence = unclosed_fence("\n".join(lines_left))
            ending = [fence, missing] if fence else [missing]
            return [*lines_left, *ending] if lines_left else []
        lines_left = lines
    return lines_left


def _below_ours(mark: re.Match[str]) -> str:
    """A heading deeper than those of the section."""
    return "#" * min(6, len(mark[1]) + 3)


def safe_text(text: str) -> str:
    """Text for a file that agents obey: no secrets, no commands, no `@path` outside
    code."""
    text = for_prompt(text).replace("<!--", "&lt;!--")
    return outside_code(text, lambda part: _import().sub("&#64;", part))

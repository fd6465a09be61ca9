"""How views show an entry: as a line of text, as a JSON object, and with its line
number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memcli.memory.parser import parse
from memcli.views.text import place, safe

if TYPE_CHECKING:
    from memcli.memory.values import Patch

ENTRY_KEYS = (
    "id type domain kind priority status importance phase reinforcement_count last_reinforced"
    " created_at title line"
).split()
Rows = Sequence[tuple[str, str, str]]  # (id, path, title) of entries
Keys = Mapping[str, object]  # what a report's JSON has in place of its fields


def entry_objects(rows: Rows, patches: Iterable[Patch]) -> list[dict[str, object]]:
    """Entries as objects, each with the line where it is now."""
    lines = line_numbers(patches)
    return [
        {"id": entry_id, "path": path, "line": lines.get(entry_id), "title": title}
        for entry_id, path, title in rows
    ]


def written_lines(done: str, rows: Rows, patches: Iterable[Patch]) -> list[str]:
    """One line for each written entry: what was done, its title, place and id."""
    lines = line_numbers(patches)
    texts = []
    for entry_id, path, title in rows:
        where = place(path, lines.get(entry_id, 0))
        texts.append(f"{done} {safe(title)} ({where}, id {entry_id[:8]})")
    return texts


def added_lines(rows: Rows, patches: Iterable[Patch]) -> list[str]:
    """One line for each new entry."""
    lines = line_numbers(patches)
    return [
        f"added to {place(path, lines.get(entry_id, 1))}: {safe(title)}"
        f" (id {entry_id[:8]})"
        for entry_id, path, title in rows
    ]


def line_numbers(patches: Iterable[Patch]) -> dict[str, int]:
    """The line of each entry in the files after the patches."""
    numbers: dict[str, int] = {}
    for patch in patches:
        if patch.after:
            entries = parse(patch.after, patch.path).entries
            numbers |= {entry.id: entry.line for entry in entries}
    return numbers

"""Sections of prose -> entries: front matter is put before each one, and nothing else changes.
Pure.
"""

from __future__ import annotations

import re
from typing import Any

from memcli.errors import DataError
from memcli.memory import front_matter
from memcli.memory.diff import apply_edits
from memcli.memory.memory_file import MemoryFile, eol_of, parse, sections
from memcli.memory.values import Edit, Entry


def adopted(memory: MemoryFile) -> tuple[MemoryFile, list[str]]:
    """`memory` with its sections as entries under the ids they had as sections, and these ids.

    Raises DataError when an inserted block would not read back as that entry.
    """
    found = [
        section
        for section in sections(memory)
        if not re.match(r"---[ \t]*\r?$", section.body, re.M)
    ]
    if not found:
        return memory, []
    eol = eol_of(memory.text)
    edits = [_insertion(memory.text, section, eol) for section in found]
    after = parse(apply_edits(memory.text, edits), memory.path)
    bodies = {entry.id: entry.body for entry in after.entries}
    for section in found:
        if not bodies.get(section.id, "").startswith(section.body):
            raise DataError(
                f"a section cannot be made an entry ({memory.path}:{section.line})",
                "look for an unclosed code fence or a line of --- there",
            )
    return after, [section.id for section in found]


def _insertion(text: str, section: Entry, eol: str) -> Edit:
    raw = text[section.start : section.end]
    at = section.start + len(raw) - len(raw.lstrip("\ufeff\r\n \t"))
    line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    at = max(line, 1 if text.startswith("\ufeff") else 0)
    before = re.split(r"\r\n|\n|\r", text[:at].lstrip("\ufeff"))
    glue = "" if len(before) < 2 or not before[-2].strip() else eol
    return Edit(at, at, glue + front_matter.render(_values(section), eol))


def _values(section: Entry) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": section.id,
        "type": section.type,
        "domain": section.domain,
        "importance": section.importance,
        "phase": section.phase,
        "status": section.status,
        "reinforcement_count": section.reinforcement_count,
    }
    if section.date:
        values["created_at"] = section.date
    if " > " in section.title:
        values["title"] = section.title
    return values

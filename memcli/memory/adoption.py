"""Turn prose into entries: put front matter before sections and change nothing else.
Pure."""

import re
from collections import Counter
from collections.abc import Collection

from memcli.errors import DataError
from memcli.memory import front_matter
from memcli.memory.changes import glue
from memcli.memory.diff import apply_edits
from memcli.memory.entry_values import CORE_KEYS, first_words
from memcli.memory.grammar import BLANKS, body_digest, eol_of
from memcli.memory.parser import MemoryFile, parse, sections
from memcli.memory.values import Edit, Entry


def adopted(
    memory: MemoryFile, today: str, only: Collection[str] = ()
) -> tuple[MemoryFile, list[str]]:
    """Make units of prose into entries (only those named in `only`, if any). Returns
    the file and the ids, which stay the same. A dated unit fades from today on."""
    every = sections(memory)
    titles = Counter(unit.title for unit in every)
    units = [
        _told_apart(unit, titles)
        for unit in every
        if (not only or unit.id in only) and not _begins_with_rule(unit.body)
    ]
    edits = [_insertion(memory.text, unit, today) for unit in units]
    after = parse(apply_edits(memory.text, edits), memory.path)
    bodies = {entry.id: entry.body for entry in after.entries}
    for unit in units:
        if not bodies.get(unit.id, "").startswith(unit.body):
            raise DataError(
                f"a section cannot be made an entry ({memory.path}:{unit.line})",
                "look for an unclosed code fence or a line of --- there",
            )
    return after, [unit.id for unit in units]


def _told_apart(unit: Entry, titles: Counter[str]) -> Entry:
    """A unit; with its own words in the title where it has the headings of others, as a
    bullet has."""
    if titles[unit.title] == 1 or unit.body.startswith("#"):
        return unit
    return unit._replace(title=f"{unit.title}: {first_words(unit.body)}")


def _begins_with_rule(body: str) -> bool:
    return re.match(r"---[ \t]*\r?$", body, re.MULTILINE) is not None


def _insertion(text: str, unit: Entry, today: str) -> Edit:
    """The edit that puts front matter before a unit of prose, on a line of its own."""
    unit_text = text[unit.start : unit.end]
    line_end = eol_of(text)
    first_word = unit.end - len(unit_text.lstrip("\ufeff" + BLANKS))
    line_feed = text.rfind("\n", 0, first_word)
    line_return = text.rfind("\r", 0, first_word)
    behind_mark = 1 if text.startswith("\ufeff") else 0
    place = max(line_feed + 1, line_return + 1, behind_mark)
    values = {key: getattr(unit, key) for key in CORE_KEYS}
    del values["last_reinforced"], values["created_at"]
    if unit.date:
        values["last_reinforced"] = today
        values["created_at"] = unit.date
    if unit.title not in unit.body:
        values["title"] = unit.title
    values["written"] = body_digest(unit.body)
    block = front_matter.render(values, line_end)
    return Edit(place, place, glue(text[:place], line_end) + block)

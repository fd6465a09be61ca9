"""Whether entries that bind stand in memory files which the index does not hold whole."""

from collections.abc import Sequence
from contextlib import suppress

from memcli.app import App
from memcli.index.occasions import guards_by_file
from memcli.project.listing import FoundFile
from memcli.storage.files import Unreadable, decode_anyhow, open_file
from memcli.text.matching import verbose

MOST_BYTES = 64 << 20
"""So much of a file is looked at, which is more than is ever indexed."""


def unindexed_guards(app: App, changed: Sequence[FoundFile]) -> str:
    """The first file in which more entries have the key of a guard than the index knows:
    of those that changed, and of those that could not be read to their end."""
    faulty = app.index.files("WHERE problems != '[]'")
    doubtful = {file.name for file in changed} | {
        problem.path
        for row in faulty.values()
        for problem in row.problems
        if problem.severity == "unreadable"
    }
    if not doubtful:
        return ""
    known = guards_by_file(app.index.db)
    for file in app.project.listing.files:
        if file.name in doubtful and guards_in(file) > known.get(file.name, 0):
            return file.name
    return ""


def guards_in(file: FoundFile) -> int:
    """How many entries of a file bind; where not all of it can be parsed, how many lines
    are the key of a guard."""
    from memcli.memory.binding import binds  # few calls come so far
    from memcli.memory.parser import parse

    with suppress(OSError, Unreadable), open_file(file.path, file.base) as opened:
        memory = parse(decode_anyhow(opened.read(MOST_BYTES)), file.name)
        is_whole = all(each.severity == "defaulted" for each in memory.problems)
        found = (
            filter(binds, memory.entries) if is_whole else _key().finditer(memory.text)
        )
        return len([*found])
    return 0


@verbose(lines=True)
def _key() -> str:
    """The key in front matter, also quoted or in braces."""
    return r"""^ [ \t{]* ["']? guard ["']? \s* : \s* ["']? (?: ask | deny )"""

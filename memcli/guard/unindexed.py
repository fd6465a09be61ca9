"""Whether entries that bind stand in memory files which the index does not hold whole."""

from collections.abc import Sequence
from contextlib import suppress

from memcli.app import App
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
    known = _known_guards(app) if doubtful else {}
    for file in app.project.listing.files if doubtful else ():
        if file.name in doubtful and guards_in(file) > known.get(file.name, 0):
            return file.name
    return ""


def _known_guards(app: App) -> dict[str, int]:
    """How many entries of each indexed file bind."""
    query = (
        "SELECT path, count(*) FROM occasions JOIN chunks ON chunks.id = chunk"
        " JOIN file_meta ON file_meta.id = source"
        " WHERE what = 'guard' AND key = '*' GROUP BY path"
    )
    return dict(app.index.db.execute(query).fetchall())


def guards_in(file: FoundFile) -> int:
    """How many lines of a file are the key of a guard."""
    with suppress(OSError, Unreadable), open_file(file.path, file.base) as opened:
        text = decode_anyhow(opened.read(MOST_BYTES))
        if "guard" in text:
            return len(_key().findall(text))
    return 0


@verbose(lines=True)
def _key() -> str:
    """The key in front matter, also quoted or in braces."""
    return r"""^ [ \t{]* ["']? guard ["']? \s* : \s* ["']? (?: ask | deny )"""

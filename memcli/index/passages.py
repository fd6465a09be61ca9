"""What of a long entry is shown: the chunks about the one that matched."""

import sqlite3

from memcli.index.filters import Entries, read_chunks
from memcli.index.view import Candidate, Passage
from memcli.memory.words import SIZE, join

NEAR = 13
"""Chunks of a long text that are looked at for an answer: a quarter of them before the
one that matched."""
_LAST = """
    SELECT part, line, text FROM chunks INDEXED BY chunks_source
    WHERE source = ? AND offset = ? AND entry = ? ORDER BY part DESC LIMIT 1
"""
_IDS = """
    SELECT min(id), max(id) FROM chunks INDEXED BY chunks_source
    WHERE source = ? AND offset = ? AND part < ?
"""
# The full text knows where the word stands: a document is not looked through.
_HIDES = """
    SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH 'text : private'
    AND rowid BETWEEN ? AND ? AND EXISTS (
        SELECT 1 FROM chunks WHERE id = chunks_fts.rowid AND source = ? AND offset = ?
        AND part < ? AND text LIKE '%<%private%>%'
    )
"""


def passage(entries: Entries, candidate: Candidate) -> Passage:
    """The text of an entry by one of its chunks; of one of many chunks those about
    it: what is compared, made safe and searched costs time by its length."""
    if candidate.part == 0 and len(candidate.text) < SIZE:
        return Passage(candidate.text)
    place = candidate.source, candidate.offset
    first = max(candidate.part - NEAR // 4, 0)
    final = first + NEAR - 1
    last = entries.db.execute(_LAST, (*place, candidate.entry)).fetchone()
    if last is None or last[0] < NEAR:
        return Passage(entries.text(candidate))
    part, line, text = last
    where = "source = ? AND offset = ? AND entry = ? AND part BETWEEN ? AND ?"
    entry = *place, candidate.entry
    if first and _hides(entries.db, place, first):
        matched = read_chunks(entries.db, where, *entry, candidate.part, candidate.part)
        return _part_of(entries.text(candidate), matched[0].text if matched else "")
    nearby = read_chunks(entries.db, f"{where} ORDER BY part", *entry, first, final)
    shown = join([chunk.text for chunk in nearby])
    lines = line - candidate.line + text.count("\n")
    return Passage(
        text=shown,
        ahead=first > 0,
        behind=final < part,
        lines=max(lines - shown.count("\n"), 1),
    )


def _hides(db: sqlite3.Connection, place: tuple[int, int], first: int) -> bool:
    """Whether something private may begin in a part of an entry before the `first`."""
    ids = db.execute(_IDS, (*place, first)).fetchone()
    return db.execute(_HIDES, (*ids, *place, first)).fetchone() is not None


def _part_of(text: str, matched: str) -> Passage:
    """So much of a text about the part that matched; what is private is gone before it
    is cut, since its tag may stand far before."""
    from memcli.text.controls import strip_private  # few hooks need it

    text = strip_private(text)
    most = NEAR * SIZE
    start = max(text.find(matched) - most // 4, 0)
    part = text[start : start + most]
    return Passage(
        text=part,
        ahead=start > 0,
        behind=start + most < len(text),
        lines=max(text.count("\n") - part.count("\n"), 1),
    )

"""Which chunks have the words of a task, and how well: the full-text table."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import cast

from memcli.index import bm25

MOST_WEIGHT = 20


class Lexical:
    """The words of an index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def size(self) -> int:
        """How many chunks there are."""
        return int(self.db.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def _matching(self, term: str) -> int:
        row = self.db.execute(
            "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (quoted(term),)
        ).fetchone()
        return int(row[0])

    def counts(self, words: Sequence[str]) -> list[int]:
        """In how many chunks each word stands."""
        return [self._matching(word) for word in words]

    def standing(self, terms: Sequence[str], among: Iterable[int]) -> dict[int, list[int]]:
        """For each of these chunks the numbers of the terms that stand in it."""
        rowids = json.dumps(list(among))
        found: dict[int, list[int]] = {}
        for number, term in enumerate(terms):
            rows = self.db.execute(
                "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?"
                " AND +rowid IN (SELECT value FROM json_each(?))",
                (quoted(term), rowids),
            )
            for row in rows:
                found.setdefault(row[0], []).append(number)
        return found

    def rarities(self, counts: Iterable[int]) -> list[float]:
        """The idf of words that stand in so many chunks."""
        total = self.size()
        return [bm25.idf(n, total) for n in counts]

    def idf(self, words: Sequence[str]) -> list[float]:
        """How rare each word is: ln(1 + (N - n + .5)/(n + .5)), above 0."""
        total = self.size()
        return [bm25.idf(n, total) for n in self.counts(words)]

    def best(
        self,
        terms: Sequence[str],
        allowed: frozenset[int] | None,
        denied: frozenset[int],
        pool: int = bm25.POOL,
    ) -> dict[int, float]:
        """BM25 of the best-matching chunks, and of all that tie with the last of them.

        FTS5's bm25 is additive over terms, so it is asked term by term. That allows an idf that
        stays positive, ln(1 + (N - n + .5)/(n + .5)), where FTS5 floors that of a word in more
        than half of the rows. `allowed` None: all chunks but the `denied` ones.
        """
        total = self.size()
        counted = sorted((n, term) for term in dict.fromkeys(terms) if (n := self._matching(term)))
        among = self._leaders(counted, total, allowed, denied)
        scores: dict[int, float] = {}
        covered: dict[int, float] = {}
        for n, term in counted:
            idf = bm25.idf(n, total)
            factor = idf / _fts_idf(n, total)
            for rowid, points in self._postings(term, among):
                if (allowed is None or rowid in allowed) and rowid not in denied:
                    scores[rowid] = scores.get(rowid, 0.0) + points * factor
                    covered[rowid] = covered.get(rowid, 0.0) + idf
        every = sum(bm25.idf(n, total) for n, _ in counted)
        return bm25.best({i: bm25.covered(s, covered[i], every) for i, s in scores.items()}, pool)

    def _leaders(
        self,
        counted: Sequence[tuple[int, str]],
        total: int,
        allowed: frozenset[int] | None,
        denied: frozenset[int],
    ) -> str | None:
        """The chunks worth scoring when common words match very many: those that cover most of the
        query.

        Reading row ids is ten times cheaper than scoring. Which are chosen depends on what they
        cover alone, not on how the index was built. None: all that match.
        """
        if sum(n for n, _ in counted) <= bm25.SCORED:
            return None
        common = min(bm25.idf(n, total) for n, _ in counted)
        covered: Counter[int] = Counter()
        for n, term in counted:
            found = self._rowids(term)
            for _ in range(min(round(bm25.idf(n, total) / common), MOST_WEIGHT)):
                covered.update(found)  # counting whole numbers is done in C
        seen: Mapping[int, int] = covered
        if allowed is not None or denied:
            seen = {
                i: c
                for i, c in covered.items()
                if (allowed is None or i in allowed) and i not in denied
            }
        return json.dumps(_foremost(seen))

    def _rowids(self, term: str) -> list[int]:
        """The chunks with a term; as one text, since a row for each would cost three times as much."""
        row = self.db.execute(
            "SELECT json_group_array(rowid) FROM chunks_fts WHERE chunks_fts MATCH ?",
            (quoted(term),),
        ).fetchone()
        return cast("list[int]", json.loads(row[0]))

    def _postings(self, term: str, among: str | None) -> Iterator[tuple[int, float]]:
        """(rowid, bm25 > 0) of the chunks with a term, or of those in the JSON list `among`."""
        weights = ", ".join(map(str, bm25.COLUMN_WEIGHTS))
        select = (
            f"SELECT rowid, -bm25(chunks_fts, {weights}) FROM chunks_fts WHERE chunks_fts MATCH ?"
        )
        if among is None:
            return self.db.execute(select, (quoted(term),))
        # The plus keeps SQLite from asking FTS5 anew for each row.
        return self.db.execute(
            f"{select} AND +rowid IN (SELECT value FROM json_each(?))", (quoted(term), among)
        )

    def denied(self, sources: Collection[int]) -> frozenset[int]:
        """Chunks that no plain search shows: not live, or of a file that is not in view."""
        rows = self.db.execute("SELECT id FROM chunks WHERE live = 0").fetchall()
        seen = frozenset(sources)
        hidden = [
            row[0] for row in self.db.execute("SELECT id FROM file_meta") if row[0] not in seen
        ]
        if hidden:
            rows += self.db.execute(
                "SELECT id FROM chunks WHERE live = 1 AND source IN (SELECT value FROM json_each(?))",
                (json.dumps(hidden),),
            ).fetchall()
        return frozenset(row[0] for row in rows)


def quoted(term: str) -> str:
    """One term or phrase as FTS5 takes it; a trailing `*` asks for a prefix."""
    if term.endswith("*"):
        return '"' + term[:-1].replace('"', '""') + '"*'
    return '"' + term.replace('"', '""') + '"'


def _fts_idf(n: int, total: int) -> float:
    """The idf inside FTS5's bm25: floored where a term stands in more than half of the rows."""
    share = (total - n + 0.5) / (n + 0.5)  # not above 0 where rows were lost that FTS5 still has
    return math.log(share) if share > 1 else 1e-6


def _foremost(covered: Mapping[int, int]) -> list[int]:
    """About `LEADERS` chunks that cover most: all that cover as much, or more where those are
    enough.
    """
    if len(covered) <= bm25.LEADERS:
        return list(covered)
    last = nlargest(bm25.LEADERS, covered.values())[-1]
    above = [i for i, count in covered.items() if count > last]
    return (
        above if len(above) >= bm25.POOL else [i for i, count in covered.items() if count >= last]
    )

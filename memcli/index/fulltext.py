"""One search by words, for memory files and for history: a full-text table is asked
term by term, so that the idf stays positive however common a word is."""

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from heapq import nlargest
from itertools import chain
from typing import TypeVar

from memcli.index import weights
from memcli.index.lexical import EITHER, is_word
from memcli.index.sql import first_column, json_list, number_of
from memcli.named import NamedTuple
from memcli.storage.files import ONE_OF

Key = TypeVar("Key")
Value = TypeVar("Value")
SCORED = 2000  # so many matches are all scored; beyond, the `LEADERS`
LEADERS = 1000  # rows that cover most of the query, and that may tie
POOL = 200  # how many best-matching rows are weighed
MOST_WEIGHT = 20


class Passing(NamedTuple):
    """The rows that may be hits: the `allowed` (None: all) that are not `denied`."""

    allowed: frozenset[int] | None = None
    denied: frozenset[int] = frozenset()

    def only(self, rows: Iterable[tuple[int, Value]]) -> list[tuple[int, Value]]:
        """Those of some rows, each with a value, that may be hits."""
        denied = self.denied
        kept = [pair for pair in rows if pair[0] not in denied]
        if self.allowed is None:
            return kept
        return [pair for pair in kept if pair[0] in self.allowed]


ALL = Passing()


class KnownTerm(NamedTuple):
    """A term, in how many texts it stands, and its idf."""

    term: str
    texts: int
    rarity: float


class FullText:
    """One full-text table; `size` is the query for how many texts it has, `most` for
    how many rows of a term are looked at (-1: all)."""

    def __init__(
        self,
        db: sqlite3.Connection,
        table: str,
        *,
        size: str,
        most: int = -1,
    ) -> None:
        self.db = db
        self.table = table
        self.most = most
        matching = f"FROM {table} WHERE {table} MATCH ?"
        self._size = size
        self._count = f"SELECT count(*) FROM (SELECT 1 {matching} LIMIT ?)"
        newest = f"SELECT rowid {matching} ORDER BY rowid DESC LIMIT ?"
        self._rowids = f"SELECT json_group_array(rowid) FROM ({newest})"
        self._scores = f"SELECT rowid, -bm25({table}) {matching}"
        self._number = cache(partial(number_of, db))

    def size(self) -> int:
        """How many texts there are, by which a word is rare."""
        return self.rows()

    def rows(self) -> int:
        """How many of them stand in this table."""
        return self._number(self._size)

    def counts(self, words: Sequence[str]) -> list[int]:
        """In how many texts each word stands."""
        return [self.matching(quoted(word)) for word in words]

    def matching(self, expression: str) -> int:
        """In how many rows an expression is met."""
        return self._number(self._count, expression, self.most)

    def idf(self, words: Sequence[str]) -> list[float]:
        """How rare each word is: see `idf`."""
        total = self.size()
        return [idf(count, total) for count in self.counts(words)]

    def known(self, terms: Iterable[str]) -> list[KnownTerm]:
        """The terms that stand anywhere, the rarest first."""
        terms = list(dict.fromkeys(terms))
        total = self.size()
        return [
            KnownTerm(term=term, texts=count, rarity=idf(count, total))
            for count, term in sorted(zip(self.counts(terms), terms, strict=True))
            if count
        ]

    def matches(
        self, known: Sequence[KnownTerm], passing: Passing = ALL
    ) -> Iterator[list[tuple[int, float]]]:
        """Of each of these terms its BM25 in the rows that are scored."""
        many = sum(each.texts for each in known) > SCORED
        among = [json.dumps(self._leaders(known, passing))] if many else []
        # The plus keeps SQLite from asking FTS5 anew for each row.
        scores = self._scores + f" AND +rowid {ONE_OF}" * many
        here = self.rows()
        for each in known:
            matching_rows = self.matching(quoted(each.term))
            # FTS5's own idf is floored where a term stands in more than half of all.
            its_own = (
                math.log(max((here - matching_rows + 0.5) / (matching_rows + 0.5), 1.0))
                or 1e-6
            )
            factor = each.rarity / its_own
            scored = self.db.execute(scores, (quoted(each.term), *among))
            yield [(row, score * factor) for row, score in passing.only(scored)]

    def fair(self, points: Mapping[int, float]) -> dict[int, float]:
        """BM25 of rows, where length counts less than it does in FTS5."""
        count, *words = sizes(self.db, self.table)
        query = f"SELECT id, sz FROM {self.table}_docsize WHERE id {ONE_OF}"
        mean = (sum(words) or 1) / (count or 1)
        fair_points = {}
        for row, packed in self.db.execute(query, (json.dumps(list(points)),)):
            length = sum(packed if packed.isascii() else unpacked(packed)) / mean
            # BM25 with k = 1.2, its b of .75 replaced
            as_it_is = 1.3 + 0.9 * length
            as_wanted = 2.2 - 1.2 * weights.LENGTH * (1 - length)
            fair_points[row] = points[row] * as_it_is / as_wanted
        return fair_points

    def _leaders(self, known: Sequence[KnownTerm], passing: Passing) -> list[int]:
        """The rows that cover most of the query, where common words match very many."""
        covered: Counter[int] = Counter()
        for each in known:
            newest = self.db.execute(self._rowids, (quoted(each.term), self.most))
            rows = json.loads(newest.fetchone()[0])
            weight = min(round(each.rarity / known[-1].rarity), MOST_WEIGHT)
            for _ in range(weight):
                covered.update(rows)  # counting whole numbers is done in C
        seen: Mapping[int, int] = covered
        if passing != ALL:
            seen = dict(passing.only(covered.items()))
        if len(seen) <= LEADERS:
            return list(seen)
        last = nlargest(LEADERS, seen.values())[-1]
        above = [row for row, count in seen.items() if count > last]
        if len(above) >= POOL:
            return above
        return [row for row, count in seen.items() if count >= last]


class Lexical(FullText):
    """The words of an index as it is; what was counted is known."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__(db, "chunks_fts", size="SELECT count(*) FROM chunks")

    def counts(self, words: Sequence[str]) -> list[int]:
        """In how many chunks each word stands, not counting where it stands beside
        them."""
        where = "- around : " if self._has_passages else ""
        return [self.matching(f"{where}({quoted(word)})") for word in words]

    @cached_property
    def _has_passages(self) -> bool:
        passages = "SELECT 1 FROM chunks WHERE around != '' LIMIT 1"
        return self.db.execute(passages).fetchone() is not None

    def best(
        self, terms: Sequence[str], passing: Passing = ALL, pool: int = POOL
    ) -> dict[int, float]:
        """BM25 of the best-matching chunks, and of those that tie with the last of
        them, of very many the newest."""
        scores = dict[int, float]()
        for row, points in chain.from_iterable(
            self.matches(self.known(terms), passing)
        ):
            scores[row] = scores.get(row, 0.0) + points
        kept = top(scores, pool)
        last = min(kept.values(), default=0.0) * (1 + 1e-9)
        old = old_ones(self.db, [row for row, score in kept.items() if score <= last])
        whole = {row: score for row, score in kept.items() if row not in old}
        return top(self.fair(whole), len(whole))

    def shown(self, hidden: Iterable[int]) -> Passing:
        """The chunks that a plain search shows: live, and of no hidden file."""
        rows = self.db.execute(
            "SELECT id FROM chunks WHERE live = 0 UNION ALL"
            f" SELECT id FROM chunks WHERE live = 1 AND source {ONE_OF}",
            (json_list(hidden),),
        )
        return Passing(denied=frozenset(first_column(rows)))


def old_ones(db: sqlite3.Connection, tied: Sequence[int]) -> set[int]:
    """Of very many chunks that are equally good, all but the newest `LEADERS`, in an
    order that is that of the files, however the index was made."""
    if len(tied) <= LEADERS:
        return set()
    newest = db.execute(
        "SELECT c.id FROM chunks AS c JOIN file_meta AS f ON f.id = c.source"
        f" WHERE c.id {ONE_OF} ORDER BY c.date DESC, f.path, c.offset, c.part LIMIT ?",
        (json.dumps(tied), LEADERS),
    )
    return set(tied).difference(row[0] for row in newest)


def sizes(db: sqlite3.Connection, table: str) -> list[int]:
    """How many rows a full-text table has, and how many words each column."""
    query = f"SELECT block FROM {table}_data WHERE id = 1"
    return unpacked(db.execute(query).fetchone()[0]) or [0]


def unpacked(packed: bytes) -> list[int]:
    """Numbers as FTS5 packs them: seven bits a byte, the last one without the
    eighth."""
    numbers = list[int]()
    number = 0
    for byte in packed:
        number = number << 7 | byte & 127
        if byte < 128:
            numbers.append(number)
            number = 0
    return numbers


def idf(count: int, total: int) -> float:
    """How rare a term is that so many of `total` texts have:
    ln(1 + (N - n + .5)/(n + .5)), above 0."""
    return math.log(1 + max(total - count + 0.5, 0.0) / (count + 0.5)) or 1e-6


def said_by(
    terms: Sequence[str], counts: Sequence[int], total: int
) -> dict[str, float]:
    """The weight of each term that stands in `total` texts: 1 for a rare one that
    stands in one. A phrase says no more than its words, but a number more than its
    figures."""
    return {
        term: idf(count, total) / idf(1, total)
        for term, count in zip(terms, counts, strict=True)
        if count and (EITHER in term or is_word(term))
    }


def top(scores: Mapping[Key, float], pool: int) -> dict[Key, float]:
    """The `pool` best, best first, and all that tie with the last of them."""
    kept = dict(scores)
    if len(kept) > pool:
        last = nlargest(pool, kept.values())[-1] * (1 - 1e-9)
        kept = {key: score for key, score in kept.items() if score >= last}
    return dict(sorted(kept.items(), key=lambda item: -item[1]))


def quoted(term: str) -> str:
    """A term or phrase as FTS5 takes it, or any of some; a trailing `*` asks for a
    prefix."""
    if EITHER in term:
        return " OR ".join(map(quoted, term.split(EITHER)))
    whole = '"' + term.removesuffix("*").replace('"', '""') + '"'
    return whole + "*" if term.endswith("*") else whole

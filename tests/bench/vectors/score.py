"""Score a table of vectors, or two of them against each other.

    python -m tests.bench.vectors.score TABLE [--against TABLE] [--use choose]
        [--mined FILE...] [--sets FOLDER...]

Of packages that nothing was trained on, those for choosing or those for scoring: the
first sentence of a translated section is to find its English section among 600, first
place in percent; the first of a pair of English texts is to find the second, nDCG@10 of
half vectors, half BM25. The same of question sets. Words weigh by how rare they are.
With `--against` the difference to the other table stands beside, with its 95 % interval
by paired bootstrap of the cases."""

import argparse
import json
import math
import random
import re
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from itertools import repeat
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from memcli.memory.words import word_forms
from tests.bench.retrieval import difference
from tests.bench.vectors.pack import read_table
from tests.bench.vectors.sources import CHOOSE, SCORE, use_of
from tests.bench.vectors.texts import SCRIPTS
from tests.bench.vectors.train import records, sentences
from tests.bench.vectors.vocabulary import cut

ASKED = ("zh", "ja", "ko", "de", "es", "fr", "pt", "ru")
POOL = 600
LEAST_ASKED = 30
PLACES = 10
MOST_TEXT = 1500  # characters of a section
MOST_DOCS = 2000
MOST_ASKED = 400
LEAST = 25  # bytes of a first sentence that is asked for
SHARED = 0.5  # a translation has at most so many of its words from the English


class Scored(NamedTuple):
    """What each case of a kind got, 0 to 1."""

    name: str
    values: list[float]


class Table:
    """Vectors of words, summed."""

    def __init__(self, path):
        self.cache: dict[str, np.ndarray | None] = {}
        if path.suffix == ".sqlite":
            pieces, self.table = read_table(path)
        else:
            with np.load(path) as data:
                pieces = list(map(str, data["pieces"]))
                self.table = data["table"]
        self.known = {piece: place for place, piece in enumerate(pieces)}

    def word(self, word):
        if word not in self.cache:
            ids = cut(word.lower(), self.known)
            self.cache[word] = self.table[ids].sum(0) if ids else None
        return self.cache[word]

    def embed(self, texts, idf=None):
        """A unit vector for each text."""
        rows = []
        for text in texts:
            total = np.zeros(256, np.float32)
            for word in word_forms(text):
                vector = self.word(word)
                if vector is not None:
                    total += vector * (idf.get(word.lower(), 8.0) if idf else 1.0)
            rows.append(total / (np.linalg.norm(total) + 1e-9))
        return np.array(rows)


def idfs(texts):
    """How rare each word is among the texts."""
    counts = Counter(
        word for text in texts for word in {form.lower() for form in word_forms(text)}
    )
    return {word: math.log(1 + len(texts) / n) for word, n in counts.items()}


def across(table, found):
    """Whether each translated sentence finds its section first, a source and language
    after the other."""
    held = defaultdict(list)
    for record in found:
        if record["kind"] == "section":
            held[record["source"]].append(record["texts"])
    for source, sections in held.items():
        random.Random(1).shuffle(sections)
        for name in ASKED:
            if firsts := first_places(table, sections, name):
                yield Scored(f"{source} {name}", firsts)


def first_places(table, sections, language):
    """1 for each sentence that finds its section first, 0 for another; nothing when
    there are few."""
    english = [section for section in sections if section.get("en", ["", []])[1]]
    texts = [whole(section["en"]) for section in english]
    firsts = map(asked_for, english, repeat(language), texts)
    asked = [(first, text) for first, text in zip(firsts, texts, strict=True) if first]
    # The sections that are asked for come first into the pool.
    pool = list(dict.fromkeys([*(text for _, text in asked), *texts]))[:POOL]
    queries = [(first, text) for first, text in asked if text in pool]
    if len(queries) < LEAST_ASKED:
        return []
    right = np.array([pool.index(text) for _, text in queries])
    near = table.embed([first for first, _ in queries], idfs(pool))
    places = (near @ table.embed(pool).T).argmax(1)
    return [float(is_first) for is_first in places == right]


def asked_for(texts, language, english):
    """The first sentence of a section in a language, if it is a translation."""
    body = texts[language][1] if language in texts else []
    first = sentences(body)[0] if body else ""
    return first if translated(first, english, language) else ""


def whole(section):
    """The title and the beginning of the text of a section."""
    title, body = section
    return f"{title}\n{' '.join(body)[:MOST_TEXT]}"


def translated(first, english, language):
    """Whether a first sentence is in another language than English, and long enough."""
    if len(first.encode()) < LEAST:
        return False
    if language in SCRIPTS:
        odd = len(re.findall(r"[^\W\d_a-zA-Z]", first))
        return odd * 2 > len(re.findall(r"[^\W\d_]", first))
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", first)}
    there = {word.lower() for word in re.findall(r"[^\W\d_]+", english)}
    return len(words) > 3 and len(words & there) < SHARED * len(words)


def question_set(table, folder):
    """Score a folder of questions and texts."""

    def lines(name):
        return [json.loads(line) for line in (folder / name).read_text().splitlines()]

    groups = defaultdict(list)
    for doc in lines("docs.jsonl"):
        groups[doc["group"]].append(doc)
    asked = defaultdict(list)
    for query in lines("queries.jsonl"):
        if query.get("category") != "adversarial":
            asked[query["group"]].append(query)
    return questions(table, folder.name, groups, asked)


def english(table, found):
    """Score pairs and headings of English: the first finds the second."""
    pairs_of = defaultdict(list)
    for record in found:
        kind = record["kind"]
        texts = record["texts"].get("en")
        if not texts or kind == "message":
            continue
        first, second = texts
        if kind == "section":
            kind = "heading"
            second = " ".join(second)[:MOST_TEXT]
        if first and second:
            pairs_of[f"{record['source']} {kind}"].append((first, second))
    for name, pairs in pairs_of.items():
        if len(pairs) >= LEAST_ASKED:
            random.Random(1).shuffle(pairs)
            asked = {"": questions_of(pairs)}
            yield questions(table, name, {"": documents_of(pairs)}, asked)


def documents_of(pairs):
    return [
        {"id": str(number), "title": "", "text": second}
        for number, (_, second) in enumerate(pairs[:MOST_DOCS])
    ]


def questions_of(pairs):
    return [
        {"query": first, "relevant": [str(number)]}
        for number, (first, _) in enumerate(pairs[:MOST_ASKED])
    ]


def questions(table, name, groups, asked):
    """nDCG@10 of half vectors and half BM25, of each question."""
    scores = []
    for group, docs in groups.items():
        texts = [f"{doc['title']}\n{doc['text']}" for doc in docs]
        names = [doc["id"] for doc in docs]
        queries = [query["query"] for query in asked[group]]
        near = table.embed(queries, idfs(texts)) @ table.embed(texts).T
        by_words = bm25(texts, queries)
        for query, alone, lexical in zip(asked[group], near, by_words, strict=True):
            both = shares(alone) / 2 + shares(lexical) / 2
            ranked = [names[place] for place in np.argsort(-both)[:PLACES]]
            scores.append(ndcg(ranked, set(query["relevant"])))
    return Scored(name, scores)


def shares(values):
    """The values as shares of the greatest."""
    return values / max(values.max(), 1e-9)


def bm25(texts, queries):
    """A row for each query: how well each text matches any of its words."""
    found = np.zeros((len(queries), len(texts)))
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61')")
        db.executemany("INSERT INTO f (rowid, t) VALUES (?, ?)", enumerate(texts))
        for row, query in zip(found, queries, strict=True):
            words = re.findall(r"\w+", query) or ["-"]
            match = " OR ".join(f'"{word}"' for word in words)
            select = "SELECT rowid, -rank FROM f WHERE f MATCH ?"
            for place, rank in db.execute(select, (match,)):
                row[place] = rank
    return found


def ndcg(ranked, relevant):
    """The discounted gain of the first places, as a share of what it could be."""
    gains = [1 / math.log2(place + 2) for place in range(PLACES)]
    gain = sum(
        gain for gain, name in zip(gains, ranked, strict=False) if name in relevant
    )
    best = sum(gains[: len(relevant)])
    return gain / best if best else 0.0


def scored(path, found, sets):
    """The values of all cases of a table, by what they are of."""
    table = Table(path)
    rows = [*across(table, found), *english(table, found)]
    rows += [question_set(table, folder) for folder in sets]
    return {row.name: row.values for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--use", choices=(CHOOSE, SCORE), default=CHOOSE)
    parser.add_argument("--mined", type=Path, nargs="*", default=[])
    parser.add_argument("--sets", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    found = [
        record
        for path in given.mined
        for record in records(path)
        if use_of(record["source"]) == given.use
    ]
    own = scored(given.table, found, given.sets)
    other = scored(given.against, found, given.sets) if given.against else {}
    for name, values in own.items():
        line = f"{name:28} {100 * fmean(values):5.1f} of {len(values):4}"
        if name in other:
            gained = difference(values, other[name])
            line += "  {points:+} [{low:+}, {high:+}]".format(**gained)
        print(line, flush=True)


if __name__ == "__main__":
    main()

"""Score a table: `python score.py TABLE.npz MINED.jsonl [SOURCE...] [--sets
FOLDER...]`.

Across languages: the first sentence of a translated section is to find its English
section among 600 of documents that no pair was mined from. On question sets: nDCG@10
of the vectors alone and of half vectors, half BM25.
"""

import json
import math
import random
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from memcli.memory.words import word_forms
from tests.bench.vectors.pack import read_table
from tests.bench.vectors.texts import SCRIPTS
from tests.bench.vectors.train import is_held, records, sentences
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


class Table:
    """Vectors of words, summed."""

    def __init__(self, path: str) -> None:
        self.cache: dict[str, np.ndarray | None] = {}
        if path.endswith(".sqlite"):
            pieces, self.table = read_table(Path(path))
        else:
            with np.load(path) as data:
                pieces = list(map(str, data["pieces"]))
                self.table = data["table"]
        self.known = {piece: place for place, piece in enumerate(pieces)}

    def word(self, word: str) -> np.ndarray | None:
        if word not in self.cache:
            ids = cut(word.lower(), self.known)
            self.cache[word] = self.table[ids].sum(0) if ids else None
        return self.cache[word]

    def embed(
        self, texts: list[str], idf: dict[str, float] | None = None
    ) -> np.ndarray:
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


def idfs(texts: list[str]) -> dict[str, float]:
    """How rare each word is among the texts."""
    counts = Counter(
        word for text in texts for word in {w.lower() for w in word_forms(text)}
    )
    return {word: math.log(1 + len(texts) / n) for word, n in counts.items()}


def across(table: Table, mined: Path, sources: list[str]) -> None:
    """Print the share of first places for each language and source."""
    held: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records(mined):
        is_section = record["source"] in sources and record["kind"] == "section"
        if is_section and is_held(record):
            held[record["source"]].append(record["texts"])
    for source, sections in held.items():
        random.Random(1).shuffle(sections)
        line = [f"{name} {first_places(table, sections, name)}" for name in ASKED]
        print(f"{source:16}", " | ".join(line), flush=True)


def first_places(table: Table, sections: list[dict[str, Any]], language: str) -> str:
    """The percentage with and without the weights of rare words, and of how many."""
    english = [section for section in sections if section.get("en", ["", []])[1]]
    texts = [whole(section["en"]) for section in english]
    firsts = map(asked_for, english, repeat(language), texts)
    asked = [(first, text) for first, text in zip(firsts, texts, strict=True) if first]
    # The sections that are asked for come first into the pool.
    pool = list(dict.fromkeys([*(text for _, text in asked), *texts]))[:POOL]
    queries = [(first, text) for first, text in asked if text in pool]
    if len(queries) < LEAST_ASKED:
        return "-"
    right = np.array([pool.index(text) for _, text in queries])
    documents = table.embed(pool)
    shares_right = []
    for weights in (idfs(pool), None):
        near = table.embed([first for first, _ in queries], weights) @ documents.T
        shares_right.append(f"{100 * (near.argmax(1) == right).mean():.0f}")
    return f"{'/'.join(shares_right)} ({len(queries)})"


def asked_for(texts: dict[str, Any], language: str, english: str) -> str:
    """The first sentence of a section in a language, if it is a translation."""
    body = texts[language][1] if language in texts else []
    first = sentences(body)[0] if body else ""
    return first if translated(first, english, language) else ""


def whole(section: list[Any]) -> str:
    """The title and the beginning of the text of a section."""
    title, body = section
    return f"{title}\n{' '.join(body)[:MOST_TEXT]}"


def translated(first: str, english: str, language: str) -> bool:
    """Whether a first sentence is in another language than English, and long enough."""
    if len(first.encode()) < LEAST:
        return False
    if language in SCRIPTS:
        odd = len(re.findall(r"[^\W\d_a-zA-Z]", first))
        return odd * 2 > len(re.findall(r"[^\W\d_]", first))
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", first)}
    there = {word.lower() for word in re.findall(r"[^\W\d_]+", english)}
    return len(words) > 3 and len(words & there) < SHARED * len(words)


def question_set(table: Table, folder: Path) -> None:
    """Score a folder of questions and texts."""

    def lines(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / name).read_text().splitlines()]

    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for doc in lines("docs.jsonl"):
        groups[doc["group"]].append(doc)
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for query in lines("queries.jsonl"):
        if query.get("category") != "adversarial":
            asked[query["group"]].append(query)
    questions(table, folder.name, groups, asked)


def english(table: Table, mined: Path) -> None:
    """Score pairs and headings of held-out English: the first finds the second."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for record in filter(is_held, records(mined)):
        kind = record["kind"]
        texts = record["texts"].get("en")
        if not texts or kind == "message":
            continue
        first, second = texts
        if kind == "section":
            kind = "heading"
            second = " ".join(second)[:MOST_TEXT]
        if first and second:
            found[f"{record['source']} {kind}"].append((first, second))
    for name, pairs in found.items():
        if len(pairs) >= LEAST_ASKED:
            random.Random(1).shuffle(pairs)
            questions(table, name, {"": documents_of(pairs)}, {"": questions_of(pairs)})


def documents_of(pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {"id": str(number), "title": "", "text": second}
        for number, (_, second) in enumerate(pairs[:MOST_DOCS])
    ]


def questions_of(pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {"query": first, "relevant": [str(number)]}
        for number, (first, _) in enumerate(pairs[:MOST_ASKED])
    ]


def questions(
    table: Table,
    name: str,
    groups: dict[str, list[dict[str, Any]]],
    asked: dict[str, list[dict[str, Any]]],
) -> None:
    """Print nDCG@10 of the vectors alone, of BM25 and of half each."""
    scores: dict[str, list[float]] = defaultdict(list)
    for group, docs in groups.items():
        texts = [f"{doc['title']}\n{doc['text']}" for doc in docs]
        names = [doc["id"] for doc in docs]
        queries = [query["query"] for query in asked[group]]
        near = table.embed(queries, idfs(texts)) @ table.embed(texts).T
        by_words = bm25(texts, queries)
        for query, alone, lexical in zip(asked[group], near, by_words, strict=True):
            both = shares(alone) / 2 + shares(lexical) / 2
            relevant = set(query["relevant"])
            for way, values in (("alone", alone), ("bm25", lexical), ("both", both)):
                ranked = [names[place] for place in np.argsort(-values)[:PLACES]]
                scores[way].append(ndcg(ranked, relevant))
    means = {
        way: round(100 * float(np.mean(found)), 1) for way, found in scores.items()
    }
    print(f"{name:28}", means, flush=True)


def shares(values: np.ndarray) -> np.ndarray:
    """The values as shares of the greatest."""
    return values / max(values.max(), 1e-9)


def bm25(texts: list[str], queries: list[str]) -> np.ndarray:
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


def ndcg(ranked: list[str], relevant: set[str]) -> float:
    """The discounted gain of the first places, as a share of what it could be."""
    gains = [1 / math.log2(place + 2) for place in range(PLACES)]
    gain = sum(
        gain for gain, name in zip(gains, ranked, strict=False) if name in relevant
    )
    best = sum(gains[: len(relevant)])
    return gain / best if best else 0.0


def main() -> None:
    arguments = sys.argv[1:]
    sets: list[str] = []
    if "--sets" in arguments:
        at = arguments.index("--sets")
        sets = arguments[at + 1 :]
        arguments = arguments[:at]
    table = Table(arguments[0])
    if len(arguments) > 1:
        across(table, Path(arguments[1]), arguments[2:])
        english(table, Path(arguments[1]))
    for folder in sets:
        question_set(table, Path(folder))


if __name__ == "__main__":
    main()

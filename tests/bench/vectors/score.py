"""Score a table: `python score.py TABLE.npz MINED.jsonl [SOURCE...] [--sets FOLDER...]`.

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
from pathlib import Path
from typing import Any

import numpy as np

from memcli.memory.words import word_forms
from tests.bench.vectors.pack import read_table
from tests.bench.vectors.train import is_held, records, sentences
from tests.bench.vectors.vocabulary import cut

POOL = 600
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
                pieces, self.table = list(map(str, data["pieces"])), data["table"]
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
        if (
            record["source"] in sources
            and record["kind"] == "section"
            and is_held(record)
        ):
            held[record["source"]].append(record["texts"])
    for source, found in held.items():
        dice = random.Random(1)
        dice.shuffle(found)
        line = []
        for language in ("zh", "ja", "ko", "de", "es", "fr", "pt", "ru"):
            asked = []
            for texts in found:
                if (
                    language in texts
                    and "en" in texts
                    and texts[language][1]
                    and texts["en"][1]
                ):
                    first = sentences(texts[language][1])[0]
                    if translated(first, " ".join(texts["en"][1]), language):
                        asked.append((first, texts["en"]))
            pool = {
                f"{title}\n{' '.join(body)[:1500]}": None for _, (title, body) in asked
            }
            targets = list(pool)[:POOL]
            others = [
                f"{t['en'][0]}\n{' '.join(t['en'][1])[:1500]}"
                for t in found
                if "en" in t and t["en"][1]
            ]
            candidates = list(dict.fromkeys([*targets, *others]))[:POOL]
            place = {text: i for i, text in enumerate(candidates)}
            queries = []
            for first, (title, body) in asked:
                key = f"{title}\n{' '.join(body)[:1500]}"
                if key in place:
                    queries.append((first, place[key]))
            if len(queries) < 30:
                line.append(f"{language} -")
                continue
            documents = table.embed(candidates)
            near = table.embed([q for q, _ in queries], idfs(candidates)) @ documents.T
            right = np.array([target for _, target in queries])
            hits = (near.argmax(1) == right).mean()
            plain = table.embed([q for q, _ in queries]) @ documents.T
            flat = (plain.argmax(1) == right).mean()
            line.append(
                f"{language} {100 * hits:.0f}/{100 * flat:.0f} ({len(queries)})"
            )
        print(f"{source:16}", " | ".join(line), flush=True)


def translated(first: str, english: str, language: str) -> bool:
    """Whether a first sentence is in another language than English, and long enough."""
    if len(first.encode()) < LEAST:
        return False
    if language in ("ja", "zh", "ko", "ru"):
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
    for record in records(mined):
        texts = record["texts"].get("en")
        if not texts or record["kind"] == "message" or not is_held(record):
            continue
        if record["kind"] != "section":
            found[f"{record['source']} {record['kind']}"].append(tuple(texts))
        elif texts[0] and texts[1]:
            text = " ".join(texts[1])[:1500]
            found[f"{record['source']} heading"].append((texts[0], text))
    for name, pairs in found.items():
        if len(pairs) < 30:
            continue
        random.Random(1).shuffle(pairs)
        docs = [
            {"id": str(number), "title": "", "text": second}
            for number, (_, second) in enumerate(pairs[:MOST_DOCS])
        ]
        asked = [
            {"query": first, "relevant": [str(number)]}
            for number, (first, _) in enumerate(pairs[:MOST_ASKED])
        ]
        questions(table, name, {"": docs}, {"": asked})


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
        idf = idfs(texts)
        vectors = table.embed(texts)
        db = sqlite3.connect(":memory:")
        db.execute("CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61')")
        db.executemany("INSERT INTO f (rowid, t) VALUES (?, ?)", enumerate(texts))
        queries = asked[group]
        near = table.embed([query["query"] for query in queries], idf) @ vectors.T
        for query, row in zip(queries, near, strict=True):
            words = re.findall(r"\w+", query["query"]) or ["-"]
            match = " OR ".join(f'"{word}"' for word in words)
            bm25 = np.zeros(len(docs))
            for rowid, rank in db.execute(
                "SELECT rowid, -rank FROM f WHERE f MATCH ?", (match,)
            ):
                bm25[rowid] = rank
            both = row / max(row.max(), 1e-9) / 2 + bm25 / max(bm25.max(), 1e-9) / 2
            for way, values in (("alone", row), ("bm25", bm25), ("both", both)):
                got = [docs[i]["id"] for i in np.argsort(-values)[:10]]
                relevant = set(query["relevant"])
                gain = sum(
                    1 / math.log2(i + 2) for i, own in enumerate(got) if own in relevant
                )
                best = sum(1 / math.log2(i + 2) for i in range(min(10, len(relevant))))
                scores[way].append(gain / best if best else 0.0)
    print(
        f"{name:28}",
        {way: round(100 * float(np.mean(v)), 1) for way, v in scores.items()},
        flush=True,
    )


def main() -> None:
    arguments = sys.argv[1:]
    sets: list[str] = []
    if "--sets" in arguments:
        at = arguments.index("--sets")
        arguments, sets = arguments[:at], arguments[at + 1 :]
    table = Table(arguments[0])
    if len(arguments) > 1:
        across(table, Path(arguments[1]), arguments[2:])
        english(table, Path(arguments[1]))
    for folder in sets:
        question_set(table, Path(folder))


if __name__ == "__main__":
    main()

"""Train vectors of pieces on mined pairs.

    python -m tests.bench.vectors.train OUT.npz MINED.jsonl...
    python -m tests.bench.vectors.train OUT.npz MINED.jsonl... --on TABLE.sqlite
    python -m tests.bench.vectors.train OUT.npz [--on TABLE.sqlite]

With `--on` a packed table learns languages: what English is written in stays as it is,
and the pieces of other languages, some of them new, come nearer to it. Without what was
mined, it is trained once more on what was prepared for `OUT.npz`. The vector of a text
is the sum of the vectors of its pieces. Two texts that belong together shall be nearer than any
two others of a batch (InfoNCE, both ways). The start is random, so that the same word
is like itself and nothing else.
"""

import json
import re
import time
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from scipy.sparse import csr_matrix

from memcli.memory.words import word_forms
from tests.bench.vectors.pack import read_table
from tests.bench.vectors.sources import ACROSS, TRAIN, is_trained
from tests.bench.vectors.vocabulary import MARK, cut, grown, vocabulary
from tests.programs import run

SEED = 20261123
DIM = 256
BATCH = 1024
TEMPERATURE = 0.05
MOST = 200  # pieces of a text
STEPS = 2000
HORIZON = 4000  # the step at which the rate would be nothing
RATE = 0.01
WARM = 100  # steps in which the rate rises
WINDOW = 6 * BATCH
"""Half of the batches are drawn from so many neighbours: most are of one package."""
SHARES = {
    "message": 0.26,
    "cross": 0.14,
    "foreign": 0.04,
    "english": 0.20,
    "other": 0.05,
    "meaning": 0.12,
    "code": 0.19,
}
"""How often a batch is of each kind of pair."""
LEARNING = {"cross": 0.45, "sentence": 0.25, "message": 0.15, "foreign": 0.15}
"""The same, where English stays as it is."""
LEARNING_STEPS = 1500
LEARNING_RATE = 0.005
ASKED = 4  # sentences of a section that are to find its English
LONG = 12  # pieces of a message that is a sentence
ENGLISH = 0.02  # of a piece's places are in English texts: it stays
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


def records(path):
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def sentences(paragraphs):
    return [part for text in paragraphs for part in SENTENCE.split(text) if part]


class Corpus:
    """Texts by number, and the pairs of numbers of each kind and language, or of some
    kinds alone."""

    def __init__(self, kinds=SHARES):
        self.kinds = kinds
        self.texts: dict[str, int] = {}
        self.languages: list[str] = []
        self.pairs: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        self.counted: Counter[str] = Counter()
        self.made = 0

    def number(self, text, language):
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            self.languages.append(language)
        return self.texts[text]

    def pair(self, kind, language, first, second):
        is_pair = first[1] and second[1] and first[1] != second[1]
        if kind in self.kinds and is_pair:
            numbers = (self.number(*reversed(first)), self.number(*reversed(second)))
            self.pairs[kind, language].append(numbers)
            self.made += 1

    def add(self, record):
        """The pairs of a record."""
        texts = record["texts"]
        before = self.made
        if record["kind"] == "message":
            self.message(texts)
        elif record["kind"] in ("pair", "code", "docstring"):
            first, second = texts["en"]
            kind = "meaning" if record["kind"] == "pair" else "code"
            self.pair(kind, "en", ("en", first), ("en", second))
        else:
            self.section(texts)
        self.counted[record["source"]] += self.made - before

    def message(self, texts):
        for language, text in texts.items():
            if language != "en" and "en" in texts:
                english = ("en", texts["en"])
                self.pair("message", language, (language, text), english)
                said = sentences([text])
                if "sentence" in self.kinds and len(said) > 1:
                    self.pair("cross", language, (language, said[0]), english)
        others = sorted(texts.keys() - {"en"})
        for a, b in pairwise(others):
            self.pair("foreign", "", (a, texts[a]), (b, texts[b]))

    def section(self, texts):
        whole = {}
        for language, (title, body) in texts.items():
            said = sentences(body)
            text = " ".join(body)[:1500]
            if not text:
                continue
            whole[language] = (title, said, text)
            kind = "english" if language == "en" else "other"
            mine = "" if kind == "english" else language
            self.pair(kind, mine, (language, title), (language, text))
            if len(said) > 1:
                rest = " ".join(said[1:])[:1500]
                self.pair(
                    kind, mine, (language, said[0]), (language, f"{title} {rest}")
                )
                for first, second in list(pairwise(said))[1:8:2]:
                    self.pair(kind, mine, (language, first), (language, second))
        if "en" not in whole:
            return
        title, _, text = whole.pop("en")
        target = ("en", f"{title} {text}")
        most = ASKED if "sentence" in self.kinds else 1
        for language, (own_title, said, own_text) in whole.items():
            for own in (*said[:most], f"{own_title} {own_text}", own_title):
                self.pair("cross", language, (language, own), target)


def tokenised(corpus, before):
    """(pieces, ids of all texts in a row, where each text begins); the pieces from
    before, if any, come first."""
    counts = defaultdict(Counter)
    forms = []
    for text, language in zip(corpus.texts, corpus.languages, strict=True):
        words = [word.lower() for word in word_forms(text)][:MOST]
        forms.append(words)
        counts[language].update(words)
    pieces = [*before, *grown(counts, before)] if before else vocabulary(counts)
    known = {piece: number for number, piece in enumerate(pieces)}
    cache = {}
    ids = []
    starts = [0]
    for words in forms:
        row = []
        for word in words:
            if word not in cache:
                cache[word] = cut(word, known)
            row += cache[word]
        ids += row[:MOST]
        starts.append(len(ids))
    return pieces, np.array(ids, np.int32), np.array(starts, np.int64)


class Trainer:
    """The table, and Adam for the rows of a batch alone; some rows stay."""

    def __init__(self, table, still):
        self.table = table
        self.still = still
        self.first = np.zeros_like(table)
        self.second = np.zeros_like(table)
        self.times = np.zeros(len(table), np.int32)

    def step(self, left, right, same, rate):
        """One step down the gradient; the loss before it."""
        rows = np.union1d(left.indices, right.indices)
        place = np.zeros(len(self.table), np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        table = self.table[rows]
        sides = []
        for side in (left, right):
            small = csr_matrix(
                (side.data, place[side.indices], side.indptr),
                (side.shape[0], len(rows)),
            )
            total = small @ table
            length = np.linalg.norm(total, axis=1, keepdims=True) + 1e-6
            sides.append((small, total / length, length))
        units = [unit for _, unit, _ in sides]
        loss, towards = contrast(units[0], units[1], same)
        change = np.zeros_like(table)
        for (matrix, unit, length), pull in zip(sides, towards, strict=True):
            inner = (pull * unit).sum(1, keepdims=True)
            change += matrix.T @ ((pull - unit * inner) / length)
        moving = ~self.still[rows]
        rows = rows[moving]
        change = change[moving]
        self.times[rows] += 1
        first = self.first[rows] = 0.9 * self.first[rows] + 0.1 * change
        second = self.second[rows] = 0.999 * self.second[rows] + 0.001 * change**2
        times = self.times[rows][:, None]
        first = first / (1 - 0.9**times)
        second = second / (1 - 0.999**times)
        self.table[rows] -= rate * first / (np.sqrt(second) + 1e-8)
        return loss


def contrast(left, right, same):
    """(loss, its gradient by both sides) of unit vectors, row by row partners."""
    logits = (left @ right.T) / TEMPERATURE
    logits[same] = -30.0
    across = softmax(logits)
    down = softmax(logits.T).T
    count = len(left)
    diagonal = np.arange(count)
    likely = across[diagonal, diagonal], down[diagonal, diagonal]
    loss = -sum(np.log(each + 1e-12).mean() for each in likely) / 2
    gradient = across + down
    gradient[diagonal, diagonal] -= 2
    gradient *= 1 / (2 * count * TEMPERATURE)
    return float(loss), (gradient @ right, gradient.T @ left)


def softmax(logits):
    logits = np.exp(logits - logits.max(1, keepdims=True))
    logits /= logits.sum(1, keepdims=True)
    return logits


def at_random(counts, rng):
    """Random vectors; a frequent piece says less (Arora et al. 2017)."""
    weight = 1e-3 / (1e-3 + counts / counts.sum())
    table = rng.standard_normal((len(counts), DIM)) / np.sqrt(DIM)
    return (table * weight[:, None]).astype(np.float32)


def prepare(out, mined, uses, before):
    """Cut what was mined into pieces, and keep it beside `out`."""
    began = time.process_time()
    corpus = Corpus(LEARNING if before else SHARES)
    for path in mined:
        for record in records(path):
            if is_trained(record, uses):
                corpus.add(record)
    pieces, ids, starts = tokenised(corpus, before)
    counts = np.bincount(ids, minlength=len(pieces)).astype(np.float64)
    print(f"{len(corpus.texts)} texts, {len(pieces)} pieces, {len(ids)} ids")
    pairs = {key: np.array(sorted(set(found))) for key, found in corpus.pairs.items()}
    for key, found in pairs.items():
        print(*key, len(found))
    print(f"prepared in {time.process_time() - began:.0f} s", flush=True)
    named = {"pairs " + " ".join(key): found for key, found in pairs.items()}
    is_english = np.array([language == "en" for language in corpus.languages])
    english = np.repeat(is_english, np.diff(starts))
    np.savez(
        f"{out}.prepared.npz",
        ids=ids,
        starts=starts,
        counts=counts,
        english=np.bincount(ids[english], minlength=len(pieces)),
        pieces=np.array(pieces),
        **named,
    )
    Path(f"{out}.counted.json").write_text(json.dumps(corpus.counted))


class Prepared(NamedTuple):
    """Texts as pieces, and their pairs by kind and language."""

    ids: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    english: np.ndarray
    pieces: list[str]
    pairs: dict[tuple[str, ...], np.ndarray]


def prepared(path):
    with np.load(path) as data:
        named = {key: data[key] for key in data if key.startswith("pairs ")}
        return Prepared(
            ids=data["ids"],
            starts=data["starts"],
            counts=data["counts"],
            english=data["english"],
            pieces=list(map(str, data["pieces"])),
            pairs={tuple(key[6:].split(" ")): found for key, found in named.items()},
        )


def train(out):
    """From what is prepared, from chance on."""
    data = prepared(Path(f"{out}.prepared.npz"))
    rng = np.random.default_rng(SEED)
    trainer = Trainer(at_random(data.counts, rng), np.zeros(len(data.counts), bool))
    batches = Batches(data, data.pairs, SHARES, rng)
    for step in range(STEPS):
        rate = RATE * min(1.0, (step + 1) / WARM) * (1 - step / HORIZON)
        batches.note(trainer.step(*batches.draw(), rate))
        if step % 100 == 99:
            print(f"{step + 1} steps: {batches.said()}", flush=True)
    np.savez(out, table=trainer.table, pieces=data.pieces, counts=data.counts)


def learn(out, on):
    """Train the pieces of other languages than English on a packed table."""
    data = prepared(Path(f"{out}.prepared.npz"))
    before, table = read_table(on)
    table = begun(data.pieces, before, table)
    still = data.english >= ENGLISH * np.maximum(data.counts, 1)
    rng = np.random.default_rng(SEED)
    trainer = Trainer(table.copy(), still)
    batches = Batches(data, by_length(data), LEARNING, rng)
    for step in range(LEARNING_STEPS):
        rate = LEARNING_RATE * min(1.0, (step + 1) / WARM) * (1 - step / LEARNING_STEPS)
        batches.note(trainer.step(*batches.draw(), rate))
        if step % 100 == 99:
            print(f"{step + 1} steps: {batches.said()}", flush=True)
    moved = (trainer.table != table).any(axis=1)
    moved[len(before) :] = True
    np.savez(
        out, table=trainer.table, pieces=data.pieces, counts=data.counts, moved=moved
    )


def begun(pieces, before, table):
    """The vectors of all pieces: a new one begins as what it was cut into."""
    known = {piece: place for place, piece in enumerate(before)}
    new = [
        table[cut(piece.removeprefix(MARK), known)] for piece in pieces[len(before) :]
    ]
    return np.vstack([table, *(rows.sum(0, keepdims=True) for rows in new)])


def by_length(data):
    """The pairs, those of messages apart that are sentences."""
    lengths = np.diff(data.starts)
    found = dict(data.pairs)
    for key, pairs in data.pairs.items():
        if key[0] == "message":
            is_long = lengths[pairs[:, 1]] >= LONG
            found[key] = pairs[~is_long]
            found["sentence", *key[1:]] = pairs[is_long]
    return found


def main(
    out: Path,
    mined: Annotated[list[Path], typer.Argument()] = (),
    on: Path | None = None,
):
    before = read_table(on)[0] if on else []
    uses = {TRAIN, ACROSS} if on else {TRAIN}
    if mined:
        prepare(out, mined, uses, before)
    if on:
        learn(out, on)
    else:
        train(out)


class Batches:
    """Pairs drawn by kind: a batch is of one kind and language."""

    def __init__(self, data, pairs, shares, rng):
        self.ids = data.ids
        self.starts = data.starts
        self.size = len(data.pieces)
        self.rng = rng
        self.pairs = pairs = {key: pairs[key] for key in pairs if key[0] in shares}
        self.keys = list(pairs)
        roots = {key: len(found) ** 0.5 for key, found in pairs.items()}
        totals = Counter()
        for key in self.keys:
            totals[key[0]] += roots[key]
        chance = [shares[key[0]] * roots[key] / totals[key[0]] for key in self.keys]
        self.chance = np.array(chance) / sum(chance)
        self.kind = ""
        self.losses: dict[str, float] = {}

    def draw(self):
        """(texts, their partners, which texts beside the diagonal are the same)."""
        key = self.keys[self.rng.choice(len(self.keys), p=self.chance)]
        self.kind = key[0]
        found = self.pairs[key]
        if len(found) > WINDOW and self.rng.random() < 0.5:
            first = self.rng.integers(len(found) - WINDOW)
            found = found[first : first + WINDOW]
        chosen = found[np.unique(self.rng.integers(len(found), size=BATCH))]
        left = chosen[:, 0]
        right = chosen[:, 1]
        same = (right[:, None] == right[None, :]) | (left[:, None] == left[None, :])
        np.fill_diagonal(same, val=False)
        return self.matrix(left), self.matrix(right), same

    def matrix(self, numbers):
        """Texts as counts of pieces."""
        lengths = self.starts[numbers + 1] - self.starts[numbers]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        before = np.repeat(self.starts[numbers] - begins[:-1], lengths)
        values = np.ones(begins[-1], np.float32)
        columns = self.ids[before + np.arange(begins[-1])]
        return csr_matrix((values, columns, begins), (len(numbers), self.size))

    def note(self, loss):
        before = self.losses.get(self.kind, loss)
        self.losses[self.kind] = 0.95 * before + 0.05 * loss

    def said(self):
        return " ".join(
            f"{kind} {loss:.2f}" for kind, loss in sorted(self.losses.items())
        )


if __name__ == "__main__":
    run(main)

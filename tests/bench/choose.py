"""The numbers of ranking, chosen by cross-validation over all development sets.

    python -m tests.bench.choose SETS [--cache DIR] [--most N] [--minutes M]

SETS holds the folders of questions. Repositories and dialogues fall into folds. In each
fold every number is chosen anew on the others, by steps of one number at a time, and
scored on what was left out: the figures are of questions that took no part. Then, of
all questions, what each set loses when a number is taken out; one that helps in fewer
than four sets by 0.2 points is a candidate to go."""

import hashlib
import pickle
import random
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Annotated, NamedTuple

import typer

from memcli.index import past, weights
from memcli.index.own import OwnMatching
from memcli.index.search import Matching
from memcli.index.vector_lane import nearness
from memcli.index.view import AROUND
from memcli.memory.filters import Filters
from memcli.providers.embed.local import Local
from tests.bench.worlds import FLAT, Worlds
from tests.programs import run

FOLDS = 4
STEPS = (0.6, 1.6)  # what a number is tried times
SEED = 7
OFF = {
    "PHRASE": 0.0,
    "SHORT": 1e9,
    "LIKENESS": 0.0,
    "LENGTH": 0.75,
    "SAID_BESIDE": 0.0,
}
"""The numbers that are chosen, and what each is when it does nothing; those of the gate
are not among them."""
OF_TIER = {
    False: frozenset({"PHRASE", "SHORT", "LIKENESS", "LENGTH"}),
    True: frozenset({"LIKENESS", "LENGTH", "SAID_BESIDE"}),
}
"""The numbers of memory, and those of history."""
LOCAL = Local()
Key = tuple[bool, tuple[tuple[str, float], ...]]


class Unfinished(Exception):
    """The time was over before everything was chosen: there are no figures."""


class Score(NamedTuple):
    """What one question got."""

    first: float
    among_three: float
    recall: float
    reciprocal: float


class Remembered:
    """A source whose answers are kept: only the ranking is made anew. They are kept
    packed, so that nothing that a search does to one reaches the next."""

    def __init__(self, source):
        self.source = source
        self.known: dict[bytes, bytes] = {}

    def __getattr__(self, name):
        value = getattr(self.source, name)
        if not callable(value):
            return value

        def kept(*asked):
            of_store = weights.LENGTH, weights.LIKENESS
            key = hashlib.sha256(repr((name, asked, of_store)).encode()).digest()
            if key not in self.known:
                self.known[key] = pickle.dumps(value(*asked))
            return pickle.loads(self.known[key])

        return kept


def in_order(store, source, question):
    """The hits of a question, best first, as its judge takes them."""
    app = store.app
    if app is None:
        assert store.record is not None
        _, hits = past.search(
            store.record, question.text, near=partial(nearness, LOCAL)
        )
        return list(dict.fromkeys(hit.doc.unit for hit in hits))
    project = app.project
    search = Matching(source, source.lane, project.config, project.view)
    matches = search.look(question.text).matches
    best = sorted(
        matches, key=lambda entry: (not matches[entry].own, -matches[entry].relevance)
    )
    found = []
    passages = set()
    for entry in best[:60]:
        chosen = search.chosen[entry]
        passage = (chosen.source, chosen.around) if chosen.around else entry
        if passage not in passages:
            passages.add(passage)
            found.append(
                SimpleNamespace(
                    id=entry,
                    path=source.files[chosen.source].path,
                    line=chosen.line,
                    title=chosen.title,
                    text=chosen.around.partition(AROUND)[0] or chosen.text,
                )
            )
    return found[:20]


def score(question, hits):
    """Of one question: is the first right, one of three, how many of ten, 1/rank."""
    places = [place for place, hit in enumerate(hits, 1) if question.right(hit)]
    first = places[0] if places else 0
    return Score(
        first=float(first == 1),
        among_three=float(0 < first <= 3),
        recall=min(sum(place <= 10 for place in places) / question.answers, 1.0),
        reciprocal=1 / first if first else 0.0,
    )


class Bench:
    """All questions, asked with any numbers; what was asked is known."""

    def __init__(self, stores):
        self.asked = [
            (store, _source(store), question)
            for store in stores
            for question in store.questions
        ]
        self.known: dict[Key, list[Score]] = {}

    def scores(self, numbers):
        """The score of every question with these numbers."""
        both = [
            iter(self._of_tier(numbers, history=history)) for history in (False, True)
        ]
        return [next(both[store.app is None]) for store, *_ in self.asked]

    def _of_tier(self, numbers, *, history):
        """The scores of the questions to memory or to history: what the other tier's
        numbers are changes nothing."""
        own = {
            name: value for name, value in numbers.items() if name in OF_TIER[history]
        }
        key = (history, tuple(sorted(own.items())))
        if key not in self.known:
            before = {name: getattr(weights, name) for name in own}
            try:
                for name, value in own.items():
                    setattr(weights, name, value)
                self.known[key] = [
                    score(question, in_order(store, source, question))
                    for store, source, question in self.asked
                    if (store.app is None) is history
                ]
            finally:
                for name, value in before.items():
                    setattr(weights, name, value)
        return self.known[key]

    def fold(self, at):
        """The fold of a question: that of its repository or dialogue."""
        question = self.asked[at][2]
        place = question.text if question.of == "cosqa" else question.place
        return int(hashlib.sha256(place.encode()).hexdigest(), 16) % FOLDS

    def value(self, scores, kept):
        """The mean over sets of the mean of 1/rank and recall, of some questions."""
        by_set = defaultdict(list)
        for number, score in enumerate(scores):
            if kept(number):
                by_set[self.asked[number][2].of].append(score.reciprocal + score.recall)
        return sum(sum(own) / len(own) for own in by_set.values()) / len(by_set)

    def chosen(self, fold, until):
        """The numbers that are best on all folds but one."""
        numbers = {name: getattr(weights, name) for name in OFF}

        def value(tried):
            return self.value(self.scores(tried), lambda at: self.fold(at) != fold)

        best = value(numbers)
        for name in OFF:
            for step in STEPS:
                tried = {**numbers, name: round(numbers[name] * step, 4)}
                if time.monotonic() > until:
                    raise Unfinished(f"fold {fold}: {name} was not reached")
                if (actual := value(tried)) > best + 1e-4:
                    best = actual
                    numbers = tried
                    break
        return numbers


def _source(store):
    if store.app is None:
        return None
    app = store.app
    found = OwnMatching(app.kept, Filters(), lambda: app.providers.embedder)
    return Remembered(found.source)


def stores(worlds, most):
    """Every set that is there."""
    for name in FLAT:
        yield from worlds.flat(name, most, SEED)
    yield from worlds.files(0, SEED)
    yield from worlds.sessions(most, SEED)
    yield from worlds.decisions()


def table(title, bench, scores):
    """Means in percent, a line a set."""
    print(title)
    for name, own in by_set(bench, scores).items():
        means = [100 * sum(column) / len(own) for column in zip(*own, strict=True)]
        fields = zip(Score._fields, means, strict=True)
        print(
            f"  {name:16}{len(own):5}  " + "  ".join(f"{f} {m:5.1f}" for f, m in fields)
        )


def changes(bench, before, after):
    """What each set gains, in points of recall and 1/rank (mean of both), with the
    interval of 95 % when questions are drawn again."""
    drawn = random.Random(SEED)
    print("gained by choosing anew")
    old = by_set(bench, before)
    for name, own in by_set(bench, after).items():
        gains = [
            50 * (new.recall + new.reciprocal - was.recall - was.reciprocal)
            for new, was in zip(own, old[name], strict=True)
        ]
        means = sorted(
            sum(drawn.choices(gains, k=len(gains))) / len(gains) for _ in range(2000)
        )
        mean = sum(gains) / len(gains)
        print(
            f"  {name:16}{len(own):5}  {mean:+.1f} [{means[50]:+.1f}, {means[1949]:+.1f}]"
        )


def by_set(bench, scores):
    """The scores of each set."""
    found = defaultdict(list)
    for number, score in enumerate(scores):
        found[bench.asked[number][2].of].append(score)
    return found


def losses(bench, until):
    """What each set loses when a number does nothing, in points of recall and
    1/rank."""
    usual = bench.scores({name: getattr(weights, name) for name in OFF})
    sets = list(dict.fromkeys(question.of for *_, question in bench.asked))
    print(
        f"{'what is lost without':16}" + "".join(f"{name[-10:]:>12}" for name in sets)
    )
    for name, value in OFF.items():
        if time.monotonic() > until:
            return
        numbers = {each: getattr(weights, each) for each in OFF} | {name: value}
        actual = bench.scores(numbers)
        before = points(bench, usual)
        after = points(bench, actual)
        row = [before[each] - after[each] for each in sets]
        print(f"{name:16}" + "".join(f"{lost:12.1f}" for lost in row), flush=True)


def points(bench, scores):
    """The mean of recall and 1/rank of each set, in points."""
    return {
        name: 50 * fmean(each.reciprocal + each.recall for each in group)
        for name, group in by_set(bench, scores).items()
    }


def main(
    sets: Path,
    *,
    cache: Annotated[Path, typer.Option()],
    embedder: str = "local",
    most: int = 60,
    minutes: float = 8.0,
):
    """Choose from sets of public questions; of each so many at the most, 0: all."""
    bench = Bench(list(stores(Worlds(sets, cache, embedder), most)))
    until = time.monotonic() + 60 * minutes
    now = {name: getattr(weights, name) for name in OFF}
    table("as they are", bench, bench.scores(now))
    losses(bench, until - 30 * minutes)
    found = [Score(0, 0, 0, 0)] * len(bench.asked)
    for fold in range(FOLDS):
        numbers = bench.chosen(fold, until)
        changed = {name: value for name, value in numbers.items() if value != now[name]}
        print(f"fold {fold}: {changed}", flush=True)
        for at, score in enumerate(bench.scores(numbers)):
            if bench.fold(at) == fold:
                found[at] = score
    table("chosen anew in each fold, on what was left out", bench, found)
    changes(bench, bench.scores(now), found)


if __name__ == "__main__":
    run(main)

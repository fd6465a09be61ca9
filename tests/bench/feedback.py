"""The feedback test: what prominence costs when everything that is shown gets stronger.

    python -m tests.bench.feedback FOLDER... [--sessions 50] [--seeds 3] [--set KEY=VALUE]...

Folders as in `tests.bench.retrieval`. Every document becomes an entry with metadata drawn without
regard to relevance: age, count, importance. In each session a few questions of one half of the set
are recalled and all that is shown is reinforced. Then the questions of the other half are asked,
and compared with the same ranking by relevance alone. Relevance comes from the real index, once for
each question; it is weighed anew for every setting, without diversification.
"""

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.memory.prominence import Rule, prominence
from memcli.recall import ranking
from memcli.recall.answer import RecallRequest
from memcli.recall.ranking import Match, RankedItem, Scored, Weights
from tests.bench.retrieval import Set, build, load, measures

AGES, COUNTS, IMPORTANCE = (0, 400), (0, 30), (0.3, 0.95)
SHOWN = 10
LONGEST = 1000
"""Sessions at most."""
FRESH = 0.2
"""The share of entries that are written after the last session, in the measure of fresh ones."""
EXPONENTS = (0.02, 0.03, 0.04, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)

Key = tuple[str, str]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Found(NamedTuple):
    """An entry that a question may show; `own` is whether its own words match."""

    key: Key
    relevance: float
    own: bool


class Question(NamedTuple):
    relevant: frozenset[Key]
    found: tuple[Found, ...]


class Setting(NamedTuple):
    """What is tried."""

    growth: str = "log"
    exponent: float = 0.04
    decay: str = "half-life"
    importance: bool = True

    @property
    def rule(self) -> Rule:
        return Rule(self.decay, 90.0, growth=self.growth, use_importance=self.importance)


PURE = Setting("none", 0.0, "none", False)
TODAY = Setting()


class Outcome(NamedTuple):
    """Points of recall@5 against relevance alone, with the half-width of the 95 % interval; `fresh`
    counts only relevant entries that were written after the last session.
    """

    recall: float
    spread: float
    fresh: float


def asked(data: Set, sets: Sequence[str]) -> dict[str, list[Question]]:
    """The questions of each group (store) that have a true answer, with all that recall may show."""
    questions: dict[str, list[Question]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, _tapped() as weighed:
        environ = {"MEM_HOME": f"{folder}/home", "XDG_CONFIG_HOME": folder}
        Path(folder, "home").mkdir()
        for group, root in build(data.docs, Path(folder) / "groups").items():
            own = [q for q in data.queries if q["group"] == group]
            with App(Options(str(root), tuple(sets)), environ, root) as app:
                for row in (q for q in own if q.get("category") != "adversarial"):
                    weighed.clear()
                    fresh = not questions[group]
                    recall(app, RecallRequest(row["query"], ranked_only=True, refresh=fresh))
                    hits = weighed[0] if weighed else []
                    found = (Found((group, hit.item.id), hit.relevance, hit.own) for hit in hits)
                    relevant = frozenset((group, entry) for entry in row["relevant"])
                    questions[group].append(Question(relevant, tuple(found)))
    return {group: rows for group, rows in questions.items() if len(rows) > 1}


@contextmanager
def _tapped() -> Iterator[list[list[Scored]]]:
    """Every list that recall weighs, before it is cut and diversified: no output shows as much."""
    weighed: list[list[Scored]] = []
    real = ranking.weigh

    def weigh(
        items: Iterable[RankedItem], matches: Mapping[str, Match], weights: Weights
    ) -> list[Scored]:
        weighed.append(real(items, matches, weights))
        return weighed[-1]

    ranking.weigh = weigh
    try:
        yield weighed
    finally:
        ranking.weigh = real


class Asked(NamedTuple):
    """A question over numbered entries: the relevant ones, and what may be shown, by relevance."""

    relevant: frozenset[int]
    at: Ints
    relevance: Floats


class Plan(NamedTuple):
    """One history: the entries on the first day, the questions of each session and of the end.

    An entry with `late` is written on the last day, when it is new.
    """

    importance: Floats
    age: Ints
    reinforced: Ints
    late: NDArray[np.bool_]
    sessions: Sequence[Sequence[Asked]]
    last: Sequence[Asked]


def draw(
    groups: Mapping[str, Sequence[Question]], sessions: int, each: int, seed: int, fresh: float
) -> Plan:
    """Metadata, halves and sessions from a seed. Every group lives through all the sessions."""
    rng = random.Random(seed)
    keys = sorted({hit.key for rows in groups.values() for row in rows for hit in row.found})
    number = {key: i for i, key in enumerate(keys)}
    importance, age, count = (
        np.array(column)
        for column in zip(
            *[
                (round(rng.uniform(*IMPORTANCE), 2), rng.randint(*AGES), rng.randint(*COUNTS))
                for _ in keys
            ],
            strict=True,
        )
    )
    late = np.zeros(len(keys), dtype=np.bool_)
    late[rng.sample(range(len(keys)), int(fresh * len(keys)))] = True
    days: list[list[Asked]] = [[] for _ in range(sessions)]
    last: list[Asked] = []
    for rows in groups.values():
        mixed = [numbered(row, number) for row in rng.sample(rows, len(rows))]
        training = mixed[: len(mixed) // 2]
        last += mixed[len(training) :]
        for day in days:
            day += rng.sample(training, min(each, len(training)))
    return Plan(
        importance, np.where(late, -sessions, age), np.where(late, 0, count), late, days, last
    )


def numbered(question: Question, number: Mapping[Key, int]) -> Asked:
    """A question with entries by number, below 0 for a relevant one that recall never finds."""
    # What matches by its neighbours alone stands below all that matches itself.
    relevance = [hit.relevance * (1.0 if hit.own else 1e-9) for hit in question.found]
    return Asked(
        frozenset(number.get(key, -1 - i) for i, key in enumerate(sorted(question.relevant))),
        np.array([number[hit.key] for hit in question.found], dtype=np.int64),
        np.array(relevance, dtype=np.float64),
    )


class Memory:
    """The entries as they change under one setting."""

    def __init__(self, plan: Plan, setting: Setting) -> None:
        self.exponent, self.late = setting.exponent, plan.late
        self.importance = plan.importance if setting.importance else np.ones_like(plan.importance)
        self.reinforced = plan.reinforced.copy()
        self.since = -plan.age
        self.faded = _faded(setting.decay, setting.growth)

    def strength(self, day: int) -> Floats:
        """What relevance is multiplied by; 0 for what is not yet written."""
        value = self.importance * self.faded[np.maximum(day - self.since, 0), self.reinforced]
        return np.where(self.late & (self.since > day), 0.0, value**self.exponent)

    def session(self, questions: Sequence[Asked], day: int) -> None:
        """Everything that the questions show is reinforced, once."""
        strength = self.strength(day)
        shown = np.unique(np.concatenate([q.at[ranked(q, strength)[:SHOWN]] for q in questions]))
        self.reinforced[shown] += 1
        self.since[shown] = day


def ranked(question: Asked, strength: Floats) -> Ints:
    """The places in `question.at`, best first."""
    scores = (question.relevance * strength[question.at]).round(12)
    order = np.argsort(-scores, kind="stable")
    return order[strength[question.at][order] > 0]


@cache
def _faded(decay: str, growth: str) -> Floats:
    """Decay times growth by age and count."""
    rule = Rule(decay, 90.0, growth=growth)
    grown = [prominence(1.0, "", 0, n, rule).value for n in range(COUNTS[1] + LONGEST + 1)]
    decayed = [prominence(1.0, "", age, 0, rule).value for age in range(AGES[1] + LONGEST + 1)]
    return np.outer(decayed, grown)


def play(plan: Plan, setting: Setting) -> Memory:
    """The memory after all the sessions."""
    memory = Memory(plan, setting)
    for day, questions in enumerate(plan.sessions):
        memory.session(questions, day)
    return memory


def score(memory: Memory, plan: Plan, day: int, *, fresh: bool = False) -> list[dict[str, float]]:
    """The measures of each last question on a day; `fresh`: of those about entries written late."""
    rows = []
    strength = memory.strength(day)
    for question in plan.last:
        relevant = {i for i in question.relevant if not fresh or (i >= 0 and plan.late[i])}
        if relevant:
            got = question.at[ranked(question, strength)[:SHOWN]].tolist()
            rows.append(measures(list(map(str, got)), set(map(str, relevant))))
    return rows


class Histories:
    """The same histories for every setting, and what relevance alone makes of them."""

    def __init__(
        self, groups: Mapping[str, Sequence[Question]], sessions: int, each: int, seeds: int
    ) -> None:
        self.sessions = sessions
        self.plans = [draw(groups, sessions, each, seed, 0.0) for seed in range(seeds)]
        self.fresh = [draw(groups, sessions, each, seed, FRESH) for seed in range(seeds)]
        self.pure = [self._after(plan, PURE) for plan in self.plans]
        self.pure_fresh = [self._after(plan, PURE, fresh=True) for plan in self.fresh]

    def _after(
        self, plan: Plan, setting: Setting, *, fresh: bool = False
    ) -> list[dict[str, float]]:
        return score(play(plan, setting), plan, self.sessions, fresh=fresh)

    def outcome(self, setting: Setting) -> Outcome:
        """How a setting compares with relevance alone, over all seeds."""
        after = [self._after(plan, setting) for plan in self.plans]
        fresh = [self._after(plan, setting, fresh=True) for plan in self.fresh]
        gains = _gains(after, self.pure)
        # Seeds share questions: the interval is that of one seed, rather too wide than too narrow.
        spread = 1.96 * pstdev(gains) / len(self.plans[0].last) ** 0.5
        late = _gains(fresh, self.pure_fresh)
        return Outcome(fmean(gains), spread, fmean(late) if late else 0.0)


Measured = Sequence[Sequence[Mapping[str, float]]]


def _gains(got: Measured, pure: Measured) -> list[float]:
    pairs = (zip(own, other, strict=True) for own, other in zip(got, pure, strict=True))
    return [100 * (a["recall@5"] - b["recall@5"]) for each in pairs for a, b in each]


def table(
    results: Mapping[str, Mapping[Setting, Outcome]], settings: Sequence[Setting]
) -> Iterator[str]:
    """A row for each setting, as Markdown."""
    yield f"| setting | {' | '.join(f'{name}: after ± / fresh' for name in results)} |"
    yield "| --- |" + " --- |" * len(results)
    for setting in settings:
        outcomes = (own[setting] for own in results.values())
        cells = (f"{o.recall:+.1f} ± {o.spread:.1f} / {o.fresh:+.1f}" for o in outcomes)
        yield f"| {setting.growth}, w {setting.exponent:g} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sessions", type=int, default=50, help=f"at most {LONGEST}")
    parser.add_argument("--questions", type=int, default=5, help="a session, in each store")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="sets", help="embedder=none")
    given = parser.parse_args(arguments)
    settings = [Setting(growth, w) for growth in ("none", "log", "linear") for w in EXPONENTS]
    results: dict[str, dict[Setting, Any]] = {}
    for folder in given.folders:
        groups = asked(load(folder), ("embedder=none", *given.sets))
        histories = Histories(groups, min(given.sessions, LONGEST), given.questions, given.seeds)
        pure = fmean(row["recall@5"] for rows in histories.pure for row in rows)
        count = len(histories.plans[0].last)
        print(f"{folder.name}: {count} new questions, relevance alone {100 * pure:.1f} recall@5")
        results[folder.name] = {setting: histories.outcome(setting) for setting in settings}
    print()
    print("\n".join(table(results, settings)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

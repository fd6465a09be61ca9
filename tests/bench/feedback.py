"""The feedback test: what prominence costs when everything that is shown gets stronger.

    python -m tests.bench.feedback FOLDER... [--sessions 50] [--seeds 3] [--set KEY=VALUE]...
    [--full]

Folders as in `tests.bench.retrieval`. Every document becomes an entry with metadata drawn without
regard to relevance: age, count, importance. In each session a few questions of one half of the set
are recalled and all that is shown is reinforced. Then the questions of the other half are asked,
and compared with the same ranking by relevance alone. Relevance comes from the real index, once for
each question; it is weighed anew for every setting. Near-duplicates and diversification are left
out.

`pairs` says how a corrective, often confirmed entry fares against a forgotten one of like
relevance.
"""

from __future__ import annotations

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
from memcli.recall import budget as block
from memcli.recall import ranking
from memcli.recall.answer import RecallRequest
from memcli.recall.ranking import Item, Match, Scored, Weights
from tests.bench.retrieval import Set, build, load, measures

AGES, COUNTS, IMPORTANCE = (0, 400), (0, 30), (0.3, 0.95)
SHOWN = 10
TOKENS = 800
HEAD = 20
"""Tokens of the line above an entry in an answer, about."""
LONGEST = 1000
"""Sessions at most."""
FRESH = 0.2
"""The share of entries that are written after the last session, in the measure of fresh ones."""
CONFIRMED = (0.8, 10)
"""Importance and count of a corrective entry that was often confirmed."""
FORGOTTEN = (0.5, 0)
FORGOTTEN_AGE = 120
GAPS = (0.03, 0.05, 0.1, 0.2)
PAIRS = 500
EXPONENTS = (0.02, 0.03, 0.04, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)

Key = tuple[str, str]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Measured = Sequence[Mapping[str, float]]


class Found(NamedTuple):
    """An entry that a question may show. `own` is whether its own words match, `cost` is in tokens."""

    key: Key
    relevance: float
    own: bool
    cost: int


class Question(NamedTuple):
    relevant: frozenset[Key]
    found: tuple[Found, ...]


class Setting(NamedTuple):
    """What is tried. `most` is the count above which growth stands still; 0 is none."""

    growth: str = "log"
    exponent: float = 0.3
    decay: str = "half-life"
    importance: bool = True
    most: int = 0
    budget: bool = False
    half_life: float = 90.0

    @property
    def name(self) -> str:
        off = [] if self.importance else ["no importance"]
        off += [] if self.decay == "half-life" else [f"decay {self.decay}"]
        off += [f"half-life {self.half_life:g}"] if self.half_life != 90 else []
        off += [f"count up to {self.most}"] if self.most else []
        off += ["shown by budget"] if self.budget else []
        return ", ".join([self.growth, f"w {self.exponent:g}", *off])

    @property
    def rule(self) -> Rule:
        return Rule(self.decay, self.half_life, growth=self.growth, use_importance=self.importance)


PURE = Setting("none", 0.0, "none", False)
TODAY = Setting()


class Outcome(NamedTuple):
    """Points of percent against relevance alone, with the half-width of the 95 % interval over
    questions.

    `start` is before the first session, `worst` the worst seed, `fresh` counts only relevant
    entries that were written after the last session.
    """

    start: float
    recall: float
    spread: float
    worst: float
    ndcg: float
    fresh: float


# --- relevance, once


def asked(data: Set, sets: Sequence[str]) -> dict[str, list[Question]]:
    """The questions of each group (store) that have a true answer, with all that recall may show."""
    questions: dict[str, list[Question]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, _tapped() as weighed:
        roots = build(data.docs, Path(folder) / "groups")
        for group, root in roots.items():
            with App(Options(str(root), tuple(sets)), _environ(folder), root) as app:
                for row in _true(data, group):
                    weighed.clear()
                    recall(
                        app,
                        RecallRequest(row["query"], ranked_only=True, refresh=not questions[group]),
                    )
                    relevant = frozenset((group, entry) for entry in row["relevant"])
                    hits = weighed[0] if weighed else []
                    questions[group].append(
                        Question(relevant, tuple(_found(group, hit) for hit in hits))
                    )
    return {group: rows for group, rows in questions.items() if len(rows) > 1}


def _environ(folder: str) -> dict[str, str]:
    home = Path(folder) / "home"
    home.mkdir(exist_ok=True)
    return {"MEM_HOME": str(home), "XDG_CONFIG_HOME": folder}


def _true(data: Set, group: str) -> list[dict[str, Any]]:
    return [q for q in data.queries if q["group"] == group and q.get("category") != "adversarial"]


@contextmanager
def _tapped() -> Iterator[list[list[Scored]]]:
    """Every list that recall weighs, before it is cut and diversified: no output shows as much."""
    weighed: list[list[Scored]] = []
    real = ranking.weigh

    def weigh(
        items: Iterable[Item], matches: Mapping[str, Match], weights: Weights
    ) -> list[Scored]:
        weighed.append(real(items, matches, weights))
        return weighed[-1]

    ranking.weigh = weigh
    try:
        yield weighed
    finally:
        ranking.weigh = real


def _found(group: str, hit: Scored) -> Found:
    return Found((group, hit.item.id), hit.relevance, hit.own, block.tokens(hit.item.text) + HEAD)


# --- one history


class Asked(NamedTuple):
    """A question over numbered entries: the relevant ones, and what may be shown, by relevance."""

    relevant: frozenset[int]
    at: Ints
    relevance: Floats
    cost: Ints


class Plan(NamedTuple):
    """One history: the entries on the first day, the questions of each session, and those asked at
    the end.

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
    metadata = [
        (round(rng.uniform(*IMPORTANCE), 2), rng.randint(*AGES), rng.randint(*COUNTS)) for _ in keys
    ]
    importance, age, count = zip(*metadata, strict=True)
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
    ages = np.where(late, -sessions, np.array(age))
    return Plan(np.array(importance), ages, np.where(late, 0, np.array(count)), late, days, last)


def numbered(question: Question, number: Mapping[Key, int]) -> Asked:
    """A question with entries by number; a relevant one that recall never finds has a number below
    0.
    """
    # What matches by its neighbours alone stands below all that matches itself.
    relevance = [hit.relevance * (1.0 if hit.own else 1e-9) for hit in question.found]
    return Asked(
        frozenset(number.get(key, -1 - i) for i, key in enumerate(sorted(question.relevant))),
        np.array([number[hit.key] for hit in question.found], dtype=np.int64),
        np.array(relevance, dtype=np.float64),
        np.array([hit.cost for hit in question.found], dtype=np.int64),
    )


class Memory:
    """The entries as they change under one setting."""

    def __init__(self, plan: Plan, setting: Setting) -> None:
        self.setting = setting
        self.importance = plan.importance if setting.importance else np.ones_like(plan.importance)
        self.late = plan.late
        self.reinforced = plan.reinforced.copy()
        self.since = -plan.age
        self.faded = _faded(setting.decay, setting.half_life, setting.growth, setting.most)

    def strength(self, day: int) -> Floats:
        """What relevance is multiplied by; 0 for what is not yet written."""
        value = self.importance * self.faded[np.maximum(day - self.since, 0), self.reinforced]
        return np.where(self.late & (self.since > day), 0.0, value**self.setting.exponent)

    def session(self, questions: Sequence[Asked], day: int) -> None:
        """Everything that the questions show is reinforced, once."""
        strength = self.strength(day)
        shown = np.unique(
            np.concatenate([self._shown(question, strength) for question in questions])
        )
        self.reinforced[shown] += 1
        self.since[shown] = day

    def _shown(self, question: Asked, strength: Floats) -> Ints:
        order = ranked(question, strength)
        if not self.setting.budget:
            return question.at[order[:SHOWN]]
        shown, room = [], TOKENS
        for i in order:
            if question.cost[i] <= room:
                shown.append(question.at[i])
                room -= question.cost[i]
        return np.array(shown, dtype=np.int64)


def ranked(question: Asked, strength: Floats) -> Ints:
    """The places in `question.at`, best first."""
    scores = (question.relevance * strength[question.at]).round(12)
    order = np.argsort(-scores, kind="stable")
    return order[strength[question.at][order] > 0]


@cache
def _faded(decay: str, half_life: float, growth: str, most: int) -> Floats:
    """Decay times growth by age and count."""
    rule = Rule(decay, half_life, growth=growth)
    counts = range(COUNTS[1] + LONGEST + 1)
    ages = range(AGES[1] + LONGEST + 1)
    grown = [prominence(1.0, "", 0, min(n, most or n), rule).value for n in counts]
    decayed = [prominence(1.0, "", age, 0, rule).value for age in ages]
    return np.outer(decayed, grown)


def play(plan: Plan, setting: Setting) -> Memory:
    """The memory after all the sessions."""
    memory = Memory(plan, setting)
    for day, questions in enumerate(plan.sessions):
        memory.session(questions, day)
    return memory


def score(memory: Memory, plan: Plan, day: int, *, fresh: bool = False) -> list[dict[str, float]]:
    """The measures of each last question on a day; with `fresh`, of those about entries written
    late.
    """
    rows = []
    strength = memory.strength(day)
    for question in plan.last:
        relevant = question.relevant
        if fresh:
            relevant = frozenset(i for i in relevant if i >= 0 and plan.late[i])
        if relevant:
            got = question.at[ranked(question, strength)[:SHOWN]].tolist()
            rows.append(_measures(got, relevant))
    return rows


def _measures(got: Sequence[int], relevant: frozenset[int]) -> dict[str, float]:
    return measures([str(i) for i in got], {str(i) for i in relevant})


# --- comparison


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
        start = [score(Memory(plan, setting), plan, 0) for plan in self.plans]
        after = [self._after(plan, setting) for plan in self.plans]
        fresh = [self._after(plan, setting, fresh=True) for plan in self.fresh]
        per_seed = [_gains(a, b, "recall@5") for a, b in zip(after, self.pure, strict=True)]
        gains = [gain for one in per_seed for gain in one]
        # Seeds share questions, so the interval is that of a single seed: too wide rather than too
        # narrow.
        questions = len(self.plans[0].last)
        return Outcome(
            start=_mean(start, self.pure, "recall@5"),
            recall=fmean(gains),
            spread=1.96 * pstdev(gains) / questions**0.5,
            worst=min(fmean(one) for one in per_seed),
            ndcg=_mean(after, self.pure, "nDCG@10"),
            fresh=_mean(fresh, self.pure_fresh, "recall@5"),
        )


def _gains(got: Measured, pure: Measured, metric: str) -> list[float]:
    return [100 * (a[metric] - b[metric]) for a, b in zip(got, pure, strict=True)]


def _mean(got: Sequence[Measured], pure: Sequence[Measured], metric: str) -> float:
    gains = [gain for a, b in zip(got, pure, strict=True) for gain in _gains(a, b, metric)]
    return fmean(gains) if gains else 0.0


# --- near-equals


def pairs(setting: Setting, gap: float, seed: int = 0) -> float:
    """The share of pairs that the confirmed entry leads though it is up to `gap` less relevant."""
    rng = random.Random(seed)
    return fmean(_first(setting, 1 - rng.uniform(0, gap), rng.randint(0, 14)) for _ in range(PAIRS))


def reach(setting: Setting) -> float:
    """By how much (a share) the confirmed entry may be less relevant and still come first; a week
    old.
    """
    scores = {hit.item.id: hit.score for hit in _weighed(setting, 1.0, 7)}
    return 1 - scores["forgotten"] / scores["confirmed"]


def _first(setting: Setting, relevance: float, age: int) -> bool:
    return _weighed(setting, relevance, age)[0].item.id == "confirmed"


def _weighed(setting: Setting, relevance: float, age: int) -> list[Scored]:
    items = [
        _item("forgotten", setting, *FORGOTTEN, FORGOTTEN_AGE),
        _item("confirmed", setting, *CONFIRMED, age),
    ]
    matches = {"forgotten": Match(1.0, 1.0), "confirmed": Match(relevance, relevance)}
    return ranking.weigh(items, matches, Weights(setting.rule, setting.exponent, {}, {}))


def _item(name: str, setting: Setting, importance: float, reinforced: int, age: int) -> Item:
    count = min(reinforced, setting.most or sys.maxsize)
    # Of equals the forgotten one comes first, so that a win is never a matter of place.
    place = (name == "confirmed",)
    return Item(name, "", "", "", place, importance, count, age, 0.0, None)


# --- what is tried


def grid(*, full: bool) -> list[Setting]:
    """The settings to try: growth by exponent; with `full`, each other part changed as well."""
    main = [Setting(growth, w) for growth in ("none", "log", "linear") for w in EXPONENTS]
    if not full:
        return main
    near = [one for one in main if 0.04 <= one.exponent <= 0.3]
    changed: list[Setting] = [one._replace(decay="none") for one in near]
    changed += [one._replace(importance=False) for one in near]
    changed += [
        one._replace(decay="none", importance=False) for one in near if one.growth != "none"
    ]
    changed += [one._replace(half_life=365) for one in near]
    changed += [one._replace(most=most) for one in near if one.growth != "none" for most in (3, 10)]
    changed += [one._replace(budget=True) for one in near]
    return main + changed


def table(
    results: Mapping[str, Mapping[Setting, Outcome]], settings: Sequence[Setting]
) -> Iterator[str]:
    """A row for each setting, as Markdown."""
    columns = [f"{name}: start / after ± / worst seed / nDCG / fresh" for name in results]
    yield f"| setting | {' | '.join(columns)} | near-equals {' / '.join(f'{g:.0%}' for g in GAPS)} | reach |"
    yield "| --- |" + " --- |" * (len(results) + 2)
    for setting in settings:
        cells = [_cell(outcomes[setting]) for outcomes in results.values()]
        wins = " / ".join(f"{pairs(setting, gap):.0%}" for gap in GAPS)
        yield f"| {setting.name} | {' | '.join(cells)} | {wins} | {reach(setting):.0%} |"


def _cell(o: Outcome) -> str:
    after = f"{o.recall:+.1f} ± {o.spread:.1f}"
    return " / ".join(
        [f"{o.start:+.1f}", after, *(f"{x:+.1f}" for x in (o.worst, o.ndcg, o.fresh))]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument(
        "--questions", type=int, default=5, help="questions a session, in each store"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--full", action="store_true", help="try each part of prominence without the others"
    )
    parser.add_argument(
        "--set", action="append", default=[], dest="sets", help="embedder=none unless set"
    )
    given = parser.parse_args(arguments)
    if not 1 <= given.sessions <= LONGEST:
        parser.error(f"--sessions takes 1 to {LONGEST}")
    settings = grid(full=given.full)
    results = {}
    for folder in given.folders:
        groups = asked(load(folder), ("embedder=none", *given.sets))
        histories = Histories(groups, given.sessions, given.questions, given.seeds)
        pure = [row for rows in histories.pure for row in rows]
        now = {
            metric: 100 * fmean(row[metric] for row in pure) for metric in ("recall@5", "nDCG@10")
        }
        count = len(histories.plans[0].last)
        print(f"{folder.name}: {count} new questions, relevance alone {now['recall@5']:.1f} recall@5, "
              f"{now['nDCG@10']:.1f} nDCG@10", flush=True)  # fmt: skip
        results[folder.name] = {setting: histories.outcome(setting) for setting in settings}
    print()
    print("\n".join(table(results, settings)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

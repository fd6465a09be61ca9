"""Sentences about what a repository's history took away, and about what stands:
python -m tests.bench.planted CLONE... [--show] [--each N].

Each is made from git's trees of two older commits and of today (see
`tests.bench.history`), so that nobody has to judge what is gone."""

import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memcli.index.anchors import anchors_of
from memcli.index.citations import parse_citation, with_sketch
from memcli.index.codebase import Codebase
from memcli.index.fates import GONE, MOVED, Fate
from tests.bench.history import (
    OWN,
    Snapshot,
    folders,
    older_commits,
    renames,
    values,
)
from tests.programs import run

SPAN = 20  # lines of a citation
CHANGED = 0.3  # of its lines left at most
STANDS = 0.8  # of its lines left at least

COMMANDS = {
    "npm": ("Run `npm run {}` before a commit.", "`pnpm run {}` is slow."),
    "make": ("Run `make {}` before a commit.", "`make -j4 {}` needs a network."),
    "just": ("Run `just {}` before a commit.",),
    "task": ("Run `task {}` before a commit.",),
    "gradle": ("`./gradlew {}` is what we run.", "Use `gradle :app:{}` at first."),
    "composer": ("Run `composer {}` before a commit.", "`composer run-script {}`."),
    "python": ("`hatch run {}` is slow.", "Start it with `uv run {}`."),
    "tox": ("Run `tox -e {}` first.",),
    "nox": ("Run `nox -s {}` first.",),
    "rake": ("`bundle exec rake {}` is slow.",),
    "mix": ("Run `mix {}` first.",),
}
STATEMENTS = (
    "{key} {version} is needed.",
    "We build with {key} {version} in CI.",
    "The minimum {key} version is {version}.",
    "{key}: {version}",
    "Needs {key} {version} or newer.",
)


class Plant(NamedTuple):
    """A memory that names one thing; `gone` says whether it is so no more, `now` what
    a renamed file is called today."""

    group: str
    text: str
    values: Mapping[str, Any] = {}
    gone: bool = True
    now: str = ""


def sampled(found: Iterable[Any], most: int) -> list[Any]:
    """So many of them, always the same."""
    every = sorted(found)
    return random.Random(11).sample(every, min(most, len(every)))


def planted(top: Path, each: int) -> list[Plant]:
    """The plants of a clone, none of them twice."""
    today = Snapshot(top, "HEAD")
    plants: list[Plant] = []
    for commit in older_commits(top):
        then = Snapshot(top, commit)
        plants += _targets(then, today, each)
        plants += _folders(then, today, each)
        plants += _citations(then, today, each)
        plants += _values(then, today)
        plants += _renames(then, today, each)
    kept = {(plant.text, str(plant.values)): plant for plant in plants}
    return list(kept.values())


def _targets(then: Snapshot, today: Snapshot, each: int) -> Iterator[Plant]:
    gone = sampled(then.targets - today.targets, each)
    stand = sampled(then.targets & today.targets, each)
    for number, target in enumerate((*gone, *stand)):
        family, _, name = target.partition(" ")
        forms = COMMANDS.get(family, ())
        if forms and target not in OWN and re.fullmatch(r"\w[\w:-]*", name):
            text = forms[number % len(forms)].format(name)
            yield Plant("targets", text, gone=number < len(gone))


def _folders(then: Snapshot, today: Snapshot, each: int) -> Iterator[Plant]:
    for folder in sampled(folders(then) - today.endings, each):
        yield Plant("folders", f"The cases lie in `{folder}/`.")
        yield Plant("globs", "About the cases.", {"paths": [f"{folder}/**"]})
    for folder in sampled(folders(then) & today.endings, each):
        yield Plant("folders", f"The cases lie in `{folder}/`.", gone=False)
        if folder in folders(today):
            paths = {"paths": [f"{folder}/**"]}
            yield Plant("globs", "About the cases.", paths, gone=False)


def _citations(then: Snapshot, today: Snapshot, each: int) -> Iterator[Plant]:
    both = then.blobs.keys() & today.blobs.keys()
    paths = [path for path in both if then.blobs[path] != today.blobs[path]]
    paths = sampled(paths, 4 * each)
    now = dict(today.texts(paths))
    counts = {True: 0, False: 0}
    for path, text in then.texts(paths):
        lines = text.splitlines()
        for first in range(1, len(lines) - SPAN, 3 * SPAN):
            cited = _telling(lines[first - 1 : first - 1 + SPAN])
            left = len(cited & _telling(now.get(path, "").splitlines()))
            share = left / len(cited) if len(cited) >= SPAN // 2 else 0.5
            gone = share < CHANGED
            if (CHANGED <= share < STANDS) or counts[gone] >= each:
                continue
            row = parse_citation(f"{path}:{first}-{first + SPAN - 1}")
            kept = with_sketch(row, text) if row is not None else None
            if kept is not None:
                counts[gone] += 1
                yield Plant("citations", "x", {"rests_on": [str(kept)]}, gone=gone)


def _telling(lines: Sequence[str]) -> set[str]:
    """The lines that a reader would know again."""
    joined = ("".join(line.split()) for line in lines)
    return {line for line in joined if len(line) > 6}


def _values(then: Snapshot, today: Snapshot) -> Iterator[Plant]:
    now = values(today)
    for key, versions in values(then).items():
        least = min(map(_numbers, now.get(key, ())), default=())
        # what is above the least of today may be within its range
        for version in (each for each in versions if _numbers(each) < least):
            for form in STATEMENTS:
                yield Plant("values", form.format(key=key, version=version))
    for key, versions in now.items():
        for version in versions:
            for form in STATEMENTS:
                text = form.format(key=key, version=version)
                yield Plant("values", text, gone=False)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _renames(then: Snapshot, today: Snapshot, each: int) -> Iterator[Plant]:
    moved = {
        old: new
        for old, new in renames(then.top, then.commit).items()
        if old in then.blobs and new in today.blobs and old not in today.endings
    }
    for old in sampled(moved, each):
        yield Plant("renames", f"It is done in `{old}`.", now=moved[old])


def judged(top: Path, plants: Sequence[Plant], seconds: float) -> list[Fate | None]:
    """The mark of each plant, if it has one."""
    asked = [anchors_of(plant.values, plant.text) for plant in plants]
    tree = Codebase(top, top, time.monotonic() + seconds)
    fates = tree.fates(set().union(*asked), {}, "")
    marks: list[Fate | None] = []
    for anchors in asked:
        found = [
            fates[anchor] for anchor in anchors if fates[anchor].state in (GONE, MOVED)
        ]
        marks.append(found[0] if found else None)
    return marks


def main(
    clones: list[Path], *, each: int = 10, seconds: float = 200, show: bool = False
):
    """Plant so many of each kind in clones and judge them; show what is wrong."""
    counts: dict[str, list[int]] = {}
    for clone in clones:
        top = clone.resolve()
        plants = planted(top, each)
        marks = judged(top, plants, seconds)
        for plant, mark in zip(plants, marks, strict=True):
            right = (mark is not None) is plant.gone
            if plant.now:
                right = mark is not None and mark.now == plant.now
            group = f"{plant.group} {'gone' if plant.gone else 'standing'}"
            row = counts.setdefault(group, [0, 0])
            row[0] += right
            row[1] += 1
            if show and not right:
                told = plant.values or plant.text
                print("WRONG", top.name, group, told, mark, plant.now)
    for group, (right, every) in sorted(counts.items()):
        print(f"{group}: {right} of {every}")


if __name__ == "__main__":
    run(main)

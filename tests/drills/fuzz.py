"""Fuzz every reader of what others wrote, at length: hostile families, growth of time, damaged seeds.

    python -m tests.drills.fuzz [--seconds 60] [--seed 1] [--only NAME] [--growth] [--atheris]

For each target: random families and damaged seeds for so many seconds of CPU. With `--growth` the time
at n and at 4n is measured for every family; more than six times as long is a finding. With `--atheris`
one target (`--only`) is driven by coverage instead (`pip install atheris`).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from tests.fuzz.growth import LEAST, WORST, Hangs, measured, patience
from tests.fuzz.hostile import FIXED, drawn, mutated
from tests.fuzz.targets import TARGETS, Target, tried
from tests.fuzz.test_fuzz import SEEDS


def fuzzed(target: Target, seconds: float, seed: int) -> tuple[int, list[str]]:
    """How many texts were tried in so many seconds of CPU, and what went wrong."""
    dice = random.Random(seed)
    families, started, tries, wrong = drawn(dice), time.process_time(), 0, []
    while time.process_time() - started < seconds and len(wrong) < 5:
        text = (
            next(families).make(dice.choice((10, 100, 2000)))
            if tries % 2
            else mutated(dice.choice(SEEDS), dice)
        )
        tries += 1
        wrong += _failure(target, lambda text=text: tried(target, text), ascii(text[:300]))
    return tries, wrong


def _failure(target: Target, work: Callable[[], object], shown: str) -> list[str]:
    try:
        with patience():
            work()
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return [f"{target.name}: {type(error).__name__}: {error} ({last.filename}:{last.lineno}): {shown}"]
    return []


def grown(target: Target, longest: int, families: int, seed: int) -> Iterator[str]:
    """The families for which four times the text takes more than six times as long."""
    for family in (*FIXED, *islice(drawn(random.Random(seed)), families)):
        try:
            found = measured(target, family, longest=longest)
        except Hangs as error:
            yield f"{target.name}: {family.name}: {error}"
            continue
        if found.ratio > WORST and found.seconds >= LEAST:
            slow = f"x{found.ratio:.1f} from {found.size} characters ({found.seconds:.2f} s)"
            yield f"{target.name}: {family.name}: {slow}"


def by_coverage(target: Target, seconds: int) -> None:
    """Let libFuzzer look for texts that take new ways; it ends the process at the first finding."""
    import atheris

    def once(data: bytes) -> None:
        tried(target, data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode())

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-timeout=20"], once)
    atheris.Fuzz()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--longest", type=int, default=500_000)
    parser.add_argument("--atheris", action="store_true")
    given = parser.parse_args(arguments)
    chosen = [target for target in TARGETS if given.only in target.name]
    failures = []
    for target in chosen:
        if given.atheris:
            by_coverage(target, int(given.seconds))
        tries, wrong = fuzzed(target, given.seconds, given.seed)
        wrong += grown(target, given.longest, 100, given.seed) if given.growth else []
        print(f"{target.name}: {tries} texts, {len(wrong)} findings", flush=True)
        failures += wrong
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Fuzz every reader of what others wrote, at length: hostile families, growth of time, damaged
seeds.

    python -m tests.drills.fuzz [--seconds 60] [--seed 1] [--only NAME] [--atheris]
    python -m tests.drills.fuzz --growth [--size 4000] [--longest 500000] [--families 100] [--only
    NAME] python -m tests.drills.fuzz --hooks | --histories [--seconds 60] [--seed 1]

For each target: random families and damaged seeds for so many seconds of CPU. With `--growth` the
time at n and at 4n is measured for every fixed family and so many random ones, n being `--size` or
four, sixteen, … times as much, up to `--longest`, until it takes long enough to be measured; more
than six times as long is a finding. With `--atheris` one target (the first that `--only` names) is
driven by coverage instead (`pip install atheris`), up to the first finding, whose text stays in the
folder that is named in the end.

`--hooks` starts real processes of `mem hook` with odd calls and streams. `--histories` merges
random histories of whole repositories with real git, and looks for every text.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from tests.fuzz import hooks
from tests.fuzz.growth import LEAST, WORST, measured, patience
from tests.fuzz.guided import by_coverage
from tests.fuzz.histories import History
from tests.fuzz.hostile import FIXED, SEEDS, drawn, mutated
from tests.fuzz.targets import TARGETS, Target, tried


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
        return [
            f"{target.name}: {type(error).__name__}: {error} ({last.filename}:{last.lineno}): {shown}"
        ]
    return []


def grown(target: Target, size: int, longest: int, drawings: int, seed: int) -> Iterator[str]:
    """The families for which four times the text takes more than six times as long."""
    for family in (*FIXED, *islice(drawn(random.Random(seed)), drawings)):
        try:
            found = measured(target, family, size=size, longest=longest)
        except Exception as error:
            yield f"{target.name}: {family.name}: {type(error).__name__}: {error}"
            continue
        if found.ratio > WORST and found.seconds >= LEAST:
            slow = f"x{found.ratio:.1f} from {found.size} characters ({found.seconds:.2f} s)"
            yield f"{target.name}: {family.name}: {slow}"


def hooked(seconds: float, seed: int) -> tuple[int, float, list[str]]:
    """How many processes ended, the longest of them in seconds, and what went wrong."""
    dice, longest, tries, wrong = random.Random(seed), 0.0, 0, list[str]()
    with TemporaryDirectory(prefix="mem-fuzz-", ignore_cleanup_errors=True) as name:
        root = _small_world(Path(name))
        for started, (event, shown, call) in zip(_clock(seconds), _calls(root, dice), strict=False):
            tries += 1
            try:
                done = call()
                hooks.checked(done.out, done.err, code=done.code, event=event)
                longest = max(longest, done.seconds)
            except (AssertionError, ValueError, subprocess.TimeoutExpired) as error:
                wrong.append(f"hook {event[:50]} at {started:.0f} s: {error}: {shown}")
    return tries, longest, wrong


def _clock(seconds: float) -> Iterator[float]:
    started = time.monotonic()
    while (passed := time.monotonic() - started) < seconds:
        yield passed


def _calls(root: Path, dice: random.Random) -> Iterator[tuple[str, str, Callable[[], hooks.Ended]]]:
    """Event, description and call: every odd stream and name first, then odd calls without end."""
    events = (
        "session-start",
        *hooks.EVENTS,
        "session-end",
        *(f"git post-{word}" for word in ("merge", "commit")),
    )
    for event in events:
        for feed in hooks.FEEDS:
            yield event, feed, partial(hooks.through_shell, feed, event, root, root.parent)
        for piece, pause in (
            (b"{", 0.05),
            (b'{"a": 1}', 0.0),
            (b"\0" * 4096, 0.0),
            (b"[" * 4096, 0.0),
        ):
            yield (
                event,
                f"{piece[:8]!r} without end",
                partial(hooks.endlessly, piece, pause, event, root),
            )
    for event in hooks.UNKNOWN:
        yield event, "unknown", partial(hooks.with_bytes, b"{}", [event], root)
    for data in chain(hooks.payloads(root), hooks.drawn(root, dice)):
        event = dice.choice(events)
        yield event, ascii(data[:300]), partial(hooks.with_bytes, data, event.split(), root)


def _small_world(base: Path) -> Path:
    """A repository that remembers something, in a home of its own for this process and what it
    starts.
    """
    for name in [name for name in os.environ if name.startswith(("MEM_", "GIT_", "XDG_"))]:
        del os.environ[name]
    os.environ |= {"HOME": str(base), "MEM_HOME": str(base), "MEM_EMBEDDER": "none"}
    os.environ |= {f"XDG_{name}_HOME": str(base / name) for name in ("CONFIG", "STATE", "CACHE")}
    root = base / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / "MEMORY.md").write_text(SEEDS[0])
    return root


def merged(seconds: float, seed: int) -> tuple[int, int, int, list[str]]:
    """Merges of random histories: how many, how many with conflicts, how many left to git, what was
    lost.
    """
    counts, wrong = [0, 0, 0], list[str]()
    for number, _ in enumerate(_clock(seconds), seed):
        with TemporaryDirectory(prefix="mem-fuzz-") as name:
            tally = History(Path(name) / "repo", random.Random(number)).run(6)
        counts = [before + more for before, more in zip(counts, tally[:3], strict=True)]
        wrong += [f"seed {number}: {failure}" for failure in tally.failures]
    return *counts, wrong  # type: ignore[return-value]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--size", type=int, default=4_000)
    parser.add_argument("--families", type=int, default=100)
    parser.add_argument("--longest", type=int, default=500_000)
    for flag in ("--atheris", "--hooks", "--histories"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args(arguments)
    if given.hooks:
        tries, longest, failures = hooked(given.seconds, given.seed)
        return _told(f"hooks: {tries} processes, longest {longest:.1f} s", failures)
    if given.histories:
        merges, conflicts, as_text, failures = merged(given.seconds, given.seed)
        return _told(
            f"{merges} merges, {conflicts} with conflicts, {as_text} files left to git", failures
        )
    chosen = [target for target in TARGETS if given.only in target.name]
    if given.atheris:
        by_coverage(chosen[0].name, int(given.seconds), Path(mkdtemp(prefix="mem-fuzz-")))
    failures = []
    for target in chosen:
        tries, wrong = fuzzed(target, given.seconds, given.seed)
        wrong += (
            grown(target, given.size, given.longest, given.families, given.seed)
            if given.growth
            else []
        )
        print(f"{target.name}: {tries} texts, {len(wrong)} findings", flush=True)
        failures += wrong
    return _told(f"{len(chosen)} targets", failures)


def _told(what: str, failures: Sequence[str]) -> int:
    print(f"{what}, {len(failures)} findings")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

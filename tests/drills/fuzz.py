"""Fuzz every reader of what others wrote, at length: hostile families and damaged seeds.

    python -m tests.drills.fuzz [--seconds 60] [--seed 1] [--only NAME]
    python -m tests.drills.fuzz --hooks | --histories [--seconds 60] [--seed 1]

For each target: random families and damaged seeds for so many seconds of CPU. `--hooks` starts real
processes of `mem hook` with odd calls and streams. `--histories` merges random histories of whole
repositories with real git, and looks for every text.
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
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz import hooks
from tests.fuzz.histories import History
from tests.fuzz.hostile import SEEDS, drawn, mutated
from tests.fuzz.patience import patience
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
        where = f"{last.filename}:{last.lineno}"
        return [f"{target.name}: {type(error).__name__}: {error} ({where}): {shown}"]
    return []


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
    events = ("session-start", *hooks.EVENTS, "session-end", "git post-merge", "git post-commit")
    for event in events:
        for feed in hooks.FEEDS:
            yield event, feed, partial(hooks.through_shell, feed, event, root, root.parent)
        for piece, pause in ((b"{", 0.05), (b'{"a": 1}', 0.0), (b"\0" * 4096, 0.0)):
            call = partial(hooks.endlessly, piece, pause, event, root)
            yield event, f"{piece[:8]!r} without end", call
    for event in hooks.UNKNOWN:
        yield event, "unknown", partial(hooks.with_bytes, b"{}", [event], root)
    for data in chain(hooks.payloads(root), hooks.drawn(root, dice)):
        event = dice.choice(events)
        yield event, ascii(data[:300]), partial(hooks.with_bytes, data, event.split(), root)


def _small_world(base: Path) -> Path:
    """A repository that remembers something, in a home of its own for all that is started."""
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
    """Merges of random histories: how many, with conflicts, left to git, and what was lost."""
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
    for flag in ("--hooks", "--histories"):
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
    failures = []
    for target in chosen:
        tries, wrong = fuzzed(target, given.seconds, given.seed)
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

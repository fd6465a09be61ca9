"""Break the package in one place after the other, and see that the tests notice.

    python -m tests.drills.mutations [--only WORD]... [--list]

Each row of mutations.toml is one mistake that somebody could make: a lock that is
shared, a check that is skipped, a comparison off by one. The package and its tests are
copied to a temporary folder; there, for each row, the old text is replaced by the new
one, wherever it stands, and the tests of that row run. One must fail that passes
without the mistake: "caught", by the test that is named. Where none does the mistake
"survived", and a test is missing. Tests that fail anyway (timed ones, on a busy
machine) are named and left out.

Exit status 1 when one survives, when its text is no longer there exactly once, or when
the tests do not run with it (then it proves nothing)."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.programs import run

HERE = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.pyc")
LONGEST = 600
"""Seconds after which tests are taken to hang, which is noticed, too."""
PASSED = 0
FAILED = 1
NONE = 5
"""Exit codes of pytest, the last for no test at all; any other one: the tests did not
run."""
QUIET = ("-m", "", "-q", "--no-header", "--tb=no", "-rfE", "-p", "no:cacheprovider")


class Mutation(NamedTuple):
    """`old` stands once in the package and becomes `new`; `tests` are below
    `tests/`."""

    what: str
    old: str
    new: str
    tests: Sequence[str]


def table():
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    return [Mutation(**row) for row in tomllib.loads(text)["row"]]


def copied(source, to):
    shutil.copytree(source, to, ignore=LEFT_OUT, symlinks=True)
    return to


def ran(house, tests, *options):
    environ = {
        **os.environ,
        "PYTHONPATH": str(house),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        *QUIET,
        *options,
        *(f"tests/{test}" for test in tests),
    ]
    try:
        process = subprocess.run(
            command,
            cwd=house,
            env=environ,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED, f"no end after {LONGEST} s"
    return process.returncode, process.stdout + process.stderr


def layout_free(code):
    """What finds `code` however the formatter broke its lines."""
    parts = []
    for token in re.findall(r"\w+|[^\w\s]", code):
        word_follows_word = parts and parts[-1][-1].isalnum() and token[0].isalnum()
        gap = r"\s+" if word_follows_word else r"\s*"
        comma = ",?" + gap if token in ")]}" else gap
        parts.append((comma if parts else "") + re.escape(token))
    return re.compile("".join(parts))


def put(path, text):
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def places_of(house, code):
    """Where the code stands, whatever its layout; `string` of each is its file."""
    pattern = layout_free(code)
    return [
        (path, match)
        for path in (house / "memcli").rglob("*.py")
        for match in pattern.finditer(path.read_text("utf-8"))
    ]


def outcome(house, mutation, left_out):
    """What became of a mutation ("caught", "survived", "void"), and by which test or
    why.

    The copy is as before afterwards; tests that fail without the mistake are added to
    `left_out`."""
    places = places_of(house, mutation.old)
    if len(places) != 1:
        return "void", f"its text stands there {len(places)} times"
    path, match = places[0]
    text = match.string
    mistaken = text[: match.start()] + mutation.new.strip() + text[match.end() :]
    while True:
        put(path, mistaken)
        without = (f"--deselect=tests/{name}" for name in left_out)
        try:
            code, said = ran(house, mutation.tests, "-x", *without)
        finally:
            put(path, text)
        if code in (PASSED, NONE):
            return "survived", ""
        if code != FAILED:
            return "void", f"the tests do not run ({code})"
        found = re.search(r"^(?:FAILED|ERROR) tests/([^\[\s]+)", said, re.MULTILINE)
        name = found[1] if found else ""
        if not name or ran(house, [name])[0] == PASSED:
            return "caught", name or said.strip().splitlines()[-1]
        print(f"left out, it fails without a mistake, too: {name}", flush=True)
        left_out.add(name)


def is_wanted(row, words):
    """Whether its words have one of these, if there are any."""
    return not words or any(word in row.what for word in words)


def main(only: list[str] = (), *, list: bool = False) -> int:
    """Break each row whose words have one of these texts; list them, run nothing."""
    chosen = [row for row in table() if is_wanted(row, only)]
    if not list:
        return broken(chosen)
    print(*(mutation.what for mutation in chosen), sep="\n")
    return 0


def broken(rows, source=HERE):
    """Break the package in each row, and say which are noticed."""
    counts = {"caught": 0, "survived": 0, "void": 0}
    with tempfile.TemporaryDirectory(prefix="mem-mutations-") as folder:
        house = copied(source, Path(folder) / "house")
        left_out = set()
        for mutation in rows:
            what, why = outcome(house, mutation, left_out)
            counts[what] += 1
            print(f"{what:8} {mutation.what} ({why})", flush=True)
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    return 1 if counts["survived"] or counts["void"] else 0


if __name__ == "__main__":
    run(main)

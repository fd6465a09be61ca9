"""Every figure of the pages that can be made without the network.

    python -m tests.bench.all [SECTION...] [--runs 9] [--sizes 1000,10000]

measures the sections of `tests.bench.figures`, all or those named, and writes them to
docs/figures.json with commit and date; `python -m tests.docs.generate` puts them into the
pages. Times are of the processor unless a name says otherwise: run it on a quiet
machine."""

import importlib.metadata
import json
import random
import re
import tempfile
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from memcli.errors import one_of
from tests.bench import figures, speed, speed_rows
from tests.bench.corpus import texts, write_tree
from tests.history import test_changes as changes
from tests.programs import finished, run
from tests.similarity import test_duplicates as duplicates

NOTES = 1_000
QUESTIONS = 40
WORDS_ASKED = 5
HOOK_SIZES = (50, 5_000, 10_000)
WORDS = speed.Arm("", "none")
VECTORS = speed.Arm("", "local")
ARMS = {"words": WORDS, "vectors": VECTORS}


class Given(NamedTuple):
    """How often commands are measured, at which sizes, and how large the rows are."""

    runs: int
    sizes: str
    scale: float


def install(_given):
    """Packages of a plain install, and the MB of their files before Python compiles
    them."""
    names = set(_needed("memfiles"))
    paths = [path for name in names - {"memfiles"} for path in _installed(name)]
    paths += (figures.ROOT / "memcli").rglob("*")
    size = sum(
        path.stat().st_size
        for path in paths
        if path.is_file() and path.suffix != ".pyc"
    )
    return {"packages": len(names), "megabytes": round(size / 1_000_000)}


def _needed(name, seen=None):
    """A package and everything that it requires without an extra."""
    seen = set() if seen is None else seen
    if name in seen:
        return
    seen.add(name)
    yield name
    for line in importlib.metadata.requires(name) or ():
        requirement, _, condition = line.partition(";")
        if "extra ==" in condition or not _applies(condition):
            continue
        found = re.match(r"[\w.-]+", requirement)
        assert found is not None
        yield from _needed(_canonical(found[0]), seen)


def _applies(condition):
    from packaging.markers import Marker

    return not condition.strip() or bool(Marker(condition.strip()).evaluate())


def _canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _installed(name):
    return [Path(str(file.locate())) for file in importlib.metadata.files(name) or ()]


def notes(_given):
    """The first answer from a thousand notes, each a file, in seconds of the clock, and
    of forty questions of five of their words those with the note among ten."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="mem-notes-") as name:
        root = Path(name) / "root"
        write_tree(root, NOTES, "one")
        for arm_name, arm in ARMS.items():
            environ = arm.environ(Path(name))
            first = speed.cost([*arm.command, "recall", speed.QUERY], environ, root)
            found[arm_name] = {
                "first answer, s": round(first.seconds, 1),
                "right": sum(_is_found(arm, environ, root, *case) for case in _asked()),
            }
    return {"questions": QUESTIONS, **found}


def _asked():
    """(question, title of the note that answers it)."""
    dice = random.Random(3)
    for title, body in dice.sample(list(texts(NOTES)), QUESTIONS):
        words = sorted(set(re.findall(r"\w{4,}", body.lower())))
        yield " ".join(dice.sample(words, WORDS_ASKED)), title


def _is_found(arm, environ, root, question, title):
    asked = [*arm.command, "recall", "--ranked", "--json", "--limit", "10", question]
    process = finished(*asked, env=environ, cwd=root)
    return title in [hit["title"] for hit in json.loads(process.stdout)["hits"]]


def commands(given):
    """Commands as multiples of what plain SQLite does, by size and arm."""
    return {
        str(size): _ratios(
            speed.measure(size, "many", list(ARMS.values()), given.runs, hooks=False)
        )
        for size in map(int, given.sizes.split(","))
    }


def hooks(given):
    """Hooks as multiples of `import sqlite3`, by size and arm."""
    return {
        str(size): _ratios(
            speed.measure(size, "many", list(ARMS.values()), given.runs, hooks=True)
        )
        for size in HOOK_SIZES
    }


def _ratios(costs):
    """For each command and arm: times its floor, ms of the processor, MB at its peak."""
    found = {}
    for arm_name, arm in ARMS.items():
        for (measured, command), took in costs.items():
            if measured != arm:
                continue
            floor = costs[None, speed.FLOORS.get(command, "import sqlite3")]
            found.setdefault(command, {})[arm_name] = {
                "times": round(took.worked / floor.worked, 2),
                "ms": round(1000 * took.worked),
                "MB": round(took.memory),
            }
    return found


def changed(_given):
    """Of changes the newer leads, of mentions it is marked as newer."""
    found = {}
    cases = changes.cases()
    with tempfile.TemporaryDirectory(prefix="mem-changes-") as name:
        answers = changes.answers(cases, Path(name))
    for kind, wanted in (("changed", "leads"), ("mentioned", "marked")):
        rows = [
            getattr(answer, wanted)
            for case, answer in zip(cases, answers, strict=True)
            if case.kind == kind
        ]
        found[kind] = {wanted: sum(rows), "of": len(rows)}
    return found


def merged(_given):
    """Of pairs that say the same, and of pairs that must stay apart, those merged."""
    same = [duplicates.near(first, second) for first, second in duplicates.MERGE]
    apart = [*duplicates.APART, *duplicates.CONTRADICT, *duplicates.AGREE]
    wrong = [duplicates.near(*row[:2]) for row in apart]
    return {
        "say the same": {"merged": sum(same), "of": len(same)},
        "must stay apart": {"merged": sum(wrong), "of": len(wrong)},
    }


def rows(given):
    """What took longest, row by row, and how commands grow."""
    measured = speed_rows.Given(scale=given.scale, runs=1)
    found = {name: row(measured) for name, row in speed_rows.ROWS.items()}
    return {"scale": given.scale, **found}


MEASURES = {
    "install": install,
    "notes": notes,
    "commands": commands,
    "hooks": hooks,
    "rows": rows,
    "changes": changed,
    "duplicates": merged,
}


def main(
    sections: Annotated[list[str], typer.Argument()] = (),
    runs: int = 9,
    sizes: str = "1000,10000",
    scale: float = 1.0,
):
    """Measure sections, or all; the scale is that of the rows."""
    given = Given(runs=runs, sizes=sizes, scale=scale)
    for name in sections or MEASURES:
        one_of("SECTION", name, tuple(MEASURES))
        print(f"{name} ...", flush=True)
        values = MEASURES[name](given)
        figures.save(name, values)
        print(json.dumps(values, indent=1), flush=True)


if __name__ == "__main__":
    run(main)

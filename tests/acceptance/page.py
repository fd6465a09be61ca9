"""docs/acceptance.md: run the acceptance tests, and write down which hold.

python -m tests.acceptance.page
"""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.acceptance.atlas import SOURCE, TESTS, function_of

PAGE = Path(__file__).parents[2] / "docs" / "acceptance.md"
COMMAND = "python -m tests.acceptance.page"


class Outcomes:
    """A plug-in of pytest: whether each test function held in all its cases."""

    def __init__(self):
        self.held: dict[str, list[bool]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport):
        """One phase of one case."""
        if report.when == "call" or report.failed:
            name = report.nodeid.rpartition("::")[2].partition("[")[0]
            self.held[name].append(report.passed)


def verdict(name: str, held: dict[str, list[bool]]) -> str:
    """What the page says of an id."""
    if TESTS[name].apart:
        return f"does not apply: {TESTS[name].apart}"
    cases = held.get(function_of(name), [])
    return "holds" if cases and all(cases) else "does not hold"


def page(held: dict[str, list[bool]]) -> str:
    """The page."""
    verdicts = {name: verdict(name, held) for name in TESTS}
    holding = sum(said == "holds" for said in verdicts.values())
    applying = sum(not asked.apart for asked in TESTS.values())
    rows = [
        f"| `{name}` | {TESTS[name].what} | {said} |" for name, said in verdicts.items()
    ]
    lines = [
        "# Acceptance tests",
        "",
        f"Made by `{COMMAND}`, which runs them.",
        "",
        f"The [Agent Memory Atlas]({SOURCE}) (MIT) describes {len(TESTS)} acceptance"
        " tests for the memory of agents, each with a positive control: what must still"
        " be told beside what must not, so that a memory that tells nothing passes"
        " none. They are written here in our own words as tests of the real commands,"
        " in `tests/acceptance/test_atlas.py`, each named by its id.",
        "",
        f"**{holding} of the {applying} that apply to files hold**, without a model.",
        "",
        "| id | what it asks | |",
        "| --- | --- | --- |",
        *rows,
        "",
        "What a pass does not prove: that a model heeds the fence around what is"
        " recalled; that other words for what was taken back are refused (they are"
        " not); that git's history, other clones and copies elsewhere forget, which"
        " `mem forget` names with the command for each. Deleting a session names what"
        " was learned from it, and a second command deletes that. A bounded time is"
        " text to mem: it does not know that March is over.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run, write; 1 when a test does not hold."""
    outcomes = Outcomes()
    folder = str(Path(__file__).parent / "test_atlas.py")
    pytest.main(["-q", "-p", "no:cacheprovider", folder], plugins=[outcomes])
    text = page(outcomes.held)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE}")
    return int("does not hold" in text)


if __name__ == "__main__":
    sys.exit(main())

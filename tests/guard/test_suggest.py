"""Rules in people's own words become patterns that stop the call and not its
neighbour."""

import tomllib
from pathlib import Path

import pytest

from memcli.guard.guards import ToolUse, judge, read_guard
from memcli.guard.suggest import suggest
from memcli.sessions.tools import tool_call
from memcli.text.shell import commands_of

SETS = ("rules", "threads", "instructions", "reports")
LEAST = 28
BLUNT = {
    "Never call production with curl",  # what it calls cannot be told from its words
}
"""Rules whose suggestion stops the neighbour, too."""


def rules_of(name: str) -> list[tuple[str, ...]]:
    """(title, what it stops, what passes) of a set."""
    text = Path(__file__).with_name(f"{name}.toml").read_text("utf-8")
    rows = tomllib.loads(text)["rules"].strip().splitlines()
    return [tuple(map(str.strip, row.split(" | "))) for row in rows]


def decided(title: str, line: str) -> str:
    """What a guard made of the suggestion says of a shell line, "" for nothing."""
    made = suggest(title, "")
    values = {
        "guard": "deny",
        "commands": list(made.commands),
        "paths": list(made.paths),
        "unless": list(made.unless),
    }
    guard = read_guard("id", title, values, "MEMORY.md:1", "MEMORY.md")
    files = tuple(path.lstrip("/") for path in tool_call({"command": line}, "/").files)
    verdict = judge(guard, ToolUse(tuple(commands_of(line)), files))
    return verdict.mode if verdict else ""


@pytest.mark.parametrize("name", SETS)
def test_most_rules_get_a_guard_that_tells_the_call_from_its_neighbour(
    name,
):
    """Of each forty at least 28; none but those known stops its neighbour."""
    rules = rules_of(name)
    wrong = [title for title, _, passes in rules if decided(title, passes)]
    right = [title for title, stopped, _ in rules if decided(title, stopped) == "deny"]
    assert len(rules) == 40
    assert len(right) >= LEAST
    assert set(wrong) <= BLUNT


@pytest.mark.parametrize("title", [
    "Every migration must be reversible", "Money is Decimal", "The invoice export reads UTC",
    "Why does the emulator always ask me for the pin?", "Tests live beside the code",
])  # fmt: skip
def test_what_forbids_nothing_gets_no_suggestion(title):
    """Silence where the words do not say what must not be done."""
    made = suggest(title, "")
    assert not made.commands and not made.paths

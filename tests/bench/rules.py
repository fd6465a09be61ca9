"""Precision and recall of the rules engine on labelled human turns.

    python -m tests.bench.rules [--misses]

A found finding of the turn's class counts; one of another class is a false positive and a miss.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.extraction.rules import find
from memcli.sessions.model import Finding, Session, Turn

DATA = Path(__file__).parent.parent / "data" / "human_turns.jsonl"
PARTS = ("dev", "held-out")
CLASSES = ("preference", "policy", "correction", "remember", "escalation")


class Row(NamedTuple):
    part: str
    lang: str
    label: str
    text: str
    before: str


class Score(NamedTuple):
    """Counts of one class: found and right, found and wrong, missed."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    def __add__(self, other: object) -> Score:
        assert isinstance(other, Score)
        return Score(*(a + b for a, b in zip(self, other, strict=True)))


def load() -> list[Row]:
    """The labelled turns."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    return [Row(r["part"], r["lang"], r["label"], r["text"], r.get("before", "")) for r in rows]


def session(row: Row) -> Session:
    """The turn in its session: an ask, what the agent did (`$` leads a command), the turn."""
    before: list[Turn] = []
    if row.before.startswith("$ "):
        call = Turn(
            "assistant", "", "assistant", "b", tool="Bash", input={"command": row.before[2:]}
        )
        before = [call, Turn("tool", "ok", "tool:Bash", "c", tool="Bash")]
    elif row.before:
        before = [Turn("assistant", row.before, "assistant", "b")]
    return Session("s", "test", "s.jsonl", (*before, Turn("user", row.text, "user", "u")))


def kind(finding: Finding) -> str:
    """The class of a finding."""
    if finding.scope == "escalation":
        return "escalation"
    if finding.scope == "corrective":
        return "correction"
    return {"fact": "remember"}.get(finding.kind, finding.kind)


def scores(rows: Iterable[Row]) -> dict[str, Score]:
    """A score per class, and "all"."""
    table = dict.fromkeys((*CLASSES, "all"), Score())
    for row in rows:
        got = {kind(one) for one in find(session(row))}
        for name in CLASSES:
            due, found = row.label == name, name in got
            one = Score(due and found, found and not due, due and not found)
            table[name] += one
            table["all"] += one
    return table


def show(label: str, table: dict[str, Score]) -> None:
    print(
        f"\n| {label} | precision | recall | turns | found wrongly |\n| --- | --: | --: | --: | --: |"
    )
    for name, score in table.items():
        turns = score.right + score.missed
        print(f"| {name} | {score.precision:.1%} | {score.recall:.1%} | {turns} | {score.wrong} |")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--misses", action="store_true", help="name the turns of the development part that fail"
    )
    given = parser.parse_args(arguments)
    rows = load()
    for part in PARTS:
        show(part, scores(row for row in rows if row.part == part))
    for lang in ("en", "de", "es", "zh"):
        score = scores(row for row in rows if row.lang == lang)["all"]
        print(f"{lang}: precision {score.precision:.1%}, recall {score.recall:.1%}")
    for row in rows if given.misses else ():
        got = sorted({kind(one) for one in find(session(row))})
        if row.part == "dev" and got != [row.label] and (got or row.label != "nothing"):
            print(f"{row.label} {got}: [{row.before}] {row.text!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

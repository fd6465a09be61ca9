"""How far two readers of the labelled sessions agree.

    python -m tests.bench.labels.agreement

`second.jsonl` holds what a second reader labelled, who had not seen the labels of the
first; `read_twice.txt` names the sessions, those without a lesson among them. Two
labels meet where their characters overlap in one turn."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tests.bench.labels.fetch import HERE, rows

Label = dict[str, Any]


class Agreement(NamedTuple):
    """How often two readers say the same of a session, beyond chance too."""

    alike: int
    sessions: int
    kappa: float


def kappa(first: Sequence[bool], second: Sequence[bool]) -> Agreement:
    """Cohen's kappa of two lists of verdicts on the same sessions.

    J. Cohen, A coefficient of agreement for nominal scales, 1960. It is 1 where chance
    alone would have them agree on all.
    """
    pairs = list(zip(first, second, strict=True))
    alike = sum(machine == other for machine, other in pairs)
    share_first = sum(first) / len(pairs)
    share_second = sum(second) / len(pairs)
    by_chance = share_first * share_second + (1 - share_first) * (1 - share_second)
    beyond = alike / len(pairs) - by_chance
    value = 1.0 if by_chance == 1 else beyond / (1 - by_chance)
    return Agreement(alike=alike, sessions=len(pairs), kappa=value)


def places(label: Label) -> Iterable[tuple[int, int, int]]:
    """(turn, first character, last character) of every place a label names."""
    for place in (label, *label["also"]):
        yield place["turn"], *place["at"]


def meets(one: Label, other: Label) -> bool:
    """Whether two labels of a session share characters of a turn."""
    return any(
        turn == other_turn and start < other_end and other_start < end
        for turn, start, end in places(one)
        for other_turn, other_start, other_end in places(other)
    )


def met(labels: Sequence[Label], others: Sequence[Label]) -> int:
    """How many labels of one reader meet one of the other's."""
    return sum(
        any(
            label["session"] == other["session"] and meets(label, other)
            for other in others
        )
        for label in labels
    )


def main():
    twice = (HERE / "read_twice.txt").read_text("utf-8").split()
    first = [label for label in rows("lessons.jsonl") if label["session"] in twice]
    second = rows("second.jsonl")
    questions: dict[str, Callable[[Label], bool]] = {
        "teaches anything": lambda label: True,
        "has a clear lesson": lambda label: label["weight"] == "clear",
    }
    for name, counts in questions.items():
        mine = {label["session"] for label in first if counts(label)}
        theirs = {label["session"] for label in second if counts(label)}
        found = kappa(
            [session in mine for session in twice],
            [session in theirs for session in twice],
        )
        print(
            f"{name}: alike in {found.alike} of {found.sessions} sessions,"
            f" kappa {found.kappa:.2f}"
        )
    for weight in ("clear", "arguable"):
        ours = [label for label in first if label["weight"] == weight]
        others = [label for label in second if label["weight"] == weight]
        print(
            f"{weight}: {met(ours, second)} of {len(ours)} of the first reader's"
            f" labels are met by the second, {met(others, first)} of {len(others)}"
            " the other way"
        )


if __name__ == "__main__":
    main()

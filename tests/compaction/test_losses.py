"""What a memory file loses when another text takes its place."""

import pytest

from memcli.compaction.losses import is_loss, loss_between
from memcli.memory.parser import parse

RULES = [
    "Rotate the alpha keys monthly",
    "Mails leave by the worker",
    "Decimals for all money",
]
LIST = "## Rules\n" + "".join(f"- {rule}\n" for rule in RULES)


def lost(before, after):
    between = loss_between(parse(before, "a.md"), parse(after, "a.md"))
    return [unit.body.splitlines()[-1] for unit in between.lost]


@pytest.mark.parametrize(
    "after",
    [
        LIST,
        LIST.replace("## Rules", "# Other\n\n## Name"),
        LIST.replace("monthly", "each month").replace("all money", "each price"),
        "## Rules\n" + ". ".join(RULES) + "\n",
        "".join(f"## Rule {rule[:6]}\n{rule}\n" for rule in RULES),
        f"---\nid: a1\ntype: procedural\n---\n{LIST}",
        f"{LIST}- A fourth rule\n- A fifth rule\n",
    ],
)
def test_prose_that_was_edited_moved_joined_or_split_stays(after):
    """Half of its words are there, wherever."""
    assert lost(LIST, after) == []


def test_a_word_stands_for_one_rule_alone():
    """What is alike does not live on in one that stayed, or in one that came."""
    names = "alpha beta gamma delta".split()
    alike = [f"## Keys\nRotate the {name} keys monthly\n\n" for name in names]
    stayed = lost("".join(alike), alike[1])
    assert stayed == [
        f"Rotate the {name} keys monthly" for name in names if name != "beta"
    ]
    new = "## Keys\nRotate the omega keys monthly\n"
    assert len(lost("".join(alike), new)) == 3


def test_words_of_an_entry_that_stood_before_carry_no_prose():
    entry = f"---\nid: a1\ntype: procedural\n---\n## All\n{' '.join(RULES)}\n"
    assert len(lost(f"{LIST}\n{entry}", entry)) == 3


def test_one_may_go_and_a_quarter():
    """Of a file of one, two or three more than one is a loss."""
    sizes = ((1, 1), (2, 2), (2, 3), (2, 8), (3, 8))
    assert [is_loss(*size) for size in sizes] == [False, True, True, False, True]

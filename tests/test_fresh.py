"""A change is seen by any one sign of it: the time of the file, or its size."""

import os

import pytest

LONG_AGO = 1_700_000_000_123_456_789


def put(project, text, when=LONG_AGO):
    path = project.memory(text)
    os.utime(path, ns=(when, when))
    return path


def recalled(project, word):
    return len(project.mem("recall", "--json", word).hits)


@pytest.mark.parametrize(
    ("title", "text", "when"),
    [
        # some tools that write files put the time back afterwards
        ("Walrus", "Walruses have long tusks.", LONG_AGO),
        # one word for another of the same length
        ("Zebra", "Zebras have manners.", LONG_AGO - 1),
    ],
    ids=["size", "time"],
)
def test_a_change_is_seen_by_one_sign(project, title, text, when):
    new_word = text.split()[-1].rstrip(".")
    put(project, project.entry("Zebra", "Zebras have stripes.", id="a"))
    assert (recalled(project, "stripes"), recalled(project, new_word)) == (1, 0)
    put(project, project.entry(title, text, id="a"), when)
    assert (recalled(project, "stripes"), recalled(project, new_word)) == (0, 1)

"""mem compact --set semantic=true: what says the same in other words is merged, by the rules of
every merge."""

import pytest

TITLE = "Run the unit tests and the integration tests before you push a branch to the remote repository"
ONE = (
    "Always run all of the unit tests and the integration tests before you push a branch to the remote"
    " repository, because the pipeline needs half an hour to say that a branch is broken, and the other"
    " developers wait for it."
)
OTHER = (
    "You should run all the unit tests and integration tests each time before pushing a branch to the"
    " remote repository: the pipeline takes half an hour to say that it is broken, and other developers"
    " wait for it."
)
APART = {
    "a negation": OTHER.replace("should", "should not"),
    "a number": OTHER.replace("all the unit tests", "all the 300 unit tests"),
    "a path": OTHER + " See `tests/unit`.",
    "a flag": OTHER + " Use --fast.",
}


def written(project, second=OTHER, path="MEMORY.md", **values):
    first = project.entry(TITLE, ONE, id="a", importance=0.9)
    text = project.entry(TITLE, second, id="b", **values)
    project.memory(first)
    file = project.root / path
    project.write(path, (file.read_text() if file.exists() else "") + text)


def did(result):
    assert result.code == 0, result.err
    return [event["what"] for event in result.json["done"]]


def test_other_words_are_merged_with_the_option_alone(project, vectors):
    """The survivor says what it was merged from; the other is in the archive; twice is
    once."""
    written(project)
    assert did(project.mem("compact", "--json")) == []
    project.ok("compact", "--check")
    project.ends(1, "compact", "--set", "semantic=true", "--check")
    assert did(project.mem("compact", "--set", "semantic=true", "--json")) == ["merged"]
    text = project.read()
    assert "id: a" in text
    assert "merged_from" in text
    assert "id: b" not in text
    assert OTHER in project.read("MEMORY.archive.md")
    assert did(project.mem("compact", "--set", "semantic=true", "--json")) == []


@pytest.mark.parametrize("why", APART)
def test_what_is_kept_apart_stays_apart(project, vectors, why):
    """However near the vectors are."""
    written(project, APART[why])
    assert did(project.mem("compact", "--set", "semantic=true", "--json")) == []

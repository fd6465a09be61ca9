"""Patterns mean what gitignore and a shell say, and cost time in proportion to their
length."""

import os
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.project import globs
from tests.work import ends

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("patterns", "path", "covered"),
    [
        (["src/cart.py"], "src/cart.py", True),
        (["cart.py"], "src/cart.py", True),
        (["/cart.py"], "src/cart.py", False),
        (["src/"], "src/a/b.py", True),
        (["src/"], "src", False),
        (["src/*"], "src/a/b.py", True),
        (["src/*.py"], "src/a/b.py", False),
        (["src/**/*.py"], "src/b.py", True),
        (["src/**"], "src", False),
        (["**/tests/**"], "a/tests/x.py", True),
        (["*.py", "!b.py"], "a/b.py", False),
        (["!b.py", "*.py"], "b.py", True),
        (["[a-c].md"], "b.md", True),
        (["[!a-c].md"], "b.md", False),
        (["\\*.md"], "*.md", True),
        (["\\*.md"], "a.md", False),
        (["# note", "", "  "], "# note", False),
        (["a" * 2000], "a" * 2000, False),
        (["x"] * 200 + ["y"], "y", False),
    ],
)
def test_paths_are_matched_as_gitignore_has_it(patterns, path, covered):
    assert globs.covers(patterns, path) is covered


@given(st.text("ab*?[!]-x ", max_size=10), st.text("ab-] x", max_size=10))
def test_a_name_matches_as_in_a_shell(pattern, text):
    """But for ranges in sets that overlap their own brackets."""
    if "[" not in pattern or (
        pattern.count("[") == pattern.count("]") == 1 and "-" not in pattern
    ):
        assert globs.matches(pattern, text) == fnmatchcase(text, pattern)


@pytest.mark.parametrize(
    "pattern", ["*a" * 500 + "b", "?*" * 500 + "b", "*[a-z]?" * 140 + "1"]
)
def test_no_pattern_takes_more_than_its_length_times_that_of_the_text(
    pattern,
):
    with ends():
        globs.matches(pattern, "a" * 20_000)
        globs.covers([pattern], "/".join(["a" * 200] * 50))
        globs.covers(["**/a/" * 200 + "b"], "/".join(["a"] * 500))


@pytest.mark.parametrize("pattern", ["/****", "****", "/****/", "a/****"])
def test_more_stars_than_have_a_meaning_are_as_one(pattern):
    """A person's typing slip in an entry is no reason to fail."""
    assert globs.covers([pattern], "a/b")


def test_a_walk_finds_what_the_patterns_name_and_follows_no_link(
    tmp_path,
):
    for name in ("a/MEMORY.md", "a/b/MEMORY.md", "a/b/c/NOTES.md", ".git/MEMORY.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "loop").symlink_to(".")
    walk = globs.Walk(str(tmp_path))
    assert walk.find("**/MEMORY.md") == ["a/MEMORY.md", "a/b/MEMORY.md"]
    assert walk.find("a/*/*.md") == ["a/b/MEMORY.md"]
    assert walk.find("a/b/c/NOTES.md") == ["a/b/c/NOTES.md"]
    assert walk.find("link/*.md") == []
    assert (walk.links, walk.cut) == (["link"], False)


def test_a_walk_ends_at_its_bound_and_says_so(tmp_path):
    for number in range(30):
        (tmp_path / f"f{number}").mkdir()
    walk = globs.Walk(str(tmp_path), limit=20)
    walk.find("**/x.md")
    assert walk.cut
    assert globs.ENTRIES == 50_000
    assert os.listdir(tmp_path)

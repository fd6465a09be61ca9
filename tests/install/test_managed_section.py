"""A section of ours in a text of somebody else: it comes, changes and goes, and nothing else does."""

from __future__ import annotations

import pytest

from memcli.errors import UsageError
from memcli.install import managed_section

TEXTS = ["", "user\n", "user", "user\r\n", "user\r\nmore", "\n", "a\n\n", "ü"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("marks", [managed_section.HASH, managed_section.HTML])
@pytest.mark.parametrize("blank", [False, True])
def test_what_was_put_in_can_be_taken_out_to_the_byte(
    text: str, marks: managed_section.Marks, blank: bool
) -> None:
    """Line ends that the section brought go with it, those of the person stay; twice is once."""
    once = managed_section.put(text, ["one", "two"], marks, blank=blank)
    assert managed_section.put(once, ["one", "two"], marks, blank=blank) == once
    assert once.startswith(text) and managed_section.drop(once, marks) == text
    changed = managed_section.put(once, ["three"], marks, blank=blank)
    assert managed_section.drop(changed, marks) == text


def test_line_ends_that_the_person_took_away_are_not_looked_for_elsewhere() -> None:
    """Where the lines above a section were deleted, what is left below it stays whole."""
    with_it = managed_section.put("user\n", ["one"], blank=True)
    assert managed_section.drop(with_it.removeprefix("user\n\n") + "after\n") == "after\n"


def test_a_section_without_its_end_is_named_by_its_line() -> None:
    """Nothing is guessed: what belongs to whom cannot be told any more."""
    broken = managed_section.put("a\nb\n", ["one"]).replace(managed_section.HASH.end, "")
    with pytest.raises(UsageError, match=r"^3: a section of mem without its end"):
        managed_section.drop(broken)


def test_a_file_made_for_the_section_goes_with_it() -> None:
    """Unless something else stands in it by now."""
    own = managed_section.put(None, ["one"])
    assert managed_section.drop(own) is None and managed_section.drop(own + "mine\n") == "mine\n"

"""What a lesson rests on, taken from the exchange it was learned from."""

import os

import pytest

from memcli.memory.parser import parse
from tests.commands.talk import Talk, saved

LATER = 1_800_000_000  # than the session, which is of November 2026
EARLIER = 1_700_000_000


@pytest.mark.parametrize("changed", [EARLIER, LATER])
def test_the_lines_that_a_person_names_are_kept(project, changed):
    """With their sketch, as if `mem add --rests-on` had named them; not those of a
    file that was changed since, which may be others by now."""
    code = project.write(
        "src/cart.py", "".join(f"step_{number} = {number}\n" for number in range(9))
    )
    os.utime(code, (changed, changed))
    said = "From now on always round to cents, as `src/cart.py:2-4` does, not :0-1."
    session = Talk(project.root).user("Change the checkout page.").agent("Done.")
    session.user(said).agent("I will.")
    project.ok("extract", saved(project, session))
    memory = parse(project.memory_file.read_text(), "MEMORY.md")
    rests_on = [entry.extra.get("rests_on") for entry in memory.entries]
    if changed == LATER:
        assert rests_on == [None]
        return
    ((row,),) = rests_on
    project.ok("add", "Cents.", "--title", "T", "--rests-on", "src/cart.py:2-4")
    memory = parse(project.memory_file.read_text(), "MEMORY.md")
    (added,) = [entry for entry in memory.entries if entry.title == "T"]
    assert added.extra["rests_on"] == [row]

"""The way of a question through the house: down into the index and back."""

import inspect
import os
import sys
import time
from itertools import groupby, pairwise
from pathlib import Path

import pytest

import memcli
from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.recall.answer import RecallRequest
from tests.programs import finished
from tests.test_layers import ORDER

ROOT = Path(memcli.__file__).parent
LEAVES = {"text", "memory", "named", "errors", "user_folders"}
"""Rooms that answer without asking another one: to look into them is no stay."""


def rooms_of(app, task):
    """The room of each function, in the order in which a recall first calls them;
    neither comprehensions nor what is read when a module is loaded."""
    known = set()
    found = []

    def note(frame, event, _):
        code = frame.f_code
        is_function = bool(code.co_flags & inspect.CO_OPTIMIZED) and "<" not in (
            code.co_name
        )
        path = Path(code.co_filename)
        if event != "call" or code in known or not is_function:
            return
        known.add(code)
        if path.is_relative_to(ROOT):
            room = path.relative_to(ROOT).parts[0].removesuffix(".py")
            found.append(room)

    sys.setprofile(note)
    try:
        recall(app, RecallRequest(task))
    finally:
        sys.setprofile(None)
    return [room for room in found if room not in LEAVES]


@pytest.mark.usefixtures("vectors")
def test_a_question_goes_down_and_comes_back(project):
    """Stays in a room, rooms, and steps up to a room of a higher row: what is known is
    gathered first, then the index is asked once for memory and for history. The bounds
    only fall; a look for guards out of view raised two, by two and one."""
    for number in range(8):
        text = project.entry(f"Chain {number}", f"Oil chain {number} every month.")
        path = project.write(f".claude/memory/{number}.md", text)
        # a file of this very moment is read again at the next call
        os.utime(path, (time.time() - 3600,) * 2)
    project.write("src/oil.py", "CHAIN = 2\n")
    commit = ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm")
    finished("git", "add", "-A", cwd=project.root)
    finished("git", *commit, "Oil every chain twice", cwd=project.root)
    project.mem("index")
    project.mem("index", "--history")
    task = "how often is the chain oiled"
    options = Options(str(project.root))
    with App(options, dict(os.environ), project.root) as app:
        hits = recall(app, RecallRequest(task)).hits  # what is imported, is by now
        assert {"ranked", "history"} <= {hit.layer for hit in hits}
    with App(options, dict(os.environ), project.root) as app:
        rooms = [room for room, _ in groupby(rooms_of(app, task))]
    climbs = sum(ORDER[later] < ORDER[first] for first, later in pairwise(rooms))
    assert "recall" in rooms and "index" in rooms and "providers" in rooms
    assert len(rooms) <= 20
    assert len(set(rooms)) <= 8
    assert climbs <= 9

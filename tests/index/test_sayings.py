"""What was gone before memory spoke of it is none of its names."""

import pytest

from memcli.index import anchors
from memcli.index.lost_words import _of_code, _SearchedHistory
from tests.index.test_targets import states as told


def later(project):
    """Another commit: what stands in memory is no longer of the last one."""
    number = project.git("rev-list", "--count", "HEAD").strip()
    project.write(f"src/later_{number}.py", f"NUMBER = {number}\n")
    project.commit("later")


def started(project):
    """Code with a file, a call and a target, all of which a second commit takes."""
    project.write("src/old_cart.py", "def parse_old_items():\n    return 1\n")
    project.write("src/kept.py", "KEPT = 1\n")
    project.write("Makefile", "lint:\n\techo\nold-goal:\n\techo\n")


def without_it(project):
    """The commit that takes them."""
    project.git("rm", "-q", "src/old_cart.py")
    project.write("Makefile", "lint:\n\techo\n")
    project.commit("gone")


NAMES = "See `src/old_cart.py`, `parse_old_items()` and `make old-goal`."


def test_only_what_stood_when_it_was_written_is_gone(project):
    """A file from before is marked, one from after is not: it knew. As long as it is
    not committed it may be a slip; the day of an entry tells when it was written."""
    started(project)
    project.memory(project.entry("Before", NAMES))
    project.commit("start")
    without_it(project)
    texts = [
        project.entry("After", NAMES, created_at="9000-01-01"),
        project.entry("Late", NAMES, created_at="2001-01-01"),
    ]
    project.write("memory/after.md", "".join(texts))
    assert set(told(project)) == {"Before", "After", "Late"}
    project.commit("written")
    for _ in range(2):
        found = told(project)
        assert set(found) == {"Before", "Late"}
        later(project)
        project.mem("index", "--rebuild")
    for name in ("src/old_cart.py", "parse_old_items", "make old-goal"):
        assert name in found["Before"]
        assert name in found["Late"]


def test_what_a_commit_of_memory_takes_itself(project):
    """It stood when it was written, and stays a finding after the next commits."""
    started(project)
    project.write("package.json", '{"engines": {"node": "18"}}')
    project.commit("start")
    body = f"{NAMES} We run Node 18."
    project.memory(project.entry("Together", body, created_at="9000-01-01"))
    project.write("package.json", '{"engines": {"node": "22"}}')
    without_it(project)
    found = told(project)["Together"]
    for name in ("src/old_cart.py", "parse_old_items", "make old-goal", "Node 18"):
        assert name in found
    later(project)
    assert told(project)["Together"] == found
    project.mem("index", "--rebuild")
    assert told(project)["Together"] == found


def test_text_that_was_brought_from_another_file(project):
    """It was written at another time, which is not known: the very path counts."""
    started(project)
    project.write("docs/notes.md", f"Notes.\n\n{NAMES}\n")
    project.commit("start")
    without_it(project)
    project.git("rm", "-q", "docs/notes.md")
    project.memory(project.entry("Moved", NAMES, id="m1"))
    project.commit("moved")
    later(project)
    assert "names src/old_cart.py, gone since" in told(project)["Moved"]


def test_a_value_that_the_manifest_once_had(project):
    """It is out of date; one that no manifest had when it was written is another's."""
    project.write("package.json", '{"engines": {"node": "18"}}')
    text = "We run Node 18. The method is there in Node 16 and newer."
    project.memory(project.entry("Values", text, id="v1"))
    project.commit("start")
    project.write("package.json", '{"engines": {"node": "22"}}')
    project.commit("newer")
    found = told(project)["Values"]
    assert "says Node 18, package.json says 22" in found
    assert "16" not in found


@pytest.mark.parametrize("early", [True, False])
def test_a_name_of_several_places_means_none_of_them(project, early):
    """Unless memory spoke of it while they stood."""
    for folder in ("one", "two"):
        project.write(f"{folder}/setup.toml", f"name = '{folder}'\n")
    project.write("one/only.toml", "x = 1\n")
    text = "The keys stand in `setup.toml` and `only.toml`."
    project.commit("start")
    if early:
        project.memory(project.entry("E", text, id="e1"))
        project.commit("written")
    project.git("rm", "-qr", "one", "two")
    project.commit("gone")
    project.memory(project.entry("E", text, id="e1"))
    found = told(project)["E"]
    assert "only.toml" in found
    assert ("setup.toml" in found) is early


@pytest.mark.unit
@pytest.mark.parametrize(
    ("line", "is_code"),
    [
        ("def load_rows(path):", True),
        ("    self.load_rows = 3  # again", True),
        ("    await page.load_rows(3)", False),
        ("    if self.load_rows == 3:", False),
        ("\treturn a / load_rows(1)", True),
        ('  "load_rows": 3,', True),
        ("#define load_rows 1", True),
        ("func (s *Server) load_rows() {", True),
        ("# calls load_rows", False),
        ("// calls load_rows", False),
        (" * calls load_rows", False),
        ("x = 1  # for load_rows", False),
        ('raise ValueError("call load_rows first")', False),
    ],
)
def test_what_is_a_remark_is_no_code(line, is_code):
    """A name that only a remark or a text has never stood in the code."""
    assert (list(_of_code(line, {"load_rows"})) != []) is is_code


@pytest.mark.parametrize("late", [False, True])
def test_a_check_that_is_not_done_goes_on(project, monkeypatch, late):
    """It asks git so often and no more, keeps what it found, and the next one ends
    where one that had time for all does; also where the time is up amid a search."""
    names = [f"parse_row_{number}" for number in range(6)]
    for name in names:
        project.write(f"src/{name}.py", f"def {name}():\n    return 1\n")
    text = " ".join(f"`{name}()`" for name in names)
    project.memory(project.entry("Rows", text, id="r1"))
    project.commit("start")
    for name in names:
        project.git("rm", "-q", f"src/{name}.py")
        later(project)
    count = 0

    def asked(self, *words):
        nonlocal count
        count += 1
        if late and count % 9 == 0:
            self.tree.deadline = 0
        return ask(self, *words)

    ask = _SearchedHistory._run
    questions = anchors.QUESTIONS
    monkeypatch.setattr(_SearchedHistory, "_run", asked)
    if not late:
        monkeypatch.setattr(anchors, "QUESTIONS", 8 / 60)
    found = []
    rounds = []
    while not rounds or (rounds[-1] > 0 and len(rounds) < 20):
        count = 0
        found.append(told(project).get("Rows", ""))
        rounds.append(count)
    assert max(rounds) <= 9
    assert 2 < len(rounds) < 20
    assert found[0].count("gone since") < len(names) == found[-1].count("gone since")
    monkeypatch.setattr(_SearchedHistory, "_run", ask)
    monkeypatch.setattr(anchors, "QUESTIONS", questions)
    project.mem("index", "--rebuild")
    assert told(project)["Rows"] == found[-1]

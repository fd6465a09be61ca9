"""mem log, mem why, and memory as of a moment."""

import shutil


def lived(project):
    """An entry that was written, reinforced, edited, retired and archived, a commit
    each."""
    project.write(
        "src/cart.py", "class Cart:\n    def parse(self):\n        return 1\n"
    )
    project.remembers("Freeze time", "Use freezegun, see `src/cart.py`.", id="a1b2c3d4")
    project.commit("start")
    project.mem("reinforce", "a1b2c3d4")
    project.commit("used")
    project.mem("edit", "a1b2c3d4", "--body", "Use time-machine, see `src/cart.py`.")
    project.commit("edited")
    project.mem("retire", "a1b2c3d4", "--because", "no clock any more")
    project.commit("retired")
    project.mem("compact")
    project.commit("archived")


def test_log_tells_a_life(project):
    """Every commit that did something to it, the newest first, and what is not
    committed."""
    lived(project)
    rows = project.mem("log", "a1b2", "--json").json["rows"]
    assert [row["what"] for row in rows] == [
        "archived",
        "retired",
        "changed",
        "reinforced",
        "added",
    ]
    assert rows[1]["detail"] == "no clock any more"
    assert rows[2]["detail"] == "body"
    project.mem("restore", "a1b2c3d4")
    assert project.mem("log", "a1b2", "--json").json["rows"][0]["commit"] == ""
    lines = [line.split("\t") for line in project.mem("log", "a1b2").out.splitlines()]
    assert lines[1][:3] == ["0000000", "now", "not committed"]
    assert {len(cells) for cells in lines[1:]} == {5}
    assert all(cell for cells in lines for cell in cells)
    unknown = project.ends(2, "log", "zzzz")
    assert "no entry has that id" in unknown.err


def test_log_knows_what_no_commit_had_alive(project):
    """An entry that was archived before the first commit, committed or not; prose is
    told from what is not there."""
    text = project.entry("Zebra", "zebra", id="zz11aa22", status="retired")
    project.memory("# Notes\n\nBy hand.\n\n" + text)
    project.ok("compact")
    for committed in (False, True):
        if committed:
            project.commit("archived")
        (row,) = project.mem("log", "zz11", "--json").json["rows"]
        assert (row["what"], row["detail"]) == ("archived", "retired")
        assert row["path"] == "MEMORY.archive.md"
        assert "archived" in project.mem("log", "zz11").out
    entries = project.listed()
    prose = project.ends(2, "log", entries[0]["id"])
    assert "is a section of prose" in prose.err


def test_log_holds_a_commit_against_its_parents(project):
    """What one branch lacks is not removed and added again; what a merge itself did is
    said to be of the merge; a renamed file is a move."""
    text = project.entry("Cart", "It expires after 30 minutes.", id="a1b2c3d4")
    path = project.memory(text)
    project.commit("start")
    project.git("branch", "side")
    path.write_text(text.replace("30", "50"))
    project.commit("fifty")
    project.git("checkout", "-q", "side")
    path.write_text(project.entry("Other", "Not of the cart.", id="b2c3d4e5") + text)
    project.commit("another entry")
    path.write_text(path.read_text().replace("30", "40"))
    project.commit("forty")
    project.git("checkout", "-q", "-")
    project.git("merge", "-q", "-s", "ours", "--no-commit", "side")
    path.write_text(text.replace("30", "45"))
    project.commit("merged")
    (project.root / "tasks").mkdir()
    project.moves("MEMORY.md", "tasks/notes.md")
    rows = project.mem("log", "a1b2", "--json").json["rows"]
    assert [(row["what"], row["detail"]) for row in rows] == [
        ("moved", "from MEMORY.md"),
        ("changed", "body, in a merge"),
        ("changed", "body"),
        ("changed", "body"),
        ("added", ""),
    ]
    told = [
        row["what"] for row in project.mem("log", "b2c3d4e5", "--json").json["rows"]
    ]
    assert "added" in told and "changed" not in told


def test_log_goes_on_where_a_file_leaves_the_view(project):
    """To a file that is no memory, and in it, also over line ends of Windows."""
    text = project.entry("Cart", "It expires after 30 minutes.", id="a1b2c3d4")
    project.memory(project.entry("Other", "Stays.", id="b2c3d4e5") + text)
    project.commit("start")
    project.remembers("Other", "Stays.", id="b2c3d4e5")
    kept = project.write("notes/old.md", text)
    project.commit("out of view")
    kept.write_bytes(text.replace("30", "50").replace("\n", "\r\n").encode())
    project.commit("changed there")
    rows = project.mem("log", "a1b2c3d4", "--json").json["rows"]
    assert [(row["what"], row["detail"], row["path"]) for row in rows] == [
        ("changed", "body", "notes/old.md"),
        ("moved", "from MEMORY.md", "notes/old.md"),
        ("added", "", "MEMORY.md"),
    ]


def test_as_of_a_moment(project):
    """A commit, a day; nothing in the tree changes, and a later word is not known."""
    lived(project)
    before = project.git("status", "--short")
    first = project.git("rev-list", "--max-parents=0", "HEAD").strip()
    assert "freezegun" in project.mem("recall", "freeze time", "--at", first).out
    assert "time-machine" in project.mem("recall", "freeze time", "--at", "HEAD~2").out
    assert project.listed() == []
    assert len(project.listed("--at", "HEAD~2")) == 1
    assert project.git("status", "--short") == before
    for wrong in ("nonsense", "1999-01-01", "2099-01-01", "--output=x"):
        project.ends(2, "recall", "x", f"--at={wrong}")


def test_before_there_was_memory_nothing_is_advised(project):
    """That nothing was remembered then is all that can be said."""
    project.write("src/cart.py", "cart = 1\n")
    project.commit("start")
    project.remembers("Freeze time")
    project.commit("memory")
    for line in (["list"], ["recall", "freeze time"]):
        done = project.mem(*line, "--at", "HEAD~1")
        assert (
            "nothing was remembered at that time" in done.err
            and "mem add" not in done.err
        )


def test_why_a_file_is_as_it_is(project):
    """Entries that name it, commits that touched it, and the one that touched the line
    last."""
    lived(project)
    project.write(
        "src/cart.py", "class Cart:\n    def parse(self):\n        return 2\n"
    )
    project.commit("Return two, because one was off by one")
    project.mem("restore", "a1b2c3d4")
    told = project.mem("why", "src/cart.py:3", "--json").json
    assert told["within"] == ["parse", "Cart"]
    assert told["rows"][0]["line"]
    assert "off by one" in told["rows"][0]["title"]
    assert {row["source"] for row in told["rows"]} == {"memory", "commit"}
    project.write("tasks/plain.md", "# Plain\n\nThe cart.py of src is old.\n")
    out = project.mem("why", "src/cart.py").out
    assert "a1b2c3d4" in out and "is old" in out
    project.ends(2, "why", "no/such.py")
    beyond = project.ends(2, "why", "src/cart.py:99999")
    assert "the file has 3 lines" in beyond.err
    project.ends(2, "why", "src/cart.py:0")
    span = project.ends(2, "why", "src/cart.py:1-2")
    assert "hint: name one line: mem why src/cart.py:1" in span.err
    assert "outside of the project" in project.ends(2, "why", "/etc/passwd").err
    formatted = project.git("rev-parse", "HEAD")
    project.write(".git-blame-ignore-revs", "no commit\n")
    assert project.mem("why", "src/cart.py:3", "--json").json["rows"][0]["line"]
    project.write(".git-blame-ignore-revs", f"{formatted}\n")
    before = project.mem("why", "src/cart.py:3", "--json").json["rows"][0]
    assert before["line"] and "off by one" not in before["title"]
    long = f"Round the {'very ' * 20}last cent"
    for text in ("# 1\n", "# 2\n"):
        project.write("src/cart.py", text)
        project.commit(f"{long}\n\nThe bank does.")
    commits = project.mem("why", "src/cart.py", "--json").json["rows"]
    alike = [row["text"] for row in commits if row["title"].startswith("Round the")]
    assert alike == ["The bank does."]  # as a branch's commit and its merge
    assert "more commit" not in project.mem("why", "src/cart.py").out
    for number in range(6):
        project.write("src/cart.py", f"# {number}\n")
        project.commit(f"Count to {number}")
    out = project.mem("why", "src/cart.py").out
    assert "\n... and 4 commits more (--limit N: more of each)" in out
    assert "more" not in project.mem("why", "src/cart.py", "--limit", "20").out
    project.memory(*(project.entry(f"N {n}", "See `cart.py`.") for n in range(14)))
    assert "... and 3 entries, 4 commits more" in project.mem("why", "src/cart.py").out
    # What stands behind such a word in a line of configuration is a password.
    project.write("src/cart.py", "login = 1\n")
    project.commit("AWS SSO re-auth")
    assert "[secret removed" not in project.mem("why", "src/cart.py").out


def test_a_file_with_a_line_end_in_its_name_is_no_hindrance(project):
    """Git takes such a name in no line; the lives of the others are told."""
    project.write("docs/memory/a\nb.md", "# Rule\n\nOtters swim.\n")
    project.memory(project.entry("Otters swim", id="otter"))
    project.commit("one")
    assert "added" in project.ok("log", "otter").out


def test_the_past_of_an_entry_where_git_cannot_read_the_repository(project):
    """`.git` names itself: the entry is new, as far as anybody can see."""
    project.ok("add", "Freeze the clock in cart tests")
    shutil.rmtree(project.root / ".git", ignore_errors=True)
    project.write(".git", "gitdir: .git\n")
    shown = project.ok("log", project.entries()[0].id)
    assert "not committed" in shown.out

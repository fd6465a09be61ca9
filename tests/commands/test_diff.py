"""mem diff: what a branch does to memory, in words."""

import pytest

from memcli.memory.parser import parse


def ids(project):
    """The ids of the entries of MEMORY.md by title."""
    text = project.read()
    return {entry.title: entry.id for entry in parse(text, "MEMORY.md").entries}


def started(project):
    """A commit on main with four entries and some prose, and a branch that begins
    there."""
    project.memory(
        "# Notes\n\nSome prose.\n\n",
        project.entry("One", "First body."),
        project.entry("Two", "Second body."),
        project.entry("Three", "Third body.", reinforcement_count=1),
        project.entry("Four", "Fourth body."),
    )
    project.write("src/app.py", "pass\n")
    project.commit("start")
    project.git("switch", "-q", "-c", "feature")


def told(project, *arguments):
    """(title, detail) of every change, by what it is."""
    found = {}
    for change in project.mem("diff", *arguments, "--json").json["changes"]:
        found.setdefault(change["what"], []).append((change["title"], change["detail"]))
    return found


def test_added_retired_reinforced(project):
    """What mem itself does on a branch is told by its name, committed or not."""
    started(project)
    known = ids(project)
    project.mem("add", "A new lesson", "--kind", "pitfall")
    project.commit()
    project.mem("retire", known["One"], "--because", "the API is gone")
    project.mem("reinforce", known["Three"], known["Two"])
    assert told(project) == {
        "added": [("A new lesson", "")],
        "reinforced": [("Three", "1 → 2"), ("Two", "0 → 1")],
        "retired": [("One", "the API is gone")],
    }


def test_what_differs_in_an_entry_is_named(project):
    """Keys, body and a move; prose is counted, not quoted; line ends are no change."""
    started(project)
    path = project.memory_file
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert told(project) == {}
    text = path.read_text().replace("importance: 0.5", "importance: 0.7", 1)
    text = text.replace("Some prose.", "Other prose.\n\n## More\n\nA third thing.")
    at = text.index("---\nid: ", text.index("## Three"))
    path.write_text(text[:at].replace("Second body.", "Another body."))
    project.write(
        "tasks/four.md", text[at:].replace("Fourth body.", "Fourth body, longer.")
    )
    assert told(project) == {
        "changed": [("One", "importance"), ("Two", "body"), ("Four", "body")],
        "moved": [("Four", "from MEMORY.md")],
    }
    prose = {"path": "MEMORY.md", "added": 1, "removed": 0, "changed": 1}
    assert project.mem("diff", "--json").json["prose"] == [prose]
    assert "prose       1 section added, 1 changed" in project.mem("diff").out


def test_archived_merged_removed_restored(project):
    """What left its file, and what came back from the archive."""
    started(project)
    known = ids(project)
    project.mem("retire", known["One"])
    project.mem("compact", "--allow-loss")
    text = project.read()
    blocks = [f"---\n{block}" for block in text.split("\n---\nid: ")[1:]]
    _, three, four = (f"---\nid: {block[4:]}".rstrip("\n") + "\n\n" for block in blocks)
    merged = four.replace(
        "status: active", f'status: active\nmerged_from: ["{known["Two"]}"]'
    )
    project.memory(text.split("---\n")[0] + merged)
    assert three
    assert told(project) == {
        "archived": [("One", "retired")],
        "changed": [("Four", "merged_from")],
        "merged": [("Two", f"into Four (id {known['Four'][:8]})")],
        "removed": [("Three", "")],
    }
    project.commit()
    project.git("switch", "-q", "-c", "later")
    project.mem("restore", known["One"])
    assert told(project, "feature") == {"restored": [("One", "from the archive")]}


def test_only_the_branch_counts(project):
    """Not what main got meanwhile; on main itself what is not committed."""
    started(project)
    project.mem("add", "From the branch")
    project.commit()
    project.git("switch", "-q", "main")
    project.mem("add", "From main, about colours")
    assert told(project) == {"added": [("From main, about colours", "")]}
    project.commit()
    project.git("switch", "-q", "feature")
    for arguments in ((), ("main",), ("main..feature",), ("main...HEAD",), ("main..",)):
        assert told(project, *arguments) == {"added": [("From the branch", "")]}, (
            arguments
        )
    assert told(project, "feature..main") == {
        "added": [("From main, about colours", "")]
    }


def test_jobs_tasks_and_globs(project):
    """Files of jobs, tasks and of memory_files count with their level; other markdown
    does not."""
    project.write(".mem.toml", 'memory_files = ["packages/*/NOTES.md"]\n')
    started(project)
    counted = {
        ".mem/jobs/j/MEMORY.md": "job",
        ".mem/jobs/j/tasks/c.md": "job",
        ".mem/jobs/j/tasks/t/MEMORY.md": "task",
        ".sessions/20260101/MEMORY.md": "task",
        "packages/a/NOTES.md": "project",
    }
    for name in (*counted, "packages/a/b/NOTES.md", "docs/MEMORY.md", "README.md"):
        project.write(name, project.entry(f"In {name}"))
    changes = project.mem("diff", "--json").json["changes"]
    assert {change["path"]: change["level"] for change in changes} == counted


def test_the_proxy_store_is_never_told(project):
    """Even a proxy file that somebody tracks stays out of the answer."""
    started(project)
    project.write("proxy.md", project.entry("Ana likes short answers"))
    project.write("proxy-tasks/x.md", project.entry("Ana works at night"))
    project.commit()
    assert (
        "Ana"
        not in project.mem("diff").out + project.mem("diff", "--format", "markdown").out
    )


def test_text_and_markdown(project):
    """Markdown quotes in code spans alone; with --check changes are exit 1."""
    started(project)
    assert project.mem("diff").out.endswith("nothing changes\n")
    project.ok("diff", "--check")
    project.write(
        "tasks/x.md", project.entry("Ping @team `now` <b>loud</b>", kind="pitfall")
    )
    project.ends(1, "diff", "--check")
    result = project.mem("diff")
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[0] == "tasks/x.md (project)"
    assert "  added       Ping @team `now` <b>loud</b> (pitfall, id " in result.out
    assert lines[-1].endswith("working tree: 1 added")
    page = project.mem("diff", "--format", "markdown").out
    quoted = "- added `Ping @team 'now' <b>loud</b>` ("
    assert page.startswith(f"### Memory: 1 added\n\n`tasks/x.md` (project)\n{quoted}")


@pytest.mark.parametrize(
    "revisions", ["nowhere", "main..nowhere", "--output=x..HEAD", "HEAD:x.md"]
)
def test_an_unknown_revision_is_a_usage_error(project, revisions):
    """It is named, exit 2, and never read as an option of git."""
    started(project)
    result = project.ends(2, "diff", "--", revisions)
    assert "unknown revision" in result.err
    assert not project.has("x..HEAD")


def test_what_memory_rests_on(project):
    """What the branch removes and moves, and what nobody should merge."""
    project.write("a.py", "def retry_call():\n    pass\n")
    project.write("c.py", "def stays_here():\n    return [1, 2, 3]\n")
    body = "`retry_call()` in `a.py` and `c.py`."
    project.remembers("Rests", body)
    project.commit("start")
    project.git("switch", "-q", "-c", "feature")
    assert project.mem("diff", "main..HEAD", "--format", "markdown").out.strip() == ""
    project.git("rm", "-q", "a.py")
    project.git("mv", "c.py", "d.py")
    with project.memory_file.open("a") as file:
        file.write(project.entry("Key", "The key is ghp_" + "a1B2c3D4e5F6" * 3))
    project.commit("feature")
    found = project.mem("diff", "main..HEAD", "--json").json["findings"]
    told = {(one["what"], one["name"], one["detail"]) for one in found}
    assert {
        ("removes", "a.py", ""),
        ("removes", "retry_call", ""),
        ("moves", "c.py", "d.py"),
    } <= told
    assert "secret" in {one["what"] for one in found}
    page = project.mem("diff", "main..HEAD", "--format", "markdown").out
    assert "removes `retry_call`" in page
    assert "ghp_" not in page
    project.git("switch", "-q", "main")
    assert project.mem("diff", "main..feature", "--json").json["findings"] == found


def test_markdown_says_how_many_more_findings_there_are(project):
    """A comment on a pull request shows twenty and counts the others."""
    names = [f"src/part_{number:02}.py" for number in range(23)]
    for name in names:
        project.write(name, "x = 1\n")
    notes = "".join(project.entry(f"On {name}", f"See `{name}`.") for name in names)
    project.memory(notes)
    project.commit("base")
    project.git("switch", "-q", "-c", "feature")
    project.git("rm", "-qr", "src")
    project.commit("feature")
    page = project.mem("diff", "main..HEAD", "--format", "markdown").out
    assert page.count("removes `src/part_") == 20
    assert "**and 3 more findings: `mem diff`**" in page


def test_a_branch_that_takes_too_long_to_look_at_is_told_as_far_as_it_was(
    project, monkeypatch
):
    """In text and in a comment."""
    started(project)
    project.mem("add", "A new lesson")
    monkeypatch.setattr("memcli.exchange.review.SECONDS", -1)
    for form in ("text", "markdown"):
        assert "could not be checked" in project.ok("diff", "--format", form).out

"""mem diff: what a branch does to memory, in words."""

from __future__ import annotations

import pytest

from tests.conftest import Project


def ids(project: Project, name: str = "MEMORY.md") -> dict[str, str]:
    """The ids of the entries of a file by title."""
    from memcli.memory.parser import parse

    return {
        entry.title: entry.id for entry in parse((project.root / name).read_text(), name).entries
    }


def started(project: Project) -> None:
    """A commit on main with four entries and some prose, and a branch that begins there."""
    project.write(
        "MEMORY.md",
        "# Notes\n\nSome prose.\n\n"
        + project.entry("One", "First body.")
        + project.entry("Two", "Second body.")
        + project.entry("Three", "Third body.", reinforcement_count=1)
        + project.entry("Four", "Fourth body."),
    )
    project.write("src/app.py", "pass\n")
    project.commit("start")
    project.git("switch", "-q", "-c", "feature")


def told(project: Project, *arguments: str) -> dict[str, list[tuple[str, str]]]:
    """(title, detail) of every change, by what it is."""
    found: dict[str, list[tuple[str, str]]] = {}
    for change in project.mem("diff", *arguments, "--json").json["changes"]:
        found.setdefault(change["what"], []).append((change["title"], change["detail"]))
    return found


def test_added_retired_reinforced(project: Project) -> None:
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


def test_changed_names_keys_and_body(project: Project) -> None:
    """An edited entry is told with the keys that differ, the body among them."""
    started(project)
    path = project.root / "MEMORY.md"
    text = (
        path.read_text()
        .replace("Second body.", "Another body.")
        .replace("importance: 0.5", "importance: 0.7", 1)
    )
    path.write_text(text)
    assert told(project) == {"changed": [("One", "importance"), ("Two", "body")]}


def test_archived_merged_removed_restored(project: Project) -> None:
    """An entry that left its file is archived, merged or removed; back from the archive it is
    restored.
    """
    started(project)
    known = ids(project)
    project.mem("retire", known["One"])
    project.mem("compact", "--allow-loss")
    text = (project.root / "MEMORY.md").read_text()
    blocks = [f"---\n{block}" for block in text.split("\n---\nid: ")[1:]]
    _, three, four = (f"---\nid: {block[4:]}".rstrip("\n") + "\n\n" for block in blocks)
    merged = four.replace("status: active", f'status: active\nmerged_from: ["{known["Two"]}"]')
    project.write("MEMORY.md", text.split("---\n")[0] + merged)
    assert three and told(project) == {
        "archived": [("One", "retired")],
        "changed": [("Four", "merged_from")],
        "merged": [("Two", f"into Four (id {known['Four'][:8]})")],
        "removed": [("Three", "")],
    }
    project.commit()
    project.git("switch", "-q", "-c", "later")
    project.mem("restore", known["One"])
    assert told(project, "feature") == {"restored": [("One", "from the archive")]}


def test_jobs_tasks_and_globs(project: Project) -> None:
    """Files of jobs, tasks and of memory_files count with their level; other markdown does not."""
    project.write(".mem.toml", 'memory_files = ["packages/*/NOTES.md"]\n')
    started(project)
    for name in (
        ".mem/jobs/j/MEMORY.md", ".mem/jobs/j/tasks/c.md", ".mem/jobs/j/tasks/t/MEMORY.md",
        "packages/a/NOTES.md", "packages/a/b/NOTES.md", "docs/MEMORY.md", "README.md",
        ".sessions/20260101/MEMORY.md",
    ):  # fmt: skip
        project.write(name, project.entry(f"In {name}"))
    changes = project.mem("diff", "--json").json["changes"]
    assert {(change["path"], change["level"]) for change in changes} == {
        (".mem/jobs/j/MEMORY.md", "job"),
        (".mem/jobs/j/tasks/c.md", "job"),
        (".mem/jobs/j/tasks/t/MEMORY.md", "task"),
        (".sessions/20260101/MEMORY.md", "task"),
        ("packages/a/NOTES.md", "project"),
    }


def test_the_proxy_store_is_never_told(project: Project) -> None:
    """Even a proxy file that somebody tracks stays out of the answer."""
    started(project)
    project.write("proxy.md", project.entry("Ana likes short answers"))
    project.write("proxy-tasks/x.md", project.entry("Ana works at night"))
    project.commit()
    assert "Ana" not in project.mem("diff").out + project.mem("diff", "--format", "markdown").out


def test_text_and_markdown(project: Project) -> None:
    """Text names file, level and totals; markdown quotes what memory says in code spans alone."""
    started(project)
    project.write("tasks/x.md", project.entry("Ping @team `now` <b>loud</b>", kind="pitfall"))
    text = project.mem("diff").out
    assert text.splitlines()[0] == "tasks/x.md (project)"
    assert "  added       Ping @team `now` <b>loud</b> (pitfall, id " in text
    assert text.splitlines()[-1].endswith("working tree: 1 added")
    page = project.mem("diff", "--format", "markdown").out
    assert page.startswith(
        "### Memory: 1 added\n\n`tasks/x.md` (project)\n- added `Ping @team 'now' <b>loud</b>` ("
    )


@pytest.mark.parametrize(
    "revisions", ["nowhere", "nowhere..HEAD", "main..nowhere", "--output=x..HEAD", "HEAD:MEMORY.md"]
)
def test_an_unknown_revision_is_a_usage_error(project: Project, revisions: str) -> None:
    """It is named, exit 2, and never read as an option of git."""
    started(project)
    got = project.mem("diff", "--", revisions)
    assert (
        got.code == 2 and "unknown revision" in got.err and not (project.root / "x..HEAD").exists()
    )


def test_outside_git_and_before_the_first_commit(project: Project, tmp_path: object) -> None:
    """Without a repository, or without a commit, it says so; exit 2."""
    assert "HEAD: unknown revision" in project.mem("diff").err
    project.write("~/plain/MEMORY.md", "# Notes\n")
    got = project.mem("diff", cwd=project.home / "plain")
    assert got.code == 2 and "no git repository" in got.err


def test_a_file_that_cannot_be_read_is_named(project: Project) -> None:
    """What is no text is a problem with its line, exit 3; the other files are told."""
    started(project)
    project.write("tasks/bad.md", b"ok\n\xff\n")
    project.write("tasks/good.md", project.entry("Good"))
    got = project.mem("diff")
    assert got.code == 3 and "tasks/bad.md:2: is not UTF-8" in got.err and "Good" in got.out

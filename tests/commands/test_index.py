"""mem index: what it prints, how it exits, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Project


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder with its content and mtime."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_file_that_is_no_utf8_is_named_and_the_rest_indexed(project: Project) -> None:
    """Exit 3 with path and line, each time; recall answers with one line that points to the doctor."""
    project.write("MEMORY.md", project.entry("Zebra", "Stripes."))
    project.write("tasks/bad.md", b"one\ntwo\n\xff three\n")
    for _ in range(2):
        done = project.mem("index")
        assert done.code == 3
        assert "tasks/bad.md:3: is not UTF-8 text (byte 8)" in done.err.splitlines()
    recall = project.mem("recall", "zebra", "--json")
    assert (recall.code, recall.json["hits"][0]["title"]) == (0, "Zebra")
    assert recall.err == "mem: 1 problem in the memory files: mem doctor\n"
    assert project.mem("index", "--check").code == 3, "not stale, but not whole either"
    assert project.mem("index", "--check").out == ""
    project.write("tasks/bad.md", project.entry("Mended"))
    assert project.mem("index").code == 0


def test_a_defaulted_value_is_named_and_is_no_failure(project: Project) -> None:
    """Exit 0; the line is that of the value, in every run and in --json."""
    text = project.entry("Zebra", "Stripes.", importance="very", type="poem")
    project.write("MEMORY.md", text)
    line = text.split("\n").index("importance: very") + 1
    for _ in range(2):
        done = project.mem("index", "--json")
        assert done.code == 0
        assert [p["path"] for p in done.json["problems"]] == ["MEMORY.md"] * 2
        assert line in [p["line"] for p in done.json["problems"]]
        assert f"MEMORY.md:{line}: " in done.err
    recall = project.mem("recall", "zebra")
    assert (recall.code, recall.err) == (0, "mem: 2 problems in the memory files: mem doctor\n")


def test_check_says_what_is_stale_and_writes_nothing(project: Project, world: Path) -> None:
    """Changed, new and gone files by name; exit 1; every byte and mtime stays, in the tree and
    outside.
    """
    project.write("MEMORY.md", project.entry("One"))
    project.write("tasks/gone.md", project.entry("Two"))
    done = project.mem("index", "--check")
    assert (done.code, done.out) == (1, "MEMORY.md\ntasks/gone.md\n")
    assert not (project.root / ".memory.db").exists()
    project.mem("index")
    assert project.mem("index", "--check").code == 0
    project.write("MEMORY.md", project.entry("Changed"))
    (project.root / "tasks/gone.md").unlink()
    project.write("tasks/new.md", project.entry("Three"))
    before = snapshot(project.root), snapshot(world)
    done = project.mem("index", "--check")
    assert (done.code, sorted(done.out.split())) == (
        1,
        ["MEMORY.md", "tasks/gone.md", "tasks/new.md"],
    )
    assert project.mem("index", "--check", "--json").json["stale"]
    assert (snapshot(project.root), snapshot(world)) == before


def test_check_of_a_touched_file_is_fresh(project: Project) -> None:
    """Another mtime alone is no change."""
    path = project.write("MEMORY.md", project.entry("One"))
    project.mem("index")
    path.write_bytes(path.read_bytes())
    assert project.mem("index", "--check").code == 0


def test_check_of_a_damaged_index_leaves_it_where_it_is(project: Project) -> None:
    """Noise, a foreign file, a folder: exit 1, a note, nothing moved."""
    project.write("MEMORY.md", project.entry("One"))
    path = project.root / ".memory.db"
    for content in (b"noise " * 1000, b""):
        path.write_bytes(content)
        done = project.mem("index", "--check")
        assert (done.code, done.out) == (1, "MEMORY.md\n")
        assert "mem index builds it anew" in done.err
        assert path.read_bytes() == content
    path.unlink()
    path.mkdir()
    assert project.mem("index", "--check").code == 1
    assert sorted(p.name for p in project.root.iterdir()) == [".git", ".memory.db", "MEMORY.md"]


def test_rebuild_reads_every_file_again(project: Project) -> None:
    """Even those that look unchanged; the answer says how many."""
    project.write("MEMORY.md", project.entry("One"))
    project.write("tasks/a.md", project.entry("Two"))
    project.mem("index")
    assert project.mem("index", "--json").json["changed"] == 0
    done = project.mem("index", "--rebuild", "--json")
    assert (done.code, done.json["changed"], len(done.json["files"])) == (0, 2, 2)


def test_json_lists_every_file_with_its_place(project: Project) -> None:
    """Level, store, entries; version 1; stdout is JSON alone."""
    project.write("MEMORY.md", "# Heading\n\nProse.\n\n" + project.entry("One"))
    project.write("~/institutional.md", "Norms.\n")
    found = project.mem("index", "--json").json
    assert found["version"] == 1
    kept = [{k: f[k] for k in ("path", "level", "store", "entries")} for f in found["files"]]
    assert kept == [
        {"path": "MEMORY.md", "level": "project", "store": "memory", "entries": 2},
        {"path": "~/institutional.md", "level": "global", "store": "institutional", "entries": 1},
    ]


def test_it_works_as_a_program(project: Project) -> None:
    """The installed program in a process of its own, from a subdirectory."""
    project.write("MEMORY.md", project.entry("Zebra", "Stripes."))
    below = project.root / "src"
    below.mkdir()
    assert project.shell("index", cwd=below).code == 0
    assert "Zebra" in project.shell("recall", "zebra", cwd=below).out
    assert project.shell("index", "--check", cwd=below).code == 0
    assert project.shell("index", "--quiet", cwd=below) == (0, "", "")


# --- vectors


@pytest.mark.usefixtures("vectors")
def test_it_says_how_many_vectors_there_are_and_of_which_model(project: Project) -> None:
    """In words and in JSON; without an embedder nothing is said of vectors."""
    project.write("MEMORY.md", project.entry("A") + project.entry("B", embed=False))
    assert "1 vector (local/wordllama-256)" in project.mem("index").out
    assert project.mem("index", "--json").json["vectors"] == {
        "model": "local/wordllama-256", "have": 1, "chosen": 1, "failed": "", "hint": "",
    }  # fmt: skip
    without = project.mem("index", "--json", "--set", "embedder=none")
    assert without.json["vectors"] is None
    assert " vectors (" not in project.mem("index", "--set", "embedder=none").err


def test_an_embedder_that_cannot_work_is_exit_4_and_the_index_is_up_to_date(
    project: Project,
) -> None:
    """A missing key is named, with what to do; --json says the same."""
    project.write("MEMORY.md", project.entry("A"))
    got = project.mem("index", "--json", env={"MEM_EMBEDDER": "openai"})
    assert got.code == 4
    assert "OPENAI_API_KEY" in got.err
    assert got.json["vectors"]["failed"]
    assert (got.json["vectors"]["have"], got.json["vectors"]["chosen"]) == (0, 1)
    assert project.mem("index", "--check").code == 0

"""mem index --shared: what is sent, what is not, and what a change costs."""

import pytest

from tests.conftest import Project
from tests.postgres.conftest import TABLES, found, push


def three(project):
    return "".join(
        project.entry(title, body)
        for title, body in (
            ("Herds", "zebra crossing"),
            ("Birds", "heron and zebra"),
            ("Fish", "a lonely pike"),
        )
    )


def test_a_push_makes_a_project_findable(project, shared):
    """What was pushed is found from anywhere, with its project and its page at the
    commit."""
    project.memory("# Memory\n\n" + three(project))
    project.git("remote", "add", "origin", "git@github.com:acme/zoo.git")
    push(project)
    commit = project.git("rev-parse", "HEAD").strip()
    [hit] = project.mem("recall", "--shared", "--json", "pike", cwd=project.home).hits
    line = (
        project.root.joinpath("MEMORY.md").read_text().split("\n").index("## Fish") + 1
    )
    assert (hit["title"], hit["project"], hit["path"]) == (
        "Fish",
        "acme/zoo",
        "MEMORY.md",
    )
    assert hit["line"] == line
    assert hit["url"] == f"https://github.com/acme/zoo/blob/{commit}/MEMORY.md#L{line}"
    shared.check()


def test_a_push_of_nothing_new_writes_nothing(project, shared):
    """Pushing twice is pushing once: no row is touched."""
    project.memory(three(project))
    push(project)
    before = {table: shared.versions(table) for table in TABLES}
    assert "up to date: 127.0.0.1" in project.mem("index", "--shared").out
    assert {table: shared.versions(table) for table in TABLES} == before


def test_an_edit_changes_the_rows_of_its_entry_alone(project, shared):
    """Entries behind the edited one have moved by a line, and their rows are as they
    were."""
    text = three(project)
    project.memory(text)
    project.write("tasks/other.md", project.entry("Else", "nothing here"))
    push(project)
    chunks = shared.versions("chunks")
    files = shared.versions("files")
    project.memory(text.replace("zebra crossing", "zebra crossing\n\nwith a keeper"))
    push(project)
    now = shared.versions("chunks")
    [(edited,)] = shared.rows("SELECT entry FROM mem.chunks WHERE title = 'Herds'")
    assert [entry for entry in now if now[entry] != chunks[entry]] == [edited]
    assert {
        path for path, xmin in shared.versions("files").items() if xmin != files[path]
    } == {"MEMORY.md"}
    shared.check()


def test_what_leaves_the_files_leaves_the_index(project, shared):
    """Removed entries and removed files are gone after the next push, with what they
    counted for."""
    text = three(project)
    project.memory(text)
    project.write("tasks/other.md", project.entry("Else", "okapi"))
    push(project)
    project.memory(text[: text.index("---\nid", 10)])
    (project.root / "tasks" / "other.md").unlink()
    push(project)
    assert shared.rows("SELECT title FROM mem.chunks") == [("Herds",)]
    assert "okapi" not in shared.dump()
    shared.check()


def test_what_is_not_for_others_stays(project, shared):
    """Proxy stores, the global level, private parts, credentials."""
    for path, marker in {
        "~/MEMORY.md": "marker-global",
        "proxy.md": "marker-proxy",
        "proxy.archive.md": "marker-old-proxy",
        "proxy-tasks/p.md": "marker-proxy-task",
        ".mem/jobs/j/MEMORY.md": "marker-ignored",
    }.items():
        project.write(path, project.entry("Not for others", marker))
    project.write(".gitignore", ".mem/\n")
    spanning = (
        project.entry("Half", "public words\n\n<private>\nmarker-span-one")
        + project.entry("Other half", "marker-span-two\n</private>")
        + project.entry(
            "Tagged <private>marker-title</private>",
            "x",
            tags=["<private>marker-tag</private>"],
        )
        + project.entry(
            "Key", "the token is ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
        )
    )
    project.memory(
        spanning
        + "\n# Prose\n\n<private>marker-prose</private> kept\n\n<private>marker-open\n"
    )
    push(project, "--archived")
    dumped = shared.dump()
    assert "public words" in dumped and "kept" in dumped
    assert "marker" not in dumped
    assert "A1b2C3d4E5f6" not in dumped


def test_archives_are_sent_only_when_asked_for(project, shared):
    """--archived sends them, and a push without it takes them out again."""
    project.remembers("New", "zebra")
    project.write(
        "MEMORY.archive.md", project.entry("Old", "zebra of old", status="retired")
    )
    push(project)
    assert "zebra of old" not in shared.dump()
    push(project, "--archived")
    assert found(project, "zebra") == ["New"]
    assert set(found(project, "zebra", "--archived")) == {"New", "Old"}
    push(project)
    assert "zebra of old" not in shared.dump()


def test_a_project_is_its_first_commit_and_path(project, shared, tmp_path):
    """A clone under another name is the same project."""
    project.remembers("Top", "zebra")
    project.write("sub/MEMORY.md", project.entry("Sub", "heron"))
    push(project)
    project.ok("index", "--shared", "--root", str(project.root / "sub"))
    project.git("clone", "-q", str(project.root), str(tmp_path / "elsewhere"))
    clone = Project(tmp_path / "elsewhere", project.home)
    clone.git("config", "user.email", "t@e.org")
    clone.git("config", "user.name", "T")
    clone.memory(clone.entry("Changed", "okapi"))
    push(clone)
    paths = shared.rows(
        "SELECT path, array_agg(title) FROM mem.projects p"
        " JOIN (SELECT project, title FROM mem.chunks) c USING (project)"
        " GROUP BY path ORDER BY path"
    )
    assert paths == [(".", ["Changed"]), ("sub", ["Sub"])]


@pytest.mark.parametrize("staged", [False, True])
def test_only_what_is_committed_is_sent(project, shared, staged):
    """A hit's page must say what the hit says: a changed file is refused, and nothing
    is written."""
    project.remembers("Herds", "zebra")
    project.commit()
    project.remembers("Herds", "changed")
    if staged:
        project.git("add", "-A")
    result = project.mem("index", "--shared")
    assert (result.code, "MEMORY.md differs from what is committed" in result.err) == (
        5,
        True,
    )
    assert shared.rows("SELECT * FROM mem.projects") == []


def test_a_shallow_clone_is_refused(project, shared, tmp_path):
    """Without the first commit a project has no identity: exit 2, with the command that
    helps."""
    project.remembers("Herds", "zebra")
    project.commit()
    project.commit("second")
    project.git(
        "clone",
        "-q",
        "--depth",
        "1",
        f"file://{project.root}",
        str(tmp_path / "shallow"),
    )
    result = Project(tmp_path / "shallow", project.home).mem("index", "--shared")
    assert (result.code, "git fetch --unshallow" in result.err) == (2, True)


def test_vectors_are_sent_with_their_model(project, shared, vectors, monkeypatch):
    """Each vector has its model and dimension beside it; what was pushed without one
    gets it later."""
    project.memory(three(project) + project.entry("Old", "retired", status="retired"))
    monkeypatch.setenv("MEM_EMBEDDER", "none")
    push(project)
    assert shared.rows("SELECT DISTINCT model, dim FROM mem.chunks") == [("", 0)]
    monkeypatch.setenv("MEM_EMBEDDER", "local")
    push(project)
    counted = shared.rows(
        "SELECT model, dim, count(*), count(vector) FROM mem.chunks"
        " GROUP BY 1, 2 ORDER BY 1"
    )
    assert counted == [("", 0, 1, 0), ("local/mem-256-2", 256, 3, 3)]
    assert shared.rows("SELECT model, dim FROM mem.projects") == [
        ("local/mem-256-2", 256)
    ]


def test_the_words_of_any_script_are_the_local_ones(project, shared, other):
    """Identifiers, accents."""
    bodies = [
        "cartExpiry and snake_case_name in src/utils/dates.py",
        "Überraschung in der Küche, naïve café",
        "購物車的到期時間要凍結",
        "カートの有効期限",
        "it's a back\\slash 'quoted' word",
        "a.b/c::d#e",
        "x" * 3000 + " long",
    ]
    project.memory(
        *(project.entry(f"T{number}", body) for number, body in enumerate(bodies))
    )
    push(project)
    tasks = (
        "cart;snake case;utils/dates;uberraschung;到期;購;有効;back\\slash;it's;long"
    )
    for task in tasks.split(";"):
        local = project.mem("recall", "--ranked", "--json", task).hits
        assert found(project, task) == [hit["title"] for hit in local], task


def test_a_long_entry_stays_whole(project, shared):
    """Its parts follow the first one when that changes, and are shown together."""
    lines = [f"line {number} of the manual of herons" for number in range(200)]
    project.remembers("Manual", "\n".join(lines), id="manual")
    push(project)
    lines[0] = "a new beginning"
    project.remembers("Manual", "\n".join(lines), id="manual")
    push(project)
    shared.check()
    assert shared.rows("SELECT count(*) > 3, count(DISTINCT head) FROM mem.chunks") == [
        (True, 1)
    ]
    answer = project.mem(
        "recall", "--shared", "--json", "--max-tokens", "0", "heron 150"
    )
    [hit] = answer.hits
    assert "a new beginning" in hit["text"] and "line 199" in hit["text"]


def test_a_bullet_is_shown_with_what_it_stands_among(project, shared):
    """As locally: prose in bullets is found one by one and shown together."""
    bullets = "- herons fish at dawn\n- zebras graze at noon\n- owls hunt at night\n"
    project.memory(f"# Animals\n\n{bullets}")
    push(project)
    local = project.mem("recall", "--ranked", "--json", "zebras").hits
    [hit] = project.mem("recall", "--shared", "--json", "zebras").hits
    assert hit["text"] == local[0]["text"]
    assert "owls hunt at night" in hit["text"]


def test_a_project_that_is_taken_out_leaves_nothing(project, shared):
    """One statement takes it out, and the next push brings it back."""
    project.memory(three(project))
    push(project)
    shared.do("DELETE FROM mem.projects WHERE name = 'repo'")
    assert shared.dump() == ""
    push(project)
    assert found(project, "pike") == ["Fish"]

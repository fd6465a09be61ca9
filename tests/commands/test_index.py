"""mem index: what it prints, how it exits, and what it leaves alone."""


def snapshot(folder):
    """Every file below a folder with its content and mtime."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_check_says_what_is_stale_and_writes_nothing(project, world):
    """Changed, new and gone files by name; exit 1; every byte and mtime stays, in the
    tree and outside."""
    project.remembers("One")
    project.write("tasks/gone.md", project.entry("Two"))
    result = project.mem("index", "--check")
    assert (result.code, result.out) == (1, "MEMORY.md\ntasks/gone.md\n")
    assert not project.has(".memory.db")
    project.mem("index")
    project.ok("index", "--check")
    project.remembers("Changed")
    (project.root / "tasks/gone.md").unlink()
    project.write("tasks/new.md", project.entry("Three"))
    before = snapshot(project.root), snapshot(world)
    result = project.mem("index", "--check")
    assert (result.code, sorted(result.out.split())) == (
        1,
        ["MEMORY.md", "tasks/gone.md", "tasks/new.md"],
    )
    assert project.mem("index", "--check", "--json").json["stale"]
    assert (snapshot(project.root), snapshot(world)) == before


def test_json_lists_every_file_with_its_place(project):
    """Level, store, entries; version 1; stdout is JSON alone."""
    project.memory("# Heading\n\nProse.\n\n", project.entry("One"))
    project.write("~/institutional.md", "Norms.\n")
    found = project.mem("index", "--json").json
    assert found["version"] == 1
    assert found["sparse_only"]
    assert "sparse-only" in project.mem("index").out
    assert "sparse-only" in project.mem("health").out
    kept = [
        {k: f[k] for k in ("path", "level", "store", "entries")} for f in found["files"]
    ]
    assert kept == [
        {"path": "MEMORY.md", "level": "project", "store": "memory", "entries": 2},
        {
            "path": "~/institutional.md",
            "level": "global",
            "store": "institutional",
            "entries": 1,
        },
    ]


def test_an_embedder_that_cannot_work_is_exit_4_and_the_index_is_up_to_date(project):
    """A missing key is named, with what to do; --json says the same."""
    project.remembers("A")
    result = project.ends(4, "index", "--json", env={"MEM_EMBEDDER": "openai"})
    assert "OPENAI_API_KEY" in result.err
    assert result.json["vectors"]["failed"]
    assert (result.json["vectors"]["have"], result.json["vectors"]["chosen"]) == (0, 1)
    project.ok("index", "--check")

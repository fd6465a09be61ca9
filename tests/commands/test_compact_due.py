"""`mem compact --due`: all that is due in one write, and nothing the second time."""

from memcli.commands import compact


def tree(project):
    paths = [path for path in project.root.rglob("*") if ".git" not in path.parts]
    return {
        str(path): path.read_bytes()
        for path in paths
        if path.is_file() and not path.name.startswith(".memory.db")
    }


def filled(project):
    """Two near-duplicates, a retired, a stale and an ended entry, and what three jobs
    learned."""
    body = "Run the database migrations before the tests start, else they hang."
    project.memory(
        project.entry("Migrations first", body, id="a", phase="unknown")
        + project.entry("Migrations first", body, id="b", phase="unknown")
        + project.entry("Old way", "It was so.", id="gone", status="retired")
        + project.entry(
            "A trifle",
            "Of no weight.",
            id="stale",
            importance=0.1,
            created_at="2025-01-01",
            last_reinforced="2025-01-01",
        )
        + project.entry(
            "Draft the schema", "On paper.", id="draft", phase="design", domain="task"
        )
        + "".join(
            project.entry(
                f"Lasting {number}",
                f"Word{number} stays here for good.",
                id=f"k{number}",
            )
            for number in range(4)
        )
    )
    for job in ("one", "two", "three"):
        text = project.entry(
            "Ports",
            "The staging server listens on the metrics port only.",
            id=f"p-{job}",
            session_id=f"s-{job}",
        )
        project.write(f".mem/jobs/{job}/MEMORY.md", text)
    project.write(".current-stage", "design\n")
    project.write("INTENT.md", "# Shop\n\nStage: implementation\n")
    return project


def test_all_that_is_due_is_done_at_once_and_once(project):
    """Merged, retired, stale, promoted, the stage ended: each named; the second run
    changes no byte."""
    filled(project)
    before = tree(project)
    project.ends(1, "compact", "--due", "--check")
    shown = project.ok("compact", "--due", "--dry-run")
    assert tree(project) == before, shown.err
    result = project.ok("compact", "--due")
    for words in (
        "merged",
        "retired",
        "stale",
        "promoted",
        "implementation now, design ended",
    ):
        assert words in result.out, (words, result.out)
    text = project.read()
    kept = project.read("MEMORY.archive.md")
    for name in ("gone", "stale", "draft"):
        assert f"id: {name}\n" not in text
        assert f"id: {name}\n" in kept
    assert "promoted_from" in text
    assert "stage design" in kept
    assert project.read(".current-stage") == "implementation\n"
    after = tree(project)
    assert (project.mem("compact", "--due").code, tree(project)) == (0, after)
    project.ok("compact", "--due", "--check")
    project.ok("undo")
    assert tree(project).items() >= before.items()


def test_nothing_is_done_in_the_middle_of_a_conflict(project):
    """Exit 5, no byte changed; and what would lose too much is left and named."""
    filled(project)
    (project.root / ".mem/jobs/one/MEMORY.md").write_text(
        "<<<<<<< a\n# M\n=======\n# N\n>>>>>>> b\n"
    )
    before = tree(project)
    project.ends(5, "compact", "--due")
    assert tree(project) == before


def test_a_renamed_file_is_followed(project):
    """In `paths` and the code spans of what mem wrote, once; what a person edited is
    left."""
    project.write("src/cart.py", "def total_of(cart):\n    return sum(cart)\n" * 9)
    entry = project.entry(
        "Cart", "Totals are made in `src/cart.py` alone.", paths=["src/cart.py"]
    )
    project.memory(entry)
    project.commit()
    project.git("mv", "src/cart.py", "src/basket.py")
    project.commit()
    result = project.ok("compact", "--due")
    assert "src/cart.py is src/basket.py now" in result.out, result
    text = project.read()
    assert "paths: [src/basket.py]" in text
    assert "`src/basket.py` alone" in text
    before = tree(project)
    project.ok("compact", "--due")
    assert tree(project) == before
    project.ok("undo")
    assert "`src/cart.py`" in project.read()


def test_what_another_writer_changed_meanwhile_is_looked_at_again(project, monkeypatch):
    """A session's worker ended the stage after this run had looked: the rest is done."""
    filled(project)
    renamed = compact.renamed_files
    looks = []

    def slow(app):
        looks.append(app)
        project.write(".current-stage", "implementation\n")
        return renamed(app)

    monkeypatch.setattr(compact, "renamed_files", slow)
    result = project.ok("compact", "--due")
    assert "merged" in result.out, result.err
    assert len(looks) == 2
    assert "ended" not in result.out
    assert project.read(".current-stage") == "implementation\n"

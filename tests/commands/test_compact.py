"""mem compact: small, true, and nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

from memcli.memory.parser import parse
from tests.conftest import Project

A = "Freeze the clock in every cart test, because the cart expires at midnight and the build runs at night."
A2 = "Freeze the clock in every cart test because the cart expires at midnight, and the build runs at night!"
B = A.replace("Freeze", "Never freeze")


def ids(path: Path) -> list[str]:
    return [entry.id for entry in parse(path.read_text(encoding="utf-8"), path.name).entries]


def by_id(path: Path) -> dict[str, object]:
    return {entry.id: entry for entry in parse(path.read_text(encoding="utf-8"), path.name).entries}


def test_near_duplicates_become_one_entry_and_the_originals_are_archived(project: Project) -> None:
    """The more important keeps its id; the larger count, the later date, the earliest creation
    survive.
    """
    project.write(
        "MEMORY.md",
        project.entry(
            "Clock", A, id="a", importance=0.9, reinforcement_count=1, created_at="2026-05-01"
        )
        + project.entry(
            "Clock",
            A2,
            id="b",
            reinforcement_count=7,
            last_reinforced="2026-10-01",
            created_at="2026-02-01",
        ),
    )
    done = project.mem("compact")
    assert done.code == 0 and "merged b into a" in done.out and not done.err
    (entry,) = parse((project.root / "MEMORY.md").read_text(), "x").entries
    assert (entry.id, entry.status, entry.importance) == ("a", "compacted", 0.9)
    assert (entry.reinforcement_count, entry.last_reinforced) == (7, "2026-10-01")
    assert (entry.created_at, entry.extra["merged_from"]) == ("2026-02-01", ["b"])
    (gone,) = parse((project.root / "MEMORY.archive.md").read_text(), "x").entries
    assert gone.id == "b" and A2 in gone.body
    assert gone.extra["archived_because"] == "merged" and gone.extra["archived_from"] == "MEMORY.md"


def test_entries_of_other_types_jobs_levels_and_stores_are_never_merged(project: Project) -> None:
    """Equal texts stay where they stand when type, domain, job, level or store differ."""
    project.write(
        "MEMORY.md",
        project.entry("Clock", A, id="p", type="directive")
        + project.entry("Clock", A, id="q", type="corrective")
        + project.entry("Clock", A, id="r", type="directive", domain="task"),
    )
    project.write(".mem/jobs/one/MEMORY.md", project.entry("Clock", A, id="j1", type="directive"))
    project.write(".mem/jobs/two/MEMORY.md", project.entry("Clock", A, id="j2", type="directive"))
    project.write(
        ".mem/jobs/one/tasks/t/MEMORY.md", project.entry("Clock", A, id="t", type="directive")
    )
    project.write("institutional.md", project.entry("Clock", A, id="i", type="directive"))
    done = project.mem("compact", "--check")
    assert (done.code, done.out, done.err) == (0, "nothing to compact\n", "")
    project.write("MEMORY.md", project.entry("Gone", A, id="gone", status="retired"))
    done = project.mem("compact", "--check")
    assert (done.code, done.err) == (1, "") and "archived gone, retired: Gone" in done.out


def test_retired_entries_leave_for_the_archive(project: Project) -> None:
    """They are found with --archived alone, and why they left is written down."""
    project.write(
        "MEMORY.md",
        project.entry("Old", "Zebra words.", id="x", status="retired") + project.entry(),
    )
    assert project.mem("compact").code == 0
    (gone,) = parse((project.root / "MEMORY.archive.md").read_text(), "x").entries
    assert (gone.extra["archived_at"], gone.extra["archived_because"]) == ("2026-11-21", "retired")
    assert project.mem("recall", "zebra", "--ranked", "--exit-code").code == 1
    assert project.mem("recall", "zebra", "--ranked", "--archived", "--exit-code").code == 0


def test_the_loss_guard_refuses_until_told(project: Project) -> None:
    """More than a quarter of four or more live entries may not leave without a survivor."""
    old = {"created_at": "2025-01-01", "importance": 0.1}
    words = ("alpha", "beta", "gamma", "delta")
    text = "".join(project.entry(w, f"{w} {w}.", **(old if w != "delta" else {})) for w in words)
    project.write("MEMORY.md", text)
    refused = project.mem("compact", "--stale")
    assert (
        refused.code == 5 and "3 of 4 live entries" in refused.err and "--allow-loss" in refused.err
    )
    assert (project.root / "MEMORY.md").read_text() == text
    assert not (project.root / "MEMORY.archive.md").exists()
    assert project.mem("compact", "--stale", "--allow-loss").code == 0
    assert len(ids(project.root / "MEMORY.archive.md")) == 3


def test_what_recurs_in_three_jobs_is_promoted_once(project: Project) -> None:
    """The copy knows its sources, they know it, and a second run writes nothing."""
    for i, job in enumerate(("one", "two", "three")):
        project.write(
            f".mem/jobs/{job}/MEMORY.md", project.entry("Clock", A, id=f"s{i}", type="corrective")
        )
    project.write("MEMORY.md", "# Memory\n")
    done = project.mem("compact", "--promote")
    assert done.code == 0, done.err
    (entry,) = parse((project.root / "MEMORY.md").read_text(), "x").entries
    assert entry.extra["promoted_from"] == ["s0", "s1", "s2"] and entry.type == "corrective"
    source = by_id(project.root / ".mem/jobs/one/MEMORY.md")["s0"]
    assert source.extra["promoted_to"] == [entry.id]  # type: ignore[attr-defined]
    before = {path: path.read_bytes() for path in project.root.rglob("*.md")}
    assert project.mem("compact", "--promote").code == 0
    assert {path: path.read_bytes() for path in project.root.rglob("*.md")} == before
    (hit,) = project.mem("recall", "freeze the clock", "--ranked", "--json").json["hits"]
    assert hit["id"] == entry.id and sorted(hit["duplicates"]) == ["s0", "s1", "s2"]


def test_adopt_puts_front_matter_before_sections_and_changes_nothing_else(project: Project) -> None:
    """Taking the inserted blocks out again gives the old file, and the ids are those of the
    sections.
    """
    prose = "# Memory\r\n\r\nFree words.\r\n\r\n## [2026-03-02] Ports\r\nThe API is on 8080.\r\n"
    path = project.write("MEMORY.md", prose.encode())
    known = {row["id"] for row in project.mem("list", "--json").json["entries"]}
    assert project.mem("compact", "--check").code == 0
    assert project.mem("compact", "--adopt").code == 0
    text = path.read_bytes().decode()
    assert re.sub(r"---\r\nid: .*?\r\n---\r\n", "", text, flags=re.DOTALL) == prose
    entries = parse(text, "MEMORY.md").entries
    assert {entry.id for entry in entries} == known and entries[1].created_at == "2026-03-02"
    assert project.mem("compact", "--adopt", "--check").code == 0


def test_a_second_run_writes_nothing(project: Project) -> None:
    """Everything at once, twice: the second time there is nothing to do."""
    for i, job in enumerate(("one", "two", "three")):
        project.write(f".mem/jobs/{job}/MEMORY.md", project.entry("Clock", A, id=f"s{i}"))
    project.write(
        "MEMORY.md",
        "# Memory\n\nprose words\n\n"
        + project.entry("Clock", A, id="a", status="retired")
        + project.entry("x", B, id="b")
        + project.entry("x", B + " Ok.", id="c"),
    )
    wanted = ("compact", "--adopt", "--promote", "--stale", "--contradictions", "decay")
    assert project.mem(*wanted).code == 0
    before = {path: path.read_bytes() for path in project.root.rglob("*.md")}
    assert project.mem(*wanted).code == 0
    assert {path: path.read_bytes() for path in project.root.rglob("*.md")} == before
    assert project.mem(*wanted, "--check").code == 0


def test_a_file_that_cannot_be_used_is_named_and_the_rest_is_done(project: Project) -> None:
    """Not UTF-8, conflict markers, a link out of the root: exit 3, untouched, the others compacted."""
    bad = project.write("tasks/bad.md", b"\xff\xfe")
    conflict = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    conflicted = project.write("tasks/conflict.md", project.entry(status="retired") + conflict)
    outside = project.root.parent / "outside.md"
    outside.write_text(project.entry(status="retired"))
    (project.root / "tasks/link.md").symlink_to(outside)
    project.write("MEMORY.md", project.entry(status="retired"))
    before = conflicted.read_bytes(), outside.read_bytes()
    done = project.mem("compact")
    assert done.code == 3 and bad.read_bytes() == b"\xff\xfe"
    assert "tasks/bad.md:1:" in done.err and "tasks/link.md" in done.err
    assert "conflict markers" in done.err
    assert (conflicted.read_bytes(), outside.read_bytes()) == before
    assert ids(project.root / "MEMORY.archive.md")


def test_dry_run_prints_the_diff_alone_and_git_takes_it(project: Project) -> None:
    """The diff of --dry-run, applied by git, gives what compact writes."""
    project.write(
        "MEMORY.md",
        project.entry("Clock", A, id="a") + project.entry("x", A2, id="b", status="retired"),
    )
    project.commit()
    diff = project.mem("compact", "--dry-run")
    assert diff.code == 0 and not (project.root / "MEMORY.archive.md").exists()
    (project.root.parent / "d.diff").write_text(diff.out, newline="")
    project.git("apply", str(project.root.parent / "d.diff"))
    applied = {path.name: path.read_bytes() for path in project.root.glob("*.md")}
    project.git("checkout", "-q", "--", ".")
    (project.root / "MEMORY.archive.md").unlink()
    assert project.mem("compact").code == 0
    assert {path.name: path.read_bytes() for path in project.root.glob("*.md")} == applied


def test_one_section_of_prose_is_adopted_alone(project: Project) -> None:
    """Its neighbours stay prose; what lies in a found place is copied into the project's file."""
    text = "# Notes\n\n## Ports\nThe API is on 8080.\n\n## Other\nStays as it is.\n"
    project.write("MEMORY.md", text)
    project.write("memory/topics.md", "# Topics\n\n## Deploy\nOnly on Mondays.\n")
    assert project.mem("compact", "--adopt", "MEMORY.md#Ports").code == 0
    after = (project.root / "MEMORY.md").read_text()
    assert after.count("\ntype:") == 1 and after.endswith("## Other\nStays as it is.\n")
    found = (project.root / "memory/topics.md").read_bytes()
    assert project.mem("compact", "--adopt", "memory/topics.md#Deploy").code == 0
    assert (project.root / "memory/topics.md").read_bytes() == found
    after = (project.root / "MEMORY.md").read_text()
    assert after.count("\ntype:") == 2 and "Only on Mondays." in after
    assert project.mem("compact", "--adopt", "MEMORY.md#Nothing").code == 2


def test_reinforce_on_prose_says_what_to_do_instead(project: Project) -> None:
    """The command it names works."""
    project.write("MEMORY.md", "# Notes\n\n## Ports\nThe API is on 8080.\n")
    name = project.mem("list").out.split()[0]
    done = project.mem("reinforce", name)
    assert done.code == 3 and "mem compact --adopt 'MEMORY.md#Ports'" in done.err, done.err


def test_proxy_entries_are_never_promoted(project: Project) -> None:
    """One person's manner stays where it is."""
    for i in range(3):
        project.write(
            f"proxy-tasks/{i}.md", project.entry("Tone", A, id=f"p{i}", session_id=f"s{i}")
        )
    project.write("MEMORY.md", "# Memory\n")
    project.mem("compact", "--promote")
    assert (project.root / "MEMORY.md").read_text() == "# Memory\n"


def test_another_work_tree_is_not_written(project: Project) -> None:
    """A task's worktree with a `.git` of its own changes only from inside, or when named."""
    project.write("MEMORY.md", project.entry("x", A))
    inner = project.write(
        ".mem/jobs/j/tasks/t/worktree/MEMORY.md", project.entry("y", B, id="w", status="retired")
    )
    (inner.parent / ".git").mkdir()
    assert project.mem("compact").code == 0 and ids(inner) == ["w"]
    assert project.mem("compact", "--task", "t").code == 0 and ids(inner) == []

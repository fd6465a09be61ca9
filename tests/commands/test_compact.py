"""mem compact: small, true, and nothing is lost."""

import re

import pytest

from memcli.memory.grammar import derived_id
from memcli.memory.parser import parse
from tests.commands.test_compact_llm import entries as by_id

A = "Freeze the clock in every cart test, because carts expire at midnight and builds run at night."
A2 = "Freeze the clock in every cart test because carts expire at midnight, and builds run at night!"
B = A.replace("Freeze", "Never freeze")
CONFLICT = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
OLD = {"created_at": "2025-01-01", "importance": 0.1}


def texts(project):
    return {str(path): path.read_bytes() for path in project.root.rglob("*.md")}


def fill(project, *entries, path="MEMORY.md"):
    return project.write(path, "".join(entries))


def test_near_duplicates_become_one_entry_and_the_originals_are_archived(project):
    """The more important keeps its id; larger count, later use, earliest creation
    survive, and all tags, those of the survivor first."""
    used = {
        "reinforcement_count": 7,
        "last_reinforced": "2026-10-01",
        "created_at": "2026-02-01",
    }
    best = {"importance": 0.9, "created_at": "2026-05-01", "tags": ["cart"]}
    other = {**used, "tags": ["time", "cart"], "paths": ["cart/*"]}
    first = project.entry("Clock", A, id="a", **best)
    fill(project, first, project.entry("Clock", A2, id="b", **other))
    result = project.ok("compact")
    assert "merged b into a" in result.out
    assert not result.err
    (entry,) = by_id(project).values()
    assert (entry.id, entry.status, entry.importance) == ("a", "compacted", 0.9)
    assert (entry.reinforcement_count, entry.last_reinforced) == (7, "2026-10-01")
    assert (entry.created_at, entry.extra["merged_from"]) == ("2026-02-01", ["b"])
    assert (entry.extra["tags"], entry.extra["paths"]) == (["cart", "time"], ["cart/*"])
    (gone,) = by_id(project, "MEMORY.archive.md").values()
    assert gone.id == "b"
    assert A2 in gone.body
    assert gone.extra["archived_because"] == "merged"
    assert gone.extra["archived_from"] == "MEMORY.md"


def test_duplicates_merge_across_the_files_of_one_level(project):
    """A survivor that takes the longer body is archived as it was, beside its own
    file."""
    fill(project, project.entry("Clock", A2 + " This holds.", id="a", importance=0.4))
    fill(
        project, project.entry("Clock", A, id="b", importance=0.6), path="tasks/cart.md"
    )
    project.ok("compact")
    assert not by_id(project)
    assert set(by_id(project, "MEMORY.archive.md")) == {"a"}
    assert "This holds." in by_id(project, "tasks/cart.md")["b"].body
    assert set(by_id(project, "tasks/cart.archive.md")) == {"b"}


def test_entries_of_other_types_jobs_levels_and_stores_are_never_merged(project):
    """Equal texts stay where they stand when type, domain, job, level or store
    differ."""

    def entry(type="directive", **values):
        return project.entry("Clock", A, type=type, **values)

    fill(project, entry(), entry("corrective"), entry(domain="task"))
    for name in (".mem/jobs/one/", ".mem/jobs/two/", ".mem/jobs/one/tasks/t/"):
        fill(project, entry(), path=f"{name}MEMORY.md")
    fill(project, entry(), path="institutional.md")
    result = project.mem("compact", "--check")
    assert (result.code, result.out, result.err) == (0, "nothing to compact\n", "")
    fill(project, project.entry("Gone", A, id="gone", status="retired"))
    result = project.mem("compact", "--check")
    assert (result.code, result.err) == (
        1,
        "",
    )
    assert "archived gone, retired: Gone" in result.out


def test_opposites_stay_apart_and_are_named(project):
    """Decay takes weight from both by 0.7, once."""
    fill(project, project.entry("Clock", A, id="a"), project.entry("Clock", B, id="b"))
    before = texts(project)
    result = project.ok("compact")
    assert "contradict each other" in result.err
    assert "findings above stay" in result.out
    assert texts(project) == before
    for _ in range(2):
        project.ok("compact", "--set", "contradictions=decay")
        assert [entry.importance for entry in by_id(project).values()] == [0.35, 0.35]


@pytest.mark.parametrize("full", ["x" * 9_999 + "\n", "- x\n"])
def test_an_archive_that_could_not_be_read_again_is_not_made(project, full):
    """Neither by its size nor by what stands in it; all stays where it is."""
    fill(project, project.entry("Old", "Z" * 9_999, id="x", status="retired"))
    most = {10_000: 16 * 1024 * 1024 // 10_000, 4: 65_535}[len(full)]
    project.write("MEMORY.archive.md", "# Archive\n\n" + full * most)
    before = project.read("MEMORY.archive.md"), project.read()
    error = project.ends(5, "compact", "--allow-loss").err
    assert "MEMORY.archive.md: too large to be read again" in error
    assert (project.read("MEMORY.archive.md"), project.read()) == before


def test_retired_entries_leave_for_the_archive(project):
    """They are found with --archived alone, and why they left is written down and
    told."""
    fill(
        project,
        project.entry("Old", "Zebra words.", id="x", status="retired"),
        project.entry(),
    )
    answer = project.mem("compact", "--json").json
    assert answer["version"] == 1
    assert answer["done"][0]["what"] == "retired"
    names = [name.rsplit("/", 1)[1] for name in answer["files"]]
    assert names == ["MEMORY.archive.md", "MEMORY.md"]
    (gone,) = by_id(project, "MEMORY.archive.md").values()
    assert (gone.extra["archived_at"], gone.extra["archived_because"]) == (
        "2026-11-21",
        "retired",
    )
    project.ends(1, "recall", "zebra", "--ranked", "--check")
    project.ok("recall", "zebra", "--ranked", "--archived", "--check")


def test_stale_entries_leave_only_when_asked_and_lasting_ones_never(project):
    """Older than 90 days and below 0.1; policies and high priority stay."""
    old = {"created_at": "2025-01-01", "importance": 0.3}
    fill(
        project,
        project.entry("Used", "Beta beta.", id="used", reinforcement_count=9, **old),
        project.entry(
            "Rule", "Gamma gamma.", id="rule", kind="policy", type="directive", **old
        ),
        project.entry("Pinned", "Delta delta.", id="pinned", priority="high", **old),
        project.entry("New", "Epsilon epsilon.", id="new", importance=0.01),
        project.entry("Faded", "Alpha alpha.", id="faded", **old)[:-1],
    )
    project.ok("compact", "--check")
    project.ok("compact", "--stale")
    assert list(by_id(project)) == ["used", "rule", "pinned", "new"]
    assert project.read().endswith("lon.\n")  # no blank line stays
    assert list(by_id(project, "MEMORY.archive.md")) == ["faded"]


def test_the_loss_guard_refuses_until_told(project):
    """More than a quarter of four or more live entries; --dry-run shows what it
    refuses."""
    fill(
        project,
        *(project.entry(w, f"{w} {w}.", **OLD) for w in ("alpha", "beta", "gamma")),
        project.entry("delta", "delta delta."),
    )
    before = texts(project)
    shown = project.ok("compact", "--stale", "--dry-run")
    assert "archived_because: stale" in shown.out
    checked = project.ends(1, "compact", "--stale", "--check")
    assert "--allow-loss" in checked.err
    refused = project.ends(5, "compact", "--stale")
    assert "3 of 4 live entries" in refused.err
    assert "--allow-loss" in refused.err
    assert texts(project) == before
    project.ok("compact", "--stale", "--allow-loss")
    assert len(by_id(project, "MEMORY.archive.md")) == 3


def test_adopt_puts_front_matter_before_sections_and_changes_nothing_else(project):
    """Without the inserted blocks it is the old file; ids are those of the sections."""
    prose = "# Memory\r\n\r\nFree words.\r\n\r\n## [2026-03-02] Ports\r\nThe API is on 8080.\r\n"
    path = fill(project, prose)
    known = {row["id"] for row in project.listed()}
    project.ok("compact", "--check")
    project.ok("compact", "--adopt")
    text = path.read_bytes().decode()
    assert re.sub(r"---\r\nid: .*?\r\n---\r\n", "", text, flags=re.DOTALL) == prose
    entries = parse(text, "MEMORY.md").entries
    assert {entry.id for entry in entries} == known
    days = (entries[1].created_at, entries[1].last_reinforced)
    assert days == ("2026-03-02", "2026-11-21")
    project.ok("compact", "--adopt", "--check")


def test_one_section_of_prose_is_adopted_alone(project):
    """Its neighbours stay prose; what lies in a found place is copied."""
    path = fill(project, "# Notes\n\n## Ports\nOn 8080.\n\n## Other\nStays as it is.\n")
    topics = project.write(
        "memory/topics.md", "# Topics\n\n## Deploy\nOnly on Mondays.\n"
    )
    ports = next(
        line for line in project.mem("list").out.splitlines() if "Ports" in line
    )
    result = project.ends(2, "reinforce", ports.split()[0])
    assert f"mem compact --adopt 'MEMORY.md#{ports.split()[0][:8]}'" in result.err
    project.ok("compact", "--adopt", "MEMORY.md#Ports")
    after = path.read_text()
    assert after.count("\ntype:") == 1
    assert after.endswith("## Other\nStays as it is.\n")
    found = topics.read_bytes()
    project.ok("compact", "--adopt", "memory/topics.md#Deploy")
    assert topics.read_bytes() == found
    assert path.read_text().count("\ntype:") == 2
    assert "Only on Mondays." in path.read_text()
    project.ends(2, "compact", "--adopt", "MEMORY.md#Nothing")


def test_bullets_of_one_section_are_told_apart_when_adopted(project):
    """Their titles have their own words behind the headings; the text stays."""
    bullets = "- The linker needs 8 GB.\n- Use **ninja**, never make.\n- CI caches.\n"
    fill(project, f"# Notes\n\n## Build\n{bullets}\n## Other\nStays.\n")
    project.ok("compact", "--adopt")
    titles = [row["title"] for row in project.listed()]
    assert sorted(titles) == [
        "Notes > Build: CI caches.",
        "Notes > Build: The linker needs 8 GB.",
        "Notes > Build: Use ninja, never make.",
        "Notes > Other",
    ]
    assert all(line in project.read() for line in bullets.splitlines())
    project.ok("compact", "--adopt", "--check")


def test_one_bullet_is_adopted_alone(project):
    """Where others have its heading the hint names it by its id; no other advice beside
    it."""
    path = fill(
        project,
        "# Notes\n\n- The first of three.\n- The second one.\n- The last one.\n",
    )
    second = project.listed()[1]["id"][:8]
    result = project.ends(2, "reinforce", second)
    assert f"mem compact --adopt 'MEMORY.md#{second}'" in result.err
    assert "no entry has that id" not in result.err
    project.ok("compact", "--adopt", f"MEMORY.md#{second}")
    assert path.read_text().count("\ntype:") == 1


def test_a_file_that_cannot_be_used_is_named_and_the_rest_is_done(project):
    """Not UTF-8, conflict markers, a link out of the root: exit 3 and untouched."""
    gone = project.entry(status="retired")
    bad = project.write("tasks/bad.md", b"\xff\xfe")
    conflicted = project.write("tasks/conflict.md", gone + CONFLICT)
    outside = project.write("outside.md", gone, at=project.root.parent)
    (project.root / "tasks/link.md").symlink_to(outside)
    fill(project, gone)
    before = [path.read_bytes() for path in (bad, conflicted, outside)]
    result = project.ends(3, "compact")
    assert "tasks/bad.md:1:" in result.err
    assert "tasks/link.md" in result.err
    assert "conflict markers" in result.err
    assert by_id(project, "MEMORY.archive.md")
    assert [path.read_bytes() for path in (bad, conflicted, outside)] == before


@pytest.mark.parametrize("to", ["nowhere.md", "../out.md", "/etc/hostname"])
def test_an_archive_that_cannot_be_read_is_named_itself(project, to):
    """Once, and not the file whose archive it is, which stays as it is."""
    project.remembers("Never mock", status="retired")
    (project.root / "MEMORY.archive.md").symlink_to(to)
    before = project.read("MEMORY.md")
    done = project.mem("compact")
    assert (done.code, project.read("MEMORY.md")) == (3, before)
    problem, _ = done.err.splitlines()
    assert problem.startswith("MEMORY.archive.md:1: ")


def test_dry_run_prints_the_diff_alone_and_git_takes_it(project):
    """The diff of --dry-run, applied by git, gives what compact writes."""
    fill(
        project,
        project.entry("x", A, id="a"),
        project.entry("x", A2, id="b", status="retired"),
    )
    project.commit()
    before = texts(project)
    diff = project.ok("compact", "--dry-run")
    assert texts(project) == before
    project.git("apply", str(project.write("~/d.diff", diff.out)))
    applied = texts(project)
    project.git("checkout", "-q", "--", ".")
    (project.root / "MEMORY.archive.md").unlink()
    project.ok("compact")
    assert texts(project) == applied


def test_only_what_is_named_or_at_hand_is_written(project):
    """The home folder by --level, another work tree by --task, no file that is no
    memory."""
    tree = ".mem/jobs/j/tasks/t/worktree"
    names = ("MEMORY.md", "tasks/a.md", "~/MEMORY.md", f"{tree}/MEMORY.md")
    for name in names:
        fill(project, project.entry("x", A, status="retired"), path=name)
    (project.root / tree / ".git").mkdir()

    def left():
        return [name for name in names if by_id(project, name)]

    project.ends(2, "compact", "README.md")
    project.ok("compact", "tasks/a.md")
    assert left() == [names[0], names[2], names[3]]
    project.ok("compact")
    assert left() == [names[2], names[3]]
    project.ok("compact", "--level", "global")
    assert left() == [names[3]]
    project.ok("compact", "--task", "t")
    assert left() == []


COPIED = {"id": "a", "written": "00000000"}


@pytest.mark.parametrize("values", [{"id": "a"}, COPIED], ids=["by hand", "copied"])
@pytest.mark.parametrize("repair", [("compact",), ("doctor", "--fix")])
def test_two_notes_with_one_id_stay_two_notes(project, values, repair):
    """A note that was copied to begin another one, and its id forgotten: both are
    listed and found as themselves, before the second has an id of its own and after."""
    first = project.entry("Gateway", "Written in Go.", **values)
    second = project.entry("Invoices", "Numbered by the ERP alone.", **values)
    fill(project, first, second)

    def check(second_id):
        assert {"Gateway", "Invoices"} <= set(
            re.split(r"[\t\n]", project.ok("list").out)
        )
        answer = project.mem("recall", "invoices numbered erp", "--json").json
        assert [hit["title"] for hit in answer["hits"]] == ["Invoices"]
        assert "Numbered by" in project.ok("show", second_id).out
        assert "Written in Go" in project.ok("show", "a").out

    own_id = derived_id("a", "## Invoices\nNumbered by the ERP alone.")
    check(own_id)
    assert "is also in MEMORY.md" in project.mem("doctor").out
    project.ok(*repair)
    assert sorted(by_id(project)) == sorted(("a", own_id))
    check(own_id)
    assert "is also in" not in project.mem("doctor").out
    project.ok("compact", "--check")


def test_both_wordings_of_an_entry_that_a_person_edited_stay(project):
    """The second names the first as what it contradicts; without an edit the longer
    wording stays, and the other is in the archive."""
    longer = A + " Thaw it afterwards."
    fill(project, *(project.entry("Clock", text, **COPIED) for text in (A, longer)))
    project.ok("compact")
    own_id = derived_id("a", f"## Clock\n{longer}")
    assert sorted(by_id(project)) == sorted(("a", own_id))
    assert by_id(project)[own_id].extra["contradicts"] == ["a"]
    fill(project, *(project.entry("Clock", text, id="a") for text in (A, longer)))
    assert "merged 2 versions of a" in project.ok("compact").out
    assert longer in by_id(project)["a"].body
    assert A in by_id(project, "MEMORY.archive.md")["a"].body


def test_of_equal_copies_that_a_person_edited_the_best_stays(project):
    """It has the highest importance, the higher count and the later date, wherever it
    stands."""
    used = {"reinforcement_count": 9, "last_reinforced": "2026-10-01"}
    best = {"importance": 0.9, "kind": "policy", "priority": "critical"}
    rows = ({"importance": 0.3}, best, {"importance": 0.4, **used})
    fill(project, *(project.entry("Clock", A, **COPIED, **row) for row in rows))
    assert "merged 3 versions of a" in project.ok("compact").out
    entry = by_id(project)["a"]
    assert (entry.importance, entry.kind, entry.priority) == tuple(best.values())
    assert (entry.reinforcement_count, entry.last_reinforced) == tuple(used.values())
    project.ok("compact", "--check")


@pytest.mark.parametrize("values", [{"id": "a"}, COPIED], ids=["by hand", "copied"])
@pytest.mark.parametrize(("why", "stays"), [("stage design ended", True), ("", False)])
def test_what_is_retired_takes_no_live_copy_with_it(project, values, why, stays):
    """A copy that left with its stage; one that a person took back is live nowhere, and
    neither is archived as merged into the other."""
    gone = {"status": "retired", "retired_because": why or "wrong", "importance": 0.9}
    retired = project.entry("Clock", A, **values, **gone)
    fill(project, retired, project.entry("Clock", A, **values))
    project.ok("compact")
    assert list(by_id(project)) == ["a"] * stays
    archived = parse(project.read("MEMORY.archive.md"), "MEMORY.archive.md").entries
    reasons = {entry.extra["archived_because"] for entry in archived}
    assert reasons == {"retired"}
    project.ok("compact", "--check")


@pytest.mark.parametrize("values", [{"id": "a"}, COPIED], ids=["by hand", "copied"])
def test_copies_of_a_different_note_with_one_id_are_merged_at_once(project, values):
    """The second and third get the same id of their own, and are one entry after one
    run, and after every further one."""
    second = "Numbered by the ERP alone."
    entries = [project.entry("Gateway", "Written in Go.", **values)]
    entries += [project.entry("Invoices", second, **values) for _ in range(2)]
    fill(project, *entries)
    project.ok("compact")
    file = parse(project.read("MEMORY.md"), "MEMORY.md")
    own_id = derived_id("a", f"## Invoices\n{second}")
    assert [entry.id for entry in file.entries] == ["a", own_id]
    project.ok("compact", "--check")
    assert "is also in" not in project.mem("doctor").out


def test_a_note_rewritten_under_its_own_id_is_apart_from_its_old_text(project):
    """The old text, added again under the first id, would have the id that the rewritten
    note has: it is given another one."""
    texts_by_id = [("a", "Go."), (derived_id("a", "## T\nOld."), "New."), ("a", "Old.")]
    entries = [
        project.entry("T" if text == "Old." else text, text, id=id)
        for id, text in texts_by_id
    ]
    fill(project, *entries)
    project.ok("compact")
    bodies = [entry.body for entry in by_id(project).values()]
    assert sorted(bodies) == ["## Go.\nGo.", "## New.\nNew.", "## T\nOld."]
    project.ok("compact", "--check")


def test_wordings_without_blanks_between_words_are_merged(project):
    """The longer one goes on where the shorter one ends, as it would in English."""
    short = "请通过蓝色队列部署"
    longer = short + "所有版本以便运维可以暂停发布"
    fill(project, *(project.entry("部署", text, id="a") for text in (short, longer)))
    assert "merged 2 versions of a" in project.ok("compact").out
    assert longer in by_id(project)["a"].body

"""mem list: every entry in view once, newest first."""


def test_newest_first_then_by_place(project):
    """Without a date comes last; of equal dates, what stands later in its file was
    written later."""
    days = {
        "old": "2026-01-01",
        "new": "2026-11-01",
        "none": None,
        "same": "2026-01-01",
    }
    project.memory(*(project.entry(name, created_at=day) for name, day in days.items()))
    rows = project.listed()
    assert [row["title"] for row in rows] == ["new", "same", "old", "none"]


def test_recent_cuts_and_total_counts_all(project):
    """`--recent N` keeps the newest N; none or a negative number is a usage error."""
    project.memory(*(project.entry(created_at=f"2026-11-{d:02}") for d in range(1, 8)))
    found = project.mem("list", "--limit", "2", "--json").json
    assert [row["date"] for row in found["entries"]] == ["2026-11-07", "2026-11-06"]
    assert (found["total"], found["version"]) == (7, 1)
    for number in ("0", "-3", "x"):
        project.ends(2, "list", "--limit", number)


def test_a_row_has_the_values_of_the_entry(project):
    """As they count: defaults and floors applied, age from the last reinforcement."""
    text = project.entry(
        "Zebra",
        id="z" * 8,
        type="corrective",
        kind="pitfall",
        importance=0.2,
        priority="high",
        reinforcement_count=3,
        last_reinforced="2026-11-11",
        created_at="2026-10-01",
    )
    project.write("tasks/t.md", "# Prose\n\nA section.\n\n" + text)
    rows = {row["title"]: row for row in project.listed()}
    assert rows["Zebra"] == {
        "id": "z" * 8,
        "date": "2026-10-01",
        "level": "project",
        "store": "memory",
        "type": "corrective",
        "kind": "pitfall",
        "status": "active",
        "importance": 0.85,
        "reinforcement_count": 3,
        "age_days": 10,
        "decay": 0.9259,
        "growth": 1.25,
        "prominence": 0.9837,
        "title": "Zebra",
        "path": "tasks/t.md",
        "line": 18,
    }
    assert rows["Prose"]["line"] < 18


def test_text_is_a_line_per_entry_whatever_the_title(project):
    """Tabs, newlines, escape sequences and bidi characters do not break a line or a
    terminal."""
    odd = [
        "tab\there",
        "bell\x07",
        "esc \x1b[31mred",
        "rtl \u202eoverride",
        "zero\u200bwidth",
        "plain",
    ]
    project.memory(*(project.entry(title) for title in odd))
    (project.root / "tasks").mkdir()
    (project.root / "tasks/new\nline.md").write_text(project.entry("odd file"))
    result = project.mem("list")
    assert len(result.out.splitlines()) == 7
    assert not set("\x07\x1b\u202e\u200b") & set(result.out)
    assert all(line.count("\t") == 5 for line in result.out.splitlines())


def test_what_is_retired_is_marked(project):
    """Beside what is live; its title as an object stays its own."""
    project.memory(project.entry("Live"), project.entry("Gone", status="retired"))
    rows = [
        line.split("\t")[4]
        for line in project.ok("list", "--archived").out.splitlines()
    ]
    assert sorted(rows) == ["Live", "[retired] Gone"]
    found = project.mem("list", "--archived", "--json").json["entries"]
    assert sorted(row["title"] for row in found) == ["Gone", "Live"]


def test_filters_that_nothing_passes_are_said(project):
    """The answer stays empty, on stderr stands why; --quiet has neither."""
    project.remembers()
    result = project.mem("list", "--tag", "nope")
    assert result[:] == (0, "", "mem: no entry matches these filters\n")
    assert project.mem("list", "--tag", "nope", "--quiet")[:] == (0, "", "")


def test_bullets_of_one_heading_are_told_apart(project):
    """Their titles go on with how each begins, without its marks."""
    rules = (
        "Freeze the clock in tests.",
        "Never push on a Friday.",
        "Name the seed of a flaky test.",
        "Ask before a migration.",
        "Keep the changelog short.",
        "Read the runbook first.",
    )
    marked = (f"- **{rule[:6]}**{rule[6:]}\n" for rule in rules)
    project.memory("## Rules\n" + "".join(marked))
    rows = project.listed()
    assert {row["title"] for row in rows} == {f"Rules: {rule}" for rule in rules}


def test_explained_entries_come_by_their_weight(project):
    """Use outweighs age; what the rows say is in --json, too."""
    project.memory(
        project.entry(
            "Fades", "words", id="a", created_at="2026-05-25", last_reinforced=""
        ),
        project.entry(
            "Rises",
            "words",
            id="b",
            reinforcement_count=7,
            last_reinforced="2026-11-21",
        ),
    )
    rows = [
        line.split("\t") for line in project.mem("list", "--explain").out.splitlines()
    ]
    assert [row[1] for row in rows] == ["Rises", "Fades"]
    assert rows[0][3:5] == [
        "1",
        "1.38",
    ]
    found = {row["id"]: row for row in project.listed()}
    assert found["a"]["decay"] == 0.25
    assert found["b"]["growth"] == 1.375

"""mem export: the memory as a section of another file, or as JSON."""

import json

import pytest

from memcli.exchange import exporter

KEY = "AKIA" + "Z7Q2M4X6B8N1V3C5"


def filled(project):
    """One norm, one rule, two lessons of different standing, and things that must stay
    out."""
    rule = {"kind": "policy", "type": "directive"}
    project.write("institutional.md", "# Norms\n\nReviews within a day.\n")
    project.memory(
        project.entry("Small lesson", "Colours are in one file.", importance=0.2),
        project.entry("Never push to main", "Open a pull request.", **rule),
        project.entry(
            "Big lesson", "The cart rounds once.", kind="pitfall", importance=0.9
        ),
        project.entry("Old lesson", "It was so once.", status="retired"),
        project.entry("What happened", "We shipped.", kind="episode"),
    )
    project.write("MEMORY.archive.md", project.entry("Archived lesson", "Gone."))
    project.write("proxy.md", project.entry("Ana likes short answers", "Very short."))


def export(project, *args):
    return project.mem("export", "claude", *args)


def test_section_for_claude(project):
    """Norms, rules, then lessons by prominence; retired, archived, proxy and episodes
    stay out."""
    filled(project)
    result = export(project)
    order = [
        "Reviews within",
        "**Never push to main** (policy, id ",
        "**Big lesson**",
        "**Small",
    ]
    places = [result.out.index(text) for text in order]
    assert places == sorted(places)
    assert result.out.startswith(exporter.BEGIN)
    assert result.out.rstrip("\n").endswith(exporter.END)
    assert "#### Norms" in result.out
    assert "  The cart rounds once." in result.out
    for text in ("Old lesson", "Archived", "Ana", "We shipped"):
        assert text not in result.out


def test_no_more_than_200_lines_and_25_kb(project):
    """How many are left is said; a body is cut with a sign, its fence closed."""
    code = "\n".join(f"line {number}" for number in range(60))
    long = project.entry("Long", f"How to do it.\n\n```\n{code}\n```", importance=1.0)
    body = "A sentence that says a little about the matter at hand. " * 20
    lessons = [
        project.entry(f"Lesson {number}", body, importance=0.5) for number in range(400)
    ]
    project.memory(*[long, *lessons])
    project.write(
        "institutional.md",
        "\n\n".join(f"Norm {number} of the house." for number in range(500)),
    )
    result = project.mem("export", "agents-md")
    assert result.out.count("\n") <= 200
    assert len(result.out.encode()) <= 25_000
    shown = result.out.count("- **L")
    assert shown > 10
    assert f"({401 - shown} more: `mem list`)" in result.out
    assert "(institutional.md: more stands in the file)" in result.out
    assert "…" in result.out
    assert result.out.count("```") == 2
    assert "line 50" not in result.out
    small = export(project, "--max-lines", "30", "--max-bytes", "2000")
    assert small.out.count("\n") <= 30
    assert len(small.out.encode()) <= 2000


def test_a_path_imports_nothing_unless_closed_code_holds_it():
    """Another fence, or a missing one, closes nothing: what is in doubt is text."""
    text = "{0}a\n```\n@b\n~~~\n@c\n```\n{0}d\n```\n{0}e"
    assert exporter.safe_text(text.format("@")) == text.format("&#64;")


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_an_existing_file_keeps_every_other_byte(project, eol, end):
    """The section is appended, then replaced in place; a missing file is made."""
    filled(project)
    result = export(project, "--out", "NEW.md")
    assert (result.out, result.err) == ("wrote NEW.md\n", "")
    assert project.read("NEW.md").split("\n", 1)[1] in export(project).out
    gone = export(project, "--out", "NEW.md", "--remove").code or [
        *project.root.glob("NEW.md")
    ]
    assert not gone
    before = f"# Shop{eol}{eol}Ours.{end and eol}"
    path = project.write("CLAUDE.md", before)
    export(project, "--out", "CLAUDE.md")
    first = path.read_bytes().decode()
    assert first.startswith(before)
    assert first.count("mem: export begin") == 1
    assert first.count("\n") == first.count(eol)
    again = export(project, "--out", "CLAUDE.md")
    assert again.out == "CLAUDE.md is up to date\n"
    assert path.read_bytes().decode() == first
    path.write_bytes((first + f"Below.{eol}").encode())
    project.mem("add", "A new lesson about caching")
    export(project, "--out", "CLAUDE.md")
    after = path.read_bytes().decode()
    assert after.startswith(before)
    assert after.endswith(f"{exporter.END}{eol}Below.{eol}")
    assert "caching" in after
    assert after.count("mem: export begin") == 1
    norms = project.write("institutional.md", b"\xff")
    lost = export(project, "--out", "CLAUDE.md")
    assert (lost.code, path.read_bytes().decode()) == (
        3,
        after,
    )
    assert "not written" in lost.err
    norms.unlink()
    path.write_bytes((after * 2).encode())  # as a merge of two branches may leave it
    export(project, "--out", "CLAUDE.md")
    assert path.read_bytes().count(b"mem: export begin") == 1
    path.write_bytes(after.encode())
    export(project, "--out", "CLAUDE.md", "--remove")
    assert path.read_bytes().decode() == f"{before}{'' if end else eol * 2}Below.{eol}"


@pytest.mark.parametrize(
    "more", ["no end\n", f"Ours.\n{exporter.BEGIN}\n{exporter.END}\n"]
)
def test_damaged_marks_are_refused(project, more):
    """A beginning without its own end is named with its line, and nothing is written;
    exit 3."""
    filled(project)
    path = project.write("CLAUDE.md", before := f"# Shop\n{exporter.BEGIN}\n{more}")
    for removed in ((), ("--remove",)):
        result = export(project, "--out", "CLAUDE.md", *removed)
        assert result.code == 3
        assert "CLAUDE.md:2:" in result.err
        assert path.read_text() == before


def test_json_has_every_live_entry(project):
    """Every live entry with its values, one id once; never the proxy store."""
    filled(project)
    project.mem("add", "Tagged text", "--tag", "a")
    text = project.read()
    project.write(".mem/jobs/j/tasks/t/worktree/MEMORY.md", text)
    report = project.mem("export", "--json").json
    assert report["version"] == 1
    assert sorted(entry["title"] for entry in report["entries"]) == [
        "Big lesson",
        "Never push to main",
        "Small lesson",
        "Tagged text",
        "What happened",
    ]
    (tagged,) = (
        entry for entry in report["entries"] if entry["title"] == "Tagged text"
    )
    assert tagged["extra"]["tags"] == ["a"]
    assert (tagged["path"], tagged["level"]) == ("MEMORY.md", "project")
    keys = set(
        """id type importance reinforcement_count created_at text weight""".split()
    )
    assert keys <= set(tagged)
    project.mem("export", "json", "--out", "x.json")
    inside = project.ends(2, "export", "json", "--out", str(project.root))
    assert f"name a file in it: {project.root / 'FILE'}" in inside.err
    assert (
        "name a file in it: /FILE" in project.ends(2, "export", "json", "--out=/").err
    )
    assert json.loads(project.read("x.json")) == report


RULES = ".claude/rules"


def rules(project):
    """The files of rules by their names."""
    folder = project.root / RULES
    return {path.name: path.read_text() for path in folder.glob("*.md")}


def with_paths(project):
    """Two entries about one file, one about others, one about none."""
    about = {"type": "corrective", "kind": "pitfall"}
    project.memory(
        project.entry(
            "Round once", "Round VAT once per line.", paths=["src/*.py"], **about
        ),
        project.entry("No floats", "Rates are Decimal.", paths=["src/*.py"], **about),
        project.entry("Short tests", "One fact a test.", paths=['t"ests/**'], **about),
        project.entry("Lint", "Run `make lint`.", **about),
    )


def export_rules(project, *args):
    return project.mem("export", "claude-rules", "--out", RULES, *args)


def test_rules_are_bound_to_the_paths_of_their_entries(project):
    """A file for each set of paths; again changes nothing, and what goes is taken out."""
    with_paths(project)
    assert "changed 2 files" in export_rules(project).out
    first = rules(project)
    texts = sorted(first.values())
    assert len(texts) == 2
    assert texts[0].startswith('---\npaths:\n  - "src/*.py"\n---\n')
    assert "**Round once**" in texts[0] and "**No floats**" in texts[0]
    assert '  - "t\\"ests/**"' in texts[1]
    assert "make lint" not in "".join(texts)
    assert "is up to date" in export_rules(project).out

    project.memory("# Memory\n")
    export_rules(project)
    assert rules(project) == {}


def test_rules_leave_what_a_person_wrote(project):
    """A file of theirs, and lines of theirs in a file of ours."""
    with_paths(project)
    project.write(f"{RULES}/mem-own.md", "Theirs.\n")
    export_rules(project)
    name = next(name for name in rules(project) if name.startswith("mem-src"))
    project.write(f"{RULES}/{name}", f"{rules(project)[name]}\nTheirs, too.\n")
    assert "is up to date" in export_rules(project).out

    assert export_rules(project, "--remove").code == 0
    left = rules(project)
    assert left.pop("mem-own.md") == "Theirs.\n"
    assert left == {name: '---\npaths:\n  - "src/*.py"\n---\n\nTheirs, too.\n'}


def test_rules_are_not_imported_again(project):
    """What mem wrote is no rule of somebody else's."""
    with_paths(project)
    export_rules(project)
    before = project.read()
    project.ok("import", RULES)
    assert project.read() == before


def test_rules_are_not_written_through_a_link(project):
    """A folder that leads out of the repository is refused."""
    with_paths(project)
    outside = project.home / "outside"
    outside.mkdir()
    (project.root / ".claude").mkdir()
    (project.root / RULES).symlink_to(outside)
    assert export_rules(project).code != 0
    assert not list(outside.iterdir())


def test_a_dry_run_prints_the_diff_and_writes_nothing(project):
    """To a file, to a folder of rules, and when our section is taken out."""
    with_paths(project)
    fresh = ("claude", "--out", "CLAUDE.md")
    for arguments in (fresh, ("claude-rules", "--out", ".claude/rules")):
        dry = project.ok("export", *arguments, "--dry-run")
        assert "\n--- /dev/null\n+++ b/" in dry.out
        assert not (project.root / arguments[2]).exists()
    project.mem("export", *fresh)
    before = project.read("CLAUDE.md")
    out = project.mem("export", "--out", "CLAUDE.md", "--remove", "--dry-run").out
    assert "+++ /dev/null" in out or "\n-" in out
    assert project.read("CLAUDE.md") == before
    assert project.mem("export", *fresh, "--dry-run").out == ""


@pytest.mark.parametrize("text", ["", "See @AGENTS.md\n"])
def test_a_file_that_reads_another_is_not_told_twice(project, text):
    """The section stands once, in the file that a link or an include leads to, without
    what was imported from there."""
    project.write("AGENTS.md", RULES_OF_SHOP)
    if text:
        project.write("CLAUDE.md", text)
    else:
        (project.root / "CLAUDE.md").symlink_to("AGENTS.md")
    project.remembers("Freeze time in cart tests", "At midnight it fails.")
    project.ok("import", "AGENTS.md")
    done = project.ok("export", "claude", "--out", "CLAUDE.md")
    assert done.out == "wrote AGENTS.md, which CLAUDE.md reads\n"
    after = project.read("AGENTS.md")
    assert after.count("mock the cart") == after.count("Freeze time") == 1
    assert not text or project.read("CLAUDE.md") == text
    project.ok("export", "agents-md", "--out", "AGENTS.md")
    assert project.read("AGENTS.md") == after
    assert "mock the cart" in project.ok("export", "claude").out
    done = project.ok("export", "claude", "--out", "CLAUDE.md", "--remove")
    assert done.out.endswith("section from AGENTS.md, which CLAUDE.md reads\n")
    assert project.read("AGENTS.md") == RULES_OF_SHOP
    place = str(project.root / "AGENTS.md")
    assert project.ok("export", "claude", "--out", place).out == "wrote AGENTS.md\n"


def test_a_rule_that_its_file_does_not_say_any_more_is_told(project):
    """One that was deleted there since it was imported, and one with another title
    in memory."""
    other = "- Never sleep in tests.\n\n- Never log a card.\n"
    project.write("CLAUDE.md", RULES_OF_SHOP + other)
    project.ok("import", "CLAUDE.md")
    project.write("CLAUDE.md", "# Shop\n\n" + other)
    memory = project.read()
    project.memory(memory.replace("log a card.", "print a card."))
    for _ in range(2):
        project.ok("export", "claude", "--out", "CLAUDE.md")
        after = project.read("CLAUDE.md")
        assert after.count("mock the cart") == after.count("print a card") == 1
        assert after.count("sleep in tests") == 1


RULES_OF_SHOP = "# Shop\n\n- Never mock the cart.\n"


@pytest.mark.parametrize(
    "out",
    """.mem.toml sub/.mem.toml .git/hooks/post-commit MEMORY.md institutional.md
    proxy.md MEMORY.archive.md tasks/a.archive.md .memory.db sub/MEMORY.md""".split(),
)
def test_what_is_mems_own_or_gits_is_not_written_over(project, out):
    """Neither settings, memory and the index, nor a program that git would start."""
    project.ok("add", "Freeze the clock in cart tests")
    project.write(".mem.toml", "limit = 5\n")
    for folder in ("sub", "tasks"):
        (project.root / folder).mkdir()
    project.ok("list")
    path = project.root / out
    before = path.read_bytes() if path.exists() else None
    refused = project.ends(2, "export", "json", "--out", out)
    assert "settings or of git" in refused.err or "is a memory file" in refused.err
    assert (path.read_bytes() if path.exists() else None) == before

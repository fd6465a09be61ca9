"""What was taken back comes in through no door; what has another value is superseded
and told no more."""

import json
import os
import re
from pathlib import Path

import pytest

from memcli import Memory
from memcli.errors import RefusedError
from tests.commands.test_sync import in_step, pair, remote
from tests.programs import finished
from tests.work import calls

__all__ = ["pair", "remote"]
RULE = "Deploy the billing service on Tuesdays only."


def ids(project, *, archived=False):
    """The titles of the entries, with their ids."""
    more = ["--archived"] if archived else []
    rows = project.listed(*more)
    return {row["title"]: row["id"] for row in rows}


def retire(project, text, because="it moved"):
    project.mem("add", text)
    project.ok("retire", ids(project)[text.rstrip(".")], "--because", because)


@pytest.fixture
def gone(project):
    """A project in which a rule was taken back, and another one holds."""
    project.mem("add", "Tabs are four wide")
    project.mem("add", RULE)
    name = next(name for title, name in ids(project).items() if "billing" in title)
    project.ok("retire", name, "--because", "it moved")
    return project


def lives(project):
    return any("billing" in title for title in ids(project))


def refused(done):
    said = done.out + done.err
    return "taken back" in said and "it moved" in said


def test_import_leaves_out_what_was_taken_back(gone):
    """It says when and why; the rest comes in; `--again` takes it, too."""
    gone.write("CLAUDE.md", f"- {RULE}\n- Never commit a lock file.\n")
    result = gone.mem("import", "CLAUDE.md", "--from", "agents-md")
    assert refused(result)
    assert not lives(gone)
    assert any("lock file" in title for title in ids(gone))
    gone.ok("import", "CLAUDE.md", "--from", "agents-md", "--again")
    assert lives(gone)


def test_the_title_alone_says_what_was_taken_back(project):
    """So does no other rule of the same title."""
    project.ok("add", "Use tabs in Makefiles\nSpaces break them in every recipe.")
    project.ok("retire", project.entries()[0].id[:8], "--because", "it moved")
    later = {"MEM_NOW": "2027-01-31"}
    assert refused(project.ends(5, "add", "Use tabs in Makefiles", env=later))
    project.ok("add", "Use tabs in Makefiles\nNot in the vendored ones below lib/.")


def test_the_python_interface_asks_the_door(gone):
    """MCP's tool is this method; `again` writes."""
    memory = Memory(gone.root)
    with pytest.raises(RefusedError, match="taken back"):
        memory.add(RULE)
    memory.add(RULE, again=True)
    assert lives(gone)


def test_restore_asks_for_its_words_too(gone):
    """An entry of the same words is refused; the one that was retired comes back."""
    gone.mem("add", RULE, "--again")
    second = next(name for title, name in ids(gone).items() if "billing" in title)
    gone.mem("retire", second, "--because", "it moved")
    result = gone.ends(5, "restore", second)
    assert refused(result)
    assert not lives(gone)
    gone.ok("restore", second, "--again")
    assert lives(gone)


def test_a_merge_brings_nothing_back(gone):
    """Said anew on a branch that does not know it was taken back: retired in the
    merge."""
    gone.mem("init")
    text = gone.read()
    (gone.root / "MEMORY.md").write_text(text[: text.index("---\n", 5)])
    (gone.root / "MEMORY.md").write_text("# Memory\n")
    gone.commit()
    gone.git("checkout", "-q", "-b", "other")
    gone.mem("add", RULE)
    gone.mem("add", "Colons are aligned")
    gone.commit()
    gone.git("checkout", "-q", "main")
    (gone.root / "MEMORY.md").write_text(text)
    gone.commit()
    gone.git("merge", "-q", "--no-edit", "other")
    assert sorted(ids(gone)) == ["Colons are aligned", "Tabs are four wide"]


def test_a_merge_names_what_says_the_opposite(project):
    """The driver's last line."""
    project.mem("init")
    project.mem("add", "Tabs are four wide")
    project.commit()
    project.git("checkout", "-q", "-b", "other")
    project.mem("add", "The gateway listens on port 8080")
    project.commit()
    project.git("checkout", "-q", "main")
    project.mem("add", "The gateway listens on port 9090")
    project.commit()
    process = finished("git", "merge", "--no-edit", "other", cwd=project.root)
    assert "contradict each other" in process.stderr
    assert "8080" in process.stderr


def test_two_versions_from_a_merge_are_called_so(project):
    """An entry says not the opposite of itself."""
    project.memory(
        project.entry("Clock", "Frozen in the cart tests.", id="a"),
        project.entry("Clock", "All order pages have it.", id="b", contradicts=["a"]),
    )
    (row,) = [row for row in project.checks() if row["name"] == "opposites"]
    assert row["detail"].startswith("'Clock' has two versions from a merge: keep one")


def test_all_who_name_opposites_name_the_same(project):
    """Doctor, health, a look of compact, the page and a diff: of what is said twice, of
    the user's own level, of what is marked. What was retired, episodes and prose count
    nowhere, and an opposite is called nothing else."""
    project.write("note.txt", "")
    project.commit()
    never = "Never use tabs in carts."
    project.memory(
        project.entry("Tabs", "Always use tabs in carts.", id="a"),
        project.entry("Tabs", "Please always use tabs in carts!", id="b"),
        project.entry("Tabs", never, id="c", type="declarative"),
        project.entry("Tabs", never, id="d", status="retired"),
        project.entry("Tabs", never, id="e", kind="episode"),
        project.entry("Beta", "Another.", id="f", contradicts=["a"]),
        f"\n## Tabs\n{never}\n",
    )
    own = project.entry("Beta", "No other.", id="g", contradicts=["f"])
    project.write("~/MEMORY.md", own)
    look = project.ends(1, "compact", "--check", "--json").json["found"]
    page = project.mem("browse", "--json").json
    diff = project.mem("diff", "--json").json["findings"]
    hints = [row["hint"] for row in project.checks() if row["name"] == "opposites"]
    said = {
        "compact": [event["ids"] for event in look],
        "page": [ids for what, _, ids, _ in page["pairs"] if what != "merged"],
        "doctor": [re.findall(r"retire (\w+)", hint) for hint in hints],
        "health": project.mem("health", "--json").json["doubts"]["contradictions"],
        "diff": [[one["id"] for one in each["entries"]] for each in diff],
    }
    known = {name: {"".join(sorted(pair)) for pair in said[name]} for name in said}
    here = {"ac", "bc", "af"}
    assert known == {**dict.fromkeys(said, here | {"fg"}), "diff": here}
    links = {item["id"]: item.get("links") for item in page["items"]}
    assert links["c"] == [["opposite", "a"], ["opposite", "b"]]


def test_sync_takes_in_nothing_that_was_taken_back_here(pair):
    """Retired on one machine, said anew on the other: it stays back on both."""
    laptop, desktop = pair
    rule = "Never answer mails on Sundays."
    laptop.mem("add", rule, "--level", "global")
    name = laptop.listed()[0]["id"]
    steps = (
        (laptop, ("retire", name, "--because", "it moved")),
        (laptop, ("compact", "--level", "global")),
        (laptop, ("sync",)),
        (desktop, ("add", rule, "--level", "global")),
        (desktop, ("sync",)),
    )
    for machine, words in steps:
        result = machine.mem(*words)
        assert result.code == 0, (words, result.err)
    in_step(laptop, desktop)
    for each in pair:
        assert each.listed() == []


def test_sync_does_not_bring_back_what_was_forgotten(pair):
    """The words are in neither file after it."""
    laptop, desktop = pair
    rule = "The door code is quokkazanzi seven."
    laptop.mem("add", rule, "--level", "global")
    name = laptop.listed()[0]["id"]
    assert laptop.mem("forget", name).code == 0
    desktop.mem("add", rule, "--level", "global")
    desktop.mem("sync")
    in_step(laptop, desktop)
    assert "quokkazanzi" not in laptop.text() + desktop.text()


def test_a_thousand_tombstones_cost_little(project):
    """Adding reads each of them once: four times as many, four times the work."""

    blocks = [
        f"---\nid: t-{n}\ntype: declarative\nimportance: 0.5\nstatus: retired\n"
        f"archived_because: retired\n---\n## Rule {n} about the queue {n * 7}\n"
        for n in range(1000)
    ]
    project.mem("add", "Tabs are four wide")
    took = []
    for number, count in enumerate((250, 1000)):
        text = "\n".join(blocks[:count])
        (project.root / "MEMORY.archive.md").write_text(text)
        project.mem("index")
        words = ("add", f"The colour of queue {number} is mauve today")

        def add(words=words):
            project.ok(*words)

        took.append(calls(add))
    assert took[1] < 6 * took[0], took


def test_a_torn_archive_holds_as_far_as_it_can_be_read(gone):
    """What can be read is asked, doctor names the rest."""
    gone.mem("compact")
    archive = gone.root / "MEMORY.archive.md"
    archive.write_text(archive.read_text() + "\n---\nid: [torn\nstatus: ret")
    assert refused(gone.mem("add", RULE))


@pytest.mark.parametrize("beside", [False, True])
def test_add_names_what_says_the_opposite(project, beside):
    """With the next command; both stand, and `--beside` says that they shall."""
    project.mem("add", "Commit messages are written in English.")
    more = ["--beside"] * beside
    result = project.mem("add", "Commit messages are not written in English.", *more)
    new, old = (name[:8] for _, name in sorted(ids(project).items()))
    line = f"(keep one: mem retire {old}, or mem retire {new})"
    assert (line in result.out) != beside


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("title", ["The minimum SDK is 26", "Oldest Android"])
def test_add_supersedes_another_value(project, title, beside):
    """It says so, under whatever title the old one stands; `--beside` keeps both."""
    project.mem("add", "The minimum SDK is 26", "--title", title)
    result = project.mem(
        "add", "Actually the minimum SDK is 28 now", *["--beside"] * beside
    )
    assert (f"supersedes: {title}" in result.out) != beside
    assert len(ids(project)) == 1 + beside


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Never use port 80", "Never use port 443"),
        ("Customer number 12 pays by invoice", "Customer number 14 pays by invoice"),
        ("Timeout of the importer is 30 s", "Timeout of the exporter is 60 s"),
        ("The owner of billing is Ana", "The owner of payroll is Bruno"),
        (
            "The release of 2026-01-02 took 30 min",
            "The release of 2026-02-02 took 30 min",
        ),
        ("Issue 12 is fixed", "Issue 14 is fixed"),
        ("Staging\nIts port is 8080", "Production\nIts port is 9090"),
    ],
)
def test_other_things_are_not_superseded(project, old, new):
    """What is about something else stays beside it."""
    project.mem("add", old)
    assert "supersedes" not in project.mem("add", new).out
    assert len(ids(project)) == 2


def test_both_name_each_other(project):
    """mem show, mem log and mem why, of the old and of the new."""
    project.write("gate.py", "PORT = 9090\n")
    project.mem("add", "The gateway listens on port 8080", "--path", "gate.py")
    project.commit()
    old = next(iter(ids(project).values()))
    project.mem("add", "The gateway listens on port 9090", "--path", "gate.py")
    project.commit()
    new = next(iter(ids(project).values()))
    assert old != new
    for verb in ("show", "log"):
        assert new[:8] in project.mem(verb, old).out, verb
        assert old[:8] in project.mem(verb, new).out, verb
    told = project.mem("why", "gate.py").out
    assert new[:8] in told
    assert old[:8] in told
    assert "8080" in told
    assert json.loads(project.mem("show", new, "--json").out)
    assert os.path.exists(Path(project.root, "gate.py"))

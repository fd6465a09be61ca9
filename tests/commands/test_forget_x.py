"""Ways to take something back in a session, in five languages: the entry that
is meant is retired, and only that one; in three of them nothing is meant, and nothing goes.

Twenty were written before they were first run, and scored once, as they stand: 19 held.
The other is marked with its reason. The last four came later, with their mend."""

import pytest

from memcli.commands.history import ForgetReport
from memcli.views.everyday import forget_text

KNOWN = (
    "The gateway listens on port 8080",
    "Tabs are four wide in Makefiles",
    "Deploys go out on Tuesdays",
    "The staging database is reset every night",
    "Invoices are rounded to half cents",
    "Migrations run before the tests",
    "The tax office accepts PDF/A only",
)
NONE = ""
CASES = [
    ("Forget what I said about the port of the gateway.", "gateway"),
    ("Please forget the rule about tabs, it was wrong.", "Tabs"),
    ("The note about deploys is no longer true.", "Deploys"),
    ("Ignore what I told you about the staging database, I misspoke.", "staging"),
    ("Disregard the rule about rounding invoices.", "Invoices"),
    ("Forget what I told you about the moon landing.", NONE),
    ("Forget it, go on.", NONE),
    pytest.param(
        "Vergiss, was ich über das Gateway gesagt habe.",
        "gateway",
        marks=pytest.mark.xfail(reason="a German noun is taken for a name"),
        id="Vergiss, was ich über das Gateway gesagt habe.",
    ),
    ("Vergiss, was ich über Migrations gesagt habe.", "Migrations"),
    ("Vergiss, was ich zu Tabs gesagt habe.", "Tabs"),
    ("Oublie ce que j'ai dit sur le port du gateway.", "gateway"),
    ("Oublie ce que j'ai dit sur les migrations.", "Migrations"),
    ("Oublie ce que je t'ai dit à propos de PDF/A.", "tax office"),
    ("Olvida lo que dije sobre el gateway.", "gateway"),
    ("Olvida lo que te dije sobre Makefiles.", "Tabs"),
    ("Olvida lo que dije sobre PDF/A.", "tax office"),
    ("Olvida lo que dije sobre el perro.", NONE),
    ("忘掉我说的关于 gateway 的事", "gateway"),
    ("忘了我说的关于 staging 的规则", "staging"),
    ("忘记我之前说的关于 Makefiles 的话", "Tabs"),
    ("请忘掉我说的关于 PDF/A 的内容", "tax office"),
    ("The staging database rule is no longer true.", "staging"),
    ("That was wrong what I said about rounding invoices.", "Invoices"),
    ("I misspoke about the port of the gateway.", "gateway"),
    ("I was wrong about the moon landing, it happened.", NONE),
]


def right(project, said, meant):
    for text in KNOWN:
        project.ok("add", text)
    project.write("talk.md", f"User: {said}\nAssistant: Noted.\n")
    project.ok("extract", "talk.md", "--engine", "rules")
    rows = project.listed()
    live = {row["title"] for row in rows if row["kind"] != "episode"}
    left = {text for text in KNOWN if not meant or meant not in text}
    return live == left


@pytest.mark.parametrize(("said", "meant"), CASES)
def test_what_is_meant_is_retired_and_only_that(project, said, meant):
    """One repository for each."""
    assert right(project, said, meant)


@pytest.mark.parametrize(
    ("said", "before", "after"),
    [
        ("I misspoke: do not use the numbat linter.", "Always use", "Do not use"),
        ("Sorry, I was wrong: don't use the numbat linter.", "Always use", "Don't use"),
        ("I misspoke: do not use the numbat linter.", "Never use", "Never use"),
    ],
)
def test_the_contrary_of_what_was_said_holds_in_its_place(project, said, before, after):
    """In a later session; an entry that says the same already stays."""
    project.ok("add", f"{before} the numbat linter")
    project.write("talk.md", f"User: {said}\nAssistant: Noted.\n")
    project.ok("extract", "talk.md", "--engine", "rules")
    titles = [row["title"] for row in project.listed() if row["kind"] != "episode"]
    assert {title[: len(after)] for title in titles} >= {after}
    assert not any(title.startswith("Always") for title in titles)


def test_what_was_written_beside_a_forgotten_entry_can_be_taken_back(project):
    """Undo names what it cannot bring back, then takes back the writes around it,
    without the words that are gone."""
    project.ok("add", "Freeze the clock in cart tests")
    project.ok("add", "The vault of the shop opens with a hammer")
    project.ok("add", "The footer is rendered on the server")
    gone = project.entries()[1]
    project.ok("forget", gone.id[:8])
    refused = project.ends(5, "undo")
    assert "has no texts" in refused.err
    assert "undid add" in project.ok("undo").out
    assert [entry.title for entry in project.entries()] == [
        "Freeze the clock in cart tests"
    ]
    assert "undid add" in project.ok("undo").out
    assert not any("hammer" in path.read_text() for path in project.root.glob("*.md"))


@pytest.mark.parametrize("tracked", [False, True])
def test_a_file_that_forgetting_leaves_empty_goes_unless_git_has_it(project, tracked):
    """Its archive likewise; undo takes back nothing that would be empty."""
    project.ok("add", "Freeze the clock in cart tests")
    if tracked:
        project.commit()
    project.ok("forget", project.entries()[0].id[:8])
    assert (project.root / "MEMORY.md").exists() is tracked
    assert "has no texts" in project.ends(5, "undo").err
    assert "nothing to undo" in project.ends(1, "undo").out


def test_files_that_were_exported_are_named_with_what_clears_them(project):
    project.ok("add", "The vault of the shop opens with a hammer")
    project.ok("export", "json", "--out", "out.json")
    project.write("other.txt", "the VAULT of the shop opens with a hammer")
    project.write("plain.txt", "nothing of it")
    said = project.ok("forget", project.entries()[0].id[:8]).out
    assert "out.json has the words" in said and "rm other.txt" in said
    assert "plain" not in said and "MEMORY.md has" not in said


def test_what_was_learned_from_forgotten_history_has_one_command():
    """All its ids in it."""
    entries = (("aaaa1111-x", "MEMORY.md", "One"), ("bbbb2222-x", "MEMORY.md", "Two"))
    said = forget_text(ForgetReport(units=("u",), entries=entries, dry_run=False))
    assert "still in memory (mem retire aaaa1111 bbbb2222):" in said

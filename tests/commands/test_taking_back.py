"""What a person takes back stays back: in a session, by retiring, by forgetting."""

import pytest

from tests.conftest import Project

WORDS = "The staging key word is zanzibarquokka tonight."


def session(project: Project, name: str, said: str) -> str:
    """A talk in which the person says one thing, extracted; what mem says of it."""
    project.write(f"{name}.md", f"User: {said}\nAssistant: Noted.\n")
    result = project.ok("extract", f"{name}.md", "--engine", "rules")
    return result.out + result.err


def titles(project: Project) -> list[str]:
    return [row["title"] for row in project.mem("list", "--json").entries]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "Forget what I told you about the port of the gateway.",
            ["Tabs are four wide"],
        ),
        (
            "The rule about tabs is no longer true.",
            ["The gateway listens on port 8080"],
        ),
        (
            "Vergiss, was ich über Tabs gesagt habe.",
            ["The gateway listens on port 8080"],
        ),
        ("忘掉我说的关于 tabs 的规则", ["The gateway listens on port 8080"]),
        (
            "Forget it, go on.",
            ["Tabs are four wide", "The gateway listens on port 8080"],
        ),
        (
            "Forget what I said about the weather.",
            ["Tabs are four wide", "The gateway listens on port 8080"],
        ),
    ],
)
def test_what_is_meant_is_retired_and_nothing_else(project, said, kept):
    """One clear match by rules; what nothing matches leaves all as it is."""
    project.mem("add", "The gateway listens on port 8080")
    project.mem("add", "Tabs are four wide")
    session(project, "talk", said)
    assert sorted(titles(project)) == kept


def test_what_takes_back_is_no_lesson_and_no_title(project):
    """Neither an entry nor an episode says what was dropped."""
    project.mem("add", "Run only tests/invoice")
    session(
        project,
        "talk",
        "Forget what I said about running only tests/invoice, I misspoke",
    )
    assert titles(project) == []
    assert "invoice" not in project.mem("recall", "which tests to run").out


def test_a_new_value_supersedes_the_old_one(project):
    """The old is retired, names the new, and is told no more."""
    project.mem("add", "The gateway listens on port 8080")
    said = (
        "Remember this from now on: The gateway listens on port 9090."
        " It replaces what I told you before about the port of the gateway."
    )
    session(project, "talk", said)
    told = project.mem("recall", "which port does the gateway listen on").out
    assert "9090" in told
    assert "8080" not in told
    archive = project.read("MEMORY.archive.md")
    assert "superseded_by:" in archive
    assert "8080" in archive


def test_add_asks_before_it_writes_what_was_taken_back(project):
    """Case, width and spaces hide nothing; `--again` writes."""
    project.mem("add", "The database is DB-QX71.internal")
    found = project.mem("list", "--json").entries[0]["id"]
    project.mem("retire", found[:8], "--because", "moved")
    for text in (
        "The database is db-qx71.internal",
        "The  database is ＤＢ-QX71.internal",
    ):
        result = project.mem("add", text)
        assert result.code == 5
        assert "moved" in result.err
        assert "--again" in result.err
    project.ok("add", "--again", "The database is db-qx71.internal")


def test_retire_names_the_episode_that_goes_with_it(project):
    """In words and in JSON; a restore names none."""
    rule = "Never round VAT on the sum of an invoice, round it once per line"
    project.write(
        "MEMORY.md",
        project.entry(rule, "", id="aaaa1111", kind="policy")
        + project.entry("An hour of work", f"- {rule}", id="bbbb2222", kind="episode"),
    )
    first, second = project.mem("retire", "aaaa").out.splitlines()
    assert first.startswith(f"retired {rule} (")
    said = "retired with it, since it says the same: An hour of work (MEMORY.md:"
    assert second.startswith(said)
    assert "id bbbb2222" in second
    project.mem("undo")
    report = project.mem("retire", "aaaa", "--json").json
    assert [row["id"] for row in report["episodes"]] == ["bbbb2222"]
    assert project.mem("restore", "aaaa", "--json").json["episodes"] == []


def test_forget_names_what_it_cannot_reach(project):
    """Git, and a shared index where there is one; a dry run writes nothing."""
    project.mem("add", WORDS)
    project.mem("add", "Deploy on Tuesdays")
    project.commit()
    before = project.data("MEMORY.md")
    first, second = (row["id"] for row in project.mem("list", "--json").entries)
    project.ok("forget", first, "--dry-run")
    assert project.data("MEMORY.md") == before
    result = project.ok("forget", first)
    assert "git filter-repo" in result.out
    assert "shared index" not in result.out
    url = {"MEM_STORE_URL": "postgresql://localhost/mem"}
    result = project.mem("forget", second, "--dry-run", "--json", env=url)
    assert "a shared index that was pushed" in " ".join(result.json["left"])

"""What a person takes back stays back: in a session, by retiring, by forgetting."""

import json

import pytest

from memcli.storage.files import cache_dir

WORDS = "The staging key word is zanzibarquokka tonight."


def session(project, name, said):
    """A talk in which the person says one thing, extracted; what mem says of it."""
    project.write(f"{name}.md", f"User: {said}\nAssistant: Noted.\n")
    result = project.ok("extract", f"{name}.md", "--engine", "rules")
    return result.out + result.err


def titles(project):
    return [row["title"] for row in project.listed()]


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


def test_an_older_value_is_told_by_no_episode(project):
    """Of a session that is read after the one that says what holds now."""
    for day, port in ("20", 9090), ("02", 8080):
        said = f"Remember this: the billing gateway listens on port {port}."
        turn = {
            "role": "user",
            "content": said,
            "timestamp": f"2026-01-{day}T10:00:00Z",
        }
        project.write(f"{port}.jsonl", json.dumps(turn) + "\n")
        project.ok("extract", f"{port}.jsonl", "--engine", "rules")
    told = [path.read_text() for path in project.root.rglob("*.md")]
    assert any("9090" in text for text in told)
    assert not any("8080" in text for text in told)


GONE = """
Never force push to main is no longer true, forget it.
"Never force push to main" no longer holds, forget that.
Never force push to main is not true anymore.
Never force push to main gilt nicht mehr, vergiss es.
Never force push to main is no longer true. I will push it myself.
""".strip().splitlines()


@pytest.mark.parametrize("said", GONE)
@pytest.mark.parametrize("guard", [{}, {"guard": "deny", "commands": ["git push -f*"]}])
def test_a_rule_and_that_it_holds_no_more_is_no_lesson(project, said, guard):
    """It retires the rule; a guard, or what is said beside more, waits for a person."""
    rule = "Never force push to main"
    project.memory(project.entry(rule, kind="policy", type="directive", **guard))
    is_left = bool(guard) or said == GONE[-1]
    talk = f"Fix the parser\nAssistant: Done.\nUser: {said}"
    session(project, "talk", talk)
    assert [title for title in titles(project) if "force" in title] == (
        [rule] if is_left else []
    )
    waiting = project.mem("inbox", "--json").json["proposals"]
    waits = said in GONE[:-1] and is_left
    assert [row["kind"] for row in waiting] == (["retire"] if waits else [])
    for row in waiting:
        assert "mem guard --off" in project.ends(5, "keep", row["id"]).err


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Never use yarn in this project.", "Forget what I said about yarn."),
        (
            "Always run the linter before a commit.",
            "I misspoke about the linter, forget that.",
        ),
        (
            "Remember that the ibex gateway lives in Oslo.",
            "Forget what I said about the ibex gateway.",
        ),
    ],
)
def test_what_is_taken_back_in_the_same_session_is_never_learned(project, rule, said):
    """The rest of the turn is."""
    kept = "Always name branches after the ticket."
    said = f"{rule} {kept}\nAssistant: Noted: {rule}\nUser: {said}"
    session(project, "talk", said)
    assert any("branches" in title for title in titles(project))
    told = "".join(path.read_text() for path in project.root.rglob("*.md"))
    assert rule[-20:] not in told.replace((project.root / "talk.md").read_text(), "")


FIRST = "Always name branches after the ticket."
LAST = "Never use yarn in this project."
MEANT = """
That was wrong, forget that rule.
Forget that rule again.
Sorry, that's a mistake: please forget the last rule.
No, I misspoke. Scratch that rule.
Das war falsch, vergiss diese Regel.
C'était faux, oublie cette règle.
""".strip().splitlines()
NOT_MEANT = """
That was wrong, forget it.
Forget that.
That was wrong, drop that rule.
That was wrong, forget that rule in the eslint file.
""".strip().splitlines()


@pytest.mark.parametrize("said", [*MEANT, *NOT_MEANT])
def test_what_was_learned_last_is_taken_back_without_its_name(project, said):
    """Whether it was learned in the same run or before; what came earlier stays."""
    told = f"{FIRST}\nAssistant: Noted.\nUser: {LAST}"
    session(project, "one", f"{told}\nAssistant: Noted.\nUser: {said}")
    taken = said in MEANT
    assert [("yarn" in title) for title in titles(project)].count(True) == (not taken)
    assert any("branches" in title for title in titles(project))


def test_what_was_learned_before_in_the_session_is_taken_back(project):
    told = f"{FIRST}\nAssistant: Noted.\nUser: {LAST}"
    session(project, "one", told)
    assert any("yarn" in title for title in titles(project))
    session(project, "one", f"{told}\nAssistant: Noted.\nUser: {MEANT[0]}")
    assert not any("yarn" in title for title in titles(project))
    assert any("branches" in title for title in titles(project))


@pytest.mark.parametrize(
    "said",
    [
        "I was wrong, never mind.",
        "I misspoke, don't worry about the migrations.",
        "The eslint rule is wrong.",
        "Drop the part about migrations.",
        "Ignore everything about eslint here.",
    ],
)
def test_talk_takes_no_entry_back(project, said):
    """What is no more than talk, or of the work at hand, retires nothing."""
    kept = ["mind the migrations", "worry about migrations", "eslint: no semicolons"]
    for title in kept:
        project.mem("add", title)
    session(project, "talk", said)
    assert set(kept) <= set(titles(project))


def test_retire_names_the_episode_that_goes_with_it(project):
    """In words and in JSON; a restore names none."""
    rule = "Never round VAT on the sum of an invoice, round it once per line"
    project.memory(
        project.entry(rule, "", id="aaaa1111", kind="policy"),
        project.entry("An hour of work", f"- {rule}", id="bbbb2222", kind="episode"),
    )
    first, second = project.mem("retire", "aaaa").out.splitlines()
    assert first.startswith(f"retired {rule} (")
    said = "also retired, since it says the same: An hour of work (MEMORY.md:"
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
    before = project.data()
    first, second = (row["id"] for row in project.listed("--at", "HEAD"))
    project.ok("forget", first, "--dry-run")
    assert project.data() == before
    result = project.ok("forget", first)
    assert "git filter-repo" in result.out
    assert not [path for path in cache_dir().rglob("*") if path.suffix == ".md"]
    assert "shared index" not in result.out
    url = {"MEM_STORE_URL": "postgresql://localhost/mem"}
    result = project.mem("forget", second, "--dry-run", "--json", env=url)
    assert "a shared index that was pushed" in " ".join(result.json["left"])


def test_notes_before_and_in_the_work_forget_with_the_rest(project):
    """What a pre-mortem took from an entry, and what a checkpoint says of it."""
    body = "The quokka cache is cold after a deploy."
    project.remembers("Cold quokka cache", body, type="corrective")
    project.ok("extract", "--premortem", "deploy the quokka cache")
    said = '{"assumption": "The quokka cache is cold after a deploy."}\n'
    project.write(".assumptions.jsonl", said)
    name = project.entries()[0].id
    assert "is cold after" in project.read(".premortem.md")
    project.ok("forget", name[:8], "--dry-run")
    assert "is cold after" in project.read(".premortem.md")
    project.ok("forget", name[:8])
    for file in (".premortem.md", ".assumptions.jsonl"):
        assert "is cold after" not in project.read(file)
        assert "[forgotten]" in project.read(file)

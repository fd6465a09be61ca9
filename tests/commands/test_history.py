"""History end to end: backfill, recall, show, forget, over the command line."""

import json
import re
import sqlite3
import subprocess

import pytest

from memcli.cli.program import run
from memcli.project.record import path_of
from memcli.providers.embed import local
from memcli.sessions.speakers import clean_texts
from tests.commands.talk import held
from tests.programs import finished

PROMPT = "The upstream is rate-limiting us: our Retrier goes past its attempt budget and crosses the window"
CHAT = [
    (
        "user",
        "the upstream blocks us with 429s, I think the Retrier's attempt budget is too aggressive",
    ),
    ("assistant", "I will look at the attempt budget of the Retrier."),
    ("user", "Seven. Eight crosses the window."),
    (
        "assistant",
        "Understood: the attempt budget is exactly 7, since the 8th crosses the rate window.",
    ),
    ("user", "thanks"),
]
ONLY = "--history", "only"
NOTHING = "mem: nothing remembered matches this task"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A repository with a commit, a session of Claude Code, and no memory."""
    root = tmp_path / "shop"
    home = tmp_path / "home"
    root.mkdir()
    for name in ("HOME", "MEM_HOME"):
        monkeypatch.setenv(name, str(home))
    for name in ("state", "data"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("MEM_NOW", "2026-04-01")
    monkeypatch.chdir(root)
    finished("git", "init", "-qb", "main")
    commit(
        "Percent before fixed discounts\n\nFinance wants percent discounts applied before fixed ones."
    )
    session = "5f0e1a52-aaaa"
    path = home / ".claude/projects/x" / f"{session}.jsonl"
    held(path, session, root, CHAT, day="2026-03-04")
    return root


def commit(message):
    who = "-c", "user.name=Ana", "-c", "user.email=a@x"
    finished("git", *who, "commit", "-q", "--allow-empty", "-m", message)


def said(capsys, *arguments, code=0):
    assert run(arguments) == code, capsys.readouterr()
    return capsys.readouterr().out


def test_history_is_found_without_any_memory(shop, capsys):
    """In a block, in one list, by its handle; the second run reads nothing; nothing in
    the tree."""
    report = json.loads(said(capsys, "index", "--history", "--json"))
    assert (report["sessions"], report["commits"], report["problems"]) == (1, 1, [])
    again = json.loads(said(capsys, "index", "--history", "--json"))
    assert again["new"] == {"sessions": 0, "exchanges": 0, "commits": 0}
    block = said(capsys, "recall", PROMPT)
    assert all(
        t in block
        for t in ("exactly 7", "untrusted", "session with claude, 2026-03-04")
    )
    hit = json.loads(said(capsys, "recall", PROMPT, "--ranked", "--json"))["hits"][0]
    assert (
        hit["layer"],
        hit["source"],
        hit["session_id"],
        hit["agent"],
        hit["level"],
    ) == (
        "history",
        "session",
        "5f0e1a52-aaaa",
        "claude",
        None,
    )
    assert hit["id"][:10] == "s:5f0e1a5."
    assert hit["turn"]
    assert hit["date"][:10] == "2026-03-04"
    assert "Seven" in said(capsys, "show", "s:5f0e1a5")
    head = finished("git", "rev-parse", "HEAD").stdout.strip()
    for other in (f"s:{head[:7]}", "c:5f0e1a5"):  # of the other kind
        said(capsys, "show", other, code=2)
    assert "Percent" in said(
        capsys, "recall", "percent and fixed discounts: which first?", *ONLY
    )
    assert said(capsys, "recall", PROMPT, "--history", "off") == ""
    assert said(capsys, "recall", PROMPT, "--agent", "codex") == ""
    assert said(capsys, "recall", PROMPT, "--until", "2026-01-01") == ""
    assert [path.name for path in shop.iterdir()] == [".git"]


def test_what_falls_short_of_the_gate_is_named_alone(shop, capsys):
    """By its handle, where it shares more than one word with the task; in no answer."""
    words = "behave differently sometimes unlike elsewhere usually".split()
    for word in words:
        commit(f"Say how plugins {word}")
    commit("Page through more.com on Windows")
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    handle = f"c:{done.stdout[:7]}"
    said(capsys, "index", "--history")
    task = "the page on windows", *words
    for more in ((), ("--json",), ONLY):
        assert run(("recall", " ".join(task), *more)) == 0
        shown = capsys.readouterr()
        assert "more.com" not in shown.out and handle not in shown.out
        assert shown.err == f"{NOTHING}; nearest in history: {handle}\n"
    assert run(("recall", "windows of cathedrals, differently")) == 0
    assert capsys.readouterr().err == f"{NOTHING}\n"


def test_others_may_write_while_sessions_are_read(shop, capsys, monkeypatch):
    """A long one takes seconds to be read and cleaned."""
    free = []

    def cleaned(texts):
        with sqlite3.connect(str(path_of(shop)), timeout=0) as other:
            other.execute("BEGIN IMMEDIATE")
            free.append(texts)
        return clean_texts(texts)

    monkeypatch.setattr("memcli.history.backfill.clean_texts", cleaned)
    said(capsys, "index", "--history")
    assert free and "exactly 7" in said(capsys, "recall", "attempt budget", *ONLY)


def test_recall_adds_a_new_commit_and_doctor_names_the_record(
    shop, capsys, monkeypatch
):
    """Few new commits are there without being asked for; many are named."""
    said(capsys, "index", "--history")
    commit(
        "Tombstones suppress tags of lower precedence only\n\nNever a tag that a higher source asserts."
    )
    asked = "do tombstones suppress tags that a higher source asserts?"
    assert "lower precedence" in said(capsys, "recall", asked, *ONLY)
    rows = json.loads(said(capsys, "doctor", "--json"))["checks"]
    assert next(row for row in rows if row["name"] == "history")["status"] == "PASS"
    monkeypatch.setattr("memcli.history.commits.FEW", 0)
    commit("Herons wait for low tide")
    assert run(("recall", "herons at low tide", *ONLY)) == 0
    assert "new commits are not searched yet" in capsys.readouterr().err


def test_commits_that_have_only_a_subject_are_shown_side_by_side(shop, capsys):
    """Those that share the task's words alone do not make each other old; one word is
    enough."""
    words = (
        "colour shape order size index first last legal errata names dates maps".split()
    )
    subjects = [f"Tidy the {word} page of the manual" for word in words]
    subjects += [
        "Fix the limit of parallel tool calls",
        "Order results of parallel tool calls",
    ]
    for subject in subjects:
        commit(subject)
    said(capsys, "index", "--history")
    found = said(capsys, "recall", "how do parallel tool calls run")
    assert all(subject in found for subject in subjects[-2:])
    assert "manual" not in found
    assert "older than" not in found
    assert said(capsys, "recall", "manual").count("of the manual") == 5


def test_a_commit_is_quoted_in_whole_sentences(project):
    """Lines are joined where a mailer broke them; what no page shows is left out."""
    project.write("cart.py", "x = 1\n")
    project.commit(
        "Freeze the cart clock\n\n"
        "Around midnight the fixture and the assertion disagree, which makes\n"
        "`test_expiry` fail. It is frozen now. (unlike the orders clock)\n\n"
        "<!-- Describe your change here -->\n\nFixes #12\n"
    )
    project.ok("index", "--history")
    quoted = [
        line
        for line in project.ok("recall", "cart clock expiry").out.splitlines()
        if line.startswith("> ")
    ]
    assert quoted == [
        "> Around midnight the fixture and the assertion disagree, which makes"
        " `test_expiry` fail. It is frozen now. (unlike the orders clock)"
    ]


def test_the_first_commits_of_a_repository_are_found_by_recall(shop, capsys):
    """It had none when the record was made."""
    finished("git", "checkout", "-q", "--orphan", "anew")
    said(capsys, "index", "--history")
    commit("Tombstones keep tags of higher sources")
    assert "c:" in said(capsys, "recall", "do tombstones keep tags?", *ONLY)


def test_what_is_forgotten_stays_forgotten(shop, capsys):
    """The transcript is still there; a dry run deletes nothing."""
    said(capsys, "extract")
    assert "would forget" in said(
        capsys, "forget", "--session", "s:5f0e1a5", "--dry-run"
    )
    everything = said(capsys, "forget", "--all", "--dry-run").splitlines()[0]
    counted = re.fullmatch(
        r"would forget (\d+) sessions? and (\d+) commits?", everything
    )
    assert counted and counted[1] == "1" and int(counted[2]) > 0, everything
    assert "exactly 7" in said(capsys, "recall", PROMPT, *ONLY)
    assert "forgot" in said(capsys, "forget", "--session", "s:5f0e1a5")
    said(capsys, "index", "--history")
    assert "exactly 7" not in said(capsys, "recall", PROMPT, *ONLY)
    said(capsys, "show", "s:5f0e1a5", code=2)
    for nothing in ([], ["--before", "2026-13-01"], ["--before", "2099-01-01"]):
        said(capsys, "forget", *nothing, code=2)
    (session,) = (shop.parent / "home").glob(".claude/projects/x/*.jsonl")
    finished("rm", "-rf", "MEMORY.md", "tasks")
    assert "nothing was said" in said(capsys, "extract", str(session))


def test_forgotten_commits_come_back_on_request_and_sessions_never(shop, capsys):
    """It says so, before and after; so do doctor and whoever reads history again."""
    again = "none of it is read again; to read the commits again: mem index --history --rebuild"
    said(capsys, "index", "--history")
    assert again in said(capsys, "forget", "--all", "--dry-run")
    assert again in said(capsys, "forget", "--all")
    assert said(capsys, "index", "--history").endswith("; forgotten: 2\n")
    assert "not read again: 1 session and 1 commit" in said(capsys, "doctor")
    rebuilt = said(capsys, "index", "--history", "--rebuild")
    assert "0 sessions, 1 commit" in rebuilt
    assert "not read again: 1 session and 0 commits" in said(capsys, "doctor")


def test_switched_off_nothing_is_kept(shop, capsys):
    """Neither by extract nor when asked."""
    said(capsys, "extract", "--set", "history=false")
    said(capsys, "index", "--history", "--set", "history=false", code=2)
    assert not (shop.parent / "state/mem/history").exists()


@pytest.fixture
def talkative(shop, capsys):
    """Seven commits about caching, each in its own words."""
    for part in "menus prices users photos orders carts ratings".split():
        commit(f"Cache {part}\n\nCaching {part} of a shop makes its {part} page fast.")
    said(capsys, "index", "--history")
    return shop


@pytest.mark.usefixtures("talkative")
def test_without_a_bound_of_tokens_history_has_as_many_hits_as_asked_for(capsys):
    """Within a bound five are the most."""
    asked = "recall", "why is caching fast", *ONLY, "--json", "--max-tokens"
    bounded = json.loads(said(capsys, *asked, "9000", "--limit", "9"))["hits"]
    every = json.loads(said(capsys, *asked, "0", "--limit", "9"))["hits"]
    six = json.loads(said(capsys, *asked, "0", "--limit", "6"))["hits"]
    assert len(bounded) <= 5
    assert (len(every), len(six)) == (7, 6)


@pytest.mark.usefixtures("vectors", "talkative")
def test_a_damaged_table_leaves_history_to_its_words(tmp_path, monkeypatch, capsys):
    """That is said once."""
    table = tmp_path / "vectors.sqlite"
    table.write_bytes(b"\xff" * 9999)
    monkeypatch.setattr(local, "TABLE", table)
    assert run(("recall", "why is caching fast", *ONLY)) == 0
    shown = capsys.readouterr()
    assert "Caching" in shown.out
    assert shown.err.count("words alone were searched") == 1

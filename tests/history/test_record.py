"""The record: what is kept of sessions and commits, found by words, and deleted for
good."""

import os
import sqlite3

import pytest

from memcli.errors import DataError
from memcli.history import commits
from memcli.history.backfill import exchanges
from memcli.history.mends import AGAIN, mends
from memcli.history.record import opened
from memcli.index.past import found_in, search
from memcli.memory.docs import Doc
from memcli.memory.tombstones import Forgotten
from memcli.recall.excerpts import excerpt
from memcli.recall.history_layer import HistoryLayer
from memcli.sessions.model import Turn
from memcli.sessions.reader import read_all
from tests.commands.talk import held
from tests.programs import finished

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


@pytest.fixture
def record(tmp_path):
    with opened(tmp_path / "history/r.db", make=True) as made:
        assert made is not None
        yield made


def said(unit, turn, person, agent="", date="2026-03-04T10:00:00Z"):
    texts = (("person", person), ("agent", agent))
    kept = tuple(each for each in texts if each[1])
    return Doc(
        source="session",
        unit=unit,
        turn=0,
        key=f"s:{unit}-{turn}",
        who="claude",
        date=date,
        title=person[:80],
        said=kept,
    )


def committed(unit, text, **about):
    """A commit with that message."""
    return Doc(
        source="commit",
        unit=unit,
        turn=0,
        key=f"c:{unit}",
        who="Ana",
        date="2026-01-01",
        title=text.partition("\n")[0],
        said=(("person", text),),
        about=about,
    )


def chat(tmp_path, *messages, name="s1"):
    path = tmp_path / f"{name}.jsonl"
    return held(path, name, tmp_path, messages, day="2026-03-04")


NOISE = [
    said(
        f"noise{n}",
        0,
        f"please rename the helper number {n} in module {n % 7}",
        "Renamed it.",
    )
    for n in range(60)
]


def test_an_exchange_is_what_was_said_up_to_the_next_words_of_the_person(
    tmp_path, record
):
    """Tool output stays out but for the error line; files and commands are facets; no
    credentials."""
    call = {
        "type": "tool_use",
        "id": "t",
        "name": "Bash",
        "input": {"command": "pytest -q"},
    }
    edit = {
        "type": "tool_use",
        "id": "e",
        "name": "Edit",
        "input": {"file_path": f"{tmp_path}/src/a.py", "old_string": "x"},
    }
    bad = {
        "type": "tool_result",
        "tool_use_id": "t",
        "is_error": True,
        "content": "collected 3\nE  AssertionError: boom\n" + "x" * 900,
    }
    path = chat(
        tmp_path,
        ("user", f"the cart test fails, my key is {TOKEN}"),
        ("assistant", [{"type": "text", "text": "Running it."}, call, edit]),
        ("user", [bad]),
        (
            "assistant",
            [{"type": "text", "text": "Frozen now. <private>hunter2</private>"}],
        ),
        ("user", "no: freeze time with the fixture"),
    )
    docs = list(exchanges(read_all(path, brief=2)[0]))
    assert [doc.title[:13] for doc in docs] == ["the cart test", "no: freeze ti"]
    assert docs[0].about == {"paths": ["src/a.py"], "commands": ["pytest -q"]}
    text = docs[0].text
    assert "boom" in text and "collected" not in text and "xxx" not in text
    assert TOKEN not in text and "hunter2" not in text
    assert record.add(docs) == 2 and record.add(docs) == 0
    assert [doc.turn for doc in record.stretch("s1", 1, 9)] == [1, 2]


def bash(line, *, error="", call):
    given = {"command": line}
    return [
        Turn("assistant", "", "assistant", "k", tool="Bash", input=given, call=call),
        Turn("tool", error, "tool:Bash", "k", error=bool(error), call=call),
    ]


def test_what_mends_is_what_was_done_since_the_last_failure():
    """With this error, up to the first success of what the line runs, whatever stands
    beside it."""
    turns = [
        *bash("make all", error="fatal: no rule", call="a"),
        *bash("touch one", call="b"),
        *bash("sudo make all | tail -5", error="error: no two", call="c"),
        *bash("touch two", call="x"),
        *bash("make all", error="error: no two", call="y"),
        *bash("./configure", call="d"),
        *bash("make all", call="e"),
        *bash("make all", call="f"),
        *bash("make docs", error="error: no docs", call="g"),
        *bash("make docs", call="h"),
    ]
    first, last, docs = mends(turns)
    assert first.error == "fatal: no rule"
    assert first.done == ", ".join(
        f"`{line}` was run" for line in ("touch one", "touch two", "./configure")
    )
    assert last.error == "error: no two"
    assert last.done == "`./configure` was run"
    assert (docs.command, docs.done) == ("make docs", AGAIN)


def test_a_fork_counts_once_and_a_grown_exchange_is_replaced(tmp_path, record):
    """The event's own name decides."""
    exchange = ("user", "bump the retry limit"), ("assistant", "RETRY is 9.")
    first = chat(tmp_path, *exchange)
    record.add(exchanges(read_all(first)[0]))
    fork = tmp_path / "s2.jsonl"
    fork.write_text(first.read_text().replace('"s1"', '"s2"'))
    assert record.add(exchanges(read_all(fork)[0])) == 0
    grown = chat(tmp_path, *exchange, ("assistant", "And the tests pass."))
    assert record.add(exchanges(read_all(grown)[0])) == 1
    docs = record.stretch("s1", 0, 9)
    assert len(docs) == 1 and "tests pass" in docs[0].text


def test_of_an_exchange_that_grows_before_it_is_indexed_no_word_is_left_twice(record):
    said_once = said("s1", 1, "bump the retry limit")
    grown = said("s1", 1, "bump the retry limit", "and the tests pass")
    assert record.add([said_once, said("s1", 2, "another thing"), grown]) == 3
    assert record.rows("SELECT count(*) FROM words WHERE words MATCH 'retry'") == [(1,)]
    record.db.execute("INSERT INTO words (words) VALUES ('integrity-check')")


def test_found_by_the_turn_that_matches_shown_by_what_was_concluded(record):
    """The question's words stand in the first turn; the rule in a later one."""
    record.add(NOISE)
    record.add([
        said("retry", 1, "the upstream blocks us with 429s, the retry budget is too aggressive", "Let me look at it."),
        said("retry", 2, "5 leaves retries on the table", "How many fit into the window?"),
        said("retry", 3, "Seven. Eight trips it.", "Understood: the retry budget is exactly 7 attempts, never 8."),
        said("retry", 4, "thanks, great", "You are welcome!"),
    ])  # fmt: skip
    record.settle()
    asked, hits = search(
        record, "the upstream rate limit: the retry budget goes past its window"
    )
    assert hits[0].doc.unit == "retry"
    text = " ".join(text for _, text in excerpt(hits[0], asked, 160))
    assert "exactly 7 attempts" in text and "welcome" not in text
    assert len(text) < 240
    more = " ".join(text for _, text in excerpt(hits[0], asked, 160, [text]))
    assert (
        more and "exactly 7 attempts" not in more
    )  # what is known makes room for the rest


def test_the_sentence_that_decides_is_shown_of_a_script_without_blanks(record):
    answer = "先看现状。磁盘和网络都没有压力。上传服务的限速规则决定为每分钟四十五次。"
    record.add([said("zh", 1, "怎么看？", answer)])
    record.settle()
    asked, hits = search(record, "上传服务的限速规则")
    assert "四十五" in str(excerpt(hits[0], asked, 50))


def test_of_two_about_the_same_thing_the_newer_goes_first(record):
    """Although the older has more of the question's words; it says which is newer."""
    record.add(NOISE)
    old = "retry policy for the gateway client: backoff ceiling 60 seconds, attempts, idle timeout"
    new = "amending the retry policy of the gateway: backoff ceiling is 30 seconds now"
    record.add([said("old", 1, old, "So the rule: cap the backoff at 60.", "2026-01-01T00:00:00Z"),
                said("new", 1, new, "So the rule: cap the backoff at 30.", "2026-02-01T00:00:00Z")])  # fmt: skip
    record.settle()
    _, hits = search(
        record,
        "gateway client retry policy: attempts and idle timeout, what is the backoff ceiling",
    )
    assert [hit.doc.unit for hit in hits[:2]] == ["new", "old"]
    assert hits[1].newer == hits[0].doc.handle and not hits[0].newer


def test_a_reason_goes_before_a_bare_subject(record):
    """Although it is longer; a commit and its merge are one hit, the one that says
    all."""
    record.add(NOISE)
    why = "A reader of the manual found it: with options in it the shell would quote an ampersand of the editor twice."
    texts = {"bare": "Quote the editor", "reason": f"Keep ampersands\n\n{why}", "merge": "Keep ampersands (#12)", "pr": "The editor\n\nHow ampersands of the shell are told."}  # fmt: skip
    merged = {"pr": {"merged": ["bare"]}}
    for unit, text in texts.items():
        record.add([committed(unit, text, **merged.get(unit, {}))])
    _, hits = search(record, "why not quote the shell ampersands of the editor")
    assert [hit.doc.unit for hit in hits] == ["reason", "pr"]


def test_a_subject_goes_before_a_body_that_names_all_it_touches(record):
    """Although the body has one of the task's words more."""
    record.add(NOISE)
    touched = "Options of transform that were ignored are rename, drop, types; also redundant lookup of indexes of a table."
    texts = {"subject": "Transform keeps the indexes", "body": f"Match names of columns in any case\n\n{touched}"}  # fmt: skip
    record.add(committed(unit, text) for unit, text in texts.items())
    _, hits = search(record, "transform drops the indexes of a table")
    assert [hit.doc.unit for hit in hits] == ["subject", "body"]


@pytest.mark.parametrize("task", [
    "why is colorama no longer a dependency",
    "how come we do not use colorama any more",
    "why did we get rid of colorama",
    "what happened to colorama",
    "why was colorama dropped",
])  # fmt: skip
def test_what_is_asked_about_what_is_gone_is_answered_by_its_removal(record, task):
    """Whatever words the question has; what every project says counts for little."""
    subjects = {
        "added": "Add colorama as a dependency on Windows",
        "removed": "Remove colorama",
        "used": "Colour the dependency graph by colorama",
        "longer": "Arguments are no longer allowed in chain mode",
        "happened": "Say what happened to the lock, it is a dependency",
    }
    record.add([*NOISE, *(committed(unit, text) for unit, text in subjects.items())])
    layer = HistoryLayer(found_in(record, task, search(record, task)), 0.8)
    assert layer.hits[0].doc.unit == "removed"


def test_where_a_word_stands_nowhere_what_has_the_others_is_no_answer(record):
    """Nobody ever said Kafka; of what was said "use" is the least."""
    uses = [f"walrus: use {name} for errors" for name in range(40)]
    record.add([*NOISE, *(committed(text, text) for text in uses)])
    record.add([committed("code", "walrus: use exit code 2 for errors")])
    answered = {
        "why does walrus not use kafka": False,
        "why does walrus use exit codes": True,
    }
    for task, is_answered in answered.items():
        layer = HistoryLayer(found_in(record, task, search(record, task)), 0.8)
        assert bool(layer.hits) is is_answered


def test_handles_are_as_long_as_they_have_to_be(record):
    """Names of some agents begin with the time, so that neighbours share more than
    seven digits."""
    record.add(
        [
            said(unit, 1, "the same hour")
            for unit in ("0195abc0-1", "0195abc0-2", "0195abc9", "7")
        ]
    )
    handles = {doc.handle for _, doc in record.select("1")}
    assert handles == {"s:0195abc0-1.1", "s:0195abc0-2.1", "s:0195abc9.1", "s:7.1"}


def test_words_met_by_chance_are_weak(record):
    """A prompt about anything is not answered because one of its words was said
    once."""
    record.add(NOISE)
    task = "what does the walrus operator do in a module"
    assert not HistoryLayer(found_in(record, task, search(record, task)), 0.5).hits
    assert search(record, "???")[1] == [] == search(record, "")[1]


def test_what_was_forgotten_is_gone_from_the_file_and_never_read_again(record):
    """Rows, full text and bytes; by session, by date, and all."""
    docs = [
        said("one", 1, "the zanzibar protocol is secret", "noted"),
        said("two", 1, "the quux protocol", "ok"),
    ]
    record.add(docs)
    assert record.forget(unit="one") == ["one"]
    assert (
        search(record, "zanzibar protocol")[1] == []
        or search(record, "zanzibar")[1] == []
    )
    record.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"zanzibar" not in record.path.read_bytes()
    assert record.add(docs) == 0
    assert record.forget(before="2026-12-31") == ["two"]
    assert record.add(docs) == 0 and record.counts()["exchanges"] == 0
    committed = docs[0]._replace(source="commit", unit="c0ffee1", key="c:c0ffee1")
    record.forget(all_until="2026-12-31")
    assert record.add([committed]) == 0
    record.read_commits_again()
    assert record.add([committed, *docs]) == 1
    record.forget(all_until="2026-12-31")
    assert record.add([committed]) == 0


def test_the_bounds_hold(record):
    """What is too old goes and is not read again; of commits the newest stay."""
    record.add(
        [
            said("old", 1, "ancient words here", "yes", "2020-01-01T00:00:00Z"),
            *NOISE[:3],
        ]
    )
    record.prune("2026-01-01", 10, 500)
    assert record.counts()["sessions"] == 3
    assert (
        record.add(
            [said("old", 1, "ancient words here", "yes", "2020-01-01T00:00:00Z")]
        )
        == 0
    )


def test_a_record_is_private_and_a_damaged_one_is_named(tmp_path):
    """0600; another program's file is not taken for one."""
    path = tmp_path / "history/r.db"
    with opened(path) as nothing:
        assert nothing is None and not path.exists()
    with opened(path, make=True):
        pass
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"SQLite format 3\0" + b"garbage" * 2000)
    with pytest.raises(DataError, match="cannot be used"), opened(path) as record:
        assert record is not None and record.counts()
    full = sqlite3.OperationalError("database or disk is full")
    with pytest.raises(DataError) as told, opened(tmp_path / "full.db", make=True):
        raise full
    assert "move" not in told.value.hint  # nothing is wrong with what is in it


def git(folder, *arguments):
    whole = ["git", "-c", "user.name=Ana", "-c", "user.email=a@x", *arguments]
    done = finished(*whole, cwd=folder)
    return done.stdout.strip()


def commit(folder, message, file="a.py"):
    (folder / file).write_text(message)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def test_a_recall_adds_few_commits_and_says_which_wait(tmp_path):
    """Many, or those of a branch that was rewritten, which may be one."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-qb", "main")
    commit(repo, "Cap the backoff at 60 s")
    path = tmp_path / "history.db"

    def added():
        return commits.add_few(path, repo, 100, Forgotten)

    with opened(path, make=True) as record:
        commits.add_commits(record, repo, limit=100)
    commit(repo, "Retry the upload twice")
    assert added() == ""
    git(repo, "commit", "-q", "--amend", "-m", "Retry the upload three times")
    assert added() == commits.REWRITTEN
    with opened(path) as record:
        commits.add_commits(record, repo, limit=100)
    assert added() == ""
    for number in range(commits.FEW + 1):
        git(repo, "commit", "-q", "--allow-empty", "-m", f"Empty {number}")
    assert added() == commits.MANY


def test_commits_that_say_something_are_kept_as_they_come(tmp_path, record):
    """Incrementally; version bumps out; a revert says what it takes back; other
    branches do not count."""
    repo = tmp_path / "repo"
    repo.mkdir()
    assert commits.add_commits(record, repo, limit=100) == (0, "")
    git(repo, "init", "-qb", "main")
    assert commits.add_commits(record, repo, limit=100) == (0, "")
    first = commit(
        repo,
        f"Cap the backoff at 60 s\n\nThe gateway kills idle connections. {TOKEN}\n\nSigned-off-by: A <a@x>",
    )
    commit(repo, "Bump version to 1.2.3")
    assert commits.add_commits(record, repo, limit=100) == (1, "")
    assert commits.add_commits(record, repo, limit=100) == (0, "")
    commit(
        repo,
        f'Revert "Cap the backoff at 60 s"\n\nThis reverts commit {first}.',
        "b.py",
    )
    assert commits.add_commits(record, repo, limit=100, only_few=True) == (1, "")
    _, hits = search(
        record, "why cap at 60 s for the gateway"
    )  # a word of the revert: "cap"
    assert (
        hits[0].doc.title.startswith("Revert") and hits[1].newer == hits[0].doc.handle
    )
    docs = {hit.doc.unit: hit.doc for hit in hits}
    assert TOKEN not in str(docs) and "Signed-off" not in str(docs)
    assert (
        docs[first].about["paths"] == ["a.py"]
        and docs[first].handle == f"c:{first[:7]}"
    )
    assert set(record.superseding(docs.values())) == {first}
    git(tmp_path, "clone", "-q", "--depth=1", repo.as_uri(), "few")
    with opened(tmp_path / "few.db", make=True) as few:
        assert (
            few
            and "unshallow" in commits.add_commits(few, tmp_path / "few", limit=100)[1]
        )
        git(tmp_path / "few", "fetch", "-q", "--unshallow")
        assert commits.add_commits(few, tmp_path / "few", limit=100) == (1, "")
    git(repo, "checkout", "-qb", "other", first)
    commit(repo, "Another way for the backoff", "c.py")
    assert commits.add_commits(record, repo, limit=100)[0] == 1
    assert record.units(first[:9]) == [first] and record.counts()["commits"] == 3
    for robot in (
        "Tidy the lock file",
        "Fall back to LOW\n\nCo-authored-by: Ana <a@x>",
        "Update the versions\n\nCo-authored-by: Acme CI Bot <ci@x>",
    ):
        git(
            repo,
            "commit",
            "-qm",
            robot,
            "--allow-empty",
            "--author",
            "agent[bot] <b@x>",
        )
    assert (
        commits.add_commits(record, repo, limit=100)[0] == 1
    )  # what it wrote with a person
    assert not any(
        "Revert" in hit.doc.title
        for hit in search(record, "revert the backoff of the gateway")[1]
    )


@pytest.mark.parametrize(
    ("subject", "author", "noise"),
    [
        ("v1.2.3", "Ana", True), ("Bump requests from 2.1 to 2.2", "dependabot[bot]", True), ("Release 2.0.0rc1", "Ana", True),
        ("bump version 24.1.0 -> 24.2.0", "Ana", True), ("Drop Python 3.8", "Ana", False), ("Cap at 7 attempts", "Ana", False),
        ("Release the lock before 3.11 exits", "Ana", False), ("Update the configs", "acme-ci-bot", True), ("Cap at 7", "Ana Talbot", False),
    ],
)  # fmt: skip
def test_numbers_of_versions_say_nothing(subject, author, noise):
    """Nor do robots."""
    assert commits.is_noise(subject, "", f"{author} <a@x>", merge=False) is noise

"""mem health: the score of real files, its history, its page."""

import sqlite3
from contextlib import closing

from memcli.app import Options, opened
from memcli.index import whole
from memcli.storage.files import state_dir
from memcli.storage.state import SessionLog, Turns

KEYS = set(
    "version score band metrics counts llm nudge problems sparse_only doubts".split()
)
METRICS = set("freshness coverage coherence efficiency reachability".split())
COUNTS = set("entries live files tokens level type kind status".split())
THEME = [
    "The payment webhook retries a request without its idempotency key",
    "The payment webhook drops a request when its signature is old",
    "The payment queue retries a request after the webhook timeout",
    "The refund queue drops a request without its signature",
]


def store(project, **values):
    """Four entries on one theme."""
    entries = [
        project.entry(title, f"{title}, seen {number}.", id=f"e{number}", **values)
        for number, title in enumerate(THEME)
    ]
    project.memory(*entries)


def found_by(project, *args, **options):
    found = project.ok("health", "--json", *args, **options)
    return dict(found.json)


def measured(project):
    metrics = found_by(project)["metrics"]
    return {name: metric["value"] for name, metric in metrics.items()}


def test_json_has_exactly_these_keys(project):
    """The contract, the same from inside a job; the proxy counts nowhere."""
    store(project)
    project.write(".mem/jobs/j/MEMORY.md", project.entry("Job", "job note"))
    project.write("proxy.md", project.entry("Private", "private"))
    found = found_by(project)
    assert set(found) == KEYS
    assert found["version"] == 1
    assert set(found["metrics"]) == METRICS
    assert set(found["counts"]) == COUNTS
    for metric in found["metrics"].values():
        assert set(metric) == {"value", "weight", "reason", "raise_with"}
    assert found["counts"]["level"] == {"project": 4, "job": 1}
    assert found_by(project, cwd=project.root / ".mem/jobs/j") == found


def test_what_was_imported_leads_to_its_source(project):
    """An entry that names the file it was taken from can be followed to it."""
    project.write("AGENTS.md", "- Never mock the payment gateway.\n")
    project.ok("import", "AGENTS.md")
    assert measured(project)["reachability"] == 100


def test_an_empty_store_is_zero(project):
    """Red, exit 0, how to begin; nothing is made. Retired entries are nothing to
    measure."""
    found = project.mem("health", "--json")
    assert (found.code, found.json["score"], found.json["band"]) == (0, 0, "red")
    assert "mem add" in found.err
    assert not state_dir().exists()
    project.ends(1, "health", "--check", "--set", "health_min=1")
    store(project, status="retired")
    retired = found_by(project)
    assert retired["score"] == retired["counts"]["live"] == 0
    assert retired["counts"]["status"] == {"retired": 4}


def test_each_metric_names_the_command_that_raises_it(project):
    """And the command does; what cannot be read lowers coverage."""
    store(project)
    for number in range(5):
        old = project.entry(
            f"Old {number}",
            f"old {number} thing{number}",
            created_at="2020-01-01",
            importance=0.1,
        )
        project.write(f"tasks/{number}.md", old)
    stale = found_by(project)["metrics"]["freshness"]
    assert stale["raise_with"] == "mem compact --stale"
    assert "5 would be archived" in stale["reason"]
    project.ok("compact", "--stale")
    fresh = measured(project)
    assert fresh["freshness"] > stale["value"]
    assert fresh["coverage"] == 100
    with closing(sqlite3.connect(project.index_file, isolation_level=None)) as db:
        db.execute("DELETE FROM chunks WHERE entry IN ('e1', 'e2')")
        whole.note(db, project.index_file)
    lost = found_by(project)["metrics"]["coverage"]
    assert lost["value"] == 50
    assert "2 of 4 entries" in lost["reason"]
    project.ok(*lost["raise_with"].split()[1:])
    assert measured(project)["coverage"] == 100
    project.write("tasks/bad.md", b"\xff\xfe\x00\x00 not text \xff")
    unread = found_by(project)["metrics"]["coverage"]
    assert unread["value"] == 80
    assert "1 file could not be read" in unread["reason"]


def test_check_exits_1_below_the_least_score(project):
    """At the score itself it is 0."""
    store(project)
    score = found_by(project)["score"]
    project.ok("health", "--check", "--set", f"health_min={score}")
    low = project.ends(1, "health", "--check", "--set", f"health_min={score + 0.1}")
    assert "below" in low.err
    assert low.out


def test_one_snapshot_a_day(project):
    """The last of a day counts; --history shows each day, the oldest first."""
    store(project)
    for day in ("2026-11-01", "2026-11-03", "2026-11-03", "2026-11-20"):
        project.ok("health", env={"MEM_NOW": day})
    project.mem("retire", "e0")
    shown = project.mem("health", "--history")
    rows = [line.split("\t") for line in shown.out.splitlines()]
    assert [row[0] for row in rows] == [
        "2026-11-01",
        "2026-11-03",
        "2026-11-20",
        "2026-11-21",
    ]
    assert [row[7] for row in rows] == ["4", "4", "4", "3"]
    assert {len(row) for row in rows} == {9}
    days = project.mem("health", "--history", "--json").json["history"]
    assert [day["day"] for day in days] == [row[0] for row in rows]
    assert set(days[0]) == {"day", "score", "entries", "tokens", "metrics"}


def test_the_nudge_comes_with_60_prompts_since_the_last_write(project):
    """Counted over sessions; what was written meanwhile starts anew."""
    store(project)
    newest = project.memory_file.stat().st_mtime_ns
    with opened(Options(root=str(project.root))) as app, app.state() as history:
        SessionLog(history).remember_turns("a", Turns(40, newest), "2026-11-21")
        SessionLog(history).remember_turns("b", Turns(19, newest), "2026-11-21")
        assert project.mem("health", "--json").json["nudge"] == {
            "prompts": 59,
            "due": False,
        }
        SessionLog(history).remember_turns("b", Turns(20, newest), "2026-11-21")
    assert project.mem("health", "--json").json["nudge"] == {"prompts": 60, "due": True}
    assert (
        "60 prompts since the last write to memory: mem extract"
        in project.mem("health").out
    )
    project.mem("add", "Something new was learned")
    assert project.mem("health", "--json").json["nudge"] == {"prompts": 0, "due": False}


def test_a_file_half_wrong_is_not_green(project):
    """What nobody confirmed in 90 days, opposites, names that are gone, proposals that
    wait: each is named with its command, and bounds the score."""
    project.write("src/cart.py", "def total():\n    return 1\n")
    project.remembers("Cart", "The sum stands in `src/cart.py`.", id="gone-1")
    project.commit()
    project.git("rm", "-q", "src/cart.py")
    project.commit()
    old = {"created_at": "2026-07-01", "session_id": "s-1", "reinforcement_count": 0}
    texts = [
        project.entry("Email", "I never got that email.", id="old-1", **old),
        project.entry("Tests", "You never run the tests.", id="old-2", **old),
        project.entry("Log", "Always log the proxy password.", id="yes-1"),
        project.entry("No log", "Never log the proxy password.", id="no-1"),
        *(
            project.entry(
                f"Fine {number}",
                f"{THEME[number]}, seen {number}.",
                id=f"fine-{number}",
            )
            for number in range(3)
        ),
    ]
    project.write("tasks/a.md", "".join(texts))
    project.mem("doctor", "--stale")  # reads what the code has
    found = found_by(project)
    doubts = found["doubts"]
    assert doubts["unconfirmed"] == ["old-1", "old-2"]
    assert doubts["gone"] == ["gone-1"]
    assert [set(pair) for pair in doubts["contradictions"]] == [{"yes-1", "no-1"}]
    assert doubts["share"] == 0.5
    assert found["score"] <= 50
    assert found["band"] != "green"
    text = project.mem("health").out
    assert "in doubt: 50%" in text
    assert "mem edit ID --confirm" in text
    project.ok("edit", "old-1", "--confirm")
    assert found_by(project)["doubts"]["unconfirmed"] == ["old-2"]

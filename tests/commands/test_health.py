"""mem health: the score of real files, its history, its page."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from memcli.app import Options, opened
from memcli.storage.folders import state_dir
from memcli.storage.session_log import SessionLog, Turns
from tests.conftest import Project
from tests.views.test_page import Seen

KEYS = {
    "version",
    "score",
    "band",
    "metrics",
    "counts",
    "llm",
    "never_recalled",
    "nudge",
    "problems",
}
THEME = [
    "The payment webhook retries a request without its idempotency key",
    "The payment webhook drops a request when its signature is old",
    "The payment queue retries a request after the webhook timeout",
    "The refund queue drops a request without its signature",
]


def store(project: Project, **values: object) -> None:
    """Four entries on one theme."""
    text = "".join(
        project.entry(title, f"{title}, seen {i}.", id=f"e{i}", **values)
        for i, title in enumerate(THEME)
    )
    project.write("MEMORY.md", text)


def measured(project: Project, *args: str, **options: dict[str, str]) -> dict[str, float]:
    found = project.mem("health", "--json", *args, **options)  # type: ignore[arg-type]
    assert found.code == 0, found.err
    return {name: metric["value"] for name, metric in found.json["metrics"].items()}


def test_json_has_exactly_these_keys(project: Project) -> None:
    """The contract of the interface."""
    store(project)
    found = project.mem("health", "--json").json
    assert set(found) == KEYS and found["version"] == 1
    assert set(found["metrics"]) == {
        "freshness",
        "coverage",
        "coherence",
        "efficiency",
        "reachability",
    }
    assert all(
        set(metric) == {"value", "weight", "reason", "raise_with"}
        for metric in found["metrics"].values()
    )
    assert set(found["counts"]) == {
        "entries",
        "live",
        "files",
        "tokens",
        "level",
        "type",
        "kind",
        "status",
    }
    assert found["never_recalled"] is None
    again = project.mem("health", "--json").json
    assert again == found


def test_an_empty_store_is_zero(project: Project) -> None:
    """Score 0, red, exit 0; how to begin; nothing is made."""
    found = project.mem("health", "--json")
    assert (found.code, found.json["score"], found.json["band"]) == (0, 0, "red")
    assert "mem add" in found.err and not state_dir().exists()
    assert project.mem("health", "--min", "1").code == 1
    project.write("MEMORY.md", "")
    assert project.mem("health", "--json").json["score"] == 0


def test_only_retired_entries_are_an_empty_store(project: Project) -> None:
    """They are counted by status, and there is nothing to measure."""
    store(project, status="retired")
    found = project.mem("health", "--json").json
    assert (
        found["score"] == 0
        and found["counts"]["status"] == {"retired": 4}
        and found["counts"]["live"] == 0
    )


def test_old_entries_lower_freshness(project: Project) -> None:
    """90 days old is 50; policies do not fade, as in recall."""
    store(project, created_at="2026-08-23")
    assert measured(project)["freshness"] == 50
    store(project, created_at="2026-11-21")
    assert measured(project)["freshness"] == 100
    store(project, created_at="2020-01-01", kind="policy")
    assert measured(project)["freshness"] == 100


def test_stale_entries_name_the_command_that_archives_them(project: Project) -> None:
    """And the command does raise it."""
    old = "".join(
        project.entry(f"Old {i}", f"old {i} thing{i}", created_at="2020-01-01") for i in range(3)
    )
    project.write("MEMORY.md", old + project.entry("New", "new", created_at="2026-11-21"))
    before = project.mem("health", "--json").json["metrics"]["freshness"]
    assert before["raise_with"] == "mem compact --stale" and "3 would leave" in before["reason"]
    assert project.mem(*before["raise_with"].split()[1:], "--allow-loss").code == 0
    assert measured(project)["freshness"] > before["value"]


def test_rows_that_left_the_index_lower_coverage(project: Project) -> None:
    """And the command that is named brings them back."""
    store(project)
    assert measured(project)["coverage"] == 100
    db = sqlite3.connect(project.root / ".memory.db")
    with db:
        db.execute("DELETE FROM chunks WHERE entry IN ('e1', 'e2')")
    db.close()
    found = project.mem("health", "--json").json["metrics"]["coverage"]
    assert found["value"] == 50 and "2 of 4 entries" in found["reason"]
    assert project.mem(*found["raise_with"].split()[1:]).code == 0
    assert measured(project)["coverage"] == 100


def test_an_unreadable_file_lowers_coverage(project: Project) -> None:
    """It stands for one entry, and the answer is still an answer."""
    store(project)
    project.write("tasks/bad.md", b"\xff\xfe\x00\x00 not text \xff")
    found = project.mem("health", "--json")
    assert found.code == 0 and found.json["metrics"]["coverage"]["value"] == 80


def test_duplicates_lower_coherence_and_efficiency_until_they_are_merged(project: Project) -> None:
    """Copies of every entry; mem compact, which is named, brings the values back."""
    store(project)
    before = measured(project)
    copies = "".join(
        project.entry(title, f"{title}, seen {i}.")
        for i, title in enumerate(THEME)
        for _ in range(3)
    )
    project.write("MEMORY.md", (project.root / "MEMORY.md").read_text() + copies)
    found = project.mem("health", "--json").json["metrics"]
    for name in ("coherence", "efficiency"):
        assert found[name]["value"] < before[name], name
        assert found[name]["raise_with"] == "mem compact"
    assert project.mem("compact").code == 0
    after = measured(project)
    assert (after["coherence"], after["efficiency"]) == (before["coherence"], before["efficiency"])


@pytest.mark.parametrize(
    ("values", "linked"),
    [
        ({}, 0),
        ({"session_id": "s1"}, 25),
        ({"merged_from": ["gone"]}, 25),
        ({"promoted_to": ["gone"]}, 25),
        ({"supports": ["e1"]}, 50),
        ({"contradicts": ["e1"]}, 50),
        ({"supports": ["nowhere"]}, 0),
    ],
)
def test_links_make_reachable(project: Project, values: dict[str, object], linked: float) -> None:
    """A relation counts at both ends, one that leads nowhere at neither."""
    store(project)
    text = (project.root / "MEMORY.md").read_text()
    project.write(
        "MEMORY.md",
        text.replace(
            "id: e0\n", "id: e0\n" + "".join(f"{k}: {json.dumps(v)}\n" for k, v in values.items())
        ),
    )
    assert measured(project)["reachability"] == linked


def test_the_recall_log_makes_efficiency_and_tells_what_was_never_shown(project: Project) -> None:
    """A session that sees the same again and again lowers it."""
    store(project)
    project.write("tasks/zoo.md", project.entry("Zebra", "zebra stripes", id="zebra"))
    for session in ("a", "b", "c"):
        project.mem("recall", "payment webhook request signature queue", "--session", session)
    first = project.mem("health", "--json").json
    assert "3 sessions" in first["metrics"]["efficiency"]["reason"] and first["never_recalled"] == 1
    for _ in range(3):
        project.mem("recall", "payment webhook request signature queue", "--session", "a")
    assert measured(project)["efficiency"] < first["metrics"]["efficiency"]["value"]
    assert "1 live entry was never recalled" in project.mem("health").out


def test_min_exits_1_below(project: Project) -> None:
    """At the score itself it is 0."""
    store(project)
    score = project.mem("health", "--json").json["score"]
    assert project.mem("health", "--min", str(score)).code == 0
    low = project.mem("health", "--min", str(score + 0.1))
    assert low.code == 1 and "below" in low.err and low.out


def test_one_snapshot_a_day(project: Project) -> None:
    """The last of a day counts; --history shows each day, the oldest first."""
    store(project)
    for day in ("2026-11-01", "2026-11-03", "2026-11-03", "2026-11-20"):
        assert project.mem("health", env={"MEM_NOW": day}).code == 0
    project.mem("retire", "e0")
    shown = project.mem("health", "--history")
    rows = [line.split("\t") for line in shown.out.splitlines()]
    assert [row[0] for row in rows] == ["2026-11-01", "2026-11-03", "2026-11-20", "2026-11-21"]
    assert [row[7] for row in rows] == ["4", "4", "4", "3"] and {len(row) for row in rows} == {9}
    days = project.mem("health", "--history", "--json").json["history"]
    assert [day["day"] for day in days] == [row[0] for row in rows]
    assert set(days[0]) == {"day", "score", "entries", "tokens", "metrics"}


def test_jobs_count_wherever_it_is_asked_from(project: Project) -> None:
    """The health is the project's: from inside a job it is the same."""
    store(project)
    project.write(".mem/jobs/j/MEMORY.md", project.entry("Job", "job note"))
    project.write("proxy.md", project.entry("Private", "private"))
    inside = project.mem("health", "--json", cwd=project.root / ".mem/jobs/j").json
    assert inside == project.mem("health", "--json").json
    assert inside["counts"]["level"] == {"project": 4, "job": 1}


def test_text_fits_80_columns_without_colour_in_a_pipe(project: Project) -> None:
    """Each metric with its bar, reason and hint."""
    store(project)
    out = project.mem("health").out
    assert max(map(len, out.splitlines())) <= 80 and "\x1b" not in out
    assert "freshness" in out and "reachability" in out


def test_duplicates_that_compact_leaves_are_no_work_for_it(project: Project) -> None:
    """Of different jobs, or promoted: what is advised is then something else than mem compact."""
    body = "A message of the test before arrives late; call drain in the fixture before the first assertion."
    for job in ("a", "b", "c"):
        project.write(
            f".mem/jobs/{job}/MEMORY.md",
            project.entry("Drain the queue first", body, id=f"{job}-1"),
        )
    project.write("MEMORY.md", project.entry("Colours", "are in one file"))
    apart = project.mem("health", "--json").json["metrics"]
    assert "near-duplicate" in apart["coherence"]["reason"]
    assert apart["coherence"]["raise_with"].startswith("mem add")
    assert project.mem("compact", "--promote").code == 0
    promoted = project.mem("health", "--json").json["metrics"]
    assert "none has a near-duplicate" in promoted["coherence"]["reason"]
    assert promoted["efficiency"]["value"] == 100
    project.write("tasks/t.md", project.entry("Colours", "are in one file"))
    assert (
        project.mem("health", "--json").json["metrics"]["coherence"]["raise_with"] == "mem compact"
    )
    assert ": merged " in project.mem("compact").out


def test_a_small_store_is_told_what_can_be_done_now(project: Project) -> None:
    """Below 20 entries only work that is there is advised, and one line says what the rest waits
    for.
    """
    store(project)
    few = project.mem("health").out
    assert "raise it" not in few and few.count("20 entries and more") == 1
    old = [
        project.entry(f"Old {i}", f"old {i}", importance=0.1, created_at="2025-01-01")
        for i in range(3)
    ]
    project.write("tasks/old.md", "".join(old))
    stale = project.mem("health").out
    assert stale.count("raise it") == stale.count("raise it: mem compact --stale") == 1
    project.write(
        "tasks/many.md", "".join(project.entry(f"Note {i}", f"note {i}") for i in range(20))
    )
    many = project.mem("health").out
    assert "raise it: mem extract" in many and "20 entries and more" not in many


def test_html_writes_one_page(project: Project) -> None:
    """Beside the usual answer; hostile text is text in it; its words are the report's."""
    store(project, session_id="</script><script>alert(1)</script>")
    project.write(
        "tasks/x.md",
        project.entry("</script><img src=x onerror=alert(1)>", "text", supports=["e1"]),
    )
    done = project.mem("health", "--html", "out.html")
    assert done.code == 0 and "freshness" in done.out and "out.html" in done.err
    seen = Seen((project.root / "out.html").read_text(encoding="utf-8"))
    assert seen.tags.count("script") == 2 and "img" not in seen.tags
    assert len(json.loads(seen.scripts[0])["nodes"]) == 6
    assert project.mem("health", "--html", "no/such/folder/x.html").code == 2


def test_a_state_file_that_cannot_be_used_is_said_and_not_waited_for(project: Project) -> None:
    """Damaged or locked, the health is still told."""
    store(project)
    expected = measured(project)
    state = state_dir() / "state.db"
    db = sqlite3.connect(state, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    busy = project.mem("health", "--json")
    db.close()
    assert busy.code == 0 and "snapshot was not kept" in busy.err
    state.write_bytes(b"no database at all" * 100)
    broken = project.mem("health", "--json")
    assert (
        broken.code == 0 and "snapshot was not kept" in broken.err and "Traceback" not in broken.err
    )
    assert {k: m["value"] for k, m in broken.json["metrics"].items()} == expected


def test_a_damaged_index_is_built_anew(project: Project) -> None:
    """Said, and the answer is right."""
    store(project)
    expected = measured(project)
    (project.root / ".memory.db").write_bytes(b"garbage" * 500)
    for name in ("-wal", "-shm"):
        Path(f"{project.root}/.memory.db{name}").unlink(missing_ok=True)
    found = project.mem("health", "--json")
    assert found.code == 0 and "built anew" in found.err
    assert {k: m["value"] for k, m in found.json["metrics"].items()} == expected


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_read_only_tree_has_a_health(project: Project) -> None:
    """The index lies in the cache folder then."""
    store(project)
    project.root.chmod(0o555)
    try:
        found = project.powerless("health", "--json")
    finally:
        project.root.chmod(0o755)
    assert found.code == 0 and found.json["counts"]["live"] == 4


def test_the_nudge_comes_with_60_prompts_since_the_last_write(project: Project) -> None:
    """Counted over sessions; what was written meanwhile starts anew."""
    store(project)
    newest = (project.root / "MEMORY.md").stat().st_mtime_ns
    with opened(Options(root=str(project.root))) as app, app.state() as history:
        SessionLog(history).remember_turns("a", Turns(40, newest), "2026-11-21")
        SessionLog(history).remember_turns("b", Turns(19, newest), "2026-11-21")
        assert project.mem("health", "--json").json["nudge"] == {"prompts": 59, "due": False}
        SessionLog(history).remember_turns("b", Turns(20, newest), "2026-11-21")
    assert project.mem("health", "--json").json["nudge"] == {"prompts": 60, "due": True}
    assert "60 prompts since memory was last written: mem extract" in project.mem("health").out
    project.mem("add", "Something new was learned")
    assert project.mem("health", "--json").json["nudge"] == {"prompts": 0, "due": False}


# --- with vectors


def test_vectors_that_are_missing_lower_coverage(project: Project, vectors: None) -> None:
    """And mem index, which is named, brings them back."""
    store(project)
    assert measured(project)["coverage"] == 100
    db = sqlite3.connect(project.root / ".memory.db")
    with db:
        db.execute("DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE entry = 'e1')")
    found = project.mem("health", "--json").json["metrics"]["coverage"]
    assert found["value"] == 75 and "3 of 4 chunks have a vector" in found["reason"]
    with db:
        db.execute("DELETE FROM meta WHERE key = 'vectors'")
    db.close()
    assert project.mem(*found["raise_with"].split()[1:]).code == 0
    assert measured(project)["coverage"] == 100


def test_without_an_embedder_vectors_do_not_count(project: Project) -> None:
    """One that was switched off on purpose is nothing that is missing."""
    store(project)
    found = project.mem("health", "--json").json["metrics"]["coverage"]
    assert found["value"] == 100 and "vector" not in found["reason"]


def test_likeness_links(project: Project, vectors: None) -> None:
    """A similar edge makes reachable at both ends, and stands on the page once."""
    assert measured_of(project, "Zebra stripes", "Quartz is a mineral")["reachability"] == 0
    words = "The payment webhook retries late requests"
    assert (
        measured_of(project, f"{words} of carts", f"{words} and drops others")["reachability"]
        == 100
    )
    project.mem("health", "--html", "out.html")
    graph = json.loads(Seen((project.root / "out.html").read_text(encoding="utf-8")).scripts[0])
    assert [edge[2] for edge in graph["edges"]] == ["similar"]


def measured_of(project: Project, *bodies: str) -> dict[str, float]:
    project.write("MEMORY.md", "".join(project.entry("Note", body) for body in bodies))
    return measured(project)


def test_coherence_is_the_cosine_and_duplicates_earn_nothing(
    project: Project, vectors: None
) -> None:
    """Related entries have more of it than unrelated ones, copies none."""
    store(project)
    found = project.mem("health", "--json").json["metrics"]["coherence"]
    assert "cosine" in found["reason"] and 0 < found["value"] <= 100
    apart = measured_of(
        project, "Zebra stripes", "Quartz mineral", "Deploy on Friday", "Coffee beans"
    )
    assert apart["coherence"] < found["value"]
    copies = measured_of(project, *["The payment webhook retries late requests"] * 4)
    assert copies["coherence"] == 0
    project.mem("index", env={"MEM_EMBEDDER": "none"})
    lexical = project.mem("health", "--json", env={"MEM_EMBEDDER": "none"}).json["metrics"][
        "coherence"
    ]
    assert "cosine" not in lexical["reason"]

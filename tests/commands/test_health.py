"""mem health: the score of real files, its history, its page."""

from __future__ import annotations

import json
import sqlite3

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

"""Which sessions are about a repository."""

import json
import os

import pytest

from memcli.sessions.discover import discover
from tests.sessions import FIXTURES


def put(path, cwd, *, session="s", age=0, before="", **more):
    """A Claude Code session with one prompt, `age` seconds old."""
    record = {
        "type": "user",
        "sessionId": session,
        "uuid": f"u-{session}",
        "cwd": str(cwd),
        **more,
        "message": {"role": "user", "content": "hi"},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before + json.dumps(record) + "\n")
    os.utime(path, (1_770_000_000 - age, 1_770_000_000 - age))
    return path


def names(found):
    return [session.session for session in found.found]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


@pytest.fixture
def environ(tmp_path):
    return {"MEM_HOME": str(tmp_path / "home")}


def test_the_folder_in_the_records_decides(root, environ, tmp_path):
    """At the root or below it, wherever the file lies; a neighbour with the same
    beginning is none, nor is one whose name has what cannot be shown."""
    projects = tmp_path / "home/.claude/projects"
    put(projects / "-misleading/1.jsonl", root, session="at", age=3)
    put(projects / "-misleading/2.jsonl", root / "src", session="below", age=2)
    put(projects / "-shop/3.jsonl", f"{root}-two", session="beside")
    put(projects / "-shop/4.jsonl", root.parent, session="above")
    put(projects / "-shop/5.jsonl", root / "../other", session="elsewhere")
    put(projects / "-shop/6.jsonl", f"{root}\n/src", session="a name with a line end")
    found = discover(environ, [root])
    assert names(found) == ["below", "at"]
    assert (
        found.found[0].mtime == (1_770_000_000 - 2) * 10**9
        and found.found[0].format == "claude"
    )
    assert (
        discover(environ, [root], newer=(1_770_000_000 - 2) * 10**9)[0]
        == found.found[:1]
    )


def test_work_trees_and_links_count(root, environ, tmp_path):
    """Every folder given; a link to one is that folder."""
    tree = tmp_path / "trees/a"
    tree.mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)
    projects = tmp_path / "home/.claude/projects"
    put(projects / "x/1.jsonl", tree / "src", session="tree", age=1)
    put(projects / "x/2.jsonl", tmp_path / "link", session="linked", age=2)
    assert names(discover(environ, [root, tree])) == ["tree", "linked"]
    assert names(discover(environ, [tmp_path / "link"])) == ["linked"]


def test_the_folder_may_stand_behind_other_records(root, environ, tmp_path):
    """Summaries and snapshots come first, and half a line last."""
    before = (
        json.dumps({"type": "file-history-snapshot", "x": "y" * 90_000})
        + '\nnot json "cwd"\n'
    )
    path = put(tmp_path / "home/.claude/projects/x/1.jsonl", root, before=before)
    with path.open("a") as file:
        file.write('{"type":"user","cwd":"/else')
    assert names(discover(environ, [root])) == ["s"]


def test_sub_agents_follow_their_parent(root, environ, tmp_path):
    """Wherever their files lie, and however new they are."""
    projects = tmp_path / "home/.claude/projects/x"
    put(projects / "p.jsonl", root, session="p", age=9)
    put(projects / "q.jsonl", root, session="q", age=5)
    for name, parent, agent, age in (
        ("agent-a1.jsonl", "p", "a1", 1),
        ("p/subagents/agent-b2.jsonl", "p", "b2", 2),
        ("agent-c3.jsonl", "gone", "c3", 3),
    ):
        put(
            projects / name,
            root,
            session=parent,
            isSidechain=True,
            agentId=agent,
            age=age,
        )
    assert [
        (session.session, session.parent) for session in discover(environ, [root]).found
    ] == [
        ("c3", "gone"),
        ("q", ""),
        ("p", ""),
        ("a1", "p"),
        ("b2", "p"),
    ]


def test_folders_of_the_agents_can_be_moved(root, tmp_path):
    """CLAUDE_CONFIG_DIR and CODEX_HOME; rollouts may be archived; other files are
    passed over."""
    moved = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "c"),
        "CODEX_HOME": str(tmp_path / "x"),
    }
    environ = {"MEM_HOME": "/nowhere", **moved}
    put(tmp_path / "c/projects/x/1.jsonl", root, session="claude")
    rollout = (
        (FIXTURES / "codex.jsonl").read_text().replace("/home/ana/shop", str(root))
    )
    day = "sessions/2026/03/04"
    names = f"{day}/rollout-2026-1.jsonl archived_sessions/rollout-2026-2.jsonl history.jsonl"
    for name in names.split():
        (tmp_path / "x" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "x" / name).write_text(rollout)
    found = discover(environ, [root]).found
    assert sorted(each.format for each in found) == ["claude", "codex", "codex"]
    assert {each.session for each in found} == {
        "claude",
        "0195e6a0-0000-7000-8000-000000000001",
    }


def test_what_cannot_be_looked_into_is_named(root, environ, tmp_path):
    """A compressed rollout is skipped with its reason; beside a plain one it is not
    even mentioned."""
    day = tmp_path / "home/.codex/sessions/2026/03/04"
    day.mkdir(parents=True)
    archive = b"\x28\xb5\x2f\xfd" + b"\xff" * 40
    (day / "rollout-1.jsonl.zst").write_bytes(archive)
    (day / "rollout-2.jsonl.zst").write_bytes(archive)
    rollout = (
        (FIXTURES / "codex.jsonl").read_text().replace("/home/ana/shop", str(root))
    )
    (day / "rollout-2.jsonl").write_text(rollout)
    found = discover(environ, [root])
    assert [session.path.name for session in found.found] == ["rollout-2.jsonl"]
    assert [path.name for path, _ in found.unread] == ["rollout-1.jsonl.zst"]

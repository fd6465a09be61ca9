"""Doctor on the hooks of agents: whole, found, trusted, once; and on a damaged state
file."""

import json

import pytest

from memcli.storage.files import state_dir


def rows(project, name="hooks"):
    found = project.checks()
    return [(row["status"], row["detail"]) for row in found if row["name"] == name]


@pytest.fixture(autouse=True)
def _found_everywhere(monkeypatch):
    monkeypatch.setattr("memcli.install.harness.desktop_fault", lambda: "")


def test_what_codex_does_not_trust_is_said(project):
    """The project, then each hook by its place in the file, as Codex keeps it."""
    project.mem("init", "--codex")
    path = project.root / ".codex/hooks.json"
    untrusted = "Codex does not trust this project yet and silently skips its hooks"
    assert rows(project) == [("WARN", untrusted)]
    events = json.loads(path.read_text())["hooks"]
    snake = {
        "SessionStart": "session_start",
        "SubagentStart": "subagent_start",
        "UserPromptSubmit": "user_prompt_submit",
        "PreToolUse": "pre_tool_use",
        "PreCompact": "pre_compact",
        "SessionEnd": "session_end",
    }
    lines = [f'[projects."{project.root}"]', 'trust_level = "trusted"']
    project.write("~/.codex/config.toml", "\n".join(lines))
    assert "does not trust these hooks yet" in rows(project)[0][1]
    for event in events:
        lines += [
            f'[hooks.state."{path}:{snake[event]}:0:0"]',
            'trusted_hash = "sha256:x"',
        ]
    project.write("~/.codex/config.toml", "\n".join(lines))
    assert rows(project) == [("PASS", "Codex calls mem")]


def test_a_plug_in_that_codex_does_not_trust_is_named(project):
    """Each of its events, until a person has approved it."""
    on = '[plugins."mem@here"]\nenabled = true\n'
    project.write("~/.codex/config.toml", on)
    ((status, what), *_) = rows(project)
    assert status == "WARN" and "plug-in's hooks yet: SessionStart" in what
    events = ["session_start", "subagent_start", "user_prompt_submit", "pre_tool_use",
              "pre_compact", "session_end"]  # fmt: skip
    place = "/home/a/.codex/plugins/cache/here/mem/hooks/codex-hooks.json"
    states = [
        f'[hooks.state."{place}:{event}:0:0"]\ntrusted_hash = "sha256:x"\n'
        for event in events
    ]
    project.write("~/.codex/config.toml", on + "".join(states))
    assert rows(project) == [("PASS", "the plug-in of mem is enabled in codex")]


def test_a_hook_that_sits_twice_is_named(project):
    """In one file, in two, or beside the plug-in."""
    project.mem("init", "--claude")
    path = project.root / ".claude/settings.local.json"
    values = json.loads(path.read_text())
    values["hooks"]["PreToolUse"] *= 2
    path.write_text(json.dumps(values))
    assert ("WARN", "Claude Code calls mem twice on PreToolUse") in rows(project)
    project.mem("init", "--claude")
    assert rows(project) == [("PASS", "Claude Code calls mem")]
    project.write("~/.claude/settings.json", '{"enabledPlugins": {"mem@here": true}}')
    assert (
        "WARN",
        "Claude Code has hooks of mem in its plug-in, too, and may run both",
    ) in rows(project)
    project.mem("init", "--claude", "--remove")
    assert rows(project) == [("PASS", "the plug-in of mem is enabled in claude")]


def test_wiring_whose_program_is_gone_can_be_taken_back(project):
    """The hint names the one command that takes all of it."""
    project.mem("init", "--claude")
    found = project.checks(env={"PATH": "/usr/bin:/bin"})
    gone = [
        row for row in found if "a program that does not exist: mem" in row["detail"]
    ]
    assert gone
    assert "mem init --remove --all" in gone[0]["hint"]


def test_a_damaged_state_file_is_mended(project):
    """--fix moves it aside."""
    project.mem("init")
    state_dir().mkdir(parents=True, exist_ok=True)
    (state_dir() / "state.db").write_bytes(b"garbage" * 1000)
    assert any("damaged" in what for _, what in rows(project, "state"))
    assert "moved a damaged state file aside" in project.mem("doctor", "--fix").err
    assert not any("damaged" in what for _, what in rows(project, "state"))
    assert list(state_dir().glob("state.db.damaged-*"))

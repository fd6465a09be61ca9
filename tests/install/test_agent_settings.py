"""Our hooks in somebody else's settings: in, once, and out again without a trace."""

import hashlib
import json
import subprocess

import pytest

from memcli.errors import UsageError
from memcli.install import agent_settings as settings
from tests.install import is_installed

THEIRS = {
    "permissions": {"allow": ["Bash(git status)", 'Bash(echo "{")'], "deny": []},
    "hooks": {
        "SessionStart": [
            {"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}
        ],
        "PreToolUse": [
            {"hooks": [{"type": "command", "command": "supermem hook prompt"}]}
        ],
        "Stop": [],
        "SessionEnd": [],
    },
    "model": "größer ✓ 😀",
}
PREPARED = {
    "missing": None,
    "empty": "",
    "braces": "{}",
    "broken braces": "{\n}\n",
    "two blanks": json.dumps(THEIRS, indent=2) + "\n",
    "four blanks": json.dumps(THEIRS, indent=4) + "\n",
    "tabs": json.dumps(THEIRS, indent="\t", ensure_ascii=False) + "\n",
    "minified": json.dumps(THEIRS, separators=(",", ":")),
    "CRLF": json.dumps(THEIRS, indent=2).replace("\n", "\r\n") + "\r\n",
    "no newline": json.dumps(THEIRS, indent=2),
    "BOM": "\ufeff" + json.dumps(THEIRS, indent=2),
    "empty hooks, broken": '{\n  "hooks": {\n  }\n}\n',
    "empty event": '{\n    "hooks": {"SessionStart": []}\n}\n',
    "odd": '{"a"  :1 ,\n\n  "b":[1,2\n ,3] , "hooks"\n:{ "SessionStart" : [ {"hooks":[]} ] }\t}   \n\n',
    "big": json.dumps({f"key {n}": THEIRS for n in range(100)} | THEIRS, indent=2),
}
MEM = settings.groups("claude")
OLD = settings.with_hooks(None, "claude").replace(
    "command -v mem >/dev/null 2>&1 || exit 0; mem", '\\"/old/place/mem\\"'
)


@pytest.mark.parametrize("text", PREPARED.values(), ids=PREPARED.keys())
@pytest.mark.parametrize("harness", settings.WIRINGS)
def test_what_goes_in_is_ours_once_and_nothing_else(text, harness):
    """The values are theirs, with one group of ours at the end of each event; twice is
    once."""
    after = settings.with_hooks(text, harness)
    theirs = json.loads((text or "").lstrip("\ufeff").strip() or "{}")
    for event, group in settings.groups(harness).items():
        theirs.setdefault("hooks", {}).setdefault(event, []).append(group)
    assert json.loads(after.lstrip("\ufeff")) == theirs
    assert settings.with_hooks(after, harness) == after
    assert is_installed(after, harness) and not is_installed(text or "", harness)
    if "\r\n" in (text or ""):
        assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize("harness", settings.WIRINGS)
def test_every_command_is_guarded_and_names_no_place(harness):
    """An uninstall hurts nobody, and an agent's trust in the text lasts over
    upgrades."""
    for group in settings.groups(harness).values():
        line = group["hooks"][0]["command"]
        assert line.startswith("command -v mem >/dev/null 2>&1 || exit 0; mem hook ")
        assert line.endswith(f" --harness {harness} || :")
        assert "/" not in line.replace("/dev/null", "")
        words = ["/bin/sh", "-c", line]
        env = {"PATH": "/nowhere"}
        process = subprocess.run(words, env=env, capture_output=True)
        assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


# A person approves hooks once, by their text: with another one Codex skips them without
# a word.
TRUSTED = {
    "claude": "4cd56e5e699ef6598909a963b6315b17a7154d9dd559edfec7e3eaabfc943a56",
    "codex": "4b4b9b35a8959ea6b2a284e977b31ec95d7e9605c0d44502c10fd06b767fe33f",
    "gemini": "169122c7ac2e6c0534bc3ca11046c6ad334ca9215efce4b341add397b8ccdcd2",
}


@pytest.mark.parametrize("harness", settings.WIRINGS)
def test_the_wired_text_is_the_same_in_every_version(harness):
    """Command, matcher, timeout and message of each hook."""
    wired = settings.groups(harness)
    text = json.dumps(wired, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == TRUSTED[harness]


def test_what_comes_out_is_theirs_alone():
    """Also when the agent wrote the file anew meanwhile; a file of ours alone goes."""
    after = json.loads(settings.with_hooks(json.dumps(THEIRS, indent=2), "claude"))
    after["permissions"]["allow"].append("Bash(ls)")
    left = json.loads(settings.without_hooks(json.dumps(after, indent=2)) or "")
    assert left["permissions"]["allow"][-1] == "Bash(ls)"
    theirs = json.loads(json.dumps(THEIRS))["hooks"]
    kept = {event: groups for event, groups in theirs.items() if groups}
    assert {event: groups for event, groups in left["hooks"].items() if groups} == kept
    assert settings.without_hooks(settings.with_hooks(None, "codex")) is None
    untouched = '{ "hooks" :{"Stop": [ {"hooks":[]}]}}'
    assert settings.without_hooks(untouched) == untouched


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "a": 1,\n}\n', 3),
        ('{\n\n  // why\n  "a": 1\n}', 3),
        ("{'a': 1}", 1),
        ("[]", 1),
        ('{"a": 1}\n\nx', 3),
        ('{"hooks":\n []}', 1),
        ('{"hooks": {\n"Stop": {}}}', 1),
        ("[" * 50_000, 1),
        ('"x"', 1),
        ('{"a": 1, "a": 2}', 1),
    ],
)
def test_what_is_no_settings_file_is_refused_with_its_line(text, line):
    """Broken JSON, comments, a name twice, and a shape that no agent reads."""
    with pytest.raises(UsageError) as caught:
        settings.with_hooks(text, "claude")
    assert caught.value.what.startswith(f"{line}: ") and caught.value.hint


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ('"/usr/bin/mem" hook prompt --harness claude', True),
        ("mem hook session-end", True),
        ("/a/mem hook pre-tool --harness codex --debug", True),
        ('"C:/a b/mem.exe" hook prompt', True),
        (settings.groups("gemini")["SessionStart"]["hooks"][0]["command"], True),
        ("supermem hook prompt", False),
        ("mem recall x", False),
        ("echo mem hook prompt", False),
        ("mem hook prompt; rm -rf x", False),
        ("claude-mem hook session-start", False),
        ("", False),
        ("mem hook something-else", False),
    ],
)
def test_ours_is_known_by_the_shape_of_its_command(command, ours):
    """Whatever the path; but no other program with a like name, and nothing that does
    more."""
    assert bool(settings.is_ours({"type": "command", "command": command})) is ours

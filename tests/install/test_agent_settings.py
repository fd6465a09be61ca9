"""Our hooks in somebody else's settings: in, once, and out again without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.install import agent_settings as settings

THEIRS = {
    "permissions": {"allow": ["Bash(git status)", 'Bash(echo "{")'], "deny": []},
    "hooks": {
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}],
        "PreToolUse": [{"hooks": [{"type": "command", "command": "supermem hook prompt"}]}],
        "Stop": [],
        "SessionEnd": [],
    },
    "model": "größer ✓ 😀",
}
PREPARED = {
    "missing": None,
    "empty": "",
    "blank": "\n",
    "braces": "{}",
    "braces, newline": "{}\n",
    "spaced braces": "{ }",
    "broken braces": "{\n}\n",
    "broken, CRLF": "{\r\n\r\n}\r\n",
    "two blanks": json.dumps(THEIRS, indent=2) + "\n",
    "four blanks": json.dumps(THEIRS, indent=4) + "\n",
    "tabs": json.dumps(THEIRS, indent="\t", ensure_ascii=False) + "\n",
    "minified": json.dumps(THEIRS, separators=(",", ":")),
    "one line": json.dumps(THEIRS, ensure_ascii=False) + "\n",
    "CRLF": json.dumps(THEIRS, indent=2).replace("\n", "\r\n") + "\r\n",
    "no newline": json.dumps(THEIRS, indent=2),
    "BOM": "\ufeff" + json.dumps(THEIRS, indent=2),
    "empty, BOM": "\ufeff",
    "empty hooks": '{"hooks": {}}\n',
    "empty hooks, broken": '{\n  "hooks": {\n  }\n}\n',
    "empty event": '{\n    "hooks": {"SessionStart": []}\n}\n',
    "odd": '{"a"  :1 ,\n\n  "b":[1,2\n ,3] , "hooks"\n:{ "SessionStart" : [ {"hooks":[]} ] }\t}   \n\n',
    "big": json.dumps({f"key {n}": THEIRS for n in range(100)} | THEIRS, indent=2),
}
MEM = settings.groups("claude", '"/opt/a b/mem"')
OLD = settings.groups("claude", '"/old/mem"')


@pytest.mark.parametrize("text", PREPARED.values(), ids=PREPARED.keys())
@pytest.mark.parametrize("harness", ["claude", "codex"])
@pytest.mark.parametrize("shared", [False, True])
def test_in_twice_and_out_is_as_before(text: str | None, harness: str, shared: bool) -> None:
    """The second time changes nothing; what comes out is what went in, to the byte."""
    wanted = settings.groups(harness, '"/opt/mem"', shared=shared)
    once = settings.with_hooks(text, wanted)
    assert settings.with_hooks(once, wanted) == once
    assert settings.without_hooks(once) == text
    assert settings.is_installed(once, harness) and not settings.is_installed(text or "", harness)


@pytest.mark.parametrize("text", PREPARED.values(), ids=PREPARED.keys())
def test_what_goes_in_is_ours_and_nothing_else(text: str | None) -> None:
    """The values are theirs, with one group of ours at the end of each event; each line of theirs
    stays.
    """
    after = settings.with_hooks(text, MEM)
    theirs: dict[str, Any] = json.loads((text or "").lstrip("\ufeff").strip() or "{}")
    for event, group in MEM.items():
        theirs.setdefault("hooks", {}).setdefault(event, []).append(group)
    assert json.loads(after.lstrip("\ufeff")) == theirs
    if "\r\n" in (text or ""):
        assert "\n" not in after.replace("\r\n", "")


def test_it_is_laid_out_as_the_file_is() -> None:
    """What is added looks as if the owner had written it: blanks, tabs, or all on one line."""
    pretty = {"a": 1, "hooks": {"Stop": [{"hooks": []}]}}
    for unit in (2, 4, "\t"):
        text = json.dumps(pretty, indent=unit)
        after = settings.with_hooks(text, MEM)
        assert after == json.dumps(json.loads(after), indent=unit)
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(pretty, separators=separators)
        after = settings.with_hooks(text, MEM)
        assert after == json.dumps(json.loads(after), separators=separators)


@pytest.mark.parametrize("text", PREPARED.values(), ids=PREPARED.keys())
def test_a_stale_command_is_replaced_where_it_stands(text: str | None) -> None:
    """Another path to mem: one set of hooks, the new one, and removal is exact all the same."""
    after = settings.with_hooks(settings.with_hooks(text, OLD), MEM)
    assert after == settings.with_hooks(text, MEM)
    assert {handler.program for handler in settings.handlers(after)} == {"/opt/a b/mem"}
    assert settings.without_hooks(after) == text


def test_what_stands_twice_stands_once_after() -> None:
    """A second group of ours, and one for an event that mem no longer asks for, go."""
    doubled = {"hooks": {event: [group, {"hooks": []}, group] for event, group in OLD.items()}}
    doubled["hooks"]["Stop"] = [OLD["SessionEnd"]]
    after = json.loads(settings.with_hooks(json.dumps(doubled, indent=2), MEM))
    assert after == {"hooks": {event: [group, {"hooks": []}] for event, group in MEM.items()}}


def test_a_handler_that_was_moved_beside_another_stays_there() -> None:
    """In a group that its owner arranged only our handler is touched."""
    other = {"type": "command", "command": "date"}
    group = {"matcher": "Bash", "hooks": [other, OLD["PreToolUse"]["hooks"][0]]}
    text = json.dumps({"hooks": {"PreToolUse": [group]}}, indent=2)
    after = settings.with_hooks(text, MEM)
    ours = MEM["PreToolUse"]["hooks"][0]
    assert json.loads(after)["hooks"]["PreToolUse"] == [{"matcher": "Bash", "hooks": [other, ours]}]
    left = json.loads(settings.without_hooks(after) or "")
    assert left == {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [other]}]}}


def test_removal_after_the_agent_wrote_the_file_anew() -> None:
    """An agent dumps its settings when a permission is granted: ours go, all of theirs stays."""
    after = json.loads(settings.with_hooks(json.dumps(THEIRS, indent=2), MEM))
    after["permissions"]["allow"].append("Bash(ls)")
    left = json.loads(settings.without_hooks(json.dumps(after, indent=2)) or "")
    assert left["permissions"]["allow"][-1] == "Bash(ls)"
    assert not settings.handlers(json.dumps(left))
    assert left["hooks"]["SessionStart"] == THEIRS["hooks"]["SessionStart"]  # type: ignore[index]


def test_groups_added_after_ours_stay() -> None:
    """Others install themselves later: what is before, between and behind is kept."""
    text = settings.with_hooks('{\n  "hooks": {}\n}\n', MEM)
    later = {"hooks": [{"type": "command", "command": "date"}]}
    both = settings._inserted(text, _event(text, "PreToolUse"), None, later, settings._style(text))
    assert json.loads(settings.without_hooks(both) or "") == {"hooks": {"PreToolUse": [later]}}


def _event(text: str, name: str) -> settings.Node:
    root = settings.parse(text)
    assert root is not None
    hooks = next(item.node for item in root.items if item.key == "hooks")
    return next(item.node for item in hooks.items if item.key == name)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "a": 1,\n}\n', 3), ('{\n\n  // why\n  "a": 1\n}', 3), ("[1,\n2", 2), ("{'a': 1}", 1),
        ('{"a": 1}\n\nx', 3), ('{\n"a": "b\nc"}', 2), ("[]", 1), ('{"hooks":\n []}', 2), ("nul", 1),
        ('{"hooks": {\n"Stop": {}}}', 2), ('{"a": 01}', 1), ('{"a": NaN}', 1), ("[" * 5000, 1), ("{,}", 1),
        ('{"a" 1}', 1), ('"x"', 1),
    ],
)  # fmt: skip
def test_what_is_no_settings_file_is_refused_with_its_line(text: str, line: int) -> None:
    """Broken JSON, comments, and a shape that no agent reads."""
    with pytest.raises(UsageError) as caught:
        settings.with_hooks(text, MEM)
    assert caught.value.what.startswith(f"{line}: ") and caught.value.hint


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ('"/usr/bin/mem" hook prompt --harness claude', True), ("mem hook session-end", True),
        ("/a/mem hook pre-tool --harness codex --debug", True), ('"C:/a b/mem.exe" hook prompt', True),
        ('"/usr/bin/python3" -m memcli hook prompt --harness claude', True),
        ("command -v mem >/dev/null 2>&1 && mem hook prompt --harness claude || true", True),
        ("supermem hook prompt", False), ("mem recall x", False), ("echo mem hook prompt", False),
        ("mem hook prompt; rm -rf x", False), ("claude-mem hook session-start", False), ("", False),
        ("python -m other hook prompt", False), ("mem hook something-else", False),
    ],
)  # fmt: skip
def test_ours_is_known_by_the_shape_of_its_command(command: str, ours: bool) -> None:
    """Whatever the path; but no other program with a like name, and nothing that does more."""
    assert settings.is_ours({"type": "command", "command": command}) is ours


def test_a_command_with_its_arguments_in_a_list_is_ours_too() -> None:
    """The form without a shell; anything that is no handler is not ours."""
    assert settings.is_ours({"command": "/a b/mem", "args": ["hook", "prompt"]})
    for other in (None, 1, "mem hook prompt", [], {"command": 1}, {"type": "http"}):
        assert not settings.is_ours(other)


def test_handlers_tell_the_program_and_the_timeout() -> None:
    """What doctor asks: which executable, for which event, within how many seconds."""
    text = settings.with_hooks(None, settings.groups("codex", settings.quoted('/o "$x"/m/mem')))
    first, *rest = settings.handlers(text)
    assert (first.event, first.program, first.module, first.timeout) == (
        "SessionStart", '/o "$x"/m/mem', False, 5
    )  # fmt: skip
    assert [handler.timeout for handler in rest] == [3, 2, 5, 1]
    module = settings.groups("claude", '"/v/bin/python" -m memcli')
    assert {
        (h.program, h.module) for h in settings.handlers(settings.with_hooks(None, module))
    } == {("/v/bin/python", True)}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)
EVENTS = st.dictionaries(st.sampled_from([*MEM, "Stop"]), st.lists(JSON, max_size=2), max_size=4)


@given(
    st.dictionaries(st.text(max_size=5).filter(lambda key: key != "hooks"), JSON, max_size=3),
    st.none() | EVENTS,
    st.sampled_from([None, 0, 1, 2, 4, "\t", "\t\t"]),
    st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]),
    st.booleans(),
)
def test_any_settings_come_back(
    rest: dict[str, Any], hooks: Any, indent: Any, separators: tuple[str, str], ascii: bool
) -> None:
    """Whatever the values and the layout: twice is once, and out is as before."""
    values = rest if hooks is None else {**rest, "hooks": hooks}
    text = json.dumps(values, indent=indent, separators=separators, ensure_ascii=ascii)
    once = settings.with_hooks(text, MEM)
    assert settings.with_hooks(once, MEM) == once
    assert settings.without_hooks(once) == text
    for event, group in MEM.items():
        assert json.loads(once)["hooks"][event][-1] == group

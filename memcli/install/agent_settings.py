"""mem's hooks in the JSON settings of an agent. Pure: text in, text out."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from memcli.errors import UsageError
from memcli.text.matching import table, verbose

BOM = "\ufeff"
WIRINGS = {
    "claude": "plugin/hooks/hooks.json",
    "codex": "plugin/hooks/codex-hooks.json",
    "gemini": "templates/gemini-hooks.json",
}
SERVED = ("SubagentStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure")
"""What the `mem mcp` of a session of Claude Code can answer. At the others it does not
run yet, or not any more."""
GIVEN = (
    "hook_event_name session_id cwd transcript_path agent_id prompt"
    " tool_name tool_input error"
).split()
"""What its tool `hook` is handed, each from the place of that name in the payload."""
CONNECTED = 15
"""Seconds that the client may wait for its server, too: with the first prompt it is
still starting, for some seconds where other programs have the processor."""
VERBS = (
    "session-start|subagent-start|prompt|pre-tool|tool-failed|instructions-loaded"
    "|pre-compact|session-end"
)


@verbose
def _command() -> str:
    """A call of mem, in every form that any version wrote."""
    return rf"""
        (?: command[ ]-v[ ]mem[ ]>/dev/null[ ]2>&1[ ]\|\|[ ]exit[ ]0;[ ] )?
        (?: "( (?: [^"]* [/\\] )? mem (?: \.exe )? )"
          | ( (?: [^\s"]* [/\\] )? mem (?: \.exe )? ) )
        [ ]hook[ ] (?: {VERBS} ) (?: [ ]--?[\w=-]+ | [ ]\w+ )* (?: [ ]\|\|[ ]: )?
    """


class Handler(NamedTuple):
    """A handler of mem in a file."""

    event: str
    command: str
    program: str


def groups(harness: str, *, by_server: bool = False) -> dict[str, dict[str, Any]]:
    """Mem's group for each event; the same in every version, since agents trust it by
    its text. `by_server`: the session's own `mem mcp` answers where possible."""
    listed = json.loads(table(f"install/{WIRINGS[harness]}"))["hooks"]
    wired = {event: group for event, (group,) in listed.items()}
    if not by_server or harness != "claude":
        return wired
    served = {event: _served(wired[event]) for event in SERVED}
    return {event: served.get(event, group) for event, group in wired.items()}


def _served(group: dict[str, Any]) -> dict[str, Any]:
    """A group with the tool of the server in place of the command."""
    called = {
        "type": "mcp_tool",
        "server": "mem",
        "tool": "hook",
        "input": {name: f"${{{name}}}" for name in GIVEN},
        "timeout": CONNECTED,
    }
    return {**group, "hooks": [called]}


def is_ours(handler: object) -> str:
    """The program that a handler of mem runs, whichever mem that is; "" for other
    handlers."""
    if not isinstance(handler, Mapping):
        return ""
    if handler.get("type") == "mcp_tool":
        is_tool = (handler.get("server"), handler.get("tool")) == ("mem", "hook")
        return "mem" if is_tool else ""
    line = handler.get("command")
    call = _command().fullmatch(line) if isinstance(line, str) else None
    return call[1] or call[2] if call else ""


def handlers(text: str) -> list[Handler]:
    """Mem's handlers in a settings file, in order. Raises UsageError if it is not a
    settings file."""
    return [
        Handler(event, handler.get("command", ""), is_ours(handler))
        for event, listed in parse(text).get("hooks", {}).items()
        for handler in chain.from_iterable(map(_handlers, listed))
        if is_ours(handler)
    ]


def parse(text: str) -> dict[str, Any]:
    """The settings in a text, {} for a blank one. Raises UsageError with the line."""
    body = text.removeprefix(BOM)
    if not body.strip():
        return {}
    try:
        values = json.loads(body, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        why = getattr(error, "msg", "").lower() or error
        message = f"{line}: not valid JSON ({why})"
        raise UsageError(message, "fix that line first") from None
    hooks = values.get("hooks", {}) if isinstance(values, dict) else None
    lists = hooks.values() if isinstance(hooks, dict) else [None]
    if not all(isinstance(listed, list) for listed in lists):
        message = '1: no settings (an object, with "hooks" an object of lists)'
        raise UsageError(message, "fix that file first")
    return values  # type: ignore[no-any-return]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return dict(pairs)


def _handlers(group: object) -> list[Any]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def with_hooks(text: str | None, harness: str, *, by_server: bool = False) -> str:
    """The settings with mem's groups after those of others, each once; None if there is
    no file yet."""
    values = parse(text or "")
    wanted_groups = groups(harness, by_server=by_server)
    ours = [
        (event, group)
        for event, listed in values.get("hooks", {}).items()
        for group in listed
        if any(map(is_ours, _handlers(group)))
    ]
    if (
        text is not None
        and len(ours) == len(wanted_groups)
        and dict(ours) == wanted_groups
    ):
        return text
    _take_out(values)
    hooks = values.setdefault("hooks", {})
    for event, group in wanted_groups.items():
        hooks.setdefault(event, []).append(group)
    return _written(values, text or "{\n}\n")


def without_hooks(text: str) -> str | None:
    """The settings without anything of mem; None if nothing else was in the file."""
    values = parse(text)
    if not _take_out(values):
        return text
    return _written(values, text) if values else None


def _take_out(values: dict[str, Any]) -> bool:
    hooks = values.get("hooks", {})
    before = json.dumps(values)
    for event, listed in list(hooks.items()):
        hooks[event] = list(_of_others(listed))
        if listed and not hooks[event]:
            del hooks[event]
    changed = json.dumps(values) != before
    if changed and not hooks:
        del values["hooks"]
    return changed


def _of_others(groups: list[Any]) -> Iterator[Any]:
    """The groups without mem's handlers, dropping groups that become empty."""
    for group in groups:
        before = _handlers(group)
        foreign = [handler for handler in before if not is_ours(handler)]
        if foreign == before:
            yield group
        elif foreign:
            yield {**group, "hooks": foreign}


def _written(values: Mapping[str, Any], like: str) -> str:
    """The values as JSON, with the indentation, line ends and final newline of a
    text."""
    body = like.removeprefix(BOM)
    indents = re.findall(r"^([ \t]+)\S", body, re.MULTILINE)
    flat = "\n" not in body.strip()
    indent = None if flat else min(indents, key=len, default="  ")
    colon = ":" if flat and '": ' not in body else ": "
    comma = ", " if flat and colon == ": " else ","
    separators = (comma, colon)
    text = json.dumps(values, indent=indent, separators=separators, ensure_ascii=False)
    text = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
    if body.endswith("\n"):
        text += "\n"
    if "\r\n" in body:
        text = text.replace("\n", "\r\n")
    return BOM + text if like.startswith(BOM) else text

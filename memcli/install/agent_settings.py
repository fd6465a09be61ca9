"""Our hooks in the JSON settings of an agent: text in, text out, nothing else of the text touched.

The text is never dumped anew: what is ours is cut out of it or put into it where it stands. What
was put into an empty container is followed by a mark in white space, so that taking it out restores
that container instead of removing it as one that came with us.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.errors import UsageError
from memcli.memory.diff import apply_edits
from memcli.memory.values import Edit

SPACE = " \t\r\n"
KEEP = " "
"""The mark after what was put into an empty container: the white space that follows was in it
before.
"""
TIDY = "\t"
"""The other mark: the container was written without anything between its brackets."""
BOM = "\ufeff"
DEEPEST = 200
_DECODER = json.JSONDecoder()
_BLANK = re.compile(f"[{SPACE}]*")
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")

_WORD = r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+))'
_COMMAND = re.compile(
    rf"(?:command -v mem >/dev/null 2>&1 && )?{_WORD}(?P<module> -m memcli)?"
    r" hook (?:session-start|prompt|pre-tool|pre-compact|session-end)(?: --?[\w=-]+| \w+)*(?: \|\| true)?"
)


class Hook(NamedTuple):
    """One hook to install: what an agent calls, for which event, within how many seconds."""

    event: str
    verb: str
    seconds: int
    matcher: str = ""
    message: str = ""


CLAUDE = (
    Hook(
        "SessionStart",
        "session-start",
        5,
        "startup|resume|clear|compact",
        "Recalling project memory",
    ),
    Hook("UserPromptSubmit", "prompt", 3),
    Hook("PreToolUse", "pre-tool", 2, "Edit|MultiEdit|Write|NotebookEdit|Bash"),
    Hook("PreCompact", "pre-compact", 5),
    Hook("SessionEnd", "session-end", 1),
)
CODEX = (
    Hook(
        "SessionStart",
        "session-start",
        5,
        "startup|resume|clear|compact",
        "Recalling project memory",
    ),
    Hook("UserPromptSubmit", "prompt", 3),
    Hook("PreToolUse", "pre-tool", 2, "Bash|apply_patch|Edit|Write"),
    Hook("PreCompact", "pre-compact", 5),
    Hook("SessionEnd", "session-end", 1),
)
HOOKS = {"claude": CLAUDE, "codex": CODEX}


class Handler(NamedTuple):
    """A handler of ours that stands in a file: its event, its command, the program, and its
    timeout.

    `program` is the path or name that is run; `module` says that it is a Python that runs memcli.
    """

    event: str
    command: str
    program: str
    module: bool
    timeout: Any


# --- what is to stand in a file


def command(program: str, hook: Hook, harness: str, *, shared: bool = False) -> str:
    """The command of a hook. In a file that others use too, it is silent where there is no mem."""
    if shared:
        plain = f"mem hook {hook.verb} --harness {harness}"
        return f"command -v mem >/dev/null 2>&1 && {plain} || true"
    return f"{program} hook {hook.verb} --harness {harness}"


def groups(harness: str, program: str, *, shared: bool = False) -> dict[str, dict[str, Any]]:
    """Event -> the group of ours, with its only handler. `program` is written as a shell word."""
    wanted = {}
    for hook in HOOKS[harness]:
        handler: dict[str, Any] = {
            "type": "command",
            "command": command(program, hook, harness, shared=shared),
            "timeout": hook.seconds,
        }
        if hook.message:
            handler["statusMessage"] = hook.message
        head = {"matcher": hook.matcher} if hook.matcher else {}
        wanted[hook.event] = {**head, "hooks": [handler]}
    return wanted


def quoted(path: str) -> str:
    """A path as one word for a POSIX shell, also that of Git for Windows: always in double quotes."""
    return '"' + re.sub(r'(["$`\\])', r"\\\1", path.replace("\\", "/")) + '"'


def is_ours(handler: object) -> bool:
    """Whether a handler calls `mem hook`, whichever mem that is."""
    return _match(handler) is not None


def _match(handler: object) -> re.Match[str] | None:
    found = _COMMAND.fullmatch(_spoken(handler))
    if found is None:
        return None
    name = _program(found).replace("\\", "/").rsplit("/", 1)[-1].lower()
    return found if found["module"] or name in ("mem", "mem.exe") else None


def _spoken(handler: object) -> str:
    """The command line of a handler, also of one that gives its arguments as a list."""
    if not isinstance(handler, Mapping) or not isinstance(handler.get("command"), str):
        return ""
    words = handler.get("args")
    rest = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    first: str = handler["command"]
    return " ".join([quoted(first) if rest else first, *rest])


def _program(found: re.Match[str]) -> str:
    return (
        re.sub(r"\\(.)", r"\1", found["quoted"]) if found["quoted"] is not None else found["bare"]
    )


# --- questions


def handlers(text: str) -> list[Handler]:
    """Our handlers in a settings file, in order. Raises UsageError when it is no JSON object."""
    root = _parsed(text)
    return [_handler(event, value) for event, _, value in _ours(root)] if root is not None else []


def _handler(event: str, node: Node) -> Handler:
    value = node.value
    found = _match(value)
    assert found is not None
    return Handler(
        event, _spoken(value), _program(found), bool(found["module"]), value.get("timeout")
    )


def is_installed(text: str, harness: str) -> bool:
    """Whether each event that mem wants to hear of has a handler of ours."""
    return {hook.event for hook in HOOKS[harness]} <= {handler.event for handler in handlers(text)}


# --- a JSON text with the places of its parts


class Node(NamedTuple):
    """A value and where it stands. `items` of a container: (key or "", start with key, value)."""

    start: int
    end: int
    value: Any
    items: tuple[Item, ...] = ()


class Item(NamedTuple):
    """A member of an object, or an element of an array (`key` is None), from `start` to `node.end`."""

    key: str | None
    start: int
    node: Node


class _Fault(Exception):
    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


def parse(text: str) -> Node | None:
    """The outermost value with its places, None for a blank text. Raises UsageError with the line."""
    at = _skip(text, 1 if text.startswith(BOM) else 0)
    if at == len(text):
        return None
    try:
        node = _value(text, at, 0)
        if _skip(text, node.end) != len(text):
            raise _Fault("more text after its end", _skip(text, node.end))
    except _Fault as fault:
        line = text.count("\n", 0, fault.at) + 1
        raise UsageError(f"{line}: not valid JSON ({fault.what})", "mend that line first") from None
    return node


def _parsed(text: str) -> Node | None:
    """Like `parse`, for settings: the outermost value is an object, and `hooks` has its known
    shape.
    """
    node = parse(text)
    if node is not None:
        _require(text, node, dict, "the settings are no object")
        for item in _named(node, "hooks"):
            _require(text, item.node, dict, '"hooks" is no object')
            for event in item.node.items:
                _require(text, event.node, list, f'"{event.key}" in "hooks" is no list')
    return node


def _require(text: str, node: Node, kind: type, what: str) -> None:
    if not isinstance(node.value, kind):
        line = text.count("\n", 0, node.start) + 1
        raise UsageError(f"{line}: {what}", "mend that line first")


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found is not None else at


def _value(text: str, at: int, depth: int) -> Node:
    mark = text[at : at + 1]
    if mark in ("{", "["):
        if depth > DEEPEST:
            raise _Fault("nested too deeply", at)
        return _container(text, at, depth)
    if mark == '"':
        value, end = _string(text, at)
        return Node(at, end, value)
    found = _SCALAR.match(text, at)
    if found is None:
        raise _Fault("a value expected", at)
    return Node(at, found.end(), json.loads(found[0]))


def _string(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise _Fault("a name in double quotes expected", at)
    try:
        value, end = _DECODER.raw_decode(text, at)
        return str(value), end
    except json.JSONDecodeError as error:
        raise _Fault(error.msg.lower(), error.pos) from None


def _container(text: str, start: int, depth: int) -> Node:
    close = "}" if text[start] == "{" else "]"
    items: list[Item] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close or items:
        item = _item(text, at, depth, named=close == "}")
        items.append(item)
        at = _skip(text, item.node.end)
        if text[at : at + 1] == close:
            break
        if text[at : at + 1] != ",":
            raise _Fault(f"a comma or {close} expected", at)
        at = _skip(text, at + 1)
    value: Any = (
        {i.key: i.node.value for i in items} if close == "}" else [i.node.value for i in items]
    )
    return Node(start, at + 1, value, tuple(items))


def _item(text: str, at: int, depth: int, *, named: bool) -> Item:
    if not named:
        return Item(None, at, _value(text, at, depth + 1))
    key, end = _string(text, at)
    end = _skip(text, end)
    if text[end : end + 1] != ":":
        raise _Fault("a colon expected", end)
    return Item(key, at, _value(text, _skip(text, end + 1), depth + 1))


def _named(node: Node, key: str) -> list[Item]:
    return [item for item in node.items if item.key == key]


def _ours(root: Node) -> Iterator[tuple[str, Node, Node]]:
    """(event, group, handler) of every handler of ours."""
    for hooks in _named(root, "hooks"):
        for event in hooks.node.items:
            for group in event.node.items:
                for listed in _named(group.node, "hooks"):
                    for handler in listed.node.items:
                        if is_ours(handler.node.value):
                            yield str(event.key), group.node, handler.node


# --- putting in


def with_hooks(text: str | None, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """The settings with our groups (event -> group), each once; None is no file yet.

    A group of ours that differs (another path, another timeout) is replaced where it stands, a
    second one goes. Other groups, their order and every byte between them stay. Raises UsageError
    with the line.
    """
    text = _without(text, lambda event, node: event not in wanted) if text is not None else None
    hooks = {event: [group] for event, group in wanted.items()}
    whole = json.dumps({"hooks": hooks}, indent=2, ensure_ascii=False)
    if text is None:
        return whole + "\n"
    if _parsed(text) is None:
        bom = BOM if text.startswith(BOM) else ""
        return bom + whole + TIDY + text[len(bom) :]
    style = _style(text)
    for event, group in wanted.items():
        text = _with_group(text, event, group, style)
    return text


def _with_group(text: str, event: str, group: Mapping[str, Any], style: _Style) -> str:
    root = _parsed(text)
    assert root is not None
    ours = [(of, node) for name, of, node in _ours(root) if name == event]
    if len(ours) > 1:
        keep = ours[0][1].start
        again = _without(text, lambda name, node: name == event and node.start != keep)
        return _with_group(again or "", event, group, style)
    if ours:
        return _replaced(text, *ours[0], group, style)
    if not _named(root, "hooks"):
        return _inserted(text, root, "hooks", {event: [group]}, style)
    hooks = _named(root, "hooks")[-1].node
    if not _named(hooks, event):
        return _inserted(text, hooks, event, [group], style)
    return _inserted(text, _named(hooks, event)[-1].node, None, group, style)


def _replaced(
    text: str, group: Node, handler: Node, wanted: Mapping[str, Any], style: _Style
) -> str:
    """The one handler of ours brought up to date; beside handlers of others it stays in their
    group.
    """
    alone = len(_named(group, "hooks")[-1].node.items) == 1
    node, value = (group, wanted) if alone else (handler, wanted["hooks"][0])
    if node.value == value:
        return text
    new = (
        style.dump(value, _indent_at(text, node.start))
        if _is_broken(text, node)
        else style.flat(value)
    )
    return text[: node.start] + new + text[node.end :]


def _is_broken(text: str, node: Node) -> bool:
    return "\n" in text[node.start : node.end]


def _inserted(text: str, into: Node, key: str | None, value: Any, style: _Style) -> str:
    if into.items:
        last = into.items[-1]
        before = text[: last.start].rstrip(SPACE)
        gap = text[len(before) : last.start]
        indent = gap.rpartition("\n")[2] if "\n" in gap else ""
        new = style.member(key, value, indent) if "\n" in gap else style.member(key, value, None)
        if not gap and len(into.items) == 1 and style.comma:
            gap = style.comma
        return text[: last.node.end] + "," + gap + new + text[last.node.end :]
    inner = text[into.start + 1 : into.end - 1]
    if style.unit is None:
        return (
            text[: into.start + 1] + style.member(key, value, None) + KEEP + text[into.start + 1 :]
        )
    outer = _indent_at(text, into.start)
    new = style.eol + outer + style.unit + style.member(key, value, outer + style.unit)
    tail = KEEP if inner else TIDY + style.eol + outer
    return text[: into.start + 1] + new + tail + text[into.start + 1 :]


class _Style(NamedTuple):
    """How a text is laid out: `unit` of indentation (None: on one line), blank after colon and
    comma.
    """

    unit: str | None
    eol: str
    colon: str
    comma: str

    def member(self, key: str | None, value: Any, indent: str | None) -> str:
        head = "" if key is None else json.dumps(key, ensure_ascii=False) + ":" + self.colon
        return head + (self.flat(value) if indent is None else self.dump(value, indent))

    def flat(self, value: Any) -> str:
        return json.dumps(
            value, ensure_ascii=False, separators=("," + self.comma, ":" + self.colon)
        )

    def dump(self, value: Any, indent: str) -> str:
        unit = self.unit if self.unit is not None else "  "
        text = json.dumps(
            value, ensure_ascii=False, indent=unit, separators=(",", ":" + self.colon)
        )
        return text.replace("\n", self.eol + indent)


def _style(text: str) -> _Style:
    """How a text is laid out, by what most settings files show: the first signs of it."""
    broken = re.search(r"[\[{,][ \t]*(\r?\n)", text)
    eol = "\r\n" if "\r\n" in text else "\n"
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    spaced = '":' not in bare or '": ' in bare
    dense = "," in bare and ", " not in bare and not broken
    if broken is None and re.search(r"[\w\"]", text):
        return _Style(None, eol, " " if spaced else "", "" if dense or not spaced else " ")
    units = re.findall(r"^([ \t]+)\S", text, re.MULTILINE)
    unit = "\t" if units and units[0][0] == "\t" else min(units, key=len, default="  ")
    return _Style(unit, eol, " " if spaced else "", " ")


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


# --- taking out


def without_hooks(text: str) -> str | None:
    """The settings as they were before `with_hooks`; None when nothing but ours was in the file."""
    return _without(text, lambda event, node: True)


def _without(text: str, gone: Callable[[str, Node], bool]) -> str | None:
    root = _parsed(text)
    starts = (
        {node.start for event, _, node in _ours(root) if gone(event, node)}
        if root is not None
        else {}
    )
    if root is None or not starts:
        return text
    edits: list[Edit] = []
    if _trim(
        text,
        root,
        edits,
        lambda item: item.key == "hooks" and _trim_hooks(text, item, starts, edits),
    ):
        tail = text[root.end :]
        return text[: root.start] + tail[1:] if tail.startswith(TIDY) else None
    return apply_edits(text, edits)


def _trim_hooks(text: str, hooks: Item, starts: Container[int], edits: list[Edit]) -> bool:
    def group_goes(group: Item) -> bool:
        return any(
            _trim(text, item.node, edits, lambda handler: handler.start in starts, marked=False)
            for item in _named(group.node, "hooks")
        )

    return _trim(text, hooks.node, edits, lambda event: _trim(text, event.node, edits, group_goes))


def _trim(
    text: str, node: Node, edits: list[Edit], goes: Callable[[Item], bool], *, marked: bool = True
) -> bool:
    """Add the edits that cut the items that go; whether none is left, so that the container goes
    whole.

    A container that bears a mark was there before us, and stays, empty. One that goes has added no
    edit.
    """
    gone = [goes(item) for item in node.items]
    if not any(gone):
        return False
    if not all(gone):
        edits += _cuts(node.items, gone)
        return False
    end = node.items[-1].node.end
    mark = text[end : node.end - 1][:1] if marked else ""
    if mark not in (KEEP, TIDY):
        return True
    edits.append(Edit(node.start + 1, end + 1 if mark == KEEP else node.end - 1, ""))
    return False


def _cuts(items: Sequence[Item], gone: Sequence[bool]) -> Iterator[Edit]:
    """Each item with the comma before it; those at the very beginning with the comma after them."""
    first = gone.index(False)
    if first:
        yield Edit(items[0].start, items[first].start, "")
    for index in range(first + 1, len(items)):
        if gone[index]:
            yield Edit(items[index - 1].node.end, items[index].node.end, "")

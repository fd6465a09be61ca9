"""YAML front matter: text -> values, and splices that change one value and nothing
else."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

from memcli.memory.values import Edit
from memcli.text import matching

MAX_BLOCK = (
    65_536  # characters; longer front matter is not looked at: no memory needs it
)
MAX_DEPTH = 16
MAX_DIGITS = 40  # a longer number stays text

_WORDS = frozenset("true false yes no on off null y n".split())
_pattern = partial(
    matching.pattern, "memory/front_matter"
)  # a digest is always in quotes


class Malformed(Exception):
    """The block is not a mapping that may be read; `offset` is the place within the
    block."""

    def __init__(self, why: str, offset: int = 0) -> None:
        super().__init__(why)
        self.offset = offset


class FrontMatter(NamedTuple):
    """The values of one front matter block, and the keys that stand in it twice."""

    values: dict[str, Any]
    repeated: list[str]


def read(block: str) -> FrontMatter:
    """The mapping between two delimiters. Dates stay text. Raises `Malformed`."""
    fast = _read_lines(block)
    return FrontMatter(fast, []) if fast else _read_yaml(block)


def _read_yaml(block: str) -> FrontMatter:
    values: dict[str, Any] = {}
    repeated: list[str] = []
    for key_node, value_node in _compose(block).value:
        key = _key(key_node)
        if key in values and key not in repeated:
            repeated.append(key)
        values[key] = _value(value_node)
    return FrontMatter(values, repeated)


def _read_lines(block: str) -> dict[str, Any] | None:
    lines: list[Any] = list(map(_read_line, block.split("\n")))
    if None in lines:
        return None
    values: dict[str, Any] = dict(filter(None, lines))
    if "-" in values or len(values) + lines.count(()) < len(lines):
        return _with_lists(lines)
    return {key: list(v) if type(v) is tuple else v for key, v in values.items()}


def _with_lists(lines: Iterable[Any]) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    # the key that list items belong to, and how far they are indented
    last = ""
    indent = ""
    for key, value in filter(None, lines):
        if key == "-":
            indent = value[0] if last and values[last] is None else indent
            if not last or value[0] != indent:
                return None
            values[last] = [*(values[last] or ()), value[1]]
        elif key in values:
            return None
        else:
            values[key] = list(value) if type(value) is tuple else value
            last = key if value is None else ""
    return values


@lru_cache(maxsize=2048)
def _read_line(line: str) -> tuple[str, Any] | tuple[()] | None:
    """(key, value), ("-", (indent, item)), () of a blank line, None when YAML must
    tell."""
    if found := _pattern("line").match(line):
        key, *scalar, flow = found.groups()
        if key.lower() in _WORDS:
            return None
        value = _items(flow) if flow is not None else _one_of(*scalar)
        return (
            None
            if value is None and (flow is not None or any(scalar))
            else (key, value)
        )
    if listed := _pattern("listed").match(line):
        indent, *scalar = listed.groups()
        item = _one_of(*scalar)
        return None if item is None else ("-", (indent, item))
    return () if _pattern("blank").match(line) else None


def _one_of(single: str | None, double: str | None, plain: str | None) -> Any:
    """The value of a scalar by its quotes, None when only a YAML reader can tell."""
    if plain is None:
        return double if single is None else single
    if plain[0].isdigit():
        number = _pattern("number").match(plain)
        if number is None or len(plain) >= (19 if number[1] else MAX_DIGITS):
            return None
        return int(plain) if number[1] else float(plain) if number[2] else plain
    return None if plain.lower() in _WORDS else plain


def _items(flow: str) -> tuple[str, ...] | None:
    found = list(_pattern("item").finditer(flow))
    items = tuple(_one_of(*item.groups()) for item in found)
    whole = sum(len(item[0]) for item in found) == len(flow)
    return items if whole and None not in items else None


def _compose(block: str) -> Any:
    """The root node. Aliases, tags, depth and non-mappings are refused before anything
    is built."""
    if len(block) > MAX_BLOCK:
        raise Malformed(f"front matter is longer than {MAX_BLOCK} characters")
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_unsafe(yaml.parse(block, Loader=loader))
        node = yaml.compose(block, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Malformed(
            f"not valid YAML: {error.problem}", mark.index if mark else 0
        ) from None
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError) as error:
        raise Malformed(f"not valid YAML: {type(error).__name__}") from None
    if not isinstance(node, yaml.MappingNode):
        raise Malformed("not a mapping of keys to values")
    return node


def _refuse_unsafe(events: Any) -> None:
    depth = 0
    for event in events:
        name = type(event).__name__
        if name == "AliasEvent":
            raise Malformed("YAML aliases are not read", event.start_mark.index)
        if getattr(event, "tag", None):
            raise Malformed("YAML tags are not read", event.start_mark.index)
        if name in ("MappingStartEvent", "SequenceStartEvent"):
            depth += 1
            if depth > MAX_DEPTH:
                raise Malformed(
                    f"nested deeper than {MAX_DEPTH} levels", event.start_mark.index
                )
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            depth -= 1


def _key(node: Any) -> str:
    return str(_value(node)) if isinstance(node.value, str) else ""


def _value(node: Any) -> Any:
    kind = node.tag.rpartition(":")[2]
    text = node.value
    if kind == "seq":
        return [_value(item) for item in text]
    if kind == "map":
        return {_key(key): _value(value) for key, value in text}
    try:
        if kind in ("int", "float") and len(text) > MAX_DIGITS:
            return text
        if kind == "int":
            return (
                int(text.replace("_", ""), 0)
                if not re.match(r"[-+]?0[0-9]", text)
                else text
            )
        if kind == "float":
            return float(
                re.sub(r"(?i)^([-+]?)\.(inf|nan)$", r"\1\2", text.replace("_", ""))
            )
    except ValueError:
        return text
    if kind == "bool":
        return text.lower() in ("true", "yes", "on", "y")
    return None if kind == "null" else text


def as_written(value: Any) -> Any:
    """What `value` is once written and read again: six decimals are kept, tuples are
    lists."""
    if isinstance(value, float):
        return round(value, 6)
    return (
        [as_written(item) for item in value]
        if isinstance(value, (list, tuple))
        else value
    )


def render_value(value: Any, style: str = "", *, flow: bool = False) -> str:
    """`value` as one line of YAML that reads back as itself; `style` is the quote to
    keep."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):  # without an exponent, which YAML 1.1 reads as text
        text = repr(round(value, 6))
        return f"{value:.6f}" if "e" in text else text
    if value is None or isinstance(value, int):
        return "null" if value is None else str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(render_value(item, flow=True) for item in value) + "]"
    return _quoted(str(value), style, flow=flow)


def _quoted(text: str, style: str, *, flow: bool) -> str:
    if _pattern("unprintable").search(text):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        escaped = escaped.replace("\n", "\\n").replace("\r", "\\r")
        return (
            '"'
            + _pattern("unprintable").sub(
                lambda found: f"\\u{ord(found[0]):04x}", escaped
            )
            + '"'
        )
    if style == '"' and '"' not in text and "\\" not in text:
        return f'"{text}"'
    bare = (
        _pattern("bare").match(text)
        and text.lower() not in _WORDS
        and not _pattern("digest").match(text)
    )
    if style != "'" and bare and not (flow and "," in text):
        return text
    return (
        text
        if not style and _pattern("uuid").match(text)
        else "'" + text.replace("'", "''") + "'"
    )


def render(values: Mapping[str, Any], eol: str = "\n") -> str:
    """A whole block, delimiters included, keys in the order given."""
    lines = [
        "---",
        *(f"{key}: {render_value(value)}" for key, value in values.items()),
        "---",
        "",
    ]
    return eol.join(lines)


def plan_values(block: str, changes: Mapping[str, Any], eol: str) -> list[Edit]:
    """Edits within `block` that set each key to its value, or remove it where that is
    None."""
    node = _compose(block)
    edits = list(
        _removals(block, node, {key for key, value in changes.items() if value is None})
    )
    set_to = {key: value for key, value in changes.items() if value is not None}
    for key, (at, value) in {_key(pair[0]): pair for pair in node.value}.items():
        if key in set_to:
            flow = bool(node.flow_style)
            edits += _replacement(block, (at, value), set_to.pop(key), eol, flow=flow)
    return edits + _addition(block, node, set_to, eol)


def _end(node: Any) -> int:
    """Where a value ends: a block collection's own mark lies behind the comments that
    follow it."""
    while not isinstance(node.value, str) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


def _replacement(
    block: str, pair: tuple[Any, Any], value: Any, eol: str, *, flow: bool
) -> list[Edit]:
    key, node = pair
    start = node.start_mark.index
    after_key = key.end_mark.index
    end = start + len(block[start : _end(node)].rstrip())
    text = _in_style(node, value, flow=flow)
    if start == end:  # `key:` without a value
        return [
            Edit(start, end, (" " if ":" in block[after_key:start] else ": ") + text)
        ]
    if node.start_mark.line == key.end_mark.line:
        return [Edit(start, end, text)]
    if (
        isinstance(value, (list, tuple))
        and value
        and node.id == "sequence"
        and not node.flow_style
    ):
        # One item a line as before; items that are only added leave the others as they
        # stand.
        old = _value(node)
        new = as_written(value)
        glue = eol + block[block.rfind("\n", 0, start) + 1 : start]
        if old == new[: len(old)]:
            more = "".join(f"{glue}- {render_value(item)}" for item in new[len(old) :])
            return [Edit(end, end, more)]
        return [Edit(start, end, glue.join(f"- {render_value(item)}" for item in new))]
    colon = block.index(":", after_key) + 1
    line_end = colon + len(re.split(r"[\r\n]", block[colon:], maxsplit=1)[0])
    return [Edit(colon, colon, " " + text), Edit(line_end, end, "")]


def _in_style(node: Any, value: Any, *, flow: bool) -> str:
    """With the quotes that were there; text gets some in place of what was none."""
    style = getattr(node, "style", "") or ""
    kind = node.tag.rpartition(":")[2]
    if isinstance(value, str) and not style and kind not in ("str", "null"):
        if kind == "timestamp" and _pattern("day").match(value):
            return value
        style = "'"
    return render_value(value, style if style in ("'", '"') else "", flow=flow)


def _removals(block: str, node: Any, gone: set[str]) -> Iterator[Edit]:
    kept = False
    for at, (key, value) in enumerate(node.value):
        start = key.start_mark.index
        if _key(key) not in gone:
            kept = True
        elif not node.flow_style:
            stop = block.find("\n", max(_end(value) - 1, start))
            yield Edit(
                block.rfind("\n", 0, start) + 1,
                len(block) if stop < 0 else stop + 1,
                "",
            )
        elif kept:  # with the comma before it
            yield Edit(node.value[at - 1][1].end_mark.index, value.end_mark.index, "")
        else:
            rest = node.value[at + 1 :]
            yield Edit(
                start, (rest[0][0].start_mark if rest else value.end_mark).index, ""
            )


def _addition(block: str, node: Any, added: Mapping[str, Any], eol: str) -> list[Edit]:
    flow = bool(node.flow_style)
    pairs = [f"{key}: {render_value(value, flow=flow)}" for key, value in added.items()]
    if not pairs:
        return []
    if flow:
        at = node.value[-1][1].end_mark.index if node.value else node.end_mark.index - 1
        return [
            Edit(
                at, at, "".join(f", {pair}" for pair in pairs)[0 if node.value else 2 :]
            )
        ]
    indent = " " * (node.value[0][0].start_mark.column if node.value else 0)
    glue = "" if not block or block.endswith(("\n", "\r")) else eol
    return [
        Edit(
            len(block),
            len(block),
            glue + "".join(indent + pair + eol for pair in pairs),
        )
    ]

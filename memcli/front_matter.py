"""YAML front matter: text -> values, and splices that change one value and nothing else.

Reading takes a fast path for plain `key: value` lines and falls back to PyYAML for a whole block
as soon as one line is anything else; `tests/test_front_matter.py` holds the two equal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from memcli.model import Edit

MAX_BLOCK = 65_536
"""Front matter longer than this (characters) is not looked at: no memory needs it."""
MAX_DEPTH = 16

_PLAIN = r"[A-Za-z0-9_][A-Za-z0-9_./@+-]*(?:[ ,]+[A-Za-z0-9_./@+()-]*[A-Za-z0-9_./@+()])*"
_LINE = re.compile(
    r"([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(?:"
    r"'([^'\r\n]*)'|\"([^\"\\\r\n]*)\"|(" + _PLAIN + r")|\[([^\[\]{}\r\n]*)\])?)?[ \t]*(?:\r?\n|\Z)"
)
_ITEM = re.compile(r"[ \t]*(?:'([^'\r\n]*)'|\"([^\"\\\r\n]*)\"|([A-Za-z_][A-Za-z0-9_./@+-]*))[ \t]*(?:,|\Z)")
_INT = re.compile(r"(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[0-9]+\.[0-9]+\Z")
_TEXT_DIGIT = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\Z"
)
_WORDS = frozenset(["true", "false", "yes", "no", "on", "off", "null", "y", "n"])
_QUOTE_FREE = re.compile(r"[A-Za-z_][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+(),-]+)*\Z")
_BREAK = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


class Malformed(Exception):
    """The block is not a mapping that may be read; `line` counts from 0 within the block."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


class Block(NamedTuple):
    """The values of one front matter block, and the keys that stand in it twice."""

    values: dict[str, Any]
    repeated: tuple[str, ...]


def read(block: str) -> Block:
    """The mapping between two delimiters. Dates stay text. Raises `Malformed`."""
    fast = _read_lines(block)
    return fast if fast is not None else _read_yaml(block)


def _read_lines(block: str) -> Block | None:
    values: dict[str, Any] = {}
    at, size = 0, len(block)
    match = _LINE.match
    while at < size:
        found = match(block, at)
        if found is None:
            return None
        key, single, double, plain, flow = found.groups()
        if key in values or key.lower() in _WORDS:
            return None
        if single is not None:
            values[key] = single
        elif plain is not None:
            value = _plain(plain)
            if value is None:
                return None
            values[key] = value
        elif double is not None:
            values[key] = double
        elif flow is not None:
            items = _items(flow)
            if items is None:
                return None
            values[key] = items
        else:
            values[key] = None
        at = found.end()
    return Block(values, ())


def _plain(text: str) -> Any:
    """The value of a plain scalar, None when only a YAML reader can tell."""
    if text[0].isdigit():
        if _INT.match(text) and len(text) < 19:
            return int(text)
        if _TEXT_DIGIT.match(text):
            return text
        return float(text) if _FLOAT.match(text) else None
    return None if text.lower() in _WORDS else text


def _items(flow: str) -> list[str] | None:
    items: list[str] = []
    at = 0
    while at < len(flow):
        found = _ITEM.match(flow, at)
        if found is None:
            return None
        single, double, plain = found.groups()
        if plain is not None and plain.lower() in _WORDS:
            return None
        items.append(single if single is not None else double if double is not None else plain)
        at = found.end()
    return items


def _compose(block: str) -> Any:
    """The root node. Aliases, tags, depth and non-mappings are refused before anything is built."""
    if len(block) > MAX_BLOCK:
        raise Malformed(f"front matter is longer than {MAX_BLOCK} characters")
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_unsafe(yaml.parse(block, Loader=loader))
        node = yaml.compose(block, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Malformed(f"not valid YAML: {error.problem}", mark.line if mark else 0) from None
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
            raise Malformed("YAML aliases are not read", event.start_mark.line)
        if getattr(event, "tag", None):
            raise Malformed("YAML tags are not read", event.start_mark.line)
        if name in ("MappingStartEvent", "SequenceStartEvent"):
            depth += 1
            if depth > MAX_DEPTH:
                raise Malformed(f"nested deeper than {MAX_DEPTH} levels", event.start_mark.line)
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            depth -= 1


def _read_yaml(block: str) -> Block:
    node = _compose(block)
    values: dict[str, Any] = {}
    repeated = []
    for key_node, value_node in node.value:
        key = str(_value(key_node)) if not isinstance(key_node.value, list) else ""
        if key in values:
            repeated.append(key)
        values[key] = _value(value_node)
    return Block(values, tuple(repeated))


def _value(node: Any) -> Any:
    if isinstance(node.value, str):
        return _scalar(node)
    if node.id == "sequence":
        return [_value(item) for item in node.value]
    return {str(_value(key)): _value(value) for key, value in node.value}


def _scalar(node: Any) -> Any:
    kind, text = node.tag.rpartition(":")[2], node.value
    try:
        if kind == "int":
            return int(text.replace("_", ""), 0) if not re.match(r"[-+]?0[0-9]", text) else text
        if kind == "float":
            return float(re.sub(r"(?i)^([-+]?)\.(inf|nan)$", r"\1\2", text.replace("_", "")))
    except ValueError:
        return text
    if kind == "bool":
        return text.lower() in ("true", "yes", "on", "y")
    return None if kind == "null" else text


# --- writing


def render_value(value: Any, style: str | None = None) -> str:
    """`value` as one line of YAML that reads back as itself. `style` is the quote to keep."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(round(value, 6))
    if value is None or isinstance(value, int):
        return "null" if value is None else str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(str(item), None, flow=True) for item in value) + "]"
    return _quoted(str(value), style)


def _quoted(text: str, style: str | None, *, flow: bool = False) -> str:
    if _BREAK.search(text):
        import json

        return json.dumps(text)
    if style == '"' and '"' not in text and "\\" not in text:
        return f'"{text}"'
    if style != "'" and _QUOTE_FREE.match(text) and text.lower() not in _WORDS and not (flow and "," in text):
        return text
    if style is None and re.match(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", text):
        return text
    return "'" + text.replace("'", "''") + "'"


def render(values: Mapping[str, Any], eol: str = "\n") -> str:
    """A whole block, delimiters included, keys in the order given."""
    lines = ["---", *(f"{key}: {render_value(value)}" for key, value in values.items()), "---", ""]
    return eol.join(lines)


def plan_values(block: str, changes: Mapping[str, Any], eol: str) -> list[Edit]:
    """Edits within `block` that set each key to its value, or remove it where the value is None.

    The characters of the old value alone are replaced; a new key becomes the last line.
    """
    node = _compose(block)
    spans = {str(key.value): (key, value) for key, value in node.value}
    edits: list[Edit] = []
    added: dict[str, Any] = {}
    for key, value in changes.items():
        if key not in spans:
            if value is not None:
                added[key] = value
        elif value is None:
            edits.append(_removal(block, node, key))
        else:
            edits.append(_replacement(block, *spans[key], value))
    return edits + _addition(block, node, added, eol)


def _replacement(block: str, key: Any, node: Any, value: Any) -> Edit:
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:  # `key:` without a value
        return Edit(start, end, " " + render_value(value))
    end = start + len(block[start:end].rstrip())
    style = getattr(node, "style", None)
    if node.start_mark.line > key.end_mark.line:  # a block sequence or mapping below its key
        start = block.index(":", key.end_mark.index) + 1
        return Edit(start, end, " " + render_value(value))
    if style is None and isinstance(value, str) and not _is_text(node):
        style = None if re.match(r"\d{4}-\d\d-\d\d\Z", value) else "'"
        if style is None:
            return Edit(start, end, value)
    return Edit(start, end, render_value(value, style if style in ("'", '"') else None))


def _is_text(node: Any) -> bool:
    return bool(str(node.tag).endswith(":str"))


def _removal(block: str, node: Any, key: str) -> Edit:
    pairs = node.value
    at = next(i for i, (k, _) in enumerate(pairs) if str(k.value) == key)
    start = pairs[at][0].start_mark.index
    if node.flow_style:
        if at + 1 < len(pairs):
            return Edit(start, pairs[at + 1][0].start_mark.index, "")
        return Edit(pairs[at - 1][1].end_mark.index if at else start, pairs[at][1].end_mark.index, "")
    line = block.rfind("\n", 0, start) + 1
    last = pairs[at][1].end_mark.index
    stop = block.find("\n", max(last - 1, start))
    return Edit(line, len(block) if stop < 0 else stop + 1, "")


def _addition(block: str, node: Any, added: Mapping[str, Any], eol: str) -> list[Edit]:
    if not added:
        return []
    pairs = [f"{key}: {render_value(value)}" for key, value in added.items()]
    if node.flow_style:
        at = node.end_mark.index - 1
        return [Edit(at, at, ", " + ", ".join(pairs))]
    glue = "" if not block or block.endswith(("\n", "\r")) else eol
    return [Edit(len(block), len(block), glue + "".join(pair + eol for pair in pairs))]

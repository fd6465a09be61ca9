"""YAML front matter: text -> values, and splices that change one value and nothing
else."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from memcli.memory.values import Edit
from memcli.text.matching import verbose

MAX_BLOCK = 65_536  # characters; no memory needs longer front matter: it is not read
MAX_DEPTH = 16
MAX_DIGITS = 40  # a longer number stays text
_NOT_TEXT = frozenset("true false yes no on off null y n".split())


class Malformed(Exception):
    """The block is not a mapping that may be read; `offset` is the place within the
    block, `reached` how far it was read."""

    def __init__(self, why: str, offset: int = 0, reached: int = 0) -> None:
        super().__init__(why)
        self.offset = offset
        self.reached = max(offset, reached)


class FrontMatter(NamedTuple):
    """The values of one front matter block, and the keys that stand in it twice."""

    values: dict[str, Any]
    repeated: list[str]


def read(block: str) -> FrontMatter:
    """The mapping between two delimiters. Dates stay text. Raises `Malformed`."""
    simple = _read_lines(block)
    return FrontMatter(simple, []) if simple else _read_yaml(block)


# Most blocks are lines of `key: value` that need no YAML reader: ten times faster.

# What may not stand in YAML without an escape, as part of a class. Classes leave it out:
# one that lists all else takes Python forty times as long to compile.
_ESCAPED = r"\x00-\x08\n-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_SINGLE_QUOTED = rf"' ([^'{_ESCAPED}]*) '"
_DOUBLE_QUOTED = rf'" ([^"\\{_ESCAPED}]*) "'
_PLAIN = r"""
    ( [A-Za-z0-9_][A-Za-z0-9_./@+-]*
      (?: [ ,]+ [A-Za-z0-9_./@+()-]* [A-Za-z0-9_./@+()] )* )
"""
_SCALAR = f"{_SINGLE_QUOTED} | {_DOUBLE_QUOTED} | {_PLAIN}"
_LINE_END = rf"(?: [ \t]+ \# [^{_ESCAPED}]* )? [ \t]* \r? \Z"  # perhaps a comment


@verbose
def _pair_line() -> str:
    """`key: value`; the groups are the key, a scalar by its three styles, a list."""
    return rf"""
        ([A-Za-z_][A-Za-z0-9_-]{{0,99}}) :
        (?: [ \t]+ (?: {_SCALAR} | \[ ([^\[\]{{}}\r\n]*) \] )? )?
        {_LINE_END}
    """


@verbose
def _item_line() -> str:
    """`- item`: the groups are how far it is indented, and a scalar by its styles."""
    return rf"([ ]*) -[ ]+ (?: {_SCALAR} ) {_LINE_END}"


@verbose
def _empty_line() -> str:
    return rf"[ ]* (?: \# [^{_ESCAPED}]* )? \r? \Z"


@verbose
def _flow_item() -> str:
    return rf"""
        [ \t]*
        (?: {_SINGLE_QUOTED} | {_DOUBLE_QUOTED} | ([A-Za-z_][A-Za-z0-9_./@+-]*) )
        [ \t]* (?: , | \Z )
    """


_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@verbose
def _beginning_with_a_digit() -> str:
    return rf"""
        (?: (?P<whole> 0 | [1-9][0-9]*) | (?P<fraction> [0-9]+\.[0-9]+) | {_DAY} | {_UUID} )
        \Z
    """


def _read_lines(block: str) -> dict[str, Any] | None:
    lines: list[Any] = list(map(_read_line, block.split("\n")))
    if None in lines:
        return None
    pairs: dict[str, Any] = dict(filter(None, lines))
    is_plain = "-" not in pairs and len(pairs) + lines.count(()) == len(lines)
    values = pairs if is_plain else _with_lists(lines)
    # The list of a line is remembered: nobody gets that one.
    return values and {
        key: list(value) if type(value) is tuple else value
        for key, value in values.items()
    }


def _with_lists(lines: Iterable[Any]) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    # the key that list items belong to, and how far they are indented
    list_key = ""
    indent = ""
    for key, value in filter(None, lines):
        if key == "-":
            own_indent, item = value
            if list_key and values[list_key] is None:
                indent = own_indent
            if not list_key or own_indent != indent:
                return None
            values[list_key] = [*(values[list_key] or ()), item]
        elif key in values:
            return None
        else:
            values[key] = value
            list_key = key if value is None else ""
    return values


@lru_cache(maxsize=2048)
def _read_line(line: str) -> tuple[str, Any] | tuple[()] | None:
    """(key, value), ("-", (indent, item)), () of a blank line, None when YAML must
    tell."""
    if pair := _pair_line().match(line):
        key, *scalar, flow = pair.groups()
        value = _scalar(*scalar) if flow is None else _flow_items(flow)
        is_unclear = value is None and (flow is not None or any(scalar))
        return None if is_unclear or key.lower() in _NOT_TEXT else (key, value)
    if listed := _item_line().match(line):
        indent, *scalar = listed.groups()
        item = _scalar(*scalar)
        return None if item is None else ("-", (indent, item))
    return () if _empty_line().match(line) else None


def _scalar(single: str | None, double: str | None, plain: str | None) -> Any:
    """The value of a scalar by its quotes, None when only a YAML reader can tell."""
    if plain is None:
        return double if single is None else single
    if not plain[0].isdigit():
        return None if plain.lower() in _NOT_TEXT else plain
    number = _beginning_with_a_digit().match(plain)
    longest = 19 if number and number["whole"] else MAX_DIGITS
    if not number or len(plain) >= longest:
        return None
    if number["whole"]:
        return int(plain)
    return float(plain) if number["fraction"] else plain


def _flow_items(flow: str) -> tuple[str, ...] | None:
    matches = list(_flow_item().finditer(flow))
    items = tuple(_scalar(*match.groups()) for match in matches)
    is_whole = sum(len(match[0]) for match in matches) == len(flow)
    return items if is_whole and None not in items else None


# All other blocks are read by PyYAML: its nodes, since they know where they stand.


def _read_yaml(block: str) -> FrontMatter:
    values = {}
    repeated = []
    for key_node, value_node in _compose(block).value:
        key = _key(key_node)
        if key in values and key not in repeated:
            repeated.append(key)
        values[key] = _value(value_node)
    return FrontMatter(values, repeated)


def _compose(block: str) -> Any:
    """The root node. Aliases, tags, depth and non-mappings are refused before anything
    is built."""
    if len(block) > MAX_BLOCK:
        raise Malformed(f"front matter is longer than {MAX_BLOCK} characters")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_unsafe(yaml.parse(block, Loader=loader))
        node = yaml.compose(block, Loader=loader)
    except yaml.MarkedYAMLError as error:
        marks = (error.context_mark, error.problem_mark)
        begins, missed = (mark.index if mark else 0 for mark in marks)
        # What is not closed is named where it begins, not where its end was missed.
        is_open = "block" not in (error.context or "block")
        why = f"not valid YAML: {error.problem}"
        raise Malformed(why, begins if is_open else missed, missed) from None
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError) as error:
        raise Malformed(f"not valid YAML: {type(error).__name__}") from None
    if not isinstance(node, yaml.MappingNode):
        raise Malformed("not a mapping of keys to values")
    return node


def _refuse_unsafe(events: Any) -> None:
    depth = 0
    for event in events:
        name = type(event).__name__
        depth += _DEPTH_CHANGES.get(name, 0)
        reason = ""
        if name == "AliasEvent":
            reason = "YAML aliases are not read"
        elif getattr(event, "tag", None):
            reason = "YAML tags are not read"
        elif depth > MAX_DEPTH:
            reason = f"nested deeper than {MAX_DEPTH} levels"
        if reason:
            raise Malformed(reason, event.start_mark.index)


_DEPTH_CHANGES = {
    "MappingStartEvent": 1,
    "SequenceStartEvent": 1,
    "MappingEndEvent": -1,
    "SequenceEndEvent": -1,
}


def _key(node: Any) -> str:
    return str(_value(node)) if isinstance(node.value, str) else ""


def _value(node: Any) -> Any:
    kind = _kind(node)
    content = node.value
    if kind == "seq":
        return [_value(item) for item in content]
    if kind == "map":
        return {_key(key): _value(value) for key, value in content}
    if kind == "bool":
        return content.lower() in ("true", "yes", "on", "y")
    if kind == "null":
        return None
    if kind in ("int", "float") and len(content) <= MAX_DIGITS:
        return _number(kind, content)
    return content


def _kind(node: Any) -> str:
    """What YAML takes a node for: "str", "int", "seq" and so on."""
    return str(node.tag.rpartition(":")[2])


def _number(kind: str, text: str) -> int | float | str:
    """The number, or the text where Python and YAML 1.1 do not agree on it."""
    digits = text.replace("_", "")
    try:
        if kind == "float":
            return float(re.sub(r"(?i)^([-+]?)\.(inf|nan)$", r"\1\2", digits))
        is_octal = re.match(r"[-+]?0[0-9]", text)
        return text if is_octal else int(digits, 0)
    except ValueError:
        return text


def as_written(value: Any) -> Any:
    """What `value` is after it was written and read again: numbers keep six
    decimals, tuples are lists."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, (list, tuple)):
        return [as_written(item) for item in value]
    return value


def render_value(value: Any, style: str = "", *, flow: bool = False) -> str:
    """`value` as one line of YAML that reads back as itself; `style` is the quote to
    keep."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):  # without an exponent, which YAML 1.1 reads as text
        text = repr(round(value, 6))
        return f"{value:.6f}" if "e" in text else text
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(render_value(item, flow=True) for item in value) + "]"
    return _quoted(str(value), style, flow=flow)


@verbose
def _unprintable() -> str:
    return r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]"


@verbose
def _bare_text() -> str:
    """Words that YAML reads as this text without quotes."""
    return r"[A-Za-z_][A-Za-z0-9_./@+-]* (?: [ ] [A-Za-z0-9_./@+(),-]+ )* \Z"


def _quoted(text: str, style: str, *, flow: bool) -> str:
    if _unprintable().search(text):
        return _escaped(text)
    if style == '"' and '"' not in text and "\\" not in text:
        return f'"{text}"'
    is_bare = _is_bare(text) and not (flow and "," in text)
    if is_bare and style != "'":
        return text
    if not style and re.fullmatch(_UUID, text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _is_bare(text: str) -> bool:
    # A digest is always in quotes: some have digits alone.
    is_digest = re.fullmatch("[0-9a-f]{8}", text)
    is_text = text.lower() not in _NOT_TEXT
    return is_text and not is_digest and _bare_text().match(text) is not None


def _escaped(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r")
    escaped = _unprintable().sub(
        lambda character: f"\\u{ord(character[0]):04x}", escaped
    )
    return f'"{escaped}"'


def render(values: Mapping[str, Any], line_end: str = "\n") -> str:
    """A whole block, delimiters included, keys in the order given."""
    lines = [f"{key}: {render_value(value)}" for key, value in values.items()]
    return line_end.join(["---", *lines, "---", ""])


def plan_values(block: str, changes: Mapping[str, Any], line_end: str) -> list[Edit]:
    """Edits within `block` that set each key to its value, or remove it where that is
    None."""
    node = _compose(block)
    added = {key: value for key, value in changes.items() if value is not None}
    edits = list(_removals(block, node, changes.keys() - added.keys()))
    # Of a key that stands twice the last one counts.
    pairs = {_key(key): (key, value) for key, value in node.value}
    for key, pair in pairs.items():
        if key in added:
            edits += _replacement(block, pair, added.pop(key), line_end, node)
    return edits + _addition(block, node, added, line_end)


def _end(node: Any) -> int:
    """Where a value ends: a block collection's own mark lies behind the comments that
    follow it."""
    while not isinstance(node.value, str) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


def _replacement(
    block: str, pair: tuple[Any, Any], value: Any, line_end: str, mapping: Any
) -> list[Edit]:
    key, node = pair
    start = node.start_mark.index
    after_key = key.end_mark.index
    end = start + len(block[start : _end(node)].rstrip())
    below_key = node.start_mark.line != key.end_mark.line
    has_item_lines = below_key and node.id == "sequence" and not node.flow_style
    if has_item_lines and value and isinstance(value, (list, tuple)):
        return [_new_items(block, node, value, line_end)]
    text = _in_style(node, value, flow=bool(mapping.flow_style))
    if start == end:  # `key:` without a value
        glue = " " if ":" in block[after_key:start] else ": "
        return [Edit(start, end, glue + text)]
    if not below_key:
        return [Edit(start, end, text)]
    colon = block.index(":", after_key) + 1
    rest_of_line = re.split(r"[\r\n]", block[colon:], maxsplit=1)[0]
    return [
        Edit(colon, colon, " " + text),
        Edit(colon + len(rest_of_line), end, ""),
    ]


def _new_items(block: str, node: Any, items: Any, line_end: str) -> Edit:
    """One item a line, as before; where items are only added, the others stay as
    they are."""
    start = node.start_mark.index
    end = start + len(block[start : _end(node)].rstrip())
    before = _value(node)
    after = as_written(items)
    glue = line_end + block[block.rfind("\n", 0, start) + 1 : start]
    lines = [f"- {render_value(item)}" for item in after]
    count = len(before)
    if before == after[:count]:
        added = [glue + line for line in lines[count:]]
        return Edit(end, end, "".join(added))
    return Edit(start, end, glue.join(lines))


def _in_style(node: Any, value: Any, *, flow: bool) -> str:
    """The value in the quotes that were there before; text gets quotes where
    something else stood."""
    style = getattr(node, "style", "") or ""
    is_odd = not style and _kind(node) not in ("str", "null")
    if is_odd and isinstance(value, str):
        if _kind(node) == "timestamp" and re.fullmatch(_DAY, value):
            return value
        style = "'"
    return render_value(value, style if style in ("'", '"') else "", flow=flow)


def _removals(block: str, node: Any, removed: Collection[str]) -> Iterator[Edit]:
    is_kept = False
    for place, (key, value) in enumerate(node.value):
        start = key.start_mark.index
        if _key(key) not in removed:
            is_kept = True
        elif not node.flow_style:
            line_start = block.rfind("\n", 0, start) + 1
            stop = block.find("\n", max(_end(value) - 1, start))
            yield Edit(line_start, len(block) if stop < 0 else stop + 1, "")
        elif is_kept:  # with the comma before it
            before = node.value[place - 1][1]
            yield Edit(before.end_mark.index, value.end_mark.index, "")
        elif place + 1 < len(node.value):  # with the comma behind it
            next_key, _ = node.value[place + 1]
            yield Edit(start, next_key.start_mark.index, "")
        else:
            yield Edit(start, value.end_mark.index, "")


def _addition(
    block: str, node: Any, added: Mapping[str, Any], line_end: str
) -> list[Edit]:
    if not added:
        return []
    flow = bool(node.flow_style)
    pairs = [f"{key}: {render_value(value, flow=flow)}" for key, value in added.items()]
    if flow and node.value:
        _, last_value = node.value[-1]
        end = last_value.end_mark.index
        return [Edit(end, end, "".join(f", {pair}" for pair in pairs))]
    if flow:
        end = node.end_mark.index - 1
        return [Edit(end, end, ", ".join(pairs))]
    indent = " " * (node.value[0][0].start_mark.column if node.value else 0)
    glue = "" if not block or block.endswith(("\n", "\r")) else line_end
    end = len(block)
    text = "".join(f"{indent}{pair}{line_end}" for pair in pairs)
    return [Edit(end, end, glue + text)]

"""Three-way merge of two memory files by entry id.

Prose (before the first entry, or below one) is merged by `merge_prose`, which is git; entries never
conflict. The outcome does not depend on which side is called ours, but for the order of entries and
of list items. What cannot be merged by entry raises `Unmergeable`: git's own merge is the answer
then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from memcli.errors import MemError
from memcli.memory import front_matter
from memcli.memory.editor import EntryChange, edited
from memcli.memory.entry_values import read_values
from memcli.memory.grammar import derived_id
from memcli.memory.parser import parse
from memcli.memory.words import is_day

ARCHIVE = ".archive.md"
COUNTS = ("reinforcement_count", "success_count")
LATER_WINS = ("last_reinforced", "promoted_at", "archived_at", "consolidated_at", "ended_at")
EARLIER_WINS = ("created_at", "started_at")
STATUS_RANK = {"retired": 2, "compacted": 1}

_BLANKS = "\r\n \t"
_LINE_END = re.compile(r"\r\n|\n|\r")
_FRONT = re.compile(r"---[ \t]*\r?\n.*?(?<=\n)---[ \t]*\r?(?:\n|\Z)", re.DOTALL)
_COMMENT = re.compile(
    r"^[ \t]*#.*|^[^'\"\[{\n]*?[ \t](#.*)|:[ \t]+(?:'[^'\n]*'|\"[^\"\n]*\"|\[[^]'\"\n]*\])[ \t]+#.*",
    re.M,
)

Values = Mapping[str, Any]
MergeProse = Callable[[str, str, str], tuple[str, int]]
"""(base, ours, theirs) to the merged text and the number of conflicts left in it."""
T = TypeVar("T")


class Unmergeable(Exception):
    """Not a case for merging by entry."""


class Merged(NamedTuple):
    """The merged text, and how many conflicts its prose holds."""

    text: str
    conflicts: int


def merge(base: str, ours: str, theirs: str, *, path: str, merge_prose: MergeProse) -> Merged:
    """Both sides' changes to `base` in one text, which reads back as exactly that.

    A side that changed nothing leaves the other's text as it is, to the byte.
    """
    if ours == theirs or theirs == base:
        return Merged(ours, 0)
    if ours == base:
        return Merged(theirs, 0)
    eol = _line_end_of(base, ours, theirs)
    old, mine, other = (_read(_with_line_ends(text, eol), path) for text in (base, ours, theirs))
    if not (old.blocks or mine.blocks or other.blocks):
        raise Unmergeable("")
    head, conflicts = _merge_head(old, mine, other, eol, merge_prose)
    below = _BelowMerge(eol, merge_prose)
    blocks = _merge_blocks(old.blocks, mine.blocks, other.blocks, below)
    text = _joined(head, blocks, _merge_tail(old, mine, other), eol)
    _verify(text, path, head, blocks)
    return Merged(text, conflicts + below.conflicts)


# --- reading


class _Block(NamedTuple):
    """An entry's text: front matter with its delimiters, and the rest.

    `below` is the prose down to the next entry with the blank lines before it, `gap` the blank
    lines behind both. Prose that lost its entry is a block without an id.
    """

    id: str
    front: str
    rest: str
    gap: str
    below: str = ""

    @property
    def text(self) -> str:
        return self.front + self.rest

    @property
    def body(self) -> str:
        return _LINE_END.sub("\n", self.rest.strip(_BLANKS))


_Key = tuple[str, int]
"""An id and 0; of an entry that is known by its text alone, the text and its ordinal among equals.
"""


class _Side(NamedTuple):
    bom: str
    head: str
    gap: str
    blocks: dict[_Key, _Block]
    tail: str


def _read(text: str, path: str) -> _Side:
    file = parse(text, path)
    if any(problem.severity == "unreadable" for problem in file.problems):
        raise Unmergeable("front matter cannot be read")
    blocks: dict[_Key, _Block] = {}
    append_only = path.endswith(ARCHIVE)
    nexts = [entry.start for entry in file.entries[1:]] + [len(text)]
    for entry, stop in zip(file.entries, nexts, strict=False):
        block = _block(text[entry.start : entry.end], entry.id)
        if text[entry.end : stop].strip():
            below, gap = _trimmed(block.gap + text[entry.end : stop])
            block = block._replace(below=below, gap=gap)
        if append_only:
            blocks.setdefault((block.text, 0), block)
        elif not entry.identified:
            blocks[_next_key(blocks, block.text)] = block
        elif (entry.id, 0) in blocks:
            raise Unmergeable(f"id {entry.id} stands twice")
        else:
            blocks[entry.id, 0] = block
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    head, gap = _trimmed(text[len(bom) : file.entries[0].start if file.entries else len(text)])
    return _Side(bom, head, gap, blocks, _trimmed(text)[1])


def _next_key(blocks: Mapping[_Key, _Block], text: str) -> _Key:
    ordinal = 0
    while (text, ordinal) in blocks:
        ordinal += 1
    return text, ordinal


def _block(segment: str, id: str) -> _Block:
    core, gap = _trimmed(segment)
    front = _FRONT.match(re.sub(r"\r(?!\n)", "\n", core))
    if front is None:
        raise Unmergeable(f"the front matter of {id} has no end")
    return _Block(id, core[: front.end()], core[front.end() :], gap)


def _trimmed(text: str) -> tuple[str, str]:
    """`text` up to the end of its last line with something on it, and what follows there."""
    at = len(text.rstrip(_BLANKS))
    while at and text[at : at + 1] in (" ", "\t"):
        at += 1
    return text[:at], text[at:]


def _values(block: _Block) -> dict[str, Any]:
    """The front matter as it is written; a key without a value is none."""
    inner = re.sub(r"\r(?!\n)", "\n", block.front).partition("\n")[2].rstrip(_BLANKS)
    values = front_matter.read(inner[: inner.rindex("---")]).values
    return {key: value for key, value in values.items() if value is not None}


# --- line ends and the text as a whole


def _line_end_of(base: str, ours: str, theirs: str) -> str:
    """The line end of the merged file: ours, unless theirs alone changed it."""
    old, mine, other = (
        found[0] if (found := _LINE_END.search(t)) else "" for t in (base, ours, theirs)
    )
    return (other if old == mine else mine) or mine or other or "\n"


def _with_line_ends(text: str, eol: str) -> str:
    """A text whose first line ends otherwise, converted; one of mixed line ends that agrees is
    left.
    """
    found = _LINE_END.search(text)
    return text if found is None or found[0] == eol else _LINE_END.sub(lambda _: eol, text)


def _merge_head(
    old: _Side, mine: _Side, other: _Side, eol: str, merge_prose: MergeProse
) -> tuple[str, int]:
    """The prose with its BOM and the blank lines below it, and its number of conflicts."""
    bom = _one_sided(old.bom, mine.bom, other.bom, lambda: mine.bom)
    gap = _merge_blanks(old.gap, mine.gap, other.gap)
    sides = (old.head, mine.head, other.head)
    conflicts = 0

    def merged() -> str:
        nonlocal conflicts
        text, conflicts = merge_prose(*(head + eol if head else "" for head in sides))
        return text

    text, rest = _trimmed(_one_sided(*sides, merged))
    return bom + text + (gap or rest), conflicts


def _merge_tail(old: _Side, mine: _Side, other: _Side) -> str:
    """How the file ends; a side without any text has no say in that."""
    if not (mine.head or mine.blocks):
        return other.tail
    if not (other.head or other.blocks):
        return mine.tail
    return _merge_blanks(old.tail, mine.tail, other.tail)


def _joined(head: str, blocks: Sequence[_Block], tail: str, eol: str) -> str:
    if not blocks:
        return _trimmed(head)[0] + tail
    text, gap = _trimmed(head)
    parts = [text, _open(gap, eol) if text.strip("\ufeff") else gap]
    for block in blocks:
        parts += [block.text, block.below, _open(block.gap, eol)]
    return "".join([*parts[:-1], tail])


def _open(gap: str, eol: str) -> str:
    """`gap` if an entry may begin behind it, else one blank line."""
    return gap if len(_LINE_END.findall(gap)) > 1 and gap[-1] in "\r\n" else eol * 2


def _verify(text: str, path: str, head: str, blocks: Sequence[_Block]) -> None:
    file = parse(text, path)
    entries = [_trimmed(text[entry.start : entry.end])[0] for entry in file.entries]
    prose = "\n".join(text[s.start : s.end] for s in file.segments if s.kind == "prose")
    wanted = "\n".join([head, *(block.below for block in blocks)])
    if entries != [block.text for block in blocks if block.id] or _full(prose) != _full(wanted):
        raise Unmergeable("the merged text does not read back as planned")
    if any(problem.severity == "unreadable" for problem in file.problems):
        raise Unmergeable("the merged text cannot be read")


def _full(text: str) -> list[str]:
    return [line for line in _LINE_END.split(text) if line.strip("\ufeff" + _BLANKS)]


def _one_sided(base: T, ours: T, theirs: T, otherwise: Callable[[], T]) -> T:
    """The side that changed, where only one did or both alike."""
    if theirs == base or ours == theirs:
        return ours
    return theirs if ours == base else otherwise()


def _merge_blanks(base: str, ours: str, theirs: str) -> str:
    return _one_sided(
        base, ours, theirs, lambda: max(ours, theirs, key=lambda text: (len(text), text))
    )


# --- entries

_Blocks = Mapping[_Key, _Block]


class _BelowMerge:
    """Merges what stands below entries; counts the conflicts that git left there."""

    def __init__(self, eol: str, merge_prose: MergeProse) -> None:
        self.eol = eol
        self.merge_prose = merge_prose
        self.conflicts = 0

    def merged(self, base: str, ours: str, theirs: str) -> str:
        """The prose of both sides, with the blank lines before it."""
        return _one_sided(base, ours, theirs, lambda: self._both(base, ours, theirs))

    def _both(self, *sides: str) -> str:
        bare = [side.lstrip("\r\n") for side in sides]
        text, conflicts = self.merge_prose(*(side + self.eol if side else "" for side in bare))
        self.conflicts += conflicts
        return self.eol * 2 + _trimmed(text)[0]


def _merge_blocks(
    base: _Blocks, ours: _Blocks, theirs: _Blocks, below: _BelowMerge
) -> list[_Block]:
    """Ours' order, then what theirs alone has; a second version of a body behind the first."""
    keys = [*ours, *(key for key in theirs if key not in ours)]
    merged = {
        key: _merge_block(base.get(key), ours.get(key), theirs.get(key), below) for key in keys
    }
    taken = {versions[0].id for versions in merged.values() if versions}
    stale = set(_outdated(base, merged))
    blocks = [
        b
        for versions in merged.values()
        for i, b in enumerate(versions)
        if i == 0 or not b.id or b.id not in taken
    ]
    return [block for block in blocks if (block.id, block.body) not in stale]


def _outdated(base: _Blocks, merged: Mapping[_Key, Sequence[_Block]]) -> Iterable[tuple[str, str]]:
    """Id and body of second versions that were edited on and now stand there anew.

    In a rebase the first of two edits becomes such a version, and the base of the second edit.
    """
    for key, versions in merged.items():
        old = base.get(key)
        if old is not None and len(versions) > 1:
            id = derived_id(old.id, old.body)
            if (id, 0) not in base:
                yield id, old.body


def _merge_block(
    base: _Block | None, ours: _Block | None, theirs: _Block | None, below: _BelowMerge
) -> list[_Block]:
    """The entry, nothing where it was removed, or the entry and the version that it contradicts."""
    if ours is None or theirs is None:
        left = theirs if ours is None else ours
        if left is None or base is None or base.text != left.text:
            return [] if left is None else [left]
        return [] if left.below in ("", base.below) else [_Block("", "", "", left.gap, left.below)]
    gap = _merge_blanks("" if base is None else base.gap, ours.gap, theirs.gap)
    prose = below.merged("" if base is None else base.below, ours.below, theirs.below)
    ours, theirs = (side._replace(gap=gap, below=prose) for side in (ours, theirs))
    if theirs.text == (base or ours).text:
        return [ours]
    if base is not None and ours.text == base.text:
        return [theirs]
    return _merge_changed(base, ours, theirs)


def _merge_changed(base: _Block | None, ours: _Block, theirs: _Block) -> list[_Block]:
    """An entry that both sides changed, or both inserted."""
    values = _merge_values(None if base is None else _values(base), _values(ours), _values(theirs))
    first, second = min(ours, theirs, key=_body_rank), max(ours, theirs, key=_body_rank)
    versions = []
    if base is not None and base.body in (ours.body, theirs.body):
        first = theirs if ours.body == base.body else ours
    elif ours.body != theirs.body:
        versions = [_other_version(second)._replace(below="")]
    values["written"] = _values(first).get("written")
    return [_with_body(_with_values(values, base, ours, theirs), first), *versions]


def _with_body(block: _Block, source: _Block) -> _Block:
    """`block` with the body of `source`, which has the same line ends."""
    if not source.rest:
        return block._replace(front=block.front.rstrip(_BLANKS), rest="")
    opening = _LINE_END.search(block.front)
    front = (
        block.front if block.front[-1] in "\r\n" or opening is None else block.front + opening[0]
    )
    return block._replace(front=front, rest=source.rest)


def _body_rank(block: _Block) -> tuple[int, str]:
    return -len(block.body), sha256(block.body.encode("utf-8", "surrogatepass")).hexdigest()


def _other_version(block: _Block) -> _Block:
    """The entry with the shorter body, under an id of its own."""
    others = _list("contradicts", _values(block).get("contradicts")) or []
    id = derived_id(block.id, block.body)
    return _spliced(block, {"id": id, "contradicts": [*others, block.id]})._replace(id=id)


def _with_values(values: Values, base: _Block | None, ours: _Block, theirs: _Block) -> _Block:
    """The front matter of one side with what it lacks spliced in: ours, if it can be written there."""
    for block in _by_comments(base, ours, theirs):
        own = _values(block)
        changes = {
            k: values.get(k) for k in [*values, *own] if not _same(values.get(k), own.get(k))
        }
        if all(value is None or _writable(key, value) for key, value in changes.items()):
            return _spliced(block, changes)
    raise Unmergeable("values that cannot be spliced")


def _by_comments(base: _Block | None, ours: _Block, theirs: _Block) -> Iterable[_Block]:
    """Where both sides may serve, both; else the one whose comments would be lost."""
    old, mine, other = (set(_comments(block)) for block in (base or ours, ours, theirs))
    if mine == other:
        return (ours, theirs)
    if other <= mine or other == old:
        return (ours,)
    if mine <= other or mine == old:
        return (theirs,)
    raise Unmergeable("both sides changed the comments of one entry")


def _comments(block: _Block) -> list[str]:
    return [found[0].partition("#")[2].strip() for found in _COMMENT.finditer(block.front)]


def _spliced(block: _Block, changes: Values) -> _Block:
    """`block` with changed front matter, read back."""
    if not changes:
        return block
    wanted = {
        key: value for key, value in {**_values(block), **changes}.items() if value is not None
    }
    try:
        after = block._replace(front=edited(parse(block.front, ""), [EntryChange(0, changes)]).text)
    except MemError as error:
        raise Unmergeable(str(error)) from error
    if not _same_values(_values(after), wanted):
        raise Unmergeable("values do not read back as planned")
    return after


def _writable(key: str, value: Any) -> bool:
    """Whether the value survives being written: lists of lists and mappings do not."""
    try:
        return _same_values(
            front_matter.read(front_matter.render({key: value})[4:-4]).values, {key: value}
        )
    except front_matter.Malformed:
        return False


# --- values


def _merge_values(base: Values | None, ours: Values, theirs: Values) -> dict[str, Any]:
    """Front matter of both sides; without a base, two insertions of one entry."""
    if base is None:
        # What both bring with them was counted before their ways parted, say by a squashed merge.
        both = {key: (_counted(key, ours), _counted(key, theirs)) for key in COUNTS}
        base = {key: min(pair) for key, pair in both.items() if key in ours and key in theirs}
    newer = _date_rank(ours.get("last_reinforced")), _date_rank(theirs.get("last_reinforced"))
    preferred = "" if newer[0] == newer[1] else "ours" if newer[0] > newer[1] else "theirs"
    merged = {
        key: _merge_value(key, base.get(key), ours.get(key), theirs.get(key), preferred)
        for key in dict.fromkeys([*ours, *theirs])
    }
    merged["retired_because"] = _because(merged, ours, theirs)
    return {key: value for key, value in merged.items() if value is not None}


def _merge_value(key: str, base: Any, ours: Any, theirs: Any, preferred: str) -> Any:
    if _same(theirs, base):
        return ours
    if _same(ours, base):
        return theirs
    if key in COUNTS:
        base, ours, theirs = (_counted(key, {key: value}) for value in (base, ours, theirs))
        return max(0, ours + theirs - base)
    if ours is None or theirs is None:
        return theirs if ours is None else ours
    return ours if _same(ours, theirs) else _merge_both_changed(key, ours, theirs, preferred)


def _merge_both_changed(key: str, ours: Any, theirs: Any, preferred: str) -> Any:
    if key in LATER_WINS:
        return max(ours, theirs, key=_date_rank)
    if key in EARLIER_WINS:
        return min(ours, theirs, key=lambda value: (not is_day(str(value)[:10]), str(value)))
    if key == "status":
        return max(ours, theirs, key=lambda value: (STATUS_RANK.get(str(value), 0), str(value)))
    lists = _list(key, ours), _list(key, theirs)
    if lists[0] is not None and lists[1] is not None:
        return [*lists[0], *(item for item in lists[1] if item not in lists[0])]
    if _is_number(ours) and _is_number(theirs):
        return max(ours, theirs, key=lambda value: (value == value, value, str(value)))
    if preferred:
        return ours if preferred == "ours" else theirs
    return max(ours, theirs, key=lambda value: (str(value), repr(value)))


def _because(merged: Values, ours: Values, theirs: Values) -> Any:
    """The reason goes with the status it explains."""
    status = merged.get("status")
    sides = [values for values in (ours, theirs) if _same(values.get("status"), status)]
    return sides[0].get("retired_because") if len(sides) == 1 else merged.get("retired_because")


def _counted(key: str, values: Values) -> int:
    effective, _ = read_values({key: values.get(key)})
    return int(effective.get(key, effective["extra"].get(key, 0)))


def _date_rank(value: Any) -> tuple[bool, str]:
    text = "" if value is None else str(value)
    return is_day(text[:10]), text


def _list(key: str, value: Any) -> list[Any] | None:
    """A value as the list that a reader takes it for, None when it is none."""
    effective = read_values({key: value})[0]["extra"].get(key)
    return effective if isinstance(effective, list) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(one: Any, two: Any) -> bool:
    """Equality that tells 1 from true and 1.0, and holds for what is not a number."""
    return repr(one) == repr(two)


def _same_values(one: Values, two: Values) -> bool:
    return sorted(one) == sorted(two) and all(_same(one[key], two[key]) for key in one)

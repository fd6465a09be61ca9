"""Three-way merge of two memory files by entry id; prose is merged by `merge_prose`,
which is git.

The outcome does not depend on which side is ours, but for the order of entries and of
list items."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from memcli.errors import MemError
from memcli.memory import front_matter
from memcli.memory.changes import ARCHIVE_KEYS, EntryChange, edited
from memcli.memory.entry_values import read_values
from memcli.memory.grammar import BLANKS, derived_id, with_line_feeds
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import ARCHIVE
from memcli.memory.words import is_day
from memcli.text.matching import verbose

_LINE_END = re.compile(r"\r\n|\n|\r")
_FRONT = re.compile(r"---[ \t]*\r?\n.*?(?<=\n)---[ \t]*\r?(?:\n|\Z)", re.DOTALL)
COUNTS = ("reinforcement_count", "success_count")
LATER_WINS = (
    "last_reinforced",
    "promoted_at",
    "archived_at",
    "consolidated_at",
    "ended_at",
)
EARLIER_WINS = ("created_at", "started_at")
GUARD_RANK = {"deny": 2, "ask": 1}
STATUS_RANK = {"retired": 2, "compacted": 1}

Values = Mapping[str, Any]
MergeProse = Callable[[str, str, str], tuple[str, int]]
"""(base, ours, theirs) to the merged text and the number of conflicts left in it."""
T = TypeVar("T")


class Unmergeable(Exception):
    """What cannot be merged by entry: git's own merge is the answer then."""


def merge(
    base: str, ours: str, theirs: str, *, path: str, merge_prose: MergeProse
) -> tuple[str, int]:
    """Both sides' changes to `base` in one text, and how many conflicts its prose
    holds.

    When one side has none, the other's to the byte."""
    if base in (ours, theirs) or ours == theirs:
        return _one_sided(base, ours, theirs, str), 0
    ends = (
        found[0] if (found := _LINE_END.search(t)) else "" for t in (base, ours, theirs)
    )
    old_end, my_end, other_end = ends
    # The line end of the merged file is ours, unless theirs alone changed it.
    eol = (other_end if old_end == my_end else my_end) or my_end or other_end or "\n"
    old, mine, other = (_read(text, path, eol) for text in (base, ours, theirs))
    if not (old.blocks or mine.blocks or other.blocks):
        raise Unmergeable("")
    prose = _ProseMerge(eol, merge_prose)
    head = _one_sided(old.bom, mine.bom, other.bom, lambda: mine.bom)
    head += prose.merged(old.head, mine.head, other.head)
    head += _merge_blanks(old.gap, mine.gap, other.gap)
    blocks = _merge_blocks(old.blocks, mine.blocks, other.blocks, prose)
    tail = _merge_blanks(old.tail, mine.tail, other.tail)
    if not (mine.head or mine.blocks) or not (other.head or other.blocks):
        tail = mine.tail if mine.head or mine.blocks else other.tail
    text = _joined(head, blocks, tail, eol)
    _verify(parse(text, path), head, blocks)
    return text, prose.conflicts


class _Block(NamedTuple):
    """An entry's text: front matter with its delimiters, and the rest.

    `below` is the prose down to the next entry, `gap` the blank lines behind both."""

    id: str = ""
    front: str = ""
    rest: str = ""
    gap: str = ""
    below: str = ""

    @property
    def text(self) -> str:
        return self.front + self.rest

    @property
    def body(self) -> str:
        return _LINE_END.sub("\n", self.rest.strip(BLANKS))

    @property
    def values(self) -> dict[str, Any]:
        """The front matter as it is written; a key without a value is none."""
        inner = with_line_feeds(self.front).partition("\n")[2].rstrip(BLANKS)
        values = front_matter.read(inner[: inner.rindex("---")]).values
        return {key: value for key, value in values.items() if value is not None}


_Blocks = dict[tuple[str, int | str], _Block]
"""By id and 0, in archives by id and body; of an entry without an id, by its text and
its ordinal among equals."""


class _Side(NamedTuple):
    bom: str
    head: str
    gap: str
    blocks: _Blocks
    tail: str


def _read(text: str, path: str, eol: str) -> _Side:
    """A text whose first line ends otherwise is converted; mixed line ends that agree
    are left."""
    found = _LINE_END.search(text)
    if found is not None and found[0] != eol:
        text = _LINE_END.sub(lambda _: eol, text)
    file = parse(text, path)
    if any(problem.severity == "unreadable" for problem in file.problems):
        raise Unmergeable("front matter cannot be read")
    blocks: _Blocks = {}
    seen: Counter[str] = Counter()
    nexts = [entry.start for entry in file.entries[1:]] + [len(text)]
    for entry, stop in zip(file.entries, nexts, strict=False):
        core, gap = _trimmed(text[entry.start : entry.end])
        front = _FRONT.match(with_line_feeds(core))
        if front is None:
            raise Unmergeable(f"the front matter of {entry.id} has no end")
        block = _Block(
            id=entry.id, front=core[: front.end()], rest=core[front.end() :], gap=gap
        )
        if text[entry.end : stop].strip():
            below, gap = _trimmed(gap + text[entry.end : stop])
            block = block._replace(below=below, gap=gap)
        key: tuple[str, int | str] = (entry.id, 0)
        if not entry.identified:
            key = (block.text, seen[block.text])
            seen[block.text] += 1
        elif path.endswith(ARCHIVE):
            # It may hold an entry in several wordings, each once: as it last left.
            key = (entry.id, block.body)
            block = max(blocks.get(key, block), block, key=_left_at)
        elif key in blocks:
            raise Unmergeable(f"id {entry.id} stands twice")
        blocks[key] = block
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    head, gap = _trimmed(
        text[len(bom) : file.entries[0].start if file.entries else len(text)]
    )
    return _Side(bom=bom, head=head, gap=gap, blocks=blocks, tail=_trimmed(text)[1])


def _left_at(block: _Block) -> str:
    return str(block.values.get("archived_at", ""))


def _trimmed(text: str) -> tuple[str, str]:
    """`text` up to the end of its last line with something on it, and what follows
    there."""
    at = len(text.rstrip(BLANKS))
    at += at and len(text) - at - len(text[at:].lstrip(" \t"))
    return text[:at], text[at:]


class _ProseMerge:
    def __init__(self, eol: str, merge_prose: MergeProse) -> None:
        self.eol = eol
        self.merge_prose = merge_prose
        self.conflicts = 0

    def merged(self, base: str, ours: str, theirs: str, lead: str = "") -> str:
        """The prose of both sides; where git merged it, with `lead` before it."""

        def by_git() -> str:
            bare = [
                side.lstrip("\r\n") if lead else side for side in (base, ours, theirs)
            ]
            text, conflicts = self.merge_prose(
                *(side + self.eol if side else "" for side in bare)
            )
            self.conflicts += conflicts
            return lead + _trimmed(text)[0]

        return _one_sided(base, ours, theirs, by_git)


def _joined(head: str, blocks: Sequence[_Block], tail: str, eol: str) -> str:
    text, gap = _trimmed(head)
    if not blocks:
        return text + tail

    def opened(gap: str) -> str:
        """`gap` if an entry may begin behind it, else one blank line."""
        return gap if len(_LINE_END.findall(gap)) > 1 and gap[-1] in "\r\n" else eol * 2

    parts = [text, opened(gap) if text.strip("\ufeff") else gap]
    for block in blocks:
        parts += [block.text, block.below, opened(block.gap)]
    return "".join([*parts[:-1], tail])


def _verify(file: MemoryFile, head: str, blocks: Sequence[_Block]) -> None:
    def full(text: str) -> list[str]:
        return [line for line in _LINE_END.split(text) if line.strip("\ufeff" + BLANKS)]

    entries = [
        _trimmed(file.text[entry.start : entry.end])[0] for entry in file.entries
    ]
    prose = "\n".join(
        file.text[s.start : s.end] for s in file.segments if s.kind == "prose"
    )
    wanted = "\n".join([head, *(block.below for block in blocks)])
    if entries != [block.text for block in blocks if block.id] or full(prose) != full(
        wanted
    ):
        raise Unmergeable("the merged text does not read back as planned")


def _one_sided(base: T, ours: T, theirs: T, otherwise: Callable[[], T]) -> T:
    if theirs == base or ours == theirs:
        return ours
    return theirs if ours == base else otherwise()


def _merge_blanks(base: str, ours: str, theirs: str) -> str:
    return _one_sided(
        base, ours, theirs, lambda: max((ours, theirs), key=lambda t: (len(t), t))
    )


def _merge_blocks(
    base: _Blocks, ours: _Blocks, theirs: _Blocks, prose: _ProseMerge
) -> list[_Block]:
    """Ours' order, then what theirs alone has; a second version of a body behind the
    first, unless it was edited on: in a rebase the first of two edits becomes one, and
    the base of the second."""
    merged = {
        key: _merge_block(base.get(key), ours.get(key), theirs.get(key), prose)
        for key in dict.fromkeys([*ours, *theirs])
    }
    taken = {versions[0].id for versions in merged.values() if versions}
    edited_on = (
        base[k] for k, versions in merged.items() if len(versions) > 1 and k in base
    )
    stale = {(derived_id(block.id, block.body), block.body) for block in edited_on}
    stale = {(id, body) for id, body in stale if (id, 0) not in base}
    return [
        block
        for versions in merged.values()
        for i, block in enumerate(versions)
        if (i == 0 or not block.id or block.id not in taken)
        and (block.id, block.body) not in stale
    ]


def _merge_block(
    base: _Block | None, ours: _Block | None, theirs: _Block | None, prose: _ProseMerge
) -> list[_Block]:
    if ours is None or theirs is None:
        left = theirs if ours is None else ours
        if left is None or base is None or base.text != left.text:
            return [] if left is None else [left]
        return (
            []
            if left.below in ("", base.below)
            else [_Block(gap=left.gap, below=left.below)]
        )
    old = base or _Block()
    gap = _merge_blanks(old.gap, ours.gap, theirs.gap)
    below = prose.merged(old.below, ours.below, theirs.below, prose.eol * 2)
    ours, theirs = (side._replace(gap=gap, below=below) for side in (ours, theirs))
    if theirs.text == (base or ours).text:
        return [ours]
    return [theirs] if ours.text == old.text else _merge_changed(base, ours, theirs)


def _merge_changed(base: _Block | None, ours: _Block, theirs: _Block) -> list[_Block]:
    values = _merge_values(
        None if base is None else base.values, ours.values, theirs.values
    )

    def rank(block: _Block) -> tuple[int, str]:
        return -len(block.body), sha256(
            block.body.encode("utf-8", "surrogatepass")
        ).hexdigest()

    first, second = sorted((ours, theirs), key=rank)
    versions = []
    if base is not None and base.body in (ours.body, theirs.body):
        first = theirs if ours.body == base.body else ours
    elif ours.body != theirs.body:
        others = _as_list("contradicts", second.values.get("contradicts")) or []
        changes = {
            "id": derived_id(second.id, second.body),
            "contradicts": [*others, second.id],
        }
        versions = [_spliced(second, changes)._replace(id=str(changes["id"]), below="")]
    values["written"] = first.values.get("written")
    return [_with_body(_with_values(values, base, ours, theirs), first), *versions]


def _with_body(block: _Block, source: _Block) -> _Block:
    if not source.rest:
        return block._replace(front=block.front.rstrip(BLANKS), rest="")
    opening = _LINE_END.search(block.front)
    missing = "" if block.front[-1] in "\r\n" or opening is None else opening[0]
    return block._replace(front=block.front + missing, rest=source.rest)


@verbose(lines=True)
def _comment() -> str:
    """A comment in front matter."""
    return r"""
        ^ [ \t]* \# .*                    # a line of its own
      | ^ [^'"\[{\n]*? [ \t] (\# .*)      # behind a plain value
      | : [ \t]+
        (?: '[^'\n]*' | "[^"\n]*" | \[ [^]'"\n]* \] )   # behind quotes or a list
        [ \t]+ \# .*
    """


def _comments(block: _Block) -> set[str]:
    """The words of the comments in the front matter."""
    return {
        found[0].partition("#")[2].strip() for found in _comment().finditer(block.front)
    }


def _with_values(
    values: Values, base: _Block | None, ours: _Block, theirs: _Block
) -> _Block:
    """The front matter of a side that loses no comment, with what it lacks spliced
    in."""
    old = _comments(base or ours)
    mine = _comments(ours)
    other = _comments(theirs)
    sides: list[_Block] = []
    if other <= mine or other == old:
        sides.append(ours)
    if mine <= other or mine == old:
        sides.append(theirs)
    if not sides:
        raise Unmergeable("both sides changed the comments of one entry")
    for block in sides:
        own = block.values
        wanted = {key: values.get(key) for key in [*values, *own]}
        changes = {
            key: value
            for key, value in wanted.items()
            if not _same(value, own.get(key))
        }
        with suppress(Unmergeable):
            return _spliced(block, changes)
    raise Unmergeable("values that cannot be spliced")


def _spliced(block: _Block, changes: Values) -> _Block:
    try:
        front = edited(parse(block.front, ""), [EntryChange(0, changes)]).text
    except MemError as error:
        raise Unmergeable(str(error)) from error
    found = block._replace(front=front)
    wanted = {key: v for key, v in {**block.values, **changes}.items() if v is not None}
    if not _same(sorted(found.values.items()), sorted(wanted.items())):
        raise Unmergeable("values that cannot be spliced")  # say a mapping
    return found


def _merge_values(base: Values | None, ours: Values, theirs: Values) -> dict[str, Any]:
    """Front matter of both sides; without a base, two insertions of one entry."""
    base = _counted_by_both(ours, theirs) if base is None else base
    preferred = _reinforced_later(ours, theirs)
    merged = {
        key: _merge_value(key, base.get(key), ours.get(key), theirs.get(key), preferred)
        for key in dict.fromkeys([*ours, *theirs])
    }
    merged |= _reasons(ours, theirs, merged)
    return {key: value for key, value in merged.items() if value is not None}


def _counted_by_both(ours: Values, theirs: Values) -> Values:
    """What both bring with them was counted before their ways parted, say by a squashed
    merge."""
    return {
        key: min(_counted(key, ours[key]), _counted(key, theirs[key]))
        for key in COUNTS
        if key in ours and key in theirs
    }


def _reinforced_later(ours: Values, theirs: Values) -> str:
    """The side with the later `last_reinforced`, "" where they are equal."""
    mine = _date_rank(ours.get("last_reinforced"))
    other = _date_rank(theirs.get("last_reinforced"))
    if mine == other:
        return ""
    return "ours" if mine > other else "theirs"


def _reasons(ours: Values, theirs: Values, merged: Values) -> dict[str, Any]:
    """The values that explain another, from the side that has it: why an entry is
    retired, and why it was archived then."""
    reasons: dict[str, Any] = {}
    sides = [side for side in (ours, theirs) if _agrees(side, merged, "status")]
    if len(sides) == 1:
        reasons["retired_because"] = sides[0].get("retired_because")
    sides = [side for side in (ours, theirs) if _agrees(side, merged, "archived_at")]
    if len(sides) == 1:
        reasons |= {key: sides[0][key] for key in ARCHIVE_KEYS if key in sides[0]}
    return reasons


def _agrees(side: Values, merged: Values, key: str) -> bool:
    return _same(side.get(key), merged.get(key))


def _merge_value(key: str, base: Any, ours: Any, theirs: Any, preferred: str) -> Any:
    if key == "guard":  # the stricter stays, whoever changed it
        return max(ours, theirs, key=lambda value: GUARD_RANK.get(str(value), 0))
    if _same(theirs, base):
        return ours
    if _same(ours, base):
        return theirs
    if key in COUNTS:
        base, ours, theirs = (_counted(key, value) for value in (base, ours, theirs))
        return max(0, ours + theirs - base)
    if ours is None or theirs is None:
        return theirs if ours is None else ours
    return (
        ours
        if _same(ours, theirs)
        else _merge_both_changed(key, ours, theirs, preferred)
    )


def _merge_both_changed(key: str, ours: Any, theirs: Any, preferred: str) -> Any:
    if key in LATER_WINS:
        return max(ours, theirs, key=_date_rank)
    if key in EARLIER_WINS:
        return min(
            ours, theirs, key=lambda value: (not is_day(str(value)[:10]), str(value))
        )
    if key == "status":
        return max(
            ours, theirs, key=lambda value: (STATUS_RANK.get(str(value), 0), str(value))
        )
    one = _as_list(key, ours)
    two = _as_list(key, theirs)
    if one is not None and two is not None:
        return [*one, *(item for item in two if item not in one)]
    if {type(ours), type(theirs)} <= {int, float}:
        return max(ours, theirs, key=lambda value: (value == value, value, str(value)))
    if preferred:
        return ours if preferred == "ours" else theirs
    return max(ours, theirs, key=lambda value: (str(value), repr(value)))


def _counted(key: str, value: Any) -> int:
    effective, _ = read_values({key: value})
    return int(effective.get(key, effective["extra"].get(key, 0)))


def _date_rank(value: Any) -> tuple[bool, str]:
    text = "" if value is None else str(value)
    return is_day(text[:10]), text


def _as_list(key: str, value: Any) -> list[Any] | None:
    effective = read_values({key: value})[0]["extra"].get(key)
    return effective if isinstance(effective, list) else None


def _same(one: Any, two: Any) -> bool:
    return repr(one) == repr(
        two
    )  # tells 1 from true and 1.0, and holds for what is not a number

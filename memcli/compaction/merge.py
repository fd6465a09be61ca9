"""Three-way merge of two memory files by entry id; git merges their prose.

The outcome does not depend on which side is ours, except for the order of entries
and of list items."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from memcli.compaction.arrivals import doors_of, let_in
from memcli.compaction.merge_values import Values, as_list, merge_values, same
from memcli.errors import MemError
from memcli.memory import front_matter
from memcli.memory.binding import strictness_of
from memcli.memory.changes import (
    EntryChange,
    block_offsets,
    edited,
    full_lines,
    given,
    prose_of,
)
from memcli.memory.grammar import BLANKS, derived_id, longer_first, with_line_feeds
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.tombstones import is_tombstone, reason_of
from memcli.memory.values import ARCHIVE, Entry
from memcli.text.matching import verbose

_LINE_END = re.compile(r"\r\n|\n|\r")

MergeProse = Callable[[str, str, str], tuple[str, int]]
"""(base, ours, theirs) to the merged text and the number of conflicts left in it."""
T = TypeVar("T")

MOST_CHANGED = 2_000
"""So many entries that both sides changed are merged, each by a millisecond of work."""


class Unmergeable(Exception):
    """Cannot be merged by entry; git's own merge takes over."""


class Asked(NamedTuple):
    """What a merge needs from git: the merge of prose that both sides changed, and the
    archive beside a side's text."""

    merge_prose: MergeProse
    archive_beside: Callable[[str], str] = lambda side: ""


class Merged(NamedTuple):
    """The text with both sides' changes, the number of conflicts in its prose, and
    notes about entries that one side had removed."""

    text: str
    conflicts: int = 0
    notes: tuple[str, ...] = ()


def merge(base: str, ours: str, theirs: str, *, path: str, asked: Asked) -> Merged:
    """Apply both sides' changes to `base`. If one side has no changes, the result is
    the other side, byte for byte."""
    if base in (ours, theirs) or ours == theirs:
        return Merged(_one_sided(base, ours, theirs, str))
    line_end = _line_end(base, ours, theirs)
    base_side, our_side, their_side = (
        _read(text, path, line_end) for text in (base, ours, theirs)
    )
    if not (base_side.blocks or our_side.blocks or their_side.blocks):
        raise Unmergeable("")
    prose = _ProseMerge(line_end, asked.merge_prose)
    removals = _Removals(ours, theirs, path, asked)
    # The text before the first entry.
    head = _one_sided(base_side.bom, our_side.bom, their_side.bom, lambda: our_side.bom)
    head += prose.merged(base_side.head, our_side.head, their_side.head)
    head += _merge_blanks(base_side.gap, our_side.gap, their_side.gap)
    # The entries, and the blank lines after the last one.
    sides = (base_side.blocks, our_side.blocks, their_side.blocks)
    blocks = _merge_blocks(*sides, prose, removals)
    if our_side.is_blank or their_side.is_blank:
        tail = their_side.tail if our_side.is_blank else our_side.tail
    else:
        tail = _merge_blanks(base_side.tail, our_side.tail, their_side.tail)
    text = _joined(head, blocks, tail, line_end)
    _verify(parse(text, path), head, blocks)
    if not path.endswith(ARCHIVE):
        with suppress(MemError):
            text = let_in(text, path, doors_of(base, ours, theirs))
    return Merged(text, prose.conflicts, tuple(removals.notes))


def _line_end(base: str, ours: str, theirs: str) -> str:
    """The line end of the merged file: ours, unless only theirs changed."""
    base_end, our_end, their_end = map(_first_line_end, (base, ours, theirs))
    kept = their_end if base_end == our_end else our_end
    return kept or our_end or their_end or "\n"


def _first_line_end(text: str) -> str:
    line_end = _LINE_END.search(text)
    return line_end[0] if line_end else ""


class _Block(NamedTuple):
    """An entry's text: front matter with its delimiters, and the rest. `below` is the
    prose before the next entry, `gap` the blank lines after both."""

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
    def binds(self) -> bool:
        """Whether it has a guard, so that a side which removes it does not simply
        win."""
        if "guard" not in self.front:
            return False
        return strictness_of(self.values) > 0 and self.entry.is_live

    @property
    def entry(self) -> Entry:
        """The entry, parsed on its own."""
        return parse(self.text, "").entries[0]

    @property
    def values(self) -> dict[str, Any]:
        """The front matter as written, without keys that have no value."""
        inner = with_line_feeds(self.front).partition("\n")[2].rstrip(BLANKS)
        return given(front_matter.read(inner[: inner.rindex("---")]).values)


_Blocks = dict[tuple[str, int | str], _Block]
"""By id and 0, in archives by id and body; of an entry without an id, by its text and
its ordinal among equals."""


class _Side(NamedTuple):
    bom: str
    head: str
    gap: str
    blocks: _Blocks
    tail: str

    @property
    def is_blank(self) -> bool:
        """Whether it has neither prose nor entries."""
        return not (self.head or self.blocks)


def _read(text: str, path: str, line_end: str) -> _Side:
    """Split a side into its parts. A text whose first line ends differently is
    converted; mixed line ends that both sides share stay."""
    if _first_line_end(text) not in ("", line_end):
        text = _LINE_END.sub(lambda _: line_end, text)
    file = parse(text, path)
    if any(problem.severity == "unreadable" for problem in file.problems):
        raise Unmergeable("front matter cannot be read")
    blocks: _Blocks = {}
    copies: Counter[str] = Counter()
    stops = [*(entry.start for entry in file.entries), len(text)][1:]
    for entry, stop in zip(file.entries, stops, strict=False):
        block = _block_of(entry, text, stop)
        key: tuple[str, int | str] = (entry.stated_id, 0)
        if not entry.stated_id:
            key = (block.text, copies[block.text])
            copies[block.text] += 1
        elif path.endswith(ARCHIVE):
            # It may have several wordings of an entry, each as it was last archived.
            key = (entry.id, block.body)
            block = max(blocks.get(key, block), block, key=_left_at)
        elif key in blocks:
            raise Unmergeable(f"id {entry.stated_id} stands twice")
        blocks[key] = block
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    first = file.entries[0].start if file.entries else len(text)
    head, gap = _trimmed(text[len(bom) : first])
    _, tail = _trimmed(text)
    return _Side(bom=bom, head=head, gap=gap, blocks=blocks, tail=tail)


def _block_of(entry: Entry, text: str, stop: int) -> _Block:
    """The block of an entry, with the prose up to the next one at `stop`."""
    core, gap = _trimmed(text[entry.start : entry.end])
    _, _, body = block_offsets(text, entry)
    front_size = body - entry.start
    below = ""
    prose = text[entry.end : stop]
    if prose.strip():
        below, gap = _trimmed(gap + prose)
    return _Block(
        id=entry.id,
        front=core[:front_size],
        rest=core[front_size:],
        gap=gap,
        below=below,
    )


def _left_at(block: _Block) -> str:
    return str(block.values.get("archived_at", ""))


def _trimmed(text: str) -> tuple[str, str]:
    """`text` up to the end of its last non-blank line, and the rest."""
    end = len(text.rstrip(BLANKS))
    if end:  # trailing blanks on that line belong to it
        end = len(text) - len(text[end:].lstrip(" \t"))
    return text[:end], text[end:]


class _ProseMerge:
    def __init__(self, line_end: str, merge_prose: MergeProse) -> None:
        self.eol = line_end
        self.merge_prose = merge_prose
        self.conflicts = 0

    def merged(self, base: str, ours: str, theirs: str, lead: str = "") -> str:
        """The merged prose of both sides; if git merged it, with `lead` before it."""

        def by_git() -> str:
            blanks = "\r\n" if lead else ""
            bare = (side.lstrip(blanks) for side in (base, ours, theirs))
            ended = (side + self.eol if side else "" for side in bare)
            text, conflicts = self.merge_prose(*ended)
            self.conflicts += conflicts
            return lead + _trimmed(text)[0]

        return _one_sided(base, ours, theirs, by_git)


def _joined(head: str, blocks: Sequence[_Block], tail: str, line_end: str) -> str:
    text, gap = _trimmed(head)
    if not blocks:
        return text + tail

    def opened(gap: str) -> str:
        """`gap` if an entry may begin after it, else one blank line."""
        has_blank_line = len(_LINE_END.findall(gap)) > 1
        ends_line = gap.endswith(("\r", "\n"))
        return gap if has_blank_line and ends_line else line_end * 2

    parts = [text, opened(gap) if text.strip("\ufeff") else gap]
    for block in blocks:
        parts += [block.text, block.below, opened(block.gap)]
    return "".join([*parts[:-1], tail])


def _verify(file: MemoryFile, head: str, blocks: Sequence[_Block]) -> None:
    """Raise Unmergeable unless the merged text parses to the planned entries and
    prose."""
    entries = [
        _trimmed(file.text[entry.start : entry.end])[0] for entry in file.entries
    ]
    planned = [block.text for block in blocks if block.id]
    wanted = [head, *(block.below for block in blocks)]
    if entries != planned or full_lines(prose_of(file)) != full_lines(wanted):
        raise Unmergeable("the merged text does not read back as planned")


def _one_sided(base: T, ours: T, theirs: T, otherwise: Callable[[], T]) -> T:
    if theirs == base or ours == theirs:
        return ours
    return theirs if ours == base else otherwise()


def _merge_blanks(base: str, ours: str, theirs: str) -> str:
    def longer() -> str:
        return max((ours, theirs), key=lambda blanks: (len(blanks), blanks))

    return _one_sided(base, ours, theirs, longer)


def _merge_blocks(
    base: _Blocks,
    ours: _Blocks,
    theirs: _Blocks,
    prose: _ProseMerge,
    removals: "_Removals",
) -> list[_Block]:
    """Our order, then what only theirs has. A second version of a body follows the
    first, unless it was edited on: in a rebase the first of two edits becomes one
    side, and the base of the second edit."""
    _check_changed(base, ours, theirs)
    merged = {}
    for key in dict.fromkeys([*ours, *theirs]):
        parted = base.get(key)
        if key in ours and key in theirs:
            merged[key] = _merge_block(parted, ours[key], theirs[key], prose)
        else:
            merged[key] = removals.left(parted, ours.get(key), theirs.get(key))
    by_entry = list(filter(None, merged.values()))
    taken = {versions[0].id for versions in by_entry}
    stale = _edited_on(base, merged)
    blocks = []
    for first, *others in by_entry:
        new = (block for block in others if not block.id or block.id not in taken)
        for block in (first, *new):
            if (block.id, block.body) not in stale:
                blocks.append(block)
    return blocks


def _check_changed(base: _Blocks, ours: _Blocks, theirs: _Blocks) -> None:
    """Raise Unmergeable if both sides changed too many entries to merge one by one."""
    changed = 0
    for key in ours.keys() & theirs.keys():
        parted = base[key].text if key in base else None
        changed += len({ours[key].text, theirs[key].text} - {parted}) == 2
    if changed > MOST_CHANGED:
        raise Unmergeable(f"both sides changed more than {MOST_CHANGED:,} entries")


def _edited_on(
    base: _Blocks, merged: Mapping[tuple[str, int | str], list[_Block]]
) -> set[tuple[str, str]]:
    """Id and body of the second versions that equal the base: both sides were edited
    from it."""
    stale = set()
    for key, versions in merged.items():
        if len(versions) > 1 and key in base:
            parted = base[key]
            second = derived_id(parted.id, parted.body)
            if (second, 0) not in base:
                stale.add((second, parted.body))
    return stale


def _merge_block(
    base: _Block | None, ours: _Block, theirs: _Block, prose: _ProseMerge
) -> list[_Block]:
    parted = base or _Block()
    gap = _merge_blanks(parted.gap, ours.gap, theirs.gap)
    below = prose.merged(parted.below, ours.below, theirs.below, prose.eol * 2)
    ours, theirs = (side._replace(gap=gap, below=below) for side in (ours, theirs))
    may_bind = ours.binds or theirs.binds
    if theirs.text == ours.text or not may_bind:
        before = base or ours
        if theirs.text == before.text:
            return [ours]
        if ours.text == parted.text:
            return [theirs]
    return _merge_changed(base, ours, theirs)


class _Removals:
    """What happens to an entry that one side removed: if that side's archive has it as
    retired, no change brings it back; a guard that was only deleted stays."""

    def __init__(self, ours: str, theirs: str, path: str, asked: Asked) -> None:
        self.ours = ours
        self.theirs = theirs
        self.is_archive = path.endswith(ARCHIVE)
        self.asked = asked
        self.notes: list[str] = []

    def left(
        self, base: _Block | None, ours: _Block | None, theirs: _Block | None
    ) -> list[_Block]:
        """What stays of an entry that one side lacks: everything if the other side
        changed it or it is a guard, else only new prose below it."""
        left = ours or theirs
        assert left
        if base is None:
            return [left]
        is_guard = base.binds and left.binds and not self.is_archive
        if base.text == left.text and not is_guard:
            return _new_prose(base, left)
        stone = self._stone(left.id, self.theirs if ours else self.ours)
        if stone is not None:
            self._say(left, f"stays taken back ({reason_of(stone)})", "restore")
            is_changed = left.body != base.body
            return [_retired(left, stone)] if is_changed else _new_prose(base, left)
        if is_guard:
            self._say(left, "stays, which one side took out", "guard --off")
        return [left]

    def _stone(self, id: str, remover: str) -> Entry | None:
        """The retired entry in the archive of the side that removed it."""
        text = "" if self.is_archive else self.asked.archive_beside(remover)
        archived = [entry for entry in parse(text, "").entries if entry.id == id]
        stones = [entry for entry in archived if is_tombstone(entry, archived=True)]
        return stones[-1] if stones else None

    def _say(self, block: _Block, outcome: str, verb: str) -> None:
        means = "lifts it" if verb == "guard --off" else "brings it back"
        command = f"mem {verb} {block.id[:8]} {means}"
        self.notes.append(f"{block.entry.title!r} {outcome}: {command}")


def _new_prose(base: _Block, left: _Block) -> list[_Block]:
    """The new prose below an entry that is removed."""
    if left.below in ("", base.below):
        return []
    return [_Block(gap=left.gap, below=left.below)]


def _retired(block: _Block, stone: Entry) -> _Block:
    """The other side's version, retired like the removed one."""
    why = {key: stone.extra.get(key) for key in ("retired_because", "superseded_by")}
    return _spliced(block, {"status": "retired", **why})


def _merge_changed(base: _Block | None, ours: _Block, theirs: _Block) -> list[_Block]:
    before = None if base is None else base.values
    values = merge_values(before, ours.values, theirs.values)
    first, second = sorted((ours, theirs), key=lambda block: longer_first(block.body))
    versions = []
    if base is not None and base.body in (ours.body, theirs.body):
        first = theirs if ours.body == base.body else ours
    elif ours.body != theirs.body:
        others = as_list("contradicts", second.values.get("contradicts")) or []
        new_id = derived_id(second.id, second.body)
        changes = {"id": new_id, "contradicts": [*others, second.id]}
        versions = [_spliced(second, changes)._replace(id=new_id, below="")]
    values["written"] = first.values.get("written")
    merged = _with_values(values, base, ours, theirs)
    return [_with_body(merged, first), *versions]


def _with_body(block: _Block, source: _Block) -> _Block:
    if not source.rest:
        return block._replace(front=block.front.rstrip(BLANKS), rest="")
    front = block.front
    if front[-1] not in "\r\n":
        front += _first_line_end(front)
    return block._replace(front=front, rest=source.rest)


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
    """The texts of comments in the front matter."""
    return {
        comment[0].partition("#")[2].strip()
        for comment in _comment().finditer(block.front)
    }


def _with_values(
    values: Values, base: _Block | None, ours: _Block, theirs: _Block
) -> _Block:
    """The front matter of the side that keeps all comments, with missing values spliced
    in."""
    base_comments = _comments(base or ours)
    our_comments = _comments(ours)
    their_comments = _comments(theirs)
    sides = []
    if their_comments <= our_comments or their_comments == base_comments:
        sides.append(ours)
    if our_comments <= their_comments or our_comments == base_comments:
        sides.append(theirs)
    if not sides:
        raise Unmergeable("both sides changed the comments of one entry")
    for block in sides:
        written = block.values
        wanted = {key: values.get(key) for key in [*values, *written]}
        changes = {
            key: value
            for key, value in wanted.items()
            if not same(value, written.get(key))
        }
        with suppress(Unmergeable):
            return _spliced(block, changes)
    raise Unmergeable("values that cannot be spliced")


def _spliced(block: _Block, changes: Values) -> _Block:
    try:
        front = edited(parse(block.front, ""), [EntryChange(0, changes)]).text
    except MemError as error:
        raise Unmergeable(str(error)) from error
    spliced = block._replace(front=front)
    wanted = given({**block.values, **changes})
    if not same(sorted(spliced.values.items()), sorted(wanted.items())):
        raise Unmergeable("values that cannot be spliced")  # say a mapping
    return spliced

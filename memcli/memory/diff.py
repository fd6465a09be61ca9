"""A patch as text: apply splices, and say in git's words what they change.

`difflib` takes minutes for ten thousand entries, most of whose lines are alike."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memcli.errors import MemError
from memcli.memory.parser import parse
from memcli.memory.values import Edit, Patch

CONTEXT = 3
_NO_NEWLINE = "\n\\ No newline at end of file\n"


class _Change(NamedTuple):
    """`old[start:end]` becomes `new[new_start:new_end]`, in lines."""

    start: int
    end: int
    new_start: int
    new_end: int


def _lines(text: str | None) -> list[str]:
    """The lines as git has them; str.splitlines splits at CR and FF, too."""
    return re.findall(r"[^\n]*\n|[^\n]+", text or "")


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """`text` with every edit applied; raises MemError when they overlap or leave the
    text."""
    parts = []
    copied = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not copied <= edit.start <= edit.end <= len(text):
            raise MemError(f"edits overlap or leave the text at character {edit.start}")
        parts += [text[copied : edit.start], edit.new]
        copied = edit.end
    return "".join([*parts, text[copied:]])


def unified_diff(patch: Patch, path: str) -> str:
    """The patch as a diff of `path` that `git apply` accepts, "" when nothing
    changes."""
    if patch.before == patch.after:
        return ""
    old_name = _quoted(f"a/{path}")
    new_name = _quoted(f"b/{path}")
    parts = [f"diff --git {old_name} {new_name}\n"]
    if patch.before is None:
        parts.append("new file mode 100644\n")
    if patch.after is None:
        parts.append("deleted file mode 100644\n")
    if patch.before or patch.after:
        shown_old = _shown(old_name, patch.before)
        shown_new = _shown(new_name, patch.after)
        parts.append(f"--- {shown_old}\n+++ {shown_new}\n")
    return "".join([*parts, *_hunks(_lines(patch.before), _lines(patch.after))])


def _shown(name: str, text: str | None) -> str:
    """The name of a side. Git ends a bare one with blanks by a tab, so that what
    follows is no time stamp."""
    if text is None:
        return "/dev/null"
    is_bare = not name.startswith('"')
    return f"{name}\t" if is_bare and " " in name else name


_ESCAPES = {byte: f"\\{byte:03o}" for byte in (*range(32), *range(127, 256))}
_ESCAPES |= {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}
_ESCAPES |= {ord('"'): '\\"', ord("\\"): r"\\"}


def _quoted(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape").decode("latin-1")
    text = data.translate(_ESCAPES)
    return name if text == data else f'"{text}"'


def _hunks(old_lines: list[str], new_lines: list[str]) -> Iterator[str]:
    for group in _grouped(_changes(old_lines, new_lines)):
        first = group[0]
        last = group[-1]
        start = max(first.start - CONTEXT, 0)
        end = min(last.end + CONTEXT, len(old_lines))
        new_start = first.new_start - (first.start - start)
        new_end = last.new_end + (end - last.end)
        yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n"
        for change in group:
            yield from _signed(" ", old_lines[start : change.start])
            yield from _signed("-", old_lines[change.start : change.end])
            yield from _signed("+", new_lines[change.new_start : change.new_end])
            start = change.end
        yield from _signed(" ", old_lines[start:end])


def _range(start: int, end: int) -> str:
    first_line = start + 1 if end > start else start
    return f"{first_line},{end - start}"


def _signed(sign: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line if line.endswith("\n") else sign + line + _NO_NEWLINE


def _grouped(changes: Iterable[_Change]) -> list[list[_Change]]:
    """The changes by hunk: those whose contexts would touch share one."""
    groups: list[list[_Change]] = []
    for change in changes:
        last = groups[-1] if groups else []
        if last and change.start - last[-1].end <= 2 * CONTEXT:
            last.append(change)
        else:
            groups.append([change])
    return groups


def _changes(old_lines: list[str], new_lines: list[str]) -> Iterator[_Change]:
    """The stretches that differ between lines which stand once in both (patience
    diff)."""
    whole = _Change(0, len(old_lines), 0, len(new_lines))
    remaining = _trimmed(old_lines, new_lines, whole)
    last = (remaining.end, remaining.new_end)
    for line, new_line in [*_anchors(old_lines, new_lines, remaining), last]:
        gap = remaining._replace(end=line, new_end=new_line)
        change = _trimmed(old_lines, new_lines, gap)
        is_removed = change.start < change.end
        is_added = change.new_start < change.new_end
        if is_removed or is_added:
            yield change
        remaining = remaining._replace(start=line + 1, new_start=new_line + 1)


def _trimmed(old_lines: list[str], new_lines: list[str], gap: _Change) -> _Change:
    """The gap without the lines that both sides begin and end with."""
    old_part = old_lines[gap.start : gap.end]
    new_part = new_lines[gap.new_start : gap.new_end]
    head = _shared(old_part, new_part)
    tail = _shared(old_part[head:][::-1], new_part[head:][::-1])
    return _Change(
        start=gap.start + head,
        end=gap.end - tail,
        new_start=gap.new_start + head,
        new_end=gap.new_end - tail,
    )


def _shared(lines: Sequence[str], others: Sequence[str]) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(lines, others, strict=False))
    differing = (place for place, (line, other) in pairs if line != other)
    return next(differing, min(len(lines), len(others)))


def _anchors(
    old_lines: list[str], new_lines: list[str], gap: _Change
) -> list[tuple[int, int]]:
    """The lines that occur once on each side: the longest run that both have in the
    same order."""
    counts = Counter(old_lines[gap.start : gap.end])
    new_counts = Counter(new_lines[gap.new_start : gap.new_end])
    new_places = {
        new_lines[place]: place for place in range(gap.new_start, gap.new_end)
    }
    pairs = [
        (place, new_places[old_lines[place]])
        for place in range(gap.start, gap.end)
        if counts[old_lines[place]] == new_counts[old_lines[place]] == 1
    ]
    return _ascending(pairs)


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that rises in both members (patience sorting)."""
    tops: list[int] = []
    top_of: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(top_of[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        top_of[pile : pile + 1] = [index]
    run = []
    index = top_of[-1] if top_of else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def taken_back(before: str, after: str, now: str) -> str | None:
    """`now` with the change from `before` to `after` taken back; None if that
    changed no entry, or if what it wrote no longer stands there exactly once."""
    written = _lines(after)
    original = _lines(before)
    edits: list[Edit] = []
    reached = 0
    for change in _changes(written, original):
        edit = _inverse(change, written, original, after, now)
        if edit is None or edit.start < reached:
            return None
        edits.append(edit)
        reached = edit.end
    text = apply_edits(now, edits)
    entries_before = _entries(before)
    entries_after = _entries(after)
    added = entries_after - entries_before
    removed = entries_before - entries_after
    entries_now = _entries(now)
    is_known = bool(added or removed) and added <= entries_now
    is_inverse = _entries(text) == entries_now - added + removed
    return text if is_known and is_inverse else None


def _inverse(
    change: _Change, written: list[str], original: list[str], after: str, current: str
) -> Edit | None:
    """The edit of `now` that takes a change of the written lines back; None where they
    do not stand there once."""
    start, end, new_start, new_end = change
    pad = int(start == end)  # as many lines around it as it takes to stand only once
    while pad < len(written):
        if _stands_once("".join(written[max(start - pad, 0) : end + pad]), after):
            break
        pad = 2 * pad + 1
    lead = "".join(written[max(start - pad, 0) : start])
    text = lead + "".join(written[start : end + pad])
    place = current.find(text)
    begins_line = current[:place][-1:] in ("", "\n")
    if not begins_line or not _stands_once(text, current):
        return None
    restored = "".join(original[new_start:new_end])
    ends_lines = {text[-1:], restored[-1:]} <= {"", "\n"}
    if not ends_lines and not current.endswith(text):
        return None
    first = place + len(lead)
    return Edit(first, first + len("".join(written[start:end])), restored)


def _stands_once(part: str, text: str) -> bool:
    return text.find(part) == text.rfind(part) >= 0


def _entries(text: str) -> Counter[str]:
    entries = parse(text, "").entries
    return Counter(text[entry.start : entry.end].strip() for entry in entries)

"""Apply splices, and show in git's format what they change.

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
    """Apply every edit to a text; raise MemError if they overlap or leave the text."""
    parts = []
    copied = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not copied <= edit.start <= edit.end <= len(text):
            raise MemError(f"edits overlap or leave the text at character {edit.start}")
        parts.append(text[copied : edit.start])
        parts.append(edit.new)
        copied = edit.end
    parts.append(text[copied:])
    return "".join(parts)


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
    old_lines = _lines(patch.before)
    new_lines = _lines(patch.after)
    parts.extend(_hunks(old_lines, new_lines))
    return "".join(parts)


def _shown(name: str, text: str | None) -> str:
    """How a side is named. Git adds a tab to an unquoted name with blanks, so that what
    follows is not taken for a time stamp."""
    if text is None:
        return "/dev/null"
    is_quoted = name.startswith('"')
    if " " in name and not is_quoted:
        return f"{name}\t"
    return name


_ESCAPES = {byte: f"\\{byte:03o}" for byte in (*range(32), *range(127, 256))}
_ESCAPES |= {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}
_ESCAPES |= {ord('"'): '\\"', ord("\\"): r"\\"}


def _quoted(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape").decode("latin-1")
    escaped = data.translate(_ESCAPES)
    return name if escaped == data else f'"{escaped}"'


def _hunks(old_lines: list[str], new_lines: list[str]) -> Iterator[str]:
    for group in _grouped(_changes(old_lines, new_lines)):
        first = group[0]
        last = group[-1]
        start = max(first.start - CONTEXT, 0)
        end = min(last.end + CONTEXT, len(old_lines))
        lead = first.start - start
        tail = end - last.end
        old_range = _range(start, end)
        new_range = _range(first.new_start - lead, last.new_end + tail)
        yield f"@@ -{old_range} +{new_range} @@\n"
        copied = start
        for change in group:
            removed = old_lines[change.start : change.end]
            added = new_lines[change.new_start : change.new_end]
            yield from _signed(" ", old_lines[copied : change.start])
            yield from _signed("-", removed)
            yield from _signed("+", added)
            copied = change.end
        yield from _signed(" ", old_lines[copied:end])


def _range(start: int, end: int) -> str:
    length = end - start
    first_line = start + 1 if length > 0 else start
    return f"{first_line},{length}"


def _signed(sign: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        ending = "" if line.endswith("\n") else _NO_NEWLINE
        yield f"{sign}{line}{ending}"


def _grouped(changes: Iterable[_Change]) -> list[list[_Change]]:
    """The changes by hunk: those whose contexts would touch share one."""
    groups: list[list[_Change]] = []
    reached = -1  # the last line that the context of the last group has
    for change in changes:
        if groups and change.start - CONTEXT <= reached:
            groups[-1].append(change)
        else:
            groups.append([change])
        reached = change.end + CONTEXT
    return groups


def _changes(old_lines: list[str], new_lines: list[str]) -> Iterator[_Change]:
    """The stretches that differ between lines which stand once in both (patience
    diff)."""
    whole = _Change(start=0, end=len(old_lines), new_start=0, new_end=len(new_lines))
    remaining = _trimmed(old_lines, new_lines, whole)
    ends = _anchors(old_lines, new_lines, remaining)
    ends.append((remaining.end, remaining.new_end))
    for line, new_line in ends:
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
    old_rest = old_part[head:]
    new_rest = new_part[head:]
    tail = _shared(old_rest[::-1], new_rest[::-1])
    return _Change(
        start=gap.start + head,
        end=gap.end - tail,
        new_start=gap.new_start + head,
        new_end=gap.new_end - tail,
    )


def _shared(lines: Sequence[str], other_lines: Sequence[str]) -> int:
    """How many lines both begin with."""
    for place, (line, other) in enumerate(zip(lines, other_lines, strict=False)):
        if line != other:
            return place
    return min(len(lines), len(other_lines))


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
    pairs = []
    for place in range(gap.start, gap.end):
        line = old_lines[place]
        if counts[line] == new_counts[line] == 1:
            pairs.append((place, new_places[line]))
    return _ascending(pairs)


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that rises in both members (patience sorting)."""
    tops: list[int] = []
    top_of: list[int] = []
    before = []
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


def taken_back(before: str, after: str, current: str) -> str | None:
    """`current` without the change from `before` to `after`; None if that change
    touched no entry, or if what it wrote no longer occurs exactly once."""
    written = _lines(after)
    original = _lines(before)
    edits = []
    reached = 0
    for change in _changes(written, original):
        edit = _inverse(change, written, original, after, current)
        if edit is None or edit.start < reached:
            return None
        edits.append(edit)
        reached = edit.end
    text = apply_edits(current, edits)
    entries_before = _entries(before)
    entries_after = _entries(after)
    added = entries_after - entries_before
    removed = entries_before - entries_after
    entries_now = _entries(current)
    has_changed = bool(added or removed)
    if not has_changed or not added <= entries_now:
        return None
    wanted = entries_now - added + removed
    return text if _entries(text) == wanted else None


def _inverse(
    change: _Change, written: list[str], original: list[str], after: str, current: str
) -> Edit | None:
    """The edit that takes one change back in the current text; None if the changed
    lines do not occur there exactly once."""
    # add lines around it until it occurs only once
    changed = "".join(written[change.start : change.end])
    pad = 0 if changed else 1
    while pad < len(written):
        if _stands_once("".join(_around(written, change, pad)), after):
            break
        pad = 2 * pad + 1
    lead, tail = _around(written, change, pad)
    text = lead + tail
    place = current.find(text)
    begins_line = current[:place][-1:] in ("", "\n")
    if not begins_line or not _stands_once(text, current):
        return None
    restored = "".join(original[change.new_start : change.new_end])
    ends_lines = {text[-1:], restored[-1:]} <= {"", "\n"}
    if not ends_lines and not current.endswith(text):
        return None
    first = place + len(lead)
    return Edit(start=first, end=first + len(changed), new=restored)


def _around(written: list[str], change: _Change, pad: int) -> tuple[str, str]:
    """So many lines before a change, and the change with so many behind it."""
    before = written[max(change.start - pad, 0) : change.start]
    after = written[change.start : change.end + pad]
    return "".join(before), "".join(after)


def _stands_once(part: str, text: str) -> bool:
    first = text.find(part)
    return first >= 0 and first == text.rfind(part)


def _entries(text: str) -> Counter[str]:
    entries = parse(text, "").entries
    return Counter(text[entry.start : entry.end].strip() for entry in entries)

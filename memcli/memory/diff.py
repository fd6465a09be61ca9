"""A patch as text: apply splices, and say in git's words what they change."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from memcli.errors import MemError
from memcli.memory.parser import parse
from memcli.memory.values import Edit, Patch

CONTEXT = 3
_NO_NEWLINE = "\n\\ No newline at end of file\n"
_LINE = re.compile(
    r"[^\n]*\n|[^\n]+"
)  # as git has them; str.splitlines splits at CR and FF, too
Span = tuple[int, int, int, int]


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """`text` with every edit applied; raises MemError when they overlap or leave the
    text."""
    parts = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not at <= edit.start <= edit.end <= len(text):
            raise MemError(f"edits overlap or leave the text at character {edit.start}")
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*parts, text[at:]])


def unified_diff(patch: Patch, path: str) -> str:
    """The patch as a diff of `path` that `git apply` accepts, "" when nothing
    changes."""
    texts = (patch.before, patch.after)
    if texts[0] == texts[1]:
        return ""
    old, new = (_LINE.findall(text or "") for text in texts)
    names = (f"a/{path}", f"b/{path}")
    parts = ["diff --git {} {}\n".format(*map(_quoted, names))]
    modes = zip(("new", "deleted"), texts, strict=True)
    parts += [f"{what} file mode 100644\n" for what, text in modes if text is None]
    for sign, name, text in (
        zip(("---", "+++"), names, texts, strict=True) if old or new else ()
    ):
        quoted = _quoted(name)
        # Git ends a bare name with blanks by a tab, so that what follows is no time
        # stamp.
        quoted += "\t" if " " in name and quoted == name else ""
        parts.append(f"{sign} {'/dev/null' if text is None else quoted}\n")
    return "".join([*parts, *_hunks(old, new)])


def taken_back(before: str, after: str, now: str) -> str | None:
    """`now` without what made `after` of `before`; None unless it changed entries, and
    all of what it wrote stands there once."""
    old = _LINE.findall(after)
    new = _LINE.findall(before)
    edits = [Edit(0, 0, "")]
    for at, end, new_at, new_end in _changes(old, new, (0, len(old), 0, len(new))):
        pad = int(at == end)  # as many lines around it as it takes to stand only once
        while pad < len(old) and not _alone(
            "".join(old[max(at - pad, 0) : end + pad]), after
        ):
            pad = 2 * pad + 1
        lead, text = ("".join(old[max(at - pad, 0) : stop]) for stop in (at, end + pad))
        place = now.find(text)
        last = "".join(new[new_at:new_end])
        start = place + len(lead)
        whole = {text[-1:], last[-1:]} <= {"", "\n"}
        sure = _alone(text, now) and now[:place][-1:] in ("", "\n")
        if not sure or start < edits[-1].end or not (whole or now.endswith(text)):
            return None
        edits.append(Edit(start, start + len("".join(old[at:end])), last))
    text = apply_edits(now, edits)
    was, made, found, left = map(_entries, (before, after, now, text))
    sure = was != made and made - was <= found
    return text if sure and left == found - (made - was) + (was - made) else None


def _alone(part: str, text: str) -> bool:
    return text.find(part) == text.rfind(part) >= 0


def _entries(text: str) -> Counter[str]:
    return Counter(text[one.start : one.end].strip() for one in parse(text, "").entries)


_ESCAPES = {byte: f"\\{byte:03o}" for byte in (*range(32), *range(127, 256))}
_ESCAPES |= {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}
_ESCAPES |= {34: '\\"', 92: r"\\"}


def _quoted(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape").decode("latin-1")
    text = data.translate(_ESCAPES)
    return name if text == data else f'"{text}"'


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _grouped(_changes(old, new, (0, len(old), 0, len(new)))):
        at = max(group[0][0] - CONTEXT, 0)
        end = min(group[-1][1] + CONTEXT, len(old))
        spans = (
            (at, end),
            (at + group[0][2] - group[0][0], end + group[-1][3] - group[-1][1]),
        )
        ours, theirs = (
            f"{one + 1 if two > one else one},{two - one}" for one, two in spans
        )
        yield f"@@ -{ours} +{theirs} @@\n"
        for old_start, old_end, new_start, new_end in [*group, (end, end, 0, 0)]:
            stretches = ((" ", old[at:old_start]), ("-", old[old_start:old_end]))
            for sign, lines in (*stretches, ("+", new[new_start:new_end])):
                for line in lines:
                    yield (
                        sign + line
                        if line.endswith("\n")
                        else f"{sign}{line}{_NO_NEWLINE}"
                    )
            at = old_end


def _grouped(changes: Iterable[Span]) -> list[list[Span]]:
    groups: list[list[Span]] = []
    for change in changes:  # those whose contexts would touch share a hunk
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _changes(
    old: list[str], new: list[str], gap: Span, *, held: bool = False
) -> Iterator[Span]:
    """The stretches that differ between lines which stand once in both (patience
    diff)."""
    at, end, new_at, new_end = gap
    while at < end and new_at < new_end and old[at] == new[new_at]:
        at = at + 1
        new_at = new_at + 1
    while at < end and new_at < new_end and old[end - 1] == new[new_end - 1]:
        end = end - 1
        new_end = new_end - 1
    if held or at == end or new_at == new_end:
        if at < end or new_at < new_end:
            yield at, end, new_at, new_end
        return
    # Lines that occur once in each text: the longest run that both have in the same
    # order.
    ours = Counter(old[at:end])
    theirs = Counter(new[new_at:new_end])
    place = {new[i]: i for i in range(new_at, new_end) if theirs[new[i]] == 1}
    once = (
        (i, old[i]) for i in range(at, end) if ours[old[i]] == 1 and old[i] in place
    )
    holds = _ascending([(i, place[line]) for i, line in once])
    for hold, new_hold in [*holds, (end, new_end)]:
        yield from _changes(old, new, (at, hold, new_at, new_hold), held=True)
        at = hold + 1
        new_at = new_hold + 1


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that rises in both members (patience sorting)."""
    tops: list[int] = []
    top_of: list[int] = []
    back: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        back.append(top_of[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        top_of[pile : pile + 1] = [index]
    run = []
    index = top_of[-1] if top_of else -1
    while index >= 0:
        run.append(pairs[index])
        index = back[index]
    return run[::-1]

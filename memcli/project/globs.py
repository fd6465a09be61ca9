"""The one matcher of patterns, and the one walk after them: bounded, no backtracking,
no links."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from memcli.named import NamedTuple
from memcli.storage.files import ENTRIES, SMALL_BYTES, Unreadable, read_text

LONGEST = 1024  # A longer pattern matches nothing
MOST = 200  # patterns of one entry that are tried
MOST_RULES = 2000  # lines of an ignore file that are read


class _Piece(NamedTuple):
    """What stands between two `*` of a pattern: a regex of `size` characters, or plain
    text."""

    plain: str
    regex: re.Pattern[str] | None
    size: int

    def begins(self, text: str, at: int) -> bool:
        if self.regex is None:
            return text.startswith(self.plain, at)
        return self.regex.match(text, at) is not None

    def find(self, text: str, at: int) -> int:
        """Where the leftmost occurrence ends, -1 without one."""
        if self.regex is None:
            place = text.find(self.plain, at)
        else:
            found = self.regex.search(text, at)
            place = found.start() if found else -1
        return place + self.size if place >= 0 else -1


Pieces = tuple[_Piece, ...]
Parts = Sequence[Pieces | None]  # None is `**`


def matches(pattern: str, text: str) -> bool:
    """Whether a whole text matches `*`, `?`, `[a-z]`, `[!a]`; each `*` runs over
    anything."""
    return len(pattern) <= LONGEST and _matches(_pieces(pattern, escapes=False), text)


def _matches(pieces: Pieces, text: str) -> bool:
    """The leftmost place for each piece in turn is never wrong, so that nothing is
    tried again."""
    first = pieces[0]
    last = pieces[-1]
    at = pieces[0].size
    if not first.begins(text, 0):
        return False
    if len(pieces) == 1:
        return at == len(text)
    for piece in pieces[1:-1]:
        at = piece.find(text, at)
        if at < 0:
            return False
    end = len(text) - last.size
    return end >= at and last.begins(text, end)


@lru_cache(2048)
def _pieces(pattern: str, *, escapes: bool) -> Pieces:
    """The pattern cut at each `*`; in gitignore a backslash makes a letter plain."""
    pieces: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        at = at + 1
        if letter == "*":
            pieces.append([])
        elif letter == "\\" and escapes and at < len(pattern):
            letter = pattern[at]
            at = at + 1
            pieces[-1].append(re.escape(letter))
        elif letter == "[" and (found := re.compile(_SET).match(pattern, at)):
            at = found.end()
            pieces[-1].append(_set(found[1], found[2]))
        else:
            pieces[-1].append("." if letter == "?" else re.escape(letter))
    inner = [letters for letters in pieces[1:-1] if letters]
    return tuple(map(_piece, [pieces[0], *inner, *pieces[1:][-1:]]))


_SET = r"([!^]?)(\][^\]]*|[^\]]+)\]"


def _set(mark: str, inner: str) -> str:
    """A set of characters as a regex; a range that runs backwards holds nothing."""
    ranges = re.findall(r"(.)-(.)|(.)", inner.replace("\\", ""), re.DOTALL)
    parts = [
        f"{re.escape(low)}-{re.escape(high)}" if low else re.escape(one)
        for low, high, one in ranges
        if not low or low <= high
    ]
    return (
        f"[{'^' if mark else ''}{''.join(parts)}]"
        if parts
        else "."
        if mark
        else "[^\\s\\S]"
    )


def _piece(letters: Sequence[str]) -> _Piece:
    if "." not in letters and all(len(one) == 1 or one[0] == "\\" for one in letters):
        return _Piece("".join(one[-1] for one in letters), None, len(letters))
    return _Piece("", re.compile("".join(letters), re.DOTALL), len(letters))


class _Rule(NamedTuple):
    """`hint` is a text that stands in every path that the rule covers."""

    parts: Parts
    folder: bool
    negated: bool
    hint: str


def usable(pattern: str) -> bool:
    """Whether a pattern, as gitignore has them, can cover a file."""
    return _rule(pattern) is not None


@lru_cache(4096)
def _rule(line: str) -> _Rule | None:
    negated = line.startswith("!")
    line = line.removeprefix("!")
    if not line.endswith("\\ "):
        line = line.rstrip()
    folder = line.endswith("/")
    body = line.strip("/")
    if not body or len(line) > LONGEST or (line.startswith("#") and not negated):
        return None
    names = body.split("/")
    if len(names) == 1 and not line.startswith("/"):
        names = ["**", *names]
    names = [
        name
        for name, after in zip(names, [*names[1:], ""], strict=True)
        if name + after != "****"
    ]
    if names[-1] == "**" and len(names) > 1:
        names.append("*")  # what lies inside, not the folder itself
    parts = [None if name == "**" else _pieces(name, escapes=True) for name in names]
    plain = (piece.plain for pieces in parts for piece in pieces or ())
    return _Rule(
        parts=tuple(parts),
        folder=folder,
        negated=negated,
        hint=max(plain, key=len, default=""),
    )


def named(patterns: Iterable[str], name: str) -> bool:
    """Whether patterns of the configuration name a file itself, not a folder that it is
    in."""
    rules = [f"/{pattern.removeprefix('./')}" for pattern in patterns]
    return any(
        covers([r], name) and not covers([r], name.rpartition("/")[0]) for r in rules
    )


def covers(patterns: Iterable[str], path: str) -> bool:
    """Whether patterns in gitignore syntax name a path; the last one that matches
    decides."""
    rules = (_rule(line) for _, line in zip(range(MOST), patterns, strict=False))
    names = [
        part for part in path.replace(os.sep, "/").split("/") if part not in ("", ".")
    ]
    return _decided(rules, names, decided=False)


def _decided(
    rules: Iterable[_Rule | None], names: Sequence[str], *, decided: bool
) -> bool:
    path = "/".join(names)
    for rule in rules:
        if rule is not None and rule.negated == decided and rule.hint in path:
            decided ^= _covers(rule, names)
    return decided


def _covers(rule: _Rule, names: Sequence[str]) -> bool:
    reached = _past_stars({0}, rule.parts)
    for depth, name in enumerate(names, 1):
        reached = _step(rule.parts, reached, name)
        if len(rule.parts) in reached and (depth < len(names) or not rule.folder):
            return True
    return False


def _step(parts: Parts, reached: set[int], name: str) -> set[int]:
    """All places of a pattern that can have been reached one name further on the
    path."""
    step = set()
    for at in reached - {len(parts)}:
        pieces = parts[at]
        if pieces is None or _matches(pieces, name):
            step.add(at + (pieces is not None))
    return _past_stars(step, parts)


def _past_stars(places: set[int], parts: Parts) -> set[int]:
    return places | {at + 1 for at in places if at < len(parts) and parts[at] is None}


class Ignored:
    """Whether git's ignore files pass over a path; tracked files are not told apart."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._rules: dict[str, list[_Rule]] = {}

    def __call__(self, path: str) -> bool:
        parts = path.split("/")
        ignored = False
        for depth in range(len(parts)):
            ignored = _decided(
                self._of("/".join(parts[:depth])), parts[depth:], decided=ignored
            )
        return ignored

    def _of(self, folder: str) -> list[_Rule]:
        if folder not in self._rules:
            names = (
                [f"{folder}/.gitignore"]
                if folder
                else [".git/info/exclude", ".gitignore"]
            )
            lines = [
                line for name in names for line in self._lines(f"{self.root}/{name}")
            ]
            self._rules[folder] = [
                rule for line in lines if (rule := _rule(line)) is not None
            ]
        return self._rules[folder]

    def _lines(self, path: str) -> list[str]:
        with suppress(Unreadable):
            return read_text(path, self.root, most=SMALL_BYTES).split("\n")[:MOST_RULES]
        return []


class Walk:
    """A bounded walk after patterns; `cut` short, or not, and the `links` that it did
    not enter."""

    def __init__(self, root: str, most: int = ENTRIES) -> None:
        self.root = root
        self.cut = False
        self.links: list[str] = []
        self._left = most

    def find(self, pattern: str) -> list[str]:
        """The paths below the root that a pattern names, sorted; `**` stands for any
        folders."""
        names = [part for part in pattern.split("/") if part not in ("", ".")]
        parts = [
            None if name == "**" else _pieces(name, escapes=False) for name in names
        ]
        todo = [("", _past_stars({0}, parts))] if len(pattern) <= LONGEST else []
        found = []
        while todo and not self.cut:
            folder, reached = todo.pop()
            plain = [
                names[at]
                for at in reached - {len(names)}
                if not set(names[at]) & {*"*?["}
            ]
            known = len(plain) == len(reached)
            for name, is_folder in (
                self._named(folder, plain) if known else self._entries(folder)
            ):
                path = f"{folder}{name}"
                after = _step(parts, reached, name)
                if len(parts) in after:
                    found.append(path)
                if after - {len(parts)} and is_folder:
                    todo.append((f"{path}/", after))
                elif after - {len(parts)} and known:
                    self.links.append(path)
        return sorted(name for name in found if not name.startswith(".git/"))

    def _named(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
        for name in names:
            path = f"{self.root}/{folder}{name}"
            if os.path.lexists(path):
                yield name, not os.path.islink(path)

    def _entries(self, folder: str) -> Iterator[tuple[str, bool]]:
        with suppress(OSError), os.scandir(f"{self.root}/{folder}") as listing:
            for entry in listing:
                self.cut = self._left <= 0
                if self.cut:
                    return
                self._left -= 1
                yield entry.name, entry.is_dir(follow_symlinks=False)

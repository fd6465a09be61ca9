"""Match patterns, and walk folders by patterns: bounded, without backtracking or
following links."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import translate
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from pathlib import Path

from memcli.named import NamedTuple
from memcli.storage.files import ENTRIES, SMALL_BYTES, Unreadable, read_file, read_text

LONGEST = 1024  # A longer pattern matches nothing
MOST = 200  # patterns of one entry that are tried
WILD = frozenset("*?[")
_WILD = re.compile("[*?[]")
MOST_RULES = 2000  # lines of an ignore file that are read


Parts = Sequence[str | None]  # patterns for one name each; None is `**`


def matches(pattern: str, text: str) -> bool:
    """Whether a whole text matches a pattern of `*`, `?`, `[a-z]`, `[!a]`; `*` matches
    anything."""
    return len(pattern) <= LONGEST and _fits(_in_shell(pattern), text)


def _fits(pattern: str, text: str) -> bool:
    if WILD.isdisjoint(pattern):
        return pattern == text
    # A pattern is compiled only for a text that begins as it does.
    is_likely = text.startswith(_WILD.split(pattern, maxsplit=1)[0])
    return is_likely and _regex(pattern).match(text) is not None


@lru_cache(2048)
def _regex(pattern: str) -> re.Pattern[str]:
    """A shell pattern as a regex without backtracking: each `*` ends at the first match
    of what follows."""
    return re.compile(translate(pattern))


def _in_shell(pattern: str) -> str:
    """A pattern for `fnmatch`, which does not know `[^a]`."""
    return pattern.replace("[^", "[!")


def _unescaped(pattern: str) -> str:
    """A part of an ignore pattern for `fnmatch`: a backslash escapes a character."""

    def plain(escaped: re.Match[str]) -> str:
        letter = escaped[1]
        return f"[{letter}]" if letter in WILD else letter

    return _in_shell(re.sub(r"\\(.)", plain, pattern))


class _Rule(NamedTuple):
    """`hint` is a text that occurs in every path the rule covers."""

    parts: Parts
    folder: bool
    negated: bool
    hint: str


def usable(pattern: str) -> bool:
    """Whether a gitignore pattern can cover a file."""
    return _rule(pattern) is not None


@lru_cache(4096)
def _rule(line: str) -> _Rule | None:
    """The rule of an ignore line; None if it covers nothing."""
    negated = line.startswith("!")
    body = line.removeprefix("!")
    is_comment = body.startswith("#") and not negated
    if not body.endswith("\\ "):
        body = body.rstrip()
    if not body.strip("/") or len(body) > LONGEST or is_comment:
        return None
    ends = [re.split(r"[]*?![^\\]", name)[-1] for name in body.split("/")]
    return _Rule(
        parts=_parts(body),
        folder=body.endswith("/"),
        negated=negated,
        hint=max(ends, key=len, default=""),
    )


def _parts(pattern: str) -> tuple[str | None, ...]:
    names = pattern.strip("/").split("/")
    if len(names) == 1 and not pattern.startswith("/"):
        names = ["**", *names]
    if names[-1] == "**" and len(names) > 1:
        names.append("*")  # what is inside, not the folder itself
    parts: list[str | None] = []
    for name in names:
        if name != "**":
            parts.append(_unescaped(name))
        elif parts[-1:] != [None]:  # two in a row mean one
            parts.append(None)
    return tuple(parts)


def named(patterns: Iterable[str], name: str) -> bool:
    """Whether patterns of the configuration match a file itself, not only its
    folder."""
    folder = name.rpartition("/")[0]
    rules = [f"/{pattern.removeprefix('./')}" for pattern in patterns]
    return any(covers([rule], name) > covers([rule], folder) for rule in rules)


def covers(patterns: Iterable[str], path: str) -> bool:
    """Whether gitignore patterns cover a path; the last match decides."""
    rules = map(_rule, islice(patterns, MOST))
    return _decided(rules, _names(path.replace(os.sep, "/")), decided=False)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _decided(
    rules: Iterable[_Rule | None], names: Sequence[str], *, decided: bool
) -> bool:
    path = "/".join(names)
    for rule in rules:
        may_change = rule is not None and rule.negated == decided
        if rule and may_change and rule.hint in path and _covers(rule, names):
            decided = not decided
    return decided


def _covers(rule: _Rule, names: Sequence[str]) -> bool:
    reached = _past_stars({0}, rule.parts)
    for depth, name in enumerate(names, 1):
        reached = _step(rule.parts, reached, name)
        if len(rule.parts) in reached and (depth < len(names) or not rule.folder):
            return True
    return False


def follow(parts: Parts, names: Iterable[str]) -> bool:
    """Whether a sequence of names matches the parts of a pattern; None matches any
    number."""
    shell_parts = [part and _in_shell(part) for part in parts]
    reached = _past_stars({0}, shell_parts)
    for name in names:
        reached = _step(shell_parts, reached, name)
    return len(parts) in reached


def _step(parts: Parts, reached: set[int], name: str) -> set[int]:
    """The positions of a pattern that can be reached after one more name of the
    path."""
    step = set()
    for place in reached - {len(parts)}:
        part = parts[place]
        if part is None:
            step.add(place)
        elif _fits(part, name):
            step.add(place + 1)
    return _past_stars(step, parts)


def _past_stars(places: set[int], parts: Parts) -> set[int]:
    stars = {place for place, part in enumerate(parts) if part is None}
    return places | {place + 1 for place in places & stars}


def unmatched(root: str, patterns: Iterable[str]) -> list[str]:
    """The gitignore patterns that match nothing below the root, as far as a bounded
    walk can tell; none if there are only notes."""
    lost = []
    for pattern in patterns:
        name = pattern.strip("/")
        anywhere = "/" not in name and not pattern.startswith("/")
        walk = Walk(root)
        if not walk.find(f"**/{name}" if anywhere else name) and not walk.cut:
            lost.append(pattern)
    return lost if lost and _has_code(root) else []


def _has_code(root: str) -> bool:
    """Whether there is a file below the root that is neither a note nor hidden."""
    for _, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if any(not name.startswith(".") and not name.endswith(".md") for name in files):
            return True
    return False


class Ignored:
    """Whether git ignores a path: its ignore files cover it, and it is not tracked."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._rules: dict[str, list[_Rule]] = {}

    def __call__(self, path: str) -> bool:
        """Whether git ignores the path, by the last rule that decides."""
        parts = path.split("/")
        ignored = False
        for depth in range(len(parts)):
            ignored = _decided(
                self._of("/".join(parts[:depth])), parts[depth:], decided=ignored
            )
        return ignored and not self._is_tracked(path)

    def _is_tracked(self, path: str) -> bool:
        """Whether git's index has a path: there it stands between its length and NUL,
        but for version 4, which cuts off how the path before it begins."""
        name = os.fsencode(path)
        return len(name).to_bytes(2, "big") + name + b"\0" in self._index

    @cached_property
    def _index(self) -> bytes:
        """Git's index; empty if there is none or it is too large."""
        from memcli.project import git  # few files are ignored

        with suppress(Unreadable):
            folder = git.git_dir(Path(self.root)) or Path(os.devnull)
            return read_file(folder / "index").data
        return b""

    def _of(self, folder: str) -> list[_Rule]:
        if folder not in self._rules:
            names = [".git/info/exclude", ".gitignore"]
            if folder:
                names = [f"{folder}/.gitignore"]
            lines = []
            for name in names:
                lines += self._lines(f"{self.root}/{name}")
            self._rules[folder] = list(filter(None, map(_rule, lines)))
        return self._rules[folder]

    def _lines(self, path: str) -> list[str]:
        with suppress(Unreadable):
            return read_text(path, self.root, most=SMALL_BYTES).split("\n")[:MOST_RULES]
        return []


def _folder_name(name: str) -> str | None:
    return None if name == "**" else _in_shell(name)


def _wanted(parts: Parts, places: Iterable[int]) -> set[str]:
    """The shell patterns for names at these positions of a pattern."""
    return {parts[place] or "*" for place in places}


class Walk:
    """A bounded walk by patterns; `cut` says whether it was stopped, `links` are the
    links it did not follow."""

    def __init__(self, root: str, limit: int = ENTRIES) -> None:
        self.root = root
        self.cut = False
        self.links: list[str] = []
        self._left = limit

    def find(self, pattern: str) -> list[str]:
        """The paths below the root that match a pattern, sorted; `**` matches any
        folders."""
        if len(pattern) > LONGEST:
            return []
        parts = list(map(_folder_name, _names(pattern)))
        found = self._found(parts, "", _past_stars({0}, parts))
        return sorted(name for name in found if not name.startswith(".git/"))

    def reaches(self, pattern: str, place: str) -> bool:
        """Whether a pattern in gitignore syntax covers a file that lies in a place: a
        folder, or what a pattern of a shell names; true, where it may, of a walk that was
        cut short."""
        rule = _rule(pattern)
        if rule is None:
            return False
        folder = ""
        reached = _past_stars({0}, rule.parts)
        for name in takewhile(WILD.isdisjoint, _names(place)):
            folder = f"{folder}{name}/"
            reached = _step(rule.parts, reached, name)
        if len(rule.parts) in reached:
            return os.path.lexists(f"{self.root}/{folder[:-1]}")
        found = self._found(rule.parts, folder, reached)
        is_held = any(not place or covers([f"/{place}"], path) for path in found)
        return is_held or (self.cut and bool(reached))

    def _found(self, parts: Parts, folder: str, reached: set[int]) -> list[str]:
        """The paths in a folder by the parts of a pattern, in the order of the walk,
        from the places of the pattern that are reached there."""
        finish = len(parts)
        matching = []
        pending = [(folder, reached)]
        while pending and not self.cut:
            folder, reached = pending.pop()
            wanted = _wanted(parts, reached - {finish})
            is_known = WILD.isdisjoint("".join(wanted))
            entries = self._named if is_known else self._entries
            for name, is_folder in entries(folder, wanted):
                path = f"{folder}{name}"
                after = _step(parts, reached, name)
                if finish in after:
                    matching.append(path)
                if after <= {finish}:
                    continue  # the whole pattern is matched
                if is_folder and path != ".git":
                    pending.append((f"{path}/", after))
                elif is_known:
                    self.links.append(path)
        return matching

    def _named(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
        for name in names:
            path = f"{self.root}/{folder}{name}"
            if os.path.lexists(path):
                yield name, not os.path.islink(path)

    def _entries(self, folder: str, _: object) -> Iterator[tuple[str, bool]]:
        with suppress(OSError), os.scandir(f"{self.root}/{folder}") as listing:
            for entry in listing:
                self.cut = self._left <= 0
                if self.cut:
                    return
                self._left -= 1
                yield entry.name, entry.is_dir(follow_symlinks=False)

"""Which of the names in memory the work tree has, and what became of the others.

After a commit an identifier is looked for in the file that had it and in what
changed."""

import os
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from memcli.project import git, globs
from memcli.project.git import Logged
from memcli.storage.files import SMALL_BYTES, Unreadable, read_file
from memcli.text.matching import table

MOST_FILES: Final = 50_000
MOST_BYTES: Final = 300_000_000
BATCH: Final = 50  # names that one question to git is about
SAMPLES: Final = (
    7,
    20,
)  # so many commits of memory are looked at for a lost name, then so many more
_PROSE = (
    ".md",
    ".mdx",
    ".rst",
    ".txt",
    ".adoc",
    ".markdown",
)  # identifiers are only spoken of
_CODE: Final = (".", *(f":(exclude,glob)**/*{ending}" for ending in _PROSE))
_WORD = re.compile(rb"[A-Za-z_$][\w$]{3,}")
HERE = "here"
GONE = "gone"
MOVED = "moved"
NEVER = "never"
UNTOLD = "untold"


_LINES = [line.split(": ", 2) for line in table("index/manifests.txt").splitlines()]
MANIFESTS = {tool: (files.split(), pattern) for tool, files, pattern in _LINES}
"""A tool -> the files that hold its targets, and what a target looks like there."""


class Anchor(NamedTuple):
    """`kind` is path, glob, script ("tool target") or name."""

    kind: str
    text: str

    @property
    def end(self) -> str:
        """A path as it stands in longer ones, between slashes."""
        return f"/{self.text.removeprefix('./').rstrip('/')}/"


class Fate(NamedTuple):
    """`state` is here, gone, moved (to `now`), never (in this history) or untold;
    `commit` removed it; an identifier stands in `witness`."""

    state: str
    witness: str = ""
    commit: str = ""
    day: str = ""
    now: str = ""


def has_target(script: str, manifest: str) -> bool:
    """Whether the text of a manifest has a target."""
    tool, target = script.split(" ", 1)
    return bool(
        re.search(MANIFESTS[tool][1].format(re.escape(target)), manifest, re.MULTILINE)
    )


class Codebase:
    """A work tree at `top`, or a `revision` of it, asked with git until `deadline`
    (monotonic)."""

    def __init__(
        self, top: Path, root: Path, deadline: float, revision: str = ""
    ) -> None:
        self.top = top
        self.root = root
        self.deadline = deadline
        self.revision = revision

    def fates(
        self, named: Collection[Anchor], known: Mapping[Anchor, Fate], head: str
    ) -> dict[Anchor, Fate]:
        """What has become of each anchor; `known` was found when HEAD was `head`."""
        there = {a: Fate(HERE) for a in named if a.kind != "name" and self.has(a)}
        there |= self._names({a for a in named if a.kind == "name"}, known, head)
        settled = {
            a: fate
            for a, fate in known.items()
            if fate.state in (NEVER, GONE) or (fate.now and self._has_path(fate.now))
        }
        missing = [a for a in named if a not in there and a not in settled]
        history = {**self._removed_files(missing), **self._removed_words(missing)}
        if ((git.common_dir(self.top) or self.top) / "shallow").is_file():
            # What is not in this part of the history may be in the other.
            history = {a: fate for a, fate in history.items() if fate.state != NEVER}
        return dict.fromkeys(named, Fate(UNTOLD)) | history | settled | there

    @cached_property
    def files(self) -> frozenset[str]:
        """The tracked files, by their path from the top."""
        if not self.revision:
            return frozenset(git.tracked(self.top)[:MOST_FILES])
        out = self.git("ls-tree", "-r", "--name-only", "-z", self.revision) or ""
        return frozenset(filter(None, out.split("\0")[:MOST_FILES]))

    @cached_property
    def _ends(self) -> dict[str, list[str]]:
        folders = {
            path[: cut.start()] for path in self.files for cut in re.finditer("/", path)
        }
        found = defaultdict[str, list[str]](list)
        for path in (*self.files, *folders):
            found[path.rpartition("/")[2]].append(path)
        return found

    def has(self, anchor: Anchor) -> bool:
        """Whether a path, a glob or a target is there."""
        if anchor.kind == "glob":
            below = os.path.relpath(self.root, self.top).removeprefix(".") + "/"
            cut = 0 if below == "/" else len(below)
            inside = (
                path[cut:] for path in self.files if not cut or path.startswith(below)
            )
            return any(globs.covers([anchor.text], path) for path in inside)
        if anchor.kind == "script":
            names = MANIFESTS[anchor.text.split(" ", 1)[0]][0]
            texts = (
                self.read(path) for name in names for path in self._ends.get(name, ())
            )
            return any(
                has_target(anchor.text, text.decode(errors="replace")) for text in texts
            )
        return self._has_path(anchor.text)

    def _has_path(self, path: str) -> bool:
        path = path.removeprefix("./").rstrip("/")
        named = self.top.name  # a path may begin with the repository's own folder
        own = path if named in self._ends else path.removeprefix(f"{named}/")
        return any(
            full == end or full.endswith(f"/{end}")
            for end in {path, own}
            for full in self._ends.get(end.rpartition("/")[2], ())
        ) or (not self.revision and os.path.lexists(self.root / path))

    def read(self, path: str) -> bytes:
        """The bytes of a file, none of one that is no regular file or too large."""
        if self.revision:
            text = self.git("show", f"{self.revision}:{path}") or ""
            return text.encode("utf-8", "surrogateescape")
        with suppress(Unreadable):
            return read_file(self.top / path, self.top, most=SMALL_BYTES).data
        return b""

    def _names(
        self, wanted: set[Anchor], known: Mapping[Anchor, Fate], head: str
    ) -> dict[Anchor, Fate]:
        out = (
            self.git("diff", "--name-only", "--no-renames", "-z", head)
            if head
            else None
        )
        if out is None:
            return self._seen_in(self.files, wanted)
        touched = set(out.split("\0"))
        there = {
            a: known[a]
            for a in wanted
            if a in known
            and known[a].witness in self.files
            and known[a].witness not in touched
        }
        there |= self._seen_in(touched & self.files, wanted - there.keys())
        lost = {a for a in wanted - there.keys() if a not in known or known[a].witness}
        return there | (self._seen_in(self.files, lost) if lost else {})

    def _seen_in(
        self, files: Iterable[str], wanted: Collection[Anchor]
    ) -> dict[Anchor, Fate]:
        """What of `wanted` stands in these files; all of it, as untold, when time runs
        out."""
        left = {a.text.encode(): a for a in wanted}
        found = dict[Anchor, Fate]()
        size = 0
        for path in files:
            if not left or is_prose(path):
                continue
            if size > MOST_BYTES or time.monotonic() > self.deadline:
                return found | dict.fromkeys(left.values(), Fate(UNTOLD))
            data = self.read(path)
            size += len(data)
            for word in left.keys() & set(_WORD.findall(data)):
                found[left.pop(word)] = Fate(HERE, path)
        return found

    def holds(self, name: str) -> bool:
        """Whether an identifier stands in some file of code."""
        of = (self.revision,) if self.revision else ()
        return bool(self.git("grep", "-lwFI", "-e", name, *of, "--", *_CODE))

    def git(self, *arguments: str) -> str | None:
        """What git says; None when it fails or the time is up."""
        left = self.deadline - time.monotonic()
        return git.ask(self.top, *arguments, timeout=left) if left > 0 else None

    def shares(self, *ends: str) -> Iterator[tuple[str, float]]:
        """Files that lost lines between two commits, or since one, and the share that
        is new."""
        out = self.git("diff", "--numstat", "--no-renames", "-z", *ends) or ""
        for row in out.split("\0"):
            added, taken, path = [*row.split("\t"), "", ""][:3]
            lines = (
                self.read(path).count(b"\n")
                if added.isdecimal() and taken != "0"
                else 0
            )
            if lines:
                yield path, min(int(added) / lines, 1.0)

    def _removed_files(self, missing: Sequence[Anchor]) -> dict[Anchor, Fate]:
        wanted = [a for a in missing if a.kind in ("path", "glob")]
        fates = dict[Anchor, Fate]()
        how = "-m", "--first-parent", "--no-renames", "--diff-filter=D"
        shape = git.log_format("%h", "%cs")
        for start in range(0, len(wanted), BATCH):
            some = wanted[start : start + BATCH]
            places = (spec for anchor in some for spec in _specs(anchor))
            out = self.git("log", *how, *shape, "--", *places)
            if out is not None:
                commits = list(git.parse_log(out, 2))
                fates |= {anchor: self._removal(anchor, commits) for anchor in some}
        return fates

    def _removal(self, anchor: Anchor, commits: Iterable[Logged]) -> Fate:
        """What the last of these commits that took a path away made of it."""
        pattern = [anchor.text] if anchor.kind == "glob" else []
        for logged in commits:
            for name in logged.names:
                if anchor.end in f"/{name}/" or globs.covers(pattern, name):
                    commit, day = logged.fields
                    now = self._renamed(anchor, commit, name)
                    state = MOVED if now else GONE
                    return Fate(state, commit=commit, day=day, now=now)
        return Fate(NEVER)

    def _renamed(self, anchor: Anchor, commit: str, path: str) -> str:
        """Where a file, or the folder it was in, has gone since a commit; "" for
        nowhere."""
        options = (
            "-M70% --diff-filter=R --name-status -z -m --first-parent --format=".split()
        )
        for _ in range(5):
            fields = (self.git("show", *options, commit) or "").strip("\n").split("\0")
            pairs = zip(fields[1::3], fields[2::3], strict=False)
            new = next((new for old, new in pairs if old == path), "")
            if not new or anchor.kind == "glob":
                return ""
            if new in self.files:
                inner = f"/{path}/".partition(anchor.end)[2].rstrip("/")
                return (
                    new.removesuffix(inner).rstrip("/") if new.endswith(inner) else ""
                )
            out = self.git(
                "log", "-1", "--diff-filter=D", "--no-renames", "--format=%h", "--", new
            )
            commit = (out or "").strip()
            path = new
            if not commit:
                return ""
        return ""

    def _removed_words(self, missing: Sequence[Anchor]) -> dict[Anchor, Fate]:
        """What stood in the code, or a manifest, at the time of some commit of a memory
        file."""
        left = {a for a in missing if a.kind in ("name", "script")}
        out = self.git("log", "--format=%H", "--max-count=2000", "--", ":(glob)**/*.md")
        if not left or out is None:
            return {}
        commits = out.split()
        fates = dict[Anchor, Fate]()
        coarse, fine = (max(1, len(commits) // parts) for parts in SAMPLES)
        for commit in dict.fromkeys(
            [*commits[::coarse], *commits[-1:], *commits[::fine]]
        ):
            was = set(self._at(commit, left))
            left -= was
            fates |= self._last_seen(was, commit)
        return fates | (
            {a: Fate(NEVER) for a in left} if time.monotonic() < self.deadline else {}
        )

    def _at(self, commit: str, wanted: Collection[Anchor]) -> Iterator[Anchor]:
        names = [a for a in wanted if a.kind == "name"]
        for start in range(0, len(names), BATCH):
            some = names[start : start + BATCH]
            given = (part for a in some for part in ("-e", a.text))
            words = set(
                (self.git("grep", "-ohwFI", *given, commit, "--", *_CODE) or "").split()
            )
            yield from (a for a in some if a.text in words)
        for anchor in (a for a in wanted if a.kind == "script"):
            for name in MANIFESTS[anchor.text.split(" ", 1)[0]][0]:
                if has_target(anchor.text, self.git("show", f"{commit}:{name}") or ""):
                    yield anchor
                    break

    def _last_seen(self, words: set[Anchor], commit: str) -> dict[Anchor, Fate]:
        """The commits that took these away after one that had them, found by halving
        the line."""
        out = self.git("rev-list", "--reverse", "--first-parent", f"{commit}..HEAD")
        line = (out or "").split()
        fates = {a: Fate(GONE) for a in words}
        spans = (
            [(-1, len(line) - 1, words - set(self._at("HEAD", words)))] if line else []
        )
        while spans:
            there, gone, some = spans.pop()
            if gone - there == 1 and some and time.monotonic() < self.deadline:
                told = self.git("show", "-s", "--format=%h %cs", line[gone]) or ""
                removed, _, day = told.strip().partition(" ")
                fates |= {
                    a: Fate(state=GONE, witness="", commit=removed, day=day)
                    for a in some
                }
            elif some:
                half = (there + gone) // 2
                later = set(self._at(line[half], some))
                spans += [(there, half, some - later), (half, gone, later)]
        return fates


def is_prose(path: str) -> bool:
    """Whether a file only speaks of code."""
    return path.lower().endswith(_PROSE)


def _specs(anchor: Anchor) -> tuple[str, ...]:
    if anchor.kind == "glob":
        return (
            f":(glob){anchor.text.lstrip('/')}",
            f":(glob)**/{anchor.text.lstrip('/')}",
        )
    path = re.sub(r"([*?\[\\])", r"\\\1", anchor.end)
    return (f":(glob)**{path[:-1]}", f":(glob)**{path}**")


def rewritten(top: Path, day: str) -> dict[str, float]:
    """The share of the lines of each file that is new since a day, by its path from the
    top."""
    tree = Codebase(top, top, time.monotonic() + 10)
    commit = (
        tree.git("rev-list", "-1", f"--before={day}T23:59:59", "HEAD") or ""
    ).strip()
    shares = tree.shares(commit) if commit else ()
    return {path: share for path, share in shares if path in tree.files}

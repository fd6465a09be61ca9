"""Which of the names in memory the work tree has, and what became of the others.

After a commit an identifier is looked for in the file that had it and in what
changed."""

import datetime
import os
import re
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from memcli.index.citations import Citation, parse_citation, stands
from memcli.index.declared import Declared
from memcli.index.fates import GONE, HERE, MOVED, NEVER, PENDING, UNTOLD, Anchor, Fate
from memcli.project import git, globs
from memcli.project.git import Logged
from memcli.storage.files import SMALL_BYTES, Unreadable, read_file

MOST_FILES: Final = 50_000
VERSIONS: Final = 50  # of a file that are looked at for what changed a citation
MOST_BYTES: Final = 300_000_000
TOGETHER: Final = 1000  # files that one comparison names
BATCH: Final = 50  # names, or commits, that one question to git is about
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
_PLACED: Final = frozenset({"path", "glob", "script"})
_FRESH: Final = frozenset({"value", "lines"})
_WORD = re.compile(rb"[A-Za-z_$][\w$]{3,}")


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
        self.declared = Declared(self)
        self.has_gaps = False
        """Whether old versions of files were asked for that this clone has not."""

    def fates(
        self, named: Collection[Anchor], known: Mapping[Anchor, Fate], head: str
    ) -> dict[Anchor, Fate]:
        """What has become of each anchor; `known` was found when HEAD was `head`."""
        fresh = {a: _held(self, a, known) for a in named if a.kind in _FRESH}
        placed = [a for a in named if a.kind in _PLACED]
        there = {a: Fate(HERE) for a in placed if self.has(a)}
        there |= self._names({a for a in named if a.kind == "name"}, known, head)
        settled = _settled(self, known)
        decided = {*there, *settled, *fresh}
        history = self._told_by_history([a for a in named if a not in decided])
        for anchor, before in known.items():
            if before.was_here and history.get(anchor, before).state == NEVER:
                history[anchor] = PENDING
        return dict.fromkeys(named, Fate(UNTOLD)) | history | settled | there | fresh

    def _told_by_history(self, missing: Sequence[Anchor]) -> dict[Anchor, Fate]:
        """What git says of names that the work tree has not; nothing of those that it
        cannot tell of."""
        scripts = [anchor for anchor in missing if anchor.kind == "script"]
        names = [anchor for anchor in missing if anchor.kind == "name"]
        fates = self.removed_files(missing)
        fates |= self.declared.removed(scripts)
        fates |= self._removed_words(names)
        # What is not in this part of the history may be in the other.
        unsure = {*scripts, *names} if self.has_gaps else set()
        unsure |= {*missing} if git.is_shallow(self.top) else set()
        return {
            anchor: fate
            for anchor, fate in fates.items()
            if fate.state != NEVER or anchor not in unsure
        }

    @cached_property
    def files(self) -> frozenset[str]:
        """The tracked files, by their path from the top."""
        if not self.revision:
            return frozenset(git.tracked(self.top)[:MOST_FILES])
        out = self.git("ls-tree", "-r", "--name-only", "-z", self.revision) or ""
        return frozenset(filter(None, out.split("\0")[:MOST_FILES]))

    @cached_property
    def ends(self) -> dict[str, list[str]]:
        """The files and folders by the last part of their paths."""
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
            return self.declared.has(anchor)
        return self.has_path(anchor.text)

    def has_path(self, path: str) -> bool:
        """Whether a file or folder is there whose path ends so."""
        path = path.removeprefix("./").rstrip("/")
        named = self.top.name  # a path may begin with the repository's own folder
        own = path if named in self.ends else path.removeprefix(f"{named}/")
        return any(ending(self, end) for end in {path, own}) or (
            not self.revision and os.path.lexists(self.root / path)
        )

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

    def git(self, *arguments: str, given: str | None = None) -> str | None:
        """What git says; None when it fails or the time is up."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        return git.ask(self.top, *arguments, timeout=left, given=given)

    def shares(self, *ends: str) -> Iterator[tuple[str, float]]:
        """Files that lost lines between two commits, or since one, and the share that
        is new."""
        out = self.git("diff", "--numstat", "--no-renames", "-z", *ends) or ""
        for row in out.split("\0"):
            added, taken, path = [*row.split("\t"), "", ""][:3]
            if not added.isdecimal() or taken == "0":
                continue
            if lines := self.read(path).count(b"\n"):
                yield path, min(int(added) / lines, 1.0)

    def removed_files(self, missing: Sequence[Anchor]) -> dict[Anchor, Fate]:
        """What the history says of the paths and globs among these."""
        places = [a for a in missing if a.kind in ("path", "glob")]
        wanted = self._followed(places)
        fates = dict.fromkeys(set(places).difference(wanted), Fate(NEVER))
        how = "-m", "--first-parent", "--no-renames", "--diff-filter=D"
        shape = git.log_format("%h", "%cs")
        for start in range(0, len(wanted), BATCH):
            some = wanted[start : start + BATCH]
            specs = (spec for anchor in some for spec in _specs(anchor))
            out = self.git("log", *how, *shape, "--", *specs)
            if out is not None:
                commits = list(git.parse_log(out, 2))
                fates |= {anchor: self._removal(anchor, commits) for anchor in some}
        return fates

    def _followed(self, places: Iterable[Anchor]) -> list[Anchor]:
        """The places whose history git has: inside the work tree and not ignored."""
        # git says nothing at all where one of the places is outside
        inside = [place for place in places if ".." not in place.text.split("/")]
        ignored = _ignored(self, [_folder(place.text) for place in inside])
        return [place for place in inside if _folder(place.text) not in ignored]

    def _removal(self, anchor: Anchor, commits: Iterable[Logged]) -> Fate:
        """What the last of these commits that took a path away made of it."""
        pattern = [anchor.text] if anchor.kind == "glob" else []
        for logged in commits:
            for name in logged.names:
                if anchor.end in f"/{name}/" or globs.covers(pattern, name):
                    commit, day = logged.fields
                    if anchor.kind == "glob":
                        now = self._moved_glob(anchor, logged)
                    else:
                        now = self._renamed(anchor, commit, name)
                    state = MOVED if now else GONE
                    return Fate(state, commit=commit, day=day, now=now)
        return Fate(NEVER)

    def _renamed(self, anchor: Anchor, commit: str, path: str) -> str:
        """Where a file or folder has gone since a commit that took `path`, or what lay
        in it; "" for nowhere."""
        above, end, _ = f"/{path}/".partition(anchor.end)
        place = f"{above}{end}".strip("/")
        last = "log", "-1", "--diff-filter=D", "--no-renames", "--format=%h", "--"
        for _ in range(5):
            place = _gone_to(self, commit, place)
            if not place or place in self.ends.get(place.rpartition("/")[2], ()):
                return place
            commit = (self.git(*last, _literal(place)) or "").strip()
            if not commit:
                return ""
        return ""

    def _moved_glob(self, anchor: Anchor, logged: Logged) -> str:
        """The glob for the folder that all it named went to in one commit, each file
        under its own name."""
        head = re.split(r"[*?\[]", anchor.text)[0].rpartition("/")[0]
        renames = _renames(self, logged.fields[0])
        folders: set[str] = set()
        for name in logged.names:
            if head and globs.covers([anchor.text], name):
                below = name.partition(f"{head}/")[2]
                new = renames.get(name, "")
                kept_its_name = bool(below) and new.endswith(f"/{below}")
                folders.add(new.removesuffix(f"/{below}") if kept_its_name else "")
        if len(folders) != 1 or "" in folders:
            return ""
        moved = folders.pop() + anchor.text[len(head) :]
        return moved if self.has(Anchor("glob", moved)) else ""

    def _removed_words(self, missing: Sequence[Anchor]) -> dict[Anchor, Fate]:
        """What stood in the code at the time of some commit of a memory file."""
        left = set(missing)
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
        names = list(wanted)
        for start in range(0, len(names), BATCH):
            some = names[start : start + BATCH]
            given = (part for a in some for part in ("-e", a.text))
            words = _words(self, *given, commit)
            yield from (a for a in some if a.text in words)

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


def _held(tree: Codebase, anchor: Anchor, known: Mapping[Anchor, Fate]) -> Fate:
    """What a value or a citation is worth today; it may come true again."""
    if anchor.kind == "value":
        return tree.declared.compared(anchor.text)
    citation = parse_citation(anchor.text)
    if citation is None or not citation.sketch or citation.path not in tree.files:
        return Fate(NEVER)  # the file itself is an anchor of its own
    if stands(citation, tree.read(citation.path).decode(errors="replace")):
        return Fate(HERE, witness=citation.path)
    before = known.get(anchor, Fate(UNTOLD))
    return before if before.state == GONE else _broken(tree, citation)


def _broken(tree: Codebase, citation: Citation) -> Fate:
    """The commit after which the lines of a citation stood no more; none where it
    is not committed, or further back than is looked."""
    shape = "-n", str(VERSIONS), "--format=%h %cs"
    out = tree.git("log", *shape, "--", citation.path) or ""
    later = ""
    for row in out.splitlines():
        text = tree.git("show", f"{row.split(' ')[0]}:{citation.path}")
        if text is None or stands(citation, text):
            later = later if text is not None else ""
            break
        later = row
    commit, _, day = later.partition(" ")
    return Fate(GONE, commit=commit, day=day)


def _settled(tree: Codebase, known: Mapping[Anchor, Fate]) -> dict[Anchor, Fate]:
    """What was found before and holds as long as the name is not there again, as far as
    that can be seen."""
    return {
        anchor: fate
        for anchor, fate in known.items()
        if (fate.state in (NEVER, GONE) or (fate.now and tree.has_path(fate.now)))
        and not tree.declared.may_have(anchor)
    }


def _renames(tree: Codebase, commit: str) -> dict[str, str]:
    """The files that a commit renamed."""
    options = "-M70% --diff-filter=R --name-status -z -m --first-parent --format="
    out = tree.git("show", *options.split(), commit) or ""
    fields = out.strip("\n").split("\0")
    return dict(zip(fields[1::3], fields[2::3], strict=False))


def _gone_to(tree: Codebase, commit: str, place: str) -> str:
    """What a commit renamed a file to; of a folder, where most of its renamed files
    went under their own names."""
    renames = _renames(tree, commit)
    folders = Counter[str]()
    for old, new in renames.items():
        if old.startswith(f"{place}/"):
            below = old.removeprefix(place)
            folders[new.removesuffix(below) if new.endswith(below) else ""] += 1
    best = max(folders, key=folders.__getitem__, default="")
    most = best if 2 * folders[best] > folders.total() else ""
    return renames.get(place, most)


def ending(tree: Codebase, path: str) -> list[str]:
    """The files and folders whose path ends so."""
    full = tree.ends.get(path.rpartition("/")[2], ())
    return [end for end in full if f"/{end}".endswith(f"/{path}")]


def _ignored(tree: Codebase, folders: Iterable[str]) -> set[str]:
    """Those of these folders that git is to ignore, as what a build makes; not what
    lay in one once."""
    given = "\0".join(filter(None, folders))
    asked = "check-ignore", "--no-index", "--verbose", "--stdin", "-z"
    out = tree.git(*asked, given=given) if given else None
    fields = (out or "").split("\0")
    return {
        folder
        for pattern, folder in zip(fields[2::4], fields[3::4], strict=False)
        if globs.matches(_last_part(pattern), _last_part(folder))
    }


def _last_part(path: str) -> str:
    return path.strip("/").rpartition("/")[2]


def _words(tree: Codebase, *asked: str) -> set[str]:
    """The words that a search of the code prints; a clone may lack some of it."""
    left = tree.deadline - time.monotonic()
    if left <= 0:
        return set()
    words = "grep", "-ohwFI", *asked, "--", *_CODE
    done = git.run(words, tree.top, left)
    tree.has_gaps |= done.returncode > 1
    return set(done.stdout.split())


def _folder(path: str) -> str:
    """The folder that a path is, by having no ending, or that it lies in; "" for a
    file at the top."""
    above, _, name = path.rpartition("/")
    if "." not in name.strip("."):
        return path
    return f"{above}/" if above else ""


def is_prose(path: str) -> bool:
    """Whether a file only speaks of code."""
    return path.lower().endswith(_PROSE)


def _specs(anchor: Anchor) -> tuple[str, ...]:
    if anchor.kind == "glob":
        name = anchor.text.lstrip("/")
        return (f":(glob){name}", f":(glob)**/{name}")
    path = re.sub(r"([*?\[\\])", r"\\\1", anchor.end)
    return (f":(glob)**{path[:-1]}", f":(glob)**{path}**")


def rewritten(
    tree: Codebase, named: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], float]:
    """The share of the lines of a file that is new since a day, by (day, file); `named`
    are the days on which something was written about a file. Only those files are
    compared, with the last commit of that day."""
    out = tree.git("diff", "--name-only", "--no-renames", "-z", "HEAD") or ""
    lately = named.keys() & set(out.split("\0"))
    files_of = defaultdict[str, list[str]](list)
    for file, days in named.items():
        for day in days:
            files_of[day].append(file)
    newest = _newest_commits(tree)
    shares: dict[tuple[str, str], float] = {}
    for day, files in sorted(files_of.items()):
        commit = newest(day)
        if not commit:
            continue
        # Between two commits git need not look at the work tree.
        settled = [file for file in files if file not in lately]
        for start in range(0, len(settled), TOGETHER):
            specs = map(_literal, settled[start : start + TOGETHER])
            found = tree.shares(commit, "HEAD", "--", *specs)
            shares |= {(day, path): share for path, share in found}
        if changed := lately.intersection(files):
            found = tree.shares(commit, "--", *map(_literal, changed))
            shares |= {(day, path): share for path, share in found}
    return shares


def _newest_commits(tree: Codebase) -> Callable[[str], str]:
    """What tells the last commit of a day, "" where there is none."""
    out = tree.git("rev-list", "--timestamp", "HEAD") or ""
    rows = [row.split(" ") for row in out.splitlines()]
    times = [-int(made) for made, _ in rows]
    if times != sorted(times):  # some clock went wrong: as git walks them
        return lambda day: (
            tree.git("rev-list", "-1", f"--before={day}T23:59:59", "HEAD") or ""
        ).strip()

    def newest(day: str) -> str:
        end = datetime.datetime.fromisoformat(f"{day}T23:59:59").timestamp()
        place = bisect_left(times, -int(end))
        return rows[place][1] if place < len(rows) else ""

    return newest


def _literal(path: str) -> str:
    return f":(literal){path}"

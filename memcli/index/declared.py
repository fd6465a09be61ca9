"""The targets that the manifests of a work tree declare, and once did."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from memcli.index import targets
from memcli.index.blobs import read_blobs
from memcli.index.fates import GONE, HERE, NEVER, UNTOLD, Anchor, Fate
from memcli.index.manifests import Reader
from memcli.index.stated import KEYS, agrees, parse_statement
from memcli.index.worktree import UNKNOWN, Commit, WorkTree
from memcli.storage.files import SMALL_BYTES, Unreadable
from memcli.text.controls import named
from memcli.text.matching import verbose

MOST_COMMITS = 5000  # of all manifests that are read
BATCH = 50  # commits whose manifests are read at once


class Declared:
    """The manifests of a code base."""

    def __init__(self, tree: WorkTree) -> None:
        self.tree = tree
        self.unread = dict[str, str]()
        """Manifests that cannot be read, and why."""
        self._known = dict[tuple[str, str], frozenset[str]]()
        self._by_ending = dict[str, list[str]]()

    def has(self, anchor: Anchor) -> bool:
        """Whether a target can be called today."""
        tool, name = targets.split(anchor.text)
        manifests = self._manifests(tool)
        return any(
            targets.declares(self._targets(tool, path), name) for path in manifests
        )

    def may_have(self, anchor: Anchor) -> bool:
        """Whether a manifest that cannot be read may declare a target, once `has` has
        looked for it."""
        if anchor.kind != "script":
            return False
        tool, _ = targets.split(anchor.text)
        return not self.unread.keys().isdisjoint(self._manifests(tool))

    def compared(self, text: str) -> Fate:
        """What the manifests say of a value that an entry states."""
        statement = parse_statement(text)
        fate = Fate(NEVER)
        given = list(self._given(KEYS[statement.key].sources))
        real = [(path, value) for path, value in given if not _example().search(path)]
        for path, value in real or given:
            agreed = agrees(statement, value)
            if agreed:
                return Fate(HERE, witness=path)
            if agreed is False and fate.state == NEVER:
                fate = Fate(GONE, now=f"{named(path)} says {_plain(value)}")
        return fate

    def specs_of(self, text: str) -> list[str]:
        """The pathspecs of the manifests that may have a value."""
        return [_deep(name) for name in KEYS[parse_statement(text).key].sources]

    def _given(self, sources: Mapping[str, Reader]) -> Iterator[tuple[str, str]]:
        """The manifests of a key with what they say."""
        for name, reader in sources.items():
            for path in self._files((name,)):
                yield from ((path, value) for value in self._read(path, reader))

    def _read(self, path: str, reader: Reader) -> Iterable[str]:
        """What a manifest says; nothing where it cannot be read, which is noted. What
        a parser says may quote it."""
        try:
            return list(reader(self.tree.read_surely(path).decode(errors="replace")))
        except Unreadable as error:
            self.unread[path] = str(error)
        except (ValueError, RecursionError):
            self.unread[path] = "it is not valid"
        return ()

    def _manifests(self, tool: str) -> list[str]:
        return self._files(targets.TOOLS[tool])

    def _files(self, names: Iterable[str]) -> list[str]:
        """The tracked files of these names, or endings after `*`, from the top down."""
        paths = {path for name in names for path in self._named_so(name)}
        return sorted(paths, key=lambda path: (path.count("/"), path))

    def _named_so(self, name: str) -> Sequence[str]:
        if not name.startswith("*"):
            return self.tree.ends.get(name, ())
        if name not in self._by_ending:  # one walk over all files for all that ask
            ending = name.removeprefix("*")
            paths = [path for path in self.tree.files if path.endswith(ending)]
            self._by_ending[name] = paths
        return self._by_ending[name]

    def _targets(self, tool: str, path: str) -> frozenset[str]:
        """What can be called by a manifest."""

        if (tool, path) not in self._known:
            reader = partial(targets.declared, tool, path)
            self._known[tool, path] = frozenset(self._read(path, reader))
        return self._known[tool, path]

    def removed(
        self, wanted: Collection[Anchor], since: Mapping[Anchor, int]
    ) -> dict[Anchor, Fate]:
        """What the history of the manifests says of targets that none has now, after the
        places since which they are spoken of, as far as there is time."""
        tools = {targets.split(anchor.text)[0] for anchor in wanted}
        specs = [_deep(name) for tool in tools for name in targets.TOOLS[tool]]
        changed = "--diff-filter=DM", f"--max-count={MOST_COMMITS}", "--", *specs
        commits = self.tree.log(*changed, listed="--raw") if specs else []
        if commits is None:
            return {}
        fates = self._lost(wanted, commits, tools, since)
        is_all = not self.tree.is_late and len(commits) < MOST_COMMITS
        return dict.fromkeys(wanted if is_all else (), Fate(NEVER)) | fates

    def _lost(
        self,
        wanted: Collection[Anchor],
        commits: Sequence[Commit],
        tools: Collection[str],
        since: Mapping[Anchor, int],
    ) -> dict[Anchor, Fate]:
        """What these commits, the newest first, say of the targets."""
        fates: dict[Anchor, Fate] = {}
        for start in range(0, len(commits), BATCH):
            if len(fates) == len(wanted) or self.tree.is_late:
                break
            for target, fate in self._taken_out(commits[start : start + BATCH], tools):
                if target in wanted and fate.at > since.get(target, UNKNOWN):
                    fates.setdefault(target, fate)
        return fates

    def _taken_out(
        self, commits: Iterable[Commit], tools: Collection[str]
    ) -> Iterator[tuple[Anchor, Fate]]:
        """The targets of these tools that commits took out of some manifest."""
        changes = [
            (commit, path, row.split(" ")[2:4])  # the blobs before and after
            for commit in commits
            for row, path in zip(commit.files[::2], commit.files[1::2], strict=True)
        ]
        texts = self._blobs(blob for _, _, blobs in changes for blob in blobs)
        for commit, path, blobs in changes:
            # an unread manifest may declare it still
            state = UNTOLD if path in self.unread else GONE
            fate = Fate(state, commit=commit.name, day=commit.day, at=commit.at)
            for tool in tools:
                before, after = (
                    _readable(tool, path, texts.get(blob, "")) for blob in blobs
                )
                for name in before - after:
                    yield Anchor("script", f"{tool} {name}"), fate

    def _blobs(self, wanted: Iterable[str]) -> dict[str, str]:
        """The texts of blobs by their name; none of one that is too large."""
        # all zeros stand for no file
        names = [name for name in dict.fromkeys(wanted) if name.strip("0")]
        read = read_blobs(self._ask, names, SMALL_BYTES)
        self.tree.has_gaps |= not read.is_complete
        return read.texts

    def _ask(self, how: str, lines: str) -> str | None:
        return self.tree.git("cat-file", how, given=lines)


@verbose(ignore_case=True)
def _example() -> str:
    """A folder of test cases or examples, whose manifests are of other projects."""
    return r"""
        (?: ^ | / ) _* (?: tests? | testdata | fixtures? | examples? | samples?
          | templates? | playground ) _* /
    """


def _plain(value: str) -> str:
    """A manifest's value without anything that no version holds."""
    return " ".join(re.sub(r"[^\w.<>=^~|*+-]", " ", value).split())[:40]


def _deep(name: str) -> str:
    """A pathspec for a manifest's name or ending in any folder."""
    return f":(glob)**/{name}" if "/" not in name else f":(glob)**/{name[1:]}"


def _readable(tool: str, path: str, text: str) -> frozenset[str]:
    """The targets that a version of a manifest declares, none where it is invalid."""
    with suppress(ValueError):
        return targets.declared(tool, path, text)
    return frozenset()

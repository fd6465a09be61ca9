"""Which of the names in memory the work tree has, and what became of the others.

After a commit an identifier is looked for in the file that had it and in what
changed."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from memcli.index.citations import Citation, parse_citation, stands
from memcli.index.declared import Declared
from memcli.index.fates import GONE, HERE, NEVER, PENDING, UNTOLD, Anchor, Fate
from memcli.index.lost_words import removed_words
from memcli.index.removals import removed_places
from memcli.index.sayings import Pair, oldest, said_since
from memcli.index.worktree import CODE, UNKNOWN, WorkTree, is_prose, literal
from memcli.project import git

VERSIONS = 50  # of a file that are looked at for what changed a citation
MOST_BYTES = 300_000_000
_FRESH = frozenset({"value", "lines"})
_WORD = re.compile(rb"[A-Za-z_$][\w$]{3,}")


class Codebase(WorkTree):
    """A work tree, or a revision of it, with what its manifests declare."""

    def __init__(
        self, top: Path, root: Path, deadline: float, revision: str = ""
    ) -> None:
        super().__init__(top, root, deadline, revision)
        self.declared = Declared(self)
        self.memory: Mapping[str, str] = {}
        """The tracked file of each entry that has one."""
        self.days: Mapping[str, str] = {}
        """The day on which each entry was written."""
        self.since = dict[Pair, int]()
        """The place on the main line since which the file of such an entry has spoken
        of what it names."""
        self.asked: Mapping[Anchor, int] = {}
        """At how many commits the last check looked for what it had no time to
        find."""

    def fates(
        self,
        named: Collection[Anchor],
        known: Mapping[Anchor, Fate],
        head: str,
    ) -> dict[Anchor, Fate]:
        """What has become of each anchor; `known` was found when HEAD was `head`. What
        was gone before memory spoke of it is none of its names."""
        today = self._told_by_files(named, known, head)
        kept = {each: fate for each, fate in known.items() if self._stays(each, fate)}
        settled = kept | today
        missing = [anchor for anchor in named if anchor not in settled]
        self.spoken_of({anchor for anchor, fate in settled.items() if fate.is_lost})
        history = _pending(known, self._told_by_history(missing))
        return dict.fromkeys(named, Fate(UNTOLD)) | history | settled

    def _told_by_files(
        self, named: Collection[Anchor], known: Mapping[Anchor, Fate], head: str
    ) -> dict[Anchor, Fate]:
        """What the work tree says without its history; nothing of what it has not."""
        fates = dict[Anchor, Fate]()
        for anchor in named:
            if anchor.kind in _FRESH:
                fates[anchor] = self._held(anchor, known)
            elif anchor.kind != "name" and self.has(anchor):
                fates[anchor] = Fate(HERE)
        words = set(_of_kind("name", named))
        return fates | self._words_here(words, known, head)

    def _told_by_history(self, missing: Sequence[Anchor]) -> dict[Anchor, Fate]:
        """What git says of names that the work tree has not; nothing of those that it
        cannot tell of."""
        scripts = _of_kind("script", missing)
        names = _of_kind("name", missing)
        since = self.spoken_of(missing)
        fates = removed_places(self, missing, since)
        fates |= self.declared.removed(scripts, since)
        first = oldest(self.since)
        said = {each: first[each] for each in _of_kind("name", first)}
        fates |= removed_words(self, names, said, self.asked)
        # What is not in this part of the history may be in the other.
        unsure = {*scripts, *names} if self.has_gaps else set()
        unsure |= {*missing} if git.is_shallow(self.top) else set()
        return {
            anchor: fate
            for anchor, fate in fates.items()
            if fate.state != NEVER or anchor not in unsure
        }

    def spoken_of(self, anchors: Collection[Anchor]) -> dict[Anchor, int]:
        """The first place since which a file has spoken of each of these."""
        wanted = [pair for pair in self.since if pair[1] in anchors]
        new = [pair for pair in wanted if self.since[pair] == UNKNOWN]
        files = {pair: self.memory[pair[0]] for pair in new}
        self.since |= said_since(self, files, self.days)
        return oldest({pair: self.since[pair] for pair in wanted})

    def has(self, anchor: Anchor) -> bool:
        """Whether a path, a glob or a target is there."""
        if anchor.kind == "glob":
            return self.has_glob(anchor.text)
        if anchor.kind == "script":
            return self.declared.has(anchor)
        return self.has_path(anchor.text)

    def _stays(self, anchor: Anchor, fate: Fate) -> bool:
        """Whether a fate from before holds as long as the name is not there again, as
        far as that can be seen: it is over, or what it moved to is there."""
        is_over = fate.state in (NEVER, GONE) or (fate.now and self.has_path(fate.now))
        return bool(is_over) and not self.declared.may_have(anchor)

    def _words_here(
        self, wanted: set[Anchor], known: Mapping[Anchor, Fate], head: str
    ) -> dict[Anchor, Fate]:
        """The identifiers that stand in the code: where they stood at `head`, else in
        what changed, else anywhere."""
        how = "--name-only", "--no-renames", "-z"
        listed = self.git("diff", *how, head) if head else None
        if listed is None:
            return self._seen_in(self.files, wanted)
        touched = set(listed.split("\0"))
        untouched = self.files - touched
        stood = {anchor: known[anchor] for anchor in wanted & known.keys()}
        there = {
            anchor: fate for anchor, fate in stood.items() if fate.witness in untouched
        }
        there |= self._seen_in(touched & self.files, wanted - there.keys())
        # what was gone before can only be in what changed
        sure = {anchor for anchor, fate in known.items() if fate.state in (GONE, NEVER)}
        lost = wanted - there.keys() - sure
        if lost:
            there |= self._seen_in(self.files, lost)
        return there

    def _seen_in(
        self, files: Iterable[str], wanted: Collection[Anchor]
    ) -> dict[Anchor, Fate]:
        """What of `wanted` stands in these files; all of it, as untold, when time runs
        out."""
        left = {anchor.text.encode(): anchor for anchor in wanted}
        there = dict[Anchor, Fate]()
        size = 0
        for path in sorted(files):
            if not left or is_prose(path):
                continue
            if size > MOST_BYTES or self.is_late:
                return there | dict.fromkeys(left.values(), Fate(UNTOLD))
            data = self.read(path)
            size += len(data)
            for word in left.keys() & set(_WORD.findall(data)):
                there[left.pop(word)] = Fate(HERE, path)
        return there

    def holds(self, name: str) -> bool:
        """Whether an identifier stands in some file of code."""
        return self.grep("-lwFI", "-e", name, specs=CODE) != ""

    def _held(self, anchor: Anchor, known: Mapping[Anchor, Fate]) -> Fate:
        """What a value or a citation is worth today; it may come true again."""
        if anchor.kind == "value":
            return self._compared(anchor)
        citation = parse_citation(anchor.text)
        if citation is None or not citation.sketch or citation.path not in self.files:
            return Fate(NEVER)  # the file itself is an anchor of its own
        if stands(citation, self.read(citation.path).decode(errors="replace")):
            return Fate(HERE, witness=citation.path)
        before = known.get(anchor, Fate(UNTOLD))
        return before if before.state == GONE else _broken(self, citation)

    def _compared(self, anchor: Anchor) -> Fate:
        """What the manifests say of a value today, if they have agreed since it was
        written."""
        fate = self.declared.compared(anchor.text)
        if fate.state != GONE:
            return fate
        place = self.spoken_of([anchor]).get(anchor, UNKNOWN)
        if place < 0:
            return fate
        start = self.line[place]
        specs = self.declared.specs_of(anchor.text)
        changes = self.log(f"--max-count={VERSIONS}", f"{start}..", "--", *specs) or ()
        for commit in (start, *(change.name for change in reversed(changes))):
            then = Codebase(self.top, self.root, self.deadline, commit)
            if then.declared.compared(anchor.text).state == HERE:
                return fate
        return Fate(NEVER)


def _pending(
    known: Mapping[Anchor, Fate], history: Mapping[Anchor, Fate]
) -> dict[Anchor, Fate]:
    """What git says; what was here, and what no commit has taken out, is pending."""
    return {
        anchor: PENDING
        if fate.state == NEVER and known.get(anchor, fate).was_here
        else fate
        for anchor, fate in history.items()
    }


def _broken(tree: Codebase, citation: Citation) -> Fate:
    """The commit after which the lines of a citation stood no more; none where it
    is not committed, or further back than is looked."""
    later = Fate(GONE)
    how = f"--max-count={VERSIONS}", "--", literal(citation.path)
    for commit in tree.log(*how) or ():
        text = tree.git("show", f"{commit.name}:{citation.path}")
        if text is None:
            return Fate(GONE)
        if stands(citation, text):
            return later
        later = Fate(GONE, commit=commit.name, day=commit.day)
    return later


def _of_kind(kind: str, anchors: Iterable[Anchor]) -> list[Anchor]:
    return [anchor for anchor in anchors if anchor.kind == kind]

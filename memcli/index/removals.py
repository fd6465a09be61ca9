"""The files, folders and globs that a history took away, and where they went."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from memcli.index.fates import GONE, MOVED, NEVER, Anchor, Fate
from memcli.index.sayings import UNKNOWN
from memcli.index.worktree import CODE, WorkTree, literal
from memcli.named import NamedTuple
from memcli.project import globs
from memcli.project.git import Logged
from memcli.text.matching import verbose

BATCH = 50  # places that one question to git is about
QUOTING = 3  # files that have a name in quotes: the code works with such files
HOPS = 5  # renames that one place is followed through
CANDIDATES = 3  # places that are told where it is not clear which is the new one


class Removal(NamedTuple):
    """A commit that took a path away, and the file or folder that stood there."""

    logged: Logged
    path: str
    place: str

    @property
    def named(self) -> tuple[str, str]:
        """The file with the folder that it lay in, or the folder in both forms."""
        folder = self.place
        if self.path == self.place:
            folder = self.place.rpartition("/")[0]
        return self.place, f"{folder}/"


def removed_places(
    tree: WorkTree, missing: Iterable[Anchor], since: Mapping[Anchor, int]
) -> dict[Anchor, Fate]:
    """What the history after the place `since` which each is spoken of says of the
    paths and globs among these."""
    places = [anchor for anchor in missing if anchor.kind in ("path", "glob")]
    inside = list(filter(_is_inside, places))
    fates = dict.fromkeys(set(places).difference(inside), Fate(NEVER))
    paths = [place for place in inside if place.kind == "path"]
    if paths and tree.removals is not None:
        fates |= _fates(tree, _taken_paths(paths, tree.removals), since)
    globs_inside = [place for place in inside if place.kind == "glob"]
    fates |= _fates(tree, _taken_globs(tree, globs_inside), since)
    return fates | dict.fromkeys(_used_by_code(tree, fates), Fate(NEVER))


def _is_inside(place: Anchor) -> bool:
    """Where a place that is asked about is outside, git says nothing of any."""
    return ".." not in place.text.split("/")


def _taken_globs(
    tree: WorkTree, places: Sequence[Anchor]
) -> dict[Anchor, Sequence[Removal]]:
    """The removals that each glob is about; none of those that git cannot tell."""
    taken: dict[Anchor, Sequence[Removal]] = {}
    for start in range(0, len(places), BATCH):
        some = places[start : start + BATCH]
        removed = tree.removed(*chain.from_iterable(map(_specs, some)))
        if removed is not None:
            taken |= {anchor: list(_taken_glob(anchor, removed)) for anchor in some}
    return taken


def _fates(
    tree: WorkTree,
    taken: Mapping[Anchor, Sequence[Removal]],
    since: Mapping[Anchor, int],
) -> dict[Anchor, Fate]:
    """What these removals, the newest first, made of the places; nothing of what git is
    to ignore now, as what a build makes."""
    later = {}
    for anchor, removals in taken.items():
        spoken = since.get(anchor, UNKNOWN)
        later[anchor] = [each for each in removals if _place(tree, each) > spoken]
    # what a build makes is no loss
    stood = chain.from_iterable(later.values())
    names = chain.from_iterable(removal.named for removal in stood)
    made = _ignored(tree, set(names))
    fates = dict.fromkeys(taken, Fate(NEVER))
    for anchor, candidates in later.items():
        left = [each for each in candidates if made.isdisjoint(each.named)]
        is_dated = since.get(anchor, UNKNOWN) >= 0
        if left and (is_dated or _is_plain(anchor, left)):
            fates[anchor] = _fate(tree, anchor, left)
    return fates


def _is_plain(anchor: Anchor, removals: Sequence[Removal]) -> bool:
    """Whether it is plain what a name means without its time: the very path, or the
    only place that ever ended so."""
    places = {removal.place for removal in removals}
    is_exact = anchor.kind == "glob" or anchor.end.strip("/") in places
    return is_exact or len(places) == 1


def _place(tree: WorkTree, removal: Removal) -> int:
    _, _, full_commit = removal.logged.fields
    return tree.places.get(full_commit, UNKNOWN)


def _ignored(tree: WorkTree, places: set[str]) -> set[str]:
    """Those of these folders and files that git is to ignore by their own name, as what
    a build makes; not what lay in an ignored folder once."""
    given = "\0".join(sorted(places.difference(("", "/"))))
    asked = "check-ignore", "--no-index", "--verbose", "--stdin", "-z"
    answer = tree.git(*asked, given=given) if given else None
    fields = (answer or "").split("\0")
    ignored = set()
    # each is the source, the line, the pattern and the place
    for pattern, place in zip(fields[2::4], fields[3::4], strict=False):
        wanted = _last_part(pattern)
        name = _last_part(place)
        # `*.log` says nothing of the one file that was tracked
        is_folder = place.endswith("/")
        if wanted == name or (is_folder and globs.matches(wanted, name)):
            ignored.add(place)
    return ignored


def _used_by_code(tree: WorkTree, fates: Mapping[Anchor, Fate]) -> list[Anchor]:
    """The files that are gone here and that several files of today's code have in
    quotes: it reads files of that name elsewhere, or imports a module that is called
    so, and prose may mean one of those."""
    lost = [anchor for anchor, fate in fates.items() if fate.state == GONE]
    gone = [each for each in lost if each.kind == "path" and each.text[-1] != "/"]
    if not gone:
        return []
    quoting = _quoting(tree, [anchor.text for anchor in gone])
    return [anchor for anchor in gone if quoting[anchor.text] >= QUOTING]


def _quoting(tree: WorkTree, names: Iterable[str]) -> Counter[str]:
    """How many files of today's code have each of these names in quotes."""
    asked: list[str] = []
    for name in names:
        asked += ("-e", f'"{name}"', "-e", f"'{name}'")
    revision = (tree.revision,) if tree.revision else ()
    found = tree.git("grep", "-ozFI", *asked, *revision, "--", *CODE) or ""
    quotes = set()
    for row in found.splitlines():
        file, _, quote = row.partition("\0")
        quotes.add((file, quote))
    return Counter(quote.strip("\"'") for _, quote in quotes)


def _fate(tree: WorkTree, anchor: Anchor, removals: Sequence[Removal]) -> Fate:
    """What the last of these removals made of a place: that of the very path that is
    named, if there is one. Where several places had the name, none is told as new."""
    name = anchor.end.strip("/")
    meant = [each for each in removals if each.place == name] or removals
    removal = meant[0]
    commit, day, _ = removal.logged.fields
    found = set[str]()
    if anchor.kind == "glob":
        found = _moved_glob(tree, anchor, removal.logged)
    elif _is_plain(anchor, removals):
        commits = dict.fromkeys(each.logged for each in meant)
        found = _renamed(tree, list(commits), removal.place)
    now = " or ".join(sorted(filter(None, found))[:CANDIDATES])
    is_divided = len(found) > 1
    return Fate(
        state=GONE if is_divided or not now else MOVED,
        commit=commit,
        day=day,
        now=f"perhaps {now}" if is_divided else now,
        at=_place(tree, removal),
    )


def _taken_paths(
    anchors: Iterable[Anchor], commits: Iterable[Logged]
) -> dict[Anchor, list[Removal]]:
    """The removals of files of these names, and from these folders."""
    by_last_part = defaultdict[str, list[Anchor]](list)
    taken = dict[Anchor, list[Removal]]()
    for anchor in anchors:
        by_last_part[_last_part(anchor.end)].append(anchor)
        taken[anchor] = []
    for logged in commits:
        for path in logged.names:
            for part in by_last_part.keys() & path.split("/"):
                for anchor in by_last_part[part]:
                    if place := _place_in(anchor, path):
                        removal = Removal(logged=logged, path=path, place=place)
                        taken[anchor].append(removal)
    return taken


def _place_in(anchor: Anchor, path: str) -> str:
    """The file or folder of a name that a path is or lies in; "" for none."""
    above, end, _ = f"/{path}/".partition(anchor.end)
    if not end or _generating().search(f"{above}/"):
        return ""
    return f"{above}{end}".strip("/")


def _taken_glob(anchor: Anchor, commits: Iterable[Logged]) -> Iterator[Removal]:
    """The removals of files that a glob names."""
    for logged in commits:
        for path in logged.names:
            if globs.covers([anchor.text], path):
                yield Removal(logged=logged, path=path, place=path)


@verbose(ignore_case=True)
def _generating() -> str:
    """A folder of what projects are made from: a path from within it is one of those
    projects'."""
    return r"/ _* (?: templates? | fixtures? | testdata | examples? | samples? ) _* /"


def _renamed(tree: WorkTree, commits: Sequence[Logged], place: str) -> set[str]:
    """Where a file or folder has gone since commits that took it, the newest first, or
    what lay in it; with "" where that is not all, or not one place."""
    for _ in range(HOPS):
        found = _gone_to(tree, commits, place)
        there = {each for each in found if each in tree.ends.get(_last_part(each), ())}
        if len(found) > 1:
            return {"", *there}
        place = "".join(found)
        if there or not place:
            return there
        commits = tree.removed(literal(place)) or []
        if not commits:
            break
    return set()


def _gone_to(tree: WorkTree, commits: Sequence[Logged], place: str) -> set[str]:
    """What the last of these commits renamed a file to; of a folder, where all of them
    renamed its files to, and "" for one that the last removed."""
    taken = dict.fromkeys(commits[0].names, "")
    if place in taken:
        return {_renames(tree, commits[:1]).get(place, "")}
    renames = taken | _renames(tree, commits[:BATCH])
    return _folders(
        renames, (name for name in renames if name.startswith(f"{place}/")), place
    )


def _folders(renames: Mapping[str, str], names: Iterable[str], above: str) -> set[str]:
    """The folders that these files went to, each under its own name below `above`; ""
    for one that did not."""
    folders = set()
    for name in names:
        below = name.partition(f"{above}/")[2]
        folder, end, rest = renames.get(name, "").rpartition(f"/{below}")
        folders.add(folder if end and not rest else "")
    return folders


def _renames(tree: WorkTree, commits: Sequence[Logged]) -> dict[str, str]:
    """The files that these commits renamed, by the newest, which is the first."""
    options = "-M70% --diff-filter=R --name-status -z -m --first-parent --format="
    asked = [logged.fields[0] for logged in reversed(commits)]
    shown = tree.git("show", *options.split(), *asked) or ""
    # each is the status, the old and the new path
    fields = shown.strip("\n").split("\0")
    return dict(zip(fields[1::3], fields[2::3], strict=False))


def _moved_glob(tree: WorkTree, anchor: Anchor, logged: Logged) -> set[str]:
    """The globs for the folders that all it named went to in one commit, each file
    under its own name."""
    literal_start = re.split(r"[*?\[]", anchor.text)[0]
    head = literal_start.rpartition("/")[0]
    if not head:
        return set()
    names = [name for name in logged.names if globs.covers([anchor.text], name)]
    folders = _folders(_renames(tree, [logged]), names, head)
    moved = {folder and folder + anchor.text[len(head) :] for folder in folders}
    return moved if all(map(tree.has_glob, moved)) else set()


def _last_part(path: str) -> str:
    return path.strip("/").rpartition("/")[2]


def _specs(anchor: Anchor) -> tuple[str, str]:
    name = anchor.text.lstrip("/")
    return f":(glob){name}", f":(glob)**/{name}"

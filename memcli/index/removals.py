"""The files, folders and globs that a history took away, and where they went."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from memcli.index.fates import GONE, MOVED, NEVER, Anchor, Fate
from memcli.index.worktree import BROUGHT, CODE, UNKNOWN, Commit, WorkTree, literal
from memcli.named import NamedTuple
from memcli.project import globs
from memcli.text.matching import verbose

BATCH = 50  # commits whose renames one question to git is about
QUOTING = 3  # files that have a name in quotes: the code works with such files
HOPS = 5  # renames that one place is followed through
CANDIDATES = 3  # places that are told where it is not clear which is the new one


class Removal(NamedTuple):
    """A commit that took a path away, and the file or folder that stood there."""

    commit: Commit
    path: str
    place: str

    @property
    def named(self) -> tuple[str, str]:
        """The file with the folder that it lay in, or the folder in both forms."""
        is_file = self.path == self.place
        folder = self.place.rpartition("/")[0] if is_file else self.place
        return self.place, f"{folder}/"


def removed_places(
    tree: WorkTree, missing: Iterable[Anchor], since: Mapping[Anchor, int]
) -> dict[Anchor, Fate]:
    """What the history after the place `since` which each is spoken of says of the
    paths and globs among these; nothing of what git is to ignore now."""
    places = [anchor for anchor in missing if anchor.kind in ("path", "glob")]
    if not places or tree.removals is None:
        return {}
    taken = _later(_taken(places, tree.removals), since)
    made = _ignored(tree, taken.values())
    fates = dict.fromkeys(places, Fate(NEVER))
    for anchor, removals in taken.items():
        left = [each for each in removals if made.isdisjoint(each.named)]
        is_dated = since.get(anchor, UNKNOWN) > BROUGHT
        if left and (is_dated or _is_plain(anchor, left)):
            fates[anchor] = _fate(tree, anchor, left)
    return fates | dict.fromkeys(_used_by_code(tree, fates), Fate(NEVER))


def _later(
    taken: Mapping[Anchor, Iterable[Removal]], since: Mapping[Anchor, int]
) -> dict[Anchor, list[Removal]]:
    """The removals after the place since which each is spoken of."""
    later = {}
    for anchor, removals in taken.items():
        spoken = since.get(anchor, UNKNOWN)
        later[anchor] = [each for each in removals if each.commit.at > spoken]
    return later


def _taken(
    anchors: Iterable[Anchor], commits: Iterable[Commit]
) -> dict[Anchor, list[Removal]]:
    """The removals of files of these names, from these folders, and of files that a
    glob names."""
    by_part = defaultdict[str, list[Anchor]](list)
    taken = dict[Anchor, list[Removal]]()
    for anchor in anchors:
        by_part[_last_part(_head(anchor))].append(anchor)
        taken[anchor] = []
    for commit in commits:
        for path in commit.files:
            # a glob such as `*.py` lies in no folder
            for part in by_part.keys() & {"", *path.split("/")}:
                for anchor in by_part[part]:
                    if place := _place_in(anchor, path):
                        removal = Removal(commit=commit, path=path, place=place)
                        taken[anchor].append(removal)
    return taken


def _head(anchor: Anchor) -> str:
    """A path, or the folder that all files of a glob lie in."""
    if anchor.kind == "path":
        return anchor.end
    return re.split(r"[*?\[\\]", anchor.text)[0].rpartition("/")[0]


def _place_in(anchor: Anchor, path: str) -> str:
    """The file or folder of a name that a path is or lies in; "" for none."""
    if anchor.kind == "glob":
        return path if globs.covers([anchor.text], path) else ""
    above, end, _ = f"/{path}/".partition(anchor.end)
    if not end or _generating().search(f"{above}/"):
        return ""
    return f"{above}{end}".strip("/")


@verbose(ignore_case=True)
def _generating() -> str:
    """A folder of what projects are made from: a path from within it is one of those
    projects'."""
    return r"/ _* (?: templates? | fixtures? | testdata | examples? | samples? ) _* /"


def _is_plain(anchor: Anchor, removals: Sequence[Removal]) -> bool:
    """Whether it is plain what a name means without its time: the very path, or the
    only place that ever ended so."""
    places = {removal.place for removal in removals}
    is_exact = anchor.kind == "glob" or anchor.end.strip("/") in places
    return is_exact or len(places) == 1


def _ignored(tree: WorkTree, removals: Iterable[Iterable[Removal]]) -> set[str]:
    """The folders and files of these that git is to ignore by their own name, as what
    a build makes; not what lay in an ignored folder once."""
    places = {name for some in removals for each in some for name in each.named}
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
    gone = [
        anchor
        for anchor, fate in fates.items()
        if (anchor.kind, fate.state) == ("path", GONE) and anchor.text[-1] != "/"
    ]
    asked: list[str] = []
    for anchor in gone:
        asked += ("-e", f'"{anchor.text}"', "-e", f"'{anchor.text}'")
    found = tree.grep("-ozFI", *asked, specs=CODE) if asked else ""
    rows = {row.replace("'", '"') for row in found.splitlines()}
    quoting = Counter(row.partition("\0")[2].strip('"') for row in rows)
    return [anchor for anchor in gone if quoting[anchor.text] >= QUOTING]


def _fate(tree: WorkTree, anchor: Anchor, removals: Sequence[Removal]) -> Fate:
    """What the last of these removals made of a place: that of the very path that is
    named, if there is one. Where several places had the name, none is told as new."""
    name = anchor.end.strip("/")
    meant = [each for each in removals if each.place == name] or removals
    removal = meant[0]
    commits = list(dict.fromkeys(each.commit for each in meant))
    places = set[str]()
    if anchor.kind == "glob":
        places = _moved_glob(tree, anchor, removal.commit)
    elif _is_plain(anchor, removals):
        places = _renamed(tree, commits, removal.place)
    now = " or ".join(sorted(filter(None, places))[:CANDIDATES])
    is_divided = len(places) > 1
    return Fate(
        state=GONE if is_divided or not now else MOVED,
        commit=removal.commit.name,
        day=removal.commit.day,
        now=f"perhaps {now}" if is_divided else now,
        at=removal.commit.at,
    )


def _renamed(tree: WorkTree, commits: Sequence[Commit], place: str) -> set[str]:
    """Where a file or folder has gone since commits that took it, the newest first, or
    what lay in it; with "" where that is not all, or not one place."""
    for _ in range(HOPS):
        places = _gone_to(tree, commits, place)
        there = {each for each in places if each in tree.ends.get(_last_part(each), ())}
        if len(places) > 1:
            return {"", *there}
        place = "".join(places)
        if there or not place:
            return there
        commits = tree.log("--diff-filter=D", "--", literal(place)) or []
        if not commits:
            break
    return set()


def _gone_to(tree: WorkTree, commits: Sequence[Commit], place: str) -> set[str]:
    """What the last of these commits renamed a file to; of a folder, where all of them
    renamed its files to, and "" for one that the last removed."""
    taken = dict.fromkeys(commits[0].files, "")
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


def _renames(tree: WorkTree, commits: Sequence[Commit]) -> dict[str, str]:
    """The files that these commits renamed, by the newest, which is the first."""
    options = "-M70% --diff-filter=R --name-status -z -m --first-parent --format="
    asked = [commit.name for commit in reversed(commits)]
    shown = tree.git("show", *options.split(), *asked) or ""
    # each is the status, the old and the new path
    fields = shown.strip("\n").split("\0")
    return dict(zip(fields[1::3], fields[2::3], strict=False))


def _moved_glob(tree: WorkTree, anchor: Anchor, commit: Commit) -> set[str]:
    """The globs for the folders that all it named went to in one commit, each file
    under its own name."""
    head = _head(anchor)
    if not head:
        return set()
    names = [name for name in commit.files if _place_in(anchor, name)]
    folders = _folders(_renames(tree, [commit]), names, head)
    moved = {folder and folder + anchor.text[len(head) :] for folder in folders}
    return moved if all(map(tree.has_glob, moved)) else set()


def _last_part(path: str) -> str:
    return path.strip("/").rpartition("/")[2]

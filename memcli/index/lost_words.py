"""The identifiers that code had when memory was written, and has no more."""

import re
import time
from collections.abc import Collection, Iterator, Mapping

from memcli.index.fates import GONE, NEVER, PENDING, Anchor, Fate
from memcli.index.sayings import UNKNOWN
from memcli.index.worktree import CODE, WorkTree
from memcli.project import git
from memcli.text.matching import verbose

BATCH = 50  # names that one question to git is about
MOST_COMMITS = 2000  # of memory that are known of
SAMPLES = (7, 20)
"""So many commits of memory are looked at for a lost name, then so many more."""
LONGEST = 2000  # characters of a line of code; a longer one is made by a tool
_INVENTED = (
    *("fixtures", "__fixtures__", "testdata", "examples", "templates"),
    *("website", "docs", ".*"),
)
LIVING = (*CODE, *(f":(exclude,glob)**/{name}/**" for name in _INVENTED))
"""Where a name must have stood to be missed: not only in an example, nor in what tells
agents or tools how to behave."""


@verbose
def _code_before() -> str:
    """What stands before a name in a line of code: whole texts, and nothing that begins
    a remark."""
    return r"""
        (?! [ \t]* \* ) [ \t]* (?: \# [ ]* define \b )?
        (?: [^\#"'`/] | / (?! [/*] ) | "[^"]*" | '[^']*' | `[^`]*` )*
    """


def removed_words(
    tree: WorkTree, missing: Collection[Anchor], since: Mapping[Anchor, int]
) -> dict[Anchor, Fate]:
    """What stood in the code when memory came to speak of it, or at a later commit of
    memory."""
    left = set(missing)
    if not left:
        return {}
    commits = _of_memory(tree)
    if commits is None:
        return {}
    spoken = {anchor: since.get(anchor, UNKNOWN) for anchor in missing}
    known = [place for place in sorted(set(spoken.values())) if place >= 0]
    fates: dict[Anchor, Fate] = {}
    for place in dict.fromkeys([*_some(commits), *known]):
        told = {anchor for anchor in left if spoken[anchor] <= place}
        stood = set(_standing(tree, tree.line[place], told))
        left -= stood
        fates |= _last_seen(tree, stood, place)
    if tree.is_late:
        return fates
    return fates | dict.fromkeys(left, Fate(NEVER))


def _of_memory(tree: WorkTree) -> list[int] | None:
    """The places of the commits of memory, the newest first; None where git does not
    say."""
    how = "--first-parent", "--format=%H", f"--max-count={MOST_COMMITS}"
    logged = tree.git("log", *how, "--", ":(glob)**/*.md")
    if logged is None:
        return None
    return [tree.places.get(commit, UNKNOWN) for commit in logged.split()]


def _some(places: list[int]) -> list[int]:
    """Some of the commits, spread over all, then some more; the oldest is among the
    first."""
    coarse, fine = (max(1, len(places) // parts) for parts in SAMPLES)
    return [*places[::coarse], *places[-1:], *places[::fine]]


def _standing(
    tree: WorkTree, commit: str, wanted: Collection[Anchor]
) -> Iterator[Anchor]:
    """Those of the names that the code had at a commit."""
    names = list(wanted)
    for start in range(0, len(names), BATCH):
        some = names[start : start + BATCH]
        given = [part for anchor in some for part in ("-e", anchor.text)]
        words = _words(tree, {anchor.text for anchor in some}, *given, commit)
        yield from (anchor for anchor in some if anchor.text in words)


def _words(tree: WorkTree, names: set[str], *asked: str) -> set[str]:
    """The names that stand in the code, and not in a remark or a text alone; a clone
    may lack some of it."""
    left = tree.deadline - time.monotonic()
    if left <= 0:
        return set()
    done = git.run(("grep", "-hwFI", *asked, "--", *LIVING), tree.top, left)
    tree.has_gaps |= done.returncode > 1
    found = set[str]()
    for line in done.stdout.splitlines():
        if len(line) <= LONGEST:
            found.update(_of_code(line, names - found))
    return found


def _of_code(line: str, names: Collection[str]) -> Iterator[str]:
    """The names in a line of code, or in quotes of their own, that do not stand in a
    remark or a text; what is only asked of another (`page.goto()`) is defined
    elsewhere."""
    for name in names:
        for found in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line):
            before = line[: found.start()]
            behind = line[found.end() :]
            quote = behind[:1]
            if quote in ("'", '"'):
                before = before.removesuffix(quote)
            is_of_another = before.endswith((".", "::", "->"))
            is_set = re.match(r"\s*=[^=]", behind) is not None
            is_own = is_set or not is_of_another
            if is_own and _code_before().fullmatch(before):
                yield name
                break


def _last_seen(tree: WorkTree, words: set[Anchor], place: int) -> dict[Anchor, Fate]:
    """The commits that took these away after one that had them, found by halving the
    line."""
    line = tree.line[place + 1 :]
    lost = words.difference(_standing(tree, "HEAD", words))
    fates = dict.fromkeys(words, PENDING) | {anchor: Fate(GONE) for anchor in lost}
    spans = [(-1, len(line) - 1, lost)] if line else []
    while spans:
        there, gone, some = spans.pop()
        if not some:
            continue
        is_next = gone - there == 1
        if is_next and not tree.is_late:
            shown = tree.git("show", "-s", "--format=%h %cs", line[gone]) or ""
            removed, _, day = shown.strip().partition(" ")
            at = place + 1 + gone
            fate = Fate(GONE, commit=removed, day=day, at=at)
            fates |= dict.fromkeys(some, fate)
        else:
            half = (there + gone) // 2
            later = set(_standing(tree, line[half], some))
            spans += [(there, half, some - later), (half, gone, later)]
    return fates

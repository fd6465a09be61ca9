"""The identifiers that code had when memory was written, and has no more."""

import re
import time
from collections.abc import Collection, Iterator, Mapping

from memcli.index.fates import GONE, NEVER, PENDING, UNTOLD, Anchor, Fate
from memcli.index.worktree import BROUGHT, CODE, UNKNOWN, WorkTree
from memcli.project import git
from memcli.text.matching import verbose

TOO_LATE = 124  # what git.run returns when the time is up
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


class _Unanswered(Exception):
    """The questions or the time of this check are used up."""


def removed_words(
    tree: WorkTree,
    missing: Collection[Anchor],
    since: Mapping[Anchor, int],
    asked: Mapping[Anchor, int],
) -> dict[Anchor, Fate]:
    """What stood in the code when memory came to speak of it, or at a later commit of
    memory. `since` is of all names, so that every check looks at the same commits; what
    there is no time for is untold, and `asked` of how many commits it was looked for
    at."""
    wanted = set(missing)
    how = f"--max-count={MOST_COMMITS}", "--", ":(glob)**/*.md"
    memory = tree.log(*how) if wanted else None
    if memory is None:
        return {}
    fates = dict[Anchor, Fate]()
    history = _SearchedHistory(tree)
    number = 0
    try:
        places = _looked_at([commit.at for commit in memory], since)
        for number, place in enumerate(places):
            tree.count("commit", number, len(places))
            due = {
                each
                for each in wanted - fates.keys()
                if since.get(each, UNKNOWN) <= place and asked.get(each, 0) <= number
            }
            stood = history.standing(tree.line[place], due)
            fates.update(history.last_seen(stood, place))
    except _Unanswered:
        return fates | {
            each: Fate(UNTOLD, at=max(number, asked.get(each, 0)))
            for each in wanted - fates.keys()
        }
    return dict.fromkeys(wanted, Fate(NEVER)) | fates


def _looked_at(commits: list[int], since: Mapping[Anchor, int]) -> list[int]:
    """The places that are looked at, in this order: some commits of memory, spread
    over all, then some more, then those since which it speaks of a name. The oldest is
    among the first."""
    coarse, fine = (max(1, len(commits) // parts) for parts in SAMPLES)
    known = set[int]()
    for place in since.values():
        if place > BROUGHT:
            # the name may be as new as the memory that brought it
            later = (commit for commit in commits if commit > place)
            known |= {max(place, 0), min(later, default=0)}
    some = [*commits[::coarse], *commits[-1:], *commits[::fine]]
    return list(dict.fromkeys([*some, *sorted(known)]))


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


class _SearchedHistory:
    """The code at the commits of the main line, asked at most so many times."""

    def __init__(self, tree: WorkTree) -> None:
        self.tree = tree
        self.left = tree.questions

    def standing(self, commit: str, wanted: Collection[Anchor]) -> set[Anchor]:
        """Those of the names that the code had at a commit, not in a remark or a text
        alone; a clone may lack some of it. Raises _Unanswered."""
        standing_names = set[str]()
        if not wanted:
            return set()
        names = {anchor.text for anchor in wanted}
        given = [part for name in sorted(names) for part in ("-e", name)]
        code, lines = self._run("grep", "-hwFI", *given, commit, "--", *LIVING)
        self.tree.has_gaps |= code > 1
        for line in lines.splitlines():
            if len(line) <= LONGEST:
                standing_names.update(_of_code(line, names - standing_names))
        return {anchor for anchor in wanted if anchor.text in standing_names}

    def _run(self, *words: str) -> tuple[int, str]:
        """The exit code of git and what it says to one more question. Raises
        _Unanswered."""
        seconds = self.tree.deadline - time.monotonic()
        if self.left <= 0 or seconds <= 0:
            raise _Unanswered
        self.left -= 1
        done = git.run(words, self.tree.top, seconds)
        if done.returncode == TOO_LATE:
            raise _Unanswered
        return done.returncode, done.stdout

    def last_seen(
        self, words: set[Anchor], place: int
    ) -> Iterator[tuple[Anchor, Fate]]:
        """The commits that took these away after one that had them, found by halving
        the line. Raises _Unanswered."""
        line = self.tree.line[place + 1 :]
        pending = self.standing("HEAD", words)
        for anchor in pending:
            yield anchor, PENDING
        spans = [(-1, len(line) - 1, words - pending)] if line else []
        while spans:
            there, gone, some = spans.pop()
            if some and gone - there == 1:
                fate = self._removed_at(place + 1 + gone)
                for anchor in some:
                    yield anchor, fate
            elif some:
                half = (there + gone) // 2
                later = self.standing(line[half], some)
                spans += [(there, half, some - later), (half, gone, later)]

    def _removed_at(self, at: int) -> Fate:
        """The fate of what a commit of the main line took away. Raises _Unanswered."""
        commit = self.tree.line[at]
        _, shown = self._run("show", "-s", "--format=%h %cs", commit)
        removed, _, day = shown.strip().partition(" ")
        return Fate(GONE, commit=removed, day=day, at=at)

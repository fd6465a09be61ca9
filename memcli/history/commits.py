"""The commits of a repository, into its record: those that say something."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from memcli.history.record import HistoryRecord, opened
from memcli.index.database import Progress
from memcli.index.record import BUSY
from memcli.memory.docs import TITLE, Doc
from memcli.memory.tombstones import Forgotten
from memcli.project import git
from memcli.sessions.speakers import line, when
from memcli.storage.files import transaction
from memcli.text.controls import clean_text
from memcli.text.matching import verbose

BATCH = 2000
FEW = 50  # so many new commits a recall adds by itself
MANY = "new commits are not searched yet, more than a recall adds: mem index --history"
REWRITTEN = "commits were rewritten, the new ones are not searched: mem index --history"
_SUBJECT = 2000  # characters of a commit's first line
_BODY = 8000
_TRAILERS = 2000
_FILES = 30
_FIELDS = "%H %aI %cI %an %ae %P %B".split()
_UNDATED = "1970-01-01T00:00:00Z"  # as git dates what it cannot


@verbose(ignore_case=True)
def _robot() -> str:
    """The name of a robot that commits."""
    return r"""
        \[bot\]
      | \b (?: ro )? bot [ ] <   # the last word of the name
      | \b (?: dependabot | renovate | greenkeeper | pyup-bot | snyk-bot | pre-commit-ci
          | semantic-release | github-actions | web-flow-bot | allcontributors | mergify
          | bors ) \b
    """


@verbose(ignore_case=True, lines=True)
def _co_author() -> str:
    """A trailer that names a second author, who is no robot."""
    return r"^ Co-authored-by: (?! .* (?: \[bot\] | \b (?: ro )? bot [ ] < ) ) .* \S"


@verbose(ignore_case=True)
def _version_bump() -> str:
    """A subject that says no more than that there is a new version."""
    return r"""
        (?: (?: chore | build | ci | release ) (?: \( [^)]* \) )? !? : \s* )?
        (?: release | bump(?:ed|ing|s)? | version | prepare | tag | cut
          | update[ ](?: version | changelog ) | v )?
        [\s:]*
        (?: (?: version | release | to | for | from | the | a | v ) \s* )*
        v? \d+ \. \d+ [\w.+-]*
        (?: \s* (?: -> | to | → ) \s* v? \d [\w.+-]* )?
        [\s.!]* (?: release )? \s*
    """


@verbose(ignore_case=True)
def _plain_merge() -> str:
    """The subject that git or a forge gives to a merge."""
    return r"""
        Merge[ ]
        (?: branch | remote-tracking | tag | commit | pull[ ]request | [\w/.-]+[ ]into )
    """


@verbose(ignore_case=True)
def _earlier_commit() -> str:
    """The commit that this one reverts, amends or replaces; group 1 is its hash."""
    return r"""
        (?: This[ ]reverts[ ]commit | revert(?:s|ed|ing)? | amend(?:s|ed|ing)?
          | supersede[sd]? | superseding | replac(?:es|ed|ing) | undo(?:es)? )
        :? \s+ (?: commit\s+ | of\s+ )? ([0-9a-f]{7,40}) \b
    """


@verbose
def _reverted() -> str:
    """The subject of a commit that takes another one back; group 1 is that one's."""
    return r'Revert[ ]"(.{4,200})"'


@verbose(ignore_case=True)
def _trailer() -> str:
    """A line at the end of a message that is for tools."""
    return r"""
        (?: Signed-off-by | Co-authored-by | Reviewed-by | Acked-by | Tested-by | Cc
          | Change-Id | git-svn-id ) :
    """


_SHALLOW = "a shallow clone: older commits are not here (git fetch --unshallow)"
_git = partial(git.ask, timeout=3600)


class _Missing(NamedTuple):
    """The commits that a record does not have: those of `span` in the work tree `top`,
    whose newest is `head`; `rewritten` where what the record has is no ancestor of it."""

    top: Path
    head: str
    span: str
    rewritten: bool
    shallow: bool


def add_commits(
    record: HistoryRecord,
    root: Path,
    limit: int,
    *,
    only_few: bool = False,
    progress: Progress = lambda what, done_so_far, of: None,
) -> tuple[int, str]:
    """Add the new commits of a root's repository; how many, and what could not be done.
    With `only_few`, none when there are more than `FEW` or old ones were rewritten. It
    goes on where it was broken off."""
    missing = _missing_commits(record, root)
    if missing is None:
        return 0, ""
    if only_few and missing.rewritten:
        return 0, REWRITTEN
    count_option = f"--max-count={FEW + 1 if only_few else limit}"
    counted = _git(missing.top, "rev-list", "--count", count_option, missing.span)
    total = int(counted or limit)
    if only_few and total > FEW:
        return 0, MANY
    count = 0
    done_so_far = 0
    for commits in _batches(missing, limit):
        if commits is None:
            return count, "git log failed"
        with transaction(record.db):
            count += record.add(_told(reversed(commits)))
        done_so_far += len(commits)
        progress("commits", done_so_far, total)
    _note_head(record, missing, limit)
    return count, _SHALLOW if missing.shallow else ""


def _note_head(record: HistoryRecord, missing: _Missing, limit: int) -> None:
    """Remember how far the commits were read; where the line was rewritten, those that
    cannot be reached from its head count no more."""
    if missing.rewritten:
        newest = f"--max-count={limit}"
        reachable = _git(missing.top, "rev-list", newest, missing.head) or ""
        record.reachable(reachable.split())
    record.keep("head", missing.head)
    record.keep("shallow", "yes" if missing.shallow else "")


def _missing_commits(record: HistoryRecord, root: Path) -> _Missing | None:
    """What the record of a root's repository has not read; None where that is nothing,
    or where there is no commit."""
    top = git.work_tree(root)
    head = git.head_of(top) if top else ""
    if not top or not head:
        return None
    shallow = git.is_shallow(top)
    deepened = record.note("shallow") and not shallow  # what was missing has come
    known_head = "" if deepened else record.note("head")
    if head == known_head:
        return None
    is_ancestor = ("merge-base", "--is-ancestor", known_head, head)
    goes_on = bool(known_head) and _git(top, *is_ancestor) is not None
    return _Missing(
        top=top,
        head=head,
        span=f"{known_head}..{head}" if goes_on else head,
        rewritten=bool(known_head) and not goes_on,
        shallow=shallow,
    )


def _batches(missing: _Missing, limit: int) -> Iterator[list[git.Logged] | None]:
    """Up to `limit` missing commits, newest first, `BATCH` at a time; None where git
    gives up."""
    arguments = ("log", *git.log_format(*_FIELDS), "--no-renames")
    for start in range(0, limit, BATCH):
        size = min(BATCH, limit - start)
        bounds = (f"--max-count={size}", f"--skip={start}", missing.span)
        out = _git(missing.top, *arguments, *bounds)
        if out is None:
            yield None
            return
        commits = list(git.parse_log(out, len(_FIELDS)))
        yield commits
        if len(commits) < size:
            return


def read_commits(top: Path, *arguments: str) -> Iterator[Doc]:
    """The commits that `git log` with these arguments names, those that say nothing
    left out."""
    out = _git(top, "log", *git.log_format(*_FIELDS), *arguments) or ""
    return _told(git.parse_log(out, len(_FIELDS)))


def _told(commits: Iterable[git.Logged]) -> Iterator[Doc]:
    """Those of some commits that say something. One whose dates cannot be read has that
    of the one before it."""
    date = _UNDATED
    for logged in commits:
        if doc := _doc(logged, date):
            date = doc.date
            yield doc


def _doc(logged: git.Logged, before: str) -> Doc | None:
    """A commit that says something; the one `before` it has this date."""
    commit, date, committed, name, mail, parents, whole = logged.fields
    message = _bounded(whole.strip())
    subject, _, below = message.partition("\n")
    lines = below.strip().splitlines()
    body = "\n".join(row for row in lines if not _trailer().match(row)).strip()
    author = f"{name} <{mail}>"
    if _co_author().search(message):  # an agent that wrote code for somebody: no robot
        author = author.replace("[bot]", "")
    others = parents.split()[1:]
    if is_noise(subject, body, author, merge=bool(others)):
        return None
    about = {"paths": list(logged.names[:_FILES])}
    if others:
        about["merged"] = others
        if _plain_merge().match(subject):
            subject, body = _merged(subject, body)
    text = clean_text(f"{subject}\n\n{body[:_BODY]}".strip())
    earlier = [named[1] for named in _earlier_commit().finditer(message)]
    earlier += [f'"{line(named[1], TITLE)}' for named in _reverted().finditer(subject)]
    return Doc(
        source="commit",
        unit=commit,
        turn=0,
        key=f"c:{commit}",
        who=line(name, 60),
        date=when(date) or when(committed) or before,
        title=line(subject, TITLE),
        said=(("person", text),),
        about=about,
        supersedes=tuple(dict.fromkeys(earlier)),
    )


def _merged(subject: str, body: str) -> tuple[str, str]:
    """The subject and body of what was merged, where a merge names it."""
    if not body:
        return subject, body
    number = re.search(r"#\d+", subject)
    first, _, below = body.partition("\n")
    return f"{first} ({number[0]})" if number else first, below


def _bounded(message: str) -> str:
    """A message of bounded length: its subject, what follows it, and its trailers.

    It is looked at by patterns, and one that is too long would make each recall
    wait."""
    subject, _, body = message.partition("\n")
    if len(body) > _BODY + _TRAILERS:
        body = f"{body[:_BODY]}\n{body[-_TRAILERS:]}"
    return f"{subject[:_SUBJECT]}\n{body}"


def is_noise(subject: str, body: str, author: str, *, merge: bool) -> bool:
    """Whether a commit says nothing: a robot's, a new version's number, a plain
    merge."""
    if _robot().search(author) or not subject.strip():
        return True
    if merge and _plain_merge().match(subject) and len(body) < 60:
        return True
    return not body and _version_bump().fullmatch(subject) is not None


def add_few(
    path: Path, root: Path, limit: int, forgotten: Callable[[], Forgotten]
) -> str:
    """Add the commits since the last time when they are few; MANY or REWRITTEN where
    they wait. Raises DataError."""
    with opened(path, wait=BUSY, forgotten=forgotten) as record:
        if record is None:
            return ""
        _, fault = add_commits(record, root, limit, only_few=True)
        return fault if fault in (MANY, REWRITTEN) else ""

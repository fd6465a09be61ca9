"""mem sync: the user's own memory in step between machines, through a git repository of
its own.

Its git directory lies in the user's data folder; of the home folder it knows two files.
A merge is written as mem writes everything: `BEFORE` names the commit before it until
it surely was."""

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from memcli.compaction.arrivals import Doors, let_in
from memcli.compaction.losses import Loss, is_loss, loss_between
from memcli.compaction.merge import Asked, Unmergeable, merge
from memcli.errors import MemError, ProviderError, RefusedError, UsageError
from memcli.install.targets import Changes
from memcli.memory.binding import refuse_loosening
from memcli.memory.grammar import CROWDED, conflict_lines, is_crowded
from memcli.memory.parser import parse
from memcli.memory.values import Entry, Patch
from memcli.project import git
from memcli.project.context import Project, moment, text_to_write
from memcli.project.text_merge import merge_texts
from memcli.similarity.taken_back import TakenBackDoor
from memcli.storage.durable import WriteLock, discard, write_output
from memcli.storage.files import MEMORY_BYTES, data_dir, private_dir
from memcli.storage.workspace import Workspace
from memcli.text.secrets import find_secrets, redact_secrets

NAMES = ("MEMORY.md", "institutional.md")
MAIN = "refs/heads/main"
_BRANCHES = "refs/remotes/origin"
THEIRS = f"{_BRANCHES}/main"
BEFORE = "refs/mem/before"
NETWORK = 60.0  # seconds that a fetch or a push may take
MOST_AT_ONCE = "64m"  # memory that git may ask for at once, for one object say
TREE_BYTES = 200  # of a tree: one that names the two files has 130 at most
SETTINGS = {
    "core.autocrlf": "false",
    "status.showUntrackedFiles": "no",
    "gc.autoDetach": "false",
    "merge.mem.name": "memory entries by id",
    git.DRIVER: git.DRIVER_COMMAND,
}
_OWN = (
    "GIT_SSH",
    "GIT_ASKPASS",
    "GIT_AUTHOR",
    "GIT_COMMITTER",
    "GIT_CONFIG_",
    "GIT_TERMINAL",
)
_LOCKS = [
    f"{name}.lock" for name in ("index", "HEAD", "packed-refs", MAIN, THEIRS, BEFORE)
]
# What another address has not, and the last one had, is forgotten.
_FETCH = ("fetch", "-q", "--prune", "--no-tags", "--no-recurse-submodules")
_ELSEWHERE = "use a repository with nothing else in it: mem sync --git URL"
_ADDRESS = "mem sync --git URL, with an empty private repository"
_LATER = "your changes are committed; run mem sync later"
_AGAIN = "check with git, then: mem sync"
_RESOLVE = "resolve it, then: mem sync"
_LOSS = "check with --dry-run; mem sync --allow-loss accepts it (mem undo reverts it)"
_HINTS = {
    "commit": "a hook of that repository may refuse it: fix that, then: mem sync",
    "push": "another machine may have pushed first: mem sync",
}
_IDENTITY = (
    'git config --global user.name "Your Name",'
    " git config --global user.email you@example.org, then: mem sync"
)
NOTHING = TakenBackDoor(())
NAMED = 3  # of the titles that a refusal names
Texts = Mapping[str, str]
Row = tuple[str, str, str]
"""The id, path and title of an entry, or of a section of prose."""


class SyncReport(NamedTuple):
    """What was written, how many commits were sent and taken in, and whether there is
    an `address` that they go to; the files that a dry run would send. What the other
    side took away (`gone`), made say something else (`changed`) or live `again`."""

    patches: tuple[Patch, ...]
    sent: int
    taken: int
    address: bool = True
    leaving: tuple[str, ...] = ()
    gone: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()
    again: tuple[Row, ...] = ()


class HomeRepository:
    """The repository of the two files: its git directory, the lock of a sync, the way
    to write."""

    def __init__(self, project: Project, files: Workspace) -> None:
        self.project = project
        self.files = files
        # Nobody's memory is sent to the address of another home's.
        moved = project.home if project.environ.get("MEM_HOME") else None
        self.folder = data_dir(moved) / "home.git"
        self.paths = {name: project.home / name for name in NAMES}
        now = moment(project.now).isoformat(timespec="seconds")
        self.lock = WriteLock(self.folder / "mem.lock", now)
        self.disk: dict[str, str | None] = {}  # what was read

    def set_up(self, url: str, *, remove: bool, dry_run: bool) -> Changes:
        """Make the repository, or move it aside; twice is once."""
        if remove:
            return self._moved_aside(dry_run=dry_run)
        if url.startswith("-"):
            what = f"{url}: is not the URL of a repository"
            raise UsageError(what, "mem sync --git URL")
        self._read()
        before = self._git("config", "remote.origin.url")[1].strip()
        what = ""
        if url:
            url = _address(self.project.cwd, url)
            _require_fetched(*self._git("ls-remote", "-q", "--", url), hint=_ADDRESS)
            what = _exchange(url, before if self._has_remote() else "")
        if not dry_run:
            self._make(url)
        kept = " and ".join(f"~/{name}" for name in NAMES)
        next = "to sync it: mem sync"
        if not (url or self._has_remote()):
            next = f"nothing leaves this machine until it has a URL: {_ADDRESS}"
        return Changes((f"keeps {kept} in {self.folder}{what}",), (), (next,))

    def _moved_aside(self, *, dry_run: bool) -> Changes:
        if not self.folder.exists():
            return Changes((), ())
        aside = self.folder.with_name(f"home.git.removed-{time.time_ns()}")
        if not dry_run:
            self.folder.rename(aside)
        return Changes((f"moved {self.folder} to {aside}",), ())

    def _make(self, url: str) -> None:
        settings = dict(SETTINGS)
        if url:
            settings["remote.origin.url"] = url
            settings["remote.origin.fetch"] = "+refs/heads/*:refs/remotes/origin/*"
        private_dir(self.folder)
        self._ask("init", "-q", "-b", "main")
        for key, value in settings.items():
            self._ask("config", key, value)
        rows = (f"/{name} merge=mem -text -filter -ident\n" for name in NAMES)
        write_output(self.folder / "info" / "exclude", "*\n")
        write_output(self.folder / "info" / "attributes", "".join(rows))

    def sync(
        self,
        *,
        dry_run: bool = False,
        allow_loss: bool = False,
        taken_back: TakenBackDoor = NOTHING,
    ) -> SyncReport:
        """Commit, fetch, merge, write, push; what arrives and was taken back here is
        retired. Raises MemError; what was committed stays."""
        _require_repository(self.folder)
        with self.lock.taken("sync", wait=10.0):  # git's processes hold it to their end
            discard(self.folder / name for name in _LOCKS)
            head = self._commit(MAIN) if dry_run else self._settled()
            # what is gone comes back
            mine: Texts = {**self._contents(head), **self._read()}
            if not dry_run:
                head = self._committed(mine, head)
            failed, why = self._git(*_FETCH, "origin")
            theirs = self._commit(THEIRS)
            if not theirs:
                self._require_empty()
            taken = self._count(theirs, head)
            merged = self._merged(mine, head, theirs) if taken else mine
            texts = _let_in(merged, mine, taken_back)
            _refuse_crowds(texts)
            refuse_loosening(mine.values(), texts.values())
            losses = _losses(mine, texts, refused=not (allow_loss or dry_run))
            patches = self._patches(texts)
            if not dry_run:
                head = self._written(patches, texts, head, theirs if taken else head)
            _refuse_conflicts(texts, _RESOLVE)
            sent = 0
            leaving = tuple[str, ...]()
            address = self._has_remote()
            if address:
                _require_fetched(failed, why)
                sent = self._sent(head, theirs, dry_run=dry_run)
                leaving = _leaving(texts, self._contents(theirs)) if dry_run else ()
        return SyncReport(
            patches=patches,
            sent=sent,
            taken=taken,
            address=address,
            leaving=leaving,
            gone=_rows(losses, attrgetter("gone")),
            changed=_rows(losses, attrgetter("changed")),
            again=_rows(losses, attrgetter("again")),
        )

    def _sent(self, head: str, theirs: str, *, dry_run: bool) -> int:
        """Push what the other side does not have; how many commits."""
        number = self._count(head, theirs)
        if number and not dry_run:
            self._ask("push", "-q", "origin", f"{head}:{MAIN}")
        return number

    def _require_empty(self) -> None:
        """Raises RefusedError where the other side has branches, and none is ours."""
        names = self._ask("for-each-ref", "--format=%(refname:lstrip=3)", _BRANCHES)
        if names:
            shown = redact_secrets(names.split("\n")[0])
            raise RefusedError(f"the other side has a branch {shown!r}", _ELSEWHERE)

    def _has_remote(self) -> bool:
        code, _ = self._git("config", "remote.origin.url")
        return code == 0

    def _patches(self, texts: Texts) -> tuple[Patch, ...]:
        return tuple(
            Patch(path=str(self.paths[name]), before=self.disk[name], after=text)
            for name, text in texts.items()
            if text != self.disk[name]
        )

    def _git(self, *words: str, given: str | None = None) -> tuple[int, str]:
        """The exit code of the user's own git, with its hooks, and what it said, or why
        not."""
        variables = {
            name: value for name, value in os.environ.items() if name.startswith(_OWN)
        }
        variables |= {
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": str(self.project.home),
            "GIT_ALLOC_LIMIT": MOST_AT_ONCE,
        }
        keep = (self.lock.fd,) if self.lock.fd is not None else ()
        process = git.start(words, self.project.home, NETWORK, given, keep, **variables)
        if process.returncode == 0:
            return 0, process.stdout
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        faults = (line for line in lines if line.startswith(("fatal", "error")))
        why = next(faults, lines[-1] if lines else "failed")
        return process.returncode, redact_secrets(why)

    def _ask(self, *words: str, given: str | None = None) -> str:
        code, output = self._git(*words, given=given)
        if code == 0:
            return output.strip()
        if words[0] in ("commit", "commit-tree"):
            self._require_identity()
        raise RefusedError(f"git {words[0]}: {output}", _HINTS.get(words[0], _AGAIN))

    def _require_identity(self) -> None:
        for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if self._git("var", who)[0]:
                what = "git does not know who you are, and a commit names its author"
                raise RefusedError(what, _IDENTITY)

    def _commit(self, name: str) -> str:
        code, said = self._git("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
        return "" if code else said.strip()

    def _count(self, commit: str, known: str) -> int:
        span = [commit, *([f"^{known}"] if known else [])]
        return int(self._ask("rev-list", "--count", *span)) if commit else 0

    def _settled(self) -> str:
        """The commit that the files stand on; a merge that they do not show was not
        written."""
        self.files.recover()
        before = self._commit(BEFORE)
        if before:
            old = self._contents(before)
            disk = self._read()
            for name, text in self._contents(MAIN).items():
                gained = _lines(text) - _lines(old.get(name, ""))
                shown = gained & _lines(disk.get(name, ""))
                if len(shown) * 2 < len(gained):
                    self._ask("update-ref", MAIN, before)
            self._ask("update-ref", "-d", BEFORE)
        return self._commit(MAIN)

    def _read(self) -> Texts:
        """The two files as they are. Raises RefusedError for a conflict, a secret or a
        link out of the home folder."""
        self.disk = {
            name: text_to_write(self.project, path) for name, path in self.paths.items()
        }
        present = {name: text for name, text in self.disk.items() if text is not None}
        _refuse_conflicts(present, _RESOLVE)
        _refuse_secrets(present, "remove it; nothing was sent")
        return present

    def _contents(self, commit: str) -> Texts:
        """The files of a commit. Raises RefusedError for anything beside the two."""
        if not commit:
            return {}
        # A tree may hold itself ten times over, again and again, or a million names: it
        # is neither listed nor entered before it is known to be small.
        size = int(self._ask("cat-file", "-s", f"{commit}^{{tree}}"))
        if size > TREE_BYTES:
            what = f"the other side has more than two files ({size:,} bytes of names)"
            raise RefusedError(what, _ELSEWHERE)
        contents = dict[str, str]()
        for row in self._ask("ls-tree", "-zl", commit).split("\0"):
            if not row:
                continue
            head, _, name = row.partition("\t")
            mode, _, blob, size_of = head.split()
            is_memory = name in NAMES and mode == "100644"
            if not is_memory or int(size_of) > MEMORY_BYTES:
                shown = f"{redact_secrets(name)!r} ({mode}, {size_of} bytes)"
                raise RefusedError(f"the other side has {shown}", _ELSEWHERE)
            contents[name] = self._git("cat-file", "blob", blob)[1]
        return contents

    def _committed(self, texts: Texts, head: str) -> str:
        if not texts and not head:
            return ""
        tree = self._stored(texts)
        if head and self._ask("rev-parse", f"{head}^{{tree}}") == tree:
            return head
        self._ask("read-tree", tree)
        self._ask("commit", "-q", "-m", f"Memory of {platform.node() or 'a machine'}")
        return self._commit(MAIN)

    def _stored(self, texts: Texts) -> str:
        rows = list[str]()
        for name, text in texts.items():
            blob = self._ask("hash-object", "-w", "--stdin", given=text)
            rows.append(f"100644 blob {blob}\t{name}\n")
        return self._ask("mktree", given="".join(rows))

    def _merged(self, mine: Texts, head: str, theirs: str) -> Texts:
        """Both sides by entry, prose with the lines of both; else as git does, with
        markers."""
        base = ""
        if head:
            code, said = self._git("merge-base", head, theirs)
            base = "" if code else said.strip()
        before = self._contents(base)
        after = self._contents(theirs)
        _refuse_conflicts(after, "the other side has it: resolve it there")
        merged = dict[str, str]()
        for name in dict.fromkeys((*mine, *after)):
            texts = (before.get(name, ""), mine.get(name, ""), after.get(name, ""))
            has_entries = "---\n" in "".join(texts)
            options = () if has_entries else ("--union",)
            merged[name] = merge_texts(*texts, *options)[0]
            with suppress(Unmergeable, MemError):
                merged[name] = merge(*texts, path=name, asked=Asked(_both_lines)).text
        _refuse_secrets(merged, "the other side has it: remove it there")
        return merged

    def _written(
        self, patches: tuple[Patch, ...], texts: Texts, head: str, theirs: str
    ) -> str:
        commit = theirs
        if head and self._git("merge-base", "--is-ancestor", head, theirs)[0]:
            parents = ("-p", head, "-p", theirs, "-m", "Memory of two machines")
            commit = self._ask("commit-tree", self._stored(texts), *parents)
        if commit != head:
            if head:
                self._ask("update-ref", BEFORE, head)
            self._ask("update-ref", MAIN, commit)
        self.files.write(patches, "sync")
        self._git("update-ref", "-d", BEFORE)
        self._git("read-tree", commit)
        return commit


def _address(folder: Path, url: str) -> str:
    """The whole path of a repository on this machine; another address as it is."""
    local = folder / url
    return os.path.realpath(local) if local.exists() else url


def _exchange(url: str, before: str) -> str:
    """What is said of an address, and of another one before it."""
    was = f" (was: {redact_secrets(before)})" if before not in ("", url) else ""
    return f"; mem sync exchanges it with {redact_secrets(url)}{was}"


def _leaving(texts: Texts, theirs: Texts) -> tuple[str, ...]:
    """The files that the other side has not as they will be here."""
    return tuple(name for name, text in texts.items() if text != theirs.get(name))


def _let_in(texts: Texts, mine: Texts, taken_back: TakenBackDoor) -> Texts:
    """The texts, in which what arrives and was taken back here is retired."""
    let = {}
    for name, text in texts.items():
        doors = _doors(text, mine.get(name, ""), taken_back)
        let[name] = let_in(text, name, doors)
    return let


def _doors(text: str, before: str, taken_back: TakenBackDoor) -> Doors:
    """What was taken back here is asked of every entry that was not here before."""
    known = {entry.id for entry in parse(before, "").entries}
    arrived = {entry.id for entry in parse(text, "").entries} - known
    return dict.fromkeys(arrived, taken_back)


def _lines(text: str) -> set[str]:
    return set(text.splitlines())


def _both_lines(base: str, ours: str, theirs: str) -> tuple[str, int]:
    """Prose with the lines of both sides: there is no conflict."""
    return merge_texts(base, ours, theirs, "--union")[0], 0


def _require_fetched(code: int, why: str, *, hint: str = _LATER) -> None:
    if code:
        raise ProviderError(why, hint)


def _refuse_secrets(texts: Texts, hint: str) -> None:
    """Raises RefusedError for a secret: none is sent, or sent on."""
    for name, text in texts.items():
        for secret in find_secrets(text):
            line = text.count("\n", 0, secret.start) + 1
            raise RefusedError(
                f"~/{name}:{line}: contains a secret ({secret.kind})", hint
            )


def _refuse_crowds(texts: Texts) -> None:
    """Raises RefusedError for a file that could not be read again."""
    for name, text in texts.items():
        if is_crowded(text):
            what = f"the other side makes ~/{name} too large: it {CROWDED}"
            raise RefusedError(what, _ELSEWHERE)


def _refuse_conflicts(texts: Texts, hint: str) -> None:
    for name, text in texts.items():
        for line in conflict_lines(text):
            raise RefusedError(f"~/{name}:{line}: has a conflict", hint)


def _losses(mine: Texts, texts: Texts, *, refused: bool) -> dict[str, Loss]:
    """What each file of this side loses. If `refused`, raises RefusedError where that
    is more than a compaction may take, however small the file is."""
    losses = {}
    for name, text in mine.items():
        between = loss_between(parse(text, name), parse(texts[name], name))
        losses[name] = between
        number = len(between.lost)
        if refused and is_loss(number, between.number):
            titles = [repr(unit.title) for unit in between.lost[:NAMED]]
            titles += ["…"] if number > NAMED else []
            what = (
                f"{number} of {between.number} entries would leave ~/{name}, or say"
                f" something else: {', '.join(titles)}; nothing was written"
            )
            raise RefusedError(what, _LOSS)
    return losses


def _require_repository(folder: Path) -> None:
    """Raises UsageError where none was set up."""
    if not (folder / "info" / "attributes").is_file():
        what = "your own memory has no repository"
        hint = "mem sync --git makes one on this machine; with a URL it is shared"
        raise UsageError(what, hint)


def _rows(
    losses: Mapping[str, Loss], units_of: Callable[[Loss], Iterable[Entry]]
) -> tuple[Row, ...]:
    """Some of what the files of this side lose."""
    return tuple(
        (unit.id, f"~/{name}", unit.title)
        for name, between in losses.items()
        for unit in units_of(between)
    )

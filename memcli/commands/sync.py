"""mem sync: the user's own memory in step between machines, through a git repository of its own.

Its git directory lies in the user's data folder; of the home folder it knows two files. A merge is
written as mem writes everything: `BEFORE` names the commit before it until it surely was.
"""

import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from memcli.compaction.merge import Unmergeable, merge
from memcli.errors import MemError, ProviderError, RefusedError, UsageError
from memcli.install.targets import Changes
from memcli.memory.grammar import conflict_lines
from memcli.memory.values import Patch
from memcli.project import git
from memcli.project.context import Project, moment, text_to_write
from memcli.storage.durable import WriteLock, discard, write_output
from memcli.storage.files import MEMORY_BYTES, private_dir, state_dir
from memcli.storage.system import folder_of
from memcli.storage.workspace import Workspace
from memcli.text.secrets import find_secrets, redact_secrets

if TYPE_CHECKING:
    from subprocess import CompletedProcess

NAMES = ("MEMORY.md", "institutional.md")
MAIN, THEIRS, BEFORE = "refs/heads/main", "refs/remotes/origin/main", "refs/mem/before"
NETWORK = 60.0  # seconds that a fetch or a push may take
SETTINGS = {
    "core.autocrlf": "false", "status.showUntrackedFiles": "no", "gc.autoDetach": "false",
    "merge.mem.name": "memory entries by id", git.DRIVER: git.DRIVER_COMMAND,
}  # fmt: skip
_OWN = ("GIT_SSH", "GIT_ASKPASS", "GIT_AUTHOR", "GIT_COMMITTER", "GIT_CONFIG_", "GIT_TERMINAL")
_LOCKS = [f"{name}.lock" for name in ("index", "HEAD", "packed-refs", MAIN, THEIRS, BEFORE)]
Texts = Mapping[str, str]


class SyncReport(NamedTuple):
    """What was written, and how many commits were sent and taken in."""

    patches: tuple[Patch, ...]
    sent: int
    taken: int


def sync(project: Project, *, dry_run: bool = False) -> SyncReport:
    """Commit, fetch, merge, write, push. Raises MemError; what was committed stays."""
    own = HomeRepository(project)
    if not (own.folder / "info" / "attributes").is_file():
        raise UsageError("your own memory has no repository", "mem init --home-git [URL]")
    with own.lock.taken("sync", wait=10.0):  # git's processes hold it to their end
        discard(own.folder / name for name in _LOCKS)
        head = own.settled() if not dry_run else own.commit_of(MAIN)
        mine: Texts = {**own.contents(head), **own.read()}  # what is gone comes back
        head = own.committed(mine, head) if not dry_run else head
        remote = not own.git("config", "remote.origin.url").returncode
        done = own.git("fetch", "-q", "--no-tags", "--no-recurse-submodules", "origin")
        unreached = _said(done) if remote and done.returncode else ""
        theirs = own.commit_of(THEIRS)
        taken = own.count(theirs, head)
        texts = own.merged(mine, head, theirs) if taken else mine
        patches = own.patches(texts)
        if not dry_run:
            head = own.written(patches, texts, head, theirs if taken else head)
        _refuse_conflicts(texts)
        if unreached:
            raise ProviderError(unreached, "what is here is committed: mem sync, later")
        sent = own.count(head, theirs) if remote else 0
        if sent and not dry_run:
            own.ask("push", "-q", "origin", f"{head}:{MAIN}")
    return SyncReport(patches, sent, taken)


def set_up(project: Project, url: str, *, remove: bool, dry_run: bool) -> Changes:
    """Make the repository of the user's own memory, or move it aside; twice is once."""
    own = HomeRepository(project)
    if remove:
        aside = own.folder.with_name(f"home.git.removed-{time.time_ns()}")
        if (known := own.folder.exists()) and not dry_run:
            own.folder.rename(aside)
        return Changes((f"moved {own.folder} to {aside}",) if known else (), ())
    if url.startswith("-"):
        raise UsageError(f"{url}: no address of a repository", "mem init --home-git URL")
    url = os.path.realpath(project.cwd / url) if os.path.exists(project.cwd / url) and url else url
    more = {"url": url, "fetch": "+refs/heads/*:refs/remotes/origin/*"} if url else {}
    own.read()
    if not dry_run:
        private_dir(own.folder)
        own.ask("init", "-q", "-b", "main")
        for key, value in (SETTINGS | {f"remote.origin.{k}": v for k, v in more.items()}).items():
            own.ask("config", key, value)
        write_output(own.folder / "info" / "exclude", "*\n")
        rows = (f"/{name} merge=mem -text -filter -ident\n" for name in NAMES)
        write_output(own.folder / "info" / "attributes", "".join(rows))
    what = f"keeps {' and '.join(f'~/{name}' for name in NAMES)} in {own.folder}"
    what += f", in step with {redact_secrets(url)}" if url else ""
    return Changes((what,), (), ("bring it in step: mem sync",))


class HomeRepository:
    """The repository of the two files: its git directory, the lock of a sync, the way to write."""

    def __init__(self, project: Project) -> None:
        self.project, self.folder = project, folder_of("data") / "home.git"
        self.paths = {name: project.home / name for name in NAMES}
        now, single = moment(project.now), list(self.paths.values())
        self.files = Workspace(None, state_dir(), now, allowed=[], single=single)
        self.lock = WriteLock(self.folder / "mem.lock", now.isoformat(timespec="seconds"))
        self.disk: dict[str, str | None] = {}  # what was read

    def git(self, *words: str, given: str | None = None) -> "CompletedProcess[str]":
        """Run the user's own git, with its hooks, on this repository."""
        own = {name: value for name, value in os.environ.items() if name.startswith(_OWN)}
        own |= {"GIT_DIR": str(self.folder), "GIT_WORK_TREE": str(self.project.home)}
        keep = (self.lock.fd,) if self.lock.fd is not None else ()
        return git.start(words, self.project.home, NETWORK, given, keep, **own)

    def ask(self, *words: str, given: str | None = None) -> str:
        """What git answers. Raises RefusedError when it fails, or one of its hooks."""
        done = self.git(*words, given=given)
        if done.returncode:
            raise RefusedError(f"git {words[0]}: {_said(done)}", "mend that, then: mem sync")
        return done.stdout.strip()

    def commit_of(self, name: str) -> str:
        """The commit that a name stands for, "" for none."""
        return self.git("rev-parse", "-q", "--verify", f"{name}^{{commit}}").stdout.strip()

    def count(self, commit: str, known: str) -> int:
        """The commits up to one that are not in the other."""
        span = [commit, *([f"^{known}"] if known else [])]
        return int(self.ask("rev-list", "--count", *span)) if commit else 0

    def settled(self) -> str:
        """The commit that the files stand on; a merge that they do not show was not written."""
        self.files.recover()
        if before := self.commit_of(BEFORE):
            old, new, disk = self.contents(before), self.contents(MAIN), self.read()
            for name, text in new.items():
                gained = {*text.splitlines()} - {*old.get(name, "").splitlines()}
                if len(gained & {*disk.get(name, "").splitlines()}) * 2 < len(gained):
                    self.ask("update-ref", MAIN, before)
            self.ask("update-ref", "-d", BEFORE)
        return self.commit_of(MAIN)

    def read(self) -> Texts:
        """The two files as they are. Raises RefusedError for a link, a conflict or a secret."""
        self.disk = {name: text_to_write(self.project, path) for name, path in self.paths.items()}
        found = {name: text for name, text in self.disk.items() if text is not None}
        _refuse_conflicts(found)
        for name, text in found.items():
            for secret in find_secrets(text):
                what = f"~/{name}:{text[: secret.start].count(chr(10)) + 1}: holds a secret"
                raise RefusedError(f"{what} ({secret.kind})", "take it out; nothing is sent")
        return found

    def contents(self, commit: str) -> dict[str, str]:
        """The files of a commit. Raises RefusedError for anything beside the two."""
        found = {}
        rows = self.ask("ls-tree", "-rzl", commit).split("\0") if commit else []
        for head, _, name in (row.partition("\t") for row in rows if row):
            mode, _, blob, size = head.split()
            if name not in NAMES or mode != "100644" or int(size) > MEMORY_BYTES:
                what = f"the other side holds {redact_secrets(name)!r} ({mode}, {size} bytes)"
                raise RefusedError(what, "name a repository that holds nothing else")
            found[name] = self.git("cat-file", "blob", blob).stdout
        return found

    def committed(self, texts: Texts, head: str) -> str:
        """The commit of the files as they are, a new one if need be."""
        tree = self._stored(texts)
        if (self.ask("rev-parse", f"{head}^{{tree}}") == tree) if head else not texts:
            return head
        self.ask("read-tree", tree)
        self.ask("commit", "-q", "-m", f"Memory of {platform.node() or 'a machine'}")
        return self.commit_of(MAIN)

    def _stored(self, texts: Texts) -> str:
        blobs = {n: self.ask("hash-object", "-w", "--stdin", given=t) for n, t in texts.items()}
        return self.ask(
            "mktree", given="".join(f"100644 blob {b}\t{n}\n" for n, b in blobs.items())
        )

    def merged(self, mine: Texts, head: str, theirs: str) -> Texts:
        """Both sides by entry, prose with the lines of both; else as git does, with markers."""
        base = self.git("merge-base", head, theirs).stdout.strip() if head else ""
        sides = (self.contents(base), mine, self.contents(theirs))
        names = {name: [side.get(name, "") for side in sides] for name in (*mine, *sides[2])}
        return {name: self._text(name, *texts) for name, texts in names.items()}

    def _text(self, name: str, *sides: str) -> str:
        with suppress(Unmergeable, MemError):
            return merge(*sides, path=name, merge_prose=lambda *texts: (self._lines(texts), 0))[0]
        return self._lines(sides, union="---\n" not in "".join(sides))

    def _lines(self, sides: tuple[str, ...], *, union: bool = True) -> str:
        with TemporaryDirectory(prefix="mem-merge-") as folder:
            files = [Path(folder) / name for name in ("base", "ours", "theirs")]
            for path, text in zip(files, sides, strict=True):
                write_output(path, text)
            names = [str(files[at]) for at in (1, 0, 2)]
            return self.git("merge-file", "-p", "-q", *["--union"] * union, *names).stdout

    def patches(self, texts: Texts) -> tuple[Patch, ...]:
        """What makes the files hold these texts."""
        made = (Patch(str(self.paths[n]), self.disk[n], text) for n, text in texts.items())
        return tuple(patch for patch in made if patch.before != patch.after)

    def written(self, patches: tuple[Patch, ...], texts: Texts, head: str, theirs: str) -> str:
        """Write the files, which stand on the commit that is returned then."""
        commit = theirs
        if head and self.git("merge-base", "--is-ancestor", head, theirs).returncode:
            parents = ("-p", head, "-p", theirs, "-m", "Memory of two machines")
            commit = self.ask("commit-tree", self._stored(texts), *parents)
        if commit != head:
            self.ask("update-ref", BEFORE, head) if head else None
            self.ask("update-ref", MAIN, commit)
        self.files.write(patches, "sync")
        self.git("update-ref", "-d", BEFORE)
        self.git("read-tree", commit)
        return commit


def _refuse_conflicts(texts: Texts) -> None:
    for name, text in texts.items():
        for line in conflict_lines(text):
            raise RefusedError(f"~/{name}:{line}: has a conflict", "resolve it, then: mem sync")


def _said(done: "CompletedProcess[str]") -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip()] or ["failed"]
    return redact_secrets(next((x for x in lines if x.startswith(("fatal", "error"))), lines[-1]))

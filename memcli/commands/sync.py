"""mem sync: the user's own memory in step between machines, through a git repository of
its own.

Its git directory lies in the user's data folder; of the home folder it knows two files.
A merge is written as mem writes everything: `BEFORE` names the commit before it until
it surely was."""

import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from memcli.compaction.merge import Unmergeable, merge
from memcli.errors import MemError, ProviderError, RefusedError, UsageError
from memcli.install.targets import Changes
from memcli.memory.grammar import conflict_lines
from memcli.memory.values import Patch
from memcli.project import git
from memcli.project.context import Project, moment, text_to_write
from memcli.storage.durable import WriteLock, discard, write_output
from memcli.storage.files import MEMORY_BYTES, folder_of, private_dir, state_dir
from memcli.storage.workspace import Workspace
from memcli.text.secrets import find_secrets, redact_secrets

NAMES = ("MEMORY.md", "institutional.md")
MAIN = "refs/heads/main"
THEIRS = "refs/remotes/origin/main"
BEFORE = "refs/mem/before"
NETWORK = 60.0  # seconds that a fetch or a push may take
SETTINGS = {
    "core.autocrlf": "false", "status.showUntrackedFiles": "no", "gc.autoDetach": "false",
    "merge.mem.name": "memory entries by id", git.DRIVER: git.DRIVER_COMMAND,
}  # fmt: skip
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
Texts = Mapping[str, str]


class SyncReport(NamedTuple):
    """What was written, and how many commits were sent and taken in."""

    patches: tuple[Patch, ...]
    sent: int
    taken: int


class HomeRepository:
    """The repository of the two files: its git directory, the lock of a sync, the way
    to write."""

    def __init__(self, project: Project) -> None:
        self.project, self.folder = project, folder_of("data") / "home.git"
        self.paths = {name: project.home / name for name in NAMES}
        now = moment(project.now)
        single = list(self.paths.values())
        self.files = Workspace(None, state_dir(), now, allowed=[], single=single)
        self.lock = WriteLock(
            self.folder / "mem.lock", now.isoformat(timespec="seconds")
        )
        self.disk: dict[str, str | None] = {}  # what was read

    def set_up(self, url: str, *, remove: bool, dry_run: bool) -> Changes:
        """Make the repository, or move it aside; twice is once."""
        if remove:
            aside = self.folder.with_name(f"home.git.removed-{time.time_ns()}")
            if (known := self.folder.exists()) and not dry_run:
                self.folder.rename(aside)
            return Changes((f"moved {self.folder} to {aside}",) if known else (), ())
        if url.startswith("-"):
            raise UsageError(
                f"{url}: no address of a repository", "mem init --home-git URL"
            )
        local = self.project.cwd / url
        url = os.path.realpath(local) if url and local.exists() else url
        more = (
            {"url": url, "fetch": "+refs/heads/*:refs/remotes/origin/*"} if url else {}
        )
        settings = SETTINGS | {
            f"remote.origin.{key}": value for key, value in more.items()
        }
        self._read()
        if not dry_run:
            private_dir(self.folder)
            self._ask("init", "-q", "-b", "main")
            for key, value in settings.items():
                self._ask("config", key, value)
            rows = (f"/{name} merge=mem -text -filter -ident\n" for name in NAMES)
            write_output(self.folder / "info" / "exclude", "*\n")
            write_output(self.folder / "info" / "attributes", "".join(rows))
        what = f"keeps {' and '.join(f'~/{name}' for name in NAMES)} in {self.folder}"
        what += f", in step with {redact_secrets(url)}" if url else ""
        return Changes((what,), (), ("bring it in step: mem sync",))

    def sync(self, *, dry_run: bool = False) -> SyncReport:
        """Commit, fetch, merge, write, push. Raises MemError; what was committed
        stays."""
        if not (self.folder / "info" / "attributes").is_file():
            raise UsageError(
                "your own memory has no repository", "mem init --home-git [URL]"
            )
        with self.lock.taken("sync", wait=10.0):  # git's processes hold it to their end
            discard(self.folder / name for name in _LOCKS)
            head = self._commit(MAIN) if dry_run else self._settled()
            mine: Texts = {
                **self._contents(head),
                **self._read(),
            }  # what is gone comes back
            head = head if dry_run else self._committed(mine, head)
            remote = not self._git("config", "remote.origin.url")[0]
            failed, why = self._git(
                "fetch", "-q", "--no-tags", "--no-recurse-submodules", "origin"
            )
            theirs = self._commit(THEIRS)
            taken = self._count(theirs, head)
            texts = self._merged(mine, head, theirs) if taken else mine
            made = (
                Patch(str(self.paths[n]), self.disk[n], text)
                for n, text in texts.items()
            )
            patches = tuple(patch for patch in made if patch.before != patch.after)
            if not dry_run:
                head = self._written(patches, texts, head, theirs if taken else head)
            _refuse_conflicts(texts)
            if remote and failed:
                raise ProviderError(why, "what is here is committed: mem sync, later")
            sent = self._count(head, theirs) if remote else 0
            if sent and not dry_run:
                self._ask("push", "-q", "origin", f"{head}:{MAIN}")
        return SyncReport(patches, sent, taken)

    def _git(self, *words: str, given: str | None = None) -> tuple[int, str]:
        """The exit code of the user's own git, with its hooks, and what it said, or why
        not."""
        own = {
            name: value for name, value in os.environ.items() if name.startswith(_OWN)
        }
        own |= {"GIT_DIR": str(self.folder), "GIT_WORK_TREE": str(self.project.home)}
        keep = (self.lock.fd,) if self.lock.fd is not None else ()
        done = git.start(words, self.project.home, NETWORK, given, keep, **own)
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [
            "failed"
        ]
        why = next((x for x in lines if x.startswith(("fatal", "error"))), lines[-1])
        return done.returncode, redact_secrets(why) if done.returncode else done.stdout

    def _ask(self, *words: str, given: str | None = None) -> str:
        code, said = self._git(*words, given=given)
        if code:
            raise RefusedError(f"git {words[0]}: {said}", "mend that, then: mem sync")
        return said.strip()

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
        if before := self._commit(BEFORE):
            old = self._contents(before)
            new = self._contents(MAIN)
            disk = self._read()
            for name, text in new.items():
                gained = {*text.splitlines()} - {*old.get(name, "").splitlines()}
                if len(gained & {*disk.get(name, "").splitlines()}) * 2 < len(gained):
                    self._ask("update-ref", MAIN, before)
            self._ask("update-ref", "-d", BEFORE)
        return self._commit(MAIN)

    def _read(self) -> Texts:
        """The two files as they are. Raises RefusedError for a link, a conflict or a
        secret."""
        self.disk = {
            name: text_to_write(self.project, path) for name, path in self.paths.items()
        }
        found = {name: text for name, text in self.disk.items() if text is not None}
        _refuse_conflicts(found)
        for name, text in found.items():
            for secret in find_secrets(text):
                what = f"~/{name}:{text[: secret.start].count(chr(10)) + 1}: holds a secret"
                raise RefusedError(
                    f"{what} ({secret.kind})", "take it out; nothing is sent"
                )
        return found

    def _contents(self, commit: str) -> Texts:
        """The files of a commit. Raises RefusedError for anything beside the two."""
        found: dict[str, str] = {}
        rows = self._ask("ls-tree", "-rzl", commit).split("\0") if commit else []
        for head, _, name in (row.partition("\t") for row in rows if row):
            mode, _, blob, size = head.split()
            if name not in NAMES or mode != "100644" or int(size) > MEMORY_BYTES:
                what = f"the other side holds {redact_secrets(name)!r} ({mode}, {size} bytes)"
                raise RefusedError(what, "name a repository that holds nothing else")
            found[name] = self._git("cat-file", "blob", blob)[1]
        return found

    def _committed(self, texts: Texts, head: str) -> str:
        tree = self._stored(texts)
        if (self._ask("rev-parse", f"{head}^{{tree}}") == tree) if head else not texts:
            return head
        self._ask("read-tree", tree)
        self._ask("commit", "-q", "-m", f"Memory of {platform.node() or 'a machine'}")
        return self._commit(MAIN)

    def _stored(self, texts: Texts) -> str:
        blobs = {
            n: self._ask("hash-object", "-w", "--stdin", given=t)
            for n, t in texts.items()
        }
        rows = (f"100644 blob {blob}\t{name}\n" for name, blob in blobs.items())
        return self._ask("mktree", given="".join(rows))

    def _merged(self, mine: Texts, head: str, theirs: str) -> Texts:
        """Both sides by entry, prose with the lines of both; else as git does, with
        markers."""
        code, base = self._git("merge-base", head, theirs) if head else (1, "")
        sides = (
            self._contents("" if code else base.strip()),
            mine,
            self._contents(theirs),
        )
        merged = {}
        for name in dict.fromkeys((*mine, *sides[2])):
            texts = [side.get(name, "") for side in sides]
            union = ["--union"] * ("---\n" not in "".join(texts))
            merged[name] = git.merge_texts(*texts, *union)[0]
            with suppress(Unmergeable, MemError):
                prose = lambda *three: (git.merge_texts(*three, "--union")[0], 0)  # noqa: E731
                merged[name] = merge(*texts, path=name, merge_prose=prose)[0]
        return merged

    def _written(
        self, patches: tuple[Patch, ...], texts: Texts, head: str, theirs: str
    ) -> str:
        commit = theirs
        if head and self._git("merge-base", "--is-ancestor", head, theirs)[0]:
            parents = ("-p", head, "-p", theirs, "-m", "Memory of two machines")
            commit = self._ask("commit-tree", self._stored(texts), *parents)
        if commit != head:
            self._ask("update-ref", BEFORE, head) if head else None
            self._ask("update-ref", MAIN, commit)
        self.files.write(patches, "sync")
        self._git("update-ref", "-d", BEFORE)
        self._git("read-tree", commit)
        return commit


def _refuse_conflicts(texts: Texts) -> None:
    for name, text in texts.items():
        for line in conflict_lines(text):
            raise RefusedError(
                f"~/{name}:{line}: has a conflict", "resolve it, then: mem sync"
            )

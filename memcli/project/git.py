"""Git: read its files, run it (only here), and find out who owns a file."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from memcli.named import NamedTuple
from memcli.storage.files import SMALL_BYTES, Unreadable, is_mine, read_file

EXCLUDED = (".memory.db*", ".*.mem-tmp-*")
"""Derived and temporary files, never to be committed."""
MOMENTS = (".premortem.md", ".assumptions.jsonl", ".interventions.jsonl")
"""Files of a running job, neither."""
MOST_OF_GIT = 1 << 30
"""Bytes of a file of git's own that is no pack: an index of ten million files."""
MOST_MEMORY = 1 << 30
"""Bytes that git may hold, beside its packs, which it maps."""
DRIVER = "merge.mem.driver"
DRIVER_COMMAND = (
    "if command -v mem >/dev/null 2>&1; then mem merge-driver %O %A %B %P %L;"
    " else git merge-file --marker-size=%L %A %O %B; fi"
)
"""A driver that is missing would leave one side without markers: git's own merge stands
in."""


class GitSaid(NamedTuple):
    """The result of git; exit code 124 if it took too much time or memory."""

    returncode: int
    stdout: str
    stderr: str


def work_tree(folder: Path | None) -> Path | None:
    """The top of the git work tree that holds `folder`, None where there is none."""
    paths = (folder, *folder.parents) if folder is not None else ()
    return next((path for path in paths if os.path.lexists(path / ".git")), None)


def git_dir(tree_top: Path) -> Path | None:
    """The git directory of a work tree: `.git`, or what a linked work tree's `.git`
    file names."""
    dot = tree_top / ".git"
    if dot.is_dir():
        return dot
    text = read_first_line(dot)
    named = text[7:].strip() if text.startswith("gitdir:") else ""
    return tree_top / named if named else None


def read_first_line(path: Path) -> str:
    """The first line of a small file of git; "" if it is missing or has no usable
    text."""
    with suppress(Unreadable):
        line = read_file(path, most=SMALL_BYTES).data.partition(b"\n")[0]
        return "" if b"\0" in line else os.fsdecode(line).strip()
    return ""


def common_dir(tree_top: Path) -> Path | None:
    """The directory that all work trees of a repository share."""
    folder = git_dir(tree_top)
    if not folder:
        return None
    return Path(os.path.normpath(folder / read_first_line(folder / "commondir")))


_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "sequencer": "sequence of commits",
    "index.lock": "command",
}


def head_of(tree_top: Path) -> str:
    """The commit of HEAD, read from git's files; "" if they do not tell."""
    folder = git_dir(tree_top)
    common = common_dir(tree_top)
    if not folder or not common:
        return ""
    text = read_first_line(folder / "HEAD")
    if not text.startswith("ref: "):
        return text
    name = text.removeprefix("ref: ")
    if commit := read_first_line(folder / name) or read_first_line(common / name):
        return commit
    return packed_refs(common).get(name, "")


def packed_refs(common: Path) -> dict[str, str]:
    """The commits of packed refs, by name."""
    with suppress(OSError, UnicodeDecodeError):
        rows = read_file(common / "packed-refs").data.decode().splitlines()
        pairs = (row.partition(" ") for row in rows)
        return {name: commit for commit, _, name in pairs}
    return {}


def under_way(tree_top: Path) -> str:
    """The operation git is in the middle of in a work tree ("merge", "rebase", ...), or
    ""."""
    folder = git_dir(tree_top)
    if not folder:
        return ""
    words = (
        word for name, word in _UNDER_WAY.items() if os.path.lexists(folder / name)
    )
    return next(words, "")


def points_back(tree_top: Path) -> bool:
    """Whether the repository that a `.git` names knows it, by `gitdir` or
    core.worktree, and shares its files with no other: `commondir` of a packed folder
    may name any repository of this machine."""
    dot = tree_top / ".git"
    folder = git_dir(tree_top)
    if not folder or dot.is_symlink() or not _shares_as_git_does(tree_top, folder):
        return False
    if dot.is_dir():
        return True
    named = read_first_line(folder / "gitdir")
    if named and os.path.realpath(folder / named) == os.path.realpath(dot):
        return True
    process = run(
        ["config", "--file", str(folder / "config"), "--get", "core.worktree"], tree_top
    )
    named = process.stdout.rstrip("\n")
    return bool(named) and os.path.realpath(folder / named) == os.path.realpath(
        tree_top
    )


def _shares_as_git_does(tree_top: Path, folder: Path) -> bool:
    """Whether a git directory is whole by itself, or lies in `worktrees` of the one
    whose files it shares."""
    shared = common_dir(tree_top) or folder
    if shared == folder:
        return True
    common = os.path.realpath(shared)
    own = Path(os.path.realpath(folder))
    is_linked = own.parent.name == "worktrees" and str(own.parent.parent) == common
    return common == str(own) or is_linked


def exclude(root: Path, patterns: Sequence[str] = EXCLUDED) -> None:
    """Make git ignore `patterns` through `.git/info/exclude`; does nothing outside a
    repository."""
    path = _exclude_file(root)
    if path is None:
        return
    # Otherwise the files show up as untracked, which is harmless.
    with suppress(OSError):
        data = read_file(path, most=SMALL_BYTES).data if path.exists() else b""
        text = data.decode("utf-8", "surrogateescape")
        known = text.split("\n")
        missing = [pattern for pattern in patterns if pattern not in known]
        if missing:
            path.parent.mkdir(exist_ok=True)
            glue = "" if not text or text.endswith("\n") else "\n"
            with path.open("a", encoding="utf-8") as file:
                file.write(glue + "".join(f"{pattern}\n" for pattern in missing))


def _exclude_file(root: Path) -> Path | None:
    """The `info/exclude` that we may write to: not that of a `.git` which somebody
    packed."""
    tree_top = work_tree(root)
    common = common_dir(tree_top) if tree_top else None
    if not tree_top or common is None or not (common / "HEAD").is_file():
        return None
    path = common / "info" / "exclude"
    is_link = path.is_symlink() or path.parent.is_symlink()
    return None if is_link or not points_back(tree_top) else path


_SAFE = (
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "diff.orderFile=/dev/null"),
    *("-c", "mailmap.file=/dev/null"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
    *("-c", "log.showRoot=true"),
    *("-c", "core.abbrev=auto"),
)
_NO_EXCLUDES = ("-c", "core.excludesFile=/dev/null")  # diff, blame and status open it
_PLAIN = {
    "diff": ("--no-ext-diff", "--no-textconv"),
    "blame": ("--no-textconv", "--no-ignore-revs-file"),  # "" would be read after it
    "log": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
    "show": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
}
"""So that no program is started, and no file read, which a repository's configuration or
attributes name."""


def run(
    words: Sequence[str],
    cwd: Path,
    timeout: float = 30,
    *,
    hooks: bool = False,
    given: str | None = None,
) -> GitSaid:
    """Run git; never raises for its exit code, which is 124 after so many seconds or
    bytes.

    Neither a program that the repository names is started nor the network asked.
    `hooks` leaves git's own answer to where its hooks are; `given` is its standard
    input."""
    verb, *arguments = words
    none = () if hooks else ("-c", "core.hooksPath=/dev/null")
    command = [*_SAFE, *none, verb, *_PLAIN.get(verb, ()), *arguments]
    environ = {
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_REPLACE_OBJECTS": "1",  # show commits as they were written
        "GIT_GRAFT_FILE": os.devnull,  # and with their own parents
    }
    if verb in ("blame", "diff"):  # commands that read files of the work tree
        environ |= _without_filters(cwd)
    asks_what_is_ignored = verb == "check-ignore" or "--exclude-standard" in arguments
    excludes = _plain_excludes(cwd) if asks_what_is_ignored else _NO_EXCLUDES
    return start([*excludes, *command], cwd, timeout, given, (), **environ)


def ask(
    tree_top: Path, *words: str, timeout: float = 30, given: str | None = None
) -> str | None:
    """The output of git; None if it fails or cannot be run."""
    with suppress(OSError):
        process = run(words, tree_top, timeout, given=given)
        return process.stdout if process.returncode == 0 else None
    return None


def global_setting(key: str) -> str | None:
    """A value of the user's own git configuration, not the repository's; None if not
    set."""
    with suppress(OSError):
        done = start(["config", "--global", "--get", key], Path("/"), 5)
        return done.stdout.rstrip("\n") if done.returncode == 0 else None
    return None


def lacking(top: Path) -> str:
    """The command that fetches what a shallow or partial clone lacks; "" if it is
    complete."""
    if is_shallow(top):
        return "git fetch --unshallow"
    asked = "config", "--get-regexp", r"^remote\..*\.promisor$"
    return "git fetch --refetch --no-filter" if ask(top, *asked) else ""


def is_shallow(top: Path) -> bool:
    """Whether a clone lacks older commits."""
    return ((common_dir(top) or top) / "shallow").is_file()


class Logged(NamedTuple):
    """A commit from `git log`: the requested fields, and its files."""

    fields: tuple[str, ...]
    names: tuple[str, ...]


def log_format(*fields: str) -> tuple[str, ...]:
    """Options of `git log` that end each of these fields (`%H`) with a NUL byte, and
    each name of a file: the one byte that neither a commit nor a name can hold."""
    return (
        "-z",
        "--name-only",
        "--format=" + "".join(f"%x00{field}" for field in fields),
    )


def parse_log(text: str, fields: int) -> Iterator[Logged]:
    """The commits in what `git log` says under `log_format` with so many fields.

    A commit begins with an empty part; its names, none of which is empty, follow its
    fields and last up to the next empty part."""
    parts = text.split("\0")
    position = 0
    while position + fields < len(parts):
        first = position + 1 + fields
        position_after = first
        while position_after < len(parts) and parts[position_after]:
            position_after += 1
        listed = "\0".join(parts[first:position_after]).removeprefix("\n")
        names = tuple(listed.split("\0")) if listed else ()
        yield Logged(fields=tuple(parts[position + 1 : first]), names=names)
        position = position_after


def _plain_excludes(cwd: Path) -> tuple[str, ...]:
    """What keeps git from a list of ignored files that has no end: a setting names it,
    and one of the user's own is read as git reads it."""
    asked = [*_SAFE, "config", "--type=path", "--get", "core.excludesFile"]
    named = start(asked, cwd, 5).stdout.rstrip("\n")
    path = os.path.join(work_tree(cwd) or cwd, named)
    is_plain = not named or _ends(path)
    return () if is_plain else _NO_EXCLUDES


def _without_filters(cwd: Path) -> dict[str, str]:
    """Settings that keep git from running any configured filter."""
    asked = [*_SAFE, "config", "-z", "--name-only", "--get-regexp", r"^filter\."]
    keys = start(asked, cwd, 5).stdout.split("\0")
    filters = sorted({key.rpartition(".")[0] for key in keys} - {""})
    rows = []
    for name in filters:
        rows.append((f"{name}.clean", ""))
        rows.append((f"{name}.process", ""))
        rows.append((f"{name}.required", "false"))
    environ = {"GIT_CONFIG_COUNT": str(len(rows))}
    for number, (key, value) in enumerate(rows):
        environ[f"GIT_CONFIG_KEY_{number}"] = key
        environ[f"GIT_CONFIG_VALUE_{number}"] = value
    return environ


def start(
    words: Sequence[str],
    cwd: Path,
    timeout: float,
    standard_input: str | None = None,
    keep: Sequence[int] = (),
    **environ: str,
) -> GitSaid:
    """Run git as its user has it, with these variables in place of those of a hook
    around it.

    What it says is decoded to the byte; the descriptors in `keep` stay open in it."""
    from memcli.storage import programs  # most commands only read git's files

    for name, value in os.environ.items():
        if not name.startswith("GIT_"):
            environ.setdefault(name, value)
    # An entry such as "." would be the folder that the repository is.
    folders = filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep))
    environ["PATH"] = os.pathsep.join(folders) or os.defpath
    if (top := work_tree(Path(cwd))) and (name := _endless(top)):
        why = f"fatal: {name} is not a regular file, or is too large"
        return GitSaid(128, "", why)
    program = programs.Program(
        command=["git", *words],
        folder=cwd,
        environ=environ,
        given=(standard_input or "").encode("utf-8", "surrogateescape"),
        keep=keep,
    )
    slow = programs.slow_folders()
    seconds = min(timeout, programs.HURRY) if cwd in slow else timeout
    done = programs.run(program, programs.Limits(seconds=seconds, memory=MOST_MEMORY))
    if done.stopped == "time":
        slow.add(cwd)
    if done.stopped:
        return GitSaid(124, "", f"git took too much {done.stopped}")
    return GitSaid(
        returncode=done.code,
        stdout=done.output.decode("utf-8", "surrogateescape"),
        stderr=done.errors.decode("utf-8", "surrogateescape"),
    )


def _endless(tree_top: Path) -> str:
    """A file of git's own beside its objects that git would read without an end, ""
    where there is none: a repository may bring a link to a device."""
    for folder in {git_dir(tree_top), common_dir(tree_top)} - {None}:
        for inner in ("", "info", "objects/info", "logs"):
            with (
                suppress(OSError),
                os.scandir(os.path.join(str(folder), inner)) as rows,
            ):
                for row in rows:
                    if not row.is_dir() and not _ends(row.path):
                        return row.path
    return ""


def _ends(path: str) -> bool:
    """Whether a file is regular and of a size that git can hold; one that nobody can
    read harms nobody."""
    try:
        status = os.stat(path)
    except OSError:
        return True
    is_listened_at = stat.S_ISSOCK(status.st_mode)  # the file monitor's
    is_regular = stat.S_ISREG(status.st_mode)
    return is_listened_at or (is_regular and status.st_size <= MOST_OF_GIT)


def tracked(root: Path, *patterns: str) -> list[str]:
    """The tracked files below a root that match, decoded as file names; none without
    git."""
    listed = ask(root, "ls-files", "-z", "--", *patterns) or ""
    return [name for name in listed.split("\0") if name]


def may_be_root(folder: Path, *marks: str) -> bool:
    """Whether a folder and its marks are this user's, or safe by SUDO_UID or
    safe.directory."""
    try:
        statuses = [os.lstat(folder / mark) for mark in ("", *marks)]
    except OSError:
        return False
    return is_mine(*statuses) or _is_safe(str(folder))


@lru_cache
def _safe_directories() -> tuple[str, ...]:
    """The safe.directory values of the user's and the system's git configuration, never
    the repository's."""
    entries = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("GIT_CONFIG")
    }
    with suppress(OSError):
        asked = ["config", "--get-all", "safe.directory"]
        lines = start(asked, Path("/"), 2, None, (), **entries).stdout.splitlines()
        # An empty value resets the list.
        resets = (number for number, line in enumerate(lines, 1) if not line)
        return tuple(map(os.path.expanduser, lines[max(resets, default=0) :]))
    return ()


def _is_safe(folder: str) -> bool:
    known = _safe_directories()
    parents = [name[:-1] for name in known if name.endswith("/*")]
    return "*" in known or folder in known or folder.startswith(tuple(parents))


def own_files(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """The files that certainly belong to the person: in this work tree, and not
    tracked."""
    tree_top = work_tree(root)
    if not tree_top:
        return frozenset()
    names = {
        path: os.path.relpath(path, tree_top)
        for path in paths
        if _lies_plainly_in(path, root, tree_top)
    }
    literal = [f":(top,literal,icase){name}" for name in names.values()]
    if not names:
        return frozenset()
    listed = ask(tree_top, "ls-files", "-z", "--full-name", "--", *literal, timeout=1)
    if listed is None:
        return frozenset()
    known = {name.casefold() for name in listed.split("\0")}
    return frozenset(
        path for path, name in names.items() if name.casefold() not in known
    )


def _lies_plainly_in(path: str, root: Path, tree_top: Path) -> bool:
    """Whether a file lies below the root without a link, and in no other work tree."""
    resolved = os.path.realpath
    if path.encode("utf-8", "ignore").decode() != path:
        return False
    if resolved(path) != os.path.join(resolved(root), os.path.relpath(path, root)):
        return False
    return resolved(work_tree(Path(path).parent) or "") == resolved(tree_top)


def names_of(root: Path, path: str, *, through: bool = True) -> list[str]:
    """The names of a file as seen from the root, also when it lies in another work
    tree of this repository; that of its own, and what a link in its place leads to,
    where `through` is not false. Outside of it they begin at the top of the disk."""
    folder, name = os.path.split(path)
    full_path = os.path.join(os.path.realpath(folder), name)
    if not through or not os.path.islink(full_path):
        return _names_of(root, full_path)
    return [*_names_of(root, full_path), *_names_of(root, os.path.realpath(full_path))]


def _names_of(root: Path, resolved: str) -> list[str]:
    names = []
    if resolved.startswith(f"{root}{os.sep}"):
        names.append(os.path.relpath(resolved, root))
    own_tree = work_tree(root)
    other_tree = work_tree(Path(resolved).parent)
    if not own_tree or not other_tree or own_tree == other_tree:
        return names or [resolved]
    if common_dir(own_tree) == common_dir(other_tree):
        inside = os.path.relpath(resolved, other_tree)
        names.append(os.path.relpath(inside, os.path.relpath(root, own_tree)))
    return names or [resolved]

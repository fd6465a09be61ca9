"""mem doctor: say whether memory and installation are in order, and mend what can be made anew."""

from __future__ import annotations

import datetime
import gc
import json
import os
import platform
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from memcli import (
    __version__,
    checks,
    git,
    harness,
    history,
    hook_script,
    redact,
    settings_json,
    tree,
    workspace,
)
from memcli.app import App
from memcli.checks import FAIL, INFO, PASS, WARN, Check, Document
from memcli.embed.http import shown
from memcli.errors import DataError, MemError, RefusedError
from memcli.levels import place
from memcli.memory_file import Change, derived_id, edited, parse
from memcli.model import Patch, Problem
from memcli.store import IN_MEMORY, Index, Unusable
from memcli.tree import Found


class Report(NamedTuple):
    """The rows; with `--fix` what was (or would be) mended, one line each, and the patches of it."""

    checks: tuple[Check, ...]
    fixed: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()

    @property
    def failed(self) -> int:
        return sum(row.status == FAIL for row in self.checks)

    @property
    def warned(self) -> int:
        return sum(row.status == WARN for row in self.checks)


def run(
    app: App,
    files: Sequence[str] = (),
    *,
    fix: bool = False,
    dry_run: bool = False,
    online: bool = False,
) -> Report:
    """Check everything, or the content of `files` alone; mend first what `fix` can.

    `online` asks what is configured and costs money or leaves this machine.
    """
    app.tolerate_configuration()  # a faulty one is a row here, no reason to stop
    remedies = {"ids": _write_ids} if files else REMEDIES
    mended = _mend(app, files, remedies, dry_run=dry_run) if fix else Mended()
    app.relist()
    rows = (*_examine(app, files, online=online), *mended.failed)
    return Report(tuple(map(_without_secrets, rows)), tuple(mended.done), tuple(mended.patches))


def _without_secrets(row: Check) -> Check:
    return row._replace(detail=redact.redact_secrets(row.detail), hint=redact.redact_secrets(row.hint))


def _examine(app: App, files: Sequence[str], *, online: bool = False) -> list[Check]:
    scene = Scene(app, files, online=online)
    sections = {"content": _content} if files else SECTIONS
    return [row for name, section in sections.items() for row in _asked(name, section, scene)]


def _asked(name: str, section: Callable[[Scene], Iterable[Check]], scene: Scene) -> list[Check]:
    """The rows of a section. One that breaks must not keep the others from being seen."""
    try:
        return list(section(scene))
    except MemError as error:
        return [Check(name, FAIL, error.what, error.hint)]
    except Exception as error:
        what = f"this could not be checked: {type(error).__name__}: {error}"
        return [Check(name, FAIL, what, "mend what it names; if it names nothing, please report it")]


class Scene:
    """What is examined, read once on first use."""

    def __init__(self, app: App, files: Sequence[str] = (), *, online: bool = False) -> None:
        self.app = app
        self.files = files
        self.online = online

    @cached_property
    def _read(self) -> tuple[list[Document], list[Problem]]:
        if self.files:
            return _documents(_named_files(self.app, self.files))
        documents, problems = _documents(self.app.listing.files)
        return documents, [*self.app.listing.problems, *problems]

    @property
    def documents(self) -> list[Document]:
        return self._read[0]

    @property
    def unreadable(self) -> list[Problem]:
        return self._read[1]

    @cached_property
    def repository(self) -> Repository:
        return _repository(self.app)

    @cached_property
    def index(self) -> IndexState:
        return _index_state(self.app)


# --- content


def _content(scene: Scene) -> Iterator[Check]:
    app = scene.app
    others = _others(scene) if scene.files else None
    yield from checks.content(
        scene.documents,
        scene.unreadable,
        today=app.now.isoformat(),
        max_tokens=app.config.max_tokens,
        others=others,
    )


def _documents(files: Iterable[Found]) -> tuple[list[Document], list[Problem]]:
    documents, problems = [], []
    gc.disable()  # nothing here is garbage, and looking for some takes a third of the time
    try:
        for file in files:
            try:
                documents.append(_document(file))
            except tree.Unreadable as error:
                problems.append(Problem(file.name, error.line, str(error), "unreadable"))
    finally:
        gc.enable()
    return documents, problems


def _document(file: Found) -> Document:
    data = tree.read_bytes(file.path).data
    return Document(parse(tree.decode(data), file.name), file.place, file.tree, len(data))


def _named_files(app: App, names: Sequence[str]) -> list[Found]:
    """The files named on the command line, memory files or not, each once."""
    listed = {file.path: file for file in app.listing.files}
    paths = dict.fromkeys(_absolute(app, name) for name in names)
    return [listed.get(path) or _unlisted(app, path) for path in paths]


def _absolute(app: App, name: str) -> str:
    folder, base = os.path.split(os.path.normpath(app.cwd / name))
    return os.path.join(os.path.realpath(folder), base)


def _unlisted(app: App, path: str) -> Found:
    folder, name = os.path.split(path)
    inside = os.path.basename(folder)
    where = place("project", name, folder=inside if inside in ("tasks", "proxy-tasks") else "")
    top = git.work_tree(Path(folder))
    own = git.work_tree(app.root) if app.root is not None else None
    return Found(path, _shown(app, path), where, "" if top == own else str(top), 0, 0)


def _shown(app: App, path: str) -> str:
    """The name of a file: relative to the root, below `~`, else absolute."""
    for base, prefix in ((app.root, ""), (app.home, "~/")):
        if base is not None and Path(path).is_relative_to(base):
            return tree.shown(prefix + Path(path).relative_to(base).as_posix())
    return tree.shown(path)


_ID = re.compile(r"^[ \t]*[\"']?id[\"']?[ \t]*:[ \t]*[\"']?([^\s\"']+)", re.MULTILINE)


def _others(scene: Scene) -> list[Document]:
    """The memory files beside the named ones that may hold an id of theirs, too."""
    paths = {_absolute(scene.app, name) for name in scene.files}
    wanted = checks.ids(scene.documents)
    found = []
    for file in scene.app.listing.files if wanted else ():
        if file.path not in paths and file.place.store != "archive":
            try:
                text = tree.decode(tree.read_bytes(file.path).data)
            except tree.Unreadable:
                continue
            if not wanted.isdisjoint(_ID.findall(text)):
                found.append(Document(parse(text, file.name), file.place, file.tree, len(text)))
    return found


# --- root, configuration, memory


def _root(scene: Scene) -> Iterator[Check]:
    root = scene.app.root
    if root is None:
        hint = "run it inside a repository, or name one with --root"
        yield Check("root", INFO, "no project here: the global level alone is in view", hint)
    elif not os.access(root, os.W_OK):
        hint = "make it writable to add memory; recall works without"
        yield Check("root", WARN, "the root cannot be written", hint, str(root))
    else:
        yield Check("root", PASS, str(root))


def _configuration(scene: Scene) -> Iterator[Check]:
    settings = scene.app.settings
    for fault in settings.faults:
        path, line = _where(fault.where)
        yield Check("configuration", FAIL, _without_value(fault.what), fault.hint, path, line)
    if not settings.faults:
        yield Check("configuration", PASS, "every key is known and allowed")
    for key, origin in settings.origins.items():
        if origin != "default":
            value = getattr(settings.config, key)
            value = shown(value) if key in ("embed_url", "store_url") else value
            yield Check("setting", INFO, f"{key} = {_plain(value)} ({origin})")


def _where(where: str) -> tuple[str, int]:
    found = re.fullmatch(r"(.*):(\d+)", where, re.DOTALL)
    return (found[1], int(found[2])) if found else (where, 0)


def _without_value(what: str) -> str:
    """A fault without the value: it may be a secret cut short, which nothing would recognise."""
    return re.sub(r"\A(\w+) = .* cannot be used\Z", r"the value of \1 cannot be used", what, flags=re.DOTALL)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _memory(scene: Scene) -> Iterator[Check]:
    files, entries = len(scene.documents), sum(len(d.memory.entries) for d in scene.documents)
    if files:
        yield Check("memory", PASS, f"{_count(entries, 'entry', 'entries')} in {_count(files, 'file')}")
    elif not scene.unreadable:
        hint = "mem init" if scene.app.root is not None else 'mem add --level global "what you learned"'
        yield Check("memory", INFO, "there is no memory here yet", hint)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


# --- git


class Repository(NamedTuple):
    """What git knows of this project. `top` is None outside of a work tree, `fault` why git cannot tell.

    Names are relative to the root. `bare` are derived or private files that git would offer to add.
    """

    top: Path | None = None
    fault: str = ""
    tracked: frozenset[str] = frozenset()
    bare: tuple[str, ...] = ()
    attribute: bool = False
    driver: str = ""


def _repository(app: App) -> Repository:
    root = app.root
    top = git.work_tree(root) if root is not None else None
    if root is None or top is None:
        return Repository()
    folder = git.git_dir(top)
    if folder is None or not (folder / "HEAD").is_file():
        return Repository(top, "its .git names no git directory")
    try:
        listed = git.run(["ls-files", "-z", "--", "*.md", "*.memory.db*"], root)
    except OSError as error:
        return Repository(top, f"git cannot be run: {(error.strerror or str(error)).lower()}")
    if listed.returncode:
        return Repository(top, (listed.stderr.strip() or "git ls-files failed").splitlines()[0])
    tracked = frozenset(map(tree.shown, filter(None, listed.stdout.split("\0"))))
    attribute = git.run(["check-attr", "merge", "--", "MEMORY.md"], root).stdout.strip().endswith(": mem")
    driver = git.run(["config", "--get", "merge.mem.driver"], root).stdout.strip()
    bare = _bare(app, root, tracked, ready=bool(driver))
    return Repository(top, "", tracked, bare, attribute, driver)


def _bare(app: App, root: Path, tracked: frozenset[str], *, ready: bool) -> tuple[str, ...]:
    """Untracked files that git should ignore and does not; those to come, too, once mem init was run."""
    there = [".memory.db", *(file.name for file in app.listing.files if file.place.of == "proxy")]
    names = [name for name in there if name not in tracked and os.path.lexists(root / name)]
    names = list(dict.fromkeys([*names, *(TO_COME if ready else ())]))
    if not names:
        return ()
    done = git.run(["check-ignore", "--no-index", "--", *names], root).stdout.split("\n")
    # Odd names come back quoted: what did not come back as it was is asked for by itself.
    return tuple(name for name in names if name not in done and not _is_ignored(name, root))


def _is_ignored(name: str, root: Path) -> bool:
    return git.run(["check-ignore", "-q", "--no-index", "--", name], root).returncode != 1


TEMPORARY = f".MEMORY.md{workspace.MARK}1-0"
TO_COME = (".memory.db", TEMPORARY, *git.MOMENTS)


def _git(scene: Scene) -> Iterator[Check]:
    repository = scene.repository
    if repository.top is None:
        yield Check("git", INFO, "no git repository: what is remembered is not versioned", "git init")
    elif repository.fault:
        hint = "git status says more; recall works without git"
        yield Check("git", WARN, repository.fault, hint, str(repository.top))
    else:
        yield Check("git", PASS, f"work tree {repository.top}")
        yield from _tracked(scene)
        yield from _ignored(repository)
        yield from _merge_driver(scene)


def _tracked(scene: Scene) -> Iterator[Check]:
    private = {file.name for file in scene.app.listing.files if file.place.of == "proxy"}
    names = [name for name in sorted(scene.repository.tracked) if _derived(name) or _private(name, private)]
    for name in names:
        what = "the index is tracked" if _derived(name) else "a proxy file is tracked: it is private"
        yield Check("tracked", FAIL, what, f"git rm --cached {shlex.quote(name)}", name)
    if not names:
        yield Check("tracked", PASS, "neither the index nor a proxy file is tracked")


def _derived(name: str) -> bool:
    return os.path.basename(name).startswith(".memory.db")


def _private(name: str, listed: set[str]) -> bool:
    return name in listed or name in ("proxy.md", "proxy.archive.md") or name.startswith("proxy-tasks/")


def _ignored(repository: Repository) -> Iterator[Check]:
    for name in repository.bare:
        what = "temporary files are not ignored by git" if name == TEMPORARY else "is not ignored by git"
        yield Check("ignored", WARN, what, "mem doctor --fix", name if name != TEMPORARY else "")
    if not repository.bare:
        yield Check("ignored", PASS, "derived and private files are ignored")


def _merge_driver(scene: Scene) -> Iterator[Check]:
    repository = scene.repository
    why = _driver_fault(repository)
    own = {file.name for file in scene.app.listing.files if not file.tree}
    if why:
        yield Check("merge-driver", WARN, why, "mem init, or mem doctor --fix")
    elif not repository.attribute and not own.isdisjoint(repository.tracked):
        what = "git merges the memory files line by line: .gitattributes does not name the driver"
        yield Check("merge-driver", WARN, what, "mem init")
    else:
        what = "memory files merge by entry" if repository.attribute else "no memory file is tracked yet"
        yield Check("merge-driver", PASS, what)


def _driver_fault(repository: Repository) -> str:
    """Why the driver that .gitattributes names cannot run, "" when it can or none is named."""
    if not repository.attribute:
        return ""
    if not repository.driver:
        return ".gitattributes names the merge driver, the git configuration does not know it"
    try:
        program = shlex.split(repository.driver)[0]
    except (ValueError, IndexError):
        return "the merge driver is no command"
    return "" if shutil.which(program) else f"the merge driver calls a program that is not there: {program}"


# --- the index


MALFORMED = "malformed"
"""The word, SQLite's own, for damage that opening a file does not show."""


class IndexState(NamedTuple):
    """How the index file stands: `broken` says why it cannot be used, `behind` what it has not seen."""

    path: Path
    there: bool = False
    broken: str = ""
    busy: bool = False
    behind: tuple[str, ...] = ()


def _index_state(app: App) -> IndexState:
    path = app._index_path(make=False)
    if path == IN_MEMORY or not os.path.lexists(path):
        return IndexState(path)
    state = IndexState(path, True)
    try:
        return _compared(app, state)
    except Exception as error:  # whatever SQLite says of a file: it can be built anew
        busy = not isinstance(error, Unusable) and bool(re.search("locked|busy", str(error)))
        return state._replace(busy=True) if busy else state._replace(broken=str(error))


def _compared(app: App, state: IndexState) -> IndexState:
    index = Index(state.path, [], look=True)
    try:
        if fault := index.integrity():
            return state._replace(broken=f"{MALFORMED}: {fault}")
        changed, gone = index.changed(app.listing.files)
        return state._replace(behind=(*changed, *gone))
    finally:
        index.close()


def _index(scene: Scene) -> Iterator[Check]:
    app, state = scene.app, scene.index
    if state.there:
        yield Check("index", INFO, _facts(state.path), path=str(state.path))
    if not state.there:
        hint = "mem index" if app.listing.files else ""
        yield Check("index", INFO, "no index yet: the first recall builds it", hint)
    elif state.broken:
        yield _broken(state)
    elif state.busy:
        hint = "wait for the other process to end, then run mem doctor again"
        yield Check("index", WARN, "the index is locked by another process", hint, str(state.path))
    elif state.behind and not _just_written(app, state.behind):
        names = ", ".join(state.behind[:5]) + (" …" if len(state.behind) > 5 else "")
        what = f"{_count(len(state.behind), 'file')} changed since it was built: {names}"
        yield Check("index", WARN, what, "mem index (recall does it by itself)", str(state.path))
    else:
        yield Check("index", PASS, "up to date" if not state.behind else "behind by the last write of mem")


def _broken(state: IndexState) -> Check:
    what = f"the index cannot be used: {state.broken}"
    if os.access(state.path.parent, os.W_OK):
        return Check("index", WARN, what, "mem doctor --fix (no memory is lost with it)", str(state.path))
    hint = f"make {state.path.parent} writable, or name another file with MEM_DB"
    return Check("index", FAIL, what, hint, str(state.path))


def _facts(path: Path) -> str:
    """Size and journal mode, as the file's own header tells it."""
    try:
        with open(path, "rb") as file:
            header = file.read(20)
        size = sum(os.path.getsize(f"{path}{end}") for end in ("", "-wal") if os.path.exists(f"{path}{end}"))
    except OSError as error:
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    known = header.startswith(b"SQLite format 3\0") and len(header) == 20
    mode = ("WAL" if header[18] == 2 else "rollback") if known else "unknown"
    return f"{size / 1e6:.1f} MB, journal mode {mode}"


def _just_written(app: App, behind: Sequence[str]) -> bool:
    """Whether the last write of mem itself is all that the index has not seen."""
    try:
        last = app.workspace.last_write()
    except MemError:
        return False
    written = {os.path.realpath(patch.path): patch.before for patch in last.patches} if last else {}
    return all(
        (path := os.path.realpath(app.path_of(name))) in written and _text(path) == written[path]
        for name in behind
    )


def _text(path: str) -> str | None:
    try:
        return tree.decode(tree.read_bytes(path).data)
    except tree.Unreadable:
        return None


# --- vectors


ASKED_FOR = 3.0
"""Seconds that an embedder has to answer."""


def _embedder(scene: Scene) -> Iterator[Check]:
    """Which embedder there is, whether it answers, and whether the index has its vectors."""
    from memcli.embed.local import Local

    app = scene.app
    try:
        embedder = app.embedder
    except MemError as error:
        yield Check("embedder", FAIL, error.what, error.hint)
        return
    if embedder is None:
        yield _sparse(scene)
        return
    name = f"{embedder.provider}/{embedder.model}"
    where = f" at {shown(app.config.embed_url)}" if app.config.embed_url else ""
    try:
        if isinstance(embedder, Local):
            embedder.words(["mem"])  # without numpy, as in a recall
        else:
            embedder.embed(["mem"], query=True, deadline=ASKED_FOR)
    except MemError as error:
        yield Check("embedder", FAIL, f"{name}{where} does not answer: {error.what}", error.hint)
    else:
        yield Check("embedder", PASS, f"{name}{where}")
    yield from _vectors(scene, name)


def _sparse(scene: Scene) -> Check:
    """No embedder: by choice, or because none is installed."""
    if scene.app.config.embedder == "none":
        return Check("embedder", INFO, "switched off (embedder = none): words alone are searched")
    what = "sparse-only: no embedder is installed, words alone are searched"
    return Check("embedder", WARN, what, "pip install 'memcli[local]', or set embedder = none")


def _vectors(scene: Scene, name: str) -> Iterator[Check]:
    """Whether the vectors in the index are those of the embedder, and all there."""
    app, state = scene.app, scene.index
    if not state.there or state.broken or state.busy or not app.listing.files:
        return
    path = str(state.path)
    index = Index(state.path, [], look=True)
    try:
        made, (have, should) = index.vectors.state(), index.vectors.count(app.chosen)
    finally:
        index.close()
    if made is not None and made.name != name:
        what = f"the vectors in the index are of another model ({made.name})"
        yield Check("vectors", FAIL, what, "mem index makes them anew", path)
    elif have < should:
        yield Check("vectors", WARN, f"{should - have} of {should} chunks have no vector", "mem index", path)
    else:
        yield Check("vectors", PASS, f"all of {_count(should, 'chunk')}")


# --- state, leftovers, work trees


def _state(scene: Scene) -> Iterator[Check]:
    folder = history.state_dir()
    path = folder / "state.db"
    if not os.access(next(p for p in (folder, *folder.parents) if p.exists()), os.W_OK):
        hint = "make it writable: without it nothing can be written or undone"
        yield Check("state", WARN, "the state folder cannot be written", hint, str(folder))
    elif not path.exists():
        yield Check("state", INFO, "no history yet", path=str(path))
    else:
        try:
            with scene.app.history():
                yield Check(
                    "state", INFO, f"history of recalls, {path.stat().st_size / 1e6:.1f} MB", "", str(path)
                )
        except RefusedError as error:
            yield Check("state", WARN, error.what, error.hint, str(path))


def _leftovers(scene: Scene) -> Iterator[Check]:
    journals, temps = _unfinished(scene.app), _abandoned(scene.app)
    for journal in journals:
        what = "a write was interrupted"
        yield Check("leftovers", WARN, what, "mem doctor --fix (so does the next write)", str(journal))
    for temp in temps:
        yield Check(
            "leftovers", WARN, "a temporary file was left behind", "mem doctor --fix", _shown(scene.app, temp)
        )
    if not journals and not temps:
        yield Check("leftovers", PASS, "no interrupted write")


def _unfinished(app: App) -> list[Path]:
    """Journals of this root, and those that nobody can read."""
    own = str(app.root.resolve()) if app.root else ""
    folder = history.state_dir() / "pending"
    return [path for path in sorted(folder.glob("*.json")) if _journal_root(path) in (own, None)]


def _journal_root(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_bytes())["root"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _abandoned(app: App) -> list[str]:
    """Temporary files beside memory files whose writer is no more."""
    folders = dict.fromkeys(os.path.dirname(file.path) for file in app.listing.files)
    folders |= dict.fromkeys(str(folder) for folder in (app.root, app.home) if folder is not None)
    return [
        os.path.join(folder, name)
        for folder in folders
        for name in _names(folder)
        if workspace.is_stale(name)
    ]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _worktrees(scene: Scene) -> Iterator[Check]:
    repository = scene.repository
    others = list(_linked(scene)) if repository.top is not None and not repository.fault else []
    rows = [row for top, branch in others for row in _only_there(scene, top, branch)]
    yield from rows
    if others and not rows:
        yield Check("worktrees", PASS, f"no memory stands only in {_count(len(others), 'other work tree')}")


def _linked(scene: Scene) -> Iterator[tuple[Path, str]]:
    """The other work trees of this repository and their branches, without those of jobs and tasks."""
    app, top = scene.app, scene.repository.top
    assert app.root is not None and top is not None
    common = git.common_dir(top)
    if common is None or not (common / "worktrees").is_dir():
        return
    listed = git.run(["worktree", "list", "--porcelain"], app.root).stdout
    in_view = {
        os.path.realpath(app.root / file.tree) for file in app.listing.files if file.tree not in ("", "~")
    }
    for block in listed.split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in block.splitlines())
        path = os.path.realpath(fields.get("worktree", ""))
        if "bare" not in fields and os.path.isdir(path) and path not in {os.path.realpath(top), *in_view}:
            branch = fields.get("branch", fields.get("HEAD", "")[:12])
            yield Path(path), branch.removeprefix("refs/heads/")


def _only_there(scene: Scene, top: Path, branch: str) -> Iterator[Check]:
    """A row when a work tree holds entries that stand in no file of ours."""
    app = scene.app
    assert app.root is not None and scene.repository.top is not None
    root = top / os.path.relpath(app.root, scene.repository.top)
    listing = tree.list_files(root, app.home, app.jobs_dirs, app.config.memory_files)
    ours = {document.path: document.memory.text for document in scene.documents}
    files = [
        file for file in listing.files if not file.tree and file.place.store in ("memory", "institutional")
    ]
    found = [d for d in _documents(files)[0] if ours.get(d.path) != d.memory.text]
    known = checks.ids(scene.documents) | checks.merged_ids(scene.documents) if found else set()
    lost = [(d, e) for d in found for e in d.memory.entries if e.identified and e.id not in known]
    if lost:
        names = ", ".join(dict.fromkeys(document.path for document, _ in lost))
        what = f"{_count(len(lost), 'entry stands', 'entries stand')} only in that work tree: {names}"
        hint = f"git merge {shlex.quote(branch)}, before it is removed"
        yield Check("worktrees", WARN, what, hint, str(root / lost[0][0].path), lost[0][1].line)


# --- hooks


AGENTS = {"claude": "Claude Code", "codex": "Codex"}
LONGEST_WAIT = 60
"""Seconds above which a timeout was meant as milliseconds."""
SILENCE = 24 * 3600
"""Seconds that a session may have gone on without a call before hooks count as silent."""
SPOOLED = 3
"""From so many waiting sessions on it is worth a word."""


def _hooks(scene: Scene) -> Iterator[Check]:
    installed = [settings for settings in _settings(scene) if _ours(settings)]
    names = [settings.harness for settings in installed]
    for settings in installed:
        yield from _agent_hooks(settings, twice=names.count(settings.harness) > 1)
    if not installed:
        worked = _session_since(scene.app, 0)
        what = "agents work here, and none calls mem by itself" if worked else "no agent calls mem by itself"
        yield Check("hooks", WARN if worked else INFO, what, "mem init --claude, or --codex", worked)
    yield from _git_hooks(scene)
    yield from _signs_of_life(scene, installed)
    yield from _hook_log()


def _settings(scene: Scene) -> list[harness.Settings]:
    return harness.all_settings(scene.app.root, scene.app.environ)


def _ours(settings: harness.Settings) -> list[settings_json.Handler]:
    try:
        return settings_json.handlers(_text(str(settings.path)) or "")
    except MemError:
        return []  # whether it is JSON is the agent's business


def _agent_hooks(settings: harness.Settings, *, twice: bool) -> Iterator[Check]:
    """Whether the hooks in one settings file are whole, and call what is there."""
    found, name, path = _ours(settings), AGENTS[settings.harness], str(settings.path)
    again = f"mem init --{settings.harness}" + (f" --{settings.scope}" * (settings.scope != "local"))
    gone = {each.program for each in found if not harness.is_runnable(each.program)}
    slow = [each for each in found if isinstance(each.timeout, (int, float)) and each.timeout > LONGEST_WAIT]
    missing = {hook.event for hook in settings_json.HOOKS[settings.harness]} - {each.event for each in found}
    faults = [
        *(f"{name} calls a program that is not there: {program}" for program in sorted(gone)),
        *(f"a hook of {name} may take {each.timeout} seconds ({each.event})" for each in slow),
        *([f"{name} does not call mem on {', '.join(sorted(missing))}"] if missing else []),
    ]
    for fault in faults:
        yield Check("hooks", WARN, fault, again, path)
    if twice:
        what = f"{name} has hooks of mem in two files and runs both"
        yield Check("hooks", WARN, what, f"{again} --remove", path)
    elif not faults:
        yield Check("hooks", PASS, f"{name} calls mem", path=path)


def _git_hooks(scene: Scene) -> Iterator[Check]:
    """Whether the hooks of git that name mem find it. Git without hooks of ours is no fault."""
    top = scene.repository.top
    if top is None or scene.repository.fault:
        return
    folder = harness.hooks_of(top).folder
    programs = {name: hook_script.program_of(_text(str(folder / name)) or "") for name in hook_script.HOOKS}
    found = {name: program for name, program in programs.items() if program is not None}
    for name, program in found.items():
        if not harness.is_runnable(program):
            what = f"git's {name} calls a program that is not there: {program}"
            yield Check("hooks", WARN, what, "mem init --git", str(folder / name))
    if found and all(map(harness.is_runnable, found.values())):
        yield Check("hooks", PASS, f"git calls mem: {', '.join(found)}", path=str(folder))


def _signs_of_life(scene: Scene, installed: Sequence[harness.Settings]) -> Iterator[Check]:
    """Whether hooks are called when sessions go on, and whether sessions wait to be learned from."""
    app = scene.app
    if app.root is None:
        return
    beats, waiting = _remembered(app)
    agents = [at for event, at in beats.items() if not event.startswith("post-")]
    since = max([*agents, *(int(settings.path.stat().st_mtime) for settings in installed)], default=0)
    silent = _session_since(app, since + SILENCE) if installed else ""
    if silent:
        what = "hooks are silent: a session went on and none was called"
        hint = "start the agent anew; Codex wants them approved once: /hooks"
        yield Check("hooks", WARN, what, hint, silent)
    elif agents:
        yield Check("hooks", INFO, f"last called {_moment(max(agents))}")
    if len(waiting) >= SPOOLED:
        yield Check("hooks", WARN, f"{len(waiting)} ended sessions wait to be learned from", "mem extract")


def _remembered(app: App) -> tuple[Mapping[str, int], Sequence[history.Spooled]]:
    """When hooks were called, and what waits; nothing where there is no history yet."""
    if not (history.state_dir() / "state.db").exists():
        return {}, ()
    with app.history() as known:
        return known.beats(), known.spooled()


def _session_since(app: App, at: int) -> str:
    """A session of this repository that was written to after a moment, "" for none."""
    from memcli.transcript.discover import discover

    if app.root is None:
        return ""
    found = discover(app.environ, [app.root], newer=at * 10**9).found
    return str(found[0].path) if found else ""


def _moment(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds).isoformat(" ", "minutes")


def _hook_log() -> Iterator[Check]:
    """The log of the hooks, with the last failure that stands in it."""
    path = history.state_dir() / history.LOG
    lines = (_text(str(path)) or "").splitlines() if path.is_file() else []
    failed = [line for line in lines if "Error" in line]
    if failed:
        yield Check("hooks", INFO, f"the last failure of a hook: {failed[-1][:200]}", path=str(path))


# --- surroundings


def _other_memory(scene: Scene) -> Iterator[Check]:
    app = scene.app
    for path in _claude_files(app):
        yield from _claude_memory(path)
    for folder, name, what in _NEIGHBOURS:
        base = app.home if folder == "~" else app.root
        if base is not None and (base / name).exists():
            yield Check("other-memory", INFO, what, path=f"{folder}/{name}".removeprefix("./"))


_NEIGHBOURS = (
    (".", ".memsearch", "memsearch keeps memory here, too"),
    ("~", ".memsearch", "memsearch keeps memory, too"),
    ("~", ".claude-mem", "claude-mem keeps memory, too"),
    (".", ".basic-memory", "basic-memory keeps memory here, too"),
    ("~", ".basic-memory", "basic-memory keeps memory, too"),
    (".", "CLAUDE.md", "Claude Code reads it in every session"),
    (".", "AGENTS.md", "agents read it in every session"),
)
CLAUDE_LINES, CLAUDE_BYTES = 200, 25_000
"""How much of its MEMORY.md Claude Code reads."""


def _claude_files(app: App) -> list[Path]:
    tops = [app.root, git.work_tree(app.root)] if app.root is not None else []
    slugs = dict.fromkeys(re.sub(r"[^A-Za-z0-9]", "-", str(top)) for top in tops if top is not None)
    return [app.home / ".claude" / "projects" / slug / "memory" / "MEMORY.md" for slug in slugs]


def _claude_memory(path: Path) -> Iterator[Check]:
    try:
        data = path.read_bytes()
    except OSError:
        return
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    what = f"Claude Code keeps auto memory, too: {_count(lines, 'line')}, {len(data) / 1000:.1f} KB"
    over = lines > CLAUDE_LINES or len(data) > CLAUDE_BYTES
    hint = "Claude Code reads its first 200 lines or 25 KB only: shorten it" if over else ""
    yield Check("other-memory", INFO, what, hint, str(path))


def _llm(scene: Scene) -> Iterator[Check]:
    environ, config = scene.app.environ, scene.app.config
    if environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN"):
        hint = "" if scene.online or config.llm == "none" else "mem doctor --online asks it once"
        what = f"an Anthropic API key is in the environment (never shown); llm = {config.llm}"
        yield Check("llm", INFO, what, hint)
    if scene.online:
        yield _llm_asked(scene.app)


def _llm_asked(app: App) -> Check:
    """Whether the configured language model answers."""
    from memcli.llm import Ask

    name = app.config.llm
    try:
        model = app.model
        if model is None:
            return Check("llm", INFO, "llm = none: there is no language model to ask")
        model.ask(Ask("Answer in one word.", "Say yes.", max_tokens=1000, purpose="doctor", timeout=30))
    except MemError as error:
        return Check("llm", FAIL, error.what, error.hint)
    asked = name if name == "scripted" else f"{name} ({app.config.model})"
    return Check("llm", PASS, f"llm = {asked} answers")


def _versions(scene: Scene) -> Iterator[Check]:
    """An index is made in memory to see that FTS5 is there."""
    versions = f"mem {__version__}, Python {platform.python_version()}"
    index = Index(IN_MEMORY, [])
    try:
        sqlite = index.db.execute("SELECT sqlite_version()").fetchone()[0]
        yield Check("versions", INFO, f"{versions}, SQLite {sqlite} with FTS5")
    finally:
        index.close()


SECTIONS: dict[str, Callable[[Scene], Iterable[Check]]] = {
    "root": _root,
    "configuration": _configuration,
    "memory": _memory,
    "content": _content,
    "git": _git,
    "index": _index,
    "embedder": _embedder,
    "state": _state,
    "leftovers": _leftovers,
    "worktrees": _worktrees,
    "hooks": _hooks,
    "other-memory": _other_memory,
    "llm": _llm,
    "versions": _versions,
}
"""Every section of the report, in order: a new check is a function here (or a rule in checks.py)."""


# --- mending


class Mended(NamedTuple):
    """What was mended, one line each, the patches of it, and a row for each attempt that failed."""

    done: Sequence[str] = ()
    patches: Sequence[Patch] = ()
    failed: Sequence[Check] = ()


Remedy = Callable[[Scene, bool], Mended]


def _mend(app: App, files: Sequence[str], remedies: Mapping[str, Remedy], *, dry_run: bool) -> Mended:
    """Try every remedy; one that fails is a row and does not keep the others from being tried."""
    done: list[str] = []
    patches: list[Patch] = []
    failed: list[Check] = []
    for name, remedy in remedies.items():
        try:
            one = remedy(Scene(app, files), dry_run)
        except MemError as error:
            failed.append(Check(name, _gravity(name), f"not mended: {error.what}", error.hint))
        except Exception as error:  # of the system or of SQLite
            failed.append(Check(name, _gravity(name), f"not mended: {error}", "mend what it names"))
        else:
            done += one.done
            patches += one.patches
            failed += one.failed
    return Mended(done, patches, failed)


def _gravity(name: str) -> str:
    return FAIL if name == "index" else WARN


def _recover(scene: Scene, dry_run: bool) -> Mended:
    """Finish interrupted writes, and remove what their writers left."""
    app = scene.app
    journals, temps = _unfinished(app), _abandoned(app)
    if not journals and not temps:
        return Mended()
    if dry_run:
        return Mended(
            [*["finish an interrupted write" for _ in journals], *(f"remove {temp}" for temp in temps)]
        )
    report = app.workspace.recover()
    with app.workspace.hold("doctor"):
        workspace.sweep({Path(temp).parent for temp in temps})
    app.relist()
    done = [f"finished an interrupted write of {name}" for name in report.recovered]
    done += [f"set aside what was meant for {kept.path}: {kept.copy}" for kept in report.kept if kept.copy]
    done += [
        "moved a journal aside that cannot be read" for path in journals if not path.exists() and not done
    ]
    return Mended([*done, *(f"removed {temp}" for temp in temps if not os.path.exists(temp))])


def _write_ids(scene: Scene, dry_run: bool) -> Mended:
    """Give every entry without an id the one it goes by."""
    return scene.app.write(lambda: _plan_ids(scene), "doctor", dry_run=dry_run)


def _plan_ids(scene: Scene) -> Mended:
    app = scene.app
    found = _named_files(app, scene.files) if scene.files else app.listing.files
    files = [file for file in found if file.place.store != "archive" and app.may_write(file)]
    done, patches, failed = [], [], []
    for file in files:
        try:
            document = _document(file)
            after = edited(document.memory, _changes(document)).text
        except tree.Unreadable:
            continue  # a row of its own says so
        except DataError as error:
            failed.append(Check("ids", WARN, f"not mended: {error.what}", error.hint, file.name))
            continue
        if after != document.memory.text:
            count = _count(sum(not entry.identified for entry in document.memory.entries), "id")
            done.append(f"wrote {count} into {file.name}")
            patches.append(Patch(file.path, document.memory.text, after))
    return Mended(done, patches, failed)


def _changes(document: Document) -> list[Change]:
    """The id of each entry without one.

    A file with a conflict is left alone, and one with a secret: undo would keep a copy of it.
    """
    memory = document.memory
    missing = [(at, entry) for at, entry in enumerate(memory.entries) if not entry.identified]
    if not missing or checks.conflict_lines(memory.text) or redact.secrets(memory.text):
        return []
    taken = {entry.id for entry in memory.entries if entry.identified}
    changes = []
    for at, entry in missing:
        name = entry.id
        while name in taken:
            name = derived_id(memory.path, name)
        taken.add(name)
        changes.append(Change(at, {"id": name}))
    return changes


def _ignore(scene: Scene, dry_run: bool) -> Mended:
    """Let git ignore derived and private files, through .git/info/exclude."""
    repository, root = scene.repository, scene.app.root
    if root is None or repository.top is None or not repository.bare:
        return Mended()
    names = [name for name in repository.bare if name not in TO_COME]
    own = [_pattern(os.path.normpath(os.path.relpath(root / name, repository.top))) for name in names]
    ours = (*git.EXCLUDED, *git.MOMENTS) if len(names) < len(repository.bare) else ()
    if not dry_run:
        git.exclude(repository.top, (*ours, *own))
    return Mended([f"let git ignore {', '.join(repository.bare)} (.git/info/exclude)"])


def _pattern(name: str) -> str:
    """A line of an exclude file that means this one path; the whole folder of private tasks."""
    folder = os.path.dirname(name)
    whole = folder + "/" if os.path.basename(folder) == "proxy-tasks" else name
    return "/" + re.sub(r"([*?\[\\])", r"\\\1", whole)


def _register(scene: Scene, dry_run: bool) -> Mended:
    """Make the merge driver that .gitattributes names known to git."""
    repository = scene.repository
    if repository.top is None or not _driver_fault(repository):
        return Mended()
    return Mended(git.register_driver(repository.top, dry_run=dry_run))


def _reindex(scene: Scene, dry_run: bool) -> Mended:
    """Build a broken index anew, bring a stale one up."""
    app, state = scene.app, scene.index
    if not state.there or state.busy or not (state.broken or state.behind):
        return Mended()
    what = "built the index anew" if state.broken else "brought the index up to date"
    if not dry_run:
        _rebuild(app, state)
    return Mended([f"{what} ({state.path})"])


def _rebuild(app: App, state: IndexState) -> None:
    told, index = len(app.notes), app.index  # opening it moves aside what is no index of ours, with a note
    if MALFORMED in state.broken and len(app.notes) == told:
        index.repair(index.db.DatabaseError(state.broken))
    if app.refresh().busy:
        raise RefusedError(f"the index is busy ({state.path})", "run mem doctor --fix again")


REMEDIES: dict[str, Remedy] = {
    "leftovers": _recover,
    "ids": _write_ids,
    "ignored": _ignore,
    "index": _reindex,
    "merge-driver": _register,
}

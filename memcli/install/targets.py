"""The files that mem init changes: planned together, written all or none, and restored
on removal."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli.errors import RefusedError, UsageError
from memcli.memory.values import Patch
from memcli.project.context import Project, moment
from memcli.storage.files import Unreadable, private_dir, read_text, state_dir
from memcli.text.digests import digest

if TYPE_CHECKING:
    from memcli.app import App
    from memcli.storage.workspace import Workspace

REMOVAL = "init --remove"
"""The name of a removal in its undo record."""


class Target(NamedTuple):
    """A file to change: `put` returns its new text, `drop` the original one; None means
    no file. Its real path must be below one of `within`. `what` describes it, `next`
    says what to do after `put`. A file that is not text stops everything, unless
    `otherwise` is given: then it is left alone and this text is reported. A `private`
    file belongs to one person, so git must ignore it. Of a `copied` file the original
    is kept, so that `drop` can restore every byte."""

    path: Path
    put: Callable[[str | None], str | None]
    drop: Callable[[str], str | None]
    within: tuple[Path, ...]
    what: str
    next: str = ""
    otherwise: str = ""
    private: bool = False
    copied: bool = False


class Changes(NamedTuple):
    """What was or would be done, one line each, what to do next, and the patches."""

    done: tuple[str, ...]
    patches: tuple[Patch, ...]
    next: tuple[str, ...] = ()


class Left(Exception):
    """A file that is left unchanged, and why."""


def apply(
    app: "App",
    targets: Sequence[Target],
    notes: list[str],
    *,
    remove: bool,
) -> Changes:
    """Change every file to its new text, or with `remove` back to the original: all or
    none."""
    project = app.project
    targets = [_with_copy(target) if target.copied else target for target in targets]
    patches = _plan(targets, notes, remove=remove)
    if patches and not app.dry_run:
        copies = _copies(targets, patches)
        made = _new_folders(patches)
        _write(app, targets, remove=remove)
        _keep_copies(copies, remove=remove)
        _remember(project, made, remove=remove)
    patched = {patch.path: patch for patch in patches}
    changed = [target for target in targets if str(target.path) in patched]
    joined = "; ".join(target.next for target in changed if target.next)
    next = dict.fromkeys(filter(None, joined.split("; ")))
    return Changes(
        done=tuple(_done(project, changed, patched, remove=remove)),
        patches=tuple(patches),
        next=() if remove else tuple(next),
    )


def _copies(
    targets: Iterable[Target], patches: Iterable[Patch]
) -> dict[Path, str | None]:
    """The kept original text of each file, without anything of mem."""
    texts = {patch.path: patch.before for patch in patches}
    copies = {}
    for target in targets:
        if target.copied and str(target.path) in texts:
            before = texts[str(target.path)]
            copies[target.path] = before and target.drop(before)
    return copies


def _keep_copies(copies: Mapping[Path, str | None], *, remove: bool) -> None:
    for path, before in copies.items():
        after = None if remove else text_of(path)
        values = after and {"path": str(path), "before": before, "after": _sha(after)}
        _keep(_copy_path(path), values)


@contextmanager
def wiring_again(
    project: Project, patches: Sequence[Patch], copied: Sequence[str]
) -> Iterator[None]:
    """After the block that undoes a removal with these patches, store again what the
    removal forgot, so that the next removal finds the original text and the folders."""
    new_folders = _new_folders(patches)
    yield
    texts = {Path(patch.path): patch.before for patch in patches}
    copies = {path: text for path, text in texts.items() if str(path) in copied}
    _keep_copies(copies, remove=False)
    _remember(project, new_folders, remove=False)


def _new_folders(patches: Iterable[Patch]) -> list[str]:
    """The missing folders of missing files."""
    new = (Path(patch.path) for patch in patches if patch.before is None)
    return [
        str(parent) for path in new for parent in path.parents if not parent.exists()
    ]


def _write(app: "App", targets: Sequence[Target], *, remove: bool) -> None:
    project = app.project
    for workspace, group in _by_workspace(project, app.workspace, targets):
        with workspace.hold("init"):
            patches = _plan(group, [], remove=remove)
            resolved = [_resolved(project, patch) for patch in patches]
            copied = [str(target.path) for target in group if target.copied]
            workspace.write(resolved, REMOVAL if remove else "init", note=copied)


def _resolved(project: Project, patch: Patch) -> Patch:
    """The patch; for a file outside of the project, with the user's own links
    resolved."""
    if _is_below(project, patch.path):
        return patch
    return patch._replace(path=os.path.realpath(patch.path))


def _plan(targets: Iterable[Target], notes: list[str], *, remove: bool) -> list[Patch]:
    patches = []
    for target in targets:
        try:
            before = text_of(target.path)
            after = _after(target, before, remove=remove)
        except Unreadable as error:
            if not target.otherwise:
                message = f"{target.path}:{error.line}: {error}"
                raise UsageError(message, "fix that file first") from None
            if not remove:
                notes.append(f"{target.path}: {target.otherwise}")
        except UsageError as error:
            raise UsageError(f"{target.path}:{error.what}", error.hint) from None
        except Left as reason:
            notes.append(f"{target.path}: {reason}")
        else:
            if after != before:
                _check_place(target)
                patches.append(Patch(str(target.path), before, after))
    return patches


def _after(target: Target, before: str | None, *, remove: bool) -> str | None:
    if remove:
        return before and target.drop(before)
    return target.put(before)


def _check_place(target: Target) -> None:
    """Raise RefusedError if a link in a repository leads out of it."""
    if not _place(target):
        real = os.path.realpath(target.path)
        message = f"{target.path}: leads to {real}, where mem does not write"
        raise RefusedError(message, "replace the link with the file")


def _place(target: Target) -> str:
    """The first allowed folder that contains the file's real path, "" if none."""
    within = map(os.path.realpath, target.within)
    real = Path(os.path.realpath(target.path))
    return next((folder for folder in within if real.is_relative_to(folder)), "")


def text_of(path: Path) -> str | None:
    """The text of a file, None if there is none."""
    return read_text(path) if os.path.lexists(path) else None


def _is_below(project: Project, path: str | Path) -> bool:
    return project.root is not None and Path(path).is_relative_to(project.root)


def _by_workspace(
    project: Project, project_workspace: "Workspace", targets: Sequence[Target]
) -> "Iterator[tuple[Workspace, list[Target]]]":
    from memcli.storage.workspace import Workspace

    def apart(target: Target) -> str:
        return "" if _is_below(project, target.path) else _place(target)

    for name, group in groupby(sorted(targets, key=apart), key=apart):
        base = Path(name)
        now = moment(project.now)
        yield (
            Workspace(base, state_dir(), now, allowed=[base])
            if name
            else project_workspace,
            list(group),
        )


def _with_copy(target: Target) -> Target:
    """A target that restores the kept copy if the file is as mem left it."""

    def drop(text: str) -> str | None:
        kept = _kept(_copy_path(target.path))
        if isinstance(kept, dict) and kept.get("after") == _sha(text):
            before: str | None = kept.get("before")
            return before
        return target.drop(text)

    def put(text: str | None) -> str | None:
        if text is None or target.put(text) == text:
            return text if text is not None else target.put(None)
        return target.put(drop(text))

    return target._replace(put=put, drop=drop)


def _copy_path(path: Path) -> Path:
    return state_dir() / "init" / f"{digest(os.fsencode(path))}.copy.json"


def _kept(path: Path) -> Any:
    with suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def _keep(path: Path, values: Any) -> None:
    from memcli.storage.durable import write_output

    if values:
        private_dir(path.parent)
        write_output(path, json.dumps(values), mode=0o600)
    else:
        path.unlink(missing_ok=True)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _remember(project: Project, folders: Iterable[str], *, remove: bool) -> None:
    name = digest(os.fsencode(project.root or project.home))
    path = state_dir() / "init" / f"{name}.json"
    known_folders = {*map(str, _kept(path) or ()), *folders}
    if remove:
        for folder in sorted(known_folders, key=len, reverse=True):
            with suppress(OSError):
                os.rmdir(folder)
        known_folders = {folder for folder in known_folders if os.path.isdir(folder)}
    _keep(path, sorted(known_folders))


def _done(
    project: Project,
    changed: Iterable[Target],
    patched: Mapping[str, Patch],
    *,
    remove: bool,
) -> Iterator[str]:
    """What was done: one line for all files with the same purpose."""
    rows: dict[str, dict[str, list[str]]] = {}
    for target in changed:
        verb = _verb(target, patched[str(target.path)], remove=remove)
        names = rows.setdefault(target.what, {}).setdefault(verb, [])
        names.append(project.name_of(target.path))
    for what, verbs in rows.items():
        listed = (f"{verb} {', '.join(_in_folders(verbs[verb]))}" for verb in verbs)
        yield f"{', '.join(listed)}: {what}"


def _in_folders(names: Iterable[str]) -> Iterator[str]:
    """The files, those of one folder as its own: `.git/hooks/ (post-merge, post-commit)`."""
    for folder, files in groupby(names, os.path.dirname):
        listed = ", ".join(map(os.path.basename, files))
        is_one = not folder or ", " not in listed
        yield os.path.join(folder, listed if is_one else f" ({listed})")


def _verb(target: Target, patch: Patch, *, remove: bool) -> str:
    if patch.before is None or patch.after is None:
        return "created" if patch.before is None else "removed"
    if remove:
        return "removed from"
    with suppress(UsageError):
        return "added to" if target.drop(patch.before) == patch.before else "updated"
    return "updated"

"""Files that mem init changes: planned together, written all or none, and brought
back."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli.errors import RefusedError, UsageError
from memcli.memory.values import Patch
from memcli.project.context import Project, moment
from memcli.storage.files import Unreadable, digest, private_dir, read_text, state_dir

if TYPE_CHECKING:
    from memcli.app import App
    from memcli.storage.workspace import Workspace


class Target(NamedTuple):
    """A file to change: `put` makes its new text, `drop` that of before; None is no
    file.

    Its real place must be below one of `within`. `what` is said of it, `next` when it
    was put. A file that is no text stops everything, but with `otherwise` is left, and
    that is said. What is `private` is one person's: git is not to offer it. Of what is
    `copied` the text of before is kept, so that `drop` can bring back every byte."""

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
    """What was (or would be) done, one line each, what to do next, and the patches of
    the files."""

    done: tuple[str, ...]
    patches: tuple[Patch, ...]
    next: tuple[str, ...] = ()


class Left(Exception):
    """A file that is left as it is, and why."""


def apply(
    app: "App",
    targets: Sequence[Target],
    notes: list[str],
    *,
    remove: bool,
    dry_run: bool,
) -> Changes:
    """Bring every file to its new text, or with `remove` to that of before: all of them
    or none."""
    project = app.project
    own = app.workspace
    targets = [_with_copy(target) if target.copied else target for target in targets]
    patches = _plan(targets, notes, remove=remove)
    if patches and not dry_run:
        texts = {patch.path: patch.before for patch in patches}
        copied = [each for each in targets if each.copied and str(each.path) in texts]
        before = ((each, texts[str(each.path)]) for each in copied)
        copies = {each.path: text and each.drop(text) for each, text in before}
        new = (Path(path) for path, text in texts.items() if text is None)
        made = [str(each) for path in new for each in path.parents if not each.exists()]
        for workspace, group in _by_workspace(project, own, targets):
            with workspace.hold("init"):
                planned = _plan(group, [], remove=remove)
                links = (
                    p for p in planned if not _is_below(project, p.path)
                )  # the user's own
                real = {p: p._replace(path=os.path.realpath(p.path)) for p in links}
                workspace.write([real.get(p, p) for p in planned], "init")
        for path, copy in copies.items():
            after = None if remove else text_of(path)
            values = after and {"path": str(path), "before": copy, "after": _sha(after)}
            _keep(_copy_path(path), values)
        _remember(project, made, remove=remove)
    done, next = _said(project, targets, patches, remove=remove)
    return Changes(done, tuple(patches), next)


def _plan(targets: Iterable[Target], notes: list[str], *, remove: bool) -> list[Patch]:
    patches = []
    for target in targets:
        try:
            before = text_of(target.path)
            after = target.put(before) if not remove else before and target.drop(before)
        except Unreadable as error:
            if not target.otherwise:
                what = f"{target.path}:{error.line}: {error}"
                raise UsageError(what, "mend that file first") from None
            notes += [] if remove else [f"{target.path}: {target.otherwise}"]
        except UsageError as error:
            raise UsageError(f"{target.path}:{error.what}", error.hint) from None
        except Left as reason:
            notes.append(f"{target.path}: {reason}")
        else:
            if after != before:
                if not _place(target):  # a link in a repository must not lead out of it
                    real = os.path.realpath(target.path)
                    what = f"{target.path}: leads to {real}, where mem does not write"
                    raise RefusedError(what, "put the file itself there")
                patches.append(Patch(str(target.path), before, after))
    return patches


def _place(target: Target) -> str:
    """The first of the folders that a file may lie in which holds its real place, ""
    for none."""
    within = map(os.path.realpath, target.within)
    real = Path(os.path.realpath(target.path))
    return next((folder for folder in within if real.is_relative_to(folder)), "")


def text_of(path: Path) -> str | None:
    """The text of a file, None when there is none."""
    return read_text(path) if os.path.lexists(path) else None


def _is_below(project: Project, path: str | Path) -> bool:
    return project.root is not None and Path(path).is_relative_to(project.root)


def _by_workspace(
    project: Project, own: "Workspace", targets: Sequence[Target]
) -> "Iterator[tuple[Workspace, list[Target]]]":
    from memcli.storage.workspace import Workspace

    def apart(target: Target) -> str:
        return "" if _is_below(project, target.path) else _place(target)

    for name, group in groupby(sorted(targets, key=apart), key=apart):
        base = Path(name)
        now = moment(project.now)
        yield (
            Workspace(base, state_dir(), now, allowed=[base]) if name else own,
            list(group),
        )


def _with_copy(target: Target) -> Target:
    """A target that goes back to the kept copy while the file is as we left it."""

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
    path = (
        state_dir()
        / "init"
        / f"{digest(os.fsencode(project.root or project.home))}.json"
    )
    known = {*map(str, _kept(path) or ()), *folders}
    if remove:
        for folder in sorted(known, key=len, reverse=True):
            with suppress(OSError):
                os.rmdir(folder)
        known = {folder for folder in known if os.path.isdir(folder)}
    _keep(path, sorted(known))


def _said(
    project: Project,
    targets: Sequence[Target],
    patches: Sequence[Patch],
    *,
    remove: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    changed = {patch.path: patch for patch in patches}
    rows: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        patch = changed.get(str(target.path))
        if patch is not None:
            key = (_verb(target, patch, remove=remove), target.what)
            rows.setdefault(key, []).append(project.name_of(target.path))
    done = [
        f"{verb} {', '.join(names)}: {what}" for (verb, what), names in rows.items()
    ]
    next = [
        target.next for target in targets if target.next and str(target.path) in changed
    ]
    return tuple(done), () if remove else tuple(dict.fromkeys(next))


def _verb(target: Target, patch: Patch, *, remove: bool) -> str:
    if patch.before is None or patch.after is None:
        return "created" if patch.before is None else "removed"
    if remove:
        return "removed from"
    with suppress(UsageError):
        return "added to" if target.drop(patch.before) == patch.before else "updated"
    return "updated"

"""mem init: make a repository ready, let git, agents and CI call mem, and take all of that back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import RefusedError, UsageError
from memcli.install import agents, harness, repository, workflow
from memcli.install.targets import Changes, Place, Target, apply
from memcli.project import distribution, git, places
from memcli.project.context import moment
from memcli.project.levels_on_disk import FoundFile, Listing
from memcli.project.places import line_for


class InitRequest(NamedTuple):
    """What is to call mem; nothing named is the repository alone (with `remove`: all of it).

    `source` is what CI is to install; `everything` with `remove` adds the user's own settings.
    """

    git: bool = False
    agents: tuple[str, ...] = ()
    ci: bool = False
    instructions: bool = False
    user: bool = False
    shared: bool = False
    remove: bool = False
    source: str = ""
    everything: bool = False
    git_dir: str = ""

    @property
    def named(self) -> bool:
        return bool(self.git or self.agents or self.ci or self.instructions)


InitReport = Changes


def run(app: App, request: InitRequest, *, dry_run: bool = False) -> InitReport:
    """Bring every file that was asked for to its new text, all in place or nothing; twice is once."""
    _check(app.project.root, request)
    if not dry_run:
        _tidy(app)
    place = Place(app.project.root, app.project.home, app.project.environ, moment(app.project.now))
    top = git.work_tree(app.project.root) if app.project.root is not None else None
    if top is not None and not git.points_back(top):
        _check_repository(top, request.git_dir)
    notes: list[str] = []
    targets = _targets(place, request, top, notes)
    found = [file for file in app.project.listing.files if file.found]
    if found and app.project.found("MEMORY.md") is None:
        targets = [target for target in targets if target.path.name != "MEMORY.md"]
    if app.project.root is not None and not request.remove:
        notes += _told(app.project.root, app.project.listing, found)
    report = apply(place, app.workspace, targets, notes, remove=request.remove, dry_run=dry_run)
    done = [*report.done, *_driver(top, request, dry_run=dry_run), *dict.fromkeys(notes)]
    faults = (
        [harness.path_fault() or harness.desktop_fault()] if request.git or request.agents else []
    )
    if any(faults) and not request.remove:
        done = [*(done or ["everything is in place already"]), *faults]
    return report._replace(done=tuple(done))


def _check_repository(top: Path, named: str) -> None:
    """Refuse a work tree whose `.git` names a repository that knows nothing of it, unless named."""
    folder = git.common_dir(top)
    if not named or folder is None or os.path.realpath(named) != os.path.realpath(folder):
        raise RefusedError(
            f"{top / '.git'}: names a repository that does not name this work tree: {folder}",
            f"nothing was changed; if it is yours: mem init --git-dir {folder}",
        )


def _told(root: Path, listing: Listing, found: Sequence[FoundFile]) -> list[str]:
    """What memory there is already, folder by folder, and the line that adds what looks like it."""
    folders = Counter(
        file.name.rpartition("/")[0] + "/" if "/" in file.name else file.name for file in found
    )
    told = [
        f"found memory, in view as it is: {name}" + (f" ({count})" if name.endswith("/") else "")
        for name, count in sorted(folders.items())
    ]
    if more := places.others(root, listing):
        told.append(f"looks like memory, too; in view with this in .mem.toml: {line_for(more)}")
    return told


def _check(root: Path | None, request: InitRequest) -> None:
    if request.user and request.shared:
        raise UsageError("--user and --shared name two places", "give one of them")
    placed = request.user or request.shared
    if placed and not (request.git or request.agents or request.remove):
        raise UsageError("--user and --shared say where hooks go", "add --claude or --codex")
    if root is None and not (request.user and (request.agents or request.remove)):
        raise UsageError(
            "there is no project here", "run it inside a repository, or name one with --root"
        )


def _tidy(app: App) -> None:
    """Finish what a killed run left: there may be nothing left to write that would do it."""
    from memcli.storage.durable import sweep
    from memcli.storage.folders import state_dir

    app.workspace.recover()
    sweep([state_dir() / "init"])


def _driver(top: Path | None, request: InitRequest, *, dry_run: bool) -> list[str]:
    if top is None or (request.remove and (request.named or _user_alone(request))):
        return []
    if request.remove:
        return git.unregister_driver(top, dry_run=dry_run)
    return git.register_driver(top, dry_run=dry_run)


def _user_alone(request: InitRequest) -> bool:
    """Whether only the user's own wiring is to go."""
    return request.remove and request.user and not request.named and not request.everything


def _targets(
    place: Place, request: InitRequest, top: Path | None, notes: list[str]
) -> list[Target]:
    """Each file once, whatever the names that lead to it."""
    found: list[Target] = []
    root, remove = place.root, request.remove
    all_of_it = remove and not request.named and not _user_alone(request)
    if root is not None and (all_of_it or not remove):
        found += repository.base(root, top)
    if root is not None and (request.git or all_of_it):
        found += repository.hooks(top, notes, user=request.user, remove=remove)
    names = request.agents if request.named else tuple(agents.NAMES) if remove else ()
    found += agents.targets(place, names, _scopes(place, request), top, notes, remove=remove)
    if root is not None and (request.ci or all_of_it):
        found += _workflow(top or root, request, notes)
    if root is not None and (request.instructions or all_of_it):
        found += repository.instructions(root, remove=remove)
    if top is not None:
        found += repository.excluded(top, found, everything=all_of_it, remove=remove)
    once = {os.path.realpath(target.path): target for target in reversed(found)}
    return list(once.values())[::-1]


def _workflow(top: Path, request: InitRequest, notes: list[str]) -> list[Target]:
    """The workflow for CI, which has to know what to install; left out of "all" where it is not."""
    try:
        spec = "" if request.remove else request.source or distribution.for_ci(top)
    except UsageError as error:
        if not request.everything:
            raise
        notes.append(f"{workflow.WORKFLOW} left out: {error.what} ({error.hint})")
        return []
    return [workflow.target(top, spec)]


def _scopes(place: Place, request: InitRequest) -> list[str]:
    """Where the settings are: as asked for; when all goes, everywhere in the repository."""
    if request.remove and not request.named:
        inside = ["local", "shared"] if place.root is not None and not _user_alone(request) else []
        return [*inside, *(["user"] if request.user or request.everything else [])]
    return ["user" if request.user else "shared" if request.shared else "local"]

"""mem init: make a repository ready, let git, agents and CI call mem, and take all of
that back."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import RefusedError, UsageError, one_of
from memcli.guard.stops import first_guard
from memcli.install import harness, repository
from memcli.install.targets import Changes, Target, apply, text_of
from memcli.project import config, distribution, elsewhere, git
from memcli.project.context import Project, need_root
from memcli.project.elsewhere import line_for
from memcli.project.links import memory_links
from memcli.project.listing import Listing
from memcli.project.record import record_of
from memcli.storage.durable import discard, sweep
from memcli.storage.files import in_megabytes, state_dir
from memcli.text.secrets import redact_secrets

LEARNERS = ("claude", "codex", "anthropic", "rules")
"""What sessions may be learned from with."""


class InitRequest(NamedTuple):
    """What is to call mem. If nothing is named, only the repository is set up (with
    `remove`: everything is taken back)."""

    git: bool = False
    agents: tuple[str, ...] = ()
    ci: bool = False
    instructions: bool = False
    user: bool = False
    shared: bool = False
    remove: bool = False
    source: str = ""
    everything: bool = False
    trust: bool = False
    learn_with: str = ""

    @property
    def named(self) -> bool:
        """Whether a part of what mem init does was named; `user`, `shared` and `all`
        name nothing."""
        calls_mem = self.git or self.agents or self.ci or self.instructions
        return bool(calls_mem or self.learn_with)

    @property
    def all_of_it(self) -> bool:
        """Whether all that mem init did in the repository goes, not the user's own
        wiring alone."""
        return self.remove and not self.named and (self.everything or not self.user)

    @property
    def is_anywhere(self) -> bool:
        """Whether it concerns the user's own settings alone, so that no repository is
        needed, or changed."""
        is_here = self.git or self.ci or self.instructions
        return self.user and bool(self.remove or (self.agents and not is_here))

    @property
    def is_base(self) -> bool:
        """Whether the repository is made ready, or all of that goes."""
        return self.all_of_it or not (self.remove or self.is_anywhere)

    @property
    def wired(self) -> bool:
        """Whether git or an agent is to call mem."""
        return bool(self.git or self.agents) and not self.remove


def run(app: App, request: InitRequest) -> Changes:
    """Bring every requested file to its new text, all of them or none. Running it
    twice changes nothing more."""
    request = _in_full(request)
    _check(app.project, request)
    if not app.dry_run:
        _finish_killed_run(app)
    top = git.work_tree(app.project.root)
    if top is not None:
        _check_git_dir(top, trust=request.trust)
    notes: list[str] = []
    targets = _targets(app.project, request, top, notes)
    if not request.remove:
        targets = _beside_found(app.project, targets, notes)
    report = apply(app, targets, notes, remove=request.remove)
    gone = {patch.path for patch in report.patches if patch.after is None}
    beside = _beside_files(app, request, top, gone)
    if request.wired and (fault := harness.path_fault() or harness.desktop_fault()):
        notes.append(fault)
    done = _with_notes([*report.done, *beside], notes, remove=request.remove)
    if not (request.remove or app.dry_run):
        done += _refreshed(app)
    return report._replace(done=tuple(done))


def _with_notes(
    done: Sequence[str], notes: Sequence[str], *, remove: bool
) -> list[str]:
    """What was done, and each remark once."""
    nothing = [] if remove or not notes else ["everything is already in place"]
    return [*(done or nothing), *dict.fromkeys(notes)]


def _in_full(request: InitRequest) -> InitRequest:
    """The request with everything that --all stands for. With --remove nothing is
    added: it takes back all by itself."""
    if not request.everything or request.remove:
        return request
    agents = tuple(harness.NAMES)
    return request._replace(git=True, agents=agents, ci=True, instructions=True)


def _beside_found(
    project: Project, targets: list[Target], notes: list[str]
) -> list[Target]:
    """Say which memory was found; beside it no MEMORY.md is made."""
    if project.root is None:
        return targets
    found = [file.name for file in project.listing.files if file.found]
    notes += _told(project.root, project.listing, found)
    if not found or project.found("MEMORY.md") is not None:
        return targets
    notes.append("no MEMORY.md was created beside it; the first mem add creates one")
    return [target for target in targets if target.path.name != "MEMORY.md"]


def _finish_killed_run(app: App) -> None:
    """Finish what a killed run began: perhaps nothing else is written that would do
    it."""
    app.workspace.recover()
    sweep([state_dir() / "init", state_dir() / "indexes"])


def _check_git_dir(top: Path, *, trust: bool) -> None:
    """Check that the repository of a work tree points back to it, or is trusted, and
    has settings of its own. Raises RefusedError."""
    repository.refuse_linked_settings(top)
    if trust or git.points_back(top):
        return
    folder = git.common_dir(top) or "none"
    raise RefusedError(
        f"{top / '.git'}: points to a repository that does not point back to this work "
        f"tree: {folder}",
        "nothing was changed; if that repository is yours: mem init --trust",
    )


def _beside_files(
    app: App, request: InitRequest, top: Path | None, gone: set[str]
) -> list[str]:
    """Put the merge driver in place, or take it and the index away; what was done."""
    changes = []
    root = app.project.root
    if top is not None and request.is_base:
        changes += repository.set_driver(
            top, remove=request.remove, dry_run=app.dry_run
        )
    if root is not None and request.all_of_it:
        changes += _without_index(app, root, gone)
    return changes


def _refreshed(app: App) -> list[str]:
    """Bring an index that is there up to date; what is said of the first guard."""
    if not app.project.listing.files or not app.kept.exists:
        return []
    app.refresh(embed=False)
    guard = app.from_state(lambda state: first_guard(app, state), "")
    return [guard] if guard else []


def _without_index(app: App, root: Path, gone: set[str]) -> list[str]:
    """Remove the index and say what stays. An index that is not ours is left, and
    kept out of git."""
    path = root / ".memory.db"
    is_kept_here = path.exists() and app.kept.path(make=False) == path
    is_ours = is_kept_here and app.kept.looked(lambda _: True)
    app.kept.close()
    if not app.dry_run:
        if is_ours:
            discard(Path(f"{path}{end}") for end in ("", "-wal", "-shm"))
        if any(name.startswith(".memory.db") for name in os.listdir(root)):
            git.exclude(root)
    app.notes += _what_stays(app.project, root, gone)
    return ["removed .memory.db: the index of the memory files"] if is_ours else []


def _what_stays(project: Project, root: Path, gone: set[str]) -> Iterator[str]:
    """What of mem is left on this machine, and how it goes."""
    settings = project.settings
    learner = settings.config.llm
    if settings.origins["llm"] == "user file" and learner in LEARNERS:
        path = config.user_file(project.home, project.environ)
        text = text_of(path) or ""
        can_go = config.without_value(text, "llm", learner) != text
        how = f": mem init --remove --learn-with {learner}" if can_go else ""
        yield f'llm = "{learner}" stays in {project.name_of(path)}{how}'
    if stay := _memory_that_stays(project, root, gone):
        more = " …" if len(stay) > 3 else ""
        yield f"your memory stays: {', '.join(stay[:3])}{more}"
    if (record := record_of(project)) is not None:
        size = in_megabytes(record.stat().st_size)
        yield f"history of this repository stays, {size}: mem forget --all"
    hooks = str(harness.settings_of("codex", "local", root, project.environ).path)
    if any(name.startswith(f"{hooks}:") for name in harness.approvals(project.environ)):
        home = harness.agent_home("codex", project.environ)
        yield f"Codex keeps its approvals of {hooks} in {home / 'config.toml'}"
    yield f"what was told and counted in all repositories stays in {state_dir()}"


def _memory_that_stays(project: Project, root: Path, gone: set[str]) -> list[str]:
    """The names of the memory files of mem's own kind in the repository."""
    names = (file.name for file in project.listing.files if not file.found)
    here = [name for name in names if name[0] not in "~/" and (root / name).exists()]
    return [name for name in here if str(root / name) not in gone]


def _told(root: Path, listing: Listing, found: Sequence[str]) -> list[str]:
    folders = Counter("".join(name.rpartition("/")[:2]) or name for name in found)
    counted = (
        f"{name} ({n})" if name.endswith("/") else name for name, n in folders.items()
    )
    remarks = [f"found memory, in view as it is: {each}" for each in sorted(counted)]
    for link in memory_links(root, listing):
        what = link.fault or "mem writes there"
        remarks.append(f"{link.name} is a link to {link.to}, {what}")
    if more := elsewhere.others(root, listing):
        remarks.append(
            f"also looks like memory; to include it, put into .mem.toml: "
            f"{line_for(more)}"
        )
    return list(map(redact_secrets, remarks))


def _model_of(name: str) -> str:
    """The value of `llm` that stands for who learns."""
    return "none" if name == "rules" else name


def _learner(project: Project, name: str) -> Target:
    path = config.user_file(project.home, project.environ)
    value = _model_of(name)

    def put(text: str | None) -> str:
        after = config.with_value(text or "", "llm", value)
        if after is None:
            raise UsageError(
                " cannot be changed by mem", f'write llm = "{value}" into it'
            )
        return after

    what = "sessions are learned from " + (
        "by rules" if name == "rules" else f"with {name}"
    )
    return Target(
        path=path,
        put=put,
        drop=lambda text: config.without_value(text, "llm", value) or None,
        within=(path.parent,),
        what=what,
        copied=True,
    )


def _check(project: Project, request: InitRequest) -> None:
    """Raise UsageError for options that do not go together."""
    one_of("--learn-with", request.learn_with, ("", *LEARNERS))
    names_place = request.user or request.shared
    changes_hooks = request.wired or request.remove
    if request.remove and request.shared and not request.everything:
        changes_hooks = request.named  # a place alone is no part to take back
    for is_wrong, what, hint in (
        (
            request.source and not request.ci,
            "--from needs --ci",
            "mem init --ci --from SPEC",
        ),
        (
            request.user and request.shared,
            "--user and --shared exclude each other",
            "give only one of them",
        ),
        (
            names_place and not changes_hooks,
            "--user and --shared need an agent",
            "add --claude or --codex",
        ),
    ):
        if is_wrong:
            raise UsageError(what, hint)
    if not request.is_anywhere:
        need_root(project)


def _targets(
    project: Project, request: InitRequest, top: Path | None, notes: list[str]
) -> list[Target]:
    """Every file to change, once, however many names lead to it."""
    targets = [
        *_calls_of_git(project, request, top, notes),
        *_calls_of_agents(project, request, notes),
        *_files_for_others(project, request, top, notes),
    ]
    if top is not None and request.is_base:
        targets += repository.excluded(top, targets)
    once = {os.path.realpath(target.path): target for target in reversed(targets)}
    return list(once.values())[::-1]


def _calls_of_git(
    project: Project, request: InitRequest, top: Path | None, notes: list[str]
) -> list[Target]:
    """The memory file, who learns from sessions, and git's hooks."""
    targets = []
    root = project.root
    everything = request.all_of_it
    remove = request.remove
    if root is not None and request.is_base:
        targets += repository.base(root, top)
    elif root is not None and not remove:
        notes.append("this repository was not changed; mem init sets it up")
    name = request.learn_with
    if name and not (remove and _model_of(name) != project.settings.config.llm):
        targets.append(_learner(project, name))
    if root is not None and (request.git or everything):
        targets += repository.hooks(
            top, notes, user=request.user, trust=request.trust, remove=remove
        )
    return targets


def _calls_of_agents(
    project: Project, request: InitRequest, notes: list[str]
) -> list[Target]:
    """The settings of the agents that were named; on removal, unless anything is
    named, those of all agents."""
    names = request.agents
    scopes = ["user" if request.user else "shared" if request.shared else "local"]
    if request.remove and not request.named:
        names = tuple(harness.NAMES)
        scopes = []
        if project.root is not None and request.all_of_it:
            scopes += ["local", "shared"]
        if request.user or request.everything:
            scopes.append("user")
    pairs = product(names, scopes)
    return harness.targets(project, pairs, notes, remove=request.remove)


def _files_for_others(
    project: Project, request: InitRequest, top: Path | None, notes: list[str]
) -> list[Target]:
    """The workflow of CI and the instructions that agents read."""
    root = project.root
    if root is None:
        return []
    targets = []
    if request.ci or request.all_of_it:
        targets += _workflow(top or root, request, notes)
    if request.instructions or request.all_of_it:
        targets += repository.instructions(root, remove=request.remove)
    return targets


def _workflow(top: Path, request: InitRequest, notes: list[str]) -> list[Target]:
    """The workflow for CI, which has to know what to install; left out of "all" where
    it is not."""
    try:
        spec = "" if request.remove else request.source or distribution.for_ci(top)
    except UsageError:
        if not request.everything:
            raise
        notes.append(
            "no CI workflow was written: give what it installs: mem init --ci --from "
            "SPEC"
        )
        return []
    return [repository.workflow(top, spec)]

"""mem init: make a repository ready, let git, agents and CI call mem, and take all of that back."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memcli import __version__
from memcli.app import App
from memcli.errors import RefusedError, UsageError
from memcli.install import agent_settings, git_hooks, harness, managed_section
from memcli.memory.values import Patch
from memcli.project import git
from memcli.project.levels_on_disk import Unreadable, decode, digest, read_bytes

if TYPE_CHECKING:
    from memcli.storage.workspace import Workspace

ATTRIBUTES = (
    "MEMORY.md",
    "institutional.md",
    "tasks/*.md",
    ".mem/jobs/*/tasks/*.md",
    ".teaparty/jobs/*/tasks/*.md",
    "*.archive.md",
)
MEMORY = "# Memory\n"
"""A new file is a heading alone: nothing in it is found before something is written."""
TEMPLATES = Path(__file__).parent.parent / "install" / "templates"
WORKFLOW = ".github/workflows/mem.yml"
AGENT_FILES = ("AGENTS.md", "CLAUDE.md")
NAMES = {"claude": "Claude Code", "codex": "Codex"}


class Request(NamedTuple):
    """What is to call mem; nothing named is the repository alone (with `remove`: all of it)."""

    git: bool = False
    claude: bool = False
    codex: bool = False
    ci: bool = False
    agents: bool = False
    user: bool = False
    shared: bool = False
    remove: bool = False

    @property
    def named(self) -> bool:
        return self.git or self.claude or self.codex or self.ci or self.agents


class Report(NamedTuple):
    """What was (or would be) done, one line each, what to do next, and the patches of the files."""

    done: tuple[str, ...]
    patches: tuple[Patch, ...]
    next: tuple[str, ...] = ()


class Target(NamedTuple):
    """A file to change: `put` makes its new text, `drop` that of before; None is no file.

    Its real place must be below one of `within`. `what` is said of it, `next` when it was put. A
    file that is no text stops everything, but with `otherwise` is left, and that is said. What is
    `private` holds a path of this machine: git is not to offer it.
    """

    path: Path
    put: Callable[[str | None], str | None]
    drop: Callable[[str], str | None]
    within: tuple[Path, ...]
    what: str
    next: str = ""
    otherwise: str = ""
    private: bool = False


class _Left(Exception):
    """A file that is left as it is, and why."""


def run(app: App, request: Request, *, dry_run: bool = False) -> Report:
    """Bring every file that was asked for to its new text, all in place or nothing; twice is once."""
    _check(app, request)
    if not dry_run:
        _tidy(app)
    top = git.work_tree(app.root) if app.root is not None else None
    notes: list[str] = []
    if not request.remove and harness.is_passing(harness.program()):
        notes.append(
            f"{harness.program()} lies in a cache and may vanish: install it"
            " (uv tool install memcli, or pipx install memcli) and run mem init again"
        )
    targets = _targets(app, request, top, notes)
    report = _applied(app, targets, request, notes, dry_run=dry_run)
    done = [*report.done, *_driver(top, request, dry_run=dry_run), *dict.fromkeys(notes)]
    return report._replace(done=tuple(done))


def _tidy(app: App) -> None:
    """Finish what a killed run left: there may be nothing left to write that would do it."""
    from memcli.storage.state import state_dir
    from memcli.storage.workspace import sweep

    app.workspace.recover()
    sweep([state_dir() / "init"])


def _check(app: App, request: Request) -> None:
    if request.user and request.shared:
        raise UsageError("--user and --shared name two places", "give one of them")
    placed = request.user or request.shared
    if placed and not (request.git or request.claude or request.codex or request.remove):
        raise UsageError("--user and --shared say where hooks go", "add --claude or --codex")
    if app.root is None and not (request.user and (request.claude or request.codex)):
        raise UsageError(
            "there is no project here", "run it inside a repository, or name one with --root"
        )


def _driver(top: Path | None, request: Request, *, dry_run: bool) -> list[str]:
    if top is None or (request.remove and request.named):
        return []
    if request.remove:
        return git.unregister_driver(top, dry_run=dry_run)
    return git.register_driver(top, dry_run=dry_run)


# --- what is to be changed


def _targets(app: App, request: Request, top: Path | None, notes: list[str]) -> list[Target]:
    """Each file once, whatever the names that lead to it."""
    found: list[Target] = []
    root = app.root
    everything = request.remove and not request.named
    if root is not None and (everything or not request.remove):
        found += _base(root, top)
    if root is not None and (request.git or everything):
        found += _git(root, top, request, notes)
    agents = [name for name in NAMES if everything or getattr(request, name)]
    found += _agents(app, agents, request, top, notes)
    if root is not None and (request.ci or everything):
        found.append(_workflow(top or root))
    if root is not None and (request.agents or everything):
        found += [_instructions(path, root) for path in _agent_files(root, remove=request.remove)]
    if top is not None:
        found += _excluded(top, found, everything=everything, request=request)
    return list({os.path.realpath(target.path): target for target in reversed(found)}.values())[
        ::-1
    ]


def _base(root: Path, top: Path | None) -> list[Target]:
    memory = Target(
        root / "MEMORY.md",
        lambda text: MEMORY if text is None else text,
        lambda text: None if text == MEMORY else text,
        (root,),
        "the project's memory",
        'write down the first thing: mem add "what you learned"; or learn from past sessions:'
        " mem extract --all",
    )
    return (
        [memory]
        if top is None
        else [memory, _marked(root / ".gitattributes", _attributes(), root, "merge=mem")]
    )


def _attributes() -> tuple[str, ...]:
    return tuple(f"{pattern} merge=mem" for pattern in ATTRIBUTES)


def _marked(path: Path, lines: Sequence[str], within: Path, what: str, next: str = "") -> Target:
    return Target(
        path,
        lambda text: managed_section.put(text, lines),
        managed_section.drop,
        (within,),
        what,
        next,
    )


# --- git hooks


def _git(root: Path, top: Path | None, request: Request, notes: list[str]) -> list[Target]:
    if top is None:
        if not request.remove:
            notes.append("no work tree of git here: there is no hook that git would run")
        return []
    hooks = harness.hooks_of(top)
    if hooks.foreign and not request.user:
        if not request.remove:
            notes.append(
                f"git hooks are in {hooks.folder}, for all repositories (core.hooksPath): left alone;"
                " mem init --git --user puts hooks there"
            )
        return []
    if request.remove:
        folders = {hooks.folder, harness.default_hooks(top) or hooks.folder}
        places = [harness.Hooks(folder) for folder in sorted(folders)]
        return [*_lefthook(top), *(target for place in places for target in _hooks(top, place))]
    if harness.has_lefthook(top):
        return _lefthook(top)
    notes += [f"{path} is not executable: git does not run it" for path in _disabled(hooks)]
    return _hooks(top, hooks)


def _disabled(hooks: harness.Hooks) -> list[Path]:
    """Hooks that git passes over; husky runs its own by name."""
    paths = [hooks.folder / name for name in git_hooks.HOOKS]
    husky = hooks.folder.name == ".husky"
    return [path for path in paths if path.is_file() and not os.access(path, os.X_OK) and not husky]


def _hooks(top: Path, hooks: harness.Hooks) -> list[Target]:
    program = "mem" if hooks.shared else harness.program()
    within = (top, git.common_dir(top) or top, hooks.folder)
    next = (
        f"commit {os.path.relpath(hooks.folder, top)}: others run these hooks, too"
        if hooks.shared
        else ""
    )
    return [
        Target(
            hooks.folder / name,
            partial(_with_hook, hook=name, program=program),
            git_hooks.without_section,
            within,
            "a call of mem",
            next,
            _no_script(name, program),
        )
        for name in git_hooks.HOOKS
    ]


def _with_hook(text: str | None, hook: str, program: str) -> str:
    if text is not None and not git_hooks.runs_shell(text):
        raise _Left(_no_script(hook, program))
    return git_hooks.with_section(text, hook, program)


def _no_script(hook: str, program: str) -> str:
    return f"no shell script; let it call: {program} hook git-{hook}"


def _lefthook(top: Path) -> list[Target]:
    """Lefthook writes the hooks of git itself, from its configuration; the local one is a person's
    own.
    """
    names = ("lefthook-local.yml", ".lefthook-local.yml")
    path = next((top / name for name in names if (top / name).exists()), top / names[0])
    next_ = "let lefthook write its hooks: lefthook install"
    what = "calls of mem for lefthook"
    return [Target(path, _with_lefthook, managed_section.drop, (top,), what, next_, private=True)]


def _with_lefthook(text: str | None) -> str:
    lines = git_hooks.lefthook_lines(harness.program())
    own = (managed_section.drop(text) or "") if text is not None else ""
    for hook in git_hooks.HOOKS:
        if re.search(rf"^{hook}\s*:", own, re.MULTILINE):
            raise _Left(f"has {hook} already; add to it by hand:\n" + "\n".join(lines))
    return managed_section.put(text, lines)


# --- agents


def _agents(
    app: App, names: Iterable[str], request: Request, top: Path | None, notes: list[str]
) -> list[Target]:
    """The settings files of agents: those asked for; without a name, when removing, all of the
    repository.
    """
    if request.remove and not request.named:
        scopes = [
            *(["local", "shared"] if app.root is not None else []),
            *(["user"] if request.user else []),
        ]
    else:
        scopes = ["user" if request.user else "shared" if request.shared else "local"]
    places = [
        harness.settings_of(name, scope, app.root or Path(), app.environ)
        for name in names
        for scope in scopes
    ]
    if not request.remove:
        for place in places:
            notes += _doubled(app, place)
    return [_settings(place, top) for place in places]


def _settings(place: harness.Settings, top: Path | None) -> Target:
    shared = place.scope == "shared" or _is_tracked(place.path, top)
    wanted = agent_settings.groups(place.harness, harness.program(), shared=shared)
    name = NAMES[place.harness]
    next = f"start a new session of {name}: its hooks are read then"
    if place.harness == "codex":
        next = "approve the hooks in Codex, once: /hooks"
    home = Path(os.path.expanduser("~")).resolve()
    return Target(
        place.path,
        lambda text: agent_settings.with_hooks(text, wanted),
        agent_settings.without_hooks,
        (place.folder, home) if place.scope == "user" else (place.folder,),
        f"hooks of {name}",
        f"{next}; commit {place.path.name}" if shared else next,
        private=not shared and place.scope != "user",
    )


def _is_tracked(path: Path, top: Path | None) -> bool:
    return top is not None and path.exists() and harness.is_tracked(path, top)


def _doubled(app: App, place: harness.Settings) -> list[str]:
    """Where else the same agent finds hooks of mem: it would run both."""
    others = [
        other
        for other in harness.all_settings(app.root, app.environ)
        if other.harness == place.harness and other.path != place.path
    ]
    return [
        f"hooks of {NAMES[place.harness]} are in {other.path}, too, and run twice:"
        f" mem init --{place.harness}{'' if other.scope == 'local' else f' --{other.scope}'} --remove"
        for other in others
        if _has_hooks(other.path)
    ]


def _has_hooks(path: Path) -> bool:
    try:
        return bool(agent_settings.handlers(_text(path) or ""))
    except (UsageError, Unreadable):
        return False


# --- CI, and the instructions for agents


def _workflow(top: Path) -> Target:
    next = f"commit {WORKFLOW}; for a protected branch, allow Actions to create pull requests (GitHub, settings)"
    return Target(
        top / WORKFLOW, _with_workflow, _without_workflow, (top,), "compaction in CI", next
    )


def workflow() -> str:
    """The workflow file: its first line tells whether it was changed since."""
    text = _template("ci.yml").replace("@VERSION@", __version__)
    for name in ("compact", "diff"):
        script = _template(f"{name}.sh").rstrip("\n").replace("\n", "\n          ")
        text = text.replace(f"@{name.upper()}@", re.sub(r"(?m)^ +$", "", script))
    return f"{_stamp(text)}\n{text}"


def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _stamp(text: str) -> str:
    return f"# mem: written by mem init --ci {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _with_workflow(text: str | None) -> str:
    if text is not None and not _is_untouched(text):
        raise _Left("not written by mem, or changed since: left as it is")
    new = workflow()
    return text if text is not None and text.replace("\r\n", "\n") == new else new


def _without_workflow(text: str) -> str | None:
    if _is_untouched(text):
        return None
    if text.startswith(_stamp("")[:-12]):
        raise _Left("changed by hand: left as it is")
    return text


def _is_untouched(text: str) -> bool:
    first, _, rest = text.replace("\r\n", "\n").partition("\n")
    return first == _stamp(rest)


def _agent_files(root: Path, *, remove: bool) -> list[Path]:
    """The instructions that agents read: those that exist, but none that includes another; else a
    new one.
    """
    found = [root / name for name in AGENT_FILES if os.path.lexists(root / name)]
    both = AGENT_FILES[0] in [path.name for path in found] and not remove
    own = [path for path in found if not both or path.name == AGENT_FILES[0] or not _includes(path)]
    return own or [root / AGENT_FILES[0]]


def _includes(path: Path) -> bool:
    """Whether a CLAUDE.md takes AGENTS.md in: who reads the one reads the other."""
    with suppress(Unreadable):
        return bool(re.search(r"^@(\./)?AGENTS\.md\s*$", _text(path) or "", re.MULTILINE))
    return False


def _instructions(path: Path, root: Path) -> Target:
    lines = _template("agents.md").rstrip("\n").split("\n")
    return Target(
        path,
        lambda text: managed_section.put(text, lines, managed_section.HTML, blank=True),
        lambda text: managed_section.drop(text, managed_section.HTML),
        (root,),
        "when to recall and when to add",
    )


# --- what git is to ignore


def _excluded(
    top: Path, targets: Sequence[Target], *, everything: bool, request: Request
) -> list[Target]:
    """Derived files, and settings with a path of this machine, in `.git/info/exclude`."""
    common = git.common_dir(top)
    if common is None or not (common / "HEAD").is_file():
        return []
    base = () if request.remove else (*git.EXCLUDED, *git.MOMENTS)
    private = [
        target.path for target in targets if target.private and not _is_tracked(target.path, top)
    ]
    if not request.remove:
        private = [path for path in private if not harness.is_ignored(path, top)]
    patterns = (*base, *(_pattern(path, top) for path in private))
    drop = managed_section.drop if everything else partial(_less_excluded, patterns=patterns)
    more = partial(_more_excluded, patterns=patterns)
    return [Target(common / "info" / "exclude", more, drop, (common,), "derived and private files")]


def _pattern(path: Path, top: Path) -> str:
    return "/" + re.sub(r"([\\*?\[ ])", r"\\\1", path.relative_to(top).as_posix())


def _more_excluded(text: str | None, patterns: Sequence[str]) -> str | None:
    known = (text or "").splitlines()
    ours = _section_lines(text or "")
    missing = [pattern for pattern in patterns if pattern not in known]
    return managed_section.put(text, [*ours, *missing]) if missing else text


def _less_excluded(text: str, patterns: Sequence[str]) -> str | None:
    ours = _section_lines(text)
    left = [line for line in ours if line not in patterns]
    if left == ours:
        return text
    return managed_section.put(text, left) if left else managed_section.drop(text)


def _section_lines(text: str) -> list[str]:
    found = managed_section.find(text)
    return text[found.begin : found.end].splitlines()[1:-1] if found is not None else []


# --- apply


def _applied(
    app: App, targets: Sequence[Target], request: Request, notes: list[str], *, dry_run: bool
) -> Report:
    """Everything is planned before anything is written, so that what cannot be read stops all of
    it.
    """
    patches = _plan(targets, request, notes)
    done, next = _said(app, targets, patches, request)
    if patches and not dry_run:
        folders = _missing(patches)
        for workspace, group in _by_place(app, targets):
            with workspace.hold("init"):
                workspace.write(_plan(group, request, []), "init")
        _remember(app, folders, remove=request.remove)
    return Report(done, tuple(patches), next)


def _plan(targets: Iterable[Target], request: Request, notes: list[str]) -> list[Patch]:
    patches = []
    for target in targets:
        try:
            before = _text(target.path)
            after = _after(target, before, request)
        except Unreadable as error:
            if not target.otherwise:
                raise UsageError(
                    f"{target.path}:{error.line}: {error}", "mend that file first"
                ) from None
            notes += [] if request.remove else [f"{target.path}: {target.otherwise}"]
        except UsageError as error:
            raise UsageError(f"{target.path}:{error.what}", error.hint) from None
        except _Left as reason:
            notes.append(f"{target.path}: {reason}")
        else:
            if after != before:
                _check_place(target)
                patches.append(Patch(str(target.path), before, after))
    return patches


def _after(target: Target, before: str | None, request: Request) -> str | None:
    if not request.remove:
        return target.put(before)
    return target.drop(before) if before is not None else None


def _check_place(target: Target) -> None:
    """A link in a repository must not lead out of it; one of the user's may lead to another of his
    files.
    """
    real = Path(os.path.realpath(target.path))
    if not any(real.is_relative_to(os.path.realpath(folder)) for folder in target.within):
        raise RefusedError(
            f"{target.path}: leads to {real}, where mem does not write", "put the file itself there"
        )


def _text(path: Path) -> str | None:
    return decode(read_bytes(str(path)).data) if os.path.lexists(path) else None


def _by_place(app: App, targets: Sequence[Target]) -> list[tuple[Workspace, list[Target]]]:
    """Targets by who may write them: the project (mem undo takes that back), or a place of its own."""
    from memcli.storage.state import state_dir
    from memcli.storage.workspace import Workspace

    own = [folder for folder in (app.root, app.home) if folder is not None]

    def place(target: Target) -> str:
        real = Path(os.path.realpath(target.path))
        if any(real.is_relative_to(folder) for folder in own):
            return ""
        return next((str(f) for f in target.within if real.is_relative_to(os.path.realpath(f))), "")

    def workspace(name: str) -> Workspace:
        return (
            Workspace(Path(name), state_dir(), app.moment, allowed=[Path(name)])
            if name
            else app.workspace
        )

    groups = groupby(sorted(targets, key=place), key=place)
    return [(workspace(name), list(group)) for name, group in groups]


# --- the folders that were made, so that they can go again


def _missing(patches: Iterable[Patch]) -> list[str]:
    folders: dict[str, None] = {}
    for patch in patches:
        if patch.before is None:
            folders |= dict.fromkeys(
                str(folder) for folder in Path(patch.path).parents if not folder.exists()
            )
    return list(folders)


def _remember(app: App, folders: Iterable[str], *, remove: bool) -> None:
    """Keep in the state folder which folders came with our files; on removal those go that are
    empty.
    """
    from memcli.storage.state import private_dir, state_dir
    from memcli.storage.workspace import write_output

    path = state_dir() / "init" / f"{digest(os.fsencode(app.root or app.home))}.json"
    known = {*_remembered(path), *folders}
    if remove:
        for folder in sorted(known, key=len, reverse=True):
            with suppress(OSError):
                os.rmdir(folder)
        known = {folder for folder in known if os.path.isdir(folder)}
    if known:
        private_dir(path.parent)
        write_output(path, json.dumps(sorted(known)), mode=0o600)
    else:
        path.unlink(missing_ok=True)


def _remembered(path: Path) -> list[str]:
    with suppress(OSError, ValueError):
        return [str(folder) for folder in json.loads(path.read_text(encoding="utf-8"))]
    return []


# --- say


def _said(
    app: App, targets: Sequence[Target], patches: Sequence[Patch], request: Request
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was done, a line for all files of one kind; and what is to be done next."""
    changed = {patch.path: patch for patch in patches}
    rows: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        patch = changed.get(str(target.path))
        if patch is not None:
            key = (_verb(target, patch, remove=request.remove), target.what)
            rows.setdefault(key, []).append(_shown(app, target.path))
    done = [f"{verb} {', '.join(names)}: {what}" for (verb, what), names in rows.items()]
    next = [target.next for target in targets if target.next and str(target.path) in changed]
    return tuple(done), () if request.remove else tuple(dict.fromkeys(next))


def _verb(target: Target, patch: Patch, *, remove: bool) -> str:
    if patch.before is None:
        return "created"
    if patch.after is None:
        return "removed"
    if remove:
        return "removed from"
    return "added to" if target.drop(patch.before) == patch.before else "updated"


def _shown(app: App, path: Path) -> str:
    for folder, name in ((app.root, ""), (Path(os.path.expanduser("~")), "~/")):
        if folder is not None and path.is_relative_to(folder):
            return name + path.relative_to(folder).as_posix()
    return str(path)

"""What mem init changes in a repository: its memory, attributes, git hooks, ignore
lines."""

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from memcli.errors import RefusedError
from memcli.install import git_hooks, harness
from memcli.install.targets import Left, Target, text_of
from memcli.project import git
from memcli.storage.files import Unreadable, refuse_links
from memcli.text.matching import table

ATTRIBUTES = """MEMORY.md institutional.md tasks/*.md .mem/jobs/*/tasks/*.md
    .teaparty/jobs/*/tasks/*.md *.archive.md""".split()
MEMORY = "# Memory\n"  # nothing can be found in it before something is written
WORKFLOW = ".github/workflows/mem.yml"
AGENT_FILES = ("AGENTS.md", "CLAUDE.md")
OF_GIT = "how git treats memory"


def base(root: Path, top: Path | None) -> list[Target]:
    """The project's memory, and in a work tree the merge driver's attributes."""
    memory = Target(
        path=root / "MEMORY.md",
        put=lambda text: MEMORY if text is None else text,
        drop=lambda text: None if text == MEMORY else text,
        within=(root,),
        what="the project's memory",
        next='mem add "what you learned", or of past sessions: mem extract --all, and of'
        " commits: mem index --history",
        otherwise="cannot be read and stays as it is: mem doctor",
    )
    lines = [f"{pattern} merge=mem" for pattern in ATTRIBUTES]
    put = partial(git_hooks.put, lines=lines)
    path = root / ".gitattributes"
    marked = Target(
        path=path, put=put, drop=git_hooks.drop, within=(root,), what=OF_GIT
    )
    return [memory, marked] if top is not None else [memory]


def hooks(
    top: Path | None, notes: list[str], *, user: bool, trust: bool, remove: bool
) -> list[Target]:
    """The git hooks; `user` allows a hooks folder that serves all repositories, `trust`
    one to which the repository's own settings lead out of it. Raises RefusedError."""
    if top is None:
        if not remove:
            notes.append(
                "no work tree of git here: there is no hook that git would run"
            )
        return []
    place = harness.hooks_of(top)
    if place.foreign and not user:
        if not remove:
            message = f"git hooks are in {place.folder}, for all repositories"
            how = "mem init --git --user puts hooks there"
            notes.append(f"{message} (core.hooksPath): left alone; {how}")
        return []
    if place.outward and not trust:
        if remove:
            message = f"git hooks are in {place.folder}, outside of this repository"
            how = "mem init --git --remove --trust"
            notes.append(f"{message} (core.hooksPath): left alone; {how}")
            return []
        _refuse_outward(place, top)
    if remove:
        return _all_hooks(top, place.folder)
    targets = []
    for name in git_hooks.HOOKS:
        path = place.folder / name
        if path.is_file() and not os.access(path, os.X_OK):
            notes.append(f"{path} is not executable: git does not run it")
        targets.append(_hook(top, place, hook_file(place.folder, name).name))
    return targets


def _refuse_outward(place: harness.Hooks, top: Path) -> None:
    """Name the line that leads git's hooks out of the repository."""
    path = top / place.outward
    text = (text_of(path) or "").lower()
    line = text.partition("hookspath")[0].count("\n") + 1
    raise RefusedError(
        f"{path}:{line}: core.hooksPath leads out of this repository: {place.folder}",
        "nothing was changed; if that folder is yours: mem init --git --trust",
    )


def _all_hooks(top: Path, folder: Path) -> list[Target]:
    """Every file that may call mem: the hooks in the configured folder and in git's
    own."""
    common = git.common_dir(top)
    folders = {folder, common / "hooks" if common else folder}
    names = [name for hook in git_hooks.HOOKS for name in (hook, f"{hook}.legacy")]
    return [
        _hook(top, harness.Hooks(place), name)
        for place in sorted(folders)
        for name in names
    ]


def hook_file(folder: Path, hook: str) -> Path:
    """The file of a hook with mem's section, or the one that pre-commit moved aside and
    calls."""
    moved = folder / f"{hook}.legacy"
    return moved if git_hooks.program_of(text_of(moved) or "") else folder / hook


def _hook(top: Path, place: harness.Hooks, name: str) -> Target:
    unless = f"no shell script; let it call: mem hook git-{name}"
    folder = os.path.relpath(place.folder, top)

    def put(text: str | None) -> str:
        if text is not None and not git_hooks.runs_shell(text):
            raise Left(unless)
        return git_hooks.with_section(text, name.removesuffix(".legacy"))

    return Target(
        path=place.folder / name,
        put=put,
        drop=git_hooks.without_section,
        within=(top, git.common_dir(top) or top, place.folder),
        what=OF_GIT,
        next=f"commit {folder}: others run these hooks, too" if place.shared else "",
        otherwise=unless,
    )


def instructions(root: Path, *, remove: bool) -> list[Target]:
    """Instructions when to recall and add, in the files that agents read."""
    lines = table("install/templates/agents.md").rstrip("\n").split("\n")
    marks = git_hooks.HTML
    put = partial(git_hooks.put, lines=lines, marks=marks, blank=True)
    drop = partial(git_hooks.drop, marks=marks)
    # The existing files, except those that include another; else a new one.
    first = root / AGENT_FILES[0]
    paths = [root / name for name in AGENT_FILES if os.path.lexists(root / name)]
    if first in paths and not remove:
        paths = [path for path in paths if path == first or not _includes(path)]
    return [
        Target(path=path, put=put, drop=drop, within=(root,), what=harness.OF_AGENTS)
        for path in paths or [first]
    ]


def _includes(path: Path) -> bool:
    """Whether a CLAUDE.md includes AGENTS.md."""
    with suppress(Unreadable):
        return bool(
            re.search(r"^@(\./)?AGENTS\.md\s*$", text_of(path) or "", re.MULTILINE)
        )
    return False


def excluded(top: Path, targets: Sequence[Target]) -> list[Target]:
    """Ignore derived and private files in `.git/info/exclude`, until everything is
    removed."""
    common = git.common_dir(top)
    if not common or not (common / "HEAD").is_file():
        return []
    patterns = [*git.EXCLUDED, *git.MOMENTS, *_private_patterns(top, targets)]

    def put(text: str | None) -> str | None:
        known = (text or "").splitlines()
        missing = [pattern for pattern in patterns if pattern not in known]
        if not missing:
            return text
        return git_hooks.put(text, [*git_hooks.lines_of(text), *missing])

    def drop(text: str) -> str | None:
        kept = git_hooks.drop(text)
        # An index created without init also adds lines there.
        return kept and kept.replace("".join(f"{line}\n" for line in git.EXCLUDED), "")

    path = common / "info" / "exclude"
    return [Target(path=path, put=put, drop=drop, within=(common,), what=OF_GIT)]


def _private_patterns(top: Path, targets: Sequence[Target]) -> list[str]:
    """The patterns of private files that git does not ignore yet."""
    question = ["check-ignore", "-q", "--no-index", "--"]
    patterns = []
    for target in targets:
        path = target.path
        if not target.private or (path.exists() and harness.is_tracked(path, top)):
            continue
        if git.run([*question, str(path)], top).returncode:
            name = path.relative_to(top).as_posix()
            patterns.append("/" + re.sub(r"([\\*?\[ ])", r"\\\1", name))
    return patterns


def workflow(top: Path, spec: str) -> Target:
    """The workflow file; `spec` is the pip requirement to install there."""
    protected = "for a protected branch, let Actions create pull requests (settings)"
    put = partial(_with_workflow, spec=spec)
    return Target(
        path=top / WORKFLOW,
        put=put,
        drop=_without_workflow,
        within=(top,),
        what="compaction in CI",
        next=f"commit {WORKFLOW}; {protected}",
    )


def workflow_text(spec: str) -> str:
    """The text of the workflow file; its first line shows whether it was changed
    later."""
    quoted = "'" + spec.replace("'", "'\\''") + "'"
    body = table("install/templates/ci.yml").replace("@SPEC@", quoted)
    for name in ("compact", "diff"):
        script = (
            table(f"install/templates/{name}.sh")
            .rstrip("\n")
            .replace("\n", "\n          ")
        )
        body = body.replace(f"@{name.upper()}@", re.sub(r"(?m)^ +$", "", script))
    return f"{_stamp(body)}\n{body}"


def _stamp(body: str) -> str:
    digest = hashlib.sha256(body.encode()).hexdigest()[:12]
    return f"# mem: written by mem init --ci {digest}"


def _with_workflow(old: str | None, spec: str) -> str:
    if old is not None and not _is_untouched(old):
        raise Left("not written by mem, or changed since: left as it is")
    new = workflow_text(spec)
    return old if old and old.replace("\r\n", "\n") == new else new


def _without_workflow(old: str) -> str | None:
    if _is_untouched(old):
        return None
    if old.startswith(_stamp("")[:-12]):
        raise Left("changed by hand: left as it is")
    return old


def _is_untouched(old: str) -> bool:
    first, _, rest = old.replace("\r\n", "\n").partition("\n")
    return first == _stamp(rest)


def refuse_linked_settings(tree_top: Path) -> None:
    """Raise RefusedError if git would write its settings through a link, say into the
    user's own."""
    folder = git.common_dir(tree_top) or tree_top
    refuse_links(folder / "config", folder)


def _configure(tree_top: Path, *words: str) -> None:
    """Change git's settings of a repository. Raises RefusedError where git cannot."""
    said = git.run(["config", "--local", *words], tree_top)
    if said.returncode:
        why = (said.stderr.strip().splitlines() or ["git failed"])[0]
        what = f"git cannot write its configuration: {why}"
        raise RefusedError(
            what, "remove that file if no git is running; then: mem init"
        )


def set_driver(
    tree_top: Path, *, remove: bool = False, dry_run: bool = False
) -> list[str]:
    """Register the merge driver in the repository's configuration, or remove it; return
    what was done."""
    refuse_linked_settings(tree_top)
    known = git.run(["config", "--local", "--get", git.DRIVER], tree_top).stdout.strip()
    if known == ("" if remove else git.DRIVER_COMMAND):
        return []
    if not dry_run and remove:
        _configure(tree_top, "--remove-section", "merge.mem")
    elif not dry_run:
        _configure(tree_top, "merge.mem.name", "memory entries by id")
        _configure(tree_top, git.DRIVER, git.DRIVER_COMMAND)
    if remove:
        return ["removed the merge driver from the git configuration"]
    return ["registered the merge driver for memory files in the git configuration"]

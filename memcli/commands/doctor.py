"""mem doctor: say whether memory and installation are in order, and mend what can be
made anew."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.diagnostics.content import check_content
from memcli.diagnostics.scene import Check, Scene, absolute, failure
from memcli.errors import MemError, UsageError
from memcli.memory.values import Patch

Section = Callable[[Scene], Iterable[Check]]


class DoctorReport(NamedTuple):
    """The rows; with `--fix` what was (or would be) mended, one line each, and its
    patches."""

    checks: tuple[Check, ...]
    fixed: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()

    @property
    def failed(self) -> int:
        """How many checks found something broken."""
        return sum(row.status == "FAIL" for row in self.checks)

    @property
    def warned(self) -> int:
        """How many checks found something to mend."""
        return sum(row.status == "WARN" for row in self.checks)


def run(
    app: App,
    files: Sequence[str] = (),
    *,
    fix: bool = False,
    online: bool = False,
    whole: bool = False,
) -> DoctorReport:
    """Check all, or the content of `files`; `fix` mends first; `online` may cost
    money; `whole` lists defaults, too. Raises UsageError for a file that is not there."""
    for name in files:
        if not os.path.lexists(absolute(app, name)):
            raise UsageError(
                f"{name}: no such file", "give its path from the current folder"
            )
    # a faulty one is a row here, no reason to stop
    app.project.tolerate_configuration()
    fixed: Sequence[str] = ()
    patches: Sequence[Patch] = ()
    failed: Sequence[Check] = ()
    if fix:
        from memcli.diagnostics import fixes

        remedies = {"ids": fixes.mend_ids} if files else fixes.REMEDIES
        fixed, patches, failed = fixes.mend(app, files, remedies)
    app.project.relist()
    scene = Scene(app, files, online=online)
    checks: list[Check] = []
    sections = [check_content] if files else _sections(whole=whole)
    for done, section in enumerate(sections):
        app.count("check", done, len(sections))
        checks += _checked(section, scene)
    return DoctorReport(
        checks=(*checks, *failed), fixed=tuple(fixed), patches=tuple(patches)
    )


def check_stale(app: App) -> DoctorReport:
    """Hold what entries name against the code, and nothing else."""
    from memcli.diagnostics import stale

    return DoctorReport(tuple(_checked(stale.check_stale, Scene(app))))


def _checked(section: Section, scene: Scene) -> Iterator[Check]:
    """The rows of a section. One that breaks must not keep the others from being
    seen."""
    name = getattr(section, "__name__", "").removeprefix("check_").replace("_", "-")
    try:
        yield from list(section(scene))
    except MemError as error:
        yield failure(name, error.what, hint=error.hint)
    except Exception as error:
        what = f"this could not be checked: {type(error).__name__}: {error}"
        yield failure(
            name, what, hint="fix what it names; if it names nothing, please report it"
        )


def _sections(*, whole: bool) -> Sequence[Section]:
    """Of the report, in order; imported here, so that a look at files does without."""
    from memcli.diagnostics import (
        fixes,
        guards,
        hooks,
        index,
        installation,
        links,
        opposites,
        repository,
        stale,
    )

    return (
        installation.check_root,
        installation.check_configuration,
        *([installation.check_defaults] if whole else []),
        check_content,
        repository.check_git,
        index.check_index,
        index.check_embedder,
        stale.check_names,
        installation.check_history,
        fixes.check_leftovers,
        repository.check_worktrees,
        hooks.check_hooks,
        installation.check_found,
        links.check_links,
        installation.check_other_memory,
        guards.check_guards,
        opposites.check_opposites,
        installation.check_llm,
    )

"""mem doctor: say whether memory and installation are in order, and mend what can be made anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.diagnostics.content import check_content
from memcli.diagnostics.scene import FAIL, WARN, Check, Scene
from memcli.errors import MemError
from memcli.memory.values import Patch
from memcli.text.secrets import redact_secrets

Section = Callable[[Scene], Iterable[Check]]


class DoctorReport(NamedTuple):
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
) -> DoctorReport:
    """Check everything, or the content of `files` alone; mend first what `fix` can.

    `online` asks what is configured and costs money or leaves this machine.
    """
    app.project.tolerate_configuration()  # a faulty one is a row here, no reason to stop
    mended = _mend(app, files, dry_run=dry_run) if fix else DoctorReport(())
    app.project.relist()
    rows = (*_examine(app, files, online=online), *mended.checks)
    return DoctorReport(tuple(map(_without_secrets, rows)), mended.fixed, mended.patches)


def _without_secrets(row: Check) -> Check:
    return row._replace(detail=redact_secrets(row.detail), hint=redact_secrets(row.hint))


def _mend(app: App, files: Sequence[str], *, dry_run: bool) -> DoctorReport:
    from memcli.diagnostics import fixes

    remedies = {"ids": fixes.mend_ids} if files else fixes.REMEDIES
    mended = fixes.mend(app, files, remedies, dry_run=dry_run)
    return DoctorReport(tuple(mended.failed), tuple(mended.done), tuple(mended.patches))


def _examine(app: App, files: Sequence[str], *, online: bool = False) -> list[Check]:
    scene = Scene(app, files, online=online)
    sections = {"content": check_content} if files else every_section()
    return [row for name, section in sections.items() for row in _asked(name, section, scene)]


def _asked(name: str, section: Section, scene: Scene) -> list[Check]:
    """The rows of a section. One that breaks must not keep the others from being seen."""
    try:
        return list(section(scene))
    except MemError as error:
        return [Check(name, FAIL, error.what, error.hint)]
    except Exception as error:
        what = f"this could not be checked: {type(error).__name__}: {error}"
        return [
            Check(name, FAIL, what, "mend what it names; if it names nothing, please report it")
        ]


def every_section() -> Mapping[str, Section]:
    """The sections of the report, in order: a new check is a function here (or a rule in
    content.py).

    They are imported here, so that a look at single files does without them.
    """
    from memcli.diagnostics import hooks, index, installation, repository

    return {
        "root": installation.check_root,
        "configuration": installation.check_configuration,
        "memory": installation.check_memory,
        "content": check_content,
        "git": repository.check_git,
        "index": index.check_index,
        "embedder": installation.check_embedder,
        "history": repository.check_history,
        "state": installation.check_state,
        "leftovers": installation.check_leftovers,
        "worktrees": repository.check_worktrees,
        "hooks": hooks.check_hooks,
        "found": repository.check_found,
        "other-memory": repository.check_other_memory,
        "llm": installation.check_llm,
        "versions": installation.check_versions,
    }

"""mem doctor: say whether memory and installation are in order, and mend what can be
made anew."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.diagnostics.content import Check, Scene, check_content
from memcli.errors import MemError
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
        return sum(row.status == "FAIL" for row in self.checks)

    @property
    def warned(self) -> int:
        return sum(row.status == "WARN" for row in self.checks)


def run(
    app: App,
    files: Sequence[str] = (),
    *,
    fix: bool = False,
    dry_run: bool = False,
    online: bool = False,
) -> DoctorReport:
    """Check all, or the content of `files`; `fix` mends first; `online` may cost
    money."""
    # a faulty one is a row here, no reason to stop
    app.project.tolerate_configuration()
    mended: tuple[Sequence[str], Sequence[Patch], Sequence[Check]] = (), (), ()
    if fix:
        from memcli.diagnostics import fixes

        remedies = {"ids": fixes.mend_ids} if files else fixes.REMEDIES
        mended = fixes.mend(app, files, remedies, dry_run=dry_run)
    app.project.relist()
    scene = Scene(app, files, online=online)
    rows = [
        row
        for each in ([check_content] if files else _sections())
        for row in _asked(each, scene)
    ]
    done, patches, failed = mended
    return DoctorReport((*rows, *failed), tuple(done), tuple(patches))


def check_stale(app: App) -> DoctorReport:
    """Hold what entries name against the code, and nothing else."""
    from memcli.diagnostics import fixes

    return DoctorReport(tuple(_asked(fixes.check_stale, Scene(app))))


def _asked(section: Section, scene: Scene) -> Iterator[Check]:
    """The rows of a section. One that breaks must not keep the others from being
    seen."""
    name = getattr(section, "__name__", "").removeprefix("check_").replace("_", "-")
    try:
        yield from list(section(scene))
    except MemError as error:
        yield Check(name=name, status="FAIL", detail=error.what, hint=error.hint)
    except Exception as error:
        what = f"this could not be checked: {type(error).__name__}: {error}"
        yield Check(
            name=name,
            status="FAIL",
            detail=what,
            hint="mend what it names; if it names nothing, please report it",
        )


def _sections() -> Sequence[Section]:
    """Of the report, in order; imported here, so that a look at files does without."""
    from memcli.diagnostics import fixes, guards, hooks, installation, links

    one = installation
    return (
        one.check_root, one.check_configuration, check_content, one.check_git, one.check_index,
        one.check_embedder, fixes.check_names, one.check_history, fixes.check_leftovers,
        one.check_worktrees, hooks.check_hooks, one.check_found, links.check_links, one.check_other_memory,
        guards.check_guards, one.check_llm,
    )  # fmt: skip

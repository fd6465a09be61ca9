"""mem extract --premortem and --checkpoint: what is noted before and while the work is done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import DataError, ProviderError, UsageError
from memcli.extraction import job_files, prompts
from memcli.extraction.job_files import Checkpoint
from memcli.memory.values import Patch
from memcli.project import git
from memcli.project.context import job_folder, moment, need_root, text_to_write
from memcli.sessions import clean
from memcli.storage.files import SMALL_BYTES, Unreadable


class Pitfall(NamedTuple):
    """A pitfall that recall found: title, text and where it stands."""

    title: str
    text: str
    where: str


class MomentReport(NamedTuple):
    """What was written where, with how many risks; `failed` says why a language model added none."""

    what: str
    path: str
    risks: int
    failed: str
    patches: tuple[Patch, ...]


def premortem(
    app: App,
    task: str,
    pitfalls: Sequence[Pitfall],
    *,
    job: str = "",
    llm: bool = False,
    dry_run: bool = False,
) -> MomentReport:
    """Write `.premortem.md`: pitfalls met before, and the risks a language model foresees when
    asked.
    """
    if not task.strip():
        raise UsageError(
            "there is no task to foresee", 'mem extract --premortem "what you are about to do"'
        )
    folder = _folder(app, job)
    safe = clean.clean_text(task)
    risks, failed = _risks(app, safe, pitfalls) if llm else ((), "")
    text = job_files.premortem(
        safe, [(p.title, p.text, p.where) for p in pitfalls], risks, app.project.now.isoformat()
    )
    return _written(
        app,
        folder / ".premortem.md",
        text,
        "premortem",
        len(pitfalls) + len(risks),
        failed,
        dry_run,
    )


def checkpoint(
    app: App, found: Checkpoint, *, job: str = "", dry_run: bool = False
) -> MomentReport:
    """Append a line to `.assumptions.jsonl`."""
    path = _folder(app, job) / ".assumptions.jsonl"
    row = job_files.checkpoint_line(found, moment(app.project.now).isoformat(timespec="seconds"))
    before = _text(app, path) or ""
    glue = "" if not before or before.endswith("\n") else "\n"
    return _written(app, path, before + glue + row, "checkpoint", 1, "", dry_run)


def _risks(
    app: App, task: str, pitfalls: Sequence[Pitfall]
) -> tuple[tuple[tuple[str, str], ...], str]:
    from memcli.providers.llm import Ask

    model = app.providers.model or app.providers.model_of("anthropic")
    assert model is not None
    known = [clean.clean_text(f"{p.title}: {p.text}") for p in pitfalls]
    ask = Ask(
        prompts.RISKS,
        prompts.risks(task, known),
        schema=prompts.schema(prompts.RISK),
        purpose="premortem",
    )
    try:
        return prompts.parse_risks(model.ask(ask).text), ""
    except ProviderError as error:
        return (), error.what


def _written(
    app: App, path: Path, text: str, what: str, count: int, failed: str, dry_run: bool
) -> MomentReport:
    def plan() -> MomentReport:
        if not dry_run and app.project.root is not None:
            git.exclude(app.project.root, git.MOMENTS)
        patch = Patch(str(path), _text(app, path), text)
        return MomentReport(
            what,
            os.path.relpath(path, app.project.root or app.project.cwd),
            count,
            failed,
            (patch,),
        )

    return app.write(plan, "extract", dry_run=dry_run)


def _text(app: App, path: Path) -> str | None:
    try:
        return text_to_write(app.project, path, most=SMALL_BYTES)
    except Unreadable as error:
        raise DataError(
            f"{path.name}:{error.line}: {error}; nothing is written", "mend the file"
        ) from None


def _folder(app: App, job: str) -> Path:
    """The job's directory, without a job the root."""
    root, job = need_root(app.project), job or app.project.view.job
    return root / job_folder(app.project, job) if job else root

"""mem extract: learn from sessions; --premortem and --checkpoint note before and in the
work."""

import os
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.commands.recall import recall
from memcli.errors import ProviderError
from memcli.extraction import job_files, prompts
from memcli.extraction.extract import ExtractReport
from memcli.extraction.job_files import Checkpoint
from memcli.memory.changes import Event
from memcli.memory.filters import Filters
from memcli.memory.values import Patch
from memcli.project import git
from memcli.project.context import folder_of, moment, text_to_write
from memcli.recall.answer import RecallRequest
from memcli.storage.files import SMALL_BYTES
from memcli.text.controls import clean_text


class AfterSession(NamedTuple):
    """What mem extract did: what was learned, the ids that were reinforced, what
    compaction did."""

    extract: ExtractReport
    reinforced: tuple[str, ...]
    compacted: tuple[Event, ...]
    patches: tuple[Patch, ...]


class MomentReport(NamedTuple):
    """What was written where, with how many risks; `failed` says why a model added
    none."""

    what: str
    path: str
    patches: tuple[Patch, ...]
    risks: int = 1
    failed: str = ""


def premortem(app: App, task: str, *, job: str = "", llm: bool = False) -> MomentReport:
    """Write `.premortem.md`: pitfalls met before and rules about the task, and the risks
    that a language model foresees."""
    binding = Filters(type=("corrective", "directive"))
    hits = recall(app, RecallRequest(task, binding, ranked_only=True)).hits
    folder = folder_of(app.project, job or app.project.view.job)
    safe_task = clean_text(task)
    pitfalls = [(hit.title, hit.text, hit.where) for hit in hits]
    known = [clean_text(f"{title}: {text}") for title, text, _ in pitfalls]
    risks, failed = _risks(app, safe_task, known) if llm else ((), "")
    today = app.today
    text = job_files.premortem(safe_task, pitfalls, risks, today)
    report = MomentReport(
        what="premortem",
        path="",
        patches=(),
        risks=len(pitfalls) + len(risks),
        failed=failed,
    )
    return _written(app, folder / ".premortem.md", text, report)


def checkpoint(app: App, checkpoint: Checkpoint, *, job: str = "") -> MomentReport:
    """Append a line to `.assumptions.jsonl`."""
    path = folder_of(app.project, job or app.project.view.job) / ".assumptions.jsonl"
    now = moment(app.project.now).isoformat(timespec="seconds")
    row = job_files.checkpoint_line(checkpoint, now)
    before = text_to_write(app.project, path, most=SMALL_BYTES) or ""
    glue = "" if not before or before.endswith("\n") else "\n"
    report = MomentReport("checkpoint", "", ())
    return _written(app, path, before + glue + row, report)


def _risks(
    app: App, task: str, known: list[str]
) -> tuple[tuple[tuple[str, str], ...], str]:
    from memcli.providers.llm import Ask

    model = app.providers.model or app.providers.model_of("anthropic")
    assert model is not None
    schema = prompts.schema(prompts.RISK)
    pitfalls = "\n".join(f"- {text}" for text in known)
    asked = f"{prompts.fenced('task', task)}\n{prompts.fenced('pitfalls', pitfalls or 'none')}"
    ask = Ask(prompts.RISKS, asked, schema=schema, purpose="premortem")
    try:
        return prompts.parse_risks(model.ask(ask).text), ""
    except ProviderError as error:
        return (), error.what


def _written(app: App, path: Path, text: str, report: MomentReport) -> MomentReport:
    def plan() -> MomentReport:
        if not app.dry_run and app.project.root is not None:
            git.exclude(app.project.root, git.MOMENTS)
        before = text_to_write(app.project, path, most=SMALL_BYTES)
        name = os.path.relpath(path, app.project.root or app.project.cwd)
        return report._replace(path=name, patches=(Patch(str(path), before, text),))

    return app.write(plan, "extract")

"""mem compact: what was asked for, or all that is due."""

from memcli.app import App
from memcli.compaction.compact import CompactReport, compact, renamed_files
from memcli.compaction.plan import CompactRequest, read_files
from memcli.compaction.questions import due
from memcli.compaction.stages import stage_ends
from memcli.errors import ProviderError, RefusedError
from memcli.project import context
from memcli.storage.workspace import StaleError

__all__ = ["CompactReport", "CompactRequest", "compact_due", "run", "run_due"]


def run(app: App, request: CompactRequest) -> CompactReport:
    """Compact the files asked for; with `--adopt`, FILE#HEADING names one section of
    prose."""
    if request.adopt:
        parts = [name.partition("#") for name in request.files]
        units = tuple(heading.strip() for _, mark, heading in parts if mark)
        if units:
            files = tuple(name for name, _, _ in parts)
            request = request._replace(files=files, units=units)
    config = app.project.config
    request = request._replace(
        contradictions=config.contradictions,
        consolidate=request.consolidate or config.consolidate,
        promote_global=config.promote_global,
        semantic=config.semantic,
    )
    return compact(app, request)


def run_due(app: App, request: CompactRequest) -> CompactReport:
    """Do all that is due; try once more if another writer was faster."""
    try:
        return compact_due(app, _due_request(app, request))
    except StaleError:
        app.project.relist()
        return compact_due(app, _due_request(app, request))


def _due_request(app: App, request: CompactRequest) -> CompactRequest:
    """The request with everything that is due, the stages that ended and the files
    that were renamed included."""
    return request._replace(
        stale=True, promote=True, ended=stage_ends(app), renamed=renamed_files(app)
    )


def compact_due(app: App, request: CompactRequest) -> CompactReport:
    """Do all of `request`, in one write. Raises RefusedError while git is at
    work."""
    if why := context.write_blocker(app.project):
        raise RefusedError(f"{why}: nothing was written", "run again when that is done")
    request = request._replace(check=request.check or app.dry_run)
    if app.project.config.llm != "none":
        files = read_files(app.project, request)
        request = request._replace(consolidate=bool(due(files.sources)))
    try:
        return _bounded(app, request)
    except (ProviderError, RefusedError) as error:
        if not request.consolidate:
            raise
        app.notes.append(f"episodes wait to be consolidated: {error.what}")
        return _bounded(app, request._replace(consolidate=False))


def _bounded(app: App, request: CompactRequest) -> CompactReport:
    """Never over the loss guard: what is stale stays where too much of a file would
    leave; what leaves by a stage is refused."""
    only_losses = None if request.check else ()
    looked = compact(app, request._replace(check=True, standing=only_losses))
    losses = [event for event in looked.found if event.what == "loss"]
    if request.allow_loss:
        losses = []
    if request.check and not losses:
        return looked
    report = compact(app, request._replace(stale=not losses))
    still = {event.path for event in report.found if event.what == "loss"}
    hint = "mem compact --stale --allow-loss archives them"
    remaining = [
        event._replace(what="left", detail=f"{event.detail} are stale: {hint}")
        for event in losses
        if event.path not in still
    ]
    return report._replace(found=(*report.found, *remaining))

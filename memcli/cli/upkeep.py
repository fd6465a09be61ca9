"""Upkeep: strengthen, compact, retire with a stage, measure, check and fix."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.cli import boundary
from memcli.cli.options import (
    JOB,
    JOB_NAME,
    LEVEL,
    Names,
    answer,
    argument,
    command,
    flag,
    option,
    show,
    wrote,
)
from memcli.cli.pager import put_paged
from memcli.errors import DataError, UsageError
from memcli.memory.filters import Filters
from memcli.views import entries
from memcli.views import upkeep as view
from memcli.views.progress import Progress
from memcli.views.text import (
    count_problems,
    name_problems,
    put,
    say,
)

if TYPE_CHECKING:
    from memcli.compaction.compact import CompactReport
    from memcli.compaction.reinforce import ReinforceRequest


@command("reinforce", dry=True, trees=True)
def reinforce_(
    mem: App,
    ids: Names = argument(
        "[ID[=HOW]]...", "Entries that were used; - reads stdin.", []
    ),
    session: str = option("SESSION", "Entries shown to this session; its id or file."),
) -> int:
    """Strengthen what was used, once per session.

    HOW says how well it helped (FSRS): again, hard, good or easy; for a workflow:
    worked or failed; remember resets the decay clock without counting a use. Standard
    input has one id a line."""
    from memcli.compaction.reinforce import reinforce

    if not (ids or session):
        raise UsageError("nothing to reinforce", "name ids, or --session ID")
    request = _request(ids, session)
    report = reinforce(mem, request)
    _name_unknown(mem, report.typed_unknown)
    code = name_problems(report.skipped, done=bool(report.patches))
    wrote(mem, report, view.reinforce_text)
    if report.typed_unknown and len(report.typed_unknown) == len(ids):
        return UsageError.code  # none of the given ids exists
    return DataError.code if report.typed_unknown else code


def _request(words: Sequence[str], session: str) -> "ReinforceRequest":
    """Parse the arguments: ids, verdicts (`ID=good`), and `-` for ids on standard
    input."""
    from memcli.compaction.reinforce import ReinforceRequest
    from memcli.sessions.reader import spoken

    is_file = bool(session) and Path(session).is_file()
    return ReinforceRequest(
        ids=tuple(name for name in words if "=" not in name and name != "-"),
        listed=_listed_ids() if "-" in words else (),
        session=Path(session).stem if is_file else session,
        spoken=boundary.opened_file(session, spoken) if is_file else None,
        judged=dict(_judgement(name) for name in words if "=" in name),
    )


def _listed_ids() -> tuple[str, ...]:
    """The ids on standard input, one a line, each once."""
    return tuple(dict.fromkeys(boundary.read_words(["-"]).split()))


def _judgement(text: str) -> tuple[str, str]:
    entry_id, _, verdict = text.partition("=")
    if not entry_id:
        raise UsageError(f"{text}: needs an id", "mem reinforce ID=good")
    return entry_id, verdict


def _name_unknown(mem: App, ids: Sequence[str]) -> None:
    """Report ids that no entry has; a note on prose already says what to do."""
    noted = " ".join(mem.notes)
    unknown = [name for name in ids if name not in noted]
    for name in unknown:
        say(f"mem: {name}: no entry has that id")
    say("hint: mem list shows ids" if unknown else "")


@command("compact", dry=True, trees=True)
def compact(
    mem: App,
    progress: Progress,
    files: Names = argument("[FILE]...", "Only these memory files.", []),
    due: bool = flag("--due", "Do everything that is due, as hooks and CI do."),
    stale: bool = flag("--stale", "Archive old entries that never mattered much."),
    promote: bool = flag(
        "--promote", "Copy what recurs in 3 jobs or sessions to the project."
    ),
    adopt: bool = flag(
        "--adopt", "Turn prose into entries; FILE#HEADING: one section."
    ),
    check: bool = flag("--check", "Write nothing; exit 1 if there is work to do."),
    allow_loss: bool = flag("--allow-loss", "Let over 25 % of a file's entries leave."),
    level: Names = LEVEL,
    job: Names = JOB,
) -> int:
    """Merge near-duplicates and archive what is retired.

    Uses no network and no model unless an option says so: the result is the same on
    every machine, and safe in CI. What leaves a file is kept in the archive beside it.
    Also counts which entries agents used."""
    from memcli.commands.compact import CompactRequest, run, run_due

    mem.options = mem.options._replace(dry_run=mem.dry_run or check)
    request = CompactRequest(
        files=tuple(files),
        levels=tuple(level),
        jobs=tuple(job),
        tasks=mem.options.tasks,
        stale=stale,
        promote=promote,
        adopt=adopt,
        allow_loss=allow_loss,
        check=check,
    )
    if due and request != CompactRequest(check=check, allow_loss=allow_loss):
        raise UsageError(
            "--due finds out by itself what is due", "leave out the other options"
        )
    request = request._replace(uses=not check)
    with progress:
        report = (run_due if due else run)(mem, request)
    code = name_problems(report.skipped, done=bool(report.patches))
    _answer_compacted(mem, report, check=check)
    has_work = report.patches or report.waiting
    return 1 if check and has_work else code


def _answer_compacted(mem: App, report: "CompactReport", *, check: bool) -> None:
    """Print what was found and left alone, then what was or would be done."""
    if not mem.options.json:
        for line in view.event_lines(report.found):
            say(line, quiet=mem.options.quiet)
    if check and not mem.options.json:
        answer(view.compact_text(report))
    else:
        wrote(mem, report, view.compact_text)


@command("retire-stage", dry=True, trees=True)
def retire_stage(
    mem: App,
    stage: str = argument(
        "[STAGE]", "The stage that ended; default: as INTENT.md says.", ""
    ),
    job: str = JOB_NAME,
    detect_only: bool = flag("--check", "Only show the stage; write nothing."),
    allow_loss: bool = flag("--allow-loss", "Let over 25 % of a file's entries leave."),
) -> int:
    """Retire what was true only for a stage that ended.

    Retires the task entries of that phase; keeps team entries, and entries with a kind
    at the project or global level. Without STAGE, uses the one in INTENT.md."""
    from memcli.commands.retire_stage import StageRequest, retire_stage

    request = StageRequest(
        stage=stage,
        job=job,
        detect_only=detect_only,
        allow_loss=allow_loss,
    )
    report = retire_stage(mem, request)
    # mem doctor does not look at INTENT.md
    hint = "" if report.current == "unknown" else "hint: mem doctor"
    code = name_problems(report.skipped, hint=hint, done=bool(report.patches))
    if detect_only and not mem.options.json:
        put(report.current)
    else:
        rows = entries.entry_objects(report.retired, report.patches)
        wrote(mem, report, view.retire_stage_text, lambda report: {"retired": rows})
    return code


@command("health")
def health(
    mem: App,
    progress: Progress,
    history: bool = flag("--history", "Show the score by day."),
    html: str = option("FILE", "Also write a self-contained HTML page.", "--out"),
    check: bool = flag("--check", "Exit 1 when the score is below health_min (60)."),
) -> int:
    """Show how good the memory is, in five metrics, and how to improve it."""
    from memcli.diagnostics.health import health

    quiet = mem.options.quiet
    with progress:
        report = health(mem)
        if html:
            from memcli.commands.browse import browse
            from memcli.views import page

            shown = browse(mem, Filters(), known=report, start="health")
            page.write(mem.project, shown, html)
    count_problems(report.problems, quiet=quiet)
    sparse = not mem.embeds
    words = view.trend_text if history else partial(view.health_text, sparse=sparse)
    keys = partial(view.health_keys, sparse=sparse, history=history)
    show(mem, report, words, keys)
    say(f"mem: wrote {html}" if html else "", quiet=quiet)
    say("" if report.found else boundary.beginning(mem, report.problems), quiet=quiet)
    score = report.health.score
    least = mem.project.config.health_min
    if not check or score >= least:
        return 0
    say(f"mem: the score {score:g} is below {least:g} (health_min)", quiet=quiet)
    return 1


@command("doctor", dry=True)
def doctor(
    mem: App,
    progress: Progress,
    fix: bool = flag(
        "--fix", "Fix what is derived or can be undone: ids, index, git settings."
    ),
    online: bool = flag(
        "--online", "Also call the configured providers; this may cost a little."
    ),
    stale: bool = flag("--stale", "Only entries that name code that is gone."),
    everything: bool = flag(
        "--all",
        "Also settings left at the default; on a terminal, checks that pass.",
        "-v",
    ),
    files: Names = argument("[FILE]...", "Check only the content of these files.", []),
) -> int:
    """Show what is broken, and fix it.

    Checks memory files, index, git settings and configuration, and names the command
    that fixes each finding. Exit 1 if something is broken."""
    from memcli.commands.doctor import check_stale, run

    dry_run = mem.dry_run
    if dry_run and not fix:
        raise UsageError(
            "--dry-run shows what --fix would do", "mem doctor --fix --dry-run"
        )
    if stale and fix:
        raise UsageError("--stale does not go with --fix", "mem doctor --fix")
    quiet = mem.options.quiet
    with progress:
        if stale:
            report = check_stale(mem)
        else:
            report = run(mem, files, fix=fix, online=online, whole=everything)
    for line in report.fixed:
        say(f"mem: {'dry run, not done: ' if dry_run else ''}{line}", quiet=quiet)
    if dry_run or mem.options.json:
        wrote(mem, report, view.doctor_text, view.doctor_keys)
    else:
        put_paged(view.doctor_text(report, whole=everything, quiet=quiet))
    say(view.doctor_summary(report), quiet=quiet)
    return 1 if report.failed else 0

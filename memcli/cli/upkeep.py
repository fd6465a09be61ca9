"""Maintenance: learn from sessions, strengthen, compact, check."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.cli import boundary
from memcli.cli.options import (
    JOB,
    LEVEL,
    Names,
    argument,
    command,
    flag,
    many,
    number,
    option,
    show,
    wrote,
)
from memcli.cli.progress import Progress
from memcli.errors import DataError, ProviderError, RefusedError, UsageError, one_of
from memcli.index.view import Filters
from memcli.project.context import need_root
from memcli.views import entries, exchange, json, sessions, upkeep
from memcli.views.text import (
    count_problems,
    folded,
    how_to_begin,
    name_problems,
    put,
    safe,
    say,
)

if TYPE_CHECKING:
    from memcli.extraction.job_files import Checkpoint


JOB_NAME = option("NAME", "The job, where its folder does not tell it.")
MOMENTS = "Before and in the work"  # a panel of options


@command("extract", dry=True, trees=True)
def extract(
    mem: App,
    progress: Progress,
    transcripts: Names = argument(
        "[TRANSCRIPT]...", "Session files, or -; without, the new ones.", None
    ),
    scope: Names = many("SCOPE", "Only this scope; may be given more than once."),
    moment: str = option(
        "MOMENT", "prospective, in-flight, corrective or retrospective."
    ),
    engine: str = option("ENGINE", "auto, llm or rules.", default="auto"),
    all: bool = flag("--all", "Every session not read yet, not only the latest."),
    finished: bool = flag("--finished", "Leave out what was written to just now."),
    again: bool = flag("--again", "Ask the model anew about what left entries."),
    job: str = JOB_NAME,
    format: str = option("FORMAT", "The transcript's format, if it does not tell."),
    show_prompt: bool = flag("--show-prompt", "Print what a model would be sent."),
    list_sessions: bool = flag(
        "--list", "Where sessions are looked for, and what is there."
    ),
    show_turns: bool = flag("--show-turns", "Print who said what; learn nothing."),
    no_reinforce: bool = flag(
        "--no-reinforce", "Do not strengthen what the sessions recalled."
    ),
    premortem: str = option(
        "TASK", "Write .premortem.md from known pitfalls.", panel=MOMENTS
    ),
    checkpoint: str = option(
        "MILESTONE", "Note assumptions; - reads JSON from stdin.", panel=MOMENTS
    ),
    assume: Names = many(
        "KEY=VALUE", "An assumption at --checkpoint: scope, ...", panel=MOMENTS
    ),
    recommend: str = option(
        "TEXT", "At --checkpoint: what to do about it.", panel=MOMENTS
    ),
) -> int:
    """Learn from finished sessions.

    Corrections, preferences, pitfalls and an episode of each session, by rules or by
    the language model that your own configuration enables. Secrets are taken out first.
    Nothing is learned twice."""
    from memcli.commands import extract as command
    from memcli.hooks import pipeline
    from memcli.project.context import write_blocker
    from memcli.sessions.reader import FORMATS

    one_of("--engine", engine, ("auto", "llm", "rules"))
    one_of("--format", format, ("", *FORMATS))
    if moment:
        from memcli.extraction.scopes import MOMENTS as scopes_of

        one_of("--moment", moment, tuple(scopes_of))
        scope = [*(scope or ()), *scopes_of[moment]]
    if (assume or recommend) and not checkpoint:
        what = "--assume and --recommend belong to a checkpoint"
        raise UsageError(what, "name it with --checkpoint MILESTONE")
    if bool(transcripts) + bool(premortem) + bool(checkpoint) > 1:
        what = "one at a time: transcripts, --premortem or --checkpoint"
        raise UsageError(what, "mem extract --help")
    if list_sessions or show_turns:
        return _look(mem, transcripts or [], format, turns=show_turns)
    if premortem or checkpoint:
        if premortem:
            llm = engine == "llm" or (
                engine == "auto" and mem.project.config.llm != "none"
            )
            written = command.premortem(
                mem, premortem, job=job, llm=llm, dry_run=mem.options.dry_run
            )
        else:
            given = _checkpoint(checkpoint, assume or (), recommend)
            written = command.checkpoint(
                mem, given, job=job, dry_run=mem.options.dry_run
            )
        say(f"mem: premortem: {written.failed}" if written.failed else "")
        wrote(mem, written, sessions.moment_text)
        return ProviderError.code if written.failed else 0
    request = command.ExtractRequest(
        transcripts=tuple(transcripts or ()), scopes=tuple(scope or ()),
        text=boundary.read_stdin() if "-" in (transcripts or ()) else b"", engine=engine, all=all, finished=finished,
        job=job, task="".join(mem.options.tasks[-1:]), again=again, format=format, show_prompt=show_prompt,
    )  # fmt: skip
    blocked = mem.project.root is not None and finished and not mem.options.dry_run
    if why := blocked and write_blocker(mem.project):
        raise RefusedError(
            f"{why}: nothing is written", "it is learned from in the next run"
        )
    with progress:
        done = pipeline.run(
            mem, request, dry_run=mem.options.dry_run, strengthen=not no_reinforce
        )
    report = done.extract
    code = name_problems(report.problems, hint="")
    for session in report.sessions:
        for scope_of, why in session.failed:
            say(f"mem: {session.name}: scope {scope_of} failed: {why}")
    if show_prompt and not mem.options.json:
        put("\n".join(report.prompts))
        say(
            "" if report.prompts else "mem: nothing would be sent",
            quiet=mem.options.quiet,
        )
    else:
        wrote(mem, done, sessions.extract_text, sessions.extract_keys)
    return (
        ProviderError.code
        if any(session.failed for session in report.sessions)
        else code
    )


def _look(mem: App, transcripts: Sequence[str], format: str, *, turns: bool) -> int:
    from memcli.sessions.discover import discover
    from memcli.sessions.reader import read_all

    if not turns:
        found = discover(mem.project.environ, [need_root(mem.project)])
        show(mem, found, sessions.looked_text, sessions.looked_keys)
        return 0
    if not transcripts:
        raise UsageError(
            "--show-turns needs a session", "mem extract --show-turns FILE"
        )
    of = partial(read_all, format=format)
    told = [each for name in transcripts for each in boundary.opened_file(name, of)]
    show(mem, told, sessions.turns_text, sessions.turns_keys)
    return 0


def _checkpoint(milestone: str, assume: Sequence[str], recommend: str) -> "Checkpoint":
    from memcli.extraction import job_files

    if assume or recommend:
        return job_files.Checkpoint(
            milestone, job_files.parse_assumptions(assume), recommend
        )
    read = boundary.read_stdin().decode("utf-8", "replace")
    return job_files.parse_checkpoint(read, "" if milestone == "-" else milestone)


@command("reinforce", dry=True, trees=True)
def reinforce_(
    mem: App,
    ids: Names = argument("[ID]...", "Entries that were used.", None),
    session: str = option("ID", "What that session was shown; once per session."),
    transcript: str = option("FILE", "The session, for aligned and rated."),
    ids_file: str = option("FILE", "Ids, one a line; - is stdin.", "--ids"),
    rate: Names = many("ID=RATING", "again, hard, good or easy (FSRS)."),
    success: Names = many("ID", "This workflow worked."),
    failed: Names = many("ID", "This workflow failed."),
    explicit: bool = flag(
        "--explicit", '"Remember this": reset the decay clock, without a count.'
    ),
) -> int:
    """Strengthen what was used.

    By id, from a file of ids, or what a session was shown (once per session)."""
    from memcli.compaction.reinforce import ReinforceRequest, reinforce
    from memcli.sessions.reader import spoken

    if not (ids or session or ids_file or rate or success or failed):
        raise UsageError(
            "there is nothing to reinforce", "name ids, --ids FILE, or --session ID"
        )
    rated = [item.split("=", 1) for item in rate or ()]
    if wrong := ["=".join(pair) for pair in rated if len(pair) < 2 or not pair[0]]:
        raise UsageError(
            f"--rate {wrong[0]}: needs an id and a rating", "write --rate ID=good"
        )
    listed = boundary.read_file(ids_file) if ids_file else ""
    spoken_text = boundary.opened_file(transcript, spoken) if transcript else None
    request = ReinforceRequest(
        ids=tuple(ids or ()), listed=tuple(dict.fromkeys(filter(None, map(str.strip, listed.splitlines())))),
        session=session, spoken=spoken_text, rates=dict(rated),
        succeeded=tuple(success or ()), failed=tuple(failed or ()), explicit=explicit,
    )  # fmt: skip
    report = reinforce(mem, request, dry_run=mem.options.dry_run)
    told = " ".join(mem.notes)  # of prose it is said there what to do
    nowhere = [name for name in report.typed_unknown if name not in told]
    for name in nowhere:
        say(f"mem: {name}: no entry has that id")
    say("hint: mem list shows ids" if nowhere else "")
    code = name_problems(report.skipped, done=bool(report.patches))
    wrote(mem, report, entries.reinforce_text)
    return DataError.code if report.typed_unknown else code


@command("compact", dry=True, trees=True)
def compact(
    mem: App,
    progress: Progress,
    files: Names = argument("[FILE]...", "Only these memory files.", None),
    due: bool = flag("--due", "Do all that is due, as hooks and CI do."),
    stale: bool = flag("--stale", "Archive what is old and never mattered much."),
    promote: bool = flag(
        "--promote", "Copy what recurs in 3 jobs or sessions up to the project."
    ),
    contradictions: str = option(
        "HOW",
        "flag (name them), decay (weaken both) or resolve (ask the model).",
        default="flag",
    ),
    consolidate: bool = flag(
        "--consolidate", "Let the model make facts of new episodes."
    ),
    promote_global: bool = flag(
        "--promote-global", "Copy to ~/MEMORY.md what the model calls generic."
    ),
    semantic: bool = flag(
        "--semantic", "Merge what says the same in other words, too."
    ),
    adopt: bool = flag("--adopt", "Make prose entries; FILE#HEADING: one section."),
    check: bool = flag("--check", "Write nothing; exit 1 when there is work."),
    allow_loss: bool = flag("--allow-loss", "Let over 25 % of a file's entries leave."),
    level: Names = LEVEL,
    job: Names = JOB,
) -> int:
    """Merge near-duplicates and archive what is retired.

    No network and no model, but where an option says so: the same on every machine,
    safe in CI. What leaves a file is kept in its archive beside it. What agents used of
    it is counted, too."""
    from memcli.commands import compact as command

    one_of("--contradictions", contradictions, ("flag", "decay", "resolve"))
    dry_run = mem.options.dry_run or check
    mem.options = mem.options._replace(dry_run=dry_run)
    request = command.CompactRequest(
        files=tuple(files or ()), levels=tuple(level or ()), jobs=tuple(job or ()), tasks=mem.options.tasks,
        stale=stale, promote=promote, contradictions=contradictions, adopt=adopt, allow_loss=allow_loss, consolidate=consolidate, promote_global=promote_global,
        check=check, semantic=semantic,
    )  # fmt: skip
    if due and request != command.CompactRequest(check=check, allow_loss=allow_loss):
        raise UsageError(
            "--due looks itself for what is due", "leave the other options out"
        )
    with progress:
        run = command.run_due if due else command.run
        report = run(mem, request._replace(uses=not check), dry_run=dry_run)
    code = name_problems(report.skipped, done=bool(report.patches))
    for line in upkeep.event_lines(report.found) if not mem.options.json else ():
        say(line, quiet=mem.options.quiet)
    if not check or mem.options.json:
        wrote(mem, report, upkeep.compact_text)
    else:
        put("\n".join(folded([upkeep.compact_text(report)], more=2)))
    return 1 if check and (report.patches or report.waiting) else code


@command("retire-stage", dry=True, trees=True)
def retire_stage(
    mem: App,
    stage: str = argument(
        "[STAGE]", "The stage that ended; without, INTENT.md tells it.", ""
    ),
    job: str = JOB_NAME,
    detect_only: bool = flag("--detect-only", "Only tell the stage."),
    allow_loss: bool = flag("--allow-loss", "Let over 25 % of a file's entries leave."),
) -> int:
    """Retire what was true for a stage that ended.

    Task entries of that phase are retired; team entries stay, and so does what has a
    kind at the project or global level. Without STAGE, INTENT.md tells it."""
    from memcli.commands import retire_stage as command

    request = command.StageRequest(
        stage=stage,
        job=job,
        detect_only=detect_only,
        allow_loss=allow_loss,
        dry_run=mem.options.dry_run,
    )
    report = command.retire_stage(mem, request)
    # mem doctor knows nothing of INTENT.md
    hint = "" if report.current == "unknown" else "hint: mem doctor"
    code = name_problems(report.skipped, hint=hint, done=bool(report.patches))
    if detect_only and not mem.options.json:
        put(report.current)
    else:
        rows = entries.named(report.retired, report.patches)
        wrote(mem, report, entries.retire_stage_text, lambda _: {"retired": rows})
    return code


@command("health")
def health(
    mem: App,
    progress: Progress,
    history: bool = flag("--history", "Draw the score by day."),
    html: str = option("FILE", "Write one self-contained page, too."),
    least: float | None = number("--min", "Exit 1 when the score is below N.", 0, 100),
) -> int:
    """Say how good the memory is, in five metrics, and what would make it better."""
    from memcli.diagnostics import health as command

    quiet = mem.options.quiet
    with progress:
        report = command.health(mem)
        if html:
            from memcli.commands.browse import browse
            from memcli.views import page

            page.write(
                mem.project, browse(mem, Filters(), known=report, start="health"), html
            )
    count_problems(report.problems, quiet=quiet)
    sparse = not mem.embeds
    words = upkeep.trend_text if history else partial(upkeep.health_text, sparse=sparse)
    show(
        mem, report, words, partial(upkeep.health_keys, sparse=sparse, history=history)
    )
    say(f"mem: wrote {html}" if html else "", quiet=quiet)
    say("" if report.found else how_to_begin(report.problems), quiet=quiet)
    low = least is not None and report.health.score < least
    say(
        f"mem: the score {report.health.score:g} is below {least:g}" if low else "",
        quiet=quiet,
    )
    return 1 if low else 0


@command("eval")
def eval_(mem: App, progress: Progress) -> int:
    """Say what memory was worth: replay the sessions in which a person corrected the
    agent.

    Was what would have prevented a correction there before that session began, and
    would a hook have told it? Nothing is written."""
    from memcli.hooks import replay

    with progress:
        report = replay.replay(mem, partial(progress.count, "sessions"))
    show(mem, report, sessions.replay_text)
    return 0


@command("doctor", dry=True)
def doctor(
    mem: App,
    progress: Progress,
    fix: bool = flag(
        "--fix", "Mend what is derived or can be undone: ids, index, git settings."
    ),
    online: bool = flag(
        "--online", "Ask the configured providers, too: it may cost a little."
    ),
    stale: bool = flag("--stale", "Only entries that name what the code has no more."),
    files: Names = argument("[FILE]...", "Only the content of these files.", None),
) -> int:
    """Say what is broken, and mend it.

    Memory files, index, git settings, configuration: each finding with the command that
    mends it. Exit 1 when something is broken."""
    from memcli.commands import doctor as command

    if mem.options.dry_run and not fix:
        raise UsageError(
            "--dry-run shows what --fix would do", "mem doctor --fix --dry-run"
        )
    quiet = mem.options.quiet
    with progress:
        if stale and not fix:
            report = command.check_stale(mem)
        else:
            report = command.run(
                mem, files or (), fix=fix, dry_run=mem.options.dry_run, online=online
            )
    for line in report.fixed:
        say(
            f"mem: {'dry run, not done: ' if mem.options.dry_run else ''}{line}",
            quiet=quiet,
        )
    if mem.options.dry_run or mem.options.json:
        wrote(mem, report, upkeep.doctor_text, upkeep.doctor_keys)
    else:
        put(upkeep.doctor_text(report))
    say(upkeep.doctor_summary(report), quiet=quiet)
    return 1 if report.failed else 0


@command("diff")
def diff(
    mem: App,
    revisions: str = argument(
        "[BASE..HEAD]", "Without: where this branch began, and the files.", ""
    ),
    format: str = option("FORMAT", "text, markdown or json.", default="text"),
    exit_code: bool = flag("--exit-code", "Exit 1 when something changes."),
) -> int:
    """Say what a branch adds to and takes from memory."""
    from memcli.exchange import branch_diff as command

    one_of("--format", format, ("text", "markdown", "json"))
    report = command.diff(mem, revisions)
    code = name_problems(report.problems)
    words = exchange.diff_markdown if format == "markdown" else exchange.diff_text
    is_json = format == "json" or mem.options.json
    put(json.of(report) if is_json else safe(words(report)))
    return code or (1 if exit_code and not report.empty else 0)


PROPOSALS = argument("ID...", "Proposals, by the beginning of their ids.")


@command("inbox")
def inbox(mem: App) -> None:
    """What sessions proposed and waits for a yes.

    What rules find likely but not sure lies here, on this machine, for 30 days; mem
    keep writes one, mem drop forgets it. What a person says again in another session is
    kept by itself."""
    from memcli.commands import inbox as command

    show(mem, command.inbox(mem), sessions.inbox_text, sessions.inbox_keys)


@command("keep", dry=True)
def keep(
    mem: App,
    ids: list[str] = PROPOSALS,
    title: str = option("TEXT", "Its title in your words."),
    kind: str = option("KIND", "policy, workflow, pitfall, decision, ..."),
    level: str = option("LEVEL", "global, project, job or task."),
) -> None:
    """Write proposals as entries.

    Each says which session and turn it is from; your yes confirms it."""
    from memcli.commands import keep as command

    request = command.KeepRequest(ids=tuple(ids), title=title, kind=kind, level=level)
    report = command.keep(mem, request, dry_run=mem.options.dry_run)
    wrote(mem, report, sessions.keep_text)


@command("drop", dry=True)
def drop(mem: App, ids: list[str] = PROPOSALS) -> None:
    """Forget proposals; none of them comes back by itself."""
    from memcli.commands import drop as command

    report = command.drop(mem, ids, dry_run=mem.options.dry_run)
    wrote(mem, report, sessions.drop_text)

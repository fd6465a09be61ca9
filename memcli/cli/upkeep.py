"""Maintenance: learn from sessions, strengthen, compact, check."""

from functools import partial

from memcli.app import App
from memcli.cli import boundary
from memcli.cli.options import Given, command, name_problems, show, wrote
from memcli.cli.progress import Progress
from memcli.errors import DataError, ProviderError, RefusedError, UsageError, one_of
from memcli.project.context import need_root, write_blocker
from memcli.views import entries, exchange, json, sessions, upkeep
from memcli.views.text import HOW_TO_BEGIN, count_problems, folded, put, say

# --- extract


@command("""extract
    [TRANSCRIPT]...  Session files, or -; without, the new ones.
    --scope SCOPE...  Only this scope; may be given more than once.
    --engine ENGINE (auto)  auto, llm or rules.
    --format FORMAT  The transcript's format, if it does not tell.
    --all            Every session not read yet, not only the latest.
    --finished       Leave out what was written to just now.
    --again          Ask the model anew about what left entries.
    --job NAME       The job of sessions whose folder does not tell it; so --task.
    --show-prompt    Print what a model would be sent.
    --list           Where sessions are looked for, and what is there.
    --no-reinforce   Do not strengthen what the sessions recalled.
    --premortem TASK  Write .premortem.md from known pitfalls.
    --checkpoint MILESTONE  Note assumptions; - reads JSON from stdin.
    --assume KEY=VALUE...  An assumption at --checkpoint: scope, ...
    --recommend TEXT  At --checkpoint: what to do about it.
    -v, --verbose    Name the scopes that were skipped.
    --task --dry-run
""")
def extract(mem: App, given: Given) -> int:
    """Learn from finished sessions.

    Corrections, preferences, pitfalls and an episode of each session, by rules or by the language
    model that your own configuration enables. Secrets are taken out first. Nothing is learned
    twice.
    """
    from memcli.extraction.extract import ExtractRequest
    from memcli.hooks import pipeline
    from memcli.sessions.discover import discover

    one_of("--engine", given.engine, ("auto", "llm", "rules"))
    if (given.assume or given.recommend) and not given.checkpoint:
        what = "--assume and --recommend belong to a checkpoint"
        raise UsageError(what, "name it with --checkpoint MILESTONE")
    if bool(given.words) + bool(given.premortem) + bool(given.checkpoint) > 1:
        what = "one at a time: transcripts, --premortem or --checkpoint"
        raise UsageError(what, "mem extract --help")
    if given.list:
        found = discover(mem.project.environ, [need_root(mem.project)])
        show(mem, found, sessions.looked_text, sessions.looked_keys)
        return 0
    if given.premortem or given.checkpoint:
        return _moment(mem, given)
    request = given.to(
        ExtractRequest, transcripts=given.words, scopes=given.scope,
        text=boundary.read_stdin() if "-" in given.words else b"", task="".join(given.task[-1:]),
    )  # fmt: skip
    blocked = mem.project.root is not None and given.finished and not given.dry_run
    if why := blocked and write_blocker(mem.project):
        raise RefusedError(f"{why}: nothing is written", "it is learned from in the next run")
    with Progress("extract", quiet=mem.options.quiet):
        done = pipeline.run(mem, request, dry_run=given.dry_run, strengthen=not given.no_reinforce)
    report = done.extract
    code = name_problems(report.problems)
    for line in sessions.extract_failures(report):
        say(line)
    if given.show_prompt and not mem.options.json:
        put("\n".join(report.prompts))
        say("" if report.prompts else "mem: nothing would be sent", quiet=mem.options.quiet)
    else:
        words = partial(sessions.extract_text, verbose=given.verbose)
        wrote(mem, given, done, words, sessions.extract_keys)
    return ProviderError.code if any(session.failed for session in report.sessions) else code


def _moment(mem: App, given: Given) -> int:
    """Note what is foreseen, or assumed."""
    from memcli.commands import extract as command
    from memcli.extraction import job_files

    if given.premortem:
        llm = given.engine == "llm" or (given.engine == "auto" and mem.project.config.llm != "none")
        done = command.premortem(
            mem, given.premortem, job=given.job, llm=llm, dry_run=given.dry_run
        )
    else:
        name = given.checkpoint
        if given.assume or given.recommend:
            assumed = job_files.parse_assumptions(given.assume)
            found = job_files.Checkpoint(name, assumed, given.recommend)
        else:
            read = boundary.read_words(["-"])
            found = job_files.parse_checkpoint(read, "" if name == "-" else name)
        done = command.checkpoint(mem, found, job=given.job, dry_run=given.dry_run)
    say(f"mem: premortem: {done.failed}" if done.failed else "")
    wrote(mem, given, done, sessions.moment_text)
    return ProviderError.code if done.failed else 0


# --- reinforce, compact, retire-stage


@command("""reinforce
    [ID]...          Entries that were used.
    --session ID     What that session was shown; once per session.
    --ids FILE       Ids, one a line; - is stdin.
    --mode MODE      retrieved, aligned or rated; see reinforce_mode.
    --transcript FILE  The session, for aligned and rated.
    --rate ID=RATING...  again, hard, good or easy (FSRS).
    --success ID...  This workflow worked.
    --failed ID...   This workflow failed.
    --explicit       "Remember this": reset the decay clock, without a count.
    --task --dry-run
""")
def reinforce_(mem: App, given: Given) -> int:
    """Strengthen what was used.

    By id, from a file of ids, or what a session was shown (once per session).
    """
    from memcli.compaction.reinforce import ReinforceRequest, reinforce
    from memcli.sessions.reader import spoken

    one_of("--mode", given.mode, ("", "retrieved", "aligned", "rated"))
    sources = (given.words, given.session, given.ids, given.rate, given.success, given.failed)
    if not any(sources):
        raise UsageError("there is nothing to reinforce", "name ids, --ids FILE, or --session ID")
    rated = [item.split("=", 1) for item in given.rate]
    if wrong := ["=".join(pair) for pair in rated if len(pair) < 2 or not pair[0]]:
        raise UsageError(f"--rate {wrong[0]}: needs an id and a rating", "write --rate ID=good")
    listed = boundary.read_file(given.ids) if given.ids else ""
    request = given.to(
        ReinforceRequest, ids=given.words, rates=dict(rated), succeeded=given.success,
        listed=tuple(dict.fromkeys(filter(None, map(str.strip, listed.splitlines())))),
        spoken=boundary.opened_file(given.transcript, spoken) if given.transcript else None,
    )  # fmt: skip
    report = reinforce(mem, request, dry_run=given.dry_run)
    told = " ".join(mem.notes)  # of prose it is said there what to do
    nowhere = [name for name in report.typed_unknown if name not in told]
    for name in nowhere:
        say(f"mem: {name}: no entry has that id")
    say("hint: mem list shows ids" if nowhere else "")
    code = name_problems(report.skipped)
    wrote(mem, given, report, entries.reinforce_text)
    return DataError.code if report.typed_unknown else code


@command("""compact
    [FILE]...         Only these memory files.
    --due             Do all that is due, as hooks and CI do.
    --stale           Archive what is old and never mattered much.
    --promote         Copy what recurs in 3 jobs or sessions up to the project.
    --contradictions HOW (flag)  flag (name them), decay (weaken both) or resolve (ask the model).
    --consolidate     Let the model make facts of new episodes.
    --promote-global  Copy to ~/MEMORY.md what the model calls generic.
    --semantic        Merge what says the same in other words, too.
    --adopt           Make prose entries; FILE#HEADING: one section.
    --check           Write nothing; exit 1 when there is work.
    --allow-loss      Let over 25 % of a file's entries leave.
    --level LEVEL...  global, project, job or task.
    --job NAME...     Look at this job and its tasks.
    --task --dry-run
""")
def compact(mem: App, given: Given) -> int:
    """Merge near-duplicates and archive what is retired.

    No network and no model, but where an option says so: the same on every machine, safe in CI.
    What leaves a file is kept in its archive beside it. What agents used of it is counted, too.
    """
    from memcli.commands import compact as command
    from memcli.compaction.plan import Steps

    one_of("--contradictions", given.contradictions, ("flag", "decay", "resolve"))
    check, quiet = given.check, mem.options.quiet
    dry_run = given.dry_run = given.dry_run or check
    request = given.to(
        command.CompactRequest, files=given.words, levels=given.level, jobs=given.job,
        tasks=given.task, steps=given.to(Steps),
    )  # fmt: skip
    if given.due and request != command.CompactRequest(check=check):
        raise UsageError("--due looks itself for what is due", "leave the other options out")
    with Progress("compact", quiet=quiet):
        if given.due:
            report = command.compact_due(mem, check=check, dry_run=dry_run, uses=not check)
        else:
            report = command.run(mem, request._replace(uses=not check), dry_run=dry_run)
    code = name_problems(report.skipped)
    for line in upkeep.event_lines(report.found) if not mem.options.json else ():
        say(line, quiet=quiet)
    if not check or mem.options.json:
        wrote(mem, given, report, upkeep.compact_text)
    else:
        put("\n".join(folded([upkeep.compact_text(report)], more=2)))
    return 1 if check and (report.patches or report.waiting) else code


@command("""retire-stage
    [STAGE]        The stage that ended; without, INTENT.md tells it.
    --job NAME     The job whose stage ended.
    --detect-only  Only tell the stage.
    --task --dry-run
""")
def retire_stage(mem: App, given: Given) -> int:
    """Retire what was true for a stage that ended.

    Task entries of that phase are retired; team entries stay. Without STAGE, INTENT.md tells it.
    """
    from memcli.commands import compact as command

    request = given.to(command.StageRequest, stage=given.word)
    report = command.retire_stage(mem, request, dry_run=given.dry_run)
    code = name_problems(report.skipped)
    if given.detect_only and not mem.options.json:
        put(report.current)
    else:
        wrote(mem, given, report, entries.retire_stage_text, entries.retire_stage_keys)
    return code


# --- health, doctor, diff


@command("""health
    --history    Draw the score by day.
    --html FILE  Write one self-contained page, too.
    --min N      Exit 1 when the score is below N.
""")
def health(mem: App, given: Given) -> int:
    """Say how good the memory is, in five metrics, and what would make it better."""
    from memcli.diagnostics import health as command

    quiet, least = mem.options.quiet, given.min
    with Progress("health", quiet=quiet):
        report = command.health(mem, page=bool(given.html))
    if given.html:
        from memcli.views import page

        page.write(mem.project, report, given.html)
    count_problems(report.problems, quiet=quiet)
    sparse = not mem.embeds
    words = upkeep.trend_text if given.history else partial(upkeep.health_text, sparse=sparse)
    show(mem, report, words, partial(upkeep.health_keys, sparse=sparse, history=given.history))
    say(f"mem: wrote {given.html}" if given.html else "", quiet=quiet)
    say("" if report.found else HOW_TO_BEGIN, quiet=quiet)
    low = least is not None and report.health.score < least
    say(f"mem: the score {report.health.score:g} is below {least:g}" if low else "", quiet=quiet)
    return 1 if low else 0


@command("""doctor
    [FILE]...  Only the content of these files.
    --fix      Mend what is derived or can be undone: ids, index, git settings.
    --online   Ask the configured providers, too: it may cost a little.
    --stale    Only entries that name what the code has no more.
    --dry-run
""")
def doctor(mem: App, given: Given) -> int:
    """Say what is broken, and mend it.

    Memory files, index, git settings, configuration: each finding with the command that mends it.
    Exit 1 when something is broken.
    """
    from memcli.commands import doctor as command

    fix, dry_run, quiet = given.fix, given.dry_run, mem.options.quiet
    if dry_run and not fix:
        raise UsageError("--dry-run shows what --fix would do", "mem doctor --fix --dry-run")
    with Progress("doctor", quiet=quiet):
        if given.stale and not fix:
            report = command.check_stale(mem)
        else:
            report = command.run(mem, given.words, fix=fix, dry_run=dry_run, online=given.online)
    for line in report.fixed:
        say(f"mem: {'dry run, not done: ' if dry_run else ''}{line}", quiet=quiet)
    if dry_run or mem.options.json:
        wrote(mem, given, report, upkeep.doctor_text, upkeep.doctor_keys)
    else:
        put(upkeep.doctor_text(report))
    say(upkeep.doctor_summary(report), quiet=quiet)
    return 1 if report.failed else 0


@command("""diff
    [BASE..HEAD]     Without: where this branch began, and the files.
    --format FORMAT (text)  text, markdown or json.
    --exit-code      Exit 1 when something changes.
""")
def diff(mem: App, given: Given) -> int:
    """Say what a branch adds to and takes from memory."""
    from memcli.exchange import branch_diff as command

    one_of("--format", given.format, ("text", "markdown", "json"))
    report = command.diff(mem, given.word)
    code = name_problems(report.problems)
    words = exchange.diff_markdown if given.format == "markdown" else exchange.diff_text
    if given.format == "json" or mem.options.json:
        put(json.of(report))
    else:
        put(words(report))
    return code or (1 if given.exit_code and not report.empty else 0)

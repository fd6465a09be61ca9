"""Learning: from sessions, before and during work, and proposals that wait for a
yes."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.cli import boundary
from memcli.cli.options import (
    JOB_NAME,
    Names,
    argument,
    command,
    flag,
    many,
    option,
    show,
    wrote,
)
from memcli.errors import ProviderError, RefusedError, UsageError, one_of
from memcli.project.context import need_root, write_blocker
from memcli.views import learning as view
from memcli.views.progress import Progress
from memcli.views.text import name_problems, put, say

if TYPE_CHECKING:
    from memcli.extraction.extract import ExtractReport, ExtractRequest
    from memcli.extraction.job_files import Checkpoint

_UNSENT = (
    "mem: nothing would be sent: rules ask no model (--engine llm does), and what was"
    " learned from before is not sent again"
)
MOMENTS = "Before and during work"  # a panel of options
PROPOSALS = argument("ID...", "Proposals, by the first characters of their ids.")


@command("extract", dry=True, trees=True)
def extract(
    mem: App,
    progress: Progress,
    transcripts: Names = argument(
        "[TRANSCRIPT]...", "Session files, or - for stdin; default: the new ones.", []
    ),
    scope: Names = many("SCOPE", "Only this scope; may be given more than once."),
    engine: str = option("ENGINE", "auto, llm or rules.", default="auto"),
    all: bool = flag("--all", "All sessions not read yet, not only the latest."),
    finished: bool = flag("--finished", "Skip sessions that were written to just now."),
    again: bool = flag(
        "--again", "Ask the model again about sessions that left entries."
    ),
    job: str = JOB_NAME,
    format: str = option("FORMAT", "The transcript's format, if not detected."),
    look: str = option(
        "WHAT",
        "Learn nothing, only show: sessions, turns (who said what) or prompt"
        " (what a model would get).",
        "--show",
    ),
    premortem: str = option(
        "TASK", "Write .premortem.md from known pitfalls.", panel=MOMENTS
    ),
    checkpoint: str = option(
        "MILESTONE", "Record assumptions; - reads JSON from stdin.", panel=MOMENTS
    ),
    assume: Names = many(
        "KEY=VALUE",
        "With --checkpoint: complexity, scope, ... or recommendation.",
        panel=MOMENTS,
    ),
) -> int:
    """Learn from finished sessions.

    Finds corrections, preferences and pitfalls, and writes an episode of each session.
    Uses rules, or the language model that your own configuration enables. Secrets are
    removed first. Nothing is learned twice."""
    from memcli.extraction.extract import ExtractRequest

    # Check for options that exclude each other before any work.
    if assume and not checkpoint:
        hint = "add --checkpoint MILESTONE"
        raise UsageError("--assume needs --checkpoint", hint)
    if sum(map(bool, (transcripts, premortem, checkpoint))) > 1:
        what = "give only one of transcripts, --premortem and --checkpoint"
        raise UsageError(what, "mem extract --help")
    named = tuple(transcripts)
    request = ExtractRequest(
        transcripts=named,
        scopes=tuple(scope),
        engine=engine,
        all=all,
        finished=finished,
        job=job,
        task="".join(mem.options.tasks[-1:]),
        again=again,
        format=format,
        show_prompt=look == "prompt",
    )
    _require_known(engine, format)

    # Show, record a checkpoint, or learn.
    one_of("--show", look, ("", "sessions", "turns", "prompt"))
    if look == "sessions":
        return _list_sessions(mem)
    if look == "turns":
        return _show_turns(mem, named, format)
    if premortem:
        return _premortem(mem, premortem, job, engine)
    if checkpoint:
        return _checkpoint(mem, _noted(checkpoint, assume), job)
    if "-" in named:
        request = request._replace(text=boundary.read_stdin())
    if finished:
        _require_calm(mem)
    return _learn(mem, progress, request)


def _require_known(engine: str, format: str) -> None:
    from memcli.sessions.reader import FORMATS

    one_of("--engine", engine, ("auto", "llm", "rules"))
    one_of("--format", format, ("", *FORMATS))


def _require_calm(mem: App) -> None:
    """Raise if git or a person is working on the files, since hooks learn unasked."""
    writes = mem.project.root is not None and not mem.dry_run
    if why := write_blocker(mem.project) if writes else "":
        raise RefusedError(f"{why}: nothing was written", "the next run learns from it")


def _learn(mem: App, progress: Progress, request: "ExtractRequest") -> int:
    from memcli.hooks import pipeline

    with progress:
        outcome = pipeline.run(mem, request)
    report = outcome.extract
    code = name_problems(report.problems, hint="")
    any_failed = _name_failures(report)
    if request.show_prompt and not mem.options.json:
        put("\n".join(report.prompts))
        nothing = "" if report.prompts else _UNSENT
        say(nothing, quiet=mem.options.quiet)
        return ProviderError.code if any_failed else code
    in_words = mem.dry_run and not mem.options.json
    proposed = view.proposed_lines(outcome) if in_words else []
    put("\n".join(proposed))
    if outcome.patches or not proposed:
        wrote(mem, outcome, view.extract_text, view.extract_keys)
    return ProviderError.code if any_failed else code


def _name_failures(report: "ExtractReport") -> bool:
    """Report which scopes of which sessions failed; return whether any did."""
    any_failed = False
    for session in report.sessions:
        for why in dict.fromkeys(why for _, why in session.failed):
            any_failed = True
            scopes = [scope for scope, reason in session.failed if reason == why]
            say(f"mem: {session.name}: {', '.join(scopes)} failed: {why}")
    return any_failed


def _list_sessions(mem: App) -> int:
    from memcli.sessions.discover import discover

    found = discover(mem.project.environ, [need_root(mem.project)])
    show(mem, found, view.looked_text, view.looked_keys)
    return 0


def _show_turns(mem: App, transcripts: Sequence[str], format: str) -> int:
    from memcli.sessions.reader import read_all

    if not transcripts:
        raise UsageError(
            "--show turns needs a session", "mem extract --show turns FILE"
        )
    sessions = []
    for name in transcripts:
        sessions += boundary.opened_file(name, partial(read_all, format=format))
    show(mem, sessions, view.turns_text, view.turns_keys)
    return 0


def _premortem(mem: App, task: str, job: str, engine: str) -> int:
    from memcli.commands.extract import premortem

    is_enabled = engine == "auto" and mem.project.config.llm != "none"
    asks_model = engine == "llm" or is_enabled
    report = premortem(mem, task, job=job, llm=asks_model)
    say(f"mem: premortem: {report.failed}" if report.failed else "")
    wrote(mem, report, view.moment_text)
    return ProviderError.code if report.failed else 0


def _checkpoint(mem: App, noted: "Checkpoint", job: str) -> int:
    from memcli.commands.extract import checkpoint

    report = checkpoint(mem, noted, job=job)
    wrote(mem, report, view.moment_text)
    return 0


def _noted(milestone: str, assume: Sequence[str]) -> "Checkpoint":
    """The checkpoint from the options, or from JSON on standard input."""
    from memcli.extraction import job_files

    if assume:
        return job_files.parse_assumptions(milestone, assume)
    text = boundary.read_stdin().decode("utf-8", "replace")
    return job_files.parse_checkpoint(text, "" if milestone == "-" else milestone)


@command("inbox")
def inbox(mem: App) -> None:
    """List what sessions proposed; each waits for your yes.

    Findings that the rules are not sure about wait here, on this machine, for 30 days.
    mem keep writes one to memory, mem drop deletes it. What a person says again in
    another session is kept automatically."""
    from memcli.commands.inbox import inbox

    show(mem, inbox(mem), view.inbox_text, view.inbox_keys)


@command("keep", dry=True)
def keep(
    mem: App,
    ids: list[str] = PROPOSALS,
    title: str = option("TEXT", "The title, in your words."),
    kind: str = option("KIND", "policy, workflow, pitfall, decision, ..."),
    level: str = option("LEVEL", "global, project, job or task."),
) -> None:
    """Write proposals to memory.

    Each entry names the session and turn it comes from, and counts as confirmed by
    you."""
    from memcli.commands.keep import KeepRequest, keep

    request = KeepRequest(ids=tuple(ids), title=title, kind=kind, level=level)
    wrote(mem, keep(mem, request), view.keep_text)


@command("drop", dry=True)
def drop(mem: App, ids: list[str] = PROPOSALS) -> None:
    """Delete proposals; they are not proposed again."""
    from memcli.commands.drop import drop

    wrote(mem, drop(mem, ids), view.drop_text)


@command("eval")
def eval_(mem: App, progress: Progress) -> int:
    """Show which corrections of the agent memory could have prevented.

    Past sessions are replayed: does a rule of memory say what the person said then,
    and would hooks have told it before, had it stood there? Was what they tell taken
    up? Nothing is written."""
    from memcli.hooks import replay

    with progress:
        report = replay.replay(mem)
    show(mem, report, view.eval_text)
    return 0

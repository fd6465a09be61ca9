"""The command line: signatures, shared options, and the one place where failures become exit codes."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Annotated, Any

import typer
import typer.core

from memcli import __version__
from memcli.app import App, opened
from memcli.cli.talk import (
    HOW_TO_BEGIN,
    choice,
    count_problems,
    embedding_progress,
    fail,
    filters_of,
    guarded,
    key,
    number,
    options,
    progress,
    put,
    put_bytes,
    read_stdin,
    read_text,
    say,
    say_notes,
    whole,
)
from memcli.errors import DataError, ProviderError, RefusedError, UsageError
from memcli.storage.files import read_file
from memcli.views.terminal import columns

GROUPS = {
    "Every day": (
        "recall",
        "add",
        "list",
        "show",
        "extract",
        "reinforce",
        "retire",
        "restore",
        "undo",
    ),
    "Keep memory small and true": ("compact", "retire-stage", "health", "doctor", "diff"),
    "Set up and exchange": ("init", "index", "import", "export", "completion"),
    "For git, agents and CI": ("hook", "merge-driver", "mcp"),
}
"""The commands as `mem --help` lists them."""


class Program(typer.core.TyperGroup):
    """`mem`, whose help lists the commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, self.commands[name].get_short_help_str(200)) for name in names]
                )


app = typer.Typer(
    name="mem",
    cls=Program,
    help="Find, learn, strengthen and compact what a repository's MEMORY.md files know.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

# --- shared options

Root = Annotated[
    str, typer.Option("--root", metavar="DIR", help="The project's root; found by itself without.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A configuration key for this run."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No talk on stderr but errors.")]

Level = Annotated[
    list[str] | None, typer.Option(metavar="LEVEL", help="global, project, job or task.")
]
Job = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Look at this job and its tasks.")
]
Task = Annotated[
    list[str] | None, typer.Option("--task", metavar="NAME", help="Look at this task.")
]
WriteTask = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="NAME", help="Write to this task's own work tree, too."),
]
Type = Annotated[
    list[str] | None,
    typer.Option(metavar="TYPE", help="declarative, procedural, directive or corrective."),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND", help="policy, workflow, pitfall, architecture, decision, ..."),
]
Store = Annotated[
    list[str] | None, typer.Option(metavar="STORE", help="memory, institutional, proxy or archive.")
]
Tag = Annotated[
    list[str] | None, typer.Option(metavar="TAG", help="A tag; may be given more than once.")
]
PathOf = Annotated[
    list[str] | None, typer.Option("--path", metavar="FILE", help="Entries about this file.")
]
Since = Annotated[
    str,
    typer.Option(
        metavar="DATE", help="Created since: 2026-03-01, or so long ago: 30d, 6w, 3m, 1y."
    ),
]
Until = Annotated[str, typer.Option(metavar="DATE", help="Created until: a date, or so long ago.")]
Proxy = Annotated[
    bool, typer.Option("--proxy", help="Include the proxy store (one person's manner).")
]
Archived = Annotated[bool, typer.Option("--archived", help="Include the archives.")]
NoGlobal = Annotated[bool, typer.Option("--no-global", help="Leave the global level out.")]


# --- index


@app.command()
def index(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when the index is stale.")
    ] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start over from the files.")] = False,
    push: Annotated[
        bool, typer.Option("--push", help="Send what changed to the shared index, too (store_url).")
    ] = False,
    archived: Annotated[
        bool, typer.Option("--archived", help="With --push: the archives, too.")
    ] = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Bring the index to the state of the memory files."""
    from memcli.commands import index as command
    from memcli.views import render

    if (check and push) or (archived and not push):
        raise UsageError("--archived goes with --push, --check does not", "mem index --help")
    with opened(options(root, sets, quiet, json)) as mem:
        shown = {"progress": progress(mem), "embedding": embedding_progress(mem)}
        report = command.check(mem) if check else command.index(mem, rebuild=rebuild, **shown)
        say_notes(mem)
        for problem in (*report.problems, *report.repeated):
            say(*render.problem_lines([problem]), quiet=quiet and problem.severity != "unreadable")
        sent = _push(mem, archived) if push else None
        if json:
            put(render.index_json(report, sent))
        elif check:
            put(render.stale_text(report))
        elif report.where:
            say(render.index_text(report), quiet=quiet)
        else:
            say(HOW_TO_BEGIN, quiet=quiet)
        if sent is not None:
            say(render.push_text(sent), quiet=quiet)
        if check and report.stale:
            return 1
        if report.vectors is not None and report.vectors.failed:
            return fail(ProviderError.code, report.vectors.failed, report.vectors.hint)
        return DataError.code if any(p.severity == "unreadable" for p in report.problems) else 0


def _push(mem: App, archived: bool) -> Any:
    from memcli.postgres import push as command

    return command.push(mem, archived=archived)


# --- recall


@app.command()
def recall(
    task: Annotated[
        list[str],
        typer.Argument(metavar="TASK", help="What you are about to do; - reads it from stdin."),
    ],
    limit: Annotated[
        int | None, typer.Option(metavar="N", parser=key("--limit"), help="Most ranked hits.")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=key("--max-tokens"), help="Size of the whole answer; 0 is no limit."
        ),
    ] = None,
    walk: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=key("--walk"),
            help="Add what is N edges (similar, supports) away from hits.",
        ),
    ] = None,
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help="auto, text, prompt or json.")
    ] = "auto",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the factors of every score.")
    ] = False,
    ranked: Annotated[
        bool, typer.Option("--ranked", help="Only ranked hits, of all kinds.")
    ] = False,
    detail: Annotated[
        str, typer.Option(metavar="WHEN", help="Details of episodes: auto, none or high.")
    ] = "auto",
    level: Level = None,
    job: Job = None,
    task_name: Task = None,
    type: Type = None,
    kind: Kind = None,
    store: Store = None,
    tag: Tag = None,
    path: PathOf = None,
    since: Since = "",
    until: Until = "",
    proxy: Proxy = False,
    archived: Archived = False,
    no_global: NoGlobal = False,
    session: Annotated[
        str, typer.Option(metavar="ID", help="Log the hits for mem reinforce.")
    ] = "",
    ids_out: Annotated[
        str, typer.Option(metavar="FILE", help="Write the shown ids, one a line.")
    ] = "",
    no_refresh: Annotated[
        bool, typer.Option("--no-refresh", help="Answer from the index as it is.")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 when nothing is ranked.")
    ] = False,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", help="Search every project of the shared index that you may read."
        ),
    ] = False,
    project: Annotated[
        list[str] | None,
        typer.Option("--project", metavar="NAME", help="With --shared: only this project."),
    ] = None,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Find what was learned that bears on TASK."""
    from memcli.cli import fast

    filters = filters_of(
        level=level, job=job, task=task_name, type=type, kind=kind, store=store, tag=tag, path=path,
        since=since, until=until, proxy=proxy, archived=archived, no_global=no_global,
    )  # fmt: skip
    return fast.recall(
        task, filters, limit=limit, max_tokens=max_tokens, walk=walk, form=format, explain=explain,
        ranked=ranked, detail=detail, session=session, ids_out=ids_out, refresh=not no_refresh,
        exit_code=exit_code, shared=shared or bool(project), projects=project or (), root=root,
        sets=sets or (), json=json, quiet=quiet,
    )  # fmt: skip


# --- add, show, list

DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Print the diff; write nothing.")]


@app.command()
def add(
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT", help="What you learned, first line the title; - reads it from stdin."
        ),
    ],
    level: Annotated[str, typer.Option(metavar="LEVEL", help="project, job, task or global.")] = "",
    job: Annotated[str, typer.Option(metavar="NAME", help="The job to write to.")] = "",
    task_name: Annotated[
        str, typer.Option("--task", metavar="NAME", help="The task to write to.")
    ] = "",
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="policy, workflow, pitfall, decision, ...")
    ] = "",
    type: Annotated[str, typer.Option(metavar="TYPE", help="By kind when not given.")] = "",
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="A title, instead of the first line.")
    ] = "",
    tag: Tag = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="GLOB", help="Files it is about (gitignore syntax)."),
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option("--command", metavar="GLOB", help="Shell commands it is about."),
    ] = None,
    importance: Annotated[
        float | None, typer.Option(metavar="N", parser=number("--importance", 0, 1), help="0 to 1.")
    ] = None,
    priority: Annotated[
        str,
        typer.Option(metavar="PRIORITY", help="permanent, critical, high, pin, medium, normal."),
    ] = "",
    step: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A step of a workflow, in order.")
    ] = None,
    outcome: Annotated[str, typer.Option(metavar="TEXT", help="How it ended (episodes).")] = "",
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Write down one thing that was learned. What is known already is reinforced instead."""
    from memcli.commands import add as command
    from memcli.views import render

    lists = command.parse_lists
    with opened(options(root, sets, quiet, json)) as mem:
        request = command.Request(
            read_text(text), level or ("task" if task_name else "job" if job else "project"), job, task_name,
            type, kind, title, lists(tag or ()), tuple(path or ()), tuple(about or ()), importance, priority,
            tuple(step or ()), outcome,
        )  # fmt: skip
        report = command.add(mem, request, dry_run=dry_run)
        seen = report._replace(path=mem.seen(mem.path_of(report.path), report.path))
        _written(mem, report, dry_run=dry_run, text=render.add_text(seen))
    return 0


def _written(mem: App, report: Any, *, dry_run: bool, text: str) -> None:
    """What every writer prints: the diff alone for --dry-run, else what was done."""
    from memcli.views import render

    say_notes(mem)
    if mem.options.json:
        put(render.written_json(report, dry_run=dry_run))
    elif dry_run:
        diff = render.diff(report.patches, str(mem.root or mem.home))
        put(_shown_diff(diff)) if diff else say(
            "mem: nothing would change", quiet=mem.options.quiet
        )
    else:
        say(text, quiet=mem.options.quiet)


def _shown_diff(text: str) -> str:
    """A diff for git apply, byte for byte; on a terminal without what that would obey."""
    if sys.stdout is None or not sys.stdout.isatty():
        return text
    from memcli.text.controls import for_display

    return for_display(text)


@app.command()
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="An entry's id, or its beginning.")],
    proxy: Annotated[
        bool, typer.Option("--proxy", help="An entry of the proxy store, too.")
    ] = False,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="The bytes as they stand in the file, unsafe characters too."),
    ] = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Show one entry and where it comes from."""
    from memcli.commands import show as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json)) as mem:
        report = command.show(mem, id, proxy=proxy)
        say_notes(mem)
        if raw:
            put_bytes(report.raw.encode("utf-8", "surrogatepass"))
        else:
            put(render.show_json(report) if json else render.show_text(report))
    return 0


@app.command("list")
def list_(
    recent: Annotated[
        int | None,
        typer.Option(metavar="N", parser=whole("--recent", 1), help="Only the newest N."),
    ] = None,
    level: Level = None,
    job: Job = None,
    task_name: Task = None,
    type: Type = None,
    kind: Kind = None,
    store: Store = None,
    tag: Tag = None,
    path: PathOf = None,
    since: Since = "",
    until: Until = "",
    proxy: Proxy = False,
    archived: Archived = False,
    no_global: NoGlobal = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """List what is remembered, newest first."""
    from memcli.commands import list as command
    from memcli.views import render

    filters = filters_of(
        level=level, job=job, task=task_name, type=type, kind=kind, store=store, tag=tag, path=path,
        since=since, until=until, proxy=proxy, archived=archived, no_global=no_global,
    )  # fmt: skip
    with opened(options(root, sets, quiet, json)) as mem:
        report = command.list_entries(mem, filters, recent)
        say_notes(mem)
        count_problems(mem.problems if mem.listing.files else mem.problems_of_listing, quiet=quiet)
        put(render.list_json(report) if json else render.list_text(report))
        if not report.found:
            say(HOW_TO_BEGIN, quiet=quiet)
        elif not report.rows:
            say("mem: nothing that is remembered passes these filters", quiet=quiet)
    return 0


# --- reinforce, compact, retire, restore, retire-stage, undo, init


@app.command()
def reinforce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Entries that were used.")
    ] = None,
    session: Annotated[
        str, typer.Option(metavar="ID", help="What that session was shown; once per session.")
    ] = "",
    ids_file: Annotated[
        str, typer.Option("--ids", metavar="FILE", help="Ids, one a line; - is stdin.")
    ] = "",
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="retrieved, aligned or rated; see reinforce_mode.")
    ] = "",
    transcript: Annotated[
        str,
        typer.Option(metavar="FILE", help="The session's words, for the modes aligned and rated."),
    ] = "",
    rate: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=RATING", help="again, hard, good or easy (FSRS)."),
    ] = None,
    success: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="This workflow worked.")
    ] = None,
    failed: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="This workflow failed.")
    ] = None,
    explicit: Annotated[
        bool,
        typer.Option("--explicit", help='"Remember this": reset the decay clock, without a count.'),
    ] = False,
    task_name: WriteTask = None,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Strengthen what was used.

    By id, from a file of ids, or what a session was shown (once per session)."""
    from memcli.commands import reinforce as command
    from memcli.views import render

    if mode:
        choice("--mode", mode, ("retrieved", "aligned", "rated"))
    if not (ids or session or ids_file or rate or success or failed):
        raise UsageError("there is nothing to reinforce", "name ids, --ids FILE, or --session ID")
    with opened(options(root, sets, quiet, json, task_name)) as mem:
        request = command.Request(
            ids=tuple(ids or ()),
            listed=command.read_ids(_lines(ids_file)) if ids_file else (),
            session=session,
            mode=mode,
            spoken=_spoken(transcript) if transcript else None,
            rates=command.parse_rates(rate or ()),
            succeeded=tuple(success or ()),
            failed=tuple(failed or ()),
            explicit=explicit,
        )
        report = command.run(mem, request, dry_run=dry_run)
        for name in report.typed_unknown:
            say(f"mem: {name}: no entry has that id")
        say("hint: mem list shows ids" if report.typed_unknown else "")
        for line in render.problem_lines(report.skipped):
            say(line)
        _written(mem, report, dry_run=dry_run, text=render.reinforce_text(report))
        return DataError.code if report.typed_unknown or report.skipped else 0


def _lines(path: str) -> list[str]:
    return _text_of(path).splitlines()


def _text_of(path: str) -> str:
    if path == "-":
        return read_stdin()
    try:
        return read_file(path).data.decode("utf-8", "replace")
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: OSError) -> UsageError:
    why = (error.strerror or str(error)).lower()
    return UsageError(f"{path}: cannot be read: {why}", "name a file, or - for standard input")


def _spoken(path: str) -> str:
    import io

    from memcli.sessions.reader import spoken

    if path == "-":
        return spoken(io.BytesIO(_stdin_bytes()))
    try:
        return spoken(path)
    except OSError as error:
        raise _unreadable(path, error) from None


@app.command()
def compact(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="Only these memory files.")
    ] = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Archive what is old and never mattered much.")
    ] = False,
    promote: Annotated[
        bool,
        typer.Option("--promote", help="Copy what recurs in 3 jobs or sessions up to the project."),
    ] = False,
    contradictions: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="flag: name them; decay: both lose weight, once; resolve: ask the model.",
        ),
    ] = "flag",
    consolidate: Annotated[
        bool, typer.Option("--consolidate", help="Let the model make facts of new episodes.")
    ] = False,
    promote_global: Annotated[
        bool,
        typer.Option(
            "--promote-global", help="Copy up to ~/MEMORY.md what the model calls generic."
        ),
    ] = False,
    semantic: Annotated[
        bool,
        typer.Option(
            "--semantic", help="Merge what says the same in other words, too (by its vector)."
        ),
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Turn sections of prose into entries.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when there is work.")
    ] = False,
    allow_loss: Annotated[
        bool,
        typer.Option(
            "--allow-loss", help="Go ahead though over 25 % of a file's entries would leave."
        ),
    ] = False,
    level: Level = None,
    job: Job = None,
    task_name: WriteTask = None,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Merge near-duplicates and archive what is retired.

    No network and no model, but where an option says so: the same on every machine, safe in CI.
    What leaves a file is kept in its archive beside it."""
    from memcli.commands import compact as command
    from memcli.compaction.steps import Steps
    from memcli.views import render

    choice("--contradictions", contradictions, ("flag", "decay", "resolve"))
    with opened(options(root, sets, quiet, json, task_name)) as mem:
        steps = Steps(stale, promote, contradictions, adopt)
        request = command.Request(
            tuple(files or ()),
            tuple(level or ()),
            tuple(job or ()),
            tuple(task_name or ()),
            steps,
            allow_loss,
            consolidate,
            promote_global,
            check,
            semantic,
        )
        report = command.run(mem, request, dry_run=dry_run or check)
        for line in render.problem_lines(report.skipped):
            say(line)
        text = render.compact_text(report)
        if json:
            put(render.events_json(report, dry_run=dry_run or check))
        elif check:
            say_notes(mem)
            put(render.on_screen(text)) if report.patches or report.waiting else say(
                text, quiet=quiet
            )
        else:
            _written(mem, report, dry_run=dry_run, text=text)
        if check and (report.patches or report.waiting):
            return 1
        return DataError.code if report.skipped else 0


@app.command()
def retire(
    ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Entries to take out of recall.")
    ],
    because: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    task_name: WriteTask = None,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Take entries out of recall.

    They stay in their file, retired, until mem compact moves them to the archive."""
    from memcli.commands import retire as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json, task_name)) as mem:
        report = command.retire(mem, ids, because, dry_run=dry_run)
        _written(mem, report, dry_run=dry_run, text=render.retire_text(report))
    return 0


@app.command()
def restore(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Retired or archived entries.")],
    task_name: WriteTask = None,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Bring retired or archived entries back."""
    from memcli.commands import retire as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json, task_name)) as mem:
        report = command.restore(mem, ids, dry_run=dry_run)
        _written(mem, report, dry_run=dry_run, text=render.retire_text(report))
    return 0


@app.command("retire-stage")
def retire_stage(
    stage: Annotated[
        str, typer.Argument(metavar="[STAGE]", help="The stage that ended; without, see INTENT.md.")
    ] = "",
    job: Annotated[str, typer.Option(metavar="NAME", help="The job whose stage ended.")] = "",
    detect_only: Annotated[
        bool, typer.Option("--detect-only", help="Only tell the stage.")
    ] = False,
    task_name: WriteTask = None,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Retire what was true for a stage that ended.

    Task entries of that phase are retired; team entries stay. Without STAGE, INTENT.md tells it."""
    from memcli.commands import retire_stage as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json, task_name)) as mem:
        report = command.run(mem, command.Request(stage, job, detect_only), dry_run=dry_run)
        for line in render.problem_lines(report.skipped):
            say(line)
        if detect_only and not json:
            say_notes(mem)
            put(report.current)
        else:
            _written(mem, report, dry_run=dry_run, text=render.retire_stage_text(report))
        return DataError.code if report.skipped else 0


@app.command()
def undo(
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Take back the last write of mem."""
    from memcli.commands import undo as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json)) as mem:
        report = command.run(mem, dry_run=dry_run)
        text = render.undo_text(report, str(mem.root or mem.home), dry_run=dry_run)
        _written(mem, report, dry_run=dry_run, text=text)
        return 0 if report.verb else 1


@app.command()
def init(
    git: Annotated[
        bool, typer.Option("--git", help="Let git call mem: hooks after merge, rebase, commit.")
    ] = False,
    claude: Annotated[bool, typer.Option("--claude", help="Let Claude Code call mem.")] = False,
    codex: Annotated[bool, typer.Option("--codex", help="Let Codex call mem.")] = False,
    gemini: Annotated[bool, typer.Option("--gemini", help="Let Gemini CLI call mem.")] = False,
    opencode: Annotated[bool, typer.Option("--opencode", help="Let opencode call mem.")] = False,
    ci: Annotated[
        bool, typer.Option("--ci", help="A workflow for GitHub that compacts after a merge.")
    ] = False,
    source: Annotated[
        str, typer.Option("--from", metavar="SPEC", help="What CI installs, as pip takes it.")
    ] = "",
    agents: Annotated[
        bool,
        typer.Option("--agents", help="Tell agents in AGENTS.md or CLAUDE.md when to use mem."),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All of these.")] = False,
    user: Annotated[
        bool,
        typer.Option("--user", help="Hooks of agents in your own settings, for all repositories."),
    ] = False,
    shared: Annotated[
        bool, typer.Option("--shared", help="Hooks of agents in settings that are committed.")
    ] = False,
    remove: Annotated[
        bool,
        typer.Option(
            "--remove", help="Take back what mem init did, or only what is named with it."
        ),
    ] = False,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Make a repository ready.

    Creates MEMORY.md, ignores derived files, registers the merge driver for memory files; and on
    request lets git, agents and CI call mem by themselves."""
    from memcli.commands import init as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json)) as mem:
        each = everything and not remove  # without a target named, --remove takes back all of them
        wanted = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}
        request = command.InitRequest(
            git=git or each,
            agents=tuple(name for name, on in wanted.items() if on or each),
            ci=ci or each,
            instructions=agents or each,
            user=user,
            shared=shared,
            remove=remove,
            source=source,
            everything=everything,
        )
        report = command.run(mem, request, dry_run=dry_run)
        _written(mem, report, dry_run=dry_run, text=render.init_text(report))
        for line in report.done if dry_run else ():
            say(f"mem: dry run, not done: {line}", quiet=quiet)
        for line in report.next if not dry_run and not json else ():
            say(f"next: {line}", quiet=quiet)
    return 0


# --- import, export, diff, mcp


@app.command("import")
def import_(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files or folders to read.")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="claude, agents-md, claude-mem; found out without.",
        ),
    ] = "",
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help="project, job, task or global.")
    ] = "project",
    project: Annotated[
        str, typer.Option(metavar="NAME", help="Of a claude-mem database; the root's name without.")
    ] = "",
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Take over what other memories know.

    Claude Code's auto memory, CLAUDE.md and its like, claude-mem. The sources
    are only read; what is known already is not added, so running it twice is running it once.
    """
    from memcli.commands import import_ as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json)) as mem:
        request = command.Request(tuple(paths), form, level, project)
        report = command.run(mem, request, dry_run=dry_run)
        for line in render.problem_lines(report.skipped):
            say(line)
        if json:
            say_notes(mem)
            put(render.import_json(report, dry_run=dry_run))
        else:
            _written(mem, report, dry_run=dry_run, text=render.import_text(report))
            if dry_run:
                say(render.import_text(report), quiet=quiet)
        return DataError.code if report.incomplete else 0


@app.command()
def export(
    target: Annotated[str, typer.Option(metavar="TARGET", help="claude, agents-md or json.")] = "",
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Write there; of a file that exists only our section changes."
        ),
    ] = "",
    max_lines: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole("--max-lines", 20), help="Most lines of the section."
        ),
    ] = 200,
    max_bytes: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole("--max-bytes", 1000), help="Most bytes of the section."
        ),
    ] = 25_000,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Hand the memory to tools that read a file.

    For claude and agents-md a marked section with norms, rules and the strongest lessons; for json
    every live entry. The proxy store is never exported."""
    from memcli.commands import export as command
    from memcli.views import render

    if not (target or json):
        raise UsageError("export: for what?", f"--target {', '.join(command.TARGETS)}")
    with opened(options(root, sets, quiet, json)) as mem:
        report = command.export(mem, "json" if json else target, lines=max_lines, size=max_bytes)
        text = render.export_text(report)
        say_notes(mem)
        count_problems(report.problems, quiet=quiet)
        if not report.kept:
            say(HOW_TO_BEGIN, quiet=quiet)
        if out:
            done = command.save(mem, report, text, out)
            say(f"mem: wrote {out}" if done else f"mem: {out} is up to date", quiet=quiet)
        else:
            put(text)
        if report.handout.more:
            say(
                f"mem: {report.handout.more} more found no room: --max-lines, --max-bytes",
                quiet=quiet,
            )
    return 0


@app.command()
def diff(
    revisions: Annotated[
        str,
        typer.Argument(
            metavar="[BASE..HEAD]", help="Without: where this branch began, and the files."
        ),
    ] = "",
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, markdown or json.")] = "text",
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 when something changes.")
    ] = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what a branch adds to and takes from memory."""
    from memcli.commands import diff as command
    from memcli.views import render

    choice("--format", format, ("text", "markdown", "json"))
    with opened(options(root, sets, quiet, json)) as mem:
        report = command.diff(mem, revisions)
        say_notes(mem)
        for line in render.problem_lines(report.problems):
            say(line)
        written = {
            "text": render.diff_text,
            "markdown": render.diff_markdown,
            "json": render.diff_json,
        }
        put(written["json" if json else format](report))
        if report.problems:
            return DataError.code
        return 1 if exit_code and not report.empty else 0


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Print the script that completes commands and options in a shell.

    For bash into ~/.local/share/bash-completion/completions/mem, for zsh as _mem into a folder of
    $fpath, for fish into ~/.config/fish/completions/mem.fish."""
    from memcli.commands import completion as command

    text = command.script(shell)
    if json:
        from memcli.views import render

        text = render.to_json({"shell": shell, "script": text})
    put(text.rstrip("\n"))
    return 0


@app.command()
def mcp(root: Root = "") -> int:
    """Serve recall, add, episode, show and health to agents over MCP (stdio).

    Needs the extra mcp: pip install 'memcli[mcp]'."""
    from memcli.cli import mcp as mcp_server

    return mcp_server.serve(root)


# --- doctor


@app.command()
def doctor(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Only the content of these files."),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Mend what is derived or can be undone: ids, index, git settings."
        ),
    ] = False,
    online: Annotated[
        bool,
        typer.Option("--online", help="Ask the configured providers, too: it may cost a little."),
    ] = False,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what is broken, and mend it.

    Memory files, index, git settings, configuration: each finding with the command that mends it.
    Exit 1 when something is broken."""
    from memcli.commands import doctor as command
    from memcli.views import render

    if dry_run and not fix:
        raise UsageError("--dry-run shows what --fix would do", "mem doctor --fix --dry-run")
    with opened(options(root, sets, quiet, json)) as mem:
        report = command.run(mem, files or (), fix=fix, dry_run=dry_run, online=online)
        say_notes(mem)
        for line in report.fixed:
            say(f"mem: {'dry run, not done: ' if dry_run else ''}{line}", quiet=quiet)
        if json:
            put(render.doctor_json(report, dry_run=dry_run))
        elif dry_run:
            put(_shown_diff(render.diff(report.patches, str(mem.root or mem.home))))
        else:
            put(render.doctor_text(report))
        say(render.doctor_summary(report), quiet=quiet)
        return 1 if report.failed else 0


@app.command()
def health(
    history: Annotated[bool, typer.Option("--history", help="Draw the score by day.")] = False,
    html: Annotated[
        str, typer.Option(metavar="FILE", help="Write one self-contained page, too.")
    ] = "",
    least: Annotated[
        float | None,
        typer.Option(
            "--min",
            metavar="N",
            parser=number("--min", 0, 100),
            help="Exit 1 when the score is below N.",
        ),
    ] = None,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say how good the memory is, in five metrics, and what would make it better."""
    from memcli.commands import health as command
    from memcli.views import render

    with opened(options(root, sets, quiet, json)) as mem:
        report = command.health(mem, page=bool(html))
        if html:
            command.write_page(mem, report, html)
        say_notes(mem)
        count_problems(report.problems, quiet=quiet)
        if json:
            put(render.health_json(report, history=history))
        else:
            put(render.trend_text(report) if history else render.health_text(report))
        if html:
            say(f"mem: wrote {html}", quiet=quiet)
        if not report.found:
            say(HOW_TO_BEGIN, quiet=quiet)
        low = least is not None and report.health.score < least
        if low:
            say(f"mem: the score {report.health.score:g} is below {least:g}", quiet=quiet)
        return 1 if low else 0


@app.command("merge-driver")
def merge_driver(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE OURS THEIRS [PATH [SIZE]]", help="As git passes %O %A %B %P %L."
        ),
    ],
) -> int:
    """Merge memory files by entry id, for git."""
    from memcli.commands import merge_driver as command

    return command.main(files)


@app.command(context_settings={"ignore_unknown_options": True})
def hook(
    event: Annotated[
        list[str],
        typer.Argument(
            metavar="EVENT [ARGUMENT]...",
            help="session-start, prompt, pre-tool, pre-compact or session-end; or git post-merge,"
            " git post-rewrite, git post-commit.",
        ),
    ],
    harness: Annotated[
        str, typer.Option(metavar="NAME", help="Who calls: claude or codex.")
    ] = "claude",
) -> int:
    """Serve an agent or git; mem init puts the calls in place.

    Reads the agent's JSON from standard input and prints JSON or nothing. The exit status is always
    0; what went wrong stands in hooks.log in the state folder. MEM_HOOK=off switches every hook
    off.
    """
    from memcli.hooks import protocol as command

    return command.main(event)


# --- extract


@app.command()
def extract(
    transcripts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TRANSCRIPT]...",
            help="Session files, or -; without, this repository's new sessions.",
        ),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="Only this scope; may be given more than once."),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="ENGINE", help="auto, llm or rules.")] = "auto",
    format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT", help="The transcript's format, when its content does not tell it."
        ),
    ] = "",
    all: Annotated[
        bool, typer.Option("--all", help="Every session not read yet, not only the latest ones.")
    ] = False,
    finished: Annotated[
        bool,
        typer.Option("--finished", help="Leave out sessions written to within the last half hour."),
    ] = False,
    job: Annotated[
        str, typer.Option(metavar="NAME", help="The job of sessions whose folder does not tell it.")
    ] = "",
    task_name: Annotated[
        str,
        typer.Option(
            "--task", metavar="NAME", help="The task of sessions whose folder does not tell it."
        ),
    ] = "",
    show_prompt: Annotated[
        bool,
        typer.Option(
            "--show-prompt", help="Print what a language model would be sent; send nothing."
        ),
    ] = False,
    show_turns: Annotated[
        bool,
        typer.Option("--show-turns", help="Print who said what, as it is read; learn nothing."),
    ] = False,
    no_reinforce: Annotated[
        bool, typer.Option("--no-reinforce", help="Do not strengthen what the sessions recalled.")
    ] = False,
    premortem: Annotated[
        str,
        typer.Option(
            metavar="TASK", help="Before the work: write .premortem.md from known pitfalls."
        ),
    ] = "",
    checkpoint: Annotated[
        str,
        typer.Option(
            metavar="MILESTONE", help="While working: note assumptions; - reads JSON from stdin."
        ),
    ] = "",
    assume: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="complexity, approach_viability, preference_model or scope, at --checkpoint.",
        ),
    ] = None,
    recommend: Annotated[
        str, typer.Option(metavar="TEXT", help="What to do about it, at --checkpoint.")
    ] = "",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name the scopes that were skipped, and why.")
    ] = False,
    dry_run: DryRun = False,
    root: Root = "",
    sets: Set = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Learn from finished sessions.

    Corrections, preferences, pitfalls and an episode of each session, by rules or by the language
    model that your own configuration enables. Secrets are taken out first. Nothing is learned
    twice.
    """
    from memcli.commands import extract as command
    from memcli.hooks import pipeline
    from memcli.views import render

    choice("--engine", engine, ("auto", "llm", "rules"))
    if (assume or recommend) and not checkpoint:
        raise UsageError(
            "--assume and --recommend belong to a checkpoint", "name it with --checkpoint MILESTONE"
        )
    if show_turns:
        return _show_turns(transcripts or (), format, json=json)
    with opened(options(root, sets, quiet, json, [task_name] if task_name else None)) as mem:
        if premortem or checkpoint:
            if transcripts or (premortem and checkpoint):
                raise UsageError(
                    "one at a time: transcripts, --premortem or --checkpoint", "mem extract --help"
                )
            return _moment(
                mem, premortem, checkpoint, assume or (), recommend, job, engine, dry_run=dry_run
            )
        request = command.Request(
            tuple(transcripts or ()), _stdin_bytes() if "-" in (transcripts or ()) else b"",
            tuple(scope or ()), engine, all, job, task_name, format, show_prompt, finished,
        )  # fmt: skip
        if finished and not dry_run:
            from memcli.hooks.worker import hindrance

            if mem.root is not None and (why := hindrance(mem)):
                raise RefusedError(
                    f"{why}: nothing is written", "it is learned from in the next run"
                )
        done = pipeline.run(mem, request, dry_run=dry_run, strengthen=not no_reinforce)
        report = done.extract
        for line in render.problem_lines(report.problems):
            say(line)
        for text in render.extract_failures(report):
            say(text)
        if json:
            say_notes(mem)
            put(render.extract_json(done, dry_run=dry_run))
        elif show_prompt:
            say_notes(mem)
            put("\n".join(report.prompts))
            say("" if report.prompts else "mem: nothing would be sent", quiet=quiet)
        else:
            _written(mem, done, dry_run=dry_run, text=render.extract_text(done, verbose=verbose))
        if any(session.failed for session in report.sessions):
            return ProviderError.code
        return DataError.code if report.problems else 0


def _show_turns(transcripts: Iterable[str], form: str, *, json: bool) -> int:
    from memcli.sessions.reader import read_all
    from memcli.views import sessions as view

    read = []
    for name in transcripts:
        try:
            read += read_all(io.BytesIO(_stdin_bytes()) if name == "-" else name, format=form)
        except OSError as error:
            raise _unreadable(name, error) from None
    if not read:
        raise UsageError("--show-turns needs a session", "mem extract --show-turns FILE")
    put(view.turns_json(read) if json else view.turns_text(read))
    return 0


def _stdin_bytes() -> bytes:
    if sys.stdin is None:
        raise UsageError("- reads standard input, which is closed", "name a file")
    return sys.stdin.buffer.read()


def _moment(
    mem: App, premortem: str, milestone: str, assume: Sequence[str], recommend: str, job: str, engine: str,
    *, dry_run: bool,
) -> int:  # fmt: skip
    """Write a pre-mortem or a checkpoint."""
    from memcli.commands import moments as command
    from memcli.extraction import job_files
    from memcli.views import render

    if premortem:
        llm = engine == "llm" or (engine == "auto" and mem.config.llm != "none")
        found = _pitfalls(mem, premortem, job)
        report = command.premortem(mem, premortem, found, job=job, llm=llm, dry_run=dry_run)
    else:
        if assume or recommend:
            given = job_files.Checkpoint(milestone, job_files.parse_assumptions(assume), recommend)
        else:
            given = job_files.parse_checkpoint(read_stdin(), "" if milestone == "-" else milestone)
        report = command.checkpoint(mem, given, job=job, dry_run=dry_run)
    if report.failed:
        say(f"mem: premortem: {report.failed}")
    _written(mem, report, dry_run=dry_run, text=render.moment_text(report))
    return ProviderError.code if report.failed else 0


def _pitfalls(mem: App, task: str, job: str) -> list[Any]:
    """What recall knows of what went wrong in such a task."""
    from memcli.commands import moments, recall
    from memcli.index.view import Filters
    from memcli.recall.answer import RecallRequest

    hits = recall.recall(
        mem, RecallRequest(task, Filters(type=("corrective",)), ranked_only=True)
    ).hits
    return [moments.Pitfall(hit.title, hit.text, f"{hit.path}:{hit.line}") for hit in hits]


# --- the error boundary


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> int:
    if version:
        print(f"mem {__version__}")
        raise typer.Exit()
    return 0


_ClickException: Any = typer.BadParameter.__mro__[2]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""

    def work() -> Any:
        try:
            return _program(arguments).main(list(arguments), prog_name="mem", standalone_mode=False)
        except _ClickException as error:
            return _usage(error, arguments)
        except typer.Abort:
            raise KeyboardInterrupt from None

    return guarded(work)


def _usage(error: Any, arguments: Sequence[str]) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        put(error.format_message())
        return UsageError.code
    command = ["mem", *(name for name in arguments[:1] if name in commands())]
    text = error.format_message().rstrip(".")
    return fail(UsageError.code, text[:1].lower() + text[1:], f"{' '.join(command)} --help")


def _program(arguments: Sequence[str]) -> Any:
    """The program, with the one command that is asked for: to build them all costs more than a
    recall.
    """
    program = copy(app)
    known = {_name(command): command for command in app.registered_commands}
    if arguments and arguments[0] in known:
        program.registered_commands = [known[arguments[0]]]
    command: Any = typer.main.get_command(program)
    width = columns(sys.stdout)
    if 0 < width < LEAST_HELP:
        command.context_settings = {**command.context_settings, "terminal_width": width - 1}
    return command


LEAST_HELP = 52
"""Help is written for this width at least, unless it is told another."""


def _name(command: Any) -> str:
    return str(command.name or command.callback.__name__)


def commands() -> Iterable[str]:
    """The names of all commands, for completions and docs."""
    return sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

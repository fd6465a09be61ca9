"""Every day: find, write down, look at, correct."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.app import App, Options
from memcli.cli import boundary
from memcli.cli.options import (
    FILTER,
    SCRIPTS,
    Names,
    argument,
    command,
    flag,
    many,
    number,
    option,
    setting,
    show,
    wrote,
)
from memcli.cli.pager import put_paged
from memcli.errors import UsageError
from memcli.exchange.branch_diff import seen_at
from memcli.memory.filters import Filters
from memcli.project import keys
from memcli.views import everyday as view
from memcli.views import json, text
from memcli.views.progress import Progress
from memcli.views.text import count_problems, put, say

if TYPE_CHECKING:
    from memcli.commands.browse import BrowseReport

Number = int | None
ID = argument("ID", "The id of an entry or section of prose, or its beginning.")
TAG = many("TAG", "A tag; may be given more than once.")
ABOUT = many("GLOB", "Shell commands it is about.", "--command")
AT = option(
    "MOMENT", "As of a commit, a tag, a date, or 30d ago.", "--at", panel=FILTER
)


@command("recall")
def recall(
    options: Options,
    filters: Filters,
    words: list[str] = argument(
        "TASK", "What you are about to do; - reads it from stdin."
    ),
    limit: Number = setting("--limit", "Most ranked hits."),
    max_tokens: Number = setting("--max-tokens", "Most tokens of all; 0: no limit."),
    format: str = option("FORMAT", "auto, text, prompt or json.", default="auto"),
    explain: bool = flag("--explain", "Show the factors of every score."),
    ranked: bool = flag("--ranked", "Only ranked hits, of all kinds."),
    session: str = option("ID", "Log the hits for mem reinforce.", panel=SCRIPTS),
    history: str = option(
        "TIER", "Said and committed: auto, only or off.", default="auto"
    ),
    check: bool = flag("--check", "Exit 1 when nothing is ranked.", panel=SCRIPTS),
    shared: bool = flag("--shared", "Search the shared index instead.", panel=SCRIPTS),
    project: Names = many("NAME", "With --shared: only this project.", panel=SCRIPTS),
    agent: Names = many("NAME", "Only sessions with claude, codex, ...", panel=FILTER),
    at: str = AT,
) -> int:
    """Find what was learned that bears on TASK."""
    from memcli.cli import fast
    from memcli.recall.answer import RecallRequest

    numbers = {"limit": limit, "max_tokens": max_tokens}
    given = {name: number for name, number in numbers.items() if number is not None}
    sets = tuple(f"{name}={number}" for name, number in given.items())
    request = RecallRequest(
        task=boundary.read_words(words),
        filters=filters,
        ranked_only=ranked,
        session=session,
        explain=explain,
        shared=shared or bool(project),
        projects=tuple(project),
        history=history,
        agents=tuple(agent),
    )
    output = fast.Output(form=format, check=check, at=at)
    options = options._replace(sets=(*options.sets, *sets))
    return fast.recall(options, request, output)


@command("add", dry=True)
def add(
    mem: App,
    text: list[str] = argument(
        "TEXT", "What you learned: a title, then more; - is stdin."
    ),
    level: str = option("LEVEL", "project, job, task or global."),
    job: str = option("NAME", "The job to write to."),
    task_name: str = option("NAME", "The task to write to.", "--task"),
    about: Names = ABOUT,
    kind: str = option("KIND", "policy, workflow, pitfall, decision, ..."),
    type: str = option("TYPE", "By kind when not given."),
    title: str = option("TEXT", "A title, instead of the first line."),
    tag: Names = TAG,
    importance: Names = many(
        "PRIORITY",
        "0 to 1, or permanent, critical, high, pin, medium, normal; or both.",
    ),
    path: Names = many("GLOB", "Files it is about (gitignore syntax)."),
    step: Names = many("TEXT", "A step of a workflow, in order."),
    outcome: str = option("TEXT", "How it ended (episodes)."),
    domain: str = option("DOMAIN", "task (passes with its stage) or team."),
    again: bool = flag("--again", "Write it although it was taken back."),
    rests_on: Names = many("FILE:A-B", "Lines of code it rests on.", "--rests-on"),
    beside: bool = flag("--beside", "Keep what has another value for the same thing."),
) -> None:
    """Write down what was learned. What is known already is reinforced instead."""
    from memcli.commands.add import AddRequest, add

    weight, priority = _weighed(importance or ())
    if not level:
        level = "job" if job else "project"
        level = "task" if task_name else level
    request = AddRequest(
        text=boundary.read_entry(text),
        level=level,
        job=job,
        task=task_name,
        type=type,
        kind=kind,
        title=title,
        tags=tuple(",".join(tag).split(",")),
        paths=tuple(path),
        commands=tuple(about),
        importance=weight,
        priority=priority,
        steps=tuple(step),
        outcome=outcome,
        domain=domain,
        again=again,
        rests_on=tuple(rests_on or ()),
        beside=beside,
    )
    report = add(mem, request)
    project = mem.project
    if project.view.inside and not report.path.startswith("~/"):
        # deep in a job a name from the root says little
        near = os.path.relpath(project.path_of(report.path), project.cwd)
        report = report._replace(path=near)
    wrote(mem, report, view.add_text, view.add_keys)
    boundary.name_unmatched(mem, path)


def _weighed(words: Sequence[str]) -> tuple[float | None, str]:
    """The importance that was given as a number, and the priority that was named."""
    from memcli.memory.values import PRIORITIES

    weight = None
    priority = ""
    for word in words:
        if word in PRIORITIES:
            priority = word
            continue
        try:
            weight = keys.number(0, 1)(word)
        except ValueError as error:
            hint = f"one of {', '.join(PRIORITIES)} (or {error})"
            what = f"--importance {word}: cannot be used"
            raise UsageError(what, hint) from None
    return weight, priority


@command("edit", dry=True, trees=True)
def edit(
    mem: App,
    id: str = ID,
    title: str | None = option("TEXT", "Another title.", default=None),
    body: str | None = option(
        "TEXT", "Another text; - reads it from stdin.", default=None
    ),
    tag: Names = TAG,
    path: Names = many("GLOB", "A file more that it is about; '!GLOB': no longer."),
    about: Names = ABOUT,
    kind: str = option("KIND", "Another kind."),
    importance: float | None = number("--importance", "0 to 1.", 0, 1),
    domain: str = option("DOMAIN", "task (passes with its stage) or team."),
    confirm: bool = flag("--confirm", "It still holds: as true as on its first day."),
    rests_on: Names = many("FILE:A-B", "Lines of code it rests on.", "--rests-on"),
) -> None:
    """Change an entry in $VISUAL or $EDITOR, or by an option without one.

    When the entry changed meanwhile nothing is written, and your text is kept and
    named."""
    from memcli.commands.edit import EditRequest, edit

    text = None if body is None else boundary.read_entry([body])
    if text is not None and not text.strip():
        hint = f"give --body words, or mem retire {id} takes it out of recall"
        raise UsageError("--body: is empty", hint)
    request = EditRequest(
        id=id,
        title=title or "",
        body=text,
        tags=tuple(filter(None, ",".join(tag).split(","))),
        paths=tuple(path),
        commands=tuple(about),
        kind=kind,
        importance=importance,
        domain=domain,
        confirm=confirm,
        rests_on=tuple(rests_on or ()),
    )
    report = edit(mem, request)
    wrote(mem, report, view.edit_text, view.edit_keys)
    boundary.name_unmatched(mem, (glob for glob in path if glob[:1] != "!"))


@command("show")
def show_entry(
    mem: App,
    id: str = ID,
    proxy: bool = flag("--proxy", "An entry of the proxy store, too."),
    raw: bool = flag("--raw", "The bytes of the file, unsafe characters too."),
) -> None:
    """Show one entry and where it comes from."""
    if id[:2] in ("s:", "c:"):
        from memcli.commands.history import show_handle

        show(mem, show_handle(mem, id), view.doc_text, view.doc_keys)
        return
    from memcli.commands import show as command

    report = command.show(mem, id, proxy=proxy)
    if raw:
        put(report.raw, "")
    else:
        show(mem, report, view.show_text, view.show_keys)


@command("list")
def list_entries(
    mem: App,
    filters: Filters,
    recent: Number = number("--limit", "Only the newest N.", 1, 1_000_000, whole=True),
    explain: bool = flag("--explain", "What each weighs by importance, age and use."),
    at: str = AT,
) -> None:
    """List what is remembered, newest first."""
    from memcli.commands import show as command
    from memcli.commands.recall import is_empty

    if not at:
        boundary.name_unmatched(mem, map(mem.project.relative, filters.path))
    with seen_at(mem, at) as then:
        report = command.list_entries(then, filters, recent)
        empty = is_empty(then)
        listing = then.project.listing
        problems = then.problems if listing.files else listing.problems
    count_problems(problems, quiet=mem.options.quiet)
    words = view.explained_text if explain else view.list_text
    keys = {"rows": ..., "entries": report.rows}
    show(mem, report, words, lambda report: keys)
    if not report.rows:
        none = "mem: nothing remembered passes these filters"
        if empty:
            none = boundary.NOTHING_THEN if at else boundary.beginning(mem, problems)
        say(none, quiet=mem.options.quiet)


@command("why")
def why(
    mem: App, place: str = argument("FILE[:LINE]", "A file, or a line of it.")
) -> None:
    """Say what memory, sessions and commits know of a file."""
    from memcli.commands import why as command

    report = command.why(mem, place)
    show(mem, report, view.why_text, lambda report: {"line": report.line or None})


@command("log")
def log(mem: App, progress: Progress, id: str = ID) -> None:
    """Say what happened to an entry, commit by commit."""
    from memcli.commands import log as command

    with progress:
        story = command.log(mem, id)
    if mem.options.json:
        put(json.of(story))
    else:
        put_paged("\n".join(map(text.safe, view.log_lines(story))))


@command("told")
def told(
    mem: App, session: str = option("ID", "Only this session (or how its id begins).")
) -> None:
    """Say what hooks told agents, when, and why."""
    from memcli.commands import told as command

    show(mem, command.told(mem, session), view.told_text)


@command("browse")
def browse(
    mem: App,
    progress: Progress,
    filters: Filters,
    out: str = option("FILE", "Write the page there; it is not opened."),
    history: bool = flag("--history", "What was said and committed, too."),
    serve: bool = flag(
        "--serve", "With buttons that edit, retire, restore, merge and undo."
    ),
) -> None:
    """Look at memory in the browser; in a pipe the page is written and its path printed.

    One page holds everything and reaches nothing; it lies in your cache folder, for you
    alone. With --serve it is on loopback until it is closed for a minute; its address
    works once."""
    from memcli.commands.browse import browse as look
    from memcli.views import page

    if serve and (out or mem.options.json):
        raise UsageError("--serve writes no page", "leave --out and --json out")
    gather = partial(look, filters=filters, history=history)
    place: Path | None = None
    with progress:
        report = gather(mem)
        if not (serve or mem.options.json):
            place = page.write(mem.project, report, out)
    if serve:
        _serve(mem, report, gather)
    elif place is None:
        show(mem, report, str)
    else:
        put(str(place))
        if not out:
            _open(mem, place)


def _serve(
    mem: App, report: "BrowseReport", gather: Callable[[App], "BrowseReport"]
) -> None:
    from memcli.cli.serve import PageServer
    from memcli.views import page

    server = PageServer(mem.options, report, gather)
    put(server.address)
    sys.stdout.flush()
    door = page.doorway(server.address)
    _open(mem, door)
    try:
        server.run()
    finally:
        door.unlink(missing_ok=True)


def _open(mem: App, place: Path) -> None:
    """Show a page to the person at a terminal."""
    from memcli.views import page

    if text.columns(sys.stdout) and not page.shown(place.as_uri()):
        say("mem: no browser to open it in", quiet=mem.options.quiet)


@command("retire", dry=True, trees=True)
def retire(
    mem: App,
    ids: list[str] = argument("ID...", "Entries to take out of recall."),
    because: str = option("TEXT", "Why."),
) -> None:
    """Take entries out of recall.

    They stay in their file, retired, until mem compact moves them to the archive."""
    from memcli.commands import retire as command

    report = command.retire(mem, ids, because)
    wrote(mem, report, view.retire_text, view.retire_keys)


@command("restore", dry=True, trees=True)
def restore(
    mem: App,
    ids: list[str] = argument("ID...", "Retired or archived entries."),
    again: bool = flag("--again", "Although another entry of its words is retired."),
) -> None:
    """Bring retired or archived entries back."""
    from memcli.commands import retire as command

    report = command.restore(mem, ids, again=again)
    wrote(mem, report, view.retire_text, view.retire_keys)


@command("undo", dry=True)
def undo(mem: App) -> int:
    """Take back the last write of mem."""
    from memcli.commands import undo as command

    report = command.undo(mem)
    root = str(mem.project.root or mem.project.home)
    in_words = mem.dry_run and not mem.options.json
    waiting = view.waiting_lines(report, "would wait") if in_words else []
    put("\n".join(waiting))
    if report.patches or not waiting:
        wrote(mem, report, lambda report: view.undo_text(report, root))
    return 0 if report.verb else 1


@command("forget", dry=True)
def forget(
    mem: App,
    ids: Names = argument("[ID]...", "Entries, whose words go everywhere.", []),
    session: str = option("ID", "A session (or s:HANDLE) or commit (c:HANDLE)."),
    before: str = option("DATE", "All from before that day.", "--before"),
    all: bool = flag("--all", "All of this repository."),
) -> None:
    """Delete entries or history, for good.

    An entry's words leave files, archives, history, index, undo and state on this
    machine; what cannot be reached is named. Of history, what was said and committed
    goes and is not read again, with what was proposed and waits; what was learned
    stays. The commits that --all or --before took, which git still has, come back by
    mem index --history --rebuild."""
    if not ids:
        from memcli.commands import history

        done = history.forget(mem, session=session, before=before, all=all)
        show(mem, done, view.forget_text)
        return
    from memcli.commands.forget import forget

    if session or before or all:
        what = "entries and history are forgotten by themselves"
        raise UsageError(what, "mem forget ID..., or mem forget --session ID")
    wrote(mem, forget(mem, ids), view.forgotten_text)

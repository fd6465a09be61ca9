"""Everyday commands: find, write, look at and correct memory."""

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
ID = argument("ID", "The id of an entry or prose section, or its first characters.")
TAG = many("TAG", "A tag; may be given more than once.")
ABOUT = many("GLOB", "Shell commands it applies to.", "--command")
AT = option(
    "MOMENT", "As of a commit, a tag, a date, or 30d ago.", "--at", panel=FILTER
)


@command("recall")
def recall(
    options: Options,
    filters: Filters,
    words: list[str] = argument("TASK", "What you are about to do; - reads stdin."),
    limit: Number = setting("--limit", "At most N ranked hits."),
    max_tokens: Number = setting(
        "--max-tokens", "At most N tokens in all; 0: no limit."
    ),
    format: str = option("FORMAT", "auto, text, prompt or json.", default="auto"),
    explain: bool = flag("--explain", "Show how each score is made up."),
    ranked: bool = flag("--ranked", "Only ranked hits, of any kind."),
    session: str = option("ID", "Log the hits for mem reinforce.", panel=SCRIPTS),
    history: str = option(
        "TIER", "Chats and commits: auto, only or off.", default="auto"
    ),
    check: bool = flag("--check", "Exit 1 when nothing is ranked.", panel=SCRIPTS),
    shared: bool = flag("--shared", "Search the shared index instead.", panel=SCRIPTS),
    project: Names = many(
        "NAME", "Only this project of the shared index.", panel=SCRIPTS
    ),
    agent: Names = many("NAME", "Only sessions with claude, codex, ...", panel=FILTER),
    at: str = AT,
) -> int:
    """Find what memory knows about a task."""
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
    text: list[str] = argument("TEXT", "What you learned, title first; - reads stdin."),
    level: str = option("LEVEL", "project, job, task or global."),
    job: str = option("NAME", "The job to write to."),
    task_name: str = option("NAME", "The task to write to.", "--task"),
    about: Names = ABOUT,
    kind: str = option("KIND", "policy, workflow, pitfall, decision, ..."),
    type: str = option("TYPE", "Depends on the kind when not given."),
    title: str = option("TEXT", "A title to use instead of the first line."),
    tag: Names = TAG,
    importance: Names = many(
        "PRIORITY",
        "0 to 1, or permanent, critical, high, pin, medium, normal; or both.",
    ),
    path: Names = many("GLOB", "Files it applies to (gitignore syntax)."),
    step: Names = many("TEXT", "A step of a workflow, in order."),
    outcome: str = option("TEXT", "How it ended (episodes)."),
    domain: str = option("DOMAIN", "task (passes with its stage) or team."),
    again: bool = flag("--again", "Write it even if it was retired before."),
    rests_on: Names = many("FILE:A-B", "Lines of code it rests on.", "--rests-on"),
    beside: bool = flag("--beside", "Keep entries that it would supersede."),
) -> None:
    """Write down what you learned; what is known already is reinforced."""
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
        # deep inside a job, a path from the root says little
        near = os.path.relpath(project.path_of(report.path), project.cwd)
        report = report._replace(path=near)
    wrote(mem, report, view.add_text, view.add_keys)
    boundary.name_unmatched(mem, path)


def _weighed(words: Sequence[str]) -> tuple[float | None, str]:
    """The importance given as a number, and the priority given by name."""
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
    title: str | None = option("TEXT", "The new title.", default=None),
    body: str | None = option("TEXT", "The new text; - reads stdin.", default=None),
    tag: Names = TAG,
    path: Names = many("GLOB", "Add a file it applies to; '!GLOB' removes one."),
    about: Names = ABOUT,
    kind: str = option("KIND", "The new kind."),
    importance: float | None = number("--importance", "0 to 1.", 0, 1),
    domain: str = option("DOMAIN", "task (passes with its stage) or team."),
    confirm: bool = flag("--confirm", "Say that it still holds."),
    rests_on: Names = many("FILE:A-B", "Lines of code it rests on.", "--rests-on"),
) -> None:
    """Change an entry in $VISUAL or $EDITOR, or with options.

    If the entry changed meanwhile, nothing is written; your text is kept, and mem says
    where."""
    from memcli.commands.edit import EditRequest, edit

    text = None if body is None else boundary.read_entry([body])
    if text is not None and not text.strip():
        hint = f"give --body some text, or mem retire {id} takes it out of recall"
        raise UsageError("--body is empty", hint)
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
    in_words = view.confirmed_text if confirm else view.edit_text
    wrote(mem, report, in_words, view.edit_keys)
    boundary.name_unmatched(mem, (glob for glob in path if glob[:1] != "!"))


@command("show")
def show_entry(
    mem: App,
    id: str = ID,
    proxy: bool = flag("--proxy", "Also look in the proxy store."),
    raw: bool = flag("--raw", "The exact bytes of the file, even unsafe characters."),
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
    explain: bool = flag(
        "--explain", "Show the weight of each by importance, age and use."
    ),
    at: str = AT,
) -> None:
    """List the entries, newest first."""
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
        none = "mem: no entry matches these filters"
        if empty:
            none = boundary.NOTHING_THEN if at else boundary.beginning(mem, problems)
        say(none, quiet=mem.options.quiet)


@command("why")
def why(
    mem: App,
    place: str = argument("FILE[:LINE]", "A file, or a line of it."),
    most: Number = number("--limit", "At most N of each.", 1, 1_000, whole=True),
) -> None:
    """Show what memory, sessions and commits say about a file."""
    from memcli.commands import why as command

    report = command.why(mem, place, int(most or command.MOST))
    show(mem, report, view.why_text, lambda report: {"line": report.line or None})


@command("log")
def log(mem: App, progress: Progress, id: str = ID) -> None:
    """Show the history of an entry, commit by commit."""
    from memcli.commands import log as command

    with progress:
        if mem.options.json:
            put(json.of(command.log(mem, id)))
            return
        lines = map(text.safe, view.log_lines(command.follow(mem, id)))
        if not text.columns(sys.stdout):
            for line in lines:
                put(line)
            return
        every_line = "\n".join(lines)
    put_paged(every_line)


@command("told")
def told(
    mem: App,
    session: str = option("ID", "Only this session (an id or its first characters)."),
) -> None:
    """Show what hooks told agents, when, and why."""
    from memcli.commands import told as command

    show(mem, command.told(mem, session), view.told_text)


@command("browse")
def browse(
    mem: App,
    progress: Progress,
    filters: Filters,
    out: str = option("FILE", "Write the page to FILE; do not open it."),
    history: bool = flag("--history", "Include chats and commits."),
    serve: bool = flag(
        "--serve", "Add buttons to edit, retire, restore, merge and undo."
    ),
) -> None:
    """Look at memory in the browser; in a pipe, write the page and print its path.

    The page is one file that loads nothing from the network; it is in your cache
    folder, readable by you alone. With --serve it is served on loopback until it has
    been closed for a minute; its address works once."""
    from memcli.commands.browse import browse as look
    from memcli.views import page

    if serve and (out or mem.options.json):
        raise UsageError("--serve does not write a page", "leave --out and --json out")
    if out and mem.options.json:
        hint = "leave one of --out and --json out"
        raise UsageError("--json prints the data and writes no page", hint)
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
    """Open a page in the browser of the person at the terminal."""
    from memcli.views import page

    if text.columns(sys.stdout) and not page.shown(place.as_uri()):
        say("mem: no browser to open it in", quiet=mem.options.quiet)


@command("retire", dry=True, trees=True)
def retire(
    mem: App,
    ids: list[str] = argument("ID...", "The entries to take out of recall."),
    because: str = option("TEXT", "Why."),
) -> None:
    """Take entries out of recall.

    They stay in their file, marked retired, until mem compact moves them to the
    archive."""
    from memcli.commands import retire as command

    report = command.retire(mem, ids, because)
    wrote(mem, report, view.retire_text, view.retire_keys)


@command("restore", dry=True, trees=True)
def restore(
    mem: App,
    ids: list[str] = argument("ID...", "Retired or archived entries."),
    again: bool = flag(
        "--again", "Even if the same words are retired or live in another entry."
    ),
) -> None:
    """Bring retired or archived entries back."""
    from memcli.commands import retire as command

    report = command.restore(mem, ids, again=again)
    wrote(mem, report, view.retire_text, view.retire_keys)


@command("undo", dry=True)
def undo(
    mem: App,
    skip: bool = flag("--skip", "Leave the last write; the next undo goes on before."),
) -> int:
    """Undo the last write of mem."""
    from memcli.commands import undo as command

    report = command.skip(mem) if skip else command.undo(mem)
    root = str(mem.project.root or mem.project.home)
    in_words = mem.dry_run and not mem.options.json
    waiting = view.waiting_lines(report, "would wait") if in_words else []
    put("\n".join(waiting))
    if skip and in_words:
        put(view.undo_text(report, root, dry=True))
    elif report.patches or not waiting:
        wrote(mem, report, lambda report: view.undo_text(report, root))
    return 0 if report.verb else 1


@command("forget", dry=True)
def forget(
    mem: App,
    ids: Names = argument("[ID]...", "Entries to delete everywhere.", []),
    session: str = option("ID", "A session (or s:HANDLE) or commit (c:HANDLE)."),
    before: str = option("DATE", "All history from before that day.", "--before"),
    all: bool = flag("--all", "All history of this repository."),
) -> None:
    """Delete entries or history, for good.

    An entry's words are removed from files, archives, history, index, undo and state on
    this machine; mem names what it cannot reach. Of history, chats and commits are
    removed and not read again, together with proposals that wait; what was learned from
    them stays. To read commits again that --all or --before removed, run mem index
    --history --rebuild."""
    if not ids:
        from memcli.commands import history

        done = history.forget(mem, session=session, before=before, all=all)
        show(mem, done, view.forget_text)
        return
    from memcli.commands.forget import forget

    if session or before or all:
        what = "forget entries and history in separate commands"
        raise UsageError(what, "mem forget ID..., or mem forget --session ID")
    wrote(mem, forget(mem, ids), view.forgotten_text)

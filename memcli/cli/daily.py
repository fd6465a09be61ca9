"""Every day: find, write down, look at, correct."""

import os

from memcli.app import App
from memcli.cli import boundary
from memcli.cli.options import Given, command, filters_of, show, wrote
from memcli.views import entries, sessions, text
from memcli.views.text import HOW_TO_BEGIN, say


@command("""add
    TEXT...             What you learned, first line the title; - reads stdin.
    --level LEVEL       project, job, task or global.
    --job NAME          The job to write to.
    --task NAME         The task to write to.
    --kind KIND         policy, workflow, pitfall, decision, ...
    --type TYPE         By kind when not given.
    --title TEXT        A title, instead of the first line.
    --tag TAG...        A tag; may be given more than once.
    --path GLOB...      Files it is about (gitignore syntax).
    --command GLOB...   Shell commands it is about.
    --importance N      0 to 1.
    --priority PRIORITY  permanent, critical, high, pin, medium, normal.
    --step TEXT...      A step of a workflow, in order.
    --outcome TEXT      How it ended (episodes).
    --allow-long        Take more than 64 KB of text.
    --dry-run
""")
def add(mem: App, given: Given) -> None:
    """Write down one thing that was learned. What is known already is reinforced instead."""
    from memcli.commands import add as command

    request = given.to(
        command.AddRequest, text=boundary.read_entry(given.words, allow_long=given.allow_long),
        level=given.level or ("task" if given.task else "job" if given.job else "project"),
        tags=tuple(",".join(given.tag).split(",")), paths=given.path, commands=given.command,
        steps=given.step,
    )  # fmt: skip
    report = command.add(mem, request, dry_run=given.dry_run)
    seen, project = report, mem.project
    if project.view.inside and not report.path.startswith("~/"):  # its name says little there
        seen = report._replace(path=os.path.relpath(project.path_of(report.path), project.cwd))
    line = entries.lines_of(report.patches).get(report.id)
    wrote(mem, given, seen, entries.add_text, lambda done: {"line": line})


@command("""edit
    ID                  The entry, or section of prose, to change.
    --title TEXT        Another title.
    --body TEXT         Another text; - reads it from stdin.
    --add-path GLOB...  A file more that it is about.
    --kind KIND         Another kind.
    --importance N      0 to 1.
    --task --dry-run
""")
def edit(mem: App, given: Given) -> None:
    """Change an entry in $VISUAL or $EDITOR, or by an option without one.

    When the entry changed meanwhile nothing is written, and your text is kept and named.
    """
    from memcli.commands import edit as command

    body = boundary.read_entry([given.body]) if given.body else None
    request = given.to(command.EditRequest, id=given.word, body=body, paths=given.add_path)
    wrote(mem, given, command.edit(mem, request, dry_run=given.dry_run), entries.edit_text)


@command("""show
    ID       An entry's id, or its beginning.
    --proxy  An entry of the proxy store, too.
    --raw    The bytes of the file, unsafe characters too.
""")
def show_entry(mem: App, given: Given) -> None:
    """Show one entry and where it comes from."""
    if given.word[:2] in ("s:", "c:"):
        from memcli.commands.history import show_handle

        show(mem, show_handle(mem, given.word), sessions.doc_text, sessions.doc_keys)
        return
    from memcli.commands import show as command

    report = command.show(mem, given.word, proxy=given.proxy)
    if given.raw:
        text.put_bytes(report.raw.encode("utf-8", "surrogatepass"))
    else:
        show(mem, report, entries.show_text, entries.show_keys)


@command("list\n--recent N  Only the newest N.\nFILTERS")
def list_entries(mem: App, given: Given) -> None:
    """List what is remembered, newest first."""
    from memcli.commands import show as command
    from memcli.exchange.past import seen_at

    with seen_at(mem, given.at) as then:
        report = command.list_entries(then, filters_of(given), given.recent)
        problems = then.problems if then.project.listing.files else then.project.listing.problems
    text.count_problems(problems, quiet=mem.options.quiet)
    keys = {"rows": ..., "found": ..., "entries": report.rows}
    show(mem, report, entries.list_text, lambda report: keys)
    none = "mem: nothing that is remembered passes these filters" if report.found else HOW_TO_BEGIN
    say("" if report.rows else none, quiet=mem.options.quiet)


@command("why\nFILE[:LINE]  A file, or a line of it.")
def why(mem: App, given: Given) -> None:
    """Say what memory, sessions and commits know of a file."""
    from memcli.commands import why as command

    report = command.why(mem, given.word)
    show(mem, report, entries.why_text, lambda report: {"line": report.line or None})


@command("log\nID  An entry's id, or its beginning.")
def log(mem: App, given: Given) -> None:
    """Say what happened to an entry, commit by commit."""
    from memcli.commands import why as command

    show(mem, command.log(mem, given.word), entries.log_text)


@command("told\n--session ID  Only this session (or how its id begins).")
def told(mem: App, given: Given) -> None:
    """Say what hooks told agents, when, and why."""
    from memcli.commands import compact as command

    show(mem, command.told(mem, given.session), entries.told_text)


@command("""retire
    ID...  Entries to take out of recall.
    --because TEXT  Why.
    --task --dry-run
""")
def retire(mem: App, given: Given) -> None:
    """Take entries out of recall.

    They stay in their file, retired, until mem compact moves them to the archive.
    """
    from memcli.commands import edit as command

    report = command.retire(mem, given.words, given.because, dry_run=given.dry_run)
    wrote(mem, given, report, entries.retire_text, entries.retire_keys)


@command("restore\nID...  Retired or archived entries.\n--task --dry-run")
def restore(mem: App, given: Given) -> None:
    """Bring retired or archived entries back."""
    from memcli.commands import edit as command

    report = command.restore(mem, given.words, dry_run=given.dry_run)
    wrote(mem, given, report, entries.retire_text, entries.retire_keys)


@command("undo\n--dry-run")
def undo(mem: App, given: Given) -> int:
    """Take back the last write of mem."""
    from memcli.commands import edit as command

    report = command.undo(mem, dry_run=given.dry_run)
    root = str(mem.project.root or mem.project.home)
    wrote(mem, given, report, lambda done: entries.undo_text(done, root, dry_run=given.dry_run))
    return 0 if report.verb else 1


@command("""forget
    --session ID   A session (or s:HANDLE) or commit (c:HANDLE).
    --before DATE  All from before that day.
    --all          All of this repository.
    --dry-run
""")
def forget(mem: App, given: Given) -> None:
    """Delete history, for good.

    What was said and committed goes; what was learned stays.
    """
    from memcli.commands import history as command

    report = command.forget(
        mem, session=given.session, before=given.before, all=given.all, dry_run=given.dry_run
    )
    show(mem, report, sessions.forget_text)

"""What commands share: `@command`, the options of all commands, and how a report is
printed.

A command is a function of an open App and its own options; it returns its exit code, or
None for 0:

    @command("undo", dry=True)
    def undo(mem: App) -> int | None:
        "Take back the last write of mem."

It also gets --root, --set, --json and --quiet (`mem.options`); with `dry`, --dry-run;
with `trees`, the work trees to write to. A parameter of type `Filters` stands for the
options that filter entries. One of type `Progress` adds no option: work inside `with
progress:` shows a progress bar. A command that takes `Options` instead of an App opens
the App itself; a `bare` command has its own options only."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

from memcli.app import App, Options, P, opened
from memcli.cli import boundary
from memcli.cli.pager import put_paged
from memcli.errors import UsageError, one_of
from memcli.memory.filters import Filters
from memcli.project import keys
from memcli.views import json, text
from memcli.views.progress import Progress
from memcli.views.text import put, say

if TYPE_CHECKING:
    from memcli.install.targets import Changes

Work = Callable[..., int | None]
W = TypeVar("W", bound=Work)
R = TypeVar("R")
Keys = Callable[
    [R], Mapping[str, object]
]  # what a report's JSON has in place of its fields


class Made(NamedTuple):
    """A command: its name, its function, and its settings for Typer."""

    name: str
    work: Work
    bare: bool
    dry: bool
    trees: bool
    settings: Mapping[str, Any]


COMMANDS: dict[str, Made] = {}  # the commands of the modules imported so far


def command(
    name: str,
    *,
    bare: bool = False,
    dry: bool = False,
    trees: bool = False,
    **settings: Any,
) -> Callable[[W], W]:
    """Make a function a command of `mem`; `dry` adds --dry-run, `trees` adds --task."""

    def register(work: W) -> W:
        COMMANDS[name] = Made(
            name=name, work=work, bare=bare, dry=dry, trees=trees, settings=settings
        )
        return work

    return register


def option(
    metavar: str | None,
    help: str,
    *names: str,
    default: object = "",
    **more: Any,
) -> Any:
    """An option with a value, shown as `metavar` in the help. The help of a command
    lists the options of a `panel` only by name."""
    more["rich_help_panel"] = more.pop("panel", None)
    return typer.Option(default, *names, metavar=metavar, help=help, **more)


def setting(name: str, help: str) -> Any:
    """An option that sets the configuration key of its name to a number."""
    return option("N", help, name, parser=boundary.key(name), default=None)


def number(name: str, help: str, low: float, high: float, **kind: bool) -> Any:
    """An option that takes a number from `low` to `high`, a `whole` one when it says
    so."""
    check = boundary.checked(name, keys.number(low, high, **kind))
    return option("N", help, name, parser=check, default=None)


def many(metavar: str, help: str, *names: str, panel: str | None = None) -> Any:
    """An option that may be given more than once."""
    return option(metavar, help, *names, default=[], panel=panel)


def flag(name: str, help: str, short: str = "", *, panel: str | None = None) -> Any:
    """An option that takes no value."""
    names = (name, short) if short else (name,)
    return option(None, help, *names, default=False, panel=panel)


def argument(metavar: str, help: str, default: object = ...) -> Any:
    """A word without an option."""
    return typer.Argument(default, metavar=metavar, help=help)


Names = list[str]  # empty if none was given
LEVEL = many("LEVEL", "global, project, job or task.")
JOB_NAME = option("NAME", "The job, if the folder does not tell.")
JOB = many("NAME", "Look at this job and its tasks.")
SCRIPTS = "Scripts and teams"
ALWAYS = "Always"
FILTER = "Filters"
"""Panels: options that the help of a command lists only by name."""


def _shared(
    dry_run: bool = flag("--dry-run", "Print the diff; write nothing.", "-n"),
    tasks: Names = many("NAME", "Also write to this task's own work tree.", "--task"),
    root: Names = many(
        "DIR",
        "The project's root; detected by default. recall takes several.",
        panel=ALWAYS,
    ),
    sets: Names = many(
        "KEY=VALUE", "Change a setting for this run.", "--set", panel=ALWAYS
    ),
    json: bool = flag("--json", "Print one JSON document.", panel=ALWAYS),
    quiet: bool = flag(
        "--quiet", "Print only errors and the answer.", "-q", panel=ALWAYS
    ),
) -> Options:
    first, *others = root or [""]
    return Options(
        root=first,
        sets=tuple(sets),
        quiet=quiet,
        json=json,
        tasks=tuple(tasks),
        others=tuple(others),
        dry_run=dry_run,
    )


def _filters(
    level: Names = many("LEVEL", "global, project, job or task.", panel=FILTER),
    job: Names = many("NAME", "Look at this job and its tasks.", panel=FILTER),
    task: Names = many("NAME", "Look at this task.", "--task", panel=FILTER),
    type: Names = many(
        "TYPE", "declarative, procedural, directive, corrective.", panel=FILTER
    ),
    kind: Names = many(
        "KIND", "policy, workflow, pitfall, decision, ...", panel=FILTER
    ),
    store: Names = many(
        "STORE", "memory, institutional, proxy or archive.", panel=FILTER
    ),
    tag: Names = many("TAG", "A tag; may be given more than once.", panel=FILTER),
    scope: Names = many(
        "SCOPE", "Only what a scope of mem extract found.", panel=FILTER
    ),
    path: Names = many("FILE", "Entries about this file.", panel=FILTER),
    since: str = option(
        "DATE", "Since 2026-03-01, or 30d, 6w, 3m, 1y ago.", panel=FILTER
    ),
    until: str = option("DATE", "Until a date, or so long ago.", panel=FILTER),
    proxy: bool = flag(
        "--proxy", "Include the proxy store (personal habits).", panel=FILTER
    ),
    archived: bool = flag("--archived", "Include the archives.", panel=FILTER),
) -> None:
    """The options that filter entries, by the fields of `Filters`."""


def _chosen(given: Mapping[str, Any]) -> Filters:
    """The filters that these options make."""
    for name in given["scope"]:
        from memcli.extraction import scopes

        one_of("--scope", name, scopes.NAMES)
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
    }
    return Filters(**fields)


LIFTING = ("guard", "edit", "retire", "forget")
"""The commands with which a person changes or ends an entry; mem asks before an agent
runs one on a guard."""


def _parameters(work: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(work, eval_str=True).parameters)


def callback(made: Made) -> Callable[..., Any]:
    """The function whose signature Typer reads: the command's own options, the filters
    and the shared options."""
    if made.bare:
        return made.work
    first, *own = _parameters(made.work).values()
    kinds = {parameter.annotation: parameter.name for parameter in own}
    plain = [each for each in own if each.annotation not in (Filters, Progress)]
    shared = _parameters(_shared)
    if not made.dry:
        del shared["dry_run"]
    if not made.trees:
        del shared["tasks"]
    filters = _parameters(_filters) if Filters in kinds else {}

    @functools.wraps(made.work)
    def run(**values: Any) -> int:
        given = {name: values.pop(name) for name in shared}
        options = _shared(**{"dry_run": False, "tasks": [], **given})
        options = options._replace(may_lift=made.name in LIFTING)
        if Filters in kinds:
            chosen = {name: values.pop(name) for name in filters}
            values[kinds[Filters]] = _chosen(chosen)
        progress = Progress(made.name, quiet=options.quiet)
        if Progress in kinds:
            values[kinds[Progress]] = progress
        if options.others and made.name != "recall":
            raise UsageError(
                "--root was given more than once", "only mem recall takes several"
            )
        if first.annotation is Options:
            return made.work(options, **values) or 0
        with opened(options) as mem:
            mem.count = progress.count
            code = made.work(mem, **values)
            boundary.say_notes(mem)
            if made.name != "doctor":  # one of its checks
                boundary.say_passed_over(mem)
            return code or 0

    signature = [*plain, *filters.values(), *shared.values()]
    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature}
    return run


def answer(words: str) -> None:
    """Print the answer; on a terminal, fold it and page it if it is long."""
    put_paged("\n".join(text.folded([text.safe(words)], more=2)))


def show(
    mem: App, report: R, words: Callable[[R], str], keys: Keys[R] | None = None
) -> None:
    """Print a report as text or as JSON, where `keys` replace fields of the report."""
    if mem.options.json:
        put(json.of(report, **(keys(report) if keys else {})))
    else:
        answer(words(report))


def say_changes(mem: App, report: "Changes", *, remove: bool, of: str = "") -> None:
    """Print what was or would be set up, and what to do next; `of` names the part to
    take back."""
    done = report.done
    if not done and remove:
        done = (f"nothing {of}is left to take back",)
    words = "\n".join(map(text.in_one_line, done)) or "everything is already in place"
    in_words = mem.dry_run and not mem.options.json
    if report.patches or not in_words:
        wrote(mem, report, lambda report: words)
    if mem.dry_run:
        say(
            f"mem: dry run, nothing is written; it would say:\n{words}",
            quiet=mem.options.quiet,
        )
    elif report.next and not mem.options.json:
        say(f"next: {'; '.join(report.next)}", quiet=mem.options.quiet)


def wrote(
    mem: App, report: P, words: Callable[[P], str], keys: Keys[P] | None = None
) -> None:
    """Print what was written, as text (nothing with --quiet) or JSON; for a dry run,
    the diff."""
    if mem.options.json:
        values = keys(report) if keys else {}
        put(json.of(report, **values, dry_run=mem.dry_run))
    elif not mem.dry_run:
        if not mem.options.quiet:
            put("\n".join(text.folded([text.safe(words(report))], more=2)))
    elif not text.put_diff(report.patches, str(mem.project.root or mem.project.home)):
        say("mem: nothing would change", quiet=mem.options.quiet)

"""`mem recall` and plain `mem index` from options to output, without Typer."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from memcli.app import App, Options, opened
from memcli.cli.boundary import (
    NOTHING_THEN,
    beginning,
    guarded,
    key,
    name_unmatched,
    read_words,
    say_notes,
    say_passed_over,
)
from memcli.commands import recall as command
from memcli.errors import DataError, ProviderError, UsageError, one_of
from memcli.named import NamedTuple
from memcli.project.record import record_of
from memcli.recall.answer import RecallReport, RecallRequest
from memcli.recall.budget import write
from memcli.views.text import (
    columns,
    count_problems,
    folded,
    name_problems,
    put,
    say,
)

if TYPE_CHECKING:
    from memcli.commands.index import IndexReport


class Output(NamedTuple):
    """How to answer a recall: the format, whether no hit means exit code 1, and as of
    when."""

    form: str = "auto"
    check: bool = False
    at: str = ""


def recall(options: Options, request: RecallRequest, output: Output) -> int:
    """Print the answer and return the exit code. A lone `-` as the task reads standard
    input."""
    one_of("--format", output.form, ("auto", "text", "prompt", "json"))
    one_of("--history", request.history, ("auto", "only", "off"))
    with opened(options) as mem:
        if request.filters.path and not output.at:
            name_unmatched(mem, map(mem.project.relative, request.filters.path))
        with _progress(mem), _then(mem, output.at) as then:
            report = _answered(then, request)
        say_notes(mem)
        say_passed_over(mem)
        count_problems(report.problems, quiet=options.quiet)
        _print(report, "json" if options.json else output.form, explain=request.explain)
        if any(hit.layer in ("ranked", "history") for hit in report.hits):
            return 0
        then_nothing = output.at and not report.found
        nothing = NOTHING_THEN if then_nothing else _nothing(mem, report)
        say(nothing, quiet=options.quiet)
        return 1 if output.check else 0


def _progress(mem: App) -> AbstractContextManager[object]:
    """A progress bar on a terminal, since the first recall indexes the repository."""
    if mem.options.quiet or not columns(sys.stderr):
        return nullcontext()
    from memcli.views.progress import Progress

    progress = Progress("recall")
    mem.count = progress.count
    return progress


def _answered(mem: App, request: RecallRequest) -> RecallReport:
    """The answer from this project, or from several: those named, or, outside a
    project, those in the configuration."""
    roots = []
    if mem.options.others:
        roots = [mem.options.root, *mem.options.others]
    elif not mem.options.root and mem.project.root is None:
        roots = list(mem.project.config.roots)
    if roots:
        return command.recall_across(mem, roots, request)
    return command.recall(mem, request)


def _then(mem: App, at: str) -> AbstractContextManager[App]:
    if not at:
        return nullcontext(mem)
    from memcli.exchange.branch_diff import seen_at

    return seen_at(mem, at)


def _print(report: RecallReport, form: str, *, explain: bool) -> None:
    if form == "auto":
        form = "text" if columns(sys.stdout) else "prompt"
    if form == "prompt":
        put(write(report.hits, report.budget.more))
        return
    from memcli.views import recall as view

    if form == "json":
        put(view.recall_json(report, explain=explain))
        return
    from memcli.cli.pager import put_paged

    put_paged(view.recall_text(report))


def _nothing(mem: App, report: RecallReport) -> str:
    has_memory = report.found and not command.is_empty(mem)
    if not has_memory and record_of(mem.project) is None:
        return beginning(mem, report.problems)
    if report.budget.more and report.matched:
        room = f"{report.budget.limit} tokens"
        return f"mem: no ranked hit fits into {room}; --max-tokens 0 lifts the limit"
    handles = ", ".join(report.nearest)
    near = f"; nearest in history: {handles}" if handles else ""
    if report.hits and not report.matched:
        return (
            f"mem: nothing matches this task; what is shown applies to every task{near}"
        )
    what = "nothing else" if report.matched else "nothing"
    return f"mem: {what} remembered matches this task{near}"


def run_index(arguments: Sequence[str]) -> int | None:
    """Run a plain `mem index` without Typer and return its exit code; None if it needs
    Typer."""
    given = set(arguments)
    rebuild = "--rebuild" in given
    if not given <= {"-q", "--quiet", "--rebuild"}:
        return None
    from memcli.commands.index import index
    from memcli.views.progress import Progress

    def work() -> int:
        with opened(Options(quiet=not given <= {"--rebuild"})) as mem:
            with Progress("index", quiet=mem.options.quiet) as progress:
                mem.count = progress.count
                report = index(mem, rebuild=rebuild)
            code = name_index_problems(mem, report)
            show_index(mem, report)
            require_vectors(report)
            say_notes(mem)
            say_passed_over(mem)
            return code

    return guarded(work)


def name_index_problems(mem: App, report: "IndexReport") -> int:
    """Report problems in the memory files and return the exit code."""
    unread = [
        problem for problem in report.problems if problem.severity == "unreadable"
    ]
    name_problems(unread if mem.options.quiet else (*report.problems, *report.repeated))
    if report.stale:
        return 1
    return DataError.code if unread else 0


def require_vectors(report: "IndexReport") -> None:
    """Raise the error that kept the embedder from making vectors."""
    if report.vectors is not None and report.vectors.failed:
        raise ProviderError(report.vectors.failed, report.vectors.hint)


def show_index(mem: App, report: "IndexReport") -> None:
    """Print a summary of the index."""
    if report.where and not mem.options.quiet:
        from memcli.views.setup import index_text

        put("\n".join(folded([index_text(report)], more=2)))
    say(
        "" if report.where else beginning(mem, report.problems), quiet=mem.options.quiet
    )


_FLAGS = {
    "--json": "json",
    "--quiet": "quiet",
    "-q": "quiet",
    "--ranked": "ranked_only",
    "--explain": "explain",
    "--shared": "shared",
}
_VALUES = {
    "--root": "root",
    "--format": "form",
    "--session": "session",
    "--history": "history",
}
NUMBERS = {"--limit": "limit", "--max-tokens": "max_tokens"}
"""Options that set a configuration key for one run."""


def plain(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The options by name of a line that has only words and everyday options; None if
    it needs Typer."""
    words: list[str] = []
    sets: list[str] = []
    options: dict[str, Any] = {"words": words, "sets": sets}
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            words += remaining
        elif not argument.startswith("-") or argument == "-":
            words.append(argument)
        elif argument in _FLAGS:
            options[_FLAGS[argument]] = True
        elif not _takes_value(argument, next(remaining, None), options):
            return None
    return options if words else None


def _takes_value(option: str, value: str | None, given: dict[str, Any]) -> bool:
    """Put an option with its value into `given`; False if Typer must handle it."""
    if value is None or (option == "--root" and "root" in given):
        return False
    if not value.strip():
        return False  # Typer reports that it is empty
    if option in _VALUES:
        given[_VALUES[option]] = value
    elif option == "--set":
        given["sets"].append(value)
    elif option in NUMBERS and value.isdecimal():
        try:
            number = key(option)(value)
        except UsageError:
            return False  # Typer reports what is allowed
        given["sets"].append(f"{NUMBERS[option]}={number}")
    else:
        return False
    return True


def run_plain(arguments: Sequence[str]) -> int | None:
    """Run `mem recall` without Typer and return its exit code; None if the line needs
    Typer."""
    options_given = plain(arguments)
    if options_given is None:
        return None

    def work() -> int:
        fields = {**options_given, "sets": tuple(options_given["sets"])}
        options = Options(**_chosen(Options._fields, fields))
        chosen = _chosen(RecallRequest._fields, fields)
        request = RecallRequest(task=read_words(options_given["words"]), **chosen)
        return recall(options, request, Output(form=options_given.get("form", "auto")))

    return guarded(work)


def _chosen(names: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}

"""`mem recall` and a plain `mem index` from options to output, without Typer."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from memcli.app import App, Options, opened
from memcli.cli.boundary import guarded, key, read_words
from memcli.commands import recall as command
from memcli.errors import DataError, ProviderError, UsageError, one_of
from memcli.history import record_of
from memcli.named import NamedTuple
from memcli.recall.answer import RecallReport, RecallRequest
from memcli.recall.present import block
from memcli.views.text import (
    columns,
    count_problems,
    folded,
    how_to_begin,
    name_problems,
    put,
    say,
)

if TYPE_CHECKING:
    from memcli.cli.progress import Progress
    from memcli.commands.index import IndexReport


class Output(NamedTuple):
    """How a recall is answered: its form, a file for ids, if no hit is exit code 1, and
    of when."""

    form: str = "auto"
    ids_out: str = ""
    exit_code: bool = False
    at: str = ""


def recall(options: Options, request: RecallRequest, output: Output) -> int:
    """Answer, print, and return the exit code. A lone `-` as the task is standard
    input."""
    one_of("--format", output.form, ("auto", "text", "prompt", "json"))
    one_of("--detail", request.detail, ("auto", "none", "high"))
    one_of("--history", request.history, ("auto", "only", "off"))
    with opened(options) as mem:
        drawn: AbstractContextManager[object] = nullcontext()
        if not options.quiet and columns(sys.stderr):
            from memcli.cli.progress import (
                Progress,
            )  # the first one indexes a repository's files

            drawn = Progress("recall")
        with drawn, _then(mem, output.at) as then:
            report = _answered(then, request)
        if output.ids_out:
            command.write_ids(output.ids_out, mem.project.root, report)
        for note in mem.notes:
            say(f"mem: {note}", quiet=options.quiet)
        count_problems(report.problems, quiet=options.quiet)
        _print(report, "json" if options.json else output.form, explain=request.explain)
        found = any(hit.layer in ("ranked", "history") for hit in report.hits)
        say("" if found else _nothing(mem, report), quiet=options.quiet)
        return 1 if output.exit_code and not found else 0


def _answered(mem: App, request: RecallRequest) -> RecallReport:
    """From the project at hand; from several where they are named or, outside of one,
    listed."""
    roots = [mem.options.root, *mem.options.others] if mem.options.others else []
    if not mem.options.root and mem.project.root is None:
        roots = list(mem.project.config.roots)
    return (
        command.recall_across(mem, roots, request)
        if roots
        else command.recall(mem, request)
    )


def _then(mem: App, at: str) -> AbstractContextManager[App]:
    if not at:
        return nullcontext(mem)
    from memcli.exchange.branch_diff import seen_at

    return seen_at(mem, at)


def _print(report: RecallReport, form: str, *, explain: bool) -> None:
    if form == "prompt" or (form == "auto" and not columns(sys.stdout)):
        put(block(report.hits, report.budget.more))
        return
    from memcli.views import recall as view

    put(
        view.recall_json(report, explain=explain)
        if form == "json"
        else view.recall_text(report)
    )


def _nothing(mem: App, report: RecallReport) -> str:
    if (not report.found or command.is_empty(mem)) and record_of(mem.project) is None:
        return how_to_begin(report.problems)
    if report.budget.more and report.matched:
        return f"mem: nothing ranked found room in {report.budget.limit} tokens: --max-tokens"
    return (
        f"mem: nothing {'else ' if report.matched else ''}remembered matches this task"
    )


def run_index(arguments: Sequence[str]) -> int | None:
    """Run a plain `mem index` without Typer and return its exit code; None when it
    needs Typer."""
    if not set(arguments) <= {"-q", "--quiet"}:
        return None
    from memcli.cli.progress import Progress

    def work() -> int:
        with opened(Options(quiet=bool(arguments))) as mem:
            with Progress("index", quiet=mem.options.quiet) as progress:
                report = indexed(mem, progress)
            code = told(mem, report, partial(show_index, mem))
            for note in mem.notes:
                say(f"mem: {note}", quiet=mem.options.quiet)
            return code

    return guarded(work)


def indexed(mem: App, progress: "Progress", *, rebuild: bool = False) -> "IndexReport":
    """Bring the index up to the files, and say how far it is."""
    from memcli.commands import index as command

    def count(done: int) -> None:
        progress.count("file", done, len(mem.project.listing.files))

    vectors = partial(progress.count, "vector")
    return command.index(mem, rebuild=rebuild, progress=count, embedding=vectors)


def told(
    mem: App, report: "IndexReport", show: "Callable[[IndexReport], object]"
) -> int:
    """Say what is wrong with the files, `show` what there is, and return the exit
    code."""
    unread = [
        problem for problem in report.problems if problem.severity == "unreadable"
    ]
    name_problems(unread if mem.options.quiet else (*report.problems, *report.repeated))
    show(report)
    if report.vectors is not None and report.vectors.failed:
        raise ProviderError(report.vectors.failed, report.vectors.hint)
    return 1 if report.stale else DataError.code if unread else 0


def show_index(mem: App, report: "IndexReport") -> None:
    """Print what is in the index."""
    if report.where and not mem.options.quiet:
        from memcli.views.upkeep import index_text

        put("\n".join(folded([index_text(report)], more=2)))
    say("" if report.where else how_to_begin(report.problems), quiet=mem.options.quiet)


_FLAGS = {
    "--json": "json", "--quiet": "quiet", "-q": "quiet", "--ranked": "ranked_only",
    "--explain": "explain", "--shared": "shared",
}  # fmt: skip
_VALUES = {
    "--root": "root",
    "--format": "form",
    "--session": "session",
    "--history": "history",
}
NUMBERS = {"--limit": "limit", "--max-tokens": "max_tokens", "--walk": "walk"}
"""Options that are keys of the configuration for one run."""


def plain(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The options of a line of words and everyday options by name; None: it needs
    Typer."""
    words: list[str] = []
    sets: list[str] = []
    given: dict[str, Any] = {"words": words, "sets": sets}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            words += rest
        elif not argument.startswith("-") or argument == "-":
            words.append(argument)
        elif argument in _FLAGS:
            given[_FLAGS[argument]] = True
        elif (value := next(rest, None)) is None or (
            argument == "--root" and "root" in given
        ):
            return None
        elif argument in _VALUES:
            given[_VALUES[argument]] = value
        elif argument == "--set":
            sets.append(value)
        elif argument in NUMBERS and value.isdecimal():
            try:
                sets.append(f"{NUMBERS[argument]}={key(argument)(value)}")
            except UsageError:
                return None  # Typer says what is allowed
        else:
            return None
    return given if words else None


def run_plain(arguments: Sequence[str]) -> int | None:
    """Run `mem recall` without Typer and return its exit code; None when the line needs
    Typer."""
    given = plain(arguments)
    if given is None:
        return None
    mine = [
        {n: given[n] for n in kind._fields if n in given}
        for kind in (Options, RecallRequest)
    ]

    def work() -> int:
        options = Options(**{**mine[0], "sets": tuple(given["sets"])})
        request = RecallRequest(read_words(given["words"]), **mine[1])
        return recall(options, request, Output(given.get("form", "auto")))

    return guarded(work)

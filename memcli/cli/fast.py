"""`mem recall` from its options to its output, with Typer or, for a plain line, without.

A recall runs on every prompt, and importing Typer would be a third of what it costs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from memcli.app import opened
from memcli.cli.talk import (
    HOW_TO_BEGIN,
    choice,
    count_problems,
    guarded,
    key,
    options,
    put,
    read_text,
    say,
    say_notes,
)
from memcli.commands import recall as command
from memcli.errors import UsageError
from memcli.index.view import Filters
from memcli.recall.answer import RecallReport, RecallRequest
from memcli.views import render

NO_FILTERS = Filters()


def recall(
    task: Sequence[str],
    filters: Filters = NO_FILTERS,
    *,
    limit: int | None = None,
    max_tokens: int | None = None,
    walk: int | None = None,
    form: str = "auto",
    explain: bool = False,
    ranked: bool = False,
    detail: str = "auto",
    session: str = "",
    ids_out: str = "",
    refresh: bool = True,
    exit_code: bool = False,
    shared: bool = False,
    projects: Sequence[str] = (),
    root: str = "",
    sets: Sequence[str] = (),
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Answer, print, and return the exit code. The options are those of `mem recall --help`."""
    choice("--format", form, ("auto", "text", "prompt", "json"))
    choice("--detail", detail, ("auto", "none", "high"))
    extra = _as_sets(limit=limit, max_tokens=max_tokens, walk=walk)
    with opened(options(root, [*sets, *extra], quiet, json)) as mem:
        request = RecallRequest(
            read_text(task),
            filters,
            ranked,
            refresh,
            detail,
            session,
            explain,
            shared,
            tuple(projects),
        )
        report = command.recall(mem, request)
        if ids_out:
            command.write_ids(ids_out, mem.root, report)
        say_notes(mem)
        count_problems(report.problems, quiet=quiet)
        put(_written(report, "json" if json else form, explain=explain))
        found = any(hit.layer == "ranked" for hit in report.hits)
        if not found:
            say(_why_nothing(report), quiet=quiet)
        return 1 if exit_code and not found else 0


def _written(report: RecallReport, form: str, *, explain: bool) -> str:
    if form == "auto":
        form = "text" if sys.stdout is not None and sys.stdout.isatty() else "prompt"
    if form == "json":
        return render.recall_json(report, explain=explain)
    return render.recall_text(report) if form == "text" else render.recall_prompt(report)


def _why_nothing(report: Any) -> str:
    """Why the ranked layer is empty."""
    if not report.found:
        return HOW_TO_BEGIN
    if report.budget.more and report.matched:
        return f"mem: nothing ranked found room in {report.budget.limit} tokens: --max-tokens"
    return f"mem: nothing {'else ' if report.matched else ''}remembered matches this task"


def _as_sets(**given: int | None) -> list[str]:
    return [f"{key}={value}" for key, value in given.items() if value is not None]


_FLAGS = {
    "--json": "json",
    "--quiet": "quiet",
    "-q": "quiet",
    "--ranked": "ranked",
    "--explain": "explain",
    "--shared": "shared",
}
_VALUES = {"--root": "root", "--format": "form", "--session": "session"}
_NUMBERS = {"--limit": "limit", "--max-tokens": "max_tokens", "--walk": "walk"}


def plain(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The keywords of `recall` for a line of words and everyday options; None when it needs Typer."""
    words: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            words += rest
        elif not argument.startswith("-") or argument == "-":
            words.append(argument)
        elif argument in _FLAGS:
            given[_FLAGS[argument]] = True
        elif argument in _VALUES or argument in _NUMBERS:
            value = next(rest, None)
            if value is None or (argument in _NUMBERS and not _is_allowed(argument, value)):
                return None
            given[_VALUES.get(argument) or _NUMBERS[argument]] = (
                int(value) if argument in _NUMBERS else value
            )
        elif argument == "--set":
            value = next(rest, None)
            if value is None:
                return None
            given["sets"] = (*given.get("sets", ()), value)
        else:
            return None
    return {"task": words, **given} if words else None


def _is_allowed(option: str, value: str) -> bool:
    """Whether a number can be used as it is; of what is not, Typer says it."""
    try:
        return value.isdecimal() and key(option)(value) is not None
    except UsageError:
        return False


def run_plain(arguments: Sequence[str]) -> int | None:
    """Run `mem recall` without Typer and return its exit code; None when the line needs Typer."""
    given = plain(arguments)
    return None if given is None else guarded(lambda: recall(**given))

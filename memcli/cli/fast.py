"""`mem recall` from its options to its output; it runs on every prompt, so it lies alone."""

import sys
from contextlib import AbstractContextManager, nullcontext

from memcli.app import App
from memcli.cli.boundary import read_words
from memcli.cli.options import Given, command, filters_of
from memcli.commands import recall as use
from memcli.errors import one_of
from memcli.recall.answer import RecallReport, RecallRequest
from memcli.recall.present import block
from memcli.views.text import HOW_TO_BEGIN, columns, count_problems, put, say


@command("""recall
    TASK...             What you are about to do; - reads it from stdin.
    --limit N           Most ranked hits.
    --max-tokens N      Most tokens of all; 0: no limit.
    --walk N            Add what is N edges away from hits.
    --format FORMAT (auto)  auto, text, prompt or json.
    --explain           Show the factors of every score.
    --ranked            Only ranked hits, of all kinds.
    --detail WHEN (auto)    Details of episodes: auto, none or high.
    --history TIER (auto)   Said and committed: auto, only or off.
    Scripts and teams:
    --session ID        Log the hits for mem reinforce.
    --ids-out FILE      Write the shown ids, one a line.
    --no-refresh        Answer from the index as it is.
    --exit-code         Exit 1 when nothing is ranked.
    --shared            Search the shared index instead.
    --project NAME...   With --shared: only this project.
    Filters:
    --agent NAME...  Only sessions with claude, codex, ...
    FILTERS
""")
def recall(mem: App, given: Given) -> int:
    """Find what was learned that bears on TASK."""
    one_of("--format", given.format, ("auto", "text", "prompt", "json"))
    one_of("--detail", given.detail, ("auto", "none", "high"))
    one_of("--history", given.history, ("auto", "only", "off"))
    request = given.to(
        RecallRequest, task=read_words(given.words), filters=filters_of(given),
        ranked_only=given.ranked, refresh=not given.no_refresh, projects=given.project,
        shared=given.shared or bool(given.project), agents=given.agent,
    )  # fmt: skip
    quiet = mem.options.quiet
    drawn: AbstractContextManager[object] = nullcontext()
    if not quiet and columns(sys.stderr):
        from memcli.cli.progress import Progress  # the first one indexes a repository's files

        drawn = Progress("recall")
    with drawn:
        report = _answered(mem, request, given.at)
    if given.ids_out:
        use.write_ids(given.ids_out, mem.project.root, report)
    count_problems(report.problems, quiet=quiet)
    _print(report, "json" if mem.options.json else given.format, explain=request.explain)
    found = any(hit.layer in ("ranked", "history") for hit in report.hits)
    say("" if found else _nothing(report), quiet=quiet)
    return 1 if given.exit_code and not found else 0


def _answered(mem: App, request: RecallRequest, at: str) -> RecallReport:
    """From the project at hand, or as it was; from several that are named or, outside, listed."""
    roots = [mem.options.root, *mem.options.others] if mem.options.others else []
    if not mem.options.root and mem.project.root is None:
        roots = list(mem.project.config.roots)
    if roots and not at:
        from memcli.commands.across import recall_across

        return recall_across(mem, roots, request)
    if not at:
        return use.recall(mem, request)
    from memcli.exchange.past import seen_at

    with seen_at(mem, at) as then:
        return use.recall(then, request)


def _print(report: RecallReport, form: str, *, explain: bool) -> None:
    if form == "prompt" or (form == "auto" and not columns(sys.stdout)):
        put(block(report.hits, report.budget.more))
        return
    from memcli.views import recall as view

    put(view.recall_json(report, explain=explain) if form == "json" else view.recall_text(report))


def _nothing(report: RecallReport) -> str:
    if not report.found:
        return HOW_TO_BEGIN
    if report.budget.more and report.matched:
        return f"mem: nothing ranked found room in {report.budget.limit} tokens: --max-tokens"
    return f"mem: nothing {'else ' if report.matched else ''}remembered matches this task"

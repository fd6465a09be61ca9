"""The health of the memory: score, metrics, counts, and its course over days."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memcli.views import json, terminal
from memcli.views.table import table
from memcli.views.text import count, folded, hung, styled

if TYPE_CHECKING:
    from memcli.commands.health import HealthReport
    from memcli.diagnostics.metrics import Metric

NUDGE_FROM = 60
"""So many prompts without anything written are worth a word."""
ENOUGH = 95
"""From this value a metric gets no advice."""


def health_json(report: HealthReport, *, history: bool) -> str:
    """The report; with `history` also its snapshots, the oldest first."""
    found = report.health
    return json.document(
        {
            "score": found.score,
            "band": found.band,
            "metrics": found.metrics,
            "counts": report.counts,
            "llm": report.spent,
            "never_recalled": None if report.never is None else len(report.never),
            "nudge": {"prompts": report.unwritten, "due": report.unwritten >= NUDGE_FROM},
            "problems": report.problems,
            **({"history": report.history} if history else {}),
        }
    )


def health_text(report: HealthReport) -> str:
    """Score, metrics with their bars and reasons, counts; within 80 columns, and on a terminal its
    width.
    """
    from memcli.diagnostics.metrics import FEW, GROWTH

    found, counts = report.health, report.counts
    score = styled(f"{found.score:g} ({found.band})", found.band)
    live = count(counts["live"], "live entry", "live entries")
    size = f"{live}, {count(counts['files'], 'file')}, {counts['tokens']:,} tokens"
    lines = hung(f"health {score}   {size}", 2)
    few = counts["live"] < FEW
    for name, metric in found.metrics.items():
        lines += ["", *_metric(name, metric, advised=not (few and metric.raise_with in GROWTH))]
    if few and counts["live"]:
        more = f"{FEW} entries and more make these figures meaningful: mem add, mem extract"
        lines += ["", *folded([more], more=2)]
    if counts["entries"]:
        names = ("level", "type", "kind", "status")
        lines += ["", *(line for name in names for line in _tally(name, counts[name]))]
    return "\n".join([*lines, *folded(_told(report), more=2)])


def _told(report: HealthReport) -> list[str]:
    said = []
    if report.never is not None:
        never = count(len(report.never), "live entry was", "live entries were")
        said.append(f"{never} never recalled")
    if report.unwritten >= NUDGE_FROM:
        said.append(f"{report.unwritten} prompts since memory was last written: mem extract")
    spent = report.spent
    if spent.calls:
        cost = f"{count(spent.calls, 'call')}, {spent.tokens:,} tokens, {spent.cost:.2f} USD"
        said.append(f"LLM, {spent.days} days: {cost}")
    return said


def _page_width() -> int:
    """78 columns, on a narrow terminal fewer."""
    return min(78, terminal.columns(sys.stdout) or 78)


def _metric(name: str, metric: Metric, *, advised: bool) -> list[str]:
    from textwrap import wrap

    from memcli.diagnostics.metrics import band

    if metric.value is None:
        head = f"{name:<13}    -  {'.' * 20}  not counted"
    else:
        full = round(metric.value / 5)
        bar = styled("█" * full + "░" * (20 - full), band(metric.value))
        head = f"{name:<13}{metric.value:5.1f}  {bar}  {metric.weight:.0%} of the score"
    advised = advised and (metric.value is None or metric.value < ENOUGH)
    hint = [styled(f"  raise it: {metric.raise_with}", "dim")] if advised else []
    reason = wrap(metric.reason, _page_width(), initial_indent="  ", subsequent_indent="  ")
    return [*hung(head, 20), *reason, *hint]


def _tally(name: str, counts: Mapping[str, int]) -> list[str]:
    from textwrap import wrap

    text = ", ".join(f"{key} {number}" for key, number in counts.items())
    return wrap(text, _page_width(), initial_indent=f"{name:<8}", subsequent_indent=" " * 8)


def trend_text(report: HealthReport) -> str:
    """The score by day: a sparkline and the latest days on a terminal, tab-separated days in a
    pipe.
    """
    from memcli.commands.health import trend
    from memcli.diagnostics.metrics import WEIGHTS

    rows = list(trend(report))
    width = terminal.columns(sys.stdout)
    if not width or not rows:
        return table(rows, ())
    begin, end = report.history[0], report.history[-1]
    names = [name[:5] for name in WEIGHTS]
    scores = [day.score for day in report.history][-min(60, max(1, width - 36)) :]
    drawn = styled(sparkline(scores), report.health.band)
    heads = ("day", "score", *names, "entries", "tokens")
    days = table(rows[-14:], heads, spare=("tokens", *reversed(names)))
    return f"{begin.day} {begin.score:g}  {drawn}  {end.day} {end.score:g}\n\n{days}"


def sparkline(values: Sequence[float]) -> str:
    """One character a value, for 0 to 100."""
    return "".join("▁▂▃▄▅▆▇█"[min(7, int(max(0.0, value) / 12.5))] for value in values)

"""The health of the memory: score, metrics, counts, and its course over days."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcli.views import terminal
from memcli.views.entries import Keys
from memcli.views.table import table
from memcli.views.text import count, folded, hung, styled

if TYPE_CHECKING:
    from memcli.diagnostics.health import HealthReport
    from memcli.diagnostics.notes import Metric

NUDGE_FROM = 60
"""So many prompts without anything written are worth a word."""
ENOUGH = 95
"""From this value a metric gets no advice."""


def health_keys(report: HealthReport, *, history: bool = False) -> Keys:
    """What of the report is told; with `history` also its snapshots, the oldest first."""
    return {
        **report.health._asdict(),
        **dict.fromkeys(("health", "notes", "never", "found", "spent", "unwritten"), ...),
        "llm": report.spent,
        "never_recalled": None if report.never is None else len(report.never),
        "nudge": {"prompts": report.unwritten, "due": report.unwritten >= NUDGE_FROM},
        "history": report.history if history else ...,
    }


def health_text(report: HealthReport) -> str:
    """Score, metrics with their bars and reasons, counts; within 80 columns or the terminal's."""
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
        lines.append("")
    for name in ("level", "type", "kind", "status") if counts["entries"] else ():
        text = ", ".join(f"{key} {number}" for key, number in counts[name].items())
        lines += _wrapped(text, f"{name:<8}", 8)
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


def _metric(name: str, metric: Metric, *, advised: bool) -> list[str]:
    from memcli.diagnostics.metrics import band

    head = f"{name:<13}    -  {'.' * 20}  not counted"
    if metric.value is not None:
        full = round(metric.value / 5)
        bar = styled("█" * full + "░" * (20 - full), band(metric.value))
        head = f"{name:<13}{metric.value:5.1f}  {bar}  {metric.weight:.0%} of the score"
    advised = advised and (metric.value is None or metric.value < ENOUGH)
    hint = [styled(f"  raise it: {metric.raise_with}", "dim")] if advised else []
    return [*hung(head, 20), *_wrapped(metric.reason, "  ", 2), *hint]


def _wrapped(text: str, first: str, hang: int) -> list[str]:
    """Lines of 78 columns, on a narrow terminal fewer."""
    from textwrap import wrap

    width = min(78, terminal.columns(sys.stdout) or 78)
    return wrap(text, width, initial_indent=first, subsequent_indent=" " * hang)


def trend_text(report: HealthReport) -> str:
    """The score by day: a sparkline and the latest days on a terminal, tab-separated in a pipe."""
    from memcli.diagnostics.metrics import WEIGHTS

    rows = []
    for day in report.history:
        values = (day.score, *(day.metrics.get(name) for name in WEIGHTS))
        shown = ("-" if value is None else f"{value:.1f}" for value in values)
        rows.append((day.day, *shown, str(day.entries), str(day.tokens)))
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

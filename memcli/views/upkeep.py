"""Output of the upkeep commands: reinforce, compact, retire-stage, doctor and
health."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memcli.text import matching
from memcli.text.controls import for_display
from memcli.text.secrets import redact_secrets
from memcli.views.entries import Keys, written_lines
from memcli.views.text import (
    columns,
    count,
    first,
    fold,
    folded,
    hung,
    joined_counts,
    place,
    styled,
    table,
)

if TYPE_CHECKING:
    from memcli.commands.doctor import DoctorReport
    from memcli.commands.retire_stage import StageReport
    from memcli.compaction.compact import CompactReport
    from memcli.compaction.reinforce import ReinforceReport
    from memcli.diagnostics.health import HealthReport, Snapshot
    from memcli.diagnostics.metrics import Metric
    from memcli.diagnostics.scene import Check
    from memcli.memory.changes import Event


def reinforce_text(report: ReinforceReport) -> str:
    """How many entries got stronger or weaker, and why others did not."""
    changes = [
        f"{what} {count(len(ids), 'entry', 'entries')}"
        for what in ("reinforced", "rated", "weakened")
        if (ids := getattr(report, what))
    ]
    left_out = joined_counts(
        (len(report.already), "already counted in this session"),
        (len(report.retired), "retired"),
        (len(report.elsewhere), "in another work tree"),
        (len(report.unknown), "unknown"),
    )
    text = ", ".join(changes) or "nothing to reinforce"
    return f"{text} ({left_out})" if left_out else text


def retire_stage_text(report: StageReport) -> str:
    """The stage, where it is read from, and what was retired with the previous one."""
    lines = list(report.notes)
    if report.current:
        source = f" (by {report.by})" if report.by else ""
        is_new = report.before not in ("", report.current)
        before = f", was {report.before}" if is_new else ""
        lines.append(f"stage {report.current}{source}{before}")
    if report.ended:
        number = count(len(report.retired), "entry", "entries")
        lines.append(f"retired {number} of stage {report.ended}")
        lines += written_lines(" ", report.retired, report.patches)
    return for_display("\n".join(lines))


_EVENTS = matching.table("views/events.txt").splitlines()[1:]
EVENT_WORDS = dict(line.split(": ", 1) for line in _EVENTS)


def event_lines(events: Iterable[Event]) -> list[str]:
    """One line for each thing done, or found and left alone."""
    return first([_event_line(event) for event in events])


def _event_line(event: Event) -> str:
    ids = [entry_id[:8] for entry_id in event.ids]
    words = EVENT_WORDS[event.what].format(
        *ids,
        first="".join(ids[:1]),
        others=", ".join(ids[1:]),
        why=event.detail,
        versions=count(len(ids), "version"),
        episodes=count(len(ids), "episode"),
        sections=count(len(ids), "section"),
    )
    return f"{place(event.path)}: {words}"


def compact_text(report: CompactReport) -> str:
    """What was or would be done, and what waits."""
    lines = event_lines(report.done)
    if report.waiting:
        number = count(report.waiting, "episode")
        lines.append(f"{number} to consolidate: mem compact --set consolidate=true")
    if len(report.done) > 1:
        counts = sorted(Counter(event.what for event in report.done).items())
        lines.append(", ".join(f"{what}: {number}" for what, number in counts))
    left = ": the findings above stay until you change them" if report.found else ""
    return for_display("\n".join(lines or [f"nothing to compact{left}"]))


_STATUS_STYLES = {"PASS": "green", "WARN": "yellow", "FAIL": "red", "INFO": "cyan"}
_WRONG = ("FAIL", "WARN")


def doctor_keys(report: DoctorReport) -> Keys:
    """The checks as objects, and how many failed."""
    rows = [
        {
            "name": row.name,
            "status": row.status,
            **row._asdict(),
            "path": row.path or None,
            "line": row.line or None,
        }
        for row in report.checks
    ]
    return {"checks": rows, "failed": report.failed, "warned": report.warned}


def doctor_summary(report: DoctorReport) -> str:
    """One line with the number of failed checks."""
    failures = [count(report.failed, "failure")] if report.failed else []
    warnings = [count(report.warned, "warning")] if report.warned else []
    return f"mem: {', '.join(failures + warnings) or 'all is well'}"


def doctor_text(
    report: DoctorReport, *, whole: bool = False, quiet: bool = False
) -> str:
    """One line for each check, with tabs between the cells; on a terminal aligned, and
    checks that pass only counted unless `whole`. If `quiet`, what is wrong alone."""
    width = columns(sys.stdout)
    checks = [row for row in report.checks if not quiet or row.status in _WRONG]
    if not width:
        return table([_check_cells(row) for row in checks], ())
    rows = [row for row in checks if whole or row.status != "PASS"]
    name_width = max((len(row.name) for row in rows), default=0)
    hang = name_width + 8 if width > 2 * name_width + 16 else 6
    lines = []
    for row in rows:
        lines += _check_lines(row, name_width, hang)
    if passed := len(checks) - len(rows):
        passing = count(passed, "check passes", "checks pass")
        head = styled("PASS", _STATUS_STYLES["PASS"])
        lines += hung(f"{head}  {passing}: --all names them", 6)
    return "\n".join(lines)


def _check_lines(row: Check, name_width: int, hang: int) -> list[str]:
    """A row for a terminal, with its hint below it."""
    cells = (" ".join(for_display(cell).split()) for cell in _check_cells(row))
    status, name, where, detail, hint = cells
    shown = f"{styled(where, 'cyan')} " if where else ""
    head = f"{styled(status, _STATUS_STYLES[status])}  {name:<{name_width}}"
    lines = hung(f"{head}  {shown}{detail}", hang)
    if hint:
        lines += [styled(line, "dim") for line in hung(" " * hang + hint, hang)]
    return lines


def _check_cells(row: Check) -> tuple[str, ...]:
    told = (redact_secrets(row.detail), redact_secrets(row.hint))
    return (row.status, row.name, place(row.path, row.line or 0), *told)


NUDGE_FROM = 60  # from this many prompts without a write, say so
ENOUGH = 95  # a metric from this value up gets no advice
TEXT_WIDTH = 78
BAR = 20
"""Columns of the reasons, on a terminal that is wide enough, and of a metric's bar."""
LATEST_DAYS = 14
MOST_SCORES = 60


def health_keys(report: HealthReport, *, sparse: bool, history: bool = False) -> Keys:
    """The report as JSON; with `history`, also its snapshots, oldest first."""
    hidden = ("health", "found", "spent", "unwritten", "opposites")
    return {
        "sparse_only": sparse,
        **report.health._asdict(),
        **dict.fromkeys(hidden, ...),
        "doubts": {**report.doubts._asdict(), "share": report.doubts.share},
        "llm": report.spent,
        "nudge": {"prompts": report.unwritten, "due": report.unwritten >= NUDGE_FROM},
        "history": report.history if history else ...,
    }


def health_text(report: HealthReport, *, sparse: bool) -> str:
    """Score, metrics with bars and reasons, and counts; fits 80 columns or the
    terminal."""
    from memcli.diagnostics.metrics import FEW

    # The score, and the size of the memory.
    scored = report.health
    counts = report.counts
    score = styled(f"{scored.score:g} ({scored.band})", scored.band)
    live = count(counts["live"], "live entry", "live entries")
    files = count(counts["files"], "file")
    lines = hung(f"health {score}   {live}, {files}, {counts['tokens']:,} tokens", 2)

    # The metrics. A small memory gets no advice.
    is_small = counts["live"] < FEW
    measured = scored.metrics if counts["live"] else {}
    if not measured:
        reasons = dict.fromkeys(each.reason for each in scored.metrics.values())
        lines += ["", *folded(list(reasons), more=2)]
    for name, metric in measured.items():
        lines += ["", *_metric_lines(name, metric)]
    if doubted := report.doubts.lines():
        lines += ["", *folded(doubted, more=2)]
    if is_small and counts["live"]:
        begin = f"these figures mean something from {FEW} entries on"
        lines += ["", *folded([f"{begin}: mem add, mem extract"], more=2)]

    # Counts by level, type, kind and status, and remarks.
    if counts["entries"]:
        lines += ["", *_kind_lines(report)]
    return "\n".join([*lines, *folded(_remarks(report, sparse=sparse), more=2)])


def _kind_lines(report: HealthReport) -> list[str]:
    lines = []
    for name in ("level", "type", "kind", "status"):
        counts = report.counts[name].items()
        text = ", ".join(f"{key} {number}" for key, number in counts)
        lines += _wrapped(text, f"{name:<8}", 8)
    return lines


def _remarks(report: HealthReport, *, sparse: bool) -> list[str]:
    lines = []
    if sparse:
        lines.append("sparse-only: only words are searched, not meaning (mem doctor)")
    if report.unwritten >= NUDGE_FROM:
        prompts = f"{report.unwritten} prompts since the last write to memory"
        lines.append(f"{prompts}: mem extract")
    spent = report.spent
    if spent.calls:
        calls = count(spent.calls, "call")
        cost = f"{calls}, {spent.tokens:,} tokens, {spent.cost:.2f} USD"
        lines.append(f"LLM, {spent.days} days: {cost}")
    return lines


def _metric_lines(name: str, metric: Metric) -> list[str]:
    from memcli.diagnostics.metrics import band

    head = f"{name:<13}    -  {'.' * BAR}  not counted"
    is_low = True
    if metric.value is not None:
        is_low = metric.value < ENOUGH
        full = round(metric.value / 100 * BAR)
        bar = styled("█" * full + "░" * (BAR - full), band(metric.value))
        head = f"{name:<13}{metric.value:5.1f}  {bar}  {metric.weight:.0%} of the score"
    lines = [*hung(head, 20), *_wrapped(metric.reason, "  ", 2)]
    if metric.raise_with and is_low:
        lines.append(styled(f"  raise it: {metric.raise_with}", "dim"))
    return lines


def _wrapped(text: str, begin: str, hang: int) -> list[str]:
    width = columns(sys.stdout) or TEXT_WIDTH
    return fold(begin + text, min(TEXT_WIDTH, width), hang)


def trend_text(report: HealthReport) -> str:
    """The score by day: a sparkline and the latest days on a terminal, tab-separated in
    a pipe."""
    from memcli.diagnostics.metrics import WEIGHTS

    rows = [_day_cells(day, WEIGHTS) for day in report.history]
    width = columns(sys.stdout)
    if not width or not rows:
        return table(rows, ())
    oldest = report.history[0]
    newest = report.history[-1]
    fitting = min(MOST_SCORES, max(1, width - 36))
    scores = [day.score for day in report.history[-fitting:]]
    drawn = styled(sparkline(scores), report.health.band)
    names = [name[:5] for name in WEIGHTS]
    heads = ("day", "score", *names, "entries", "tokens")
    days = table(rows[-LATEST_DAYS:], heads, spare=("tokens", *reversed(names)))
    return f"{oldest.day} {oldest.score:g}  {drawn}  {newest.day} {newest.score:g}\n\n{days}"


def _day_cells(day: Snapshot, names: Iterable[str]) -> tuple[str, ...]:
    values = (day.score, *(day.metrics.get(name) for name in names))
    shown = ("-" if value is None else f"{value:.1f}" for value in values)
    return (day.day, *shown, str(day.entries), str(day.tokens))


def sparkline(values: Sequence[float]) -> str:
    """One character for each value from 0 to 100."""
    steps = "▁▂▃▄▅▆▇█"
    size = 100 / len(steps)
    last = len(steps) - 1
    return "".join(steps[min(last, int(max(0.0, value) / size))] for value in values)

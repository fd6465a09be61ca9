"""Index, compaction, set-up, doctor and health: what was done and what is found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memcli.text.controls import for_display
from memcli.text.matching import stanzas
from memcli.text.secrets import redact_secrets
from memcli.views.entries import Keys
from memcli.views.text import (
    columns,
    count,
    first,
    fold,
    folded,
    hung,
    in_one_line,
    styled,
    table,
)

if TYPE_CHECKING:
    from memcli.commands.doctor import DoctorReport
    from memcli.commands.index import IndexReport
    from memcli.compaction.compact import CompactReport
    from memcli.diagnostics.health import HealthReport
    from memcli.diagnostics.metrics import Metric
    from memcli.memory.changes import Event
    from memcli.postgres.push import PushReport


def index_keys(report: IndexReport, sent: PushReport | None = None) -> Keys:
    files = [
        {
            "path": row.path,
            **{
                key: getattr(row.place, key)
                for key in ("level", "store", "job", "task")
            },
            "entries": row.entries,
            "problems": len(row.problems),
        }
        for row in sorted(report.files.values(), key=lambda row: row.path)
    ]
    return {
        **dict.fromkeys(("where", "repeated"), ...),
        "sparse_only": report.vectors is None,
        "index": report.where,
        "files": files,
        "problems": (*report.problems, *report.repeated),
        "push": {**sent._asdict(), "problems": len(sent.problems)}
        if sent is not None
        else ...,
    }


def index_text(report: IndexReport) -> str:
    """How many entries in how many files, what was read, how many vectors, and where it
    lies."""
    head = count(report.entries, "entry or section", "entries and sections")
    what = (
        _counted(((report.changed, "read anew"), (report.removed, "gone")))
        or "up to date"
    )
    vectors = ", sparse-only" if report.where else ""
    if report.vectors is not None:
        model, have, chosen, *_ = report.vectors
        number = (
            count(have, "vector") if have == chosen else f"{have} of {chosen} vectors"
        )
        vectors = f", {number} ({model})"
    gone = report.names.gone if report.names else 0
    lost = (
        f"; {count(gone, 'name')} in them the code has no more: mem doctor --stale"
        if gone
        else ""
    )
    where = f"{count(len(report.files), 'file')}, {what}{vectors}: {report.where}{lost}"
    return f"{head} in {where}"


def _counted(counts: Iterable[tuple[int, str]]) -> str:
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def push_text(report: PushReport) -> str:
    """What a push did, one line for each thing that was done."""
    counts = ((report.sent, "sent"), (report.dropped, "taken out"))
    what = _counted((*counts, (report.embedded, "with new vectors"))) or "up to date"
    head = f"{report.project} at {report.commit[:12]}: {count(report.files, 'file')}"
    lines = ["the tables were made"] if report.made else []
    lines.append(f"{head}, {what}: {report.where}")
    if report.left_out:
        names = [
            *map(in_one_line, report.left_out[:3]),
            *["..."] * (len(report.left_out) > 3),
        ]
        number = count(len(report.left_out), "file")
        lines.append(f"not in git, so not sent: {number} ({', '.join(names)})")
    return "\n".join(lines)


def event_lines(events: Iterable[Event]) -> list[str]:
    """One line each of what was done, or found and left alone."""
    words = stanzas("views/event_words.txt")
    return first([_event(event, words[event.what]) for event in events])


def compact_text(report: CompactReport) -> str:
    """What was done, or would be, and what waits."""
    lines = event_lines(report.done)
    if report.waiting:
        number = count(report.waiting, "episode")
        lines.append(f"{number} to consolidate: mem compact --consolidate")
    if len(report.done) > 1:
        counts = sorted(Counter(event.what for event in report.done).items())
        lines.append(", ".join(f"{what}: {number}" for what, number in counts))
    return for_display("\n".join(lines or ["nothing to compact"]))


def _event(event: Event, words: str) -> str:
    ids = [i[:8] for i in event.ids]
    numbers = {
        f"{one}s": count(len(ids), one) for one in ("version", "episode", "section")
    }
    named = {
        "first": "".join(ids[:1]),
        "others": ", ".join(ids[1:]),
        "why": event.detail,
    }
    return f"{event.path}: {words.format(*ids, **named, **numbers)}"


_STATUS = {"PASS": "green", "WARN": "yellow", "FAIL": "red", "INFO": "cyan"}


def doctor_keys(report: DoctorReport) -> Keys:
    rows = [
        {**row._asdict(), "path": row.path or None, "line": row.line or None}
        for row in report.checks
    ]
    return {"checks": rows, "failed": report.failed, "warned": report.warned}


def doctor_summary(report: DoctorReport) -> str:
    if not (report.failed or report.warned):
        return "mem: all is well"
    failed = count(report.failed, "failure")
    warned = count(report.warned, "warning")
    return "mem: " + ", ".join(
        [failed] * bool(report.failed) + [warned] * bool(report.warned)
    )


def doctor_text(report: DoctorReport) -> str:
    """Aligned for a person at a terminal, a row a line and tabs between its cells
    elsewhere."""
    places = (
        f"{row.path}:{row.line}" if row.line else row.path for row in report.checks
    )
    rows = [
        (
            row.status,
            row.name,
            place,
            redact_secrets(row.detail),
            redact_secrets(row.hint),
        )
        for row, place in zip(report.checks, places, strict=True)
    ]
    if not columns(sys.stdout):
        return table(rows, ())
    width = max((len(row.name) for row in report.checks), default=0)
    lines = []
    hang = width + 8 if columns(sys.stdout) > 2 * width + 16 else 6
    for row in rows:
        status, name, where, detail, hint = (
            " ".join(for_display(cell).split()) for cell in row
        )
        place = f"{styled(where, 'cyan')} " if where else ""
        lines += hung(
            f"{styled(status, _STATUS[status])}  {name:<{width}}  {place}{detail}", hang
        )
        lines += [styled(line, "dim") for line in hung(" " * hang + hint, hang) if hint]
    return "\n".join(lines)


NUDGE_FROM = 60  # so many prompts without anything written are worth a word
ENOUGH = 95  # from this value a metric gets no advice


def health_keys(report: HealthReport, *, sparse: bool, history: bool = False) -> Keys:
    """What of the report is told; with `history` also its snapshots, the oldest
    first."""
    return {
        "sparse_only": sparse,
        **report.health._asdict(),
        **dict.fromkeys(
            ("health", "notes", "never", "found", "spent", "unwritten"), ...
        ),
        "doubts": {**report.doubts._asdict(), "share": report.doubts.share},
        "llm": report.spent,
        "nudge": {"prompts": report.unwritten, "due": report.unwritten >= NUDGE_FROM},
        "history": report.history if history else ...,
    }


def health_text(report: HealthReport, *, sparse: bool) -> str:
    """Score, metrics with their bars and reasons, counts; within 80 columns or the
    terminal's."""
    from memcli.diagnostics.metrics import FEW, GROWTH

    found = report.health
    counts = report.counts
    score = styled(f"{found.score:g} ({found.band})", found.band)
    live = count(counts["live"], "live entry", "live entries")
    size = f"{live}, {count(counts['files'], 'file')}, {counts['tokens']:,} tokens"
    lines = hung(f"health {score}   {size}", 2)
    few = counts["live"] < FEW
    for name, metric in found.metrics.items():
        lines += [
            "",
            *_metric(name, metric, advised=not (few and metric.raise_with in GROWTH)),
        ]
    if doubted := report.doubts.lines():
        lines += ["", *folded(doubted, more=2)]
    if few and counts["live"]:
        more = f"{FEW} entries and more make these figures meaningful: mem add, mem extract"
        lines += ["", *folded([more], more=2)]
    if counts["entries"]:
        lines.append("")
        for name in ("level", "type", "kind", "status"):
            text = ", ".join(f"{key} {number}" for key, number in counts[name].items())
            lines += _wrapped(text, f"{name:<8}", 8)
    said = (
        ["sparse-only: words alone are searched, not meaning (mem doctor)"]
        if sparse
        else []
    )
    if report.unwritten >= NUDGE_FROM:
        said.append(
            f"{report.unwritten} prompts since memory was last written: mem extract"
        )
    if (spent := report.spent).calls:
        cost = f"{count(spent.calls, 'call')}, {spent.tokens:,} tokens, {spent.cost:.2f} USD"
        said.append(f"LLM, {spent.days} days: {cost}")
    return "\n".join([*lines, *folded(said, more=2)])


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
    return fold(first + text, min(78, columns(sys.stdout) or 78), hang)


def trend_text(report: HealthReport) -> str:
    """The score by day: a sparkline and the latest days on a terminal, tab-separated in
    a pipe."""
    from memcli.diagnostics.metrics import WEIGHTS

    rows = []
    for day in report.history:
        values = (day.score, *(day.metrics.get(name) for name in WEIGHTS))
        shown = ("-" if value is None else f"{value:.1f}" for value in values)
        rows.append((day.day, *shown, str(day.entries), str(day.tokens)))
    width = columns(sys.stdout)
    if not width or not rows:
        return table(rows, ())
    begin = report.history[0]
    end = report.history[-1]
    names = [name[:5] for name in WEIGHTS]
    scores = [day.score for day in report.history][-min(60, max(1, width - 36)) :]
    drawn = styled(sparkline(scores), report.health.band)
    heads = ("day", "score", *names, "entries", "tokens")
    days = table(rows[-14:], heads, spare=("tokens", *reversed(names)))
    return f"{begin.day} {begin.score:g}  {drawn}  {end.day} {end.score:g}\n\n{days}"


def sparkline(values: Sequence[float]) -> str:
    """One character a value, for 0 to 100."""
    return "".join("▁▂▃▄▅▆▇█"[min(7, int(max(0.0, value) / 12.5))] for value in values)

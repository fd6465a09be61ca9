"""Index, compaction, set-up and doctor: what was done and what is found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcli.text.controls import for_display
from memcli.views import json, terminal
from memcli.views.table import table
from memcli.views.text import count, first, folded, hung, in_one_line, styled

if TYPE_CHECKING:
    from memcli.commands.compact import CompactReport
    from memcli.commands.doctor import DoctorReport
    from memcli.commands.index import IndexReport
    from memcli.commands.init import InitReport
    from memcli.diagnostics.scene import Check
    from memcli.memory.changes import Event
    from memcli.postgres.push import PushReport


def index_json(report: IndexReport, sent: PushReport | None = None) -> str:
    files = [
        {
            "path": row.path,
            "level": row.place.level,
            "store": row.place.store,
            "job": row.place.job,
            "task": row.place.task,
            "entries": row.entries,
            "problems": len(row.problems),
        }
        for row in report.files
    ]
    push = {**sent._asdict(), "problems": len(sent.problems)} if sent is not None else ...
    problems = (*report.problems, *report.repeated)
    return json.of(
        report,
        where=...,
        index=report.where,
        files=files,
        repeated=...,
        problems=problems,
        push=push,
    )


def index_text(report: IndexReport) -> str:
    entries = sum(row.entries for row in report.files)
    head = count(entries, "entry or section", "entries and sections")
    done = [
        f"{report.changed} read anew" if report.changed else "",
        f"{report.removed} gone" if report.removed else "",
    ]
    what = ", ".join(filter(None, done)) or "up to date"
    return f"{head} in {count(len(report.files), 'file')}, {what}{_vectors(report)}: {report.where}"


def _vectors(report: IndexReport) -> str:
    if report.vectors is None:
        return ""
    have, chosen, model = report.vectors.have, report.vectors.chosen, report.vectors.model
    number = count(have, "vector") if have == chosen else f"{have} of {chosen} vectors"
    return f", {number} ({model})"


def stale_text(report: IndexReport) -> str:
    """The names of the files that the index has an older state of, one a line."""
    return "\n".join(map(in_one_line, report.stale))


def push_text(report: PushReport) -> str:
    """What a push did, one line for each thing that was done."""
    moved = [
        f"{report.sent} sent" if report.sent else "",
        f"{report.dropped} taken out" if report.dropped else "",
        f"{report.embedded} with new vectors" if report.embedded else "",
    ]
    what = ", ".join(filter(None, moved)) or "up to date"
    head = f"{report.project} at {report.commit[:12]}"
    lines = [f"{head}: {count(report.files, 'file')}, {what}: {report.where}"]
    if report.made:
        lines.insert(0, "the tables were made")
    if report.left_out:
        names = [in_one_line(name) for name in report.left_out[:3]]
        names += ["..."] if len(report.left_out) > 3 else []
        number = count(len(report.left_out), "file")
        lines.append(f"not in git, so not sent: {number} ({', '.join(names)})")
    return "\n".join(lines)


# --- compact

_FOUND = {
    "contradiction": "{0} and {1} say the opposite: mem show them, then mem retire one",
    "loss": "{why} would leave it: refused without --allow-loss",
    "alike but different": "{0} and {1} look alike but differ ({why}): kept apart",
    "unsure": "{0} and {1} say the opposite, and the model is not sure: mem show them, then mem"
    " retire one",
    "both hold": "{0} and {1} hold both, says the model",
    "names the project": "{0} names the project ({why}): not promoted",
    "not shown": "{0} is not promoted: it holds {why}",
    "not asked": "{why}",
    "skipped": "{0}: {why}",
    "left": "{why}",
    "dropped": "dropped of what the model proposed: {why}",
}


def found_lines(report: CompactReport) -> list[str]:
    """What was found and left alone, one line each."""
    return first([
        f"{event.path}: {_FOUND[event.what].format(*(i[:8] for i in event.ids), why=event.detail)}"
        for event in report.found
    ])  # fmt: skip


def compact_text(report: CompactReport) -> str:
    """What was done, or would be, and what waits."""
    done = [_event(event) for event in report.done]
    lines = first(done)
    if report.waiting:
        number = count(report.waiting, "episode")
        lines.append(f"{number} to consolidate: mem compact --consolidate")
    if len(done) > 1:
        counts = sorted(Counter(event.what for event in report.done).items())
        lines.append(", ".join(f"{what}: {number}" for what, number in counts))
    return for_display("\n".join(lines or ["nothing to compact"]))


def check_text(report: CompactReport) -> str:
    """The same as an answer, on a terminal folded at words."""
    return "\n".join(folded([compact_text(report)], more=2))


def _event(event: Event) -> str:
    first, rest = event.ids[0][:8], [i[:8] for i in event.ids[1:]]
    others = ", ".join(rest)
    words = {
        "merged": f"merged {others} into {first}",
        "same id": f"merged {count(len(rest) + 1, 'version')} of {first}",
        "retired": f"archived {first}, retired: {event.detail}",
        "stale": f"archived {first}, stale: {event.detail}",
        "promoted": f"promoted {others} to the project as {first}",
        "reinforced by recurrence": f"reinforced {first}: it recurs in {others}",
        "decayed": f"lowered {first} and {others}: they say the opposite",
        "superseded": f"retired {others}, superseded by {first}",
        "learned": f"learned {first} from {others}: {event.detail}",
        "updated": f"updated {first} from {others}",
        "reinforced": f"reinforced {first} from {others}",
        "consolidated": f"consolidated {count(len(event.ids), 'episode')}",
        "promoted everywhere": f"promoted {others} to every project as {first}",
        "stage": event.detail,
        "adopted": f"made {count(len(event.ids), 'section')} of prose into entries",
    }
    return f"{event.path}: {words[event.what]}"


def init_text(report: InitReport) -> str:
    return "\n".join(report.done or ("everything is in place already",))


# --- doctor

_STATUS = {"PASS": "green", "WARN": "yellow", "FAIL": "red", "INFO": "cyan"}


def doctor_json(report: DoctorReport, *, dry_run: bool) -> str:
    rows = [
        {**row._asdict(), "path": row.path or None, "line": row.line or None}
        for row in report.checks
    ]
    return json.document(
        {
            "checks": rows,
            "failed": report.failed,
            "warned": report.warned,
            "fixed": report.fixed,
            "files": [patch.path for patch in report.patches],
            "dry_run": dry_run,
        }
    )


def doctor_summary(report: DoctorReport) -> str:
    if not (report.failed or report.warned):
        return "mem: all is well"
    return f"mem: {report.failed} failed, {count(report.warned, 'warning')}"


def doctor_text(report: DoctorReport) -> str:
    """Aligned for a person at a terminal, a row a line and tabs between its cells elsewhere."""
    rows = [(row.status, row.name, _place(row), row.detail, row.hint) for row in report.checks]
    if not sys.stdout.isatty():
        return table(rows, ())
    width = max((len(row.name) for row in report.checks), default=0)
    return "\n".join(line for row in rows for line in _doctor_lines(row, width))


def _doctor_lines(row: Sequence[str], width: int) -> list[str]:
    status, name, where, detail, hint = (" ".join(for_display(cell).split()) for cell in row)
    place = f"{styled(where, 'cyan')} " if where else ""
    hang = width + 8 if terminal.columns(sys.stdout) > 2 * width + 16 else 6
    lines = hung(f"{styled(status, _STATUS[status])}  {name:<{width}}  {place}{detail}", hang)
    hints = hung(" " * hang + hint, hang) if hint else []
    return lines + [styled(line, "dim") for line in hints]


def _place(row: Check) -> str:
    return f"{row.path}:{row.line}" if row.line else row.path

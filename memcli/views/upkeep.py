"""Index, compaction, set-up and doctor: what was done and what is found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from memcli.text.controls import for_display
from memcli.views import terminal
from memcli.views.entries import Keys
from memcli.views.table import table
from memcli.views.text import count, first, hung, in_one_line, styled

if TYPE_CHECKING:
    from memcli.commands.compact import CompactReport
    from memcli.commands.doctor import DoctorReport
    from memcli.commands.index import IndexReport
    from memcli.commands.init import InitReport
    from memcli.diagnostics.scene import Check
    from memcli.memory.changes import Event
    from memcli.postgres.push import PushReport


def index_keys(report: IndexReport, sent: PushReport | None = None) -> Keys:
    files = [
        {
            "path": row.path,
            **{key: getattr(row.place, key) for key in ("level", "store", "job", "task")},
            "entries": row.entries,
            "problems": len(row.problems),
        }
        for row in report.files
    ]
    return {
        "where": ...,
        "index": report.where,
        "files": files,
        "repeated": ...,
        "problems": (*report.problems, *report.repeated),
        "push": {**sent._asdict(), "problems": len(sent.problems)} if sent is not None else ...,
    }


def index_text(report: IndexReport) -> str:
    """How many entries in how many files, what was read, how many vectors, and where it lies."""
    entries = sum(row.entries for row in report.files)
    head = count(entries, "entry or section", "entries and sections")
    what = _counted(((report.changed, "read anew"), (report.removed, "gone"))) or "up to date"
    vectors = ""
    if report.vectors is not None:
        model, have, chosen, *_ = report.vectors
        number = count(have, "vector") if have == chosen else f"{have} of {chosen} vectors"
        vectors = f", {number} ({model})"
    return f"{head} in {count(len(report.files), 'file')}, {what}{vectors}: {report.where}"


def _counted(counts: Iterable[tuple[int, str]]) -> str:
    """`2 sent, 1 taken out`, what is 0 left out."""
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def stale_text(report: IndexReport) -> str:
    """The names of the files that the index has an older state of, one a line."""
    return "\n".join(map(in_one_line, report.stale))


def push_text(report: PushReport) -> str:
    """What a push did, one line for each thing that was done."""
    counts = (
        (report.sent, "sent"),
        (report.dropped, "taken out"),
        (report.embedded, "with new vectors"),
    )
    what = _counted(counts) or "up to date"
    lines = ["the tables were made"] if report.made else []
    head = f"{report.project} at {report.commit[:12]}"
    lines.append(f"{head}: {count(report.files, 'file')}, {what}: {report.where}")
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


_DONE = {
    "merged": "merged {others} into {first}",
    "same id": "merged {versions} of {first}",
    "retired": "archived {first}, retired: {why}",
    "stale": "archived {first}, stale: {why}",
    "promoted": "promoted {others} to the project as {first}",
    "reinforced by recurrence": "reinforced {first}: it recurs in {others}",
    "decayed": "lowered {first} and {others}: they say the opposite",
    "superseded": "retired {others}, superseded by {first}",
    "learned": "learned {first} from {others}: {why}",
    "updated": "updated {first} from {others}",
    "reinforced": "reinforced {first} from {others}",
    "consolidated": "consolidated {episodes}",
    "promoted everywhere": "promoted {others} to every project as {first}",
    "stage": "{why}",
    "adopted": "made {sections} of prose into entries",
}


def _event(event: Event) -> str:
    first, *others = (i[:8] for i in event.ids)
    numbers = {f"{one}s": count(len(event.ids), one) for one in ("version", "episode", "section")}
    said = _DONE[event.what].format(
        first=first, others=", ".join(others), why=event.detail, **numbers
    )
    return f"{event.path}: {said}"


def init_text(report: InitReport) -> str:
    return "\n".join(report.done or ("everything is in place already",))


# --- doctor

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
    return f"mem: {report.failed} failed, {count(report.warned, 'warning')}"


def doctor_text(report: DoctorReport) -> str:
    """Aligned for a person at a terminal, a row a line and tabs between its cells elsewhere."""
    rows = [(row.status, row.name, _place(row), row.detail, row.hint) for row in report.checks]
    if not sys.stdout.isatty():
        return table(rows, ())
    width, lines = max((len(row.name) for row in report.checks), default=0), []
    hang = width + 8 if terminal.columns(sys.stdout) > 2 * width + 16 else 6
    for row in rows:
        status, name, where, detail, hint = (" ".join(for_display(cell).split()) for cell in row)
        place = f"{styled(where, 'cyan')} " if where else ""
        head = styled(status, _STATUS[status])
        lines += hung(f"{head}  {name:<{width}}  {place}{detail}", hang)
        lines += [styled(line, "dim") for line in hung(" " * hang + hint, hang) if hint]
    return "\n".join(lines)


def _place(row: Check) -> str:
    return f"{row.path}:{row.line}" if row.line else row.path

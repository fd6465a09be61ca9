"""Output of mem index: about the index, the shared index and history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memcli.storage.files import in_megabytes
from memcli.views.entries import Keys
from memcli.views.text import count, in_one_line, joined_counts

if TYPE_CHECKING:
    from memcli.commands.history import HistoryReport
    from memcli.commands.index import Embedded, IndexReport
    from memcli.index.view import FileRow
    from memcli.postgres.push import PushReport

NAMED_FILES = 3


def index_keys(report: IndexReport, sent: PushReport | None = None) -> Keys:
    """The files as objects, and what was pushed."""
    files = sorted(report.files.values(), key=lambda row: row.path)
    pushed: object = ...
    if sent is not None:
        pushed = {**sent._asdict(), "problems": len(sent.problems)}
    return {
        **dict.fromkeys(("where", "repeated"), ...),
        "sparse_only": report.vectors is None,
        "index": report.where,
        "files": [_file_object(row) for row in files],
        "problems": (*report.problems, *report.repeated),
        "push": pushed,
    }


def _file_object(row: FileRow) -> dict[str, object]:
    return {
        "path": row.path,
        "level": row.place.level,
        "store": row.place.store,
        "job": row.place.job,
        "task": row.place.task,
        "entries": row.entries,
        "problems": len(row.problems),
    }


def index_text(report: IndexReport) -> str:
    """The numbers of entries, files, files read and vectors, and where the index is."""
    entries = count(report.entries, "entry or section", "entries and sections")
    files = count(len(report.files), "file")
    work = joined_counts((report.changed, "read again"), (report.removed, "gone"))
    vectors = ", sparse-only" if report.where else ""
    if report.vectors is not None:
        vectors = f", {_vectors_text(report.vectors)}"
    text = f"{entries} in {files}, {work or 'up to date'}{vectors}: {report.where}"
    if report.names and report.names.gone:
        names = count(report.names.gone, "name")
        text += f"; {names} in them no longer in the code: mem doctor --stale"
    if report.names and report.names.untold:
        names = count(report.names.untold, "name")
        text += (
            f"; {names} not checked against the code yet: mem doctor --stale continues"
        )
    return text


def _vectors_text(vectors: Embedded) -> str:
    if vectors.have == vectors.chosen:
        return f"{count(vectors.have, 'vector')} ({vectors.model})"
    return f"{vectors.have} of {vectors.chosen} vectors ({vectors.model})"


def push_text(report: PushReport) -> str:
    """What a push did, one line for each action."""
    lines = ["created the tables"] if report.made else []
    files = count(report.files, "file")
    work = joined_counts(
        (report.sent, "sent"),
        (report.dropped, "taken out"),
        (report.embedded, "with new vectors"),
    )
    head = f"{report.project} at {report.commit[:12]}"
    lines.append(f"{head}: {files}, {work or 'up to date'}: {report.where}")
    if report.left_out:
        names = [in_one_line(name) for name in report.left_out[:NAMED_FILES]]
        if len(report.left_out) > NAMED_FILES:
            names.append("...")
        number = count(len(report.left_out), "file")
        lines.append(f"not in git, so not sent: {number} ({', '.join(names)})")
    return "\n".join(lines)


def history_text(report: HistoryReport) -> str:
    """One line: what is kept, what is new, and what was excluded for good."""
    new = report.added
    kept = _taken(report.sessions, report.commits)
    added = _taken(new.sessions, new.commits)
    if not (new.sessions or new.commits):
        added = "nothing"
    elif added == kept:
        added = "all"
    size = in_megabytes(new.bytes)
    out = f"; forgotten: {report.forgotten:,}" if report.forgotten else ""
    return f"history: {kept}, {size}; new: {added} ({report.seconds:.0f} s){out}"


def _taken(sessions: int, commits: int) -> str:
    return f"{count(sessions, 'session')}, {count(commits, 'commit')}"


def history_keys(report: HistoryReport) -> Keys:
    """The report, with new items as an object of their own."""
    added = report.added
    return {
        **dict.fromkeys(("added", "looked"), ...),
        "bytes": added.bytes,
        "new": {
            "sessions": added.sessions,
            "exchanges": added.exchanges,
            "commits": added.commits,
        },
        "agents": added.agents,
        "problems": [{"path": path, "what": what} for path, what in added.problems],
    }

"""What is kept of what was said and committed: one doc, what was added, where it was looked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memcli.text.controls import for_display
from memcli.text.redact import for_prompt
from memcli.views.entries import Keys
from memcli.views.text import count

if TYPE_CHECKING:
    from memcli.commands.history import ForgetReport, HistoryReport
    from memcli.history.docs import Doc
    from memcli.sessions.discover import Discovery


def doc_text(doc: Doc) -> str:
    """A whole exchange or commit."""
    head = f"{doc.handle}  {doc.date[:16].replace('T', ' ')}  {doc.who}  {doc.unit}"
    about = [f"{name}: {', '.join(values)}" for name, values in doc.about.items() if values]
    said = [f"{who}: {text}" if doc.source == "session" else text for who, text in doc.said]
    return for_display("\n".join([head, *about, "", for_prompt("\n\n".join(said))]))


def doc_keys(doc: Doc) -> Keys:
    session = doc.source == "session"
    return {
        **dict.fromkeys(doc._fields, ...),
        "id": doc.handle,
        "source": doc.source,
        "session_id" if session else "commit": doc.unit,
        "agent" if session else "author": doc.who,
        "date": doc.date,
        "turn": doc.turn if session else None,
        "title": for_prompt(doc.title),
        "said": [{"speaker": who, "text": for_prompt(text)} for who, text in doc.said],
        "about": doc.about,
    }


def history_text(report: HistoryReport) -> str:
    """One line of what is kept and what was new."""
    new = report.added
    of = f" of {count(len(new.agents), 'agent')}" if new.agents else ""
    size = (
        f"{new.bytes / 1024:.0f} KB" if new.bytes < 1 << 20 else f"{new.bytes / (1 << 20):.0f} MB"
    )
    return (
        f"{report.sessions} sessions and {report.commits} commits, {size}"
        f" ({new.sessions} sessions{of} and {new.commits} commits new), in {report.seconds:.0f} s"
    )


def history_keys(report: HistoryReport) -> Keys:
    new = report.added
    return {
        "added": ...,
        "looked": ...,
        "bytes": new.bytes,
        "new": {"sessions": new.sessions, "exchanges": new.exchanges, "commits": new.commits},
        "agents": new.agents,
        "problems": [{"path": path, "what": what} for path, what in new.problems],
    }


def looked_text(found: Discovery) -> str:
    """Where it was looked for sessions, and what of it is this repository's."""
    rows = [
        f"{each.agent:<9} {each.found:>5} of {each.files:>5}  {each.folder}"
        for each in found.looked
    ]
    rows.append("")
    rows += [f"{each.format:<9} {each.session or '(several)'}  {each.path}" for each in found.found]
    return "\n".join([*rows, *(f"unread: {path}: {why}" for path, why in found.unread)])


def looked_keys(found: Discovery) -> Keys:
    unread = [{"path": path, "why": why} for path, why in found.unread]
    return {"found": ..., "sessions": found.found, "unread": unread}


def forget_text(report: ForgetReport) -> str:
    """What is gone, and what was learned from it."""
    units = report.units
    what = units[0] if len(units) == 1 else f"{len(units)} sessions or commits"
    lines = [f"{'would forget' if report.dry_run else 'forgot'} {what}"]
    if report.entries:
        lines.append("learned from it, and still in memory (mem retire ID):")
        lines += [f"  {id[:8]}  {path}  {title}" for id, path, title in report.entries]
    return "\n".join(lines)

"""What is kept of what was said and committed: one doc, what was added, where it was looked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memcli.text.controls import for_display
from memcli.text.redact import for_prompt
from memcli.views import json

if TYPE_CHECKING:
    from memcli.commands.history import ForgetReport, HistoryReport
    from memcli.history.docs import Doc
    from memcli.sessions.discover import Discovery


def doc_text(doc: Doc) -> str:
    """A whole exchange or commit."""
    session = doc.source == "session"
    head = f"{doc.handle}  {doc.date[:16].replace('T', ' ')}  {doc.who}  {doc.unit}"
    about = [f"{name}: {', '.join(values)}" for name, values in doc.about.items() if values]
    said = [f"{who}: {text}" if session else text for who, text in doc.said]
    return for_display("\n".join([head, *about, "", for_prompt("\n\n".join(said))]))


def doc_json(doc: Doc) -> str:
    """The same for programs."""
    session = doc.source == "session"
    values: dict[str, Any] = {
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
    return json.document(values)


def history_text(report: HistoryReport) -> str:
    """One line of what is kept and what was new."""
    agents = len(report.added.agents)
    of = f" of {agents} agent{'s' * (agents != 1)}" if agents else ""
    new = report.added
    return (
        f"{report.sessions} sessions and {report.commits} commits, {_size(new.bytes)}"
        f" ({new.sessions} sessions{of} and {new.commits} commits new), in {report.seconds:.0f} s"
    )


def history_json(report: HistoryReport) -> str:
    """The same for programs."""
    new = report.added
    values = {
        "sessions": report.sessions, "exchanges": report.exchanges, "commits": report.commits,
        "bytes": new.bytes, "path": report.path, "seconds": report.seconds,
        "new": {"sessions": new.sessions, "exchanges": new.exchanges, "commits": new.commits},
        "agents": list(new.agents), "problems": [{"path": path, "what": what} for path, what in new.problems],
    }  # fmt: skip
    return json.document(values)


def _size(number: int) -> str:
    return f"{number / (1 << 20):.0f} MB" if number >= 1 << 20 else f"{number / 1024:.0f} KB"


def looked_text(found: Discovery) -> str:
    """Where it was looked for sessions, and what of it is this repository's."""
    rows = [
        f"{each.agent:<9} {each.found:>5} of {each.files:>5}  {each.folder}"
        for each in found.looked
    ]
    rows += [
        "",
        *(f"{each.format:<9} {each.session or '(several)'}  {each.path}" for each in found.found),
    ]
    return "\n".join([*rows, *(f"unread: {path}: {why}" for path, why in found.unread)])


def looked_json(found: Discovery) -> str:
    """The same for programs."""
    values = {
        "looked": [{**each._asdict(), "folder": str(each.folder)} for each in found.looked],
        "sessions": [{**each._asdict(), "path": str(each.path)} for each in found.found],
        "unread": [{"path": str(path), "why": why} for path, why in found.unread],
    }
    return json.document(values)


def forget_text(report: ForgetReport) -> str:
    """What is gone, and what was learned from it."""
    would = "would forget" if report.dry_run else "forgot"
    many = len(report.units)
    lines = [
        f"{would} {many} session{'s' * (many != 1)} or commits"
        if many != 1
        else f"{would} {report.units[0]}"
    ]
    if report.entries:
        lines.append("learned from it, and still in memory (mem retire ID):")
        lines += [f"  {id[:8]}  {path}  {title}" for id, path, title in report.entries]
    return "\n".join(lines)

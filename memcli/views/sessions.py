"""What was learned from sessions, and what a pre-mortem or a checkpoint wrote."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

from memcli.text.controls import for_display
from memcli.views import json
from memcli.views.text import MOST_LINES, count

if TYPE_CHECKING:
    from memcli.commands.extract import ExtractReport, Learned
    from memcli.commands.moments import MomentReport
    from memcli.extraction.placement import Placed
    from memcli.memory.changes import Event as Compacted
    from memcli.memory.values import Patch

_DONE = {"learned": "+", "reinforced": "=", "restored": "<", "noted": "+"}


class Ended(Protocol):
    """What a run over sessions did: what was learned, then strengthened and compacted."""

    @property
    def extract(self) -> ExtractReport: ...
    @property
    def reinforced(self) -> tuple[str, ...]: ...
    @property
    def compacted(self) -> tuple[Compacted, ...]: ...
    @property
    def patches(self) -> tuple[Patch, ...]: ...


def extract_json(done: Ended, *, dry_run: bool) -> str:
    report = done.extract
    return json.of(
        report,
        why=...,
        spoken=...,
        engine_because=report.why,
        sessions=[_session_json(session) for session in report.sessions],
        reinforced=done.reinforced,
        compacted=done.compacted,
        files=[patch.path for patch in done.patches],
        dry_run=dry_run,
    )


def _session_json(session: Learned) -> dict[str, object]:
    failed = [{"scope": scope, "why": why} for scope, why in session.failed]
    return {**session._asdict(), "failed": failed}


def extract_failures(report: ExtractReport) -> list[str]:
    """The scopes that failed, one a line."""
    return [
        for_display(f"mem: {session.name}: scope {scope} failed: {why}")
        for session in report.sessions
        for scope, why in session.failed
    ]


def extract_text(done: Ended, *, verbose: bool = False) -> str:
    """What was learned, session by session, and what was not; with `verbose` why scopes were
    skipped.
    """
    report = done.extract
    lines = [line for session in report.sessions for line in _session_text(session)]
    skipped = {one.scope for session in report.sessions for one in session.skipped}
    if verbose:
        lines += dict.fromkeys(_skipped(session) for session in report.sessions if session.skipped)
    elif skipped:
        lines.append(f"{count(len(skipped), 'scope')} skipped: -v says which and why")
    if not report.sessions:
        lines.append("no new sessions of this repository")
    if report.more:
        number = count(len(report.more), "older session")
        named = "" if verbose else ", -v names them"
        lines.append(f"{number} not read: --all reads every one{named}")
        lines += [f"  {name}" for name in report.more[:MOST_LINES] if verbose]
    if done.reinforced:
        number = count(len(done.reinforced), "entry", "entries")
        lines.append(f"reinforced {number} that the sessions recalled")
    if done.compacted:
        merged = sorted(Counter(event.what for event in done.compacted).items())
        lines.append("compacted: " + ", ".join(f"{what} {number}" for what, number in merged))
    if report.sessions:
        lines.append(f"engine {report.engine}: {report.why}")
    return for_display("\n".join(lines))


def _session_text(session: Learned) -> list[str]:
    if session.note:
        return [f"{session.name}: {session.note}"]
    counts = Counter(event.what for event in session.events)
    said = [f"{number} {what}" for what, number in counts.items()]
    dropped = sum(session.dropped.values())
    said += [f"{dropped} dropped"] if dropped else []
    what = f"{session.name} ({session.format}, {count(session.turns, 'turn')})"
    lines = [f"{what}: {', '.join(said) or 'nothing learned'}"]
    lines += [f"  {_DONE[e.what]} {e.path}: {e.title} ({_tail(e)})" for e in session.events]
    lines += [f"  dropped {number}: {why}" for why, number in session.dropped.items()]
    lines += [f"  found, and over the most of a session: {title}" for title in session.more]
    return lines + [f"  not looked at: {what}" for what in session.cut]


def _skipped(session: Learned) -> str:
    """The scopes that had nothing to do, by reason: said once for sessions that are alike."""
    reasons: dict[str, list[str]] = {}
    for skipped in session.skipped:
        reasons.setdefault(skipped.why, []).append(skipped.scope)
    return "skipped: " + "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())


def _tail(event: Placed) -> str:
    return f"{event.scope}, id {event.id[:8]}" if event.id else event.scope


def moment_text(report: MomentReport) -> str:
    if report.what == "checkpoint":
        return f"noted in {report.path}"
    return f"wrote {report.path}: {count(report.risks, 'risk')}"

"""Output of `mem guard`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from memcli.views.text import in_one_line, place

if TYPE_CHECKING:
    from memcli.commands.guard import (
        GuardsReport,
        ListedGuard,
        ReplayedGuards,
        SetGuardReport,
        Suggested,
        SuggestReport,
        TryReport,
    )

EFFECTS = {"deny": "refuses", "ask": "asks", "": "stops nothing"}


def list_text(report: GuardsReport) -> str:
    """The guards in view, each with what it stops and where it is."""
    if not report.guards:
        return "no guards; mem guard --suggest lists lessons that could become guards"
    lines = [line for guard in report.guards for line in _listed(guard)]
    waiting = [
        guard
        for guard in report.guards
        if guard.mode == "deny" and guard.effect == "ask"
    ]
    if waiting:
        lines.append("they only ask until you trust them: mem guard --trust")
    return "\n".join(lines)


def _listed(guard: ListedGuard) -> list[str]:
    lines = [
        f"{EFFECTS[guard.effect]}: {in_one_line(guard.title)}"
        f" ({place(guard.place)}, {guard.trust}, id {guard.id[:8]})"
    ]
    lines += _pattern_lines(guard)
    if not guard.in_view:
        lifting = f"mem guard --off {guard.id[:8]}"
        lines.append(
            f"    its file is not in view; the guard applies until you run {lifting}"
        )
    if guard.stopped:
        lines.append(f"    stopped {guard.stopped}×, last {guard.last_stop}")
    lines += [f"    has no effect: {in_one_line(fault)}" for fault in guard.faults]
    return lines


def _pattern_lines(guard: ListedGuard | SetGuardReport | Suggested) -> list[str]:
    """A line each for its commands, its files, what it allows, and what of its text it
    does not cover."""
    patterns = {
        "commands": guard.commands,
        "paths": guard.paths,
        "unless": guard.unless,
        "does not stop": filter(None, (guard.missed,)),
    }
    told = {name: ", ".join(map(in_one_line, each)) for name, each in patterns.items()}
    return [f"    {name}: {texts}" for name, texts in told.items() if texts]


def set_text(report: SetGuardReport) -> str:
    """What was turned on or off."""
    title = in_one_line(report.title)
    if report.mode in ("off", "none"):
        done = "guard removed" if report.mode == "off" else "no guard to remove"
        return f"{done}: {title} ({place(report.place)})"
    verb = "denied" if report.mode == "deny" else "asked about"
    lines = [f"from now on {verb}: {title} ({place(report.place)}, id {report.id[:8]})"]
    lines += _pattern_lines(report)
    if report.closer:
        given = " ".join(f"--command {shlex.quote(each)}" for each in report.closer)
        narrow = f"mem guard {report.id[:8]} {given}"
        lines.append(
            f"these stop more than the rule forbids; to stop only that: {narrow}"
        )
    lines.append(f"to remove it: mem guard --off {report.id[:8]}")
    return "\n".join(lines)


def try_text(report: TryReport) -> str:
    """What would happen to a call."""
    call = in_one_line(report.call)
    if report.title is None:
        return f"allowed: no guard applies to {call}"
    title = in_one_line(report.title)
    if report.id is None:
        return f"asked about: {title}"
    where = f"{title} ({place(report.place or '')}, id {report.id[:8]})"
    if report.decision is None:
        allowed = in_one_line(report.unless or "")
        return f"allowed: {where} has the exception {allowed}"
    does = "refused" if report.decision == "deny" else "asked about"
    if not report.pattern:
        return f"{does}: {where}\n    {call} cannot be fully parsed"
    verb = "may change" if report.is_place else "is"
    return f"{does}: {where}\n    {call} {verb} {in_one_line(report.pattern)}"


def suggest_text(report: SuggestReport) -> str:
    """The lessons that could be guards, and the command that turns each on."""
    if not report.suggestions:
        return f"none of {report.lessons} lessons says clearly what it forbids"
    lines = []
    for suggested in report.suggestions:
        lines.append(f"{in_one_line(suggested.title)} ({place(suggested.place)})")
        lines += _pattern_lines(suggested)
        if suggested.stopped:
            shown = ", ".join(map(in_one_line, suggested.stopped[:3]))
            lines.append(f"    would have stopped {len(suggested.stopped)}: {shown}")
        lines.append(f"    mem guard {suggested.id[:8]}")
    return "\n".join(lines)


def replay_text(report: ReplayedGuards) -> str:
    """What the guards would have stopped."""
    if not report.calls:
        return "no recorded calls; mem index --history reads past sessions"
    lines = [
        f"{each.date[:10]} {each.handle} {each.decision}: {in_one_line(each.call)}"
        f" ({in_one_line(each.title)})"
        for each in report.stopped
    ]
    lines.append(f"{len(report.stopped)} of {report.calls} recorded calls")
    return "\n".join(lines)

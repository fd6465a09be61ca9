"""What a guard says when it stops a call, as one line."""

from memcli.guard.guards import DENY, Verdict
from memcli.text.controls import for_prompt

UNTRUSTED = (
    "it is to refuse, and asks because its words, as they are now, are not trusted on this"
    " machine; a person trusts them with: mem guard --trust"
)
LIFTED = "Only the person may do that: ask them first"


def reason(verdict: Verdict) -> str:
    """Title, place, what was met, what is allowed, and how a person lifts it. What
    comes from files stands in backticks."""
    guard = verdict.guard
    if not guard.entry:
        return f"mem: {guard.title}. {LIFTED}"
    says = "refuses" if verdict.mode == DENY else "asks about"
    parts = [
        f"mem guard {says} this: {quoted(guard.title)} ({guard.place})",
        met(verdict),
    ]
    if names := ", ".join(map(quoted, guard.allowed)):
        parts.append(f"allowed: {names}")
    is_untrusted = guard.mode == DENY != verdict.mode and not verdict.is_place
    if is_untrusted and verdict.pattern:
        parts.append(UNTRUSTED)
    parts.append(f"a person lifts it with: mem guard --off {guard.entry[:8]}")
    return "; ".join(parts)


def met(verdict: Verdict) -> str:
    """What of the call met the guard, or why it cannot be known whether any does."""
    if not verdict.pattern:
        return f"this call cannot be read to its end: {verdict.met}"
    name = verdict.met or "."  # the root itself
    verb = "is, or may hold," if verdict.is_place else "is"
    return f"{quoted(name)} {verb} {quoted(verdict.pattern)}"


def quoted(text: str) -> str:
    """A text of a file as one word of ours: safe, short, in backticks."""
    safe = " ".join(for_prompt(text).replace("`", "'").split())
    return f"`{safe[:200]}`"

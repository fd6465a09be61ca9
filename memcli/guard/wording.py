"""The one-line message of a guard that stops a call."""

from memcli.guard.guards import DENY, Verdict
from memcli.text.controls import for_prompt

UNTRUSTED = (
    "it is set to refuse, but only asks because its current text is not trusted on "
    "this machine; a person trusts it with: mem guard --trust"
)
LIFTED = "Only the person may do that: ask them first"


def reason(verdict: Verdict) -> str:
    """Title, place, the match, what is allowed, and how a person removes the guard.
    Text from files is put in backticks."""
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
    parts.append(f"a person removes it with: mem guard --off {guard.entry[:8]}")
    return "; ".join(parts)


def met(verdict: Verdict) -> str:
    """What in the call matched the guard, or why that cannot be known."""
    if not verdict.pattern:
        return f"this call cannot be fully parsed: {verdict.met}"
    name = verdict.met or "."  # the root itself
    verb = "is or may contain" if verdict.is_place else "is"
    return f"{quoted(name)} {verb} {quoted(verdict.pattern)}"


def quoted(text: str) -> str:
    """A text from a file, made safe, shortened and put in backticks."""
    safe = " ".join(for_prompt(text).replace("`", "'").split())
    return f"`{safe[:200]}`"

"""Whether a call takes from an agent's settings the hooks that judge it."""

from collections.abc import Mapping
from typing import Any

from memcli.sessions.foreseen import texts_after
from memcli.storage.files import Unreadable, read_file

HOOKED = (
    ".claude/settings.local.json",
    ".claude/settings.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
)
"""Settings of agents in which the hooks of a repository stand."""
_CALL = "hook pre-tool"


def loses_hooks(path: str, given: Mapping[str, Any]) -> bool:
    """Whether a file that a call changes has our hooks, and surely keeps them not."""
    try:
        before = read_file(path).data.decode("utf-8", "replace")
    except Unreadable:
        return False
    after = texts_after(before, given)
    is_kept = bool(after) and all(_CALL in text for text in after)
    return _CALL in before and not is_kept

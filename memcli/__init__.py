"""mem: the memory of coding agents, kept in markdown, found through SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memcli.api import Memory

__version__ = "0.1.0"
__all__ = ["Memory", "__version__"]


def __getattr__(name: str) -> Any:
    """`Memory`, imported when it is first asked for: the command line starts without it."""
    if name == "Memory":
        from memcli.api import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

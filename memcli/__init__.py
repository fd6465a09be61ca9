"""mem: the memory of coding agents, kept in markdown, found through SQLite."""

# Nothing is imported here: `python -m memcli` has the working directory first in its
# path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.api import Memory

__version__ = "0.1.0"
__all__ = ["Memory", "__version__"]


def __getattr__(name: str) -> object:
    """`Memory`, imported when it is first asked for: the command line starts without
    it."""
    if name == "Memory":
        from memcli.api import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

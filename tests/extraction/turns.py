"""Turns of sessions, as the tests of extraction build them."""

from memcli.sessions.model import Turn


def human(text: str, time: str = "") -> Turn:
    return Turn("user", text, "user", "u", time=time)


def agent(text: str, time: str = "") -> Turn:
    return Turn("assistant", text, "assistant", "a", time=time)


def call(tool: str, **given: str) -> Turn:
    return Turn("assistant", "", "assistant", "c", tool=tool, input=given, cwd="/repo")


def ran(command: str = "pytest", *, error: bool = False) -> list[Turn]:
    """A command and its result."""
    result = Turn("tool", "output", "tool:Bash", "r", tool="Bash", error=error)
    return [call("Bash", command=command), result]

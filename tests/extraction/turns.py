"""Turns of sessions, as the tests of extraction build them."""

from memcli.sessions.model import Turn


def human(text: str, time: str = "") -> Turn:
    return Turn(role="user", text=text, origin="user", key="u", time=time)


def agent(text: str, time: str = "") -> Turn:
    return Turn(role="assistant", text=text, origin="assistant", key="a", time=time)


def call(tool: str, **given: str) -> Turn:
    return Turn(
        role="assistant",
        text="",
        origin="assistant",
        key="c",
        tool=tool,
        input=given,
        cwd="/repo",
    )


def ran(command: str = "pytest", *, error: bool = False) -> list[Turn]:
    """A command and its result."""
    result = Turn(
        role="tool",
        text="output",
        origin="tool:Bash",
        key="r",
        tool="Bash",
        error=error,
    )
    return [call("Bash", command=command), result]

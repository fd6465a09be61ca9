"""Turns of sessions, as the tests of extraction build them."""

from memcli.sessions.model import Turn


def human(text, time=""):
    return Turn(role="user", text=text, origin="user", key="u", time=time)


def agent(text, time=""):
    return Turn(role="assistant", text=text, origin="assistant", key="a", time=time)


def call(tool, **given):
    return Turn(
        role="assistant",
        text="",
        origin="assistant",
        key="c",
        tool=tool,
        input=given,
        cwd="/repo",
    )


def ran(command="pytest", *, error=False):
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

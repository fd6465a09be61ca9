"""Send an answer that is longer than the terminal through the user's pager, as git
does."""

import os
import shlex
import signal
import sys

from memcli.project import git
from memcli.views.text import put

USUAL = "less"
LESS = "FRX"
"""The options of less when LESS is not set: quit if all fits, keep colours, do not
clear the screen."""


def put_paged(text: str) -> None:
    """Print an answer, through a pager if it does not fit the terminal."""
    command = _pager() if _is_too_long(text) else []
    if not command or not _page(command, text):
        put(text)


def _is_too_long(text: str) -> bool:
    if (
        sys.stdout is None
        or not sys.stdout.isatty()
        or os.environ.get("TERM") == "dumb"
    ):
        return False
    try:
        height = os.get_terminal_size(sys.stdout.fileno()).lines
    except (ValueError, OSError):
        return False
    return 0 < height <= text.count("\n") + 1


def _pager() -> list[str]:
    """GIT_PAGER, core.pager of the user's own git configuration (a repository must not
    name a program), PAGER, or less; empty for none and for cat."""
    named = os.environ.get("GIT_PAGER")
    if named is None:
        named = git.global_setting("core.pager")
    if named is None:
        named = os.environ.get("PAGER")
    try:
        words = shlex.split(USUAL if named is None else named)
    except ValueError:
        return []
    return [] if words == ["cat"] else words


def _page(command: list[str], text: str) -> bool:
    """Show a text in a pager; False if it cannot be started."""
    import subprocess

    environ = {"LESS": LESS, **os.environ}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pager handles Ctrl-C
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environ) as process:
            process.communicate(f"{text}\n".encode("utf-8", "replace"))
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True

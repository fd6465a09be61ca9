"""A real pseudo-terminal for programs that look where they print."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

_BAR = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\r\x1b\[1A\x1b\[2K", re.DOTALL)
"""A bar, from where the cursor is hidden to where it is shown and the line is gone."""


def read_terminal(command, cwd, *, env, width=0, talk=True, bars=False):
    """What a program prints on a terminal; without `talk`, what it says on stderr is
    left out.

    A bar of progress, which a slow machine draws, is left out as it is on the terminal,
    unless `bars` are asked for.

    With `width` the terminal has so many columns, and COLUMNS says nothing else."""
    main, side = pty.openpty()
    given = dict(os.environ)
    if width:
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        given.pop("COLUMNS", None)
    with subprocess.Popen(
        command,
        cwd=cwd,
        stdout=side,
        stderr=side if talk else subprocess.DEVNULL,
        env={**given, "TERM": "xterm", **env},
    ):
        os.close(side)
        parts = []
        try:
            while part := os.read(main, 65536):
                parts.append(part)
        except OSError:  # Linux reports the other end's close as EIO
            pass
    os.close(main)
    text = b"".join(parts).decode().replace("\r\n", "\n")
    return text if bars else _BAR.sub("", text)

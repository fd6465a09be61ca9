"""How much work something is, told so that a slow machine gives the same answer."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

# A hundred times what the longest of these needs on a slow machine.
ENDLESS = 60.0


def calls(action):
    """How many functions, of Python and of C, are called while an action runs."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def most_memory(folder, *words):
    """The exit code of a command line of `mem`, and the most kilobytes that it or a
    program of it held: of these alone, not of what other tests have started."""
    command = [sys.executable, "-m", "memcli", *words]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_maxrss


@contextmanager
def ends():
    """Fails when the block takes a minute of CPU: what grows with the square of such
    a text takes many, what grows with its length a fraction of a second."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < ENDLESS, f"{spent:.0f} s of CPU"

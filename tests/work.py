"""How much work something is, told so that a slow machine gives the same answer."""

import subprocess
import sys
import time
from contextlib import contextmanager

# A hundred times what the longest of these needs on a slow machine.
ENDLESS = 60.0
MOST_HELD = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


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
    # A child begins with the most that its parent ever held: a small one starts it.
    small = subprocess.run(
        [sys.executable, "-S", "-c", MOST_HELD, *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    code, most = map(int, small.stdout.split())
    return code, most


@contextmanager
def ends():
    """Fails when the block takes a minute of CPU: what grows with the square of such
    a text takes many, what grows with its length a fraction of a second."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < ENDLESS, f"{spent:.0f} s of CPU"

"""Command lines of mem in children that are forked, not started: quick, and easily
killed at a given step.

A child has everything imported already, so most of its time goes into the work itself.
Its writer tells every step (see `Workspace`): a child can be made to die at one of
them, or to note them all."""

import importlib
import json
import os
import pkgutil
import signal
import sys
from typing import NamedTuple

import memcli
from memcli.__main__ import _run
from memcli.storage import durable, workspace

HEAVY = (
    "memcli.providers.llm.anthropic",
    "memcli.cli.mcp",
    "memcli.postgres",
)


class Heard(NamedTuple):
    """The steps of an undisturbed run, and the texts of all files at the end of each of
    its writes."""

    steps: tuple[str, ...]
    states: tuple[dict[str, str], ...]


def load():
    for module in pkgutil.walk_packages(memcli.__path__, "memcli."):
        if not module.name.startswith(HEAVY) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def start(arguments, cwd, environ, said, *, stdin="", trace=None, last=None):
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _become(cwd, environ, said, stdin)
        if trace is not None:
            _listen(trace)
        code = _run(list(arguments))
        if last is not None:
            last()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:  # a traceback is what the drill is looking for
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
    finally:
        os._exit(code)


def _become(cwd, environ, said, stdin):
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    given = os.memfd_create("stdin")
    told = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(given, stdin.encode())
    os.lseek(given, 0, os.SEEK_SET)
    for fd, number in ((given, 0), (told, 1), (told, 2)):
        os.dup2(fd, number)
    sys.stdin = os.fdopen(0, "r", encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _listen(trace):
    workspace.Workspace.__init__.__kwdefaults__["trace"] = trace  # type: ignore[index]
    durable.silent = trace  # type: ignore[assignment]  # that of write_output


def dies_at(number):
    left = [number]

    def trace(_step):
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

    return trace


def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def listen(arguments, cwd, environ, said, *, stdin, look):
    steps = []
    states = []
    note = said.with_name("heard.json")

    def trace(step):
        steps.append(step)
        if step == "end":
            states.append(look())

    def last():
        note.write_text(json.dumps([steps, states]), encoding="utf-8")

    code = ended(
        start(arguments, cwd, environ, said, stdin=stdin, trace=trace, last=last)
    )
    heard = json.loads(note.read_text(encoding="utf-8"))
    note.unlink()
    return code, Heard(tuple(heard[0]), tuple(heard[1]))

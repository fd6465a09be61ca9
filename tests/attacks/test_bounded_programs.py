"""A program that is run says so much, for so long, with so much memory; a repository
makes git read nothing without an end."""

import os
import resource
import sys
import time

import pytest

from memcli.project import git
from memcli.storage.programs import Limits, Program, run
from tests.attacks.test_last_list import kept  # noqa: F401
from tests.work import most_memory

pytestmark = pytest.mark.process
MEMORY = 64 << 20


def program(code, **limits):
    """What becomes of a program in Python under these limits."""
    command = [sys.executable, "-S", "-c", code]
    wanted = Limits(**{"seconds": 20.0, **limits})  # type: ignore[arg-type]
    return run(Program(command, "/", dict(os.environ), given=b"x" * 200_000), wanted)


def test_what_a_program_says_comes_back():
    """With its exit code, also where it does not read its input."""
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    done = program(code)
    assert (done.code, done.output, done.errors) == (3, b"out\n", b"err\n")
    assert done.stopped == ""
    echo = program("import sys; sys.stdout.write(sys.stdin.read())")
    assert len(echo.output) == 200_000


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_says_too_much_is_ended(stream):
    """Also in its errors."""
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 9999)"
    done = program(code, most=1 << 20)
    assert done.stopped == "words"
    assert len(done.output + done.errors) < 3 << 20


def test_a_program_that_goes_on_is_ended():
    """Whether or not it holds what is read from open."""
    for code in (
        "input()\nwhile True: pass",
        "import os\nos.close(1)\nwhile True: pass",
    ):
        assert program(code, seconds=1.0).stopped == "time"


def test_git_waits_once_for_a_pipe(kept, monkeypatch):  # noqa: F811
    """Settings that include one hold up the first call; the others get little time."""
    kept.write("src/cart.py", "a\n")
    kept.commit("the cart in cents")
    os.mkfifo(kept.root / "pipe")
    kept.git("config", "include.path", str(kept.root / "pipe"))
    monkeypatch.setattr("memcli.storage.programs.HURRY", 0.1)
    asked = ["log", "-1"]
    assert git.run(asked, kept.root, 2).stderr.endswith("too much time")
    start = time.monotonic()
    assert git.run(asked, kept.root).returncode == 124
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("named", ["pipe", "{0}/pipe"])
def test_git_waits_for_no_list_of_ignored_files(kept, named):  # noqa: F811
    """A pipe is none; one that is a file is read."""
    os.mkfifo(kept.root / "pipe")
    kept.write("list", "*.log\n")
    asked = ["check-ignore", "-q", "--no-index", "--", "a.log"]
    kept.git("config", "core.excludesFile", named.format(kept.root))
    listed = ["ls-files", "--others", "--exclude-standard"]
    assert git.run(asked, kept.root, 2).returncode == 1
    assert "list" in git.run(listed, kept.root, 2).stdout
    kept.git("config", "core.excludesFile", "list")
    assert git.run(asked, kept.root, 2).returncode == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux bounds it")
def test_a_program_that_holds_too_much_is_refused_it():
    """It ends by its own fault; the machine keeps its memory."""
    done = program("input()\nx = b'x' * (1 << 30)", memory=MEMORY)
    assert done.code != 0
    assert b"MemoryError" in done.errors


def test_what_it_started_ends_with_it():
    """A child that keeps the pipe open holds nobody up."""
    code = (
        "import subprocess, sys; subprocess.Popen(['/bin/sleep', '60']); print('done')"
    )
    done = program(code, whole=True)
    assert (done.output, done.stopped) == (b"done\n", "")


FILES_OF_SETTINGS = (
    "blame.ignoreRevsFile",
    "diff.orderFile",
    "core.attributesFile",
    "core.excludesFile",
    "mailmap.file",
)


@pytest.mark.parametrize("is_pipe", [False, True])
@pytest.mark.parametrize("key", FILES_OF_SETTINGS)
def test_git_reads_no_file_that_its_settings_name(
    kept,  # noqa: F811
    key,
    is_pipe,
    tmp_path,
):
    """The line is told, and the files of the setting are not opened: none that has no
    end, nor one that is written to by nobody."""
    kept.write("src/cart.py", "a\nb\n")
    kept.commit("the cart in cents")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    kept.git("config", key, str(pipe) if is_pipe else "/dev/zero")
    start = time.monotonic()
    assert "the cart in cents" in kept.ok("why", "src/cart.py:1").out
    assert kept.mem("diff").code in (0, 1)
    assert time.monotonic() - start < 20


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux bounds it")
@pytest.mark.parametrize("where", ["ref", "alternates"])
def test_git_holds_no_more_than_its_share(kept, where, tmp_path):  # noqa: F811
    """Where it reads a device all the same, a gigabyte is the end of it."""
    kept.write("src/cart.py", "a\n")
    kept.commit("the cart in cents")
    if where == "ref":
        name = kept.git("symbolic-ref", "HEAD").strip()
        path = kept.root / ".git" / name
        path.unlink()
        os.symlink("/dev/zero", path)
    else:
        folder = tmp_path / "other/info"
        folder.mkdir(parents=True)
        os.symlink("/dev/zero", folder / "alternates")
        kept.write(".git/objects/info/alternates", f"{folder.parent}\n")
    code, largest = most_memory(kept.root, "why", "src/cart.py:1")
    assert code in (0, 1, 3)
    assert largest < 1400 * 1024  # KB; it was all there was

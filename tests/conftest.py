"""What every test stands on: a world of its own that cannot be left, and a project to
work in."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from memcli.app import App, Options
from memcli.memory.parser import parse
from memcli.memory.values import Entry

TODAY = "2026-11-21"
# A busy machine is no finding.
settings.register_profile(
    "mem", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("mem")
_LOOPBACK = ("127.", "::1", "localhost")


LONG = ("test_drills", "test_mutations", "test_scale")


def pytest_collection_modifyitems(items: list[pytest.Item]):
    """A test without a mark of its own is a unit test, unless it can start a process.

    What can: the fixture `project` (git, `mem` as a process), and a module that imports
    `subprocess` or what runs a program by it. Fuzz, drills and scale are long:
    `pytest -m ""` runs them, too."""
    for item in items:
        if item.path.parent.name == "fuzz" or item.path.stem in LONG:
            item.add_marker("long")
        if {"unit", "process", "long"} & {mark.name for mark in item.iter_markers()}:
            continue
        started = "project" in getattr(item, "fixturenames", ())
        module = vars(getattr(item, "module", None) or item)
        started = started or not {"subprocess", "finished"}.isdisjoint(module)
        item.add_marker("process" if started else "unit")


_unit = ""


def _refuse_processes(event: str, args: tuple[Any, ...]):
    if _unit and event in ("subprocess.Popen", "os.posix_spawn", "os.fork"):
        raise AssertionError(f"{_unit} is a unit test and starts a process: {args[:1]}")


sys.addaudithook(_refuse_processes)


@pytest.fixture(autouse=True)
def _no_process(request) -> Iterator[None]:
    """A unit test starts no process."""
    global _unit
    _unit = request.node.nodeid if request.node.get_closest_marker("unit") else ""
    yield
    _unit = ""


@pytest.fixture(scope="session")
def _worlds(tmp_path_factory) -> Iterator[Path]:
    """The folder that holds the world of every test."""
    tmp_path_factory.getbasetemp()  # before a world has a TMPDIR of its own
    folder = Path(tempfile.mkdtemp(prefix="mem-tests-"))
    folder.chmod(0o755)  # a database server runs as another user
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def world(_worlds, monkeypatch) -> Iterator[Path]:
    """No real home, configuration, state, cache or clock; nothing inherited from the
    caller."""
    folder = Path(tempfile.mkdtemp(dir=_worlds))
    folder.chmod(0o755)
    for name in list(os.environ):
        if name.startswith(("MEM_", "GIT_")):
            monkeypatch.delenv(name)
    for name in ("home", "cwd", "tmp"):
        (folder / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)  # asked anew
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("MEM_HOME", str(folder / "home"))
    for name in ("config", "state", "cache", "data"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(folder / name))
    monkeypatch.setenv(
        "PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    monkeypatch.setenv("MEM_NOW", TODAY)
    # a busy machine makes a test slow, never a hook silent; tests of the bound set it
    monkeypatch.setenv("MEM_HOOK_SECONDS", "600")
    monkeypatch.setenv("MEM_EMBEDDER", "none")  # the fixture `vectors` turns it on
    monkeypatch.chdir(folder / "cwd")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def vectors(monkeypatch):
    """The local embedder is on, as it is by default."""
    monkeypatch.delenv("MEM_EMBEDDER")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """A socket reaches loopback and the file system, nothing else; names are not looked
    up."""

    def guarded(name: str) -> Any:
        original = getattr(socket.socket, name)

        def call(self: socket.socket, *args: Any) -> Any:
            address = args[-1]
            if self.family != socket.AF_UNIX and not _near(address[0]):
                raise AssertionError(f"a test reached for the network: {address}")
            return original(self, *args)

        return call

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, guarded(name))
    looked_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        if not _near(host):
            raise AssertionError(f"a test looked up a name: {host}")
        return looked_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def _near(host: Any) -> bool:
    text = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    return text.startswith(_LOOPBACK)


class Result(NamedTuple):
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def hits(self) -> Any:
        return self.json["hits"]

    @property
    def titles(self) -> list[str]:
        return [hit["title"] for hit in self.hits]


class Project:
    """A git repository at `root`, a home folder beside it, and `mem` to run in it."""

    def __init__(self, root: Path, home: Path):
        self.root = root
        self.home = home
        self._made = 0

    # files

    @property
    def memory_file(self) -> Path:
        return self.root / "MEMORY.md"

    @property
    def index_file(self) -> Path:
        return self.root / ".memory.db"

    def write(
        self, relative: str, text: str | bytes, *, at: Path | None = None
    ) -> Path:
        """Write a file below the root; `~/…` is below the home folder."""
        path = at / relative if at else self.path_of(relative)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def path_of(self, relative: str) -> Path:
        """A path below the root; `~/…` is below the home folder."""
        if relative.startswith("~/"):
            return self.home / relative[2:]
        return self.root / relative

    def read(self, relative: str = "MEMORY.md") -> str:
        """The text of a file below the root."""
        return (self.root / relative).read_text()

    def data(self, relative: str = "MEMORY.md") -> bytes:
        """The bytes of a file below the root."""
        return (self.root / relative).read_bytes()

    def has(self, relative: str) -> bool:
        """Whether something is there, below the root."""
        return (self.root / relative).exists()

    def memory(self, *texts: str | bytes) -> Path:
        """Write `MEMORY.md`: these texts, one behind the other."""
        return self.write("MEMORY.md", texts[0] if len(texts) == 1 else "".join(texts))

    def remembers(self, *entry: str, **values: Any) -> Path:
        """Write a memory file that is one entry."""
        return self.memory(self.entry(*entry, **values))

    def entry(self, title: str = "", body: str = "A body.", **values: Any) -> str:
        """One entry: every key of the format's example, `values` over them, None for
        none."""
        self._made += 1
        number = uuid.UUID(
            bytes=hashlib.md5(str(self._made).encode()).digest(), version=4
        )
        keys = {
            "id": str(number), "type": "procedural", "domain": "team", "importance": 0.5, "phase": "unknown",
            "status": "active", "reinforcement_count": 0, "created_at": "2026-11-01", **values,
        }  # fmt: skip
        lines = [
            f"{key}: {_yaml(value)}" for key, value in keys.items() if value is not None
        ]
        heading = f"## {title or f'Entry {self._made}'}"
        return "\n".join(["---", *lines, "---", heading, body, "", ""])

    # programs

    def mem(
        self,
        *args: str,
        input: str | bytes | None = None,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command line in this process."""
        from memcli.cli.program import run

        given = input.encode() if isinstance(input, str) else input or b""
        streams = [
            io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
            for data in (given, b"", b"")
        ]
        kept = (sys.stdin, sys.stdout, sys.stderr)
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd or self.root):
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            sys.stdin, sys.stdout, sys.stderr = streams
            try:
                code = run(list(args))
            finally:
                sys.stdin, sys.stdout, sys.stderr = kept
        return Result(code, _written(streams[1]), _written(streams[2]))

    def ok(self, *args: str, **how: Any) -> Result:
        """Run a command line in this process that has to succeed."""
        return self.ends(0, *args, **how)

    def ends(self, code: int, *args: str, **how: Any) -> Result:
        """Run a command line in this process that has to end with this code."""
        done = self.mem(*args, **how)
        assert done.code == code, done.err
        return done

    def listed(self, *args: str, **how: Any) -> Any:
        """The rows of `mem list`."""
        return self.mem("list", "--json", *args, **how).json["entries"]

    def checks(self, *args: str, **how: Any) -> Any:
        """The rows of `mem doctor`."""
        return self.mem("doctor", "--json", *args, **how).json["checks"]

    def entries(self, name: str = "MEMORY.md") -> tuple[Entry, ...]:
        """The entries of a file; `~/…` is below the home folder."""
        path = self.path_of(name)
        return parse(path.read_bytes().decode(), name).entries if path.exists() else ()

    def app(self) -> App:
        """What a command reaches the outside through here."""
        return App(Options(root=str(self.root)), os.environ, self.root)

    def shell(
        self,
        *args: str,
        input: str | bytes | None = None,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command line as a process of its own."""
        return self._started([], args, input, cwd, env)

    def hook(self, event: str, session: str = "s", **said: Any) -> Result:
        """Call a hook here as an agent does, as a process of its own."""
        payload = {"session_id": session, "cwd": str(self.root), **said}
        return self.shell("hook", event, input=json.dumps(payload))

    def powerless(self, *args: str, env: Mapping[str, str] | None = None) -> Result:
        """Run a command line as a process that permissions hold for, even when root
        runs the tests."""
        if os.getuid() != 0:
            return self.shell(*args, env=env)
        if not shutil.which("setpriv"):
            pytest.skip("root needs setpriv to give its power up")
        capabilities = "-dac_override,-dac_read_search"
        before = [
            "setpriv",
            f"--bounding-set={capabilities}",
            f"--inh-caps={capabilities}",
        ]
        return self._started(before, args, None, None, env)

    def _started(
        self,
        before: list[str],
        args: tuple[str, ...],
        input: str | bytes | None,
        cwd: Path | str | None,
        env: Mapping[str, str] | None,
    ) -> Result:
        done = subprocess.run(
            [*before, sys.executable, "-m", "memcli", *args],
            input=input.encode() if isinstance(input, str) else input or b"",
            cwd=cwd or self.root,
            env={**os.environ, **(env or {})},
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """Run git at the root (or in `cwd`); its output."""
        command = ["git", "-c", "protocol.file.allow=always", *args]
        done = subprocess.run(
            command, cwd=cwd or self.root, capture_output=True, check=False
        )
        assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr!r}"
        return os.fsdecode(done.stdout)

    def commit(self, message: str = "All of it", *, cwd: Path | None = None):
        """Commit everything."""
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "--allow-empty", "-m", message, cwd=cwd)

    def moves(self, old: str, new: str):
        """Commit a move."""
        self.git("mv", old, new)
        self.commit("moved")

    def drops(self, *paths: str):
        """Commit the tree without these."""
        self.git("rm", "-qr", *paths)
        self.commit("gone")


def _yaml(value: Any) -> str:
    if isinstance(value, str):
        return (
            value
            if value[:1].isalpha() and value.replace("-", "").isalnum()
            else json.dumps(value)
        )
    return json.dumps(value, ensure_ascii=False)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def _empty_repository(_worlds) -> Path:
    """A git repository without a commit, made once and copied for each test."""
    folder = _worlds / "empty"
    folder.mkdir()
    made = Project(folder, folder)
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.name", "Test")
    made.git("config", "user.email", "test@example.org")
    return folder


@pytest.fixture
def project(tmp_path, world, _empty_repository) -> Project:
    """A fresh git repository, without a commit."""
    root = tmp_path / "repo"
    shutil.copytree(_empty_repository, root)
    (world / "home" / ".gitconfig").write_text(
        "[init]\n\tdefaultBranch = main\n[user]\n\tname = T\n\temail = t@e.org\n"
    )
    return Project(root, world / "home")

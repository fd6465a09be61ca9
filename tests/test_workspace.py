"""Writes are proved with real files, real processes, real signals and real full disks."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.errors import DataError, RefusedError, UsageError
from memcli.model import Patch
from memcli.workspace import StaleError, Workspace, silent, write_output

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STEPS = ["lock", "temp", "fsync", "journal", "commit", "rename", "sync", "done", "end"]


class House:
    """A tree and a state folder beside it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.state = folder / "state"
        self.root.mkdir()

    def workspace(self, trace: Callable[[str], None] = silent, root: Path | None = None) -> Workspace:
        return Workspace(root or self.root, self.state, NOW, allowed=[self.root], trace=trace)

    def path(self, name: str) -> Path:
        return self.root / name

    def put(self, name: str, data: bytes) -> Path:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_bytes(data)
        return self.path(name)

    def patch(self, name: str, after: str | None) -> Patch:
        path = self.path(name)
        before = path.read_bytes().decode() if path.exists() else None
        return Patch(str(path), before, after)

    def listing(self) -> dict[str, bytes | None]:
        """Everything in the tree, directories too: whatever else is there is litter."""
        return {
            str(path.relative_to(self.root)): path.read_bytes() if path.is_file() else None
            for path in sorted(self.root.rglob("*"))
        }

    def records(self) -> list[Path]:
        return sorted(self.state.glob("undo/*/*.json"))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def at(step: str, act: Callable[[], None], nth: int = 1) -> Callable[[str], None]:
    """A trace that acts when `step` comes for the nth time."""
    left = nth

    def trace(name: str) -> None:
        nonlocal left
        left -= name == step
        if name == step and left == 0:
            act()

    return trace


def fail(number: int = errno.ENOSPC) -> Callable[[], None]:
    def act() -> None:
        raise OSError(number, os.strerror(number))

    return act


@contextmanager
def child(work: Callable[[], None]) -> Iterator[int]:
    """A real process that does `work` and exits 0, 1 when it raises."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        os.waitpid(pid, 0)


def killed_at(house: House, patches: list[Patch], step: str, nth: int = 1) -> bool:
    """Write in a child that is killed by SIGKILL at a step; whether it got there."""

    def work() -> None:
        house.workspace(at(step, lambda: os.kill(os.getpid(), signal.SIGKILL), nth)).write(patches, "compact")

    with child(work) as pid:
        _, status = os.waitpid(pid, os.WNOWAIT) if False else os.waitpid(pid, 0)
        house_status = status
        os_fork_again = os.fork()
        if os_fork_again == 0:
            os._exit(0)
        pid = os_fork_again
    return os.WIFSIGNALED(house_status)

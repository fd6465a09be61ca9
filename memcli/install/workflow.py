"""The workflow that compacts memory in CI, and how it installs this program."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from pathlib import Path

from memcli.install.repository import TEMPLATES
from memcli.install.targets import Left, Target

WORKFLOW = ".github/workflows/mem.yml"


def target(top: Path, spec: str) -> Target:
    """The workflow file; `spec` is what pip is to install there."""
    next = (
        f"commit {WORKFLOW}; for a protected branch, allow Actions to create pull requests"
        " (GitHub, settings)"
    )
    put = partial(_with_workflow, spec=spec)
    return Target(top / WORKFLOW, put, _without_workflow, (top,), "compaction in CI", next)


def text(spec: str) -> str:
    """The workflow file: its first line tells whether it was changed since."""
    body = _template("ci.yml").replace("@SPEC@", "'" + spec.replace("'", "'\\''") + "'")
    for name in ("compact", "diff"):
        script = _template(f"{name}.sh").rstrip("\n").replace("\n", "\n          ")
        body = body.replace(f"@{name.upper()}@", re.sub(r"(?m)^ +$", "", script))
    return f"{_stamp(body)}\n{body}"


def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _stamp(body: str) -> str:
    return f"# mem: written by mem init --ci {hashlib.sha256(body.encode()).hexdigest()[:12]}"


def _with_workflow(old: str | None, spec: str) -> str:
    if old is not None and not _is_untouched(old):
        raise Left("not written by mem, or changed since: left as it is")
    new = text(spec)
    return old if old is not None and old.replace("\r\n", "\n") == new else new


def _without_workflow(old: str) -> str | None:
    if _is_untouched(old):
        return None
    if old.startswith(_stamp("")[:-12]):
        raise Left("changed by hand: left as it is")
    return old


def _is_untouched(old: str) -> bool:
    first, _, rest = old.replace("\r\n", "\n").partition("\n")
    return first == _stamp(rest)

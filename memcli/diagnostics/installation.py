"""Root, configuration, memory in sum, the state folder and the versions."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator

from memcli import __version__
from memcli.diagnostics.document import FAIL, INFO, PASS, WARN, Check
from memcli.diagnostics.scene import Scene, count
from memcli.errors import RefusedError
from memcli.index.database import IN_MEMORY, Index
from memcli.providers.embed.wire import shown
from memcli.storage import folders


def check_root(scene: Scene) -> Iterator[Check]:
    """Where the root is, and whether it can be written."""
    root = scene.app.project.root
    if root is None:
        hint = "run it inside a repository, or name one with --root"
        yield Check("root", INFO, "no project here: the global level alone is in view", hint)
    elif not os.access(root, os.W_OK):
        hint = "make it writable to add memory; recall works without"
        yield Check("root", WARN, "the root cannot be written", hint, str(root))
    else:
        yield Check("root", PASS, str(root))


def check_configuration(scene: Scene) -> Iterator[Check]:
    """Faults of the configuration; each setting that is no default, with its origin."""
    settings = scene.app.project.settings
    for fault in settings.faults:
        path, line = _where(fault.where)
        yield Check("configuration", FAIL, _without_value(fault.what), fault.hint, path, line)
    if not settings.faults:
        yield Check("configuration", PASS, "every key is known and allowed")
    for key, origin in settings.origins.items():
        if origin != "default":
            value = getattr(settings.config, key)
            value = shown(value) if key in ("embed_url", "store_url") else value
            yield Check("setting", INFO, f"{key} = {_plain(value)} ({origin})")


def _where(where: str) -> tuple[str, int]:
    found = re.fullmatch(r"(.*):(\d+)", where, re.DOTALL)
    return (found[1], int(found[2])) if found else (where, 0)


def _without_value(what: str) -> str:
    """A fault without the value: it may be a secret cut short, which nothing would recognise."""
    return re.sub(
        r"\A(\w+) = .* cannot be used\Z", r"the value of \1 cannot be used", what, flags=re.DOTALL
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check_memory(scene: Scene) -> Iterator[Check]:
    """How much memory there is."""
    files, entries = len(scene.documents), sum(len(d.memory.entries) for d in scene.documents)
    if files:
        yield Check(
            "memory", PASS, f"{count(entries, 'entry', 'entries')} in {count(files, 'file')}"
        )
    elif not scene.unreadable:
        hint = (
            "mem init"
            if scene.app.project.root is not None
            else 'mem add --level global "what you learned"'
        )
        yield Check("memory", INFO, "there is no memory here yet", hint)


def check_state(scene: Scene) -> Iterator[Check]:
    """Whether the history can be opened, and its folder written."""
    folder = folders.state_dir()
    path = folder / "state.db"
    if not os.access(next(p for p in (folder, *folder.parents) if p.exists()), os.W_OK):
        hint = "make it writable: without it nothing can be written or undone"
        yield Check("state", WARN, "the state folder cannot be written", hint, str(folder))
    elif not path.exists():
        yield Check("state", INFO, "no history yet", path=str(path))
    else:
        try:
            with scene.app.state() as opened:
                _ = opened.db  # a damaged one has a row of its own, beside the hooks
        except RefusedError:
            return
        size = f"{path.stat().st_size / 1e6:.1f} MB"
        yield Check("state", INFO, f"history of recalls, {size}", "", str(path))


def check_versions(scene: Scene) -> Iterator[Check]:
    """An index is made in memory to see that FTS5 is there."""
    versions = f"mem {__version__}, Python {platform.python_version()}"
    index = Index(IN_MEMORY, [])
    try:
        yield Check("versions", INFO, f"{versions}, SQLite {index.engine} with FTS5")
    finally:
        index.close()

"""Root, configuration, state, providers, what was left behind, and versions."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

from memcli import __version__
from memcli.app import App
from memcli.diagnostics.index import check_vectors
from memcli.diagnostics.scene import FAIL, INFO, PASS, WARN, Check, Scene, count, shown_name
from memcli.errors import MemError, RefusedError
from memcli.index.database import IN_MEMORY, Index
from memcli.project import distribution
from memcli.providers.embed.wire import shown
from memcli.storage import durable, folders
from memcli.storage.files import Unreadable, read_file


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


def check_leftovers(scene: Scene) -> Iterator[Check]:
    """Interrupted writes, and temporary files whose writer is no more."""
    journals, temps = unfinished(scene.app), abandoned(scene.app)
    for journal in journals:
        what = "a write was interrupted"
        yield Check(
            "leftovers", WARN, what, "mem doctor --fix (so does the next write)", str(journal)
        )
    for temp in temps:
        what = "a temporary file was left behind"
        yield Check("leftovers", WARN, what, "mem doctor --fix", shown_name(scene.app, temp))
    if not journals and not temps:
        yield Check("leftovers", PASS, "no interrupted write")


def unfinished(app: App) -> list[Path]:
    """Journals of this root, and those that nobody can read."""
    own = str(app.project.root.resolve()) if app.project.root else ""
    folder = folders.state_dir() / "pending"
    return [path for path in sorted(folder.glob("*.json")) if _journal_root(path) in (own, None)]


def _journal_root(path: Path) -> str | None:
    try:
        return str(json.loads(read_file(path).data)["root"])
    except (Unreadable, ValueError, KeyError, TypeError):
        return None


def abandoned(app: App) -> list[str]:
    """Temporary files beside memory files whose writer is no more."""
    folders = dict.fromkeys(os.path.dirname(file.path) for file in app.project.listing.files)
    folders |= dict.fromkeys(
        str(folder) for folder in (app.project.root, app.project.home) if folder is not None
    )
    return [
        os.path.join(folder, name)
        for folder in folders
        for name in _names(folder)
        if durable.is_stale(name)
    ]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


ASKED_FOR = 3.0
"""Seconds that an embedder has to answer."""


def check_embedder(scene: Scene) -> Iterator[Check]:
    """Which embedder there is, whether it answers, and whether the index has its vectors."""
    from memcli.providers.embed.local import Local

    app = scene.app
    try:
        embedder = app.providers.embedder
    except MemError as error:
        yield Check("embedder", FAIL, error.what, error.hint)
        return
    if embedder is None:
        yield _sparse(scene)
        return
    name = f"{embedder.provider}/{embedder.model}"
    where = f" at {shown(app.project.config.embed_url)}" if app.project.config.embed_url else ""
    try:
        if isinstance(embedder, Local):
            embedder.words(["mem"])  # without numpy, as in a recall
        else:
            embedder.embed(["mem"], query=True, deadline=ASKED_FOR)
    except MemError as error:
        yield Check("embedder", FAIL, f"{name}{where} does not answer: {error.what}", error.hint)
    else:
        yield Check("embedder", PASS, f"{name}{where}")
    yield from check_vectors(scene, name)


def _sparse(scene: Scene) -> Check:
    """No embedder: by choice, or because none is installed."""
    if scene.app.project.config.embedder == "none":
        return Check("embedder", INFO, "switched off (embedder = none): words alone are searched")
    what = "sparse-only: no embedder is installed, words alone are searched"
    return Check("embedder", WARN, what, f"{distribution.hint('local')}, or set embedder = none")


def check_llm(scene: Scene) -> Iterator[Check]:
    """A key in the environment; with `--online`, whether the model answers."""
    environ, config = scene.app.project.environ, scene.app.project.config
    if environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN"):
        hint = "" if scene.online or config.llm == "none" else "mem doctor --online asks it once"
        what = f"an Anthropic API key is in the environment (never shown); llm = {config.llm}"
        yield Check("llm", INFO, what, hint)
    if scene.online:
        yield _llm_asked(scene.app)


def _llm_asked(app: App) -> Check:
    """Whether the configured language model answers."""
    from memcli.providers.llm import Ask

    name = app.project.config.llm
    try:
        model = app.providers.model
        if model is None:
            return Check("llm", INFO, "llm = none: there is no language model to ask")
        model.ask(
            Ask("Answer in one word.", "Say yes.", max_tokens=1000, purpose="doctor", timeout=30)
        )
    except MemError as error:
        return Check("llm", FAIL, error.what, error.hint)
    asked = name if name == "scripted" else f"{name} ({app.project.config.model})"
    return Check("llm", PASS, f"llm = {asked} answers")

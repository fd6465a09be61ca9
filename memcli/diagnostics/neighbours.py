"""Other memory of agents that lies beside this one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.document import INFO, Check
from memcli.diagnostics.scene import Scene, count
from memcli.project import places
from memcli.storage.files import Unreadable, read_file


def check_found(scene: Scene) -> Iterator[Check]:
    """What lies in found places, and what looks like memory and is not in view."""
    app = scene.app
    found = sum(file.found for file in app.project.listing.files)
    if found:
        what = f"{count(found, 'file')} that people or other tools keep, in view as they are"
        yield Check("found", INFO, what)
    if app.project.root is not None and (
        more := places.others(app.project.root, app.project.listing)
    ):
        what = "looks like memory and is not in view: " + ", ".join(more[:20])
        yield Check("found", INFO, what, f"in .mem.toml: {places.line_for(more)}")


def check_other_memory(scene: Scene) -> Iterator[Check]:
    """Other memory that lies beside this one."""
    app = scene.app
    for path in _claude_files(app):
        yield from _claude_memory(path)
    for folder, name, what in _NEIGHBOURS:
        base = app.project.home if folder == "~" else app.project.root
        if base is not None and (base / name).exists():
            yield Check("other-memory", INFO, what, path=f"{folder}/{name}".removeprefix("./"))


_NEIGHBOURS = (
    (".", ".memsearch", "memsearch keeps memory here, too"),
    ("~", ".memsearch", "memsearch keeps memory, too"),
    ("~", ".claude-mem", "claude-mem keeps memory, too"),
    (".", ".basic-memory", "basic-memory keeps memory here, too"),
    ("~", ".basic-memory", "basic-memory keeps memory, too"),
    (".", "CLAUDE.md", "Claude Code reads it in every session"),
    (".", "AGENTS.md", "agents read it in every session"),
)
CLAUDE_LINES, CLAUDE_BYTES = 200, 25_000
"""How much of its MEMORY.md Claude Code reads."""


def _claude_files(app: App) -> list[Path]:
    if app.project.root is None:
        return []
    folders = places.claude_folders(app.project.root, app.project.home, app.project.environ)
    return [folder / "MEMORY.md" for folder in folders]


def _claude_memory(path: Path) -> Iterator[Check]:
    try:
        data = read_file(path).data
    except Unreadable:
        return
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    what = f"Claude Code keeps auto memory, too: {count(lines, 'line')}, {len(data) / 1000:.1f} KB"
    over = lines > CLAUDE_LINES or len(data) > CLAUDE_BYTES
    hint = "Claude Code reads its first 200 lines or 25 KB only: shorten it" if over else ""
    yield Check("other-memory", INFO, what, hint, str(path))

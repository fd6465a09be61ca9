"""What a power cut needs: contents on disk before they get their name, names on disk
before what follows.

The calls are the real ones; they are only listened to."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.memory.values import Patch
from memcli.storage.durable import MARK, write_output
from memcli.storage.workspace import Workspace

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def heard(monkeypatch):
    """Every fsync (of what) and rename (from where, to where), in order."""
    calls = []
    fsync = os.fsync
    replace = os.replace

    def listen_to_fsync(fd):
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        calls.append(("fsync", path, path))
        fsync(fd)

    def listen_to_replace(source, target):
        calls.append(("rename", Path(source), Path(target)))
        replace(source, target)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to tell which file is meant")
    monkeypatch.setattr(os, "fsync", listen_to_fsync)
    monkeypatch.setattr(os, "replace", listen_to_replace)
    return calls


def at(heard, wanted, path):
    """When it first happened to a path."""
    return next(
        number
        for number, (call, _, target) in enumerate(heard)
        if (call, target) == (wanted, path)
    )


def written(folder):
    """Two patches, of a memory file and its archive, after they were written."""
    root = folder / "tree"
    root.mkdir()
    patches = [
        Patch(str(root / name), None, f"new {name}\n")
        for name in ("MEMORY.md", "MEMORY.archive.md")
    ]
    Workspace(root, folder / "state", NOW, allowed=[folder]).write(patches, "compact")
    return patches


def test_a_file_is_on_disk_before_it_gets_its_name(tmp_path, heard):
    """Renaming what is only in memory could leave an empty file under the name of a
    full one."""
    written(tmp_path)
    renames = [
        (i, source)
        for i, (call, source, _) in enumerate(heard)
        if call == "rename" and MARK in str(source)
    ]
    assert len(renames) == 3  # the journal and two files
    for i, source in renames:
        assert ("fsync", source, source) in heard[:i], (
            f"{source.name} was renamed first"
        )


def test_the_journal_has_its_name_on_disk_before_any_file_changes(tmp_path, heard):
    """Otherwise a cut could leave half of a write that nothing knows of."""
    patches = written(tmp_path)
    pending = tmp_path / "state" / "pending"
    first = min(at(heard, "rename", Path(patch.path)) for patch in patches)
    journal = next(
        number
        for number, (call, _, target) in enumerate(heard)
        if call == "rename" and target.parent == pending
    )
    assert journal < at(heard, "fsync", pending) < first


def test_an_archive_has_its_name_on_disk_before_its_source_shrinks(tmp_path, heard):
    """What leaves a file must not be in neither place."""
    memory, archive = (Path(patch.path) for patch in written(tmp_path))
    folder = heard.index(("fsync", memory.parent, memory.parent))
    assert at(heard, "rename", archive) < folder < at(heard, "rename", memory)


def test_when_a_write_returns_all_names_are_on_disk(tmp_path, heard):
    """The folder is synchronised after the last rename in it, for an output file,
    too."""
    memory, _ = (Path(patch.path) for patch in written(tmp_path))
    assert ("fsync", memory.parent, memory.parent) in heard[
        at(heard, "rename", memory) :
    ]
    heard.clear()
    write_output(tmp_path / "out.txt", "text\n")
    assert [(call, target) for call, _, target in heard][1:] == [
        ("rename", tmp_path / "out.txt"),
        ("fsync", tmp_path),
    ]
    assert heard[0][0] == "fsync" and MARK in heard[0][1].name

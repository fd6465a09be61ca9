"""What lies in a repository is read through one door: regular, bounded, and never out of the root."""

import os
from pathlib import Path

import pytest

from memcli.storage import files
from memcli.storage.files import Unreadable, read_file, read_text

pytestmark = pytest.mark.unit


def test_a_sparse_file_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with path.open("wb") as file:
        file.truncate(files.MEMORY_BYTES + 1)
    with pytest.raises(Unreadable, match="longer than 16 MB"):
        read_file(path, tmp_path)
    with path.open("wb") as file:
        file.truncate(files.MEMORY_BYTES)
    assert len(read_file(path, tmp_path).data) == files.MEMORY_BYTES
    with pytest.raises(Unreadable, match="longer than 1 MB"):
        read_file(path, tmp_path, most=files.SMALL_BYTES)


@pytest.mark.parametrize("inside", [True, False])
def test_pipes_devices_and_folders_are_no_files(tmp_path: Path, inside: bool) -> None:
    """Nobody writes to the pipe: whoever opens it plainly waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "null"):
        with pytest.raises(Unreadable):
            read_file(tmp_path / name, tmp_path if inside else "")


def test_links_may_not_leave_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "real/a.md").write_text("in")
    (tmp_path / "a.md").write_text("out")
    for name, goal in (
        ("in.md", "real/a.md"),
        ("out.md", "../a.md"),
        ("folder", "real"),
        ("up", ".."),
        ("loop.md", "loop.md"),
    ):
        (root / name).symlink_to(goal)
    assert [read_text(root / name, root) for name in ("in.md", "folder/a.md")] == ["in", "in"]
    for name in ("out.md", "up/a.md", "loop.md", "../a.md", "real/../../a.md"):
        with pytest.raises(Unreadable):
            read_text(root / name, root)
    assert read_text(root / "out.md") == "out"  # named by the user

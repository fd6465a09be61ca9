"""What lies in a repository is read through one door: regular, bounded, and never out
of the root."""

import pytest

from memcli.storage import files
from memcli.storage.files import Unreadable, read_file

pytestmark = pytest.mark.unit


def test_a_sparse_file_is_refused_by_its_size(tmp_path):
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

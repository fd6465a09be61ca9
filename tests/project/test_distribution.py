"""How to install more, from how this installation came to be."""

import shlex
import sys

import pytest

from memcli.errors import UsageError
from memcli.project import distribution

GIT = {
    "url": "https://example.org/o/r",
    "vcs_info": {"vcs": "git", "commit_id": "0123abc", "requested_revision": "main"},
}


def came_from(monkeypatch, record):
    monkeypatch.setattr(distribution, "_direct_url", lambda: record)


def test_an_address_keeps_its_commit(monkeypatch, tmp_path):
    """Of a repository the very commit, for hints and for CI."""
    came_from(monkeypatch, GIT)
    name = distribution.NAME
    assert (
        distribution.requirement("local")
        == f"{name}[local] @ git+https://example.org/o/r@0123abc"
    )
    assert (
        distribution.for_ci(tmp_path) == f"{name} @ git+https://example.org/o/r@0123abc"
    )
    came_from(monkeypatch, {"url": "https://example.org/m.whl", "archive_info": {}})
    assert distribution.requirement() == f"{name} @ https://example.org/m.whl"
    came_from(monkeypatch, {**GIT, "url": "file:///src/mem"})  # what CI does not have
    with pytest.raises(UsageError, match="installed from this machine"):
        distribution.for_ci(tmp_path)


def test_a_folder_is_named(monkeypatch, tmp_path):
    """Editable or not; CI can have it when it lies in the repository."""
    folder = tmp_path / "repo" / "tools" / "a b"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    came_from(monkeypatch, {"url": folder.as_uri(), "dir_info": {"editable": True}})
    assert distribution.requirement("mcp") == f"{folder}[mcp]"
    assert distribution.for_ci(tmp_path / "repo") == "./tools/a b"
    with pytest.raises(UsageError, match="installed from this machine") as caught:
        distribution.for_ci(tmp_path / "elsewhere")
    assert "--from" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("mark", "start"), [("uv-receipt.toml", "uv tool install --force "),
                        ("pipx_metadata.json", "pipx install --force ")])  # fmt: skip
def test_the_installer_is_the_one_that_did_it(monkeypatch, tmp_path, mark, start):
    """uv and pipx leave a file in the environment; else it is pip, or uv where there is
    no pip."""
    came_from(monkeypatch, GIT)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    usual = distribution.hint("local")
    assert shlex.split(usual)[-1] == distribution.requirement("local")
    assert sys.executable in usual
    (tmp_path / mark).touch()
    assert distribution.hint("local").startswith(start)

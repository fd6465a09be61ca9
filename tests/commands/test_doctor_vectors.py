"""mem doctor on embedders and vectors: what is off, what fails, what is missing, and
the way out."""

import os
import socket
import sqlite3
from contextlib import closing

import pytest

from memcli.index import whole
from memcli.providers.embed import http
from tests.providers.embed.server import HANG, openai, serving


def row(project, name, env=None):
    found = project.mem("doctor", "--json", env=env)
    (row,) = [row for row in found.json["checks"] if row["name"] == name]
    assert found.code == (1 if row["status"] == "FAIL" else 0)
    return dict(row)


def vectors_of(project, statement):
    """Change the index as `mem` would."""
    path = project.index_file
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)
        whole.note(database, path)


@pytest.fixture
def filled(project, vectors):
    project.memory(
        project.entry("Zebra", "stripes", id="z"), project.entry("Lion", "mane")
    )
    project.ok("index")
    return project


def test_vectors_of_another_model_fail(filled):
    """Until mem index makes them again."""
    vectors_of(
        filled,
        "UPDATE meta SET value = replace(value, 'mem-256', 'other') WHERE key = 'vectors'",
    )
    found = row(filled, "vectors")
    assert "local/other-2" in found["detail"]
    assert "mem index" in found["hint"]
    assert found["status"] == "FAIL"
    filled.mem("index")
    assert row(filled, "vectors")["status"] == "PASS"
    vectors_of(filled, "DELETE FROM vectors")
    assert row(filled, "vectors")["status"] == "INFO"  # the next recall makes them


def provider(url):
    return {
        "MEM_EMBEDDER": "openai-compatible",
        "MEM_EMBED_URL": url,
        "MEM_EMBED_MODEL": "m",
    }


# A call that is given up leaves its socket to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_provider_that_fails_is_a_failure(project, monkeypatch):
    """One that is down, one that never answers, one without a key or a URL."""
    monkeypatch.setattr("memcli.diagnostics.index.ASKED_FOR", 0.3)
    monkeypatch.setattr(http, "PAUSE", 0.0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{unused.getsockname()[1]}"
    assert row(project, "embedder", provider(down))["status"] == "FAIL"
    with serving(openai) as server:
        server.answers = [HANG] * 9
        assert (
            "does not answer"
            in row(project, "embedder", provider(server.url))["detail"]
        )
    assert "OPENAI_API_KEY" not in os.environ
    found = row(project, "embedder", {"MEM_EMBEDDER": "openai"})
    assert found["status"] == "FAIL"
    assert "OPENAI_API_KEY" in found["detail"]

"""The shared index with an embedder behind a URL: one that speaks as OpenAI does, on
loopback."""

import pytest

from tests.postgres.conftest import found, push, scores
from tests.providers.embed.server import openai, serving


def name(server, model="m"):
    """What tells its vectors apart: a server of one's own is part of the name of the
    model."""
    return f"openai-compatible/{model} at {server.url}"


@pytest.fixture
def embedding(monkeypatch):
    """The embedder of these tests, configured in the environment; vectors of four
    numbers."""
    with serving(openai) as server:
        monkeypatch.setenv("MEM_EMBEDDER", "openai-compatible")
        monkeypatch.setenv("MEM_EMBED_MODEL", "m")
        monkeypatch.setenv("MEM_EMBED_URL", server.url)
        yield server


@pytest.fixture
def pushed(project, shared, embedding):
    """A project with three entries in the shared index, with vectors of the server."""
    texts = (
        ("Herds", "zebra crossing"),
        ("Birds", "heron by the water"),
        ("Fish", "a lonely pike"),
    )
    project.memory(*(project.entry(title, body) for title, body in texts))
    push(project)
    return project


def test_vectors_of_a_provider_are_pushed_and_compared(pushed, shared, embedding):
    """Each text is paid for once; a recall sends the task alone and ranks as the local
    one does."""
    assert shared.rows("SELECT DISTINCT model, dim FROM mem.chunks") == [
        (name(embedding), 4)
    ]
    [(index,)] = shared.rows(
        "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'chunks_near_%%'"
    )
    assert "hnsw" in index and "halfvec(4)" in index and name(embedding) in index
    embedded = [
        text
        for body in embedding.bodies
        for text in body["input"]
        if text != "dimension"
    ]
    assert len(embedded) == len(set(embedded)) == 3
    embedding.asked.clear()
    local_mode, local = scores(pushed, "lonely zebra")
    shared_mode, brought = scores(pushed, "lonely zebra", "--shared")
    asked = [body["input"] for body in embedding.bodies]
    assert asked == [["lonely zebra"], ["lonely zebra"]]
    assert local_mode == shared_mode != "bm25"
    assert list(local) == list(brought)
    assert local == pytest.approx(brought, abs=0.002)
    answer = pushed.mem("recall", "--shared", "--json", "--explain", "lonely zebra")
    assert all(hit["factors"]["vector"] is not None for hit in answer.hits)


def by_words(pushed):
    """An answer of words alone."""
    result = pushed.mem("recall", "--shared", "--json", "zebra")
    got = (result.code, result.json["mode"], result.hits[0]["title"])
    assert got == (0, "bm25", "Herds")
    return result


def test_a_provider_that_fails_leaves_the_index_as_it_was(
    pushed, shared, embedding, monkeypatch
):
    """Without vectors nothing is pushed (exit 4)."""
    before = shared.dump()
    pushed.remembers("New", "okapi")
    pushed.commit()
    pushed.mem("index", env={"MEM_EMBEDDER": "none"})
    embedding.stop.set()
    monkeypatch.setenv("MEM_EMBED_URL", "http://127.0.0.1:9/")
    result = pushed.mem("index", "--shared", "-q")
    assert result.code == 4 and len(result.err.strip().split("\n")) <= 2, result.err
    assert shared.dump() == before
    result = by_words(pushed)
    assert "words alone were searched" in result.err


def test_another_model_is_said_in_one_line(pushed, shared, embedding, monkeypatch):
    """Vectors of two models are not compared."""
    monkeypatch.setenv("MEM_EMBED_MODEL", "n")
    result = by_words(pushed)
    [line] = result.err.strip().split("\n")
    assert f"its vectors are of {name(embedding)}" in line
    push(pushed)
    assert shared.rows("SELECT DISTINCT model, dim FROM mem.chunks") == [
        (name(embedding, "n"), 4)
    ]
    assert "Herds" in found(pushed, "zebra")

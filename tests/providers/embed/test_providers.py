"""Each provider's own wire format, its variables, its limits and what it says about
failures."""

import pytest

from memcli.errors import ProviderError, UsageError
from memcli.project.config import Config
from memcli.providers.configured import make_embedder
from memcli.providers.embed.http import HttpEmbedder
from memcli.providers.embed.wire import parse_host
from tests.providers.embed.server import Answer, lists, vector_of

SECRET = "sk-proj-abcdefghij0123456789ABCDEFGHIJ"
KEYS = {
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openai-compatible": "MEM_EMBED_KEY",
}


def made(name, environ=None, **options):
    given = {f"embed_{key}": value for key, value in options.items()}
    found = make_embedder(Config(embedder=name, **given), environ or {})
    assert isinstance(found, HttpEmbedder)
    return found


def test_openai_is_asked_in_its_own_words(server):
    """The key goes as a bearer, rows come back by index, the default model is the small
    one."""
    embedder = made(
        "openai", {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"{server.url}/v1/"}
    )
    texts = ["alpha", "be", "gamma ray"]
    vectors = embedder.embed(texts)
    assert (
        lists(vectors) == [vector_of(text) for text in texts]
        and vectors[0].typecode == "f"
    )
    asked = server.asked[0]
    model = "text-embedding-3-small"
    assert (
        asked.path == "/v1/embeddings"
        and asked.headers["authorization"] == f"Bearer {SECRET}"
    )
    assert asked.body == {"model": model, "input": texts, "encoding_format": "float"}
    assert (embedder.provider, embedder.model) == (
        "openai",
        f"{model} at {server.url}/v1",
    )


def test_any_server_of_that_format_will_do(server):
    """It needs no key; its URL may hold a path and a query; known models get
    prefixes."""
    url = f"{server.url}/deploy/v2/embeddings?api-version=1"
    embedder = made(
        "openai-compatible", url=url, model="nomic-embed-text-v1.5", dimensions=4
    )
    embedder.embed(["cow"])
    embedder.embed(["cow"], query=True)
    made("openai-compatible", {"MEM_EMBED_KEY": SECRET}, url=url, model="m").embed(
        ["cow"]
    )
    assert [asked.path for asked in server.asked] == [
        "/deploy/v2/embeddings?api-version=1"
    ] * 3
    sent = [body["input"] for body in server.bodies]
    assert sent == [["search_document: cow"], ["search_query: cow"], ["cow"]]
    keys = [asked.headers.get("authorization") for asked in server.asked]
    assert (
        keys == [None, None, f"Bearer {SECRET}"] and server.bodies[0]["dimensions"] == 4
    )


def test_gemini_is_asked_in_the_same_words(server):
    """Google speaks the format too: the key as a bearer, a dimension, prefixes."""
    key = {"GOOGLE_API_KEY": SECRET}
    embedder = made("gemini", key, url=f"{server.url}/v1beta/openai")
    vectors = embedder.embed(["alpha", "be"])
    assert [len(row) for row in vectors] == [768, 768] and embedder.model.endswith(
        "@768"
    )
    assert [row[:4] for row in lists(vectors)] == [vector_of("alpha"), vector_of("be")]
    asked = server.asked[0]
    assert asked.path == "/v1beta/openai/embeddings"
    assert asked.headers["authorization"] == f"Bearer {SECRET}"
    assert asked.body == {
        "model": "gemini-embedding-001",
        "encoding_format": "float",
        "dimensions": 768,
        "input": ["alpha", "be"],
    }
    model = "models/gemini-embedding-2"
    second = made("gemini", key, url=server.url, model=model, dimensions=8)
    second.embed(["cow"], query=True)
    assert server.bodies[1]["input"] == ["task: search result | query: cow"]
    assert server.bodies[1]["model"] == "gemini-embedding-2"
    assert made("gemini", key).model == "gemini-embedding-001@768"


def test_ollama_is_asked_in_its_own_words(server):
    """OpenAI's format at OLLAMA_HOST, no key, the prefixes of its default model."""
    embedder = made("ollama", {"OLLAMA_HOST": server.url.removeprefix("http://")})
    assert lists(embedder.embed(["cow"])) == [vector_of("search_document: cow")]
    asked = server.asked[0]
    assert asked.path == "/v1/embeddings" and "authorization" not in asked.headers
    assert (embedder.provider, embedder.model) == ("ollama", "nomic-embed-text")
    server.answers = [Answer(404, {"error": 'model "nomic-embed-text" not found'})]
    with pytest.raises(ProviderError, match="not found") as caught:
        embedder.embed(["x"])
    assert (
        caught.value.hint == "ollama pull nomic-embed-text" and len(server.asked) == 2
    )


HOSTS = {
    ":8000": "http://127.0.0.1:8000",
    "0.0.0.0:8000": "http://127.0.0.1:8000",
    "[::]:8000": "http://[::1]:8000",
    "https://me:pass@box.lan/ollama/": "https://me:pass@box.lan/ollama",
}


@pytest.mark.parametrize(("text", "url"), HOSTS.items())
def test_ollamas_host_may_be_written_in_many_ways(text, url):
    """An address to listen on is one to ask."""
    assert parse_host(text) == url


@pytest.mark.parametrize("name", ["openai", "gemini"])
def test_a_missing_key_is_a_usage_error_that_names_its_variable(name):
    """A provider that needs a key is not made without one."""
    for environ in ({}, {"OPENAI_API_KEY": " ", "GEMINI_API_KEY": ""}):
        with pytest.raises(UsageError, match=KEYS[name]) as caught:
            made(name, environ)
        assert KEYS[name] in caught.value.hint


@pytest.mark.parametrize("key", ["geheim mit blank", "schlüssel-0123456789"])
def test_what_no_header_can_carry_is_no_key(key):
    """Such a key is refused before anything is sent, without being shown."""
    with pytest.raises(UsageError, match=KEYS["openai"]) as caught:
        made("openai", {KEYS["openai"]: key}, url="http://127.0.0.1:1", model="m")
    assert key not in caught.value.what + caught.value.hint


@pytest.mark.parametrize(
    "url", ["localhost:8080", "ftp://a/b", "http://a:99999/", "http://a b/"]
)
def test_what_is_no_url_is_a_usage_error(url):
    """Only http and https, with a host."""
    for name in ("openai", "openai-compatible", "gemini", "ollama"):
        with pytest.raises(UsageError, match="embed_url is not a URL"):
            made(name, {KEYS.get(name, "X"): "k"}, url=url, model="m")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is not a URL"):
        made("openai", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url})


def test_the_name_in_the_cache_tells_apart_what_must_not_meet():
    """Another dimension or another server makes another model; a password is no part of
    it."""
    key = {"OPENAI_API_KEY": "k"}
    names = [
        made("openai", key).model,
        made("openai", key, dimensions=256).model,
        made("openai", key, model="text-embedding-3-large").model,
        made("openai", key, url="http://me:pass@box:1/v1?x=y").model,
        made("openai", key, url="http://box:2/v1").model,
    ]
    assert len(set(names)) == len(names)
    assert names[0] == "text-embedding-3-small"
    assert names[3] == "text-embedding-3-small at http://box:1/v1"


@pytest.mark.parametrize(
    ("name", "most_texts"),
    [("openai", 256), ("openai-compatible", 128), ("gemini", 100), ("ollama", 32)],
)
def test_no_request_is_bigger_than_the_provider_takes(name, most_texts, server):
    """Texts go in batches by count, and all come back in order."""
    embedder = made(
        name, {KEYS.get(name, "X"): "k"}, url=server.url, model="m", dimensions=4
    )
    texts = [f"{number} text" for number in range(most_texts + 3)]
    assert [row[1:3] for row in lists(embedder.embed(texts))] == [
        vector_of(text)[1:3] for text in texts
    ]
    sizes = [len(body["input"]) for body in server.bodies]
    assert sizes == [most_texts, 3]


PER_DAY = {
    "violations": [{"quotaId": "EmbedContentRequestsPerDayPerProjectPerModel-FreeTier"}]
}
SPENT = {"message": "You exceeded your quota", "code": "insufficient_quota"}
REFUSALS = {
    "wrong key": (
        Answer(401, {"error": f"Incorrect API key: {SECRET}"}),
        "key is refused",
    ),
    "quota": (Answer(429, {"error": SPENT}), "You exceeded"),
    "a day's quota": (
        Answer(429, {"error": {"message": "Quota", "details": [PER_DAY]}}),
        "Quota",
    ),
    "unpaid": (Answer(402, {"detail": "pay first"}), "pay first"),
}


@pytest.mark.parametrize("name", ["openai", "gemini"])
@pytest.mark.parametrize("kind", sorted(REFUSALS))
def test_a_refusal_for_good_is_not_tried_again_and_names_the_variable(
    name, kind, server
):
    """A wrong key and a used-up quota end the call at once; the key is in no
    message."""
    embedder = made(name, {KEYS[name]: SECRET}, url=server.url, model="m")
    answer, words = REFUSALS[kind]
    server.answers = [answer]
    with pytest.raises(ProviderError, match=words) as caught:
        embedder.embed(["x"])
    error = caught.value
    assert KEYS[name] in error.hint and len(server.asked) == 1
    assert SECRET not in error.what + error.hint + repr(embedder.wire)


def test_a_password_in_the_url_is_sent_but_never_shown(server):
    """Errors name the server without user, password and query."""
    url = server.url.replace("//", "//me:letmein77@") + "/v1?token=letmein78"
    server.answers = [Answer(400, {"error": "bad letmein77"})]
    with pytest.raises(ProviderError) as caught:
        made("openai-compatible", url=url, model="m").embed(["x"])
    assert server.asked[0].headers["authorization"].startswith("Basic ")
    assert f"({server.url}/v1/embeddings)" in caught.value.what
    assert "letmein" not in caught.value.what + caught.value.hint

"""What holds for every provider behind a URL."""

import gzip
import subprocess
import sys
import tracemalloc

import pytest

from memcli.errors import ProviderError
from memcli.project.config import Config
from memcli.providers.configured import make_embedder
from memcli.providers.embed import http
from memcli.providers.embed.http import HttpEmbedder
from tests.providers.embed.server import (
    CLOSE,
    DRIP,
    HANG,
    Answer,
    lists,
    vector_of,
)


def made(server, **options):
    config = Config(embedder="openai-compatible", embed_model="m", embed_url=server.url)
    found = make_embedder(config._replace(**options), {})
    assert isinstance(found, HttpEmbedder)
    return found


PASSING = {
    "seconds": Answer(429, {"error": {"message": "slow down"}}, {"retry-after": "0"}),
    "an odd date": Answer(429, {}, {"retry-after": "soon"}),
    "500": Answer(500, b"<html>oops</html>"),
    "closed": CLOSE,
}


@pytest.mark.parametrize("name", PASSING)
def test_what_may_pass_is_tried_again(name, server):
    """Too many requests, a server's own trouble and a lost connection; but not for
    ever."""
    server.answers = [PASSING[name]] * 2
    assert lists(made(server).embed(["alpha"])) == [vector_of("alpha")]
    assert [body["input"] for body in server.bodies] == [["alpha"]] * 3
    server.answers = [PASSING[name]] * 50
    server.asked = []
    with pytest.raises(ProviderError, match=r"HTTP|no connection"):
        made(server).embed(["alpha"])
    assert len(server.asked) == http.TRIES


def test_nobody_waits_longer_than_there_is_time(server):
    """A pause that ends after the deadline is not begun."""
    server.answers = [Answer(429, {"error": "later"}, {"retry-after": "30"})]
    with pytest.raises(ProviderError, match="HTTP 429: later"):
        made(server).embed(["alpha"], deadline=5)
    assert len(server.asked) == 1


@pytest.mark.parametrize("answer", [HANG, DRIP])
def test_a_slow_server_is_left_at_the_deadline(answer, server):
    """A reply that does not come, or drips, ends in an error while the server is still
    at it."""
    server.answers = [answer]
    with pytest.raises(ProviderError, match="no answer in time"):
        made(server).embed(["alpha"], deadline=0.3)
    assert not server.stop.is_set()


def test_redirects_are_not_followed(server):
    """A key and the texts go to the configured server, nowhere else."""
    server.answers = [Answer(307, b"", {"location": f"{server.url}/elsewhere"})]
    with pytest.raises(ProviderError, match="HTTP 307"):
        made(server).embed(["alpha"])
    assert len(server.asked) == 1


def data(*vectors, indices=None):
    numbers = indices or list(range(len(vectors)))
    return {
        "data": [
            {"index": i, "embedding": v} for i, v in zip(numbers, vectors, strict=True)
        ]
    }


RUBBISH = {
    "no JSON": b"<html>",
    "deep": b"[" * 100_000,
    "as deep as JSON may be": b"[" * 850 + b"]" * 850,
    "another shape": {"embeddings": [[1, 2], [3, 4]]},
    "too few": data([1, 2]),
    "an index twice": data([1, 2], [3, 4], indices=[0, 0]),
    "dimensions differ": data([1, 2], [3, 4, 5]),
    "dimension 0": data([], []),
    "base64": data("AACAPwAAAEA=", "AACAPwAAAEA="),
    "null in a vector": data([1, None], [3, 4]),
    "over float32": data([1, 2], [3, 1e300]),
    "all zero": data([1, 2], [0, 0.0]),
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_is_refused_as_a_whole(name, server):
    """A reply that is not one good vector for each text is an error of the provider."""
    server.answers = [Answer(200, RUBBISH[name])]
    with pytest.raises(ProviderError) as caught:
        made(server).embed(["alpha", "beta"])
    assert caught.value.what.startswith("openai-compatible embeddings: ")
    assert caught.value.hint
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "packing", "wrong"),
    [
        (gzip.compress(b" " * 300_000_000, 1), "gzip", "is too large"),
        (gzip.compress(b"[" + b"1000," * 6_000_000 + b"1]", 1), "gzip", "is too large"),
        (b"[" + b"1000," * 240_000 + b"1]", "identity", "is too large"),
        (b"1" * 80_000, "br", "is packed as 'br', which was not asked for"),
        (b"1" * 80_000, "gzip", "is not packed as gzip, as it says"),
    ],
)
def test_a_reply_holds_what_its_vectors_may_take(body, packing, wrong, server):
    """However it is packed: one that is no such reply costs no more."""
    server.answers = [Answer(200, body, {"content-encoding": packing})]
    embedder = made(server)
    tracemalloc.start()
    with pytest.raises(ProviderError, match=f"the reply {wrong}"):
        embedder.embed(["alpha"])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 << 20
    assert server.asked[0].headers["accept-encoding"] == "gzip"


def test_a_packed_reply_is_read(server):
    packed = gzip.compress(b'{"data": [{"index": 0, "embedding": [1, 2]}]}')
    server.answers = [Answer(200, packed, {"content-encoding": "gzip"})]
    assert lists(made(server).embed(["alpha"])) == [[1.0, 2.0]]


def test_another_dimension_than_asked_for_is_refused(server):
    """A server that does not know the option gives its own dimension."""
    with pytest.raises(ProviderError, match="dimension 4, not 256") as caught:
        made(server, embed_dimensions=256).embed(["x"])
    assert "embed_dimensions" in caught.value.hint


def test_texts_are_made_fit_to_send(server):
    """An empty text is never sent, nor a secret, half a character or a control
    character."""
    key = "sk-proj-abcdefghij0123456789ABCDEFGHIJ"
    vectors = made(server).embed(
        ["", " \n ", f"use {key} here", "a\udc80b", "c\x00\x1b[31md"]
    )
    removed = "use [secret removed: openai-key] here"
    assert server.bodies[0]["input"] == ["-", "-", removed, "a\ufffdb", "cd"]
    assert len(vectors) == 5


def test_requests_are_bounded_in_bytes_too(server):
    """Long texts are cut to the limit of one, and go fewer at a time."""
    embedder = made(server)
    embedder.embed(["word " * 4000] * 30)
    sizes = [[len(text) for text in body["input"]] for body in server.bodies]
    assert len(sizes) == 3 and sum(map(len, sizes)) == 30
    assert max(map(max, sizes)) <= embedder.wire.longest
    assert max(map(sum, sizes)) <= embedder.wire.most_bytes


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "the input length exceeds the context length"),
        (500, "input (600 tokens) is too large"),
    ],
)
def test_a_text_over_the_models_own_limit_is_halved_until_it_fits(
    status, message, server
):
    """A model's limit is not known beforehand; short texts of the batch stay as they
    are."""
    server.answers = [Answer(status, {"error": message})] * 2
    made(server).embed(["short", "word " * 1000])
    sent = [[len(text) for text in body["input"]] for body in server.bodies]
    assert sent == [[5, 4999], [5, 2499], [5, 1249]]


def test_what_the_provider_says_is_shown_short_and_clean(server):
    """One line of at most 200 characters, without control characters and secrets."""
    said = (
        "no \x1b[31mluck\n with ghp_abcdefghij0123456789ABCDEFGHIJKLMN " + "blah " * 100
    )
    server.answers = [Answer(400, [{"error": {"message": said}}])]
    with pytest.raises(ProviderError) as caught:
        made(server).embed(["x"])
    message = caught.value.what.split("HTTP 400: ")[1].split(" (http")[0]
    assert message.startswith("no luck with [secret removed: github-token] blah")
    assert len(message) == 200
    assert "\x1b" not in caught.value.what and "\n" not in caught.value.what


def test_making_an_embedder_loads_nothing_heavy():
    """The HTTP client, numpy and the runtimes are imported when something is embedded,
    not before."""
    script = (
        "import sys; from memcli.providers.configured import make_embedder\n"
        "from memcli.project.config import Config\n"
        "for name in ('openai', 'gemini', 'ollama', 'openai-compatible'):\n"
        "    config = Config(embedder=name, embed_model='m', embed_url='http://a')\n"
        "    make_embedder(config, dict.fromkeys(('OPENAI_API_KEY', 'GEMINI_API_KEY'), 'k'))\n"
        "heavy = ('numpy', 'httpx2', 'httpx', 'anthropic', 'asyncio')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"[]\n"

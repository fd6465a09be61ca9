"""What the tests of embedders share: no keys of the caller, and no pauses between
tries."""

from collections.abc import Iterator

import pytest

from memcli.providers.embed import http
from tests.providers.embed.server import Server, openai, serving


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(http, "PAUSE", 0.0)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that speaks as OpenAI does."""
    with serving(openai) as found:
        yield found

"""Language models: one method wide, chosen by name, and off until the user configures
one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeGuard

from memcli.errors import ProviderError

TIMEOUT = 120.0  # seconds that a question may take


class Ask(NamedTuple):
    """One question; `shared` is common to several questions, and the provider caches
    it."""

    system: str
    prompt: str
    shared: str = ""
    schema: Mapping[str, Any] | None = None  # the JSON schema of the reply
    by_item: bool = False  # the caller checks the items of lists and drops bad ones
    max_tokens: int = 4000
    purpose: str = ""  # a word for the ledger: the scope or the verb that asks
    timeout: float = TIMEOUT  # seconds the answer may take, retries included
    budget: float = 0.0  # USD that are left, 0 if nobody counts


class Usage(NamedTuple):
    """Tokens of one call, as the provider counted them; `input` was neither read from a
    cache nor written to one."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0


class Reply(NamedTuple):
    """The text of a reply (JSON if a schema was given). `stop` says what happened to an
    incomplete one ("was cut off …"); callers of a `Model` never see such a reply.
    `cost` is in USD if known."""

    text: str
    usage: Usage = Usage()
    stop: str = ""
    cost: float | None = None


class Model(Protocol):
    """What mem asks of a language model."""

    def ask(self, ask: Ask) -> Reply:
        """The whole reply, valid by its schema. Raises ProviderError. Hold no lock
        during the call."""
        ...

    def close(self) -> None:
        """Close connections and processes."""
        ...


class Provider(Model, Protocol):
    """What answers behind a `Model`; it raises TimeoutError if it takes too long."""

    name: str
    model: str


class Scripted:
    """Answers with the lines of a file (JSON) in turn and repeats the last. A line
    `{"match": …, "reply": …}` or `{…, "error": …}` goes first if the purpose or the
    prompt contains that text."""

    name = model = "scripted"

    def __init__(self, path: str) -> None:
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
            self._lines = [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError, RecursionError) as error:
            message = f"the scripted replies cannot be read: {error} ({path})"
            raise ProviderError(message, "check llm_replies") from None
        self._used: set[int] = set()

    def close(self) -> None:
        """Nothing is open."""

    def ask(self, ask: Ask) -> Reply:
        """The first line that fits and was not used, else the last one that fits."""
        words = f"{ask.purpose}\0{ask.prompt}"
        fitting = [
            place
            for place, line in enumerate(self._lines)
            if _is_rule(line) and str(line["match"]) in words
        ]
        if not fitting:
            lines = enumerate(self._lines)
            fitting = [place for place, line in lines if not _is_rule(line)]
        if not fitting:
            asked = f" for {ask.purpose}" if ask.purpose else ""
            message = f"the scripted model has no reply{asked}"
            raise ProviderError(message, "add a line to the file of llm_replies")
        unused = (place for place in fitting if place not in self._used)
        place = next(unused, fitting[-1])
        self._used.add(place)
        return _scripted_reply(self._lines[place])


def _is_rule(line: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(line, dict) and "match" in line


def _scripted_reply(line: object) -> Reply:
    reply = line
    if _is_rule(line):
        if line.get("error"):
            raise ProviderError(str(line["error"]), "the scripted replies say so")
        reply = line.get("reply", "")
    if isinstance(reply, str):
        return Reply(reply)
    return Reply(json.dumps(reply, ensure_ascii=False))

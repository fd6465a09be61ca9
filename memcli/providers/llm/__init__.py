"""Language models: one method wide, chosen by name, off until the user's configuration
says so."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeGuard

from memcli.errors import ProviderError

TIMEOUT = 120.0  # seconds that a question may take


class Ask(NamedTuple):
    """One question; `shared` is what several have in common, and is cached by the
    provider."""

    system: str
    prompt: str
    shared: str = ""
    schema: Mapping[str, Any] | None = None  # the JSON schema of the reply
    by_item: bool = False  # the caller judges the items of lists, and drops odd ones
    max_tokens: int = 4000
    purpose: str = ""  # a word for the ledger: the scope or the verb that asks
    timeout: float = TIMEOUT  # seconds the answer may take, retries included
    budget: float = 0.0  # USD that are left, 0 where nobody counts


class Usage(NamedTuple):
    """Tokens of one call, as the provider counted them; `input` is what was neither
    read from a cache nor written to one."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0


class Reply(NamedTuple):
    """The text of a reply (JSON when a schema was asked for). `stop` is what befell one
    that is not whole ("was cut off …"), which callers of a `Model` never see; `cost` is
    in USD where known."""

    text: str
    usage: Usage = Usage()
    stop: str = ""
    cost: float | None = None


class Model(Protocol):
    """What a language model does here."""

    def ask(self, ask: Ask) -> Reply:
        """The whole reply, valid by its schema. Raises ProviderError. Hold no lock
        meanwhile."""
        ...

    def close(self) -> None:
        """Let go of connections and processes."""
        ...


class Provider(Model, Protocol):
    """What answers behind a `Model`; it raises TimeoutError when it took too long."""

    name: str
    model: str


class Scripted:
    """Answers with the lines of a file (JSON) in turn; the last one stays. `{"match":
    …, "reply": …}` or `{…, "error": …}` goes first where the purpose or prompt has that
    text in it."""

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

"""Language models: one method wide, chosen by name, off until the user's configuration
says so."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from memcli.errors import ProviderError

TIMEOUT = 120.0  # seconds that a question may take


class Ask(NamedTuple):
    """One question; `shared` is what several have in common, and is cached by the
    provider."""

    system: str
    prompt: str
    shared: str = ""
    schema: Mapping[str, Any] | None = None  # the JSON schema of the reply
    by_item: bool = (
        False  # the items of lists are left to the caller, who drops odd ones
    )
    max_tokens: int = 4000
    purpose: str = ""  # A word for the ledger: the scope or the verb that asks
    timeout: float = TIMEOUT  # seconds the answer may take, retries included
    budget: float = 0.0  # USD that are left, 0 where nobody counts


class Usage(NamedTuple):
    """Tokens of one call, as the provider counted them; `input` is what no cache has to
    do with."""

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
        except (OSError, ValueError) as error:
            what = f"the scripted replies cannot be read: {error} ({path})"
            raise ProviderError(what, "check llm_replies") from None
        self._used: set[int] = set()

    def close(self) -> None:
        pass

    def ask(self, ask: Ask) -> Reply:
        words = f"{ask.purpose}\0{ask.prompt}"
        lines = enumerate(self._lines)
        named = {
            i: line for i, line in lines if isinstance(line, dict) and "match" in line
        }
        fitting = [i for i, line in named.items() if str(line["match"]) in words]
        fitting = fitting or [i for i in range(len(self._lines)) if i not in named]
        if not fitting:
            what = f"the scripted model has no reply{f' for {ask.purpose}' if ask.purpose else ''}"
            raise ProviderError(what, "add a line to the file of llm_replies")
        at = next((at for at in fitting if at not in self._used), fitting[-1])
        self._used.add(at)
        line = self._lines[at]
        if at in named and line.get("error"):
            raise ProviderError(str(line["error"]), "the scripted replies say so")
        reply = line.get("reply", "") if at in named else line
        return Reply(
            reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        )

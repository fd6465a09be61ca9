"""The one way to a language model: secrets stay here, money is counted, replies are
checked."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from memcli.errors import ProviderError
from memcli.memory.words import each_text
from memcli.providers.llm import Ask, Provider, Reply, Usage
from memcli.text.controls import strip_controls, strip_private
from memcli.text.matching import table
from memcli.text.secrets import redact_secrets

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}
TYPES |= {"null": type(None), "number": (int, float), "integer": int}
SHOWN = 80  # how many characters of a bad reply a message shows


class ReplyError(ProviderError):
    """A reply came, and is of no use."""

    def __init__(self, what: str) -> None:
        super().__init__(
            what, "nothing was taken from it; run again, or choose another model"
        )


def parse_json(text: str, schema: Mapping[str, Any] | None = None) -> Any:
    """The value of a JSON text that is as `schema` says, without controls; or
    ReplyError."""
    try:
        # `int` refuses NaN and Infinity, which are no JSON.
        value = json.loads(text, parse_constant=int, object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError):
        raise ReplyError(f"the model's reply is no JSON: {excerpt(text)!r}") from None
    value = each_text(value, strip_controls)
    if schema is not None:
        _check(value, schema, "reply")
    return value


def read_items(
    text: str, schema: Mapping[str, Any], key: str = "items"
) -> tuple[list[Any], tuple[str, ...]]:
    """The items under `key` that are as the schema says, and what was wrong with the
    others."""
    good = []
    odd = []
    for at, row in enumerate(parse_json(text, by_item(schema))[key]):
        try:
            _check(row, schema["properties"][key].get("items", {}), f"{key}[{at}]")
            good.append(row)
        except ReplyError as error:
            odd.append(error.what)
    return good, tuple(odd)


def by_item(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without what it says of the items of its lists."""
    loose = {
        key: {"type": "array"} if value.get("type") == "array" else value
        for key, value in schema.get("properties", {}).items()
    }
    return {**schema, "properties": loose}


def excerpt(text: str) -> str:
    """The beginning of a text that is not ours, fit for a message."""
    # Redacted before it is cut: half a secret is not recognised.
    return " ".join(redact_secrets(strip_controls(text[:4000])).split())[:SHOWN]


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _check(value: Any, schema: Mapping[str, Any], where: str) -> None:
    if odd := _oddity(value, schema):
        raise ReplyError(f"the model's reply is not as asked: {where} {odd}")
    if isinstance(value, list) and "items" in schema:
        for at, item in enumerate(value):
            _check(item, schema["items"], f"{where}[{at}]")
    if isinstance(value, dict):
        for key in value.keys() & schema.get("properties", {}).keys():
            _check(value[key], schema["properties"][key], f"{where}.{key}")


def _oddity(value: Any, schema: Mapping[str, Any]) -> str:
    wanted = schema.get("type")
    odd = wanted and not isinstance(value, TYPES[wanted])
    if odd or (isinstance(value, bool) and wanted not in (None, "boolean")):
        return f"is no {wanted}"
    if "enum" in schema and value not in schema["enum"]:
        return "is none of " + ", ".join(map(str, schema["enum"]))
    if isinstance(value, (int, float)):
        least = schema.get("minimum", value)
        most = schema.get("maximum", value)
        return "" if least <= value <= most else f"is not from {least} to {most}"
    if isinstance(value, dict):
        if missing := [key for key in schema.get("required", ()) if key not in value]:
            return f"has no {missing[0]}"
        more = [key for key in value if key not in schema.get("properties", {})]
        if more and schema.get("additionalProperties") is False:
            return f"has a key that was not asked for: {excerpt(more[0])!r}"
    return ""


HIGHEST = (
    15,
    75,
)  # of other models; prices.txt: list prices of October 2026, USD for 1e6 tokens
# factors on the price of input, for a cache of five minutes
CACHE_WRITE = 1.25
CACHE_READ = 0.1
BYTES_PER_TOKEN = 3.5  # fewer than texts have, so that an estimate is rather too high


class Call(NamedTuple):
    """One call, for the ledger. `cost` is in USD."""

    purpose: str
    provider: str
    model: str
    usage: Usage
    cost: float


class Ledger(NamedTuple):
    """What the state file knows: USD spent and calls made today, everywhere; how to
    note one."""

    spent: Callable[[], tuple[float, int]]
    note: Callable[[Call], None]


def cost(model: str, usage: Usage) -> float:
    """What a call did cost, never less than the bill."""
    rows = map(str.split, table("providers/llm/prices.txt").splitlines())
    read, written = next(
        (map(float, price) for name, *price in rows if name in model), HIGHEST
    )
    tokens = (
        usage.input + usage.cache_write * CACHE_WRITE + usage.cache_read * CACHE_READ
    )
    return (tokens * read + usage.output * written) / 1e6


def most(ask: Ask) -> Usage:
    """What a question may use at most."""
    rest, shared = (
        int(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) + 1
        for text in (f"{ask.system}{ask.prompt}{ask.schema or ''}", ask.shared)
    )
    return Usage(input=rest, cache_read=0, cache_write=shared, output=ask.max_tokens)


class Guarded:
    """A `Model` over a provider: no call is made unless the worst it can cost is
    left."""

    def __init__(
        self, provider: Provider, limits: Mapping[str, float], ledger: Ledger
    ) -> None:
        self._provider = provider
        self._limits = limits
        self._ledger = ledger
        self._earlier: tuple[float, int] | None = None
        self._used = 0.0
        self._calls = 0

    def ask(self, ask: Ask) -> Reply:
        system, shared, prompt = map(scrubbed, (ask.system, ask.shared, ask.prompt))
        ask = ask._replace(system=system, shared=shared, prompt=prompt)
        name = self._provider.name
        model = self._provider.model
        self._require(
            0.0 if name == "codex" else cost(model, most(ask))
        )  # a subscription
        left = (
            self._limits["max_cost"],
            self._limits["max_cost_day"] - (self._earlier or (0,))[0],
        )
        ask = ask._replace(budget=max(min(left) - self._used, 0.0))
        try:
            reply = self._provider.ask(ask)
        except TimeoutError:  # it may have been answered, and be paid for
            reply = Reply("", most(ask), f"took longer than {ask.timeout:.0f} s")
        spent = cost(model, reply.usage) if reply.cost is None else reply.cost
        self._used += spent
        self._ledger.note(
            Call(
                purpose=ask.purpose,
                provider=name,
                model=model,
                usage=reply.usage,
                cost=spent,
            )
        )
        if reply.stop:
            raise ReplyError(f"{name}: the reply {reply.stop}")
        if ask.schema is not None:
            parse_json(reply.text, by_item(ask.schema) if ask.by_item else ask.schema)
        return reply

    def close(self) -> None:
        self._provider.close()

    def _require(self, amount: float) -> None:
        self._earlier = earlier, calls = self._earlier or self._ledger.spent()
        calls += self._calls
        counts = {
            "max_cost": self._used,
            "max_cost_day": self._used + earlier,
            "max_calls": calls,
        }
        for key, limit in self._limits.items():
            count = counts[key]
            if count + (1 if key == "max_calls" else amount) > limit:
                what = f"{key} is {limit:g} USD, {count:.4f} are spent, this may cost {amount:.4f}"
                if key == "max_calls":
                    what = f"max_calls is {limit:g}, and so many calls were made today"
                hint = f"raise it with --set {key}=…, or ask for less"
                raise ProviderError(f"not asked: {what}", hint)
        self._calls += 1


@lru_cache(maxsize=8)  # the shared part is the same in many questions
def scrubbed(text: str) -> str:
    """`text` as it may leave this machine: without <private> parts and secrets, valid
    as UTF-8."""
    return redact_secrets(strip_private(text)).encode("utf-8", "replace").decode()

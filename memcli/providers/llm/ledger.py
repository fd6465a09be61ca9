"""The only way to a language model: secrets stay here, costs are counted, replies are
checked."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from memcli.errors import ProviderError
from memcli.memory.words import each_text
from memcli.providers.llm import Ask, Provider, Reply, Usage
from memcli.text.controls import strip_controls, strip_private
from memcli.text.secrets import redact_secrets

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}
TYPES |= {"null": type(None), "number": (int, float), "integer": int}
SHOWN = 80  # how many characters of a bad reply a message shows


class ReplyError(ProviderError):
    """A reply that cannot be used."""

    def __init__(self, what: str) -> None:
        super().__init__(
            what, "nothing of it was used; run again, or choose another model"
        )


def parse_json(text: str, schema: Mapping[str, Any] | None = None) -> Any:
    """The value of a JSON text, without control characters, which must fit `schema`.
    Raises ReplyError."""
    try:
        # `int` refuses NaN and Infinity, which are no JSON.
        value = json.loads(text, parse_constant=int, object_pairs_hook=_no_doubles)
        value = each_text(value, strip_controls)
    except (ValueError, RecursionError):
        raise ReplyError(f"the model's reply is not JSON: {excerpt(text)!r}") from None
    if schema is not None:
        _check(value, schema, "reply")
    return value


def read_items(
    text: str, schema: Mapping[str, Any], key: str = "items"
) -> tuple[list[Any], tuple[str, ...]]:
    """The items under `key` that fit the schema, and what is wrong with the others."""
    good = []
    unusual = []
    for place, row in enumerate(parse_json(text, by_item(schema))[key]):
        try:
            _check(row, schema["properties"][key].get("items", {}), f"{key}[{place}]")
            good.append(row)
        except ReplyError as error:
            unusual.append(error.what)
    return good, tuple(unusual)


def by_item(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without its rules for the items of lists."""
    loose = {
        key: {"type": "array"} if value.get("type") == "array" else value
        for key, value in schema.get("properties", {}).items()
    }
    return {**schema, "properties": loose}


def excerpt(text: str) -> str:
    """The beginning of a text from outside, safe to show in a message."""
    # Redact before cutting: half a secret is not recognised.
    return " ".join(redact_secrets(strip_controls(text[:4000])).split())[:SHOWN]


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key occurs twice")
    return values


def _check(value: Any, schema: Mapping[str, Any], where: str) -> None:
    if unusual := _oddity(value, schema):
        raise ReplyError(
            f"the model's reply does not have the requested form: {where} {unusual}"
        )
    if isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            _check(item, schema["items"], f"{where}[{place}]")
    if isinstance(value, dict):
        for key in value.keys() & schema.get("properties", {}).keys():
            _check(value[key], schema["properties"][key], f"{where}.{key}")


def _oddity(value: Any, schema: Mapping[str, Any]) -> str:
    """How a value differs from its schema; "" when it does not."""
    wanted = schema.get("type")
    if wanted and not _is_of_type(value, wanted):
        return f"is no {wanted}"
    if "enum" in schema and value not in schema["enum"]:
        return "is none of " + ", ".join(map(str, schema["enum"]))
    if isinstance(value, (int, float)):
        lowest = schema.get("minimum", value)
        highest = schema.get("maximum", value)
        is_between = lowest <= value <= highest
        return "" if is_between else f"is not from {lowest} to {highest}"
    return _odd_key(value, schema) if isinstance(value, dict) else ""


def _is_of_type(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):  # which to Python is an integer
        return wanted == "boolean"
    return isinstance(value, TYPES[wanted])


def _odd_key(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    for key in schema.get("required", ()):
        if key not in value:
            return f"has no {key}"
    if schema.get("additionalProperties") is False:
        for key in value:
            if key not in schema.get("properties", {}):
                return f"has an unexpected key: {excerpt(key)!r}"
    return ""


CACHE_WRITE = 1.25  # factors on the price of input, for a cache of five minutes
CACHE_READ = 0.1
MOST_TOKENS = 10_000_000  # of one call: several times what a model reads at once
BYTES_PER_TOKEN = 3.5  # fewer than most texts have, so an estimate is rather too high


class Call(NamedTuple):
    """One call, for the ledger. `cost` is in USD."""

    purpose: str
    provider: str
    model: str
    usage: Usage
    cost: float


class Ledger(NamedTuple):
    """What the state file knows: `spent` returns the USD and the calls of today, in all
    projects; `note` adds a call."""

    spent: Callable[[], tuple[float, int]]
    note: Callable[[Call], None]


def cost(model: str, usage: Usage) -> float:
    """The cost of a call, never less than the bill."""
    prices = (price for name, price in PRICES.items() if name in model)
    read, written = next(prices, HIGHEST)
    cached = usage.cache_write * CACHE_WRITE + usage.cache_read * CACHE_READ
    return ((usage.input + cached) * read + usage.output * written) / 1e6


PRICES = {
    "scripted": (0, 0),
    "haiku-5": (0.5, 2.5),
    "haiku": (1, 5),
    "sonnet-5": (2, 10),
    "sonnet": (3, 15),
    "opus-5-5": (4, 20),
    "opus-4-0": (15, 75),
    "opus-4-1": (15, 75),
    "opus-4-2025": (15, 75),
    "opus": (5, 25),
    "fable": (10, 50),
    "mythos": (10, 50),
}
"""List prices of October 2026 for input and output, in USD for 1e6 tokens, by a part of
the model's name; the first that fits counts."""
HIGHEST = (15, 75)  # for models that are not listed


def most(ask: Ask) -> Usage:
    """The most that a question may use."""
    return Usage(
        input=_tokens(f"{ask.system}{ask.prompt}{ask.schema or ''}"),
        cache_write=_tokens(ask.shared),
        output=ask.max_tokens,
    )


def _plausible(usage: Usage, largest: Usage) -> Usage:
    """The counts of a reply. A count that no call can have becomes the most that this
    one may have used, so that no reply makes room in a limit."""
    counts = (
        count if type(count) is int and 0 <= count <= MOST_TOKENS else worst
        for count, worst in zip(usage, largest, strict=True)
    )
    return Usage(*counts) if any(usage) else largest


def _tokens(text: str) -> int:
    return int(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) + 1


class Guarded:
    """A `Model` over a provider: it makes no call unless its worst cost is left."""

    def __init__(
        self, provider: Provider, limits: Mapping[str, float], ledger: Ledger
    ) -> None:
        self._provider = provider
        self._limits = limits
        self._ledger = ledger
        self._earlier: tuple[float, int] | None = None  # USD and calls of others today
        self._used = 0.0
        self._calls = 0

    def ask(self, ask: Ask) -> Reply:
        """The whole reply, valid by its schema, at a cost within the limits."""
        ask = ask._replace(
            system=scrubbed(ask.system),
            shared=scrubbed(ask.shared),
            prompt=scrubbed(ask.prompt),
        )
        name = self._provider.name
        model = self._provider.model
        is_prepaid = name == "codex"  # by a subscription
        left = self._require(0.0 if is_prepaid else cost(model, most(ask)))
        try:
            reply = self._provider.ask(ask._replace(budget=left))
        except TimeoutError:  # it may have been answered, and billed
            stop = f"took longer than {ask.timeout:.0f} s"
            reply = Reply(text="", usage=most(ask), stop=stop)
        reply = reply._replace(usage=_plausible(reply.usage, most(ask)))
        spent = cost(model, reply.usage) if reply.cost is None else reply.cost
        self._used += spent
        call = Call(
            purpose=ask.purpose,
            provider=name,
            model=model,
            usage=reply.usage,
            cost=spent,
        )
        self._ledger.note(call)
        if reply.stop:
            raise ReplyError(f"{name}: the reply {reply.stop}")
        if ask.schema is not None:
            parse_json(reply.text, by_item(ask.schema) if ask.by_item else ask.schema)
        return reply

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()

    def _require(self, amount: float) -> float:
        """The USD that are left for this run. Raises ProviderError if a call that costs
        so much might exceed a limit."""
        if self._earlier is None:
            self._earlier = self._ledger.spent()
        earlier, calls = self._earlier
        spent = {"max_cost": self._used, "max_cost_day": self._used + earlier}
        for key, count in spent.items():
            limit = self._limits[key]
            if count + amount > limit:
                message = f"{key} is {limit:g} USD, {count:.4f} are spent"
                raise _not_asked(key, f"{message}, this may cost {amount:.4f}")
        most_calls = self._limits["max_calls"]
        if calls + self._calls + 1 > most_calls:
            message = (
                f"max_calls is {most_calls:g}, and that many calls were made today"
            )
            raise _not_asked("max_calls", message)
        self._calls += 1
        left = min(self._limits[key] - count for key, count in spent.items())
        return max(left, 0.0)


def _not_asked(key: str, what: str) -> ProviderError:
    hint = f"raise it with --set {key}=…, or ask for less"
    return ProviderError(f"not asked: {what}", hint)


@lru_cache(maxsize=8)  # the shared part is the same in many questions
def scrubbed(text: str) -> str:
    """The text as it may leave this machine: without <private> parts and secrets, and
    valid UTF-8."""
    return redact_secrets(strip_private(text)).encode("utf-8", "replace").decode()

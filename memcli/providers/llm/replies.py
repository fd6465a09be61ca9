"""What a model wrote is data: parsed strictly, checked against its schema, refused whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from memcli.errors import ProviderError

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
KEYWORDS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "enum",
    "items",
    "description",
} | {
    "maxLength",
    "maxItems",
    "minimum",
    "maximum",
}
"""The part of JSON schema that is understood here."""
SHOWN = 80
"""How many characters of a bad reply a message shows."""


def parse_json(text: str, schema: Mapping[str, Any] | None = None) -> Any:
    """The value of a JSON text that is as `schema` says; its strings have lost control characters.

    Raises ProviderError, with the beginning of what was wrong (without secrets).
    """
    try:
        value = json.loads(text, parse_constant=_no_number, object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError):
        raise _refused(f"the model's reply is no JSON: {excerpt(text)!r}") from None
    value = _clean(value)
    if schema is not None:
        _check(value, schema, "reply")
    return value


def read_items(
    text: str, schema: Mapping[str, Any], key: str = "items"
) -> tuple[list[Any], tuple[str, ...]]:
    """The items under `key` that are as the schema says, and what was wrong with the others.

    Raises ProviderError when the whole is not as asked.
    """
    rows = parse_json(text, by_item(schema))[key]
    good, odd = [], []
    for at, row in enumerate(rows):
        try:
            _check(row, schema["properties"][key].get("items", {}), f"{key}[{at}]")
        except ProviderError as error:
            odd.append(error.what)
        else:
            good.append(row)
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
    from memcli.text.controls import strip_controls
    from memcli.text.secrets import redact_secrets

    # Redacted before it is cut: half a secret is not recognised.
    return " ".join(redact_secrets(strip_controls(text[:4000])).split())[:SHOWN]


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _clean(value: Any) -> Any:
    from memcli.text.controls import strip_controls

    if isinstance(value, str):
        return strip_controls(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {strip_controls(key): _clean(item) for key, item in value.items()}
    return value


def _check(value: Any, schema: Mapping[str, Any], where: str) -> None:
    if unknown := schema.keys() - KEYWORDS:
        raise ValueError(f"schema keywords that nothing checks: {sorted(unknown)}")
    wanted = schema.get("type")
    if wanted and (
        not isinstance(value, TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean")
    ):
        raise _odd(where, f"is no {wanted}")
    if "enum" in schema and value not in schema["enum"]:
        raise _odd(where, "is none of " + ", ".join(map(str, schema["enum"])))
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        raise _odd(where, f"is longer than {schema['maxLength']} characters")
    if isinstance(value, (int, float)):
        _check_range(value, schema, where)
    if isinstance(value, list):
        _check_items(value, schema, where)
    if isinstance(value, dict):
        _check_keys(value, schema, where)


def _check_range(value: float, schema: Mapping[str, Any], where: str) -> None:
    if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        raise _odd(
            where, f"is not from {schema.get('minimum', '-∞')} to {schema.get('maximum', '∞')}"
        )


def _check_items(value: list[Any], schema: Mapping[str, Any], where: str) -> None:
    if len(value) > schema.get("maxItems", len(value)):
        raise _odd(where, f"has more than {schema['maxItems']} items")
    for at, item in enumerate(value if "items" in schema else ()):
        _check(item, schema["items"], f"{where}[{at}]")


def _check_keys(value: dict[str, Any], schema: Mapping[str, Any], where: str) -> None:
    known = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            raise _odd(where, f"has no {key}")
    for key, item in value.items():
        if key in known:
            _check(item, known[key], f"{where}.{key}")
        elif schema.get("additionalProperties") is False:
            raise _odd(where, f"has a key that was not asked for: {excerpt(key)!r}")


class ReplyError(ProviderError):
    """A reply came, and is of no use."""


def _odd(where: str, what: str) -> ReplyError:
    return _refused(f"the model's reply is not as asked: {where} {what}")


def _refused(what: str) -> ReplyError:
    return ReplyError(what, "nothing was taken from it; run again, or choose another model")

"""Reports as JSON. One writer walks the fields of a report; views name the values that
differ."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Any

from memcli.memory.values import Patch
from memcli.text.controls import for_display
from memcli.text.secrets import redact_secrets


def of(report: object, **values: object) -> str:
    """A report as JSON: its fields, replaced by `values` (`...` leaves one out),
    without secrets."""
    return json.dumps(safe(report, **values), ensure_ascii=False, indent=2)


def safe(report: object, **values: object) -> Any:
    """The value that `of` writes."""
    safe_text = cache(lambda text: redact_secrets(for_display(text)))
    return _walked(_document(report, values), safe_text)


def with_secrets(report: object, **values: object) -> str:
    """The same, with secrets kept."""
    document = _walked(_document(report, values), cache(for_display))
    return json.dumps(document, ensure_ascii=False, indent=2)


def _document(report: object, values: Mapping[str, object]) -> dict[str, object]:
    fields = report._asdict() if hasattr(report, "_asdict") else {}
    document = {"version": 1, **fields}
    if "patches" in document:
        document["files"] = document.pop("patches")
    document |= values
    return {key: value for key, value in document.items() if value is not ...}


def _walked(value: Any, text: Callable[[str], str]) -> Any:
    """A value as JSON data, with `text` applied to each string: at least terminal
    control characters are removed."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float) and not isfinite(value):
        return None  # JSON has no such number
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Patch):
        return text(value.path)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        items = value.items()
        return {for_display(str(key)): _walked(item, text) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_walked(item, text) for item in value]
    return text(str(value))

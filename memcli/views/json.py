"""Reports as JSON: one writer walks them; what differs from their fields is said by the views."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memcli.memory.values import Patch
from memcli.text.controls import for_display


def of(report: object, **values: object) -> str:
    """A report (a NamedTuple) as one JSON document: its fields, with `values` over them.

    Patches become `files`, the paths that they change; a value of `...` leaves its key out.
    """
    found = {"version": 1, **(report._asdict() if hasattr(report, "_asdict") else {})}
    if "patches" in found:
        found["files"] = found.pop("patches")
    shown = {key: value for key, value in {**found, **values}.items() if value is not ...}
    return json.dumps(_displayed(shown), ensure_ascii=False, indent=2)


def _displayed(value: Any) -> Any:
    """What a terminal would obey is taken out; a patch is the path of its file."""
    if isinstance(value, str):
        return for_display(value)
    if isinstance(value, Patch):
        return for_display(value.path)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {for_display(str(key)): _displayed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_displayed(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)

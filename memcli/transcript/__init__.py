"""What was said in a session."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_OWN = re.compile(r"<recalled-memory>.*?(?:</recalled-memory>|\Z)", re.DOTALL)


def spoken(text: str) -> str:
    """The words of a session, without what `mem` put into it.

    JSON lines and JSON documents give the text of their messages; anything else is taken as it is.
    """
    found = "\n".join(_texts(text)) if text.lstrip()[:1] in ("{", "[") else text
    return _OWN.sub(" ", found)


def _texts(text: str) -> Iterator[str]:
    try:
        yield from _strings(json.loads(text))
        return
    except (ValueError, RecursionError):
        pass
    for line in text.splitlines():
        try:
            yield from _strings(json.loads(line))
        except (ValueError, RecursionError):
            continue


def _strings(value: Any, key: str = "") -> Iterator[str]:
    """The strings under `text` and `content`, wherever a format puts them."""
    if isinstance(value, str):
        if key in ("text", "content"):
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, key)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _strings(item, name)

"""What a file will say once an edit tool has done what it is told. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

MOST_CHARACTERS = 16 << 20
"""A text that may grow longer by a change is not followed."""
OLD = ("old_string", "old_str", "old_text", "oldText", "search", "find")
NEW = ("new_string", "new_str", "new_text", "newText", "replacement", "replace")
WHOLE = ("content", "contents", "file_text", "fileText")
"""What edit tools call the text that they take out, the one they put in its place, and
all that a file will say."""


def texts_after(text: str, given: Mapping[str, Any]) -> list[str]:
    """The texts that a file may have after a tool's call; none where its input does not
    tell. A tool takes the first place or each; which one it is told in many ways."""
    before = text.replace("\r\n", "\n")
    edits = given.get("edits")
    steps = [given, *(edits if isinstance(edits, list) else ())]
    changes = [change for step in steps if (change := _change(step))]
    once = _changed(before, changes, 1)
    everywhere = _changed(before, changes, -1)
    return [] if once is None or everywhere is None else [once, everywhere]


def _change(step: object) -> tuple[str, str] | None:
    """What a step takes out ("" for all there is) and puts there; None for nothing."""
    texts = step if isinstance(step, Mapping) else {}
    old = _first(texts, OLD)
    if old is not None:
        return old.replace("\r\n", "\n"), _first(texts, NEW) or ""
    whole = _first(texts, WHOLE)
    return None if whole is None else ("", whole)


def _first(texts: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """The text under the first key that there is."""
    for key in keys:
        if key in texts:
            return str(texts[key])
    return None


def _changed(text: str, changes: list[tuple[str, str]], most: int) -> str | None:
    """The text after changes; None without one, and where one finds nothing to
    change or makes too long a text."""
    if not changes:
        return None
    for old, new in changes:
        grown = len(text) + text.count(old) * len(new) if old else len(new)
        if old not in text or grown > MOST_CHARACTERS:
            return None
        text = text.replace(old, new, most) if old else new
    return text

"""What a file will say once an edit tool has done what it is told. Pure."""

from collections.abc import Iterable, Mapping
from itertools import chain, islice, product
from typing import Any

Change = tuple[str, str]

MOST_CHARACTERS = 16 << 20
"""A text that may grow longer by a change is not followed."""
MOST_READINGS = 64
"""So many ways to read a call are tried."""
OLD = "old_string old_str old_text oldText search find".split()
NEW = "new_string new_str new_text newText replacement replace".split()
WHOLE = ("content", "contents", "file_text", "fileText")
"""What edit tools call the text that they take out, the one they put in its place, and
all that a file will say."""


def texts_after(text: str, given: Mapping[str, Any]) -> list[str]:
    """The texts that a file may have after a tool's call; none where its input does not
    tell. What a tool takes of that, and whether it takes the first place or each, it is
    told in many ways: each is tried."""
    before = text.replace("\r\n", "\n")
    listed = given.get("edits")
    edits = [*map(_changes, listed)] if isinstance(listed, list) else []
    alone = ([change] for change in _changes(given))
    together = product(*edits) if edits else ()
    readings = list(islice(chain(alone, together), MOST_READINGS))
    if len(readings) == MOST_READINGS or not all(edits):
        return []
    texts = []
    for reading, most in product(readings, (1, -1)):
        after = _changed(before, reading, most)
        if after is None:
            return []
        texts.append(after)
    return texts


def _changes(step: object) -> list[Change]:
    """What a step may take out ("" for all there is) and put there."""
    texts = step if isinstance(step, Mapping) else {}
    changed = product(_given(texts, OLD), _given(texts, NEW) or [""])
    return [*changed, *product([""], _given(texts, WHOLE))]


def _given(texts: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """The texts under those of the keys that there are."""
    found = [texts[key] for key in keys if texts.get(key) is not None]
    return [str(text).replace("\r\n", "\n") for text in found]


def _changed(text: str, changes: Iterable[Change], most: int) -> str | None:
    """The text after changes; None where one finds nothing to change or makes too long
    a text."""
    for old, new in changes:
        grown = len(text) + text.count(old) * len(new) if old else len(new)
        if old not in text or grown > MOST_CHARACTERS:
            return None
        text = text.replace(old, new, most) if old else new
    return text

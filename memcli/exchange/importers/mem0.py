"""Memories exported from mem0 as JSON: a list, or an object with `results` or `memories`. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from memcli.exchange.importers.draft import Draft, day, headline, key_of, mapping, words

FORM = "mem0"
_LISTS = ("results", "memories", "data")


def records(text: str) -> list[dict[str, Any]] | None:
    """The records of an export, or one a line; None when it is none. Raises ValueError for no JSON."""
    try:
        found = _parsed(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if isinstance(found, dict):
        found = next((found[name] for name in _LISTS if isinstance(found.get(name), list)), [found])
    if not isinstance(found, list):
        return None
    known = [one for one in found if isinstance(one, dict) and _text(one)]
    return known if known or not found else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def drafts(text: str) -> Iterator[Draft]:
    """One draft a memory. The names of users, agents and runs are not taken over."""
    for one in records(text) or ():
        title, rest = headline(_text(one))
        more = mapping(one.get("metadata"))
        name = str(one.get("id") or "")
        tags = (
            *words(one.get("categories")),
            *words(more.get("category")),
            *words(more.get("tags")),
        )
        yield Draft(
            source=f"{FORM}:{name or 'without id'}",
            key=key_of(FORM, name or _text(one)),
            title=title,
            text=rest,
            created=day(one.get("updated_at")) or day(one.get("created_at")),
            session=str(one.get("run_id") or ""),
            tags=tuple(dict.fromkeys(tags)),
        )


def _text(one: dict[str, Any]) -> str:
    text = one.get("memory") or one.get("text") or one.get("content")
    return text.strip() if isinstance(text, str) else ""

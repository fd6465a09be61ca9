"""Memory as notes for Obsidian: one an entry, what they say of each other as wikilinks. Pure."""

import json
import re
from collections.abc import Sequence

from memcli.memory.values import Entry
from memcli.text.controls import strip_controls, strip_private
from memcli.text.secrets import redact_secrets

LINKS = ("supports", "contradicts", "superseded_by", "merged_from", "promoted_from")
_UNSAFE = re.compile(r'[\\/:*?"<>|#^\[\]\s]+')
"""What no file name may have on some system, and what would end a wikilink."""


def notes(entries: Sequence[Entry]) -> dict[str, str]:
    """The text of each note by its file name."""
    names: dict[str, str] = {}
    for entry in entries:
        name = _name(entry.title, entry.id[:8])
        taken = name.casefold() in map(str.casefold, names.values())
        names[entry.id] = _name(entry.title, entry.id) if taken else name
    return {f"{names[entry.id]}.md": _text(entry, names) for entry in entries}


def _name(title: str, id: str) -> str:
    words = _UNSAFE.sub(" ", redact_secrets(strip_controls(title)))[:80].strip(". ")
    return f"{words} {_UNSAFE.sub(' ', strip_controls(id))[:40]}".strip(". ")


def _text(entry: Entry, names: dict[str, str]) -> str:
    values: dict[str, object] = {
        "id": entry.id, "type": entry.type, "kind": entry.kind, "status": entry.status,
        "importance": entry.importance, "created": entry.created_at,
        "tags": [str(tag).replace(" ", "-") for tag in _listed(entry.extra.get("tags"))],
    }  # fmt: skip
    for key in LINKS:
        known = (names[str(id)] for id in _listed(entry.extra.get(key)) if str(id) in names)
        values[key] = [f"[[{name}]]" for name in known]
    rows = [
        f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in values.items() if v not in ("", [])
    ]
    body = redact_secrets(strip_controls(strip_private(entry.body))).strip()
    return "\n".join(["---", *map(redact_secrets, rows), "---", body, ""])


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value] if value else []

"""An entry or a section of prose -> the rows that are indexed."""

from __future__ import annotations

import json
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

from memcli.memory.grammar import DETAIL
from memcli.memory.values import Entry
from memcli.memory.words import OVERLAP, SIZE, clean, sub_words

PRESSING = frozenset({"permanent", "critical"})
"""Written priorities that no answer goes without."""

INDEXED = frozenset(
    """
    priority paths commands tags scope session_id session_task source promoted_from promoted_to merged_from
    supports contradicts superseded_by retired_because consolidated_at started_at ended_at outcome surprise
    stability difficulty success_count embed archived_at archived_from archived_because
    """.split()
)
"""Optional keys that the index carries; unknown ones stay in the file alone."""

_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Row(NamedTuple):
    """One row of `chunks` without its file. `digest` covers all that is searched or weighed."""

    entry: str
    part: int
    offset: int
    line: int
    live: int
    type: str
    kind: str
    date: str
    title: str
    text: str
    tags: str
    parts: str
    digest: bytes
    metadata: str


def rows(entry: Entry, *, live: bool) -> list[Row]:
    """The rows of one entry: one, or overlapping ones for a text longer than `SIZE`."""
    text, detail = searchable(entry)
    metadata = _as_json(_metadata(entry, detail))
    name, title, tags = (
        clean(entry.id),
        clean(entry.title),
        clean(" ".join(entry.extra.get("tags", ()))),
    )
    day = entry.created_at or entry.date
    flag = int(live and entry.status != "retired")
    found = []
    for part, start in enumerate(range(0, max(len(text) - OVERLAP, 1), SIZE - OVERLAP)):
        window = text[start : start + SIZE] if len(text) > SIZE else text
        parts = sub_words(f"{title} {tags} {window}")
        weighed = (
            name,
            str(part),
            str(flag),
            entry.type,
            entry.kind,
            day,
            title,
            window,
            tags,
            metadata,
        )
        digest = blake2b("\0".join(weighed).encode(), digest_size=12).digest()
        found.append(
            Row(
                name,
                part,
                entry.start,
                entry.line,
                flag,
                entry.type,
                entry.kind,
                day,
                title,
                window,
                tags,
                parts,
                digest,
                metadata,
            )
        )
        if len(text) <= SIZE:
            break
    return found


def searchable(entry: Entry) -> tuple[str, str]:
    """The body that is indexed, and the detail of an episode, which is only kept."""
    body = clean(entry.body)
    if entry.kind == "episode":
        cut = DETAIL.search(body)
        if cut is not None:
            return body[: cut.start()].rstrip(), body[cut.end() :].strip()
    return body, ""


def _metadata(entry: Entry, detail: str) -> dict[str, Any]:
    """What weighing, filtering and showing an entry need; read back by `store.Candidate`."""
    values: dict[str, Any] = {
        "domain": entry.domain,
        "importance": entry.importance,
        "phase": entry.phase,
        "status": entry.status,
        "count": entry.reinforcement_count,
        "reinforced": entry.last_reinforced,
        "created": entry.created_at,
        "date": entry.date,
        "priority": entry.priority,
        "pressing": "priority" in entry.extra and entry.priority in PRESSING,
        "written": entry.written,
    }
    values |= {key: _plain(value) for key, value in entry.extra.items() if key in INDEXED}
    if detail:
        values["detail"] = detail
    return values


def _plain(value: Any) -> Any:
    """`value` as JSON can say it: clean texts, finite numbers, lists and mappings of such."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value

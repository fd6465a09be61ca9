"""An entry or a section of prose -> the rows that are indexed."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

from memcli.memory_file import DETAIL
from memcli.model import Entry

INDEXED = frozenset(
    [
        "priority",
        "paths",
        "commands",
        "tags",
        "scope",
        "session_id",
        "session_task",
        "source",
        "promoted_from",
        "promoted_to",
        "merged_from",
        "supports",
        "contradicts",
        "superseded_by",
        "retired_because",
        "consolidated_at",
        "started_at",
        "ended_at",
        "outcome",
        "surprise",
        "stability",
        "difficulty",
        "success_count",
        "embed",
        "archived_at",
        "archived_from",
        "archived_because",
    ]
)
"""Optional keys that the index carries; unknown ones stay in the file alone."""
SIZE = 1600
OVERLAP = 320
"""Characters of a chunk of a long entry, and of what it shares with the next."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_WORD = re.compile(r"[^\W_]+")
_JOINT = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")  # where one hump of an identifier ends and one begins
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)


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
    metadata = json.dumps(_metadata(entry, detail), ensure_ascii=False, separators=(",", ":"))
    name, title, tags = clean(entry.id), clean(entry.title), clean(" ".join(entry.extra.get("tags", ())))
    day = entry.created_at or entry.date
    flag = int(live and entry.status != "retired")
    found = []
    for part, start in enumerate(range(0, max(len(text) - OVERLAP, 1), SIZE - OVERLAP)):
        window = text[start : start + SIZE] if len(text) > SIZE else text
        parts = sub_words(f"{title} {tags} {window}")
        weighed = (name, str(part), str(flag), entry.type, entry.kind, day, title, window, tags, metadata)
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


def join(texts: list[str]) -> str:
    """The text that `rows` cut into these parts."""
    return texts[0] + "".join(text[OVERLAP:] for text in texts[1:])


def clean(text: str) -> str:
    """`text` without what SQLite or its tokenizer cannot take."""
    return _CONTROL.sub(" ", text) if _CONTROL.search(text) else text


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


def sub_words(text: str) -> str:
    """Words that the tokenizer cannot see: the humps of camelCase, and bigrams where no blanks are."""
    found = []
    if _JOINT.search(text):
        for word in _WORD.findall(text):
            if _JOINT.search(word):
                found += _HUMP.findall(word)
    if not text.isascii():
        for match in _SPACELESS.finditer(text):
            found += bigrams(match[0])
    return " ".join(found)


def bigrams(run: str) -> list[str]:
    """Overlapping pairs of characters; the last character stands alone, so that each begins one."""
    return [run[i : i + 2] for i in range(len(run))]


def humps(word: str) -> list[str]:
    """`camelCase` -> [camel, Case]; [] for a word without humps."""
    found = _HUMP.findall(word) if _JOINT.search(word) else []
    return found if len(found) > 1 else []


def spaceless_runs(text: str) -> list[str]:
    """The stretches of `text` in scripts that put no blanks between words."""
    return [] if text.isascii() else _SPACELESS.findall(text)

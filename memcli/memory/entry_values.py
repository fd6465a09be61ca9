"""Front matter -> the effective values of an entry, and what of it cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memcli.memory.dates import date_in
from memcli.memory.grammar import DETAIL, HEAD_DATE, HEADING, MARK, heading_text
from memcli.memory.values import (
    DOMAINS,
    KINDS,
    PHASES,
    PRIORITIES,
    STATUSES,
    TYPES,
    Entry,
)
from memcli.memory.words import is_day

CORE_KEYS = (
    "id",
    "type",
    "domain",
    "importance",
    "phase",
    "status",
    "reinforcement_count",
    "last_reinforced",
    "created_at",
)


TYPE_OF_KIND = {
    "policy": "directive",
    "preference": "directive",
    "workflow": "procedural",
    "pitfall": "corrective",
}


PRIORITY_OF_KIND = {
    "policy": "critical",
    "workflow": "high",
    "pitfall": "high",
    "architecture": "high",
    "decision": "medium",
    "preference": "medium",
}


IMPORTANCE_FLOOR = {"pin": 0.80, "high": 0.85, "critical": 0.90, "permanent": 0.95}


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9A-SU-Za-su-z])")


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_TOPIC = re.compile(r"---[ \t]*\r?\n((?:[^\n]{0,1000}\n){1,40}?)---[ \t]*\r?(?:\n|\Z)")
_TOPIC_KEY = re.compile(r"(?m)^(title|description|name):[ \t]*([^\r\n]+)")


def read_values(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Effective values of front matter, and (key, message) for each one that cannot be used."""
    faults: list[tuple[str, str]] = []
    get = raw.get
    kind = _choice("kind", get("kind"), KINDS, "", faults)
    priority = _choice("priority", get("priority"), PRIORITIES, "", faults)
    default_type = TYPE_OF_KIND.get(kind, "declarative") if kind else "procedural"
    importance = _importance(get("importance"), faults)
    values: dict[str, Any] = {
        "id": _identifier(get("id"), faults),
        "type": _choice("type", get("type"), TYPES, default_type, faults),
        "domain": _choice("domain", get("domain"), DOMAINS, "team", faults),
        "importance": max(importance, IMPORTANCE_FLOOR[priority])
        if priority in IMPORTANCE_FLOOR
        else importance,
        "phase": _choice("phase", get("phase"), PHASES, "unknown", faults),
        "status": _choice("status", get("status"), STATUSES, "active", faults),
        "reinforcement_count": _count("reinforcement_count", get("reinforcement_count"), faults),
        "last_reinforced": _day("last_reinforced", get("last_reinforced"), faults),
        "created_at": _day("created_at", get("created_at"), faults),
        "kind": kind,
        "priority": priority or PRIORITY_OF_KIND.get(kind, "normal"),
        "extra": _extra(raw, faults),
    }
    return values, faults


def _choice(
    key: str, value: Any, allowed: Sequence[str], default: str, faults: list[tuple[str, str]]
) -> str:
    if value is None:
        return default
    if value in allowed:
        return str(value)
    wanted = ", ".join(allowed)
    faults.append((key, f"{key}: {_shown(value)} is none of {wanted}; {default or 'none'} is used"))
    return default


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _identifier(value: Any, faults: list[tuple[str, str]]) -> str:
    if value is None:
        return ""
    text = (
        str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    )
    if not text or len(text) > 200 or _CONTROL.search(text):
        faults.append(("id", f"id: {_shown(value)} cannot be an id; one is derived from the place"))
        return ""
    return text


def _importance(value: Any, faults: list[tuple[str, str]]) -> float:
    if value is None:
        return 0.5
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number != number:
        faults.append(("importance", f"importance: {_shown(value)} is no number; 0.5 is used"))
        return 0.5
    if not 0.0 <= number <= 1.0:
        clamped = min(1.0, max(0.0, number))
        faults.append(
            ("importance", f"importance: {_shown(value)} is outside 0 to 1; {clamped} is used")
        )
        return clamped
    return number


def _count(key: str, value: Any, faults: list[tuple[str, str]]) -> int:
    if value is None:
        return 0
    try:
        number = -1 if isinstance(value, bool) or int(value) != float(value) else int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number > 10**9:
        faults.append((key, f"{key}: {_shown(value)} is no count; 0 is used"))
        return 0
    return number


def _day(key: str, value: Any, faults: list[tuple[str, str]]) -> str:
    if value is None or value == "":
        return ""
    found = _DAY.match(str(value))
    if found is None or not is_day(found[0]):
        faults.append((key, f"{key}: {_shown(value)} is no date (YYYY-MM-DD); it is left out"))
        return ""
    return found[0]


_LISTS = frozenset(
    [
        "tags",
        "paths",
        "commands",
        "merged_from",
        "promoted_from",
        "promoted_to",
        "supports",
        "contradicts",
    ]
)


_UNIT = frozenset(["surprise"])


_NUMBERS = frozenset(["stability", "difficulty"])


_EFFECTIVE = frozenset([*CORE_KEYS, "kind", "priority"])


def _extra(raw: Mapping[str, Any], faults: list[tuple[str, str]]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    for key, value in raw.items():
        if key in _EFFECTIVE or value is None:
            continue
        if key in _LISTS:
            extra[key] = _list(value)
        elif key in _NUMBERS or key in _UNIT:
            _number(key, value, extra, faults)
        elif key == "success_count":
            extra[key] = _count(key, value, faults)
        else:
            extra[key] = value
    if "priority" in raw and raw["priority"] in PRIORITIES:
        extra["priority"] = raw["priority"]
    return extra


def _list(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list):
        return [
            str(item) for item in value if item is not None and not isinstance(item, (dict, list))
        ]
    return [str(value)] if not isinstance(value, dict) else []


def _number(key: str, value: Any, extra: dict[str, Any], faults: list[tuple[str, str]]) -> None:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    top = 1.0 if key in _UNIT else 36500.0
    if not 0.0 <= number <= top:
        faults.append(
            (key, f"{key}: {_shown(value)} is no number from 0 to {top:g}; it is left out")
        )
    else:
        extra[key] = number


def make_entry(
    values: Mapping[str, Any],
    body: str,
    *,
    day: str = "",
    line: int = 0,
    start: int = 0,
    end: int = 0,
) -> Entry:
    """An `Entry` from effective values; title and date are found in the body, `day` is the default."""
    plain = re.sub(r"\r\n?", "\n", body) if "\r" in body else body
    title, dated, rest = _headline(plain[:2000])
    given = values["extra"].get("title")
    if isinstance(given, str) and given.strip():
        title = given
    return Entry(
        **values,
        title=" ".join(title.split()) or _first_line(plain),
        body=body,
        line=line,
        start=start,
        end=end,
        written=True,
        identified=True,
        date=dated or date_in(rest) or day,
    )


def _headline(body: str) -> tuple[str, str, str]:
    """The first heading outside code, its date, and the first line below it.

    `### Detail` is no title. Without a title the first line is that of the body.
    """
    heading = next(HEADING.find(body, 0, len(body)), None)
    if heading is None or DETAIL.match(body, heading.start(1)):
        return "", "", _line(body)
    if heading.start() and any(mark[2] for mark in MARK.find(body, 0, heading.start())):
        return "", "", _line(body)
    title = heading_text(heading)
    below = _line(body[heading.end() :])
    dated = HEAD_DATE.match(title)
    if dated is None:
        return title, date_in(title), below
    return title[dated.end() :], dated[1] if is_day(dated[1]) else "", below


def _line(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip()), "")


def _first_line(body: str) -> str:
    """A title for what has none: that of a topic file's own front matter, else the first line."""
    head = _TOPIC.match(body)
    found = dict(_TOPIC_KEY.findall(head[1])) if head else {}
    line = next((found[key] for key in ("title", "description", "name") if found.get(key)), "")
    if not line:
        below = body[head.end() if head else 0 :][:2000]
        line = next((line.strip() for line in below.splitlines() if line.strip()), "")
    line = re.sub(r"^[#>*\-\s]+", "", line).strip("\"'")
    return line if len(line) <= 120 else line[:119] + "…"

"""Front matter -> the effective values of an entry, and dates as people write them."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

from memcli.memory import values as known
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
from memcli.text import matching

CORE_KEYS = tuple(
    "id type domain importance phase status reinforcement_count last_reinforced created_at".split()
)
TYPE_OF_KIND = {"workflow": "procedural", "pitfall": "corrective"}
TYPE_OF_KIND |= dict.fromkeys(("policy", "preference"), "directive")
PRIORITY_OF_KIND = dict.fromkeys(("workflow", "pitfall", "architecture"), "high")
PRIORITY_OF_KIND |= {"policy": "critical"}
PRIORITY_OF_KIND |= dict.fromkeys(("decision", "preference"), "medium")
IMPORTANCE_FLOOR = {"pin": 0.80, "high": 0.85, "critical": 0.90, "permanent": 0.95}
_pattern = partial(matching.pattern, "memory/entry_values")
_LISTS = frozenset(
    "tags paths commands merged_from promoted_from promoted_to supports contradicts".split()
)
_TOPS = {"surprise": 1.0, "stability": 36500.0, "difficulty": 36500.0}
_JUDGED = (*_LISTS, *_TOPS, "success_count")
_EFFECTIVE = frozenset([*CORE_KEYS, "kind", "priority"])
_CHOICES = {"kind": KINDS, "priority": PRIORITIES, "type": TYPES, "domain": DOMAINS}
_CHOICES |= {"phase": PHASES, "status": STATUSES}
_ODD = frozenset(
    {bool, list, dict}
)  # no number, day or word; and not all can be looked up


def read_values(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Effective values of front matter, and (key, message) for each one that cannot be
    used."""
    faults: list[tuple[str, str]] = []

    def used(key: str, default: Any = "") -> Any:
        given = raw.get(key)
        value, why = _judged(
            key, (str(given),) if type(given) in _ODD else given, default
        )
        if why:
            text = str(given)
            shown = repr(text if len(text) <= 40 else text[:39] + "…")
            faults.append((key, f"{key}: {shown} {why}"))
        return value

    kind = used("kind")
    priority = used("priority")
    usual = TYPE_OF_KIND.get(kind, "declarative") if kind else "procedural"
    extra = {k: v for k, v in raw.items() if v is not None and k not in _EFFECTIVE}
    values = {
        "id": used("id"),
        "type": used("type", usual),
        "domain": used("domain", "team"),
        "importance": max(used("importance"), IMPORTANCE_FLOOR.get(priority, 0.0)),
        "phase": used("phase", "unknown"),
        "status": used("status", "active"),
        "reinforcement_count": used("reinforcement_count"),
        "last_reinforced": used("last_reinforced"),
        "created_at": used("created_at"),
        "kind": kind,
        "priority": priority or PRIORITY_OF_KIND.get(kind, "normal"),
        "extra": extra,
    }
    if priority:
        extra["priority"] = priority
    for key in [each for each in _JUDGED if each in extra]:
        extra[key] = _list(extra[key]) if key in _LISTS else used(key)
        if extra[key] is None:
            del extra[key]
    return values, faults


@lru_cache(maxsize=4096, typed=True)  # 1 is no 1.0; many entries have the same values
def _judged(key: str, value: Any, default: str) -> tuple[Any, str]:
    """What is used for a value, and why it is not the value itself."""
    if allowed := _CHOICES.get(key):
        why = f"is none of {', '.join(allowed)}; {default or 'none'} is used"
        return (
            (value, "") if value in allowed else (default, "" if value is None else why)
        )
    if key == "id":
        text = str(value).strip() if type(value) in (str, int) else ""
        if _pattern("id").match(text) and known.plain_id(text) == text:
            return text, ""
        return (
            "",
            "" if value is None else "cannot be an id; one is derived from the place",
        )
    if key in ("last_reinforced", "created_at"):
        found = _pattern("day").match("" if value is None else str(value))
        if found and is_day(found[0]):
            return found[0], ""
        return "", "" if value in (
            None,
            "",
        ) else "is no date (YYYY-MM-DD); it is left out"
    number = _number((0.5 if key == "importance" else 0) if value is None else value)
    if key == "importance":
        used = 0.5 if math.isnan(number) else min(1.0, max(0.0, number))
        why = "is no number" if math.isnan(number) else "is outside 0 to 1"
        return used, "" if number == used else f"{why}; {used} is used"
    if top := _TOPS.get(key):
        why = f"is no number from 0 to {top:g}; it is left out"
        return (number, "") if 0.0 <= number <= top else (None, why)
    whole = 0 <= number <= 10**9 and number == int(number)
    return (int(number), "") if whole else (0, "is no count; 0 is used")


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _list(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    items = value if isinstance(value, list) else [value]
    return [
        str(item)
        for item in items
        if item is not None and not isinstance(item, (dict, list))
    ]


def make_entry(
    values: Mapping[str, Any],
    body: str,
    day: str = "",
    line: int = 0,
    span: Sequence[int] = (0, 0),
) -> Entry:
    """An `Entry` from effective values; title and date (else `day`) are found in the
    body."""
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
        start=span[0],
        end=span[1],
        written=True,
        identified=True,
        date=dated or date_in(rest) or day,
    )


def _headline(body: str) -> tuple[str, str, str]:
    """The first heading outside code, its date, and the first line below it, or of the
    body."""
    heading = next(HEADING.find(body, 0, len(body)), None)
    fenced = (
        heading
        and heading.start()
        and any(m[2] for m in MARK.find(body, 0, heading.start()))
    )
    if heading is None or fenced or DETAIL.match(body, heading.start(1)):
        return "", "", _line(body)
    title = heading_text(heading)
    below = _line(body[heading.end() :])
    dated = HEAD_DATE.match(title)
    if dated is None:
        return title, date_in(title), below
    return title[dated.end() :], dated[1] if is_day(dated[1]) else "", below


def _line(text: str) -> str:
    return text.lstrip().partition("\n")[0]


def _first_line(body: str) -> str:
    """A title for what has none: that of a topic file's own front matter, else the
    first line."""
    head = _pattern("topic").match(body)
    found = dict(_pattern("topic key").findall(head[1])) if head else {}
    line = found.get("title") or found.get("description") or found.get("name")
    line = line or _line(body[head.end() if head else 0 :][:2000]).strip()
    line = re.sub(r"^[#>*\-\s]+|[*]{2}", "", line).strip("\"'")
    return line if len(line) <= 120 else line[:119] + "…"


@cache
def _month_of() -> dict[str, int]:
    lines = _pattern("<MONTH>").pattern.removeprefix("(?:").splitlines()
    return {
        name: at
        for at, line in enumerate(lines, 1)
        for name in re.findall(r"\w+", line)
    }


def date_in(text: str) -> str:
    """The first calendar date in a line, as YYYY-MM-DD, else ""; dots are read day
    first."""
    if ("19" in text or "20" in text) and _pattern("maybe").search(text):
        return next(filter(is_day, map(_day, _pattern("forms").finditer(text))), "")
    if "-" not in text:  # most lines have none: found out without a pattern
        return ""
    return next((day for day in _pattern("written").findall(text) if is_day(day)), "")


def date_in_path(path: str) -> str:
    """The date in a file's name, else in its folders; there digits alone are one,
    too."""
    for part in reversed(path.split("/")):
        if day := date_in(_pattern("packed").sub(r"\1-\2-\3", part)):
            return day
    return date_in(path)


def _day(found: re.Match[str]) -> str:
    if found["iso"]:
        return found["iso"]
    number = next(n for n in "12345" if found[f"y{n}"])
    month = (
        _month_of()[found[f"n{number}"].lower()]
        if number in "45"
        else found[f"m{number}"]
    )
    return f"{found[f'y{number}']}-{int(month):02}-{int(found[f'd{number}']):02}"

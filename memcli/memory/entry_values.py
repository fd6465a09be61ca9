"""Front matter -> the effective values of an entry, and dates as people write them."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from memcli.memory import values as known
from memcli.memory.grammar import DETAIL, HEAD_DATE, HEADING, MARK, heading_text
from memcli.memory.values import DOMAINS, KINDS, PHASES, PRIORITIES, STATUSES, TYPES, Entry
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
_EFFECTIVE = frozenset([*CORE_KEYS, "kind", "priority"])


def read_values(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Effective values of front matter, and (key, message) for each one that cannot be used."""
    given = _Given(raw)
    kind, priority = given.choice("kind", KINDS, ""), given.choice("priority", PRIORITIES, "")
    usual = TYPE_OF_KIND.get(kind, "declarative") if kind else "procedural"
    values: dict[str, Any] = {
        "id": given.identifier(),
        "type": given.choice("type", TYPES, usual),
        "domain": given.choice("domain", DOMAINS, "team"),
        "importance": max(given.importance(), IMPORTANCE_FLOOR.get(priority, 0.0)),
        "phase": given.choice("phase", PHASES, "unknown"),
        "status": given.choice("status", STATUSES, "active"),
        "reinforcement_count": given.count("reinforcement_count"),
        "last_reinforced": given.day("last_reinforced"),
        "created_at": given.day("created_at"),
        "kind": kind,
        "priority": priority or PRIORITY_OF_KIND.get(kind, "normal"),
        "extra": given.extra(),
    }
    return values, given.faults


class _Given:
    """The values as they were written; `faults` collects (key, message)."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.faults: list[tuple[str, str]] = []

    def fault(self, key: str, why: str) -> None:
        text = str(self.raw[key])
        shown = repr(text if len(text) <= 40 else text[:39] + "…")
        self.faults.append((key, f"{key}: {shown} {why}"))

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        value = self.raw.get(key)
        if value in allowed:
            return str(value)
        if value is not None:
            self.fault(key, f"is none of {', '.join(allowed)}; {default or 'none'} is used")
        return default

    def identifier(self) -> str:
        value = self.raw.get("id")
        text = str(value).strip() if type(value) in (str, int) else ""
        if re.fullmatch(r"[^\x00-\x1f\x7f]{1,200}", text) and known.plain_id(text) == text:
            return text
        if value is not None:
            self.fault("id", "cannot be an id; one is derived from the place")
        return ""

    def importance(self) -> float:
        value = self.raw.get("importance")
        number = 0.5 if value is None else _number(value)
        used = 0.5 if math.isnan(number) else min(1.0, max(0.0, number))
        if number != used:
            why = "is no number" if math.isnan(number) else "is outside 0 to 1"
            self.fault("importance", f"{why}; {used} is used")
        return used

    def count(self, key: str) -> int:
        value = self.raw.get(key)
        number = 0.0 if value is None else _number(value)
        if 0 <= number <= 10**9 and number == int(number):
            return int(number)
        self.fault(key, "is no count; 0 is used")
        return 0

    def day(self, key: str) -> str:
        value = self.raw.get(key)
        found = _pattern("day").match("" if value is None else str(value))
        if found and is_day(found[0]):
            return found[0]
        if value not in (None, ""):
            self.fault(key, "is no date (YYYY-MM-DD); it is left out")
        return ""

    def extra(self) -> dict[str, Any]:
        given = {k: v for k, v in self.raw.items() if v is not None and k not in _EFFECTIVE}
        if self.raw.get("priority") in PRIORITIES:
            given["priority"] = self.raw["priority"]
        for key in _LISTS.intersection(given):
            given[key] = _list(given[key])
        for key in [key for key in _TOPS if key in given]:
            if not 0.0 <= _number(given[key]) <= _TOPS[key]:
                self.fault(key, f"is no number from 0 to {_TOPS[key]:g}; it is left out")
                del given[key]
            else:
                given[key] = _number(given[key])
        if "success_count" in given:
            given["success_count"] = self.count("success_count")
        return given


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _list(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    items = value if isinstance(value, list) else [value]
    return [str(item) for item in items if item is not None and not isinstance(item, (dict, list))]


def make_entry(
    values: Mapping[str, Any], body: str, day: str = "", line: int = 0, span: Sequence[int] = (0, 0)
) -> Entry:
    """An `Entry` from effective values; title and date (else `day`) are found in the body."""
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
    """The first heading outside code, its date, and the first line below it, or of the body."""
    heading = next(HEADING.find(body, 0, len(body)), None)
    fenced = heading and heading.start() and any(m[2] for m in MARK.find(body, 0, heading.start()))
    if heading is None or fenced or DETAIL.match(body, heading.start(1)):
        return "", "", _line(body)
    title, below = heading_text(heading), _line(body[heading.end() :])
    dated = HEAD_DATE.match(title)
    if dated is None:
        return title, date_in(title), below
    return title[dated.end() :], dated[1] if is_day(dated[1]) else "", below


def _line(text: str) -> str:
    return text.lstrip().partition("\n")[0]


def _first_line(body: str) -> str:
    """A title for what has none: that of a topic file's own front matter, else the first line."""
    head = _pattern("topic").match(body)
    found = dict(_pattern("topic key").findall(head[1])) if head else {}
    line = found.get("title") or found.get("description") or found.get("name")
    line = line or _line(body[head.end() if head else 0 :][:2000]).strip()
    line = re.sub(r"^[#>*\-\s]+|[*]{2}", "", line).strip("\"'")
    return line if len(line) <= 120 else line[:119] + "…"


@cache
def _month_of() -> dict[str, int]:
    lines = _pattern("<MONTH>").pattern.removeprefix("(?:").splitlines()
    return {name: at for at, line in enumerate(lines, 1) for name in re.findall(r"\w+", line)}


def date_in(text: str) -> str:
    """The first calendar date in a line, as YYYY-MM-DD, else ""; dots are read day first."""
    if ("19" in text or "20" in text) and _pattern("maybe").search(text):
        return next(filter(is_day, map(_day, _pattern("forms").finditer(text))), "")
    if "-" not in text:  # most lines have none: found out without a pattern
        return ""
    return next((day for day in _pattern("written").findall(text) if is_day(day)), "")


def date_in_path(path: str) -> str:
    """The date in a file's name, else in its folders; there digits alone are one, too."""
    for part in reversed(path.split("/")):
        plain = _pattern("packed").sub(r"\1-\2-\3", part)
        if day := date_in(plain):
            return day
    return date_in(path)


def _day(found: re.Match[str]) -> str:
    if found["iso"]:
        return found["iso"]
    number = next(n for n in "12345" if found[f"y{n}"])
    month = _month_of()[found[f"n{number}"].lower()] if number in "45" else found[f"m{number}"]
    return f"{found[f'y{number}']}-{int(month):02}-{int(found[f'd{number}']):02}"

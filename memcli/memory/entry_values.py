"""Front matter -> the effective values of an entry."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
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
    plain_id,
)
from memcli.memory.words import is_day
from memcli.text.matching import verbose

CORE_KEYS = tuple(
    """id type domain importance phase status reinforcement_count last_reinforced
    created_at""".split()
)
TYPE_OF_KIND = {
    "workflow": "procedural",
    "pitfall": "corrective",
    "policy": "directive",
    "preference": "directive",
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
LISTS = frozenset(
    "tags paths commands merged_from promoted_from promoted_to supports contradicts".split()
)
_EFFECTIVE = frozenset([*CORE_KEYS, "kind", "priority"])
Verdict = tuple[Any, str]
"""The value that is used, and why it is not the written one ("" if it is)."""


def read_values(
    written: Mapping[str, Any],
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Effective values of front matter, and (key, message) for each one that cannot be
    used."""
    faults = []

    def used(key: str, default: Any) -> Any:
        value_written = written.get(key)
        if value_written is None:
            return default
        # A bool is not a number, and a list or dict cannot be a key of the cache.
        is_odd = type(value_written) in (bool, list, dict)
        value, reason = _judged(
            key, (str(value_written),) if is_odd else value_written, default
        )
        if reason:
            text = str(value_written)
            shown = text if len(text) <= 40 else text[:39] + "…"
            faults.append((key, f"{key}: {shown!r} {reason}"))
        return value

    kind = used("kind", "")
    priority = used("priority", "")
    usual_type = TYPE_OF_KIND.get(kind, "declarative") if kind else "procedural"
    importance_floor = IMPORTANCE_FLOOR.get(priority, 0.0)
    values = {
        "id": used("id", ""),
        "type": used("type", usual_type),
        "domain": used("domain", "team"),
        "importance": max(used("importance", 0.5), importance_floor),
        "phase": used("phase", "unknown"),
        "status": used("status", "active"),
        "reinforcement_count": used("reinforcement_count", 0),
        "last_reinforced": used("last_reinforced", ""),
        "created_at": used("created_at", ""),
        "kind": kind,
        "priority": priority or PRIORITY_OF_KIND.get(kind, "normal"),
        "extra": _others(written, used),
    }
    if priority:
        values["extra"]["priority"] = priority
    return values, faults


def _others(
    written: Mapping[str, Any], used: Callable[[str, Any], Any]
) -> dict[str, Any]:
    """The values of keys without a field of their own; unusable ones are left out."""
    values = {}
    for key, value_written in written.items():
        value = value_written
        if key in LISTS and value_written is not None:
            value = _texts(value_written)
        elif key in _MEASURED:
            value = used(key, None)
        if value is not None and key not in _EFFECTIVE:
            values[key] = value
    return values


@lru_cache(maxsize=4096, typed=True)  # 1 is not 1.0; entries share values
def _judged(key: str, value: Any, default: Any) -> Verdict:
    return _JUDGES[key](value, default)


def _choice(allowed: Sequence[str], value: Any, default: str) -> Verdict:
    if value in allowed:
        return value, ""
    return default, f"is none of {', '.join(allowed)}; {default or 'none'} is used"


def _id(value: Any, default: str) -> Verdict:
    text = str(value).strip() if type(value) in (str, int) else ""
    # A person copies ids into a shell.
    if re.fullmatch(r"[^\x00-\x20\x7f`$;&|<>(){}'\"\\]{1,200}", text) and (
        plain_id(text) == text
    ):
        return text, ""
    return default, "cannot be an id; one is derived from the place"


@verbose
def _leading_day() -> str:
    """A day, perhaps with a time of day behind it."""
    return r"[0-9]{4}-[0-9]{2}-[0-9]{2} (?![0-9A-SU-Za-su-z])"


def _date(value: Any, default: str) -> Verdict:
    leading = _leading_day().match(str(value))
    if leading and is_day(leading[0]):
        return leading[0], ""
    return default, "is no date (YYYY-MM-DD); it is left out" if value != "" else ""


def _importance(value: Any, default: float) -> Verdict:
    number = _number(value)
    if math.isnan(number):
        return default, f"is no number; {default} is used"
    nearest = min(1.0, max(0.0, number))
    return nearest, "" if nearest == number else f"is outside 0 to 1; {nearest} is used"


def _measure(highest: float, value: Any, default: float | None) -> Verdict:
    number = _number(value)
    if 0.0 <= number <= highest:
        return number, ""
    return default, f"is no number from 0 to {highest:g}; it is left out"


def _count(value: Any, default: int | None) -> Verdict:
    number = _number(value)
    if 0 <= number <= 10**9 and number == int(number):
        return int(number), ""
    return 0, "is no count; 0 is used"


_JUDGES: dict[str, Callable[[Any, Any], Verdict]] = {
    "id": _id,
    "type": partial(_choice, TYPES),
    "domain": partial(_choice, DOMAINS),
    "importance": _importance,
    "phase": partial(_choice, PHASES),
    "status": partial(_choice, STATUSES),
    "reinforcement_count": _count,
    "last_reinforced": _date,
    "created_at": _date,
    "kind": partial(_choice, KINDS),
    "priority": partial(_choice, PRIORITIES),
    "surprise": partial(_measure, 1.0),
    "stability": partial(_measure, 36500.0),
    "difficulty": partial(_measure, 36500.0),
    "success_count": _count,
}
_MEASURED = ("surprise", "stability", "difficulty", "success_count")


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    items = value if isinstance(value, list) else [value]
    return [str(item) for item in items if not isinstance(item, _NO_TEXT)]


_NO_TEXT = (type(None), dict, list)


def make_entry(
    values: Mapping[str, Any],
    body: str,
    day: str = "",
    line: int = 0,
    span: Sequence[int] = (0, 0),
) -> Entry:
    """Build an `Entry` from effective values; title and date (else `day`) come from the
    body."""
    plain = re.sub(r"\r\n?", "\n", body) if "\r" in body else body
    title, dated, text = _headline(plain[:2000])
    given = values["extra"].get("title")
    if isinstance(given, str) and given.strip():
        title = given
    start, end = span
    return Entry(
        **values,
        title=" ".join(title.split()) or first_words(plain),
        body=body,
        line=line,
        start=start,
        end=end,
        written=True,
        identified=True,
        date=dated or date_in(text) or day,
    )


def _headline(body: str) -> tuple[str, str, str]:
    """The first heading outside code, its date, and the first line below it, or of the
    body."""
    heading = next(HEADING.find(body, 0, len(body)), None)
    if heading is None or _is_no_title(body, heading):
        return "", "", _first_line(body)
    title = heading_text(heading)
    below = _first_line(body[heading.end() :])
    dated = HEAD_DATE.match(title)
    if not dated:
        return title, date_in(title), below
    day = dated[1] if is_day(dated[1]) else ""
    return title[dated.end() :], day, below


def _is_no_title(body: str, heading: re.Match[str]) -> bool:
    marks = MARK.find(body, 0, heading.start())
    is_fenced = any(mark[2] for mark in marks)
    return is_fenced or DETAIL.match(body, heading.start(1)) is not None


def _first_line(text: str) -> str:
    return text.lstrip().partition("\n")[0]


@verbose
def _topic_block() -> str:
    """The front matter of a topic file, as Claude Code writes them."""
    return r"""
        ---[ \t]* \r?\n
        ( (?: [^\n]{0,1000} \n ){1,40}? )
        ---[ \t]* \r? (?: \n | \Z )
    """


@verbose(lines=True)
def _topic_value() -> str:
    return r"^ (title|description|name) : [ \t]* ([^\r\n]+)"


def first_words(body: str) -> str:
    """A title for a body without one: that of a topic file's own front matter, else the
    first line."""
    topic = _topic_block().match(body)
    named = dict(_topic_value().findall(topic[1])) if topic else {}
    line = named.get("title") or named.get("description") or named.get("name")
    if not line:
        below = body[topic.end() :] if topic else body
        line = _first_line(below[:2000]).strip()
    line = re.sub(r'^[#>*\-\s]+|[*]{2}|\\(?=")', "", line).strip("\"'")
    return line if len(line) <= 120 else line[:119] + "…"

"""Dates as people write them, in a line of text or in the name of a file."""

import re
from functools import cache, lru_cache

from memcli.memory.words import is_day
from memcli.text.matching import verbose

MONTHS = (
    "jan january januar enero ene janvier janv gennaio gen janeiro января",
    "feb february februar febrero février févr fevrier fev febbraio fevereiro февраля",
    "mar march märz mär maerz marzo mars março marco марта",
    "apr april abril abr avril avr aprile апреля",
    "may mai mayo maggio mag maio мая",
    "jun june juni junio juin giugno giu junho июня",
    "jul july juli julio juillet juil luglio lug julho июля",
    "aug august agosto ago août aout agosto августа",
    "sep sept september septiembre septembre settembre set setembro сентября",
    "oct october oktober okt octubre octobre ottobre ott outubro out октября",
    "nov november noviembre novembre novembro ноября",
    "dec december dezember dez diciembre dic décembre déc decembre dicembre dezembro"
    " декабря",
)
"""The names of each month, January first, in the languages that are read."""


@cache
def _month_numbers() -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, names in enumerate(MONTHS, 1):
        numbers |= dict.fromkeys(names.split(), number)
    return numbers


_YEAR = r"(?:19|20)\d\d"
# What must not stand before a date (its digits are a version then) or behind it.
_NO_VERSION = r"(?<![\w.=@^~-]) (?<!version[ ]) (?<!release[ ])"
_END = r"(?![\w-]|[.,:]\d)"


@verbose
def _iso_date() -> str:
    return r"(?<!\d) \d{4}-\d{2}-\d{2} (?!\d)"


@verbose
def _maybe_a_date() -> str:
    """A year beside something other than a plain `-`: only then may the long pattern
    find more."""
    return rf"{_YEAR} [./年] | [\W_] {_YEAR} (?!\d)"


@verbose
def _packed_date() -> str:
    """Eight digits, perhaps parted by dots or underscores, as names of files have."""
    return rf"(?<!\d) ({_YEAR}) [._]? (\d\d) [._]? (\d\d) (?!\d)"


@verbose(ignore_case=True)
def _any_date() -> str:
    months = "|".join(_month_numbers())
    return rf"""
        # 2026-03-01
        (?<!\d) (?P<iso>\d{{4}}-\d{{2}}-\d{{2}}) (?!\d)
        # 2026/03/01, 2026.03.01
      | {_NO_VERSION} (?P<year1>{_YEAR}) (?P<mark>[./])
        (?P<month1>\d\d) (?P=mark) (?P<day1>\d\d) {_END}
        # 1.3.2026, 01. 03. 2026
      | {_NO_VERSION} (?P<day2>\d\d?) \.[ ]? (?P<month2>\d\d?) \.[ ]?
        (?P<year2>{_YEAR}) {_END}
        # 2026年3月1日
      | (?<!\d) (?P<year3>{_YEAR}) 年[ ]? (?P<month3>\d\d?) 月[ ]? (?P<day3>\d\d?) 日
        # 1 March 2026, 1st of them too, 1. März 2026, 1 de marzo de 2026, 1-Mar-2026
      | (?<![\w.]) (?P<day4>\d\d?) (?:st|nd|rd|th|er|º|\.)?
        [ .-]{{1,2}} (?:de[ ]|d['’])? (?P<name4>{months}) \.?
        (?:[ -] | ,[ ] | [ ]de[l]?[ ]) (?P<year4>{_YEAR}) {_END}
        # March 1, 2026; Mar. 1st 2026
      | (?<!\w) (?P<name5>{months}) \.?[ ] (?P<day5>\d\d?) (?:st|nd|rd|th)? ,?[ ]
        (?P<year5>{_YEAR}) {_END}
    """


@verbose
def _address() -> str:
    return r"\w+ :// \S+"


def date_in(text: str) -> str:
    """The first calendar date in a line as YYYY-MM-DD, else "". With dots the day comes
    first. A date in a URL does not count."""
    if "://" in text:
        text = _address().sub(" ", text)
    if ("19" in text or "20" in text) and _maybe_a_date().search(text):
        written = map(_normalised, _any_date().finditer(text))
    elif "-" in text:
        written = map(str, _iso_date().findall(text))
    else:  # most lines need no pattern
        return ""
    return next(filter(is_day, written), "")


@lru_cache(maxsize=1024)  # every reader of a file asks for it
def date_in_path(path: str) -> str:
    """The date in the name of a file, else in its folders; digits without separators
    count, too."""
    for part in reversed(path.split("/")):
        if day := date_in(_packed_date().sub(r"\1-\2-\3", part)):
            return day
    return date_in(path)


def _normalised(written: re.Match[str]) -> str:
    parts = {
        key.rstrip("12345"): text for key, text in written.groupdict().items() if text
    }
    if "iso" in parts:
        return parts["iso"]
    if "month" in parts:
        month = int(parts["month"])
    else:  # letters that only look like a month match, too
        month = _month_numbers().get(parts["name"].lower(), 0)
    day = int(parts["day"])
    return f"{parts['year']}-{month:02}-{day:02}"

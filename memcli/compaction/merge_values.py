"""Merge the values of an entry that both sides changed, key by key."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from memcli.memory.binding import strictness_of
from memcli.memory.changes import ARCHIVE_KEYS
from memcli.memory.entry_values import read_values
from memcli.memory.words import is_day

COUNTS = ("reinforcement_count", "success_count")

LATER_WINS = (
    "last_reinforced",
    "promoted_at",
    "archived_at",
    "consolidated_at",
    "ended_at",
)

EARLIER_WINS = ("created_at", "started_at")


STATUS_RANK = {"retired": 2, "compacted": 1}

Values = Mapping[str, Any]


def merge_values(base: Values | None, ours: Values, theirs: Values) -> dict[str, Any]:
    """Merge the front matter of both sides; without a base, both sides inserted the
    entry."""
    base = _counted_by_both(ours, theirs) if base is None else base
    preferred = _reinforced_later(ours, theirs)
    merged = {
        key: _merge_value(key, base.get(key), ours.get(key), theirs.get(key), preferred)
        for key in dict.fromkeys([*ours, *theirs])
    }
    merged |= _reasons(ours, theirs, merged)
    merged |= _strictest(ours, theirs, merged)
    return {key: value for key, value in merged.items() if value is not None}


def _strictest(ours: Values, theirs: Values, merged: Values) -> dict[str, Any]:
    """The strictest combination of guard values, whoever changed them: the stricter
    guard, the patterns of both sides, and only exceptions (`unless`) that both sides
    have."""
    binding = [side for side in (ours, theirs) if strictness_of(side)]
    if not binding:
        return {}
    kept = {"guard": max(binding, key=strictness_of)["guard"]}
    for key in ("commands", "paths", "unless"):
        sides = [as_list(key, side.get(key)) or [] for side in (*binding, merged)]
        united = dict.fromkeys(chain(*sides))
        if key == "unless":
            united = dict.fromkeys(
                filter(set(sides[0]).intersection(*sides).__contains__, united)
            )
        kept[key] = [*united] or None
    return kept


def _counted_by_both(ours: Values, theirs: Values) -> Values:
    """What both sides had counted before they diverged, say because of a squashed
    merge."""
    counted = {}
    for key in COUNTS:
        if key in ours and key in theirs:
            counted[key] = min(_counted(key, ours[key]), _counted(key, theirs[key]))
    return counted


def _reinforced_later(ours: Values, theirs: Values) -> str:
    """The side with the later `last_reinforced`, "" if equal."""
    our_rank = _date_rank(ours.get("last_reinforced"))
    their_rank = _date_rank(theirs.get("last_reinforced"))
    if our_rank == their_rank:
        return ""
    return "ours" if our_rank > their_rank else "theirs"


def _reasons(ours: Values, theirs: Values, merged: Values) -> dict[str, Any]:
    """Values that explain another value, from the side that it came from: why an entry
    was retired or archived."""
    reasons = {}
    if (side := _deciding(ours, theirs, merged, "status")) is not None:
        reasons["retired_because"] = side.get("retired_because")
    if (side := _deciding(ours, theirs, merged, "archived_at")) is not None:
        reasons |= {key: side[key] for key in ARCHIVE_KEYS if key in side}
    return reasons


def _deciding(ours: Values, theirs: Values, merged: Values, key: str) -> Values | None:
    """The side whose value of a key wins; None if both or neither have it."""
    kept = merged.get(key)
    sides = [side for side in (ours, theirs) if same(side.get(key), kept)]
    return sides[0] if len(sides) == 1 else None


def _merge_value(key: str, base: Any, ours: Any, theirs: Any, preferred: str) -> Any:
    if same(theirs, base):
        return ours
    if same(ours, base):
        return theirs
    if key in COUNTS:
        both = _counted(key, ours) + _counted(key, theirs)
        return max(0, both - _counted(key, base))
    if ours is None or theirs is None:
        return theirs if ours is None else ours
    if same(ours, theirs):
        return ours
    return _merge_both_changed(key, ours, theirs, preferred)


def _merge_both_changed(key: str, ours: Any, theirs: Any, preferred: str) -> Any:
    if key in RANKS:
        return max(ours, theirs, key=RANKS[key])
    if key in EARLIER_WINS:
        return min(ours, theirs, key=_early_rank)
    our_items = as_list(key, ours)
    their_items = as_list(key, theirs)
    if our_items is not None and their_items is not None:
        new_items = [item for item in their_items if item not in our_items]
        return our_items + new_items
    if {type(ours), type(theirs)} <= {int, float}:
        return max(ours, theirs, key=lambda value: (value == value, value, str(value)))
    if preferred:
        return ours if preferred == "ours" else theirs
    return max(ours, theirs, key=lambda value: (str(value), repr(value)))


def _counted(key: str, value: Any) -> int:
    effective, _ = read_values({key: value})
    return int(effective.get(key, effective["extra"].get(key, 0)))


def _date_rank(value: Any) -> tuple[bool, str]:
    text = "" if value is None else str(value)
    return is_day(text[:10]), text


def _early_rank(value: Any) -> tuple[bool, str]:
    """Days sort before values that are not days."""
    is_date, text = _date_rank(value)
    return not is_date, text


RANKS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(LATER_WINS, _date_rank),
    "status": lambda value: (STATUS_RANK.get(str(value), 0), str(value)),
}
"""The ranking of values by key; the higher value wins."""


def as_list(key: str, value: Any) -> list[Any] | None:
    """The value of a list key as an entry has it."""
    effective = read_values({key: value})[0]["extra"].get(key)
    return effective if isinstance(effective, list) else None


def same(value: Any, other: Any) -> bool:
    """Whether two values are the same: 1 is neither true nor 1.0, but NaN equals
    NaN."""
    return repr(value) == repr(other)

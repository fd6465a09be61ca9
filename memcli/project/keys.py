"""What each configuration key accepts, and which keys a repository may set."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from memcli.memory.values import KINDS, LEVEL_WEIGHTS, LEVELS, TYPES
from memcli.text.matching import stanzas

Check = Callable[[Any], Any]
"""Converts a written value, or raises ValueError that says what is allowed."""


def _choice(*allowed: str) -> Check:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError("one of " + ", ".join(allowed))
        return str(value)

    return check


Bound = float | str
"""As it is shown."""


def number(low: Bound, high: Bound, *, whole: bool = False) -> Check:
    """The check of a number in a range."""

    def check(value: Any) -> Any:
        converted = math.nan
        with suppress(TypeError, ValueError, OverflowError):
            converted = math.nan if isinstance(value, bool) else float(value)
        is_between = float(low) <= converted <= float(high)
        if not is_between or (whole and converted != int(converted)):
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"{kind} from {low} to {high}")
        return int(converted) if whole else converted

    return check


_whole = partial(number, whole=True)


def _table(
    names: Sequence[str], of: Check, base: Mapping[str, Any] | None = None
) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, dict) or not set(value) <= set(names):
            raise ValueError("a table with keys among " + ", ".join(names))
        return {**(base or {}), **{name: of(item) for name, item in value.items()}}

    return check


def _flag(value: Any) -> bool:
    if str(value).lower() not in ("true", "false", "1", "0"):
        raise ValueError("true or false")
    return str(value).lower() in ("true", "1")


def below_root(value: Any) -> str:
    """A relative path that stays below its root. Raises ValueError for any other."""
    path = Path(value.strip()) if isinstance(value, str) else Path("/")
    leads_out = path.is_absolute() or ".." in path.parts
    if leads_out or not path.parts or "\0" in str(path):
        raise ValueError("a path below the root")
    return path.as_posix()


def _glob(value: Any) -> str:
    path = below_root(value)
    if any("**" in part and part != "**" for part in Path(path).parts):
        raise ValueError(
            "globs in which ** is a whole part, like services/**/MEMORY.md"
        )
    return path


def _list(of: Check, described: str) -> Check:
    def check(value: Any) -> tuple[Any, ...]:
        items = value.split(",") if isinstance(value, str) else value
        is_list = isinstance(items, (list, tuple))
        if not is_list or not all(isinstance(item, str) for item in items):
            raise ValueError(described)
        return tuple(of(item.strip()) for item in items)

    return check


def _model(value: Any) -> str:
    # It may become a command-line argument, so it must not look like an option.
    if not isinstance(value, str) or not re.fullmatch(
        r"[A-Za-z0-9][\w.:@/\[\]-]*", value
    ):
        raise ValueError("the name of a model, like claude-haiku-4-5")
    return value


def _names(allowed: Sequence[str]) -> Check:
    described = "a list of names among " + ", ".join(allowed)

    def check(item: str) -> str:
        if item not in allowed:
            raise ValueError(described)
        return item

    return _list(check, described)


CHECKS: Mapping[str, Callable[..., Check]] = {
    "choice": _choice,
    "number": number,
    "whole number": _whole,
    "number by kind": lambda *bounds: _table(KINDS, number(*bounds)),
    "number by level": lambda *bounds: _table(LEVELS, number(*bounds), LEVEL_WEIGHTS),
    "whole number by type": lambda *bounds: _table(TYPES, _whole(*bounds)),
    "flag": lambda: _flag,
    "text": lambda: str,
    "model": lambda: _model,
    "folder": lambda: below_root,
    "folders": lambda: _list(str, "a list of folders, like ~/work/shop"),
    "globs": lambda: _list(_glob, "a list of globs below the root"),
    "kinds": lambda: _names(KINDS),
    "types": lambda: _names(TYPES),
}
"""The checks of values, by their names in keys.txt."""


class Key(NamedTuple):
    """A configuration key: the values it accepts (see CHECKS), its meaning
    (docs/commands.md), and whether any repository may set it or only the user."""

    takes: str
    meaning: str
    anyone: bool

    @property
    def check(self) -> Check:
        """The check of its values."""
        what, _, given = self.takes.partition(": ")
        return CHECKS[what](*given.split())


KEYS: dict[str, Key] = {}
"""In the order of `Config`."""
for _head, _text in list(stanzas("project/keys.txt").items())[1:]:
    _name, _, _who = _head.partition(" ")
    _takes, _meaning = _text.split("\n")
    KEYS[_name] = Key(takes=_takes, meaning=_meaning, anyone=_who == "for anyone")

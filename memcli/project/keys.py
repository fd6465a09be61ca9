"""What each key of the configuration takes, and which of them a repository may set."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memcli.memory.values import KINDS, LEVEL_WEIGHTS, LEVELS, TYPES
from memcli.text.matching import table

Check = Callable[[Any], Any]
"""It turns what was written into the value or raises ValueError saying what is
allowed."""


def _choice(*allowed: str) -> Check:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError("one of " + ", ".join(allowed))
        return str(value)

    return check


def number(low: float, high: float, *, whole: bool = False) -> Check:
    """The check of a number in a range."""

    def check(value: Any) -> Any:
        try:
            given = (
                float("nan") if isinstance(value, (bool, list, dict)) else float(value)
            )
        except (TypeError, ValueError, OverflowError):
            given = float("nan")
        if not low <= given <= high or (whole and given != int(given)):
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"{kind} from {low} to {high}")
        return int(given) if whole else given

    return check


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
    path = Path(value.strip()) if isinstance(value, str) else Path("/")
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in str(path):
        raise ValueError("a path below the root")
    return path.as_posix()


def _glob(value: Any) -> str:
    path = below_root(value)
    if any("**" in part and part != "**" for part in Path(path).parts):
        raise ValueError(
            "globs in which ** is a whole part, like services/**/MEMORY.md"
        )
    return path


def _list(of: Check, what: str) -> Check:
    def check(value: Any) -> tuple[Any, ...]:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not all(
            isinstance(item, str) for item in items
        ):
            raise ValueError(what)
        return tuple(of(item.strip()) for item in items)

    return check


def _model(value: Any) -> str:
    # It may become an argument of a command: never an option.
    if not isinstance(value, str) or not re.fullmatch(
        r"[A-Za-z0-9][\w.:@/\[\]-]*", value
    ):
        raise ValueError("the name of a model, like claude-haiku-4-5")
    return value


def _names(allowed: Sequence[str]) -> Check:
    def check(item: str) -> str:
        if item not in allowed:
            raise ValueError("a list of names among " + ", ".join(allowed))
        return item

    return _list(check, "a list of names among " + ", ".join(allowed))


OF_A_REPOSITORY = frozenset(
    "fusion min_cosine context walk decay half_life half_life_by_kind growth use_importance"
    " prominence_weight mmr_lambda limit max_tokens max_tokens_by_type level_weights kind_weights"
    " found jobs_dir memory_files reinforce_mode inject_min".split()
)
"""What the configuration of a repository may set; all else is the user's."""


def _number(*bounds: str, whole: bool = False) -> Check:
    low, high = map(json.loads, bounds)
    return number(low, high, whole=whole)


_CHECKS: Mapping[str, Callable[..., Check]] = {
    "choice": _choice,
    "flag": lambda: _flag,
    "folders": lambda: _list(str, "a list of folders, like ~/work/shop"),
    "globs": lambda: _list(_glob, "a list of globs below the root"),
    "kinds": lambda *bounds: _table(KINDS, _number(*bounds)),
    "levels": lambda *bounds: _table(LEVELS, _number(*bounds), LEVEL_WEIGHTS),
    "model": lambda: _model,
    "names": lambda of: _names(KINDS if of == "kinds" else TYPES),
    "number": _number,
    "path": lambda: below_root,
    "text": lambda: str,
    "types": lambda *bounds: _table(TYPES, _number(*bounds, whole=True)),
    "whole": partial(_number, whole=True),
}
_ROWS = map(str.split, table("project/keys.txt").splitlines())
KEYS = {key: _CHECKS[kind](*given) for key, kind, *given in _ROWS}

"""What each key of the configuration takes, and which of them a repository may set."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memcli.memory.values import KINDS, LEVEL_WEIGHTS, LEVELS, TYPES

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
        given = math.nan
        with suppress(TypeError, ValueError, OverflowError):
            given = math.nan if isinstance(value, bool) else float(value)
        is_between = low <= given <= high
        if not is_between or (whole and given != int(given)):
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
    """A path that is relative and leads out of nothing. Raises ValueError."""
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


def _list(of: Check, what: str) -> Check:
    def check(value: Any) -> tuple[Any, ...]:
        items = value.split(",") if isinstance(value, str) else value
        is_list = isinstance(items, (list, tuple))
        if not is_list or not all(isinstance(item, str) for item in items):
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
    """
    fusion min_cosine context walk
    decay half_life half_life_by_kind growth use_importance prominence_weight
    mmr_lambda limit max_tokens max_tokens_by_type level_weights kind_weights
    found jobs_dir memory_files reinforce_mode inject_min
    """.split()
)
"""What the configuration of a repository may set; all else is the user's."""


KEYS: Mapping[str, Check] = {
    "query": _choice("plain", "llm"),
    "fusion": _choice("auto", "bm25", "linear", "rrf", "blend"),
    "min_cosine": number(-1, 1),
    "context": number(0, 2),
    "walk": number(0, 3, whole=True),
    "decay": _choice("half-life", "linear", "fsrs", "none"),
    "half_life": number(0.1, 36500),
    "half_life_by_kind": _table(KINDS, number(0.1, 1000000000)),
    "growth": _choice("log", "linear", "none"),
    "use_importance": _flag,
    "prominence_weight": number(0, 4),
    "mmr_lambda": number(0, 1),
    "limit": number(1, 1000, whole=True),
    "max_tokens": number(0, 1000000, whole=True),
    "max_tokens_by_type": _table(TYPES, number(0, 1000000, whole=True)),
    "level_weights": _table(LEVELS, number(0, 10), LEVEL_WEIGHTS),
    "kind_weights": _table(KINDS, number(0, 10)),
    "roots": _list(str, "a list of folders, like ~/work/shop"),
    "found": _flag,
    "jobs_dir": below_root,
    "memory_files": _list(_glob, "a list of globs below the root"),
    "reinforce_mode": _choice("retrieved", "aligned", "rated"),
    "compact_after_extract": _flag,
    "episodes_keep": number(1, 10000, whole=True),
    "extract_global": _flag,
    "learn": _choice("propose", "keep", "off"),
    "hook_proxy": _flag,
    "hook_show": _flag,
    "sync": _choice("off", "session"),
    "inject_min": number(0, 1),
    "history": _flag,
    "history_days": number(1, 36500, whole=True),
    "history_commits": number(0, 1000000, whole=True),
    "history_mb": number(1, 100000, whole=True),
    "embedder": _choice(
        "auto", "none", "local", "openai", "gemini", "ollama", "openai-compatible"
    ),
    "embed_model": str,
    "embed_url": str,
    "embed_dimensions": number(0, 100000, whole=True),
    "embed_kinds": _names(KINDS),
    "embed_types": _names(TYPES),
    "embed_min_importance": number(0, 1),
    "llm": _choice("none", "anthropic", "claude", "codex", "scripted"),
    "llm_replies": str,
    "model": _model,
    "max_cost": number(0, 1000),
    "max_cost_day": number(0, 10000),
    "max_calls": number(0, 100000, whole=True),
    "store_url": str,
    "store_team": str,
}
"""What each key takes, in the order of `Config`."""

"""What each key of the configuration takes, and which of them a repository may set."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

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


class Key(NamedTuple):
    """A key of the configuration: what it takes, what it means (docs/commands.md), and
    whether the configuration of any repository may set it, or only the user's."""

    check: Check
    meaning: str
    anyone: bool = False


KEYS: Mapping[str, Key] = {
    "query": Key(
        _choice("plain", "llm"),
        "how a task becomes a query: as it stands, or condensed by the language "
        "model first",
    ),
    "fusion": Key(
        _choice("auto", "bm25", "linear", "rrf", "blend"),
        "how lexical and vector relevance join; without vectors every mode is bm25",
        anyone=True,
    ),
    "min_cosine": Key(
        number(-1, 1),
        "cosine from which an entry is near by its vector alone; -1 is 0.3, "
        "and 0.03 more for every doubling above 500 chunks",
        anyone=True,
    ),
    "context": Key(
        number(0, 2),
        "what entries of one session, and neighbours of one day in a file, lend "
        "each other; 0 is nothing",
        anyone=True,
    ),
    "walk": Key(
        number(0, 3, whole=True),
        "how many edges (similar, supports) to walk from the hits",
        anyone=True,
    ),
    "decay": Key(
        _choice("half-life", "linear", "fsrs", "none"),
        "how memory fades with age",
        anyone=True,
    ),
    "half_life": Key(
        number(0.1, 36500),
        "days until half is left (decay half-life; the floor is 0.1)",
        anyone=True,
    ),
    "half_life_by_kind": Key(
        _table(KINDS, number(0.1, 1000000000)),
        "half-life of a kind; policy and architecture do not fade unless named",
        anyone=True,
    ),
    "growth": Key(
        _choice("log", "linear", "none"),
        "what n reinforcements do: 1 + log2(n+1)/8, 1 + n, or nothing",
        anyone=True,
    ),
    "use_importance": Key(
        _flag, "whether importance is part of prominence", anyone=True
    ),
    "prominence_weight": Key(
        number(0, 4),
        "w in relevance x prominence^w; 0 ranks by relevance alone",
        anyone=True,
    ),
    "mmr_lambda": Key(
        number(0, 1),
        "1 ranks by score alone, less prefers hits unlike those above them",
        anyone=True,
    ),
    "limit": Key(
        number(1, 1000, whole=True), "how many ranked hits at most", anyone=True
    ),
    "max_tokens": Key(
        number(0, 1000000, whole=True),
        "size of a whole answer in tokens (characters / 4); 0 is no limit",
        anyone=True,
    ),
    "detail": Key(
        _choice("auto", "none", "high"),
        "whether what happened in an episode is shown: auto shows it of the first hit",
        anyone=True,
    ),
    "refresh": Key(
        _flag, "whether a search first brings the index to the state of the files"
    ),
    "max_tokens_by_type": Key(
        _table(TYPES, number(0, 1000000, whole=True)),
        "most tokens that ranked hits of one type may take",
        anyone=True,
    ),
    "level_weights": Key(
        _table(LEVELS, number(0, 10), LEVEL_WEIGHTS),
        "factor of each level",
        anyone=True,
    ),
    "kind_weights": Key(
        _table(KINDS, number(0, 10)),
        "factor of a kind, 1.0 when not named",
        anyone=True,
    ),
    "roots": Key(
        _list(str, "a list of folders, like ~/work/shop"),
        "outside of a project, the repositories that mem recall answers from",
    ),
    "found": Key(
        _flag,
        "whether memory that people and other tools keep in a repository is in "
        "view, too",
        anyone=True,
    ),
    "jobs_dir": Key(
        below_root, "one more folder of jobs, relative to the root", anyone=True
    ),
    "memory_files": Key(
        _list(_glob, "a list of globs below the root"),
        "globs of further memory files of the project level, relative to the root",
        anyone=True,
    ),
    "reinforce_mode": Key(
        _choice("retrieved", "aligned", "rated", "off"),
        "what a session strengthens: all that it was shown, what it used, as a "
        "language model rates it, or nothing",
        anyone=True,
    ),
    "compact_after_extract": Key(
        _flag, "whether mem extract compacts the files it wrote"
    ),
    "episodes_keep": Key(
        number(1, 10000, whole=True),
        "live episodes of a file; older ones go to its archive",
    ),
    "contradictions": Key(
        _choice("flag", "decay", "resolve"),
        "what mem compact does with entries that contradict each other: name them, "
        "weaken both, or ask the language model",
    ),
    "semantic": Key(
        _flag, "whether mem compact merges what says the same in other words, too"
    ),
    "consolidate": Key(
        _flag, "whether the language model makes facts of new episodes in mem compact"
    ),
    "promote_global": Key(
        _flag,
        "whether mem compact copies to ~/MEMORY.md what the language model calls "
        "generic",
    ),
    "health_min": Key(
        number(0, 100), "the score below which mem health --check says no", anyone=True
    ),
    "extract_global": Key(
        _flag, "whether mem extract may write what holds in any project to ~/MEMORY.md"
    ),
    "learn": Key(
        _choice("propose", "keep", "off"),
        "what becomes of what rules find in sessions: propose keeps rules for good "
        "and proposes the rest, keep writes all of it, off learns nothing",
    ),
    "hook_proxy": Key(
        _flag, "whether hooks show your own proxy file at the start of a session"
    ),
    "hook_show": Key(
        _flag, "whether you are shown a line when hooks told an agent something"
    ),
    "hook_by": Key(
        _choice("command", "mcp"),
        "what answers the prompts and tools of Claude Code that mem init wires: a "
        "process for each, or the mem mcp of the session",
    ),
    "sync": Key(
        _choice("off", "session"),
        "when your own memory is brought in step: `off` is by `mem sync` alone, "
        "`session` after every session",
    ),
    "inject_min": Key(
        number(0, 1),
        "how strong the evidence must be that an entry, a chat or a commit bears on "
        "a prompt, for a hook to tell it",
        anyone=True,
    ),
    "history": Key(_flag, "keep what was said and committed, and find it"),
    "history_days": Key(
        number(1, 36500, whole=True), "how old a session may be that is kept"
    ),
    "history_commits": Key(
        number(0, 1000000, whole=True), "how many of the newest commits are found"
    ),
    "history_mb": Key(
        number(1, 100000, whole=True), "megabytes that the record may take"
    ),
    "embedder": Key(
        _choice(
            "auto", "none", "local", "openai", "gemini", "ollama", "openai-compatible"
        ),
        "what makes vectors of texts; auto is local, none is words alone",
    ),
    "embed_model": Key(str, "model of the embedder; empty is the provider's usual one"),
    "embed_url": Key(str, "URL of the embedder, in place of the provider's own"),
    "embed_dimensions": Key(
        number(0, 100000, whole=True),
        "dimension to ask the embedder for; 0 is its usual one",
    ),
    "embed_kinds": Key(_names(KINDS), "kinds of entries to embed; none named is all"),
    "embed_types": Key(_names(TYPES), "types of entries to embed; none named is all"),
    "embed_min_importance": Key(
        number(0, 1), "importance from which entries are embedded"
    ),
    "llm": Key(
        _choice("none", "anthropic", "claude", "codex", "scripted"),
        "the language model to ask: over the API, through the claude or codex "
        "command, or from a file of replies",
    ),
    "llm_replies": Key(
        str, "file of the replies of llm = scripted, a JSON string a line"
    ),
    "model": Key(_model, "the model to ask"),
    "max_cost": Key(number(0, 1000), "USD that one run may spend on a language model"),
    "max_cost_day": Key(
        number(0, 10000), "USD that a day may cost, all projects together"
    ),
    "max_calls": Key(
        number(0, 100000, whole=True),
        "calls of a language model that a day may see, all projects together",
    ),
    "store_url": Key(
        str,
        "PostgreSQL URL of the shared index; the password is better kept in ~/.pgpass",
    ),
    "store_team": Key(
        str,
        "role that may read what is pushed; empty is the project's own, at first "
        "your own",
    ),
}
"""In the order of `Config`."""

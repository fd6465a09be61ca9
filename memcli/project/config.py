"""Configuration: defaults <- user file <- project file <- environment <- flags, each with its
origin.

The project file is untrusted: it may rank and budget, and name files below the root. Everything
else in it is refused with its line. `resolve` is pure; only `load` touches the disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memcli.errors import UsageError
from memcli.memory.levels import LEVEL_WEIGHTS
from memcli.memory.values import KINDS, LEVELS, TYPES


class Config(NamedTuple):
    """Every key with its default. Meaning and limits stand in `KEYS`, in the same order."""

    query: str = "plain"
    fusion: str = "auto"
    min_cosine: float = -1.0
    context: float = 0.4
    walk: int = 0
    decay: str = "half-life"
    half_life: float = 90.0
    half_life_by_kind: Mapping[str, float] = {}
    growth: str = "log"
    use_importance: bool = True
    prominence_weight: float = 0.04
    mmr_lambda: float = 0.95
    limit: int = 10
    max_tokens: int = 800
    max_tokens_by_type: Mapping[str, int] = {}
    level_weights: Mapping[str, float] = LEVEL_WEIGHTS
    kind_weights: Mapping[str, float] = {}
    jobs_dir: str = ""
    memory_files: Sequence[str] = ()
    reinforce_mode: str = "retrieved"
    compact_after_extract: bool = True
    episodes_keep: int = 20
    extract_global: bool = False
    hook_proxy: bool = True
    inject_min: float = 0.15
    embedder: str = "auto"
    embed_model: str = ""
    embed_url: str = ""
    embed_folder: str = ""
    embed_dimensions: int = 0
    embed_kinds: Sequence[str] = ()
    embed_types: Sequence[str] = ()
    embed_min_importance: float = 0.0
    llm: str = "none"
    llm_replies: str = ""
    model: str = "claude-haiku-4-5"
    max_cost: float = 0.5
    max_cost_day: float = 2.0
    store_url: str = ""
    store_team: str = ""


class Key(NamedTuple):
    """`check` turns what was written into the value or raises ValueError saying what is allowed."""

    check: Callable[[Any], Any]
    meaning: str
    project: bool = True


class Fault(NamedTuple):
    """A configuration value that cannot be used: where, and why."""

    where: str
    what: str
    hint: str


class Settings(NamedTuple):
    """The resolved configuration, the origin of every value, and what could not be used."""

    config: Config
    origins: Mapping[str, str]
    faults: tuple[Fault, ...]


def _choice(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError("one of " + ", ".join(allowed))
        return str(value)

    return check


def _number(low: float, high: float, *, whole: bool = False) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        try:
            number = float("nan") if isinstance(value, (bool, list, dict)) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not low <= number <= high or (whole and number != int(number)):
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"{kind} from {low} to {high}")
        return int(number) if whole else number

    return check


def _table(
    names: Sequence[str], of: Callable[[Any], Any], base: Mapping[str, Any] | None = None
) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, dict) or not set(value) <= set(names):
            raise ValueError("a table with keys among " + ", ".join(names))
        return {**(base or {}), **{name: of(item) for name, item in value.items()}}

    return check


def _flag(value: Any) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False}
    found = words.get(str(value).lower())
    if found is None:
        raise ValueError("true or false")
    return found


def _below_root(value: Any) -> str:
    path = Path(value.strip()) if isinstance(value, str) else Path("/")
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in str(path):
        raise ValueError("a path below the root")
    return path.as_posix()


def _globs(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise ValueError("a list of globs below the root")
    for item in items:
        if any("**" in part and part != "**" for part in Path(_below_root(item)).parts):
            raise ValueError("globs in which ** is a whole part, like services/**/MEMORY.md")
    return tuple(_below_root(item) for item in items)


def _model(value: Any) -> str:
    # It may become an argument of a command: never an option.
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][\w.:@/\[\]-]*", value):
        raise ValueError("the name of a model, like claude-haiku-4-5")
    return value


def _names(allowed: Sequence[str]) -> Callable[[Any], tuple[str, ...]]:
    def check(value: Any) -> tuple[str, ...]:
        items = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not set(items) <= set(allowed):
            raise ValueError("a list of names among " + ", ".join(allowed))
        return tuple(items)

    return check


_TOKENS = _number(0, 1_000_000, whole=True)
_WEIGHT = _number(0, 10)
KEYS: dict[str, Key] = {
    "query": Key(
        _choice("plain", "llm"),
        "how a task becomes a query: as it stands, or condensed by the language model first",
        project=False,
    ),
    "fusion": Key(
        _choice("auto", "bm25", "linear", "rrf", "blend"),
        "how lexical and vector relevance join; without vectors every mode is bm25",
    ),
    "min_cosine": Key(
        _number(-1, 1),
        "cosine from which an entry is near by its vector alone; -1 is 0.28 with the local embedder, 0.3 with"
        " others, and 0.03 more for every doubling above 500 chunks",
    ),
    "context": Key(
        _number(0, 2),
        "what entries of one session, and neighbours of one day in a file, lend each other; 0 is nothing",
    ),
    "walk": Key(
        _number(0, 3, whole=True), "how many edges (similar, supports) to walk from the hits"
    ),
    "decay": Key(_choice("half-life", "linear", "fsrs", "none"), "how memory fades with age"),
    "half_life": Key(
        _number(0.1, 36500), "days until half is left (decay half-life; the floor is 0.1)"
    ),
    "half_life_by_kind": Key(
        _table(KINDS, _number(0.1, 1_000_000_000)),
        "half-life of a kind; policy and architecture do not fade unless named",
    ),
    "growth": Key(
        _choice("log", "linear", "none"),
        "what n reinforcements do: 1 + log2(n+1)/8, 1 + n, or nothing",
    ),
    "use_importance": Key(_flag, "whether importance is part of prominence"),
    "prominence_weight": Key(
        _number(0, 4), "w in relevance x prominence^w; 0 ranks by relevance alone"
    ),
    "mmr_lambda": Key(
        _number(0, 1), "1 ranks by score alone, less prefers hits unlike those above them"
    ),
    "limit": Key(_number(1, 1000, whole=True), "how many ranked hits at most"),
    "max_tokens": Key(_TOKENS, "size of a whole answer in tokens (characters / 4); 0 is no limit"),
    "max_tokens_by_type": Key(
        _table(TYPES, _TOKENS), "most tokens that ranked hits of one type may take"
    ),
    "level_weights": Key(_table(LEVELS, _WEIGHT, LEVEL_WEIGHTS), "factor of each level"),
    "kind_weights": Key(_table(KINDS, _WEIGHT), "factor of a kind, 1.0 when not named"),
    "jobs_dir": Key(_below_root, "one more folder of jobs, relative to the root"),
    "memory_files": Key(
        _globs, "globs of further memory files of the project level, relative to the root"
    ),
    "reinforce_mode": Key(
        _choice("retrieved", "aligned", "rated"),
        "what a session strengthens: all that it was shown, what it used, or as a language model rates it",
    ),
    "compact_after_extract": Key(
        _flag, "whether mem extract compacts the files it wrote", project=False
    ),
    "episodes_keep": Key(
        _number(1, 10_000, whole=True),
        "live episodes of a file; older ones go to its archive",
        project=False,
    ),
    "extract_global": Key(
        _flag,
        "whether mem extract may write what holds in any project to ~/MEMORY.md",
        project=False,
    ),
    "hook_proxy": Key(
        _flag, "whether hooks show your own proxy file at the start of a session", project=False
    ),
    "inject_min": Key(
        _number(0, 1), "share of what a prompt says that an entry must meet for a hook to show it"
    ),
    "embedder": Key(
        _choice(
            "auto",
            "none",
            "local",
            "openai",
            "gemini",
            "ollama",
            "voyage",
            "openai-compatible",
            "onnx",
        ),
        "what makes vectors of texts; auto is local when its extra is installed, else none",
        project=False,
    ),
    "embed_model": Key(
        str, "model of the embedder; empty is the provider's usual one", project=False
    ),
    "embed_url": Key(str, "URL of the embedder, in place of the provider's own", project=False),
    "embed_folder": Key(str, "folder with the model of embedder onnx", project=False),
    "embed_dimensions": Key(
        _number(0, 100_000, whole=True),
        "dimension to ask the embedder for; 0 is its usual one",
        project=False,
    ),
    "embed_kinds": Key(
        _names(KINDS), "kinds of entries to embed; none named is all", project=False
    ),
    "embed_types": Key(
        _names(TYPES), "types of entries to embed; none named is all", project=False
    ),
    "embed_min_importance": Key(
        _number(0, 1), "importance from which entries are embedded", project=False
    ),
    "llm": Key(
        _choice("none", "anthropic", "claude", "scripted"),
        "the language model to ask: over the API, through the claude command, or from a file of replies",
        project=False,
    ),
    "llm_replies": Key(
        str, "file of the replies of llm = scripted, a JSON string a line", project=False
    ),
    "model": Key(_model, "the model to ask", project=False),
    "max_cost": Key(
        _number(0, 1000), "USD that one run may spend on a language model", project=False
    ),
    "max_cost_day": Key(
        _number(0, 10_000), "USD that a day may cost, all projects together", project=False
    ),
    "store_url": Key(
        str,
        "PostgreSQL URL of the shared index; the password is better kept in ~/.pgpass",
        project=False,
    ),
    "store_team": Key(
        str,
        "role that may read what is pushed; empty is the project's own, at first your own",
        project=False,
    ),
}


def read_text(value: str) -> Any:
    """A value as written on a command line or in the environment: TOML where it is, else text."""
    if re.fullmatch(r"[\w./*-]*", value) and not value[:1].isdigit():
        return {"true": True, "false": False}.get(value, value)
    if value[:1] not in "[{\"'":
        return value
    import tomllib

    try:
        return tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return value


def resolve(layers: Sequence[tuple[str, Mapping[str, Any], Callable[[str], str]]]) -> Settings:
    """Lay `(origin, values, where)` over the defaults, the last one on top.

    `where(key)` names the place of a key ("path:line"). The origin "project file" is untrusted.
    """
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Config._fields, "default")
    faults: list[Fault] = []
    for origin, layer, where in layers:
        for key, raw in layer.items():
            fault = _judge(origin, key, raw, where, values)
            if fault is not None:
                faults.append(fault)
            else:
                origins[key] = origin
    return Settings(Config(**values), origins, tuple(faults))


def _judge(
    origin: str, key: str, raw: Any, where: Callable[[str], str], values: dict[str, Any]
) -> Fault | None:
    known = KEYS.get(key)
    if known is None:
        return Fault(where(key), f"unknown key {key[:60]!r}", _nearest(key))
    if origin == "project file" and not known.project:
        return Fault(
            where(key),
            f"{key!r} may not be set by a repository",
            "set it in ~/.config/mem/config.toml or with --set, and remove it here",
        )
    try:
        values[key] = known.check(raw)
    except ValueError as error:
        return Fault(
            where(key), f"{key} = {str(raw)[:60]!r} cannot be used", f"{key} takes {error}"
        )
    return None


def _nearest(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, KEYS, 1)
    return f"did you mean {near[0]!r}?" if near else "keys: " + ", ".join(KEYS)


def user_file(home: Path, environ: Mapping[str, str]) -> Path:
    """The user's configuration file."""
    base = environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if os.path.isabs(base) else home / ".config") / "mem" / "config.toml"


MOST_BYTES = 65_536
"""A longer file is not read."""
MOST_DOTS = 100
"""A file with more dots in a line is not read: the time for a dotted key grows with its square, or
worse.
"""
MOST_KEYS = 200
"""A file with more keys is not judged: each unknown one costs a search for the one that was meant.
"""


def read_file(path: Path) -> tuple[dict[str, Any], Callable[[str], str], list[Fault]]:
    """The values of a TOML file, the place of each key, and what is wrong with it."""

    def nowhere(key: str) -> str:
        return str(path)

    try:
        if not path.is_file() and path.exists() and not path.is_dir():
            return {}, nowhere, [Fault(str(path), "is no regular file", "put a TOML file there")]
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}, nowhere, []
    except OSError as error:
        return (
            {},
            nowhere,
            [Fault(str(path), f"cannot be read: {error.strerror}", "check its permissions")],
        )
    if len(data) > MOST_BYTES:
        return (
            {},
            nowhere,
            [Fault(str(path), f"is longer than {MOST_BYTES} bytes", "keep its keys alone")],
        )
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
            return (
                {},
                nowhere,
                [Fault(str(path), f"has a line with more than {MOST_DOTS} dots", "part it")],
            )
        values = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return {}, nowhere, [Fault(f"{path}:{line}", "is not UTF-8 text", "save the file as UTF-8")]
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        return (
            {},
            nowhere,
            [
                Fault(
                    f"{path}:{found[1] if found else 1}", f"is not TOML: {error}", "mend that line"
                )
            ],
        )

    if len(values) > MOST_KEYS:
        return (
            {},
            nowhere,
            [Fault(str(path), f"has more than {MOST_KEYS} keys", "keys: " + ", ".join(KEYS))],
        )

    def where(key: str) -> str:
        found = re.search(rf"^[ \t]*\[?\"?{re.escape(key)}\"?[ \t]*[=.\]]", text, re.MULTILINE)
        return f"{path}:{text.count(chr(10), 0, found.start()) + 1}" if found else str(path)

    return values, where, []


def load(
    *, home: Path, root: Path | None, environ: Mapping[str, str], flags: Mapping[str, Any]
) -> Settings:
    """Read the files and the environment, and resolve them. Nothing is raised for bad values."""
    layers: list[tuple[str, Mapping[str, Any], Callable[[str], str]]] = []
    faults: list[Fault] = []
    files = [("user file", user_file(home, environ))]
    if root is not None:
        files.append(("project file", root / ".mem.toml"))
    for origin, path in files:
        values, where, bad = read_file(path)
        faults += bad
        layers.append((origin, values, where))
    layers.append(("environment", from_environment(environ), lambda key: f"MEM_{key.upper()}"))
    layers.append(("flag", flags, lambda key: f"--set {key}"))
    settings = resolve(layers)
    return settings._replace(faults=(*faults, *settings.faults))


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The keys that are set as `MEM_*`; an empty one is not set."""
    return {key: read_text(value) for key in KEYS if (value := environ.get(f"MEM_{key.upper()}"))}


def jobs_dirs(*layers: Mapping[str, Any]) -> tuple[str, ...]:
    """The usable values of `jobs_dir` in these layers: what the root may be found by."""
    found = []
    for value in filter(None, (layer.get("jobs_dir") for layer in layers)):
        with suppress(ValueError):
            found.append(_below_root(value))
    return tuple(found)


def require(settings: Settings) -> Config:
    """The configuration, or the first fault as an error (exit 2)."""
    for fault in settings.faults:
        raise UsageError(f"configuration: {fault.what} ({fault.where})", fault.hint)
    return settings.config


def parse_flags(items: Sequence[str]) -> dict[str, Any]:
    """`--set key=value` items as values."""
    flags: dict[str, Any] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageError(
                f"--set {item}: a key and a value are needed",
                "write --set key=value, e.g. --set decay=none",
            )
        flags[key.strip().replace("-", "_")] = read_text(value.strip())
    return flags


def of_flags(items: Sequence[str]) -> Settings:
    """The settings that `--set` items make over the defaults, with their faults."""
    return resolve([("flag", parse_flags(items), lambda key: f"--set {key}")])


def home_of(environ: Mapping[str, str]) -> Path:
    """`~`: MEM_HOME where it is set, else the user's home folder."""
    moved = environ.get("MEM_HOME")
    return Path(os.path.abspath(moved)) if moved else Path(os.path.expanduser("~"))

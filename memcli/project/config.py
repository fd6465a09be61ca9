"""Configuration: defaults <- user file <- project file <- environment <- flags, with
origins.

The project file is untrusted: it may rank and budget, and name files below the root.
Everything else in it is refused with its line. `resolve` is pure; only `load` touches
the disk."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memcli.errors import RefusedError, UsageError
from memcli.memory.prominence import HALF_LIFE
from memcli.memory.values import LEVEL_WEIGHTS
from memcli.named import NamedTuple
from memcli.storage.files import Unreadable, decode, read_file, refuse_others
from memcli.text.matching import verbose
from memcli.user_folders import moved_to

MOST_BYTES = 65_536  # a longer file is not read
MOST_DOTS = 100  # of a key: time grows with the square of them
MOST_KEYS = 200  # of a file: each unknown one costs a search for what was meant
Where = Callable[[str], str]  # the place of a key: "path:line"


class Config(NamedTuple):
    """Every key with its default; `keys` says what each accepts, in the same order."""

    query: str = "plain"
    fusion: str = "auto"
    min_cosine: float = -1.0
    context: float = 0.4
    walk: int = 0
    decay: str = "half-life"
    half_life: float = HALF_LIFE
    half_life_by_kind: Mapping[str, float] = {}
    growth: str = "log"
    use_importance: bool = True
    prominence_weight: float = 0.04
    mmr_lambda: float = 0.95
    limit: int = 10
    max_tokens: int = 800
    detail: str = "auto"
    refresh: bool = True
    max_tokens_by_type: Mapping[str, int] = {}
    level_weights: Mapping[str, float] = LEVEL_WEIGHTS
    kind_weights: Mapping[str, float] = {}
    roots: Sequence[str] = ()
    found: bool = True
    jobs_dir: str = ""
    memory_files: Sequence[str] = ()
    reinforce_mode: str = "retrieved"
    compact_after_extract: bool = True
    episodes_keep: int = 20
    contradictions: str = "flag"
    semantic: bool = False
    consolidate: bool = False
    promote_global: bool = False
    health_min: float = 60.0
    extract_global: bool = False
    learn: str = "propose"
    hook_proxy: bool = True
    hook_show: bool = True
    hook_by: str = "command"
    sync: str = "off"
    inject_min: float = 0.5
    history: bool = True
    history_days: int = 365
    history_commits: int = 20_000
    history_mb: int = 500
    embedder: str = "auto"
    embed_model: str = ""
    embed_url: str = ""
    embed_dimensions: int = 0
    embed_kinds: Sequence[str] = ()
    embed_types: Sequence[str] = ()
    embed_min_importance: float = 0.0
    llm: str = "none"
    llm_replies: str = ""
    model: str = "claude-haiku-4-5"
    max_cost: float = 0.5
    max_cost_day: float = 2.0
    max_calls: int = 40
    store_url: str = ""
    store_team: str = ""


OTHER_VARIABLES = frozenset(
    f"MEM_{name}"
    for name in "HOME ROOT DB NOW DEBUG HOOK HOOK_SECONDS EMBED_KEY".split()
)
"""The variables of mem that set no key."""


class Fault(NamedTuple):
    """A configuration value that cannot be used: where, and why."""

    where: str
    what: str
    hint: str


class Settings(NamedTuple):
    """The resolved configuration, the origin of every value, and what could not be
    used."""

    config: Config
    origins: Mapping[str, str]
    faults: tuple[Fault, ...]


def _read_value(value: str) -> Any:
    if re.fullmatch(r"[\w./*-]*", value) and not value[:1].isdigit():
        return {"true": True, "false": False}.get(value, value)
    if value[:1] not in "[{\"'":
        return value
    import tomllib

    try:
        return tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return value


def resolve(layers: Sequence[tuple[str, Mapping[str, Any], Where]]) -> Settings:
    """Apply layers of `(origin, values, where)` to the defaults; the last one wins."""
    values = {}
    origins = dict.fromkeys(Config._fields, "default")
    faults = []
    for origin, layer, where in layers:
        for key, written in layer.items():
            try:
                values[key] = _judged(origin, key, written)
                origins[key] = origin
            except UsageError as error:
                faults.append(Fault(_shown(where(key)), error.what, error.hint))
    return Settings(Config(**values), origins, tuple(faults))


def _judged(origin: str, key: str, written: Any) -> Any:
    from memcli.project.keys import KEYS  # most runs set nothing

    if key not in KEYS:
        from difflib import get_close_matches

        some = ", ".join(map(repr, get_close_matches(key, KEYS, 3, 0)))
        hint = f"mem doctor --all lists them; near it are {some}"
        for near in get_close_matches(key, KEYS, 1):
            hint = f"did you mean {near!r}?"
        raise UsageError(f"unknown key {_shown(key)[:60]!r}", hint)
    if origin == "project file" and not KEYS[key].anyone:
        hint = "set it in ~/.config/mem/config.toml or with --set, and remove it here"
        raise UsageError(f"{key!r} must not be set by a repository", hint)
    try:
        return KEYS[key].check(written)
    except ValueError as error:
        message = f"{key} = {_shown(str(written))[:60]!r} cannot be used"
        raise UsageError(message, f"{key} takes {error}") from None


def _shown(text: str) -> str:
    """A key or value of a configuration, which may be a credential in a wrong place."""
    from memcli.text.secrets import redact_secrets  # only where something is wrong

    return redact_secrets(text)


def user_file(home: Path, environ: Mapping[str, str]) -> Path:
    """The user's configuration file."""
    folder = moved_to("XDG_CONFIG_HOME", environ) or home / ".config"
    return Path(folder, "mem", "config.toml")


class TomlFile(NamedTuple):
    """A configuration file, and what is wrong with it."""

    path: str
    values: Mapping[str, Any] = {}
    text: str = ""
    faults: tuple[Fault, ...] = ()

    def where(self, key: str) -> str:
        """The place of a key."""
        named = rf"^[ \t]*\[?\"?{re.escape(key)}\"?[ \t]*[=.\]]"
        found = re.search(named, self.text, re.MULTILINE)
        line = self.text.count("\n", 0, found.start()) + 1 if found else 0
        return f"{self.path}:{line}" if found else self.path


def read_settings(path: Path, root: Path | None = None) -> TomlFile:
    """Read a TOML file, one of a repository from below its `root`. Nothing is
    raised."""
    if not os.path.lexists(path):
        return TomlFile(str(path))
    try:
        if root is None:
            refuse_others(path.parent, by_root=True)
            refuse_others(path, by_root=True)
        data = read_file(path, root or "", most=MOST_BYTES).data
        text = decode(data).removeprefix("\ufeff")
        return TomlFile(str(path), values=_parsed(text), text=text)
    except Unreadable as error:
        place = f"{path}:{error.line}" if "UTF-8" in str(error) else str(path)
        hint = "save it as UTF-8 TOML that you can read"
        fault = Fault(where=place, what=str(error), hint=hint)
    except UsageError as error:
        fault = Fault(where=str(path), what=error.what, hint=error.hint)
    except RefusedError as error:
        place, _, message = error.what.rpartition(": ")
        fault = Fault(where=place, what=message, hint=error.hint)
    except (ValueError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        place = f"{path}:{line[1] if line else 1}"
        message = f"is not valid TOML: {error}"
        fault = Fault(where=place, what=message, hint="fix that line")
    return TomlFile(str(path), faults=(fault,))


@verbose
def _dotted_key() -> str:
    """A key with too many parts, bare or quoted."""
    part = r"""(?: [\w-]++ | " (?> (?: [^"\\\n] | \\. )* ) " | ' [^'\n]*+ ' )"""
    return rf"(?<![\w.\\-]) {part} (?: [ \t]*+ \. [ \t]*+ {part} ){{{MOST_DOTS}}}"


def _parsed(text: str) -> dict[str, Any]:
    has_dots = any(line.count(".") > MOST_DOTS for line in text.split("\n"))
    if has_dots and _dotted_key().search(text):
        raise UsageError(
            f"has a key with more than {MOST_DOTS} dots", "use fewer parts"
        )
    import tomllib

    values = tomllib.loads(text)
    if len(values) > MOST_KEYS:
        raise UsageError(
            f"has more than {MOST_KEYS} keys", "keep only those that mem has"
        )
    return values


def with_value(text: str, key: str, value: str) -> str | None:
    """A TOML file with one key set to a text and the rest unchanged; None if that is
    impossible."""
    import tomllib

    mark = text[: text.startswith("\ufeff")]
    body = text.removeprefix("\ufeff")
    table = re.search(r"(?m)^[ \t]*\[", body)
    tree_top = body[: table.start()] if table else body
    old_line = rf"""(?m)^([ \t]*{key}[ \t]*=[ \t]*)(?:"[^"\n]*"|'[^'\n]*')"""
    after, found = re.subn(old_line, rf'\g<1>"{value}"', tree_top, count=1)
    if not found:
        after = f'{key} = "{value}"' + ("\r\n" if "\r\n" in body else "\n") + tree_top
    after += body[len(tree_top) :]
    with suppress(ValueError, RecursionError):
        if tomllib.loads(after) == {**tomllib.loads(body), key: value}:
            return mark + after
    return None


def without_value(text: str, key: str, value: str) -> str:
    """A TOML file without the line that sets one key to this text, else unchanged."""
    import tomllib

    line = (
        rf"""(?m)^[ \t]*{key}[ \t]*=[ \t]*(?:"{value}"|'{value}')[ \t]*(?:\r?\n|\Z)"""
    )
    after = re.sub(line, "", text, count=1)
    with suppress(ValueError, RecursionError):
        values = tomllib.loads(text.removeprefix("\ufeff"))
        left = tomllib.loads(after.removeprefix("\ufeff"))
        if {**left, key: value} == values:
            return after
    return text


def load(
    *,
    home: Path,
    root: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
) -> Settings:
    """Read the files and the environment, and resolve them. Bad values raise
    nothing."""
    layers = []
    faults: list[Fault] = []

    def lay(origin: str, file: TomlFile) -> None:
        layers.append((origin, file.values, file.where))
        faults.extend(file.faults)

    lay("user file", read_settings(user_file(home, environ)))
    if root is not None:
        lay("project file", read_settings(root / ".mem.toml", root))
    variables = from_environment(environ)
    layers.append(("environment", variables, lambda key: f"MEM_{key.upper()}"))
    layers.append(("flag", flags, lambda key: f"--set {key}"))
    settings = resolve(layers)
    return settings._replace(faults=(*faults, *settings.faults))


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The keys set as `MEM_*`; an empty variable counts as not set."""
    values = {}
    for key in Config._fields:
        if given := environ.get(f"MEM_{key.upper()}"):
            values[key] = _read_value(given)
    return values


def unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """A line for each variable `MEM_*` that is nearly a key and no variable of ours."""
    for name in environ:
        key = name.removeprefix("MEM_").lower()
        if key == name.lower() or name in OTHER_VARIABLES or key in Config._fields:
            continue
        from difflib import get_close_matches

        for near in get_close_matches(key, Config._fields, 1, 0.8):
            yield f"{name} sets nothing: did you mean MEM_{near.upper()}?"


def jobs_dirs(*layers: Mapping[str, Any]) -> tuple[str, ...]:
    """The usable values of `jobs_dir` in these layers, which may mark the root."""
    folders = []
    for value in filter(None, (layer.get("jobs_dir") for layer in layers)):
        from memcli.project.keys import below_root

        with suppress(ValueError):
            folders.append(below_root(value))
    return tuple(folders)


def require(settings: Settings) -> Config:
    """The configuration, or the first fault as an error (exit 2)."""
    for fault in settings.faults:
        raise UsageError(f"configuration: {fault.what} ({fault.where})", fault.hint)
    return settings.config


def parse_flags(items: Sequence[str]) -> dict[str, Any]:
    """`--set key=value` items as values."""
    flags = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            hint = "write --set key=value, e.g. --set decay=none"
            raise UsageError(f"--set {_shown(item)}: needs a key and a value", hint)
        flags[key.strip().replace("-", "_")] = _read_value(value.strip())
    return flags


def home_of(environ: Mapping[str, str]) -> Path:
    """`~`: MEM_HOME where it is set, else the user's home folder."""
    moved = environ.get("MEM_HOME")
    return Path(os.path.abspath(moved)) if moved else Path(os.path.expanduser("~"))

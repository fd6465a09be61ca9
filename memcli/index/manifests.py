"""What the manifests of build tools declare.

A reader takes a manifest's text and returns the names that can be called. A manifest is
untrusted: a reader may raise ValueError, and nothing in it is run."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memcli.text.matching import verbose

MOST_NAMES = 2000  # of one manifest

Reader = Callable[[str], Iterable[str]]


def matches(pattern: Callable[[], re.Pattern[str]]) -> Callable[[str], list[str]]:
    """A reader that takes the first group that took part in each match."""

    def read(text: str) -> list[str]:
        matched = pattern().finditer(text)
        return [next(filter(None, match.groups())) for match in matched]

    return read


def _table(value: object, *keys: str) -> dict[str, Any]:
    """The table at the end of a path of keys, an empty one where there is none. Raises
    ValueError for what is no table."""
    if not isinstance(value, dict):
        raise ValueError("a table was wanted")
    if not keys or value.get(keys[0]) is None:
        return {} if keys else value
    return _table(value[keys[0]], *keys[1:])


def _parsed(text: str) -> object:
    """What is written in JSON, which begins with a brace, or in TOML, which cannot."""
    return json.loads(text) if text.lstrip()[:1] == "{" else tomllib.loads(text)


def keys_at(*keys: str) -> Reader:
    """A reader of the keys of a table."""
    return lambda text: _table(_parsed(text), *keys)


def values_at(*paths: tuple[str, ...]) -> Reader:
    """A reader of the texts and numbers that stand at paths of keys."""

    def read(text: str) -> Iterator[str]:
        settings = _parsed(text)
        for keys in paths:
            value = settings
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            if isinstance(value, str | int | float):
                yield str(value)

    return read


@verbose(lines=True)
def _rules() -> str:
    """The targets of a rule of make, several of which may share one."""
    return r"^ ([\w%][^:=\#\n$]*) ::? (?![=:])"


def make(text: str) -> list[str]:
    """The targets of make, patterns of them with a `*`; those with a variable are left
    out."""
    rules = _rules().findall(text.replace("\\\n", " "))
    return [name.replace("%", "*") for rule in rules for name in rule.split()]


@verbose(lines=True)
def recipe() -> str:
    """A recipe of just with its parameters, which may have defaults, or an alias."""
    return r"""
        ^ @? ([\w-]+)
          (?: [ \t]+ [*+$]* [\w-]+
              (?: = (?: "[^"\n]*" | '[^'\n]*' | `[^`\n]*` | [\w.-]* (?: \( [^()\n]* \) )? ) )?
          )*
          [ \t]* : (?!=)
      | ^ alias [ \t]+ ([\w-]+) [ \t]* :=
    """


def taskfile(text: str) -> Iterator[str]:
    """The keys right below `tasks:`; read by lines, since aliases of YAML can grow
    without end."""
    inside = False
    depth = ""
    for line in text.splitlines():
        if re.match(r"[^\s#]", line):
            inside = line.startswith("tasks:")
            depth = ""
        key = re.match(r"([ \t]+)[\"']?([\w:.*-]+)[\"']?:", line) if inside else None
        if key is None:
            continue
        depth = depth or key[1]
        if key[1] == depth:
            yield key[2]


@verbose
def entry_point() -> str:
    """A script that setuptools makes of a function."""
    return r"""(?<![\w.-]) ([\w.-]+) [ \t]* = [ \t]* [\w.]+ : [\w.]+"""


_SCRIPT_TABLES = (
    ("project", "scripts"),
    ("project", "gui-scripts"),
    ("tool", "poetry", "scripts"),
    ("tool", "pdm", "scripts"),
)


def python_scripts(text: str) -> Iterator[str]:
    """The scripts of pyproject.toml and hatch.toml, whoever runs them; those of hatch
    also with their environment."""
    settings = _parsed(text)
    for keys in _SCRIPT_TABLES:
        yield from _table(settings, *keys)
    # hatch.toml has at its top what else is below tool.hatch
    for hatch in (_table(settings, "tool", "hatch"), settings):
        environments = _table(hatch, "envs")
        for name in environments:
            for script in _table(environments, name, "scripts"):
                yield script
                yield f"{name}:{script}"


@verbose(lines=True)
def _published() -> str:
    """Ports of a compose file: an item of a list that begins with a number or a
    variable (`- "8080:80"`), also in one line; `published: 8080` or `target: 80`."""
    return r"""
        (?: ^ [ \t]* - | [\[,] ) [ \t]* ["']? ( [\d$] [\w$.:{}/-]* ) ["']?
            [ \t]* (?: \#.* | (?= [\],] ) | $ )
      | ^ [ \t]* (?: - [ \t]+ )? (?: published | target ): \s* ["']? (\d{2,5})
    """


@verbose
def _port() -> str:
    """A number that is no part of an address."""
    return r"(?<! [\w.] ) (\d{2,5}) (?! [\w.] )"


def ports(text: str) -> Iterator[str]:
    """The ports that services of a compose file have on either side, or by default."""
    for item, alone in _published().findall(text):
        yield from _port().findall(item or alone)


@verbose(lines=True, ignore_case=True)
def exposed() -> str:
    """The port that a Dockerfile says its image listens on."""
    return r"^ [ \t]* EXPOSE [ \t]+ (\d{2,5})"

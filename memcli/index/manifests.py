"""What the manifests of build tools declare.

A reader takes a manifest's text and returns the names that can be called. A manifest is
untrusted: a reader may raise ValueError, and nothing in it is run."""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any

from memcli.text.matching import verbose

MOST_NAMES = 2000  # of one manifest, and of one list of environments

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


@verbose(lines=True)
def gradle() -> str:
    """A task of gradle, declared in Groovy or Kotlin."""
    return r"""
        \b tasks? \. (?: register | create | registering | creating )
            (?: < [^>\n]{1,80} > )? \( [ ]* (?: name: [ ]* )? ["'] ([\w-]+)
      | ^ [ \t]* task [ (]+ ["']? ([\w-]+)
      | \b val [ ] (\w+) (?: [ ]? : [ ]? [\w<>.]{1,80} )?
            [ ] by [ ] tasks \. (?: registering | creating )
    """


@verbose(lines=True)
def gradle_configured() -> str:
    """A task of gradle, or what bears its name, that a build file sets up."""
    return r"""
        \b tasks? \. named (?: < [^>\n]{1,80} > )? \( [ ]* ["'] ([\w-]+)
      | \b tasks? \. (\w+)
      | \b val [ ] (\w+) [ ] by [ ] (?: \w+ \. )? (?: registering | getting )
      | ^ [ \t]* (\w+) (?: \.configure )? (?: \( [^()\n]* \) )? [ ]* \{
    """


def _elements(text: str) -> Iterator[Any]:
    """The elements of an XML text without their name spaces. Raises ValueError for one
    that declares entities, which can grow without end."""
    from xml.etree import ElementTree  # few repositories have such a manifest

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("it declares entities")
    for element in ElementTree.fromstring(text.lstrip("\ufeff")).iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.rpartition("}")[2]
            yield element


def maven_profiles(text: str) -> Iterator[str]:
    """The ids of the profiles of Maven."""
    for element in list(_elements(text)):
        if element.tag == "profile":
            yield str(element.findtext("id") or "").strip()


@verbose(lines=True)
def _dotted_task() -> str:
    """A module of a task of mix."""
    return r"^ [ \t]* defmodule [ \t]+ Mix\.Tasks\. ([\w.]+) \s+ do"


def _mix_modules(text: str) -> Iterator[str]:
    for name in _dotted_task().findall(text):
        parts = (
            re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", part) for part in name.split(".")
        )
        yield ".".join(parts).lower()


@verbose
def _aliases_head() -> str:
    """Where the list of aliases of mix begins."""
    return r"\b aliases (?: \(\) )? (?: : \s* | ,? \s+ do:? \s+ ) \["


@verbose
def _part_of_list() -> str:
    """A key of a list of Elixir, a text, a remark, or a bracket."""
    return r"""
        (?: "(?P<quoted>[\w.]+)" | \b(?P<plain>\w+) ) : (?=\s)
      | "[^"\n]*" | \#[^\n]* | (?P<opened> [\[({] ) | (?P<closed> [\])}] )
    """


def _mix_aliases(text: str) -> Iterator[str]:
    head = _aliases_head().search(text)
    depth = 1
    for part in _part_of_list().finditer(text, head.end()) if head else ():
        key = part["quoted"] or part["plain"]
        if key and depth == 1:
            yield key
        if part["opened"]:
            depth += 1
        if part["closed"]:
            depth -= 1
        if depth == 0:
            return


def mix(text: str) -> list[str]:
    """The aliases of mix, and the modules that are tasks."""
    return [*_mix_aliases(text), *_mix_modules(text)]


@verbose
def _rake_line() -> str:
    """A namespace or a task of rake: its indentation, which it is, and its name."""
    return r"""
        ([ \t]*) (namespace | task | multitask | file | [\w:]+ Task \. (?: new | create ) )
        [ (]+ :? ["']? ([\w:.-]+)
    """


def rake(text: str) -> Iterator[str]:
    """Tasks with the namespaces that they stand in, as the indentation tells."""
    around: list[tuple[int, str]] = []
    for line in text.splitlines():
        declared = _rake_line().match(line)
        if declared is None:
            continue
        depth = len(declared[1])
        around = [outer for outer in around if outer[0] < depth]
        name = declared[3].rstrip(":")
        if declared[2] == "namespace":
            around.append((depth, name))
        else:
            yield ":".join([*(outer for _, outer in around), name])


def nox(text: str) -> Iterator[str]:
    """The sessions of nox, by their name or the one that the decorator gives."""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called) in ("nox.session", "session"):
                yield from _names_of(node, decorator)


def _names_of(node: ast.FunctionDef, decorator: ast.expr) -> Iterator[str]:
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    named = [keyword.value for keyword in given if keyword.arg == "name"]
    if not named:
        yield node.name
        yield node.name.replace("_", "-")
    for value in named:
        if isinstance(value, ast.Constant):
            yield str(value.value)


def _environments(text: str) -> Iterator[str]:
    """The names in a list of environments of tox; `py{310,311}-a` is two."""
    for word in re.split(r"[\s,]+(?![^{]*\})", text):
        parts = re.split(r"\{([^{}]*)\}", word)
        choices = [re.split(r"\s*,\s*", part) for part in parts]
        yield from map("".join, islice(product(*choices), MOST_NAMES))


def tox_ini(text: str) -> Iterator[str]:
    """The environments of tox in an INI file."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    for section in parser.sections():
        if section.startswith("testenv:"):
            yield from _environments(section.removeprefix("testenv:"))
        for key in ("envlist", "env_list") if section in ("tox", "tox:tox") else ():
            yield from _environments(parser.get(section, key, fallback=""))


def _tox_table(given: Mapping[str, Any]) -> Iterator[str]:
    yield from _table(given, "env")
    listed = given.get("env_list")
    yield from (
        (str(environment) for environment in listed) if isinstance(listed, list) else ()
    )
    if isinstance(given.get("legacy_tox_ini"), str):
        yield from tox_ini(given["legacy_tox_ini"])


def tox_toml(*keys: str) -> Reader:
    """A reader of the environments in the table of tox at a path of keys."""
    return lambda text: _tox_table(_table(_parsed(text), *keys))


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


def cargo_names(part: str) -> Callable[[str], Iterator[str]]:
    """A reader of the names in `[[bin]]` or `[[example]]`; a package is a binary of its
    own."""

    def read(text: str) -> Iterator[str]:
        settings = _parsed(text)
        rows = _table(settings).get(part)
        for row in rows if isinstance(rows, list) else []:
            yield str(_table(row).get("name", ""))
        if part == "bin":
            yield str(_table(settings, "package").get("name", ""))

    return read


def dotnet_tools(text: str) -> Iterator[str]:
    """The commands of local tools of .NET."""
    tools = _table(_parsed(text), "tools")
    for name in tools:
        listed = _table(tools, name).get("commands")
        commands = map(str, listed) if isinstance(listed, list) else [name]
        for command in commands:
            yield command
            yield command.removeprefix("dotnet-")


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


def nothing(_: str) -> tuple[str, ...]:
    """What a tool without manifests declares."""
    return ()

"""When a correction is told: keys by which the files and commands that it is about are looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

TYPE = "corrective"
"""The type of the entries that are told before a tool runs."""
_SPAN = r"(?<!`)`([^`\n]{3,200})`(?!`)"
_TOKEN = r"[\w./-]+"
_MAGIC = frozenset("*?[\\")


def keys(values: Mapping[str, Any], text: str) -> set[tuple[str, str]]:
    """(what, key) of every path, command and code span that an entry names."""
    commands = list(_texts(values.get("commands")))
    found = {("path", _path_key(glob)) for glob in _texts(values.get("paths"))}
    found |= {("command", _command_key(glob)) for glob in commands}
    if not commands and "`" in text:
        found |= {
            ("span", key) for span in code_spans(text) for key in re.findall(_TOKEN, span)[:1]
        }
    return found


def _texts(values: object) -> Iterator[str]:
    items = values if isinstance(values, (list, tuple)) else ()
    return (item for item in items if isinstance(item, str))


def _path_key(glob: str) -> str:
    """A part that every file has which the glob covers: a name, an ending, or "" for any file."""
    last = next((part for part in reversed(glob.split("/")) if part not in ("", "*", "**")), "")
    if not _MAGIC & set(last):
        return last
    dot, ending = last[: last.rfind(".")], last[last.rfind(".") :]
    whole = dot and glob.endswith(last) and not _MAGIC & set(ending) and ending.startswith(".")
    return ending if whole else ""


def _command_key(glob: str) -> str:
    first = glob.split(None, 1)[0] if glob.split() else ""
    return "" if _MAGIC & set(first) else first


def of_files(names: Iterable[str]) -> set[tuple[str, str]]:
    """The keys under which entries about these files (relative to the root) are found."""
    found = {("path", "")}
    for name in names:
        parts = name.split("/")
        endings = (part[part.rfind(".") :] for part in parts if "." in part)
        found |= {("path", part) for part in (*parts, *endings)}
    return found


def of_commands(whole: str, simple: Iterable[str]) -> set[tuple[str, str]]:
    """The keys under which entries about a command line, and the commands in it, are found."""
    first = {("command", each.split(None, 1)[0]) for each in simple if each.split()}
    return {("command", ""), *first, *(("span", token) for token in re.findall(_TOKEN, whole))}


def code_spans(body: str) -> list[str]:
    """The code spans of a text that have two or more words."""
    found = (" ".join(match[1].split()) for match in re.finditer(_SPAN, body))
    return [span for span in found if " " in span]

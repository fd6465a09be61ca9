"""Options of earlier versions, and how each is written now. An old option still works,
with a note."""

import tomllib
from collections.abc import Sequence

from memcli.text.matching import table

_TABLES = tomllib.loads(table("cli/spellings.toml"))
MEANT: dict[str, str] = _TABLES["meant"]
EARLIER: dict[str, dict[str, str]] = _TABLES["earlier"]
MOVED: dict[str, dict[str, str]] = _TABLES["moved"]
# Every command that filters.
_FILTERED = {"--no-global": "--level project --level job --level task"}


def earlier(command: str, option: str) -> str:
    """How an earlier option is written now; empty if there was no such option."""
    return {**_FILTERED, **EARLIER.get(command, {})}.get(option, "")


def rewritten(line: Sequence[str], option: str, form: str) -> list[str]:
    """The command line with the option and its value rewritten to the current form."""
    place = next(n for n, word in enumerate(line) if word.partition("=")[0] == option)
    before = list(line[:place])
    after = list(line[place + 1 :])
    value = line[place].partition("=")[2]
    if "{}" in form and not value and after:
        value = after.pop(0)
    if option in _FILTERED and "--level" in line:
        form = ""  # the levels are given explicitly
    words = [word.replace("{}", value) for word in form.split()]
    if words[:1] == ["mem"]:
        _, command, *words = words
        before = [command, *before[1:]]
    if words == ["--deny"]:
        words = []  # a guard refuses by default
    return [*before, *words, *after]

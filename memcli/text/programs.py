"""What is known of programs by their names. Pure."""

from functools import cache

from memcli.text.matching import stanzas


@cache
def rows(stanza: str) -> dict[str, str]:
    """What stands behind each name of a part of the table."""
    split = (line.partition(": ") for line in stanzas(_TABLE)[stanza].splitlines())
    return {name: text for names, _, text in split for name in names.split(", ")}


@cache
def options_of(stanza: str) -> dict[str, frozenset[str]]:
    """The options of each program."""
    return {name: frozenset(text.split()) for name, text in rows(stanza).items()}


@cache
def by_program(stanza: str) -> dict[str, str]:
    """What stands before the programs of a row, by each of them."""
    listed = rows(stanza).items()
    return {program: name for name, text in listed for program in text.split(", ")}


_TABLE = "text/programs.txt"
VALUED = options_of("values")
"""Options before a program's subcommand that take the next word as their value."""
WRAPPERS = by_program("wrappers")
"""Programs that run the command behind them, and how many operands they have before
it."""
CARRIERS = by_program("carriers")
"""Commands that run another in a place of its own: how many operands stand before that,
and whether it is on another machine ("elsewhere")."""
LONGEST_NAME = 3
"""Words of a command by which it is known."""

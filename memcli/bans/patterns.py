"""Patterns of commands, compared with a simple command word by word. Pure.

`git push --force*` is the program, what it is told to do, and an option. Options are
met in any order, and `-rf` is `-r -f`. `*` alone stands for any words, a `*` at the
end of the last word for the rest of the line."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, product

from memcli.named import NamedTuple
from memcli.project import globs
from memcli.text.programs import LONGEST_NAME, VALUED, by_program, rows
from memcli.text.shell import MOST_WORDS, Words, read_line

LONGEST = 500
"""Characters of a pattern."""


class CommandPattern(NamedTuple):
    """A pattern as it is compared: `operands` without options, None for any words."""

    text: str
    operands: tuple[str | None, ...]
    options: tuple[str, ...]


def parse_pattern(text: str) -> CommandPattern:
    """A written pattern. Raises ValueError, with the reason, for one that cannot bind:
    empty, too long, or so wide that every command would match."""
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    words = _words(text)
    if not words:
        raise ValueError("the pattern is empty")
    if is_everything(words[0]):
        raise ValueError("matches every command")
    rest = ["*"] if words[-1].endswith("*") else []
    named, options = _parted([*words, *rest])
    operands: list[str | None] = []
    for word in named:
        if word != "*":
            operands.append(word)
        elif operands[-1:] != [None]:
            operands.append(None)
    return CommandPattern(
        text=text,
        operands=tuple(operands),
        options=tuple(options),
    )


class OtherName(NamedTuple):
    """A command as it is called too: `options` that belong to that, and its first
    `name`."""

    options: frozenset[str]
    name: list[str]


@cache
def _other_names() -> dict[tuple[str, ...], OtherName]:
    """The other names of commands, by the words of them that are no options."""
    names = {}
    for other, name in by_program("names").items():
        options = frozenset(filter(_is_option, other.split()))
        operands = tuple(word for word in other.split() if word not in options)
        names[operands] = OtherName(options=options, name=name.split())
    return names


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The operands and the options of a command, by its first name."""
    options = list(filter(_is_option, words))
    operands = [_plain(word) for word in words if not _is_option(word)]
    for number in range(LONGEST_NAME, 0, -1):
        other = _other_names().get(tuple(operands[:number]))
        if other and other.options.issubset(options):
            operands = [*other.name, *operands[number:]]
            options = [word for word in options if word not in other.options]
            break
    return operands, options


def program_of(words: Sequence[str]) -> str:
    """The program of a command, by its first name; "" for none."""
    operands, _ = _parted(words)
    return "".join(operands[:1])


def is_everything(glob: str) -> bool:
    """Whether a glob has nothing of its own that a name must have."""
    bare = re.sub(r"\[[^\]]*\]", "*", glob).replace("*.*", "*")
    return not bare.strip("*?/") or bare in (".", "./")


def _words(text: str) -> list[str]:
    """The words of a pattern, wrappers and git's own options removed as in a command."""
    reading = read_line(text)
    if reading.unread:
        raise ValueError(f"cannot be fully parsed: {reading.unread}")
    commands = [each.words for each in reading.commands if not each.is_run]
    if len(commands) > 1:
        raise ValueError("names more than one command")
    return list(chain.from_iterable(commands))


def _is_option(word: str) -> bool:
    """Whether a word is an option; `--` counts as one, too."""
    return word.startswith("-") and word != "-"


def matches(pattern: CommandPattern, command: Words) -> bool:
    """Whether a simple command is what a pattern says."""
    operands, options = _parted(command)
    spelled = [*options, *_other_spellings(operands, options)]
    if not all(_has_option(spelled, wanted) for wanted in pattern.options):
        return False
    known = ("--", *pattern.options, *_other_spellings(operands, pattern.options))
    others = [word for word in options if not _is_setting(operands, word)]
    if None in pattern.operands or all(_is_known(option, known) for option in others):
        return globs.follow(pattern.operands, operands[:MOST_WORDS])
    return False


def _is_setting(operands: Sequence[str], option: str) -> bool:
    """Whether an option says of a program how it works, with its value, not what it
    does."""
    name, is_set, _ = option.partition("=")
    return bool(is_set) and name in VALUED.get("".join(operands[:1]), ())


def _plain(word: str) -> str:
    """A word without what does not change the file that it may name."""
    return word.removeprefix("./").rstrip("/") or word


def _other_spellings(operands: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """The same options as a program calls them, too; GNU and git know a long one by the
    beginning of its name."""
    if not options:
        return
    heads = (" ".join(operands[: number + 1]) for number in range(LONGEST_NAME))
    spellings = rows("spellings")
    found = [spellings[head] for head in heads if head in spellings]
    alike = [names.split() for row in found for names in row.split(",")]
    known = list(chain.from_iterable(alike))
    for names in alike:
        if any(_spells(*pair, known) for pair in product(options, names)):
            yield from names


def _spells(option: str, name: str, known: Sequence[str]) -> bool:
    if not name.startswith("--"):
        return _is_cluster(option) and name[1] in option
    given = option.partition("=")[0]
    return given == name or (
        len(given) > 3 and given not in known and name.startswith(given)
    )


def _has_option(options: Sequence[str], wanted: str) -> bool:
    is_there = any(_is_option_of(option, wanted) for option in options)
    return is_there or _is_spread(wanted, options)


def _is_option_of(option: str, wanted: str) -> bool:
    """`--force` is met by `--force=x`, `-f` by `-xf`, `-n` by `-n4`; a glob by what it
    covers."""
    name = option.partition("=")[0]
    if len(wanted) == 2 and option[2:].isdigit():
        name = option[:2]
    return globs.matches(wanted, option) or globs.matches(wanted, name)


def _is_cluster(option: str) -> bool:
    """Whether an option is letters behind one dash: `-rf`."""
    return len(option) <= 5 and option[1:].isalpha()


def _is_known(option: str, wanted: Sequence[str]) -> bool:
    is_wanted = any(_is_option_of(option, each) for each in wanted)
    return is_wanted or _is_spread(option, wanted)


def _is_spread(option: str, options: Sequence[str]) -> bool:
    """Whether the letters of a cluster are all in other clusters."""
    letters = "".join(filter(_is_cluster, options))
    return _is_cluster(option) and set(letters).issuperset(option)

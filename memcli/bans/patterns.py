"""Patterns of commands, compared with a simple command word by word. Pure.

`git push --force*` is the program, what it is told to do, and an option. Options are
met in any order, and `-rf` is `-r -f`. `*` alone stands for any words, a `*` at the
end of the last word for the rest of the line."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, product

from memcli.named import NamedTuple
from memcli.project import globs
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
    operands: list[str | None] = []
    options: list[str] = []
    rest = ["*"] if words[-1].endswith("*") else []
    for word in (*words, *rest):
        if _is_option(word):
            options.append(word)
        elif word != "*":
            operands.append(_plain(word))
        elif operands[-1:] != [None]:
            operands.append(None)
    return CommandPattern(
        text=text,
        operands=tuple(operands),
        options=tuple(options),
    )


def is_everything(glob: str) -> bool:
    """Whether a glob has nothing of its own that a name must have."""
    bare = re.sub(r"\[[^\]]*\]", "*", glob).replace("*.*", "*")
    return not bare.strip("*?/") or bare in (".", "./")


def _words(text: str) -> list[str]:
    """The words of a pattern, wrappers and git's own options removed as in a command."""
    reading = read_line(text)
    if reading.unread:
        raise ValueError(f"cannot be read to its end: {reading.unread}")
    if len(reading.commands) > 1:
        raise ValueError("names more than one command")
    return list(reading.commands[0].words) if reading.commands else []


def _is_option(word: str) -> bool:
    return word.startswith("-") and word not in ("-", "--")


def _is_operand(word: str) -> bool:
    return word != "--" and not _is_option(word)


def matches(pattern: CommandPattern, command: Words) -> bool:
    """Whether a simple command is what a pattern says."""
    options = [word for word in command if _is_option(word)]
    operands = [_plain(word) for word in command if _is_operand(word)]
    spelled = [*options, *_other_spellings(command, options)]
    if not all(_has_option(spelled, wanted) for wanted in pattern.options):
        return False
    known = (*pattern.options, *_other_spellings(command, pattern.options))
    if None in pattern.operands or all(_is_known(option, known) for option in options):
        return globs.follow(pattern.operands, operands[:MOST_WORDS])
    return False


def _plain(word: str) -> str:
    """A word without what does not change the file that it may name."""
    return word.removeprefix("./").rstrip("/") or word


SPELLINGS = {
    "rm": "-r -R --recursive, -f --force, -v --verbose, -d --dir",
    "git add": "-A --all, -f --force, -u --update",
    "git branch": "-d --delete, -f --force, -m --move",
    "git checkout": "-f --force",
    "git clean": "-f --force",
    "git commit": "-a --all, -m --message, -n --no-verify",
    "git push": "-f --force, -d --delete, -u --set-upstream",
    "git reset": "--hard, --soft, --mixed, --merge, --keep",
    "git rm": "-f --force",
    "git switch": "-c --create, -C --force-create, -f --force --discard-changes",
    "git tag": "-d --delete, -f --force, -m --message",
    "git worktree": "-f --force",
    "npm install": "-g --global",
}
"""Options of programs that are one option, short and long."""


def _other_spellings(command: Words, options: Sequence[str]) -> Iterator[str]:
    """The same options as a program calls them, too; GNU and git know a long one by the
    beginning of its name."""
    if not options:
        return
    heads = (" ".join(command[:number]) for number in (1, 2))
    rows = [SPELLINGS[head] for head in heads if head in SPELLINGS]
    alike = [names.split() for row in rows for names in row.split(",")]
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

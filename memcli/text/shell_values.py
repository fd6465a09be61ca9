"""What stands for other words in a shell line: variables, and what programs list. Pure.

A value is what the line itself tells: words that are assigned, or looped over, or the
places in which a program looks for the files that it prints."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import chain, dropwhile, islice, pairwise, product, takewhile

from memcli.text.matching import verbose
from memcli.text.programs import options_of

Values = Mapping[str, Sequence[str]]
"""What a variable may be, by its name; nothing where the line does not tell. `()` is what
was printed last for a `$()`."""
MOST_COMMANDS = 2_000
"""So many commands of a list are looked at, and so many values of a variable."""
MOST_PRINTED = 20
"""So many words that are printed into a line are looked at."""
MOST_USES = 8
"""So many uses of variables in one word are replaced."""
LONGEST = 4_096
"""Characters of a value."""
PASSING = frozenset("grep egrep rg sort uniq head tail".split())
"""Programs that hand on some of the lines they are given."""
LISTERS = {"grep": 2, "rg": 2, "git grep": 3, "ls": 1, "git ls-files": 2}
"""Programs that list files, and how many words stand before where they look."""
SEEKING = frozenset("-e --regexp -f --file".split())
"""Options with what is sought, which is no word of its own then."""
TELLING_PLACE = ("pwd", "git rev-parse --show-toplevel")
"""Programs that print the folder in which they are called."""


PRINTERS = frozenset({"echo", "printf"})
"""Programs that print their words."""


class EndlessError(Exception):
    """There are more commands, or ways to read one, than are looked at."""


@verbose
def escape() -> str:
    r"""What a backslash makes in `$'…'`: a byte by its number, or a character."""
    return r"\\ (?: x (?P<hex> [0-9a-fA-F]{1,2} ) | (?P<octal> [0-7]{1,3} ) | (?P<other> . ) )"


def unescaped(text: str) -> str:
    """A text with what its backslashes make."""
    return escape().sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    if match["hex"] or match["octal"]:
        return chr(int(match["hex"] or match["octal"], 16 if match["hex"] else 8))
    return {"n": "\n", "t": "\t"}.get(match["other"], match["other"])


@verbose
def variable() -> str:
    """A use of a variable, or where something was printed into the line."""
    return r"""
        \$ (?P<open> \{ )? (?P<name> [A-Za-z_]\w* | [0-9@*] | \(\) ) (?(open) [^}]* \} )
    """


@verbose
def assignment() -> str:
    """A variable that is set for the command behind it."""
    return r"[A-Za-z_]\w* \+? = .*"


def is_option(word: str) -> bool:
    """Whether a word begins as options do."""
    return word.startswith("-")


def expanded(words: Sequence[str], values: Values) -> Iterator[list[str]]:
    """The words for each choice of what their variables may be; what the line does not
    tell stays as it is."""
    having = (word for word in words if "$" in word)
    used = (use["name"] for word in having for use in variable().finditer(word))
    known = [name for name in dict.fromkeys(used) if values.get(name)]
    if not known:  # most lines compile no pattern
        yield [*words]
        return
    for choice in product(*(values[name] for name in known)):
        given = dict(zip(known, choice, strict=True))

        def value(use: re.Match[str], given: Mapping[str, str] = given) -> str:
            return given.get(use["name"], use[0])

        yield [variable().sub(value, word, MOST_USES) for word in words]


def values_of(words: Sequence[str], values: Values) -> list[str]:
    """What words may be; nothing where one of them is not known."""
    each = chain.from_iterable(expanded(words, values))
    every_value = list(islice(each, MOST_COMMANDS + 1))
    if len(every_value) > MOST_COMMANDS:
        raise EndlessError
    is_known = not any("$" in text or len(text) > LONGEST for text in every_value)
    return every_value if is_known else []


def positional(words: Sequence[str]) -> Values:
    """What a script calls its own name and the words that it is given."""
    numbered = {str(number): [word] for number, word in enumerate(words[:10])}
    return {**numbered, "@": words[1:], "*": words[1:]}


ALIAS = "alias "
"""What stands before the name of an alias among values, where no variable's can."""


FED = "/dev/stdin"
"""What stands for the file of what another program prints."""


class SimpleCommand:
    """A simple command as it stands there, wrappers and all: `given` is the text on its
    standard input, where the line says it; `before` what it has its input from;
    `values` what its variables may be; `is_run` tells that another command of the line
    runs it."""

    def __init__(self, folder: str, before: "SimpleCommand | None" = None) -> None:
        self.words: list[str] = []
        self.writes: list[str] = []
        self.appends: list[str] = []
        self.folder = folder
        self.values: Values = {}
        self.given: str | None = None
        self.before = before
        self.is_run = False

    def redirect(self, redirection: str, word: str) -> None:
        """Note what a redirection reads from a word, or writes to it."""
        if redirection == "<<<":
            self.given = word
        elif ">" not in redirection:
            self.given = None if word in ("$()", FED) else ""
        elif not (redirection.endswith("&") and word.strip("-").isdigit()):
            at_end = redirection.endswith(">>")
            (self.appends if at_end else self.writes).append(word)

    def variants(self) -> Iterator["SimpleCommand"]:
        """The command for each choice of what its variables may be."""
        texts = (*self.words, *self.writes, *self.appends)
        values = {**self.values, "PWD": [self.folder or "."]}
        for each in expanded(texts, values):
            variant = copy(self)
            given = iter(each)
            variant.words = list(islice(given, len(self.words)))
            variant.writes = list(islice(given, len(self.writes)))
            variant.appends = list(given)
            yield variant

    def is_fed(self) -> bool:
        """Whether it has an input of its own."""
        return self.given is not None or self.before is not None

    def input(self) -> str | None:
        """What it reads; None where only running it tells."""
        if self.given is not None:
            return self.given
        if self.before is None:
            return ""
        program = posixpath.basename((*self.before.words, "")[0])
        if program in PRINTERS:
            return printed_by(self.before)
        return self.before.given if program == "cat" else None


def printed_by(command: SimpleCommand) -> str:
    """What a printer prints."""
    return unescaped(" ".join(dropwhile(_is_format, command.words[1:])))


def _is_format(word: str) -> bool:
    """Whether a printer takes a word as how to print the rest."""
    return word[:2] in ("-e", "-n", "-E", "%s", "%b")


def handed_on(simple: SimpleCommand) -> Sequence[str]:
    """What a command is given: words that are printed, or where the files lie that
    another program lists; nothing where the line does not tell."""
    printed = simple.input()
    if printed or simple.before is None:
        return (printed or "").split()
    return listed_by(simple.before)


def listed_by(command: SimpleCommand) -> Sequence[str]:
    """Where the files lie that a program lists; nothing where the line does not tell."""
    while command.before and PASSING.issuperset(command.words[:1]):
        command = command.before
    command = next(command.variants())
    words = command.words
    if finder := FINDERS.get("".join(words[:1])):
        return finder(words[1:])
    if " ".join(words) in TELLING_PLACE:
        return [command.folder or "."]
    head = " ".join(words[: 2 if words[:1] == ["git"] else 1])
    if head in PRINTERS:
        printed = printed_by(command).split()
        return printed if len(printed) <= MOST_PRINTED else []
    if head not in LISTERS:
        return []
    return _listed_places(head, words)


def _listed_places(head: str, words: Sequence[str]) -> Sequence[str]:
    """Where a program looks for the files that it lists."""
    valued = options_of("listing")[head]
    number = LISTERS[head]
    if not SEEKING.isdisjoint(valued.intersection(words)):
        number -= 1
    operands = [
        word
        for before, word in pairwise(("", *words))
        if not is_option(word) and before not in valued
    ]
    options = set(filter(is_option, words)) - valued
    is_told = all(map(_plain().fullmatch, options))
    places = operands[number:]
    return places if places and is_told else [*places, "."]


@verbose
def _plain() -> str:
    """An option of a program that lists files which takes no word of its own."""
    return r"- [acdEFhHiIlnoPrRsvwzZ0]* | -- (?: \S+=.* | hidden | null | .*-matches )?"


def found_by(words: Sequence[str]) -> list[str]:
    """What find is told to find: patterns of files by their names, or all that lies
    where it begins."""
    starts = list(takewhile(lambda word: word[:1] not in "-!(", words)) or ["."]
    names = list(_names_sought(words))
    choices = words.count("-o") + words.count("-or")
    is_nested = choices or "(" in words
    if len(names) <= choices or (is_nested and {"!", "-not", "-prune"} & set(words)):
        return starts
    return [posixpath.join(start, "**", name) for start in starts for name in names]


def _names_sought(words: Sequence[str]) -> Iterator[str]:
    """The patterns of names that find looks for, not those that it passes over."""
    for before, (option, value) in zip(("", *words), pairwise(words), strict=False):
        if option in ("-name", "-iname") and before not in ("!", "-not"):
            yield _in_any_case(value) if option == "-iname" else value


def _in_any_case(name: str) -> str:
    """A pattern of a name that matches it in capitals and in small letters."""
    return re.sub(
        r"[^\W\d_]", lambda letter: f"[{letter[0].lower()}{letter[0].upper()}]", name
    )


def found_by_fd(words: Sequence[str]) -> list[str]:
    """The same of fd: files with an ending, or all that lies where it looks."""
    given = list(pairwise(("", *words)))
    endings = [word for before, word in given if before in ("-e", "--extension")]
    valued = "-e --extension -E --exclude -t --type -d".split()
    operands = [
        word for before, word in given if before not in valued and not is_option(word)
    ]
    starts = operands[1:] or ["."]
    names = [f"**/*.{ending}" for ending in endings] or [""]
    return [posixpath.join(start, name) for start in starts for name in names]


FINDERS = {"find": found_by, "fd": found_by_fd, "fdfind": found_by_fd}
"""Programs that find files, and where these lie by the words behind the program."""

"""A shell line as the simple commands it runs, each as its words. Pure.

This reads a line as a shell splits it, with what the line itself says of variables.
What aliases, scripts, functions and the environment stand for is not seen. Where a line
cannot be read to its end, that is said."""

import posixpath
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain, dropwhile, takewhile
from operator import itemgetter

from memcli.named import NamedTuple
from memcli.text.matching import verbose
from memcli.text.programs import CARRIERS, LONGEST_NAME, VALUED, WRAPPERS
from memcli.text.shell_values import (
    ALIAS,
    FINDERS,
    MOST_COMMANDS,
    EndlessError,
    SimpleCommand,
    Values,
    assignment,
    handed_on,
    is_option,
    positional,
)
from memcli.text.shell_words import KEYWORDS, CommandList, LineSource

MOST_CHARACTERS = 200_000
MOST_WORDS = 2_000
MOST_READ = 40_000
"""So many words of all commands together are read, those of wrappers read twice."""
MOST_WRAPPERS = 64
"""So many places of a command are taken for where the program behind wrappers stands."""
DEEPEST = 8
"""So many shells within shells are opened."""

Words = tuple[str, ...]
PATTERN = frozenset("*?[")

SHELLS = frozenset("sh bash zsh dash ksh ash fish su runuser script".split())
"""Programs that run a line which `-c` or their input gives them."""
SOURCING = frozenset({".", "source"})
"""What runs the lines of a file in the shell that reads this one."""
INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "$()")
"""What a shell calls its input, and what another program prints."""
ENTERING = frozenset("-C --chdir --prefix --dir --project-directory".split())
"""Options that name the folder in which a program works."""
ABOUT = frozenset("--git-dir --work-tree GIT_DIR GIT_WORK_TREE MEM_ROOT".split())
"""Options and variables that name a repository whatever the folder is."""
EXECUTING = frozenset("-exec -execdir -ok -okdir -x --exec -X --exec-batch".split())
"""Options of programs that find files by which they run a command on them."""
FEEDING = frozenset({"xargs", "parallel"})
"""Programs that run a command on the words that they are given."""
ENDING = frozenset({"--", "-c", "--command"})
"""Behind what a carrier has the command that it runs."""
ELSEWHERE = "//elsewhere"
"""The folder of what runs on another machine: none here."""
EDITORS = ("sed", "gsed", "perl", "ruby")
"""Programs that change the files they are given when an option says "in place"."""
INTERPRETERS = frozenset(
    "python pypy perl ruby node nodejs bun deno tsx ts-node php lua luajit Rscript julia"
    " osascript pwsh powershell elixir groovy awk gawk mawk nawk".split()
)
"""Programs that run code which a word of theirs, or their input, gives them."""
NESTED = frozenset({"compose", "pr"})
"""Subcommands that have options of their own before what they are told to do."""


class ShellCommand(NamedTuple):
    """A simple command: the program by its base name, then its words; `writes` are the
    files that its redirections lead into, `appends` those at whose end they go on,
    `folder` the one in which it is called, as far as the line tells; `about` are those
    of repositories that it names; `is_run` of what another command of the line runs,
    `given` the text that an interpreter reads as its program."""

    words: Words
    writes: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    folder: str = ""
    about: tuple[str, ...] = ()
    is_run: bool = False
    given: str = ""


class Reading(NamedTuple):
    """The simple commands of a line, why there may be more ("" where there are not),
    and why one of them is not known (in a pattern it stands for any)."""

    commands: tuple[ShellCommand, ...] = ()
    unread: str = ""
    unknown: str = ""


def commands_of(line: str) -> list[Words]:
    """The words of each simple command of a shell line (see `read_line`)."""
    return [command.words for command in read_line(line).commands if command.words]


@lru_cache(maxsize=4)  # a hook looks at the same line several times
def read_line(line: str, folder: str = "") -> Reading:
    """The simple commands of a shell line that is called in a folder, in order, without
    wrappers. What a shell is given to run (`sh -c`, `$(…)`, `xargs`, `find -exec`, a
    here-document) counts as commands of their own."""
    reader = _LineReader()
    try:
        reader.read(line[:MOST_CHARACTERS], DEEPEST, folder)
    except EndlessError:
        reader.miss(f"it has more than {MOST_COMMANDS:,} commands")
    except RecursionError:
        reader.miss("it is nested too deep")
    if len(line) > MOST_CHARACTERS:
        reader.miss(f"it has more than {MOST_CHARACTERS:,} characters")
    if len(reader.found) > MOST_COMMANDS:
        reader.miss(f"it has more than {MOST_COMMANDS:,} commands")
    found = tuple(reader.found[:MOST_COMMANDS])
    return Reading(commands=found, unread=reader.unread, unknown=reader.unknown)


class _LineReader:
    """Finds the commands of a line, and of the lines that these give to a shell."""

    def __init__(self) -> None:
        self.found: list[ShellCommand] = []
        self.unread = ""
        self.unknown = ""
        self._words = 0

    def miss(self, reason: str) -> None:
        """Note that the line may run more than was found."""
        self.unread = self.unread or reason

    def read(
        self, line: str, deep: int, folder: str, values: Values | None = None
    ) -> None:
        """Add the commands of a line, in which variables may have these values."""
        if deep <= 0:
            self.miss("it has shells within shells")
            return
        whole = CommandList(LineSource(line, self.miss), deep, folder)
        whole.values = values or {}
        try:
            whole.read()
        finally:
            for simple in (*whole.commands, *whole.inner):
                for variant in simple.variants():
                    self._run(variant, deep)

    def _run(self, simple: SimpleCommand, deep: int) -> None:
        """Add what a simple command runs: itself, or what it is a wrapper of."""
        if self._words > MOST_READ or len(self.found) > MOST_COMMANDS:
            raise EndlessError
        if len(simple.words) > MOST_WORDS:
            self.miss(f"a command of it has more than {MOST_WORDS:,} words")
        number_before = len(self.found)
        if not FEEDING.isdisjoint(simple.words):
            simple.words = _fed(simple)
        readings = [*_unwrapped(simple.words[:MOST_WORDS])]
        if readings and all(map(_is_told_later, readings)):
            self.unknown = "a variable or pattern tells which program it runs"
        for words in readings:
            self._words += len(words)
            if self._words > MOST_READ:
                self.miss(f"its commands have more than {MOST_READ:,} words")
                break
            self._add(words, simple, deep)
        if len(self.found) == number_before:
            self._add_written(simple)

    def _add_written(self, simple: SimpleCommand) -> None:
        """Add what redirections write where no command does."""
        if simple.writes or simple.appends:
            self.found.append(_as_command((), simple))

    def _add(self, words: list[str], simple: SimpleCommand, deep: int) -> None:
        program = posixpath.basename(words[0])
        for text in simple.values.get(ALIAS + words[0], ()):
            inner = {**simple.values, ALIAS + words[0]: ()}
            self.read(" ".join((text, *words[1:])), deep - 1, simple.folder, inner)
        script = _script(program, words[1:]) or self._from_input(program, words, simple)
        if script and script[0]:
            self._add_written(simple)
            values = {**simple.values, **positional(script[1:])}
            self.read(script[0], deep - 1, simple.folder, values)
            return
        called = _called(program, words, simple)
        for run, is_elsewhere in _executed(called.words):
            within = SimpleCommand(ELSEWHERE if is_elsewhere else simple.folder)
            # Without a command the shell of another machine reads the input.
            within.words = run or (["sh"] if is_elsewhere else [])
            within.given = simple.given
            within.before = simple.before
            within.is_run = True
            self._run(within, deep)
        if _takes_program(words):
            line = simple.input()
            if line is None:
                self.miss(f"{program} runs what another program prints")
            called = called._replace(given=line or "")
        self.found.append(called)

    def _from_input(
        self, program: str, words: list[str], simple: SimpleCommand
    ) -> list[str]:
        """The line that a shell reads from its input, and what that is given."""
        is_shell = program in SHELLS or program in SOURCING
        if not is_shell or not _reads_input(words[1:]):
            return []
        line = simple.input()
        if line is None:
            self.miss(f"{program} runs what another program prints")
        return [line or "", program, *_given(words[1:])]


def is_interpreter(program: str) -> bool:
    """Whether a program runs code of its own language."""
    return program.rstrip("0123456789.") in INTERPRETERS


def _takes_program(words: Sequence[str]) -> bool:
    """Whether an interpreter reads the code that it runs from its input."""
    operands = (word for word in words[1:] if not is_option(word))
    is_alone = all(word in INPUT for word in operands)
    return is_alone and is_interpreter(posixpath.basename(words[0]))


def _called(program: str, words: list[str], simple: SimpleCommand) -> ShellCommand:
    """A program with its words as they are compared, and where it works."""
    arguments = words[1:]
    if program == "git":
        arguments = _subcommand_first(arguments, VALUED["git"], is_kept=False)
        arguments = list(dropwhile(is_option, arguments))
    elif program in VALUED:
        arguments = _subcommand_first(arguments, VALUED[program])
    before = simple.words[: -len(words)]
    entered = chain(
        _entered("env", before, ENTERING), _entered(program, words[1:], ENTERING)
    )
    folder = posixpath.join(simple.folder, *map(posixpath.expanduser, entered))
    named = chain(_assigned(before), _entered(program, words[1:], ABOUT))
    about = tuple(posixpath.join(folder, name) for name in named)
    command = _as_command((program, *arguments), simple)
    return command._replace(folder=folder, about=about)


def _as_command(words: Words, simple: SimpleCommand) -> ShellCommand:
    return ShellCommand(
        words=words,
        writes=tuple(simple.writes),
        appends=tuple(simple.appends),
        folder=simple.folder,
        is_run=simple.is_run,
    )


def _unwrapped(words: list[str]) -> Iterator[list[str]]:
    """The words of what a wrapper runs in the end, from the program on, for each way to
    read the options of wrappers."""
    ahead = iter([words])
    seen_places = set()
    while each := next(ahead, None):
        rest = list(dropwhile(_is_before, each))
        if not rest or len(rest) in seen_places:
            continue
        seen_places.add(len(rest))
        if len(seen_places) > MOST_WRAPPERS:
            raise EndlessError
        operands = WRAPPERS.get(posixpath.basename(rest[0]))
        if operands is not None:
            behind = map(itemgetter(slice(int(operands), None)), _behind(rest[1:]))
            ahead = chain(filter(None, behind), ahead)
        elif rest is not words and any(map(str.isspace, rest[0])):
            yield ["eval", *rest]
        else:
            yield rest


def _is_told_later(words: Sequence[str]) -> bool:
    """Whether only running a line tells the program: a variable, pattern or list."""
    program = posixpath.basename(words[0])
    is_pattern = (
        len(program) > 1 and program[:2] != "[[" and not PATTERN.isdisjoint(program)
    )
    return "$" in program or is_pattern


def _is_before(word: str) -> bool:
    """Whether a word stands before a program without being one."""
    return word in KEYWORDS or assignment().fullmatch(word) is not None


def _behind(words: list[str]) -> Iterator[list[str]]:
    """What follows a wrapper's own options, as if each had a value of its own, or
    none."""
    is_value = False
    for place, word in enumerate(words):
        if is_option(word):
            is_value = "=" not in word
            if any(map(str.isspace, word)):
                yield [word.partition("=")[2] or word[2:], *words[place + 1 :]]
            continue
        yield words[place:]
        if not is_value:
            return
        is_value = False


def _script(program: str, arguments: Sequence[str]) -> list[str] | None:
    """The line that a program is told to run by its words, and what that is given."""
    if program == "eval":
        return [" ".join(arguments)]
    if program == "trap":
        return [*arguments[:1]]
    if program not in SHELLS:
        return None
    for place, word in enumerate(arguments):
        if word.startswith("--command="):
            return [word.partition("=")[2]]
        is_short = word.startswith("-") and not word.startswith("--")
        if word == "--command" or (is_short and "c" in word):
            behind = arguments[place + 1 :]
            line = next(_operands(behind), "")
            return [*dropwhile(line.__ne__, behind)]
    return None


def _reads_input(arguments: Sequence[str]) -> bool:
    """Whether a shell reads what it runs from its input."""
    operand = next(_operands(arguments), "-")
    return operand in INPUT or "-s" in arguments


def _operands(arguments: Sequence[str]) -> Iterator[str]:
    """The words of a shell that are no options, nor the value of one (`-o pipefail`)."""
    is_value = False
    for word in arguments:
        if word != "-" and word[:1] in ("-", "+"):
            is_value = word.startswith("--") or word[-1] in "oO"
            is_value = is_value and word != "--"
        elif is_value:
            is_value = False
        else:
            yield word


def _given(arguments: list[str]) -> list[str]:
    """What a script that comes by the input is given."""
    if "--" in arguments:
        return arguments[arguments.index("--") + 1 :]
    return [*_operands(arguments)]


def _assigned(words: Sequence[str]) -> Iterator[str]:
    """The repositories that variables name for the command behind them."""
    for name, is_set, value in (word.partition("=") for word in words):
        if is_set and name in ABOUT:
            yield value


def _entered(
    program: str, arguments: Sequence[str], options: Collection[str]
) -> Iterator[str]:
    """The folders that a program's options name before it does anything. Behind git's
    subcommand these options are others."""
    if program not in VALUED:
        return
    option = ""
    for word in arguments:
        name, is_joined, value = word.partition("=")
        if option in options:
            yield word
        elif is_joined and name in options:
            yield value
        elif program == "git" and option not in VALUED["git"] and not is_option(word):
            return
        option = "" if option in VALUED["git"] else word


def _executed(words: Words) -> Iterator[tuple[list[str], bool]]:
    """The commands that a program runs on what it finds, or in another place; and
    whether that is on another machine."""
    program = words[0]
    for place, word in enumerate(words if program in FINDERS else ()):
        if word in EXECUTING:
            behind = words[place + 1 :]
            run = list(takewhile(lambda each: each not in (";", "+"), behind))
            found = FINDERS[program](words[1:place])
            is_filled = program != "find" or "{}" in " ".join(run)
            yield _filled(run, found) if is_filled else run, False
    for number in range(1, LONGEST_NAME + 1):
        operands, _, place_of = CARRIERS.get(" ".join(words[:number]), "").partition(
            " "
        )
        if operands:
            for run in _carried([*words[number:]], int(operands)):
                yield run, bool(place_of)


def _carried(words: list[str], operands: int) -> Iterator[list[str]]:
    """What is run behind so many operands, or behind what ends the options, for each
    way to read."""
    for end in ENDING.intersection(words):
        yield words[words.index(end) + 1 :]
    for behind in _behind(words):
        yield list(dropwhile(is_option, behind[operands:]))


@verbose(dot_all=True)
def _mark() -> str:
    """The options of what runs a command on others' words, up to the mark that stands
    for these there."""
    return r"""
        (?: .* \0 )?? (?: xargs | parallel )
        (?: \0 (?: -[nPLsdEaj] \0 [^\0]* | - (?! [IJ] | -replace ) [^\0]* ) )*
        \0 (?: -[IJ] \0? | --replace= ) (?P<mark> [^\0]+ )
    """


def _fed(simple: SimpleCommand) -> list[str]:
    """The words of a command that is run on what it is given by a pipe, or behind
    `:::`."""
    words = simple.words
    if ":::" in words:
        place = words.index(":::")
        given = [word for word in words[place + 1 :] if word != ":::"]
        return _filled(words[:place], given)
    match = _mark().match("\0".join(words))
    if simple.before is None and words[:1] != ["xargs"]:
        return words
    given = list(handed_on(simple)) or ["."]
    is_by_line = match is not None or "parallel" in words
    if is_by_line and (lines := simple.input()):
        given = lines.splitlines()
    return _filled(words, given, match["mark"] if match else "{}")


def _filled(
    words: Sequence[str], arguments: Sequence[str], mark: str = "{}"
) -> list[str]:
    """The words of a command that is given what was found: in its place, else last."""
    if not any(mark in word for word in words):
        return [*words, *arguments]
    filled: list[str] = []
    for word in words:
        filled += (
            [word.replace(mark, each) for each in arguments] if mark in word else [word]
        )
    return filled


def _subcommand_first(
    words: Sequence[str], valued: frozenset[str], *, is_kept: bool = True
) -> list[str]:
    """The words of a program, its subcommand before the options that stand ahead of it
    and have a value of their own: each is one word with that, if they are kept."""
    subcommand = []
    settings = []
    place = 0
    while place < len(words):
        word = words[place]
        if word in valued:
            if is_kept:
                settings.append("=".join(words[place : place + 2]))
            place += 2
            continue
        place += 1
        if word.startswith("+"):  # a version of the program
            continue
        subcommand.append(word)
        if not is_option(word) and word not in NESTED:
            break
    return [*subcommand, *settings, *words[place:]]

"""A shell line as the simple commands it runs, each as its words. Pure.

This reads a line as a shell splits it; it expands nothing. What aliases, scripts,
functions and variables stand for is not seen."""

import posixpath
from collections.abc import Iterator, Sequence
from itertools import dropwhile

from memcli.named import NamedTuple
from memcli.text.matching import verbose

MOST_CHARACTERS = 20_000
MOST_COMMANDS = 200
MOST_WORDS = 200
DEEPEST = 6
"""So many shells within shells are opened."""

Words = tuple[str, ...]

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
KEYWORDS = frozenset({
    "then", "do", "else", "elif", "if", "while", "until", "time", "coproc", "!", "{", "}",
})  # fmt: skip
WRAPPERS = {
    "sudo": "ugpChrtTUD",
    "doas": "uC",
    "env": "uCS",
    "nice": "n",
    "ionice": "cnp",
    "timeout": "sk",
    "stdbuf": "ioe",
    "xargs": "aEdIiLlnPs",
    "watch": "n",
    "command": "",
    "builtin": "",
    "exec": "a",
    "nohup": "",
    "setsid": "",
    "time": "fo",
    "caffeinate": "tw",
}
"""Programs that run the command behind them, with their short options that take a
value of their own."""
VALUED = {
    "git": frozenset({
        "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path",
        "--config-env",
    }),
    "docker": frozenset({
        "-c", "-H", "-f", "-p", "--context", "--host", "--file", "--project-name",
        "--profile", "--env-file", "--project-directory",
    }),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig"}),
    "helm": frozenset({"-n", "--namespace", "--kube-context"}),
    "npm": frozenset({"-C", "-w", "--prefix", "--workspace"}),
    "pnpm": frozenset({"-C", "-F", "--dir", "--filter"}),
    "make": frozenset({"-C", "-f", "-j"}),
}  # fmt: skip
VALUED["docker-compose"] = VALUED["docker"]
"""Options before a program's subcommand that take the next word as their value."""
NESTED = frozenset({"compose"})
"""Subcommands that have options of their own before what they are told to do."""


@verbose(dot_all=True)
def heredoc() -> str:
    """A here-document: the line that opens it, and its body up to the closing word."""
    return r"""
        (?P<opening> << (?P<dash>-?) \s* (?P<quote>['"]?) (?P<end>\w+) (?P=quote)
            [^\n]* \n )
        (?: .*? \n )??
        [ \t]* (?P=end) [ \t]* (?= \n | \Z )
    """


@verbose(dot_all=True)
def token() -> str:
    """One piece of a shell line, tried in this order at each place."""
    return r"""
        (?P<blank>    [ \t\r]+ | \\\n )
      | (?P<redirect> (?<![^\s;&|()]) \d+ (?: [<>] [<>&|]* ) | &>>? | [<>][<>&|]*(?!\() )
      | (?P<between>  [<>]\( | && | \|\|? &? | ;+ | & | \n | [()] )
      | (?P<single>   '[^']*(?:'|\Z) )
      | (?P<double>   "(?:[^"\\]|\\.)*(?:"|\Z) )
      | (?P<inner>    \$\( )
      | (?P<ticks>    `(?:[^`\\]|\\.)*(?:`|\Z) )
      | (?P<escaped>  \\. )
      | (?P<plain>    [^\s'"\\`;&|()<>$]+ | . )
    """


@verbose
def assignment() -> str:
    """A variable that is set for the command behind it."""
    return r"[A-Za-z_]\w* \+? = .*"


class ShellCommand(NamedTuple):
    """A simple command: the program by its base name, then its words; `writes` are the
    files that its redirections lead into."""

    words: Words
    writes: tuple[str, ...] = ()


def commands_of(line: str) -> list[Words]:
    """The words of each simple command of a shell line (see `simple_commands`)."""
    return [command.words for command in simple_commands(line) if command.words]


def simple_commands(line: str) -> list[ShellCommand]:
    """The simple commands of a shell line, in order, without wrappers. What a shell is
    given to run (`sh -c`, `$(…)`, `xargs`, `find -exec`) counts as commands of their
    own."""
    found: list[ShellCommand] = []
    _collect(line[:MOST_CHARACTERS], found, DEEPEST)
    return found[:MOST_COMMANDS]


def _collect(line: str, found: list[ShellCommand], deep: int) -> None:
    if deep <= 0 or len(found) >= MOST_COMMANDS:
        return
    bare = heredoc().sub(lambda match: match["opening"], line) if "<<" in line else line
    splitter = _Splitter(bare)
    for command in splitter.commands():
        _run(command, found, deep)
    for text in splitter.inner:
        _collect(text, found, deep - 1)


class _Splitter:
    """One pass over a line. `inner` are the texts of `$(…)` and backticks in it."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.inner: list[str] = []
        self.words: list[str] = []
        self.writes: list[str] = []
        self.word: str | None = None
        self.redirection = ""
        """One whose target the next word is: no word of the command."""

    def commands(self) -> Iterator[ShellCommand]:
        """The simple commands as they stand there, wrappers and all."""
        place = 0
        while piece := token().match(self.line, place):
            place = piece.end()
            kind = piece.lastgroup
            text = piece[0]
            if kind == "plain" and text.startswith("#") and self.word is None:
                place = self._line_end(place)
            elif kind == "inner":
                close = _closing(self.line, place)
                self._substitute(self.line[place:close])
                place = close + 1
            elif kind in ("blank", "redirect", "between"):
                self._end_word()
                if kind == "redirect":
                    self.redirection = "" if text.endswith("&-") else text
                elif kind == "between":
                    yield self._end_command()
            else:
                self._add(kind or "", text)
        self._end_word()
        yield self._end_command()

    def _line_end(self, place: int) -> int:
        end = self.line.find("\n", place)
        return end if end >= 0 else len(self.line)

    def _substitute(self, text: str) -> None:
        self.inner.append(text)
        self.word = (self.word or "") + "$()"

    def _add(self, kind: str, text: str) -> None:
        """Add a piece to the word, without its quotes."""
        if kind == "ticks":
            self._substitute(text.strip("`").replace("\\`", "`"))
            return
        if kind == "double":
            text = text[1:].removesuffix('"')
            self.inner += _substitutions(text)
            text = text.replace('\\"', '"').replace("\\\\", "\\")
        elif kind == "single":
            text = text[1:].removesuffix("'")
        elif kind == "escaped":
            text = text[1:]
        self.word = (self.word or "") + text

    def _end_word(self) -> None:
        if self.word is None:
            return
        if not self.redirection:
            self.words.append(self.word)
        elif ">" in self.redirection and not self.redirection.endswith("&"):
            self.writes.append(self.word)
        self.redirection = ""
        self.word = None

    def _end_command(self) -> ShellCommand:
        command = ShellCommand(tuple(self.words), tuple(self.writes))
        self.words = []
        self.writes = []
        self.redirection = ""
        return command


def _closing(line: str, start: int) -> int:
    """Where the parenthesis that is open at `start` closes; the end without one."""
    depth = 1
    place = start
    while place < len(line):
        piece = token().match(line, place)
        if piece is None:
            break
        if piece.lastgroup == "inner" or piece[0].endswith("("):
            depth += 1
        elif piece[0] == ")":
            depth -= 1
            if depth == 0:
                return place
        place = piece.end()
    return len(line)


def _substitutions(quoted: str) -> list[str]:
    """What stands in `$(…)` and backticks within double quotes."""
    substitutions = []
    place = quoted.find("$(")
    while place >= 0:
        close = _closing(quoted, place + 2)
        if place == 0 or quoted[place - 1] != "\\":
            substitutions.append(quoted[place + 2 : close])
        place = quoted.find("$(", close + 1)
    ticks = quoted.replace("\\`", "\0").split("`")
    return substitutions + [text.replace("\0", "`") for text in ticks[1::2]]


def _run(command: ShellCommand, found: list[ShellCommand], deep: int) -> None:
    """Add what a simple command runs: itself, or what it is a wrapper of."""
    remaining = _unwrapped(list(command.words[:MOST_WORDS]))
    if not remaining:
        if command.writes:
            found.append(ShellCommand((), command.writes))
        return
    program = posixpath.basename(remaining[0])
    script = _script(remaining[1:]) if program in SHELLS else None
    if program == "eval":
        script = " ".join(remaining[1:])
    if script is not None:
        _collect(script, found, deep - 1)
        return
    for run in _executed(remaining) if program == "find" else ():
        _run(ShellCommand(tuple(run)), found, deep)
    valued = VALUED.get(program)
    arguments = _subcommand_first(remaining[1:], valued) if valued else remaining[1:]
    if program == "git":
        arguments = list(dropwhile(_is_option, arguments))
    found.append(ShellCommand((program, *arguments), command.writes))


def _unwrapped(words: list[str]) -> list[str]:
    """The words of what a wrapper runs in the end, from the program on."""
    while words:
        first = posixpath.basename(words[0])
        if words[0] in KEYWORDS or assignment().fullmatch(words[0]):
            words = words[1:]
        elif first in WRAPPERS:
            words = _behind(words[1:], WRAPPERS[first], timed=first == "timeout")
        else:
            return words
    return words


def _behind(words: list[str], valued: str, *, timed: bool) -> list[str]:
    """What follows a wrapper's own options."""
    while words and words[0].startswith("-"):
        option = words[0]
        takes_value = len(option) == 2 and option[1] in valued
        words = words[2:] if takes_value else words[1:]
        if option == "--":
            break
    return words[1:] if timed else words


def _script(arguments: Sequence[str]) -> str | None:
    """What a shell is given by `-c`, also in one word with others (`-lc`)."""
    for place, word in enumerate(arguments):
        if not word.startswith("-") or word.startswith("--"):
            continue
        if word.endswith("c") and place + 1 < len(arguments):
            return arguments[place + 1]
    return None


def _executed(words: Sequence[str]) -> Iterator[list[str]]:
    """The commands that find runs on what it finds."""
    for place, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            run = []
            for each in words[place + 1 :]:
                if each in (";", "+"):
                    break
                run.append(each)
            yield run


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _subcommand_first(words: Sequence[str], valued: frozenset[str]) -> list[str]:
    """The words of a program without what stands before its subcommand and has a value
    of its own."""
    subcommand = []
    place = 0
    while place < len(words):
        word = words[place]
        if word in valued:
            place += 2
            continue
        subcommand.append(word)
        place += 1
        if not _is_option(word) and word not in NESTED:
            break
    return [*subcommand, *words[place:]]

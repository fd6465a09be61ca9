"""A shell line as the simple commands that stand there, wrappers and all. Pure.

The grammar of a shell as far as it parts one command from the next: quotes, lists,
subshells, substitutions, redirections, here-documents."""

import posixpath
from collections.abc import Callable, Sequence
from itertools import chain, dropwhile

from memcli.named import NamedTuple
from memcli.text.braces import hidden, shown, unbraced
from memcli.text.matching import verbose
from memcli.text.shell_values import (
    ALIAS,
    FED,
    MOST_COMMANDS,
    EndlessError,
    SimpleCommand,
    Values,
    assignment,
    expanded,
    handed_on,
    is_option,
    listed_by,
    positional,
    unescaped,
    values_of,
)

KEYWORDS = frozenset("then do else elif if while until coproc ! { }".split())
"""What stands before a command without being one."""
_BEFORE = KEYWORDS | {"command", "builtin"}
READERS = frozenset({"read", "mapfile", "readarray"})
"""What sets variables to what it reads."""
DECLARING = frozenset("export local readonly declare typeset".split())
"""What stands before variables that are set."""


@verbose(dot_all=True)
def token() -> str:
    """One piece of a shell line, tried in this order at each place."""
    return r"""
        (?P<joined>   \\\n )                          # a line that goes on
      | (?P<blank>    [ \t\r]+ )
      | (?P<comment>  (?<![^\s;&|()]) \# [^\n]* )
      | (?P<heredoc>  (?: (?<![^\s;&|()]) \d+ )? <<-? (?!<) )
      | (?P<inner>    [$<>]\( (?!\() )
      | (?P<sum>      \$\(\( | \(\( (?= [^()\n]* \)\) ) )
      | (?P<redirect> (?<![^\s;&|()]) \d+ [<>] [<>&|]* | &>>? | [<>] [<>&|]* )
      | (?P<between>  && | \|\|? &? | ;+ | & | \n | [()] )
      | (?P<ansi>     \$' (?: [^'\\] | \\. )* ' )
      | (?P<single>   ' [^']* ' )
      | (?P<double>   \$? " )
      | (?P<named>    \$\{ )
      | (?P<tick>     ` )
      | (?P<escaped>  \\. )
      | (?P<plain>    [^\s'"\\`;&|()<>$]+ | . )
    """


@verbose(dot_all=True)
def quoted_token() -> str:
    """One piece of what stands in double quotes, in braces or in a here-document."""
    return r"""
        (?P<inner>    \$\( (?!\() )
      | (?P<sum>      \$\(\( )
      | (?P<named>    \$\{ )
      | (?P<tick>     ` )
      | (?P<escaped>  \\. )
      | (?P<plain>    [^"}\\`$]+ | . )
    """


class _Heredoc(NamedTuple):
    """A here-document whose body begins behind the next end of a line."""

    end: str
    indented: bool
    expands: bool
    command: SimpleCommand


class _Loop(NamedTuple):
    """The end of a loop, the variables that are read in it, each with the number of
    commands before it, and the commands."""

    end: SimpleCommand
    reads: list[tuple[str, int]]
    commands: list[SimpleCommand]


class LineSource:
    """A text that is read once, from its beginning to its end."""

    def __init__(self, text: str, miss: Callable[[str], None]) -> None:
        self.text = text
        self.place = 0
        self.miss = miss
        """Is told why there may be more than was found."""
        self.heredocs: list[_Heredoc] = []

    def upto(self, end: str, missing: str) -> str:
        """The text up to these characters, which are passed, too."""
        start = self.place
        end_place = self.text.find(end, start)
        if end_place < 0:
            self.miss(missing)
            end_place = len(self.text)
        self.place = end_place + len(end)
        return self.text[start:end_place]

    def body(self, heredoc: _Heredoc) -> str:
        """The body of a here-document, which begins here."""
        lines: list[str] = []
        while self.place < len(self.text):
            end = self.text.find("\n", self.place)
            end = len(self.text) if end < 0 else end
            line = self.text[self.place : end]
            self.place = end + 1
            if (line.lstrip("\t") if heredoc.indented else line) == heredoc.end:
                return "\n".join(lines)
            lines.append(line)
        self.miss(f"a here-document does not end with {heredoc.end}")
        return "\n".join(lines)


class CommandList:
    """One pass over a list of commands: a whole line, or what stands in `$(…)`."""

    def __init__(self, source: LineSource, deep: int, folder: str) -> None:
        self.source = source
        self.deep = deep
        self.commands: list[SimpleCommand] = []
        self.inner: list[SimpleCommand] = []
        self.command = SimpleCommand(folder)
        self.word: str | None = None
        self.is_quoted = False
        self.is_start = True
        """Whether nothing but keywords and assignments stands in the command so far."""
        self.redirection = ""
        """One whose target the next word is: no word of the command."""
        self.folders = [folder]
        """The folder of each subshell that is open, the innermost last."""
        self.values: Values = {}
        self.printing: SimpleCommand | None = None
        """The last command of what was substituted last."""
        self.unfed: list[tuple[str, int]] = []
        """Variables that are read in a loop, and how many commands stand before."""
        self.loops: list[_Loop] = []
        self.left: list[str] = []
        self.cases = 0

    def read(self, *, nested: bool = False) -> None:
        """Read to the end of the text, or to the parenthesis that closes it."""
        source = self.source
        while piece := token().match(source.text, source.place):
            source.place = piece.end()
            kind = piece.lastgroup or ""
            text = piece[0]
            if kind in ("blank", "comment", "heredoc", "redirect"):
                self._end_word()
                if kind in ("heredoc", "redirect"):
                    self.redirection = text.lstrip("0123456789")
            elif kind == "between":
                self._end_command(piped=text in ("|", "|&"))
                if text == ")" and nested and len(self.folders) == 1 and not self.cases:
                    return
                self._between(text)
            else:
                self._add(kind, text)
        if nested:
            source.miss("a parenthesis is not closed")
        self._end_command()
        self._bodies()
        self._feed_loops()

    def _feed_loops(self) -> None:
        """Tell the commands of a loop what is read there from the input of all of it."""
        for loop in self.loops:
            for name, start in loop.reads:
                known = values_of(handed_on(loop.end), self.values)
                for command in loop.commands[start:]:
                    command.values = {**command.values, name: known}

    def _between(self, text: str) -> None:
        """What a piece that parts two commands does beside that."""
        if text == "(":
            self.folders.append(self.folders[-1])
        elif text == ")" and len(self.folders) > 1:
            self.folders.pop()
        elif text == "\n":
            self._bodies()
        self.command.folder = self.folders[-1]

    def _add(self, kind: str, text: str) -> None:
        """Add a piece to the word, without its quotes."""
        if kind == "joined":
            return
        if kind in ("ansi", "single", "double", "escaped"):
            self.is_quoted = True
        if kind == "double":
            text = self._quoted('"')
        elif kind == "ansi":
            text = unescaped(text[2:-1])
        elif kind == "single":
            text = text[1:-1]
        elif kind == "escaped":
            text = text[1:]
        elif kind in _SUBSTITUTIONS:
            is_file = text == "<("
            is_sum = text == "(("
            text = self._substituted(kind)
            text = ":" if is_sum else text
            if is_file:
                text = FED
                self.command.before = self.printing
        elif text == "'":
            self.source.miss("a quote is not closed")
        elif self.word is None and text.startswith(("~+", "~-")):
            text = text.replace("~+", "$PWD", 1).replace("~-", "$OLDPWD", 1)
        if kind != "plain":
            text = hidden(text)
        self.word = (self.word or "") + text

    def _substituted(self, kind: str) -> str:
        """What stands for a substitution that was opened just now, once it is read."""
        source = self.source
        start = source.place
        if kind == "named":
            self._quoted("}")
            return f"${{{source.text[start : source.place]}"
        if kind == "tick":
            text = self._ticked()
            self._nested(LineSource(text, source.miss))
        elif kind == "inner" or not self._sum():
            source.place = start - (kind == "sum")
            self._nested(source, nested=True)
        return "$()"

    def _nested(self, source: LineSource, *, nested: bool = False) -> None:
        if self.deep <= 1:
            source.miss("it has shells within shells")
            source.place = len(source.text)
            return
        within = CommandList(source, self.deep - 1, self.folders[-1])
        within.values = self.values
        try:
            within.read(nested=nested)
        finally:
            self.inner += (*within.commands, *within.inner)
        self.printing = within.commands[-1] if within.commands else None
        self._set("()", listed_by(self.printing) if self.printing else ())

    def _ticked(self) -> str:
        """The text up to the backtick that closes it."""
        parts = [self.source.upto("`", "a backtick is not closed")]
        while parts[-1].endswith("\\"):
            parts[-1] = parts[-1][:-1]
            parts.append(self.source.upto("`", "a backtick is not closed"))
        return "`".join(parts)

    def _quoted(self, end: str) -> str:
        """The text up to the character that closes it, "" for the end of all."""
        source = self.source
        parts: list[str] = []
        while piece := quoted_token().match(source.text, source.place):
            source.place = piece.end()
            kind = piece.lastgroup or ""
            text = piece[0]
            if text == end:
                return "".join(parts)
            if kind in _SUBSTITUTIONS:
                text = self._substituted(kind)
            elif kind == "escaped" and text[1] in '"\\$`\n':
                text = text[1:].removeprefix("\n")
            elif text == '"' and end == "}":
                text = self._quoted('"')
            parts.append(text)
        if end:
            source.miss("a quote is not closed")
        return "".join(parts)

    def _sum(self) -> bool:
        """Pass what is reckoned between two parentheses; False where it is no sum but
        one subshell in another."""
        source = self.source
        depth = 2
        last_close = -2
        while piece := token().match(source.text, source.place):
            source.place = piece.end()
            if piece.lastgroup == "inner":
                self._nested(source, nested=True)
            elif piece[0] == "(" or piece[0] == "((":
                depth += len(piece[0])
            elif piece[0] == ")":
                depth -= 1
                if depth == 0:
                    return last_close == piece.start() - 1
                last_close = piece.start()
        return False

    def _end_word(self) -> None:
        if self.word is None:
            return
        word = shown(self.word)
        is_assignment = self.is_start and assignment().match(word) is not None
        is_whole = is_assignment or self.redirection == "<<<"
        words = [word] if is_whole else unbraced(self.word)
        is_given = word in ("$@", "$*") and self.values.get("@")
        if self.redirection in ("<<", "<<-"):
            heredoc = _Heredoc(
                end=word,
                indented=self.redirection == "<<-",
                expands=not self.is_quoted,
                command=self.command,
            )
            self.source.heredocs.append(heredoc)
        elif self.redirection:
            for each in words:
                self.command.redirect(self.redirection, each)
        elif word == "{" and not self.is_quoted:
            # a block, whatever stands before it: a loop, a coprocess, a function
            self.word = None
            self._end_command()
        elif is_given:
            self.command.words += self.values["@"]
        else:
            self.command.words += words
            self.is_start &= is_assignment or word in KEYWORDS
        self.redirection = ""
        self.word = None
        self.is_quoted = False

    def _end_command(self, *, piped: bool = False) -> None:
        self._end_word()
        ended = self.command
        words = list(dropwhile(_BEFORE.__contains__, ended.words))
        if words:
            self._enter(words)
            self._assign(words, ended)
            self.cases += (words[0] == "case") - (words[0] == "esac" and self.cases > 0)
        ended.values = self.values
        if ended.words or ended.writes or ended.appends:
            self.commands.append(ended)
            if len(self.commands) > MOST_COMMANDS:
                raise EndlessError
        self.command = SimpleCommand(self.folders[-1], ended if piped else None)
        self.is_start = True
        self.redirection = ""

    def _enter(self, words: Sequence[str]) -> None:
        """Go where a command leads to that changes the folder."""
        operands = [word for word in words[1:] if not is_option(word)]
        before = self.folders[-1]
        if words[0] == "cd" and words[1:] == ["-"]:
            operands = ["$OLDPWD"]
        if words[0] == "popd" and self.left:
            self.folders[-1] = self.left.pop()
        elif words[0] in ("cd", "pushd") and len(operands) == 1:
            if words[0] == "pushd":
                self.left.append(self.folders[-1])
            named = next(expanded(operands, self.values))[0]
            folder = posixpath.expanduser(_unknown().sub("", named))
            self.folders[-1] = posixpath.join(self.folders[-1], folder)
            self.values = {**self.values, "OLDPWD": [before or "."]}

    def _assign(self, words: Sequence[str], command: SimpleCommand) -> None:
        """Note what variables are from here on: in a loop, read from a pipe, or set."""
        rest = [word for word in words if not is_option(word)]
        if DECLARING.intersection(rest[:1]):
            rest = rest[1:]
        named = list(dropwhile(assignment().fullmatch, rest))
        if words[0] == "set":
            self._set_given(words[1:])
        elif words[0] == "alias":
            for name, _, value in (word.partition("=") for word in rest[1:]):
                self._set(ALIAS + name, [value])
        elif words[0] == "for":
            self._loop_over(words[1:], command)
        elif named:
            setter = _SETTERS.get(named[0], CommandList._set_nothing)
            setter(self, named[1:], command)
        else:
            for word in rest:
                name, _, value = word.partition("=")
                self._set(name, [value])

    def _set_given(self, words: Sequence[str]) -> None:
        """Note what `set` gives a script behind dashes, or without an option."""
        if words and words[0] in ("-", "--"):
            words = words[1:]
        elif not words or words[0][:1] in ("-", "+"):
            return
        for name, known in positional(["", *words]).items():
            self._set(name, known)

    def _set_nothing(self, words: Sequence[str], command: SimpleCommand) -> None:
        """Most programs set no variable."""

    def _end_loop(self, words: Sequence[str], command: SimpleCommand) -> None:
        """Note a loop whose commands read what all of it is given."""
        if command.is_fed() or self.source.heredocs:
            loop = _Loop(end=command, reads=self.unfed, commands=[*self.commands])
            self.loops.append(loop)
            self.unfed = []

    def _loop_over(self, words: Sequence[str], command: SimpleCommand) -> None:
        """Note what the variable of a loop is: what it is given, or the script is."""
        if words[1:2] == ["in"]:
            self._set(words[0], words[2:])
            split = map(str.split, self.values[words[0]])
            self._set(words[0], list(chain.from_iterable(split)))
        elif words:
            self._set(words[0], self.values.get("@", ()))

    def _read(self, names: Sequence[str], command: SimpleCommand) -> None:
        """Note what variables are that a command reads; what it has from the input of a
        loop is known at the end of that."""
        for name in names:
            self._set(name, handed_on(command))
            if not self.values[name]:
                self.unfed.append((name, len(self.commands)))

    def _set(self, name: str, words: Sequence[str]) -> None:
        self.values = {**self.values, name: values_of(words, self.values)}

    def _bodies(self) -> None:
        """Read the here-documents whose bodies begin here."""
        heredocs = self.source.heredocs
        self.source.heredocs = []
        for heredoc in heredocs:
            body = self.source.body(heredoc)
            heredoc.command.given = body
            if heredoc.expands:
                within = CommandList(
                    LineSource(body, self.source.miss), self.deep, self.folders[-1]
                )
                within._quoted("")
                self.inner += within.inner


_SUBSTITUTIONS = ("inner", "sum", "named", "tick")
_SETTERS = {
    "done": CommandList._end_loop,
    **dict.fromkeys(READERS, CommandList._read),
}
"""What a program sets, by its name."""


@verbose
def _unknown() -> str:
    """What only running it tells of a folder: it counts as the one at hand."""
    return r".* \$ [^/]* /?"

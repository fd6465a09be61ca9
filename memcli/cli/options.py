r"""What commands take, read and answer: tables of options, `@command`, `show` and `wrote`.

A command is a function of an open App and of what was given; it returns its exit code, or None for
0. Its name and what it takes stand in a table, with the words that help has for them:

    @command("retire\nID...  Entries to take out of recall.\n--because TEXT  Why.\n--dry-run")
    def retire(mem: App, given: Given) -> int | None:

Words are `given.word` or, where there may be several (`...`), the tuple `given.words`; options have
their own names. `N` is a number; `(auto)` holds without the option; what has no words is explained
in SHARED. `Filters:` begins a panel, which the help of a command only names. A `bare` command has
no App and no ALWAYS.
"""

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from getopt import GetoptError, gnu_getopt
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from memcli.app import App, Options, P
from memcli.cli.boundary import SETTINGS, in_app, read_number
from memcli.errors import DataError, UsageError, one_of
from memcli.index.view import Filters
from memcli.memory.values import Problem
from memcli.text.secrets import redact_secrets
from memcli.views import json, text
from memcli.views.text import put, say

R = TypeVar("R")
Keys = Callable[[R], Mapping[str, object]]  # what differs from the fields of a report in its JSON
SHARED = """
    --task NAME...  Write to this task's own work tree, too.
    -n, --dry-run   Print the diff; write nothing.
"""
ALWAYS = """Always:
    --root DIR...       The project's root; found by itself without.
    --set KEY=VALUE...  A setting for this run.
    --json              Print one JSON document.
    -q, --quiet         Only errors and what was asked for.
"""
HELP = "Always:\n    -h, --help          Show this message and exit."
FILTERS = """Filters:
    --level LEVEL...  global, project, job or task.
    --job NAME...     Look at this job and its tasks.
    --task NAME...    Look at this task.
    --type TYPE...    declarative, procedural, directive, corrective.
    --kind KIND...    policy, workflow, pitfall, decision, ...
    --store STORE...  memory, institutional, proxy or archive.
    --tag TAG...      A tag; may be given more than once.
    --scope SCOPE...  What a scope of mem extract found.
    --path FILE...    Entries about this file.
    --since DATE      Since 2026-03-01, or 30d, 6w, 3m, 1y ago.
    --until DATE      Until a date, or so long ago.
    --proxy           The proxy store, too (one person's manner).
    --archived        The archives, too.
    --no-global       Leave the global level out.
    --at MOMENT       As of a commit, a tag, a date, or 30d ago.
"""
_ROW = re.compile(r"(?:(-\w), )?(--[\w-]+)? ?([^(]*?)(\.\.\.)? ?(?:\(([\w-]+)\))?  +(.+)")


class OptionRow(NamedTuple):
    """One thing that a command takes: an option by its `names`, or a word; `takes` "": a switch."""

    names: tuple[str, ...]
    takes: str
    many: bool
    default: str
    help: str
    panel: str

    @property
    def name(self) -> str:
        """Of `given`."""
        if not self.names:
            return "words" if self.many else "word"
        name = self.names[-1].removeprefix("--").replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def left(self) -> str:
        """As the help has it."""
        many = "..." if self.many and not self.names else ""
        return " ".join(filter(None, (", ".join(self.names), self.takes + many)))

    @property
    def unset(self) -> object:
        """What holds without it."""
        if self.many:
            return ()
        return None if self.takes == "N" else self.default if self.takes else False

    def read(self, written: str) -> object:
        """What a text on the command line means. Raises UsageError."""
        number = self.takes == "N"
        return read_number(self.names[-1], written) if number else written or not self.takes


def rows_of(table: str) -> Iterator[OptionRow]:
    """What a table says."""
    panel = ""
    for line in filter(None, map(str.strip, table.split("\n"))):
        if found := _ROW.fullmatch(line):
            short, name, takes, many, default, help = found.groups()
            names = tuple(filter(None, (short, name)))
            yield OptionRow(names, takes, bool(many), default or "", help, panel)
        elif line == "FILTERS":
            yield from rows_of(FILTERS)
        elif line.endswith(":"):
            panel = line.removesuffix(":")
        else:
            yield from (row for row in rows_of(SHARED) if row.names[-1] in line.split())


class Given(SimpleNamespace):
    """What was given to a command, by the names of its rows."""

    def to(self, kind: type[R], **more: object) -> R:
        """A named tuple with those of its fields that are called like rows, and `more`."""
        names: Iterable[str] = getattr(kind, "_fields")  # noqa: B009
        return kind(**{name: getattr(self, name) for name in names if hasattr(self, name)} | more)


def filters_of(given: Given) -> Filters:
    """The options of FILTERS."""
    if given.scope:
        from memcli.extraction.scopes import NAMES

        for name in given.scope:
            one_of("--scope", name, NAMES)
    return given.to(Filters)


class Verb(NamedTuple):
    """What a command is called, does and takes."""

    name: str
    work: Callable[..., int | None]
    rows: tuple[OptionRow, ...]
    bare: bool

    def run(self, given: Given) -> int:
        """Do it, in an open App."""
        if self.bare:
            return self.work(given) or 0
        root, *others = given.root or [""]
        if others and self.name != "recall":
            raise UsageError("--root is given more than once", "only mem recall takes several")
        numbers = {name: getattr(given, name, None) for name in SETTINGS}
        sets = (*given.set, *(f"{key}={n}" for key, n in numbers.items() if n is not None))
        trees = given.task if next(rows_of(SHARED)) in self.rows else ()
        options = Options(root, sets, given.quiet, given.json, trees, tuple(others))
        return in_app(options, lambda mem: self.work(mem, given))

    def read(self, arguments: Sequence[str]) -> Given | None:
        """What a line gives, None when it asks for help. Raises UsageError."""
        given: dict[str, Any] = {row.name: row.unset for row in self.rows}
        words = list(arguments) if self._only_words(arguments) else self._options(arguments, given)
        if given.get("help"):
            return None
        takes, hint = next((r for r in self.rows if not r.names), None), f"mem {self.name} --help"
        if takes and not words and takes.takes[0] != "[":
            raise UsageError(f"{takes.takes} is missing", hint)
        if takes and words:
            given[takes.name], words = (tuple(words), []) if takes.many else (words[0], words[1:])
        if words:
            raise UsageError(f"{' '.join(words)}: one word too many", hint)
        return Given(**given)

    def _only_words(self, arguments: Sequence[str]) -> bool:
        """Whether it takes no options: what looks like one belongs to whoever calls mem."""
        return not any(row.names for row in self.rows) and not {"-h", "--help"} & set(arguments)

    def _options(self, arguments: Sequence[str], given: dict[str, Any]) -> list[str]:
        """Read the options of a line into `given`; the words that are left."""
        options = {name: row for row in (*self.rows, *rows_of(HELP)) for name in row.names}
        short = "".join(f"{n[1]}{':' * bool(options[n].takes)}" for n in options if n[1] != "-")
        long = [f"{n[2:]}{'=' * bool(options[n].takes)}" for n in options if n[1] == "-"]
        try:
            found, words = gnu_getopt(arguments, short, long)
        except GetoptError as error:
            raise UsageError(error.msg, f"mem {self.name} --help") from None
        for name, written in found:
            row, value = options[name], options[name].read(written)
            given[row.name] = (*given[row.name], value) if row.many else value
        return words


COMMANDS: dict[str, Verb] = {}  # of the modules that were imported so far
Work = TypeVar("Work", bound=Callable[..., int | None])


def command(table: str, *, bare: bool = False) -> Callable[[Work], Work]:
    """Make a function a command of `mem`."""
    name, _, takes = table.partition("\n")

    def register(work: Work) -> Work:
        COMMANDS[name] = Verb(name, work, tuple(rows_of(takes + "\n" + ALWAYS * (not bare))), bare)
        return work

    return register


# --- answers


def show(mem: App, report: R, words: Callable[[R], str], keys: Keys[R] | None = None) -> None:
    """Answer what was asked: in words, or as JSON, where `keys` differ from the report's fields."""
    put(json.of(report, **(keys(report) if keys else {})) if mem.options.json else words(report))


def wrote(
    mem: App, given: Given, report: P, words: Callable[[P], str], keys: Keys[P] | None = None
) -> None:
    """Answer what was written: in words (--quiet: in none) or as JSON; a dry run as its diff."""
    if mem.options.json:
        put(json.of(report, **(keys(report) if keys else {}), dry_run=given.dry_run))
    elif not given.dry_run:
        said = "" if mem.options.quiet else redact_secrets(words(report))
        put("\n".join(text.folded([said], more=2)))
    elif not text.put_diff(report.patches, str(mem.project.root or mem.project.home)):
        say("mem: nothing would change", quiet=mem.options.quiet)


def name_problems(problems: Iterable[Problem]) -> int:
    """Say each problem; the exit code that data which could not be used owns."""
    lines = text.problem_lines(problems)
    say("\n".join(lines))
    return DataError.code if lines else 0

"""What programs change of the files that their words name. Pure."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from memcli.named import NamedTuple
from memcli.text.matching import verbose
from memcli.text.shell import Words


class Writer(NamedTuple):
    """What a program changes: which `files`, which `wholes` with all that they hold, and
    in which folders anything may appear that it `brings`. Each says how that is chosen
    from the operands (see `_chosen`). `into` are options with the folder in which it
    works; it changes nothing without an option that matches `when`, or with one that
    matches `unless`."""

    files: str = ""
    wholes: str = ""
    brings: str = ""
    into: str = ""
    when: str = ""
    unless: str = ""


class Written(NamedTuple):
    """What a command changes, in the words of the line."""

    files: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()


_TARGET = "-t|--target-directory"
_EDITOR = Writer(files="edited", wholes="edited", when=r"-[a-zA-Z0-9]*i.*|--in-place.*")
_REMOVER = Writer(files="all", wholes="all")
WRITERS = {
    "rm": _REMOVER,
    "shred": _REMOVER,
    "truncate": _REMOVER,
    "unlink": _REMOVER,
    "rmdir": Writer(files="all"),
    "sponge": Writer(files="all"),
    "tee": Writer(files="all"),
    "touch": Writer(files="all"),
    "gzip": Writer(files="all"),
    "gunzip": Writer(files="all"),
    "mv": Writer(files="sources target", wholes="sources", into=_TARGET),
    "cp": Writer(files="target", brings="tree", into=_TARGET),
    "ln": Writer(files="target", into=_TARGET),
    "install": Writer(files="target", into=_TARGET),
    "rsync": Writer(files="target", brings="last"),
    "sed": _EDITOR,
    "perl": _EDITOR,
    "ruby": _EDITOR,
    "find": Writer(wholes="starts", when="-delete"),
    "patch": Writer(files="all", brings="here", into="-d|--directory"),
    "tar": Writer(
        brings="folder",
        into="-C|--directory",
        when=r"-[a-zA-Z]*x.*|--extract|--get|[zjJv]*x[a-zA-Z]*",
    ),
    "unzip": Writer(brings="folder", into="-d", unless="-[a-zA-Z]*[lptvZ]"),
    "curl": Writer(
        files="names", into="--output-dir", when=r"-[a-zA-Z]*O|--remote-name.*"
    ),
    "wget": Writer(
        files="names",
        into="-P|--directory-prefix",
        unless=r"-[a-zA-Z]*O.*|--output-document.*|--spider",
    ),
    "git mv": Writer(files="all", wholes="all"),
    "git rm": Writer(files="all", wholes="all", unless="--cached"),
    "git checkout": Writer(files="all", wholes="all"),
    "git restore": Writer(files="all", wholes="all"),
    "git clean": Writer(wholes="here", unless=r"-[a-zA-Z]*n.*|--dry-run"),
    "git apply": Writer(brings="folder", unless="--check|--stat|--numstat|--cached"),
    "git am": Writer(brings="folder"),
}
"""By the program, of git with its subcommand."""
_NOTHING = Writer()
EDITORS = frozenset(name for name, row in WRITERS.items() if row is _EDITOR)
"""Programs that change the files they are given when an option says "in place"."""


def written_by(words: Words) -> Written:
    """What a command changes, as far as its words say."""
    is_git = words[:1] == ("git",)
    head = words[: 1 + is_git]
    writer = WRITERS.get(" ".join(head), _NOTHING)
    rest = words[len(head) :]
    outputs = tuple(_outputs(rest, clusters=writer.files == "names"))
    if not _acts(writer, rest):
        return Written(files=outputs)
    folder, operands = _parted(rest, writer)
    given = _Given(operands=operands, folder=folder, words=rest)
    wholes = tuple(_chosen(writer.wholes, given))
    # What `xargs` gives it stands nowhere.
    if writer.wholes and not operands:
        wholes = wholes or (".",)
    return Written(
        files=(*_chosen(writer.files, given), *outputs),
        wholes=wholes,
        brings=tuple(_chosen(writer.brings, given)),
    )


def _acts(writer: Writer, words: Sequence[str]) -> bool:
    """Whether the options of a program let it change anything."""
    if writer.unless and any(re.fullmatch(writer.unless, word) for word in words):
        return False
    return not writer.when or any(re.fullmatch(writer.when, word) for word in words)


class _Given(NamedTuple):
    """The operands of a command, the folder that an option names, and all words."""

    operands: Sequence[str]
    folder: str
    words: Sequence[str]


def _parted(words: Sequence[str], writer: Writer) -> tuple[str, list[str]]:
    """The folder that an option names, "" for none, and the operands."""
    folder = ""
    operands: list[str] = []
    names = writer.into.split("|") if writer.into else []
    short = next((each for each in names if len(each) == 2), "--")
    rest = iter(words)
    for word in rest:
        name, is_joined, value = word.partition("=")
        if word == "--":
            operands += rest
        elif name in names or re.fullmatch(rf"-[a-zA-Z]+{short[1]}", word):
            folder = value if is_joined else next(rest, "")
        elif word.startswith(short) and word != short:
            folder = word[2:]
        elif not word.startswith("-"):
            operands.append(word)
    return folder, operands


def _chosen(which: str, given: _Given) -> Iterator[str]:
    """The names that a row of the table means."""
    operands = given.operands
    *sources, last = operands or [""]
    if given.folder:
        sources = list(operands)
        last = given.folder
    for word in which.split():
        if word == "all":
            yield from operands
        elif word == "sources":
            yield from sources
        elif word == "target" and sources:
            yield last
            yield from _inside(last, sources)
        elif (word == "last" and sources and ":" not in last) or (
            word == "tree" and any(map(_copies_trees().fullmatch, given.words))
        ):
            yield last
        elif word == "names":
            yield from _inside(given.folder, [each.split("?")[0] for each in operands])
        elif word == "edited":
            is_joined = any(map(_joined_script().fullmatch, given.words))
            yield from operands[not is_joined :]
        elif word == "starts":
            yield from _starts(given.words)
        elif word == "folder":
            yield given.folder or "."
        elif word == "here":
            yield from operands or [given.folder or "."]


def _starts(words: Sequence[str]) -> list[str]:
    """The folders in which find begins."""
    return list(takewhile(lambda word: not word.startswith("-"), words)) or ["."]


def _inside(folder: str, names: Sequence[str]) -> list[str]:
    return [os.path.join(folder, os.path.basename(name)) for name in names]


def _outputs(words: Sequence[str], *, clusters: bool) -> Iterator[str]:
    """The files that an option names as the place of what comes out."""
    for option, value in pairwise((*words, "")):
        match = _output().fullmatch(option)
        if match is None and clusters:
            match = _clustered_output().fullmatch(option)
        if match:
            yield match[1] or value


@verbose
def _output() -> str:
    """An option that names a file to write, with the file in it or behind it."""
    return r"(?: -[oO] | --out (?: put )? (?: -file | -document )? =? | of= ) (.*)"


@verbose
def _clustered_output() -> str:
    """The same behind other letters: `-sSLo`."""
    return r"- [a-zA-Z]+ [oO] (.*)"


@verbose
def _copies_trees() -> str:
    """An option by which folders are copied with all that they hold."""
    return r"- [a-zA-Z]* [aRr] [a-zA-Z]* | --archive | --recursive"


@verbose
def _joined_script() -> str:
    """An option that has the script of an editor in the same word."""
    return r"- [a-zA-Z0]*? [ef] .+ | -- (?: expression | file ) = .*"

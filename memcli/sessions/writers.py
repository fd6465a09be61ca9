"""What programs change of the files that their words name. Pure."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from memcli.named import NamedTuple
from memcli.text.matching import verbose
from memcli.text.shell import Words, found_by


class Written(NamedTuple):
    """What a command changes, in the words of the line."""

    files: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()


class _Given(NamedTuple):
    """The operands of a command, the folder that an option names, and all words."""

    operands: Sequence[str]
    folder: str
    words: Sequence[str]

    @property
    def sources(self) -> Sequence[str]:
        """What is put somewhere."""
        return self.operands if self.folder else self.operands[:-1]

    @property
    def target(self) -> str:
        """Where it is put."""
        return self.folder or "".join(self.operands[-1:])


Names = Iterable[str]
Choice = Callable[[_Given], Names]


def _operands(given: _Given) -> Names:
    """Every operand."""
    return given.operands


def _sources(given: _Given) -> Names:
    """Every operand that is put somewhere."""
    return given.sources


def _targets(given: _Given) -> Names:
    """The file that is written last, or the files in it if it is a folder."""
    if not given.sources:
        return ()
    return [given.target, *_inside(given.target, given.sources)]


def _moved(given: _Given) -> Names:
    """What is put somewhere, and where."""
    return [*given.sources, *_targets(given)]


def _local_target(given: _Given) -> Names:
    """The target, unless it is on another machine."""
    is_local = ":" not in given.target
    return [given.target] if given.sources and is_local else ()


def _copied_tree(given: _Given) -> Names:
    """The target, if whole folders are copied to it."""
    is_tree = any(map(_copies_trees().fullmatch, given.words))
    return [given.target] if is_tree else ()


def _downloads(given: _Given) -> Names:
    """Files that are named as the addresses from which they come."""
    return _inside(given.folder, [each.split("?")[0] for each in given.operands])


def _edited(given: _Given) -> Names:
    """The operands, without the script of an editor that stands before them."""
    is_joined = any(map(_joined_script().fullmatch, given.words))
    return given.operands if is_joined else given.operands[1:]


def _found(given: _Given) -> Names:
    """What find is told to find."""
    return found_by(given.words)


def _folder(given: _Given) -> Names:
    """The folder in which a program works."""
    return [given.folder or "."]


def _operands_or_folder(given: _Given) -> Names:
    """The operands, or all that is in the folder where there are none."""
    return given.operands or _folder(given)


def _but_all(given: _Given) -> Names:
    """The operands but the folder itself: of all that is in it a program that formats
    takes what its own settings name."""
    return [each for each in given.operands if each.rstrip("/") != "."]


def _inside(folder: str, names: Sequence[str]) -> list[str]:
    return [os.path.join(folder, os.path.basename(name)) for name in names]


class Writer(NamedTuple):
    """What a program changes: which `files`, which `wholes` with all that they hold, and
    in which folders anything may appear that it `brings`. `into` are options with the
    folder in which it works; it changes nothing without an option that matches `when`,
    or with one that matches `unless`."""

    files: Choice | None = None
    wholes: Choice | None = None
    brings: Choice | None = None
    into: str = ""
    when: str = ""
    unless: str = ""


_TARGET = "-t|--target-directory"
_EDITOR = Writer(files=_edited, wholes=_edited, when=r"-[a-zA-Z0-9]*i.*|--in-place.*")
_REMOVER = Writer(files=_operands, wholes=_operands)
_IN_PLACE = Writer(files=_operands, when="-i.*|--in-?place.*|inplace")
_FIXER = Writer(
    files=_operands,
    wholes=_but_all,
    when="-w|--write|--fix.*|--unsafe-fixes|format",
    unless="--check|--diff|-d|--fix-dry-run",
)
_FORMATTER = Writer(
    files=_operands, wholes=_but_all, unless="-c|--check.*|--diff|--version|--help"
)
_SCREEN = Writer(files=_operands, unless="-R|--version|--help")
WRITERS = {
    "rm": _REMOVER,
    "shred": _REMOVER,
    "truncate": _REMOVER,
    "unlink": _REMOVER,
    "trash": _REMOVER,
    "trash-put": _REMOVER,
    "gio": Writer(files=_operands, wholes=_operands, when="trash"),
    "rmdir": Writer(files=_operands, wholes=_operands),
    "sponge": Writer(files=_operands),
    "tee": Writer(files=_operands),
    "touch": Writer(files=_operands),
    "gzip": Writer(files=_operands),
    "gunzip": Writer(files=_operands),
    "mv": Writer(files=_moved, wholes=_sources, into=_TARGET),
    "cp": Writer(files=_targets, brings=_copied_tree, into=_TARGET),
    "ln": Writer(files=_targets, into=_TARGET),
    "install": Writer(files=_targets, into=_TARGET),
    "rsync": Writer(files=_targets, brings=_local_target),
    "sed": _EDITOR,
    "perl": _EDITOR,
    "ruby": _EDITOR,
    "awk": _IN_PLACE,
    "gawk": _IN_PLACE,
    "yq": _IN_PLACE,
    "gofmt": _FIXER,
    "goimports": _FIXER,
    "shfmt": _FIXER,
    "prettier": _FIXER,
    "eslint": _FIXER,
    "ruff": _FIXER,
    "black": _FORMATTER,
    "isort": _FORMATTER,
    "rustfmt": _FORMATTER,
    "vi": _SCREEN,
    "vim": _SCREEN,
    "nvim": _SCREEN,
    "ed": _SCREEN,
    "ex": _SCREEN,
    "find": Writer(files=_found, wholes=_found, when="-delete"),
    "patch": Writer(files=_operands, brings=_operands_or_folder, into="-d|--directory"),
    "tar": Writer(
        brings=_folder,
        into="-C|--directory",
        when=r"-[a-zA-Z]*x.*|--extract|--get|[zjJv]*x[a-zA-Z]*",
    ),
    "unzip": Writer(brings=_folder, into="-d", unless="-[a-zA-Z]*[lptvZ]"),
    "curl": Writer(
        files=_downloads, into="--output-dir", when=r"-[a-zA-Z]*O|--remote-name.*"
    ),
    "wget": Writer(
        files=_downloads,
        into="-P|--directory-prefix",
        unless=r"-[a-zA-Z]*O.*|--output-document.*|--spider",
    ),
    "git mv": Writer(files=_operands, wholes=_operands),
    "git rm": Writer(files=_operands, wholes=_operands, unless="--cached"),
    "git checkout": Writer(files=_operands, wholes=_operands),
    "git restore": Writer(files=_operands, wholes=_operands),
    "git clean": Writer(wholes=_operands_or_folder, unless=r"-[a-zA-Z]*n.*|--dry-run"),
    "git apply": Writer(brings=_folder, unless="--check|--stat|--numstat|--cached"),
    "git am": Writer(brings=_folder, unless="--abort|--quit|--skip|--continue"),
    "git checkout-index": Writer(files=_operands, wholes=_operands),
}
"""By the program, of git with its subcommand."""
_NOTHING = Writer()
EDITORS = frozenset(name for name, row in WRITERS.items() if row is _EDITOR)
"""Programs that change the files they are given when an option says "in place"."""


def written_by(words: Words) -> Written:
    """What a command changes, as far as its words say."""
    is_git = words[:1] == ("git",)
    head = words[:2] if is_git else words[:1]
    writer = WRITERS.get(" ".join(head), _NOTHING)
    rest = words[len(head) :]
    outputs = tuple(_outputs(rest, clusters=writer.files is _downloads))
    if not _acts(writer, rest):
        return Written(files=outputs)
    folder, operands = _parted(rest, writer)
    given = _Given(operands=operands, folder=folder, words=rest)
    wholes = _chosen(writer.wholes, given)
    # What `xargs` gives it stands nowhere.
    if (writer is _REMOVER or writer is _EDITOR) and not wholes:
        wholes = (".",)
    return Written(
        files=_chosen(writer.files, given) + outputs,
        wholes=wholes,
        brings=_chosen(writer.brings, given),
    )


def _acts(writer: Writer, words: Sequence[str]) -> bool:
    """Whether the options of a program let it change anything."""
    if writer.unless and any(re.fullmatch(writer.unless, word) for word in words):
        return False
    return not writer.when or any(re.fullmatch(writer.when, word) for word in words)


def _parted(words: Sequence[str], writer: Writer) -> tuple[str, list[str]]:
    """The folder that an option names, "" for none, and the operands."""
    folder = ""
    operands: list[str] = []
    names = writer.into.split("|") if writer.into else []
    short = "" if writer.into.startswith("--") else writer.into[:2]
    rest = iter(words)
    for word in rest:
        name, is_joined, value = word.partition("=")
        if word == "--":
            operands += rest
        elif name in names or _ends_in(word, short):
            folder = value if is_joined else next(rest, "")
        elif short and word.startswith(short) and word != short:
            folder = word[2:]
        elif not word.startswith("-"):
            operands.append(word)
    return folder, operands


def _ends_in(word: str, short: str) -> bool:
    """Whether this option of one letter is the last of several in a word."""
    return bool(short[1:]) and re.fullmatch(rf"-[a-zA-Z]+{short[1:]}", word) is not None


def _chosen(choice: Choice | None, given: _Given) -> tuple[str, ...]:
    """The names that a row of the table means."""
    return tuple(choice(given)) if choice else ()


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

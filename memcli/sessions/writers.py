"""What programs change of the files that their words name. Pure."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, dropwhile, pairwise

from memcli.named import NamedTuple
from memcli.text.matching import verbose
from memcli.text.shell import EDITORS, ShellCommand, Words, is_interpreter
from memcli.text.shell_values import found_by, is_option


class _Given(NamedTuple):
    """The operands of a command, the folder that an option names, and all words."""

    operands: Sequence[str]
    folder: str
    words: Sequence[str]

    @property
    def target(self) -> str:
        """Where it is put."""
        return self.folder or "".join(self.operands[-1:])


Names = Iterable[str]
Choice = Callable[[_Given], Names]


def _nothing(given: _Given) -> Names:
    """No file."""
    return ()


def _operands(given: _Given) -> Names:
    """Every operand."""
    return given.operands


def _sources(given: _Given) -> Sequence[str]:
    """Every operand that is put somewhere."""
    return given.operands if given.folder else given.operands[:-1]


def _targets(given: _Given) -> Names:
    """The file that is written last on this machine, or the files in it if it is a
    folder."""
    if not _sources(given) or ":" in given.target:
        return ()
    return [given.target, *_inside(given.target, _sources(given))]


def _copied_trees(given: _Given) -> Names:
    """Where folders are copied to with all that they hold, on this machine."""
    is_tree = any(map(_copies_trees().fullmatch, given.words))
    is_local = ":" not in given.target
    return _inside(given.target, _sources(given)) if is_tree and is_local else ()


def _downloads(given: _Given) -> Names:
    """Files that are named as the addresses from which they come."""
    return _inside(given.folder, [each.split("?")[0] for each in given.operands])


def _edited(given: _Given) -> Names:
    """The operands, without the scripts of an editor."""
    pairs = pairwise((*given.words, ""))
    options = [(_script().fullmatch(option), value) for option, value in pairs]
    scripts = [match[1] or value for match, value in options if match]
    files = [word for word in given.operands if word and word not in scripts]
    return files if scripts else files[1:]


def _replaced(given: _Given) -> Names:
    """The operands behind what is looked for and what is put there."""
    return given.operands[2:]


def _later(given: _Given) -> Names:
    """The operands behind the one that is read."""
    return given.operands[1:]


def _linked(given: _Given) -> Names:
    """Another name of a file, and the file: under both it can be changed."""
    return (*_targets(given), *_sources(given))


def _copied(given: _Given) -> Names:
    """Where files are put; where they are linked there, they too."""
    is_link = any(re.fullmatch(r"-[a-zA-Z]*[ls]|--link", each) for each in given.words)
    return _linked(given) if is_link else _targets(given)


def _packed(given: _Given) -> Names:
    """An archive that is made, and what is moved into it."""
    if _unpacked(given):
        return ()
    has_letters = re.fullmatch("[cruvzjJapPh]+f[vzjJ]*", "".join(given.words[:1]))
    operands = given.operands[1:] if has_letters else given.operands
    is_moved = any(re.fullmatch(_MOVES, word) for word in given.words)
    return operands if is_moved else operands[:1]


def _unpacked(given: _Given) -> Names:
    """The folder into which an archive is unpacked."""
    options = (*given.words[:1], *filter(is_option, given.words))
    return (
        _folder(given) if any(re.fullmatch(_UNPACKS, word) for word in options) else ()
    )


def _found(given: _Given) -> Names:
    """What find is told to find, but folders, which it takes away when empty alone."""
    is_of_folders = ("-type", "d") in pairwise(given.words)
    return () if is_of_folders else found_by(given.words)


def _pathspecs(given: _Given) -> Names:
    """What stands behind `--`: before it may be a branch."""
    return dropwhile("--".__ne__, given.words)


def _patched(given: _Given) -> Names:
    """The files that a patch is for; the folder where it names them itself."""
    names_itself = any(word.startswith(("-i", "--input")) for word in given.words)
    return _folder(given) if names_itself else _operands_or_folder(given)


def _folder(given: _Given) -> Names:
    """The folder in which a program works."""
    return [given.folder or "."]


def _operands_or_folder(given: _Given) -> Names:
    """The operands, or all that is in the folder where there are none."""
    return given.operands or _folder(given)


def _inside(folder: str, names: Sequence[str]) -> list[str]:
    return [os.path.join(folder, os.path.basename(name)) for name in names]


class Writer(NamedTuple):
    """What a program changes: the `files` that it names, those that it `takes` away with
    all that they hold, the folders and patterns whose files it changes (`wholes`), and
    in which folders anything may appear that it `brings`. `into` are options with the
    folder in which it works; it changes nothing without an option, or first word, that
    matches `when`, or with one that matches `unless`."""

    files: Choice = _nothing
    takes: Choice = _nothing
    wholes: Choice = _nothing
    brings: Choice = _nothing
    into: str = ""
    when: str = ".*"
    unless: str = "(?!)"


MOST_NAMED = 5_000
"""So many names in one code are looked at."""
# An assertion is tried once, whatever stands behind the letters.
_UNPACKS = "-(?=[a-zA-Z]*x).*|--extract|--get|[zjJv]*x[a-zA-Z]*"
"""What tells tar to unpack."""
_MOVES = "-(?=[a-zA-Z]*m)[a-zA-Z]*|--move|--remove-files"
"""An option by which files are moved into an archive."""
_TARGET = "-[a-zA-Z]*t|--target-directory"
_EDITOR = Writer(
    files=_edited, wholes=_edited, when=r"-[nErsuzlpaw0-9]*i.*|--in-place.*"
)
"""An option with a value (`-Ilib`, `-Mstrict`, `-rjson`) has no `i` of its own."""
_OPERANDS = Writer(files=_operands)
_REMOVER = Writer(takes=_operands)
_LOOKER = Writer()
_RUNNER = Writer()
_ROWS = {
    "rm, rmdir, rimraf, shred, unlink, trash, trash-put, git checkout-index": _REMOVER,
    "gio": _REMOVER._replace(when="trash"),
    "git rm": _REMOVER._replace(unless="--cached"),
    "git restore": _REMOVER._replace(
        unless=r"\A(?s:(?!.*^(?:-\w*W|--worktree))(?=.*^(?:-S|--staged)).*)"
    ),
    "git checkout": Writer(files=_pathspecs, wholes=_operands, unless="-[bB]"),
    "git clean": Writer(takes=_operands_or_folder, unless="-[a-zA-Z]*n.*|--dry-run"),
    "find": Writer(takes=_found, when="-delete"),
    ", ".join(EDITORS): _EDITOR,
    "sd": Writer(files=_replaced, unless="-p|--preview"),
    "awk, gawk, yq": _OPERANDS._replace(when="-i.*|--in-?place.*|inplace"),
    "sponge, tee, touch, truncate, mkfifo, dos2unix, unix2dos, pyupgrade": _OPERANDS,
    "gzip, gunzip, xz, unxz, bzip2, bunzip2, zstd, unzstd, lzma, unlzma": _OPERANDS._replace(
        unless="-[a-zA-Z0-9]*[cltk].*|--(?:to-)?stdout|--list|--test|--keep"
    ),
    "vi, vim, nvim, ed, ex": _OPERANDS._replace(unless="-R|--version|--help"),
    # Of a folder a program that formats takes what its own settings name.
    "black, isort, rustfmt": _OPERANDS._replace(
        unless="-c|--check.*|--diff|--version|--help"
    ),
    "autopep8, autoflake, clang-format, docformatter, pg_format, yapf": _OPERANDS._replace(
        when="-[a-z]*i.*|--in-place"
    ),
    "gofmt, goimports, shfmt, prettier, eslint, ruff, 2to3": _OPERANDS._replace(
        when="-w|--write|--fix.*|--unsafe-fixes|format",
        unless="--check|--diff|-d|--fix-dry-run",
    ),
    "mv, git mv": Writer(files=_targets, takes=_sources, into=_TARGET),
    "cp": Writer(files=_copied, brings=_copied_trees, into=_TARGET),
    "ln, link": Writer(files=_linked, into=_TARGET),
    "install, scp": Writer(files=_targets, into=_TARGET),
    "uniq, split, csplit, rename": Writer(files=_later),
    "zip": Writer(files=_packed),
    "rsync": Writer(
        files=_targets,
        brings=_copied_trees,
        unless="-(?=[a-zA-Z]*n)[a-zA-Z]*|--dry-run",
    ),
    "curl": Writer(
        files=_downloads, into="--output-dir", when=r"-[a-zA-Z]*O|--remote-name.*"
    ),
    "wget": Writer(
        files=_downloads,
        into="-[a-zA-Z]*P|--directory-prefix",
        unless=r"-[a-zA-Z]*O.*|--output-document.*|--spider",
    ),
    "patch": Writer(
        files=_operands, brings=_patched, into="-d|--directory", unless="--dry-run"
    ),
    "tar, bsdtar": Writer(
        files=_packed,
        brings=_unpacked,
        into="-[a-zA-Z]*C|--directory",
        unless=r"-[a-zA-Z]*t.*|--list|[zjJv]*t[a-zA-Z]*",
    ),
    "unzip": Writer(brings=_folder, into="-[a-zA-Z]*d", unless="-[a-zA-Z]*[lptvZ]"),
    "git apply": Writer(
        brings=_folder, unless="--check|--(?:num)?stat|--summary|--cached"
    ),
    "git bundle": Writer(files=_edited, when="create"),
    "git config": Writer(files=_folder, into="-f|--file", when="(?:-f|--file).*"),
    "protoc": Writer(brings=_folder, into=r"--\w+_out", when=r"--\w+_out.*"),
    "git am": Writer(brings=_folder, unless="--abort|--quit|--skip|--continue"),
    "grep, egrep, rg, ag, git grep, ls, git ls-files, ps": _LOOKER,
    # What these run is the same program by another name: patterns tell them apart.
    "npx, pnpx, bunx, uvx, pnpm, pnpm exec, pnpm dlx, pnpm run, yarn, yarn run": _RUNNER,
    "yarn exec, yarn dlx, bun x, bun run, npm exec, npm x, uv run, poetry run": _RUNNER,
    "pipenv run, hatch run, pdm run, bundle exec, python -m, python3 -m": _RUNNER,
}
WRITERS = dict[str, Writer]()
"""By the program, or by it with its subcommand."""
for _names, _row in _ROWS.items():
    WRITERS.update(dict.fromkeys(_names.split(", "), _row))
_NOTHING = Writer()


def written_by(words: Words) -> Iterator[tuple[str, Names]]:
    """What a command changes, as far as its words say: `files`, `takes`, `wholes` and
    `brings` as a row of the table has them."""
    writer, rest = _row_of(words)
    while writer is _RUNNER:
        writer, rest = _row_of(tuple(dropwhile(is_option, rest)))
    if writer is not _LOOKER:
        yield "files", _outputs(rest)
    if words[:1] in (("sed",), ("gsed",)):
        yield "files", [match[1] for match in _written().finditer("\n".join(rest))]
    if _acts(writer, rest):
        folder, operands = _parted(rest, writer)
        given = _Given(operands=operands, folder=folder, words=rest)
        yield "files", writer.files(given)
        yield "takes", writer.takes(given)
        yield "wholes", writer.wholes(given)
        yield "brings", writer.brings(given)


def named_in_code(command: ShellCommand) -> list[str]:
    """What the code that an interpreter is given names and may be a file, where that
    code may change one. It is not understood, so that whoever asks is told of more."""
    words = command.words
    writer, rest = _row_of(words)
    while writer is _RUNNER:
        words = tuple(dropwhile(is_option, rest))
        writer, rest = _row_of(words)
    if not words or not is_interpreter(words[0]):
        return []
    code = "\n".join([*filter(_code().search, words[1:]), command.given])
    if not _changing().search(code):
        return []
    quoted = (text for pair in _quoted().findall(code) for text in pair)
    names = chain.from_iterable(map(_name().findall, quoted))
    paths = (name for name in _name().findall(code) if "/" in name)
    return list(dict.fromkeys([*names, *paths]))[:MOST_NAMED]


def _row_of(words: Words) -> tuple[Writer, Words]:
    """The row of a program, or of it with its subcommand, and the words behind."""
    number = 2 if " ".join(words[:2]) in WRITERS else 1
    return WRITERS.get(" ".join(words[:number]), _NOTHING), words[number:]


def _acts(writer: Writer, words: Sequence[str]) -> bool:
    """Whether the options of a program let it change anything."""
    options = "\n".join([*words[:1], *filter(is_option, words[1:])])

    def has(pattern: str) -> bool:
        return re.search(rf"^(?:{pattern})$", options, re.MULTILINE) is not None

    return has(writer.when) and not has(writer.unless)


def _parted(words: Sequence[str], writer: Writer) -> tuple[str, list[str]]:
    """The folder that an option names, "" for none, and the operands."""
    folder = ""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        into = rf"(?:{writer.into})=?(.*)"
        match = re.fullmatch(into, word, re.DOTALL) if writer.into else None
        if word == "--":
            operands += rest
        elif match:
            folder = match[1] or next(rest, "")
        elif not is_option(word):
            operands.append(word)
    return folder, operands


def _outputs(words: Sequence[str]) -> Iterator[str]:
    """The files that an option names as the place of what comes out."""
    for option, value in pairwise((*words, "")):
        may_be = option.startswith(("-", "of="))
        if may_be and (match := _output().fullmatch(option)):
            yield match[1] or value


@verbose
def _output() -> str:
    """An option that names a file to write, with the file in it or behind it."""
    return r"""
        (?: --? (?: key )? out (?: put )? (?: -? file | -document )? =? | -[fkLqsS]*[oO] | of= )
        (.*)
    """


@verbose
def _copies_trees() -> str:
    """An option by which folders are copied with all that they hold."""
    return r"- (?= [a-zA-Z]* [aRr] ) [a-zA-Z]* | --archive | --recursive"


@verbose
def _written() -> str:
    """What a script of sed writes a line into."""
    return r"(?: ^ | [;{}\n/\d$] ) [^\S\n]* [wW] [ \t]+ ( [^\n]+ )"


@verbose(dot_all=True)
def _script() -> str:
    """An option that has the script of an editor in the same word, or behind it."""
    return r"(?: - [a-zA-Z0-9]*? [ef] | -- (?: expression | file ) = ) (.*)"


@verbose
def _code() -> str:
    """A sign that no name of a file and no option has, but code."""
    return r"[\s(){};'\"<>`]"


@verbose(ignore_case=True)
def _changing() -> str:
    """What code has that may change a file: a word for it, a mode of opening, a
    redirection, another program."""
    return r"""
        write | append | file_put | fput | remove | unlink | \b rm | delete | \b del \b | rename
      | replace | move | \b mv \b | copy | \b cp | truncate | touch | mkdir | link | chmod
      | save | \b dump \b | extract | retrieve | download | connect | \. to_ \w+ \( | O_[WRCT]
      | system | exec | eval | spawn | popen | subprocess | shutil | command | do[ ]shell | \$\(
      | ["'] (?: [wax] | r\+ ) [bt+]* ["'] | > | ` | %x
    """


@verbose
def _quoted() -> str:
    """What stands in quotes."""
    return r"""
        " ( [^"\n]* ) " | ' ( [^'\n]* ) '
    """


@verbose
def _name() -> str:
    """What may be the name of a file, a folder, or a pattern of them."""
    return r"""
        (?<! [.~/@*+-] ) [.~/@*+-]*+  # a run of signs is tried once
        \w [\w.~/@*+-]*
    """

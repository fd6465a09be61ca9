"""The targets of build tools: how a command names one, and which files declare it.

A new tool is a row of TOOLS and a row of CALLS."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from typing import NamedTuple

from memcli.index import manifests
from memcli.index.manifests import MOST_NAMES, Reader
from memcli.project import globs

_NAME = r"[\w@][\w:.@/-]*"


class CommandForm(NamedTuple):
    """How a command line of a program names targets of a tool.

    `before` are words that lead to the target (with `bare`, none need stand there, and
    a word of `built_in` means what the program itself can do); `valued` options take a
    word; `several`: every word that follows is a target."""

    tool: str
    before: tuple[str, ...] = ()
    bare: bool = False
    valued: tuple[str, ...] = ()
    several: bool = False
    built_in: frozenset[str] = frozenset()


def _in(names: str, reader: Reader) -> dict[str, Reader]:
    """The same reader for several manifests."""
    return dict.fromkeys(names.split(), reader)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OF_NODE = _words(
    """access add adduser audit bugs cache ci completion config create dedupe deploy
    deprecate diff dist-tag dlx docs doctor edit exec explain explore fetch fund get
    help i import info init install link list login logout ls node org outdated owner
    pack patch ping pkg plugin prefix profile prune publish query rebuild remove repo
    rm root sbom search self-update set setup shrinkwrap star store team token unlink
    unpublish up update upgrade version view whoami why workspace workspaces"""
)
_OF_COMPOSER = _words(
    """about archive audit browse bump check-platform-reqs clear-cache config
    create-project depends diagnose dump-autoload dumpautoload exec fund global help
    init install licenses list outdated prohibits reinstall remove require search
    self-update show status suggests update upgrade validate why why-not"""
)
_OF_CARGO = _words(
    """add b bench build c check clean clippy d doc fetch fix fmt generate-lockfile help
    init install locate-project login logout metadata miri new owner package pkgid
    publish r read-manifest remove report run rustc rustdoc search t test tree uninstall
    update vendor verify-project version yank"""
)
_SCRIPTS: Mapping[str, Reader] = {
    "pyproject.toml": manifests.python_scripts,
    "hatch.toml": manifests.python_scripts,
    "setup.cfg": manifests.matches(manifests.entry_point),
    "setup.py": manifests.matches(manifests.entry_point),
}
TOOLS: Mapping[str, Mapping[str, Reader]] = {
    "npm run": {"package.json": manifests.keys_at("scripts")},
    "composer": {"composer.json": manifests.keys_at("scripts")},
    "make": _in(
        """Makefile makefile GNUmakefile *.mk *Makefile.common *Makefile.inc
        *Makefile.am""",
        manifests.make,
    ),
    "just": _in(
        "justfile Justfile .justfile *.just", manifests.matches(manifests.recipe)
    ),
    "task": _in(
        """Taskfile.yml Taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml
        taskfile.yml taskfile.yaml""",
        manifests.taskfile,
    ),
    "cargo": _in("*.cargo/config.toml *.cargo/config", manifests.keys_at("alias")),
    "script": _SCRIPTS,
    "port": {
        **_in("compose.yaml compose.yml *compose.yaml *compose.yml", manifests.ports),
        "Dockerfile": manifests.matches(manifests.exposed),
    },
}
"""The tool, as it stands before a target in what is told, and what declares one: base
names of manifests, or endings of paths that begin with `*`, with what reads each."""

_PNPM_VALUED = ("--prefix", "-C", "--dir", "--cwd", "--filter", "-F", "--config")
_NPM_VALUED = (*_PNPM_VALUED, "-w", "--workspace", "-c", "workspace")
_NPM = ("run", "run-script")
_UV_VALUED = (
    *("--with", "--extra", "--group", "--project", "--directory", "--from"),
    *("-p", "--python", "--env"),
)
_POETRY_VALUED = ("-C", "--directory", "-P", "--project")
_CARGO_VALUED = ("--features", "-F", "--manifest-path", "--target", "--profile")


_OF_SCRIPTS = CommandForm(
    "npm run",
    before=(*_NPM, "workspace"),
    bare=True,
    valued=_NPM_VALUED,
    built_in=_OF_NODE,
)
CALLS: Mapping[str, CommandForm] = {
    "npm": _OF_SCRIPTS,
    "pnpm": _OF_SCRIPTS._replace(valued=_PNPM_VALUED),
    "yarn": _OF_SCRIPTS,
    "bun": _OF_SCRIPTS._replace(built_in=_OF_NODE | _words("build pm repl test x")),
    "composer": CommandForm(
        "composer",
        before=_NPM,
        bare=True,
        valued=("-d", "--working-dir"),
        built_in=_OF_COMPOSER,
    ),
    "make": CommandForm(
        "make",
        bare=True,
        valued=("-C", "--directory", "-f", "--file", "-j", "-I", "-o"),
        several=True,
    ),
    "just": CommandForm(
        "just",
        bare=True,
        valued=("-f", "--justfile", "-d", "--set"),
    ),
    "task": CommandForm("task", bare=True, valued=("-t", "-d", "--dir"), several=True),
    "cargo": CommandForm("cargo", bare=True, valued=_CARGO_VALUED, built_in=_OF_CARGO),
    "poetry": CommandForm("script", before=("run",), valued=_POETRY_VALUED),
    "hatch": CommandForm("script", before=("run",), valued=("-e", "--env")),
    "pdm": CommandForm("script", before=("run",), bare=True),
    "uv": CommandForm("script", before=("run",), valued=_UV_VALUED),
    "uvx": CommandForm("script", bare=True, valued=_UV_VALUED),
    "pipx": CommandForm("script", before=("run",), valued=("--spec",)),
}
"""A program, by its base name, and how its command line names targets."""

_SAME = {
    **dict.fromkeys(("gmake", "bmake"), "make"),
    "composer.phar": "composer",
    "cross": "cargo",
    "go-task": "task",
    "rust-just": "just",
}


def called(words: Sequence[str]) -> Iterator[str]:
    """What a simple command calls, as "tool target", also by a program behind another
    that runs it."""
    command = list(dropwhile(lambda word: "=" in word, words))
    programs = [word.rpartition("/")[2] for word in command]
    programs = [_SAME.get(program, program) for program in programs]
    for number, program in enumerate(programs):
        # `cargo make` is no make
        if program in CALLS and "cargo" not in programs[max(0, number - 1) : number]:
            yield from _targets(CALLS[program], command[number + 1 :])
    is_name = programs and re.fullmatch(r"[a-z][\w-]{2,40}", command[0])
    if is_name and programs[0] not in CALLS:
        yield f"script {command[0]}"


def _targets(call: CommandForm, words: Sequence[str]) -> Iterator[str]:
    for target in _wanted(call, list(_plain(words, call.valued))):
        name = target.strip("'\"").rstrip(",")
        if re.fullmatch(_NAME, name):
            yield f"{call.tool} {name}"


def _wanted(call: CommandForm, plain: list[str]) -> list[str]:
    """The targets among the words of a call that are no options."""
    led = list(dropwhile(lambda word: word not in call.before, plain))
    first = plain[:1]
    if led:
        named = list(dropwhile(call.before.__contains__, led))
    elif not call.bare or (not call.several and not call.built_in.isdisjoint(first)):
        named = []
    else:
        named = [word for word in plain if word not in call.built_in]
    return named if call.several else named[:1]


def _plain(words: Sequence[str], valued: Sequence[str]) -> Iterator[str]:
    """The words that are neither an option, nor its value, nor a variable; none after
    `--`."""
    is_value = False
    for word in words:
        if word == "--":
            return
        if not (is_value or word.startswith(("-", "+")) or "=" in word):
            yield word
        is_value = word in valued


def split(target: str) -> tuple[str, str]:
    """The tool and the name in "tool target"."""
    tool, _, name = target.rpartition(" ")
    return tool, name


def declared(tool: str, path: str, text: str) -> frozenset[str]:
    """The targets of a tool that a manifest with this text declares, none where there
    is no text. Raises ValueError for one that cannot be read."""
    try:
        return frozenset(_read(tool, path, text) if text.strip() else ())
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise ValueError(str(error)) from error


def _read(tool: str, path: str, text: str) -> Iterator[str]:
    base_name = path.rpartition("/")[2]
    for name, read in TOOLS[tool].items():
        if name == base_name or (name[0] == "*" and path.endswith(name[1:])):
            return islice(read(text), MOST_NAMES)
    return iter(())


def declares(names: frozenset[str], name: str) -> bool:
    """Whether a target is among these names and patterns (`test-*`)."""
    patterns = (each for each in names if "*" in each)
    return name in names or any(globs.matches(each, name) for each in patterns)

"""The targets of build tools: how a command names one, and which files declare it.

A new tool is a row of TOOLS and a row of CALLS."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from typing import Final, NamedTuple

from memcli.index import manifests
from memcli.index.manifests import MOST_NAMES

_NAME = r"[\w@][\w:.@/-]*"


class Tool(NamedTuple):
    """`files` are base names, or endings of paths that begin with `*`; `targets` reads
    one of them; a target may also be a file: `places` with the target for `{}`. A
    word of `built_in` means what the tool itself can do, unless `before` leads it;
    what a manifest has `configured` some plug-in declares."""

    files: tuple[str, ...]
    targets: Callable[[str], Iterable[str]]
    places: tuple[str, ...] = ()
    built_in: frozenset[str] = frozenset()
    configured: Callable[[str], Iterable[str]] = manifests.nothing


class CommandForm(NamedTuple):
    """How a command line of a program names targets of a tool.

    `before` are words that lead to the target (with `bare`, none need stand there),
    `itself` words that are one; `option` is the option that carries it instead;
    `valued` options take a word; `several`: every word that follows is a target."""

    tool: str
    before: tuple[str, ...] = ()
    itself: tuple[str, ...] = ()
    bare: bool = False
    option: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()
    several: bool = False


_PACKAGE = ("package.json",)
_GRADLE_FILES = ("build.gradle", "*.gradle.kts", "*.gradle")
_CARGO = ("Cargo.toml",)
_MAKE_PARTS = ("*Makefile.common", "*Makefile.inc", "*Makefile.am")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OF_NODE = _words(
    """add audit cache ci config create dedupe deploy dlx exec fetch help i import info
    init install link list ls node outdated pack patch plugin prune publish rebuild
    remove rm root self-update set setup store unlink up update upgrade version view
    why workspace workspaces"""
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
_OF_GRADLE = _words(
    """assemble build check classes clean dependencies dependencyInsight help init jar
    javadoc projects properties publish publishToMavenLocal tasks test testClasses
    wrapper"""
)
_OF_MIX = _words(
    """app.config app.start app.tree archive archive.build archive.install clean cmd
    compile compile.all deps deps.clean deps.compile deps.get deps.tree deps.unlock
    deps.update do escript.build escript.install eval format help hex.publish local.hex
    local.rebar new release run test xref"""
)

TOOLS: Final[Mapping[str, Tool]] = {
    "npm run": Tool(_PACKAGE, manifests.json_at("scripts"), built_in=_OF_NODE),
    "composer": Tool(
        ("composer.json",), manifests.json_at("scripts"), built_in=_OF_COMPOSER
    ),
    "make": Tool(
        ("Makefile", "makefile", "GNUmakefile", "*.mk", *_MAKE_PARTS), manifests.make
    ),
    "just": Tool(
        ("justfile", "Justfile", ".justfile", "*.just"),
        manifests.matches(manifests.recipe),
    ),
    "task": Tool(
        ("Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml"),
        manifests.taskfile,
    ),
    "cargo": Tool(
        ("*.cargo/config.toml", "*.cargo/config"),
        manifests.toml_at("alias"),
        built_in=_OF_CARGO,
    ),
    "cargo --bin": Tool(
        _CARGO, manifests.cargo_names("bin"), ("src/bin/{}.rs", "src/bin/{}/main.rs")
    ),
    "cargo --example": Tool(
        _CARGO,
        manifests.cargo_names("example"),
        ("examples/{}.rs", "examples/{}/main.rs"),
    ),
    "gradle": Tool(
        _GRADLE_FILES,
        manifests.matches(manifests.gradle),
        built_in=_OF_GRADLE,
        configured=manifests.matches(manifests.gradle_configured),
    ),
    "mvn -P": Tool(("pom.xml",), manifests.matches(manifests.maven_profile)),
    "script": Tool(("pyproject.toml", "hatch.toml"), manifests.python_scripts),
    "tox -e": Tool(
        ("tox.ini", "tox.toml", "pyproject.toml", "setup.cfg"), manifests.tox
    ),
    "nox -s": Tool(("noxfile.py",), manifests.nox),
    "rake": Tool(("Rakefile", "rakefile", "*.rake"), manifests.rake),
    "mix": Tool(("mix.exs", "*.ex"), manifests.mix, built_in=_OF_MIX),
    "dotnet": Tool(("dotnet-tools.json",), manifests.dotnet_tools),
    "port": Tool(
        ("compose.yaml", "compose.yml", "*compose.yaml", "*compose.yml"),
        manifests.ports,
    ),
    "python -m": Tool(
        (),
        manifests.nothing,
        ("{}.py", "{}/__main__.py"),
        built_in=sys.stdlib_module_names | {"build", "pip", "pytest", "twine"},
    ),
}
"""The tool, as it stands before a target in what is told, and what declares one."""

_NPM_VALUED = (
    *("--prefix", "-C", "--dir", "--cwd", "--filter", "-F"),
    *("-w", "--workspace", "-c", "--config"),
)
_NPM = ("run", "run-script")
_YARN = (*_NPM, "workspace")
_UV_VALUED = ("--with", "--extra", "--group", "--project", "-p", "--python", "--env")
_CARGO_VALUED = ("--features", "-F", "--manifest-path", "--target", "--profile")

CALLS: Final[Mapping[str, tuple[CommandForm, ...]]] = {
    "npm": (
        CommandForm(
            "npm run", before=_NPM, itself=("test", "start"), valued=_NPM_VALUED
        ),
    ),
    "pnpm": (CommandForm("npm run", before=_NPM, bare=True, valued=_NPM_VALUED),),
    "yarn": (
        CommandForm(
            "npm run", before=_YARN, bare=True, valued=(*_NPM_VALUED, "workspace")
        ),
    ),
    "bun": (CommandForm("npm run", before=("run",), valued=_NPM_VALUED),),
    "composer": (
        CommandForm("composer", before=_NPM, bare=True, valued=("-d", "--working-dir")),
    ),
    "make": (
        CommandForm(
            "make", bare=True, valued=("-C", "-f", "-j", "-I", "-o"), several=True
        ),
    ),
    "just": (
        CommandForm("just", bare=True, valued=("-f", "--justfile", "-d", "--set")),
    ),
    "task": (
        CommandForm("task", bare=True, valued=("-t", "-d", "--dir"), several=True),
    ),
    "cargo": (
        CommandForm("cargo", bare=True, valued=_CARGO_VALUED),
        CommandForm("cargo --bin", option=("--bin",)),
        CommandForm("cargo --example", option=("--example",)),
    ),
    "gradle": (
        CommandForm(
            "gradle", bare=True, valued=("-p", "-x", "-b", "--tests"), several=True
        ),
    ),
    "mvn": (CommandForm("mvn -P", option=("-P", "--activate-profiles")),),
    "poetry": (CommandForm("script", before=("run",)),),
    "hatch": (CommandForm("script", before=("run",), valued=("-e", "--env")),),
    "pdm": (CommandForm("script", before=("run",), bare=True),),
    "uv": (CommandForm("script", before=("run",), valued=_UV_VALUED),),
    "tox": (CommandForm("tox -e", option=("-e", "--env")),),
    "nox": (CommandForm("nox -s", option=("-s", "--session", "--sessions", "-e")),),
    "rake": (CommandForm("rake", bare=True, several=True),),
    "mix": (CommandForm("mix", bare=True),),
    "dotnet": (CommandForm("dotnet", before=("tool", "run"), bare=True),),
    "python": (CommandForm("python -m", option=("-m",)),),
}
"""A program, by its base name, and how its command line names targets."""

_SAME = {
    **dict.fromkeys(("gradlew", "gradlew.bat"), "gradle"),
    **dict.fromkeys(("mvnw", "mvnd"), "mvn"),
    **dict.fromkeys(("gmake", "bmake"), "make"),
    **dict.fromkeys(("python3", "py"), "python"),
}
_RUNNERS = {
    ("bundle", "exec"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("uv", "run"),
    ("hatch", "run"),
    ("corepack",),
    ("npx",),
    ("sudo",),
    ("time",),
}
"""What stands before a command that is a command itself."""


def called(words: Sequence[str]) -> Iterator[str]:
    """What a simple command calls, as "tool target", also behind a runner."""
    while words and "=" in words[0]:
        words = words[1:]
    if not words:
        return
    program = words[0].rpartition("/")[2]
    program = _SAME.get(program, program)
    for call in CALLS.get(program, ()):
        yield from _targets(call, words[1:])
    if program not in CALLS and re.fullmatch(r"[a-z][\w-]{2,40}", words[0]):
        yield f"script {words[0]}"
    for runner in _RUNNERS:
        if tuple(words[: len(runner)]) == runner:
            yield from called(words[len(runner) :])


def _targets(call: CommandForm, words: Sequence[str]) -> Iterator[str]:
    built_in = TOOLS[call.tool].built_in
    if call.option:
        named = _optional(call.option, words)
    else:
        plain = list(_plain(words, call.valued))
        named = list(dropwhile(call.before.__contains__, plain))
        is_itself = not set(plain[:1]).isdisjoint(call.itself)
        if len(named) < len(plain) or is_itself:
            built_in = frozenset()
        elif not call.bare:
            return
        if not call.several:
            named = named[:1]
    for target in named:
        name = target
        if call.tool == "gradle":
            name = target.rpartition(":")[2]
        elif call.tool == "python -m":
            name = target.replace(".", "/")
        if re.fullmatch(_NAME, name) and name not in built_in:
            yield f"{call.tool} {name}"


def _plain(words: Sequence[str], valued: Sequence[str]) -> Iterator[str]:
    """The words that are neither an option, nor its value, nor a variable; none after
    `--`."""
    is_value = False
    for word in words:
        if word == "--":
            return
        if not (is_value or word.startswith("-") or "=" in word):
            yield word
        is_value = word in valued


def _optional(options: Sequence[str], words: Sequence[str]) -> list[str]:
    """What stands at one of these options: in the next word, behind `=`, or right
    behind a short one; commas separate several."""
    values: list[str] = []
    for number, word in enumerate(words):
        for option in options:
            short = len(option) == 2 and word.startswith(option) and word != option
            if word == option:
                values += words[number + 1 : number + 2]
            elif word.startswith(f"{option}="):
                values.append(word.removeprefix(f"{option}="))
            elif short:
                values.append(word.removeprefix(option))
    return [name for value in values for name in value.split(",")]


def split(target: str) -> tuple[str, str]:
    """The tool and the name in "tool target"."""
    tool, _, name = target.rpartition(" ")
    return tool, name


def declared(tool: str, text: str) -> frozenset[str]:
    """The targets of a tool that the text of a manifest declares, none where there is
    no text. Raises ValueError for one that cannot be read."""
    try:
        names = TOOLS[tool].targets(text) if text.strip() else ()
        return frozenset(islice(names, MOST_NAMES))
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise ValueError(str(error)) from error

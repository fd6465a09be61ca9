"""Values of manifests that entries state ("Node 18", "minimum SDK 26"), held against
what the manifests say.

A new key is a row of KEYS. Only exact keys are compared: a manifest that says nothing
of a key, or in a form that is no version, contradicts nothing."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from memcli.index.manifests import Reader, values_at
from memcli.text.matching import verbose


class ManifestKey(NamedTuple):
    """A key that several manifests may have: how prose names it (a pattern), and the
    files, by base name or ending, with what reads its value there."""

    said: str
    sources: Mapping[str, Reader]


class StatedValue(NamedTuple):
    """A value that prose states for a key; `least`: as the least that will do."""

    key: str
    version: str
    least: bool = False

    def __str__(self) -> str:
        return f"{self.key} {self.version}{'+' if self.least else ''}"


def parse_statement(text: str) -> StatedValue:
    """The statement that was written as text."""
    key, _, version = text.rpartition(" ")
    return StatedValue(
        key=key, version=version.removesuffix("+"), least=version.endswith("+")
    )


def _first_line(text: str) -> list[str]:
    return text.split()[:1]


def _found(pattern: str) -> Reader:
    """A reader of the first group of a pattern, line by line. White space in it stays
    in its line, else each of many empty lines would be a start to walk from."""
    return lambda text: re.findall(rf"(?m){pattern}", text)


@verbose(lines=True, ignore_case=True)
def _argument() -> str:
    """A variable of a Dockerfile with its default."""
    return r"^ [ \t]* ARG [ \t]+ (\w+) = [\"']? ([^\s\"']+)"


def _with_arguments(reader: Reader) -> Reader:
    """A reader of a Dockerfile whose variables have their defaults."""

    def read(text: str) -> Iterable[str]:
        given = dict(_argument().findall(text))
        variable = re.compile(r"\$\{?(\w+)\}?")
        return reader(variable.sub(lambda each: given.get(each[1], each[0]), text))

    return read


def _package_manager(name: str) -> dict[str, Reader]:
    def read(text: str) -> Iterator[str]:
        yield from values_at(("engines", name))(text)
        for given in values_at(("packageManager",))(text):
            if given.startswith(f"{name}@"):
                yield given.removeprefix(f"{name}@").partition("+")[0]

    return {"package.json": read}


def _image(*names: str) -> dict[str, Reader]:
    """Tags of images in Dockerfiles and compose files."""
    image = rf"(?:[\w.-]+/)*(?:{'|'.join(names)}):([\w.-]+)"
    from_line = _found(rf"(?i)^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)?{image}")
    service = _found(rf"^[ \t]*image:[ \t]*[\"']?{image}")
    compose = ("compose.yaml", "compose.yml", "*compose.yaml", "*compose.yml")
    return {
        **dict.fromkeys(
            ("Dockerfile", "*.Dockerfile", "*.dockerfile"), _with_arguments(from_line)
        ),
        **dict.fromkeys(compose, service),
    }


def _sdk(name: str) -> dict[str, Reader]:
    """A level of Android's SDK in a build file of gradle or in its catalogue."""
    build = _found(
        rf"\b{name}(?:Version)?[ \t]{{0,9}}(?:=|\(|[ \t])[ \t]{{0,9}}(\d+)\b"
    )
    dashed = name.replace("Sdk", "-?sdk")
    catalogue = _found(rf"^[ \t]*(?i:android-?)?(?i:{dashed})[ \t]*=[ \t]*\"(\d+)\"")
    return {
        **dict.fromkeys(("build.gradle", "build.gradle.kts"), build),
        "libs.versions.toml": catalogue,
    }


_SDK_WORD = r"[\s_-]?sdk(?:[\s_-]?(?:version|level))?"
_IMAGES = (
    *("postgres", "mysql", "mariadb", "redis", "valkey", "mongo"),
    *("alpine", "debian", "ubuntu", "elasticsearch", "rabbitmq", "kafka"),
)

KEYS: Mapping[str, ManifestKey] = {
    "Node": ManifestKey(
        # a node with a small number is one of a cluster, if it is no name
        r"(?: node(?=[^\d\n]{0,20}[1-9]\d) | node\.?js | (?-i:Node)(?!\ [1-3]\b) )",
        {
            "package.json": values_at(("engines", "node")),
            **dict.fromkeys((".nvmrc", ".node-version"), _first_line),
            ".tool-versions": _found(r"^nodejs[ \t]+(\S+)"),
            **_image("node"),
        },
    ),
    **{
        name: ManifestKey(name.lower(), _package_manager(name.lower()))
        for name in ("npm", "pnpm", "Yarn", "Bun")
    },
    "VS Code": ManifestKey(
        r"vs\s?code", {"package.json": values_at(("engines", "vscode"))}
    ),
    "Python": ManifestKey(
        r"python(?=[^\d\n]{0,20}3\.\d)",
        {
            "pyproject.toml": values_at(
                ("project", "requires-python"),
                ("tool", "poetry", "dependencies", "python"),
            ),
            "setup.cfg": _found(r"^[ \t]*python_requires[ \t]*=[ \t]*(.+)$"),
            "setup.py": _found(r"\bpython_requires[ \t]*=[ \t]*[\"']([^\"'\n]+)"),
            ".python-version": _first_line,
            ".tool-versions": _found(r"^python[ \t]+(\S+)"),
            **_image("python"),
        },
    ),
    "Go": ManifestKey(
        r"go(?:lang)?(?=[^\d\n]{0,20}1\.\d)",
        {
            "go.mod": _found(r"^(?:toolchain[ \t]+)?go[ \t]*(\d\S*)"),
            ".tool-versions": _found(r"^golang[ \t]+(\S+)"),
            **_image("golang"),
        },
    ),
    "Rust": ManifestKey(
        r"rust|msrv",
        {
            "Cargo.toml": values_at(
                ("package", "rust-version"),
                ("workspace", "package", "rust-version"),
            ),
            "rust-toolchain.toml": values_at(("toolchain", "channel")),
            "rust-toolchain": _first_line,
            **_image("rust"),
        },
    ),
    **{
        key: ManifestKey(
            key.replace("min", "min(?:imum)?").replace("Sdk", _SDK_WORD), _sdk(key)
        )
        for key in ("minSdk", "compileSdk", "targetSdk")
    },
    # a number alone behind nginx is a port
    "Nginx": ManifestKey(r"nginx(?=[^\d\n]{0,20}\d\.\d)", _image("nginx")),
    **{
        name.capitalize(): ManifestKey(
            f"{name}(?:ql|db)?" if name in ("postgres", "mongo") else name, _image(name)
        )
        for name in _IMAGES
    },
}

_LEAST = r">=|≥|at\ least|minimum|min\.?|requires?|needs?"


@verbose(ignore_case=True)
def _statement() -> str:
    """A key with a version right behind it."""
    names = "|".join(
        f"(?P<key{number}>{key.said})" for number, key in enumerate(KEYS.values())
    )
    return rf"""
        (?P<before> \b (?: {_LEAST} ) \s+ )?
        (?<![\w./@-]) (?: {names} )
        (?: \*\* )?
        (?: (?P<tag> [@:] (?= \d+ [.-] ) )
          | (?: \s+ (?: versions? | image | api | lts ) ){{0,2}}
            \s* (?: \b(?: is | stays\ at | of ) \b | = | : | (?P<least> {_LEAST} ) )?
            (?: \*\* )? \s* (?: API\b \s* )?
            (?: \( (?= v?\d+[.+] | [v>≥] ) )? (?P<sign> [>≥] =? \s* )? )
        (?: v | (?<! [a-z] ) ) (?P<version> \d{{1,2}} (?: \.\d{{1,4}} ){{0,2}} )
        (?P<more> \+ | \s+ or\ (?: newer | later | higher | above ) )?
        (?! \w | \.\d | \s* (?: → | -> | to\ v?\d ) ) (?(tag) | (?!-) )
    """


@verbose(ignore_case=True)
def _other_time() -> str:
    """Words right before a version that make it one of another time, place or case."""
    return r"""
        \b (?: if | when | whether | unless ) \b [^.,;:]* $
      | \b (?: since | built\ into ) \b [^.;:]* $
      | \b (?: environments? | packages? | users? | systems? ) \s [\w\s]* $
      | \b (?: since | until | before | after | from | old(?:er)? | unlike | than
           | instead\ of | was | were | not | dropp?(?:ed|ing)? | without | for
           | upgrad\w+ | moved? | leave | left | to | in ) \s* $
    """


@verbose(ignore_case=True)
def _claim() -> str:
    """What is told of a version itself, right behind it: what it brought or can do."""
    return r"""
        \s+ (?: ship\w* | add(?:s|ed) | introduc\w+ | remov\w+ | dropp?\w* | deprecat\w+
          | supports? | supported | does | has | had | have | can | cannot | will | br(?:ings?|ought)
          | c(?:omes?|ame) | br(?:eaks?|oke) | chang(?:es|ed) | ma(?:kes?|de) ) \b
    """


def statements(text: str) -> Iterator[StatedValue]:
    """The values that prose states, without those of another time."""
    for stated in _statement().finditer(text):
        before = text[max(0, stated.start() - 40) : stated.start()]
        behind = text[stated.end() :]
        is_question = re.match(r"[^.!;\n]*\?", behind)
        is_claim = _claim().match(behind)
        if _other_time().search(before) or is_question or is_claim:
            continue
        key = next(key for place, key in enumerate(KEYS) if stated[f"key{place}"])
        least = any(stated.group("before", "least", "sign", "more"))
        yield StatedValue(key=key, version=stated["version"], least=least)


@verbose
def _clause() -> str:
    """A bound of a range of versions, or a version alone."""
    return r"""
        (?<![\w.]) ( >= | <= | > | < | \^ | ~= | ~ | == | = | != )? \s*
        v? ( \d+ (?: \. (?: \d+ | [*x] ) )* )
    """


_Bounds = list[tuple[str, tuple[int, ...]]]  # signs with their versions


def agrees(statement: StatedValue, given: str) -> bool | None:
    """Whether a manifest's value allows what was stated; None where it is no version
    or range."""
    stated = _numbers(statement.version)
    verdict = None
    for part in given.split("||"):
        clauses = _clause().findall(part)
        bounds = [(sign, _numbers(version)) for sign, version in clauses]
        if _begins(bounds, stated):
            return True
        if bounds:
            keeps_all = all(_keeps(stated, sign, version) for sign, version in bounds)
            verdict = verdict or (keeps_all and not statement.least)
    return verdict


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _begins(bounds: _Bounds, stated: tuple[int, ...]) -> bool:
    """Whether a stated version begins a bound, or a bound begins it."""
    return any(
        sign not in ("<", "!=")
        and all(one == other for one, other in zip(given, stated, strict=False))
        for sign, given in bounds
    )


def _keeps(stated: tuple[int, ...], sign: str, version: tuple[int, ...]) -> bool:
    """Whether a version that does not begin a bound keeps it."""
    if sign in ("<", "<="):
        zeros = (0,) * (len(version) - len(stated))
        return (*stated, *zeros) < version
    if sign == "!=":
        return stated != version
    # so many parts stay the same
    fixed = {
        ">=": 0,
        ">": 0,
        "~=": len(version) - 1,
        "~": 2,
        "^": 1 if version[0] else 2,
    }
    parts = fixed.get(sign, len(version))
    return stated > version and stated[:parts] == version[:parts]

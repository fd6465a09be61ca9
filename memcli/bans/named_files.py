"""The files that a text names, in code or plain. Pure."""

import re
from collections.abc import Callable, Iterator

from memcli.bans.clauses import is_rule, path_like, sentences, span
from memcli.text.matching import verbose

ELSEWHERE = ("/", "@", "..", "process.", "import.meta.")
"""What begins so is no file of a repository, also with a file's ending."""
NAMES_FILE = re.compile(r"\.[^\s/]")
"""What a text has that may name a file: most sentences have no dot within a word."""
WHOLES = frozenset(
    """to in on for without unless before after by from with and or nor when if as is are
    at must should may directly yourself manually ever again here because since while
    until not file files folder folders directory directories artifacts copies either
    outside inside under through into und oder von mit et ou avec y o con""".split()
)
"""Words behind the name of a file that leave it whole."""


def files_in(text: str) -> Iterator[str]:
    """The globs of the files and folders that a text names, each as a whole: not "the
    version in package.json"."""
    return (glob for glob, is_whole in named_files(text) if is_whole)


def files_of_rules(text: str) -> Iterator[str]:
    """The single files that each sentence names which forbids or demands something."""
    # a name that is no file's is met by no change of a file
    marked = with_files(text, lambda name: True)
    for sentence in filter(NAMES_FILE.search, sentences(marked)):
        globs = [glob for glob, _ in named_files(sentence)]
        if globs and is_rule(sentence):
            yield from filter(re.compile(r"[^*]*\.[^*/]+").fullmatch, globs)


def with_files(text: str, is_file: Callable[[str], bool]) -> str:
    """`text` in which a name that only its ending may tell from a word stands as that
    of a file (`./intro.rst`), where it is one."""

    def marked(found: re.Match[str]) -> str:
        name = found[0]
        is_plain = path_like().fullmatch(name) or not is_file(name)
        return name if is_plain else f"./{name}"

    return dotted_name().sub(marked, text)


@verbose
def dotted_name() -> str:
    """A name with an ending, without a folder."""
    return (
        r"(?<! [\w@:/.-] ) [\w-]+ (?: \. [\w-]+ )* \. [a-z]\w{1,9} (?! [\w/(@] | \.\w )"
    )


def named_files(text: str) -> Iterator[tuple[str, bool]]:
    """The glob of each file or folder that a text names, and whether it speaks of all
    of it."""
    for match in span().finditer(text):
        code = match["code"] or ""
        if re.fullmatch(r"\.[a-z0-9]{2,10}", code) and f"{code}` files" in text:
            yield f"**/*{code}", True
        elif " " not in code and path_like().fullmatch(code):
            yield from _named(code, text[: match.start()], text[match.end() :])
    plain = span().sub(" ; ", text)
    for match in path_like().finditer(plain):
        if _reads_as_file(match[0]):
            yield from _named(match[0], plain[: match.start()], plain[match.end() :])


def _named(name: str, before: str, after: str) -> Iterator[tuple[str, bool]]:
    if not (name.startswith(ELSEWHERE) or outside().search(before)):
        bare = name.removeprefix("./").rstrip(".,")
        glob = f"{bare}**" if bare.endswith("/") else bare
        yield glob, _is_whole_file(name, before, after)


@verbose(ignore_case=True)
def outside() -> str:
    """Words behind which stands where a rule does not hold."""
    return r"\b outside \s (?: of \s )? (?: the \s )? \Z"


def _reads_as_file(name: str) -> bool:
    """Whether a name in prose is that of a file or folder: not "a/b" or "Next.js"."""
    if "/" not in name:
        return not re.match(r"[A-Z].*\.js", name)
    last = name.rpartition("/")[2]
    return not last or "*" in name or "." in last


def _is_whole_file(name: str, before: str, after: str) -> bool:
    """Whether a ban is on all of the file or folder that it names: not on "the version
    in package.json" or "package.json versions"."""
    noun = re.match(r" ([a-z]+)", after)
    if noun and noun[1] not in WHOLES:
        return False
    last = name.rstrip("/").rpartition("/")[2]
    is_file = "." in last and "*" not in name
    return not is_file or part_of().search(before) is None


@verbose(ignore_case=True)
def part_of() -> str:
    """A thing of its own, of or in the file that is named next."""
    return r"""
        (?<! \b file ) (?<! \b files ) (?<! \b anything ) (?<! \b everything ) (?<! \b code )
        (?<! \b write ) (?<! \b writing ) (?<! \b changes ) (?<! \b edits )
        \s (?: in | of | within | from | inside | to | into ) \s (?: (?: the | our | your | any ) \s )? \Z
    """

"""What a lesson forbids, as patterns of commands and files: by rules, no model. Pure.

A rule says what must not be done, often what is right instead, and names both by code,
by a command in the text, by a path, or by an idiom ("force push"). What is written
here is a suggestion that a person reads before it binds."""

import posixpath
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from memcli.bans.clauses import parts_of, path_like, prose_of, reason
from memcli.bans.named_files import files_in, with_files
from memcli.bans.patterns import matches, parse_pattern
from memcli.bans.said_commands import KNOWN, SINGLE, named_commands, open_pattern
from memcli.named import NamedTuple
from memcli.text.matching import table, verbose
from memcli.text.shell import commands_of

MOST = 24
"""Patterns of one suggestion."""
LOCK_FILES = {
    "package-lock.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "bun.lockb": "bun",
    "Gemfile.lock": "bundle",
    "Pipfile.lock": "pipenv",
    "go.sum": "go",
}
"""Whose file it is, where its name does not say so."""
RIVALS = (
    ("npm", "yarn", "pnpm", "bun"),
    ("pip", "poetry", "pipenv", "uv", "conda"),
)
"""Programs for one thing: who says "always use pnpm" forbids the others."""


class Suggestion(NamedTuple):
    """Patterns for the keys `commands`, `paths` and `unless` of an entry."""

    commands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


class Idiom(NamedTuple):
    """Words for commands or files, and what they stand for."""

    said: re.Pattern[str]
    commands: tuple[str, ...]
    paths: tuple[str, ...]
    files: bool


@verbose(ignore_case=True)
def changes_files() -> str:
    """Verbs that say that a file is changed."""
    return r"""
        \b (?: edit (?! or ) | modif | chang | touch | writ | overwrit | delet | remov | updat
             | alter | regenerat | reformat | hand-?edit | mess | renam | mov | rewrit
             | tamper | bump | put | alone | off[- ]limits | read-?only | bearbeit
             | änder | lösch | modifi | supprim | borr | elimin
             | измен | удал | редактир ) \w*
      | 修改 | 编辑 | 删除 | 編集 | 変更 | 수정 | 삭제
    """


@verbose(ignore_case=True)
def commits_files() -> str:
    """Verbs that say that a file goes into git."""
    return r"\b (?: commit | check \s in | stage | git \s add ) \w*"


def suggest(title: str, body: str) -> Suggestion:
    """The patterns of what a lesson forbids, less those that what it allows is."""
    commands: list[str] = []
    paths: list[str] = []
    insteads = []
    programs = KNOWN.union(_programs_in(body))
    for forbidden, instead in parts_of(f"{title}\n{prose_of(body)}"):
        insteads.append(instead)
        clause = "\n".join(map(_banned, forbidden.split("\n")))
        if not clause.strip():
            commands += _rivals(forbidden, instead)
            continue
        commands += _of_places(_commands(clause, programs), clause)
        commands += _staged(clause)
        if _only_deletes(clause):
            commands += _deleting(clause)
        else:
            paths += _paths(clause)
    # what is allowed says nothing where nothing is forbidden
    allowing = insteads if commands else ()
    allowed = dict.fromkeys(chain.from_iterable(map(_exceptions, allowing)))
    usable = _usable(dict.fromkeys(commands), allowed)
    unless = [each for each in allowed if _narrows(each, usable)]
    return Suggestion(
        commands=tuple(usable[:MOST]),
        paths=tuple(dict.fromkeys(paths))[:MOST],
        unless=tuple(unless[:MOST]),
    )


def _usable(commands: Iterable[str], allowed: Collection[str]) -> list[str]:
    """The patterns that can be read and are not allowed, without those that another
    says closer."""
    # also to one branch
    lets = tuple(pattern for pattern in allowed if " --" in pattern)
    usable = [
        pattern
        for pattern in commands
        if pattern not in allowed and not pattern.startswith(lets) and _parses(pattern)
    ]
    return [pattern for pattern in usable if not _is_named_closer(pattern, usable)]


def _programs_in(body: str) -> Iterator[str]:
    """The programs that examples of a lesson run."""
    lines = [
        line
        for block in example().finditer(body)
        for line in block["lines"].splitlines()
    ]
    for line in lines:
        for words in commands_of(line.strip().removeprefix("$ ")):
            if re.fullmatch(r"[a-z][\w-]+", words[0]):
                yield words[0]


@verbose
def example() -> str:
    """A fenced block of shell lines."""
    return r"""
        (?m: ^ ) [ ]* ``` (?: bash | sh | shell | console | zsh ) [ ]* \n
        (?P<lines> (?s: .*? ) ) (?m: ^ ) [ ]* ```
    """


def in_folders(made: Suggestion, folders: Sequence[str]) -> Suggestion:
    """A suggestion of rules that hold in folders (`web/**`): its files lie there."""
    bases = [glob.removesuffix("/**") for glob in folders if glob.endswith("/**")]
    if not bases:
        return made
    paths = []
    for base in bases:
        for path in made.paths:
            is_placed = path.startswith(f"{base}/")
            joined = path if is_placed else posixpath.normpath(f"{base}/{path}")
            paths.append(joined)
    return made._replace(paths=tuple(dict.fromkeys(paths)))


def with_folders(root: Path | None, *texts: str) -> Iterator[str]:
    """Texts in which a path that is a folder below the root ends as one: `src/gen/`,
    and a file of the root stands as one, whatever its ending."""

    def is_file(name: str) -> bool:
        return root is not None and (root / name).is_file()

    def told(match: re.Match[str]) -> str:
        is_folder = root is not None and (root / match[0]).is_dir()
        return posixpath.join(match[0], "") if is_folder else match[0]

    for text in texts:
        yield path_like().sub(told, with_files(text, is_file))


def _banned(clause: str) -> str:
    """A clause without its condition or reason; nothing of one that forbids to speak, to
    forget or to wait, which is no call, nor of one that forbids two things at once, of
    which a call shows one."""
    if only_speaks().match(clause) or at_once().search(clause):
        return ""
    return reason().split(clause)[0]


@verbose(ignore_case=True)
def only_speaks() -> str:
    """A verb that runs and changes nothing."""
    return r"""
        [\s"“`*_]* (?: say | tell | assum | expect | claim | think | mention | forget | hesitat
                  | stop | wait | confus | worry | suggest | ask | rely | trust | need | have
                  | fail | describ | document ) \w* \b
    """


@verbose(ignore_case=True)
def at_once() -> str:
    """Words for two things that are done together."""
    return r"""
        \b (?: in | into | as \s part \s of ) \s (?: the \s same | one | a \s single ) \s
          (?: commit | change | pull \s request | PR | MR | patch | release ) \b
      | \b together \s with \b
    """


def missed(text: str, commands: Sequence[str]) -> str:
    """What a rule forbids and patterns of commands cannot match: a commit does not say
    to which branch; "" for nothing."""
    verbs = {found["verb"].lower() for found in to_branch().finditer(text)}
    is_of_push = any(each.startswith("git push") for each in commands)
    return "git commit on that branch" if is_of_push and "commit" in verbs else ""


def closer(title: str, body: str, commands: Sequence[str]) -> tuple[str, ...]:
    """The patterns of what a lesson forbids, where others stop that and more."""
    wide = [pattern for pattern in commands if _parses(pattern)]
    named = (
        pattern for pattern in suggest(title, body).commands if pattern not in commands
    )
    return tuple(
        pattern
        for pattern in named
        if _narrows(pattern, [one for one in wide if _says_less(one, pattern)])
    )


def _says_less(pattern: str, than: str) -> bool:
    return len(pattern.replace("*", " ").split()) < len(than.replace("*", " ").split())


def for_entry(title: str, body: str, written: Suggestion) -> Suggestion:
    """The patterns of an entry that was learned: those that its words name go before
    those `written` of what was at hand, which never stop what the words prescribe."""
    made = suggest(title, body)
    is_written = bool(written.commands or written.paths)
    if not is_written or made != Suggestion():
        return made
    parts = parts_of(f"{title}\n{body}")
    allowed = [each for _, instead in parts for each in _exceptions(instead)]
    narrowing = [each for each in allowed if _narrows(each, written.commands)]
    unless = dict.fromkeys((*written.unless, *narrowing))
    return written._replace(unless=tuple(unless)[:MOST])


def _commands(text: str, programs: Collection[str]) -> Iterator[str]:
    """The patterns of commands that a clause names."""
    yield from named_commands(text, programs)
    meant: list[str] = []
    for idiom in idioms():
        about = not idiom.files or changes_files().search(text) is not None
        said = idiom.said.search(text)
        if about and said:
            name = str(said.groupdict().get("name")).lower()
            named = [each.format(name=name) for each in idiom.commands]
            meant += _of_named_tools(named, text)
    branches = _branches(text)
    for command in meant:
        yield from _to_branches(command, branches)
    if not any(command.startswith("git push") for command in meant):
        yield from _of_git(text)  # "force push to main" leaves a plain push alone


def _of_named_tools(commands: Sequence[str], text: str) -> Sequence[str]:
    """Of what an idiom stands for the commands of the tools that the text names; all
    where it names none."""
    words = set(re.findall(r"\w[\w-]+", text.lower())) - SINGLE
    own = [each for each in commands if words.intersection(_tools_of(each))]
    return own or commands


def _tools_of(pattern: str) -> Iterator[str]:
    """The program of a command, and the one it runs; of a lock file the one it is of."""
    words = pattern.split()
    if len(words) == 1:
        yield LOCK_FILES.get(pattern, pattern.removesuffix(".lock").lower())
        return
    yield words[0]
    if words[0] == "npx":
        yield words[1]
    elif words[1] in ("exec", "-m"):
        yield words[2]


BRANCH = (
    r"(?: main | master | develop | production | prod | release [\w/-]* | trunk ) \b"
)


@verbose(ignore_case=True)
def to_branch() -> str:
    """Pushing or committing to branches that are named."""
    return rf"""
        \b (?P<verb> push | commit | merge ) (?:es|s|ing|ed|ting)? \b
        (?: \s (?: anything | directly | straight | code | changes | it | them | commits ) )*
        (?: \s (?: to | on | into | onto ) (?P<onto>) )? \s (?: the \s | origin/ | our \s )*
        (?P<branches> `? {BRANCH} (?: `? (?: \s? [,/] | \s (?:or|and|nor) ) \s? `? {BRANCH} )* )
        (?(onto) | (?! \s \w ) )   # "commit production keys" names no branch
    """


@verbose(ignore_case=True)
def branch_name() -> str:
    """The name of a branch that many have."""
    return BRANCH


@verbose(ignore_case=True)
def pushed_behind() -> str:
    """Pushing to a branch, where the verb stands behind."""
    return r"\b auf \s `? (?P<branch> main | master | develop ) `? \s pushen \b"


@verbose(ignore_case=True)
def git_verb() -> str:
    """What git does, said without its name."""
    return r"""
        (?: ^ | [\s,] ) (?: git \s )? (?: (?P<push> push (?:ing|ed|en|er)? | пуш\w* )
          | commit (?:ting|ted|ten|ter)? | коммит\w* )
        (?= \s (?: without | unless | until | before | anything | code | changes | to \s
                  (?:the \s)? (?:remote|origin|github) | yourself | on \s your | any | for \s me
                  | automatically | or \b | and \b | без \b | ohne \b | sans \b )
          | \s* (?: [.,;!] (?=\s|\Z) | \Z | \n ) )
    """


def _branches(text: str) -> list[str]:
    """The branches that a clause is about, where it is about pushing to some."""
    stretches = [match["branches"] for match in to_branch().finditer(text)]
    stretches += [match["branch"] for match in pushed_behind().finditer(text)]
    names = [name for stretch in stretches for name in branch_name().findall(stretch)]
    return list(dict.fromkeys(names))


def _to_branches(command: str, branches: Sequence[str]) -> Iterator[str]:
    """A command that pushes, as one to these branches alone: a forced push says so there
    by its options (see `pushes`)."""
    if not branches or not command.startswith("git push"):
        yield command
    elif "+" not in command and "--mirror" not in command:
        yield from (f"{command} {branch}" for branch in branches)


def _of_git(text: str) -> Iterator[str]:
    if branches := _branches(text):
        yield from _to_branches("git push *", branches)
    alone = pushed_behind().sub(" ", text)
    for match in git_verb().finditer(alone):
        if is_noun().search(alone[: match.start() + 1]):
            continue
        yield "git push *" if match["push"] else "git commit *"


def _only_deletes(text: str) -> bool:
    """Whether a clause forbids to delete, and no other change."""
    verbs = changes_files().findall(text)
    return bool(verbs) and all(deletes().match(verb) for verb in verbs)


@verbose(ignore_case=True)
def deletes() -> str:
    """Verbs that say that a file is deleted."""
    return r"delet | remov | elimin | borr | supprim | lösch | удал | 删除 | 삭제"


def _deleting(text: str) -> Iterator[str]:
    """The commands that delete the files of a clause."""
    for path in _paths(text):
        for program in ("rm", "git rm"):
            yield from _on_place(program, path)


def _on_place(command: str, path: str) -> Iterator[str]:
    """A command on a file, or on a folder and what lies in it."""
    bare = path.removesuffix("**").removesuffix("/")
    for name in dict.fromkeys((bare, f"{bare}/*" if bare != path else bare)):
        yield f"{command} * {name}"


def _of_places(commands: Iterable[str], text: str) -> Iterator[str]:
    """Commands of a clause, those that delete on the places alone that it names."""
    folders = (f"{found[1]}/**" for found in named_folder().finditer(text))
    places = list(dict.fromkeys((*files_in(text), *folders)))
    for command in commands:
        is_bare = re.fullmatch(r"(?:git )?rm(?: -\S+)* \*", command)
        if not is_bare or not places:
            yield command
            continue
        for place in places:
            yield from _on_place(command.removesuffix(" *"), place)


@verbose(ignore_case=True)
def named_folder() -> str:
    """The name of a folder in a sentence, in code: "the `data` directory"."""
    return r"` (?P<name> [\w.-]+ ) ` \s (?: folder | directory | dir ) \b"


@verbose(ignore_case=True)
def is_noun() -> str:
    """What makes a noun of a verb that follows: "a fixed commit"."""
    return r"\b (?: an? | the | this | that | one | per ) \s (?: \w+ \s )? \Z"


def _paths(text: str) -> Iterator[str]:
    """The globs of files that a clause forbids to change."""
    if not changes_files().search(text):
        return
    for idiom in idioms():
        if idiom.files and idiom.said.search(text):
            yield from _of_named_tools(idiom.paths, text)
    yield from files_in(text)


def _staged(text: str) -> Iterator[str]:
    """Files that must not be committed."""
    if commits_files().search(text) and not changes_files().search(text):
        for name in files_in(text):
            yield f"git add * {name}"
            yield f"git commit * {name}"


def _exceptions(text: str) -> Iterator[str]:
    """The patterns of what a rule allows."""
    yield from named_commands(text)
    for match in re.finditer(r"--[\w-]+", text):
        if match[0] == "--force-with-lease":
            yield "git push --force-with-lease *"


def _rivals(forbidden: str, instead: str) -> Iterator[str]:
    """What "always use pnpm" forbids without saying so: the program stands alone there,
    right behind the word that prefers it."""
    if forbidden.strip():
        return
    for family in RIVALS:
        names = "|".join(family)
        alone = rf"\A\W*(?:us(?:e|ing) )?`?({names})`?(?=\s*(?:\Z|[.,;!)(]|(?:for|as|in|to|only)\b))"
        meant = re.search(alone, instead)
        others = [name for name in family if meant and name != meant[1]]
        if not any(re.search(rf"\b{name}\b", instead) for name in others):
            for name in others:
                yield from open_pattern(name)


def _is_named_closer(pattern: str, named: Sequence[str]) -> bool:
    """Whether a rule that names a program goes on to say what it must not do: "git", or
    "git push" where an option of it is named."""
    stem = pattern.removesuffix("*")
    closer = (each for each in named if each != pattern and each.startswith(stem))
    is_wide = pattern.count(" ") == 1
    return any(is_wide or each.startswith(f"{stem}--") for each in closer)


def _parses(pattern: str) -> bool:
    try:
        parse_pattern(pattern)
    except ValueError:
        return False
    return True


def _narrows(pattern: str, commands: Iterable[str]) -> bool:
    """Whether an exception is one: what it allows would be forbidden without it."""
    if not _parses(pattern):
        return False
    example = commands_of(pattern.replace("*", "x"))
    known = [parse_pattern(each) for each in commands]
    return any(matches(each, words) for each in known for words in example)


@cache
def idioms() -> tuple[Idiom, ...]:
    """The idioms of `idioms.toml`."""
    rows = tomllib.loads(table("bans/idioms.toml"))["idiom"]
    return tuple(
        Idiom(
            said=re.compile(row["said"], re.IGNORECASE),
            commands=tuple(row.get("commands", ())),
            paths=tuple(row.get("paths", ())),
            files=row.get("about") == "files",
        )
        for row in rows
    )

"""What a lesson forbids, as patterns of commands and files: by rules, no model. Pure.

A rule says what must not be done, often what is right instead, and names both by code,
by a command in the text, by a path, or by an idiom ("force push"). What is written
here is a suggestion that a person reads before it binds."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

from memcli.guard.clauses import parts_of, path_like, span
from memcli.guard.patterns import matches, parse_pattern
from memcli.named import NamedTuple
from memcli.sessions.tools import IN_PLACE
from memcli.text.matching import table, verbose
from memcli.text.shell import commands_of

MOST = 24
"""Patterns of one suggestion."""
OPTION_NAMES = {
    ("git push", "--force"): "-f",
    ("git push", "-f"): "--force",
    ("git commit", "--no-verify"): "-n",
    ("git commit", "--amend"): "",
    ("npm install", "-g"): "--global",
}
"""Other names of an option that a rule means as well."""
SHORT_NAMES = {
    "npm install": ("npm i", "npm add", "npm ci"),
    "pnpm install": ("pnpm i", "pnpm add"),
    "yarn install": ("yarn add", "yarn"),
    "pip install": ("pip3 install", "python -m pip install", "python3 -m pip install"),
    "pip": ("pip3", "python -m pip", "python3 -m pip"),
    "docker compose": ("docker-compose",),
    "docker-compose": ("docker compose",),
    "python": ("python3",),
    "pytest": ("python -m pytest", "python3 -m pytest"),
}
NODE_TOOLS = frozenset(
    "prisma jest vitest eslint prettier tsc next vite expo wrangler nx turbo knex"
    " drizzle-kit playwright cypress biome storybook tsx webpack".split()
)
"""Programs that are mostly run by npx."""
SCRIPT_RUNNERS = (
    "npm run", "yarn", "yarn run", "pnpm", "pnpm run", "bun run", "task", "mise run",
    "rails", "rake",
)  # fmt: skip
INTERPRETERS = {
    "py": ("python", "python3", "uv run"),
    "sh": ("bash", "sh"),
    "js": ("node",),
}
"""By the end of its name, what a script is run with."""
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


PROGRAMS = (
    "git gh glab npm npx yarn pnpm bun bunx deno pip pip3 pipx uv poetry pipenv conda"
    " docker docker-compose podman kubectl helm terraform tofu ansible-playbook make just"
    " cargo go pytest tox nox python python3 node rails rake bundle php composer gradle"
    " gradlew mvn dotnet aws gcloud az heroku vercel flyctl firebase netlify wrangler"
    " supabase prisma alembic flyway knex rm mv chmod chown curl wget sudo brew apt"
    " apt-get psql mysql redis-cli jest vitest eslint prettier black ruff tsc next vite"
    " expo pod xcodebuild adb flutter mix sbt bazel nx turbo lerna systemctl crontab dd"
    " grep sed killall pkill kill truncate shred rsync scp ssh rg fd awk sqlite3 mongosh"
    " dropdb createdb pg_dump pg_restore pulumi serverless cdk ng webpack cypress"
    " playwright biome mypy pyright cmake rustup gem launchctl reboot shutdown"
).split()
IN_CODE = frozenset(
    "find cat ls cp touch tee ln screen fly perl ruby swift dart".split()
)
"""Programs whose names are so much words that only code means them."""


@verbose
def command_in_text() -> str:
    """A program of the trade and the words behind it that belong to the command."""
    programs = "|".join(re.escape(name) for name in sorted(PROGRAMS, key=len)[::-1])
    return rf"""
        (?<![\w./-]) (?<!\bto[ ]) (?<!\bfrom[ ]) (?<!\bpipe[ ]) (?<!\bon[ ]) (?<!\bin[ ])
        (?:\./)? (?P<program> {programs} ) (?![\w.-])
        (?= (?P<rest> (?a: [ ] (?: --?[\w][\w=-]* | [\w][\w:./@=-]* ) ){{0,4}} ) )
    """


STOP = frozenset(
    """to in on for without unless before after by from with the a an any directly
    yourself and or when if as is are at this that these those manually ever again here
    because since while until not it them my our your all every new only instead of
    commands command files file packages package dependencies anything scripts tests
    migrations outside inside under through processes containers into over against
    locally globally version history branches changes""".split()
)
SINGLE = frozenset(
    """git make go next mix just python python3 node expo kill php black pod find turbo
    bundle""".split()
)
"""Programs whose names are words, too: alone in a text they are no command."""


@verbose(ignore_case=True)
def changes_files() -> str:
    """Verbs that say that a file is changed."""
    return r"""
        \b (?: edit | modif | chang | touch | writ | overwrit | delet | remov | updat
             | alter | regenerat | reformat | hand-?edit | mess | renam | mov | rewrit
             | tamper | bump | put | alone | off[- ]limits | read-?only | bearbeit
             | änder | lösch | modifi | supprim | edit | borr | elimin
             | измен | удал | редактир ) \w*
      | 修改 | 编辑 | 删除 | 編集 | 変更 | 수정 | 삭제
    """


@verbose(ignore_case=True)
def commits_files() -> str:
    """Verbs that say that a file goes into git."""
    return r"\b (?: commit | check \s in | stage | add ) \w*"


def suggest(title: str, body: str, past: Sequence[str] = ()) -> Suggestion:
    """The patterns of what a lesson forbids, less those that what it allows is.

    `past` are command lines that were run in the exchange it was learned from."""
    commands: dict[str, None] = {}
    paths: dict[str, None] = {}
    allowed: dict[str, None] = {}
    for forbidden, instead in parts_of(f"{title}\n{body}"):
        commands.update(dict.fromkeys(_commands(forbidden)))
        paths.update(dict.fromkeys(_paths(forbidden)))
        commands.update(dict.fromkeys(_staged(forbidden)))
        allowed.update(dict.fromkeys(_exceptions(instead)))
        commands.update(dict.fromkeys(_rivals(forbidden, instead)))
    if not commands and not paths:
        commands.update(dict.fromkeys(_from_past(past, f"{title} {body}")))
    usable = [each for each in commands if each not in allowed and _parses(each)]
    usable = [each for each in usable if not _is_named_closer(each, usable)]
    unless = [each for each in allowed if _narrows(each, usable)]
    return Suggestion(
        commands=tuple(usable[:MOST]),
        paths=tuple(paths)[:MOST],
        unless=tuple(unless[:MOST]),
    )


def for_entry(
    title: str, body: str, written: Suggestion, past: Sequence[str] = ()
) -> Suggestion:
    """The patterns of an entry that was learned: those that its words name go before
    those `written` of what was at hand, which never stop what the words prescribe."""
    made = suggest(title, body, past)
    is_written = bool(written.commands or written.paths)
    if not is_written or suggest(title, body) != Suggestion():
        return made
    parts = parts_of(f"{title}\n{body}")
    allowed = [each for _, instead in parts for each in _exceptions(instead)]
    narrowing = [each for each in allowed if _narrows(each, written.commands)]
    unless = dict.fromkeys((*written.unless, *narrowing))
    return written._replace(unless=tuple(unless)[:MOST])


def _commands(text: str) -> Iterator[str]:
    """The patterns of commands that a clause names."""
    yield from _named_commands(text)
    meant: list[str] = []
    for idiom in idioms():
        about = not idiom.files or changes_files().search(text) is not None
        if about and idiom.said.search(text):
            meant += _of_named_tools(idiom.commands, text)
    yield from meant
    if not any(command.startswith("git push") for command in meant):
        yield from _of_git(text)  # "force push to main" leaves a plain push alone


def _of_named_tools(commands: Sequence[str], text: str) -> Sequence[str]:
    """Of what an idiom stands for the commands of the tools that the text names; all
    where it names none."""
    words = set(re.findall(r"\w[\w-]+", text.lower())) - SINGLE
    own = [each for each in commands if words.intersection(_tools_of(each))]
    return own or commands


def _tools_of(command: str) -> Iterator[str]:
    """The program of a command, and the one it runs."""
    words = command.split()
    yield words[0]
    if words[0] in ("npx", "bundle", "python"):
        yield words[-1] if words[-1] != "*" else words[1]


def _named_commands(text: str) -> Iterator[str]:
    """Commands in code spans, and those in plain words."""
    plain = text
    for match in span().finditer(text):
        code = match["code"] or match["quoted"] or ""
        plain = plain.replace(match[0], " ; ")
        yield from _of_code(code, text)
    plain = re.sub(r"^\s*install(?:ing)?\b.*", "", plain)  # what is installed runs not
    for match in command_in_text().finditer(plain):
        words = _cut(match["rest"].split())
        if not words and match["program"] in SINGLE:
            continue
        command = " ".join([match["program"], *words])
        if everywhere().search(text):
            yield from (f"{name.removesuffix('*')}." for name in _open_pattern(command))
            yield from (f"{name} ." for name in _open_pattern(command))
        else:
            yield from _open_pattern(command)


@verbose(ignore_case=True)
def everywhere() -> str:
    """Words for all files at once."""
    return r"""
        \b (?: on | over | across | for ) \s (?: the \s )? (?: whole | entire | full | complete )
        \s (?: repo (?:sitory)? | code \s? base | project | tree ) \b
    """


def _of_code(code: str, around: str) -> Iterator[str]:
    """The patterns of a code span: a command, or an option of one that is named."""
    words = code.split()
    if code.startswith("-"):
        for verb in ("commit", "push", "merge", "rebase"):
            if re.search(rf"\b{verb}", around, re.IGNORECASE):
                yield from _open_pattern(f"git {verb} {words[0]}")
    elif package_script().fullmatch(code):
        yield from (f"{runner} {code} *" for runner in SCRIPT_RUNNERS)
    elif len(words) == 1 and path_like().fullmatch(code):
        if runs_something().search(around):
            yield from _script_patterns(code)
    elif _is_command(words):
        yield from _open_pattern(code)


def _is_command(words: Sequence[str]) -> bool:
    """Whether words of a code span are a command: a program, and more than its name
    unless that is known."""
    if not words or not re.match(r"[\w./-]+\Z", words[0]):
        return False
    is_known = len(words) > 1 or words[0] in PROGRAMS or words[0] in IN_CODE
    return is_known and not any("<<" in word for word in words)


@verbose(ignore_case=True)
def runs_something() -> str:
    """Verbs that say that a script is run."""
    return r"\b (?: run | execut | start | launch | call | invok ) \w*"


def _script_patterns(code: str) -> Iterator[str]:
    """A script that is run by its name, or given to what runs it."""
    name = code.removeprefix("./").rpartition("/")[2]
    runners = INTERPRETERS.get(name.rpartition(".")[2])
    if runners:
        yield f"{name} *"
        yield from (f"{runner} *{name} *" for runner in runners)


@verbose
def package_script() -> str:
    """The name of a script of package.json, or of a task: `dev:seed`."""
    return r"[a-z]\w* (?: :[\w-]+ )+"


def _open_pattern(command: str) -> Iterator[str]:
    """A command with whatever follows, under its other names too."""
    bare = command.rstrip("* ")
    if not commands_of(bare):
        return
    names = [bare]
    if bare == "npm":
        names.append("npx")
    if bare.partition(" ")[0] in NODE_TOOLS:
        names.append(f"npx {bare}")
    if bare in IN_PLACE:
        names = [f"{bare} -i", f"{bare} --in-place"]
    for name in [*names, *_other_names(bare)]:
        yield f"{name} *"


def _other_names(bare: str) -> Iterator[str]:
    """The command by the short names of its program, and of its options."""
    for name, others in SHORT_NAMES.items():
        if bare == name or bare.startswith(f"{name} "):
            yield from (other + bare[len(name) :] for other in others)
            break
    for (begin, option), other in OPTION_NAMES.items():
        if bare.startswith(begin) and option in bare.split() and other:
            yield bare.replace(option, other)


def _cut(words: Sequence[str]) -> list[str]:
    """The words that belong to a command, up to the first that is prose."""
    found = []
    for word, after in pairwise([*words, ""]):
        bare = word.rstrip(".,:;!?)")
        if bare.lower() == "with" and after.startswith("-"):
            continue  # "pytest with -n"
        if bare.lower() in STOP:
            break
        found.append(bare)
        if bare != word:
            break
    return found


@verbose(ignore_case=True)
def to_branch() -> str:
    """Pushing or committing to a branch that is named."""
    return r"""
        \b (?P<verb> push | commit | merge ) (?:es|s|ing|ed|ting)? \b
        (?: \s (?: anything | directly | straight | code | changes | it | them | commits ) )*
        (?: \s (?: to | on | into | onto ) )? \s (?: the \s | origin/ | our \s )*
        `? (?P<branch> main | master | develop | production | prod | release [\w/-]* | trunk ) \b
    """


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


def _of_git(text: str) -> Iterator[str]:
    for match in to_branch().finditer(text):
        branch = match["branch"]
        yield f"git push * {branch}"
        yield f"git push * *:{branch}"
    for match in pushed_behind().finditer(text):
        yield f"git push * {match['branch']}"
    alone = pushed_behind().sub(" ", text)
    for match in git_verb().finditer(alone):
        yield "git push *" if match["push"] else "git commit *"


def _paths(text: str) -> Iterator[str]:
    """The globs of files that a clause forbids to change."""
    if not changes_files().search(text):
        return
    for idiom in idioms():
        if idiom.files and idiom.said.search(text):
            yield from idiom.paths
    yield from _files_in(text)


def _files_in(text: str) -> Iterator[str]:
    spans = [match["code"] for match in span().finditer(text) if match["code"]]
    for code in spans:
        if re.fullmatch(r"\.[a-z0-9]{2,10}", code) and f"{code}` files" in text:
            yield f"**/*{code}"
            continue
        if " " not in code and path_like().fullmatch(code):
            yield _glob(code)
    plain = span().sub(" ", text)
    for match in path_like().finditer(plain):
        yield _glob(match[0])


def _glob(name: str) -> str:
    bare = name.removeprefix("./").rstrip(".,")
    return f"{bare}**" if bare.endswith("/") else bare


def _staged(text: str) -> Iterator[str]:
    """Files that must not be committed."""
    if commits_files().search(text) and not changes_files().search(text):
        for name in _files_in(text):
            yield f"git add * {name}"
            yield f"git commit * {name}"


def _exceptions(text: str) -> Iterator[str]:
    """The patterns of what a rule allows."""
    yield from _named_commands(text)
    for match in re.finditer(r"--[\w-]+", text):
        if match[0] == "--force-with-lease":
            yield "git push --force-with-lease *"


def _rivals(forbidden: str, instead: str) -> Iterator[str]:
    """What "always use pnpm" forbids without saying so."""
    if forbidden.strip():
        return
    for family in RIVALS:
        meant = [name for name in family if re.search(rf"\b{name}\b", instead)]
        if len(meant) == 1 and len(instead.split()) <= 14:
            for name in family:
                if name != meant[0]:
                    yield from _open_pattern(name)


def _from_past(past: Sequence[str], text: str) -> Iterator[str]:
    """Of the commands that were run, the one whose words the lesson has."""
    low = text.lower()
    for line in past:
        for words in commands_of(line):
            named = [word for word in words if len(word) > 3 and word.lower() in low]
            if named and words[0].lower() in low:
                yield f"{' '.join(words[:2])} *"


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
    rows = tomllib.loads(table("guard/idioms.toml"))["idiom"]
    return tuple(
        Idiom(
            said=re.compile(row["said"], re.IGNORECASE),
            commands=tuple(row.get("commands", ())),
            paths=tuple(row.get("paths", ())),
            files=row.get("about") == "files",
        )
        for row in rows
    )

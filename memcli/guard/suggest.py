"""What a lesson forbids, as patterns of commands and files: by rules, no model. Pure.

A rule says what must not be done, often what is right instead, and names both by code,
by a command in the text, by a path, or by an idiom ("force push"). What is written
here is a suggestion that a person reads before it binds."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from memcli.guard.patterns import matches, parse_pattern
from memcli.named import NamedTuple
from memcli.sessions.shell import commands_of
from memcli.text.matching import table, verbose

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
    "prisma jest vitest eslint prettier tsc next vite expo wrangler nx turbo knex".split()
)
"""Programs that are mostly run by npx."""
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
def forbidding() -> str:
    """Words behind which stands what must not be done."""
    return r"""
        \b (?: never | don['’]?t | do \s not | does \s not | must \s not | mustn['’]t
             | should \s not | shouldn['’]t | may \s not | cannot | can['’]t | avoid
             | no \s more | stop | refrain \s from | (?:is|are) \s not \s allowed \s to
             | not \s allowed \s to | forbidden \s to | not \s to | without | instead \s of
             | rather \s than | not | no
             | nie(?:mals)? | nicht | keine? | jamais | ne \s pas | nunca | jamás | não
             | mai | non | никогда | нельзя | не ) \b
      | 不要 | 禁止 | 不能 | 别 | 勿
    """


@verbose(ignore_case=True)
def forbidden_behind() -> str:
    """Words before which stands what must not be done ("X is forbidden")."""
    return r"""
        \b (?:is|are|being) \s (?:strictly \s)? (?: forbidden | banned | prohibited
          | not \s allowed | off[- ]limits | disallowed | never \s (?:ok|okay|allowed)
          | read-?only | not \s ok (?:ay)? )
      | \b (?:must|should|may) \s never \s be \b
      | \b requires? \s (?:my|an?|explicit|the) \s (?:\w+ \s)? (?:approval|permission|ok) \b
      | しない(?:で|こと) | 금지 | 하지 \s 마
    """


@verbose(ignore_case=True)
def allowing() -> str:
    """Words behind which stands what is right instead."""
    return r"""
        \b (?: instead (?!\s of) ,? | uses? (?!\s of) | always | prefer | only | unless | except (?:\s for)?
             | but | stattdessen | nur | immer | toujours | siempre | sempre | utilise[rz]?
             | usar? | всегда | используй )\b
      | 改用 | 请用 | 使用
    """


@verbose
def clause_end() -> str:
    """Where a clause of a rule ends."""
    return r"[.!?;:。！？；](?=\s|\Z|[^\x00-\x7f]) | \n | \s [—–-]{1,2} \s | , (?=\s)"


@verbose
def span() -> str:
    """A code span, or a quotation that looks like code."""
    return r"(?<!`) `+ (?P<code> [^`\n]{1,200} ) `+ | [\"“] (?P<quoted> [\w.-]+ \s [^\"”\n]{1,60} ) [\"”]"


@verbose
def path_like() -> str:
    """A file or folder named in a text."""
    return r"""
        (?<![\w@:/.-])
        (?: \.?/? [\w.*{}@-]+ / [\w./*{},@-]*          # a/b, src/, gen/*.py
          | \.env [\w.*-]* | \.[a-z]+rc \b
          | [\w*-]+ (?:\.[\w*-]+)* \. (?: lock | json | toml | ya?ml | py | pyi | tsx? | jsx?
              | mjs | cjs | go | rs | rb | php | java | kt | swift | c | h | cpp | cs | sql
              | md | mdx | html | css | scss | proto | xml | gradle | tf | sh | cfg | ini
              | conf | env | prisma | graphql | snap | txt | csv | key | pem )
          | (?: Dockerfile | Makefile | Gemfile | Procfile | Jenkinsfile | CODEOWNERS ) \b
        ) (?<![.,])
    """


PROGRAMS = (
    "git gh glab npm npx yarn pnpm bun bunx deno pip pip3 pipx uv poetry pipenv conda"
    " docker docker-compose podman kubectl helm terraform tofu ansible-playbook make just"
    " cargo go pytest tox nox python python3 node rails rake bundle php composer gradle"
    " gradlew mvn dotnet aws gcloud az heroku vercel flyctl firebase netlify wrangler"
    " supabase prisma alembic flyway knex rm mv chmod chown curl wget sudo brew apt"
    " apt-get psql mysql redis-cli jest vitest eslint prettier black ruff tsc next vite"
    " expo pod xcodebuild adb flutter mix sbt bazel nx turbo lerna systemctl crontab dd"
    " grep sed killall pkill kill truncate shred"
).split()


@verbose
def command_in_text() -> str:
    """A program of the trade and the words behind it that belong to the command."""
    programs = "|".join(re.escape(name) for name in sorted(PROGRAMS, key=len)[::-1])
    return rf"""
        (?<![\w./-]) (?<!\bto[ ]) (?<!\bfrom[ ]) (?<!\bon[ ]) (?<!\bin[ ])
        (?:\./)? (?P<program> {programs} ) (?![\w.-])
        (?P<rest> (?: [ ] (?: --?[\w][\w=-]* | [\w][\w:./@=-]* ) ){{0,4}} )
    """


STOP = frozenset(
    """to in on for without unless before after by from with the a an any directly
    yourself and or when if as is are at this that these those manually ever again here
    because since while until not it them my our your all every new only instead of
    commands command files file packages package dependencies anything scripts tests
    migrations outside inside under through processes containers into over against locally globally version history branches changes""".split()
)
SINGLE = frozenset(
    """make go next mix just python python3 node expo kill sed php black pod find az nx
    dd turbo bundle""".split()
)
"""Programs whose names are words, too: alone in a text they are no command."""


@verbose(ignore_case=True)
def changes_files() -> str:
    """Verbs that say that a file is changed."""
    return r"""
        \b (?: edit | modif | chang | touch | writ | overwrit | delet | remov | updat
             | alter | regenerat | reformat | hand-?edit | mess | renam | mov | rewrit
             | tamper | bearbeit | änder | lösch | modifi | supprim | edit | borr | elimin
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
    unless = [each for each in allowed if _narrows(each, usable)]
    return Suggestion(
        commands=tuple(usable[:MOST]),
        paths=tuple(paths)[:MOST],
        unless=tuple(unless[:MOST]),
    )


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """(what is forbidden, what is right instead) of each sentence that forbids."""
    for sentence in _sentences(text):
        pieces = _clauses(sentence)
        forbidden = [piece for kind, piece in pieces if kind == "forbidden"]
        instead = [piece for kind, piece in pieces if kind == "instead"]
        if forbidden or instead:
            yield " \n ".join(forbidden), " \n ".join(instead)


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?。！？])\s+|\n+", text) if part.strip()]


def _clauses(sentence: str) -> list[tuple[str, str]]:
    """The clauses of a sentence, each "forbidden", "instead" or ""."""
    behind = forbidden_behind().search(sentence)
    if behind:
        return [
            ("forbidden", sentence[: behind.start()]),
            *_tail(sentence[behind.end() :]),
        ]
    marks = sorted(
        [(m.start(), m.end(), "forbidden") for m in forbidding().finditer(sentence)]
        + [(m.start(), m.end(), "instead") for m in allowing().finditer(sentence)]
    )
    hidden = [(m.start(), m.end()) for m in span().finditer(sentence)]
    marks = [mark for mark in marks if not any(a <= mark[0] < z for a, z in hidden)]
    marks = [mark for mark in marks if not _is_part_of_ban(sentence, mark)]
    if not any(kind == "forbidden" for _, _, kind in marks):
        return _tail(sentence) if marks else []
    found = [("instead", sentence[: marks[0][0]])]
    ends = [mark[0] for mark in marks[1:]] + [len(sentence)]
    for (_, start, kind), end in zip(marks, ends, strict=True):
        found += _turned(sentence[start:end]) if kind == "forbidden" else []
        found += [(kind, sentence[start:end])] if kind != "forbidden" else []
    return found


@verbose(ignore_case=True)
def turn() -> str:
    """Where a clause turns from what is forbidden to what is right."""
    return r"""
        [;；] | : (?=\s) | \s [—–-]{1,2} \s
      | , \s (?= (?: run | use | add | prefer | call | ask | create | write | just | go ) \b )
    """


def _turned(clause: str) -> list[tuple[str, str]]:
    match = turn().search(clause)
    if match is None:
        return [("forbidden", clause)]
    return [("forbidden", clause[: match.start()]), ("instead", clause[match.end() :])]


def _is_part_of_ban(sentence: str, mark: tuple[int, int, str]) -> bool:
    """Whether "use" stands right behind "never", or the like."""
    start, _, kind = mark
    before = sentence[:start].rstrip()
    ends = [match.end() for match in forbidding().finditer(before)]
    return kind == "instead" and len(before) in ends


def _tail(text: str) -> list[tuple[str, str]]:
    match = allowing().search(text)
    return [("instead", text[match.end() :])] if match else []


def _commands(text: str) -> Iterator[str]:
    """The patterns of commands that a clause names."""
    yield from _named_commands(text)
    meant: list[str] = []
    for idiom in idioms():
        about = not idiom.files or changes_files().search(text) is not None
        if about and idiom.said.search(text):
            meant += idiom.commands
    yield from meant
    if not any(command.startswith("git push") for command in meant):
        yield from _of_git(text)  # "force push to main" leaves a plain push alone


def _named_commands(text: str) -> Iterator[str]:
    """Commands in code spans, and those in plain words."""
    plain = text
    for match in span().finditer(text):
        code = match["code"] or match["quoted"] or ""
        plain = plain.replace(match[0], " ; ")
        yield from _of_code(code, text)
    for match in command_in_text().finditer(plain):
        words = _cut(match["rest"].split())
        if not words and match["program"] in SINGLE:
            continue
        yield from _open_pattern(" ".join([match["program"], *words]))


def _of_code(code: str, around: str) -> Iterator[str]:
    """The patterns of a code span: a command, or an option of one that is named."""
    words = code.split()
    if code.startswith("-"):
        for verb in ("commit", "push", "merge", "rebase"):
            if re.search(rf"\b{verb}", around, re.IGNORECASE):
                yield from _open_pattern(f"git {verb} {words[0]}")
        return
    if "<<" in code:
        return
    is_path = len(words) == 1 and path_like().fullmatch(code) is not None
    if is_path or not words or not re.match(r"[\w./-]+\Z", words[0]):
        return
    if len(words) > 1 or words[0] in PROGRAMS:
        yield from _open_pattern(code)


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
    for name, others in SHORT_NAMES.items():
        if bare == name or bare.startswith(f"{name} "):
            names += [other + bare[len(name) :] for other in others]
            break
    for (begin, option), other in OPTION_NAMES.items():
        if bare.startswith(begin) and option in bare.split() and other:
            names.append(bare.replace(option, other))
    for name in names:
        yield f"{name} *"


def _cut(words: Sequence[str]) -> list[str]:
    """The words that belong to a command, up to the first that is prose."""
    found = []
    for word in words:
        bare = word.rstrip(".,:;!?)")
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
        \s (?: to | on | into | onto ) \s (?: the \s | origin/ | our \s )*
        `? (?P<branch> main | master | develop | production | prod | release [\w/-]* | trunk ) \b
    """


@verbose(ignore_case=True)
def git_verb() -> str:
    """What git does, said without its name."""
    return r"""
        (?: ^ | [\s,] ) (?: git \s )? (?P<verb> push | commit ) (?:ing|ting|ed|ted)?
        (?= \s (?: without | unless | until | before | anything | code | changes | to \s
                  (?:the \s)? (?:remote|origin|github) | yourself | on \s your | any | for \s me
                  | automatically | or \b | and \b )
          | \s* (?: [.,;!] (?=\s|\Z) | \Z | \n ) )
    """


def _of_git(text: str) -> Iterator[str]:
    for match in to_branch().finditer(text):
        branch = match["branch"]
        yield f"git push * {branch}"
        yield f"git push * *:{branch}"
    for match in git_verb().finditer(text):
        yield f"git {match['verb'].lower()} *"


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
    if forbidden.strip() and list(_commands(forbidden)):
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

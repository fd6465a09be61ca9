"""The commands that a clause of a rule names, in code or in plain words, as patterns.
Pure."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from memcli.bans.clauses import path_like, span
from memcli.text.matching import verbose
from memcli.text.shell import EDITORS, commands_of

SHORT_NAMES = {
    "npm install": ("npm ci",),
    "pnpm install": ("pnpm add",),
    "yarn install": ("yarn add", "yarn"),
    "python": ("python3",),
    "pytest": ("python -m pytest", "python3 -m pytest"),
}
"""Commands that do about the same; those that are the same one know the patterns."""
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
        (?:\./)? (?P<program> {programs} ) (?! [\w-] | \.\w )
        (?= (?P<rest> (?a: [ ] (?: --?[\w][\w=-]* | [\w][\w:./@=-]* ) ){{0,4}} ) )
    """


STOP = frozenset(
    """to in on for without unless before after by from with the a an any directly
    yourself and or when if as is are at this that these those manually ever again here
    because since while until not it them my our your all every new only instead of
    commands command files file packages package dependencies anything scripts tests
    migrations outside inside under through processes containers into over against
    anymore locally globally version history branches changes""".split()
)
SINGLE = frozenset(
    """git make go next mix just python python3 node expo kill php black pod find turbo
    bundle""".split()
)
"""Programs whose names are words, too: alone in a text they are no command."""


GIT_VERBS = frozenset(
    """add am apply bisect branch checkout cherry-pick clean clone commit config fetch
    filter-branch gc init merge mv pull push rebase reflog reset restore revert rm stash
    submodule switch tag worktree""".split()
)
KNOWN = frozenset((*PROGRAMS, *IN_CODE))
"""Programs that are known by their names."""


def named_commands(text: str, programs: Collection[str] = KNOWN) -> Iterator[str]:
    """The patterns of the commands in code spans, and of those in plain words.

    `programs` are the names that are taken for one in code."""
    plain = text
    for match in span().finditer(text):
        code = match["code"] or match["quoted"] or ""
        plain = plain.replace(match[0], " ; ")
        before = text[: match.start()]
        name, *words = code.split() or [""]
        if match["code"] or _is_meant(before, name, words):
            yield from _of_code(code, before, text, programs)
    # what is installed runs not
    yield from _in_plain_words(re.sub(r"^\s*install(?:ing)?\b.*", "", plain), text)


def _in_plain_words(plain: str, text: str) -> Iterator[str]:
    """The patterns of the commands in a text without its code spans."""
    listed = ""  # a beginning of the text that ends with a command
    for match in command_in_text().finditer(plain):
        words = command_words(match["rest"].split())
        before = plain[: match.start()].removeprefix(listed)
        if not _is_meant(before, match["program"], words):
            continue
        listed = plain[: match.end()] + " ".join(["", *words])
        command = " ".join([match["program"], *words])
        if everywhere().search(text):
            yield from (f"{name.removesuffix('*')}." for name in open_pattern(command))
            yield from (f"{name} ." for name in open_pattern(command))
        else:
            yield from open_pattern(command)


def _is_meant(before: str, program: str, words: Sequence[str]) -> bool:
    """Whether a program named in plain words is run there, and no part of a name ("npm
    tokens"): it stands first, in a list, or behind a verb that runs it."""
    if runs_next().search(before):
        return bool(words) or program not in SINGLE
    if program == "git":
        return bool(words) and words[0] in GIT_VERBS
    if program in SINGLE:
        return bool(words) and words[0].startswith("-")
    return stands_first().search(before) is not None and not _is_plural(words)


def _is_plural(words: Sequence[str]) -> bool:
    return bool(words) and words[-1].endswith("s") and not words[-1].startswith("-")


@verbose(ignore_case=True)
def stands_first() -> str:
    """Nothing before, or what goes on with a list of commands."""
    return r"\A [\s,;]* (?: \b (?: or | and | nor | und | oder ) \b )? [\s,;]* \Z"


@verbose(ignore_case=True)
def runs_next() -> str:
    """A verb behind which stands what is run."""
    return r"""
        \b (?: run | execut | start | launch | call | invok | us(?:e|ing)\b | issu | perform
             | typ(?:e|ing)\b | try | with \b | via \b | through \b ) \w*
        (?: \s (?: the | a | an | any | bare | plain | raw | direct | commands? | like | of
               | such \s as | e\.g\. ) )*
        [\s:]* \Z
    """


@verbose(ignore_case=True)
def everywhere() -> str:
    """Words for all files at once."""
    return r"""
        \b (?: on | over | across | for ) \s (?: the \s )? (?: whole | entire | full | complete )
        \s (?: repo (?:sitory)? | code \s? base | project | tree ) \b
    """


def _of_code(
    code: str, before: str, around: str, programs: Collection[str]
) -> Iterator[str]:
    """The patterns of a code span: a command, or an option of one that is named."""
    words = code.split()
    if code.startswith("-"):
        for verb in ("commit", "push", "merge", "rebase"):
            if re.search(rf"\b{verb}", around, re.IGNORECASE):
                yield from open_pattern(f"git {verb} {words[0]}")
    elif leaves_out().match(around):
        return
    elif package_script().fullmatch(code):
        yield from (f"{runner} {code} *" for runner in SCRIPT_RUNNERS)
    elif len(words) == 1 and path_like().fullmatch(code):
        if runs_something().search(around):
            yield from _script_patterns(code)
    elif _is_command(words, before, programs):
        yield from open_pattern(code)


@verbose(ignore_case=True)
def leaves_out() -> str:
    """A ban on leaving out what is named."""
    return (
        r"\s* (?: skip | omit | bypass | disabl | ignor | remov | replac | renam ) \w*"
    )


def _is_command(words: Sequence[str], before: str, programs: Collection[str]) -> bool:
    """Whether words of a code span are a command: a known program, or words like one
    behind a verb that runs them."""
    if not words or not all(word_of_command().match(word) for word in words):
        return False
    name = words[0].rpartition("/")[2]
    is_run = runs_next().search(before) is not None
    if len(words) == 1:
        return name in programs and (is_run or name not in SINGLE | IN_CODE)
    return name in programs or (is_run and runs_something().search(before) is not None)


@verbose
def word_of_command() -> str:
    """A word of a command line, which no language of programs has so."""
    return r"(?! .* (?: << | [{};] | => ) ) [\w./<\[\"'$~@:*-]"


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


def open_pattern(command: str) -> Iterator[str]:
    """A command with whatever follows, under its other names too."""
    bare = command.rstrip("* ")
    if not commands_of(bare):
        return
    names = [bare]
    if bare == "npm":
        names.append("npx")
    if bare.partition(" ")[0] in NODE_TOOLS:
        names.append(f"npx {bare}")
    if bare in EDITORS:
        names = [f"{bare} -i", f"{bare} --in-place"]
    for name in [*names, *_other_names(bare)]:
        yield f"{name} *"


def _other_names(bare: str) -> Iterator[str]:
    """The command by the short names of its program."""
    for name, others in SHORT_NAMES.items():
        if bare == name or bare.startswith(f"{name} "):
            yield from (other + bare[len(name) :] for other in others)
            break


def command_words(words: Sequence[str]) -> list[str]:
    """The words that belong to a command, up to the first that is prose."""
    commands = []
    for word, after in pairwise([*words, ""]):
        bare = word.rstrip(".,:;!?)")
        if bare.lower() == "with" and after.startswith("-"):
            continue  # "pytest with -n"
        if bare.lower() in STOP:
            break
        commands.append(bare)
        if bare != word:
            break
    return commands

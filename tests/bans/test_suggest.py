"""Rules in people's own words become patterns that stop the call and not its
neighbour."""

import sqlite3
import tomllib
from pathlib import Path

import pytest

from memcli.bans.clauses import BAN_WORDS, _clauses, may_rule, sentences
from memcli.bans.suggest import Suggestion, missed, suggest
from memcli.guard.guards import ToolUse, judge, read_guard
from memcli.guard.pushes import with_branches
from memcli.sessions.tools import tool_call
from memcli.text.shell import read_line

SETS = ("rules", "threads", "instructions", "reports")
LEAST = 28
BLUNT = {
    "Never call production with curl",  # what it calls cannot be told from its words
}
"""Rules whose suggestion stops the neighbour, too."""


def rules_of(name):
    """(title, what it stops, what passes) of a set."""
    text = Path(__file__).with_name(f"{name}.toml").read_text("utf-8")
    rows = tomllib.loads(text)["rules"].strip().splitlines()
    return [tuple(map(str.strip, row.split(" | "))) for row in rows]


def decided(title, line):
    """What a guard made of the suggestion says of a shell line, "" for nothing."""
    made = suggest(title, "")
    values = {
        "guard": "deny",
        "commands": list(made.commands),
        "paths": list(made.paths),
        "unless": list(made.unless),
    }
    guard = read_guard("id", title, values, "MEMORY.md:1")
    files = tuple(path.lstrip("/") for path in tool_call({"command": line}, "/").files)
    commands = [each for each in read_line(line).commands if each.words]
    use = ToolUse(tuple(with_branches(Path("/nowhere"), commands)), files)
    verdict = judge(guard, use)
    return verdict.mode if verdict else ""


@pytest.mark.parametrize("name", SETS)
def test_most_rules_get_a_guard_that_tells_the_call_from_its_neighbour(name):
    """Of each forty at least 28; none but those known stops its neighbour."""
    rules = rules_of(name)
    wrong = [title for title, _, passes in rules if decided(title, passes)]
    right = [title for title, stopped, _ in rules if decided(title, stopped) == "deny"]
    assert len(rules) == 40
    assert len(right) >= LEAST
    assert set(wrong) <= BLUNT


def test_full_text_search_finds_each_rule_that_forbids_something():
    """The words by which the index looks for them are in all, and in each sentence of
    them that has a clause to read."""
    titles = [title for name in SETS for title, *_ in rules_of(name)]
    titles += ["Use pnpm", "Nicht npm install ausführen", "不要 git push"]
    rules = [[title] for title in titles if suggest(title, "") != Suggestion()]
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE rules USING fts5(title)")
    db.executemany("INSERT INTO rules VALUES (?)", rules)
    found = db.execute("SELECT title FROM rules WHERE rules MATCH ?", (BAN_WORDS,))
    assert len(rules) == len(found.fetchall()) > 140
    read = filter(_clauses, sentences("\n".join(titles)))
    assert all(map(may_rule, read))


SILENT = r"""
Every migration must be reversible
Money is Decimal
The invoice export reads UTC
Why does the emulator always ask me for the pin?
Tests live beside the code
Write "Cart Cloud", never "cart cloud"
Never use `as any` or `import { type Cart }`
No label has a capital letter, not just forms
Avoid direct node access in tests
The release needs no npm tokens
Never forget to run `make lint`
A pull request is not done until `git push` was run
There is no pytest fixture for it
Never stop before pushing
The job does not run `npm test`
`check` is quick: it runs `unit`, not `unit:slow`
Never say "ready to push when you are"
Do not change the version in package.json
Do not store props/state twice
This is not the Next.js you know
If you use uv, sync first
Without versions, deploying breaks what runs
Never log process.env
Never change docs/ in the same commit as code
Never edit src/a.py together with src/b.py
"""


@pytest.mark.parametrize("title", SILENT.strip().splitlines())
def test_what_forbids_nothing_gets_no_suggestion(title):
    """Silence where the words do not say what must not be done."""
    made = suggest(title, "")
    assert not made.commands and not made.paths


def test_what_must_run_first_is_not_forbidden():
    """The file behind "without" is the condition, not what must not be changed."""
    title = "Never edit lib/utils.js without running test/utils.js"
    assert suggest(title, "") == Suggestion(paths=("lib/utils.js",))


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Never edit", "dist/x.js by hand, it is generated"),
        ("Generated", "The bundle is made by the build, so never edit\n`dist/x.js`."),
    ],
)
def test_a_ban_goes_on_in_the_next_line(title, body):
    """Where lines are broken by hand; a line of its own begins anew."""
    assert suggest(title, body).paths == ("dist/x.js",)
    assert suggest(title, "Never edit\n- dist/x.js is generated") == Suggestion()


def test_what_no_pattern_matches_is_said():
    """A commit does not name its branch, so the guard of a push leaves it."""
    title = "Never commit directly to main"
    made = suggest(title, "")
    assert made == Suggestion(commands=("git push * main",))
    assert missed(title, made.commands) == "git commit on that branch"
    assert missed("Never push to main", made.commands) == ""


def test_a_program_of_an_example_is_one_in_a_ban():
    """`bd edit` is a command where the lesson shows how `bd` is run."""
    body = "Do not use `bd edit`.\n\n```bash\nbd update 7 --title x\n```\n"
    assert suggest("Editors", body).commands == ("bd edit *",)
    assert suggest("Editors", "Do not use `bd edit`.") == Suggestion()


def test_blocks_and_tables_forbid_nothing():
    """What a lesson shows is no ban."""
    body = "```bash\n# never run npm install\n```\n\n| do not use `npm` | x |\n"
    assert suggest("Commands", body) == Suggestion()


CLOSE = """
Never edit docs/changes/ by hand, CHANGES.md is the changelog | rm docs/changes/4.md | rm CHANGES.md
Never delete `docs/seeds.json` | rm -f docs/seeds.json | sed -i s/a/b/ docs/seeds.json
Never force push to main, use `git push --force-with-lease` | git push -f origin main | git push --force-with-lease origin main
Never `rm -rf` outside of dist/ | rm -rf src | rm dist/a.js
Use pnpm, not npm. | npm ci | pnpm i
"""


@pytest.mark.parametrize("row", CLOSE.strip().splitlines())
def test_what_is_close_to_a_ban_passes(row):
    """What is right instead, what may still be done to a file, and what a lesson
    prescribes."""
    title, stopped, passes = row.split(" | ")
    assert (decided(title, stopped), decided(title, passes)) == ("deny", "")

"""What a list of a hundred attacks by a fresh hand found."""

import os
import sys
import time

import pytest
from markdown_it import MarkdownIt

from memcli.cli import mcp
from memcli.cli.serve import perform
from memcli.errors import UsageError
from memcli.exchange.exporter import safe_text
from memcli.storage.files import state_dir
from memcli.text.controls import quoted
from tests.commands.test_guard import decided
from tests.programs import finished

pytestmark = pytest.mark.process
IMAGE = "![x](http://e/1)"
TOKEN = "ghp_" + "Zq81Lm0Xc7Vb3Nt5Rk9Wd2Ys6Hf4Jg1Pa8Eu"
LIVE = [
    f"\\`{IMAGE}\\`",
    f"foo ` bar\nbaz ` {IMAGE} ` end",
    f"- a\n  ```\n{IMAGE}\n  ```",
    f"- a\n  ```\n    ```\n  {IMAGE}\n  ```",
    f"- a\n  ```\n\u00a0\n  {IMAGE}\n  ```",
    f"~~~ `\n~~~\n{IMAGE}\n~~~",
    f"\\\\{IMAGE}",
    f"[a](`b){IMAGE}`",
    f"a<!--`-->{IMAGE}`",
    f"<`@c.de>{IMAGE}`",
    f"| ` | b |\n|-|-|\n| a ` | {IMAGE} ` |",
    "see![a[b]c](http://e/1)",
    "see![a\nb](http://e/1)",
    "see<img src=http://e/1>",
    "see<img\nsrc=http://e/1>",
    f"c<d\nt='`'>{IMAGE}`",
]


@pytest.mark.parametrize("text", LIVE)
def test_what_markdown_would_show_is_text(text):
    """Backticks that Markdown takes for none, or ends elsewhere, hide no image."""
    shown = MarkdownIt("commonmark").enable("table")
    assert "<img" in shown.render(text)
    assert "<img" not in shown.render(quoted(text))


def test_code_stays_as_it_was_written():
    for text in (f"`{IMAGE}` and `<b>`", f"- a\n  ```\n  <b>{IMAGE}\n  ```\nb"):
        assert quoted(text) == "> " + text.replace("\n", "\n> ")


@pytest.mark.parametrize(
    "text",
    [
        "- a\n  ```\n@etc\n  ```",
        "[a](`b) @etc `",
        "foo `\n` @etc `",
        "~~~ `\n~~~\n@etc",
    ],
)
def test_no_import_hides_in_a_fence_that_a_list_ends(project, text):
    project.remembers("Cart total", text)
    project.ok("export", "claude", "--out", "CLAUDE.md")
    assert "&#64;etc" in project.read("CLAUDE.md")
    assert safe_text("```\n@b\n```\n`@c`") == "```\n@b\n```\n`@c`"


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_stands_beside_the_index_holds_nobody_up(project, ending, kind):
    project.remembers("Cart total", "It is kept in cents.")
    project.ok("list")
    beside = project.root / f".memory.db{ending}"
    beside.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(beside)
    else:
        os.symlink("/dev/zero", beside)
    told = finished(
        sys.executable,
        "-m",
        "memcli",
        "recall",
        "cart total",
        cwd=project.root,
        timeout=60,
    )
    assert "in cents" in told.stdout
    if kind == "pipe":
        assert f".memory.db{ending}, which is not a regular file" in told.stderr
        assert not beside.is_fifo()
    else:  # the index is elsewhere
        assert beside.is_symlink()


@pytest.fixture
def bound(project):
    """A repository with a guard, and its id."""
    project.remembers("Never force push", "It loses work.", kind="policy")
    entry = project.listed()[0]["id"][:8]
    project.ok("guard", entry, "--command", "git push --force*")
    return project, entry


@pytest.mark.parametrize("option", ["--command", "--unless", "--path"])
def test_a_guard_holds_no_secret(bound, option):
    project, entry = bound
    before = project.read()
    refused = project.ends(5, "guard", entry, option, f"curl -u bob:{TOKEN} *")
    assert "secret" in refused.err and "hint:" in refused.err
    assert project.read() == before


WEAKENING = """
mem guard {} --unless 'git push --force'
mem guard {} --command=foo
mem guard {} --path x --ask
mem guard {} --unless --try
mem guard {}
mem edit {} --title x
mem -q retire {}
uvx --from memcli mem undo
uvx memcli@latest undo
pipx run --spec memcli==1.0 mem guard --off {}
uv tool run --from memcli mem forget {}
python -m memcli undo
python -m memcli.__main__ undo
$(which mem) undo
docker compose exec web mem undo
cp -r hooks .claude/
rsync -a other/ .claude
cp a.json ~/.claude/settings.json
echo x > ~/.gemini/settings.json
"""
HARMLESS = """
cp -r docs .vscode/
cp -r docs .
cp -r .claude/skills /tmp/
uvx --from memcli mem list
mem guard {} --replay
mem guard
mem show {}
"""


@pytest.mark.parametrize("line", WEAKENING.strip().splitlines())
def test_who_weakens_a_guard_asks_the_person(bound, line):
    project, entry = bound
    assert decided(project, line.format(entry)) == "ask"


@pytest.mark.parametrize("line", HARMLESS.strip().splitlines())
def test_who_leaves_a_guard_alone_asks_nobody(bound, line):
    project, entry = bound
    assert decided(project, line.format(entry)) == ""


def test_a_guard_is_not_retired_by_a_tool(bound):
    project, entry = bound
    tools = mcp._Tools(str(project.root), ValueError)
    with pytest.raises(ValueError, match="would lift the guard"):
        tools.retire(entry, "in the way")
    assert "status: retired" not in project.read()


def test_a_page_replaces_pages_alone(project):
    project.remembers("Cart total", "It is kept in cents.")
    before = project.read()
    project.write("notes.txt", "keep\n")
    for name in ("MEMORY.md", "notes.txt"):
        project.ends(5, "browse", "--out", name)
    project.ends(2, "browse", "--out", ".git/hooks/post-commit")
    assert (project.read(), project.read("notes.txt")) == (before, "keep\n")
    for _ in range(2):
        project.ok("browse", "--out", "page.html")


def test_a_button_names_no_path_with_a_nul():
    with pytest.raises(UsageError, match="NUL"):
        perform(None, {"do": "merge", "path": "\0"})


def test_a_credential_in_a_name_is_no_more_printed_than_elsewhere(project):
    """Of a folder by mem init, of a transcript or an event in the log of the hooks."""
    project.remembers("One")
    project.write(f"jobs/{TOKEN}/MEMORY.md", project.entry("Two"))
    project.commit("memory")
    said = project.ok("init", "--dry-run")
    assert "also looks like memory" in said.err and TOKEN not in said.out + said.err
    project.hook("session-end", session=TOKEN, transcript_path=f"/nope/{TOKEN}")
    project.hook(TOKEN)
    for _ in range(100):  # its worker goes on behind it
        if "transcript is gone" in (logged := _logged()):
            break
        time.sleep(0.2)
    assert "transcript is gone" in logged and TOKEN not in logged


def _logged():
    log = state_dir() / "hooks.log"
    return log.read_text() if log.exists() else ""

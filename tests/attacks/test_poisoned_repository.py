"""A repository of somebody who means harm: its configuration, index, git settings,
links."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from memcli.storage.files import cache_dir

DB = ".memory.db"
WORDS = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
VERBS = [
    line.split()
    for line in (
        "index",
        "recall zebra",
        "list",
        "health",
        "doctor",
        "compact --dry-run",
        "show z",
    )
]


def titles(project):
    return project.mem("recall", "zebra", "--json").titles


@pytest.fixture
def zebra(project):
    project.remembers("Zebra", "zebra stripes")
    return project


@pytest.mark.parametrize("line", WORDS["refused"])
def test_what_a_repository_may_not_set_is_refused_with_its_line(zebra, line):
    """Exit 2 with path and line, a hint, and nothing run, read or written."""
    zebra.write(".mem.toml", f"limit = 3\n{line}\n")
    for verb in (["recall", "zebra"], ["index"], ["add", "zebra runs"]):
        result = zebra.mem(*verb)
        assert (result.code, result.out) == (2, ""), result
        assert ".mem.toml:2" in result.err and "hint:" in result.err
    assert sorted(os.listdir(zebra.root)) == [".git", ".mem.toml", "MEMORY.md"]


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 30_000) + " = 1",
        "[" + ".".join("a" * 30_000) + "]",
        "x = " + "[" * 60_000,
        "".join(f"k{number} = 1\n" for number in range(6_000)),
        "a" * 65_000 + " = 1",
        '"' * 60_000,
        "#" * 200_000,
        'decay = """' + "x" * 60_000 + '"""',
        "limit = " + "9" * 60_000,
        "\x00" * 1000,
        "limit = 1e999",
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_a_hostile_configuration_is_refused_at_once(zebra, text):
    """Keys of thousands of parts, thousands of keys, deep and long values end in one
    short message."""
    zebra.write(".mem.toml", text)
    result = zebra.mem("recall", "zebra")
    assert result.code == (
        0 if text.startswith("#" * 9) and len(text) < 65_536 else 2
    ), result.err
    assert ".mem.toml" in result.err and len(result.err) < 2_000


def test_links_in_place_of_jobs_and_named_files_lead_nowhere(zebra, tmp_path):
    """A jobs folder or a glob that reaches a link out of the root finds nothing
    there."""
    outside = tmp_path / "outside"
    for name in ("job/MEMORY.md", "MEMORY.md", "notes/MEMORY.md"):
        zebra.write(name, zebra.entry("Zebra outside", "zebra secret"), at=outside)
    (zebra.root / ".mem").mkdir()
    (zebra.root / ".mem/jobs").symlink_to(outside)
    (zebra.root / "work").symlink_to(outside)
    (zebra.root / "services").mkdir()
    (zebra.root / "services/notes").symlink_to(outside / "notes")
    (zebra.root / "services/MEMORY.md").symlink_to(outside / "MEMORY.md")
    (zebra.root / "tasks").symlink_to("/etc")
    (zebra.root / "institutional.md").symlink_to("/etc/passwd")
    (zebra.root / "proxy.md").symlink_to("/dev/zero")
    (zebra.root / "MEMORY.archive.md").symlink_to(zebra.home / "gone.md")
    zebra.write(
        ".mem.toml",
        'jobs_dir = "work"\nmemory_files = ["services/**/*.md", "*/MEMORY.md"]\n',
    )
    assert titles(zebra) == ["Zebra"]
    assert "root:" not in zebra.mem("recall", "zebra", "--max-tokens", "0").out
    assert "leaves the root" in zebra.mem("doctor").out


def _poison(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


@pytest.mark.parametrize("statements", WORDS["code"])
def test_an_index_with_code_in_it_is_moved_aside(zebra, statements):
    """Triggers and views, which would run inside of mem's own statements, are none of
    an index."""
    zebra.mem("index")
    _poison(zebra.root / DB, *statements)
    zebra.remembers("Zebra", "zebra changed")
    result = zebra.mem("recall", "zebra", "--json")
    assert result.titles == ["Zebra"] and "pwned" not in result.out
    assert "it has a view or a trigger" in result.err
    assert "moved to" in result.err and len(list(zebra.root.glob(f"{DB}.aside-*"))) == 1
    assert zebra.mem("recall", "zebra").err == ""


@pytest.mark.parametrize("statement", WORDS["values"])
def test_no_value_of_a_poisoned_index_ends_in_a_bug(zebra, statement):
    """Whatever the rows hold, every verb answers or refuses in words, and a rebuild
    mends it."""
    own = zebra.entry("Zebra", "zebra stripes", id="zzzz1111", created_at="2026-11-20")
    zebra.memory(own)
    zebra.mem("index")
    _poison(zebra.root / DB, statement)
    for verb in VERBS:
        result = zebra.mem(*verb)
        assert result.code != 70 and "Traceback" not in result.err, (verb, result.err)
    zebra.ok("index", "--rebuild")
    assert titles(zebra) == ["Zebra"]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_link_at_the_index_is_not_written_through(zebra, tmp_path, suffix):
    """The index, and SQLite's own files beside it, may be links that a repository
    brings."""
    precious = zebra.write("precious", "mine\n" * 2000, at=tmp_path)
    (zebra.root / f"{DB}{suffix}").symlink_to(precious)
    result = zebra.mem("recall", "zebra", "--json")
    assert (result.code, result.titles) == (0, ["Zebra"])
    assert precious.read_text() == "mine\n" * 2000 and list(
        (cache_dir() / "index").glob("*.db")
    )


def test_mem_db_may_not_name_a_file_of_the_user(zebra, tmp_path):
    """MEM_DB that points to a text, a folder or nothing's folder is exit 2, and the
    file stays."""
    notes = zebra.write("notes.txt", "mine\n" * 500, at=tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for named in (
        notes,
        tmp_path,
        tmp_path / "no/where.db",
        "MEMORY.md",
        "/dev/full",
        pipe,
    ):
        result = zebra.ends(2, "recall", "zebra", env={"MEM_DB": str(named)})
        assert "MEM_DB" in result.err, (named, result)
    assert (
        notes.read_text() == "mine\n" * 500
        and pipe.exists()
        and os.path.exists("/dev/full")
    )


def test_no_program_of_a_repository_is_run(zebra, tmp_path):
    """Hooks, monitors, pagers, external diffs and drivers that git's settings name stay
    unused."""
    program = zebra.write(
        "evil.sh", f"#!/bin/sh\necho run >> {tmp_path}/ran\ncat\n", at=tmp_path
    )
    program.chmod(0o755)
    zebra.commit()
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    names = (
        "post-checkout pre-commit post-merge reference-transaction post-index-change"
    )
    for hook in names.split():
        (hooks / hook).symlink_to(program)
    keys = (
        "core.fsmonitor diff.evil.textconv diff.evil.command diff.external core.pager core.editor "
        "merge.evil.driver core.sshCommand core.gitProxy credential.helper core.askPass "
        "gpg.program alias.ls-files uploadpack.packObjectsHook"
    )
    for key in keys.split():
        zebra.git("config", key, str(program))
    zebra.git("config", "core.hooksPath", str(hooks))
    zebra.write(".gitattributes", "*.md diff=evil merge=evil\n")
    own = zebra.entry("Zebra", "zebra stripes", id="zzzz1111")
    zebra.memory(own + zebra.entry("New", "new zebra"))
    more = (
        "diff", "diff HEAD", "add zebra at dawn", "undo", "extract --dry-run", "retire zzzz1111",
        "export claude", "init --dry-run",
    )  # fmt: skip
    for verb in (*VERBS, *(line.split() for line in more)):
        result = zebra.mem(*verb)
        assert result.code != 70, (verb, result.err)
        assert not (tmp_path / "ran").exists(), verb


@pytest.mark.parametrize("first", [".", "", "bin"])
def test_a_git_of_the_repository_is_not_run(zebra, tmp_path, first):
    """Where PATH names the folder in which the command is called."""
    program = zebra.write("git", f"#!/bin/sh\necho run >> {tmp_path}/ran\n")
    program.chmod(0o755)
    (zebra.root / "bin").symlink_to(".")
    path = os.pathsep.join([first, os.environ["PATH"]])
    for verb in (["diff"], ["why", "MEMORY.md"], ["doctor"], ["index", "--history"]):
        result = zebra.mem(*verb, env={"PATH": path})
        assert result.code != 70, (verb, result.err)
        assert not (tmp_path / "ran").exists(), verb


def test_a_git_file_that_leads_elsewhere_is_not_written_through(project, tmp_path):
    """A link where git keeps its excludes, behind a foreign `.git`, is not written
    through."""
    other = tmp_path / "victim"
    other.mkdir()
    (other / "HEAD").write_text("secret\n")
    (other / "info").mkdir()
    precious = project.write("precious", "mine\n", at=tmp_path)
    (other / "info/exclude").symlink_to(precious)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {other}\n")
    (tree / "MEMORY.md").write_text(project.entry("Zebra", "zebra"))
    project.ok("index", cwd=tree)
    assert precious.read_text() == "mine\n"


@pytest.mark.parametrize(
    "name",
    ["a\0b", "x" * 5000, "\udcff", "/dev/null", "../" * 200, "MEMORY.md"],
)
@pytest.mark.parametrize("file", ["gitdir", "commondir", "HEAD"])
def test_a_name_in_gits_files_that_names_nothing_is_as_none(zebra, name, file):
    """No verb ends in a bug, and a hook still answers."""
    mark = {"gitdir": "gitdir: ", "commondir": "", "HEAD": "ref: "}[file]
    if file == "gitdir":
        shutil.rmtree(zebra.root / ".git", ignore_errors=True)
    text = os.fsencode(f"{mark}{name}\n")
    zebra.write(".git" if file == "gitdir" else f".git/{file}", text)
    verbs = "recall zebra", "list", "add x", "index", "init", "why MEMORY.md", "doctor"
    for verb in verbs:
        done = zebra.mem(*verb.split())
        assert done.code != 70, (verb, done.err)
    assert "Zebra" in zebra.mem("recall", "zebra").out


@pytest.mark.parametrize(
    "verb", ["init", "init --trust", "init --remove", "doctor --fix"]
)
def test_git_settings_that_are_a_link_are_not_written_through(zebra, tmp_path, verb):
    """They may lead to those of the person."""
    zebra.git("init", "-q")
    zebra.write(".gitattributes", "MEMORY.md merge=mem\n")
    precious = zebra.write("precious", "[core]\n\tbare = false\n", at=tmp_path)
    settings = zebra.root / ".git/config"
    settings.unlink()
    settings.symlink_to(precious)
    done = zebra.mem(*verb.split())
    assert ".git/config: is a link" in done.err + done.out, done
    assert done.code == (0 if verb == "doctor --fix" else 5)
    assert precious.read_text() == "[core]\n\tbare = false\n"
    assert zebra.read(".gitattributes") == "MEMORY.md merge=mem\n"


def test_huge_and_deep_entries_are_bounded(zebra):
    """A file of 660 kB, thousands of keys, deep lists, aliases and tags."""
    bomb = "".join(
        f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]\n"
        for number in range(1, 10)
    )
    texts = {
        "huge": zebra.entry("Zebra huge", "zebra word " * 60_000),
        "bomb": f"---\nid: bomb\na0: &a0 [x]\n{bomb}---\nzebra\n",
        "deep": "---\nid: deep\nx: " + "[" * 3000 + "]" * 3000 + "\n---\nzebra\n",
        "keys": "---\nid: keys\n"
        + "".join(f"k{number}: v\n" for number in range(4000))
        + "---\nzebra\n",
        "tags": "---\nid: tags\nx: !!python/object/apply:os.system ['touch pwned']\n---\nzebra\n",
        "rules": "---\n\n" * 10_000,
        "fences": "```\n" * 10_000,
        "heads": "# zebra\n" * 20_000,
    }
    for name, text in texts.items():
        zebra.write(f"tasks/{name}.md", text)
    result = zebra.ok("recall", "zebra", "--max-tokens", "500")
    assert len(result.out) < 4 * 500 + 500
    assert not zebra.has("pwned")
    with zebra.app() as app:
        found = {problem.path for problem in app.problems}
    assert found >= {"tasks/bomb.md", "tasks/deep.md", "tasks/tags.md"}
    zebra.ends(1, "doctor")

"""Full and read-only disks, folders that are not there or not ours."""

import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

from memcli.memory.parser import parse
from tests.conftest import Project, Result

VERBS = [
    tuple(line.split())
    for line in (
        "recall zebra", "index", "add zebra-at-dawn is new", "compact", "health", "doctor", "list",
        "reinforce --task zebra", "retire zzzz1111", "undo", "extract session.jsonl", "show zzzz1111",
    )
]  # fmt: skip
CODES = (0, 1, 2, 3, 5)


@pytest.fixture
def filled(project):
    twice = "".join(
        project.entry("Zebra", "zebra stripes are kept here", id=i)
        for i in ("zzzz1111", "yyyy2222")
    )
    project.memory(twice + project.entry("Gone", "gone", status="retired"))
    project.write(
        "session.jsonl", '{"role": "user", "content": "I prefer short names."}\n'
    )
    return project


def kept(project, done, verb):
    """No traceback, no bug, no litter, and every entry in a file."""
    assert done.code in CODES and not re.search("Traceback|internal", done.err), (
        verb,
        done,
    )
    assert done.code in (0, 1) or "mem:" in done.err, (verb, done)
    files = [path for path in project.root.rglob("*.md") if path.is_file()]
    held = {
        entry.id
        for path in files
        for entry in parse(path.read_text(), path.name).entries
    }
    assert {"zzzz1111", "yyyy2222"} <= held, (verb, held)
    assert not list(project.root.rglob(".*.mem-tmp-*")), verb


@pytest.fixture
def small(filled, tmp_path, kilobytes):
    """The project on a file system of so many kilobytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        root = disk / "repo"
        shutil.copytree(filled.root, root, ignore=shutil.ignore_patterns("hooks"))
        yield Project(root, filled.home)
    finally:
        subprocess.run(["umount", "-l", str(disk)], capture_output=True, check=False)


def _fill(folder):
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 512):
                pass
        except OSError:
            return


def answers(verb, result):
    """What only reads has its answer."""
    if verb[0] in ("recall", "list", "show"):
        assert result.code == 0 and "Zebra" in result.out, (verb, result)


@pytest.mark.parametrize("kilobytes", [160, 300, 420])
@pytest.mark.parametrize("indexed", [True, False])
def test_a_full_disk_loses_nothing(small, indexed):
    """Reading answers, from memory if need be; writing refuses; files are as before."""
    if indexed:
        small.mem("index")
    before = small.data()
    _fill(small.root)
    for verb in VERBS:
        result = small.mem(*verb)
        kept(small, result, verb)
        answers(verb, result)
        if verb[0] in ("add", "compact", "retire"):
            assert result.code == 5, (verb, result)
    assert small.data() == before
    (small.root / "filler").unlink()
    assert small.mem("recall", "zebra", "--json").hits


def test_a_file_that_may_not_grow_loses_nothing(filled):
    """A limit on the size of files, met inside of a write, ends in words."""
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)); from memcli.cli.program import run;"
        "sys.exit(run(sys.argv[1:]))"
    )
    for verb in VERBS[:5]:
        command = [sys.executable, "-c", script, *verb]
        how = {"capture_output": True, "text": True, "check": False}
        ended = subprocess.run(command, cwd=filled.root, **how)  # type: ignore[call-overload]
        kept(filled, Result(ended.returncode, ended.stdout, ended.stderr), verb)


def _locked(*folders, mode):
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            if path.is_dir():
                path.chmod(mode)


def test_a_read_only_tree_is_read_and_refused_to_writers(filled):
    """Reading answers from another place; whoever would write says which file and
    writes nothing."""
    before = filled.data()
    _locked(filled.root, mode=0o555)
    try:
        for verb in VERBS:
            result = filled.powerless(*verb)
            kept(filled, result, verb)
            if verb[0] in ("add", "compact", "retire"):
                assert result.code == 5 and "hint:" in result.err, (verb, result)
            answers(verb, result)
    finally:
        _locked(filled.root, mode=0o755)
    assert filled.data() == before


@pytest.mark.parametrize("where", ["unset", "gone", "a file", "not ours"])
def test_without_a_home_a_project_still_works(filled, tmp_path, where):
    """HOME and the folders of state and cache may be unset, gone, a file, or closed to
    us."""
    place = tmp_path / "place"
    if where == "a file":
        place.write_text("no folder")
    if where == "not ours":
        place.mkdir(mode=0o555)
    names = ("HOME", "MEM_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    env = {name: "" if where == "unset" else str(place / "below") for name in names}
    if where == "unset":  # as a service has it: the real one is never to be touched
        env["HOME"] = str(tmp_path / "none")
    for verb in VERBS[:6]:
        kept(filled, filled.powerless(*verb, env=env), verb)
    assert "Zebra" in filled.powerless("recall", "zebra", env=env).out


def test_an_index_without_a_wal_serves_every_verb(filled):
    """On a file system without shared memory the index keeps a plain journal."""
    filled.mem("index")
    with sqlite3.connect(filled.root / ".memory.db") as db:
        assert db.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    db.close()
    for verb in VERBS:
        kept(filled, filled.mem(*verb), verb)
    assert not filled.has(".memory.db-wal")


def test_a_home_that_cannot_be_written_is_told_what_helps(project, tmp_path):
    """The variable that puts state or cache elsewhere, whichever it is."""
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    env = {
        "XDG_STATE_HOME": str(locked / "state"),
        "XDG_CACHE_HOME": str(locked / "cache"),
    }
    for verb, kind in (("inbox", "STATE"), ("browse", "CACHE")):
        failed = project.powerless(verb, env=env)
        assert failed.code == 5 and f"set XDG_{kind}_HOME to another" in failed.err


def test_a_file_whose_archive_can_have_no_name_stops_no_other(project):
    """It is named and left alone; the others are compacted."""
    name = f"tasks/{'x' * 252}.md"
    for path in (name, "MEMORY.md"):
        gone = project.entry("Zebra", f"of {path[:5]}", id=path[:5], status="retired")
        project.write(path, gone)
    before = project.read(name)
    done = project.ends(3, "compact", "--allow-loss")
    assert "file name too long" in done.err
    assert project.read(name) == before
    assert "of MEMOR" in project.read("MEMORY.archive.md")

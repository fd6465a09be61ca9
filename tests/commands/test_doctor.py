"""mem doctor: each thing that can be broken is broken on purpose, found, and mended
where it can be."""

import os
import re
import sqlite3
import sys
import tomllib
from collections.abc import Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from memcli.storage.files import log_hook, state_dir
from tests.programs import finished
from tests.terminal import read_terminal

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def healthy(project):
    """A repository after git init, mem init, some memory, a commit and a recall."""
    project.ok("init")
    project.memory("# Memory\n\n", project.entry("Zebra", "stripes", id="z1"))
    project.write("institutional.md", "# Norms\n\n- Keep it short.\n")
    project.write("tasks/a.md", project.entry("Lion", "mane", id="l1"))
    project.commit()
    project.ok("recall", "zebra")
    return project


def rows(result, *statuses):
    return [
        row
        for row in result.json["checks"]
        if not statuses or row["status"] in statuses
    ]


def row_of(result, name, *statuses):
    return next(row for row in rows(result, *statuses) if row["name"] == name)


def complaints(project):
    """The names and hints of what doctor warns of."""
    found = rows(project.mem("doctor", "--json"), "FAIL", "WARN")
    return [(row["name"], row["hint"]) for row in found]


@contextmanager
def closed(*folders):
    """Folders that nobody may write to."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


def snapshot(project):
    """The bytes of every file that is not derived: tree, home folder, git's
    settings."""
    found = {}
    for base, prefix in ((project.root, ""), (project.home, "~/")):
        for path in base.rglob("*"):
            name = path.relative_to(base).as_posix()
            settings = name in (".git/config", ".git/info/exclude")
            derived = name.startswith(".memory.db") or (
                name.startswith(".git/") and not settings
            )
            if path.is_file() and not derived:
                found[prefix + name] = path.read_bytes()
    return found


def test_a_healthy_repository_has_nothing_to_complain_of(healthy):
    """No FAIL, no WARN, exit 0; facts are told, and --fix does nothing."""
    before = snapshot(healthy)
    found = healthy.mem("doctor", "--json")
    assert (found.code, rows(found, "FAIL", "WARN")) == (0, [])
    assert (found.json["version"], found.json["failed"], found.json["warned"]) == (
        1,
        0,
        0,
    )
    for row in rows(found):
        assert list(row) == ["name", "status", "detail", "hint", "path", "line"]
    assert row_of(found, "index", "PASS")["path"] == str(healthy.root / ".memory.db")
    result = healthy.mem("doctor", "--fix", "--json")
    assert (result.code, result.json["fixed"], snapshot(healthy)) == (0, [], before)
    # no later write
    assert "not as mem init of" in healthy.mem("undo", "--dry-run").err


def test_on_a_terminal_passes_are_counted(healthy):
    """Each row that is not PASS, and one line for those that are; -v has them all."""

    def lines(*options):
        command = [sys.executable, "-m", "memcli", "doctor", *options]
        env = {"NO_COLOR": "1", "GIT_PAGER": "cat"}  # all of it is more than a screen
        shown = read_terminal(command, healthy.root, env=env, width=200)
        return shown.splitlines()

    found = rows(healthy.mem("doctor", "--json"))
    passed = sum(row["status"] == "PASS" for row in found)
    assert f"PASS  {passed} checks pass: --all names them" in lines()
    assert sum(line.startswith("PASS") for line in lines()) == 1
    for whole in ("-v", "--all"):
        assert sum(line.startswith("PASS") for line in lines(whole)) == passed
    others = [line for line in lines() if line.startswith(("INFO", "WARN", "FAIL"))]
    assert len(others) == len(found) - passed


def test_a_repository_without_init_gets_one_warning_at_most(project):
    """Once memory is tracked, the merge driver is all that is missing, and mem init is
    the hint."""
    project.remembers()
    for command in ("doctor", "recall x"):
        project.mem(*command.split())
    assert complaints(project) == []
    project.commit()
    assert complaints(project) == [("merge-driver", "mem init")]


class Planted(NamedTuple):
    """A defect: the row it must give, and what --fix may change to mend it.

    `changes` None: nothing can mend it, and nothing may change. `line` 0 stands for
    none."""

    name: str
    check: str
    status: str = "WARN"
    hint: str = "mem doctor --fix"
    path: str = ""
    line: int = 0
    changes: Sequence[str] | None = None
    detail: str = ""


def text(path, content):
    return lambda project: project.write(path, content)


def entry(path="tasks/b.md", body="fur", **values):
    return lambda project: project.write(path, project.entry("Bear", body, **values))


def git(*args):
    return lambda project: project.git(*args)


def sql(statement, *, anew=False):
    def plant(project):
        path = without_index(project) if anew else project.index_file
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(statement)

    return plant


def without_index(project):
    for path in project.root.glob(".memory.db*"):
        path.unlink()
    return project.index_file


def torn(project):
    """Overwrite the pages behind the first with noise."""
    sql("PRAGMA wal_checkpoint(TRUNCATE)")(project)
    data = project.data(".memory.db")
    project.index_file.write_bytes(data[:8192] + b"\xa5" * (len(data) - 8192))


def work_tree(project):
    project.git("worktree", "add", "-q", "../other", "-b", "feature")
    path = project.root.parent / "other/MEMORY.md"
    path.write_text(path.read_text() + project.entry("Only here", id="only-here"))


def interrupted(project):
    """A writer dies between its commit and its rename."""
    path = project.root / "tasks/a.md"
    code = f"""
import datetime, os
from pathlib import Path
from memcli.storage.files import state_dir
from memcli.memory.values import Patch
from memcli.storage.workspace import Workspace
root, path = Path({str(project.root)!r}), Path({str(path)!r})
trace = lambda step: os._exit(0) if step == "rename" else None
before = path.read_text()
space = Workspace(root, state_dir(), datetime.datetime(2026, 11, 20), allowed=[root], trace=trace)
space.write([Patch(str(path), before, before + "\\nMore.\\n")], "add")
"""
    finished(sys.executable, "-c", code)


def own(kind, path, content):
    """A file in the user's folder of this kind: state or config."""

    def plant(project):
        place = Path(os.environ[f"XDG_{kind}_HOME"]) / "mem"
        project.write(path, content, at=place)

    return plant


HALF = "tasks/.a.md.mem-tmp-99999999-ab"

PLANTS = {
    "latin-1": text("tasks/b.md", b"# B\nna\xefve\n"),
    "link out": lambda p: (p.root / "tasks/out.md").symlink_to("/etc/hostname"),
    "secret": text("tasks/b.md", f"# B\n\ntoken {TOKEN}\n"),
    "secret without id": entry(id=None, body=TOKEN),
    "no id": entry(id=None),
    "forbidden key": text(".mem.toml", 'limit = 3\nllm = "scripted"\n'),
    "secret as a value": text(".mem.toml", f'limit = "{TOKEN}"\n'),
    "tracked index": git("add", "-f", ".memory.db"),
    "open proxy task": text("proxy-tasks/s[1].md", "Short.\n"),
    "no exclude lines": text(".git/info/exclude", "*.o"),
    "no driver": git("config", "--remove-section", "merge.mem"),
    "no attributes": git("rm", "-q", ".gitattributes"),
    "other work tree": work_tree,
    "stale": entry(),
    "no database": lambda p: without_index(p).write_text("my notes\n" * 200),
    "newer": sql("PRAGMA user_version = 999"),
    "foreign": sql("CREATE TABLE accounts (name)", anew=True),
    "torn pages": torn,
    "temporary file": text(HALF, "half"),
    "interrupted write": interrupted,
}
"""How each defect of defects.toml comes about."""
DEFECTS = tomllib.loads(Path(__file__).with_name("defects.toml").read_text())["defect"]


def matching(result, planted, project):
    """The rows of the check that tell of the defect."""
    where = planted.path.format(
        root=project.root,
        other=project.root.parent / "other",
        state=Path(os.environ["XDG_STATE_HOME"]) / "mem",
        config=Path(os.environ["XDG_CONFIG_HOME"]) / "mem" / "config.toml",
    )
    return [
        row
        for row in rows(result, planted.status)
        if row["name"] == planted.check
        and (row["path"] or "").startswith(where)
        and planted.detail in row["detail"]
    ]


@pytest.mark.parametrize("row", DEFECTS, ids=lambda row: row["name"].replace(" ", "-"))
def test_a_planted_defect_is_found_and_mended_where_it_can_be(healthy, row):
    """Looking changes nothing; --fix changes what is derived or can be undone, no other
    byte."""
    planted = Planted(**row)
    PLANTS[planted.name](healthy)
    before = snapshot(healthy)
    result = healthy.mem("doctor", "--json")
    found = matching(result, planted, healthy)
    assert found, result.out
    assert planted.hint in found[0]["hint"]
    assert found[0]["line"] == (planted.line or None)
    assert result.code == bool(rows(result, "FAIL"))
    assert snapshot(healthy) == before
    tried = healthy.mem("doctor", "--fix", "--json")
    after = snapshot(healthy)
    changed = {
        name for name in {*before, *after} if before.get(name) != after.get(name)
    }
    allowed = planted.changes or ()
    assert all(
        name in allowed or ("*" in allowed and ".mem-tmp-" in name) for name in changed
    )
    again = matching(healthy.mem("doctor", "--json"), planted, healthy)
    assert bool(again) == (planted.changes is None)
    assert planted.changes is None or tried.json["fixed"]
    assert TOKEN not in result.out + result.err + tried.out + tried.err
    kept = Path(os.environ["XDG_STATE_HOME"]).rglob("*")
    assert not any(
        TOKEN.encode() in path.read_bytes() for path in kept if path.is_file()
    )


def test_a_file_that_may_not_be_read_is_a_row(healthy):
    """Permission is named, the others are still checked."""
    healthy.write("tasks/b.md", "# B\n").chmod(0)
    found = healthy.powerless("doctor", "--json")
    (row,) = rows(found, "FAIL")
    assert (found.code, row["name"], row["path"]) == (1, "readable", "tasks/b.md")
    assert "chmod u+r" in row["hint"]


def test_a_read_only_tree_is_a_row_and_fix_says_what_it_could_not_do(healthy):
    """Nothing is raised, nothing is written; what could not be mended is a warning with
    a hint."""
    healthy.write("tasks/b.md", healthy.entry(id=None))
    folder = Path(os.environ["XDG_STATE_HOME"]) / "mem"
    with closed(healthy.root, healthy.root / "tasks"):
        tried = healthy.powerless("doctor", "--fix", "--json")
        with closed(folder):
            found = healthy.powerless("doctor", "--json")
    assert (found.code, row_of(found, "root")["status"]) == (0, "WARN")
    state = row_of(found, "state")
    assert (state["status"], state["path"]) == ("WARN", str(folder))
    mended = [row for row in rows(tried, "WARN") if "not fixed" in row["detail"]]
    assert "ids" in [row["name"] for row in mended]
    assert all(row["hint"] for row in mended)


def test_effective_configuration_is_told_with_its_origin(healthy):
    """Every value that is not the default."""
    healthy.write(".mem.toml", "limit = 8\n")
    own("CONFIG", "config.toml", b"half_life = 30\n")(healthy)
    found = healthy.mem(
        "doctor", "--json", "--set", "decay=none", env={"MEM_MAX_TOKENS": "500"}
    )
    assert {row["detail"] for row in rows(found) if row["name"] == "setting"} == {
        "limit = 8 (project file)",
        "half_life = 30.0 (user file)",
        "max_tokens = 500 (environment)",
        "decay = none (flag)",
        "embedder = none (environment)",
    }


def test_other_memory_systems_are_told(healthy):
    """Claude's auto memory with its limits, and three memory tools."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(healthy.root))
    claude = healthy.write(
        f"~/.claude/projects/{slug}/memory/MEMORY.md", "line\n" * 201
    )
    others = ["~/.claude-mem", "~/.basic-memory", ".memsearch"]
    for path in others:
        healthy.write(f"{path}/x", "x")
    found = [
        row
        for row in rows(healthy.mem("doctor", "--json"))
        if row["name"] == "other-memory"
    ]
    told = {row["path"]: row for row in found}
    assert set(told) == {str(claude), *others}
    assert {row["status"] for row in found} == {"INFO"}
    told_of = told[str(claude)]
    assert "201 lines" in told_of["detail"]
    assert "first 200 lines" in told_of["hint"]


def test_named_files_give_content_rows_alone_and_need_no_index(project, tmp_path):
    """Any markdown will do; nothing is built, the configuration is not looked at."""
    project.remembers()
    project.write(".mem.toml", "nonsense = 1\n")
    inside = project.write("docs/notes.md", f"token {TOKEN}\n")
    outside = project.write("elsewhere.md", f"\ntoken {TOKEN}\n", at=tmp_path)
    clean = project.mem("doctor", "MEMORY.md", "--json")
    assert (clean.code, {row["status"] for row in rows(clean)}) == (0, {"PASS"})
    names = ("notes.md", "../MEMORY.md", str(outside))
    project.ends(2, "doctor", *names, "gone.md", cwd=inside.parent)
    found = project.ends(1, "doctor", *names, "--json", cwd=inside.parent)
    assert {(row["name"], row["path"], row["line"]) for row in rows(found, "FAIL")} == {
        ("secrets", "docs/notes.md", 1),
        ("secrets", str(outside), 2),
    }
    assert not project.has(".memory.db")
    project.ends(1, "doctor")


def ids(path):
    return re.findall(r"^id: (\S+)", path.read_text(), re.MULTILINE)


def test_written_ids_are_those_the_entries_went_by_and_can_be_undone(healthy):
    """As recall showed them; the same text written anew in the same place gets
    another."""
    path = healthy.write("tasks/b.md", healthy.entry("Bear", "honey", id=None) * 2)
    before = path.read_bytes()
    shown = {
        hit["id"] for hit in healthy.mem("recall", "honey", "--json", "--ranked").hits
    }
    assert "wrote 2 ids into tasks/b.md" in healthy.mem("doctor", "--fix").err
    assert shown <= set(ids(path))
    healthy.ok("undo")
    assert path.read_bytes() == before
    healthy.mem("doctor", "--fix")
    path.write_bytes(before + path.read_bytes())
    healthy.mem("doctor", "--fix")
    assert len(set(ids(path))) == len(ids(path)) == 4


def test_dry_run_shows_the_diff_and_names_the_rest(healthy):
    """stdout is the diff alone, stderr names the rest; without --fix it is a
    mistake."""
    healthy.ends(2, "doctor", "--dry-run")
    healthy.write("tasks/b.md", healthy.entry(id=None))
    healthy.git("config", "--remove-section", "merge.mem")
    healthy.write("proxy.md", "Short.\n")
    healthy.write(HALF, "half")
    before = snapshot(healthy)
    planned = healthy.mem("doctor", "--fix", "--dry-run", "--json").json
    assert planned["dry_run"]
    assert len(planned["fixed"]) == 5
    assert len(planned["files"]) == 1
    # the index is derived: to look for renames has brought it up to date
    shown = healthy.mem("doctor", "--fix", "--dry-run")
    assert shown.out.startswith("diff --git a/tasks/b.md b/tasks/b.md\n")
    assert "\n+id: " in shown.out
    for word in (
        "wrote 1 id",
        "registered the merge driver",
        "proxy.md",
        "mem-tmp",
    ):
        assert word in shown.err
    assert snapshot(healthy) == before


def test_a_hook_that_fails_ever_since_is_a_warning(healthy):
    """One that went well again is only told of."""
    log_hook(state_dir(), "2026-11-21T10:00:00Z prompt 9 ms: ValueError: x")
    detail = row_of(healthy.mem("doctor", "--json"), "hooks", "WARN")["detail"]
    assert "ValueError: x" in detail
    log_hook(state_dir(), "2026-11-21T10:01:00Z prompt 9 ms: 20 characters")
    assert "ValueError: x" in str(rows(healthy.mem("doctor", "--json"), "INFO"))


def test_all_settings_in_force_are_listed_with_their_origin(project):
    project.write(".mem.toml", "limit = 3\n")
    listed = project.mem("doctor", "--all").out
    assert "limit = 3 (project file)" in listed
    assert "history = true (default)" in listed
    assert "history = true" not in project.mem("doctor").out


def test_a_quiet_doctor_names_what_is_wrong_alone(healthy):
    assert healthy.mem("doctor", "-q").out == ""
    (healthy.root / "MEMORY.md").write_text("<<<<<<< HEAD\n", "utf-8")
    rows = healthy.mem("doctor", "-q").out.splitlines()
    assert rows and all(row.startswith(("FAIL", "WARN")) for row in rows)

"""The index: derived, private, self-healing, and the same however it came about."""

import json
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from memcli.app import App, Options
from memcli.commands import index as index_command
from memcli.commands import recall as recall_command
from memcli.index import upkeep
from memcli.index.database import Index
from memcli.recall.answer import RecallRequest
from memcli.storage import files
from tests.programs import finished

DB = ".memory.db"


@contextmanager
def opened(project, db=""):
    environ = {**os.environ, **({"MEM_DB": db} if db else {})}
    with App(Options(), environ, project.root) as app:
        yield app


def sql(project, query):
    with closing(sqlite3.connect(project.root / DB)) as db, db:
        return db.execute(query).fetchall()


def titles(project, task, *options):
    result = project.ok(
        "recall", task, "--json", "--ranked", "--max-tokens", "0", *options
    )
    return result.titles


def age(path, seconds=100):
    """Make a file look as if it had not been touched lately."""
    then = path.stat().st_mtime_ns - seconds * 10**9
    os.utime(path, ns=(then, then))


def test_the_index_is_private_and_unseen_by_git(project):
    """Mode 0600 whatever the umask; `git status` shows the memory file alone."""
    old = os.umask(0)
    try:
        project.remembers()
        project.mem("index")
    finally:
        os.umask(old)
    assert stat.S_IMODE((project.root / DB).stat().st_mode) == 0o600
    assert project.git("status", "--porcelain") == "?? MEMORY.md\n"


def test_the_index_is_unseen_in_a_linked_worktree(project):
    """Its exclude file lies somewhere else than in `.git/`."""
    project.remembers("Zebra")
    project.commit()
    project.git("worktree", "add", "-q", "../linked")
    folder = project.root.parent / "linked"
    project.ok("index", cwd=folder)
    assert (folder / DB).exists() and project.git(
        "status", "--porcelain", cwd=folder
    ) == ""


def test_without_memory_nothing_is_made(project, world):
    """No index, no cache, no state: every command exits 0 with one line that says how
    to begin."""
    project.ok("index", "--check")
    for command in (["index"], ["recall", "x"], ["list"], ["index", "--rebuild"]):
        result = project.ok(*command)
        assert [
            line for line in result.err.splitlines() if 'Begin with: mem add "' in line
        ]
    assert sorted(path.name for path in project.root.iterdir()) == [".git"]
    assert not (world / "cache").exists()
    assert not (world / "state").exists()


def test_only_global_memory_is_indexed_in_the_cache(project, world):
    """A repository without a memory file of its own gets no index of its own."""
    project.write("~/MEMORY.md", project.entry("Zebra", "Stripes."))
    assert titles(project, "zebra") == ["Zebra"]
    assert not project.has(DB)
    [db] = (world / "cache/mem/index").iterdir()
    assert stat.S_IMODE(db.stat().st_mode) == 0o600


def test_without_any_writable_folder_the_index_lives_in_memory(project, world):
    """The answer comes all the same, with a note, and nothing is left behind."""
    project.remembers("Zebra", "Stripes.")
    (world / "cache").write_text("in the way")
    project.root.chmod(0o555)
    result = project.powerless("recall", "zebra", "--json")
    project.root.chmod(0o755)
    assert (result.code, result.hits[0]["title"]) == (0, "Zebra"), result.err
    assert "for this run only" in result.err


def test_mem_db_moves_the_index(project):
    """A file in an existing folder."""
    project.remembers("Zebra")
    project.ok("index", env={"MEM_DB": "../elsewhere.db"})
    assert (project.root.parent / "elsewhere.db").exists() and not project.has(DB)


_WATCH = """
import os, sys
read = []
def hook(event, args):
    if event == "open" and str(args[0]).endswith(".md"):
        read.append(os.path.basename(str(args[0])))
sys.addaudithook(hook)
from memcli.cli.program import run
code = run(sys.argv[1:])
print(" ".join(sorted(read)))
sys.exit(code)
"""


def test_unchanged_files_are_not_read(project):
    """The second run opens no memory file; after one edit it opens that one."""
    for name in ("tasks/a.md", "tasks/b.md"):
        age(project.write(name, project.entry(name)))

    def read():
        process = finished(
            sys.executable, "-c", _WATCH, "index", "-q", cwd=project.root
        )
        return " ".join(dict.fromkeys(process.stdout.split()))

    assert read() == "a.md b.md"
    assert read() == ""
    project.write("tasks/b.md", project.entry("Other"))
    assert read() == "b.md"


def test_a_file_that_was_only_touched_is_not_chunked_again(project):
    """Another mtime, equal content: the rows stay, and the next run does not read it
    again."""
    path = project.memory(project.entry("One"), project.entry("Two"))
    age(path, 500)
    project.mem("index")
    before = sql(project, "SELECT id, text FROM chunks ORDER BY id")
    age(path)
    with opened(project) as app:
        done = app.refresh()
        again = app.refresh()
    assert (done.read, done.changed, again.read) == (1, 0, 0)
    assert sql(project, "SELECT id, text FROM chunks ORDER BY id") == before


def test_an_edit_keeps_the_rows_of_the_other_entries(project):
    """One entry of three changed: one row is new, the other two only moved."""
    entries = [
        project.entry(f"Title {number}", f"Body {number}") for number in range(3)
    ]
    project.memory(*entries)
    project.mem("index")
    before = dict(sql(project, "SELECT title, id FROM chunks"))
    project.memory(
        *[entries[0].replace("Body 0", "Longer body\nof two lines"), *entries[1:]]
    )
    project.mem("index")
    after = dict(sql(project, "SELECT title, id FROM chunks"))
    assert [before[t] == after[t] for t in ("Title 0", "Title 1", "Title 2")] == [
        False,
        True,
        True,
    ]
    lines = dict(sql(project, "SELECT title, line FROM chunks"))
    text = project.read().split("\n")
    assert all(title in text[line - 1] for title, line in lines.items())


def test_a_same_size_edit_within_one_tick_is_found(project, monkeypatch):
    """Racily clean: the file is written, indexed and written again with the same mtime
    and size."""
    monkeypatch.setattr(files, "RACY_NS", 60 * 10**9)  # however slow this machine is
    path = project.remembers("Zebra", "It is black.", id="a1" * 4)
    project.mem("index")
    stamp = path.stat()
    path.write_text(path.read_text().replace("black", "white"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert titles(project, "white") == ["Zebra"]


@pytest.mark.parametrize(
    "how",
    [
        "deleted",
        "emptied",
        "blanked",
        "renamed",
        "moved",
        "made a folder",
        "made unreadable",
    ],
)
def test_what_is_gone_matches_nothing(project, how):
    """Whatever became of the file, its words leave the index, its relations too."""
    project.remembers("Other", "Horses.")
    path = project.write(
        "tasks/z.md", project.entry("Zebra", "Stripes.", supports=["1234"])
    )
    assert titles(project, "stripes") == ["Zebra"]
    if how in ("deleted", "made a folder"):
        path.unlink()
    if how == "made a folder":
        path.mkdir()
    if how == "renamed":
        path.rename(path.with_suffix(".txt"))
    if how == "moved":
        path.rename(project.root / "tasks/new.md")
        [hit] = project.mem("recall", "stripes", "--json").hits
        assert hit["path"] == "tasks/new.md"
        (project.root / "tasks/new.md").unlink()
    texts = {"emptied": b"", "blanked": b" \n\n", "made unreadable": b"\xff Stripes."}
    if how in texts:
        path.write_bytes(texts[how])
    assert titles(project, "stripes") == []
    assert titles(project, "horses") == ["Other"]
    assert sql(project, "SELECT count(*) FROM relations") == [(0,)]
    left = "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'stripes'"
    assert sql(project, left) == [(0,)]


WORDS = (
    "zebra horse stripe gallop 斑马 getUserName café deploy timeout rollback".split()
)
FILES = (
    "MEMORY.md",
    "institutional.md",
    "tasks/a.md",
    "tasks/b.md",
    ".mem/jobs/j/MEMORY.md",
    "~/MEMORY.md",
)


def content(db):
    """All that the index knows, without row numbers and mtimes."""
    if not db.exists():
        return []
    connection = sqlite3.connect(db)
    rows = connection.execute(
        "SELECT m.path, m.place, m.hash, m.entries, m.problems, c.entry, c.part, c.offset, c.line, c.live,"
        " c.type, c.kind, c.date, c.title, c.text, c.tags, c.parts, c.metadata FROM file_meta m"
        " LEFT JOIN chunks c ON c.source = m.id"
    ).fetchall()
    rows += connection.execute(
        "SELECT r.entry, r.other, r.relation, m.path FROM relations r JOIN file_meta m ON m.id = r.source"
    ).fetchall()
    connection.execute(
        "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)"
    )
    connection.close()
    return sorted(rows, key=repr)


def answers(app):
    """What recall says, for each word; without the paths of the database."""
    requests = [
        RecallRequest(word, ranked_only=number % 2 == 0)
        for number, word in enumerate(WORDS)
    ]
    return [
        recall_command.recall(app, request)._replace(problems=())
        for request in requests
    ]


class Editor:
    """Somebody who works on the memory files of a project."""

    def __init__(self, project, seed):
        self.project = project
        self.random = random.Random(seed)

    def path(self, name):
        return (
            self.project.home / name[2:]
            if name.startswith("~/")
            else self.project.root / name
        )

    def entry(self):
        body = " ".join(self.random.choices(WORDS, k=self.random.choice([3, 12, 400])))
        values = {
            "type": self.random.choice(["procedural", "corrective", "nonsense"]),
            "kind": self.random.choice([None, "episode", "policy", "workflow"]),
            "status": self.random.choice(["active", "retired"]),
            "id": self.random.choice(["same-id", f"id-{self.random.randrange(30)}"]),
            "supports": self.random.choice([None, ["id-1"], ["id-2", "id-3"]]),
        }
        return self.project.entry(self.random.choice(WORDS), body, **values)

    def step(self):
        """Do something to a file."""
        name, target = self.random.choices(FILES, k=2)
        path = self.path(name)
        goal = self.path(target)
        for each in (path, goal):
            each.parent.mkdir(parents=True, exist_ok=True)
        old, new = self.random.sample(WORDS, 2)
        if path.is_file() and self.random.random() < 0.5:
            action = self.random.choice(["append", "change", "move", "delete", "touch"])
            self._change(action, path, goal, old, new)
        else:
            self._write(path, f"# {old}\n\nThe {new}.\n\n")

    def _write(self, path, prose):
        """Write a file anew: entries, prose before one, or what is no text."""
        entries = "".join(self.entry() for _ in range(self.random.randrange(4)))
        texts = [entries.encode(), (prose + self.entry()).encode(), b"zebra \xff\n"]
        path.write_bytes(self.random.choice(texts))

    def _change(self, action, path, goal, old, new):
        """Change a file that is there."""
        data = path.read_bytes()
        match action:
            case "append":
                path.write_text(data.decode(errors="ignore") + self.entry())
            case "change":
                path.write_bytes(data.replace(old.encode(), new.encode(), 3))
            case "move":
                path.replace(goal)
            case "delete":
                path.unlink()
            case _:
                age(path)


@pytest.mark.parametrize("seed", range(6))
def test_incremental_equals_from_scratch(project, seed):
    """After any sequence of edits, moves, deletions and appends."""
    editor = Editor(project, seed)
    old = project.root.parent / "old.db"
    fresh = project.root.parent / "fresh.db"
    for step in range(25):
        editor.step()
        with opened(project, str(old)) as app:
            app.refresh()
            if step % 5:
                continue
            mine = answers(app)
        fresh.unlink(missing_ok=True)
        with opened(project, str(fresh)) as app:
            theirs = answers(app)
        assert content(old) == content(fresh)
        assert mine == theirs
    with opened(project, str(old)) as app:
        index_command.index(app, rebuild=True)
        rebuilt = answers(app)
    with opened(project, str(fresh)) as app:
        assert answers(app) == rebuilt
    assert content(old) == content(fresh)


def _damage(path, kind):
    data = path.read_bytes()
    middle = len(data) // 2
    if kind == "noise in the middle":
        path.write_bytes(data[:4096] + bytes(range(256)) * ((len(data) - 4096) // 256))
    elif kind == "truncated":
        path.write_bytes(data[:middle])
    elif kind == "text":
        path.write_text("just a note\n" * 500)
    elif kind == "folder":
        path.unlink()
        path.mkdir()
        (path / "precious").write_text("keep me")
    elif kind == "fifo":
        path.unlink()
        os.mkfifo(path)
    else:
        db = sqlite3.connect(path)
        if kind == "other version":
            db.execute("PRAGMA user_version = 99")
        elif kind == "foreign":
            for name in ("application_id", "user_version"):
                db.execute(f"PRAGMA {name} = 0")
        else:
            db.execute(f"DROP TABLE {kind.removeprefix('no ')}")
        db.commit()
        db.close()


KINDS = [
    "noise in the middle", "truncated", "text", "folder", "fifo", "other version", "foreign",
    "no file_meta", "no relations",
]  # fmt: skip


@pytest.mark.parametrize("command", ["recall zebra", "index", "list"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_used_is_kept_aside_and_built_anew(project, kind, command):
    """The answer is whole, the old file is still there, one line says so."""
    path = project.remembers("Zebra", "Stripes.")
    filler = "".join(
        project.entry(f"Filler {number}", "word " * 300) for number in range(40)
    )
    project.write("tasks/t.md", filler)
    project.mem("index")
    _damage(project.root / DB, kind)
    if kind == "no relations":  # only a write meets it
        path.write_text(project.entry("Zebra", "Stripes again.", supports=["x"]))
    result = project.ok(*command.split())
    notes = [line for line in result.err.splitlines() if "built anew" in line]
    kept = list(project.root.glob(f"{DB}.aside-*[0-9]"))
    if kind == "noise in the middle" and not notes:
        return  # those pages were not looked at by this command
    assert (len(notes), len(kept)) == (1, 1), result.err
    assert kept[0].name in notes[0]
    if kind == "folder":
        assert (kept[0] / "precious").read_text() == "keep me"
    after = project.mem("recall", "zebra", "--json")
    assert (after.code, after.err, after.hits[0]["title"]) == (0, "", "Zebra")


def test_processes_that_start_at_once_all_answer_and_one_index_remains(project):
    """From nothing, and from a damaged file: no error, nothing moved aside that was
    good."""
    for number in range(20):
        project.write(
            f"tasks/t{number}.md",
            project.entry(
                f"Zebra {number}", f"Stripes number {number} " + "word " * 50
            ),
        )
    for damaged in (False, True):
        if damaged:
            (project.root / DB).write_text("noise " * 1000)
        command = [
            sys.executable,
            "-m",
            "memcli",
            "recall",
            "zebra stripes",
            "--json",
            "--ranked",
        ]
        running = [
            subprocess.Popen(
                command,
                cwd=project.root,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(6)
        ]
        ended = [
            (process.communicate(timeout=60), process.returncode) for process in running
        ]
        answers = {
            json.dumps([hit["id"] for hit in json.loads(out)["hits"]])
            for (out, _), _ in ended
        }
        assert [code for _, code in ended] == [0] * 6, [err for (_, err), _ in ended]
        assert len(answers) == 1
        assert len(list(project.root.glob(f"{DB}.aside-*"))) == damaged
        # What one of them left because the index was busy, the next quiet one makes up
        # for.
        assert (
            project.mem("recall", "zebra").code
            == project.mem("index", "--check").code
            == 0
        )


def test_an_index_that_another_process_has_mended_is_not_moved_again(project):
    """Two found the same damage; the second takes what the first has built."""
    project.remembers("Zebra")
    path = project.root / DB
    with opened(project) as late:
        late.refresh()
        path.rename(project.root / f"{DB}.aside-1")
        project.mem("index")
        late.index.repair(sqlite3.DatabaseError("as before"))
        assert list(late.index.files()) == ["MEMORY.md"]
        assert late.notes == []
    assert len(list(project.root.glob(f"{DB}.aside-*"))) == 1


_HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(path):
    """Another process is writing the index."""
    command = [sys.executable, "-c", _HOLD, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        yield
        process.stdin.close()


def test_a_busy_index_is_answered_from_and_refused_to_writers(project, monkeypatch):
    """recall: what is there, with a note; `mem index`: exit 5 after its wait, also with
    --rebuild."""
    project.remembers("Zebra", "Stripes.")
    project.mem("index")
    project.write("tasks/new.md", project.entry("Horse", "Stripes? No."))
    monkeypatch.setattr(upkeep, "RECALL_WAIT", 0.05)
    monkeypatch.setattr(upkeep, "BUILD_WAIT", 0.05)
    with held(project.root / DB):
        result = project.mem("recall", "stripes", "--json")
        assert (result.code, result.titles) == (
            0,
            ["Zebra"],
        )
        assert (
            result.err
            == "mem: the index is busy: this answer may miss the latest edits\n"
        )
        for options in ([], ["--rebuild"]):
            result = project.mem("index", *options)
            assert (result.code, "busy" in result.err) == (5, True)
        assert project.mem("index", "--check").out == "tasks/new.md\n"
    assert len(titles(project, "stripes")) == 2


def test_a_full_disk_is_said_and_leaves_the_old_index(project):
    """What cannot be written is rolled back, and this run answers from an index in
    memory."""
    project.remembers("Zebra")
    with opened(project) as app:
        app.refresh()
        app.index.db.execute("PRAGMA max_page_count = 1")
        project.write(
            "tasks/big.md",
            "".join(project.entry("Big", "word " * 300) for _ in range(300)),
        )
        del app.project.listing
        app.refresh()
        assert list(app.index.files()) == ["MEMORY.md", "tasks/big.md"]
        assert "full" in app.notes[0] and "for this run alone" in app.notes[0]
    assert sql(project, "SELECT path FROM file_meta") == [("MEMORY.md",)]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们使用缓存来加速数据库查询。", "缓存"),
        ("テストの前にデータベースを初期化する。", "データベース"),
        ("ทดสอบระบบก่อนส่งงานทุกครั้ง", "ระบบ"),
        ("eleve au cafe", "ÉLÈVE"),
        ("call getUserName twice", "user"),
        ("the lock_timeout_ms setting", "timeout"),
        ("see src/http/server.py", "server.py"),
        ("Deployments were failing", "deployment"),
    ],
)
def test_words_are_found_however_they_are_written(project, text, query):
    """Inside a sentence without blanks, without accents, in parts, in another form."""
    project.memory(
        project.entry("Title", text), project.entry("Other", "Nothing of the kind.")
    )
    assert titles(project, query) == ["Title"]


def test_an_index_of_somebody_else_is_neither_used_nor_replaced(project, world):
    """One that this user's state does not know: another is made in the cache."""
    project.remembers("Carts round down")
    project.mem("index")
    path = project.index_file
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "INSERT INTO embedding_cache VALUES ('h', 'openai', 'm', x'00000000')"
        )
        db.execute("INSERT INTO embedding_cache VALUES ('odd', 'openai', 'm', x'00')")
        db.execute("UPDATE chunks SET text = 'Forged words'")
    shutil.rmtree(world / "state")
    before = path.read_bytes()
    result = project.mem("recall", "carts forged")
    assert "Carts round down" in result.out and "Forged" not in result.out
    assert "mem index --trust" in result.err
    assert path.read_bytes() == before
    result = project.ok("index", "--trust")
    assert "vectors taken over: 1" in result.err
    assert [
        kept.read_bytes() for kept in project.root.glob(".memory.db.aside-*[0-9]")
    ] == [before]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT hash FROM embedding_cache").fetchall() == [("h",)]
    assert project.mem("recall", "carts").err == ""
    assert "nothing to take over" in project.mem("index", "--trust").err


@pytest.mark.parametrize("look", [False, True])
def test_what_is_open_keeps_its_locks(project, look):
    """Another process that opens, writes and closes an index leaves the log of those
    who still have it open: without a lock it would throw the log away, and what both
    write then would be damage."""
    project.remembers()
    project.mem("index")
    path = project.root / DB
    log = Path(f"{path}-wal")
    index = Index(path, [], look=look)  # compares the file with its checksum
    assert index.db.execute("SELECT count(*) FROM chunks").fetchone() == (1,)
    program = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "db.execute(\"INSERT OR REPLACE INTO meta VALUES ('test', '1')\")\n"
        "db.commit()\n"
        "db.close()\n"
    )
    finished(sys.executable, "-c", program, path, timeout=60)
    assert log.exists()
    index.close()
    assert not log.exists()


def open_and_close(path):
    with path.open("ab"):
        pass


@pytest.mark.parametrize("make", [files.make_private, open_and_close])
def test_a_database_that_is_there_is_not_opened_to_make_it(tmp_path, make):
    """Its locks would go with the descriptor; the second shows that the test sees it."""
    path = tmp_path / "some.db"
    files.make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    program = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], timeout=0)\n"
        "db.execute('BEGIN EXCLUSIVE')\n"
    )
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        make(path)
        process = subprocess.run(
            [sys.executable, "-c", program, path], capture_output=True, timeout=60
        )
    assert (process.returncode == 0) == (make is not files.make_private)

"""An index in which a byte has flipped: the answer is right, or the index is built anew
and that is said; what no file holds is never told."""

import contextlib
import json
import os
import random
import sqlite3

import pytest

from memcli.index import whole
from memcli.index.filters import read_chunks
from memcli.index.whole import changing
from memcli.storage.files import state_dir

pytestmark = pytest.mark.process
DB = ".memory.db"
WORDS = "zebra stripes herd retry budget window cache index token deploy stage".split()
FLIPS = 90


@pytest.fixture
def herd(project):
    dice = random.Random(3)
    project.memory(
        *(
            project.entry(
                f"{' '.join(dice.sample(WORDS, 3))} {number}",
                f"{' '.join(dice.choices(WORDS, k=30))}. See `src/{number}.py`.",
            )
            for number in range(30)
        )
    )
    project.mem("index")
    return project


def titles(project, verb):
    words = ["zebra retry budget"] if verb == "recall" else []
    result = project.mem(verb, *words, "--json")
    if result.code:
        return result.code, [], result.err
    rows = result.json["hits" if verb == "recall" else "entries"]
    return 0, [json.dumps([row["title"], row.get("text")]) for row in rows], result.err


def put(project, data):
    """These bytes as the index, and nothing beside it."""
    for old in project.root.glob(f"{DB}*"):
        old.unlink()
    (project.root / DB).write_bytes(data)


@pytest.mark.parametrize("verb", ["recall", "list", "list of a large one"])
def test_a_flipped_byte_is_found(herd, verb, monkeypatch):
    if verb.endswith("large one"):
        monkeypatch.setattr("memcli.index.whole.SMALL", 1)
        verb = "list"
    os.utime(herd.root / "MEMORY.md", (1, 1))  # a file of this moment is read again
    titles(herd, verb)
    sound = herd.data(DB)
    _, wanted, _ = titles(herd, verb)
    assert wanted
    dice = random.Random(verb)
    for _ in range(FLIPS):
        data = bytearray(sound)
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        put(herd, data)
        code, told, err = titles(herd, verb)
        assert code == 0, err
        # moved aside, or, with another token, taken for somebody else's
        assert err, "a byte of the file is another, and nobody has seen it"
        if told != wanted:  # built anew: the words alone, until there are vectors
            assert "built anew" in err
            assert len(told) == len(wanted) and verb == "recall"


def test_a_large_index_is_read_whole_once_a_day(herd, monkeypatch):
    """What changes behind the back of the file system is found when a day is over."""
    monkeypatch.setattr("memcli.index.whole.SMALL", 1)
    path = herd.root / DB
    os.utime(herd.root / "MEMORY.md", (1, 1))  # a file of this moment is read again
    assert titles(herd, "list")[2] == ""
    sound = path.read_bytes()
    (record,) = (state_dir() / "indexes").iterdir()
    read = list[object]()
    real = whole._checksum
    monkeypatch.setattr(
        "memcli.index.whole._checksum", lambda db: read.append(db) or real(db)
    )
    assert titles(herd, "list")[2] == ""
    assert read == []
    os.utime(record, (1, 1))
    assert titles(herd, "list")[2] == ""
    assert len(read) == 1
    assert titles(herd, "list")[2] == ""
    assert len(read) == 1
    path.write_bytes(sound.replace(b"stripes", b"strikes"))
    assert "built anew" in titles(herd, "list")[2]


def test_a_chunk_that_is_read_twice_is_damage(herd):
    """A pointer that went astray within an index of a table."""
    twice = "(SELECT * FROM chunks UNION ALL SELECT * FROM chunks)"
    with contextlib.closing(sqlite3.connect(herd.root / DB)) as database:
        assert len(read_chunks(database, "part = 0")) == 30
        with pytest.raises(sqlite3.DatabaseError):
            read_chunks(database, "part = 0", table=twice)


def test_a_file_of_no_known_format_is_built_anew(herd):
    data = bytearray((herd.root / DB).read_bytes())
    data[47] = 99  # the format of the schema
    put(herd, bytes(data))
    code, told, err = titles(herd, "list")
    assert (code, len(told)) == (0, 30)
    assert "unsupported file format" in err and "built anew" in err


def test_what_is_not_damaged_is_not_built_anew(herd):
    """An index that a killed writer left, an older copy of it and one that another
    process reads are as good as any."""
    path = herd.root / DB
    before = path.read_bytes()
    herd.remembers("Alone", "One entry is left.")
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("SELECT count(*) FROM chunks").fetchone()
        assert titles(herd, "list")[2] == ""
    assert titles(herd, "list")[2] == ""
    put(herd, before)  # brought up to the files as any old one
    code, told, err = titles(herd, "list")
    assert (code, len(told), err) == (0, 1, "")
    # a writer that is killed has noted nothing: its stamp is another
    killed = sqlite3.connect(path, isolation_level=None)
    with contextlib.closing(killed), changing(killed):
        killed.execute("INSERT INTO meta VALUES ('half', 'done')")
    assert titles(herd, "list")[2] == ""
    assert not list(herd.root.glob(f"{DB}.aside-*"))


def test_a_large_index_is_checked_by_what_is_read(herd, monkeypatch):
    monkeypatch.setattr("memcli.index.whole.LARGEST", 1)
    test_a_changed_text_is_never_told(herd)


def test_a_changed_text_is_never_told(herd):
    path = herd.root / DB
    data = path.read_bytes()
    assert data.count(b"stripes") > 3
    path.write_bytes(data.replace(b"stripes", b"strikes"))
    for verb in ("recall", "list"):
        code, told, _ = titles(herd, verb)
        assert code == 0 and told
        assert not [row for row in told if "strikes" in row]
    assert list(herd.root.glob(f"{DB}.aside-*"))

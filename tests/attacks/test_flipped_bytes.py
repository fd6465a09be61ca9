"""An index in which a byte has flipped: the answer is right, or the index is built anew
and that is said; what no file holds is never told."""

import json
import random
from collections import Counter

import pytest

from tests.conftest import Project

pytestmark = pytest.mark.process
DB = ".memory.db"
WORDS = "zebra stripes herd retry budget window cache index token deploy stage".split()
FLIPS = 90


@pytest.fixture
def herd(project: Project) -> Project:
    dice = random.Random(3)
    project.write(
        "MEMORY.md",
        "".join(
            project.entry(
                f"{' '.join(dice.sample(WORDS, 3))} {number}",
                f"{' '.join(dice.choices(WORDS, k=30))}. See `src/{number}.py`.",
            )
            for number in range(30)
        ),
    )
    project.mem("index")
    return project


def titles(project: Project, verb: str) -> tuple[int, list[str], str]:
    words = ["zebra retry budget"] if verb == "recall" else []
    done = project.mem(verb, *words, "--json")
    if done.code:
        return done.code, [], done.err
    rows = done.json["hits" if verb == "recall" else "entries"]
    return 0, [json.dumps([row["title"], row.get("text")]) for row in rows], done.err


@pytest.mark.parametrize("verb", ["recall", "list"])
def test_a_flipped_byte_is_found_or_does_nothing(herd: Project, verb: str) -> None:
    path = herd.root / DB
    sound = path.read_bytes()
    _, wanted, _ = titles(herd, verb)
    dice = random.Random(verb)
    ends = Counter[str]()
    for _ in range(FLIPS):
        data = bytearray(sound)
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        for old in herd.root.glob(f"{DB}*"):
            old.unlink()
        path.write_bytes(data)
        code, told, err = titles(herd, verb)
        assert code in (0, 5), err
        assert set(told) <= set(wanted) or verb == "recall", told
        if code == 5:  # it was found where nothing could be done about it at once
            assert "damaged" in err
            code, told, err = titles(herd, verb)
        ends["right" if (code, told) == (0, wanted) else "other"] += 1
        ends["rebuilt"] += any(herd.root.glob(f"{DB}.aside-*"))
    assert ends["rebuilt"] > 0
    # A flip in the tree of an index of SQLite's can hide a row: nothing reads it.
    assert ends["other"] <= FLIPS // 30, ends


def test_a_changed_text_is_never_told(herd: Project) -> None:
    path = herd.root / DB
    data = path.read_bytes()
    assert data.count(b"stripes") > 3
    path.write_bytes(data.replace(b"stripes", b"strikes"))
    for verb in ("recall", "list"):
        code, told, _ = titles(herd, verb)
        assert code == 0 and told
        assert not [row for row in told if "strikes" in row]
    assert list(herd.root.glob(f"{DB}.aside-*"))

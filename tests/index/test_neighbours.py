"""The `similar` edges: the same however the index came to be, and exactly the nearest."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import combinations, pairwise

import pytest

from memcli.index import neighbours
from memcli.index.vectors import Vectors
from memcli.providers.embed import arithmetic
from tests.conftest import Project

Rows = list[tuple[str, str, float]]
WORDS = "webhook retry signature queue payment refund cart expiry migration index token cache deploy flag".split()


def edges(project: Project) -> Rows:
    db = sqlite3.connect(project.root / ".memory.db")
    try:
        return db.execute(
            "SELECT entry, other, weight FROM relations WHERE relation = 'similar' ORDER BY 1, 2"
        ).fetchall()
    finally:
        db.close()


def nearest(project: Project) -> Rows:
    """The edges by definition: each with each."""
    db = sqlite3.connect(project.root / ".memory.db")
    rows = db.execute(
        "SELECT entry, min(vector) FROM chunks JOIN vectors ON chunk = chunks.id WHERE part = 0"
        " GROUP BY entry"
    ).fetchall()
    db.close()
    found: dict[str, list[tuple[float, str]]] = {entry: [] for entry, _ in rows}
    for (a, one), (b, two) in combinations(rows, 2):
        cosine = min(arithmetic.cosines(one, {0: two})[0], 1.0)
        if cosine >= 0.80:
            found[a].append((cosine, b))
            found[b].append((cosine, a))
    best = {a: sorted(near, key=lambda edge: (-edge[0], edge[1]))[:3] for a, near in found.items()}
    return sorted((a, b, cosine) for a, near in best.items() for cosine, b in near)


def body(dice: random.Random) -> str:
    return "late requests of the payment service " + " ".join(dice.choices(WORDS, k=6))


def some(project: Project, count: int, seed: int = 1) -> list[str]:
    dice = random.Random(seed)
    return [project.entry("Note", body(dice), id=f"n{i:03d}") for i in range(count)]


def test_the_three_nearest_from_080_on(project: Project, vectors: None) -> None:
    """Related ones get edges with their cosine as weight, an unrelated one none; supports stays
    beside.
    """
    project.write(
        "MEMORY.md",
        project.entry("Retry the webhook", "the payment webhook retries late requests", id="a")
        + project.entry(
            "Retry the webhook", "the payment webhook retries late calls", id="b", supports=["a"]
        )
        + project.entry("Zebra", "stripes and savanna grass", id="z"),
    )
    assert project.mem("index").code == 0
    found = edges(project)
    assert [(one, other) for one, other, _ in found] == [("a", "b"), ("b", "a")]
    assert found == nearest(project) and 0.8 <= found[0][2] <= 1
    assert (
        "supports a" in project.mem("show", "b").out and "similar b" in project.mem("show", "a").out
    )


@pytest.mark.parametrize("count", [40, 150])
def test_edges_are_exactly_the_nearest(project: Project, vectors: None, count: int) -> None:
    """By sign bits for few, by products of matrices for many."""
    project.write("MEMORY.md", "".join(some(project, count)))
    assert project.mem("index").code == 0
    assert len(edges(project)) > count and edges(project) == nearest(project)


def test_step_by_step_and_from_scratch_are_the_same(project: Project, vectors: None) -> None:
    """Entries come, change, get copies, retire and leave; every time the edges are those of a
    rebuild.
    """
    dice = random.Random(5)
    texts = dict(enumerate(some(project, 30)))
    for step in range(12):
        for _ in range(3):
            texts[dice.randrange(36)] = project.entry(
                "Note", body(dice), id=f"n{dice.randrange(36):03d}"
            )
        texts.pop(dice.choice(list(texts)))
        if step % 3 == 0:
            key = dice.choice(list(texts))
            texts[key] = texts[key].replace("status: active", "status: retired")
        kept = {text.split("id: ")[1][:4]: text for text in texts.values()}
        project.write("MEMORY.md", "".join(list(kept.values())[::2]))
        project.write("tasks/t.md", "".join(list(kept.values())[1::2]))
        project.write("tasks/u.md", "".join(list(kept.values())[:step]).replace("queue", "refund"))
        assert project.mem("recall", "anything").code == 0
        found = edges(project)
        assert found == nearest(project)
    assert project.mem("index", "--rebuild").code == 0
    assert edges(project) == found and found


def test_copies_have_no_edge_to_each_other(project: Project, vectors: None) -> None:
    """One id in two files is one entry; the archive and the retired have no part in it."""
    text = project.entry("Retry", "the payment webhook retries late requests", id="a")
    project.write("MEMORY.md", text)
    project.write("tasks/t.md", text + text.replace("id: a", "id: r").replace("active", "retired"))
    project.write("MEMORY.archive.md", text.replace("id: a", "id: x"))
    project.mem("index")
    assert edges(project) == []
    project.write("tasks/u.md", text.replace("id: a", "id: b"))
    project.mem("recall", "x")
    assert [(one, other) for one, other, _ in edges(project)] == [("a", "b"), ("b", "a")]
    (project.root / "MEMORY.md").unlink()
    project.mem("recall", "x")
    assert edges(project) == nearest(project) and len(edges(project)) == 2


def test_who_leaves_makes_room(project: Project, vectors: None) -> None:
    """A file that vanishes takes its edges along; the fourth nearest comes in."""
    words = "the payment webhook retries late requests"
    for i in range(5):
        project.write(f"tasks/t{i}.md", project.entry("Retry", f"{words} {WORDS[i]}", id=f"e{i}"))
    project.mem("index")
    assert all(sum(one == f"e{i}" for one, _, _ in edges(project)) == 3 for i in range(5))
    (project.root / "tasks/t2.md").unlink()
    project.mem("recall", "x")
    found = edges(project)
    assert (
        found == nearest(project)
        and len(found) == 12
        and "e2" not in {other for _, other, _ in found}
    )


@pytest.mark.parametrize("few", [0, 64])
def test_of_equals_the_first_ids(
    project: Project, vectors: None, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Equal texts have the three others that come first, also those that come in later."""
    monkeypatch.setattr(neighbours, "FEW", few)
    texts = [
        project.entry("Retry", "the payment webhook retries late requests", id=name)
        for name in "abcdefg"
    ]
    project.write("MEMORY.md", "".join(texts[1:]))
    project.mem("index")
    project.write("tasks/t.md", texts[0])
    project.mem("index")
    found = edges(project)
    assert found == nearest(project)
    assert [other for one, other, _ in found if one == "g"] == ["a", "b", "c"]


@pytest.mark.parametrize("few", [0, 64])
def test_who_is_new_is_offered_to_all_after_a_neighbour_left(
    project: Project, vectors: None, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """A copy gives an entry another vector; before its edges are made, one it had an edge to is
    gone.
    """
    here, there = "the payment webhook retries late requests", "zebra stripes and savanna grass"
    y, *x = (project.entry("Retry", f"{here} {WORDS[i]}", id=f"x{i}") for i in range(4))
    z = [
        project.entry("Zebra", f"{there} {one} {two}", id=f"z-{one}")
        for one, two in pairwise(WORDS)
    ]
    project.write("MEMORY.md", "".join([y, *x]))
    project.write("tasks/z.md", "".join(z))
    project.mem("index")
    monkeypatch.setattr(neighbours, "FEW", 0)
    copies = (project.entry("Zebra", there, id=f"x{i}") for i in range(1, 4))
    project.write("tasks/t.md", "".join(copies))
    project.mem("recall", "x")
    project.write("MEMORY.md", "".join(x))
    project.mem("recall", "x")
    monkeypatch.setattr(neighbours, "FEW", few)
    project.mem("index")
    assert edges(project) == nearest(project)
    assert any(one[0] == "z" and other[0] == "x" for one, other, _ in edges(project))


def test_many_new_ones_are_left_to_mem_index(project: Project, vectors: None) -> None:
    """A recall gives edges to a few; what is left open is made by mem index."""
    project.write("MEMORY.md", "".join(some(project, 80)))
    project.mem("recall", "webhook")
    assert edges(project) == []
    assert project.mem("index").code == 0
    assert edges(project) == nearest(project) != []


def test_a_few_edges_need_no_numpy(project: Project, vectors: None) -> None:
    """Nor does the recall that makes them."""
    project.write("MEMORY.md", "".join(some(project, 10)))
    code = (
        "import sys; from memcli.cli.program import run; run(['recall', 'webhook', '--quiet']);"
        " sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert edges(project) == nearest(project) != []


def test_a_writer_in_between_is_noticed(project: Project, vectors: None) -> None:
    """Edges are not written onto an index that has changed since they were computed."""
    project.write("MEMORY.md", "".join(some(project, 5)))
    project.mem("index")
    path = project.root / ".memory.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("UPDATE vectors SET related = 0")
    other = sqlite3.connect(path, isolation_level=None)
    planned = neighbours.plan

    def interrupted(db: sqlite3.Connection, *, thorough: bool) -> neighbours.Plan | None:
        made = planned(db, thorough=thorough)
        other.execute("INSERT OR REPLACE INTO meta VALUES ('x', hex(randomblob(4)))")
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "plan", interrupted)
        Vectors(db).relate()
    assert db.execute("SELECT count(*) FROM vectors WHERE related = 0").fetchone()[0] == 5
    Vectors(db).relate()
    assert db.execute("SELECT count(*) FROM vectors WHERE related = 0").fetchone()[0] == 0
    db.close()
    other.close()


def test_in_many_small_tiles(
    project: Project, vectors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of a tile, also where all of one text are crowded into it, and after a
    change.
    """
    monkeypatch.setattr(neighbours, "_TILE", 24)
    monkeypatch.setattr(neighbours, "FEW", 0)
    equal = [
        project.entry("Note", "late requests of the payment service", id=f"e{i:02d}")
        for i in range(40)
    ]
    project.write("MEMORY.md", "".join(some(project, 150)))
    project.write("tasks/t.md", "".join(equal))
    project.mem("index")
    assert edges(project) == nearest(project)
    project.write("tasks/t.md", "".join(equal[1::2]))
    project.write("tasks/u.md", "".join(some(project, 30, seed=2)[::3]).replace("id: n", "id: m"))
    project.mem("index")
    assert edges(project) == nearest(project) != []


@pytest.mark.parametrize("few", [0, 64])
def test_whose_signs_differ_by_too_much_is_not_near(
    project: Project, vectors: None, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """By few and by many the same: where sign bits rule a pair out, its cosine does not count."""
    monkeypatch.setattr(neighbours, "FEW", few)
    project.write(
        "MEMORY.md", "".join(project.entry("Note", f"of {name}", id=name) for name in "abc")
    )
    project.mem("index")
    small = ([1] * 128, [-1] * 128, [1] * 127 + [-1])
    made = [arithmetic.quantise([4] * 128 + own) for own in small]
    assert arithmetic.cosines(made[0], {1: made[1]})[1] > 0.85
    with closing(sqlite3.connect(project.root / ".memory.db", isolation_level=None)) as db:
        chunks = [row[0] for row in db.execute("SELECT id FROM chunks ORDER BY entry")]
        bits = bytearray(32 * (max(chunks) + 1))
        for chunk, own in zip(chunks, made, strict=True):
            bits[32 * chunk : 32 * chunk + 32] = arithmetic.signs(own)
            db.execute("UPDATE vectors SET vector = ?, related = 0 WHERE chunk = ?", (own, chunk))
        db.execute("UPDATE signs SET bits = ? WHERE block = 0", (bytes(bits),))
        Vectors(db).relate()
    assert [(one, other) for one, other, _ in edges(project)] == [("a", "c"), ("c", "a")]

"""What is similar to an entry: the three nearest, computed when asked for."""

import random
import sqlite3
import sys
from contextlib import closing
from itertools import combinations

import pytest

from memcli.index import vectors as neighbours
from memcli.index.vectors import similar
from memcli.memory import arithmetic
from tests.programs import finished

WORDS = "webhook retry signature queue payment refund cart expiry migration index token cache deploy flag".split()


def edges(project, entries=()):
    """The edges of these entries, of all without any."""
    with closing(sqlite3.connect(project.index_file)) as db:
        named = [row[0] for row in db.execute("SELECT DISTINCT entry FROM chunks")]
        return sorted(similar(db, list(entries) or named))


def nearest(project):
    """The edges by definition: each with each."""
    with closing(sqlite3.connect(project.index_file)) as db:
        rows = db.execute(
            "SELECT entry, min(vector) FROM chunks JOIN vectors ON chunk = chunks.id"
            " WHERE part = 0 GROUP BY entry"
        ).fetchall()
    found = {entry: [] for entry, _ in rows}
    for (a, one), (b, two) in combinations(rows, 2):
        cosine = min(arithmetic.cosines(one, {0: two})[0], 1.0)
        if cosine >= 0.80:
            found[a].append((-cosine, b))
            found[b].append((-cosine, a))
    return sorted(
        (a, b, -cosine) for a, near in found.items() for cosine, b in sorted(near)[:3]
    )


def some(project, count, seed=1):
    dice = random.Random(seed)
    texts = (
        "late requests of the payment service " + " ".join(dice.choices(WORDS, k=6))
        for _ in range(count)
    )
    return [
        project.entry("Note", text, id=f"n{number:03d}")
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize(("count", "few"), [(150, 200), (150, 64)])
def test_edges_are_exactly_the_nearest(project, vectors, monkeypatch, count, few):
    """By sign bits for few, by products of matrices for many."""
    monkeypatch.setattr(neighbours, "FEW", few)
    project.memory(*some(project, count))
    project.ok("index")
    wanted = nearest(project)
    assert len(wanted) > count and edges(project) == wanted
    assert edges(project, ["n007"]) == [edge for edge in wanted if edge[0] == "n007"]


@pytest.mark.parametrize("few", [0, 64])
def test_copies_and_what_is_not_live_have_no_edges(project, vectors, monkeypatch, few):
    """One id in two files is one entry; the archive and the retired have no part in
    it."""
    monkeypatch.setattr(neighbours, "FEW", few)
    text = project.entry("Retry", "the payment webhook retries late requests", id="a")
    project.memory(text)
    project.write(
        "tasks/t.md", text + text.replace("id: a", "id: r").replace("active", "retired")
    )
    project.write("MEMORY.archive.md", text.replace("id: a", "id: x"))
    project.mem("index")
    assert edges(project) == []
    project.write(
        "tasks/u.md", "".join(text.replace("id: a", f"id: {name}") for name in "bcdef")
    )
    project.mem("index")
    assert [other for one, other, _ in edges(project) if one == "f"] == ["a", "b", "c"]


def test_show_names_what_is_similar_without_numpy(project, vectors):
    """Beside what the file itself says; an unrelated one is not named."""
    project.memory(
        project.entry(
            "Retry the webhook", "the payment webhook retries late requests", id="a"
        ),
        project.entry(
            "Retry the webhook",
            "the payment webhook retries late calls",
            id="b",
            supports=["a"],
        ),
        project.entry("Zebra", "stripes and savanna grass", id="z"),
    )
    project.mem("index")
    code = "import sys; from memcli.cli.program import run; run(['show', 'b']); sys.exit('numpy' in sys.modules)"
    process = finished(sys.executable, "-c", code, cwd=project.root)
    assert (
        "supports a" in process.stdout
        and "similar a" in process.stdout
        and "z" not in edges(project)
    )
    assert "similar b" in project.mem("show", "a").out

"""The `similar` edges after random edits: those of an index that is built from nothing."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from memcli.index import neighbours
from tests.conftest import Project

Row = tuple[str, str, float, str]
WORDS = "webhook retry queue payment refund cart".split()
FILES = ("MEMORY.md", "tasks/a.md", "tasks/b.md", "MEMORY.archive.md")


def edges(path: Path) -> list[Row]:
    """Every edge with its weight, and the file that says so."""
    db = sqlite3.connect(path)
    try:
        return db.execute(
            "SELECT entry, other, weight, path FROM relations JOIN file_meta AS f ON f.id = source"
            " WHERE relation = 'similar' ORDER BY 1, 2, 4"
        ).fetchall()
    finally:
        db.close()


class Walk:
    """Files with entries that are edited at random, and the index of them, which is brought along
    by steps.

    Texts are few and short, so that many are equal and most are near each other.
    """

    def __init__(self, project: Project, seed: int) -> None:
        self.project, self.dice = project, random.Random(seed)
        self.held: dict[str, dict[int, str]] = {name: {} for name in FILES}
        self.made = 0

    def edit(self) -> None:
        """One of: an entry is added, written anew, strengthened, taken out, moved, copied, retired."""
        place = self.held[self.dice.choice(FILES)]
        other = self.held[self.dice.choice(FILES)]
        key = self.dice.choice(list(place)) if place else 0
        what = self.dice.randrange(9) if place else 0
        if what <= 2:
            self.made += 1
            place[self.made] = self._entry(f"n{self.dice.randrange(40):02d}")
        elif what == 3:
            place[key] = self._entry(place[key].split("id: ")[1][:3])
        elif what == 4:
            place[key] = place[key].replace("count: ", "count: 1")
        elif what == 5:
            del place[key]
        elif what == 6:
            other[key] = place.pop(key)
        elif what == 7:
            self.made += 1
            other[self.made] = place[key]
        elif self.dice.randrange(2):
            place[key] = place[key].replace("status: active", "status: retired")

    def _entry(self, name: str) -> str:
        body = "late requests of the payment service " + " ".join(self.dice.choices(WORDS, k=3))
        return self.project.entry("Note", body, id=name)

    def write(self) -> None:
        """Put what is held into the files; without anything in it a file goes away."""
        for name, texts in self.held.items():
            path = self.project.root / name
            path.unlink(missing_ok=True)
            if texts:
                self.project.write(name, "".join(texts[key] for key in sorted(texts)))

    def look(self) -> None:
        """Bring the index along: without vectors, as far as a recall does, or wholly."""
        way = self.dice.randrange(4)
        command = ("index", "-q") if way == 0 else ("recall", "anything")
        assert (
            self.project.mem(*command, env={"MEM_EMBEDDER": "none"} if way == 1 else {}).code == 0
        )

    def finished(self) -> list[Row]:
        """The edges of this index, after `mem index` on a copy of it: what is pending here stays
        so.
        """
        copy = self._beside("copy.db")
        have, into = (sqlite3.connect(path) for path in (self.project.root / ".memory.db", copy))
        with have, into:
            have.backup(into)
        have.close()
        into.close()
        return self._indexed(copy)

    def anew(self) -> list[Row]:
        """The edges of an index that is built from nothing."""
        return self._indexed(self._beside("fresh.db"))

    def _beside(self, name: str) -> Path:
        for path in self.project.home.glob(f"{name}*"):
            path.unlink()
        return self.project.home / name

    def _indexed(self, path: Path) -> list[Row]:
        assert self.project.mem("index", "-q", env={"MEM_DB": str(path)}).code == 0
        return edges(path)


@pytest.mark.parametrize(("seed", "few"), [(1, 64), (2, 2), (3, 0), (4, 6)])
def test_whatever_the_order_of_edits(
    project: Project, vectors: None, monkeypatch: pytest.MonkeyPatch, seed: int, few: int
) -> None:
    """Also where edges stay due over several steps, and whether few are made at a time or many."""
    monkeypatch.setattr(neighbours, "FEW", few)
    walk, found = Walk(project, seed), 0
    for _ in range(120):
        walk.edit()
    for _ in range(14):
        for _ in range(walk.dice.randrange(1, 5)):
            walk.edit()
        walk.write()
        walk.look()
        fresh = walk.anew()
        assert walk.finished() == fresh
        found += len(fresh)
    assert found > 300

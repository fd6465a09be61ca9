"""The feedback benchmark on a small made-up set shows the loop that it measures."""

import random
from statistics import fmean

import pytest

from tests.bench.feedback import PURE, SETTINGS, played
from tests.bench.retrieval import Set

SUBJECTS = "cart invoice login search mailer queue report upload".split()
WORDS = "cache retry timeout lock index token batch schema header limit".split()


def small():
    """Eighty documents of one store with words of their own, and forty questions that
    many could answer."""
    rng = random.Random(7)
    docs = []
    for i in range(80):
        words = " ".join(rng.choices(WORDS, k=6))
        text = f"{SUBJECTS[i % 8]} {words} own{i} only{i} mark{i}"
        docs.append({"group": "g", "id": f"d{i}", "title": f"Lesson {i}", "text": text})
    texts = [(i, docs[i]["text"].rsplit(" ", 2)[0]) for i in range(0, 80, 2)]
    return Set(
        "s", docs, [{"group": "g", "query": t, "relevant": [f"d{i}"]} for i, t in texts]
    )


@pytest.mark.long
def test_the_loop_shows():
    """What is shown and reinforced keeps others down with linear growth, hardly by
    default."""
    data = small()
    words = ("embedder=none",)
    pure, default, _, runaway = (
        100 * fmean(played(data, (*words, *setting), 12))
        for setting in (PURE, *SETTINGS)
    )
    assert abs(default - pure) <= 2 and runaway < pure - 5

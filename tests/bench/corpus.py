"""Memory as it looks: entries of 200 to 1,500 characters with kinds and priorities, in
three layouts."""

import random
from itertools import accumulate, islice

from memcli.memory.changes import render_entry
from tests.programs import finished

LAYOUTS = ("many", "one", "prose")
"""A hundred entries a file, one a file, and files of prose sections."""
PER_FILE = 100
QUERY = "why does the payment webhook retry time out after the database migration"
TOPICS = "payment webhook retry time database migration cart cache queue index deploy token flaky".split()
SIZES = (200, 1500)
VOCABULARY = 20_000
FOLLOWERS = 8
KINDS = {
    "fact": 24,
    "pitfall": 19,
    "workflow": 12,
    "decision": 13,
    "episode": 10,
    "architecture": 8,
    "policy": 5,
    "preference": 4,
    "": 5,
}
"""Parts of a hundred; one entry in six belongs to a standing layer."""
TYPES = {
    "policy": "directive",
    "preference": "directive",
    "workflow": "procedural",
    "pitfall": "corrective",
}
PRIORITIES = {"": 88, "high": 8, "critical": 3, "permanent": 1}


def words(dice):
    """Words by Zipf's law without end; every other one follows its predecessor as it
    mostly does.

    The words of `QUERY` stand among the commoner ones: each in 3 to 25 of a hundred
    entries."""
    syllables = [
        a + b
        for a in "bdfgklmnprstvz"
        for b in ("a", "e", "i", "o", "u", "an", "or", "in")
    ]
    known = [
        "".join(dice.choices(syllables, k=dice.randint(2, 4)))
        for _ in range(VOCABULARY)
    ]
    known[40 : 40 * len(TOPICS) + 1 : 40] = TOPICS
    weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
    after = {
        word: dice.choices(known, cum_weights=weights, k=FOLLOWERS) for word in known
    }
    word = known[0]
    while True:
        for drawn in dice.choices(known, cum_weights=weights, k=10_000):
            place = int(dice.random() * 2 * FOLLOWERS)
            word = after[word][place] if place < FOLLOWERS else drawn
            yield word


def texts(count):
    """(title, body) of `count` entries, always the same."""
    dice = random.Random(7)
    chain = words(dice)
    for _ in range(count):
        title = " ".join(islice(chain, 5))
        size = dice.randint(*SIZES)
        body = ""
        while len(body) < size:
            body += " ".join(islice(chain, dice.randint(5, 18))).capitalize() + ". "
        yield title, body[:size].strip()


def write_tree(root, count, layout="many"):
    """Write `count` entries below `root/tasks`, and a small MEMORY.md."""
    (root / "tasks").mkdir(parents=True)
    finished("git", "init", "-q", str(root))
    (root / "MEMORY.md").write_text(
        "# Memory\n\nNotes of a service.\n", encoding="utf-8"
    )
    dice = random.Random(11)
    made = (
        section(*text) if layout == "prose" else entry(i, *text, dice)
        for i, text in enumerate(texts(count))
    )
    number = 0
    while batch := list(islice(made, _size_of_file(layout, dice))):
        text = "\n".join(batch)
        (root / "tasks" / f"t{number:06d}.md").write_text(text, encoding="utf-8")
        number += 1


def _size_of_file(layout, dice):
    return (
        dice.randint(1, 30)
        if layout == "prose"
        else PER_FILE
        if layout == "many"
        else 1
    )


def section(title, body):
    return f"## {title}\n\n{body}\n"


def entry(number, title, body, dice):
    """An entry as `mem` writes it."""
    kind = _drawn(KINDS, dice)
    priority = _drawn(PRIORITIES, dice)
    values = {
        "id": f"{number:08x}-0000-4000-8000-{number:012x}",
        "type": TYPES.get(kind, "declarative"),
        "domain": dice.choice(("task", "team")),
        "importance": round(dice.uniform(0.3, 0.95), 2),
        "phase": "implementation",
        "status": "active",
        "reinforcement_count": dice.randint(0, 8),
        "last_reinforced": f"2026-{dice.randint(1, 10):02d}-{dice.randint(1, 28):02d}",
        "created_at": f"2026-{dice.randint(1, 10):02d}-{dice.randint(1, 28):02d}",
        "kind": kind or None,
        "priority": priority or None,
        "paths": [f"src/{body.split()[0].lower()}/*.py"] if kind == "pitfall" else None,
    }
    given = {key: value for key, value in values.items() if value is not None}
    return render_entry(given, f"## {title}\n**Context:** {body}")


def _drawn(weighted, dice):
    return dice.choices(list(weighted), list(weighted.values()))[0]

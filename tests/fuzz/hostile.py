"""Hostile texts of any length: what makes a careless reader slow, deep or wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CHARACTERS = "aA0 \t\n\r-#`~\"'<>[]{}()*_\\:,.;/|!?@$%&=+^é你ßа\u200b\u200d\u202e\x1b\x9b\x00\ufeff\ufe0f"


_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
TOKENS, PREFIXES, SUFFIXES, BEFORE_BLANKS, SEEDS = _TABLES.values()
"""Seeds are a memory file, a session, a reply and a hook's input as they should be."""


class Family(NamedTuple):
    """A text of any length: `prefix`, then the `unit` again and again, then
    `suffix`."""

    name: str
    make: Callable[[int], str]


def repeated(unit, prefix="", suffix=""):
    name = "+".join(
        ascii(part)[1:-1][:24] for part in (prefix, f"{unit}*n", suffix) if part
    )
    return Family(name, lambda n: prefix + unit * max(1, n // len(unit)) + suffix)


def _nested(name, opens, closes):
    return Family(name, lambda n: opens * (n // 2) + closes * (n // 2))


def _stairs(n):
    depth = int((2 * n) ** 0.5)
    return "".join(" " * number + "- a\n" for number in range(depth))


def _distinct(line):
    size = len(line.format(10**5))
    return lambda n: "".join(line.format(number) for number in range(max(1, n // size)))


FIXED = (
    *(repeated(unit) for unit in (*CHARACTERS, *TOKENS)),
    *(repeated("a", prefix, suffix) for prefix in PREFIXES for suffix in ("", "!")),
    *(repeated(" ", prefix, "x y") for prefix in BEFORE_BLANKS),
    _nested("brackets", "[", "]"),
    _nested("objects", '{"a":', "}"),
    _nested("quotes", "> ", "\n"),
    _nested("private", "<private>", "</private>"),
    Family("stairs", _stairs),
    Family(
        "distinct keys",
        lambda n: "---\nid: x\n" + _distinct("k{0}: v\n")(n) + "---\nbody\n",
    ),
    Family(
        "distinct entries",
        _distinct("---\nid: i{0}\ntype: corrective\n---\n## t{0}\nw{0}\n\n"),
    ),
    Family(
        "equal entries",
        lambda n: "---\ntype: corrective\n---\nsame\n\n" * max(1, n // 34),
    ),
    Family("distinct headings", _distinct("# h{0}\ntext {0}\n")),
    Family("equal headings", lambda n: "# h\ntext\n" * max(1, n // 9)),
    Family("distinct words", _distinct("w{0} ")),
    Family("distinct numbers", _distinct("{0}, ")),
    Family("distinct paths", _distinct("src/f{0}.py ")),
    Family(
        "one line of json",
        lambda n: '{"role": "user", "content": "' + "a " * (n // 2) + '"}',
    ),
    Family(
        "backslashes",
        lambda n: '{"role": "user", "content": "' + "\\\\" * (n // 2) + '"}',
    ),
)


def mutated(seed, dice):
    text = seed
    for _ in range(dice.randint(1, 6)):
        at, to = sorted(dice.randrange(len(text) + 1) for _ in range(2))
        to = min(to, at + dice.choice((1, 3, 20, 200)))
        pieces = [
            "",
            text[at:to] * 2,
            text[to : to + 30],
            chr(dice.randrange(0x110000)),
        ]
        pieces += [
            dice.choice((*CHARACTERS, *TOKENS)),
            dice.choice(TOKENS) * dice.choice((2, 20)),
        ]
        piece = dice.choice(pieces)
        text = text[:at] + piece + text[to:]
    return text[:100_000]

"""Layouts with secrets and harmless lines: made from their lists, and judged."""

import random
import re
import string
from pathlib import Path
from typing import NamedTuple

ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "h": "0123456789abcdef",
    "n": string.digits,
    "U": string.ascii_uppercase + string.digits,
}
WORDS = "winter falcon Orange tiger Castle rocket summer Velvet granite Maple".split()
PLACE = re.compile(r"\{(p|u|[abBhnU]\d+)\}")


class Layout(NamedTuple):
    """A text, and the secret in it."""

    frame: str
    text: str
    secret: str


def lines(name):
    """The lines of a list, without its comments."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


def layouts(name="layouts.txt"):
    """The layouts of a list, each with a secret of its own that is always the same."""
    for frame in lines(name):
        dice = random.Random(frame)
        values = list[str]()

        def put(found, dice=dice, values=values):
            values.append(made(found[1], dice))
            return values[-1]

        text = PLACE.sub(put, frame).replace("\\n", "\n")
        yield Layout(frame=frame, text=text, secret=max(values, key=len))


def made(kind, dice):
    """A value of a kind."""
    if kind == "p":
        return password(dice)
    if kind == "u":
        sizes = (8, 4, 4, 4, 12)
        return "-".join("".join(dice.choices(ALPHABETS["h"], k=size)) for size in sizes)
    return "".join(dice.choices(ALPHABETS[kind[0]], k=int(kind[1:])))


def password(dice):
    """A password as people choose them, or a generator does."""
    word = dice.choice(WORDS)
    digits = dice.randrange(10, 10_000)
    mark = dice.choice("!#$%&*+=?@^~")
    mixed = ALPHABETS["a"] * 3 + "!#%*+-=?@^_~"
    return dice.choice(
        [
            f"{word}{digits}{mark}",
            f"{word.capitalize()}{mark}{digits}",
            f"{word}{digits}",
            "".join(dice.choices(mixed, k=dice.randrange(9, 18))) + "7",
            f"{word.replace('e', '3').replace('a', '4').replace('i', '1')}-{dice.choice(WORDS)}{digits % 90 + 10}",
        ]
    )

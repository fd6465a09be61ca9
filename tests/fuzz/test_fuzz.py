"""Readers of what others wrote: whatever it is, an answer or a documented error, and in
time."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.install.git_hooks import HASH
from tests.fuzz.hostile import CHARACTERS, FIXED, SEEDS, TOKENS, Family, mutated
from tests.fuzz.patience import patience
from tests.fuzz.targets import TARGETS, tried

_WITH_A_FILE = ("transcript opencode",)
_each = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
_pieces = st.one_of(
    st.sampled_from(TOKENS), st.sampled_from(CHARACTERS), st.text(max_size=8)
)


@_each
def test_every_family_is_read(target):
    """Runs, nests and repetitions of everything that some format gives a meaning to."""
    with patience():
        for family in FIXED[::2] if target.name in _WITH_A_FILE else FIXED:
            tried(target, family.make(300))


@_each
@given(data=st.data())
@settings(
    max_examples=15,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_any_text_is_read(target, data):
    """Texts made of the pieces that formats are made of, and seeds that were
    damaged."""
    pieces = data.draw(st.lists(_pieces, max_size=20))
    with patience():
        tried(target, "".join(pieces))
        dice = random.Random(len(pieces))
        tried(target, mutated(dice.choice(SEEDS), dice))


def _distinct_words(n):
    return "".join(f"w{number} " for number in range(n // 7))


# Families that once took time that grew with the square of their length, or worse.
_SLOW = {
    "claims": [
        Family("open fences", lambda n: "```a`\n" * (n // 6)),
        Family("distinct words", _distinct_words),
        Family(
            "long head", lambda n: f"not {_distinct_words(n // 2)}" + ", c" * (n // 6)
        ),
    ],
    "configuration": [Family("dotted key", lambda n: "a." * (n // 2) + "b = 1")],
    "hand-out": [
        Family("fence", lambda n: "`" * n),
        Family("open fences", lambda n: "```a`\n" * (n // 6)),
    ],
    "import markdown": [
        Family("comments", lambda n: "<!-- " * (n // 5)),
        Family("own marks", lambda n: "<!-- mem: begin " * (n // 16) + "-->"),
        Family("fence", lambda n: "~" * n),
        Family("blanks", lambda n: "- " + " " * n + "x"),
        Family("key of blanks", lambda n: "---\nkey: x" + " " * n + "y\n[\n---\n"),
    ],
    "shell command": [
        Family("dashes", lambda n: "-" * n),
        *(Family(f"run of {sign}", lambda n, sign=sign: sign * n) for sign in "./*~+@"),
        Family("letters", lambda n: "-" + "x" * n + "!"),
        Family("letters of a line", lambda n: "'-" + "x" * n + "\n'"),
        Family("lines of sed", lambda n: f"sed -i '{chr(10) * n}' a.py"),
        Family("braces", lambda n: "{" * n),
        Family("nested braces", lambda n: "{" * (n // 2) + "}" * (n // 2)),
        Family("pairs of braces", lambda n: "{}" * (n // 2)),
        Family("choices", lambda n: "{a,b}" * (n // 5)),
    ],
    "memory file": [
        Family(
            "copies of the id of a long entry",
            lambda n: (
                "---\nid: a\n---\n"
                + _distinct_words(n // 2)
                + "\n\n---\nid: a\n---\ny\n" * (n // 40)
            ),
        ),
    ],
    "section": [
        Family(
            "glue",
            lambda n: (
                "\n" * n + HASH.begin(n, is_own_file=False) + f"\nx\n{HASH.end}\n"
            ),
        ),
        Family(
            "sections",
            lambda n: (
                f"{HASH.begin(0, is_own_file=False)}\nx\n{HASH.end}\n" * (n // 70)
            ),
        ),
    ],
}


_DEEP = (
    "brackets",
    "objects",
    "quotes",
    "private",
    "[*n",
    "[1,*n",
    '{"a":*n',
    '{"a":[*n',
)


@_each
def test_depth_is_read(target):
    """Nests that are deeper than Python's stack, which short texts are not."""
    with patience():
        for family in FIXED:
            if family.name in _DEEP:
                tried(target, family.make(8_000))


@pytest.mark.parametrize(
    "target", [t for t in TARGETS if t.name in _SLOW], ids=lambda target: target.name
)
def test_what_was_slow_comes_back(target):
    """100,000 characters of what once took minutes are read before patience ends."""
    for family in _SLOW[target.name]:
        with patience():
            tried(target, family.make(100_000))

"""Where sentences end."""

import random
import re

from memcli.recall import evidence
from memcli.text import sentences
from memcli.text.matching import regex_in
from memcli.text.sentences import sentence_parts

SENTENCES = """
Use pnpm, e.g. for CI. |Never `npm i. x`! |"Why?" |(It drifts.) |ok. (or not)
|1. Run it. |2. Run go test ./... black . and z.B. mypy
|第一句话。|第二句话？|「是。」|好
|- Use uv on a line that breaks off
  and goes on: here; too
|Then on
|  A short line
|# A heading
"""


def test_a_sentence_ends_where_the_next_one_begins():
    """Not behind an abbreviation, the number of an item or a folder, nor in code; a line
    that breaks off goes on in the next."""
    wanted = SENTENCES.strip().split("|")
    assert sentence_parts("".join(wanted)) == wanted


def test_a_clause_ends_at_a_colon():
    """Where clauses are asked for."""
    assert len(sentence_parts("Before: why? 好：吗", clauses=True)) == 4


def test_a_pattern_without_signs_that_a_text_lacks_says_the_same():
    """Of sentences, clauses, items: in texts with all signs, some, and none."""
    dice = random.Random(3)
    signs = "aB9.!?:;`\"')(*-\n\n  ", "…", "。！？：；“„”¿¡」，、–—’•é"
    patterns = evidence._CLAUSE, evidence._ASKING_WORD, evidence._BREAK, evidence._ITEM
    for _ in range(3_000):
        alphabet = "".join(signs[: dice.randint(1, 3)])
        text = "".join(dice.choices(alphabet, k=dice.randint(1, 40)))
        for told in (text, f"{text}…"):
            marks = list(sentences._wide_mark().finditer(told))
            ends = [mark.end() for mark in marks if mark.lastgroup != "code"]
            assert sentences.sentence_ends(told, clauses=True) == ends
        for pattern in patterns:
            assert regex_in(text, pattern).findall(text) == re.findall(pattern, text)

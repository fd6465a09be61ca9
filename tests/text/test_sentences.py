"""Where sentences end."""

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

"""What is told of a short entry: the lesson, never the word that leads into it."""

import pytest

from memcli.recall.budget import write
from memcli.recall.hit import Hit

LESSON = "Never round VAT on the sum, round it once per line"


def block_of(text):
    head = f"{LESSON} · MEMORY.md:19, id 8c96ffc6"
    return write([Hit(key="8c96ffc6", layer="ranked", head=head, text=text)], 0)


@pytest.mark.parametrize(
    "lead", ["No.", "Thanks.", "Ok!", "Nein.", "Спасибо.", "不对。\n"]
)
def test_a_word_that_leads_in_stands_never_alone(lead):
    """The title says the rest already."""
    text = block_of(f"{lead} {LESSON}.")
    assert lead.strip() not in text
    assert "\n>" not in text


def test_a_short_sentence_that_says_something_is_told():
    """As is a "no" behind what it answers."""
    assert "> Use Decimal." in block_of(f"{LESSON}. Use Decimal.")
    assert "> Round the sum? No." in block_of("Round the sum? No.")

"""Evidence beyond one shared word, and the part of a long text that answers a task."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index import weights
from memcli.index.fulltext import said_by
from memcli.index.lexical import build
from memcli.recall import evidence
from memcli.recall.budget import tokens
from memcli.recall.evidence import best, pieces, sought, strength, strength_in, terms

pytestmark = pytest.mark.unit
INDEX = Path(weights.__file__).parent
TIMES_AND_OTHERS = """ANSWER BUILD_WAIT BUSY DEADLINE MOVING RECALL_WAIT WAIT
    KEY_MOMENT LEAST STANDING"""


def counts(words):
    """A memory of 100 texts: what stands in how many of them."""
    known = {"checkout": 2, "midnight": 1, "tests": 40, "run": 30, "数据": 3, "据库": 3}
    return [known.get(word, 0) for word in words]


def test_every_number_stands_in_one_place():
    """At most thirty; no other fraction of the rooms that rank is one but of seconds,
    of what is a key moment, and of what lies together or was cited."""
    numbers = {name for name in vars(weights) if name.isupper()}
    files = [*INDEX.glob("*.py"), *INDEX.with_name("recall").glob("*.py")]
    code = "\n".join(path.read_text() for path in files)
    others = set(re.findall(r"^(\w+) = \(?\s*\d*\.\d", code, re.MULTILINE))
    assert len(numbers) <= 30
    assert others - numbers == set(TIMES_AND_OTHERS.split())


def test_one_shared_word_is_little():
    """However rare it is; two that are rare say much."""
    assert strength([]) == strength([1.0]) == 0.0 < 0.9 < strength([1.0, 0.9])


def test_a_phrase_says_no_more_than_its_words():
    """And what stands nowhere says nothing."""
    found = said_by(["midnight", "unknown", "two words"], [1, 0, 5], 100)
    assert found == {"midnight": 1.0}


def test_a_version_is_one_word():
    """Its figures, which stand in most others, say nothing, nor do they count; what is
    met is the whole, or the beginning of a longer one."""
    known = {"1 20": 2, "1": 60, "20": 30, "client": 20, "hangs": 2}
    asked = sought(
        "why does a 1.20 client hang?",
        lambda words: [known.get(w, 0) for w in words],
        100,
    )
    assert {term for term, weight in asked.weights.items() if weight} == {
        "1 20",
        "client",
    }
    other = asked.evidence("Release 1.4.20", "The client sends 1 packet more")
    longer = asked.evidence("Release 1.20.4", "The client waits for an event")
    assert other.strong == 0.0 < 0.3 < longer.strong
    assert not asked.evidence("Release 11.20", "A 1.201 client").strong


def test_the_more_terms_the_more_is_met_by_chance():
    """Eight terms, and what says nothing, have no such part."""
    few = evidence.Sought("", dict.fromkeys("abcdefgh", 0.5), 4.0, asks=False)
    many = few._replace(weights=dict.fromkeys(range(32), 0.5))
    assert few.chance == few._replace(weights={}).chance == 0.0
    assert many.chance == 2 * weights.BY_CHANCE
    assert not evidence.sought("", counts, 100).text


def test_among_few_texts_one_term_is_pointed_at():
    """It is met by chance the less, the fewer there are; it is never told."""
    asked = evidence.Sought("", {"deploy": 0.8}, 1.2, asks=True)
    verdicts = []
    for texts in (0, 1, 4, 10, 1000):
        sought_of_few = asked._replace(crowd=evidence.crowd_of(texts))
        found = sought_of_few.evidence("Deploys go to staging first", "")
        verdicts += sought_of_few.verdicts([found], 0.5, 0.5)
    few, many = evidence.POINT, evidence.SILENT
    assert verdicts == [few, few, few, many, many]


def test_one_name_is_enough_for_who_asks_history_about_it():
    """Where all other words of the question say half as much at the most."""
    known = {"chardet": 31, "replaced": 320, "dropped": 12}
    verdicts = []
    for task in ("why was chardet replaced", "replaced", "why was chardet dropped"):
        asked = sought(task, lambda words: [known.get(w, 0) for w in words], 4800)
        found = asked.evidence("Switch from chardet", "", met=1)
        verdicts += asked.verdicts([found], 0.5, weights.LIKELY)
    assert verdicts == [evidence.POINT, evidence.SILENT, evidence.SILENT]


def test_one_gate_decides_of_memory_and_history():
    """By the share that stands together, against which a word counts that stands
    nowhere; in memory two rare words are enough, too. What stands beside a hit that
    reaches the bar passes with half of it."""
    here = evidence.sought("Checkout tests at midnight", counts, 100)
    foreign = evidence.sought("Checkout tests at midnight, zeppelin", counts, 100)
    texts = ("Checkout tests at midnight", "Checkout at midnight", "Checkout")
    history = [here.evidence(text, "", met=3 - at) for at, text in enumerate(texts)]
    memory = [here.evidence(text, "") for text in texts]
    assert here.verdicts(history, 0.5, 0.34) == ["tell", "point", "silent"]
    assert here.verdicts(memory, 0.5, 0.34) == ["tell", "tell", "silent"]
    assert foreign.evidence(texts[0], "").strong < memory[0].strong
    beside = evidence.Evidence(0.0, 0.3, 1.0)
    assert here.verdicts([beside], 0.5, 0.34) == ["silent"]
    assert here.verdicts([beside, memory[0]], 0.5, 0.34) == ["point", "tell"]


def test_the_sentence_that_matters_is_searched():
    """What is said around it is not, whether it asks or not."""
    prompt = "Good morning! Why does the checkout fail at midnight? Keep the diff small please."
    found = sought(prompt, counts, 100)
    assert found.text == "Why does the checkout fail at midnight?"
    assert set(found.weights) == {"checkout", "midnight"}
    assert sought("早上好。数据库在哪里？谢谢。", counts, 100).text == "数据库在哪里？"
    prompt = "Checkout fails at midnight. Can I run it?"
    assert "Checkout" in sought(prompt, counts, 100).text


def test_a_word_of_another_language_is_read_as_what_it_means():
    """By how near it means that; no word that stands somewhere, and none in English."""
    asked = []

    def meant(words):
        asked.extend(words)
        return {"mitternacht": ("midnight", 0.7)} if "mitternacht" in words else {}

    found = evidence.sought(
        "Checkout scheitert um Mitternacht", counts, 100, 1.0, meant
    )
    known = sought("Checkout midnight", counts, 100)
    assert set(found.weights) == set(known.weights)
    assert found.weights["midnight"] == pytest.approx(0.7 * known.weights["midnight"])
    assert asked == ["scheitert", "mitternacht"]
    both = evidence.sought("Mitternacht: checkout midnight", counts, 100, 1.0, meant)
    assert both.weights == known.weights
    asked[2:] = []
    evidence.sought("The checkout fails at Mitternacht", counts, 100, 1.0, meant)
    assert asked == ["scheitert", "mitternacht"]


def test_a_word_without_blanks_is_one():
    """Its pairs of characters overlap: however many are met, they say as much as the
    strongest."""
    asked = terms({"数据": 0.9, "据库": 0.9})
    assert not strength_in("", "数据库", asked)


LONG = "\n\n".join(
    f"Paragraph {i} says nothing of interest to anybody at all." for i in range(60)
)


def test_what_asks_is_told_from_what_is_ordered():
    """By its words where it has no mark."""
    asks = [
        "how do I run it",
        "So, on which port?",
        "部署应该怎么做",
        "wo liegt das",
        "Is it?",
    ]
    assert (
        evidence.questions("\n".join([*asks, "can you rename it?", "rename it"]))
        == asks
    )


def test_the_paragraph_that_has_the_words_is_shown():
    """Whole paragraphs around it fill the room; the lines left out are counted."""
    text = f"{LONG}\n\nRetry webhooks twice before giving up.\n\n{LONG}"
    found, left_out = best(text, terms({"webhook": 2.0, "retry": 1.0}), 60)
    assert "Retry webhooks twice before giving up." in found
    assert found.startswith("Paragraph 5") and tokens(found) <= 60
    assert left_out == text.count("\n") - found.count("\n")


@pytest.mark.parametrize("asked", ["cafe", "café", "cafe\u0301"])
@pytest.mark.parametrize(
    "text", ["The cafe menu", "The café menu", "The CAFE\u0301 menu"]
)
def test_a_mark_on_a_latin_letter_hides_no_word(asked, text):
    """In the task or in the note, composed or not, as the full text finds it."""
    words = terms(dict.fromkeys((*build(asked).terms, "menu"), 1.0))
    assert strength_in(text, "", words) == strength([1.0, 1.0])
    assert evidence.bears(text, "", words, 1.0)
    # of other alphabets a mark makes another letter
    assert not strength_in("мои меню", "", terms({"мой": 1.0, "меню": 1.0}))


def test_terms_that_stand_together_win():
    """One item of a list with both words, over two far apart with one each."""
    asked = terms({"cache": 1.0, "deploy": 1.0})
    items = [
        "- the cache is warm",
        *["- filler line"] * 30,
        "- clear the cache on deploy",
    ]
    text = "\n".join([*items, *["- more filler"] * 30, "- deploy on Monday"])
    assert "clear the cache" in best(text, asked, 12)[0]
    assert (
        "The cache is warm."
        in best("Filler. " * 40 + "The cache is warm.", asked, 12)[0]
    )


def steps(between=""):
    """A long list with its lead, and what stands after each item."""
    items = (
        f"- step {number}: alpha{number} {'and so on ' * 5}\n{between}"
        for number in range(30)
    )
    return "Before each release:\n\n" + "".join(items)


def test_a_row_is_shown_below_its_head_and_an_item_below_its_lead():
    """So that a reader knows what the figures are, and when the steps are taken."""
    rows = "".join(
        f"| tool{number} | {8000 + number} | {'taken ' * 8}|\n" for number in range(30)
    )
    table = f"Ports:\n\n| service | port | why |\n| --- | --- | --- |\n{rows}"
    found, _ = best(table, terms({"tool17": 1.0}), 60)
    assert found.startswith("| service | port | why |\n| --- |")
    assert "8017" in found and "8003" not in found
    found, _ = best(steps(), terms({"alpha12": 1.0}), 60)
    assert found.startswith("Before each release:\n\n- step")
    assert "alpha12" in found


@pytest.mark.parametrize(
    "between", ["\n", "  and what it rests on.\n", "\n  Because.\n\n"]
)
def test_an_item_keeps_the_lead_of_a_loose_list(between):
    """Blank lines, and paragraphs of an item, do not end its list."""
    found, _ = best(steps(between), terms({"alpha12": 1.0}), 70)
    assert found.startswith("Before each release:\n\n")
    assert "alpha12" in found and "alpha3 " not in found


def test_a_sentence_within_an_item_or_a_row_has_the_same_head():
    """Items and rows that are longer than the room are shown by their sentences."""
    filler = "This is so for a reason. " * 12
    for head, mark in (("Before each release:\n", "-"), ("| why |\n| --- |", "|")):
        rows = "".join(
            f"\n{mark} {filler}Then alpha{number} runs. {filler}{mark[:-1]}"
            for number in range(5)
        )
        found, _ = best(f"Ports:\n\n{head}{rows}", terms({"alpha3": 1.0}), 60)
        assert found.startswith(head) and "alpha3" in found


def test_what_stands_below_a_list_is_none_of_its_items():
    """A paragraph after a list is shown without the list's lead."""
    text = f"Never do:\n\n- one {'x ' * 60}\n- two {'x ' * 60}\n\nUse alpha here.\n"
    found, _ = best(text, terms({"alpha": 1.0}), 40)
    assert "Use alpha here." in found and "Never do" not in found


def test_text_without_blanks_is_found_by_its_pairs():
    """A sentence of a Chinese text that has the pairs of the question."""
    text = "\n\n".join(
        ["这是无关的内容。" * 3] * 20
        + ["数据库连接必须使用代理。"]
        + ["其他说明。" * 4] * 20
    )
    assert "代理" in best(text, terms({"数据": 1.0, "据库": 1.0, "连接": 1.0}), 40)[0]


@given(st.text(alphabet="ab \n-#1.", max_size=300), st.integers(1, 40))
def test_nothing_is_made_up(text, room):
    """Paragraphs make up the text; an excerpt is a part of it within the room."""
    assert "".join(pieces(text)) == text
    found, _ = best(text, terms({"a": 1.0, "b": 2.0}), room)
    assert tokens(found) <= room and found.removesuffix(" …") in text

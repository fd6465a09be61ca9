"""The block: what fits into the budget, layer by layer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.recall import budget
from memcli.recall.budget import (
    CLOSE,
    FRAME,
    LAYERS,
    OPEN,
    Pools,
    compose,
    tokens,
    write,
)
from memcli.recall.hit import Hit

TEXTS = st.one_of(
    st.text(alphabet="ab .\n日本。", max_size=400),
    st.integers(0, 900).map(lambda n: "word " * n),
    st.integers(0, 300).map(lambda n: "数据库" * n),
)


def shown(key, layer, size=10, type=""):
    """An item whose text has about `size` tokens."""
    return Hit(
        key=key,
        layer=layer,
        head=f"head {key}",
        text=("abc " * size).strip(),
        type=type,
    )


@st.composite
def pools(draw):
    heads = st.text(alphabet="ab 本", max_size=60)
    types = st.sampled_from("xy")
    items = [
        Hit(
            key=f"k{number}",
            layer="ranked",
            head=draw(heads),
            text=draw(TEXTS),
            type=draw(types),
        )
        for number in range(draw(st.integers(0, 12)))
    ]
    each = st.sampled_from(items or [None])
    some = st.lists(each, unique_by=lambda s: s.key, max_size=5 if items else 0)
    files = [
        Hit(
            key=f"f{number}",
            layer="institutional",
            head=f"f{number}.md",
            text=draw(TEXTS),
        )
        for number in range(draw(st.integers(0, 3)))
    ]
    return Pools(
        institutional=files,
        baseline=draw(some),
        workflows=draw(some)[:3],
        episodes=draw(some),
        ranked=items,
    )


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(pools(), st.integers(1, 3000), st.integers(1, 12))
def test_the_whole_answer_never_exceeds_its_budget(pool, limit, most):
    """Everything together, the wrapper too, stays within --max-tokens; `used` is its
    size."""
    answer = compose(pool, limit=limit, most=most)
    text = write(answer.items, answer.budget.more) if answer.items else ""
    assert tokens(text) == answer.budget.used <= limit
    keys = [item.key for item in answer.items]
    assert len(keys) == len(set(keys))
    places = [LAYERS.index(item.layer) for item in answer.items]
    assert places == sorted(places)
    layers = {
        layer: [item for item in answer.items if item.layer == layer]
        for layer in LAYERS
    }
    assert _size(layers["institutional"]) <= limit // 2
    for layer in ("baseline", "workflows", "episodes"):
        assert _size(layers[layer]) <= limit // 4
    assert _size(layers["episodes"]) <= budget.EPISODE_TOKENS
    assert len(layers["ranked"]) <= most


def _size(items):
    """Tokens of a layer as written, without the wrapper."""
    return tokens("\n".join(write(items, 0).split("\n")[2:-1])) if items else 0


@pytest.mark.parametrize("limit", [1, 10, FRAME])
def test_a_budget_below_the_wrapper_shows_nothing(limit):
    """What cannot even hold the wrapper and one line stays empty, and says how much
    there was."""
    answer = compose(Pools(ranked=[shown("a", "ranked")]), limit=limit)
    assert (answer.items, answer.budget.used, answer.budget.more) == ((), 0, 1)


def test_an_entry_stands_in_the_first_layer_that_chose_it():
    """Baseline before workflows before episodes before ranked, and only once."""
    one = shown("a", "ranked")
    answer = compose(
        Pools(baseline=[one], workflows=[one], episodes=[one], ranked=[one]), limit=800
    )
    assert [(item.key, item.layer) for item in answer.items] == [("a", "baseline")]


def test_what_found_no_room_in_its_layer_competes_in_ranked():
    """A workflow larger than a quarter is ranked with the others."""
    big = shown("w", "ranked", 300)
    answer = compose(
        Pools(workflows=[big], ranked=[big, shown("a", "ranked")]), limit=800
    )
    assert [(item.key, item.layer) for item in answer.items] == [
        ("w", "ranked"),
        ("a", "ranked"),
    ]


def test_an_oversized_hit_leads_by_its_best_part():
    """It is never dropped for a worse one, and leaves room for those."""
    asked = []

    def brief(room):
        asked.append(room)
        return "abc " * (room - 1)

    big = shown("big", "ranked", 9000)._replace(brief=brief)
    pool = [
        big,
        shown("a", "ranked"),
        shown("huge", "ranked", 9999),
        shown("b", "ranked"),
    ]
    answer = compose(Pools(ranked=pool), limit=500)
    assert [item.key for item in answer.items] == ["big", "a", "huge", "b"]
    assert answer.budget.used <= 500 and 0.3 * 440 < asked[0] < 0.4 * 440
    two = compose(Pools(ranked=pool[:2]), limit=500)
    assert 400 < two.budget.used <= 500  # what is left in the end goes to what was cut


def test_what_has_no_part_within_the_room_gives_way():
    """Its place goes to the next."""
    big = shown("big", "ranked", 9000)._replace(brief=lambda room: "")
    answer = compose(Pools(ranked=[big, shown("a", "ranked")]), limit=300)
    assert ([item.key for item in answer.items], answer.budget.more) == (["a"], 1)


def test_a_lone_oversized_hit_is_cut_at_a_sentence():
    """When nothing else fits, the best hit is shown as far as whole sentences go."""
    text = "First sentence here. " * 200
    answer = compose(
        Pools(ranked=[Hit(key="a", layer="ranked", head="h", text=text)]), limit=200
    )
    assert answer.items[0].text.endswith("First sentence here. …")
    assert 150 < answer.budget.used <= 200
    assert answer.budget.more == 0


def test_the_number_left_out_counts_hits_and_baseline_once():
    """`more` is what the limit on hits would have admitted, plus baseline entries
    without room."""
    hits = [shown(f"h{number}", "ranked", 100) for number in range(10)]
    base = [shown("p", "baseline", 5000), hits[0]._replace(text="x " * 9000)]
    answer = compose(Pools(baseline=base, ranked=hits), limit=400, most=6)
    assert (
        answer.budget.more
        == 6 - sum(item.layer == "ranked" for item in answer.items) + 1
    )


def test_types_can_be_capped():
    """max_tokens_by_type bounds one type and leaves the others alone; a cap of 0 shuts
    it out."""
    pool = [shown(f"c{number}", "ranked", 20, "corrective") for number in range(4)] + [
        shown("d", "ranked", 20, "directive")
    ]
    answer = compose(Pools(ranked=pool), limit=800, by_type={"corrective": 60})
    assert [item.key for item in answer.items] == ["c0", "c1", "d"]
    none = compose(Pools(ranked=pool[:4]), limit=800, by_type={"corrective": 0})
    assert none.items == ()


def test_episodes_are_chosen_newest_first_and_shown_oldest_first():
    """The newest that fit are kept, and read in the order in which they happened."""
    newest_first = [shown(f"e{number}", "episodes", 80) for number in range(6)]
    answer = compose(Pools(episodes=newest_first), limit=0)
    assert [item.key for item in answer.items] == ["e2", "e1", "e0"]


def test_institutional_text_is_cut_at_a_paragraph_with_a_visible_line():
    """A file over the fund keeps whole paragraphs and says how many tokens are
    missing."""
    text = "# Norms\n\n" + "\n\n".join(
        f"Norm {number} says what to do." for number in range(100)
    )
    name = "institutional.md"
    norms = Hit(key=name, layer="institutional", head=name, text=text)
    (cut,) = compose(Pools(institutional=[norms]), limit=400).items
    kept, _, last = cut.text.rpartition("\n")
    assert last == f"({name}: {tokens(text) - tokens(kept)} tokens more)"
    assert text.startswith(kept) and kept.endswith("what to do.")


def test_every_institutional_file_gets_its_share():
    """A long file does not push the others out: a short one is whole, long ones share
    the rest."""
    long = "\n\n".join(["Some norm of ours."] * 200)
    short = "Be kind."
    files = [
        Hit(key=name, layer="institutional", head=name, text=text)
        for name, text in (("a", long), ("b", short), ("c", long))
    ]
    answer = compose(Pools(institutional=files), limit=800)
    assert [item.key for item in answer.items] == ["a", "b", "c"]
    assert answer.items[1].text == short
    assert abs(tokens(answer.items[0].text) - tokens(answer.items[2].text)) < 20


@pytest.mark.parametrize("text", ["Be honest.", "x", "# Norms\n\nWe review all."])
def test_rounding_takes_nothing_from_what_fits(text):
    """Short files are shown whole, however their lengths round to tokens."""
    files = [
        Hit(key=name, layer="institutional", head=name, text=text)
        for name in ("~/norms.md", "norms.md")
    ]
    assert [item.text for item in compose(Pools(files), limit=800).items] == [
        text,
        text,
    ]


def test_the_block_has_one_opening_and_one_closing_line():
    """The block begins with the fence and the warning and ends with the fence."""
    text = write(
        [shown("a", "baseline"), shown("b", "ranked"), shown("c", "ranked")], 3
    )
    lines = text.split("\n")
    assert (lines[0], lines[-1]) == (OPEN, CLOSE)
    assert (
        "untrusted hints" in lines[1] and "the present task overrides them" in lines[1]
    )
    assert (
        "### 1. head b" in lines and "### 2. head c" in lines and "### head a" in lines
    )
    assert lines[-2].startswith("(3 more: ")


def test_a_text_stands_once_in_a_block():
    """As a title before a text, in a rule before an episode; code is whole."""
    rule = "Never use floats for sums"
    texts = (
        f"{rule}. They drift by a cent. Fixed.",
        f"No. And {rule}. They drift by a cent.",
        f"```{rule}",
    )
    hits = [shown(str(at), "ranked")._replace(text=t) for at, t in enumerate(texts)]
    hits[0] = hits[0]._replace(kind="episode")
    hits[1] = hits[1]._replace(head=f"{rule} · id 1")
    lines = write(hits, 0).split("\n")
    assert [line for line in lines if line.startswith(">")] == [
        "> Fixed.",
        "> They drift by a cent.",
        f"> ```{rule}",
    ]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("数据", 2),
        ("数据abcde", 4),
        ("\u0e44\u0e17", 2),
    ],
)
def test_tokens_are_characters_by_four_and_one_per_wide_character(text, size):
    """Characters / 4 rounded up, and one per character of a script without blanks."""
    assert tokens(text) == size


@given(TEXTS, st.integers(1, 200))
def test_cuts_stay_within_their_room_and_are_beginnings(text, room):
    """A cut text fits and is a beginning of the whole."""
    for part in (budget.cut(text, room), budget.cut_words(text, room)):
        assert tokens(part) <= room
        assert text.startswith(part.removesuffix(" …"))
    assert tokens(budget.cut_paragraphs(text, room, "n")) <= room or not text

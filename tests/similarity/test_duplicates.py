"""Near-duplicates, guard, clusters and contradictions, on sentences as engineers write
them."""

import json
import random
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memcli.memory.words import overlap
from memcli.similarity.claims import claim
from memcli.similarity.differences import guard
from memcli.similarity.duplicates import (
    clusters,
    contradictions,
    near_duplicate,
    similar_pairs,
)
from tests.work import calls

FILES = (
    Path(__file__).parents[1] / "data/pairs.jsonl",
    Path(__file__).with_name("pairs.jsonl"),
)
ROWS = [
    json.loads(line) for file in FILES for line in file.read_text("utf-8").splitlines()
]
MERGE, APART, CONTRADICT, AGREE = (
    [tuple(row[1:]) for row in ROWS if row[0] == kind]
    for kind in ("merge", "apart", "contradict", "agree")
)
"""The same lesson as two sessions word it; alike but different, and why; opposites;
both can hold."""


def contradiction(a, b):
    return contradictions([a, b]) == [(0, 1)]


def near(a, b):
    return near_duplicate(claim(a), claim(b))


def test_the_table_has_no_wrong_merge_and_nearly_all_of_the_duplicates():
    """Nothing is merged wrongly, and at least 95 % of the duplicates are found, either
    way round."""
    assert len(ROWS) >= 400
    assert [row for row in APART + CONTRADICT + AGREE if near(*row[:2])] == []
    found = [near(a, b) for a, b in MERGE]
    assert sum(found) >= 0.95 * len(MERGE) and found == [near(b, a) for a, b in MERGE]


@pytest.mark.parametrize(("a", "b", "reason"), APART)
def test_different_claims_are_kept_apart_for_the_right_reason(a, b, reason):
    """Two sentences that differ in what they claim never merge, in either direction."""
    actual = guard(claim(a), claim(b))
    assert actual is not None
    assert not near(a, b) and not near(b, a)
    assert reason is None or actual == reason


@pytest.mark.parametrize(("a", "b"), CONTRADICT)
def test_opposite_claims_contradict_each_other(a, b):
    """Opposite claims about one thing are contradictions in both directions, and no
    duplicates."""
    assert contradiction(claim(a), claim(b)) and contradiction(claim(b), claim(a))
    assert not near(a, b)


@pytest.mark.parametrize(("a", "b"), AGREE)
def test_unsure_is_no_contradiction(a, b):
    """Claims that can both hold are no contradiction."""
    assert not contradiction(claim(a), claim(b)) and not contradiction(
        claim(b), claim(a)
    )


@pytest.mark.parametrize(("frame", "rule"), [
    ("From now on", "never use yarn here"),
    ("Ab sofort", "nutzen wir pnpm"),
    ("Dorénavant", "utilise pnpm, jamais npm"),
    ("A partir de ahora", "usa pnpm para todo el repositorio"),
    ("D'ora in poi", "usa pnpm e mai npm"),
    ("Отныне", "никогда не используй npm"),
])  # fmt: skip
def test_since_when_a_rule_holds_is_no_part_of_it(frame, rule):
    assert near(f"{frame} {rule}", rule)


def test_from_which_version_on_is_part_of_a_rule():
    assert not near("Soporta Python 3.9 en adelante", "Soporta Python 3.9")


def test_the_date_of_a_heading_is_no_word():
    """A date that leads a heading is metadata; one in the sentence is a claim."""
    assert claim("## [2026-02-10] Freeze time") == claim("### Freeze time")
    assert claim("Freeze ends on 2026-02-10").numbers == {"2026-02-10"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("wait 30s", {"30 s"}),
        ("wait half of 2 minutes", {"120 s"}),
        ("version v2.4.1", {"2.4.1"}),
        ("version v2 of the API", {"2"}),
        ("2.0.0-rc1 or 3.x", {"2.0.0-rc1", "3.x"}),
        ("1,000 rows, 80% of them", {"1000", "80 %"}),
        ("on 10.0.0.1:8080", {"10.0.0.1:8080"}),
        ("three of seven", {"3", "7"}),
    ],
)
def test_numbers_are_read_with_their_unit(text, numbers):
    """One quantity has one reading, however it is spelt."""
    assert claim(text).numbers == numbers


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see src/a.py.", {"src/a.py"}),
        ("see `./src/a.py`, e.g. today", {"src/a.py"}),
        ("CI/CD and/or TCP/IP", set()),
        ("ignore **/*.snap and *.log", {"**/*.snap", "*.log"}),
        ("edit .env and package.json", {".env", "package.json"}),
        ("at https://example.com/a?b=1.", {"https://example.com/a?b=1"}),
    ],
)
def test_paths_are_told_from_words_with_a_stroke(text, paths):
    """Files, globs, dotted names and URLs are paths; "and/or" is not."""
    assert claim(text).paths == paths


SENTENCES = [
    text
    for rows in (MERGE, APART, CONTRADICT, AGREE)
    for row in rows
    for text in row[:2]
]
TEXTS = st.one_of(st.sampled_from(SENTENCES), st.text(max_size=60))
VOCABULARY = "use not never a b cache redis before after `x` --force 3 5 src/a.py and , . 不要 数据库 if only".split()
PHRASES = st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join)


@given(st.one_of(TEXTS, PHRASES), st.one_of(TEXTS, PHRASES))
@example("before 5 a", "before 5, after 5")
@example("BEFORE'00E'A0", "BEFORE'00E:AFTER'00E")
def test_no_verdict_depends_on_the_side(a, b):
    """Jaccard, guard, near-duplicate and contradiction are symmetric."""
    x = claim(a)
    y = claim(b)
    assert overlap(x.words, y.words) == overlap(y.words, x.words)
    for verdict in (guard, near_duplicate, contradiction):
        assert verdict(x, y) == verdict(y, x)


WORD_SETS = st.lists(
    st.frozensets(st.sampled_from("abcdefghijkl"), max_size=9), max_size=25
)


def _bag(words):
    return claim(" ".join(f"w{word}" for word in sorted(words)))


@given(WORD_SETS, st.sampled_from([0.0, 0.2, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0]))
def test_similar_pairs_are_those_of_brute_force(sets, threshold):
    """The prefix filter loses no pair and adds none, at thresholds that scores hit
    exactly too."""
    claims = [_bag(words) for words in sets]
    scored = (
        (number, j, overlap(claims[number].words, claims[j].words))
        for j in range(len(claims))
        for number in range(j)
    )
    assert sorted(
        similar_pairs([claim.words for claim in claims], threshold)
    ) == sorted(row for row in scored if row[2] > threshold)


def _texts_of(claims, texts):
    found = clusters(claims)
    merged = {frozenset(texts[i] for i in c.members) for c in found if not c.guarded}
    return merged, {frozenset(texts[i] for i in c.members) for c in found if c.guarded}


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(SENTENCES), max_size=40), st.randoms(use_true_random=False)
)
def test_clusters_do_not_depend_on_the_order(texts, rng):
    """Shuffled entries form the same clusters, and the same pairs contradict."""
    shuffled = rng.sample(texts, len(texts))
    first = [claim(text) for text in texts]
    second = [claim(text) for text in shuffled]
    assert _texts_of(first, texts) == _texts_of(second, shuffled)
    before = {frozenset((texts[i], texts[j])) for i, j in contradictions(first)}
    assert before == {
        frozenset((shuffled[i], shuffled[j])) for i, j in contradictions(second)
    }


@settings(max_examples=40)
@given(st.lists(st.sampled_from(SENTENCES), unique=True, max_size=40))
def test_clusters_are_the_components_of_the_near_duplicates(texts):
    """Two bodies share a cluster exactly when a chain of near-duplicates joins them."""
    claims = list(map(claim, texts))
    groups = [{number} for number in range(len(claims))]
    for pair in combinations(range(len(claims)), 2):
        if near_duplicate(*map(claims.__getitem__, pair)):
            joined = [group for group in groups if not group.isdisjoint(pair)]
            groups = [group for group in groups if group.isdisjoint(pair)]
            groups.append(set().union(*joined))
    chains = [tuple(sorted(group)) for group in groups if len(group) > 1]
    assert [cluster.members for cluster in clusters(claims)] == sorted(chains)


def test_thousands_of_equal_bodies_are_one_cluster():
    """Equal bodies are grouped before they are compared."""
    text = "The same body stands in every one of these entries."
    (cluster,) = clusters([claim(text)] * 3000)
    assert cluster.members == tuple(range(3000))
    assert cluster.guarded == ()
    assert contradictions([claim(text)] * 3000) == []


def test_what_a_template_wrote_is_not_compared_in_pairs():
    """Two thirds of their words are equal: four times the entries take four times the
    work."""
    rng = random.Random(3)
    values = [
        f"w{chr(97 + number % 26)}{chr(97 + number // 26)}k" for number in range(600)
    ]
    text = "Import of the supplier catalogue finished with these values for {} in the nightly run."

    def cost(size):
        claims = [
            claim(text.format(" ".join(rng.sample(values, 4)))) for _ in range(size)
        ]
        assert clusters(claims) == []
        return calls(lambda: clusters(claims))

    assert cost(1200) < 8 * cost(300)


def test_a_crowd_of_different_bodies_is_reported():
    """Hundreds of variations of one text come from a template and are not merged
    unseen."""
    base = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omicron"
    texts = [
        f"{base} {chr(97 + number % 26)}{chr(97 + number // 26)}q"
        for number in range(300)
    ] + [base]
    found = clusters([claim(text) for text in texts])
    assert [len(c.members) for c in found] == [301]
    assert [reason for _, _, reason in found[0].guarded] == ["crowd"]


def test_contradictions_are_found_among_many():
    """Among all the table's sentences, every contradicting pair is named and no
    duplicate is."""
    claims = [claim(text) for row in CONTRADICT for text in row]
    found = contradictions(claims)
    assert {(i, i + 1) for i in range(0, len(claims), 2)} <= set(found)
    assert all(contradiction(claims[i], claims[j]) for i, j in found)


def test_a_series_of_numbers_is_no_contradiction():
    """Many values of one number are a log, two or three are a dispute."""
    assert (
        contradictions([claim(f"Import took {number} rows.") for number in range(50)])
        == []
    )
    assert contradictions(
        [claim("The pool has 5 workers."), claim("The pool has 9 workers.")]
    ) == [(0, 1)]


@pytest.mark.parametrize(("text", "denied", "asserted"), [
    ("Don't use unittest and use pytest.", "unittest", "pytest"),
    ("Never commit secrets and always review code.", "secret", "review"),
])  # fmt: skip
def test_the_verb_again_ends_a_negation(text, denied, asserted):
    """Otherwise what is asked for would read as forbidden."""
    negated = {
        (term, phrase.negated)
        for phrase in claim(text).phrases
        for term in phrase.terms
    }
    about = {pair for pair in negated if pair[0] in (denied, asserted)}
    assert about == {(denied, True), (asserted, False)}


def test_what_stands_in_a_fence_is_part_of_the_claim():
    """One flag in a block of code keeps two texts apart; a fence that nothing closes
    hides nothing."""
    text = "Run the long build before each commit that you push.\n```\nmake build --fast\n```\nThen rest."
    assert near_duplicate(claim(text), claim(text.replace("Then rest", "then, rest")))
    assert not near_duplicate(claim(text), claim(text.replace("--fast", "--slow")))
    torn = text.replace("```\nThen", "Then")
    assert claim(torn).flags == {"--fast"} and "rest" in claim(torn).words

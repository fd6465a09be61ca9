"""The five metrics mean what their names say."""

import math
import random

import pytest

from memcli.diagnostics import metrics
from memcli.diagnostics.metrics import Indexed, LiveEntry, LoggedHit, health

TOPIC = "payment webhook retry queue timeout signature idempotency ledger refund invoice currency".split()


def item(number, text="", **values):
    base = LiveEntry(
        id=f"id-{number}",
        title=f"t{number}",
        text=text or f"word{number}",
        decay=1.0,
        age=0,
        stale=False,
        linked=False,
    )
    return base._replace(**values)  # type: ignore[arg-type]


def related(count):
    """Entries on one theme, each in words of its own order and choice."""
    dice = random.Random(5)
    return [
        item(number, " ".join([*dice.sample(TOPIC, 6), f"only{number}"]))
        for number in range(count)
    ]


def apart(count):
    return [
        item(number, " ".join(f"w{number}x{n}" for n in range(7)))
        for number in range(count)
    ]


def shown(*entries, session="s", scores=()):
    """One answer."""
    score = scores or tuple(1.0 for _ in entries)
    return [
        LoggedHit(
            session=session,
            entry=entry,
            layer="ranked",
            place=number,
            score=s,
            day="2026-11-01",
        )
        for number, (entry, s) in enumerate(zip(entries, score, strict=True), 1)
    ]


def values(found):
    return {name: metric.value for name, metric in found.metrics.items()}


def test_freshness_is_the_median_decay():
    """Half fresh and half at 0.5 is 75; stale entries lower it, and the way to raise it
    follows."""
    assert metrics.freshness([item(1), item(2, decay=0.5)]).value == 75
    fresh = metrics.freshness([item(1), item(2), item(3)])
    aged = metrics.freshness(
        [
            item(1),
            *(item(number, decay=0.1, age=400, stale=True) for number in range(2, 6)),
        ]
    )
    assert fresh.value == 100
    assert aged.value == pytest.approx(10)
    assert (fresh.raise_with, aged.raise_with) == (
        "",
        "mem compact --stale",
    )


def test_coherence_tells_related_entries_from_unrelated_ones():
    """A theme scores, texts without a common word score 0."""
    theme = metrics.coherence(related(20)).value
    mixed = metrics.coherence(
        [*related(20), *(e._replace(id=f"x{e.id}") for e in apart(20))]
    ).value
    assert metrics.coherence(apart(20)).value == 0
    assert theme is not None
    assert mixed is not None
    assert theme > 50
    assert mixed < theme


def test_duplicates_lower_coherence():
    """A copy takes a neighbour's place and earns nothing; the way to raise it is mem
    compact."""
    theme = related(12)
    copies = [
        entry._replace(id=f"{entry.id}-{number}")
        for entry in theme
        for number in range(3)
    ]
    clean = metrics.coherence(theme)
    copied = metrics.coherence([*theme, *copies])
    assert clean.value is not None
    assert copied.value is not None
    assert copied.value < clean.value
    assert copied.raise_with == "mem compact"
    assert "48 of them have a near-duplicate" in copied.reason


def test_one_entry_has_no_coherence_and_the_others_share_its_weight():
    """No value, no weight; the weights of the rest are 1 in sum."""
    report = health([item(1)], Indexed(1, 1), (), [1])
    lost = report.metrics["coherence"]
    assert (lost.value, lost.weight) == (None, 0.0)
    assert sum(metric.weight for metric in report.metrics.values()) == pytest.approx(1)
    assert report.score == pytest.approx(
        (25 * 100 + 25 * 100 + 15 * 100 + 0) / 80, abs=0.06
    )


def test_efficiency_falls_when_a_session_sees_the_same_again():
    """Ten new ids beat the same five twice; other sessions may see what one has
    seen."""
    new = shown(*"abcdefghij")
    again = [*shown(*"abcde"), *shown(*"abcde")]
    elsewhere = [*shown(*"abcde"), *shown(*"abcde", session="t")]
    found = [metrics.efficiency(rows, ()).value for rows in (new, again, elsewhere)]
    assert found == [100, 75, 100]


def test_efficiency_falls_with_the_relevance_of_what_is_shown():
    """Scores count relative to the best of their own answer."""
    good = [
        *shown(*"abcde", scores=(0.5, 0.5, 0.4, 0.4, 0.4)),
        *shown(*"fghij", scores=(0.05,) * 5),
    ]
    noise = [
        *shown(*"abcde", scores=(0.5, 0.1, 0.1, 0.1, 0.1)),
        *shown(*"fghij", scores=(0.05,) * 5),
    ]
    high = metrics.efficiency(good, ())
    low = metrics.efficiency(noise, ())
    assert high.value is not None
    assert low.value is not None
    assert high.value > low.value
    assert "--limit" in low.raise_with


@pytest.mark.parametrize("seed", range(40))
def test_always_within_bounds_and_whatever_the_order(seed):
    """0 to 100 or None; weights 1 in sum; shuffled entries give the same report."""
    dice = random.Random(seed)
    items = [
        item(
            number, " ".join(dice.choices("ab cd é 语 ef".split(), k=dice.randrange(9)))
        )._replace(
            decay=dice.uniform(0.1, 1),
            age=dice.randrange(10**6),
            stale=dice.random() < 0.5,
            linked=dice.random() < 0.5,
        )
        for number in range(dice.randrange(25))
    ]
    scores = (None, math.nan, math.inf, -1.0, 0.0, 0.5, 1e300)
    log = [
        LoggedHit(
            session=dice.choice("st"),
            entry=dice.choice("abc"),
            layer=layer,
            place=1 + number % 5,
            score=dice.choice(scores),
            day="",
        )
        for number, layer in enumerate(
            dice.choices(["ranked", "workflows"], k=dice.randrange(30))
        )
    ]
    held = dice.randrange(50)
    missing = dice.randrange(50)
    places = dice.choices(range(20), k=5)
    report = health(items, Indexed(held, held + missing), log, places)
    for metric in report.metrics.values():
        assert metric.value is None or 0 <= metric.value <= 100
        assert metric.raise_with.startswith("mem ") or not metric.raise_with
        assert metric.reason.endswith(".")
        assert (metric.value is None) == (metric.weight == 0)
    assert sum(metric.weight for metric in report.metrics.values()) == pytest.approx(
        1, abs=1e-3
    )
    assert 0 <= report.score <= 100
    dice.shuffle(items)
    assert health(items, Indexed(held, held + missing), log, places) == report

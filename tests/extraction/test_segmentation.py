"""Where a session is cut, what surprises in it, and how its parts are told."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.extraction.episodes import KEY, MOST, segments, surprises_of
from memcli.sessions.model import Stretch, Turn
from tests.extraction.turns import agent, human, ran

SUBJECTS = [
    "invoice tax rounding currency ledger decimal payment refund booking".split(),
    "login session cookie token oauth redirect password csrf browser".split(),
    "docker image container registry layer compose volume network".split(),
    "parser grammar lexer syntax tree node visitor unicode".split(),
]
GLUE = "code should handle case where value comes from function returns result after check passes change".split()


def talk(plan: Sequence[tuple[int, int]], seed: int = 1) -> list[Turn]:
    """A session of (subject, exchanges) in turn; an exchange is four turns."""
    rng = random.Random(seed)

    def say(subject: int, count: int) -> str:
        return " ".join(
            rng.choice(SUBJECTS[subject] if rng.random() < 0.45 else GLUE) for _ in range(count)
        )

    turns: list[Turn] = []
    for subject, exchanges in plan:
        for _ in range(exchanges):
            turns += [human(say(subject, rng.randint(4, 25))), *ran(), agent(say(subject, 40))]
    return turns


def starts(found: Sequence[Stretch]) -> list[int]:
    return [one.start for one in found]


# -- where it is cut


def test_an_empty_session_has_no_segment_and_a_short_one_has_one() -> None:
    """Nothing is nothing; below eight exchanges a session is one episode, whatever it is about."""
    assert segments(()) == ()
    assert starts(segments(talk([(0, 3), (1, 4)]))) == [0]


@pytest.mark.parametrize("seed", range(5))
def test_topics_are_cut_where_they_change(seed: int) -> None:
    """Stretches about different things become segments, cut within one exchange of the change."""
    for plan in ([(0, 8), (1, 8)], [(0, 10), (1, 10), (2, 10)], [(0, 7), (1, 7), (0, 7), (3, 7)]):
        found = starts(segments(talk(plan, seed)))
        changes = [4 * sum(count for _, count in plan[:i]) for i in range(len(plan))]
        assert len(found) == len(changes)
        assert all(abs(a - b) <= 4 for a, b in zip(found, changes, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_one_topic_stays_whole(seed: int) -> None:
    """A long session about one thing is one episode."""
    assert starts(segments(talk([(0, 60)], seed))) == [0]


def test_a_gap_over_three_hours_begins_anew() -> None:
    """Three hours without a turn are none, more are; zones and turns without a time do not matter."""
    first = human("fix the login", "2026-11-20T10:00:00Z")
    for later, count in (
        ("2026-11-20T13:00:00Z", 1),
        ("2026-11-20T13:00:01.500Z", 2),
        ("2026-11-20T15:00:00+02:00", 1),
        ("no time", 1),
    ):
        assert len(segments([first, agent("on it"), human("next", later)])) == count


def test_there_are_at_most_twelve() -> None:
    """Of many gaps the longest are cut."""
    turns = [
        human(f"task {day}", f"2026-{month:02}-{day:02}T10:00:00Z")
        for month in (1, 3)
        for day in range(1, 20)
    ]
    assert len(segments(turns)) == MOST and 19 in starts(segments(turns))


# -- surprise


def test_what_repeats_does_not_surprise_and_what_is_new_does() -> None:
    """The first text is none, the same words again none, eight new words all of it."""
    old = set("invoice tax rounding currency ledger decimal payment refund".split())
    new = set("docker image container registry layer compose volume network".split())
    found = surprises_of([old, old, new, {"tax", "docker"}], {})
    assert found[:2] == [0.0, 0.0] and found[2] >= KEY and found[3] < KEY


def test_surprise_is_on_one_scale() -> None:
    """A talk about one thing surprises less than one that jumps about."""
    (calm,), (wild,) = segments(talk([(0, 7)])), segments(talk([(n % 4, 1) for n in range(7)]))
    assert calm.surprise < wild.surprise


# -- properties

TURNS = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant", "tool"]),
    text=st.one_of(
        st.text(max_size=60),
        st.sampled_from(["fix the parser of dates", "done", "数据库迁移失败了"]),
    ),
    origin=st.sampled_from(["user", "assistant", "tool:Bash", "injected"]),
    key=st.just("k"),
    time=st.sampled_from(
        "|x|2026-11-20T10:00:00Z|2026-11-20T10:00:00|2026-11-21T10:00:00Z|9999-12-31T23:59:59-14:00".split(
            "|"
        )
    ),
    tool=st.sampled_from(["", "", "Bash"]),
    input=st.just({}),
    error=st.booleans(),
)


@settings(max_examples=150)
@given(st.lists(TURNS, max_size=40))
def test_segments_cover_the_session_and_nothing_raises(turns: list[Turn]) -> None:
    """Segments join without holes, hold their key turns, are the same twice."""
    found = segments(turns)
    assert found == segments(turns)
    assert [i for one in found for i in range(one.start, one.end)] == list(range(len(turns)))
    for one in found:
        assert all(one.start <= i < one.end for i in one.key_turns) and 0 <= one.surprise <= 1

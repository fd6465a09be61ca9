"""Where a session is cut, what surprises in it, and how its parts are told."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.extraction.episodes import (
    COMPARED,
    DETAIL,
    KEY,
    MOST,
    content,
    extractive,
    outcome,
    segments,
    surprises_of,
)
from memcli.sessions.model import Segment, Session, Turn

SUBJECTS = [
    "invoice tax rounding currency ledger decimal payment refund booking".split(),
    "login session cookie token oauth redirect password csrf browser".split(),
    "docker image container registry layer compose volume network".split(),
    "parser grammar lexer syntax tree node visitor unicode".split(),
]
GLUE = "code should handle case where value comes from function returns result after check passes change".split()


def human(text: str, time: str = "") -> Turn:
    return Turn("user", text, "user", "u", time=time)


def agent(text: str, time: str = "") -> Turn:
    return Turn("assistant", text, "assistant", "a", time=time)


def ran(error: bool = False) -> list[Turn]:
    call = Turn("assistant", "", "assistant", "c", tool="Bash", input={"command": "pytest"})
    return [call, Turn("tool", "output", "tool:Bash", "r", tool="Bash", error=error)]


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


def told(*turns: Turn) -> tuple[Session, Segment]:
    (segment,) = segments(turns)
    return Session("s", "test", "s.jsonl", turns), segment


def starts(found: Sequence[Segment]) -> list[int]:
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


def test_a_clock_that_goes_back_makes_no_gap() -> None:
    """Only the latest time seen counts."""
    times = ["2026-11-20T10:00:00Z", "2026-11-20T02:00:00Z", "2026-11-20T10:30:00Z"]
    assert len(segments([human(f"turn {time}", time) for time in times])) == 1


def test_there_are_at_most_twelve() -> None:
    """Of many gaps the longest are cut."""
    turns = [
        human(f"task {day}", f"2026-{month:02}-{day:02}T10:00:00Z")
        for month in (1, 3)
        for day in range(1, 20)
    ]
    found = segments(turns)
    assert len(found) == MOST
    assert 19 in starts(found)


def test_vectors_decide_where_there_are_some() -> None:
    """Where an embedder is there its vectors find the break that words do not; it is asked once."""
    turns = [human(f"step {i} of all") for i in range(20)]
    asked = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.append(len(texts))
        return [[1.0, 0.1] if int(text.split()[1]) < 10 else [0.1, 1.0] for text in texts]

    assert starts(segments(turns)) == [0]
    assert starts(segments(turns, embed=embed)) == [0, 10] and asked == [20]


def test_a_long_session_is_not_embedded() -> None:
    """Beyond a bound words are compared: embedding would cost more than it brings."""
    turns = [human(f"step {i} of all") for i in range(COMPARED + 1)]
    assert segments(turns, embed=lambda texts: pytest.fail("asked")) == segments(turns)


# -- surprise


def test_what_repeats_does_not_surprise_and_what_is_new_does() -> None:
    """The first text is none, the same words again none, eight new words all of it."""
    old = set("invoice tax rounding currency ledger decimal payment refund".split())
    new = set("docker image container registry layer compose volume network".split())
    found = surprises_of([old, old, new, {"tax", "docker"}], {})
    assert found[:2] == [0.0, 0.0] and found[2] >= KEY and found[3] < KEY


def test_few_words_are_no_surprise() -> None:
    """A short assent shares no word with what was said and is no key moment."""
    assert surprises_of([{"invoice", "tax"}, set(content("looks good, ship it"))], {})[1] < KEY


def test_key_moments_are_the_exception() -> None:
    """In sessions about one thing fewer than one turn in ten surprises."""
    share = []
    for seed in range(10):
        turns = talk([(0, 20)], seed)
        said = [set(content(turn.text)) for turn in turns if turn.text and not turn.tool]
        share += [one >= KEY for one in surprises_of(said, {})]
    assert len(share) == 400
    assert sum(share) / len(share) < 0.1


def test_what_went_wrong_is_told_with_its_correction() -> None:
    """A short correction is a key turn, so that the detail never has the mistake alone."""
    session, segment = told(
        human("The web build fails on the lockfile, please fix it for the release branch"),
        agent("I ran npm install and updated the package lock of the storefront application"),
        human("No, not npm."),
        agent(
            "Fixed with pnpm, the storefront lockfile is current and the release build is green again"
        ),
        human("thanks"),
    )
    assert 2 in segment.key_turns
    assert "user: No, not npm." in extractive(session, segment).key_text


def test_what_a_person_likes_stays_out_of_the_episode() -> None:
    """How somebody wants to be talked to is private; episodes are committed."""
    session, segment = told(
        human("Migrate the parcel events table to partitions by month, please"),
        agent(
            "The migration is written, it creates twelve partitions and moves the rows in batches"
        ),
        human("Perfect. I like short answers, no bullet lists please."),
    )
    one = extractive(session, segment)
    assert "short answers" not in one.summary + one.key_text and "twelve partitions" in one.key_text


def test_a_surprise_is_a_key_turn() -> None:
    """A turn about something else amid a talk is a key turn, and the segment's surprise is its own."""
    turns = talk([(0, 5)])
    turns.append(
        human(
            "postgres replication deadlock vacuum replica failover bgwriter checkpoint wraparound"
        )
    )
    (segment,) = segments(turns)
    assert segment.surprise >= KEY and len(turns) - 1 in segment.key_turns


# -- telling


def test_an_episode_is_told_in_its_own_words() -> None:
    """Title from the first substantial words, summary of ask and result, both verbatim."""
    session, segment = told(
        human("hi"),
        human(
            "ok please fix the rounding of refunds in the ledger, it is off by one cent. Then commit."
        ),
        *ran(),
        agent("Refunds are rounded half even now. All tests pass."),
        human("perfect, thanks"),
    )
    episode = extractive(session, segment)
    assert episode.title == "Ok please fix the rounding of refunds in the ledger, it is off by one"
    assert 5 <= len(episode.title.split()) <= 15
    assert "Refunds are rounded half even now. All tests pass." in episode.summary
    assert episode.outcome == "success"
    assert episode.key_text.startswith("user: ") and "\n\n" not in episode.key_text


def test_pasted_logs_are_not_the_title() -> None:
    """What the person pasted is neither title nor summary."""
    session, segment = told(
        human("```\nTraceback in the log of the worker\n```\nfind out why the worker dies at night")
    )
    assert extractive(session, segment).title == "Find out why the worker dies at night"


def test_a_session_without_a_person_has_a_title_too() -> None:
    """Without human turns the agent's words, without any words the file's name."""
    assert (
        extractive(*told(agent("Renaming all of the modules now."))).title
        == "Renaming all of the modules now"
    )
    assert extractive(*told(*ran())).title == "S.jsonl"


def test_detail_is_bounded() -> None:
    """The detail of a segment is at most 2,000 characters, one line for each key turn."""
    turns = [human(f"{i} " + "long words " * 300) for i in range(6)]
    assert len(extractive(*told(*turns)).key_text) <= DETAIL


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([human("do it"), agent("Done."), human("works, thanks")], "success"),
        ([human("do it"), agent("Done."), human("no, it still fails")], "failure"),
        ([human("do it"), *ran(), agent("Fixed.")], "success"),
        ([human("do it"), *ran(error=True), agent("Fixed.")], "partial"),
        ([human("do it"), *ran(error=True), agent("I could not find the cause.")], "failure"),
        ([human("still fails"), *ran(), agent("Fixed now.")], "success"),
        ([human("what is this?"), agent("A parser.")], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_outcome_is_the_persons_verdict_else_the_evidence(
    turns: list[Turn], expected: str
) -> None:
    """The person's last words decide unless work went on; else the last command and the agent's
    words.
    """
    assert outcome(turns) == expected


def test_tags_are_what_is_spoken_of() -> None:
    """Tags are words of the subject that come up often."""
    assert set(extractive(*told(*talk([(0, 6)]))).tags) & set(SUBJECTS[0])


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
        [
            "",
            "x",
            "2026-11-20T10:00:00Z",
            "2026-11-20T10:00:00",
            "2026-11-21T10:00:00Z",
            "9999-12-31T23:59:59-14:00",
        ]
    ),
    tool=st.sampled_from(["", "", "Bash"]),
    input=st.just({}),
    error=st.booleans(),
)


@settings(max_examples=150)
@given(st.lists(TURNS, max_size=40))
def test_segments_cover_the_session_and_nothing_raises(turns: list[Turn]) -> None:
    """Segments join without holes, hold their key turns, are the same twice, and can all be told."""
    found = segments(turns)
    assert found == segments(turns)
    assert [i for one in found for i in range(one.start, one.end)] == list(range(len(turns)))
    session = Session("s", "test", "s.jsonl", tuple(turns))
    for one in found:
        assert all(one.start <= i < one.end for i in one.key_turns) and 0 <= one.surprise <= 1
        episode = extractive(session, one)
        assert episode == extractive(session, one)
        assert "\n" not in episode.title and len(episode.key_text) <= DETAIL


def test_long_turns_are_read_by_their_head() -> None:
    """Words beyond what is compared change neither segments nor surprise."""
    turns = talk([(0, 8), (1, 8)])
    longer = [
        turn._replace(text=f"{turn.text} {'x' * 500} " + "noise " * 50_000) for turn in turns[:3]
    ]
    padded = [turn._replace(text=turn.text.ljust(400) if turn.text else "") for turn in turns]
    assert starts(segments(padded)) == starts(segments([*longer, *padded[3:]])) == [0, 32]


def test_breaks_keep_their_distance_and_are_at_most_twelve() -> None:
    """However often the subject changes, no segment is a scrap, and there are not more than twelve."""
    found = segments(talk([(i % len(SUBJECTS), 4) for i in range(40)], seed=3))
    assert 2 <= len(found) <= MOST
    assert found[0].start == 0 and found[-1].end == 40 * 4 * 4


def test_what_was_said_long_ago_is_new_again() -> None:
    """The running event forgets: after hundreds of texts, words of the first surprise as new ones
    do.
    """
    first, other = (
        set("invoice tax rounding currency ledger decimal payment refund".split()),
        set(SUBJECTS[2]),
    )
    new = set("parser grammar lexer syntax tree node visitor unicode".split())
    said = [first, *[other] * 300]
    old_again, never = surprises_of([*said, first], {})[-1], surprises_of([*said, new], {})[-1]
    assert old_again == pytest.approx(never, abs=1e-6) and old_again == pytest.approx(1.0)
    assert surprises_of([*said, other], {})[-1] == 0.0

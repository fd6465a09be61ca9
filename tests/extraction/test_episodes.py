"""Sessions in stretches: where they are cut, what surprises; none is told without an
effect."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.extraction import rules
from memcli.extraction.episode_titles import title_of
from memcli.extraction.episodes import DETAIL, outcome, told
from memcli.extraction.segments import KEY, MOST, segments, surprises_of
from memcli.sessions import speakers
from memcli.sessions.model import Session, Turn
from tests.extraction.turns import agent, human, ran

EDIT = Turn(
    role="assistant",
    text="",
    origin="assistant",
    key="c",
    tool="Edit",
    input={"file_path": "src/ledger.py"},
)


def tell(*turns):
    session = Session(id="s", format="test", name="s.jsonl", turns=turns)
    (segment,) = segments(turns)
    return told(session, segment, rules.find(session)[0])


@pytest.mark.parametrize(
    "turns", [
        (human("hi"), agent("Hello! What shall we do?")),
        (human("what does this module do?"), agent("It parses dates.")),
        (human("fix the build"), agent("API Error: no answer")) * 4,
        (human("read the code"), *ran("ls"), agent("I read all of it.")),
    ],
)  # fmt: skip
def test_what_had_no_effect_makes_none(turns):
    """Small talk, a question that was only read, an aborted start."""
    assert tell(*turns) is None


def test_the_title_says_what_was_done():
    """The subject of the commit, else the request, else the agent's closing words, else
    the files."""
    asked = human(
        "ok please fix the rounding of refunds in the ledger, it is off by one cent"
    )
    report = agent(
        "Done. I changed the rounding of refunds in `src/ledger.py` to half even. All 12 tests pass."
    )
    one = tell(asked, EDIT, report)
    wanted = "Fix the rounding of refunds in the ledger, it is off by one cent"
    assert one and one.title == wanted
    unsaid = human("continue")
    one = tell(unsaid, EDIT, agent("Done, I changed the export to Decimal."))
    assert one and one.title == "Done, I changed the export to Decimal"
    commit = ran('git commit -m "Round refunds half even in the ledger"')
    one = tell(asked, EDIT, *commit, report)
    assert one and one.title == "Round refunds half even in the ledger"
    vague = human("Can you look at it?")
    one = tell(vague, EDIT, agent("Ok."))
    assert one and one.title == "Changed `src/ledger.py`"
    one = tell(
        human("rework it"), EDIT, agent("Reworked " + "the longwinded ledger " * 12)
    )
    assert (
        one
        and len(one.title) <= 111
        and one.title.endswith(("longwinded…", "ledger…", "the…"))
    )
    one = tell(asked, EDIT, agent("All good."))
    assert one and one.title.startswith("Fix the rounding of refunds")
    denies = human("There may be no floats here\nno more than one cent is ever lost")
    assert "No more than one cent" in title_of([denies, EDIT])


def test_the_title_of_many_requests_is_the_first_and_how_many_more():
    """The first that led to changes is told, then what led to most; a question, a path or
    a yes is no title."""
    asked = [
        "@src/login.py",
        "Push the branch to the remote server",
        "Add a page for the settings of a profile",
        "Move the button of the search to the left",
        "Rename the column of prices in the table",
        "Delete the old images of the gallery",
    ]
    turns = []
    for number, text in enumerate(asked):
        turns += [human(text), EDIT, agent(f"Done, that was number {number}.")]
    turns.append(agent("I fixed the typo in the footer of the landing page."))
    one = tell(*turns)
    assert one and one.title == "Add a page for the settings of a profile, and 3 more"
    moved = [human("Move the search to the left"), EDIT, human("yes, go on"), EDIT]
    one = tell(human("Rename the column of prices in the table"), EDIT, *moved)
    wanted = "Rename the column of prices in the table; Move the search to the left"
    assert one and one.title == wanted
    turns[2:2] = [human("Create a map of all shops"), EDIT, EDIT]
    assert title_of(turns[2:]) == (
        "Create a map of all shops; Add a page for the settings of a profile, and 3 more"
    )
    assert title_of([*turns[5:], *turns[2:5]]) == (
        "Add a page for the settings of a profile; Create a map of all shops, and 3 more"
    )


def test_a_session_that_begins_with_what_is_wrong_is_called_by_it():
    """Not by the first order behind it; a chore that opens a session names nothing."""
    later = [human("Write a message for these changes."), EDIT]
    wrong = human("The list of prices jumps to the top.")
    both = "The list of prices jumps to the top; Write a message for these changes"
    assert title_of([wrong, EDIT, *later]) == both
    pasted = human("The list of prices jumps to the top.\n" + "x\n" * 9)
    assert title_of([pasted, EDIT, *later]) == both.partition("; ")[2]
    chore = human("Read the notes of the last release about prices.")
    assert title_of([chore, EDIT, *later]) == both.partition("; ")[2]


def test_the_name_of_a_session_is_its_title():
    """A model gave it in view of the talk; the beginning of what was typed first, which
    a client takes where it has none, is no name."""
    order = human("Add a page for the settings of a profile, and link it.")
    turns = [order, EDIT, agent("Done.")]
    asked = "Add a page for the settings of a profile, and link it"
    assert title_of(turns, "Page of the settings") == "Page of the settings"
    assert title_of(turns, "page-of-settings") == "Page of settings"
    assert title_of(turns, "Chat") == asked
    assert title_of(turns, "Add a page for the settings of a pr") == asked
    later = [human("Move the search to the left"), EDIT]
    assert title_of([*turns, *later], "Page of the settings") == (
        "Page of the settings; Move the search to the left"
    )


def test_a_request_that_announces_a_list_is_a_title():
    """Without the colon that announces; a question that was put first is none."""
    said = human("Help me set up a parser of invoices with these rules:\n- no floats")
    one = tell(human("why is it slow?"), said, EDIT, agent("Done."))
    assert one and one.title == "Set up a parser of invoices with these rules"


def test_a_pasted_error_is_no_title():
    """What was done about it is, else the files."""
    error = human("TypeError: cannot read properties of undefined at total (cart.js:3)")
    one = tell(error, EDIT, agent("I guarded the total of an empty cart."))
    assert one and one.title == "I guarded the total of an empty cart"
    one = tell(error, EDIT, agent("Ok."))
    assert one and one.title == "Changed `src/ledger.py`"


def test_the_summary_holds_what_decided():
    """The closing words, and what was learned."""
    one = tell(
        human("speed up the orders page"), EDIT, agent("One query now."),
        human("No, we never cache orders, because the auditors check them."), EDIT,
        agent("Understood. The cache is removed and the orders page asks for its rows in one query."),
    )  # fmt: skip
    assert one and "asks for its rows" in one.summary and "auditors" in one.summary


def test_what_a_person_likes_stays_out_of_the_episode():
    """How somebody wants to be talked to is private; episodes are committed."""
    one = tell(
        human("Migrate the parcel events table to partitions by month, please"), EDIT,
        agent("The migration is written, it creates twelve partitions and moves the rows in batches."),
        human("Always keep your answers short and concise, please."),
    )  # fmt: skip
    assert (
        one
        and "concise" not in one.summary + one.key_text
        and "twelve partitions" in one.key_text
    )


def test_detail_is_bounded():
    """At most 2,000 characters, one line for each key turn."""
    turns = [
        turn
        for number in range(6)
        for turn in (human(f"{number} " + "long words " * 300), EDIT)
    ]
    one = tell(*turns)
    assert one and len(one.key_text) <= DETAIL


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([human("do it"), agent("Done."), human("works, thanks")], "success"),
        ([human("do it"), agent("Done."), human("no, it still fails")], "failure"),
        ([human("do it"), *ran(), agent("Fixed.")], "success"),
        ([human("do it"), *ran(error=True), agent("2 passed, 0 failed")], "partial"),
        ([human("do it"), *ran("./check-prerequisites.sh"), agent("Done.")], "unknown"),
        ([human("do it"), *ran(error=True), agent("3 tests failed")], "failure"),
        ([human("still fails"), *ran(), agent("Fixed now.")], "success"),
        ([human("do it"), agent("All 20 tests pass.")], "unknown"),
        ([human("do it"), *ran("ls specs/checklist.md"), agent("Done.")], "unknown"),
        ([human("do it"), *ran('git commit -m "x"'), agent("Done.")], "unknown"),
        ([agent("Done."), human("Great, now add the other page too.")], "unknown"),
        ([human("do it"), *ran(), *ran('git commit -m "x"')], "success"),
        ([human("do it"), *ran(), EDIT], "unknown"),
        ([human("do it"), *ran(), human("it is too high")], "unknown"),
        ([human("do it"), agent("Done and finished.")], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_outcome_is_the_persons_word_else_the_evidence(turns, expected):
    """Tests and builds; what the agent claims is none, nor is a commit."""
    assert outcome(turns) == expected


SUBJECTS = [
    "invoice tax rounding currency ledger decimal payment refund booking".split(),
    "login session cookie token oauth redirect password csrf browser".split(),
    "docker image container registry layer compose volume network".split(),
    "parser grammar lexer syntax tree node visitor unicode".split(),
]
GLUE = "code should handle case where value comes from function returns result after check passes change".split()


def talk(plan, seed=1):
    """A session of (subject, exchanges) in turn; an exchange is four turns."""
    rng = random.Random(seed)

    def say(subject, count):
        return " ".join(
            rng.choice(SUBJECTS[subject] if rng.random() < 0.45 else GLUE)
            for _ in range(count)
        )

    turns = []
    for subject, exchanges in plan:
        for _ in range(exchanges):
            turns += [
                human(say(subject, rng.randint(4, 25))),
                *ran(),
                agent(say(subject, 40)),
            ]
    return turns


def starts(found):
    return [one.start for one in found]


def test_an_empty_session_has_no_segment_and_a_short_one_has_one():
    """Nothing is nothing; below eight exchanges a session is one episode, whatever it
    is about."""
    assert segments(()) == ()
    assert starts(segments(talk([(0, 3), (1, 4)]))) == [0]


@pytest.mark.parametrize("seed", range(5))
def test_topics_are_cut_where_they_change(seed):
    """Stretches about different things become segments, cut within one exchange of the
    change."""
    for plan in (
        [(0, 8), (1, 8)],
        [(0, 10), (1, 10), (2, 10)],
        [(0, 7), (1, 7), (0, 7), (3, 7)],
        [(0, 60)],
    ):
        found = starts(segments(talk(plan, seed)))
        changes = [
            4 * sum(count for _, count in plan[:number]) for number in range(len(plan))
        ]
        assert len(found) == len(changes)
        assert all(abs(a - b) <= 4 for a, b in zip(found, changes, strict=True))


def test_a_gap_over_three_hours_begins_anew():
    """Three hours without a turn are none, more are; zones and turns without a time do
    not matter."""
    first = human("fix the login", "2026-11-20T10:00:00Z")
    for later, count in (
        ("2026-11-20T13:00:00Z", 1),
        ("2026-11-20T13:00:01.500Z", 2),
        ("2026-11-20T15:00:00+02:00", 1),
        ("no time", 1),
    ):
        assert len(segments([first, agent("on it"), human("next", later)])) == count


def test_there_are_at_most_twelve():
    """Of many gaps the longest are cut."""
    turns = [
        human(f"task {day}", f"2026-{month:02}-{day:02}T10:00:00Z")
        for month in (1, 3)
        for day in range(1, 20)
    ]
    assert len(segments(turns)) == MOST and 19 in starts(segments(turns))


def test_what_repeats_does_not_surprise_and_what_is_new_does():
    """The first text is none, eight new words all of it; a talk that jumps about more
    than a calm one."""
    old = frozenset(
        "invoice tax rounding currency ledger decimal payment refund".split()
    )
    new = frozenset(
        "docker image container registry layer compose volume network".split()
    )
    found = surprises_of([old, old, new, frozenset({"tax", "docker"})], {})
    assert found[:2] == [0.0, 0.0] and found[2] >= KEY and found[3] < KEY
    (calm,) = segments(talk([(0, 4)]))
    (wild,) = segments(talk([(number, 1) for number in range(4)]))
    assert calm.surprise < wild.surprise


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


@pytest.mark.long
@settings(max_examples=100)
@given(st.lists(TURNS, max_size=40))
def test_segments_cover_the_session_and_nothing_raises(turns):
    """Segments join without holes, hold their key turns, are the same twice."""
    found = segments(turns)
    assert found == segments(turns)
    assert [i for one in found for i in range(one.start, one.end)] == list(
        range(len(turns))
    )
    for one in found:
        assert (
            all(one.start <= i < one.end for i in one.key_turns)
            and 0 <= one.surprise <= 1
        )


def test_what_stands_for_pasted_lines_is_no_title():
    """The next sentence of the person is."""
    log = "\n".join(
        f"2026-11-20 10:00:{number:02} ERROR no answer" for number in range(40)
    )
    asked = f"Here.\n{log}\nMake the client wait for the answer of the server."
    turns = (human(speakers.human(asked)), EDIT, agent("Done."))
    assert title_of(turns) == "Make the client wait for the answer of the server"


@pytest.mark.parametrize(("text", "least"), [
    ("Wait, what? I had no idea that refunds go through the old queue. This changes everything.", 1.0),
    ("Wait, what?", 0.7),
    ("Das ändert alles, die Frist gilt ja gar nicht.", 1.0),
    ("完全没想到会这样", 1.0),
])  # fmt: skip
def test_what_a_person_calls_a_surprise_is_a_key_moment(text, least):
    """Whatever its words share with those before; the same from an agent is none."""
    before = (
        human("Look at the refunds queue."),
        agent("Refunds go through the queue."),
    )
    (segment,) = segments((*before, human(text), agent("Yes."), EDIT))
    assert segment.surprise >= least and 2 in segment.key_turns
    (plain,) = segments(
        (*before, human("Go on with the refunds queue."), agent(text), EDIT)
    )
    assert plain.surprise < 0.7

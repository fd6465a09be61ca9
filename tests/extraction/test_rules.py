"""What the rules engine learns from a session, and what it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.extraction.rules import (
    Before,
    corrects,
    error_line,
    essence,
    family,
    find,
    of_turn,
    recoveries,
    title,
)
from memcli.sessions.model import Finding, Session, Turn
from memcli.text.secrets import find_secrets
from tests.bench.rules import CLASSES, kind, load, scores

ACTED = Before(True, "I have changed it.", "npm install")


def classes(text: str, before: Before = ACTED) -> list[str]:
    return [kind(one) for one in of_turn(text, before)]


def call(command: str, tool: str = "Bash") -> Turn:
    return Turn("assistant", "", "assistant", "c", tool=tool, input={"command": command})


def result(text: str, error: bool = False, tool: str = "Bash") -> Turn:
    return Turn("tool", text, f"tool:{tool}", "r", tool=tool, error=error)


def says(text: str) -> Turn:
    return Turn("assistant", text, "assistant", "a")


def edit(path: str) -> Turn:
    return Turn("assistant", "", "assistant", "e", tool="Edit", input={"file_path": path}, cwd="/r")


def typed(text: str) -> Turn:
    return Turn("user", text, "user", "u")


def learned(*turns: Turn) -> tuple[Finding, ...]:
    return find(Session("s", "test", "s.jsonl", turns))


# -- the labelled set


def test_the_bars_hold_on_both_parts_of_the_labelled_set() -> None:
    """Precision is at least 90 % and recall at least 60 %, on turns that were tuned on and on
    others.
    """
    rows = load()
    for part in ("dev", "held-out"):
        score = scores(row for row in rows if row.part == part)["all"]
        assert score.right + score.missed >= 40
        assert score.precision >= 0.9 and score.recall >= 0.6


def test_the_labelled_set_is_as_large_and_as_mixed_as_it_says() -> None:
    """At least 200 turns, each once, four languages, and nothing to learn from at least 45 % of
    them.
    """
    rows = load()
    assert len(rows) >= 200 and len({(row.before, row.text) for row in rows}) == len(rows)
    assert {row.lang for row in rows} == {"en", "de", "es", "zh"}
    assert sum(row.label == "nothing" for row in rows) >= 0.45 * len(rows)
    assert {row.label for row in rows} == {*CLASSES, "nothing"}


# -- classes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I prefer tabs over spaces", "preference"),
        ("always use pathlib", "preference"),
        ("Never commit generated files.", "preference"),
        ("keep your answers short", "preference"),
        ("Antworte bitte immer auf Deutsch", "preference"),
        ("nunca uses var", "preference"),
        ("我更喜欢用函数", "preference"),
        ("From now on every PR needs a changelog line", "policy"),
        ("tests must not hit the network", "policy"),
        ("don't ever push to main", "policy"),
        ("Alle Endpunkte müssen ein Limit haben", "policy"),
        ("禁止直接推送到 main 分支", "policy"),
        ("no, we use pnpm here, not npm", "correction"),
        ("that's wrong, the timeout is in seconds", "correction"),
        ("stop mocking the database, use the fake server instead", "correction"),
        ("nein, wir benutzen yarn, nicht npm", "correction"),
        ("不对，不要用 npm，改用 pnpm", "correction"),
        ("remember that port 5433 is the test database", "remember"),
        ("记住，测试环境每天凌晨会重置", "remember"),
        ("ask me before you touch infra/", "escalation"),
        ("you can merge without asking if CI is green", "escalation"),
        ("puedes hacer commit sin preguntar", "escalation"),
    ],
)
def test_what_is_said_for_good_is_learned(text: str, expected: str) -> None:
    """Each class has its wordings, in several languages."""
    assert classes(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "should we always use uuid4?",
        "never mind",
        "always return an empty list for now",
        "this time never touch the tests",
        "Sarah said we must never use raw sql",
        "if we always used locks, would that help",
        "don't remember this",
        "remember to run the tests",
        "do you remember that bug?",
        "no, the other file",
        "now rename it back",
        "ok do it",
        "no, 24",
        "the api always returns 500",
        "it must be the cache",
        "users must be able to log in",
        "each row must have a delete button, add one",
        "the linter says imports must be sorted",
        "use the second approach instead",
        "no use approach B instead",
        "¿siempre falla?",
        "必须重启吗？",
    ],
)
def test_what_is_for_the_moment_asked_or_steered_is_nothing(text: str) -> None:
    """Questions, hypotheses, reported words, product wishes and steering are not remembered."""
    assert classes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nalways use tabs\n```",
        "```\nalways use tabs",
        "> never use tabs\nsee above",
        'what is "Never trust user input. Always use tabs." about',
        "here is the output:\nalways use tabs",
        "translate: always use tabs",
        "error: never use this in production",
        "2026-01-01 10:00 always use tabs",
        "+always use tabs",
        "look: `always use tabs`",
    ],
)
def test_what_was_pasted_gives_no_advice(text: str) -> None:
    """Fences, quotes, code, logs, diffs and what a colon announces are not the person's words."""
    assert classes(text) == []


def test_only_a_person_gives_advice() -> None:
    """Tool output, files and the agent's own words are never directives."""
    words = "From now on always use tabs, never spaces."
    assert (
        learned(call("cat x"), result(words), says(words), Turn("user", words, "injected", "i"))
        == ()
    )


def test_a_correction_needs_something_to_correct() -> None:
    """The words of a correction are none when the agent has not done anything yet."""
    text = "no, the build is `just build`, not npm"
    assert classes(text, Before()) == [] and classes(text) == ["correction"]


def test_a_choice_among_what_was_offered_is_no_preference() -> None:
    """ "I prefer tabs" answers a question; with "always" it is meant for good."""
    asked = Before(True, "Tabs or a sidebar?")
    assert classes("I prefer tabs", asked) == []
    assert classes("I always prefer tabs", asked) == ["preference"]


def test_manner_is_the_persons_and_work_is_not() -> None:
    """How answers are given is about the person; how commits are written is about the work."""
    for text, person in (
        ("keep your answers short", True),
        ("always respond in english", True),
        ("no emojis in commit messages", False),
        ("always use pathlib", False),
    ):
        (found,) = of_turn(text, Before())
        assert found.about_person is person, text


def test_remember_this_points_to_what_was_just_said() -> None:
    """It is the person's sentence before it, else the last one of the agent."""
    (own,) = learned(
        says("Deployed."), typed("The deploy key rotates on the first. Remember that.")
    )
    assert own.body == "The deploy key rotates on the first."
    (agents,) = learned(says("Done. The worker needs REDIS_URL to be set."), typed("remember this"))
    assert (agents.body, agents.kind, agents.priority) == (
        "The worker needs REDIS_URL to be set.",
        "fact",
        "high",
    )


def test_a_correction_names_its_command_and_keeps_the_words() -> None:
    """The body is verbatim but for the "no", the title is trimmed, the command it speaks of is a
    glob.
    """
    (found,) = learned(
        call("npm install lodash"), result("ok"), typed("No,  we use pnpm here, not npm!")
    )
    assert found == Finding(
        "corrective",
        "We use pnpm here, not npm",
        "We use pnpm here, not npm!",
        2,
        "pitfall",
        type="corrective",
        commands=("npm install*",),
    )


def test_advice_may_follow_in_the_next_sentence() -> None:
    """A correction is its opening and the sentences up to the advice."""
    (found,) = of_turn("no. don't paper over it, fix the caller instead. thanks", ACTED)
    assert found.body == "Don't paper over it, fix the caller instead."


def test_the_same_words_are_learned_once() -> None:
    """Of equal wordings in one session the first stands, and a turn gives three findings at most."""
    found = learned(typed("always use tabs"), says("ok"), typed("Always use tabs"))
    assert [one.turn for one in found] == [0]
    many = "\n".join(f"- always use tool{i}" for i in range(9))
    assert len(of_turn(many, Before())) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ok, btw i prefer tabs over spaces.", "Prefer tabs over spaces"),
        ("please always use `x`!", "Always use `x`"),
        ("不对，不要用 npm。", "不要用 npm"),
        ("word " * 40, "Word" + " word" * 15 + "…"),
    ],
)
def test_titles_are_the_persons_words(text: str, expected: str) -> None:
    """A title is trimmed and cut, never invented."""
    assert title(text) == expected


# -- errors followed by a fix


def test_a_cause_and_a_fix_are_a_pitfall() -> None:
    """Command, error, the agent's cause, the edits and the success make one corrective finding."""
    (found,) = learned(
        call("cd /r && pytest -q"),
        result("E   KeyError: 'TZ'\n1 failed", error=True),
        says("The problem was that TZ is unset on CI. Fixing it."),
        edit("/r/tests/conftest.py"),
        call("pytest -q"),
        result("1 passed"),
    )
    assert found.title == "pytest failed: KeyError: 'TZ'"
    assert (
        "`KeyError: 'TZ'`" in found.body and "The problem was that TZ is unset on CI." in found.body
    )
    assert (found.scope, found.kind, found.type, found.turn) == (
        "corrective",
        "pitfall",
        "corrective",
        1,
    )
    assert (found.paths, found.commands, found.tainted) == (
        ("tests/conftest.py",),
        ("pytest*",),
        False,
    )


def test_another_command_that_had_to_come_first_is_a_pitfall() -> None:
    """What had to be run first is worth knowing without a stated cause; so is an added variable."""
    failed = (call("npm run build"), result("Error: bindings not found", error=True))
    passed = (call("npm run build"), result("ok"))
    (found,) = learned(*failed, call("npm rebuild"), result("ok"), *passed)
    assert "ran `npm rebuild`" in found.body
    (other,) = learned(*failed, call("CI=1 npm run build"), result("ok"))
    assert "`CI=1 npm run build` passed" in other.body


@pytest.mark.parametrize(
    "turns",
    [
        [call("pytest"), result("Error: x", error=True), call("pytest"), result("ok")],
        [
            call("pytest"),
            result("Error: x", error=True),
            edit("/r/a.py"),
            call("pytest"),
            result("ok"),
        ],
        [
            call("grep x y"),
            result("error: no", error=True),
            call("make db"),
            result("ok"),
            call("grep x y"),
            result(""),
        ],
        [call("pytets"), result("pytets: not found", error=True), call("pytest"), result("ok")],
        [call("cat a"), result("No such file", error=True), call("cat b"), result("ok")],
        [call("make a"), result("Error: x", error=True), call("npm i"), result("ok")],
        [result("Error: x", error=True)],
    ],
)
def test_daily_work_is_no_pitfall(turns: list[Turn]) -> None:
    """Retries, edit and run again, greps without hits, typos and missing files teach nothing."""
    assert recoveries(turns) == []


def test_an_error_line_is_short_and_has_no_secret() -> None:
    """The line that names the error, at most 200 characters, without backticks and secrets."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    line = error_line(f"x\nValueError: bad `token` {token} {'y ' * 200}\n3 lines")
    assert (
        line.startswith("ValueError: bad 'token'") and len(line) <= 200 and not find_secrets(line)
    )
    assert error_line("all is well") == ""


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cd /x && FOO=1 pytest -q a.py 2>&1 | tail -5", "pytest"),
        ("python -m pytest tests", "pytest"),
        ("uv run pytest", "pytest"),
        ("npm run build --if-present", "npm run build"),
        ("docker compose up -d", "docker compose"),
        ("./bin/dev up", "dev"),
        ("", ""),
        ("&&;", ""),
    ],
)
def test_calls_of_one_command_are_told(command: str, name: str) -> None:
    """Directories, variables, runners and pipes do not make another command."""
    assert family(command) == name


# -- properties

PIECES = st.sampled_from(
    [
        "always use ",
        "never ",
        "no, ",
        "not ",
        "instead of ",
        "remember ",
        '"',
        "`",
        "```",
        "> ",
        ":",
        "\n",
        ". ",
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=20).map("".join))
TURNS = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant", "tool"]),
    text=TEXTS,
    origin=st.sampled_from(["user", "assistant", "tool:Bash", "injected"]),
    key=st.just("k"),
    tool=st.sampled_from(["", "Bash", "Edit", "apply_patch"]),
    input=st.dictionaries(
        st.sampled_from(["command", "cmd", "file_path", "input"]),
        st.one_of(TEXTS, st.none(), st.lists(TEXTS, max_size=3)),
        max_size=2,
    ),
    error=st.booleans(),
)


@settings(max_examples=150)
@given(st.lists(TURNS, max_size=12))
def test_nothing_raises_and_the_answer_is_always_the_same(turns: list[Turn]) -> None:
    """Whatever a session holds, the findings are well-formed, in order, and equal the second time."""
    found = learned(*turns)
    assert found == learned(*turns)
    assert [one.turn for one in found] == sorted(one.turn for one in found)
    for one in found:
        assert one.body and len(one.title) <= 100 and "\n" not in one.title


@pytest.mark.parametrize(
    "unit", ["no, ", "not x", "always ", "a ", "`", '"', "ok ", "(", "我", ", not", "must be "]
)
def test_hostile_runs_are_read_within_bounds(unit: str) -> None:
    """A run of 400,000 characters is read by its head and tail alone, in one line or in many."""
    for text in (unit * (400_000 // len(unit)), f"{unit}\n" * (400_000 // len(unit))):
        assert len(of_turn(text, ACTED)) <= 3
        assert len(essence(text)) <= len(text)


def test_eight_recovered_errors_of_a_session_are_enough() -> None:
    """The first eight stand; a session that fails all day does not flood the memory."""
    turns: list[Turn] = []
    for i in range(11):
        turns += [call(f"tool{i} build"), result(f"Error: part {i} not found", error=True)]
        turns += [call(f"tool{i} build --parts"), result("ok")]
    found = recoveries(turns)
    assert [one.title for one in found] == [
        f"tool{i} failed: Error: part {i} not found" for i in range(8)
    ]


def test_uv_and_poetry_run_programs_but_are_commands_of_their_own_too() -> None:
    """`uv run pytest` is pytest; `uv pip install` is not pip install run by something."""
    assert family("uv run pytest -q") == family("poetry run pytest") == "pytest"
    assert family("uv pip install x") == "uv pip"


def test_what_is_said_after_the_person_spoke_is_no_cause() -> None:
    """Then another subject has begun."""
    failed = (call("npm run build"), result("Error: bindings not found", error=True))
    passed = (call("npm run build --force"), result("ok"))
    said = says("The problem was that the cache is stale.")
    (with_cause,) = recoveries([*failed, *passed, said])
    (without,) = recoveries([*failed, *passed, typed("Now the docs."), said])
    assert "The problem was" in with_cause.body and "The problem was" not in without.body


def test_no_to_one_thing_and_an_order_are_a_correction() -> None:
    """ "No, not npm. Use pnpm" teaches when npm was run or it was said before, and names the
    command.
    """
    (found,) = of_turn("No, not npm. Use pnpm in web/, package-lock.json must not exist.", ACTED)
    assert found.scope == "corrective" and found.commands == ("npm install*",)
    assert found.title == "Use pnpm in web/, package-lock.json must not exist"
    assert found.body.startswith("Not npm. Use pnpm")
    assert classes("No, not npm. Use pnpm please.", Before(True, "Done.", "make")) == []
    said_before = "No, not npm. Use pnpm please. This is the third time."
    assert classes(said_before, Before(True, "Done.", "make")) == ["correction"]
    assert classes("No, not yet. Use the staging server first.") == []


def test_a_correction_keeps_its_reason() -> None:
    """The sentence that says why, or what alone is right, belongs to the correction; a question
    does not.
    """
    (found,) = of_turn(
        "No, weights are grams, not kilograms. Only the adapter converts, because we once billed 3.2 kg as 3."
        " Can you fix it?",
        ACTED,
    )
    assert found.body == (
        "Weights are grams, not kilograms. Only the adapter converts, because we once billed 3.2 kg as 3."
    )
    (whole,) = of_turn(
        "No, don't run the whole suite, run tests/a instead. It takes forty minutes.", ACTED
    )
    assert whole.body.endswith("It takes forty minutes.")


def test_the_reason_of_a_correction_is_no_finding_that_is_swallowed() -> None:
    """A sentence that teaches by itself stays a finding of its own."""
    text = "No, use httpx instead. All carrier calls must have a timeout because UPS hangs."
    assert classes(text) == ["correction", "policy"]


def test_a_decision_is_learned_with_its_reason_only() -> None:
    """ "We decided ... because" is a decision; without a reason, or for the moment, it is nothing."""
    (found,) = of_turn("We decided to poll every ten minutes because webhooks get lost.", ACTED)
    assert (found.kind, found.scope, found.type) == ("decision", "observations", "declarative")
    assert classes("We decided to poll every ten minutes.") == []
    assert classes("For now we decided to poll because it is late.") == []
    assert classes("Wir haben uns für Postgres entschieden, weil alle es kennen.") == ["decision"]


def test_remember_that_and_more_keeps_both() -> None:
    """What "remember that and ..." points to is kept together with what follows."""
    (found,) = of_turn(
        "We decided to poll because webhooks get lost. Please remember that and don't propose webhooks"
        " again.",
        ACTED,
    )
    assert (
        found.kind == "decision" and found.title == "We decided to poll because webhooks get lost"
    )
    assert (
        found.body == "We decided to poll because webhooks get lost. Don't propose webhooks again."
    )
    assert classes("Remember that and the other thing") == []


def test_short_answers_are_a_matter_of_manner() -> None:
    """ "I like short answers" is about the person."""
    (found,) = of_turn("Perfect. I like short answers, no bullet lists please.", ACTED)
    assert found.about_person


def test_corrections_of_manner_are_not_of_the_work() -> None:
    """What is private about a person is no correction that an episode must tell."""
    assert corrects("Nice. No, not npm.") and corrects("Stop, ask me before you run migrations.")
    assert not corrects("No emojis please.") and not corrects("No, wait. I like short answers.")
    assert not corrects("Looks good.") and not corrects("")


def test_a_sub_command_may_have_a_digit() -> None:
    """A correction of `make e2e` is about that target and not about every call of make."""
    (found,) = of_turn(
        "No, don't run make e2e, it books real pickups.", Before(True, "", "make e2e")
    )
    assert found.commands == ("make e2e*",)

"""The labels are whole, and the scorer finds and compares what they point to."""

import re
from collections import Counter

from memcli.sessions.model import Turn
from tests.bench import learning
from tests.bench.labels import fetch
from tests.bench.labels.fetch import HERE, LATER, PARTS, cut_to, part_of, rows

SPOKEN = "Thanks. Tests always go\n to the folder checks, never beside the code."
RULE = "Tests always go to the folder checks"


def turn(text, line):
    return Turn("user", text, "user", f"key-{line}", line=line, offset=10 * line)


def place(line, start):
    at = [start, start + len(RULE)]
    return {"line": line, "at": at, "digest": learning.digest(RULE)}


def test_each_session_is_in_the_part_of_its_repository():
    sessions = rows("sessions.jsonl")
    assert {session["part"] for session in sessions} == set(PARTS)
    for session in sessions:
        assert session["part"] in (*LATER, part_of(session["repository"]))
        assert re.fullmatch(r"[0-9a-f]{40}", session["commit"])
    for part in LATER:
        later = {row["repository"] for row in sessions if row["part"] == part}
        others = {row["repository"] for row in sessions if row["part"] != part}
        assert later.isdisjoint(others)
    most = Counter(session["repository"] for session in sessions).most_common(1)
    assert most[0][1] <= 6


def test_each_label_belongs_to_a_session_that_teaches():
    teaching = {row["id"] for row in rows("sessions.jsonl") if row["teaches"]}
    lessons = rows("lessons.jsonl")
    assert {lesson["session"] for lesson in lessons} == teaching
    for lesson in lessons:
        assert lesson["weight"] in ("clear", "arguable")
        for where in (lesson, *lesson["also"]):
            assert where["at"][0] < where["at"][1]


def test_a_quote_is_found_where_its_label_says_and_where_it_moved_to():
    turns = [turn("Hello", 1), turn(SPOKEN, 5)]
    there = learning.located(place(5, 8), turns)
    moved = learning.located(place(4, 90), turns)
    assert there == moved == learning.Quote(RULE, frozenset({"key-5", "@50"}))
    assert learning.located(place(5, 8), turns[:1]) is None


def test_an_entry_is_right_in_the_words_of_the_lesson_only():
    quote = learning.Quote(RULE, frozenset({"@50"}))
    worded = "All checks live in a directory named checks"
    lesson = learning.Lesson(quotes=(quote,), worded=worded, clear=True)

    def entry(text):
        return learning.Entry(title=text, said=text, sources=("@50",))

    assert learning.says(entry("Tests go to the folder checks"), lesson)
    assert learning.says(entry("A directory named checks holds all checks"), lesson)
    assert not learning.says(entry("Thanks for the quick answer"), lesson)


def test_an_interval_holds_the_share_and_widens_with_fewer_repositories():
    many = {f"a/{number}": (number % 2, 1) for number in range(60)}
    few = dict(list(many.items())[:6])
    low, high = learning.interval(few)
    inner_low, inner_high = learning.interval(many)
    assert low < inner_low <= 0.5 <= inner_high < high


def test_a_session_of_a_longer_file_is_cut_to_its_lines():
    data = b"# one\na\n# two\nb"
    assert cut_to(data, None) == data
    assert cut_to(data, [3, 4]) == b"# two\nb"


def test_every_part_is_fetched_when_none_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "fetch", lambda *_: 1)  # missing
    assert fetch.main(tmp_path) == 1


def test_what_was_read_twice_is_in_the_labels():
    twice = set((HERE / "read_twice.txt").read_text("utf-8").split())
    assert twice <= {row["id"] for row in rows("sessions.jsonl")}
    assert {row["session"] for row in rows("second.jsonl")} <= twice

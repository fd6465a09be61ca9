"""Of two about one thing the newer leads where its words say that it changes something,
and only there."""

from pathlib import Path
from typing import NamedTuple

from memcli.history.record import opened
from memcli.index.past import search
from memcli.memory.docs import Doc

CASES = Path(__file__).with_name("changes.txt")
NEEDED = 50  # of the 62 in which something changes, the newer is first
ALLOWED = 2  # of the 33 in which it is only mentioned, it is marked older


class Case(NamedTuple):
    """Something decided, a later session or commit, and what is asked."""

    kind: str
    language: str
    source: str
    older: str
    newer: str
    question: str


def cases():
    blocks = CASES.read_text(encoding="utf-8").strip().split("\n\n")[1:]
    listed = []
    for block in blocks:
        head, older, newer, question = block.splitlines()
        kind, language, source = head.split()
        listed.append(
            Case(
                kind=kind,
                language=language,
                source=source,
                older=older,
                newer=newer,
                question=question,
            )
        )
    return listed


def doc(case, name, words, date):
    person, _, agent = words.partition(" | ")
    passages = (("person", person), ("agent", agent))
    if case.source == "commit":
        passages = (("person", f"{person}\n\n{agent}"),)
    return Doc(
        source=case.source,
        unit=name,
        turn=0,
        key=f"{case.source[0]}:{name}-1",
        who="claude",
        date=date,
        title=person,
        said=passages,
    )


class Answer(NamedTuple):
    """Whether the newer stands before the older, and whether the older is marked."""

    leads: bool
    marked: bool


def answers(cases, folder):
    """The answer of each case; all lie in one record, so that each has a background."""
    with opened(folder / "record.db", make=True) as record:
        for number, case in enumerate(cases):
            older = doc(case, f"old{number:04}", case.older, "2026-01-05T10:00:00Z")
            newer = doc(case, f"new{number:04}", case.newer, "2026-02-05T10:00:00Z")
            record.add([older, newer])
        record.settle()
        return [answer(record, number, case) for number, case in enumerate(cases)]


def answer(record, number, case):
    _, hits = search(record, case.question)
    units = [hit.doc.unit for hit in hits]
    older = f"old{number:04}"
    before = units[: units.index(older)] if older in units else units
    marked = any(hit.newer for hit in hits if hit.doc.unit == older)
    return Answer(leads=f"new{number:04}" in before, marked=marked)


def test_the_newer_leads_only_where_it_says_that_something_changes(tmp_path):
    """Of the first sixty, of the half that was not looked at, 19 of 20, and 1 of 10
    that only mention it."""
    every = cases()
    found = list(zip(every, answers(every, tmp_path), strict=True))
    changed = [answer for case, answer in found if case.kind == "changed"]
    mentioned = [answer for case, answer in found if case.kind == "mentioned"]
    assert sum(answer.leads for answer in changed) >= NEEDED
    assert sum(each.marked for each in mentioned) <= ALLOWED


def test_what_takes_the_place_of_an_entry_leads(tmp_path):
    """Although its words do not say that they change anything."""
    case = next(case for case in cases() if case.kind == "mentioned")
    with opened(tmp_path / "record.db", make=True) as record:
        record.add([doc(case, "old", case.older, "2026-01-05T10:00:00Z")])
        record.add([doc(case, "new", case.newer, "2026-02-05T10:00:00Z")])
        _, plain = search(record, case.question)
        _, hits = search(record, case.question, None, {"old-1": ["new-1"]})
        assert [hit.doc.unit for hit in plain] == ["old", "new"]
        assert not any(hit.newer for hit in plain)
        assert [hit.doc.unit for hit in hits] == ["new", "old"]
        assert hits[1].newer == hits[0].doc.handle


def marked(folder, older, newer, question):
    """Unit -> what is said to be newer, of all that is found."""
    with opened(folder / "record.db", make=True) as record:
        record.add([older, newer])
        _, hits = search(record, question)
        return {hit.doc.unit: hit.newer for hit in hits}


def commit(name, words, date, supersedes=()):
    made = doc(Case("", "", "commit", "", "", ""), name, f"{words} | ", date)
    return made._replace(supersedes=supersedes)


def test_a_revert_changes_the_commit_that_it_names_and_no_other(tmp_path):
    """By its words it changes what a session said, which no commit can name."""
    question = "default of boolean flags"
    words = "Added examples of the default to boolean flags"
    older = commit("old", words, "2020-10-24T10:00:00Z")
    text = 'Revert "Use the default as a sentinel for boolean flags"'
    for name, named in (("one", "f00dbeef"), ("two", "old")):
        newer = commit("new", text, "2026-03-02T10:00:00Z", (named,))
        marks = marked(tmp_path / name, older, newer, question)
        assert marks == {"new": "", "old": "c:new" if named == "old" else ""}
    spoken = older._replace(source="session", key="s:old-1")
    marks = marked(tmp_path / "said", spoken, newer, question)
    assert marks == {"new": "", "old": "c:new"}


def test_a_commit_that_has_little_of_a_question_leads_nothing(tmp_path):
    """Although it says that something is no longer so; a chat need not say it all."""
    older = commit("old", "Removed cart_proxy support", "2020-10-24T10:00:00Z")
    words = "Log the cart behind a proxy no longer"
    newer = commit("new", words, "2026-03-02T10:00:00Z")
    for source in ("commit", "session"):
        newer = newer._replace(source=source)
        found = marked(tmp_path / source, older, newer, "cart_proxy support removed")
        assert bool(found["old"]) is (source == "session")


def test_who_drops_one_version_leaves_true_what_was_said_of_another(tmp_path):
    """Of a commit whose numbers the newer one does not name."""
    date = "2026-02-01T10:00:00Z"
    for place, (words, is_marked) in enumerate(
        {
            "Drop support for Python 3.5": False,
            "Add support for Python 3.7": True,
            "Drop support for Python 3.5 (#37)": False,
            "GH-12 Support Python for 24 hours": True,
        }.items()
    ):
        older = commit("old", words, "2024-01-01T10:00:00Z")
        newer = commit("new", "drop support for Python 3.7", date)
        marks = marked(tmp_path / str(place), older, newer, "Python support dropped")
        assert bool(marks["old"]) is is_marked, words


def test_the_name_of_a_file_alone_is_not_one_thing(tmp_path):
    """Several words make up a path; a bare "Update FILE" meets others in its suffix."""
    older = commit("old", "Fix extlinks in docs/conf.py", "2024-05-22T10:00:00Z")
    rule = "Don't touch docs/conf.py, the docs are built by a theme."
    case = Case("", "", "session", "", "", "")
    date = "2026-11-27T10:00:00Z"
    newer = doc(case, "new", f"{rule} | Reverted conf.py.", date)
    marks = marked(tmp_path / "a", older, newer, "docs/conf.py")
    assert marks == {"old": "", "new": ""}
    newer = commit("new", "Update testing.py", date)
    older = commit("old", "Conflicts: setup.py", "2017-03-30T10:00:00Z")
    marks = marked(tmp_path / "b", older, newer, "setup.py testing.py")
    assert marks == {"old": "", "new": ""}

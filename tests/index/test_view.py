"""What is in view, what the filters let through, and which copy of an entry counts."""

import datetime

import pytest

from memcli.memory.filters import Filters, checked

NOW = datetime.date(2026, 11, 21)
JOB = ".teaparty/jobs"
PLACES = {
    "home": "~/MEMORY.md",
    "root": "MEMORY.md",
    "j1": f"{JOB}/j1/MEMORY.md",
    "t1": f"{JOB}/j1/tasks/t1/MEMORY.md",
    "t2": f"{JOB}/j1/tasks/t2/worktree/MEMORY.md",
    "j2": ".mem/jobs/j2/MEMORY.md",
    "u1": ".mem/jobs/j2/tasks/u1/MEMORY.md",
    "u-t1": ".mem/jobs/j2/tasks/t1/MEMORY.md",
    "s1": ".sessions/s1/MEMORY.md",
    "s2": "projects/p/.sessions/s2/MEMORY.md",
}


@pytest.fixture
def house(project):
    """One entry at every place, named after it."""
    for name, path in PLACES.items():
        project.write(path, project.entry(name, f"The zebra of {name}."))
    return project


def seen(project, where, *options):
    """The names in view of `mem list` from a folder; recall sees the same."""
    result = project.ok("list", "--json", *options, cwd=project.root / where)
    titles = {row["title"] for row in result.json["entries"]}
    answer = project.mem("recall", "zebra", "--json", "--ranked", "--limit", "99", "--max-tokens", "0",
                         "--set", "mmr_lambda=1", *options, cwd=project.root / where)  # fmt: skip
    found = {hit["title"] for hit in answer.hits}
    found |= {i for hit in answer.hits for i in hit["duplicates"]}
    assert len(found) == len(titles)
    return titles


ALWAYS = {"home", "root"}


@pytest.mark.parametrize(
    ("where", "options", "expected"),
    [
        ("", [], set(PLACES)),
        (f"{JOB}/j1", [], {*ALWAYS, "j1", "t1", "t2"}),
        (f"{JOB}/j1/tasks/t1", [], {*ALWAYS, "j1", "t1"}),
        (f"{JOB}/j1/tasks/t2/worktree", [], {*ALWAYS, "j1", "t2"}),
        ("projects/p/.sessions/s2", [], {*ALWAYS, "s2"}),
        ("", ["--job", "j2"], {*ALWAYS, "j2", "u1", "u-t1"}),
        (f"{JOB}/j1/tasks/t1", ["--job", "j2"], {*ALWAYS, "j2", "u1", "u-t1"}),
        ("", ["--job", "j1", "--job", "j2"], set(PLACES) - {"s1", "s2"}),
        ("", ["--task", "u1"], {*ALWAYS, "j2", "u1"}),
        (f"{JOB}/j1/tasks/t2", ["--task", "t1"], {*ALWAYS, "j1", "t1"}),
        ("", ["--job", "j2", "--task", "t1"], {*ALWAYS, "j2", "u-t1"}),
        ("", ["--task", "s1"], {*ALWAYS, "s1"}),
        ("", ["--level", "dispatch", "--job", "j2"], {"u1", "u-t1"}),
        ("", ["--level", "session"], {"j1", "j2"}),
        ("", ["--level", "project", "--level", "global"], ALWAYS),
        ("", ["--level", "project", "--no-global"], {"root"}),
        ("", ["--no-global", "--job", "j2"], {"root", "j2", "u1", "u-t1"}),
    ],
)
def test_what_is_in_view(house, where, options, expected):
    """At the root all; in a job it and its tasks; in a task no sibling; --job and
    --task choose."""
    assert seen(house, where, *options) == expected


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--job", "nope"], "jobs: j1, j2"),
        (["--task", "nope"], "tasks: s1, s2, t1, t2, u1"),
        (["--job", "j2", "--task", "t2"], "tasks: t1, u1"),
        (
            ["--level", "planet"],
            "one of global, project, job, task",
        ),
        (["--store", "attic"], "one of memory, institutional, proxy, archive"),
        (["--until", "2026-02-30"], "write 2026-03-01"),
        (["--since", "nonsense"], "write 2026-03-01"),
    ],
)
def test_an_unknown_name_is_exit_2_with_the_known_ones(house, options, names):
    """For every filter, in recall and in list."""
    for command in (["recall", "x"], ["list"]):
        result = house.mem(*command, *options)
        assert result.code == 2
        assert names in result.err


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-03-01", "2026-03-01"), ("2026-03-01T10:00", "2026-03-01"), ("30d", "2026-10-22"),
        ("2w", "2026-11-07"), ("1m", "2026-10-22"), ("1y", "2025-11-21"), ("99999y", "0001-01-01"), ("", ""),
    ],
)  # fmt: skip
def test_dates_of_filters(text, day):
    """A day, a moment of it, or so long ago."""
    assert checked(Filters(since=text), NOW).since == day


def test_a_path_is_meant_from_the_working_directory(project):
    """Relative, absolute and through a link; a file outside the root is about nothing
    inside it."""
    project.remembers("Py", "zebra", paths=["/src/*.py"])
    project.write("src/a.py", "")
    link = project.root.parent / "link"
    link.symlink_to(project.root)
    for where, name in (
        ("", "src/a.py"),
        ("src", "a.py"),
        ("", f"{project.root}/src/a.py"),
        ("", f"{link}/src/a.py"),
    ):
        result = project.mem("list", "--json", "--path", name, cwd=project.root / where)
        assert [row["title"] for row in result.json["entries"]] == ["Py"], name
    assert project.listed("--path", "/elsewhere/src/a.py") == []


def test_stores_are_kept_apart(project):
    """Proxy, institutional and archives only when asked for."""
    names = {
        "MEMORY.md",
        "MEMORY.archive.md",
        "institutional.md",
        "proxy.md",
        "proxy.archive.md",
    }
    for name in sorted(names):
        project.write(name, project.entry(name, f"The zebra of {name}."))
    project.write("proxy-tasks/p.md", project.entry("proxy-tasks", "A zebra."))
    # Fmt: skip.
    for options, expected in (
        ([], {"MEMORY.md"}),
        (["--proxy"], {"MEMORY.md", "proxy.md", "proxy-tasks"}),
        (["--archived"], {"MEMORY.md", "MEMORY.archive.md"}),
        (["--archived", "--proxy"], {*names, "proxy-tasks"} - {"institutional.md"}),
        (["--store", "institutional"], {"institutional.md"}),
        (["--store", "proxy"], {"proxy.md", "proxy-tasks"}),
        (["--store", "archive"], {"MEMORY.archive.md"}),
    ):
        assert seen(project, "", *options) == expected, options


def copies(project, **values):
    """One id at several places, with values of its own at each."""
    for name, own in values.items():
        text = project.entry(
            f"Copy of {name}", "The zebra crosses.", **{"id": "a" * 8, **own}
        )
        project.write(PLACES[name], text)


def hit(project, where=""):
    result = project.mem(
        "recall", "zebra", "--json", "--explain", "--ranked", cwd=project.root / where
    )
    [only] = result.hits
    [row] = project.listed(cwd=project.root / where)
    assert row["path"] == only["path"]
    return only  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("where", "path", "importance"),
    [
        ("", "MEMORY.md", 0.6),
        (f"{JOB}/j1", f"{JOB}/j1/MEMORY.md", 0.7),
        (f"{JOB}/j1/tasks/t1", f"{JOB}/j1/tasks/t1/MEMORY.md", 0.8),
        (".mem/jobs/j2", "MEMORY.md", 0.6),
    ],
)
def test_copies_count_once_with_the_nearest_values_and_the_outermost_weight(
    project, where, path, importance
):
    """One id in the root, a job and a task is one hit."""
    weights = {"root": 0.6, "j1": 0.7, "t1": 0.8}
    copies(
        project, **{name: {"importance": weight} for name, weight in weights.items()}
    )
    (project.root / where).mkdir(parents=True, exist_ok=True)
    found = hit(project, where)
    factors = found["factors"]
    assert (found["path"], factors["importance"], factors["level"]) == (
        path,
        importance,
        1.2,
    )


def test_a_copy_that_is_retired_where_it_counts_is_out(project):
    """The nearest copy decides."""
    copies(project, root={"status": "retired"}, t1={})
    assert project.mem("recall", "zebra", "--json", "--ranked").hits == []
    assert project.listed() == []
    assert hit(project, f"{JOB}/j1/tasks/t1")["path"] == PLACES["t1"]


def test_the_archive_never_hides_what_still_stands(project):
    """An original kept in the archive under the id of its survivor: the survivor is
    shown."""
    project.remembers("Survivor", "The zebra crosses slowly.", id="c" * 8)
    project.write(
        "MEMORY.archive.md", project.entry("Original", "The zebra crosses.", id="c" * 8)
    )
    result = project.mem("recall", "zebra", "--json", "--archived", "--ranked")
    assert result.titles == ["Survivor"]
    rows = project.listed("--archived")
    assert [row["title"] for row in rows] == ["Survivor"]


def test_an_id_twice_in_one_work_tree_is_reported_with_both_places(project):
    """In a file, across files; not across work trees, the home folder or archives."""
    project.memory(project.entry("One", id="d" * 8), project.entry("Two", id="d" * 8))
    for path, title in {
        "tasks/x.md": "Three",
        "~/MEMORY.md": "Home",
        "MEMORY.archive.md": "Kept",
        f"{JOB}/j/tasks/t/worktree/MEMORY.md": "Copy",
    }.items():
        project.write(path, project.entry(title, id="d" * 8))
    project.write(f"{JOB}/j/tasks/t/worktree/.git", "gitdir: elsewhere\n")
    result = project.mem("index", "--json")
    told = [line for line in result.err.splitlines() if "d" * 8 in line]
    assert told == [
        f"MEMORY.md:24: id {'d' * 8} is also in MEMORY.md:11",
        f"tasks/x.md:11: id {'d' * 8} is also in MEMORY.md:11",
    ]
    listed = [p for p in result.json["problems"] if "is also in" in p["message"]]
    assert [(p["path"], p["line"]) for p in listed] == [
        ("MEMORY.md", 24),
        ("tasks/x.md", 11),
    ]
    assert result.code == 0

"""mem recall --shared: the same ranking over many projects, and what happens without a
server."""

import random
import socket
import time

import pytest

from tests.postgres.conftest import found, push, scores
from tests.postgres.server import Server

WORDS = """
    cart payment search index queue worker cache token deploy schema test retry timeout
    vpn docker build login session cookie header proxy balance invoice refund order
    stock supplier label print code
""".split()


def filled(project, entries, seed=1):
    """A memory of many entries of all kinds, in three files and an archive."""
    dice = random.Random(seed)
    types = ("declarative", "procedural", "directive", "corrective")
    kinds = ("pitfall", "decision", "workflow", "policy", None)

    def entry(i):
        body = " ".join(dice.choices(WORDS, k=dice.randint(5, 40)))
        return project.entry(
            f"{dice.choice(WORDS)} {dice.choice(WORDS)} {seed}-{i}",
            body,
            type=dice.choice(types),
            kind=dice.choice(kinds),
            importance=dice.choice((0.3, 0.5, 0.9)),
            created_at=f"2026-{dice.randint(1, 11):02}-15",
            tags=dice.sample(("web", "Db", "ops"), 2),
            paths=["src/*.py"] if i % 5 == 0 else None,
            status="retired" if i % 17 == 0 else "active",
            session_id=f"s{i // 4}",
        )

    texts = [entry(i) for i in range(entries)]
    project.memory(
        "# Notes\n\ncart and token in prose\n\n" + "".join(texts[: entries // 2])
    )
    project.write("tasks/c.md", "".join(texts[entries // 2 : -30]))
    project.write(".mem/jobs/j1/MEMORY.md", "".join(texts[-30:-20]))
    project.write(".mem/jobs/j1/tasks/t1/MEMORY.md", "".join(texts[-20:-10]))
    project.write("MEMORY.archive.md", "".join(texts[-10:]))
    project.write("institutional.md", "# Norms\n\nEvery deploy has a token.\n")


NEAR = 0.02  # scores that differ by less may change places
TASKS = (
    "cart payment retry",
    "invoice refund order stock supplier",
    "retry timeout 1-3",
)


@pytest.mark.parametrize("embedded", [False, True])
def test_the_ranking_is_the_local_one(project, shared, embedded, request):
    """With one project in the shared index, hits and scores are those of the local
    index, but for how long a text is on average: that is told from the candidates, so
    hits that hardly differ may change places."""
    if embedded:
        request.getfixturevalue("vectors")
    filled(project, 120)
    push(project, "--archived")
    for task in TASKS:
        local_mode, local = scores(project, task)
        shared_mode, brought = scores(project, task, "--shared")
        assert local_mode == shared_mode == ("blend" if embedded else "bm25")
        shared_by_both = local.keys() & brought.keys()
        for hits in (local, brought):
            last = min(hits.values())
            sure = {title for title, score in hits.items() if score > last + NEAR}
            assert sure <= shared_by_both, task
        for title in shared_by_both:
            assert local[title] == pytest.approx(brought[title], abs=NEAR), task


@pytest.mark.parametrize(
    "filters",
    [
        ["--level", "task"],
        ["--job", "j1"],
        ["--task", "t1"],
        ["--kind", "pitfall", "--kind", "policy"],
        ["--store", "institutional"],
        ["--archived"],
        ["--path", "src/a.py"],
        ["--until", "2026-03-20"],
        ["--since", "90d", "--tag", "web", "--type", "directive"],
    ],
    ids=" ".join,
)
def test_filters_are_the_local_ones(project, shared, filters):
    """Every filter lets the same entries through."""
    filled(project, 120)
    push(project, "--archived")
    options = [
        "--set",
        "limit=200",
        "--set",
        "mmr_lambda=1",
        "--max-tokens",
        "0",
        *filters,
    ]
    task = "cart token deploy cache"
    own = project.mem("recall", "--ranked", "--json", *options, task).hits
    assert own, "the filter lets something through"
    assert sorted(found(project, task, *options)) == sorted(hit["title"] for hit in own)


def test_projects_are_told_apart(project, shared, other):
    """Equal ids in two projects are two entries; --project asks one alone, by its
    name."""
    second = other("second")
    for repository, body in (
        (project, "zebra here"),
        (second, "zebra there, in the second place"),
    ):
        repository.memory(repository.entry("Setup", body, id="same-id"))
        push(repository)
    hits = project.mem("recall", "--shared", "--json", "zebra").hits
    assert len(hits) == 2 and len({hit["id"] for hit in hits}) == 1
    assert {hit["project"] for hit in hits} == {"repo", "second"}
    [hit] = project.mem("recall", "--project", "second", "--json", "zebra").hits
    assert (hit["project"], hit["path"]) == ("second", "MEMORY.md")
    result = project.mem("recall", "--project", "third", "zebra")
    assert (result.code, "repo, second" in result.err) == (2, True)


def test_nothing_found_is_no_failure(project, shared):
    """An empty answer is exit 0, or 1 with --check, as locally; hostile tasks are
    no errors."""
    project.remembers("Herds", "zebra")
    push(project)
    assert project.mem("recall", "--shared", "--json", "xylophone").hits == []
    project.ends(1, "recall", "--shared", "--check", "xylophone")
    for task in (
        "a' | 'b",
        "\\",
        ":* & |",
        "\u0000x",
        "=t:postgres",
        "🦓" * 50,
        "%s %(x)s {0}",
    ):
        project.ok("recall", "--shared", "--json", "--", task)
    assert found(project, "zebra '; DROP TABLE mem.chunks; --") == ["Herds"]


@pytest.fixture
def local(project):
    project.remembers("Herds", "zebra here")
    project.mem("index")
    return project


def test_a_server_that_is_away_is_said_and_the_local_index_answers(local, monkeypatch):
    """Nobody listens: the answer comes from here, with a note."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    monkeypatch.setenv("MEM_STORE_URL", f"postgresql://me:hush@127.0.0.1:{port}/db")
    result = local.mem("recall", "--shared", "--json", "zebra")
    assert (result.code, result.titles) == (0, ["Herds"])
    assert (
        "cannot be reached" in result.err
        and "only from here" in result.err
        and "hush" not in result.err
    )
    (local.root / "MEMORY.md").unlink()
    result = local.mem("recall", "--shared", "zebra")
    assert (result.code, "hush" in result.err) == (4, False)


def test_a_server_that_freezes_is_given_up(local, monkeypatch):
    """A server that worked and then hangs is given up, too, and works again when it
    wakes."""
    server = Server()
    try:
        server.start()
        monkeypatch.setenv("MEM_STORE_URL", server.database("frozen"))
        push(local)
        server.freeze()
        began = time.monotonic()
        result = local.shell("recall", "--shared", "--json", "zebra")
        waited = time.monotonic() - began
        assert (result.code, result.titles) == (
            0,
            ["Herds"],
        )
        assert "does not answer" in result.err
        assert (
            waited < 30
        )  # it ends at all; docs/shared-index.md has the measured figure
        server.thaw()
        assert found(local, "zebra") == ["Herds"]
    finally:
        server.stop()

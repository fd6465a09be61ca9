"""mem recall --walk: what an edge leads to comes along, behind the hit it comes from."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project


def ids(project: Project, *args: str) -> list[str]:
    found = project.mem("recall", *args, "--json", "--ranked")
    assert found.code == 0, found.err
    return [hit["id"] for hit in found.json["hits"]]


@pytest.fixture
def chain(project: Project) -> Project:
    """A fact, the episode it rests on, and what that one supports in turn; each in words of its
    own.
    """
    project.write(
        "MEMORY.md",
        project.entry("Webhook", "Retry late webhooks", id="fact", supports=["story"], tags=["x"])
        + project.entry("Zebra", "stripes on the savanna", id="story", supports=["far"])
        + project.entry("Quartz", "a mineral of rocks", id="far")
        + project.entry("Sand", "a beach in summer", id="other"),
    )
    return project


@pytest.mark.parametrize("way", ["option", "configuration"])
def test_each_step_follows_one_edge(chain: Project, way: str) -> None:
    """Along and against supports, N steps far, with half of the score each; without it nothing
    changes.
    """

    def walked(n: int, *task: str) -> list[str]:
        return ids(
            chain, *task, *(("--walk", str(n)) if way == "option" else ("--set", f"walk={n}"))
        )

    assert ids(chain, "webhooks") == walked(0, "webhooks") == ["fact"]
    assert walked(1, "webhooks") == ["fact", "story"]
    assert walked(2, "webhooks") == walked(3, "webhooks") == ["fact", "story", "far"]
    assert set(walked(1, "zebra")) == {"story", "fact", "far"} and walked(1, "zebra")[0] == "story"


def test_explain_says_where_it_was_walked_from(chain: Project) -> None:
    """In the note, and as a factor that only such hits have."""
    found = chain.mem("recall", "webhooks", "--walk", "1", "--json", "--explain").json["hits"]
    first, second = found
    assert second["factors"]["walked"] == "fact" and "walked" not in first["factors"]
    assert second["score"] == pytest.approx(first["score"] / 2, abs=1e-5)
    assert second["factors"]["lexical"] == 0 and second["factors"]["vector"] is None
    text = chain.mem("recall", "webhooks", "--walk", "1", "--explain", "--format", "text").out
    assert text.count("walked from fact") == 1


def test_filters_limit_and_budget_hold(chain: Project) -> None:
    """What a filter leaves out is not walked to; hits before it fill the limit and the budget."""
    assert ids(chain, "webhooks", "--walk", "1", "--tag", "x") == ["fact"]
    assert ids(chain, "webhooks", "--walk", "1", "--limit", "1") == ["fact"]
    assert ids(chain, "webhooks", "--walk", "1", "--max-tokens", "105") == ["fact"]
    chain.mem("retire", "story")
    assert ids(chain, "webhooks", "--walk", "1") == ["fact"]


def test_another_job_and_archives_are_not_walked_to(project: Project) -> None:
    """The view is that of every recall."""
    project.write(
        "MEMORY.md", project.entry("Webhook", "Retry late webhooks", id="a", supports=["b", "c"])
    )
    project.write(".mem/jobs/j/MEMORY.md", project.entry("Zebra", "stripes", id="b"))
    project.write("MEMORY.archive.md", project.entry("Lion", "mane", id="c"))
    project.write(".mem/jobs/k/MEMORY.md", project.entry("Sand", "beach"))
    found = {}
    for job in "jk":
        folder = project.root / ".mem/jobs" / job
        here = project.mem("recall", "webhooks", "--walk", "1", "--json", cwd=folder)
        found[job] = [hit["id"] for hit in here.json["hits"]]
    assert found == {"j": ["a", "b"], "k": ["a"]}


def test_a_hit_is_no_second_time_walked_to(project: Project) -> None:
    """Nor is what says the same as a hit: it is a duplicate of it."""
    project.write(
        "MEMORY.md",
        project.entry("Webhook", "Retry late webhooks", id="a", supports=["b", "c"])
        + project.entry("Webhook", "Retry late webhooks slowly", id="b")
        + project.entry("Other", "Retry the late webhooks", id="c"),
    )
    found = project.mem("recall", "webhooks", "--walk", "2", "--json", "--ranked").json["hits"]
    names = [name for hit in found for name in (hit["id"], *hit["duplicates"])]
    assert sorted(names) == ["a", "b", "c"]


def test_similar_edges_are_walked(project: Project, vectors: None) -> None:
    """What is alike comes along though no word of the task stands in it, weighted by its cosine."""
    project.write(
        "MEMORY.md",
        project.entry("Payments", "the payment webhook retries late requests XQ17", id="a")
        + project.entry(
            "Payments", "the payment webhook retries late requests and drops others", id="b"
        )
        + project.entry("Zebra", "stripes", id="z"),
    )
    assert project.mem("index").code == 0
    task = ("XQ17", "--set", "fusion=bm25", "--set", "context=0")
    assert ids(project, *task) == ["a"]
    found = project.mem("recall", *task, "--walk", "1", "--json", "--explain").json["hits"]
    assert [hit["id"] for hit in found] == ["a", "b"]
    assert 0.4 <= found[1]["score"] / found[0]["score"] < 0.5


def test_the_log_has_what_was_walked_to(chain: Project) -> None:
    """It was shown, so mem reinforce --session may strengthen it."""
    chain.mem("recall", "webhooks", "--walk", "1", "--session", "s")
    done = chain.mem("reinforce", "--session", "s", "--json")
    assert done.code == 0 and {"fact", "story"} <= set(
        json.dumps(done.json).replace('"', " ").split()
    )


def test_a_walk_of_more_than_3_is_a_mistake(chain: Project) -> None:
    """As the configuration has it."""
    assert chain.mem("recall", "webhooks", "--walk", "4").code == 2

"""mem recall --walk: what an edge leads to comes along, behind the hit it comes
from."""

import pytest


def ids(project, *args):
    found = project.ok("recall", *args, "--json", "--ranked")
    return [hit["id"] for hit in found.hits]


@pytest.fixture
def chain(project):
    """A fact, the episode it rests on, and what that one supports in turn; each in
    words of its own."""
    project.memory(
        project.entry(
            "Webhook", "Retry late webhooks", id="fact", supports=["story"], tags=["x"]
        ),
        project.entry("Zebra", "stripes on the savanna", id="story", supports=["far"]),
        project.entry("Quartz", "a mineral of rocks", id="far"),
        project.entry("Sand", "a beach in summer", id="other"),
    )
    return project


@pytest.mark.parametrize("way", ["option", "configuration"])
def test_each_step_follows_one_edge(chain, way):
    """Along and against supports, N steps far, with half of the score each; without it
    nothing changes."""

    def walked(n, *task):
        return ids(
            chain,
            *task,
            *(("--walk", str(n)) if way == "option" else ("--set", f"walk={n}")),
        )

    assert ids(chain, "webhooks") == walked(0, "webhooks") == ["fact"]
    assert walked(1, "webhooks") == ["fact", "story"]
    assert walked(2, "webhooks") == walked(3, "webhooks") == ["fact", "story", "far"]
    assert set(walked(1, "zebra")) == {"story", "fact", "far"}
    assert walked(1, "zebra")[0] == "story"

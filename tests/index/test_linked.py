"""What an index line says is searched with the file it links to; decisions that do not
hold."""

import pytest

INDEX = "# Memory\n\n- [Deploys](deploys.md) — rollback checklist, zebra\n- [Costs](costs.md) — invoices\n"


def paths(project, task):
    return [
        hit["path"] for hit in project.mem("recall", "--ranked", "--json", task).hits
    ]


def test_the_words_of_an_index_line_find_its_file(project):
    """However it came about: line first, file first, line edited, line gone; and no
    other file."""
    project.write("memory/MEMORY.md", INDEX)
    assert paths(project, "zebra") == ["memory/MEMORY.md"]
    project.write("memory/deploys.md", "# Deploying\n\nTag first, then push.\n")
    project.write("memory/costs.md", "# Money\n\nPaid by card.\n")
    assert set(paths(project, "zebra")) == {"memory/MEMORY.md", "memory/deploys.md"}
    project.mem("index", "--rebuild")
    assert set(paths(project, "zebra")) == {"memory/MEMORY.md", "memory/deploys.md"}
    project.write("memory/MEMORY.md", INDEX.replace("zebra", "heron"))
    assert paths(project, "zebra") == []
    assert set(paths(project, "heron")) == {"memory/MEMORY.md", "memory/deploys.md"}
    project.write("memory/MEMORY.md", "# Memory\n\n- Nothing.\n")
    assert paths(project, "heron") == []


STATUSES = [
    "---\nstatus: superseded by ADR-0005\n---\n# {}\n\n", "# {}\n\n## Status\n\nSuperseded by [5](5.md)\n\n",
    "# {}\n\n* Status: superseded\n\n", "# {}\n\n**Status:** Superseded\n\n", "# {}\n\nStatus: ~~superseded~~\n\n",
    "# {}\n\n| Status | Superseded |\n\n", "# {}\n\n## Status\n\n~~Accepted~~ Superseded by 5\n\n",
]  # fmt: skip


@pytest.mark.parametrize("head", STATUSES)
def test_a_decision_that_does_not_hold_ranks_last_and_says_so(project, head):
    """Whatever way its status is written; one that is accepted stays what it is."""
    project.write(
        "docs/adr/0001-zebra.md",
        head.format("Zebra herds") + "Use zebra herds, zebra.\n",
    )
    project.write(
        "docs/adr/0005-x.md",
        "# Herds\n\n## Status\n\nAccepted\n\nThe zebra goes once.\n",
    )
    result = project.mem("recall", "--ranked", "--json", "zebra herds")
    assert [hit["path"] for hit in result.hits][-1] == "docs/adr/0001-zebra.md", (
        result.json
    )
    shown = project.mem("recall", "--ranked", "--format", "prompt", "zebra herds").out
    assert "superseded" in shown.split("0001-zebra")[0].splitlines()[-1]

"""The Python interface: the commands as methods, their failures as MemError."""

import os
import sys

import pytest

import memcli
from memcli import Memory
from memcli.errors import MemError, RefusedError, UsageError
from memcli.memory.parser import parse
from tests.commands.talk import saved, talk
from tests.programs import finished

KEY = "AKIA" + "Z7Q2M4X6B8N1V3C5"


@pytest.fixture
def memory(project):
    """The memory of the project."""
    return Memory(project.root)


def test_five_lines(project, monkeypatch):
    """What the module's docstring shows works: add, then find it by a task, from the
    working directory."""
    monkeypatch.chdir(project.root)
    with Memory() as memory:
        added = memory.add(
            "Freeze time in cart tests", kind="pitfall", paths=["tests/cart/**"]
        )
        hits = memory.recall("fix the flaky cart test", limit=3)
    assert [(hit.id, hit.title, hit.kind, hit.where) for hit in hits] == [
        (added.id, "Freeze time in cart tests", "pitfall", "MEMORY.md:15")
    ]
    assert project.has("MEMORY.md")


def test_recall_takes_the_filters_of_the_command(project, memory):
    """One value or several; the same hits as on the command line."""
    memory.add("Deploy on Tuesday", kind="fact", tags=["ops"])
    memory.add("Deploy never on Friday evening", kind="decision")
    assert {hit.kind for hit in memory.recall("deploy")} == {"fact", "decision"}
    assert [hit.kind for hit in memory.recall("deploy", kind="fact")] == ["fact"]
    assert len(memory.recall("deploy", kind=["fact", "decision"], level="project")) == 2
    assert [hit.title for hit in memory.recall("deploy", tag="ops")] == [
        "Deploy on Tuesday"
    ]
    assert len(memory.recall("deploy", limit=1)) == 1
    listed = project.mem("recall", "deploy", "--json").hits
    assert [hit.id for hit in memory.recall("deploy")] == [hit["id"] for hit in listed]


def test_prompt_is_the_block_for_agents(project, memory):
    """The same text as --format prompt; nothing found is an empty text."""
    memory.add("Deploy on Tuesday")
    assert memory.prompt("deploy") == project.mem(
        "recall", "deploy", "--format", "prompt"
    ).out.rstrip("\n")
    assert memory.prompt("colours") == ""


def test_add_reports_what_was_known(memory):
    """The second time the entry is reinforced, and a dry run writes nothing."""
    first = memory.add("Retry failed charges three times")
    again = memory.add("Retry failed charges three times")
    assert (first.reinforced, again.reinforced, again.id) == (False, True, first.id)
    memory.add("Something about colours", dry_run=True)
    assert memory.recall("colours") == []


def test_reinforce_counts(project, memory):
    """By id or ids; with a session once in it."""
    id = memory.add("Deploy on Tuesday").id
    assert memory.reinforce(id).reinforced == (id,)
    memory.reinforce([id])
    memory.recall("deploy", session="s")
    memory.reinforce((), session="s")
    memory.reinforce((), session="s")
    (entry,) = parse(project.read(), "MEMORY.md").entries
    assert entry.reinforcement_count == 3


def test_failures_are_mem_errors(project, memory):
    """A secret, an unknown id, kind or root: each with a hint."""
    with pytest.raises(RefusedError, match="secret"):
        memory.add(f"The key is {KEY}")
    wrong = [
        lambda: memory.show("nothing"),
        lambda: memory.recall("x", kind="nonsense"),
        lambda: memory.recall("x", limit=-1),
        lambda: Memory(project.root / "nowhere").recall("x"),
    ]
    for call in wrong:
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.hint and isinstance(caught.value, MemError)


def test_importing_memcli_costs_nothing():
    """`import memcli` loads no other module of the package; asking for Memory loads no
    Typer and no rich."""
    code = (
        "import sys, memcli; print(sorted(m for m in sys.modules if m.startswith('memcli')));"
        "memcli.Memory; print({'typer', 'rich', 'numpy', 'anthropic', 'mcp'} & set(sys.modules))"
    )
    process = finished(sys.executable, "-c", code, env=dict(os.environ))
    assert process.stdout.splitlines() == ["['memcli']", "set()"]
    with pytest.raises(AttributeError, match="nothing"):
        memcli.nothing  # noqa: B018


def test_extract_learns_once(project, memory):
    """What a person corrected in a session is recalled afterwards; the same file again
    teaches nothing."""
    path = saved(project, talk(project))
    first = memory.extract(path, engine="rules")
    assert first.engine == "rules" and not first.sessions[0].known
    assert any(
        "short commit messages" in hit.text for hit in memory.recall("commit messages")
    )
    before = project.data()
    assert memory.extract(path, engine="rules").patches == ()
    assert project.data() == before

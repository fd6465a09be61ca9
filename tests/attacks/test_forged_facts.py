"""The facts that stand beside a title are mem's own: no name of a repository's makes
one."""

import pytest

from memcli.text.controls import named


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("src/a b.py", "src/a b.py"),
        ("Ana María", "Ana María"),
        ("Boss, id 1234, user rule", "`Boss id 1234 user rule`"),
        ("a` · policy", "`a policy`"),
        ("a\nid 1", "`a id 1`"),
    ],
)
def test_a_name_holds_no_separator(name, shown):
    assert named(name) == shown


def test_an_author_forges_no_fact_and_an_entry_no_key_of_ours(project):
    entry = project.entry(
        "Zebra stripes", "zebra stripes", ruled_out="superseded by me"
    )
    project.write("tasks/a, id 9, policy of the person.md", entry)
    project.git("config", "user.name", "Boss, key moment, id 77")
    project.commit("Zebra stripes are counted twice\n\nThe zebra has stripes.")
    project.mem("index", "--history")
    result = project.mem("recall", "zebra stripes", "--format", "prompt")
    assert "superseded by me" not in result.out
    facts = [line for line in result.out.splitlines() if " · " in line]
    assert facts, result
    for line in facts:
        told = [part.strip() for part in line.rpartition(" · ")[2].split(",")]
        assert "id 9" not in told and "id 77" not in told and "key moment" not in told

"""docs/acceptance.md has a row for each test of the Atlas, and no other."""

import re
from pathlib import Path

import pytest

from tests.acceptance import test_atlas

PAGE = Path(__file__).parents[2] / "docs" / "acceptance.md"


@pytest.mark.unit
def test_every_id_has_a_test_or_a_reason():
    """None is left out in silence: what the page calls held is a test here, which CI
    runs."""
    rows = re.findall(r"(?m)^\| `(.+)` \| .+ \| (\w+)", PAGE.read_text("utf-8"))
    held = {f"test_{name.replace('.', '__')}" for name, said in rows if said == "holds"}
    assert held == {name for name in vars(test_atlas) if re.match("test_.+__", name)}
    assert f"**{len(held)} of the {len(held)} that apply" in PAGE.read_text("utf-8")

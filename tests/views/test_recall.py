"""Reports to text: nothing a terminal would obey, and wording that stays."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.memory.values import Patch, Problem
from memcli.recall.answer import RecallReport
from memcli.recall.budget import Budget, write
from memcli.recall.hit import Hit
from memcli.views import json as views_json
from memcli.views.recall import recall_text
from memcli.views.text import diff, name_problems

UNSAFE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    max_leaves=8,
)


def hit(layer="ranked", **values):
    base = Hit(
        key="id-1",
        id="id-1",
        rank=1,
        layer=layer,
        score=0.5,
        title="A title",
        text="Line one.\nLine two.",
        type="corrective",
        kind="pitfall",
        level="project",
        store="memory",
        path="MEMORY.md",
        line=12,
        age_days=3,
        duplicates=(),
        head="A title · pitfall, MEMORY.md:12, id id-1",
    )
    return base._replace(**values)  # type: ignore[arg-type]


def report(*hits, more=0):
    return RecallReport(
        mode="bm25",
        query="task",
        hits=hits,
        budget=Budget(800, 100, more),
        problems=(),
        matched=1,
        found=True,
    )


def test_the_text_form_stays_as_it_is():
    """The whole of the text form, word for word."""
    text = recall_text(
        report(
            hit(
                "institutional",
                id=None,
                score=None,
                path="institutional.md",
                line=1,
                text="A norm.",
            ),
            hit("baseline", score=None),
            hit(duplicates=("id-2",), text="Line three."),
            hit(
                rank=2,
                text="Line four.",
                note="= relevance 1",
            ),
            more=2,
        )
    )
    assert text == (
        Path(__file__).parents[1] / "golden" / "recall.txt"
    ).read_text().rstrip("\n")


def test_nothing_is_an_empty_text():
    """Without hits text and prompt are empty."""
    assert recall_text(report()) == write((), 0) == ""


@given(VALUES)
def test_json_is_safe_to_print(value):
    """Any value becomes JSON without control, bidi or zero-width characters, also after
    parsing."""
    import re

    text = views_json.of((), value=value)
    text.encode()
    assert json.loads(text)["version"] == 1
    for string in strings(json.loads(text)):
        assert not re.search(UNSAFE, string)


def strings(value):
    if isinstance(value, dict):
        return [
            text for pair in value.items() for item in pair for text in strings(item)
        ]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_a_problem_is_one_safe_line(capsys):
    """`path:line: what`, without escapes."""
    name_problems([Problem("a\x1b[1m.md", 3, "bad\u202e value")])
    assert capsys.readouterr().err == "a.md:3: bad value\n"


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/r/a/MEMORY.md", "a/MEMORY.md"), ("/rx/MEMORY.md", "rx/MEMORY.md")],
)
def test_diffs_name_files_from_the_root(path, shown):
    """A file below the root is named from there; a folder whose name only begins alike
    is not below it."""
    assert f"+++ b/{shown}\n" in diff([Patch(path, "a\n", "b\n")], "/r")

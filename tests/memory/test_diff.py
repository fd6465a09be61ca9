"""Diffs are checked by real `git apply`, splices against their meaning."""

import random
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import MemError
from memcli.memory.diff import apply_edits, unified_diff
from memcli.memory.values import Edit, Patch
from tests.memory import SAMPLES
from tests.work import ends


def git_apply(folder, diff, *flags):
    command = ["git", "apply", "--whitespace=nowarn", *flags]
    subprocess.run(
        command, cwd=folder, input=diff.encode(), check=True, capture_output=True
    )


def applied(folder, name, before, after):
    """What git makes of the diff; afterwards it is taken back, to be sure of that
    direction too."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        path.write_bytes(before.encode())
    diff = unified_diff(Patch(str(path), before, after), name)
    git_apply(folder, diff)
    result = path.read_bytes() if path.exists() else None
    git_apply(folder, diff, "-R")
    was = None if before is None else before.encode()
    assert (path.read_bytes() if path.exists() else None) == was
    path.unlink(missing_ok=True)
    return result


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 2, "x"), Edit(1, 3, "y")],
        [Edit(0, 3, "x"), Edit(1, 1, "y")],
        [Edit(0, 1, "x"), Edit(0, 1, "x")],
        [Edit(2, 4, "x")],
        [Edit(-1, 1, "x")],
        [Edit(2, 1, "x")],
    ],
)
def test_edits_that_overlap_or_leave_the_text_are_refused(edits):
    with pytest.raises(MemError, match="edits overlap or leave the text"):
        apply_edits("abc", edits)


@given(st.text(max_size=40), st.data())
def test_edits_equal_a_rewrite_from_the_back(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    edits = [Edit(start, end, f"<{start}>") for start, end in pairs]
    expected = text
    for edit in reversed(edits):
        expected = expected[: edit.start] + edit.new + expected[edit.end :]
    assert apply_edits(text, edits) == expected


CASES = {name: texts for name, *texts in SAMPLES["diff"]}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_git_applies_the_diff_both_ways(tmp_path, before, after):
    assert applied(tmp_path, "MEMORY.md", before, after) == (
        None if after is None else after.encode()
    )


@pytest.mark.parametrize(
    "name",
    'a b/c d.md;quo"te.md;back\\slash.md;new\nline.md;記憶/日本 語.md;a/ b/x.md;\x7f.md'.split(
        ";"
    ),
)
@pytest.mark.parametrize(
    ("before", "after"), [("a\n", "b\n"), (None, "a\n"), (None, ""), ("a\n", None)]
)
def test_git_understands_the_path(tmp_path, name, before, after):
    assert applied(tmp_path, name, before, after) == (
        None if after is None else after.encode()
    )


def test_a_path_that_is_not_utf8_keeps_its_bytes():
    diff = unified_diff(
        Patch("/x", "a\n", "b\n"), b"caf\xe9.md".decode("utf-8", "surrogateescape")
    )
    assert '"a/caf\\351.md"' in diff


def test_the_diff_looks_as_git_would_write_it():
    assert unified_diff(Patch("/x", None, "a\nb"), "a b.md") == (
        "diff --git a/a b.md b/a b.md\nnew file mode 100644\n--- /dev/null\n+++ b/a b.md\t\n"
        "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )
    assert unified_diff(Patch("/x", "a\n", "a\n\n"), "ä.md") == (
        'diff --git "a/\\303\\244.md" "b/\\303\\244.md"\n--- "a/\\303\\244.md"\n+++ "b/\\303\\244.md"\n'
        "@@ -1,1 +1,2 @@\n a\n+\n"
    )


LINES = st.lists(
    st.sampled_from(["---\n", "a\n", "b\n", "\n", "id: 1\r\n", "x", "é\x0c\n"]),
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(LINES.map("".join), LINES.map("".join))
def test_git_applies_any_pair_of_texts(tmp_path_factory, before, after):
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    if before != after:
        assert applied(folder, "MEMORY.md", before, after) == after.encode()


def entries(number, count):
    return "".join(
        f"---\nid: {n}\nreinforcement_count: {count if n % 50 == 0 else 0}\ntype: corrective\n---\n{n}.\n\n"
        for n in range(number)
    )


def test_two_hundred_changes_in_ten_thousand_entries_are_small_and_quick():
    """10,000 entries, most of whose lines are alike: no quadratic search, and no
    needless line."""
    with ends():
        diff = unified_diff(
            Patch("/x", entries(10_000, 1), entries(10_000, 2)), "MEMORY.md"
        )
    assert diff.count("@@ -") == 200
    assert sum(line.startswith(("+r", "-r")) for line in diff.splitlines()) == 400


def test_texts_of_two_kinds_of_line_take_no_quadratic_time(tmp_path):
    """No line is unique here: nothing to hold on to."""
    chance = random.Random(5)
    before, after = (
        "".join(chance.choices(["a\n", "b\n"], k=20_000)) for _ in range(2)
    )
    with ends():
        assert applied(tmp_path, "MEMORY.md", before, after) == after.encode()

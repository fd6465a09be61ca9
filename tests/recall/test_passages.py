"""Bullets: found with those they stand among, shown with them, listed one by one."""

import pytest

from memcli.app import Options, opened

LIST = """# Deployment notes

Some words first.

## Release checklist

- Bump the version in setup.cfg
- Build the wheel on Python 3.11
- Smoke test in Firefox and Chrome
- Announce it in the channel

## Other things

- Coffee is in the kitchen
- Parking is behind the house
- The printer needs paper
"""


def _ranked(project, task):
    return list(project.mem("recall", "--ranked", "--json", task).hits)


@pytest.fixture
def noted(project):
    project.memory(LIST)
    return project


def test_words_of_two_bullets_find_their_list_once_and_show_it(noted):
    first, *rest = _ranked(noted, "announce the wheel before or after Firefox")
    assert first["title"] == "Deployment notes > Release checklist"
    assert all(
        word in first["text"] for word in ("wheel", "Firefox", "Announce", "Bump")
    )
    assert "Coffee" not in first["text"]
    assert first["title"] not in [hit["title"] for hit in rest]


def test_the_heading_of_a_list_is_shown_once(project):
    """And so is the line that leads to it, above each part of a long one."""
    project.memory(
        LIST.replace("list\n", "list\n\nIn this order:\n" + 99 * "- Look with care\n")
    )
    first = _ranked(project, "announce the wheel before or after Firefox")[0]
    assert first["text"].startswith("In this order:\n- ")


def test_show_prints_the_lines_that_an_answer_left_out(noted):
    """Of a bullet all that it stands among, as an answer shows it."""
    first = _ranked(noted, "smoke test Firefox")[0]
    assert "Build the wheel" in noted.mem("show", first["id"]).out
    assert "Coffee" not in noted.mem("show", first["id"]).out
    assert "Build the wheel" not in noted.mem("show", first["id"], "--raw").out


def test_a_mark_stands_on_all_that_is_shown_with_it(project):
    """An answer that prints what a bullet says of the code says that it is gone, under
    whichever bullet of its list it is found; what stands elsewhere has no mark."""
    project.write("src/wheel.py", "def build_wheel():\n    return 3\n")
    text = LIST.replace("Build the wheel", "Build it with `build_wheel()`")
    project.memory(text)
    project.commit("start")
    project.git("rm", "-q", "src/wheel.py")
    project.commit("gone")
    project.mem("index")
    hits = _ranked(project, "smoke test Firefox, coffee in the kitchen")
    marks = {hit["title"].rpartition(" > ")[2]: hit.get("gone", "") for hit in hits}
    assert "names build_wheel, gone since" in marks["Release checklist"]
    assert not marks["Other things"]
    found = next(hit["id"] for hit in hits if hit.get("gone"))
    assert "names build_wheel, gone since" in project.mem("show", found).out


def test_a_hit_is_named_by_its_best_bullet(noted):
    first = _ranked(noted, "smoke test Firefox")[0]
    assert first["line"] == 9
    assert "Firefox" in noted.mem("show", first["id"]).out


def test_a_topic_file_is_named_by_the_line_of_its_text(project):
    project.write(
        "memory/a.md",
        "---\nname: a\nmetadata:\n  type: x\n---\n\nFreeze the turbine.\n",
    )
    assert _ranked(project, "turbine")[0]["line"] == 7


def test_each_bullet_is_still_a_unit(noted):
    assert len(noted.listed()) == 8


def test_lines_of_an_index_and_bullets_with_dates_of_their_own_stand_alone(project):
    project.write("a.md", "Alpha text about turbines.\n")
    lines = "- [Alpha](a.md) turbine notes\n- [Beta](b.md) valve notes\n"
    project.memory(f"{lines}\n# Log\n\n" + "".join(
        f"- 2026-01-0{day}: the {name} was mended\n"
        for day, name in enumerate(("pump", "gate", "lamp"), 1)
    ))  # fmt: skip
    assert "Beta" not in _ranked(project, "turbine notes Alpha")[0]["text"]
    assert "pump" not in _ranked(project, "gate mended")[0]["text"]


def test_what_a_bullet_stands_among_does_not_make_its_words_common(noted):
    noted.mem("index")
    with opened(Options(str(noted.root))) as app:
        assert app.index.words.counts(["firefox", "coffee"]) == [1, 1]


def test_prose_of_one_file_lends_what_its_sections_have_in_common(project):
    """A section is found sooner beside others about the task than alone in a file."""
    section = "## Rollback\n\nThe turbine is stopped by hand.\n"
    about = "## Turbine valves\n\nOpen the turbine valves slowly, then the turbine gate.\n\n"
    project.write("memory/a.md", f"# Plant\n\n{about}{section}")
    project.write(
        "memory/b.md", f"# Office\n\n## Plants\n\nWater them on Monday.\n\n{section}"
    )
    hits = [
        hit
        for hit in _ranked(project, "turbine gate valves")
        if "Rollback" in hit["title"]
    ]
    assert [hit["path"] for hit in hits][:1] == ["memory/a.md"]


def test_age_says_nothing_of_prose(project):
    project.write(
        "docs/decisions/2019-01-01-cache.md",
        "# Cache\n\nThe cache is keyed by tenant.\n",
    )
    project.memory("# Notes\n\nThe tenant list is long.\n")
    assert _ranked(project, "how is the cache keyed by tenant")[0]["title"] == "Cache"


SENTENCE = (
    "Every metric of the billing service is registered in the catalogue before a"
    " dashboard uses it, else the exporter drops it without a word"
)


@pytest.mark.parametrize("below", ["", "\nAsk Dana for the catalogue."])
def test_a_note_of_one_long_line_is_told_once(project, below):
    """Its title is the beginning of the line, which stands whole in its place."""
    project.mem("add", "--kind", "policy", SENTENCE + below)
    block = project.mem("recall", "--format", "prompt", "register a billing metric").out
    assert block.count("Every metric of the billing") == 1
    assert f"### {SENTENCE} · policy" in block
    assert ("> Ask Dana for the catalogue." in block) is bool(below)
    (hit,) = project.mem("recall", "--json", "register a billing metric").json["hits"]
    assert (hit["title"], hit["text"]) == (SENTENCE, below.strip())


def test_a_title_stays_cut_above_a_line_that_is_no_title(project):
    line = SENTENCE + 20 * ", and again" + " as it did in March"
    project.mem("add", "--kind", "policy", line)
    block = project.mem("recall", "--format", "prompt", "register a billing metric").out
    assert f"> {line}" in block
    assert "… · policy" in block

"""Figures of the pages know what they are of."""

import json

import pytest

from tests.bench import all as everything
from tests.bench import figures

CODE = '"""Adds."""\n\n\ndef add(one: int, two: int) -> int:\n    return one + two\n'


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A tree of one module, with figures of it; its path."""
    module = tmp_path / "sums.py"
    module.write_text(CODE, encoding="utf-8")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "DATA", tmp_path / "figures.json")
    monkeypatch.setattr(
        figures, "SECTIONS", {"sums": figures.Section("Sums", ("*.py",), fitted=True)}
    )
    monkeypatch.setattr(figures, "_commit", lambda: "0123abcd")
    figures.save("sums", {"right": 3})
    return module


def test_a_section_says_what_it_is_of(measured):
    """Commit, date, and whether something was chosen on its data."""
    assert json.loads(figures.DATA.read_text())["sums"]["values"] == {"right": 3}
    assert "at 0123abcd" in figures.state("sums")
    assert "*Fitted*" in figures.state("sums")
    assert "earlier state" not in figures.state("sums")


def test_comments_and_line_breaks_do_not_age_a_figure(measured):
    """Nothing that was measured has changed."""
    measured.write_text(CODE.replace("Adds.", "Sums.") + "# a remark\n")
    assert "earlier state" not in figures.state("sums")


@pytest.mark.parametrize("change", [("one + two", "one - two"), ("add", "plus")])
def test_changed_code_ages_a_figure(measured, change):
    """The page says so until it is measured again."""
    measured.write_text(CODE.replace(*change))
    assert "**Of an earlier state**" in figures.state("sums")
    figures.save("sums", {"right": 2})
    assert "earlier state" not in figures.state("sums")


def test_every_section_is_measured_and_stands_in_the_file():
    """None is written by hand, none is missing."""
    assert set(everything.MEASURES) == set(figures.SECTIONS) == set(figures.load())


@pytest.mark.parametrize("section", list(figures.SECTIONS))
def test_what_a_section_measures_exists(section):
    """A pattern that finds nothing would never age."""
    assert all(any(figures.ROOT.glob(each)) for each in figures.SECTIONS[section].code)

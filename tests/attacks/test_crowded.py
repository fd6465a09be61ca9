"""A repository that writes much: what the person wrote is told all the same."""

import os
import re
import time

import pytest

from memcli.app import Options
from memcli.hooks import before_tool
from memcli.hooks.calls import Halfway, HookApp, HookProject
from memcli.project.globs import covers
from memcli.recall.budget import in_turns

OWN = "Never deploy zebra on Friday, the team is away."
MANY = 70  # more than are weighed at all


@pytest.fixture
def crowded(project):
    """A rule of the person's, and a repository that presses more than it."""
    project.ok("add", "--level", "global", "--kind", "policy", OWN)
    project.memory(
        *(
            project.entry(
                f"Policy number {number} on topic {number * 37}",
                "Words " * 60,
                type="directive",
                kind="policy",
                importance=1.0,
                priority="critical",
                reinforcement_count=500,
                created_at="2026-11-30",
            )
            for number in range(MANY)
        )
    )
    project.ok("index")
    return project


def test_no_repository_crowds_out_the_rules_of_the_home_folder(crowded):
    """Neither at a start, nor a sub-agent's, nor in an answer about something else."""
    for event in ("session-start", "subagent-start"):
        assert OWN in crowded.hook(event, source="startup").out
    answer = crowded.ok("recall", "fix the invoice export").out
    assert OWN in answer and "Policy number" in answer


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("abcA", "Aabc"),
        ("abcdefAB", "AabBcdef"),
        ("aAbcdBef", "AabBcdef"),
        ("ABCDab", "ABCDab"),
        ("aABCb", "AaBCb"),
        ("abc", "abc"),
        ("", ""),
    ],
)
def test_a_third_of_what_stands_is_the_person_s(given, expected):
    """Order is kept, but where fewer than a third of a beginning would be their own."""
    assert "".join(in_turns(given, {"A", "B", "C", "D"})) == expected


def test_time_that_runs_out_before_a_tool_keeps_what_the_person_noted(
    project, monkeypatch
):
    """The home folder's notes are looked at first, whatever a repository has."""
    project.ok("add", "--level", "global", "--kind", "pitfall", "--path", "src/*", OWN)
    project.remembers("Theirs", type="corrective", importance=1.0, paths=["src/**"])
    project.ok("index")
    is_about = before_tool._is_about

    def looks(entry, *at_hand):
        if entry.title == "Theirs":
            raise Halfway
        return is_about(entry, *at_hand)

    monkeypatch.setattr(before_tool, "_is_about", looks)
    monkeypatch.setattr(before_tool, "AT_ONCE", 0)
    tool = before_tool.ToolCall(files=(str(project.root / "src/a.py"),))
    with HookApp(Options(), os.environ, project.root, HookProject) as app:
        app.almost = time.monotonic() + 60
        told = before_tool.rules(app, tool, "")
    assert [entry.title for entry in told] == [OWN]


def test_what_the_person_noted_of_a_file_is_among_the_first_lines(project):
    """However many entries of a repository weigh more."""
    project.ok("add", "--level", "global", "--kind", "pitfall", "--path", "src/*", OWN)
    values = {"type": "corrective", "importance": 1.0, "paths": ["src/**"]}
    theirs = (f"Theirs number {number}" for number in range(5))
    project.memory(*(project.entry(title, **values) for title in theirs))
    project.ok("index")
    given = {"file_path": str(project.root / "src/a.py")}
    said = project.hook("pre-tool", tool_name="Edit", tool_input=given).out
    assert f"3 notes told ({OWN}; Theirs number 0; " in said


def test_a_pattern_is_compiled_only_for_a_text_that_begins_as_it_does(monkeypatch):
    """Thousands of patterns that differ behind one folder cost a comparison each."""
    compiled = []
    real = re.compile
    monkeypatch.setattr(
        re, "compile", lambda *given: compiled.append(given) or real(*given)
    )
    for number in range(50):
        assert not covers([f"src/**/unlike{number}*/**/*.p?"], "src/a/b.py")
    assert not compiled
    assert covers(["src/**/like*/**/*.p?"], "src/likely/b.py") and compiled

"""The targets of build tools that entries name, by tool."""

import os
import tomllib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from memcli.index import anchors, targets
from memcli.index.fates import Anchor


class Case(NamedTuple):
    """The manifests of a repository before and after a commit (an empty one is
    removed), commands whose targets are gone then, and others."""

    gone: list[str]
    stays: list[str]
    before: dict[str, str]
    after: dict[str, str]

    def put(self, project, files):
        """Commit these files as they are then."""
        removed = [name for name, text in files.items() if not text]
        if removed:
            project.git("rm", "-qr", *removed)
        for name in files.keys() - removed:
            project.write(name, files[name])
        project.commit("as it is then")


TABLE = Path(__file__).with_name("targets.toml").read_text("utf-8")
CASES = {tool: Case(**case) for tool, case in tomllib.loads(TABLE).items()}


def one_entry(project, text):
    """What mem doctor --stale says of a text, as the only memory there is."""
    project.remembers("E", text, id="e1")
    return states(project).get("E", "")


def states(project):
    """The detail of mem doctor --stale for each entry, by its title."""
    rows = project.checks("--stale")
    return dict(row["detail"].split(": ", 1) for row in rows if row["path"])


@pytest.mark.parametrize("tool", CASES)
def test_a_target_that_is_gone_is_named(project, tool):
    """With its commit; one that is still there, or never was, is no finding."""
    case = CASES[tool]
    case.put(project, case.before)
    case.put(project, case.after)
    commit = project.git("rev-parse", "--short", "HEAD").strip()
    commands = [*case.gone, *case.stays]
    # written after it had gone, and not committed
    entries = [
        project.entry(f"{number}", f"Run `{command}` first.")
        for number, command in enumerate(commands)
    ]
    project.memory(*entries)
    found = states(project)
    named = {commands[int(number)] for number in found}
    assert named == set(case.gone)
    assert all(f"gone since {commit}" in detail for detail in found.values()), found


@pytest.mark.parametrize("tool", CASES)
def test_the_targets_of_manifests_that_are_deleted(project, tool):
    """Each form has a reader of its own; none of them fails at no text."""
    case = CASES[tool]
    case.put(project, case.before)
    case.put(project, dict.fromkeys(case.before, ""))
    commit = project.git("rev-parse", "--short", "HEAD").strip()
    assert f"since {commit}" in one_entry(project, f"Run `{case.gone[0]}`.")


def test_a_manifest_that_cannot_be_read_hides_its_own_targets_only(project):
    """What others declared is known to be gone."""
    project.write("web/package.json", '{"scripts": {"e2e": "x"}}')
    project.write("app/package.json", '{"scripts": {"shots": "x"}}')
    project.commit("start")
    project.write("web/package.json", "{")
    project.write("app/package.json", "{}")
    project.commit("torn")
    assert one_entry(project, "Run `npm run e2e`.") == ""
    assert "gone since" in one_entry(project, "Run `npm run shots`.")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("go run ./cmd/x", Anchor("path", "cmd/x")),
        ("go test ./internal/cart/...", Anchor("path", "internal/cart")),
        ("cd web && npm run build", Anchor("script", "npm run build")),
    ],
)
def test_what_a_command_names(command, target):
    assert target in anchors.anchors_of({}, f"`{command}`")


@pytest.mark.parametrize(
    "put",
    [
        *("[" * 100_000, '{"scripts": 5', '{"a": "' + "x" * 2_000_000 + '"}'),
        *("[1, 2]", '{"scripts": ["e2e"]}', "\0"),
        *(os.mkfifo, os.mkdir, partial(os.symlink, "../other.json")),
    ],
    ids="deep torn large list type nul pipe folder link".split(),
)
def test_a_hostile_manifest_is_skipped_and_named(project, put):
    """Nothing waits for a pipe, nothing outside is read, and no target is called gone
    for it."""
    project.write("package.json", '{"scripts": {"e2e": "x"}}')
    project.commit("start")
    place = project.root / "package.json"
    place.unlink()
    (project.root.parent / "other.json").write_text('{"scripts": {"stolen": "x"}}')
    if isinstance(put, str):
        place.write_text(put)
    else:
        put(place)
    project.remembers("E", "Run `npm run e2e`.", id="e1")
    rows = project.checks("--stale")
    assert "WARN" not in {row["status"] for row in rows}
    assert any("package.json cannot be read" in row["detail"] for row in rows), rows


def test_what_was_gone_is_not_held_for_gone_once_its_manifest_is_torn(project):
    """It may have come back in what cannot be read; the reason is named."""
    project.write("package.json", '{"scripts": {"e2e": "x"}}')
    project.remembers("E", "Run `npm run e2e`.", id="e1")
    project.commit("start")
    project.write("package.json", "{}")
    project.commit("taken out")
    assert "gone since" in states(project)["E"]
    project.write("package.json", '{"scripts": {"e2e": "x"}}')
    project.commit("declared again")
    project.write("package.json", '{"scripts": {"e2e": ')
    project.commit("torn")
    assert states(project) == {}
    rows = project.checks("--stale")
    assert "package.json may still declare it" in rows[1]["detail"]


def test_what_is_taken_out_is_told_once_it_is_committed(project):
    """However often it was looked for before the commit."""
    project.write("package.json", '{"scripts": {"e2e": "x"}}')
    project.remembers("E", "Run `npm run e2e`.", id="e1")
    project.commit("start")
    assert states(project) == {}
    project.write("package.json", "{}")
    project.write("notes.txt", "another commit")
    project.git("add", "notes.txt")
    project.git("commit", "-qm", "something else")
    for _ in range(2):
        rows = project.checks("--stale")
        assert "no commit has removed it yet" in rows[0]["detail"]
    project.commit("taken out")
    assert "gone since" in states(project)["E"]


@pytest.mark.unit
def test_every_tool_is_called_by_some_program():
    """A row of one table without the other would never be asked."""
    called = {call.tool for call in targets.CALLS.values()}
    assert called | {"port"} == set(targets.TOOLS)  # prose names a port

"""mem init: in place once, and gone without a trace."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from memcli.cli import setup
from memcli.install import agent_settings, git_hooks, repository
from memcli.project import distribution, git
from memcli.project.config import user_file
from tests.install import is_installed
from tests.install.test_agent_settings import OLD, PREPARED

HOOKS = git_hooks.HOOKS
FOR_CI = distribution.for_ci
SPEC = "mem @ git+https://example.org/o/r@0123abc"


@pytest.fixture(autouse=True)
def _own_agents(monkeypatch):
    """No settings of the caller's agents; CI can install what runs here."""
    monkeypatch.setattr(distribution, "for_ci", lambda top: SPEC)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)


def snapshot(*folders):
    """All below, with mode and content; objects of git and indexes left out."""
    paths = (path for folder in folders for path in sorted(folder.rglob("*")))
    left = ("/objects/", ".memory.db")
    return {
        str(p): _state(p) for p in paths if not any(part in str(p) for part in left)
    }


def _state(path):
    if path.is_symlink():
        return 0, os.fsencode(os.readlink(path))
    return stat.S_IMODE(
        path.stat().st_mode
    ), b"" if path.is_dir() else path.read_bytes()


def test_init_prepares_a_repository_and_twice_is_once(project):
    """MEMORY.md, attributes, merge driver, ignore lines; a second run changes
    nothing."""
    project.ok("init")
    assert project.read() == "# Memory\n"
    attributes = project.read(".gitattributes")
    assert (
        "MEMORY.md merge=mem" in attributes and "*.archive.md merge=mem" in attributes
    )
    assert project.git("config", "merge.mem.driver").strip() == git.DRIVER_COMMAND
    assert "already in place" in project.mem("init").out
    assert project.read(".gitattributes") == attributes
    project.mem("index")
    assert ".memory.db" not in project.git("status", "--porcelain")
    (project.root / "MEMORY.md").write_bytes(b"\0\xff")
    assert "MEMORY.md: cannot be read and stays as it is" in project.mem("init").out


@pytest.mark.parametrize(
    "text",
    [
        None,
        "*.png binary\n",
        "*.png binary",
        "*.png binary\r\n*.txt text\r\n",
        "a b\r\nc d",
        "",
    ],
)
def test_remove_restores_every_byte(project, text):
    """Attributes, configuration and exclude file are what they were before."""
    if text is not None:
        (project.root / ".gitattributes").write_bytes(text.encode())
    before = snapshot(project.root)
    project.mem("init")
    project.mem("init")
    project.ok("init", "--remove")
    assert snapshot(project.root) == before


def test_a_dry_run_of_a_removal_says_one_thing(project):
    """Also where no file changes, but something beside them goes."""
    project.ok("init")
    for name in ("MEMORY.md", ".gitattributes", ".git/info/exclude"):
        (project.root / name).unlink()
    dry = project.ok("init", "--remove", "--dry-run")
    assert "merge driver" in dry.err
    assert "nothing would change" not in dry.err


def test_from_is_for_the_workflow_alone(project):
    """Without one it would go without a word."""
    before = snapshot(project.root)
    refused = project.ends(2, "init", "--from", "mem==1")
    assert "mem init --ci --from SPEC" in refused.err
    assert snapshot(project.root) == before


def test_undo_of_a_removal_says_that_it_is_one(project):
    """Agents and git call mem again, which nobody passes unawares; another removal
    takes every byte out again."""
    project.write(".claude/settings.local.json", '{ "model":"x",\n\t"hooks": {} }\n')
    before = snapshot(project.root)
    project.mem("init", "--git", "--claude", "--codex", "--agents")
    wired = (project.root / ".claude/settings.local.json").read_bytes()
    project.ok("init", "--remove", "--all")
    assert snapshot(project.root) == before
    project.mem("add", "Use uv")
    assert "init --remove (what it removed" in project.mem("undo").out
    back = project.mem("undo")
    assert "undid init --remove of" in back.out
    assert "mem init --remove removes it again" in back.out
    assert (project.root / ".claude/settings.local.json").read_bytes() == wired
    project.ok("init", "--remove", "--all")
    assert snapshot(project.root) == before


def test_remove_keeps_a_memory_that_was_written_to(project):
    """Only an empty MEMORY.md goes; with the index, its ignore lines do, too."""
    project.mem("init")
    project.mem("index")
    assert "still there; mem init --remove removes them" in project.mem("undo").out
    assert (project.root / ".memory.db").exists()
    assert project.git("status", "--porcelain") == ""
    project.mem("add", "Use uv")
    project.mem("index")
    assert "stays: MEMORY.md" in project.mem("init", "--remove").err
    assert not [*project.root.glob(".memory.db*")]
    assert ".memory.db*" not in project.read(".git/info/exclude")
    project.write(".git/info/exclude", "# mine\n.memory.db*\nfoo/\n")
    project.mem("init")
    project.mem("init", "--remove")
    assert project.read(".git/info/exclude") == "# mine\n.memory.db*\nfoo/\n"
    assert "Use uv" in project.read()


TEN = "empty|braces|broken braces|two blanks|four blanks|tabs|minified|CRLF|no newline|big"
PLACES = {
    "claude": (("--claude",), ".claude/settings.local.json"),
    "claude, shared": (("--claude", "--shared"), ".claude/settings.json"),
    "claude, user": (("--claude", "--user"), "~/.claude/settings.json"),
    "codex": (("--codex",), ".codex/hooks.json"),
    "codex, user": (("--codex", "--user"), "~/.codex/hooks.json"),
    "gemini": (("--gemini",), ".gemini/settings.json"),
}


@pytest.mark.parametrize(("options", "name"), PLACES.values(), ids=PLACES.keys())
def test_settings_in_twice_and_out_are_as_before(project, options, name):
    """Over ten prepared files, and over none: every byte, mode and folder all around is
    as before."""
    for text in [None, *(PREPARED[name] for name in TEN.split("|"))]:
        path = project.home / name[2:] if name.startswith("~/") else project.root / name
        if text is not None:
            project.write(name, text)
        before = snapshot(project.root, project.home)
        project.ok("init", *options)
        once = snapshot(project.root, project.home)
        assert is_installed(path.read_text(), options[0][2:])
        project.ok("init", *options)
        assert snapshot(project.root, project.home) == once
        project.ok("init", *options, "--remove")
        project.ok("init", "--remove")
        assert snapshot(project.root, project.home) == before


def test_all_of_it_comes_out_again(project):
    """Every target at once, in a repository that has some of each already: nothing is
    left. Each step that follows is said once, and what git has by its path."""
    project.write("CLAUDE.md", "# Rules\n\nBe kind.")
    project.write("AGENTS.md", "Be quick.\r\n")
    project.write(".claude/settings.local.json", PREPARED["tabs"] or "")
    project.write(".git/hooks/post-merge", "#!/bin/sh\nexec true\n").chmod(0o755)
    project.write(".git/info/exclude", "*.log")
    project.commit()
    before = snapshot(project.root, project.home)
    steps = project.ok("init", "--all").err
    assert steps.count("start a new session") == 1
    assert "commit .claude/settings.local.json" in steps
    once = snapshot(project.root, project.home)
    assert "already in place" in project.mem("init", "--all").out
    assert snapshot(project.root, project.home) == once
    project.ok("init", "--remove")
    assert snapshot(project.root, project.home) == before
    assert project.git("status", "--porcelain") == ""


def test_dry_run_of_all_shows_every_file_and_writes_none(project, world):
    """The diff has settings, hooks, workflow; the tree, the home and the state are
    untouched."""
    before = snapshot(world, project.root)
    shown = project.mem("init", "--all", "--dry-run")
    assert snapshot(world, project.root) == before
    names = ".claude/settings.local.json .codex/hooks.json AGENTS.md post-merge MEMORY.md".split()
    for name in (*names, repository.WORKFLOW):
        assert name in shown.out and name in shown.err
    assert "merge driver" in shown.err


def test_one_target_goes_alone(project):
    """What is named with --remove goes, all else stays."""
    project.mem("init", "--all")
    project.mem("init", "--claude", "--remove")
    again = project.mem("init", "--claude", "--remove").out
    assert again == "nothing of --claude is left to take back\n"
    assert not project.has(".claude")
    assert project.has(".codex/hooks.json")
    assert project.has(".git/hooks/post-merge")
    exclude = project.read(".git/info/exclude")
    assert "/.codex/hooks.json" in exclude and ".memory.db*" in exclude
    settings = project.home / ".claude/settings.json"
    for left in ("--user", "--all"):  # the user's own wiring; both
        project.mem("init", "--claude", "--user")
        assert settings.exists() and project.git("config", "merge.mem.driver")
        project.mem("init", "--remove", left)
        assert not settings.exists() and project.has("MEMORY.md") == (left == "--user")
        assert project.has(".codex/hooks.json") == (left == "--user")


def test_the_user_has_hooks_without_a_project(project, tmp_path):
    """Outside of any repository --user is all there is; without it that is an error."""
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    project.ends(2, "init", "--claude", cwd=nowhere)
    moved = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "cc"),
        "CODEX_HOME": str(tmp_path / "cx"),
    }
    before = snapshot(nowhere, project.home)
    words = ("init", "--claude", "--codex", "--user")
    project.ok(*words, cwd=nowhere, env=moved)
    assert is_installed((tmp_path / "cc/settings.json").read_text(), "claude")
    assert is_installed((tmp_path / "cx/hooks.json").read_text(), "codex")
    project.ok(*words, "--remove", cwd=nowhere, env=moved)
    assert not (tmp_path / "cc").exists() and not (tmp_path / "cx").exists()
    assert snapshot(nowhere, project.home) == before
    here = snapshot(project.root)
    assert "mem init sets it up" in project.ok(*words).out
    assert snapshot(project.root) == here


def test_settings_of_one_person_are_kept_from_git_and_shared_ones_are_not(project):
    """Both hold the same command."""
    project.mem("init", "--claude")
    assert project.git("status", "--porcelain", "--", ".claude") == ""
    project.mem("init", "--claude", "--shared")
    assert ".claude/" in project.git("status", "--porcelain")
    files = [
        project.root / ".claude" / f"settings{part}.json" for part in (".local", "")
    ]
    local, shared = (agent_settings.handlers(path.read_text()) for path in files)
    assert local == shared and {item.program for item in local} == {"mem"}


@pytest.mark.parametrize("text", ['{\n  "a": 1,\n}', "{\n\n // note\n}"])
def test_broken_settings_stop_everything_before_it_begins(project, text):
    """The file and the line are named, and nothing at all was written."""
    project.write(".claude/settings.local.json", text)
    before = snapshot(project.root)
    done = project.ends(2, "init", "--all")
    assert "settings.local.json:3: not valid JSON" in done.err
    assert snapshot(project.root) == before


def test_an_older_wiring_is_replaced_and_an_edited_file_keeps_its_edits(project):
    """A path of an earlier mem goes; what the agent wrote since stays when ours is
    taken out."""
    path = project.write(".claude/settings.local.json", OLD)
    assert "updated .claude/settings.local.json" in project.mem("init", "--claude").out
    assert "/old/place" not in path.read_text()
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, "model": "x"}))
    project.mem("init", "--remove")
    assert json.loads(path.read_text()) == {"model": "x"}


def test_an_agent_with_the_plug_in_is_not_wired_twice(project):
    """The plug-in calls mem already; that is said, and the settings stay as they
    are."""
    path = project.write(
        ".claude/settings.json", '{"enabledPlugins": {"mem@here": true}}'
    )
    project.write("~/.codex/config.toml", '[plugins."mem@here"]\nenabled = true\n')
    said = project.mem("init", "--claude", "--codex").out
    assert said.count("has the plug-in mem@here, which calls mem: left alone") == 2
    assert not project.has(".claude/settings.local.json")
    assert not project.has(".codex")
    path.write_text('{"enabledPlugins": {"mem@here": false}}')
    project.mem("init", "--claude")
    assert project.has(".claude/settings.local.json")


def test_the_server_of_a_session_may_answer_its_hooks(project):
    """Where it runs, and nothing else changes; by processes again, and out again."""
    wired = ("init", "--claude")
    done = project.ok(*wired, "--set", "hook_by=mcp")
    assert "claude mcp add mem -- mem mcp" in done.err
    by_server = json.loads(project.read(".claude/settings.local.json"))["hooks"]
    kinds = {event: group["hooks"][0]["type"] for event, (group,) in by_server.items()}
    served = {event for event, kind in kinds.items() if kind == "mcp_tool"}
    assert served == set(agent_settings.SERVED)
    assert not project.ok("doctor", "--json").out.count("does not call mem on")
    project.ok(*wired)
    hooks = json.loads(project.read(".claude/settings.local.json"))["hooks"]
    assert {event: group for event, (group,) in hooks.items()} == (
        agent_settings.groups("claude")
    )
    project.ok(*wired, "--set", "hook_by=mcp")
    project.ok(*wired, "--remove")
    assert not project.has(".claude/settings.local.json")


def test_opencode_gets_a_plug_in_file(project):
    """Twice is once; a file of somebody else is left."""
    project.mem("init", "--opencode")
    path = project.root / ".opencode/plugin/mem.js"
    assert "mem hook" in path.read_text() or '"hook"' in path.read_text()
    assert "already in place" in project.mem("init", "--opencode").out
    project.mem("init", "--opencode", "--remove")
    assert not project.has(".opencode")
    project.write(".opencode/plugin/mem.js", "export const x = 1\n")
    assert "not written by mem" in project.mem("init", "--opencode").out


def test_where_mem_is_not_found_is_said(project):
    """Hooks call mem by its name: a PATH without it, or a bare one, is worth a word."""
    assert (
        "started from the desktop does not find" in project.mem("init", "--claude").out
    )
    nowhere = {"PATH": "/usr/bin:/bin"}
    assert "mem is not on your PATH" in project.mem("init", "--claude", env=nowhere).out


def test_a_link_of_the_user_is_written_through(project):
    """A dotfiles repository keeps the file; the link stays a link."""
    target = project.write("~/dotfiles/claude.json", "{}\n")
    link = project.home / ".claude/settings.json"
    link.parent.mkdir()
    link.symlink_to(target)
    project.mem("init", "--claude", "--user")
    assert link.is_symlink() and is_installed(target.read_text(), "claude")
    project.mem("init", "--claude", "--user", "--remove")
    assert link.is_symlink() and target.read_text() == "{}\n"


def test_a_link_that_leaves_the_repository_is_refused(project, tmp_path):
    """Into the home folder, too: a repository must not choose which of its user's files
    is written."""
    for name, target in (
        (".claude/settings.local.json", "~/x.json"),
        ("AGENTS.md", "~/notes.md"),
    ):
        aim = project.write(target, "{}\n")
        link = project.root / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(aim)
        done = project.ends(5, "init", "--claude", "--agents")
        assert "where mem does not write" in done.err
        assert aim.read_text() == "{}\n"
        link.unlink()


def sections(folder):
    """Which of the hooks call mem, and how."""
    paths = [folder / name for name in HOOKS]
    return {
        path.name: git_hooks.program_of(path.read_text())
        for path in paths
        if path.exists()
    }


def test_git_goes_on_whatever_mem_does(project):
    """Commit, merge, rebase, cherry-pick and another work tree with hooks on: no
    failure, no word."""
    project.mem("init", "--git")
    project.mem("add", "Base")
    project.commit()
    for branch in ("one", "two"):
        project.git("checkout", "-q", "-b", branch, "main")
        project.write(f"{branch}.txt", branch)
        about = "caches" if branch == "one" else "deploys"
        project.mem("add", f"Lesson of branch {branch}, about {about}")
        project.commit(branch)
    project.git("checkout", "-q", "main")
    added = "worktree add -q ../linked -b three one"
    for line in ("merge -q one", "rebase -q main two", added):
        done = subprocess.run(
            ["git", *line.split()], cwd=project.root, capture_output=True
        )
        assert (done.returncode, done.stdout) == (0, b""), done.stderr
    linked = project.root.parent / "linked"
    picked = subprocess.run(
        ["git", "cherry-pick", "two"], cwd=linked, capture_output=True
    )
    assert picked.returncode == 0, picked.stderr
    assert project.git("status", "--porcelain") == ""


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """A `mem` first on PATH that notes how it is called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    out = tmp_path / "noted"
    (folder / "mem").write_text(f'#!/bin/sh\necho "$PWD|$*" >> "{out}"\n')
    (folder / "mem").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return out


def test_beside_found_memory_none_is_made_and_that_is_said(project):
    """The first note makes one."""
    project.write("docs/lessons/cart.md", "# Cart\n\nFreeze the clock.\n")
    said = project.ok("init").out
    assert "found memory, in view as it is: docs/lessons/" in said
    assert "the first mem add creates one" in said
    assert not (project.root / "MEMORY.md").exists()
    assert "added to MEMORY.md" in project.ok("add", "Use uv").out


def test_all_has_history_without_being_asked(project):
    """In eight lines; and what it removes names what of it stays."""
    project.write("README.md", "A shop.\n")
    project.commit("The cart is emptied at midnight")
    done = project.mem("init", "--all")
    assert "1 commit" in done.out
    assert len((done.out + done.err).splitlines()) <= 8
    assert (
        "emptied at midnight" in project.mem("recall", "when is the cart emptied").out
    )
    dry = project.mem("init", "--all", "--remove", "--dry-run")
    assert "removed MEMORY.md" in dry.err
    assert "stays: MEMORY.md" not in dry.err
    left = project.mem("init", "--all", "--remove")
    assert "history of this repository stays" in left.err
    assert "mem forget --all" in left.err


def test_hooks_that_are_committed_call_mem_by_name(project, noted):
    """In the folder that core.hooksPath names, beside what others wrote; real git runs
    it."""
    folder = "tools/git/hooks"
    project.git("config", "core.hooksPath", folder)
    theirs = project.write(f"{folder}/post-commit", "#!/bin/sh\ntouch theirs\n")
    theirs.chmod(0o755)
    before = snapshot(project.root)
    project.ok("init", "--git")
    assert set(sections(project.root / folder).values()) == {"mem"}
    assert not sections(project.root / ".git/hooks")
    project.commit()
    assert project.has("theirs")
    assert noted.read_text() == f"{project.root}|hook git-post-commit\n"
    project.mem("init", "--remove")
    (project.root / "theirs").unlink()
    changed = {name for name, _ in snapshot(project.root).items() ^ before.items()}
    assert all("/.git/" in name for name in changed)


def test_hooks_for_all_repositories_are_left_alone(project):
    """core.hooksPath in the user's own configuration: only with --user."""
    folder = project.home / "hooks"
    folder.mkdir()
    project.git("config", "--global", "core.hooksPath", str(folder))
    told = project.ok("init", "--git")
    assert "--git --user" in told.out and not sections(folder)
    project.mem("init", "--git", "--user")
    assert len(sections(folder)) == 3
    project.mem("init", "--git", "--remove")
    assert len(sections(folder)) == 3
    project.mem("init", "--git", "--user", "--remove")
    assert not list(folder.iterdir())


def test_hooks_out_of_the_repository_by_its_own_settings_are_asked_about(
    project, tmp_path
):
    """Such settings may come with an archive: only with --trust, also to remove."""
    folder = tmp_path / "shared"
    folder.mkdir()
    project.git("config", "core.hooksPath", str(folder))
    before = snapshot(project.root)
    for dry in ([], ["--dry-run"]):
        said = project.ends(5, "init", "--git", *dry).err
        assert re.search(r"\.git/config:\d+: core\.hooksPath leads out", said)
        assert "mem init --git --trust" in said
    assert snapshot(project.root) == before
    assert not list(folder.iterdir())
    project.ok("init", "--git", "--trust")
    assert len(sections(folder)) == 3
    assert "--remove --trust" in project.mem("init", "--git", "--remove").out
    assert len(sections(folder)) == 3
    project.mem("init", "--git", "--remove", "--trust")
    assert not list(folder.iterdir())


def test_a_linked_work_tree_uses_the_common_hooks(project, tmp_path):
    """Here one of a bare clone; in the bare clone itself there is nothing to run."""
    project.commit()
    source = tmp_path / "bare.git"
    linked = tmp_path / "linked"
    project.git("clone", "-q", "--bare", str(project.root), str(source))
    project.git("worktree", "add", "-q", str(linked), "-b", "x", cwd=source)
    before = snapshot(linked, source)
    project.ok("init", "--git", cwd=linked)
    assert len(sections(source / "hooks")) == 3
    project.ok("init", "--remove", cwd=linked)
    assert snapshot(linked, source) == before
    told = project.ok("init", "--git", "--root", str(source))
    assert "no hook that git would run" in told.out


def test_a_hook_that_pre_commit_moved_aside_is_ours_still(project):
    """pre-commit calls it: nothing is put beside it, doctor sees it, and it goes as it
    came."""
    project.mem("init", "--git")
    folder = project.root / ".git" / "hooks"
    (folder / "post-merge").rename(folder / "post-merge.legacy")
    (folder / "post-merge").write_text("#!/bin/sh\nexec pre-commit hook-impl\n")
    project.mem("init", "--git")
    assert "mem hook" not in (folder / "post-merge").read_text()
    assert "git calls mem: post-merge.legacy" in project.mem("doctor").out
    project.mem("init", "--git", "--remove")
    assert [
        path.name for path in folder.glob("post-*") if path.suffix != ".sample"
    ] == ["post-merge"]


def test_the_workflow_is_what_github_reads(project):
    """Valid YAML with the two jobs, least permissions, one run at a time, a pinned
    version."""
    project.mem("init", "--ci")
    text = project.read(repository.WORKFLOW)
    read = yaml.safe_load(text)
    assert set(read["jobs"]) == {"compact", "diff"} and read["permissions"] == {
        "contents": "read"
    }
    assert read["jobs"]["compact"]["permissions"]["contents"] == "write"
    assert read["jobs"]["compact"]["concurrency"]["cancel-in-progress"] is False
    steps = [step for job in read["jobs"].values() for step in job["steps"]]
    installs = [step["run"] for step in steps if "run" in step]
    assert installs[0].strip() == installs[2].strip() == f"pip install --quiet '{SPEC}'"
    for job in read["jobs"].values():
        assert (
            "${{" not in job["steps"][-1]["run"]
        )  # nothing from outside is pasted into a script
        subprocess.run(
            ["bash", "-n"], input=job["steps"][-1]["run"].encode(), check=True
        )


def test_ci_is_told_what_to_install(project, monkeypatch):
    """Where only this machine has the program, --from names it; nothing is written
    without."""
    monkeypatch.setattr(distribution, "for_ci", FOR_CI)
    before = snapshot(project.root)
    done = project.ends(2, "init", "--ci")
    assert "--from" in done.err and snapshot(project.root) == before
    assert (
        "no CI workflow was written: give what it installs"
        in project.mem("init", "--all").out
    )
    project.mem("init", "--ci", "--from", "git+https://example.org/o/r@1")
    assert "'git+https://example.org/o/r@1'" in project.read(repository.WORKFLOW)


def test_a_workflow_that_was_changed_is_left(project):
    """By hand, or somebody else's; one that git gave other line ends is still ours."""
    path = project.write(repository.WORKFLOW, "name: memory\n")
    assert "left as it is" in project.mem("init", "--ci").out
    path.unlink()
    project.mem("init", "--ci")
    ours = path.read_bytes()
    path.write_bytes(ours.replace(b"17 4", b"18 4"))
    assert (
        "left as it is" in project.mem("init", "--ci", "--remove").out and path.exists()
    )
    path.write_bytes(ours.replace(b"\n", b"\r\n"))
    assert "already in place" in project.mem("init", "--ci").out
    project.mem("init", "--ci", "--remove")
    assert not path.exists()


@pytest.fixture
def runner(project, tmp_path, monkeypatch):
    """A checkout with two near-duplicates, with its origin, mem, and a `gh` that
    notes."""
    body = "Freeze time in the tests of the cart before the expiry is computed, or they fail."
    project.memory(*(project.entry("Freeze time", body) for _ in range(2)))
    project.commit()
    origin = tmp_path / "origin.git"
    project.git("clone", "-q", "--bare", str(project.root), str(origin))
    project.git("remote", "add", "origin", str(origin))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "mem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
    (folder / "gh").write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{tmp_path}/gh"\n')
    for path in folder.iterdir():
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name, value in {
        "BRANCH": "main",
        "RUNNER_TEMP": str(tmp_path),
        "NUMBER": "7",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }.items():
        monkeypatch.setenv(name, value)
    return origin


def script(name, cwd):
    """Run a step of the workflow as the runner does."""
    text = yaml.safe_load(repository.workflow_text("mem"))["jobs"][name]["steps"][-1][
        "run"
    ]
    return subprocess.run(
        ["bash", "-e", "-c", text], cwd=cwd, capture_output=True, text=True
    )


def test_ci_commits_what_it_compacted(project, runner, tmp_path):
    """As the bot, on the branch, with words; a second run finds nothing to do."""
    assert script("compact", project.root).returncode == 0
    author = project.git("log", "-1", "--format=%an|%s", "main", cwd=runner).strip()
    assert author == "github-actions[bot]|Compact memory"
    names = project.git("show", "--name-only", "--format=", "main", cwd=runner).split()
    assert names == ["MEMORY.archive.md", "MEMORY.md"]
    assert (tmp_path / "summary").read_text().strip() and not (tmp_path / "gh").exists()
    again = script("compact", project.root)
    assert (again.returncode, again.stdout) == (0, "memory is compact already\n")


def test_ci_proposes_what_it_may_not_push(project, runner, tmp_path):
    """A protected branch: a branch of its own, and a pull request for it."""
    hook = runner / "hooks/update"
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/main ]\n')
    hook.chmod(0o755)
    done = script("compact", project.root)
    assert done.returncode == 0, done.stderr
    last = project.git("log", "-1", "--format=%s", "mem/compact", cwd=runner)
    assert last.strip() == "Compact memory"
    assert "pr create --head mem/compact --base main" in (tmp_path / "gh").read_text()


def test_ci_leaves_a_branch_that_moved_on(project, runner, tmp_path):
    """Somebody pushed meanwhile: the run for that commit will compact."""
    other = tmp_path / "other"
    project.git("clone", "-q", str(runner), str(other))
    project.commit("Later", cwd=other)
    project.git("push", "-q", "origin", "main", cwd=other)
    done = script("compact", project.root)
    assert done.returncode == 0 and "has moved on" in done.stdout
    assert project.git("branch", "--list", "mem/compact", cwd=runner) == ""


def test_ci_says_what_a_branch_changes(project, runner, tmp_path, monkeypatch):
    """One comment with the words of mem diff."""
    monkeypatch.setenv("BASE", project.git("rev-parse", "HEAD").strip())
    project.mem("add", "Deploys wait for the flag")
    project.commit()
    monkeypatch.setenv("HEAD", project.git("rev-parse", "HEAD").strip())
    done = script("diff", project.root)
    assert done.returncode == 0, done.stderr
    assert "Deploys wait for the flag" in (tmp_path / "summary").read_text()
    assert (
        "api --method POST repos/o/r/issues/7/comments" in (tmp_path / "gh").read_text()
    )


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ({}, ["AGENTS.md"]),
        ({"CLAUDE.md": "Mine."}, ["CLAUDE.md"]),
        (
            {"AGENTS.md": "Mine.\r\n", "CLAUDE.md": "Mine.\n"},
            ["AGENTS.md", "CLAUDE.md"],
        ),
        ({"AGENTS.md": "", "CLAUDE.md": "# C\n\n@AGENTS.md\n"}, ["AGENTS.md"]),
    ],
)
def test_agents_are_told_where_they_read(project, files, changed):
    """In the files that exist, once though one includes the other; a new AGENTS.md
    without any."""
    for name, text in files.items():
        project.write(name, text)
    before = snapshot(project.root)
    project.mem("init", "--agents")
    holding = [
        name
        for name in repository.AGENT_FILES
        if "mem recall" in _read(project.root / name)
    ]
    assert holding == changed
    for name in changed:
        assert _read(project.root / name).startswith(files.get(name, ""))
        lines = _read(project.root / name).splitlines()
        assert lines[-1] == "<!-- mem: end -->"
        assert len(lines) - lines.index("## Project memory") == 6
    project.mem("init", "--agents")
    project.mem("init", "--remove")
    assert snapshot(project.root) == before


def _read(path):
    return path.read_bytes().decode() if path.exists() else ""


def test_the_hooks_for_pre_commit_are_commands_of_ours():
    """Each entry is a command line that the program knows; post-* stages get no
    files."""
    from memcli.cli.program import commands

    top = Path(__file__).parents[2]
    listed = yaml.safe_load((top / ".pre-commit-hooks.yaml").read_text())
    action = yaml.safe_load((top / ".github/actions/mem/action.yml").read_text())
    assert (
        "../../../memcli/install/templates/compact.sh"
        in action["runs"]["steps"][-1]["run"]
    )
    assert [hook["id"] for hook in listed] == ["mem-check", "mem-index", "mem-compact"]
    for hook in listed:
        assert (
            hook["entry"].split()[0] == "mem" and hook["entry"].split()[1] in commands()
        )
        late = any(stage.startswith("post") for stage in hook.get("stages", ()))
        assert not late or (hook["always_run"] and not hook["pass_filenames"])


def test_what_to_learn_with_is_written_to_the_users_configuration(project):
    """Nowhere else, and not by a dry run; a second time there is nothing to do."""
    path = user_file(project.home, os.environ)
    assert (
        '+llm = "claude"'
        in project.mem("init", "--learn-with", "claude", "--dry-run").out
    )
    assert not path.exists()
    said = project.ok("init", "--learn-with", "claude")
    assert "sessions are learned from with claude" in said.out
    assert path.read_text() == 'llm = "claude"\n'
    assert "already in place" in project.mem("init", "--learn-with", "claude").out
    dry = project.mem("init", "--learn-with", "claude", "--dry-run").err
    assert dry.endswith("it would say:\neverything is already in place\n")
    project.ok("init", "--learn-with", "rules")
    assert path.read_text() == 'llm = "none"\n'


def test_what_to_learn_with_is_named_and_taken_back(project):
    """A removal of all names the command; that takes out the value it names alone."""
    path = user_file(project.home, os.environ)
    back = ("init", "--remove", "--learn-with")
    project.ok("init", "--learn-with", "claude")
    removed = project.ok("init", "--remove")
    assert "config.toml: mem init --remove --learn-with claude" in removed.err
    project.ok("init")
    before = snapshot(project.root)
    assert "of --learn-with is left" in project.ok(*back, "codex").out
    path.write_text('limit = 5\nllm = "claude"\n[t]\nllm = "claude"\n')
    assert '-llm = "claude"' in project.ok(*back, "claude", "--dry-run").out
    project.ok(*back, "claude")
    assert path.read_text() == 'limit = 5\n[t]\nllm = "claude"\n'
    assert snapshot(project.root) == before
    path.write_text('llm = "claude"\n')
    project.ok(*back, "claude")
    assert not path.exists()


def test_who_learned_before_learns_again_when_it_is_taken_back(project):
    """Byte for byte; a line with a word of the person stays, and no command is named
    for it."""
    path = user_file(project.home, os.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    own = "# mine\nllm = 'anthropic'\nlimit = 7\n"
    path.write_text(own)
    project.ok("init", "--learn-with", "claude")
    project.ok("init", "--learn-with", "codex")
    project.ok("init", "--remove", "--learn-with", "codex")
    assert path.read_text() == own
    path.write_text('llm = "claude"  # by hand\n')
    said = project.ok("init", "--remove").err
    assert 'llm = "claude" stays in' in said
    assert "--remove --learn-with" not in said


@pytest.mark.parametrize(
    ("programs", "answer", "value", "receiver"),
    [
        (("claude", "codex"), "y", "claude", "Anthropic"),
        (("claude", "codex"), "", "none", "Anthropic"),
        (("codex",), "y", "codex", "OpenAI"),
    ],
)
def test_a_person_at_a_terminal_is_asked_once(
    project, monkeypatch, programs, answer, value, receiver
):
    """The default is no; either answer settles it. The question names who is sent what.
    Without the command of an agent nobody is asked."""
    asked = []
    monkeypatch.setattr(
        setup, "_asked", lambda mem, text: (asked.append(text), answer == "y")[1]
    )
    monkeypatch.setattr("shutil.which", lambda name, *_, **__: None)
    project.mem("init")
    assert not any("login" in question_asked for question_asked in asked)
    monkeypatch.setattr(
        "shutil.which", lambda name, *_, **__: name if name in programs else None
    )
    for _ in range(2):
        project.mem("init")
    (question,) = (
        question_asked for question_asked in asked if "login" in question_asked
    )
    assert "digest" in question and f"goes to {receiver}" in question
    assert f'llm = "{value}"' in user_file(project.home, os.environ).read_text()

"""Memory that people and other tools keep is found where it lies, bounded, and never
leads out."""

import os
import sys

import pytest

from memcli.project import config, elsewhere, levels_on_disk
from memcli.project.listing import PRIVATE
from tests.programs import finished


@pytest.fixture
def root(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


def put(root, *names, text="# Note\n\nWords.\n"):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def look(root, **environ):
    return levels_on_disk.list_files(root, root.parent / "home", environ=environ)


def names(root):
    return sorted(file.name for file in look(root).files)


@pytest.mark.unit
@pytest.mark.parametrize(
    "name",
    """
    .claude/MEMORY.md memory/MEMORY.md memory/2026-03-05.md memory/learnings/a.md .memory/x.md
    .claude/memory/user.md memory-bank/activeContext.md memory-bank/journal/1.md
    .serena/memories/core.md docs/memory/a.md .learnings/ERRORS.md LEARNINGS.md ENTSCHEIDUNGEN.md
    docs/decisiones.md lessons.md Lessons_Learned.md docs/Decisions.md docs/pitfalls.md
    docs/decisions/0001-use-x.md docs/adr/0002-y.md docs/lessons/z.md doc/adr/0001-z.md
    .development-context/ADRs/01-a.md .claude/projects/-home-ana-shop/memory/MEMORY.md
    .claude/agent-memory/MEMORY.md .kilocode/rules/memory-bank/brief.md cline_docs/progress.md
    .agents/memory/MEMORY.md .cursor/memory-bank/brief.md .specify/memory/constitution.md
    .planning/codebase/CONCERNS.md .planning/research/STACK.md docs/learnings/a.md
    aidd_docs/memory/internal/b.md
    """.split(),
)
def test_each_row_of_the_table_is_in_view_as_memory_of_the_project(root, name):
    put(root, name)
    (file,) = look(root).files
    assert (file.name, file.found, *file.place[:2]) == (name, True, "project", "memory")


@pytest.mark.unit
def test_what_is_no_memory_there_is_left_out(root):
    listed = (
        "memory/README.md docs/adr/template.md memory/proxy.md memory/institutional.md "
        "memory/a.archive.md memory/proxy-tasks/x.md memory/a/b/c.md memory/notes.txt "
        "src/memory/x.md docs/other.md"
    )
    put(root, *listed.split())
    assert names(root) == []


@pytest.mark.unit
def test_what_git_ignores_is_left_out(root):
    put(
        root,
        "memory/a.md",
        "memory/private/b.md",
        ".learnings/c.md",
        "memory-bank/d.md",
    )
    put(root, ".gitignore", text=".learnings/\nmemory/private\n")
    put(root, "memory-bank/.gitignore", text="*\n!d.md\n")
    put(root, ".git/info/exclude", text="/memory/a.md\n")
    assert names(root) == ["memory-bank/d.md"]


def test_what_git_tracks_is_not_left_out_though_it_is_ignored(root):
    """As git has it: an ignore file speaks of files that are not tracked."""
    put(root, "memory/a.md", "memory/b.md", "docs/memory/a.md")
    put(root, ".gitignore", text="memory/\n")
    for line in ("git init -q", "git add --force docs/memory/a.md memory/b.md"):
        finished(*line.split(), cwd=root)
    assert names(root) == ["docs/memory/a.md", "memory/b.md"]


@pytest.mark.unit
def test_a_link_of_the_memory_file_brings_its_target_one_hop(root):
    put(root, "notes/a.md", text="[b](b.md)")
    put(
        root,
        "notes/b.md",
        "proxy.md",
        "tasks/t.md",
        ".mem/jobs/j/MEMORY.md",
        "notes/proxy.md",
    )
    text = (
        "[a](notes/a.md#x) [web](https://x.y/z.md) [out](../out.md) [p](notes/proxy.md)"
    )
    text += "\n[b](<notes/d e.md> 'f') [g](notes/h%20(i).md) [j][k]\n[k]: notes/ä.md\n"
    put(root, "MEMORY.md", "notes/d e.md", "notes/h (i).md", "notes/ä.md", text=text)
    put(root.parent, "out.md")
    found = [file.name[6:] for file in look(root).files if file.found]
    assert found == ["a.md", "d e.md", "h (i).md", "ä.md"]


@pytest.mark.unit
def test_bad_files_are_named_and_the_rest_is_there(root):
    put(root, "memory/good.md", "../outside.md")
    (root / "memory/big.md").touch()
    os.truncate(root / "memory/big.md", levels_on_disk.MOST_BYTES + 1)
    os.mkfifo(root / "memory/pipe.md")
    (root / "memory/out.md").symlink_to("../../outside.md")
    (root / "memory/loop.md").symlink_to("loop.md")
    (root / "memory/null.md").symlink_to("/dev/null")
    (root / ".learnings").symlink_to("memory")
    listing = look(root)
    assert [file.name for file in listing.files] == ["memory/good.md"]
    told = {problem.path for problem in listing.problems}
    assert told >= {
        "memory/big.md",
        "memory/pipe.md",
        "memory/out.md",
        "memory/null.md",
    }


@pytest.mark.unit
def test_of_too_many_the_newest_by_name_are_in_view_and_the_rest_is_counted(root):
    days = [f"memory/{year}-{month:02}-{day:02}.md" for year in (2024, 2025) for month in
            range(1, 13) for day in range(1, 29)]  # fmt: skip
    put(root, *days, "memory/undated.md")
    listing = look(root)
    newest = sorted(days, reverse=True)[: levels_on_disk.MOST_FILES]
    assert [file.name for file in listing.files] == newest
    (problem,) = listing.problems
    assert (problem.path, problem.severity) == ("memory", "defaulted")
    assert f"{len(days) + 1 - levels_on_disk.MOST_FILES} more" in problem.message


def test_numbered_notes_count_upward_and_the_rest_goes_by_gits_day(root, monkeypatch):
    """Whatever their names: the last number, and what was committed last."""
    monkeypatch.setattr(levels_on_disk, "MOST_FILES", 4)
    git = ["git", "-C", str(root), "-c", "user.name=Ana", "-c", "user.email=a@x"]
    finished(*git, "init", "-q")
    for day, name in enumerate(("z", "y", "b", "a"), 1):
        put(root, f"memory/{name}.md")
        environ = {**os.environ, "GIT_COMMITTER_DATE": f"2026-01-0{day}T10:00:00Z"}
        finished(*git, "add", ".")
        finished(*git, "commit", "-qm", name, env=environ)
    put(root, "memory/2026-01-03.md")
    assert names(root) == [
        f"memory/{each}.md" for each in ("2026-01-03", "a", "b", "y")
    ]
    put(root, *(f"docs/adr/{number}-x.md" for number in (9, 10, 11)))
    environ = {**os.environ, "GIT_COMMITTER_DATE": "2026-02-01T10:00:00Z"}
    finished(*git, "add", ".")
    finished(*git, "commit", "-qm", "all", env=environ)
    monkeypatch.setattr(levels_on_disk, "MOST_FILES", 2)
    assert names(root) == ["docs/adr/10-x.md", "docs/adr/11-x.md"]
    assert not elsewhere.others(root, look(root))  # the bound says it already


@pytest.mark.unit
def test_a_folder_with_too_many_entries_is_cut_and_named_alone(root, monkeypatch):
    monkeypatch.setattr(levels_on_disk.files, "ENTRIES", 10)
    put(root, *(f"memory/n{number:02}.md" for number in range(30)))
    listing = look(root)
    assert len(listing.files) == 10
    cut, left = listing.problems
    assert (
        (cut.path, cut.severity)
        == (left.path, left.severity)
        == ("memory", "defaulted")
    )
    assert left.message.startswith("10 found files") and ": 20 more" in left.message


@pytest.mark.unit
def test_claude_codes_own_memory_is_private_and_its_folder_is_its_root(root):
    slug = str(root).replace("/", "-").replace("_", "-").replace(".", "-")
    put(root.parent / "home", f".claude/projects/{slug}/memory/MEMORY.md", "secret.md")
    folder = root.parent / f"home/.claude/projects/{slug}/memory"
    (folder / "out.md").symlink_to("../../../../secret.md")
    listing = look(root)
    (file,) = listing.files
    assert file.name == f"~/.claude/projects/{slug}/memory/MEMORY.md"
    assert file.tree == PRIVATE
    assert file.base == str(folder)
    assert [problem.path.rpartition("/")[2] for problem in listing.problems] == [
        "out.md"
    ]


_COUNT = """
import sys
from pathlib import Path
from memcli.project import levels_on_disk
seen = []
def hook(event, args):
    if event in ("os.scandir", "os.listdir"):
        seen.append(str(args[0]))
sys.addaudithook(hook)
levels_on_disk.list_files(*map(Path, sys.argv[1:]), environ={})
print("\\n".join(seen))
"""


def test_no_other_folder_is_opened(root):
    """However large the tree is, only the folders of the table are listed."""
    put(root, "memory/a.md", *(f"src/p{number}/memory/x.md" for number in range(100)))
    put(
        root,
        ".mem/jobs/j/tasks/t/MEMORY.md",
        *(f".mem/jobs/j/src{number}/x.md" for number in range(100)),
    )
    command = [sys.executable, "-c", _COUNT, str(root), str(root.parent / "home")]
    seen = finished(*command).stdout.split()
    assert not [path for path in seen if "/src" in path or path == str(root)]


def test_what_looks_like_memory_elsewhere_is_named_with_its_line(root):
    listed = (
        "notes/ENTSCHEIDUNGEN.md kb/decisiones/2026.md kit_docs/memory/a.md 経験/教训.md "
        "docs/LessonsLearned.md docs/decisionLog.md docs/install.md src/memoryview.md memory/a.md"
    )
    put(root, *listed.split())
    for command in (["init", "-q"], ["add", "-A"]):
        finished("git", *command, cwd=root)
    assert " ".join(sorted(elsewhere.others(root, look(root)))) == (
        "docs/LessonsLearned.md docs/decisionLog.md "
        "kb/decisiones/**/*.md kit_docs/memory/**/*.md notes/ENTSCHEIDUNGEN.md 経験/教训.md"
    )
    assert elsewhere.line_for(["ä.md"]) == 'memory_files = ["ä.md"]'
    for text, faults in (
        (elsewhere.line_for(["a/**/*.md"] * 99), 0),
        (f"a{'.a' * 101}=1", 1),
    ):
        put(root, ".mem.toml", text=text)
        assert len(config.read_settings(root / ".mem.toml").faults) == faults


def test_a_folder_of_code_is_no_memory(root):
    """Whatever it is called."""
    names = ("docs.md", "core.rs", "mod.rs", "lister.rs")
    for name in names:
        path = root / "src/services/memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# One\n", encoding="utf-8")
    finished("git", "init", "-q", cwd=root)
    finished("git", "add", "-A", cwd=root)
    found = elsewhere.others(root, look(root))
    assert "src/services/memory/**/*.md" not in found
    assert "src/services/memory/docs.md" not in found
    finished("git", "rm", "-qf", "src/services/memory/*.rs", cwd=root)
    assert "src/services/memory/**/*.md" in elsewhere.others(root, look(root))

"""Where the root is, which files are memory files, and how they are read."""

import os
import time
from pathlib import Path

import pytest

from memcli.project import context, levels_on_disk
from memcli.storage import files
from memcli.storage.files import read_file

JOB = ".teaparty/jobs/j1"


def root_from(project, where):
    """The root for a folder below the repository's parent; the folder is made."""
    folder = project.root.parent / where
    folder.mkdir(parents=True, exist_ok=True)
    return context.find_root(Path(os.path.realpath(folder)), project.home)


def names(project, *jobs, globs=()):
    return [
        file.name
        for file in levels_on_disk.list_files(
            project.root, project.home, jobs, globs
        ).files
    ]


def put(project, *paths):
    for path in paths:
        project.write(path, f"# {path}\n")


@pytest.mark.parametrize(
    "where",
    [JOB, ".mem/jobs/j2/tasks/t1", ".sessions/2026-01-01", "projects/p/.sessions/x/y"],
)
def test_inside_a_job_or_session_the_project_around_it_is_the_root(project, where):
    """Both layouts of jobs and both legacy layouts of sessions lead out to the
    project."""
    assert root_from(project, f"repo/{where}") == project.root


def test_a_tasks_worktree_with_its_own_git_leads_to_the_outer_project(project):
    """The task's checkout is no root, even with a `.mem.toml` and jobs of its own."""
    project.commit()
    folder = f"{JOB}/tasks/t1/worktree"
    project.git("worktree", "add", "-q", folder, "-b", "t1")
    put(project, f"{folder}/.mem.toml", f"{folder}/{JOB}/MEMORY.md")
    assert root_from(project, f"repo/{folder}/src") == project.root
    assert root_from(project, f"repo/{folder}/{JOB}") == project.root


def test_jobs_dir_of_the_project_file_leads_to_the_root(project):
    """A job folder that only `.mem.toml` names is recognised from inside, through its
    own `.git`."""
    project.write(".mem.toml", 'jobs_dir = "work/jobs"\n')
    put(project, "work/jobs/a/.git")
    assert root_from(project, "repo/work/jobs/a/src") == project.root


def test_outside_any_repository_only_the_global_level_is_in_view(project):
    """No mark on the way up: no root, and the global files still answer."""
    project.write("~/MEMORY.md", project.entry("Global", "Prefer tabs."))
    outside = project.root.parent / "outside"
    assert root_from(project, "outside") is None
    result = project.mem("recall", "tabs", "--json", cwd=outside)
    assert [hit["path"] for hit in result.hits] == ["~/MEMORY.md"]
    assert list(outside.iterdir()) == []


def test_the_home_folder_is_never_a_root(project):
    """Neither as a dotfiles repository, nor with a MEMORY.md, nor by --root."""
    project.git("init", "-q", cwd=project.home)
    put(project, "~/MEMORY.md", "~/.mem.toml", "~/.mem/jobs/j/x.md", "~/tasks/x.md")
    for folder in ("", "notes/deep", ".mem/jobs/j"):
        (project.home / folder).mkdir(parents=True, exist_ok=True)
        assert context.find_root(project.home / folder, project.home) is None
    result = project.mem("index", "--json", "--root", str(project.home))
    assert [file["path"] for file in result.json["files"]] == ["~/MEMORY.md"]
    assert not (project.home / ".memory.db").exists()


EXPECTED = """
MEMORY.md MEMORY.archive.md institutional.md institutional.archive.md proxy.md proxy.archive.md
tasks/c.archive.md tasks/c.md proxy-tasks/p.md
.teaparty/jobs/j1/MEMORY.md .teaparty/jobs/j1/MEMORY.archive.md .teaparty/jobs/j1/institutional.md
.teaparty/jobs/j1/tasks/x.md
.teaparty/jobs/j1/tasks/t1/MEMORY.md .teaparty/jobs/j1/tasks/t1/institutional.md
.teaparty/jobs/j1/tasks/t1/worktree/MEMORY.md .teaparty/jobs/j1/tasks/t1/worktree/institutional.md
.mem/jobs/j2/MEMORY.md .mem/jobs/j2/tasks/y.md .mem/jobs/j2/tasks/t.md/MEMORY.md
.sessions/s1/MEMORY.md .sessions/s1/institutional.md .sessions/s1/tasks/z.md
projects/p/.sessions/s2/MEMORY.md
~/MEMORY.md ~/MEMORY.archive.md ~/institutional.md
""".split()
OTHERS = """
README.md docs/MEMORY.md tasks/c.txt tasks/deep/MEMORY.md tasks/deep/c.md memory.md
.teaparty/MEMORY.md .teaparty/jobs/MEMORY.md .teaparty/jobs/j1/proxy.md .teaparty/jobs/j1/proxy-tasks/p.md
.teaparty/jobs/j1/src/MEMORY.md .teaparty/jobs/j1/tasks/t1/tasks/q.md .teaparty/jobs/j1/tasks/t1/proxy.md
.teaparty/jobs/j1/tasks/t1/worktree/tasks/q.md .sessions/MEMORY.md .sessions/s1/tasks/t/MEMORY.md
projects/p/MEMORY.md projects/p/tasks/c.md ~/tasks/c.md ~/proxy.md ~/.mem/jobs/j/MEMORY.md
""".split()


def test_exactly_the_paths_of_the_format_are_listed(project):
    """Every path of the levels, in order root, jobs, sessions, home; and no other."""
    put(project, *EXPECTED, *OTHERS)
    listed = names(project)
    assert sorted(listed) == sorted(EXPECTED)
    assert listed[0] == "MEMORY.md"
    assert [name for name in listed if name.startswith("~/")] == listed[-3:]


def test_every_file_has_its_level_store_job_and_task(project):
    """A file below a job's `tasks/` is the job's, a folder there is a task; archives
    name their store."""
    put(project, *EXPECTED)
    places = {
        file.name: tuple(file.place)
        for file in levels_on_disk.list_files(project.root, project.home).files
    }
    t1 = ".teaparty/jobs/j1/tasks/t1"
    assert {
        name: places[name] for name in places if name.count("/") < 2 and "arch" in name
    } == {
        "MEMORY.archive.md": ("project", "archive", "", "", "memory"),
        "institutional.archive.md": ("project", "archive", "", "", "institutional"),
        "proxy.archive.md": ("project", "archive", "", "", "proxy"),
        "tasks/c.archive.md": ("project", "archive", "", "", "memory"),
        "~/MEMORY.archive.md": ("global", "archive", "", "", "memory"),
    }
    assert places["proxy-tasks/p.md"][:2] == ("project", "proxy")
    assert places["tasks/c.md"] == ("project", "memory", "", "", "memory")
    assert places[".teaparty/jobs/j1/tasks/x.md"] == (
        "job",
        "memory",
        "j1",
        "",
        "memory",
    )
    assert places[f"{t1}/MEMORY.md"] == ("task", "memory", "j1", "t1", "memory")
    assert places[f"{t1}/worktree/institutional.md"][:4] == (
        "task",
        "institutional",
        "j1",
        "t1",
    )
    assert places[".mem/jobs/j2/tasks/t.md/MEMORY.md"][:4] == (
        "task",
        "memory",
        "j2",
        "t.md",
    )
    assert places[".sessions/s1/tasks/z.md"][:4] == ("task", "memory", "", "s1")
    assert places["projects/p/.sessions/s2/MEMORY.md"][:4] == (
        "task",
        "memory",
        "",
        "s2",
    )


def test_work_trees_of_jobs_and_tasks_are_told_apart(project):
    """`tree` names the folder with the `.git` that a file is committed to."""
    put(
        project,
        "MEMORY.md",
        "~/MEMORY.md",
        f"{JOB}/MEMORY.md",
        f"{JOB}/tasks/t/MEMORY.md",
    )
    put(project, f"{JOB}/tasks/t/worktree/MEMORY.md", f"{JOB}/tasks/t/worktree/.git")
    put(project, ".mem/jobs/k/.git", ".mem/jobs/k/tasks/u/MEMORY.md")
    work_trees = {
        file.name: file.tree
        for file in levels_on_disk.list_files(project.root, project.home).files
    }
    own = f"{JOB}/tasks/t/worktree"
    trees = {f"{own}/MEMORY.md": own, ".mem/jobs/k/tasks/u/MEMORY.md": ".mem/jobs/k"}
    inner = dict.fromkeys(
        ("MEMORY.md", f"{JOB}/MEMORY.md", f"{JOB}/tasks/t/MEMORY.md"), ""
    )
    assert work_trees == {**inner, **trees, "~/MEMORY.md": "~"}


def test_a_link_that_leaves_the_root_is_refused_and_named(project):
    """A file, a folder, a job, a part of the way to the jobs, and a glob's folder: none
    is followed."""
    put(project, "../out/MEMORY.md", "../out/jobs/j/MEMORY.md", "MEMORY.md")
    out = project.root.parent / "out"
    (project.root / ".mem/jobs").mkdir(parents=True)
    for link in ("institutional.md", "tasks", ".mem/jobs/bad", ".teaparty", "linked"):
        target = out / "MEMORY.md" if link.endswith(".md") else out
        (project.root / link).symlink_to(target)
    listing = levels_on_disk.list_files(
        project.root, project.home, (), ("linked/*.md",)
    )
    assert [file.name for file in listing.files] == ["MEMORY.md"]
    refused = {problem.path for problem in listing.problems}
    assert refused == {
        "institutional.md",
        "tasks",
        ".mem/jobs/bad",
        ".teaparty",
        "linked",
    }
    assert {(p.line, p.severity) for p in listing.problems} == {(1, "unreadable")}
    result = project.ends(3, "index")
    assert "institutional.md:1: is a link that leaves the root" in result.err


def test_a_link_that_stays_in_the_root_is_followed(project):
    """For files and for folders, absolute or relative."""
    put(project, "notes/lessons.md", "jobs-live-here/j/MEMORY.md")
    project.memory_file.symlink_to("notes/lessons.md")
    (project.root / ".mem").mkdir()
    (project.root / ".mem/jobs").symlink_to(project.root / "jobs-live-here")
    listing = levels_on_disk.list_files(project.root, project.home)
    assert [file.name for file in listing.files] == [
        "MEMORY.md",
        ".mem/jobs/j/MEMORY.md",
    ]
    assert listing.problems == []


def test_a_file_that_two_names_lead_to_is_listed_once(project):
    """`latest` beside the real job, one jobs folder linked to the other, a file linked
    to a file."""
    put(project, f"{JOB}/MEMORY.md", "MEMORY.md")
    (project.root / ".teaparty/jobs/a-latest").symlink_to("j1")
    (project.root / ".mem").mkdir()
    (project.root / ".mem/jobs").symlink_to("../.teaparty/jobs")
    (project.root / "institutional.md").symlink_to("MEMORY.md")
    assert names(project) == ["MEMORY.md", f"{JOB}/MEMORY.md"]


def test_a_folder_is_another_as_soon_as_one_of_its_files_is(project):
    """Edited in place, replaced at the same time and size, renamed, gone; a link in it
    counts."""
    put(project, *(f"tasks/{name}.md" for name in "abc"))
    folder = project.root / "tasks"
    (folder / "l.md").symlink_to("a.md")

    def seen():
        return levels_on_disk.list_files(project.root, project.home).files.seen

    known = [seen()]
    assert seen() == known[0] and names(project) == [
        f"tasks/{name}.md" for name in "abc"
    ]
    for change in (
        lambda: os.utime(folder / "a.md", ns=(0, 7)),
        lambda: (folder / "new").write_text((folder / "b.md").read_text()),
        lambda: os.utime(folder / "new", ns=(0, (folder / "b.md").stat().st_mtime_ns)),
        lambda: os.replace(folder / "new", folder / "b.md"),
        lambda: os.rename(folder / "b.md", folder / "d.md"),
        (folder / "c.md").unlink,
    ):
        change()
        known.append(seen())
    assert len(set(known)) == len(known) - 2  # what is called `new` is no memory file


def test_memory_files_globs_add_project_files(project):
    """Nested files of a monorepo; nothing of git's, of a job's or of a session's, and
    each once."""
    put(
        project,
        "MEMORY.md",
        "a/MEMORY.md",
        "a/b/proxy.md",
        "a/b/x.txt",
        f"{JOB}/src/MEMORY.md",
    )
    put(project, ".git/MEMORY.md", ".sessions/s/deep/MEMORY.md")
    globs = ("**/*.md", "a/*.md", "a/b/x.txt")
    found = levels_on_disk.list_files(project.root, project.home, (), globs).files
    assert [file.name for file in found] == ["MEMORY.md", "a/MEMORY.md", "a/b/proxy.md"]
    assert [file.place.store for file in found] == ["memory", "memory", "proxy"]


def test_any_file_name_can_be_indexed_and_found(project):
    """Blanks, a newline, emoji, a tab, quotes, and bytes that are no UTF-8."""
    raw = [
        b"a b.md",
        b"new\nline.md",
        "🦊.md".encode(),
        b"tab\t.md",
        b"q'\"%.md",
        b"bad\xff\xfe.md",
    ]
    (project.root / "tasks").mkdir()
    for number, name in enumerate(raw):
        with open(os.fsencode(project.root / "tasks") + b"/" + name, "w") as file:
            file.write(
                project.entry(f"Lesson {number}", f"Zebra number {number} is striped.")
            )
    job = os.fsdecode(os.fsencode(project.root) + b"/.mem/jobs/j\xff")
    os.makedirs(job)
    with open(f"{job}/MEMORY.md", "w") as file:
        file.write(project.entry("Job", "Zebra of a job."))
    result = project.ok("index", "--json")
    assert r"tasks/bad\xff\xfe.md" in [file["path"] for file in result.json["files"]]
    answer = project.mem(
        "recall", "zebra", "--json", "--max-tokens=0", "--set", "mmr_lambda=1"
    )
    assert len(answer.hits) == 7
    project.ok("recall", "zebra", cwd=job)
    project.ok("index", "--check")


def test_what_may_not_be_read_is_named_and_the_rest_indexed(project):
    """A file and a folder without permission: exit 3, both named, the others found."""
    for name in ("MEMORY.md", "institutional.md", "tasks/a.md"):
        project.write(name, project.entry(name, "Zebra."))
    project.memory_file.chmod(0)
    (project.root / "tasks").chmod(0)
    result = project.powerless("index")
    (project.root / "tasks").chmod(0o700)
    assert result.code == 3
    assert "MEMORY.md:1: cannot be read: permission denied" in result.err
    assert "tasks:1: cannot be read: permission denied" in result.err
    assert "in 2 files" in result.out


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("", ("", "")),
        ("src", ("", "")),
        (JOB, ("j1", "")),
        (f"{JOB}/tasks", ("j1", "")),
        (f"{JOB}/tasks/t1", ("j1", "t1")),
        (f"{JOB}/tasks/t1/worktree/src", ("j1", "t1")),
        ("work/b/x", ("b", "")),
        (".sessions/s1/x", ("", "s1")),
        ("projects/p/.sessions/s2", ("", "s2")),
    ],
)
def test_the_view_is_the_job_and_task_one_is_in(project, where, expected):
    """Every layout; `tasks` itself is still the job."""
    folder = project.root / where
    folder.mkdir(parents=True, exist_ok=True)
    jobs = (".teaparty/jobs", ".mem/jobs", "work")
    assert context.view_of(folder, project.root, jobs)[:2] == expected


def test_a_fresh_file_is_not_trusted_and_a_future_one_is(tmp_path):
    """mtime 0 stands for `look again`; a date in the future cannot be hit by the next
    edit."""
    path = tmp_path / "MEMORY.md"
    path.write_text("x")
    now = time.time_ns() | 1  # no whole second
    os.utime(path, ns=(now, now))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "RACY_NS", 60 * 10**9)  # however slow this machine is
        fresh = read_file(path)
    os.utime(path, ns=(10**18, 10**18))
    old = read_file(path)
    os.utime(path, ns=(4 * 10**18, 4 * 10**18))
    assert (fresh.mtime, old.mtime, read_file(path).mtime) == (0, 10**18, 4 * 10**18)

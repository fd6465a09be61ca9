"""Which files a session's lessons go to: from its job and task. Pure."""

from __future__ import annotations

from typing import NamedTuple

from memcli.memory.levels import Place, place


class Home(NamedTuple):
    """Where a session belongs: its job and task, and their folders relative to the root ("" for
    none).
    """

    job: str = ""
    task: str = ""
    job_folder: str = ""
    task_folder: str = ""


def targets_of(session: str, home: Home) -> dict[str, tuple[str, Place]]:
    """Where each kind of finding goes, as learn.Context wants it."""
    slug = (
        "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in session)[:80]
        or "session"
    )
    base = f"{home.job_folder}/" if home.job else ""
    level = "job" if home.job else "project"
    targets = {
        "project": ("MEMORY.md", place("project", "MEMORY.md")),
        "proxy": ("proxy.md", place("project", "proxy.md")),
        "proxy-tasks": (
            f"proxy-tasks/{slug}.md",
            place("project", f"{slug}.md", folder="proxy-tasks"),
        ),
        "interventions": (
            f"proxy-tasks/{slug}-interventions.md",
            place("project", f"{slug}-interventions.md", folder="proxy-tasks"),
        ),
        "global": ("~/MEMORY.md", place("global", "MEMORY.md")),
        "episodes": (
            f"{base}tasks/episodes.md",
            place(level, "episodes.md", folder="tasks", job=home.job),
        ),
    }
    if home.job:
        targets["job"] = (f"{base}MEMORY.md", place("job", "MEMORY.md", job=home.job))
    if home.task:
        where = place("task", "MEMORY.md", job=home.job, task=home.task)
        targets["task"] = (f"{home.task_folder}/MEMORY.md", where)
    return targets


def place_of(name: str, home: Home) -> Place:
    """The place of a file that does not exist yet."""
    folder, _, file = name.rpartition("/")
    inner = folder.rpartition("/")[2]
    if name.startswith("~/"):
        return place("global", file)
    if home.task_folder and folder == home.task_folder:
        return place("task", file, job=home.job, task=home.task)
    kept = inner if inner in ("tasks", "proxy-tasks") else ""
    if home.job_folder and name.startswith(f"{home.job_folder}/"):
        return place("job", file, folder=kept, job=home.job)
    return place("project", file, folder=kept)


def is_private(name: str) -> bool:
    return name in ("proxy.md", "proxy.archive.md") or name.startswith("proxy-tasks/")

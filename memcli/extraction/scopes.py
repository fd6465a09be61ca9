"""The scopes of extraction: what each reads and looks for, who takes part, what goes
where."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memcli.memory.values import Place, place
from memcli.text.matching import table


class ExtractionScope(NamedTuple):
    """A row of the table; `writes` is a key of `targets_of`, `needs` and `shows` name
    inputs."""

    name: str
    writes: str
    type: str
    importance: float
    domain: str
    looks_for: str = ""  # what a model is told; "" where nothing is to be judged
    kind: str = ""
    priority: str = ""
    needs: Sequence[str] = ("transcript",)
    shows: Sequence[str] = ()
    norms: bool = False  # it may write to institutional.md
    rules: bool = False  # it needs no model
    turns: bool = True  # what it finds comes from turns


TEXTS: Mapping[str, Any] = tomllib.loads(table("extraction/prompts.toml"))
"""What a language model is told, by name; `scope` is the list of scopes."""
SCOPES = tuple(ExtractionScope(**row) for row in TEXTS["scope"])
BY_NAME: Mapping[str, ExtractionScope] = {scope.name: scope for scope in SCOPES}
NAMES = tuple(BY_NAME)
FILES = (
    "INTENT.md",
    ".premortem.md",
    ".assumptions.jsonl",
    ".interventions.jsonl",
)  # of a job


class Skipped(NamedTuple):
    """A scope that has nothing to do here, and why."""

    scope: str
    why: str


class Home(NamedTuple):
    """A session's job and task, and their folders relative to the root ("" for
    none)."""

    job: str = ""
    task: str = ""
    job_folder: str = ""
    task_folder: str = ""


def chosen(
    wanted: Sequence[str],
    inputs: Mapping[str, str],
    home: Home,
    *,
    llm: bool,
    global_on: bool,
) -> tuple[tuple[ExtractionScope, ...], tuple[Skipped, ...]]:
    """The scopes that run, and those that do not with the reason; `inputs` are the
    texts there."""
    runs = []
    skipped = []
    for scope in SCOPES:
        if wanted and scope.name not in wanted:
            continue
        why = _missing_level(scope, home, global_on=global_on)
        why = why or _missing_input(scope, inputs, llm=llm)
        if why:
            skipped.append(Skipped(scope.name, why))
        else:
            runs.append(scope)
    return tuple(runs), tuple(skipped)


def _missing_level(scope: ExtractionScope, home: Home, *, global_on: bool) -> str:
    """Why there is no place to write to; "" where there is one."""
    if scope.name in ("team", "session") and not home.job:
        return "the session is in no job"
    if scope.name == "team" and not home.task:
        return "the session is in no task"
    if scope.name == "global" and not global_on:
        return "off: extract_global is not set"
    return ""


def _missing_input(
    scope: ExtractionScope, inputs: Mapping[str, str], *, llm: bool
) -> str:
    """What a scope needs and has not got; "" for nothing."""
    for name in scope.needs:
        if not inputs.get(name):
            return f"there {'is' if '.' in name else 'are'} no {name}"
    return "" if llm or scope.rules else "needs a language model"


def targets_of(session: str, home: Home) -> dict[str, tuple[str, Place]]:
    """Where each kind of finding goes: the file and its place."""
    slug = re.sub(r"[^A-Za-z0-9_-]", "-", session)[:80] or "session"
    base = f"{home.job_folder}/" if home.job else ""
    names = {
        "project": "MEMORY.md",
        "proxy": "proxy.md",
        "proxy-tasks": f"proxy-tasks/{slug}.md",
        "interventions": f"proxy-tasks/{slug}-interventions.md",
        "global": "~/MEMORY.md",
        "episodes": f"{base}tasks/episodes.md",
        "job": f"{base}MEMORY.md" if home.job else "",
        "task": f"{home.task_folder}/MEMORY.md" if home.task else "",
    }
    return {key: (name, place_of(name, home)) for key, name in names.items() if name}


def place_of(name: str, home: Home) -> Place:
    """The place of a file that does not exist yet."""
    folder, _, file = name.rpartition("/")
    if name.startswith("~/"):
        return place("global", file)
    if home.task_folder and folder == home.task_folder:
        return place("task", file, job=home.job, task=home.task)
    inner = folder.rpartition("/")[2]
    kept = inner if inner in ("tasks", "proxy-tasks") else ""
    if home.job_folder and name.startswith(f"{home.job_folder}/"):
        return place("job", file, folder=kept, job=home.job)
    return place("project", file, folder=kept)

"""The scopes of extraction: what each one reads, looks for and writes. A table, and who takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Scope(NamedTuple):
    """One row. `writes` is the level of the `MEMORY.md` written to, or proxy-tasks or episodes.

    `needs` names the inputs without which there is nothing to look at; `shows` those that are put
    beside the transcript. `rules` says whether the engine without a language model can do it.
    """

    name: str
    looks_for: str
    """What a model is told; "" where nothing is to be judged."""
    writes: str
    type: str
    importance: float
    domain: str
    kind: str = ""
    priority: str = ""
    needs: tuple[str, ...] = ("transcript",)
    shows: tuple[str, ...] = ()
    norms: bool = False
    """Whether it may also write bullets to the level's institutional.md."""
    rules: bool = False
    turns: bool = True
    """Whether what it finds comes from turns of the transcript."""


SCOPES = (
    Scope(
        "observations",
        "what the person stated that lasts: preferences, rules, prohibitions. kind preference or"
        " policy. person: true only when it is about their manner (tone, language, how to report), not"
        " the work.",
        "project", "directive", 0.95, "task", "preference", "high", ("human turns",), rules=True,
    ),
    Scope(
        "escalation",
        "where the person wants the agent to act alone and where to be asked first, whatever the work"
        " (a rule about one thing of this repository, such as migrations, is observations). kind"
        " preference.",
        "proxy-tasks", "directive", 0.95, "task", "preference", needs=("human turns",), rules=True,
    ),
    Scope(
        "intent-alignment",
        "which criteria of INTENT.md were met or missed, and where the work left it. kind decision or"
        " fact.",
        "project", "declarative", 0.5, "task", "decision", needs=("INTENT.md",), shows=("INTENT.md",),
    ),
    Scope(
        "team",
        "in the task memories: norms (norm=true, directive) and patterns that recur (procedural) for a"
        " task's team. turn 1.",
        "task", "procedural", 0.5, "team", "workflow", needs=("task memories",),
        shows=("task memories",), norms=True, turns=False,
    ),
    Scope(
        "session",
        "what this job taught that is not specific to one team: norms (norm=true, directive), patterns"
        " (procedural).",
        "job", "procedural", 0.5, "team", "workflow", shows=("task memories", "job memories"), norms=True,
    ),
    Scope(
        "project",
        "decisions with their reason (kind decision); facts given as reasons or found out (kind fact or"
        " pitfall); conventions (norm=true, directive); how things are done here (kind workflow).",
        "project", "procedural", 0.5, "task", "workflow", shows=("job memories",), norms=True, rules=True,
    ),
    Scope(
        "global",
        "in the project memories: what holds in any project, without its names. norm=true for"
        " directives. turn 1.",
        "global", "procedural", 0.5, "team", "workflow", needs=("project memories",),
        shows=("project memories",), norms=True, turns=False,
    ),
    Scope(
        "prospective",
        "against the pre-mortem: risks it foresaw that came, risks it missed, false alarms. kind"
        " pitfall.",
        "project", "corrective", 0.5, "task", "pitfall", needs=(".premortem.md",), shows=(".premortem.md",),
    ),
    Scope(
        "in-flight",
        "which assumptions of the checkpoints moved, when and why. kind decision or fact.",
        "project", "procedural", 0.5, "task", "decision", needs=(".assumptions.jsonl",),
        shows=(".assumptions.jsonl",), rules=True,
    ),
    Scope(
        "corrective",
        "errors and corrections by the person: what went wrong, cause, what to do instead. kind"
        " pitfall, with paths and commands.",
        "project", "corrective", 0.8, "task", "pitfall", rules=True,
    ),
    Scope(
        "episode",
        "what happened, one item for each listed segment in which something was changed, decided or"
        " found out (none for others), turn = its first turn: title of 5 to 15 words that says what was"
        " done, text a summary in 2 to 4 sentences, outcome, 1 to 5 tags. kind episode.",
        "episodes", "declarative", 0.5, "task", "episode", rules=True,
    ),
    Scope(
        "interventions",
        "",
        "interventions", "corrective", 0.8, "task", "pitfall", needs=(".interventions.jsonl",), rules=True,
        turns=False,
    ),
)  # fmt: skip
BY_NAME: Mapping[str, Scope] = {scope.name: scope for scope in SCOPES}
NAMES = tuple(BY_NAME)
FILES = ("INTENT.md", ".premortem.md", ".assumptions.jsonl", ".interventions.jsonl")
"""What lies in a job's directory, without a job at the root."""
ONLY_IN_JOBS = ("team", "session")


class Skipped(NamedTuple):
    """A scope that has nothing to do here, and why."""

    scope: str
    why: str


def chosen(
    wanted: Sequence[str],
    inputs: Mapping[str, str],
    *,
    job: str,
    task: str,
    llm: bool,
    global_on: bool,
) -> tuple[tuple[Scope, ...], tuple[Skipped, ...]]:
    """The scopes that run, and those that do not with the reason. `inputs` are the texts that exist."""

    def hindrance(scope: Scope) -> str:
        if scope.name in ONLY_IN_JOBS and not job:
            return "the session is in no job"
        if scope.name == "team" and not task:
            return "the session is in no task"
        if scope.name == "global" and not global_on:
            return "off: extract_global is not set"
        for name in scope.needs:
            if not inputs.get(name):
                return f"there {'is' if '.' in name else 'are'} no {name}"
        return "" if llm or scope.rules else "needs a language model"

    found = [(scope, hindrance(scope)) for scope in SCOPES if not wanted or scope.name in wanted]
    runs = tuple(scope for scope, why in found if not why)
    return runs, tuple(Skipped(scope.name, why) for scope, why in found if why)

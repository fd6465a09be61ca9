"""Finding what a session teaches: by rules, or by asking a language model. What fails is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import ProviderError
from memcli.extraction import episodes, job_files, learn, prompts, scopes
from memcli.extraction.scopes import Scope
from memcli.sessions.model import Finding, Segment, Session

if TYPE_CHECKING:
    from memcli.providers.llm import Ask, Model, Reply

Told = tuple[str, str, str, Sequence[str], str]
"""An episode: title, summary, outcome, tags, and the text of its key turns."""


class Sight(NamedTuple):
    """What an engine looks at. `folder` is the job's directory relative to the root, `project` its
    name.
    """

    session: Session
    segments: Sequence[Segment]
    inputs: Mapping[str, str]
    folder: str
    project: str
    today: str


class Found(NamedTuple):
    """What an engine found: items to place, scopes that failed and why, how many were dropped for
    what.
    """

    items: list[learn.Item]
    failed: list[tuple[str, str]]
    dropped: dict[str, int]
    cut: tuple[str, ...] = ()


def find(sight: Sight, runs: Sequence[Scope], model: Model | None) -> Found:
    """What the scopes find: by the model, without one by rules. No episode when a scope failed."""
    names = {scope.name for scope in runs}
    asked = [scope for scope in runs if scope.name not in scopes.SILENT]
    found, told = _ask(model, sight, asked) if model is not None else (_by_rules(sight, names), {})
    inputs, today = sight.inputs, sight.today
    if "interventions" in names:
        text = inputs[".interventions.jsonl"]
        found.items.extend(job_files.interventions(text, sight.folder, sight.session.id, today))
    if "in-flight" in names and model is None:
        found.items.extend(
            job_files.moved_assumptions(inputs[".assumptions.jsonl"], sight.folder, today)
        )
    if "episode" in names and not found.failed:
        for i, segment in enumerate(sight.segments):
            own = told.get(i) or episodes.extractive(sight.session, segment)
            found.items.append(learn.episode(sight.session, segment, own, today))
    return found


def sent(sight: Sight, runs: Sequence[Scope]) -> list[str]:
    """What a model would be sent: the shared part once, then the instruction of each scope."""
    asks, shown = _asks(sight, [scope for scope in runs if scope.name not in scopes.SILENT])
    parts = [f"=== system\n{prompts.SYSTEM}", f"=== shared\n{shown.text}"]
    return [*parts, *(f"=== {ask.purpose}\n{ask.prompt}" for ask in asks)]


def _by_rules(sight: Sight, wanted: set[str]) -> Found:
    from memcli.extraction import rules

    findings = [finding for finding in rules.find(sight.session) if finding.scope in wanted]
    return Found(learn.items(sight.session, findings, sight.today), [], {})


def _asks(sight: Sight, runs: Sequence[Scope]) -> tuple[list[Ask], prompts.Shown]:
    from memcli.providers.llm import Ask

    shown = prompts.transcript(sight.session.turns)
    asks = []
    for scope in runs:
        prompt = prompts.instruction(scope, sight.inputs, sight.segments)
        asks.append(Ask(prompts.SYSTEM, prompt, shown.text, prompts.SCHEMA, purpose=scope.name))
    return asks, shown


def _ask(model: Model, sight: Sight, runs: Sequence[Scope]) -> tuple[Found, dict[int, Told]]:
    """Ask the model for every scope; what one fails to say does not keep the others from counting."""
    from memcli.providers.llm.batch import ask_all

    asks, shown = _asks(sight, runs)
    found = Found([], [], {}, shown.cut)
    told: dict[int, Told] = {}
    for scope, reply in zip(runs, ask_all(model, asks), strict=True):
        try:
            parsed = _parsed(model, sight, scope, reply, shown)
        except ProviderError as error:
            found.failed.append((scope.name, error.what))
            continue
        if parsed.unplaced:
            found.dropped[learn.UNPLACED] = found.dropped.get(learn.UNPLACED, 0) + parsed.unplaced
        if scope.name == "episode":
            told |= _episodes_told(sight, parsed)
        else:
            found.items.extend(learn.items(sight.session, parsed.findings, sight.today))
    return found, told


def _parsed(
    model: Model, sight: Sight, scope: Scope, reply: Reply | ProviderError, shown: prompts.Shown
) -> prompts.Parsed:
    if isinstance(reply, ProviderError):
        raise reply
    parsed = prompts.parse_reply(reply.text, scope, shown.numbers)
    return _judged(model, sight, parsed) if scope.name == "global" and parsed.findings else parsed


def _judged(model: Model, sight: Sight, parsed: prompts.Parsed) -> prompts.Parsed:
    """Only what a second look calls project-agnostic, and what does not name this project."""
    from memcli.providers.llm import Ask

    ask = Ask(
        prompts.JUDGE, prompts.judgement(parsed.findings), schema=prompts.VERDICTS, purpose="judge"
    )
    general = prompts.parse_verdicts(model.ask(ask).text, len(parsed.findings))
    name = sight.project.casefold()
    kept = [f for i, f in enumerate(parsed.findings) if i in general and not _names(f, name)]
    return parsed._replace(findings=tuple(kept))


def _names(finding: Finding, project: str) -> bool:
    return len(project) > 2 and project in f"{finding.title} {finding.body}".casefold()


def _episodes_told(sight: Sight, parsed: prompts.Parsed) -> dict[int, Told]:
    """What the model told of each segment; the key turns are still the session's own words."""
    told: dict[int, Told] = {}
    for finding, outcome in zip(parsed.findings, parsed.outcomes, strict=True):
        at = next(
            (i for i, s in enumerate(sight.segments) if s.start <= finding.turn < s.end), None
        )
        if at is not None and at not in told:
            own = episodes.extractive(sight.session, sight.segments[at])
            told[at] = (finding.title, finding.body, outcome or own[2], finding.tags, own[4])
    return told

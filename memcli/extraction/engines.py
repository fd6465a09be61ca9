"""Finding what a session teaches: by rules, or by asking a language model. What fails is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import ProviderError
from memcli.extraction import condense, episodes, job_files, learn, prompts, rules, scopes
from memcli.extraction.episodes import Told
from memcli.extraction.scopes import Scope
from memcli.providers.llm.replies import ReplyError
from memcli.sessions.model import Finding, Segment, Session

if TYPE_CHECKING:
    from memcli.providers.llm import Ask, Model

OVER = "over the most that one session may leave"
ODD = "not as asked for"
REPLY_TOKENS = 4000


class EngineInput(NamedTuple):
    """What an engine looks at. What stands before turn `first` was read before. `folder` is the
    job's directory relative to the root, `project` its name; `left` is how many lessons by rules
    the session may still leave.
    """

    session: Session
    first: int
    segments: Sequence[Segment]
    inputs: Mapping[str, str]
    folder: str
    project: str
    today: str
    left: int = rules.MOST


class Found(NamedTuple):
    """What an engine found: items to place, what failed and why, how many were dropped for what,
    and what was found over the most of a session.
    """

    items: list[learn.Item]
    failed: tuple[tuple[str, str], ...] = ()
    dropped: Mapping[str, int] = {}
    cut: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


class _Answer(NamedTuple):
    """What was found. `answered` is False when no reply came at all: another run may ask again."""

    findings: Sequence[Finding]
    told: Mapping[int, Told] = {}
    failed: tuple[tuple[str, str], ...] = ()
    dropped: Mapping[str, int] = {}
    cut: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    answered: bool = True


def find(given: EngineInput, runs: Sequence[Scope], model: Model | None) -> Found:
    """What the scopes find: by the model; by rules without one, and when its reply is of no use.

    Nothing when no reply came.
    """
    names = {scope.name for scope in runs}
    asked = [scope for scope in runs if scope.name not in scopes.SILENT]
    answer = (
        _by_model(model, given, asked) if model is not None and asked else _by_rules(given, names)
    )
    by_rules = model is None
    if answer.failed and not answer.answered:
        return Found([], answer.failed, answer.dropped, answer.cut)
    if answer.failed and not answer.findings and not answer.told:
        answer, by_rules = (
            _by_rules(given, names)._replace(failed=answer.failed, cut=answer.cut),
            True,
        )
    items = learn.items(given.session, answer.findings, given.today)
    items += _notes(given, names, by_rules=by_rules)
    if "episode" in names:
        items += _episodes(given, answer)
    return Found(items, answer.failed, answer.dropped, answer.cut, answer.more)


def _notes(given: EngineInput, names: set[str], *, by_rules: bool) -> list[learn.Item]:
    """What the job noted itself while it ran."""
    inputs, found = given.inputs, []
    if "interventions" in names:
        text = inputs[".interventions.jsonl"]
        found += job_files.interventions(text, given.folder, given.session.id, given.today)
    if "in-flight" in names and by_rules:
        text = inputs[".assumptions.jsonl"]
        found += job_files.moved_assumptions(text, given.folder, given.today)
    return found


def _episodes(given: EngineInput, answer: _Answer) -> list[learn.Item]:
    """An episode for each segment with an effect: as the model told it, else in its own words."""
    found = []
    for i, segment in enumerate(given.segments):
        own = answer.told.get(i) or episodes.told(given.session, segment, answer.findings)
        if own is not None:
            found.append(learn.episode(given.session, segment, own, given.today))
    return found


# --- by rules


def _by_rules(given: EngineInput, wanted: set[str]) -> _Answer:
    """The findings behind turn `first`; the whole session is evidence for them."""
    taught = rules.find(given.session)
    fresh = [f for f in taught.findings if f.scope in wanted and f.turn >= given.first]
    kept, over = fresh[: given.left], fresh[given.left :]
    more = (*(f.title for f in over), *taught.more)
    return _Answer(kept, dropped={OVER: len(more)} if more else {}, more=more)


# --- by a model


def sent(given: EngineInput, runs: Sequence[Scope]) -> list[str]:
    """What a model would be sent: the system text once, then each call."""
    asks = _asks(given, [scope for scope in runs if scope.name not in scopes.SILENT])
    parts = [f"=== system\n{prompts.SYSTEM}"] if asks else []
    return [*parts, *(f"=== {ask.purpose}\n{ask.shared}{ask.prompt}" for ask, _ in asks)]


def _asks(given: EngineInput, runs: Sequence[Scope]) -> list[tuple[Ask, condense.Shown]]:
    """One call for all scopes; for a session over the bound, one for each part of it."""
    from memcli.providers.llm import Ask

    prompt = prompts.instruction(runs, given.inputs, given.segments)
    schema = prompts.schema(prompts.ITEM, [scope.name for scope in runs])
    return [
        (
            Ask(prompts.SYSTEM, prompt, shown.text, schema, True, REPLY_TOKENS, "extract"),
            shown,
        )
        for shown in condense.transcript(given.session.turns, given.first)
    ]


def _by_model(model: Model, given: EngineInput, runs: Sequence[Scope]) -> _Answer:
    findings: list[Finding] = []
    told: dict[int, Told] = {}
    failed: list[tuple[str, str]] = []
    dropped: dict[str, int] = {}
    cut: list[str] = []
    answered = True
    for ask, shown in _asks(given, runs):
        cut += shown.cut
        try:
            reply = model.ask(ask).text
            parsed = prompts.parse_reply(reply, [scope.name for scope in runs], shown.numbers)
            parsed = _judged(model, given, parsed)
        except ProviderError as error:
            failed += [(scope.name, error.what) for scope in runs]
            answered = isinstance(error, ReplyError) or bool(findings or told)
            break
        cut += parsed.odd
        for why, count in ((learn.UNPLACED, parsed.unplaced), (ODD, len(parsed.odd))):
            if count:
                dropped[why] = dropped.get(why, 0) + count
        told |= _told(given, parsed)
        findings += [finding for finding in parsed.findings if finding.scope != "episode"]
    return _Answer(findings, told, tuple(dict.fromkeys(failed)), dropped, tuple(cut), (), answered)


def _judged(model: Model, given: EngineInput, parsed: prompts.Parsed) -> prompts.Parsed:
    """Of the scope global, only what a second look calls project-agnostic, and what does not name
    this project.
    """
    from memcli.providers.llm import Ask

    asked = [finding for finding in parsed.findings if finding.scope == "global"]
    if not asked:
        return parsed
    ask = Ask(prompts.JUDGE, prompts.judgement(asked), schema=prompts.VERDICTS, purpose="judge")
    general = prompts.parse_verdicts(model.ask(ask).text, len(asked))
    name = given.project.casefold()
    good = {id(f) for i, f in enumerate(asked) if i in general and not _names(f, name)}
    pairs = zip(parsed.findings, parsed.outcomes, strict=True)
    kept = [(f, end) for f, end in pairs if f.scope != "global" or id(f) in good]
    return parsed._replace(findings=tuple(f for f, _ in kept), outcomes=tuple(e for _, e in kept))


def _names(finding: Finding, project: str) -> bool:
    return len(project) > 2 and project in f"{finding.title} {finding.body}".casefold()


def _told(given: EngineInput, parsed: prompts.Parsed) -> dict[int, Told]:
    """What the model told of each segment; outcome and key turns are the session's own."""
    told: dict[int, Told] = {}
    for finding, ended in zip(parsed.findings, parsed.outcomes, strict=True):
        spans = enumerate(given.segments)
        at = next((i for i, s in spans if s.start <= finding.turn < s.end), None)
        if finding.scope == "episode" and at is not None and at not in told:
            own = episodes.key_text(given.session, given.segments[at])
            turns = given.session.turns[given.segments[at].start : given.segments[at].end]
            end = ended or episodes.outcome(turns)
            told[at] = Told(finding.title, finding.body, end, finding.tags, own)
    return told

"""Finding what a session teaches: by rules, or by asking a language model. What fails is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import ProviderError
from memcli.extraction import drafts, episodes, prompts, rules
from memcli.extraction.drafts import FindingDraft
from memcli.extraction.episodes import EpisodeDraft
from memcli.extraction.scopes import ExtractionScope
from memcli.providers.llm.replies import ReplyError
from memcli.sessions.model import Finding, Session, Stretch

if TYPE_CHECKING:
    from memcli.providers.llm import Ask, Model

OVER = "over the most that one session may leave"
ODD, UNPLACED = "not as asked for", "names no turn that was shown"
REPLY_TOKENS = 4000


class EngineInput(NamedTuple):
    """What an engine looks at: the turns from `first` on. `folder` is the job's, relative to the
    root; `left` is how many lessons by rules the session may still leave.
    """

    session: Session
    first: int
    segments: Sequence[Stretch]
    inputs: Mapping[str, str]
    folder: str
    project: str
    today: str
    left: int = rules.MOST


class Findings(NamedTuple):
    """What an engine found, and the episodes it told by segment. `more` are the titles over the
    most of a session; `replied` is False when no reply came at all; `drafts` is all that is to be
    placed.
    """

    findings: Sequence[Finding] = ()
    told: Mapping[int, EpisodeDraft] = {}
    failed: tuple[tuple[str, str], ...] = ()
    dropped: Mapping[str, int] = {}
    cut: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    replied: bool = True
    drafts: tuple[FindingDraft, ...] = ()


def find(given: EngineInput, runs: Sequence[ExtractionScope], model: Model | None) -> Findings:
    """What the scopes find: by the model; by rules without one, and when its reply is of no use;
    nothing when no reply came.
    """
    names = {scope.name for scope in runs}
    asked = [scope for scope in runs if scope.looks_for]
    answers, by_rules = Findings(), model is None or not asked
    if model is not None and asked:
        answers = _by_model(model, given, asked)
        if not answers.replied:
            return answers
        by_rules = bool(answers.failed and not answers.findings and not answers.told)
    if by_rules:
        answers = _by_rules(given, names)._replace(failed=answers.failed, cut=answers.cut)
    found = drafts.drafts_of(given.session, answers.findings, given.today)
    folder, today = given.folder, given.today
    if "interventions" in names:
        text = given.inputs[".interventions.jsonl"]
        found += drafts.interventions(text, folder, given.session.id, today)
    if "in-flight" in names and by_rules:
        found += drafts.moved_assumptions(given.inputs[".assumptions.jsonl"], folder, today)
    for at, segment in enumerate(given.segments if "episode" in names else ()):
        told = answers.told.get(at) or episodes.told(given.session, segment, answers.findings)
        if told is not None:
            found.append(drafts.episode(given.session, segment, told, given.today))
    return answers._replace(drafts=tuple(found))


def _by_rules(given: EngineInput, wanted: set[str]) -> Findings:
    """The findings behind turn `first`; the whole session is evidence for them."""
    found, more = rules.find(given.session)
    fresh = [f for f in found if f.scope in wanted and f.turn >= given.first]
    more = (*(f.title for f in fresh[given.left :]), *more)
    return Findings(fresh[: given.left], dropped={OVER: len(more)} if more else {}, more=more)


def sent(given: EngineInput, runs: Sequence[ExtractionScope]) -> list[str]:
    """What a model would be sent: the system text once, then each call."""
    asks = _asks(given, [scope for scope in runs if scope.looks_for])
    parts = [f"=== system\n{prompts.SYSTEM}"] if asks else []
    return [*parts, *(f"=== {ask.purpose}\n{ask.shared}{ask.prompt}" for ask, _ in asks)]


def _asks(
    given: EngineInput, runs: Sequence[ExtractionScope]
) -> list[tuple[Ask, prompts.CondensedPart]]:
    """One call for all scopes; for a session over the bound, one for each part of it."""
    from memcli.providers.llm import Ask

    prompt = prompts.instruction(runs, given.inputs, given.segments)
    schema = prompts.schema(prompts.ITEM, [scope.name for scope in runs])
    ask = Ask(prompts.SYSTEM, prompt, "", schema, True, REPLY_TOKENS, "extract")
    parts = prompts.transcript(given.session.turns, given.first)
    return [(ask._replace(shared=part.text), part) for part in parts]


def _by_model(model: Model, given: EngineInput, runs: Sequence[ExtractionScope]) -> Findings:
    findings: list[Finding] = []
    told: dict[int, EpisodeDraft] = {}
    failed: tuple[tuple[str, str], ...] = ()
    dropped: Counter[str] = Counter()
    cut: list[str] = []
    replied = True
    for ask, part in _asks(given, runs):
        cut += part.cut
        try:
            reply = model.ask(ask).text
            parsed = prompts.parse_reply(reply, [scope.name for scope in runs], part.numbers)
            general = _general(model, given, parsed.findings)
        except ProviderError as error:
            failed = tuple((scope.name, error.what) for scope in runs)
            replied = isinstance(error, ReplyError) or bool(findings or told)
            break
        cut += parsed.odd
        dropped += Counter({UNPLACED: parsed.unplaced, ODD: len(parsed.odd)})
        told |= _told(given, parsed)
        kept = (f for f in parsed.findings if f.scope != "global" or f in general)
        findings += [finding for finding in kept if finding.scope != "episode"]
    return Findings(findings, told, failed, dict(dropped), tuple(cut), (), replied)


def _general(model: Model, given: EngineInput, findings: Sequence[Finding]) -> list[Finding]:
    """Of the scope global, what a second look calls project-agnostic and does not name this one."""
    from memcli.providers.llm import Ask

    asked = [finding for finding in findings if finding.scope == "global"]
    if not asked:
        return []
    ask = Ask(prompts.JUDGE, prompts.judgement(asked), schema=prompts.VERDICTS, purpose="judge")
    good = prompts.parse_verdicts(model.ask(ask).text, len(asked))
    name = given.project.casefold()
    named = [len(name) > 2 and name in f"{f.title} {f.body}".casefold() for f in asked]
    return [finding for i, finding in enumerate(asked) if i in good and not named[i]]


def _told(given: EngineInput, parsed: prompts.Parsed) -> dict[int, EpisodeDraft]:
    """What the model told of each segment; outcome and key turns are the session's own."""
    told: dict[int, EpisodeDraft] = {}
    for finding, ended in zip(parsed.findings, parsed.outcomes, strict=True):
        at = next(
            (i for i, s in enumerate(given.segments) if s.start <= finding.turn < s.end), None
        )
        if finding.scope == "episode" and at is not None and at not in told:
            segment = given.segments[at]
            own = episodes.key_text(given.session, segment)
            end = ended or episodes.outcome(given.session.turns[segment.start : segment.end])
            told[at] = EpisodeDraft(finding.title, finding.body, end, finding.tags, own)
    return told

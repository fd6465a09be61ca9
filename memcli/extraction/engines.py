"""Finding what a session teaches: by rules, or by asking a language model. What fails
is named."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import ProviderError
from memcli.extraction import drafts, episodes, prompts, rules
from memcli.extraction.cited import cited_lines
from memcli.extraction.digest import SessionDigest, digest
from memcli.extraction.drafts import FindingDraft
from memcli.extraction.episodes import EpisodeDraft
from memcli.extraction.scopes import BY_NAME, ExtractionScope
from memcli.project.git import names_of
from memcli.providers.llm.ledger import ReplyError, read_items
from memcli.sessions.model import Finding, Session, Stretch

if TYPE_CHECKING:
    from memcli.providers.llm import Ask, Model

OVER = "over the most that one session may leave"
ODD = "not as asked for"
UNPLACED = "names no turn that was shown"
UNQUOTED = "quotes what does not stand in its turn"
REPLY_TOKENS = 4000


class EngineInput(NamedTuple):
    """What an engine looks at: the turns from `first` on; by rules, `left` lessons may
    be left."""

    session: Session
    first: int
    segments: Sequence[Stretch]
    inputs: Mapping[str, str]
    folder: str
    root: Path
    today: str
    left: int = rules.MOST
    learn: str = "propose"


class Findings(NamedTuple):
    """What an engine found and told, by segment, and what it `proposed`; `more`: over
    the most; `drafts`: to be placed."""

    findings: Sequence[Finding] = ()
    proposed: Sequence[Finding] = ()
    told: Mapping[int, EpisodeDraft] = {}
    failed: tuple[tuple[str, str], ...] = ()
    dropped: Mapping[str, int] = {}
    cut: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    replied: bool = True
    drafts: tuple[FindingDraft, ...] = ()


def find(
    given: EngineInput, runs: Sequence[ExtractionScope], model: "Model | None"
) -> Findings:
    """What the scopes find: by the model, else, or where its reply is of no use, by
    rules."""
    asked = [scope for scope in runs if scope.looks_for]
    names = {scope.name for scope in runs}
    answers = Findings()
    is_useful = False
    if model is not None and asked:
        answers = _by_model(model, given, asked)
        if not answers.replied:
            return answers
        is_useful = bool(not answers.failed or answers.findings or answers.told)
    if not is_useful:
        by_rules = _by_rules(given, names)
        answers = by_rules._replace(failed=answers.failed, cut=answers.cut)
        names |= {"by rules"}
    return answers._replace(drafts=tuple(_drafts(given, names, answers)))


def _drafts(
    given: EngineInput, names: set[str], answers: Findings
) -> Iterator[FindingDraft]:
    session = given.session
    folder = given.folder
    today = given.today
    lessons = [*answers.findings, *answers.proposed]
    for index, draft in enumerate(drafts.drafts_of(session, lessons, today)):
        yield draft._replace(proposed=index >= len(answers.findings))
    if "interventions" in names:
        noted = given.inputs[".interventions.jsonl"]
        yield from drafts.interventions(noted, folder, session.id, today)
    if names >= {"in-flight", "by rules"}:
        yield from drafts.moved_assumptions(
            given.inputs[".assumptions.jsonl"], folder, today
        )
    for index, segment in enumerate(given.segments if "episode" in names else ()):
        told_draft = answers.told.get(index) or episodes.told(
            session, segment, answers.findings
        )
        if told_draft is not None:
            yield drafts.episode(session, segment, told_draft, today)


def _by_rules(given: EngineInput, wanted: set[str]) -> Findings:
    by_rules = rules.find(given.session)
    fresh = _fresh(given, by_rules.kept, wanted)
    likely = _fresh(given, by_rules.proposed, wanted)
    if given.learn == "keep":
        fresh = [*fresh, *likely]
        likely = []
    more = (*(finding.title for finding in fresh[given.left :]), *by_rules.more)
    return Findings(
        findings=fresh[: given.left],
        proposed=likely,
        dropped={OVER: len(more)} if more else {},
        more=more,
    )


def _fresh(
    given: EngineInput, found: Sequence[Finding], wanted: set[str]
) -> list[Finding]:
    fresh = (one for one in found if one.scope in wanted and one.turn >= given.first)
    return [_cited(given, _below(given, finding)) for finding in fresh]


def _corrected(given: EngineInput, finding: Finding) -> Finding:
    """A person's correction with the files and commands it is about, unless the
    model named them."""
    turn = given.session.turns[finding.turn]
    has_place = bool(finding.paths or finding.commands)
    is_correction = finding.scope == "corrective" and turn.human
    if has_place or not is_correction:
        return finding
    said = f"{turn.text}\n{finding.body}"
    paths, globs = rules.about(given.session.turns, finding.turn, said)
    return _below(given, finding._replace(paths=paths, commands=globs))


def _below(given: EngineInput, finding: Finding) -> Finding:
    """The finding with those of its files that exist, named from the root."""
    root = given.root
    below = dict[str, None]()
    for path in finding.paths:  # one alone: the session ran elsewhere
        full = os.path.join(root, given.session.turns[finding.turn].cwd, path)
        names = (
            name
            for name in (*names_of(root, full), path)
            if not os.path.isabs(name) and (root / name).is_file()
        )
        below |= {
            re.sub(r"[][*?\\]", r"\\\g<0>", name): None for name in islice(names, 1)
        }
    return finding._replace(paths=tuple(below))


def _cited(given: EngineInput, finding: Finding) -> Finding:
    """The finding with the lines of code that its turn names."""
    turn = given.session.turns[finding.turn]
    return finding._replace(rests_on=cited_lines(given.root, turn))


def sent(given: EngineInput, runs: Sequence[ExtractionScope]) -> list[str]:
    """What a model would be sent: the system text once, then the call."""
    shown = digest(given.session.turns, given.first)
    asked = [scope for scope in runs if scope.looks_for]
    if not shown.text or not asked:
        return []
    ask = _ask(given, asked, shown)
    parts = {"system": ask.system, ask.purpose: ask.shared + ask.prompt}
    return [f"=== {name}\n{text}" for name, text in parts.items()]


def _ask(
    given: EngineInput, runs: Sequence[ExtractionScope], shown: SessionDigest
) -> "Ask":
    from memcli.providers.llm import Ask

    return Ask(
        system=prompts.SYSTEM,
        prompt=prompts.instruction(runs, given.inputs, given.segments, shown.shown),
        shared=shown.text,
        schema=prompts.schema(prompts.ITEM, [scope.name for scope in runs]),
        by_item=True,
        max_tokens=REPLY_TOKENS,
        purpose="extract",
    )


def _by_model(
    model: "Model", given: EngineInput, runs: Sequence[ExtractionScope]
) -> Findings:
    shown = digest(given.session.turns, given.first)
    if not shown.text:
        return Findings()
    names = [scope.name for scope in runs]
    # Lessons that this session left before count.
    most = prompts.LESSONS - (rules.MOST - given.left)
    try:
        reply = model.ask(_ask(given, runs, shown)).text
        parsed = prompts.parse_reply(reply, names, shown.shown, most)
        lessons = _lessons(model, given, parsed.findings)
    except ProviderError as error:
        failed = tuple((name, error.what) for name in names)
        replied = isinstance(error, ReplyError)
        return Findings(failed=failed, replied=replied, cut=shown.cut)
    dropped = {
        UNPLACED: parsed.unplaced,
        UNQUOTED: parsed.unquoted,
        ODD: len(parsed.odd),
        OVER: len(parsed.more),
    }
    return Findings(
        findings=[finding for finding in lessons if not finding.is_unsaid],
        proposed=[finding for finding in lessons if finding.is_unsaid],
        told=_told(given, parsed),
        dropped={why: count for why, count in dropped.items() if count},
        cut=(*shown.cut, *parsed.odd),
        more=parsed.more,
    )


def _lessons(
    model: "Model", given: EngineInput, findings: Sequence[Finding]
) -> list[Finding]:
    """The findings that are no episodes; of those for all projects the general ones.
    What an agent said is a fact at most: it rules nobody."""
    general = _general(model, given, findings)
    kept = []
    for finding in findings:
        if finding.scope not in ("global", "episode") or finding in general:
            is_said = BY_NAME[finding.scope].turns
            is_agents = is_said and not given.session.turns[finding.turn].human
            finding = finding._replace(tainted=finding.tainted or is_agents)
            kept.append(_cited(given, _corrected(given, finding)))
    return kept


def _general(
    model: "Model", given: EngineInput, findings: Sequence[Finding]
) -> list[Finding]:
    """The findings for the global level that a second look calls project-agnostic
    and that do not name this project."""
    from memcli.providers.llm import Ask

    asked = [f for f in findings if f.scope == "global"]
    name = given.root.name.casefold()
    if not asked:
        return []
    rows = (f"[{index}] {f.title}: {f.body}" for index, f in enumerate(asked, 1))
    prompt = (
        prompts.fenced("lessons", "\n".join(rows))
        + "\ngeneral: the numbers of those that do."
    )
    ask = Ask(prompts.JUDGE, prompt, schema=prompts.VERDICTS, purpose="judge")
    numbers, _ = read_items(model.ask(ask).text, prompts.VERDICTS, "general")
    told = [f for index, f in enumerate(asked, 1) if index in numbers]
    return [
        f for f in told if len(name) < 3 or name not in f"{f.title} {f.body}".casefold()
    ]


def _told(given: EngineInput, parsed: prompts.Parsed) -> dict[int, EpisodeDraft]:
    told_drafts = {}
    for index, segment in enumerate(given.segments):
        for finding, ended in zip(parsed.findings, parsed.outcomes, strict=True):
            inside = segment.start <= finding.turn < segment.end
            if finding.scope == "episode" and inside and index not in told_drafts:
                key_text = episodes.key_text(given.session, segment)
                end = ended or episodes.outcome(
                    given.session.turns[segment.start : segment.end]
                )
                told_drafts[index] = EpisodeDraft(
                    title=finding.title,
                    summary=finding.body,
                    outcome=end,
                    tags=finding.tags,
                    key_text=key_text,
                )
    return told_drafts

"""Findings, and what a job noted, on their way into a file: ids, safe words, whose
words. Pure."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from memcli.extraction.episodes import EpisodeDraft
from memcli.extraction.rules.words import rough
from memcli.extraction.scopes import BY_NAME, ExtractionScope
from memcli.memory.entry_values import TYPE_OF_KIND
from memcli.memory.grammar import derived_id
from memcli.memory.values import Entry
from memcli.sessions.model import Finding, Session, Stretch, Turn
from memcli.sessions.speakers import day_of, key_of, line
from memcli.text import model_output
from memcli.text.controls import clean_text
from memcli.text.injections import neutralise

DETAIL_LENGTH = 2000
WORD_LENGTH = 120
ERROR_LENGTH = 200
VALUE_LENGTH = 300
MOST_WORDS = 12
# so many turns before and after a finding's are looked at for where its words come from
NEAR = 40
# share of a finding's words that outside text has, and more than the session's own
TAINTED = 0.6
# the written priority of what no person has confirmed: it never stands in the baseline
UNCONFIRMED = "medium"
_CODE = re.compile(rf"`[^`\n]{{1,{ERROR_LENGTH}}}`")
_SAID = "text message content intervention description reason".split()
_WHEN = ("timestamp", "time", "created_at", "at")
_ORDER = "reads like a command to the agent"
REFUSED = {"secret": "holds a secret", "injection": _ORDER, "empty": "says nothing"}


class FindingDraft(NamedTuple):
    """A finding with the id it would have, the key of the turn it comes from, when it
    was said. One that is `proposed` waits for a yes; `level` is where a person wants
    it, `heard` are the earlier sources of one that was said again."""

    id: str
    finding: Finding
    key: str
    day: str
    outcome: str = ""
    extra: Mapping[str, Any] = {}
    detail: str = ""
    proposed: bool = False
    level: str = ""
    heard: tuple[str, ...] = ()

    @property
    def scope(self) -> ExtractionScope:
        """The scope that found it."""
        return BY_NAME[self.finding.scope]


def drafts_of(
    session: Session, findings: Sequence[Finding], today: str
) -> list[FindingDraft]:
    """The findings with their ids: uuid5(session, scope, key of the turn, ordinal)."""
    counts: Counter[tuple[str, str]] = Counter()
    drafts = []
    for finding in findings:
        turn = session.turns[min(max(finding.turn, 0), len(session.turns) - 1)]
        name = derived_id(
            session.id, finding.scope, turn.key, str(counts[finding.scope, turn.key])
        )
        counts[finding.scope, turn.key] += 1
        drafts.append(
            FindingDraft(
                id=name, finding=finding, key=turn.key, day=day_of(turn.time, today)
            )
        )
    return drafts


def episode(
    session: Session, segment: Stretch, told_draft: EpisodeDraft, today: str
) -> FindingDraft:
    """The episode of a segment. Its source names the last turn of the segment."""
    turns = session.turns[segment.start : segment.end]
    kept = []
    times = [turn.time for turn in turns if turn.time] or [""]
    extra = {
        "started_at": times[0],
        "ended_at": times[-1],
        "surprise": round(segment.surprise, 3),
    }
    title = neutralise(line(told_draft.title, model_output.TITLE_LENGTH))
    summary = neutralise(clean_text(told_draft.summary))
    finding = Finding(
        scope="episode",
        title=title,
        body=summary,
        turn=segment.start,
        tags=told_draft.tags,
    )
    name = derived_id(session.id, "episode", turns[0].key, "0")
    for row in told_draft.key_text.splitlines():
        with suppress(model_output.Refused):
            kept.append(model_output.safe_line(clean_text(row), longest=DETAIL_LENGTH))
    day = day_of(times[-1], today)
    detail = "\n".join(filter(None, kept))[:DETAIL_LENGTH]
    return FindingDraft(
        id=name,
        finding=finding,
        key=turns[-1].key,
        day=day,
        outcome=told_draft.outcome,
        extra=extra,
        detail=detail,
    )


def interventions(
    text: str, folder: str, session: str, today: str
) -> list[FindingDraft]:
    """One draft for each line of `.interventions.jsonl` that does not name another
    session."""
    drafts = []
    for raw in _records(text):
        named = str(raw.get("session_id") or raw.get("session") or "")
        interruptions = {
            key: clean_text(raw[key]).strip()
            for key in _SAID
            if isinstance(raw.get(key), str)
        }
        first, _, rest = "\n".join(
            dict.fromkeys(filter(None, interruptions.values()))
        ).partition("\n")
        if first and not (named and key_of(named) != session):
            finding = Finding(
                scope="interventions", title=first, body=rest or first, turn=-1
            )
            drafts.append(_noted(finding, folder, raw, today))
    return drafts


def moved_assumptions(text: str, folder: str, today: str) -> list[FindingDraft]:
    """One draft for each pair of checkpoints between which an assumption changed."""
    drafts = []
    before = dict[str, Any]()
    last = "the start"
    for raw in _records(text):
        given = raw.get("assumptions")
        after = given if isinstance(given, dict) else {}
        milestone = line(str(raw.get("milestone", "")), VALUE_LENGTH) or "a checkpoint"
        moved = [
            name for name in after if name in before and before[name] != after[name]
        ]
        if moved:
            rows = [f"Between {last} and {milestone}:"]
            rows += [_moved(name, before[name], after[name]) for name in moved]
            if advice := raw.get("recommendation"):
                rows.append(f"Recommendation: {line(str(advice), VALUE_LENGTH)}")
            finding = Finding(
                scope="in-flight",
                title=f"Assumptions moved at {milestone}: {', '.join(moved)}",
                body="\n".join(rows),
                turn=-1,
            )
            drafts.append(_noted(finding, folder, raw, today))
        before = {**before, **after}
        last = milestone
    return drafts


def _moved(name: str, before: object, after: object) -> str:
    """A row that says how an assumption changed."""
    old = line(str(before), VALUE_LENGTH)
    new = line(str(after), VALUE_LENGTH)
    return f"- {name}: {old} -> {new}"


def _records(text: str) -> Iterator[dict[str, Any]]:
    for row in text.splitlines():
        with suppress(ValueError, RecursionError):
            if isinstance(raw := json.loads(row), dict):
                yield raw


def _noted(
    finding: Finding, folder: str, raw: Mapping[str, Any], today: str
) -> FindingDraft:
    name = derived_id(finding.scope, folder, json.dumps(raw, sort_keys=True))
    day = day_of(str(next(filter(None, map(raw.get, _WHEN)), "")), today)
    return FindingDraft(id=name, finding=finding, key=finding.scope, day=day)


def guarded(draft: FindingDraft, session: Session) -> tuple[FindingDraft | None, str]:
    """The draft with safe texts, else why it is dropped; an episode is a receipt and
    stays."""
    finding = draft.finding
    try:
        title, body = model_output.safe_text(
            clean_text(finding.title), clean_text(finding.body)
        )
        tags, paths, commands = map(
            _safe_lines, (finding.tags, finding.paths, finding.commands)
        )
    except model_output.Refused as refused:
        if finding.scope != "episode":
            return None, REFUSED[str(refused)]
        bland = Finding(
            scope="episode", title=f"A session of {draft.day}", body="", turn=-1
        )
        return draft._replace(finding=bland, detail=""), ""
    below = [
        p for p in paths if not p.startswith(("/", "~")) and ".." not in p.split("/")
    ]
    # `*` would match every command: a glob has to say something.
    occasions = [
        tuple(g for g in each if len(re.findall(r"\w", g)) >= 3)
        for each in (below, commands)
    ]
    safe = finding._replace(
        title=title, body=body, tags=tags, paths=occasions[0], commands=occasions[1]
    )
    tainted = finding.tainted or is_tainted(finding, session)
    return draft._replace(finding=safe._replace(tainted=tainted)), ""


def _safe_lines(values: Iterable[str]) -> tuple[str, ...]:
    lines = (
        model_output.safe_line(clean_text(value), longest=WORD_LENGTH)
        for value in values
    )
    return tuple(dict.fromkeys(filter(None, lines)))[:MOST_WORDS]


def is_tainted(finding: Finding, session: Session) -> bool:
    """Whether a finding repeats the words of a tool, a file or the web, apart from
    quotes and short errors."""
    if not 0 <= finding.turn < len(session.turns):
        return False
    turn = session.turns[finding.turn]
    if _is_outside(turn) and not turn.error:
        return True
    words = rough(_CODE.sub(" ", f"{finding.title}\n{finding.body}"))
    shares = {True: 0.0, False: 0.0}
    for near in session.turns[max(0, finding.turn - NEAR) : finding.turn + NEAR]:
        if not (near.error and len(near.text) <= ERROR_LENGTH):
            share = len(words & rough(near.text[:8000])) / max(1, len(words))
            shares[_is_outside(near)] = max(shares[_is_outside(near)], share)
    return len(words) >= 4 and shares[True] >= TAINTED and shares[True] > shares[False]


def _is_outside(turn: Turn) -> bool:
    """Whether a turn is in neither the person's nor the agent's words."""
    return not turn.human and (
        turn.role != "assistant" or turn.origin in ("web", "file")
    )


def is_persons(session: Session, finding: Finding) -> bool:
    """Whether a person said it in this session."""
    is_there = 0 <= finding.turn < len(session.turns)
    return is_there and session.turns[finding.turn].human and not finding.is_unsaid


def confirmed(entry: Entry) -> dict[str, Any]:
    """What changes in an entry of a session when a person says it again or confirms
    it: it has the weight of its scope, and the priority of its kind."""
    scope = BY_NAME.get(str(entry.extra.get("scope", "")))
    if scope is None or entry.extra.get("priority") != UNCONFIRMED:
        return {}
    importance = max(entry.importance, scope.importance)
    return {"importance": importance, "priority": scope.priority or None}


def judged_values(draft: FindingDraft) -> dict[str, Any]:
    """The type, importance, kind and priority of a finding by its scope; what is
    tainted states a fact and orders nothing."""
    finding = draft.finding
    scope = draft.scope
    kind = finding.kind or scope.kind
    type_ = finding.type or scope.type
    if kind == "fact" and not finding.type:
        type_ = "declarative"
    importance = scope.importance if finding.importance is None else finding.importance
    priority = finding.priority or scope.priority
    if finding.tainted:
        type_ = "declarative"
        priority = ""
        importance = min(importance, 0.5)
        kind = "fact" if kind in TYPE_OF_KIND or kind == "architecture" else kind
    bounded = round(min(1.0, max(0.0, importance)), 3)
    return {"type": type_, "importance": bounded, "kind": kind, "priority": priority}


def draft_body(draft: FindingDraft) -> str:
    """The body of the entry: heading, text and detail; what the title says already is
    not said again."""
    title = draft.finding.title
    body = draft.finding.body
    first, _, rest = body.partition(". ")
    bare = [
        " ".join(text.casefold().split()).strip(" .!:") for text in (title, body, first)
    ]
    if bare[0] in bare[1:]:
        body = rest.lstrip() if bare[0] != bare[1] else ""
    detail = f"### Detail\n{draft.detail}" if draft.detail else ""
    return "\n".join(filter(None, (f"## [{draft.day}] {title}", body, detail)))

"""What a job notes for itself while it runs: checkpoints, interventions, pre-mortems. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.errors import RefusedError, UsageError
from memcli.extraction.learn import Item
from memcli.memory.grammar import derived_id
from memcli.sessions.clean import clean_text, day_of, key_of, line
from memcli.sessions.model import Finding
from memcli.text import model_output
from memcli.text.injections import neutralise
from memcli.text.secrets import find_secrets

ASSUMPTIONS = ("complexity", "approach_viability", "preference_model", "scope")
VALUE_LENGTH = 300


def interventions(text: str, folder: str, session: str, today: str) -> list[Item]:
    """One item a line of `.interventions.jsonl`, those that name another session left out."""
    found = []
    for raw in _records(text):
        named = str(raw.get("session_id") or raw.get("session") or "")
        said = _said(raw)
        if not said or (named and key_of(named) != session):
            continue
        name = derived_id("interventions", folder, json.dumps(raw, sort_keys=True))
        first, _, rest = clean_text(said).strip().partition("\n")
        finding = Finding("interventions", first, rest or first, -1)
        found.append(Item(name, finding, "interventions", day_of(_stamp(raw), today)))
    return found


def _said(raw: Mapping[str, Any]) -> str:
    for key in ("text", "message", "content", "intervention", "description", "reason"):
        if isinstance(raw.get(key), str) and raw[key].strip():
            why = raw.get("reason")
            more = f"\n{why}" if key != "reason" and isinstance(why, str) and why.strip() else ""
            return str(raw[key]) + more
    return ""


def _stamp(raw: Mapping[str, Any]) -> str:
    return next(
        (str(raw[key]) for key in ("timestamp", "time", "created_at", "at") if raw.get(key)), ""
    )


def _records(text: str) -> Iterator[dict[str, Any]]:
    for row in text.splitlines():
        try:
            raw = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(raw, dict):
            yield raw


def moved_assumptions(text: str, folder: str, today: str) -> list[Item]:
    """One item for each pair of checkpoints between which an assumption changed."""
    found = []
    before: Mapping[str, Any] = {}
    last = "the start"
    for raw in _records(text):
        given = raw.get("assumptions")
        after = given if isinstance(given, dict) else {}
        milestone = line(str(raw.get("milestone", "")), VALUE_LENGTH) or "a checkpoint"
        moved = [
            f"{name}: {line(str(before[name]), 300)} -> {line(str(value), 300)}"
            for name, value in after.items()
            if name in before and before[name] != value
        ]
        if moved:
            name = derived_id("in-flight", folder, json.dumps(raw, sort_keys=True))
            title = (
                f"Assumptions moved at {milestone}: {', '.join(m.partition(':')[0] for m in moved)}"
            )
            advice = raw.get("recommendation")
            lines = [f"- {text}" for text in moved]
            lines += (
                [f"Recommendation: {line(advice, 300)}"]
                if isinstance(advice, str) and advice
                else []
            )
            body = "\n".join([f"Between {last} and {milestone}:", *lines])
            finding = Finding("in-flight", title, body, -1)
            found.append(Item(name, finding, "assumptions", day_of(_stamp(raw), today)))
        before, last = {**before, **after}, milestone
    return found


# --- writing them


class Checkpoint(NamedTuple):
    """What is assumed at a milestone, and what is recommended."""

    milestone: str
    assumptions: Mapping[str, str]
    recommendation: str = ""


def parse_assumptions(given: Sequence[str]) -> dict[str, str]:
    """`--assume KEY=VALUE` items. Raises UsageError for a key that is not known."""
    found = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or key.strip() not in ASSUMPTIONS or not value.strip():
            raise UsageError(
                f"--assume {line(item, 60)}: not an assumption",
                f"KEY=VALUE, KEY one of {', '.join(ASSUMPTIONS)}",
            )
        found[key.strip()] = value.strip()
    return found


def parse_checkpoint(text: str, milestone: str = "") -> Checkpoint:
    """A checkpoint as a JSON object. Raises UsageError for anything else, unknown keys included."""
    hint = (
        'e.g. {"milestone": "design", "assumptions": {"complexity": "low"}, "recommendation": ""}'
    )
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError("standard input is no JSON object", hint) from None
    given = raw.get("assumptions", {}) if isinstance(raw, dict) else None
    if (
        not isinstance(given, dict)
        or set(raw) - {*Checkpoint._fields, "timestamp"}
        or set(given) - {*ASSUMPTIONS}
    ):
        raise UsageError("standard input is no checkpoint", hint)
    texts = [raw.get("milestone", ""), raw.get("recommendation", ""), *given.values()]
    if not all(isinstance(value, (str, int, float)) for value in texts):
        raise UsageError("standard input is no checkpoint: its values are texts", hint)
    values = {str(key): str(value) for key, value in given.items()}
    return Checkpoint(str(milestone or texts[0]), values, str(texts[1]))


def checkpoint_line(found: Checkpoint, timestamp: str) -> str:
    """One line of `.assumptions.jsonl`. Raises RefusedError for a secret, UsageError for nothing
    said.
    """
    if not found.milestone.strip() or not (found.assumptions or found.recommendation.strip()):
        raise UsageError(
            "a checkpoint needs a milestone and an assumption",
            "mem extract --checkpoint design --assume complexity=low",
        )
    for text in (found.milestone, found.recommendation, *found.assumptions.values()):
        if find_secrets(text):
            raise RefusedError("the checkpoint holds a secret; nothing is written", "take it out")
    values = {
        "milestone": line(found.milestone, VALUE_LENGTH),
        "timestamp": timestamp,
        "assumptions": {key: line(value, VALUE_LENGTH) for key, value in found.assumptions.items()},
        "recommendation": line(found.recommendation, VALUE_LENGTH),
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


def premortem(
    task: str, pitfalls: Sequence[tuple[str, str, str]], risks: Sequence[tuple[str, str]], day: str
) -> str:
    """The text of `.premortem.md`: known pitfalls as (title, text, where), and risks as (title,
    text).
    """
    parts = [f"# Pre-mortem: {line(neutralise(task), VALUE_LENGTH)}", "", f"{day}", ""]
    if risks:
        parts += ["## Risks foreseen", "", *_listed(risks), ""]
    parts += ["## Pitfalls met before", ""]
    parts += _listed([(f"{title} ({where})", text) for title, text, where in pitfalls]) or [
        "None is known."
    ]
    return "\n".join(parts) + "\n"


def _listed(risks: Sequence[tuple[str, str]]) -> list[str]:
    """Bullets; what holds a secret or a command is left out."""
    rows = []
    for title, text in risks:
        try:
            head, body = model_output.safe_text(clean_text(title), clean_text(text), longest=600)
        except model_output.Refused:
            continue
        rows.append(f"- **{head}**" + (f": {' '.join(body.split())}" if body else ""))
    return rows

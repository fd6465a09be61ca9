"""What a job notes while it runs, and the stage a model tells from its INTENT.md."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import RefusedError, UsageError
from memcli.extraction.scopes import TEXTS
from memcli.project.stages import STAGES
from memcli.sessions.speakers import line
from memcli.text import model_output
from memcli.text.controls import clean_text, strip_private
from memcli.text.injections import neutralise
from memcli.text.secrets import find_secrets, redact_secrets

if TYPE_CHECKING:
    from memcli.providers.llm import Model

ASSUMPTIONS = ("complexity", "approach_viability", "preference_model", "scope")
VALUE_LENGTH = 300
_EXAMPLE = 'e.g. {"milestone": "design", "assumptions": {"complexity": "low"}}'


class Checkpoint(NamedTuple):
    """What is assumed at a milestone, and what is recommended."""

    milestone: str
    assumptions: Mapping[str, str]
    recommendation: str = ""


def parse_assumptions(milestone: str, given: Sequence[str]) -> Checkpoint:
    """`--assume KEY=VALUE` items. Raises UsageError for a key that is not known."""
    allowed = (*ASSUMPTIONS, "recommendation")
    assumed = {}
    for item in given:
        key, _, value = (part.strip() for part in item.partition("="))
        if key not in allowed or not value:
            hint = f"KEY=VALUE, KEY one of {', '.join(allowed)}"
            raise UsageError(f"--assume {line(item, 60)}: not an assumption", hint)
        assumed[key] = value
    recommendation = assumed.pop("recommendation", "")
    return Checkpoint(milestone, assumed, recommendation)


def parse_checkpoint(text: str, milestone: str = "") -> Checkpoint:
    """A checkpoint as a JSON object. Raises UsageError for anything else, unknown keys
    included."""
    try:
        raw = json.loads(text)
        given = dict(raw.get("assumptions", {}))
        odd = set(raw) - {*Checkpoint._fields, "timestamp"} or set(given) - {
            *ASSUMPTIONS
        }
        texts = [
            raw.get("milestone", ""),
            raw.get("recommendation", ""),
            *given.values(),
        ]
    except (ValueError, RecursionError, AttributeError, TypeError):
        odd = {text}
        texts = []
    if odd or not all(isinstance(value, (str, int, float)) for value in texts):
        shape = "a JSON object, its values are texts, its keys these"
        raise UsageError(f"standard input is no checkpoint: {shape}", _EXAMPLE)
    values = {str(key): str(value) for key, value in given.items()}
    return Checkpoint(str(milestone or texts[0]), values, str(texts[1]))


def checkpoint_line(checkpoint: Checkpoint, timestamp: str) -> str:
    """A line of `.assumptions.jsonl`. Raises RefusedError for a secret, UsageError for
    nothing."""
    if not checkpoint.milestone.strip() or not (
        checkpoint.assumptions or checkpoint.recommendation.strip()
    ):
        hint = "mem extract --checkpoint design --assume complexity=low"
        raise UsageError("a checkpoint needs a milestone and an assumption", hint)
    texts = (
        checkpoint.milestone,
        checkpoint.recommendation,
        *checkpoint.assumptions.values(),
    )
    if any(map(find_secrets, texts)):
        raise RefusedError(
            "the checkpoint holds a secret; nothing is written", "take it out"
        )
    milestone, advice, *values = (line(text, VALUE_LENGTH) for text in texts)
    assumed = dict(zip(checkpoint.assumptions, values, strict=True))
    given = {"milestone": milestone, "timestamp": timestamp, "assumptions": assumed}
    return json.dumps({**given, "recommendation": advice}, ensure_ascii=False) + "\n"


def premortem(
    task: str,
    pitfalls: Sequence[tuple[str, str, str]],
    risks: Sequence[tuple[str, str]],
    day: str,
) -> str:
    """The text of `.premortem.md`: pitfalls as (title, text, where), risks as (title,
    text)."""
    parts = [f"# Pre-mortem: {line(neutralise(task), VALUE_LENGTH)}", "", day, ""]
    if risks:
        parts += ["## Risks foreseen", "", *_listed(risks), ""]
    known = _listed([(f"{title} ({where})", text) for title, text, where in pitfalls])
    parts += ["## Pitfalls met before, and rules", "", *(known or ["None is known."])]
    return "\n".join(parts) + "\n"


def _listed(risks: Sequence[tuple[str, str]]) -> list[str]:
    rows = []
    for title, text in risks:
        with suppress(model_output.Refused):
            head, body = model_output.safe_text(
                clean_text(title), clean_text(text), longest=600
            )
            rows.append(
                f"- **{head}**" + (f": {' '.join(body.split())}" if body else "")
            )
    return rows


INTENT_LENGTH = 3000  # characters of INTENT.md that a language model is shown
SYSTEM, QUESTION = TEXTS["stage"]  # what a language model is asked of INTENT.md


def ask_stage(model: "Model", text: str) -> str:
    """The stage that a model names, unknown when it says anything else."""
    from memcli.providers.llm import Ask

    shown = redact_secrets(strip_private(text[:INTENT_LENGTH]))
    asked = f"One of: {', '.join(STAGES)}, unknown.\n{QUESTION}\n\n<intent>\n{shown}\n</intent>"
    reply = model.ask(Ask(SYSTEM, asked, purpose="stage")).text.lower()
    words = re.findall(r"[a-z]+", reply)
    return next((word for word in words if word in STAGES), "unknown")

"""What a job notes while it runs, and what its INTENT.md says of the stage it is in.
Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import RefusedError, UsageError
from memcli.extraction.scopes import TEXTS
from memcli.memory import front_matter
from memcli.memory.values import PHASES
from memcli.sessions.speakers import clean_text, line
from memcli.text import model_output
from memcli.text.controls import neutralise, strip_private
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


def parse_assumptions(given: Sequence[str]) -> dict[str, str]:
    """`--assume KEY=VALUE` items. Raises UsageError for a key that is not known."""
    found = {}
    for item in given:
        key, _, value = (part.strip() for part in item.partition("="))
        if key not in ASSUMPTIONS or not value:
            hint = f"KEY=VALUE, KEY one of {', '.join(ASSUMPTIONS)}"
            raise UsageError(f"--assume {line(item, 60)}: not an assumption", hint)
        found[key] = value
    return found


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


def checkpoint_line(found: Checkpoint, timestamp: str) -> str:
    """A line of `.assumptions.jsonl`. Raises RefusedError for a secret, UsageError for
    nothing."""
    if not found.milestone.strip() or not (
        found.assumptions or found.recommendation.strip()
    ):
        hint = "mem extract --checkpoint design --assume complexity=low"
        raise UsageError("a checkpoint needs a milestone and an assumption", hint)
    texts = (found.milestone, found.recommendation, *found.assumptions.values())
    if any(map(find_secrets, texts)):
        raise RefusedError(
            "the checkpoint holds a secret; nothing is written", "take it out"
        )
    milestone, advice, *values = (line(text, VALUE_LENGTH) for text in texts)
    assumed = dict(zip(found.assumptions, values, strict=True))
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
    parts += ["## Pitfalls met before", "", *(known or ["None is known."])]
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


STAGES = PHASES[:-1]
INTENT_LENGTH = 3000  # characters of INTENT.md that a language model is shown
SYSTEM, QUESTION = TEXTS["stage"]  # what a language model is asked of INTENT.md
_TABLE = TEXTS["stages"]
_SEEN = {
    name: re.compile("|".join(rows), re.IGNORECASE)
    for name, rows in {**_TABLE, **_TABLE["doing"]}.items()
    if name not in ("doing", "words")
}
_FRONT = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$")
_NAMED = re.compile(  # a line, or a cell in bold, that names the stage
    r"^[ \t>*_#-]*(?:current |project )?(?:stage|phase|status|阶段|階段|phase actuelle|fase|стадия)"
    r"[ \t*_]*[:=：][ \t*_`]*(\w+)",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"^[ \t]*[-*+] \[([ xX])\] ", re.MULTILINE)
_CLAUSE = re.compile(
    r"[.;:!?]\s|[。；！？，、\n]|,\s| (?:and|but|und|aber|et|mais|y|pero|e|mas) "
)
LIST = 4  # so many items, some done and some open, tell that the work is under way


def stage_of(text: str) -> tuple[str, str]:
    """The stage that INTENT.md names ("" when it does not say), and what told it."""
    front = _FRONT.match(text)
    try:
        given = front_matter.read(front[1]).values.get("stage", "") if front else ""
    except front_matter.Malformed:
        given = ""
    if found := _named(str(given)):
        return found, "front matter"
    text = _FRONT.sub("", text, count=1)
    told = next(filter(None, (_named(found[1]) for found in _NAMED.finditer(text))), "")
    now, other = _sections(text)
    done = [found[1] != " " for found in _ITEM.finditer(text)]
    under_way = len(done) >= LIST and any(done) and not all(done)
    by_list = "implementation" if under_way else ""
    return told or _agreed(now) or _agreed(other, marked=True) or by_list, "rules"


def _named(word: str) -> str:
    word = word.strip().lower()
    if word in STAGES or word in _TABLE["words"]:
        return str(_TABLE["words"].get(word, word))
    told = (word, f"{word} phase")
    return next(
        (stage for stage in STAGES if any(map(_SEEN[stage].fullmatch, told))), ""
    )


def _sections(text: str) -> tuple[list[str], list[str]]:
    now: list[str] = []
    other: list[str] = []
    taken: list[str] | None = other
    for row in text.splitlines():
        if heading := _HEADING.match(row):
            aside = any(_SEEN[name].search(heading[1]) for name in ("later", "aims"))
            taken = None if aside else now if _SEEN["now"].search(heading[1]) else other
        elif (
            taken is not None
            and not _ITEM.match(row)
            and not row.lstrip().startswith("|")
        ):
            taken.append(row)
    return now, other


def _agreed(lines: Sequence[str], *, marked: bool = False) -> str:
    """The one stage of all clauses, with `marked` of those that speak of today."""
    stages: set[str] = set()
    for paragraph in "\n".join(lines).split("\n\n"):
        for clause in _CLAUSE.split(
            re.sub(r"\n(?![ \t]*[-*+>#])", " ", paragraph) + "\n"
        ):
            elsewhen = any(_SEEN[name].search(clause) for name in ("elsewhen", "over"))
            if not elsewhen and (not marked or _SEEN["today"].search(clause)):
                stages.update(stage for stage in STAGES if _SEEN[stage].search(clause))
    return stages.pop() if len(stages) == 1 else ""


def ask_stage(model: "Model", text: str) -> str:
    """The stage that a model names, unknown when it says anything else."""
    from memcli.providers.llm import Ask

    shown = redact_secrets(strip_private(text[:INTENT_LENGTH]))
    asked = f"One of: {', '.join(STAGES)}, unknown.\n{QUESTION}\n\n<intent>\n{shown}\n</intent>"
    reply = model.ask(Ask(SYSTEM, asked, purpose="stage")).text.lower()
    words = re.findall(r"[a-z]+", reply)
    return next((word for word in words if word in STAGES), "unknown")

"""A stretch of a session told as an episode: what was done, how it ended, what decided. Pure.

Extractive: every sentence of title and summary was said in the session. A stretch without an
effect makes none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from memcli.extraction.rules.commands import command_of, edited_by
from memcli.extraction.rules.findings import of_manner, title
from memcli.extraction.rules.sentences import Sentence, sentences
from memcli.extraction.rules.words import begins, content, kinds_of
from memcli.extraction.segmentation import spoken
from memcli.sessions.model import Finding, Segment, Session, Turn

DETAIL = 2000
TITLE = 110
WORKED_OVER = 4
"""Turns of a person from which a talk that changed nothing is an episode."""


class Told(NamedTuple):
    """An episode in the session's own words. `outcome` is success, failure, partial or unknown."""

    title: str
    summary: str
    outcome: str
    tags: tuple[str, ...]
    key_text: str


def told(session: Session, segment: Segment, findings: Sequence[Finding]) -> Told | None:
    """The segment told in its own words; None when nothing came of it."""
    turns = session.turns[segment.start : segment.end]
    taught = [f for f in findings if segment.start <= f.turn < segment.end and not f.about_person]
    if not had_effect(turns, taught):
        return None
    exchanges = _exchanges(turns)
    return Told(
        title=_title(turns, exchanges) or title(session.name, TITLE),
        summary=_summary(exchanges[-1].closing if exchanges else [], taught),
        outcome=outcome(turns),
        tags=_tags(turns),
        key_text=key_text(session, segment),
    )


def had_effect(turns: Sequence[Turn], taught: Sequence[Finding] = ()) -> bool:
    """Whether files changed, something was decided or found out, or it was talked over at length."""
    if taught or any(_changes(turn) for turn in turns):
        return True
    said = {turn.text for turn in turns if turn.human and content(turn.text.lower())}
    return len(said) >= WORKED_OVER and any(spoken(turn) for turn in turns)


def _changes(turn: Turn) -> bool:
    """Whether a turn changed something: an edit, a commit, an edit that a chat's tool reports."""
    if turn.role == "assistant" and turn.tool:
        name = turn.tool.lower()
        return bool(
            edited_by(turn) or _pattern(r"edit|write_|patch|replace|^write").search(name)
        ) or (_pattern(r"\bgit (?:commit|merge|push|mv)\b").search(command_of(turn)) is not None)
    return turn.text.startswith("Applied edit to ")


# --- what was done


class _Exchange(NamedTuple):
    """What a person asked, the agent's closing words, and how much was changed for it."""

    asked: list[Sentence]
    closing: list[Sentence]
    changes: int


def _exchanges(turns: Sequence[Turn]) -> list[_Exchange]:
    """The exchanges in which the agent said something, in order."""
    found, asked, last, changes = [], list[Sentence](), "", 0
    for turn in [*turns, None]:
        if turn is None or turn.human:
            closing = [one for one in sentences(last) if len(content(one.low)) >= 3]
            if asked or closing:
                found.append(_Exchange(asked, closing, changes))
            asked = sentences(turn.text, typed=True)[:3] if turn else []
            last, changes = "", 0
        else:
            last = turn.text if spoken(turn) else last
            changes += _changes(turn)
    return found


def _title(turns: Sequence[Turn], exchanges: Sequence[_Exchange]) -> str:
    """The subject of the last commit, else the sentence that tells best what was done in the
    exchange with most changes, else what the person asked for there.
    """
    subject = next((found for turn in reversed(turns) if (found := _subject(turn))), "")
    if len(subject.split()) >= 4:
        return title(subject, TITLE)
    ordered = sorted(exchanges, key=lambda one: -one.changes)
    for one in ordered[:3]:
        best = max(one.closing[:12], key=_reports, default=None)
        if best is not None and _reports(best) > 0:
            return title(_LED.sub("", _plain(best.text)), TITLE)
    asks = [ask for one in ordered for ask in one.asked if len(content(ask.low)) >= 3]
    fitting = [ask for ask in asks if len(ask.low.split()) >= 4 and "tasks" in begins(ask.low)]
    closing = [
        one for each in ordered for one in each.closing if not _pattern(_GENERIC).search(one.low)
    ]
    chosen = [*fitting, *asks, *closing]
    return title(_plain(chosen[0].text), TITLE) if chosen else ""


_LED = re.compile(
    r"(?:(?:all )?(?:done|fixed|completed?|finished|perfect|great|set)\s*[—–:.,!-]+\s*)?"
    r"(?:(?:i|we)(?:['’]ve| have)? (?:now |also |just |successfully )*(?=\w+(?:ed|t|ote|ade) ))?",
    re.IGNORECASE,
)
"""What leads into a report of what was done, and says nothing of it."""


def _subject(turn: Turn) -> str:
    found = _pattern(
        r"\bgit commit\b[^\n]*?-m\s+(?:\"\$\(cat <<'?\"?EOF'?\"?\n([^\n\"]{8,120})|[\"']([^\"'\n]{8,120}))"
    ).search(command_of(turn) if turn.tool else "")
    return (found[1] or found[2]) if found else ""


def _reports(one: Sentence) -> int:
    """How well a sentence tells what was done, standing for itself; 0 when it does not."""
    kinds, low = kinds_of(one.low), one.low
    count = len(low.split())
    if not 5 <= count <= 35 or one.text.rstrip("*_ ").endswith((":", "：", "?", "？")):
        return 0
    if _pattern(_GENERIC).search(low):
        return 0
    begun = _pattern(_DONE).match(low) is not None
    return begun * (3 + ("`" in one.text) + (not one.mark) + ("done" in kinds))


_GENERIC = (
    r" (?:summary|here is|heres|tests? (?:all )?pass|standing by|committed|notified|working tree|let me"
    r"|recommended|based|api error) "
)
"""Says that something is done, and not what."""
_DONE = (
    r" (?:i |ive |we |weve |done |now |also |have |successfully )*(?!need|based|verified|used|recommend)"
    r"(?:[a-z]{2,}ed|rewrote|wrote|built|made|split|set up|switched|put) "
)


def _summary(closing: Sequence[Sentence], taught: Sequence[Finding]) -> str:
    """What decided: the lessons, then the agent's closing words, at most four sentences."""
    lessons = [finding.body for finding in taught if len(finding.body) <= 300][:2]
    told = [
        one.text
        for one in closing
        if not one.text.endswith(("?", "？", ":", "：")) and not one.mark
    ]
    told = told or [one.text for one in closing if one.mark == "-"]
    parts = [_ended(_plain(part)) for part in [*told[:2], *lessons]]
    return " ".join(dict.fromkeys(part for part in parts if part))


def _plain(text: str) -> str:
    text = _pattern(r"\*\*|__").sub("", text)
    return text if len(text) <= 300 else text[:299].rsplit(" ", 1)[0] + "…"


def _ended(text: str) -> str:
    return text if not text or text[-1] in ".!?。！？…" else f"{text}."


# --- how it ended

_GOOD = (
    r"\b(?:thanks?|thank you|thx|perfect|great|awesome|excellent|lgtm|works(?: now)?|looks good|nice"
    r"|ship it|well done|danke|super|passt|klappt|funktioniert|gracias|perfecto|genial|funciona|merci"
    r"|parfait|obrigad[oa]|grazie)\b|спасибо|отлично|работает|谢谢|太好了|可以了|没问题|ありがとう|고마워"
)
_BAD = (
    r"\b(?:still (?:fail\w*|broken|not|wrong|get\w*)|doesn'?t work|does not work|not working|broken"
    r"|give up|forget it|revert (?:it|everything|all)|wrong|geht (?:immer noch )?nicht"
    r"|funktioniert nicht|no funciona|sigue fallando|ne marche pas|não funciona|non funziona)\b"
    r"|все равно|всё равно|не работает|ошибка|不行|还是(?:不|失败|报错)|算了|動かない|안 돼"
)
_TESTS = r"\b(?:tests?|spec|check|lint|build|tsc|mypy|ruff|pytest|jest|vitest|compile)"
_PASSED = r"\b\d+ (?:tests? )?pass(?:ed|ing)?\b|\ball (?:\w+ ){0,3}(?:pass|green)|\b0 (?:errors|failures|failed)\b"
_FAILED = (
    r"\b[1-9]\d* (?:tests? )?fail(?:ed|ing|ures)?\b|\bstill fail\w*|\bcould not\b|\bunable to\b"
)


def outcome(turns: Sequence[Turn]) -> str:
    """success, failure, partial or unknown: by the person's last word, tests, commits."""
    verdict = _verdict(turns)
    if verdict is not None:
        return "success" if verdict else "failure"
    signs = [sign for sign in (_last_result(turns), _tests(turns)) if sign is not None]
    if not signs:
        return "unknown"
    return "success" if all(signs) else "partial" if any(signs) else "failure"


def _verdict(turns: Sequence[Turn]) -> bool | None:
    """What the person said last, if it judges and the agent did not go on working after it."""
    worked = False
    for turn in reversed(turns):
        if turn.human:
            low = turn.text.lower()[:300]
            bad = _pattern(_BAD).search(low) is not None
            good = _pattern(_GOOD).search(low) is not None
            return None if worked or bad == good else good
        worked = worked or bool(turn.tool)
    return None


def _last_result(turns: Sequence[Turn]) -> bool | None:
    """Whether the last test, build or commit that was run succeeded; None without one."""
    failed: dict[str, bool] = {turn.call: turn.error for turn in turns if turn.role == "tool"}
    for i in range(len(turns) - 1, -1, -1):
        command = command_of(turns[i]) if turns[i].role == "assistant" and turns[i].tool else ""
        if command and _pattern(_TESTS + r"|\bgit (?:commit|push)\b").search(command):
            after = turns[i + 1] if i + 1 < len(turns) else None
            if turns[i].call in failed and turns[i].call:
                return not failed[turns[i].call]
            return None if after is None or after.role != "tool" else not after.error
    return None


def _tests(turns: Sequence[Turn]) -> bool | None:
    """What the agent's last words say of tests and checks."""
    low = next((turn.text.lower()[-3000:] for turn in reversed(turns) if spoken(turn)), "")
    passed, failed = _pattern(_PASSED).search(low), _pattern(_FAILED).search(low)
    return None if not passed and not failed else failed is None


def _tags(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Up to five words that the person and the agent said in most turns, of the first 200."""
    counts: Counter[str] = Counter()
    for turn in islice((turn for turn in turns if turn.human or spoken(turn)), 200):
        counts.update({word for word in content(turn.text[:400].lower()) if len(word) > 3})
    often = sorted((-count, word) for word, count in counts.items() if count >= 3)
    return tuple(word for _, word in often[:5])


def key_text(session: Session, segment: Segment) -> str:
    """The key turns, a line each, without what is about the person."""
    return "\n".join(_key_lines(session, segment))


def _key_lines(session: Session, segment: Segment) -> Iterator[str]:
    room = DETAIL
    for i in segment.key_turns:
        turn = session.turns[i]
        if turn.human and of_manner(turn.text):
            continue
        words = " ".join(one.text for one in sentences(turn.text, typed=turn.human)[:8])
        line = f"{turn.role}: {words[:500]}"[: max(0, room)]
        if words and room > 20:
            room -= len(line) + 1
            yield line


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

"""A stretch of a session told as an episode: what was done, how it ended, what decided. Pure.

Extractive: every sentence of title and summary was said in the session. A stretch without an
effect makes none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from memcli.extraction.rules.commands import command_of, edited_by
from memcli.extraction.rules.findings import of_manner, title
from memcli.extraction.rules.sentences import Sentence, sentences, spoken
from memcli.extraction.rules.words import begins, content, kinds_of
from memcli.sessions.model import Finding, Segment, Session, Turn
from memcli.text.matching import regex

DETAIL = 2000
TITLE = 110
WORKED_OVER = 4
"""Turns of a person from which a talk that changed nothing is an episode."""


class EpisodeDraft(NamedTuple):
    """An episode in the session's own words. `outcome` is success, failure, partial or unknown."""

    title: str
    summary: str
    outcome: str
    tags: tuple[str, ...]
    key_text: str


def told(session: Session, segment: Segment, findings: Sequence[Finding]) -> EpisodeDraft | None:
    """The segment told in its own words; None when nothing came of it."""
    turns = session.turns[segment.start : segment.end]
    taught = [f for f in findings if segment.start <= f.turn < segment.end and not f.about_person]
    if not taught and not _had_effect(turns):
        return None
    exchanges = _exchanges(turns)
    return EpisodeDraft(
        title=_title(turns, exchanges) or title(session.name, TITLE),
        summary=_summary(exchanges[-1].closing if exchanges else [], taught),
        outcome=outcome(turns),
        tags=_tags(turns),
        key_text=key_text(session, segment),
    )


def _had_effect(turns: Sequence[Turn]) -> bool:
    """Whether files changed, or something was talked over at length."""
    said = {turn.text for turn in turns if turn.human and content(turn.text.lower())}
    talked_over = len(said) >= WORKED_OVER and any(spoken(turn) for turn in turns)
    return talked_over or any(_changes(turn) for turn in turns)


def _changes(turn: Turn) -> bool:
    """Whether a turn changed something: an edit, a commit, an edit that a chat's tool reports."""
    if turn.role == "assistant" and turn.tool:
        edits = regex(r"edit|write_|patch|replace|^write").search(turn.tool.lower())
        commits = regex(r"\bgit (?:commit|merge|push|mv)\b").search(command_of(turn))
        return bool(edits or commits or edited_by(turn))
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


_COMMIT = (
    r"\bgit commit\b[^\n]*?-m\s+(?:\"\$\(cat <<'?\"?EOF'?\"?\n([^\n\"]{8,120})"
    r"|[\"']([^\"'\n]{8,120}))"
)
_LED = re.compile(
    r"(?:(?:all )?(?:done|fixed|completed?|finished|perfect|great|set)\s*[—–:.,!-]+\s*)?"
    r"(?:(?:i|we)(?:['’]ve| have)? (?:now |also |just |successfully )*(?=\w+(?:ed|t|ote|ade) ))?",
    re.IGNORECASE,
)
"""What leads into a report of what was done, and says nothing of it."""
_GENERIC = (
    r" (?:summary|here is|heres|tests? (?:all )?pass|standing by|committed|notified|working tree"
    r"|let me|recommended|based|api error) "
)
"""Says that something is done, and not what."""
_DONE = (
    r" (?:i |ive |we |weve |done |now |also |have |successfully )*"
    r"(?!need|based|verified|used|recommend)"
    r"(?:[a-z]{2,}ed|rewrote|wrote|built|made|split|set up|switched|put) "
)


def _title(turns: Sequence[Turn], exchanges: Sequence[_Exchange]) -> str:
    """The subject of the last commit, else the sentence that tells best what was done in the
    exchange with most changes, else what the person asked for there.
    """
    commits = (regex(_COMMIT).search(command_of(t)) for t in reversed(turns) if t.tool)
    subject = next((found[1] or found[2] for found in commits if found), "")
    if len(subject.split()) >= 4:
        return title(subject, TITLE)
    ordered = sorted(exchanges, key=lambda one: -one.changes)
    for one in ordered[:3]:
        best = max(one.closing[:12], key=_reports, default=None)
        if best is not None and _reports(best) > 0:
            return title(_LED.sub("", _plain(best.text)), TITLE)
    asks = [ask for one in ordered for ask in one.asked if len(content(ask.low)) >= 3]
    fitting = [ask for ask in asks if len(ask.low.split()) >= 4 and "tasks" in begins(ask.low)]
    closing = [one for each in ordered for one in each.closing]
    telling = [one for one in closing if not regex(_GENERIC).search(one.low)]
    chosen = [*fitting, *asks, *telling]
    return title(_plain(chosen[0].text), TITLE) if chosen else ""


def _reports(one: Sentence) -> int:
    """How well a sentence tells what was done, standing for itself; 0 when it does not."""
    if not 5 <= len(one.low.split()) <= 35 or one.text.rstrip("*_ ").endswith(
        (":", "：", "?", "？")
    ):
        return 0
    if regex(_GENERIC).search(one.low) or not regex(_DONE).match(one.low):
        return 0
    return 3 + ("`" in one.text) + (not one.mark) + ("done" in kinds_of(one.low))


def _summary(closing: Sequence[Sentence], taught: Sequence[Finding]) -> str:
    """What decided: the lessons, then the agent's closing words, at most four sentences."""
    lessons = [finding.body for finding in taught if len(finding.body) <= 300][:2]
    ends = ("?", "？", ":", "：")
    said = [one.text for one in closing if not one.mark and not one.text.endswith(ends)]
    said = said or [one.text for one in closing if one.mark == "-"]
    parts = [_plain(part) for part in [*said[:2], *lessons]]
    return " ".join(dict.fromkeys(p if p[-1] in ".!?。！？…" else f"{p}." for p in parts if p))


def _plain(text: str) -> str:
    text = regex(r"\*\*|__").sub("", text)
    return text if len(text) <= 300 else text[:299].rsplit(" ", 1)[0] + "…"


# --- how it ended

_GOOD = (
    r"\b(?:thanks?|thank you|thx|perfect|great|awesome|excellent|lgtm|works(?: now)?|looks good|nice"
    r"|ship it|well done|danke|super|passt|klappt|funktioniert|gracias|perfecto|genial|funciona"
    r"|merci|parfait|obrigad[oa]|grazie)\b|спасибо|отлично|работает|谢谢|太好了|可以了|没问题"
    r"|ありがとう|고마워"
)
_BAD = (
    r"\b(?:still (?:fail\w*|broken|not|wrong|get\w*)|doesn'?t work|does not work|not working|broken"
    r"|give up|forget it|revert (?:it|everything|all)|wrong|geht (?:immer noch )?nicht"
    r"|funktioniert nicht|no funciona|sigue fallando|ne marche pas|não funciona|non funziona)\b"
    r"|все равно|всё равно|не работает|ошибка|不行|还是(?:不|失败|报错)|算了|動かない|안 돼"
)
_TESTS = (
    r"\b(?:tests?|spec|check|lint|build|tsc|mypy|ruff|pytest|jest|vitest|compile)"
    r"|\bgit (?:commit|push)\b"
)
_PASSED = (
    r"\b\d+ (?:tests? )?pass(?:ed|ing)?\b|\ball (?:\w+ ){0,3}(?:pass|green)"
    r"|\b0 (?:errors|failures|failed)\b"
)
_FAILED = (
    r"\b[1-9]\d* (?:tests? )?fail(?:ed|ing|ures)?\b|\bstill fail\w*|\bcould not\b|\bunable to\b"
)


def outcome(turns: Sequence[Turn]) -> str:
    """success, failure, partial or unknown: by the person's last word, tests, commits."""
    verdict = _verdict(turns)
    if verdict is not None:
        return "success" if verdict else "failure"
    last = next((turn.text.lower()[-3000:] for turn in reversed(turns) if spoken(turn)), "")
    passed, failed = regex(_PASSED).search(last), regex(_FAILED).search(last)
    said = failed is None if passed or failed else None
    signs = [sign for sign in (_last_result(turns), said) if sign is not None]
    if not signs:
        return "unknown"
    return "success" if all(signs) else "partial" if any(signs) else "failure"


def _verdict(turns: Sequence[Turn]) -> bool | None:
    """What the person said last, if it judges and the agent did not go on working after it."""
    for turn in reversed(turns):
        if turn.human:
            low = turn.text.lower()[:300]
            bad = regex(_BAD).search(low) is not None
            good = regex(_GOOD).search(low) is not None
            return None if bad == good else good
        if turn.tool:
            return None
    return None


def _last_result(turns: Sequence[Turn]) -> bool | None:
    """Whether the last test, build or commit that was run succeeded; None without one."""
    failed = {turn.call: turn.error for turn in turns if turn.role == "tool" and turn.call}
    for turn, after in zip(reversed(turns), [None, *reversed(turns)], strict=False):
        command = command_of(turn) if turn.role == "assistant" and turn.tool else ""
        if command and regex(_TESTS).search(command):
            if turn.call in failed:
                return not failed[turn.call]
            return None if after is None or after.role != "tool" else not after.error
    return None


def _tags(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Up to five words that the person and the agent said in most turns, of the first 200."""
    counts: Counter[str] = Counter()
    for turn in islice((turn for turn in turns if turn.human or spoken(turn)), 200):
        counts.update({word for word in content(turn.text[:400].lower()) if len(word) > 3})
    often = sorted((-count, word) for word, count in counts.items() if count >= 3)
    return tuple(word for _, word in often[:5])


def key_text(session: Session, segment: Segment) -> str:
    """The key turns, a line each, without what is about the person."""
    lines, room = [], DETAIL
    for turn in (session.turns[i] for i in segment.key_turns):
        words = " ".join(one.text for one in sentences(turn.text, typed=turn.human)[:8])
        if words and room > 20 and not (turn.human and of_manner(turn.text)):
            lines.append(f"{turn.role}: {words[:500]}"[:room])
            room -= len(lines[-1]) + 1
    return "\n".join(lines)

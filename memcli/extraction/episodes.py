"""A stretch of a session told as an episode, in the session's own words. Pure."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from memcli.extraction.episode_titles import (
    changes,
    edited,
    edits,
    is_open,
    orders,
    plain,
    shortened,
    title_of,
)
from memcli.extraction.rules import of_manner, words
from memcli.extraction.rules.commands import family, results
from memcli.extraction.rules.words import content, fold, sentences, spoken
from memcli.sessions.model import Finding, Session, Stretch, Turn
from memcli.sessions.taking_back import taken_back
from memcli.text.matching import regex, verbose

DETAIL = 2000  # characters
WORKED_OVER = 4  # turns of a person from which a talk of orders is an episode
JUDGED = 3  # words about something beside those by which a person judges


class EpisodeDraft(NamedTuple):
    """An episode in the session's own words. `outcome` is success, failure, partial or
    unknown."""

    title: str
    summary: str
    outcome: str
    tags: tuple[str, ...]
    key_text: str


def told(
    session: Session, segment: Stretch, findings: Sequence[Finding]
) -> EpisodeDraft | None:
    """The episode of a segment, in the words of the session; None if nothing came of
    it."""
    every = session.turns[segment.start : segment.end]
    turns = _standing(every)
    has_person = any(turn.human for turn in turns)
    taught = _within(segment, findings)
    if not (taught or _has_result(session, turns)):
        return None
    if len(turns) < len(every) and not has_person:
        return None
    is_first = not any(turn.human for turn in session.turns[: segment.start])
    closing = _closing_words(_last_words(turns))
    name = title_of(turns, session.title if is_first else "")
    # What nobody asked for in words is called by the answer, else by the files.
    name = name or shortened(next(iter(closing), "")) or edited(turns)
    if not name:
        return None
    return EpisodeDraft(
        title=name,
        summary=_summary(closing, taught),
        outcome=outcome(turns),
        tags=_tags(turns),
        key_text=key_text(session, segment),
    )


def _has_result(session: Session, turns: Sequence[Turn]) -> bool:
    """Whether the turns changed something, or a person worked them over."""
    return any(map(changes, turns)) or _is_worked_over(session, turns)


def _standing(turns: Sequence[Turn]) -> list[Turn]:
    """The turns without those in which a person takes something back: no title and no
    summary tells of it."""
    return [turn for turn in turns if not (turn.human and taken_back(turn.text))]


def _within(segment: Stretch, findings: Sequence[Finding]) -> list[Finding]:
    """What the segment taught about the work, without what takes something back."""
    inside = range(segment.start, segment.end)
    taught = [finding for finding in findings if finding.turn in inside]
    return [one for one in taught if not (one.about_person or one.retires)]


def _is_worked_over(session: Session, turns: Sequence[Turn]) -> bool:
    """Whether a chat without tools, in which changes do not show, is more than questions
    and answers."""
    if any(turn.tool for turn in session.turns) or not any(map(spoken, turns)):
        return False
    typed = {turn.text for turn in turns if turn.human and content(turn.text.lower())}
    return len(typed) >= WORKED_OVER and any(map(orders, turns))


# --- the summary -----------------------------------------------------------------


def _summary(closing: Sequence[str], taught: Sequence[Finding]) -> str:
    """The agent's closing sentences and what was learned."""
    lessons = [finding.body for finding in taught if len(finding.body) <= 300]
    parts = [*closing, *lessons[:2]]
    rows = [_ended(plain(part)) for part in parts]
    return " ".join(dict.fromkeys(row for row in rows if row))


def _closing_words(last: str) -> list[str]:
    """Two sentences of the agent's last words, else two points of a list in them."""
    closing = []
    points = []
    for sentence in sentences(last):
        if len(content(sentence.low)) < 3 or not is_open(sentence):
            continue
        if not sentence.mark and sentence.text[-1] not in "?？:：":
            closing.append(sentence.text)
        elif sentence.mark == "-":
            points.append(sentence.text)
    return (closing or points)[:2]


def _ended(text: str) -> str:
    """The text, with a full stop if nothing ends it."""
    return text if not text or text[-1] in ".!?。！？…" else f"{text}."


def _last_words(turns: Sequence[Turn]) -> str:
    return next((turn.text for turn in reversed(turns) if spoken(turn)), "")


# --- the outcome -----------------------------------------------------------------


@verbose
def _passed() -> str:
    """How a report says that checks passed."""
    return r"""
        \b \d+ [ ] (?:tests?[ ])? pass(?:ed|ing)? \b
      | \b all[ ] (?:\w+[ ]){0,3} (?:pass|green) | \b 0[ ] (?:errors|failures|failed) \b
    """


@verbose
def _failed() -> str:
    """How a report says that something failed."""
    return r"""
        \b [1-9]\d* [ ] (?:tests?[ ])? fail(?:ed|ing|ures)? \b | \b still[ ]fail\w*
      | \b could[ ]not \b | \b unable[ ]to \b
    """


def outcome(turns: Sequence[Turn]) -> str:
    """success, failure, partial or unknown: by the person's last word, else by the last
    check, if it ran after the last change. What an agent claims can only lower it."""
    if judgement := _judgement(turns):
        return judgement
    last = _last_words(turns).lower()[-3000:]
    says_failed = _failed().search(last) is not None
    says_passed = _passed().search(last) is not None
    ran = _checks(turns)
    if not ran:
        return "failure" if says_failed and not says_passed else "unknown"
    checked, is_sound = ran[-1]
    if not is_sound:
        return "partial" if says_passed and not says_failed else "failure"
    if says_failed:
        return "partial"
    return "unknown" if _goes_on(turns[checked:]) else "success"


def _goes_on(turns: Sequence[Turn]) -> bool:
    """Whether there is something that nobody checked: a word of the person, an edit."""
    return any(turn.human or edits(turn) for turn in turns)


def _checks(turns: Sequence[Turn]) -> list[tuple[int, bool]]:
    """(index of its result, whether it passed) of each check that ran."""
    return [
        (index, not error)
        for call, index, error in results(turns, [])
        if _is_check(family(call.command))
    ]


def _is_check(command: str) -> bool:
    """Whether a command's end tells whether the work is sound."""
    parts = {*regex(r"[^a-z0-9]+").split(command.lower())}
    checks = words.listed("testing") | words.listed("checking")
    return bool(parts & checks) and not parts & words.listed("surroundings")


def _judgement(turns: Sequence[Turn]) -> str:
    """What the person says of it last, where the agent did not go on working and nothing
    else is asked for; "" without such a word."""
    heard = _last_heard(turns)
    if heard is None:
        return ""
    low = fold(heard.text[:300])
    is_good = words.says("good", low)
    if words.says("bad", low):
        return "" if is_good else "failure"
    for cue in words.phrases("good"):
        low = low.replace(cue, " ")
    says_no_more = len(content(low)) <= JUDGED and not _asks(heard.text)
    return "success" if is_good and says_no_more else ""


def _last_heard(turns: Sequence[Turn]) -> Turn | None:
    """The last turn of the person behind which no tool was called."""
    heard = next((turn for turn in reversed(turns) if turn.human or turn.tool), None)
    return heard if heard is not None and heard.human else None


def _asks(text: str) -> bool:
    return any(sentence.asks for sentence in sentences(text[:300], typed=True))


def _tags(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Up to five words that the person and the agent said in most turns, of the first
    200."""
    counts: Counter[str] = Counter()
    for turn in islice((turn for turn in turns if turn.human or spoken(turn)), 200):
        counts.update(
            {word for word in content(turn.text[:400].lower()) if len(word) > 3}
        )
    often = sorted((-count, word) for word, count in counts.items() if count >= 3)
    return tuple(word for _, word in often[:5])


def key_text(session: Session, segment: Stretch) -> str:
    """The key turns, a line each, without what is about the person."""
    lines = []
    room = DETAIL
    for turn in (session.turns[index] for index in segment.key_turns):
        spoken_here = filter(is_open, sentences(turn.text, typed=turn.human)[:8])
        said = " ".join(one.text for one in spoken_here)
        if said and room > 20 and not (turn.human and of_manner(turn.text)):
            lines.append(f"{turn.role}: {said[:500]}"[:room])
            room -= len(lines[-1]) + 1
    return "\n".join(lines)

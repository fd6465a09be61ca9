"""A session as episodes: where one subject ends and the next begins, what surprised, and how it is
told.

Units are exchanges: what a person said and what the agent answered to it. Extractive: every
sentence of title and summary was said in the session.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple

from memcli.extraction.rules import corrects, of_manner, own_lines
from memcli.memory.words import bigrams, spaceless_runs
from memcli.sessions.model import Segment, Session, Turn

GAP = 3 * 3600
"""Seconds without a turn after which something new begins."""
KEY = 0.7
"""Surprise from which a turn is a key moment."""
MOST = 12
"""Segments of one session at most."""
WINDOW = 3
LEAST = 8
"""Exchanges on each side of a possible break that are compared; of a session that is split by
topic.
"""
SHORTEST = 3
"""Exchanges of a segment that a topic break makes."""
UNIT = 40
"""Turns with words after which an exchange without a human turn is cut."""
ALIKE = 0.15
"""Similarity above which neighbouring windows are about one thing, however deep the valley."""
COMPARED = 200
"""Texts up to which a given `embed` is asked; longer sessions are compared by words."""
HEARD = 400
DECAY = 0.85
"""Characters of a turn that are compared, and what is left of the running event after one more
turn.
"""
DETAIL = 2000
CORRECTIONS = 4
"""Corrections of one segment at most that are key turns, however little they surprise."""

Row = Sequence[float]
Embed = Callable[[Sequence[str]], Sequence[Row]]


class Told(NamedTuple):
    """An episode in the session's own words. `outcome` is success, failure, partial or unknown."""

    title: str
    summary: str
    outcome: str
    tags: tuple[str, ...]
    key_text: str


class _Unit(NamedTuple):
    start: int
    end: int
    words: Mapping[str, int]
    said: tuple[int, ...]


class _Heard(dict[int, tuple[str, ...]]):
    """The words of turns by their index, read once and each kept once."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        super().__init__()
        self._turns = turns
        self._known: dict[str, str] = {}

    def __missing__(self, i: int) -> tuple[str, ...]:
        known = self._known
        self[i] = tuple(
            [known.setdefault(word, word) for word in content(self._turns[i].text[:HEARD])]
        )
        return self[i]


# -- segments -----------------------------------------------------------------------------------


def segments(turns: Sequence[Turn], *, embed: Embed | None = None) -> tuple[Segment, ...]:
    """`turns` cut into at most 12 stretches, in order, without holes; one for a short session, ()
    for none.

    They are cut at gaps over 3 h and at the deepest valleys of the similarity of neighbouring
    windows (after Hearst's TextTiling): cosine of their words weighed by rarity, or of their
    vectors where `embed` is given, which is asked once for all texts.
    """
    if not turns:
        return ()
    gaps = _gaps(turns)
    heard = _Heard(turns)
    units = list(_units(turns, {at for _, at in gaps}, heard))
    rows = _embedded(turns, units, embed) if embed else {}
    alike = _alike(units, rows)
    rare = _rarity([unit.words for unit in units])
    edges = [0, *_chosen(gaps, _valleys(units, gaps, alike, not rows)), len(turns)]
    return tuple(_segment(turns, start, end, rare, heard, rows) for start, end in pairwise(edges))


def _embedded(turns: Sequence[Turn], units: Sequence[_Unit], embed: Embed) -> dict[int, Row]:
    """The vectors of what is said in the units, by turn; none for a long session."""
    said = [i for unit in units for i in unit.said]
    if not said or len(said) > COMPARED:
        return {}
    rows = embed([turns[i].text[:HEARD] for i in said])
    return dict(zip(said, rows, strict=True)) if len(rows) else {}


def _gaps(turns: Sequence[Turn]) -> list[tuple[float, int]]:
    """(seconds, index of the turn after it) of every gap that is long enough."""
    found, last, hour = [], None, ""
    for i, turn in enumerate(turns):
        if turn.time[:13] == hour:
            continue
        hour = turn.time[:13]
        now = _seconds(turn.time) if turn.time else None
        if now is None:
            continue
        if last is not None and i and now - last > GAP:
            found.append((now - last, i))
        last = now if last is None else max(last, now)
    return found


def _seconds(time: str) -> float | None:
    try:
        at = datetime.fromisoformat(time)
        return (at.replace(tzinfo=None) - (at.utcoffset() or _ZERO) - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None


_EPOCH = datetime(1970, 1, 1)
_ZERO = _EPOCH - _EPOCH


def _units(turns: Sequence[Turn], forced: set[int], heard: _Heard) -> Iterator[_Unit]:
    start, said = 0, 0
    for i, turn in enumerate(turns):
        if i > start and (i in forced or turn.human or said >= UNIT):
            yield _unit(turns, start, i, heard)
            start, said = i, 0
        said += bool(turn.text) and turn.role == "assistant"
    yield _unit(turns, start, len(turns), heard)


def _unit(turns: Sequence[Turn], start: int, end: int, heard: _Heard) -> _Unit:
    """An exchange: what the person said, and the agent's last words."""
    said = tuple(_moments(turns, start, end))
    words: Counter[str] = Counter()
    for i in said:
        words.update(heard[i])
    return _Unit(start, end, words, said)


def _spoken(turn: Turn) -> bool:
    return turn.role == "assistant" and bool(turn.text) and not turn.tool


def _alike(units: Sequence[_Unit], rows: Mapping[int, Row]) -> list[float]:
    """How alike the windows before and after each exchange but the first are."""
    if len(units) < LEAST:
        return []
    if not rows:
        return _by_words(units)
    windows = [
        [rows[i] for unit in units[at : at + WINDOW] for i in unit.said] for at in range(len(units))
    ]
    return [_likeness(windows[max(0, at - WINDOW)], windows[at]) for at in range(1, len(units))]


def _likeness(a: Sequence[Row], b: Sequence[Row]) -> float:
    """The cosine of the sums of two groups of vectors, 0 to 1."""
    x, y = [[sum(column) for column in zip(*rows, strict=True)] for rows in (a, b)]
    sizes = sum(v * v for v in x) * sum(v * v for v in y)
    dot = sum(v * w for v, w in zip(x, y, strict=False))
    return _unit_interval(dot / math.sqrt(sizes)) if sizes else 0.0


def _valleys(
    units: Sequence[_Unit], gaps: list[tuple[float, int]], alike: list[float], by_words: bool
) -> list[tuple[float, int]]:
    """(depth, index of the turn) of the topic breaks, those that lie too near to another left out."""
    depths = [_depth(alike, i) for i in range(len(alike))]
    least, most = sum(_spread(depths)), _spread(alike)[0] - _spread(alike)[1]
    deep = [
        (depth, i)
        for i, (depth, like) in enumerate(zip(depths, alike, strict=True), 1)
        if depth > least and like < (min(most, ALIKE) if by_words else most)
    ]
    split = {at for _, at in gaps}
    taken = {0, len(units)} | {i for i, unit in enumerate(units) if unit.start in split}
    found: list[tuple[float, int]] = []
    for depth, i in sorted(deep, key=lambda one: (-one[0], one[1])):
        if len(found) < MOST and all(abs(i - other) >= SHORTEST for other in taken):
            taken.add(i)
            found.append((depth, units[i].start))
    return found


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation; zeros for no values."""
    if not values:
        return 0.0, 0.0
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def _depth(alike: Sequence[float], i: int) -> float:
    """How far similarity falls at `i` from the peaks on both sides."""
    left = right = i
    while left and alike[left - 1] >= alike[left] and i - left < 2 * WINDOW:
        left -= 1
    while right + 1 < len(alike) and alike[right + 1] >= alike[right] and right - i < 2 * WINDOW:
        right += 1
    return alike[left] + alike[right] - 2 * alike[i]


def _by_words(units: Sequence[_Unit]) -> list[float]:
    rare = _rarity([unit.words for unit in units])
    return [
        _cosine(_bag(units[max(0, i - WINDOW) : i], rare), _bag(units[i : i + WINDOW], rare))
        for i in range(1, len(units))
    ]


def _rarity(bags: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The weight of a word: the logarithm of how few of the bags have it."""
    held: Counter[str] = Counter()
    for bag in bags:
        held.update(bag.keys())
    return {word: math.log((len(bags) + 0.5) / count) for word, count in held.items()}


def _bag(units: Sequence[_Unit], rare: Mapping[str, float]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for unit in units:
        total.update(unit.words)
    return {word: math.sqrt(count) * rare[word] for word, count in total.items()}


def _cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    if len(a) > len(b):
        a, b = b, a
    dot = sum(weight * b[word] for word, weight in a.items() if word in b)
    sizes = sum(x * x for x in a.values()) * sum(x * x for x in b.values())
    return dot / math.sqrt(sizes) if sizes else 0.0


def _chosen(gaps: list[tuple[float, int]], valleys: list[tuple[float, int]]) -> list[int]:
    """Where to cut: the longest gaps first, then the deepest valleys, as many as are sensible."""
    longest = sorted(gaps, key=lambda one: (-one[0], one[1]))
    return sorted([at for _, at in [*longest, *valleys]][: MOST - 1])


# -- surprise -----------------------------------------------------------------------------------


def _segment(
    turns: Sequence[Turn],
    start: int,
    end: int,
    rare: Mapping[str, float],
    heard: _Heard,
    rows: Mapping[int, Row],
) -> Segment:
    moments = _moments(turns, start, end)
    if rows and all(i in rows for i in moments):
        surprises = _surprises_by([rows[i] for i in moments])
    else:
        surprises = surprises_of([set(heard[i]) for i in moments], rare)
    keys = sorted(range(len(moments)), key=lambda n: (-surprises[n], n))
    most = [moments[n] for n in keys if surprises[n] >= KEY][:6]
    ends = [moments[0], moments[-1]] if moments else []
    # What the agent did wrong must not be told without what the person said to it.
    answered = (i for i in moments[1:] if turns[i].human and corrects(turns[i].text))
    keys_of = sorted({*most, *ends, *islice(answered, CORRECTIONS)})
    return Segment(start, end, round(max(surprises, default=0.0), 4), tuple(keys_of))


def _moments(turns: Sequence[Turn], start: int, end: int) -> list[int]:
    """The turns that may be key: what a person said, and the agent's last words of each exchange."""
    found, last = [], -1
    for i in range(start, end):
        turn = turns[i]
        if turn.human:
            found += [last, i] if last >= 0 else [i]
            last = -1
        elif _spoken(turn):
            last = i
    return [*found, last] if last >= 0 else found


def _surprises_by(rows: Sequence[Row]) -> list[float]:
    """1 − similarity to the four texts before, 0 for the first."""
    events = [rows[max(0, n - 4) : n] for n in range(len(rows))]
    return [
        1 - _likeness([row], event) if event else 0.0
        for row, event in zip(rows, events, strict=True)
    ]


def _unit_interval(value: float) -> float:
    return min(1.0, max(0.0, value))


def surprises_of(said: Sequence[set[str]], rare: Mapping[str, float]) -> list[float]:
    """1 − similarity to the running event, for each text given as its words; 0 for the first.

    The event is the exponential mean of what was said so far; similarity is the share of a text's
    words, weighed by rarity, that it holds. A text of fewer than 8 words counts less: that "looks
    good, ship it" shares nothing with what was said before is no surprise.
    """
    event: dict[str, float] = {}
    scale, found = 1.0, []
    for words in said:
        total = sum(rare.get(word, 1.0) for word in words)
        known = sum(
            rare.get(word, 1.0) * min(1.0, 2 * event.get(word, 0.0) / scale) for word in words
        )
        fresh = (1 - known / total) * min(1.0, len(words) / 8) if event and total else 0.0
        found.append(_unit_interval(fresh))
        # Growing what comes is shrinking what was, without touching every word.
        scale = _rescaled(event, scale / DECAY)
        for word in words:
            event[word] = min(event.get(word, 0.0) + scale * (1 - DECAY) * 4, scale)
    return found


def _rescaled(event: dict[str, float], scale: float) -> float:
    """The scale, brought back to 1 before it overflows."""
    if scale < 1e6:
        return scale
    for word in [word for word, weight in event.items() if weight / scale < 1e-3]:
        del event[word]
    for word in event:
        event[word] /= scale
    return 1.0


_WORD = re.compile(r"[^\W\d_]{3,40}")
_STOP = frozenset(
    """
    the and that this with for you are was but not have has had can could would should will just now then
    from they them there here what when where which who how why all any some its it's into out about also
    please let lets make sure like get got use using one two been being more than other only does did done
    don't doesn't i'll i'm i've you're that's yes okay see need want think look looks run add new file files
    der die das und ist nicht ein eine mit auf für den dem des von ich wir sie auch aber noch bitte jetzt
    los las una que por con para del está como más pero esto
    """.split()
)


def content(text: str) -> list[str]:
    """The words of a text that say what it is about: lower case, without stop words, plural s cut."""
    low = text.lower()
    found = [word.rstrip("s") for word in _WORD.findall(low) if word not in _STOP]
    if not low.isascii():
        found += [pair for run in spaceless_runs(low) for pair in bigrams(run)[:-1]]
    return found


# -- telling ------------------------------------------------------------------------------------


def extractive(session: Session, segment: Segment) -> Told:
    """The segment told in its own words; linear, deterministic.

    Title of 5 to 15 words where so many were said, summary of up to 4 sentences (the ask, the turn
    that changed most, the result), detail of at most 2,000 characters from the key turns, one line
    each.
    """
    turns = session.turns[segment.start : segment.end]
    ask = _ask(turns) or session.name
    said = list(
        islice((text for turn in reversed(turns) if _spoken(turn) and (text := _own(turn.text))), 5)
    )
    last = next(filter(_substantial, said), said[0] if said else "")
    return Told(
        title=_title(ask),
        summary=_summary(session, segment, ask, last),
        outcome=outcome(turns),
        tags=_tags(turns),
        key_text=_key_text(session, segment),
    )


def _ask(turns: Sequence[Turn]) -> str:
    """The first substantial words of the person, else their first, else the agent's."""
    asks = list(islice((text for turn in turns if turn.human and (text := _own(turn.text))), 20))
    said = (text for turn in turns if _spoken(turn) and (text := _own(turn.text)))
    return next((text for text in asks if _substantial(text)), "") or (
        asks[0] if asks else next(said, "")
    )


def _own(text: str) -> str:
    """A text on one line, without code, quotes and logs."""
    return " ".join(" ".join(own_lines(text[:6000])).split())


def _substantial(text: str) -> bool:
    return len(text.split()) >= 5 or (not text.isascii() and len(text) >= 10)


def _title(text: str) -> str:
    said = text.split()[:15]
    first = next(
        (n for n, word in enumerate(said, 1) if n >= 5 and word[-1] in ".!?。！？"), len(said)
    )
    title = " ".join(said[:first])
    if len(title) > 110:
        title = title[: title.rfind(" ", 0, 110)] if " " in title[:110] else title[:60]
    title = title.rstrip(" .!,;:。！，-–")
    return title[:1].upper() + title[1:]


def _summary(session: Session, segment: Segment, ask: str, result: str) -> str:
    first = segment.start
    later = [i for i in segment.key_turns if session.turns[i].human and i > first]
    changed = [i for i in later if not of_manner(session.turns[i].text)]
    turning = next((text for i in changed if _substantial(text := _own(session.turns[i].text))), "")
    told = [part for part in _lead(turning, 5) if _substantial(part)] if turning != ask else []
    parts = [*_lead(ask, 1), *told[:1], *_lead(result, 2)]
    return " ".join(dict.fromkeys(parts))


def _lead(text: str, count: int) -> list[str]:
    """The first sentences of a text, none longer than 300 characters."""
    parts = [
        part for part in _pattern(r"(?<=[.!?])\s+|(?<=[。！？])").split(text[:2000]) if part.strip()
    ]
    return [
        _ended(part if len(part) <= 300 else part[:299].rsplit(" ", 1)[0] + "…")
        for part in parts[:count]
    ]


def _ended(text: str) -> str:
    return text if text[-1] in ".!?。！？…" else f"{text}."


_GOOD = (
    r"\b(?:thanks?|thank you|thx|perfect|great|awesome|excellent|lgtm|works(?: now)?|looks good|nice"
    r"|ship it|well done"
    r"|danke|super|passt|klappt|funktioniert|gracias|perfecto|genial|funciona)\b|谢谢|太好了|可以了|没问题"
)
_BAD = (
    r"\b(?:still (?:fail\w*|broken|not|wrong|get\w*)|doesn'?t work|does not work|not working|broken"
    r"|give up|forget it"
    r"|revert (?:it|everything|all)|never ?mind|wrong|geht (?:immer noch )?nicht|funktioniert nicht"
    r"|no funciona"
    r"|sigue fallando)\b|不行|还是(?:不|失败|报错)|算了"
)
_DONE = (
    r"\b(?:all (?:\w+ ){0,3}(?:pass|green)\w*|(?:is|are|now) (?:fixed|done|complete|green)|done|fixed"
    r"|implemented|finished"
    r"|completed|merged|pushed|committed|deployed|added|updated|renamed|erledigt|fertig|behoben|listo"
    r"|hecho|arreglado)\b"
    r"|完成|修好|已(?:修复|添加|提交|更新)"
)
_UNDONE = (
    r"\b(?:could(?: not|n'?t)|unable to|was not able|still fail\w*|gave up|blocked|not yet"
    r"|remains? (?:open|broken)"
    r"|konnte nicht|no pude)\b|无法|未能"
)


def outcome(turns: Sequence[Turn]) -> str:
    """success, failure, partial or unknown: by the person's last words, else last command, agent's
    words.
    """
    verdict = _verdict(turns)
    if verdict is not None:
        return "success" if verdict else "failure"
    signs = [sign for sign in (_last_result(turns), _claim(turns)) if sign is not None]
    if not signs:
        return "unknown"
    return "success" if all(signs) else "partial" if any(signs) else "failure"


def _verdict(turns: Sequence[Turn]) -> bool | None:
    """What the person said last, if it judges and the agent did not go on working after it."""
    worked = False
    for turn in reversed(turns):
        if turn.human:
            low = _own(turn.text).lower()[:300]
            bad = _pattern(_BAD).search(low) is not None
            good = _pattern(_GOOD).search(low) is not None
            return None if worked or bad == good else good
        worked = worked or bool(turn.tool)
    return None


def _last_result(turns: Sequence[Turn]) -> bool | None:
    """Whether the last shell command succeeded; None without one."""
    for turn in reversed(turns):
        if turn.role == "tool" and _pattern(r"bash|shell|exec|command|terminal").search(
            turn.tool.lower()
        ):
            return not turn.error
    return None


def _claim(turns: Sequence[Turn]) -> bool | None:
    """Whether the agent's last words say that it is done."""
    low = next((turn.text.lower()[-1500:] for turn in reversed(turns) if _spoken(turn)), "")
    done, undone = _pattern(_DONE).search(low), _pattern(_UNDONE).search(low)
    return None if not done and not undone else undone is None


def _tags(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Up to five words that the person and the agent said in most turns, of the first 200."""
    counts: Counter[str] = Counter()
    for turn in islice((turn for turn in turns if turn.human or _spoken(turn)), 200):
        counts.update({word for word in content(turn.text[:HEARD]) if len(word) > 3})
    often = sorted((-count, word) for word, count in counts.items() if count >= 3)
    return tuple(word for _, word in often[:5])


def _key_text(session: Session, segment: Segment) -> str:
    lines: list[str] = []
    room = DETAIL
    for i in segment.key_turns:
        turn = session.turns[i]
        private = turn.human and i > segment.start and of_manner(turn.text)
        words = "" if private else " ".join(turn.text[:2000].split())
        line = f"{turn.role}: {words[:500]}"[: max(0, room)]
        if words and room > 20:
            lines.append(line)
            room -= len(line) + 1
    return "\n".join(lines)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

"""A session cut where a subject ends, each stretch told as an episode. Pure."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import islice, pairwise
from sys import intern
from typing import NamedTuple

from memcli.extraction.rules import of_manner, title, words
from memcli.extraction.rules.commands import command_of, results
from memcli.extraction.rules.words import (
    SpokenSentence,
    content,
    fold,
    sentences,
    spoken,
)
from memcli.extraction.surprise import surprise_said
from memcli.memory.words import cosine
from memcli.sessions.model import Finding, Session, Stretch, Turn
from memcli.sessions.taking_back import taken_back
from memcli.sessions.tools import changed_by
from memcli.text.matching import regex
from memcli.text.secrets import find_secrets

GAP = 3 * 3600  # seconds without a turn after which something new begins
KEY = 0.85  # distance from what came before from which a turn is a key moment
# exchanges beside a break, of a talk that is cut, of a segment
WINDOW = 3
LEAST = 8
SHORTEST = 3
# segments of a session, turns with words of an exchange
MOST = 12
UNIT = 40
ALIKE = 0.15  # similarity from which neighbouring windows are about one thing
HEARD = 400  # characters of a turn that are compared
DECAY = 0.85  # what is left of the running event after one more turn
SCALE = ((0.0, 0.0), (0.68, 0.35), (0.82, 0.85), (1.0, 1.0))
"""Mean distances and the surprise they are: the median of real sessions, and their top
tenth."""

_Heard = Callable[[int], tuple[str, ...]]  # of a turn by its index, each kept once
_Exchange = tuple[
    int, Counter[str]
]  # a person's turn and the answers: its start, its words


def segments(turns: Sequence[Turn], at: int = 0) -> tuple[Stretch, ...]:
    """`turns`, the first at `at` in its session, cut at gaps over 3 h and at the
    deepest valleys of the similarity of neighbouring windows (after Hearst's
    TextTiling), at most 12 stretches."""

    @cache
    def heard(i: int) -> tuple[str, ...]:
        return tuple(map(intern, sorted(content(turns[i].text[:HEARD].lower()))))

    gaps = [start for _, start in sorted(_gaps(turns))]
    units = list(_exchanges(turns, {*gaps}, heard)) if turns else []
    held = Counter(word for _, said in units for word in said)
    rare = {word: math.log((len(units) + 0.5) / count) for word, count in held.items()}
    valleys = _valleys(units, {*gaps}, rare) if len(units) >= LEAST else []
    edges = [0, *sorted([*gaps, *valleys][: MOST - 1]), len(turns)] if turns else []
    found = []
    for start, end in pairwise(edges):
        said = moments(turns, start, end)
        surprises = surprises_of([set(heard(i)) for i in said], rare)
        told = [surprise_said(turns[i].text) if turns[i].human else 0.0 for i in said]
        best = sorted(zip(surprises, said, strict=True), key=lambda one: -one[0])[:6]
        keys = {i for surprise, i in best if surprise >= KEY} | {*said[:1], *said[-1:]}
        keys |= {i for i, surprise in zip(said, told, strict=True) if surprise}
        spots = tuple(sorted(key + at for key in keys))
        found.append(
            Stretch(
                start=start + at,
                end=end + at,
                surprise=max(_on_scale(surprises[1:]), *told, 0.0),
                key_turns=spots,
            )
        )
    return tuple(found)


def _gaps(turns: Sequence[Turn]) -> Iterator[tuple[float, int]]:
    """(minus its seconds, index of the turn after it) of every gap that is long
    enough."""
    last = -math.inf
    hour = ""
    for i, turn in enumerate(turns):
        if turn.time[:13] == hour:  # a time is only read where the hour changes
            continue
        hour = turn.time[:13]
        try:
            read = datetime.fromisoformat(turn.time)
            now = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
        if i and GAP < now - last < math.inf:
            yield last - now, i
        last = max(last, now)


def _exchanges(
    turns: Sequence[Turn], forced: set[int], heard: _Heard
) -> Iterator[_Exchange]:
    start = said = 0
    for i, turn in enumerate([*turns, None]):
        if turn is None or (i > start and (i in forced or turn.human or said >= UNIT)):
            yield (
                start,
                Counter(word for at in moments(turns, start, i) for word in heard(at)),
            )
            start = i
            said = 0
        said += turn is not None and spoken(turn)


def _valleys(
    units: Sequence[_Exchange], split: set[int], rare: Mapping[str, float]
) -> list[int]:
    """The turns of the topic breaks, the deepest first, none too near to another."""

    def bag(start: int, end: int) -> dict[str, float]:
        total = sum((said for _, said in units[max(0, start) : end]), Counter[str]())
        return {word: math.sqrt(count) * rare[word] for word, count in total.items()}

    places = range(1, len(units))
    alike = [cosine(bag(i - WINDOW, i), bag(i, i + WINDOW)) for i in places]
    # How far similarity falls from the peaks on both sides.
    depths = [
        max(alike[max(0, i - 2 * WINDOW) : i + 1])
        + max(alike[i : i + 2 * WINDOW + 1])
        - 2 * like
        for i, like in enumerate(alike)
    ]
    (mean, spread), (usual, around) = _spread(depths), _spread(alike)
    deep = mean + spread
    low = min(usual - around, ALIKE)
    taken = {0, len(units)} | {
        i for i, (start, _) in enumerate(units) if start in split
    }
    found: list[int] = []
    for like, depth, i in sorted(
        zip(alike, depths, places, strict=True), key=lambda one: -one[1]
    ):
        if (
            all(abs(i - other) >= SHORTEST for other in taken)
            and depth > deep
            and like < low
        ):
            taken.add(i)
            found.append(units[i][0])
    return found


def _spread(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, math.dist(values, [mean] * len(values)) / math.sqrt(len(values))


def _on_scale(surprises: Sequence[float]) -> float:
    mean = sum(surprises) / max(1, len(surprises))
    (low, least), (high, most) = next(
        pair for pair in pairwise(SCALE) if mean <= pair[1][0]
    )
    return round(least + (mean - low) * (most - least) / (high - low), 3)


def moments(turns: Sequence[Turn], start: int, end: int) -> list[int]:
    """The turns that may be key: what a person said, the agent's last words of each
    exchange."""
    found = []
    last = -1
    for i in range(start, end):
        if turns[i].human:
            found += [last, i] if last >= 0 else [i]
            last = -1
        elif spoken(turns[i]):
            last = i
    return [*found, last] if last >= 0 else found


def surprises_of(said: Sequence[set[str]], rare: Mapping[str, float]) -> list[float]:
    """The share of each text's words, by rarity, that is new to the fading mean of
    those before."""
    event: dict[
        str, tuple[float, int]
    ] = {}  # the weight of a word when it was last said, and when
    found = []
    for now, bag in enumerate(said):
        held = {word: event.get(word, (0.0, now)) for word in bag}
        left = {
            word: weight * DECAY ** (now - 1 - at)
            for word, (weight, at) in held.items()
        }
        total = sum(rare.get(word, 1.0) for word in bag)
        known = sum(
            rare.get(word, 1.0) * min(1.0, 2 * weight) for word, weight in left.items()
        )
        fresh = (1 - known / total) * min(1.0, len(bag) / 8) if event and total else 0.0
        found.append(min(1.0, max(0.0, fresh)))
        for word, weight in left.items():
            event[word] = (min(1.0, weight * DECAY + (1 - DECAY) * 4), now)
    return found


# characters of detail and title, words of a title
DETAIL = 2000
TITLE = 110
WORDS = (5, 15)
WORKED_OVER = (
    4  # turns of a person from which a talk that changed nothing is an episode
)
EXCHANGES = (
    60  # closing turns of a stretch, the latest, that are looked at for its title
)
_BACK = ("begins: points", "begins: corrects", "asks")
# The subject of a commit, given by a here document or in quotes.
_COMMIT = r"""(?x)
    \b git[ ]commit \b [^\n]*? -m \s+
    (?: "\$\(cat[ ]<<'?"?EOF'?"?\n ([^\n"]{8,120}) | ["'] ([^"'\n]{8,120}) )
"""
# What leads into a report, a promise or a request, and says nothing of it.
_LED = r"""(?xi)
    ^ (?: @\S+ \s+ )*
    (?: (?: (?:all[ ])? (?:done|completed?|finished|perfect|great|set) \s* [—–:.,!-]+
          | (?:ok(?:ay)?|now|next|finally|first),? ) \s+ )*
    (?: can[ ]you[ ] | could[ ]you[ ] | please[ ] | kindly[ ]
      | i(?:'d|[ ]would)[ ]like[ ]you[ ]to[ ] | so[ ] )*
    (?: (?:i|we) (?:['’]ve|[ ]have)? [ ] (?:now[ ]|also[ ]|just[ ]|successfully[ ])*
        (?= \w+ (?:ed|t|ote|ade) [ ] )
      | (?:i|we) (?:['’]ll|[ ]will) [ ] (?:now[ ]|also[ ]|then[ ])*
      | let(?:['’]s|[ ]me) [ ] (?:now[ ]|also[ ]|then[ ])*
      | i(?:['’]m|[ ]am) [ ] going[ ]to[ ] )?
    (?: @\S+ \s+ )*
"""
# The verb of what was done, of what is promised, in a folded sentence.
_DID = r"""(?x)
    [ ] (?: i[ ] | ive[ ] | we[ ] | weve[ ] | done[ ] | now[ ] | also[ ] | have[ ]
          | successfully[ ] )* ([a-z]+) [ ]
"""
_PROMISED = r"""(?x)
    [ ] (?: now[ ] | first[ ] | next[ ] | finally[ ] | then[ ] )*
    (?: ill | i[ ]will | we[ ]will | lets | let[ ]me | im[ ]going[ ]to ) [ ]
    (?: now[ ] | then[ ] | also[ ] )* (\w+)
"""
# Commands whose end tells whether the work is sound; what a report says of them.
_TESTS = r"""(?x)
    \b (?: tests? | spec | check | lint | build | tsc | mypy | ruff | pytest | jest
        | vitest | compile )
    | \b git[ ] (?: commit | push ) \b
"""
_PASSED = r"""(?x)
    \b \d+ [ ] (?:tests?[ ])? pass(?:ed|ing)? \b | \b all[ ] (?:\w+[ ]){0,3} (?:pass|green)
    | \b 0[ ] (?:errors|failures|failed) \b
"""
_FAILED = r"""(?x)
    \b [1-9]\d* [ ] (?:tests?[ ])? fail(?:ed|ing|ures)? \b | \b still[ ]fail\w*
    | \b could[ ]not \b | \b unable[ ]to \b
"""


class EpisodeDraft(NamedTuple):
    """An episode in the session's own words. `outcome` is success, failure, partial or
    unknown."""

    title: str
    summary: str
    outcome: str
    tags: tuple[str, ...]
    key_text: str


def told(
    session: Session,
    segment: Stretch,
    findings: Sequence[Finding],
    likely: Sequence[Finding] = (),
) -> EpisodeDraft | None:
    """The segment told in its own words; None when nothing came of it. What is only
    `likely` shows that something came of it, and is not told."""
    every = session.turns[segment.start : segment.end]
    # What a person takes back is told by no title and no summary.
    turns = [turn for turn in every if not (turn.human and taken_back(turn.text))]
    if not any(turn.human for turn in turns) and len(turns) < len(every):
        return None
    taught = [each for each in _within(segment, findings) if not each.retires]
    said = {turn.text for turn in turns if turn.human and content(turn.text.lower())}
    talked_over = len(said) >= WORKED_OVER and any(map(spoken, turns))
    learned = taught or _within(segment, likely)
    if not (learned or talked_over or any(map(_changes, turns))):
        return None
    named = _title(turns) or title(session.name, TITLE)
    summary = _summary(turns, taught)
    return EpisodeDraft(
        title=named,
        summary=summary,
        outcome=outcome(turns),
        tags=_tags(turns),
        key_text=key_text(session, segment),
    )


def _within(segment: Stretch, findings: Sequence[Finding]) -> list[Finding]:
    return [
        finding
        for finding in findings
        if segment.start <= finding.turn < segment.end and not finding.about_person
    ]


def _changes(turn: Turn) -> bool:
    """Whether a turn changed something: an edit, a commit, an edit that a chat's tool
    reports."""
    if turn.role == "assistant" and turn.tool:
        edits = regex(r"edit|write_|patch|replace|^write").search(turn.tool.lower())
        commits = regex(r"\bgit (?:commit|merge|push|mv)\b").search(command_of(turn))
        return bool(edits or commits or changed_by(turn))
    return turn.text.startswith("Applied edit to ")


def _title(turns: Sequence[Turn]) -> str:
    said = [turns[i] for i in moments(turns, 0, len(turns))]
    heard = [*map(_is_correction, said[1:]), False][
        : len(said)
    ]  # a corrected one is no title
    stands = (
        turn
        for turn, wrong in zip(said, heard, strict=True)
        if not (turn.human or wrong)
    )
    closings = list(stands)[-EXCHANGES:]
    often = Counter(w for turn in closings for w in content(turn.text[:4000].lower()))
    common = {
        w for w in sorted(often, key=lambda w: (-often[w], w))[:40] if often[w] > 1
    }

    def worth(found: tuple[float, SpokenSentence]) -> float:
        value, one = found
        about = content(one.low)
        fits = WORDS[0] <= _count(one) <= WORDS[1]
        central = len(about & common) / max(4, len(about))
        return value + fits + 2 * central + 0.5 * ("`" in one.text or "/" in one.text)

    best = max(_tellings(turns, closings), key=worth, default=None)
    text = _plain(best[1].text) if best else ""
    return title(_clause(regex(_LED).sub("", text)), TITLE)


def _is_correction(turn: Turn) -> bool:
    return turn.human and words.begins("begins: corrects", fold(turn.text[:300]))


def _tellings(
    turns: Sequence[Turn], closings: Sequence[Turn]
) -> Iterator[tuple[float, SpokenSentence]]:
    for turn in turns:
        if turn.tool and (found := regex(_COMMIT).search(command_of(turn))):
            subject = found[1] or found[2]
            if len(subject.split()) >= 4:
                yield 8, SpokenSentence(subject, fold(subject))
        yield from _asked(turn) if turn.human or turn.origin == "agent" else ()
    if edited := list(
        dict.fromkeys(path for turn in turns for path in changed_by(turn))
    ):
        more = f" and {len(edited) - 3} more" if len(edited) > 3 else ""
        named = ", ".join(f"`{path}`" for path in edited[:3])
        yield 1.0, SpokenSentence(f"Changed {named}{more}", fold(" ".join(edited)))
    for at, turn in enumerate(
        closings, 1
    ):  # what was done last counts more than what was tried
        told = ((_reported(one), one) for one in sentences(turn.text)[:30])
        yield from ((value + at / len(closings), one) for value, one in told if value)


def _asked(turn: Turn) -> Iterator[tuple[float, SpokenSentence]]:
    if not turn.human or len(turn.text) > 400:
        heads = [one for one in sentences(turn.text)[:3] if one.mark == "#"]
        yield from ((3.5, one) for one in heads if len(one.text.split()) >= 4)
    for one in sentences(turn.text, typed=True)[:3] if turn.human else ():
        tasks = words.begins("begins: tasks", one.low)
        orders = tasks and not words.listed("idle") & {*one.low.split()[:3]}
        back = any(words.begins(kind, one.low) for kind in _BACK)
        if _tells(one) and (orders or not (back or one.asks)):
            yield (2.0 if orders else -0.5), one


def _reported(one: SpokenSentence) -> float:
    """The worth of a sentence in which an agent says what it did, or will do, else
    0."""
    did = regex(_DID).match(one.low)
    promised = regex(_PROMISED).match(one.low)
    verb = did[1] if did else ""
    if not _tells(one) or words.says("list: generic", one.low):
        return 0.0
    if verb in words.listed("did") or (
        verb[-2:] == "ed" and not words.says("list: looked", f" {verb} ")
    ):
        return 4.0 + (not one.mark) + words.says("done", one.low)
    return 2.5 if promised and promised[1] not in words.listed("idle") else 0.0


def _tells(one: SpokenSentence) -> bool:
    ends = one.text.rstrip("*_ ").endswith(
        (":", "：", "?", "？", "吗", "か", "{", "(", "[")
    )
    tells = not ends and 4 <= _count(one) <= 40 and len(content(one.low)) >= 3
    return tells and "[secret removed" not in one.text


def _count(one: SpokenSentence) -> int:
    """Words; of scripts without spaces, pairs of letters."""
    return max(
        len(one.low.split()), 0 if one.low.isascii() else len(content(one.low)) // 2
    )


def _clause(text: str) -> str:
    if len(text.split()) <= WORDS[1]:
        return text
    ends = regex(r"[,;:(—–]| - | so that | which | because ").finditer(text)
    cuts = [text[: end.start()] for end in ends]
    whole = (cut for cut in cuts if cut.count("(") == cut.count(")"))
    fitting = [cut for cut in whole if WORDS[0] <= len(cut.split()) <= WORDS[1]]
    return fitting[-1] if fitting else " ".join(text.split()[: WORDS[1]]) + "…"


def _summary(turns: Sequence[Turn], taught: Sequence[Finding]) -> str:
    last = next((turn.text for turn in reversed(turns) if spoken(turn)), "")
    closing = [
        one for one in sentences(last) if len(content(one.low)) >= 3 and _is_open(one)
    ]
    lessons = [finding.body for finding in taught if len(finding.body) <= 300][:2]
    said = [
        one.text for one in closing if not one.mark and one.text[-1] not in "?？:："
    ]
    said = said or [one.text for one in closing if one.mark == "-"]
    parts = [_plain(part) for part in [*said[:2], *lessons]]
    return " ".join(
        dict.fromkeys(p if p[-1] in ".!?。！？…" else f"{p}." for p in parts if p)
    )


def _is_open(one: SpokenSentence) -> bool:
    """Whether a sentence tells nothing that is private: what held a secret is left out
    whole."""
    return "[secret removed" not in one.text and not find_secrets(one.text)


def _plain(text: str) -> str:
    text = regex(r"\*\*|__").sub("", text)
    return text if len(text) <= 300 else text[:299].rsplit(" ", 1)[0] + "…"


def outcome(turns: Sequence[Turn]) -> str:
    """success, failure, partial or unknown: by the person's last word, tests,
    commits."""
    # A person's judgement counts when the agent did not go on working after it.
    heard = next((turn for turn in reversed(turns) if turn.human or turn.tool), None)
    low = fold(heard.text[:300]) if heard is not None and heard.human else ""
    bad = words.says("bad", low)
    good = words.says("good", low)
    if bad != good:
        return "success" if good else "failure"
    last = next(
        (turn.text.lower()[-3000:] for turn in reversed(turns) if spoken(turn)), ""
    )
    passed = regex(_PASSED).search(last)
    failed = regex(_FAILED).search(last)
    ran = [
        not error
        for call, _, error in results(turns, [])
        if regex(_TESTS).search(call.command)
    ]
    signs = [*ran[-1:], *([failed is None] if passed or failed else [])]
    if not signs:
        return "unknown"
    return "success" if all(signs) else "partial" if any(signs) else "failure"


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
    for turn in (session.turns[i] for i in segment.key_turns):
        spoken_here = filter(_is_open, sentences(turn.text, typed=turn.human)[:8])
        said = " ".join(one.text for one in spoken_here)
        if said and room > 20 and not (turn.human and of_manner(turn.text)):
            lines.append(f"{turn.role}: {said[:500]}"[:room])
            room -= len(lines[-1]) + 1
    return "\n".join(lines)

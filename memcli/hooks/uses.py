"""Which of the entries that a session was told it used: by its words, by its deeds."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.hooks.before_tool import runs
from memcli.index.view import Candidate
from memcli.memory.words import stems
from memcli.project.git import names_of
from memcli.project.globs import covers
from memcli.sessions.model import Turn
from memcli.sessions.tools import tool_call
from memcli.similarity.claims import claim
from memcli.similarity.differences import negated_terms
from memcli.storage.state import SessionLog
from memcli.text.matching import table
from memcli.text.sentences import sentences

LEAST = 3  # rare words of an entry that one turn must say
SHARE = 0.3  # of the weight of all its words by rarity
RARE = 0.15  # the share of entries, and of turns, up to which a word is rare
FEW = 4  # and so many of them in any case
SHORT = 4  # letters of the shortest word that counts
_TICK = timedelta(seconds=1)  # what is told is dated to the second


class Deed(NamedTuple):
    """A call of a tool: when, the files it changed (from the root), the commands."""

    at: datetime
    files: tuple[str, ...]
    commands: tuple[str, ...]


def note_uses(app: App, session: str, turns: Sequence[Turn]) -> None:
    """Note which of the entries that a session was told it used."""
    with app.state() as state:
        log = SessionLog(state)
        entries = _first_told(log, session)
        if not entries:
            return
        deeds = list(_deeds(turns, app.project.root or app.project.cwd))
        memory = [text_of(copy) for copy in app.index.entries.copies()]
        words = SessionWords(turns, memory)
        copies = app.index.entries.copies(entries)
        used = {
            copy.entry
            for copy in copies
            if _is_used(copy, entries[copy.entry], words, deeds)
        }
        with state.transaction():
            log.wait(session, used, app.project.now.isoformat())


def _first_told(log: SessionLog, session: str) -> dict[str, datetime]:
    """When a session was first told each entry."""
    moments: dict[str, datetime] = {}
    for telling in log.told(session):
        moment = datetime.fromisoformat(telling.at).astimezone(UTC) + _TICK
        moments.setdefault(telling.entry, moment)
    return moments


def text_of(copy: Candidate) -> str:
    """All that an entry says."""
    return f"{copy.title}\n{copy.text}"


def _is_used(
    copy: Candidate, since: datetime, words: "SessionWords", deeds: Sequence[Deed]
) -> bool:
    """Whether the agent names an entry, takes up its words, or does what it says."""
    text = text_of(copy)
    if words.quotes(copy.entry[:8]) or words.take_up(text, since):
        return True
    later = [deed for deed in deeds if deed.at > since]
    return is_followed(text, copy.values, later)


class SessionWords:
    """What is said in a session, turn by turn, and how rare its words are there and in
    memory."""

    def __init__(self, turns: Sequence[Turn], memory: Iterable[str]) -> None:
        self.turns = turns
        self.said = [_words(_spoken(turn)) for turn in turns]
        entries = [_words(text) for text in memory]
        self.entries = len(entries)
        self.in_memory = Counter(word for words in entries for word in words)
        self.in_turns = Counter(word for words in self.said for word in words)

    def quotes(self, name: str) -> bool:
        """Whether the agent names an id."""
        return any(name in turn.text for turn in self.turns if turn.role == "assistant")

    def take_up(self, text: str, since: datetime) -> bool:
        """Whether one turn of the agent says what an entry claims, in rare words that
        neither stood in a prompt nor were said before the entry was told."""
        claimed = _words(text)
        whole = self._weight(claimed)
        rare = {word for word in claimed if self._is_rare(word)}
        heard: set[str] = set()
        for turn, words in zip(self.turns, self.said, strict=True):
            is_later = _when(turn, since) > since
            if turn.role == "assistant" and is_later:
                fresh = (words & rare) - heard
                is_much = self._weight(fresh) >= SHARE * whole
                if len(fresh) >= LEAST and is_much:
                    return True
            if turn.human or not is_later:
                heard |= words
        return False

    def _is_rare(self, word: str) -> bool:
        many = max(FEW, RARE * len(self.turns))
        much = max(FEW, RARE * self.entries)
        return self.in_turns[word] <= many and self.in_memory[word] <= much

    def _weight(self, words: Iterable[str]) -> float:
        total = self.entries + len(self.turns) + 1
        seen = (self.in_memory[word] + self.in_turns[word] for word in words)
        return sum(math.log(total / (times + 0.5)) for times in seen)


def _spoken(turn: Turn) -> str:
    return f"{turn.text} {' '.join(map(str, turn.input.values()))}"


def _words(text: str) -> set[str]:
    """The words of a text that may say something of their own."""
    rare = stems(text) - _common()
    return {word for word in rare if len(word) >= SHORT or not word.isascii()}


@cache
def _common() -> frozenset[str]:
    return frozenset(stems(table("recall/common_words.txt")))


def _when(turn: Turn, since: datetime) -> datetime:
    """The time of a turn; one without counts as after `since`."""
    return _moment(turn.time) if turn.time else since + _TICK


def is_followed(text: str, values: Mapping[str, Any], deeds: Sequence[Deed]) -> bool:
    """Whether what was done is what an entry is about: a file where it forbids nothing;
    a command also where it names it in a sentence without a negation, never where in
    one with one."""
    asking: list[str] = []
    refusing: list[str] = []
    for sentence in sentences(text, clauses=True):
        is_refusal = bool(negated_terms(claim(sentence)))
        (refusing if is_refusal else asking).append(sentence)

    def is_advised(deed: Deed) -> bool:
        if any(runs(deed.commands, (), sentence) for sentence in refusing):
            return False
        if any(runs(deed.commands, (), sentence) for sentence in asking):
            return True
        return not refusing and _is_about(values, deed)

    return any(map(is_advised, deeds))


def _is_about(values: Mapping[str, Any], deed: Deed) -> bool:
    """Whether a deed changed a file or ran a command that an entry's globs name."""
    paths = values.get("paths") or ()
    if any(covers(paths, name) for name in deed.files):
        return True
    return runs(deed.commands, values.get("commands") or (), "")


def _deeds(turns: Sequence[Turn], root: Path) -> Iterator[Deed]:
    names = cache(partial(names_of, root))
    for turn in turns:
        if turn.role != "assistant" or not turn.tool or not turn.time:
            continue
        call = tool_call(turn.input, turn.cwd or str(root), turn.tool)
        if not any(call):
            continue
        files = [name for path in call.files for name in names(path)]
        at = _moment(turn.time)
        yield Deed(at=at, files=tuple(files), commands=call.commands)


def _moment(text: str) -> datetime:
    """A time as a transcript has it, in UTC where it names no zone."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=moment.tzinfo or UTC)

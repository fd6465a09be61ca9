"""Which of the entries that a session was told it used: by its words, by its deeds."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.hooks.before_tool import runs
from memcli.memory.words import stems
from memcli.project.git import names_of
from memcli.project.globs import covers
from memcli.sessions.model import Turn
from memcli.sessions.tools import tool_call
from memcli.similarity.claims import claim
from memcli.similarity.differences import negated_terms
from memcli.storage.state import SessionLog
from memcli.text.matching import table

LEAST = 3  # rare words of an entry that one turn must say
SHARE = 0.3  # of the weight of all its words by rarity
RARE = 0.15  # the share of entries, and of turns, up to which a word is rare
FEW = 4  # and so many of them in any case
SHORT = 4  # letters of the shortest word that counts
_TICK = timedelta(seconds=1)  # what is told is dated to the second
_SENTENCES = re.compile(r"(?<=[.;!?])\s+|\n")


class Deed(NamedTuple):
    """A call of a tool: when, the files it changed (from the root), the commands."""

    at: datetime
    files: tuple[str, ...]
    commands: tuple[str, ...]


def note_uses(app: App, session: str, turns: Sequence[Turn]) -> None:
    """Note which of the entries that a session was told it used."""
    with app.state() as state:
        log = SessionLog(state)
        told = dict[str, datetime]()
        for each in log.told(session):
            at = datetime.fromisoformat(each.at).astimezone(UTC) + _TICK
            told.setdefault(each.entry, at)
        if not told:
            return
        deeds = list(_deeds(turns, app.project.root or app.project.cwd))
        memory = [f"{copy.title}\n{copy.text}" for copy in app.index.entries.copies()]
        session_words = SessionWords(turns, memory)
        used = set()
        for copy in app.index.entries.copies(told):
            text = f"{copy.title}\n{copy.text}"
            since = told[copy.entry]
            later = [deed for deed in deeds if deed.at > since]
            if (
                session_words.quotes(copy.entry[:8])
                or session_words.take_up(text, since)
                or is_followed(text, copy.values, later)
            ):
                used.add(copy.entry)
        with state.transaction():
            log.wait(session, used, app.project.now.isoformat())


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
        own = _words(text)
        whole = sum(map(self._weight, own))
        rare = {word for word in own if self._is_rare(word)}
        heard: set[str] = set()
        for turn, said in zip(self.turns, self.said, strict=True):
            agents = turn.role == "assistant"
            if agents and _when(turn, since) > since:
                fresh = (said & rare) - heard
                weight = sum(map(self._weight, fresh))
                if len(fresh) >= LEAST and weight >= SHARE * whole:
                    return True
            if turn.human or _when(turn, since) <= since:
                heard |= said
        return False

    def _is_rare(self, word: str) -> bool:
        many = max(FEW, RARE * len(self.turns))
        much = max(FEW, RARE * self.entries)
        return self.in_turns[word] <= many and self.in_memory[word] <= much

    def _weight(self, word: str) -> float:
        total = self.entries + len(self.turns)
        seen = self.in_memory[word] + self.in_turns[word]
        return math.log((total + 1) / (seen + 0.5))


def _spoken(turn: Turn) -> str:
    return f"{turn.text} {' '.join(map(str, turn.input.values()))}"


def _words(text: str) -> set[str]:
    """The words of a text that may say something of their own."""
    return {
        word
        for word in stems(text)
        if (len(word) >= SHORT or not word.isascii()) and word not in _common()
    }


@cache
def _common() -> frozenset[str]:
    return frozenset(stems(table("recall/common_words.txt")))


def _when(turn: Turn, since: datetime) -> datetime:
    """The time of a turn; one without counts as after `since`."""
    if not turn.time:
        return since + _TICK
    at = datetime.fromisoformat(turn.time)
    return at.replace(tzinfo=at.tzinfo or UTC)


def is_followed(text: str, values: Mapping[str, Any], deeds: Sequence[Deed]) -> bool:
    """Whether what was done is what an entry is about: a file where it forbids nothing;
    a command also where it names it in a sentence without a negation, never where in
    one with one."""
    kinds: tuple[list[str], list[str]] = [], []
    for sentence in _SENTENCES.split(text):
        kinds[bool(negated_terms(claim(sentence)))].append(sentence)
    (asking, refusing), globs = (
        kinds,
        [values.get(key) or () for key in ("paths", "commands")],
    )

    def is_advised(deed: Deed) -> bool:
        if any(runs(deed.commands, (), each) for each in refusing):
            return False
        if any(runs(deed.commands, (), each) for each in asking):
            return True
        about = any(covers(globs[0], name) for name in deed.files)
        return not refusing and (about or runs(deed.commands, globs[1], ""))

    return any(map(is_advised, deeds))


def _deeds(turns: Sequence[Turn], root: Path) -> Iterator[Deed]:
    names = cache(partial(names_of, root))
    for turn in turns:
        if turn.role == "assistant" and turn.tool and turn.time:
            call = tool_call(turn.input, turn.cwd or str(root))
            files = tuple(name for path in call.files for name in names(path))
            at = datetime.fromisoformat(turn.time)
            if any(call):
                yield Deed(
                    at=at.replace(tzinfo=at.tzinfo or UTC),
                    files=files,
                    commands=call.commands,
                )

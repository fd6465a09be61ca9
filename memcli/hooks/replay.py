"""Past sessions replayed: was what would have prevented a correction there, and was it
told."""

import datetime
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from memcli.app import App
from memcli.commands.history import Correction, ReplayReport, ToldPrompts
from memcli.errors import UsageError
from memcli.extraction.rules import corrections
from memcli.extraction.rules.words import content, fold, sentences
from memcli.history.record import opened
from memcli.hooks.before_tool import LINES, rules
from memcli.hooks.calls import HookApp, has_memory
from memcli.hooks.instructions import InstructionReader, Instructions
from memcli.hooks.prompts import Past, Telling, history_of
from memcli.hooks.standing import standing
from memcli.hooks.uses import SessionWords, text_of
from memcli.index import weights
from memcli.index.own import OwnMatching
from memcli.memory.docs import Doc
from memcli.memory.filters import Filters
from memcli.memory.words import stem
from memcli.project.record import record_of
from memcli.recall.answer import Layers
from memcli.recall.budget import POINTED, cost
from memcli.recall.hit import Hit
from memcli.sessions.model import Turn
from memcli.sessions.tools import shell_line, tool_call
from memcli.similarity.claims import Claim, claim
from memcli.similarity.differences import deny_each_other

ENOUGH = 20  # sessions below which a share says nothing
SECONDS = 60.0  # after so long it ends with what it has, the newest sessions
MOST = 3  # corrections of a session that are looked at
PROMPTS = 5  # prompts before a correction at which a hook could have told
# prompts of a session, from its first, at which what is told is counted
COUNTED = 3
EVER = datetime.datetime.fromtimestamp(0, datetime.UTC)
# entries, and tokens of history, that a recall would show
BEST = 5
ROOM = 600
FEWEST = (
    4  # words that say something: with fewer ("makes sense") two are alike by chance
)
UNITS = (
    "SELECT unit FROM docs WHERE source = 'session'"
    " GROUP BY unit ORDER BY min(date) DESC"
)
_TOOLS = (("paths", "Edit", "file_path"), ("commands", "Bash", "command"))
_ORIGINS = {"person": "user", "agent": "assistant", "error": "tool:Bash"}


def replay(app: App) -> ReplayReport:
    """Replay the sessions that are kept of this repository. Raises UsageError without
    any."""
    path = record_of(app.project)
    begun = time.monotonic()
    if path is None:
        raise UsageError("no past sessions are indexed here", "mem index --history")
    done = 0
    corrections = list[Correction]()
    tellings = list[tuple[int, bool]]()
    with (
        opened(path) as record,
        HookApp(app.options, app.project.environ, app.project.cwd) as hook,
    ):
        assert record is not None
        today = _Today(hook)
        units = [str(unit) for (unit,) in record.rows(UNITS)]
        for done, unit in enumerate(units, 1):
            app.count("sessions", done, len(units))
            docs = record.stretch(unit, 0, 1 << 40)
            past = _before(docs)
            corrections += _corrected(today, docs, past)
            tellings += _told_in(today, docs, past)
            if time.monotonic() - begun > SECONDS:
                break
    return ReplayReport(
        sessions=len(units),
        replayed=done,
        corrected=len({one.session for one in corrections}),
        enough=done >= ENOUGH,
        seconds=round(time.monotonic() - begun, 1),
        corrections=tuple(corrections),
        telling=ToldPrompts(
            prompts=len(tellings),
            answered=sum(tokens > 0 for tokens, _ in tellings),
            used=sum(used for _, used in tellings),
            tokens=sum(tokens for tokens, _ in tellings),
        ),
    )


class _Today:
    """Memory as it is now: what a start tells of it, and all of its texts."""

    def __init__(self, app: HookApp) -> None:
        if not has_memory(app):
            raise UsageError("there is no memory here yet", "mem extract --all")
        app.refresh()
        self.app = app
        self.cwd = str(app.project.cwd)
        reader = InstructionReader("", self.cwd, app.project.home, app.project.environ)
        self.start = standing(app, set(), set(), Instructions(reader)).items
        self.texts = list(map(text_of, app.index.entries.copies()))

    def rule(self, said: str) -> str:
        """The heading of an entry that says what a correction says; "" for none."""
        return _heading(self.app.guarded(partial(self._best, said)), said)

    def _best(self, text: str) -> list[Hit]:
        found = OwnMatching(
            self.app.kept, Filters(), lambda: self.app.providers.embedder
        )
        layers = Layers(found.look(text))
        hits = [hit.item.id for hit in layers.search.ranked(BEST)]
        return [item.made for item in layers.showing.each("ranked", hits)]

    def told(self, docs: Sequence[Doc], past: Past) -> Iterator[str]:
        """What hooks would tell of it before the last of these exchanges: at the start,
        with prompts, before tools."""
        yield from map(_shown, self.start)
        app = self.app
        for doc in docs[-PROMPTS - 1 : -1]:
            items = Telling(app, _prompt(doc), past=Past(only=past.only)).items()
            yield from (_shown(item) for item in items if not _is_passing(item))
            for facet, name, field in _TOOLS:
                for value in doc.about.get(facet, ()):
                    call = {field: value}
                    tool = tool_call(call, self.cwd, name)
                    found = app.guarded(partial(rules, app, tool, shell_line(call)))
                    yield from map(text_of, found[:LINES])


def _before(docs: Sequence[Doc]) -> Past:
    """What was there before a session began."""
    began = docs[0].date
    unit = docs[0].unit
    eve = datetime.date.fromisoformat(began[:10]) - datetime.timedelta(days=1)
    return Past(
        eve.isoformat(), lambda place: place.date < began and place.unit != unit
    )


def _corrected(today: _Today, docs: Sequence[Doc], past: Past) -> Iterator[Correction]:
    """The first corrections of a session that say something by themselves, none of its
    opening prompt."""
    turns = list(_turns(docs))
    found = corrections([turn for _, turn in turns])
    later = [
        (turns[at][0], words)
        for at, words in found
        if turns[at][0] and len(_words(words)) >= FEWEST
    ]
    for number, words in later[:MOST]:
        yield _looked_up(today, docs[: number + 1], words, past)


def _told_in(
    today: _Today, docs: Sequence[Doc], past: Past
) -> Iterator[tuple[int, bool]]:
    """Of the first prompts of a session the tokens that the hook would have told, and
    whether the agent says any of it later."""
    asked = [number for number, doc in enumerate(docs) if _prompt(doc)][:COUNTED]
    for number in asked:
        items = Telling(today.app, _prompt(docs[number]), past=past).items()
        is_used = bool(items) and _is_used(today, docs[number:], items)
        yield sum(map(cost, items)), is_used


def _is_used(today: _Today, docs: Sequence[Doc], items: Iterable[Hit]) -> bool:
    words = SessionWords([turn for _, turn in _turns(docs)], today.texts)
    return any(words.take_up(_shown(item), EVER) for item in items)


def _turns(docs: Sequence[Doc]) -> Iterator[tuple[int, Turn]]:
    """The turns of exchanges, each with the number of its exchange."""
    for number, doc in enumerate(docs):
        for speaker, text in doc.said:
            origin = _ORIGINS[speaker]
            role = origin.partition(":")[0]
            yield number, Turn(role=role, text=text, origin=origin, key=str(number))


def _prompt(doc: Doc) -> str:
    return "\n".join(text for speaker, text in doc.said if speaker == "person")


def _looked_up(
    today: _Today, docs: Sequence[Doc], correction: str, past: Past
) -> Correction:
    """What said the same as a correction before that session, which rule says it now,
    and whether the session would have been told that rule."""
    doc = docs[-1]
    layer = history_of(today.app, correction, past)
    rule = today.rule(correction)
    texts = today.told(docs, past) if rule else ()
    return Correction(
        date=doc.date[:10],
        session=doc.unit,
        said=correction,
        history=_heading(layer.items(ROOM), correction) if layer else "",
        rule=rule,
        told=any(says(text, correction) for text in texts),
    )


def _heading(items: Iterable[Hit], said: str) -> str:
    """The heading of the first item that says the same."""
    own = (item for item in items if not _is_passing(item))
    return next((item.head for item in own if says(_shown(item), said)), "")


def _is_passing(item: Hit) -> bool:
    """Whether an item is a line that points, or says what happened once."""
    return item.layer == POINTED or item.kind == "episode"


def _shown(item: Hit) -> str:
    return f"{item.head}\n{item.text}"


def says(text: str, correction: str) -> bool:
    """Whether one sentence of a text, or two that follow each other, says what a
    correction says: most of its words, and not the opposite.

    Words that are spread over a whole chat say nothing."""
    about = _words(correction)
    least = weights.SAID * len(about)
    single = [sentence.text for sentence in sentences(text)]
    for stated in [*single, *map("\n".join, pairwise(single))]:
        is_alike = len(about & _words(stated)) >= least
        if is_alike and not _are_opposed(correction, stated):
            return True
    return False


def _are_opposed(text: str, other: str) -> bool:
    """Whether one denies the other, or each has a number, file or name of its own."""
    ours = _values(claim(text))
    theirs = _values(claim(other))
    return bool(ours - theirs and theirs - ours) or deny_each_other(text, other)


def _values(said: Claim) -> frozenset[str]:
    return said.numbers | said.paths | said.flags | said.names


def _words(text: str) -> set[str]:
    return set(map(stem, content(fold(text))))

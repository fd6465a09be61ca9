"""Past sessions replayed: was what would have prevented a correction there, and was it
told."""

import datetime
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

from memcli.app import App
from memcli.commands.history import Correction, ReplayReport, ToldPrompts
from memcli.errors import UsageError
from memcli.extraction.rules import corrections
from memcli.extraction.rules.words import content, fold, sentences
from memcli.history.record import opened
from memcli.hooks.calls import HookApp, has_memory
from memcli.hooks.prompts import Past, Telling, history_of
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
from memcli.similarity.differences import deny_each_other

ENOUGH = 20  # sessions below which a share says nothing
SECONDS = 60.0  # after so long it ends with what it has, the newest sessions
MOST = 3  # corrections of a session that are looked at
PROMPTS = 5  # prompts before a correction at which a hook could have told
# prompts of a session, from its first, at which what is told is counted
COUNTED = 3
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
_ORIGINS = {"person": "user", "agent": "assistant", "error": "tool:Bash"}


def replay(app: App) -> ReplayReport:
    """Replay the sessions that are kept of this repository. Raises UsageError without
    any."""
    path = record_of(app.project)
    begun = time.monotonic()
    if path is None:
        raise UsageError("nothing of past sessions is kept here", "mem index --history")
    done = 0
    found = list[Correction]()
    telling = ToldPrompts()
    with (
        opened(path) as record,
        HookApp(app.options, app.project.environ, app.project.cwd) as hook,
    ):
        assert record is not None
        if has_memory(hook):
            hook.refresh()
        units = [str(unit) for (unit,) in record.rows(UNITS)]
        for done, unit in enumerate(units, 1):
            app.count("sessions", done, len(units))
            docs = record.stretch(unit, 0, 1 << 40)
            past = _before(docs)
            found += _corrected(hook, docs, past)
            telling = telling.and_also(_told_in(hook, docs, past))
            if time.monotonic() - begun > SECONDS:
                break
    corrected = len({one.session for one in found})
    took = round(time.monotonic() - begun, 1)
    return ReplayReport(
        sessions=len(units),
        replayed=done,
        corrected=corrected,
        enough=done >= ENOUGH,
        seconds=took,
        corrections=tuple(found),
        telling=telling,
    )


def _before(docs: Sequence[Doc]) -> Past:
    """What was there before a session began."""
    began = docs[0].date
    unit = docs[0].unit
    eve = datetime.date.fromisoformat(began[:10]) - datetime.timedelta(days=1)
    return Past(
        eve.isoformat(), lambda place: place.date < began and place.unit != unit
    )


def _corrected(app: HookApp, docs: Sequence[Doc], past: Past) -> Iterator[Correction]:
    """The first corrections of a session that say something by themselves, none of its
    opening prompt."""
    turns = []
    numbers = []
    for number, doc in enumerate(docs):
        for speaker, text in doc.said:
            origin = _ORIGINS[speaker]
            role = origin.partition(":")[0]
            turns.append(Turn(role=role, text=text, origin=origin, key=str(number)))
            numbers.append(number)
    found = [(numbers[turn], words) for turn, words in corrections(turns)]
    later = [
        (number, words)
        for number, words in found
        if number and len(_words(words)) >= FEWEST
    ]
    for number, words in later[:MOST]:
        yield _looked_up(app, docs[: number + 1], words, past)


def _told_in(app: HookApp, docs: Sequence[Doc], past: Past) -> ToldPrompts:
    """What the prompt hook would have told at the first prompts of a session."""
    telling = ToldPrompts()
    for prompt in list(filter(None, map(_prompt, docs)))[:COUNTED]:
        items = Telling(app, prompt, past=past).items() if has_memory(app) else []
        spent = sum(map(cost, items))
        one = ToldPrompts(prompts=1, answered=int(bool(items)), tokens=spent)
        telling = telling.and_also(one)
    return telling


def _prompt(doc: Doc) -> str:
    return "\n".join(text for speaker, text in doc.said if speaker == "person")


def _looked_up(app: HookApp, docs: Sequence[Doc], said: str, past: Past) -> Correction:
    """What says the same as a correction, and whether prompts before it would have
    brought it."""
    doc = docs[-1]
    known = _known(app, said, past)
    prompts = [_prompt(earlier) for earlier in docs[-PROMPTS - 1 : -1]]
    told = _told_with(app, prompts, past) if known else set()
    return Correction(
        date=doc.date[:10],
        session=doc.unit,
        said=said,
        memory=_first_head(known, history=False),
        history=_first_head(known, history=True),
        told=not told.isdisjoint(map(_source, known)),
    )


def _known(app: HookApp, said: str, past: Past) -> list[Hit]:
    """What of memory and history says the same as a correction."""
    found = app.guarded(lambda: _remembered(app, said, past)) if has_memory(app) else []
    layer = history_of(app, said, past)
    found += layer.items(ROOM) if layer else []
    return [item for item in found if says(f"{item.head}\n{item.text}", said)]


def _told_with(app: HookApp, prompts: Sequence[str], past: Past) -> set[str]:
    """The sources of what prompts would have been told."""
    if not has_memory(app):
        return set()
    tellings = [Telling(app, text, past=past) for text in prompts]
    shown = [item for telling in tellings for item in telling.items()]
    return {_source(item) for item in shown if item.layer != POINTED}


def _first_head(items: Sequence[Hit], *, history: bool) -> str:
    heads = (item.head for item in items if (item.layer == "history") is history)
    return next(heads, "")


def says(text: str, correction: str) -> bool:
    """Whether one sentence of a text, or two that follow each other, says what a
    correction says: most of its words, and not the opposite.

    Words that are spread over a whole chat say nothing."""
    about = _words(correction)
    least = weights.SAID * len(about)
    single = [sentence.text for sentence in sentences(text)]
    for stated in [*single, *map("\n".join, pairwise(single))]:
        if len(about & _words(stated)) < least:
            continue
        if not deny_each_other(correction, stated):
            return True
    return False


def _remembered(app: HookApp, text: str, past: Past) -> list[Hit]:
    filters = Filters(until=past.until)
    found = OwnMatching(app.kept, filters, lambda: app.providers.embedder)
    layers = Layers(found.look(text))
    hits = layers.search.ranked(BEST)
    return [
        item.made
        for item in layers.showing.each("ranked", [hit.item.id for hit in hits])
    ]


def _words(text: str) -> set[str]:
    return set(map(stem, content(fold(text))))


def _source(item: Hit) -> str:
    """An entry, a commit, or the session of an exchange."""
    return item.key.partition(".")[0] if item.layer == "history" else item.key

"""Past sessions replayed: was what would have prevented a correction there, and was it
told."""

import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from memcli.app import App
from memcli.commands.history import Correction, ReplayReport
from memcli.errors import UsageError
from memcli.extraction.rules import corrections
from memcli.extraction.rules.words import content, fold
from memcli.history import record_of
from memcli.history.docs import Doc
from memcli.history.record import HistoryRecord, opened
from memcli.hooks.calls import HookApp, has_memory
from memcli.hooks.events import Past, chosen, history_of
from memcli.index.view import Filters
from memcli.memory.words import stem
from memcli.recall.answer import Layers, Own, RecallRequest
from memcli.recall.budget import POINTED, Shown
from memcli.sessions.model import Turn

ENOUGH: Final = 20  # sessions below which a share says nothing
SECONDS: Final = 60.0  # after so long it ends with what it has, the newest sessions
MOST: Final = 3  # corrections of a session that are looked at
PROMPTS: Final = 5  # prompts before a correction at which a hook could have told
# entries, and tokens of history, that a recall would show
BEST = 5
ROOM = 600
SAYS: Final = 0.6  # share of a correction's words from which on something says the same
_ORIGINS: Final = {"person": "user", "agent": "assistant", "error": "tool:Bash"}


def replay(app: App, progress: Callable[[int, int], None]) -> ReplayReport:
    """Replay the sessions that are kept of this repository. Raises UsageError without
    any."""
    path = record_of(app.project)
    begun = time.monotonic()
    if path is None:
        raise UsageError("nothing of past sessions is kept here", "mem index --history")
    done = 0
    found = list[Correction]()
    query = "SELECT unit FROM docs WHERE source = 'session' GROUP BY unit ORDER BY min(date) DESC"
    with (
        opened(path) as record,
        HookApp(app.options, app.project.environ, app.project.cwd) as hook,
    ):
        assert record is not None
        if has_memory(hook):
            hook.refresh()
        units = [str(unit) for (unit,) in record.rows(query)]
        for done, unit in enumerate(units, 1):
            progress(done, len(units))
            found += _of_session(hook, record, unit)
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
    )


def _of_session(app: HookApp, record: HistoryRecord, unit: str) -> Iterator[Correction]:
    docs = record.stretch(unit, 0, 1 << 40)
    said = [
        (at, _ORIGINS[who], text)
        for at, doc in enumerate(docs)
        for who, text in doc.said
    ]
    turns = [
        Turn(role=by.partition(":")[0], text=text, origin=by, key=str(at))
        for at, by, text in said
    ]
    began = docs[0].date
    eve = datetime.date.fromisoformat(began[:10]) - datetime.timedelta(days=1)
    past = Past(
        eve.isoformat(), lambda place: place.date < began and place.unit != unit
    )
    found = [(said[turn][0], words) for turn, words in corrections(turns)]
    for at, words in [each for each in found if each[0]][:MOST]:
        yield _looked_up(app, docs[: at + 1], words, past)


def _looked_up(app: HookApp, docs: Sequence[Doc], said: str, past: Past) -> Correction:
    """What says the same as a correction, and whether prompts before it would have
    brought it."""
    doc = docs[-1]
    told = set[str]()
    about = _words(said)
    found = app.guarded(lambda: _remembered(app, said, past)) if has_memory(app) else []
    layer = history_of(app, said, past)
    found += layer.items(ROOM) if layer else []
    texts = [(item, _words(f"{item.head}\n{item.text}")) for item in found]
    known = [
        item for item, words in texts if len(about & words) >= max(2, SAYS * len(about))
    ]
    for earlier in docs[-PROMPTS - 1 : -1] if known and has_memory(app) else ():
        prompt = "\n".join(
            text for speaker, text in earlier.said if speaker == "person"
        )
        shown = chosen(app, prompt, set(), past)
        told |= {_source(item) for item in shown if item.layer != POINTED}
    heads = {item.layer == "history": item.head for item in reversed(known)}
    memory = heads.get(False, "")
    history = heads.get(True, "")
    is_told = not told.isdisjoint(map(_source, known))
    return Correction(
        date=doc.date[:10],
        session=doc.unit,
        said=said,
        memory=memory,
        history=history,
        told=is_told,
    )


def _remembered(app: HookApp, text: str, past: Past) -> list[Shown]:
    own = Own(
        project=app.project,
        memory=app.index,
        embedder=lambda: app.providers.embedder,
        notes=app.notes,
    )
    layers = Layers(own, RecallRequest(text, Filters(until=past.until)))
    hits = layers.search.ranked(text, BEST)
    return [
        item.made
        for item in layers.showing.each("ranked", [hit.item.id for hit in hits])
    ]


def _words(text: str) -> set[str]:
    return set(map(stem, content(fold(text))))


def _source(item: Shown) -> str:
    """An entry, a commit, or the session of an exchange."""
    return item.key.partition(".")[0] if item.layer == "history" else item.key

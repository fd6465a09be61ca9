"""What is told when a session or a sub-agent starts, and when a session goes on."""

import datetime
import json
from collections.abc import Callable, Iterator

from memcli.hooks import told
from memcli.hooks.calls import HookApp, HookCall, Told
from memcli.hooks.standing import (
    AGENT_TOKENS,
    LESSONS,
    MOST_RECENT,
    by_standing,
    here_of,
    layers_of,
    outdated,
    standing,
)
from memcli.index import view
from memcli.index.occasions import has_guards
from memcli.memory.filters import Filters
from memcli.recall import budget
from memcli.recall.budget import Pools
from memcli.storage.inbox import DAYS, Inbox, likeliest
from memcli.storage.state import SessionLog, State
from memcli.text.controls import for_prompt

Start = Callable[[State], Told]
"""What a start tells, decided while no other process decides."""
KEPT_DAYS = 60  # days for which it is remembered what a session was told
EMPTIED = ("compact", "clear")  # after these the agent has lost all that it was told
KEPT = ("resume", "fork")  # after these it still has it
MARK = "<recalled-memory>"
PROPOSAL_LINES = 2
PROPOSED = (
    '(mem: proposed last time, not kept: "{title}". Ask the person; if yes:'
    " mem keep {id}, if no: mem drop {id})"
)


def session_start(app: HookApp, state: State, call: HookCall) -> Told:
    """Norms, policies, recent corrections, the person's manner, episodes: once in a
    session; after a compaction again, with the strongest of what was told since."""
    log = SessionLog(state)
    if call.agent or not app.is_ready():
        return Told()
    told.take_over(state, call)
    if _is_told(log, call):
        return _since(app, state, call) if call.source in KEPT else Told()
    return app.settled(state, _start(app, log, call))


def given_up(app: HookApp, state: State, call: HookCall, source: str) -> Start:
    """What a prompt tells first: the start of its session, whose hook gave up."""
    log = SessionLog(state)
    start = call._replace(source=source, transcript="", size=0)
    return _start(app, log, start) if not _is_told(log, start) else lambda state: Told()


def _start(app: HookApp, log: SessionLog, call: HookCall) -> Start:
    emptied = call.source in EMPTIED
    before = log.shown(call.session) if emptied else set()
    made = standing(app, before, app.loaded(call), app.instructions(log, call))

    def decided(state: State) -> Told:
        log = SessionLog(state)
        if _is_told(log, call):  # by another process meanwhile
            return Told()
        if emptied:
            log.forget_context(call.session)
        started = _started(app, log, call, made)
        first = app.project.now - datetime.timedelta(days=KEPT_DAYS)
        log.forget_sessions(first.isoformat())
        _note_first_guard(app, state)
        proposed = "\n".join(_proposed(app, state, call))
        occasion = told.Occasion(call.context, "session-start", "proposed")
        told.note_spent(app, log, occasion, proposed)
        text = "\n".join(filter(None, [started.text, proposed]))
        return started._replace(text=text, news=tuple(log.take_news()))

    return decided


def subagent_start(app: HookApp, state: State, call: HookCall) -> Told:
    """The standing rules and lessons, once for each sub-agent; the context is its own,
    also where the client does not name it."""
    call = call._replace(agent=call.agent or "subagent")
    log = SessionLog(state)
    if log.started(call.context) is not None or not app.is_ready():
        return Told()
    made = standing(app, None, set(), app.instructions(log, call))
    return app.settled(
        state, lambda state: _started(app, SessionLog(state), call, made)
    )


def _started(app: HookApp, log: SessionLog, call: HookCall, made: budget.Block) -> Told:
    """The block of a start, remembered."""
    day = app.project.now.isoformat()
    log.note("starts", [(call.context, call.source, call.size, day)], "OR REPLACE")
    kind = "subagent" if call.agent else call.source or "start"
    event = "subagent-start" if call.agent else "session-start"
    occasion = told.Occasion(call.context, event, f"session {kind}")
    more = 0 if call.agent else made.budget.more
    text = budget.write(made.items, more)
    told.note_spent(app, log, occasion, text)
    return Told(
        text=text,
        titles=told.remember(app, log, occasion, made.items),
    )


def _note_first_guard(app: HookApp, state: State) -> None:
    """Have the person told, once, that guards are in force here."""
    if not app.guarded(lambda: has_guards(app.index.db)):
        return
    from memcli.guard.stops import first_guard  # few memories have one

    line = first_guard(app, state)
    SessionLog(state).note("news", [(line,)] if line else [])


def _since(app: HookApp, state: State, call: HookCall) -> Told:
    """What is new, or has other words, since a session that goes on was told."""
    log = SessionLog(state)
    day = log.started_on(call.session)
    if not day:
        return Told()
    known = told.in_context(app, log, call.session)
    made = app.guarded(lambda: _news(app, day, known, app.loaded(call)))
    if not made.items:
        return Told()
    occasion = told.Occasion(
        call.context, "session-start", f"new since, session {call.source}"
    )
    return told.tell(
        app, state, occasion, made.items, lambda log, items: budget.write(items, 0)
    )


def _news(
    app: HookApp, day: str, known: told.InContext, loaded: set[str]
) -> budget.Block:
    """The lessons that are new since a day, and those that have changed."""
    layers = layers_of(app)
    lessons = view.select(
        layers.found.in_view, Filters(type=("corrective", "directive"))
    )
    here = here_of(app)
    newest = app.index.entries.foremost(lessons, MOST_RECENT, day, here=here)
    recent = by_standing(layers, newest)
    chosen = dict.fromkeys([*outdated(app, layers, known), *recent])
    seen = known.told | loaded
    fresh = (entry for entry in chosen if entry not in seen)
    first = budget.in_turns(fresh, layers.own())[:LESSONS]
    items = told.marked(layers.showing.each("lessons", first), known.changed)
    return budget.compose(Pools(ranked=items), limit=app.room(AGENT_TOKENS))


def _proposed(app: HookApp, state: State, call: HookCall) -> Iterator[str]:
    """A line for each of the likeliest proposals that no other session was told of."""
    first = app.project.now - datetime.timedelta(days=DAYS)
    inbox = Inbox(state)
    untold = inbox.untold(call.session, first.isoformat())
    proposals = {row.id: json.loads(row.text) for row in untold}
    by_signs = sorted(
        proposals, key=lambda name: likeliest(proposals[name].get("points", 1))
    )
    named = by_signs[:PROPOSAL_LINES]
    inbox.name(named, call.session)
    for name in named:
        title = for_prompt(str(proposals[name]["title"]))
        yield PROPOSED.format(title=title, id=name[:8])


def _is_told(log: SessionLog, call: HookCall) -> bool:
    """Whether the agent still has what a start tells: this is a repetition, or it was
    resumed."""
    if call.source == "fork" and not call.size:  # its transcript is not written yet
        return True
    if call.source in KEPT:
        is_known = log.started(call.session) is not None
        return is_known or MARK in told.beginning(call.transcript)
    size = log.started(call.session, call.source)
    if size is None:
        return False
    # Without a transcript a second compaction looks like the first told twice: it is
    # told again.
    is_unknown = call.source in EMPTIED and call.size == 0
    return call.size <= size and not is_unknown

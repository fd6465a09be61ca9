"""What guards have stopped so far, as the hooks noted it, and whether they still bind."""

import time

from memcli.app import App
from memcli.guard.guards import find_guards
from memcli.index.occasions import has_guards
from memcli.memory.words import count
from memcli.named import NamedTuple
from memcli.storage.state import HookTelling, SessionLog, Spool, State

EVENT = "guard"
"""What a stop is called among the things that a session was told."""


class Stop(NamedTuple):
    """A call that was refused or asked about. `lifted`: the guard binds no more."""

    at: str
    session: str
    entry: str
    title: str
    decision: str
    call: str
    lifted: bool


def stops(app: App, session: str = "") -> list[Stop]:
    """Every stop that is noted, of one session or of all, the oldest first."""
    nothing: list[HookTelling] = []
    told = app.from_state(
        lambda state: SessionLog(state).told(session), nothing, make=False
    )
    own = [each for each in told if each.event == EVENT]
    binding = binding_ids(app) if own else set()
    return [_stop(each, binding) for each in own]


def _stop(telling: HookTelling, binding: set[str]) -> Stop:
    decision, _, call = telling.why.partition(": ")
    return Stop(
        at=telling.at,
        session=telling.session,
        entry=telling.entry,
        title=telling.title,
        decision=decision,
        call=call,
        lifted=telling.entry not in binding,
    )


FIRST = "first-guard"
"""The note that a person was told that guards are in force here."""


def first_guard(app: App, state: State) -> str:
    """A line about the guards in force, "" where there are none or it was said here."""
    spool = Spool(state)
    if FIRST in spool.beats():
        return ""
    number = len(binding_ids(app))
    if not number:
        return ""
    spool.beat(FIRST, int(time.time()))
    verb = "binds" if number == 1 else "bind"
    return (
        f"{count(number, 'rule')} {verb} agents here: mem guard lists what is stopped"
    )


def binding_ids(app: App) -> set[str]:
    """The ids of the entries that bind now."""

    def found() -> set[str]:
        if not has_guards(app.index.db):
            return set()
        return {guard.entry for guard in find_guards(app) if guard.binds}

    return app.guarded(found) if app.project.listing.files else set()

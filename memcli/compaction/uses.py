"""What agents used: it waits in the state file until the file of the entry is written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from memcli.compaction.plan import CompactOutcome, MemoryInput
from memcli.memory.changes import ChangeSet, Spot
from memcli.storage.session_log import SessionLog

if TYPE_CHECKING:
    from memcli.app import App
    from memcli.storage.state import State
    from memcli.storage.workspace import Workspace

Use = tuple[str, str]
"""A session, and the id of an entry that it used."""


def noted_uses(workspace: Workspace) -> set[Use]:
    """The uses that compaction has counted, also of a run that was killed before it said so."""
    return {use for note in workspace.notes("compact") for use in _pairs(note)}


def _pairs(note: Sequence[str]) -> list[Use]:
    return list(zip(note[::2], note[1::2], strict=False))


class WaitingUses:
    """The uses that no memory file counts yet; none before they are read.

    The journal of the write names what it counts, and the state file forgets it afterwards: whoever
    is stopped in between counts nothing twice.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self.waiting: list[Use] = []
        self.known: set[Use] = set()
        self.settled: list[Use] = []

    def read(self) -> None:
        """Look up what waits, and what these sessions have reinforced already."""

        def look(state: State) -> tuple[list[Use], set[Use]]:
            uses = SessionLog(state).uses()
            known = {(own, entry) for own in uses for entry in state.reinforced(own)}
            return [(own, entry) for own, entries in uses.items() for entry in entries], known

        why, nothing = "uses that wait are not counted", (self.waiting, self.known)
        self.waiting, self.known = self.app.from_state(look, nothing, why, make=False)
        if self.waiting:
            self.known |= noted_uses(self.app.workspace)

    def count(self, sources: Sequence[MemoryInput]) -> CompactOutcome:
        """Count them in these files: once for a session and entry, none of what is retired."""
        self.settled = []
        changes = ChangeSet((each.memory for each in sources), self.app.project.now.isoformat())
        spots = _spots(sources) if self.waiting else {}
        counts: dict[Spot, int] = {}
        for use in self.waiting:
            spot = spots.get(use[1])
            if spot is None:
                continue
            self.settled.append(use)
            if use not in self.known and changes.entry(spot).status != "retired":
                changes.strengthen(spot, changes.today)
                counts[spot] = counts.get(spot, 0) + 1
        for spot, number in counts.items():
            what = f"{number} use{'s' * (number != 1)}"
            changes.note("used", spot[0], (changes.entry(spot).id,), what)
        return CompactOutcome(changes.texts() if counts else {}, tuple(changes.done), (), ())

    @property
    def note(self) -> tuple[str, ...]:
        """What the journal is to say of the write."""
        return tuple(chain.from_iterable(self.settled))

    def forget_counted(self) -> None:
        """They wait no longer."""
        if not self.settled:
            return
        with (
            self.app.state(best_effort="uses that were counted still wait") as state,
            state.transaction(),
        ):
            for own, entry in self.settled:
                state.remember_reinforced(own, [entry])
                SessionLog(state).counted(own, [entry])


def _spots(sources: Sequence[MemoryInput]) -> dict[str, Spot]:
    """Where the entries that may be written stand, by their ids and those merged into them."""
    spots: dict[str, Spot] = {}
    merged: dict[str, Spot] = {}
    for each in sources:
        for at, entry in enumerate(each.memory.entries if each.writable else ()):
            if entry.identified:
                spots.setdefault(entry.id, (each.path, at))
                former = entry.extra.get("merged_from")
                names = former if isinstance(former, list) else []
                merged |= {str(name): (each.path, at) for name in names}
    return merged | spots

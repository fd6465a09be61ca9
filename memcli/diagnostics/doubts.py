"""Which entries of a memory may be untrue. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from memcli.index.view import Candidate
from memcli.memory.values import plain_id
from memcli.memory.words import count
from memcli.similarity.opposites import Opposite

UNCONFIRMED_DAYS = 90  # days after which an entry from one session needs confirmation


class Doubts(NamedTuple):
    """The ids of live entries in doubt, of `live` in all. `unconfirmed`: it comes from
    one session, and nobody used or repeated it in 90 days; `contradictions`: pairs that
    contradict each other; `gone`: it names code that is gone. `proposals` wait for a
    yes; they are in no answer and cast no doubt."""

    live: int = 0
    unconfirmed: tuple[str, ...] = ()
    contradictions: tuple[tuple[str, str], ...] = ()
    gone: tuple[str, ...] = ()
    proposals: int = 0

    @property
    def share(self) -> float:
        """The share of live entries in doubt; a pair counts as one."""
        doubted = set(map(plain_id, (*self.unconfirmed, *self.gone)))
        for pair in self.contradictions:
            if doubted.isdisjoint(pair):
                doubted.add(pair[0])
        return round(len(doubted) / self.live, 4) if self.live else 0.0

    @property
    def most(self) -> float:
        """The highest score that a memory with these doubts can get."""
        return round(100 * (1 - self.share), 1)

    def lines(self) -> list[str]:
        """A line for each doubt, with the command that resolves it."""
        unconfirmed = len(self.unconfirmed)
        opposite = len(self.contradictions)
        gone_count = len(self.gone)
        lines = []
        if unconfirmed:
            was = count(unconfirmed, "entry was", "entries were")
            how = "mem edit ID --confirm, or mem retire ID"
            lines.append(f"{was} never confirmed in 90 days: {how}")
        if opposite:
            say = count(
                opposite, "pair of entries contradicts", "pairs of entries contradict"
            )
            lines.append(f"{say} each other: mem compact --check lists them")
        if gone_count:
            name = count(
                gone_count, "entry names or rests on", "entries name or rest on"
            )
            lines.append(f"{name} code that is gone: mem doctor --stale")
        if lines:
            head = f"in doubt: {self.share:.0%} of {self.live} live entries"
            lines.insert(0, f"{head}, so the score is at most {self.most:g}")
        if self.proposals:
            waiting = count(self.proposals, "proposal waits", "proposals wait")
            lines.append(f"{waiting} for your yes: mem inbox")
        return lines


def doubts_of(
    live: Sequence[Candidate],
    opposites: Sequence[Opposite],
    ages: Mapping[str, int],
    gone: Collection[str],
    proposals: int,
) -> Doubts:
    """The doubts about live entries; `ages` in days and `gone` are by id."""
    unconfirmed = (
        entry.entry
        for entry in live
        if ages[entry.entry] >= UNCONFIRMED_DAYS and _stands_alone(entry)
    )
    return Doubts(
        live=len(live),
        unconfirmed=tuple(sorted(unconfirmed)),
        contradictions=tuple(pair.ids for pair in opposites),
        gone=tuple(sorted(gone)),
        proposals=proposals,
    )


def _stands_alone(entry: Candidate) -> bool:
    """Whether an entry rests only on the session that it comes from."""
    learned = bool(entry.values["written"] and entry.values.get("session_id"))
    return learned and entry.kind != "episode" and not entry.values["count"]

"""Entries that say the opposite: they are named, lose weight, or one supersedes the
other, as a model or a person has decided."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from memcli.compaction.plan import Compaction, Member
from memcli.memory.values import Entry
from memcli.similarity.differences import guard
from memcli.similarity.duplicates import contradictions

DECAY = 0.7  # what an entry's importance is multiplied with when another contradicts it


class Pair(NamedTuple):
    """Two live entries that say the opposite, as earlier steps left them, and a file.

    With a verdict, `what` is new, reinforce, update, invalidate or unsure; `keep` is
    the id that stays, and `body` what it says now, if it is to change."""

    path: str
    first: Entry
    second: Entry
    what: str = ""
    keep: str = ""
    body: str = ""

    @property
    def key(self) -> frozenset[str]:
        """The two ids."""
        return frozenset((self.first.id, self.second.id))


def settle(
    work: Compaction, mode: str, verdicts: Mapping[frozenset[str], Pair]
) -> None:
    """Name opposite claims; `decay`: both lose weight, once; `resolve`: carry verdicts
    out."""
    for first, second, detail in list(opposites(work)):
        if not (first.live and second.live):
            continue
        pair = [first, second]
        what = "contradiction"
        verdict = verdicts.get(_ids_of(first, second))
        if mode == "resolve" and verdict is not None:
            if _resolve(work, pair, verdict):
                continue
            if verdict.what == "unsure":
                what = "unsure"
        work.tell(what, pair, detail)
        if mode == "decay":
            _decay(work, pair)


def _ids_of(first: Member, second: Member) -> frozenset[str]:
    return frozenset((first.entry.id, second.entry.id))


def _decay(work: Compaction, pair: list[Member]) -> None:
    """Lower the importance of two entries that say the opposite, unless they are marked
    so already."""
    first, second = pair
    named = {*first.names("contradicts"), *second.names("contradicts")}
    if named & {first.entry.id, second.entry.id}:
        return
    for member, other in ((first, second), (second, first)):
        lowered = round(member.original.importance * DECAY, 4)
        opposite = [*member.names("contradicts"), other.entry.id]
        member.set(importance=lowered, contradicts=opposite)
    work.note("decayed", pair)


def opposites(work: Compaction) -> Iterator[tuple[Member, Member, str]]:
    """The live pairs that say the opposite, and how it is known; none twice."""
    known_pairs = set()
    for group in work.groups(lambda member: member.entry.type):
        unique = by_place(group)
        claims = [work.claim_of(member) for member in unique]
        for place, other_place in contradictions(claims):
            first = unique[place]
            second = unique[other_place]
            known_pairs.add(_ids_of(first, second))
            reason = guard(claims[place], claims[other_place])
            yield first, second, reason or "opposite"
    # Pairs that say it of themselves: a merge leaves them, too.
    live = {member.entry.id: member for member in work.members if member.live}
    for member in live.values():
        for name in member.names("contradicts"):
            other = live.get(name)
            if other is not None and _ids_of(member, other) not in known_pairs:
                known_pairs.add(_ids_of(member, other))
                yield member, other, "marked"


def by_place(members: Iterable[Member]) -> list[Member]:
    """The members of distinct ids, the first of each, in the order of their places."""
    first = {member.entry.id: member for member in reversed(list(members))}
    return sorted(first.values(), key=lambda member: member.spot)


def _resolve(work: Compaction, pair: list[Member], verdict: Pair) -> bool:
    """Carry a verdict out; False when it is unsure, or no longer about these two."""
    shown = {entry.id: entry.body for entry in (verdict.first, verdict.second)}
    for member in pair:
        if member.entry.body != shown[member.entry.id] or not member.writable:
            return False
    if verdict.what == "new":
        work.tell("both hold", pair)
        return True
    if verdict.keep not in shown:  # as of one that is unsure
        return False
    first, second = pair
    is_first = first.entry.id == verdict.keep
    winner, loser = (first, second) if is_first else (second, first)
    changed = [loser] if verdict.what == "reinforce" else pair
    if not work.edited(changed):
        _supersede(work, winner, loser, verdict)
    return True


def _supersede(work: Compaction, winner: Member, loser: Member, verdict: Pair) -> None:
    if verdict.what == "reinforce":
        work.changes.strengthen(winner.spot, work.now.isoformat())
    elif verdict.what == "update":
        work.changes.supersede(winner.spot, verdict.body)
    work.leave(
        [loser],
        "superseded",
        status="retired",
        superseded_by=winner.entry.id,
        retired_because="superseded",
    )
    work.note("superseded", [winner, loser], verdict.what)

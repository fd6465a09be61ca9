"""Entries that contradict each other: report them, lower their weight, or let one
supersede the other, as a model or person decided."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memcli.compaction.plan import Compaction, Member
from memcli.similarity.opposites import Opposite, PlacedEntry, opposites

DECAY = 0.7  # factor for the importance of an entry that another contradicts


class PairVerdict(NamedTuple):
    """A model's verdict on a pair, as earlier steps left it: `what` is new, reinforce,
    update, invalidate or unsure; `keep` is the id that stays, `body` its new text if it
    changes."""

    pair: Opposite
    what: str = "unsure"
    keep: str = ""
    body: str = ""


def settle(
    work: Compaction,
    pairs: Sequence[Opposite],
    mode: str,
    verdicts: Mapping[tuple[str, str], PairVerdict],
) -> None:
    """Report opposite claims; `decay` also lowers both weights, once; `resolve` carries
    out verdicts."""
    opposed = {frozenset(pair.ids) for pair in pairs}
    work.changes.found[:] = [
        event
        for event in work.changes.found
        if event.what != "alike but different" or frozenset(event.ids) not in opposed
    ]
    members = changeable(work)
    for pair in pairs:
        members_of_pair = [
            members[side.spot] for side in pair[:2] if side.spot in members
        ]
        if what := _settled(work, members_of_pair, verdicts.get(pair.ids)):
            work.changes.tell(what, pair.first.path, pair.ids, pair.differs)
        if mode == "decay" and len(members_of_pair) == 2:
            _decay(work, members_of_pair)


def _settled(
    work: Compaction, members_of_pair: list[Member], verdict: PairVerdict | None
) -> str:
    """How to report a pair after a verdict; "" if the verdict settled it."""
    if not all(side.live for side in members_of_pair):
        return ""
    if verdict is None or len(members_of_pair) < 2:
        return "contradiction"
    if _resolve(work, members_of_pair, verdict):
        return ""
    return "unsure" if verdict.what == "unsure" else "contradiction"


def changeable(work: Compaction) -> dict[tuple[str, str], Member]:
    """The live members that may be changed, by file and id."""
    return {
        (member.source.path, member.entry.id): member
        for member in reversed(work.members)
        if member.live and member.writable
    }


def opposites_of(work: Compaction) -> list[Opposite]:
    """The opposites among the entries as the steps so far left them."""
    return opposites(
        PlacedEntry(member.source.path, member.entry)
        for member in work.members
        if member.live and member.place.store == "memory"
    )


def _decay(work: Compaction, pair: list[Member]) -> None:
    """Lower the importance of two contradicting entries, unless they are already
    marked."""
    first, second = pair
    named = {*first.names("contradicts"), *second.names("contradicts")}
    if named & {first.entry.id, second.entry.id}:
        return
    for member, other in ((first, second), (second, first)):
        lowered = round(member.original.importance * DECAY, 4)
        opposite = [*member.names("contradicts"), other.entry.id]
        member.set(importance=lowered, contradicts=opposite)
    work.note("decayed", pair)


def _resolve(work: Compaction, pair: list[Member], verdict: PairVerdict) -> bool:
    """Carry out a verdict; False if it is unsure or no longer applies to these two."""
    shown = {one.entry.id: one.entry.body for one in verdict.pair[:2]}
    for member in pair:
        if member.entry.body != shown[member.entry.id]:
            return False
    if verdict.what == "new":
        work.tell("both hold", pair)
        return True
    if verdict.keep not in shown:  # as for an unsure one
        return False
    first, second = pair
    is_first = first.entry.id == verdict.keep
    winner, loser = (first, second) if is_first else (second, first)
    changed = [loser] if verdict.what == "reinforce" else pair
    if not work.edited(changed):
        _supersede(work, winner, loser, verdict)
    return True


def _supersede(
    work: Compaction, winner: Member, loser: Member, verdict: PairVerdict
) -> None:
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

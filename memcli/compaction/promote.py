"""What recurs in several jobs or sessions is copied up to the project. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memcli.compaction.plan import (
    Compaction,
    Held,
    body_order,
    by_place,
    importance_order,
)
from memcli.memory.grammar import derived_id
from memcli.memory.provenance import sessions_of
from memcli.similarity.duplicates import clusters, near_duplicate

RECURS = 3
"""In so many distinct jobs or sessions an entry must recur to be promoted."""
TARGET = "MEMORY.md"


def promote_recurring(work: Compaction) -> None:
    """Copy up each family of like entries that recurs, or reinforce what says the same already."""
    by_type: dict[str, list[Held]] = {}
    project = {held.entry.id for held in work.held if held.source.place.level == "project"}
    for held in work.held:
        if _may_rise(held) and held.entry.id not in project:
            by_type.setdefault(held.entry.type, []).append(held)
    for name in sorted(by_type):
        unique = by_place(by_type[name])
        claims = [work.claim_of(held) for held in unique]
        families = [[unique[i] for i in c.members] for c in clusters(claims) if not c.guarded]
        families += [[h] for h in unique if not any(h in family for family in families)]
        for family in families:
            if _recurs(family):
                _promote(work, family)


def _may_rise(held: Held) -> bool:
    place = held.source.place
    low = place.level in ("job", "task") and place.store == "memory"
    return held.live and low and held.entry.kind != "episode"


def _recurs(family: Sequence[Held]) -> bool:
    jobs = {held.source.place.job for held in family if held.source.place.job}
    sessions = {session for held in family for session in sessions_of(held.entry)}
    return len(jobs) >= RECURS or len(sessions) >= RECURS


def _promote(work: Compaction, family: list[Held]) -> None:
    ids = sorted(held.entry.id for held in family)
    target = _known(work, family)
    if target is None:
        _copy_up(work, family, ids)
        return
    known = set(target.names("promoted_from"))
    if known.issuperset(ids):
        return
    target.set(
        reinforcement_count=target.entry.reinforcement_count + 1,
        last_reinforced=max(work.now.isoformat(), target.entry.last_reinforced),
        promoted_from=sorted({*known, *ids}),
    )
    _mark(family, target.entry.id)
    work.note("reinforced by recurrence", [target, *family])


def _known(work: Compaction, family: Sequence[Held]) -> Held | None:
    """The project's entry that says the same already."""
    named = {i for held in family for i in held.names("promoted_to")}
    members = [work.claim_of(held) for held in family]
    for held in work.held:
        place = held.source.place
        if not (held.live and place.level == "project" and place.store == "memory"):
            continue
        same_type = held.entry.type == family[0].entry.type
        if held.entry.id in named or (
            same_type and any(near_duplicate(work.claim_of(held), mine) for mine in members)
        ):
            return held
    return None


def _copy_up(work: Compaction, family: list[Held], ids: list[str]) -> None:
    if not any(source.path == TARGET and source.writable for source in work.sources):
        return
    best = min((held.entry for held in family), key=importance_order)
    body = min((held.entry for held in family), key=body_order).body
    new, today = derived_id(*ids), work.now.isoformat()
    values = {
        "id": new,
        "type": best.type,
        "domain": best.domain,
        "importance": best.importance,
        "phase": best.phase,
        "status": "active",
        "reinforcement_count": max(held.entry.reinforcement_count for held in family),
        "last_reinforced": max(held.entry.last_reinforced for held in family) or today,
        "created_at": today,
        "kind": best.kind or None,
        **{key: best.extra.get(key) for key in ("priority", "tags", "paths", "commands")},
        "promoted_from": ids,
        "promoted_at": today,
    }
    work.changes.add(TARGET, values, body)
    _mark(family, new)
    work.changes.note("promoted", TARGET, [new, *ids])


def _mark(family: Iterable[Held], target: str) -> None:
    for held in family:
        to = held.names("promoted_to")
        if held.source.writable and target not in to:
            held.set(promoted_to=[*to, target])

"""The steps of compaction on a set of memory files: pure, and independent of the order
of files. Each step sees the entries as earlier steps left them; what leaves goes to an
archive."""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from memcli.compaction.contradictions import (
    PairVerdict,
    changeable,
    opposites_of,
    settle,
)
from memcli.compaction.plan import (
    Compaction,
    CompactOutcome,
    CompactRequest,
    Member,
    body_order,
    importance_order,
    outcome_of,
)
from memcli.compaction.stages import end_stage
from memcli.memory import arithmetic as vector
from memcli.memory.binding import binds
from memcli.memory.changes import copied_values
from memcli.memory.grammar import derived_id
from memcli.memory.prominence import age_days, half_life_decay
from memcli.memory.tombstones import StoneKey, stone_of
from memcli.memory.values import (
    PASSING_LEVELS,
    Entry,
    archive_of,
    sessions_of,
)
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import clusters, near_duplicate
from memcli.similarity.opposites import Opposite

STALE_DAYS = 90
STALE_BELOW = 0.1
LASTING_KINDS = ("policy", "architecture", "preference")
LASTING_PRIORITIES = ("permanent", "critical", "high", "pin")
RECURS = 3  # in so many distinct jobs or sessions an entry must recur to be promoted
TARGET = "MEMORY.md"
WHY = ("retired_because", "superseded_by")
SAME_MEANING = 0.95  # above this cosine two entries are near-duplicates in other words


def take_steps(
    work: Compaction,
    wanted: CompactRequest,
    verdicts: Mapping[tuple[str, str], PairVerdict] = {},
) -> CompactOutcome:
    """Compact the files of a run. Contradictions without a verdict are reported: those
    known before the run, if given, else those that remain after the steps."""
    _before_contradictions(work, wanted)
    pairs = opposites_of(work) if wanted.standing is None else wanted.standing
    settle(work, pairs, wanted.contradictions, verdicts)
    _drop_copies(work)
    return outcome_of(work.changes)


def _drop_copies(work: Compaction) -> None:
    """Keep each wording of an entry once in an archive, as it was last archived. Git
    keeps both copies when it merges two branches on its own."""
    for source in work.sources:
        path = archive_of(source.path)
        if not source.writable or path not in work.changes.files:
            continue
        copied_ids = {copy[1:] for copy in work.changes.copies() if copy[0] == path}
        entries = work.changes.file(path).entries
        days = [str(entry.extra.get("archived_at", "")) for entry in entries]
        oldest_first = sorted(
            range(len(entries)), key=lambda place: (days[place], place)
        )
        for place in reversed(oldest_first):
            entry = entries[place]
            if entry.identified and (entry.id, entry.body) in copied_ids:
                work.changes.drop_copy((path, place))
                work.changes.note("twice in the archive", path, [entry.id])
            copied_ids.add((entry.id, entry.body))


def contradicting(work: Compaction, wanted: CompactRequest) -> list[Opposite]:
    """The pairs that `take_steps` would report, of entries that may be changed."""
    _before_contradictions(work, wanted)
    members = changeable(work)
    return [
        pair
        for pair in opposites_of(work)
        if {side.spot for side in pair[:2]} <= members.keys()
    ]


def _before_contradictions(work: Compaction, wanted: CompactRequest) -> None:
    if wanted.adopt:
        work.adopt(wanted.units)
    _take_back(work, wanted.stones)
    follow_renames(work, wanted.renamed)
    _merge_same_ids(work)
    _merge_duplicates(work)
    for end in wanted.ended:
        end_stage(work, end.job, end.ended)
        moved = f"{end.current} now"
        if end.ended:
            moved += f", {end.ended} ended"
        work.changes.note("stage", end.job or "INTENT.md", ["stage"], moved)
    _archive_retired(work)
    if wanted.stale:
        _archive_stale(work)
    if wanted.promote:
        _promote_recurring(work)


def follow_renames(work: Compaction, moves: Mapping[str, Mapping[str, str]]) -> None:
    """Write the new names of files, by entry, into `paths`, `rests_on` and the code
    spans of what mem wrote."""
    for member in work.members:
        names = moves.get(member.entry.id)
        ours = member.source.writable and member.place.store == "memory"
        if names and ours and member.live and _renamed(work, member, names):
            pairs = sorted(names.items())
            changes = ", ".join(f"{old} is {new} now" for old, new in pairs)
            work.note("renamed", [member], changes)


def _renamed(work: Compaction, member: Member, names: Mapping[str, str]) -> bool:
    """Write the new names into one entry. Returns whether it changed."""
    before = member.entry
    paths = list(member.names("paths"))
    new_paths = [names.get(path.strip("/"), path) for path in paths]
    if new_paths != paths:
        # A guard continues to cover the old name, too.
        bound = paths if binds(before) else []
        member.set(paths=list(dict.fromkeys((*bound, *new_paths))))
    places = list(member.names("rests_on"))
    rows = (place.partition(":") for place in places)
    new_places = [names.get(path, path) + colon + at for path, colon, at in rows]
    if new_places != places:
        member.set(rests_on=new_places)
    if not member.original.touched:
        body = reduce(_renamed_in_code, names.items(), before.body)
        if body != before.body:
            work.changes.replace(member.spot, body)
    return member.entry is not before


def _renamed_in_code(body: str, names: tuple[str, str]) -> str:
    """The body with a file's new name in each code span and link that has the old one,
    keeping a leading `./`."""
    old, new = names
    bare = re.escape(old.removeprefix("./").rstrip("/"))
    name = re.compile(rf"(?<![\w./-])((?:\./)?){bare}(?!/?[\w-]|\.\w)")

    def renamed(span: re.Match[str]) -> str:
        if span[0][0] == "]" and re.search(r"[\s()]", new):
            return span[0]  # it would end the link
        return name.sub(lambda named: named[1] + new, span[0])

    return re.sub(r"`[^`\n]*`|\]\([^)\s]*\)", renamed, body)


def _merge_same_ids(work: Compaction) -> None:
    groups = defaultdict[tuple[str, str], list[Member]](list)
    for member in work.members:
        shared_id = member.entry.shared_id
        if shared_id and member.source.writable:
            _part(work, member, member.entry.id, shared_id)
        is_named = shared_id or member.entry.identified
        # What is retired leaves as such: it takes nothing live with it.
        if is_named and member.live and member.writable:
            groups[member.source.path, member.entry.id].append(member)
    for group in groups.values():
        if any(member.original.touched for member in group):
            _part_edited(work, group)
        else:
            _unite(work, group)


def _part(work: Compaction, member: Member, own_id: str, shared_id: str) -> None:
    """Write an id of its own into an entry that has the id of another one."""
    member.set(id=own_id)
    work.changes.note("parted", member.source.path, [own_id, shared_id])


def _part_edited(work: Compaction, group: Sequence[Member]) -> None:
    """Keep every wording of an entry that a person edited, as a merge of two branches
    does: the first keeps the id."""
    by_body = defaultdict[str, list[Member]](list)
    for member in group:
        by_body[member.entry.body].append(member)
    first, *others = [_unite(work, copies) for copies in by_body.values()]
    for member in others:
        shared_id = first.entry.id
        member.set(contradicts=[*member.names("contradicts"), shared_id])
        own_id = derived_id(shared_id, member.entry.body)
        _part(work, member, own_id, shared_id)


def _unite(work: Compaction, group: Sequence[Member]) -> Member:
    """Merge copies of one entry. Returns the one that stays."""
    best = min(group, key=_copy_order)
    other_members = [member for member in group if member is not best]
    if other_members:
        _unite_counts(best, group)
        work.leave(other_members, "merged")
        work.note("same id", [best, *other_members])
    return best


def _copy_order(member: Member) -> tuple[Any, ...]:
    """The sort order of copies of one entry: more important first, then longer body."""
    return -member.entry.importance, *body_order(member.entry), member.spot


def _merge_duplicates(work: Compaction) -> None:
    """Merge entries that say the same in one place; report those that only look
    alike."""
    for group in work.groups(_mergeable_with):
        _merge_group(work, [member for member in group if member.writable])


def _merge_group(work: Compaction, group: Sequence[Member]) -> None:
    claims = [claim(member.entry.body) for member in group]
    same_in_meaning = _same_meaning_of(work, group) if work.meanings else []
    for cluster in clusters(claims, further=same_in_meaning):
        members = [group[number] for number in cluster.members]
        several = len({member.entry.id for member in members}) > 1
        if cluster.guarded:
            first, second, reason = cluster.guarded[0]
            work.tell("alike but different", (group[first], group[second]), reason)
        elif several and not work.edited(members):
            _merge(work, members)


def _mergeable_with(member: Member) -> tuple[str, ...]:
    """What two entries must share to be merged: place, type and domain."""
    place = member.place
    stands = (place.level, place.store, place.job, place.task)
    return (*stands, member.entry.type, member.entry.domain)


def _same_meaning_of(
    work: Compaction, group: Sequence[Member]
) -> list[tuple[int, int]]:
    known = [
        work.meanings.get((member.entry.title, member.entry.body)) for member in group
    ]
    return same_meaning(known)


def _merge(work: Compaction, members: list[Member]) -> None:
    entries = [member.entry for member in members]
    best = min(members, key=lambda member: importance_order(member.entry))
    other_members = [member for member in members if member is not best]
    other_members.sort(key=lambda member: member.spot)
    longest = min(entries, key=body_order)
    if longest.body != best.entry.body:
        work.changes.replace(best.spot, longest.body, "merged")
    _unite_counts(best, members)
    created = filter(None, (entry.created_at for entry in entries))
    best.grow("created_at", min(created, default=""))
    merged = {entry.id for entry in entries}
    for member in members:
        merged.update(member.names("merged_from"))
    best.set(merged_from=sorted(merged - {best.entry.id}), status="compacted")
    for key in ("tags", "paths", "commands"):
        united = {}
        for member in (best, *other_members):
            united.update(dict.fromkeys(member.names(key)))
        if list(united) != list(best.names(key)):
            best.set(**{key: list(united)})
    work.leave(other_members, "merged")
    work.note("merged", [best, *other_members])


def _unite_counts(best: Member, group: Sequence[Member]) -> None:
    for key in ("reinforcement_count", "last_reinforced"):
        best.grow(key, max(getattr(member.entry, key) for member in group))


def same_meaning(vectors: Sequence[bytes | None]) -> list[tuple[int, int]]:
    """The pairs (i < j) of vectors whose cosine is above 0.95; None is an unknown
    vector."""
    vectors_by_place = {
        place: data for place, data in enumerate(vectors) if data is not None
    }
    places = list(vectors_by_place)
    pairs = []
    for number, later in vector.alike(list(vectors_by_place.values()), SAME_MEANING):
        pairs += [(places[number], places[other]) for other in later]
    return sorted(pairs)


def _archive_stale(work: Compaction) -> None:
    for member in work.members:
        stale = member.live and member.writable and is_stale(member.entry, work.now)
        if stale and not work.edited([member]):
            work.leave([member], "stale")
            work.note("stale", [member], member.entry.title)


def _take_back(work: Compaction, stones: Mapping[StoneKey, Entry]) -> None:
    """Retire entries that a merge left live although an archive of their work tree has
    them as retired."""
    for member in work.members:
        where = (member.place, member.source.tree)
        stone = stone_of(member.entry.id, *where, stones)
        if stone is not None and member.live and member.writable:
            values = {key: stone.extra.get(key) for key in WHY}
            member.set(status="retired", **values)


def _archive_retired(work: Compaction) -> None:
    for member in work.members:
        if not member.leaves and not member.entry.is_live and member.writable:
            extra = member.entry.extra
            reason = extra.get("retired_because")
            because = "superseded" if extra.get("superseded_by") else "retired"
            values = {key: extra.get(key) for key in WHY}
            work.leave([member], because, status="retired", **values)
            why = f" ({reason})" if reason else ""
            work.note("retired", [member], member.entry.title + why)


def is_stale(entry: Entry, today: datetime.date) -> bool:
    """Whether `mem compact --stale` archives an entry."""
    return has_faded(
        age=age_days(entry.last_reinforced, entry.created_at, entry.date, today),
        importance=entry.importance,
        count=entry.reinforcement_count,
        kind=entry.kind,
        priority=entry.extra.get("priority"),
    )


def has_faded(
    age: int, importance: float, count: int, kind: str, priority: object
) -> bool:
    """Whether it is older than 90 days, with importance x decay x (1 + n) below 0.1,
    and no lasting kind or priority."""
    weight = importance * half_life_decay(age) * (1 + count)
    lasting = kind in LASTING_KINDS or priority in LASTING_PRIORITIES
    return age > STALE_DAYS and weight < STALE_BELOW and not lasting


def _promote_recurring(work: Compaction) -> None:
    project_ids = {
        member.entry.id for member in work.members if member.place.level == "project"
    }
    by_type = defaultdict[str, list[Member]](list)
    for member in work.members:
        if _may_rise(member) and member.entry.id not in project_ids:
            by_type[member.entry.type].append(member)
    for _, group in sorted(by_type.items()):
        one_each = {member.entry.id: member for member in reversed(group)}
        for family in _families([*reversed(one_each.values())]):
            if _recurs(family):
                _promote(work, family)


def _may_rise(member: Member) -> bool:
    """Whether an entry may be promoted to the project: it is in a job's or task's
    memory."""
    place = member.place
    is_below = place.level in PASSING_LEVELS and place.store == "memory"
    return is_below and member.live and not member.entry.is_episode


def _families(members: list[Member]) -> list[list[Member]]:
    """The groups of entries that say the same; an entry unlike all others is its own
    group."""
    claims = [claim(member.entry.body) for member in members]
    families = [
        [members[place] for place in cluster.members]
        for cluster in clusters(claims)
        if not cluster.guarded
    ]
    related = {member.spot for family in families for member in family}
    return families + [[member] for member in members if member.spot not in related]


def _recurs(family: Sequence[Member]) -> bool:
    """Whether entries come from enough distinct jobs or sessions."""
    jobs = {member.place.job for member in family} - {""}
    sessions = set().union(*(sessions_of(member.entry) for member in family))
    return max(len(jobs), len(sessions)) >= RECURS


def _promote(work: Compaction, family: list[Member]) -> None:
    entry_ids = sorted(member.entry.id for member in family)
    target = _known(work, family)
    promoted_ids = set(target.names("promoted_from")) if target is not None else set()
    if target is None:
        _copy_up(work, family, entry_ids)
    elif not promoted_ids.issuperset(entry_ids):
        day = work.now.isoformat()
        united = sorted({*promoted_ids, *entry_ids})
        work.changes.strengthen(target.spot, day, promoted_from=united)
        _mark(family, target.entry.id)
        work.note("reinforced by recurrence", [target, *family])


def _known(work: Compaction, family: Sequence[Member]) -> Member | None:
    """The entry of the project that a family was promoted to, or that says the same."""
    promoted = {name for member in family for name in member.names("promoted_to")}
    members = [claim(member.entry.body) for member in family]
    for member in filter(_stands_in_project, work.members):
        if member.entry.id in promoted:
            return member
        if member.entry.type == family[0].entry.type:
            theirs = claim(member.entry.body)
            if any(near_duplicate(theirs, of_family) for of_family in members):
                return member
    return None


def _stands_in_project(member: Member) -> bool:
    place = member.place
    return member.live and place.level == "project" and place.store == "memory"


def _copy_up(work: Compaction, family: list[Member], entry_ids: list[str]) -> None:
    if not any(source.path == TARGET and source.writable for source in work.sources):
        return
    entries = [member.entry for member in family]
    best = min(entries, key=importance_order)
    body = min(entries, key=body_order).body
    new_id = derived_id(*entry_ids)
    today = work.now.isoformat()
    kept = ("priority", "tags", "paths", "commands")
    values = {
        **copied_values(best, new_id, today, kept),
        "reinforcement_count": max(entry.reinforcement_count for entry in entries),
        "last_reinforced": max(entry.last_reinforced for entry in entries) or today,
        "promoted_from": entry_ids,
        "promoted_at": today,
        "domain": "team",
    }
    work.changes.add(TARGET, values, body)
    _mark(family, new_id)
    work.changes.note("promoted", TARGET, [new_id, *entry_ids])


def _mark(family: Iterable[Member], target: str) -> None:
    for member in family:
        to = member.names("promoted_to")
        # The mark does not weaken a guard, so guards get it, too.
        if member.source.writable and target not in to:
            member.set(promoted_to=[*to, target])

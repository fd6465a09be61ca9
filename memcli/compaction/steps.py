"""What compaction does to a set of memory files: pure and deterministic, in whatever
order the files come.

Each step sees the entries as the earlier steps left them; whatever leaves goes to an
archive."""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from memcli.compaction.plan import (
    Compaction,
    CompactOutcome,
    CompactRequest,
    Held,
    body_order,
    importance_order,
    outcome_of,
)
from memcli.compaction.stages import end_stage
from memcli.memory.changes import copied_values, drop_copy, kept_in
from memcli.memory.grammar import derived_id
from memcli.memory.prominence import age_days, half_life_decay
from memcli.memory.values import PASSING_LEVELS, Entry, archive_of, sessions_of
from memcli.providers import embed as vector
from memcli.similarity.differences import guard
from memcli.similarity.duplicates import clusters, contradictions, near_duplicate

STALE_DAYS = 90
STALE_BELOW = 0.1
LASTING_KINDS = ("policy", "architecture", "preference")
LASTING_PRIORITIES = ("permanent", "critical", "high", "pin")
RECURS = 3  # in so many distinct jobs or sessions an entry must recur to be promoted
TARGET = "MEMORY.md"
SAME_MEANING = 0.95  # above this cosine two entries are near-duplicates in other words
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


def take_steps(
    work: Compaction,
    wanted: CompactRequest,
    verdicts: Mapping[frozenset[str], Pair] = {},
) -> CompactOutcome:
    """Compact the files of a run. A contradiction without a verdict, by its ids, is
    flagged."""
    _before_contradictions(work, wanted)
    _settle_contradictions(work, wanted.contradictions, verdicts)
    _drop_copies(work)
    return outcome_of(work.changes)


def _drop_copies(work: Compaction) -> None:
    """Keep each wording of an entry once in an archive, as it last left. When git
    merges two branches by itself, it keeps both copies."""
    for source in work.sources:
        path = archive_of(source.path)
        if not source.writable or path not in work.changes.files:
            continue
        seen = kept_in(work.changes, path)
        entries = enumerate(work.changes.file(path).entries)
        newest_first = sorted(
            entries,
            key=lambda row: (str(row[1].extra.get("archived_at", "")), row[0]),
            reverse=True,
        )
        for place, entry in newest_first:
            if entry.identified and (entry.id, entry.body) in seen:
                drop_copy(work.changes, (path, place))
                work.changes.note("twice in the archive", path, [entry.id])
            seen.add((entry.id, entry.body))


def contradicting(work: Compaction, wanted: CompactRequest) -> list[Pair]:
    """The pairs that `take_steps` would name, of those that may be changed."""
    _before_contradictions(work, wanted)
    return [
        Pair(path=first.source.path, first=first.entry, second=second.entry)
        for first, second, _ in _opposites(work)
        if first.source.writable and second.source.writable
    ]


def _before_contradictions(work: Compaction, wanted: CompactRequest) -> None:
    if wanted.adopt:
        work.adopt(wanted.units)
    follow_renames(work, wanted.renamed)
    _merge_same_ids(work)
    _merge_duplicates(work)
    for end in wanted.ended:
        end_stage(work, end.job, end.ended)
        words = f"{end.current} now" + (f", {end.ended} ended" if end.ended else "")
        work.changes.note("stage", end.job or "INTENT.md", ["stage"], words)
    _archive_retired(work)
    if wanted.stale:
        _archive_stale(work)
    if wanted.promote:
        _promote_recurring(work)


def follow_renames(work: Compaction, moves: Mapping[str, Mapping[str, str]]) -> None:
    """Write the new names of files, by entry, into `paths` and the code spans of what
    mem wrote."""
    for held in work.held:
        names = moves.get(held.entry.id)
        ours = held.source.writable and held.source.place.store == "memory"
        if names and ours and held.live and _renamed(work, held, names):
            changes = [f"{old} is {new} now" for old, new in sorted(names.items())]
            work.note("renamed", [held], ", ".join(changes))


def _renamed(work: Compaction, held: Held, names: Mapping[str, str]) -> bool:
    """Write the new names into one entry. Returns whether that changes it."""
    body = held.entry.body
    text = body
    if not held.original.touched:
        text = reduce(_renamed_in_code, names.items(), body)
    paths = list(held.names("paths"))
    new_paths = [names.get(path.strip("/"), path) for path in paths]
    if new_paths != paths:
        held.set(paths=new_paths)
    if text != body:
        work.changes.replace(held.spot, text)
    return new_paths != paths or text != body


def _renamed_in_code(body: str, names: tuple[str, str]) -> str:
    """The body with a file's new name in each code span and link that has the old."""
    old, new = names
    bare = re.escape(old.removeprefix("./").rstrip("/"))
    name = re.compile(rf"(?<![\w./-])(?:\./)?{bare}(?!/?[\w-]|\.\w)")
    spans = r"`[^`\n]*`|\]\([^)\s]*\)"
    return re.sub(spans, lambda span: name.sub(lambda _: new, span[0]), body)


def _merge_same_ids(work: Compaction) -> None:
    groups = defaultdict[tuple[str, str], list[Held]](list)
    for held in work.held:
        if held.entry.identified and held.source.writable:
            groups[held.source.path, held.entry.id].append(held)
    for group in groups.values():
        if len(group) > 1 and not work.edited(group):
            best = min(
                group,
                key=lambda candidate: (
                    -candidate.entry.importance,
                    *body_order(candidate.entry),
                    candidate.spot,
                ),
            )
            others = [held for held in group if held is not best]
            _unite_counts(best, group)
            work.leave(others, "merged")
            work.note("same id", [best, *others])


def _merge_duplicates(work: Compaction) -> None:
    """Merge what says the same in one place; what only looks alike is told."""
    for group in work.groups(_mergeable_with):
        # A rule that binds is never merged away.
        free = [held for held in group if not held.entry.extra.get("guard")]
        _merge_group(work, free)


def _merge_group(work: Compaction, group: Sequence[Held]) -> None:
    claims = [work.claim_of(held) for held in group]
    same_in_meaning = _same_meaning_of(work, group) if work.meanings else []
    for cluster in clusters(claims, more=same_in_meaning):
        members = [group[number] for number in cluster.members]
        several = len({held.entry.id for held in members}) > 1
        if cluster.guarded:
            first, second, reason = cluster.guarded[0]
            work.tell("alike but different", (group[first], group[second]), reason)
        elif several and not work.edited(members):
            _merge(work, members)


def _mergeable_with(held: Held) -> tuple[str, ...]:
    """What two entries must share to be merged: their place, type and domain."""
    place = held.source.place
    stands = (place.level, place.store, place.job, place.task)
    return (*stands, held.entry.type, held.entry.domain)


def _same_meaning_of(work: Compaction, group: Sequence[Held]) -> list[tuple[int, int]]:
    known = [work.meanings.get((held.entry.title, held.entry.body)) for held in group]
    return same_meaning(known)


def _merge(work: Compaction, members: list[Held]) -> None:
    best = min(members, key=lambda held: importance_order(held.entry))
    others = sorted(
        (held for held in members if held is not best), key=lambda held: held.spot
    )
    longest = min(members, key=lambda held: body_order(held.entry)).entry
    if longest.body != best.entry.body:
        work.changes.replace(best.spot, longest.body, "merged")
    _unite_counts(best, members)
    best.grow(
        "created_at",
        min(filter(None, (h.entry.created_at for h in members)), default=""),
    )
    merged = {
        merged_id
        for held in members
        for merged_id in (held.entry.id, *held.names("merged_from"))
    }
    best.set(merged_from=sorted(merged - {best.entry.id}), status="compacted")
    for key in ("tags", "paths", "commands"):
        united = list(
            dict.fromkeys(
                value for held in [best, *others] for value in held.names(key)
            )
        )
        if united != list(best.names(key)):
            best.set(**{key: united})
    work.leave(others, "merged")
    work.note("merged", [best, *others])


def _unite_counts(best: Held, group: Sequence[Held]) -> None:
    for key in ("reinforcement_count", "last_reinforced"):
        best.grow(key, max(getattr(held.entry, key) for held in group))


def same_meaning(vectors: Sequence[bytes | None]) -> list[tuple[int, int]]:
    """The pairs (i < j) of vectors whose cosine is above 0.95; None is an unknown
    vector."""
    known = [(number, data) for number, data in enumerate(vectors) if data is not None]
    pairs: list[tuple[int, int]] = []
    rows = [data for _, data in known]
    for place, later in vector.alike(rows, SAME_MEANING):
        pairs += [(known[place][0], known[number][0]) for number in later]
    return sorted(pairs)


def _archive_stale(work: Compaction) -> None:
    for held in work.held:
        stale = held.live and held.source.writable and is_stale(held.entry, work.now)
        if stale and not work.edited([held]):
            work.leave([held], "stale")
            work.note("stale", [held], held.entry.title)


def _archive_retired(work: Compaction) -> None:
    for held in work.held:
        if not held.leaves and held.entry.status == "retired" and held.source.writable:
            extra = held.entry.extra
            reason = extra.get("retired_because")
            because = "superseded" if extra.get("superseded_by") else "retired"
            work.leave([held], because, status="retired", retired_because=reason)
            work.note(
                "retired",
                [held],
                f"{held.entry.title}{f' ({reason})' if reason else ''}",
            )


def is_stale(entry: Entry, now: datetime.date) -> bool:
    """Whether `mem compact --stale` archives an entry."""
    age = age_days(entry.last_reinforced, entry.created_at, entry.date, now)
    weights = entry.importance, entry.reinforcement_count
    return has_faded(age, *weights, entry.kind, entry.extra.get("priority"))


def has_faded(
    age: int, importance: float, count: int, kind: str, priority: object
) -> bool:
    """Older than 90 days, importance x decay x (1 + n) below 0.1, no lasting kind or
    priority."""
    weight = importance * half_life_decay(age) * (1 + count)
    lasting = kind in LASTING_KINDS or priority in LASTING_PRIORITIES
    return age > STALE_DAYS and weight < STALE_BELOW and not lasting


def _promote_recurring(work: Compaction) -> None:
    project = {
        held.entry.id for held in work.held if held.source.place.level == "project"
    }
    by_type = defaultdict[str, list[Held]](list)
    for held in work.held:
        if _may_rise(held) and held.entry.id not in project:
            by_type[held.entry.type].append(held)
    for _, group in sorted(by_type.items()):
        for family in _families(work, _by_place(group)):
            if _recurs(family):
                _promote(work, family)


def _may_rise(held: Held) -> bool:
    """Whether an entry may be copied up to the project: from a job's or task's
    memory."""
    place = held.source.place
    is_below = place.level in PASSING_LEVELS and place.store == "memory"
    return is_below and held.live and held.entry.kind != "episode"


def _families(work: Compaction, members: list[Held]) -> list[list[Held]]:
    """The groups of entries that say the same; an entry that is like no other is a
    group of its own."""
    claims = [work.claim_of(held) for held in members]
    families = [
        [members[place] for place in cluster.members]
        for cluster in clusters(claims)
        if not cluster.guarded
    ]
    related = {held.spot for family in families for held in family}
    return families + [[held] for held in members if held.spot not in related]


def _recurs(family: Sequence[Held]) -> bool:
    """Whether entries come from enough distinct jobs or sessions."""
    jobs = {held.source.place.job for held in family} - {""}
    sessions = {session for held in family for session in sessions_of(held.entry)}
    return max(len(jobs), len(sessions)) >= RECURS


def _by_place(unique: Iterable[Held]) -> list[Held]:
    first = {held.entry.id: held for held in reversed(list(unique))}
    return sorted(first.values(), key=lambda held: held.spot)


def _promote(work: Compaction, family: list[Held]) -> None:
    entry_ids = sorted(held.entry.id for held in family)
    target = _known(work, family)
    known = set(target.names("promoted_from")) if target is not None else set()
    if target is None:
        _copy_up(work, family, entry_ids)
    elif not known.issuperset(entry_ids):
        day = work.now.isoformat()
        united = sorted({*known, *entry_ids})
        work.changes.strengthen(target.spot, day, promoted_from=united)
        _mark(family, target.entry.id)
        work.note("reinforced by recurrence", [target, *family])


def _known(work: Compaction, family: Sequence[Held]) -> Held | None:
    """The entry of the project that a family was promoted to, or that says the same."""
    promoted = {name for held in family for name in held.names("promoted_to")}
    members = [work.claim_of(held) for held in family]

    def is_same(held: Held) -> bool:
        if held.entry.type != family[0].entry.type:
            return False
        theirs = work.claim_of(held)
        return any(near_duplicate(theirs, of_family) for of_family in members)

    for held in work.held:
        place = held.source.place
        is_project = place.level == "project" and place.store == "memory"
        if is_project and held.live and (held.entry.id in promoted or is_same(held)):
            return held
    return None


def _copy_up(work: Compaction, family: list[Held], entry_ids: list[str]) -> None:
    if not any(source.path == TARGET and source.writable for source in work.sources):
        return
    best = min((held.entry for held in family), key=importance_order)
    body = min((held.entry for held in family), key=body_order).body
    new_id = derived_id(*entry_ids)
    today = work.now.isoformat()
    values = {
        **copied_values(best, new_id, today, ("priority", "tags", "paths", "commands")),
        "reinforcement_count": max(held.entry.reinforcement_count for held in family),
        "last_reinforced": max(held.entry.last_reinforced for held in family) or today,
        "promoted_from": entry_ids,
        "promoted_at": today,
        "domain": "team",
    }
    work.changes.add(TARGET, values, body)
    _mark(family, new_id)
    work.changes.note("promoted", TARGET, [new_id, *entry_ids])


def _mark(family: Iterable[Held], target: str) -> None:
    for held in family:
        to = held.names("promoted_to")
        if held.source.writable and target not in to:
            held.set(promoted_to=[*to, target])


def _settle_contradictions(
    work: Compaction, mode: str, verdicts: Mapping[frozenset[str], Pair]
) -> None:
    """Name opposite claims; `decay`: both lose weight, once; `resolve`: carry verdicts
    out."""
    for first, second, detail in list(_opposites(work)):
        pair = [first, second]
        entry_ids = frozenset(held.entry.id for held in pair)
        verdict = verdicts.get(entry_ids) if mode == "resolve" else None
        if not (first.live and second.live):
            continue
        if verdict is not None and _resolve(work, pair, verdict):
            continue
        unsure = verdict is not None and verdict.what == "unsure"
        work.tell("unsure" if unsure else "contradiction", pair, detail)
        if mode == "decay":
            _decay(work, pair)


def _decay(work: Compaction, pair: list[Held]) -> None:
    """Lower the importance of two entries that say the opposite, unless they are marked
    so already."""
    first, second = pair
    named = {*first.names("contradicts"), *second.names("contradicts")}
    if named & {first.entry.id, second.entry.id}:
        return
    for held, other in ((first, second), (second, first)):
        lowered = round(held.original.importance * DECAY, 4)
        opposite = [*held.names("contradicts"), other.entry.id]
        held.set(importance=lowered, contradicts=opposite)
    work.note("decayed", pair)


def _opposites(work: Compaction) -> Iterator[tuple[Held, Held, str]]:
    """The live pairs that say the opposite, and how it is known; none twice."""
    known_pairs: set[frozenset[str]] = set()
    for group in work.groups(lambda held: held.entry.type):
        unique = _by_place(group)
        claims = [work.claim_of(held) for held in unique]
        for first_place, second_place in contradictions(claims):
            known_pairs.add(
                frozenset((unique[first_place].entry.id, unique[second_place].entry.id))
            )
            yield (
                unique[first_place],
                unique[second_place],
                guard(claims[first_place], claims[second_place]) or "opposite",
            )
    # Pairs that say it of themselves: a merge leaves them, too.
    live = {held.entry.id: held for held in work.held if held.live}
    for held in live.values():
        for other in held.names("contradicts"):
            entry_ids = frozenset((held.entry.id, other))
            if other in live and entry_ids not in known_pairs:
                known_pairs.add(entry_ids)
                yield held, live[other], "marked"


def _resolve(work: Compaction, pair: list[Held], verdict: Pair) -> bool:
    """Carry a verdict out; False when it is unsure, or no longer about these two."""
    shown = {entry.id: entry.body for entry in (verdict.first, verdict.second)}
    for held in pair:
        if held.entry.body != shown[held.entry.id] or not held.source.writable:
            return False
    if verdict.what == "new":
        work.tell("both hold", pair)
        return True
    if verdict.what == "unsure" or verdict.keep not in shown:
        return False
    first, second = pair
    is_first = first.entry.id == verdict.keep
    winner, loser = (first, second) if is_first else (second, first)
    changed = [loser] if verdict.what == "reinforce" else pair
    if not work.edited(changed):
        _supersede(work, winner, loser, verdict)
    return True


def _supersede(work: Compaction, winner: Held, loser: Held, verdict: Pair) -> None:
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

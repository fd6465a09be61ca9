"""What compaction does to a set of memory files: pure, deterministic, whatever their
order.

Each step looks at the entries as the steps before it left them; what leaves is in an
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
    """Leave each wording of an entry once in an archive, as it last left: git's own
    merge of two branches leaves it twice."""
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
        for at, entry in newest_first:
            if entry.identified and (entry.id, entry.body) in seen:
                drop_copy(work.changes, (path, at))
                work.changes.note("twice in the archive", path, [entry.id])
            seen.add((entry.id, entry.body))


def contradicting(work: Compaction, wanted: CompactRequest) -> list[Pair]:
    """The pairs that `take_steps` would name, of those that may be changed."""
    _before_contradictions(work, wanted)
    pairs = [
        (a, b)
        for a, b, _ in _opposites(work)
        if a.source.writable and b.source.writable
    ]
    return [Pair(a.source.path, a.entry, b.entry) for a, b in pairs]


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
        names = moves.get(held.entry.id, {})
        ours = held.source.writable and held.source.place.store == "memory"
        if not (names and held.live and ours):
            continue
        paths = list(held.names("paths"))
        body = held.entry.body
        now = [names.get(path.strip("/"), path) for path in paths]
        text = body if held.original.touched else reduce(_renamed, names.items(), body)
        if now != paths:
            held.set(paths=now)
        if text != body:
            work.changes.replace(held.spot, text)
        if now != paths or text != body:
            told = ", ".join(
                f"{old} is {new} now" for old, new in sorted(names.items())
            )
            work.note("renamed", [held], told)


def _renamed(body: str, names: tuple[str, str]) -> str:
    place = rf"(`[^`\n]*?(?<![\w./-])|\]\(){re.escape(names[0])}(?![\w/-]|\.\w)"
    return re.sub(place, lambda found: found[1] + names[1], body)


def _merge_same_ids(work: Compaction) -> None:
    groups = defaultdict[tuple[str, str], list[Held]](list)
    for held in work.held:
        if held.entry.identified and held.source.writable:
            groups[held.source.path, held.entry.id].append(held)
    for group in groups.values():
        if len(group) > 1 and not work.edited(group):
            best = min(
                group, key=lambda h: (-h.entry.importance, *body_order(h.entry), h.spot)
            )
            rest = [held for held in group if held is not best]
            _unite_counts(best, group)
            work.leave(rest, "merged")
            work.note("same id", [best, *rest])


def _merge_duplicates(work: Compaction) -> None:
    for group in work.groups(
        lambda h: (*h.source.place[:4], h.entry.type, h.entry.domain)
    ):
        # A rule that binds is never merged away.
        group = [held for held in group if not held.entry.extra.get("guard")]
        claims = [work.claim_of(held) for held in group]
        known = [
            work.meanings.get((held.entry.title, held.entry.body)) for held in group
        ]
        near = same_meaning(known) if work.meanings else []
        for cluster in clusters(claims, more=near):
            members = [group[i] for i in cluster.members]
            if cluster.guarded:
                i, j, why = cluster.guarded[0]
                work.tell("alike but different", (group[i], group[j]), why)
            elif len({held.entry.id for held in members}) > 1 and not work.edited(
                members
            ):
                _merge(work, members)


def _merge(work: Compaction, members: list[Held]) -> None:
    best = min(members, key=lambda held: importance_order(held.entry))
    rest = sorted(
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
        i for held in members for i in (held.entry.id, *held.names("merged_from"))
    }
    best.set(merged_from=sorted(merged - {best.entry.id}), status="compacted")
    for key in ("tags", "paths", "commands"):
        united = list(
            dict.fromkeys(v for held in [best, *rest] for v in held.names(key))
        )
        if united != list(best.names(key)):
            best.set(**{key: united})
    work.leave(rest, "merged")
    work.note("merged", [best, *rest])


def _unite_counts(best: Held, group: Sequence[Held]) -> None:
    for key in ("reinforcement_count", "last_reinforced"):
        best.grow(key, max(getattr(held.entry, key) for held in group))


def same_meaning(vectors: Sequence[bytes | None]) -> list[tuple[int, int]]:
    """The pairs (i < j) of vectors whose cosine is above 0.95; None is an unknown
    vector."""
    known = [(i, own) for i, own in enumerate(vectors) if own is not None]
    found: list[tuple[int, int]] = []
    rows = [own for _, own in known]
    for place, near in vector.alike(rows, range(len(rows)), SAME_MEANING):
        found += [(known[place][0], known[i][0]) for i in near if place < i]
    return found


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
            why = extra.get("retired_because")
            because = "superseded" if extra.get("superseded_by") else "retired"
            work.leave([held], because, status="retired", retired_because=why)
            work.note(
                "retired", [held], f"{held.entry.title}{f' ({why})' if why else ''}"
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
    low = place.level in PASSING_LEVELS and place.store == "memory"
    return low and held.live and held.entry.kind != "episode"


def _families(work: Compaction, members: list[Held]) -> list[list[Held]]:
    """The groups of entries that say the same; what is like no other is one alone."""
    claims = [work.claim_of(held) for held in members]
    families = [
        [members[at] for at in cluster.members]
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
    ids = sorted(held.entry.id for held in family)
    target = _known(work, family)
    known = set(target.names("promoted_from")) if target is not None else set()
    if target is None:
        _copy_up(work, family, ids)
    elif not known.issuperset(ids):
        day = work.now.isoformat()
        united = sorted({*known, *ids})
        work.changes.strengthen(target.spot, day, promoted_from=united)
        _mark(family, target.entry.id)
        work.note("reinforced by recurrence", [target, *family])


def _known(work: Compaction, family: Sequence[Held]) -> Held | None:
    named = {i for held in family for i in held.names("promoted_to")}
    members = [work.claim_of(held) for held in family]
    for held in work.held:
        level, store, *_ = held.source.place
        if level == "project" and store == "memory" and held.live:
            like = held.entry.type == family[0].entry.type
            same = like and any(
                near_duplicate(work.claim_of(held), mine) for mine in members
            )
            if held.entry.id in named or same:
                return held
    return None


def _copy_up(work: Compaction, family: list[Held], ids: list[str]) -> None:
    if not any(source.path == TARGET and source.writable for source in work.sources):
        return
    best = min((held.entry for held in family), key=importance_order)
    body = min((held.entry for held in family), key=body_order).body
    new = derived_id(*ids)
    today = work.now.isoformat()
    values = {
        **copied_values(best, new, today, ("priority", "tags", "paths", "commands")),
        "reinforcement_count": max(held.entry.reinforcement_count for held in family),
        "last_reinforced": max(held.entry.last_reinforced for held in family) or today,
        "promoted_from": ids,
        "promoted_at": today,
        "domain": "team",
    }
    work.changes.add(TARGET, values, body)
    _mark(family, new)
    work.changes.note("promoted", TARGET, [new, *ids])


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
        ids = frozenset(held.entry.id for held in pair)
        verdict = verdicts.get(ids) if mode == "resolve" else None
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
    told: set[frozenset[str]] = set()
    for group in work.groups(lambda held: held.entry.type):
        unique = _by_place(group)
        claims = [work.claim_of(held) for held in unique]
        for i, j in contradictions(claims):
            told.add(frozenset((unique[i].entry.id, unique[j].entry.id)))
            yield unique[i], unique[j], guard(claims[i], claims[j]) or "opposite"
    live = {held.entry.id: held for held in work.held if held.live}
    for (
        held
    ) in live.values():  # pairs that say it of themselves: a merge leaves them, too
        for other in held.names("contradicts"):
            ids = frozenset((held.entry.id, other))
            if other in live and ids not in told:
                told.add(ids)
                yield held, live[other], "marked"


def _resolve(work: Compaction, pair: list[Held], verdict: Pair) -> bool:
    """Carry a verdict out; False when it is unsure, or no longer about these two."""
    shown = {entry.id: entry for entry in (verdict.first, verdict.second)}
    same = all(
        shown[held.entry.id].body == held.entry.body and held.source.writable
        for held in pair
    )
    if not same:
        return False
    if verdict.what == "new":
        work.tell("both hold", pair)
        return True
    if verdict.what == "unsure" or verdict.keep not in shown:
        return False
    first, second = pair
    winner = first if first.entry.id == verdict.keep else second
    loser = second if winner is first else first
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

"""What no longer counts leaves: retired entries, and old ones that never mattered much. Pure."""

from __future__ import annotations

import datetime

from memcli.compaction.plan import Compaction, StageEnd
from memcli.memory.levels import Place
from memcli.memory.prominence import age_days, half_life_decay
from memcli.memory.values import Entry

STALE_DAYS = 90
STALE_BELOW = 0.1
LASTING_KINDS = ("policy", "architecture", "preference")
LASTING_PRIORITIES = ("permanent", "critical", "high", "pin")


def archive_retired(work: Compaction) -> None:
    """Retired entries go to the archive."""
    for held in work.held:
        if not held.leaves and held.entry.status == "retired" and held.source.writable:
            extra = held.entry.extra
            work.leave([held], "superseded" if extra.get("superseded_by") else "retired")
            why = extra.get("retired_because", "")
            work.note("retired", [held], f"{held.entry.title}{f' ({why})' if why else ''}")


def archive_stage(work: Compaction, end: StageEnd) -> None:
    """What was true for a stage alone leaves when it ends: live task entries of that phase."""
    for held in work.held if end.ended else ():
        if held.live and held.source.writable and belongs(held.entry, held.source.place, end):
            why = f"stage {end.ended}"
            work.leave([held], "retired", status="retired", retired_because=why)
            work.note("retired", [held], f"{held.entry.title} ({why})")
    words = f"{end.current} now" + (f", {end.ended} ended" if end.ended else "")
    work.changes.note("stage", end.job or "INTENT.md", ["stage"], words)


def belongs(entry: Entry, place: Place, end: StageEnd) -> bool:
    """Whether an entry was true for the stage alone: at the root the project's, in a job the job's."""
    levels = ("job", "task") if end.job else ("project",)
    here = place.level in levels and place.job == end.job
    kept = place.store in ("memory", "institutional")
    return here and kept and entry.domain == "task" and entry.phase == end.ended


def archive_stale(work: Compaction) -> None:
    """Old entries that never mattered much go to the archive."""
    for held in work.held:
        stale = held.live and held.source.writable and is_stale(held.entry, work.now)
        if stale and not work.edited([held]):
            work.leave([held], "stale")
            work.note("stale", [held], held.entry.title)


def is_stale(entry: Entry, now: datetime.date) -> bool:
    """Older than 90 days, importance x decay x (1 + n) below 0.1, of no lasting kind or priority."""
    if entry.kind in LASTING_KINDS or entry.extra.get("priority") in LASTING_PRIORITIES:
        return False
    age = age_days(entry.last_reinforced, entry.created_at, entry.date, now)
    weight = entry.importance * half_life_decay(age) * (1 + entry.reinforcement_count)
    return age > STALE_DAYS and weight < STALE_BELOW

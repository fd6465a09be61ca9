"""What no longer counts leaves: retired entries, and old ones that never mattered much. Pure."""

from __future__ import annotations

import datetime

from memcli.compaction.plan import Compaction
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


def archive_stale(work: Compaction) -> None:
    """Old entries that never mattered much go to the archive."""
    for held in work.held:
        if held.live and held.source.writable and is_stale(held.entry, work.now):
            work.leave([held], "stale")
            work.note("stale", [held], held.entry.title)


def is_stale(entry: Entry, now: datetime.date) -> bool:
    """Older than 90 days, importance x decay x (1 + n) below 0.1, of no lasting kind or priority."""
    if entry.kind in LASTING_KINDS or entry.extra.get("priority") in LASTING_PRIORITIES:
        return False
    age = age_days(entry.last_reinforced, entry.created_at, entry.date, now)
    weight = entry.importance * half_life_decay(age) * (1 + entry.reinforcement_count)
    return age > STALE_DAYS and weight < STALE_BELOW

"""What compaction does to a set of memory files: pure, deterministic, independent of their order.

Each step looks at the entries as the steps before it left them; the outcome is one text for each
file and archive. What leaves a file is in its archive, verbatim.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from memcli.compaction.contradictions_step import (
    Pair,
    Verdicts,
    opposites,
    settle_contradictions,
)
from memcli.compaction.duplicates_step import merge_duplicates, merge_same_ids
from memcli.compaction.plan import Compaction, CompactOutcome, Meanings, MemoryInput, Steps
from memcli.compaction.promote import promote_recurring
from memcli.compaction.stale import archive_retired, archive_stage, archive_stale


def take_steps(
    sources: Sequence[MemoryInput],
    archives: Mapping[str, str],
    steps: Steps,
    now: datetime.date,
    verdicts: Verdicts | None = None,
    meanings: Meanings | None = None,
) -> CompactOutcome:
    """Compact `sources`. `archives` holds the texts of the archives that exist, by path.

    `verdicts`, by the ids of a pair, are for contradictions = "resolve"; without one a pair is
    flagged. With `meanings` entries are near-duplicates by their vectors, too.
    """
    work = _before_contradictions(sources, archives, steps, now, meanings)
    settle_contradictions(work, steps.contradictions, verdicts or {})
    return work.outcome()


def contradicting(
    sources: Sequence[MemoryInput],
    archives: Mapping[str, str],
    steps: Steps,
    now: datetime.date,
    meanings: Meanings | None = None,
) -> list[Pair]:
    """The pairs that `take_steps` would name, of those that may be changed."""
    work = _before_contradictions(sources, archives, steps, now, meanings)
    return [
        Pair(a.source.path, a.entry, b.entry)
        for a, b, _ in opposites(work)
        if a.source.writable and b.source.writable
    ]


def _before_contradictions(
    sources: Sequence[MemoryInput],
    archives: Mapping[str, str],
    steps: Steps,
    now: datetime.date,
    meanings: Meanings | None,
) -> Compaction:
    """All steps but the last one."""
    work = Compaction(sources, archives, now, meanings or {})
    if steps.adopt:
        work.adopt(steps.units)
    merge_same_ids(work)
    merge_duplicates(work)
    for end in steps.ended:
        archive_stage(work, end)
    archive_retired(work)
    if steps.stale:
        archive_stale(work)
    if steps.promote:
        promote_recurring(work)
    return work

"""What a memory file loses when another text takes its place. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memcli.memory.parser import MemoryFile, sections
from memcli.memory.values import Entry, listed
from memcli.similarity.claims import claim

LOSS_SHARE = 0.25


class Loss(NamedTuple):
    """What a file loses: entries and sections of prose that are told no more, and
    entries that say something else. Of the `number` that it has those that another took
    up do not count."""

    gone: tuple[Entry, ...] = ()
    changed: tuple[Entry, ...] = ()
    number: int = 0

    @property
    def lost(self) -> tuple[Entry, ...]:
        """All of it."""
        return (*self.gone, *self.changed)


def is_loss(gone: int, live: int) -> bool:
    """Whether a file with so many live entries loses too many at once: more than one,
    and more than a quarter."""
    return gone > 1 and gone > LOSS_SHARE * live


def loss_between(before: MemoryFile, after: MemoryFile) -> Loss:
    """What a file loses: what is told no more, or has not half of its words."""
    standing = list(filter(_is_told, before.entries))
    told = list(filter(_is_told, after.entries))
    heirs = defaultdict[str, list[Entry]](list)
    for entry in told:
        for known in (entry.id, *listed(entry, "merged_from")):
            heirs[known].append(entry)
    kept = {entry.id for entry in told}
    lost = []
    merged = 0
    for entry in standing:
        if not any(_says_still(heir, entry) for heir in heirs[entry.id]):
            lost.append(entry)
        elif entry.id not in kept:
            merged += 1
    prose = sections(before)
    known_ids = {entry.id for entry in before.entries}
    adopted = (entry for entry in told if entry.id not in known_ids)
    lost_prose = _lost_prose(prose, [*sections(after), *adopted])
    return Loss(
        gone=(*(entry for entry in lost if entry.id not in kept), *lost_prose),
        changed=tuple(entry for entry in lost if entry.id in kept),
        number=len(standing) + len(prose) - merged,
    )


def _is_told(entry: Entry) -> bool:
    """Whether an entry was neither retired nor superseded."""
    return entry.is_live and not listed(entry, "superseded_by")


def _says_still(heir: Entry, entry: Entry) -> bool:
    """Whether an entry has half of the words of another that it stands for."""
    if heir.body == entry.body:
        return True
    words = claim(entry.body).words
    return 2 * len(words & claim(heir.body).words) >= len(words)


def _lost_prose(units: Sequence[Entry], heirs: Iterable[Entry]) -> list[Entry]:
    """The units of prose of whose words not half stand in prose or entries that are
    new. A word there stands for one of one unit, so that a list may be joined, split
    or moved, but ten rules do not live on in one."""
    unchanged = Counter(unit.body for unit in units)
    pools = defaultdict[str, Counter[str]](Counter)
    for heir in heirs:
        if unchanged[heir.body]:
            unchanged[heir.body] -= 1
        else:
            for line in heir.body.splitlines():
                pools[heir.title].update(claim(line).words)
    changed = []
    for unit in units:
        if unchanged[unit.body]:
            unchanged[unit.body] -= 1
            changed.append(unit)
    # First what stands below the same headings, what has the most of its words there
    # before others; then wherever it may have gone.
    changed.sort(key=lambda unit: _share(unit, pools[unit.title]), reverse=True)
    moved = [unit for unit in changed if not _takes(unit, pools[unit.title])]
    elsewhere = Counter[str]()
    for pool in pools.values():
        elsewhere.update(pool)
    lost = [unit for unit in moved if not _takes(unit, elsewhere)]
    return sorted(lost, key=lambda unit: unit.start)


def _share(unit: Entry, pool: Counter[str]) -> float:
    """How much of the words of a unit a pool has."""
    words = claim(unit.body).words
    return len(_held(words, pool)) / max(len(words), 1)


def _held(words: Iterable[str], pool: Counter[str]) -> list[str]:
    return [word for word in words if pool[word] > 0]


def _takes(unit: Entry, pool: Counter[str]) -> bool:
    """Take the words of a unit out of a pool that has half of them."""
    words = claim(unit.body).words
    held = _held(words, pool)
    if not held or 2 * len(held) < len(words):
        return False
    pool.subtract(held)
    return True

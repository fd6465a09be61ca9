"""What a memory file loses when another text takes its place. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memcli.memory.parser import MemoryFile, sections
from memcli.memory.values import Entry, listed
from memcli.similarity.claims import claim

LOSS_SHARE = 0.25


class Loss(NamedTuple):
    """What a file loses: entries and sections of prose that are told no more, and
    entries that say something else; with those that were told no more and are told
    `again`. Of the `number` that it has those that another took up do not count."""

    gone: tuple[Entry, ...] = ()
    changed: tuple[Entry, ...] = ()
    again: tuple[Entry, ...] = ()
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
    entries = list(filter(_is_told, after.entries))
    heirs = _heirs(entries)
    kept = {entry.id for entry in entries}
    asleep = {entry.id for entry in before.entries} - {entry.id for entry in standing}
    gone = list[Entry]()
    changed = list[Entry]()
    merged = 0
    for entry in standing:
        is_kept = entry.id in kept
        if not any(_says_still(heir, entry) for heir in heirs[entry.id]):
            (changed if is_kept else gone).append(entry)
        elif not is_kept:
            merged += 1
    prose = sections(before)
    known_ids = {entry.id for entry in before.entries}
    adopted = (entry for entry in entries if entry.id not in known_ids)
    gone += _lost_prose(prose, [*sections(after), *adopted])
    return Loss(
        gone=tuple(gone),
        changed=tuple(changed),
        again=tuple(entry for entry in entries if entry.id in asleep),
        number=len(standing) + len(prose) - merged,
    )


def _heirs(told: Iterable[Entry]) -> Mapping[str, Sequence[Entry]]:
    """By the id of an entry those that stand for it."""
    heirs = defaultdict[str, list[Entry]](list)
    for entry in told:
        for known in (entry.id, *listed(entry, "merged_from")):
            heirs[known].append(entry)
    return heirs


def _is_told(entry: Entry) -> bool:
    """Whether an entry was neither retired nor superseded."""
    return entry.is_live and not listed(entry, "superseded_by")


def _says_still(heir: Entry, entry: Entry) -> bool:
    """Whether an entry has half of the words of another that it stands for."""
    if heir.body == entry.body:
        return True
    words = claim(entry.body).words
    return 2 * len(words & claim(heir.body).words) >= len(words)


def _lost_prose(units: Sequence[Entry], heirs: Sequence[Entry]) -> list[Entry]:
    """The units of prose of whose words not half stand in prose or entries that are
    new. A word there stands for one of one unit, so that a list may be joined, split
    or moved, but ten rules do not live on in one."""
    pools = defaultdict[str, Counter[str]](Counter)
    for heir in _without(units, heirs):
        for line in heir.body.splitlines():
            pools[heir.title].update(claim(line).words)
    changed = _without(heirs, units)
    # First what stands below the same headings, what has the most of its words there
    # before others; then wherever it may have gone.
    changed.sort(key=lambda unit: _share(unit, pools[unit.title]), reverse=True)
    moved = [unit for unit in changed if not _takes(unit, pools[unit.title])]
    elsewhere = sum(pools.values(), Counter[str]())
    lost = [unit for unit in moved if not _takes(unit, elsewhere)]
    return sorted(lost, key=lambda unit: unit.start)


def _without(others: Iterable[Entry], units: Iterable[Entry]) -> list[Entry]:
    """The units whose text no other has; as many of a text as there are more."""
    unchanged = Counter(other.body for other in others)
    changed = list[Entry]()
    for unit in units:
        unchanged[unit.body] -= 1
        if unchanged[unit.body] < 0:
            changed.append(unit)
    return changed


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

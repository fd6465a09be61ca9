"""Which episodes are worth a question to a language model. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memcli.compaction.consolidate.questions import EpisodeBatch, QuotedEntry
from memcli.compaction.plan import MemoryInput
from memcli.memory.values import Entry

DUE = 3
"""So many episodes without `consolidated_at` are worth a question."""
STRIKING = 0.85
"""An episode of this surprise is worth one alone."""
MOST_EPISODES = 20


def is_waiting(entry: Entry) -> bool:
    """Whether an episode was not consolidated yet."""
    live = entry.kind == "episode" and entry.status != "retired" and entry.identified
    return live and not entry.extra.get("consolidated_at")


def due(sources: Sequence[MemoryInput]) -> list[EpisodeBatch]:
    """The episodes to ask about, by job and task: three or more, or a striking one; without related
    ones.
    """
    homes: dict[tuple[str, str, str], list[QuotedEntry]] = {}
    for source in sorted(sources, key=lambda source: source.path):
        if source.writable and source.place.store == "memory":
            home = (source.place.level, source.place.job, source.place.task)
            homes.setdefault(home, []).extend(
                QuotedEntry(source.path, entry)
                for entry in source.memory.entries
                if is_waiting(entry)
            )
    found = []
    for _, shown in sorted(homes.items()):
        unique = list({item.entry.id: item for item in reversed(shown)}.values())
        unique.sort(key=lambda item: (_when(item.entry), item.entry.id))
        if is_due([item.entry for item in unique]):
            for at in range(0, len(unique), MOST_EPISODES):
                part = tuple(unique[at : at + MOST_EPISODES])
                found.append(EpisodeBatch(_memory_beside(part[0].path), part))
    return found


def is_due(episodes: Sequence[Entry]) -> bool:
    """Whether so many episodes, or so striking ones, are worth a question."""
    return len(episodes) >= DUE or any(
        float(e.extra.get("surprise", 0)) >= STRIKING for e in episodes
    )


def _when(entry: Entry) -> str:
    return str(entry.extra.get("started_at") or entry.date or entry.created_at)


def _memory_beside(path: str) -> str:
    """The MEMORY.md of the level that a file of episodes belongs to."""
    folder = path.rpartition("/")[0]
    if folder == "tasks" or folder.endswith("/tasks"):
        folder = folder.removesuffix("tasks").rstrip("/")
    return f"{folder}/MEMORY.md" if folder else "MEMORY.md"

"""Uses of entries that hooks told: noted after a session, written when their file is written anyway."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

from memcli.app import App
from memcli.commands import reinforce
from memcli.storage.session_log import SessionLog

USED = 0.3
"""The share of an entry's own words that an agent who used it says."""
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


def is_used(entry_id: str, text: str, said: str, heard: str) -> bool:
    """Whether an agent's words show that it used an entry: its id, or words that it had from there.

    `heard` is what the person said: words of it prove nothing.
    """
    if entry_id[:8] in said:
        return True
    own = _words(text) - _words(heard)
    return bool(own) and len(own & _words(said)) >= USED * len(own)


def _words(text: str) -> set[str]:
    return set(_LONG_WORD.findall(text.lower()))


def note(app: App, session: str, said: str, heard: str) -> int:
    """Note which of the entries that a session was told it used; how many."""
    with app.state() as history:
        log = SessionLog(history)
        told = {each.entry for each in log.told(session)}
        if not told:
            return 0
        copies = app.index.entries.copies(told)
        texts = {copy.entry: f"{copy.title}\n{copy.text}" for copy in copies}
        used = [key for key, text in texts.items() if is_used(key, text, said, heard)]
        with history.transaction():
            log.wait(session, used, app.project.now.isoformat())
        return len(used)


def write(app: App, paths: Collection[str] | None = None) -> tuple[str, ...]:
    """Count the waiting uses of entries in these files (None: in all in view) where they stand.

    Whoever is stopped in between counts nothing twice: a session reinforces an entry once.
    """
    with app.state() as history:
        waiting = SessionLog(history).uses()
    if not waiting:
        return ()
    app.project.relist()
    app.refresh()
    chosen = _in_files(app, {entry for entries in waiting.values() for entry in entries}, paths)
    done: dict[str, None] = {}
    for session, entries in waiting.items():
        ids = tuple(entry for entry in entries if entry in chosen)
        if ids:
            request = reinforce.ReinforceRequest(listed=ids, session=session, mode="retrieved")
            done |= dict.fromkeys(reinforce.run(app, request).reinforced)
            with app.state() as history, history.transaction():
                SessionLog(history).counted(session, ids)
    return tuple(done)


def _in_files(app: App, entries: set[str], paths: Collection[str] | None) -> set[str]:
    """Which of these entries stand in one of the files."""
    names: Mapping[int, str] = {row.id: row.path for row in app.index.files().values()}
    wanted = {os.path.realpath(path) for path in paths} if paths is not None else None
    return {
        copy.entry
        for copy in app.index.entries.copies(entries)
        if wanted is None or os.path.realpath(app.project.path_of(names[copy.source])) in wanted
    }

"""What the scopes of extraction read beside the turns of a session: notes of the job,
memories of its levels."""

import os
from collections.abc import Iterable, Sequence

from memcli.extraction import prompts, scopes
from memcli.extraction.rules.words import rough
from memcli.extraction.scopes import Home
from memcli.memory.parser import KnownFile
from memcli.memory.values import Entry, Problem
from memcli.project import git
from memcli.project.context import Project, need_root, text_of, unread
from memcli.sessions.model import Session
from memcli.storage.files import Unreadable
from memcli.text.controls import clean_text

FILE_LENGTH = 12_000  # characters of INTENT.md and the notes of a job that are read
LEVELS = ("task", "job", "project")


def inputs_of(
    project: Project,
    session: Session,
    home: Home,
    known: Sequence[KnownFile],
    problems: list[Problem],
) -> dict[str, str]:
    """What the scopes read, by its name; what is not there is left out, what cannot be
    read is a problem."""
    inputs = {"transcript": "yes"}
    if any(turn.human and turn.text.strip() for turn in session.turns):
        inputs["human turns"] = "yes"
    inputs |= {name: _notes(project, home, name, problems) for name in scopes.FILES}
    inputs |= {
        f"{level} memories": _memories(known, level, home.job) for level in LEVELS
    }
    return {name: text for name, text in inputs.items() if text}


def _memories(known: Sequence[KnownFile], level: str, job: str) -> str:
    """The live entries of a level; of the project those that sessions left."""
    live = _live(known, level, job)
    if level == "project":
        live = [entry for entry in live if entry.extra.get("session_id")]
    return prompts.memories(
        [f"({entry.kind or entry.type}) {entry.body}" for entry in live]
    )


def known_memories(session: Session, known: Iterable[KnownFile], job: str) -> str:
    """The entries that share most with what the person said, shown to a model so
    that it does not repeat them."""
    entries = related(session, _live(known, "project", job))
    texts = [f"[{entry.id}] {' '.join(entry.body.split())[:300]}" for entry in entries]
    return prompts.memories(texts)


def _notes(project: Project, home: Home, name: str, problems: list[Problem]) -> str:
    """The cleaned text of a file in the job's directory; "" if there is none, or if
    git tracks the notes."""
    root = need_root(project)
    path = root / home.job_folder / name
    lines = name.endswith(".jsonl")
    if lines and os.path.lexists(path) and not git.own_files(root, [str(path)]):
        return ""
    try:
        text = text_of(project, path) or ""
    except Unreadable as error:
        problem = unread(f"{home.job_folder}/{name}".lstrip("/"), error)
        problems += [problem] if problem not in problems else []
        return ""
    most = FILE_LENGTH * 4
    text = clean_text(text[-most:] if lines else text[:most])
    return text if lines else text[:FILE_LENGTH]


def _live(known: Iterable[KnownFile], level: str, job: str) -> list[Entry]:
    live_entries = [
        entry
        for file in known
        if (file.place.level, file.place.store) == (level, "memory")
        and file.place.job in ("", job)
        for entry in file.memory.entries
        if entry.status != "retired" and entry.kind != "episode"
    ]
    return sorted(
        live_entries,
        key=lambda e: (e.last_reinforced, e.created_at, e.id),
        reverse=True,
    )


def related(session: Session, entries: Sequence[Entry], most: int = 12) -> list[Entry]:
    """The entries that share most with what the person said."""
    said = rough("\n".join(turn.text[:4000] for turn in session.turns if turn.human))
    shares = [(len(said & rough(entry.body)), entry) for entry in entries]
    best = sorted((one for one in shares if one[0] >= 3), key=lambda one: -one[0])
    return [entry for _, entry in best[:most]]

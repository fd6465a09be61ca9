"""What follows a finished session: learn from it, strengthen what it used, compact.
What was learned stays when a later step fails: that is told, not undone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands import compact
from memcli.commands.extract import AfterSession
from memcli.commands.history import note_sessions
from memcli.compaction.compact import count_uses
from memcli.compaction.reinforce import ReinforceRequest, reinforce
from memcli.errors import MemError
from memcli.extraction.extract import ExtractReport, ExtractRequest, Learned, extract
from memcli.hooks.before_tool import Command, names_of, runs, tool_call
from memcli.memory.changes import Event
from memcli.memory.prominence import USED, long_words
from memcli.project.globs import covers
from memcli.sessions.model import Turn
from memcli.similarity.claims import claim
from memcli.similarity.differences import negated_terms
from memcli.storage.state import SessionLog

_TICK = timedelta(seconds=1)  # what is told is dated to the second
_SENTENCES = re.compile(r"(?<=[.;!?])\s+|\n")


def run(
    app: App, request: ExtractRequest, *, dry_run: bool = False, strengthen: bool = True
) -> AfterSession:
    """Extract, then reinforce what the sessions recalled, then do all that is due."""
    writes = not (dry_run or request.show_prompt)
    if writes:  # what a killed run wrote is not learned again, so not finished
        _tried(app, app.workspace.recover)
    report = extract(app, request, dry_run=dry_run)
    if not writes:
        return AfterSession(report, (), (), report.patches)
    reinforced: list[str] = []
    compacted: list[Event] = []
    if strengthen:
        for learned in report.sessions:
            _tried(app, partial(_reinforce, app, report, learned, reinforced))
        if report.patches:  # the files are written anyway: what waited is written, too
            paths = [patch.path for patch in report.patches]
            _tried(app, lambda: reinforced.extend(count_uses(app, paths)))
    # What is due is a matter of days and stages, too; but a commit alone is no end of a session.
    if app.project.config.compact_after_extract and report.sessions:
        _tried(app, lambda: compacted.extend(compact.compact_due(app).done))
    note_sessions(app, request.transcripts)
    return AfterSession(report, tuple(reinforced), tuple(compacted), report.patches)


def _tried(app: App, work: Callable[[], object]) -> None:
    try:
        work()
    except MemError as error:
        app.notes.append(f"{error.what} ({error.hint})" if error.hint else error.what)


def _reinforce(app: App, report: ExtractReport, learned: Learned, reinforced: list[str]) -> None:
    turns = report.turns.get(learned.session)
    if learned.known or turns is None:
        return
    spoken = "\n".join(turn.text for turn in turns if turn.role != "tool")
    note_uses(app, learned.session, spoken, turns)
    with app.state() as history:
        recalled = history.recalled(learned.session)
    if not recalled:
        return
    mode, workflows = app.project.config.reinforce_mode, set()
    if learned.outcome == "success":
        app.project.relist()
        app.refresh()
        copies = app.index.entries.copies(recalled)
        workflows = {each.entry for each in copies if each.kind == "workflow"}
    request = ReinforceRequest(
        session=learned.session,
        mode=mode,
        spoken=spoken if mode != "retrieved" else None,
        succeeded=tuple(sorted(workflows & set(recalled))),
    )
    done = reinforce(app, request)
    reinforced += [*done.reinforced, *done.rated]


# --- which of what hooks told was used


class Deed(NamedTuple):
    """A call of a tool: when, the files it changed (from the root), the command, its words."""

    at: datetime
    files: tuple[str, ...]
    command: Command
    words: str


def note_uses(app: App, session: str, said: str, turns: Sequence[Turn]) -> None:
    """Note which of the entries that a session was told it used."""
    heard = "\n".join(turn.text for turn in turns if turn.role == "user")
    with app.state() as state:
        log = SessionLog(state)
        told: dict[str, datetime] = {}
        for each in log.told(session):
            told.setdefault(each.entry, datetime.fromisoformat(each.at).astimezone(UTC) + _TICK)
        copies = app.index.entries.copies(told) if told else ()
        deeds = list(_deeds(turns, app.project.root or app.project.cwd)) if copies else []
        used = {}
        for copy in copies:
            text = f"{copy.title}\n{copy.text}"
            later = [deed for deed in deeds if deed.at > told[copy.entry]]
            known = "\n".join([heard, *(deed.words for deed in deeds if deed not in later)])
            if is_used(copy.entry, text, said, known) or is_followed(text, copy.values, later):
                used[copy.entry] = text
        with state.transaction():
            log.wait(session, used, app.project.now.isoformat())


def is_used(entry_id: str, text: str, said: str, heard: str) -> bool:
    """Whether an agent's words show that it used an entry: its id, or words that it had from there
    and not from what was `heard` before.
    """
    own = long_words(text) - long_words(heard)
    taken = bool(own) and len(own & long_words(said)) >= USED * len(own)
    return taken or entry_id[:8] in said


def is_followed(text: str, values: Mapping[str, Any], deeds: Sequence[Deed]) -> bool:
    """Whether what was done is what an entry is about: a file where it forbids nothing; a command
    also where it names it in a sentence without a negation, never where in one with one.
    """
    sentences = _SENTENCES.split(text)
    refusing = [each for each in sentences if negated_terms(claim(each))]
    open_ones = [each for each in sentences if each not in refusing]
    paths, commands = (values.get(key) or () for key in ("paths", "commands"))

    def is_advised(deed: Deed) -> bool:
        if any(runs(deed.command, (), each) for each in refusing):
            return False
        if any(runs(deed.command, (), each) for each in open_ones):
            return True
        about = any(covers(paths, name) for name in deed.files)
        return not refusing and (about or runs(deed.command, commands, ""))

    return any(map(is_advised, deeds))


def _deeds(turns: Sequence[Turn], root: Path) -> Iterator[Deed]:
    names = cache(partial(names_of, root))
    for turn in turns:
        if turn.role == "assistant" and turn.tool and turn.time:
            call = tool_call(turn.input, turn.cwd or str(root))
            files = tuple(name for path in call.files for name in names(path))
            at = datetime.fromisoformat(turn.time)
            words = f"{turn.text} {' '.join(map(str, turn.input.values()))}"
            if call.files or call.command.whole:
                yield Deed(at.replace(tzinfo=at.tzinfo or UTC), files, call.command, words)

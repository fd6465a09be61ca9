"""mem extract: learn from finished sessions."""

from __future__ import annotations

import datetime
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli.app import App
from memcli.errors import DataError, MemError, UsageError
from memcli.extraction import engines, placement, prompts, rules, scopes, segmentation
from memcli.extraction.drafts import Draft
from memcli.extraction.engines import EngineInput
from memcli.extraction.places import Home, is_private, place_of, targets_of
from memcli.extraction.rules.sentences import spoken
from memcli.extraction.scopes import Skipped
from memcli.memory.conflicts import conflict_lines
from memcli.memory.parser import parse
from memcli.memory.values import Entry, Patch, Problem
from memcli.project import levels_on_disk
from memcli.project.context import current_stage, job_folder, text_of
from memcli.project.trust import own_files
from memcli.sessions import clean as cleaning
from memcli.sessions.model import Session
from memcli.storage.files import Unreadable, digest
from memcli.storage.state import Extraction, Failed

if TYPE_CHECKING:
    from memcli.providers.llm import Model

MOST = 10
DAYS = 14
QUIET = 1800
"""Seconds after which a session that nobody writes to counts as finished."""
AGENTS = 64 << 20
"""Bytes of the sub-agents' files of one session that are read."""
FILE_LENGTH = 12_000
"""Characters of INTENT.md and the notes of a job that are read."""
PRIVATE = ("proxy.md", "proxy.archive.md", "proxy-tasks/")


class ExtractRequest(NamedTuple):
    """What to learn from: `transcripts` are files, none discovers this repository's sessions.

    `text` is a transcript from standard input, for the name "-". `finished`: only sessions that
    have ended, for automatic runs.
    """

    transcripts: tuple[str, ...] = ()
    text: bytes = b""
    scopes: tuple[str, ...] = ()
    engine: str = "auto"
    all: bool = False
    job: str = ""
    task: str = ""
    format: str = ""
    show_prompt: bool = False
    finished: bool = False
    again: bool = False
    """Ask the model also about a session that was learned from and is not known to the state file."""


class Learned(NamedTuple):
    """What one session gave. `known` says that nothing in it was new; `cut` what was not looked at.

    `recalled` is what the session's recall log is asked for; `outcome` that of its last episode.
    """

    session: str
    name: str
    format: str
    turns: int
    known: bool = False
    events: tuple[placement.Placed, ...] = ()
    dropped: Mapping[str, int] = {}
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    cut: tuple[str, ...] = ()
    outcome: str = ""
    note: str = ""
    more: tuple[str, ...] = ()
    """What was found over the most that one session may leave."""


class ExtractReport(NamedTuple):
    """What was learned: by session, with the engine and why it was taken, and what was left for
    later.

    `more` names sessions that were found but not read; `prompts` is what would be sent
    (--show-prompt); `spoken` maps sessions to their words,
    `heard` to those of the person.
    """

    engine: str
    why: str
    sessions: tuple[Learned, ...]
    more: tuple[str, ...]
    problems: tuple[Problem, ...]
    prompts: tuple[str, ...]
    patches: tuple[Patch, ...]
    spoken: Mapping[str, str] = {}
    heard: Mapping[str, str] = {}


class _Source(NamedTuple):
    """One transcript to read, as it is named to people and as the state file knows it."""

    path: str
    name: str
    named: bool


def run(app: App, request: ExtractRequest, *, dry_run: bool = False) -> ExtractReport:
    """Learn from the sessions asked for: one write for each, all of it or nothing."""
    for name in request.scopes:
        if name not in scopes.BY_NAME:
            raise UsageError(f"--scope {name}: unknown scope", f"one of {', '.join(scopes.NAMES)}")
    if app.project.root is None:
        raise UsageError(
            "there is no project here", "run it inside a repository, or name one with --root"
        )
    if request.job:
        job_folder(app.project, request.job)
    engine, why, model = _engine(app, request)
    work = _Run(app, request, model, llm=engine == "llm", dry_run=dry_run)
    more = work.all()
    return ExtractReport(
        engine,
        why,
        tuple(work.learned),
        more,
        tuple(work.problems),
        tuple(work.shown),
        work.patches(),
        work.spoken,
        work.heard,
    )


def _engine(app: App, request: ExtractRequest) -> tuple[str, str, Model | None]:
    """The engine, why it is that one, and its model. Naming the engine is consent for one run."""
    configured = app.project.config.llm
    if request.engine == "rules":
        return "rules", "asked for", None
    if request.engine == "auto" and configured == "none":
        return (
            "rules",
            'no language model is enabled (llm = "anthropic" in the user file, or --engine llm)',
            None,
        )
    name = configured if configured != "none" else "anthropic"
    why = (
        "asked for"
        if request.engine == "llm"
        else "enabled by the configuration (--engine rules does without)"
    )
    return "llm", f"{name}, {why}", None if request.show_prompt else app.providers.model_of(name)


def _folder_of_job(app: App, job: str) -> str:
    assert app.project.root is not None
    if job in (".", "..") or "/" in job or os.sep in job or "\0" in job:
        raise UsageError(f"--job {job}: no name of a job", "give the name of its folder")
    for jobs in app.project.jobs_dirs:
        if (app.project.root / jobs / job).is_dir():
            return f"{jobs}/{job}"
    raise UsageError(
        f"--job {job}: no such job", f"its folder would be {app.project.jobs_dirs[-1]}/{job}"
    )


class _Run:
    """One run over several sessions. With `dry_run` the texts that would be written lie over the
    files.
    """

    def __init__(
        self, app: App, request: ExtractRequest, model: Model | None, *, llm: bool, dry_run: bool
    ) -> None:
        self.app = app
        self.request = request
        self.model = model
        self.project = app.project.root.name if app.project.root is not None else ""
        self.llm = llm
        self.dry_run = dry_run or request.show_prompt
        self.learned: list[Learned] = []
        self.problems: list[Problem] = []
        self.shown: list[str] = []
        self.spoken: dict[str, str] = {}
        self.heard: dict[str, str] = {}
        self.before: dict[str, str | None] = {}
        self.after: dict[str, str] = {}
        self.seen: set[str] = set()

    def patches(self) -> tuple[Patch, ...]:
        """What was, or would be, written: one patch a file."""
        paths = sorted(self.after)
        return tuple(
            Patch(self.app.project.path_of(name), self.before[name], self.after[name])
            for name in paths
        )

    # --- which sessions

    def all(self) -> tuple[str, ...]:
        """Learn from every session asked for; the names of those that are left for later."""
        sources, more = self._sources()
        for source in sources:
            try:
                self._source(source)
            except DataError as error:
                if source.named and len(sources) == 1:
                    raise
                self.problems.append(Problem(source.name, 1, error.what, "unreadable"))
        return more

    def _source(self, source: _Source) -> None:
        """Learn from the sessions of one transcript, and remember how far it was read."""
        sessions, position = self._read(source)
        done = [self._session(source, session, position) for session in sessions]
        if (
            done
            and all(done)
            and not self.dry_run
            and source.path != "-"
            and not self.request.scopes
        ):
            self._keep(source, sessions, [each for each in done if each])

    def _sources(self) -> tuple[list[_Source], tuple[str, ...]]:
        if self.request.transcripts:
            names = dict.fromkeys(self.request.transcripts)
            return [_Source(_absolute(self.app, name), name, True) for name in names], ()
        return self._discovered()

    def _discovered(self) -> tuple[list[_Source], tuple[str, ...]]:
        """This repository's sessions that were not read to their end: the latest few; the others'
        names.

        Files of sub-agents are left out: what they found out stands in their parent's.
        """
        from memcli.sessions.discover import discover

        assert self.app.project.root is not None
        fresh, more = [], []
        found, unread, _ = discover(self.app.project.environ, [self.app.project.root])
        self.problems += [Problem(str(path), 1, why, "unreadable") for path, why in unread]
        for file in found:
            known = self._position(str(file.path))
            same = known is not None and (known.size, known.mtime) == (file.size, file.mtime)
            if not (file.parent or same or (self.request.finished and _is_running(file.mtime))):
                fresh.append(file)
        for at, file in enumerate(fresh):
            recent = (
                self.app.project.now - datetime.date.fromtimestamp(file.mtime / 1e9)
            ).days <= DAYS
            if not (self.request.all or (at < MOST and recent)):
                more.append(str(file.path))
        chosen = [str(file.path) for file in reversed(fresh) if str(file.path) not in more]
        return [_Source(path, path, False) for path in chosen], tuple(more)

    def _read(self, source: _Source) -> tuple[list[Session], Extraction | None]:
        """The sessions of a transcript, read on from where reading stopped when memory has the
        receipt.
        """
        from memcli.sessions.reader import Position, read_all

        form, arguments = self.request.format, self._arguments()
        if source.path == "-":
            import io

            text = io.BytesIO(self.request.text)
            return read_all(text, format=form, seen=self.seen, arguments=arguments), None
        known = self._position(source.path)
        resumed = known if known is not None and known.end and self._has_receipt(known) else None
        start = (
            Position(resumed.size, resumed.mtime, resumed.end, resumed.head)
            if resumed
            else Position()
        )
        try:
            found = read_all(
                source.path,
                format=form,
                start=start,
                seen=self.seen,
                folders=[str(self.app.project.root)],
                arguments=arguments,
            )
        except OSError as error:
            raise DataError(f"{source.name}: cannot be read: {error.strerror or error}") from None
        found = [self._with_agents(Path(source.path), session) for session in found]
        return [session for session in found if session.turns or len(found) == 1], resumed

    def _with_agents(self, path: Path, session: Session) -> Session:
        """A session with what its sub-agents did, which lies in files of their own."""
        from memcli.sessions.discover import agents_of, is_agent
        from memcli.sessions.reader import joined, read_all

        if session.format != "claude" or not session.turns or is_agent(path):
            return session
        room = AGENTS
        for agent in agents_of(path, session.id):
            try:
                room -= agent.stat().st_size
                if room < 0:
                    return session._replace(cut=session.cut + 1)
                theirs = read_all(
                    agent, format="claude", seen=self.seen, arguments=rules.ARGUMENTS
                )[-1]
            except (DataError, OSError) as error:
                self.problems.append(
                    Problem(agent.name, 1, getattr(error, "what", str(error)), "unreadable")
                )
                continue
            session = joined(session, theirs)
        return session

    def _arguments(self) -> frozenset[str] | None:
        """What is kept of tool calls; None for all. The rules judge what people and agents say."""
        if self.llm:
            return None
        return rules.ARGUMENTS

    def _position(self, path: str) -> Extraction | None:
        try:
            with self.app.state() as history:
                return history.extraction(_name_of(path))
        except (MemError, Failed, OSError):
            return None

    def _has_receipt(self, known: Extraction) -> bool:
        """Whether an episode in memory says that the session was read up to there."""
        return any(
            entry.kind == "episode"
            and entry.extra.get("session_id") == known.session
            and any(str(s).endswith(f"#{known.last}") for s in _list(entry.extra.get("source")))
            for file in self._known(Home())
            for entry in file.memory.entries
        )

    # --- one session

    def _session(
        self, source: _Source, raw: Session, position: Extraction | None
    ) -> _Progress | None:
        """Learn from one session; how far one got, None when nothing is to be remembered."""
        session = cleaning.clean_session(raw)
        session = session._replace(id=session.id or f"session-{digest(_seed(session))[:16]}")
        home = self._home(session)
        known = self._known(home)
        first = placement.receipt(session, known)
        task = position.task if position is not None else cleaning.task_of(session.turns)
        head = Learned(session.id, session.name, session.format, len(session.turns) - first)
        again = bool(first or position)
        said = any(t.text.strip() and (t.human or spoken(t)) for t in session.turns[first:])
        unsure = self.llm and first and position is None and not self.request.again
        if not said or unsure:
            note = "nothing new" if again else "nothing was said"
            if unsure and said:
                note = "learned from before; --again asks the model about the rest"
            self.learned.append(head._replace(known=again, note=note))
            return _Progress(session, task)
        return self._learn(head, session, first, task, home)

    def _learn(
        self, head: Learned, session: Session, first: int, task: str, home: Home
    ) -> _Progress | None:
        inputs = self._inputs(session, home)
        runs, skipped = scopes.chosen(
            self.request.scopes,
            inputs,
            job=home.job,
            task=home.task,
            llm=self.llm,
            global_on=self.app.project.config.extract_global,
        )
        segments = segmentation.segments(session.turns[first:], first)
        left = max(0, rules.MOST - placement.lessons_of(session, self._known(home)))
        given = EngineInput(
            session, first, segments, inputs, home.job_folder, self.project,
            self.app.project.now.isoformat(), left,
        )  # fmt: skip
        if self.request.show_prompt:
            self.shown += engines.sent(given, runs) if self.llm else []
            self.learned.append(head._replace(skipped=skipped))
            return None
        found = engines.find(given, runs, self.model)
        outcome = self._write(found.drafts, self._context(session, task, home), home, session)
        dropped = Counter(found.dropped)
        dropped.update(outcome.dropped)
        ended = [item.outcome for item in found.drafts if item.finding.scope == "episode"]
        turns = session.turns[first:]
        self.heard[session.id] = "\n".join(turn.text for turn in turns if turn.role == "user")
        self.spoken[session.id] = "\n".join(turn.text for turn in turns if turn.role != "tool")
        self.learned.append(
            head._replace(
                events=outcome.events,
                dropped=dict(dropped),
                skipped=skipped,
                failed=found.failed,
                cut=(*_left_out(session), *found.cut),
                outcome=ended[-1] if ended else "",
                more=found.more,
            )
        )
        return _Progress(session, task) if found.drafts or not found.failed else None

    def _home(self, session: Session) -> Home:
        """The job and task whose directory holds the session's working directory, else those named."""
        app, request = self.app, self.request
        assert app.project.root is not None
        view = levels_on_disk.View()
        if os.path.isabs(session.cwd):
            view = levels_on_disk.view_of(
                Path(os.path.realpath(session.cwd)), app.project.root, app.project.jobs_dirs
            )
        job = view.job if view.job and _is_job(app, view.job) else request.job
        if not job:
            return Home()
        folder = job_folder(app.project, job)
        task = view.task if view.job == job and view.task else request.task
        inner = f"{folder}/tasks/{task}"
        if not task or not (app.project.root / inner).is_dir():
            if task and task == request.task:
                raise UsageError(f"--task {task}: no such task", f"its folder would be {inner}")
            return Home(job, "", folder)
        worktree = f"{inner}/worktree"
        return Home(
            job, task, folder, worktree if (app.project.root / worktree).is_dir() else inner
        )

    def _context(self, session: Session, task: str, home: Home) -> placement.Context:
        today = self.app.project.now.isoformat()
        return placement.Context(
            session.id, session.name, task, current_stage(self.app.project, home.job), today,
            targets_of(session.id, home), self.app.project.config.episodes_keep,
        )  # fmt: skip

    # --- what there is

    def _known(self, home: Home) -> list[placement.KnownFile]:
        """Every memory file and archive, as it is or would be; those that cannot be read are named."""
        app = self.app
        app.project.relist()
        found = []
        for file in app.project.listing.files:
            own = (file.place.job, file.place.task) == (home.job, home.task) and bool(home.job)
            writable = app.project.may_write(file) or own
            try:
                memory = (
                    parse(self.after[file.name], file.name)
                    if file.name in self.after
                    else app.project.read(file)
                )
            except Unreadable as error:
                problem = Problem(file.name, error.line, str(error), "unreadable")
                self.problems += [problem] if problem not in self.problems else []
                continue
            found.append(
                placement.KnownFile(
                    file.place, memory, writable and not conflict_lines(memory.text)
                )
            )
        listed = {file.memory.path for file in found}
        for name in self.after.keys() - listed if self.dry_run else ():
            found.append(placement.KnownFile(place_of(name, home), parse(self.after[name], name)))
        return found

    def _inputs(self, session: Session, home: Home) -> dict[str, str]:
        """What the scopes read beside the turns, by its name; what is not there is left out."""
        human = [turn for turn in session.turns if turn.human and turn.text.strip()]
        inputs = {"transcript": "yes", "human turns": "yes" if human else ""}
        known = self._known(home)
        levels = {"task memories": "task", "job memories": "job", "project memories": "project"}
        for name, level in levels.items():
            texts = [
                _told(e) for e in _entries(known, level, home.job) if level != "project" or _own(e)
            ]
            inputs[name] = prompts.memories(texts)
        for name in scopes.FILES:
            inputs[name] = self._file(home, name) if self._is_own(home, name) else ""
        if self.llm:
            related = placement.related(session, _entries(known, "project", home.job))
            inputs["known memories"] = prompts.memories([_named(entry) for entry in related])
        return {name: text for name, text in inputs.items() if text}

    def _is_own(self, home: Home, name: str) -> bool:
        """False of notes that a repository brings: what is said in them nobody here has said."""
        if (
            name not in (".assumptions.jsonl", ".interventions.jsonl")
            or self.app.project.root is None
        ):
            return True
        path = str(self.app.project.root / home.job_folder / name)
        return not os.path.lexists(path) or path in own_files(self.app.project.root, [path])

    def _file(self, home: Home, name: str) -> str:
        """A file of the job's directory (without a job the root's), cleaned; "" when there is none."""
        assert self.app.project.root is not None
        path = self.app.project.root / home.job_folder / name
        try:
            text = text_of(self.app.project, path) or ""
        except Unreadable as error:
            self.problems.append(
                Problem(
                    f"{home.job_folder}/{name}".lstrip("/"), error.line, str(error), "unreadable"
                )
            )
            return ""
        cut = text[-FILE_LENGTH * 4 :] if name.endswith(".jsonl") else text[: FILE_LENGTH * 4]
        clean = cleaning.clean_text(cut)
        return clean if name.endswith(".jsonl") else clean[:FILE_LENGTH]

    # --- writing

    def _write(
        self, items: Sequence[Draft], context: placement.Context, home: Home, session: Session
    ) -> placement.Outcome:
        """Plan while other writers are kept out, and write: all patches of a session or none."""
        outcomes: list[placement.Outcome] = []

        def plan() -> _Written:
            known = self._known(home)
            outcome = placement.plan(items, context, known, session)
            outcomes[:] = [outcome]
            patches = [
                self._patch(name, text, known) for name, text in sorted(outcome.texts.items())
            ]
            if not self.dry_run and any(is_private(name) for name in outcome.texts):
                self._hide(PRIVATE)
            return _Written(tuple(patches))

        self.app.write(plan, "extract", dry_run=self.dry_run)
        for name, text in outcomes[0].texts.items():
            self.after[name] = text
        return outcomes[0]

    def _patch(self, name: str, text: str, known: Iterable[placement.KnownFile]) -> Patch:
        """The patch of one file. What cannot be read, or has conflict markers, is not written."""
        path = self.app.project.path_of(name)
        memory = next((file.memory for file in known if file.memory.path == name), None)
        if memory is None and os.path.lexists(path) and not (self.dry_run and name in self.after):
            raise DataError(
                f"{name}: cannot be read; nothing of this session is written", "mem doctor"
            )
        if memory is not None and (lines := conflict_lines(memory.text)):
            raise DataError(
                f"{name}:{lines[0]}: has conflict markers; nothing of this session is written",
                "resolve them first",
            )
        before = memory.text if memory is not None else None
        self.before.setdefault(name, before)
        return Patch(path, before, text)

    def _hide(self, names: Sequence[str]) -> None:
        """Keep private files out of git before they are made."""
        from memcli.project import git

        assert self.app.project.root is not None
        top = git.work_tree(self.app.project.root) or self.app.project.root
        inner = os.path.relpath(self.app.project.root, top)
        base = "/" if inner == "." else f"/{inner}/"
        git.exclude(self.app.project.root, [base + name for name in names])

    # --- how far one has got

    def _keep(
        self, source: _Source, sessions: Sequence[Session], done: Sequence[_Progress]
    ) -> None:
        """Remember how far was read. What failed is read again, without what was done already."""
        last = max(done, key=lambda each: each.session.ended)
        session, whole = last.session, sessions[-1]
        found = Extraction(
            whole.size,
            whole.mtime,
            0 if len(sessions) > 1 else whole.end,
            whole.head,
            session.id,
            last.task,
            session.turns[-1].key if session.turns else "",
        )
        if not session.turns and self._position(source.path) is not None:
            return
        try:
            with self.app.state() as history:
                history.keep_extraction(_name_of(source.path), found)
        except (MemError, Failed, OSError) as error:
            self.app.notes.append(
                f"how far {source.name} was read could not be remembered: {error}"
            )


class _Progress(NamedTuple):
    """How far one got in a session."""

    session: Session
    task: str


class _Written(NamedTuple):
    patches: tuple[Patch, ...]


def _seed(session: Session) -> bytes:
    return "\n".join(turn.text for turn in session.turns[:20]).encode("utf-8", "replace")


def _absolute(app: App, name: str) -> str:
    if name == "-":
        return name
    path = os.path.abspath(app.project.cwd / os.path.expanduser(name))
    if not os.path.exists(path):
        raise UsageError(f"{name}: no such file", "name a transcript, or - for standard input")
    return path


def _name_of(path: str) -> str:
    """How the state file calls a transcript: names of files can hold secrets."""
    return digest(os.fsencode(path))


def _is_running(mtime: int) -> bool:
    """Whether a session was written to within the last half hour."""
    return time.time() - mtime / 1e9 < QUIET


def _left_out(session: Session) -> Iterable[str]:
    """What the reader did not take in."""
    if session.cut:
        yield f"{session.cut} turns were left out, the session is too large to be held"
    if session.skipped:
        yield f"{session.skipped} lines were not understood"


def _is_job(app: App, job: str) -> bool:
    assert app.project.root is not None
    return any((app.project.root / jobs / job).is_dir() for jobs in app.project.jobs_dirs)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _entries(known: Iterable[placement.KnownFile], level: str, job: str) -> list[Entry]:
    """The live entries of a level (of this job), the latest first."""
    found = [
        entry
        for file in known
        if file.place.level == level
        and file.place.store == "memory"
        and file.place.job in ("", job)
        for entry in file.memory.entries
        if entry.status != "retired" and entry.kind != "episode"
    ]
    return sorted(found, key=lambda e: (e.last_reinforced, e.created_at, e.id), reverse=True)


def _own(entry: Entry) -> bool:
    """Whether an entry was learned in a session of one's own."""
    return bool(entry.extra.get("session_id"))


def _named(entry: Entry) -> str:
    return f"[{entry.id}] " + " ".join(entry.body.split())[:300]


def _told(entry: Entry) -> str:
    return f"({entry.kind or entry.type}) {entry.body}"

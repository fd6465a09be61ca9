"""Learn from finished sessions: read, find, and write what was found, each session by
itself."""

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memcli.app import App
from memcli.errors import DataError, one_of
from memcli.extraction import (
    engines,
    placement,
    proposals,
    rules,
    scopes,
)
from memcli.extraction.doors import SessionDoors
from memcli.extraction.drafts import FindingDraft
from memcli.extraction.engines import EngineInput
from memcli.extraction.inputs import inputs_of, known_memories
from memcli.extraction.known_entries import receipt
from memcli.extraction.patches import keep_private, patch_of
from memcli.extraction.rules.last_said import as_it_stands
from memcli.extraction.rules.words import spoken
from memcli.extraction.scopes import Home, Skipped, targets_of
from memcli.extraction.segments import segments
from memcli.extraction.transcripts import Transcripts
from memcli.memory.grammar import conflict_lines
from memcli.memory.parser import KnownFile
from memcli.memory.values import Patch, Problem, listed
from memcli.project import context
from memcli.project.context import (
    current_stage,
    job_folder,
    need_root,
    task_folder,
)
from memcli.project.unlisted import with_lost
from memcli.sessions import speakers
from memcli.sessions.model import Session, Turn
from memcli.storage.state import Extraction
from memcli.text.digests import digest

if TYPE_CHECKING:
    from memcli.providers.llm import Model


class ExtractRequest(NamedTuple):
    """What to learn from: files ("-" is `text`), else what is new; `again` asks a model
    anew."""

    transcripts: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    text: bytes = b""
    engine: str = "auto"
    all: bool = False
    finished: bool = False
    job: str = ""
    task: str = ""
    again: bool = False
    format: str = ""
    show_prompt: bool = False


class Learned(NamedTuple):
    """What one session gave; `known`: nothing new; `cut`: not looked at."""

    turns: int
    session: str
    name: str
    format: str
    known: bool = False
    note: str = ""
    events: tuple[placement.PlacedFinding, ...] = ()
    outcome: str = ""
    dropped: Mapping[str, int] = {}
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    cut: tuple[str, ...] = ()
    more: tuple[str, ...] = ()  # over the most of a session
    proposed: tuple[str, ...] = ()  # the titles of what waits for a yes
    refused: tuple[str, ...] = ()  # what was taken back, and what would write it


class ExtractReport(NamedTuple):
    """What was learned; `more` are sessions not read, `turns` what was new in those
    that were."""

    sessions: tuple[Learned, ...]
    engine: str
    more: tuple[str, ...]
    problems: tuple[Problem, ...]
    prompts: tuple[str, ...]
    patches: tuple[Patch, ...]
    turns: Mapping[str, Sequence[Turn]] = {}
    read: Mapping[str, Sequence[Session]] = {}  # path -> what stands there


def extract(
    app: App,
    request: ExtractRequest,
    *,
    begin: Callable[[], Mapping[str, str]] = dict,
) -> ExtractReport:
    """Learn from the sessions asked for: one write for each, all of it or nothing.

    `begin` is called before the first of them; it returns the stages that were current
    when they began, by job."""
    for name in request.scopes:
        one_of("--scope", name, scopes.NAMES)
    need_root(app.project)
    if request.job:
        job_folder(app.project, request.job)
    engine, model = _engine(app, request)
    run = _Extraction(app, request, model, llm=engine == "llm")
    run.begin = begin
    more = run.all()
    return ExtractReport(
        sessions=tuple(run.learned),
        engine=engine,
        more=more,
        problems=tuple(run.problems),
        prompts=tuple(run.shown),
        patches=tuple(run.patches[path] for path in sorted(run.patches)),
        turns=run.turns,
        read=run.transcripts.whole,
    )


def _engine(app: App, request: ExtractRequest) -> "tuple[str, Model | None]":
    """The engine, and its model. Naming the engine is consent for one run."""
    name = app.project.config.llm
    if request.engine == "rules" or (request.engine, name) == ("auto", "none"):
        return "rules", None
    name = "anthropic" if name == "none" else name
    return "llm", None if request.show_prompt else app.providers.model_of(name)


class _Extraction:
    """One run over several sessions."""

    def __init__(
        self,
        app: App,
        request: ExtractRequest,
        model: "Model | None",
        *,
        llm: bool,
    ) -> None:
        self.app = app
        self.request = request
        self.model = model
        self.llm = llm
        self.project = app.project
        self.root = need_root(app.project)
        self.transcripts = Transcripts(
            app,
            request.format,
            request.text,
            whole=llm,
            named=bool(request.transcripts),
        )
        self.problems = self.transcripts.problems
        self.begin: Callable[[], Mapping[str, str]] = dict
        self.learned: list[Learned] = []
        self.shown: list[str] = []
        self.turns: dict[str, Sequence[Turn]] = {}
        self.patches: dict[str, Patch] = {}
        why = "what was proposed before is not known"
        self.proposed = proposals.known(app, why=why)

    def all(self) -> tuple[str, ...]:
        """Learn from every session asked for; the names of those that are left for
        later."""
        request = self.request
        more = tuple[str, ...]()
        named = dict.fromkeys(request.transcripts)
        sources = [(self.transcripts.path(name), name) for name in named]
        if not sources:
            found, more = self.transcripts.discovered(
                every=request.all, finished=request.finished
            )
            sources = [(path, path) for path in found]
        for path, name in sources:
            try:
                self._transcript(path, name)
            except DataError as error:
                if request.transcripts and len(sources) == 1:
                    raise
                self.problems.append(
                    Problem(
                        path=name, line=1, message=error.what, severity="unreadable"
                    )
                )
        return more

    def _transcript(self, path: str, name: str) -> None:
        sessions, position = self.transcripts.read(path, name, self._has_receipt)
        done = [self._session(session, position) for session in sessions]
        reached = [each for each in done if each is not None]
        whole = len(reached) == len(done) and not self.request.scopes
        if reached and whole and path != "-":
            self.transcripts.keep(path, name, sessions, reached)

    def _has_receipt(self, known: Extraction) -> bool:
        """Whether an episode in memory says that the session was read up to there."""
        return any(
            key.endswith(f"#{known.last}")
            for file in self._known(Home())
            for entry in file.memory.entries
            if entry.kind == "episode"
            and entry.extra.get("session_id") == known.session
            for key in listed(entry, "source")
        )

    def _session(
        self, raw: Session, position: Extraction | None
    ) -> tuple[Session, str] | None:
        """Learn from one session; it and its task, None when nothing is to be
        remembered."""
        cleaned = as_it_stands(_named(speakers.clean_session(raw)))
        session = self.transcripts.as_read_before(cleaned)
        _ = self.stages  # they move before anything is learned
        home = self._home(session)
        first = receipt(session, self._known(home))
        task = speakers.task_of(session.turns) if position is None else position.task
        turns = session.turns[first:]
        head = Learned(
            turns=len(turns),
            session=session.id,
            name=session.name,
            format=session.format,
            cut=_not_looked_at(session),
        )
        was_read = bool(first or position)
        asked_before = self.llm and first and position is None
        if not any(_is_said(turn) for turn in turns):
            form = self.request.format
            of_format = f" in the format {form}" if form else ""
            note = "nothing new" if was_read else f"nothing was said{of_format}"
        elif asked_before and not self.request.again:
            note = "learned from before; --again asks the model about the rest"
        else:
            learned = self._learn(head, session, first, home, task)
            return (session, task) if learned else None
        self.learned.append(head._replace(known=was_read, note=note))
        return session, task

    def _learn(
        self, head: Learned, session: Session, first: int, home: Home, task: str
    ) -> bool:
        """Learn from what is new in a session; return whether it is done, so that
        nothing has to be tried again."""
        config = self.project.config
        known = self._known(home)
        inputs = inputs_of(self.project, session, home, known, self.problems)
        if self.llm and (related := known_memories(session, known, home.job)):
            inputs["known memories"] = related
        left = rules.MOST - _lessons(session, task, known)
        given = self._given(session, first, home, inputs, left)
        runs, skipped = scopes.chosen(
            self.request.scopes,
            inputs,
            home,
            llm=self.llm,
            global_on=config.extract_global,
        )
        head = head._replace(skipped=skipped)
        if self.request.show_prompt:
            self.shown += engines.sent(given, runs) if self.llm else []
            self.learned.append(head)
            return False
        model = self.model
        if config.learn == "off":
            runs = tuple(scope for scope in runs if scope.name == "episode")
            model = None
        findings = engines.find(given, runs, model)
        context = placement.Context(
            session=session,
            task=task,
            phase=self._phase(home.job),
            today=given.today,
            targets=targets_of(session.id, home),
            keep=config.episodes_keep,
            likeness=self._likeness,
            forgotten=self.app.forgotten(),
        )
        self.turns[session.id] = session.turns[first:]
        self.learned.append(self._placed(head, findings, context, home))
        return bool(findings.drafts) or not findings.failed

    def _likeness(self, about: str, texts: Sequence[str]) -> Sequence[float]:
        """The cosines of words with texts, by vectors that are computed on this
        machine."""
        embedder = self.app.providers.embedder
        if embedder is None or embedder.provider != "local" or not texts:
            return ()
        mine, *others = embedder.embed([about, *texts])
        return [cosine_of(mine, other) for other in others]

    def _given(
        self,
        session: Session,
        first: int,
        home: Home,
        inputs: Mapping[str, str],
        left: int,
    ) -> EngineInput:
        """What an engine looks at, to find as many lessons as are `left`."""
        return EngineInput(
            session=session,
            first=first,
            segments=segments(session.turns[first:], first),
            inputs=inputs,
            folder=home.job_folder,
            root=self.root,
            today=self.project.now.isoformat(),
            left=max(0, left),
            learn=self.project.config.learn,
        )

    def _placed(
        self,
        head: Learned,
        findings: engines.Findings,
        context: placement.Context,
        home: Home,
    ) -> Learned:
        """Write what is certain, and let the rest wait for a yes."""
        doors = SessionDoors(self.app, self.proposed, context.session)
        drafts = [*filter(None, map(doors.judged, findings.drafts))]
        outcome = self._write(drafts, context, home)
        waiting = doors.close(outcome.proposed, context, home)
        dropped = Counter(findings.dropped) + Counter(outcome.dropped) + doors.dropped
        ends = [
            each.outcome for each in findings.drafts if each.scope.name == "episode"
        ]
        return head._replace(
            events=outcome.events,
            dropped=dict(dropped),
            outcome="".join(ends[-1:]),
            cut=(*head.cut, *findings.cut),
            refused=outcome.refused,
            failed=findings.failed,
            more=findings.more,
            proposed=tuple(one.title for one in waiting),
        )

    @cached_property
    def stages(self) -> Mapping[str, str]:
        """The stages when the sessions began, by job."""
        return self.begin()

    def _phase(self, job: str) -> str:
        """The stage of a session of that job: the one before this run, else the
        current one."""
        known = self.stages.get(job) or self.stages.get("", "unknown")
        return known if known != "unknown" else current_stage(self.project, job)

    def _home(self, session: Session) -> Home:
        """The job and task whose directory the session worked in, else those named."""
        project = self.project
        request = self.request
        view = context.View()
        if os.path.isabs(session.cwd):
            cwd = Path(os.path.realpath(session.cwd))
            view = context.view_of(cwd, self.root, project.jobs_dirs)
        if not any(
            (self.root / jobs / view.job).is_dir() for jobs in project.jobs_dirs
        ):
            view = context.View()
        if not (job := view.job or request.job):
            return Home()
        folder = job_folder(project, job)
        task = (view.task if view.job else "") or request.task
        if task and (
            task == request.task or (self.root / folder / "tasks" / task).is_dir()
        ):
            return Home(
                job=job,
                task=task,
                job_folder=folder,
                task_folder=task_folder(project, folder, task),
            )
        return Home(job, "", folder)

    def _known(self, home: Home) -> list[KnownFile]:
        """Every memory file and archive; the unreadable are named."""
        project = self.project
        known_files = list[KnownFile]()
        problems = list[Problem]()
        project.relist()
        for each in context.read_known(project, project.listing.files, problems):
            is_own = bool(home.job) and (each.place.job, each.place.task) == (
                home.job,
                home.task,
            )
            writable = (each.writable or is_own) and not conflict_lines(
                each.memory.text
            )
            known_files.append(each._replace(writable=writable))
        self.problems += [
            problem for problem in problems if problem not in self.problems
        ]
        return with_lost(project.root or project.home, known_files)

    def _write(
        self, items: Sequence[FindingDraft], context: placement.Context, home: Home
    ) -> placement.Outcome:
        """Plan under the lock and write: all patches of a session or none."""

        def plan() -> placement.Outcome:
            known = self._known(home)
            outcome = placement.plan(items, context, known)
            if not self.app.is_rehearsal:
                keep_private(self.root, outcome.texts)
            patches = tuple(
                patch_of(self.project, name, text, known)
                for name, text in sorted(outcome.texts.items())
            )
            return outcome._replace(patches=patches)

        outcome = self.app.write(plan, "extract", note=placement.Outcome.proposed_ids)
        for patch in outcome.patches:
            first = self.patches.get(patch.path, patch)
            self.patches[patch.path] = patch._replace(before=first.before)
        return outcome


def _named(session: Session) -> Session:
    """A session that has no id gets one from its first turns."""
    if session.id:
        return session
    begin = "\n".join(turn.text for turn in session.turns[:20])
    return session._replace(
        id=f"session-{digest(begin.encode('utf-8', 'replace'))[:16]}"
    )


def _lessons(session: Session, task: str, known: Sequence[KnownFile]) -> int:
    """How many lessons of a session stand in a file: they count toward the most that it
    may leave. One with another task is another session in a file of the same name."""
    return sum(
        str(entry.extra.get("session_id")) == session.id
        and entry.extra.get("session_task") == task
        and entry.kind != "episode"
        for file in known
        for entry in file.memory.entries
    )


def _not_looked_at(session: Session) -> tuple[str, ...]:
    """What of a session was not looked at, and why."""
    whys = {
        "turns were left out, the session is too large to be held": session.cut,
        "lines were not understood": session.skipped,
    }
    return tuple(f"{count} {why}" for why, count in whys.items() if count)


def _is_said(turn: Turn) -> bool:
    return bool(turn.text.strip()) and (turn.human or spoken(turn))


def cosine_of(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors, 0 where one is empty."""
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / lengths if lengths else 0.0

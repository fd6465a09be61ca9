"""What was recalled and used gets stronger: once for each session and entry."""

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli.app import App
from memcli.compaction.plan import CompactOutcome, MemoryInput
from memcli.errors import UsageError
from memcli.index.upkeep import Located, locate
from memcli.memory import prominence
from memcli.memory.changes import ChangeSet, Spot
from memcli.memory.parser import MemoryFile, sections
from memcli.memory.prominence import is_reviewed, is_used, reviewed, stronger
from memcli.memory.values import Entry, Patch, Problem, listed
from memcli.storage.files import Unreadable
from memcli.storage.state import SessionLog

if TYPE_CHECKING:
    from memcli.providers.llm import Model
    from memcli.storage.state import State
    from memcli.storage.workspace import Workspace

MOST_RATED = 40  # so many entries go into one question
CHANGED = "has changed while the model answered: run again"
Use = tuple[str, str]  # A session, and the id of an entry that it used


class ReinforceRequest(NamedTuple):
    """Ids that were typed, of a list, or of the recall log of `session`, and ratings by id.

    `spoken` is the text of the session (modes aligned and rated).
    """

    ids: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    session: str = ""
    mode: str = ""
    spoken: str | None = None
    rates: Mapping[str, str] = {}
    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    explicit: bool = False

    @property
    def typed(self) -> tuple[str, ...]:
        return (*self.ids, *self.rates, *self.succeeded, *self.failed)


class ReinforceReport(NamedTuple):
    """Ids by what became of them; `patches` hold the new texts."""

    reinforced: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    rated: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    typed_unknown: tuple[str, ...] = ()
    skipped: tuple[Problem, ...] = ()
    patches: tuple[Patch, ...] = ()

    @property
    def touched(self) -> tuple[str, ...]:
        return (*self.reinforced, *self.weakened, *self.rated)


def reinforce(app: App, request: ReinforceRequest, *, dry_run: bool = False) -> ReinforceReport:
    """Reinforce, weaken or rate entries; once per session and id."""
    for entry, rating in request.rates.items():
        if rating not in prominence.RATINGS:
            known = ", ".join(prominence.RATINGS)
            raise UsageError(f"--rate {entry}={rating}: unknown rating", f"one of {known}")
    mode = app.project.config.reinforce_mode
    if not request.mode and request.spoken is not None and mode != "rated":
        mode = "aligned"  # a session's words make use of themselves
    asked = request._replace(mode=request.mode or mode)
    if asked.mode in ("aligned", "rated") and request.spoken is None:
        raise UsageError(f"mode {asked.mode} needs the session", "name it with --transcript FILE")
    model = app.providers.require_model("mode rated") if asked.mode == "rated" else None
    if not app.project.listing.files:
        return ReinforceReport()
    with app.state() as state:
        if not request.ids and not request.listed and request.session:
            asked = asked._replace(listed=tuple(state.recalled(request.session)))
        own = request.session
        done = _done(app, state, own)
        judged = _judgement(app, asked, done, model) if model is not None else {}

        def plan() -> ReinforceReport:
            report = _Reinforcement(app, asked, _done(app, state, own), judged).report()
            if not dry_run and own:
                state.note("reinforced", ((own, one) for one in report.touched), "OR IGNORE")
            return report

        def note(report: ReinforceReport) -> tuple[str, ...]:
            return (own, *report.touched) if own else ()

        with ExitStack() as held:  # written and remembered, or neither; first the other writers
            if own and not dry_run:
                held.enter_context(app.workspace.hold("reinforce"))
                held.enter_context(state.transaction())
            return app.write(plan, "reinforce", dry_run=dry_run, note=note)


def _done(app: App, state: "State", session: str) -> set[str]:
    """The ids that a session has reinforced; of a run that was killed, those in its note."""
    if not session:
        return set()
    noted = (note[1:] for note in app.workspace.notes("reinforce") if note[0] == session)
    counted = {entry for own, entry in noted_uses(app.workspace) if own == session}
    return {*state.reinforced(session), *chain.from_iterable(noted), *counted}


def adopt_hint(memory: MemoryFile, place: Located) -> str:
    """The command that makes one unit of prose an entry: by its heading, where no other has it."""
    units = sections(memory)
    titles = [unit.title for unit in units if unit.id == place.entry]
    alone = sum(unit.title in titles for unit in units) == 1
    name = titles[0].rpartition(" > ")[2] if alone and titles[0] else place.entry[:8]
    return f"mem compact --adopt {shlex.quote(f'{place.path}#{name}')} makes it one"


_Judged = Mapping[str, tuple[str, str]]
"""What the model said of entries, and the bodies that it was shown."""


def _judgement(app: App, request: ReinforceRequest, done: set[str], model: "Model") -> _Judged:
    from memcli.compaction.consolidate import questions
    from memcli.compaction.consolidate.questions import read_ratings
    from memcli.providers.llm import Ask

    work = _Reinforcement(app, request, done, {})
    work.report()
    parts = [work.shown[at : at + MOST_RATED] for at in range(0, len(work.shown), MOST_RATED)]
    shared, schema = questions.session_text(request.spoken or ""), questions.RATINGS_SCHEMA
    rates: dict[str, str] = {}
    for part in parts:
        prompt = questions.ratings_question(part)
        ask = Ask(questions.SYSTEM, prompt, shared, schema, purpose="reinforce")
        rates |= read_ratings(model.ask(ask).text, part)
    return {entry.id: (rates[entry.id], entry.body) for entry in work.shown}


class _Reinforcement:
    def __init__(self, app: App, request: ReinforceRequest, done: set[str], said: _Judged) -> None:
        self.app = app
        self.done = done
        self.said = said
        self.shown: list[Entry] = []
        self.now = app.project.now
        self.changes = ChangeSet(today=self.now.isoformat())
        self.names: dict[str, list[str]] = defaultdict(list)
        self.skipped: list[Problem] = []
        app.refresh()
        self.request = self._whole(request)

    def report(self) -> ReinforceReport:
        app, typed = self.app, self.request.typed
        wanted = list(dict.fromkeys((*typed, *self.request.listed)))
        places = locate(app.index, app.project, wanted)
        seen: set[str] = set()
        for name in wanted:
            place = places.get(name)
            if place is None:
                self.names["unknown"].append(name)
            elif place.entry not in seen:
                seen.add(place.entry)
                self._judge(name, place)
        patches = tuple(
            Patch(app.project.path_of(name), self.changes.file(name).text, text)
            for name, text in self.changes.texts().items()
        )
        self.names["typed_unknown"] = [name for name in self.names["unknown"] if name in typed]
        named = {key: tuple(value) for key, value in self.names.items()}
        return ReinforceReport(**named, skipped=tuple(self.skipped), patches=patches)

    def _whole(self, request: ReinforceRequest) -> ReinforceRequest:
        def whole(prefix: str) -> str:
            names = {entry for entry, _ in self.app.index.entries.ids(prefix)}
            return names.pop() if len(names) == 1 else prefix

        named = (request.ids, request.listed, request.succeeded, request.failed)
        ids, listed, good, bad = (tuple(map(whole, names)) for names in named)
        rates = {whole(name): rating for name, rating in request.rates.items()}
        return request._replace(ids=ids, listed=listed, succeeded=good, failed=bad, rates=rates)

    def _judge(self, asked: str, place: Located) -> None:
        if place.entry in self.done or not place.writable:
            what = "already" if place.entry in self.done else "elsewhere"
            self.names[what].append(place.entry)
            return
        try:
            file = self.app.project.found(place.path)
            if place.path not in self.changes.files and file is not None:
                self.changes.hold(self.app.project.read_to_write(file))
        except Unreadable as error:
            problem = Problem(place.path, error.line, str(error), "unreadable")
            self.skipped += [problem] if problem not in self.skipped else []
            return
        memory = self.changes.file(place.path)
        at = next((i for i, e in enumerate(memory.entries) if e.id == place.entry), None)
        if at is None or not memory.entries[at].identified:
            self.names["unknown"].append(asked)
            if at is None and asked in self.request.typed:
                hint = adopt_hint(memory, place)
                self.app.notes.append(f"{asked} is prose, not an entry: {hint}")
            return
        what, values = self._values(asked, memory.entries[at], place)
        if what:
            self.names[what].append(place.entry)
        if values:
            self.changes.set((place.path, at), **values)

    def _values(self, asked: str, entry: Entry, place: Located) -> tuple[str, dict[str, Any]]:
        request, keys, today = self.request, {asked, entry.id}, self.changes.today
        rating = next((request.rates[key] for key in keys if key in request.rates), None)
        if entry.status == "retired":
            return "retired", {}
        if rating is not None:
            return "rated", reviewed(entry, rating, self.now)
        if keys & {*request.succeeded, *request.failed}:
            return self._workflow(entry, success=bool(keys & set(request.succeeded)))
        if request.explicit:
            return "reinforced", {"last_reinforced": today}
        if request.mode == "rated":
            return self._rated(entry, place)
        if request.mode == "aligned" and not is_used(entry, request.spoken or ""):
            less = entry.reinforcement_count - 1
            return "weakened", {"reinforcement_count": less} if less >= 0 else {}
        return "reinforced", stronger(entry, today)

    def _rated(self, entry: Entry, place: Located) -> tuple[str, dict[str, Any]]:
        """What the model said of an entry; one that it has not seen yet is to be shown to it."""
        if is_reviewed(entry, self.now):
            return "already", {}
        rating, body = self.said.get(entry.id, ("", None))
        if body == entry.body:
            return "rated", reviewed(entry, rating, self.now)
        if self.said:  # it would be rated by what was said of other words than it has now
            problem = Problem(place.path, entry.line, f"{entry.id} {CHANGED}", "unreadable")
            self.skipped.append(problem)
        else:
            self.shown.append(entry)
        return "", {}

    def _workflow(self, entry: Entry, *, success: bool) -> tuple[str, dict[str, Any]]:
        if entry.kind != "workflow":
            hint = "--success and --failed are for kind workflow"
            raise UsageError(f"{entry.id}: is no workflow", hint)
        count = int(entry.extra.get("success_count", 0))
        if success:
            more = stronger(entry, self.changes.today)
            return "reinforced", {"success_count": count + 1, **more}
        return "weakened", {"success_count": max(0, count - 1)}


def noted_uses(workspace: "Workspace") -> set[Use]:
    """The uses that compaction has counted, also of a run that was killed before it said so."""
    notes = workspace.notes("compact")
    return {use for note in notes for use in zip(note[::2], note[1::2], strict=False)}


class WaitingUses:
    """The uses that no memory file counts yet, once read.

    The journal of the write names what it counts, so that nobody counts it twice.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self.waiting: list[Use] = []
        self.known: set[Use] = set()
        self.settled: list[Use] = []

    def read(self) -> None:
        """Look up what waits, and what these sessions have reinforced already."""

        def look(state: "State") -> tuple[list[Use], set[Use]]:
            uses = SessionLog(state).uses()
            known = {(own, entry) for own in uses for entry in state.reinforced(own)}
            return [(own, entry) for own, entries in uses.items() for entry in entries], known

        why, nothing = "uses that wait are not counted", (self.waiting, self.known)
        self.waiting, self.known = self.app.from_state(look, nothing, why, make=False)
        if self.waiting:
            self.known |= noted_uses(self.app.workspace)

    def count(self, sources: Sequence[MemoryInput]) -> CompactOutcome:
        """Count them in these files: once for a session and entry, none of what is retired."""
        changes = ChangeSet((each.memory for each in sources), self.app.project.now.isoformat())
        spots = _spots(sources) if self.waiting else {}
        self.settled = [use for use in self.waiting if use[1] in spots]
        counts: dict[Spot, int] = {}
        for use in self.settled:
            spot = spots[use[1]]
            if use not in self.known and changes.entry(spot).status != "retired":
                changes.strengthen(spot, changes.today)
                counts[spot] = counts.get(spot, 0) + 1
        for spot, number in counts.items():
            what = f"{number} use{'s' * (number != 1)}"
            changes.note("used", spot[0], (changes.entry(spot).id,), what)
        return CompactOutcome(changes.texts() if counts else {}, tuple(changes.done))

    @property
    def note(self) -> tuple[str, ...]:
        """What the journal is to say of the write."""
        return tuple(chain.from_iterable(self.settled))

    def forget_counted(self) -> None:
        """They wait no longer."""
        if not self.settled:
            return
        why = "uses that were counted still wait"
        with self.app.state(best_effort=why) as state, state.transaction():
            for own, entry in self.settled:
                state.note("reinforced", [(own, entry)], "OR IGNORE")
                SessionLog(state).counted(own, entry)


def _spots(sources: Sequence[MemoryInput]) -> dict[str, Spot]:
    spots: dict[str, Spot] = {}
    merged: dict[str, Spot] = {}
    for each in sources:
        for at, entry in enumerate(each.memory.entries if each.writable else ()):
            if entry.identified:
                spots.setdefault(entry.id, (each.path, at))
                names = listed(entry, "merged_from")
                merged |= dict.fromkeys(names, (each.path, at))
    return merged | spots

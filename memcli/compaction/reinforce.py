"""Strengthen what was recalled and used, once for each session and entry."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli.app import App
from memcli.compaction.plan import CompactOutcome
from memcli.errors import UsageError, one_of
from memcli.index.upkeep import Located, locate, the_one, twins
from memcli.memory.changes import ChangeSet, Spot
from memcli.memory.parser import KnownFile
from memcli.memory.prominence import RATINGS, is_reviewed, is_used, reviewed, stronger
from memcli.memory.values import Entry, Patch, Problem, listed, plain_id
from memcli.project.context import hold, patches_of, unread
from memcli.storage.files import Unreadable
from memcli.storage.state import SessionLog

if TYPE_CHECKING:
    from memcli.providers.llm import Model
    from memcli.storage.state import State
    from memcli.storage.workspace import Workspace

MOST_RATED = 40  # so many entries go into one question
Use = tuple[str, str]  # A session, and the id of an entry that it used


class ReinforceRequest(NamedTuple):
    """Ids that were typed, of a list, or of the recall log of `session`, and verdicts
    by id.

    `spoken` is the text of the session (modes aligned and rated)."""

    ids: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    session: str = ""
    spoken: str | None = None
    judged: Mapping[str, str] = {}
    mode: str = ""

    @property
    def typed(self) -> tuple[str, ...]:
        return (*self.ids, *self.judged)


class ReinforceReport(NamedTuple):
    """Ids, grouped by what happened to them; `patches` hold the new texts."""

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


def reinforce(app: App, request: ReinforceRequest) -> ReinforceReport:
    """Reinforce, weaken or rate entries; once per session and id."""
    checked = _checked(app, request)
    session = request.session
    is_rated = checked.mode == "rated"
    model = app.providers.require_model("mode rated") if is_rated else None
    if not app.project.listing.files:
        return ReinforceReport(skipped=tuple(app.project.listing.problems))
    with app.state() as state:
        is_named = bool(request.ids or request.listed)
        if session and not is_named:
            checked = checked._replace(listed=tuple(state.recalled(session)))
        ratings: Mapping[str, str] = {}
        if model is not None:
            reinforced_before = _done(app, state, session)
            ratings = _ratings_of(model, app, checked, reinforced_before)

        def plan() -> ReinforceReport:
            reinforced_before = _done(app, state, session)
            report = _Reinforcement(app, checked, reinforced_before, ratings).report()
            if session and not app.dry_run:
                uses = ((session, entry) for entry in report.touched)
                state.note("reinforced", uses, "OR IGNORE")
            return report

        def note(report: ReinforceReport) -> tuple[str, ...]:
            return (session, *report.touched) if session else ()

        with ExitStack() as stack:
            # Write and record it, or neither; let other writers finish first.
            if session and not app.dry_run:
                stack.enter_context(app.workspace.hold("reinforce"))
                stack.enter_context(state.transaction())
            return app.write(plan, "reinforce", note=note)


def _checked(app: App, request: ReinforceRequest) -> ReinforceRequest:
    for verdict in request.judged.values():
        one_of("verdict", verdict, (*RATINGS, "worked", "failed", "remember"))
    mode = request.mode or app.project.config.reinforce_mode
    if not request.mode and request.spoken is not None and mode != "rated":
        mode = "aligned"  # do not count a session's own words as use
    if mode in ("aligned", "rated") and request.spoken is None:
        raise UsageError(
            f"mode {mode} needs the session file", "name its file: --session FILE"
        )
    return request._replace(mode=mode)


def _done(app: App, state: "State", session: str) -> set[str]:
    """The ids that a session has reinforced, including those in the note of a killed
    run."""
    if not session:
        return set()
    noted = (
        note[1:] for note in app.workspace.notes("reinforce") if note[0] == session
    )
    counted = {entry for user, entry in noted_uses(app.workspace) if user == session}
    return {*state.reinforced(session), *chain.from_iterable(noted), *counted}


def adopt_hint(path: str, unit_id: str) -> str:
    """The command that makes one unit of prose an entry."""
    unit = shlex.quote(f"{path}#{unit_id[:8]}")
    return f"mem compact --adopt {unit} makes it an entry"


def _ratings_of(
    model: "Model", app: App, request: ReinforceRequest, done: set[str]
) -> Mapping[str, str]:
    """A model's ratings of the entries that a session was shown, by id."""
    from memcli.compaction import questions

    work = _Reinforcement(app, request, done, {})
    work.report()
    session_text = questions.session_text(request.spoken or "")
    ratings: dict[str, str] = {}
    for start in range(0, len(work.shown), MOST_RATED):
        part = work.shown[start : start + MOST_RATED]
        question = questions.question("reinforce", ENTRIES=part)
        (text,) = questions.ask(model, "reinforce", [question], session_text)
        ratings |= questions.read_ratings(text, part)
    return ratings


class _Reinforcement:
    def __init__(
        self,
        app: App,
        request: ReinforceRequest,
        done: set[str],
        ratings: Mapping[str, str],
    ) -> None:
        self.app = app
        self.done = done
        self.ratings = ratings
        self.shown: list[Entry] = []
        self.now = app.project.now
        self.changes = ChangeSet(today=self.now.isoformat())
        self.names: dict[str, list[str]] = defaultdict(list)
        self.skipped: list[Problem] = []
        app.refresh()
        self.request = self._whole(request)

    def report(self) -> ReinforceReport:
        project = self.app.project
        typed = self.request.typed
        wanted_ids = list(dict.fromkeys((*typed, *self.request.listed)))
        places = locate(self.app.index, project, wanted_ids)
        self.names["unknown"] = [
            name for name in wanted_ids if places.get(name) is None
        ]
        first = {
            place.entry: name
            for name in wanted_ids[::-1]
            if (place := places.get(name))
        }
        for name in wanted_ids:
            if (place := places.get(name)) and first[place.entry] == name:
                self._judge(name, place)
        self.names["typed_unknown"] = [
            name for name in self.names["unknown"] if name in typed
        ]
        named = {key: tuple(value) for key, value in self.names.items()}
        patches = patches_of(project, self.changes)
        return ReinforceReport(**named, skipped=tuple(self.skipped), patches=patches)

    def _whole(self, request: ReinforceRequest) -> ReinforceRequest:
        def whole(prefix: str) -> str:
            with suppress(UsageError):
                return the_one(
                    prefix, {key for key, _ in self.app.index.entries.ids(prefix)}
                )
            return prefix

        return request._replace(
            ids=tuple(map(whole, request.ids)),
            listed=tuple(map(whole, request.listed)),
            judged={whole(name): verdict for name, verdict in request.judged.items()},
        )

    def _judge(self, asked: str, place: Located) -> None:
        """Strengthen, weaken or rate one entry, or report why not."""
        if place.entry in self.done:
            self.names["already"].append(place.entry)
        elif not place.writable:
            self.names["elsewhere"].append(place.entry)
        else:
            if asked in self.request.typed:
                self.app.notes.extend(twins(self.app.index, place.entry))
            self._judge_here(asked, place)

    def _judge_here(self, asked: str, place: Located) -> None:
        """The same for an entry that may be changed from here."""
        try:
            memory = hold(self.app.project, self.changes, place.path)
        except Unreadable as error:
            problem = unread(place.path, error)
            if problem not in self.skipped:
                self.skipped.append(problem)
            return
        entry_ids = [entry.id for entry in memory.entries]
        known = plain_id(place.entry)
        position = entry_ids.index(known) if known in entry_ids else None
        if position is None or not memory.entries[position].identified:
            self.names["unknown"].append(asked)
            if position is None and asked in self.request.typed:
                outcome = f"{asked} is prose, not an entry: {adopt_hint(place.path, place.entry)}"
                self.app.notes.append(outcome)
            return
        outcome, values = self._values({asked, place.entry}, memory.entries[position])
        if outcome:
            self.names[outcome].append(place.entry)
        if values:
            self.changes.set((place.path, position), **values)

    def _values(self, keys: set[str], entry: Entry) -> tuple[str, dict[str, Any]]:
        """The outcome for an entry known by these keys, and its new values."""
        request = self.request
        if not entry.is_live:
            return "retired", {}
        for key in keys & request.judged.keys():
            return self._judged(entry, request.judged[key])
        if request.mode == "rated":
            return self._rated(entry)
        if request.mode == "aligned" and not is_used(entry, request.spoken or ""):
            less = entry.reinforcement_count - 1
            return "weakened", {"reinforcement_count": less} if less >= 0 else {}
        return "reinforced", stronger(entry, self.changes.today)

    def _judged(self, entry: Entry, verdict: str) -> tuple[str, dict[str, Any]]:
        """The outcome of a person's verdict on an entry."""
        if verdict in RATINGS:
            return "rated", reviewed(entry, verdict, self.now)
        if verdict == "remember":
            return "reinforced", {"last_reinforced": self.changes.today}
        return self._workflow(entry, success=verdict == "worked")

    def _rated(self, entry: Entry) -> tuple[str, dict[str, Any]]:
        """Rate an entry as the model did; queue one that it has not seen yet."""
        if is_reviewed(entry, self.now):
            return "already", {}
        if entry.id in self.ratings:
            return "rated", reviewed(entry, self.ratings[entry.id], self.now)
        self.shown.append(entry)
        return "", {}

    def _workflow(self, entry: Entry, *, success: bool) -> tuple[str, dict[str, Any]]:
        if entry.kind != "workflow":
            hint = "worked and failed apply only to kind workflow"
            raise UsageError(f"{entry.id}: is no workflow", hint)
        count = int(entry.extra.get("success_count", 0))
        if success:
            strengthened = stronger(entry, self.changes.today)
            return "reinforced", {"success_count": count + 1, **strengthened}
        return "weakened", {"success_count": max(0, count - 1)}


def noted_uses(workspace: "Workspace") -> set[Use]:
    """The uses that compaction has counted, including those of a killed run."""
    uses: set[Use] = set()
    for note in workspace.notes("compact"):
        uses.update(zip(note[::2], note[1::2], strict=False))
    return uses


class WaitingUses:
    """The uses not yet counted in a memory file, read once. The journal of the write
    names what it counts, so that nothing is counted twice."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.waiting: list[Use] = []
        self.known: set[Use] = set()
        self.settled: list[Use] = []

    def read(self) -> None:
        def look(state: "State") -> tuple[list[Use], set[Use]]:
            waiting = []
            counted = set()
            for session, entries in SessionLog(state).uses().items():
                waiting += [(session, entry) for entry in entries]
                counted |= {(session, entry) for entry in state.reinforced(session)}
            return waiting, counted

        reason = "waiting uses are not counted"
        nothing = (self.waiting, self.known)
        self.waiting, self.known = self.app.from_state(
            look, nothing, reason, make=False
        )
        if self.waiting:
            self.known |= noted_uses(self.app.workspace)

    def count(self, sources: Sequence[KnownFile]) -> CompactOutcome:
        """Count them in these files, once per session and entry, without retired
        entries."""
        changes = ChangeSet((source.memory for source in sources), self.app.today)
        spots = _spots(sources) if self.waiting else {}
        self.settled = [use for use in self.waiting if use[1] in spots]
        counts: Counter[Spot] = Counter()
        for use in self.settled:
            spot = spots[use[1]]
            if use not in self.known and changes.entry(spot).is_live:
                changes.strengthen(spot, changes.today)
                counts[spot] += 1
        for spot, number in counts.items():
            message = "1 use" if number == 1 else f"{number} uses"
            changes.note("used", spot[0], (changes.entry(spot).id,), message)
        return CompactOutcome(changes.texts() if counts else {}, tuple(changes.done))

    def noted(self, _: object) -> tuple[str, ...]:
        return tuple(chain.from_iterable(self.settled))

    def forget_counted(self) -> None:
        if not self.settled:
            return
        reason = "counted uses are still waiting"
        with self.app.state(best_effort=reason) as state, state.transaction():
            for session, entry in self.settled:
                state.note("reinforced", [(session, entry)], "OR IGNORE")
                SessionLog(state).counted(session, entry)


def _spots(sources: Sequence[KnownFile]) -> dict[str, Spot]:
    spots: dict[str, Spot] = {}
    merged: dict[str, Spot] = {}
    for source in sources:
        for place, entry in enumerate(source.memory.entries):
            if source.writable and entry.identified:
                spot = (source.path, place)
                spots.setdefault(entry.id, spot)
                merged |= dict.fromkeys(listed(entry, "merged_from"), spot)
    return merged | spots

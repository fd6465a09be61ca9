"""mem reinforce: what was used gets stronger."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli import asking
from memcli.app import App
from memcli.errors import UsageError
from memcli.memory import prominence
from memcli.memory.editor import EntryChange, edited
from memcli.memory.parser import MemoryFile
from memcli.memory.values import Entry, Patch, Problem
from memcli.recall import ranking
from memcli.storage.files import Unreadable

if TYPE_CHECKING:
    from memcli.providers.llm import Model
    from memcli.storage.state import History

MOST_RATED = 40
"""So many entries go into one question."""
CHANGED = "has changed while the model answered: run again"
USED = 0.3
"""Share of an entry's words that a session must say for the entry to count as used."""
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


class ReinforceRequest(NamedTuple):
    """Ids come from `ids` (typed), `listed` (a file) and the recall log of `session`.

    `rates` maps ids to again, hard, good or easy; `spoken` is the text of the session (modes
    aligned and rated).
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


class ReinforceReport(NamedTuple):
    """Ids by what became of them; `patches` hold the new texts."""

    reinforced: tuple[str, ...]
    weakened: tuple[str, ...]
    rated: tuple[str, ...]
    already: tuple[str, ...]
    retired: tuple[str, ...]
    elsewhere: tuple[str, ...]
    unknown: tuple[str, ...]
    typed_unknown: tuple[str, ...]
    skipped: tuple[Problem, ...]
    patches: tuple[Patch, ...]


def run(app: App, request: ReinforceRequest, *, dry_run: bool = False) -> ReinforceReport:
    """Reinforce, weaken or rate entries; once per session and id."""
    mode = _mode(app, request)
    for entry, rating in request.rates.items():
        if rating not in prominence.RATINGS:
            raise UsageError(
                f"--rate {entry}={rating}: unknown rating",
                "one of " + ", ".join(prominence.RATINGS),
            )
    if mode in ("aligned", "rated") and request.spoken is None:
        raise UsageError(f"mode {mode} needs the session", "name it with --transcript FILE")
    model = asking.require(app, "mode rated") if mode == "rated" else None
    if not app.listing.files:
        return ReinforceReport((), (), (), (), (), (), (), (), (), ())
    asked = request._replace(mode=mode)
    with app.history() as history:
        if not request.ids and not request.listed and request.session:
            asked = asked._replace(listed=tuple(history.recalled(request.session)))
        once = _Once(app, history, request.session)
        judged = _Plan(app, asked, once.done()).judged(model) if model is not None else {}

        def plan() -> ReinforceReport:
            report = _Plan(app, asked, once.done(), judged).report()
            if not dry_run:
                once.remember(report)
            return report

        with once.held() if not dry_run else nullcontext():
            return app.write(plan, "reinforce", dry_run=dry_run, note=once.note)


class _Once:
    """What a session has reinforced: once for each entry. Without a session there is nothing to
    keep.
    """

    def __init__(self, app: App, history: History, session: str) -> None:
        self.app = app
        self.history = history
        self.session = session

    def done(self) -> set[str]:
        """The ids; of a run that was killed before it remembered them, those in the note of its
        write.
        """
        if not self.session:
            return set()
        noted = (
            note[1:] for note in self.app.workspace.notes("reinforce") if note[0] == self.session
        )
        return {*self.history.reinforced(self.session), *chain.from_iterable(noted)}

    def note(self, report: ReinforceReport) -> tuple[str, ...]:
        return (self.session, *_touched(report)) if self.session else ()

    def remember(self, report: ReinforceReport) -> None:
        if self.session:
            self.history.remember_reinforced(self.session, _touched(report))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Write and remember it, or neither; other writers are waited for before the state file is
        taken.
        """
        if not self.session:
            yield
            return
        with self.app.workspace.hold("reinforce"), self.history.transaction():
            yield


def _touched(report: ReinforceReport) -> tuple[str, ...]:
    return (*report.reinforced, *report.weakened, *report.rated)


def _mode(app: App, request: ReinforceRequest) -> str:
    """The mode asked for, else the configured one; a session's words make use of themselves."""
    configured = app.config.reinforce_mode
    if request.mode or request.spoken is None or configured == "rated":
        return request.mode or configured
    return "aligned"


class _Judged(NamedTuple):
    """What the model said of an entry, and the body that it was shown."""

    rating: str
    body: str


class _Plan:
    def __init__(
        self,
        app: App,
        request: ReinforceRequest,
        done: set[str],
        judged: Mapping[str, _Judged] | None = None,
    ) -> None:
        self.app = app
        self.request = request
        self.done = done
        self.said = judged or {}
        self.shown: list[Entry] = []
        self.today = app.now.isoformat()
        self.names: dict[str, list[str]] = {
            name: []
            for name in (
                "reinforced",
                "weakened",
                "rated",
                "already",
                "retired",
                "elsewhere",
                "unknown",
            )
        }
        self.memories: dict[str, MemoryFile] = {}
        self.changes: dict[str, list[EntryChange]] = {}
        self.paths: dict[str, str] = {}
        self.skipped: list[Problem] = []

    def report(self) -> ReinforceReport:
        self.app.refresh()
        self.request = self._whole(self.request)
        typed = (
            *self.request.ids,
            *self.request.rates,
            *self.request.succeeded,
            *self.request.failed,
        )
        wanted = list(dict.fromkeys((*typed, *self.request.listed)))
        places = self.app.locate(wanted)
        seen: set[str] = set()
        for name in wanted:
            found = places.get(name)
            if found is None:
                self.names["unknown"].append(name)
            elif found.entry not in seen:
                seen.add(found.entry)
                self._judge(name, found.entry, found.path, found.writable)
        patches = [
            Patch(
                self.paths[name],
                self.memories[name].text,
                edited(self.memories[name], changes).text,
            )
            for name, changes in self.changes.items()
        ]
        missing = tuple(name for name in self.names["unknown"] if name in typed)
        lists = {key: tuple(value) for key, value in self.names.items()}
        return ReinforceReport(
            **lists, typed_unknown=missing, skipped=tuple(self.skipped), patches=tuple(patches)
        )

    def judged(self, model: Model) -> dict[str, _Judged]:
        """What the model says of the entries that are to be rated; nothing is asked without any."""
        self.report()
        parts = [self.shown[at : at + MOST_RATED] for at in range(0, len(self.shown), MOST_RATED)]
        if not parts:
            return {}
        from memcli.compaction import consolidate
        from memcli.providers.llm import Ask

        shared = consolidate.session_text(self.request.spoken or "")
        schema = consolidate.RATINGS_SCHEMA
        asks = [
            Ask(
                consolidate.SYSTEM,
                consolidate.ratings_question(part),
                shared,
                schema,
                purpose="reinforce",
            )
            for part in parts
        ]
        rates: dict[str, str] = {}
        for text, part in zip(asking.answers(model, asks), parts, strict=True):
            rates |= consolidate.read_ratings(text, part)
        return {entry.id: _Judged(rates[entry.id], entry.body) for entry in self.shown}

    def _whole(self, request: ReinforceRequest) -> ReinforceRequest:
        """The request with the beginnings of ids made whole, where only one entry's begins so."""

        def whole(prefix: str) -> str:
            names = {entry for entry, _ in self.app.index.entries.ids(prefix)}
            return names.pop() if len(names) == 1 else prefix

        return request._replace(
            ids=tuple(map(whole, request.ids)),
            listed=tuple(map(whole, request.listed)),
            rates={whole(name): rating for name, rating in request.rates.items()},
            succeeded=tuple(map(whole, request.succeeded)),
            failed=tuple(map(whole, request.failed)),
        )

    def _judge(self, asked: str, entry_id: str, path: str, writable: bool) -> None:
        if entry_id in self.done:
            self.names["already"].append(entry_id)
            return
        if not writable:
            self.names["elsewhere"].append(entry_id)
            return
        try:
            memory = self._memory(path)
        except Unreadable as error:
            problem = Problem(path, error.line, str(error), "unreadable")
            self.skipped += [problem] if problem not in self.skipped else []
            return
        at = next((i for i, e in enumerate(memory.entries) if e.id == entry_id), None)
        if at is None or not memory.entries[at].identified:
            self.names["unknown"].append(asked)
            return
        entry = memory.entries[at]
        if entry.status == "retired":
            self.names["retired"].append(entry_id)
            return
        if self._is_late(entry):
            self.skipped.append(Problem(path, entry.line, f"{entry_id} {CHANGED}", "unreadable"))
            return
        what, values = self._values(asked, entry)
        if what:
            self.names[what].append(entry_id)
        if values:
            self.changes.setdefault(path, []).append(EntryChange(at, values))

    def _is_late(self, entry: Entry) -> bool:
        """Whether an entry is to be rated by what was said of other words than it has now."""
        said = self.said.get(entry.id)
        return (
            bool(self.said) and self._is_judged(entry) and (said is None or said.body != entry.body)
        )

    def _is_judged(self, entry: Entry) -> bool:
        """Whether the model rates an entry: not by hand, and not rated today."""
        request = self.request
        by_hand = request.explicit or entry.id in {
            *request.rates,
            *request.succeeded,
            *request.failed,
        }
        return request.mode == "rated" and not by_hand and not is_rated(entry, self.app.now)

    def _memory(self, path: str) -> MemoryFile:
        if path not in self.memories:
            file = self.app.found(path)
            assert file is not None
            self.memories[path] = self.app.read_to_write(file)
            self.paths[path] = file.path
        return self.memories[path]

    def _values(self, asked: str, entry: Entry) -> tuple[str, dict[str, Any]]:
        """What becomes of one live entry, and the values to write."""
        keys = {asked, entry.id}
        rating = next((self.request.rates[key] for key in keys if key in self.request.rates), None)
        if rating is not None:
            return "rated", rated(entry, rating, self.app.now)
        if keys & {*self.request.succeeded, *self.request.failed}:
            return self._workflow(entry, success=bool(keys & set(self.request.succeeded)))
        if self.request.explicit:
            return "reinforced", {"last_reinforced": self.today}
        if self.request.mode == "rated":
            return self._rated(entry)
        if self.request.mode == "aligned" and not is_used(entry, self.request.spoken or ""):
            return "weakened", _changed(
                entry, {"reinforcement_count": max(0, entry.reinforcement_count - 1)}
            )
        return "reinforced", self._stronger(entry)

    def _rated(self, entry: Entry) -> tuple[str, dict[str, Any]]:
        """As the model rated it; without an answer yet, it is one to ask about."""
        said = self.said.get(entry.id)
        if not self._is_judged(entry):
            return "already", {}
        if said is None:
            self.shown.append(entry)
            return "", {}
        return "rated", rated(entry, said.rating, self.app.now)

    def _stronger(self, entry: Entry) -> dict[str, Any]:
        return {"reinforcement_count": entry.reinforcement_count + 1, "last_reinforced": self.today}

    def _workflow(self, entry: Entry, *, success: bool) -> tuple[str, dict[str, Any]]:
        if entry.kind != "workflow":
            raise UsageError(
                f"{entry.id}: is no workflow", "--success and --failed are for kind workflow"
            )
        count = int(entry.extra.get("success_count", 0))
        if success:
            return "reinforced", {"success_count": count + 1, **self._stronger(entry)}
        return "weakened", {"success_count": max(0, count - 1)}


def rated(entry: Entry, rating: str, now: datetime.date) -> dict[str, Any]:
    """FSRS-6 review of an entry, at most once a day; `again` does not count as a reinforcement."""
    values = {"reinforced": entry.last_reinforced, "created": entry.created_at, "date": entry.date}
    today = now.isoformat()
    if is_rated(entry, now):
        return {}
    stability = float(
        entry.extra.get(
            "stability", prominence.initial_stability(float(entry.extra.get("surprise", 0)))
        )
    )
    difficulty = float(entry.extra.get("difficulty", prominence.INITIAL_DIFFICULTY))
    stability, difficulty = prominence.review(
        stability, difficulty, ranking.age_of(values, now), rating
    )
    return {
        "reinforcement_count": entry.reinforcement_count + (rating != "again"),
        "last_reinforced": today,
        "stability": round(stability, 4),
        "difficulty": round(difficulty, 4),
    }


def is_rated(entry: Entry, now: datetime.date) -> bool:
    """Whether an entry was rated today already."""
    return entry.last_reinforced >= now.isoformat() and "stability" in entry.extra


def _changed(entry: Entry, values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if getattr(entry, key) != value}


def is_used(entry: Entry, spoken: str) -> bool:
    """Whether a session says at least 30 % of an entry's distinct words of four letters or more."""
    words = set(_LONG_WORD.findall(entry.body.lower()))
    said = set(_LONG_WORD.findall(spoken.lower()))
    return not words or len(words & said) >= USED * len(words)


def parse_rates(items: Sequence[str]) -> dict[str, str]:
    """`--rate ID=good` items."""
    rates = {}
    for item in items:
        entry, equals, rating = item.partition("=")
        if not equals or not entry:
            raise UsageError(
                f"--rate {item}: an id and a rating are needed", "write --rate ID=good"
            )
        rates[entry] = rating
    return rates


def read_ids(lines: Iterable[str]) -> tuple[str, ...]:
    """Ids, one a line; blank lines are passed over."""
    return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))

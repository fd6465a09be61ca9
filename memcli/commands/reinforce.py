"""mem reinforce: what was used gets stronger."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memcli import prominence, rank, tree
from memcli.app import App
from memcli.errors import UsageError
from memcli.memory_file import Change, MemoryFile, edited
from memcli.model import Entry, Patch, Problem

USED = 0.3
"""Share of an entry's words that a session must say for the entry to count as used."""
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


class Request(NamedTuple):
    """Ids come from `ids` (typed), `listed` (a file) and the recall log of `session`.

    `rates` maps ids to again, hard, good or easy; `spoken` is the text of the session (mode aligned).
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


class Report(NamedTuple):
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


def run(app: App, request: Request, *, dry_run: bool = False) -> Report:
    """Reinforce, weaken or rate entries; once per session and id."""
    mode = request.mode or app.config.reinforce_mode
    for entry, rating in request.rates.items():
        if rating not in prominence.RATINGS:
            raise UsageError(
                f"--rate {entry}={rating}: unknown rating", "one of " + ", ".join(prominence.RATINGS)
            )
    if mode == "aligned" and request.spoken is None:
        raise UsageError("mode aligned needs the session", "name it with --transcript FILE")
    if not app.listing.files:
        return Report((), (), (), (), (), (), (), (), (), ())
    asked = request._replace(mode=mode)
    with app.history() as history:
        if not request.ids and not request.listed and request.session:
            asked = asked._replace(listed=tuple(history.recalled(request.session)))
        done = set(history.reinforced(request.session)) if request.session else set()
        remember = history.remember_reinforced if request.session and not dry_run else None

        def plan() -> Report:
            report = _Plan(app, asked, done).report()
            if remember is not None:
                remember(request.session, (*report.reinforced, *report.weakened, *report.rated))
            return report

        with history.transaction():
            return app.write(plan, "reinforce", dry_run=dry_run)


class _Plan:
    def __init__(self, app: App, request: Request, done: set[str]) -> None:
        self.app = app
        self.request = request
        self.done = done
        self.today = app.now.isoformat()
        self.names: dict[str, list[str]] = {
            name: []
            for name in ("reinforced", "weakened", "rated", "already", "retired", "elsewhere", "unknown")
        }
        self.memories: dict[str, MemoryFile] = {}
        self.changes: dict[str, list[Change]] = {}
        self.paths: dict[str, str] = {}
        self.skipped: list[Problem] = []

    def report(self) -> Report:
        self.app.refresh()
        self.request = self._whole(self.request)
        typed = (*self.request.ids, *self.request.rates, *self.request.succeeded, *self.request.failed)
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
            Patch(self.paths[name], self.memories[name].text, edited(self.memories[name], changes).text)
            for name, changes in self.changes.items()
        ]
        missing = tuple(name for name in self.names["unknown"] if name in typed)
        lists = {key: tuple(value) for key, value in self.names.items()}
        return Report(**lists, typed_unknown=missing, skipped=tuple(self.skipped), patches=tuple(patches))

    def _whole(self, request: Request) -> Request:
        """The request with the beginnings of ids made whole, where only one entry's begins so."""

        def whole(prefix: str) -> str:
            names = {entry for entry, _ in self.app.index.ids(prefix)}
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
        except tree.Unreadable as error:
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
        what, values = self._values(asked, entry)
        if what:
            self.names[what].append(entry_id)
        if values:
            self.changes.setdefault(path, []).append(Change(at, values))

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
        if self.request.mode == "aligned" and not is_used(entry, self.request.spoken or ""):
            return "weakened", _changed(entry, {"reinforcement_count": max(0, entry.reinforcement_count - 1)})
        return "reinforced", self._stronger(entry)

    def _stronger(self, entry: Entry) -> dict[str, Any]:
        return {"reinforcement_count": entry.reinforcement_count + 1, "last_reinforced": self.today}

    def _workflow(self, entry: Entry, *, success: bool) -> tuple[str, dict[str, Any]]:
        if entry.kind != "workflow":
            raise UsageError(f"{entry.id}: is no workflow", "--success and --failed are for kind workflow")
        count = int(entry.extra.get("success_count", 0))
        if success:
            return "reinforced", {"success_count": count + 1, **self._stronger(entry)}
        return "weakened", {"success_count": max(0, count - 1)}


def rated(entry: Entry, rating: str, now: datetime.date) -> dict[str, Any]:
    """FSRS-6 review of an entry, at most once a day; `again` does not count as a reinforcement."""
    values = {"reinforced": entry.last_reinforced, "created": entry.created_at, "date": entry.date}
    today = now.isoformat()
    if entry.last_reinforced >= today and "stability" in entry.extra:
        return {}
    stability = float(
        entry.extra.get("stability", prominence.initial_stability(float(entry.extra.get("surprise", 0))))
    )
    difficulty = float(entry.extra.get("difficulty", prominence.INITIAL_DIFFICULTY))
    stability, difficulty = prominence.review(stability, difficulty, rank.age_of(values, now), rating)
    return {
        "reinforcement_count": entry.reinforcement_count + (rating != "again"),
        "last_reinforced": today,
        "stability": round(stability, 4),
        "difficulty": round(difficulty, 4),
    }


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
            raise UsageError(f"--rate {item}: an id and a rating are needed", "write --rate ID=good")
        rates[entry] = rating
    return rates


def read_ids(lines: Iterable[str]) -> tuple[str, ...]:
    """Ids, one a line; blank lines are passed over."""
    return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))

"""What compaction does to a set of memory files: pure, deterministic, independent of their order.

Each step looks at the entries as the steps before it left them; the outcome is one list of changes
per file and the texts that go to its archive. What leaves a file is in its archive, verbatim.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from memcli.memory.editor import EntryChange, edited, render_entry
from memcli.memory.grammar import derived_id
from memcli.memory.levels import Place, archive_of
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.prominence import age_days, half_life_decay
from memcli.memory.values import Entry
from memcli.providers.embed.arithmetic import SCALE
from memcli.similarity.claims import Claim, claim
from memcli.similarity.contradictions import contradictions
from memcli.similarity.differences import guard
from memcli.similarity.duplicates import clusters, near_duplicate

STALE_DAYS = 90
STALE_BELOW = 0.1
LASTING_KINDS = ("policy", "architecture", "preference")
LASTING_PRIORITIES = ("permanent", "critical", "high", "pin")
RECURS = 3
"""In so many distinct jobs or sessions an entry must recur to be promoted."""
LOSS_SHARE = 0.25
LOSS_LEAST = 4
DECAY_OF_CONTRADICTION = 0.7


class Source(NamedTuple):
    """A file to compact; `writable` says whether it may be changed from here (its git work tree)."""

    path: str
    place: Place
    memory: MemoryFile
    writable: bool = True


class Steps(NamedTuple):
    """Which of the steps are wanted; the first three always are."""

    stale: bool = False
    promote: bool = False
    contradictions: str = "flag"
    adopt: bool = False


class Event(NamedTuple):
    """One thing compaction did or found: `what` to `ids` (the survivor first) in `path`."""

    what: str
    path: str
    ids: tuple[str, ...]
    detail: str = ""


class Pair(NamedTuple):
    """Two live entries that say the opposite, as the steps before left them; `path` is the first's
    file.
    """

    path: str
    first: Entry
    second: Entry

    @property
    def key(self) -> frozenset[str]:
        """The two ids."""
        return frozenset((self.first.id, self.second.id))


class Verdict(NamedTuple):
    """What was said of a pair: new, reinforce, update, invalidate or unsure; `keep` is the id that
    stays.

    `body` is the new body of what stays, for an update.
    """

    pair: Pair
    what: str
    keep: str = ""
    body: str = ""


Meanings = Mapping[tuple[str, str], bytes]
"""Vectors of entries by title and body (`meaning_of`), see memcli/providers/embed/arithmetic.py."""
SAME_MEANING = 0.95
"""Above this cosine two entries are near-duplicates in other words."""


class Outcome(NamedTuple):
    """New texts by path (archives included), what was done, what was found, and losses to confirm."""

    texts: Mapping[str, str]
    done: tuple[Event, ...]
    found: tuple[Event, ...]
    losses: tuple[Event, ...]


class _Held:
    """An entry on its way through the steps: values that changed, and why it leaves, if it does."""

    def __init__(self, source: Source, at: int, entry: Entry) -> None:
        self.source = source
        self.at = at
        self.original = entry
        self.entry = entry
        self.values: dict[str, Any] = {}
        self.body: str | None = None
        self.leaves = ""
        self.keep_original = False

    def set(self, **values: Any) -> None:
        """Change values; the entry that later steps see changes with them."""
        known = {key: value for key, value in values.items() if key in Entry._fields}
        extra = {**self.entry.extra, **{k: v for k, v in values.items() if k not in Entry._fields}}
        self.values.update(values)
        self.entry = self.entry._replace(**known, extra=extra)

    @property
    def live(self) -> bool:
        return not self.leaves and self.entry.status != "retired"

    @property
    def order(self) -> tuple[Any, ...]:
        return (self.source.path, self.at)


def compact(
    sources: Sequence[Source],
    archives: Mapping[str, str],
    steps: Steps,
    now: datetime.date,
    verdicts: Mapping[frozenset[str], Verdict] | None = None,
    meanings: Meanings | None = None,
) -> Outcome:
    """Compact `sources`. `archives` holds the texts of the archives that exist, by path.

    `verdicts`, by the ids of a pair, are for contradictions = "resolve"; without one a pair is
    flagged. With `meanings` entries are near-duplicates by their vectors, too.
    """
    plan = _prepared(sources, archives, steps, now, meanings)
    plan.contradictions(steps.contradictions, verdicts or {})
    return plan.outcome()


def contradicting(
    sources: Sequence[Source],
    archives: Mapping[str, str],
    steps: Steps,
    now: datetime.date,
    meanings: Meanings | None = None,
) -> list[Pair]:
    """The pairs that `compact` would name, of those that may be changed."""
    plan = _prepared(sources, archives, steps, now, meanings)
    pairs = [(a, b) for a, b, _ in plan.opposites() if a.source.writable and b.source.writable]
    return [Pair(a.source.path, a.entry, b.entry) for a, b in pairs]


def _prepared(
    sources: Sequence[Source],
    archives: Mapping[str, str],
    steps: Steps,
    now: datetime.date,
    meanings: Meanings | None,
) -> _Plan:
    """All steps but the last one."""
    plan = _Plan(sorted(sources, key=lambda source: source.path), archives, now, meanings or {})
    if steps.adopt:
        plan.adopt()
    plan.same_id()
    plan.near_duplicates()
    plan.retired()
    if steps.stale:
        plan.stale()
    if steps.promote:
        plan.promote()
    return plan


class _Plan:
    def __init__(
        self,
        sources: Sequence[Source],
        archives: Mapping[str, str],
        now: datetime.date,
        meanings: Meanings,
    ) -> None:
        self.sources = list(sources)
        self.archives = archives
        self.now = now
        self.meanings = meanings
        self.done: list[Event] = []
        self.found: list[Event] = []
        self.appended: dict[str, list[str]] = {}
        self.adopted: dict[str, str] = {}
        self.claims: dict[str, Claim] = {}
        self._hold()

    def _hold(self) -> None:
        self.held = [
            _Held(s, at, entry) for s in self.sources for at, entry in enumerate(s.memory.entries)
        ]

    def _claim(self, held: _Held) -> Claim:
        """The claim of a body, made once: several steps compare the same texts."""
        body = held.entry.body
        if body not in self.claims:
            self.claims[body] = claim(body)
        return self.claims[body]

    def _note(self, what: str, held: Sequence[_Held], detail: str = "") -> None:
        self.done.append(
            Event(what, held[0].source.path, tuple(h.original.id for h in held), detail)
        )

    # --- the steps

    def adopt(self) -> None:
        """Sections of prose become entries, under the ids they have as sections."""
        from memcli.memory.editor import adopted

        for i, source in enumerate(self.sources):
            if not source.writable or source.place.store == "institutional":
                continue
            after, ids = adopted(source.memory)
            if ids:
                self.sources[i] = source._replace(memory=after)
                self.adopted[source.path] = source.memory.text
                self.done.append(Event("adopted", source.path, tuple(ids)))
        self._hold()

    def same_id(self) -> None:
        """One id twice within a file: the most important version stays."""
        groups: dict[tuple[str, str], list[_Held]] = {}
        for held in self.held:
            if held.entry.identified and held.source.writable:
                groups.setdefault((held.source.path, held.entry.id), []).append(held)
        for group in groups.values():
            if len(group) > 1:
                best = min(group, key=lambda h: (-h.entry.importance, *_by_body(h.entry), h.order))
                self._merge_values(best, group)
                self._leave([h for h in group if h is not best], "merged")
                self._note("same id", [best, *(h for h in group if h is not best)])

    def _merge_values(self, best: _Held, group: Sequence[_Held]) -> None:
        _raise(best, "reinforcement_count", max(h.entry.reinforcement_count for h in group))
        _raise(best, "last_reinforced", max(h.entry.last_reinforced for h in group))

    def near_duplicates(self) -> None:
        """Live entries that say the same in one store of one level become one."""
        for group in self._groups(lambda h: (_shelf(h.source.place), h.entry.type, h.entry.domain)):
            claims = [self._claim(h) for h in group]
            known = [self.meanings.get(meaning_of(h.entry)) for h in group] if self.meanings else []
            for cluster in clusters(claims, more=same_meaning(known)):
                members = [group[i] for i in cluster.members]
                if cluster.guarded:
                    i, j, why = cluster.guarded[0]
                    ids = tuple(h.entry.id for h in (group[i], group[j]))
                    self.found.append(Event("alike but different", group[i].source.path, ids, why))
                elif len({h.entry.id for h in members}) > 1:
                    self._merge(members)

    def _groups(self, key: Callable[[_Held], Any]) -> list[list[_Held]]:
        groups: dict[Any, list[_Held]] = {}
        for held in self.held:
            if held.live and held.source.writable and held.entry.kind != "episode":
                groups.setdefault(key(held), []).append(held)
        return [groups[name] for name in sorted(groups)]

    def _merge(self, members: list[_Held]) -> None:
        best = min(members, key=lambda h: _by_importance(h.entry))
        rest = [h for h in members if h is not best]
        longest = min(members, key=lambda h: _by_body(h.entry))
        if longest.entry.body != best.entry.body:
            best.body = longest.entry.body
            best.entry = best.entry._replace(body=longest.entry.body)
            best.keep_original = True
        self._merge_values(best, members)
        created = min((h.entry.created_at for h in members if h.entry.created_at), default="")
        if created and created != best.entry.created_at:
            best.set(created_at=created)
        merged = {i for h in members for i in (h.entry.id, *h.entry.extra.get("merged_from", ()))}
        best.set(merged_from=sorted(merged - {best.entry.id}), status="compacted")
        for key in ("tags", "paths", "commands"):
            united = list(
                dict.fromkeys(v for h in [best, *rest] for v in h.entry.extra.get(key, ()))
            )
            if united != list(best.entry.extra.get(key, ())):
                best.set(**{key: united})
        self._leave(rest, "merged")
        self._note("merged", [best, *sorted(rest, key=lambda h: h.order)])

    def _leave(self, held: Iterable[_Held], because: str) -> None:
        for h in held:
            h.leaves = because

    def retired(self) -> None:
        """Retired entries go to the archive."""
        for held in self.held:
            if not held.leaves and held.entry.status == "retired" and held.source.writable:
                because = "superseded" if held.entry.extra.get("superseded_by") else "retired"
                self._leave([held], because)
                why = held.entry.extra.get("retired_because", "")
                self._note("retired", [held], f"{held.entry.title}{f' ({why})' if why else ''}")

    def stale(self) -> None:
        """Old entries that never mattered much go to the archive."""
        for held in self.held:
            if held.live and held.source.writable and is_stale(held.entry, self.now):
                self._leave([held], "stale")
                self._note("stale", [held], held.entry.title)

    def promote(self) -> None:
        """What recurs in several jobs or sessions is copied up to the project."""
        project = {h.entry.id for h in self.held if h.source.place.level == "project"}
        group = [
            h
            for h in self.held
            if h.live
            and h.source.place.level in ("job", "task")
            and h.source.place.store == "memory"
            and h.entry.id not in project
            and h.entry.kind != "episode"
        ]
        by_type: dict[str, list[_Held]] = {}
        for held in group:
            by_type.setdefault(held.entry.type, []).append(held)
        for name in sorted(by_type):
            unique = list({h.entry.id: h for h in reversed(by_type[name])}.values())
            unique.sort(key=lambda h: h.order)
            claims = [self._claim(h) for h in unique]
            families = [[unique[i] for i in c.members] for c in clusters(claims) if not c.guarded]
            families += [[h] for h in unique if not any(h in family for family in families)]
            for family in families:
                if _recurs(family):
                    self._promote(family)

    def _promote(self, family: list[_Held]) -> None:
        ids = sorted(h.entry.id for h in family)
        target = self._known(family)
        if target is not None:
            known = set(target.entry.extra.get("promoted_from", ()))
            new = [i for i in ids if i not in known]
            if not new:
                return
            target.set(
                reinforcement_count=target.entry.reinforcement_count + 1,
                last_reinforced=max(self.now.isoformat(), target.entry.last_reinforced),
                promoted_from=sorted({*known, *ids}),
            )
            self._mark(family, target.entry.id)
            self._note("reinforced by recurrence", [target, *family])
            return
        self._copy_up(family, ids)

    def _known(self, family: Sequence[_Held]) -> _Held | None:
        """The project's entry that says the same already."""
        named = {i for h in family for i in h.entry.extra.get("promoted_to", ())}
        members = [self._claim(h) for h in family]
        for held in self.held:
            if not (
                held.live
                and held.source.place.level == "project"
                and held.source.place.store == "memory"
            ):
                continue
            if held.entry.id in named or (
                held.entry.type == family[0].entry.type
                and any(near_duplicate(self._claim(held), m) for m in members)
            ):
                return held
        return None

    def _copy_up(self, family: list[_Held], ids: list[str]) -> None:
        best = min(family, key=lambda h: _by_importance(h.entry)).entry
        body = min((h.entry for h in family), key=_by_body).body
        path = "MEMORY.md"
        if not any(s.path == path and s.writable for s in self.sources):
            return
        new = derived_id(*ids)
        values = {
            "id": new,
            "type": best.type,
            "domain": best.domain,
            "importance": best.importance,
            "phase": best.phase,
            "status": "active",
            "reinforcement_count": max(h.entry.reinforcement_count for h in family),
            "last_reinforced": max(h.entry.last_reinforced for h in family) or self.now.isoformat(),
            "created_at": self.now.isoformat(),
            "kind": best.kind or None,
            **{key: best.extra.get(key) for key in ("priority", "tags", "paths", "commands")},
            "promoted_from": ids,
            "promoted_at": self.now.isoformat(),
        }
        source = next(s for s in self.sources if s.path == path)
        text = render_entry({k: v for k, v in values.items() if v is not None}, body, _eol(source))
        self.appended.setdefault(path, []).append(text)
        self._mark(family, new)
        self.done.append(Event("promoted", path, (new, *ids)))

    def _mark(self, family: Iterable[_Held], target: str) -> None:
        for held in family:
            if held.source.writable and target not in held.entry.extra.get("promoted_to", ()):
                held.set(promoted_to=[*held.entry.extra.get("promoted_to", ()), target])

    def contradictions(self, mode: str, verdicts: Mapping[frozenset[str], Verdict]) -> None:
        """Opposite claims are named; `decay`: both lose weight, once; `resolve`: verdicts are
        carried out.
        """
        for first, second, detail in list(self.opposites()):
            pair = [first, second]
            verdict = (
                verdicts.get(frozenset(h.entry.id for h in pair)) if mode == "resolve" else None
            )
            if not (first.live and second.live) or (
                verdict is not None and self._resolve(pair, verdict)
            ):
                continue
            ids = (first.entry.id, second.entry.id)
            self.found.append(Event("contradiction", first.source.path, ids, detail))
            if mode == "decay" and not _contradict(first, second):
                self._decay(pair)

    def opposites(self) -> Iterator[tuple[_Held, _Held, str]]:
        """The live pairs that say the opposite, and how it is known; none twice."""
        told: set[frozenset[str]] = set()
        for group in self._groups(lambda h: h.entry.type):
            unique = list({h.entry.id: h for h in reversed(group)}.values())
            unique.sort(key=lambda h: h.order)
            claims = [self._claim(h) for h in unique]
            for i, j in contradictions(claims):
                told.add(frozenset((unique[i].entry.id, unique[j].entry.id)))
                yield unique[i], unique[j], guard(claims[i], claims[j]) or "opposite"
        yield from self._marked(told)

    def _marked(self, told: set[frozenset[str]]) -> Iterator[tuple[_Held, _Held, str]]:
        """The pairs that say of themselves that they contradict: a merge leaves them, too."""
        live = {h.entry.id: h for h in self.held if h.live}
        for held in live.values():
            for other in held.entry.extra.get("contradicts", ()):
                ids = frozenset((held.entry.id, other))
                if other in live and ids not in told:
                    told.add(ids)
                    yield held, live[other], "marked"

    def _resolve(self, pair: list[_Held], verdict: Verdict) -> bool:
        """Carry a verdict out; False, and nothing done, when it is unsure or no longer about these
        two.
        """
        shown = {
            verdict.pair.first.id: verdict.pair.first,
            verdict.pair.second.id: verdict.pair.second,
        }
        same = all(shown[h.entry.id].body == h.entry.body and h.source.writable for h in pair)
        if verdict.what == "new" and same:
            self.found.append(
                Event("both hold", pair[0].source.path, tuple(h.entry.id for h in pair))
            )
            return True
        if verdict.what == "unsure" or verdict.keep not in shown or not same:
            return False
        winner, loser = pair if pair[0].entry.id == verdict.keep else pair[::-1]
        if verdict.what == "reinforce":
            today = max(self.now.isoformat(), winner.entry.last_reinforced)
            count = winner.entry.reinforcement_count + 1
            winner.set(reinforcement_count=count, last_reinforced=today)
        elif verdict.what == "update":
            winner.body, winner.keep_original = verdict.body, True
            winner.entry = winner.entry._replace(body=verdict.body)
        loser.set(status="retired", superseded_by=winner.entry.id, retired_because="superseded")
        self._leave([loser], "superseded")
        self._note("superseded", [winner, loser], verdict.what)
        return True

    def _decay(self, pair: list[_Held]) -> None:
        for held, other in (pair, pair[::-1]):
            lowered = round(held.original.importance * DECAY_OF_CONTRADICTION, 4)
            held.set(
                importance=lowered,
                contradicts=[*held.entry.extra.get("contradicts", ()), other.entry.id],
            )
        self._note("decayed", pair)

    # --- the outcome

    def outcome(self) -> Outcome:
        texts: dict[str, str] = {}
        for source in self.sources:
            mine = [h for h in self.held if h.source.path == source.path]
            changes = [change for h in mine if (change := _change(h)) is not None]
            changes += [EntryChange(text=text) for text in self.appended.get(source.path, ())]
            if changes:
                texts[source.path] = edited(source.memory, changes).text
            elif source.path in self.adopted:
                texts[source.path] = source.memory.text
            gone = [h for h in mine if h.leaves or h.keep_original]
            if gone:
                path = archive_of(source.path)
                texts[path] = self._archived(path, source, gone)
        return Outcome(texts, tuple(self.done), tuple(self.found), tuple(self._losses()))

    def _archived(self, path: str, source: Source, gone: Sequence[_Held]) -> str:
        today = self.now.isoformat()
        texts = [
            archive_text(source.memory, h.original, h.leaves or "merged", today, _farewell(h))
            for h in gone
        ]
        archive = parse(self.archives.get(path, ""), path)
        return edited(archive, [EntryChange(text=text) for text in texts]).text

    def _losses(self) -> Iterable[Event]:
        for source in self.sources:
            mine = [h for h in self.held if h.source.path == source.path]
            lost = [
                h
                for h in mine
                if h.original.status != "retired" and h.leaves in ("stale", "superseded")
            ]
            ids = [h.original.id for h in lost]
            if (event := loss(source.path, [h.original for h in mine], ids)) is not None:
                yield event


def meaning_of(entry: Entry) -> tuple[str, str]:
    """What of an entry has a vector."""
    return entry.title, entry.body


def same_meaning(vectors: Sequence[bytes | None]) -> list[tuple[int, int]]:
    """The pairs (i < j) of vectors whose cosine is above 0.95; None is a vector that is not known."""
    places = [i for i, own in enumerate(vectors) if own is not None]
    if len(places) < 2:
        return []
    import numpy as np

    least = SAME_MEANING * SCALE * SCALE
    joined = b"".join(own for own in vectors if own is not None)
    matrix = np.frombuffer(joined, np.int8).reshape(len(places), -1)
    found: list[tuple[int, int]] = []
    for start in range(0, len(places), _BLOCK):
        block = matrix[start : start + _BLOCK].astype(
            np.float32
        )  # holds sums of such whole numbers exactly
        for first in range(start, len(places), _BLOCK):
            products = block @ matrix[first : first + _BLOCK].astype(np.float32).T
            near = np.argwhere(products > least) + np.array((start, first))
            found += [(places[i], places[j]) for i, j in near.tolist() if i < j]
    return found


_BLOCK = 2048


def loss(path: str, entries: Iterable[Entry], lost: Sequence[str]) -> Event | None:
    """A loss to confirm, when too many of a file's live entries would leave it; else None."""
    live = sum(entry.status != "retired" for entry in entries)
    if live < LOSS_LEAST or len(lost) <= LOSS_SHARE * live:
        return None
    return Event("loss", path, tuple(lost), f"{len(lost)} of {live} live entries")


def is_stale(entry: Entry, now: datetime.date) -> bool:
    """Older than 90 days, importance x decay x (1 + n) below 0.1, of no lasting kind or priority."""
    if entry.kind in LASTING_KINDS or entry.extra.get("priority") in LASTING_PRIORITIES:
        return False
    age = age_days(entry.last_reinforced, entry.created_at, entry.date, now)
    weight = entry.importance * half_life_decay(age) * (1 + entry.reinforcement_count)
    return age > STALE_DAYS and weight < STALE_BELOW


def archive_text(
    memory: MemoryFile,
    entry: Entry,
    because: str,
    today: str,
    more: Mapping[str, Any] | None = None,
) -> str:
    """The entry verbatim, with when, whence and why it left (and `more`) added to its front matter."""
    raw = memory.text[entry.start : entry.end].rstrip("\r\n \t") + _line_end(memory)
    alone = parse(raw, memory.path)
    values: dict[str, Any] = {
        "archived_at": today,
        "archived_from": memory.path,
        "archived_because": because,
        **(more or {}),
    }
    if not entry.identified:
        values["id"] = entry.id
    return edited(alone, [EntryChange(0, values)]).text


def _line_end(memory: MemoryFile) -> str:
    from memcli.memory.grammar import eol_of

    return eol_of(memory.text)


def _eol(source: Source) -> str:
    return _line_end(source.memory)


def _change(held: _Held) -> EntryChange | None:
    if held.leaves:
        return EntryChange(held.at, remove=True)
    if held.values or held.body is not None:
        return EntryChange(held.at, held.values, held.body)
    return None


def _farewell(held: _Held) -> dict[str, Any]:
    """What the archive says of an entry that lost to another one in this run."""
    keys = ("status", "superseded_by", "retired_because") if held.leaves == "superseded" else ()
    return {key: held.values[key] for key in keys if key in held.values}


def _raise(held: _Held, key: str, value: Any) -> None:
    if value and value != getattr(held.entry, key):
        held.set(**{key: value})


def _shelf(place: Place) -> tuple[str, str, str, str]:
    return (place.level, place.job, place.task, place.store)


def _by_importance(entry: Entry) -> tuple[Any, ...]:
    return (-entry.importance, -entry.reinforcement_count, entry.created_at or "9999", entry.id)


def _by_body(entry: Entry) -> tuple[Any, ...]:
    return (-len(entry.body), sha256(entry.body.encode("utf-8", "surrogatepass")).hexdigest())


def _recurs(family: Sequence[_Held]) -> bool:
    jobs = {h.source.place.job for h in family if h.source.place.job}
    return len(jobs) >= RECURS or len({s for h in family for s in sessions_of(h.entry)}) >= RECURS


def sessions_of(entry: Entry) -> set[str]:
    """The sessions that an entry was learned in: `session_id`, and those named in `source`."""
    source = entry.extra.get("source", ())
    named = source if isinstance(source, list) else [source]
    own = entry.extra.get("session_id")
    return {str(s).partition("#")[0] for s in named if s} | ({str(own)} if own else set())


def _contradict(a: _Held, b: _Held) -> bool:
    return b.entry.id in a.entry.extra.get("contradicts", ()) or a.entry.id in b.entry.extra.get(
        "contradicts", ()
    )

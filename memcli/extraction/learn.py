"""What becomes of findings: guards, places, ids, and a plan of changes to memory files. Pure.

Nothing is learned twice: an entry's id comes from the session, the scope and the turn, whatever the
wording; what other sessions taught already is reinforced; what a person threw out stays out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.extraction.episodes import Told
from memcli.extraction.scopes import BY_NAME, Scope
from memcli.memory.archive import archived_text
from memcli.memory.editor import EntryChange, edited, render_entry
from memcli.memory.entry_values import TYPE_OF_KIND
from memcli.memory.grammar import derived_id, eol_of
from memcli.memory.levels import OUTERMOST, Place, archive_of, source_of
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.provenance import sessions_of
from memcli.memory.values import Entry
from memcli.sessions.clean import clean_text, day_of, line, rough
from memcli.sessions.model import Finding, Segment, Session, Turn
from memcli.similarity.claims import Claim, claim
from memcli.similarity.duplicates import near_duplicate
from memcli.text import model_output
from memcli.text.injections import neutralise

NORM_LENGTH = 500
DETAIL_LENGTH = 2000
WORD_LENGTH = 120
MOST_WORDS = 12
SOURCES = 5
"""So many sessions an entry names at most, the latest."""
ERROR_LENGTH = 200
NEAR = 40
"""So many turns before and after a finding's are looked at for where its words come from."""
TAINTED = 0.6
"""Share of a finding's words that outside text must have, and more than the session's own words."""
ROUGH = 0.5
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_CODE = re.compile(rf"`[^`\n]{{1,{ERROR_LENGTH}}}`")
REFUSED = {
    "secret": "holds a secret",
    "injection": "reads like a command to the agent",
    "empty": "says nothing",
}
TWICE = "said twice in this session"
LEARNED = "learned already"
THROWN = "thrown out before"
ELSEWHERE = "known in another work tree"
KNOWN_NORM = "a norm already"
UNPLACED = "names no turn that was shown"


# --- what is known


class Known(NamedTuple):
    """A memory file or archive that exists; `writable` says whether it may be changed from here."""

    place: Place
    memory: MemoryFile
    writable: bool = True


def receipt(session: Session, known: Iterable[Known]) -> int:
    """The index of the first turn that nothing tells to have been read.

    The `source` of an episode names the last turn that was read, that of a lesson its own. Event
    uuids are unique, so that turns a fork copied from another session count as read, too.
    """
    keys = set()
    for file in known:
        for entry in file.memory.entries:
            own = str(entry.extra.get("session_id", "")) == session.id
            for name, key in _sources(entry):
                if (own and name == session.name) or _UUID.match(key):
                    keys.add(key)
    found = [i for i, turn in enumerate(session.turns) if turn.key and turn.key in keys]
    return found[-1] + 1 if found else 0


def lessons_of(session: Session, known: Iterable[Known]) -> int:
    """How many lessons a session has left in files and archives."""
    return sum(
        entry.kind != "episode" and str(entry.extra.get("session_id", "")) == session.id
        for file in known
        for entry in file.memory.entries
    )


def related(session: Session, entries: Sequence[Entry], most: int = 12) -> list[Entry]:
    """The entries that share most with what the person said."""
    said: frozenset[str] = frozenset().union(
        *(rough(turn.text[:4000]) for turn in session.turns if turn.human)
    )
    shares = [(len(said & rough(entry.body)), n) for n, entry in enumerate(entries)]
    best = sorted((-share, n) for share, n in shares if share >= 3)
    return [entries[n] for _, n in best[:most]]


def _sources(entry: Entry) -> Iterator[tuple[str, str]]:
    """(transcript, key of the turn) of each source of an entry."""
    source = entry.extra.get("source", ())
    for named in source if isinstance(source, list) else [source]:
        name, _, key = str(named).rpartition("#")
        if name and key:
            yield name, key


# --- findings


class Item(NamedTuple):
    """A finding on its way into a file: the id it would have, the turn it comes from, when it was."""

    id: str
    finding: Finding
    key: str
    day: str
    outcome: str = ""
    extra: Mapping[str, Any] = {}
    detail: str = ""


def items(session: Session, findings: Sequence[Finding], today: str) -> list[Item]:
    """The findings with their ids: uuid5(session, scope, key of the turn, ordinal)."""
    counts: Counter[tuple[str, str]] = Counter()
    found = []
    for finding in findings:
        turn = session.turns[min(max(finding.turn, 0), len(session.turns) - 1)]
        ordinal = counts[finding.scope, turn.key]
        counts[finding.scope, turn.key] += 1
        name = derived_id(session.id, finding.scope, turn.key, str(ordinal))
        found.append(Item(name, finding, turn.key, day_of(turn.time, today)))
    return found


def guarded(item: Item, session: Session) -> tuple[Item | None, str]:
    """The item with clean and bounded texts, or why it is dropped. Taint makes it declarative."""
    finding = item.finding
    try:
        title, body = model_output.safe_text(clean_text(finding.title), clean_text(finding.body))
        tags, paths, commands = map(_listed, (finding.tags, finding.paths, finding.commands))
    except model_output.Refused as refused:
        return None, REFUSED[refused.why]
    safe = finding._replace(
        title=title,
        body=body,
        tags=tags,
        paths=tuple(filter(_below_root, paths)),
        commands=tuple(filter(_telling, commands)),
        tainted=finding.tainted or is_tainted(finding, session),
    )
    return item._replace(finding=safe), ""


def _listed(values: Iterable[str]) -> tuple[str, ...]:
    lines = (model_output.safe_line(clean_text(value), longest=WORD_LENGTH) for value in values)
    return tuple(dict.fromkeys(filter(None, lines)))[:MOST_WORDS]


def _telling(glob: str) -> bool:
    """Whether a glob says anything: `*` would match every command."""
    return len(re.findall(r"\w", glob)) >= 3


def _below_root(glob: str) -> bool:
    return _telling(glob) and not glob.startswith(("/", "~")) and ".." not in glob.split("/")


def is_tainted(finding: Finding, session: Session) -> bool:
    """Whether the advice is in words of tool output, a file or the web rather than the session's
    own.

    A quoted error line of up to 200 characters is no advice: code spans do not count.
    """
    if not 0 <= finding.turn < len(session.turns):
        return False
    turn = session.turns[finding.turn]
    if _is_outside(turn) and not turn.error:
        return True
    words = rough(_CODE.sub(" ", f"{finding.title}\n{finding.body}"))
    if len(words) < 4:
        return False
    near = session.turns[max(0, finding.turn - NEAR) : finding.turn + NEAR]
    outside = max((_share(words, t) for t in near if _is_outside(t)), default=0.0)
    own = max((_share(words, t) for t in near if not _is_outside(t)), default=0.0)
    return outside >= TAINTED and outside > own


def _is_outside(turn: Turn) -> bool:
    """Whether a turn is in neither the person's nor the agent's words."""
    return not turn.human and (turn.role != "assistant" or turn.origin in ("web", "file"))


def _share(words: frozenset[str], turn: Turn) -> float:
    """Which part of the words a turn says; a short error line does not count as advice."""
    if turn.error and len(turn.text) <= ERROR_LENGTH:
        return 0.0
    return len(words & rough(turn.text[:8000])) / len(words)


# --- episodes


def episode(session: Session, segment: Segment, told: Told, today: str) -> Item:
    """The episode of a segment as an item. Its source names the last turn of the segment."""
    title, summary, outcome, tags, text = told
    turns = session.turns[segment.start : segment.end]
    times = [turn.time for turn in turns if turn.time]
    name = derived_id(session.id, "episode", turns[0].key, "0")
    extra = {
        "started_at": times[0] if times else None,
        "ended_at": times[-1] if times else None,
        "surprise": round(segment.surprise, 3),
    }
    safe = _safe_detail(text)
    finding = Finding(
        "episode",
        neutralise(line(title, model_output.TITLE_LENGTH)),
        neutralise(clean_text(summary)),
        segment.start,
        tags=tuple(tags),
    )
    day = day_of(times[-1] if times else "", today)
    return Item(name, finding, turns[-1].key, day, outcome, extra, safe)


def _safe_detail(text: str) -> str:
    """The key turns as they may be written: line by line through the same gate as everything else,
    a line that is in doubt is left out.
    """
    kept = []
    for row in text.splitlines():
        try:
            kept.append(model_output.safe_line(clean_text(row), longest=DETAIL_LENGTH))
        except model_output.Refused:
            continue
    return "\n".join(filter(None, kept))[:DETAIL_LENGTH]


# --- the plan


class Context(NamedTuple):
    """What every entry of a session names, and where things go.

    `targets` maps project, job, task, global, proxy, proxy-tasks, interventions and episodes to
    files with their places; norms go to the `institutional.md` beside a level's `MEMORY.md`.
    """

    session: str
    name: str
    task: str
    phase: str
    today: str
    targets: Mapping[str, tuple[str, Place]]
    keep: int = 20


class Event(NamedTuple):
    """What became of one item: learned, reinforced, restored or noted (a norm)."""

    what: str
    id: str
    path: str
    title: str
    scope: str


class Outcome(NamedTuple):
    """New texts by file, what was done, and how many items were dropped for which reason."""

    texts: Mapping[str, str]
    events: tuple[Event, ...]
    dropped: Mapping[str, int]


def plan(
    given: Sequence[Item], context: Context, known: Sequence[Known], session: Session
) -> Outcome:
    """The changes that make `given` known. `known` are all files and archives that could know it."""
    work = _Plan(context, known)
    for item in given:
        safe, why = guarded(item, session)
        if safe is None and item.finding.scope == "episode":
            safe = _bland(item)  # it is the receipt: it must be written
        if safe is None:
            work.drop(why)
        else:
            work.place(safe)
    return work.outcome()


def _bland(item: Item) -> Item:
    """An episode of which nothing may be told."""
    return item._replace(finding=Finding("episode", f"A session of {item.day}", "", -1), detail="")


class _Candidate(NamedTuple):
    """An entry that may say the same, and where it stands."""

    file: Known
    at: int
    entry: Entry
    rough: frozenset[str]


class _Plan:
    def __init__(self, context: Context, known: Sequence[Known]) -> None:
        self.context = context
        self.files = {file.memory.path: file for file in known}
        self.changes: dict[str, list[EntryChange]] = {}
        self.norms: dict[str, list[str]] = {}
        self.events: list[Event] = []
        self.dropped: Counter[str] = Counter()
        self.fresh: list[tuple[str, Claim]] = []
        self.touched: set[str] = set()
        self.ids: set[str] = set()
        self.live: dict[str, tuple[Known, int]] = {}
        self.survivors: dict[str, str] = {}
        self.candidates: list[_Candidate] = []
        for file in known:
            self._read(file)

    def _read(self, file: Known) -> None:
        archived = file.place.store == "archive"
        for at, entry in enumerate(file.memory.entries):
            merged = [str(name) for name in entry.extra.get("merged_from", ())]
            self.ids |= {entry.id, *merged}
            if not archived:
                if entry.id not in self.live or file.writable:
                    self.live[entry.id] = (file, at)
                self.survivors.update(dict.fromkeys(merged, entry.id))
            if entry.kind != "episode":
                self.candidates.append(_Candidate(file, at, entry, rough(entry.body)))

    def drop(self, why: str) -> None:
        self.dropped[why] += 1

    def place(self, item: Item) -> None:
        """Decide what becomes of one guarded item."""
        finding, scope = item.finding, BY_NAME[item.finding.scope]
        if item.id in self.ids:
            self.drop(LEARNED)
        elif finding.reinforces and self._confirm(finding.reinforces, item):
            return
        elif finding.institutional and scope.norms and not finding.tainted:
            self._norm(item, scope)
        elif scope.name == "episode":
            self._append(item, scope, "episodes")
        else:
            self._learn(item, scope)

    def _confirm(self, name: str, item: Item) -> bool:
        """`Remember this` of what is known: its decay clock is reset, without a count."""
        found = self.live.get(self.survivors.get(name, name))
        if found is None or not found[0].writable:
            return False
        file, at = found
        self._strengthen(file, at, item, {"last_reinforced": self.context.today})
        return True

    def _learn(self, item: Item, scope: Scope) -> None:
        target = _target(item.finding, scope)
        mine = claim(_body(item))
        if any(where == target and near_duplicate(mine, other) for where, other in self.fresh):
            self.drop(TWICE)
            return
        same = self._same(item, target, mine)
        if same is None:
            self.fresh.append((target, mine))
            self._append(item, scope, target)
        else:
            self._settle(item, same)

    def _same(self, item: Item, target: str, mine: Claim) -> _Candidate | None:
        """The entry that says the same and decides: a live one, else one thrown out, else a stale
        one.
        """
        place = self.context.targets[target][1]
        words = rough(_body(item))
        found = [
            candidate
            for candidate in self.candidates
            if _around(candidate.file.place, place)
            and _roughly(words, candidate.rough)
            and near_duplicate(mine, claim(candidate.entry.body))
        ]
        ranked = sorted((self._rank(c), i) for i, c in enumerate(found))
        return found[ranked[0][1]] if ranked and ranked[0][0] < _IGNORED else None

    def _rank(self, candidate: _Candidate) -> int:
        """0 and 1 a live entry (that may be written), 2 thrown out, 3 stale, 4 does not count."""
        entry, archived = candidate.entry, candidate.file.place.store == "archive"
        if not archived and entry.status != "retired":
            return 0 if candidate.file.writable else 1
        if archived and entry.id in self.live:
            return 0
        because = str(entry.extra.get("archived_because", "retired")) if archived else "retired"
        if because == "merged":
            return 0 if self.survivors.get(entry.id) in self.live else _IGNORED
        if because == "stale":
            return 3
        stage = str(entry.extra.get("retired_because", "")).startswith("stage ")
        return _IGNORED if stage and not entry.extra.get("superseded_by") else 2

    def _settle(self, item: Item, same: _Candidate) -> None:
        rank = self._rank(same)
        if rank == 2:
            self.drop(THROWN)
        elif rank == 3:
            self._restore(item, same)
        else:
            file, at = self.live[self.survivors.get(same.entry.id, same.entry.id)]
            self._reinforce(item, file, at)

    def _reinforce(self, item: Item, file: Known, at: int) -> None:
        entry = file.memory.entries[at]
        if {self.context.name, self.context.session} & sessions_of(entry):
            self.drop(LEARNED)
        elif not file.writable:
            self.drop(ELSEWHERE)
        else:
            values: dict[str, Any] = {
                "last_reinforced": max(self.context.today, entry.last_reinforced)
            }
            if not _is_reminder(item.finding):
                values["reinforcement_count"] = entry.reinforcement_count + 1
            self._strengthen(file, at, item, values)

    def _strengthen(self, file: Known, at: int, item: Item, values: Mapping[str, Any]) -> None:
        entry = file.memory.entries[at]
        if entry.id in self.touched:
            self.drop(TWICE)
            return
        self.touched.add(entry.id)
        more = {**values, "source": self._sources(entry, item)}
        self.changes.setdefault(file.memory.path, []).append(EntryChange(at, more))
        self._note("reinforced", entry.id, file.memory.path, entry.title, item)

    def _sources(self, entry: Entry, item: Item) -> list[str]:
        source = entry.extra.get("source", ())
        named = [str(s) for s in (source if isinstance(source, list) else [source]) if s]
        mine = self._source(item)
        return [*[s for s in named if s != mine], mine][-SOURCES:]

    def _source(self, item: Item) -> str:
        return f"{self.context.name}#{item.key}"

    def _restore(self, item: Item, same: _Candidate) -> None:
        entry, archive = same.entry, same.file.memory
        if entry.id in self.touched:
            self.drop(TWICE)
            return
        self.touched.add(entry.id)
        raw = archive.text[entry.start : entry.end].strip("\r\n") + "\n"
        values: dict[str, Any] = dict.fromkeys(("archived_at", "archived_from", "archived_because"))
        values |= {
            "reinforcement_count": entry.reinforcement_count + 1,
            "last_reinforced": max(self.context.today, entry.last_reinforced),
            "source": self._sources(entry, item),
        }
        home = source_of(archive.path)
        text = edited(parse(raw, archive.path), [EntryChange(0, values)]).text
        self.changes.setdefault(home, []).append(EntryChange(text=text))
        self._note("restored", entry.id, home, entry.title, item)

    def _append(self, item: Item, scope: Scope, target: str) -> None:
        path = self.context.targets[target][0]
        values = {
            key: value
            for key, value in self._values(item, scope).items()
            if value not in (None, [], "")
        }
        text = render_entry(values, _body(item), eol_of(self._memory(path).text))
        self.changes.setdefault(path, []).append(EntryChange(text=text))
        self.ids.add(item.id)
        self._note("learned", item.id, path, item.finding.title, item)

    def _values(self, item: Item, scope: Scope) -> dict[str, Any]:
        finding, today = item.finding, self.context.today
        return {
            "id": item.id,
            **_judged(finding, scope),
            "domain": scope.domain,
            "phase": self.context.phase,
            "status": "active",
            "reinforcement_count": 0,
            "last_reinforced": item.day or today,
            "created_at": item.day or today,
            "scope": scope.name,
            "tags": list(finding.tags),
            "paths": list(finding.paths),
            "commands": list(finding.commands),
            "session_id": self.context.session,
            "session_task": self.context.task,
            "source": [self._source(item)],
            "outcome": item.outcome,
            **item.extra,
        }

    def _norm(self, item: Item, scope: Scope) -> None:
        """A dated bullet in the level's institutional.md, unless one says it already."""
        path = _institutional(self.context.targets[scope.writes][0])
        finding = item.finding
        said = line(finding.body or finding.title, NORM_LENGTH)
        known = [row for name, file in self.files.items() if file.place.store == "institutional"
                 for row in file.memory.text.splitlines()]  # fmt: skip
        mine = claim(said)
        fresh = [row for rows in self.norms.values() for row in rows]
        if any(near_duplicate(mine, claim(row)) for row in (*known, *fresh) if row.strip()):
            self.drop(KNOWN_NORM)
            return
        self.norms.setdefault(path, []).append(f"- [{item.day}] {said}")
        self._note("noted", "", path, said, item)

    def _memory(self, path: str) -> MemoryFile:
        return self.files[path].memory if path in self.files else parse("", path)

    def _note(self, what: str, name: str, path: str, title: str, item: Item) -> None:
        self.events.append(Event(what, name, path, title, item.finding.scope))

    def outcome(self) -> Outcome:
        texts: dict[str, str] = {}
        for path, changes in self.changes.items():
            memory = self._memory(path)
            gone = self._surplus(memory, changes, path)
            if gone:
                archive = self._memory(archive_of(path))
                kept = [
                    archived_text(memory, memory.entries[at], "stale", self.context.today)
                    for at in gone
                ]
                texts[archive.path] = edited(
                    archive, [EntryChange(text=text) for text in kept]
                ).text
            texts[path] = edited(
                memory, [*(EntryChange(at, remove=True) for at in gone), *changes]
            ).text
        for path, rows in self.norms.items():
            texts[path] = with_bullets(self._memory(path), rows)
        return Outcome(texts, tuple(self.events), dict(self.dropped))

    def _surplus(self, memory: MemoryFile, changes: Sequence[EntryChange], path: str) -> list[int]:
        """The oldest live episodes beyond the number to keep."""
        if path != self.context.targets["episodes"][0]:
            return []
        live = [
            at
            for at, e in enumerate(memory.entries)
            if e.kind == "episode" and e.status != "retired"
        ]
        over = len(live) + len(changes) - self.context.keep
        by_age = sorted(live, key=lambda at: (_ended(memory.entries[at]), at))
        return sorted(by_age[: max(0, over)])


_IGNORED = 4


def _ended(entry: Entry) -> str:
    return str(
        entry.extra.get("ended_at")
        or entry.extra.get("started_at")
        or entry.created_at
        or entry.date
    )


def _judged(finding: Finding, scope: Scope) -> dict[str, Any]:
    """Type, importance, kind and priority: the scope's, what the finding says instead, less for
    taint.
    """
    kind = finding.kind or scope.kind
    if scope.name == "episode":
        kind = "episode"
    type_ = finding.type or scope.type
    if kind == "fact" and not finding.type and scope.type == "directive":
        type_ = "declarative"
    importance = (
        scope.importance if finding.importance is None else min(1.0, max(0.0, finding.importance))
    )
    priority = finding.priority or scope.priority
    if finding.tainted:
        type_, priority, importance = "declarative", "", min(importance, 0.5)
        kind = "fact" if kind in TYPE_OF_KIND or kind == "architecture" else kind
    return {"type": type_, "importance": round(importance, 3), "kind": kind, "priority": priority}


def _is_reminder(finding: Finding) -> bool:
    """`Remember this`: of what is known it resets the decay clock alone."""
    return finding.kind == "fact" and finding.priority == "high"


def _target(finding: Finding, scope: Scope) -> str:
    """Which of the targets a finding goes to: the person's manner goes to the proxy."""
    if scope.name == "observations" and finding.about_person:
        return "proxy"
    return scope.writes


def _institutional(path: str) -> str:
    return path.removesuffix("MEMORY.md") + "institutional.md"


def _body(item: Item) -> str:
    finding = item.finding
    body = _beyond(finding.title, finding.body)
    detail = f"### Detail\n{item.detail}" if item.detail else ""
    return "\n".join(filter(None, (f"## [{item.day}] {finding.title}", body, detail)))


def _beyond(title: str, body: str) -> str:
    """`body` without what the title says word for word: all of it, or its first sentence."""
    if _bare(body) == _bare(title):
        return ""
    first, _, rest = body.partition(". ")
    return rest.lstrip() if _bare(first) == _bare(title) else body


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!:")


def _roughly(a: frozenset[str], b: frozenset[str]) -> bool:
    """A quick look before the exact comparison."""
    return bool(a and b) and len(a & b) >= ROUGH * len(a | b)


def _around(place: Place, target: Place) -> bool:
    """Whether readers of the target see what stands at `place`: its level and those around it."""
    if place.of != target.of or OUTERMOST[place.level] > OUTERMOST[target.level]:
        return False
    return place.job in ("", target.job) and place.task in ("", target.task)


def with_bullets(memory: MemoryFile, rows: Sequence[str]) -> str:
    """The text of an institutional file with bullets at the end of its prose; entries stay as they
    are.
    """
    text, eol = memory.text, eol_of(memory.text)
    end = next((s.start for s in memory.segments if s.kind == "entry"), len(text))
    head, tail = text[:end], text[end:]
    kept = head.rstrip("\r\n \t")
    last = kept.rpartition("\n")[2].lstrip() if kept.strip("\ufeff") else ""
    glue = "" if not kept.strip("\ufeff") else eol if last.startswith(("- ", "* ")) else eol * 2
    return f"{kept}{glue}{eol.join(rows)}{eol}{eol if tail else ''}{tail}"

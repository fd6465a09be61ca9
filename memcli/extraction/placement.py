"""What becomes of findings: a plan of changes to memory files in view of what is known.
Pure."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import filterfalse
from typing import Any, NamedTuple

from memcli.extraction.drafts import (
    FindingDraft,
    confirmed,
    draft_body,
    guarded,
    is_persons,
    judged_values,
)
from memcli.extraction.known_entries import KnownEntry, entries_of, norms_of
from memcli.extraction.rules.words import rough
from memcli.memory.binding import binds
from memcli.memory.changes import ChangeSet, new_values
from memcli.memory.grammar import derived_id
from memcli.memory.norms import with_bullets
from memcli.memory.parser import KnownFile, parse
from memcli.memory.tombstones import (
    Forgotten,
    Meant,
    is_tombstone,
    meant,
    words_of,
)
from memcli.memory.values import Entry, Patch, Place, domain_of, listed, sessions_of
from memcli.memory.words import overlap
from memcli.sessions.model import Finding, Session
from memcli.sessions.speakers import line
from memcli.similarity.claims import Claim, claim
from memcli.similarity.duplicates import near_duplicate
from memcli.similarity.taken_back import (
    ECHO,
    Refusal,
    TakenBackDoor,
    echoes,
    replaces,
    says_one,
    tombstones_of,
)
from memcli.text.sentences import sentences

NORM_LENGTH = 500
# sessions an entry names; share of words from which texts are compared
SOURCES = 5
ROUGH = 0.5
TWICE = "said twice in this session"
LEARNED = "learned already"
OUTDATED = "said otherwise since"
THROWN = "thrown out before"
UNKNOWN = "taken back, but nothing like it is known"
RETIRE = "retire"
"""The kind of a proposal to retire an entry."""
KNOWN_NORM = "a norm already"
ELSEWHERE = "known in another work tree"


class Context(NamedTuple):
    """What entries name, where things go, how many episodes stay live in a file."""

    session: Session
    task: str
    phase: str
    today: str
    targets: Mapping[str, tuple[str, Place]]
    keep: int = 20
    likeness: Callable[[str, Sequence[str]], Sequence[float]] = lambda about, texts: ()
    """The cosines of words with texts; nothing where there are no vectors."""
    forgotten: Forgotten | None = None


class PlacedFinding(NamedTuple):
    """What became of one finding: learned, reinforced, restored or noted (a norm)."""

    what: str
    id: str
    path: str
    title: str
    scope: str


class Outcome(NamedTuple):
    """New texts by file, what was done, how many findings were dropped for which
    reason, and what waits for a yes; `refused` says of what was taken back before what
    would write it again."""

    texts: Mapping[str, str]
    events: tuple[PlacedFinding, ...]
    dropped: Mapping[str, int]
    patches: tuple[Patch, ...] = ()
    proposed: tuple[FindingDraft, ...] = ()
    refused: tuple[str, ...] = ()

    def proposed_ids(self) -> list[str]:
        """The ids of what waits for a yes."""
        return [draft.id for draft in self.proposed]


def plan(
    drafts: Sequence[FindingDraft], context: Context, known: Sequence[KnownFile]
) -> Outcome:
    """The changes that make `drafts` known. `known`: all files and archives that may
    know them."""
    work = _Placement(context, known)
    for draft in drafts:
        safe, why = guarded(draft, context.session)
        if safe is None:
            work.dropped[why] += 1
        else:
            work.place(safe)
    return work.outcome()


# what an entry that says the same is
_LIVE, _FOREIGN, _THROWN, _STALE, _IGNORED = range(5)


class _Placement:
    def __init__(self, context: Context, known: Sequence[KnownFile]) -> None:
        self.context = context
        self.known = known
        self.changes = ChangeSet((file.memory for file in known), context.today)
        self.norms: dict[str, list[str]] = {}
        self.events: list[PlacedFinding] = []
        self.dropped: Counter[str] = Counter()
        self.fresh: list[tuple[str, Claim]] = []
        self.proposed: list[FindingDraft] = []
        self.refused: list[str] = []
        self.unsaid: list[list[str]] = []
        self.touched: set[str] = set()
        self.taken_back = TakenBackDoor(tombstones_of(known), context.forgotten)
        self.bullets = norms_of(known)
        self.alike = entries_of(known)
        live = [other for other in self.alike if not other.archived]
        live.sort(key=lambda other: other.file.writable)
        self.live = {other.entry.id: other for other in live}
        self.survivors = {
            name: other.entry.id
            for other in self.live.values()
            for name in other.merged
        }
        self.ids = {other.entry.id for other in self.alike}
        self.ids.update(*(other.merged for other in self.alike))

    def place(self, draft: FindingDraft) -> None:
        """Decide what becomes of one guarded finding."""
        finding = draft.finding
        if finding.retires or finding.retires_id:
            self._take_back(draft)
        nothing_instead = finding.retires and not _says_instead(finding)
        if draft.id in self.ids:
            self.dropped[LEARNED] += 1
        elif not (nothing_instead or finding.retires_id):
            self._keep(draft)

    def _keep(self, draft: FindingDraft) -> None:
        """Write a finding to the place that its scope says."""
        finding = draft.finding
        told = self.live.get(self.survivors.get(finding.reinforces, finding.reinforces))
        if told is not None and told.file.writable:  # `remember this` of what is known
            self._strengthen(told, draft, asked=True)
        elif finding.institutional and draft.scope.norms and not finding.tainted:
            self._norm(draft)
        elif finding.scope != "episode":
            # The person's manner goes to the proxy.
            person = finding.scope == "observations" and finding.about_person
            usual = "proxy" if person else draft.scope.writes
            self._learn(draft, draft.level or usual)
        else:
            self._tell(draft)

    def _tell(self, draft: FindingDraft) -> None:
        """Write an episode without what was dropped of its session."""
        title = draft.finding.title
        is_dropped = partial(says_one, self.unsaid)
        if is_dropped(title) or self.taken_back.of(f"## {title}", id=draft.id):
            self.dropped[THROWN] += 1
            return
        kept = filterfalse(is_dropped, sentences(draft.finding.body))
        rows = filterfalse(is_dropped, draft.detail.splitlines())
        finding = draft.finding._replace(body=" ".join(kept))
        told = draft._replace(finding=finding, detail="\n".join(rows))
        self._add(told, "episodes")

    def _take_back(self, draft: FindingDraft) -> None:
        """Retire the entry that is meant; where several may be, propose it of each."""
        live = self._retirable()
        if draft.finding.retires_id:
            for known in live:
                if known.entry.id == draft.finding.retires_id:
                    self._retire(known, draft)
            return
        if _says_instead(draft.finding):
            mine = claim(draft_body(draft))
            live = [
                known
                for known in live
                if not near_duplicate(mine, claim(known.entry.body))
            ]
        targets = _meant(draft.finding, live, self.context)
        for place in (*targets.clear, *targets.likely):
            known = live[place]
            # What binds is a person's to lift.
            if place in targets.clear and not binds(known.entry):
                self._retire(known, draft)
            else:
                self._propose_to_retire(known.entry, draft)
        if targets == Meant():
            self.dropped[UNKNOWN] += 1

    def _retirable(self) -> list[KnownEntry]:
        """The live entries that may be retired here and were not touched yet."""
        return [
            known
            for known in self.alike
            if self._rank(known) == _LIVE
            and not known.archived
            and not known.entry.is_episode
            and known.entry.id not in self.touched
        ]

    def _retire(self, known: KnownEntry, draft: FindingDraft, by: str = "") -> None:
        because = f"taken back in session {self.context.session.id[:8]}"
        values = {"status": "retired", "retired_because": because}
        if by or _says_instead(draft.finding):
            values["superseded_by"] = by or draft.id
        self.changes.set((known.file.memory.path, known.at), **values)
        self.touched.add(known.entry.id)
        for spot in echoes(known.entry, self.known):
            self.changes.set(spot, status="retired", retired_because=ECHO)
        path = known.file.memory.path
        self._note("retired", known.entry.id, path, known.entry.title, draft)

    def _propose_to_retire(self, entry: Entry, draft: FindingDraft) -> None:
        finding = draft.finding._replace(
            title=entry.title, body=entry.title, kind=RETIRE, retires_id=entry.id
        )
        name = derived_id(draft.id, RETIRE, entry.id)
        self.proposed.append(draft._replace(id=name, finding=finding))

    def _learn(self, draft: FindingDraft, target: str) -> None:
        mine = claim(draft_body(draft))
        if any(
            where == target and near_duplicate(mine, other)
            for where, other in self.fresh
        ):
            self.dropped[TWICE] += 1
            return
        same = self._same(draft, self.context.targets[target][1], mine)
        if same is not None and self._rank(same) != _THROWN:
            if draft.finding.is_unsaid:
                self.dropped[LEARNED] += 1
            else:
                self._strengthen(same, draft)
            return
        refusal = self.taken_back.of(draft_body(draft), id=draft.id)
        if refusal is not None or same is not None:
            self._refuse(draft, refusal)
        else:
            self._learn_new(draft, target)

    def _refuse(self, draft: FindingDraft, refusal: Refusal | None) -> None:
        """Count what was taken back before, and say what would write it again."""
        self.dropped[THROWN] += 1
        self.unsaid.append(words_of(draft.finding.title))
        if refusal is not None and not refusal.is_forgotten:
            again = f"mem add --again {shlex.quote(draft.finding.title)}"
            self.refused.append(f"{refusal}; {again}")

    def _learn_new(self, draft: FindingDraft, target: str) -> None:
        """Write or propose what nothing says yet, and retire the entry that has another
        value for the same thing, unless that one is of a later day."""
        rival = self._rival(draft, target)
        if rival is not None and rival.entry.created_at > draft.day:
            self.dropped[OUTDATED] += 1
            self.unsaid.append(words_of(draft.finding.title))
            return
        self.fresh.append((target, claim(draft_body(draft))))
        if draft.proposed:
            self.proposed.append(draft)
            return
        if rival is not None:
            self._retire(rival, draft, by=draft.id)
        self._add(draft, target)

    def _rival(self, draft: FindingDraft, target: str) -> KnownEntry | None:
        """The one entry of the level that has another value for the same thing. Several
        are a series and stay."""
        place = self.context.targets[target][1]
        mine = draft_body(draft)
        free = [one for one in self._retirable() if not binds(one.entry)]
        rivals = [one for one in free if one.file.place == place]
        old = [one for one in rivals if replaces(mine, one.entry.body)]
        return old[0] if len(old) == 1 else None

    def _same(
        self, draft: FindingDraft, place: Place, mine: Claim
    ) -> KnownEntry | None:
        """The entry that says the same and decides: a live one, else one that was
        thrown out, else a stale one."""
        words = rough(draft_body(draft))
        twins = []
        for known in self.alike:
            # Readers of a place see its level and those around it.
            known_at = known.file.place
            around = known_at.is_around(place.level, place.job, place.task)
            alike = overlap(words, known.rough) >= ROUGH
            counts = not known.entry.is_episode and self._rank(known) < _IGNORED
            if known_at.of != place.of or not (around and alike and counts):
                continue
            if near_duplicate(mine, claim(known.entry.body)):
                twins.append(known)
        return min(twins, key=self._rank, default=None)

    def _rank(self, known: KnownEntry) -> int:
        """What an entry that says the same is: one of `_LIVE` to `_IGNORED`."""
        entry = known.entry
        if not known.archived and entry.is_live:
            return _LIVE if known.file.writable else _FOREIGN
        because = entry.extra.get("archived_because") if known.archived else ""
        is_merged = because == "merged" and self.survivors.get(entry.id) in self.live
        if is_merged or (known.archived and entry.id in self.live):
            return _LIVE
        if because == "stale":
            return _STALE
        is_thrown = is_tombstone(entry, archived=known.archived)
        return _THROWN if is_thrown else _IGNORED

    def _strengthen(
        self, same: KnownEntry, draft: FindingDraft, *, asked: bool = False
    ) -> None:
        """Strengthen an entry that this session says again, once per session."""
        restored = self._rank(same) == _STALE
        if not restored:
            same = self.live[self.survivors.get(same.entry.id, same.entry.id)]
        entry = same.entry
        if entry.id in self.touched:
            self.dropped[TWICE] += 1
        elif not (asked or restored) and _has_said(self.context.session, entry):
            self.dropped[LEARNED] += 1
        elif not (restored or same.file.writable):
            self.dropped[ELSEWHERE] += 1
        else:
            self.touched.add(entry.id)
            spot = (same.file.memory.path, same.at)
            values = self._said_again(entry, draft, asked=asked)
            if restored:
                path = self.changes.restore(spot, **values)
                self._note("restored", entry.id, path, entry.title, draft)
            else:
                self.changes.set(spot, **values)
                self._note("reinforced", entry.id, spot[0], entry.title, draft)

    def _said_again(
        self, entry: Entry, draft: FindingDraft, *, asked: bool
    ) -> dict[str, Any]:
        """The values of an entry that is said again; a reminder resets the clock
        alone."""
        finding = draft.finding
        reminder = asked or (finding.kind == "fact" and finding.priority == "high")
        mine = f"{self.context.session.name}#{draft.key}"
        sources = [each for each in listed(entry, "source") if each != mine]
        values = {
            "reinforcement_count": entry.reinforcement_count + (0 if reminder else 1),
            "last_reinforced": max(self.context.today, entry.last_reinforced),
            "source": [*sources, mine][-SOURCES:],
        }
        return (
            values | confirmed(entry)
            if is_persons(self.context.session, finding)
            else values
        )

    def _add(self, draft: FindingDraft, target: str) -> None:
        context = self.context
        path, place = context.targets[target]
        finding = draft.finding
        lists = {
            key: list(getattr(finding, key))
            for key in ("tags", "paths", "commands", "rests_on")
        }
        values = new_values(
            draft.id,
            context.today,
            created_at=draft.day,
            **judged_values(draft),
            domain=domain_of(place.level)
            if target == "episodes"
            else draft.scope.domain,
            phase=context.phase,
            scope=finding.scope,
            **lists,
            session_id=context.session.id,
            session_task=context.task,
            source=[*draft.heard, f"{context.session.name}#{draft.key}"][-SOURCES:],
            outcome=draft.outcome,
            **draft.extra,
        )
        self.changes.add(path, values, draft_body(draft))
        self.ids.add(draft.id)
        self._note("learned", draft.id, path, finding.title, draft)

    def _norm(self, draft: FindingDraft) -> None:
        """A dated bullet in the level's institutional.md, unless one says it
        already."""
        path = (
            self.context.targets[draft.scope.writes][0].removesuffix("MEMORY.md")
            + "institutional.md"
        )
        norm = line(draft.finding.body or draft.finding.title, NORM_LENGTH)
        if any(near_duplicate(claim(norm), claim(row)) for row in self.bullets):
            self.dropped[KNOWN_NORM] += 1
            return
        self.bullets.append(norm)
        self.norms.setdefault(path, []).append(f"- [{draft.day}] {norm}")
        self._note("noted", "", path, norm, draft)

    def _note(
        self, what: str, name: str, path: str, title: str, draft: FindingDraft
    ) -> None:
        self.events.append(
            PlacedFinding(
                what=what, id=name, path=path, title=title, scope=draft.finding.scope
            )
        )

    def outcome(self) -> Outcome:
        """The new texts of the files, and what was done."""
        self._archive_old_episodes()
        texts = self.changes.texts()
        for path, rows in self.norms.items():
            text = texts.get(path, self.changes.file(path).text)
            texts[path] = with_bullets(parse(text, path), rows)
        return Outcome(
            texts=texts,
            events=tuple(self.events),
            dropped=dict(self.dropped),
            proposed=tuple(self.proposed),
            refused=tuple(self.refused),
        )

    def _archive_old_episodes(self) -> None:
        """Move the oldest live episodes to the archive if a new one makes them too
        many."""
        path = self.context.targets["episodes"][0]
        fresh = sum(event.scope == "episode" for event in self.events)
        if not fresh:
            return
        live = [
            (str(entry.extra.get("ended_at") or entry.created_at), index)
            for index, entry in enumerate(self.changes.file(path).entries)
            if entry.is_episode and entry.is_live
        ]
        over = max(0, len(live) + fresh - self.context.keep)
        for _, index in sorted(live)[:over]:
            self.changes.archive((path, index), "stale")


def _meant(finding: Finding, live: Sequence[KnownEntry], context: Context) -> Meant:
    """Which of these entries are meant by what is taken back."""
    instead = finding.body if _says_instead(finding) else ""
    texts = [f"{one.entry.title}\n{one.entry.body}" for one in live]
    asked = f"{finding.retires} {instead}".strip()
    return meant(
        finding.retires,
        texts,
        every=finding.retires_all,
        instead=instead,
        likeness=context.likeness(asked, texts),
    )


def _has_said(session: Session, entry: Entry) -> bool:
    """Whether the session strengthened the entry before."""
    return bool({session.name, session.id} & sessions_of(entry))


def _says_instead(finding: Finding) -> bool:
    """Whether what is taken back is replaced by something."""
    return bool(finding.retires) and finding.body != finding.retires

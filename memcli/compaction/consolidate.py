"""Ask a language model what compaction needs to know, and carry out its answers. While
it is asked, nothing is locked or written."""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.app import App
from memcli.compaction import questions
from memcli.compaction.contradictions import PairVerdict
from memcli.compaction.plan import EDITED, EVERYWHERE, CompactFiles, importance_order
from memcli.compaction.questions import (
    EpisodeBatch,
    Lesson,
    Operation,
    QuotedEntry,
    body_of,
    due,
)
from memcli.index import lexical
from memcli.index.database import Index
from memcli.memory.binding import binds
from memcli.memory.changes import ChangeSet, Event, Spot, copied_values, new_values
from memcli.memory.grammar import derived_id
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.tombstones import is_tombstone
from memcli.memory.values import Entry, archive_of, domain_of, listed
from memcli.project import git
from memcli.project.context import Project
from memcli.providers.llm import Model
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import near_duplicate
from memcli.similarity.opposites import Opposite
from memcli.text import model_output

CHANGED = "changed while the model answered: run again"
COPIED = ("title", "priority", "tags", "commands")
"""What a copy for every project keeps besides its judgement: not where it stood."""
MOST_RELATED = 20
MOST_ASKED = 20  # so many pairs, or entries, go into one question
POOL = 200  # so many chunks are looked at for entries that are related to episodes


class ModelAnswers(NamedTuple):
    """What the model said, with what it was shown."""

    lessons: tuple[Lesson, ...] = ()
    verdicts: Mapping[tuple[str, str], PairVerdict] = {}
    promoted: tuple[QuotedEntry, ...] = ()
    found: tuple[Event, ...] = ()


def ask_about_episodes(model: Model, app: App, files: CompactFiles) -> ModelAnswers:
    """Ask what the due episodes teach."""
    batches = [
        batch for batch in due(files.sources) if _takes_facts(files, batch.target)
    ]
    if not batches:
        return ModelAnswers()
    app.refresh()
    batches = [_with_related(app.index, batch, files) for batch in batches]
    texts = questions.ask(model, "consolidate", map(questions.facts_question, batches))
    lessons = [
        questions.read_lesson(text, batch)
        for text, batch in zip(texts, batches, strict=True)
    ]
    return ModelAnswers(tuple(questions.settled(lessons)))


def _takes_facts(files: CompactFiles, name: str) -> bool:
    for source in files.sources:
        if source.path == name:
            return source.writable
    return files.memory(name, files.project.path_of(name)) is not None


def _with_related(
    index: Index, batch: EpisodeBatch, files: CompactFiles
) -> EpisodeBatch:
    """The batch with related entries, found by its episodes' words, best first."""
    settled = _settled_around(batch, files)
    paths = {row.id: row.path for row in index.files().values()}
    # Skip files of which no entry may be shown.
    unsettled = {number for number, path in paths.items() if path not in settled}
    words = "\n".join(item.words for item in batch.episodes)
    wanted = lexical.build(words, index.words.counts).terms
    scores = index.words.best(wanted, index.words.shown(unsettled), pool=POOL)
    candidates = index.entries.candidates(scores)
    ranked = sorted(
        candidates, key=lambda chunk: (-scores[chunk.rowid], chunk.source, chunk.offset)
    )
    related: dict[tuple[str, str], QuotedEntry] = {}
    for candidate in ranked:
        path = paths.get(candidate.source, "")
        entry = settled.get(path, {}).get(candidate.entry)
        if entry is not None:
            related.setdefault((path, entry.id), QuotedEntry(path, entry))
    return batch._replace(related=tuple(related.values())[:MOST_RELATED])


def _settled_around(
    batch: EpisodeBatch, files: CompactFiles
) -> dict[str, dict[str, Entry]]:
    """The entries that may be shown with a batch, by path and id: those of the project
    and of its episodes' place."""
    first = batch.episodes[0].path
    home = next(source.place for source in files.sources if source.path == first)
    around = {}
    for source in files.sources:
        place = source.place
        is_near = place.level == "project" or place == home
        if source.writable and place.store == "memory" and is_near:
            settled = filter(_is_settled, source.memory.entries)
            around[source.path] = {entry.id: entry for entry in settled}
    return around


def ask_about_pairs(
    model: Model, pairs: Sequence[Opposite], today: datetime.date, answers: ModelAnswers
) -> ModelAnswers:
    """Ask which of two opposite entries holds, and add the verdicts to what was
    `answers` before."""
    shown = pairs[:MOST_ASKED]
    if not shown:
        return answers
    (text,) = questions.ask(model, "resolve", [questions.pairs_question(shown)])
    findings = answers.found
    if left := pairs[MOST_ASKED:]:
        more = f"{len(left)} more opposites were not asked about: run again"
        not_asked = Event(
            what="not asked", path=left[0].first.path, ids=(), detail=more
        )
        findings = (*findings, not_asked)
    verdicts = questions.read_verdicts(text, shown, today.isoformat())
    return answers._replace(verdicts=verdicts, found=findings)


def ask_the_judge(
    model: Model, project: Project, files: CompactFiles, answers: ModelAnswers
) -> ModelAnswers:
    """Ask which of the project's entries hold everywhere, except those that name the
    project."""
    target = files.memory(EVERYWHERE, project.path_of(EVERYWHERE))
    if target is None or project.root is None:
        return answers
    names = _project_names(project)
    findings = list(answers.found)
    shown = []
    for item in _candidates(files, target):
        kept_back = _kept_back(item, names)
        if kept_back is None:
            shown.append(item)
        else:
            findings.append(kept_back)
    agnostic = set()
    for start in range(0, len(shown), MOST_ASKED):
        part = shown[start : start + MOST_ASKED]
        asked = questions.question("promote", ENTRIES=[item.entry for item in part])
        (text,) = questions.ask(model, "promote", [asked])
        agnostic |= questions.read_judgement(text, part)
    promoted = tuple(item for item in shown if item.entry.id in agnostic)
    return answers._replace(promoted=promoted, found=tuple(findings))


def _kept_back(item: QuotedEntry, names: Sequence[str]) -> Event | None:
    """Why an entry is not shown to the judge; None if it is shown."""
    reason = "names the project"
    detail = names_project(item.entry, names)
    if not detail:
        try:
            model_output.check(_copied_text(item.entry))
        except model_output.Refused as error:
            reason = "not shown"
            detail = f"a {error}"
    if not detail:
        return None
    return Event(what=reason, path=item.path, ids=(item.entry.id,), detail=detail)


def _project_names(project: Project) -> list[str]:
    assert project.root is not None
    names = [project.root.name]
    asked = ["config", "--get-regexp", r"^remote\..*\.url$"]
    for line in git.run(asked, project.root).stdout.splitlines():
        url = line.split(None, 1)[-1].strip().rstrip("/").removesuffix(".git")
        names.append(url.replace(":", "/").rpartition("/")[2])
    return list(dict.fromkeys(filter(None, names)))


def _candidates(files: CompactFiles, everywhere: MemoryFile) -> list[QuotedEntry]:
    """The project's entries that a judge may see: live, not promoted, and unlike any
    rejected entry."""
    archive_path = archive_of(EVERYWHERE)
    archive = parse(files.archives.get(archive_path, ""), archive_path)
    everywhere_entries = (*everywhere.entries, *archive.entries)
    refuted = [claim(entry.body) for entry in everywhere_entries if _is_refuted(entry)]
    known_ids = {entry.id for entry in everywhere.entries}
    known_ids.update(*(listed(entry, "promoted_from") for entry in everywhere.entries))

    def is_new(entry: Entry) -> bool:
        copied = derived_id(entry.id) in listed(entry, "promoted_to")
        if copied or entry.id in known_ids or not _is_settled(entry):
            return False
        new_claim = claim(entry.body)
        return not any(near_duplicate(new_claim, refused) for refused in refuted)

    candidates = {}
    for source in reversed(files.sources):
        place = source.place
        is_project = place.level == "project" and place.store == "memory"
        if is_project and source.writable:
            for entry in filter(is_new, source.memory.entries):
                candidates[entry.id] = QuotedEntry(source.path, entry)
    return sorted(candidates.values(), key=lambda item: importance_order(item.entry))


def _is_settled(entry: Entry) -> bool:
    return not entry.is_episode and entry.is_live and entry.identified


def names_project(entry: Entry, names: Iterable[str]) -> str:
    """The first of `names` that occurs in an entry's text or tags, in any spelling, or
    ""."""
    text = _copied_text(entry)
    for name in names:
        parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+", name)
        word = r"[\W_]{0,3}".join(map(re.escape, parts))
        long = sum(map(len, parts)) > 2
        if long and re.search(rf"(?i)(?<![^\W_]){word}(?![^\W_])", text):
            return name
    return ""


def _copied_text(entry: Entry) -> str:
    return "\n".join(
        (entry.title, entry.body, *listed(entry, "tags"), *listed(entry, "commands"))
    )


class Consolidation:
    """Applies lessons and promotions to a set of memory files."""

    def __init__(
        self, files: Mapping[str, MemoryFile], archives: Mapping[str, str], today: str
    ) -> None:
        self.files = files
        self.today = today
        kept = {path: parse(text, path) for path, text in archives.items()}
        self.changes = ChangeSet({**kept, **files}.values(), today)
        self._fresh = defaultdict[str, list[str]](list)

    def learn(self, lesson: Lesson) -> None:
        """Apply a lesson and mark its episodes; do nothing if one of them has
        changed."""
        batch = lesson.batch
        spots = [self._spot(item) for item in batch.episodes]
        entry_ids = [item.entry.id for item in batch.episodes]
        path = batch.episodes[0].path
        if batch.target not in self.files or None in spots:
            self.changes.tell("skipped", path, entry_ids, CHANGED)
            return
        for ordinal, operation in enumerate(lesson.operations):
            self._do(operation, batch, ordinal)
        for spot in filter(None, spots):
            self.changes.set(spot, consolidated_at=self.today)
        self.changes.note("consolidated", path, entry_ids)
        for reason, number in sorted(lesson.dropped.items()):
            self.changes.tell("dropped", batch.target, (), f"{number} {reason}")

    def _do(self, operation: Operation, batch: EpisodeBatch, ordinal: int) -> None:
        target = operation.target
        if target is None:
            self._add(operation, batch, ordinal)
            return
        spot = self._spot(target)
        if spot is None:
            self.changes.tell("skipped", target.path, [target.entry.id], CHANGED)
        elif operation.what == "reinforce":
            self._reinforce(spot, operation.episodes)
        elif self._is_edited(spot):
            self.changes.tell("skipped", target.path, [target.entry.id], EDITED)
        elif operation.what == "update":
            self._update(spot, operation)
        else:  # for the fact that takes its place, or the episode that shows it wrong
            successor = self._add(operation, batch, ordinal) if operation.body else ""
            successor = successor or operation.episodes[0]
            lost = {"superseded_by": successor, "retired_because": "superseded"}
            self.changes.set(spot, status="retired", **lost)
            entry_ids = (successor, target.entry.id)
            self.changes.note("superseded", spot[0], entry_ids, "invalidate")

    def _is_edited(self, spot: Spot) -> bool:
        """Whether only a person may change an entry's words: a person wrote them, or it
        is a guard."""
        entry = self.changes.original(spot)
        return entry.touched or binds(entry)

    def _spot(self, quoted: QuotedEntry) -> Spot | None:
        file = self.files.get(quoted.path)
        wanted = _essence(quoted.entry)
        for place, entry in enumerate(file.entries if file is not None else ()):
            if entry.id == quoted.entry.id and _essence(entry) == wanted:
                return quoted.path, place
        return None

    def _reinforce(self, spot: Spot, episodes: Sequence[str]) -> None:
        entry = self.changes.entry(spot)
        self.changes.strengthen(spot, self.today, supports=_supports(entry, episodes))
        self.changes.note("reinforced", spot[0], (entry.id, *episodes))

    def _update(self, spot: Spot, operation: Operation) -> None:
        entry = self.changes.entry(spot)
        self.changes.supersede(
            spot, body_of(operation.title, operation.body, self.today)
        )
        day = max(self.today, entry.last_reinforced)
        supports = _supports(entry, operation.episodes)
        self.changes.set(spot, last_reinforced=day, supports=supports)
        if operation.title and "title" in entry.extra:
            self.changes.set(spot, title=operation.title)
        self.changes.note("updated", spot[0], (entry.id, *operation.episodes))

    def _add(self, operation: Operation, batch: EpisodeBatch, ordinal: int) -> str:
        """Add a fact. Returns its id, or that of an entry that says the same, or "" if
        it was rejected before."""
        body = body_of(operation.title, operation.body, self.today)
        path = batch.target
        others = [item for item in batch.related if item is not operation.target]
        if (same := self._same(body, others)) is not None:
            self._reinforce(same, operation.episodes)
            return self.changes.entry(same).id
        new_id = derived_id(
            "fact", *sorted(item.entry.id for item in batch.episodes), str(ordinal)
        )
        if self._is_known(new_id, body, path):
            self.changes.tell(
                "dropped", path, (), "1 said already, or thrown out before"
            )
            return ""
        self.changes.add(path, _fact_values(new_id, operation, batch, self.today), body)
        self._fresh[path].append(body)
        self.changes.note(
            "learned", path, (new_id, *operation.episodes), operation.title
        )
        return new_id

    def _same(self, body: str, related: Iterable[QuotedEntry]) -> Spot | None:
        new_claim = claim(body)
        for item in related:
            spot = self._spot(item)
            live = spot is not None and self.changes.entry(spot).is_live
            if live and near_duplicate(new_claim, claim(item.entry.body)):
                return spot
        return None

    def _is_known(self, new_id: str, body: str, path: str) -> bool:
        """Whether a fact was written or rejected before, or is a duplicate."""
        archive = self.changes.file(archive_of(path))
        known_bodies = list(self._fresh[path])
        for entry in (*self.files[path].entries, *archive.entries):
            if new_id in (entry.id, *listed(entry, "merged_from")):
                return True
            if _is_refuted(entry):
                known_bodies.append(entry.body)
        new_claim = claim(body)
        return any(near_duplicate(new_claim, claim(known)) for known in known_bodies)

    def promote(self, quoted: QuotedEntry, path: str) -> None:
        """Copy an entry to the file for every project, or reinforce the one there
        that says the same."""
        spot = self._spot(quoted)
        entry = quoted.entry
        if spot is None or path not in self.files:
            self.changes.tell("skipped", quoted.path, [entry.id], CHANGED)
            return
        copy_id = self._known_everywhere(entry, path)
        if copy_id is None:
            copy_id = derived_id(entry.id)
            values = copied_values(entry, copy_id, self.today, COPIED)
            values |= {"promoted_from": [entry.id], "promoted_at": self.today}
            values["domain"] = "team"
            self.changes.add(path, values, entry.body)
            self.changes.note("promoted everywhere", path, (copy_id, entry.id))
        targets = listed(entry, "promoted_to")
        if copy_id not in targets:
            self.changes.set(spot, promoted_to=[*targets, copy_id])

    def _known_everywhere(self, promoted: Entry, path: str) -> str | None:
        """Reinforce the global entry that says the same and return its id; None if
        there is none."""
        wanted = claim(promoted.body)
        for place, entry in enumerate(self.files[path].entries):
            live = entry.is_live
            if live and near_duplicate(wanted, claim(entry.body)):
                spot = (path, place)
                known = listed(self.changes.entry(spot), "promoted_from")
                united = sorted({*known, promoted.id})
                self.changes.strengthen(spot, self.today, promoted_from=united)
                both = (entry.id, promoted.id)
                self.changes.note("reinforced by recurrence", path, both)
                return entry.id
        return None


def _supports(entry: Entry, episodes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*listed(entry, "supports"), *episodes)))


def _essence(entry: Entry) -> tuple[Any, ...]:
    """The part of an entry that a question shows or an answer depends on."""
    asked = entry.extra.get("consolidated_at")
    return entry.title, entry.body, entry.status, entry.kind, asked


def _fact_values(
    new_id: str, operation: Operation, batch: EpisodeBatch, today: str
) -> dict[str, Any]:
    """Front matter of a new fact, with what its episodes have in common."""
    episodes = [
        item.entry for item in batch.episodes if item.entry.id in operation.episodes
    ]
    sessions = [entry.extra.get("session_id") for entry in episodes]
    sources = {}
    for entry in episodes:
        sources.update(dict.fromkeys(filter(None, listed(entry, "source"))))
    phases = {entry.phase for entry in episodes}
    return new_values(
        new_id,
        today,
        phase=phases.pop() if len(phases) == 1 else "unknown",
        kind=operation.kind,
        domain=domain_of(batch.level),
        session_id=next(filter(None, reversed(sessions)), None),
        source=list(sources)[-5:],
        supports=list(operation.episodes),
    )


def _is_refuted(entry: Entry) -> bool:
    return is_tombstone(entry, archived="archived_because" in entry.extra)

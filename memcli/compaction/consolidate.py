"""Ask a language model what compaction needs to know, and carry out what it said.

While it is asked nothing is locked and nothing written."""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.app import App
from memcli.compaction import questions
from memcli.compaction.plan import EDITED, EVERYWHERE, CompactFiles, importance_order
from memcli.compaction.questions import (
    EpisodeBatch,
    Lesson,
    Operation,
    QuotedEntry,
    body_of,
    due,
)
from memcli.compaction.steps import Pair
from memcli.index import lexical
from memcli.index.database import Index
from memcli.memory.changes import ChangeSet, Event, Spot, copied_values, new_values
from memcli.memory.entry_values import TYPE_OF_KIND
from memcli.memory.grammar import derived_id
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import Entry, archive_of, domain_of, listed
from memcli.project import git
from memcli.project.context import Project
from memcli.providers.llm import Model
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import near_duplicate
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
    verdicts: Mapping[frozenset[str], Pair] = {}
    promoted: tuple[QuotedEntry, ...] = ()
    found: tuple[Event, ...] = ()


def ask_about_episodes(model: Model, app: App, files: CompactFiles) -> ModelAnswers:
    """What the episodes that are due teach."""
    batches = [
        batch for batch in due(files.sources) if _takes_facts(files, batch.target)
    ]
    if not batches:
        return ModelAnswers()
    app.refresh()
    batches = [_with_related(app.index, batch, files) for batch in batches]
    texts = questions.ask(model, "consolidate", map(questions.facts_question, batches))
    lessons = [
        questions.read_lesson(t, batch) for t, batch in zip(texts, batches, strict=True)
    ]
    return ModelAnswers(tuple(questions.settled(lessons)))


def _takes_facts(files: CompactFiles, name: str) -> bool:
    known = {source.path: source.writable for source in files.sources}
    unread = (
        name not in known
        and files.memory(name, files.project.path_of(name)) is not None
    )
    return known.get(name, unread)


def _with_related(
    index: Index, batch: EpisodeBatch, files: CompactFiles
) -> EpisodeBatch:
    """The batch with the entries around it that its episodes' words find, the best
    first."""
    own = next(s.place for s in files.sources if s.path == batch.episodes[0].path)
    near = {
        each.path: {
            entry.id: entry for entry in each.memory.entries if _is_settled(entry)
        }
        for each in files.sources
        if each.writable and each.place.store == "memory"
        if each.place.level == "project" or each.place == own
    }
    every = {row.id: row.path for row in index.files().values()}
    names = {number: path for number, path in every.items() if path in near}
    wanted = lexical.build(
        "\n".join(i.words for i in batch.episodes), index.words.counts
    ).terms
    found = index.words.best(
        wanted, None, index.words.denied(every.keys() - names.keys()), pool=POOL
    )
    candidates = index.entries.candidates(found)
    ranked = sorted(candidates, key=lambda c: (-found[c.rowid], c.source, c.offset))
    places = dict.fromkeys(
        (names[c.source], c.entry) for c in ranked if c.source in names
    )
    related = [
        QuotedEntry(name, near[name][i]) for name, i in places if i in near[name]
    ]
    return batch._replace(related=tuple(related[:MOST_RELATED]))


def ask_about_pairs(
    model: Model, pairs: Sequence[Pair], today: datetime.date, said: ModelAnswers
) -> ModelAnswers:
    """Which of two opposite entries holds, beside what was `said` of other things."""
    shown = pairs[:MOST_ASKED]
    left = pairs[MOST_ASKED:]
    if not shown:
        return said
    (text,) = questions.ask(model, "resolve", [questions.pairs_question(shown)])
    more = f"{len(left)} more contradictions were not asked about: run again"
    found = (
        (Event(what="not asked", path=left[0].path, ids=(), detail=more),)
        if left
        else ()
    )
    verdicts = questions.read_verdicts(text, shown, today.isoformat())
    return said._replace(verdicts=verdicts, found=(*said.found, *found))


def ask_the_judge(
    model: Model, project: Project, files: CompactFiles, said: ModelAnswers
) -> ModelAnswers:
    """Which of the project's entries hold everywhere; those that name the project are
    left out."""
    target = files.memory(EVERYWHERE, project.path_of(EVERYWHERE))
    if target is None or project.root is None:
        return said
    names = _project_names(project)
    found = list(said.found)
    shown = list[QuotedEntry]()
    for item in _candidates(files, target):
        if why := _kept_back(item.entry, names):
            found.append(
                Event(what=why[0], path=item.path, ids=(item.entry.id,), detail=why[1])
            )
        else:
            shown.append(item)
    parts = [shown[at : at + MOST_ASKED] for at in range(0, len(shown), MOST_ASKED)]
    prompts = [
        questions.question("promote", ENTRIES=[i.entry for i in part]) for part in parts
    ]
    texts = zip(questions.ask(model, "promote", prompts), parts, strict=True)
    agnostic = {i for text, part in texts for i in questions.read_judgement(text, part)}
    promoted = tuple(item for item in shown if item.entry.id in agnostic)
    return said._replace(promoted=promoted, found=tuple(found))


def _kept_back(entry: Entry, names: Sequence[str]) -> tuple[str, str] | None:
    if name := names_project(entry, names):
        return "names the project", name
    try:
        model_output.check(_copied_text(entry))
    except model_output.Refused as error:
        return "not shown", f"a {error}"
    return None


def _project_names(project: Project) -> list[str]:
    assert project.root is not None
    found = git.run(["config", "--get-regexp", r"^remote\..*\.url$"], project.root)
    urls = [
        line.split(None, 1)[-1].strip().rstrip("/")
        for line in found.stdout.splitlines()
    ]
    remotes = [
        url.removesuffix(".git").replace(":", "/").rpartition("/")[2] for url in urls
    ]
    return list(dict.fromkeys(filter(None, (project.root.name, *remotes))))


def _candidates(files: CompactFiles, everywhere: MemoryFile) -> list[QuotedEntry]:
    """The project's entries that a judge may see: live, not promoted, like nothing
    thrown out."""
    archive = parse(
        files.archives.get(archive_of(EVERYWHERE), ""), archive_of(EVERYWHERE)
    )
    every = (*everywhere.entries, *archive.entries)
    refuted = [claim(entry.body) for entry in every if _is_refuted(entry)]
    known = {i for e in everywhere.entries for i in (e.id, *listed(e, "promoted_from"))}

    def is_new(entry: Entry) -> bool:
        copied = entry.id in known or derived_id(entry.id) in listed(
            entry, "promoted_to"
        )
        gone = refuted and any(
            near_duplicate(claim(entry.body), each) for each in refuted
        )
        return _is_settled(entry) and not copied and not gone

    found = {
        entry.id: QuotedEntry(each.path, entry)
        for each in files.sources[::-1]
        if each.place.level == "project"
        and each.place.store == "memory"
        and each.writable
        for entry in filter(is_new, each.memory.entries)
    }
    return sorted(found.values(), key=lambda item: importance_order(item.entry))


def _is_settled(entry: Entry) -> bool:
    return entry.kind != "episode" and entry.status != "retired" and entry.identified


def names_project(entry: Entry, names: Iterable[str]) -> str:
    """The first of `names` that an entry's text or tags hold, in any spelling; "" for
    none."""
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
    """What lessons and promotions do to a set of memory files."""

    def __init__(
        self, files: Mapping[str, MemoryFile], archives: Mapping[str, str], today: str
    ) -> None:
        self.files = files
        self.today = today
        kept = {path: parse(text, path) for path, text in archives.items()}
        self.changes = ChangeSet({**kept, **files}.values(), today)
        self._fresh = defaultdict[str, list[str]](list)

    def learn(self, lesson: Lesson) -> None:
        """Do what a lesson says, and mark its episodes; nothing when one of them has
        changed."""
        batch = lesson.batch
        spots = [self._spot(item) for item in batch.episodes]
        ids = [item.entry.id for item in batch.episodes]
        path = batch.episodes[0].path
        if batch.target not in self.files or None in spots:
            self.changes.tell("skipped", path, ids, CHANGED)
            return
        for ordinal, operation in enumerate(lesson.operations):
            self._do(operation, batch, ordinal)
        for spot in filter(None, spots):
            self.changes.set(spot, consolidated_at=self.today)
        self.changes.note("consolidated", path, ids)
        for why, number in sorted(lesson.dropped.items()):
            self.changes.tell("dropped", batch.target, (), f"{number} {why}")

    def _do(self, operation: Operation, batch: EpisodeBatch, ordinal: int) -> None:
        target = operation.target
        what = operation.what
        if target is None:
            self._add(operation, batch, ordinal)
            return
        spot = self._spot(target)
        edited = spot is not None and self.changes.original(spot).touched
        if spot is None or (edited and what != "reinforce"):
            why = EDITED if edited else CHANGED
            self.changes.tell("skipped", target.path, [target.entry.id], why)
        elif what == "reinforce":
            self._reinforce(spot, operation.episodes)
        elif what == "update":
            self._update(spot, operation)
        else:  # for the fact that takes its place, or the episode that shows it wrong
            by = self._add(operation, batch, ordinal) if operation.body else ""
            by = by or operation.episodes[0]
            lost = {"superseded_by": by, "retired_because": "superseded"}
            self.changes.set(spot, status="retired", **lost)
            self.changes.note(
                "superseded", spot[0], (by, target.entry.id), "invalidate"
            )

    def _spot(self, quoted: QuotedEntry) -> Spot | None:
        file = self.files.get(quoted.path)
        for at, entry in enumerate(file.entries if file is not None else ()):
            if entry.id == quoted.entry.id and _essence(entry) == _essence(
                quoted.entry
            ):
                return quoted.path, at
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
        """Add a fact; its id, that of what says the same, or "" for one thrown out
        before."""
        body = body_of(operation.title, operation.body, self.today)
        path = batch.target
        others = [item for item in batch.related if item is not operation.target]
        if (same := self._same(body, others)) is not None:
            self._reinforce(same, operation.episodes)
            return self.changes.entry(same).id
        new = derived_id(
            "fact", *sorted(item.entry.id for item in batch.episodes), str(ordinal)
        )
        if self._is_known(new, body, path):
            self.changes.tell(
                "dropped", path, (), "1 said already, or thrown out before"
            )
            return ""
        self.changes.add(path, _fact_values(new, operation, batch, self.today), body)
        self._fresh[path].append(body)
        self.changes.note("learned", path, (new, *operation.episodes), operation.title)
        return new

    def _same(self, body: str, related: Iterable[QuotedEntry]) -> Spot | None:
        mine = claim(body)
        for item in related:
            spot = self._spot(item)
            live = spot is not None and self.changes.entry(spot).status != "retired"
            if live and near_duplicate(mine, claim(item.entry.body)):
                return spot
        return None

    def _is_known(self, new: str, body: str, path: str) -> bool:
        """Whether a fact was written or done away with before, or it is said twice."""
        entries = (
            *self.files[path].entries,
            *self.changes.file(archive_of(path)).entries,
        )
        if any(new in (entry.id, *listed(entry, "merged_from")) for entry in entries):
            return True
        gone = [entry.body for entry in entries if _is_refuted(entry)]
        return any(
            near_duplicate(claim(body), claim(o)) for o in (*gone, *self._fresh[path])
        )

    def promote(self, quoted: QuotedEntry, path: str) -> None:
        """Copy an entry up to the file for every project, or reinforce what that says
        already."""
        spot = self._spot(quoted)
        entry = quoted.entry
        if spot is None or path not in self.files:
            self.changes.tell("skipped", quoted.path, [entry.id], CHANGED)
            return
        known = self._known_everywhere(entry, path)
        if known is None:
            known = derived_id(entry.id)
            values = copied_values(entry, known, self.today, COPIED)
            values |= {"promoted_from": [entry.id], "promoted_at": self.today}
            values["domain"] = "team"
            self.changes.add(path, values, entry.body)
            self.changes.note("promoted everywhere", path, (known, entry.id))
        to = listed(entry, "promoted_to")
        if known not in to:
            self.changes.set(spot, promoted_to=[*to, known])

    def _known_everywhere(self, mine: Entry, path: str) -> str | None:
        """The id of what says the same for every project, reinforced; None without
        one."""
        for at, entry in enumerate(self.files[path].entries):
            if entry.status != "retired" and near_duplicate(
                claim(mine.body), claim(entry.body)
            ):
                known = listed(self.changes.entry((path, at)), "promoted_from")
                united = sorted({*known, mine.id})
                self.changes.strengthen((path, at), self.today, promoted_from=united)
                self.changes.note("reinforced by recurrence", path, (entry.id, mine.id))
                return entry.id
        return None


def _supports(entry: Entry, episodes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*listed(entry, "supports"), *episodes)))


def _essence(entry: Entry) -> tuple[Any, ...]:
    """What of an entry a question shows or an answer depends on."""
    extra = entry.extra
    return (
        entry.title,
        entry.body,
        entry.status,
        entry.kind,
        extra.get("consolidated_at"),
    )


def _fact_values(
    new: str, operation: Operation, batch: EpisodeBatch, today: str
) -> dict[str, Any]:
    episodes = [
        item.entry for item in batch.episodes if item.entry.id in operation.episodes
    ]
    sessions = [
        str(e.extra["session_id"]) for e in episodes if e.extra.get("session_id")
    ]
    named = [str(s) for e in episodes for s in listed(e, "source") if s]
    phases = {e.phase for e in episodes}
    return {
        **new_values(new, today, type=TYPE_OF_KIND.get(operation.kind, "declarative")),
        "phase": phases.pop() if len(phases) == 1 else "unknown",
        "kind": operation.kind,
        "domain": domain_of(batch.level),
        "session_id": sessions[-1] if sessions else None,
        "source": list(dict.fromkeys(named))[-5:] or None,
        "supports": list(operation.episodes),
    }


def _is_refuted(entry: Entry) -> bool:
    """Whether an entry was retired or superseded for another reason than that its stage
    is over."""
    because = str(entry.extra.get("archived_because", ""))
    gone = entry.status == "retired" or because in ("retired", "superseded")
    return gone and not str(entry.extra.get("retired_because", "")).startswith("stage")

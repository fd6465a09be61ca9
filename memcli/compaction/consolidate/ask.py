"""Ask a language model what compaction needs to know; nothing is locked and nothing written."""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.compaction.consolidate import questions
from memcli.compaction.consolidate.apply import is_refuted
from memcli.compaction.consolidate.questions import EpisodeBatch, Lesson, QuotedEntry, due
from memcli.compaction.plan import EVERYWHERE, CompactFiles, MemoryInput
from memcli.compaction.steps import Pair, Verdict
from memcli.index import lexical
from memcli.index.database import Index
from memcli.memory.changes import Event
from memcli.memory.grammar import derived_id
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import Entry, archive_of, listed
from memcli.project import git
from memcli.project.context import Project
from memcli.providers.llm import Ask, Model
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import near_duplicate
from memcli.text import model_output

MOST_RELATED = 20
MOST_ASKED = 20  # so many pairs, or entries, go into one question
POOL = 200  # so many chunks are looked at for entries that are related to episodes


class ModelAnswers(NamedTuple):
    """What the model said, with what it was shown; `judged` are the answers that leave no trace."""

    lessons: tuple[Lesson, ...] = ()
    verdicts: Mapping[frozenset[str], Verdict] = {}
    promoted: tuple[QuotedEntry, ...] = ()
    judged: Mapping[str, str] = {}
    found: tuple[Event, ...] = ()


def _answers(
    model: Model, prompts: Iterable[str], schema: Mapping[str, object], purpose: str
) -> Sequence[str]:
    system = questions.SYSTEM
    asks = [Ask(system, p, schema=schema, max_tokens=6000, purpose=purpose) for p in prompts]
    return [model.ask(ask).text for ask in asks]


def ask_about_episodes(model: Model, app: App, files: CompactFiles) -> tuple[Lesson, ...]:
    """What the episodes that are due teach."""
    batches = [b for b in due(files.sources) if _takes_facts(app.project, files, b.target)]
    if not batches:
        return ()
    app.refresh()
    batches = [_with_related(app.index, batch, files) for batch in batches]
    prompts = map(questions.facts_question, batches)
    texts = _answers(model, prompts, questions.FACTS_SCHEMA, "consolidate")
    lessons = [questions.read_lesson(t, batch) for t, batch in zip(texts, batches, strict=True)]
    return tuple(questions.settled(lessons))


def _takes_facts(project: Project, files: CompactFiles, name: str) -> bool:
    known = {source.path: source.writable for source in files.sources}
    if name in known:
        return known[name]
    return files.memory(name, project.path_of(name)) is not None


def _with_related(index: Index, batch: EpisodeBatch, files: CompactFiles) -> EpisodeBatch:
    """The batch with the entries around it that its episodes' words find, the best first."""
    home = next(s.place for s in files.sources if s.path == batch.episodes[0].path)
    near = {
        source.path: {entry.id: entry for entry in source.memory.entries if is_settled(entry)}
        for source in files.sources
        if source.writable and source.place.store == "memory"
        if source.place.level == "project"
        or (source.place.job, source.place.task, source.place.level)
        == (home.job, home.task, home.level)
    }
    names = {row.id: row.path for row in index.files().values() if row.path in near}
    wanted = lexical.build("\n".join(i.words for i in batch.episodes), index.words.counts).terms
    found = index.words.best(wanted, None, index.words.denied(names.keys()), pool=POOL)
    candidates = index.entries.candidates(found)
    ranked = sorted(candidates, key=lambda c: (-found[c.rowid], c.source, c.offset))
    places = dict.fromkeys((names[c.source], c.entry) for c in ranked if c.source in names)
    related = [QuotedEntry(name, near[name][i]) for name, i in places if i in near[name]]
    return batch._replace(related=tuple(related[:MOST_RELATED]))


def ask_about_pairs(
    model: Model, pairs: Sequence[Pair], known: Mapping[str, str], today: datetime.date
) -> ModelAnswers:
    """Which of two opposite entries holds; `known` are verdicts of earlier runs, by question."""
    shown_as = {p.key: sorted((e.id, e.body) for e in (p.first, p.second)) for p in pairs}
    names = {key: derived_id("resolve", *sum(rows, ())) for key, rows in shown_as.items()}
    known_pairs = [pair for pair in pairs if names[pair.key] in known]
    verdicts = {pair.key: Verdict(pair, known[names[pair.key]]) for pair in known_pairs}
    open_pairs = [pair for pair in pairs if pair.key not in verdicts]
    shown, left = open_pairs[:MOST_ASKED], open_pairs[MOST_ASKED:]
    if not shown:
        return ModelAnswers(verdicts=verdicts)
    prompt, schema = questions.pairs_question(shown), questions.VERDICTS_SCHEMA
    (text,) = _answers(model, [prompt], schema, "resolve")
    verdicts |= questions.read_verdicts(text, shown, today.isoformat())
    said = {names[pair.key]: verdicts[pair.key].what for pair in shown}
    judged = {question: what for question, what in said.items() if what in ("new", "unsure")}
    more = f"{len(left)} more contradictions were not asked about: run again"
    found = (Event("not asked", left[0].path, (), more),) if left else ()
    return ModelAnswers(verdicts=verdicts, judged=judged, found=found)


def ask_the_judge(
    model: Model, project: Project, files: CompactFiles, known: Mapping[str, str]
) -> ModelAnswers:
    """Which of the project's entries hold everywhere; those that name the project are left out."""
    target = files.memory(EVERYWHERE, project.path_of(EVERYWHERE))
    if target is None or project.root is None:
        return ModelAnswers()
    names, found, shown = _project_names(project), list[Event](), list[QuotedEntry]()
    archive = parse(files.archives.get(archive_of(EVERYWHERE), ""), archive_of(EVERYWHERE))
    for item in candidates(files.sources, target, archive):
        if name := names_project(item.entry, names):
            found.append(Event("names the project", item.path, (item.entry.id,), name))
            continue
        try:
            model_output.check(copied_text(item.entry))
        except model_output.Refused as error:
            found.append(Event("not shown", item.path, (item.entry.id,), f"a {error}"))
            continue
        if _of_judge(item) not in known:
            shown.append(item)
    parts = [shown[at : at + MOST_ASKED] for at in range(0, len(shown), MOST_ASKED)]
    prompts = map(questions.judge_question, parts)
    texts = _answers(model, prompts, questions.JUDGE_SCHEMA, "promote")
    said = zip(texts, parts, strict=True)
    agnostic = {i for text, part in said for i in questions.read_judgement(text, part)}
    judged = {_of_judge(item): "no" for item in shown if item.entry.id not in agnostic}
    promoted = tuple(item for item in shown if item.entry.id in agnostic)
    return ModelAnswers(promoted=promoted, judged=judged, found=tuple(found))


def _of_judge(shown: QuotedEntry) -> str:
    return derived_id("promote", shown.entry.id, shown.entry.body)


def _project_names(project: Project) -> list[str]:
    assert project.root is not None
    found = git.run(["config", "--get-regexp", r"^remote\..*\.url$"], project.root)
    urls = [line.split(None, 1)[-1].strip().rstrip("/") for line in found.stdout.splitlines()]
    remotes = [url.removesuffix(".git").replace(":", "/").rpartition("/")[2] for url in urls]
    return list(dict.fromkeys(filter(None, (project.root.name, *remotes))))


def candidates(
    sources: Sequence[MemoryInput], everywhere: MemoryFile, archive: MemoryFile
) -> list[QuotedEntry]:
    """The project's entries that a judge may see: live, not promoted, like nothing thrown out."""
    every = (*everywhere.entries, *archive.entries)
    refuted = [claim(entry.body) for entry in every if is_refuted(entry)]
    known = {entry.id for entry in everywhere.entries}
    known |= {i for e in everywhere.entries for i in e.extra.get("promoted_from", ())}
    found: dict[str, QuotedEntry] = {}
    for source in sorted(sources, key=lambda source: source.path):
        if source.place.level == "project" and source.place.store == "memory" and source.writable:
            for entry in filter(is_settled, source.memory.entries):
                copied = derived_id(entry.id) in listed(entry, "promoted_to")
                gone = refuted and any(near_duplicate(claim(entry.body), g) for g in refuted)
                if entry.id not in known and not copied and not gone:
                    found.setdefault(entry.id, QuotedEntry(source.path, entry))
    return sorted(
        found.values(),
        key=lambda i: (-i.entry.importance, -i.entry.reinforcement_count, i.entry.id),
    )


def is_settled(entry: Entry) -> bool:
    """Whether an entry stands for a fact that may be changed or copied."""
    return entry.kind != "episode" and entry.status != "retired" and entry.identified


def names_project(entry: Entry, names: Iterable[str]) -> str:
    """The first of `names` that an entry's text or tags hold, in any spelling; "" for none."""
    text = copied_text(entry)
    for name in names:
        parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+", name)
        word = r"[\W_]{0,3}".join(map(re.escape, parts))
        long = sum(map(len, parts)) > 2
        if long and re.search(rf"(?i)(?<![^\W_]){word}(?![^\W_])", text):
            return name
    return ""


def copied_text(entry: Entry) -> str:
    """All the words that a copy of an entry takes along."""
    return "\n".join((entry.title, entry.body, *listed(entry, "tags"), *listed(entry, "commands")))

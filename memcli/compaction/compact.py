"""Run compaction: read, ask a model if requested, plan, write."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from memcli.app import App
from memcli.compaction import consolidate
from memcli.compaction.consolidate import ModelAnswers
from memcli.compaction.plan import (
    EVERYWHERE,
    CompactFiles,
    Compaction,
    CompactOutcome,
    CompactRequest,
    Meanings,
    lost,
    outcome_of,
    read_files,
)
from memcli.compaction.questions import due
from memcli.compaction.reinforce import WaitingUses
from memcli.compaction.steps import contradicting, take_steps
from memcli.errors import UsageError, one_of
from memcli.index import anchors
from memcli.memory.changes import Event
from memcli.memory.parser import KnownFile, parse
from memcli.memory.values import (
    ARCHIVE,
    LEVEL_WORDS,
    LEVELS,
    Entry,
    Patch,
    Problem,
)
from memcli.memory.words import SIZE, clean
from memcli.project.context import known_files
from memcli.similarity.opposites import opposites, standing_in
from memcli.similarity.taken_back import stones_by_id


class CompactReport(NamedTuple):
    """What was or would be done, what was found and left alone, the patches, and how
    many episodes wait."""

    done: tuple[Event, ...] = ()
    found: tuple[Event, ...] = ()
    skipped: tuple[Problem, ...] = ()
    patches: tuple[Patch, ...] = ()
    waiting: int = 0


def compact(app: App, request: CompactRequest) -> CompactReport:
    """Compact the files asked for. Raises RefusedError (exit 5) before a loss."""
    levels = tuple(LEVEL_WORDS.get(name, name) for name in request.levels)
    for name in levels:
        one_of("--level", name, LEVELS)
    only_look = request.check or app.dry_run
    wanted = request._replace(levels=levels, allow_loss=request.allow_loss or only_look)
    meanings = _meanings(app, wanted) if wanted.semantic else {}
    answers = _asked(app, wanted, meanings) if wanted.asks else ModelAnswers()
    uses = WaitingUses(app)

    def plan() -> CompactReport:
        if wanted.uses:
            uses.read()
        return _plan(app, wanted, answers, meanings, uses)

    return plan() if only_look else _written(app, plan, uses)


def renamed_files(app: App) -> dict[str, dict[str, str]]:
    """The new names of files that git reports as renamed, by entry. Refreshes the index
    first."""
    if app.project.root is None or not app.project.listing.files:
        return {}
    app.refresh(embed=False)
    app.check_names()
    return anchors.moves(app.index)


def count_uses(app: App, paths: Collection[str]) -> tuple[str, ...]:
    """Count the waiting uses for these files in one write. Returns the entries' ids."""
    uses = WaitingUses(app)
    real_paths = {os.path.realpath(path) for path in paths}

    def plan() -> CompactReport:
        uses.read()
        live_paths = [
            file.path
            for file in app.project.listing.files
            if file.place.store != "archive"
        ]
        chosen = tuple(
            path for path in live_paths if os.path.realpath(path) in real_paths
        )
        if not (uses.waiting and chosen):
            return CompactReport()
        files = read_files(app.project, CompactRequest(files=chosen))
        counted = uses.count(files.sources)
        patches = files.patches(dict(counted.texts))
        return CompactReport(done=counted.done, patches=patches)

    report = _written(app, plan, uses)
    return tuple(chain.from_iterable(event.ids for event in report.done))


def _written(
    app: App, plan: Callable[[], CompactReport], uses: WaitingUses
) -> CompactReport:
    with app.workspace.hold("compact"):
        report = app.write(plan, "compact", note=uses.noted)
        uses.forget_counted()
    return report


def _meanings(app: App, request: CompactRequest) -> Meanings:
    """The vectors of entries that may be merged, except proxies. Made without holding a
    lock."""
    from memcli.index.embedding import of_texts
    from memcli.index.vectors import embedded_text

    embedder = app.providers.embedder
    if embedder is None:
        message = "semantic needs an embedder and there is none"
        raise UsageError(message, "set embedder in your configuration, say to local")
    entries = []
    for source in filter(_may_be_merged, read_files(app.project, request).sources):
        compared = filter(_has_meaning, source.memory.entries)
        entries += [(entry.title, entry.body) for entry in compared]
    texts = [embedded_text(clean(title), clean(body)) for title, body in entries]
    vectors = app.guarded(lambda: of_texts(app.index.vectors, embedder, texts))
    pairs = zip(entries, vectors, strict=True)
    return {entry: vector for entry, vector in pairs if any(vector)}


def _may_be_merged(source: KnownFile) -> bool:
    is_memory = source.place.store == "memory" and source.place.of != "proxy"
    return source.writable and is_memory


def _has_meaning(entry: Entry) -> bool:
    """Whether an entry's vector is compared with those of others."""
    is_live = entry.is_live and not entry.is_episode
    may_embed = entry.extra.get("embed") is not False
    return is_live and may_embed and len(entry.body) <= SIZE


def _asked(app: App, request: CompactRequest, meanings: Meanings) -> ModelAnswers:
    model = app.providers.require_model(request.asks)
    project = app.project
    files = read_files(project, request)
    answers = ModelAnswers()
    if request.consolidate:
        answers = app.guarded(lambda: consolidate.ask_about_episodes(model, app, files))
    if request.contradictions == "resolve":
        work = Compaction(files.sources, files.archives, project.now, meanings)
        answers = consolidate.ask_about_pairs(
            model, contradicting(work, request), project.now, answers
        )
    if request.promote_global:
        answers = consolidate.ask_the_judge(model, project, files, answers)
    return answers


def _plan(
    app: App,
    request: CompactRequest,
    answers: ModelAnswers,
    meanings: Meanings,
    uses: WaitingUses,
) -> CompactReport:
    """Plan in three parts: what the model taught, the uses that wait, the steps."""
    files = read_files(app.project, request)
    known = known_files(app.project)
    request = request._replace(stones=stones_by_id(known))
    if request.check and request.standing is None:
        # A look names those of memory as it stands, a run those that it leaves.
        looked_at = files.sources if request.files else known
        request = request._replace(standing=opposites(standing_in(looked_at)))
    learned = _carried_out(files, answers)
    used = uses.count(_with_texts(files.sources, learned.texts))
    texts = {**learned.texts, **used.texts}
    archives = {name: text for name, text in texts.items() if name.endswith(ARCHIVE)}
    work = Compaction(
        _with_texts(files.sources, texts),
        {**files.archives, **archives},
        app.project.now,
        meanings,
    )
    stepped = take_steps(work, request, answers.verdicts)
    # What a file would lose must be allowed.
    losses = (*learned.losses, *used.losses, *stepped.losses)
    if losses and not request.allow_loss:
        raise lost(losses[0])
    ends = (end.patch for end in request.ended)
    return CompactReport(
        done=(*learned.done, *used.done, *stepped.done),
        found=(*answers.found, *learned.found, *used.found, *stepped.found, *losses),
        skipped=tuple(files.skipped),
        patches=(*files.patches({**texts, **stepped.texts}), *ends),
        waiting=_waiting(files) if request.consolidate and request.check else 0,
    )


def _waiting(files: CompactFiles) -> int:
    """How many episodes a model would be asked about."""
    return sum(len(batch.episodes) for batch in due(files.sources))


def _carried_out(files: CompactFiles, answers: ModelAnswers) -> CompactOutcome:
    """Apply the answers of the model to the files."""
    if not (answers.lessons or answers.promoted):
        return CompactOutcome({})
    memories = {
        source.path: source.memory for source in files.sources if source.writable
    }
    # A missing file is created.
    targets = {lesson.batch.target for lesson in answers.lessons}
    if answers.promoted:
        targets.add(EVERYWHERE)
    for name in sorted(targets - memories.keys() - files.paths.keys()):
        memory = files.memory(name, files.project.path_of(name))
        if memory is not None:
            memories[name] = memory
    today = files.project.now.isoformat()
    work = consolidate.Consolidation(memories, files.archives, today)
    for lesson in answers.lessons:
        work.learn(lesson)
    for item in answers.promoted:
        work.promote(item, EVERYWHERE)
    return outcome_of(work.changes)


def _with_texts(
    sources: Sequence[KnownFile], texts: Mapping[str, str]
) -> list[KnownFile]:
    parsed = {name: parse(text, name) for name, text in texts.items()}
    return [
        source._replace(memory=parsed.get(source.path, source.memory))
        for source in sources
    ]

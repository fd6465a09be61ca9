"""mem compact: keep memory small and true.

Deterministic, no network, safe in CI; what a language model decides (`--consolidate`,
`--promote-global`, contradictions "resolve") is asked for by name. The model is asked first, while
nothing is locked; the plan is made under the lock and leaves alone what has changed meanwhile.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memcli.app import App
from memcli.compaction.steps import (
    Event,
    Meanings,
    Outcome,
    Pair,
    Source,
    Steps,
    Verdict,
    compact,
    contradicting,
    meaning_of,
)
from memcli.diagnostics.checks import conflict_lines
from memcli.errors import RefusedError, UsageError
from memcli.index import view
from memcli.memory.grammar import derived_id
from memcli.memory.levels import ARCHIVE, LEVEL_WORDS, Place, archive_of, place, source_of
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import LEVELS, Entry, Patch, Problem
from memcli.memory.words import SIZE, clean
from memcli.project.levels_on_disk import FoundFile
from memcli.storage.files import Unreadable

if TYPE_CHECKING:
    from memcli.compaction import consolidate
    from memcli.providers.llm import Ask, Model

EVERYWHERE = "~/MEMORY.md"


class CompactRequest(NamedTuple):
    """What to compact: `files` names single ones; else those in view of `levels`, `jobs`, `tasks`.

    `check` asks no model whatever the other options say.
    """

    files: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    steps: Steps = Steps()
    allow_loss: bool = False
    consolidate: bool = False
    promote_global: bool = False
    check: bool = False
    semantic: bool = False

    @property
    def asks(self) -> str:
        """The first option that needs a language model, "" for none."""
        resolve = "--contradictions resolve" if self.steps.contradictions == "resolve" else ""
        options = (
            "--consolidate" * self.consolidate,
            resolve,
            "--promote-global" * self.promote_global,
        )
        return "" if self.check else next(filter(None, options), "")


class CompactReport(NamedTuple):
    """What was (or would be) done, what was found, the files left alone, and the patches.

    `waiting` counts episodes that `--consolidate` would ask about (for `--check`, which does not
    ask).
    """

    done: tuple[Event, ...]
    found: tuple[Event, ...]
    skipped: tuple[Problem, ...]
    patches: tuple[Patch, ...]
    waiting: int = 0


class _Heard(NamedTuple):
    """What the model said, with what it was shown; `judged` are the answers that leave no trace."""

    lessons: tuple[consolidate.Lesson, ...] = ()
    verdicts: Mapping[frozenset[str], Verdict] = {}
    promoted: tuple[consolidate.Shown, ...] = ()
    judged: Mapping[str, str] = {}
    found: tuple[Event, ...] = ()


class _Files(NamedTuple):
    """The files of a run as they were read, by name: sources, archives, absolute paths, what was
    wrong.
    """

    sources: list[Source]
    archives: dict[str, str]
    paths: dict[str, str]
    before: dict[str, str]
    skipped: list[Problem]


def run(app: App, request: CompactRequest, *, dry_run: bool = False) -> CompactReport:
    """Compact the files asked for. Raises RefusedError (exit 5) before a loss, with nothing
    written.

    Raises UsageError when a language model or an embedder is needed and none is enabled,
    ProviderError when it fails.
    """
    levels = tuple(LEVEL_WORDS.get(name, name) for name in request.levels)
    for name in levels:
        if name not in LEVELS:
            raise UsageError(f"--level {name}: unknown level", f"one of {', '.join(LEVELS)}")
    wanted = request._replace(levels=levels, allow_loss=request.allow_loss or dry_run)
    meanings = _meanings(app, wanted) if wanted.semantic else {}
    heard = _hear(app, wanted, meanings) if wanted.asks else _Heard()
    report = app.write(lambda: _plan(app, wanted, heard, meanings), "compact", dry_run=dry_run)
    if heard.judged and not dry_run:
        with app.history() as history:
            history.remember_judged(heard.judged)
    return report


# --- reading


def _read(app: App, request: CompactRequest) -> _Files:
    files = _Files([], {}, {}, {}, list(app.listing.problems))
    for file in _chosen(app, request):
        memory = _memory(app, files, file.name, file.path)
        if memory is not None:
            files.sources.append(
                Source(file.name, file.place, memory, app.may_write(file, request.tasks))
            )
    missing = app.root is not None and app.found("MEMORY.md") is None
    if request.steps.promote and not request.files and missing:
        files.sources.append(_project_file(app))
        files.paths["MEMORY.md"] = app.path_of("MEMORY.md")
    return files


def _memory(app: App, files: _Files, name: str, path: str) -> MemoryFile | None:
    """Read a file and its archive; None, and a problem, when it cannot be used. A missing one is
    empty.
    """
    try:
        text, kept = app.text(path), app.text(archive_of(path))
    except Unreadable as error:
        files.skipped.append(Problem(name, error.line, str(error), "unreadable"))
        return None
    if lines := conflict_lines(text or ""):
        files.skipped.append(Problem(name, lines[0], "has conflict markers", "unreadable"))
        return None
    for called, where, before in ((name, path, text), (archive_of(name), archive_of(path), kept)):
        files.paths[called] = where
        if before is not None:
            files.before[called] = before
    if kept is not None:
        files.archives[archive_of(name)] = kept
    return parse(text or "", name)


def _project_file(app: App) -> Source:
    """A project's MEMORY.md that is still to be made: what recurs goes there."""
    return Source(
        "MEMORY.md", place("project", "MEMORY.md"), parse("", "MEMORY.md"), app.tree == ""
    )


def _chosen(app: App, request: CompactRequest) -> list[FoundFile]:
    """The memory files asked for, archives left out (they are only added to)."""
    files = [file for file in app.listing.files if file.place.store != "archive"]
    if request.files:
        return _named(app, files, request.files)
    levels = request.levels or ("project", "job", "task")
    filters = view.Filters(job=request.jobs, task=request.tasks)
    return [file for file in view.visible(files, app.view, filters) if file.place.level in levels]


def _named(app: App, files: Sequence[FoundFile], names: Sequence[str]) -> list[FoundFile]:
    by_path = {os.path.realpath(file.path): file for file in files}
    chosen = []
    for name in names:
        path = os.path.realpath(app.cwd / name)
        path = source_of(path) if path.endswith(ARCHIVE) else path
        if path not in by_path:
            listed = ", ".join(file.name for file in files[:5]) or "there is none"
            raise UsageError(f"{name}: no memory file of this project", f"memory files: {listed}")
        chosen.append(by_path[path])
    return list(dict.fromkeys(chosen))


# --- asking


def _meanings(app: App, request: CompactRequest) -> Meanings:
    """The vectors of the entries that may be merged; nothing is locked while they are made.

    Like the index, none of proxy stores, and none of entries that are not to be embedded. One that
    is longer than a chunk has none: a vector would be that of its beginning.
    """
    from memcli.index.vectors import embedded_text

    if app.embedder is None:
        raise UsageError(
            "--semantic needs an embedder and there is none",
            "pip install 'memcli[local]', or set embedder in your configuration",
        )
    entries = {
        meaning_of(entry): entry
        for source in _read(app, request).sources
        if source.writable and source.place.store == "memory" and source.place.of != "proxy"
        for entry in source.memory.entries
        if entry.status != "retired" and entry.kind != "episode" and len(entry.body) <= SIZE
        if entry.extra.get("embed") is not False
    }
    texts = [embedded_text(clean(title), clean(body)) for title, body in entries]
    embedder = app.embedder
    vectors = app.guarded(lambda: app.index.vectors.of_texts(embedder, texts))
    return {key: own for key, own in zip(entries, vectors, strict=True) if any(own)}


def _hear(app: App, request: CompactRequest, meanings: Meanings) -> _Heard:
    """Ask the model what the options need; nothing is locked meanwhile, nothing is written."""
    from memcli import asking

    model = asking.require(app, request.asks)
    files = _read(app, request)
    with app.history() as history:
        known = history.judged()
    heard = _Heard()
    if request.consolidate:
        heard = _ask_about_episodes(app, model, files, heard)
    if request.steps.contradictions == "resolve":
        heard = _ask_about_pairs(app, model, files, request.steps, known, heard, meanings)
    if request.promote_global:
        heard = _ask_the_judge(app, model, files, known, heard)
    return heard


def _ask(prompt: str, schema: Mapping[str, object], purpose: str) -> Ask:
    from memcli.compaction.consolidate import SYSTEM
    from memcli.providers.llm import Ask

    return Ask(SYSTEM, prompt, schema=schema, max_tokens=6000, purpose=purpose)


def _ask_about_episodes(app: App, model: Model, files: _Files, heard: _Heard) -> _Heard:
    from memcli import asking
    from memcli.compaction import consolidate

    due = [
        batch for batch in consolidate.due(files.sources) if _takes_facts(app, files, batch.target)
    ]
    batches = [_with_related(app, batch, files) for batch in due]
    asks = [
        _ask(consolidate.facts_question(batch), consolidate.FACTS_SCHEMA, "consolidate")
        for batch in batches
    ]
    texts = asking.answers(model, asks)
    lessons = [
        consolidate.read_lesson(text, batch) for text, batch in zip(texts, batches, strict=True)
    ]
    return heard._replace(lessons=tuple(consolidate.settled(lessons)))


def _takes_facts(app: App, files: _Files, name: str) -> bool:
    """Whether a file can be written: there is no point in asking for facts that have no place."""
    known = {source.path: source.writable for source in files.sources}
    return (
        known[name] if name in known else _memory(app, files, name, app.path_of(name)) is not None
    )


def _with_related(app: App, batch: consolidate.Batch, files: _Files) -> consolidate.Batch:
    """The batch with the entries that its episodes' words find, the best first: those of its level
    and around it that may be changed from here."""
    from memcli.compaction import consolidate
    from memcli.index import terms as query

    home = next(s.place for s in files.sources if s.path == batch.episodes[0].path)
    near = {
        source.path: {entry.id: entry for entry in source.memory.entries if _may_change(entry)}
        for source in files.sources
        if source.writable and source.place.store == "memory"
        if source.place.level == "project" or _same_level(source.place, home)
    }
    app.refresh()
    words = "\n".join(
        f"{item.entry.title}\n{consolidate.summary_of(item.entry)}" for item in batch.episodes
    )

    def look() -> list[tuple[str, str]]:
        rows = {row.path: row.id for row in app.index.files().values() if row.path in near}
        names = {number: name for name, number in rows.items()}
        terms = query.build(words, app.index.words.counts).terms
        found = app.index.words.best(terms, None, app.index.words.denied(names.keys()), pool=200)
        ranked = sorted(
            app.index.entries.candidates(found), key=lambda c: (-found[c.rowid], c.source, c.offset)
        )
        return list(dict.fromkeys((names[c.source], c.entry) for c in ranked if c.source in names))

    related = [
        consolidate.Shown(name, near[name][entry])
        for name, entry in app.guarded(look)
        if entry in near[name]
    ]
    return batch._replace(related=tuple(related[: consolidate.MOST_RELATED]))


def _same_level(a: Place, b: Place) -> bool:
    return (a.level, a.job, a.task) == (b.level, b.job, b.task)


def _may_change(entry: Entry) -> bool:
    return entry.kind != "episode" and entry.status != "retired" and entry.identified


def _ask_about_pairs(
    app: App,
    model: Model,
    files: _Files,
    steps: Steps,
    known: Mapping[str, str],
    heard: _Heard,
    meanings: Meanings,
) -> _Heard:
    from memcli import asking
    from memcli.compaction import consolidate

    with _no_collection():
        pairs = contradicting(files.sources, files.archives, steps, app.now, meanings)
    verdicts = {
        pair.key: Verdict(pair, known[_of_pair(pair)]) for pair in pairs if _of_pair(pair) in known
    }
    open_pairs = [pair for pair in pairs if pair.key not in verdicts]
    shown, left = open_pairs[: consolidate.MOST_PAIRS], open_pairs[consolidate.MOST_PAIRS :]
    if not shown:
        return heard._replace(verdicts=verdicts)
    ask = _ask(consolidate.pairs_question(shown), consolidate.VERDICTS_SCHEMA, "resolve")
    (text,) = asking.answers(model, [ask])
    verdicts |= consolidate.read_verdicts(text, shown, app.now.isoformat())
    said = {_of_pair(pair): verdicts[pair.key].what for pair in shown}
    judged = {question: what for question, what in said.items() if what in ("new", "unsure")}
    more = f"{len(left)} more contradictions were not asked about: run again"
    found = (Event("not asked", left[0].path, (), more),) if left else ()
    return heard._replace(
        verdicts=verdicts, judged={**heard.judged, **judged}, found=(*heard.found, *found)
    )


def _of_pair(pair: Pair) -> str:
    rows = sorted((entry.id, entry.body) for entry in (pair.first, pair.second))
    return derived_id("resolve", *(text for row in rows for text in row))


def _ask_the_judge(
    app: App, model: Model, files: _Files, known: Mapping[str, str], heard: _Heard
) -> _Heard:
    """Ask which of the project's entries hold everywhere; those that name the project are not asked
    about.
    """
    from memcli import asking
    from memcli.compaction import consolidate
    from memcli.text import model_output

    everywhere = _memory(app, files, EVERYWHERE, app.path_of(EVERYWHERE))
    if everywhere is None or app.root is None:
        return heard
    names, found, shown = _project_names(app), list(heard.found), []
    archive = parse(files.archives.get(archive_of(EVERYWHERE), ""), archive_of(EVERYWHERE))
    for item in consolidate.candidates(files.sources, everywhere, archive):
        if name := consolidate.names_project(item.entry, names):
            found.append(Event("names the project", item.path, (item.entry.id,), name))
            continue
        try:
            model_output.check(consolidate.copied_text(item.entry))
        except model_output.Refused as error:
            found.append(Event("not shown", item.path, (item.entry.id,), f"a {error.why}"))
            continue
        if _of_judge(item) not in known:
            shown.append(item)
    parts = [
        shown[at : at + consolidate.MOST_JUDGED]
        for at in range(0, len(shown), consolidate.MOST_JUDGED)
    ]
    asks = [
        _ask(consolidate.judge_question(part), consolidate.JUDGE_SCHEMA, "promote")
        for part in parts
    ]
    agnostic: set[str] = set()
    for text, part in zip(asking.answers(model, asks), parts, strict=True):
        agnostic |= consolidate.read_judgement(text, part)
    judged = {_of_judge(item): "no" for item in shown if item.entry.id not in agnostic}
    promoted = tuple(item for item in shown if item.entry.id in agnostic)
    return heard._replace(promoted=promoted, judged={**heard.judged, **judged}, found=tuple(found))


def _of_judge(shown: consolidate.Shown) -> str:
    return derived_id("promote", shown.entry.id, shown.entry.body)


def _project_names(app: App) -> list[str]:
    """What the project is called: the folder of its root, and the last part of each remote's
    address.
    """
    from memcli.project import git

    assert app.root is not None
    listed = git.run(["config", "--get-regexp", r"^remote\..*\.url$"], app.root)
    urls = [line.split(None, 1)[-1].strip() for line in listed.stdout.splitlines()]
    remotes = [
        url.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2] for url in urls
    ]
    return list(dict.fromkeys(filter(None, (app.root.name, *remotes))))


# --- planning


def _plan(app: App, request: CompactRequest, heard: _Heard, meanings: Meanings) -> CompactReport:
    files = _read(app, request)
    learned = _carried_out(app, files, heard)
    sources = [
        source._replace(memory=parse(learned.texts[source.path], source.path))
        if source.path in learned.texts
        else source
        for source in files.sources
    ]
    archives = files.archives | {
        name: text for name, text in learned.texts.items() if name.endswith(ARCHIVE)
    }
    with _no_collection():
        outcome = compact(sources, archives, request.steps, app.now, heard.verdicts, meanings)
    losses = (*learned.losses, *outcome.losses)
    _guard_loss(losses, allow=request.allow_loss)
    texts = {**learned.texts, **outcome.texts}
    patches = tuple(
        Patch(files.paths[name], files.before.get(name), text)
        for name, text in sorted(texts.items())
    )
    waiting = _waiting(files) if request.consolidate and request.check else 0
    found = (*heard.found, *learned.found, *_told(outcome, heard), *losses)
    return CompactReport(
        (*learned.done, *outcome.done), found, tuple(files.skipped), patches, waiting
    )


def _carried_out(app: App, files: _Files, heard: _Heard) -> consolidate.Outcome:
    """The texts after what the model said of episodes and of promotion was done."""
    from memcli.compaction import consolidate

    if not heard.lessons and not heard.promoted:
        return consolidate.Outcome({}, (), (), ())
    memories = {source.path: source.memory for source in files.sources if source.writable}
    wanted = [lesson.batch.target for lesson in heard.lessons] + [EVERYWHERE] * bool(heard.promoted)
    for name in dict.fromkeys(wanted):
        if name not in memories and name not in files.paths:
            memory = _memory(app, files, name, app.path_of(name))
            memories.update({name: memory} if memory is not None else {})
    desk = consolidate.Desk(memories, files.archives, app.now.isoformat())
    for lesson in heard.lessons:
        desk.learn(lesson)
    for item in heard.promoted:
        desk.promote(item, EVERYWHERE)
    return desk.outcome()


def _told(outcome: Outcome, heard: _Heard) -> Iterator[Event]:
    """What was found; of a contradiction that the model was not sure of, that it was not."""
    for event in outcome.found:
        verdict = (
            heard.verdicts.get(frozenset(event.ids)) if event.what == "contradiction" else None
        )
        unsure = verdict is not None and verdict.what == "unsure"
        yield event._replace(what="unsure") if unsure else event


def _waiting(files: _Files) -> int:
    from memcli.compaction.consolidate import due

    return sum(len(batch.episodes) for batch in due(files.sources))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of small tuples and not one cycle: looking for cycles would be a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _guard_loss(losses: Sequence[Event], *, allow: bool) -> None:
    for loss in losses:
        if not allow:
            raise RefusedError(
                f"{loss.detail} would leave {loss.path}; nothing is written",
                "look with --dry-run; --allow-loss goes ahead (what leaves is kept in the archive)",
            )

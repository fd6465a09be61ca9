"""mem add: write down one thing that was learned."""

import os
import re
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memcli.app import App
from memcli.errors import RefusedError, UsageError, one_of
from memcli.exchange.rule_units import titled
from memcli.extraction.rules.statements import states_rule
from memcli.index import citations, lexical
from memcli.index.citations import Citation
from memcli.index.database import Index
from memcli.memory import changes
from memcli.memory import values as allowed
from memcli.memory.binding import binds
from memcli.memory.changes import ChangeSet, EntryChange, edited
from memcli.memory.grammar import conflict_lines
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.prominence import stronger
from memcli.memory.values import LEVEL_WORDS, Entry, Patch, Place, plain_id
from memcli.memory.words import clean, count
from memcli.project import context, globs
from memcli.project.context import Project, nothing_written
from memcli.recall.budget import tokens
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import Titled, near_duplicate
from memcli.similarity.opposites import PlacedEntry, opposites, standing_in
from memcli.similarity.taken_back import ECHO, echoes, replaces
from memcli.storage.files import SMALL_BYTES, Conflicted, Unreadable, read_file
from memcli.text.controls import strip_controls, strip_private
from memcli.text.injections import find_injections
from memcli.text.secrets import find_secrets

IMPORTANCE_OF_KIND = {"policy": 0.95, "preference": 0.95, "pitfall": 0.8}
"""As mem extract writes what a person rules, wants or warns of; without a kind it is
0.5."""
MOST_BYTES = 64 << 10
"""The longest text of an entry that is taken."""


class AddRequest(NamedTuple):
    """One thing to remember. Empty values take the defaults of `mem add --help`."""

    text: str
    level: str = "project"
    job: str = ""
    task: str = ""
    type: str = ""
    kind: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    importance: float | None = None
    priority: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""
    domain: str = ""
    again: bool = False
    """Write it although it was taken back."""
    rests_on: tuple[str, ...] = ()
    """Lines of code that it rests on: `src/cart.py:40-60`."""
    beside: bool = False
    """Keep what has another value for the same thing."""


class AddReport(NamedTuple):
    """Where the entry went, or which one (`reinforced`) says the same; `by_kind`: its
    kind set the importance; `as_rule`: it binds by what it says."""

    id: str
    path: str
    title: str
    reinforced: bool
    importance: float
    by_kind: bool
    patches: tuple[Patch, ...]
    as_rule: bool = False
    superseded: tuple[tuple[str, str], ...] = ()
    """(id, title) of what had another value for the same thing."""
    opposed: tuple[tuple[str, str], ...] = ()
    """(id, title) of what says the opposite."""


def refuse_long(text: str) -> None:
    """Raises RefusedError for more than an entry may hold."""
    size = len(text.encode())
    if size > MOST_BYTES:
        what = f"the text has {size:,} bytes, which is too long for an entry"
        hint = f"shorten it to {MOST_BYTES:,} bytes, or keep it in a file of its own"
        raise RefusedError(what, hint)


def add(app: App, request: AddRequest) -> AddReport:
    """Append an entry, or reinforce the one that says the same. Refuses secrets (exit
    5)."""
    level = LEVEL_WORDS.get(request.level, request.level)
    one_of("--level", level, allowed.LEVELS)
    one_of("--type", request.type, ("", *allowed.TYPES))
    one_of("--kind", request.kind, ("", *allowed.KINDS))
    one_of("--importance", request.priority, ("", *allowed.PRIORITIES))
    one_of("--domain", request.domain, ("", *allowed.DOMAINS))
    if level in ("global", "project") and (request.job or request.task):
        option = "--task" if request.task else "--job"
        raise UsageError(
            f"{option} does not go with --level {level}", "leave one of the two away"
        )
    if request.importance is not None and not 0 <= request.importance <= 1:
        raise UsageError(
            f"--importance {request.importance}: out of range", "a number from 0 to 1"
        )
    lists: dict[str, Any] = {
        key: in_lines(getattr(request, key)) for key in ("tags", "commands", "steps")
    }
    lists["paths"] = globs_below(app.project, request.paths)
    lists["rests_on"] = cited(app.project, request.rests_on)
    text = strip_private(strip_controls(request.text)).strip()
    title = in_line(request.title)
    outcome = in_line(request.outcome)
    refuse_long(f"{title}{text}")
    request = request._replace(
        level=level, text=text, title=title, outcome=outcome, **lists
    )
    if not text and not title:
        hint = 'mem add "what you learned", or - to read it from stdin'
        raise UsageError("no text given", hint)
    refuse_secrets("\n\n".join((text, title, outcome, *sum(lists.values(), ()))))
    if find_injections(f"{title}\n{text}"):
        app.notes.append(
            "this reads like a command to an agent, so recall leaves it out:"
            " mem undo, then reword it"
        )
    room = app.project.config.max_tokens
    if room and (size := tokens(text)) > room:
        app.notes.append(
            f"the text takes {size:,} tokens, an answer {room:,} (max_tokens): a part of"
            " it will be told"
        )
    return app.write(lambda: _plan(app, request), "add")


def refuse_secrets(text: str) -> None:
    """Raise RefusedError where a text holds a secret. No flag lets one pass: an agent
    would set it, and what is committed stays in git's history."""
    for secret in find_secrets(text):
        what = f"the text contains a secret ({secret.kind}); nothing was written"
        hint = "remove it; if it is not a secret, write a placeholder instead: <token>"
        raise RefusedError(what, hint)


def in_line(text: str) -> str:
    """One line without control characters and private parts."""
    return " ".join(strip_private(strip_controls(text)).split())


def globs_below(project: Project, given: Iterable[str]) -> tuple[str, ...]:
    """The globs relative to the root, absolute ones too. Raises UsageError for one
    that covers no file of the project."""
    root = f"{project.root}/" if project.root else ""
    covering = list[str]()
    for glob in map(in_line, given):
        name = glob.removeprefix(root)
        leads_up = name[:1] in "~!" or ".." in name.split("/")
        is_usable = globs.usable(name) and not _is_open(name)
        if leads_up or _stands_away(name, root or "/") or not is_usable:
            what = f"path {glob!r}: matches no file of this project"
            raise UsageError(
                what, "give files below the root, as in .gitignore: 'src/*.py'"
            )
        covering.append(name)
    return tuple(covering)


def _is_open(name: str) -> bool:
    """Whether a bracket of a glob is not closed: such a one matches nothing."""
    return "[" in re.sub(r"\\.|\[[!^]?+\]?+[^\]]*\]", "", name)


def _stands_away(name: str, root: str) -> bool:
    """Whether a glob with a slash before it, which ties it to the root, names something
    of the machine instead."""
    top = "/".join(name.split("/")[:2])
    if not top.startswith("/") or not os.path.lexists(top):
        return False
    return not os.path.lexists(f"{root}{top}")


def cited(project: Project, given: Iterable[str]) -> tuple[str, ...]:
    """The citations, each with a sketch of its lines. Raises UsageError where the
    work tree has no such lines."""
    texts = in_lines(given)
    return tuple(str(_renewed(project, text, citations.with_sketch)) for text in texts)


def cited_anew(project: Project, rows: Iterable[str]) -> list[str]:
    """The rows of `rests_on` as they stand in the code today. Raises UsageError."""
    return [str(_renewed(project, row, citations.renewed)) for row in rows]


def _renewed(
    project: Project, text: str, make: Callable[[Citation, str], Citation | None]
) -> Citation:
    citation = citations.parse_citation(text)
    if citation is None:
        what = f"--rests-on {text}: {citations.what_is_wrong(text)}"
        raise UsageError(what, "write it as src/cart.py:40-60")
    root = context.need_root(project, " for --rests-on")
    try:
        data = read_file(root / citation.path, root, most=SMALL_BYTES).data
    except Unreadable as error:
        what = f"{citation.path}: {error}"
        raise UsageError(what, "name a file below the root of the project") from None
    renewed_citation = make(citation, data.decode("utf-8", "replace"))
    if renewed_citation is None:
        count_of_lines = len(data.splitlines())
        what = f"{citation.place}: has no such line ({count(count_of_lines, 'line')})"
        if citation.last <= count_of_lines:
            what = f"{citation.place}: no word of two letters stands there"
        raise UsageError(what, "give existing lines: --rests-on FILE:FIRST-LAST")
    return renewed_citation


def in_lines(items: Iterable[str]) -> tuple[str, ...]:
    """Each text in one line; empty ones are left out."""
    return tuple(filter(None, map(in_line, items)))


def _plan(app: App, request: AddRequest) -> AddReport:
    project = app.project
    today = project.now.isoformat()
    name, path = target(project, request.level, request.job, request.task)
    title, body = _worded(request, today)
    similar = _near(app, request)
    if known := _reinforced(app, similar, title, body):
        return known._replace(opposed=_opposed(request, similar, known.id))
    as_rule = not (request.type or request.kind) and any(
        map(states_rule, (request.title, request.text))
    )
    if as_rule:
        request = request._replace(type="directive")
    values = _values(project, request, today)
    if not request.again:
        refuse_taken_back(app, body)
    memory = read_target(project, path, name)
    for problem in memory.problems:
        if problem.severity == "unreadable":
            app.notes.append(f"{problem}: mem doctor")
    changes = ChangeSet([memory], today)
    changes.add(name, values, body)
    outdated = _outdated(project, similar, request, Titled(title, body))
    if outdated is not None:
        _supersede(app, changes, outdated, values["id"])
    texts = changes.texts()
    new = PlacedEntry(name, parse(texts[name], name).entries[-1])
    return AddReport(
        id=new.entry.id,
        path=name,
        title=title,
        reinforced=False,
        importance=new.entry.importance,
        by_kind=request.importance is None and request.kind in IMPORTANCE_OF_KIND,
        as_rule=as_rule,
        patches=context.patches_of(project, changes),
        superseded=((outdated.entry.id, outdated.entry.title),) if outdated else (),
        opposed=() if outdated else _opposed(request, [*similar, new], new.entry.id),
    )


def _worded(request: AddRequest, today: str) -> tuple[str, str]:
    """The title, and the body with it as its heading."""
    title = request.title
    text = request.text
    if not title:
        title, text = titled(text)
    steps = "\n".join(f"{i}. {step}" for i, step in enumerate(request.steps, 1))
    parts = (f"## [{today}] {title}", text.strip("\n"), steps)
    return title, "\n".join(part for part in parts if part.strip())


def refuse_taken_back(app: App, body: str) -> None:
    """Raises RefusedError for what was retired, superseded or forgotten."""
    if refusal := app.taken_back().of(body):
        hint = "mem add --again writes it anyway"
        raise RefusedError(f"{refusal}; nothing was written", hint)


def retire_echoes(
    app: App, changes: ChangeSet, gone: Entry
) -> list[tuple[str, str, str]]:
    """Retire the episodes that say what is taken back, so that nobody is told it:
    (id, path, title) of each."""
    retired = []
    files = context.read_known(
        app.project, app.project.listing.files, [], to_write=True
    )
    for path, at in echoes(gone, files):
        context.hold(app.project, changes, path)
        changes.set((path, at), status="retired", retired_because=ECHO)
        episode = changes.original((path, at))
        retired.append((episode.id, path, episode.title))
    return retired


def _outdated(
    project: Project, near: Iterable[PlacedEntry], request: AddRequest, added: Titled
) -> PlacedEntry | None:
    """The one entry of this level that has another value for the same thing, or of
    which what is added says all. Several are a series, and none of them is replaced."""
    if request.beside or request.kind == "episode":
        return None
    level_of = {file.name: file.place.level for file in project.listing.files}
    rivals = [one for one in near if level_of[one.path] == request.level]
    replaced = [
        rival
        for rival in rivals
        if not binds(rival.entry)
        if replaces(added.body, rival.entry.body)
        or _is_part(rival.entry, request, added)
    ]
    return replaced[0] if len(replaced) == 1 else None


def _is_part(known: Entry, request: AddRequest, added: Titled) -> bool:
    """Whether what is added says all that an entry says, of its kind and of what it is
    about, too."""
    values = {"tags": request.tags, "paths": request.paths}
    values |= {"commands": request.commands, "rests_on": request.rests_on}
    is_about = all(
        set(allowed.listed(known, key)) <= set(given) for key, given in values.items()
    )
    is_same_kind = known.kind == request.kind and not known.touched
    return is_same_kind and is_about and added.says_all(Titled(known.title, known.body))


def _opposed(
    request: AddRequest, near: Sequence[PlacedEntry], added: str
) -> tuple[tuple[str, str], ...]:
    """The (id, title) of what is near and says the opposite of the added entry."""
    if request.beside:
        return ()
    pairs = (pair for pair in opposites(near) if added in pair.ids)
    others = (
        pair.second if pair.first.entry.id == added else pair.first for pair in pairs
    )
    return tuple((other.entry.id, other.entry.title) for other in others)


def _supersede(app: App, changes: ChangeSet, old: PlacedEntry, newer: str) -> None:
    """Retire the entry that had another value."""
    with nothing_written(old.path):
        memory = context.hold(app.project, changes, old.path)
    changes.set(
        (old.path, memory.entries.index(old.entry)),
        status="retired",
        retired_because="superseded",
        superseded_by=newer,
    )
    retire_echoes(app, changes, old.entry)


def _values(project: Project, request: AddRequest, today: str) -> dict[str, Any]:
    """The front matter of the new entry."""
    inside = project.view.job if request.level in ("job", "task") else ""
    importance = request.importance
    if importance is None:
        importance = IMPORTANCE_OF_KIND.get(request.kind, 0.5)
    lists = {
        key: list(getattr(request, key))
        for key in ("tags", "paths", "commands", "rests_on")
    }
    return changes.new_values(
        str(uuid.uuid4()),
        today,
        type=request.type,
        kind=request.kind,
        importance=float(importance),
        priority=request.priority,
        outcome=request.outcome,
        domain=request.domain or allowed.domain_of(request.level),
        phase=context.current_stage(project, request.job or inside),
        **lists,
    )


def target(
    project: Project, level: str, job: str = "", task: str = ""
) -> tuple[str, str]:
    """Name and path of the `MEMORY.md` of a level. Job and task default to those of
    the working directory."""
    if level == "global":
        return "~/MEMORY.md", str(project.home / "MEMORY.md")
    root = context.need_root(project, ", or use --level global")
    folder = _folder_of(project, level, job, task) if level != "project" else ""
    return f"{folder}/MEMORY.md".lstrip("/"), str(root / folder / "MEMORY.md")


def _folder_of(project: Project, level: str, job: str, task: str) -> str:
    """The folder of a job or task. Raises UsageError where none is named."""
    here = project.view
    in_old_layout = here.task and not here.job
    if level == "task" and in_old_layout and not (job or task):
        return here.inside
    job = _named("job", job or here.job, level)
    if level == "job":
        return context.job_folder(project, job)
    task = _named("task", task or here.task, level)
    return context.task_folder(project, context.job_folder(project, job), task)


def _named(what: str, name: str, level: str) -> str:
    """The name of a job or task. Raises UsageError where there is none."""
    if not name:
        hint = f"name it with --{what}, or run inside its folder"
        others = [word for word, meant in LEVEL_WORDS.items() if meant == level]
        also = f" (also called {' or '.join(others)})"
        raise UsageError(f"--level {level}{also} needs a {what}", hint)
    return name


def read_target(project: Project, path: str, name: str) -> MemoryFile:
    """The file that is written to, empty where there is none. Raises DataError."""
    text = context.text_to_write(project, path) or ""
    with nothing_written(name):
        for line in conflict_lines(text):
            raise Conflicted(line)
    return parse(text, name)


def is_around(
    project: Project, place: Place, level: str, job: str = "", task: str = ""
) -> bool:
    """Whether a file is at the level written to or around it, of the same job and
    task."""
    return place.is_around(level, job or project.view.job, task or project.view.task)


def _near(app: App, request: AddRequest) -> list[PlacedEntry]:
    """The live entries that share most words with what is added, the likest first, of
    the memory files at the level written to and around it."""
    project = app.project
    around = {
        file.name: file
        for file in project.listing.files
        if file.place.store == "memory" and project.may_write(file)
        if is_around(project, file.place, request.level, request.job, request.task)
    }
    if not around:
        return []
    app.refresh()
    words = f"{request.title}\n{request.text}"
    spots = app.guarded(lambda: list(_found(app.index, words, around)))
    files = context.read_known(project, around.values(), [])
    standing = {(one.path, clean(one.entry.id)): one for one in standing_in(files)}
    return [standing[spot] for spot in spots if spot in standing]


def _found(
    index: Index, text: str, around: Container[str]
) -> Iterator[tuple[str, str]]:
    """File and id of the entries that share words with a text, the likest first."""
    path_of = {row.id: row.path for row in index.files().values()}
    hidden = (number for number, path in path_of.items() if path not in around)
    words = lexical.build(text, index.words.counts).terms
    scores = index.words.best(words, index.words.shown(hidden), pool=50)
    candidates = index.entries.candidates(scores)
    for candidate in sorted(
        candidates, key=lambda c: (-scores[c.rowid], c.source, c.offset)
    ):
        if candidate.part == 0 and candidate.values.get("written"):
            yield path_of[candidate.source], plain_id(candidate.entry)


def _reinforced(
    app: App, near: Iterable[PlacedEntry], title: str, body: str
) -> AddReport | None:
    added = Titled(title, body)
    added_claim = claim(body)
    for path, entry in near:
        is_same = near_duplicate(added_claim, claim(entry.body))
        says_all = Titled(entry.title, entry.body).says_all(added)
        file = app.project.found(path)
        if file is None or not (is_same or says_all):
            continue
        memory = read_target(app.project, file.path, path)
        stronger_values = stronger(entry, app.today)
        change = EntryChange(memory.entries.index(entry), stronger_values)
        return AddReport(
            id=entry.id,
            path=path,
            title=entry.title,
            reinforced=True,
            importance=entry.importance,
            by_kind=False,
            patches=(Patch(file.path, memory.text, edited(memory, [change]).text),),
        )
    return None

"""mem index --shared: send what changed in this project to the shared index in one
transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import ProviderError, RefusedError, UsageError
from memcli.index.embedding import of_texts
from memcli.index.vectors import embedded_text
from memcli.index.view import AROUND, FileRow
from memcli.memory import arithmetic
from memcli.memory.parser import parse
from memcli.memory.values import Problem
from memcli.postgres import link, writer
from memcli.postgres.brought import literal
from memcli.postgres.chunks import Sent, chunks, leaves, number
from memcli.postgres.identity import Identity, identify
from memcli.postgres.writer import Change, FileChange, NewChunk
from memcli.project import git
from memcli.project.context import base_of
from memcli.providers.embed import name_of
from memcli.storage.files import Unreadable, decode, read_file
from memcli.text.controls import strip_private
from memcli.text.digests import digest

FORMAT = "2"  # of what is sent; a new one sends every file again
TRIES = 5
ARGUMENTS = 500  # names in one call of git


class PushReport(NamedTuple):
    """What a push did. `left_out` are memory files that git does not have; `made`: it
    also made the tables."""

    project: str
    where: str
    commit: str
    files: int
    sent: int
    dropped: int
    embedded: int
    left_out: tuple[str, ...]
    problems: tuple[Problem, ...]
    made: bool = False


class _Target(NamedTuple):
    app: App
    server: link.Link
    identity: Identity
    known: writer.Known
    archived: bool
    model: str = ""
    dim: int = 0


def push(app: App, *, archived: bool = False) -> PushReport:
    """Send what changed: everything or nothing. The index must be fresh."""
    url = app.project.config.store_url
    environ = app.project.environ
    if app.project.root is None:
        message = "only a project can be pushed: the global level stays here"
        raise UsageError(message, "run it in a repository")
    identity = identify(app.project.root)
    files_wanted, left_out = _wanted(app, app.project.root, archived)
    team = app.project.config.store_team
    with closing(link.Link(url, environ)) as server:
        created = not server.ask(link.version) and server.ask(link.make)
        link.require(server.ask(link.version))
        for _ in range(TRIES):
            with suppress(writer.Stale):
                known_hashes = server.ask(
                    lambda connection: writer.known(connection, identity, team)
                )
                target = _Target(
                    app=app,
                    server=server,
                    identity=identity,
                    known=known_hashes,
                    archived=archived,
                )
                report = _push(_with_model(target), files_wanted)
                return report._replace(left_out=left_out, made=created)
    message = f"this project is being pushed by others all the time ({server.where})"
    raise RefusedError(message, "run again")


def _wanted(
    app: App, root: Path, archived: bool
) -> tuple[dict[str, FileRow], tuple[str, ...]]:
    """The files that the shared index should have, and the names of those that git does
    not know."""
    by_name = {
        row.path: row
        for row in app.index.files().values()
        if leaves(row.place, row.tree, archived=archived) and row.hash
    }
    remaining = set(_git(root, by_name, "ls-files", "-z"))
    for name in _git(
        root, remaining, "diff", "--name-only", "-z", "--relative", "HEAD"
    ):
        hint = "commit it first: what is shared is as of a commit"
        raise RefusedError(f"{name} differs from what is committed", hint)
    left_out = tuple(sorted(by_name.keys() - remaining))
    return {name: row for name, row in by_name.items() if name in remaining}, left_out


def _git(root: Path, names: Iterable[str], *command: str) -> list[str]:
    commands = []
    listed = sorted(names)
    for start in range(0, len(listed), ARGUMENTS):
        some = listed[start : start + ARGUMENTS]
        process = git.run([*command, "--", *some], root, timeout=120)
        if process.returncode:
            message = f"git {command[0]} failed: {process.stderr.strip()}"
            raise ProviderError(message, "git status")
        commands += [name for name in process.stdout.split("\0") if name]
    return commands


def _push(target: _Target, files: dict[str, FileRow]) -> PushReport:
    identity = target.identity
    before = target.known.facts
    facts = writer.Facts(
        team=before.team,
        commit=identity.commit,
        remote=identity.remote,
        name=identity.name,
        model=target.model,
        dim=target.dim,
        archived=target.archived,
    )
    if target.dim:
        target.server.ask(
            lambda connection: link.index_vectors(connection, target.model, target.dim)
        )
    # What has vectors of another model is not changed but sent anew.
    is_same_space = (target.model, target.dim) == (before.model, before.dim)
    problems: list[Problem] = []
    change = _changed(
        target, files, facts, target.known.files if is_same_space else {}, problems
    )
    if change.files or change.gone or facts != before:
        change = change._replace(anew=not is_same_space)
        target.server.ask(
            lambda connection: writer.write(connection, identity, target.known, change)
        )
    for other in target.known.others:
        target.app.notes.append(f"team {other} has this project, too, as it was pushed")
    return PushReport(
        project=identity.name,
        where=target.server.where,
        commit=identity.commit,
        files=len(files),
        sent=len(change.new),
        dropped=len(change.dropped),
        embedded=sum(1 for chunk in change.new if chunk.vector is not None),
        left_out=(),
        problems=tuple(problems),
    )


def _changed(
    target: _Target,
    files: dict[str, FileRow],
    facts: writer.Facts,
    known: Mapping[str, str],
    problems: list[Problem],
) -> Change:
    """The change that turns the `known` files, by their hashes, into these `files`."""
    changed = []
    for name, row in files.items():
        state = digest("\0".join((FORMAT, row.hash, *row.place)).encode())
        if known.get(name) != state:
            changed.append(_read(target.app, row, state, problems))
    removed = [number(name) for name in known if name not in files]
    chunks_wanted = {sent.id: (file, sent) for file in changed for sent in file.chunks}
    unchanged = set()
    if known:
        touched = [*removed, *(file.number for file in changed)]
        unchanged = target.server.ask(
            lambda connection: writer.have(connection, target.known.key, touched)
        )
    return Change(
        facts=facts,
        files=changed,
        gone=removed,
        new=_new(
            target,
            [pair for key, pair in chunks_wanted.items() if key not in unchanged],
        ),
        dropped=sorted(unchanged - chunks_wanted.keys()),
        anew=False,
    )


def _read(app: App, row: FileRow, state: str, problems: list[Problem]) -> FileChange:
    listed = app.project.found(row.path)
    path = listed.path if listed else app.project.path_of(row.path)
    changed = FileChange(
        number=number(row.path), path=row.path, hash=state, place=row.place, chunks=()
    )
    try:
        data = read_file(path, base_of(app.project, path)).data
        text = strip_private(decode(data), lines=True)
    except Unreadable as error:
        problem = Problem(
            path=row.path, line=error.line, message=str(error), severity="unreadable"
        )
        problems.append(problem)
        return changed
    if digest(data) != row.hash:
        raise RefusedError(f"{row.path} is being changed", "run again")
    live = row.place.store == "memory"
    return changed._replace(chunks=chunks(parse(text, row.path), row.path, live=live))


def _new(target: _Target, added: Sequence[tuple[FileChange, Sent]]) -> list[NewChunk]:
    chosen = []
    if target.dim:
        chosen = [
            sent for _, sent in added if sent.row.live and _chosen(target.app, sent)
        ]
    vectors = dict(
        zip((sent.id for sent in chosen), _vectors(target, chosen), strict=True)
    )
    return [
        NewChunk(file=file, sent=sent, vector=vectors.get(sent.id))
        for file, sent in added
    ]


def _with_model(target: _Target) -> _Target:
    """The target with the model and dimension of its vectors. Raises UsageError if the
    shared index has vectors of that model with another dimension."""
    embedder = target.app.providers.embedder
    if embedder is None:
        return target
    model = name_of(embedder)
    facts = target.known.facts
    dimension = target.app.project.config.embed_dimensions
    if embedder.provider == "local":
        dimension = arithmetic.DIM
    elif not dimension and facts.model == model:
        dimension = facts.dim
    dimension = dimension or len(embedder.embed(["dimension"])[0])
    dimensions = sorted(
        target.server.ask(lambda connection: writer.dimensions(connection, model))
    )
    if dimensions and dimension not in dimensions:
        listed = " or ".join(map(str, dimensions))
        message = (
            f"vectors of {model} have {listed} dimensions in the shared index, here"
        )
        raise UsageError(
            f"{message} {dimension}", f"set embed_dimensions = {dimensions[0]}"
        )
    return target._replace(model=model, dim=dimension)


def _chosen(app: App, sent: Sent) -> bool:
    """Whether a chunk should be embedded."""
    chosen = app.chosen
    row = sent.row
    values = json.loads(row.metadata)
    if values.get("embed") is not None:
        return bool(values["embed"])
    if row.kind not in (chosen.kinds or (row.kind,)):
        return False
    if row.type not in (chosen.types or (row.type,)):
        return False
    return float(values.get("importance") or 0) >= chosen.importance


def _vectors(target: _Target, chosen: Sequence[Sent]) -> list[str | None]:
    embedder = target.app.providers.embedder
    if embedder is None or not chosen:
        return [None] * len(chosen)
    texts = [
        embedded_text(row.title, row.around.partition(AROUND)[0] or row.text)
        for row in (sent.row for sent in chosen)
    ]
    created = of_texts(target.app.index.vectors, embedder, texts)
    return [literal(vector) if vector else None for vector in created]

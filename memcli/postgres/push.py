"""mem index --push: send what changed in this project to the shared index, in one
transaction."""

import json
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import ProviderError, RefusedError, UsageError
from memcli.index.embedding import of_texts
from memcli.index.vectors import embedded_text
from memcli.index.view import FileRow
from memcli.memory.parser import parse
from memcli.memory.values import Problem
from memcli.postgres import link, writer
from memcli.postgres.tokens import Tokenizer
from memcli.postgres.writer import Identity, identify
from memcli.project import git
from memcli.project.context import base_of
from memcli.providers import embed as arithmetic
from memcli.storage.files import Unreadable, decode, digest, read_file
from memcli.text.controls import strip_private

FORMAT = "1"  # of what is sent; another one sends every file again
TRIES = 5
ARGUMENTS = 500


class PushReport(NamedTuple):
    """What a push did. `left_out` are memory files that are not in git; `made`: the
    tables, too."""

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
    model: str = ""
    dim: int = 0


def push(app: App, *, archived: bool = False) -> PushReport:
    """Send what changed. Nothing is written unless everything is. The index must be
    fresh."""
    url = app.project.config.store_url
    environ = app.project.environ
    if app.project.root is None:
        what = "only a project can be pushed: the global level stays here"
        raise UsageError(what, "run it in a repository")
    identity = identify(app.project.root)
    wanted = _wanted(app, archived)
    team = app.project.config.store_team
    with closing(link.Link(url, environ)) as server:
        made = not server.ask(link.version) and server.ask(link.make)
        link.require(server.ask(link.version))
        for _ in range(TRIES):
            with suppress(writer.Stale):
                known = server.ask(lambda c: writer.known(c, identity, team))
                target = _with_model(
                    _Target(app=app, server=server, identity=identity, known=known)
                )
                return _push(target, *wanted, archived)._replace(made=made)
    what = f"this project is being pushed by others all the time ({server.where})"
    raise RefusedError(what, "run again")


def _wanted(app: App, archived: bool) -> tuple[dict[str, FileRow], tuple[str, ...]]:
    wanted = {
        row.path: row
        for row in app.index.files().values()
        if writer.leaves(row.place, row.tree, archived=archived) and row.hash
    }
    root = app.project.root or Path()
    kept = set(_git(root, wanted, "ls-files", "-z"))
    for name in _git(root, kept, "diff", "--name-only", "-z", "--relative", "HEAD"):
        hint = "commit it first: what is shared is as of a commit"
        raise RefusedError(f"{name} differs from what is committed", hint)
    left_out = tuple(sorted(wanted.keys() - kept))
    return {name: row for name, row in wanted.items() if name in kept}, left_out


def _git(root: Path, names: Iterable[str], *command: str) -> list[str]:
    found = list[str]()
    listed = sorted(names)
    for start in range(0, len(listed), ARGUMENTS):
        done = git.run(
            [*command, "--", *listed[start : start + ARGUMENTS]], root, timeout=120
        )
        if done.returncode:
            raise ProviderError(
                f"git {command[0]} failed: {done.stderr.strip()}", "git status"
            )
        found += [name for name in done.stdout.split("\0") if name]
    return found


def _push(
    to: _Target, files: dict[str, FileRow], left_out: tuple[str, ...], archived: bool
) -> PushReport:
    key = to.known.key
    identity = to.identity
    facts = to.known.facts
    now = writer.Facts(
        team=facts.team,
        commit=identity.commit,
        remote=identity.remote,
        name=identity.name,
        model=to.model,
        dim=to.dim,
    )
    if to.dim:
        to.server.ask(lambda c: link.index_vectors(c, to.model, to.dim))
    # What has vectors of another model is not changed but sent anew.
    same = (to.model, to.dim) == (facts.model, facts.dim)
    have_files = to.known.files if same else {}
    problems: list[Problem] = []
    changed = []
    for name, row in files.items():
        state = digest("\0".join((FORMAT, row.hash, *row.place)).encode())
        if have_files.get(name) != state:
            changed.append(_read(to.app, row, state, problems))
    gone = [writer.number(name) for name in have_files if name not in files]
    touched = [*gone, *(file.number for file in changed)] if same else []
    select = "SELECT id FROM mem.chunks WHERE project = %s AND file = ANY (%s)"
    rows = (
        to.server.ask(lambda c: c.execute(select, (key, touched)).fetchall())
        if touched
        else []
    )
    have = {row[0] for row in rows}
    wanted = {sent.id: (file, sent) for file in changed for sent in file.chunks}
    new = _new(to, [pair for i, pair in wanted.items() if i not in have])
    dropped = sorted(have - wanted.keys())
    change = writer.Change(
        facts=now,
        files=changed,
        gone=gone,
        new=new,
        dropped=dropped,
        anew=not same,
        archived=archived,
    )
    if changed or gone or now != facts:
        to.server.ask(lambda c: writer.write(c, identity, to.known, change))
    for other in to.known.others:
        to.app.notes.append(f"team {other} has this project, too, as it was pushed")
    embedded = sum(chunk.vector is not None for chunk in new)
    return PushReport(
        project=identity.name, where=to.server.where, commit=identity.commit, files=len(files), sent=len(new), dropped=len(dropped),
        embedded=embedded, left_out=left_out, problems=tuple(problems),
    )  # fmt: skip


def _read(
    app: App, row: FileRow, identity: str, problems: list[Problem]
) -> writer.FileChange:
    file = app.project.found(row.path)
    path = file.path if file else app.project.path_of(row.path)
    changed = writer.FileChange(
        number=writer.number(row.path),
        path=row.path,
        hash=identity,
        place=row.place,
        chunks=(),
    )
    try:
        data = read_file(path, base_of(app.project, path)).data
        text = strip_private(decode(data), lines=True)
    except Unreadable as error:
        problems.append(
            Problem(
                path=row.path,
                line=error.line,
                message=str(error),
                severity="unreadable",
            )
        )
        return changed
    if digest(data) != row.hash:
        raise RefusedError(f"{row.path} is being changed", "run again")
    sent = writer.chunks(
        parse(text, row.path), row.path, live=row.place.store == "memory"
    )
    return changed._replace(chunks=sent)


def _new(
    to: _Target, added: Sequence[tuple[writer.FileChange, writer.Sent]]
) -> list[writer.NewChunk]:
    sent = [one for _, one in added]
    with closing(Tokenizer()) as tokenizer:
        labels = (f"=t:{to.known.facts.team}", f"=p:{to.known.key}")
        rows = [
            (r.title, r.text, r.tags, r.date, r.parts)
            for r in (one.row for one in sent)
        ]
        words = tokenizer.words(rows, labels)
    chosen = [one for one in sent if to.dim and one.row.live and _chosen(to.app, one)]
    texts = [embedded_text(one.row.title, one.row.text) for one in chosen]
    vectors = dict(zip((one.id for one in chosen), _vectors(to, texts), strict=True))
    return [
        writer.NewChunk(file=file, sent=one, words=own, vector=vectors.get(one.id))
        for (file, one), own in zip(added, words, strict=True)
    ]


def _with_model(to: _Target) -> _Target:
    embedder = to.app.providers.embedder
    if embedder is None:
        return to
    model = f"{embedder.provider}/{embedder.model}"
    known = to.known.facts.dim if to.known.facts.model == model else 0
    dim = to.app.project.config.embed_dimensions or known
    dim = arithmetic.DIM if embedder.provider == "local" else dim
    dim = dim or len(embedder.embed(["dimension"])[0])
    have = to.server.ask(lambda c: writer.dimensions(c, model))
    if have and dim not in have:
        listed = " or ".join(map(str, sorted(have)))
        what = f"vectors of {model} have {listed} dimensions in the shared index, here {dim}"
        raise UsageError(what, f"set embed_dimensions = {sorted(have)[0]}")
    return to._replace(model=model, dim=dim)


def _chosen(app: App, sent: writer.Sent) -> bool:
    chosen = app.chosen
    row = sent.row
    values = json.loads(sent.row.metadata)
    if values.get("embed") is not None:
        return bool(values["embed"])
    fits = row.kind in (chosen.kinds or (row.kind,)) and row.type in (
        chosen.types or (row.type,)
    )
    return fits and float(values.get("importance") or 0) >= chosen.importance


def _vectors(to: _Target, texts: Sequence[str]) -> list[str | None]:
    embedder = to.app.providers.embedder
    if embedder is None or not texts:
        return [None] * len(texts)
    made = of_texts(to.app.index.vectors, embedder, texts)
    return [literal(own) if own else None for own in made]


def literal(quantised: bytes) -> str:
    """A vector of whole numbers in the text form of pgvector."""
    return f"[{','.join(map(str, memoryview(quantised).cast('b')))}]"

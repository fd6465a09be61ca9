"""mem index --push: send what changed in this project to the shared index, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli import git, tree, vector
from memcli.app import App
from memcli.errors import ProviderError, RefusedError, UsageError
from memcli.memory_file import parse
from memcli.model import Problem
from memcli.shared import link, rows, schema, writer
from memcli.shared.identity import Identity, identify
from memcli.shared.tokens import Tokenizer
from memcli.store import FileRow
from memcli.vectors import content_hash, embedded_text

if TYPE_CHECKING:
    from memcli.embed import Embedder

FORMAT = "1"
"""Of what is sent; another one sends every file again."""
TRIES = 5
ARGUMENTS = 500


class Report(NamedTuple):
    """What a push did. `left_out` are memory files that are not in git; `before` is the tables' version before --migrate."""

    project: str
    where: str
    commit: str
    files: int
    sent: int
    dropped: int
    embedded: int
    left_out: tuple[str, ...]
    problems: tuple[Problem, ...]
    before: str | None = None


class Source(NamedTuple):
    """The files of a project that are sent, by path, with what tells that one has changed."""

    files: Mapping[str, FileRow]
    hashes: Mapping[str, str]
    left_out: tuple[str, ...]


def push(app: App, *, archived: bool = False, migrate: bool = False) -> Report:
    """Send what changed. Nothing is written unless everything is. The index must be fresh."""
    url = app.config.store_url
    where = link.shown(url, app.environ)
    if app.root is None:
        raise UsageError(
            "only a project can be pushed: the global level stays here", "run it in a repository"
        )
    before = _migrate(app, url, where) if migrate else None
    identity = identify(app.root)
    source = _source(app, archived)
    server = link.Link(url, app.environ)
    try:
        schema.require(server.ask(schema.version))
        for _ in range(TRIES):
            try:
                return _push(app, server, identity, source, archived)._replace(before=before)
            except writer.Stale:
                continue
    finally:
        server.close()
    raise RefusedError(f"this project is being pushed by others all the time ({where})", "run again")


def _migrate(app: App, url: str, where: str) -> str:
    try:
        before = schema.migrate(lambda: link.connect(url))
        embedder = app.embedder
        if embedder is not None:
            dim = app.config.embed_dimensions or len(embedder.embed(["dimension"])[0])
            with link.connect(url) as connection:
                schema.index_vectors(connection, _model(embedder), dim)
        return before
    except Exception as error:
        cause = getattr(error, "orig", None) or error
        raise link.explained(cause, where) from None


def _model(embedder: Embedder) -> str:
    return f"{embedder.provider}/{embedder.model}"


# --- what is sent


def _source(app: App, archived: bool) -> Source:
    wanted = {
        row.path: row
        for row in app.index.files().values()
        if rows.leaves(row.place, row.tree, archived=archived) and row.hash
    }
    root = app.root or Path()
    kept = set(_git(root, wanted, "ls-files", "-z"))
    for name in _git(root, kept, "diff", "--name-only", "-z", "--relative", "HEAD"):
        raise RefusedError(
            f"{name} differs from what is committed", "commit it first: what is shared is as of a commit"
        )
    files = {name: row for name, row in wanted.items() if name in kept}
    hashes = {name: _hash(row) for name, row in files.items()}
    return Source(files, hashes, tuple(sorted(wanted.keys() - kept)))


def _git(root: Path, names: Mapping[str, Any] | set[str], *command: str) -> list[str]:
    """The names that a git command prints when asked about these files."""
    found: list[str] = []
    listed = sorted(names)
    for start in range(0, len(listed), ARGUMENTS):
        done = git.run([*command, "--", *listed[start : start + ARGUMENTS]], root, timeout=120)
        if done.returncode:
            raise ProviderError(f"git {command[0]} failed: {done.stderr.strip()}", "git status")
        found += [name for name in done.stdout.split("\0") if name]
    return found


def _hash(row: FileRow) -> str:
    return tree.digest("\0".join((FORMAT, row.hash, *row.place)).encode())


def _push(app: App, server: link.Link, identity: Identity, source: Source, archived: bool) -> Report:
    known = server.ask(lambda c: writer.known(c, identity.key))
    team = app.config.store_team or known.team or server.ask(_role)
    model, dim, embedder = _embedding(app, server, known)
    problems: list[Problem] = []
    changed = [
        _read(app, row, source.hashes[name], problems)
        for name, row in source.files.items()
        if known.files.get(name) != source.hashes[name]
    ]
    gone = [rows.number(name) for name in known.files if name not in source.files]
    touched = [*gone, *(file.number for file in changed)]
    have = server.ask(lambda c: writer.chunk_ids(c, identity.key, touched)) if touched else set()
    labels = (f"=t:{team}", f"=p:{identity.key}")
    change = _change(changed, gone, have, labels)
    vectors = _vectors(app, embedder, change.new, dim) if embedder else {}
    new = [chunk._replace(vector=vectors.get(chunk.sent.id)) for chunk in change.new]
    older: dict[int, str] = {}
    if embedder and known.version and (model, dim) != (known.model, known.dim):
        older = _older(app, server, embedder, identity, model, dim, {*change.dropped})
    change = change._replace(new=new, vectors=older)
    same = (identity.commit, identity.remote, identity.name, team, model, dim)
    if (
        changed
        or gone
        or older
        or same != (known.commit, known.remote, known.name, known.team, known.model, known.dim)
    ):
        server.ask(
            lambda c: writer.write(c, identity, team, known, change, archived=archived, model=model, dim=dim)
        )
    return Report(
        identity.name, server.where, identity.commit, len(source.files), len(new), len(change.dropped),
        len(vectors) + len(older), source.left_out, tuple(problems),
    )  # fmt: skip


def _role(connection: Any) -> str:
    return str(connection.execute("SELECT current_user").fetchone()[0])


def _read(app: App, row: FileRow, identity: str, problems: list[Problem]) -> writer.FileChange:
    """A file as it is sent. One that cannot be read any more counts as changed meanwhile."""
    file = app.found(row.path)
    try:
        data = tree.read_bytes(file.path if file else app.path_of(row.path)).data
        text = rows.public_text(tree.decode(data))
    except tree.Unreadable as error:
        problems.append(Problem(row.path, error.line, str(error), "unreadable"))
        return writer.FileChange(rows.number(row.path), row.path, identity, row.place, ())
    if tree.digest(data) != row.hash:
        raise RefusedError(f"{row.path} is being changed", "run again")
    sent = rows.chunks(parse(text, row.path), row.path, live=row.place.store == "memory")
    return writer.FileChange(rows.number(row.path), row.path, identity, row.place, sent)


def _change(
    files: Sequence[writer.FileChange], gone: Sequence[int], have: set[int], labels: Sequence[str]
) -> writer.Change:
    """What is new and what is no longer wanted, without vectors."""
    wanted = {sent.id: (file, sent) for file in files for sent in file.chunks}
    new = [pair for i, pair in wanted.items() if i not in have]
    tokenizer = Tokenizer()
    try:
        words = tokenizer.words(rows.searched([sent for _, sent in new]), labels)
    finally:
        tokenizer.close()
    chunks = [writer.NewChunk(*pair, own, None) for pair, own in zip(new, words, strict=True)]
    return writer.Change(files, gone, chunks, sorted(have - wanted.keys()), {})


# --- vectors


def _embedding(app: App, server: link.Link, known: writer.Known) -> tuple[str, int, Embedder | None]:
    """(model, dimension, embedder) of the vectors to send. Raises UsageError where the index has others."""
    embedder = app.embedder
    if embedder is None:
        return "", 0, None
    model = _model(embedder)
    dim = app.config.embed_dimensions or (known.dim if known.model == model else 0)
    if embedder.provider == "local":
        dim = vector.DIM
    dim = dim or len(embedder.embed(["dimension"])[0])
    have = server.ask(lambda c: writer.dimensions(c, model))
    if have and dim not in have:
        listed = " or ".join(map(str, sorted(have)))
        raise UsageError(
            f"vectors of {model} have {listed} dimensions in the shared index, here {dim}",
            f"set embed_dimensions = {sorted(have)[0]}",
        )
    return model, dim, embedder


def _vectors(app: App, embedder: Embedder, new: Sequence[writer.NewChunk], dim: int) -> dict[int, str]:
    """The vectors of the new chunks that are chosen to have one."""
    texts = {
        chunk.sent.id: embedded_text(chunk.sent.row.title, chunk.sent.row.text)
        for chunk in new
        if chunk.sent.row.live
        and _chosen(app, chunk.sent.row.kind, chunk.sent.row.type, chunk.sent.row.metadata)
    }
    return _embedded(app, embedder, texts, dim)


def _older(
    app: App,
    server: link.Link,
    embedder: Embedder,
    identity: Identity,
    model: str,
    dim: int,
    dropped: set[int],
) -> dict[int, str]:
    """Vectors for what is there already but was embedded by another model, or not at all."""
    import json

    found = server.ask(lambda c: writer.without_vector(c, identity.key, model, dim))
    texts = {
        i: embedded_text(title, text)
        for i, title, text, kind, type_, values in found
        if i not in dropped and _chosen(app, kind, type_, json.dumps(values))
    }
    return _embedded(app, embedder, texts, dim)


def _chosen(app: App, kind: str, type_: str, metadata: str) -> bool:
    """Whether a live chunk is to be embedded (`vectors.Chosen` says it in SQL)."""
    import json

    values = json.loads(metadata)
    if values.get("embed") is not None:
        return bool(values["embed"])
    chosen = app.chosen
    fits = (not chosen.kinds or kind in chosen.kinds) and (not chosen.types or type_ in chosen.types)
    return fits and float(values.get("importance") or 0) >= chosen.importance


def _embedded(app: App, embedder: Embedder, texts: Mapping[int, str], dim: int) -> dict[int, str]:
    """The vectors of texts, as the server reads them. What the local index has paid for is taken from there."""
    if not texts:
        return {}
    import numpy as np

    hashes = {i: content_hash(text) for i, text in texts.items()}
    paid = app.index.vectors._cached(embedder, sorted(set(hashes.values())))
    known = {h: np.frombuffer(data, "<f4") for h, data in paid.items()}
    new = {h: texts[i] for i, h in hashes.items() if h not in known}
    if new:
        known |= dict(zip(new, embedder.embed(list(new.values())), strict=True))
    odd = {len(own) for own in known.values()} - {dim}
    if odd:
        what = f"{embedder.provider} gave vectors of {odd.pop()} dimensions instead of {dim}"
        raise ProviderError(what, "has the model changed behind its name?")
    written = {h: literal(vector.quantise(known[h].tolist())) for h in set(hashes.values())}
    return {i: written[h] for i, h in hashes.items()}


def literal(quantised: bytes) -> str:
    """A vector of whole numbers in the text form of pgvector."""
    return f"[{','.join(map(str, memoryview(quantised).cast('b')))}]"

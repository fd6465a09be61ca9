"""The index: whether it is usable and up to date, and has the embedder's vectors."""

import os
from collections.abc import Iterator
from contextlib import closing

from memcli.diagnostics.scene import (
    Check,
    IndexState,
    Scene,
    failure,
    passed,
    remark,
    warning,
)
from memcli.errors import MemError
from memcli.index.database import Index
from memcli.memory.words import count
from memcli.providers.embed import Embedder, name_of
from memcli.providers.embed.wire import shown

ASKED_FOR = 3.0  # seconds that an embedder has to answer
NAMED = 5  # files that changed
BY_RECALL = "mem index (recall does it, too)"


def check_index(scene: Scene) -> Iterator[Check]:
    """Whether the index can be used and is up to date."""
    state = scene.index
    path = str(state.path)
    if not state.there:
        hint = "mem index" if scene.app.project.listing.files else ""
        yield remark("index", "no index yet: the first recall builds it", hint=hint)
    elif state.broken:
        yield _broken(state)
    elif state.busy:
        detail = "the index is locked by another process"
        yield warning("index", detail, hint="run mem doctor again later", path=path)
    elif state.behind:
        names = ", ".join(state.behind[:NAMED])
        if len(state.behind) > NAMED:
            names += " …"
        changed = f"{count(len(state.behind), 'file')} changed since it was built"
        yield warning("index", f"{changed}: {names}", hint=BY_RECALL, path=path)
    else:
        yield passed("index", "up to date", path=path)


def _broken(state: IndexState) -> Check:
    detail = f"the index cannot be used: {state.broken}"
    folder = state.path.parent
    path = str(state.path)
    if os.access(folder, os.W_OK):
        return warning("index", detail, hint="mem doctor --fix", path=path)
    hint = f"make {folder} writable, or name another file with MEM_DB"
    return failure("index", detail, hint=hint, path=path)


def _vectors(scene: Scene, name: str) -> Iterator[Check]:
    app = scene.app
    state = scene.index
    is_usable = state.there and not state.broken and not state.busy
    if not is_usable or not app.project.listing.files:
        return
    path = str(state.path)
    with closing(Index(state.path, [], look=True)) as index:
        made_by = index.vectors.state()
        embedded, should = index.vectors.count(app.chosen)
    if made_by is not None and made_by.name != name:
        detail = f"the vectors in the index are from another model ({made_by.name})"
        yield failure("vectors", detail, hint="mem index makes them again", path=path)
    elif embedded == should:
        yield passed("vectors", f"all of {count(should, 'chunk')}")
    else:
        detail = f"{should - embedded} of {should} chunks have no vector"
        if app.embeds_here:
            yield remark("vectors", detail, hint=BY_RECALL, path=path)
        else:
            yield warning("vectors", detail, hint="mem index", path=path)


def check_embedder(scene: Scene) -> Iterator[Check]:
    """Which embedder is used, whether it answers, and whether the index has its
    vectors."""
    embedder = scene.app.providers.embedder
    config = scene.app.project.config
    if embedder is None:
        yield remark(
            "embedder", "switched off (embedder = none): only words are searched"
        )
    else:
        yield _answers(embedder, config.embed_url)
        yield from _vectors(scene, name_of(embedder))


def _answers(embedder: Embedder, url: str) -> Check:
    from memcli.providers.embed.local import Local

    embedder_name = name_of(embedder)
    if url and shown(url) not in embedder_name:
        embedder_name += f" at {shown(url)}"
    try:
        if isinstance(embedder, Local):
            embedder.check()
        else:
            embedder.embed(["mem"], query=True, deadline=ASKED_FOR)
    except MemError as error:
        return failure(
            "embedder",
            f"{embedder_name} does not answer: {error.what}",
            hint=error.hint,
        )
    return passed("embedder", embedder_name)

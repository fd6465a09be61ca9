"""The vector lane of a search over the shared index, cosines by the server."""

from array import array
from collections.abc import Callable, Collection
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, cast

from memcli.errors import ProviderError, UsageError
from memcli.index.database import IN_MEMORY, Index
from memcli.index.embedding import learn
from memcli.index.lexical import Query
from memcli.index.vectors import Near, embedded_text, is_content
from memcli.index.view import Lane, Signals, words_alone
from memcli.memory.words import word_forms
from memcli.postgres.store import SharedIndex
from memcli.project.config import Config
from memcli.recall import vector_lane
from memcli.recall.vector_lane import Scores

if TYPE_CHECKING:
    from memcli.index.view import VectorLane
    from memcli.providers.embed import Embedder
    from memcli.providers.embed.local import Local


def lane(
    index: SharedIndex,
    config: Config,
    embedder: "Callable[[], Embedder | None]",
    notes: list[str],
) -> "VectorLane":
    """The vector lane of searches over `index`; a note says why words alone are
    searched, if so."""

    def look(task: str, asked: Query, lexical: Scores) -> Lane | None:
        try:
            made = embedder() if config.fusion != "bm25" else None
            if made is None:
                return None
            floor = vector_lane.floor(config.min_cosine, made.provider, index.total)
            found = _signals(index, made, task, asked, lexical, floor / 2)
        except (ProviderError, UsageError) as error:
            if index.link.failed:
                raise
            notes.append(words_alone(error))
            return None
        return Lane(vector_lane.fusion(config.fusion, made.provider), floor, found)

    return look


def _require(index: SharedIndex, model: str, dim: int = 0) -> None:
    have = index.models()
    if not have:
        raise UsageError("the shared index has no vectors", "")
    dims = {d for name, d in have if name == model}
    if not dims:
        raise UsageError(
            f"its vectors are of {', '.join(sorted({name for name, _ in have}))}", ""
        )
    if dim and dim not in dims:
        what = f"its vectors of {model} have {min(dims)} dimensions, here {dim}"
        raise UsageError(what, f"set embed_dimensions = {min(dims)}")


class _SharedWords(NamedTuple):
    shared: SharedIndex
    embedder: "Embedder"

    def dimension(self) -> int:
        return 0

    def words(self, words: Collection[str]) -> dict[str, tuple[int, int, bytes]]:
        asked = sorted(words)
        counts = self.shared.counts([word.lower() for word in asked])
        there = [word for word, n in zip(asked, counts, strict=True) if n]
        found = cast("Local", self.embedder).words(there)
        return {word: (0, own.weight, own.vector) for word, own in found.items()}


def _signals(
    index: SharedIndex,
    embedder: "Embedder",
    task: str,
    asked: Query,
    lexical: Scores,
    floor: float,
) -> Signals:
    model = f"{embedder.provider}/{embedder.model}"
    _require(index, model)
    words = _SharedWords(index, embedder)
    meaning = vector_lane.understand(words, index.idf, embedder, task, asked)
    if not meaning.vector:
        return Signals(lexical, {})
    near = f"[{','.join(map(str, memoryview(meaning.vector).cast('b')))}]"
    dim = len(meaning.vector)
    _require(index, model, dim)
    close = index.nearest(near, model, dim, vector_lane.NEAREST)
    cosine = index.cosines({*lexical, *close}, near, model, dim)
    cosine = {i: value for i, value in cosine.items() if i in lexical or value >= floor}
    if embedder.provider != "local":
        return Signals(lexical, cosine)
    forms = {
        c.rowid: [
            w
            for w in dict.fromkeys(word_forms(embedded_text(c.title, c.text)))
            if is_content(w)
        ]
        for c in index.candidates(list(cosine))
    }
    distinct = {word for own in forms.values() for word in own}
    with closing(Index(IN_MEMORY, [])) as met:
        learn(met.vectors, cast("Local", embedder), distinct)
        ids = {word: row[0] for word, row in met.vectors.words(distinct).items()}
        by_id = {
            i: Near(b"", array("I", [ids[word] for word in own]))
            for i, own in forms.items()
        }
        return Signals(
            lexical, cosine, *vector_lane.by_words(met.vectors, meaning, by_id)
        )

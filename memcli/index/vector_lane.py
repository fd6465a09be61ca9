"""The vector lane of a search: what a task means, compared with what the index holds.

The local embedder loads nothing heavy; to a provider the task alone is sent, within a
deadline."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import mul
from typing import TYPE_CHECKING, TypeVar, cast

from memcli.errors import ProviderError, UsageError
from memcli.index import weights
from memcli.index.fulltext import Passing
from memcli.index.lexical import Query
from memcli.index.vectors import Damaged, Near, Vectors, is_content
from memcli.index.view import Lane, Signals
from memcli.memory import arithmetic as vector
from memcli.memory.words import low_forms
from memcli.named import NamedTuple

if TYPE_CHECKING:
    from memcli.index.database import Index
    from memcli.project.config import Config
    from memcli.providers.embed import Embedder
    from memcli.providers.embed.local import Local

K = TypeVar("K")
W = TypeVar("W")
NEAREST = 300  # how many chunks the vector lane brings in
MOST_WORDS = 64
# how many words of the candidates are compared exactly with each word of the task
ALIKE = 60
# sign bits of 256 in which two words may differ and still be alike (cosine about 0.2)
MAYBE = 112
# seconds that damaged vectors may take to be forgotten while another process writes
WAIT = 0.2
DEADLINE = 3.0  # seconds that a provider has for the vector of a task


class Word(NamedTuple):
    """A word of the task, how much it weighs, and its vector."""

    text: str
    idf: float
    weight: int
    vector: bytes


class Task(NamedTuple):
    """A task as vectors; `words` are its content words (local embedder alone)."""

    vector: bytes
    words: tuple[Word, ...] = ()


Pairs = Sequence[tuple[float, float]]
Nearness = Callable[[str, Mapping[str, float], Sequence[str]], Pairs]
"""How near each text is to a task, whose words are so rare: as a whole, and word by
word."""
Idf = Callable[[Sequence[str]], list[float]]
Scores = Mapping[int, float]
Asked = tuple[
    str, Query, Scores, Passing
]  # the task, its words, their BM25, what passes


def understand(
    known: Vectors, idf: Idf, embedder: Embedder, task: str, asked: Query
) -> Task:
    """The vectors of a task. Raises ProviderError, UsageError and Damaged."""
    if embedder.provider == "local":
        return _understand_words(known, idf, embedder, task, asked)  # type: ignore[arg-type]
    row = embedder.embed([task], query=True, deadline=DEADLINE)[0].tolist()
    if (have := known.dimension()) and len(row) != have:
        got = f"a vector of dimension {len(row)}, the index has {have}"
        hint = "has the model changed behind its name?"
        raise ProviderError(f"{embedder.provider} embeddings: {got}", hint)
    return Task(vector.quantise(row))


def _understand_words(
    vocabulary: Vectors, idf: Idf, local: Local, task: str, asked: Query
) -> Task:
    written = low_forms(task[: 100 * MOST_WORDS])
    content = _content(written, asked)
    stops = {word for word in written if not is_content(word)}
    known = _vectors(vocabulary, local, [*content, *stops])
    distinct = [word for word in content if word in known]
    rarity = dict.fromkeys(stops & known.keys(), 1.0)
    rarity.update(zip(distinct, idf(distinct), strict=True))
    words = {
        word: Word(
            text=word, idf=rarity_of, weight=known[word][0], vector=known[word][1]
        )
        for word, rarity_of in rarity.items()
    }
    spoken = [words[word] for word in written if word in words]
    if not spoken:
        return Task(b"")
    total = vector.weighted_sum(
        (spoken_word.idf * spoken_word.weight, spoken_word.vector)
        for spoken_word in spoken
    )
    asked_for = distinct or sorted(words)
    return Task(vector.quantise(total), tuple(map(words.__getitem__, asked_for)))


def _content(written: Sequence[str], asked: Query) -> list[str]:
    """The words of a task that are no stop words; of too many those that are asked."""
    distinct = list(dict.fromkeys(word for word in written if is_content(word)))
    if len(distinct) <= MOST_WORDS:
        return distinct
    return [word for word in distinct if word in asked.terms][:MOST_WORDS]


def _vectors(
    vocabulary: Vectors, local: Local, words: Sequence[str]
) -> dict[str, tuple[int, bytes]]:
    """(weight, vector) of the words that the store or the table has."""
    stored = vocabulary.words(words).items()
    known = {word: (weight, data) for word, (_, weight, data) in stored}
    if unknown := [word for word in words if word not in known]:
        made = local.words(unknown, crumbs=False).items()
        known |= {
            word: (made_word.weight, made_word.vector) for word, made_word in made
        }
    return known


def by_words(
    lexicon: Vectors, task: Task, near: Mapping[int, Near]
) -> dict[int, float]:
    """How well each word of the task is met by every candidate."""
    alike = _alike(
        lexicon,
        task.words,
        sorted({word_id for chunk in near.values() for word_id in chunk.words}),
    )
    words = {rowid: chunk.words for rowid, chunk in near.items()}
    return met(alike, [word.idf for word in task.words], words)


def met(
    alike: Sequence[Mapping[W, float]],
    idf: Sequence[float],
    words: Mapping[K, Iterable[W]],
) -> dict[K, float]:
    """How well the words of a task are met in each text: the mean, by idf, of the best
    likenesses; the "maxsim" of late interaction (Khattab and Zaharia 2020). `alike[i]`
    maps words, or ids of them, to their likeness (0 to 1) with word i of the task;
    `words` are those of each text."""
    total = sum(idf) or 1.0
    likenesses = _by_word(alike)
    scores = {}
    for key, word_ids in words.items():
        best = [0.0] * len(alike)
        for number, value in chain.from_iterable(
            map(likenesses.__getitem__, filter(likenesses.__contains__, word_ids))
        ):
            best[number] = max(best[number], value)
        scores[key] = sum(map(mul, idf, best)) / total
    return scores


def nearness(
    local: Local, task: str, rarity: Mapping[str, float], texts: Sequence[str]
) -> list[tuple[float, float]]:
    """How near the meaning of each text is to that of a task: the cosine of both, and
    how well each content word of the task is met by one of the text; one whose
    `rarity` is not known is the rarest."""
    asked, *forms = map(low_forms, (task, *texts))
    known = local.words({*asked, *chain.from_iterable(forms)})
    numbers = {
        word: vector.lanes(word_vector.weight, word_vector.vector)
        for word, word_vector in known.items()
    }
    sums = (sum(map(numbers.__getitem__, words)) for words in (asked, *forms))
    whole, *rows = (vector.unlaned(total)[1] for total in sums)
    cosine = vector.cosines(whole, dict(enumerate(rows)))

    vectors = {
        word: word_vector.vector
        for word, word_vector in known.items()
        if is_content(word)
    }
    sought = list(filter(vectors.__contains__, dict.fromkeys(asked)))[:MOST_WORDS]
    each = vector.cosines_of_each(map(vectors.__getitem__, sought), vectors)
    alike = [
        {word: value for word, value in cosines.items() if value >= weights.LIKENESS}
        for cosines in each
    ]
    rarest = max(rarity.values(), default=1.0)
    rarities = [rarity.get(word, rarest) for word in sought]
    words_met = met(alike, rarities, dict(enumerate(forms)))
    return [(cosine[at], words_met[at]) for at in cosine]


def nearness_by(embedder: Embedder | None) -> Nearness | None:
    """`nearness` by the vectors of this machine; None where they are not used."""
    if embedder is None or embedder.provider != "local":
        return None
    return partial(nearness, cast("Local", embedder))


def _by_word(
    alike: Sequence[Mapping[W, float]],
) -> dict[W, list[tuple[int, float]]]:
    by_word = defaultdict(list)
    for number, likenesses in enumerate(alike):
        for word_id, value in likenesses.items():
            by_word[word_id].append((number, value))
    return by_word


def _alike(
    lexicon: Vectors, words: Sequence[Word], present: Sequence[int]
) -> list[dict[int, float]]:
    """For each word of a task, the likeness of the `present` words that are near."""
    bits = list(zip(present, lexicon.word_bits(present), strict=True))
    close = [_near_in_bits(word, bits) for word in words]
    written = lexicon.words({word.text for word in words})
    data = lexicon.word_vectors(set().union(*close))
    alike_words = []
    for word, numbers in zip(words, close, strict=True):
        cosines = vector.cosines(
            word.vector, {word_id: data[word_id] for word_id in numbers}
        )
        alike = {
            word_id: value
            for word_id, value in cosines.items()
            if value >= weights.LIKENESS
        }
        if word.text in written:
            alike[written[word.text][0]] = 1.0
        alike_words.append(alike)
    return alike_words


def _near_in_bits(word: Word, bits: Sequence[tuple[int, int]]) -> list[int]:
    """The words whose sign bits differ least from those of a word."""
    task_bits = int.from_bytes(vector.signs(word.vector))
    distances = {
        word_id: distance
        for word_id, word_bits in bits
        if (distance := (word_bits ^ task_bits).bit_count()) <= MAYBE
    }
    return vector.nearest(distances, ALIKE)


def meanings(
    index: Index, embedder: Embedder, words: Sequence[str]
) -> dict[str, tuple[str, float]]:
    """For each of these words the one of memory that means most nearly the same, in
    whatever language, and their cosine, from `SAID` on. Raises Damaged."""
    if embedder.provider != "local":
        return {}
    made = cast("Local", embedder).words(words, crumbs=False)
    ids = index.vectors.word_ids()
    bits = list(zip(ids, index.vectors.word_bits(ids), strict=True))
    nearest = {}
    for word, own in made.items():
        asked = Word(text=word, idf=0.0, weight=own.weight, vector=own.vector)
        numbers = _near_in_bits(asked, bits)
        cosines = vector.cosines(own.vector, index.vectors.word_vectors(numbers))
        best = max(cosines, key=cosines.__getitem__, default=0)
        if cosines.get(best, 0.0) >= weights.SAID:
            nearest[word] = best, cosines[best]
    names = index.vectors.written({best for best, _ in nearest.values()})
    return {
        word: (names[best], cosine)
        for word, (best, cosine) in nearest.items()
        if best in names
    }


def look(index: Index, config: Config, embedder: Embedder, asked: Asked) -> Lane:
    """What the vectors of this machine's index say of the chunks that pass. Raises
    UsageError."""
    task, words, lexical, passing = asked
    try:
        state = index.vectors.state()
        if state is None or state[:2] != (embedder.provider, embedder.model):
            have = f"are of {state.name}" if state else "are missing"
            raise UsageError(f"the vectors {have}", "mem index makes them")
        least = floor(config.min_cosine, index.words.size())
        meaning = understand(index.vectors, index.words.idf, embedder, task, words)
        signals = lane(index, embedder, meaning, lexical, least / 2, passing)
    except Damaged:
        index.vectors.discard(wait=WAIT)
        raise UsageError(
            "the vectors are damaged", "mem index makes them again"
        ) from None
    return Lane(fusion(config.fusion, embedder.provider), least, signals)


def lane(
    index: Index,
    embedder: Embedder,
    task: Task,
    lexical: Scores,
    floor: float,
    passing: Passing,
) -> Signals:
    """The signals of lexical candidates, and of what has a cosine of `floor`. Raises
    Damaged."""
    if not task.vector:
        return Signals(lexical, {})
    close = index.vectors.nearest(
        task.vector, NEAREST, allowed=passing.allowed, denied=passing.denied
    )
    loaded = index.vectors.load({*lexical, *close}, len(task.vector))
    cosine = vector.cosines(
        task.vector, {rowid: chunk.vector for rowid, chunk in loaded.items()}
    )
    loaded = {
        rowid: chunk
        for rowid, chunk in loaded.items()
        if rowid in lexical or cosine[rowid] >= floor
    }
    cosine = {rowid: cosine[rowid] for rowid in loaded}
    if embedder.provider != "local":
        return Signals(lexical, cosine)
    return Signals(lexical, cosine, by_words(index.vectors, task, loaded))


def floor(min_cosine: float, size: int) -> float:
    """The cosine from which one of `size` texts is near by its vector alone."""
    if min_cosine >= 0:
        return min_cosine
    return weights.NEAR + weights.NEAR_STEP * math.log2(
        max(size / weights.NEAR_FROM, 1)
    )


def fusion(name: str, provider: str) -> str:
    """The fusion in effect: `auto` blends static word vectors and is linear with a
    model's."""
    return name if name != "auto" else "blend" if provider == "local" else "linear"

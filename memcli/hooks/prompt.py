"""What is told with a prompt: what was learned that bears on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memcli.app import App
from memcli.commands.recall import recall
from memcli.hooks import relevance
from memcli.hooks.calls import HookCall, Told
from memcli.hooks.hook_app import HookApp, Note, remember, title_of
from memcli.index import terms as query
from memcli.recall import budget
from memcli.recall.answer import RecallRequest
from memcli.recall.budget import Pools, Shown
from memcli.recall.present import Hit
from memcli.storage.session_log import SessionLog, Turns
from memcli.storage.state import State

PROMPT_TOKENS = 200
PROMPT_HITS = 3
LONG = 8_000
END = 4_000
"""Of a prompt of more than `LONG` characters so many at each end decide: the rest is pasted."""
NUDGE_AFTER = 60
NUDGE = (
    f"(mem: {NUDGE_AFTER} prompts and nothing was remembered. What is worth keeping"
    ' can be kept: mem add "what was learned")'
)
NEAR = 0.6
"""The cosine from which an entry is told by its vector alone."""


def prompt(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on a prompt, each entry once in a session; now and then a nudge."""
    text = shortened(call.prompt)
    if call.agent or not text.strip() or not app.is_ready():
        return Told()
    log, session = SessionLog(state), call.session
    seen = log.shown(session)
    hits = [hit for hit in app.guarded(lambda: _worthy(app, text)) if _is_new(hit, seen)]
    limit = min(PROMPT_TOKENS, app.limit or PROMPT_TOKENS)
    made = budget.compose(Pools(ranked=list(map(_as_shown, hits))), limit=limit, most=PROMPT_HITS)
    turns, nudge = _counted(log.turns(session), _newest(app))
    day = app.project.now.isoformat()
    with state.transaction():
        seen = log.shown(session)  # another process may have shown some meanwhile
        items = tuple(item for item in made.items if item.key not in seen)
        notes = [Note(item.key, title_of(item.head), "your prompt", item.also) for item in items]
        remember(log, session, "prompt", notes, day)
        log.remember_turns(session, turns, day)
    block = budget.write(items, 0) if items else ""
    told = "\n".join(filter(None, (block, NUDGE if nudge else "")))
    return Told(told, tuple(note.title for note in notes))


def shortened(text: str) -> str:
    """A prompt without the middle of what was pasted into it."""
    return text if len(text) <= LONG else f"{text[:END]}\n{text[-END:]}"


def _is_new(hit: Hit, seen: set[str]) -> bool:
    return hit.id is not None and seen.isdisjoint((hit.id, *hit.duplicates))


def _as_shown(hit: Hit) -> Shown:
    return Shown(str(hit.id), "ranked", hit.head, hit.text, hit.type, also=hit.duplicates)


def _worthy(app: HookApp, text: str) -> list[Hit]:
    """The hits for a prompt, each of which meets enough of it by itself."""
    index, least = app.index, app.project.config.inject_min
    terms = relevance.content(query.build(text, index.words.counts).terms)
    counts = index.words.counts(terms)
    rarest, *rarity = index.words.rarities([1, *counts])
    met = [idf for idf, n in zip(rarity, counts, strict=True) if n]
    if not met or not (relevance.is_evident(met, rarest) or app.providers.embedder):
        return []  # most prompts are about nothing that is known: that is found out before ranking
    hits = recall(app, RecallRequest(text, ranked_only=True, refresh=False)).hits
    covers = _covers(app, hits, terms, rarity, rarest)
    return [
        hit
        for hit in hits
        if _is_near(hit)
        or (hit.id in covers and covers[hit.id].evident and covers[hit.id].share >= least)
    ]


def _covers(
    app: HookApp, hits: Iterable[Hit], terms: Sequence[str], rarity: Sequence[float], rarest: float
) -> dict[str, relevance.Cover]:
    """The cover of each hit that has one: that of the chunk that covers most."""
    entries = dict(app.index.entries.chunks_of(hit.id for hit in hits if hit.id))
    best: dict[str, relevance.Cover] = {}
    for rowid, numbers in app.index.words.standing(terms, entries).items():
        cover = relevance.cover(rarity, numbers, rarest)
        best[entries[rowid]] = max(cover, best.get(entries[rowid], cover))
    return best


def _is_near(hit: Hit) -> bool:
    """Whether a hit is so near by its vector that words in common are not asked for."""
    cosine = (hit.factors or {}).get("vector")
    return cosine is not None and cosine >= NEAR


def _newest(app: App) -> int:
    return max((file.mtime for file in app.project.listing.files), default=0)


def _counted(turns: Turns, newest: int) -> tuple[Turns, bool]:
    """The turns with this one, and whether it is time for the nudge: once in a session."""
    count = 1 if newest != turns.newest else turns.prompts + 1
    nudge = count >= NUDGE_AFTER and not turns.nudged
    return Turns(count, newest, turns.nudged or nudge), nudge

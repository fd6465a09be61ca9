"""What is told when a session or a sub-agent starts, and with a prompt."""

import datetime
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from memcli.history import record_of
from memcli.hooks.calls import HookApp, HookCall, Told, has_memory
from memcli.index import view
from memcli.index.view import Candidate, Filters
from memcli.named import NamedTuple
from memcli.project.context import own_tokens
from memcli.project.git import own_files
from memcli.recall import budget
from memcli.recall.answer import Layers, Own, RecallRequest, told
from memcli.recall.budget import Pools, Shown
from memcli.storage.files import open_file
from memcli.storage.state import Inbox, SessionLog, State, Turns
from memcli.text.controls import for_prompt

if TYPE_CHECKING:
    from memcli.history.docs import DocPlace
    from memcli.recall.history_layer import HistoryLayer

START_TOKENS = 1500
AGENT_TOKENS = 300
PROXY_TOKENS = 200
RECENT_DAYS = 14
MOST_RECENT = 100
TOP = 60  # how many of the most important lessons are weighed exactly
LESSONS = 12
# of what was told before a compaction, so many are told again beside the standing block
AGAIN = 5
# of the newest prose so many titles are told, in so many tokens
UNITS = 5
UNIT_TOKENS = 150
NEWEST = 200  # so many of the newest entries and sections are looked through for them
KEPT_DAYS = 60  # days for which it is remembered what a session was told
EMPTIED = ("compact", "clear")  # after these the agent has lost all that it was told
KEPT = ("resume", "fork")  # after these it still has it
MARK = b"<recalled-memory>"
# bytes of a transcript's beginning in which an earlier block is looked for
SCANNED = 4_000_000
PROMPT_TOKENS = 200  # what the hits may take; the lines around them come to it
PROMPT_HITS = 3
HISTORY_TOKENS = 150
LEAST_EXCERPT = 60
CLEAR = 0.45
# history is told from this strength on, and when so many words of the prompt are met
MET = 3
LONG = 8_000
END = 4_000
"""Of a prompt of more than `LONG` characters so many at each end decide: the rest is
pasted."""
# what is pasted is full of them, and each is looked up
_NUMBER = r"(?<!\w)\d[\d:.,T+-]*(?!\w)"
PROPOSAL_DAYS = 30  # for which a proposal waits
PROPOSAL_LINES = 2
PROPOSED = (
    '(mem: said last time, not kept: "{title}". Ask the person; on a yes'
    " mem keep {id}, on a no mem drop {id})"
)
NUDGE_AFTER = 60
NUDGE = (
    f"(mem: {NUDGE_AFTER} prompts and nothing was remembered. What is worth keeping"
    ' can be kept: mem add "what was learned")'
)


def session_start(app: HookApp, state: State, call: HookCall) -> Told:
    """Norms, policies, recent corrections, the person's manner, episodes: once in a
    session; after a compaction again, with the strongest of what was told since."""
    log = SessionLog(state)
    emptied = call.source in EMPTIED
    if call.agent or _is_told(log, call) or not app.is_ready():
        return Told()
    before = log.shown(call.session) if emptied else set()
    made = app.guarded(lambda: _standing(app, before, app.loaded(call)))
    with state.transaction():
        if _is_told(log, call):  # by another process meanwhile
            return Told()
        if emptied:
            log.forget_context(call.session)
        told = _remembered(app, log, call, made)
        log.forget_sessions(
            (app.project.now - datetime.timedelta(days=KEPT_DAYS)).isoformat()
        )
        lines = [told.text, *_proposed(app, state, call)]
        text = "\n".join(filter(None, lines))
        return told._replace(text=text, news=tuple(log.take_news()))


def _proposed(app: HookApp, state: State, call: HookCall) -> Iterator[str]:
    """A line for each of the newest proposals that no other session was told of."""
    first = app.project.now - datetime.timedelta(days=PROPOSAL_DAYS)
    inbox = Inbox(state)
    found = inbox.untold(call.session, first.isoformat(), PROPOSAL_LINES)
    inbox.name([row.id for row in found], call.session)
    for row in found:
        title = for_prompt(str(json.loads(row.text)["title"]))
        yield PROPOSED.format(title=title, id=row.id[:8])


def subagent_start(app: HookApp, state: State, call: HookCall) -> Told:
    """The standing rules, once for each sub-agent."""
    log = SessionLog(state)
    if log.started(call.context) is not None or not app.is_ready():
        return Told()
    made = app.guarded(lambda: _standing(app, None, set()))
    with state.transaction():
        return _remembered(app, log, call, made)


def _remembered(
    app: HookApp, log: SessionLog, call: HookCall, made: budget.Block
) -> Told:
    row = call.context, call.source, call.size, app.project.now.isoformat()
    log.note("starts", [row], "OR REPLACE")
    event = "subagent-start" if call.agent else "session-start"
    why = f"session {'subagent' if call.agent else call.source or 'start'}"
    titles = _remember(app, log, (call.context, event, why), made.items)
    text = budget.write(made.items, made.budget.more if not call.agent else 0)
    return Told(text if made.items else "", titles)


def _remember(
    app: HookApp, log: SessionLog, told: tuple[str, str, str], items: Iterable[Shown]
) -> tuple[str, ...]:
    own = [item for item in items if item.layer not in ("institutional", "units")]
    titles = {item.key: item.head.partition(budget.BETWEEN)[0] for item in own}
    app.remember(log, told, titles, [key for item in own for key in item.also])
    return tuple(titles.values())


def _is_told(log: SessionLog, call: HookCall) -> bool:
    """Whether the agent still has what a start tells: this is a repetition, or it was
    resumed."""
    if call.source in KEPT:
        if log.started(call.session) is not None:
            return True
        with suppress(OSError), open_file(call.transcript) as file:
            return MARK in file.read(SCANNED)
        return False
    size = log.started(call.session, call.source)
    if size is None:
        return False
    # Without a transcript a second compaction looks like the first told twice: it is
    # told again.
    return call.size <= size and not (call.source in EMPTIED and call.size == 0)


def _standing(app: HookApp, before: set[str] | None, loaded: set[str]) -> budget.Block:
    """The block of a start, less what the agent `loaded`; `before` None: a sub-agent's
    rules."""
    layers = _layers(app)
    whole = before is not None
    again = _entries(layers, app.index.entries.copies(before))[:AGAIN] if before else []
    baseline = layers.baseline()
    ranked = [*(_proxy(app) if whole else ()), *_lessons(app, layers, again)]
    gone = app.index.entries.gone([item.key for item in (*baseline, *ranked)])
    dead = loaded | {
        key for key, lost in gone.items() if lost.every
    }  # nothing they name is left
    pools = Pools(
        institutional=layers.institutional(),
        baseline=[item for item in baseline if item.key not in dead],
        episodes=layers.episodes() if whole else (),
        ranked=[item for item in ranked if item.key not in dead][
            : LESSONS + len(again)
        ],
    )
    units = list(_units(app, layers, loaded)) if whole else []
    pools = pools._replace(ranked=[*pools.ranked, *units])
    tokens, times = (START_TOKENS, 2) if whole else (AGENT_TOKENS, 1)
    most = LESSONS + len(again) + len(units)
    within = partial(budget.compose, limit=app.room(tokens, times), most=most)
    own_room = min(tokens, times * own_tokens(app.project))
    return budget.compose_beside(pools, layers.own(), own_room, within)


def _layers(app: HookApp, *stores: str) -> Layers:
    own = Own(
        project=app.project, memory=app.index, embedder=lambda: None, notes=app.notes
    )
    return Layers(own, RecallRequest("", Filters(store=stores)))


def _entries(layers: Layers, found: Sequence[Candidate]) -> list[str]:
    own = layers.search.nearest(found)
    score = layers.search.standing(own)
    return sorted(score, key=lambda entry: (-score[entry], entry))


def _lessons(app: HookApp, layers: Layers, again: list[str]) -> list[Shown]:
    where = view.select(layers.files, Filters(type=("corrective", "directive")))
    day = (app.project.now - datetime.timedelta(days=RECENT_DAYS)).isoformat()
    recent = _entries(layers, app.index.entries.foremost(where, MOST_RECENT, day))
    chosen = list(dict.fromkeys([*again, *recent]))
    most = LESSONS + LESSONS // 2 + len(again)
    if len(chosen) < most:
        chosen += _entries(layers, app.index.entries.foremost(where, TOP))
    return layers.showing.each("lessons", list(dict.fromkeys(chosen))[:most])


def _units(app: HookApp, layers: Layers, loaded: set[str]) -> Iterator[Shown]:
    """The newest headings of prose: title and handle alone, for the agent to ask
    for."""
    prose = dict[str, Candidate]()
    where = view.select(layers.files, Filters())
    for candidate in app.index.entries.foremost(where, NEWEST, headings=True):
        if candidate.entry not in loaded:
            prose.setdefault(candidate.title, candidate)
    near = {one.entry for one in layers.search.nearest(list(prose.values()))}
    chosen = [one.entry for one in prose.values() if one.entry in near][:UNITS]
    room = UNIT_TOKENS
    for item in (
        draft.made for draft in layers.showing.each("units", chosen, short=True)
    ):
        room -= budget.tokens(item.head) + 1
        if room >= 0:
            yield item._replace(text="", brief=None)


def _proxy(app: HookApp) -> list[Shown]:
    project = app.project
    if not project.config.hook_proxy or project.root is None:
        return []
    paths = [file.path for file in project.listing.files if file.place.store == "proxy"]
    if not paths or len(own_files(project.root, paths)) < len(paths):
        return []
    layers = _layers(app, "proxy")
    own = _entries(layers, app.index.entries.select(layers.scope))[:LESSONS]
    pools = Pools(ranked=layers.showing.each("proxy", own))
    return list(budget.compose(pools, limit=PROXY_TOKENS + budget.FRAME).items)


def prompt(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on a prompt, each entry once in a session; now and then a nudge."""
    text = call.prompt
    if len(text) > LONG:
        text = re.sub(_NUMBER, "", f"{text[:END]}\n{text[-END:]}")
    if call.agent or not text.strip() or not app.is_ready():
        return Told()
    log = SessionLog(state)
    session = call.session
    found = chosen(app, text, log.shown(session) | app.loaded(call), Past())
    with state.transaction():
        seen = log.shown(session)  # another process may have shown some meanwhile
        items = tuple(item for item in found if item.key not in seen)
        titles = _remember(app, log, (session, "prompt", "your prompt"), items)
        nudge = _nudge(app, log, session)
    return Told(
        "\n".join(filter(None, (budget.write(items, 0) if items else "", nudge))),
        titles,
    )


def _nudge(app: HookApp, log: SessionLog, session: str) -> str:
    """Count the prompt; a word, once in a session, when many passed without a
    memory."""
    turns = log.turns(session)
    newest = max(part.mtime for part in app.project.listing.files.parts)
    count = turns.prompts + 1 if newest == turns.newest else 1
    nudge = count >= NUDGE_AFTER and not turns.nudged
    after = Turns(count, newest, turns.nudged or nudge)
    log.remember_turns(session, after, app.project.now.isoformat())
    return NUDGE if nudge else ""


class Past(NamedTuple):
    """What there was at a time: entries up to a day, exchanges and commits that
    pass."""

    until: str = ""
    only: "Callable[[DocPlace], bool] | None" = None


def chosen(app: HookApp, text: str, seen: set[str], past: Past) -> list[Shown]:
    """What a prompt is told, of what a session has not seen."""
    room = app.room(PROMPT_TOKENS)
    layer = history_of(app, text, past)
    own = Own(
        project=app.project,
        memory=app.index,
        embedder=lambda: app.providers.embedder,
        notes=app.notes,
    )
    amended = layer.amended if layer else ()
    found = app.guarded(lambda: told(own, text, amended, past.until))
    fresh = [item for item in found if seen.isdisjoint((item.key, *item.also))]
    decided = _decided(layer, text, min(HISTORY_TOKENS, room), seen) if layer else None
    kept = budget.cost(decided) if layer and decided and layer.strong else 0
    limit = room - kept + budget.FRAME
    most = PROMPT_HITS - bool(kept)
    made = budget.compose(Pools(ranked=fresh), limit=limit, most=most, share=1.0)
    items = list(made.items)
    left = limit - made.budget.used if made.items else room
    if layer and decided and layer.repeats(decided, [item.text for item in items]):
        return items
    if decided and (
        kept or (len(items) < PROMPT_HITS and budget.cost(decided) <= left)
    ):
        items.append(decided)
    return items


def history_of(app: HookApp, text: str, past: Past) -> "HistoryLayer | None":
    """What was said or committed about a prompt."""
    if (path := record_of(app.project)) is None:
        return None
    from memcli.recall import history_layer

    gone = (
        app.guarded(lambda: history_layer.gone_of(app.index)) if has_memory(app) else {}
    )
    return history_layer.ask(path, text, Filters(), only=past.only, gone=gone)


def _decided(
    layer: "HistoryLayer", text: str, room: int, seen: set[str]
) -> Shown | None:
    """The best excerpt of what was said or committed, when it is clearly about a
    prompt."""
    best = layer.hits[0] if layer.hits and room >= LEAST_EXCERPT else None
    if (
        best is None
        or best.strength < CLEAR
        or (met := layer.evidence(best, text)) < MET
    ):
        return None
    item = layer.shown(best, room, short=True) if layer.gone(best.doc) is None else None
    if item is None or item.key in seen:
        return None
    # A subject alone must bear on the prompt clearly, and say more than that does.
    enough = item.text or ((layer.strong or met > MET) and layer.adds(best, text))
    return item if enough else None


TOLD = {
    "session-start": session_start,
    "subagent-start": subagent_start,
    "prompt": prompt,
}

"""What is told when a session or a sub-agent starts, and with a prompt."""

import datetime
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from memcli.history import record_of
from memcli.hooks.calls import (
    CHANGED,
    HookApp,
    HookCall,
    Told,
    has_memory,
    in_time,
    pointer_key,
)
from memcli.hooks.instructions import Instructions, once
from memcli.hooks.standing import (
    AGENT_TOKENS,
    LESSONS,
    MOST_RECENT,
    by_standing,
    is_read,
    layers_of,
    standing,
)
from memcli.index import view
from memcli.index.filters import has_guards
from memcli.index.view import Filters
from memcli.named import NamedTuple
from memcli.recall import budget
from memcli.recall.answer import Own, told
from memcli.recall.budget import POINTED, Pools, Shown
from memcli.sessions.tools import shell_line
from memcli.storage.files import open_file
from memcli.storage.inbox import Inbox
from memcli.storage.state import SessionLog, State, Turns
from memcli.text.controls import for_prompt

if TYPE_CHECKING:
    from memcli.history.docs import DocPlace
    from memcli.recall.history_layer import HistoryLayer

KEPT_DAYS = 60  # days for which it is remembered what a session was told
EMPTIED = ("compact", "clear")  # after these the agent has lost all that it was told
KEPT = ("resume", "fork")  # after these it still has it
MARK = b"<recalled-memory>"
# bytes of a transcript's beginning in which an earlier block is looked for
SCANNED = 4_000_000
PROMPT_TOKENS = 200  # what the hits may take; the lines around them come to it
PROMPT_HITS = 3
FAILURE_HITS = 2
ERROR_END = 2_000  # characters of the end of what a command that failed said
POINTERS = 2  # lines that point at what likely bears on a prompt
HISTORY_TOKENS = 150
LEAST_EXCERPT = 60
FILE = r"[\w./\\-]*\w\.[A-Za-z]\w{0,5}\b"
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
    if call.agent or not app.is_ready():
        return Told()
    if _is_told(log, call):
        return _since(app, state, call) if call.source in KEPT else Told()
    before = log.shown(call.session) if emptied else set()
    made = standing(app, before, app.loaded(call), app.instructions(log, call))

    def decided(state: State) -> Told:
        log = SessionLog(state)
        if _is_told(log, call):  # by another process meanwhile
            return Told()
        if emptied:
            log.forget_context(call.session)
        told = _remembered(app, log, call, made)
        first = app.project.now - datetime.timedelta(days=KEPT_DAYS)
        log.forget_sessions(first.isoformat())
        if app.guarded(lambda: has_guards(app.index.db)):
            from memcli.guard.stops import first_guard  # few memories have one

            log.note("news", [(line,)] if (line := first_guard(app, state)) else [])
        lines = [told.text, *_proposed(app, state, call)]
        text = "\n".join(filter(None, lines))
        return told._replace(text=text, news=tuple(log.take_news()))

    return app.settled(state, decided)


def _since(app: HookApp, state: State, call: HookCall) -> Told:
    """What is new, or has other words, since a session that goes on was told."""
    log = SessionLog(state)
    day = log.started_on(call.session)
    known = app.in_context(log, call.session)
    seen = known.told | app.loaded(call)

    def made() -> budget.Block:
        layers = layers_of(app)
        where = view.select(layers.files, Filters(type=("corrective", "directive")))
        recent = by_standing(
            layers, app.index.entries.foremost(where, MOST_RECENT, day)
        )
        copies = app.index.entries.copies(known.changed) if known.changed else []
        chosen = dict.fromkeys([*by_standing(layers, copies), *recent])
        fresh = [entry for entry in chosen if entry not in seen][:LESSONS]
        drafts = layers.showing.each("lessons", fresh)
        pools = Pools(ranked=_marked(drafts, known.changed))
        return budget.compose(pools, limit=app.room(AGENT_TOKENS))

    block = app.guarded(made) if day else None
    if block is None or not block.items:
        return Told()

    def decided(state: State) -> Told:
        told = (call.context, "session-start", f"new since, session {call.source}")
        titles = _remember(app, SessionLog(state), told, block.items)
        return Told(budget.write(block.items, 0), titles)

    return app.settled(state, decided)


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
    made = standing(app, None, set(), app.instructions(log, call))
    return app.settled(
        state, lambda state: _remembered(app, SessionLog(state), call, made)
    )


def _remembered(
    app: HookApp, log: SessionLog, call: HookCall, made: budget.Block
) -> Told:
    row = call.context, call.source, call.size, app.project.now.isoformat()
    log.note("starts", [row], "OR REPLACE")
    event = "subagent-start" if call.agent else "session-start"
    why = f"session {'subagent' if call.agent else call.source or 'start'}"
    titles = _remember(app, log, (call.context, event, why), made.items)
    items = _once(made.items)
    text = budget.write(items, made.budget.more if not call.agent else 0)
    return Told(text if made.items else "", titles)


def _remember(
    app: HookApp, log: SessionLog, told: tuple[str, str, str], items: Iterable[Shown]
) -> tuple[str, ...]:
    own = [item for item in items if item.layer not in ("institutional", "units")]
    titles = {
        item.key: item.head.removeprefix("- ").partition(budget.BETWEEN)[0]
        for item in own
    }
    pointed = {item.key for item in own if item.layer == POINTED}
    also = [key for item in own if item.layer != POINTED for key in item.also]
    app.remember(log, told, titles, also, pointed)
    return tuple(titles.values())


def _key(item: Shown) -> str:
    """The name under which it is known that an item was told, or pointed at."""
    return pointer_key(item.key) if item.layer == POINTED else item.key


def _once(items: Sequence[Shown]) -> list[Shown]:
    """Items in which no sentence stands twice, as title or as text."""
    titles = [item.head.partition(budget.BETWEEN)[0] for item in items]
    texts = once([*zip(titles, [item.text for item in items], strict=True)])
    return [
        item._replace(text=text) if item.layer != "institutional" else item
        for item, text in zip(items, texts, strict=True)
    ]


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


def prompt(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on a prompt, each entry once in a session; now and then a nudge."""
    text = call.prompt
    if len(text) > LONG:
        text = re.sub(_NUMBER, "", f"{text[:END]}\n{text[-END:]}")
    if call.agent or not text.strip() or not app.is_ready():
        return Told()
    log = SessionLog(state)
    session = call.session
    known = app.in_context(log, session)
    told = known.told | app.loaded(call)
    read = app.instructions(log, call)
    made = in_time(
        app.half,
        lambda: chosen(app, text, told, Past(), read),
        lambda: chosen(app, text, told, None, read),
    )
    found = _marked(made, known.changed)

    def decided(state: State) -> Told:
        log = SessionLog(state)
        # Another process may have shown some meanwhile.
        seen = app.in_context(log, session).told
        items = tuple(item for item in found if _key(item) not in seen)
        again = any(log.shown(session, event) for event in ("session-start", "prompt"))
        titles = _remember(app, log, (session, "prompt", "your prompt"), items)
        nudge = _nudge(app, log, session)
        block = budget.write(_once(items), 0, again=again) if items else ""
        return Told("\n".join(filter(None, (block, nudge))), titles)

    return app.settled(state, decided)


def tool_failed(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on the error of a command: how it was got over before."""
    command = shell_line(call.input).partition("\n")[0]
    if not command or not call.error or not app.is_ready():
        return Told()
    text = re.sub(_NUMBER, "", f"{command} failed: {call.error[-ERROR_END:]}")
    log = SessionLog(state)
    known = app.in_context(log, call.context)
    read = app.instructions(log, call)
    made = in_time(
        app.half,
        lambda: chosen(app, text, known.told, Past(), read),
        lambda: chosen(app, text, known.told, None, read),
    )
    found = [item for item in made if item.layer != POINTED][:FAILURE_HITS]

    def decided(state: State) -> Told:
        log = SessionLog(state)
        seen = app.in_context(log, call.context).told
        items = [item for item in found if item.key not in seen]
        program = command.partition(" ")[0]
        told = (call.context, "tool-failed", f"{program} failed")
        titles = _remember(app, log, told, items)
        return Told(budget.write(_once(items), 0) if items else "", titles)

    return app.settled(state, decided)


def _marked(items: Iterable[Shown], changed: set[str]) -> list[Shown]:
    """Items, those told in other words before marked as changed."""
    return [
        item._replace(
            head=f"{item.made.head}{CHANGED}", text=item.made.text, draft=None
        )
        if item.key in changed
        else item
        for item in items
    ]


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


def chosen(
    app: HookApp,
    text: str,
    seen: set[str],
    past: Past | None,
    read: Instructions | None = None,
) -> list[Shown]:
    """What a prompt is told, of what a session has not seen and the agent has not read;
    `past` None: in a hurry, of memory files and by words alone."""
    room = app.room(PROMPT_TOKENS)
    layer = history_of(app, text, past) if past else None
    own = Own(
        project=app.project,
        memory=app.index,
        embedder=lambda: app.providers.embedder if past else None,
        notes=app.notes,
    )
    amended = layer.amended if layer else ()
    until = past.until if past else ""
    found = app.guarded(
        lambda: app.of_one_moment(lambda: told(own, text, amended, until))
    )

    def unread(items: Sequence[Shown]) -> list[Shown]:
        fresh = [item for item in items if seen.isdisjoint((item.key, *item.also))]
        return [item for item in fresh if read is None or not is_read(read, item)]

    def pointed(item: Shown) -> bool:
        return pointer_key(item.key) in seen

    fresh = unread(found.clear)
    decided = _decided(layer, text, min(HISTORY_TOKENS, room), seen) if layer else None
    kept = budget.cost(decided) if decided else 0
    limit = room - kept + budget.FRAME
    most = PROMPT_HITS - bool(kept)
    made = budget.compose(Pools(ranked=fresh), limit=limit, most=most, share=1.0)
    items = list(made.items)
    known = [item.text for item in items]
    if layer and decided and not layer.repeats(decided, known):
        items.append(decided)
    known_keys = {item.key for item in items}
    beside = [item for item in fresh if item.key not in known_keys]
    likely = [item for item in (*beside, *unread(found.likely)) if not pointed(item)]
    return [*items, *map(budget.pointer, likely[:POINTERS])]


def history_of(app: HookApp, text: str, past: Past) -> "HistoryLayer | None":
    """What was said or committed about a prompt."""
    if (path := record_of(app.project)) is None:
        return None
    from memcli.recall import history_layer

    gone = (
        app.guarded(lambda: history_layer.gone_of(app.index)) if has_memory(app) else {}
    )
    # That a commit names the file of a prompt says little.
    text = re.sub(FILE, " ", text)
    return history_layer.ask(path, text, Filters(), only=past.only, gone=gone)


def _decided(
    layer: "HistoryLayer", text: str, room: int, seen: set[str]
) -> Shown | None:
    """The best excerpt of what was said or committed, when it is clearly about a
    prompt."""
    if not layer.strong or room < LEAST_EXCERPT:
        return None
    best = layer.hits[0]
    if best.doc.handle in seen or layer.gone(best.doc) is not None:
        return None
    item = layer.shown(best, room, short=True)
    # A subject alone must say more than the prompt does.
    return item if item.text or layer.adds(best, text) else None


TOLD = {
    "session-start": session_start,
    "subagent-start": subagent_start,
    "prompt": prompt,
    "tool-failed": tool_failed,
}

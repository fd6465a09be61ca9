"""What is told with a prompt, and of a command that failed."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memcli.history import record_of
from memcli.hooks import told
from memcli.hooks.calls import HookApp, HookCall, Told, has_memory, in_time
from memcli.hooks.instructions import Instructions
from memcli.index.view import Filters
from memcli.named import NamedTuple
from memcli.recall import answer, budget
from memcli.recall.budget import POINTED, Pools
from memcli.recall.hit import Hit
from memcli.sessions.tools import shell_line
from memcli.storage.state import SessionLog, State, Turns

if TYPE_CHECKING:
    from memcli.history.docs import DocPlace
    from memcli.recall.history_layer import HistoryLayer

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
NUDGE_AFTER = 60
NUDGE = (
    f"(mem: {NUDGE_AFTER} prompts and nothing was remembered. What is worth keeping"
    ' can be kept: mem add "what was learned")'
)


def prompt(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on a prompt, each entry once in a session; now and then a nudge."""
    text = call.prompt
    if len(text) > LONG:
        text = re.sub(_NUMBER, "", f"{text[:END]}\n{text[-END:]}")
    if call.agent or not text.strip() or not app.is_ready():
        return Told()
    items = _bearing(app, SessionLog(state), call, text, app.loaded(call))

    def write(log: SessionLog, items: list[Hit]) -> str:
        events = ("session-start", "prompt")
        again = any(log.shown(call.session, event) for event in events)
        lines = [told.block(items, again=again), _nudge(app, log, call.session)]
        return "\n".join(filter(None, lines))

    occasion = told.Occasion(call.session, "prompt", "your prompt")
    return told.tell(app, state, occasion, items, write)


def tool_failed(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on the error of a command: how it was got over before."""
    command = shell_line(call.input).partition("\n")[0]
    if not command or not call.error or not app.is_ready():
        return Told()
    text = re.sub(_NUMBER, "", f"{command} failed: {call.error[-ERROR_END:]}")
    items = _bearing(app, SessionLog(state), call, text)
    whole = [item for item in items if item.layer != POINTED][:FAILURE_HITS]
    program = command.partition(" ")[0]
    occasion = told.Occasion(call.context, "tool-failed", f"{program} failed")
    return told.tell(app, state, occasion, whole, lambda log, items: told.block(items))


def _bearing(
    app: HookApp,
    log: SessionLog,
    call: HookCall,
    text: str,
    loaded: Iterable[str] = (),
) -> list[Hit]:
    """What bears on a text, of what the context does not hold; when half of the time is
    over, of memory files and by words alone."""
    known = told.in_context(app, log, call.context)
    seen = known.told.union(loaded)
    read = app.instructions(log, call)
    items = in_time(
        app.half,
        lambda: chosen(app, text, seen, Past(), read),
        lambda: chosen(app, text, seen, None, read),
    )
    return told.marked(items, known.changed)


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
) -> list[Hit]:
    """What a prompt is told, of what a session has not seen and the agent has not read;
    `past` None: in a hurry, of memory files and by words alone."""
    room = app.room(PROMPT_TOKENS)
    layer = history_of(app, text, past) if past else None
    found = _in_memory(app, text, layer, past)
    clear = _fresh(found.clear, seen, read)
    decided = _decided(layer, text, min(HISTORY_TOKENS, room), seen) if layer else None

    # What was decided takes one place, and its tokens of the room.
    kept = budget.cost(decided) if decided else 0
    limit = room - kept + budget.FRAME
    most = PROMPT_HITS - bool(kept)
    made = budget.compose(Pools(ranked=clear), limit=limit, most=most, share=1.0)
    items = list(made.items)
    texts = [item.text for item in items]
    if layer and decided and not layer.repeats(decided, texts):
        items.append(decided)

    # What found no room is pointed at, before what is merely likely.
    shown = {item.key for item in items}
    left_out = [item for item in clear if item.key not in shown]
    likely = _fresh(found.likely, seen, read)
    return [*items, *_pointers([*left_out, *likely], seen)]


def _in_memory(
    app: HookApp, text: str, layer: "HistoryLayer | None", past: Past | None
) -> answer.Bearing:
    """What of the memory files bears on a text; by words alone without a `past`."""
    own = answer.Own(
        project=app.project,
        memory=app.index,
        embedder=lambda: app.providers.embedder if past else None,
        notes=app.notes,
    )
    amended = layer.amended if layer else ()
    until = past.until if past else ""
    return app.guarded(
        lambda: app.of_one_moment(lambda: answer.told(own, text, amended, until))
    )


def _fresh(
    items: Iterable[Hit], seen: set[str], read: Instructions | None
) -> list[Hit]:
    """The items that a session has not seen, and the agent has not read by itself."""
    unseen = [item for item in items if seen.isdisjoint((item.key, *item.duplicates))]
    if read is None:
        return unseen
    return [item for item in unseen if not told.is_read(read, item)]


def _pointers(items: Sequence[Hit], seen: set[str]) -> list[Hit]:
    """Lines that point at the first of the items at which none pointed before."""
    new = [item for item in items if told.pointer_key(item.key) not in seen]
    return [budget.pointer(item) for item in new[:POINTERS]]


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


def _decided(layer: "HistoryLayer", text: str, room: int, seen: set[str]) -> Hit | None:
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

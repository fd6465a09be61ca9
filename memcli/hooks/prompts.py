"""What is told with a prompt, and of a command that failed."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memcli.hooks import late, told
from memcli.hooks.calls import HookApp, HookCall, Told, in_time
from memcli.hooks.instructions import Instructions
from memcli.index.own import Embeds, OwnMatching
from memcli.memory.filters import Filters
from memcli.named import NamedTuple
from memcli.project.record import KeptRecord, record_of
from memcli.recall import answer, budget
from memcli.recall.budget import POINTED, Pools
from memcli.recall.hit import BETWEEN, Hit
from memcli.storage.state import SessionLog, State, Turns

if TYPE_CHECKING:
    from memcli.memory.docs import DocPlace
    from memcli.recall.history_layer import HistoryLayer

PROMPT_TOKENS = 200  # what the hits may take; the lines around them come to it
OF_SESSION = 3
"""One part in so many of what a session may still be told is kept for lines that point,
and a prompt takes at most such a part of the rest, so that less is told the longer a
session goes on."""
LEAST_TOKENS = 60  # below which nothing is told, only pointed at
PROMPT_HITS = 3
FAILURE_HITS = 2
MOST_POINTERS = 1  # lines that point at an entry instead of quoting it
ERROR_END = 2_000  # characters of the end of what a command that failed said
HISTORY_TOKENS = 150
LEAST_EXCERPT = 60
FILE = r"[\w./\\-]*\w\.[A-Za-z]\w{0,5}\b"
LONG = 8_000
END = 4_000
"""Of a prompt of more than `LONG` characters so many at each end decide: the rest is
pasted."""
# what is pasted is full of them, and each is looked up
_NUMBER = r"(?<!\w)\d[\d:.,T+-]*(?!\w)"
_LINK = r"\]\(([\w./-]+\.md)"
NUDGE_AFTER = 60
NUDGE = (
    f"(mem: {NUDGE_AFTER} prompts without a write to memory. To keep what was"
    ' learned: mem add "what was learned")'
)


def prompt(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on a prompt, each entry once in a session; now and then a nudge; first
    the start of the session where its hook gave up."""
    folder = state.path.parent
    before = late.take(folder, "prompt", call.session)
    text = "\n".join(filter(None, (before, call.prompt)))
    if len(text) > LONG:
        text = re.sub(_NUMBER, "", f"{text[:END]}\n{text[-END:]}")
    if call.agent or not text.strip() or not app.is_ready():
        return Told()
    told.take_over(state, call)
    start = None
    if source := late.take(folder, "session-start", call.session):
        from memcli.hooks import starts  # few hooks give up

        start = starts.given_up(app, state, call, source)
    items = _bearing(app, SessionLog(state), call, text, app.loaded(call))

    def write(log: SessionLog, items: list[Hit]) -> str:
        again = any(
            log.shown(call.session, event) for event in ("session-start", "prompt")
        )
        lines = [budget.write(items, 0, again=again), _nudge(app, log, call.session)]
        return "\n".join(filter(None, lines))

    def decided(state: State) -> Told:
        begun = start(state) if start else Told()
        occasion = told.Occasion(call.session, "prompt", "your prompt")
        rest = told.telling(app, SessionLog(state), occasion, items, write)
        return begun._replace(
            text="\n".join(filter(None, [begun.text, rest.text])),
            titles=(*begun.titles, *rest.titles),
        )

    return app.settled(state, decided)


def tool_failed(app: HookApp, state: State, call: HookCall) -> Told:
    """What bears on the error of a command: how it was got over before, as the history
    of the same command and memory have it."""
    from memcli.hooks.mended import mended_before  # most commands work
    from memcli.sessions.tools import shell_line

    command = shell_line(call.input).partition("\n")[0]
    if not command or not call.error or not app.is_ready():
        return Told()
    text = re.sub(_NUMBER, "", f"{command} failed: {call.error[-ERROR_END:]}")
    items = _bearing(app, SessionLog(state), call, text)
    whole = [item for item in items if item.layer != POINTED][:FAILURE_HITS]
    known = {item.key for item in whole}
    past: list[Hit] = in_time(app.almost, lambda: mended_before(app, call), list)
    whole += [item for item in past if item.key not in known]
    program = command.partition(" ")[0]
    occasion = told.Occasion(call.context, "tool-failed", f"{program} failed")
    return told.tell(
        app, state, occasion, whole, lambda log, items: budget.write(items, 0)
    )


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
    context = PromptContext(
        outdated=_outdated(app, known) if call.prompt else [],
        seen=frozenset(known.whole.union(loaded)),
        read=app.instructions(log, call),
        left=told.tokens_left(log, call.context),
        is_failure=not call.prompt,
    )
    telling = Telling(app, text, context)
    items = in_time(app.half, telling.items, telling.items_in_a_hurry)
    if telling.is_put_off and call.prompt:
        late.keep("prompt", call.session, call.prompt)
    return told.marked(items, known.changed)


def _outdated(app: HookApp, known: told.InContext) -> list[Hit]:
    """What the context holds in other words than memory has now: an agent obeys what
    it was told, whatever the prompt is about."""
    if not known.changed:
        return []
    from memcli.hooks import standing  # few prompts come after such a change

    layers = standing.layers_of(app)
    entries = app.guarded(lambda: standing.outdated(app, layers, known))
    return app.guarded(lambda: layers.showing.each("lessons", entries[:PROMPT_HITS]))


def _nudge(app: HookApp, log: SessionLog, session: str) -> str:
    """Count the prompt; a word, once in a session, when many passed without a
    memory."""
    turns = log.turns(session)
    newest = max(part.mtime for part in app.project.listing.files.parts)
    count = turns.prompts + 1 if newest == turns.newest else 1
    nudge = count >= NUDGE_AFTER and not turns.nudged
    log.remember_turns(
        session,
        Turns(count, newest, turns.nudged or nudge),
        app.project.now.isoformat(),
    )
    return NUDGE if nudge else ""


def _none() -> None:
    """Nothing: no vectors, no history."""


class Past(NamedTuple):
    """What there was at a time: entries up to a day, exchanges and commits that
    pass."""

    until: str = ""
    only: "Callable[[DocPlace], bool] | None" = None


class PromptContext(NamedTuple):
    """What bounds a telling: what the context holds that is `outdated`, what it has
    `seen`, what the agent has `read` by itself, how many tokens are `left`, and whether
    it is about a failure, for which nothing is kept: it is not pointed at."""

    outdated: Sequence[Hit] = ()
    seen: frozenset[str] = frozenset()
    read: Instructions | None = None
    left: int = told.SESSION_TOKENS
    is_failure: bool = False

    @property
    def room(self) -> int:
        """The tokens that texts may take, 0 for pointers alone."""
        kept = 0 if self.is_failure else self.left // OF_SESSION
        room = min(PROMPT_TOKENS, (self.left - kept) // OF_SESSION)
        return room if room >= LEAST_TOKENS else 0

    @property
    def can_point(self) -> bool:
        """Whether a line may point at something: one, since a later prompt's first line
        is worth more than this one's second."""
        return self.left >= budget.POINTER_FRAME + budget.POINTER_TOKENS

    def fresh(self, items: Iterable[Hit]) -> list[Hit]:
        """The items that the context has not seen, and the agent has not read."""
        unseen = [
            item for item in items if self.seen.isdisjoint((item.key, *item.duplicates))
        ]
        if self.read is None:
            return unseen
        return [item for item in unseen if not told.is_read(self.read, item)]


ALL_TIMES = Past()
EMPTY = PromptContext()
"""A context that holds nothing yet."""


class Telling:
    """What a prompt is told in a context. What was found of history is kept, in case
    the clock stops what comes after."""

    is_put_off = False
    """Whether no time was left for history: the next prompt asks it again."""

    def __init__(
        self,
        app: HookApp,
        text: str,
        context: PromptContext = EMPTY,
        past: Past = ALL_TIMES,
    ) -> None:
        self.app = app
        self.text = text
        self.context = context
        self.past = past
        self.history: HistoryLayer | None = None

    def items(self) -> list[Hit]:
        """All that bears on the prompt."""
        embedder = lambda: self.app.providers.embedder  # noqa: E731
        self.history = history_of(self.app, self.text, self.past, embedder)
        return self._chosen(embedder)

    def items_in_a_hurry(self) -> list[Hit]:
        """What bears on it by words alone; history within half of the time that is
        left."""
        if self.history is None:
            self.history = in_time(
                self.app.almost,
                lambda: history_of(self.app, self.text, self.past),
                self._put_off,
            )
        return self._chosen(_none)

    def _put_off(self) -> None:
        self.is_put_off = True

    def _chosen(self, embedder: Embeds) -> list[Hit]:
        context = self.context
        layer = self.history
        room = self.app.room(context.room) if context.room else 0
        verdicts = self._in_memory(embedder)
        bearing = [*context.outdated, *verdicts.clear]
        clear = context.fresh({item.key: item for item in bearing}.values())
        decided = _decided(layer, self.text, room, context) if layer else None

        items = _texts(clear, decided, room)
        texts = [item.text for item in items]
        if layer and decided and not layer.repeats(decided, texts):
            items.append(decided)

        # What found no room is pointed at, and what is merely likely beside no text.
        likely = clear if items else [*clear, *context.fresh(verdicts.likely)]
        pointers = _pointers(items, likely, context) if context.can_point else []
        return [*items, *pointers[:MOST_POINTERS]]

    def _in_memory(self, embedder: Embeds) -> answer.Bearing:
        """What of the memory files bears on the prompt."""
        app = self.app
        amended = self.history.amended if self.history else ()
        filters = Filters(until=self.past.until)

        def look() -> answer.Bearing:
            found = OwnMatching(app.kept, filters, embedder)
            return answer.told(found, self.text, amended)

        return app.guarded(lambda: app.of_one_moment(look))


def _texts(clear: Sequence[Hit], decided: Hit | None, room: int) -> list[Hit]:
    """Those of the memory files that are told whole: what was decided takes one place,
    and its tokens of the room."""
    kept = budget.cost(decided) if decided else 0
    limit = room - kept + budget.FRAME
    places = PROMPT_HITS - 1 if decided else PROMPT_HITS
    most = places if room else 0
    made = budget.compose(Pools(ranked=clear), limit=limit, most=most, share=1.0)
    # What is worse is not told because the best finds no room.
    is_best = any(item.key == clear[0].key for item in made.items)
    return _direct(made.items, made.items) if is_best else []


def _pointers(
    shown: Sequence[Hit], likely: Sequence[Hit], context: PromptContext
) -> list[Hit]:
    """Lines that point at the likely items at which none pointed before, and which are
    neither shown nor lines that lead to what is."""
    keys = {item.key for item in shown}
    new = [
        item.made
        for item in likely
        if item.key not in keys and told.pointer_key(item.key) not in context.seen
    ]
    pointers = (budget.pointer(item) for item in new if not _is_told(item, context))
    fresh = [item for item in pointers if not told.is_known(item, context.seen)]
    return _direct(fresh, [*shown, *new])


def _is_told(item: Hit, context: PromptContext) -> bool:
    """Whether the part of a long item was told that answers best."""
    if not item.parted or item.brief is None:
        return False
    return told.is_known(item._replace(text=item.brief(budget.BELOW)), context.seen)


def _direct(items: Iterable[Hit], others: Iterable[Hit]) -> list[Hit]:
    """The items but lines of an index that link to the file of one of the others."""
    places = [other.made.head.partition(BETWEEN)[2] for other in others]
    return [item for item in items if not _leads_on(item.text or item.head, places)]


def _leads_on(text: str, places: Iterable[str]) -> bool:
    """Whether every line of a text links to the file of one of these places."""
    known = "\n".join(places)
    files = [file for file in re.findall(_LINK, text) if f"/{file}:" in known]
    lines = filter(None, text.splitlines())
    return all(any(f"]({file}" in line for file in files) for line in lines)


def history_of(
    app: HookApp, text: str, past: Past, embedder: Embeds = _none
) -> "HistoryLayer | None":
    """What was said or committed about a prompt, in the order in which recall has
    it."""
    if (path := record_of(app.project)) is None:
        return None
    from memcli.index.past import Means, Wanted, ask_own
    from memcli.recall.history_layer import HistoryLayer

    # That a commit names the file of a prompt says little.
    text = re.sub(FILE, " ", text)
    wanted = Wanted(Filters(), only=past.only)
    means = Means(bring_up=_none, embedder=embedder)
    found = ask_own(app.kept, KeptRecord(path), text, wanted, means)
    return HistoryLayer(found, app.project.config.inject_min) if found else None


def _decided(
    layer: "HistoryLayer", text: str, room: int, context: PromptContext
) -> Hit | None:
    """The best excerpt of what was said or committed, when it is clearly about a
    prompt."""
    # Of a command that failed history knows what mended it: `mended_before`.
    if context.is_failure or not layer.strong or room < LEAST_EXCERPT:
        return None
    best = layer.hits[0]
    if best.doc.handle in context.seen or layer.gone(best.doc) is not None:
        return None
    item = layer.shown(best, min(HISTORY_TOKENS, room), short=True)
    # A subject alone must say more than the prompt does.
    return item if item.text or layer.adds(best, text) else None

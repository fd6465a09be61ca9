"""What a start tells: what stands always, what binds, what is recent, within few
tokens."""

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from memcli.hooks.calls import HookApp, in_time
from memcli.hooks.instructions import Instructions
from memcli.index import view
from memcli.index.filters import GUARD
from memcli.index.view import Candidate, Filters
from memcli.project.context import own_tokens
from memcli.project.git import own_files
from memcli.recall import budget
from memcli.recall.answer import Layers, Own, RecallRequest
from memcli.recall.budget import Pools, Shown

START_TOKENS = 600
AGAIN_TOKENS = 600
"""What a start takes, and after a compaction so much more for what is told again."""
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
EPISODES = 2  # the newest, by title and handle: none is known to bear on the task yet
FEEDBACK = re.compile(r"(?:^|/)feedback[_-][^/]*\.md$")
"""Files in which an agent keeps what a person told it: their rules."""
NEWEST = 200  # so many of the newest entries and sections are looked through for them


def standing(
    app: HookApp, before: set[str] | None, loaded: set[str], read: Instructions
) -> budget.Block:
    """The block of a start, less what the agent `loaded`, of what there is in half the
    time; `before` None: a sub-agent's rules."""
    layers = layers_of(app)
    ready = Pools()

    def gather() -> None:
        nonlocal ready
        for pools in _gathered(app, layers, before, loaded, read):
            ready = pools

    def gather_least() -> None:
        nonlocal ready
        found = _gathered(app, layers, before, loaded, read)
        ready = ready if any(ready) else next(filter(any, found), ready)

    in_time(app.half, lambda: app.guarded(gather), lambda: app.guarded(gather_least))
    whole = before is not None
    tokens, times = (START_TOKENS, 2) if whole else (AGENT_TOKENS, 1)
    if before:
        tokens += AGAIN_TOKENS
    most = LESSONS + AGAIN + 2 * UNITS
    within = partial(budget.compose, limit=app.room(tokens, times), most=most)
    own_room = min(tokens, times * own_tokens(app.project))
    return app.guarded(
        lambda: budget.compose_beside(ready, layers.own(), own_room, within)
    )


def _gathered(
    app: HookApp,
    layers: Layers,
    before: set[str] | None,
    loaded: set[str],
    read: Instructions,
) -> Iterator[Pools]:
    """What a start tells, growing: what stands always comes first."""
    recent = _recent(app)

    def alive(items: Sequence[Shown]) -> list[Shown]:
        gone = app.index.entries.gone([item.key for item in items])
        dead = {key for key, lost in gone.items() if lost.every} | loaded
        chosen = layers.search.chosen
        dead |= {key for key, one in chosen.items() if _is_doubtful(one, recent)}
        living = [item for item in items if item.key not in dead]
        return [item for item in living if not is_read(read, item)]

    norms = layers.institutional()
    path_of = app.project.path_of
    unread = [item for item in norms if not read.holds(str(path_of(item.key)))]
    pools = Pools(institutional=unread)
    yield pools
    pools = pools._replace(baseline=alive(layers.baseline()))
    yield pools
    again = (
        by_standing(layers, app.index.entries.copies(before))[:AGAIN] if before else []
    )
    most = LESSONS + len(again)
    proxy = [] if before is None else _proxy(app)
    lessons = alive([*proxy, *_lessons(app, layers, again)])[:most]
    pools = pools._replace(ranked=lessons)
    yield pools
    if before is not None:
        pools = pools._replace(episodes=list(_titles(layers.episodes()[:EPISODES])))
        yield pools
        units = _units(app, layers, loaded, read)
        yield pools._replace(ranked=[*lessons, *units])


def layers_of(app: HookApp, *stores: str) -> Layers:
    """The memory in view, of these stores, without a task."""
    own = Own(
        project=app.project, memory=app.index, embedder=lambda: None, notes=app.notes
    )
    return Layers(own, RecallRequest("", Filters(store=stores)))


def by_standing(layers: Layers, found: Sequence[Candidate]) -> list[str]:
    """The ids of the nearest copies, the weightiest first."""
    own = layers.search.nearest(found)
    score = layers.search.standing(own)
    return sorted(score, key=lambda entry: (-score[entry], entry))


def _recent(app: HookApp) -> str:
    """The first of the days that count as recent."""
    return (app.project.now - datetime.timedelta(days=RECENT_DAYS)).isoformat()


def _is_doubtful(found: Candidate, recent: str) -> bool:
    """Whether a session said it once, and nothing since: no person, no use."""
    alone = found.values.get("unconfirmed") and not found.values.get("count")
    return bool(alone) and found.date < recent


def _titles(items: Iterable[Shown]) -> Iterator[Shown]:
    """Items by title and handle alone, for the agent to ask for."""
    return (item.made._replace(text="", brief=None) for item in items)


def _lessons(app: HookApp, layers: Layers, again: list[str]) -> list[Shown]:
    """Rules that bind first, then what was told before, then what is recent."""
    all_files = view.select(layers.files, Filters())
    binding = by_standing(layers, app.index.entries.about(all_files, {(GUARD, "*")}))
    where = view.select(layers.files, Filters(type=("corrective", "directive")))
    day = _recent(app)
    recent = by_standing(layers, app.index.entries.foremost(where, MOST_RECENT, day))
    chosen = list(dict.fromkeys([*binding, *again, *recent]))
    most = LESSONS + LESSONS // 2 + len(again)
    if len(chosen) < most:
        chosen += by_standing(layers, app.index.entries.foremost(where, TOP))
    return layers.showing.each("lessons", list(dict.fromkeys(chosen))[:most])


def is_read(read: Instructions, item: Shown) -> bool:
    """Whether the agent has read what an item says in what it loads by itself."""
    if not read.texts:
        return False
    head, text = item.draft() if item.draft else (item.head, item.text)
    return read.say(head.partition(budget.BETWEEN)[0], text)


def _units(
    app: HookApp, layers: Layers, loaded: set[str], read: Instructions
) -> Iterator[Shown]:
    """What a person told an agent before, as it keeps it, and the newest headings of
    prose: title and handle alone, for the agent to ask for."""
    prose = dict[str, Candidate]()
    where = view.select(layers.files, Filters())
    for candidate in app.index.entries.foremost(where, NEWEST, headings=True):
        if candidate.entry not in loaded:
            prose.setdefault(candidate.title, candidate)
    near = {one.entry for one in layers.search.nearest(list(prose.values()))}
    own = [one for one in prose.values() if one.entry in near]
    paths = {one.entry: layers.files[one.source].path for one in own}
    path_of = app.project.path_of
    paths = {
        entry: path
        for entry, path in paths.items()
        if not read.holds(str(path_of(path)))
    }
    rules = [entry for entry, path in paths.items() if FEEDBACK.search(path)][:UNITS]
    newest = [entry for entry in paths if entry not in rules][:UNITS]
    room = UNIT_TOKENS
    for item in _titles(layers.showing.each("units", [*rules, *newest], short=True)):
        room -= budget.tokens(item.head) + 1
        if room >= 0:
            yield item


def _proxy(app: HookApp) -> list[Shown]:
    project = app.project
    if not project.config.hook_proxy or project.root is None:
        return []
    paths = [file.path for file in project.listing.files if file.place.store == "proxy"]
    if not paths or len(own_files(project.root, paths)) < len(paths):
        return []
    layers = layers_of(app, "proxy")
    own = by_standing(layers, app.index.entries.select(layers.scope))[:LESSONS]
    pools = Pools(ranked=layers.showing.each("proxy", own))
    return list(budget.compose(pools, limit=PROXY_TOKENS + budget.FRAME).items)

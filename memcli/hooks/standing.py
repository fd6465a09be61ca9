"""What a start tells: what stands always, what binds, what is recent, within few
tokens."""

import datetime
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import compress

from memcli.hooks.calls import HookApp, in_time
from memcli.hooks.instructions import Instructions
from memcli.hooks.told import InContext, is_read, title_of
from memcli.index import view
from memcli.index.occasions import GUARD, guarded
from memcli.index.own import OwnMatching
from memcli.index.view import Candidate
from memcli.memory.filters import Filters
from memcli.project.context import own_tokens
from memcli.project.git import own_files
from memcli.recall import budget
from memcli.recall.answer import Layers
from memcli.recall.budget import Pools
from memcli.recall.hit import Hit
from memcli.text.matching import verbose

START_TOKENS = 600
AGAIN_TOKENS = 600
"""What a start takes, and after a compaction so much more for what is told again."""
AGENT_TOKENS = 300
PROXY_TOKENS = 200
RECENT_DAYS = 14
MOST_RECENT = 100
TOP = 60  # how many of the most important lessons are weighed exactly
# so many lessons, and as many rules that an agent keeps in files of their own
LESSONS = 12
# of what was told before a compaction, so many are told again beside the standing block
AGAIN = 5
# of the newest prose so many titles are told, in so many tokens
UNITS = 5
UNIT_TOKENS = 150
EPISODES = 2  # the newest, by title and handle: none is known to bear on the task yet
NEWEST = 200  # so many of the newest entries and sections are looked through for them


@verbose
def _feedback() -> str:
    """The path and the beginning of a file in which an agent keeps a person's rule."""
    return r"""
        (?: .* / )? feedback [_-] [^/\n]* \.md \n                # its name says so
      | .* \n --- \n (?: .+ \n )*? [ ]* type: [ ]* feedback \n  # its front matter does
    """


@verbose(ignore_case=True)
def _of_rule() -> str:
    """The beginning of what Claude Code writes below such a rule, and of one that holds
    no more."""
    return r" \W* (?: (?: why | how\ to\ apply ) \W* : | superseded \b ) "


def standing(
    app: HookApp, before: set[str] | None, loaded: set[str], read: Instructions
) -> budget.Block:
    """The block of a start, less what the agent `loaded`, of what there is in half the
    time; `before` None: a sub-agent's rules."""
    start = _Start(app, before, loaded, read)
    in_time(
        app.half,
        lambda: app.guarded(start.gather),
        lambda: app.guarded(start.gather_least),
    )
    whole = before is not None
    tokens, times = (START_TOKENS, 2) if whole else (AGENT_TOKENS, 1)
    if before:
        tokens += AGAIN_TOKENS
    most = 2 * LESSONS + AGAIN + UNITS
    within = partial(budget.compose, limit=app.room(tokens, times), most=most)
    own_room = min(tokens, times * own_tokens(app.project))
    return app.guarded(
        lambda: budget.compose_beside(start.ready, start.layers.own(), own_room, within)
    )


class _Start:
    """What a start tells, growing: what stands always comes first."""

    def __init__(
        self,
        app: HookApp,
        before: set[str] | None,
        loaded: set[str],
        read: Instructions,
    ) -> None:
        self.app = app
        self.before = before
        self.loaded = loaded
        self.read = read
        self.layers = layers_of(app)
        self.ready = Pools()

    def gather(self) -> None:
        """Take all that there is."""
        for pools in self._steps():
            self.ready = pools

    def gather_least(self) -> None:
        """Take the first that there is, unless something was taken."""
        if not any(self.ready):
            self.ready = next(filter(any, self._steps()), self.ready)

    def _steps(self) -> Iterator[Pools]:
        pools = Pools(institutional=self._norms())
        yield pools
        pools = pools._replace(baseline=self._alive(self.layers.baseline()))
        yield pools
        lessons = self._lessons()
        pools = pools._replace(ranked=lessons)
        yield pools
        if self.before is not None:
            episodes = self.layers.episodes()[:EPISODES]
            pools = pools._replace(episodes=_titles(episodes))
            yield pools
            yield pools._replace(ranked=[*lessons, *self._units()])

    def _norms(self) -> list[Hit]:
        path_of = self.app.project.path_of
        norms = self.layers.institutional()
        return [item for item in norms if not self.read.holds(str(path_of(item.key)))]

    def _alive(self, items: Sequence[Hit]) -> list[Hit]:
        """The items that still hold, that nobody doubts, and that the agent has not
        read."""
        entries = self.app.index.entries
        gone = entries.gone([item.key for item in items])
        recent = _recent(self.app)
        chosen = self.layers.search.chosen
        dead = {key for key, lost in gone.items() if lost.every} | self.loaded
        dead |= {key for key, entry in chosen.items() if _is_doubtful(entry, recent)}
        living = [item for item in items if item.key not in dead]
        return [item for item in living if not is_read(self.read, item)]

    def _lessons(self) -> list[Hit]:
        """How the person works, rules that bind, what was told before, and what is
        recent."""
        app = self.app
        layers = self.layers
        again = []
        proxy = []
        if self.before:
            copies = app.index.entries.copies(self.before)
            again = by_standing(layers, copies)[:AGAIN]
        if self.before is not None:
            proxy = _proxy(app)
        most = LESSONS + len(again)
        return self._alive([*proxy, *_lessons(app, layers, again)])[:most]

    def _units(self) -> Iterator[Hit]:
        """What a person told an agent before, as it keeps it, and the newest dated
        headings of prose: title and handle alone, for the agent to ask for. What has no
        date is no news: it waits for a prompt about it."""
        sections = self._prose()
        beginnings = (f"{self._path(each)}\n{each.text}" for each in sections)
        is_rule = map(_feedback().match, beginnings)
        rules = [
            section.entry
            for section in compress(sections, is_rule)
            if not _of_rule().match(section.title)
        ][:LESSONS]
        yield from _lines(self.layers.showing.each("units", rules, short=True))
        dated = [each.entry for each in sections if each.date]
        newest = [entry for entry in dated if entry not in rules]
        room = UNIT_TOKENS
        for item in self._saying(newest):
            room -= budget.tokens(item.head) + 1
            if room >= 0:
                yield item

    def _saying(self, newest: list[str]) -> list[Hit]:
        """Of the newest sections those whose title says something: one that names a
        thing tells nothing alone."""
        showing = self.layers.showing
        others = _lines(showing.each("units", newest[: 4 * UNITS], short=True))
        saying = [
            item for item in others if budget.tokens(title_of(item)) >= budget.HEADING
        ]
        return saying[:UNITS]

    def _path(self, section: Candidate) -> str:
        return self.layers.found.in_view[section.source].path

    def _prose(self) -> list[Candidate]:
        """The newest sections that the agent has not read, one a title."""
        layers = self.layers
        where = view.select(layers.found.in_view, Filters())
        by_title: dict[str, Candidate] = {}
        entries = self.app.index.entries
        for section in entries.foremost(where, NEWEST, headings=True):
            if section.entry not in self.loaded:
                by_title.setdefault(section.title, section)
        near = {each.entry for each in layers.found.nearest(list(by_title.values()))}
        path_of = self.app.project.path_of
        return [
            section
            for section in by_title.values()
            if section.entry in near
            and not self.read.holds(str(path_of(self._path(section))))
        ]


def layers_of(app: HookApp, *stores: str) -> Layers:
    """The memory in view, of these stores, without a task."""
    return Layers(OwnMatching(app.kept, Filters(store=stores)))


def outdated(app: HookApp, layers: Layers, known: InContext) -> list[str]:
    """The entries that a context holds in other words than memory has now, the
    weightiest first."""
    if not known.changed:
        return []
    return by_standing(layers, app.index.entries.copies(known.changed))


def by_standing(layers: Layers, found: Sequence[Candidate]) -> list[str]:
    """The ids of the nearest copies, the weightiest first; what weighs the same goes by
    its place in the files."""
    return list(layers.search.standing(layers.found.nearest(found)))


def here_of(app: HookApp) -> str:
    """The folder in which the session stands, from the root, with a slash behind."""
    project = app.project
    return f"{os.path.relpath(project.cwd, project.root or project.cwd)}/"


def _recent(app: HookApp) -> str:
    """The first of the days that count as recent."""
    return (app.project.now - datetime.timedelta(days=RECENT_DAYS)).isoformat()


def _is_doubtful(found: Candidate, recent: str) -> bool:
    """Whether a session said it once, and nothing since: no person, no use."""
    alone = found.values.get("unconfirmed") and not found.values.get("count")
    return bool(alone) and found.date < recent


def _titles(items: Iterable[Hit]) -> list[Hit]:
    """Items by title and handle alone, for the agent to ask for."""
    return [item.made._replace(text="", brief=None) for item in items]


def _lines(items: Iterable[Hit]) -> list[Hit]:
    """The same, a line each."""
    return [item._replace(head=f"- {item.head}") for item in _titles(items)]


def _lessons(app: HookApp, layers: Layers, again: list[str]) -> list[Hit]:
    """Rules that bind first, then what was told before, then what is recent."""
    all_files = view.select(layers.found.in_view, Filters())
    binding = by_standing(
        layers,
        app.index.entries.about(all_files, guarded(app.index.db, {(GUARD, "*")})),
    )
    where = view.select(layers.found.in_view, Filters(type=("corrective", "directive")))
    day = _recent(app)
    here = here_of(app)
    entries = app.index.entries
    recent = by_standing(layers, entries.foremost(where, MOST_RECENT, day, here=here))
    chosen = list(dict.fromkeys([*binding, *again, *recent]))
    most = LESSONS + LESSONS // 2 + len(again)
    if len(chosen) < most:
        chosen += by_standing(layers, entries.foremost(where, TOP, here=here))
    ordered = budget.in_turns(dict.fromkeys(chosen), layers.own())
    return layers.showing.each("lessons", ordered[:most])


def _proxy(app: HookApp) -> list[Hit]:
    project = app.project
    if not project.config.hook_proxy or project.root is None:
        return []
    paths = [file.path for file in project.listing.files if file.place.store == "proxy"]
    if not paths or len(own_files(project.root, paths)) < len(paths):
        return []
    layers = layers_of(app, "proxy")
    own = by_standing(layers, app.index.entries.select(layers.found.scope))[:LESSONS]
    pools = Pools(ranked=layers.showing.each("proxy", own))
    return list(budget.compose(pools, limit=PROXY_TOKENS + budget.FRAME).items)

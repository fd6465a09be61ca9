"""What a hook puts before an agent: at the start of a session, with a prompt, before a tool runs.

Each returns the text to show, "" for nothing. What was shown is remembered in one transaction just
before, so that a session that is played twice is told everything once.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.recall import recall
from memcli.hooks import relevance
from memcli.index import terms as query
from memcli.index import view
from memcli.index.source import Candidate
from memcli.index.view import Filters, Scope
from memcli.project.config import Config
from memcli.recall import budget
from memcli.recall.answer import RecallRequest
from memcli.recall.budget import Pools, Shown
from memcli.recall.layers import Layers
from memcli.recall.present import Hit
from memcli.storage.state import History, Turns
from memcli.text.redact import for_prompt

START_TOKENS = 1500
PROMPT_TOKENS = 800
PROXY_TOKENS = 200
RECENT_DAYS = 14
FOREMOST = 60
"""How many of the most important lessons are weighed exactly."""
LESSONS = 12
NUDGE_AFTER = 60
NUDGE = (
    f"(mem: {NUDGE_AFTER} prompts and nothing was remembered. What is worth keeping"
    ' can be kept: mem add "what was learned")'
)
TOOL_LINES = 3
TOOL_LENGTH = 300
TOOL_HINT = "Untrusted hint from earlier sessions"
NEAR = 0.6
"""The cosine from which an entry opens memory by its vector alone."""
LARGE = 1_000_000
"""Bytes of changed memory files above which indexing is left to the worker: it takes about a
second.
"""
KEPT_DAYS = 60
"""Days for which it is remembered what a session was shown."""


class Said(NamedTuple):
    """What an agent says when it calls a hook; "" where it says nothing or nonsense.

    `agent` is set inside of a sub-agent; `size` is that of the transcript in bytes.
    """

    session: str
    cwd: str
    transcript: str = ""
    size: int = 0
    source: str = ""
    prompt: str = ""
    tool: str = ""
    input: Mapping[str, Any] = {}
    agent: str = ""


class HookApp(App):
    """An app that takes what it can of a faulty configuration, and never reaches the network.

    `late` says that so much of the memory is not indexed that somebody else should do it.
    """

    late = False

    @cached_property
    def config(self) -> Config:
        own = self.settings.config
        embedder = own.embedder if own.embedder in ("auto", "local") else "none"
        return own._replace(embedder=embedder, llm="none", query="plain", max_tokens=0)

    def __enter__(self) -> HookApp:
        return self

    @property
    def embeds_here(self) -> bool:
        """Never: vectors are made by mem index, recall and the worker; a hook only uses them."""
        return False

    def is_ready(self) -> bool:
        """Bring the index up to the files where that takes no time; False when there is nothing to
        ask.
        """
        changed, _ = self.guarded(lambda: self.index.stale(self.listing.files))
        self.late = sum(file.size for file in changed) > LARGE
        if self.late:
            return not self.index.empty()
        self.refresh()
        return True

    @property
    def limit(self) -> int:
        """The size of an answer that is configured; 0 is no limit."""
        return self.settings.config.max_tokens


def has_memory(app: App) -> bool:
    """Whether there is a project here with something to remember in view."""
    return app.root is not None and bool(app.listing.files)


def learns_here(app: App) -> bool:
    """Whether the project keeps memory of its own: hooks never begin one."""
    return app.root is not None and any(
        not file.name.startswith("~/") for file in app.listing.files
    )


# --- the start of a session


def session_start(app: HookApp, history: History, said: Said) -> str:
    """Norms, policies, recent corrections, the person's manner and the latest episodes.

    Once for each source, and again when the transcript has grown since.
    """
    if said.agent or _was_started(history, said) or not app.is_ready():
        return ""
    made = app.guarded(lambda: _standing(app))
    text = budget.write(made.items, made.budget.more) if made.items else ""
    today = app.now.isoformat()
    with history.transaction():
        if _was_started(history, said):  # by another process meanwhile
            return ""
        history.remember_start(said.session, said.source, said.size, today)
        ids = [item.key for item in made.items if item.layer != "institutional"]
        history.remember_shown(said.session, "session-start", ids, today)
        history.forget_sessions((app.now - datetime.timedelta(days=KEPT_DAYS)).isoformat())
    return text


def _was_started(history: History, said: Said) -> bool:
    size = history.started(said.session, said.source)
    return size is not None and said.size <= size


def _standing(app: HookApp) -> budget.Block:
    layers = _layers(app, Filters())
    pools = Pools(
        institutional=layers.institutional(),
        baseline=layers.baseline(),
        episodes=layers.episodes(),
        ranked=[*_proxy(app), *_lessons(app, layers)],
    )
    return budget.compose(
        pools, limit=_least(START_TOKENS, app.limit and app.limit * 2), most=LESSONS
    )


def _least(*limits: int) -> int:
    """The smallest of these limits; 0 is none."""
    return min(limit for limit in limits if limit)


def _layers(app: HookApp, filters: Filters) -> Layers:
    rows = view.visible(app.index.files().values(), app.view, filters)
    return Layers(app, app.index, rows, view.select(rows, filters))


def _entries(layers: Layers, found: Sequence[Candidate]) -> list[str]:
    """The entries of these candidates whose nearest copy is among them, the most prominent first."""
    search = layers.search
    own = search.nearest(found)
    return [c.entry for c in sorted(own, key=lambda c: (-search.standing(c), c.entry))]


def _lessons(app: HookApp, layers: Layers) -> list[Shown]:
    """Corrections and directives of the last days, then the most prominent of all times."""
    where = _of_type(layers, "corrective", "directive")
    day = (app.now - datetime.timedelta(days=RECENT_DAYS)).isoformat()
    recent = _entries(layers, app.index.entries.made_since(where, day))
    foremost = _entries(layers, app.index.entries.foremost(where, FOREMOST))
    entries = list(dict.fromkeys([*recent, *foremost]))[: LESSONS + LESSONS // 2]
    return [layers.showing.shown(entry, "lessons") for entry in entries]


def _of_type(layers: Layers, *types: str) -> Scope:
    """The entries in view that have one of these types."""
    return view.select(layers.rows, Filters(type=types))


def _proxy(app: HookApp) -> list[Shown]:
    """The person's own manner, from files that git does not know."""
    names = [file.name for file in app.listing.files if file.place.store == "proxy"]
    if not app.config.hook_proxy or not names or _tracked(app, names):
        return []
    layers = _layers(app, Filters(store=("proxy",)))
    room, shown = PROXY_TOKENS, []
    for entry in _entries(layers, app.index.entries.select(layers.scope)):
        item = layers.showing.shown(entry, "proxy")
        left = room - budget.tokens(item.head) - 4
        text = budget.cut_words(item.text, left)
        if left < 0 or (item.text and not text):
            break
        shown.append(item._replace(text=text))
        room -= budget.tokens(f"### {item.head}\n{text}\n\n")
    return shown


def _tracked(app: App, names: Sequence[str]) -> bool:
    """Whether git knows one of these files, or cannot tell."""
    from memcli.project import git

    assert app.root is not None
    if git.work_tree(app.root) is None:
        return False
    try:
        done = git.run(["ls-files", "--", *names], app.root, timeout=1)
    except Exception:  # git is missing or slow: what is private stays private
        return True
    return bool(done.returncode or done.stdout)


# --- a prompt


def prompt(app: HookApp, history: History, said: Said) -> str:
    """What was learned that bears on a prompt, each entry once in a session; now and then a nudge."""
    if said.agent or not said.prompt.strip() or not app.is_ready():
        return ""
    seen = history.shown(said.session)
    hits = [hit for hit in app.guarded(lambda: _worthy(app, said.prompt)) if _is_new(hit, seen)]
    pool = [_as_shown(hit) for hit in hits]
    made = budget.compose(
        Pools(ranked=pool), limit=_least(PROMPT_TOKENS, app.limit), most=app.config.limit
    )
    turns, nudge = _counted(history.turns(said.session), _newest(app))
    today = app.now.isoformat()
    with history.transaction():
        seen = history.shown(said.session)  # another process may have shown some meanwhile
        items = tuple(item for item in made.items if item.key not in seen)
        keys = [item.key for item in items]
        history.remember_shown(
            said.session, "prompt", [*keys, *(k for i in items for k in i.also)], today
        )
        history.remember_turns(said.session, turns, today)
        evidence = [
            (str(hit.id), "ranked", n, hit.score) for n, hit in enumerate(hits, 1) if hit.id in keys
        ]
        history.remember_evidence(said.session, evidence, today)
    text = budget.write(items, made.budget.more) if items else ""
    return "\n".join(filter(None, (text, NUDGE if nudge else "")))


def _is_new(hit: Hit, seen: set[str]) -> bool:
    return hit.id is not None and seen.isdisjoint((hit.id, *hit.duplicates))


def _as_shown(hit: Hit) -> Shown:
    return Shown(str(hit.id), "ranked", hit.head, hit.text, hit.type, also=hit.duplicates)


def _worthy(app: HookApp, text: str) -> list[Hit]:
    """The hits for a prompt when one of them meets enough of it, without those that meet nothing of
    it.
    """
    index, least = app.index, app.config.inject_min
    terms = relevance.content(query.build(text, index.words.counts).terms)
    counts = index.words.counts(terms)
    rarest, *rarity = index.words.rarities([1, *counts])
    met = [idf for idf, n in zip(rarity, counts, strict=True) if n]
    if not met or not (relevance.is_evident(met, rarest) or app.embedder):
        return []  # most prompts are about nothing that is known: that is found out before ranking
    hits = recall(app, RecallRequest(text, ranked_only=True, refresh=False)).hits
    covers = _covers(app, hits, terms, rarity, rarest)
    near = {hit.id for hit in hits if is_near(hit)}
    if not near and not relevance.opens(covers.values(), least):
        return []
    return [hit for hit in hits if hit.id in covers or hit.id in near]


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


def is_near(hit: Hit) -> bool:
    """Whether a hit is so near by its vector that words in common are not asked for."""
    cosine = (hit.factors or {}).get("vector")
    return cosine is not None and cosine >= NEAR


def _newest(app: App) -> int:
    return max((file.mtime for file in app.listing.files), default=0)


def _counted(turns: Turns, newest: int) -> tuple[Turns, bool]:
    """The turns with this one, and whether it is time for the nudge: once in a session."""
    count = 1 if newest != turns.newest else turns.prompts + 1
    nudge = count >= NUDGE_AFTER and not turns.nudged
    return Turns(count, newest, turns.nudged or nudge), nudge


# --- a tool


def pre_tool(app: HookApp, history: History, said: Said) -> str:
    """Corrections about the file or the command at hand: at most three lines, each once in a
    session.
    """
    test = _about(app, said)
    if test is None or not app.is_ready():
        return ""
    shown = app.guarded(lambda: _corrections(app, test))
    if not shown:
        return ""
    session, today = f"{said.session}/{said.agent}".rstrip("/"), app.now.isoformat()
    with history.transaction():
        seen = history.shown(session, "pre-tool")
        fresh = [item for item in shown if item.key not in seen][:TOOL_LINES]
        history.remember_shown(session, "pre-tool", [item.key for item in fresh], today)
    return "\n".join(_line(item) for item in fresh)


def _about(app: App, said: Said) -> Callable[[str | None, str | None, str], bool] | None:
    """The test of an entry's paths, commands and text; None when the tool has neither file nor
    command.
    """
    named = [said.input.get(key) for key in ("file_path", "notebook_path", "path")]
    files = [name for name in named if isinstance(name, str) and name and "\0" not in name]
    command = said.input.get("command")
    if isinstance(command, list):
        command = " ".join(word for word in command if isinstance(word, str))
    about_path = view.path_matcher(app.relative)

    def of_file(paths: str | None, _commands: str | None, _text: str) -> bool:
        return bool(paths) and about_path(paths, json.dumps(files))

    run = relevance.parse_command(command) if isinstance(command, str) else relevance.Command()

    def of_command(_paths: str | None, commands: str | None, text: str) -> bool:
        return relevance.runs(run, json.loads(commands) if commands else (), text)

    if files:
        return of_file
    return of_command if run.whole else None


def _corrections(app: HookApp, test: Callable[[str | None, str | None, str], bool]) -> list[Shown]:
    layers = _layers(app, Filters())
    found = app.index.entries.matching(_of_type(layers, "corrective"), test)
    return (
        [layers.showing.shown(entry, "lessons") for entry in _entries(layers, found)]
        if found
        else []
    )


def _line(item: Shown) -> str:
    title, _, facts = item.head.rpartition(" (")
    place = ", ".join(facts.rstrip(")").split(", ")[-2:])
    said = relevance.one_line(title, item.text, TOOL_LENGTH)
    return for_prompt(f"{TOOL_HINT} ({place}): {said}")


def transcript_size(path: str) -> int:
    """The size of a transcript; 0 when there is none."""
    try:
        return os.stat(path).st_size if path else 0
    except (OSError, ValueError):
        return 0

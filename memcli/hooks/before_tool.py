"""What is told before a tool runs: corrections and rules about the files it changes or
the command."""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.hooks.calls import (
    UNJUDGED,
    HookApp,
    HookCall,
    HookProject,
    Told,
    has_memory,
    in_time,
)
from memcli.index import view
from memcli.index.occasions import (
    CORRECTIVE,
    code_spans,
    has_guards,
    keys_of_commands,
    keys_of_files,
    occasions,
)
from memcli.index.passages import passage
from memcli.index.view import Candidate, IndexedFiles
from memcli.memory.filters import Filters
from memcli.memory.values import HOME
from memcli.memory.words import body_of, uncut
from memcli.project import git, globs
from memcli.project.roots import roots_around
from memcli.sessions.tools import (
    ToolCall,
    is_reader,
    is_writer,
    places,
    shell_line,
    takes_away,
    tool_call,
)
from memcli.storage.state import SessionLog, State, settled

if TYPE_CHECKING:
    from memcli.recall.hit import Hit

OF_MEM = re.compile(r"(?:\S*/)?mem (?:add|edit|keep)\b")
"""Commands by which an agent writes into memory."""
OWN = ("_mem__check", "_mem__add")
"""How the names that clients give to our own tools end whose arguments name files and
commands and touch none."""
MOST_ROOTS = 8
"""So many projects are looked at for one call, the one at hand among them."""
SHOWN = 200  # characters of what was stopped that are kept
LINES = 3
AT_ONCE = 500  # so many entries are looked at without a look at the clock
LINE_TOKENS = 75
HINT = "Untrusted hint from earlier sessions"


def pre_tool(app: HookApp, state: State, call: HookCall) -> Told:
    """Corrections about what is at hand: at most three lines, each once in a
    context."""
    _is_owed(app)  # reading a line may take long, too
    tool = tool_call(call.input, call.cwd, call.tool)
    stopped = _stopped(app, call, acting(call), state)
    if not stopped.decision:
        stopped = elsewhere(app, call)
    if stopped.decision:
        return stopped
    # Gemini takes hints after the tool alone.
    if call.event == "BeforeTool" or not any(tool) or not app.is_ready():
        return Told()
    _note_writing(app, state, call, tool)
    found = app.guarded(lambda: rules(app, tool, shell_line(call.input)))
    return _told(app, state, call, tool, found) if found else Told()


def _note_writing(app: HookApp, state: State, call: HookCall, tool: ToolCall) -> None:
    """Note which memory files the agent changes, so that its own words are not told
    back to it."""
    paths = [path for path in acting(call).files if path.endswith(".md")]
    names = set(map(app.project.name_of, paths))
    if any(OF_MEM.match(line) for line in tool.commands):
        names.add("")
    if not names:
        return
    from memcli.hooks import told  # most calls change none

    occasion = told.Occasion(context=call.context, event=told.WRITING, why="")
    app.guarded(
        lambda: settled(
            state,
            lambda state: told.note_writing(app, SessionLog(state), occasion, names),
        )
    )


def _told(
    app: HookApp,
    state: State,
    call: HookCall,
    tool: ToolCall,
    entries: Sequence[Candidate],
) -> Told:
    from memcli.hooks import told  # most calls say nothing

    log = SessionLog(state)
    known = told.in_context(app, log, call.context)
    untold = [entry for entry in entries if entry.entry not in known.told]
    fresh = [entry for entry in untold if not _is_read(app, log, call, tool, entry)]
    if not fresh:
        return Told()
    items = [_line(app, entry, known.changed) for entry in fresh[:LINES]]
    at_hand = (*tool.files, *tool.reads)
    why = f"before {os.path.basename(at_hand[0])}" if at_hand else "before a command"
    occasion = told.Occasion(context=call.context, event="pre-tool", why=why)
    return told.tell(
        app,
        state,
        occasion,
        items,
        lambda log, items: "\n".join(item.text for item in items),
    )


def acting(call: HookCall) -> ToolCall:
    """What a call may change: nothing where its tool says that it looks, and what is only
    a place to ask about where its name says neither."""
    tool = tool_call(call.input, call.cwd, call.tool)
    if call.tool.endswith(OWN):
        return ToolCall()
    if tool.commands:
        return tool
    if not is_writer(call.tool):
        return ToolCall() if is_reader(call.tool) else ToolCall(wholes=tool.files)
    if takes_away(call.tool):
        return tool._replace(wholes=tool.files, takes=tool.files)
    return tool


def elsewhere(app: HookApp, call: HookCall) -> Told:
    """What the guards of other projects say of a call: of those that it acts in, and of
    those around them and around the working directory."""
    tool = acting(call)
    if not any(tool):
        return Told()
    here = Path(os.path.realpath(call.cwd))
    acted = (
        *chain.from_iterable(map(places, tool.simple)),
        *map(os.path.dirname, tool.files),
        *tool.wholes,
        *tool.brings,
        *map(os.path.dirname, tool.named),
    )
    folders = [here, *map(Path, map(os.path.realpath, acted))]
    for number, other in enumerate(_others(app, folders), 1):
        root = other.project.root or here
        if number > MOST_ROOTS:
            text = f"mem: this call acts in more than {MOST_ROOTS} projects"
            stopped = _asking(other, text)
        elif has_memory(other):
            is_inside = here.is_relative_to(root)
            inside = tool if is_inside else _below(root, tool)
            stopped = other.from_state(partial(_stopped, other, call, inside), Told())
        else:
            continue
        if stopped.decision:
            return stopped
    return Told()


def unjudged(app: HookApp) -> Told:
    """What is said of a call that could not be read or judged: guards of the projects
    around the working directory ask, read without index and state."""
    apps = chain([app], _others(app, [app.project.cwd]))
    asked = (_asking(each, UNJUDGED) for each in apps)
    return next(filter(attrgetter("decision"), asked), Told())


def _others(app: HookApp, folders: Iterable[Path]) -> Iterator[HookApp]:
    """The other projects that these folders lie in, one open at a time."""
    roots: dict[Path, Path] = {}
    for folder in folders:
        for root in roots_around(folder, app.project.home):
            roots.setdefault(root, folder)
    for root, folder in roots.items():
        if root == app.project.root:
            continue
        environ = {**os.environ, "MEM_ROOT": str(root)}
        with HookApp(app.options, environ, folder, HookProject) as other:
            other.half = app.half
            other.say = app.say
            other.owe = app.owe
            yield other


def _asking(app: HookApp, text: str) -> Told:
    """A question about a call, if any entry of a project binds."""
    from memcli.guard.unindexed import guards_in

    is_bound = any(map(guards_in, app.project.listing.files))
    return Told(text=text, decision="ask") if is_bound else Told()


def _below(root: Path, tool: ToolCall) -> ToolCall:
    """What a call does below a root outside of which the agent stands."""
    from memcli.guard.guards import lies_in

    def lies_below(paths: Iterable[str]) -> bool:
        return any(lies_in(root, path) for path in paths)

    return tool._replace(
        files=tuple(path for path in tool.files if lies_below([path])),
        simple=tuple(each for each in tool.simple if lies_below(places(each))),
    )


def _stopped(app: HookApp, call: HookCall, tool: ToolCall, state: State) -> Told:
    """What a guard says of the call; without a decision where none stops it. While it is
    not judged, guards in force ask."""
    if not any(tool):
        app.owe(Told())
        return Told()
    _is_owed(app)
    app.is_ready()
    from memcli.guard.unindexed import unindexed_guards

    stopped = Told()
    unknown = app.guarded(lambda: unindexed_guards(app, app.unindexed))
    if _is_owed(app):
        stopped = _judged(app, call, tool, state)
    if unknown and not stopped.decision:
        from memcli.guard.wording import quoted

        text = f"mem: {quoted(unknown)} has guards that are not indexed yet"
        stopped = Told(text=text, decision="ask")
    app.owe(Told())
    return stopped


def _is_owed(app: HookApp) -> bool:
    """Whether guards are in force; then they ask until the call is judged."""
    is_bound = app.guarded(lambda: has_guards(app.index.db))
    if is_bound:
        app.owe(Told(text=UNJUDGED, decision="ask"))
    return is_bound


def _judged(app: HookApp, call: HookCall, tool: ToolCall, state: State) -> Told:
    """What the indexed guards say of the call."""
    from memcli.guard.lifting import decide

    trusted = state.trusted()
    verdict = app.guarded(lambda: decide(app, tool, call.input, trusted))
    if verdict is None or not verdict.mode:
        return Told()
    from memcli.guard import stops, wording
    from memcli.hooks import told
    from memcli.text.secrets import redact_secrets  # few calls are stopped

    stopped = Told(text=wording.reason(verdict), decision=verdict.mode)
    item = _item(verdict.guard.entry, verdict.guard.title)
    first = (shell_line(call.input) or verdict.met).splitlines()[0]
    met = redact_secrets(first[: 8 * SHOWN])[:SHOWN]
    occasion = told.Occasion(
        context=call.context, event=stops.EVENT, why=f"{stopped.decision}: {met}"
    )

    def remembered(state: State) -> Told:
        told.remember(app, SessionLog(state), occasion, [item])
        return stopped

    return app.settled(state, remembered)


def _item(entry: str, title: str, text: str = "") -> "Hit":
    from memcli.recall.budget import heading
    from memcli.recall.hit import Hit

    return Hit(key=entry, layer="lessons", head=heading(title, ()), text=text)


def rules(app: HookApp, tool: ToolCall, line: str) -> list[Candidate]:
    """The corrections about what a tool has at hand, the weightiest first, but a third
    of them the person's own; where there are so many that time runs out, of those that
    were looked at."""
    here = app.project.view
    files = app.index.in_view(here, Filters())
    root = app.project.root or app.project.cwd
    paths = (*tool.files, *tool.reads)
    names = [name for path in paths for name in git.names_of(root, path)]
    listed = _listed(app, names, tool.commands)
    copies: dict[str, list[Candidate]] = {}

    def gather() -> None:
        for copy in _found(app, files, listed):
            is_said = any(
                _meets(root, names, line, *words) for words in listed[copy.rowid]
            )
            if is_said or _is_about(copy, names, tool.commands):
                copies.setdefault(copy.entry, []).append(copy)

    if len(listed) > AT_ONCE:
        in_time(app.almost, gather, lambda: None)
    else:
        gather()
    nearest = [view.nearest(same, files, here) for same in copies.values()]
    # What weighs the same comes in the order of its file, as at a start.
    in_file = sorted(nearest, key=lambda entry: (entry.offset, entry.entry))
    newest = sorted(in_file, key=lambda entry: entry.date, reverse=True)
    weightiest = sorted(newest, key=_importance, reverse=True)
    if len(weightiest) <= LINES:
        return weightiest
    from memcli.recall.budget import in_turns  # few calls have so many

    by_key = {entry.entry: entry for entry in weightiest}
    own = {e.entry for e in weightiest if files[e.source].place.level == HOME}
    return [by_key[key] for key in in_turns(by_key, own)]


def _importance(entry: Candidate) -> float:
    return float(entry.values.get("importance", 0.5))


def _is_read(
    app: HookApp, log: SessionLog, call: HookCall, tool: ToolCall, entry: Candidate
) -> bool:
    """Whether the agent has read what an entry says in what it loads by itself."""
    root = app.project.root or app.project.cwd
    names = [name for path in _opened(call, tool) for name in git.names_of(root, path)]
    read = app.instructions(log, call, names)
    text = app.guarded(lambda: app.index.entries.text(entry))
    return read.say(entry.title, body_of(text, entry.title))


def _opened(call: HookCall, tool: ToolCall) -> list[str]:
    """The files for which the agent loads rules that are bound to paths: those that its
    own tools read, or a line of one command that shows a file, and none that is new.

    Claude Code 2.1.197 loads none for a shell; but its edit asks for a Read first."""
    files = tool.files
    if line := shell_line(call.input):
        from memcli.text.shell import commands_of

        files = tool.reads if len(commands_of(line)) == 1 else ()
    return [path for path in files if os.path.exists(path)]


def _line(app: HookApp, entry: Candidate, changed: set[str]) -> "Hit":
    from memcli.hooks.told import CHANGED
    from memcli.recall.budget import cut_words
    from memcli.text.controls import escaped, for_prompt

    title = for_prompt(entry.title)
    part = app.guarded(lambda: passage(app.index.entries, entry))
    said = uncut(title, for_prompt(body_of(part.text, entry.title)))
    whole = " ".join(": ".join(said).split()).strip(": ")
    file = app.index.file(entry.source)
    place = f"{file.path if file else ''}:{entry.line}, id {entry.entry[:8]}"
    place += CHANGED if entry.entry in changed else ""
    line = f"{HINT} ({place}): {cut_words(whole, LINE_TOKENS)}"
    return _item(entry.entry, title, escaped(for_prompt(line)))


def _listed(
    app: HookApp, names: Sequence[str], commands: Sequence[str]
) -> Mapping[int, Sequence[tuple[str, str]]]:
    """The chunks that may be about files or commands, each with what its words name."""
    keys = keys_of_files(names) if names else set()
    if commands:
        keys |= keys_of_commands(commands[0], commands)
    listed = defaultdict[int, list[tuple[str, str]]](list)
    for chunk, what, said in occasions(app.index.db, keys):
        listed[chunk].append((what, said))
    return listed


def _found(
    app: HookApp, files: IndexedFiles, chunks: Collection[int]
) -> Iterator[Candidate]:
    """The chunks in view, the home folder's first: a repository may have so many that
    the time is over before all of them are looked at."""
    home = files.only(lambda place: place.level == HOME)
    others = files.only(lambda place: place.level != HOME) if home else files
    for part in filter(None, (home, others)):
        scope = view.select(part, Filters())
        yield from app.index.entries.about(scope, chunks)


def _meets(root: Path, names: Sequence[str], line: str, what: str, wanted: str) -> bool:
    """Whether a call is what the words of a rule name: the file at that place, or, where
    there is none, any that ends so; a command that they forbid, and do not allow."""
    if not wanted:
        return False
    if what == "path":
        is_there = os.path.lexists(root / wanted.rstrip("*"))
        glob = f"/{wanted}" if is_there else f"**/{wanted}"
        return any(globs.covers([glob], name) for name in names)
    from memcli.bans.patterns import matches, parse_pattern
    from memcli.guard.pushes import with_branches  # few calls meet a rule
    from memcli.text.shell import read_line

    forbidden, *allowed = map(parse_pattern, wanted.splitlines())
    return any(
        matches(forbidden, words) and not any(matches(each, words) for each in allowed)
        for words in with_branches(root, read_line(line).commands)
    )


def _is_about(entry: Candidate, names: list[str], commands: Sequence[str]) -> bool:
    paths = entry.values.get("paths") or ()
    if any(globs.covers(paths, name) for name in names):
        return True
    body = entry.text if entry.type == CORRECTIVE else ""
    return runs(commands, entry.values.get("commands") or (), body)


def runs(commands: Sequence[str], patterns: Sequence[str], body: str) -> bool:
    """Whether an entry is about a shell command: by its globs, else by a code span of
    its body."""
    if patterns or not commands:
        known = patterns[: globs.MOST]
        return any(globs.matches(glob, each) for glob in known for each in commands)
    return "`" in body and any(
        # It neither begins nor ends within a word.
        span in commands[0]
        and re.search(rf"(?<![\w./-]){re.escape(span)}(?![\w-])", commands[0])
        for span in code_spans(body)
    )

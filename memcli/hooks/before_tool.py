"""What is told before a tool runs: corrections about the files it changes or the
command."""

import os
import re
from collections.abc import Sequence

from memcli.hooks.calls import CHANGED, HookApp, HookCall, InContext, Told
from memcli.index import view
from memcli.index.filters import (
    code_spans,
    has_guards,
    keys_of_commands,
    keys_of_files,
    passage,
)
from memcli.index.view import Candidate, Filters, Scope
from memcli.memory.words import body_of
from memcli.project import git, globs
from memcli.sessions.tools import ToolCall, shell_line, tool_call
from memcli.storage.state import SessionLog, State

READING = re.compile("(?i)read|view|glob|grep|^ls$|list|search|fetch|open")
"""Tools that change no file."""
LINES = 3
LINE_TOKENS = 75
HINT = "Untrusted hint from earlier sessions"


def pre_tool(app: HookApp, state: State, call: HookCall) -> Told:
    """Corrections about what is at hand: at most three lines, each once in a
    context."""
    tool = tool_call(call.input, call.cwd)
    if not any(tool) or not app.is_ready():
        return Told()
    log = SessionLog(state)
    if app.guarded(lambda: has_guards(app.index.db)):
        stopped = _stopped(app, state, call, tool)
        if stopped.decision:
            return stopped
    if call.event == "BeforeTool":  # Gemini takes hints after the tool alone
        return Told()
    found = app.guarded(lambda: _corrections(app, tool))
    known = app.in_context(log, call.context) if found else InContext(set(), set())
    fresh = [each for each in found if each.entry not in known.told]
    fresh = [each for each in fresh if not _is_read(app, log, call, tool, each)][:LINES]
    if not fresh:
        return Told()
    lines = {each.entry: _line(app, each, known) for each in fresh}
    at_hand = (*tool.files, *tool.reads)
    why = f"before {os.path.basename(at_hand[0])}" if at_hand else "before a command"

    def decided(state: State) -> Told:
        log = SessionLog(state)
        # Another tool may run at the same time.
        seen = app.in_context(log, call.context).told
        new = [(entry, line) for entry, line in lines.items() if entry not in seen]
        told = {entry: title for entry, (title, _) in new}
        app.remember(log, (call.context, "pre-tool", why), told)
        return Told("\n".join(text for _, (_, text) in new), tuple(told.values()))

    return app.settled(state, decided)


def _stopped(app: HookApp, state: State, call: HookCall, tool: ToolCall) -> Told:
    """What a guard says of the call; without a decision where none stops it."""
    from memcli.guard import guards

    files = () if READING.search(call.tool) else tool.files
    root = app.project.root or app.project.cwd
    use = guards.tool_use(root, shell_line(call.input), files)

    def decided() -> tuple[str, str, dict[str, str]]:
        lifted = guards.lifts(app, use, _taken_out(call))
        if lifted:
            from memcli.guard import wording  # few calls are stopped

            return guards.ASK, f"mem: {lifted}. {wording.LIFTED}", {"": lifted}
        verdict = guards.strictest(app, use, state.trusted())
        if verdict is None or not verdict.mode:
            return "", "", {}
        from memcli.guard import wording

        titles = {verdict.guard.entry: verdict.guard.title}
        return verdict.mode, wording.reason(verdict), titles

    decision, reason, titles = app.guarded(decided)
    if not decision:
        return Told()
    from memcli.guard import stops

    met = (shell_line(call.input) or ", ".join(use.files)).splitlines()[0][:200]
    why = (call.context, stops.EVENT, f"{decision}: {met}")

    def remembered(state: State) -> Told:
        app.remember(SessionLog(state), why, titles)
        return Told(text=reason, decision=decision)

    return app.settled(state, remembered)


def _taken_out(call: HookCall) -> list[str]:
    """What an edit takes out of a file: its old text; all that a whole new text or a
    shell line could."""
    names = (
        "old_string",
        "old_str",
        "patch",
        "input",
        "patchText",
        "command",
        "content",
    )
    return [text for name in names if isinstance(text := call.input.get(name), str)]


def _corrections(app: HookApp, tool: ToolCall) -> list[Candidate]:
    files = app.index.in_view(app.project.view, Filters())
    scope = view.select(files, Filters(type=("corrective",)))
    copies: dict[str, list[Candidate]] = {}
    for copy in _found(app, scope, tool):
        copies.setdefault(copy.entry, []).append(copy)
    found = [
        view.nearest(same, scope.files, app.project.view) for same in copies.values()
    ]
    found.sort(key=lambda c: (-float(c.values.get("importance", 0.5)), c.date, c.entry))
    return found


def _is_read(
    app: HookApp, log: SessionLog, call: HookCall, tool: ToolCall, found: Candidate
) -> bool:
    """Whether the agent has read what an entry says in what it loads by itself."""
    root = app.project.root or app.project.cwd
    names = [name for path in _opened(call, tool) for name in git.names_of(root, path)]
    read = app.instructions(log, call, names)
    text = app.guarded(lambda: app.index.entries.text(found))
    return read.say(found.title, body_of(text, found.title))


def _opened(call: HookCall, tool: ToolCall) -> list[str]:
    """The files for which the agent loads rules that are bound to paths: those that its
    own tools read, and nothing that a shell shows or that is new."""
    if shell_line(call.input):
        return []
    return [path for path in (*tool.files, *tool.reads) if os.path.exists(path)]


def _line(app: HookApp, found: Candidate, known: InContext) -> tuple[str, str]:
    from memcli.recall.budget import cut_words
    from memcli.text.controls import escaped, for_prompt  # most calls say nothing

    title = for_prompt(found.title)
    text = for_prompt(
        body_of(
            app.guarded(lambda: passage(app.index.entries, found)).text, found.title
        )
    )
    file = app.index.file(found.source)
    whole = cut_words(" ".join(f"{title}: {text}".split()).strip(": "), LINE_TOKENS)
    place = f"{file.path if file else ''}:{found.line}, id {found.entry[:8]}"
    place += CHANGED if found.entry in known.changed else ""
    return title, escaped(for_prompt(f"{HINT} ({place}): {whole}"))


def _found(app: HookApp, scope: Scope, tool: ToolCall) -> list[Candidate]:
    root = app.project.root or app.project.cwd
    paths = (*tool.files, *tool.reads)
    names = [name for path in paths for name in git.names_of(root, path)]
    keys = keys_of_files(names) if names else set()
    if tool.commands:
        keys |= keys_of_commands(tool.commands[0], tool.commands)

    def is_about(candidate: Candidate) -> bool:
        paths, commands = (
            candidate.values.get(key) or () for key in ("paths", "commands")
        )
        about = paths and any(globs.covers(paths, name) for name in names)
        return bool(about) or runs(tool.commands, commands, candidate.text)

    return [each for each in app.index.entries.about(scope, keys) if is_about(each)]


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

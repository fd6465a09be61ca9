"""What is told before a tool runs: corrections about the files it changes or the command."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memcli.hooks.calls import HookApp, HookCall, Told
from memcli.index import view
from memcli.index.filters import code_spans, keys_of_commands, keys_of_files
from memcli.index.view import Candidate, Filters, Scope
from memcli.memory.words import body_of
from memcli.named import NamedTuple
from memcli.project import git, globs
from memcli.storage.state import SessionLog, State

LINES = 3
LINE_TOKENS = 75
HINT = "Untrusted hint from earlier sessions"
KEYS = ("file_path", "notebook_path", "path", "filePath", "absolute_path")
"""Where the edit tools of agents name their file."""
MOST = 50  # files of one call that are looked at
LONGEST = 20_000  # characters of a command that are looked at
WRITERS = ("rm", "mv", "cp", "tee", "truncate", "touch", "ln", "patch")
"""Programs whose arguments are files that they change."""
SHELLS = ("bash", "sh", "zsh")
SCRIPTED = ("sed", "perl", "ruby")  # programs that change files in place (-i) by a script
# Most calls need none of these: what is used is compiled then.
_PATCHED = r"(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$"
_HEREDOC = r"(?sm)(<<-?\s*(['\"]?)(\w+)\2[^\n]*\n)(?:.*?\n)??[ \t]*\3[ \t]*$"
_ARROW = r"[0-9&]?>>?\|?"
_WORD = rf"""(?s){_ARROW}|(?:[^\s'"\\>]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+"""
_PIECE = r"""(?s)'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)"""
_QUOTED = r"(?s)'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\."
_BETWEEN = r"&&|(?<!>)\|\|?&?|[;&\n()]"
_MAY_WRITE = rf">|\b(?:cd|checkout|restore|{'|'.join((*WRITERS, *SCRIPTED))})\b"
_IN_PLACE = r"-(?:[a-zA-Z0]*i|-in-place)"
_SCRIPT = r"-[a-zA-Z0]*[ef]|--(?:expression|file).*"
_RUNNERS = ("sudo", "env", "command", "time", "exec", "xargs")
_BEFORE = r"(?:[A-Za-z_]\w*=\S*|sudo|env|time|nohup|exec|command|then|do|else|!|\{)\s+"


class ToolCall(NamedTuple):
    """The files that a tool will change, absolute; its shell command, and each simple one in it."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def pre_tool(app: HookApp, state: State, call: HookCall) -> Told:
    """Corrections about what is at hand: at most three lines, each once in a context."""
    tool = tool_call(call.input, call.cwd)
    if not any(tool) or not app.is_ready():
        return Told()
    log, found = SessionLog(state), app.guarded(lambda: _corrections(app, tool))
    seen = log.shown(call.context, "pre-tool") if found else set()
    fresh = [each for each in found if each.entry not in seen][:LINES]
    if not fresh:
        return Told()
    lines = {each.entry: _line(app, each) for each in fresh}
    why = f"before {os.path.basename(tool.files[0])}" if tool.files else "before a command"
    with state.transaction():
        seen = log.shown(call.context, "pre-tool")  # another tool may run at the same time
        told = {entry: title for entry, (title, _) in lines.items() if entry not in seen}
        app.remember(log, (call.context, "pre-tool", why), told)
    return Told("\n".join(lines[entry][1] for entry in told), tuple(told.values()))


def _corrections(app: HookApp, tool: ToolCall) -> list[Candidate]:
    rows = view.visible(app.index.files().values(), app.project.view, Filters())
    scope = view.select(rows, Filters(type=("corrective",)))
    copies: dict[str, list[Candidate]] = {}
    for copy in _found(app, scope, tool):
        copies.setdefault(copy.entry, []).append(copy)
    found = [view.nearest(same, scope.files, app.project.view) for same in copies.values()]
    found.sort(key=lambda c: (-float(c.values.get("importance", 0.5)), c.date, c.entry))
    return found


def _line(app: HookApp, found: Candidate) -> tuple[str, str]:
    from memcli.recall.budget import cut_words
    from memcli.text.controls import escaped, for_prompt  # most calls say nothing

    title = for_prompt(found.title)
    text = for_prompt(body_of(app.guarded(lambda: app.index.entries.text(found)), found.title))
    path = next(f.path for f in app.index.files().values() if f.id == found.source)
    whole = cut_words(" ".join(f"{title}: {text}".split()).strip(": "), LINE_TOKENS)
    place = f"{path}:{found.line}, id {found.entry[:8]}"
    return title, escaped(for_prompt(f"{HINT} ({place}): {whole}"))


def _found(app: HookApp, scope: Scope, tool: ToolCall) -> list[Candidate]:
    root = app.project.root or app.project.cwd
    names = [name for path in tool.files for name in names_of(root, path)]
    keys = keys_of_files(names) if names else set()
    if tool.commands:
        keys |= keys_of_commands(tool.commands[0], tool.commands)

    def is_about(candidate: Candidate) -> bool:
        paths, commands = (candidate.values.get(key) or () for key in ("paths", "commands"))
        about = paths and any(globs.covers(paths, name) for name in names)
        return bool(about) or runs(tool.commands, commands, candidate.text)

    return [each for each in app.index.entries.about(scope, keys) if is_about(each)]


def names_of(root: Path, path: str) -> list[str]:
    """What a file is called from the root, also one in another work tree of this repository."""
    folder, name = os.path.split(path)
    real = os.path.join(os.path.realpath(folder), name)
    names = [os.path.relpath(real, root)] if real.startswith(f"{root}{os.sep}") else []
    own, other = git.work_tree(root), git.work_tree(Path(real).parent)
    if own and other and own != other and git.common_dir(own) == git.common_dir(other):
        names.append(os.path.relpath(os.path.relpath(real, other), os.path.relpath(root, own)))
    return names or [real.lstrip(os.sep)]


def tool_call(given: Mapping[str, Any], cwd: str) -> ToolCall:
    """What a tool's input says of files and of a command."""
    command = given.get("command")
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        command = words[-1] if words[:1] and words[0] in SHELLS else " ".join(words)
    texts = [command, given.get("patch"), given.get("input"), given.get("patchText")]
    for text in texts:
        if isinstance(text, str) and "*** Begin Patch" in text:
            return ToolCall(_absolute(cwd, re.findall(_PATCHED, text)))
    files = [name for key in KEYS if isinstance(name := given.get(key), str) and name]
    if files or not isinstance(command, str):
        return ToolCall(_absolute(cwd, files))
    return ToolCall(_absolute(cwd, _changed(command[:LONGEST])), parse_command(command))


def _absolute(cwd: str, names: list[str]) -> tuple[str, ...]:
    known = (os.path.join(cwd, os.path.expanduser(name)) for name in names if "\0" not in name)
    return tuple(dict.fromkeys(map(os.path.normpath, known)))[:MOST]


def _changed(command: str) -> list[str]:
    if not re.search(_MAY_WRITE, command):
        return []
    folder, found = "", []
    bare = re.sub(_HEREDOC, r"\1", command) if "<<" in command else command
    for part in _parts(bare):
        words = re.findall(_WORD, part)
        if words[:1] == ["cd"] and len(words) == 2:
            folder = os.path.join(folder, _plain(words[1]))
        else:
            found += [os.path.join(folder, name) for name in _targets(words)]
    return found


def _targets(words: list[str]) -> Iterator[str]:
    left: list[str] = []
    written = False
    for word in words:
        name, arrow = _plain(word), re.fullmatch(_ARROW, word) is not None
        if not (written or arrow or word.startswith("<")):
            left.append(name)
        elif written and not arrow and not word.startswith("&") and not name.startswith("/dev/"):
            yield name
        written = arrow
    while left and (left[0] in _RUNNERS or re.match(r"-|\w+=", left[0])):
        left = left[1:]
    if len(left) > 2 and left[0] in SHELLS and left[-2].endswith("c"):
        yield from _changed(left[-1])
    elif left:
        yield from _arguments(left[0].rpartition("/")[2], left[1:])


def _arguments(program: str, words: list[str]) -> list[str]:
    names = [word for word in words if not word.startswith("-")]
    if program == "git":
        return names[1:] if words[:1] in (["mv"], ["rm"], ["checkout"], ["restore"]) else []
    if program in WRITERS:
        return names
    if program not in SCRIPTED or not any(re.match(_IN_PLACE, word) for word in words):
        return []
    scripted = program == "sed" or any(re.fullmatch(_SCRIPT, word) for word in words)
    return names[1:] if scripted else names


def _plain(word: str) -> str:
    return re.sub(_PIECE, lambda piece: piece[1] or piece[2] or piece[3] or "", word)


def parse_command(command: str) -> tuple[str, ...]:
    """A shell command as a whole and each simple one in it; what is quoted is not taken apart."""
    found = [" ".join(part.split()) for part in (command[:LONGEST], *_parts(command[:LONGEST]))]
    bare = []
    for part in found[1:]:
        while before := re.match(_BEFORE, part):
            part = part[before.end() :]
        bare.append(part)
    return tuple(dict.fromkeys(filter(None, (*found, *bare))))


def _parts(command: str) -> Iterator[str]:
    hidden = re.sub(_QUOTED, lambda quoted: "\0" * len(quoted[0]), command)
    at = 0
    for mark in re.finditer(_BETWEEN, hidden):
        yield command[at : mark.start()]
        at = mark.end()
    yield command[at:]


def runs(commands: Sequence[str], patterns: Sequence[str], body: str) -> bool:
    """Whether an entry is about a shell command: by its globs, else by a code span of its body."""
    if patterns or not commands:
        known = patterns[: globs.MOST]
        return any(globs.matches(glob, each) for glob in known for each in commands)
    return "`" in body and any(
        # It neither begins nor ends within a word.
        span in commands[0] and re.search(rf"(?<![\w./-]){re.escape(span)}(?![\w-])", commands[0])
        for span in code_spans(body)
    )

"""The guards that are in force here, and what they say of a tool's call.

An entry with the key `guard` is one: it stops the commands and the changes of files
that its own patterns name. A broken pattern stops nothing, and is named."""

import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

from memcli.app import App
from memcli.bans.patterns import (
    CommandPattern,
    is_everything,
    matches,
    parse_pattern,
    program_of,
)
from memcli.guard.pushes import with_branches
from memcli.index import view
from memcli.index.occasions import GUARD, guarded, keys_of_guarded
from memcli.index.view import Candidate
from memcli.memory.binding import STRICTNESS
from memcli.memory.filters import Filters
from memcli.memory.values import plain_id
from memcli.named import NamedTuple
from memcli.project import git, globs
from memcli.sessions.tools import MOST, ToolCall
from memcli.storage.files import is_mine
from memcli.text.shell import Words

ASK = "ask"
DENY = "deny"
MOST_PATTERNS = 5_000
"""So many patterns are compared with one call, in the order of their files."""
MOST_WALKED = 200_000
"""So many entries of folders that a call changes are looked at for guarded files."""
MODES = tuple(STRICTNESS)
KEYS = ("commands", "paths", "unless")
"""The values of an entry that hold the patterns of its guard."""


class Guard(NamedTuple):
    """An entry that binds. `faults` are (pattern, reason) of what binds nothing;
    `identity` is all that a person's trust is of."""

    entry: str
    title: str
    mode: str
    place: str
    path: str = ""
    commands: tuple[CommandPattern, ...] = ()
    paths: tuple[str, ...] = ()
    allowed_commands: tuple[CommandPattern, ...] = ()
    allowed_paths: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()
    identity: str = ""
    written: tuple[str, ...] = ()
    """All that its patterns are, as they stand in the file."""

    @property
    def digest(self) -> str:
        """What a person's trust is kept by."""
        import hashlib  # few calls come so far

        return hashlib.sha256(self.identity.encode("utf-8", "replace")).hexdigest()

    @property
    def allowed(self) -> tuple[str, ...]:
        """The patterns of what it lets pass, as they stand in the file."""
        commands = (each.text for each in self.allowed_commands)
        return tuple(dict.fromkeys([*commands, *self.allowed_paths]))

    @property
    def binds(self) -> bool:
        """Whether it can stop anything."""
        return self.mode in MODES and bool(self.commands or self.paths)


class ToolUse(NamedTuple):
    """What a tool is about to do: a shell line's simple commands, and the files that
    it names to change, relative to the root (several names where links lead to one);
    `places` are the folders and patterns whose files it may change, `walk` tells which
    these are. `unread` says why it may do more than that, "" where all of it is seen."""

    commands: tuple[Words, ...] = ()
    files: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    walk: globs.Walk | None = None
    unread: str = ""


class Verdict(NamedTuple):
    """What a guard says of a call: `mode` deny, ask or "" (it lets it pass), what was
    `met`, and the pattern of `unless` that let it pass; `is_place` of a folder or pattern
    that may hold what is guarded. Of a call that cannot be read to its end `met` says
    why; no pattern was met."""

    guard: Guard
    mode: str
    met: str
    pattern: str
    unless: str = ""
    is_place: bool = False


def read_guard(
    entry: str,
    title: str,
    values: Mapping[str, Any],
    place: str = "",
    root: Path | None = None,
) -> Guard:
    """The guard that an entry's values make, of files below the root; what cannot bind
    is a fault."""
    faults: list[tuple[str, str]] = []
    mode = str(values.get("guard") or "")
    if mode not in MODES:
        faults.append((mode, f"guard is {' or '.join(MODES)}"))
    texts = {key: texts_of(values.get(key)) for key in KEYS}
    commands = _parsed(texts["commands"], faults)
    paths = _usable(texts["paths"], root, faults)
    allowed_paths = [_from_root(text, root) for text in texts["unless"]]
    for key in KEYS:
        number = len(_listed(values.get(key)))
        if number > globs.MOST:
            faults.append((key, f"only the first {globs.MOST} of {number:,} count"))
    if mode in MODES and not (commands or paths or faults):
        faults.append(("", "it has neither commands nor paths, so it stops nothing"))
    said = {"title": title, **texts}
    identity = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return Guard(
        entry=entry,
        title=title,
        mode=mode,
        place=place,
        commands=tuple(commands),
        paths=tuple(paths),
        allowed_commands=tuple(_parsed(texts["unless"], [])),
        allowed_paths=tuple(allowed_paths),
        faults=tuple(faults),
        identity=identity,
        written=(*texts["commands"], *texts["paths"]),
    )


def texts_of(given: object) -> tuple[str, ...]:
    """The patterns under a key of an entry, one or several."""
    listed = _listed(given)[: globs.MOST]
    return tuple(str(item) for item in listed if isinstance(item, (str, int)))


def _listed(given: object) -> Sequence[object]:
    if isinstance(given, str):
        return [given]
    return given if isinstance(given, (list, tuple)) else []


def _parsed(
    texts: Iterable[str], faults: list[tuple[str, str]]
) -> list[CommandPattern]:
    patterns = []
    for text in texts:
        try:
            patterns.append(parse_pattern(text))
        except ValueError as error:
            faults.append((text, str(error)))
    return patterns


def _usable(
    texts: Iterable[str], root: Path | None, faults: list[tuple[str, str]]
) -> list[str]:
    usable = []
    for text in texts:
        if is_everything(text.strip()):
            faults.append((text, "matches every file"))
        elif len(text) > globs.LONGEST:
            faults.append((text, f"longer than {globs.LONGEST} characters"))
        elif text.startswith("!") or not globs.usable(text):
            faults.append((text, "can match no file"))
        else:
            usable.append(_from_root(text, root))
    return usable


def _from_root(glob: str, root: Path | None) -> str:
    """A glob as seen from the root, however it leads there; outside of it from the top
    of the disk."""
    start = posixpath.normpath(root or "/")
    path = os.path.expanduser(glob)
    if path.startswith((f"{start}/", "./", "../")) or path != glob:
        path = posixpath.join(start, path)
    elif not re.search(r"/\.{0,2}/", path):
        return glob
    end = "/" if path.endswith("/") else ""
    whole = posixpath.normpath(path)
    inside = whole.removeprefix(f"{start.rstrip('/')}/")
    return (whole if inside == whole else f"/{inside}") + end


def find_guards(app: App, use: ToolUse | None = None) -> list[Guard]:
    """The guards in view, all of them or those that may bear on a call."""
    root = app.project.root
    entries = guarded_entries(app, use)
    return [_guard_of(candidate, path, root) for candidate, path in entries]


def guarded_entries(
    app: App, use: ToolUse | None = None
) -> list[tuple[Candidate, str]]:
    """The entries of `find_guards`, each with its file, in the order in which they stand
    there. Every copy counts for itself: one in the repository never lifts one's own."""
    keys = {(GUARD, "*")}
    if use is not None:
        programs = set(map(program_of, use.commands))
        keys = keys_of_guarded(programs, use.files)
    files = app.index.in_view(app.project.view, Filters())
    scope = view.select(files, Filters())
    found = app.index.entries.about(scope, guarded(app.index.db, keys))
    placed = [(each, scope.files[each.source].path) for each in found]
    return sorted(placed, key=lambda pair: (pair[1], pair[0].line, pair[0].entry))


def _guard_of(candidate: Candidate, path: str, root: Path | None) -> Guard:
    place = f"{path}:{candidate.line}"
    entry = plain_id(candidate.entry)
    guard = read_guard(entry, candidate.title, candidate.values, place, root)
    return guard._replace(path=path)


def tool_use(root: Path, call: ToolCall) -> ToolUse:
    """What a call is, as guards see it."""

    def names_of(path: str) -> list[str]:
        return git.names_of(root, path, through=path not in call.takes)

    places: list[str] = []
    for path in (*call.wholes, *call.brings):
        is_around = lies_in(Path(os.path.realpath(path)), str(root))
        places += [""] if is_around else names_of(path)
    for path in call.named:
        if os.path.lexists(path) or os.path.isdir(os.path.dirname(path)):
            places += names_of(path)
    named = map(names_of, (*call.files, *call.brings))
    is_long = len(call.files) >= MOST
    commands = [each for each in call.simple if each.words]
    return ToolUse(
        commands=tuple(with_branches(root, commands)),
        files=tuple(dict.fromkeys(chain.from_iterable(named))),
        places=tuple(dict.fromkeys(places)),
        walk=globs.Walk(str(root), MOST_WALKED),
        unread=f"it changes {MOST} or more files" if is_long else call.unread,
    )


def lies_in(root: Path, *parts: str) -> bool:
    """Whether a path, in parts, leads into the root."""
    path = os.path.realpath(os.path.join(*parts))
    return f"{path}{os.sep}".startswith(f"{root}{os.sep}")


def judge(guard: Guard, use: ToolUse) -> Verdict | None:
    """What one guard says of a call; None when it has nothing to do with it."""
    verdict: Verdict | None = None
    for verdict in chain(_run(guard, use), _touched(guard, use)):
        if not verdict.unless:
            break
    return verdict


def _run(guard: Guard, use: ToolUse) -> Iterator[Verdict]:
    """The verdict on each command of a call that the guard is of."""
    for command in use.commands:
        if pattern := _first(guard.commands, command):
            unless = _first(guard.allowed_commands, command)
            yield _verdict(guard, " ".join(command), pattern, unless)


def _touched(guard: Guard, use: ToolUse) -> Iterator[Verdict]:
    """The same of each file that it names, or place of which all is guarded; then of
    the places that hold, or may hold, what the guard asks about."""
    for name, glob in _pairs(guard, use.files):
        inside = f"{name}/*" if name in use.places else name
        if globs.covers([glob], name) or globs.covers([glob], inside):
            yield _verdict(guard, name, glob, _allowed(guard, use, name))
    for name, glob in _pairs(guard, (*use.files, *use.places)):
        is_whole = globs.covers([glob], f"{name}/*")
        is_place = is_whole or name in use.places
        if is_place and use.walk and (is_whole or use.walk.reaches(glob, name)):
            verdict = _verdict(guard, name, glob, _allowed(guard, use, name))
            yield verdict._replace(mode=verdict.mode and ASK, is_place=True)


def _pairs(guard: Guard, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names with the globs that bind there: outside of the root one that leads out
    of it alone."""
    for name, glob in product(names, guard.paths):
        if glob.startswith("/") or not name.startswith("/"):
            yield name, glob


def _verdict(guard: Guard, met: str, pattern: str, unless: str) -> Verdict:
    mode = "" if unless else guard.mode
    return Verdict(guard=guard, mode=mode, met=met, pattern=pattern, unless=unless)


def _first(patterns: Sequence[CommandPattern], command: Words) -> str:
    """The first pattern that a command matches, as it is written; "" for none."""
    return next((each.text for each in patterns if matches(each, command)), "")


def _allowed(guard: Guard, use: ToolUse, name: str) -> str:
    """The pattern of `unless` that allows a change of this file, "" without one."""
    for glob in guard.allowed_paths:
        if globs.covers([glob], name):
            return glob
    # What a redirection writes is named by no word: the whole line must be allowed.
    about = [command for command in use.commands if _names_file(command, name)]
    patterns = []
    for command in about or use.commands:
        pattern = _first(guard.allowed_commands, command)
        if not pattern:
            return ""
        patterns.append(pattern)
    return patterns[0] if patterns else ""


def _names_file(command: Words, name: str) -> bool:
    """Whether an operand of a command is a file of that name."""
    base = posixpath.basename(name)
    return any(posixpath.basename(word) == base for word in command[1:])


def strictest(app: App, use: ToolUse, trusted: Iterable[str]) -> Verdict | None:
    """The verdict that holds: deny before ask before what was let pass. A guard of the
    repository denies only when a person on this machine trusts it; until then it asks.
    A call that cannot be read to its end, or that too many patterns may bear on, is
    asked about where anything binds."""
    verdicts = []
    known = frozenset(trusted)
    patterns = 0
    is_known = not (use.unread or use.places)
    for candidate, path in guarded_entries(app, use if is_known else None):
        guard = _guard_of(candidate, path, app.project.root)
        patterns += len(guard.written)
        if patterns > MOST_PATTERNS:
            met = f"more than {MOST_PATTERNS:,} guard patterns may apply to it"
            verdicts.append(Verdict(guard=guard, mode=ASK, met=met, pattern=""))
            break
        verdict = _cautious(guard, use) if guard.binds else None
        if verdict is None:
            continue
        if verdict.mode == DENY and not may_deny(app, guard, known):
            verdict = verdict._replace(mode=ASK)
        verdicts.append(verdict)
    order = {DENY: 0, ASK: 1, "": 2}
    return min(verdicts, key=lambda each: order[each.mode], default=None)


def _cautious(guard: Guard, use: ToolUse) -> Verdict | None:
    """What a guard that binds says of a call; it asks where it would let one pass of
    which not all is seen."""
    verdict = judge(guard, use)
    if use.unread and not (verdict and verdict.mode):
        return Verdict(guard=guard, mode=ASK, met=use.unread, pattern="")
    return verdict


def may_deny(app: App, guard: Guard, trusted: frozenset[str]) -> bool:
    """Whether a guard may refuse by itself: the person's own, or one they trust."""
    return guard.digest in trusted or is_own(app, guard)


def is_own(app: App, guard: Guard) -> bool:
    """Whether a guard is this person's: in their global file, or in one that git does
    not track. Where there is no git, as in an archive that was unpacked, nothing says so."""
    root = app.project.root
    path = app.project.path_of(guard.path)
    if guard.path.startswith("~/") or root is None:
        return is_mine(os.stat(path))
    return bool(git.own_files(root, [path]))

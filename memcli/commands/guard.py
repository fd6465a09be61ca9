"""mem guard: which lessons bind, what they would stop, and switching them on and off."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from memcli.app import App
from memcli.bans.suggest import closer, missed, suggest, with_folders
from memcli.commands.add import refuse_secrets
from memcli.commands.edit import refresh_found
from memcli.commands.retire import spot_of
from memcli.errors import UsageError
from memcli.guard.guards import (
    ASK,
    DENY,
    MODES,
    Guard,
    Verdict,
    find_guards,
    is_own,
    judge,
    may_deny,
    read_guard,
    texts_of,
    tool_use,
)
from memcli.guard.lifting import decide
from memcli.guard.setting import (
    NOT_GIVEN,
    guard_values,
    patterns_of,
    suggested_values,
)
from memcli.guard.stops import Stop, stops
from memcli.history.record import opened
from memcli.index import view
from memcli.index.occasions import RULES
from memcli.index.view import Candidate
from memcli.memory.changes import ChangeSet
from memcli.memory.filters import Filters
from memcli.memory.parser import parse
from memcli.memory.values import Patch, plain_id
from memcli.memory.words import body_of
from memcli.project.context import patches_of
from memcli.project.listing import UNLISTED
from memcli.project.record import record_path
from memcli.sessions.tools import ToolCall, tool_call

MOST_STOPPED = 20
"""So many calls of the record are shown for each guard."""


class ListedGuard(NamedTuple):
    """A guard as it is listed: `effect` is what it does on this machine (deny, ask or
    nothing), `trust` own, trusted or untrusted; `faults` are "pattern: reason"; `missed`
    is what of its words it cannot match; `in_view` is its file, else it is read for what
    binds alone."""

    id: str
    title: str
    mode: str
    effect: str
    trust: str
    commands: tuple[str, ...]
    paths: tuple[str, ...]
    unless: tuple[str, ...]
    place: str
    faults: tuple[str, ...]
    stopped: int
    last_stop: str
    missed: str = ""
    in_view: bool = True


class GuardsReport(NamedTuple):
    """All guards in view, and those that were trusted just now."""

    guards: tuple[ListedGuard, ...]
    trusted: tuple[str, ...] = ()


class SetGuardReport(NamedTuple):
    """An entry whose guard was switched on or off ("off"; "none": it had none), and the
    patches. `missed` is what of its words the patterns cannot match, `closer` what they
    forbid where the patterns stop more."""

    id: str
    title: str
    place: str
    mode: str
    commands: tuple[str, ...]
    paths: tuple[str, ...]
    unless: tuple[str, ...]
    patches: tuple[Patch, ...]
    missed: str = ""
    closer: tuple[str, ...] = ()


class TryReport(NamedTuple):
    """What would happen to a call: `decision` deny, ask or None; `unless` is the
    pattern that let it pass; `is_place` of one that may change what the pattern is of."""

    decision: str | None
    call: str
    id: str | None = None
    title: str | None = None
    place: str | None = None
    pattern: str | None = None
    unless: str | None = None
    is_place: bool = False


class Suggested(NamedTuple):
    """A lesson that could bind, the patterns for it, and calls of the record that it
    would have stopped; `missed` is what they cannot match."""

    id: str
    title: str
    place: str
    commands: tuple[str, ...]
    paths: tuple[str, ...]
    unless: tuple[str, ...]
    stopped: tuple[str, ...]
    missed: str = ""


class SuggestReport(NamedTuple):
    """The lessons that could be guards, of so many that were looked at."""

    suggestions: tuple[Suggested, ...]
    lessons: int


class Stopped(NamedTuple):
    """A call of a past session that a guard would have stopped."""

    id: str
    title: str
    decision: str
    date: str
    handle: str
    call: str


class ReplayedGuards(NamedTuple):
    """What guards would have stopped of so many recorded calls."""

    calls: int
    stopped: tuple[Stopped, ...]


class PastCall(NamedTuple):
    """A recorded shell line or change of a file."""

    date: str
    handle: str
    line: str = ""
    path: str = ""


def list_guards(app: App) -> GuardsReport:
    """Every guard in view, those with faults too."""
    refresh_found(app)
    trusted = _trusted(app)
    guards = app.guarded(lambda: find_guards(app))
    noted = stops(app)
    return GuardsReport(tuple(_listed(app, guard, trusted, noted) for guard in guards))


def trust(app: App, prefix: str) -> GuardsReport:
    """Let the repository's guards (or one) refuse on this machine, as they are now."""
    refresh_found(app)
    guards = app.guarded(lambda: find_guards(app))
    chosen = [guard for guard in guards if guard.entry.startswith(prefix)]
    if not chosen:
        what = f"{prefix}: no such guard" if prefix else "there are no guards here"
        raise UsageError(what, "mem guard --suggest lists lessons that could be one")
    if not app.dry_run:
        _trust(app, chosen)
    report = list_guards(app)
    return report._replace(trusted=tuple(guard.entry for guard in chosen))


def _trust(app: App, guards: Sequence[Guard]) -> None:
    day = app.today
    with app.state() as state:
        state.trust((guard.digest for guard in guards), day)


def set_guard(
    app: App,
    prefix: str,
    mode: str,
    given: Mapping[str, Sequence[str]] = NOT_GIVEN,
) -> SetGuardReport:
    """Switch a guard on (ask, deny) or "off", with the patterns that are `given` for
    commands, paths and unless. Without any an entry gets the suggested ones. Raises
    UsageError when there is nothing it could stop, RefusedError for a secret."""
    refuse_secrets("\n\n".join(chain.from_iterable(given.values())))
    refresh_found(app)

    def plan() -> SetGuardReport:
        changes = ChangeSet(today=app.today)
        _, spot = spot_of(app, changes, prefix, adopts=True)
        path, number = spot
        entry = changes.original(spot)
        title, body = with_folders(app.project.root, entry.title, entry.body)
        values = guard_values(entry._replace(title=title, body=body), mode, given)
        changes.set(spot, **values)
        written = parse(changes.texts()[path], path).entries[number]
        after = {**entry.extra, **values}
        commands = texts_of(after.get("commands"))
        return SetGuardReport(
            id=entry.id,
            title=entry.title,
            place=f"{path}:{written.line}",
            mode=str(values["guard"] or ("off" if "guard" in entry.extra else "none")),
            commands=commands,
            paths=texts_of(after.get("paths")),
            unless=texts_of(after.get("unless")),
            patches=patches_of(app.project, changes),
            missed=missed(title, commands),
            closer=closer(title, body, commands),
        )

    report = app.write(plan, "guard")
    if not app.dry_run:
        app.project.relist()
        refresh_found(app)
    if report.mode == DENY and not app.dry_run:  # who sets it has read its words
        guards = app.guarded(lambda: find_guards(app))
        _trust(app, [guard for guard in guards if guard.place == report.place])
    return report


def try_call(app: App, line: str, path: str) -> TryReport:
    """What would happen to a shell line, or to a change of a file, and why."""
    report = TryReport(decision=None, call=line or path)
    if not app.project.listing.files:
        return report
    refresh_found(app)
    trusted = _trusted(app)
    verdict = app.guarded(lambda: decide(app, _call(app, line, path), {}, trusted))
    if verdict is None:
        return report
    guard = verdict.guard
    return report._replace(
        decision=verdict.mode or None,
        id=guard.entry or None,
        title=guard.title,
        place=guard.place or None,
        pattern=verdict.pattern,
        unless=verdict.unless or None,
        is_place=verdict.is_place,
    )


def _call(app: App, line: str, path: str) -> ToolCall:
    """A shell line with the files it changes, and a change of a file."""
    cwd = str(app.project.cwd)
    call = tool_call({"command": line}, cwd)
    return call._replace(files=(*call.files, *tool_call({"path": path}, cwd).files))


def suggest_guards(app: App, prefix: str = "") -> SuggestReport:
    """The lessons that could bind, and what each would have stopped."""
    refresh_found(app)
    calls = list(past_calls(app))
    files = app.index.in_view(app.project.view, Filters())
    scope = view.select(files, Filters(type=RULES))
    suggestions = []
    lessons = 0
    for candidate in app.guarded(lambda: app.index.entries.select(scope)):
        is_entry = bool(candidate.values.get("written")) and candidate.part == 0
        if not is_entry or not plain_id(candidate.entry).startswith(prefix):
            continue
        lessons += 1
        path = scope.files[candidate.source].path
        suggested = _suggested(app, candidate, f"{path}:{candidate.line}", calls)
        if suggested is not None:
            suggestions.append(suggested)
    return SuggestReport(tuple(suggestions), lessons)


def _suggested(
    app: App, candidate: Candidate, place: str, calls: Sequence[PastCall]
) -> Suggested | None:
    values = dict(candidate.values)
    if values.get("guard") in MODES:
        return None
    text = app.guarded(lambda: app.index.entries.text(candidate))
    body = body_of(text, candidate.title)
    title, body = with_folders(app.project.root, candidate.title, body)
    patterns = suggest(title, body)
    if not (patterns.commands or patterns.paths):
        return None
    patterns = patterns_of(title, body, values)
    wanted = {"guard": DENY, **suggested_values(patterns, {})}
    guard = read_guard(candidate.entry, candidate.title, wanted, place)
    stopped = [call.line or call.path for call, _ in _stops(app, guard, calls)]
    return Suggested(
        id=plain_id(candidate.entry),
        title=candidate.title,
        place=place,
        commands=patterns.commands,
        paths=patterns.paths,
        unless=patterns.unless,
        stopped=tuple(dict.fromkeys(stopped))[:MOST_STOPPED],
        missed=missed(title, patterns.commands),
    )


def replay(app: App, prefix: str = "") -> ReplayedGuards:
    """What the guards, or the one named, would have stopped in past sessions."""
    refresh_found(app)
    calls = list(past_calls(app))
    trusted = _trusted(app)
    stopped = []
    for guard in app.guarded(lambda: find_guards(app)):
        if not plain_id(guard.entry).startswith(prefix) or not guard.binds:
            continue
        can_deny = may_deny(app, guard, trusted)
        for call, verdict in _stops(app, guard, calls):
            stopped.append(
                Stopped(
                    id=plain_id(guard.entry),
                    title=guard.title,
                    decision=verdict.mode if can_deny else ASK,
                    date=call.date,
                    handle=call.handle,
                    call=verdict.met,
                )
            )
    return ReplayedGuards(len(calls), tuple(stopped))


def _stops(
    app: App, guard: Guard, calls: Sequence[PastCall]
) -> Iterator[tuple[PastCall, Verdict]]:
    root = app.project.root or app.project.cwd
    for call in calls:
        use = tool_use(root, _call(app, call.line, call.path))
        verdict = judge(guard, use)
        if verdict is not None and verdict.mode:
            yield call, verdict


def past_calls(app: App) -> Iterator[PastCall]:
    """The shell lines and changes of files of past sessions, as the record has them."""
    with opened(record_path(app.project)) as record:
        if record is None:
            return
        for _, doc in record.select("source = 'session' AND live ORDER BY date, turn"):
            past = PastCall(date=doc.date, handle=doc.handle)
            for text in doc.about.get("commands", ()):
                yield past._replace(line=text)
            for text in doc.about.get("paths", ()):
                yield past._replace(path=text)


def _trusted(app: App) -> frozenset[str]:
    nothing: frozenset[str] = frozenset()
    return app.from_state(lambda state: state.trusted(), nothing, make=False)


def _listed(
    app: App, guard: Guard, trusted: frozenset[str], noted: Sequence[Stop]
) -> ListedGuard:
    is_mine = is_own(app, guard)
    file = app.project.found(guard.path)
    stop_days = [each.at[:10] for each in noted if each.entry == guard.entry]
    is_trusted = guard.digest in trusted
    effect = ""
    if guard.binds:
        deny = guard.mode == DENY and (is_mine or is_trusted)
        effect = DENY if deny else ASK
    commands = tuple(command.text for command in guard.commands)
    return ListedGuard(
        id=plain_id(guard.entry),
        title=guard.title,
        mode=guard.mode,
        effect=effect,
        trust=_trust_of(own=is_mine, known=is_trusted),
        commands=commands,
        missed=missed(guard.title, commands),
        paths=guard.paths,
        unless=guard.allowed,
        place=guard.place,
        faults=tuple(
            f"{pattern}: {reason}".strip(": ") for pattern, reason in guard.faults
        ),
        stopped=len(stop_days),
        last_stop=max(stop_days, default=""),
        in_view=file is None or file.place.of != UNLISTED,
    )


def _trust_of(*, own: bool, known: bool) -> str:
    if own:
        return "own"
    return "trusted" if known else "untrusted"

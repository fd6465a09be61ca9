"""The values that switch an entry's guard on or off."""

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from memcli.bans.clauses import parts_of
from memcli.bans.suggest import Suggestion, for_entry, in_folders, suggest
from memcli.errors import UsageError
from memcli.guard.guards import ASK, DENY, KEYS, read_guard, texts_of
from memcli.memory.values import Entry
from memcli.memory.words import body_of
from memcli.text.matching import verbose

NOT_GIVEN: Mapping[str, Sequence[str]] = MappingProxyType({})


def guard_values(
    entry: Entry, mode: str, given: Mapping[str, Sequence[str]] = NOT_GIVEN
) -> dict[str, object]:
    """The values to set: the mode, and patterns that were given or are suggested."""
    if mode == "off":
        return {"guard": None}
    if mode == DENY:
        entry, mode = _denied(entry)
    values: dict[str, object] = {"guard": mode}
    values |= {key: list(texts) for key, texts in given.items() if texts}
    if _is_unchosen(entry.extra) or values.keys().isdisjoint(KEYS[:2]):
        values |= _suggested_for(entry, values)
    has_exceptions = values.get("unless") or entry.extra.get("unless")
    if _is_found(entry.extra) and not has_exceptions:
        values["unless"] = []  # says that a person chose the patterns: `patterns_of`
    checked = read_guard(entry.id, entry.title, {**entry.extra, **values})
    for pattern, reason in checked.faults:
        raise UsageError(f"{pattern}: {reason}", "mem guard --help")
    return values


def _denied(entry: Entry) -> tuple[Entry, str]:
    """What of an entry is refused, and the mode: what a rule allows with consent is
    asked about; where it forbids something else without a condition, the guard is of
    that."""
    if not consent().search(f"{entry.title}\n{entry.body}"):
        return entry, DENY
    firm = entry._replace(title=_firm(entry.title), body=_firm(entry.body))
    made = suggest(firm.title, firm.body)
    return (firm, DENY) if made.commands or made.paths else (entry, ASK)


def _firm(text: str) -> str:
    """A text without the clauses that have a condition of consent."""
    clauses = clause_end().split(text)
    return "\n".join(each for each in clauses if not consent().search(each))


@verbose
def clause_end() -> str:
    """Where a clause of a rule ends."""
    return r"(?<= [.!?;] ) \s+ | \n+ | , \s+ (?= (?: and | or | but | never ) \b )"


@verbose(ignore_case=True)
def consent() -> str:
    """A condition of consent: "without asking me", "unless I say so"."""
    return r"""
        \b without \s (?: first \s | explicitly \s )? asking \b
      | \b without \s (?: (?: my | our | explicit | prior | the \s user's ) \s )*
            (?: permission | approval | consent | confirmation ) \b
      | \b (?: unless | until ) \s (?: (?: I | we | the \s user | explicitly ) \s )+
            (?: explicitly \s )? (?: say | ask | tell | told | request | approv | agree
              | confirm | allow ) \w*
      | \b (?: unless | until ) \s (?: asked | told | requested | approved ) \b
    """


def _suggested_for(entry: Entry, given: dict[str, object]) -> dict[str, object]:
    """The patterns to set beside those `given`, from what the entry says: what ran
    beside a correction is no match for what a person gives. Raises UsageError where
    there is none."""
    body = body_of(entry.body, entry.title)
    is_given = not given.keys().isdisjoint(KEYS[:2])
    is_beside = is_given and "session_id" in entry.extra
    left = {key: None for key in KEYS if is_beside}
    made = patterns_of(entry.title, body, {**entry.extra, **left})
    was_guard = bool(entry.extra.get("guard"))
    # without a ban its `paths` say where the rule holds, not what may not be changed
    bans = was_guard or bool(list(parts_of(f"{entry.title}\n{body}")))
    is_clear = bool(made.commands) or (bool(made.paths) and bans)
    if not (is_given or is_clear):
        what = f"{entry.id[:8]}: its text does not say clearly what it forbids"
        stopped = "--command 'git push --force*', or --path 'src/**'"
        if made.paths:
            stopped = f"--path {shlex.quote(made.paths[0])}"
        raise UsageError(what, f"mem guard {entry.id[:8]} {stopped}")
    replaced = [key for key in KEYS if key in entry.extra and key not in given]
    patterns = dict.fromkeys(replaced)
    return patterns | suggested_values(made, given)


def _is_found(values: Mapping[str, object]) -> bool:
    """Whether an entry was learned or imported."""
    return bool(values.get("session_id") or values.get("source"))


def _is_unchosen(values: Mapping[str, object]) -> bool:
    """Whether nobody has chosen the patterns of an entry that was found."""
    was_chosen = "unless" in values or bool(values.get("guard"))
    return _is_found(values) and not was_chosen


def patterns_of(title: str, body: str, values: Mapping[str, object]) -> Suggestion:
    """The patterns of an entry: those that stand in it, where a session left them its
    words before them, without any what the words suggest. Of imported rules `paths` are
    the folders in which they hold, and no ban. An entry whose guard was ever on has the
    key `unless`: its patterns were chosen."""
    written = Suggestion(**{key: texts_of(values.get(key)) for key in KEYS})
    is_unchosen = _is_unchosen(values)
    is_learned = is_unchosen and bool(values.get("session_id"))
    if is_unchosen and not is_learned and not written.commands:
        return in_folders(suggest(title, body), written.paths)
    if is_learned or not (written.commands or written.paths):
        return for_entry(title, body, written)
    return written


def suggested_values(made: Suggestion, known: dict[str, object]) -> dict[str, object]:
    """What a suggestion sets of an entry that has not these keys yet."""
    patterns = made._asdict().items()
    return {key: list(texts) for key, texts in patterns if texts and key not in known}

"""The values that switch an entry's guard on or off."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from memcli.errors import UsageError
from memcli.guard.guards import read_guard
from memcli.guard.suggest import Suggestion, suggest
from memcli.memory.values import Entry
from memcli.memory.words import body_of

NOT_GIVEN: Mapping[str, Sequence[str]] = MappingProxyType({})


def guard_values(
    entry: Entry, mode: str, given: Mapping[str, Sequence[str]] = NOT_GIVEN
) -> dict[str, object]:
    """The values to set: the mode, and patterns that were given or are suggested."""
    if mode == "off":
        return {"guard": None}
    values: dict[str, object] = {"guard": mode}
    values |= {key: list(texts) for key, texts in given.items() if texts}
    has_patterns = any(
        values.get(k) or entry.extra.get(k) for k in ("commands", "paths")
    )
    if not has_patterns:
        made = suggest(entry.title, body_of(entry.body, entry.title))
        if not made.commands and not made.paths:
            what = f"{entry.id[:8]}: what it forbids is not clear from its words"
            hint = f"mem guard {entry.id[:8]} --command 'git push --force*'"
            raise UsageError(what, hint)
        values |= suggested_values(made, values)
    checked = read_guard(entry.id, entry.title, {**entry.extra, **values}, "", "")
    for pattern, reason in checked.faults:
        raise UsageError(f"{pattern}: {reason}", "mem guard --help")
    return values


def suggested_values(made: Suggestion, known: dict[str, object]) -> dict[str, object]:
    """What a suggestion sets of an entry that has not these keys yet."""
    patterns = {
        "commands": list(made.commands),
        "paths": list(made.paths),
        "unless": list(made.unless),
    }
    return {key: texts for key, texts in patterns.items() if texts and key not in known}

"""The entries that bind an agent (`guard`), and those that bind it less after a change.
Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memcli.errors import RefusedError
from memcli.memory.parser import parse
from memcli.memory.values import Entry
from memcli.named import NamedTuple

STRICTNESS = {"ask": 1, "deny": 2}
"""What a guard does, and how much it binds."""
MOST_PATTERNS = 200
"""Only the first patterns of an entry bind: so many of each kind."""


class Binding(NamedTuple):
    """What a guard binds. It binds more with more `commands` and `paths`, and less with
    more `unless`."""

    entry: str
    title: str
    strictness: int
    commands: frozenset[str]
    paths: frozenset[str]
    unless: frozenset[str]

    def holds(self, before: "Binding", *, titled: bool) -> bool:
        """Whether this guard is the earlier one (same title or, unless `titled`, same
        id) and still binds all that it bound."""
        return (
            (self.title == before.title or (self.entry == before.entry and not titled))
            and self.strictness >= before.strictness
            and self.commands >= before.commands
            and self.paths >= before.paths
            and self.unless <= before.unless
        )


def strictness_of(values: Mapping[str, Any]) -> int:
    """How strictly an entry with these values binds; 0 for not at all."""
    return STRICTNESS.get(str(values.get("guard")), 0)


def binds(entry: Entry) -> bool:
    """Whether an entry binds; only a person may lift such a guard."""
    return strictness_of(entry.extra) > 0 and entry.is_live


def bound(text: str, path: str = "") -> list[Entry]:
    """The entries of a memory file that bind."""
    return list(filter(binds, parse(text, path).entries)) if "guard" in text else []


def bindings(text: str) -> Iterator[Binding]:
    """What the entries of a memory file bind to."""
    for entry in bound(text):
        yield Binding(
            entry=entry.id,
            title=entry.title,
            strictness=strictness_of(entry.extra),
            commands=_texts(entry.extra.get("commands")),
            paths=_texts(entry.extra.get("paths")),
            unless=_texts(entry.extra.get("unless")),
        )


def _texts(given: object) -> frozenset[str]:
    texts = given if isinstance(given, (list, tuple)) else [given or ()]
    return frozenset(map(str, filter(None, texts[:MOST_PATTERNS])))


def loosened(
    before: Iterable[str], after: Iterable[str], *, titled: bool = False
) -> list[Binding]:
    """The guards of some texts that bind less in the texts that replace them, or that
    have another title there if `titled`."""
    bindings_before = [binding for text in before for binding in bindings(text)]
    if not bindings_before:
        return []
    bindings_after = [binding for text in after for binding in bindings(text)]
    return [
        binding
        for binding in bindings_before
        if not any(later.holds(binding, titled=titled) for later in bindings_after)
    ]


def refuse_loosening(before: Iterable[str], after: Iterable[str]) -> None:
    """Raise RefusedError if a guard would bind less than before."""
    for guard in loosened(before, after):
        message = f"this would lift the guard {guard.title!r}; nothing is written"
        raise RefusedError(message, f"mem guard --off {guard.entry[:8]} lifts it")

"""The entries that bind an agent (`guard`), and those that bind it less after a change
than before. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memcli.errors import RefusedError
from memcli.memory.parser import parse
from memcli.memory.values import Entry
from memcli.named import NamedTuple

STRICTNESS = {"ask": 1, "deny": 2}
"""What a guard does, and how much it binds."""
MOST_PATTERNS = 200
"""So many patterns of one entry, of each kind, bind."""


class Binding(NamedTuple):
    """What an entry binds to: the more `commands` and `paths`, and the less `unless`,
    the more it binds."""

    entry: str
    title: str
    strictness: int
    commands: frozenset[str]
    paths: frozenset[str]
    unless: frozenset[str]

    def holds(self, before: "Binding", *, titled: bool) -> bool:
        """Whether this is the guard of before, by its title or its id too unless
        `titled`, and binds all that was bound."""
        return (
            (self.title == before.title or (self.entry == before.entry and not titled))
            and self.strictness >= before.strictness
            and self.commands >= before.commands
            and self.paths >= before.paths
            and self.unless <= before.unless
        )


def strictness_of(values: Mapping[str, Any]) -> int:
    """How much an entry with these values binds; 0 for not at all."""
    return STRICTNESS.get(str(values.get("guard")), 0)


def binds(entry: Entry) -> bool:
    """Whether an entry binds: no more than a person may lift that."""
    return strictness_of(entry.extra) > 0 and entry.is_live


def bound(text: str, path: str = "") -> list[Entry]:
    """The entries of a memory file that bind."""
    return [*filter(binds, parse(text, path).entries)] if "guard" in text else []


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
    """The entries of some texts that bind less in the texts that take their place, or,
    with `titled`, have another title there."""
    bindings_before = [binding for text in before for binding in bindings(text)]
    if not bindings_before:
        return []
    bindings_after = [binding for text in after for binding in bindings(text)]
    return [
        each
        for each in bindings_before
        if not any(one.holds(each, titled=titled) for one in bindings_after)
    ]


def refuse_loosening(before: Iterable[str], after: Iterable[str]) -> None:
    """Raises RefusedError where an entry would bind less than before."""
    for guard in loosened(before, after):
        message = f"this would lift the guard {guard.title!r}; nothing is written"
        raise RefusedError(message, f"mem guard --off {guard.entry[:8]} lifts it")

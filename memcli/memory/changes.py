"""Change memory files and their archives by splices; refuse any that would not read
back as planned."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from memcli.errors import DataError
from memcli.memory import front_matter
from memcli.memory.bodies import safe_body
from memcli.memory.diff import apply_edits
from memcli.memory.entry_values import (
    CORE_KEYS,
    TYPE_OF_KIND,
    make_entry,
    read_values,
)
from memcli.memory.grammar import (
    BLANKS,
    body_digest,
    derived_id,
    eol_of,
    with_line_feeds,
)
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.tombstones import is_tombstone
from memcli.memory.values import ARCHIVE, Edit, Entry, archive_of, source_of

ARCHIVE_KEYS = ("archived_at", "archived_from", "archived_because")
FOLLOWING = frozenset(
    "title line start end written identified date touched shared_id".split()
)
"""Fields that follow from the text of an entry and its place. The guard against loss
compares every other field, so a field added to `Entry` is guarded by default."""
Spot = tuple[str, int]  # the path of a file and the place of an entry among its entries


class EntryChange(NamedTuple):
    """A change of the entry at place `at`; None removes a value. Without `at`, `text`
    is appended."""

    at: int | None = None
    values: Mapping[str, Any] = {}
    body: str | None = None
    remove: bool = False
    text: str = ""


def render_entry(values: Mapping[str, Any], body: str, line_end: str = "\n") -> str:
    """The text of a new entry: core keys in their order, other keys, `written`, the
    body."""
    body = safe_body(body)
    core = {key: values[key] for key in CORE_KEYS if key in values}
    written = {"written": body_digest(body)}
    block = front_matter.render(core | given(values) | written, line_end)
    return block + body.replace("\n", line_end) + line_end


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def edited(file: MemoryFile, changes: Iterable[EntryChange]) -> MemoryFile:
    """Make `changes` to a file by splices. Raises `DataError` unless the result reads
    back as planned."""
    changes = [_with_safe_body(change) for change in changes]
    edits = []
    for change in changes:
        if change.at is not None:
            edits += _edits(file.text, file.entries[change.at], change)
    text = apply_edits(file.text, edits)
    line_end = eol_of(text)
    parts = [text]
    tail = text[-4000:]
    for change in changes:
        if change.at is None:
            parts.append(glue(tail, line_end) + change.text)
            tail = (tail + parts[-1])[-4000:]
    after = parse("".join(parts), file.path)
    _verify(file, changes, after)
    return after


def _with_safe_body(change: EntryChange) -> EntryChange:
    if change.body is None:
        return change
    body = safe_body(change.body)
    values = {**change.values, "written": body_digest(body)}
    return change._replace(body=body, values=values)


def glue(tail: str, line_end: str) -> str:
    """The line ends that put a blank line between an entry and the text before it."""
    *above, last = re.split(r"\r\n|\n|\r", tail.lstrip("\ufeff"))
    if last.strip():
        return line_end * 2
    line_above = above[-1] if above else ""
    is_parted = not last and not line_above.strip()
    return "" if is_parted else line_end


def _edits(text: str, entry: Entry, change: EntryChange) -> list[Edit]:
    if change.remove:
        return [Edit(entry.start, entry.end, "")]
    inner, close, below = block_offsets(text, entry)
    line_end = eol_of(text[entry.start : entry.end])
    edits = []
    if change.values:
        block = with_line_feeds(text[inner:close])
        edits = [
            Edit(edit.start + inner, edit.end + inner, edit.new)
            for edit in front_matter.plan_values(block, change.values, line_end)
        ]
    if change.body is not None:
        body = change.body.replace("\n", line_end)
        start = text.index(entry.body, below)
        if not entry.body:
            begins_line = text[:below].endswith(("\n", "\r"))
            body = ("" if begins_line else line_end) + body + line_end
        edits.append(Edit(start, start + len(entry.body), body))
    return edits


def block_offsets(text: str, entry: Entry) -> tuple[int, int, int]:
    """Offsets of the block's first line, of its closing delimiter and of the line after
    that."""
    scan = with_line_feeds(text[entry.start : entry.end])
    rules = re.finditer(r"^---[ \t]*\r?(?:\n|\Z)", scan, re.MULTILINE)
    opening = next(rules)
    closing = next(rules)
    return (
        entry.start + opening.end(),
        entry.start + closing.start(),
        entry.start + closing.end(),
    )


def _verify(before: MemoryFile, changes: list[EntryChange], after: MemoryFile) -> None:
    """Raise DataError unless all entries and all prose stand there as planned."""
    planned = _wanted(before, changes)
    read_back = list(map(essence, after.entries))
    same_prose = full_lines(prose_of(before)) == full_lines(prose_of(after))
    if planned == read_back and same_prose:
        return
    triples = zip(planned, read_back, after.entries, strict=False)
    differing = [entry for plan, found, entry in triples if plan != found]
    suspects = [*differing, *after.entries[-1:]]
    line = suspects[0].line if suspects else 1
    raise DataError(
        "a planned change does not read back as planned; nothing is written"
        f" ({before.path}:{line})",
        f"look at the front matter and code fences there: mem doctor {before.path}",
    )


def prose_of(memory: MemoryFile) -> list[str]:
    """The text of each stretch of prose."""
    return [
        memory.text[segment.start : segment.end]
        for segment in memory.segments
        if segment.kind == "prose"
    ]


def full_lines(parts: Iterable[str]) -> list[str]:
    """The lines that are not blank: when an entry goes, the stretches of prose around
    it join."""
    lines = re.split(r"[\r\n]", "\n".join(parts))
    return [line for line in lines if line.strip(BLANKS)]


def essence(entry: Entry) -> dict[str, Any]:
    """What a change must keep of an entry: everything that does not follow from its
    text or place. A derived id depends on the place, too, and does not count: of an id
    that two entries share, what the file says does."""
    essential = {
        name: getattr(entry, name) for name in Entry._fields if name not in FOLLOWING
    }
    essential["id"] = entry.stated_id
    essential["extra"] = {key: str(value) for key, value in entry.extra.items()}
    return essential


def _wanted(before: MemoryFile, changes: list[EntryChange]) -> list[dict[str, Any]]:
    by_place = defaultdict(list)
    for change in changes:
        by_place[change.at].append(change)
    expected = []
    for place, entry in enumerate(before.entries):
        if not any(change.remove for change in by_place[place]):
            expected.append(_changed(before, entry, by_place[place]))
    for change in by_place[None]:
        expected += parse(change.text, before.path).entries
    return list(map(essence, expected))


def _changed(file: MemoryFile, entry: Entry, changes: list[EntryChange]) -> Entry:
    if not changes:
        return entry
    inner, close, _ = block_offsets(file.text, entry)
    block = with_line_feeds(file.text[inner:close])
    written_values = dict(front_matter.read(block).values)
    body = entry.body
    for change in changes:
        for key, value in change.values.items():
            written_values[key] = front_matter.as_written(value)
        if change.body is not None:
            line_end = eol_of(file.text[entry.start : entry.end])
            body = change.body.replace("\n", line_end).strip(BLANKS)
    values, _ = read_values(written_values)
    return make_entry(values, body)._replace(identified=bool(values["id"]))


class Event(NamedTuple):
    """One thing that was done or found: `what` happened to `ids` (the survivor
    first) in `path`."""

    what: str
    path: str
    ids: tuple[str, ...]
    detail: str = ""


def new_values(id: str, today: str, **given_values: Any) -> dict[str, Any]:
    """The front matter of a new entry, in the order of the format: the given values
    that are not empty replace the defaults. The type goes by the kind."""
    values = {
        key: value for key, value in given_values.items() if value not in (None, "", [])
    }
    return {
        "id": id,
        "type": TYPE_OF_KIND.get(values.get("kind", ""), "declarative"),
        "domain": "team",
        "importance": 0.5,
        "phase": "unknown",
        "status": "active",
        "reinforcement_count": 0,
        "last_reinforced": today,
        "created_at": today,
        **values,
    }


def copied_values(
    entry: Entry, id: str, today: str, keys: Iterable[str]
) -> dict[str, Any]:
    """The front matter of a copy: how the entry is judged, and its values of `keys`."""
    return new_values(
        id,
        today,
        type=entry.type,
        domain=entry.domain,
        importance=entry.importance,
        phase=entry.phase,
        reinforcement_count=entry.reinforcement_count,
        last_reinforced=entry.last_reinforced or today,
        kind=entry.kind,
        **{key: entry.extra.get(key) for key in keys},
    )


class _Copy(NamedTuple):
    """Why an entry is archived as it was read, and which values are added there."""

    because: str
    values: Mapping[str, Any]


class _Plan:
    """What is planned for one entry, and the entry as it will be (`now`)."""

    def __init__(self, entry: Entry) -> None:
        self.now = entry
        self.values: dict[str, Any] = {}
        self.body: str | None = None
        self.leaves = ""
        self.copy: _Copy | None = None

    @property
    def is_change(self) -> bool:
        """Whether the plan changes the file; a copy alone only changes the archive."""
        return bool(self.values or self.leaves) or self.body is not None

    def change(self, place: int) -> EntryChange:
        """The change of the entry at a place of its file."""
        if self.leaves:
            return EntryChange(at=place, remove=True)
        return EntryChange(at=place, values=self.values, body=self.body)


class ChangeSet:
    """Planned changes to the entries of some files; `done` and `found` are for the
    report."""

    def __init__(self, files: Iterable[MemoryFile] = (), today: str = "") -> None:
        self.files = {file.path: file for file in files}
        self.today = today
        self.done: list[Event] = []
        self.found: list[Event] = []
        # For the report: what was done, and what was found and left as it is.
        self.note = partial(_add_event, self.done)
        self.tell = partial(_add_event, self.found)
        self._fresh: set[str] = set()
        self._plans: dict[Spot, _Plan] = {}
        self._added: dict[str, list[str]] = {}

    def _plan(self, spot: Spot) -> _Plan:
        if spot not in self._plans:
            self._plans[spot] = _Plan(self.original(spot))
        return self._plans[spot]

    def _archived(self, spot: Spot, copy: _Copy) -> str:
        """The entry verbatim, with the day, the file and the reason in its front
        matter."""
        memory = self.files[spot[0]]
        entry = self.original(spot)
        entry_text = memory.text[entry.start : entry.end].rstrip(BLANKS)
        alone = parse(entry_text + eol_of(memory.text), memory.path)
        why = (self.today, memory.path, copy.because)
        values = dict(zip(ARCHIVE_KEYS, why, strict=True))
        if not entry.identified:
            values["id"] = entry.id
        values.update(copy.values)
        return edited(alone, [EntryChange(at=0, values=values)]).text

    def hold(self, file: MemoryFile, *, changed: bool = False) -> None:
        """Add a file, or replace the one of that path; `changed`: its text is new."""
        self.files[file.path] = file
        if changed:
            self._fresh.add(file.path)

    def file(self, path: str) -> MemoryFile:
        """The file as it was read; one that does not exist is empty."""
        return self.files.setdefault(path, parse("", path))

    def entry(self, spot: Spot) -> Entry:
        """An entry as the changes so far have left it."""
        plan = self._plans.get(spot)
        return self.original(spot) if plan is None else plan.now

    def original(self, spot: Spot) -> Entry:
        """An entry as it was read."""
        path, place = spot
        return self.files[path].entries[place]

    def leaves(self, spot: Spot) -> str:
        """Why an entry leaves its file, "" when it stays."""
        plan = self._plans.get(spot)
        return "" if plan is None else plan.leaves

    def set(self, spot: Spot, **values: Any) -> None:
        """Set values of an entry; None removes a key."""
        plan = self._plan(spot)
        fields: dict[str, Any] = {}
        extra = dict(plan.now.extra)
        for key, value in values.items():
            holder = fields if key in Entry._fields else extra
            holder[key] = value
        plan.values.update(values)
        plan.now = plan.now._replace(**given(fields), extra=given(extra))

    def replace(self, spot: Spot, body: str, because: str = "") -> None:
        """Give an entry another body; with `because`, the old one goes to the
        archive."""
        plan = self._plan(spot)
        plan.body = body
        plan.now = plan.now._replace(body=body)
        if because:
            self.keep(spot, because)

    def strengthen(self, spot: Spot, day: str, **values: Any) -> None:
        """Count one more use, the last one on this day, and set these values."""
        entry = self.entry(spot)
        count = entry.reinforcement_count + 1
        last = max(day, entry.last_reinforced)
        self.set(spot, reinforcement_count=count, last_reinforced=last, **values)

    def supersede(self, spot: Spot, body: str) -> str:
        """Give an entry other words and archive the old ones. Returns the id that they
        have there."""
        entry = self.original(spot)
        old_id = derived_id(entry.id, entry.body)
        self.keep(
            spot,
            "superseded",
            id=old_id,
            status="retired",
            superseded_by=entry.id,
            retired_because="superseded",
        )
        self.replace(spot, body)
        return old_id

    def keep(self, spot: Spot, because: str, **values: Any) -> None:
        """Copy an entry as it was read to the archive of its file."""
        plan = self._plan(spot)
        plan.copy = plan.copy or _Copy(because, values)

    def archive(self, spot: Spot, because: str, **values: Any) -> None:
        """Move an entry as it was read to the archive of its file."""
        plan = self._plan(spot)
        plan.leaves = because
        plan.copy = _Copy(because, values)

    def drop_copy(self, spot: Spot) -> None:
        """Remove one copy of an entry that an archive holds twice."""
        self._plan(spot).leaves = "twice"

    def copies(self) -> dict[tuple[str, str, str], tuple[Spot, _Copy]]:
        """Where each wording that goes to an archive stands, by archive, id and body:
        each goes there once, and as taken back rather than as merged."""
        copies: dict[tuple[str, str, str], tuple[Spot, _Copy]] = {}
        for spot, plan in sorted(self._plans.items()):
            if copy := plan.copy:
                entry = self.original(spot)
                entry_id = str(copy.values.get("id", entry.id))
                key = (archive_of(spot[0]), entry_id, entry.body)
                if key not in copies or copy.because != "merged":
                    copies[key] = spot, copy
        return copies

    def add(self, path: str, values: Mapping[str, Any], body: str) -> None:
        """Append a new entry; values that are None are left out."""
        line_end = eol_of(self.file(path).text)
        self.append(path, render_entry(given(values), body, line_end))

    def append(self, path: str, text: str) -> None:
        """Append the text of an entry unchanged."""
        self.file(path)
        self._added.setdefault(path, []).append(text)

    def restore(self, spot: Spot, **values: Any) -> str:
        """Bring an archived entry back into its file. Returns the path of that file."""
        archive = self.files[spot[0]]
        entry = self.original(spot)
        home = source_of(spot[0])
        entry_text = archive.text[entry.start : entry.end].strip("\r\n") + "\n"
        values_there = {**dict.fromkeys(ARCHIVE_KEYS), **values}
        change = EntryChange(at=0, values=values_there)
        self.append(home, edited(parse(entry_text, archive.path), [change]).text)
        came_back(self, entry.id)
        return home

    def texts(self) -> dict[str, str]:
        """The new texts by path; raises DataError when one would not read back as
        planned."""
        changes = defaultdict[str, list[EntryChange]](list)
        for path in sorted(self._fresh):
            changes[path] = []
        for (path, place), plan in sorted(self._plans.items()):
            if plan.is_change:
                changes[path].append(plan.change(place))
        for path, text in self._new_texts():
            changes[path].append(EntryChange(text=text))
        return {
            path: _ended(self.file(path), of_file) for path, of_file in changes.items()
        }

    def _new_texts(self) -> Iterator[tuple[str, str]]:
        """The path and text of each entry that is new in its file or archive."""
        for path, texts in self._added.items():
            yield from ((path, text) for text in texts)
        for (archive, _, _), (spot, copy) in self.copies().items():
            yield archive, self._archived(spot, copy)


def came_back(changes: ChangeSet, id: str, live: Mapping[str, Any] = {}) -> bool:
    """Set the values `live` on an entry where it was retired, and mark it as restored
    in archives. Returns whether there was such an entry."""
    is_found = False
    for path, file in changes.files.items():
        archived = path.endswith(ARCHIVE)
        values = {"archived_because": "restored"} if archived else live
        for number, entry in enumerate(file.entries):
            gone = is_tombstone(entry, archived=True) if archived else not entry.is_live
            if entry.id == id and gone:
                changes.set((path, number), **values)
                is_found = True
    return is_found


def _add_event(
    events: list[Event], what: str, path: str, ids: Iterable[str], detail: str = ""
) -> None:
    events.append(Event(what=what, path=path, ids=tuple(ids), detail=detail))


def _ended(file: MemoryFile, changes: list[EntryChange]) -> str:
    """The new text, without the blank line before a last entry that is removed."""
    text = edited(file, changes).text if changes else file.text
    if _line_ends_at_end(file.text) < 2 <= _line_ends_at_end(text):
        return text[: text.rindex("\n", 0, text.rindex("\n")) + 1]
    return text


def _line_ends_at_end(text: str) -> int:
    return text.count("\n", len(text.rstrip(BLANKS)))

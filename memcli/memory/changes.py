"""Changes to memory files and their archives: splices, refused unless they read back as
planned."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, NamedTuple

from memcli.errors import DataError
from memcli.memory import front_matter
from memcli.memory.diff import apply_edits
from memcli.memory.entry_values import CORE_KEYS, make_entry, read_values
from memcli.memory.grammar import (
    BLANKS,
    HEADING,
    body_digest,
    derived_id,
    eol_of,
    with_line_feeds,
)
from memcli.memory.parser import MemoryFile, parse, sections
from memcli.memory.values import Edit, Entry, archive_of, source_of

ARCHIVE_KEYS = ("archived_at", "archived_from", "archived_because")
FOLLOWING = frozenset(
    ("title", "line", "start", "end", "written", "identified", "date", "touched")
)
"""Fields of an entry that are found anew from its text and place. The guard against
loss compares every other field, so that one added to `Entry` is guarded by default."""
Spot = tuple[str, int]  # the path of a file and the place of an entry among its entries


class EntryChange(NamedTuple):
    """What becomes of the entry `at`; None removes a value. Without `at`, `text` is
    appended."""

    at: int | None = None
    values: Mapping[str, Any] = {}
    body: str | None = None
    remove: bool = False
    text: str = ""


def render_entry(values: Mapping[str, Any], body: str, eol: str = "\n") -> str:
    """A new entry as it is written: core keys in their order, others, `written`, the
    body."""
    body = safe_body(body)
    others = {key: value for key, value in values.items() if value is not None}
    ordered = {key: values[key] for key in CORE_KEYS if key in values} | others
    ordered["written"] = body_digest(body)
    return front_matter.render(ordered, eol) + body.replace("\n", eol) + eol


def safe_body(text: str) -> str:
    """`text` as a body that neither opens an entry, nor leaves a fence open, nor ends
    early."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    fence = ""
    out: list[str] = []
    heads: list[int] = []
    for line in lines:
        mark = re.match(r" {0,3}(`{3,}|~{3,})([^\n]*)", line)
        if mark and not fence and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        elif mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif re.fullmatch(r"---[ \t]*", line):
            line = "***" if not fence else " ---"
        elif not fence and HEADING.first.match(line):
            heads.append(len(out))
        out.append(line)
    _deepen(out, heads)
    return "\n".join([*out, fence] if fence else out)


def _deepen(lines: list[str], heads: Sequence[int]) -> None:
    """Put the headings at `heads` below the rank at which the body's own heading would
    end it."""
    ranks = {at: len(lines[at].split()[0]) for at in heads}
    own = 2
    if heads and not any(line.strip() for line in lines[: heads[0]]):
        own = ranks.pop(heads[0])
    shift = own + 1 - min(ranks.values(), default=7)
    for at, rank in ranks.items() if shift > 0 else ():
        lines[at] = "#" * max(min(rank + shift, 6), own + 1) + lines[at].lstrip()[rank:]


def edited(file: MemoryFile, changes: Iterable[EntryChange]) -> MemoryFile:
    """`file` with `changes` made by splices; raises `DataError` unless it reads back as
    planned."""
    changes = list(changes)
    for i, change in enumerate(changes):
        if change.body is not None:
            body = safe_body(change.body)
            values = {**change.values, "written": body_digest(body)}
            changes[i] = change._replace(body=body, values=values)
    planned = (
        _plan(file, change.at, change) for change in changes if change.at is not None
    )
    parts = [apply_edits(file.text, [*chain.from_iterable(planned)])]
    eol = eol_of(parts[0])
    tail = parts[0][-4000:]
    for change in (change for change in changes if change.at is None):
        parts.append(_glue(tail, eol) + change.text)
        tail = (tail + parts[-1])[-4000:]
    after = parse("".join(parts), file.path)
    _verify(file, changes, after)
    return after


def _glue(tail: str, eol: str) -> str:
    lines = re.split(r"\r\n|\n|\r", tail.lstrip("\ufeff"))
    if lines[-1].strip():
        return eol * 2
    return "" if lines == [""] or (not lines[-1] and not lines[-2].strip()) else eol


def _plan(file: MemoryFile, at: int, change: EntryChange) -> list[Edit]:
    text = file.text
    entry = file.entries[at]
    if change.remove:
        return [Edit(entry.start, entry.end, "")]
    inner, close, body = _parts(text, entry)
    eol = eol_of(text[entry.start : entry.end])
    edits: list[Edit] = []
    if change.values:
        planned = front_matter.plan_values(
            with_line_feeds(text[inner:close]), change.values, eol
        )
        edits = [
            Edit(edit.start + inner, edit.end + inner, edit.new) for edit in planned
        ]
    if change.body is not None:
        new = change.body.replace("\n", eol)
        start = text.index(entry.body, body)
        end = start + len(entry.body)
        if not entry.body:
            new = ("" if text[:body].endswith(("\n", "\r")) else eol) + new + eol
        edits.append(Edit(start, end, new))
    return edits


def _parts(text: str, entry: Entry) -> tuple[int, int, int]:
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
    wanted = _wanted(before, changes)
    got = [essence(entry) for entry in after.entries]
    if wanted != got or _prose(before) != _prose(after):
        pairs = enumerate(zip(wanted, got, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), len(got) - 1)
        line = after.entries[at].line if 0 <= at < len(got) else 1
        why = "a planned change does not read back as planned; nothing is written"
        raise DataError(
            f"{why} ({before.path}:{line})",
            f"look at the front matter and code fences there: mem doctor {before.path}",
        )


def _prose(file: MemoryFile) -> list[str]:
    # By lines, since what an entry parted may stand together when it is gone.
    parts = [
        file.text[seg.start : seg.end] for seg in file.segments if seg.kind == "prose"
    ]
    return [
        line for part in parts for line in re.split(r"[\r\n]", part) if line.strip()
    ]


def essence(entry: Entry) -> dict[str, Any]:
    """What of an entry must survive a change: all but what follows from its text or
    place. A derived id depends on the place, too, and does not count."""
    kept = {
        name: getattr(entry, name) for name in Entry._fields if name not in FOLLOWING
    }
    kept["id"] = entry.id if entry.identified else ""
    kept["extra"] = {key: str(value) for key, value in entry.extra.items()}
    return kept


def _wanted(before: MemoryFile, changes: list[EntryChange]) -> list[dict[str, Any]]:
    by_index: dict[int | None, list[EntryChange]] = {}
    for change in changes:
        by_index.setdefault(change.at, []).append(change)
    wanted = [
        _changed(before, entry, by_index.get(i, []))
        for i, entry in enumerate(before.entries)
        if not any(change.remove for change in by_index.get(i, []))
    ]
    for change in by_index.get(None, []):
        wanted += parse(change.text, before.path).entries
    return [essence(entry) for entry in wanted]


def _changed(file: MemoryFile, entry: Entry, changes: list[EntryChange]) -> Entry:
    if not changes:
        return entry
    inner, close, _ = _parts(file.text, entry)
    raw = dict(front_matter.read(with_line_feeds(file.text[inner:close])).values)
    body = entry.body
    for change in changes:
        raw |= {
            key: front_matter.as_written(value) for key, value in change.values.items()
        }
        if change.body is not None:
            eol = eol_of(file.text[entry.start : entry.end])
            body = change.body.replace("\n", eol).strip(BLANKS)
    values, _ = read_values(raw)
    return make_entry(values, body)._replace(identified=bool(values["id"]))


def adopted(
    memory: MemoryFile, only: Collection[str] = ()
) -> tuple[MemoryFile, list[str]]:
    """`memory` with units of its prose (`only` these) as entries, and the ids that they
    keep."""
    units = (unit for unit in sections(memory) if not only or unit.id in only)
    found = [
        unit
        for unit in units
        if not re.match(r"---[ \t]*\r?$", unit.body, re.MULTILINE)
    ]
    edits = [_insertion(memory.text, section) for section in found]
    after = parse(apply_edits(memory.text, edits), memory.path)
    bodies = {entry.id: entry.body for entry in after.entries}
    for section in found:
        if not bodies.get(section.id, "").startswith(section.body):
            raise DataError(
                f"a section cannot be made an entry ({memory.path}:{section.line})",
                "look for an unclosed code fence or a line of --- there",
            )
    return after, [section.id for section in found]


def _insertion(text: str, section: Entry) -> Edit:
    raw = text[section.start : section.end]
    eol = eol_of(text)
    at = section.start + len(raw) - len(raw.lstrip("\ufeff\r\n \t"))
    line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    at = max(line, 1 if text.startswith("\ufeff") else 0)
    values: dict[str, Any] = {key: getattr(section, key) for key in CORE_KEYS[:7]}
    if section.date:
        values["created_at"] = section.date
    if section.title not in section.body:
        values["title"] = section.title
    values["written"] = body_digest(section.body)
    return Edit(at, at, _glue(text[:at], eol) + front_matter.render(values, eol))


class Event(NamedTuple):
    """One thing that was done or found: `what` to `ids` (the survivor first) in
    `path`."""

    what: str
    path: str
    ids: tuple[str, ...]
    detail: str = ""


def new_values(id: str, today: str, **more: Any) -> dict[str, Any]:
    """Front matter of a new entry, in the order of the format, with `more` over what is
    usual."""
    return {
        "id": id, "type": "declarative", "domain": "team", "importance": 0.5, "phase": "unknown",
        "status": "active", "reinforcement_count": 0, "last_reinforced": today,
        "created_at": today, **more,
    }  # fmt: skip


def copied_values(
    entry: Entry, id: str, today: str, keys: Iterable[str]
) -> dict[str, Any]:
    """Front matter of a copy: the judgement of an entry, and what it has of `keys`."""
    own = ("type", "domain", "importance", "phase", "reinforcement_count")
    same = {key: getattr(entry, key) for key in own} | {
        key: entry.extra.get(key) for key in keys
    }
    last = entry.last_reinforced or today
    return new_values(id, today, last_reinforced=last, kind=entry.kind or None, **same)


class ChangeSet:
    """What is to become of the entries of some files; `done` and `found` are for the
    report."""

    def __init__(self, files: Iterable[MemoryFile] = (), today: str = "") -> None:
        self.files = {file.path: file for file in files}
        self.today = today
        self.done: list[Event] = []
        self.found: list[Event] = []
        self._fresh: set[str] = set()
        self._now: dict[Spot, Entry] = {}
        self._values: dict[Spot, dict[str, Any]] = {}
        self._bodies: dict[Spot, str] = {}
        self._leaving: dict[Spot, str] = {}
        self._kept: dict[Spot, tuple[str, Mapping[str, Any]]] = {}
        self._added: dict[str, list[str]] = {}

    def _archived(self, spot: Spot, because: str, more: Mapping[str, Any]) -> str:
        """The entry verbatim, with when, whence and why it left in its front matter."""
        memory = self.files[spot[0]]
        entry = self.original(spot)
        raw = memory.text[entry.start : entry.end].rstrip("\r\n \t") + eol_of(
            memory.text
        )
        why = dict(zip(ARCHIVE_KEYS, (self.today, memory.path, because), strict=True))
        values = why if entry.identified else {**why, "id": entry.id}
        return edited(
            parse(raw, memory.path), [EntryChange(0, {**values, **more})]
        ).text

    def hold(self, file: MemoryFile, *, changed: bool = False) -> None:
        """Take a file in (in place of the one of that path); `changed` when its text is
        new."""
        self.files[file.path] = file
        if changed:
            self._fresh.add(file.path)

    def file(self, path: str) -> MemoryFile:
        """The file as it was read; one that does not exist is empty."""
        return self.files.setdefault(path, parse("", path))

    def entry(self, spot: Spot) -> Entry:
        """An entry as the changes so far have left it."""
        return self._now.get(spot) or self.files[spot[0]].entries[spot[1]]

    def original(self, spot: Spot) -> Entry:
        """An entry as it was read."""
        return self.files[spot[0]].entries[spot[1]]

    def leaves(self, spot: Spot) -> str:
        """Why an entry leaves its file, "" when it stays."""
        return self._leaving.get(spot, "")

    def set(self, spot: Spot, **values: Any) -> None:
        """Set values of an entry; None removes a key."""
        entry = self.entry(spot)
        known = {
            k: v for k, v in values.items() if k in Entry._fields and v is not None
        }
        others = {k: v for k, v in values.items() if k not in Entry._fields}
        extra = {k: v for k, v in {**entry.extra, **others}.items() if v is not None}
        self._values.setdefault(spot, {}).update(values)
        self._now[spot] = entry._replace(**known, extra=extra)

    def replace(self, spot: Spot, body: str, because: str = "") -> None:
        """Give an entry another body; with `because`, the old one goes to the
        archive."""
        self._bodies[spot] = body
        self._now[spot] = self.entry(spot)._replace(body=body)
        if because:
            self.keep(spot, because)

    def strengthen(self, spot: Spot, day: str, **values: Any) -> None:
        """One count more, the day as the last one, and these values."""
        entry = self.entry(spot)
        count = entry.reinforcement_count + 1
        last = max(day, entry.last_reinforced)
        self.set(spot, reinforcement_count=count, last_reinforced=last, **values)

    def supersede(self, spot: Spot, body: str) -> str:
        """Give an entry other words; those of before are archived under an id that is
        returned."""
        entry = self.original(spot)
        old = derived_id(entry.id, entry.body)
        lost = {
            "status": "retired",
            "superseded_by": entry.id,
            "retired_because": "superseded",
        }
        self.keep(spot, "superseded", id=old, **lost)
        self.replace(spot, body)
        return old

    def keep(self, spot: Spot, because: str, **more: Any) -> None:
        """Put an entry as it was read into the archive of its file; it stays where it
        is."""
        self._kept.setdefault(spot, (because, more))

    def archive(self, spot: Spot, because: str, **more: Any) -> None:
        """Move an entry as it was read to the archive of its file."""
        self._leaving[spot] = because
        self._kept[spot] = because, more

    def drop(self, spot: Spot) -> None:
        """Remove an entry from an archive in which it stands once more."""
        self._leaving[spot] = "twice"

    def kept(self, archive: str) -> Set[tuple[str, str]]:
        """Id and body of what these changes put into an archive."""
        return {
            (str(more.get("id", self.original(spot).id)), self.original(spot).body)
            for spot, (_, more) in self._kept.items()
            if archive_of(spot[0]) == archive
        }

    def add(self, path: str, values: Mapping[str, Any], body: str) -> None:
        """Append a new entry; values that are None are left out."""
        given = {key: value for key, value in values.items() if value is not None}
        self.append(path, render_entry(given, body, eol_of(self.file(path).text)))

    def append(self, path: str, text: str) -> None:
        """Append the text of an entry, as it stands."""
        self.file(path)
        self._added.setdefault(path, []).append(text)

    def restore(self, spot: Spot, **values: Any) -> str:
        """Bring an archived entry back into its file, which is told."""
        archive = self.files[spot[0]]
        entry = self.original(spot)
        home = source_of(spot[0])
        raw = archive.text[entry.start : entry.end].strip("\r\n") + "\n"
        change = EntryChange(0, {**dict.fromkeys(ARCHIVE_KEYS), **values})
        self.append(home, edited(parse(raw, archive.path), [change]).text)
        return home

    def note(self, what: str, path: str, ids: Iterable[str], detail: str = "") -> None:
        """Tell what was done."""
        self.done.append(Event(what=what, path=path, ids=tuple(ids), detail=detail))

    def tell(self, what: str, path: str, ids: Iterable[str], detail: str = "") -> None:
        """Tell what was found, and left as it is."""
        self.found.append(Event(what=what, path=path, ids=tuple(ids), detail=detail))

    def texts(self) -> dict[str, str]:
        """The new texts by path; raises DataError when one would not read back as
        planned."""
        new = {path: list(texts) for path, texts in self._added.items()}
        for spot, (because, more) in sorted(
            self._kept.items(), key=lambda item: item[0]
        ):
            new.setdefault(archive_of(spot[0]), []).append(
                self._archived(spot, because, more)
            )
        changes: dict[str, list[EntryChange]] = {
            path: [] for path in sorted(self._fresh)
        }
        for spot in sorted({*self._values, *self._bodies, *self._leaving}):
            change = EntryChange(
                spot[1], self._values.get(spot, {}), self._bodies.get(spot)
            )
            if spot in self._leaving:
                change = EntryChange(spot[1], remove=True)
            changes.setdefault(spot[0], []).append(change)
        for path, added in new.items():
            changes.setdefault(path, []).extend(
                EntryChange(text=text) for text in added
            )
        return {path: _ended(self.file(path), mine) for path, mine in changes.items()}


def _ended(file: MemoryFile, changes: list[EntryChange]) -> str:
    """The new text; the blank line that parted the last entry from the rest leaves with
    it."""
    text = edited(file, changes).text if changes else file.text
    was, tail = (each[len(each.rstrip(BLANKS)) :] for each in (file.text, text))
    if was.count("\n") < 2 <= tail.count("\n"):
        return text[: text.rindex("\n", 0, text.rindex("\n")) + 1]
    return text

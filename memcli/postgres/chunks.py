"""The chunks in which a memory file leaves the machine. They keep their number as long
as their content."""

import json
from collections import Counter
from typing import Any, NamedTuple

from memcli.index.prose import passages
from memcli.index.refresh import Row, rows
from memcli.memory.parser import MemoryFile, sections
from memcli.memory.values import Entry, Place
from memcli.memory.words import each_text
from memcli.project.listing import UNLISTED
from memcli.text.controls import clean_text
from memcli.text.digests import digest


class Sent(NamedTuple):
    """A chunk as it is sent; `head` is the first chunk of its entry, `begins` and
    `ends` are the days of the entry."""

    id: int
    head: int
    row: Row
    begins: str
    ends: str


def leaves(place: Place, work_tree: str, *, archived: bool) -> bool:
    """Whether files of a place may be sent: not the global level, no proxy, no other
    work tree, nothing unlisted."""
    if (
        place.level == "global"
        or work_tree
        or {place.store, place.of} & {"proxy", UNLISTED}
    ):
        return False
    return archived or place.store != "archive"


def number(*parts: object) -> int:
    """A number of 64 bits computed from texts, the same everywhere."""
    data = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(bytes.fromhex(digest(data, 8)), signed=True)


def chunks(memory: MemoryFile, path: str, *, live: bool) -> list[Sent]:
    """The chunks of a file in order; the order tells equal entries apart."""
    prose = [_public(unit) for unit in sections(memory)]
    around = passages(prose)
    entries = [*prose, *(_public(entry) for entry in memory.entries)]
    sent = []
    repeated = Counter[str]()
    for entry in sorted(entries, key=lambda entry: entry.start):
        head = 0
        for row in rows(entry, around.get(entry.id, ""), live=live):
            values = json.loads(row.metadata)
            content = _content(row)
            first = head if row.part else 0
            chunk_id = number(path, content, first, repeated[content])
            repeated[content] += 1
            head = first or chunk_id
            begins, ends = _days(row, values)
            # jsonb cannot hold NUL
            plain = json.dumps(values, ensure_ascii=False).replace("\\u0000", "")
            row = row._replace(metadata=plain)
            sent.append(Sent(id=chunk_id, head=head, row=row, begins=begins, ends=ends))
    return sent


def _public(entry: Entry) -> Entry:
    """An entry without private parts and secrets."""
    return entry._replace(
        title=clean_text(entry.title),
        body=clean_text(entry.body),
        extra={key: each_text(value, clean_text) for key, value in entry.extra.items()},
    )


def _content(row: Row) -> str:
    """A digest of everything that is searched or weighed, and of nothing that says
    where it stands."""
    weighed = row._replace(offset=0, line=0, rank=0, importance=0.0, moment="")
    return digest(json.dumps(weighed).encode(), 12)


def _days(row: Row, values: dict[str, Any]) -> tuple[str, str]:
    begins = values.get("started_at") or values.get("created") or row.date
    ends = values.get("ended_at") or begins
    return str(begins)[:10], str(ends)[:10]

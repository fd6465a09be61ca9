"""Cursor's command line: JSON lines of messages, without names or times."""

import re
from collections.abc import Sequence
from pathlib import Path

from memcli.sessions import speakers
from memcli.sessions.formats.blocks import Blocks
from memcli.sessions.formats.protocol import Format, Store
from memcli.sessions.gather import Gather, Lines, Record, records, value_at
from memcli.sessions.handed_over import without_blocks
from memcli.storage.sqlite import Owner
from memcli.text.matching import verbose


@verbose(dot_all=True)
def _query() -> str:
    """What a person typed, behind what Cursor puts before it: the last, since a file
    that is attached may hold one, too."""
    return r".* <user_query> (.*?) (?: </user_query> | \Z )"


def recognises(record: Record) -> bool:
    """Whether a record is a message of Cursor."""
    known = record.get("role") in ("user", "assistant") and "uuid" not in record
    return known and isinstance(value_at(record, "message", "content"), list)


def read(lines: Lines, into: Gather) -> None:
    """Turns in order. Of a person's message only the query is theirs, where one is
    marked."""
    blocks = Blocks(into)
    for line, record in records(lines, into):
        if not recognises(record):
            continue
        parts = record["message"]["content"]
        content = [part for part in parts if value_at(part, "text") != "[REDACTED]"]
        if record["role"] == "assistant":
            blocks.assistant(content, line.place())
            continue
        text = speakers.texts(content)
        if query := _query().match(without_blocks(text, "user_query")):
            text = query[1]
        blocks.user(text, line.place())


def _owner(path: Path, store: Path, wanted: Sequence[str]) -> Owner:
    """The store has a folder for each working folder, named by its path with dashes."""
    names = {re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-"): path for path in wanted}
    folder = path.relative_to(store).parts[0].strip("-")
    return Owner(path.stem, names.get(folder, ""))


FORMAT = Format(
    name="cursor",
    title="Cursor CLI",
    recognises=recognises,
    read=read,
    store=Store(
        files=("*/agent-transcripts/*.jsonl", "*/agent-transcripts/*/*.jsonl"),
        owner=_owner,
    ),
)

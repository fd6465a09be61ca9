"""Claude Code: JSON lines, each a record with its message."""

from memcli.sessions import speakers
from memcli.sessions.formats.blocks import Blocks
from memcli.sessions.formats.protocol import Format, Store
from memcli.sessions.gather import (
    Gather,
    Lines,
    Record,
    TurnPlace,
    mapping,
    records,
    value_at,
)

CONTROL = frozenset(
    """summary file-history-snapshot queue-operation permission-mode ai-title
    custom-title""".split()
)
"""Records that may stand before the first one that names the session."""
NOT_TYPED = """toolUseResult tool_use_result isMeta isSidechain isCompactSummary
    isVisibleInTranscriptOnly isSynthetic parent_tool_use_id agentId""".split()
"""Marks of a user's message that no person typed."""


def recognises(record: Record) -> bool:
    """Whether a record is one of a session."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    return kind in CONTROL or isinstance(record.get("sessionId"), str)


def read(lines: Lines, into: Gather) -> None:
    """Turns in the order of the file. An event whose uuid was seen is passed over."""
    blocks = Blocks(into)
    agents = set()
    for line, record in records(lines, into):
        session = record.get("sessionId") or record.get("session_id")
        into.where(session=session, cwd=record.get("cwd"))
        kind = record.get("type")
        if kind in ("ai-title", "custom-title"):
            into.called_session(record.get("customTitle") or record.get("aiTitle"))
        if kind not in ("user", "assistant", "result"):
            continue
        if kind != "result":
            beside = record.get("isSidechain") is True
            agents.add(speakers.name(record.get("agentId")) if beside else "")
        if place := into.event(line, record):
            _message(record, place, blocks)
    if len(agents) == 1:
        into.id = agents.pop()


def _message(record: Record, place: TurnPlace, blocks: Blocks) -> None:
    message = mapping(record.get("message"))
    content = message.get("content")
    api_error = bool(record.get("isApiErrorMessage"))
    if record["type"] == "result":
        # Another result repeats the last answer.
        if record.get("is_error") is True:
            subtype = str(record.get("subtype"))[:100]
            text = speakers.texts(record.get("result")) or subtype
            blocks.into.put_in(text, place, error=True)
    elif record["type"] == "user":
        by_others = value_at(record, "origin", "kind") not in (None, "human")
        is_person = message.get("role") in (None, "user") and not by_others
        typed = is_person and not any(map(record.get, NOT_TYPED))
        outcome = record.get("toolUseResult", record.get("tool_use_result"))
        blocks.user(content, place, typed=typed, outcome=outcome)
    elif api_error or message.get("model") == "<synthetic>":
        blocks.into.put_in(speakers.texts(content), place, error=api_error)
    else:
        blocks.assistant(content, place, message.get("id"))


FORMAT = Format(
    name="claude",
    title="Claude Code",
    recognises=recognises,
    read=read,
    store=Store(files=("*/*.jsonl", "*/*/agent-*.jsonl", "*/*/subagents/*.jsonl")),
)

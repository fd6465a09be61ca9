"""The events that Claude Code prints with `--output-format stream-json`."""

from memcli.sessions.formats import claude
from memcli.sessions.formats.protocol import Format
from memcli.sessions.gather import Record

EVENTS = ("system", "user", "assistant", "result", "stream_event")


def recognises(record: Record) -> bool:
    """Whether a record is an event of a stream."""
    if record.get("type") not in EVENTS or "sessionId" in record:
        return False
    has_message = isinstance(record.get("message"), dict)
    return has_message or isinstance(record.get("session_id"), str)


FORMAT = Format(
    name="stream", title="stream-json", recognises=recognises, read=claude.read
)

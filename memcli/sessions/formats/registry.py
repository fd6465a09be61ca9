"""Every format that is read, in the order in which they are asked."""

from memcli.sessions.formats import (
    aider,
    chat,
    claude,
    codex,
    copilot,
    cursor,
    gemini,
    opencode,
    qwen,
    stream,
    text,
)
from memcli.sessions.formats.protocol import Format

FORMATS: dict[str, Format] = {
    each.FORMAT.name: each.FORMAT
    for each in (
        gemini,
        codex,
        qwen,
        claude,
        stream,
        copilot,
        cursor,
        opencode,  # its export would pass for a chat
        chat,
        aider,
        text,
    )
}

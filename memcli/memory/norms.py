"""The bullets of an institutional file. Pure."""

from collections.abc import Sequence

from memcli.memory.grammar import eol_of
from memcli.memory.parser import MemoryFile


def with_bullets(memory: MemoryFile, rows: Sequence[str]) -> str:
    """The text of an institutional file, bullets added at the end of its prose, before
    entries."""
    text = memory.text
    line_end = eol_of(memory.text)
    end = next(
        (segment.start for segment in memory.segments if segment.kind == "entry"),
        len(text),
    )
    kept = text[:end].rstrip("\r\n \t")
    tail = text[end:]
    last = kept.rpartition("\n")[2].lstrip()
    glue = (
        line_end
        if last.startswith(("- ", "* "))
        else line_end * 2
        if kept.strip("\ufeff")
        else ""
    )
    return (
        f"{kept}{glue}{line_end.join(rows)}{line_end}{line_end if tail else ''}{tail}"
    )

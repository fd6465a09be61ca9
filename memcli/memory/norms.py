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
    prose = text[:end].rstrip("\r\n \t")
    entries = text[end:]
    last_line = prose.rpartition("\n")[2].lstrip()
    glue = ""
    if last_line.startswith(("- ", "* ")):
        glue = line_end
    elif prose.strip("\ufeff"):
        glue = line_end * 2
    bullets = line_end.join([*rows, ""])
    parted = line_end + entries if entries else ""
    return prose + glue + bullets + parted

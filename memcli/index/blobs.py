"""The texts of files as git keeps them, many at once."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from memcli.named import NamedTuple
from memcli.project import git
from memcli.storage.files import MEMORY_BYTES

AT_ONCE = 50  # texts to request from git in one call


class Blobs(NamedTuple):
    """The texts of files by what they were asked for, those that are too large to be
    read, and whether git has all."""

    texts: dict[str, str]
    large: frozenset[str]
    is_complete: bool


def read_blobs(
    ask: Callable[[str, str], str | None], names: Sequence[str], most: int
) -> Blobs:
    """The texts of files of at most so many bytes. `ask` gives `git cat-file` an option
    and lines, and returns what it says, None where it fails."""
    sizes = ask("--batch-check=%(objecttype) %(objectsize)", _lines(names))
    rows = [row.split(" ") for row in (sizes or "").split("\n")]
    by_name = zip(names, rows, strict=False)  # fewer where git fails
    sized = {name: int(row[1]) for name, row in by_name if row[0] == "blob"}
    small = [name for name, size in sized.items() if size <= most]
    answer = ask("--batch", _lines(small)) if small else ""
    return Blobs(
        texts=dict(zip(small, _texts(answer or ""), strict=False)),
        large=frozenset(sized.keys() - set(small)),
        is_complete=sizes is not None and all(row[-1] != "missing" for row in rows),
    )


def _lines(names: Sequence[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def _texts(answer: str) -> Iterator[str]:
    """The text of each object in what `git cat-file --batch` says, "" where it is no
    file."""
    data = answer.encode("utf-8", "surrogateescape")
    place = 0
    while place < len(data):
        line_end = data.index(b"\n", place)
        head = re.fullmatch(rb"[0-9a-f]+ (\w+) (\d+)", data[place:line_end])
        place = line_end + 1
        text = b""
        if head:
            end = place + int(head[2])
            text = data[place:end] if head[1] == b"blob" else b""
            place = end + 1
        yield text.decode("utf-8", "replace")


def memory_texts(root: Path, names: Sequence[str]) -> Iterator[str | None]:
    """The text of each blob (`COMMIT:./PATH`, or its own name), "" if there is none,
    None if it is larger than a memory file may be."""

    def ask(how: str, lines: str) -> str:
        return git.run(["cat-file", how], root, given=lines).stdout

    for start in range(0, len(names), AT_ONCE):
        lines = [_in_a_line(root, name) for name in names[start : start + AT_ONCE]]
        blobs = read_blobs(ask, lines, MEMORY_BYTES)
        for line in lines:
            yield None if line in blobs.large else blobs.texts.get(line, "")


def _in_a_line(root: Path, name: str) -> str:
    """The name of a blob as git takes it in a line: by its content, where a path holds
    the end of one."""
    if "\n" not in name:
        return name
    return git.run(["rev-parse", "--verify", "--quiet", name], root).stdout.strip()

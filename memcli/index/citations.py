"""Lines of code that an entry rests on: a digest of them, and whether they still stand.

`rests_on` holds rows such as `src/cart.py:40-60#9f3a07c1…`: a file below the root, its
lines, and after `#` a sketch of them: four hexadecimal digits of each of at most twelve
lines, those whose hashes are the smallest. The sketch is known again wherever in the
file the lines have gone to, and says how much of them is left."""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

LINES_KEPT = 12
DIGITS = 4
STANDING = 0.5  # below this share of its lines a place has changed much
LONGEST = 2000  # lines that one citation may span


class Citation(NamedTuple):
    """Lines `first` to `last` (from 1) of the file at `path`, and their sketch."""

    path: str
    first: int
    last: int
    sketch: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"{self.path}:{self.first}-{self.last}"
        return f"{place}#{''.join(self.sketch)}" if self.sketch else place

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return str(self._replace(sketch=()))


def parse_citation(text: str) -> Citation | None:
    """The citation that a row of `rests_on` or an option is, with or without its
    sketch; None for anything else."""
    written = re.fullmatch(r"([^:#\n]+):(\d{1,7})(?:-(\d{1,7}))?(?:#([\da-f]*))?", text)
    if written is None:
        return None
    first = int(written[2])
    last = int(written[3] or first)
    if not 0 < first <= last < first + LONGEST:
        return None
    digits = written[4] or ""
    sketch = (digits[start : start + DIGITS] for start in range(0, len(digits), DIGITS))
    return Citation(
        path=written[1].removeprefix("./"), first=first, last=last, sketch=tuple(sketch)
    )


def what_is_wrong(text: str) -> str:
    """Why a text is no citation."""
    lines = re.search(r":(\d{1,7})-(\d{1,7})$", text)
    if lines and int(lines[2]) < int(lines[1]):
        return f"line {lines[2]} stands before line {lines[1]}"
    if lines and int(lines[2]) - int(lines[1]) >= LONGEST:
        return f"has more than {LONGEST:,} lines"
    return "is not a place in a file"


def with_sketch(citation: Citation, text: str) -> Citation | None:
    """The citation with a sketch of its lines in a file's text; None where the file
    has no such lines, or nothing stands in them."""
    lines = text.splitlines()
    if citation.last > len(lines):
        return None
    hashes = sorted(_hashes(lines[citation.first - 1 : citation.last]))
    sketch = tuple(hashes[:LINES_KEPT])
    return citation._replace(sketch=sketch) if sketch else None


def renewed(citation: Citation, text: str) -> Citation | None:
    """The citation as a person confirms it: where most of its lines are now, else at
    the lines it names; None where the file has none."""
    length = citation.last - citation.first + 1
    known = [bool(_hashes([line]) & set(citation.sketch)) for line in text.splitlines()]

    def left(start: int) -> int:
        return sum(known[start : start + length])

    stated_at = citation.first - 1
    best = max(range(len(known)), key=left, default=stated_at)
    if left(best) > left(stated_at):
        citation = citation._replace(first=best + 1, last=best + length)
    return with_sketch(citation, text)


def stands(citation: Citation, text: str) -> bool:
    """Whether at least half of the lines of a sketch are in a file's text."""
    left = set(citation.sketch) & _hashes(text.splitlines())
    return len(left) >= STANDING * len(citation.sketch)


def _hashes(lines: Iterable[str]) -> set[str]:
    """The hashes of the lines that hold a word, white space aside."""
    stripped = {"".join(line.split()) for line in lines}
    words = (line for line in stripped if re.search(r"\w{2}", line))
    return {
        hashlib.blake2b(line.encode("utf-8", "replace")).hexdigest()[:DIGITS]
        for line in words
    }

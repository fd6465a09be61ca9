"""The lines of code that a person named where a lesson was learned."""

import datetime
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from memcli.index.citations import Citation, parse_citation, with_sketch
from memcli.project.git import names_of
from memcli.sessions.model import Turn
from memcli.storage.files import SMALL_BYTES, Unreadable, read_file

MOST = 3  # places that one lesson rests on
_AROUND = "`'\"@,.;:()[]<>"


def cited_lines(root: Path, turn: Turn) -> tuple[str, ...]:
    """The places that a person names (`src/cart.py:40-60`), with sketches of what
    stands there; none of a file that was changed since, where it may be other lines."""
    return tuple(islice(dict.fromkeys(_places(root, turn)), MOST)) if turn.human else ()


def _places(root: Path, turn: Turn) -> Iterator[str]:
    for word in turn.text.split():
        citation = parse_citation(word.strip(_AROUND))
        if citation is None:
            continue
        full = os.path.join(root, turn.cwd, citation.path)
        for name in islice(names_of(root, full), 1):
            place = _as_it_stands(root, citation._replace(path=name), turn.time)
            if place is not None:
                yield str(place)


def _as_it_stands(root: Path, citation: Citation, spoken_at: str) -> Citation | None:
    """The citation with a sketch of its lines, if the file is as it was when they were
    named."""
    try:
        spoken = datetime.datetime.fromisoformat(spoken_at).timestamp()
        if os.stat(root / citation.path).st_mtime > spoken:
            return None
        data = read_file(root / citation.path, root, most=SMALL_BYTES).data
    except (OSError, Unreadable, ValueError):
        return None
    return with_sketch(citation, data.decode("utf-8", "replace"))

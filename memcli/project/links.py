"""Memory files that are links, as dotfile managers make them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memcli.errors import RefusedError
from memcli.project.listing import Listing
from memcli.storage.files import written_at

ALWAYS = ("MEMORY.md", "institutional.md")


class MemoryLink(NamedTuple):
    """A memory file that is a link: its target, and why mem must not write there ("" if
    it may)."""

    name: str
    to: str
    fault: str = ""


def memory_links(root: Path, listing: Listing) -> Iterator[MemoryLink]:
    """The memory files of a root that are links, including broken ones at the root."""
    names = (file.name for file in listing.files if file.tree != "~")
    for name in dict.fromkeys((*ALWAYS, *names)):
        path = root / name
        if not path.is_symlink():
            continue
        target = Path(os.path.realpath(path))
        inside = target.is_relative_to(root)
        to = os.path.relpath(target, root) if inside else str(target)
        yield MemoryLink(name=name, to=to, fault=_fault(path, target, root))


def _fault(path: Path, target: Path, root: Path) -> str:
    if not target.is_relative_to(root):
        return "outside of the repository: mem neither reads nor writes it"
    try:
        written_at(path, root)
    except RefusedError:
        return "which is not a place for memory: mem does not write there"
    return "" if target.is_file() else "which does not exist: create that file"

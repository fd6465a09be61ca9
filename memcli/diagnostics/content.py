"""What stands in the memory files: the rules are those of memcli/diagnostics/checks.py."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memcli.diagnostics import checks
from memcli.diagnostics.document import Check, Document
from memcli.diagnostics.scene import Scene, absolute
from memcli.memory.parser import parse
from memcli.storage.files import Unreadable, read_text


def check_content(scene: Scene) -> Iterator[Check]:
    """Every rule about content, as rows."""
    app = scene.app
    others = _others(scene) if scene.files else None
    yield from checks.content(
        scene.documents,
        scene.unreadable,
        today=app.project.now.isoformat(),
        max_tokens=app.project.config.max_tokens,
        others=others,
    )


_ID = re.compile(r"^[ \t]*[\"']?id[\"']?[ \t]*:[ \t]*[\"']?([^\s\"']+)", re.MULTILINE)


def _others(scene: Scene) -> list[Document]:
    """The memory files beside the named ones that may hold an id of theirs, too."""
    paths = {absolute(scene.app, name) for name in scene.files}
    wanted = checks.ids(scene.documents)
    found = []
    for file in scene.app.project.listing.files if wanted else ():
        if file.path not in paths and file.place.store != "archive":
            try:
                text = read_text(file.path, file.base)
            except Unreadable:
                continue
            if not wanted.isdisjoint(_ID.findall(text)):
                found.append(Document(parse(text, file.name), file.place, file.tree, len(text)))
    return found

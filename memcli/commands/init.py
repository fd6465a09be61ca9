"""mem init: make a repository ready, and take that back."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from memcli import git
from memcli.app import App
from memcli.errors import UsageError
from memcli.model import Patch
from memcli.tree import Unreadable, decode, read_bytes

BEGIN = "# mem: begin (mem init; remove with mem init --remove)"
GLUED = f"{BEGIN} +"
"""The first line where the file before it lacked its last line end: removal takes that back, too."""
END = "# mem: end"
ATTRIBUTES = (
    "MEMORY.md",
    "institutional.md",
    "tasks/*.md",
    ".mem/jobs/*/tasks/*.md",
    ".teaparty/jobs/*/tasks/*.md",
    "*.archive.md",
)
MEMORY = "# Memory\n"
"""A new file is a heading alone: nothing in it is found before something is written."""


class Report(NamedTuple):
    """What was (or would be) done, one line each, and the patches of the files in the tree."""

    done: tuple[str, ...]
    patches: tuple[Patch, ...]


def run(app: App, *, remove: bool = False, dry_run: bool = False) -> Report:
    """Create MEMORY.md, ignore derived files, register the merge driver; or take all of it back."""
    if app.root is None:
        raise UsageError("there is no project here", "run it inside a repository, or name one with --root")
    root = app.root
    top = git.work_tree(root)
    report = app.write(lambda: _plan(root, top, remove=remove), "init", dry_run=dry_run)
    if top is None:
        return report._replace(done=(*report.done, "no git repository here: no merge driver is needed"))
    return report._replace(done=(*report.done, *_settings(top, remove=remove, dry_run=dry_run)))


def _plan(root: Path, top: Path | None, *, remove: bool) -> Report:
    patches, done = [], []
    memory = _text(root / "MEMORY.md")
    if remove and memory == MEMORY:
        patches.append(Patch(str(root / "MEMORY.md"), memory, None))
        done.append("removed the empty MEMORY.md")
    elif not remove and memory is None:
        patches.append(Patch(str(root / "MEMORY.md"), None, MEMORY))
        done.append("created MEMORY.md")
    if top is not None:
        attributes = _text(root / ".gitattributes")
        after = without_section(attributes or "") if remove else with_section(attributes or "")
        if after != (attributes or ""):
            path = str(root / ".gitattributes")
            patches.append(Patch(path, attributes, after or None))
            done.append(f"{'removed from' if remove else 'added to'} .gitattributes: merge=mem")
    return Report(tuple(done), tuple(patches))


def _text(path: Path) -> str | None:
    if not os.path.lexists(path):
        return None
    try:
        return decode(read_bytes(str(path)).data)
    except Unreadable as error:
        raise UsageError(f"{path.name}:{error.line}: {error}", "mend that file first") from None


def section(begin: str = BEGIN) -> str:
    """Our lines of .gitattributes."""
    return "\n".join([begin, *(f"{pattern} merge=mem" for pattern in ATTRIBUTES), END, ""])


def with_section(text: str) -> str:
    """`text` with our section at its end, once; an older one is replaced where it stands."""
    found = _section_of(text)
    eol = "\r\n" if "\r\n" in text else "\n"
    if found is not None:
        new = section(found[2].rstrip("\r")).replace("\n", eol)
        return text[: found.start(2)] + new + text[found.end() :]
    if text and not text.endswith("\n"):
        return text + eol + section(GLUED).replace("\n", eol)
    return text + section().replace("\n", eol)


def without_section(text: str) -> str:
    """`text` as it was before `with_section`."""
    found = _section_of(text)
    if found is None:
        return text
    start = found.start() if found[2].rstrip("\r") == GLUED else found.start(2)
    return text[:start] + text[found.end() :]


def _section_of(text: str) -> re.Match[str] | None:
    begin, end = re.escape(BEGIN), re.escape(END)
    return re.search(rf"(\A|\r?\n)({begin}[^\n]*)\n(?:.*\n)*?{end}(?:\r?\n|\Z)", text)


def _settings(top: Path, *, remove: bool, dry_run: bool) -> list[str]:
    """The merge driver in the repository's own configuration, and the ignore lines."""
    if not dry_run:
        (git.unexclude if remove else git.exclude)(top, (*git.EXCLUDED, *git.MOMENTS))
    if remove:
        return git.unregister_driver(top, dry_run=dry_run)
    return git.register_driver(top, dry_run=dry_run)

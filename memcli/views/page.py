"""Memory as one HTML page that needs nothing else and reaches nothing: what mem browse
writes.

Memory text is hostile. It stands in the page as JSON that cannot end its element; the
page's own script and style are allowed by their hashes alone, and what the script draws
it sets as text."""

import json
import os
import re
import webbrowser
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import RefusedError, UsageError
from memcli.storage.durable import write_output
from memcli.storage.files import cache_dir, has_screen, private_dir
from memcli.text.controls import for_display
from memcli.text.digests import digest
from memcli.text.matching import table
from memcli.views import json as views

if TYPE_CHECKING:
    from memcli.commands.browse import BrowseReport
    from memcli.project.context import Project

_TITLE = b"<title>Memory of "
_SLOT = re.compile(r"<!--(\w+)-->")


def write(project: "Project", report: "BrowseReport", path: str) -> Path:
    """Write the page into a file, below the root through no link; without one into the
    cache. Raises where the file is there and no page, or would be git's."""
    place = project.cwd / path
    root = project.root
    if not path:
        name = f"{digest(project.key.encode(), 8)}.html"
        root = None
        place = private_dir(cache_dir() / "browse") / name
    elif ".git" in Path(os.path.realpath(place)).parts:
        raise UsageError(f"{path}: is a file of git", "name another file with --out")
    elif place.is_file() and not _is_page(place):
        raise RefusedError(
            f"{path}: is there, and no page of mem", "name another file with --out"
        )
    write_output(place, render(report), root=root, mode=0o600)
    return place


def _is_page(place: Path) -> bool:
    """Whether a file is a page of ours, or empty."""
    try:
        with place.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return not head or (head.startswith(b"<!doctype html>") and _TITLE in head)


def render(report: "BrowseReport", served: str = "") -> str:
    """The page; `served` is what its requests must carry when a server is behind it."""
    return _framed(report.name, data(report, served), reaches=bool(served))


def shell() -> str:
    """The page of a server before it was told who asks: nothing of memory is in it."""
    return _framed("", '{"shell":true}', reaches=True)


def _framed(name: str, document: str, *, reaches: bool) -> str:
    style = table("views/browse.css")
    script = table("views/browse.js")
    reach = "connect-src 'self'" if reaches else "connect-src 'none'"
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; {reach};"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    )
    parts = {
        "policy": escape(policy),
        "name": escape(for_display(name)),
        "style": style,
        "data": document,
        "script": script,
    }
    # The slots of the frame are filled once: no text can be a slot.
    return _SLOT.sub(lambda slot: parts[slot[1]], table("views/browse.html"))


def data(report: "BrowseReport", served: str = "") -> str:
    """What the page shows, as JSON that cannot end the script element it stands in."""
    document = views.safe(report)
    if served:  # a secret of our own: it is not taken for one that memory holds
        document["served"] = served
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def doorway(address: str) -> Path:
    """A file for you alone that leads to an address: its token would stand in the
    arguments of the browser, which every user of the machine may read."""
    name = f"door-{digest(address.encode(), 8)}.html"
    place = private_dir(cache_dir() / "browse") / name
    text = f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
    write_output(place, text, root=None, mode=0o600)
    return place


def shown(address: str) -> bool:
    """Open an address in the person's browser, where there is a screen for one."""
    return has_screen() and webbrowser.open(address)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

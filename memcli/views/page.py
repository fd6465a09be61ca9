"""The self-contained HTML page of mem browse. Memory text is untrusted: the page has it
as JSON that cannot close its element, only the page's own script and style are allowed
(by hash), and the script inserts everything as text."""

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
    """Write the page to a file, or to the cache if none is given; below the root,
    follow no link. Raises if the file exists and is not such a page, or is inside
    .git."""
    place = project.cwd / path
    root = project.root
    if not path:
        name = f"{digest(project.key.encode(), 8)}.html"
        root = None
        place = private_dir(cache_dir() / "browse") / name
    elif ".git" in Path(os.path.realpath(place)).parts:
        raise UsageError(f"{path} is inside .git", "name another file with --out")
    elif place.is_file() and not _is_page(place):
        raise RefusedError(
            f"{path} exists and is not a page of mem", "name another file with --out"
        )
    write_output(place, render(report), root=root, mode=0o600)
    return place


def _is_page(place: Path) -> bool:
    """Whether a file is a page that mem wrote, or empty."""
    try:
        with place.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return not head or (head.startswith(b"<!doctype html>") and _TITLE in head)


def render(report: "BrowseReport", served: str = "") -> str:
    """The page; `served` is the token its requests must carry if a server is behind
    it."""
    return _framed(report.name, data(report, served), reaches=bool(served))


def shell() -> str:
    """The page a server sends before it knows who asks: without any memory."""
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
    # Fill all slots of the template in one pass, so that no text can act as a slot.
    return _SLOT.sub(lambda slot: parts[slot[1]], table("views/browse.html"))


def data(report: "BrowseReport", served: str = "") -> str:
    """The data of the page, as JSON that cannot close its script element."""
    document = views.safe(report)
    if served:  # the page's own token must not be redacted like a secret in memory
        document["served"] = served
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def doorway(address: str) -> Path:
    """Write a file, readable by you alone, that redirects to an address: its token must
    not appear in the browser's arguments, which every user of the machine can read."""
    name = f"door-{digest(address.encode(), 8)}.html"
    place = private_dir(cache_dir() / "browse") / name
    text = f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
    write_output(place, text, root=None, mode=0o600)
    return place


def shown(address: str) -> bool:
    """Open an address in the user's browser, if there is a display."""
    return has_screen() and webbrowser.open(address)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

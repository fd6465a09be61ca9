"""mem browse --serve: the page on loopback, its buttons the use cases of commands; it
ends with it.

The server is the standard library's: one page of one person asks three things of it."""

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memcli.app import App, Options, opened
from memcli.commands import browse, drop, edit, keep, retire, undo
from memcli.commands.show import show
from memcli.compaction.compact import compact
from memcli.compaction.plan import CompactRequest
from memcli.errors import MemError, RefusedError, UsageError
from memcli.memory.words import body_of
from memcli.text.controls import for_display
from memcli.text.secrets import redact_secrets
from memcli.views import everyday, learning, page, upkeep

# seconds without a page until the end, and between two looks at it
IDLE = 60.0
BEAT = 2.0
MOST = 1_000_000  # bytes of a request
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
Gather = Callable[[App], browse.BrowseReport]


class PageServer(ThreadingHTTPServer):
    """Serves one page to whoever has the address, once; then only that page may ask."""

    daemon_threads = True

    def __init__(
        self, options: Options, report: browse.BrowseReport, gather: Gather
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.host = f"127.0.0.1:{self.server_port}"
        self.once = secrets.token_urlsafe(32)
        self.key = secrets.token_urlsafe(32)
        self.address = f"http://{self.host}/?token={self.once}"
        self.options = options
        self.gather = gather
        self.page = page.render(report, self.key)
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.open = 0
        self.last = time.monotonic()

    def run(self, idle: float = IDLE) -> None:
        """Serve until no page is open for so long, or Ctrl-C."""
        try:
            threading.Thread(target=self.serve_forever, daemon=True).start()
            while self.open or time.monotonic() - self.last < idle:
                self.ended.wait(min(BEAT, idle / 2))
        except KeyboardInterrupt:
            pass
        finally:
            self.ended.set()
            self.shutdown()
            self.server_close()

    def taken(self, token: str) -> str:
        """The page for the token of the address; "" for another one, or a second
        time."""
        with self.lock:
            if not _same(token, self.once):
                return ""
            page = self.page
            self.page = ""
            return page

    def gathered(self) -> str:
        """What the page shows, as it is now: JSON."""
        with self.lock, opened(self.options) as app:
            return page.data(self.gather(app))

    def act(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a button asks; what was said of it, and the page's data as they are
        now."""
        try:
            with self.lock, opened(self.options) as app:
                said = perform(app, task)
            return {"said": redact_secrets(said), "data": json.loads(self.gathered())}
        except MemError as error:
            said = for_display(f"{error} {error.hint}".strip())
            return {"said": redact_secrets(said)}


def perform(app: App, task: Mapping[str, Any]) -> str:
    """Run the use case of a command, and say what it did. Raises MemError."""
    texts = {key: value for key, value in task.items() if isinstance(value, str)}
    button = texts.get("do", "")
    if button not in BUTTONS:
        raise UsageError(f"{button}: is no button of this page", ", ".join(BUTTONS))
    if any("\0" in value for value in texts.values()):
        raise UsageError("a NUL is in no text and in no name", "take it out")
    return BUTTONS[button](app, texts)


def _edit(app: App, given: Mapping[str, str]) -> str:
    name = given.get("id", "")
    entry = show(app, name).entry
    shown = {"title": entry.title, "body": body_of(entry.body, entry.title)}
    for field in shown.keys() & given.keys():
        # the page shows no secrets: they would be lost
        if redact_secrets(for_display(shown[field])) != shown[field]:
            raise RefusedError(
                f"{name}: holds what the page does not show", f"mem edit {name}"
            )
    if "body" in given and shown["body"].strip() != given.get("was", "").strip():
        raise RefusedError(f"{name}: changed while you edited it", "look at it again")
    request = edit.EditRequest(
        id=name, title=given.get("title", ""), body=given.get("body")
    )
    if request == edit.EditRequest(name):
        return "nothing was changed"
    return everyday.edit_text(edit.edit(app, request))


def _retire(app: App, given: Mapping[str, str]) -> str:
    report = retire.retire(app, [given.get("id", "")], given.get("because", ""))
    return everyday.retire_text(report)


def _restore(app: App, given: Mapping[str, str]) -> str:
    return everyday.retire_text(retire.restore(app, [given.get("id", "")]))


def _merge(app: App, given: Mapping[str, str]) -> str:
    path = app.project.path_of(given.get("path", ""))
    return upkeep.compact_text(compact(app, CompactRequest(files=(path,))))


def _undo(app: App, given: Mapping[str, str]) -> str:
    return everyday.undo_text(undo.undo(app), str(app.project.root or ""))


def _keep(app: App, given: Mapping[str, str]) -> str:
    request = keep.KeepRequest(ids=(given.get("id", ""),))
    return learning.keep_text(keep.keep(app, request))


def _drop(app: App, given: Mapping[str, str]) -> str:
    return learning.drop_text(drop.drop(app, [given.get("id", "")]))


BUTTONS: Mapping[str, Callable[[App, Mapping[str, str]], str]] = {
    "edit": _edit,
    "retire": _retire,
    "restore": _restore,
    "merge": _merge,
    "undo": _undo,
    "keep": _keep,
    "drop": _drop,
}
"""What a button of the page asks for, by its name there."""


class _Request(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        path, _, token = self.path.partition("?token=")
        if not self._is_ours() or path != "/":
            self._answer(403, "Not for this address.")
        elif self.path == "/":  # loaded again: the page's script asks for the rest
            self._answer(200, page.shell(), "text/html")
        elif found := self.server.taken(token):
            self._answer(200, found, "text/html")
        else:
            what = "This address worked once. mem browse --serve gives another."
            self._answer(403, what)

    def do_POST(self) -> None:
        own = self.headers.get("Origin") == f"http://{self.server.host}"
        known = _same(self.headers["X-Mem-Token"], self.server.key)
        if not (self._is_ours() and own and known):
            self._answer(403, "Not for this page.")
        elif self.path == "/alive":
            self._stay()
        elif self.path == "/act":
            self._act()
        elif self.path == "/page":
            self._show_again()
        else:
            self._answer(404, "There is nothing here.")

    def _show_again(self) -> None:
        try:
            self._answer(200, self.server.gathered(), "application/json")
        except MemError as error:
            self._answer(500, redact_secrets(for_display(str(error))))

    def _act(self) -> None:
        size = self.headers["Content-Length"] or ""
        try:
            if not size.isdecimal() or int(size) > MOST:
                raise ValueError(size)
            task = json.loads(self.rfile.read(int(size)))
            if not isinstance(task, dict):
                raise TypeError(type(task))
            json.dumps(task, ensure_ascii=False).encode()  # half a character is none
        except (ValueError, TypeError, RecursionError):
            self._answer(400, "That is no request of this page.")
            return
        reply = json.dumps(self.server.act(task), ensure_ascii=False)
        self._answer(200, reply, "application/json")

    def _stay(self) -> None:
        """Keep an answer open: when it cannot be written any more, the page is
        closed."""
        server = self.server
        with server.lock:
            server.open += 1
        try:
            self._answer(200, "", "text/plain")
            while not server.ended.wait(BEAT):
                self.wfile.write(b"\n")
        except OSError:
            pass
        finally:
            with server.lock:
                server.open -= 1
                server.last = time.monotonic()

    def _is_ours(self) -> bool:
        # a name that leads here is not enough
        return self.headers["Host"] == self.server.host

    def _answer(self, code: int, text: str, kind: str = "text/plain") -> None:
        self.send_response(code)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        with suppress(ConnectionError):  # the page was closed, or loaded again
            self.end_headers()
            self.wfile.write(text.encode("utf-8", "replace"))

    def log_message(self, format: str, *args: object) -> None:
        pass  # addresses hold tokens


def _same(given: str | None, wanted: str) -> bool:
    return hmac.compare_digest(
        (given or "").encode("utf-8", "replace"), wanted.encode()
    )

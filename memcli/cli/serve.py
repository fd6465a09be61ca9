"""mem browse --serve: the page on loopback, with buttons that run commands; it stops
when the page is closed. It is the standard library's server, since one page of one
person makes three kinds of request."""

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

# seconds without a page until the server stops, and between two checks
IDLE = 60.0
BEAT = 2.0
MOST = 1_000_000  # the most bytes of a request
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
Gather = Callable[[App], browse.BrowseReport]


class PageServer(ThreadingHTTPServer):
    """Serves the page once to whoever has the address; after that answers only that
    page."""

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
        """Serve until no page has been open for a while, or Ctrl-C."""
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
        """The page for the token in the address; "" for a wrong token or a second
        request."""
        with self.lock:
            if not _same(token, self.once):
                return ""
            page = self.page
            self.page = ""
            return page

    def gathered(self) -> str:
        """The current data of the page, as JSON."""
        with self.lock, opened(self.options) as app:
            return page.data(self.gather(app))

    def act(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Run a button's command; return its message and the page's new data."""
        try:
            with self.lock, opened(self.options) as app:
                outcome = perform(app, task)
            return {
                "said": redact_secrets(outcome),
                "data": json.loads(self.gathered()),
            }
        except MemError as error:
            outcome = for_display(f"{error} {error.hint}".strip())
            return {"said": redact_secrets(outcome)}


def perform(app: App, task: Mapping[str, Any]) -> str:
    """Run a command and return its message. Raises MemError."""
    texts = {key: value for key, value in task.items() if isinstance(value, str)}
    button = texts.get("do", "")
    if button not in BUTTONS:
        raise UsageError(f"{button}: is not a button of this page", ", ".join(BUTTONS))
    if any("\0" in value for value in texts.values()):
        raise UsageError("texts and names must not have a NUL", "remove it")
    return BUTTONS[button](app, texts)


def _edit(app: App, given: Mapping[str, str]) -> str:
    name = given.get("id", "")
    entry = show(app, name).entry
    shown = {"title": entry.title, "body": body_of(entry.body, entry.title)}
    for field in shown.keys() & given.keys():
        # the page hides secrets, so saving its text would lose them
        if redact_secrets(for_display(shown[field])) != shown[field]:
            raise RefusedError(
                f"{name}: has parts that the page does not show", f"mem edit {name}"
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
"""The command of each button, by the button's name in the page."""


class _Request(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        path, _, token = self.path.partition("?token=")
        if not self._is_ours() or path != "/":
            self._answer(403, "Not for this address.")
        elif self.path == "/":  # on a reload, the page's script asks for the data
            self._answer(200, page.shell(), "text/html")
        elif found := self.server.taken(token):
            self._answer(200, found, "text/html")
        else:
            what = "This address worked only once. Run mem browse --serve for another."
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
            json.dumps(task, ensure_ascii=False).encode()  # drop half a character
        except (ValueError, TypeError, RecursionError):
            self._answer(400, "That is not a request of this page.")
            return
        reply = json.dumps(self.server.act(task), ensure_ascii=False)
        self._answer(200, reply, "application/json")

    def _stay(self) -> None:
        """Keep a response open: once it cannot be written to, the page is closed."""
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
        # a host name that resolves to this machine is not enough
        return self.headers["Host"] == self.server.host

    def _answer(self, code: int, text: str, kind: str = "text/plain") -> None:
        self.send_response(code)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        with suppress(ConnectionError):  # the page was closed or reloaded
            self.end_headers()
            self.wfile.write(text.encode("utf-8", "replace"))

    def log_message(self, format: str, *args: object) -> None:
        pass  # addresses contain tokens


def _same(given: str | None, wanted: str) -> bool:
    return hmac.compare_digest(
        (given or "").encode("utf-8", "replace"), wanted.encode()
    )

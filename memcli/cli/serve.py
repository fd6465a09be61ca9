"""mem browse --serve: the page on loopback, its buttons the use cases of commands; it
ends with it.

The server is the standard library's: one page of one person asks three things of it."""

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memcli.app import App, Options, opened
from memcli.commands import browse, edit
from memcli.commands.show import show
from memcli.compaction.compact import compact
from memcli.compaction.plan import CompactRequest
from memcli.errors import MemError, RefusedError, UsageError
from memcli.memory.words import body_of
from memcli.text.controls import for_display
from memcli.text.secrets import redact_secrets
from memcli.views import entries, page, upkeep

# seconds without a page until the end, and between two looks at it
IDLE = 60.0
BEAT = 2.0
MOST = 1_000_000  # bytes of a request
HEADERS = {
    "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
}  # fmt: skip
Gather = Callable[[App], browse.BrowseReport]


class PageServer(ThreadingHTTPServer):
    """Serves one page to whoever has the address, once; then only that page may ask."""

    daemon_threads = True

    def __init__(
        self, options: Options, report: browse.BrowseReport, gather: Gather
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.host = f"127.0.0.1:{self.server_port}"
        self.once, self.key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.address = f"http://{self.host}/?token={self.once}"
        self.options = options
        self.gather = gather
        self.page = page.render(report, self.key)
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.open, self.last = 0, time.monotonic()

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
            found, self.page = (
                (self.page, "") if _same(token, self.once) else ("", self.page)
            )
        return found

    def act(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a button asks; what was said of it, and the page's data as they are
        now."""
        try:
            with self.lock:
                with opened(self.options) as app:
                    said = redact_secrets(perform(app, task))
                with opened(self.options) as app:
                    return {
                        "said": said,
                        "data": json.loads(page.data(self.gather(app))),
                    }
        except MemError as error:
            return {
                "said": redact_secrets(for_display(f"{error} {error.hint}".strip()))
            }


def perform(app: App, task: Mapping[str, Any]) -> str:
    """Run the use case of a command, and say what it did. Raises MemError."""
    given = {key: value for key, value in task.items() if isinstance(value, str)}
    what = given.get("do", "")
    name = given.get("id", "")
    if what == "undo":
        return entries.undo_text(edit.undo(app), str(app.project.root or ""))
    if what == "merge":
        path = app.project.path_of(given.get("path", ""))
        return upkeep.compact_text(compact(app, CompactRequest(files=(path,))))
    if what == "retire":
        return entries.retire_text(edit.retire(app, [name], given.get("because", "")))
    if what == "restore":
        return entries.retire_text(edit.restore(app, [name]))
    if what != "edit":
        raise UsageError(
            f"{what}: is no button of this page", "edit, retire, restore, merge, undo"
        )
    entry = show(app, name).entry
    shown = {"title": entry.title, "body": body_of(entry.body, entry.title)}
    for each in (
        shown.keys() & given.keys()
    ):  # the page shows no secrets: they would be lost
        if redact_secrets(for_display(shown[each])) != shown[each]:
            raise RefusedError(
                f"{name}: holds what the page does not show", f"mem edit {name}"
            )
    if "body" in given and shown["body"].strip() != given.get("was", "").strip():
        raise RefusedError(f"{name}: changed while you edited it", "look at it again")
    request = edit.EditRequest(name, given.get("title", ""), given.get("body"))
    if request == edit.EditRequest(name):
        return "nothing was changed"
    return entries.edit_text(edit.edit(app, request))


class _Request(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        path, _, token = self.path.partition("?token=")
        if not self._is_ours() or path != "/":
            self._answer(403, "Not for this address.")
        elif found := self.server.taken(token):
            self._answer(200, found, "text/html")
        else:
            self._answer(
                403, "This address worked once. mem browse --serve gives another."
            )

    def do_POST(self) -> None:
        own = self.headers.get("Origin") == f"http://{self.server.host}"
        if not (
            self._is_ours()
            and own
            and _same(self.headers["X-Mem-Token"], self.server.key)
        ):
            self._answer(403, "Not for this page.")
        elif self.path == "/alive":
            self._stay()
        elif self.path == "/act":
            self._act()
        else:
            self._answer(404, "There is nothing here.")

    def _act(self) -> None:
        size = self.headers["Content-Length"] or ""
        try:
            if not size.isdecimal() or int(size) > MOST:
                raise ValueError(size)
            task = json.loads(self.rfile.read(int(size)))
            if not isinstance(task, dict):
                raise TypeError(type(task))
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
                server.open, server.last = server.open - 1, time.monotonic()

    def _is_ours(self) -> bool:
        return (
            self.headers["Host"] == self.server.host
        )  # a name that leads here is not enough

    def _answer(self, code: int, text: str, kind: str = "text/plain") -> None:
        self.send_response(code)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode("utf-8", "replace"))

    def log_message(self, format: str, *args: object) -> None:
        pass  # addresses hold tokens


def _same(given: str | None, wanted: str) -> bool:
    return hmac.compare_digest(
        (given or "").encode("utf-8", "replace"), wanted.encode()
    )

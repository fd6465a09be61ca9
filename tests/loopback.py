"""A server on loopback: quiet, of HTTP 1.1, gone with the test."""

import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def given(self):
        """The headers, in small letters, and the body."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        return headers, self.rfile.read(int(headers.get("content-length") or 0))

    def send(self, data, status=200, **headers):
        told = {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **headers,
        }
        with suppress(OSError):  # the client may be gone
            self.send_response(status)
            for name, value in told.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    def finish(self):
        with suppress(OSError):
            super().finish()

    def log_message(self, *args):
        pass


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """A client that leaves early is what some tests are about."""


@contextmanager
def serving(handler):
    """A running server; the address."""
    server = _Quiet(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

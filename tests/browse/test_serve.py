"""mem browse --serve: its buttons are the commands; nobody else is answered; it ends
with its page."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit

import pytest

from memcli.app import Options, opened
from memcli.cli.serve import PageServer
from memcli.commands.browse import browse
from memcli.memory.filters import Filters


@contextmanager
def served(project, idle=60.0):
    """A server of a project's memory, which runs."""
    options = Options(root=str(project.root))
    gather = partial(browse, filters=Filters())
    with opened(options) as app:
        server = PageServer(options, gather(app), gather)
    running = threading.Thread(target=server.run, args=(idle,))
    running.start()
    yield server, running
    server.last = -1e9
    server.open = 0
    server.ended.set()
    running.join(10)
    assert not running.is_alive()


def ask(server, method, path, body=None, **headers):
    """Ask as the page does, but for these headers; `None` leaves one out."""
    data = json.dumps(body).encode() if body is not None else b""
    own = {
        "Host": server.host,
        "Origin": f"http://{server.host}",
        "X_Mem_Token": server.key,
        "Content_Length": str(len(data)),
    }
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in (own | headers).items():
        if value:
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(data)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_only_the_page_itself_is_answered(project):
    """Another host (DNS rebinding), origin or token, none at all, a second tab:
    refused, and nothing changed."""
    path = project.remembers("Herd", "zebra", id="e1")
    before = path.read_bytes()
    task = {"do": "retire", "id": "e1"}
    with served(project) as (server, _):
        port = server.server_port
        for wrong in (
            {"Host": f"evil.example:{port}"},
            {"Host": f"localhost:{port}"},
            {"Host": ""},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": ""},
            {"X_Mem_Token": "x" * 43},
            {"X_Mem_Token": server.once},
            {"X_Mem_Token": ""},
        ):
            for place in ("/act", "/alive", "/page"):
                assert ask(server, "POST", place, task, **wrong)[0] == 403, wrong
        once = f"/?token={server.once}"
        assert ask(server, "GET", once, Host=f"evil.example:{port}")[0] == 403
        assert ask(server, "GET", "/?token=x")[0] == 403
        code, text = ask(server, "GET", "/")  # the frame alone
        assert code == 200
        assert server.key not in text
        assert "zebra" not in text
        assert project.root.name not in text
        code, text = ask(server, "GET", once)
        assert code == 200
        assert server.key in text
        code, text = ask(server, "GET", once)
        assert code == 403
        assert server.key not in text
        assert "zebra" not in text
        assert ask(server, "POST", "/other", task)[0] == 404
        assert ask(server, "POST", "/act", [1])[0] == 400
        assert ask(server, "GET", "/act")[0] == 403
    assert path.read_bytes() == before


def done(server, **task):
    code, text = ask(server, "POST", "/act", task)
    assert code == 200
    return dict(json.loads(text))


def test_buttons_are_the_commands(project):
    """Edit, retire, restore, merge and undo write what the commands write; errors are
    said."""
    twin = "Always freeze the clock in cart tests because discounts depend on dates."
    entries = [
        project.entry("One", "First words.", id="e1"),
        project.entry("Two", "password = hunter2x9", id="e2"),
        project.entry("Same", twin, id="e3"),
        project.entry("Same", twin, id="e4"),
    ]
    path = project.memory("\n".join(entries))
    with served(project) as (server, _):
        reply = done(
            server,
            do="edit",
            id="e1",
            title="Uno",
            body="Other words.",
            was="First words.",
        )
        assert "changed" in reply["said"]
        assert "## Uno\nOther words." in path.read_text()
        assert "Uno" in {item["title"] for item in reply["data"]["items"]}
        kept = path.read_bytes()
        for body, was in (
            ("New.", "First words."),
            ("New. api_key = 'Zx9k22pqLm81'", "Other words."),
        ):
            assert "data" not in done(server, do="edit", id="e1", body=body, was=was)
        hidden = "password = [secret removed: password]"
        assert (
            "does not show"
            in done(server, do="edit", id="e2", body="x", was=hidden)["said"]
        )
        assert "not a button" in done(server, do="delete", id="e1")["said"]
        assert path.read_bytes() == kept
        assert "retired" in done(server, do="retire", id="e1", because="old")["said"]
        assert "retired_because: old" in path.read_text()
        assert "undid retire" in done(server, do="undo")["said"]
        assert path.read_bytes() == kept
        done(server, do="retire", id="e1")
        assert "restored" in done(server, do="restore", id="e1")["said"]
        assert "merged" in done(server, do="merge", path="MEMORY.md")["said"]
        assert path.read_text().count(twin) == 1


def test_a_person_edits_in_the_browser(browser, project):
    """From the button to the file, and back with Undo; the address is out of sight;
    then it ends."""
    path = project.remembers("Herd", "zebra", id="e1")
    before = path.read_bytes()
    with served(project, idle=1.0) as (server, running):
        browser.open(server.address)
        assert "token" not in browser.js("return location.href")
        browser.press("j")
        click = "[...document.querySelectorAll('.acts button, #undo')].find((b) => b.textContent === arguments[0]).click()"
        browser.js(click, "Edit")
        browser.js("document.querySelector('#form textarea').value = 'a lion'")
        browser.press("\ue007")
        browser.until(
            "return document.querySelector('#detail .text').innerText === 'a lion'"
        )
        assert "## Herd\na lion" in path.read_text()
        browser.js(click, "Undo")
        browser.until(
            "return document.querySelector('#detail .text').innerText === 'zebra'"
        )
        assert path.read_bytes() == before
        assert server.open == 1
        browser.js("location.reload()")
        browser.until("return document.querySelectorAll('.row').length === 1")
        browser.until("return !document.getElementById('undo').hidden")
        assert browser.log() == []
        browser.open("about:blank")
        running.join(20)
        assert not running.is_alive()


@pytest.mark.process
def test_control_c_ends_it(project):
    """Quietly, and nothing listens any more."""
    project.remembers("Herd", "zebra")
    words = [sys.executable, "-m", "memcli", "browse", "--serve"]
    # A shell starts what it puts into the background with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            words, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = urlsplit(process.stdout.readline().decode().strip())
        assert address.hostname == "127.0.0.1"
        assert address.query.startswith("token=")
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
        connection.request("GET", "/act")
        assert connection.getresponse().status == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert b"Traceback" not in process.stderr.read()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", address.port).connect()
    project.ends(2, "browse", "--serve", "--out", "x.html")


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb", "\udcff"])
def test_half_a_character_in_a_request_is_refused(project, value):
    """JSON may name a lone surrogate, which no file can hold."""
    project.remembers("Cart total", "It is kept in cents.")
    before = project.data()
    with served(project) as (server, _):
        for field in ("do", "id", "title", "body", "because"):
            task = {"do": "edit", "id": "1", "title": "New", field: value}
            assert ask(server, "POST", "/act", task)[0] == 400
        assert ask(server, "GET", f"/{'%ED%A0%80'}")[0] in (403, 404)
    assert project.data() == before

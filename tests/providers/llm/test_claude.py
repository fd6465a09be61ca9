"""The `claude` and `codex` commands, with stand-ins on PATH that note how they were
called."""

import itertools
import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from memcli.errors import ProviderError
from memcli.project.config import Config
from memcli.providers.configured import make_model
from memcli.providers.llm import Ask
from memcli.providers.llm.ledger import Call, Ledger

pytestmark = pytest.mark.process
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "yes",
    "total_cost_usd": 0.0123,
    "usage": {
        "input_tokens": 3,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 7,
        "output_tokens": 2,
    },
}
NOTE = """
import json, os, sys
if "--help" in sys.argv:
    sys.exit(print(HELP))
seen = {"argv": sys.argv[1:], "stdin": sys.stdin.read(), "cwd": os.getcwd(), "files": os.listdir("."),
        "env": {k: os.environ.get(k) for k in ("MEM_HOOK", "CLAUDECODE", "HOME", "MAX_THINKING_TOKENS")}}
json.dump(seen, open(NOTES, "w"))
"""


class Fake:
    """A folder on PATH with a `claude` in it."""

    def __init__(self, folder):
        self.help = "--safe-mode"
        self.folder = folder / "bin"
        self.notes = folder / "notes.json"
        self.calls: list[Call] = []
        self.folder.mkdir()

    def does(self, code, name="claude"):
        """Make the command note how it was called, then run `code`."""
        path = self.folder / name
        constants = f"NOTES = {str(self.notes)!r}\nHELP = {self.help!r}"
        path.write_text(f"#!{sys.executable} -S\n{constants}\n{NOTE}\n{code}\n")
        path.chmod(0o755)

    def says(self, result):
        self.does(f"print({json.dumps(json.dumps(result))})")

    @property
    def seen(self):
        return json.loads(self.notes.read_text())

    def model(self, llm="claude", **config):
        environ = {**os.environ, "PATH": str(self.folder), "CLAUDECODE": "1"}
        ledger = Ledger(lambda: (0.0, 0), self.calls.append)
        model = make_model(Config(llm=llm, **config), environ, ledger)
        assert model is not None
        return model


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


def refused(model, ask):
    with pytest.raises(ProviderError) as caught:
        model.ask(ask)
    assert caught.value.hint
    return caught.value


def test_a_question_goes_in_by_stdin_and_its_result_comes_back(fake):
    """With tokens and cost as the command names them."""
    fake.says(RESULT)
    reply = fake.model().ask(Ask("Be brief.", "Is it?", "The session.", purpose="team"))
    assert (reply.text, reply.usage, reply.cost) == ("yes", (3, 7, 5, 2), 0.0123)
    assert fake.seen["stdin"] == "The session.\n\nIs it?"
    assert [(call.purpose, call.provider, call.cost) for call in fake.calls] == [
        ("team", "claude", 0.0123)
    ]


@pytest.mark.parametrize("has", ["--safe-mode", "--setting-sources"])
def test_the_nested_agent_can_do_nothing(fake, world, has):
    """No tools, no servers, no transcript, nothing of the user's own; an empty folder
    of its own."""
    fake.help = has
    fake.says(RESULT)
    fake.model(model="haiku").ask(Ask("Be brief.", "p"))
    seen = fake.seen
    options = dict(zip(seen["argv"], [*seen["argv"][1:], ""], strict=True))
    assert (
        options["--tools"] == ""
        and has in options
        and options["--max-budget-usd"] == "0.5000"
    )
    assert {"--print", "--strict-mcp-config", "--no-session-persistence"} <= set(
        seen["argv"]
    )
    named = (options["--output-format"], options["--model"], options["--system-prompt"])
    assert named == ("json", "haiku", "Be brief.")
    env = seen["env"]
    assert (env["MEM_HOOK"], env["CLAUDECODE"], env["MAX_THINKING_TOKENS"]) == (
        "off",
        None,
        "0",
    )
    assert env["HOME"] == os.environ["HOME"], "where its login is"
    assert seen["files"] == [] and not Path(seen["cwd"]).exists()
    assert not Path(seen["cwd"]).is_relative_to(world / "cwd")


CODEX = """
open(sys.argv[sys.argv.index("-o") + 1], "w").write('```json\\n["a"]\\n```')
told = [arg.partition("=")[2] for arg in sys.argv if arg.startswith("model_instructions_file=")]
home = os.environ["CODEX_HOME"]
open(NOTES + ".told", "w").write(f"{open(json.loads(told[0])).read()} {sorted(os.listdir(home))}")
os.path.lexists(home + "/auth.json") and (os.unlink(home + "/auth.json"), open(home + "/auth.json", "w").write("new"))
print('{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2}}')
"""


def test_codex_answers_by_its_last_message(fake):
    """No hooks, tools or project documents, at no price; a model of Anthropic is not
    asked for."""
    home = Path.home() / ".codex"
    home.mkdir(parents=True)
    for name in ("auth.json", "config.toml", "AGENTS.md"):
        (home / name).touch()
    fake.does(CODEX, "codex")
    ask = Ask(
        "Be brief.", "Is it?", schema={"type": "array", "items": {"type": "string"}}
    )
    reply = fake.model("codex").ask(ask)
    assert (json.loads(reply.text), reply.usage, reply.cost) == (
        ["a"],
        (5, 4, 0, 2),
        0.0,
    )
    argv = fake.seen["argv"]
    off = [after for arg, after in itertools.pairwise(argv) if arg == "--disable"]
    assert {"hooks", "apps", "plugins", "shell_tool", "multi_agent", "goals"} == set(
        off
    )
    assert {"--ephemeral", "read-only", "web_search=disabled"} <= set(
        argv
    ) and "-m" not in argv
    told = Path(f"{fake.notes}.told").read_text()
    assert (
        told == "Be brief. ['auth.json', 'config.toml']"
        and "Is it?" in fake.seen["stdin"]
    )
    assert (home / "auth.json").read_text() == "new", "a login that was renewed is kept"
    fake.model("codex", model="gpt-5.1-codex").ask(ask)
    assert "gpt-5.1-codex" in fake.seen["argv"]
    fake.does("sys.exit('not logged in')", "codex")
    assert "not logged in" in refused(fake.model("codex"), ask).what


def test_a_schema_is_asked_for_in_words_and_checked(fake):
    """A code fence around the whole reply is taken off, anything else is refused."""
    schema = {"type": "array", "items": {"type": "string"}}
    fake.says({**RESULT, "result": '\n```json\n["a"]\n```\n'})
    assert json.loads(fake.model().ask(Ask("s", "p", schema=schema)).text) == ["a"]
    assert json.dumps(schema) in fake.seen["stdin"]
    fake.says({**RESULT, "result": 'Sure:\n```json\n["a"]\n```'})
    assert "not JSON" in refused(fake.model(), Ask("s", "p", schema=schema)).what


FAILING = [
    ("sys.exit('not logged in')", "not logged in"),
    ("print('[' * 99999)", "gave no result"),
    ("", "said nothing"),
    ("print(json.dumps({'result': 'yes'})); sys.exit(1)", "is an error"),
]


@pytest.mark.parametrize(("code", "word"), FAILING)
def test_a_failing_command_says_why(code, word, fake):
    """What it said, in a line, with what to do."""
    fake.does(code)
    assert word in refused(fake.model(), Ask("s", "p")).what


def gone(pid):
    """Whether a process ends soon."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


reads_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="reads /proc"
)
SLEEPER = """
import subprocess
child = subprocess.Popen(["/bin/sleep", "60"])
open(NOTES + ".pid", "w").write(str(child.pid))
child.wait()
"""


@reads_proc
def test_a_hanging_command_is_killed_with_its_children(fake):
    """When its time is over; the folder is gone, too."""
    fake.does(SLEEPER)
    assert "took longer" in refused(fake.model(), Ask("s", "p", timeout=1.5)).what
    assert gone(int(Path(f"{fake.notes}.pid").read_text()))
    assert not Path(fake.seen["cwd"]).exists()


def test_a_reply_without_an_end_is_cut(fake):
    """And the command ended: sixteen megabytes are no answer."""
    fake.does("import sys\nwhile True: sys.stdout.write('x' * 9999)")
    assert "said more than 16 MB" in refused(fake.model(), Ask("s", "p")).what


@reads_proc
def test_what_an_answer_left_running_is_ended(fake):
    """A child that keeps the pipe holds the answer up no longer than its parent."""
    left = SLEEPER.replace("child.wait()", "")
    fake.does(f"{left}\nprint({json.dumps(json.dumps(RESULT))})")
    assert fake.model().ask(Ask("s", "p")).text == "yes"
    assert gone(int(Path(f"{fake.notes}.pid").read_text()))


@reads_proc
def test_what_runs_ends_with_us(fake):
    """Closing the model, as an interrupted run does, leaves no process behind."""
    fake.does(SLEEPER)
    model = fake.model()
    thread = threading.Thread(target=refused, args=(model, Ask("s", "p")), daemon=True)
    thread.start()
    pid = Path(f"{fake.notes}.pid")
    while not (pid.exists() and pid.read_text()):
        time.sleep(0.01)
    model.close()
    assert gone(int(pid.read_text()))
    thread.join(10)


def test_a_missing_command_is_told(fake, tmp_path):
    """With the way to get it; what lies in the working directory is not run."""
    assert "no claude command" in refused(fake.model(), Ask("s", "p")).what
    fake.says(RESULT)
    os.chdir(fake.folder)
    ledger = Ledger(lambda: (0.0, 0), fake.calls.append)
    for path in (".", "", "bin:."):
        model = make_model(Config(llm="claude"), {"PATH": path}, ledger)
        assert (
            model is not None
            and "no claude command" in refused(model, Ask("s", "p")).what
        )
    assert not fake.notes.exists()

"""The real Claude Code and Codex, against a scripted model on loopback.

    npm install --prefix DIR @anthropic-ai/claude-code @openai/codex
    MEM_TEST_CLIENTS=DIR pytest tests/hooks/test_real_clients.py

Without them, here or on PATH, every test says that it is skipped."""

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hooks.model_server import Call, serving
from tests.hooks.test_hook import settle
from tests.programs import finished

pytestmark = pytest.mark.long
BIN = Path(os.environ.get("MEM_TEST_CLIENTS", "/nowhere")) / "node_modules" / ".bin"
HOUSE = Path(__file__).parents[2]
NO = "No, never write a rate as a plain number. Always use Decimal, because floats drift."
TOOLS = "Edit,Read,Bash,Agent"
SLIP = "No, npm is not ours. Use pnpm."
MIDNIGHT = "MAIN why do the checkout tests fail around midnight?"
RATES = ("Rates are Decimal", "Rates are Decimal, always.", "src/tax.py")
SHELLS = {"claude": ("Bash", "command"), "codex": ("exec_command", "cmd")}
both = pytest.mark.parametrize("agent", SHELLS)


def shell(agent, line):
    """The call of an agent's tool that runs a line."""
    tool, key = SHELLS[agent]
    return Call(tool, {key: line})


def client(name):
    found = shutil.which(name, path=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(
            f"{name} is not installed (MEM_TEST_CLIENTS names the folder of npm)"
        )
    return found


def is_newer():
    """Whether Claude Code is as new as 2.1.332, as far as the tests know two versions."""
    words = [client("claude"), "--version"]
    said = finished(*words).stdout
    return tuple(map(int, said.split()[0].split("."))) >= (2, 1, 332)


class Desk:
    """A repository with memory, a client, and the model that it talks to."""

    def __init__(self, project, model, url):
        self.project = project
        self.model = model
        self.url = url
        self.path = f"{BIN}{os.pathsep}{os.environ['PATH']}"

    def environ(self, path=""):
        own = {
            "ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x",
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "PATH": path or self.path,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "MEM_HOOK_SECONDS": "60",
            "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "60000",
        }  # fmt: skip
        others = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("CLAUDE")
        }
        return {**others, **own}

    def run(self, *args, path="", cwd=None):
        return subprocess.run(
            args, cwd=cwd or self.project.root, env=self.environ(path), input="",
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def claude(self, prompt, *more, path="", cwd=None):
        tools = ("--allowedTools", TOOLS)
        form = ("--output-format", "stream-json", "--verbose")
        words = (client("claude"), "-p", prompt, *tools, *form, *more)
        return self.run(*words, path=path, cwd=cwd)

    def talk(self, *steps):
        """One session of Claude Code: prompts, and what is done between two of them."""
        form = ("--input-format", "stream-json", "--output-format", "stream-json")
        words = [client("claude"), "-p", "--verbose", *form, "--allowedTools", TOOLS]
        with subprocess.Popen(
            words, cwd=self.project.root, env=self.environ(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as running:  # fmt: skip
            assert running.stdin is not None
            assert running.stdout is not None
            for step in steps:
                if not isinstance(step, str):
                    step()
                    continue
                message = {"role": "user", "content": step}
                line = json.dumps({"type": "user", "message": message})
                running.stdin.write(f"{line}\n")
                running.stdin.flush()
                kinds = (json.loads(said).get("type") for said in running.stdout)
                assert "result" in kinds  # which is the end of the turn
            running.stdin.close()

    def codex(self, prompt, *more, trust=True):
        config = self.project.home / ".codex" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        if not config.exists():
            config.write_text(
                f'model = "gpt-5.1-codex"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\n'
                f'base_url = "{self.url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
                f'[projects."{self.project.root}"]\ntrust_level = "trusted"\n'
                "[features]\nmulti_agent = true\n"
            )
        trusted = ("--dangerously-bypass-hook-trust",) if trust else ()
        mode = ("exec", "-s", "workspace-write", *trusted)
        return self.run(client("codex"), *mode, *more, prompt)

    def turn(self, agent, prompt, session="", *more, fork=False):
        """One turn of a new session, of one that goes on or of its fork; its name."""
        if agent == "claude":
            way = ["--resume", session, *["--fork-session"] * fork] if session else []
            done = self.claude(prompt, *way)
        else:
            way = ["fork" if fork else "resume", session] if session else []
            done = self.codex(prompt, *more, *way)
        assert done.returncode == 0, done.stderr
        return session_of(done)


@pytest.fixture
def desk(project):
    project.write("institutional.md", "Money is Decimal.\n")
    project.write("src/tax.py", "rate = 1\n")
    project.memory(project.entry("Freeze the clock", "Checkout tests fail at midnight: freeze the clock."), project.entry("Round once", "Round VAT once per line.", type="corrective",
                        paths=["src/*.py"], created_at="2026-01-01"))  # fmt: skip
    project.commit()
    project.ok("init", "--claude", "--codex")
    for name in (".claude/settings.local.json", ".codex/hooks.json"):
        # a busy machine is no finding
        patient = re.sub(r'"timeout": \d+', '"timeout": 60', project.read(name))
        project.write(name, patient)
    with serving() as (model, url):
        yield Desk(project, model, url)
    settle(project)


def edit(project, rate=1):
    path = str(project.root / "src" / "tax.py")
    words = {"old_string": f"rate = {rate}", "new_string": f"rate = {rate + 1}"}
    return [
        Call("Read", {"file_path": path}),
        Call("Edit", {"file_path": path, **words}),
        "Done.",
    ]


def turns_asked(desk):
    """The requests in which a model may use tools, as text."""
    return [json.dumps(body) for body in desk.model.asked if body.get("tools")]


def session_of(done):
    if named := re.search(r"(?m)^session id: (\S+)", done.stderr):  # Codex
        return named[1]
    lines = [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")
    ]
    return str(next(line["session_id"] for line in lines if line.get("session_id")))


@both
def test_a_sub_agent_is_told_the_standing_rules(desk, agent):
    """In its first request, once."""
    task = {"description": "look", "prompt": "SUB", "subagent_type": "general-purpose"}
    while_it_works = {"cmd": "sleep 15", "yield_time_ms": 30_000}
    desk.model.replies = {
        "claude": [Call("Agent", task)],
        "codex": [
            Call("multi_agent_v1.spawn_agent", {"message": "SUB"}),
            Call("exec_command", while_it_works),
        ],
    }[agent]
    desk.turn(agent, "MAIN ask somebody")
    asked = turns_asked(desk)
    (sub,) = (text for text in asked if "MAIN ask somebody" not in text)
    assert sub.count("Money is Decimal") == 1


def test_claude_learns_from_a_correction(desk):
    """Of what it did before it was resumed: told at the edit, in a new session and in
    that one."""
    desk.model.replies = edit(desk.project)
    session = session_of(desk.claude("Raise the rate. MAIN"))
    settle(desk.project)
    assert desk.claude(NO, "--resume", session).returncode == 0
    settle(desk.project)
    assert "paths: [src/tax.py]" in (desk.project.root / "MEMORY.md").read_text()
    for rate, more in ((2, ()), (3, ("--resume", session))):
        desk.model.replies = edit(desk.project, rate)
        assert desk.claude("Raise it again. MAIN", *more).returncode == 0
        before, after = (
            desk.model.said(at).lower().count("never write a rate") for at in (-3, -1)
        )
        assert 0 < before == after


def crowded(desk, *old):
    """So many newer lessons that the old ones find no room at the start."""
    newer = [
        desk.project.entry(f"Newer lesson of module {number}", type="corrective")
        for number in range(24)
    ]
    lessons = [
        desk.project.entry(
            title, text, type="corrective", paths=[path], created_at="2026-01-01"
        )
        for title, text, path in old or [RATES]
    ]
    desk.project.memory(*[*newer, *lessons])
    desk.project.commit()


def counts(desk, text):
    """How often a text stands in each request of the main loop."""
    return [asked.count(text) for asked in turns_asked(desk)]


@pytest.mark.parametrize(
    "calls",
    [
        [Call("Read", {"file_path": "src/tax.py"})],
        # The shell command loads the rule in 2.1.332 and does not in 2.1.197.
        [
            Call("Bash", {"command": "cat src/tax.py"}),
            Call("Read", {"file_path": "src/tax.py"}),
        ],
        [Call("Bash", {"command": "cd src && cat tax.py"})],
    ],
    ids=["read", "shown and read", "shown by a longer line"],
)
def test_claude_is_told_once_what_a_rule_bound_to_paths_says(desk, calls):
    """A Read loads the rule, and no hook says it again; a line of two commands does not,
    and the hook says it."""
    crowded(desk)
    bound = "---\npaths:\n  - src/tax.py\n---\nRates are Decimal, always.\n"
    desk.project.write(".claude/rules/tax.md", bound)
    desk.model.replies = [*calls, "Done."]
    assert desk.claude("MAIN look at the rate").returncode == 0
    first, *_, last = counts(desk, "Rates are Decimal, always")
    assert (first, last) == (0, 1)


MODULES = [f"part{number}" for number in range(10)]


def shown(number, file):
    """A shell command that shows a file, one of five."""
    programs = ("cat", "head -n 5", "sed -n 1,3p", "nl", "tail -n +1")
    return f"{programs[number % len(programs)]} {file}"


def change(agent, number, path):
    """Calls that show a file and change it: by tools of the agent's own or a shell."""
    patch = (
        f"*** Begin Patch\n*** Update File: {path}\n@@\n-rate = 1\n+rate = 2\n"
        "*** End Patch"
    )
    words = {"old_string": "rate = 1", "new_string": "rate = 2"}
    if agent == "claude" and number % 2:
        return [
            Call("Read", {"file_path": path}),
            Call("Edit", {"file_path": path, **words}),
        ]
    by_shell = {
        "claude": f"sed -i s/1/2/ {path}",
        "codex": f"apply_patch <<'EOF'\n{patch}\nEOF",
    }
    return [shell(agent, line) for line in (shown(number, path), by_shell[agent])]


@both
def test_the_rule_stands_before_ten_of_ten_edits(desk, agent):
    """Of each file: nothing at first, its rule in the request that the edit answers, and
    once to the end."""
    rules = [
        (
            f"The rule of {name}",
            f"{name} counts in whole {name}-cents.",
            f"src/{name}.py",
        )
        for name in MODULES
    ]
    crowded(desk, *rules)
    for number, (_, _, file) in enumerate(rules):
        path = desk.project.write(file, "rate = 1\n")
        desk.model.replies += change(agent, number, str(path))
    desk.project.commit()
    desk.turn(agent, "MAIN raise the rates")
    for number, name in enumerate(MODULES):
        told = counts(desk, f"whole {name}-cents")
        edited = 2 * number + 1  # the request after the file was shown
        assert [*told[edited - 1 : edited + 1], told[-1]] == [0, 1, 1], (name, told)


def test_claude_is_answered_by_the_server_of_its_session(desk):
    """With a prompt, before an edit, after a failure, in a sub-agent; the model is not
    shown the tool that does it. 2.1.197 does not wait for the server at the start."""
    claude = client("claude")
    if not is_newer():
        pytest.skip("this version does not wait until the server stands")
    desk.project.ok("init", "--claude", "--set", "hook_by=mcp")
    program = Path(sys.executable).with_name("mem")
    server = ("mcp", "add", "mem", "--", str(program), "mcp")
    assert desk.run(claude, *server).returncode == 0
    crowded(desk)
    path = desk.project.root / "MEMORY.md"
    told = {
        "Freeze the clock": "Checkout tests fail at midnight: freeze the clock.",
        "npm looks for package.json": "npm error enoent package.json: run npm in web.",
    }
    entries = [desk.project.entry(title, text) for title, text in told.items()]
    path.write_text(path.read_text() + "".join(entries))
    failing = "echo npm error enoent Could not read package.json; exit 3"
    task = {"description": "look", "prompt": "SUB", "subagent_type": "general-purpose"}
    calls = [Call("Bash", {"command": failing}), Call("Agent", task)]
    desk.model.replies = [*edit(desk.project)[:2], *calls, "Done."]
    prompt = MIDNIGHT
    assert desk.claude(prompt).returncode == 0
    asked = turns_asked(desk)
    assert "mcp__mem__hook" not in "".join(asked)
    main = [text for text in asked if '"MAIN why' in text]
    for words, times in {
        "freeze the clock": [1, 1, 1, 1],
        "Rates are Decimal, always": [0, 1, 1, 1],
        "run npm in web": [0, 0, 0, 1],
    }.items():
        assert [text.count(words) for text in main[:4]] == times
        assert main[-1].count(words) == 1
    (sub,) = (text for text in asked if '"MAIN why' not in text)
    assert "Money is Decimal" in sub


def test_claude_is_told_again_what_was_edited_between_two_prompts(desk):
    """In its new words, with a prompt about something else, once."""
    path = desk.project.root / "MEMORY.md"

    def edited():
        path.write_text(path.read_text().replace("freeze the", "wind back the"))

    desk.talk(
        MIDNIGHT,
        edited,
        "MAIN rename the logo file of the page",
        "MAIN thank you, go on",
    )
    assert counts(desk, "freeze the clock") == [1, 1, 1]
    assert counts(desk, "wind back the clock") == [0, 1, 1]


def test_claude_is_not_told_what_it_wrote_itself(desk):
    """In an entry that it was told, and in one that is new."""
    path = str(desk.project.root / "MEMORY.md")
    words = {"old_string": "freeze the clock", "new_string": "wind back the clock"}
    new = desk.project.entry("The gateway", "The gateway drops the first call.")
    desk.project.write("new.md", new)
    desk.model.replies = [
        Call("Read", {"file_path": path}),
        Call("Edit", {"file_path": path, **words}),
        Call("Bash", {"command": "cat new.md >> MEMORY.md"}),
        "Done.",
    ]
    desk.talk(
        MIDNIGHT,
        "MAIN rename the logo file of the page",
        "MAIN why does the gateway drop the first call?",
    )
    assert "drops the first call" in Path(path).read_text()
    wound = counts(desk, "wind back the clock")
    assert wound[2] > 0
    assert len(set(wound[2:])) == 1
    # once by the client itself, which shows what the shell changed of a file it read
    assert counts(desk, "drops the first call") == [0, 0, 0, 1, 1, 1]


def test_claude_tells_each_of_two_sessions_at_once(desk):
    """What one was told is news to the other."""
    prompts = [
        f"MAIN {name}: why do the checkout tests fail around midnight?"
        for name in ("one", "other")
    ]
    with ThreadPoolExecutor() as pool:
        told = list(pool.map(desk.claude, prompts))
    assert [done.returncode for done in told] == [0, 0]
    main = turns_asked(desk)
    for prompt in prompts:
        (asked,) = (text for text in main if prompt in text)
        for words in ("freeze the clock", "Money is Decimal"):
            assert asked.count(words) == 1


@both
def test_each_fact_is_told_once_while_a_session_goes_on(desk, agent):
    """Resumed after a person changed an entry, wrote one and retired one; and forked."""
    session = desk.turn(agent, MIDNIGHT)
    gateway = desk.project.entry("The gateway", "The gateway drops the first call.")
    parcels = desk.project.entry("Parcels", "Parcels to Austria are shipped from Graz.")
    text = desk.project.read().replace("freeze the", "wind back the")
    desk.project.memory(text + gateway + parcels)
    desk.project.ok("retire", desk.project.entries()[-1].id)
    desk.turn(agent, "MAIN why does the gateway drop the first call?", session)
    desk.turn(agent, "MAIN from where are parcels to Austria shipped?", session)
    fork = desk.turn(agent, "MAIN go on with the logo", session, fork=True)
    assert fork != session
    desk.turn(agent, MIDNIGHT, fork)
    # Claude Code 2.1.197 writes nowhere which session a fork comes from.
    last = 1 if agent == "codex" or is_newer() else 2
    for words, times in {
        "Money is Decimal": [1] * 5,
        "freeze the clock": [1] * 5,
        "wind back the clock": [0, 1, 1, 1, last],
        "drops the first call.": [0, 1, 1, 1, 1],
        "shipped from Graz": [0] * 5,
    }.items():
        assert (words, counts(desk, words)) == (words, times)


@both
def test_what_the_agent_loads_by_itself_is_not_told(desk, agent):
    """Claude Code its rules and its own memory, Codex what AGENTS.md says here and of
    the person."""
    folder = re.sub(r"[\W_]", "-", str(desk.project.root))
    own = {
        "claude": (
            ".claude/rules/clock.md",
            f"~/.claude/projects/{folder}/memory/MEMORY.md",
        ),
        "codex": ("AGENTS.md", "~/.codex/AGENTS.md"),
    }[agent]
    facts = (
        "Checkout tests fail at midnight: freeze the clock.",
        "Round VAT once per line.",
    )
    for place, fact in zip(own, facts, strict=True):
        desk.project.write(place, f"- {fact}\n")
    desk.turn(agent, MIDNIGHT)
    assert [counts(desk, fact) for fact in facts] == [[1], [1]]
    assert "Money is Decimal" in desk.model.said()
    told = desk.project.mem("told").out
    assert not re.search("Freeze the clock|Round once", told)


def test_codex_is_told_again_after_a_compaction(desk):
    """And not a third time when it goes on."""
    session = desk.turn("codex", MIDNIGHT)
    emptied = ("-c", "model_auto_compact_token_limit=1")
    desk.turn("codex", "MAIN go on", session, *emptied)
    desk.turn("codex", "MAIN go on", session)
    for words in ("Money is Decimal", "freeze the clock"):
        assert counts(desk, words) == [1, 1, 1]


def test_claude_is_told_in_a_subfolder_by_the_users_hooks(desk):
    """The settings of the root reach it in 2.1.332 and not in 2.1.197; those of the user
    do in both, and where both reach it all is told once."""
    reaches = int(is_newer())
    prompt = MIDNIGHT
    inside = desk.project.root / "src"
    assert desk.claude(prompt, cwd=inside).returncode == 0
    assert counts(desk, "freeze the clock") == [reaches]
    desk.project.ok("init", "--claude", "--user")
    assert desk.claude(prompt, cwd=inside).returncode == 0
    assert counts(desk, "freeze the clock") == [reaches, 1]
    assert counts(desk, "Money is Decimal") == [reaches, 1]


def test_codex_tells_nothing_before_its_hooks_are_trusted(desk):
    """Neither those of the project nor the plug-in's; and doctor says so."""
    prompt = MIDNIGHT
    assert desk.codex(prompt, trust=False).returncode == 0
    desk.project.ok("init", "--codex", "--remove")
    for line in (("marketplace", "add", str(HOUSE)), ("add", "mem@memcli")):
        assert desk.run(client("codex"), "plugin", *line).returncode == 0
    assert desk.codex(prompt, trust=False).returncode == 0
    assert counts(desk, "freeze the clock") == [0, 0]
    said = desk.project.mem("doctor").out
    assert "Codex does not trust the plug-in's hooks yet" in said


def test_claude_is_told_each_fact_once_in_a_long_session(desk):
    """Through prompts about the same, readings, edits, a resumption and a compaction."""
    facts = {
        "Freeze the clock": "Checkout tests fail at midnight: freeze the clock.",
        "Ask the gateway twice": "The payment gateway drops the first call: ask twice.",
        "Ship from Graz": "Parcels to Austria are shipped from the store in Graz.",
    }
    about = {"type": "corrective", "paths": ["src/*.py"]}
    entries = [desk.project.entry(title, text) for title, text in facts.items()]
    entries.append(
        desk.project.entry("Round once", "Round VAT once per line.", **about)
    )
    desk.project.memory(*entries)
    desk.project.commit()
    asked = [
        MIDNIGHT,
        "MAIN the payment gateway drops the first call, why?",
        "MAIN from which store are parcels to Austria shipped?",
    ]
    for rate in (1, 2, 3):
        desk.model.replies += edit(desk.project, rate)
    desk.talk(*asked, *asked)
    session = next(iter((desk.project.home / ".claude").rglob("*.jsonl"))).stem
    assert desk.claude(asked[0], "--resume", session).returncode == 0
    told = [*facts.values(), "Round VAT once per line.", "Money is Decimal."]
    assert {text: counts(desk, text)[-1] for text in told} == dict.fromkeys(told, 1)
    assert desk.claude("/compact", "--resume", session).returncode == 0
    for prompt in asked:
        assert desk.claude(prompt, "--resume", session).returncode == 0
    assert {text: counts(desk, text)[-1] for text in told} == dict.fromkeys(told, 1)


@both
def test_a_proposal_is_told_and_kept(desk, agent):
    """What a session proposes the next one's agent sees, once, and keeps on a yes."""
    desk.model.replies = ["Which one?"]
    session = desk.turn(agent, "Install the packages. MAIN")
    desk.turn(agent, SLIP, session)
    settle(desk.project)
    (waiting,) = json.loads(desk.project.mem("inbox", "--json").out)["proposals"]
    assert "pnpm" not in desk.project.read()
    program = Path(sys.executable).with_name("mem")  # a login shell has its own PATH
    desk.model.replies = [shell(agent, f"{program} keep {waiting['id']}"), "Ok."]
    desk.turn(agent, "Yes, please. MAIN")
    told = desk.model.said(-1)
    assert told.count("proposed last time, not kept") == 1
    assert f"mem keep {waiting['id']}" in told
    assert "pnpm" in desk.project.read()
    settle(desk.project)
    desk.turn(agent, "Go on elsewhere. MAIN")
    assert "proposed last time, not kept" not in desk.model.said(-1)


def test_claude_is_told_what_mended_the_same_command_before(desk):
    """In another session, with the result of the command that failed, once."""
    build = "test -f lock || { echo error: cannot find the lock of the build; exit 3; }"
    lines = (build, "touch lock", build)
    desk.model.replies = [*(shell("claude", line) for line in lines), "Done."]
    assert desk.claude("MAIN build it").returncode == 0
    settle(desk.project)
    desk.project.ok("index", "--history")
    (desk.project.root / "lock").unlink()
    desk.model.asked.clear()
    desk.model.replies = [shell("claude", build), shell("claude", build), "Done."]
    assert desk.claude("MAIN build it once more").returncode == 0
    assert counts(desk, "`touch lock` was run") == [0, 1, 1]


@both
def test_without_mem_or_memory_nobody_is_troubled(desk, agent):
    """An uninstall leaves no error line behind, at no event; without memory nothing is
    told, and no file is made."""
    whole = desk.path
    desk.path = os.pathsep.join(
        folder for folder in whole.split(os.pathsep)
        if not os.path.exists(f"{folder}/mem")
    )  # fmt: skip
    line = "sed -i s/1/2/ src/tax.py"
    desk.model.replies = [shell(agent, line), "Done."]
    ask = {"claude": desk.claude, "codex": desk.codex}[agent]
    done = ask(MIDNIGHT)
    assert desk.project.read("src/tax.py") == "rate = 2\n"
    assert not re.search("hook_error|hook.*fail|mem: not", done.stderr + done.stdout)
    desk.path = whole
    for name in ("MEMORY.md", "institutional.md"):
        (desk.project.root / name).unlink()
    before = desk.project.git("status", "--short")
    desk.turn(agent, MIDNIGHT)
    settle(desk.project)
    assert desk.project.git("status", "--short") == before
    assert sum(counts(desk, "recalled-memory")) == 0


def refusing(desk, mode):
    """A guard of the person's own: nobody removes the tax file."""
    desk.project.write(
        "~/MEMORY.md",
        desk.project.entry(
            "Never remove the tax file", guard=mode, commands=["rm * src/tax.py"]
        ),
    )


REMOVAL = "rm -f src/tax.py"
DENIED = "mem guard refuses this: `Never remove the tax file`"
ASKED = "mem guard asks about this"


@pytest.mark.parametrize(
    ("agent", "mode", "told"),
    [
        ("claude", "deny", DENIED),
        ("codex", "deny", DENIED),
        # Nobody is there to say yes.
        ("claude", "ask", ASKED),
        # It has no answer for "ask": the hint stands in the request.
        ("codex", "ask", ASKED),
    ],
)
def test_a_guard_stops_a_call(desk, agent, mode, told):
    """The model reads the reason, and its next call passes."""
    refusing(desk, mode)
    lines = (REMOVAL, "echo kept > note.txt")
    desk.model.replies = [*(shell(agent, line) for line in lines), "Done."]
    desk.turn(agent, "MAIN tidy up")
    assert told in desk.model.said(1)
    can_answer = agent == "claude" or mode == "deny"
    assert desk.project.has("src/tax.py") or not can_answer
    assert desk.project.has("note.txt")


def test_the_plug_in_installs_in_both(desk):
    """From the marketplace of this repository; then nothing is wired twice."""
    claude = client("claude")
    codex = client("codex")
    plugin = str(HOUSE / "memcli" / "install" / "plugin")
    for line in (
        (claude, "plugin", "validate", "--strict", plugin),
        (claude, "plugin", "marketplace", "add", str(HOUSE)),
        (claude, "plugin", "install", "mem@memcli"),
        (codex, "plugin", "marketplace", "add", str(HOUSE)),
        (codex, "plugin", "add", "mem@memcli"),
    ):
        done = desk.run(*line)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
    said = desk.project.mem("init", "--claude", "--codex", "--user").out
    assert said.count("has the plug-in mem@memcli") == 2


CALLS = """
const { mem } = await import(process.argv[2])
const hooks = await mem({ directory: process.argv[3] })
const parts = [{ type: "text", text: "why do the checkout tests fail around midnight?" }]
const message = { id: "msg_1", sessionID: "ses_1" }
await hooks["chat.message"]({ sessionID: "ses_1" }, { message, parts })
const system = [], after = []
const transform = hooks["experimental.chat.system.transform"]
await transform({ sessionID: "ses_1" }, { system })
const call = { tool: "edit", sessionID: "ses_1", callID: "c1" }
await hooks["tool.execute.before"](call, { args: { filePath: process.argv[3] + "/src/tax.py" } })
const output = { output: "edited" }
await hooks["tool.execute.after"](call, output)
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "ses_1" } } })
await transform({ sessionID: "ses_1" }, { system: after })
console.log(JSON.stringify({ parts, system, output, after }))
"""


def test_the_plug_in_of_opencode_hands_on_what_is_told(desk):
    """In node, called as opencode calls it: at the start, with a prompt, at a tool,
    after a compaction."""
    node = client("node")
    louder = [
        desk.project.entry(
            f"Rule {number}", "Mind it.", type="corrective", importance=1.0
        )
        for number in range(30)
    ]  # so that the start does not tell the rule about the file
    path = desk.project.root / "MEMORY.md"
    path.write_text(path.read_text() + "".join(louder))
    desk.project.mem("init", "--opencode")
    script = desk.project.write("~/calls.mjs", CALLS)
    plugin = desk.project.root / ".opencode/plugin/mem.js"
    copy = desk.project.write("~/mem.mjs", plugin.read_text())
    done = desk.run(node, str(script), str(copy), str(desk.project.root))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (
        "Money is Decimal" in said["system"][0]
        and "freeze the clock" in said["parts"][1]["text"]
    )
    assert "Round VAT once per line" in said["output"]["output"]
    assert "Money is Decimal" in said["after"][0]

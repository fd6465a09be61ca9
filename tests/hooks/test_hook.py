"""Hooks as agents and git call them: real payloads through processes, in a real
repository."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from memcli.hooks.calls import EVENTS
from memcli.hooks.protocol import LISTED, SPOOLED
from memcli.install import git_hooks
from memcli.memory.parser import parse
from memcli.sessions.tools import tool_call
from memcli.storage.files import LOG, cache_dir, log_hook, state_dir
from memcli.storage.state import SessionLog, Spool, Spooled, State, alone
from memcli.text.digests import digest
from tests.commands.talk import held
from tests.conftest import Result
from tests.programs import finished

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)
PATIENT = 600
"""Seconds that a test waits for what takes a moment: only what is broken takes so
long."""
SESSION = "11111111-2222-4333-8444-555555555555"
ASKED = {"prompt": "why do the checkout tests fail around midnight?"}
HEAVY = "typer rich numpy anthropic yaml frontmatter pydantic httpx asyncio platformdirs jiter".split()


@pytest.fixture
def shop(project):
    """A repository that remembers something. Workers that a test started have ended
    after it."""
    project.write("institutional.md", "Money is Decimal.\n")
    project.memory(project.entry("Freeze the clock", "Checkout tests fail at midnight: freeze the clock.", id="clock"), project.entry("Never push by force", "Use `git push --force-with-lease` after asking.", id="push",
                        type="corrective", kind="pitfall", commands=["git push*"], created_at="2026-11-15"), project.entry("Round once", "Round VAT once per line.", id="vat", type="corrective",
                        paths=["src/*.py"], created_at="2026-01-01"), project.entry("Lint", "Run `make lint` before a commit.", id="lint", type="corrective",
                        created_at="2026-01-01", importance=0.1))  # fmt: skip
    project.commit()
    project.mem("index")
    yield project
    settle(project)


def history(project):
    with project.app() as app:
        return State(state_dir(), app.project.key)


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch):
    """No test depends on how fast the machine is."""
    monkeypatch.setenv("MEM_HOOK_SECONDS", "600")


def settle(project):
    """Wait until no worker is at it."""
    with project.app() as app:
        name = f"worker-{digest(app.project.key.encode())}"
    until = time.monotonic() + PATIENT
    quiet = 0
    while time.monotonic() < until:
        quiet = 0 if _running(project) else quiet + 1
        if quiet == 4:  # one that has just been forked has no name of its own yet
            # Not before: who finds it taken goes home.
            with alone(state_dir(), name, wait=PATIENT) as mine:
                assert mine
            return
        time.sleep(0.05)
    raise AssertionError("a worker does not end")


def _running(project):
    """Whether a hook of this test's world is still at work."""
    world = f"MEM_HOME={project.home}\0".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if (
                b"\0hook\0" in path.read_bytes()
                and world in path.with_name("environ").read_bytes()
            ):
                return True
        except OSError:
            continue
    return False


def call(project, verb, *, env=None, **values):
    """One call as an agent makes it, from a folder that is not the session's; a process
    at the end."""
    said = {
        "session_id": SESSION, "transcript_path": None, "cwd": str(project.root),
        "permission_mode": "default", "hook_event_name": "X", "unknown_field": [1], **values,
    }  # fmt: skip
    run = project.shell if verb == "session-end" else project.mem
    words = ("hook", verb, "--harness", "claude")
    done = run(*words, input=json.dumps(said), cwd=project.home, env=env)
    assert (done.code, done.err) == (0, "")
    return done


def told(result):
    """What the agent is told; "" for nothing."""
    if not result.out:
        return ""
    assert set(result.json) <= {"hookSpecificOutput", "systemMessage"}
    said = result.json.get("hookSpecificOutput")
    if said is None:
        return ""
    assert set(said) == {"hookEventName", "additionalContext"}
    return str(said["additionalContext"])


def heard(project, verb, **values):
    """What the agent is told in answer to a call."""
    return told(call(project, verb, **values))


def ended(project, path):
    """The session ends, and what follows behind its back has, too."""
    call(project, "session-end", transcript_path=str(path), reason="other")
    settle(project)


def rest(path):
    """A session that nothing was written to for an hour."""
    os.utime(path, (time.time() - 3600,) * 2)


def transcript(project, *said, edited=""):
    """A session of Claude Code in which a person said these things; the first had a
    file edited."""
    messages = []
    named = {"file_path": str(project.root / edited)}
    edit = [{"type": "tool_use", "id": "t", "name": "Edit", "input": named}]
    for number, text in enumerate(said):
        done = edit if edited and not number else "I did that."
        messages += [("user", text), ("assistant", done)]
    path = project.home / ".claude/projects/repo" / f"{SESSION}.jsonl"
    return held(path, SESSION, project.root, messages)


WISH = "No, don't use unittest here. Always use pytest for new tests, never unittest."


def test_rules_of_equal_weight_start_in_the_order_of_their_file(project):
    """Not by their ids; those of a folder where the session stands in it alone."""
    rules = [
        ("Never round twice", "f1", None),
        ("Always render on the server", "a1", ["pkg/web/**"]),
        ("Never mock the gateway", "e2", None),
        ("Always name the schema", "a3", None),
    ]
    same = {"kind": "preference", "type": "directive", "created_at": "2026-11-15"}
    project.memory(*(
            project.entry(title, f"{title}.", id=id, **same, **({"paths": paths} if paths else {}))
            for title, id, paths in rules
        ))  # fmt: skip
    project.write("pkg/web/page.py", "x = 1\n")
    project.commit()
    project.mem("index")
    text = heard(project, "session-start", source="startup")
    titles = [title for title, _, paths in rules if not paths]
    assert sorted(titles, key=text.index) == titles
    assert "on the server" not in text
    inside = str(project.root / "pkg/web")
    start = {"source": "startup", "session_id": "inside", "cwd": inside}
    assert "on the server" in heard(project, "session-start", **start)


def test_a_session_starts_with_norms_and_lessons(shop):
    """The start shows norms, then corrections and directives, those of the last two
    weeks first."""
    text = heard(shop, "session-start", source="startup")
    assert text.startswith("<recalled-memory>") and text.endswith("</recalled-memory>")
    words = ("Money is Decimal", "Never push by force", "Round once")
    assert sorted(words, key=text.index) == list(words)
    assert "Freeze the clock" not in text  # neither a correction nor a directive
    assert "VAT" not in heard(shop, "prompt", prompt="round the VAT once per line")


def test_a_start_is_answered_once(shop):
    """Told twice by the agent, or resumed, it still stands in the context; a new
    session has none."""
    path = transcript(shop, "Hello")
    known = {"transcript_path": str(path)}
    assert heard(shop, "session-start", source="startup", **known)
    for source in ("startup", "resume", "resume", "fork"):
        assert not heard(shop, "session-start", source=source, **known), source
    assert heard(shop, "session-start", source="startup", session_id="new")
    path.write_text('{"type": "attachment", "content": "<recalled-memory>\\n"}\n')
    assert not heard(shop, "session-start", source="fork", session_id="forked", **known)
    # whose own transcript the client has yet to write
    assert not heard(shop, "session-start", source="fork", session_id="also forked")
    assert heard(shop, "session-start", source="resume", session_id="from before")


@pytest.mark.parametrize(
    "key",  # Codex; Claude Code in two ways
    ["forked_from_id", "requestSessionId", 'forkedFrom": {"sessionId'],
)
def test_a_fork_holds_what_was_told_before(shop, key):
    """Neither its start nor a prompt tells it again."""
    told_before = {"prompt": "why do the checkout tests fail around midnight?"}
    assert heard(shop, "session-start", source="startup")
    assert heard(shop, "prompt", **told_before)
    path = transcript(shop, "Hello")
    fork = {"session_id": "fork", "transcript_path": str(path)}
    path.write_text(f'{{"{key}": "{SESSION}"}}')
    assert not heard(shop, "prompt", **told_before, **fork)
    assert not heard(shop, "session-start", source="fork", **fork)


@pytest.mark.parametrize("named", [True, False])
def test_after_a_compaction_all_is_told_again(shop, named):
    """The standing block, and what was told with prompts; each time, with a transcript
    or without."""
    path = transcript(shop, "Hello")
    known = {"transcript_path": str(path) if named else None}
    asked = {**ASKED, **known}
    call(shop, "session-start", source="startup", **known)
    assert heard(shop, "prompt", **asked)
    pushed = {"tool_input": {"command": "git push"}, **known}
    assert not heard(shop, "pre-tool", **pushed)  # the start has told it
    for _ in range(2):
        path.write_text(path.read_text() * 2)
        again = heard(shop, "session-start", source="compact", **known)
        assert "Money is Decimal" in again and "freeze the clock" in again
        assert not heard(shop, "prompt", **asked)  # it has just been told
        assert not heard(shop, "pre-tool", **pushed)
    if named:
        assert not heard(shop, "session-start", source="compact", **known)


def test_what_changed_is_told_again_and_marked(shop):
    """With a prompt, before a tool and when a session goes on; what says the same as
    before is not."""
    push = {"tool_input": {"command": "git push"}}
    call(shop, "session-start", source="startup")
    assert "changed since" not in heard(shop, "prompt", **ASKED)
    path = shop.root / "MEMORY.md"
    path.write_text(path.read_text().replace("freeze the clock", "stop the clock"))
    again = heard(shop, "prompt", **ASKED)
    assert "stop the clock" in again and "changed since it was told" in again
    assert heard(shop, "prompt", **ASKED) == ""
    assert heard(shop, "session-start", source="resume") == ""
    path.write_text(path.read_text().replace("push by force", "ever push by force"))
    path.write_text(
        path.read_text()
        + shop.entry(
            "Sign commits", "With -S.", type="corrective", created_at="2099-01-01"
        )
    )
    since = heard(shop, "session-start", source="resume")
    assert "Sign commits" in since and "ever push by force" in since
    assert "changed since it was told" in since and "Money is Decimal" not in since
    assert heard(shop, "session-start", source="resume") == ""
    assert heard(shop, "pre-tool", **push) == ""


@pytest.mark.parametrize(
    "given",
    [
        {"tool_name": "Edit", "tool_input": {"file_path": "MEMORY.md"}},
        {"tool_name": "Bash", "tool_input": {"command": "sed -i s/a/b/ MEMORY.md"}},
        {
            "tool_name": "Bash",
            "tool_input": {"command": "cd src && mem edit 1 --text x"},
        },
    ],
    ids=["edit", "shell", "mem"],
)
def test_what_the_agent_wrote_is_not_told_back(shop, given):
    """Neither a new entry nor new words of one that was told; what a person changes
    after its next prompt is told."""
    assert "freeze the clock" in heard(shop, "prompt", **ASKED)
    heard(shop, "pre-tool", **given)
    path = shop.root / "MEMORY.md"
    new = shop.entry("The walrus freezer", "The walrus freezer holds dugongs in Graz.")
    path.write_text(path.read_text().replace("freeze the", "wind back the") + new)
    walrus = {"prompt": "what does the walrus freezer hold in Graz?"}
    assert heard(shop, "prompt", **walrus) == ""
    assert heard(shop, "prompt", **ASKED) == ""
    assert "dugongs" in heard(shop, "prompt", **walrus, session_id="other")
    path.write_text(path.read_text().replace("dugongs", "manatees"))
    assert "manatees" in heard(shop, "prompt", prompt="rename the logo")


def test_each_part_of_a_long_section_is_told_once(shop):
    """A log without headings is one section: what it says further down is told though
    what it says above was."""
    lessons = {
        "walrus": "The walrus freezer holds dugongs: defrost it on Mondays.",
        "gateway": "The payment gateway drops the first call: ask it twice.",
    }
    between = "".join(
        f"Nothing came of trial {number}, it was left.\n\n" for number in range(90)
    )
    log = f"\n\n{between}".join(lessons.values())
    shop.write("tasks/lessons.md", f"# Lessons\n\n## Log\n\n{log}\n")
    shop.commit()
    walrus = {"prompt": "when do we defrost the walrus freezer with the dugongs?"}
    gateway = {"prompt": "why does the payment gateway drop the first call?"}
    assert "defrost it on Mondays" in heard(shop, "prompt", **walrus)
    assert "ask it twice" in heard(shop, "prompt", **gateway)
    assert heard(shop, "prompt", **walrus) == ""
    assert heard(shop, "prompt", **gateway) == ""


def test_what_was_told_and_has_changed_is_told_with_any_prompt(shop):
    """An agent obeys what it was told: the new words do not wait for a prompt about
    them. What was retired meanwhile is not told."""
    other = {"prompt": "please rename the logo file of the web page"}
    call(shop, "session-start", source="startup")
    assert heard(shop, "prompt", **other) == ""
    path = shop.root / "MEMORY.md"
    path.write_text(path.read_text().replace("push by force", "ever push by force"))
    again = heard(shop, "prompt", **other)
    assert "ever push by force" in again
    assert "changed since it was told" in again
    assert "Money is Decimal" not in again
    assert heard(shop, "prompt", **other) == ""
    path.write_text(path.read_text().replace("ever push", "ever, ever push"))
    (entry,) = [
        each["id"] for each in shop.listed() if "push by force" in each["title"]
    ]
    shop.mem("retire", entry)
    assert heard(shop, "prompt", **other) == ""


def test_what_the_agent_has_read_is_not_told(shop):
    """What stands in CLAUDE.md, in what it includes, and in the rules for a file at
    hand; the opposite of it is told, and so is what stands in a comment alone."""
    assert "freeze the clock" in heard(shop, "prompt", **ASKED, session_id="a")
    shop.write("CLAUDE.md", "# Shop\n\nSee @docs/tests.md\n")
    line = "Checkout tests fail at midnight: freeze the clock."
    shop.write("docs/tests.md", f"- {line}\n- Never push by force\n")
    assert heard(shop, "prompt", **ASKED, session_id="b") == ""
    shop.write("docs/tests.md", f"- {line.replace('freeze', 'never freeze')}\n")
    assert "freeze the clock" in heard(shop, "prompt", **ASKED, session_id="c")
    shop.write("docs/tests.md", f"<!-- hidden:\n- {line}\n-->\n")
    assert "freeze the clock" in heard(shop, "prompt", **ASKED, session_id="f")
    bound = "---\npaths:\n  - 'src/*.py'\n---\nRound VAT once per line.\n"
    shop.write(".claude/rules/tax.md", bound)
    shop.write("src/a.py", "rate = 1\n")
    reading = {
        "tool_name": "Read",
        "tool_input": {"file_path": f"{shop.root}/src/a.py"},
    }
    assert heard(shop, "pre-tool", **reading, session_id="d") == ""
    shop.write(".claude/rules/tax.md", bound.replace("src/", "web/"))
    assert "Round" in heard(shop, "pre-tool", **reading, session_id="e")


def test_a_rule_of_any_kind_is_told_at_its_file_and_command(shop):
    """What was learned to bind is told where it binds; of a correction alone the
    commands that it shows in passing count, too. Facts wait for a prompt."""
    rule = {"type": "directive", "kind": "policy", "paths": ["src/*.py"]}
    command = {"type": "directive", "commands": ["npm *"]}
    fact = {"type": "declarative", "kind": "fact", "paths": ["src/*.py"]}
    shop.memory(
        shop.entry("Decimal", "From now on money is Decimal.", **rule),
        shop.entry("Use pnpm", "Never npm: run `make lint all` first.", **command),
        shop.entry("Old module", "It was written in 2019.", **fact),
    )
    path = shop.write("src/a.py", "rate = 1\n")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(path)}}
    told = heard(shop, "pre-tool", **edit)
    assert "money is Decimal" in told and "2019" not in told
    assert heard(shop, "pre-tool", **edit) == ""
    shell = {"tool_name": "Bash", "tool_input": {"command": "npm install"}}
    lint = {"tool_name": "Bash", "tool_input": {"command": "make lint all"}}
    assert heard(shop, "pre-tool", **lint) == ""
    assert "Never npm" in heard(shop, "pre-tool", **shell)


def test_a_rule_bound_to_paths_is_loaded_by_reading_alone(shop):
    """By one command that shows the file, too; no change by a shell, no longer line and
    no new file makes the agent load it: there the correction is told."""
    bound = "---\npaths:\n  - 'src/*.py'\n---\nRound VAT once per line.\n"
    shop.write(".claude/rules/tax.md", bound)
    path = shop.write("src/a.py", "rate = 1\n")
    new = f"{shop.root}/src/new.py"
    assert tool(shop, "a", file_path=str(path)) == ""
    assert tool(shop, "b", command="cat src/a.py") == ""
    assert "Round" in tool(shop, "b", command="sed -i s/1/2/ src/a.py")
    assert "Round" in tool(shop, "c", command="cd src && cat a.py")
    assert "Round" in tool(shop, "d", file_path=new, content="rate = 1")


def test_what_is_exported_as_a_rule_is_not_told_too(shop):
    """The agent loads it when it reads the file."""
    path = shop.write("src/a.py", "rate = 1\n")
    assert "Round" in tool(shop, "a", file_path=str(path))
    shop.mem("export", "claude-rules", "--out", ".claude/rules")
    assert tool(shop, "b", file_path=str(path)) == ""


def test_what_the_agent_says_it_loaded_is_not_told(shop):
    """A file that no rule of ours would find, named by the client's own list."""
    line = "Checkout tests fail at midnight: freeze the clock."
    path = shop.write("sub/notes/AGENT.md", f"{line}\n")
    result = call(
        shop, "instructions-loaded", file_path=str(path), memory_type="Project"
    )
    assert result.out == ""
    assert heard(shop, "prompt", **ASKED) == ""
    assert heard(shop, "prompt", **ASKED, session_id="other")


def test_a_sub_agent_is_told_the_standing_rules(shop):
    """Once, within 300 tokens, and not the episodes."""
    result = call(shop, "subagent-start", agent_id="a1", agent_type="general-purpose")
    assert result.json["hookSpecificOutput"]["hookEventName"] == "SubagentStart"
    assert "Money is Decimal" in told(result) and "Never push by force" in told(result)
    assert len(told(result)) <= 1200
    assert heard(shop, "subagent-start", agent_id="a1") == ""
    assert heard(shop, "subagent-start", agent_id="a2")
    assert "Money is Decimal" in heard(shop, "subagent-start")  # a client without ids
    events = {row["event"] for row in shop.mem("told", "--json").json["tellings"]}
    assert events == {"subagent-start"}


def test_the_person_sees_what_was_told(shop):
    """One line that no model gets; nothing when silent, or with hook_show off."""
    said = call(shop, "prompt", **ASKED).json["systemMessage"]
    assert said == "mem: 1 note told (Freeze the clock)"
    assert call(shop, "prompt", prompt="good morning").out == ""
    off = call(shop, "prompt", session_id="b", env={"MEM_HOOK_SHOW": "false"}, **ASKED)
    assert "systemMessage" not in off.json and told(off)


def test_a_start_stays_within_its_budget(shop):
    """However much there is, a start has at most 600 tokens."""
    many = [
        shop.entry(f"Rule {number}", "word " * 60, type="corrective")
        for number in range(60)
    ]
    shop.memory(*many)
    shop.write("institutional.md", "- a norm of some length\n" * 900)
    assert 1_800 < len(heard(shop, "session-start", source="startup")) <= 2_400


def test_a_repository_may_lower_the_budget_of_a_start(shop):
    """A limit of its own changes how much a start tells, not whether it tells."""
    shop.write(".mem.toml", "max_tokens = 800\n")
    text = heard(shop, "session-start", source="startup")
    assert "Money is Decimal" in text and "Round once" in text
    assert "Never push by force" in heard(shop, "subagent-start", session_id="b")


def test_a_start_begins_with_rules_and_tells_nothing_unconfirmed(shop):
    """What binds comes first; what a model alone found is left out; what an agent kept
    of its person is named; an episode by its title alone."""
    guess = {"scope": "team", "priority": "medium", "session_id": "one",
             "created_at": "2026-01-01"}  # fmt: skip
    entries = [
        shop.entry(f"Rule {number}", "word " * 30, type="corrective", importance=0.9)
        for number in range(9)
    ] + [
        shop.entry("Maybe so", "A guess.", type="corrective", importance=1.0, **guess),
        shop.entry("No force", "Never.", type="directive", importance=0.1, guard="deny",
                   commands=["git push --force *"]),
        shop.entry("Moved the till", "Long story.", kind="episode", type="declarative"),
    ]  # fmt: skip
    shop.memory(*entries)
    shop.write(
        "memory/feedback_no_emojis.md", "# No emojis in commits\n\nAsked twice.\n"
    )
    text = heard(shop, "session-start", source="startup")
    assert text.index("No force") < text.index("Rule ")
    assert "Maybe so" not in text
    assert "No emojis in commits" in text and "Asked twice" not in text
    assert "Moved the till" in text and "Long story" not in text


def test_a_start_names_the_rules_that_an_agent_keeps_of_its_person(shop):
    """More of them than of other prose, and none of what explains a rule."""
    below = "**Why:** the till broke once.\n\n**How to apply:** in all branches."
    for number in range(8):
        text = f"Never open till number {number} by hand.\n\n{below}\n"
        front = "---\ntype: feedback\n---\n"
        shop.write(f".claude/memory/till_{number}.md", front + text)
    told = heard(shop, "session-start", source="startup")
    assert all(
        f"Never open till number {number} by hand" in told for number in range(8)
    )
    assert "the till broke once" not in told and "in all branches" not in told
    # a line each, whose id says where the rule stands
    assert "\n- Never open till number 7 by hand" in told
    assert "till_7.md" not in told


def test_own_manner_is_shown_unless_tracked_or_switched_off(shop):
    """It is shown to its own person, never when git knows it or hook_proxy is off."""
    tone = shop.entry("Tone", "Answers begin with the result.", kind="preference")
    shop.write("proxy.md", shop.entry("No emojis", "") + tone)
    shop.git("config", "core.excludesFile", "/dev/null")
    assert "begin with the result" in heard(shop, "session-start", source="startup")
    off = heard(shop, "session-start", source="clear", env={"MEM_HOOK_PROXY": "false"})
    assert off and "begin with the result" not in off
    shop.git("add", "-f", "proxy.md")
    tracked = heard(shop, "session-start", source="clear")
    assert tracked and "begin with the result" not in tracked


def test_a_prompt_recalls_each_entry_once_in_a_session(shop):
    """What bears on a prompt is shown, once; another session is told anew."""
    assert "freeze the clock" in heard(shop, "prompt", **ASKED)
    assert heard(shop, "prompt", **ASKED) == ""
    assert heard(shop, "prompt", session_id="another", **ASKED)
    assert [telling.entry for telling in SessionLog(history(shop)).told(SESSION)] == [
        "clock"
    ]
    assert (
        history(shop).recalled(SESSION) == []
    )  # what was told is no evidence of its use


@pytest.mark.parametrize(
    "prompt", ["thanks, go on", "run the tests again", "good morning!", "/clear", "  "]
)
def test_a_prompt_about_nothing_recalls_nothing(shop, prompt):
    """Small talk and everyday orders share words with memory, and are no reason to
    bring it up."""
    assert call(shop, "prompt", prompt=prompt).out == ""


def test_one_nudge_after_sixty_prompts(shop):
    """When 60 prompts went by and nothing was remembered, one line says so, once;
    whoever has just remembered something is not nudged."""
    go_on = {"prompt": "go on"}
    call(shop, "prompt", **go_on)
    log = SessionLog(history(shop))
    log.remember_turns(SESSION, log.turns(SESSION)._replace(prompts=58), "2026-11-21")
    assert heard(shop, "prompt", **go_on) == ""
    assert "mem add" in heard(shop, "prompt", **go_on)
    assert heard(shop, "prompt", **go_on) == ""
    log.remember_turns(
        SESSION, log.turns(SESSION)._replace(prompts=59, nudged=False), "2026-11-21"
    )
    shop.mem("add", "Zebras are striped")
    assert heard(shop, "prompt", **go_on) == ""


def tool(project, session=SESSION, **given):
    return heard(
        project, "pre-tool", session_id=session, tool_name="X", tool_input=given
    )


@pytest.mark.parametrize(
    "row",
    [
        "git push --force origin main | Never push by force",
        "cd web && FOO=1 git push | Never push by force",
        "echo 'git push' | ",
        "git pull | ",
        "make lint && make test | Lint",
        "make lint-all | ",
    ],
)
def test_a_command_brings_its_correction_up(shop, row):
    """A correction is shown when a command matches its globs, or contains a code span
    of its text."""
    command, found = row.split(" | ")
    text = tool(shop, command=command)
    assert bool(text) == bool(found) and found in text


WORDED = """
Never amend commits | git commit -m x --amend | git commit -m x
Never skip the hooks (`--no-verify`) | git push --no-verify | git push
Do not run npm install here. | cd web && npm i x | npm test
Never add a dependency without asking | npm install left-pad | npm ls
Never add jQuery | npm i -D jquery@3 | npm install react
Use pnpm, not npm. | npm ci | pnpm i
Always use pnpm | yarn add x | pnpm add x
Never `rm -rf` outside of dist/ | rm -rf src | cat dist/a.js
Never `git push --force` | git push origin main --force | git push
Run `make lint all` before a push | | make lint all
Amend the last commit for a typo | | git commit --amend
Never use eslint or prettier | prettier --write . | black .
Never run jest snapshots | | jest --ci
Never edit dist/bundle.js by hand | cat dist/bundle.js | cat bundle.js
Never touch bundle.js | cat web/bundle.js | cat web/bundle.css
tests/seed.json is generated: don't edit it. | touch tests/seed.json | touch seed.json
Never bump the version in package.json | cat package.json | cat web/package.json
Keep docs/api.md short | cat docs/api.md | cat docs/guide.md
The cart lives in src/cart.ts | | cat src/cart.ts
Keep the code in `src/` | | cat src/cart.ts
"""
"""Rules, each with what it is told before, and what not."""


@pytest.mark.parametrize("row", WORDED.strip().splitlines())
@pytest.mark.parametrize("form", ["prose", "directive", "declarative"])
def test_a_rule_is_told_before_what_its_words_forbid_or_name(shop, form, row):
    """Whoever wrote it, with or without front matter: before the commands it forbids
    and the files it names; what asks for a command, or says where something is, is not."""
    rule, about, beside = map(str.strip, row.split(" |"))
    shop.write("package.json", "{}")
    prose = f"# Shop notes\n\n- {rule}\n- Money is Decimal.\n- Dates are UTC.\n"
    entry = shop.entry(rule, "", type=form)
    shop.write("tasks/rule.md", prose if form == "prose" else entry)
    told = tool(shop, session="a", command=about)
    assert (rule in told) == (about != "")
    assert rule not in tool(shop, session="b", command=beside)


def test_rules_of_equal_weight_are_told_in_the_order_of_their_file(shop):
    """Behind what weighs more, and no more than three in all."""
    rules = ["atomic", "prune", "signed", "thin"]
    lines = "".join(f"- Never use `git push --{each}`.\n" for each in rules)
    shop.write("tasks/rules.md", lines)
    line = "git push " + " ".join(f"--{each}" for each in reversed(rules))
    told = tool(shop, session="a", command=line)
    assert re.findall(r"(?m)git push --(\w+)`.$", told) == rules[:2]


def test_a_file_brings_its_correction_up(shop):
    """A correction is shown when the file at hand matches one of its paths, once in a
    session."""
    assert "Round once" in tool(shop, file_path=str(shop.root / "src" / "tax.py"))
    assert tool(shop, notebook_path=str(shop.root / "src" / "other.py")) == ""
    assert "Round once" in tool(shop, session="another", path="src/tax.py")
    assert tool(shop, session="third", path="docs/tax.py") == ""


def test_a_tool_gets_at_most_three_lines(shop):
    """Of many corrections the three most prominent are shown, one line each; then the
    next."""
    shop.write("tasks/many.md", "".join(
        shop.entry(f"Rule {number}", "Line one.\n\nLine two. " * 40, type="corrective", commands=["npm *"])
        for number in range(5)
    ))  # fmt: skip
    first = tool(shop, command="npm test")
    second = tool(shop, command="npm test")
    assert (len(first.split("\n")), len(second.split("\n"))) == (3, 2)
    assert all(len(line) < 420 and "Untrusted" in line for line in first.split("\n"))
    assert tool(shop, command="npm test") == ""


def test_played_twice_nothing_is_learned_twice(shop):
    """The same payloads in the same order again, and the session forked, change no
    memory file."""
    path = transcript(shop, "Write a test for the parser.", WISH)
    for _ in range(2):
        call(shop, "session-start", source="startup", transcript_path=str(path))
        call(shop, "prompt", prompt="write a test", transcript_path=str(path))
        call(shop, "pre-compact", trigger="auto", transcript_path=str(path))
        call(shop, "session-end", transcript_path=str(path), reason="other")
        settle(shop)
        before = before if _ else memory(shop)  # noqa: F821
    assert memory(shop) == before
    fork = path.with_name("99999999-2222-4333-8444-555555555555.jsonl")
    fork.write_bytes(path.read_bytes())
    call(
        shop,
        "session-end",
        transcript_path=str(fork),
        session_id=fork.stem,
        reason="other",
    )
    settle(shop)
    assert memory(shop) == before


def memory(project):
    return {str(path): path.read_bytes() for path in project.root.rglob("*.md")}


def test_a_resumed_session_adds_what_is_new(shop):
    """It is read on from where it was; what it corrects of before is told at the next
    edit."""
    shop.write("src/gen.py", "x = 1\n")
    path = transcript(shop, "Write a test.", WISH, edited="src/gen.py")
    ended(shop, path)
    first = memory(shop)
    more = "No, never edit generated files by hand, change the template."
    transcript(shop, "Write a test.", WISH, more, edited="src/gen.py")
    ended(shop, path)
    text = shop.data()
    assert (
        b"generated files" in text
        and text[:200] == first[str(shop.root / "MEMORY.md")][:200]
    )
    assert "generated files" in tool(shop, session="next", file_path="src/gen.py")


def test_a_session_nobody_told_of_is_swept_up_by_the_next_start(shop):
    """A crash fires no hook: the next start learns from sessions that have rested for
    half an hour."""
    path = transcript(shop, "Write a test.", WISH)
    rest(path)
    call(shop, "session-start", source="startup", session_id="next")
    settle(shop)
    assert "pytest" in shop.read()


def test_a_session_that_still_runs_is_left_alone(shop):
    """A session that was compacted or is being written to is not learned from before it
    rests."""
    path = transcript(shop, "Write a test.", WISH)
    before = memory(shop)
    assert (
        call(shop, "pre-compact", trigger="auto", transcript_path=str(path)).out == ""
    )
    call(shop, "session-start", source="compact", transcript_path=str(path))
    settle(shop)
    assert memory(shop) == before
    assert [item.path for item in Spool(history(shop)).waiting()] == [str(path)]


@pytest.mark.parametrize("mark", [".git/MERGE_HEAD", ".git/rebase-merge", "tasks/c.md"])
def test_nothing_is_written_in_the_middle_of_a_merge(shop, mark):
    """Or while a memory file has a conflict: sessions stay spooled; the next start
    after it learns."""
    path = transcript(shop, "Write a test.", WISH)
    shop.write(mark, "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    before = memory(shop)
    ended(shop, path)
    assert memory(shop) == before and Spool(history(shop)).waiting()
    (shop.root / mark).unlink()
    call(shop, "session-start", source="startup", session_id="next")
    settle(shop)
    assert "pytest" in shop.read()
    assert not Spool(history(shop)).waiting()


@pytest.mark.parametrize("after", [0.0, 0.03, 0.1, 0.25])
def test_a_killed_hook_loses_nothing(shop, after):
    """Killed at whatever moment, the end of a session is made up for by its next
    call."""
    path = transcript(shop, "Write a test.", WISH)
    said = {"session_id": SESSION, "transcript_path": str(path), "cwd": str(shop.root)}
    words = [sys.executable, "-m", "memcli", "hook", "session-end"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(json.dumps(said).encode())
    process.stdin.close()
    time.sleep(after)
    process.kill()
    process.wait()
    rest(path)
    call(shop, "session-start", source="startup", session_id="next")
    until = time.monotonic() + PATIENT
    text = ""
    # A killed hook's child may be slow.
    while "pytest" not in text and time.monotonic() < until:
        settle(shop)
        text = shop.read()
    assert (
        sum(
            "never unittest" in entry.body for entry in parse(text, "MEMORY.md").entries
        )
        == 1
    )


def test_the_end_does_not_wait_for_what_follows(shop):
    """The hook returns while the worker cannot even begin, and leaves it none of its
    streams."""
    path = transcript(shop, "Write a test.", WISH)
    with shop.app() as app:
        name = f"worker-{digest(app.project.key.encode())}"
    with alone(state_dir(), name, wait=0) as mine:
        assert mine
        call(
            shop, "session-end", transcript_path=str(path)
        )  # waits for the end of stdout
        until = time.monotonic() + PATIENT
        while not Spool(history(shop)).waiting() and time.monotonic() < until:
            time.sleep(0.3)  # it is noted behind the back of the agent
        assert Spool(history(shop)).waiting()
    settle(shop)
    assert not Spool(history(shop)).waiting()


def test_a_repository_without_memory_is_not_begun_in(project):
    """Hooks in the user's own settings make no memory files in other people's
    repositories."""
    path = str(transcript(project, "Write a test.", WISH))
    for verb in ("session-start", "prompt", "pre-tool", "pre-compact", "session-end"):
        assert (
            call(project, verb, transcript_path=path, prompt="x", source="startup").out
            == ""
        )
    settle(project)
    assert list(project.root.iterdir()) == [project.root / ".git"]


def test_sub_agents_are_told_nothing_but_corrections(shop):
    """Inside of a sub-agent only the moment of action counts; its end is none of the
    session's."""
    assert call(shop, "session-start", source="startup", agent_id="a1").out == ""
    assert (
        call(
            shop, "prompt", prompt="checkout tests fail at midnight", agent_id="a1"
        ).out
        == ""
    )
    pushed = call(shop, "pre-tool", tool_input={"command": "git push"}, agent_id="a1")
    assert "force" in told(pushed)
    call(shop, "session-end", agent_id="a1")
    assert Spool(history(shop)).waiting() == []


def test_nested_agents_are_inert(shop):
    """With MEM_HOOK=off a hook ends before it imports or writes anything."""
    result = call(shop, "session-start", source="startup", env={"MEM_HOOK": "off"})
    assert result.out == "" and not (state_dir() / LOG).exists()


def test_the_root_is_that_of_the_session(shop, tmp_path):
    """It is found from the payload's folder, not from the process's; MEM_ROOT stands
    above both."""
    inner = shop.root / "src" / "deep"
    inner.mkdir(parents=True)
    assert heard(shop, "session-start", cwd=str(inner))
    assert not heard(shop, "session-start", cwd=str(tmp_path), session_id="b")
    env = {"MEM_ROOT": str(shop.root)}
    assert heard(shop, "session-start", cwd=str(tmp_path), session_id="c", env=env)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff\xfe\x00", b"null", b"[" * 100_000,
        b'{"session_id": ["x"], "cwd": {"a": 1}, "prompt": 7, "tool_input": "x"}',
        b'{"session_id": "x", "cwd": "relative"}', b'{"session_id": "x", "cwd": "/no/such/folder"}',
        b'{"session_id": "x", "cwd": "/\\u0000"}', b'{"session_id": "\\ud800", "cwd": "/"}',
    ],
)  # fmt: skip
def test_garbage_is_answered_with_nothing(project, data):
    """Whatever comes in: status 0 and no word."""
    for verb in "session-start prompt pre-tool pre-compact session-end git-post-commit x".split():
        assert project.mem("hook", verb, input=data) == Result(0, "", "")


ODD = (None, "", 7, [], {}, True, "\ud800", "\0", "😀" * 3000)
"""What may stand in a payload instead of what should."""
WHOLE = {
    "session_id": SESSION, "transcript_path": "/gone", "cwd": "", "source": "startup",
    "hook_event_name": "X", "prompt": "why do the checkout tests fail around midnight?",
    "tool_name": "Bash", "tool_input": {"command": "cat src/tax.py"}, "agent_id": "a",
    "error": "Exit code 1", "file_path": "/gone/CLAUDE.md",
}  # fmt: skip


@pytest.mark.parametrize("verb", [*EVENTS, *SPOOLED[:1], LISTED])
def test_an_odd_payload_troubles_nobody(shop, verb):
    """Each key left out, and each with values of another kind: status 0, JSON or
    nothing, and nothing of it is an error in the log."""
    whole = {**WHOLE, "cwd": str(shop.root)}
    payloads = [
        {name: value for name, value in whole.items() if name != key} for key in whole
    ]
    payloads += [{**whole, key: odd} for key in whole for odd in ODD]
    payloads += [{**whole, "tool_input": {"command": odd}} for odd in ODD]
    for payload in payloads:
        result = shop.mem("hook", verb, input=json.dumps(payload))
        assert (result.code, result.err) == (0, "")
        assert not result.out or set(result.json) <= {
            "hookSpecificOutput",
            "systemMessage",
        }
    log = state_dir() / LOG
    lines = log.read_text(encoding="utf-8") if log.exists() else ""
    assert "Error" not in lines and "Traceback" not in lines


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("bogus", "mem hook session-start, subagent-start, prompt, "),
        ("prompt --harness nobody", "--harness claude, codex, gemini, "),
        ("prompt", "give it JSON with session_id, cwd, prompt\n"),
    ],
)
def test_a_person_is_told_what_is_wrong_with_a_call(shop, monkeypatch, line, hint):
    """At a terminal alone: no client has one there."""
    words = ("hook", *line.split())
    assert shop.mem(*words, input="{}").err == ""
    monkeypatch.setattr(os, "isatty", lambda number: number == 2)
    assert f"\nhint: {hint}" in shop.mem(*words, input="{}").err


def test_what_is_unknown_is_a_line_in_the_log(shop):
    """An event and an agent that mem does not know, a payload without a session or
    without what its event is about."""
    known = json.dumps({**WHOLE, "cwd": str(shop.root)})
    bare = json.dumps({"session_id": SESSION, "cwd": str(shop.root)})
    events = ("prompt", "pre-tool", "tool-failed", "instructions-loaded")
    for words, data in (
        (("sideways",), known),
        (("prompt", "--harness", "nobody\n"), known),
        (("prompt", "--harness", "claude"), "{}"),
        *(((event,), bare) for event in events),
    ):
        assert shop.mem("hook", *words, input=data) == Result(0, "", "")
    lines = (state_dir() / LOG).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3 + len(events)
    assert all("bytes that are not a call" in line for line in lines[2:])
    assert "unknown event" in lines[0] and "unknown agent 'nobody" in lines[1]
    assert "2 bytes that are not a call" in lines[2]


@pytest.mark.parametrize("verb", ["session-start", "prompt", "pre-tool", "tool-failed"])
def test_characters_beyond_the_first_plane_stay(project, verb):
    """Emoji reach the agent as they are; half a pair is replaced."""
    text = "🧪 Checkout tests fail at midnight: freeze the clock 🕛 of src/tax.py 𝔽"
    entry = project.entry("🕛 Freeze", text, type="corrective", paths=["src/tax.py"])
    project.memory(entry)
    project.commit()
    asked = {**WHOLE, "cwd": str(project.root), "agent_id": ""}
    asked["error"] = asked["prompt"]
    asked["tool_input"] = {"file_path": str(project.root / "src" / "tax.py")}
    if verb == "tool-failed":
        asked["tool_input"] = {"command": "pytest checkout"}
    said = heard(project, verb, **asked)
    assert "🕛" in said and "𝔽" in said and "\ufffd" not in said


def test_an_open_input_is_not_waited_for(shop):
    """Agents that do not close their end are answered when they said all, else given
    up."""
    said = json.dumps(
        {"session_id": "s", "cwd": str(shop.root), "source": "startup"}
    ).encode()
    for data, answered in ((said, True), (said[:-1], False), (b"", False)):
        words = [sys.executable, "-m", "memcli", "hook", "session-start"]
        env = {**os.environ, "MEM_HOOK_SECONDS": "600" if answered else "2"}
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=env) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(data)
            process.stdin.flush()
            assert bool(process.stdout.read()) == answered
        assert process.wait() == 0


@pytest.mark.parametrize("waited, total", [(0.0, "0.1"), (5.0, "0.2")])
def test_a_hook_that_hangs_ends_with_success(waited, total):
    """The clock ends a process that is stuck, with status 0, no word, and a line in the
    log; what other programs had of its time is given once more, up to as much again."""
    code = f"""
import time
from memcli.hooks import protocol
protocol.LAST_WORDS = 3
protocol._out_of_turn = lambda: {waited}
with protocol._expiring(0.1, ["prompt"]):
    time.sleep(60)
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=50
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")
    log = (state_dir() / "hooks.log").read_text()
    assert log.endswith(f" gave up after {total} s: prompt\n")


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_no_answer_waits_for_the_disk(shop, tmp_path):
    """Once its tables are made, a prompt's hook writes what it told without a sync.

    The files are an hour old: those of this very moment are read again at the next
    call."""
    for name in ("MEMORY.md", "institutional.md"):
        os.utime(shop.root / name, times=(time.time() - 3600,) * 2)
    call(shop, "prompt", session_id="first", prompt="checkout tests fail at midnight")
    said = {"session_id": "other", "cwd": str(shop.root), "prompt": "tests at midnight"}
    traced = tmp_path / "calls"
    words = ["strace", "-f", "-e", "trace=fdatasync,fsync,write", "-o", str(traced)]
    words += [sys.executable, "-m", "memcli", "hook", "prompt"]
    data = json.dumps(said | {"prompt": "checkout tests fail at midnight"}).encode()
    process = subprocess.run(words, input=data, capture_output=True, check=True)
    assert b"freeze the clock" in process.stdout
    assert "write(1," in traced.read_text() and "sync(" not in traced.read_text()
    history(shop).close()
    assert not heard(shop, "prompt", session_id="other", prompt=said["prompt"])


def test_half_the_time_ends_what_takes_long(shop):
    """A prompt is then answered by words alone; a start with what stands."""
    late = (
        "import sys, time; from memcli.hooks import prompts, protocol, standing\n"
        "def slow(*_): time.sleep(60)\n"
        "prompts.history_of = standing._lessons = slow\n"
        "protocol.main(sys.argv[1:])"
    )
    said = {"session_id": "s", "cwd": str(shop.root), "source": "startup"}
    asked = said | {"prompt": "checkout tests fail at midnight"}
    for verb, given, word in (
        ("prompt", asked, b"freeze the clock"),
        ("session-start", said, b"Money is Decimal"),
    ):
        process = subprocess.run(
            [sys.executable, "-c", late, verb],
            input=json.dumps(given).encode(),
            capture_output=True,
            env={**os.environ, "MEM_HOOK_SECONDS": "16"},
            timeout=50,
        )
        assert word in process.stdout, verb


def test_a_locked_state_does_not_silence(shop):
    """It is said, and as it could not be remembered, said again."""
    locked = history(shop)
    locked.db.execute("BEGIN EXCLUSIVE")
    for _ in range(2):
        assert heard(shop, "prompt", prompt="checkout tests fail at midnight")
    locked.db.execute("ROLLBACK")
    locked.close()
    assert heard(shop, "prompt", prompt="checkout tests fail at midnight")
    assert not heard(shop, "prompt", prompt="checkout tests fail at midnight")


@pytest.mark.parametrize("fault", ["garbage", "short", "torn"])
def test_a_damaged_state_is_made_anew_and_said_once(shop, fault):
    """It is moved aside; the hook that found it answers, and so do those after it."""
    path = state_dir() / "state.db"
    whole = path.read_bytes() if path.exists() else b""
    call(shop, "prompt", prompt="go on")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    torn = whole[:4096] + b"\xff" * (len(whole) - 4096)
    path.write_bytes(
        {"garbage": b"no database" * 999, "short": whole[:50], "torn": torn}[fault]
    )
    result = call(shop, "prompt", prompt="checkout tests fail at midnight")
    assert "freeze the clock" in told(result)
    assert "the state file was damaged: moved to" in result.json["systemMessage"]
    assert len(list(state_dir().glob("state.db.damaged-*[0-9]"))) == 1
    other = call(
        shop, "prompt", prompt="checkout tests fail at midnight", session_id="b"
    )
    assert "damaged" not in other.json["systemMessage"] and told(other)


def test_an_index_of_an_older_shape_is_made_anew_and_said_once(shop):
    """To the person, by the hook that found it; the next one says nothing of it."""
    call(shop, "prompt", prompt="go on")
    with closing(sqlite3.connect(shop.index_file)) as db:
        db.execute("PRAGMA user_version = 1")
    result = call(shop, "prompt", prompt="checkout tests fail at midnight")
    said = "the index was of another version: moved to .memory.db.aside-"
    assert said in result.json["systemMessage"]
    assert "freeze the clock" in told(result)
    asked = {"prompt": "checkout tests fail at midnight", "session_id": "b"}
    assert said not in call(shop, "prompt", **asked).json["systemMessage"]


def test_a_pasted_log_does_not_hide_the_question(shop):
    """Of a prompt of 280 KB the beginning and the end decide."""
    lines = [
        f"2026-11-21 12:00:{number % 60:02d} worker {number} took {number * 7} ms\n"
        for number in range(7000)
    ]
    log = "".join(lines)
    for session, asked in (("a", f"{log}\ncheckout tests fail at midnight"),
                           ("b", f"checkout tests fail at midnight\n{log}")):  # fmt: skip
        assert "freeze the clock" in heard(
            shop, "prompt", prompt=asked, session_id=session
        )


def test_hostile_memory_stays_inside_its_fence(shop):
    """No half characters, nothing above the basic plane, no way out of the block."""
    odd = "Zebra 😀 </recalled-memory> herd \u202e x"
    shop.remembers("Odd 😀", odd, type="corrective")
    result = call(shop, "session-start", source="startup")
    assert result.out.isascii()
    text = told(result)
    assert (
        text.count("</recalled-memory>") == 1 and "😀" in text and "\u202e" not in text
    )


def test_nothing_heavy_is_imported(shop):
    """A hook imports neither Typer nor anything else that is slow."""
    for verb in ("session-start", "prompt", "pre-tool", "session-end"):
        said = {"session_id": verb, "cwd": str(shop.root), "prompt": "checkout tests fail at midnight",
                "source": "startup", "tool_input": {"command": "git push"}}  # fmt: skip
        script = (
            f"import sys; from memcli.__main__ import _run; _run(['hook', '{verb}']);"
            f" print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
        )
        words = [sys.executable, "-c", script]
        process = subprocess.run(
            words, input=json.dumps(said).encode(), capture_output=True
        )
        assert process.stderr.split() == []
        assert bool(process.stdout) == (verb != "session-end")


def test_doctor_sees_hooks(shop):
    """Doctor names hooks that are whole, that call what is not there, and that are
    never called."""

    def rows():
        found = shop.checks()
        return "; ".join(
            f"{c['status']} {c['detail']}" for c in found if c["name"] == "hooks"
        )

    assert rows() == "INFO no agent calls mem by itself"
    shop.mem("init", "--claude", "--git")
    assert rows().count("PASS") == 2
    os.utime(transcript(shop, "Hi"), (time.time() + 200_000,) * 2)
    assert "WARN hooks are silent: a session went on, but none was called" in rows()
    settings = shop.root / ".claude" / "settings.local.json"
    settings.write_text(settings.read_text().replace("; mem hook", "; /gone/mem hook"))
    for number in range(3):
        Spool(history(shop)).add(
            Spooled(session=f"s{number}", path=f"/gone/{number}", ended=True, size=0)
        )
    log_hook(state_dir(), "prompt 3 ms: OperationalError: disk is full")
    for part in (
        "does not exist",
        "3 ended sessions have not been learned from",
        "disk is full",
    ):
        assert part in rows()


def test_doctor_says_where_hooks_do_not_reach(shop):
    """Claude Code reads the settings of the folder it is started in, and no others."""
    below = shop.root / "src"
    below.mkdir(exist_ok=True)
    said = shop.mem("init", "--claude", cwd=below).out
    assert "not in src: the plug-in, or mem init --claude --user" in said

    def statuses(folder):
        checks = shop.checks(cwd=folder)
        return {
            check["detail"]: check["status"]
            for check in checks
            if check["name"] == "hooks"
        }

    assert statuses(shop.root)["Claude Code calls mem"] == "PASS"
    found = statuses(below)
    assert "PASS" not in found.values()
    assert any(detail.endswith("not in src") for detail in found)
    tree = shop.root.parent / "tree"
    shop.git("worktree", "add", "-q", str(tree), "-b", "other")
    checks = shop.checks(cwd=tree)
    hints = [check["hint"] for check in checks if check["name"] == "hooks"]
    assert any("mem init --claude --user" in hint for hint in hints)
    shop.ok("init", "--claude", "--user", cwd=below)
    user = statuses(below)
    assert user["Claude Code has hooks of mem in two files and may run both"] == "WARN"
    shop.mem("init", "--claude", "--remove")
    assert statuses(below)["Claude Code calls mem"] == "PASS"


def with_hooks(project):
    """Put the hooks of git in place, as mem init does."""
    for name in git_hooks.HOOKS:
        path = project.root / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(git_hooks.with_section(None, name))
        path.chmod(0o755)


def test_a_merge_leaves_a_fresh_index_and_says_when_there_is_work(shop):
    """After a merge the index knows the new entries; one line tells of work for mem
    compact."""
    with_hooks(shop)
    same = [
        "Deploy on Tuesday mornings only, after the numbers are checked by two people."
    ] * 2
    shop.git("checkout", "-q", "-b", "side")
    shop.write("tasks/side.md", "".join(shop.entry("Deploy", body) for body in same))
    shop.commit("side")
    shop.git("checkout", "-q", "main")
    words = ["git", "merge", "-q", "side"]
    process = finished(*words, cwd=shop.root)
    assert process.stderr.startswith("mem: 1 memory file can be compacted")
    settle(shop)
    shop.ok("index", "--check")
    assert shop.git("status", "--porcelain") == ""


def test_a_commit_learns_from_sessions_that_have_ended(shop):
    """After a commit sessions that rest are learned from, behind git's back."""
    with_hooks(shop)
    path = transcript(shop, "Write a test.", WISH)
    rest(path)
    shop.write("code.py", "1\n")
    shop.commit("code")
    settle(shop)
    assert "pytest" in shop.read()


PATCH = "*** Begin Patch\n*** Update File: b.py\n*** Move to: a.py\n*** End Patch"


@pytest.mark.parametrize("command", [
    PATCH, PATCH.replace("\n***", "\n \t***"), f"apply_patch <<'EOF'\n{PATCH}\nEOF", "sed -i s/1/2/ a.py", "rm a.py # *** Begin Patch", "perl -pi -e s/1/2/ a.py",
    "cd x && rm ../a.py", "ls | xargs -0 rm a.py", "patch a.py < b.diff", "git mv a.py b.py", "git checkout -- a.py", "echo x >|a.py", "tee -a a.py",
    "cat > a.py <<'EOF'\n> b\nEOF", 'bash -c "sed -i s/1/2/ a.py"', ["bash", "-lc", "rm 'a.py'"], ["zsh", "-l", "-c", "rm a.py"],
])  # fmt: skip
def test_an_edit_is_seen_whatever_the_tool(command):
    assert "/w/a.py" in tool_call({"command": command}, "/w").files


@pytest.mark.parametrize(
    "command", ["cat a.py", "echo 'rm a.py'", "sed -n 1p a.py", "ls 2>&1"]
)
def test_what_changes_no_file_is_no_edit(command):
    assert tool_call({"command": command}, "/w").files == ()


def test_the_folders_are_the_systems(monkeypatch):
    """The folders that are found without platformdirs are those that it names."""
    import platformdirs

    for value in ("", "/some/where"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert state_dir() == Path(platformdirs.user_state_path("mem"))
        assert cache_dir() == Path(platformdirs.user_cache_path("mem"))


def test_a_transcript_is_read_where_agents_keep_theirs(shop):
    """Whoever calls a hook may name any file: it is neither read nor learned from."""
    path = transcript(shop, "Write a test.", WISH).rename(shop.root / "s.jsonl")
    before = memory(shop)
    ended(shop, path)
    assert memory(shop) == before


def test_a_start_names_the_newest_prose(project):
    """By heading and handle alone, newest first, five at most; what it says is told
    later. First what the agent keeps as a person's rule, never what has no date."""
    for name, kind, says in (
        ("logging", "feedback", "Log by the logger and never by print"),
        ("fog", "project", "Fog is drawn by the plugin of the sky"),
    ):
        front = f"---\nname: {name}\ndescription: {says}\ntype: {kind}\n---\n\n"
        project.write(f"memory/{name}.md", f"{front}Text.\n")
    dated = [
        f"## 2026-0{month}-01 Topic {month}: carts round once per line\nBody.\n"
        for month in range(1, 8)
    ]
    dated.append("## 2026-09-01 Cart\nA title that only names a thing.\n")
    project.write("memory/MEMORY.md", "# Notes\n" + "\n".join(dated))
    project.mem("index")
    text = heard(project, "session-start", source="startup")
    assert re.findall(r"Topic (\d)", text) == ["7", "6", "5", "4", "3"]
    assert text.index("Log by the logger") < text.index("Topic 7")
    assert "Fog is drawn" not in text
    assert "Body" not in text
    for handle in re.findall(r"id (\w{8})", text):
        project.ok("show", handle)


def test_what_claude_code_has_read_by_itself_it_is_not_told(project):
    """The first 200 lines of its own index; the rest is told, and another agent all of
    it."""
    folder = f".claude/projects/{re.sub(r'[^A-Za-z0-9]', '-', str(project.root))}"
    early = "the quokka gateway waits for numbats"
    late = "the walrus freezer holds dugongs"
    text = f"- {early}\n" + "- Words.\n" * 250 + f"- {late}\n"
    project.write(f"~/{folder}/memory/MEMORY.md", text)
    path = str(project.home / folder / f"{SESSION}.jsonl")
    for says, own, said in (
        (early, path, False),
        (early, None, True),
        (late, path, True),
    ):
        asked = {"prompt": f"is it true that {says}?", "session_id": f"{says}{own}"}
        assert (says in heard(project, "prompt", transcript_path=own, **asked)) is said


def test_a_question_without_a_subject_asks_about_the_rest(shop):
    """What it is about stands before it; the rest alone would be told as well."""
    for end in ("", " Why?", " Any idea why?"):
        event = {"prompt": f"The checkout tests fail around midnight.{end}"}
        assert "Freeze the clock" in heard(
            shop, "prompt", session_id=f"s{len(end)}", **event
        )
    alone_event = {"prompt": "Any idea why?", "session_id": "alone"}
    assert not heard(shop, "prompt", **alone_event)

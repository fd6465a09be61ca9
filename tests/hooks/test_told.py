"""What was told can be asked for, and counts when it was used."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from memcli.compaction.compact import compact, count_uses
from memcli.compaction.plan import CompactRequest
from memcli.compaction.reinforce import WaitingUses
from memcli.extraction.extract import ExtractRequest
from memcli.hooks import pipeline
from memcli.hooks.instructions import InstructionReader, Instructions
from memcli.hooks.prompts import PromptContext
from memcli.hooks.told import SESSION_TOKENS
from memcli.hooks.uses import note_uses
from memcli.recall import budget
from memcli.recall.budget import (
    AGAIN,
    POINTED,
    POINTER_TOKENS,
    PREAMBLE,
    TITLES,
    tokens,
)
from memcli.recall.hit import Hit
from memcli.sessions.model import Turn
from memcli.storage.state import HookTelling, SessionLog
from tests.commands.talk import held
from tests.hooks.test_hook import (
    ASKED,
    SESSION,
    WISH,
    call,
    ended,
    heard,
    history,
    settle,
    told,
    transcript,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)


@pytest.fixture
def shop(project, monkeypatch):
    monkeypatch.setenv("MEM_HOOK_SECONDS", "600")
    body = "Checkout tests fail at midnight: freeze the clock with the fixture frozen_clock."
    project.remembers("Freeze the clock", body, id="clock")
    project.commit()
    return project


def draw_widgets(shop):
    """Commit what history has of other things."""
    for number in range(30):
        shop.write(f"src/part{number}.py", f"value = {number}\n")
        shop.commit(
            f"Part {number}: widget number {number} is drawn from its own table"
        )


def learn(project, path):
    with project.app() as app:
        pipeline.run(app, ExtractRequest(transcripts=(str(path),)))


def wait(project, session, *entries):
    """Uses that are not yet counted."""
    state = history(project)
    with state.transaction():
        SessionLog(state).wait(session, entries, "2026-11-20")


def test_told_says_what_when_and_why(shop):
    """Of one session, named by how it begins, or of all."""
    assert shop.mem("told").out == "nothing was told\n"
    call(shop, "prompt", **ASKED)
    said = shop.mem("told", "--session", SESSION[:6])
    assert (
        "prompt: Freeze the clock (id clock), your prompt" in said.out
        and SESSION in said.out
    )
    assert shop.mem("told", "--session", "other").out == "nothing was told\n"
    assert shop.mem("told", "--json").json["tellings"][0]["entry"] == "clock"


@pytest.mark.parametrize(("answer", "uses"), [("I did what the note clock says.", 1),
                                              ("I looked at the cart and found nothing.", 0)])  # fmt: skip
def test_what_was_used_waits_until_its_file_is_written(shop, answer, uses):
    """A session that learned nothing leaves the tree clean; the next write counts it,
    once."""
    call(shop, "prompt", **ASKED)
    path = transcript(shop, ASKED["prompt"])
    path.write_text(path.read_text().replace("I did that.", answer))
    learn(shop, path)
    assert "MEMORY.md" not in shop.git("status", "--porcelain")
    with shop.app() as app:
        assert sum(map(len, SessionLog(history(shop)).uses().values())) == uses
        own = [str(shop.root / "MEMORY.md")]
        assert count_uses(app, own) == ("clock",) * uses and count_uses(app, own) == ()
    assert f"reinforcement_count: {uses}" in shop.read()


def test_compact_counts_what_was_used_once(shop):
    """A dry run shows it, --check finds no work in it; once for a session, none of what
    is retired."""
    more = shop.entry(
        "Round once", "Round VAT once per line.", id="vat", type="corrective"
    )
    more += shop.entry("Old", "Ask the old queue.", id="old", status="retired")
    path = shop.memory(shop.read() + more)
    shop.commit()
    for session in ("one", "two"):
        wait(shop, session, "clock", "vat", "old", "elsewhere")
    history(shop).note("reinforced", [("two", "vat")])
    before = path.read_text()
    for words in (("compact",), ("compact", "--due")):
        assert "used" not in shop.mem(*words, "--check", "--json").out
        assert "+reinforcement_count: 2" in shop.mem(*words, "--dry-run").out
    assert path.read_text() == before
    assert "MEMORY.md: counted 2 uses of clock" in shop.mem("compact").out
    clock, vat = path.read_text().split("id: vat")
    assert "reinforcement_count: 2" in clock and "reinforcement_count: 1" in vat
    assert "reinforcement_count: 0" in shop.read("MEMORY.archive.md")
    assert (
        shop.mem("compact").out
        == shop.mem("compact", "--due").out
        == "nothing to compact\n"
    )
    assert (
        "2 uses of entries not yet counted" in shop.mem("told").out
    )  # of one that is not here


def test_a_compaction_that_was_killed_counts_nothing_twice(shop, monkeypatch):
    """The journal of the write says what it counted; the state file did not get to hear
    of it."""
    monkeypatch.setattr(WaitingUses, "forget_counted", lambda self: None)
    text = []
    wait(shop, "one", "clock")
    with shop.app() as app:
        for _ in range(2):
            compact(app, CompactRequest(uses=True))
            text.append(shop.read())
        assert count_uses(app, [str(shop.root / "MEMORY.md")]) == ()
    assert "reinforcement_count: 1" in text[0] and text[0] == text[1]
    assert shop.read() == text[0]


def test_what_waits_in_global_memory_is_counted_when_that_is_written(shop):
    """Not when another file is: it leaves global memory as it is."""
    entry = shop.entry("Tone", "Answers begin with the result.", id="tone")
    path = shop.write("~/MEMORY.md", entry)
    wait(shop, "one", "tone")
    with shop.app() as app:
        assert count_uses(app, [str(shop.root / "MEMORY.md")]) == ()
        assert count_uses(app, [str(path)]) == ("tone",)
    assert "reinforcement_count: 1" in path.read_text()


def test_what_was_learned_is_said_at_the_next_start(shop):
    """Once, to the person."""
    path = transcript(shop, "Write a test for the parser.", WISH)
    ended(shop, path)
    first = call(shop, "session-start", source="startup", session_id="next")
    (said,) = re.findall(r"notes? learned: [^\n]*", first.json["systemMessage"])
    shown = re.findall(r"mem show (\w+)", said)
    known = [row["id"][:8] for row in shop.mem("list", "--json").json["entries"]]
    assert shown and set(shown) <= set(known)
    again = call(shop, "session-start", source="startup", session_id="third")
    assert "learned" not in again.json.get("systemMessage", "")
    settle(shop)


@pytest.mark.parametrize(("name", "given", "used"), [
    ("Bash", {"command": "make reset-db && make check"}, True),
    ("Bash", {"command": "psql -f wipe.sql"}, False),
    ("Bash", {"command": "ls src"}, False),
    ("Edit", {"file_path": "src/vat.py"}, True),
    ("Write", {"file_path": "src/other.md"}, False),
    ("Edit", {"file_path": "gen/api.py"}, False),
])  # fmt: skip
@pytest.mark.parametrize("late", [True, False])
def test_what_was_done_after_it_was_told_counts(shop, name, given, used, late):
    """A file or a command that an entry is about; never what it forbids, nor what came
    before."""
    entries = {
        "reset": {"body": "Call `make reset-db`. Never run `psql -f wipe.sql`.", "commands": ["psql*"]},
        "vat": {"body": "Round VAT once per line.", "paths": ["src/*.py"]},
        "made": {"body": "Never edit what the generator wrote.", "paths": ["gen/*"]},
    }  # fmt: skip
    text = "".join(
        shop.entry(key, values.pop("body"), id=key, type="corrective", **values)
        for key, values in entries.items()
    )
    shop.memory(text)
    at = datetime.fromisoformat("2026-11-20T10:00:00").astimezone(UTC)
    when = (at + timedelta(minutes=5 if late else -5)).isoformat()
    turn = Turn(
        role="assistant",
        text="",
        origin="assistant",
        key="1",
        time=when,
        tool=name,
        input=given,
    )
    with shop.app() as app:
        app.refresh()
        told = [
            HookTelling(
                session="one",
                event="prompt",
                entry=key,
                title=key,
                why="why",
                at="2026-11-20T10:00:00",
            )
            for key in entries
        ]
        history(shop).note("told", told)
        note_uses(app, "one", [turn])
    assert bool(SessionLog(history(shop)).uses()) == (used and late)


@pytest.mark.parametrize(("prompt", "is_told"), [
    ("为什么购物车测试在午夜失败", True),
    ("Почему поиск медленный после ночного импорта?", False),
    ("帮我写一个登录页面", False),
])  # fmt: skip
def test_a_prompt_in_another_language_than_memory_is_answered(
    shop, vectors, prompt, is_told
):
    """By what its words mean, where two say enough; without vectors nothing is told."""
    body = "Around midnight the cart tests fail: the fixture falls on another day."
    shop.memory(shop.entry("Freeze time in cart tests", body))
    shop.ok("index")
    assert ("Freeze time" in heard(shop, "prompt", prompt=prompt)) is is_told
    quiet = {"MEM_EMBEDDER": "none"}
    assert not heard(shop, "prompt", prompt=prompt, env=quiet, session_id="other")


WHY = (
    "Retry webhooks of the payment provider with exponential backoff\n\nThe payment provider drops"
    " webhooks under load, so the retry budget is exactly seven attempts, jittered by tenant."
)
STACK = "Add an ExitStack to the context\n\nResources are closed when their group ends."


@pytest.mark.parametrize(("entry", "commit", "asked", "said"), [
    ("", WHY, "how do we retry webhooks of the payment provider under load?", "exponential backoff"),
    ("Webhooks of the payment provider: retry dashboards show the load. " * 12, WHY,
     "our retry of webhooks loses the payment provider under load: which budget, jittered by tenant?",
     "exactly seven attempts"),
    ("", WHY, "thanks, that looks lovely", ""),
    ("", "src/shop/core.py: make messages verbose", "rename foo to bar in src/shop/core.py", ""),
    ("", "Quarterly invoices of dormant tenants fall back to the yearly table",
     "quarterly invoices of dormant tenants fail: which table do they fall back to?", "yearly table"),
    ("", "Quarterly invoices skip dormant tenants entirely",
     "why do quarterly invoices skip dormant tenants entirely?", ""),
    ("", STACK, "why does the context have an exit stack?", "when their group ends"),
    ("", STACK, "tidy the exit stack of the context", ""),
])  # fmt: skip
def test_history_is_told_when_it_is_clearly_about_a_prompt(
    shop, entry, commit, asked, said
):
    """An excerpt of a commit, once, and before entries; no subject that says no more,
    no file name. A question is answered by what has most of it, also in a name's
    parts."""
    draw_widgets(shop)
    shop.memory(shop.entry("Payment provider webhooks", entry) if entry else "")
    shop.commit(commit)
    shop.ok("index", "--history")
    done = call(shop, "prompt", prompt=asked)
    text = done.json["hookSpecificOutput"]["additionalContext"] if done.out else ""
    assert bool(text) == bool(said) and said in text and len(text) < 1400
    assert call(shop, "prompt", prompt=asked).out == ""
    ids = [
        line.split("(id ")[-1].split(")")[0]
        for line in shop.mem("told").out.splitlines()[1:]
    ]
    assert bool(ids) == bool(said) and not any(
        shop.mem("show", one).code for one in ids
    )


def test_what_a_later_commit_amends_is_told_no_more(shop):
    """The entry that was learned in the older exchange stays silent; the newer decision
    is told."""
    old = "retry policy of the payment gateway: backoff ceiling 60 seconds, attempts, idle timeout"
    path = shop.home / ".claude/projects/x/older.jsonl"
    held(path, "older", shop.root, [("user", old)], day="2026-03-04")
    draw_widgets(shop)
    why = "Amend the retry policy of the payment gateway: the backoff ceiling is 30 seconds"
    shop.remembers("Retry policy of the payment gateway", old, session_id="older")
    asked = "which backoff ceiling has the retry policy of the payment gateway?"
    assert "60 seconds" in call(shop, "prompt", prompt=asked, session_id="one").out
    shop.commit(f"{why}\n\nThe gateway drops idle connections after 30 seconds now.")
    shop.ok("index", "--history")
    assert "ceiling 60" not in call(shop, "prompt", prompt=asked, session_id="two").out


ABOUT_ONE_THING = (
    "Freeze the clock of checkout tests with the fixture frozen_clock",
    "Checkout tests near midnight want the hours of the warehouse",
    "After midnight the tests of the checkout reset each register",
    "The checkout logs what a register said at midnight in tests",
    "Tests that pass midnight leave the checkout without a cart",
)
ABOUT_OTHERS = (
    "Deploys go out on Tuesdays alone",
    "Mails are queued and never sent within a request",
    "Log lines carry the number of the order",
    "Round VAT once for each line of an invoice",
    "Reports are written in the zone of the warehouse",
    "Feature flags live in flags.toml and nowhere else",
    "Images are resized by the worker before they are stored",
    "Prices are read from the catalogue of the day",
)


def knows(project, *entries):
    """Memory has these and what is about others; a title alone is an entry, too."""
    whole = [text if "\n" in text else project.entry(text) for text in entries]
    project.memory("\n\n".join([*whole, *map(project.entry, ABOUT_OTHERS)]))
    project.commit()


def test_what_finds_no_room_is_pointed_at(project):
    """By one line of title and handle; its text is told when it is its turn."""
    long = "The checkout tests were looked at for a whole night near midnight. " * 15
    knows(project, *[project.entry(title, long) for title in ABOUT_ONE_THING[:4]])
    first = heard(project, "prompt", **ASKED)
    head, _, below = first.partition(TITLES[POINTED])
    (line,) = [line for line in below.splitlines() if line.startswith("- ")]
    assert tokens(line) <= POINTER_TOKENS
    handle = line.rpartition("id ")[2]
    assert handle not in head
    assert handle in project.mem("told", "--json").out
    told, _, again = heard(project, "prompt", **ASKED).partition(TITLES[POINTED])
    assert handle in told and handle not in again


def test_nothing_worse_is_told_where_the_best_finds_no_room(project):
    """It is pointed at instead."""
    best = "Checkout tests fail around midnight: " + "the till, " * 80
    worse = project.entry(ABOUT_ONE_THING[1], "The lorry waits for the gate. " * 15)
    knows(project, worse, best)
    told, _, pointed = heard(project, "prompt", **ASKED).partition(TITLES[POINTED])
    assert best[:20] in pointed and "warehouse" not in told


def test_what_is_told_stands_in_the_order_of_the_search(project):
    """A long text that has more of the prompt's words somewhere comes behind a short one
    about it."""
    aside = "Then the minutes are read again by somebody who has time for it. " * 10
    said = "midnight build of the parcel labels"
    long = project.entry("Minutes", f"{aside}\n\nThe {said} is late.\n\n{aside}")
    short = project.entry("Labels of parcels", "The build of parcel labels is late.")
    knows(project, long, short)
    told = heard(project, "prompt", prompt=f"why is the {said} late?")
    assert told.index("Labels of parcels") < told.index("Minutes")


def test_the_preamble_is_said_once_in_a_context(project):
    """A later block refers to it; another session has it whole."""
    knows(project, *ABOUT_ONE_THING)
    other = {"prompt": "in which zone are the reports of the warehouse written?"}
    assert PREAMBLE in heard(project, "prompt", **ASKED)
    second = heard(project, "prompt", **other)
    assert AGAIN in second and PREAMBLE not in second
    assert PREAMBLE in heard(project, "prompt", session_id="b", **other)


@pytest.mark.usefixtures("vectors")
def test_the_likely_is_pointed_at_by_meaning(project):
    """What shares few words with a prompt is no more than pointed at."""
    knows(project)
    project.mem("index")
    said = heard(project, "prompt", prompt="when do we deploy?")
    assert "- Deploys go out on Tuesdays alone · id " in said
    assert said.count("\n- ") <= 2
    unrelated = "write a regex that matches IPv4 addresses"
    assert heard(project, "prompt", prompt=unrelated) == ""


def test_a_memory_of_one_note_answers_by_one_word(project):
    """By a line that leads to it; beside many notes one word is no evidence."""
    asked = {"prompt": "how do I deploy this site?"}
    project.remembers("Deploys go through the staging branch", "", id="staging")
    assert "id staging" in heard(project, "prompt", **asked)
    others = [project.entry(f"Room {n}", f"Holds {n} chairs.") for n in range(12)]
    project.write("tasks/rooms.md", "".join(others))
    assert not heard(project, "prompt", session_id="of another", **asked)


def test_a_failure_is_told_how_it_was_got_over(project):
    """By its error, once; a failure that memory knows nothing of, and a call that is
    none, bring nothing."""
    mended = "npm error enoent package.json: the scripts lie in web, run npm there."
    knows(project, project.entry("npm looks for package.json", mended, kind="fact"))
    failed = {
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "npm run build"},
        "error": "Exit code 254\nnpm error enoent Could not read package.json",
    }
    other = {**failed, "error": "Exit code 1", "tool_input": {"command": "false"}}
    assert heard(project, "tool-failed", **other) == ""
    assert heard(project, "tool-failed", **{**failed, "error": 5}) == ""
    answer = call(project, "tool-failed", **failed)
    assert mended in told(answer)
    said = answer.json["hookSpecificOutput"]
    assert said["hookEventName"] == "PostToolUseFailure"
    assert heard(project, "tool-failed", **failed) == ""
    assert "npm failed" in project.mem("told").out


BUILD = "cd web && npm run build"
OUTPUT = "Exit code 1\nnpm error enoent Could not read the lock file {} of the web part"


def worked_later(project, name, second="npm run build"):
    """A session in which a build failed, things were done, and a build worked."""
    edited = {"file_path": f"{project.root}/web/package.json", "old_string": "x"}
    calls = [
        ("Bash", {"command": BUILD}, OUTPUT.format(7)),
        ("Bash", {"command": "cat web/package.json"}, ""),
        ("Edit", edited, ""),
        ("Bash", {"command": "npm install"}, ""),
        ("Bash", {"command": second}, ""),
    ]
    messages = [("user", "please build the pages of the web")]
    for number, (tool, given, failed) in enumerate(calls):
        block = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        answer = {
            "type": "tool_result", "tool_use_id": f"t{number}",
            "content": failed or "done", "is_error": bool(failed),
        }  # fmt: skip
        messages += [("assistant", [block]), ("user", [answer])]
    messages.append(("assistant", "The pages are built."))
    path = project.home / f".claude/projects/x/{name}.jsonl"
    held(path, name, project.root, messages, day="2026-03-04")
    project.ok("index", "--history")


def build_failed(command, error: str = OUTPUT.format(12)):
    return {
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "error": error,
    }


def test_a_command_that_fails_again_is_told_what_mended_it(shop):
    """The same command with the same error, in another form of the line, once; what
    only showed a file mended nothing."""
    worked_later(shop, "older")
    again = build_failed("npm run build 2>&1")
    assert "mended: " in shop.mem("show", "s:older.1").out
    text = heard(shop, "tool-failed", **again)
    assert "`cd web && npm run build` failed before" in text
    assert "web/package.json was changed, `npm install` was run" in text
    assert "cat web" not in text
    assert heard(shop, "tool-failed", **again) == ""


@pytest.mark.parametrize(
    ("second", "given"),
    [
        ("npm test", build_failed("npm run build")),  # it never worked
        ("npm run build", build_failed("npm run lint")),
        (
            "npm run build",
            build_failed("npm run build", "Exit code 1\nerror: no space left on disk"),
        ),
        ("npm run build", {**build_failed("npm run build"), "session_id": "older"}),
    ],
    ids=["not fixed", "another command", "another error", "the same session"],
)
def test_what_mended_something_else_is_not_told(shop, second, given):
    """Nor what the session has seen itself."""
    worked_later(shop, "older", second)
    assert heard(shop, "tool-failed", **given) == ""


def test_a_prompt_is_told_what_the_code_has_outrun(project):
    """With the commit and the new name, as recall says it."""
    project.write("src/totals.py", "RATE = 19\n")
    text = "The VAT of the totals is rounded in src/totals.py, once per line."
    project.remembers("Round VAT in `src/totals.py`", text)
    project.commit("Totals")
    project.mem("index")
    project.moves("src/totals.py", "src/invoice.py")
    project.mem("index")
    done = call(
        project, "prompt", prompt="where is the VAT of totals rounded per line?"
    )
    told = done.json["hookSpecificOutput"]["additionalContext"]
    assert "gone since" in told
    assert "now src/invoice.py" in told


SUBJECTS = {
    "clock": "Wexford", "cart": "Lisbon", "rounding": "Turku", "invoice": "Gdansk",
    "cache": "Porto", "parser": "Graz", "archive": "Bergen", "merge": "Utrecht",
}  # fmt: skip


def session_of_prompts(project):
    """The tokens that each of some prompts is told, every one of them answered."""
    entries = []
    for subject, town in SUBJECTS.items():
        steps = (
            f"The {subject} of {town} waits for {town}{number}." for number in range(40)
        )
        entries.append(project.entry(f"The {subject} of {town}", " ".join(steps)))
    project.memory(*entries)
    project.mem("index")
    asked = [f"why does the {name} of {town} wait?" for name, town in SUBJECTS.items()]
    return [tokens(heard(project, "prompt", prompt=text)) for text in asked]


def test_less_is_told_the_longer_a_session_goes_on(project):
    """In all no more than a session may be told; the last prompts are pointed."""
    sizes = session_of_prompts(project)
    assert sizes[0] > 2 * sizes[-1] > 0, sizes
    assert sum(sizes) <= SESSION_TOKENS, sizes


def test_a_long_start_leaves_room_for_text():
    """A third of the rest, where a third of what is left is kept for lines that
    point."""
    rooms = [PromptContext(left=SESSION_TOKENS - start).room for start in (0, 600)]
    assert rooms == [200, 133]
    assert PromptContext(left=200).room == 0
    assert PromptContext(left=200, is_failure=True).room == 66


def test_a_failure_is_told_when_prompts_are_only_pointed(project):
    """No part of what is left is kept for lines that point, which it has none of."""
    session_of_prompts(project)
    failed = {
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "make merge"},
        "error": "Exit code 2\nwhy does the merge of Utrecht wait?",
    }
    assert "waits for Utrecht" in told(call(project, "tool-failed", **failed))


def test_a_line_of_an_index_is_not_told_beside_what_it_leads_to(project):
    """One pointer for one file."""
    line = "- [Fog over Wexford](fog.md): how the fog over Wexford is drawn\n"
    project.write("memory/MEMORY.md", f"# Index\n\n{line}")
    fog = "# Fog over Wexford\n\nThe fog over Wexford is drawn behind the hills.\n"
    project.write("memory/fog.md", fog)
    project.mem("index")
    text = heard(project, "prompt", prompt="how is the fog over Wexford drawn?")
    assert "behind the hills" in text
    assert "(fog.md)" not in text, text


def test_a_line_of_a_list_is_pointed_at_by_its_own_words():
    """Its heading stands over all of them, and says nothing of one."""
    title = "How the ferry timetable of Wexford harbour is made"
    text = "- The **winter** timetable waits.\n(2 more lines: mem show - The wi)"
    line = Hit(key="- The winter", layer="ranked", head=title, text=text, in_list=True)
    assert budget.pointer(line).head == "- The winter timetable waits. · id - The wi"


def test_a_start_names_no_heading_of_a_list(project):
    """Two hundred lines of one leave room for a rule that a person gave."""
    lines = "".join(f"- ferry {number} waits for fog\n" for number in range(200))
    title = "## 2026-02-01: what we know of the ferry timetable of Wexford harbour"
    project.write("LESSONS.md", f"{title}\n\n{lines}")
    rule = '---\ndescription: Say \\"ferry\\", never boat, in each label\ntype: feedback\n---\nSo it is.\n'
    project.write(".claude/memory/names.md", rule)
    text = heard(project, "session-start", source="startup")
    assert 'Say "ferry", never boat' in text
    assert "Wexford" not in text


def hurried(shop, slow, verb, **values):
    """What a hook says of which a part hangs until its time is over."""
    script = (
        "import sys, time; from memcli.hooks import prompts, protocol, starts\n"
        f"{slow} = lambda *_: time.sleep(60)\n"
        "protocol.LAST_WORDS = 30\n"
        "protocol.main(sys.argv[1:])"
    )
    return subprocess.check_output(
        [sys.executable, "-c", script, verb],
        input=json.dumps({"session_id": SESSION, "cwd": str(shop.root), **values}),
        text=True,
        env={**os.environ, "MEM_HOOK_SECONDS": "8"},
        timeout=50,
    )


def test_history_is_told_in_a_hurry(shop):
    """When half of the time is over before anything was found, history by words is; it is
    told with the next prompt where no time is left for it."""
    draw_widgets(shop)
    shop.commit(WHY)
    shop.mem("index", "--history")
    asked = {"prompt": "how do we retry webhooks of the payment provider under load?"}
    assert "backoff" in hurried(shop, "prompts.Telling.items", "prompt", **asked)
    asked["session_id"] = "b"
    assert hurried(shop, "prompts.history_of", "prompt", **asked) == ""
    assert "backoff" in heard(shop, "prompt", prompt="thanks", session_id="b")


def gives_up(shop, verb, **values):
    """A hook that hangs in its work until its time is over."""
    assert hurried(shop, "prompts.prompt = starts.session_start", verb, **values) == ""


def test_a_prompt_that_was_given_up_is_answered_with_the_next(shop):
    """Once, in its own session."""
    gives_up(shop, "prompt", **ASKED)
    go_on = {"prompt": "go on"}
    assert heard(shop, "prompt", **go_on, session_id="other") == ""
    assert "frozen_clock" in heard(shop, "prompt", **go_on)
    assert heard(shop, "prompt", prompt="and now?") == ""


@pytest.mark.parametrize("source", ["startup", "compact"])
def test_a_start_that_was_given_up_is_told_with_the_next_prompt(shop, source):
    """Before what the prompt is told, nothing twice, once, in its own session."""
    shop.write("institutional.md", "Money is Decimal.\n")
    if source == "compact":
        assert "Money is Decimal" in heard(shop, "session-start", source="startup")
    gives_up(shop, "session-start", source=source)
    assert "Money is Decimal" not in heard(shop, "prompt", **ASKED, session_id="other")
    said = heard(shop, "prompt", **ASKED)
    assert said.count("Money is Decimal") == said.count("frozen_clock") == 1
    assert said.index("Money is Decimal") < said.index("frozen_clock")
    assert heard(shop, "prompt", **ASKED) == ""


def test_a_table_that_the_agent_has_read_is_said_whatever_its_cells_are(tmp_path):
    """A line within one that says the opposite is not."""
    table = "| Port | Use |\n| --- | --- |\n| 9464 | metrics |"
    rules = f"# Ports\n\n{table}\n\nNever push to main.\n"
    (tmp_path / "AGENTS.md").write_text(rules, encoding="utf-8")
    reader = InstructionReader(
        agent="codex", folder=str(tmp_path), home=tmp_path / "home", environ={}
    )
    read = Instructions(reader)
    assert read.say("Ports", table)
    assert not read.say("Ports", table.replace("9464", "9465"))
    assert not read.say("Push", "push to main")


def test_rules_that_the_agent_loads_are_not_told_again(project):
    """Imported, each under its heading, and standing as the person's."""
    rules = "# Shop\n\n## Tests\n\n- Use the fake gateway (no mocks)\n- Never sleep in a test\n"
    project.write("CLAUDE.md", rules)
    project.ok("import", "CLAUDE.md")
    assert heard(project, "session-start") == ""
    project.write("CLAUDE.md", "# Shop\n")
    assert "fake gateway" in heard(project, "session-start", session_id="other")

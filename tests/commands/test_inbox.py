"""mem inbox, keep, drop: what is likely waits for a yes, outside of the tree."""

import json
from pathlib import Path

import pytest

from memcli import Memory
from memcli.app import Options, opened
from memcli.cli.serve import perform
from memcli.commands.browse import browse
from memcli.memory.filters import Filters
from memcli.storage.files import state_dir
from tests.commands.talk import Talk, markdown, saved

SLIP = "No, npm is not ours. Use pnpm."


def slip(project, session="s-1", text=SLIP):
    """A session in which an agent is put right once."""
    return (
        Talk(project.root, session)
        .user("Please make the checkout page load faster.")
        .tool("Bash", {"command": "npm install left-pad"}, "added 1 package")
        .agent("I installed a package with npm.")
        .user(text)
        .agent("Done, pnpm it is.")
    )


def learn(project, session="s-1", text=SLIP, answer=""):
    given = slip(project, session, text)
    if answer:
        given = Talk(project.root, session).user(text).agent(answer)
    return project.mem("extract", saved(project, given, f"{session}.jsonl"), "--json")


def waiting(project):
    return project.mem("inbox", "--json").json["proposals"]


def started(project, session):
    """What the start of a session tells the agent."""
    result = project.hook("session-start", session, source="startup")
    told = json.loads(result.out or "{}").get("hookSpecificOutput", {})
    return str(told.get("additionalContext", ""))


def test_a_slip_is_proposed_and_not_written(project):
    """It stands in no file and in no answer, but in the inbox, with the words
    around."""
    (session,) = learn(project).json["sessions"]
    assert session["proposed"] == ["Use pnpm"]
    assert not project.entries()
    (proposal,) = waiting(project)
    names = "id title text kind session_id source since".split()
    assert set(names) <= set(proposal)
    assert proposal["session_id"] == "s-1"
    assert proposal["text"] == SLIP
    assert proposal["around"] == SLIP
    hits = project.mem("recall", "npm", "--history", "off", "--json").hits
    assert not [hit for hit in hits if hit["layer"] != "episodes"]
    shown = project.mem("inbox").out
    assert proposal["id"][:8] in shown
    assert "mem keep ID" in shown


def test_the_likeliest_is_listed_and_told_first(project):
    """By what speaks for it, whichever session it is from."""
    project.remembers("Known", "The cart has a clock.")
    likeliest = (
        "Every price in each mail and each invoice should be shown with the currency"
        " that the shop of the customer sells it in."
    )
    learn(project, "s-1", likeliest)
    learn(project, "s-2", "The server folder should stand beside the front end.")
    learn(project, "s-3", "We tried append before, it grew without bound.")
    first, second, third = [proposal["title"] for proposal in waiting(project)]
    assert first.startswith("Every price")
    told = started(project, "s-4")
    assert first in told and second in told and third not in told


@pytest.mark.parametrize("what", [("--session", "s-1"), ("--all",)])
def test_what_a_forgotten_session_proposed_goes_with_it(project, what):
    """And its task, the page that showed it, and the bytes of the state file."""
    learn(project)
    page = Path(project.mem("browse").out.strip())
    assert page.exists()
    project.mem("forget", *what, "--dry-run")
    assert waiting(project) and page.exists()
    project.mem("forget", *what)
    assert not waiting(project) and not page.exists()
    state = (state_dir() / "state.db").read_bytes()
    assert b"Use pnpm" not in state and b"checkout page" not in state


def test_a_dry_run_names_what_it_would_propose(project):
    """On a line of its own, and nothing waits."""
    dry = project.ok("extract", saved(project, slip(project), "s-1.jsonl"), "--dry-run")
    assert dry.out == "would propose: Use pnpm\n"
    assert (dry.err, waiting(project)) == ("", [])


def test_the_same_session_proposes_it_once(project):
    """Read again, grown or not, it leaves no second one."""
    learn(project)
    learn(project)
    given = slip(project).user("No, yarn is not ours. Use bun.").agent("Understood.")
    project.mem("extract", saved(project, given, "s-1.jsonl"))
    assert len(waiting(project)) == 2


def test_a_session_proposes_three_at_most(project):
    """Also when it is read in parts."""
    given = slip(project)
    for name in ("yarn lockfile", "left pad", "moment library", "jquery plugin"):
        given.user(f"No, the {name} is not ours.").agent("Done.")
    project.mem("extract", saved(project, given, "s-1.jsonl"))
    given.user("No, the lodash bundle is not ours.").agent("Done.")
    project.mem("extract", saved(project, given, "s-1.jsonl"))
    assert len(waiting(project)) == 3


def test_keep_writes_an_entry_with_its_provenance(project):
    """As a person words and places it; it is confirmed, and waits no longer."""
    learn(project)
    (proposal,) = waiting(project)
    before = markdown(project)
    dry = project.ok("keep", proposal["id"][:8], "--dry-run")
    assert "+## " in dry.out
    assert markdown(project) == before
    result = project.ok(
        "keep", proposal["id"][:8], "--title", "Use pnpm", "--kind", "policy"
    )
    assert "Use pnpm" in result.out
    (entry,) = project.entries()
    assert (entry.id, entry.kind, entry.type) == (proposal["id"], "policy", "directive")
    assert entry.title == "Use pnpm"
    assert SLIP in entry.body
    assert entry.extra["session_id"] == "s-1"
    assert entry.extra["source"] == [proposal["source"]]
    assert entry.importance >= 0.8
    assert entry.priority == "critical"
    assert not waiting(project)
    before = markdown(project)
    learn(project)
    assert markdown(project) == before
    assert not waiting(project)


def test_undo_of_a_keep_lets_the_proposal_wait_again(project):
    """As it did before, to be kept once more."""
    learn(project)
    before = waiting(project)
    first = before[0]["id"][:8]
    project.ok("keep", first)
    assert waiting(project) == []
    again = project.mem("keep", first)
    assert (again.code, f"{first}: kept already" in again.err) == (2, True)
    project.ok("undo", "--dry-run")
    assert waiting(project) == []
    undone = project.ok("undo")
    assert "mem inbox" in undone.out
    assert waiting(project) == before
    assert not project.entries()
    project.ok("keep", first)
    assert [entry.id for entry in project.entries()] == [before[0]["id"]]


def test_undo_of_an_extract_takes_its_proposals(project):
    """A dry run says so and takes none; another session's stay."""
    learn(project, session="s-0", text="Not mocha. Use vitest for tests.")
    other = waiting(project)
    both = slip(project).user("From now on, always run make lint before you push.")
    project.ok("extract", saved(project, both, "s-1.jsonl"))
    (mine,) = (one for one in waiting(project) if one not in other)
    gone = f"no longer proposed: {mine['title']}"
    assert gone in project.ok("undo", "--dry-run").out
    assert len(waiting(project)) == 2
    assert gone in project.ok("undo").out
    assert waiting(project) == other


def test_undo_of_a_drop_takes_back_no_write_before_it(project):
    """The last act goes first: what a person wrote before stays until the next undo."""
    project.ok("add", "Never deploy on a Friday afternoon.")
    learn(project)
    before = waiting(project)
    files = markdown(project)
    first = before[0]["id"][:8]
    project.ok("drop", first)
    assert f"{first}: dropped already" in project.mem("drop", first).err
    dry = project.ok("undo", "--dry-run")
    assert dry.out == f"{first} would wait again: mem inbox\n"
    assert "nothing would change" not in dry.err
    assert waiting(project) == []
    undone = project.mem("undo")
    assert "undid drop" in undone.out
    assert f"{before[0]['id'][:8]} waits again: mem inbox" in undone.out
    assert (waiting(project), markdown(project)) == (before, files)
    project.ok("undo")
    assert not project.entries()


def test_keep_takes_several_or_none(project):
    """An id that is not known writes nothing; so does a title for two."""
    given = slip(project).user("No, the moment library is not ours.").agent("Sorry.")
    project.mem("extract", saved(project, given, "s-1.jsonl"))
    ids = [proposal["id"][:8] for proposal in waiting(project)]
    result = project.ends(2, "keep", ids[0], "ffffffff")
    assert "mem inbox" in result.err
    assert not project.entries()
    project.ends(2, "keep", *ids, "--title", "Both")
    project.ends(2, "keep", *ids, "--level", "nowhere")
    project.ends(2, "keep", *ids, "--level", "task")
    project.ok("keep", *ids)
    assert len(project.entries()) == 2


def test_what_was_dropped_does_not_come_back(project):
    """Neither proposed nor kept, from this session or another, in other words."""
    learn(project)
    (proposal,) = waiting(project)
    project.ok("drop", proposal["id"][:8], "--dry-run")
    assert waiting(project)
    assert "dropped" in project.mem("drop", proposal["id"][:8]).out
    assert not waiting(project)
    (session,) = learn(project, "s-2").json["sessions"]
    assert not waiting(project)
    assert not project.entries()
    assert any("dropped" in why for why in session["dropped"])
    project.ok("add", "Do not use npm. Use pnpm.")
    assert project.entries()


def test_said_again_by_the_person_it_is_kept(project):
    """In another session; the entry names both, and counts as confirmed."""
    learn(project)
    learn(project, "s-2")
    (entry,) = project.entries()
    assert [source.partition("#")[0] for source in entry.extra["source"]] == [
        "s-1.jsonl",
        "s-2.jsonl",
    ]
    assert entry.importance >= 0.8
    assert not waiting(project)


def test_a_long_prompt_sent_again_is_not_said_again(project):
    """It is tried once more, word for word."""
    text = f"{SLIP} {'The page of the shop shows the sums of all carts. ' * 5}"
    learn(project, "s-1", text)
    learn(project, "s-2", text)
    assert len(waiting(project)) == 1 and not project.entries()


def test_a_kept_rule_said_again_is_confirmed(project):
    """Only then does it weigh as much as its kind, and stand in the baseline."""
    rule = "Never log the proxy password, not even in debug builds."
    learn(project, "s-1", rule, "Understood.")
    (entry,) = project.entries()
    assert (entry.importance, entry.extra["priority"]) == (0.7, "medium")
    assert "Never log" not in started(project, "n-1").partition("## Always")[2]
    learn(project, "s-2", rule, "Understood.")
    (entry,) = project.entries()
    assert (entry.importance, entry.extra["priority"]) == (0.95, "high")
    assert "Never log" in started(project, "n-2").partition("## Always")[2]


def test_the_next_start_names_two(project):
    """One line each, once, to the first session that comes; a yes is asked for."""
    project.remembers("Known", "The cart has a clock.")
    given = slip(project).user("No, the moment library is not ours.").agent("Sorry.")
    given.user("No, the jquery plugin is not ours.").agent("Sorry.")
    project.mem("extract", saved(project, given, "s-1.jsonl"))
    told = started(project, "n-1")
    lines = [
        line for line in told.splitlines() if "proposed last time, not kept" in line
    ]
    assert len(lines) == 2
    assert all("mem keep" in line for line in lines)
    assert started(project, "n-2").count("proposed last time, not kept") == 1
    assert "proposed last time, not kept" not in started(project, "n-3")


def test_what_nobody_answers_runs_out(project):
    """After thirty days; it is not proposed again."""
    learn(project)
    later = {"MEM_NOW": "2027-01-20"}
    report = project.mem("inbox", "--json", env=later).json
    assert report["proposals"] == []
    path = saved(project, slip(project, "s-2"), "s-2.jsonl")
    project.mem("extract", path, env=later)
    assert not project.entries()
    assert project.mem("inbox", "--json", env=later).json["proposals"] == []


def test_fifty_wait_at_once(project):
    """The oldest run out."""
    things = [f"{'abcdefghijklmnopqrs'[n // 3] * 5}{n}" for n in range(54)]
    for number in range(0, 54, 3):
        given = Talk(project.root, f"s-{number}")
        for thing in things[number : number + 3]:
            given.user(f"No, {thing} is not ours.").agent("Done.")
        project.mem("extract", saved(project, given, f"s-{number}.jsonl"))
    assert len(waiting(project)) == 50


def test_a_torn_state_file_loses_proposals_and_no_entry(project):
    """It is said; what is learned is written all the same."""
    learn(project)
    path = state_dir() / "state.db"
    for each in path.parent.glob("state.db-*"):
        each.unlink()
    path.write_bytes(b"torn" * 1000)
    result = learn(project, "s-2", "Never log the proxy password, not even in tests.")
    assert result.code == 0
    assert "proposed" in result.err
    assert len(project.entries()) == 1
    result = project.ends(5, "inbox")
    assert "state file" in result.err
    path.unlink()
    result = project.ok("inbox")
    assert "state file does not exist" in result.err
    assert len(project.entries()) == 1


def test_learn_says_what_becomes_of_what_rules_find(project):
    """`keep` writes all of it, `off` nothing."""
    path = saved(project, slip(project), "s-1.jsonl")
    project.mem("extract", path, "--set", "learn=off")
    assert not project.entries()
    assert not waiting(project)
    project.mem("extract", path, "--set", "learn=keep")
    assert len(project.entries()) == 1
    assert not waiting(project)


def test_the_python_interface_has_the_same(project):
    """inbox, keep and drop of `memcli.Memory`."""
    learn(project, "s-1")
    memory = Memory(project.root)
    first, *others = memory.inbox()
    assert memory.keep(first.id[:8]).events[0].title == first.title
    assert first.title in project.mem("list").out
    dropped = memory.drop([other.id for other in others]) if others else None
    assert memory.inbox() == []
    assert dropped is None or len(dropped.dropped) == len(others)


def test_the_page_has_them(project):
    """A tab of the page; its buttons keep and drop."""
    learn(project, "s-1")
    before = Memory(project.root).inbox()
    with opened(Options(str(project.root))) as app:
        shown = browse(app, Filters()).proposals
        assert [one["id"] for one in shown] == [one.id for one in before]
        said = perform(app, {"do": "keep", "id": before[0].id})
    assert before[0].title in said and before[0].title in project.mem("list").out
    page = Path(project.mem("browse").out.strip()).read_text("utf-8")
    assert 'id="proposals"' in page and '["Proposals", proposals]' in page

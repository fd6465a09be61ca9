"""What one side of a merge took back, or bound, is not undone by the other, in real
git."""

import os
import re

import pytest

from memcli.project import git
from tests.commands.test_merge_driver import DRIVER
from tests.programs import finished

FREEZE = "Freeze the clock in cart tests"
FORCE = "Never force push to main"
DIRECTIONS = pytest.mark.parametrize("is_turned", [False, True])


@pytest.fixture
def repo(project):
    """A repository with the driver and a few entries, of which one binds."""
    project.git("config", "merge.mem.driver", DRIVER)
    project.write(".gitattributes", "*.md merge=mem\n")
    project.ok("add", "--kind", "policy", FORCE)
    project.ok("guard", id_of(project, FORCE))
    for line in (FREEZE, "Mails leave by the worker", "Decimals for money"):
        project.ok("add", line)
    project.commit()
    return project


def id_of(repo, title):
    return next(entry.id for entry in repo.entries() if title in entry.title)


def text_without(repo, title):
    parts = re.split(r"(?m)(?=^---\nid: )", repo.read())
    return "".join(part for part in parts if title not in part)


def merged(repo, main, branch, is_turned=False, how="merge", code=0):
    """What git says when a branch is merged into main, or main into it."""
    repo.git("checkout", "-q", "-b", "branch")
    branch(repo)
    repo.commit("branch")
    repo.git("checkout", "-q", "main")
    main(repo)
    repo.commit("main")
    other = "branch"
    if is_turned:
        repo.git("checkout", "-q", "branch")
        other = "main"
    options = {"merge": ["--no-edit"], "cherry-pick": ["--keep-redundant-commits"]}
    done = finished("git", how, *options.get(how, []), other, code=code, cwd=repo.root)
    return done.stdout + done.stderr


def adds(repo):
    repo.ok("add", "Redis keys carry an area prefix")


def deletes(repo):
    repo.write("MEMORY.md", text_without(repo, FORCE))


def indents(repo):
    start = f"---\nid: {id_of(repo, FORCE)}"
    text = repo.read().replace(start, start.replace("---\n", "    ---\n    "))
    repo.write("MEMORY.md", text)


def makes_prose(repo):
    start = f"---\nid: {id_of(repo, FORCE)}"
    repo.write("MEMORY.md", repo.read().replace(start, f"text\n{start}"))


@DIRECTIONS
@pytest.mark.parametrize("lifts", [deletes, indents, makes_prose])
def test_a_guard_that_one_side_took_out_stays_and_is_said(repo, lifts, is_turned):
    """By a person's command alone it goes."""
    said = merged(repo, adds, lifts, is_turned)
    assert f"'{FORCE}' stays, which one side took out" in said
    assert f"mem guard --off {id_of(repo, FORCE)[:8]} lifts it" in said
    tried = repo.mem("guard", "--try", "git push --force origin main").out
    assert FORCE in tried
    repo.ok("recall", "redis prefix")


def test_a_guard_that_was_retired_on_one_side_goes(repo):
    """And is archived there: the other side's file has it no more."""

    def retires(repo):
        repo.ok("retire", id_of(repo, FORCE))
        repo.ok("compact")

    said = merged(repo, retires, adds)
    assert "stays taken back" in said
    assert FORCE not in repo.read()


def test_what_git_merges_as_text_lifts_no_guard(repo):
    """Where an id stands twice, entries cannot be told apart."""

    def lifts(repo):
        entry = text_without(repo, FREEZE).rpartition("---\nid: ")[2]
        repo.write("MEMORY.md", f"{text_without(repo, FORCE)}\n---\nid: {entry}")

    said = merged(repo, adds, lifts, code=1)
    assert f"would lift '{FORCE}'" in said
    assert FORCE in repo.read()


LIFTING = ("x: &a {guard: ask}\n<<: *a", "<<: {guard: ask}")


@DIRECTIONS
@pytest.mark.parametrize("values", LIFTING)
def test_a_conflict_elsewhere_hides_no_lifted_guard(repo, values, is_turned):
    """Git's markers stand around two new entries alone; what binds is left, and the
    place of the other side is said."""

    def lifts(repo):
        repo.write("MEMORY.md", repo.read().replace("guard: deny", values))
        repo.write("MEMORY.md", repo.read() + repo.entry("Another new note"))

    def appends(repo):
        repo.write("MEMORY.md", repo.read() + repo.entry("A new note"))

    said = merged(repo, appends, lifts, is_turned, code=1)
    assert f"would lift '{FORCE}'" in said
    assert "git show :3:MEMORY.md has the other" in said
    other = repo.git("show", ":3:MEMORY.md")
    assert ("Another new note" in other) is not is_turned
    assert "<<<<<<<" not in repo.read()
    if not is_turned:
        assert FORCE in repo.mem("guard", "--try", "git push --force origin main").out


def test_a_guard_inside_of_the_markers_is_for_the_person(repo):
    """Both sides are shown: nothing is said to be lifted."""

    def writes(values):
        text = repo.read().replace("guard: deny", values)
        return lambda repo: repo.write("MEMORY.md", text)

    said = merged(repo, writes("guard: ask"), writes(LIFTING[0]), code=1)
    assert "would lift" not in said
    assert "<<<<<<<" in repo.read()


def test_an_archive_lifts_no_guard_that_stands(repo):
    """It may come with a branch that leaves the file alone."""
    live = repo.read()
    repo.ok("retire", id_of(repo, FORCE))
    repo.ok("compact")
    repo.write("MEMORY.md", live)
    assert FORCE in repo.mem("guard", "--try", "git push --force origin main").out
    repo.ok("compact")
    assert FORCE in repo.read()


def retires(repo):
    repo.ok("retire", id_of(repo, FREEZE), "--because", "it was wrong")
    repo.ok("compact")


def takes_back(repo):
    """Committed, and known to the index; the text before."""
    live = repo.read()
    retires(repo)
    repo.commit("taken back")
    repo.ok("recall", "mails")
    return live


def recalled(repo):
    return repo.ok("recall", "freeze the clock").out


def is_told(repo):
    return FREEZE in recalled(repo) + repo.hook("session-start", source="startup").out


def named(repo):
    """What doctor says of what was taken back."""
    return [row for row in repo.checks() if row["name"] == "taken-back"]


def is_refused(repo):
    return "it was wrong" in repo.ends(5, "add", f"{FREEZE}.").err


def reinforces(repo):
    repo.ok("reinforce", id_of(repo, FREEZE), env={"MEM_NOW": "2026-12-24"})


def edits(repo):
    repo.ok("edit", id_of(repo, FREEZE), "--title", f"{FREEZE} and orders")


@DIRECTIONS
@pytest.mark.parametrize("how", ["merge", "rebase", "cherry-pick"])
def test_what_was_taken_back_comes_back_by_no_count(repo, how, is_turned):
    """A use of it on the other side is no word against that."""
    said = merged(repo, retires, reinforces, is_turned, how)
    assert f"'{FREEZE}' stays taken back (2026-11-21, it was wrong)" in said
    assert FREEZE not in repo.read()
    assert FREEZE not in recalled(repo)
    assert "was taken back" in repo.ends(5, "add", f"{FREEZE}.").err


@DIRECTIONS
def test_an_edit_of_what_was_taken_back_waits_for_a_person(repo, is_turned):
    """The words are kept, retired, and come back by one command."""
    said = merged(repo, retires, edits, is_turned)
    entry = next(each for each in repo.entries() if FREEZE in each.title)
    assert entry.status == "retired"
    assert f"mem restore {entry.id[:8]} brings it back" in said
    repo.ok("restore", entry.id)
    assert "and orders" in recalled(repo)
    assert "taken-back" not in repo.mem("doctor").out


@DIRECTIONS
@pytest.mark.parametrize("other", [reinforces, edits])
def test_a_value_that_was_superseded_is_told_no_more(repo, other, is_turned):
    """Whatever the other side did with it."""

    def supersedes(repo):
        repo.ok("add", "Staging listens on port 9090")
        repo.ok("compact")

    edits_port = other is edits
    repo.ok("add", "Staging listens on port 8080")
    repo.commit("port")

    def changes(repo):
        port = id_of(repo, "8080")
        edit = ("edit", port, "--title", "Staging listens on port 8080, yes")
        repo.ok(*(edit if edits_port else ("reinforce", port)))

    merged(repo, supersedes, changes, is_turned)
    told = repo.ok("recall", "which port has staging").out
    assert "port 9090" in told
    assert "port 8080" not in told


def test_what_no_driver_saw_is_told_no_more_and_named(repo):
    """A merge elsewhere left an entry live that its archive has as taken back: recall
    does not tell it, doctor names it, compaction moves it; restoring it ends that."""
    live = repo.read()
    retires(repo)
    repo.write("MEMORY.md", live)
    entry = id_of(repo, FREEZE)
    assert not is_told(repo)
    [row] = named(repo)
    assert row["hint"].startswith("mem compact; ")
    repo.ends(5, "add", f"{FREEZE}.")
    repo.ends(1, "compact", "--check")
    repo.ok("restore", entry)
    assert FREEZE in recalled(repo)
    repo.ok("compact", "--check")
    repo.ok("undo")
    repo.ok("compact")
    assert FREEZE not in repo.read()
    assert repo.read("MEMORY.archive.md").count(entry) == 1
    repo.ok("restore", entry)
    assert FREEZE in recalled(repo)


def marks_retired(repo):
    repo.ok("retire", id_of(repo, FREEZE), "--because", "it was wrong")


def moves(repo):
    """To another memory file, as a person tidies up."""
    entry = f"---\nid: {id_of(repo, FREEZE)}"
    moved = entry + repo.read().partition(entry)[2].partition("---\nid: ")[0]
    repo.write("MEMORY.md", text_without(repo, FREEZE))
    repo.write("tasks/cart.md", moved)


@DIRECTIONS
@pytest.mark.parametrize("takes_back", [retires, marks_retired])
def test_what_one_side_took_back_and_the_other_moved_is_told_no_more(
    repo, takes_back, is_turned
):
    """Git merges a file at a time: what is in no driver's sight stays taken back by its
    id, is named, moved to an archive, and comes back by one command."""
    entry = id_of(repo, FREEZE)
    merged(repo, takes_back, moves, is_turned)
    assert FREEZE in repo.read("tasks/cart.md")
    assert not is_told(repo)
    [row] = named(repo)
    assert row["path"] == "tasks/cart.md"
    repo.ends(5, "add", f"{FREEZE}.")
    repo.ok("compact")
    assert FREEZE not in repo.read("tasks/cart.md") + repo.read()
    repo.ok("restore", entry)
    assert FREEZE in recalled(repo)
    assert not named(repo)
    repo.ok("index", "--rebuild")
    assert FREEZE in recalled(repo)


def test_what_was_moved_and_taken_back_is_restored_where_it_stands(repo):
    entry = id_of(repo, FREEZE)
    merged(repo, retires, moves)
    repo.ok("restore", entry)
    assert FREEZE in recalled(repo)
    assert FREEZE in repo.read("tasks/cart.md")
    repo.ok("compact")
    assert FREEZE in recalled(repo)


def removes(repo):
    repo.git("rm", "-q", "MEMORY.archive.md")


def renames(repo):
    repo.git("mv", "MEMORY.archive.md", "old.txt")


def empties(repo):
    repo.git("rm", "-q", "--cached", "MEMORY.archive.md")
    (repo.root / "MEMORY.archive.md").unlink()


@pytest.mark.parametrize("is_merged", [True, False])
@pytest.mark.parametrize("loses", [removes, renames, empties])
def test_an_archive_that_is_removed_lets_nothing_come_back(repo, loses, is_merged):
    """What was taken back in it is read from git, by whatever way it went."""
    live = takes_back(repo)
    if is_merged:
        merged(repo, adds, loses)
    else:
        loses(repo)
    repo.ok("recall", "mails")
    assert is_refused(repo)
    repo.write("MEMORY.md", live)
    assert named(repo)
    repo.ok("compact")
    assert FREEZE not in recalled(repo)
    repo.ok("add", "--again", f"{FREEZE}.")
    assert FREEZE in recalled(repo)


def thins(repo):
    """A sparse work tree has no archive."""
    repo.git("sparse-checkout", "set", "--no-cone", "/*", "!MEMORY.archive.md")
    assert not repo.has("MEMORY.archive.md")


@pytest.mark.parametrize("loses", [removes, renames, empties, thins])
def test_a_recall_tells_nothing_of_an_archive_that_went(repo, loses):
    """Without a compaction before, also from an index that is built anew."""
    live = takes_back(repo)
    loses(repo)
    repo.write("MEMORY.md", live)
    assert not is_told(repo)
    repo.commit("back")
    repo.write("MEMORY.md", f"{live}\n")
    assert not is_told(repo)
    repo.ok("index", "--rebuild")
    assert not is_told(repo)


def grows(path):
    path.write_text(path.read_text() + "x" * 17_000_000)


def crowds(path):
    path.write_text(path.read_text() + "- a\n" * 70_000)


def mixes(path):
    path.write_bytes(path.read_bytes() + b"\xff\xfe")


def fences(path):
    path.write_text("```\n" + path.read_text())


def opens(path):
    path.write_text("---\nid: zz\nx: |\n  y\n" + path.read_text())


def clears(path):
    path.write_text("")


def pipes(path):
    path.unlink()
    os.mkfifo(path)


def nests(path):
    path.unlink()
    path.mkdir()


def leads_out(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


DAMAGES = [grows, crowds, mixes, fences, opens, clears, pipes, nests, leads_out]


@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("damages", DAMAGES)
def test_an_archive_that_cannot_be_read_lets_nothing_come_back(
    repo, damages, is_committed
):
    """What it had is read from the newest commit in which it is whole."""
    live = takes_back(repo)
    damages(repo.root / "MEMORY.archive.md")
    if is_committed and damages != pipes:  # which git does not take
        repo.commit("damaged")
    repo.ok("recall", "mails")
    repo.write("MEMORY.md", live)
    assert not is_told(repo)
    assert is_refused(repo)
    assert named(repo)


def test_what_was_forgotten_of_an_archive_can_be_said_anew(repo):
    takes_back(repo)
    [entry] = [row for row in repo.entries("MEMORY.archive.md") if FREEZE in row.title]
    repo.ok("forget", entry.id)
    repo.ok("add", "--again", f"{FREEZE}.")
    assert is_told(repo)


QUOTE = "Archives say when\n\n```yaml\nid: one\narchived_at: 2026-01-01\n```"


def archives_a_quote(repo):
    """An entry whose own text shows a mark of archives."""
    repo.ok("add", QUOTE)
    repo.ok("retire", id_of(repo, "Archives say when"))
    repo.ok("compact")
    repo.commit("quoted")


def spoils(repo):
    """Text of a person that leaves an archive unsound for good."""
    text = repo.read("MEMORY.archive.md")
    repo.write("MEMORY.archive.md", f"About\narchived_at: a day\n\n{text}")


@pytest.mark.parametrize("is_unsound", [False, True])
def test_what_is_restored_stays_whatever_its_archive_quotes(repo, is_unsound):
    """What the archive in the work tree says of an id is newer than what git has."""
    entry = id_of(repo, FREEZE)
    takes_back(repo)
    archives_a_quote(repo)
    if is_unsound:
        spoils(repo)
        repo.commit("spoilt")
    repo.ok("restore", entry)
    for _ in range(2):
        assert is_told(repo)
        assert not named(repo)
        repo.ok("compact")
        repo.commit("restored")
    if is_unsound:
        repo.ok("recall", "mails")
        removes(repo)
        repo.write("MEMORY.md", f"{repo.read()}\n")
        assert is_told(repo)  # by the newest text, though an older one is sound


def test_an_archive_that_quotes_a_mark_lets_nothing_come_back(repo):
    live = repo.read()
    retires(repo)
    archives_a_quote(repo)
    for damages in (fences, opens):
        damages(repo.root / "MEMORY.archive.md")
        repo.ok("recall", "mails")
        repo.write("MEMORY.md", live)
        assert not is_told(repo)
        assert is_refused(repo)


@pytest.fixture
def walks(monkeypatch):
    """What git was asked to look for in history: "" for all of it, else two commits."""
    noted = []
    ask = git.ask

    def noting(top, *words, **how):
        if words[0] == "log" and words[-1].endswith(")MEMORY.archive.md"):
            noted.append("".join(word for word in words if "..." in word))
        return ask(top, *words, **how)

    monkeypatch.setattr(git, "ask", noting)
    return noted


def recalls(repo):
    """With something to refresh, whether it is told."""
    repo.write("MEMORY.md", f"{repo.read()}\n- Carts are blue\n")
    return FREEZE in recalled(repo)


@pytest.mark.parametrize("is_committed", [False, True])
def test_history_is_walked_once_for_a_lost_archive(repo, walks, is_committed):
    """And not at all where HEAD has it; after a commit, so far as it is new."""
    live = takes_back(repo)
    (repo.root / "MEMORY.archive.md").unlink()
    if is_committed:
        repo.commit("removed")
    repo.write("MEMORY.md", live)
    walks.clear()
    for _ in range(2):
        assert not recalls(repo)
        assert walks == [""] * is_committed
    head = repo.git("rev-parse", "HEAD").strip()
    repo.git("commit", "-q", "--allow-empty", "-m", "of something else")
    assert not recalls(repo)
    [newest] = walks[is_committed:]
    assert newest.endswith(f"...{head}")
    assert not recalls(repo)
    assert walks[is_committed:] == [newest]


def test_what_git_has_of_a_lost_archive_is_that_of_head(repo):
    """As of the branch that it is on, not as it was once known."""
    entry = id_of(repo, FREEZE)
    live = takes_back(repo)
    repo.git("checkout", "-q", "-b", "restored")
    repo.ok("restore", entry)
    repo.commit("restored")
    repo.git("checkout", "-q", "main")
    repo.ok("recall", "mails")
    removes(repo)
    repo.write("MEMORY.md", live)
    for branch in ("main", "restored", "main"):
        repo.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        assert recalls(repo) == (branch == "restored")


@pytest.mark.parametrize("verb", ["show", "log"])
def test_what_git_did_not_say_of_a_lost_archive_is_asked_again(repo, monkeypatch, verb):
    live = takes_back(repo)
    removes(repo)
    repo.commit("removed")
    repo.write("MEMORY.md", live)
    run = git.run

    def slow(words, *place, **how):
        too_slow = git.GitSaid(124, "", "git took too much time")
        return too_slow if words[0] == verb else run(words, *place, **how)

    with monkeypatch.context() as patched:
        patched.setattr(git, "run", slow)
        recalls(repo)
    assert not recalls(repo)

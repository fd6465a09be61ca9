"""mem sync: two machines, one memory; nothing else of the home folder is ever
touched."""

import os
import shlex
import shutil
from contextlib import contextmanager

import pytest

from tests.conftest import Project
from tests.programs import finished


class Machine(Project):
    """A home folder of its own, with `mem` in it."""

    def __init__(self, project, folder):
        super().__init__(root=folder, home=folder / "home")
        self.project = project
        self.folder = folder
        self.home.mkdir(parents=True)
        self.git_dir = folder / "data/mem/home.git"

    def mem(self, *words):
        kinds = ("data", "state", "cache", "config")
        folders = {f"XDG_{kind.upper()}_HOME": self.folder / kind for kind in kinds}
        env = {name: str(folder) for name, folder in folders.items()}
        env["MEM_HOME"] = str(self.home)
        return self.project.mem(*words, cwd=self.folder, env=env)

    def sync(self, *words):
        return self.mem("sync", *words)

    def learns(self):
        return self.mem("add", "--level", "global", "Deploy on Tuesdays only")

    def notes(self, text, name="MEMORY.md"):
        (self.home / name).write_text(text)

    def sends(self, text, name="MEMORY.md"):
        self.notes(text, name)
        self.ok("sync")

    def text(self, name="MEMORY.md"):
        return (self.home / name).read_bytes().decode()


@pytest.fixture
def remote(project, tmp_path):
    project.git("init", "-q", "--bare", "-b", "main", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


@pytest.fixture
def pair(project, remote, tmp_path):
    laptop, desktop = (Machine(project, tmp_path / name) for name in ("one", "two"))
    for machine in (laptop, desktop):
        assert machine.sync("--git", str(remote)).code == 0
    return laptop, desktop


def test_a_home_of_its_own_has_a_repository_of_its_own(project, tmp_path, monkeypatch):
    """What a home for a trial holds is not sent where the user's own goes."""
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    trial = tmp_path / "trial"
    trial.mkdir()
    project.ok("sync", "--git", "", env={"MEM_HOME": str(trial)})
    assert (trial / ".local/share/mem/home.git").is_dir()


def ids_of(number):
    return [f"{each}1111111-1111-4111-8111-111111111111" for each in range(number)]


def in_step(*machines):
    for each in (*machines, *machines):
        each.ok("sync")


def test_without_an_address_nothing_is_called_in_step(project, remote, tmp_path):
    """It says what stays on this machine, and how the others find it; an address that
    is known is not asked for again."""
    laptop = Machine(project, tmp_path / "one")
    laptop.learns()
    begun = laptop.sync("--git")
    assert begun.code == 0
    assert "nothing leaves this machine" in begun.err
    done = laptop.ok("sync")
    assert "on this machine only" in done.out
    assert "mem sync --git URL" in done.out
    assert laptop.sync("--json").json["address"] is False
    assert laptop.sync("--git", str(remote)).code == 0
    assert laptop.sync().out == "1 commit sent\n"
    assert "nothing leaves" not in laptop.sync("--git").err
    assert laptop.sync().out == "in sync\n"


def test_a_dry_run_says_what_would_leave(pair):
    """Committed or not; nothing is committed by it."""
    laptop, _ = pair
    assert "nothing would change" in laptop.sync("--dry-run").err
    laptop.learns()
    dry = laptop.sync("--dry-run")
    assert (dry.out, dry.err) == ("would send ~/MEMORY.md\n", "")
    laptop.ok("sync")
    assert "nothing would change" in laptop.sync("--dry-run").err


def test_an_address_is_asked_before_it_takes_the_place_of_another(pair, remote):
    """What does not answer is refused; the one before it is named."""
    laptop, _ = pair
    for options in ([], ["--dry-run"]):
        gone = laptop.sync("--git", "../no-such.git", *options)
        assert gone.code == 4 and "no-such.git" in gone.err, gone.err
    assert laptop.sync().out == "in sync\n"
    other = remote.with_name("other.git")
    laptop.project.git("init", "-q", "--bare", str(other))
    assert f"was: {remote}" in laptop.sync("--git", str(other)).out
    assert "was:" not in laptop.sync("--git", str(other)).out


def test_two_machines_that_edited_at_once_hold_the_same(pair):
    """Entries by id, counts added up, prose with the lines of both; every byte, CRLF
    too."""
    laptop, desktop = pair
    laptop.learns()
    in_step(laptop, desktop)
    (name,) = [entry["id"] for entry in laptop.listed()]
    for machine, text in ((laptop, "Mine: a\r\n"), (desktop, "Mine: b\r\n")):
        machine.mem("reinforce", name)
        machine.mem("add", "--level", "global", f"A lesson of {machine.folder.name}")
        (machine.home / "institutional.md").write_bytes(
            f"# Norms\r\n\r\n{text}".encode()
        )
    in_step(laptop, desktop, laptop)
    assert laptop.text() == desktop.text()
    assert "reinforcement_count: 2" in laptop.text()
    assert laptop.text().count("A lesson of ") == 2
    assert laptop.text("institutional.md") == desktop.text("institutional.md")
    assert sorted(laptop.text("institutional.md").splitlines()) == [
        "",
        "# Norms",
        "Mine: a",
        "Mine: b",
    ]
    assert laptop.sync().out == "in sync\n"


def test_git_knows_two_files_and_the_home_folder_nothing_of_git(pair, project):
    """Neither other files nor the private store; a second init changes nothing."""
    laptop, _ = pair
    for name in ("notes.txt", "proxy.md", "MEMORY.archive.md"):
        (laptop.home / name).write_text("private\n")
    laptop.learns()
    assert laptop.sync("--git").code == 0
    assert "1 commit sent" in laptop.sync().out
    named = project.git(
        "--git-dir", str(laptop.git_dir), "ls-tree", "-r", "--name-only", "main"
    )
    assert named == "MEMORY.md\n"
    assert not (laptop.home / ".git").exists()
    assert project.git("--git-dir", str(laptop.git_dir), "status", "--porcelain") == ""
    assert laptop.sync("--remove").code == 0
    assert not laptop.git_dir.exists()
    assert laptop.sync().code == 2


def test_a_dry_run_shows_what_would_come_and_writes_nothing(pair):
    laptop, desktop = pair
    laptop.learns()
    in_step(laptop)
    desktop.mem("add", "--level", "global", "Prefer tabs")
    before = desktop.text()
    assert "+## [2026-11-21] Deploy on Tuesdays only" in desktop.sync("--dry-run").out
    assert desktop.text() == before
    assert laptop.sync().out == "in sync\n"


@pytest.mark.parametrize("what", ["secret", "link", "conflict"])
def test_what_may_not_leave_stops_it_before_anything_is_committed(
    pair, remote, project, what
):
    laptop, _ = pair
    path = laptop.home / "MEMORY.md"
    if what == "secret":
        path.write_text(
            "# Memory\n\nkey: ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8" + "\n"
        )
    elif what == "link":
        (laptop.folder / "elsewhere.md").write_text("x\n")
        path.symlink_to(laptop.folder / "elsewhere.md")
    else:
        path.write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    done = laptop.ends(5, "sync")
    assert "MEMORY.md" in done.err
    assert "hint:" in done.err
    assert project.git("for-each-ref", cwd=remote) == ""


@contextmanager
def elsewhere(project, remote, branch="main"):
    """A clone of the remote in which somebody writes, who pushes it then."""
    folder = remote.parent / "work"
    project.git("clone", "-q", str(remote), str(folder))
    yield folder
    project.commit(cwd=folder)
    project.git("push", "-q", "origin", f"HEAD:{branch}", cwd=folder)


def test_a_secret_of_the_other_side_is_not_sent_on(pair, remote, project):
    """It comes into no file here, and no second address gets it."""
    _, two = pair
    two.notes("# Memory\n\nA note.\n")
    two.sync()
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    with elsewhere(project, remote) as folder:
        (folder / "MEMORY.md").write_text(f"{two.text()}\nkey: {token}\n")
    done = two.ends(5, "sync")
    assert "contains a secret" in done.err
    assert "the other side" in done.err
    assert token not in two.text()


REFUSED = {
    "lifted": "would lift the guard",
    "crowded": "too large",
    "emptied": "4 of 5 entries would leave ~/MEMORY.md",
    "conflict": "the other side",
}


@pytest.mark.parametrize("there", REFUSED)
def test_the_other_side_lifts_no_guard_and_has_bounds(pair, remote, project, there):
    """Nothing is written then, and what a person does is said."""
    _, two = pair
    guard = project.entry("Never force push", guard="deny", commands=["git push -f *"])
    own = guard + "".join(project.entry(f"Note {number}") for number in range(4))
    two.notes(own)
    two.sync()
    texts = {
        "lifted": own.replace("guard: deny\n", ""),
        "crowded": own + "---\nid: x\ntype: declarative\n---\n## A note\n\n" * 40_000,
        "emptied": guard,
        "conflict": "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n",
    }
    with elsewhere(project, remote) as folder:
        (folder / "MEMORY.md").write_text(texts[there])
    done = two.ends(5, "sync")
    assert REFUSED[there] in done.err
    assert two.text() == own


def test_what_a_sync_may_take_away_is_taken_back(pair, project):
    """A quarter of a file at most, merged entries and edited prose left out; what is
    let go is brought back by undo, from the project where it was let go too."""
    one, two = pair
    ids = ids_of(4)
    notes = [project.entry(f"Note {name[0]}", id=name) for name in ids]
    for name, text in {
        "MEMORY.md": "".join(notes),
        "institutional.md": "".join(f"# N{n}\n\nNorm {n}.\n\n" for n in range(4)),
    }.items():
        two.notes(text, name)
    in_step(two, one)
    merged = project.entry("Note", id=ids[0], merged_from=ids[1:3])
    one.sends(merged + notes[3])
    two.ok("sync")
    assert "merged_from" in two.text()
    norms = two.text("institutional.md")
    one.sends("# N0\n\nNorm 0.\n", "institutional.md")
    assert "3 of 4 entries would leave ~/institutional.md" in two.ends(5, "sync").err
    assert "-Norm 3." in two.ok("sync", "--dry-run").out
    project.git("init", "-q", str(two.folder))
    two.ok("sync", "--allow-loss")
    assert "Norm 3" not in two.text("institutional.md")
    two.ok("undo")
    assert two.text("institutional.md") == norms


@pytest.mark.parametrize("how", ["taken up", "retired", "superseded", "said anew"])
def test_nobody_takes_all_entries_by_a_word_about_them(pair, project, how):
    """One that says it was merged from all, or each told no more, or by other words."""
    one, two = pair
    ids = ids_of(8)
    names = "alder birch cedar dogwood elm fir ginkgo hazel".split()
    pairs = list(zip(ids, names, strict=True))

    def entries(text, **values):
        return "".join(
            project.entry(text.format(name), text.format(name), id=key, **values)
            for key, name in pairs
        )

    own = entries("Water the {} on Mondays")
    two.notes(own)
    in_step(two, one)
    taken = {
        "taken up": project.entry("Run make danger", merged_from=ids),
        "retired": entries("Water the {} on Mondays", status="retired"),
        "superseded": entries("Water the {} on Mondays", superseded_by=ids[0]),
        "said anew": entries("Run make danger before {}"),
    }
    one.sends(taken[how])
    assert "of 8 entries would leave ~/MEMORY.md" in two.ends(5, "sync").err
    assert two.text() == own


PROSE = """## House
I like my tea at five and the build at six, on machine alpha.

## Keys
Another section of prose about deployment keys and owners.

## Rota
Third section with the weekly rota and what to do.

"""
OTHER_PROSE = """## House
Run make danger first.

## Keys
Always curl evil.

## Rota
Never ask.

"""


def test_the_other_side_puts_no_other_prose_in_the_place_of_yours(pair, project):
    """As many headings with other words below them are a loss; it may be edited."""
    one, two = pair
    note = project.entry("A note")
    two.notes(f"{PROSE}{note}")
    in_step(two, one)
    edited = f"{PROSE.replace('alpha', 'beta')}## More\nOf it.\n\n{note}"
    one.sends(edited)
    assert two.ok("sync").out.count("\n") == 1
    own = two.text()
    one.sends(f"{OTHER_PROSE}{note}")
    refused = two.ends(5, "sync").err
    assert "would leave ~/MEMORY.md, or say something else: 'House', 'Keys'" in refused
    assert two.text() == own


def test_what_the_other_side_makes_live_again_is_named(pair, project):
    one, two = pair
    (key,) = ids_of(1)
    note = project.entry("Note", "Water the alder on Mondays.", id=key)
    two.notes(note)
    in_step(two, one)
    two.ok("retire", key)
    in_step(two, one)
    one.sends(note)
    told = two.ok("sync").out.splitlines()[1:]
    assert told == [f"told again: Note (~/MEMORY.md, id {key[:8]})"]


def test_the_last_notes_of_a_small_memory_do_not_go_unnamed(pair, project):
    """Two of three are refused; one by one each is named, with its id."""
    one, two = pair
    ids = ids_of(3)
    notes = [
        project.entry(f"Note {key[0]}", "Water the alder on Mondays.", id=key)
        for key in ids
    ]
    two.notes("".join(notes))
    in_step(two, one)
    one.sends(notes[0])
    assert "2 of 3 entries would leave" in two.ends(5, "sync").err
    one.sends("".join(notes[:2]))
    gone = two.ok("sync").out.splitlines()[1:]
    assert gone == [f"told no more: Note 2 (~/MEMORY.md, id {ids[2][:8]})"]
    other = project.entry("Note 1", "Run make danger.", id=ids[1])
    one.sends(f"{notes[0]}{other}")
    assert [row["title"] for row in two.ok("sync", "--json").json["changed"]] == [
        "Note 1"
    ]


def test_of_many_that_left_the_first_are_named(pair, project):
    """And how many more, as elsewhere."""
    one, two = pair
    names = [f"{letter}{other}" for letter in "abcdefgh" for other in "klmnopqr"]
    notes = [project.entry(f"Note {name}", id=f"{name}111111") for name in names]
    two.notes("".join(notes))
    in_step(two, one)
    one.sends("".join(notes[:4]))
    lines = two.ok("sync", "--allow-loss").out.splitlines()
    assert 20 < len(lines) < 50
    assert lines[-1].startswith(f"... and {64 - 4 - len(lines[1:-1])} more")


def test_a_guard_that_the_other_side_calls_otherwise_is_taken_in(pair, project):
    """It binds as before; notes of this side go out."""
    one, two = pair
    guard = project.entry("Never force push", guard="deny", commands=["git push -f *"])
    two.notes(guard)
    two.sync()
    one.sync()
    path = one.home / "MEMORY.md"
    path.write_text(path.read_text().replace("Never force", "Do not force"))
    one.sync()
    two.ok("sync")
    assert "Do not force push" in two.text() and "guard: deny" in two.text()


def test_a_link_inside_the_home_folder_is_written_through(pair):
    """As dotfile managers make them: what came in stands behind it, the link stays."""
    laptop, desktop = pair
    (desktop.home / "dotfiles").mkdir()
    (desktop.home / "dotfiles" / "notes.md").write_text("")
    (desktop.home / "MEMORY.md").symlink_to("dotfiles/notes.md")
    laptop.learns()
    in_step(laptop, desktop)
    assert (desktop.home / "MEMORY.md").is_symlink()
    kept = (desktop.home / "dotfiles" / "notes.md").read_text()
    assert "Deploy on Tuesdays only" in kept
    assert kept == laptop.text()


@pytest.mark.parametrize("name", [".bashrc", "notes/a.md", "institutional.md"])
def test_a_repository_that_holds_more_is_refused_and_writes_nothing(
    pair, remote, project, name
):
    """A strange file, one in a folder, a link in the place of a memory file."""
    laptop, _ = pair
    with elsewhere(project, remote) as folder:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to("/etc/passwd") if name[0] == "i" else path.write_text("x")
    done = laptop.ends(5, "sync")
    assert name.partition("/")[0] in done.err
    assert list(laptop.home.iterdir()) == []


def test_a_repository_with_another_branch_is_refused(pair, remote, project):
    """Code whose branch is called otherwise is somebody's: nothing of yours goes
    there."""
    laptop, _ = pair
    with elsewhere(project, remote, "trunk") as folder:
        (folder / "a.py").write_text("x = 1\n")
    laptop.mem("add", "--level", "global", "Prefer short branches")
    done = laptop.ends(5, "sync")
    assert "has a branch 'trunk'" in done.err
    assert "main" not in project.git("branch", "-a", cwd=remote)


def tree_of(remote, rows):
    """A folder with these rows, in the remote."""
    return finished("git", "mktree", cwd=remote, input=rows).stdout.strip()


def pushed_by_another(project, remote, rows):
    """Make a commit of a folder with these rows the state of the remote."""
    author = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    made = ("commit-tree", "-m", "x", tree_of(remote, rows))
    commit = project.git(*author, *made, cwd=remote)
    project.git("update-ref", "refs/heads/main", commit.strip(), cwd=remote)


def blob_of(project, remote, path="/dev/null"):
    """A file of the remote with the content of one that is here, as in a row."""
    name = project.git("hash-object", "-w", str(path), cwd=remote)
    return f"100644 blob {name.strip()}"


@pytest.mark.parametrize("name", ["a", "MEMORY.md"])
def test_folders_that_hold_themselves_are_not_entered(pair, remote, project, name):
    """Ten folders of ten folders, twelve levels of them, weigh a few hundred bytes: to
    list them all would never end."""
    laptop, _ = pair
    row = blob_of(project, remote)
    for _ in range(12):
        rows = "".join(f"{row}\tf{number}\n" for number in range(10))
        row = f"040000 tree {tree_of(remote, rows)}"
    pushed_by_another(project, remote, f"{row}\t{name}\n")
    done = laptop.sync()
    assert (done.code, name in done.err) == (5, True), done.err
    assert list(laptop.home.iterdir()) == []


def test_many_names_are_not_listed(pair, remote, project):
    """What names more than two files is refused by its size."""
    laptop, _ = pair
    row = blob_of(project, remote)
    rows = "".join(f"{row}\tf{number}\n" for number in range(5000))
    pushed_by_another(project, remote, rows)
    done = laptop.sync()
    assert (done.code, "more than two files" in done.err) == (5, True), done.err


def test_an_object_that_unpacks_to_more_than_memory_holds_is_not_taken(
    pair, remote, project, tmp_path
):
    """A hundred megabytes of nothing are a hundred kilobytes in a pack."""
    laptop, _ = pair
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(100 << 20)
    row = blob_of(project, remote, large)
    pushed_by_another(project, remote, f"{row}\tMEMORY.md\n")
    done = laptop.sync()
    assert done.code == 4, done.err  # where it came in, its size is refused (5)
    assert list(laptop.home.iterdir()) == []


@pytest.mark.parametrize("anew", [False, True])
def test_another_address_is_sent_all_there_is(pair, remote, project, tmp_path, anew):
    """What the old repository had says nothing of the new one, under another address
    or the same."""
    laptop, desktop = pair
    laptop.learns()
    in_step(laptop)
    shutil.move(remote, tmp_path / "gone.git")
    new = remote if anew else tmp_path / "new.git"
    project.git("init", "-q", "--bare", "-b", "main", str(new))
    for machine in pair:
        assert machine.sync("--git", str(new)).code == 0
    assert "1 commit sent" in laptop.sync().out
    in_step(desktop)
    assert "Tuesdays" in desktop.text()


def test_git_that_does_not_know_the_user_is_told_how(pair, monkeypatch):
    """The hint is the command that helps, and with it the sync works."""
    laptop, _ = pair
    laptop.learns()
    for name in list(os.environ):
        if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER")) or name == "EMAIL":
            monkeypatch.delenv(name)
    config = laptop.folder / "gitconfig"
    config.write_text("[user]\n\tuseConfigOnly = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    done = laptop.sync()
    assert done.code == 5 and "does not know who you are" in done.err, done.err
    hint = done.err.partition("hint: ")[2].strip()
    commands = hint.removesuffix(", then: mem sync").split(", ")
    assert len(commands) == 2
    for command in commands:
        finished(*shlex.split(command))
    assert "1 commit sent" in laptop.sync().out


def test_a_failed_network_costs_nothing(pair, remote):
    """What is here is committed, and sent the next time."""
    laptop, desktop = pair
    laptop.learns()
    remote.rename(remote.with_name("away"))
    done = laptop.ends(4, "sync")
    assert "your changes are committed" in done.err
    remote.with_name("away").rename(remote)
    in_step(laptop, desktop)
    assert "Tuesdays" in desktop.text()


def test_a_file_that_is_gone_comes_back(pair):
    """A deletion is no edit: whoever wants an empty memory empties it."""
    laptop, desktop = pair
    laptop.learns()
    in_step(laptop, desktop)
    (laptop.home / "MEMORY.md").unlink()
    in_step(laptop, desktop)
    assert laptop.text() == desktop.text()
    assert "Tuesdays" in laptop.text()


def test_the_users_hooks_run_and_may_refuse(pair):
    laptop, _ = pair
    laptop.learns()
    hook = laptop.git_dir / "hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    done = laptop.ends(5, "sync")
    assert "not today" in done.err
    hook.unlink()
    assert "1 commit sent" in laptop.sync().out


def test_a_session_that_ends_brings_it_in_step_when_that_is_wanted(pair, monkeypatch):
    """Only the user's own configuration can ask for it."""
    from memcli.hooks import worker

    laptop, desktop = pair
    laptop.learns()
    for kind in ("data", "state", "cache"):
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", str(laptop.folder / kind))
    monkeypatch.setenv("MEM_HOME", str(laptop.home))
    monkeypatch.setenv("MEM_SYNC", "off")
    root = str(laptop.project.root)
    assert "mem sync" not in worker.work(root, os.environ, wait=False)
    monkeypatch.setenv("MEM_SYNC", "session")
    assert "mem sync: 1 sent" in worker.work(root, os.environ, wait=False)
    in_step(desktop)
    assert "Tuesdays" in desktop.text()


@pytest.mark.parametrize("written", [False, True])
def test_a_sync_that_was_killed_around_its_write_is_done_again(pair, project, written):
    """Before it, the merge is forgotten; after it, it is kept: nothing is lost or
    counted twice."""
    laptop, desktop = pair
    laptop.learns()
    in_step(laptop, desktop)
    (name,) = [entry["id"] for entry in laptop.listed()]
    laptop.mem("reinforce", name)
    laptop.mem("add", "--level", "global", "A lesson of one")
    in_step(laptop)
    desktop.mem("reinforce", name)
    old = desktop.text()
    in_step(desktop)
    own = ("--git-dir", str(desktop.git_dir))
    project.git(*own, "update-ref", "refs/mem/before", "main^1")
    if not written:
        (desktop.home / "MEMORY.md").write_text(old)
    (desktop.home / "institutional.md").write_text("# Norms\n\nWritten after it.\n")
    in_step(desktop, laptop, desktop)
    assert laptop.text() == desktop.text()
    assert "A lesson of one" in laptop.text()
    assert "reinforcement_count: 2" in laptop.text()
    assert laptop.text("institutional.md") == "# Norms\n\nWritten after it.\n"

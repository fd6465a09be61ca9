"""Writes are proved with real files, real processes and real signals; full disks:
attacks/test_disk.py."""

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from memcli.errors import RefusedError
from memcli.memory.values import Patch
from memcli.storage.durable import silent, write_output
from memcli.storage.journal import UNDO_RECORDS
from memcli.storage.workspace import StaleError, Workspace

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PROJECT = Path(__file__).parents[2]


class House:
    """A tree, and a state folder beside it."""

    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "tree"
        self.state = folder / "state"
        self.root.mkdir()

    def workspace(self, trace=silent, *, root=None):
        return Workspace(
            root or self.root, self.state, NOW, allowed=[self.folder], trace=trace
        )

    def put(self, name, data):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def patch(self, name, after):
        path = self.root / name
        return Patch(
            str(path), path.read_bytes().decode() if path.exists() else None, after
        )

    def write(self, name, after, **how):
        """Write one file, as `mem add` does."""
        return self.workspace().write([self.patch(name, after)], "add", **how)

    def listing(self):
        """Everything in the tree, directories too, so that litter shows."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            if path.is_file()
            else None
            for path in sorted(self.root.rglob("*"))
        }

    def pending(self):
        return sorted(self.state.glob("pending/*"))

    def undo_records(self):
        return sorted(self.state.glob("undo/*/*"))


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


@pytest.fixture
def ram(tmp_path):
    """A folder without a disk below: thousands of fsyncs cost nothing, and SIGKILL
    cannot tell."""
    base = Path("/dev/shm")
    if not os.access(base, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="mem-test-", dir=base) as folder:
        yield Path(folder)


def at(step, nth, act):
    """A trace that acts when `step` comes for the nth time."""
    seen = 0

    def trace(name):
        nonlocal seen
        if name == step:
            seen += 1
            if seen == nth:
                act()

    return trace


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt():
    raise KeyboardInterrupt


def spawn(work):
    """A real process that does `work` and exits with 0, or with 1 when it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # fork beside the threads of xdist
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def outcome(pid):
    """0, the exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kept(news):
    """Files whose text was set aside, and where."""
    copies = (
        line.removeprefix("an unfinished write of ")
        for line in news
        if " is kept " in line
    )
    return [
        (name, copy)
        for name, _, copy in (line.partition(" is kept in ") for line in copies)
    ]


def wait_for(path):
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.002)


SOURCES = ("MEMORY.md", "tasks/c.md", "jobs/j/MEMORY.md")


def entry(source, number):
    return f"---\nid: {source}-{number}\n---\n{'word ' * 20}\n\n"


ENTRIES = [entry(source, number) for source in SOURCES for number in range(40)]


def archive_of(source):
    return source.removesuffix(".md") + ".archive.md"


def furnish(house):
    for source in SOURCES:
        house.put(
            source, "".join(entry(source, number) for number in range(40)).encode()
        )
    house.put(archive_of(SOURCES[0]), b"# Archive\n")
    return house.listing()


def leaving(house):
    patches = []
    for source in SOURCES:
        archive = house.root / archive_of(source)
        before = archive.read_text() if archive.exists() else ""
        gone = "".join(entry(source, number) for number in range(0, 40, 2))
        patches.append(
            house.patch(
                source, "".join(entry(source, number) for number in range(1, 40, 2))
            )
        )
        patches.append(house.patch(archive_of(source), before + gone))
    return patches


def texts(patches):
    return {p.path: p.before for p in patches}, {p.path: p.after for p in patches}


def on_disk(patches):
    return {
        p.path: Path(p.path).read_text() if Path(p.path).exists() else None
        for p in patches
    }


def assert_each_whole(patches):
    for patch in patches:
        assert on_disk([patch])[patch.path] in (patch.before, patch.after), patch.path
    everything = "".join(text or "" for text in on_disk(patches).values())
    assert [lost for lost in ENTRIES if lost not in everything] == []


def assert_settled(house, patches):
    """All new (True) or all old, and no litter."""
    before, after = texts(patches)
    assert on_disk(patches) in (before, after)
    assert house.pending() == []
    files = {
        str(house.root / name)
        for name, data in house.listing().items()
        if data is not None
    }
    assert files == {
        path for path, text in on_disk(patches).items() if text is not None
    }
    return on_disk(patches) == after


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbfa\r\nb\r\n", b"a\rb\n\x0c\n", b"a", b"", "ä\u2028ö\n".encode()],
)
def test_bytes_survive(house, data):
    house.put("MEMORY.md", b"x" + data)
    house.write("MEMORY.md", data.decode())
    assert house.listing() == {"MEMORY.md": data}
    house.workspace().undo()
    assert house.listing() == {"MEMORY.md": b"x" + data}


def test_a_patch_without_change_writes_nothing(house):
    path = house.put("MEMORY.md", b"same")
    inode = path.stat().st_ino
    assert house.write("MEMORY.md", "same") == []
    assert path.stat().st_ino == inode
    assert not house.state.exists()


def test_permissions_and_owner_stay(house):
    path = house.put("MEMORY.md", b"old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    before = path.stat()
    house.write("MEMORY.md", "new")
    after = path.stat()
    assert [after[i] for i in (0, 4, 5)] == [before[i] for i in (0, 4, 5)]


def test_the_state_is_private_whatever_the_umask(house):
    house.put("proxy.md", b"secret")
    old = os.umask(0)
    try:
        house.write("proxy.md", "secret 2")
    finally:
        os.umask(old)
    for path in (house.state, *house.state.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (
            0o700 if path.is_dir() else 0o600
        ), path


def refused(house, patches, match, kind=RefusedError):
    before = house.listing()
    with pytest.raises(kind, match=match):
        house.workspace().write(patches, "add")
    assert house.listing() == before
    assert house.pending() == house.undo_records() == []


def test_a_file_that_changed_since_the_plan_stops_them_all(house):
    house.put("a.md", b"a")
    house.put("b.md", b"b")
    patches = [house.patch("a.md", "A"), house.patch("b.md", "B")]
    house.put("b.md", b"edited")
    refused(house, patches, "b.md: changed while mem was at work", StaleError)
    (house.root / "b.md").unlink()
    refused(house, patches, "b.md: changed", StaleError)


def test_a_directory_or_a_pipe_is_refused_without_waiting(house):
    (house.root / "d.md").mkdir()
    os.mkfifo(house.root / "p.md")
    for name in ("d.md", "p.md"):
        refused(
            house,
            [Patch(str(house.root / name), None, "x")],
            f"{name}: not a regular file",
        )


def test_single_files_are_written_and_nothing_beside_them(house):
    home = house.folder / "home"
    home.mkdir()
    space = Workspace(
        house.root, house.state, NOW, allowed=[house.root], single=[home / "MEMORY.md"]
    )
    space.write([Patch(str(home / "MEMORY.md"), None, "x")], "add")
    for name in ("other.md", "MEMORY.md/x", "../elsewhere.md"):
        with pytest.raises(RefusedError, match="where mem does not write"):
            space.write([Patch(str(home / name), None, "x")], "add")


def test_a_journal_that_leads_outside_writes_nothing_there(house):
    """Planted, or made before its folder became a link."""
    house.put("a.md", b"a")
    crash(house, [house.patch("a.md", "A")], 1)
    (pending,) = house.pending()
    outside = house.folder.parent / f"{house.folder.name}-outside.md"
    pending.write_text(
        pending.read_text().replace(str(house.root / "a.md"), str(outside))
    )
    house.workspace().recover()
    assert not outside.exists()
    assert (house.root / "a.md").read_bytes() == b"a"


def test_a_link_inside_is_written_through_and_stays(house):
    """The file that it leads to is replaced, also where a folder is a link; undo takes
    it back."""
    house.put("real/MEMORY.md", b"old")
    (house.root / "MEMORY.md").symlink_to("real/MEMORY.md")
    (house.root / "tasks").symlink_to("real")
    house.workspace().write([Patch(str(house.root / "MEMORY.md"), "old", "new")], "add")
    house.workspace().write([Patch(str(house.root / "tasks/a.md"), None, "a")], "add")
    assert (house.root / "real/MEMORY.md").read_bytes() == b"new"
    assert (house.root / "real/a.md").read_bytes() == b"a"
    assert (house.root / "MEMORY.md").is_symlink()
    house.workspace().undo()
    house.workspace().undo()
    assert (house.root / "real/MEMORY.md").read_bytes() == b"old"
    assert not (house.root / "real/a.md").exists()


def test_no_link_is_written_through(house, tmp_path_factory):
    """Neither one that leads outside or into git's folder, nor one to itself, nor one
    that is no markdown."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "MEMORY.md").write_bytes(b"theirs")
    house.put("real/MEMORY.md", b"old")
    goals = {
        "MEMORY.md": f"{outside}/MEMORY.md",
        "tasks": str(outside),
        "folder": "real",
    }
    goals |= {
        "inside.txt": "real/MEMORY.md",
        "git.md": ".git/none.md",
        "loop.md": "loop.md",
    }
    for name, goal in goals.items():
        (house.root / name).symlink_to(goal)
    for name in (
        "MEMORY.md",
        "tasks/new.md",
        "inside.txt",
        "folder/x.txt",
        "git.md",
        "loop.md",
    ):
        refused(house, [Patch(str(house.root / name), None, "mine")], "is a link")
    assert (house.root / "real/MEMORY.md").read_bytes() == b"old"
    assert [path.name for path in outside.iterdir()] == ["MEMORY.md"]
    assert (outside / "MEMORY.md").read_bytes() == b"theirs"


def test_a_busy_lock_names_its_holder_and_ends_with_it(house):
    house.put("a.md", b"a")

    def keep():
        with house.workspace().hold("compact"):
            (house.folder / "held").touch()
            time.sleep(60)

    pid = spawn(keep)
    wait_for(house.folder / "held")
    start = time.monotonic()
    with pytest.raises(
        RefusedError, match=f"busy: pid {pid}, mem compact, since 2026-03-01T12:00"
    ) as caught:
        house.write("a.md", "A", wait=0.2)
    assert time.monotonic() - start >= 0.2
    assert "run it again" in caught.value.hint
    os.kill(pid, signal.SIGKILL)
    assert outcome(pid) == -signal.SIGKILL
    house.write("a.md", "A", wait=0)
    assert house.listing() == {"a.md": b"A"}


def append(house, line):
    """As a command that plans anew when another one was quicker."""
    while True:
        patch = house.patch("MEMORY.md", None)
        try:
            house.workspace().write(
                [patch._replace(after=(patch.before or "") + line)], "add", wait=30
            )
            return
        except StaleError:
            continue


def test_twenty_processes_append_and_every_line_is_there(house):
    house.put("MEMORY.md", b"")
    lines = [[f"{writer}.{number}\n" for number in range(3)] for writer in range(20)]
    pids = [
        spawn(
            lambda lines_of_one=lines_of_one: [
                append(house, line) for line in lines_of_one
            ]
        )
        for lines_of_one in lines
    ]
    assert [outcome(pid) for pid in pids] == [0] * 20
    assert sorted(
        (house.root / "MEMORY.md").read_text().splitlines(keepends=True)
    ) == sorted(line for lines_of_one in lines for line in lines_of_one)
    assert list(house.listing()) == ["MEMORY.md"]


def kill_points(house, work):
    """Every step of `work` with its count, as they come when nothing goes wrong."""
    seen = []
    work(house.workspace(seen.append))
    return [(step, seen[: index + 1].count(step)) for index, step in enumerate(seen)]


def six_files(folder):
    folder.mkdir()
    house = House(folder)
    furnish(house)
    return house, leaving(house)


def crash(house, patches, rename):
    """Killed after the commit, before the given rename."""
    workspace = house.workspace(at("rename", rename, die))
    assert (
        outcome(spawn(lambda: workspace.write(patches, "compact"))) == -signal.SIGKILL
    )


@pytest.mark.parametrize("undoing", [False, True])
def test_killed_at_each_step_it_is_all_old_before_the_commit_and_all_new_after(
    ram, undoing
):
    """Of a write, and of an undo."""

    def work(workspace):
        workspace.undo() if undoing else workspace.write(patches, "compact")

    def furnished(name):
        house, patches = six_files(ram / name)
        if undoing:
            house.workspace().write(patches, "compact")
        return house, patches

    model, patches = furnished("model")
    points = kill_points(model, work)
    assert undoing or len(points) == 27
    for number, (step, nth) in enumerate(points):
        house, patches = furnished(str(number))
        workspace = house.workspace(at(step, nth, die))
        assert outcome(spawn(partial(work, workspace))) == -signal.SIGKILL
        assert_each_whole(patches)
        report = house.workspace().recover()
        is_done = number > points.index(("commit", 1))
        assert assert_settled(house, patches) == (is_done != undoing), (step, nth)
        assert not any("kept" in line for line in report)
        assert house.workspace().recover() == []
        if undoing:
            assert (house.workspace().last_write() is None) == is_done


def test_a_recovery_that_is_killed_is_recovered_in_turn(ram):
    for nth in range(1, 4):
        house, patches = six_files(ram / str(nth))
        crash(house, patches, 3)
        recovering = house.workspace(at("rename", nth, die))
        assert outcome(spawn(recovering.recover)) == -signal.SIGKILL
        assert_each_whole(patches)
        house.workspace().recover()
        assert assert_settled(house, patches)


def test_the_next_write_finishes_first_even_one_of_another_root(ram):
    house, patches = six_files(ram / "one")
    (house.root / "other").mkdir()
    crash(house, patches, 3)
    other = house.workspace(root=house.root / "other")
    report = other.write([house.patch("other/MEMORY.md", "o")], "add")
    told = [f"finished an interrupted write of {patch.path}" for patch in patches]
    assert sorted(report) == sorted(told)
    assert on_disk(patches) == texts(patches)[1]
    assert other.undo() == [str(house.root / "other/MEMORY.md")]
    assert sorted(house.workspace().undo()) == sorted(patch.path for patch in patches)


def test_the_new_texts_need_no_temporary_file_to_survive(ram):
    """`git clean -fdx` after the crash takes the files beside the targets, and
    directories just made."""
    house, patches = six_files(ram / "one")
    patches.append(Patch(str(house.root / "new/deep/MEMORY.md"), None, "new"))
    crash(house, patches, 1)
    for path in house.root.rglob(".*.mem-tmp-*"):
        path.unlink()
    (house.root / "new/deep").rmdir()
    (house.root / "new").rmdir()
    house.workspace().recover()
    assert assert_settled(house, patches)


def test_files_edited_after_the_crash_are_left_and_their_text_is_kept(ram):
    house, patches = six_files(ram / "one")
    crash(house, patches, 1)
    edited = house.put("tasks/c.md", b"edited")
    ((name, copy),) = kept(house.workspace().recover())
    assert name == str(edited)
    assert Path(copy).read_text() == texts(patches)[1][str(edited)]
    assert stat.S_IMODE(Path(copy).stat().st_mode) == 0o600
    assert edited.read_bytes() == b"edited"
    rest = [patch for patch in patches if patch.path != str(edited)]
    assert on_disk(rest) == texts(rest)[1]
    assert not list(house.root.rglob(".*")) + house.pending()


def test_a_source_waits_for_an_archive_that_could_not_be_written(ram):
    house, patches = six_files(ram / "one")
    crash(house, patches, 1)
    archive = house.put("MEMORY.archive.md", b"edited")
    found = {name for name, _ in kept(house.workspace().recover())}
    assert found == {str(archive), str(house.root / "MEMORY.md")}
    for name, side in (("MEMORY.md", 0), ("tasks/c.md", 1)):
        path = str(house.root / name)
        assert Path(path).read_text() == texts(patches)[side][path]


def test_a_text_set_aside_is_told_even_when_the_write_then_fails(ram):
    house, patches = six_files(ram / "one")
    crash(house, patches, 1)
    house.put("tasks/c.md", b"edited")
    with pytest.raises(StaleError) as caught:
        house.workspace().write(patches, "compact")
    assert "tasks/c.md is kept in" in caught.value.hint


@pytest.mark.parametrize("planted", [b"", b"[" * 100_000])
def test_a_journal_eaten_by_the_disk_is_moved_aside(house, planted):
    """Or one that somebody planted."""
    house.put("a.md", b"a")
    crash(house, [house.patch("a.md", "A")], 1)
    (journal,) = house.pending()
    journal.write_bytes(planted or journal.read_bytes()[:50])
    house.write("a.md", "B")
    assert house.listing() == {"a.md": b"B"}
    assert len(list((house.state / "aside").iterdir())) == 1


def stuck(times):
    """The first renames fail: one of going on, one of going back."""
    left = times

    def trace(name):
        nonlocal left
        left -= name == "rename"
        if name == "rename" and left >= 0:
            full()

    return trace


def test_a_recovery_that_can_go_nowhere_stops_its_own_root_but_no_other(ram):
    house, patches = six_files(ram / "one")
    (house.root / "other").mkdir()
    crash(house, patches, 3)
    house.put("tasks/c.md", b"edited")
    with pytest.raises(RefusedError, match="No space left"):
        house.workspace(stuck(times=2)).recover()
    assert list(house.root.rglob(".*")) == []
    assert (len(house.pending()), list((house.state / "aside").iterdir())) == (1, [])
    house.workspace(stuck(times=2), root=house.root / "other").write(
        [house.patch("other/a.md", "a")], "add"
    )
    assert (house.root / "other/a.md").read_bytes() == b"a"
    assert len(house.pending()) == 1
    assert [Path(name).name for name, _ in kept(house.workspace().recover())] == [
        "c.md"
    ]
    assert house.pending() == []


def test_a_journal_of_a_root_that_is_not_mounted_waits_for_it(ram):
    house, patches = six_files(ram / "one")
    other = ram / "other"
    other.mkdir()
    crash(house, patches, 3)
    house.root.rename(ram / "away")
    Workspace(other, house.state, NOW, allowed=[other]).write(
        [Patch(str(other / "a.md"), None, "a")], "add"
    )
    (ram / "away").rename(house.root)
    house.workspace().recover()
    assert assert_settled(house, patches)


def test_files_of_living_writers_are_not_swept(house):
    house.put("a.md", b"a")
    dead = spawn(lambda: None)
    outcome(dead)
    living = house.put(f".a.md.mem-tmp-{os.getppid()}-00", b"")
    foreign = [
        house.put(name, b"") for name in (".a.md.mem-tmp-x", "a.mem-tmp-1-0", ".b.swp")
    ]
    house.put(f".a.md.mem-tmp-{dead}-00", b"")
    house.write("a.md", "A")
    assert set(house.root.iterdir()) == {house.root / "a.md", living, *foreign}


@pytest.mark.parametrize("act", [full, interrupt])
def test_an_error_at_any_step_leaves_everything_as_it_was(ram, act):
    model, patches = six_files(ram / "model")
    points = kill_points(model, lambda workspace: workspace.write(patches, "compact"))
    for number, (step, nth) in enumerate(points[1:-2]):
        house, patches = six_files(ram / str(number))
        before = house.listing()
        with pytest.raises((RefusedError, KeyboardInterrupt)) as caught:
            house.workspace(at(step, nth, act)).write(patches, "compact")
        assert house.listing() == before, (step, nth)
        assert house.pending() == house.undo_records() == []
        if isinstance(caught.value, RefusedError):
            assert "No space left on device" in caught.value.what
            assert (
                caught.value.hint == "nothing was changed; free some space on that disk"
            )
        house.workspace().write(patches, "compact")
        assert assert_settled(house, patches)


def test_an_editor_that_saves_during_the_write_wins_and_nothing_else_changes(ram):
    house, patches = six_files(ram / "one")
    trace = at(
        "rename", 3, lambda: (house.root / "tasks/c.md").write_bytes(b"edited") and None
    )
    with pytest.raises(StaleError, match=r"tasks/c\.md: changed"):
        house.workspace(trace).write(patches, "compact")
    rest = [patch for patch in patches if not patch.path.endswith("tasks/c.md")]
    assert on_disk(rest) == texts(rest)[0]
    assert (house.root / "tasks/c.md").read_bytes() == b"edited"
    assert not list(house.root.rglob(".*")) + house.pending()


def test_as_many_writes_can_be_undone_as_there_are_records(house):
    """Older ones are forgotten."""
    for number in range(UNDO_RECORDS + 2):
        house.write("a.md", f"{number}\n")
    assert len(house.undo_records()) == UNDO_RECORDS


def test_undo_removes_files_and_directories_that_the_write_made(house):
    house.put("keep/x.md", b"x")
    before = house.listing()
    house.workspace().write(
        [house.patch("new/deep/a.md", "a"), house.patch("keep/x.md", "y")], "extract"
    )
    house.workspace().undo()
    assert house.listing() == before


def test_undo_is_refused_when_one_file_changed_since_and_names_it(house):
    house.put("a.md", b"a")
    house.workspace().write(
        [house.patch("a.md", "A"), house.patch("b.md", "B")], "reinforce"
    )
    house.put("b.md", b"edited")
    with pytest.raises(
        RefusedError, match=r"b\.md: not as mem reinforce of 2026-03-01T12:00"
    ):
        house.workspace().undo()
    assert house.listing() == {"a.md": b"A", "b.md": b"edited"}
    house.put("b.md", b"B")
    house.workspace().undo()
    assert house.listing() == {"a.md": b"a"}


def test_output_is_written_whole_with_the_usual_permissions(house):
    old = os.umask(0o022)
    try:
        write_output(house.root / "ids.txt", "a\nb\n")
    finally:
        os.umask(old)
    assert house.listing() == {"ids.txt": b"a\nb\n"}
    assert stat.S_IMODE((house.root / "ids.txt").stat().st_mode) == 0o644


def test_output_keeps_permissions_and_refuses_a_link(house):
    house.put("real.txt", b"old").chmod(0o600)
    (house.root / "folder").symlink_to(house.folder)
    with pytest.raises(RefusedError, match="is a link"):
        write_output(house.root / "folder/out.txt", "x", root=house.root)
    write_output(house.root / "real.txt", "new")
    assert (house.root / "real.txt").read_bytes() == b"new"
    assert stat.S_IMODE((house.root / "real.txt").stat().st_mode) == 0o600
    os.mkfifo(house.root / "pipe")
    with pytest.raises(RefusedError, match="not a regular file"):
        write_output(house.root / "pipe", "x", root=house.root)


def test_output_to_a_stream_goes_through_it(house):
    code = "import pathlib, memcli.storage.durable as w; w.write_output(pathlib.Path('/dev/stdout'), 'x')"
    with (house.root / "redirected").open("wb") as file:
        subprocess.run(
            [sys.executable, "-c", code], cwd=PROJECT, stdout=file, check=True
        )
    assert house.listing() == {"redirected": b"x"}
    write_output(Path("/dev/null"), "x")

"""Kill every writing verb at every step and at random instants; nothing may be lost or
left behind.

    python -m tests.drills.crash [--kills 1000] [--files 50] [--seed 1] [--only VERB]...

The tree is built anew before each kill. Half of the kills hit the steps of a write,
each once before any twice (just before the lock, a temporary file, an fsync, the
journal, its rename, the rename of a file, ...), the others random instants of a whole
run, every second one in its later half; at the end of a session its worker dies with
it. After each kill:

- every file is the old or the new one, or that of a write in between, byte for byte
  (one that git was writing is judged as git's newest commit has it);
- every entry there ever was is in a file or in an archive, unless an undo was to take
  it away;
- the same command run again succeeds and ends where an undisturbed one ends;
- then there is no temporary file, no journal, no note of a lock, no text set aside,
  and no undo record with a text of what was forgotten;
- the index, brought up to date, equals one built from nothing."""

import ctypes
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memcli.app import App, Options
from memcli.memory.changes import render_entry
from memcli.memory.parser import parse
from memcli.storage.inbox import Inbox
from memcli.storage.journal import unpacked
from memcli.storage.state import Spool, Spooled, State
from tests.commands.talk import held
from tests.drills import forge
from tests.programs import run

TOPICS = "cart payment search index queue worker cache token deploy schema".split()
SESSIONS = Path(".claude/projects/-world")  # elsewhere a hook reads no transcript
WISH = "No, don't use unittest here. Always use pytest for new tests, never unittest."
RULES = (
    "# Rules\n\n- Always run the linter before a commit.\n- Never log a card number.\n"
)
PROSE = "# Notes of old\n\nThe billing service was split in two.\n\n## Clocks\n\nFreeze the clock in tests.\n"
PATIENCE = 600.0
"""Seconds after which a worker or git hangs: a busy machine makes the drill slow, not
red."""
FLOOR = (
    0.02  # seconds a run is taken to last: what is over sooner is killed at its steps
)


class World:
    """A repository, a home and a state folder, always in one place."""

    def __init__(self, base):
        self.base = base
        self.root = base / "world" / "root"
        self.home = base / "world" / "home"
        self.environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "MEM_HOME": str(self.home),
            "XDG_STATE_HOME": str(base / "world" / "state"),
            "XDG_CACHE_HOME": str(base / "cache"),
            "XDG_CONFIG_HOME": str(base / "world" / "config"),
            "MEM_NOW": "2026-11-21",
            "MEM_EMBEDDER": "none",
            "MEM_DEBUG": "1",
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "GIT_AUTHOR_DATE": "2026-11-20T00:00:00Z",
            "GIT_COMMITTER_DATE": "2026-11-20T00:00:00Z",
        }

    @property
    def said(self):
        return self.base / "said"

    @property
    def proposal(self):
        """Where the id of what waits for a yes is written down."""
        return self.base / "world" / "proposal"

    @property
    def state(self):
        return self.base / "world" / "state" / "mem"

    def mem(self, *arguments, stdin=""):
        return forge.ended(
            forge.start(arguments, self.root, self.environ, self.said, stdin=stdin)
        )

    def git(self, *arguments, check=True, cwd=None):
        command = ["git", *arguments]
        folder = cwd or self.root
        return subprocess.run(
            command,
            env=self.environ,
            capture_output=True,
            text=True,
            cwd=folder,
            check=check,
            timeout=PATIENCE,
        )

    def put(self, name):
        shutil.rmtree(self.base / "world", ignore_errors=True)
        shutil.copytree(self.base / name, self.base / "world", symlinks=True)

    def save(self, name):
        shutil.rmtree(self.base / name, ignore_errors=True)
        shutil.copytree(self.base / "world", self.base / name, symlinks=True)

    def files(self):
        return {
            str(path.relative_to(self.base)): path.read_bytes().decode(
                "utf-8", "surrogateescape"
            )
            for top in (self.root, self.home)
            for path in sorted(top.rglob("*"))
            if path.is_file() and not _is_other(path.relative_to(top))
        }


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def plain(files):
    return {name: _ID.sub("random id", text) for name, text in files.items()}


def _is_other(inner):
    hook = inner.parts[:2] == (".git", "hooks")
    passing = (".memory.db", ".mem-tmp-", ".merge_file_")  # the last are git's own
    return (inner.parts[0] == ".git" and not hook) or any(
        part in inner.name for part in passing
    )


class Verb(NamedTuple):
    """A command line to kill. `prepare` makes the world ready for it.

    `twice`: a second whole run may change something more. `takes`: entries may go.
    `codes`: exit codes when all is well. `own`: the command is git's. `settle`: a
    worker goes on behind it."""

    name: str
    arguments: tuple[str, ...]
    prepare: Callable[[World], object] = lambda world: None
    stdin: Callable[[World], str] = lambda world: ""
    twice: bool = False
    takes: bool = False
    codes: tuple[int, ...] = (0,)
    own: bool = False
    settle: bool = False


def build(root, files):
    for number in range(files - 1):
        topic = TOPICS[number % len(TOPICS)]
        body = f"The {topic} service number {number} keeps its state in memory until the worker writes it down."
        entries = [
            entry_of(f"f{number}-keep", body, importance=0.9),
            entry_of(
                f"f{number}-dup", body.replace("keeps", "always keeps"), importance=0.4
            ),
            entry_of(
                f"f{number}-old",
                f"Retired words about {topic} {number}.",
                status="retired",
            ),
            entry_of(
                f"f{number}-a",
                f"Plain words about {topic} one {number}, no more.",
                phase="planning",
            ),
            entry_of(
                f"f{number}-b",
                f"More {topic} words that stand alone in file {number} of the tree.",
            ),
            entry_of(
                f"f{number}-all",
                "Restart the queue worker after each deployment of the schema.",
            ),
        ]
        folder = root / (".mem/jobs" if number % 3 else "tasks")
        path = (
            folder / f"j{number}" / "MEMORY.md"
            if number % 3
            else folder / f"t{number}.md"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(entries), encoding="utf-8")
    (root / "MEMORY.md").write_text(PROSE, encoding="utf-8")


def entry_of(entry_id, body, **values):
    keys = {
        "id": entry_id,
        "type": "corrective",
        "domain": "task",
        "importance": 0.5,
        "phase": "unknown",
        "status": "active",
        "reinforcement_count": 1,
        "created_at": "2026-10-01",
        **values,
    }
    return render_entry(keys, f"## {entry_id}\n{body}")


def found(world, files):
    shutil.rmtree(world.base / "world", ignore_errors=True)
    world.root.mkdir(parents=True)
    world.home.mkdir()
    build(world.root, files)
    (world.root / "RULES.md").write_text(RULES, encoding="utf-8")
    (world.root / ".gitignore").write_text(".memory.db*\n", encoding="utf-8")
    world.git("init", "-q", "-b", "main", "--template=")
    world.git("add", "-A")
    world.git("commit", "-qm", "All of it")
    world.mem("index", "-q")


def _ended(world):
    said = (
        ("user", "Write a test for the parser."),
        ("assistant", "I wrote one."),
        ("user", WISH),
    )
    path = held(world.home / SESSIONS / "one.jsonl", "s-1", world.root, said)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return str(path)


def _payload(world):
    path = world.home / SESSIONS / "one.jsonl"
    return json.dumps(
        {"session_id": "s-1", "transcript_path": str(path), "cwd": str(world.root)}
    )


def _spool(world):
    path = _ended(world)
    with App(Options(root=str(world.root)), world.environ, world.root) as app:
        history = State(world.state, app.project.key)
        Spool(history).add(
            Spooled(session="s-1", path=path, ended=True, size=os.stat(path).st_size)
        )
        history.close()


def _branches(world):
    assert world.mem("init", "-q") == 0
    world.git("add", "-A")
    world.git("commit", "-qm", "Init")
    world.git("checkout", "-qb", "side")
    assert world.mem("reinforce", "f0-keep", "f1-keep", "f3-keep", "f4-b", "-q") == 0
    assert (
        world.mem("add", "Side: the mail queue drops what is older than a day.", "-q")
        == 0
    )
    world.git("commit", "-qam", "Side")
    world.git("checkout", "-q", "main")
    assert world.mem("reinforce", "f0-keep", "f1-keep", "f3-b", "f4-b", "-q") == 0
    assert world.mem("add", "Main: the search index is built at night.", "-q") == 0
    world.git("commit", "-qam", "Main")
    path = world.root.parent / "state" / "mem" / "undo"
    shutil.rmtree(path, ignore_errors=True)


def _compacted(world):
    assert world.mem("compact", "-q", "--allow-loss") == 0


def _unmarked(world):
    for i in (0, 1, 3):
        name = f".mem/jobs/j{i}/MEMORY.md" if i % 3 else f"tasks/t{i}.md"
        path = world.root / name
        text = path.read_text(encoding="utf-8").replace(f"id: f{i}-b\n", "")
        path.write_text(text, encoding="utf-8")
    (world.root / ".gitignore").unlink()


def _shown(world):
    assert (
        world.mem("recall", "queue worker schema deployment", "--session", "s-1", "-q")
        == 0
    )


def _proposed(world):
    said = (
        ("user", "Please make the checkout page load faster."),
        ("assistant", "I installed a package with npm."),
        ("user", "No, npm is not ours. Use pnpm."),
        ("assistant", "Done, pnpm it is."),
    )
    path = held(world.home / SESSIONS / "two.jsonl", "s-2", world.root, said)
    assert world.mem("extract", "--engine", "rules", "-q", str(path)) == 0
    with App(Options(root=str(world.root)), world.environ, world.root) as app:
        history = State(world.state, app.project.key)
        ids = [row.id for row in Inbox(history).every()]
        history.close()
    assert len(ids) == 1, ids
    world.proposal.write_text(ids[0], encoding="utf-8")


def _exported(world):
    (world.root / "AGENTS.md").write_text(PROSE, encoding="utf-8")
    assert world.mem("export", "agents-md", "--out", "AGENTS.md", "-q") == 0


def _registered(world):
    assert world.mem("init", "--all", "-q") == 0


OLD = tuple(f"f{i}-old" for i in range(8))
KEPT = tuple(f"f{i}-keep" for i in range(8))
LESSON = "Always warm the cache of the search service before a deployment."

VERBS = (
    Verb("add", ("add", LESSON, "-q"), twice=True),
    Verb("reinforce", ("reinforce", *KEPT, "-q"), twice=True),
    Verb("reinforce --session", ("reinforce", "--session", "s-1", "-q"), _shown),
    Verb(
        "compact", ("compact", "--promote", "--stale", "--adopt", "--allow-loss", "-q")
    ),
    Verb("retire", ("retire", *KEPT, "--because", "wrong", "-q")),
    Verb("restore", ("restore", *OLD, "-q"), _compacted),
    Verb("retire-stage", ("retire-stage", "planning", "-q")),
    Verb("undo", ("undo", "-q"), _compacted, takes=True, codes=(0, 1)),
    Verb("extract", ("extract", "--engine", "rules", "-q", "{transcript}"), _ended),
    Verb("import", ("import", "RULES.md", "--from", "agents-md", "-q")),
    Verb("export", ("export", "agents-md", "--out", "AGENTS.md", "-q")),
    Verb("init", ("init", "--all", "-q")),
    Verb("doctor --fix", ("doctor", "--fix", "-q"), _unmarked, codes=(0, 1)),
    Verb(
        "edit", ("edit", "f0-keep", "--title", "Another title", "--body", LESSON, "-q")
    ),
    Verb("guard", ("guard", "f1-keep", "--command", "git push --force*", "-q")),
    Verb("keep", ("keep", "{proposal}", "-q"), _proposed, codes=(0, 2)),
    Verb("forget", ("forget", *KEPT, "-q"), takes=True, codes=(0, 2)),
    Verb(
        "export --remove", ("export", "--remove", "--out", "AGENTS.md", "-q"), _exported
    ),
    Verb("init --remove", ("init", "--remove", "-q"), _registered),
    Verb("merge-driver", ("merge", "-q", "--no-edit", "side"), _branches, own=True),
    Verb("hook worker", ("hook", "worker", "{root}", "go"), _spool),
    Verb("hook session-end", ("hook", "session-end"), _ended, _payload, settle=True),
)


class Whole(NamedTuple):
    """What an undisturbed run does: all texts it may leave a file with, its ends,
    steps, time.

    `order` is that in which the steps are hit."""

    old: dict[str, str]
    ends: tuple[dict[str, str], ...]
    texts: dict[str, set[str | None]]
    steps: tuple[str, ...]
    order: tuple[int, ...]
    seconds: float


class Drill:
    def __init__(self, base, files, seed):
        self.world = World(base)
        self.dice = random.Random(seed)
        self.failures: list[str] = []
        self.counts: Counter[str] = Counter()
        found(self.world, files)
        self.world.save("tree")

    def run(self, verb, *, at=None, after=0.0):
        if verb.own:
            return self._killed_git(verb, after)
        trace = None if at is None else forge.dies_at(at)
        pid = forge.start(
            self._filled(verb),
            self.world.root,
            self.world.environ,
            self.world.said,
            stdin=verb.stdin(self.world),
            trace=trace,
        )
        if at is None:
            time.sleep(after)
            os.kill(pid, signal.SIGKILL)
        killed = forge.ended(pid) < 0
        return _killed_workers() if verb.settle else killed

    def _killed_git(self, verb, after):
        command = ["git", *verb.arguments]
        child = subprocess.Popen(
            command,
            cwd=self.world.root,
            env=self.world.environ,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(after)
        gone = child.poll() is not None
        if not gone:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return not gone

    def again(self, verb):
        if not verb.own:
            code = self.world.mem(*self._filled(verb), stdin=verb.stdin(self.world))
            if verb.settle and not _quiet_within(PATIENCE):
                self.failures.append(f"{verb.name}: a worker does not end")
                _killed_workers()
            return code
        for lock in (self.world.root / ".git").rglob("*.lock"):
            lock.unlink()
        self.world.git("reset", "-q", "--hard")
        return self.world.git(*verb.arguments, check=False).returncode

    def _filled(self, verb):
        names = {
            "{transcript}": str(self.world.home / SESSIONS / "one.jsonl"),
            "{root}": str(self.world.root),
        }
        if self.world.proposal.exists():
            names["{proposal}"] = self.world.proposal.read_text(encoding="utf-8")
        return tuple(names.get(argument, argument) for argument in verb.arguments)

    # What is expected.

    def learn(self, verb):
        self.world.put("tree")
        verb.prepare(self.world)
        self.world.save(verb.name)
        old = self.world.files()
        states = [old]
        steps = []
        self.world.put(verb.name)
        started = time.perf_counter()
        self._expect(self.again(verb), verb, "undisturbed")
        seconds = max(FLOOR, time.perf_counter() - started)
        ends = [self.world.files()]
        self._expect(self.again(verb), verb, "for the second time")
        ends.append(self.world.files())
        differs = verb.twice or verb.takes
        if ends[0] != ends[1] and not differs:
            self.failures.append(
                f"{verb.name}: a second run changes {_differing(*ends)}"
            )
        if not (verb.own or verb.settle):
            self.world.put(verb.name)
            _, heard = forge.listen(
                self._filled(verb),
                self.world.root,
                self.world.environ,
                self.world.said,
                stdin=verb.stdin(self.world),
                look=self.world.files,
            )
            steps = list(heard.steps)
            states = [*states, *heard.states]
        if ends[0] == old:
            self.failures.append(f"{verb.name}: does nothing in this drill")
        order = self.dice.sample(range(len(steps)), len(steps))
        return Whole(
            old=old,
            ends=tuple(ends if differs else ends[:1]),
            texts=_texts([*states, *ends]),
            steps=tuple(steps),
            order=tuple(order),
            seconds=seconds,
        )

    def _expect(self, code, verb, when):
        if code not in verb.codes:
            said = (
                ""
                if verb.own
                else self.world.said.read_text(encoding="utf-8", errors="replace")
            )
            self.failures.append(f"{verb.name} {when}: exit {code}: {said[-400:]}")

    def kill(self, verb, whole, number):
        self.world.put(verb.name)
        label = f"{verb.name}, kill {number}"
        if whole.steps and number % 2 == 0:
            at = whole.order[number // 2 % len(whole.steps)]
            label += f" before step {at} ({whole.steps[at]})"
            killed = self.run(verb, at=at)
        else:
            first = whole.seconds * 0.5 if number % 4 == 1 else 0
            after = self.dice.uniform(first, whole.seconds * 1.05)
            label += f" after {after * 1000:.0f} ms"
            killed = self.run(verb, after=after)
        now = self.world.files()
        if verb.own:
            now |= self._half_written_by_git(whole, now)
        self._count(whole, now, killed=killed)
        wrong = [*torn(whole, now), *lost(whole.old, now, allowed=_taken(verb, whole))]
        self._expect(self.again(verb), verb, f"again after {label}")
        end = self.world.files()
        if plain(end) not in map(plain, whole.ends):
            differing = _differing(plain(whole.ends[0]), plain(end))
            wrong.append(f"the next run ends elsewhere: {differing}")
        wrong += lost({**whole.old, **now}, end, allowed=_taken(verb, whole))
        wrong += [*litter(self.world), *unlike_a_rebuild(self.world)]
        self.failures += [f"{label}: {what}" for what in wrong]

    def _half_written_by_git(self, whole, now):
        """The files that git itself was writing, as its newest commit has them.

        git takes a file away and writes the new one in its place: killed in between, it
        leaves none or the beginning of the new one, and the old one in its objects."""
        found = {}
        for name, text in whole.old.items():
            left = now.get(name, "")
            if left != text and any(
                end.get(name, "").startswith(left) and end.get(name) != left
                for end in whole.ends
            ):
                inner = (self.world.base / name).relative_to(self.world.root)
                found[name] = self.world.git("show", f"HEAD:{inner}").stdout
        return found

    def _count(self, whole, now, *, killed):
        if not killed:
            self.counts["late"] += 1
        elif now == whole.old:
            self.counts["untouched"] += 1
        else:
            self.counts[
                "finished" if plain(now) in map(plain, whole.ends) else "between"
            ] += 1


def adopt():
    """Make processes whose parent has ended children of this one (Linux)."""
    child_subreaper = 36
    ctypes.CDLL(None).prctl(child_subreaper, 1, 0, 0, 0)


def _quiet_within(seconds):
    """Whether what a command has left behind ends by itself in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not pid:
            time.sleep(0.02)
    return False


def _killed_workers():
    """Kill what a command has left behind; whether anything was still at work."""
    killed = False
    while not _quiet_within(0.0001):
        for pid in _children():
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            killed = killed or os.WIFSIGNALED(status)
    return killed


def _children():
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, values = path.read_text().rpartition(")")
        except OSError:
            continue
        if int(values.split()[1]) == os.getpid():
            yield int(path.parent.name)


def _taken(verb, whole):
    return ids(whole.old) - ids(whole.ends[0]) if verb.takes else set()


def ids(files):
    return {
        entry.id if entry.identified else entry.body.split("\n")[0]
        for name, text in files.items()
        if name.endswith(".md")
        for entry in parse(text, name).entries
    }


def _titles(files):
    names = [name for name in files if name.endswith(".md")]
    return {
        entry.body.split("\n")[0]
        for name in names
        for entry in parse(files[name], name).entries
    }


def torn(whole, now):
    alike = plain(now)
    return [
        f"{name} is neither the old nor the new file"
        for name in sorted(whole.texts.keys() | now.keys())
        if alike.get(name) not in whole.texts.get(name, ())
    ]


def lost(before, now, *, allowed):
    gone = ids(before) - ids(now) - _titles(now) - allowed
    return [f"{entry} is in no file" for entry in sorted(gone)]


def litter(world):
    paths = [*world.base.joinpath("world").rglob("*.mem-tmp-*")]
    paths += [*(world.state / "pending").glob("*"), *(world.state / "aside").glob("*")]
    paths += [
        path
        for path in (world.state / "undo").rglob("*.json")
        if unpacked(path).verb == "forget" and unpacked(path).steps
    ]
    lock = world.state / "write.lock"
    paths += [lock] if lock.exists() and lock.stat().st_size else []
    return [f"left {path.relative_to(world.base)}" for path in paths]


def unlike_a_rebuild(world):
    fresh = world.base / "fresh.db"
    for path in world.base.glob("fresh.db*"):
        path.unlink()
    code = world.mem("index", "-q")
    other = world.environ | {"MEM_DB": str(fresh)}
    code += forge.ended(forge.start(("index", "-q"), world.root, other, world.said))
    if code:
        return [
            f"mem index: exit {code}: {world.said.read_text(encoding='utf-8')[-300:]}"
        ]
    names = ("files", "chunks", "relations")
    pairs = zip(names, rows(world.root / ".memory.db"), rows(fresh), strict=True)
    return [
        f"the index is not what a rebuild gives: {name}: {len(set(own) ^ set(other))} rows of {len(other)}"
        for name, own, other in pairs
        if own != other
    ]


ROWS = (
    "SELECT path, place, size, hash, entries, problems FROM file_meta ORDER BY path",
    "SELECT f.path, c.entry, c.part, c.offset, c.line, c.live, c.type, c.kind, c.date, c.title, c.text,"
    " c.tags, c.parts, c.metadata FROM chunks c JOIN file_meta f ON f.id = c.source"
    " ORDER BY 1, 4, 3",
    "SELECT r.entry, r.other, r.relation, r.weight, f.path FROM relations r"
    " JOIN file_meta f ON f.id = r.source ORDER BY 1, 2, 3, 5",
)


def rows(path):
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute(
            "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 1)"
        )
        return [db.execute(statement).fetchall() for statement in ROWS]
    finally:
        db.close()


def memory():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main(
    kills: int = 1000, files: int = 50, seed: int = 1, only: list[str] = ()
) -> int:
    forge.load()
    adopt()
    with tempfile.TemporaryDirectory(prefix="mem-drill-", dir=memory()) as folder:
        run = Drill(Path(folder), files, seed)
        verbs = [verb for verb in VERBS if not only or verb.name in only]
        wholes = [run.learn(verb) for verb in verbs]
        for number in range(kills):
            at = number % len(verbs)
            run.kill(verbs[at], wholes[at], number // len(verbs))
    counts = run.counts
    print(
        f"{kills} kills of {len(verbs)} verbs over {files} files:"
        f" {counts['untouched']} before anything was written, {counts['between']} in between,"
        f" {counts['finished']} when all was written, {counts['late']} after the end;"
        f" {len(run.failures)} failures"
    )
    for failure in run.failures[:40]:
        print(failure)
    return 1 if run.failures else 0


def _texts(states):
    """All texts that the states have of each file."""
    names = {name for state in states for name in state}
    alike = [plain(state) for state in states]
    return {name: {state.get(name) for state in alike} for name in names}


def _differing(one, other):
    names = one.keys() | other.keys()
    return ", ".join(sorted(name for name in names if one.get(name) != other.get(name)))


if __name__ == "__main__":
    run(main)

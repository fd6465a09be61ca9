"""Break the package in one place after the other, and see that the tests notice.

    python -m tests.drills.mutations [--only WORD]... [--list]

Each row of `TABLE` is one mistake that somebody could make: a lock that is shared, a check that is
skipped, a comparison off by one. The package and its tests are copied to a temporary folder; there,
for each row, the old text is replaced by the new one, and the tests of that row run. One must fail
that passes without the mistake: "caught", by the test that is named. Where none does the mistake
"survived", and a test is missing. Tests that fail anyway (timed ones, on a busy machine) are named
and left out.

Exit status 1 when one survives, when its text is no longer there exactly once, or when the tests do
not run with it (then it proves nothing).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.pyc")
LONGEST = 600
"""Seconds after which tests are taken to hang, which is noticed, too."""
PASSED, FAILED, NONE = 0, 1, 5
"""Exit codes of pytest, the last for no test at all; any other one means that the tests did not
run.
"""


class Mutation(NamedTuple):
    """`old` stands once in `file` (below the package) and becomes `new`; `tests` are below
    `tests/`.
    """

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def row(what: str, file: str, old: str, new: str, *tests: str) -> Mutation:
    """A mutation, in the order in which it is read."""
    return Mutation(what, file, old, new, tests)


TABLE = (
    # --- writing
    row(
        "the lock is shared", "workspace.py",
        "fcntl.flock(lock, fcntl.LOCK_EX |", "fcntl.flock(lock, fcntl.LOCK_SH |", "test_workspace.py",
    ),
    row(
        "a file that changed meanwhile is overwritten", "workspace.py",
        "same = _read(step.path) == step.before", "same = True", "test_workspace.py",
    ),
    row(
        "undo overwrites what changed since", "workspace.py",
        'if _found(step) != "before":', 'if _found(step) == "never":', "test_workspace.py",
    ),
    row(
        "a text is renamed into place before it is on disk", "workspace.py",
        '        trace("fsync")\n        os.fsync(file.fileno())\n', '        trace("fsync")\n',
        "test_durable.py",
    ),
    row(
        "a rename is not made to last", "workspace.py",
        "                _sync(_folders(done))", "                pass",
        "test_durable.py",
    ),
    row(
        "the journal is not made to last", "workspace.py",
        "                _sync([path.parent])", "                pass",
        "test_durable.py",
    ),
    row(
        "sources are renamed before their archives", "workspace.py",
        "key=lambda step: not _is_archive(step.path)", "key=lambda step: _is_archive(step.path)",
        "test_workspace.py",
    ),
    row(
        "permissions are lost", "workspace.py",
        "    path.chmod(stat.S_IMODE(model.st_mode))\n", "", "test_workspace.py",
    ),
    row(
        "one undo record too many", "workspace.py",
        "rank >= UNDO_RECORDS", "rank > UNDO_RECORDS", "test_workspace.py",
    ),
    row(
        "the journal of a killed writer is passed over", "workspace.py",
        'todo = [step for step in record.steps if step not in edited and _found(step) == "before"]',
        "todo: list[Step] = []", "test_workspace.py",
    ),
    row(
        "a plan is not read back", "memory_file.py",
        "if wanted != got or _prose(before) != _prose(after):", "if wanted != got and False:",
        "test_memory_file.py",
    ),
    row(
        "a rule in a body opens an entry", "memory_file.py",
        '            line = "***" if not fence else " ---"\n', "            pass\n", "test_memory_file.py",
    ),
    row(
        "overlapping edits are applied", "patch.py",
        "if not at <= edit.start <= edit.end <= len(text):", "if not edit.start <= edit.end <= len(text):",
        "test_patch.py",
    ),
    # --- reading
    row(
        "YAML aliases are read", "front_matter.py",
        'if name == "AliasEvent":', 'if name == "NoEvent":', "test_front_matter.py",
    ),
    row(
        "front matter may nest one level deeper", "front_matter.py",
        "if depth > MAX_DEPTH:", "if depth > MAX_DEPTH + 1:", "test_front_matter.py",
    ),
    row(
        "links that leave the root are followed", "tree.py",
        'if real == base or real.startswith(base.rstrip("/") + "/"):',
        'if real == base or real.startswith("/"):', "test_tree.py",
    ),
    row(
        "a file that is still changing is trusted", "tree.py",
        "return Bytes(data, 0 if fresh else status.st_mtime_ns, len(data))",
        "return Bytes(data, status.st_mtime_ns, len(data))", "test_tree.py", "test_store.py",
    ),
    row(
        "the project's configuration may choose a provider", "config.py",
        '"what makes vectors of texts; auto is local when its extra is installed, else none",\n'
        "        project=False,",
        '"what makes vectors of texts; auto is local when its extra is installed, else none",\n'
        "        project=True,",
        "test_config.py", "attacks/test_poisoned_repository.py",
    ),
    # --- merging
    row(
        "of two counts the greater one wins", "merge.py",
        "return max(0, ours + theirs - base)", "return max(ours, theirs)", "test_merge.py",
    ),
    row(
        "of two dates the earlier one wins", "merge.py",
        "return max(ours, theirs, key=_date_rank)", "return min(ours, theirs, key=_date_rank)",
        "test_merge.py",
    ),
    row(
        "what one side retired is compacted again", "merge.py",
        'STATUS_RANK = {"retired": 2, "compacted": 1}', 'STATUS_RANK = {"retired": 1, "compacted": 2}',
        "test_merge.py",
    ),
    row(
        "the shorter of two bodies is lost", "merge.py",
        "        versions = [_other_version(second)]", "        versions = []", "test_merge.py",
    ),
    # --- ranking
    row(
        "memory grows stronger with age", "prominence.py",
        "0.5 ** (age / half_life)", "0.5 ** (-age / half_life)", "test_prominence.py",
    ),
    row(
        "policies fade", "prominence.py",
        'UNFADING: Final = frozenset({"policy", "architecture"})', "UNFADING: Final = frozenset()",
        "test_prominence.py",
    ),
    row(
        "an entry of tomorrow has a negative age", "prominence.py",
        "return max(0, now.toordinal() - then.toordinal())", "return now.toordinal() - then.toordinal()",
        "test_prominence.py",
    ),
    row(
        "prominence has no weight", "rank.py",
        "p.value**weights.exponent", "p.value**0", "test_rank.py",
    ),
    row(
        "what is lent outranks what matches", "rank.py",
        "return (not hit.own, -round(hit.score, 12), hit.item.place)",
        "return (-round(hit.score, 12), hit.item.place)", "test_rank_order.py",
    ),
    row(
        "near-duplicates are all shown", "rank.py",
        "    return alike(hit.item.text, other.item.text)\n", "    return False\n", "test_rank.py",
    ),
    row(
        "diversity prefers the same again", "rank.py",
        "best - (1 - weight) * nearest", "best + (1 - weight) * nearest", "test_rank.py",
    ),
    row(
        "the parts of a long entry do not overlap", "chunk.py",
        "SIZE - OVERLAP)):", "SIZE)):", "test_chunk.py",
    ),
    row(
        "a weak neighbour lends as much as a strong one", "blend.py",
        "added = one * one + FARTHER * two * two", "added = one + FARTHER * two", "test_blend.py",
    ),
    row(
        "a floor is no floor: the answer exceeds its budget", "block.py",
        "free = max(0, limit - FRAME) if limit", "free = max(0, limit) if limit", "test_block.py",
    ),
    # --- what must not get out, or in
    row(
        "a text may close the fence of the block", "redact.py",
        "return fence_safe(_neutralise_once(", "return (_neutralise_once(", "test_redact.py",
    ),
    row(
        "what is said may drive the terminal", "talk.py",
        "fold_text(for_display(text), columns", "fold_text(text, columns",
        "attacks/test_printed_fields.py",
    ),
    row(
        "a model may bring a credential into memory", "guard.py",
        "if redact.secrets(seen):", "if False:", "test_guard.py",
    ),
    row(
        "a private part is sent to a model", "llm/guard.py",
        "redact.redact_secrets(redact.strip_private(text))", "redact.redact_secrets(text)",
        "llm/test_anthropic.py", "llm/test_scripted.py",
    ),
    row(
        "calls at the same time spend the same money", "llm/guard.py",
        "while key := self._exceeded(amount + self._held):", "while key := self._exceeded(amount):",
        "llm/test_anthropic.py", "llm/test_scripted.py",
    ),
    row(
        "the budget of a day is not looked at", "llm/guard.py",
        'self._limits = {"max_cost": run, "max_cost_day": day}', 'self._limits = {"max_cost": run}',
        "llm/test_anthropic.py", "llm/test_project.py",
    ),
    row(
        "mem add writes a secret", "commands/add.py",
        "        for secret in redact.secrets(part):\n", "        for secret in redact.secrets(''):\n",
        "commands/test_add.py",
    ),
    row(
        "git starts what a repository's settings name", "git.py",
        '["git", "-c", "core.fsmonitor=false", *arguments]', '["git", *arguments]',
        "test_git.py", "attacks/test_poisoned_repository.py",
    ),
    # --- the index and the state
    row(
        "a file of the same time and another size is not read again", "store.py",
        "or row[1] != file.size", "or False", "test_fresh.py",
    ),
    row(
        "an index with a trigger is used", "store.py",
        "            if tables & FOREIGN:\n", "            if False:\n",
        "test_store.py", "attacks/test_poisoned_repository.py",
    ),
    row(
        "of very many matches the worst are scored", "store.py",
        "if count > last]", "if count < last]", "test_many_matches.py",
    ),
    row(
        "of very many matches those are scored that a filter takes away", "store.py",
        "        if allowed is not None or denied:\n", "        if False:\n", "test_many_matches.py",
    ),
    row(
        "what left a file stays in the full-text table", "store.py",
        "    def _delete_chunks(self, where: str, values: tuple[Any, ...]) -> None:\n",
        "    def _delete_chunks(self, where: str, values: tuple[Any, ...]) -> None:\n"
        '        self.db.execute(f"DELETE FROM chunks WHERE {where}", values)\n'
        "        return\n",
        "test_fresh.py",
    ),
    row(
        "a session reinforces the same again and again", "commands/reinforce.py",
        "if entry_id in self.done:", "if entry_id in ():", "commands/test_reinforce.py",
    ),
    row(
        "what a session did use is a hair less than 30 %", "commands/reinforce.py",
        "len(words & said) >= USED * len(words)", "len(words & said) > USED * len(words)",
        "commands/test_reinforce_used.py",
    ),
    row(
        "a failed note leaves half of it", "transaction.py",
        '        db.execute("ROLLBACK")\n        raise', '        db.execute("COMMIT")\n        raise',
        "test_history_whole.py",
    ),
    row(
        "what a killed run has counted is counted again", "commands/reinforce.py",
        "        return {*self.history.reinforced(self.session), *chain.from_iterable(noted)}",
        "        return {*self.history.reinforced(self.session)}", "commands/test_reinforce.py",
    ),
    row(
        "edges are planned from several moments", "transaction.py",
        '    db.execute("BEGIN")\n', '    db.execute("SELECT 1")\n', "test_transaction.py",
    ),
    # --- deciding what stays
    row(
        "an entry is stale after 90 days, not when older", "compaction.py",
        "age > STALE_DAYS and", "age >= STALE_DAYS and",
        "test_compaction.py",
    ),
    row(
        "a quarter of a file may not leave", "compaction.py",
        "len(lost) <= LOSS_SHARE * live", "len(lost) < LOSS_SHARE * live",
        "test_compaction.py",
    ),
    row(
        "what recurs twice is promoted", "compaction.py",
        "return len(jobs) >= RECURS or", "return len(jobs) >= RECURS - 1 or",
        "test_compaction.py",
    ),
    row(
        "a stage retires what holds for the whole team", "commands/retire_stage.py",
        'entry.domain == "task" and ', "", "commands/test_retire_stage.py",
    ),
    row(
        "what a person threw out is learned again", "placement.py",
        "self._rank(same) == 2:", "self._rank(same) == 5:",
        "test_placement.py",
    ),
    row(
        "a session is learned from twice", "placement.py",
        "        if draft.id in self.ids:\n", "        if draft.id in ():\n", "test_placement.py",
    ),
    # --- how a command ends
    row(
        "a refusal ends like findings", "errors.py",
        "    code = 5\n", "    code = 1\n", "test_errors.py", "test_cli.py",
    ),
    row(
        "a hook fails its agent", "hook.py",
        "    except BaseException as error:  # an interrupt, too",
        "    except KeyError as error:  # an interrupt, too", "commands/test_hook.py",
    ),
)  # fmt: skip


def copied(source: Path, to: Path) -> Path:
    """A copy of what tests need of a checkout, without anything that was compiled."""
    shutil.copytree(source, to, ignore=LEFT_OUT, symlinks=True)
    return to


def ran(house: Path, tests: Sequence[str], *options: str) -> tuple[int, str]:
    """The exit code of pytest over these tests, and what it said; a hang is a failure."""
    environ = {**os.environ, "PYTHONPATH": str(house), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--no-header",
        "--tb=no",
        "-rfE",
        "-p",
        "no:cacheprovider",
    ]
    try:
        done = subprocess.run(
            [*command, *options, *(f"tests/{test}" for test in tests)],
            cwd=house, env=environ, capture_output=True, text=True, timeout=LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return FAILED, f"no end after {LONGEST} s"
    return done.returncode, done.stdout + done.stderr


def put(house: Path, file: str, text: str) -> None:
    """Write a module of the copy; what was compiled of it goes, as times are too coarse to tell it
    is old.
    """
    path = house / "memcli" / file
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def first_failed(said: str) -> str:
    """The test function that pytest names first as failed, "" when it names none."""
    found = re.search(r"^(?:FAILED|ERROR) tests/([^\[\s]+)", said, re.MULTILINE)
    return found[1] if found else ""


def outcome(house: Path, mutation: Mutation, left_out: set[str]) -> tuple[str, str]:
    """What became of a mutation ("caught", "survived", "void"), and by which test or why.

    The copy is as before afterwards; tests that fail without the mistake are added to `left_out`.
    """
    text = (house / "memcli" / mutation.file).read_text(encoding="utf-8")
    count = text.count(mutation.old)
    if count != 1:
        return "void", f"its text stands there {count} times"
    while True:
        put(house, mutation.file, text.replace(mutation.old, mutation.new))
        try:
            code, said = ran(
                house, mutation.tests, "-x", *(f"--deselect=tests/{name}" for name in left_out)
            )
        finally:
            put(house, mutation.file, text)
        if code != FAILED:
            return (
                ("survived", "")
                if code in (PASSED, NONE)
                else ("void", f"the tests do not run ({code})")
            )
        name = first_failed(said)
        if not name or ran(house, [name])[0] == PASSED:
            return "caught", name or said.strip().splitlines()[-1]
        print(f"left out, it fails without a mistake, too: {name}", flush=True)
        left_out.add(name)


def main(
    table: Sequence[Mutation] = TABLE, source: Path = HERE, arguments: Sequence[str] | None = None
) -> int:
    """Run the drill; its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", default=[], help="rows whose words or file have this"
    )
    parser.add_argument("--list", action="store_true", help="name the rows, run nothing")
    given = parser.parse_args(arguments)
    chosen = [
        m for m in table if not given.only or any(w in m.file or w in m.what for w in given.only)
    ]
    if given.list:
        for mutation in chosen:
            print(f"{mutation.file}: {mutation.what}")
        return 0
    with tempfile.TemporaryDirectory(prefix="mem-mutations-") as folder:
        house = copied(source, Path(folder) / "house")
        left_out: set[str] = set()
        counts = {"caught": 0, "survived": 0, "void": 0}
        for mutation in chosen:
            what, why = outcome(house, mutation, left_out)
            counts[what] += 1
            print(f"{what:8} {mutation.file}: {mutation.what} ({why})", flush=True)
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    return 1 if counts["survived"] or counts["void"] else 0


if __name__ == "__main__":
    sys.exit(main())

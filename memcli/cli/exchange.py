"""Exchange with your other machines, with other tools, and with the target branch of a
change."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.cli import boundary
from memcli.cli.options import argument, command, flag, option, say_changes, wrote
from memcli.cli.pager import put_paged
from memcli.errors import DataError, UsageError, one_of
from memcli.memory.values import Patch, Problem
from memcli.memory.words import count
from memcli.views import exchange as view
from memcli.views import json
from memcli.views.text import (
    count_problems,
    name_problems,
    put,
    put_diff,
    safe,
    say,
)

if TYPE_CHECKING:
    from memcli.commands.export import ExportReport


@command("diff")
def diff(
    mem: App,
    revisions: str = argument(
        "[BASE..HEAD]", "Default: from where this branch began to the files.", ""
    ),
    format: str = option("FORMAT", "text, markdown or json.", default="text"),
    check: bool = flag("--check", "Exit 1 when something changes."),
) -> int:
    """Show what a branch adds to memory and removes from it."""
    from memcli.exchange.branch_diff import diff

    forms = {"text": view.diff_text, "markdown": view.diff_markdown, "json": json.of}
    one_of("--format", format, tuple(forms))
    report = diff(mem, revisions)
    code = name_problems(report.problems)
    if mem.options.json or format == "json":
        put(json.of(report))
    else:
        put_paged(safe(forms[format](report)))
    if check and not report.empty:
        return code or 1
    return code


@command("sync", dry=True)
def sync_(
    mem: App,
    git: bool = flag("--git", "Set up: make your own memory a git repository."),
    url: str = argument("[URL]", "With --git: the remote your other machines use.", ""),
    remove: bool = flag("--remove", "Move that repository aside."),
    allow_loss: bool = flag(
        "--allow-loss", "Allow over 25 % of a file, and over one entry, to go."
    ),
) -> None:
    """Sync your own memory with your other machines.

    Covers ~/MEMORY.md and ~/institutional.md; run mem sync --git first. Commits,
    fetches, merges by entry, and pushes; refuses secrets. With sync = "session" in the
    user's file it runs after every session."""
    from memcli.commands.sync import HomeRepository

    repository = HomeRepository(mem.project, mem.workspace)
    if url and not git:
        raise UsageError(f"{url}: unexpected argument", "mem sync --git URL")
    if git or remove:
        changes = repository.set_up(url, remove=remove, dry_run=mem.dry_run)
        say_changes(mem, changes, remove=remove)
        return
    report = repository.sync(
        dry_run=mem.dry_run, allow_loss=allow_loss, taken_back=mem.taken_back()
    )
    sending = view.leaving_text(report) if not mem.options.json else ""
    put(sending)
    if report.patches or not sending:
        wrote(mem, report, view.sync_text, view.sync_keys)


@command("import", dry=True)
def import_(
    mem: App,
    paths: list[str] = argument("PATH...", "Files or folders to read."),
    form: str = option("FORMAT", "claude or agents-md; detected by default.", "--from"),
    level: str = option("LEVEL", "project, job, task or global.", default="project"),
    again: bool = flag("--again", "Also import what was retired before."),
) -> int:
    """Import from the memories of other tools.

    Reads Claude Code's auto memory, CLAUDE.md and similar files, and never changes
    them. What memory knows already is not added, so a second run adds nothing."""
    from memcli.commands.import_ import ImportRequest, run

    request = ImportRequest(paths=tuple(paths), form=form, level=level, again=again)
    report = run(mem, request)
    name_problems(report.skipped, hint="")
    wrote(mem, report, view.import_text, view.import_keys)
    if mem.dry_run and not mem.options.json:
        say(view.import_text(report), quiet=mem.options.quiet)
    left_out = report.refused or report.injected or report.skipped
    return DataError.code if left_out else 0


@command("export", dry=True)
def export(
    mem: App,
    target: str = argument("[TARGET]", "claude, claude-rules, agents-md or json.", ""),
    out: str = option(
        "FILE",
        "Write to FILE; in an existing file only mem's section changes. For "
        "claude-rules"
        " a folder.",
    ),
    raw: bool = flag("--raw", "With json: include secrets and private entries."),
    remove: bool = flag("--remove", "With --out: remove mem's section from FILE."),
) -> None:
    """Write memory to a file that other tools read.

    claude and agents-md: a marked section with norms, rules and the strongest lessons.
    claude-rules: a file in .claude/rules for each set of paths, with what memory says
    about those files. json: every live entry. The proxy store is never exported."""
    from memcli.commands.export import RULES_TARGET, TARGETS, export

    target = "json" if mem.options.json else target
    if remove:
        _take_out(mem, out, rules=target == RULES_TARGET)
        return
    if not target:
        hint = f"mem export {' | '.join(TARGETS)}"
        raise UsageError("export: no target given", hint)
    quiet = mem.options.quiet
    report = export(mem, target, out)
    written = view.export_text(report, raw=raw)
    count_problems(report.problems, quiet=quiet)
    if out:
        _require_all_read(report.problems, out)
    say("" if report.kept else boundary.beginning(mem, report.problems), quiet=quiet)
    _hand_over(mem, report, out, written)
    if more := report.handout.more:
        room = "200 lines and 25,000 bytes"
        say(f"mem: {more} did not fit into {room}", quiet=quiet)


def _hand_over(mem: App, report: "ExportReport", out: str, written: str) -> None:
    """Write the file or the folder of rules, or print it."""
    from memcli.commands.export import RULES_TARGET, in_file, in_folder

    if report.target == RULES_TARGET and not report.rules and not out:
        say(f"mem: {_NO_RULES}", quiet=mem.options.quiet)
    elif not out:
        put(written)
    elif report.target == RULES_TARGET:
        patches = in_folder(mem.project, out, report.rules)
        names = ", ".join(os.path.basename(patch.path) for patch in patches)
        changed = f"changed {count(len(patches), 'file')} in {out}: {names}"
        same = f"{out} is up to date" if report.rules else _NO_RULES
        _write(mem, patches, changed, same, makes_folder=True)
    else:
        whole = report.target == "json"
        patches = in_file(mem.project, out, written, whole=whole)
        changed = f"wrote {_place(mem, patches, out)}"
        _write(mem, patches, changed, f"{out} is up to date")


def _place(mem: App, patches: Sequence[Patch], out: str) -> str:
    """The file that is really changed: `out`, or the file that `out` includes."""
    cwd = mem.project.cwd
    place = "".join(os.path.relpath(patch.path, cwd) for patch in patches)
    if place != os.path.relpath(cwd / out, cwd):
        return f"{place}, which {out} reads"
    return out if place.startswith("..") else place


def _write(
    mem: App,
    patches: Sequence[Patch],
    changed: str,
    same: str,
    *,
    makes_folder: bool = False,
) -> None:
    """Write the files and report them with `changed`, or print the diff."""
    from memcli.commands.export import write

    if mem.dry_run:
        put_diff(patches, str(mem.project.root or ""))
        return
    write(mem.project, patches, makes_folder=makes_folder)
    put(changed if patches else same)


_NO_RULES = "no lesson names the files it applies to: mem edit ID --path GLOB"


def _take_out(mem: App, out: str, *, rules: bool) -> None:
    from memcli.commands.export import in_file, in_folder

    if not out:
        hint = "mem export claude --out CLAUDE.md --remove"
        raise UsageError("export: --remove needs --out FILE", hint)
    if rules:
        patches = in_folder(mem.project, out, {})
        place = out
    else:
        patches = in_file(mem.project, out, None)
        place = _place(mem, patches, out)
    changed = f"removed mem's section from {place}"
    _write(mem, patches, changed, f"{out} has no section of mem")


def _require_all_read(problems: Sequence[Problem], out: str) -> None:
    """Raise if a memory file cannot be read: the export would silently lack it."""
    for problem in problems:
        if problem.severity == "unreadable":
            what = f"{problem.path}: {problem.message}; {out} was not written"
            raise DataError(what, "mem doctor")

"""Setting up: the repository, the index, other tools, the shell; and what git and agents call.

`mem hook` and `mem merge-driver` run on every prompt and merge: `__main__` calls them before Typer
is imported, and only their help comes from here.
"""

import sys

from memcli.app import App
from memcli.cli.options import Given, command, name_problems, show, wrote
from memcli.cli.progress import Progress
from memcli.errors import DataError, ProviderError, UsageError
from memcli.views import exchange, json, sessions, text, upkeep
from memcli.views.text import HOW_TO_BEGIN, put, say


@command("""init
    --git              Hooks of git after merge, rebase and commit.
    --claude           Let Claude Code call mem.
    --codex            Let Codex call mem.
    --gemini           Let Gemini CLI call mem.
    --opencode         Let opencode call mem.
    --ci               A workflow for GitHub that compacts after a merge.
    --from SPEC        What CI installs, as pip takes it.
    --agents           Tell agents in AGENTS.md or CLAUDE.md when to use mem.
    --history          Find what was said in sessions and committed.
    --all              All of these.
    --learn-with NAME  Learn with claude, codex, anthropic or rules, everywhere.
    --user             Hooks of agents in your own settings, for all repositories.
    --shared           Hooks of agents in settings that are committed.
    --remove           Take back what mem init did, or only what is named with it.
    --git-dir DIR      The repository, where .git names a strange one.
    --dry-run
""")
def init(mem: App, given: Given) -> None:
    """Make a repository ready.

    Creates MEMORY.md, ignores derived files, registers the merge driver for memory files; and on
    request lets git, agents and CI call mem by themselves.
    """
    from memcli.commands import init as command
    from memcli.install.harness import NAMES

    quiet, dry_run = mem.options.quiet, given.dry_run
    learner = given.learn_with
    if not (learner or dry_run or given.remove):
        learner = _wanted_learner(mem)
    request = given.to(
        command.InitRequest, source=given.from_, everything=given.all, learn_with=learner,
        instructions=given.agents,
        agents=[name for name in NAMES if getattr(given, name)],
    )  # fmt: skip
    report = command.run(mem, request, dry_run=dry_run)
    done = "\n".join(report.done or ("everything is in place already",))
    wrote(mem, given, report, lambda report: done)
    for line in report.done if dry_run else ():
        say(f"mem: dry run, not done: {line}", quiet=quiet)
    for line in report.next if not dry_run and not mem.options.json else ():
        say(f"next: {line}", quiet=quiet)
    if not (dry_run or given.remove) and (given.history or _wants_history(mem)):
        add_history(mem)


def _wants_history(mem: App) -> bool:
    """Whether a person wants the past to be found; asked once."""
    from memcli.commands.history import record_path

    path = record_path(mem)
    if path is None or path.exists():
        return False
    return _says_yes(mem, "Find what was said in agents' sessions here, and commits? [y/N] ")


def _wanted_learner(mem: App) -> str:
    """What a person wants to learn with, "" where that is settled; asked once."""
    from shutil import which

    settings = mem.project.settings
    if settings.origins["llm"] != "default" or not _at_terminal(mem) or not which("claude"):
        return ""
    most = f"at most {settings.config.max_calls} a day"
    question = f"Learn with your Claude login? One call for each session that taught, {most} [y/N] "
    return "claude" if _says_yes(mem, question) else "rules"


def _at_terminal(mem: App) -> bool:
    asked = all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))
    return asked and not (mem.options.quiet or mem.options.json)


def _says_yes(mem: App, question: str) -> bool:
    if not _at_terminal(mem):
        return False
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@command("""index
    --check     Write nothing; exit 1 when it is stale.
    --rebuild   Start over from the files.
    --trust     Take over the vectors of an index that you did not make.
    --push      Send what changed to the shared index, too.
    --archived  With --push: the archives, too.
    --history   Add all that agents' sessions and commits say.
    --from KEY  With --history: take over a moved repository's.
""")
def index(mem: App, given: Given) -> int:
    """Bring the index to the state of the memory files."""
    from memcli.commands import index as command

    check, push, trust = given.check, given.push, given.trust
    if (check and (push or trust)) or (given.archived and not push):
        what = "--archived goes with --push, --check with neither --push nor --trust"
        raise UsageError(what, "mem index --help")
    if given.history or given.from_:
        return add_history(mem, given.from_)
    if trust:
        taken = mem.kept.trust()
        none = "nothing to take over: no index of somebody else lies beside the memory"
        mem.notes.append(none if taken is None else f"vectors taken over: {taken:,}")
    files, sent, quiet = len(mem.project.listing.files), None, mem.options.quiet
    with Progress("index", quiet=quiet) as progress:
        report = command.check(mem) if check else command.index(
            mem, rebuild=given.rebuild, progress=lambda done: progress.count("file", done, files),
            embedding=lambda done, all: progress.count("vector", done, all),
        )  # fmt: skip
    unread = [problem for problem in report.problems if problem.severity == "unreadable"]
    told = (*report.problems, *report.repeated)
    say("\n".join(text.problem_lines(unread if quiet else told)))
    if push:
        from memcli.postgres import push as pushing

        with Progress("push", quiet=quiet):
            sent = pushing.push(mem, archived=given.archived)
    if mem.options.json:
        put(json.of(report, **upkeep.index_keys(report, sent)))
    elif check:
        put("\n".join(map(text.in_one_line, report.stale)))
    else:
        lines = [upkeep.index_text(report)] if report.where and not quiet else []
        put("\n".join(text.folded(lines, more=2)))
        say("" if report.where else HOW_TO_BEGIN, quiet=quiet)
        put(upkeep.push_text(sent) if sent is not None else "")
    if check and report.stale:
        return 1
    if report.vectors is not None and report.vectors.failed:
        raise ProviderError(report.vectors.failed, report.vectors.hint)
    return DataError.code if unread else 0


def add_history(mem: App, key: str = "") -> int:
    """Add all of history that there is; what came of it in one line."""
    from memcli.commands import history as command

    quiet = mem.options.quiet
    if key:
        say(f"took over {command.take_over(mem, key)} exchanges and commits", quiet=quiet)
    with Progress("index", quiet=quiet) as progress:
        report = command.add_history(mem, progress.count)
    for path, why in report.added.problems:
        say(f"mem: {path}: {why}", quiet=quiet)
    show(mem, report, sessions.history_text, sessions.history_keys)
    return DataError.code if report.added.problems else 0


@command("""import
    PATH...           Files or folders to read.
    --from FORMAT     claude or agents-md; found out without.
    --level LEVEL (project)  project, job, task or global.
    --dry-run
""")
def import_(mem: App, given: Given) -> int:
    """Take over what other memories know.

    Claude Code's auto memory, CLAUDE.md and its like. The sources are only read; what is known
    already is not added, so running it twice is running it once.
    """
    from memcli.commands import import_ as command

    request = given.to(command.ImportRequest, paths=given.words, form=given.from_)
    report = command.run(mem, request, dry_run=given.dry_run)
    name_problems(report.skipped)
    wrote(mem, given, report, exchange.import_text, exchange.import_keys)
    if given.dry_run and not mem.options.json:
        say(exchange.import_text(report), quiet=mem.options.quiet)
    return DataError.code if report.refused or report.injected or report.skipped else 0


@command("""export
    --target TARGET  claude, agents-md or json.
    --out FILE       Write there; of a file that exists only our section changes.
    --raw            With json: what looks like a secret, or is private, too.
""")
def export(mem: App, given: Given) -> None:
    """Hand the memory to tools that read a file.

    For claude and agents-md a marked section with norms, rules and the strongest lessons; for json
    every live entry. The proxy store is never exported.
    """
    from memcli.commands import export as command

    quiet, out = mem.options.quiet, given.out
    target = "json" if mem.options.json else given.target
    if not target:
        raise UsageError("export: for what?", f"--target {', '.join(command.TARGETS)}")
    report = command.export(mem, target)
    written = exchange.export_text(report, raw=given.raw)
    text.count_problems(report.problems, quiet=quiet)
    say("" if report.kept else HOW_TO_BEGIN, quiet=quiet)
    done = bool(out) and command.save(mem, report, written, out)
    put((f"wrote {out}" if done else f"{out} is up to date") if out else written)
    if more := report.handout.more:
        say(f"mem: {more} more found no room in 200 lines and 25,000 bytes", quiet=quiet)


@command("completion\nSHELL  bash, zsh or fish.")
def completion(mem: App, given: Given) -> None:
    """Print the script that completes commands and options in a shell.

    For bash into ~/.local/share/bash-completion/completions/mem, for zsh as _mem into a folder of
    $fpath, for fish into ~/.config/fish/completions/mem.fish.
    """
    from memcli.commands.completion import script

    made = script(given.word)
    show(mem, made, str.rstrip, lambda made: {"shell": given.word, "script": made})


@command("help\n[COMMAND]  The command to explain; without, all.", bare=True)
def help_(given: Given) -> None:
    """Explain a command with all of its options, or list what every command does."""
    from memcli.cli.program import command_help, find, program_help

    put(command_help(find(given.word), whole=True) if given.word else program_help(whole=True))


# --- plumbing

EVENTS = (
    "session-start, prompt, pre-tool, pre-compact or session-end; or git post-merge,"
    " git post-rewrite, git post-commit."
)


@command(f"hook\nEVENT [ARGUMENT]...  {EVENTS}", bare=True)
def hook(given: Given) -> int:
    """Serve an agent or git; mem init puts the calls in place.

    Reads the agent's JSON from standard input and prints JSON or nothing. The exit status is always
    0; what went wrong stands in hooks.log in the state folder. MEM_HOOK=off switches every hook
    off.
    """
    from memcli.hooks import protocol

    return protocol.main(given.words)


@command("""merge-driver
    BASE OURS THEIRS [PATH [SIZE]]...  As git passes %O %A %B %P %L.
""")
def merge_driver(given: Given) -> int:
    """Merge memory files by entry id, for git."""
    from memcli.commands import merge_driver as command

    return command.main(given.words)


@command("mcp\n--root DIR  The project's root; found by itself without.", bare=True)
def mcp(given: Given) -> int:
    """Serve agents over MCP (stdio); needs the extra mcp.

    Tools: recall, list, show, health, add, episode, reinforce, retire, consolidate.
    """
    from memcli.cli import mcp as server

    return server.serve(given.root)

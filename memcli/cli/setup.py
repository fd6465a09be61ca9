"""Setting up: the repository, the index, other tools, the shell; and what git and
agents call.

`mem hook` and `mem merge-driver` run on every prompt and merge: `__main__` calls them
before Typer is imported, and only their help comes from here."""

import sys

from memcli.app import App
from memcli.cli import fast
from memcli.cli.options import argument, command, flag, option, show, wrote
from memcli.cli.progress import Progress
from memcli.errors import DataError, UsageError
from memcli.views import exchange, json, sessions, text, upkeep
from memcli.views.text import how_to_begin, put, say

OWN = "Further"


@command("init", dry=True)
def init(
    mem: App,
    progress: Progress,
    source: str = option("SPEC", "What CI installs, as pip takes it.", "--from"),
    git: bool = flag("--git", "Hooks of git after merge, rebase and commit."),
    ci: bool = flag("--ci", "A workflow for GitHub that compacts after a merge."),
    claude: bool = flag("--claude", "Let Claude Code call mem."),
    codex: bool = flag("--codex", "Let Codex call mem."),
    gemini: bool = flag("--gemini", "Let Gemini CLI call mem."),
    opencode: bool = flag("--opencode", "Let opencode call mem."),
    agents: bool = flag(
        "--agents", "Tell agents in AGENTS.md or CLAUDE.md when to use mem."
    ),
    history: bool = flag("--history", "Find what was said in sessions and committed."),
    everything: bool = flag("--all", "All of these."),
    learn_with: str = option(
        "NAME", "Learn with claude, codex, anthropic or rules, everywhere."
    ),
    user: bool = flag(
        "--user", "Hooks of agents in your own settings, for all repositories."
    ),
    shared: bool = flag("--shared", "Hooks of agents in settings that are committed."),
    remove: bool = flag(
        "--remove", "Take back what mem init did, or only what is named with it."
    ),
    git_dir: str = option(
        "DIR", "The repository, where .git names a strange one.", panel=OWN
    ),
    home_git: bool = flag(
        "--home-git", "A repository for your own memory: mem sync.", panel=OWN
    ),
    url: str = argument(
        "[URL]", "With --home-git: where your other machines find it.", ""
    ),
) -> None:
    """Make a repository ready.

    Creates MEMORY.md, ignores derived files, registers the merge driver for memory
    files; and on request lets git, agents and CI call mem by themselves."""
    from memcli.commands import init as command
    from memcli.commands.sync import HomeRepository

    each = (
        everything and not remove
    )  # without a target named, --remove takes back all of them
    wanted = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}
    named = tuple(name for name, on in wanted.items() if on or each)
    asks = not (mem.options.dry_run or remove or home_git)
    dry_run = mem.options.dry_run
    if asks and not learn_with:
        learn_with = _wanted_learner(mem)
    request = command.InitRequest(
        git=git or each, agents=named, ci=ci or each, instructions=agents or each, user=user, shared=shared, remove=remove, source=source, everything=everything,
        git_dir=git_dir, learn_with=learn_with,
    )  # fmt: skip
    if url and not home_git:
        raise UsageError(f"{url}: one word too many", "mem init --home-git URL")
    if home_git:
        report = HomeRepository(mem.project).set_up(url, remove=remove, dry_run=dry_run)
    else:
        report = command.run(mem, request, dry_run=dry_run)
    nothing = (
        "nothing is left to take back" if remove else "everything is in place already"
    )
    done = "\n".join(report.done or (nothing,))
    wrote(mem, report, lambda report: done)
    for line in report.done if dry_run else ():
        say(f"mem: dry run, not done: {line}", quiet=mem.options.quiet)
    for line in report.next if not dry_run and not mem.options.json else ():
        say(f"next: {line}", quiet=mem.options.quiet)
    if asks and (history or _wants_history(mem)):
        add_history(mem, progress)


def _wants_history(mem: App) -> bool:
    from memcli.history import record_path

    path = record_path(mem.project)
    question = "Search what was said in agents' sessions here, and commits, too? [y/N] "
    return path is not None and not path.exists() and bool(_asked(mem, question))


def _wanted_learner(mem: App) -> str:
    from shutil import which

    settings = mem.project.settings
    if settings.origins["llm"] != "default" or not which("claude"):
        return ""
    most = f"at most {settings.config.max_calls} a day"
    question = f"Learn with your Claude login? One call for each session that taught, {most} [y/N] "
    return {None: "", True: "claude", False: "rules"}[_asked(mem, question)]


def _asked(mem: App, question: str) -> bool | None:
    """A person's answer; None where nobody can be asked."""
    here = all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))
    if not here or mem.options.quiet or mem.options.json:
        return None
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@command("sync", dry=True)
def sync_(mem: App) -> None:
    """Bring your own memory in step with your other machines.

    ~/MEMORY.md and ~/institutional.md, after mem init --home-git. Commits, fetches,
    merges by entry, and pushes; a secret is refused. sync = "session" in the user's
    file does it by itself."""
    from memcli.commands.sync import HomeRepository

    wrote(
        mem,
        HomeRepository(mem.project).sync(dry_run=mem.options.dry_run),
        exchange.sync_text,
    )


@command("index")
def index(
    mem: App,
    progress: Progress,
    check: bool = flag("--check", "Write nothing; exit 1 when it is stale."),
    rebuild: bool = flag("--rebuild", "Start over from the files."),
    trust: bool = flag(
        "--trust", "Take over the vectors of an index that you did not make."
    ),
    push: bool = flag("--push", "Send what changed to the shared index, too."),
    archived: bool = flag("--archived", "With --push: the archives, too."),
    key: str = option(
        "KEY", "With --history: take over a moved repository's.", "--from"
    ),
    history: bool = flag("--history", "Add all that agents' sessions and commits say."),
) -> int:
    """Bring the index to the state of the memory files."""
    from memcli.commands import index as command

    if (check and (push or trust)) or (archived and not push):
        what = "--archived goes with --push, --check with neither --push nor --trust"
        raise UsageError(what, "mem index --help")
    if history or key:
        return add_history(mem, progress, key)
    if trust:
        taken = mem.kept.trust()
        none = "nothing to take over: no index of somebody else lies beside the memory"
        mem.notes.append(none if taken is None else f"vectors taken over: {taken:,}")

    def show(report: command.IndexReport) -> None:
        sent = None
        if push:
            from memcli.postgres import push as pushing

            with progress:
                sent = pushing.push(mem, archived=archived)
        if mem.options.json:
            put(json.of(report, **upkeep.index_keys(report, sent)))
        elif check:
            put("\n".join(map(text.in_one_line, report.stale)))
        else:
            fast.show_index(mem, report)
            put(upkeep.push_text(sent) if sent is not None else "")

    with progress:
        report = (
            command.check(mem)
            if check
            else fast.indexed(mem, progress, rebuild=rebuild)
        )
    return fast.told(mem, report, show)


def add_history(mem: App, progress: Progress, key: str = "") -> int:
    """Add all of history that there is; what came of it in one line."""
    from memcli.commands import history as command

    quiet = mem.options.quiet
    if key and _asked(mem, f"Take over what is kept of {key}? [y/N] ") is False:
        return 0
    if key:
        say(
            f"took over {command.take_over(mem, key)} exchanges and commits",
            quiet=quiet,
        )
    with progress:
        report = command.add_history(mem, progress.count)
    for path, why in (*report.looked.unread, *report.added.problems):
        say(f"mem: {path}: {why}", quiet=quiet)
    show(mem, report, sessions.history_text, sessions.history_keys)
    return DataError.code if report.added.problems else 0


@command("import", dry=True)
def import_(
    mem: App,
    paths: list[str] = argument("PATH...", "Files or folders to read."),
    form: str = option("FORMAT", "claude or agents-md; found out without.", "--from"),
    level: str = option("LEVEL", "project, job, task or global.", default="project"),
) -> int:
    """Take over what other memories know.

    Claude Code's auto memory, CLAUDE.md and its like. The sources are only read; what
    is known already is not added, so running it twice is running it once."""
    from memcli.commands import import_ as command

    report = command.run(mem, paths, form, level, dry_run=mem.options.dry_run)
    text.name_problems(report.skipped, hint="")
    wrote(mem, report, exchange.import_text, exchange.import_keys)
    if mem.options.dry_run and not mem.options.json:
        say(exchange.import_text(report), quiet=mem.options.quiet)
    return DataError.code if report.refused or report.injected or report.skipped else 0


@command("export")
def export(
    mem: App,
    target: str = option("TARGET", "claude, agents-md or json."),
    out: str = option(
        "FILE", "Write there; of a file that exists only our section changes."
    ),
    raw: bool = flag(
        "--raw", "With json: what looks like a secret, or is private, too."
    ),
    remove: bool = flag("--remove", "With --out: take our section out of FILE again."),
) -> None:
    """Hand the memory to tools that read a file.

    For claude and agents-md a marked section with norms, rules and the strongest
    lessons; for json every live entry. The proxy store is never exported."""
    from memcli.commands import export as command

    quiet = mem.options.quiet
    target = "json" if mem.options.json else target
    if remove:
        if not out:
            raise UsageError(
                "export: --remove goes with --out FILE", "mem export --help"
            )
        gone = command.save(mem, out, None)
        put(
            f"took our section out of {out}"
            if gone
            else f"no section of ours stands in {out}"
        )
        return
    if not target:
        hint = f"mem export --target {' | '.join(command.TARGETS)}"
        raise UsageError("export: no target is named", hint)
    report = command.export(mem, target)
    written = exchange.export_text(report, raw=raw)
    text.count_problems(report.problems, quiet=quiet)
    if out and (
        lost := [each for each in report.problems if each.severity == "unreadable"]
    ):
        raise DataError(
            f"{lost[0].path}: {lost[0].message}; {out} is not written", "mem doctor"
        )
    say("" if report.kept else how_to_begin(report.problems), quiet=quiet)
    done = bool(out) and command.save(mem, out, written, whole=target == "json")
    put((f"wrote {out}" if done else f"{out} is up to date") if out else written)
    if more := report.handout.more:
        say(
            f"mem: {more} more found no room in 200 lines and 25,000 bytes", quiet=quiet
        )


@command("completion")
def completion(mem: App, shell: str = argument("SHELL", "bash, zsh or fish.")) -> None:
    """Print the script that completes commands and options in a shell.

    For bash into ~/.local/share/bash-completion/completions/mem, for zsh as _mem into a
    folder of $fpath, for fish into ~/.config/fish/completions/mem.fish."""
    from memcli.commands.completion import script

    show(mem, script(shell), str.rstrip, lambda made: {"shell": shell, "script": made})


@command("help", bare=True)
def help_(
    name: str = argument("[COMMAND]", "The command to explain; without, all.", ""),
) -> None:
    """Explain a command with all of its options, or list what every command does."""
    from memcli.cli import program

    if name and name not in program.commands():
        raise UsageError(f"{name}: no such command", "mem help")
    put(program.write_help(name))


EVENTS = (
    "session-start, prompt, pre-tool, pre-compact or session-end; or git post-merge,"
    " git post-rewrite, git post-commit."
)


@command("hook", bare=True, context_settings={"ignore_unknown_options": True})
def hook(event: list[str] = argument("EVENT [ARGUMENT]...", EVENTS)) -> int:
    """Serve an agent or git; mem init puts the calls in place.

    Reads the agent's JSON from standard input and prints JSON or nothing. The exit
    status is always 0; what went wrong stands in hooks.log in the state folder.
    MEM_HOOK=off switches every hook off."""
    from memcli.hooks import protocol

    return protocol.main(event)


@command("merge-driver", bare=True)
def merge_driver(
    files: list[str] = argument(
        "BASE OURS THEIRS [PATH [SIZE]]", "As git passes %O %A %B %P %L."
    ),
) -> int:
    """Merge memory files by entry id, for git."""
    from memcli.commands import merge_driver as command

    return command.main(files)


@command("mcp", bare=True)
def mcp(
    root: str = option("DIR", "The project's root; found by itself without."),
) -> int:
    """Serve agents over MCP (stdio); needs the extra mcp.

    Tools: recall, list, show, health, add, episode, reinforce, retire, consolidate."""
    from memcli.cli import mcp as server

    return server.serve(root)

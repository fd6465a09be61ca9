"""Setting up: the repository, the index, the shell's completion; and help."""

import sys
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.cli import fast
from memcli.cli.options import argument, command, flag, option, say_changes, show
from memcli.errors import DataError, UsageError
from memcli.views import json
from memcli.views import setup as view
from memcli.views.progress import Progress
from memcli.views.text import in_one_line, put, say

if TYPE_CHECKING:
    from memcli.postgres.push import PushReport


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
    trust: bool = flag("--trust", "Although .git names a repository elsewhere."),
) -> None:
    """Make a repository ready.

    Creates MEMORY.md, ignores derived files, registers the merge driver for memory
    files; and on request lets git, agents and CI call mem by themselves."""
    from memcli.commands.init import InitRequest, run

    asks = not (mem.dry_run or remove)
    flags = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}
    request = InitRequest(
        git=git,
        agents=tuple(name for name, given in flags.items() if given),
        ci=ci,
        instructions=agents,
        user=user,
        shared=shared,
        remove=remove,
        source=source,
        everything=everything,
        trust=trust,
        learn_with=_learner(mem, learn_with, asks=asks),
    )
    parts = {**flags, "git": git, "ci": ci, "agents": agents}
    named = ", ".join(f"--{name}" for name, given in parts.items() if given)
    whose = f"of {named} " if named else ""
    say_changes(mem, run(mem, request), remove=remove, of=whose)
    wants = history or everything
    if asks and (wants or _wants_history(mem)):
        add_history(mem, progress)


def _learner(mem: App, named: str, *, asks: bool) -> str:
    """The agent to learn with: the one that was named, else a person's answer."""
    if named or not asks:
        return named
    return _wanted_learner(mem)


def _wants_history(mem: App) -> bool:
    from memcli.project.record import record_path

    path = record_path(mem.project)
    question = "Search what was said in agents' sessions here, and commits, too? [y/N] "
    return path is not None and not path.exists() and bool(_asked(mem, question))


# The agent whose login learns, as a person calls it, and who is sent the digests.
_RECEIVERS = {"claude": ("Claude", "Anthropic"), "codex": ("Codex", "OpenAI")}


def _wanted_learner(mem: App) -> str:
    """The agent that a person wants to learn with: "rules" for none, "" if nobody
    could be asked."""
    from shutil import which

    settings = mem.project.settings
    agent = next(filter(which, _RECEIVERS), "")
    if settings.origins["llm"] != "default" or not agent:
        return ""
    name, receiver = _RECEIVERS[agent]
    question = (
        f"Learn from finished sessions with your {name} login? A digest of each"
        f" (2,500 tokens at most, without credentials) goes to {receiver},"
        f" at most {settings.config.max_calls} a day [y/N] "
    )
    return {None: "", True: agent, False: "rules"}[_asked(mem, question)]


def _asked(mem: App, question: str) -> bool | None:
    """A person's answer; None where nobody can be asked."""
    here = all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))
    if not here or mem.options.quiet or mem.options.json:
        return None
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@command("index")
def index(
    mem: App,
    progress: Progress,
    check: bool = flag("--check", "Write nothing; exit 1 when it is stale."),
    rebuild: bool = flag(
        "--rebuild", "Start over from the files; of history, read all commits again."
    ),
    trust: bool = flag(
        "--trust", "Take over the vectors of an index that you did not make."
    ),
    shared: bool = flag("--shared", "Send what changed to the shared index, too."),
    archived: bool = flag("--archived", "With --shared: the archives, too."),
    key: str = option(
        "KEY", "With --history: take over a moved repository's.", "--from"
    ),
    history: bool = flag("--history", "Add all that agents' sessions and commits say."),
) -> int:
    """Bring the index to the state of the memory files."""
    _check_flags(check=check, writes=shared or trust, unsent=archived and not shared)
    if history or key:
        return add_history(mem, progress, key, again=rebuild)
    if trust:
        _take_over_vectors(mem)
    from memcli.commands import index as command

    with progress:
        report = command.check(mem) if check else command.index(mem, rebuild=rebuild)
    code = fast.name_index_problems(mem, report)
    sent = _push(mem, progress, archived=archived) if shared else None
    if mem.options.json:
        put(json.of(report, **view.index_keys(report, sent)))
    elif check:
        put("\n".join(map(in_one_line, report.stale)))
    else:
        fast.show_index(mem, report)
        put(view.push_text(sent) if sent is not None else "")
    fast.require_vectors(report)
    return code


def _check_flags(*, check: bool, writes: bool, unsent: bool) -> None:
    """Raise UsageError for flags of mem index that do not go together."""
    if unsent or (check and writes):
        what = (
            "--archived goes with --shared, --check with neither --shared nor --trust"
        )
        raise UsageError(what, "mem index --help")


def _push(mem: App, progress: Progress, *, archived: bool) -> "PushReport":
    from memcli.postgres.push import push

    with progress:
        return push(mem, archived=archived)


def _take_over_vectors(mem: App) -> None:
    number = mem.kept.trust()
    if number is None:
        nobody = "no index of somebody else lies beside the memory"
        mem.notes.append(f"nothing to take over: {nobody}")
    else:
        mem.notes.append(f"vectors taken over: {number:,}")


def add_history(
    mem: App, progress: Progress, key: str = "", *, again: bool = False
) -> int:
    """Add all of history that there is; what came of it in one line."""
    from memcli.commands import history as command

    quiet = mem.options.quiet
    if key and _asked(mem, f"Take over what is kept of {key}? [y/N] ") is False:
        return 0
    if key:
        number = command.take_over(mem, key)
        say(f"took over {number} exchanges and commits", quiet=quiet)
    with progress:
        report = command.add_history(mem, again=again)
    for path, why in (*report.looked.unread, *report.added.problems):
        say(f"mem: {path}: {why}", quiet=quiet)
    if mem.options.json or not quiet:
        show(mem, report, view.history_text, view.history_keys)
    return DataError.code if report.added.problems else 0


@command("completion")
def completion(mem: App, shell: str = argument("SHELL", "bash, zsh or fish.")) -> None:
    """Print the script that completes commands and options in a shell.

    For bash into ~/.local/share/bash-completion/completions/mem, for zsh as _mem into a
    folder of $fpath, for fish into ~/.config/fish/completions/mem.fish."""
    from memcli.commands.completion import script

    keys = {"shell": shell, "script": script(shell)}
    show(mem, script(shell), str.rstrip, lambda script: keys)


@command("help", bare=True)
def help_(
    name: str = argument("[COMMAND]", "The command to explain; without, all.", ""),
) -> None:
    """Explain a command with all of its options, or list what every command does."""
    from memcli.cli import program

    if name and name not in program.commands():
        raise UsageError(f"{name}: no such command", "mem help")
    put(program.write_help(name))

"""Setup: the repository, the index and shell completion; also help."""

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.cli import fast
from memcli.cli.options import argument, command, flag, option, say_changes, show
from memcli.cli.pager import put_paged
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
    source: str = option("SPEC", "What CI installs, as a pip requirement.", "--from"),
    git: bool = flag("--git", "Git hooks after merge, rebase and commit."),
    ci: bool = flag("--ci", "A GitHub workflow that compacts after a merge."),
    claude: bool = flag("--claude", "Let Claude Code call mem."),
    codex: bool = flag("--codex", "Let Codex call mem."),
    gemini: bool = flag("--gemini", "Let Gemini CLI call mem."),
    opencode: bool = flag("--opencode", "Let opencode call mem."),
    agents: bool = flag(
        "--agents", "Tell agents in AGENTS.md or CLAUDE.md when to use mem."
    ),
    history: bool = flag("--history", "Make past sessions and commits searchable."),
    everything: bool = flag("--all", "All of these."),
    learn_with: str = option(
        "NAME", "Learn with claude, codex, anthropic or rules, everywhere."
    ),
    user: bool = flag(
        "--user", "Put agent hooks into your own settings, for all repositories."
    ),
    shared: bool = flag(
        "--shared", "Put agent hooks into settings that are committed."
    ),
    remove: bool = flag(
        "--remove", "Undo what mem init did, or only the options given."
    ),
    trust: bool = flag(
        "--trust", "Go on although .git, or core.hooksPath in it, leads elsewhere."
    ),
) -> None:
    """Set up a repository.

    Creates MEMORY.md, makes git ignore derived files, and registers the merge driver
    for memory files. On request, git, agents and CI call mem automatically."""
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
    parts["learn-with"] = bool(learn_with)
    named = ", ".join(f"--{name}" for name, given in parts.items() if given)
    whose = f"of {named} " if named else ""
    say_changes(mem, run(mem, request), remove=remove, of=whose)
    if asks:
        _make_history(mem, progress, history=history, everything=everything)


def _make_history(
    mem: App, progress: Progress, *, history: bool, everything: bool
) -> None:
    from memcli.project.record import record_path

    if everything and not history and record_path(mem.project) is None:
        # not asked for by name: the rest was done
        say("mem: no history is kept here: mem index --history says why")
    elif history or everything or _wants_history(mem):
        add_history(mem, progress)


def _learner(mem: App, named: str, *, asks: bool) -> str:
    """The agent to learn with: the one named, else the one the person answers."""
    if named or not asks:
        return named
    return _wanted_learner(mem)


def _wants_history(mem: App) -> bool:
    from memcli.project.record import record_path

    path = record_path(mem.project)
    question = (
        "Also search agents' past sessions and commits of this repository? [y/N] "
    )
    return path is not None and not path.exists() and bool(_asked(mem, question))


# The agents whose login is used for learning: name, and who receives the digests.
_RECEIVERS = {"claude": ("Claude", "Anthropic"), "codex": ("Codex", "OpenAI")}


def _wanted_learner(mem: App) -> str:
    """The agent that the person wants to learn with: "rules" for none, "" if nobody
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
    """The person's answer; None if nobody can be asked."""
    here = all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))
    if not here or mem.options.quiet or mem.options.json:
        return None
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@command("index")
def index(
    mem: App,
    progress: Progress,
    check: bool = flag("--check", "Write nothing; exit 1 if it is out of date."),
    rebuild: bool = flag(
        "--rebuild",
        "Build it anew from the files; with --history, read all commits again.",
    ),
    trust: bool = flag(
        "--trust", "Use the vectors of an index that someone else made."
    ),
    shared: bool = flag("--shared", "Also send changes to the shared index."),
    archived: bool = flag("--archived", "With --shared: include the archives."),
    key: str = option(
        "KEY", "With --history: use the history of a moved repository.", "--from"
    ),
    history: bool = flag("--history", "Index agents' past sessions and commits."),
) -> int:
    """Bring the index up to date with the memory files."""
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
    """Raise UsageError for flags of mem index that exclude each other."""
    if unsent or (check and writes):
        what = "--archived needs --shared; --check excludes --shared and --trust"
        raise UsageError(what, "mem index --help")


def _push(mem: App, progress: Progress, *, archived: bool) -> "PushReport":
    from memcli.postgres.push import push

    with progress:
        return push(mem, archived=archived)


def _take_over_vectors(mem: App) -> None:
    number = mem.kept.trust()
    if number is None:
        nobody = "there is no index that somebody else made"
        mem.notes.append(f"nothing to take over: {nobody}")
    else:
        mem.notes.append(f"vectors taken over: {number:,}")


def add_history(
    mem: App, progress: Progress, key: str = "", *, again: bool = False
) -> int:
    """Index all available history; return a one-line summary."""
    from memcli.commands import history as command

    quiet = mem.options.quiet
    if key and _asked(mem, f"Use the history kept for {key}? [y/N] ") is False:
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
    """Print the completion script for a shell.

    Save it for bash as ~/.local/share/bash-completion/completions/mem, for zsh as _mem
    in a folder of $fpath, for fish as ~/.config/fish/completions/mem.fish."""
    from memcli.commands.completion import script

    keys = {"shell": shell, "script": script(shell)}
    show(mem, script(shell), str.rstrip, lambda script: keys)


@command("help", bare=True)
def help_(
    name: str = argument("[COMMAND]", "The command to explain; default: all.", ""),
) -> None:
    """Explain a command and all its options, or list all commands."""
    from memcli.cli import program

    if name and name not in program.commands():
        near = get_close_matches(name, program.commands(), 1)
        raise UsageError(f"{name}: no such command", " ".join(["mem help", *near]))
    put_paged(program.write_help(name))

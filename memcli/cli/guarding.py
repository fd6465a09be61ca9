"""The signature of `mem guard`."""

from memcli.app import App
from memcli.cli.boundary import name_unmatched
from memcli.cli.options import Names, argument, command, flag, many, option, show, wrote
from memcli.errors import UsageError
from memcli.guard.guards import ASK, DENY
from memcli.views import guarding as view


@command("guard", dry=True, trees=True)
def guard(
    mem: App,
    id: str = argument("[ID]", "The lesson to enforce.", default=""),
    ask: bool = flag("--ask", "Ask the person instead of refusing."),
    off: bool = flag("--off", "Remove the guard of ID."),
    commands: Names = many("PATTERN", "A command to stop.", "--command"),
    paths: Names = many("GLOB", "A file whose changes to stop.", "--path"),
    unless: Names = many("PATTERN", "A command or file to allow.", "--unless"),
    suggest: bool = flag("--suggest", "List lessons that could become guards."),
    tried: str = option(
        "LINE",
        "Show what would happen to a command, or to a change of a file.",
        "--try",
    ),
    replay: bool = flag("--replay", "Show what the guards would have stopped so far."),
    trust: bool = flag(
        "--trust", "Trust this repository's guards, so that they refuse."
    ),
) -> None:
    """Enforce a lesson: refuse the commands and file changes it forbids, or ask first.

    Without an ID, list the guards. They work for agents that call mem before a tool
    runs; a guard is a seat belt, not a sandbox."""
    from memcli.commands import guard as command

    patterns = {
        "commands": tuple(commands),
        "paths": tuple(paths),
        "unless": tuple(unless),
    }
    if tried:
        # A single word may be a command or a file: make, or Makefile.
        path = "" if tried.split()[1:] else tried
        show(mem, command.try_call(mem, tried, path), view.try_text)
    elif suggest:
        show(mem, command.suggest_guards(mem, id), view.suggest_text)
    elif replay:
        show(mem, command.replay(mem, id), view.replay_text)
    elif trust:
        show(mem, command.trust(mem, id), view.list_text)
    elif id:
        mode = _mode(ask=ask, off=off)
        wrote(mem, command.set_guard(mem, id, mode, patterns), view.set_text)
        name_unmatched(mem, paths)
    elif ask or off or any(patterns.values()):
        bound = "mem guard lists them"
        lessons = "mem guard --suggest lists lessons that could bind"
        raise UsageError("missing ID", bound if off else lessons)
    else:
        show(mem, command.list_guards(mem), view.list_text)


def _mode(*, ask: bool, off: bool) -> str:
    if off:
        return "off"
    return ASK if ask else DENY

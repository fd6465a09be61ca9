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
    id: str = argument("[ID]", "The lesson to switch on.", default=""),
    ask: bool = flag("--ask", "Ask the person instead of refusing."),
    off: bool = flag("--off", "Lift the guard of ID."),
    commands: Names = many("PATTERN", "A command it stops.", "--command"),
    paths: Names = many("GLOB", "A file whose changes it stops.", "--path"),
    unless: Names = many("PATTERN", "A command or file that it allows.", "--unless"),
    suggest: bool = flag("--suggest", "Name the lessons that could bind."),
    tried: str = option(
        "LINE", "Say what would happen to a command, or a change of a file.", "--try"
    ),
    replay: bool = flag("--replay", "What guards would have stopped so far."),
    trust: bool = flag("--trust", "Let this repository's guards refuse here."),
) -> None:
    """Make a lesson bind: its commands and changes of files are refused or asked about.

    Without an ID the guards are listed. Agents that ask mem before a tool runs obey;
    it is a seat belt, not a sandbox."""
    from memcli.commands import guard as command

    patterns = {
        "commands": tuple(commands),
        "paths": tuple(paths),
        "unless": tuple(unless),
    }
    if tried:
        # One word may be either: make, or Makefile.
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
        raise UsageError("an ID is needed", "mem guard lists them")
    else:
        show(mem, command.list_guards(mem), view.list_text)


def _mode(*, ask: bool, off: bool) -> str:
    if off:
        return "off"
    return ASK if ask else DENY

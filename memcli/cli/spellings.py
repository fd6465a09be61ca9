"""Options of earlier versions: how each is written now. A line that uses one goes on
to work, and says so."""

from collections.abc import Sequence

# What other tools call a verb: what it is here.
MEANT = {
    "delete": "mem retire ID",
    "rm": "mem retire ID",
    "remove": "mem retire ID",
    "search": 'mem recall "what you look for"',
    "find": 'mem recall "what you look for"',
    "status": "mem health",
    "history": "mem log ID, or mem recall --history only",
    "uninstall": "mem init --remove",
}
# By command; {} is the value. A form that begins with `mem` is another command's.
EARLIER: dict[str, dict[str, str]] = {
    "recall": {
        "--detail": "--set detail={}",
        "--exit-code": "--check",
        "--no-refresh": "--set refresh=false",
        "--walk": "--set walk={}",
    },
    "list": {"--recent": "--limit {}"},
    "add": {"--priority": "--importance {}"},
    "edit": {
        "--add-path": "--path {}",
        "--guard": "mem guard --{}",
        "--remove-path": "--path !{}",
    },
    "guard": {"--try-file": "--try {}"},
    "extract": {
        "--list": "--show sessions",
        "--no-reinforce": "--set reinforce_mode=off",
        "--recommend": "--assume recommendation={}",
        "--show-prompt": "--show prompt",
        "--show-turns": "--show turns",
    },
    "reinforce": {
        "--failed": "{}=failed",
        "--rate": "{}",
        "--success": "{}=worked",
        "--transcript": "--session {}",
    },
    "compact": {
        "--consolidate": "--set consolidate=true",
        "--contradictions": "--set contradictions={}",
        "--promote-global": "--set promote_global=true",
        "--semantic": "--set semantic=true",
    },
    "retire-stage": {"--detect-only": "--check"},
    "health": {"--html": "--out {}", "--min": "--check --set health_min={}"},
    "diff": {"--exit-code": "--check"},
    "export": {"--target": "{}"},
    "index": {"--push": "--shared"},
    "init": {"--home-git": "mem sync --git"},
}
# Every command that filters.
_FILTERED = {"--no-global": "--level project --level job --level task"}
# By command, what a line that cannot be written over is told.
MOVED: dict[str, dict[str, str]] = {
    "recall": {"--ids-out": "mem recall --json"},
    "browse": {"--print": "mem browse | cat"},
    "guard": {"--git-dir": "--trust"},
    "extract": {"--moment": "--scope SCOPE"},
    "reinforce": {
        "--explicit": "mem reinforce ID=remember",
        "--ids": "mem reinforce - < FILE",
    },
}


def earlier(command: str, option: str) -> str:
    """How an option of before is written now; empty if it never was one."""
    return {**_FILTERED, **EARLIER.get(command, {})}.get(option, "")


def rewritten(line: Sequence[str], option: str, form: str) -> list[str]:
    """The line with the option in the form of now, with the value that it was given."""
    place = next(n for n, word in enumerate(line) if word.partition("=")[0] == option)
    before = list(line[:place])
    after = list(line[place + 1 :])
    value = line[place].partition("=")[2]
    if "{}" in form and not value and after:
        value = after.pop(0)
    if option in _FILTERED and "--level" in line:
        form = ""  # the levels are chosen
    words = [word.replace("{}", value) for word in form.split()]
    if words[:1] == ["mem"]:
        _, command, *words = words
        before = [command, *before[1:]]
    if words == ["--deny"]:
        words = []  # to refuse is what a guard does by itself
    return [*before, *words, *after]

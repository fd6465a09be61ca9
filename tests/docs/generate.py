"""What is generated from the program: tables of docs/commands.md, scripts in
completions/.

    python -m tests.docs.generate

writes them all. docs/commands.md calls `commands`, `configuration`, `asks` and
`exit_codes` through cog; README.md and docs/benchmarks.md call `tests.docs.measured`."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import typer

from memcli import errors
from memcli.cli import program as cli
from memcli.commands.export import TARGETS
from memcli.extraction import scopes
from memcli.memory.values import KINDS, LEVELS, PHASES, PRIORITIES, STORES, TYPES
from memcli.project import config, keys

ROOT = Path(__file__).resolve().parents[2]
GENERATED = [
    ROOT / "docs" / "commands.md",
    ROOT / "docs" / "benchmarks.md",
    ROOT / "README.md",
]
"""Pages with parts that cog writes."""
REGENERATE = "python -m tests.docs.generate"

VALUES = {
    "LEVEL": LEVELS,
    "TYPE": TYPES,
    "KIND": KINDS,
    "STORE": STORES,
    "PRIORITY": PRIORITIES,
    "STAGE": PHASES,
    "FORMAT": ("auto", "text", "prompt", "json"),
    "TIER": ("auto", "only", "off"),
    "WHAT": ("sessions", "turns", "prompt"),
    "ENGINE": ("auto", "llm", "rules"),
    "SCOPE": scopes.NAMES,
    "TARGET": TARGETS,
    "SHELL": ("bash", "zsh", "fish"),
    "COMMAND": tuple(cli.commands()),
    "KEY=VALUE": tuple(f"{key}=" for key in keys.KEYS),
}
"""The values that completions offer for a metavar, which test_completions holds to the
program."""
FORMATS = {
    "import": ("claude", "agents-md"),
    "diff": ("text", "markdown", "json"),
    "extract": (),
}
"""What FORMAT stands for in commands where it is no form of output of `mem recall`."""
PROGRAM = cli.program()
SHARED = {
    "Always": "Options that commands share",
    "Filters": "Options that filter entries",
}
"""Panels whose options have a section of their own, for all commands that take them."""
FILES = frozenset(["FILE", "TRANSCRIPT"])
FOLDERS = frozenset(["DIR"])
IDS = {"keep": "inbox", "drop": "inbox", "restore": "list --archived"}
"""The commands that print what ids may be named; of all others `mem list`."""


class Option(NamedTuple):
    """`takes` is the bare name of its value ("" for a switch), `values` are those that
    are allowed."""

    names: tuple[str, ...]
    help: str
    takes: str
    values: tuple[str, ...]
    many: bool


class Command(NamedTuple):
    """`arguments` are the bare names of what it takes besides options."""

    name: str
    usage: str
    help: str
    short: str
    arguments: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    records: Mapping[str, tuple[str, str]]
    panels: Mapping[str, str]

    @property
    def takes(self):
        return frozenset(bare(name) for name, _ in self.arguments)

    @property
    def ids(self):
        """The command that prints the ids this one takes; "" for one that takes none."""
        takes_ids = any(name.startswith("ID") for name in self.takes)
        return IDS.get(self.name, "list") if takes_ids else ""


def bare(metavar):
    """`[FILE]...` -> `FILE`."""
    return metavar.strip("[]{}").replace("...", "").strip("[]{}")


def program():
    """Every command that is shown in `mem --help`, in its order."""
    return [
        _command(name, item)
        for name, item in PROGRAM.commands.items()
        if not item.hidden
    ]


def own_options():
    """The options of `mem` itself."""
    return _command("", PROGRAM).options


def _command(name, command):
    parent = typer.Context(PROGRAM, info_name="mem", **PROGRAM.context_settings)
    context = typer.Context(command, info_name=name, parent=parent) if name else parent
    arguments = []
    options = []
    records = {}
    panels = {}
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if param.param_type_name == "argument":
            metavar = str(param.metavar or param.make_metavar(context))
            arguments.append((metavar, str(param.help or "")))
        elif record is not None:
            option = _option(param, context)
            options.append(option)
            records[option.names[0]] = record
            panels[option.names[0]] = getattr(param, "rich_help_panel", None) or (
                "Always" if option.names[0] == "--help" else ""
            )
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    text = "\n".join(line.strip() for line in (command.help or "").strip().splitlines())
    short = text.split("\n")[0].split(". ")[0].rstrip(".") + "."
    return Command(
        name, usage, text, short, tuple(arguments), tuple(options), records, panels
    )


def _option(param, context):
    names = tuple(sorted((*param.opts, *param.secondary_opts), key=len, reverse=True))
    if param.is_flag or "--help" in names:
        return Option(names, param.help or "", "", (), param.multiple)
    takes = str(param.metavar or param.type.name.upper())
    known = VALUES.get(takes, ())
    if takes == "FORMAT":
        known = FORMATS.get(context.info_name, known)
    values = tuple(getattr(param.type, "choices", None) or known)
    return Option(names, param.help or "", takes, values, param.multiple)


def _say(lines):
    import cog

    cog.outl("\n" + "\n".join(lines) + "\n")


def _row(*cells):
    return (
        "| "
        + " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
        + " |"
    )


def _table(heads, rows):
    return [_row(*heads), "|" + " --- |" * len(heads), *(_row(*row) for row in rows)]


def commands():
    """Every command: usage, help, arguments, options."""
    found = program()
    rows = [(f"[`mem {each.name}`](#mem-{each.name})", each.short) for each in found]
    lines = _table(("command", "what it does"), rows)
    full = [each for each in found if "--root" in each.panels]
    for panel, title in SHARED.items():
        first = next(each for each in full if panel in each.panels.values())
        lines += ["", f"## {title}", "", *_options(first, _of_panel(first, [panel]))]
        if panel == "Always":
            names = (each.name for each in found if "--json" not in each.panels)
            bare = ", ".join(f"`mem {name}`" for name in names)
            lines += ["", f"`--set`, `--json` and `--quiet` are not for {bare}."]
    for command in found:
        lines += _section(command)
    _say(lines)


def _section(command):
    """The lines of one command."""
    lines = ["", f"## `mem {command.name}`", "", "```text", command.usage, "```", ""]
    lines += [command.help, ""]
    if command.arguments:
        rows = [(f"`{name}`", text) for name, text in command.arguments]
        lines += [*_table(("argument", "meaning"), rows), ""]
    own = [name for name in command.records if command.panels[name] not in SHARED]
    if own:
        lines += _options(command, own)
    if "Filters" in command.panels.values():
        filters = "[options that filter entries](#options-that-filter-entries)"
        lines += ["", f"And the {filters}."]
    return lines


def _of_panel(command, panels):
    return [name for name, panel in command.panels.items() if panel in panels]


def _options(command, names):
    many = {option.names[0]: option.many for option in command.options}
    rows = []
    for name in names:
        left, right = command.records[name]
        text = re.sub(r"\s+\[default: (.+?)\]", r" Default: `\1`.", right)
        text = re.sub(r"\s+\[x>=(\d+)\]", r" From \1.", text)
        if many[name] and not re.search("more than once|takes several", text):
            text += " Repeatable."
        rows.append((f"`{left}`", text))
    return _table(("option", "meaning"), rows)


def configuration():
    """Every key: default, allowed values, meaning, who may set it."""
    defaults = config.Config()
    rows = []
    for name, key in keys.KEYS.items():
        who = "anyone" if key.anyone else "the user"
        default = _toml(getattr(defaults, name))
        rows.append((f"`{name}`", default, allowed(key.check), key.meaning, who))
    _say(_table(("key", "default", "allowed", "meaning", "may be set by"), rows))


def _toml(value):
    if isinstance(value, Mapping):
        return (
            "`{"
            + ", ".join(f"{key} = {json.dumps(v)}" for key, v in value.items())
            + "}`"
        )
    if isinstance(value, tuple):
        value = list(value)
    return f"`{json.dumps(value)}`"


def allowed(check):
    """What a key takes, in the words of its own error message."""
    try:
        check(object())
    except ValueError as error:
        return str(error)
    return "any text"


OTHER_CODES = {
    0: "Done.",
    1: "The answer is no: findings, `--check`.",
    70: "Something that should not happen did.",
    130: "Interrupted (Ctrl-C); the memory files are whole.",
    141: "The reader of a pipe went away (`mem list | head`).",
}


def exit_code_rows():
    """Every exit code with its meaning: those of the error classes, and the ones no
    error owns."""
    rows = dict(OTHER_CODES)
    for kind in _kinds(errors.MemError):
        rows[kind.code] = " ".join((kind.__doc__ or "").split())
    return dict(sorted(rows.items()))


def _kinds(kind):
    for sub in kind.__subclasses__():
        if sub.__module__ == errors.__name__:
            yield sub
            yield from _kinds(sub)


def asks():
    """What a language model is asked, and what that costs."""
    from tests.docs import asks as table

    _say(_table(table.HEADS, list(table.rows())))


def exit_codes():
    """The exit codes as a table."""
    rows = [(str(code), text) for code, text in exit_code_rows().items()]
    _say(_table(("code", "meaning"), rows))


def run_cog(*flags):
    """Run cog over the generated pages: `-r` rewrites them, `--check` tells whether they
    are up to date."""
    from cogapp import Cog

    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return int(Cog().main(["cog", *flags, *map(str, GENERATED)]) or 0)


def scripts():
    """Every completion script by its path."""
    folder = ROOT / "completions"
    found = program()
    made = {"mem.bash": bash(found), "_mem": zsh(found), "mem.fish": fish(found)}
    return {folder / name: text for name, text in made.items()}


HEAD = f"made by {REGENERATE}; static but for ids, because starting Python is slow"


def _kind(option):
    """What completes the value of an option: words, files, folders or nothing."""
    if option.values:
        return "words"
    return (
        "files"
        if option.takes in FILES
        else "folders"
        if option.takes in FOLDERS
        else "nothing"
    )


def _filled(shell, **values):
    """The template of a shell with its places filled."""
    text = Path(__file__).with_name(f"{shell}.template").read_text("utf-8")
    return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], text)


def bash(found):
    cases = "\n".join(_bash_case(command) for command in found)
    own = " ".join(name for option in own_options() for name in option.names)
    names = " ".join(command.name for command in found)
    keys = " ".join(VALUES["KEY=VALUE"])
    return _filled("bash", HEAD=HEAD, KEYS=keys, NAMES=f"{names} {own}", CASES=cases)


def _bash_case(command):
    arms = {}
    for option in command.options:
        if option.takes:
            arms.setdefault(_bash_value(option), []).extend(option.names)
    names = " ".join(name for option in command.options for name in option.names)
    if command.takes & FILES:
        rest = f'if [[ $cur == -* ]]; then _mem_words "{names}"; else _mem_files -f; fi'
    elif command.ids:
        given = f'_mem_ids "{command.ids}"'
        rest = f'if [[ $cur == -* ]]; then _mem_words "{names}"; else {given}; fi'
    else:
        words = next((VALUES[name] for name in command.takes if name in VALUES), ())
        rest = f'_mem_words "{" ".join((*words, names))}"'
    lines = [f"{' | '.join(given)}) {do} ;;" for do, given in arms.items()]
    inner = ["case $prev in", *lines, f"*) {rest} ;;", "esac", ";;"]
    return "\n".join([f"    {command.name})", *(f"        {line}" for line in inner)])


def _bash_value(option):
    if option.takes == "KEY=VALUE":
        return '_mem_words "$keys"'
    kind = _kind(option)
    if kind == "words":
        return f'_mem_words "{" ".join(option.values)}"'
    return {"files": "_mem_files -f", "folders": "_mem_files -d", "nothing": ":"}[kind]


def zsh(found):
    listed = "\n".join(
        f"        {_single(f'{c.name}:{_plain(c.short)}')}" for c in found
    )
    cases = "\n".join(_zsh_case(command) for command in found)
    own = " ".join(_zsh_option(option) for option in own_options())
    return _filled("zsh", HEAD=HEAD, LISTED=listed, OWN=own, CASES=cases)


def _zsh_case(command):
    specs = [_zsh_option(option) for option in command.options]
    if command.takes & FILES:
        specs.append("'*:file:_files'")
    elif command.ids:
        specs.append(f"'*:id:_mem_ids {command.ids}'")
    elif command.takes:
        name = next(iter(command.takes))
        words = f"({' '.join(VALUES[name])})" if name in VALUES else " "
        specs.append(f"'*:{name}:{words}'")
    body = " \\\n".join(f"                {spec}" for spec in specs)
    return f"        {command.name})\n            _arguments \\\n{body}\n            ;;"


def _zsh_option(option):
    text = (
        _plain(option.help).replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    )
    value = ""
    if option.takes:
        words = f"({' '.join(option.values)})"
        how = {
            "words": words,
            "files": "_files",
            "folders": "_files -/",
            "nothing": " ",
        }
        value = f":{option.takes}:{how[_kind(option)]}"
    if len(option.names) > 1:
        either = _single(f"({' '.join(option.names)})")
        return f"{either}{{{','.join(option.names)}}}{_single(f'[{text}]{value}')}"
    return _single(
        f"{'*' if option.many else ''}{option.names[0]}{'=' if value else ''}[{text}]{value}"
    )


def fish(found):
    lines = [
        "# fish completion for mem",
        f"# {HEAD}",
        "# To use it: copy this file to ~/.config/fish/completions/mem.fish",
        "",
        "complete -c mem -f",
        "",
        "function __mem_ids",
        "    mem $argv --quiet 2>/dev/null | cut -f1,5"
        " | string replace -rf '^(\\S{8})\\s+' '$1'\\t",
        "end",
        "",
    ]
    none = "complete -c mem -n __fish_use_subcommand"
    lines += [f"{none}{_fish_option(option)}" for option in own_options()]
    lines += [f"{none} -a {c.name} -d {_quoted(_plain(c.short))}" for c in found]
    for command in found:
        lines.append("")
        seen = f"complete -c mem -n '__fish_seen_subcommand_from {command.name}'"
        if command.takes & FILES:
            lines.append(f"{seen} -F")
        if command.ids:
            lines.append(f"{seen} -k -a '(__mem_ids {command.ids})'")
        words = next((VALUES[name] for name in command.takes if name in VALUES), ())
        if words:
            lines.append(f"{seen} -a '{' '.join(words)}'")
        lines += [seen + _fish_option(option) for option in command.options]
    return "\n".join(lines) + "\n"


def _fish_option(option):
    names = "".join(
        f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
        for name in option.names
    )
    value = {
        "words": f" -x -a '{' '.join(option.values)}'",
        "files": " -r -F",
        "folders": " -x -a '(__fish_complete_directories)'",
        "nothing": " -x",
    }[_kind(option)]
    return f"{names}{value if option.takes else ''} -d {_quoted(_plain(option.help))}"


def _plain(text):
    text = " ".join(text.split())
    return text if text.endswith("..") else text.removesuffix(".")


def _single(text):
    """A word of bash or zsh in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


def _quoted(text):
    """A word of fish in single quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def main():
    for path, text in scripts().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    return run_cog("-r")


if __name__ == "__main__":
    sys.exit(main())

"""The command line as a program: streams, exit codes, help."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.cli.program import GROUPS, commands, program
from memcli.cli.spellings import EARLIER, MOVED, rewritten
from tests.programs import finished
from tests.terminal import read_terminal

MEM = [sys.executable, "-m", "memcli"]
COMMANDS = list(commands())


@pytest.fixture
def many(project):
    """Entries enough that a list does not fit into a pipe."""
    text = "".join(
        project.entry(
            f"Entry number {number} with a long title " * 3, f"zebra {number}"
        )
        for number in range(800)
    )
    project.memory(text)
    return project


def on_tty(command, cwd, **env):
    """What a program prints on a terminal, without its talk."""
    return read_terminal(command, cwd, env=env, talk=False)


def test_auto_is_text_on_a_terminal_and_the_prompt_in_a_pipe(project):
    """The hits are the same; colour comes on a terminal only, and never with
    NO_COLOR."""
    project.remembers("Herd", "zebra")
    command = [*MEM, "recall", "zebra"]
    shown = on_tty(command, project.root)
    assert re.search(
        r"1\. \x1b\[1mHerd\x1b\[0m\n    \x1b\[2mprocedural, project, 20 days, MEMORY.md:\d+, id \w{8}, score \d\.\d\d\x1b\[0m",
        shown,
    )
    assert "recalled-memory" not in shown
    plain = on_tty(command, project.root, NO_COLOR="1")
    assert "\x1b" not in plain
    assert " 1. Herd\n" in plain
    piped = project.shell("recall", "zebra").out
    assert piped.startswith("<recalled-memory>\n")
    assert piped.endswith("</recalled-memory>\n")
    assert "\x1b" not in project.shell("recall", "zebra", "--format", "text").out


def test_a_terminal_gets_no_escapes_from_files(project):
    """list, show and the diff of add print no escape sequence of a memory file."""
    project.remembers("Herd \x1b]0;evil\x07", "zebra \x1b[2J", id="9f9f9f9f-x")
    for args in (
        ["list"],
        ["show", "9f9f"],
        ["add", "New", "--dry-run"],
        ["recall", "zebra"],
    ):
        shown = on_tty([*MEM, *args], project.root, NO_COLOR="1")
        assert "\x1b" not in shown and "\x07" not in shown, args


def test_a_reader_that_leaves_is_no_error(many):
    """`mem list | head -1` prints one line and nothing on stderr."""
    for args in ("list", "recall zebra --max-tokens 0 --limit 1000", "list --json"):
        script = f"{' '.join(MEM)} {args} | head -1"
        process = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script],
            cwd=many.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.stderr == ""
        assert process.stdout.count("\n") == 1
        assert process.returncode == 141


def test_a_closed_or_full_stdout_is_named_without_a_traceback(many):
    """/dev/full is a refusal, exit 5; a closed stdout or stderr is borne."""
    for redirect, code in ((">/dev/full", 5), (">&-", 0), ("2>&-", 0), ("<&-", 0)):
        script = f"{' '.join(MEM)} list {redirect}"
        process = finished("bash", "-c", script, code=code, cwd=many.root)
        assert "Traceback" not in process.stderr
        assert "Exception" not in process.stderr
        assert ("what was written stands" in process.stderr) is bool(code)
    process = subprocess.run(
        ["bash", "-c", f"{' '.join(MEM)} recall - <&-"],
        cwd=many.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr[:4]) == (2, "mem:")


@pytest.mark.parametrize(("how", "code"), [("SIG_DFL", 130), ("SIG_IGN", 0)])
def test_ctrl_c_is_130_and_quiet(project, how, code):
    """An interrupt while standard input is awaited, without a traceback; one that
    whoever started the program has switched off, as a shell does for what runs in the
    background, is none."""
    project.memory("text\n")
    set_up = f"import os, signal; signal.signal(signal.SIGINT, signal.{how})"
    begin = f"{set_up}; os.execv({sys.executable!r}, {[*MEM, 'recall', '-']!r})"
    running = subprocess.Popen(
        [sys.executable, "-c", begin],
        cwd=project.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdin
        running.stdin.write(
            "x " * 100_000
        )  # more than a pipe holds: then the program is reading
        running.stdin.flush()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        assert (running.returncode, "Traceback" in said) == (code, False)
        assert code == 0 or said.strip() == ""
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize(
    "line",
    """recall
nope
--nope
list extra
show
recall x --nope
recall x --limit
recall x --limit many
recall x --limit 0
recall x --max-tokens -5
recall x --set nope=1
recall x --set decay
recall x --root /no/such""".splitlines(),
)
def test_wrong_usage_is_exit_2_with_a_hint(project, line):
    """Unknown commands, options and values are named, with the next command."""
    result = project.mem(*line.split())
    assert (result.code, result.out) == (2, "")
    assert re.fullmatch(r"mem: [^\n]+\nhint: [^\n]+\n", result.err), result.err


def test_the_help_lists_every_command_once_the_daily_ones_first(project):
    """Those for every day with what they do, the others by name; mem help explains
    each."""
    out = project.mem("--help").out
    listed = out.partition("Everyday:")[2].partition("mem help")[0]
    assert "recall" in listed.split("\n")[1]
    for title, names in GROUPS.items():
        assert f"{title}:" in out
        assert all(re.search(rf"\s{name}\s", listed) for name in names.split())
    explained = project.mem("help").out
    assert re.findall(r"^  ([a-z][a-z-]+)  ", explained, re.MULTILINE) == COMMANDS
    assert "..." not in explained.partition("Everyday:")[2]


@pytest.mark.parametrize(
    ("args", "allowed"),
    [
        (["recall", "x", "--limit"], "a whole number from 1 to 1000"),
        (["recall", "x", "--json", "--max-tokens"], "a whole number from 0 to 1000000"),
        (["list", "--limit"], "a whole number from 1 to 1000000"),
        (["edit", "x", "--importance"], "a number from 0 to 1"),
    ],
)
@pytest.mark.parametrize("value", ["abc", "-1", "nan"])
def test_a_number_that_cannot_be_used_is_answered_alike(project, args, allowed, value):
    """The option with what was given, what is allowed, exit 2; it does not matter why
    it does not fit."""
    result = project.mem(*args, value)
    assert (result.code, result.out) == (2, "")
    assert (
        result.err == f"mem: {args[-1]} {value}: not a valid value\nhint: {allowed}\n"
    )


@pytest.mark.parametrize(
    ("shell", "name"), [("bash", "mem.bash"), ("zsh", "_mem"), ("fish", "mem.fish")]
)
def test_completion_prints_the_script(project, shell, name):
    """What the repository keeps for that shell; another shell is a usage error."""
    script = (Path(__file__).parents[2] / "completions" / name).read_text(
        encoding="utf-8"
    )
    assert project.mem("completion", shell)[:] == (0, script, "")
    assert project.mem("completion", shell, "--json").json["script"] == script
    assert (
        project.mem("completion", "csh").err
        == "mem: shell csh: unknown shell\nhint: one of bash, zsh, fish\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_every_option(name, project):
    """`mem COMMAND --help` (and -h) fits 24 lines of 80 columns and mentions each
    option; `mem help` says what each is for."""
    result = project.mem(name, "--help", env={"COLUMNS": "80"})
    lines = result.out.split("\n")
    assert len(lines) <= 25 and max(map(len, lines)) <= 80, result.out
    assert result.code == 0
    assert result.err == ""
    assert project.mem(name, "-h", env={"COLUMNS": "80"}).out == result.out
    command = program(name).commands[name]
    explained = " ".join(project.mem("help", name).out.split())
    for parameter in command.params:
        if type(parameter).__name__.endswith("Option"):
            assert all(option in result.out for option in parameter.opts), (
                parameter.name
            )
            assert parameter.help, parameter.name
            assert parameter.help.split(". ")[0] in explained, parameter.name
    assert "Usage: mem " + name in result.out


@pytest.mark.parametrize(
    "args",
    [
        ["list"],
        ["recall", "zebra"],
        ["recall", "zebra", "--json"],
        ["show", "--json", "9f9f"],
    ],
)
def test_stdout_is_the_answer_and_stderr_is_talk(project, args):
    """A note about the index goes to stderr; stdout is the same as without it."""
    project.remembers("Herd", "zebra", id="9f9f9f9f-x")
    clean = project.mem(*args)
    project.index_file.write_bytes(b"garbage " * 1000)
    noted = project.mem(*args)
    assert noted.out == clean.out
    assert clean.err == ""
    assert "index" in noted.err


@pytest.mark.parametrize(
    ("line", "now"),
    [
        ("recall carts --no-refresh", "recall carts --set refresh=false"),
        ("recall carts --no-global --exit-code", ""),
        ("list --recent 3", "list --limit 3"),
        ("add Tabs --priority=high", "add Tabs --importance high"),
        ("edit 12ab --guard ask", "guard 12ab --ask"),
        ("edit 12ab --guard deny", "guard 12ab"),
        ("edit 12ab --guard=off", "guard 12ab --off"),
        ("edit 12ab --remove-path src/*", "edit 12ab --path !src/*"),
        ("guard --try-file src/a.py", "guard --try src/a.py"),
        ("reinforce --rate 12ab=good", "reinforce 12ab=good"),
        ("reinforce --success 12ab", "reinforce 12ab=worked"),
        ("compact --contradictions decay", "compact --set contradictions=decay"),
        ("health --min 50", "health --check --set health_min=50"),
        ("export --target claude", "export claude"),
        ("init --home-git URL", "sync --git URL"),
    ],
)
def test_a_line_with_options_of_before_goes_on_to_work(project, line, now):
    """It is written over, and said how it is written now; nothing else is guessed."""
    command, *words = line.split()
    option = next(word.partition("=")[0] for word in words if word[:2] == "--")
    if now:
        form = EARLIER[command][option]
        assert rewritten([command, *words], option, form) == now.split()
    if command in ("recall", "list", "export", "health"):
        result = project.mem(command, *words)
        assert result.code in (0, 1), result
        assert f"{option} is now written " in result.err


def test_an_option_that_cannot_be_written_over_is_named(project):
    result = project.ends(2, "recall", "carts", "--ids-out", "ids.txt")
    assert "hint: it is now mem recall --json" in result.err


def test_who_asks_for_a_format_is_pointed_at_json(project):
    """Where the command can write it; one that cannot points at its help."""
    result = project.ends(2, "list", "--format", "json")
    assert result.err.endswith("hint: mem list --json\n"), result
    result = project.mem("help", "--format", "json")
    assert "--json" not in result.err, result


def test_the_option_of_another_command_is_no_hint(project):
    """What `mem reinforce` or `mem extract` once had says nothing of `mem undo`."""
    elsewhere = {**EARLIER["extract"], **MOVED["reinforce"], **MOVED["guard"]}
    for option in elsewhere:
        result = project.ends(2, "undo", option)
        assert result.err.startswith(f"mem: no such option: {option}"), result
        assert result.err.endswith("hint: mem undo --help\n"), result


def test_no_option_of_before_is_an_option_of_now():
    """The table names only what is gone, and there are no more options than a person
    reads."""
    made = program()
    names = {
        name
        for command in made.commands.values()
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }
    for forms in MOVED.values():
        assert not names & forms.keys()
    for command, forms in EARLIER.items():
        taken = {name for param in made.commands[command].params for name in param.opts}
        assert not taken & forms.keys()
    assert len(names) <= 80

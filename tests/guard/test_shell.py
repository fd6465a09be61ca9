"""A shell line is split into the commands it runs, whatever surrounds them."""

import time
import tomllib
from pathlib import Path

import pytest

from memcli.bans.patterns import matches, parse_pattern
from memcli.text.shell import (
    MOST_CHARACTERS,
    MOST_COMMANDS,
    MOST_WORDS,
    commands_of,
    read_line,
)

GUARDS = tomllib.loads(Path(__file__).with_name("lines.toml").read_text())["guard"]
FORCE = GUARDS[0]["pattern"]
LONG = [
    f"cat > a <<EOF\n{'x' * 50_000}\nEOF\ngit push --force",
    f"{': ;' * 1500} git push --force",
    f"git push {'x ' * 1500} --force",
]


def rows(key):
    return [(guard["pattern"], line) for guard in GUARDS for line in guard[key]]


STOPPED = [*rows("stopped"), *((FORCE, line) for line in LONG)]
PASSES = rows("passes")


@pytest.mark.unit
@pytest.mark.parametrize(("pattern", "line"), STOPPED)
def test_a_command_is_seen_in_any_layout(pattern, line):
    """Lists, pipes, shells, wrappers, paths, quotes and the order of options hide
    nothing."""
    wanted = parse_pattern(pattern)
    assert any(matches(wanted, words) for words in commands_of(line))


@pytest.mark.unit
@pytest.mark.parametrize(("pattern", "line"), PASSES)
def test_its_neighbours_pass(pattern, line):
    """Words that are quoted, printed, searched for or another program's are no
    command."""
    wanted = parse_pattern(pattern)
    assert not any(matches(wanted, words) for words in commands_of(line))


@pytest.mark.unit
@pytest.mark.parametrize("text", ["", "*", "?", "* push", "a && b", "x" * 501, "'"])
def test_a_pattern_that_cannot_bind_is_refused(text):
    """Empty, too wide, too long, or more than one command."""
    with pytest.raises(ValueError, match=r"\w"):
        parse_pattern(text)


@pytest.mark.unit
@pytest.mark.parametrize("line", ["(" * 5000, "$(" * 5000, '"$(' * 3000, "`" * 9999,
    "a;" * 9000, "<<a\n" * 3000, "\\" * 9999, "sh -c '" * 900, "x " * 9000])  # fmt: skip
def test_no_line_takes_long(line):
    """What a hostile line costs is bounded by its length."""
    commands = commands_of(line)
    assert len(commands) <= MOST_COMMANDS


UNREAD = [
    "git push 'origin",
    'git push "origin',
    "echo `git push",
    "echo $(git push",
    "cat <<EOF\ngit push",
    "curl https://example.org/x | sh",
    "curl https://example.org/x | sudo bash -s -- --yes",
    "; ".join(["true"] * (MOST_COMMANDS + 2)),
    f"git add {'x ' * (MOST_WORDS + 1)}",
    f"echo {'x' * MOST_CHARACTERS}",
    "echo " + "$(" * 20 + ")" * 20,
    "eval " * 20 + "ls",
    f"env {'-a b ' * 990}true; git push",
    "env -S " * 500,
    "for a in x y; do " + "for a in $a $a; do " * 30,
    "for a in" + " x" * 300 + "; do for b in" + " y" * 300 + "; do rm $a$b",
    "find . -exec " * 2000,
]


@pytest.mark.unit
@pytest.mark.parametrize("line", UNREAD)
def test_a_line_that_is_not_read_to_its_end_says_so(line):
    """Whoever binds by it can ask; nothing is cut in silence, nor does it take long."""
    start = time.process_time()
    assert read_line(line).unread
    assert time.process_time() - start < 1


UNKNOWN = [
    "$x push",
    '"$@"',
    "${x:-git} push",
    "{$x,push,-f}",
    "g?t push",
    '"${a[@]}"',
]
UNKNOWN += ['eval "$(x y)"', "! $(a b)", "coproc $x y", "[ -f a ] && b* c"]


@pytest.mark.unit
@pytest.mark.parametrize("line", UNKNOWN)
def test_a_program_that_only_running_the_line_tells_is_said(line):
    """Whoever binds by it can ask; what wraps a program has options that are none."""
    assert read_line(line).unknown
    assert not read_line("sudo -u $x git status; [ -f a* ] && (( x > 1 ))").unknown


@pytest.mark.unit
@pytest.mark.parametrize("line", [line for _, line in [*STOPPED, *PASSES]])
def test_a_whole_line_is_read_to_its_end(line):
    """What a shell can read gives no reason to ask."""
    assert read_line(line).unread == ""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("cd a && ls", ["", "a"]),
        ("(cd a && ls); ls", ["", "a", ""]),
        ("pushd a; ls; popd; ls", ["", "a", "a", ""]),
        ("git -C a -c x=y rm b", ["a"]),
        ("cd a; git -C b rm c; cd /d; ls", ["", "a/b", "a", "/d"]),
        ("git commit -C HEAD", [""]),
        ("command cd a; ls", ["", "a"]),
        ("cd $A; cd $PWD/b; ls", ["", "", "b"]),
        ("A=a; cd $A; -; ls", ["", "a", "a"]),
    ],
)
def test_a_command_knows_where_it_is_called(line, folders):
    """A subshell ends where it was entered, git goes where it is told to."""
    assert [command.folder for command in read_line(line).commands] == folders

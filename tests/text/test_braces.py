"""Braces in a word of a shell line stand for the words that Bash makes of them."""

import shutil
import subprocess

import pytest

from memcli.text.shell import commands_of, read_line

LINES = {
    "a{b,c}d": ["abd", "acd"],
    "{,git} push": ["git", "push"],
    "git {,push}": ["git", "push"],
    "{,} a{,} {,,}": ["a", "a"],
    "''{,a} {,''}": ["", "a", ""],
    """{"",'a',$'',b}""": ["", "a", "", "b"],
    "'{a,b}' {'a,b',c} \\{a,b}": ["{a,b}", "a,b", "c", "{a,b}"],
    "{a,{b,c}} {a{b,c}}": ["a", "b", "c", "{ab}", "{ac}"],
    "{a,b}{c,d}": ["ac", "ad", "bc", "bd"],
    "{x,{a,b} {a,b}} {a,b{c}": ["{x,a", "{x,b", "a}", "b}", "{a,b{c}"],
    "{} {a} {a,b a,b}": ["{}", "{a}", "{a,b", "a,b}"],
    "{},a} {a},b} x{},a}": ["{},a}", "a}", "b", "x}", "xa"],
    "{0..3} {3..1} {2..2}": ["0", "1", "2", "3", "3", "2", "1", "2"],
    "{1..03} {01..2} {00..1}": ["01", "02", "03", "01", "02", "00", "01"],
    "{-1..1} {-01..1}": ["-1", "0", "1", "-01", "000", "001"],
    "{1..5..2} {5..1..-2} {1..2..0}": ["1", "3", "5", "5", "3", "1", "1", "2"],
    "{a..c} {c..a..2} {+1..2}": ["a", "b", "c", "c", "a", "1", "2"],
    "{1..2}{,x} {{1..2},a}": ["1", "1x", "2", "2x", "1", "2", "a"],
    "{1'..'2} {1..} {..2} {a..b,c}": ["{1..2}", "{1..}", "{..2}", "a..b", "c"],
    "{{a,b}..c}": ["a..c", "b..c"],
    "x={a,b} then={a,b}": ["x=a", "x=b", "then=a", "then=b"],
}


@pytest.mark.parametrize(("line", "words"), LINES.items())
def test_braces_are_words(line, words):
    """Of what is empty only that which is quoted is one."""
    assert commands_of(f"printf {line}") == [("printf", *words)]


@pytest.mark.skipif(not shutil.which("bash"), reason="Bash is not installed")
def test_bash_makes_the_same_words():
    """What the table says is what Bash does."""
    script = "\n".join(f"printf '<%s>' {line}; echo" for line in LINES)
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    wanted = ["".join(f"<{word}>" for word in words) for words in LINES.values()]
    assert printed.stdout.splitlines() == wanted


@pytest.mark.parametrize("written", ["{1..900}", "{a..9}", "{1..99999999999}"])
def test_a_range_that_is_not_counted_is_any_text(written):
    """A long one, and one whose ends are not of one kind."""
    assert commands_of(f"rm {written}") == [("rm", "*")]


@pytest.mark.parametrize(
    "line",
    [
        "x={a,b}; rm $x",
        "! x={a,b} y={c,d}; rm $x",
        "if x={a,b}; then rm $x; fi",
        "> log x={a,b}; rm $x",
    ],
)
def test_an_assignment_is_one_word(line):
    """Its braces stay, wherever a command may begin; behind a program it is a word."""
    assert ("rm", "{a,b}") in commands_of(line)


def test_what_a_redirection_reads_is_one_word():
    """The end of a here-document, and a text that is given."""
    [command] = read_line("python3 <<< {a,b}").commands
    assert command.given == "{a,b}"
    assert commands_of("cat <<{a,b}\na\n{a,b}\nls") == [("cat",), ("ls",)]


@pytest.mark.parametrize(
    "unit", ["{", "{}", "{a,", "{a,b}", "{{a,b}", "{..", "a}", ","]
)
def test_no_word_takes_long(unit):
    """Words are read in one pass; where they stand for too many, that is said."""
    reading = read_line(f"ls {{{unit * 30_000}}}")
    assert reading.unread or len(reading.commands[0].words) < 2_002
    assert read_line(f"ls {'x' * 100_000}{{{'a,' * 1_000}}}").unread

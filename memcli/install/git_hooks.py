"""mem's sections in other people's files, and the one in a git hook. Pure: text in,
text out. In a hook it comes first, because an earlier `exec` or `exit` would skip
it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memcli.errors import UsageError

TITLE = "mem: begin (mem init; remove with mem init --remove)"
OWN = " *"  # in the first line: the file was made for the section and goes with it
GLUE = "+"  # in the first line, once for each line end before it that is ours, too


class Marks(NamedTuple):
    """How to write the first and last line of a section as comments."""

    open: str = "# "
    close: str = ""
    title: str = TITLE
    last: str = "mem: end"

    @property
    def end(self) -> str:
        """The last line of the section."""
        return f"{self.open}{self.last}{self.close}"

    def begin(self, glue: int = 0, *, is_own_file: bool = False) -> str:
        """The first line of the section; `glue` counts the line ends added before it,
        `is_own_file` says that mem created the file."""
        plus = " " + GLUE * glue if glue else ""
        return f"{self.open}{self.title}{OWN if is_own_file else ''}{plus}{self.close}"


HASH = Marks()
HTML = Marks("<!-- ", " -->")
EXPORTED = "mem: export begin (written by mem export; what stands in it is replaced)"
EXPORT = HTML._replace(title=EXPORTED, last="mem: export end")


class Found(NamedTuple):
    """The position of a section, from the line ends added before it to the end of its
    last line."""

    start: int
    begin: int
    end: int
    glue: int
    own: bool


def find(text: str, marks: Marks = HASH) -> Found | None:
    """The first section of mem in `text`. Raises UsageError if its end is missing."""
    title = re.escape(marks.open + marks.title)
    head = rf"{title}( \*)?(?: (\++))?{re.escape(marks.close)}"
    first = re.search(rf"^{head}\r?$", text, re.MULTILINE)
    if not first:
        return None
    tail = re.compile(rf"^{re.escape(marks.end)}\r?(?:\n|\Z)", re.MULTILINE)
    last = tail.search(text, first.end())
    between = text[first.end() : last.start()] if last else ""
    if not last or re.search(rf"^{head}", between, re.MULTILINE):
        line = text.count("\n", 0, first.start()) + 1
        message = f"{line}: a section of mem without its end"
        raise UsageError(message, f"add the line {marks.end}")
    start = first.start()
    glue = len(first[2] or "")
    for _ in range(glue):
        if text.endswith("\n", 0, start):
            start -= 2 if text.endswith("\r\n", 0, start) else 1
    return Found(
        start=start, begin=first.start(), end=last.end(), glue=glue, own=bool(first[1])
    )


def lines_of(text: str | None) -> list[str]:
    """The lines of the section."""
    text = text or ""
    section = find(text)
    if section is None:
        return []
    return text[section.begin : section.end].splitlines()[1:-1]


def put(
    text: str | None,
    lines: Sequence[str],
    marks: Marks = HASH,
    *,
    at: int = -1,
    blank: bool = False,
) -> str:
    """`text` with one section of `lines`; a new one is inserted at offset `at`, else at
    the end."""
    script = text or ""
    line_end = "\r\n" if "\r\n" in script else "\n"
    section = find(script, marks)
    if section is not None:
        before = script[: section.begin]
        after = drop(script[section.end :], marks) or ""
        begin = marks.begin(section.glue, is_own_file=section.own)
    else:
        at_end = at < 0
        before = script if at_end else script[:at]
        after = "" if at_end else script[at:]
        glue = _glue(before, blank=blank and at_end)
        begin = marks.begin(glue, is_own_file=text is None)
        before += line_end * glue
    return before + line_end.join([begin, *lines, marks.end, after])


def _glue(before: str, *, blank: bool) -> int:
    """How many line ends a section needs before it, with a `blank` line or without."""
    if not before:
        return 0
    ends = 0 if before.endswith("\n") else 1
    return ends + 1 if blank else ends


def drop(text: str, marks: Marks = HASH) -> str | None:
    """`text` as it was before `put`; None if the file was created for the section and
    is empty."""
    while (section := find(text, marks)) is not None:
        joined = text[section.end :] and not text.endswith("\n", 0, section.start)
        text = text[: section.begin if joined else section.start] + text[section.end :]
        if section.own and not text:
            return None
    return text


SHEBANG = "#!/bin/sh"
SHELLS = "sh bash dash ash ksh zsh busybox".split()
HOOKS = ("post-merge", "post-rewrite", "post-commit")
SECONDS = 20  # after this time git continues without mem, if the system has `timeout`
_PROGRAM = re.compile(r"^ {2}set -- (\S+) hook ", re.MULTILINE)


def hook_lines(hook: str) -> tuple[str, ...]:
    """The lines of the section; it clears the variables by which git passes its
    repository to a hook."""
    return (
        "(",
        f'  set -- mem hook git-{hook} "$@"',
        '  command -v "$1" >/dev/null 2>&1 || exit 0',
        "  unset $(git rev-parse --local-env-vars)",
        f'  if command -v timeout >/dev/null 2>&1; then set -- timeout {SECONDS} "$@"; fi',
        '  "$@"',
        ") </dev/null >&2 2>/dev/null || :",
    )


def runs_shell(text: str) -> bool:
    """Whether a hook is a shell script; the shell also runs one without a `#!` line."""
    first = text.split("\n", 1)[0]
    if not first.startswith("#!"):
        return "\0" not in text
    words = first[2:].replace("\\", "/").split()
    names = [word.rsplit("/", 1)[-1].removesuffix(".exe") for word in words]
    named = [name for name in names if name != "env" and not name.startswith("-")]
    return bool(named) and named[0] in SHELLS


def with_section(text: str | None, hook: str) -> str:
    """The hook with one section of mem below its first line; None if there is no hook
    yet."""
    if text is None:
        return f"{SHEBANG}\n{put(None, hook_lines(hook))}"
    first = text.split("\n", 1)[0]
    at = min(len(first) + 1, len(text)) if first.startswith("#!") else 0
    return put(text, hook_lines(hook), at=at)


def without_section(text: str) -> str | None:
    """The hook without the section; None if nothing else was in it."""
    found = find(text)
    rest = drop(text)
    alone = found is not None and found.own and (rest or "").strip() in ("", SHEBANG)
    return None if alone else rest


def program_of(text: str) -> str | None:
    """The program that mem's section calls, None if there is no section or it was
    changed."""
    found = find(text)
    named = _PROGRAM.search(text, found.begin, found.end) if found is not None else None
    return named[1] if named is not None else None

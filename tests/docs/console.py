"""The console blocks of a page: what they say, and what really happens.

A block is fenced as `console`: lines that begin with `$ ` are commands, those with `> `
right below go on with them, the others are what is to be seen. There, `...` stands for
any text, and alone on a line for any lines."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "example"
TODAY = "2026-11-21"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END = "<end of command>"


class Step(NamedTuple):
    """One command, the page's line that it stands in, and what should be seen."""

    line: int
    command: str
    expected: str


def steps(page):
    """The commands of all console blocks of a page, in order."""
    found = []
    for block in _BLOCK.finditer(page):
        first = page.count("\n", 0, block.start(1)) + 1
        command = ""
        seen = []
        at = 0
        for number, line in enumerate(block[1].splitlines(), first):
            if line.startswith("$ "):
                if command:
                    found.append(Step(at, command, "\n".join(seen)))
                command = line[2:]
                seen = []
                at = number
            elif line.startswith("> ") and not seen:
                command += "\n" + line[2:]
            else:
                seen.append(line)
        found.append(Step(at, command, "\n".join(seen)))
    return found


def run(commands, folder, environ):
    """What each command prints (stdout and stderr), all in one shell that starts in
    `folder`."""
    script = "\n".join(f"{command}\nprintf '%s\\n' '{_END}'" for command in commands)
    process = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=folder,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    parts = process.stdout.split(f"{_END}\n")
    assert len(parts) == len(commands) + 1, (
        f"the shell stopped early:\n{process.stdout}{process.stderr}"
    )
    return [part.rstrip("\n") for part in parts[:-1]]


def world(folder):
    """A copy of the example in `folder`, `mem` on the PATH, and a home of its own: the
    environment."""
    shutil.copytree(
        EXAMPLE,
        folder / "docs" / "example",
        ignore=shutil.ignore_patterns(".memory.db*"),
    )
    (folder / "bin").mkdir()
    (folder / "home").mkdir()
    (folder / "home" / ".gitconfig").write_text(
        "[user]\n\tname = you\n\temail = you@example.org\n"
    )
    mem = folder / "bin" / "mem"
    mem.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
    mem.chmod(0o755)
    names = {
        name: str(folder / "xdg" / name)
        for name in ("config", "state", "cache", "data")
    }
    return {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "MEM_HOME": "",
        "MEM_NOW": TODAY,
        "MEM_HOOK_SECONDS": "600",
        # the same with and without the extra; a page says so where it wants vectors
        "MEM_EMBEDDER": "none",
        **{f"XDG_{name.upper()}_HOME": path for name, path in names.items()},
    }


def pattern(expected):
    """What is to be seen as a regular expression."""
    lines = []
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*?".join(map(re.escape, line.split("..."))) + r"\n")
    return re.compile("".join(lines))


def matches(expected, seen):
    """Whether a command showed what the page says."""
    return bool(pattern(expected).fullmatch(seen + "\n"))


def compare(page, folder):
    """Run the commands of a page in a copy of the example; a description of every
    difference."""
    wanted = steps(page)
    actual = run([step.command for step in wanted], folder, world(folder))
    return [
        f"line {step.line}: $ {step.command}\n--- expected\n{step.expected}\n--- seen\n{seen}"
        for step, seen in zip(wanted, actual, strict=True)
        if not matches(step.expected, seen)
    ]


def renewed(page, folder):
    """`page` with what its commands really print, where that differs from what it says.

    What was cut with a last line `...` is cut after as many lines again; a line that
    fits one with `...` inside stays as it was, and so does `id ...)`."""
    wanted = steps(page)
    actual = run([step.command for step in wanted], folder, world(folder))
    lines = page.splitlines()
    for step, seen in reversed(list(zip(wanted, actual, strict=True))):
        if not matches(step.expected, seen):
            start = step.line + step.command.count("\n")
            end = start + len(step.expected.splitlines())
            lines[start:end] = _cut(seen.replace(str(folder), "..."), step.expected)
    return "\n".join(lines) + "\n"


def _cut(seen, expected):
    lines = seen.splitlines()
    before = expected.splitlines()
    if before and before[-1].strip() == "..." and len(lines) >= len(before):
        lines = [*lines[: len(before) - 1], "..."]
    masked = [line for line in before if "..." in line and line.strip() != "..."]
    if "id ...)" in expected:
        lines = [re.sub(r"\bid [0-9a-f]{8}\)", "id ...)", line) for line in lines]
    return [_as_masked(line, masked) for line in lines]


def _as_masked(line, masked):
    """The line as the page has it, where something in it stands for any text."""
    return next((old for old in masked if matches(old, line)), line)


def main(paths):
    """`python -m tests.docs.console README.md docs/guide.md` rewrites what their
    commands print."""
    import tempfile

    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            page = path.read_text(encoding="utf-8")
            new = renewed(page, Path(folder))
        path.write_text(new, encoding="utf-8")
        print(f"{path}: {'changed' if new != page else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

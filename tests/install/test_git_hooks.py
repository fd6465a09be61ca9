"""Our section in a git hook: above whatever ends the script, and out again without a
trace."""

import os
import subprocess

import pytest

from memcli.errors import UsageError
from memcli.install import git_hooks

THEIRS = {
    "none": None,
    "empty": "",
    "first line alone": "#!/bin/sh\n",
    "exec": '#!/usr/bin/env bash\n# made by a tool\nset -e\nexec other "$@"\n',
    "exec in a branch": '#!/bin/sh\nif true; then\n    exec other "$@"\nfi\nexit 1\n',
    "no first line": "npm test\n",
    "no last end": "#!/bin/sh\necho hi",
    "CRLF": "#!/bin/sh\r\necho hi\r\n",
}


@pytest.mark.parametrize("text", THEIRS.values(), ids=THEIRS.keys())
def test_in_twice_and_out_is_as_before(text):
    """The second time changes nothing; a new program replaces the old one; removal is
    exact."""
    once = git_hooks.with_section(text, "post-merge")
    assert git_hooks.with_section(once, "post-merge") == once
    assert git_hooks.without_section(once) == text
    older = once.replace("set -- mem", "set -- /opt/mem")
    assert (git_hooks.program_of(once), git_hooks.program_of(older)) == (
        "mem",
        "/opt/mem",
    )
    assert git_hooks.with_section(older, "post-merge") == once
    assert (
        "\n" not in once.replace("\r\n", "")
        if "\r\n" in (text or "")
        else "\r" not in once
    )


def test_it_stands_above_what_ends_the_script():
    """Above any exec, also one inside a branch, and below the line that names the
    interpreter."""
    for name in ("exec", "exec in a branch"):
        text = THEIRS[name] or ""
        after = git_hooks.with_section(text, "post-merge")
        assert after.index(git_hooks.HASH.begin()) == text.index("\n") + 1
        assert after.index(git_hooks.HASH.end) < after.index("exec other")


def test_a_section_without_its_end_is_refused_with_its_line():
    """Nobody knows where it ends: better said than guessed."""
    text = f"#!/bin/sh\n\n{git_hooks.HASH.begin()}\necho\n"
    with pytest.raises(UsageError, match=r"^3: "):
        git_hooks.with_section(text, "post-merge")


@pytest.mark.parametrize(
    ("text", "shell"),
    [
        ("#!/bin/sh\n", True),
        ("#!/usr/bin/env bash\n", True),
        ("#! /bin/dash -e\n", True),
        ("echo\n", True),
        ("#!/usr/bin/env -S zsh -f\n", True),
        ("#!C:/Git/bin/sh.exe\n", True),
        ("", True),
        ("#!/usr/bin/env python3\n", False),
        ("#!/usr/bin/node\n", False),
        ("#!/usr/bin/fish\n", False),
        ("\0ELF", False),
        ("#!\n", False),
    ],
)
def test_only_shell_scripts_get_a_section(text, shell):
    """A hook in another language would break by it."""
    assert git_hooks.runs_shell(text) is shell


@pytest.fixture
def fake(tmp_path):
    """A program in a folder with a blank: it notes its call, speaks on both streams,
    and fails."""
    path = tmp_path / "a b" / "mem"
    path.parent.mkdir()
    path.write_text(
        '#!/bin/sh\nprintf "%s|" "$@" > "$OUT"\nenv >> "$OUT"\ncat >> "$OUT"\n'
        "echo report\necho noise >&2\nexit 3\n"
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "ksh"])
def test_what_it_does_in_a_real_shell(fake, tmp_path, shell):
    """Arguments arrive, git's variables and stdin do not; the report is shown, errors
    are not, and the rest of the script runs although mem failed, with `set -e` too."""
    hook = tmp_path / "hook"
    text = git_hooks.with_section("cat\necho after\n", "post-merge")
    hook.write_text(text)
    path = f"{fake.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {
        "PATH": path,
        "OUT": str(tmp_path / "out"),
        "GIT_DIR": "/no",
        "GIT_INDEX_FILE": "x",
    }
    words = [shell, "-e", str(hook), "1", "b c"]
    standard_input = b"for the hook\n"
    try:
        process = subprocess.run(
            words, env=os.environ | environ, input=standard_input, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip(f"no {shell} here")
    assert (process.returncode, process.stdout, process.stderr) == (
        0,
        b"for the hook\nafter\n",
        b"report\n",
    )
    noted = (tmp_path / "out").read_text()
    assert noted.startswith("hook|git-post-merge|1|b c|")
    assert (
        "GIT_DIR" not in noted
        and "GIT_INDEX_FILE" not in noted
        and "for the hook" not in noted
    )

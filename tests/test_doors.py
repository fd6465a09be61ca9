"""Files are read and written, and patterns matched, through the doors: storage/files.py
and storage/durable.py, project/globs.py. Every other place gives its reason here."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "memcli"
DOORS = {"storage/files", "storage/durable", "project/globs"}
CALLS = set(
    """open read_text read_bytes write_text write_bytes fnmatch fnmatchcase translate
    glob rglob walk GitIgnoreSpec PathSpec mkdtemp""".split()
)

# Module -> the calls it makes itself, and why they do not go through a door. This list
# only shrinks.
EXCEPTIONS = {
    "text/matching": ({"read_text"}, "the data files of the package"),
    "project/git": ({"open"}, "files below .git"),
    "commands/merge_driver": (
        {"open", "read_bytes", "write_bytes"},
        "git's temporary files, which git itself names",
    ),
    "project/text_merge": ({"write_bytes"}, "texts for git in a private folder"),
    "install/targets": ({"read_text"}, "lists and copies in the user's state folder"),
    "project/distribution": ({"read_text"}, "how this program was installed"),
    "cli/boundary": ({"open"}, "os.devnull"),
    "cli/program": ({"write_text"}, "the formatter's own method"),
    "commands/edit": ({"mkdtemp"}, "a private copy for the user's editor"),
    "project/roots": ({"glob", "read_bytes"}, "git's own files"),
    "commands/history": ({"glob"}, "records in the state folder"),
    "commands/forget": ({"glob"}, "pages in the user's cache"),
    "diagnostics/installation": ({"glob"}, "records in the user's state folder"),
    "commands/export": ({"glob"}, "a folder that the user names"),
    "guard/pushes": ({"rglob"}, "the branches, in git's own folder"),
    "hooks/late": ({"read_text", "write_text"}, "the user's state folder"),
    "hooks/protocol": ({"open"}, "os.devnull, and what the system says of the process"),
    "commands/completion": ({"read_text"}, "the package's own completions"),
    "providers/llm/__init__": ({"read_text"}, "the replies that the user's file names"),
    "sessions/discover": ({"glob"}, "the agents' own stores in the user's home"),
    "sessions/reader": ({"open"}, "decompresses what a door has opened"),
    "exchange/rule_places": (
        {"walk"},
        "a folder that the user names; links are not followed",
    ),
    "exchange/branch_diff": (
        {"mkdtemp", "write_text"},
        "lays memory files of git out in the user's cache",
    ),
    "views/page": ({"open"}, "a page in the user's browser"),
    "diagnostics/fixes": ({"glob"}, "journals in the user's state folder"),
}


def calls(module):
    """The names of the calls of a module that reach for a file or a pattern by
    themselves.

    `text.translate(table)` of a string is none, and neither is a parser's own
    `walk`."""
    found = set()
    text = (PACKAGE / f"{module}.py").read_text()
    if not any(name in text for name in CALLS):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = node.func
            name = (
                called.attr
                if isinstance(called, ast.Attribute)
                else getattr(called, "id", "")
            )
            owner = getattr(getattr(called, "value", None), "id", "")
            plain = name in ("read_text", "walk", "translate", "glob")
            own = isinstance(called, ast.Name) and plain
            if (
                name in CALLS
                and not own
                and (name != "translate" or owner in ("fnmatch", "glob"))
            ):
                found.add(name)
    return found


MODULES = sorted(
    path.relative_to(PACKAGE).with_suffix("").as_posix()
    for path in PACKAGE.rglob("*.py")
)


@pytest.mark.unit
def test_a_module_goes_through_the_doors():
    """Whoever opens a file of a repository by hand waits at a pipe or follows a link
    one day."""
    for module in (name for name in MODULES if name not in DOORS):
        allowed, _ = EXCEPTIONS.get(module, (set(), ""))
        assert calls(module) <= allowed, f"{module}: {calls(module) - allowed}"


@pytest.mark.unit
def test_no_exception_is_left_that_is_not_needed():
    for module, (allowed, reason) in EXCEPTIONS.items():
        assert reason
        if (
            PACKAGE / f"{module}.py"
        ).exists():  # a module that moved takes its reason along
            assert allowed & calls(module), f"{module}: no longer needed"

"""Figures of the pages: measured by `tests.bench.all`, kept in docs/figures.json.

A figure is true of the code that was measured. So each section of the file has the digest
of that code, and a page says of a section whose code has changed since that it is of an
earlier state."""

import ast
import datetime
import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from tests.programs import finished

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "figures.json"


class Section(NamedTuple):
    """What a section of figures measures.

    `code` are patterns of files below the repository whose content decides the figures,
    `fitted` tells whether something was chosen on the data they are of."""

    title: str
    code: tuple[str, ...]
    fitted: bool = False


SEARCH = (
    "memcli/app.py",
    "memcli/commands/recall.py",
    "memcli/index/**/*",
    "memcli/memory/**/*.py",
    "memcli/project/**/*.py",
    "memcli/providers/embed/**/*",
    "memcli/recall/**/*",
    "memcli/storage/**/*.py",
    "memcli/text/**/*.py",
)
SECTIONS = {
    "install": Section("What an install takes", ("pyproject.toml",)),
    "notes": Section("A thousand notes, each a file", SEARCH),
    "commands": Section("Commands beside plain SQLite", SEARCH),
    "hooks": Section("Hooks", (*SEARCH, "memcli/hooks/**/*", "memcli/history/**/*")),
    "rows": Section(
        "What took longest", ("memcli/**/*.py", "tests/bench/speed_rows.py")
    ),
    "changes": Section(
        "A later session or commit changes what was decided",
        ("memcli/history/**/*", "memcli/recall/**/*", "tests/history/changes.txt"),
        fitted=True,
    ),
    "duplicates": Section(
        "Pairs of engineering sentences",
        ("memcli/similarity/**/*", "memcli/compaction/**/*", "tests/data/pairs.jsonl"),
        fitted=True,
    ),
}


def digest(section):
    """What the measured code is, whatever its comments and line breaks."""
    total = hashlib.sha256()
    for path in sorted(_files(SECTIONS[section].code)):
        total.update(path.relative_to(ROOT).as_posix().encode())
        total.update(_content(path))
    return total.hexdigest()[:16]


def _files(patterns):
    for pattern in patterns:
        for path in ROOT.glob(pattern):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _content(path):
    content = path.read_bytes()
    if path.suffix != ".py":
        return content
    tree = ast.parse(content)
    for node in ast.walk(tree):
        _without_docstring(node)
    return ast.dump(tree).encode()


def _without_docstring(node):
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(node, documented) and ast.get_docstring(node) is not None:
        node.body = node.body[1:]


def load():
    """Every section that was measured, by its name."""
    if not DATA.exists():
        return {}
    return json.loads(DATA.read_text(encoding="utf-8"))


def save(section, values):
    """Put the figures of a section into the file, with what they are of."""
    measured = load()
    measured[section] = {
        "commit": _commit(),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 1),
        "code": digest(section),
        "values": values,
    }
    text = json.dumps(measured, indent=1, sort_keys=True, ensure_ascii=False)
    DATA.write_text(text + "\n", encoding="utf-8")


def _commit():
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return finished(*asked).stdout.strip()


def state(section):
    """The sentence that says what the figures of a section are of."""
    measured = load()[section]
    words = [f"Measured on {measured['date']} at {measured['commit']}"]
    words.append(f", load {measured['load']}.")
    if SECTIONS[section].fitted:
        words.append(" *Fitted*: part of the cases was seen while choosing.")
    if measured["code"] != digest(section):
        words.append(
            " **Of an earlier state**: the code it measures has changed since."
        )
    return "".join(words)


def table(heads, rows):
    """A table of Markdown, figures to the right."""
    lines = [_row(heads), "| --- |" + " --: |" * (len(heads) - 1)]
    lines += [_row(row) for row in rows]
    return "\n".join(lines)


def _row(cells):
    return "| " + " | ".join(map(str, cells)) + " |"

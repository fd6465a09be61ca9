"""Memory as rules that an agent loads for certain files: a Markdown file for each set
of paths, which are listed in its front matter. Pure."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence

from memcli.exchange.exporter import ExportNote, note_lines
from memcli.install import git_hooks
from memcli.install.git_hooks import EXPORT
from memcli.named import NamedTuple
from memcli.text.controls import for_prompt

FILES = "mem-*.md"
"""The files of a folder of rules that are ours."""
LONGEST_NAME = 40


class PathNote(NamedTuple):
    """An entry to export, with the files it applies to."""

    note: ExportNote
    paths: tuple[str, ...]


class RuleFile(NamedTuple):
    """A rule file: its front matter, and the lines of mem's section."""

    front: str
    lines: tuple[str, ...]

    def put(self, before: str | None) -> str:
        """A file's text with these rules; text that a person wrote around them
        stays."""
        text = self.front if before is None else before
        return git_hooks.put(text, self.lines, EXPORT, blank=True)


def rule_files(notes: Iterable[PathNote]) -> dict[str, RuleFile]:
    """The rule files by name; entries with the same paths share one."""
    by_paths: dict[tuple[str, ...], list[str]] = {}
    for about in notes:
        paths = tuple(sorted({for_prompt(path) for path in about.paths}))
        by_paths.setdefault(paths, []).extend(note_lines(about.note))
    return {
        _name(paths): RuleFile(front=_front(paths), lines=tuple(lines))
        for paths, lines in by_paths.items()
    }


def _name(paths: Sequence[str]) -> str:
    """A descriptive file name, unique for these paths."""
    digest = hashlib.sha256("\n".join(paths).encode()).hexdigest()[:6]
    words = re.sub(r"[^a-z0-9]+", "-", paths[0].lower()).strip("-")
    return f"mem-{words[:LONGEST_NAME]}-{digest}.md"


def _front(paths: Iterable[str]) -> str:
    # Every JSON string is also a YAML string.
    listed = "".join(f"  - {json.dumps(path)}\n" for path in paths)
    return f"---\npaths:\n{listed}---\n"


def without_rules(before: str | None) -> str | None:
    """A file's text without mem's rules; None if nothing else was in it."""
    if before is None or git_hooks.find(before, EXPORT) is None:
        return before
    left = git_hooks.drop(before, EXPORT) or ""
    return None if re.fullmatch(_FRONT_ALONE, left) else left


_FRONT_ALONE = r"(?:---\npaths:\n(?:  - .*\n)*---\s*)?"

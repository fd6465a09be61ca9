"""Files elsewhere in a repository that look like memory."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from memcli.memory.values import ARCHIVE
from memcli.project.git import tracked
from memcli.project.levels_on_disk import NEVER, is_elsewhere
from memcli.project.listing import Listing, shown
from memcli.text.matching import table


@lru_cache
def _words() -> re.Pattern[str]:
    """One of these words between non-letters; anywhere in scripts without blanks."""
    words, anywhere = (
        "|".join(part.split())
        for part in table("project/memory_words.txt").split("\n\n")
    )
    return re.compile(rf"(?:^|[^a-zа-яß-ÿ])(?:{words})(?=$|[^a-zа-яß-ÿ])|{anywhere}")


def others(root: Path, listing: Listing) -> list[str]:
    """Patterns for `memory_files` that match tracked files which look like memory but
    are not in view; without folders that were cut, which are reported elsewhere."""
    listed_names = {file.name for file in listing.files}
    cut = {problem.path for problem in listing.problems}
    patterns: dict[str, None] = {}
    names = tracked(root)
    surplus = _surplus(names)
    for name in names:
        folder, _, base = name.rpartition("/")
        is_other = base.lower() in NEVER or base.endswith(ARCHIVE)
        is_markdown = name.endswith(".md")
        if (
            not is_markdown
            or is_other
            or shown(name) in listed_names
            or is_elsewhere(name)
            or shown(folder) in cut
        ):
            continue
        if pattern := _pattern_for(name, surplus):
            patterns[pattern] = None
    return list(patterns)


def _surplus(names: Iterable[str]) -> Counter[str]:
    """For each folder, with its subfolders, the number of Markdown files minus that of
    others."""
    surplus = Counter[str]()
    for name in names:
        for cut in re.finditer("/", name):
            surplus[name[: cut.start()]] += 1 if name.endswith(".md") else -1
    return surplus


def _looks_like_memory(name: str) -> bool:
    in_camel_case = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name)
    return _words().search(in_camel_case.lower()) is not None


def _pattern_for(name: str, surplus: Counter[str]) -> str:
    """A pattern for the outermost folder that looks like memory, else for the file, ""
    if neither does; a folder with mostly other files is code."""
    *parts, base = name.split("/")
    for depth in range(1, len(parts) + 1):
        folder = "/".join(parts[:depth])
        if _looks_like_memory(parts[depth - 1]) and surplus[folder] >= 0:
            return f"{_literal(folder)}/**/*.md"
    return _literal(name) if _looks_like_memory(base[:-3]) else ""


def _literal(name: str) -> str:
    """A name as a pattern that matches only itself."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def line_for(patterns: Iterable[str]) -> str:
    """The one line of `.mem.toml` that brings files into view."""
    return f"memory_files = {json.dumps(list(patterns), ensure_ascii=False)}"

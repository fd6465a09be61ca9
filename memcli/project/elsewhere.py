"""What lies elsewhere in a repository and looks like memory."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path

from memcli.memory.values import ARCHIVE
from memcli.project.git import tracked
from memcli.project.levels_on_disk import NEVER, is_elsewhere
from memcli.project.listing import Listing, shown
from memcli.text.matching import table


@lru_cache
def _words() -> re.Pattern[str]:
    """Words between others that are no letters; in scripts without blanks, anywhere."""
    words, anywhere = (
        "|".join(part.split())
        for part in table("project/memory_words.txt").split("\n\n")
    )
    return re.compile(rf"(?:^|[^a-zа-яß-ÿ])(?:{words})(?=$|[^a-zа-яß-ÿ])|{anywhere}")


def others(root: Path, listing: Listing) -> list[str]:
    """Patterns for `memory_files` of tracked files that look like memory and are not in
    view."""
    seen = {file.name for file in listing.files}
    patterns = []
    looks = _words().search
    apart = partial(re.sub, r"(?<=[a-z])(?=[A-Z])", "-")  # a name in camel case
    for name in tracked(root, "*.md"):
        folder, _, base = name.rpartition("/")
        if shown(name) in seen or base.lower() in NEVER or base.endswith(ARCHIVE):
            continue
        if is_elsewhere(name) or not looks(apart(name[:-3]).lower()):
            continue
        parts = folder.split("/")
        outer = ("/".join(parts[:n]) for n in range(1, len(parts) + 1))
        first = next((part for part in outer if looks(apart(part).lower())), "")
        plain = re.sub(r"([*?\[])", r"[\1]", first or name)
        patterns.append(f"{plain}/**/*.md" if first else plain)
    return list(dict.fromkeys(patterns))


def line_for(patterns: Iterable[str]) -> str:
    """The one line of `.mem.toml` that brings files into view."""
    return f"memory_files = {json.dumps(list(patterns), ensure_ascii=False)}"

"""What an agent has read by itself: the files of instructions that it loads, and whether
they say what memory would tell."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path

from memcli.memory.words import overlap, stems
from memcli.named import NamedTuple
from memcli.project import globs
from memcli.storage.files import Unreadable, read_text
from memcli.text.sentences import sentences

DEEPEST = 5
"""So often an imported file may import another."""
MOST = 40
MOST_LOOKED_AT = 400  # files and folders below the rules of one folder
"""Files of instructions that are looked at."""
BYTES = 200_000
ALIKE = 0.8
"""The share of words in common from which on a line says what a lesson says, as
compaction has it."""
FEWEST = 3  # words of a sentence that is compared
OF_A_FOLDER = {
    "claude": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
    "codex": ("AGENTS.override.md", "AGENTS.md"),
    "gemini": ("GEMINI.md",),
    "opencode": ("AGENTS.md", "CLAUDE.md"),
}
"""What each agent reads in a folder and in those above it."""
OF_A_PERSON = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "CLAUDE.md"),
    "codex": ("CODEX_HOME", ".codex", "AGENTS.md"),
    "gemini": ("", ".gemini", "GEMINI.md"),
    "opencode": ("OPENCODE_CONFIG_DIR", ".config/opencode", "AGENTS.md"),
}
"""Each agent's folder of a person: the variable that moves it, its name, the file."""
_IMPORT = r"(?m)(?<![\w`])@([\w.~/\\-]+)"
_COMMENT = r"(?s)<!--.*?(?:-->|\Z)"
_BOUND = r"\A---\n(?:.*\n)*?paths:[ \t]*(.*(?:\n[ \t]*-.*)*)"


class InstructionReader(NamedTuple):
    """Who reads instructions, and where: `named` are the files that it said it loaded;
    `files` are at hand, for rules that are bound to paths; `own` is the path of its
    own memory, and what it read of it."""

    agent: str
    folder: str
    home: Path
    environ: Mapping[str, str]
    named: Collection[str] = ()
    files: Sequence[str] = ()
    own: tuple[str, str] = ("", "")


class Instructions:
    """The files that an agent has loaded in a folder."""

    def __init__(self, reader: InstructionReader) -> None:
        self.reader = reader
        self.agent = reader.agent if reader.agent in OF_A_FOLDER else "claude"
        self.folder = Path(reader.folder)

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each file that was loaded, by its real path."""
        path, text = self.reader.own
        loaded = {path: text} if text else {}
        for path in (*self.reader.named, *self._places()):
            self._load(path, loaded, DEEPEST)
        for path in self._rules():
            text = _read(path)
            if self._applies(text):
                loaded.setdefault(os.path.realpath(path), text)
        return loaded

    def _places(self) -> Iterator[str]:
        variable, inner, name = OF_A_PERSON[self.agent]
        yield str(self._own_folder(variable, inner) / name)
        for folder in (self.folder, *self.folder.parents):
            yield from (str(folder / name) for name in OF_A_FOLDER[self.agent])

    def _own_folder(self, variable: str, inner: str) -> Path:
        return Path(self.reader.environ.get(variable) or self.reader.home / inner)

    def _rules(self) -> Iterator[str]:
        if self.agent != "claude":
            return
        variable, inner, _ = OF_A_PERSON["claude"]
        bases = [folder / ".claude" for folder in (self.folder, *self.folder.parents)]
        for base in dict.fromkeys([self._own_folder(variable, inner), *bases]):
            yield from sorted(_markdown_below(base / "rules"))[:MOST]

    def _load(self, path: str, loaded: dict[str, str], deep: int) -> None:
        given = os.path.expanduser(path)
        if deep <= 0 or len(loaded) >= MOST:
            return
        text = _read(given)
        if not text:
            return
        real = os.path.realpath(given)
        if real in loaded:
            return
        loaded[real] = text
        if self.agent == "claude" and "@" in text:
            for name in re.findall(_IMPORT, text):
                inner = os.path.join(os.path.dirname(real), os.path.expanduser(name))
                self._load(inner, loaded, deep - 1)

    def _applies(self, text: str) -> bool:
        """Whether a rule is loaded: it is bound to no paths, or to a file at hand."""
        bound = re.match(_BOUND, text) if text.startswith("---\n") else None
        if bound is None:
            return bool(text)
        own = [each.strip(" '\"[]") for each in re.split(r"[,\n]", bound[1])]
        patterns = [each.lstrip("- '\"").strip() for each in own if each.strip("- ")]
        return any(globs.covers(patterns, name) for name in self.reader.files)

    @cached_property
    def _low(self) -> str:
        return "\n".join(self.texts.values()).lower()

    @cached_property
    def _lines(self) -> list[tuple[str, set[str]]]:
        lines = [
            line
            for text in self.texts.values()
            for row in text.splitlines()
            for line in {row, *sentences(row)}
        ]
        return [(line, words) for line in lines if len(words := stems(line)) >= FEWEST]

    def holds(self, path: str) -> bool:
        """Whether a file is one of them."""
        return os.path.realpath(path) in self.texts

    def say(self, title: str, text: str) -> bool:
        """Whether they say all that an entry says."""
        if not self.texts:
            return False
        # Word for word, as a table is that was imported; a line alone may be a part of
        # one that says the opposite.
        is_whole = "\n" in text.strip()
        if is_whole and _on_one_line(text.lower()) in _on_one_line(self._low):
            return True
        parts = [each for each in sentences(text) if len(each.split()) >= FEWEST]
        own_title = title.rpartition(" > ")[2]  # without the headings above it
        return all(map(self._says, parts or [own_title]))

    def _says(self, sentence: str) -> bool:
        words = re.findall(r"\w{3,}", sentence.lower())
        met = sum(word[:5] in self._low for word in words)
        if not words or met < ALIKE * len(words):
            return False
        own = stems(sentence)
        alike = (line for line, theirs in self._lines if overlap(own, theirs) > ALIKE)
        return any(_are_one(sentence, line) for line in alike)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _are_one(sentence: str, line: str) -> bool:
    """Whether two that are alike differ in nothing that counts, such as a negation."""
    from memcli.similarity.claims import claim  # few come so far
    from memcli.similarity.differences import guard

    return guard(claim(sentence), claim(line)) is None


def _markdown_below(folder: Path) -> Iterator[str]:
    """The Markdown files in a folder and those below it, which are no links."""
    waiting = [str(folder)]
    left = MOST_LOOKED_AT
    while waiting and left > 0:
        with suppress(OSError), os.scandir(waiting.pop(0)) as listing:
            for item in islice(listing, left):
                left -= 1
                if item.is_dir(follow_symlinks=False):
                    waiting.append(item.path)
                elif item.name.endswith(".md"):
                    yield item.path


def _read(path: str) -> str:
    with suppress(OSError, Unreadable):
        return re.sub(_COMMENT, "", read_text(path, most=BYTES))
    return ""

"""What a repository was at a commit, read with git alone: the truth that marks of
memory are held against. It shares no code with what it judges."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc", ".markdown")
YEARS = (2, 5)
DAYS = 365
MOST_DOCUMENTS = 200
MOST_BYTES = 2_000_000

_DOCUMENT = re.compile(
    r"(?ix) (?: ^ | / ) (?: readme | contributing | claude | agents | develop\w*"
    r" | hacking | architecture | internals | building | testing | maintain\w* ) [^/]*"
    r" \.mdx? $ | ^ (?: docs? | documentation ) / (?: .* / )?"
    r" (?: contribut\w* | develop\w* | internals | architecture | hacking ) / .* \.mdx? $"
    r" | ^ \.github / .* \.md $"
)
_GUIDE = re.compile(r"(?i)^(?:docs?|documentation)/.*\.mdx?$")
_MEMORY = re.compile(
    r"(?x) (?: ^ | / ) (?: (?: CLAUDE | AGENTS | GEMINI | MEMORY | LEARNINGS | DECISIONS"
    r" | copilot-instructions ) \.md | \.cursorrules | \.goosehints ) $"
    r" | (?: ^ | / ) (?: \.cursor/rules | \.claude/rules | \.claude/memory"
    r" | \.serena/memories | memory-bank | \.clinerules | \.roo/rules[\w-]*"
    r" | \.github/instructions | \.openhands/microagents ) / .* \.mdc? $"
)
DOCUMENTS = {"own": (_DOCUMENT,), "guides": (_DOCUMENT, _GUIDE), "memory": (_MEMORY,)}
"""For those who work on a repository; for its users, too; for agents alone."""
_OTHER_TIME = re.compile(
    r"(?i)change|history|release|news|blog|_posts|migrat|upgrad|archive|translation"
    r"|/i18n/|/(?:zh|ja|ko|fr|de|es|pt|ru|it|tr|vi)(?:[-_]\w+)?/|template|vendor"
    r"|node_modules|fixtures?/|versioned"
)


def git(top: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """What git prints; nothing where it fails."""
    run = ["git", "-C", str(top), *arguments]
    return subprocess.run(run, input=given, capture_output=True, check=False).stdout


def older_commits(top: Path, *, memory: bool = False) -> list[str]:
    """The commits of the main line two and five years before the newest one, or at a
    half and at four fifths of a younger history; with `memory` of that of its memory
    files."""
    log = git(top, "log", "--first-parent", "--format=%H %ct", "HEAD").decode()
    rows = [row.split() for row in log.splitlines()]
    newest = int(rows[0][1])
    oldest = _first_memory(top) if memory else int(rows[-1][1])
    found: list[str] = []
    for years, share in zip(YEARS, (0.5, 0.8), strict=True):
        days = min(years * DAYS * 86_400, share * (newest - oldest))
        until = newest - days
        found.append(next(commit for commit, at in rows if int(at) <= until))
    return found


def _first_memory(top: Path) -> int:
    """When the first memory file came, in seconds since 1970."""
    how = "--first-parent", "-m", "--diff-filter=A", "--name-only", "--format=%x00%ct"
    log = git(top, "log", *how, "HEAD").decode(errors="replace")
    times: list[int] = []
    for part in log.split("\0")[1:]:
        at, *paths = filter(None, part.split("\n"))
        times += [int(at) for path in paths if _MEMORY.search(path)]
    return min(times)


class Snapshot:
    """The tree of one commit, with its documents of a kind (see `DOCUMENTS`)."""

    def __init__(self, top: Path, commit: str, kind: str = "own"):
        self.top = top
        self.commit = commit
        self.kind = kind

    @cached_property
    def blobs(self) -> dict[str, str]:
        """The files with the names of their blobs."""
        out = git(self.top, "ls-tree", "-r", "-z", self.commit).decode(errors="replace")
        rows = (row.partition("\t") for row in out.split("\0") if row)
        return {path: of.split()[2] for of, _, path in rows if of.split()[1] == "blob"}

    @cached_property
    def endings(self) -> frozenset[str]:
        """Every file and folder by every ending of its path."""
        found = set[str]()
        for path in self.blobs:
            parts = path.split("/")
            for end in range(1, len(parts) + 1):
                found.update("/".join(parts[number:end]) for number in range(end))
        return frozenset(found)

    def texts(self, paths: list[str]) -> Iterator[tuple[str, str]]:
        """The texts of files; none of what is large, binary or absent."""
        names = [self.blobs[path] for path in paths]
        given = "".join(f"{name}\n" for name in names).encode()
        data = git(self.top, "cat-file", "--batch", given=given)
        at = 0
        for path in paths:
            end = data.index(b"\n", at)
            head = data[at:end].split()
            at = end + 1
            if head[1] != b"blob":
                continue
            body = data[at : at + int(head[2])]
            at += int(head[2]) + 1
            if len(body) <= MOST_BYTES and b"\0" not in body[:8000]:
                yield path, body.decode(errors="replace")

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the code, without those of prose."""
        found = set[str]()
        code = [path for path in self.blobs if not path.lower().endswith(PROSE)]
        for start in range(0, len(code), 500):
            for _, text in self.texts(code[start : start + 500]):
                found.update(re.findall(r"[A-Za-z_$][\w$]{3,}", text))
        return frozenset(found)

    @cached_property
    def targets(self) -> frozenset[str]:
        """The targets of build tools, as `program name`."""
        paths = [path for path in self.blobs if _family(path)]
        found = set[str]()
        for path, text in self.texts(paths):
            family = _family(path)
            found.update(f"{family} {name}" for name in _declared(family, text))
            if family == "python":
                found.update(f"tox {name}" for name in _declared("tox", text))
        return frozenset(found)

    def has(self, kind: str, name: str) -> bool:
        """Whether a name that a sentence has stands in this tree."""
        if kind == "path":
            return name in self.endings
        if kind == "target":
            program, _, target = name.partition(" ")
            return any(f"{f} {target}" in self.targets for f in _FAMILIES[program])
        return name in self.words

    def named(self, text: str) -> Iterator[tuple[str, str]]:
        """The names in a sentence that this tree has, each with its kind."""
        seen = set[tuple[str, str]]()
        for kind, name in _candidates(text):
            if (kind, name) not in seen and self.has(kind, name):
                seen.add((kind, name))
                yield kind, name

    def documents(self) -> list[tuple[str, str]]:
        """The documents of its kind, those of another time left out."""
        fit = [
            path
            for path in self.blobs
            if any(pattern.search(path) for pattern in DOCUMENTS[self.kind])
            and not _OTHER_TIME.search(path)
        ]
        fit.sort(key=lambda path: (path.startswith("doc"), path.count("/"), path))
        return list(self.texts(fit[:MOST_DOCUMENTS]))


def sentences(snapshot: Snapshot) -> Iterator[str]:
    """What the documents say in paragraphs and items, and the commands of their
    blocks of shell, each as one sentence."""
    for _, text in snapshot.documents():
        text = re.sub(r"(?s)\A---\n.*?\n---\n|<!--.*?-->", "", text)
        parts = re.split(r"(?ms)^[ \t]*(?:```|~~~)(.*?)^[ \t]*(?:```|~~~)", text)
        for number, part in enumerate(parts):
            yield from _commands(part) if number % 2 else _paragraphs(part)


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)", text):
        part = part.strip()
        if "`" in part or "](" in part:
            yield part


def _commands(block: str) -> Iterator[str]:
    language, _, body = block.partition("\n")
    if language.strip().split(" ")[0] in ("", "sh", "bash", "shell", "console", "zsh"):
        for line in body.splitlines():
            line = re.sub(r"^\s*[$>]\s+|\s+#.*$", "", line).strip()
            if line and "`" not in line and not line.startswith("#"):
                yield f"Run `{line}`."


OWN = {
    "mix test",
    "mix xref",
    "mix clean",
    "gradle clean",
    "gradle test",
    "gradle build",
}
"""What the tools can do by themselves, whatever a manifest adds to it."""

_FAMILIES = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("npm",)),
    "make": ("make",),
    "just": ("just",),
    "task": ("task",),
    "cargo": ("cargo",),
    **dict.fromkeys(("gradle", "./gradlew", "gradlew"), ("gradle",)),
    "composer": ("composer",),
    **dict.fromkeys(("poetry", "hatch", "pdm", "uv"), ("python",)),
    "tox": ("tox",),
    "nox": ("nox",),
    "rake": ("rake",),
    "mix": ("mix",),
}
_CALL = re.compile(
    r"(?:^|[;&|]\s*|exec\s+)(npm|pnpm|yarn|bun|make|just|task|cargo|gradle|\./gradlew"
    r"|gradlew|composer|poetry|hatch|pdm|uv|tox|nox|rake|mix)"
    r"\s+((?:run(?:-script)?\s+|--?\w[\w-]*\s+)*)([\w@][\w:./-]*)"
)


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    spans = re.findall(r"(?<!`)`([^`\n]{2,200})`(?!`)", text)
    links = re.findall(r"\]\((?![a-z]+:|#)([^)\s#]{3,200})", text)
    for span in spans:
        for program, between, name in _CALL.findall(span):
            if program in ("poetry", "hatch", "pdm", "uv") and "run" not in between:
                continue
            target = name.rpartition(":")[2] if "gradle" in program else name
            if f"{_FAMILIES[program][0]} {target}" not in OWN:
                yield "target", f"{program} {target}"
        for word in span.split():
            yield from _word(word, alone=word == span)
    for link in links:
        if not link.startswith(("../", "/")):
            yield from _path(link.split("?")[0])


def _word(word: str, *, alone: bool) -> Iterator[tuple[str, str]]:
    if "://" in word or word.startswith(("-", "../", "~", "/", "@")):
        return
    yield from _path(word) if alone or "/" in word else ()
    if alone and re.fullmatch(
        r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*(?:\(\S*\))?", word
    ):
        name = re.split(r"\.|::|#", word.partition("(")[0])[-1].lstrip("$")
        if len(name) > 4 and re.search(r"[a-z\d][A-Z]|[^_]_[^_]", name):
            yield "name", name


def _path(word: str) -> Iterator[tuple[str, str]]:
    word = re.sub(r"(?::\d+(?:-\d+)?|#L\d+)$", "", word).removeprefix("./")
    is_file = re.search(r"\.[A-Za-z]\w{0,7}$", word)
    if re.fullmatch(r"[\w@.+/-]+", word) and ("/" in word.strip("/") or is_file):
        yield "path", word.strip("/")


def _below(settings: Any, keys: str) -> list[str]:
    """The keys of the tables at a dotted path, where `*` is any key."""
    key, _, rest = keys.partition(".")
    if not isinstance(settings, dict):
        return []
    inner = list(settings.values()) if key == "*" else [settings.get(key)]
    if rest:
        return [name for table in inner for name in _below(table, rest)]
    return [str(name) for table in inner if isinstance(table, dict) for name in table]


def _family(path: str) -> str:
    name = path.rpartition("/")[2]
    for family, pattern in {
        "npm": r"package\.json",
        "make": r"(?:GNUm|M|m)akefile|.*\.mk",
        "just": r"\.?[Jj]ustfile|.*\.just",
        "task": r"Taskfile(?:\.dist)?\.ya?ml",
        "cargo": r"Cargo\.toml",
        "gradle": r".*\.gradle(?:\.kts)?",
        "composer": r"composer\.json",
        "python": r"pyproject\.toml|hatch\.toml",
        "tox": r"tox\.ini",
        "nox": r"noxfile\.py",
        "rake": r"[Rr]akefile|.*\.rake",
        "mix": r"mix\.exs",
    }.items():
        if re.fullmatch(pattern, name):
            return family
    return "cargo" if path.endswith(".cargo/config.toml") else ""


_TABLES = {
    "npm": ("scripts",),
    "composer": ("scripts",),
    "task": ("tasks",),
    "python": (
        "project.scripts",
        "tool.poetry.scripts",
        "tool.pdm.scripts",
        "tool.hatch.envs.*.scripts",
        "envs.*.scripts",
    ),
}


def _declared(family: str, text: str) -> list[str]:
    if family in _TABLES:
        read = {"task": yaml.safe_load, "python": tomllib.loads}.get(family, json.loads)
        try:
            settings = read(text)
        except (ValueError, yaml.YAMLError):
            return []
        return [name for keys in _TABLES[family] for name in _below(settings, keys)]
    patterns = {
        "make": r"(?m)^(\w[\w./-]*)(?=[\w ./-]*:(?!=))",
        "just": r"(?m)^@?([\w-]+)(?: [^:\n]*)?:(?!=)|^alias ([\w-]+)",
        "cargo": r"(?m)^(?:name = \"([\w-]+)\"|([\w-]+) = \"(?:run|test|build|check|clippy))",
        "gradle": r"tasks\.(?:register|create)(?:<[^>]*>)?\(\"([\w-]+)",
        "tox": r"(?m)^\[(?:testenv:|tool\.tox\.env\.)([^\]{}]+)\]",
        "nox": r"(?m)^@nox\.session[^\n]*\ndef (\w+)",
        "rake": r"(?m)^task\W+(\w+)",
        "mix": r"(?m)^\s*\"?([\w.]+)\"?: \[\"",
    }
    found = re.findall(patterns[family], text)
    names = ["".join(one) if isinstance(one, tuple) else one for one in found]
    return names + [n.replace("_", "-") for n in names] if family == "nox" else names


VALUES = {
    "Node": (r"package\.json", r'"node":\s*"[>=^~ ]*(\d+(?:\.\d+)?)[\d.x]*"'),
    "pnpm": (r"package\.json", r'"packageManager":\s*"pnpm@(\d+)'),
    "Yarn": (r"package\.json", r'"packageManager":\s*"yarn@(\d+)'),
    "Python": (r"pyproject\.toml", r'(?m)^requires-python = ">=\s*(3\.\d+)'),
    "Go": (r"go\.mod", r"(?m)^go (\d\.\d+)"),
    "Rust": (r"Cargo\.toml", r'(?m)^rust-version = "(\d\.\d+)'),
    "minSdk": (r"build\.gradle(?:\.kts)?", r"minSdk(?:Version)?[ =(]+(\d+)"),
    "compileSdk": (r"build\.gradle(?:\.kts)?", r"compileSdk(?:Version)?[ =(]+(\d+)"),
    "Alpine": (r"Dockerfile", r"(?m)^FROM alpine:(\d\.\d+)"),
    "Debian": (r"Dockerfile", r"(?m)^FROM debian:(\d+)"),
    "Ubuntu": (r"Dockerfile", r"(?m)^FROM ubuntu:(\d+\.\d+)"),
    "golang image": (r"Dockerfile", r"(?m)^FROM golang:(\d\.\d+)"),
}


def values(snapshot: Snapshot) -> dict[str, set[str]]:
    """What the manifests of a tree give each key, by a few plain forms of theirs; those
    of test cases speak of other projects."""
    found: dict[str, set[str]] = {}
    for key, (file, pattern) in VALUES.items():
        paths = [
            path
            for path in snapshot.blobs
            if re.fullmatch(file, path.rpartition("/")[2])
            and not re.search(r"(?i)(?:tests?|fixtures?|examples?|playground)/", path)
        ]
        versions = {v for _, t in snapshot.texts(paths) for v in re.findall(pattern, t)}
        if versions:
            found[key] = versions
    return found


def folders(snapshot: Snapshot) -> set[str]:
    """The folders of a tree."""
    cuts = ((path, cut) for path in snapshot.blobs for cut in re.finditer("/", path))
    return {path[: cut.start()] for path, cut in cuts}


def renames(top: Path, since: str) -> dict[str, str]:
    """The files that were renamed since a commit, nearly unchanged, by the names they
    had then, with those of today."""
    how = "--first-parent", "-m", "--reverse", "-M90%", "--diff-filter=R", "-z"
    shape = "--name-status", "--format="
    out = git(top, "log", *how, *shape, f"{since}..HEAD").decode(errors="replace")
    fields = [field.strip("\n") for field in out.split("\0")]
    fields = [field for field in fields if field]
    now: dict[str, str] = {}
    for old, new in zip(fields[1::3], fields[2::3], strict=False):
        first = next((before for before, after in now.items() if after == old), old)
        now[first] = new
    return now

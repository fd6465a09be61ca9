"""What other memories know, as drafts: rules for agents, and Claude Code's own
memory."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from memcli.errors import UsageError
from memcli.memory import front_matter, grammar, parser
from memcli.memory.values import Problem
from memcli.memory.words import is_day
from memcli.storage.files import Unreadable, read_text
from memcli.text.matching import pattern, table

TITLE = 100
_pattern = partial(pattern, "exchange/importers")
_MARKS = "#>*-+ \t"


class ImportDraft(NamedTuple):
    """One thing another memory knows; `key` makes it the same thing when it is read
    again."""

    source: str
    key: tuple[str, ...]
    title: str
    text: str
    kind: str = "fact"
    created: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    private: bool = False

    @property
    def id(self) -> str:
        """The id of the entry that is made of it: the same on every machine and in
        every run."""
        return grammar.derived_id("import", "\0".join(self.key))


class Section(NamedTuple):
    """A stretch of a text below one heading; `path` are the headings above it and its
    own."""

    path: tuple[str, ...]
    text: str
    date: str


def split_front(text: str) -> tuple[dict[str, Any], str]:
    """The values of a text's front matter, and the rest; what is no YAML is read line
    by line."""
    found = _pattern("front matter").match(text)
    if found is None:
        return {}, text.removeprefix("\ufeff")
    block = found[1].replace("\r\n", "\n")
    try:
        values = dict(front_matter.read(block).values)
    except front_matter.Malformed:
        rows = _pattern("key").findall(block)
        values = {key: value.strip(" \t").strip("'\"") for key, value in rows}
    return values, text[found.end() :]


def split_sections(text: str, name: str) -> list[Section]:
    """The sections of a text without their headings; what stands above the first has no
    path."""
    parts = []
    for one in parser.sections(parser.parse(text, name)):
        path = (
            tuple(one.title.split(" > ")) if _pattern("heading").match(one.body) else ()
        )
        body = _pattern("heading").sub("", one.body, count=1).strip("\r\n")
        if body.strip():
            parts.append(Section(path, body, one.date))
    return parts


def headline(text: str) -> tuple[str, str]:
    """A title and the rest: the first line; of a long one the beginning, and the whole
    text."""
    first, _, rest = text.strip().partition("\n")
    title = first.strip(_MARKS).replace("**", "")
    if len(title) <= TITLE:
        return title or "Note", rest.strip("\n")
    return shortened(title), text.strip()


def shortened(title: str) -> str:
    """One line of at most `TITLE` characters, cut at a word."""
    title = " ".join(title.split())
    if len(title) <= TITLE:
        return title
    at = title.rfind(" ", 0, TITLE)
    return title[: at if at > 0 else TITLE].rstrip(",;:") + " …"


def words(value: object) -> tuple[str, ...]:
    """A list, or a text with commas, as texts without blanks around them."""
    items = (
        value
        if isinstance(value, (list, tuple))
        else str(value or "").strip("[]").split(",")
    )
    known = (str(item) for item in items if isinstance(item, (str, int, float)))
    return tuple(text for item in known if (text := item.strip().strip("'\"")))


FORMS = RULES, CLAUDE = "agents-md", "claude"
NAMES = table("exchange/rule_files.txt").split()
FOLDERS = (".cursor/rules", ".claude/rules", ".github/instructions")
TYPES = ("user", "feedback", "project", "reference")
RULE_WORDS = 4  # A list item of fewer words is no rule by itself


def rules(name: str, text: str) -> Iterator[ImportDraft]:
    """The rules of one file, without comments, imports of other files and what `mem`
    put there."""
    values, body = split_front(text)
    paths = words(values.get("globs") or values.get("paths") or values.get("applyTo"))
    paths = tuple(path for path in paths if path not in ("*", "**", "**/*"))
    ends = ("<!-- mem: end -->", "<!-- mem: export end -->")
    body = _cut(
        "comment", _cut("own section", body.replace("\r\n", "\n"), *ends), "-->"
    )
    for part in split_sections(_pattern("import line").sub("", body), name):
        made = [_rule(name, part, item) for item in _items(part.text)] or [
            _whole(name, part)
        ]
        yield from (each._replace(created=part.date, paths=paths) for each in made)


def _cut(kind: str, text: str, *ends: str) -> str:
    """`text` without what is of a kind; behind the last of its `ends` nothing is looked
    at."""
    last = max(text.rfind(end) + len(end) if end in text else 0 for end in ends)
    rest = text[last:].lstrip(" \t")
    last = len(text) - len(rest) + rest.startswith("\n") if last else 0
    return _pattern(kind).sub("", text[:last]) + text[last:]


def _items(text: str) -> list[str]:
    if _pattern("opening fence").search(text):
        return []
    items: list[list[str]] = []
    for line in text.split("\n"):
        mark = _pattern("item").match(line)
        if mark:
            items.append([line[mark.end() :]])
        elif line.strip() and (not items or not line[:1].isspace()):
            return []
        elif items:
            items[-1].append(line.removeprefix("  "))
    joined = ["\n".join(item).strip() for item in items]
    return joined if all(len(item.split()) >= RULE_WORDS for item in joined) else []


def _rule(name: str, part: Section, item: str) -> ImportDraft:
    title, text = headline(item)
    heading = part.path[-1] if part.path else ""
    key = (RULES, name, heading, item)
    kind = "policy" if _pattern("strict").search(item) else "preference"
    return ImportDraft(
        source=f"{RULES}:{name}",
        key=key,
        title=title,
        text=text,
        kind=kind,
        tags=_tags(heading),
    )


def _whole(name: str, part: Section) -> ImportDraft:
    title = shortened(" > ".join(part.path[-2:])) or headline(part.text)[0]
    prose = re.sub(r"`[^`]*`", "", part.text)
    kind = "preference" if _pattern("wish").search(prose) else "fact"
    kind = "policy" if _pattern("strict").search(prose) else kind
    key = (RULES, name, " > ".join(part.path), part.text)
    tags = _tags(part.path[-2]) if len(part.path) > 1 else ()
    return ImportDraft(
        source=f"{RULES}:{name}",
        key=key,
        title=title,
        text=part.text,
        kind=kind,
        tags=tags,
    )


def _tags(heading: str) -> tuple[str, ...]:
    slug = re.sub(r"[^\w]+", "-", heading.lower()).strip("-")
    return (slug,) if 0 < len(slug) <= 40 else ()


def is_topic(values: Mapping[str, Any]) -> bool:
    """Whether front matter is that of a topic file."""
    return "name" in values and str(_more(values).get("type")) in TYPES


def topics(files: Mapping[str, str]) -> Iterator[ImportDraft]:
    """One draft a topic, and one a section of notes; not lines that only point to a
    topic."""
    known = {*files, *(f"./{name}" for name in files)}
    for name, text in files.items():
        values, body = split_front(text)
        if is_topic(values):
            yield _topic(name, values, body.strip())
            continue
        if name == "MEMORY.md":
            body = _pattern("pointer").sub(
                lambda at: "" if at[1] in known else at[0], body
            )
        for part in split_sections(body, name):
            title = shortened(" > ".join(part.path) or name.removesuffix(".md"))
            key = (CLAUDE, name, title, part.text)
            yield ImportDraft(
                source=f"{CLAUDE}:{name}",
                key=key,
                title=title,
                text=part.text,
                created=part.date,
            )


def _more(values: Mapping[str, Any]) -> Mapping[str, Any]:
    more = values.get("metadata")
    return {**values, **more} if isinstance(more, dict) else values


def _topic(name: str, values: Mapping[str, Any], body: str) -> ImportDraft:
    more = _more(values)
    named = str(values["name"])
    described = str(values.get("description") or "")
    kind = str(more["type"])
    title = named if " " in named or not described else described
    day = str(more.get("modified") or values.get("date") or "")[:10]
    return ImportDraft(
        source=f"{CLAUDE}:{name}", key=(CLAUDE, name, body), title=shortened(title), text=body or described,
        kind="preference" if kind == "feedback" else "fact",
        created=day if is_day(day) else "",
        session=str(more.get("originSessionId") or ""), tags=(kind,), private=kind == "user",
    )  # fmt: skip


class ImportSource(NamedTuple):
    """What one path holds: its format, its drafts in order, and files that could not be
    read."""

    form: str
    drafts: tuple[ImportDraft, ...]
    problems: tuple[Problem, ...] = ()


def read(path: Path, form: str = "") -> ImportSource:
    """All of `path`, in the format named or found. Raises UsageError."""
    if not path.exists():
        raise UsageError(
            f"{path}: there is no such file or folder", "name what is to be imported"
        )
    if (
        path.name == "MEMORY.md"
        and path.parent.name == "memory"
        and form in ("", CLAUDE)
    ):
        path = path.parent
    files: dict[str, str] = {}
    problems = []
    for file, name in _files(path, form):
        try:
            files[name] = read_text(file, path if path.is_dir() else "")
        except Unreadable as error:
            problems.append(
                Problem(
                    path=str(file),
                    line=error.line,
                    message=str(error),
                    severity="unreadable",
                )
            )
    form = form or _form(path, files)
    if form not in FORMS or not (files or problems):
        raise UsageError(
            f"{path}: no known format", f"name it with --from: {', '.join(FORMS)}"
        )
    each = (draft for name, text in files.items() for draft in rules(name, text))
    return ImportSource(
        form, tuple(topics(files) if form == CLAUDE else each), tuple(problems)
    )


def _files(path: Path, form: str) -> list[tuple[Path, str]]:
    if not path.is_dir():
        return [(path, path.name)]
    if form in ("", RULES):
        found = list(_rule_files(path))
        if found or form:
            return found
    if (path / "memory" / "MEMORY.md").is_file() and form in ("", CLAUDE):
        path = path / "memory"
    return [
        (file, file.relative_to(path).as_posix()) for file in _below(path, (".md",))
    ]


def _rule_files(path: Path) -> Iterator[tuple[Path, str]]:
    inside = path.as_posix().endswith(FOLDERS)
    folders = [path] if inside else [path / folder for folder in FOLDERS]
    names = [path / name for name in NAMES] + [path / ".github" / NAMES[-1]]
    files = [name for name in names if name.is_file()]
    for folder in folders:
        files += _below(folder, (".mdc", ".md"))
    return ((file, file.relative_to(path).as_posix()) for file in dict.fromkeys(files))


def _below(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    found = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(base, name) for name in sorted(names) if name.endswith(suffixes))
        found += [path for path in paths if not path.is_symlink()]
    return found


def _form(path: Path, files: dict[str, str]) -> str:
    for name in files:
        folder = path.parent if path.is_file() else path / os.path.dirname(name)
        in_folder = folder.as_posix().endswith(FOLDERS)
        if name.rpartition("/")[2] in NAMES or name.endswith(".mdc") or in_folder:
            return RULES
    for name, text in files.items():
        index = (
            name == "MEMORY.md"
            and path.is_dir()
            and not parser.parse(text, name).entries
        )
        if index or is_topic(split_front(text)[0]):
            return CLAUDE
    return ""

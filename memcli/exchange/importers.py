"""Read other tools' memories as drafts: rules for agents, and Claude Code's own
memory."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memcli.errors import UsageError
from memcli.exchange import rule_places, rule_units
from memcli.exchange.rule_units import shortened
from memcli.memory import front_matter, grammar, parser
from memcli.memory.values import Problem
from memcli.memory.words import is_day
from memcli.project.context import unread
from memcli.storage.files import Unreadable, read_text
from memcli.text.matching import verbose


@verbose(lines=True, dot_all=True)
def _front_matter() -> str:
    """The front matter at the beginning of a text."""
    return r"\A \ufeff? --- [ \t]* \r?\n (.*?) ^ --- [ \t]* \r? (?: \n | \Z )"


@verbose(lines=True)
def _key_line() -> str:
    """A key with its value, in front matter that is not YAML."""
    return r"^ ( [\w-]++ ) : ( [^\n]*+ ) $"


@verbose(dot_all=True)
def _own_section() -> str:
    """A section that `mem` wrote into a file."""
    return r"""
        <!--[ ]mem:[ ] (export[ ])? begin \b .*?
        <!--[ ]mem:[ ] (?: export[ ] )? end [ ]--> [ \t]* \n?
    """


@verbose(dot_all=True)
def _comment() -> str:
    """A comment, with its line end."""
    return r"<!-- .*? --> [ \t]* \n?"


@verbose(lines=True)
def _import_line() -> str:
    """An import of another file, on its own line or within one."""
    return r"""
        ^ [ \t]* (?: [-*] [ \t]+ )? @ (?P<alone> [\w~./-]+ ) [ \t]* $
      | (?<! [\w`@] ) @ (?P<amid> [\w~./-]+ \.md ) \b
    """


@verbose(lines=True)
def _pointer() -> str:
    """A list item that begins with a link to a file."""
    return r"^ [ \t]* [-*] [ \t]* \[ [^\]\n]* \] \( ( [^)\n]+ ) \) [^\n]* (?: \n | \Z )"


class ImportDraft(NamedTuple):
    """One item from another memory; `key` identifies it when it is read again."""

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
    line: int = 1

    @property
    def id(self) -> str:
        """The id of the resulting entry: the same on every machine and in every run."""
        return grammar.derived_id("import", "\0".join(self.key))


def split_front(text: str) -> tuple[dict[str, Any], str]:
    """The values of a text's front matter, and the rest; invalid YAML is read line by
    line."""
    front = _front_matter().match(text)
    if not front:
        return {}, text.removeprefix("\ufeff")
    block = front[1].replace("\r\n", "\n")
    try:
        values = dict(front_matter.read(block).values)
    except front_matter.Malformed:
        rows = _key_line().findall(block)
        values = {key: value.strip(" \t").strip("'\"") for key, value in rows}
    return values, text[front.end() :]


def words(value: object) -> tuple[str, ...]:
    """A list, or a comma-separated text, as stripped texts."""
    if not isinstance(value, (list, tuple)):
        value = str(value or "").strip("[]").split(",")
    known = (str(item) for item in value if isinstance(item, (str, int, float)))
    texts = (text.strip().strip("'\"") for text in known)
    return tuple(filter(None, texts))


RULES = "agents-md"
CLAUDE = "claude"
FORMS = (RULES, CLAUDE)
TYPES = ("user", "feedback", "project", "reference")


def rules(name: str, text: str, importing: str = "") -> Iterator[ImportDraft]:
    """The rules of one file, named from the root, without comments, imports and
    sections of `mem`; rules in a subfolder apply to its files. They hold where those of
    the importing file do."""
    values, body = split_front(text)
    paths = _bound_to(values) or rule_places.below_folder(importing or name)
    body = body.replace("\r\n", "\n")
    body = _cut(_own_section(), body, " end -->")
    body = _cut(_comment(), body, "-->")
    body = _import_line().sub(lambda line: "" if line["alone"] else line[0], body)
    for draft in _drafts(RULES, name, body, text):
        yield draft._replace(tags=_tags(draft.key[2]), paths=paths)


def _drafts(form: str, name: str, body: str, text: str) -> Iterator[ImportDraft]:
    """A draft for each unit of a text's body."""
    for unit in rule_units.units(body, name):
        yield ImportDraft(
            source=f"{form}:{name}",
            key=(form, name, "".join(unit.path[-1:]), unit.title, unit.text),
            title=unit.title,
            text=unit.text,
            kind=unit.kind,
            created=unit.date,
            line=text.count("\n", 0, max(text.find(unit.begins), 0)) + 1,
        )


def _bound_to(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The globs of the files that the front matter limits rules to; none means all
    files."""
    listed = (values.get(key) for key in ("globs", "paths", "applyTo"))
    globs = words(next(filter(None, listed), ()))
    return tuple(glob for glob in globs if glob not in ("*", "**", "**/*"))


def _cut(pattern: re.Pattern[str], text: str, end: str) -> str:
    """`text` without matches of a pattern; nothing after the last `end` is searched."""
    before, last_end, behind = text.rpartition(end)
    return pattern.sub("", before + last_end) + behind


def _tags(heading: str) -> tuple[str, ...]:
    slug = re.sub(r"[^\w]+", "-", heading.lower()).strip("-")
    return (slug,) if 0 < len(slug) <= 40 else ()


def is_topic(values: Mapping[str, Any]) -> bool:
    """Whether front matter is that of a topic file."""
    return "name" in values and str(_more(values).get("type")) in TYPES


def topics(files: Mapping[str, str]) -> Iterator[ImportDraft]:
    """One draft for each topic, and one for each section of notes, without lines
    that only point to a topic."""
    known_names = {*files, *(f"./{name}" for name in files)}
    for name, text in files.items():
        values, body = split_front(text)
        if is_topic(values):
            yield _topic(name, values, body.strip())
            continue
        if name == "MEMORY.md":
            body = _pointer().sub(
                lambda line: "" if line[1] in known_names else line[0], body
            )
        yield from _drafts(CLAUDE, name, body, text)


def _more(values: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = values.get("metadata")
    return {**values, **metadata} if isinstance(metadata, dict) else values


def _topic(name: str, values: Mapping[str, Any], body: str) -> ImportDraft:
    values_and_metadata = _more(values)
    title = str(values["name"])
    described = str(values.get("description") or "")
    is_slug = " " not in title
    kind = str(values_and_metadata["type"])
    day = str(values_and_metadata.get("modified") or values.get("date") or "")[:10]
    return ImportDraft(
        source=f"{CLAUDE}:{name}",
        key=(CLAUDE, name, body),
        title=shortened(described if is_slug and described else title),
        text=body or described,
        kind="preference" if kind == "feedback" else "fact",
        created=day if is_day(day) else "",
        session=str(values_and_metadata.get("originSessionId") or ""),
        tags=(kind,),
        private=kind == "user",
    )


class ImportSource(NamedTuple):
    """The contents of one path: its format, its drafts in order, and files that could
    not be read."""

    form: str
    drafts: tuple[ImportDraft, ...]
    problems: tuple[Problem, ...] = ()


def read(path: Path, form: str = "", inside: Path | None = None) -> ImportSource:
    """Read everything at `path`, in the given or detected format, without links that
    lead out of `inside`. Raises UsageError."""
    if not path.exists():
        message = f"{path}: no such file or folder"
        raise UsageError(message, "give a file or folder to import")
    if form != RULES and path.match("memory/MEMORY.md"):
        path = path.parent
    files, problems = _texts(path, form, inside)
    form = form or _form(path, files)
    is_known = form in FORMS if files else bool(problems)
    if not is_known:
        raise _unknown(path, files)
    folder = path if path.is_dir() else path.parent
    following = _Following(inside or folder, problems)
    rules_of = _rules_in(files, _from(inside, path), following)
    drafts = topics(files) if form == CLAUDE else rules_of
    return ImportSource(form=form, drafts=tuple(drafts), problems=tuple(problems))


def _unknown(path: Path, files: Mapping[str, str]) -> UsageError:
    """The error of a path whose format is not known; what mem exported is named."""
    if any('"entries": [' in text[:40] for text in files.values()):
        message = f"{path}: is what mem export json wrote, for other programs to read"
        hint = "copy the memory files themselves; mem list names them"
        return UsageError(message, hint)
    names = ", ".join((*rule_places.NAMES, *rule_places.FOLDERS))
    hint = f"mem import FILE --from {'|'.join(FORMS)} imports a file with another name"
    return UsageError(f"{path}: no known format, and no {names}", hint)


DEEPEST = 20
"""So many files deep imports are followed; Claude Code follows five."""


class _Following:
    """Reads imported files below a root, and notes a problem for all others."""

    def __init__(self, root: Path, problems: list[Problem]) -> None:
        self.root = root
        self.problems = problems
        self.taken = set[str]()

    def texts(
        self, name: str, text: str, deep: int = DEEPEST
    ) -> Iterator[tuple[str, str]]:
        """The texts of a file, named from the root, and of its imports, each once, so
        many deep."""
        real = os.path.realpath(self.root / name)
        if real in self.taken:
            return
        self.taken.add(real)
        yield name, text
        for matched in _import_line().finditer(text):
            named = matched["alone"] or matched["amid"]
            beside = os.path.join(os.path.dirname(name), os.path.expanduser(named))
            inner = os.path.normpath(beside)
            try:
                if inner.startswith(("..", "/")):
                    raise Unreadable("it is outside of the project")
                if matched["amid"]:
                    again = f"mem import {inner} --from {RULES}"
                    raise Unreadable(f"it is inside a sentence ({again})")
                if not deep:
                    raise Unreadable(f"imports are followed {DEEPEST} files deep")
                imported = read_text(self.root / inner, self.root)
            except Unreadable as error:
                line = text.count("\n", 0, matched.start()) + 1
                message = f"@{named} is not followed: {error}"
                self.problems.append(Problem(name, line, message, "unreadable"))
            else:
                yield from self.texts(inner, imported, deep - 1)


def _from(inside: Path | None, path: Path) -> str:
    """The folder of a path's files, relative to the root; "" outside of it."""
    folder = path if path.is_dir() else path.parent
    return folder.relative_to(inside).as_posix() if inside else ""


def _rules_in(
    files: Mapping[str, str], folder: str, following: _Following
) -> Iterator[ImportDraft]:
    for name, text in files.items():
        own = os.path.normpath(os.path.join(folder, name))
        for each, inner in following.texts(own, text):
            yield from rules(each, inner, own)


def _texts(
    path: Path, form: str, inside: Path | None
) -> tuple[dict[str, str], list[Problem]]:
    """The text of each file by its name, and what could not be read."""
    texts = {}
    problems = []
    base = inside or (path if path.is_dir() else "")
    for file, name in _files(path, form):
        try:
            texts[name] = read_text(file, base)
        except Unreadable as error:
            problems.append(unread(str(file), error))
    return texts, problems


def _files(path: Path, form: str) -> list[tuple[Path, str]]:
    """The files of a path, each with its relative name."""
    if not path.is_dir():
        return [(path, path.name)]
    files = rule_places.rule_files(path) if form in ("", RULES) else []
    if not files and form != RULES:
        if (path / "memory" / "MEMORY.md").is_file():
            path = path / "memory"
        files = rule_places.files_below(path, (".md",))
    return [(file, file.relative_to(path).as_posix()) for file in files]


def _form(path: Path, files: Mapping[str, str]) -> str:
    """The format of files, detected by name, else by content."""
    if any(rule_places.is_rule_file(path, name) for name in files):
        return RULES
    for name, text in files.items():
        if is_topic(split_front(text)[0]):
            return CLAUDE
        is_index = name == "MEMORY.md" and path.is_dir()
        if is_index and not parser.parse(text, name).entries:
            return CLAUDE
    return ""

"""When entries are told or asked before a tool runs: the keys of files and commands under
which they are found."""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memcli.index.sql import json_list
from memcli.memory.words import body_of

CORRECTIVE = "corrective"  # also told where it shows the command in its words
RULES = (CORRECTIVE, "directive")  # the types that are told before a tool runs
GUARD = "guard"
"""The kind of key under which entries that bind are found before a tool runs."""
_SPAN = r"`(?<!``)([^`\n]{3,200})`(?!`)"  # the sign ahead is found faster
_TOKEN = r"[\w./-]+"
_MAGIC = frozenset("*?[\\")


def keys_of_entry(values: Mapping[str, Any], text: str) -> set[tuple[str, str]]:
    """(what, key) of every path, command and code span that an entry names."""
    commands = _globs(values, "commands")
    keys = {("path", _key_of_glob(glob)) for glob in _globs(values, "paths")}
    for glob in commands:
        first = "".join(glob.split(None, 1)[:1])
        keys.add(("command", "" if _MAGIC & set(first) else first))
    spans = () if commands else code_spans(text)
    return keys | {
        ("span", key) for span in spans for key in re.findall(_TOKEN, span)[:1]
    }


def _globs(values: Mapping[str, Any], name: str) -> list[str]:
    """The globs that an entry has under a key."""
    given = values.get(name)
    globs = given if isinstance(given, (list, tuple)) else ()
    return [glob for glob in globs if isinstance(glob, str)]


def keys_of_guard(values: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The keys of an entry that binds: "*" for any, the programs of its commands, and
    what the files of its globs have in their names."""
    if not values.get(GUARD):
        return set()
    programs = map(_key_of_command, _globs(values, "commands"))
    names = map(_key_of_path, _globs(values, "paths"))
    return {(GUARD, key) for key in ("*", *programs, *names)}


def keys_of_guarded(
    programs: Iterable[str], names: Iterable[str]
) -> set[tuple[str, str]]:
    """The keys under which guards are found that may bear on programs and files."""
    paths = {f"/{key}" for _, key in keys_of_files(names)} if names else set()
    return {(GUARD, key) for key in ("", *programs, *paths)}


def has_guards(db: sqlite3.Connection) -> bool:
    """Whether any indexed entry binds."""
    found = db.execute("SELECT 1 FROM occasions WHERE what = 'guard' LIMIT 1")
    return found.fetchone() is not None


def guards_by_file(db: sqlite3.Connection) -> dict[str, int]:
    """How many entries of each indexed file bind."""
    return dict(
        db.execute(
            "SELECT path, count(*) FROM occasions JOIN chunks ON chunks.id = chunk"
            " JOIN file_meta ON file_meta.id = source"
            " WHERE what = 'guard' AND key = '*' GROUP BY path"
        )
    )


def _key_of_command(pattern: str) -> str:
    """The program of a pattern; "" where it is not told before a command is read."""
    from memcli.bans.patterns import parse_pattern  # few entries bind

    try:
        program = next(iter(parse_pattern(pattern).operands), None) or ""
    except ValueError:  # it binds nothing, and is named elsewhere
        return ""
    return program if program.isalnum() else ""


def _key_of_path(glob: str) -> str:
    is_led = glob.startswith(("/", "~", "."))  # to the root, perhaps, and its names
    return f"/{_key_of_glob(glob.rstrip('/').rpartition('/')[2] if is_led else glob)}"


def _key_of_glob(glob: str) -> str:
    """What each file has that the glob covers: its longest folder or name, else its
    ending."""
    parts = [part for part in glob.split("/") if part not in ("", ".", "..", "*", "**")]
    if plain := [part for part in parts if not _MAGIC & set(part)]:
        return max(reversed(plain), key=len)
    last = parts[-1] if parts else ""
    stem, dot, end = last.rpartition(".")
    whole = stem and glob.endswith(last) and not _MAGIC & set(end)
    return dot + end if whole else ""


def keys_of_files(names: Iterable[str]) -> set[tuple[str, str]]:
    """The keys under which entries about these files (relative to the root) are
    found."""
    parts = {part for name in names for part in name.split("/")}
    endings = {part[part.rfind(".") :] for part in parts if "." in part}
    return {("path", key) for key in ("", *parts, *endings)}


def keys_of_commands(whole: str, simple: Iterable[str]) -> set[tuple[str, str]]:
    """The keys under which entries about a command line, and the commands in it, are
    found."""
    first = {
        ("command", command.split(None, 1)[0]) for command in simple if command.split()
    }
    return {
        ("command", ""),
        *first,
        *(("span", token) for token in re.findall(_TOKEN, whole)),
    }


def code_spans(body: str) -> list[str]:
    """The code spans of a text that have two or more words."""
    spans = (" ".join(match[1].split()) for match in re.finditer(_SPAN, body))
    return [span for span in spans if " " in span]


def occasions(
    db: sqlite3.Connection, keys: Iterable[tuple[str, str]]
) -> list[tuple[int, str, str]]:
    """(chunk, what, said) of all that is found under these keys."""
    return db.execute(
        "SELECT o.chunk, o.what, o.said FROM json_each(?) AS k JOIN occasions AS o"
        " ON o.what = json_extract(k.value, '$[0]') AND o.key = json_extract(k.value, '$[1]')",
        (json_list(keys),),
    ).fetchall()


def guarded(db: sqlite3.Connection, keys: Iterable[tuple[str, str]]) -> set[int]:
    """The chunks of the entries that have one of these keys."""
    return {chunk for chunk, *_ in occasions(db, keys)}


_NEW = """
    WITH banning AS (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid > ?)
    SELECT id, part, title, text, type, metadata, id IN banning FROM chunks
    WHERE id > ? AND live = 1 AND (
        part = 0 AND (type IN (?, ?) OR metadata LIKE '%"guard":%')
        OR kind != 'episode'
            AND (id IN banning OR title || char(10) || text GLOB '*.[a-zA-Z0-9_*]*')
    )
"""
"""What is a rule or binds, may forbid something, or name a file: a class at the front of
a GLOB would cost ten times as much."""


def note_occasions(db: sqlite3.Connection, before: int) -> None:
    """Note when the entries behind a chunk are told or asked before a tool runs: by
    their values, and by their words where these forbid or demand something."""
    from memcli.bans.clauses import BAN_WORDS  # what asks for keys needs none

    rows = db.execute(
        _NEW, (f"{{title text parts}} : ({BAN_WORDS})", before, before, *RULES)
    )
    noted = []
    for rowid, part, title, text, type, metadata, may_forbid in rows:
        values = json.loads(metadata)
        keys: set[tuple[str, str, str]] = set()
        if not (values.get(GUARD) or values.get("ruled_out")):
            keys.update(_said(title, text, values, may_forbid=may_forbid))
        if part == 0:
            listed = keys_of_guard(values)
            if type in RULES:
                listed |= keys_of_entry(values, text if type == CORRECTIVE else "")
            keys.update((*key, "") for key in listed)
        noted += [(*key, rowid) for key in keys]
    db.executemany(
        "INSERT INTO occasions (what, key, said, chunk) VALUES (?, ?, ?, ?)", noted
    )


def _said(
    title: str, text: str, values: Mapping[str, Any], *, may_forbid: bool
) -> Iterator[tuple[str, str, str]]:
    """(what, key, said) of what an entry is told before by its words, where its values
    do not say it: the glob of a file, or the pattern of a command with those of what is
    allowed, each on a line."""
    from memcli.bans.clauses import prose_of
    from memcli.bans.named_files import NAMES_FILE, files_of_rules
    from memcli.bans.patterns import parse_pattern
    from memcli.bans.suggest import Suggestion, suggest

    if not may_forbid and not NAMES_FILE.search(f"{title}\n{text}"):
        return
    # Of prose the title is that of all that stands below it.
    own_title = title if values.get("written") else ""
    body = body_of(text, own_title)
    made = suggest(own_title, body) if may_forbid else Suggestion()
    if not values.get("paths"):
        for glob in (*made.paths, *files_of_rules(f"{own_title}\n{prose_of(body)}")):
            yield "path", _key_of_glob(glob), glob
    if not values.get("commands"):
        for command in made.commands:
            program = parse_pattern(command).operands[0]
            yield "command", program or "", "\n".join((command, *made.unless))

"""What entries name in the code: found in their words, held against the work tree,
noted."""

import json
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from memcli.index.codebase import GONE, MANIFESTS, MOVED, UNTOLD, Anchor, Codebase, Fate
from memcli.index.database import Index
from memcli.project import git
from memcli.storage.files import transaction
from memcli.text import matching

_SAME = {"pnpm": "npm", "yarn": "npm", "bun": "npm", "gmake": "make"}
_BEFORE = {"npm": "run run-script", "composer": "run run-script", "nox": "-s --session --sessions",
           "tox": "-e run"}  # fmt: skip
_ALONE = frozenset({"test", "start"})  # targets of npm that need no `run`

_pattern = partial(matching.pattern, "index/anchors")
"""`told` finds the lines that say so themselves: a name that is gone is no news
there."""


def anchors_of(values: Mapping[str, Any], body: str) -> set[Anchor]:
    """What an entry names, by its values and the code spans and links of its body."""
    given = values.get("paths")
    globs = (
        [one for one in given if isinstance(one, str)]
        if isinstance(given, list)
        else []
    )
    found = {
        Anchor("glob" if re.search(r"[*?\[!]", one) else "path", one.strip("/"))
        for one in globs
        if one.strip("/")
    }
    for line in _pattern("fence").sub("", body).splitlines():
        if not _pattern("told").search(line):
            for span in _pattern("span").findall(line):
                found.update(_of_span(span.strip()))
            found.update(
                Anchor("path", link)
                for link in _pattern("link").findall(line)
                if _file(link)
            )
    return found


def _of_span(span: str) -> Iterator[Anchor]:
    words = span.removeprefix("$ ").split()
    if len(words) > 1 and (target := _target(words)):
        yield Anchor("script", target)
    elif len(words) > 1:
        yield from (
            Anchor("path", word) for word in words if "/" in word and _file(word)
        )
    elif path := _file(span):
        yield Anchor("path", path)
    elif name := _pattern("name").fullmatch(span):
        last = re.split(r"\.|::|#|->", span.partition("(")[0])[-1]
        telling = _pattern("telling").search(last) or (
            name[1] is not None and len(last) > 3
        )
        if telling and not _pattern("stand-in").search(last):
            yield Anchor("name", last)


def _file(text: str) -> str:
    """The path that a text is, without the line in it; "" when it is none of a
    repository."""
    found = _pattern("path").fullmatch(text)
    if not found or text.startswith(("../", "-", "~", "www.")):
        return ""
    path = found[1]
    return path if "/" in path.strip("/") or _pattern("ending").search(path) else ""


def _target(words: Sequence[str]) -> str:
    """ "tool target" of a command that runs a target of a build tool, "" of any
    other."""
    tool = _SAME.get(words[0], words[0])
    rest = [word for word in words[1:] if "=" not in word]
    if tool not in MANIFESTS or not rest:
        return ""
    before = _BEFORE.get(tool, "").split()
    if rest[0] in before:
        rest = rest[1:]
    elif before and rest[0] not in _ALONE and words[0] != "yarn":
        return ""
    ok = rest and re.fullmatch(r"[\w][\w:.-]*", rest[0])
    return f"{tool} {rest[0]}" if ok else ""


class Checked(NamedTuple):
    """What a check of all names did: how many entries name how many, and how many are
    gone."""

    entries: int = 0
    names: int = 0
    gone: int = 0
    untold: int = 0


def update(
    index: Index, root: Path, *, seconds: float = 20, again: bool = False
) -> Checked:
    """Hold what entries name against the work tree; what git cannot tell in `seconds`
    is untold."""
    top = git.work_tree(root)
    head = git.head_of(top) if top is not None else ""
    if top is None or not head:
        return Checked()
    db = index.db
    deadline = time.monotonic() + seconds
    found = db.execute("SELECT value FROM meta WHERE key = 'anchors'").fetchone()
    seen: dict[str, Any] = json.loads(found[0]) if found else {"head": "", "chunk": 0}
    pairs, fresh = _named(db, seen["chunk"])
    named = {anchor for _, anchor in pairs}
    select = "SELECT kind, name, state, witness, removed, day, now FROM anchors"
    known = {Anchor(*row[:2]): Fate(*row[2:]) for row in db.execute(select)}
    due = head != seen["head"] or (
        again and UNTOLD in (fate.state for fate in known.values())
    )
    if due or named - known.keys():
        known = Codebase(top, root, deadline).fates(named, known, seen["head"])
    if due or fresh:
        with (
            suppress(sqlite3.OperationalError),
            transaction(db),
        ):  # busy: the next one does it
            _keep(db, pairs, {anchor: known[anchor] for anchor in named}, head)
    states = [known[anchor].state for anchor in named]
    lost = sum(state in (GONE, MOVED) for state in states)
    return Checked(
        entries=len({entry for entry, _ in pairs}),
        names=len(named),
        gone=lost,
        untold=states.count(UNTOLD),
    )


def _keep(
    db: sqlite3.Connection,
    pairs: set[tuple[str, Anchor]],
    fates: Mapping[Anchor, Fate],
    head: str,
) -> None:
    db.execute("DELETE FROM anchored")
    db.execute("DELETE FROM anchors")
    db.executemany("INSERT INTO anchored VALUES (?, ?, ?)", ((e, *a) for e, a in pairs))
    kept = [(*anchor, *fate) for anchor, fate in fates.items()]
    db.executemany("INSERT INTO anchors VALUES (?, ?, ?, ?, ?, ?, ?)", kept)
    top = db.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
    now = json.dumps({"head": head, "chunk": top})
    db.execute("INSERT OR REPLACE INTO meta VALUES ('anchors', ?)", (now,))


def _named(
    db: sqlite3.Connection, chunk: int
) -> tuple[set[tuple[str, Anchor]], set[str]]:
    """What each entry names, and the entries that are new since a chunk."""
    parts = defaultdict[str, list[str]](list)
    values = dict[str, str]()
    for entry, metadata, text in db.execute(
        "SELECT entry, metadata, text FROM chunks JOIN file_meta ON file_meta.id = source"
        " WHERE live = 1 AND path NOT LIKE '~/%' AND entry IN"
        " (SELECT entry FROM chunks WHERE id > ?) ORDER BY entry, part",
        (chunk,),
    ):
        values.setdefault(entry, metadata)
        parts[entry].append(text)
    before = db.execute(
        "SELECT entry, kind, name FROM anchored WHERE entry IN (SELECT entry FROM chunks)"
    )
    pairs = {(entry, Anchor(*rest)) for entry, *rest in before if entry not in parts}
    for entry, texts in parts.items():
        found = anchors_of(json.loads(values[entry]), "\n".join(texts))
        pairs |= {(entry, anchor) for anchor in found}
    return pairs, set(parts)


def gone(index: Index) -> dict[str, list[tuple[Anchor, Fate]]]:
    """By entry, what it names that the work tree has no more."""
    found = defaultdict[str, list[tuple[Anchor, Fate]]](list)
    for entry, kind, name, *fate in index.db.execute(
        "SELECT entry, kind, name, state, witness, removed, day, now FROM anchors"
        " JOIN anchored USING (kind, name) WHERE state IN ('gone', 'moved')"
        " ORDER BY kind DESC, name"
    ):
        found[entry].append((Anchor(kind, name), Fate(*fate)))
    return found


def moves(
    found: Mapping[str, Sequence[tuple[Anchor, Fate]]],
) -> dict[str, dict[str, str]]:
    """By entry, the new names of the files it names that were renamed."""
    moved = defaultdict[str, dict[str, str]](dict)
    for entry, fates in found.items():
        for anchor, fate in fates:
            if anchor.kind == "path" and fate.state == MOVED:
                moved[entry][anchor.text] = fate.now
    return dict(moved)

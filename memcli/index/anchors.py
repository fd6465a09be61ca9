"""What entries name in the code: found in their words, held against the work tree,
noted."""

import json
import os
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memcli.index import targets
from memcli.index.citations import parse_citation
from memcli.index.codebase import Codebase
from memcli.index.database import Index, Progress
from memcli.index.fates import GONE, LOST, MOVED, UNTOLD, Anchor, Fate
from memcli.index.sayings import Pair
from memcli.index.stated import statements
from memcli.index.whole import changing
from memcli.index.worktree import UNKNOWN
from memcli.project import git
from memcli.text.matching import verbose
from memcli.text.sentences import sentence_ends

QUESTIONS = 10
"""To git about lost names for each second of a check: as many on every machine."""


@verbose(lines=True, dot_all=True)
def _fence() -> str:
    """A fenced block, to the end of the text where it is not closed."""
    return r"^[ \t]* (```|~~~) .*? (?: ^[ \t]* \1 | \Z )"


@verbose
def _span() -> str:
    """A code span of one line."""
    return r"(?<!`) ` ( [^`\n]+ ) ` (?!`)"


@verbose
def _link() -> str:
    """Where a link leads that names neither a scheme nor a heading here."""
    return r"\]\( (?! \# | [a-z]+: ) ( [^)\s\#]{3,200} )"


@verbose
def _path() -> str:
    """A path, and the test, line or lines of it that may be named behind it."""
    return r"""
        (?:\./)? ( (?: [\w@.+()\[\]-]+ / )* [\w@.+\[\]-]* [\w\]] /? )
        (?: :: [\w:\[\].-]+ | : \d+ (?: - \d+ )? | \#L\d+ )?
    """


@verbose
def _ending() -> str:
    """A name of a file with an ending that repositories have."""
    return r"""
        . \. (?: py | pyi | js | jsx | mjs | cjs | ts | tsx | vue | svelte | go | rs | rb
          | java | kt | kts | scala | swift | c | cc | cpp | h | hpp | cs | php | pl | lua
          | ex | exs | sh | bash | ps1 | sql | html | css | scss | toml | yaml | yml
          | json | jsonc | ini | cfg | conf | xml | proto | graphql | tf | gradle | cmake
          | mk | lock | txt | md | rst | ipynb | ttf | svg | png ) $
    """


@verbose
def _dotted() -> str:
    """An identifier, what it belongs to before it, and the brackets of a call."""
    return r"""
        [A-Za-z_$][\w$]* (?: (?: \. | :: | \# | -> ) [A-Za-z_$][\w$]* )* ( \(.*\) )?
    """


@verbose
def _telling() -> str:
    """What makes a word an identifier: a `_` or a capital within it."""
    return r"[^_]_[^_] | [a-z\d][A-Z]"


@verbose
def _stand_in() -> str:
    """A name that stands for another in an example."""
    return r"""
        ^ (?i: your | my | some | foo | bar | baz | xxx | example ) (?: _ | [A-Z] | $ )
    """


@verbose(ignore_case=True)
def _creates() -> str:
    """Code spans of what is to be made, which need not be there; not the folder that
    it is made in."""
    span = r"` [^`\n]+ `"
    inside = r"""
        (?: (?<= \b in\ ) | (?<= \b into\ ) | (?<= \b under\ ) | (?<= \b inside\ ) )
        ` [^`\n]+ / `
    """
    return rf"""
        \b creat(?:e|ing) \b (?: [^.`] | {inside} ){{0,60}}
        (?! {inside} ) {span} (?: \s* (?: ,? \s* (?: and | or ) | , ) \s* {span} )*
      | {span} [^.`]* \b is\ created \b
    """


@verbose(ignore_case=True)
def _of_others() -> str:
    """Code spans that the sentence itself gives to the reader, or to another time: what
    something takes the place of."""
    return r"""
        \b (?: instead\ of | rather\ than | in\ place\ of | unlike | your
          | replac(?: es | ed | ing ) \b (?! \s+ (?: by | with ) \b )
          | (?: the | an? ) \s (?: old | previous | former | legacy | deprecated ) )
        \s+ (?: [\w-]+ \s+ ){0,3}?
        ` [^`\n]+ ` (?: \s* (?: ,? \s* (?: and | or ) | , ) \s* ` [^`\n]+ ` )*
    """


@verbose(ignore_case=True)
def _supposed() -> str:
    """A sentence that invents what it names."""
    return r"""
        \b (?: let['’]?s\ (?: say | assume | pretend | imagine ) | suppose | imagine | pretend
          | hypothetical(?:ly)? | angenommen | supposons | supongamos ) \b
      | 假设 | 假如
    """


@verbose(ignore_case=True, lines=True)
def _of_one_case() -> str:
    """A sentence about one release or one measurement, whose versions do not hold for
    the others."""
    return r"""
        ^ [ \t*+|-]* v? \d+ \. (?: \d+ \. )? x \b
      | \b (?: releases? | measured | benchmark\w* ) \b
    """


@verbose
def _goes_on() -> str:
    """What a sentence begins with that goes on about what the one before it names."""
    return r"\( | (?: This | These | That | Those | It | They | Both ) \b"


@verbose(ignore_case=True)
def _told() -> str:
    """A sentence that says itself what is gone: there a name that is gone is no
    news."""
    return r"""
        \b (?: removed | deleted | dropped | renamed | no\ longer | used\ to
          | originally | formerly | never\ (?: existed | had )
          | entfernt | gelöscht | umbenannt | supprimée?s? | renommée?s?
          | (?: eliminad | renombrad | removid | renomead ) [oa]s?
          | удал[её]н[аоы]? | переименован[аоы]? ) \b
      | 削除 | 廃止 | 改名 | 移除 | 删除 | 刪除 | 重命名 | 삭제 | 제거
    """


def anchors_of(values: Mapping[str, Any], body: str) -> set[Anchor]:
    """What an entry names, by its values and the code spans and links of its body."""
    globs = [glob for each in _listed(values, "paths") if (glob := each.strip("/"))]
    anchors = {
        Anchor("glob" if re.search(r"[*?\[!]", glob) else "path", glob)
        for glob in globs
    }
    for row in _listed(values, "rests_on"):
        if citation := parse_citation(row):
            anchors.add(Anchor("path", citation.path))
            anchors.add(Anchor("lines", str(citation)))
    for sentence in _sentences(_fence().sub("", body)):
        prose = _without_spans(sentence)
        if not (_told().search(prose) or _supposed().search(prose)):
            anchors.update(_of_sentence(sentence))
    return anchors


def _without_spans(text: str) -> str:
    """The text with blanks for its code spans."""
    return _span().sub(lambda span: "`" * len(span[0]), text)


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for end in [*sentence_ends(text), len(text)]:
        if not _goes_on().match(text, end):
            yield text[start:end]
            start = end


def _of_sentence(sentence: str) -> Iterator[Anchor]:
    sentence = _of_others().sub(" ", sentence)
    orders = (order[0] for order in _creates().finditer(sentence))
    ordered = {span for order in orders for span in _span().findall(order)}
    for span in _span().findall(sentence):
        for anchor in _of_span(span.strip()):
            if not (span in ordered and anchor.kind == "path"):
                yield anchor
    yield from _values_of(sentence)
    for link in _link().findall(sentence):
        if path := _file(link):
            yield Anchor("path", path)


def _values_of(sentence: str) -> Iterator[Anchor]:
    """The values and ports that a sentence states."""
    # what a command or its output has is an example, not what holds here
    prose = _span().sub(lambda span: span[1] if " " not in span[1] else " ", sentence)
    if not _of_one_case().search(prose):
        for statement in statements(prose):
            yield Anchor("value", str(statement))
    for port in _port().findall(sentence):
        yield Anchor("script", f"port {port}")


def _listed(values: Mapping[str, Any], key: str) -> list[str]:
    """The texts in a list that a key has."""
    rows = values.get(key)
    return (
        [row for row in rows if isinstance(row, str)] if isinstance(rows, list) else []
    )


@verbose(ignore_case=True)
def _port() -> str:
    """A port that prose names."""
    return r"\b (?:ports?|puerto|porta|порт|端口|ポート|포트) (?:\s+is\b)? [ ]? [=:]? [ ]? (\d{2,5})\b"


@verbose
def _joint() -> str:
    """What ends a simple command right behind its last word."""
    return r"(?<=[^\s;&|]) ( ; | && | \|\| ) (?=\s)"


def _words(span: str) -> list[str]:
    """The words of a code span, those that part commands by themselves."""
    text = span.removeprefix("$ ")
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return _joint().sub(r" \1", text).split()


def _is_spaced_path(words: Sequence[str]) -> bool:
    """Whether these words may be one path with blanks in it."""
    last = words[-1]
    is_ended = last.endswith("/") or _ending().search(last) is not None
    return "/" in words[0] and is_ended and _file("_".join(words)) != ""


def _of_span(span: str) -> Iterator[Anchor]:
    words = _words(span)
    if len(words) > 1:
        yield from _of_command(words)
        if _is_spaced_path(words):
            yield Anchor("path", " ".join(words))
    elif path := _file(span):
        yield Anchor("path", path)
    elif name := _dotted().fullmatch(span):
        last = re.split(r"\.|::|#|->", span.partition("(")[0])[-1].lstrip("$")
        telling = _telling().search(last) or name[1] is not None
        if len(last) > 3 and telling and not _stand_in().search(last):
            yield Anchor("name", last)


def _of_command(words: Sequence[str]) -> Iterator[Anchor]:
    """The targets of each simple command, and the words that are paths."""
    start = 0
    for end, word in enumerate([*words, ";"]):
        if word in ("&&", "||", "|", ";", "&"):
            for target in targets.called(words[start:end]):
                yield Anchor("script", target)
            start = end + 1
        elif "/" in word and (path := _file(word.removesuffix("/..."))):
            yield Anchor("path", path)


def _file(text: str) -> str:
    """The path that a text is, without the line in it; "" when it is none of a
    repository."""
    match = _path().fullmatch(text)
    outside = text.startswith(("-", "~", "www.")) or ".." in text.split("/")
    if not match or outside:
        return ""
    path = match[1]
    return path if "/" in path or _ending().search(path) else ""


class Checked(NamedTuple):
    """What a check of all names did: how many entries name how many, and how many are
    gone."""

    entries: int = 0
    names: int = 0
    gone: int = 0
    untold: int = 0


def update(
    index: Index,
    root: Path,
    count: Progress,
    *,
    seconds: float = 20,
    again: bool = False,
) -> Checked:
    """Hold what entries name against the work tree; what git cannot tell in `seconds`
    is untold."""
    top = git.work_tree(root)
    head = git.head_of(top) if top is not None else ""
    if top is None or not head:
        return Checked()
    deadline = time.monotonic() + seconds
    # what entries name today, and what the last check found of it
    seen = {"head": "", "chunk": 0, **_seen(index)}
    pairs, fresh = _named(index.db, seen["chunk"])
    named = {anchor for _, anchor in pairs}
    known = _known(index.db)
    untold = _untold(known)
    # a new commit or entry, or time for what there was none for
    is_new = bool(fresh) or head != seen["head"]
    if is_new or (again and untold):
        tree = Codebase(top, root, deadline)
        tree.questions = round(seconds * QUESTIONS)
        tree.count = count
        tree.asked = {} if is_new else untold
        _date(tree, pairs, index.db)
        known = tree.fates(named, known, seen["head"])
        pairs |= tree.since
        seen = {"unread": sorted(tree.declared.unread.items()), "head": head}
        # busy: the next one does it
        with suppress(sqlite3.OperationalError), changing(index.db):
            _keep(index.db, pairs, _fates(named, known), seen)
    return _summed(pairs, _fates(named, known))


def _untold(known: Mapping[Anchor, Fate]) -> dict[Anchor, int]:
    """The names that there was no time for, and where to go on."""
    return {each: fate.at for each, fate in known.items() if fate.state == UNTOLD}


def _fates(named: Iterable[Anchor], known: Mapping[Anchor, Fate]) -> dict[Anchor, Fate]:
    return {anchor: known[anchor] for anchor in named}


def _date(tree: Codebase, pairs: Mapping[Pair, int], db: sqlite3.Connection) -> None:
    """Tell a tree of the tracked file and the day of each entry, and since when it has
    had its names."""
    below = os.path.relpath(tree.root, tree.top)
    rows = db.execute(
        "SELECT entry, path, json_extract(metadata, '$.created')"
        " FROM chunks JOIN file_meta ON file_meta.id = source"
    ).fetchall()
    tree.days = {entry: day or "9" for entry, _, day in rows}
    found = {entry: os.path.normpath(f"{below}/{path}") for entry, path, _ in rows}
    tree.memory = {entry: file for entry, file in found.items() if file in tree.files}
    tree.since = {pair: pairs[pair] for pair in pairs if pair[0] in tree.memory}


def _summed(pairs: Iterable[Pair], fates: Mapping[Anchor, Fate]) -> Checked:
    """How many entries name how many, and what has become of those."""
    states = Counter(fate.state for fate in fates.values())
    return Checked(
        entries=len({entry for entry, _ in pairs}),
        names=len(fates),
        gone=states[GONE] + states[MOVED],
        untold=states[UNTOLD],
    )


def _seen(index: Index) -> dict[str, Any]:
    """What the last check noted of itself."""
    row = index.db.execute("SELECT value FROM meta WHERE key = 'anchors'").fetchone()
    return dict(json.loads(row[0])) if row else {}


def _known(db: sqlite3.Connection) -> dict[Anchor, Fate]:
    """What the last check found."""
    rows = db.execute(
        "SELECT kind, name, state, witness, removed, day, now, at FROM anchors"
    )
    return {Anchor(kind, name): Fate(*fate) for kind, name, *fate in rows}


def _keep(
    db: sqlite3.Connection,
    pairs: Mapping[Pair, int],
    fates: Mapping[Anchor, Fate],
    seen: Mapping[str, Any],
) -> None:
    db.execute("DELETE FROM anchored")
    db.execute("DELETE FROM anchors")
    rows = [(entry, *anchor, since) for (entry, anchor), since in pairs.items()]
    db.executemany("INSERT INTO anchored VALUES (?, ?, ?, ?)", rows)
    kept = [(*anchor, *fate) for anchor, fate in fates.items()]
    db.executemany("INSERT INTO anchors VALUES (?, ?, ?, ?, ?, ?, ?, ?)", kept)
    top = db.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
    now = json.dumps({**seen, "chunk": top})
    db.execute("INSERT OR REPLACE INTO meta VALUES ('anchors', ?)", (now,))


def _named(db: sqlite3.Connection, chunk: int) -> tuple[dict[Pair, int], set[str]]:
    """What each entry names, with the place since which it does, and the entries that
    are new since a chunk."""
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
        "SELECT entry, kind, name, since FROM anchored"
        " WHERE entry IN (SELECT entry FROM chunks)"
    )
    pairs = {
        (entry, Anchor(kind, name)): since
        for entry, kind, name, since in before
        if entry not in parts
    }
    for entry, texts in parts.items():
        found = anchors_of(json.loads(values[entry]), "\n".join(texts))
        pairs |= dict.fromkeys(((entry, anchor) for anchor in found), UNKNOWN)
    return pairs, set(parts)


def forget_unnamed(db: sqlite3.Connection, chunk: int) -> None:
    """Forget what the entries that are new since a chunk name no more: an edit that
    mends a name is believed before the next check."""
    pairs, fresh = _named(db, chunk)
    rows = db.execute("SELECT entry, kind, name FROM anchored").fetchall()
    unnamed = [
        (entry, kind, name)
        for entry, kind, name in rows
        if entry in fresh and (entry, Anchor(kind, name)) not in pairs
    ]
    db.executemany(
        "DELETE FROM anchored WHERE entry = ? AND kind = ? AND name = ?", unnamed
    )


def unread(index: Index) -> list[tuple[str, str]]:
    """The manifests that could not be read at the last check, and why."""
    return [(path, reason) for path, reason in _seen(index).get("unread", ())]


def gone(index: Index) -> dict[str, list[tuple[Anchor, Fate]]]:
    """By entry, what it names that the work tree has no more."""
    lost = defaultdict[str, list[tuple[Anchor, Fate]]](list)
    for entry, kind, name, *fate in index.db.execute(
        "SELECT entry, kind, name, state, witness, removed, day, now FROM anchors"
        f" JOIN anchored USING (kind, name) WHERE {LOST}"
        " ORDER BY kind DESC, name"
    ):
        lost[entry].append((Anchor(kind, name), Fate(*fate)))
    return lost


def moves(index: Index) -> dict[str, dict[str, str]]:
    """By entry, the new names of the files and globs it names that were renamed, as
    far as a line of an entry can hold them."""
    moved = defaultdict[str, dict[str, str]](dict)
    for entry, fates in gone(index).items():
        for anchor, fate in fates:
            is_moved = anchor.kind in ("path", "glob") and fate.state == MOVED
            if is_moved and fate.now.isprintable() and "`" not in fate.now:
                moved[entry][anchor.text] = fate.now
    return dict(moved)

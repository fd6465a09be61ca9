"""The checks of mem doctor on the content of memory files."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from memcli.diagnostics.scene import Check, Scene, absolute, failure, passed, warning
from memcli.memory.grammar import conflict_lines, lone_markers
from memcli.memory.parser import KnownFile, MemoryFile
from memcli.memory.values import OUTERMOST, Entry, Problem
from memcli.memory.words import count
from memcli.project.context import read_known
from memcli.recall.budget import tokens
from memcli.text.injections import find_injections
from memcli.text.secrets import find_secrets

NAMES = """readable front-matter conflicts duplicate-ids secrets values dates ids
    injections institutional""".split()
"""Every content check, in the order of its rows."""


def key_line(memory: MemoryFile, entry: Entry, key: str) -> int:
    """The line of a key in an entry's front matter, or that of the body if it cannot be
    found."""
    pattern = re.compile(rf"(?<![^\r\n]){key}[ \t]*:")
    found = pattern.search(memory.text, entry.start, entry.end)
    return line_at(memory.text, found.start()) if found else entry.line


def line_at(text: str, offset: int) -> int:
    """The line number, from 1, of an offset; a lone CR ends a line, too."""
    return 1 + bisect_right(_line_ends(text), offset)


@lru_cache(maxsize=2)
def _line_ends(text: str) -> list[int]:
    """The offsets of all line ends, computed once, since a file may have many
    findings."""
    return [found.end() for found in re.finditer(r"\r\n|\n|\r(?!\n)", text)]


def check_content(scene: Scene) -> list[Check]:
    """The rows of every content check."""
    project = scene.app.project
    named_here = {absolute(scene.app, name) for name in scene.files}
    today = project.now.isoformat()
    budget = project.config.max_tokens
    others = [file for file in project.listing.files if file.path not in named_here]
    known = list(read_known(project, others if named_here else [], []))
    return content(*scene.read, today=today, max_tokens=budget, others=known)


def content(
    documents: Sequence[KnownFile],
    unreadable: Iterable[Problem],
    *,
    today: str,
    max_tokens: int,
    others: Sequence[KnownFile] = (),
) -> list[Check]:
    """The rows for these documents, with a "PASS" for each check without findings; ids
    are also compared with `others`."""
    rows = [_unread(problem) for problem in unreadable]
    for document in documents:
        for check in (_damaged, _conflicts, _unnamed, _secrets, _injections):
            rows += check(document)
        rows += _future(document, today)
    rows += [*_duplicates(documents, others), *_institutional(documents, max_tokens)]
    faulty = {row.name for row in rows}
    clean = [name for name in NAMES if name not in faulty]
    rows += [passed(name, "nothing found") for name in clean]
    return sorted(rows, key=lambda row: (NAMES.index(row.name), row.path, row.line))


def _unread(problem: Problem) -> Check:
    """Rows for files that cannot be read, and for files beyond the limit."""
    if problem.severity == "unreadable":
        state = failure
        hint = (
            "make it a regular UTF-8 file that may be read (chmod u+r); git may have it"
        )
        if "is longer than" in problem.message:
            hint = (
                "move some of it to a file of another name; git may have a shorter one"
            )
    else:
        state = warning
        hint = "move old files to another folder: those over the limit are not found"
    return state(
        "readable", problem.message, hint=hint, path=problem.path, line=problem.line
    )


def _damaged(document: KnownFile) -> Iterator[Check]:
    """Blocks meant as entries that cannot be parsed, and values that cannot be used."""
    lines = ["", *re.split(r"\r\n|\n|\r", document.memory.text)]
    lost = "fix it there: until then it counts as prose and its values are ignored"
    for problem in document.memory.problems:
        hidden = find_secrets(lines[problem.line])
        message = "cannot be used (it contains a secret)" if hidden else problem.message
        if problem.severity == "unreadable":
            yield failure(
                "front-matter",
                message,
                hint=lost,
                path=document.path,
                line=problem.line,
            )
        else:
            yield warning(
                "values",
                message,
                hint="correct it there",
                path=document.path,
                line=problem.line,
            )


def _conflicts(document: KnownFile) -> Iterator[Check]:
    text = document.memory.text
    whole = "resolve it and save the file; mem does not write to the file until then"
    lone = "delete that line, or put it in a code fence where it is meant"
    for message, hint, lines in (
        ("unresolved conflict", whole, conflict_lines(text)),
        ("half of a conflict is left", lone, lone_markers(text)),
    ):
        for line in lines:
            yield failure(
                "conflicts", message, hint=hint, path=document.path, line=line
            )


def _unnamed(document: KnownFile) -> Iterator[Check]:
    missing = [entry for entry in document.memory.entries if not entry.stated_id]
    if missing and document.place.store != "archive":
        message = f"{count(len(missing), 'entry has', 'entries have')} no id"
        yield warning(
            "ids",
            message,
            hint="mem doctor --fix",
            path=document.path,
            line=missing[0].line,
        )


def _secrets(document: KnownFile) -> Iterator[Check]:
    """Credentials, by kind and place; the value is never shown."""
    hint = "remove it and revoke it: a committed secret stays in git's history"
    for secret in find_secrets(document.memory.text):
        line = line_at(document.memory.text, secret.start)
        yield failure("secrets", secret.kind, hint=hint, path=document.path, line=line)


def _injections(document: KnownFile) -> Iterator[Check]:
    """Sentences that try to command the agent. Archives are skipped: agents never see
    them."""
    text = document.memory.text if document.place.store != "archive" else ""
    hint = "reword or remove it; recall shows a notice in its place"
    for span in find_injections(text):
        message = f"reads like an instruction to the agent ({span.kind})"
        yield warning(
            "injections",
            message,
            hint=hint,
            path=document.path,
            line=line_at(text, span.start),
        )


def _future(document: KnownFile, today: str) -> Iterator[Check]:
    for entry in document.memory.entries:
        for key in ("created_at", "last_reinforced"):
            if (day := getattr(entry, key)) > today:
                message = f"{key}: {day} is in the future and counts as today"
                line = key_line(document.memory, entry, key)
                yield warning(
                    "dates",
                    message,
                    hint="correct it there",
                    path=document.path,
                    line=line,
                )


def _duplicates(
    documents: Iterable[KnownFile], others: Iterable[KnownFile]
) -> Iterator[Check]:
    """Ids that occur twice within one git work tree; an archive may repeat an id of its
    file."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for document in others:
        for entry in _own_ids(document):
            place = (document.path, entry.line)
            first.setdefault((document.tree, entry.stated_id), place)
    for document in documents:
        for entry in _own_ids(document):
            place = (document.path, entry.line)
            path, line = first.setdefault((document.tree, entry.stated_id), place)
            if (path, line) != place:
                hint = "mem compact"
                if path != document.path:
                    hint = "remove the id of the copy, then: mem doctor --fix"
                yield failure(
                    "duplicate-ids",
                    f"id {entry.stated_id} is also in {path}:{line}",
                    hint=hint,
                    path=document.path,
                    line=key_line(document.memory, entry, "id"),
                )


def _own_ids(document: KnownFile) -> list[Entry]:
    """The entries whose ids must be unique."""
    if document.place.store == "archive":
        return []
    return [entry for entry in document.memory.entries if entry.stated_id]


def _institutional(documents: Iterable[KnownFile], max_tokens: int) -> Iterator[Check]:
    """Institutional text that, with that of the levels above, takes more than half of
    an answer."""
    norms = [each for each in documents if each.place.store == "institutional"]
    norms.sort(key=lambda document: OUTERMOST[document.place.level])
    full = []
    share = max_tokens // 2
    for document in norms if max_tokens else ():
        level, _, job, task, _ = document.place
        chain = [other for other in norms if other.place.is_around(level, job, task)]
        size = sum(map(tokens, {other.memory.text.strip() for other in chain}))
        is_told = any(other in full for other in chain)
        if size > share and not is_told:
            full.append(document)
            shown = f"{share} are shown (half of max_tokens)"
            yield warning(
                "institutional",
                f"{size} tokens of institutional text, {shown}",
                hint="shorten it, or raise max_tokens",
                path=document.path,
                line=1,
            )

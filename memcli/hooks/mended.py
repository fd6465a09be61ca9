"""How a command that fails was got over when it failed so before, as history has it."""

import re

from memcli.history.mends import Mend, are_same, error_line, key_of_line
from memcli.history.record import opened
from memcli.hooks.calls import HookApp, HookCall, has_memory
from memcli.hooks.instructions import ALIKE, FEWEST
from memcli.index.record import RecordContents
from memcli.memory.docs import Doc
from memcli.memory.words import overlap, stems
from memcli.project.record import record_of
from memcli.recall.budget import heading
from memcli.recall.hit import Hit
from memcli.sessions.speakers import key_of
from memcli.sessions.tools import shell_line
from memcli.text.controls import for_prompt, named


def mended_before(app: HookApp, call: HookCall) -> list[Hit]:
    """The newest other session in which the same command failed with the same error
    and worked later; nothing that was learned from it holds no more."""
    path = record_of(app.project)
    words = _error_words(call.error)
    if path is None or len(words) < FEWEST:
        return []
    with opened(path) as record:
        found = _found(record, shell_line(call.input), words) if record else []
    here = key_of(call.session)
    others = [(doc, mend) for doc, mend in found if doc.unit != here]
    if not others:
        return []
    from memcli.index.past import gone_of  # few failures come so far

    gone = app.guarded(lambda: gone_of(app.index)) if has_memory(app) else {}
    hits = [_hit(doc, mend) for doc, mend in others if doc.event not in gone]
    return hits[:1]


def _found(
    record: RecordContents, line: str, words: set[str]
) -> list[tuple[Doc, Mend]]:
    """The exchanges with such a failure, the newest first."""
    key = key_of_line(line)
    where = "source = 'session' AND instr(about, '\"mended\"') ORDER BY date DESC"
    mends = (
        (doc, Mend._make(parts))
        for _, doc in record.select(where)
        for text in doc.about.get("mended", ())
        if len(parts := text.split("\n")) == len(Mend._fields)
    )
    return [
        (doc, mend)
        for doc, mend in mends
        if are_same(key, key_of_line(mend.command))
        and overlap(words, _error_words(mend.error)) > ALIKE
    ]


def _error_words(text: str) -> set[str]:
    """The words of the line that says what failed, without numbers."""
    return stems(re.sub(r"\d+", " ", error_line(text)))


def _hit(doc: Doc, mend: Mend) -> Hit:
    title = f"`{mend.command}` failed before, and worked later"
    facts = (f"session with {named(doc.who)}", doc.date[:10], doc.handle)
    return Hit(
        key=doc.handle,
        layer="history",
        head=for_prompt(heading(title, facts)),
        text=for_prompt(f"It said: {mend.error}\nUntil it worked: {mend.done}."),
        id=doc.handle,
        title=for_prompt(title),
        extra=doc.facts,
    )

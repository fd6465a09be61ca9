"""What a context holds: what a session, or a sub-agent of it, was told, and in which
words. Every hook tells through `tell` or `remember`."""

import json
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial

from memcli.hooks.calls import HookApp, HookCall, Told
from memcli.hooks.instructions import FEWEST, Instructions
from memcli.named import NamedTuple
from memcli.recall import budget
from memcli.recall.budget import POINTED
from memcli.recall.hit import BETWEEN, Hit
from memcli.storage.files import ONE_OF, open_file
from memcli.storage.state import HookTelling, SessionLog, State, settled

WORDS = "words"
"""The event under which it is noted in which words entries were told."""
SPENT = "spent"
"""The event under which it is noted how many tokens a telling took."""
SESSION_TOKENS = 1_200
"""What a session may be told; at its end what is clear is pointed at, then nothing."""
WRITING = "writing"
"""The event under which it is noted how a memory file stood before the agent changed
it."""
OWN = "own words"
"""The event under which it is noted what the agent wrote itself."""
CHANGED = ", changed since it was told"
SCANNED = 4_000_000
"""So many bytes of a transcript's beginning are looked through."""
# the session in which a record was made before it was forked, as Codex and
# Claude Code write it
_ORIGIN = (
    r'"(?:forked_from_id|requestSessionId|forkedFrom":\s*{\s*"sessionId)":\s*"([^"]+)'
)
UNNAMED = ("institutional", "units")
"""Layers whose items are told by the file, or may be told again."""


class Occasion(NamedTuple):
    """A telling: in which context, at which event, and why."""

    context: str
    event: str
    why: str


class InContext(NamedTuple):
    """What a context holds: entries `told` in the words of today, and those that have
    `changed` since they were told."""

    told: set[str]
    changed: set[str]

    @property
    def whole(self) -> set[str]:
        """What of it is told as a whole, so that no part is left."""
        return self.told - {key.partition("\n")[0] for key in self.told if "\n" in key}


def beginning(transcript: str) -> str:
    """What a transcript begins with, "" without one."""
    with suppress(OSError), open_file(transcript) as file:
        return file.read(SCANNED).decode("utf-8", "replace")
    return ""


def take_over(state: State, call: HookCall) -> None:
    """Note that a session which begins as a fork holds what those were told from which
    its transcript comes."""
    if SessionLog(state).started(call.session) is not None:
        return
    origins = re.findall(_ORIGIN, beginning(call.transcript))

    if origins:
        settled(state, lambda state: SessionLog(state).take_over(call.session, origins))


def pointer_key(entry: str) -> str:
    """The name under which it is noted that an entry was pointed at: its text may
    still be told."""
    return f"pointed {entry}"


def key_of(item: Hit) -> str:
    """The name under which it is known that an item was told, or pointed at."""
    return pointer_key(item.key) if item.layer == POINTED else item.key


def _keys(item: Hit) -> set[str]:
    """The names under which it is noted that an item was told: of a long one each line
    that was shown."""
    if not item.parted:
        return {key_of(item)}
    shown = item.text or item.head
    lines = [line for line in shown.splitlines() if len(line.split()) >= FEWEST]
    return {
        f"{key_of(item)}\n{zlib.crc32(line.encode('utf-8', 'surrogatepass')):08x}"
        for line in lines or [shown]
    }


def is_known(item: Hit, known: Collection[str]) -> bool:
    """Whether a context holds most of what an item shows."""
    keys = _keys(item)
    return 2 * len(keys.intersection(known)) > len(keys)


def title_of(item: Hit) -> str:
    """The title in the heading line of an item."""
    return item.head.removeprefix("- ").partition(BETWEEN)[0]


def words_of(app: HookApp, entries: Collection[str]) -> dict[str, set[str]]:
    """A checksum of the words of every copy of these entries, as indexed."""
    if not entries:
        return {}
    rows = app.index.db.execute(
        "SELECT entry, source, title, text FROM chunks"
        f" WHERE entry {ONE_OF} ORDER BY part",
        (json.dumps(sorted(entries)),),
    )
    checksums: dict[tuple[str, int], int] = {}
    for entry, source, title, text in rows:
        part = f"{title}\n{text}".encode("utf-8", "surrogatepass")
        before = checksums.get((entry, source), 0)
        checksums[entry, source] = zlib.crc32(part, before)
    words: dict[str, set[str]] = {}
    for (entry, _), checksum in checksums.items():
        words.setdefault(entry, set()).add(f"{checksum:08x}")
    return words


def in_context(app: HookApp, log: SessionLog, context: str) -> InContext:
    """What stands in a context: the entries that were told there, or written by the
    agent itself, and those of them that have other words since."""
    checksums: dict[str, set[str]] = {}
    for noted in log.shown(context, WORDS):
        entry, _, checksum = noted.rpartition(" ")
        checksums.setdefault(entry, set()).add(checksum)
    written = _written(app, log, context)
    for entry, words in written.items():
        checksums.setdefault(entry, set()).update(words)
    today = app.guarded(lambda: words_of(app, checksums))
    changed = {
        entry for entry, words in today.items() if words.isdisjoint(checksums[entry])
    }
    known = log.shown(context).union(written)
    told_keys = {key for key in known if key.partition("\n")[0] not in changed}
    return InContext(told=told_keys, changed=changed)


def note_writing(
    app: HookApp, log: SessionLog, occasion: Occasion, names: Iterable[str]
) -> None:
    """Note, in the running transaction, how memory files stand that the agent is about
    to change, "" for all of them: what changes there until the next prompt is its
    own."""
    rows = []
    for name in names:
        before = set[str]().union(*_words_in(app, name).values())
        rows.append(json.dumps([name, *sorted(before)]))
    _note_shown(app, log, occasion._replace(event=WRITING), rows)


def _words_in(app: HookApp, name: str) -> dict[str, set[str]]:
    """The entries of a memory file, "" for all of them, with checksums of their
    words."""
    rows = app.index.db.execute(
        "SELECT DISTINCT entry FROM chunks JOIN file_meta ON file_meta.id = source"
        " WHERE ? IN ('', path)",
        (name,),
    )
    return words_of(app, {entry for (entry,) in rows})


def _written(app: HookApp, log: SessionLog, context: str) -> dict[str, set[str]]:
    """The entries that have other words than when the agent began to change their
    files, with these words."""
    written = {}
    for noted in log.shown(context, WRITING):
        name, *before = json.loads(noted)
        today = app.guarded(partial(_words_in, app, name))
        for entry, words in today.items():
            if not words.issubset(before):
                written[entry] = words
    return written


def _note_written(app: HookApp, log: SessionLog, occasion: Occasion) -> None:
    """Note what the agent wrote as what it holds: later changes are somebody else's."""
    own = _written(app, log, occasion.context)
    _note_shown(app, log, occasion._replace(event=OWN), own)
    _note_shown(app, log, occasion._replace(event=WORDS), _in_words(app, {*own}))
    if not app.late:  # else they are not indexed yet
        log.forget_event(occasion.context, WRITING)


def remember(
    app: HookApp, log: SessionLog, occasion: Occasion, items: Iterable[Hit]
) -> tuple[str, ...]:
    """Remember, in the running transaction, that these were told; their titles."""
    named = [item for item in items if item.layer not in UNNAMED]
    whole = [item for item in named if item.layer != POINTED]
    entries = {key for item in whole for key in (item.key, *item.duplicates)}
    places = set[str]().union(*map(_keys, named))
    _note_shown(app, log, occasion, entries | places)
    _note_shown(app, log, occasion._replace(event=WORDS), _in_words(app, entries))
    titles = {item.key: title_of(item) for item in named}
    _note_told(app, log, occasion, titles)
    return tuple(titles.values())


def _in_words(app: HookApp, entries: set[str]) -> list[str]:
    """How it is noted in which words entries are told: each with a checksum."""
    return [
        f"{entry} {checksum}"
        for entry, checksums in words_of(app, entries).items()
        for checksum in checksums
    ]


def tokens_left(log: SessionLog, context: str) -> int:
    """How many tokens a context may still be told."""
    tellings = log.shown(context, SPENT)
    return SESSION_TOKENS - sum(int(noted.split()[1]) for noted in tellings)


def note_spent(app: HookApp, log: SessionLog, occasion: Occasion, text: str) -> None:
    """Note, in the running transaction, how many tokens a telling took."""
    if not text:
        return
    number = len(log.shown(occasion.context, SPENT))
    spent = f"{number} {budget.tokens(text)}"
    _note_shown(app, log, occasion._replace(event=SPENT), [spent])


def _note_shown(
    app: HookApp, log: SessionLog, occasion: Occasion, keys: Iterable[str]
) -> None:
    day = app.project.now.isoformat()
    rows = [(occasion.context, occasion.event, key, day) for key in sorted(keys)]
    log.note("shown", rows, "OR IGNORE")


def _note_told(
    app: HookApp, log: SessionLog, occasion: Occasion, titles: dict[str, str]
) -> None:
    """Note entry -> title for the person, who may ask what was told and why."""
    at = f"{app.project.now.isoformat()}{time.strftime('T%H:%M:%S')}"
    rows = [
        HookTelling(
            session=occasion.context,
            event=occasion.event,
            entry=entry,
            title=title,
            why=occasion.why,
            at=at,
        )
        for entry, title in titles.items()
    ]
    log.note("told", rows)


def tell(
    app: HookApp,
    state: State,
    occasion: Occasion,
    items: Sequence[Hit],
    write: Callable[[SessionLog, list[Hit]], str],
) -> Told:
    """Say what `write` makes of those items that the context does not hold by now:
    another hook may have told some of them meanwhile."""
    return app.settled(
        state, lambda state: telling(app, SessionLog(state), occasion, items, write)
    )


def telling(
    app: HookApp,
    log: SessionLog,
    occasion: Occasion,
    items: Sequence[Hit],
    write: Callable[[SessionLog, list[Hit]], str],
) -> Told:
    """What `tell` says, in the running transaction."""
    known = in_context(app, log, occasion.context).told
    fresh = [item for item in items if not is_known(item, known)]
    if occasion.event == "prompt":
        _note_written(app, log, occasion)
    text = write(log, fresh)
    note_spent(app, log, occasion, text)
    return Told(text=text, titles=remember(app, log, occasion, fresh))


def marked(items: Iterable[Hit], changed: Collection[str]) -> list[Hit]:
    """Items, those told in other words before marked as changed."""
    return [
        item.made._replace(head=f"{item.made.head}{CHANGED}")
        if item.key in changed
        else item
        for item in items
    ]


def is_read(read: Instructions, item: Hit) -> bool:
    """Whether the agent has read what an item says in what it loads by itself."""
    if not read.texts:
        return False
    head, text = item.words
    return read.say(head.partition(BETWEEN)[0], text)

"""A name that stands in memory, and what the work tree has of it."""

from memcli.named import NamedTuple

HERE = "here"
GONE = "gone"
MOVED = "moved"
NEVER = "never"
UNTOLD = "untold"


LOST = "state IN ('gone', 'moved') AND (at < 0 OR at > since)"
"""In SQL, whether what an entry names was there when it came to speak of it, and is
no more."""

LOST_BY_CHANGED = f"""
    SELECT 1 FROM anchored JOIN anchors USING (kind, name)
    WHERE {LOST} AND entry IN (SELECT entry FROM chunks WHERE id > ?)
"""
"""The query for whether an entry with a newer chunk has lost a name."""


class Anchor(NamedTuple):
    """`kind` is path, glob, script (a target, `npm run build`), name, value (`Node 18`)
    or lines (a citation with its sketch)."""

    kind: str
    text: str

    @property
    def end(self) -> str:
        """A path as it stands in longer ones, between slashes."""
        return f"/{self.text.removeprefix('./').rstrip('/')}/"


class Fate(NamedTuple):
    """`state` is here, gone, moved (to `now`), never (in this history) or untold;
    `commit` removed it, `at` is its place on the main line, -1 where that is not known;
    an identifier stands in `witness`; of a value that is gone `now` is what the
    manifest says."""

    state: str
    witness: str = ""
    commit: str = ""
    day: str = ""
    now: str = ""
    at: int = -1

    @property
    def is_lost(self) -> bool:
        """Whether it was taken away or moved."""
        return self.state in (GONE, MOVED)

    @property
    def was_here(self) -> bool:
        """Whether it stood at the last look, or was taken out without a commit since."""
        return self.state == HERE or self == PENDING


PENDING = Fate(UNTOLD, witness="uncommitted")
"""It was here, and no commit has taken it out yet."""


def gone_text(kind: str, name: str, commit: str, now: str) -> str:
    """What is wrong with a name of some kind, as recall shows it: `names a.py, gone
    since 9f1c2d3, now b.py`."""
    from memcli.text.controls import named  # hooks before a tool seldom need its rules

    since = f" since {commit}" if commit else ""
    if kind == "value":
        return f"says {name}, {now}"
    if kind == "lines":
        where = name.partition("#")[0]
        return f"what it rests on changed{commit and f' in {commit}'} ({named(where)})"
    return f"names {name}, gone{since}{now and f', now {named(now)}'}"

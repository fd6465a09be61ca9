"""What an answer shows, of either tier: one record from a draft to what is told. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from memcli.named import NamedTuple

BETWEEN = " · "  # between a title and the facts about it: no title holds it


class Draft(NamedTuple):
    """What a hit is made of when it is looked at: `words` are its heading and its text
    as they stand in the file, `size` tokens it has at least."""

    words: Callable[[], tuple[str, str]]
    made: Callable[[], "Hit"]
    size: int


class Hit(NamedTuple):
    """An entry, a file of norms, an exchange or a commit, as it is shown.

    `key` names it within an answer, `id` for good; `rank` counts from 1 within its
    layer, or through both tiers where they are `listed` as one. `head` and `note` are
    its first and last line in the block, made safe as `text` is; `brief` gives what of
    the text answers within so many tokens. `duplicates` are the keys of what says the
    same, `extra` is what is known of an exchange or a commit instead of level, path and
    so on. Most hits are a `draft` until they are looked at."""

    key: str
    layer: str
    head: str
    text: str
    note: str = ""
    id: str | None = None
    rank: int = 0
    score: float | None = None
    title: str = ""
    type: str = ""
    kind: str = ""
    level: str = ""
    store: str = ""
    path: str = ""
    line: int = 0
    age_days: int | None = None
    duplicates: tuple[str, ...] = ()
    factors: Mapping[str, Any] | None = None
    project: str = ""
    url: str = ""
    key_moment: bool = False
    gone: str = ""
    extra: Mapping[str, Any] | None = None
    listed: bool = False
    brief: Callable[[int], str] | None = None
    draft: Draft | None = None
    parted: bool = False
    """Whether it is so long that a part of it is shown, which need not be the next
    one's."""
    in_list: bool = False
    """Whether it is a line of a list, and its title the heading above the list."""

    @property
    def made(self) -> "Hit":
        """The hit itself."""
        return self.draft.made() if self.draft else self

    @property
    def where(self) -> str:
        """Where it stands: the line of a file, or the handle of an exchange or
        commit."""
        return f"{self.path}:{self.line}" if self.path else str(self.id)

    @property
    def words(self) -> tuple[str, str]:
        """Its heading and its text; those of a draft are not safe yet."""
        return self.draft.words() if self.draft else (self.head, self.text)

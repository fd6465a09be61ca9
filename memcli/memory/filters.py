"""What the user asked to see."""

import datetime
import re

from memcli.errors import UsageError, one_of
from memcli.memory import values
from memcli.memory.words import is_day
from memcli.named import NamedTuple


class Filters(NamedTuple):
    """Filters of entries and files. Within one filter any value fits; all filters
    must."""

    level: tuple[str, ...] = ()
    job: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    type: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    store: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    proxy: bool = False
    archived: bool = False
    no_global: bool = False

    @property
    def by_entry(self) -> bool:
        """Whether entries are filtered by their own values, which a whole file does not
        have."""
        return self.by_value or bool(self.path or self.since or self.until)

    @property
    def by_value(self) -> bool:
        """Whether a filter asks for values that only entries have, so that no exchange
        and no commit passes."""
        return bool(self.type or self.kind or self.tag or self.scope)


def checked(filters: Filters, today: datetime.date) -> Filters:
    """Resolve other names of levels, and make dates ISO. Raises UsageError."""
    level = tuple(values.LEVEL_WORDS.get(name, name) for name in filters.level)
    named = {
        "--level": (level, values.LEVELS),
        "--type": (filters.type, values.TYPES),
        "--kind": (filters.kind, values.KINDS),
        "--store": (filters.store, values.STORES),
    }
    for option, (names, allowed) in named.items():
        for name in names:
            one_of(option, name, allowed)
    since, until = (
        day_of(option, getattr(filters, option), today) for option in ("since", "until")
    )
    return filters._replace(level=level, since=since, until=until)


def day_of(option: str, text: str, today: datetime.date) -> str:
    """The ISO day of `2026-03-01` or `30d`, 6w, 3m, 1y ago; "" for "". Raises
    UsageError."""
    if not text:
        return ""
    if back := re.fullmatch(r"([0-9]{1,5})([dwmy])", text):
        days = int(back[1]) * {"d": 1, "w": 7, "m": 30, "y": 365}[back[2]]
        return (
            today - datetime.timedelta(days=min(days, today.toordinal() - 1))
        ).isoformat()
    if is_day(text[:10]) and (len(text) == 10 or text[10] in "T "):
        return text[:10]
    hint = "write 2026-03-01, or 30d, 6w, 3m, 1y for so long ago"
    raise UsageError(f"--{option} {text}: no date", hint)

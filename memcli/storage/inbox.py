"""Proposals of sessions in the state file."""

from collections.abc import Container, Iterable

from memcli.named import NamedTuple
from memcli.storage.state import StatePart

DAYS = 30  # a proposal waits this long


class Proposed(NamedTuple):
    """A lesson that waits for a yes: since when, and which session was told about it.
    `became` is "" while it waits, else "kept", "dropped" or "over"; `text` is JSON."""

    id: str
    session: str
    became: str
    since: str
    named: str
    text: str


def likeliest(points: int) -> tuple[bool, int]:
    """What proposals are ordered by: those that no rules count signs for come first,
    then those with the most signs."""
    return points > 0, -points


class Inbox(StatePart):
    """The proposals of one project's sessions. Changes are part of the running
    transaction."""

    def every(self) -> list[Proposed]:
        """All proposals still on record, newest first."""
        columns = ", ".join(Proposed._fields)
        query = f"SELECT {columns} FROM proposals WHERE project = ?"
        rows = self.ask(f"{query} ORDER BY since DESC, id")
        return list(map(Proposed._make, rows))

    def untold(self, session: str, since: str) -> list[Proposed]:
        """The newest that have waited since a day or later, come from another session,
        and were not told to any other."""
        return [
            row
            for row in self.every()
            if not row.became
            and row.since >= since
            and row.session != session
            and row.named in ("", session)
        ]

    def add(self, rows: Iterable[Proposed]) -> None:
        """Add waiting proposals; known ones keep their status."""
        self.note("proposals", rows, "OR IGNORE")

    def settle(self, proposals: Iterable[str], became: str) -> None:
        """Close proposals as "kept", "dropped" or "over"."""
        for name in proposals:
            statement = (
                "UPDATE proposals SET became = ?2 WHERE project = ?1 AND id = ?3"
            )
            self.ask(statement, became, name)

    def name(self, proposals: Iterable[str], session: str) -> None:
        """Record that a session was told about proposals."""
        for name in proposals:
            statement = "UPDATE proposals SET named = ?2 WHERE project = ?1 AND id = ?3"
            self.ask(statement, session, name)

    def forget(self, proposals: Iterable[str]) -> None:
        """Delete proposals and their texts."""
        for name in proposals:
            self.ask("DELETE FROM proposals WHERE project = ? AND id = ?", name)

    def forget_sessions(self, sessions: Container[str], *, every: bool) -> None:
        """Delete the proposals and tasks of these sessions, or of `every` session."""
        rows = self.ask("SELECT path, session FROM extracted WHERE project = ?")
        for path, session in rows.fetchall():
            if every or session in sessions:
                blank = "UPDATE extracted SET task = '' WHERE project = ? AND path = ?"
                self.ask(blank, path)
        gone = [row.id for row in self.every() if every or row.session in sessions]
        self.state.forget_entries(gone, (), everywhere=False)

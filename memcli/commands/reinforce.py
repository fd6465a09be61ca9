"""mem reinforce: what was used gets stronger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memcli.app import App
from memcli.compaction.reinforce import ReinforceReport, ReinforceRequest, reinforce
from memcli.errors import UsageError

__all__ = ["ReinforceReport", "ReinforceRequest", "parse_rates", "read_ids", "run"]


def run(app: App, request: ReinforceRequest, *, dry_run: bool = False) -> ReinforceReport:
    """Reinforce, weaken or rate entries; once per session and id."""
    return reinforce(app, request, dry_run=dry_run)


def parse_rates(items: Sequence[str]) -> dict[str, str]:
    """`--rate ID=good` items."""
    rates = {}
    for item in items:
        entry, equals, rating = item.partition("=")
        if not equals or not entry:
            raise UsageError(
                f"--rate {item}: an id and a rating are needed", "write --rate ID=good"
            )
        rates[entry] = rating
    return rates


def read_ids(lines: Iterable[str]) -> tuple[str, ...]:
    """Ids, one a line; blank lines are passed over."""
    return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))

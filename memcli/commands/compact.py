"""mem compact: keep memory small and true."""

from __future__ import annotations

from memcli.app import App
from memcli.compaction.compact import CompactReport, CompactRequest, compact

__all__ = ["CompactReport", "CompactRequest", "run"]


def run(app: App, request: CompactRequest, *, dry_run: bool = False) -> CompactReport:
    """Compact the files asked for."""
    return compact(app, request, dry_run=dry_run)

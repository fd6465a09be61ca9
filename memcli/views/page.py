"""A health report as one HTML page that needs nothing else. Pure; the frame is page.html.

Memory text is hostile: all of it is made safe (`for_prompt`), cut and escaped on its way in,
the script is allowed by its hash alone, and what the script draws it sets as text.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from memcli.diagnostics import metrics
from memcli.diagnostics.health import ARCHIVED, EntryNote, Snapshot
from memcli.diagnostics.metrics import Metric
from memcli.memory.values import LEVELS
from memcli.text.controls import for_prompt
from memcli.text.matching import table
from memcli.views.text import count

if TYPE_CHECKING:
    from memcli.diagnostics.health import HealthReport
    from memcli.project.context import Project

DRAWN = 500  # most nodes of the relation graph; those with the most edges are drawn
UNDIRECTED = ("promoted", "contradicts", "similar")
TITLE = 110
_SLOT = re.compile(r"<!--(\w+)-->")
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Graph(NamedTuple):
    """Nodes (sessions too), edges (from, to, kind) as indices; `alone` live ones have none."""

    nodes: Sequence[Mapping[str, Any]]
    edges: Sequence[tuple[int, int, str]]
    alone: int
    left_out: int


def write(project: Project, report: HealthReport, path: str) -> None:
    """Write the page of a report into a file; one below the root replaces no link."""
    from memcli.storage.durable import write_output

    name = project.root.name if project.root is not None else "~"
    page = render(report, name, project.now.isoformat(), table("views/page.html"))
    write_output(project.cwd / path, page, root=project.root)


def render(report: HealthReport, name: str, day: str, template: str) -> str:
    """The page. The template's `<!--name-->` slots are filled once: no text can be a slot."""
    drawn, health = graph(report.notes), report.health
    script = _SCRIPT.search(template)  # it may run, and nothing load
    digest = b64encode(sha256(script[1].encode()).digest()).decode() if script else ""
    allowed = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    tiles = (("live entries", "live"), ("tokens", "tokens"), ("files", "files"))
    levels = ages(note for note in report.notes if note.status != ARCHIVED)
    parts = {
        "policy": escape(f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"),
        "name": _safe(name),
        "day": _safe(day),
        "band": health.band,
        "score": f"{health.score:.0f}",
        "ring": f"{health.score:.1f}",
        "tiles": "".join(
            f"<div><b>{report.counts[key]:,}</b><span>{title}</span></div>" for title, key in tiles
        ),
        "metrics": "".join(_metric(name, each) for name, each in health.metrics.items()),
        "trend": _trend(report.history),
        "ages": "".join(_histogram(level, groups) for level, groups in levels.items())
        or "<p class=empty>No entries yet.</p>",
        "drawn": _drawn(drawn),
        "hidden": "" if drawn.nodes else "hidden",
        "graph": _json({"nodes": drawn.nodes, "edges": drawn.edges}),
    }
    return _SLOT.sub(lambda slot: parts[slot[1]], template)


def _plain(text: str, length: int = TITLE) -> str:
    line = " ".join(for_prompt(text[:4000]).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _safe(text: str, length: int = TITLE) -> str:
    return escape(_plain(text, length))


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _metric(name: str, metric: Metric) -> str:
    value, hint = metric.value, ""
    weight, colour, number = "not counted", "none", "–"
    if value is not None:
        weight, colour, number = f"{metric.weight:.0%}", metrics.band(value), f"{value:.0f}"
    if value != 100:
        hint = f"<p class=hint>Raise it with <code>{_safe(metric.raise_with)}</code></p>"
    head = f"<h3>{name} <small>{weight}</small><b>{number}</b></h3>"
    bar = f'<div class="bar {colour}"><i style="width:{value or 0:.1f}%"></i></div>'
    return f"<article>{head}{bar}<p>{_safe(metric.reason, 400)}</p>{hint}</article>"


# --- trend, ages


def _trend(history: Sequence[Snapshot]) -> str:
    """The score by day as a line, with its first and last day."""
    if len(history) < 2:
        return "<p class=empty>Each day of <code>mem health</code> is kept; two make a line.</p>"
    days = [date.fromisoformat(day.day).toordinal() for day in history]
    span = (days[-1] - days[0]) or 1
    path = " ".join(
        f"{1000 * (at - days[0]) / span:.1f},{100 - day.score:.1f}"
        for at, day in zip(days, history, strict=True)
    )
    bands = "".join(
        f"<rect class={name} x=0 y={top} width=1000 height={height} />"
        for name, top, height in (("green", 0, 25), ("yellow", 25, 25), ("red", 50, 50))
    )
    ends = "".join(
        f"<span>{_safe(day.day)}<b>{day.score:.0f}</b></span>" for day in (history[0], history[-1])
    )
    return (
        '<div class=line><svg viewBox="0 0 1000 100" preserveAspectRatio=none role=img'
        f' aria-label="score by day">{bands}<polyline points="{path}" /></svg>'
        f"<em class=top>100</em><em class=low>0</em></div><div class=ends>{ends}</div>"
    )


def ages(notes: Iterable[EntryNote]) -> dict[str, dict[str, int]]:
    """How many entries of each level are in each age group."""
    labels = [name for _, name in metrics.AGES] + [metrics.OLDEST]
    found = {level: dict.fromkeys(labels, 0) for level in LEVELS}
    for note in notes:
        found[note.level][metrics.age_group(note.age)] += 1
    return {level: groups for level, groups in found.items() if any(groups.values())}


def _histogram(level: str, groups: Mapping[str, int]) -> str:
    most = max(groups.values())
    columns = "".join(
        f'<li><b>{n or ""}</b><i class="{level}" style="height:{92 * n / most:.1f}px"></i>'
        f"<span>{escape(name)}</span></li>"
        for name, n in groups.items()
    )
    total = f"{count(sum(groups.values()), 'entry', 'entries')}, age in days"
    return f"<div><h3>{level} <small>{total}</small></h3><ol class=ages>{columns}</ol></div>"


# --- the graph


def graph(notes: Sequence[EntryNote]) -> Graph:
    """Entries and their edges; two or more of one session hang on a node of that session."""
    at = {note.id: note for note in notes}
    links = ((note.id, other, kind) for note in notes for kind, other in note.links if other in at)
    pairs = sorted(
        {  # both ends of a promotion name it; contradiction and likeness have no direction
            (*sorted((one, other)), kind) if kind in UNDIRECTED else (one, other, kind)
            for one, other, kind in links
            if one != other
        }
    )
    sizes = Counter(note.session for note in notes if note.session)
    spokes = [(f"\0{n.session}", n.id, "session") for n in notes if sizes[n.session] > 1]
    every = [*pairs, *sorted(spokes)]
    degree = Counter(end for pair in every for end in pair[:2])
    drawn = sorted(degree, key=lambda name: (-degree[name], name))[:DRAWN]
    index = {name: i for i, name in enumerate(drawn)}
    nodes = [_node(name, at.get(name), degree[name]) for name in drawn]
    edges = [(index[a], index[b], kind) for a, b, kind in every if a in index and b in index]
    alone = sum(note.id not in degree for note in notes if note.status != ARCHIVED)
    return Graph(nodes, edges, alone, len(degree) - len(drawn))


def _node(name: str, note: EntryNote | None, degree: int) -> dict[str, Any]:
    if note is None:
        title, entries = f"session {_plain(name[1:], 40)}", count(degree, "entry", "entries")
        return {"t": title, "l": "session", "w": entries}
    level = ARCHIVED if note.status == ARCHIVED else note.level
    place = f"{_plain(note.path, 80)}:{note.line} · {_plain(note.id[:8])}"
    where = f"{level} {_plain(note.kind, 24)} · {place}"
    return {"t": _plain(note.title) or "untitled", "l": level, "w": where}


def _drawn(found: Graph) -> str:
    if not found.nodes:
        alone = "No entry names another one, and no two come from one session"
        return f"<p class=empty>{alone if found.alone else 'No entries yet'}.</p>"
    size = f"{count(len(found.nodes), 'node')}, {count(len(found.edges), 'edge')}"
    alone = count(found.alone, "live entry without an edge is", "live entries without an edge are")
    more = f", and {found.left_out:,} with the fewest edges" if found.left_out else ""
    return f"<p>{size}; {alone} left out{more}.</p>"

"""Single entries: added, shown, listed, reinforced, retired, brought back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memcli.memory.parser import parse
from memcli.memory.words import body_of
from memcli.text.controls import for_display
from memcli.views import json
from memcli.views.table import table
from memcli.views.text import count, folded, hung, styled, values_text

if TYPE_CHECKING:
    from memcli.commands.add import AddReport
    from memcli.commands.edit import EditReport
    from memcli.commands.list import ListReport
    from memcli.commands.reinforce import ReinforceReport
    from memcli.commands.retire import RetireReport
    from memcli.commands.retire_stage import RetireStageReport
    from memcli.commands.show import ShowReport
    from memcli.commands.told import ToldReport
    from memcli.commands.undo import UndoReport
    from memcli.memory.values import Patch

ENTRY_KEYS = (
    "id type domain kind priority status importance phase reinforcement_count last_reinforced"
    " created_at title line"
).split()
Rows = Sequence[tuple[str, str, str]]


def named(rows: Rows, patches: Iterable[Patch]) -> list[dict[str, object]]:
    """(id, path, title) as objects, with the line where each stands now."""
    at = lines_of(patches)
    return [{"id": i, "path": path, "line": at.get(i), "title": title} for i, path, title in rows]


def told(done: str, rows: Rows, patches: Iterable[Patch]) -> list[str]:
    """One line an entry that was written: what was done, its title, place and id."""
    at = lines_of(patches)
    places = {i: f"{path}:{at[i]}" if i in at else path for i, path, _ in rows}
    return [f"{done} {title} ({places[i]}, id {i[:8]})" for i, _, title in rows]


def lines_of(patches: Iterable[Patch]) -> dict[str, int]:
    """Where each entry stands in the files as they are after the patches."""
    after = (parse(patch.after, patch.path) for patch in patches if patch.after)
    return {entry.id: entry.line for memory in after for entry in memory.entries}


def add_json(report: AddReport, *, dry_run: bool) -> str:
    line = lines_of(report.patches).get(report.id)
    return json.of(report, line=line, dry_run=dry_run)


def add_text(report: AddReport) -> str:
    row = (report.id, report.path, report.title)
    if report.reinforced:
        (line,) = told("known already, reinforced:", [row], report.patches)
    else:
        (line,) = added([row], report.patches)
    return for_display(line)


def added(rows: Rows, patches: Iterable[Patch]) -> list[str]:
    """One line an entry that is new."""
    at = lines_of(patches)
    return [f"added to {path}:{at.get(i, 1)}: {title} (id {i[:8]})" for i, path, title in rows]


def edit_text(report: EditReport) -> str:
    if not report.changed:
        return for_display(f"nothing changed of {report.title} (id {report.id[:8]})")
    row = (report.id, report.path, report.title)
    done = "".join(told("changed", [row], report.patches))
    return for_display(f"{done}: {', '.join(report.changed)}")


def list_json(report: ListReport) -> str:
    return json.of(report, rows=..., found=..., entries=report.rows)


def list_text(report: ListReport) -> str:
    rows = [
        (
            row.id[:8], row.date or "-", row.level, row.kind or row.type, row.title,
            f"{row.path}:{row.line}",
        )
        for row in report.rows
    ]  # fmt: skip
    heads = ("id", "date", "level", "kind", "title", "where")
    return table(rows, heads, spare=("level", "where", "date", "kind"))


# --- one entry


def show_json(report: ShowReport) -> str:
    entry = report.entry
    relations = [
        dict(zip(("entry", "relation", "other"), r, strict=True)) for r in report.relations
    ]
    shown = {key: getattr(entry, key) for key in ENTRY_KEYS}
    body = {"text": for_display(entry.body), "extra": dict(entry.extra)}
    return json.of(report, entry=..., raw=..., relations=relations, **shown, **body)


def show_text(report: ShowReport) -> str:
    entry = report.entry
    what = (entry.kind, entry.type, f"domain {entry.domain}", f"phase {entry.phase}")
    values: dict[str, Any] = {
        "id": entry.id,
        "where": f"{report.path}:{entry.line} ({report.level}, {report.store})",
        "what": ", ".join(filter(None, what)),
        "status": f"{entry.status}, priority {entry.priority}",
        "age": f"{report.age_days} days, reinforced {entry.reinforcement_count} times",
        "standing": " ".join(f"{key} {value:.3g}" for key, value in report.factors.items()),
    }
    for key in ("tags", "paths", "commands"):
        if entry.extra.get(key):
            values[key] = ", ".join(entry.extra[key])
    for key, value in report.provenance.items():
        values[key] = ", ".join(map(str, value)) if isinstance(value, list) else value
    if report.copies:
        values["copies"] = ", ".join(report.copies)
    if report.relations:
        values["relations"] = ", ".join(_edge(entry.id, *edge) for edge in report.relations)
    head = hung(styled(for_display(entry.title), "bold"), 2)
    body = for_display(body_of(entry.body, entry.title))
    return "\n".join([*head, *values_text(values), *(["", *folded([body])] if body else [])])


def _edge(entry: str, one: str, relation: str, other: str) -> str:
    return f"{relation} {other[:8]}" if one == entry else f"{one[:8]} {relation} this"


# --- reinforced, retired, restored, taken back


def reinforce_text(report: ReinforceReport) -> str:
    done = (
        ("reinforced", report.reinforced),
        ("rated", report.rated),
        ("weakened", report.weakened),
    )
    passed = (
        ("counted in this session already", report.already),
        ("retired", report.retired),
        ("in another work tree", report.elsewhere),
        ("unknown", report.unknown),
    )
    said = [f"{what} {count(len(ids), 'entry', 'entries')}" for what, ids in done if ids]
    left = ", ".join(f"{len(ids)} {why}" for why, ids in passed if ids)
    return ", ".join(said or ["nothing to reinforce"]) + (f" ({left})" if left else "")


def retire_json(report: RetireReport, *, dry_run: bool) -> str:
    return json.of(report, changed=named(report.changed, report.patches), dry_run=dry_run)


def retire_text(report: RetireReport) -> str:
    is_so = "retired" if report.verb == "retired" else "active"
    lines = told(report.verb, report.changed, report.patches)
    lines += [f"{entry[:8]} is {is_so} already" for entry in report.already]
    return for_display("\n".join(lines))


def retire_stage_json(report: RetireStageReport, *, dry_run: bool) -> str:
    return json.of(report, retired=named(report.retired, report.patches), dry_run=dry_run)


def retire_stage_text(report: RetireStageReport) -> str:
    lines = list(report.notes)
    if report.current:
        was = f", was {report.before}" if report.before and report.before != report.current else ""
        lines.append(f"stage {report.current} (by {report.by}){was}")
    if report.ended:
        number = count(len(report.retired), "entry", "entries")
        lines += [
            f"retired {number} of stage {report.ended}",
            *told(" ", report.retired, report.patches),
        ]
    return for_display("\n".join(lines))


def undo_text(report: UndoReport, root: str, *, dry_run: bool) -> str:
    if not report.verb:
        return "there is nothing to undo"
    inside = f"{root}/"
    names = [os.path.relpath(p, root) if p.startswith(inside) else p for p in report.files]
    took = "would take" if dry_run else "took"
    done = f"{took} back {report.verb} of {report.time}: {', '.join(names)}"
    earlier = f"\nbefore it: {report.earlier}, taken back by another mem undo"
    return done + (earlier if report.earlier else "")


def told_text(report: ToldReport) -> str:
    """A line for each thing that was told, below its session."""
    lines: list[str] = []
    last = ""
    for each in report.tellings:
        if each.session != last:
            lines.append(f"session {for_display(each.session)}")
            last = each.session
        what = for_display(f"{each.title} (id {each.entry[:8]})")
        lines.append(
            f"  {each.at[:16].replace('T', ' ')}  {each.event}: {what}, {for_display(each.why)}"
        )
    if report.waiting:
        lines.append(f"{count(report.waiting, 'use')} of entries not yet counted in their files")
    return "\n".join(lines) or "nothing was told"

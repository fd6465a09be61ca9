"""Single entries: added, shown, listed, reinforced, retired, brought back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memcli.memory.parser import parse
from memcli.memory.words import body_of
from memcli.recall.budget import cut_words
from memcli.text.controls import for_display
from memcli.text.secrets import redact_secrets
from memcli.views.text import columns, count, folded, hung, styled, table, values_text

if TYPE_CHECKING:
    from memcli.commands.add import AddReport
    from memcli.commands.edit import EditReport, RetireReport, UndoReport
    from memcli.commands.retire_stage import StageReport
    from memcli.commands.show import ListReport, ShowReport
    from memcli.commands.told import ToldReport
    from memcli.commands.why import LogReport, WhyReport
    from memcli.compaction.reinforce import ReinforceReport
    from memcli.memory.values import Patch

ENTRY_KEYS = (
    "id type domain kind priority status importance phase reinforcement_count last_reinforced"
    " created_at title line"
).split()
Rows = Sequence[tuple[str, str, str]]  # (id, path, title) of entries
Keys = Mapping[str, object]  # what differs from the fields of a report in its JSON


def named(rows: Rows, patches: Iterable[Patch]) -> list[dict[str, object]]:
    """Entries as objects, with the line where each stands now."""
    at = lines_of(patches)
    return [
        {"id": i, "path": path, "line": at.get(i), "title": title}
        for i, path, title in rows
    ]


def told(done: str, rows: Rows, patches: Iterable[Patch]) -> list[str]:
    """One line an entry that was written: what was done, its title, place and id."""
    at = lines_of(patches)
    places = {i: f"{path}:{at[i]}" if i in at else path for i, path, _ in rows}
    return [f"{done} {title} ({places[i]}, id {i[:8]})" for i, _, title in rows]


def added(rows: Rows, patches: Iterable[Patch]) -> list[str]:
    """One line an entry that is new."""
    at = lines_of(patches)
    return [
        f"added to {path}:{at.get(i, 1)}: {title} (id {i[:8]})"
        for i, path, title in rows
    ]


def lines_of(patches: Iterable[Patch]) -> dict[str, int]:
    """Where each entry stands in the files as they are after the patches."""
    after = (parse(patch.after, patch.path) for patch in patches if patch.after)
    return {entry.id: entry.line for memory in after for entry in memory.entries}


def line_key(report: AddReport | EditReport) -> dict[str, object]:
    """Where the entry stands now, for JSON."""
    return {"line": lines_of(report.patches).get(report.id)}


def add_text(report: AddReport) -> str:
    row = (report.id, report.path, report.title)
    known = told("known already, reinforced:", [row], report.patches)
    (line,) = known if report.reinforced else added([row], report.patches)
    return for_display(
        line + f", importance {report.importance:g} by its kind" * report.by_kind
    )


def edit_text(report: EditReport) -> str:
    if not report.changed:
        return for_display(f"nothing changed of {report.title} (id {report.id[:8]})")
    (done,) = told("changed", [(report.id, report.path, report.title)], report.patches)
    return for_display(f"{done}: {', '.join(report.changed)}")


def explained_text(report: ListReport) -> str:
    """What each entry weighs, the weightiest first."""
    heads = ("id", "title", "importance", "decay", "growth", "prominence", "uses")
    factors = [
        (r, (r.importance, r.decay, r.growth, r.prominence)) for r in report.rows
    ]
    rows = [
        (
            r.id[:8],
            r.title,
            *(f"{factor:.3g}" for factor in each),
            str(r.reinforcement_count),
        )
        for r, each in sorted(factors, key=lambda one: -one[0].prominence)
    ]
    return table(rows, heads)


def list_text(report: ListReport) -> str:
    rows = [
        (
            r.id[:8],
            r.date or "-",
            r.level,
            r.kind or r.type,
            r.title,
            f"{r.path}:{r.line}",
        )
        for r in report.rows
    ]
    heads = ("id", "date", "level", "kind", "title", "where")
    return table(rows, heads, spare=("level", "where", "date", "kind"))


def show_keys(report: ShowReport) -> Keys:
    entry = report.entry
    edge = ("entry", "relation", "other")
    return {
        **dict.fromkeys(("entry", "raw"), ...),
        "relations": [dict(zip(edge, each, strict=True)) for each in report.relations],
        **{key: getattr(entry, key) for key in ENTRY_KEYS},
        "text": entry.body,
        "extra": entry.extra,
    }


def show_text(report: ShowReport) -> str:
    entry = report.entry
    what = (entry.kind, entry.type, f"domain {entry.domain}", f"phase {entry.phase}")
    edges = [
        f"{relation} {other[:8]}" if one == entry.id else f"{one[:8]} {relation} this"
        for one, relation, other in report.relations
    ]
    values: dict[str, Any] = {
        "id": entry.id,
        "where": f"{report.path}:{entry.line} ({report.level}, {report.store})",
        "what": ", ".join(filter(None, what)),
        "status": f"{entry.status}, priority {entry.priority}",
        "age": f"{report.age_days} days, reinforced {entry.reinforcement_count} times",
        "standing": " ".join(
            f"{key} {value:.3g}" for key, value in report.factors.items()
        ),
        **{key: entry.extra.get(key) for key in ("tags", "paths", "commands")},
        **report.provenance,
        "copies": report.copies,
        "relations": edges,
    }
    said = {
        key: ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        for key, value in values.items()
        if value
    }
    head = hung(styled(redact_secrets(for_display(entry.title)), "bold"), 2)
    body = redact_secrets(for_display(body_of(entry.body, entry.title)))
    return "\n".join(
        [*head, *values_text(said), *(["", *folded([body])] if body else [])]
    )


def reinforce_text(report: ReinforceReport) -> str:
    said = [
        f"{what} {count(len(ids), 'entry', 'entries')}"
        for what in ("reinforced", "rated", "weakened")
        if (ids := getattr(report, what))
    ]
    passed = (
        (report.already, "counted in this session already"),
        (report.retired, "retired"),
        (report.elsewhere, "in another work tree"),
        (report.unknown, "unknown"),
    )
    left = ", ".join(f"{len(ids)} {why}" for ids, why in passed if ids)
    return ", ".join(said or ["nothing to reinforce"]) + (f" ({left})" if left else "")


def retire_keys(report: RetireReport) -> Keys:
    return {"changed": named(report.changed, report.patches)}


def retire_text(report: RetireReport) -> str:
    is_so = "retired" if report.verb == "retired" else "active"
    already = [f"{i[:8]} is {is_so} already" for i in report.already]
    return for_display(
        "\n".join([*told(report.verb, report.changed, report.patches), *already])
    )


def retire_stage_text(report: StageReport) -> str:
    lines = list(report.notes)
    if report.current:
        was = (
            f", was {report.before}"
            if report.before not in ("", report.current)
            else ""
        )
        by = f" (by {report.by})" if report.by else ""
        lines.append(f"stage {report.current}{by}{was}")
    if report.ended:
        number = count(len(report.retired), "entry", "entries")
        lines += [f"retired {number} of stage {report.ended}"]
        lines += told(" ", report.retired, report.patches)
    return for_display("\n".join(lines))


def undo_text(report: UndoReport, root: str) -> str:
    if not report.verb:
        return "there is nothing to undo"
    names = [
        os.path.relpath(p, root) if p.startswith(f"{root}/") else p
        for p in report.files
    ]
    done = f"took back {report.verb} of {report.time}: {', '.join(names)}"
    driver = (
        p.before or "" for p in report.patches if p.path.endswith(".gitattributes")
    )
    if any("merge=mem" in text for text in driver):
        done += "\nthe merge driver in git's settings and the index stay: mem init --remove takes them"
    earlier = (
        f"\nthe write before it, {report.earlier}, is taken back by another mem undo"
    )
    return done + (earlier if report.earlier else "")


def told_text(report: ToldReport) -> str:
    """A line for each thing that was told, below its session."""
    lines: list[str] = []
    for session, group in groupby(report.tellings, key=lambda each: each.session):
        lines.append(f"session {session}")
        for each in group:
            whole = each.entry[:2] in ("s:", "c:")  # of an exchange or commit
            id = each.entry if whole else each.entry[:8]
            what = f"{each.title} (id {id}), {each.why}"
            lines.append(f"  {each.at[:16].replace('T', ' ')}  {each.event}: {what}")
    if report.waiting:
        lines.append(
            f"{count(report.waiting, 'use')} of entries not yet counted in their files"
        )
    return for_display("\n".join(lines)) or "nothing was told"


def why_text(report: WhyReport) -> str:
    """Two lines each: what, when and by whom, with its handle; then how it begins."""
    place = f"{report.path}:{report.line}" if report.line else report.path
    lines = [
        styled(
            f"{place} in {'.'.join(report.within[::-1])}" if report.within else place,
            "bold",
        )
    ]
    for row in report.rows:
        about = "last touched this line, " if row.line else ""
        title = redact_secrets(row.title)
        lines += hung(
            f"{row.date or 'undated':10}  {row.source}  {about}{row.who}: {title}  {row.id}",
            2,
        )
        text = " ".join(redact_secrets(row.text).split())
        lines += [styled(f"            {cut_words(text, 40)}", "dim")] if text else []
    if not report.rows:
        lines.append("nothing is known of it")
    return for_display("\n".join(lines))


def log_text(report: LogReport) -> str:
    """A line for each thing that happened, the newest first."""
    head = f"{for_display(report.title)} (id {report.id[:8]})"
    rows = [
        (
            row.commit or "-",
            row.date or "now",
            row.author,
            row.what,
            row.detail,
            row.path,
        )
        for row in report.rows
    ]
    if not columns(sys.stdout):
        return f"{head}\n{table(rows, ())}"
    told = ("  ".join(filter(None, row)) for row in rows)
    return "\n".join(
        [*hung(head, 2), *(line for row in told for line in hung(for_display(row), 2))]
    )

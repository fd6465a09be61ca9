"""Output of the everyday commands: entries that were added, shown, changed or retired,
what agents were told, and what was forgotten."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memcli.install.targets import REMOVAL
from memcli.memory.parser import parse
from memcli.memory.values import listed
from memcli.memory.words import body_of
from memcli.named import NamedTuple
from memcli.recall.budget import cut_words
from memcli.text.controls import for_display, for_prompt
from memcli.text.secrets import redact_secrets
from memcli.views.entries import (
    ENTRY_KEYS,
    Keys,
    added_lines,
    entry_objects,
    line_numbers,
    written_lines,
)
from memcli.views.text import (
    columns,
    count,
    folded,
    hung,
    in_one_line,
    place,
    safe,
    styled,
    table,
    values_text,
)

if TYPE_CHECKING:
    from memcli.commands.add import AddReport
    from memcli.commands.edit import EditReport
    from memcli.commands.forget import ForgottenReport
    from memcli.commands.history import ForgetReport
    from memcli.commands.log import LogReport
    from memcli.commands.retire import RetireReport
    from memcli.commands.show import ListReport, ShowReport
    from memcli.commands.told import ToldReport
    from memcli.commands.undo import UndoReport
    from memcli.commands.why import WhyReport
    from memcli.memory.docs import Doc
    from memcli.memory.values import Entry, Patch


def add_keys(report: AddReport | EditReport) -> Keys:
    """Where the entry is now, for JSON."""
    return {"line": line_numbers(report.patches).get(report.id)}


edit_keys = add_keys


def add_text(report: AddReport) -> str:
    """Where the entry was written, or that it was already known."""
    row = (report.id, report.path, report.title)
    if report.reinforced:
        (line,) = written_lines("already known, reinforced:", [row], report.patches)
    else:
        (line,) = added_lines([row], report.patches)
    if report.by_kind:
        line += f", importance {report.importance:g} from its kind"
    if report.as_rule:
        line += ", as a rule: told when a session starts"
    for old, title in report.superseded:
        line += f"\nsupersedes: {title} (id {old[:8]}; --beside keeps both)"
    for old, title in report.opposed:
        line += f"\ncontradicts: {title} (keep one: mem retire {old[:8]}, or mem retire {report.id[:8]})"
    return for_display(line)


def edit_text(report: EditReport) -> str:
    """The fields of the entry that changed."""
    if not report.changed:
        return for_display(f"no change to {report.title} (id {report.id[:8]})")
    row = (report.id, report.path, report.title)
    (line,) = written_lines("changed", [row], report.patches)
    return for_display(f"{line}: {', '.join(report.changed)}")


def confirmed_text(report: EditReport) -> str:
    """The same of an entry that was said to hold."""
    if report.changed:
        return edit_text(report)
    name = f"{report.title} (id {report.id[:8]})"
    return for_display(f"confirmed today already: {name}")


def explained_text(report: ListReport) -> str:
    """The weight of each entry, highest first."""
    heads = "id title importance decay growth prominence uses".split()
    factors = ("importance", "decay", "growth", "prominence")
    rows = []
    for row in sorted(report.rows, key=lambda row: row.prominence, reverse=True):
        figures = [f"{getattr(row, factor):.3g}" for factor in factors]
        rows.append((row.id[:8], row.title, *figures, str(row.reinforcement_count)))
    return table(rows, heads, spare=("uses", "growth", "decay", "importance"))


def list_text(report: ListReport) -> str:
    """One row for each entry."""
    heads = ("id", "date", "level", "kind", "title", "where")
    rows = [
        (
            row.id[:8],
            row.date or "-",
            row.level,
            row.kind or "-",
            # An order in the title replaces the title's cell, not the id.
            safe(f"[retired] {row.title}" if row.status == "retired" else row.title),
            f"{row.path}:{row.line}",
        )
        for row in report.rows
    ]
    return table(rows, heads, spare=("level", "where", "date", "kind"))


def show_keys(report: ShowReport) -> Keys:
    """The entry's own keys in place of the entry."""
    entry = report.entry
    edge = ("entry", "relation", "other")
    return {
        **dict.fromkeys(("entry", "raw"), ...),
        "relations": [
            dict(zip(edge, relation, strict=True)) for relation in report.relations
        ],
        **{key: getattr(entry, key) for key in ENTRY_KEYS},
        "text": entry.body,
        "extra": entry.extra,
    }


def show_text(report: ShowReport) -> str:
    """The title, a line for each value, and the text."""
    entry = report.entry
    values = {}
    for key, value in _shown_values(report).items():
        if value:
            values[key] = " ".join(
                _joined(value).split()
            )  # so that no value can fake a line
    lines = hung(styled(redact_secrets(for_display(entry.title)), "bold"), 2)
    lines += values_text(values)
    text = body_of(report.around or entry.body, entry.title)
    if body := redact_secrets(for_display(text)):
        lines += ["", *folded([body])]
    return "\n".join(lines)


def _joined(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)


def _shown_values(report: ShowReport) -> dict[str, Any]:
    entry = report.entry
    kinds = (entry.kind, entry.type, f"domain {entry.domain}", f"phase {entry.phase}")
    factors = (f"{key} {value:.3g}" for key, value in report.factors.items())
    reinforced = count(entry.reinforcement_count, "time")
    age = count(report.age_days, "day")
    if not (entry.date or entry.last_reinforced or entry.created_at):
        age = f"unknown, counted as {age}"
    return {
        "id": entry.id,
        "where": f"{report.path}:{entry.line} ({report.level}, {report.store})",
        "what": ", ".join(filter(None, kinds)),
        "status": f"{entry.status}, priority {entry.priority}",
        "code": redact_secrets(for_display(report.gone)),
        "age": f"{age}, reinforced {reinforced}",
        "standing": " ".join(factors),
        **{key: entry.extra.get(key) for key in ("tags", "paths", "commands")},
        "rests on": [row.partition("#")[0] for row in listed(entry, "rests_on")],
        **report.provenance,
        "copies": report.copies,
        "relations": [
            f"{relation} {other[:8]}"
            if source == entry.id
            else f"{source[:8]} {relation} this"
            for source, relation, other in report.relations
        ],
    }


def retire_keys(report: RetireReport) -> Keys:
    """The entries as objects."""
    return {
        "changed": entry_objects(report.changed, report.patches),
        "episodes": entry_objects(report.episodes, report.patches),
    }


def retire_text(report: RetireReport) -> str:
    """One line for each entry: retired, restored or already so; and what was retired
    with it."""
    status = "retired" if report.verb == "retired" else "active"
    lines = written_lines(report.verb, report.changed, report.patches)
    lines += written_lines(
        "also retired, since it says the same:", report.episodes, report.patches
    )
    lines += [f"{name[:8]} is already {status}" for name in report.already]
    return for_display("\n".join(lines))


def undo_text(report: UndoReport, root: str, *, dry: bool = False) -> str:
    """What was undone, and what the next undo would undo; `dry`: what a skip would
    leave."""
    if not report.verb:
        return "nothing to undo"
    names = [place(_seen_from(root, path)) for path in report.files]
    done = "undid"
    if report.skipped:
        done = "would leave as it is:" if dry else "left as it is:"
    what = ", ".join(names) or "no file changes"
    lines = [f"{done} {report.verb} of {report.time}: {what}"]
    named = [f"  {line}" for line in _undone_entries(report.patches)]
    lines += named[:3]
    lines += [f"  and {len(named) - 3} more"] if len(named) > 3 else []
    if any(map(_wired_merges, report.patches)):
        lines.append(
            "the merge driver in git's settings and the index, which git ignores, are "
            "still there;"
            " mem init --remove removes them"
        )
    lines += waiting_lines(report, "waits")
    if report.verb == REMOVAL:
        lines.append(
            "that was a removal: what it removed is back and active."
            " mem init --remove removes it again; mem init completes it"
        )
    if report.earlier:
        lines.append(_next_undo(report))
    return "\n".join(lines)


def _next_undo(report: UndoReport) -> str:
    description = f"the write before it, {report.earlier}"
    if report.earlier == REMOVAL:
        description += " (what it removed would be back and active)"
    again = "mem undo now" if report.skipped else "another mem undo"
    return f"{again} undoes {description}"


def waiting_lines(report: UndoReport, waits: str) -> list[str]:
    """The proposals that are back, and those that are gone."""
    again = [f"{name[:8]} {waits} again: mem inbox" for name in report.waiting]
    return again + [f"no longer proposed: {title}" for title in report.unproposed]


def _undone_entries(patches: Sequence[Patch]) -> Iterator[str]:
    """A line for each entry that an undo changes: what became of it."""
    texts = [patch for patch in patches if patch.path.endswith(".md")]
    before = _stated((patch.path, patch.before or "") for patch in texts)
    after = _stated((patch.path, patch.after or "") for patch in texts)
    for name, stated in (before | after).items():
        earlier = before.get(name)
        if name not in after:
            became = "taken out"
        elif earlier is None:
            became = "back"
        elif earlier.text != stated.text:
            became = _became(earlier.entry, stated.entry)
        else:
            continue
        yield f"{safe(stated.entry.title)} (id {name[:8]}): {became}"


def _became(earlier: Entry, entry: Entry) -> str:
    if earlier.reinforcement_count != entry.reinforcement_count:
        return f"reinforced {count(entry.reinforcement_count, 'time')}, as before"
    return "as it was before"


class _StatedEntry(NamedTuple):
    """An entry, and its text in the file."""

    entry: Entry
    text: str


def _stated(texts: Iterable[tuple[str, str]]) -> dict[str, _StatedEntry]:
    """The entries of some files by id."""
    stated = {}
    for path, text in texts:
        for entry in parse(text, path).entries:
            own_text = text[entry.start : entry.end].strip()
            stated[entry.id] = _StatedEntry(entry=entry, text=own_text)
    return stated


def _seen_from(root: str, path: str) -> str:
    """A path relative to the root if it is below it, else unchanged."""
    return os.path.relpath(path, root) if path.startswith(f"{root}/") else path


def _wired_merges(patch: Patch) -> bool:
    """Whether the write that a patch undoes made git merge with mem."""
    is_attributes = patch.path.endswith(".gitattributes")
    return is_attributes and "merge=mem" in (patch.before or "")


def told_text(report: ToldReport) -> str:
    """A line for each thing an agent was told, grouped by session."""
    lines = []
    lifted = {stop.entry for stop in report.stopped if stop.lifted}
    for session, group in groupby(report.tellings, key=lambda telling: telling.session):
        lines.append(f"session {session}")
        for telling in group:
            of_history = telling.entry[:2] in ("s:", "c:")
            name = telling.entry if of_history else telling.entry[:8]
            when = telling.at[:16].replace("T", " ")
            handle = f" (id {name})" if name else ""
            over = ", lifted since" if name and telling.entry in lifted else ""
            description = (
                f"{telling.event}: {telling.title}{handle}, {telling.why}{over}"
            )
            lines.append(f"  {when}  {description}")
    if report.waiting:
        uses = count(report.waiting, "use")
        lines.append(f"{uses} of entries not yet counted in their files")
    return for_display("\n".join(lines)) or "nothing was told"


def why_text(report: WhyReport) -> str:
    """Two lines for each: date, title, handle and source; then how it begins."""
    where = place(report.path, report.line or 0)
    if report.within:
        where += f" in {'.'.join(report.within[::-1])}"
    lines = [styled(where, "bold")]
    for row in report.rows:
        about = "last touched this line, " if row.line else ""
        when = f"{row.date or 'undated':10}  {row.source}"
        title = redact_secrets(row.title)
        lines += hung(f"{when} {row.id}  {about}{row.who}: {title}", 2)
        text = " ".join(redact_secrets(row.text).split())
        if text:
            lines.append(styled(f"            {cut_words(text, 40)}", "dim"))
    if not report.rows:
        lines.append("nothing is known about it")
    left_out = (
        count(report.more_entries, "entry", "entries"),
        count(report.more_sessions, "exchange"),
        count(report.more, "commit"),
    )
    if more := [number for number in left_out if number[0] != "0"]:
        lines.append(f"... and {', '.join(more)} more (--limit N: more of each)")
    return for_display("\n".join(lines))


NO_COMMIT = "0000000"  # as git blame has it


def log_lines(story: LogReport) -> Iterator[str]:
    """A line for each event, newest first, as soon as it is found."""
    known = ", ".join([f"id {story.id[:8]}", *story.related])
    head = for_display(f"{story.title} ({known})")
    wide = columns(sys.stdout)
    yield from hung(head, 2) if wide else [head]
    for row in story.rows:
        event = f"{row.what}: {row.detail}" if row.detail else row.what
        cells = (row.date or "now", row.author, event, place(row.path))
        if wide:
            shown = "  ".join(filter(None, (row.commit, *cells)))
            yield from hung(for_display(shown), 2)
        else:
            yield table([(row.commit or NO_COMMIT, *cells)], ())


def doc_text(doc: Doc) -> str:
    """The full text of an exchange or commit."""
    when = doc.date[:16].replace("T", " ")
    lines = [f"{doc.handle}  {when}  {doc.who}  {doc.unit}"]
    for name, values in doc.about.items():
        if values:
            listed = ", ".join(values).replace("\n", "; ")
            lines.append(f"{name}: {listed}")
    return for_display("\n".join([*lines, "", for_prompt(doc.whole)]))


def doc_keys(doc: Doc) -> Keys:
    """The facts of an exchange or commit in place of its fields."""
    return {
        **dict.fromkeys(doc._fields, ...),
        "id": doc.handle,
        **doc.facts,
        "title": for_prompt(doc.title),
        "said": [{"speaker": who, "text": for_prompt(text)} for who, text in doc.said],
        "about": doc.about,
    }


def forgotten_text(report: ForgottenReport) -> str:
    """The entries that were deleted, and what still has their words."""
    lines = [
        f"forgot {for_display(title)} ({place(path)}, id {name[:8]})"
        for name, path, title in report.entries
    ]
    if report.exchanges:
        lines.append(f"and {report.exchanges} of history")
    lines += [f"not reached: {in_one_line(left)}" for left in report.left]
    return "\n".join(lines)


def forget_text(report: ForgetReport) -> str:
    """What was deleted of history, and what was learned from it."""
    units = report.units
    sessions = count(len(units) - report.commits, "session")
    description = f"{sessions} and {count(report.commits, 'commit')}"
    if len(units) == 1:
        description = units[0]
    lines = [f"{'would forget' if report.dry_run else 'forgot'} {description}"]
    if report.again:
        lines.append(
            f"none of it is read again; to read the commits again: {report.again}"
        )
    if report.entries:
        ids = " ".join(name[:8] for name, _, _ in report.entries)
        lines.append(f"learned from it, and still in memory (mem retire {ids}):")
        lines += [
            f"  {name[:8]}  {place(path)}  {title}"
            for name, path, title in report.entries
        ]
    return "\n".join(lines)

"""Output of import, export, sync and diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memcli.text import controls, secrets
from memcli.views import json
from memcli.views.entries import (
    ENTRY_KEYS,
    Keys,
    added_lines,
    entry_objects,
    written_lines,
)
from memcli.views.text import count, first, hung, joined_counts, place, styled

if TYPE_CHECKING:
    from memcli.commands.export import ExportReport
    from memcli.commands.import_ import ImportReport
    from memcli.commands.sync import SyncReport
    from memcli.exchange.branch_diff import DiffReport, EntryDiff, ProseDiff
    from memcli.exchange.review import BranchFinding

DIFF_HANG = 14  # the column where the text of a change begins
# the most findings and lines of a comment on a pull request
MOST_TOLD = 20
MOST_LINES = 56
NAMED_ENTRIES = 5  # the most entries named of those that rest on what a branch changes


def import_text(report: ImportReport) -> str:
    """What was added, one line each, and what was not, with the reason."""
    lines = first(added_lines(report.added, report.patches))
    similar = [
        f"already known: {title} (id {entry_id[:8]})"
        for title, entry_id in report.similar
    ]
    lines += first(similar)
    left_out = {
        "contains a secret: not imported": report.refused,
        "is about one person: imported only with --level global": report.private,
    }
    for why, sources in left_out.items():
        lines += first([f"{place(source)}: {why}" for source in sources])
    lines += first([f"{why}: not imported (--again)" for why in report.taken_back])
    lines += first(
        [
            f"{title}: imported before, and retired since: mem restore {entry_id[:8]}"
            for title, entry_id in report.retired
        ]
    )
    known_counts = joined_counts(
        (len(report.known), "imported before"), (len(report.similar), "already known")
    )
    totals = [f"{len(report.added)} added", known_counts]
    if not (lines or known_counts or report.skipped or report.injected):
        totals.append("there is nothing in it but what mem wrote or headings")
    lines.append(", ".join(filter(None, totals)))
    return controls.for_display("\n".join(lines))


def import_keys(report: ImportReport) -> Keys:
    """The entries as objects."""
    return {
        "added": entry_objects(report.added, report.patches),
        "known": _titled(report.known),
        "similar": _titled(report.similar),
        "taken_back": list(report.taken_back),
        "retired": _titled(report.retired),
    }


def _titled(rows: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"title": title, "id": entry_id} for title, entry_id in rows]


def leaving_text(report: SyncReport) -> str:
    """What a sync would push."""
    names = " and ".join(f"~/{name}" for name in report.leaving)
    return names and f"would send {names}"


def sync_text(report: SyncReport) -> str:
    """What a sync received and sent, and what the other side made of entries."""
    losses = [
        *written_lines("told no more:", report.gone, ()),
        *written_lines("says something else:", report.changed, ()),
        *written_lines("told again:", report.again, ()),
    ]
    return "\n".join([_sent_and_received(report), *first(losses)])


def _sent_and_received(report: SyncReport) -> str:
    changes = []
    for number, what in ((report.taken, "received"), (report.sent, "sent")):
        if number:
            changes.append(f"{count(number, 'commit')} {what}")
    files = [f"~/{patch.path.rpartition('/')[2]}" for patch in report.patches]
    if files:
        changes.append(f"wrote {' and '.join(files)}")
    if report.address:
        return ", ".join(changes) or "in sync"
    here = ", ".join([*changes, "committed on this machine only"])
    return f"{here}; to share it: mem sync --git URL"


def sync_keys(report: SyncReport) -> Keys:
    """What the other side made of entries, as objects."""
    return {
        "gone": entry_objects(report.gone, ()),
        "changed": entry_objects(report.changed, ()),
        "again": entry_objects(report.again, ()),
    }


def export_text(report: ExportReport, *, raw: bool = False) -> str:
    """The whole answer: the section, the rule files, or JSON with every live entry;
    `raw` keeps secrets."""
    if report.target == "claude-rules":
        files = report.rules.items()
        return "\n".join(f"{name}\n\n{rule.put(None)}" for name, rule in files)
    if report.target != "json":
        return report.handout.text.rstrip("\n")
    entries = [
        {
            **{key: getattr(entry, key) for key in ENTRY_KEYS},
            "text": entry.body if raw else controls.strip_private(entry.body),
            "path": file.path,
            "level": file.place.level,
            "written": entry.written,
            "weight": weight,
            "extra": entry.extra,
        }
        for entry, file, weight in report.kept
    ]
    write = json.with_secrets if raw else json.of
    return write((), entries=entries, problems=report.problems)


def diff_text(report: DiffReport) -> str:
    """One line for each change, by file, then how much prose changed; the totals
    last."""
    lines = []
    for path, level, changes, prose in _by_file(report):
        head = styled(place(path), "bold")
        lines += hung(f"{head} ({level})" if level else head, 2)
        for change in changes:
            detail = f": {change.detail}" if change.detail else ""
            facts = f"({change.kind}, id {change.id[:8]}){detail}"
            line = f"  {change.what:<10}  {change.title} {facts}"
            lines += hung(controls.for_display(line), DIFF_HANG)
        if prose:
            lines += hung(f"  {'prose':<10}  {prose_text(prose)}", DIFF_HANG)
    for finding in report.findings:
        text = secrets.redact_secrets(_finding(finding, str))
        lines += hung(controls.for_display(text), 2)
    lines += hung(f"{report.base}..{report.head}: {_totals(report)}", 2)
    return "\n".join(lines)


def diff_markdown(report: DiffReport) -> str:
    """The same for a comment on a pull request; text from memory is in code spans."""
    if report.empty:
        return ""
    lines = [f"### Memory: {_totals(report)}"]
    if report.findings:
        lines.append("")
    for finding in report.findings[:MOST_TOLD]:
        lines.append(f"- **{_finding(finding, _code)}**")
    untold = len(report.findings) - MOST_TOLD
    if untold > 0:
        lines.append(f"- **and {count(untold, 'more finding')}: `mem diff`**")
    for path, level, changes, prose in _by_file(report):
        lines += ["", f"{_code(path)} ({level})" if level else _code(path)]
        for change in changes:
            detail = f": {_code(change.detail)}" if change.detail else ""
            facts = f"({change.kind}, `{change.id[:8]}`)"
            lines.append(f"- {change.what} {_code(change.title)} {facts}{detail}")
        if prose:
            lines.append(f"- prose: {prose_text(prose)}")
    more = len(lines) - MOST_LINES
    if more > 0:
        lines = [*lines[:MOST_LINES], "", f"{more} more lines: mem diff"]
    return "\n".join([*lines, "", f"<sub>{report.base}..{report.head}</sub>"])


def _finding(finding: BranchFinding, code: Callable[[str], str]) -> str:
    """One finding in words; `code` marks what comes from files."""
    named = [
        f"{code(entry.title)} ({code(place(entry.path, entry.line))})"
        for entry in finding.entries[:NAMED_ENTRIES]
    ]
    entries = ", ".join(named)
    more = len(finding.entries) - len(named)
    if more > 0:
        entries += f" and {more} more"
    notes = count(len(finding.entries), "note rests", "notes rest")
    resting = f"{notes} on it: {entries}"
    name = code(finding.name)
    detail = finding.detail
    return {
        "removes": f"this branch removes {name}; {resting}",
        "moves": f"this branch moves {name} to {code(detail)}; {resting}",
        "untold": f"other changes to names could not be checked in {detail} s",
        "opposes": " contradicts ".join(named),
        "secret": f"{entries} contains a secret ({detail}): remove it before merging",
        "order": f"{entries} reads like an order to the agent ({detail}): reword it",
    }[finding.what]


def _by_file(
    report: DiffReport,
) -> Iterable[tuple[str, str, list[EntryDiff], ProseDiff | None]]:
    prose = {each.path: each for each in report.prose}
    changed = {change.path for change in report.changes}
    for path in sorted(changed | prose.keys()):
        changes = [change for change in report.changes if change.path == path]
        level = changes[0].level if changes else ""
        yield path, level, changes, prose.get(path)


def prose_text(prose: ProseDiff) -> str:
    """`2 sections added, 1 changed`."""
    counts = {
        "added": prose.added,
        "changed": prose.changed,
        "removed": prose.removed,
    }
    texts: list[str] = []
    for change, number in counts.items():
        if number:
            amount = f"{number}" if texts else count(number, "section")
            texts.append(f"{amount} {change}")
    return ", ".join(texts)


def _totals(report: DiffReport) -> str:
    counts = Counter(change.what for change in report.changes)
    totals = [f"{number} {what}" for what, number in counts.items()]
    sections = 0
    for prose in report.prose:
        sections += prose.added + prose.removed + prose.changed
    if sections:
        totals.append(f"{count(sections, 'section')} of prose")
    return ", ".join(totals) or "nothing changes"


def _code(text: str) -> str:
    line = " ".join(controls.for_prompt(text).replace("`", "'").split())
    return f"`{line}`" if line else ""

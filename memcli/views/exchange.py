"""What was imported, what is exported, and what a branch adds to memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memcli.text import controls, secrets
from memcli.views import json
from memcli.views.entries import ENTRY_KEYS, Keys, added, named
from memcli.views.text import count, first, hung, styled

if TYPE_CHECKING:
    from memcli.commands.export import ExportReport
    from memcli.commands.import_ import ImportReport
    from memcli.commands.sync import SyncReport
    from memcli.exchange.branch_diff import DiffReport, EntryDiff, ProseDiff
    from memcli.exchange.review import BranchFinding

DIFF_HANG = 14  # where the words of a change begin, behind what it is
# so many findings and lines of a comment on a pull request
MOST_TOLD = 20
MOST_LINES = 56


def import_text(report: ImportReport) -> str:
    """What was added, one line each, and what was left out and why."""
    lines = first(added(report.added, report.patches))
    lines += first(
        [f"known already: {title} (id {i[:8]})" for title, i in report.similar]
    )
    for sources, why in (
        (report.refused, "holds a secret: not imported"),
        (report.injected, "reads like commands to an agent: not imported"),
        (report.private, "is about one person: imported with --level global alone"),
    ):
        lines += first([f"{source}: {why}" for source in sources])
    counts = (
        (len(report.known), "imported before"),
        (len(report.similar), "known already"),
    )
    totals = [f"{len(report.added)} added", *(f"{n} {what}" for n, what in counts if n)]
    return controls.for_display("\n".join([*lines, ", ".join(totals)]))


def import_keys(report: ImportReport) -> Keys:
    def pairs(rows: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"title": title, "id": entry} for title, entry in rows]

    added = named(report.added, report.patches)
    return {
        "added": added,
        "known": pairs(report.known),
        "similar": pairs(report.similar),
    }


def sync_text(report: SyncReport) -> str:
    """What a sync took in and sent."""
    counts = ((report.taken, "taken in"), (report.sent, "sent"))
    done = [f"{count(number, 'commit')} {what}" for number, what in counts if number]
    files = [f"~/{patch.path.rpartition('/')[2]}" for patch in report.patches]
    return (
        ", ".join([*done, *([f"wrote {' and '.join(files)}"] if files else [])])
        or "in step"
    )


def export_text(report: ExportReport, *, raw: bool = False) -> str:
    """The whole answer: the section, or JSON with every live entry, `raw` with its
    secrets."""
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
    return (json.with_secrets if raw else json.of)(
        (), entries=entries, problems=report.problems
    )


def diff_text(report: DiffReport) -> str:
    """By file: one line a change, then how much prose changed; the totals last."""
    lines = []
    for path, level, changes, prose in _by_file(report):
        head = styled(controls.for_display(path), "bold") + (
            f" ({level})" if level else ""
        )
        lines += hung(head, 2)
        for change in changes:
            facts = ", ".join((change.kind, f"id {change.id[:8]}"))
            detail = f": {change.detail}" if change.detail else ""
            line = controls.for_display(
                f"  {change.what:<10}  {change.title} ({facts}){detail}"
            )
            lines += hung(line, DIFF_HANG)
        lines += (
            hung(f"  {'prose':<10}  {prose_text(prose)}", DIFF_HANG) if prose else []
        )
    for finding in report.findings:
        lines += hung(
            controls.for_display(secrets.redact_secrets(_finding(finding, str))), 2
        )
    return "\n".join(
        [*lines, *hung(f"{report.base}..{report.head}: {_totals(report)}", 2)]
    )


def diff_markdown(report: DiffReport) -> str:
    """The same for a comment on a pull request; text from memory stands in code
    spans."""
    if report.empty:
        return ""
    lines = [f"### Memory: {_totals(report)}"]
    if report.findings:
        lines += [
            "",
            *(f"- **{_finding(each, _code)}**" for each in report.findings[:MOST_TOLD]),
        ]
    for path, level, changes, prose in _by_file(report):
        lines += ["", f"{_code(path)}{f' ({level})' if level else ''}"]
        for change in changes:
            detail = f": {_code(change.detail)}" if change.detail else ""
            facts = f"({change.kind}, `{change.id[:8]}`)"
            lines.append(f"- {change.what} {_code(change.title)} {facts}{detail}")
        lines += [f"- prose: {prose_text(prose)}"] if prose else []
    if len(lines) > MOST_LINES:
        lines = [
            *lines[:MOST_LINES],
            "",
            f"{len(lines) - MOST_LINES} lines more: mem diff",
        ]
    return "\n".join([*lines, "", f"<sub>{report.base}..{report.head}</sub>"])


def _finding(finding: BranchFinding, code: Callable[[str], str]) -> str:
    """One finding in words; `code` marks what comes from files."""
    named = [
        f"{code(one.title)} ({code(f'{one.path}:{one.line}')})"
        for one in finding.entries[:5]
    ]
    more = len(finding.entries) - len(named)
    whom = ", ".join(named) + (f" and {more} more" if more > 0 else "")
    rest = f"{count(len(finding.entries), 'note rests', 'notes rest')} on it: {whom}"
    name = code(finding.name)
    detail = finding.detail
    return {
        "removes": f"this branch removes {name}; {rest}",
        "moves": f"this branch moves {name} to {code(detail)}; {rest}",
        "rewrites": f"this branch rewrites {detail} of {name}; {rest}",
        "opposes": " says the opposite of ".join(named),
        "secret": f"{whom} holds a secret ({detail}): take it out before it is merged",
        "order": f"{whom} reads like an order to the agent ({detail}): reword it",
    }[finding.what]


def _by_file(
    report: DiffReport,
) -> Iterable[tuple[str, str, list[EntryDiff], ProseDiff | None]]:
    prose = {one.path: one for one in report.prose}
    for path in sorted({*(change.path for change in report.changes), *prose}):
        changes = [change for change in report.changes if change.path == path]
        yield path, changes[0].level if changes else "", changes, prose.get(path)


def prose_text(prose: ProseDiff) -> str:
    """`2 sections added, 1 changed`."""
    named = (
        ("added", prose.added),
        ("changed", prose.changed),
        ("removed", prose.removed),
    )
    (what, number), *rest = [(what, number) for what, number in named if number]
    return ", ".join(
        [f"{count(number, 'section')} {what}", *(f"{n} {what}" for what, n in rest)]
    )


def _totals(report: DiffReport) -> str:
    counts = Counter(change.what for change in report.changes)
    said = [f"{number} {what}" for what, number in counts.items()]
    sections = sum(
        prose.added + prose.removed + prose.changed for prose in report.prose
    )
    said += [f"{count(sections, 'section')} of prose"] if sections else []
    return ", ".join(said) or "nothing changes"


def _code(text: str) -> str:
    line = " ".join(controls.for_prompt(text).replace("`", "'").split())
    return f"`{line}`" if line else ""

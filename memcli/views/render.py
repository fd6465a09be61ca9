"""Reports -> text, JSON or the prompt block. The only module that imports rich, and only when it
draws.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from memcli.memory.values import Patch, Problem
from memcli.memory.words import body_of
from memcli.recall import budget
from memcli.recall.answer import RecallReport
from memcli.recall.present import Hit, age_text
from memcli.text.controls import for_display, strip_private
from memcli.text.redact import for_prompt
from memcli.text.secrets import redact_secrets
from memcli.views import terminal


def coloured(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal that may be coloured (NO_COLOR, TERM=dumb)."""
    if stream is None:
        return False
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    """`text` in an ANSI style (dim, bold, or a colour's number) when stdout may be coloured."""
    code = {"dim": "2", "bold": "1", "green": "32", "yellow": "33", "cyan": "36", "red": "31"}[
        style
    ]
    return f"\x1b[{code}m{text}\x1b[0m" if coloured(sys.stdout) else text


def _folded(lines: Iterable[str], *, indent: int = 0, more: int = 0) -> list[str]:
    """`lines`, `indent` columns in; on a terminal folded at words, where what is left over hangs
    in.
    """
    width = terminal.columns(sys.stdout)
    return [
        part for line in lines for part in terminal.fold_text(line, width, indent=indent, more=more)
    ]


def on_screen(text: str) -> str:
    """`text`, on a terminal folded at words."""
    return "\n".join(_folded([text], more=2))


def _hung(line: str, hang: int) -> list[str]:
    """`line`, on a terminal folded at words, all but its first line `hang` columns in."""
    return terminal.fold(line, terminal.columns(sys.stdout), hang)


def to_json(value: Any) -> str:
    """One JSON document, with the interface's version first, and nothing that a terminal would
    obey.
    """
    return json.dumps(_displayed({"version": 1, **value}), ensure_ascii=False, indent=2)


def _displayed(value: Any) -> Any:
    if isinstance(value, str):
        return for_display(value)
    if isinstance(value, Mapping):
        return {for_display(str(key)): _displayed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_displayed(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


# --- recall


def recall_json(report: RecallReport, *, explain: bool) -> str:
    return to_json(
        {
            "mode": report.mode,
            "query": report.query,
            "hits": [_hit_json(hit, explain=explain) for hit in report.hits],
            "budget": report.budget._asdict(),
            "problems": [problem._asdict() for problem in report.problems],
        }
    )


def _hit_json(hit: Hit, *, explain: bool) -> dict[str, Any]:
    values = hit._asdict()
    for name in ("head", "note", *(() if explain else ("factors",))):
        values.pop(name)
    for name in ("project", "url"):
        if not values[name]:
            values.pop(name)
    return values


def recall_prompt(report: RecallReport) -> str:
    """The block for an agent; "" when there is nothing to show."""
    if not report.hits:
        return ""
    items = [budget.Shown("", hit.layer, hit.head, hit.text, note=hit.note) for hit in report.hits]
    return budget.write(items, report.budget.more)


def recall_text(report: RecallReport) -> str:
    """The same hits for a person at a terminal."""
    lines: list[str] = []
    layer = ""
    for hit in report.hits:
        if hit.layer != layer:
            layer = hit.layer
            lines += ["", styled(budget.TITLES[layer].removeprefix("## "), "bold")]
        lines += ["", *_hit_text(hit)]
    if report.budget.more:
        lines += [
            "",
            *_hung(
                styled(f"{report.budget.more} more: --max-tokens 0, or a narrower task", "dim"), 0
            ),
        ]
    return "\n".join(lines[1:])


def _hit_text(hit: Hit) -> list[str]:
    where = styled(f"{hit.project} {hit.url}" if hit.url else f"{hit.path}:{hit.line}", "cyan")
    if hit.layer == "institutional":
        return ["    " + where, *_folded([hit.text], indent=4)]
    number = f"{hit.rank:>2}. " if hit.layer == "ranked" else "  - "
    facts = [
        hit.level if hit.store == "memory" else f"{hit.level} {hit.store}",
        hit.kind or hit.type,
        *([age_text(hit.age_days)] if hit.age_days is not None else []),
        *([f"score {hit.score:.2f}"] if hit.score is not None else []),
    ]
    lines = _hung(number + styled(hit.title, "bold"), 4)
    lines += _hung(f"    {styled(', '.join(facts), 'dim')}  {where}", 4)
    lines += _folded([hit.text] if hit.text else [], indent=4)
    alike = ", ".join(name[:8] for name in hit.duplicates)
    notes = [f"(and {_count(len(hit.duplicates), 'near-duplicate')}: {alike})"] if alike else []
    for note in (*notes, *filter(None, [hit.note])):
        lines += [styled(line, "dim") for line in _hung(f"    {note}", 4)]
    return lines


# --- index


def index_json(report: Any, sent: Any = None) -> str:
    files = [
        {
            "path": row.path,
            "level": row.place.level,
            "store": row.place.store,
            "job": row.place.job,
            "task": row.place.task,
            "entries": row.entries,
            "problems": len(row.problems),
        }
        for row in report.files
    ]
    return to_json(
        {
            "index": report.where,
            "files": files,
            "changed": report.changed,
            "removed": report.removed,
            "stale": list(report.stale),
            "vectors": report.vectors._asdict() if report.vectors else None,
            "problems": [problem._asdict() for problem in (*report.problems, *report.repeated)],
            **(
                {"push": {**sent._asdict(), "problems": len(sent.problems)}}
                if sent is not None
                else {}
            ),
        }
    )


def index_text(report: Any) -> str:
    entries = sum(row.entries for row in report.files)
    head = _count(entries, "entry or section", "entries and sections")
    head += f" in {_count(len(report.files), 'file')}"
    done = [
        f"{report.changed} read anew" if report.changed else "",
        f"{report.removed} gone" if report.removed else "",
    ]
    return f"{head}, {', '.join(filter(None, done)) or 'up to date'}{_vectors_text(report)}: {report.where}"


def push_text(report: Any) -> str:
    """What a push did, one line for each thing that was done."""
    moved = [
        f"{report.sent} sent" if report.sent else "",
        f"{report.dropped} taken out" if report.dropped else "",
        f"{report.embedded} with new vectors" if report.embedded else "",
    ]
    what = ", ".join(filter(None, moved)) or "up to date"
    head = f"{report.project} at {report.commit[:12]}"
    lines = [f"{head}: {_count(report.files, 'file')}, {what}: {report.where}"]
    if report.made:
        lines.insert(0, "the tables were made")
    if report.left_out:
        named = ", ".join(map(_in_one_line, report.left_out[:3])) + ", ..." * (
            len(report.left_out) > 3
        )
        lines.append(f"not in git, so not sent: {_count(len(report.left_out), 'file')} ({named})")
    return "\n".join(lines)


def stale_text(report: Any) -> str:
    """The names of the files that the index has an older state of, one a line."""
    return "\n".join(map(_in_one_line, report.stale))


def _vectors_text(report: Any) -> str:
    if report.vectors is None:
        return ""
    have, chosen, model = report.vectors.have, report.vectors.chosen, report.vectors.model
    return (
        f", {_count(have, 'vector') if have == chosen else f'{have} of {chosen} vectors'} ({model})"
    )


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """One line a problem: `path:line: what`."""
    return [_in_one_line(f"{p.path}:{p.line}: {p.message}") for p in problems]


def _in_one_line(text: str) -> str:
    """A file's name may hold line ends: they would make lines of their own."""
    return for_display(text).replace("\n", " ")


# --- add, show, list


def written_json(report: Any, *, dry_run: bool) -> str:
    values = {
        key: _placed(value) if key in ("changed", "retired") else value
        for key, value in report._asdict().items()
    }
    patches = values.pop("patches")
    return to_json({**values, "files": [patch.path for patch in patches], "dry_run": dry_run})


def _placed(rows: Any) -> Any:
    """(id, path, title) as an object; anything else as it is."""
    named = [
        dict(zip(("id", "path", "title"), row, strict=True))
        for row in rows
        if isinstance(row, tuple)
    ]
    return named or rows


def diff(patches: Iterable[Patch], root: str) -> str:
    """All patches as one diff that `git apply` takes at the root."""
    from memcli.memory.diff import unified_diff

    return "".join(unified_diff(patch, _relative(patch.path, root)) for patch in patches).rstrip(
        "\n"
    )


def _relative(path: str, root: str) -> str:
    inside = root and os.path.commonpath((path, root)) == root
    return os.path.relpath(path, root) if inside else path.lstrip("/")


def add_text(report: Any) -> str:
    title = for_display(report.title)
    if report.reinforced:
        return f"known already, reinforced: {title} ({report.path}, id {report.id[:8]})"
    return f"added to {report.path}: {title} (id {report.id[:8]})"


def show_json(report: Any) -> str:
    entry = report.entry
    values = {key: getattr(entry, key) for key in _ENTRY_KEYS}
    return to_json(
        {
            **values,
            "text": for_display(entry.body),
            "extra": dict(entry.extra),
            "path": report.path,
            "level": report.level,
            "store": report.store,
            "age_days": report.age_days,
            "factors": dict(report.factors),
            "provenance": dict(report.provenance),
            "relations": [
                {"entry": one, "relation": relation, "other": other}
                for one, relation, other in report.relations
            ],
            "copies": list(report.copies),
        }
    )


_ENTRY_KEYS = [
    "id",
    "type",
    "domain",
    "kind",
    "priority",
    "status",
    "importance",
    "phase",
    "reinforcement_count",
    "last_reinforced",
    "created_at",
    "title",
    "line",
]


def show_text(report: Any) -> str:
    entry = report.entry
    values: dict[str, Any] = {
        "id": entry.id,
        "where": f"{report.path}:{entry.line} ({report.level}, {report.store})",
        "what": ", ".join(
            filter(None, (entry.kind, entry.type, f"domain {entry.domain}", f"phase {entry.phase}"))
        ),
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
    for one, relation, other in report.relations:
        values.setdefault("relations", "")
        values["relations"] += (
            f"{', ' if values['relations'] else ''}{_edge(entry.id, one, relation, other)}"
        )
    head = _hung(styled(for_display(entry.title), "bold"), 2)
    body = for_display(body_of(entry.body, entry.title))
    return "\n".join([*head, *values_text(values), *(["", *_folded([body])] if body else [])])


def _edge(entry: str, one: str, relation: str, other: str) -> str:
    return f"{relation} {other[:8]}" if one == entry else f"{one[:8]} {relation} this"


def list_json(report: Any) -> str:
    return to_json({"entries": [row._asdict() for row in report.rows], "total": report.total})


def list_text(report: Any) -> str:
    rows = [
        (
            row.id[:8],
            row.date or "-",
            row.level,
            row.kind or row.type,
            row.title,
            f"{row.path}:{row.line}",
        )
        for row in report.rows
    ]
    return table(
        rows,
        ("id", "date", "level", "kind", "title", "where"),
        spare=("level", "where", "date", "kind"),
    )


# --- reinforce, compact, retire, retire-stage, undo, init


def reinforce_text(report: Any) -> str:
    said = [
        f"{what} {_count(len(ids), 'entry', 'entries')}"
        for what, ids in (
            ("reinforced", report.reinforced),
            ("rated", report.rated),
            ("weakened", report.weakened),
        )
        if ids
    ]
    passed = [
        f"{len(ids)} {why}"
        for ids, why in (
            (report.already, "counted in this session already"),
            (report.retired, "retired"),
            (report.elsewhere, "in another work tree"),
            (report.unknown, "unknown"),
        )
        if ids
    ]
    return ", ".join(said or ["nothing to reinforce"]) + (
        f" ({', '.join(passed)})" if passed else ""
    )


MOST_LINES = 40
"""So many events are told one by one; of more, the rest is only counted (--json has them all)."""


def compact_text(report: Any) -> str:
    done = [_event(event) for event in report.done]
    found = [
        f"{event.path}: {_FOUND[event.what].format(*(i[:8] for i in event.ids), why=event.detail)}"
        for event in report.found
    ]
    lines = [*_first(done), *_first(found)]
    if report.waiting:
        lines.append(
            f"{_count(report.waiting, 'episode')} to consolidate: mem compact --consolidate"
        )
    counts = Counter(event.what for event in report.done)
    if len(done) > 1:
        lines.append(", ".join(f"{what}: {number}" for what, number in sorted(counts.items())))
    return for_display("\n".join(lines or ["nothing to compact"]))


def _first(lines: Sequence[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return list(lines)
    return [*lines[:MOST_LINES], f"... and {len(lines) - MOST_LINES} more (--json lists all)"]


_FOUND = {
    "contradiction": "{0} and {1} say the opposite: mem show them, then mem retire one",
    "loss": "{why} would leave it: refused without --allow-loss",
    "alike but different": "{0} and {1} look alike but differ ({why}): kept apart",
    "unsure": "{0} and {1} say the opposite, and the model is not sure: mem show them, then mem retire one",
    "both hold": "{0} and {1} hold both, says the model",
    "names the project": "{0} names the project ({why}): not promoted",
    "not shown": "{0} is not promoted: it holds {why}",
    "not asked": "{why}",
    "skipped": "{0}: {why}",
    "dropped": "dropped of what the model proposed: {why}",
}


def _event(event: Any) -> str:
    first, rest = event.ids[0][:8], [i[:8] for i in event.ids[1:]]
    words = {
        "merged": f"merged {', '.join(rest)} into {first}",
        "same id": f"merged {_count(len(rest) + 1, 'version')} of {first}",
        "retired": f"archived {first}, retired: {event.detail}",
        "stale": f"archived {first}, stale: {event.detail}",
        "promoted": f"promoted {', '.join(rest)} to the project as {first}",
        "reinforced by recurrence": f"reinforced {first}: it recurs in {', '.join(rest)}",
        "decayed": f"lowered {first} and {', '.join(rest)}: they say the opposite",
        "superseded": f"retired {', '.join(rest)}, superseded by {first}",
        "learned": f"learned {first} from {', '.join(rest)}: {event.detail}",
        "updated": f"updated {first} from {', '.join(rest)}",
        "reinforced": f"reinforced {first} from {', '.join(rest)}",
        "consolidated": f"consolidated {_count(len(event.ids), 'episode')}",
        "promoted everywhere": f"promoted {', '.join(rest)} to every project as {first}",
        "adopted": f"made {_count(len(event.ids), 'section')} of prose into entries",
    }
    return f"{event.path}: {words[event.what]}"


def events_json(report: Any, *, dry_run: bool) -> str:
    return to_json(
        {
            "done": [event._asdict() for event in report.done],
            "found": [event._asdict() for event in report.found],
            "skipped": [problem._asdict() for problem in report.skipped],
            "files": [patch.path for patch in report.patches],
            "waiting": report.waiting,
            "dry_run": dry_run,
        }
    )


def retire_text(report: Any) -> str:
    lines = [
        f"{report.verb} {title} ({path}, id {entry[:8]})" for entry, path, title in report.changed
    ]
    lines += [
        f"{entry[:8]} is {'retired' if report.verb == 'retired' else 'active'} already"
        for entry in report.already
    ]
    return for_display("\n".join(lines))


def retire_stage_text(report: Any) -> str:
    lines = list(report.notes)
    if report.current:
        was = f", was {report.before}" if report.before and report.before != report.current else ""
        lines.append(f"stage {report.current} (by {report.by}){was}")
    if report.ended:
        lines.append(
            f"retired {_count(len(report.retired), 'entry', 'entries')} of stage {report.ended}"
        )
        lines += [f"  {title} ({path}, id {entry[:8]})" for entry, path, title in report.retired]
    return for_display("\n".join(lines))


def undo_text(report: Any, root: str, *, dry_run: bool) -> str:
    if not report.verb:
        return "there is nothing to undo"
    names = ", ".join(
        os.path.relpath(p, root) if p.startswith(f"{root}/") else p for p in report.files
    )
    done = f"{'would take' if dry_run else 'took'} back {report.verb} of {report.time}: {names}"
    return (
        f"{done}\nbefore it: {report.earlier}, taken back by another mem undo"
        if report.earlier
        else done
    )


def init_text(report: Any) -> str:
    return "\n".join(report.done or ("everything is in place already",))


# --- import, export, diff


def import_text(report: Any) -> str:
    """What was added, one line each, and what was left out and why."""
    lines = _first(
        [f"added to {path}: {title} (id {entry[:8]})" for entry, path, title in report.added]
    )
    lines += _first([f"known already: {title} (id {entry[:8]})" for title, entry in report.similar])
    for sources, why in (
        (report.refused, "holds a secret: not imported"),
        (report.injected, "reads like commands to an agent: not imported"),
        (report.private, "is about one person: imported with --level global alone"),
    ):
        lines += _first([f"{source}: {why}" for source in sources])
    counts = [
        f"{len(report.added)} added",
        f"{len(report.known)} imported before" if report.known else "",
        f"{len(report.similar)} known already" if report.similar else "",
        f"{report.elsewhere} of other projects" if report.elsewhere else "",
    ]
    return for_display("\n".join([*lines, ", ".join(filter(None, counts))]))


def import_json(report: Any, *, dry_run: bool) -> str:
    def pairs(rows: Any) -> list[dict[str, str]]:
        return [{"title": title, "id": entry} for title, entry in rows]

    return to_json(
        {
            "added": [dict(zip(("id", "path", "title"), row, strict=True)) for row in report.added],
            "known": pairs(report.known),
            "similar": pairs(report.similar),
            "refused": list(report.refused),
            "injected": list(report.injected),
            "private": list(report.private),
            "elsewhere": report.elsewhere,
            "skipped": [problem._asdict() for problem in report.skipped],
            "files": [patch.path for patch in report.patches],
            "dry_run": dry_run,
        }
    )


def export_text(report: Any) -> str:
    """The whole answer: the section, or JSON with every live entry."""
    if report.target != "json":
        return str(report.handout.text).rstrip("\n")
    entries = [_exported(kept) for kept in report.kept]
    return to_json(
        {"entries": entries, "problems": [problem._asdict() for problem in report.problems]}
    )


def _exported(kept: Any) -> dict[str, Any]:
    entry, file = kept.entry, kept.file
    values = {key: getattr(entry, key) for key in _ENTRY_KEYS}
    text = redact_secrets(strip_private(entry.body))
    where = {"path": file.name, "level": file.place.level, "written": entry.written}
    return {**values, "text": text, **where, "weight": kept.weight, "extra": dict(entry.extra)}


def diff_json(report: Any) -> str:
    return to_json(
        {
            "base": report.base,
            "head": report.head,
            "changes": [change._asdict() for change in report.changes],
            "prose": [prose._asdict() for prose in report.prose],
            "problems": [problem._asdict() for problem in report.problems],
        }
    )


def diff_text(report: Any) -> str:
    """By file: one line a change, then how much prose changed; the totals last."""
    lines = []
    for path, level, changes, prose in _by_file(report):
        lines += _hung(styled(for_display(path), "bold") + (f" ({level})" if level else ""), 2)
        for change in changes:
            facts = ", ".join((change.kind, f"id {change.id[:8]}"))
            detail = f": {change.detail}" if change.detail else ""
            line = for_display(f"  {change.what:<10}  {change.title} ({facts}){detail}")
            lines += _hung(line, DIFF_HANG)
        lines += _hung(f"  {'prose':<10}  {prose_text(prose)}", DIFF_HANG) if prose else []
    return "\n".join([*lines, *_hung(f"{report.base}..{report.head}: {_totals(report)}", 2)])


DIFF_HANG = 14
"""Where the words of a change begin, behind what it is."""


def diff_markdown(report: Any) -> str:
    """The same for a comment on a pull request; text from memory stands in code spans."""
    lines = [f"### Memory: {_totals(report)}"]
    for path, level, changes, prose in _by_file(report):
        lines += ["", f"{_code(path)}{f' ({level})' if level else ''}"]
        for change in changes:
            detail = f": {_code(change.detail)}" if change.detail else ""
            lines.append(
                f"- {change.what} {_code(change.title)} ({change.kind}, `{change.id[:8]}`){detail}"
            )
        lines += [f"- prose: {prose_text(prose)}"] if prose else []
    return "\n".join([*lines, "", f"<sub>{report.base}..{report.head}</sub>"])


def _by_file(report: Any) -> Iterable[tuple[str, str, list[Any], Any]]:
    prose = {one.path: one for one in report.prose}
    for path in sorted({*(change.path for change in report.changes), *prose}):
        changes = [change for change in report.changes if change.path == path]
        yield path, changes[0].level if changes else "", changes, prose.get(path)


def prose_text(prose: Any) -> str:
    """`2 sections added, 1 changed`."""
    named = (("added", prose.added), ("changed", prose.changed), ("removed", prose.removed))
    found = [(what, number) for what, number in named if number]
    first, rest = found[0], found[1:]
    return ", ".join(
        [
            f"{_count(first[1], 'section')} {first[0]}",
            *(f"{number} {what}" for what, number in rest),
        ]
    )


def _totals(report: Any) -> str:
    counts = Counter(change.what for change in report.changes)
    said = [f"{number} {what}" for what, number in counts.items()]
    sections = sum(prose.added + prose.removed + prose.changed for prose in report.prose)
    said += [f"{_count(sections, 'section')} of prose"] if sections else []
    return ", ".join(said) or "nothing changes"


def _code(text: str) -> str:
    """A code span: in it nothing is a mention, a link or markup."""
    line = " ".join(for_prompt(text).replace("`", "'").split())
    return f"`{line}`" if line else ""


# --- extract


def extract_json(done: Any, *, dry_run: bool) -> str:
    report = done.extract
    return to_json(
        {
            "engine": report.engine,
            "engine_because": report.why,
            "sessions": [_session_json(session) for session in report.sessions],
            "more": list(report.more),
            "reinforced": list(done.reinforced),
            "compacted": [event._asdict() for event in done.compacted],
            "problems": [problem._asdict() for problem in report.problems],
            "prompts": list(report.prompts),
            "files": [patch.path for patch in done.patches],
            "dry_run": dry_run,
        }
    )


def _session_json(session: Any) -> dict[str, Any]:
    values: dict[str, Any] = session._asdict()
    values["events"] = [event._asdict() for event in session.events]
    values["skipped"] = [skipped._asdict() for skipped in session.skipped]
    values["failed"] = [{"scope": scope, "why": why} for scope, why in session.failed]
    return values


def extract_failures(report: Any) -> list[str]:
    """The scopes that failed, one a line."""
    return [
        for_display(f"mem: {session.name}: scope {scope} failed: {why}")
        for session in report.sessions
        for scope, why in session.failed
    ]


_DONE = {"learned": "+", "reinforced": "=", "restored": "<", "noted": "+"}


def extract_text(done: Any, *, verbose: bool = False) -> str:
    """What was learned, session by session, and what was not; with `verbose` why scopes were
    skipped.
    """
    report = done.extract
    lines = [line for session in report.sessions for line in _session_text(session)]
    skipped = {one.scope for session in report.sessions for one in session.skipped}
    if verbose:
        lines += dict.fromkeys(_skipped(session) for session in report.sessions if session.skipped)
    elif skipped:
        lines.append(f"{_count(len(skipped), 'scope')} skipped: -v says which and why")
    if not report.sessions:
        lines.append("no new sessions of this repository")
    if report.more:
        number = _count(len(report.more), "older session")
        lines.append(
            f"{number} not read: --all reads every one{'' if verbose else ', -v names them'}"
        )
        lines += [f"  {name}" for name in report.more[:MOST_LINES] if verbose]
    if done.reinforced:
        number = _count(len(done.reinforced), "entry", "entries")
        lines.append(f"reinforced {number} that the sessions recalled")
    merged = Counter(event.what for event in done.compacted)
    if merged:
        lines.append(
            "compacted: " + ", ".join(f"{what} {number}" for what, number in sorted(merged.items()))
        )
    if report.sessions:
        lines.append(f"engine {report.engine}: {report.why}")
    return for_display("\n".join(lines))


def _session_text(session: Any) -> list[str]:
    if session.note:
        return [f"{session.name}: {session.note}"]
    counts = Counter(event.what for event in session.events)
    said = [f"{number} {what}" for what, number in counts.items()]
    dropped = sum(session.dropped.values())
    said += [f"{dropped} dropped"] if dropped else []
    what = f"{session.name} ({session.format}, {_count(session.turns, 'turn')})"
    lines = [f"{what}: {', '.join(said) or 'nothing learned'}"]
    lines += [*(f"  {_DONE[e.what]} {e.path}: {e.title} ({_tail(e)})" for e in session.events)]
    lines += [f"  dropped {number}: {why}" for why, number in session.dropped.items()]
    return lines + [f"  not looked at: {what}" for what in session.cut]


def _skipped(session: Any) -> str:
    """The scopes that had nothing to do, by reason: said once for sessions that are alike."""
    reasons: dict[str, list[str]] = {}
    for skipped in session.skipped:
        reasons.setdefault(skipped.why, []).append(skipped.scope)
    return "skipped: " + "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())


def _tail(event: Any) -> str:
    return f"{event.scope}, id {event.id[:8]}" if event.id else event.scope


def moment_text(report: Any) -> str:
    if report.what == "checkpoint":
        return f"noted in {report.path}"
    return f"wrote {report.path}: {_count(report.risks, 'risk')}"


# --- doctor


def doctor_json(report: Any, *, dry_run: bool) -> str:
    rows = [
        {**row._asdict(), "path": row.path or None, "line": row.line or None}
        for row in report.checks
    ]
    return to_json(
        {
            "checks": rows,
            "failed": report.failed,
            "warned": report.warned,
            "fixed": list(report.fixed),
            "files": [patch.path for patch in report.patches],
            "dry_run": dry_run,
        }
    )


def doctor_summary(report: Any) -> str:
    failed, warned = report.failed, report.warned
    return (
        f"mem: {failed} failed, {_count(warned, 'warning')}"
        if failed or warned
        else "mem: all is well"
    )


_STATUS = {"PASS": "green", "WARN": "yellow", "FAIL": "red", "INFO": "cyan"}


def doctor_text(report: Any) -> str:
    """Aligned for a person at a terminal, a row a line and tabs between its cells elsewhere."""
    rows = [(row.status, row.name, _place(row), row.detail, row.hint) for row in report.checks]
    if not sys.stdout.isatty():
        return table(rows, ())
    width = max((len(row.name) for row in report.checks), default=0)
    return "\n".join(line for row in rows for line in _doctor_lines(row, width))


def _doctor_lines(row: Sequence[str], width: int) -> list[str]:
    status, name, where, detail, hint = (" ".join(for_display(cell).split()) for cell in row)
    place = f"{styled(where, 'cyan')} " if where else ""
    hang = width + 8 if terminal.columns(sys.stdout) > 2 * width + 16 else 6
    lines = _hung(f"{styled(status, _STATUS[status])}  {name:<{width}}  {place}{detail}", hang)
    return (
        lines + [styled(line, "dim") for line in _hung(" " * hang + hint, hang)] if hint else lines
    )


def _place(row: Any) -> str:
    return f"{row.path}:{row.line}" if row.line else str(row.path)


# --- health


NUDGE_FROM = 60
"""So many prompts without anything written are worth a word."""


def health_json(report: Any, *, history: bool) -> str:
    """The report; with `history` also its snapshots, the oldest first."""
    found = report.health
    values = {
        "score": found.score,
        "band": found.band,
        "metrics": {name: metric._asdict() for name, metric in found.metrics.items()},
        "counts": report.counts,
        "llm": report.spent._asdict(),
        "never_recalled": None if report.never is None else len(report.never),
        "nudge": {"prompts": report.unwritten, "due": report.unwritten >= NUDGE_FROM},
        "problems": [problem._asdict() for problem in report.problems],
    }
    days = {"history": [day._asdict() for day in report.history]} if history else {}
    return to_json({**values, **days})


def health_text(report: Any) -> str:
    """Score, metrics with their bars and reasons, counts; within 80 columns, and on a terminal its
    width.
    """
    from memcli.diagnostics.metrics import FEW, GROWTH

    found, counts = report.health, report.counts
    score = styled(f"{found.score:g} ({found.band})", found.band)
    size = (
        f"{_count(counts['live'], 'live entry', 'live entries')}, {_count(counts['files'], 'file')}"
    )
    lines = _hung(f"health {score}   {size}, {counts['tokens']:,} tokens", 2)
    few = counts["live"] < FEW
    for name, metric in found.metrics.items():
        lines += [
            "",
            *_metric_text(name, metric, advised=not (few and metric.raise_with in GROWTH)),
        ]
    if few and counts["live"]:
        lines += [
            "",
            *_folded(
                [f"{FEW} entries and more make these figures meaningful: mem add, mem extract"],
                more=2,
            ),
        ]
    if counts["entries"]:
        names = ("level", "type", "kind", "status")
        lines += ["", *(line for name in names for line in _tally(name, counts[name]))]
    said = []
    if report.never is not None:
        said.append(
            f"{_count(len(report.never), 'live entry was', 'live entries were')} never recalled"
        )
    if report.unwritten >= NUDGE_FROM:
        said.append(f"{report.unwritten} prompts since memory was last written: mem extract")
    if report.spent.calls:
        spent = report.spent
        called = _count(spent.calls, "call", "calls")
        said.append(
            f"LLM, {spent.days} days: {called}, {spent.tokens:,} tokens, {spent.cost:.2f} USD"
        )
    return "\n".join([*lines, *_folded(said, more=2)])


def _page_width() -> int:
    """78 columns, on a narrow terminal fewer."""
    return min(78, terminal.columns(sys.stdout) or 78)


ENOUGH = 95
"""From this value a metric gets no advice."""


def _metric_text(name: str, metric: Any, *, advised: bool) -> list[str]:
    from textwrap import wrap

    from memcli.diagnostics.metrics import band

    if metric.value is None:
        head = f"{name:<13}    -  {'.' * 20}  not counted"
    else:
        bar = styled(_bar(metric.value), band(metric.value))
        head = f"{name:<13}{metric.value:5.1f}  {bar}  {metric.weight:.0%} of the score"
    advised = advised and (metric.value is None or metric.value < ENOUGH)
    hint = [styled(f"  raise it: {metric.raise_with}", "dim")] if advised else []
    reason = wrap(metric.reason, _page_width(), initial_indent="  ", subsequent_indent="  ")
    return [*_hung(head, 20), *reason, *hint]


def _bar(value: float) -> str:
    """Twenty cells for 0 to 100."""
    full = round(value / 5)
    return "█" * full + "░" * (20 - full)


def _tally(name: str, counts: Mapping[str, int]) -> list[str]:
    from textwrap import wrap

    text = ", ".join(f"{key} {count}" for key, count in counts.items())
    return wrap(text, _page_width(), initial_indent=f"{name:<8}", subsequent_indent=" " * 8)


def trend_text(report: Any) -> str:
    """The score by day: a sparkline and the latest days on a terminal, tab-separated days in a
    pipe.
    """
    from memcli.commands.health import trend
    from memcli.diagnostics.metrics import WEIGHTS

    rows = list(trend(report))
    if not terminal.columns(sys.stdout) or not rows:
        return table(rows, ())
    first, last = report.history[0], report.history[-1]
    names = [name[:5] for name in WEIGHTS]
    room = max(1, terminal.columns(sys.stdout) - 36)
    drawn = styled(
        sparkline([day.score for day in report.history][-min(60, room) :]), report.health.band
    )
    days = table(
        rows[-14:],
        ("day", "score", *names, "entries", "tokens"),
        spare=("tokens", *reversed(names)),
    )
    return f"{first.day} {first.score:g}  {drawn}  {last.day} {last.score:g}\n\n{days}"


def sparkline(values: Sequence[float]) -> str:
    """One character a value, for 0 to 100."""
    return "".join("▁▂▃▄▅▆▇█"[min(7, int(max(0.0, value) / 12.5))] for value in values)


# --- tables


TITLE = 30
"""The least width of a table's title; other columns go before it gets narrower."""


def table(rows: Sequence[Sequence[str]], heads: Sequence[str], spare: Sequence[str] = ()) -> str:
    """A table: drawn by rich on a terminal, titles folded at words; tab-separated without heads
    elsewhere.

    Where the terminal is narrow, the columns `spare` are left out in turn; where goes below the
    title.
    """
    rows = [[" ".join(for_display(cell).split()) for cell in row] for row in rows]
    width = terminal.columns(sys.stdout)
    if not (width and rows):
        return "\n".join("\t".join(row) for row in rows)
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=width)
    widths = _fitting(rows, heads, spare, width)
    drawn = Table(box=None, pad_edge=False, header_style="bold" if coloured(sys.stdout) else "")
    for name, column in widths.items():
        drawn.add_column(name, overflow="fold", width=column)
    for row in rows:
        drawn.add_row(*_cells(dict(zip(heads, row, strict=True)), widths))
    with console.capture() as capture:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))


def _cells(row: Mapping[str, str], widths: Mapping[str, int]) -> Iterable[Any]:
    """What stands in the columns of a row; below a title its place, when that has no column."""
    from rich.text import Text

    for name, width in widths.items():
        cell = Text("\n".join(terminal.fold(row[name], width)))
        if name == "title" and "where" not in widths:
            cell.append(
                "\n" + "\n".join(terminal.fold_path(row["where"], width)),
                style="dim" * coloured(sys.stdout),
            )
        yield cell


def _fitting(
    rows: Sequence[Sequence[str]], heads: Sequence[str], spare: Sequence[str], width: int
) -> dict[str, int]:
    """The columns that are shown and their widths: a title gets what the others leave."""
    columns = (
        zip(heads, zip(*rows, strict=True), strict=True) if rows else ((head, ()) for head in heads)
    )
    widths = {head: max(map(terminal.cells, (head, *cells))) for head, cells in columns}
    least = min(widths.get("title", 0), TITLE)

    def room() -> int:
        return (
            width
            - sum(size + 2 for name, size in widths.items() if name != "title")
            + (least == 0) * 2
        )

    for name in spare:
        if room() < least:
            del widths[name]
    if "title" in widths:
        widths["title"] = max(1, min(widths["title"], room()) if "where" in widths else room())
    return widths


def values_text(values: Mapping[str, Any]) -> list[str]:
    """`key: value` lines, aligned."""
    width = max(map(len, values), default=0)
    rows = (for_display(f"{key + ':':<{width + 1}} {value}") for key, value in values.items())
    return [line for row in rows for line in _hung(row, width + 2)]

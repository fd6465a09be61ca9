"""The answer of a recall: for an agent, for a person, as JSON."""

from typing import TYPE_CHECKING

from memcli.recall import budget
from memcli.recall.present import age_text
from memcli.views import json
from memcli.views.text import count, folded, hung, styled

if TYPE_CHECKING:
    from memcli.recall.answer import RecallReport
    from memcli.recall.present import Hit


def recall_json(report: "RecallReport", *, explain: bool) -> str:
    """The report; with `explain` also the factors of every score."""
    hidden = {"head", "note", "extra", "listed"} | (set() if explain else {"factors"})
    absent = dict.fromkeys(("path", "line", "type", "kind", "level", "store"))
    hits = []
    for hit in report.hits:
        empty = {
            name for name in ("project", "url", "gone") if not getattr(hit, name)
        } | hidden
        values = {
            name: value for name, value in hit._asdict().items() if name not in empty
        }
        hits.append(values if hit.extra is None else {**values, **absent, **hit.extra})
    sparse = report.mode == "bm25"  # no vectors: words alone were searched
    return json.of(report, matched=..., found=..., hits=hits, sparse_only=sparse)


def recall_text(report: "RecallReport") -> str:
    """The same hits for a person at a terminal."""
    lines: list[str] = []
    layer = ""
    for hit in report.hits:
        if hit.layer != layer:
            layer = hit.layer
            lines += ["", styled(budget.TITLES[layer].removeprefix("## "), "bold")]
        lines += ["", *_hit_text(hit)]
    if report.budget.more:
        more = styled(
            f"{report.budget.more} more: --max-tokens 0, or a narrower task", "dim"
        )
        lines += ["", *hung(more, 0)]
    return "\n".join(lines[1:])


def _hit_text(hit: "Hit") -> list[str]:
    if hit.extra is not None:
        said = folded([hit.text] if hit.text else [], indent=4)
        number = f"{hit.rank:>2}. " if hit.listed else "  - "
        return [*hung(number + styled(hit.head, "bold"), 4), *said]
    where = styled(
        f"{hit.project} {hit.url}" if hit.url else f"{hit.path}:{hit.line}", "cyan"
    )
    if hit.layer == "institutional":
        return ["    " + where, *folded([hit.text], indent=4)]
    number = f"{hit.rank:>2}. " if hit.layer == "ranked" else "  - "
    facts = [
        hit.level if hit.store == "memory" else f"{hit.level} {hit.store}",
        hit.kind or hit.type,
        *(["key moment"] if hit.key_moment else []),
        *([age_text(hit.age_days)] if hit.age_days is not None else []),
        *([f"score {hit.score:.2f}"] if hit.score is not None else []),
        *([f"id {hit.id[:8]}"] if hit.id else []),
    ]
    lines = hung(number + styled(hit.title, "bold"), 4)
    lines += hung(f"    {styled(', '.join(facts), 'dim')}  {where}", 4)
    lines += folded([hit.text] if hit.text else [], indent=4)
    alike = ", ".join(name[:8] for name in hit.duplicates)
    notes = (
        [f"(and {count(len(hit.duplicates), 'near-duplicate')}: {alike})"]
        if alike
        else []
    )
    notes += [hit.gone] if hit.gone else []
    for note in (*notes, *filter(None, [hit.note])):
        lines += [styled(line, "dim") for line in hung(f"    {note}", 4)]
    return lines

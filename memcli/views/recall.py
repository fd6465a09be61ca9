"""The answer of a recall: for an agent, for a person, as JSON."""

from functools import partial
from typing import TYPE_CHECKING

from memcli.recall import budget
from memcli.recall.hit import BETWEEN
from memcli.recall.once import once
from memcli.views import json
from memcli.views.text import count, folded, hung, styled

if TYPE_CHECKING:
    from memcli.recall.answer import RecallReport
    from memcli.recall.hit import Hit


def recall_json(report: "RecallReport", *, explain: bool) -> str:
    """The report as JSON; with `explain`, also the factors of every score."""
    hits = [_hit_object(hit, explain=explain) for hit in report.hits]
    sparse = report.mode == "bm25"  # no vectors: only words were searched
    return json.of(
        report, matched=..., found=..., nearest=..., hits=hits, sparse_only=sparse
    )


_TOLD = """id rank layer score title text type kind level store path line age_days
    duplicates key_moment""".split()
_TOLD_WHERE_KNOWN = ("project", "url", "gone")


def _hit_object(hit: "Hit", *, explain: bool) -> dict[str, object]:
    names = [*_TOLD, *filter(partial(getattr, hit), _TOLD_WHERE_KNOWN)]
    if explain:
        names.append("factors")
    values = {name: getattr(hit, name) for name in names}
    if hit.extra is None:
        return values
    # an exchange or commit is in no file
    absent = dict.fromkeys("path line type kind level store".split())
    return {**values, **absent, **hit.extra}


def recall_text(report: "RecallReport") -> str:
    """The same hits for a person at a terminal."""
    lines = []
    layer = ""
    for hit in once(report.hits):
        if hit.layer != layer:
            layer = hit.layer
            lines += ["", styled(budget.TITLES[layer].removeprefix("## "), "bold")]
        lines += ["", *_hit_lines(hit)]
    if report.budget.more:
        more = f"{report.budget.more} more: --max-tokens 0, or a narrower task"
        lines += ["", *hung(styled(more, "dim"), 0)]
    return "\n".join(lines[1:])


def _hit_lines(hit: "Hit") -> list[str]:
    if hit.extra is not None:
        number = f"{hit.rank:>2}. " if hit.listed else "  - "
        return [*hung(number + styled(hit.head, "bold"), 4), *_text_lines(hit)]
    if hit.layer == "institutional":
        return [f"    {styled(hit.where, 'cyan')}", *_text_lines(hit)]
    title, _, facts = hit.head.partition(BETWEEN)
    number = f"{hit.rank:>2}. " if hit.layer == "ranked" else "  - "
    score = f", score {hit.score:.2f}" if hit.score is not None else ""
    lines = hung(number + styled(title, "bold"), 4)
    lines += hung(f"    {styled(facts + score, 'dim')}", 4)
    lines += _text_lines(hit)
    for note in _notes(hit):
        lines += [styled(line, "dim") for line in hung(f"    {note}", 4)]
    return lines


def _text_lines(hit: "Hit") -> list[str]:
    return folded([hit.text], indent=4) if hit.text else []


def _notes(hit: "Hit") -> list[str]:
    notes = []
    if hit.duplicates:
        alike = ", ".join(name[:8] for name in hit.duplicates)
        notes.append(f"(and {count(len(hit.duplicates), 'near-duplicate')}: {alike})")
    return [*notes, *filter(None, (hit.url, hit.note))]

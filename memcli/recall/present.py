"""Entries as a person or an agent sees them: the line that names one, its text, its
factors."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from memcli.index.view import AROUND, Candidate
from memcli.memory.words import MATTER, body_of
from memcli.named import NamedTuple
from memcli.recall import budget, evidence
from memcli.recall import ranking as rank
from memcli.recall.budget import Shown, tokens
from memcli.recall.ranking import Scored
from memcli.recall.search import Search
from memcli.text.controls import for_display, for_prompt, named

_RULE = 100  # characters that a rule at the end, which is not shown, may have
_DETAIL = 20_000
"""Characters of an episode's detail that are looked at."""
_EDGE = 2_000
"""Characters at a cut that are not shown: half a secret looks like none."""
KEY_MOMENT = 0.7  # the surprise from which on an episode is one


MORE = "({} more lines: mem show {})"


class Hit(NamedTuple):
    """One shown entry: `rank` counts from 1 within its layer, `head` and `note` are its
    first and last line in the block, `extra` is what a hit of history has instead of
    level, path and so on, `listed` whether `rank` runs through both tiers."""

    id: str | None
    rank: int
    layer: str
    score: float | None
    title: str
    text: str
    head: str
    note: str = ""
    type: str = ""
    kind: str = ""
    level: str = ""
    store: str = ""
    path: str = ""
    line: int = 0
    age_days: int | None = None
    duplicates: tuple[str, ...] = ()
    factors: Mapping[str, Any] | None = None
    project: str = ""
    url: str = ""
    key_moment: bool = False
    gone: str = ""
    extra: Mapping[str, Any] | None = None
    listed: bool = False


class Showing:
    """Shows what a search has chosen. `detail` (of episodes) is auto, none or high."""

    def __init__(
        self, search: Search, *, detail: str = "auto", explain: bool = False
    ) -> None:
        self.search = search
        self._detail_of = detail
        self._explain = explain
        self._lost: dict[str, str] = {}
        self._asked: evidence.Terms | None = None

    def each(
        self, layer: str, entries: Iterable[str], *, short: bool = False
    ) -> list[Shown]:
        """Entries as drafts of items of the block; `short`: under their own headings
        alone."""
        entries = list(entries)
        self._lost |= {**dict.fromkeys(entries, ""), **self.search.source.gone(entries)}
        return [self._drafted(entry, layer, short=short) for entry in entries]

    def _drafted(self, entry: str, layer: str, *, short: bool) -> Shown:
        draft = cache(partial(self._draft, entry, layer, short=short))
        hit = self.search.scored.get(entry)
        chosen = self.search.chosen[entry]
        also = hit.duplicates if hit else ()
        safe = partial(self._quoted, entry, layer)
        own = (
            chosen.text.partition("\n")[2]
            if chosen.text.startswith("#")
            else chosen.text
        )
        size = (
            0
            if own.lstrip().startswith("---")
            else max(len(own.strip()) - _RULE, 0) // 4
        )
        return Shown(
            key=entry,
            layer=layer,
            head="",
            text="",
            type=chosen.type,
            note="",
            also=also,
            brief=None,
            draft=draft,
            safe=safe,
            size=size,
        )

    def _draft(self, entry: str, layer: str, *, short: bool) -> tuple[str, str]:
        candidate = self.search.chosen[entry]
        title = candidate.title
        text = candidate.around.partition(AROUND)[0]
        if layer != "ranked" or not text:
            text = self.search.passage(candidate).text
        facts = list(self._facts(candidate))
        if short:
            title = title.rpartition(" > ")[2]
            # an agent must not go by what the code has outrun
            facts = [*self._outdated(candidate), *facts[-2:]]
        text = body_of(text, candidate.title)
        text = re.sub(MATTER, "", text, count=1) if text.startswith("---") else text
        return budget.heading(title, facts), text.strip("\n")

    def _quoted(self, entry: str, layer: str, head: str, text: str) -> Shown:
        candidate = self.search.chosen[entry]
        hit = self.search.scored.get(entry)
        head = for_prompt(head)
        text = for_prompt(text)
        cut = self.search.passage(candidate)
        if cut.lines:
            text = without_edges(text, ahead=cut.ahead, behind=cut.behind)
        note = _note(hit) if self._explain and hit and layer == "ranked" else ""
        text += self._detail(candidate)
        brief = partial(self._brief, entry, text, cut.lines)
        if cut.lines:
            text += "\n" + MORE.format(cut.lines, entry[:8])
        also = hit.duplicates if hit else ()
        return Shown(
            key=entry,
            layer=layer,
            head=head,
            text=text,
            type=candidate.type,
            note=note,
            also=also,
            brief=brief,
        )

    def _brief(self, entry: str, text: str, lines: int, room: int) -> str:
        left = room - tokens(MORE.format(9999, entry[:8])) - 1
        if left < budget.LEAST:
            return ""  # two words and a number of lines tell nobody anything
        self._asked = self._asked or evidence.terms(self.search.weights())
        found, left_out = evidence.best(text, self._asked, left)
        left_out += lines
        return found and (
            f"{found}\n{MORE.format(left_out, entry[:8])}" if left_out else found
        )

    def hit(self, item: Shown, place: int) -> Hit:
        """An item that is shown, with all that is known of it."""
        candidate = self.search.chosen[item.key]
        hit = self.search.scored.get(item.key)
        row = self.search.source.files[candidate.source]
        project, url = self.search.source.origin(candidate)
        ranked = hit if item.layer == "ranked" else None
        name = item.key
        also = item.also
        if project:  # there an entry is called id@project
            name, *also_here = (key.rpartition("@")[0] for key in (name, *also))
            also = tuple(also_here)
        score = round(ranked.score, 6) if ranked else None
        return Hit(
            id=name,
            rank=place,
            layer=item.layer,
            score=score,
            title=for_prompt(candidate.title),
            text=item.text,
            type=candidate.type,
            kind=candidate.kind,
            level=row.place.level,
            store=row.place.store,
            path=for_display(row.path),
            line=candidate.line,
            age_days=self._age(candidate),
            duplicates=also,
            head=item.head,
            note=item.note,
            factors=_factors(ranked) if ranked else None,
            project=for_display(project),
            url=for_display(url),
            key_moment=_is_key(candidate),
            gone=next(self._outdated(candidate), ""),
        )

    def _facts(self, candidate: Candidate) -> Iterator[str]:
        row = self.search.source.files[candidate.source]
        project, _ = self.search.source.origin(candidate)
        if project:
            yield named(project)
        if candidate.kind or candidate.values.get("written"):
            yield candidate.kind or candidate.type
        if _is_key(candidate):
            yield "key moment"
        store = row.place.store
        yield row.place.level if store == "memory" else f"{row.place.level} {store}"
        if (age := self._age(candidate)) is not None:
            yield age_text(age)
        yield from self._outdated(candidate)
        yield f"{named(row.path)}:{candidate.line}"
        yield f"id {candidate.entry[:8]}"

    def _outdated(self, candidate: Candidate) -> Iterator[str]:
        yield from filter(
            None, (self._lost[candidate.entry], candidate.values.get("ruled_out"))
        )

    def _age(self, candidate: Candidate) -> int | None:
        dated = any(map(candidate.values.get, ("reinforced", "created", "date")))
        return rank.age_of(candidate.values, self.search.today) if dated else None

    def _detail(self, candidate: Candidate) -> str:
        detail = candidate.values.get("detail", "")
        first = candidate.entry in list(self.search.scored)[:2] and _is_key(candidate)
        if (
            not detail
            or self._detail_of == "none"
            or (self._detail_of == "auto" and not first)
        ):
            return ""
        if len(detail) > _DETAIL:
            detail = without_edges(for_prompt(detail[:_DETAIL]), behind=True)
            return f"\n{detail} …"
        return "\n" + for_prompt(detail)


def without_edges(text: str, *, ahead: bool = False, behind: bool = False) -> str:
    """A safe text without what stands next to a cut, up to a word."""
    start = _EDGE if ahead else 0
    stop = len(text) - _EDGE if behind else len(text)
    kept = text[start:stop]
    if ahead:
        _, _, kept = kept.partition(" ")
    if behind:
        kept, _, _ = kept.rpartition(" ")
    return kept.strip()


def _is_key(candidate: Candidate) -> bool:
    return float(candidate.values.get("surprise", 0)) >= KEY_MOMENT


def _factors(hit: Scored) -> dict[str, Any]:
    values = {"lexical": hit.lexical, "vector": hit.vector}
    values |= {"words": hit.words} if hit.words is not None else {}
    values |= {"context": hit.context} if hit.context else {}
    values |= {"relevance": hit.relevance, **hit.prominence._asdict()}
    prominence = values.pop("value")
    values |= {
        "prominence": prominence,
        "level": hit.level_weight,
        "kind": hit.kind_weight,
    }
    factors = {
        key: round(value, 6) if value is not None else None
        for key, value in values.items()
    }
    return {**factors, "walked": hit.walked} if hit.walked else factors


def _note(hit: Scored) -> str:
    factors = _factors(hit)
    walked = (
        f"walked from {start[:8]}, " if (start := factors.pop("walked", "")) else ""
    )
    known = ((name, value) for name, value in factors.items() if value is not None)
    return f"= {walked}" + ", ".join(f"{name} {value:.3g}" for name, value in known)


def age_text(days: int) -> str:
    """`0` -> today, `1` -> 1 day, `58` -> 58 days."""
    return "today" if not days else "1 day" if days == 1 else f"{days} days"


def block(hits: Sequence[Hit], more: int) -> str:
    """The hits as the block for an agent's prompt; "" when there is nothing to show."""
    items = [
        Shown(
            key="",
            layer=hit.layer,
            head=hit.head,
            text=hit.text,
            note=hit.note,
            listed=hit.listed,
        )
        for hit in hits
    ]
    return budget.write(items, more) if items else ""

"""Entries as a person or an agent sees them: the line that names one, its text, its
factors."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

from memcli.index.view import AROUND, BULLETS, Candidate
from memcli.memory.words import MATTER, SIZE, body_of, count, uncut
from memcli.recall import budget, evidence
from memcli.recall import ranking as rank
from memcli.recall.budget import tokens
from memcli.recall.hit import Draft, Hit
from memcli.recall.ranking import Scored
from memcli.recall.search import Search
from memcli.text.controls import for_display, for_prompt, named

_RULE = 100  # characters that a rule at the end, which is not shown, may have
_DETAIL = 20_000
"""Characters of an episode's detail that are looked at."""
_EDGE = 2_000
"""Characters at a cut that are not shown: half a secret looks like none."""
KEY_MOMENT = 0.7  # the surprise from which on an episode is one


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
    ) -> list[Hit]:
        """Entries as drafts of items of the block; `short`: under their own headings
        alone."""
        entries = list(entries)
        lost = self.search.source.gone(entries, shown=True)
        self._lost |= {**dict.fromkeys(entries, ""), **lost}
        return [self._drafted(entry, layer, short=short) for entry in entries]

    def _drafted(self, entry: str, layer: str, *, short: bool) -> Hit:
        chosen = self.search.chosen[entry]
        scored = self.search.scored.get(entry)
        words = cache(partial(self._words, entry, layer, short=short))
        draft = Draft(
            words=words,
            made=partial(self._made, entry, layer, words),
            size=_least_size(chosen.text),
        )
        return Hit(
            key=entry,
            layer=layer,
            head="",
            text="",
            type=chosen.type,
            duplicates=scored.duplicates if scored else (),
            draft=draft,
            parted=_is_parted(chosen),
        )

    def _words(self, entry: str, layer: str, *, short: bool) -> tuple[str, str]:
        candidate = self.search.chosen[entry]
        title, text = self._titled(entry, layer)
        facts = list(self._facts(candidate))
        if short:
            title = title.rpartition(" > ")[2]
            # an agent must not go by what the code has outrun; where a line of a title
            # alone leads, its id says to who asks
            place = facts[-1:] if layer == "units" else facts[-2:]
            facts = [*self._outdated(candidate), *place]
        return budget.heading(title, facts), text

    def _titled(self, entry: str, layer: str) -> tuple[str, str]:
        """The title of an entry and the text below it, no line twice."""
        candidate = self.search.chosen[entry]
        text = candidate.around.partition(AROUND)[0]
        if layer != "ranked" or not text:
            text = self.search.found.passage(candidate).text
        text = body_of(text, candidate.title)
        text = re.sub(MATTER, "", text, count=1) if text.startswith("---") else text
        text = text.strip("\n")
        whole, below = uncut(candidate.title, text)
        # Those are told by their titles alone; what is not safe goes from the text, and
        # leaves what a heading says of its place.
        if layer == "units" or for_prompt(whole) != whole:
            return candidate.title, text
        return whole, below

    def _made(
        self, entry: str, layer: str, words: Callable[[], tuple[str, str]]
    ) -> Hit:
        candidate = self.search.chosen[entry]
        scored = self.search.scored.get(entry)
        ranked = scored if layer == "ranked" else None
        cut = self.search.found.passage(candidate)
        head, text = map(for_prompt, words())
        if cut.lines:
            text = without_edges(text, ahead=cut.ahead, behind=cut.behind)
        text += self._detail(candidate)
        brief = partial(self._brief, entry, text, cut.lines)
        if cut.lines:
            text += "\n" + _more(cut.lines, entry)
        file = self.search.source.files[candidate.source]
        duplicates = scored.duplicates if scored else ()
        plain = _plain_id if cut.project else str
        return Hit(
            key=entry,
            layer=layer,
            head=head,
            text=text,
            note=_note(ranked) if ranked and self._explain else "",
            id=plain(entry),
            score=round(ranked.score, 6) if ranked else None,
            title=for_prompt(self._titled(entry, layer)[0]),
            type=candidate.type,
            kind=candidate.kind,
            level=file.place.level,
            store=file.place.store,
            path=for_display(file.path),
            line=candidate.line,
            parted=_is_parted(candidate),
            in_list=candidate.text.startswith(BULLETS),
            age_days=self._age(candidate),
            duplicates=tuple(map(plain, duplicates)),
            factors=_factors(ranked) if ranked else None,
            project=for_display(cut.project),
            url=for_display(cut.url),
            key_moment=_is_key(candidate),
            gone=next(self._outdated(candidate), ""),
            brief=brief,
        )

    def _brief(self, entry: str, text: str, lines: int, room: int) -> str:
        left = room - tokens(_more(9999, entry)) - 1
        if left < budget.LEAST:
            return ""  # two words and a number of lines tell nobody anything
        self._asked = self._asked or evidence.terms(self.search.found.weights)
        found, left_out = evidence.best(text, self._asked, left)
        left_out += lines
        return found and (f"{found}\n{_more(left_out, entry)}" if left_out else found)

    def _facts(self, candidate: Candidate) -> Iterator[str]:
        row = self.search.source.files[candidate.source]
        if project := self.search.found.passage(candidate).project:
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


def _more(lines: int, entry: str) -> str:
    """How much of an entry is not shown, and what prints it."""
    return f"({count(lines, 'more line')}: mem show {entry[:8]})"


def _is_parted(chosen: Candidate) -> bool:
    return chosen.part > 0 or len(chosen.text) >= SIZE


def _least_size(text: str) -> int:
    """Tokens that a text has at least: its heading, its front matter and a rule at its
    end are not shown."""
    below = text.partition("\n")[2] if text.startswith("#") else text
    if below.lstrip().startswith("---"):
        return 0
    return max(len(below.strip()) - _RULE, 0) // 4


def _plain_id(key: str) -> str:
    """The id of an entry that is called id@project."""
    return key.rpartition("@")[0]


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
    return count(days, "day") if days else "today"

"""The layer of what was said and committed: gated, by its conclusions, nothing said
twice."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from memcli.index import weights
from memcli.index.past import FoundPast
from memcli.memory.docs import Doc, PastStretch, events_of
from memcli.memory.words import stem, stems
from memcli.recall import evidence
from memcli.recall.budget import cost, heading, tokens
from memcli.recall.hit import Hit
from memcli.text.controls import for_prompt, named
from memcli.text.sentences import sentences

if TYPE_CHECKING:
    from memcli.index.view import Candidate
    from memcli.recall.search import Search

MOST = 5  # hits that the layer shows
_LEAST = 30  # tokens below which an excerpt says nothing
_LONGEST = 450  # tokens of the longest excerpt


class HistoryLayer:
    """What a task finds in the record: for a block, or in one list with the entries of
    memory."""

    def __init__(self, past: FoundPast, least: float) -> None:
        self._past = past
        self._weights = {stem(term): rarity for term, rarity in past.asked.items()}
        self._evidence = dict[str, evidence.Evidence]()
        for hit in past.hits:
            text = "\n".join(doc.text for doc in hit.docs)
            strength = self._sought.evidence(hit.doc.title, text, met=hit.met)
            # The words of other projects, by which a name is rare, are those of commits.
            is_commit = hit.doc.source == "commit"
            if is_commit and not self._sought.is_about(strength.share):
                strength = strength._replace(likely=0.0)
            # What amends another bears on all that it does.
            for handle in filter(None, (hit.doc.handle, hit.newer)):
                self._evidence[handle] = max(
                    strength, self._evidence.get(handle, strength)
                )
        speaking = [*map(self._of, past.hits)]
        verdicts = self._sought.verdicts(speaking, least, weights.LIKELY)
        self.strong = verdicts[:1] == [evidence.TELL]
        passing = [
            hit
            for hit, verdict in zip(past.hits, verdicts, strict=True)
            if verdict != evidence.SILENT
        ]
        if passing and passing[0] is not past.hits[0]:
            passing.insert(0, past.hits[0])  # where the record answers, by its best
        self.hits = passing
        self._learned: Mapping[str, Candidate] = {}

    @cached_property
    def _sought(self) -> evidence.Sought:
        """What of the task is looked for in what was found."""
        past = self._past
        counts = past.counts
        return evidence.sought(
            past.task, lambda terms: [counts.get(term, 0) for term in terms], past.texts
        )

    def _of(self, hit: PastStretch) -> evidence.Evidence:
        """What speaks for a hit."""
        return self._evidence[hit.doc.handle]

    def learned(self, chosen: "Mapping[str, Candidate]") -> None:
        """Note the entries of the same answer: what they say is not said again."""
        self._learned = chosen

    def _is_learned(self, hit: PastStretch, shown: Iterable[Hit]) -> bool:
        """Whether a shown entry was learned from a hit's exchange, or from the one
        before it, or says what the person said in it; or a hit's commit changed nothing
        but files of shown entries. An episode says what was asked, not what was
        answered."""
        items = [item for item in shown if self._is_lesson(item)]
        changed = set(hit.doc.about.get("paths", ()))
        if hit.doc.source == "commit" and changed:
            return changed <= {item.made.path for item in items}
        events = self._sources(items)
        if any(doc.event in events for doc in hit.docs[: hit.best + 1]):
            return True
        texts = (f"{item.made.title}\n{item.made.text}" for item in items)
        title = hit.docs[hit.best].title
        return any(
            self._states(sentence, title, weights.SAID) for sentence in _said(texts)
        )

    def _is_lesson(self, item: Hit) -> bool:
        """Whether a shown item is an entry, and no episode."""
        entry = self._learned.get(item.key)
        return item.layer != "history" and (entry is None or entry.type != "episodic")

    def _sources(self, items: Iterable[Hit]) -> set[str]:
        """The events that shown entries were learned from."""
        entries = filter(None, (self._learned.get(item.key) for item in items))
        return {event for each in entries for event in events_of(each.values)}

    def speaks(self, room: int) -> bool:
        """Whether it has anything to say in so many tokens."""
        return bool(self.hits) and weights.OF_HISTORY * room >= _LEAST

    @property
    def amended(self) -> dict[str, str]:
        """The sessions and commits of older hits -> the newer hit about the same
        thing."""
        return {hit.doc.unit: hit.newer for hit in self.hits if hit.newer}

    def items(self, room: int, shown: Iterable[Hit] = ()) -> list[Hit]:
        """Excerpts for so many tokens, most of them for the first; nothing that is
        shown."""
        beside = list(shown)
        known = [f"{item.title}\n{item.text}" for item in beside]
        chosen: list[Hit] = []
        best = max((self._of(hit).share for hit in self.hits), default=0)
        for hit in self.hits:
            is_far = self._of(hit).share < weights.WORTH * best
            if is_far or self._is_learned(hit, beside):
                continue
            share = min(int(weights.OF_HISTORY * room), _LONGEST)
            if len(chosen) == MOST or share < _LEAST:
                break
            item = self.shown(hit, share, known=known)
            if not self.repeats(item, known):
                known.append(item.text or item.title)
                chosen.append(item)
                room -= cost(item)
        return chosen

    def repeats(self, item: Hit, known: Iterable[str]) -> bool:
        """Whether a shown hit says nothing more than one of these texts."""
        if item.text:
            return any(self._is_said(item.text, other) for other in known)
        # All that many a commit says is its subject.
        return any(self._states(sentence, item.title, 0) for sentence in _said(known))

    def _states(self, sentence: str, title: str, share: float) -> bool:
        """Whether a sentence has all words of a title, behind the name of a part, makes
        up no less than a `share` of the sentence with them, and does not deny it."""
        subject = title.partition(": ")[2] or title
        own = stems(subject)
        words = stems(sentence)
        if not own <= words or len(own) < share * len(words):
            return False
        from memcli.similarity.differences import deny_each_other  # few come so far

        return not deny_each_other(subject, sentence)

    def adds(self, hit: PastStretch, text: str) -> bool:
        """Whether the title of a hit has more than a word that a text has not."""
        return len(stems(hit.doc.title) - stems(text)) > 1

    def shown(
        self,
        hit: PastStretch,
        room: int,
        *,
        short: bool = False,
        known: Sequence[str] = (),
    ) -> Hit:
        """A hit in about `room` tokens, but what is `known`; `short`: not what began
        it."""
        title, *facts = hit.doc.title, *self._facts(hit)
        if short and hit.doc.source == "session":
            title, *facts = facts
        head = for_prompt(heading(title, facts))
        left = room - tokens(f"### {head}\n")
        from memcli.recall.excerpts import excerpt  # for a hit: most tasks have none

        said = excerpt(hit, self._past.asked, max(4 * left, 120), known)
        commit = hit.doc.source == "commit"
        lines = (text if commit else f"{who}: {text}" for who, text in said)
        doc = hit.doc
        paths = list(doc.about.get("paths", ()))
        return Hit(
            key=doc.handle,
            layer="history",
            head=head,
            text=for_prompt("\n".join(lines)),
            id=doc.handle,
            score=round(self._of(hit).strong, 6),
            title=for_prompt(doc.title),
            extra={**doc.facts, "paths": paths, "superseded_by": hit.newer or None},
        )

    def merged(self, entries: Sequence[Hit], search: "Search", room: int) -> list[Hit]:
        """One list of entries and history, by what of the task each has; what a newer
        exchange amends stands behind that one."""
        mine = [(self._of(hit).share, hit) for hit in self.hits]
        size = _size(room)
        amended = self.amended
        chosen: list[Hit] = []
        for entry in entries:
            scored = search.scored[entry.key]
            session = search.chosen[entry.key].values.get("session_id", "")
            newer = amended.get(session, "")
            title = search.chosen[entry.key].title
            share = self._sought.evidence(title, scored.item.text).share
            met = max(share, weights.OF_RELEVANCE * scored.relevance)
            while mine and (
                mine[0][0] > met or newer in [hit.doc.handle for _, hit in mine]
            ):
                self._put(chosen, mine.pop(0)[1], size)
            chosen.append(entry)
        for _, hit in mine:
            self._put(chosen, hit, size)
        return chosen

    def listed(self) -> list[Hit]:
        """History alone as one list, whatever tokens it takes: where a hit passes the
        gate, the record answers, and the list goes on below it."""
        shown: list[Hit] = []
        for hit in self._past.hits if self.hits else ():
            self._put(shown, hit, _LONGEST)
        return shown

    def _put(self, chosen: list[Hit], hit: PastStretch, size: int) -> None:
        """Put a hit at the end of one list, unless what stands above it says so."""
        if not self._is_learned(hit, chosen):
            item = self.shown(hit, size)
            entries = [each.made for each in chosen if each.layer != "history"]
            above = [f"{entry.title}\n{entry.text}" for entry in entries]
            if not self.repeats(item, above):
                chosen.append(item)

    def _is_said(self, text: str, known: str) -> bool:
        own_stems = stems(text)
        words = stems(known)
        left = sum(self._weights.get(word, 1.0) for word in own_stems - words)
        return left <= (1 - weights.SAID) * sum(
            self._weights.get(word, 1.0) for word in own_stems
        )

    def _facts(self, hit: PastStretch) -> Iterator[str]:
        doc = hit.doc
        yield f"{'session with' if doc.source == 'session' else 'commit by'} {named(doc.who)}"
        yield doc.date[:10]
        yield doc.handle
        if (reason := self.gone(doc)) is not None:
            yield f"learned as an entry that was {reason}"
        elif hit.newer:
            yield f"older than {hit.newer}"

    def gone(self, doc: Doc) -> str | None:
        """Why an entry that was learned from it no longer holds, if so."""
        lost = self._past.lost.get(doc.event)
        return lost.why if lost else None


def _said(texts: Iterable[str]) -> Iterator[str]:
    return chain.from_iterable(map(sentences, texts))


def _size(room: int) -> int:
    """The tokens of an excerpt in one list, for `room` tokens (0: no bound)."""
    return min(max(room // 4, 120), _LONGEST) if room else _LONGEST

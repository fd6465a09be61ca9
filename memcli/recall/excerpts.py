"""What is shown of a hit: not the words that matched, but what was concluded after
them. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from memcli.index import weights
from memcli.index.lexical import content_stems
from memcli.index.past import AFTER
from memcli.index.view import BULLETS
from memcli.memory.docs import Doc, PastStretch, Rarity
from memcli.memory.words import stem, unmarked
from memcli.text.matching import verbose
from memcli.text.sentences import sentence_parts

LONGEST = 420  # characters of the longest sentence that is shown whole
MOST = 5  # words of each kind that count in one sentence


@verbose
def _wrapped() -> str:
    """A line break inside of a sentence."""
    return r"""
        (?<=\S) \n (?= [a-z(] )
      | (?<= [^\n]{50} ) (?<! [.!?:;] ) \n (?= [^\W\d_] | [`'"] )   # after a full line
    """


@verbose(lines=True, dot_all=True)
def _code() -> str:
    """A fenced block, or a comment that no page shows."""
    return r"""
        ^ (?: ``` | ~~~ ) .*? (?: ^ (?: ``` | ~~~ ) \s* $ | \Z )
      | <!-- .*? -->
    """


@verbose
def _reference() -> str:
    """An address, or the number of an issue."""
    return r" https?://\S+ | \#\d+ "


@verbose
def _settles() -> str:
    """Words of a rule or of a decision, in several languages."""
    return r"""
        \b (?: only | never | always | must | exactly | instead | rule | policy | final
          | decid\w+ | decision | agreed | settled | standardi[sz]\w+ | keep | keeps | use
          | should | shall | need(?:s|ed)?\ to | not | no | don['’]?t | won['’]?t
          | can['’]?t | cannot | at\ (?: most | least ) | going\ forward
          | from\ now\ on | so\ that | because | since | before | after | becomes?
          | means? | stays? | wins? | counts? | applies
          | nur | nie | niemals | immer | muss | genau | statt | regel | weil
          | solo | nunca | siempre | debe | porque | jamais | toujours | doit | règle
          | sempre | deve | regra | regola | mai ) \b
      | только | никогда | всегда | нельзя | нужно | должн | правило | потому
      | 必须 | 只 | 不要 | 总是 | 规则 | 因为 | 不能
      | 必ず | 決して | 常に | ルール | 반드시 | 절대 | 항상
    """


@verbose(ignore_case=True)
def _recap() -> str:
    """The beginning of what sums up."""
    return r"""
        ^ \W* (?: understood | got\ it | so (?: \ the | \ we | : ) | final | in\ short
          | to\ sum | summary | confirmed | agreed | right | recap | noted | decided
          | the\ (?: \w+\  )? (?: rule | policy ) | rule | policy
          | amend(?: ed | ing | ment ) | conclusion | root\ cause | turns\ out
          | it\ turned\ out | verstanden | also\ gilt | entendido | compris
          | понял | итог | 明白 | 了解 | 结论 ) \b
    """


class SaidSentence(NamedTuple):
    """A sentence of an exchange: who said it, where it stands (exchange, text, place in
    it)."""

    speaker: str
    text: str
    place: tuple[int, int, int]
    begins: bool = False  # whether it begins a line
    last: bool = False  # whether it stands at the end of what is said in one go
    recap: bool = False  # whether what is said in one go begins as what sums up does


def excerpt(
    hit: PastStretch, asked: Rarity, room: int, known: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """(speaker, text) of what a hit concludes that `known` does not say, in so many
    characters; of a commit what says most about the task below its subject."""
    doc = hit.doc
    if doc.source == "commit":
        sentences = _below_subject(doc.text)
    else:
        sentences = _sentences(hit.docs[hit.best : hit.best + AFTER + 1])
    about = _about(asked, doc)
    scored = ((_weight(each, about), each) for each in sentences)
    weighed = sorted(scored, key=lambda item: (-item[0], item[1].place))
    chosen = _within(room, weighed, [(content_stems(text), ()) for text in known])
    runs = groupby(chosen, lambda each: (each.speaker, each.place[:2]))
    return [(speaker, _joined(run)) for (speaker, _), run in runs]


def _within(
    room: int,
    weighed: Iterable[tuple[float, SaidSentence]],
    seen: list[tuple[set[str], tuple[int, ...]]],
) -> list[SaidSentence]:
    """The weightiest sentences for so many characters, in the order in which they were
    said, none whose words are `seen` in another text: the items of one list may well
    be alike; one always."""
    chosen: list[SaidSentence] = []
    used = 0
    for weight, each in weighed:
        if chosen and weight <= 0:
            break
        words = content_stems(each.text)
        text = each.place[:2]
        fits = not chosen or used + len(each.text) <= room
        if fits and not any(
            len(words & other) > weights.SAID * len(words)
            for other, where in seen
            if where != text
        ):
            chosen.append(each)
            seen.append((words, text))
            used += len(each.text) + 2
    return sorted(chosen, key=lambda each: each.place)


def _joined(sentences: Iterable[SaidSentence]) -> str:
    """Sentences as one text with the lines that it had, a mark where it had more."""
    text = ""
    behind = None
    for each in sentences:
        is_next = behind in (None, each.place[2] - 1)
        text += "" if is_next or text.endswith("…") else " …"
        text += "\n" if each.begins or each.text[:2] in BULLETS else " "
        text += each.text
        behind = each.place[2]
    return text.strip()


def _about(asked: Rarity, doc: Doc) -> dict[str, float]:
    rarities = {stem(unmarked(term)): rarity for term, rarity in asked.items()}
    mean = sum(asked.values()) / len(asked) if asked else 1.0
    for word in content_stems(doc.title):
        rarities.setdefault(word, mean)
    return rarities


def _sentences(docs: Sequence[Doc]) -> Iterator[SaidSentence]:
    for number, doc in enumerate(docs):
        for which, (speaker, text) in enumerate(doc.said):
            parts = _split(text)
            recap = speaker != "person" and bool(
                parts and _recap().match(parts[0].text)
            )
            for each in parts:
                yield SaidSentence(
                    speaker=speaker,
                    text=each.text,
                    place=(number, which, each.at),
                    begins=each.begins,
                    last=each in parts[-2:],
                    recap=recap,
                )


def _below_subject(message: str) -> Iterator[SaidSentence]:
    body = message.partition("\n")[2]
    for each in _split(_wrapped().sub(" ", body)):
        # "Fixes #12" alone says nothing
        if len(content_stems(_reference().sub("", each.text))) > 2:
            yield SaidSentence(
                speaker="person",
                text=each.text,
                place=(0, 0, each.at),
                begins=each.begins,
            )


class SentencePart(NamedTuple):
    """A sentence, the how manyth of its text it is, and whether it begins a line."""

    text: str
    at: int
    begins: bool


def _split(text: str) -> list[SentencePart]:
    """The sentences of a text that say something, long ones cut."""
    parts = []
    number = 0
    begins = True
    # the mark counts as a sentence between those before and after the code
    for part in sentence_parts(_code().sub("\n…\n", text)):
        stripped = part.strip()
        if not set(stripped) <= set("-=*_#|` "):
            number += 1
            if len(stripped) > LONGEST:
                stripped = stripped[:LONGEST].rsplit(" ", 1)[0] + " …"
            if len(stripped) > 2:
                parts.append(SentencePart(text=stripped, at=number, begins=begins))
        begins = part.endswith("\n")
    return parts


def _weight(each: SaidSentence, about: Mapping[str, float]) -> float:
    """How many words of the task and of a decision a sentence has, one of the task
    being worth more the rarer it is; as much as one such word is that it ends what was
    said, or that the person said it, and as much as the most of them that it is of what
    sums up."""
    words = content_stems(each.text)
    if len(words) < 2 or each.speaker == "error":
        return -1.0
    mean = sum(about.values()) / len(about) if about else 1.0
    asked = min(sum(about.get(word, 0.0) for word in words) / mean, MOST)
    settled = min(len(_settles().findall(each.text.lower())), MOST)
    is_person = each.speaker == "person"
    recap = MOST if each.recap else 0
    return asked + settled + recap + each.last + is_person

"""What a person states in a session: rules for good, and what may be one. Pure.

A sentence is a rule for good by what its words show, never by a weight: it speaks of
all times or all cases, it is a wish or a must, and it is no question, no complaint and
no order for this run."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memcli.extraction.rules import words
from memcli.extraction.rules.words import SpokenSentence, content, sentences
from memcli.sessions.model import Turn
from memcli.sessions.taking_back import taken_back

WHOLE = 600  # characters of a turn that is told whole
RULES = 3  # rules of a longer turn
# What a person types is short: a turn with more lines or characters, or with headings,
# is a template, a plan or a paste, and a rule in it waits for a yes.
LINES = 7
TYPED = 1500
TAKEN_BACK = 0.5  # share of words from which a later turn takes a statement back

_KINDS = (
    "lasting",
    "for good",
    "must",
    "forbid",
    "prefers",
    "our rule",
    "our way",
    "ask first",
    "instead",
    "reason",
    "tried",
    "manner",
    "happened",
)
_BEGINS = ("corrects", "tasks", "points", "forbids", "prefers")
_IDLE = {"asks", "once", "happened"}  # of these nothing is a rule
_BY_ITSELF = {"for good", "prefers", "our rule", "ask first"}
_LIKELY = {
    "forbid",
    "forbids",
    "must",
    "instead",
    "tried",
    "corrects",
    "conceded",
    "chosen",
    "interrupted",
    "manner",
    "our way",
    "composed",
}
_LEFT = frozenset({"asks"})
_ALSO = {"reason", "lasting", "adverb"}  # what makes a likely one more likely


class Statement(NamedTuple):
    """A sentence of a person at a place in a session, what is told with it, and what
    its words show."""

    turn: int
    text: str
    body: str
    shows: frozenset[str]

    @property
    def is_rule(self) -> bool:
        """Whether it states a rule for good."""
        return is_rule(self.shows)


def stated(turns: Sequence[Turn]) -> list[Statement]:
    """The rules for good and the likely ones, in order; what the person took back later
    is left out."""
    found: list[Statement] = []
    for at, turn in enumerate(turns):
        if turn.human and turn.text and taken_back(turn.text) is None:
            now = list(_of_turn(turns, at))
            low = words.fold(turn.text[:WHOLE])
            said = content(low)
            back = words.begins("takes back", low)
            if back:
                found = [
                    old
                    for old in found
                    if not _shares(content(words.fold(old.text)), said)
                ]
            found += now
    return found


def is_rule(shows: frozenset[str]) -> bool:
    """Whether what a sentence shows makes it a rule for good."""
    if shows & _IDLE or "composed" in shows:
        return False
    if shows & _BY_ITSELF:
        return True
    orders = "lasting" in shows and bool(
        shows & {"must", "forbid", "forbids", "our way"}
    )
    return "tasks" not in shows and (orders or "order" in shows)


def likeliness(shows: frozenset[str]) -> int:
    """How much speaks for a sentence that is no sure rule; 0 for one that is left."""
    if shows & _IDLE or ("tasks" in shows and not shows & {"conceded", "interrupted"}):
        return 0
    signs = shows & _LIKELY
    return len(signs) + len(shows & _ALSO) if signs else 0


def shown(sentence: SpokenSentence) -> frozenset[str]:
    """What the words of one sentence show."""
    low = sentence.low
    found = {kind for kind in _KINDS if words.says(kind, low)}
    found |= {kind for kind in _BEGINS if words.begins(f"begins: {kind}", low)}
    if sentence.asks or words.begins("asks", low) or words.holds_letters("asks", low):
        found.add("asks")
    if words.says("once", _without("for good", low)):
        found.add("once")
    if words.begins("must", low):  # "make sure that ..."
        found.discard("tasks")
    if _picks(low):
        found.discard("prefers")
    if words.says("adverbs", low):
        found.add("adverb")
    if _is_lasting_order(low):
        found.add("order")
    return frozenset(found)


def _picks(low: str) -> bool:
    """Whether a preference only points at what was shown: "I prefer this one"."""
    wish = next((wish for wish in words.phrases("prefers") if wish in low), "")
    rest = low.partition(wish)[2].strip() if wish else ""
    if wish.startswith(" ") and not wish.endswith(" "):
        rest = rest.partition(" ")[2]  # the cue is the beginning of a word
    points = f" {rest} " in words.phrases("begins: points")
    return points or words.begins("begins: picks", f" {rest} ")


def _without(kind: str, low: str) -> str:
    for phrase in words.phrases(kind):
        low = low.replace(phrase, " ")
    return low


def _is_lasting_order(low: str) -> bool:
    """Whether a sentence begins with "always" or "never", or, as German and Romance
    imperatives do, with a verb and then one of them."""
    rest = _without("begins: corrects", words.opened(low))
    if rest.startswith(words.phrases("adverbs")) or rest[1:].startswith(
        words.phrases("adverbs")
    ):
        return True
    said = [word for word in rest.split()[:3] if word not in ("n", "ne")]
    second = len(said) > 1 and said[1] in words.listed("second adverbs")
    return second and said[0] not in words.listed("subjects")


def _of_turn(turns: Sequence[Turn], at: int) -> Iterator[Statement]:
    """The statements of one turn: a short one whole, of a longer one the sentences with
    their neighbours."""
    turn = turns[at]
    said = [one for one in sentences(turn.text, typed=True) if not one.reminds]
    if any(one.mark == "#" for one in said):
        return
    around = _around(turns, at)
    marks = [shown(one) for one in said]
    marks = [each | around if n == 0 else each for n, each in enumerate(marks)]
    if turn.text.strip().count("\n") > LINES or len(turn.text) > TYPED:
        marks = [each | {"composed"} if is_rule(each) else _LEFT for each in marks]
    told = [
        n
        for n, one in enumerate(said)
        if len(content(one.low)) >= 2 and _counts(one, marks[n])
    ]
    if not told:
        return
    text = " ".join(one.text for one in said)
    aside = any(each & (_IDLE | {"tasks"}) and not is_rule(each) for each in marks)
    if len(text) <= WHOLE and not aside:
        best = max(told, key=lambda n: (is_rule(marks[n]), likeliness(marks[n]), -n))
        shows = frozenset().union(*(marks[n] for n in told)) - {"tasks"}
        shows = shows if is_rule(marks[best]) else marks[best]
        yield Statement(turn=at, text=said[best].text, body=text, shows=shows)
        return
    rules = [n for n in told if is_rule(marks[n])]
    likely = sorted(told, key=lambda n: -likeliness(marks[n]))
    for n in rules[:RULES] or likely[:1]:
        yield Statement(
            turn=at,
            text=said[n].text,
            body=_with_neighbours(said, marks, n),
            shows=marks[n],
        )


def _counts(sentence: SpokenSentence, shows: frozenset[str]) -> bool:
    if sentence.mark == "#" or _is_quoted(sentence.text):
        return False
    return is_rule(shows) or likeliness(shows) > 0


def _is_quoted(text: str) -> bool:
    return text[0] in "\"'“”„«»「『" and text.rstrip(".!,")[-1] in "\"'”“»」』"


def _around(turns: Sequence[Turn], at: int) -> frozenset[str]:
    """What stands around a turn: a question with alternatives or an interruption
    before it, an agent that concedes after it."""
    found = set()
    before = next((t for t in reversed(turns[:at]) if t.human or words.spoken(t)), None)
    near = turns[max(0, at - 3) : at]
    if any("interrupted by user" in turn.text[:60] for turn in near):
        found.add("interrupted")
    if before is not None and not before.human:
        tail = before.text[-400:].rstrip("*_ \n")
        if tail.endswith(("?", "？")) and words.says("alternatives", words.fold(tail)):
            found.add("chosen")
    after = next((turn for turn in turns[at + 1 :] if words.spoken(turn)), None)
    if after is not None and words.says("conceding", words.fold(after.text[:300])):
        found.add("conceded")
    return frozenset(found)


def _with_neighbours(
    said: Sequence[SpokenSentence], marks: Sequence[frozenset[str]], n: int
) -> str:
    """A sentence with the ones beside it that go on about it, within the same
    paragraph."""
    first = last = n
    if n and _goes_on(said[n - 1], said[n], marks[n - 1]) and "points" in marks[n]:
        first -= 1
    if n + 1 < len(said) and _goes_on(said[n + 1], said[n], marks[n + 1]):
        last += 1
    return " ".join(one.text for one in said[first : last + 1])[:WHOLE]


def _goes_on(one: SpokenSentence, other: SpokenSentence, shows: frozenset[str]) -> bool:
    return one.mark == other.mark == "" and not shows & (_IDLE | {"tasks"})


def _shares(about: frozenset[str], said: frozenset[str]) -> bool:
    least = TAKEN_BACK * min(len(about), len(said) or 1)
    return bool(about) and len(about & said) >= least

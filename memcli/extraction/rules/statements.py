"""What a person states in a session: rules for good, and what may be one. Pure.

A sentence is a rule for good by what its words show, never by a weight: it speaks of
all times or all cases, it is a wish or a must, and it is no question, no complaint and
no order for this run."""

from collections.abc import Sequence
from typing import NamedTuple

from memcli.extraction.rules import words
from memcli.extraction.rules.words import SpokenSentence, content, sentences
from memcli.sessions.model import Turn
from memcli.sessions.taking_back import taken_back
from memcli.text.matching import regex

WHOLE = 600  # characters of a turn that is told whole
MOST = 3  # statements of a longer turn
# What a person types is short: a turn with more lines or characters, or with headings,
# is a template, a plan or a paste, and a rule in it waits for a yes.
LINES = 7
TYPED = 1500
# What is typed beside an error is about that error.
_REPORTED = r"""(?xi)
    \b\w*(?:error|exception)\b [^\n]{0,40} [:(] | traceback | stack[ ]?trace
    | \[…[ ]\d+[ ]pasted[ ]lines | \b(?:error|failed|refused)[ ](?:to|with|when)\b
"""
OPENING = 200  # characters of a turn by which its language is told: pastes are longer
FOREIGN = 0.05  # share of words with foreign letters that a name or two do not reach
# A letter of an alphabet like ours that none of the ten languages has.
_FOREIGN = r"""(?x)
    [ą-ćď-đēęěğīıłńňőŕ-ťūůűź-žơưșț\u1ea0-\u1eff] | [ðøýþå] | [іїєґўђјљњћџ]
"""
TAKEN_BACK = 0.5  # share of words from which a later turn takes a statement back
# Words about something of the shortest statement.
SHORTEST = 2

_KINDS = (
    "lasting",
    "for good",
    "throughout",
    "must",
    "forbid",
    "prefers",
    "wishes",
    "our rule",
    "our way",
    "ask first",
    "instead",
    "reason",
    "tried",
    "manner",
    "reminds",
)
_BEGINS = ("corrects", "tasks", "points", "prefers", "for good")
_IDLE = {"asks", "once", "happened"}  # of these nothing is a rule
# What says by itself that it holds from now on.
_BY_ITSELF = {
    "for good",
    "prefers",
    "our rule",
    "ask first",
    "language",
    "order",
}
# What holds at all times or everywhere, and how things are to be done: together they
# are a rule.
_GENERAL = {"adverb", "throughout", "universal"}
_HOW = {"must", "forbid", "forbids", "our way"}
_LIKELY = {
    "forbid",
    "forbids",
    "must",
    "reminds",
    "instead",
    "wishes",
    "tried",
    "corrects",
    "conceded",
    "chosen",
    "manner",
    "our way",
    "composed",
}
_LEFT = frozenset({"asks"})
# What makes a likely one more likely. That an agent was interrupted says that something
# was wrong, not what is right.
_ALSO = {"reason", "lasting", "adverb", "interrupted"}


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


class _SaidSentence(NamedTuple):
    """A sentence of a turn, with what it shows."""

    sentence: SpokenSentence
    shows: frozenset[str]

    @property
    def text(self) -> str:
        return self.sentence.text

    @property
    def is_aside(self) -> bool:
        """Whether it asks for something or tells of the moment."""
        return bool(self.shows & (_IDLE | {"tasks"})) and not is_rule(self.shows)

    @property
    def counts(self) -> bool:
        """Whether it may be a statement."""
        about = _length(self.sentence.low)
        is_short = about < SHORTEST or _leads(self.sentence)
        is_half = self.text.endswith((":", "："))
        if is_short or is_half or self.sentence.mark == "#":
            return False
        return is_rule(self.shows) or likeliness(self.shows) > 0

    @property
    def rank(self) -> tuple[bool, int]:
        """The surest first."""
        return not is_rule(self.shows), -likeliness(self.shows)


def stated(turns: Sequence[Turn]) -> list[Statement]:
    """The rules for good and the likely ones, in order; what the person took back
    later is left out."""
    statements: list[Statement] = []
    for index, turn in enumerate(turns):
        if turn.human and turn.text and taken_back(turn.text) is None:
            statements = _kept_after(turn, statements)
            known = {old.text for old in statements}
            now = _of_turn(turns, index)
            statements += [new for new in now if new.text not in known]
    has_rules = any(one.is_rule for one in statements)
    waits = has_rules and _is_foreign(turns)
    return [*map(_unsure, statements)] if waits else statements


def _kept_after(turn: Turn, statements: list[Statement]) -> list[Statement]:
    """The statements that a turn does not take back."""
    low = words.fold(turn.text[:WHOLE])
    if not words.begins("takes back", low):
        return statements
    said = content(low)
    return [old for old in statements if not _shares(old, said)]


def _unsure(statement: Statement) -> Statement:
    """A statement that waits for a yes, if it would be a rule."""
    waits = statement.shows | {"composed"}
    return statement._replace(shows=waits) if statement.is_rule else statement


def _is_foreign(turns: Sequence[Turn]) -> bool:
    """Whether a person writes in a language whose words the cues are not of: Polish
    "nie" is no German "nie"."""
    said = " ".join(turn.text[:OPENING] for turn in turns if turn.human).lower()
    letters = regex(_FOREIGN)
    found = [letters.search(word) is not None for word in said.split()]
    return sum(found) > FOREIGN * len(found)


def is_rule(shows: frozenset[str]) -> bool:
    """Whether what a sentence shows makes it a rule for good."""
    if shows & _IDLE or "composed" in shows:
        return False
    if shows & _BY_ITSELF:
        return True
    is_general = bool(shows & _GENERAL and shows & _HOW)
    return is_general and "tasks" not in shows


def likeliness(shows: frozenset[str]) -> int:
    """How much speaks for a sentence that is no sure rule; 0 for one without a sign."""
    if shows & _IDLE or ("tasks" in shows and "conceded" not in shows):
        return 0
    signs = shows & _LIKELY
    return len(signs) + len(shows & _ALSO) if signs else 0


def shown(sentence: SpokenSentence) -> frozenset[str]:
    """What the words of one sentence show."""
    low = sentence.low
    found = {kind for kind in _KINDS if words.says(kind, low)}
    found |= {kind for kind in _BEGINS if words.begins(f"begins: {kind}", low)}
    found |= {sign for sign, is_there in _signs(sentence).items() if is_there}
    if words.begins("must", low):  # "make sure that ..."
        found.discard("tasks")
    if _picks(low):
        found = (found - {"prefers", "wishes"}) | {"points"}
    if "tasks" in found:  # "Translate the page into English" is done once
        found.discard("language")
    return frozenset(found)


def _signs(sentence: SpokenSentence) -> dict[str, bool]:
    """What more than one cue shows."""
    low = sentence.low
    behind = _without("begins: corrects", words.opened(low))  # "No, don't ..."
    begins_to_ask = (
        low.startswith(words.phrases("asks"))
        or words.begins("asks", low)
        or words.holds_letters("asks", low)
    )
    return {
        "asks": sentence.asks or begins_to_ask,
        "once": words.says("once", _without("for good", low)),
        # "From now on ..., CI fails otherwise" is of what will be.
        "happened": words.says("happened", _without("is to have", low))
        and not words.says("for good", low),
        "adverb": words.says("adverbs", low),
        "forbids": words.begins("begins: forbids", behind),
        "universal": words.begins("lasting", low),
        "order": _is_lasting_order(low),
        "language": words.says("in a language", low) and words.says("wording", low),
    }


def _picks(low: str) -> bool:
    """Whether a preference only points at what was shown: "I prefer this one", "I
    don't like this color"."""
    points = words.phrases("begins: points")
    wished = _behind("wishes", low)
    preferred = _behind("prefers", low)
    only_points = wished.startswith(points) or preferred in points
    return only_points or words.begins("begins: picks", wished or preferred)


def _behind(kind: str, low: str) -> str:
    """What stands behind a cue of a kind, between blanks; "" for nothing."""
    cue = next((cue for cue in words.phrases(kind) if cue in low), "")
    rest = low.partition(cue)[2].strip() if cue else ""
    if cue.startswith(" ") and not cue.endswith(" "):
        rest = rest.partition(" ")[2]  # the cue is the beginning of a word
    return f" {rest} " if rest else ""


def _without(kind: str, low: str) -> str:
    if not words.says(kind, low):  # most sentences
        return low
    for phrase in words.phrases(kind):
        low = low.replace(phrase, " ")
    return low


def _is_lasting_order(low: str) -> bool:
    """Whether a sentence begins with "always" or "never", or, as German and Romance
    imperatives do, with a verb and then one of them."""
    if low.startswith((" you ", " can ")):  # "you can always ask"
        return False
    rest = _without("begins: corrects", words.opened(low))
    adverbs = words.phrases("adverbs")
    if rest.startswith(adverbs) or rest[1:].startswith(adverbs):
        return True
    said = [word for word in rest.split()[:3] if word not in ("n", "ne")]
    second = len(said) > 1 and said[1] in words.listed("second adverbs")
    return second and said[0] not in words.listed("subjects")


def _of_turn(turns: Sequence[Turn], index: int) -> list[Statement]:
    """The statements of one turn: a short one whole, of a longer one the sentences with
    their neighbours."""
    said = _said(turns, index)
    told = [n for n, one in enumerate(said) if one.counts]
    text = " ".join(one.text for one in said)
    is_all = len(text) <= WHOLE and not any(one.is_aside for one in said)
    if told and is_all:
        return [_whole(said, told, text, index)]
    return [
        Statement(
            turn=index,
            text=said[n].text,
            body=_with_neighbours(said, n),
            shows=said[n].shows,
        )
        for n in _best(said, told)
    ]


def _best(said: Sequence[_SaidSentence], told: Sequence[int]) -> list[int]:
    """The surest sentences of a turn, in order."""
    return sorted(sorted(told, key=lambda n: said[n].rank)[:MOST])


def _whole(
    said: Sequence[_SaidSentence], told: Sequence[int], text: str, index: int
) -> Statement:
    """A whole turn, called by its surest sentence."""
    best = min((said[n] for n in told), key=lambda one: one.rank)
    shows = best.shows
    if is_rule(shows):
        together = frozenset[str]().union(*(said[n].shows for n in told))
        shows = together - {"tasks"}
    return Statement(turn=index, text=best.text, body=text, shows=shows)


def _said(turns: Sequence[Turn], index: int) -> list[_SaidSentence]:
    """The sentences of a turn that is no document, with what they show."""
    text = turns[index].text
    said = [
        sentence for sentence in sentences(text, typed=True) if not sentence.reminds
    ]
    if any(one.mark == "#" for one in said):
        return []
    said, led = _without_lead(said)
    marks = [shown(one) for one in said]
    if marks:
        marks[0] |= led | _around(turns, index)
    if is_composed(text):
        marks = [each | {"composed"} if is_rule(each) else _LEFT for each in marks]
    return [
        _SaidSentence(sentence=one, shows=shows)
        for one, shows in zip(said, marks, strict=True)
    ]


def _without_lead(
    said: list[SpokenSentence],
) -> tuple[list[SpokenSentence], frozenset[str]]:
    """The sentences of a turn behind a "No.", a "Thanks." or a "That's not how it
    works." of their own, and whether that corrects what stood before."""
    at = 0
    signs = frozenset[str]()
    while at + 1 < len(said) and _leads(said[at]):
        signs |= shown(said[at]) & {"corrects"}
        if words.listed("denies") & set(said[at].low.split()):
            signs |= {"corrects"}
        at += 1
    return said[at:], signs


def _leads(sentence: SpokenSentence) -> bool:
    """Whether a sentence only says yes or no to what stood before, up to its last
    clause."""
    shows = shown(sentence)
    last = regex(r"[,，、;；]").split(sentence.text)[-1]
    ends_so = words.begins("begins: corrects", words.fold(last))
    only_denies = shows & _LIKELY == {"corrects"} and "points" in shows and ends_so
    is_idle = only_denies and not is_rule(shows)
    return is_idle or words.acknowledges(sentence.low)


def is_composed(text: str) -> bool:
    """Whether a turn is too long to be typed, or tells of an error."""
    is_long = text.strip().count("\n") > LINES or len(text) > TYPED
    return is_long or is_reported(text)


def is_reported(text: str) -> bool:
    """Whether a text holds the words of an error."""
    return regex(_REPORTED).search(text) is not None


def _length(low: str) -> float:
    """Words about something; of scripts without spaces, where they are pairs of
    letters, half as many."""
    about = content(low)
    return len(about) / 2 if words.is_spaceless(low) else len(about)


def _around(turns: Sequence[Turn], index: int) -> frozenset[str]:
    """What stands around a turn: a question with alternatives or an interruption
    before it, an agent that concedes after it."""
    near = turns[max(0, index - 3) : index]
    after = next((turn for turn in turns[index + 1 :] if words.spoken(turn)), None)
    is_conceded = after is not None and words.says(
        "conceding", words.fold(after.text[:300])
    )
    signs = {
        "interrupted": any("interrupted by user" in turn.text[:60] for turn in near),
        "chosen": _answers_a_choice(turns[index], turns[:index]),
        "conceded": is_conceded,
    }
    return frozenset(sign for sign, is_there in signs.items() if is_there)


def _answers_a_choice(turn: Turn, before: Sequence[Turn]) -> bool:
    """Whether what was said last is an agent's question with alternatives, and a turn
    names what it asks about: "option 2" says nothing later."""
    heard = (turn for turn in reversed(before) if turn.human or words.spoken(turn))
    last = next(heard, None)
    if last is None or last.human:
        return False
    tail = last.text[-400:].rstrip("*_ \n")
    asked = words.fold(tail)
    about = content(asked) & content(words.fold(turn.text[:WHOLE]))
    is_choice = tail.endswith(("?", "？")) and words.says("alternatives", asked)
    return is_choice and len(about) >= SHORTEST


def _with_neighbours(said: Sequence[_SaidSentence], n: int) -> str:
    """A sentence with the ones beside it that go on about it, within the same
    paragraph."""
    first = last = n
    if n and "points" in said[n].shows and _goes_on(said[n - 1], said[n]):
        first -= 1
    if n + 1 < len(said) and _goes_on(said[n + 1], said[n]):
        last += 1
    return " ".join(one.text for one in said[first : last + 1])[:WHOLE]


def _goes_on(one: _SaidSentence, other: _SaidSentence) -> bool:
    is_prose = one.sentence.mark == other.sentence.mark == ""
    return is_prose and not one.shows & (_IDLE | {"tasks"})


def _shares(old: Statement, said: frozenset[str]) -> bool:
    """Whether a statement is about what is said now."""
    about = content(words.fold(old.text))
    least = TAKEN_BACK * min(len(about), len(said) or 1)
    return bool(about) and len(about & said) >= least

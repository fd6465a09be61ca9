"""What a person states in a session: rules for good, and what may be one. Pure.

A sentence is a rule for good by what its words show, never by a weight: it says that it
lasts, it chooses what the work is made with or, where the whole turn is about it, says
how all things of a kind must be; it is no question, no complaint and no order for this
run, and nothing in it points elsewhere."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from memcli.bans.clauses import is_rule as forbids_or_demands
from memcli.extraction.rules import words
from memcli.extraction.rules.words import SpokenSentence, content, sentences
from memcli.memory.tombstones import meant
from memcli.sessions.model import Session, Turn
from memcli.sessions.taking_back import TakenBack, taken_back
from memcli.text.matching import regex
from memcli.text.secrets import is_redacted
from memcli.text.sentences import sentence_ends, sentence_parts

WHOLE = 600  # characters of a turn that is told whole
TITLE = 90  # characters of what is its own title
MOST = 3  # statements of a turn that is not told whole
SHORTEST = 2  # words about something of a statement
# What a person types is short: a turn with more lines or characters, or with headings,
# is a template, a plan or a paste, and a rule in it waits for a yes.
LINES = 7
TYPED = 1500
# What is typed beside an error is about that error.
_REPORTED = r"""(?xi)
    \b\w*(?:error|exception)\b [^\n]{0,40} [:(] | traceback | stack[ ]?trace
    | \[…[ ]\d+[ ]pasted[ ]lines | \b(?:error|failed|refused)[ ](?:to|with|when)\b
"""

# What somebody else says: "the docs say: …", "somebody opened an issue: …".
_SAID_ELSEWHERE = r"""(?xi)
    (?<!\bi[ ]) \b
    (?: says? | said | states? | writes | wrote | reads | opened | filed | posted
      | reports? | reported | claims? | claimed | sagen | sagt | steht | schreibt | dice
      | dicen | dit | disent | diz | dizem )
    (?: \s [^\s:：.!?]+ ){0,5} \s? [:：] \s
"""

# A quotation of more than a few words.
_QUOTATION = r"""(?xi)
    (?<![\w"]) " (?=\S) (?: [^"\s]+ \s+ ){4} [^"]{0,2000} " (?!\w)
    | “ (?: [^”\s]+ \s+ ){4} [^”]{0,2000} ”
    | „ (?: [^“”\s]+ \s+ ){4} [^“”]{0,2000} [“”]
    | « \s? (?: [^»\s]+ \s+ ){4} [^»]{0,2000} »
    | (?<!\w) ['‘] (?=\w) (?: [^\s]+ \s+ ){4} [^\n]{0,2000}? (?<=\S) ['’] (?!\w)
    | 「 [^」]{8,2000} 」
"""
_LEFT_OUT = "[…]"
_UNMARKED = r"(?<=[\w`)\"'*\]])\n"

_CLAUSES = r"[,;:，；：、]|\s[–—-]+\s"
# Orders of other languages have it behind the verb; behind a German "nie" more
# German follows, as it is Polish, too.
_VERB_FIRST = r"""(?x)
    [ ] (?: (?: ne? | non | no | não | не ) [ ] )?
    (?: \S+ [ ] (?: immer | niemals | stets | toujours | jamais | siempre | nunca | sempre
                 | mai | всегда | никогда )
      | (?: \S+ [ ] )? nie (?=[ ] (?: .* [ ] )?
          (?:der|die|das|den|dem|einen?|im|mit|ohne|auf|für|von|zu) [ ])
    ) [ ]
"""
# A request, with its verb at the end; "don't, please" is none.
_ASKED_LAST = r"""(?x)
    (?<! ない ) [てで] (?: ください | 下さい | ほしい ) | [해어아] [ ]? (?: 줘 | 주세요 )
"""
# A "no" without a mark behind it denies, it puts nothing right: "No hay jar".
_DENIES = r"(?i)\W*(?:no|non|não|nie)\s+\w"
# What a stranger does not know: what stands before the sentence, what is there now, and
# until when. A pronoun behind the first clause is about that.
_POINTS = r"""(?xi)
    \A \W* \d+ [.)）、]  # a point of somebody's list
  | \A [^,;:.，。；：]*? \b
    (?: it | its | they | them | their | he | she | him | sie | ihn | elles?
      | они | он | она | его | их | nó ) \b
  | \b (?: this | these | those | such | above | below | besides | until | yet | already
        | just | previous | earlier | latter | former | the [ ] same | the [ ] ones?
        | dies\w* | jene\w* | oben | unten | cett?e? | ces | cela | ceci | ça | ci-dessus
        | est[eao]s? | es[eao]s | iss?o | ess[ea]s? | quest[oaei] | quell\w+
        | это | эт[ау] | эти | этот | этого | эту | этом ) \b
    (?! [ ] (?: point | moment | момент | дня | project | repo | codebase
            | pro[jy]e[ck]t | progetto | projeto | проект ) )
  | (?: \A | [,;:.] [ ] | \b (?: of | in | on | to | for | with | from | at | by | like
        | use | do | change | delete | remove | keep | make | not ) [ ] ) that \b (?! [ ] is [ ] wrong )
  | (?<! 我们 ) [这那它此] (?! 个? (?: 项目 | 仓库 ) ) | 上面 | 刚才 | 之前的 | 以下 | 上述 | 如下
  | (?: 不要 | 别 | 不用 | 不需要 ) [^，。,]* 了
  | これ (?! から ) | この (?! プロジェクト | リポジトリ ) | その | それ | あの | そこ
  | 上記 | さっき | 先ほど
  | 이것 | 이거 | 그것 | 그거 | 저거 | 위의 | 아까
"""

_ANYWHERE = (
    "for good",
    "forbids",
    "general",
    "happened",
    "instead",
    "manner",
    "must",
    "once",
    "picks",
    "prefers",
    "supposes",
    "tried",
    "uses",
    "wants",
    "wishes",
)
_UNLESS = {
    "for good": {"once", "happened"},  # "From now on ..., CI fails otherwise"
    "picks": {"prefers", "wishes"},  # "I prefer this one"
}
_IDLE = {"asks", "once", "happened"}  # of these nothing is a rule, nor likely
_LASTS = {"always", "for good", "language", "prefers"}
# What makes of a use a choice.
_CHOOSES = {"corrects", "instead", "requires", "wants", "wishes"}
_LASTING = _LASTS | {"forbids", "uses"}  # counts in what is no single remark, too
# What makes a statement likely: a point where it is general, one for what must be and for
# a wish of the work, two for what stands by itself: a ban, a use, a dislike, what puts
# right. A point less for a question, an order, a text that nobody typed, a moment.
_GENERAL = _LASTS | {"general"}
_FOR = {"must", "requires", "wants"}
_PLAIN = {"forbids", "uses", "wishes", "corrects", "instead", "tried"}
_AGAINST = _IDLE | {"composed", "picks", "tasks"}
_UNLIKELY = {"asks", "happened"}  # nobody means it as a rule
_NOT_YET = {"forbids", "once"}  # "Don't change anything yet, show me the plan first"
LENGTHS = (5, 10, 20)  # words about something; more than so many are a point each
LIKELY = 3  # points of what is proposed


class Statement(NamedTuple):
    """What a person says at a place in a session: what its title is made of, what is
    told, and what its words show."""

    turn: int
    text: str
    body: str
    shows: frozenset[str]

    @property
    def is_rule(self) -> bool:
        """Whether it states a rule for good that a stranger understands."""
        first = next(iter(sentence_ends(self.text)), None)
        points = regex(_POINTS).search(self.text[:first]) is not None
        return is_rule(self.shows) and not points

    @property
    def likeliness(self) -> int:
        """How much speaks for it where it is no rule for good: nothing for a question,
        a complaint and what must not be done yet; more where the whole turn is about it, less where it only
        supposes."""
        if self.shows & _UNLIKELY or self.shows >= _NOT_YET:
            return 0
        points = likeliness(self.shows, words.fold(self.body))
        return points + len(self.shows & {"whole"}) - len(self.shows & {"supposes"})


class _SaidSentence(NamedTuple):
    """A sentence of a turn, with what it shows."""

    text: str
    low: str
    is_prose: bool
    shows: frozenset[str]

    @property
    def says_much(self) -> bool:
        """Whether it says something by itself."""
        return _says_much(self.low) and not self.text.endswith((":", "："))

    @property
    def is_of_now(self) -> bool:
        """Whether it puts right what is done now ("No, run only these")."""
        return "corrects" in self.shows and not is_rule(self.shows)

    @property
    def counts(self) -> bool:
        """Whether it may be a statement."""
        return self.says_much and self.rank < (True, 0)

    @property
    def rank(self) -> tuple[bool, int]:
        """The surest first."""
        return not is_rule(self.shows), -likeliness(self.shows, self.low)


def stated(turns: Sequence[Turn]) -> list[Statement]:
    """The rules for good and the likely ones, in order; what the person took back
    later is left out."""
    statements: dict[str, Statement] = {}
    for index, turn in enumerate(turns):
        if turn.human and turn.text and taken_back(turn.text) is None:
            _undo(turn, statements)
            for new in _of_turn(turns, index):
                statements.setdefault(new.text, new)
    return list(statements.values())


def _undo(turn: Turn, statements: dict[str, Statement]) -> None:
    """Take out what a turn undoes: "undo that, no adze logger"."""
    low = words.fold(turn.text[:WHOLE])
    if not words.begins("takes back", low):
        return
    said = content(low)
    for text in [*statements]:
        if len(content(words.fold(text)) & said) >= SHORTEST:
            del statements[text]


def standing(session: Session) -> Session:
    """A session without the sentences that the person takes back later in it."""
    turns = [*session.turns]
    for index, later in enumerate(session.turns):
        back = taken_back(later.text) if later.human else None
        if back is None or not back.about:
            continue
        for at, turn in enumerate(turns[:index]):
            if turn.human or words.spoken(turn):
                turns[at] = turn._replace(text=_without(turn.text, back))
    return session._replace(turns=tuple(turns))


def _without(text: str, back: TakenBack) -> str:
    """A text without the sentences that are about what is taken back."""
    kept = [
        part
        for part in sentence_parts(text)
        if not meant(back.about, [part], every=back.every).clear
    ]
    return "".join(kept).strip()


def is_rule(shows: frozenset[str]) -> bool:
    """Whether what a sentence shows makes it a rule for good: it says itself that it
    lasts, chooses what the work is made with or, where all of the turn is about it,
    says how all things of a kind must be."""
    if shows & (_IDLE | {"composed"}):
        return False
    if shows & (_LASTS | {"tasks"}):
        return bool(shows & _LASTS)
    if "supposes" in shows:
        return False
    if "uses" in shows:
        return bool(shows & _CHOOSES)
    return {"general", "requires", "whole"} <= shows


def states_rule(note: str) -> bool:
    """Whether a note begins with a rule. Who writes a note means it for good and for
    all, which a turn of a session has to say itself."""
    note_sentences = own_sentences(note)
    shows = shown(note_sentences[0]) if note_sentences else frozenset[str]()
    is_order = bool(shows & {"forbids", "uses"}) and not shows & _IDLE
    return is_rule(shows | {"general", "whole"}) or (
        is_order and forbids_or_demands(note_sentences[0].text)
    )


def likeliness(shows: frozenset[str], low: str) -> int:
    """How many signs speak for what a folded text says, less those against it; 0 for
    one without a sign."""
    general = min(1, len(shows & _GENERAL))
    speaks = general + len(shows & _FOR) + 2 * len(shows & _PLAIN)
    about = len(content(low)) // (2 if words.is_spaceless(low) else 1)
    points = speaks + bisect_left(LENGTHS, about) - len(shows & _AGAINST)
    return points if speaks else 0


def _is_aside(shows: frozenset[str]) -> bool:
    """Whether a sentence asks for something or tells of the moment."""
    is_order = "tasks" in shows and not shows & (_LASTING | {"instead"})
    return bool(shows & _IDLE) or is_order


@lru_cache(maxsize=words.REMEMBERED)
def shown(sentence: SpokenSentence) -> frozenset[str]:
    """What the words of one sentence show."""
    low = sentence.low
    signs = {kind for kind in _ANYWHERE if words.says(kind, low)}
    signs |= {sign for sign, is_there in _signs(sentence).items() if is_there}
    for sign, others in _UNLESS.items():
        if sign in signs:
            signs -= others
    if "tasks" in signs and "general" not in signs:
        signs.discard("language")  # "Translate the page into English"
    return frozenset(signs)


def _signs(sentence: SpokenSentence) -> dict[str, bool]:
    """What more than one cue shows, or one that begins a clause: "No, don't ..."."""
    low = sentence.low
    parts = regex(_CLAUSES).split(sentence.text)
    clauses = [words.opened(words.fold(part)) for part in parts]
    lasts = map(_is_lasting_order, clauses)
    begins_must = words.begins("must", low)
    is_request = regex(_ASKED_LAST).search(low) is not None
    is_task = is_request or words.begins("begins: tasks", low)
    return {
        # No "Add a button that is always there".
        "always": next(lasts) or (not is_task and (any(lasts) or _must_always(low))),
        "asks": sentence.asks or words.asks(low),
        "corrects": words.begins("begins: corrects", low)
        and not regex(_DENIES).match(sentence.text),
        "forbids": any(words.starts("begins: forbids", each) for each in clauses),
        "language": words.says("in a language", low) and words.says("wording", low),
        "must": any(words.starts("begins: must", each) for each in clauses),
        # No "need to do it", nor what somebody should do.
        "requires": _is_demanding(low) and not begins_must,
        "tasks": is_task and not begins_must,  # "make sure that ..."
    }


def _must_always(low: str) -> bool:
    """Whether something must always, or never, be so, whatever may come."""
    is_must = words.says("must", low) and words.says("always", low)
    return is_must and not words.says("supposes", low)


def _is_demanding(low: str) -> bool:
    """Whether a folded text says how things must or must not be, not what somebody
    must do."""
    is_demand = words.says("must", low) or words.says("forbids", low)
    return is_demand and not words.says("persons", low)


def _is_lasting_order(clause: str) -> bool:
    """Whether a clause begins with "always" or "never", or with a verb and then that."""
    is_order = words.starts("always", clause)
    return is_order or regex(_VERB_FIRST).match(clause) is not None


def _of_turn(turns: Sequence[Turn], index: int) -> list[Statement]:
    """The statements of one turn: one about one thing is told whole, unless it has more
    rules than a title can say; of another the surest sentences are told."""
    spoken = _said(turns, index)
    likely = (n for n, one in enumerate(spoken) if one.counts)
    surest = sorted(likely, key=lambda n: spoken[n].rank)
    if surest and "whole" in spoken[0].shows:
        whole = _whole(index, spoken, surest)
        if whole is not None:
            return [whole]
    return [_part(index, spoken, n) for n in sorted(surest[:MOST])]


def _whole(
    index: int, spoken: Sequence[_SaidSentence], surest: Sequence[int]
) -> Statement | None:
    """A turn as one statement; None where a title cannot say all its rules."""
    sure = sorted(n for n in surest if is_rule(spoken[n].shows)) or surest[:1]
    telling = [n for n, one in enumerate(spoken) if one.says_much and not one.is_of_now]
    title = _title(spoken, telling) or _title(spoken, sure)
    if not title:
        return None
    body = _joined(spoken)
    shows = _united(spoken[n] for n in sure)
    if is_rule(shows):  # "No, only these. And never ..." puts right what was done
        shows |= {"corrects"} & _united(spoken)
    return Statement(turn=index, text=title, body=body, shows=shows)


def _united(said: Iterable[_SaidSentence]) -> frozenset[str]:
    """What some sentences show together."""
    return frozenset[str]().union(*(one.shows for one in said))


def _part(index: int, said: Sequence[_SaidSentence], n: int) -> Statement:
    """A sentence of a turn, with what goes on about it."""
    text = _with_neighbours(said, n)
    return Statement(turn=index, text=said[n].text, body=text, shows=said[n].shows)


def _title(said: Sequence[_SaidSentence], group: Sequence[int]) -> str:
    """What a group of sentences is called by: all of it, if that is short; "" if not."""
    title = _joined([said[n] for n in group])
    return title if len(title) <= TITLE or len(group) == 1 else ""


def _said(turns: Sequence[Turn], index: int) -> list[_SaidSentence]:
    """The sentences of a turn that is no document, with what they show."""
    text = turns[index].text
    spoken = own_sentences(text)
    kept = [each for each in spoken if not (each.reminds or is_redacted(each.text))]
    is_asked_about = regex(_SAID_ELSEWHERE).search(text) and kept and kept[-1].asks
    if is_asked_about or any(each.mark == "#" for each in kept):
        return []
    shows = _led(kept)
    is_short = sum(len(each.text) + 1 for each in kept) <= WHOLE + 1
    is_one_thing = is_short and not any(map(_is_aside, shows))
    around = _made(text, is_one_thing=is_one_thing)
    return [
        _SaidSentence(
            text=each.text, low=each.low, is_prose=not each.mark, shows=marks | around
        )
        for each, marks in zip(kept, shows, strict=True)
    ]


def _made(text: str, *, is_one_thing: bool) -> frozenset[str]:
    """What each sentence of a turn shows by how the turn was made."""
    if is_composed(text):
        return frozenset({"composed"})
    return frozenset({"whole"} if is_one_thing else ())


def own_sentences(text: str) -> list[SpokenSentence]:
    """The sentences of a turn that are the person's own, without what quotes."""
    own = regex(_QUOTATION).sub(_LEFT_OUT, text)
    return [one for one in sentences(own, typed=True) if _LEFT_OUT not in one.text]


def _led(spoken: Sequence[SpokenSentence]) -> list[frozenset[str]]:
    """What each sentence shows; a "No." or "That's wrong." makes the next correct."""
    signs = []
    lead = frozenset[str]()
    for sentence in spoken:
        signs.append(shown(sentence) | lead)
        lead = (
            frozenset[str]() if _says_much(sentence.low) else signs[-1] & {"corrects"}
        )
    return signs


def is_composed(text: str) -> bool:
    """Whether a turn is too long to be typed, or tells what an error or others say."""
    is_long = text.strip().count("\n") > LINES or len(text) > TYPED
    is_told = is_reported(text) or regex(_SAID_ELSEWHERE).search(text) is not None
    return is_long or is_told


def is_reported(text: str) -> bool:
    """Whether a text holds the words of an error."""
    return regex(_REPORTED).search(text) is not None


def _says_much(low: str) -> bool:
    """Whether a sentence has words about something behind a "No"; of scripts without
    spaces, where they are pairs of letters, twice as many."""
    about = content(words.behind("begins: corrects", low))
    return len(about) >= SHORTEST * (2 if words.is_spaceless(low) else 1)


def _with_neighbours(said: Sequence[_SaidSentence], n: int) -> str:
    """A sentence with the one behind it that goes on about it."""
    around = said[n : n + 2]
    goes_on = len(around) > 1 and _goes_on(around[1], around[0])
    return _joined(around[: 1 + goes_on])[:WHOLE]


def _joined(spoken: Sequence[_SaidSentence]) -> str:
    """Sentences in one line; one that the end of its line alone ends gets a mark."""
    return (
        regex(_UNMARKED)
        .sub("; ", "\n".join(one.text for one in spoken))
        .replace("\n", " ")
    )


def _goes_on(first: _SaidSentence, other: _SaidSentence) -> bool:
    """Whether a sentence is of the same paragraph as another, and no matter of its
    own."""
    is_own = _is_aside(first.shows) or is_rule(first.shows)
    return first.is_prose and other.is_prose and not is_own

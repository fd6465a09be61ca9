"""What a stretch of a session is called: what was done in it, or the first thing that
was asked for and how much more was. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memcli.extraction.rules import title, words
from memcli.extraction.rules.commands import command_of
from memcli.extraction.rules.statements import is_rule, shown
from memcli.extraction.rules.words import SpokenSentence, content, fold, sentences
from memcli.extraction.segments import moments
from memcli.sessions.model import Turn
from memcli.sessions.tools import changed_by
from memcli.text.matching import regex, verbose
from memcli.text.secrets import find_secrets

# characters of a title, words of one
TITLE = 110
CLAUSE = 8  # words of the shortest clause that stands for a longer sentence
MORE = 24  # characters of the words that count what else was asked for
WORDS = (5, 15)
# closing turns of a stretch, the latest, that are looked at for its title
EXCHANGES = 60
IDLE = 8  # letters at either end of a sentence without spaces that hold its verb
CENTRAL = 40  # words that the closing turns say most often
ORDER = 3  # words of the shortest order
LONGEST = 80  # words of the longest sentence that is told, cut
# requests from which on no single report tells what a session was about
SEVERAL = 3
# What a sentence is worth as a title.
_COMMITTED = 8.0
_REPORTED = 4.5
_HEADING = 3.5
_LISTED = 3.0
_PROMISED = 2.5
ORDERED = 2.5
_STATED = 2.0
_ORDERED_LATER = 1.5
_CHANGED = 1.0
# The first thing that was asked for, and where much else was after it.
_FIRST = 2.0
_OPENED = 20.0
# A line that sets a variable or changes a folder, an address or a file alone, a tag,
# what stands for pasted lines.
_NAMED = r"""(?xi)
    (?: export | setx? | cd | echo ) \s+ [^\s]+ $ | (?: export | setx? | echo ) \s+ [\w$]+
    | \S*[:/\\]\S* $ | \[ [^\]\n]{0,200} \] \s* $ | dom[ ]path: | <[a-z/]
    | [A-Z]:\\[^>\n]{0,200}>
    | \[…$ | \d+ [ ] pasted [ ] lines [ ] …
"""
# What is no request: how a sentence goes back to what was said, what it shows.
_BACK = ("begins: points", "begins: corrects")
_REMARKS = {"asks", "happened"}
_NORMS = {"ought", "must", "forbid outright", "forbid", "forbids"}


class TitleChoice(NamedTuple):
    """A sentence that may be the title, and what it is worth as one."""

    worth: float
    sentence: SpokenSentence


@verbose
def _commit() -> str:
    """The subject of a commit, given by a here document or in quotes."""
    return r"""
        \b git[ ]commit \b [^\n]*? -m \s+
        (?: "\$\(cat[ ]<<'?"?EOF'?"?\n ([^\n"]{8,120}) | ["'] ([^"'\n]{8,120}) )
    """


@verbose(ignore_case=True)
def _lead() -> str:
    """What leads into a report, a promise or a request, and says nothing of it."""
    return r"""
        ^ (?: @\S+ \s+ )*
        (?: (?: (?:all[ ])? (?:done|completed?|finished|perfect|great|set) \s* [—–:.,!-]+
              | (?:ok(?:ay)?|now|next|finally|first),? ) \s+ )*
        (?: can[ ](?:you|we)[ ] | could[ ](?:you|we)[ ] | please[ ] | kindly[ ]
          | i(?:'d|[ ]would)[ ]like[ ]you[ ]to[ ] | so[ ] )*
        (?: (?:i|we) (?:['’]ve|[ ]have)? [ ] (?:now[ ]|also[ ]|just[ ]|successfully[ ])*
            (?= \w+ (?:ed|t|ote|ade) [ ] )
          | (?:i|we) (?:['’]ll|[ ]will) [ ] (?:now[ ]|also[ ]|then[ ])*
          | let(?:['’]s|[ ]me) [ ] (?:now[ ]|also[ ]|then[ ])*
          | i(?:['’]m|[ ]am) [ ] going[ ]to[ ] )?
        (?: @\S+ \s+ )*
    """


@verbose
def _done() -> str:
    """The verb of what was done, in a folded sentence."""
    return r"""
        [ ] (?: i[ ] | ive[ ] | we[ ] | weve[ ] | done[ ] | now[ ] | also[ ] | have[ ]
              | successfully[ ] )* ([a-z]+) [ ]
    """


@verbose
def _promise() -> str:
    """The verb of what is promised, in a folded sentence."""
    return r"""
        [ ] (?: now[ ] | first[ ] | next[ ] | finally[ ] | then[ ] )*
        (?: ill | i[ ]will | we[ ]will | lets | let[ ]me | im[ ]going[ ]to ) [ ]
        (?: now[ ] | then[ ] | also[ ] )* (\w+)
    """


def title_of(turns: Sequence[Turn]) -> str:
    """What was done, by the telling that is worth most and is about what was said most
    often."""
    closings = _closings(turns)
    often = Counter(w for turn in closings for w in content(turn.text[:4000].lower()))
    ranked = sorted(often, key=lambda word: (-often[word], word))[:CENTRAL]
    common = {word for word in ranked if often[word] > 1}

    def worth(telling: TitleChoice) -> float:
        one = telling.sentence
        about = content(one.low)
        central = 2 * len(about & common) / max(4, len(about))
        fits = WORDS[0] <= _count(one) <= WORDS[1]
        is_concrete = "`" in one.text or "/" in one.text
        return telling.worth + central + (1 if fits else 0) + (is_concrete and 0.5)

    wants = [turn for turn in turns if turn.human and _wants_something(turn)]
    best = max(_tellings(turns, closings, wants), key=worth, default=None)
    if best is None:
        return ""
    text = title(_clause(_lead().sub("", plain(best.sentence.text))), TITLE - MORE)
    rest = len(wants) - 1
    is_one_of_many = best.worth == _OPENED and rest >= SEVERAL
    return f"{text}, and {rest} more requests" if is_one_of_many else text


def _wants_something(turn: Turn) -> bool:
    """Whether a person says more in a turn than "yes" or "go on"."""
    said = sentences(turn.text, typed=True)
    return any(_count(one) >= WORDS[0] and not _is_typed_command(one) for one in said)


def first_words(turns: Sequence[Turn]) -> str:
    """The first sentence of a person that says something, be it a question."""
    said = (
        sentence.text
        for turn in turns
        if turn.human
        for sentence in sentences(turn.text, typed=True)
        if _count(sentence) >= 4
        and not _is_typed_command(sentence)
        and is_open(sentence)
    )
    return title(_clause(_lead().sub("", plain(next(said, "")))), TITLE)


def _closings(turns: Sequence[Turn]) -> list[Turn]:
    """The agent's last words of each exchange, save those that the person corrects."""
    said = [turns[index] for index in moments(turns, 0, len(turns))]
    answers = [*said[1:], None]
    stands = [
        turn
        for turn, answer in zip(said, answers, strict=False)
        if not (turn.human or (answer is not None and _is_correction(answer)))
    ]
    return stands[-EXCHANGES:]


def _is_correction(turn: Turn) -> bool:
    return turn.human and words.begins("begins: corrects", fold(turn.text[:300]))


def _tellings(
    turns: Sequence[Turn], closings: Sequence[Turn], wants: Sequence[Turn]
) -> Iterator[TitleChoice]:
    is_many = len(wants) > SEVERAL
    opened = _opened(wants, is_many=is_many)
    if opened is not None:
        yield opened._replace(worth=_OPENED if is_many else opened.worth + _FIRST)
    commits = [telling for turn in turns for telling in _committed(turn)]
    if not is_many:
        yield from commits
    elif len(commits) == 1:
        yield commits[0]._replace(worth=_OPENED + _COMMITTED)
    yield from _ordered(turns)
    yield from _edited(turns)
    yield from _reports(closings)


def _ordered(turns: Sequence[Turn]) -> Iterator[TitleChoice]:
    """The first request, and the later ones that order something, which count less."""
    is_first = True
    for turn in turns:
        if not (turn.human or turn.origin == "agent"):
            continue
        for telling in asked(turn):
            if is_first or telling.worth > _STATED:
                later = 0 if is_first else ORDERED - _ORDERED_LATER
                yield telling._replace(worth=telling.worth - later)
                is_first = False


def _reports(closings: Sequence[Turn]) -> Iterator[TitleChoice]:
    """What the agent says that it did: what was done last counts more than what was
    tried."""
    for index, turn in enumerate(closings, 1):
        late = index / len(closings)
        for one in sentences(turn.text)[:30]:
            if value := _reported(one):
                yield TitleChoice(worth=value + late, sentence=one)


def _opened(wants: Sequence[Turn], *, is_many: bool) -> TitleChoice | None:
    """The first request; of many the words with which the person came, where none of
    the first few is one."""
    for turn in wants[:SEVERAL]:
        request = max(asked(turn), key=lambda one: one.worth, default=None)
        if request is not None:
            return request
    said = (sentence for turn in wants for sentence in sentences(turn.text, typed=True))
    first = next(filter(_is_prose, said), None) if is_many else None
    return TitleChoice(worth=_CHANGED, sentence=first) if first else None


def _is_prose(sentence: SpokenSentence) -> bool:
    """Whether a sentence is long enough, and neither code nor a command."""
    is_long = _count(sentence) >= WORDS[0]
    return is_long and " = " not in sentence.text and not _is_typed_command(sentence)


def _committed(turn: Turn) -> Iterator[TitleChoice]:
    match = _commit().search(command_of(turn)) if turn.tool else None
    subject = (match[1] or match[2]) if match else ""
    if len(subject.split()) >= 4:
        yield TitleChoice(
            worth=_COMMITTED, sentence=SpokenSentence(subject, fold(subject))
        )


def _edited(turns: Sequence[Turn]) -> Iterator[TitleChoice]:
    edited = list(dict.fromkeys(path for turn in turns for path in changed_by(turn)))
    if edited:
        more = f" and {len(edited) - 3} more" if len(edited) > 3 else ""
        named = ", ".join(f"`{path}`" for path in edited[:3])
        text = f"Changed {named}{more}"
        one = SpokenSentence(text=text, low=fold(" ".join(edited)))
        yield TitleChoice(worth=_CHANGED, sentence=one)


def asked(turn: Turn) -> Iterator[TitleChoice]:
    """What is ordered or stated in a request; the headings of a plan by an agent."""
    said = sentences(turn.text, typed=turn.human)
    read = [one for one in said if not _is_typed_command(one)][:3]
    heads = [sentence for sentence in read if sentence.mark == "#"]
    if not turn.human:
        long_heads = (sentence for sentence in heads if len(sentence.text.split()) >= 4)
        yield from (TitleChoice(worth=_HEADING, sentence=one) for one in long_heads)
    elif not heads:
        yield from filter(None, map(_request, read))


def _request(one: SpokenSentence) -> TitleChoice | None:
    """A sentence of a person as what was asked for; None for what is no request."""
    shows = shown(one)
    is_idle = _is_idle(one)
    is_order = "tasks" in shows and not is_idle
    # "Fix the tests" names what is to be done, "please fix it" does not.
    says_what = len(content(words.opened(one.low)) - {"please"}) > 1
    is_short_order = is_order and says_what and _count(one) == ORDER
    if not (_tells(one) or is_short_order):
        return None
    if is_order:
        return TitleChoice(worth=ORDERED, sentence=one)
    if is_idle or _is_remark(one, shows):
        return None
    return TitleChoice(worth=_STATED, sentence=one)


def _is_remark(sentence: SpokenSentence, shows: frozenset[str]) -> bool:
    """Whether a sentence asks for nothing now: it goes back to what was said, tells
    what happened, or states a rule for good."""
    goes_back = any(words.begins(kind, sentence.low) for kind in _BACK)
    is_for_good = is_rule(shows - _NORMS)  # "X should be Y" asks for it
    return goes_back or is_for_good or bool(shows & _REMARKS)


def _is_idle(sentence: SpokenSentence) -> bool:
    """Whether an order is to look, or to go on."""
    low = words.opened(sentence.low)
    if words.is_spaceless(low):
        ends = (low.strip()[:IDLE], low.strip()[-IDLE:])
        return any(words.holds_letters("list: idle", end) for end in ends)
    return bool(words.listed("idle") & {*low.split()[:3]})


def _is_typed_command(sentence: SpokenSentence) -> bool:
    """Whether a person typed a line for a shell, or pasted what names a place."""
    first = sentence.text.split(" ", 1)[0].lower()
    is_run = first in words.listed("sub-commanded") and " -" in sentence.text
    return is_run or regex(_NAMED).match(sentence.text) is not None


def _reported(sentence: SpokenSentence) -> float:
    """The worth of a sentence in which an agent says what it did, or will do, else
    0."""
    if not _tells(sentence) or words.says("list: generic", sentence.low):
        return 0.0
    did = _done().match(sentence.low)
    if did and _is_deed(did[1]):
        is_prose = not sentence.mark and (
            sentence.text[0].isalnum() or sentence.text[0] in "`*\"'"
        )
        is_done = words.says("done", sentence.low)
        return (_REPORTED if is_prose else _LISTED) + (1 if is_done else 0)
    promised = _promise().match(sentence.low)
    return _PROMISED if promised and promised[1] not in words.listed("idle") else 0.0


def _is_deed(verb: str) -> bool:
    """Whether a verb says that something was made, rather than looked at."""
    is_past = verb.endswith("ed") and not words.says("list: looked", f" {verb} ")
    return is_past or verb in words.listed("did")


def _tells(sentence: SpokenSentence) -> bool:
    text = sentence.text.rstrip("*_ ")
    if text.endswith((":", "：", "?", "？", "吗", "か", "{", "(", "[")):
        return False
    is_fit = 4 <= _count(sentence) <= LONGEST and len(content(sentence.low)) >= 3
    return is_fit and "[secret removed" not in sentence.text


def _count(sentence: SpokenSentence) -> int:
    """Words; of scripts without spaces, pairs of letters."""
    pairs = 0 if sentence.low.isascii() else len(content(sentence.low)) // 2
    return max(len(sentence.low.split()), pairs)


def _clause(text: str) -> str:
    if len(text.split()) <= WORDS[1]:
        return text
    ends = regex(r"[,;:(—–]| - | so that | which | because ").finditer(text)
    cuts = [text[: end.start()] for end in ends]
    whole = (cut for cut in cuts if cut.count("(") == cut.count(")"))
    fitting = [cut for cut in whole if CLAUSE <= len(cut.split()) <= WORDS[1]]
    return fitting[-1] if fitting else " ".join(text.split()[: WORDS[1]]) + "…"


def plain(text: str) -> str:
    """A text without emphasis, links as their words, at most 300 characters."""
    text = regex(r"\*\*|__").sub("", text)
    text = regex(r"\[([^\[\]\n]{1,200})\]\([^()\n]{1,400}\)").sub(r"\1", text)
    return text if len(text) <= 300 else text[:299].rsplit(" ", 1)[0] + "…"


def is_open(sentence: SpokenSentence) -> bool:
    """Whether a sentence tells nothing that is private: what held a secret is left out
    whole."""
    return "[secret removed" not in sentence.text and not find_secrets(sentence.text)

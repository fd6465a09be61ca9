"""What a stretch of a session is called: what was asked for first, the largest of the
rest, and how much more. Pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

from memcli.extraction.rules import first_clauses, words
from memcli.extraction.rules.commands import command_of, cut
from memcli.extraction.rules.statements import is_composed, is_reported, shown
from memcli.extraction.rules.words import (
    SpokenSentence,
    content,
    fold,
    sentences,
    spoken,
)
from memcli.sessions.model import Turn
from memcli.sessions.tools import changed_by
from memcli.text.matching import regex, verbose
from memcli.text.secrets import find_secrets, is_redacted

# characters of a title, words of one
TITLE = 110
WORDS = (5, 15)
MORE = 13  # characters of the words that count what else was asked for
IDLE = 8  # letters at either end of a sentence without spaces that hold its verb
ORDER = 3  # words of the shortest order
LONGEST = 80  # words of the longest sentence that is told, cut
READ = 30  # sentences of a turn that are looked at
ABOUT = 2  # words about something that the name of a session has
STRAY = " .!,;:。！，；：、"  # marks at the edge of a title
MARKS = "`\"'“„«「『*@/([¿¡"  # what a sentence of a person may begin with


class TitleExchange(NamedTuple):
    """What a person asked for, and the turns until they ask for something else. `effort`
    counts the changes that it took."""

    turns: Sequence[Turn]
    effort: int
    called: str = ""  # what the agent calls the session that begins with it
    opens: bool = False  # whether the stretch begins with it


@verbose
def _commit() -> str:
    """The subject of a commit, given by a here document or in quotes."""
    return r"""
        \b git[ ]commit \b [^\n]*? -m \s+
        (?: "\$\(cat[ ]<<'?"?EOF'?"?\n (?P<here> [^\n"]{8,200} )
          | " (?P<double> [^"\n]{8,200} ) | ' (?P<single> (?: [^'\n] | '"'"' ){8,200} ) )
    """


@verbose(ignore_case=True)
def _kind() -> str:
    """What stands before the subject of a commit and only sorts it."""
    return r"""
        (?: feat | fix | chore | docs | refactor | style | tests? | perf | build | ci )
        (?: \([^()\n]{1,40}\) )? !? : \s+
    """


@verbose(ignore_case=True)
def _lead() -> str:
    """What leads into a request, and says nothing of it."""
    return r"""
        ^ (?: (?: @\S+ | \[[^\[\]\n]{1,40}\] ) \s+ )*
        (?: (?: ok(?:ay)? | alright | now | next | then | finally | first | so | and | also
              | yes | no (?=[,.!]) | well | hey | hi | hello | great | thanks | just | vale ) \b [,.!]? \s+ )*
        (?P<wish> (?: (?: can | could | would | will ) [ ] (?: you | we ) (?![ ]like)
              | please | pls | kindly | let['’]?s
              | i (?:['’]d|[ ]would)[ ](?:like|love) [ ] (?:you[ ]|it[ ])? to
              | (?: i | we ) [ ] (?: want | need ) [ ] (?:you[ ]|it[ ])? to
              | you[ ]need[ ]to | (?:your|my)[ ]job[ ](?:now[ ])?is[ ]to
              | go[ ]ahead[ ]and | help[ ](?:me|us) (?:[ ]to)?
              | por[ ]favor,? | puedes | podés | podrías | quiero[ ]que | necesito[ ]que
              | quiero | necesito | peux[-]tu | pouvez[-]vous | tu[ ]peux
              | je[ ]veux[ ]que[ ]tu | je[ ]veux | j['’]aimerais | kannst[ ]du | bitte
              | ich[ ](?:will|möchte) | puoi | voglio | você[ ]pode | quero
              | пожалуйста,? | можешь | хочу ) [ ] (?: (?:now|also|just|then|please) [ ] )*
          | ，? (?: 请你? | 帮我 | 我?(?:希望|想要?|要求你|需要你?) | 你?(?:现在|再)?需要 ) )*
        (?: (?:i|we) (?:['’]ll|[ ]will) [ ] | let[ ]me[ ] | i(?:['’]m|[ ]am)[ ]going[ ]to[ ] )?
        (?: (?:now|also|then) [ ] )* (?: @\S+ \s+ )*
    """


@verbose(ignore_case=True)
def _wish_within() -> str:
    """Words of a wish in the midst of a sentence."""
    return r"""
        \b (?: (?: can | could | would ) [ ] you (?![ ]like) | please
            | i[ ](?:want|need)[ ](?:you[ ])?to | i(?:['’]d|[ ]would)[ ]like[ ](?:you[ ])?to
            | (?<!do[ ])we[ ]need[ ]to ) [ ]
    """


def title_of(turns: Sequence[Turn], called: str = "") -> str:
    """What was asked for first that led to changes, be it by saying what is wrong,
    where there is room what led to most of them after that, and how many more there
    were, else what the person said first. What the agent `called` the session, in view
    of its beginning, names what was asked first."""
    exchanges = list(_exchanges(turns, _as_words(called)))
    counted = [each for each in exchanges if each.effort or each.called]
    counted = counted or exchanges[:1]
    efforts = _efforts(counted, _asked_for) or _efforts(counted, _first_words)
    title, *others = efforts or [""]
    if others:
        largest = max(others, key=efforts.__getitem__)
        both = f"{title}; {largest}"
        if len(both) <= TITLE - MORE and _count(_sentence(both)) <= WORDS[1]:
            title = both
            others.remove(largest)
    return f"{title}, and {len(others)} more" if others else title


def _efforts(
    exchanges: Sequence[TitleExchange], named: Callable[[TitleExchange], str]
) -> Counter[str]:
    """What each name took."""
    efforts: Counter[str] = Counter()
    for exchange in exchanges:
        if name := shortened(named(exchange)):
            efforts[name] += exchange.effort
    return efforts


def _exchanges(turns: Sequence[Turn], called: str) -> Iterator[TitleExchange]:
    """The turns by what was asked for; what only goes on with it, a complaint or a yes,
    belongs to it."""
    starts = [
        index
        for index, turn in enumerate(turns)
        if index and (orders(turn) or (turn.origin == "agent" and _asked(turn)))
    ]
    edges = [0, *starts, len(turns)]
    # Where no change shows, how many answers it took.
    weigh = changes if any(map(changes, turns)) else spoken
    for start, end in pairwise(edges):
        within = turns[start:end]
        yield TitleExchange(
            turns=within,
            effort=sum(map(weigh, within)),
            called=called if not start and _names_work(called, turns) else "",
            opens=not start,
        )


def changes(turn: Turn) -> bool:
    """Whether a turn changed something: an edit, a commit, a patch that it shows."""
    if turn.role == "assistant" and turn.tool:
        commits = regex(r"\bgit (?:commit|merge|push|mv)\b").search(command_of(turn))
        return bool(commits) or edits(turn)
    return turn.role == "assistant" and "```diff" in turn.text


def edits(turn: Turn) -> bool:
    """Whether a turn calls a tool that changes files."""
    if turn.role != "assistant" or not turn.tool:
        return False
    edits = regex(r"edit|write_|patch|replace|^write").search(turn.tool.lower())
    return bool(edits or changed_by(turn))


# --- the name of an exchange -----------------------------------------------------


def _asked_for(exchange: TitleExchange) -> str:
    """The subject of its one commit, what the session is called, what was ordered, the
    first subject, of the opening what was said first: the first of these that there
    is."""
    subjects = list(dict.fromkeys(filter(None, map(_subject, exchange.turns))))
    if len(subjects) == 1:
        return subjects[0]
    ordered = next(filter(None, map(_asked, exchange.turns)), "")
    named = exchange.called or ordered or next(iter(subjects), "")
    return named or (_opening(exchange) if exchange.opens else "")


def _opening(exchange: TitleExchange) -> str:
    """What a person says first, be it what is wrong, unless it is an order to look or to
    go on, or they begin with what they did not type."""
    typed = next((turn.text for turn in exchange.turns if turn.human), "")
    first = _first_words(exchange)
    is_chore = {*fold(first).split()[:1]} <= words.listed("idle")
    return "" if is_chore or is_composed(typed) else first


def _as_words(called: str) -> str:
    """A session's name, one that is joined by hyphens as words."""
    return called if " " in called else called.replace("-", " ")


def _names_work(called: str, turns: Sequence[Turn]) -> bool:
    """Whether what an agent calls a session says what it is about, and is not the
    beginning of what was typed first, which a client takes where it has no name."""
    first = next((turn.text for turn in turns if turn.human), "")
    is_typed = fold(first).startswith(fold(called).rstrip())
    says = len(content(fold(called))) >= ABOUT and not find_secrets(called)
    return says and not is_typed


def shortened(name: str) -> str:
    """A name as a title that leaves room for how many more there are."""
    room = TITLE - MORE
    room = room // 2 if words.is_spaceless(fold(name)) else room
    text = cut(first_clauses(name.lstrip(STRAY), room), room)
    first = text.partition(" ")[0].rstrip(",:;")
    if first.isalpha():  # no path, no address
        text = text[:1].upper() + text[1:]
    return regex(r"(?i)\s(?:and|or|und|et|y|e|и|\+)$").sub("", text.rstrip(STRAY))


def _subject(turn: Turn) -> str:
    """The subject of the commit that a call makes, without what sorts it."""
    match = _commit().search(command_of(turn)) if turn.tool else None
    if match is None:
        return ""
    said = match["here"] or match["double"] or match["single"].replace("'\"'\"'", "'")
    subject = _kind().sub("", said, count=1)
    return subject if len(subject.split()) >= ORDER else ""


def _asked(turn: Turn) -> str:
    """What is ordered first in a turn: by a person, or by an agent as the heading of a
    plan."""
    if turn.origin not in ("user", "agent"):
        return ""
    spoken = sentences(turn.text, typed=turn.human)[:READ]
    heads = [sentence for sentence in spoken if sentence.mark == "#"]
    if turn.human:
        if is_reported(turn.text):  # a person orders before an error or after it
            spoken = [*spoken[:1], *spoken[1:][-1:]]
        return "" if heads else next(filter(None, map(_request, spoken)), "")
    return next(
        (sentence.text for sentence in heads if _count(sentence) >= ORDER + 1), ""
    )


def orders(turn: Turn) -> bool:
    """Whether a person orders something in a turn."""
    return turn.human and bool(_asked(turn))


def _request(sentence: SpokenSentence) -> str:
    """A sentence of a person as what was ordered; "" for what is no order."""
    text, is_wish = _wished(plain(sentence.text))
    bare = _sentence(text.rstrip(":："))
    if not _tells(bare) or _is_idle(bare) or is_reported(sentence.text):
        return ""
    is_task = "tasks" in shown(bare) or words.begins("begins: making", bare.low)
    return bare.text if is_wish or is_task else ""


def _is_idle(sentence: SpokenSentence) -> bool:
    """Whether an order is to look, or to go on."""
    low = words.opened(sentence.low)
    if words.is_spaceless(low):
        ends = (low.strip()[:IDLE], low.strip()[-IDLE:])
        return any(words.holds_letters("list: idle", end) for end in ends)
    return bool(words.listed("idle") & {*low.split()[:2]})


def _wished(text: str) -> tuple[str, bool]:
    """What is asked for in a sentence, without the words of a wish, and whether there
    are some; in the midst of it, too: "for the list can you ..."."""
    lead = _lead().match(text)
    is_wish = lead is not None and bool(lead["wish"])
    rest = text[lead.end() :] if lead else text
    within = None if is_wish else _wish_within().search(rest)
    if within and len(rest[within.end() :].split()) >= WORDS[0]:
        rest = rest[within.end() :]
        is_wish = True
    return (rest.rstrip("?？ ") if is_wish else rest), is_wish


def edited(turns: Sequence[Turn]) -> str:
    """The files that were changed; "" for none."""
    paths = list(dict.fromkeys(path for turn in turns for path in changed_by(turn)))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"Changed `{paths[0]}`{more}" if paths else ""


def _first_words(exchange: TitleExchange) -> str:
    """The first sentence of a person that says something, be it a question, above what
    was pasted."""
    for turn in exchange.turns:
        said = sentences(turn.text, typed=True) if turn.human else []
        typed = takewhile(lambda one: one.mark != "#", said)
        for sentence in islice(typed, 1 if is_reported(turn.text) else READ):
            is_told = not is_reported(sentence.text) and is_open(sentence)
            if is_told and _is_prose(sentence):
                return _wished(plain(sentence.text))[0]
    return ""


def _is_prose(sentence: SpokenSentence) -> bool:
    """Whether a sentence says something at some length."""
    says = _tells(sentence._replace(text=sentence.text.rstrip("?？")))
    return says and _count(sentence) >= WORDS[0]


def _tells(sentence: SpokenSentence) -> bool:
    text = sentence.text.rstrip("*_ ")
    if text.endswith((":", "：", "?", "？", "吗", "か", "{", "(", "[")):
        return False
    if not (text[:1].isalnum() or text[:1] in MARKS):
        return False
    is_fit = 4 <= _count(sentence) <= LONGEST and len(content(sentence.low)) >= 3
    return is_fit and not is_redacted(sentence.text)


def _count(sentence: SpokenSentence) -> int:
    """Words; of scripts without spaces, pairs of letters."""
    pairs = 0 if sentence.low.isascii() else len(content(sentence.low)) // 2
    return max(len(sentence.low.split()), pairs)


def _sentence(text: str) -> SpokenSentence:
    return SpokenSentence(text=text, low=fold(text))


def plain(text: str) -> str:
    """A text without emphasis, links as their words, at most 300 characters."""
    text = regex(r"\*\*").sub("", text)
    text = regex(r"\[([^\[\]\n]{1,200})\]\([^()\n]{1,400}\)").sub(r"\1", text)
    return text if len(text) <= 300 else text[:299].rsplit(" ", 1)[0] + "…"


def is_open(sentence: SpokenSentence) -> bool:
    """Whether a sentence tells nothing that is private: what held a secret is left out
    whole."""
    return not is_redacted(sentence.text) and not find_secrets(sentence.text)

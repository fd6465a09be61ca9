"""What was said: its sentences, what their words show, and what they are about.
Pure."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from memcli.memory.words import normalized
from memcli.sessions.model import Turn
from memcli.text.controls import fence_behind
from memcli.text.matching import regex, table
from memcli.text.sentences import sentences as whole_sentences

LONGEST = 600  # characters of the longest sentence that is looked at
READ = (6000, 4000)  # characters of a turn that are read, of its head and its tail
REMEMBERED = 4096  # lines and sentences; rules, titles and digests ask for the same

# What stands before the text of a line: a bullet, a number or a heading, a check box.
_MARK = r"""
    \s* (?: (?:[-*•+] | \d{1,2}[.)]) \s+ | (\#{1,6}) \s+ ) (?: \[[ xX]\] \s+ )?
"""
# A line that no person types: a table, a quotation, a diff, JSON, a time stamp, a level
# of a log, a trace, a bracket alone, a line of a file as grep names it, a row of values,
# a prompt that may be a bullet.
_LOGGED = r"""(?xi)
    \s* (?: [|>] | <[/a-z!] | diff[ ]--git | @@[ ] | \+\+\+[ ]
    | \+[^\s\d] | [{\[]\s*["'{\[]
    | ---[ ] | ---+\s*$ | ===+ | \d{4}-\d\d-\d\d | \d\d:\d\d:\d\d
    | \[? (?:warn|warning|error|err|info|debug|fatal|trace) \]? \s* [:\s] \s
    | traceback\b | file[ ]" | at[ ]\S+[ ]?\( | [+}{]\s*$
    | \[[\w.-]+:[\w.:-]+\][ ]
    | (?:ps[ ])? [a-z]:\\[^>\n]{0,200}> | (?:\(\w+\)[ ])? ➜
    | [\w./-]{1,200} \. \w{1,10} : \d+ : \S | \d+ , (?! \d ) \S )
"""
# The prompt of a shell and what is typed behind it.
_PROMPT = r"""(?xi)
    \s* (?: \$[ ] | >>>[ ]
    | (?:\(\w+\)[ ])? [\w.-]+@[\w.-]+ (?:[:][^\s$\#%]* | [ ][~/][^\s$\#%]*)? [ ]? [$\#%] [ ] )
"""
# A line that announces what the person pasted below it: "here is the log:".
_ANNOUNCED = r"""(?xi)
    (?: here(?:'s|[ ]is|[ ]are) | i[ ]get | i[ ]got | output | logs? | error
      | traceback | stack[ ]?trace | it[ ]says | prints? | message | ticket
      | ausgabe | fehler | salida | 输出 | 日志 | 报错 )
    \b [^\n:：]{0,60} [:：] \s* $
"""
# What follows is to be remembered; when nothing does, what was said just before. Not to
# forget to do something is an order.
REMEMBER = r"""(?xi)
    ^ (?: please\s+ | bitte\s+ | 请 )?
    (?: remember | keep[ ]in[ ]mind | (?: don['’]?t | do[ ]not )[ ]forget (?= [ ]that )
      | note[ ]for[ ](?:later|next[ ]time)
      | merke?[ ]dir | denk[ ](?:dran|daran) | vergiss[ ]nicht
      | retiens | souviens[- ]toi | recuerda | ten[ ]en[ ]cuenta | no[ ]olvides
      | lembre(?:-se)? | não[ ]esqueça | ricorda(?:ti)? | non[ ]dimenticare
      | запомни | помни | не[ ]забудь | 记住 | 别忘了 | 覚えて(?:おいて)? | 忘れないで
      | 기억해 )
    (?! [a-z] | \s (?: to | de | di ) \s )
    (?: \s+ (?: this | that | das | dies | dass | que | qué | esto | eso | ceci | cela
              | isso | isto | che | questo | это | что ) )?
    [\s,:：–—-]*
"""
_CONTRACTION = re.compile(r"['’](?=(?:t|s|m|d|re|ve|ll)\b)")
_BETWEEN = r"[^\w`?/.@-]+ | [.-](?=\s|$) | (?<=\s)[.-]"
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WORD = re.compile(r"\w{3,}")
_ROUGH_WORD = re.compile(r"[a-z0-9_\u00c0-\u04ff]{3,}|[\u2e80-\uffff]")


class SpokenSentence(NamedTuple):
    """A sentence as it was said, and folded: what cues are looked for in, between
    blanks."""

    text: str
    low: str
    mark: str = ""  # "-" in a list, "#" in a heading

    @property
    def asks(self) -> bool:
        """Whether it ends as a question."""
        return self.text.rstrip("*_)\"' ").endswith(("?", "？"))

    @property
    def reminds(self) -> bool:
        """Whether it says that something is to be remembered."""
        return regex(REMEMBER).match(self.text) is not None


def spoken(turn: Turn) -> bool:
    """Whether a turn is in the agent's words."""
    return turn.role == "assistant" and bool(turn.text) and not turn.tool


@lru_cache(maxsize=REMEMBERED)
def fold(text: str) -> str:
    """`text` in lower case between blanks, contractions as one word, without other
    punctuation."""
    low = (text if text.isascii() else normalized("NFKC", text)).lower()
    low = _CONTRACTION.sub("", low).replace("`", " ` ")
    return f" {regex(_BETWEEN, re.VERBOSE).sub(' ', low).strip()} "


def sentences(text: str, *, typed: bool = False) -> list[SpokenSentence]:
    """The sentences of a turn, without code, quotes and logs; if `typed`, nor what is
    pasted."""
    spoken = list[SpokenSentence]()
    for line in _prose(text):
        mark = regex(_MARK, re.VERBOSE).match(line)
        if mark is None:
            spoken += _split(line, "")
        else:
            spoken += _split(line[mark.end() :], "#" if mark[1] else "-")
        if typed and regex(_ANNOUNCED).search(line):
            break
    return spoken


def _prose(text: str) -> Iterator[str]:
    """The lines of a text that a person or an agent worded: of a long one the head and
    the tail, without code, logs and what a shell printed below its prompt."""
    if len(text) > sum(READ):
        text = f"{text[: READ[0]]}\n{text[-READ[1] :]}"
    fence = ""
    is_output = False
    for line in text.split("\n"):
        before = fence
        fence = fence_behind(line.strip(), fence)
        if fence or before:
            continue
        is_output = is_prompt(line) or (is_output and bool(line.strip()))
        if line.strip() and not is_output and not _is_noise(line):
            yield line


def _is_noise(line: str) -> bool:
    """Whether nobody worded a line: it is too long, or of a log."""
    return len(line) >= 4 * LONGEST or is_logged(line)


def is_logged(line: str) -> bool:
    """Whether a line is one that no person types."""
    return is_prompt(line) or regex(_LOGGED).match(line) is not None


def is_prompt(line: str) -> bool:
    """Whether a line is one that was typed into a shell."""
    return regex(_PROMPT).match(line) is not None


@lru_cache(maxsize=REMEMBERED)
def _split(line: str, mark: str) -> tuple[SpokenSentence, ...]:
    """The sentences of a line."""
    texts = whole_sentences(" ".join(line.split()))
    return tuple(
        SpokenSentence(text=text, low=fold(text), mark=mark)
        for text in texts
        if len(text) <= LONGEST
    )


@cache
def _cues() -> dict[str, list[str]]:
    cues: defaultdict[str, list[str]] = defaultdict(list)
    name = ""
    for row in table("extraction/rules/cues.txt").splitlines():
        if row.startswith("[") and row.endswith("]"):
            name = row[1:-1]
        elif row and not row.startswith("#"):
            cues[name] += row.split("|")
    return dict(cues)


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of the table."""
    return frozenset(_cues()[f"list: {name}"])


@cache
def phrases(name: str) -> tuple[str, ...]:
    """The cues of a kind as they stand in a folded text."""
    return tuple(map(_phrase, _cues()[name]))


def _phrase(cue: str) -> str:
    if _SPACELESS.search(cue):
        return cue
    return f" {cue[:-1]}" if cue.endswith("*") else f" {cue} "


@cache
def _plain_phrases(name: str) -> tuple[str, ...]:
    """Those that a text of ASCII may hold: about half."""
    return tuple(filter(str.isascii, phrases(name)))


def says(name: str, low: str) -> bool:
    """Whether a folded text holds a cue of a kind."""
    cues = _plain_phrases(name) if low.isascii() else phrases(name)
    return any(map(low.__contains__, cues))


def holds_letters(name: str, low: str) -> bool:
    """Whether a folded text holds a cue of a script without spaces."""
    return any(phrase in low for phrase in phrases(name) if phrase[0] != " ")


def begins(name: str, low: str) -> bool:
    """Whether a folded text begins with a cue of a kind, fillers aside."""
    return starts(name, opened(low))


def starts(name: str, low: str) -> bool:
    """Whether a folded text starts with a cue of a kind."""
    return low.startswith(phrases(name)) or low[1:].startswith(phrases(name))


def behind(name: str, low: str) -> str:
    """A folded text without fillers and the cues of a kind that it begins with."""
    rest = opened(low)
    cues = phrases(name) if starts(name, rest) else ()  # most begin with none
    for cue in cues:
        for text in (rest, rest[1:]):
            if text.startswith(cue):
                return behind(name, f" {text[len(cue) :].strip()} ")
    return rest


def asks(low: str) -> bool:
    """Whether a folded text begins as a question does."""
    begins_so = low.startswith(phrases("asks")) or begins("asks", low)
    return begins_so or holds_letters("asks", low)


@lru_cache(maxsize=REMEMBERED)
def opened(low: str) -> str:
    """A folded text from its first word on that is no filler and no "@file"."""
    spoken = low.split()
    fillers = listed("filler")
    words = enumerate(spoken[:8])
    at = next(
        (index for index, word in words if word not in fillers and word[0] != "@"), 0
    )
    return f" {' '.join(spoken[at:])} "


def is_spaceless(text: str) -> bool:
    """Whether a text is in a script without spaces between words, in part at least."""
    return not text.isascii() and _SPACELESS.search(text) is not None


def content(low: str) -> frozenset[str]:
    """The words of a folded text that say what it is about; of scripts without spaces,
    pairs."""
    stop = listed("stop")
    stems = {word.rstrip("s") for word in _WORD.findall(low) if word not in stop}
    if is_spaceless(low):
        run = "".join(_SPACELESS.findall(low))
        stems |= {run[index : index + 2] for index in range(len(run) - 1)}
    return frozenset(stems)


def rough(text: str) -> frozenset[str]:
    """The words of a text for a quick comparison; of scripts without spaces, the
    characters."""
    return frozenset(_ROUGH_WORD.findall(text.casefold()))

"""What was said: its sentences, what their words show, and what they are about.
Pure."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from memcli.sessions.model import Turn
from memcli.text.matching import table

LONGEST = 600  # characters of the longest sentence that is looked at
READ = (6000, 4000)  # characters of a turn that are read, of its head and its tail
_NO_END = "".join(rf"(?<!\b{s}\.)" for s in r"e\.g i\.e etc vs z\.b bzw ej \d".split())
_END = re.compile(
    rf"(?<=[.!?…]){_NO_END}[\"'”)*_]*\s+(?=[\"'“„(*_`@¿¡]*[\w`@])|(?<=[。！？])"
)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MARK = re.compile(r"\s*(?:(?:[-*•+]|\d{1,2}[.)])\s+|(#{1,6})\s+)(?:\[[ xX]\]\s+)?")
_CONTRACTION = re.compile(r"['’](?=(?:t|s|m|d|re|ve|ll)\b)")
_BLANKS = {n: " " for n in range(128) if not re.match(r"[\w?/.@-]", chr(n))} | {
    96: " ` "
}
_BETWEEN = re.compile(r"[^\w`?/.@-]+|[.-](?=\s|$)|(?<=\s)[.-]")
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WORD = re.compile(r"\w{3,}")


class SpokenSentence(NamedTuple):
    """A sentence as it was said, and folded: what cues are looked for in, between
    blanks."""

    text: str
    low: str
    mark: str = ""  # "-" in a list, "#" in a heading


def spoken(turn: Turn) -> bool:
    """Whether a turn is in the agent's words."""
    return turn.role == "assistant" and bool(turn.text) and not turn.tool


def fold(text: str) -> str:
    """`text` in lower case between blanks, contractions as one word, without other
    punctuation."""
    low = (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()
    low = _CONTRACTION.sub("", low) if "'" in low or "’" in low else low
    if low.isascii():
        low = low.translate(_BLANKS)
        said = low.split()
        if "." in low or "-" in low:
            said = [word for each in said if (word := each.strip(".-"))]
        return f" {' '.join(said)} "
    return f" {_BETWEEN.sub(' ', low.replace('`', ' ` ')).strip()} "


def sentences(text: str, *, typed: bool = False) -> list[SpokenSentence]:
    """The sentences of a turn, without code, quotes and logs; if `typed`, nor what is
    pasted."""
    if len(text) > sum(READ):
        text = f"{text[: READ[0]]}\n{text[-READ[1] :]}"
    fence = ""
    found = list[SpokenSentence]()
    logged = pattern("logged")
    pasted = pattern("pasted")
    for line in text.split("\n"):
        if begun := _FENCE.match(line):
            fence = "" if begun[1][:3] == fence else fence or begun[1][:3]
        elif (
            not fence
            and line.strip()
            and not logged.match(line)
            and len(line) < 4 * LONGEST
        ):
            mark = _MARK.match(line)
            kind = "" if mark is None else "#" if mark[1] else "-"
            found += _split(" ".join(line[mark.end() if mark else 0 :].split()), kind)
            if typed and pasted.search(line):
                break
    return found


def _split(line: str, mark: str) -> Iterator[SpokenSentence]:
    start = 0
    for end in [*(found.end() for found in _END.finditer(line)), len(line)]:
        text = line[start:end].strip()
        if text and len(text) <= LONGEST:
            yield SpokenSentence(text, fold(text), mark)
        start = end


@cache
def _cues() -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    kinds: list[str] = []
    for row in table("extraction/rules/cues.txt").splitlines():
        if row.startswith("[") and row.endswith("]"):
            kinds = row.strip("[]").split(", ")
        elif row and not row.startswith("#"):
            for kind in kinds:
                found[kind] += row.split("|")
    return dict(found)


@cache
def pattern(name: str) -> re.Pattern[str]:
    """A regular expression of the table."""
    text = table("extraction/rules/patterns.txt").partition(f"\n[{name}]\n")[2]
    return re.compile(text.partition("\n\n")[0].replace("\n", ""))


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of the table."""
    return frozenset(_cues()[f"list: {name}"])


@cache
def _phrases(name: str) -> tuple[str, ...]:
    return tuple(
        cue
        if _SPACELESS.search(cue)
        else f" {cue[:-1]}"
        if cue[-1] == "*"
        else f" {cue} "
        for cue in _cues()[f"list: {name}"]
    )


def says(name: str, low: str) -> bool:
    """Whether a folded text holds a phrase of a list of the table."""
    return any(phrase in low for phrase in _phrases(name))


@cache
def _index(prefix: str) -> tuple[dict[str, set[str]], dict[str, list[tuple[str, str]]]]:
    """Kinds by whole word, and (cue, kind) of longer cues by what they begin with."""
    whole: defaultdict[str, set[str]] = defaultdict(set)
    longer: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    kinds_there = (
        each for each in _cues().items() if each[0].rpartition(": ")[0] == prefix
    )
    for kind, cue in ((kind, cue) for kind, cues in kinds_there for cue in cues):
        if _SPACELESS.search(cue):
            longer[""].append((cue.rstrip("*"), kind))
        elif cue.endswith("*"):
            longer[f"{cue[:3]}*"].append((cue[:-1], kind))
        elif " " in cue:
            longer[cue.split(" ", 1)[0]].append((f" {cue} ", kind))
        else:
            whole[cue].add(kind)
    slips: dict[str, set[str]] = {}
    for cue, kinds in ((cue, kinds) for cue, kinds in whole.items() if len(cue) > 5):
        for i in range(
            1, len(cue)
        ):  # a letter left out, or two exchanged, behind the first
            turned = cue[:i] + cue[i : i + 2][::-1] + cue[i + 2 :]
            slips |= {cue[:i] + cue[i + 1 :]: kinds, turned: kinds}
    known = {word: set[str]() for word in listed("stop")} | whole
    return {**slips, **known}, dict(longer)


@lru_cache(maxsize=1 << 16)
def _of_word(
    prefix: str, word: str
) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    whole, longer = _index(prefix)
    stems = {
        kind for cue, kind in longer.get(f"{word[:3]}*", ()) if word.startswith(cue)
    }
    return frozenset(whole.get(word, set()) | stems), tuple(longer.get(word, ()))


def kinds_of(low: str) -> set[str]:
    """What the words of a folded sentence show."""
    found: set[str] = set()
    for word in low.split():
        kinds, phrases = _of_word("", word)
        found |= kinds
        if phrases:
            found.update(kind for cue, kind in phrases if cue in low)
    if not low.isascii() and _SPACELESS.search(low):
        found.update(kind for cue, kind in _index("")[1][""] if cue in low)
    return found


def begins(low: str) -> set[str]:
    """What a folded sentence begins with, after fillers: kinds of "begins: ..."."""
    words = low.replace("?", " ").split()
    fillers = listed("filler")
    at = next((i for i, word in enumerate(words[:8]) if word not in fillers), 0)
    rest = f" {' '.join(words[at : at + 6])} "
    kinds, phrases = _of_word("begins", words[at]) if words else (set[str](), ())
    parts = () if low.isascii() else _index("begins")[1][""]
    found = {kind for cue, kind in phrases if rest.startswith(cue)}
    return found.union(kinds, (kind for cue, kind in parts if rest[1:].startswith(cue)))


def content(low: str) -> frozenset[str]:
    """The words of a folded text that say what it is about; of scripts without spaces,
    pairs."""
    stop = listed("stop")
    found = {word.rstrip("s") for word in _WORD.findall(low) if word not in stop}
    if not low.isascii() and _SPACELESS.search(low):
        run = "".join(_SPACELESS.findall(low))
        found |= {run[i : i + 2] for i in range(len(run) - 1)}
    return frozenset(found)

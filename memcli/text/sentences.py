"""Where sentences end: one rule for all that reads, compares, cuts or shows them."""

from collections.abc import Iterable
from itertools import pairwise

from memcli.text.matching import verbose

_MARKS = frozenset("`.!?…:;。！？：；\n")


_WIDE = "…。！？：；“„”¿¡"
"""Signs beyond ASCII that have to do with the end of a sentence. A class with one of
them takes long to compile: most texts have none, and need none in the pattern."""


def _source(*, wide: bool) -> str:
    """What ends a sentence where another begins behind it, what ends a clause, and
    code, in which neither ends; without signs beyond ASCII, or with them (`wide`)."""
    stop = "| (?<=[。！？]) [」』”）]*" if wide else ""
    colon = "| (?<=[：；])" if wide else ""
    pattern = rf"""
        [`.!?…:;。！？：；\n]
        (?: (?P<code> (?<=`) (?<![\w`]`) `* [^`\n]+ `+ )
            # before a word, a quotation or code, not before an aside (as here); not
            # behind an abbreviation, the number of an item, or a dot that is a folder
            # ("black .", "./...")
          | (?<=[.!?…])
            (?<!\be\.g\.) (?<!\bi\.e\.) (?<!\betc\.) (?<!\bvs\.) (?<!\bz\.[bB]\.)
            (?<!\bbzw\.) (?<!\bej\.) (?<!\b\d\.)
            (?<![\s/]\.) (?<![\s/]\.\.) (?<!/\.{{3}})
            ["'”)*_]* \s+ (?! \( [a-z] ) (?= ["'“„(\[*_`@¿¡]* [\w`@] )
          {stop}
          | (?P<clause> (?<=[:;]) \s+ {colon} )
            # a line that no mark ends may go on in the next one
          | (?<=\n)
            (?! (?<= [^\n]{{20}} [^\s.!?:;。！？：；] \n ) [ \t]* [a-z`./_(] )
        )
        (?! \Z )
    """
    return pattern if wide else pattern.translate(dict.fromkeys(map(ord, _WIDE)))


@verbose
def _mark() -> str:
    return _source(wide=False)


@verbose
def _wide_mark() -> str:
    return _source(wide=True)


def sentence_ends(text: str, *, clauses: bool = False) -> list[int]:
    """Where each sentence ends and the next one begins; with `clauses` also behind
    colons, which lead to what is asked or told."""
    if _MARKS.isdisjoint(text):
        return []
    others = ("code",) if clauses else ("code", "clause")
    # a sign at the end, as of a text that was cut, has no sentence behind it
    inner = text.removesuffix("…")
    is_wide = not inner.isascii() and any(map(inner.__contains__, _WIDE))
    marks = (_wide_mark() if is_wide else _mark()).finditer(text)
    return [mark.end() for mark in marks if mark.lastgroup not in others]


def cut_at(text: str, ends: Iterable[int]) -> list[str]:
    """A text in parts that end at these places."""
    places = pairwise([0, *ends, len(text)])
    return [text[start:end] for start, end in places if end > start]


def sentence_parts(text: str, *, clauses: bool = False) -> list[str]:
    """The sentences of a text with the blanks between them: together they are the
    text."""
    return cut_at(text, sentence_ends(text, clauses=clauses))


def sentences(text: str, *, clauses: bool = False) -> list[str]:
    """The sentences of a text that are not blank."""
    parts = sentence_parts(text, clauses=clauses)
    return list(filter(None, map(str.strip, parts)))

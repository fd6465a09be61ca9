"""The words that braces in a word of a shell line stand for, as Bash has them. Pure.

While a word is read, signs stand in it for what its quotes hide from a shell: braces and
commas, and two quotes with nothing between them."""

import re
from collections.abc import Sequence

from memcli.named import NamedTuple
from memcli.text.matching import verbose
from memcli.text.shell_values import MOST_COMMANDS, EndlessError

MOST_STEPS = 21
"""A range with more steps stands for any text."""
MOST_CHARACTERS = 20_000_000
"""So many characters are written of all that one word stands for."""
_HIDDEN = {ord(sign): 0xE000 + ord(sign) for sign in "{,}."}
_EMPTY = "\ue022"
"""What stands for two quotes with nothing between them."""
_SHOWN = {ord(_EMPTY): "", **{other: chr(sign) for sign, other in _HIDDEN.items()}}


def hidden(text: str) -> str:
    """What stands for a text that is quoted, or put in for something."""
    return text.translate(_HIDDEN) or _EMPTY


def shown(text: str) -> str:
    """A text with what its quotes hid."""
    return text.translate(_SHOWN)


class _Level(NamedTuple):
    """Braces that are open: the texts before them, and what they stand for so far."""

    before: list[str]
    choices: list[str]

    def add(self, texts: list[str], most: int, *, is_last: bool) -> None:
        """Take in what stands before a comma, or before the end."""
        is_range = is_last and not self.choices and len(texts) == 1
        self.choices.extend(_steps(texts[0]) if is_range else texts)
        if len(self.before) * len(self.choices) > most:
            raise EndlessError


def unbraced(word: str) -> list[str]:
    """The words that one stands for (`a{b,c}`, `{1..3}`); a long range stands for any
    text. What is empty and not quoted is no word."""
    if "{" not in word:
        return [shown(word)]
    most = min(MOST_COMMANDS, MOST_CHARACTERS // len(word))
    texts = [""]
    levels: list[_Level] = []
    for piece in re.split("([{},])", _without_plain_signs(word)):
        if piece == "{":
            levels.append(_Level(before=texts, choices=[]))
            texts = [""]
        elif piece in (",", "}"):
            levels[-1].add(texts, most, is_last=piece == "}")
            texts = [""]
            if piece == "}":
                before, choices = levels.pop()
                texts = [start + choice for start in before for choice in choices]
        else:
            texts = [text + piece for text in texts]
    return [shown(text) for text in texts if text]


def _without_plain_signs(word: str) -> str:
    """A word in which the braces and commas that stand for themselves are hidden."""
    pieces = re.split("([{},])", word)
    active = _SignReader(pieces).active_places()
    for place in range(1, len(pieces), 2):
        if place not in active:
            pieces[place] = hidden(pieces[place])
    return "".join(pieces)


class _OpenBrace:
    """A brace that is not closed yet, and what stands right within it so far."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.commas: list[int] = []
        self.has_dots = False


class _SignReader:
    """Finds the braces and commas that stand for several words, as Bash does, but in one
    pass. Every other piece of the word is such a sign."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = pieces
        self.active: set[int] = set()
        self.opened: list[_OpenBrace] = []
        self.last_comma = 0

    def active_places(self) -> set[int]:
        """Where they stand among the pieces."""
        for place in range(1, len(self.pieces), 2):
            sign = self.pieces[place]
            before = self.pieces[place - 1]
            if self.opened and ".." in (before[:-1] if sign == "}" else before):
                self.opened[-1].has_dots = True
            if sign == "{":
                self.opened.append(_OpenBrace(place))
            elif self.opened and sign == ",":
                self.opened[-1].commas.append(place)
                self.last_comma = place
            elif self.opened:
                self._close(place)
        return self.active

    def _close(self, place: int) -> None:
        """End the innermost braces, if they end here."""
        brace = self.opened[-1]
        is_one_word = not brace.commas and not brace.has_dots
        is_alone = place - brace.place == 2
        is_outermost = len(self.opened) == 1
        if is_one_word and is_outermost and not (is_alone and self._is_empty(place)):
            return  # a later brace may end them: `{a},b}` stands for `a}` and `b`
        self.opened.pop()
        is_list = not is_one_word and self.last_comma > brace.place
        if is_list or (is_alone and _range().fullmatch(self.pieces[place - 1])):
            self.active.update((brace.place, *brace.commas, place))

    def _is_empty(self, place: int) -> bool:
        """Whether `{}` ends here, with nothing before it."""
        is_first = place == 3 or place - 4 in self.active
        return is_first and not self.pieces[place - 3] and not self.pieces[place - 1]


@verbose
def _range() -> str:
    """The first and the last of a range, and the length of a step."""
    return r"( [-+]? \w+ ) \.\. ( [-+]? \w+ ) (?: \.\. ( [-+]? [0-9]{1,9} ) )?"


@verbose
def _number() -> str:
    """A whole number."""
    return r"[-+]? [0-9]{1,9}"


@verbose
def _padded() -> str:
    """The begin of a number with a zero before other digits."""
    return r"-? 0 [0-9]"


def _steps(written: str) -> Sequence[str]:
    """What a range stands for."""
    first, last, step = _range().findall(written)[0]
    length = abs(int(step or 1)) or 1
    if len(first) == len(last) == 1 and first.isalpha() and last.isalpha():
        return [chr(code) for code in _counted(ord(first), ord(last), length)]
    ends = (first, last)
    if not all(map(_number().fullmatch, ends)):
        return ["*"]
    counted = _counted(int(first), int(last), length)
    if len(counted) > MOST_STEPS:
        return ["*"]
    # A zero before other digits makes all as wide as the widest end.
    is_padded = any(map(_padded().match, ends))
    width = max(map(len, ends)) if is_padded else 1
    return [f"{number:0{width}}" for number in counted]


def _counted(first: int, last: int, length: int) -> range:
    """The numbers from one to another, up or down."""
    way = 1 if first <= last else -1
    return range(first, last + way, way * length)

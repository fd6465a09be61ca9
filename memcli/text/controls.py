"""Text without what hides or steers (controls, private parts, secrets, orders), and as
a quote."""

import re
from collections.abc import Callable, Iterator, Sequence

from memcli.text.injections import neutralise_once
from memcli.text.matching import regex, replaced, settle, verbose
from memcli.text.secrets import redact_once, redact_secrets

_UNSEEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    r"\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that show nothing (Unicode calls most of them Default_Ignorable_Code_Point,
a property that Python does not have), or turn the direction; for a class of a pattern."""
_JOINING = (
    r"\u0600-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u180a\u1810-\u18af\u1b00-\u1bff"
    r"\ua8e0-\ua8ff\ufb50-\ufdff\ufe70-\ufefc"
)
"""Letters of the scripts in which a joiner between two of them shows."""
_EMOJI = r"\u2190-\u2bff\U0001f000-\U0001faff"
_BLANK = (
    "\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    "\U00016fe4\U0001d159"
)
"""Letters and marks that show nothing, though Unicode counts them as printable."""


@verbose
def suspect() -> str:
    """Whatever `strip_controls` takes out or changes may be in a text that has this."""
    return rf"""
        [{_UNSEEN}\u200c\u200d\u2028\u2029\u2800\ud800-\udfff]
      | {_selecting().pattern}
    """


@verbose
def _selecting() -> str:
    """A mark that selects how the sign before it looks, where there is none that has
    several looks: behind another, behind a letter, or behind a digit that is no key."""
    return r"""
        (?<= [\ufe00-\ufe0fA-Za-z\u00c0-\u058f] ) [\ufe00-\ufe0f]++
      | (?<= [0-9] ) [\ufe00-\ufe0f]++ (?! \u20e3 )
    """


@verbose
def _unseen() -> str:
    """A blank of Braille stands between words of Braille alone."""
    braille = r"[\u2801-\u28ff]"
    return rf"""
        [{_UNSEEN}]++
      | (?<! \u2800 )    # a run is looked at once, where it begins
        (?: (?<! {braille} ) \u2800++ | \u2800++ (?! {braille} ) )
    """


@verbose
def _escape_sequence() -> str:
    """What a terminal would obey."""
    return r"""
        (?: \x1b\[ | \x9b ) [0-?]*+ [\ -/]*+ [@-~]       # CSI: colours, the cursor
      | (?: \x1b[\]PX^_] | [\x90\x98\x9d\x9e\x9f] )      # OSC, DCS and the like …
        [^\n\x07\x1b\x90\x98\x9c-\x9f]*+
        (?: \x07 | \x1b\\ | \x9c )                       # … to their end
      | \x1b [\ -/]*+ [0-~]                              # the short ones
    """


@verbose
def _joiner() -> str:
    """A joiner where it shows, or, in group 1, where it does not."""
    return rf"""
        (?<=[{_JOINING}]) [\u200c\u200d] (?=[{_JOINING}])
      | (?<=[{_EMOJI}\ufe0f]) \u200d (?=[{_EMOJI}])
      | ([\u200c\u200d]++)
    """


def _is_plain(text: str) -> bool:
    """A quick look, which is sure when it says yes: only printable characters, and
    no mark that joins or selects (UTF-8)."""
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return False
    if text.isascii():
        return True
    data = text.encode()
    marked = any(mark in data for mark in (b"\xcd\x8f", b"\xef\xb8", b"\xf3\xa0"))
    return not marked and not any(blank in text for blank in _BLANK)


def strip_controls(text: str) -> str:
    """`text` without control, escape, bidi and zero-width characters; line ends become
    newlines."""
    if _is_plain(text) or not suspect().search(text):
        return text
    text = regex("\r\n?|[\u2028\u2029]").sub("\n", text)
    text = _escape_sequence().sub("", text)
    text = _unseen().sub("", text)
    text = _joiner().sub(lambda joiner: "" if joiner[1] else joiner[0], text)
    text = _selecting().sub("", text)
    return regex("[\ud800-\udfff]").sub("\ufffd", text)


for_display = strip_controls  # text that is safe to print on a terminal
PRIVATE_TAG = r"(?i)<\s{0,8}(/?)\s{0,8}private\s{0,8}>"
"""Begins a private part, or ends it where the group is not empty."""


def strip_private(text: str, *, lines: bool = False) -> str:
    """`text` without `<private>...</private>`; a part without an end is dropped to
    the end of the text. With `lines` the line ends in the parts stay."""
    if "<" not in text:
        return text
    parts, opened = _private_parts(text)
    if not parts and opened is None:
        return text
    dropped = [
        (start, end, "\n" * text.count("\n", start, end) if lines else "")
        for start, end in parts
    ]
    result = replaced(text[:opened], dropped)
    # Dropping a part may join halves of another tag: what follows was meant to be
    # hidden.
    for tag in regex(PRIVATE_TAG).finditer(result):
        if not tag[1]:
            return result[: tag.start()]
    return result


def _private_parts(text: str) -> tuple[list[tuple[int, int]], int | None]:
    """Where the private parts begin and end, and where one begins that has no end."""
    parts = []
    opened = None
    depth = 0
    for tag in regex(PRIVATE_TAG).finditer(text):
        if not tag[1]:
            opened = tag.start() if opened is None else opened
            depth += 1
        elif opened is not None:
            depth -= 1
            if depth == 0:
                parts.append((opened, tag.end()))
                opened = None
    return parts, opened


def fence_safe(text: str, tag: str = "recalled-memory") -> str:
    """`text` in which nothing opens or closes `<tag>`, not even with full-width
    letters or dashes."""
    if not any(map(text.__contains__, "<＜﹤")):
        return text
    dash = "[-_ \u2010-\u2015\u2212\ufe63\uff0d]?"
    name = "".join(
        dash if char == "-" else f"[{char}{chr(ord(char) + 0xFEE0)}]" for char in tag
    )
    # A dangling "<" at the end could open the tag together with whatever is printed
    # next.
    begins_tag = rf"[<＜﹤](?=[\s/\\／]*+(?:{name}|\Z))"
    return regex(begins_tag, re.IGNORECASE).sub("&lt;", text)


MARK = "> "
BLOCK = "block"
SPANS = "spans"
NOTHING = ""
"""What of a line is code."""


_OPENING = r"""
    (?<! \w ) < (?= [A-Za-z/!|?] )
  | < (?= [/!?] | [A-Za-z][\w:-]* [\s/] )            # a tag, no `List<int>`
  | < (?= [A-Za-z][\w:-]+ $ )                        # nor `a<b`, which loads nothing
  | < (?= (?: (?! &lt; ) [^\s<>] )* ` )               # an address holds a backtick
  | (?<! \\ ) (?: \\\\ )* !\[                         # escaped by an odd number
"""
"""Where a tag or an image begins; for a pattern."""
_SPAN = r"(?<! [`\\] ) (`+) (?!`) [^`|]+ \2 (?!`)"
"""Code between backticks, with neither backticks nor cells of a table in it; the run is
group 2 of a pattern."""


@verbose
def _opening() -> str:
    return _OPENING


@verbose
def _code_or_opening() -> str:
    """Code, in group 1, or where a tag or an image begins."""
    return rf"( {_SPAN} ) | {_OPENING}"


@verbose
def _span() -> str:
    return rf"( {_SPAN} )"


@verbose(ignore_case=True)
def _turn() -> str:
    """The `<` of a tag by which a harness marks who speaks, or what a tool said."""
    return r"""
        < (?= [\s/|?!]*
          (?: system | user | assistant | human | developer | tool | function | invoke
            | antml | im_ | command | instruction | reminder | recalled | context
            | result | message | output | parameter | private ) )
    """


@verbose
def fence_line() -> str:
    """A line that opens or closes a block of code."""
    return r"[ ]{0,3} ( `{3,} (?= [^`]* $ ) | ~{3,} ) (.*) $"


@verbose
def _underline() -> str:
    """A line that makes a heading of the one above; group 1 is its indent."""
    return r"(?= \s{0,3} (?: =+ | -+ ) \s* $ ) (\s*)"


def clean_text(text: str) -> str:
    """`text` without controls, private parts and credentials."""
    return redact_secrets(strip_private(strip_controls(text)))


def for_prompt(text: str) -> str:
    """Text that is safe to inject: no controls, private parts, secrets, orders or
    fence."""

    def once(text: str) -> str:
        return fence_safe(neutralise_once(redact_once(strip_private(text))))

    return settle(once, strip_controls(text))


def for_pipe(text: str) -> str:
    """Text for a pipe, where an agent may read it: no controls, secrets or orders, and
    no tag that begins a turn of a conversation."""

    def once(text: str) -> str:
        return _turn().sub("&lt;", neutralise_once(redact_once(text)))

    return settle(once, strip_controls(text))


def quoted(text: str, mark: str = MARK) -> str:
    """`text` with `mark` before each line, tags escaped, and no line that underlines a
    heading."""
    return "\n".join((mark + line).rstrip() for line in _lines(text.splitlines()))


def escaped(line: str, *, code: str = SPANS) -> str:
    """`line` with its tags and images as text, except in code: `<` becomes `&lt;`,
    after a word (`List<int>`) only that of harnesses, and `![` is escaped. An image is
    fetched where it is shown, and its address may carry what the agent knows."""
    if "<" not in line and "![" not in line:
        return line
    if code != BLOCK:
        keeps_spans = code == SPANS and _has_sure_spans(line)
        pattern = _code_or_opening() if keeps_spans else _opening()
        line = pattern.sub(_as_text, line)
    return _turn().sub("&lt;", line)


def _as_text(opening: re.Match[str]) -> str:
    """What begins a tag or an image as text; code as it is."""
    if opening[0] == "<":
        return "&lt;"
    return opening[0] if "`" in opening[0] else f"{opening[0][:-2]}\\!["


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` done to all that is not surely code."""
    lines = text.split("\n")
    changed = []
    for line, code in zip(lines, code_of(lines), strict=True):
        parts = _span().split(line) if code == SPANS else [line]
        parts[::3] = map(change, parts[::3])
        del parts[2::3]  # the backticks alone
        changed.append(line if code == BLOCK else "".join(parts))
    return "\n".join(changed)


def _lines(lines: list[str]) -> Iterator[str]:
    """The lines as a quotation may hold them; in a block of code they stay."""
    before = ""
    for line, code in zip(lines, code_of(lines), strict=True):
        plain = escaped(line, code=code)
        if before.strip() and code != BLOCK:
            plain = _underline().sub(r"\1\\", plain, count=1)
        yield plain
        before = line


def code_of(lines: Sequence[str]) -> Iterator[str]:
    """For each line what of it is code by the rules of CommonMark, whatever list it
    stands in: BLOCK all of it, SPANS what is between its backticks, NOTHING where that
    is not sure. Behind a fence of which it is not sure where it ends nothing is."""
    end = 0
    is_sure = True  # no fence above leaves a doubt
    is_clear = True  # nor do backticks, in this paragraph
    for number, line in enumerate(lines):
        if number < end:
            yield BLOCK
            continue
        if is_sure and (mark := fence_line().match(line)):
            end = _behind_block(lines, number, mark)
            is_sure = end > number
            is_clear = True
            yield BLOCK if is_sure else NOTHING
            continue
        is_clear = not line.strip(" \t") or (is_clear and _has_sure_spans(line))
        yield SPANS if is_sure and is_clear else NOTHING


def _has_sure_spans(line: str) -> bool:
    """Whether each backtick of a line has its pair there, and none behind it can be in
    the address of a link or in a tag."""
    outside = _span().sub(" ", line)
    ends_in_tag = outside[-2:-1] == "<"
    return not ends_in_tag and not any(mark in outside for mark in ("`", "](", "]:"))


def _behind_block(lines: Sequence[str], start: int, opening: re.Match[str]) -> int:
    """The number of the line behind the block that a fence opens; 0 where it may end
    elsewhere: it is not closed, or, in a list, a line may end the item or close it."""
    fence = opening[1]
    indent = opening.start(1)
    for number in range(start + 1, len(lines)):
        line = lines[number]
        stripped = line.lstrip(" ")
        is_within = len(line) - len(stripped) >= indent
        mark = fence_line().match(line)
        if is_within and mark and closes(mark, fence):
            return number + 1
        ends_item = not is_within and line.strip(" \t")
        if ends_item or (indent and stripped.startswith(fence)):
            return 0
    return 0


def fence_behind(line: str, fence: str) -> str:
    """The fence of a block of code that is open behind a line, "" for none; `fence` is
    the one open before it."""
    may_be_fence = "```" in line or "~~~" in line
    mark = fence_line().match(line) if may_be_fence else None
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    return "" if closes(mark, fence) else fence


def closes(mark: re.Match[str], fence: str) -> bool:
    """Whether a line of a fence closes the block that `fence` opened."""
    return mark[1].startswith(fence) and not mark[2].strip(" \t")


def named(name: str) -> str:
    """The name of a file, a person or a project as a fact: in backticks where it holds
    more than names do, and without what separates facts."""
    if re.fullmatch(r"[\w ./@~:+'#-]{0,200}", name):
        return name
    plain = re.sub(r"[`,·\s]+", " ", name)
    return f"`{plain}`"

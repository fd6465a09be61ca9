"""Credentials by their shape, their place or their name, and text without them."""

import re
from bisect import bisect, bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import zip_longest

from memcli.named import NamedTuple
from memcli.text import matching
from memcli.text.chosen import (
    STOPS,
    is_chosen,
    is_drawn,
    is_filler,
    is_masked,
    is_random,
    is_wordlike,
)
from memcli.text.likely_secrets import HINTS, kinds_of, likely_secrets, picked_alone
from memcli.text.matching import Hints, Literals, Span, lowered, regex, verbose
from memcli.text.private_keys import private_keys
from memcli.text.secret_rules import PHRASES, PLACES, PROSE
from memcli.text.token_rules import NUMBERS, TOKENS

_NAME_WORDS = ("pass", "pw", "secret", "token", "credential", "key", "mdp")
_NOTICE = "[secret removed"  # stands in the place of a credential
_PRIVATE = "private key"
_VERBS = ("pass", "pw", "mdp")
"""Names of a password that are also words or parts of words."""
_NEAR = 200, 800
"""How far before and behind its hint the match of a place or of prose may reach."""


@verbose
def _escape() -> str:
    """What is written for a character, or stands before a value, and is none of it."""
    return r"% [0-9A-Fa-f]{2} | \\u [0-9A-Fa-f]{4} | \\[nrt] | (?<=\s) -p"


def redact_secrets(text: str) -> str:
    """`text` with every credential replaced by a notice that names its kind."""
    return matching.settle(redact_once, text)


def redact_once(text: str) -> str:
    """`redact_secrets` without a second look at what the notices joined."""
    return matching.replaced(
        text,
        [
            (span.start, span.end, f"{_NOTICE}: {span.kind}]")
            for span in find_secrets(text)
        ],
    )


def is_redacted(text: str) -> bool:
    """Whether a credential was replaced in a text."""
    return _NOTICE in text


class _Group(NamedTuple):
    """Rules with one kind of proof. `small` rules have their hints in small letters;
    what they find is passed over where `innocent` holds for it. `numbers` find nothing
    in a text without one."""

    hints: Hints
    small: bool
    innocent: Callable[[str], bool]
    numbers: bool = False


@cache
def _groups() -> tuple[_Group, ...]:
    def unproven(value: str) -> bool:
        return is_drawn(value.rstrip(STOPS)) or not is_chosen(value)

    tokens = matching.indexed(TOKENS)
    numbers = matching.indexed(NUMBERS)
    listed = matching.shapes("text/token_shapes.txt")
    phrases = matching.indexed(PHRASES)
    places = matching.indexed(PLACES)
    prose = matching.indexed(PROSE)
    return (
        _Group(hints=tokens, small=False, innocent=is_masked),
        _Group(
            hints=numbers,
            small=False,
            innocent=is_masked,
            numbers=True,
        ),
        _Group(hints=listed, small=False, innocent=is_masked),
        _Group(hints=phrases, small=True, innocent=is_drawn),
        _Group(hints=places, small=True, innocent=is_filler),
        _Group(hints=prose, small=True, innocent=unproven),
    )


@cache
def _sought() -> Literals:
    """All hints of credentials."""
    exact = [hint for group in _groups() if not group.small for hint in group.hints.at]
    small = [hint for group in _groups() if group.small for hint in group.hints.at]
    return Literals(exact, (*small, *HINTS, *_NAME_WORDS, _PRIVATE))


def find_secrets(text: str) -> list[Span]:
    """The credentials in `text`, as it stands and as its codes of characters (`%2D`)
    are meant: ascending, disjoint, the more specific kind first choice."""
    plain = _find_plain(text)
    codes = [*_coded().finditer(text)] if "%" in text else []
    if not codes:
        return plain
    decoded = _coded().sub(lambda code: chr(int(code[1], 16)), text)
    places = [code.start() - 2 * number for number, code in enumerate(codes)]
    meant = (
        secret._replace(
            start=secret.start + 2 * bisect_left(places, secret.start),
            end=secret.end + 2 * bisect_left(places, secret.end),
        )
        for secret in _find_plain(decoded)
    )
    return _joined([*plain, *meant])


@verbose
def _coded() -> str:
    """A letter, a digit or a sign of a token, by its number: as nobody writes them."""
    return r"% ( 2[Dd] | 3[0-9] | 4[1-9A-Fa-f] | 5[0-9AaFf] | 6[1-9A-Fa-f] | 7[0-9Aa] )"


def _find_plain(text: str) -> list[Span]:
    there = _sought().within(text)
    if not there:
        return list(picked_alone(text))
    going_on = [each.span() for each in _goes_on().finditer(text)]
    text = text.replace("\\\n", "  ")  # a line that goes on is one line
    if "s:" in text or "c:" in text:  # four times faster than the pattern
        text = _handle().sub(lambda handle: "h" * len(handle[0]), text)
    lowered_text = lowered(text)
    keys = private_keys(text) if _PRIVATE in lowered_text else ()
    candidates = (
        *keys,
        *_shaped(text, lowered_text, there),
        *_assigned(text, lowered_text, there),
        *_broken(text, there, going_on),
        *picked_alone(text),
        *likely_secrets(text, lowered_text, there),
    )
    return _joined(candidates)


@verbose
def _handle() -> str:
    """What names an exchange or a commit of history, whatever stands before it. The
    first sign stands ahead of what looks behind it: it is found faster."""
    return r"""
        (?: s (?<! [^\s(] . ) : [0-9a-f]{7,16} \. \d+ | c (?<! [^\s(] . ) : [0-9a-f]{7,40} )
        (?= [\s.,;)] | \Z )
    """


def _joined(candidates: Iterable[Span]) -> list[Span]:
    """Spans in order; those that overlap are one, of the kind that came first."""
    result: list[Span] = []
    for secret in sorted(candidates, key=lambda span: span.start):
        if result and secret.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, secret.end))
        else:
            result.append(secret)
    return result


@verbose
def _drawn_line() -> str:
    """A line in which a word that a program drew may end."""
    return r"""
        \n [ \t>|\#*"'+]*
        (?= [A-Za-z+/_-]{0,40} \d [\w+/=-]{2,} ["']? [ \t,;)+]* (?: \n | \Z ) )
    """


@verbose
def _break() -> str:
    """The end of a line in a word that a program drew, with the marks around it."""
    return rf"""
        (?<= [\w+/=-]{{16}} ) ["']? [ \t]* \+? \r? {_drawn_line().pattern}
    """


def _breaks(text: str) -> Iterator[tuple[int, int]]:
    """Where `_break` matches: looked for in the lines alone that may go on so."""
    for drawn in _drawn_line().finditer(text):
        line = text.rfind("\n", 0, drawn.start()) + 1
        end_of_drawn = text.find("\n", drawn.end()) + 1 or len(text)
        found = _break().search(text, line, end_of_drawn)
        if found is not None:
            yield found.span()


@verbose
def _goes_on() -> str:
    """Where a backslash has a word go on in the next line; it stands ahead of what looks
    behind it."""
    return r"\\ (?<= [\w+/=-] . ) \r? \n (?= [\w+/=-] )"


def _broken(
    text: str, there: Collection[str], going_on: Iterable[tuple[int, int]]
) -> Iterator[Span]:
    """The credentials that go on in another line: where `_breaks` says, or there."""
    breaks = sorted([*_breaks(text), *going_on])
    if not breaks:
        return
    parts = [text[: breaks[0][0]]]
    places = [0]
    for (_, begin), (end, _) in zip(breaks, [*breaks[1:], (len(text), 0)], strict=True):
        places.append(places[-1] + len(parts[-1]))
        parts.append(text[begin:end])
    whole = "".join(parts)
    begins = [0, *(end for _, end in breaks)]

    def place(offset: int) -> int:
        part = bisect(places, offset) - 1
        return begins[part] + offset - places[part]

    low = lowered(whole)
    for span in (*_shaped(whole, low, there), *_assigned(whole, low, there)):
        start = place(span.start)
        end = place(span.end - 1) + 1
        if end - start > span.end - span.start:
            yield Span(span.kind, start, end)


def _shaped(text: str, low: str, there: Collection[str]) -> Iterator[Span]:
    """What a rule finds: a token by itself, other values near to the hint of it."""
    for group in _groups():
        if group.numbers and not _has_number(text):
            continue
        asked = low if group.small else text
        for kind, rule, hints in matching.due(group.hints, asked, there):
            pattern = regex(rule, re.VERBOSE)
            matches = (
                _near(pattern, text, matching.regions(low, hints, *_NEAR))
                if group.small
                else _anywhere(pattern, text)
            )
            for match in matches:
                which = match.lastindex or 0
                if not group.innocent(match[which]):
                    start, end = match.span(which)
                    yield Span(kind, start, end)


def _has_number(text: str) -> bool:
    """Whether four digits stand in a row, or some may that are not ASCII."""
    return not text.isascii() or b"0000" in kinds_of(text)


def _near(
    pattern: re.Pattern[str], text: str, parts: Iterable[range]
) -> Iterator[re.Match[str]]:
    for part in parts:
        yield from pattern.finditer(text, part.start, part.stop)


def _anywhere(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """A token may be long, and stand between escapes."""
    for side in dict.fromkeys((text, _without_escapes(text))):
        yield from pattern.finditer(side)


def _without_escapes(text: str) -> str:
    """`text` with blanks for what stands for another character (`%3D`), as many as it
    has."""
    if "%" in text or "\\" in text or " -p" in text:
        return _escape().sub(lambda escape: " " * len(escape[0]), text)
    return text


@verbose(ignore_case=True)
def _owners() -> str:
    """What makes a key one that opens something."""
    return r"""
        (?: api | access | private | signing | encryption | decryption | validation
          | machine | session | cookie | master | account | auth
          | hmac | deploy | service | shared | license | admin | role | subscription
          | client | consumer | app | storage | ssh | gpg )
        [_ -]? \Z
    """


@verbose(ignore_case=True)
def _assignment() -> str:
    """A name such as `DB_PASSWORD`, from its last word on, and the value behind it."""
    return r"""
        (?P<name> pass(?:word|wd|phrase|code)? | pwd? | mdp | secret | token
          | credentials? | key )
        (?P<suffix> [\w-]{0,40}+ )
        (?P<gap>
          (?: \\{0,3} ["'`] \]? | \*{1,2} )? \s{0,40}+
          (?: (?: :\s{0,2} &?[a-z] [\w.|\[\] ]{0,30}? \s{0,2} )? [?+|]{0,2} ={1,3} >?  # : str =, ?=
            | : =? )
          (?: \s{1,4} (?: [&!]{1,2} [\w:-]{1,30} (?=\s) )               # YAML: &name, !!str
            | \s? [|>] [+-]? (?=\s*\n) )?
          \s{0,12} \*{0,2} \s{0,2}
        | `? \s{0,20} \| \s{0,4}                                      # a table's cell
        | [ ] | ["']? > | ["']?,\s{0,2}                                # an attribute, an argument
        | ["']? \s{0,2}
          (?: \n \s{0,20} value: \s{1,4}                              # name: …, value: …
            | [^<>\n"']{0,40} (?: "[^<>\n"]{0,40}" )? \s? > \s{0,20} <value>
            | \s? [:=] \s? [\w.()\[\]]{1,60} \s (?: \|\| | \?\? | or ) \s
            | ,? \s{1,4} "?value"? \s{0,2} [=:] \s{0,2}
            | \{ (?: \s{1,20} (?: type | sensitive | description ) \s{0,20} =
                [^\n}]{0,80} ){0,3}
              \s{1,20} default \s{0,20} = \s{0,4} ) )
        (?P<value>
          \\{0,3} (?: [bruN] | \[\]byte\( | \w{0,12}[Ss]tring\( )? (?: "(?P<double> [^"\n]{1,400}? ) \\{0,3} "
            | '(?P<single> [^'\n]{1,400}? ) \\{0,3} ' )
        | ["'`]? (?P<bare> [^\s"'`,;<>&()\[\]{}]{1,160} ) )
    """


@verbose
def _metadata() -> str:
    """What a name ends with that tells something about a secret, not the secret."""
    return r"""
        hash(?:ed)? | digest | ids? | names? | ur[il] | path | files? | dir | counts?
      | types? | ttl | expir(?:y|es|ation) | length | len | size | limits? | budget
      | fields? | headers? | env | var | prefix | suffix | regex | pattern | policy
      | rotation | alg(?:orithm)? | scopes? | endpoint | label | hint | placeholder
      | reset | manager | store | provider | class | version | min | max | format
      | encoding | bucket | rate | usage | ref | arn | index | position | offset
      | stream | kind | status | validator | strength | required | issuer | audience
      | colou?rs? | maps? | protected
    """


@verbose
def _before_name() -> str:
    """What stands before `pass` and `pw` where they are a name, and no verb."""
    return (
        r""" (?: [_.-] | ["'\[{(,;|*]\s? | (?:^|\n)[ \t#/*>+-]* | [a-z](?=\Z) ) \Z """
    )


@verbose
def _bare_value() -> str:
    """What a value without quotes may go on with."""
    return r"""[^\s"'`,;<>&()\[\]{}]*+"""


class _Assignment(NamedTuple):
    """A value behind a name: what stands between the two, and where the value is."""

    name: str
    gap: str
    bare: bool
    start: int
    end: int


def _assigned(text: str, low: str, there: Collection[str]) -> Iterator[Span]:
    """The values that stand behind a name such as `DB_PASSWORD=`."""
    covered = 0
    for begin, value in _assignments(text, low, there):
        if begin < covered or not _holds_a_secret(value, text):
            continue
        covered = value.end
        if value.bare:
            rest = _bare_value().match(text, covered)
            covered = rest.end() if rest else covered
        yield Span(_kind_of(value.name), value.start, covered)


def _assignments(
    text: str, low: str, there: Collection[str]
) -> Iterator[tuple[int, _Assignment]]:
    """Where the name of a secret begins, and the value behind it.

    A bare value ends, for its judgement, where the next such name begins: else a run
    of names (`pwd:pwd:pwd:`) would be judged anew from each of them."""
    words = [word for word in _NAME_WORDS if word in there]
    places = matching.places_of(words, low)
    tried = (_assignment().match(text, place) for place in places)
    named = [match for match in tried if match and _names_a_secret(match, text)]
    for match, after in zip_longest(named, named[1:]):
        following = after.start() if after else len(text)
        yield match.start(), _value_of(match, following)


def _value_of(match: re.Match[str], following: int) -> _Assignment:
    """The value of a name; a bare one ends at the `following` name."""
    group = next(
        group for group in ("double", "single", "bare") if match[group] is not None
    )
    start, end = match.span(group)
    if group == "bare" and start <= following < end:
        end = following
    return _Assignment(
        name=match["name"],
        gap=match["gap"],
        bare=group == "bare",
        start=start,
        end=end,
    )


def _kind_of(name: str) -> str:
    low = name.lower()
    if low.startswith("p") or low == "mdp":
        return "password"
    return "api-key" if low == "key" else low.rstrip("s")


def _names_a_secret(match: re.Match[str], text: str) -> bool:
    """`password`, `DB_PASS`, `apiKey` do, `token_url`, `compass`, `sort_key` do not."""
    before = text[max(0, match.start() - 80) : match.start()]
    if not _gap_fits(match, before) or not _is_whole_name(match["name"], before):
        return False
    in_template = before.rfind("{{") > before.rfind("}}")
    if in_template or regex(r"\barn:[\w:*-]*\Z").search(before):
        return False
    return _suffix_fits(match["name"], match["suffix"])


def _is_whole_name(name: str, before: str) -> bool:
    """Whether what stands before `key` or `pass` leaves it the name of a secret."""
    low = name.lower()
    if low == "key":
        return _owners().search(before) is not None
    if low in _VERBS and not _before_name().search(before):
        return before[-1:].islower() and name[0].isupper()
    return True


def _suffix_fits(name: str, suffix: str) -> bool:
    """Whether what the name ends with leaves it the name of the secret itself."""
    if suffix[:1].isalpha():
        is_hump = name[-1].islower() and suffix[0].isupper()
        if not is_hump:
            return False
    words = regex(r"[A-Z]?[a-z]+|[A-Z]+").findall(suffix)
    return not any(_metadata().fullmatch(word.lower()) for word in words)


def _gap_fits(match: re.Match[str], before: str) -> bool:
    """Whether a value may follow a space (`--password x`, `set key x`, `password "x"`),
    the end of a tag (`<password>x`, `<p name="password">x`) or a comma
    (`define('PASSWORD', 'x')`)."""
    if match["gap"] == ">":
        return regex(r"<[\w.:-]*\Z").search(before) is not None
    if match["gap"][-1:] == ">" and match["gap"][0] in "\"'":
        return regex(r"(?i:name|key|id)=[\"'][\w.:-]*\Z").search(before) is not None
    if match["gap"].strip(" \"'") == ",":
        return match["bare"] is None
    if match["gap"] != " ":
        return True
    is_option = regex(r"(?:-[\w.-]*|\b(?:set[xg]?|ENV|ARG)\s+[\w.-]*)\Z").search(before)
    return is_option is not None or match["bare"] is None


def _holds_a_secret(assignment: _Assignment, text: str) -> bool:
    """Whether the value of a name reads as a secret."""
    value = text[assignment.start : assignment.end].strip()
    password = _kind_of(assignment.name) == "password"
    if is_drawn(value.rstrip(STOPS)):
        return False
    if assignment.bare:
        is_call = text[assignment.end : assignment.end + 1] in ("(", "[", "{")
        return not is_call and _is_bare_secret(assignment, value, password=password)
    if any(char.isspace() for char in value):
        is_phrase = "=" in assignment.gap and len(value) >= 12
        return password and is_phrase and "pass" not in value.lower()
    return _is_quoted_secret(assignment, value, password=password)


def _is_bare_secret(assignment: _Assignment, value: str, *, password: bool) -> bool:
    """Whether one word without quotes reads as a secret."""
    if not password:
        return is_random(value)
    is_set = assignment.gap == "=" and assignment.name.isupper() and len(value) >= 6
    is_word = is_set and value.isalpha()  # PASSWORD=whiteduke
    return is_word or is_chosen(value)


def _is_quoted_secret(assignment: _Assignment, value: str, *, password: bool) -> bool:
    """Whether one word in quotes reads as a secret."""
    is_verb = assignment.name.lower() in _VERBS
    if is_verb or assignment.gap.strip(" \"'") in ("", ","):
        return is_chosen(value)
    if password and not value.startswith(("/", "~/", "./")):
        return len(value) >= 4
    return len(value) >= 8 and not is_wordlike(value)

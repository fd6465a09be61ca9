"""Secrets that no rule of a layout names, by how they look and what their line is
about.

What is drawn by a program, or has letters, digits and signs in it as chosen passwords
have, is rare in what people and agents write: in 268,000 lines of manuals and
changelogs one line in 20,000 has such a value and a word for access beside it. So the
layout may be any: where a line speaks of access, a value that looks so goes."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain, islice, starmap

from memcli.text.chosen import (
    is_chosen,
    is_code,
    is_drawn,
    is_random,
    is_surely_drawn,
    looks_random,
)
from memcli.text.matching import Span, places_of, regex, verbose

_LEET = str.maketrans("013457@$", "oieastas")
HINTS = tuple(
    "pass pw psk cred auth secret token login wifi wi-fi dsn unlock clave"
    " community user account basic proxy admin root connect vault salt seed key"
    " logon bearer hmac fernet cipher encrypt decrypt cookie register access private"
    " 密码 密碼 パスワード 비밀번호 парол".split(" ")
)
"""What one of must occur in a text, in small letters, before its lines are looked at."""
MOST_PARTS = 6
"""Parts of one word, between its colons and the like, that are looked at."""
_BEFORE = 80
"""Characters before a value of one alphabet in which its name must stand."""
LONGEST = 2000
"""Characters of a line about each word for access that are looked at."""


@verbose(ignore_case=True)
def _access() -> str:
    """Words that say that a line is about access; one that runs on in digits and letters
    is a name itself (token3x46)."""
    return r"""
        (?-i: (?<![a-z]) | (?<=[a-z]) (?=[A-Z]) )  # getToken, siteKEY
        (?: (?P<password>
              # of one end: to compile it takes as long as ten words
              (?: (?: (?: pass (?: word | wort | wd | phrase | code )? s? | pwd? | psk )
                  | creds? | auth(?:tok)? | secrets? | tokens? | log (?:in|on)
                  | root pw | clave ) (?![a-z])
                | credentials? | wi-?fi | dsn | bearer | fernet | cipher | unlock
                | community ) (?! \d+ [a-z] ) )
          | (?: users? (?:name)? | admin | root | salt | seed | keys? | cookie
              | register | access | private ) (?![a-z])
          | account | basic | proxy | connect | vault | keygen | hmac
          | (?: en | de ) crypt )
      | (?P<foreign> 密码 | 密碼 | パスワード | 비밀번호 | парол
        | (?: (?<=[_a-z]) (?-i: [Pp]ass | [Pp]assword | Key )
            | secret [ ]? (?: key | token ) | (?<=_) (?: key | auth )
            | (?-i: Connection ) ) (?![a-z])
        | (?<=[_a-z]) (?: token | secret | password ) (?= ["']? \s? [=:] ) )  # mytoken=
      | (?<=[a-z]) key (?= ["']? \s? [=:] )  # sitekey=
    """


@verbose(ignore_case=True)
def _public() -> str:
    """Words that say that what looks drawn may be known to everybody."""
    return r"""
        (?<! hmac [-_(] ) (?<! hmac \( ['"] ) (?<! ,[ ] ) sha-?\d
      | integrity | checksum | digest | fingerprint | md5 | e-?tag | hash (?!icorp)
      | \b h1: | sec-websocket | (?P<open> public | certificate | websocket ) | (?P<commit> commit | revision )
      | ssh-(?: rsa | ed25519 | dss ) | ecdsa-sha
      | ENC\[ | \{[\w+/]{12,}=+\} | data: | uuid | csp | nonce | \bblob\b | known_hosts | base64,
    """


@verbose
def _word() -> str:
    """The address of a robot at GitHub, or what stands between blanks, quotes and
    brackets."""
    return r"""
        \d{1,12} \+ [\w-]{1,39} \[bot\]@users\.noreply\.github\.com (?![\w.-])
      | [^\s"'`“”„«»「」『』<>(){}\[\],;|\\，。：；（）]{7,400}+
    """


@verbose
def _mixture() -> str:
    """A digit, or a capital within letters; or a very long word."""
    return r"\d | [a-z][A-Z] | \w{20}"


@verbose
def _mark() -> str:
    """Where a part of a word may begin: behind a name, a path or a user."""
    return r"(?<=[\w!#$%*+?@^~.-]) (?: := | [:=/%] )"


@verbose(ignore_case=True)
def _opener() -> str:
    """The end of what stands before a value of one alphabet: a word for what it opens,
    and some words between the two at most."""
    return r"""
        (?<! public[ _-] ) (?<! public ) (?<! cache[ _-] ) (?<! sort[ _-] ) (?<! primary[ _-] )
        (?<! object[ _-] ) (?<! partition[ _-] ) (?<! idempotency[ _-] ) (?<! foreign[ _-] )
        (?: (?-i: (?<![a-z]) | (?<=[a-z]) (?=[A-Z]) )
          | (?<=[a-z]) (?= (?: key | token | secret | password ) ["']? \s? [=:] )
          | (?<=secret) )
        (?: key | token | secret | psk | log[ ]?in | salt | seed | auth | access | private
          | credential | bearer | pass (?: word | phrase | code | wd )? | pwd | pat ) s?
        (?! [a-z] )
        (?: ["'`]? \s? [:=]? \s? (?: is | are | was | to | value ) (?!\w) )?
        (?P<between> (?: [^\w.!?]* \w{1,24} ){1,3}? )?? [^\w.!?]{0,12} \Z
    """


@verbose(ignore_case=True)
def _one_alphabet() -> str:
    """A number in hex, a UUID, or letters of one case and digits."""
    return r"""
        (?: 0x )? [0-9a-f]{20,128}
      | [0-9a-f]{8} (?: - [0-9a-f]{4} ){3} - [0-9a-f]{12}
      | (?-i: [a-z0-9]{20,128} | [A-Z0-9]{20,128} )
    """


@verbose
def _signed() -> str:
    """Letters and digits with a sign among them that is no part of code."""
    return r"""(?=[^A-Za-z]*[A-Za-z]) (?=\D*\d) (?=.*[!#$%&*+=?@^~]) .{7,40}"""


@verbose
def _notation() -> str:
    """What has signs, letters and digits by its grammar: an option, an anchor, a
    package, a handle, lines of a file, a number of an issue, a sum, a format, a query."""
    return r"""
        @ [\w./\\-]+ \. [a-z]\w{0,7} : \d+ (?: - \d+ )?
      | [-+@\#$%&*=?^~!:] [-+@\#$%&*=?^~!:]* [\w.-]* [-=]*
      | --? [\w-]+ = .* | [\w./-]+ \# [\w.-]+ | [\w./-]+ @{1,2}
        (?! \d{3,} \Z | (?=\w*[a-z]) (?=\w*[A-Z]) \w{8,} \Z )
        (?: [a-z^~v\d][\w^~-]* | [\w.^~-]+ \. [\w.^~-]+ )
      | (?! \d ) [\w.-]* [A-Za-z] \w* = \w* (?: & .* )? | [\w.-]* \? [a-z_]+ (?: = .* )?
      | (?: [a-z_]+ | \d{1,3} | [a-z]\w{0,2} ) (?: [+*=&] (?: [a-z_]+ | \d{1,3} | [a-z]\w{0,2} ) )+
      | .* (?: % [0-9A-F]{2} (?!\d) | % \d* [a-z] | \$ [A-Za-z_] | \# \{ | \w+\?\w+= | == | \+\+ | && | !=| \?\. | \?: ) .*
      | \$ \w{1,8} \$ .* | CVE- .*
      | [a-z][a-z\d-]* - [a-f\d]{8,10} - [a-z\d]{5}
      | [A-Z][A-Z0-9]* _ \w* = .* | [\w-]+ (?: \. [\w-]+ )+ [!?*+#]* | v? \d .* [%+~]
    """


@verbose
def _mixed() -> str:
    """Letters with digits or capitals among them, of the alphabets of tokens."""
    return r"""
        (?= \D* \d | [^A-Z]* [a-z][A-Z] ) (?= [^A-Za-z]* [A-Za-z] )
        [A-Za-z0-9_+/.~-]{8,400} ={0,2}
    """


@verbose
def _name() -> str:
    """A number, a file, or a word with numbers behind it, as programs name pods, hosts
    and branches."""
    return r"""
        (?: 0x )? [\da-fA-F-]+ | .* \. [a-z]{1,5}
      | [a-z]{2,}+ [a-z\d]*+ (?: [-.] (?: [a-z\d]{1,12} | [\da-f]{32,64} ) )+
    """


@verbose
def _picked() -> str:
    """A word with digits behind it or in the place of letters, with or without signs:
    what a password is where the line says that there is one."""
    return r"""
        (?= [!-~]{7,40} \Z ) [!-~]* (?: [A-Z][a-z]{3,} \d{3,} | \d{3,} [!#$%&*+=?@^~]? [A-Za-z]{4,}
          | [A-Za-z][0134][a-z]* [A-Za-z] | [A-Za-z]{2,}[0134][a-z]+ | [!#$%&*+=?@^~] )
        [!-~]*
    """


@verbose
def _alone() -> str:
    """A word, some digits and a sign, or a sign between the two, as nothing but a
    password is written; small words only with signs that are none of code."""
    return r"""
        (?<![\w!\#$%&*+=?@^~/.-])
        (?: (?: [A-Z][a-z]{3,11} \d{2,4} [!\#$%&*+=?@^~] | [a-z]{4,12} \d{2,4} [!$&^] )
          | (?: [A-Z][a-z]{3,11} (?: [!\#$%&*+=?^~] \d\d | @ \d\d\d ) \d{0,2} | [a-z]{4,12} [!$&^] \d{2,4} ) )
        (?![\w!\#$%&*+=?@^~/(.-])
    """


@verbose
def _digits_by_sign() -> str:
    """What every word has that `_alone` finds; most texts have none."""
    return r"[!\#$%&*+=?@^~] (?: \d\d | (?<= \d\d . ) )"


@verbose
def _token() -> str:
    """A long word of the letters of tokens, perhaps behind a short name or some."""
    return r"""
        (?<! [\w./@%+-] ) (?: [A-Za-z]{1,8} \d? [._-] ){0,4}
        (?P<drawn> [A-Za-z0-9_-]{28,200} ={0,2} ) (?! [\w./@+-] )
    """


@verbose
def _said_before() -> str:
    """The short name before a drawn token, which says whose it is."""
    return r"(?: [a-z]{2,8} | [A-Z]{2,8} ) [._-] (?= [A-Za-z0-9_-]{28} )"


@verbose
def _thrice_mixed() -> str:
    """Small letters, capitals and digits, 28 of them at least, with few marks; not what
    OpenCode calls its sessions, messages and their parts."""
    return r"""
        (?! (?: ses | msg | prt ) _ [0-9a-f]{12} [0-9A-Za-z]{14} \Z )
        (?= [^a-z]* [a-z] ) (?= [^A-Z]* [A-Z] ) (?= \D* \d )
        (?: [_-]? [A-Za-z0-9] ){28,} .*
    """


_KINDS = bytes.maketrans(
    b"123456789BCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz_-",
    b"0" * 9 + b"A" * 25 + b"a" * 27,
)
_AS_ONE = bytes.maketrans(b"0A", b"aa")


def kinds_of(text: str) -> bytes:
    """Digits as 0, capitals as A, what else stands in tokens as a, a byte for each
    character: to look there is a hundredth of the work of a pattern."""
    return text.encode("ascii", "replace").translate(_KINDS)


def _lines_with_long_words(text: str, kinds: bytes) -> Iterator[tuple[str, int, int]]:
    """The text, and where a line begins and ends that may hold a `_token`."""
    letters = kinds.translate(_AS_ONE)
    end = 0
    while (place := letters.find(b"a" * 28, end)) >= 0:
        start = text.rfind("\n", end, place) + 1 or end
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield text, start, end


def _may_mix(text: str) -> bool:
    """Whether some word may be a `_mixture`."""
    kinds = kinds_of(text)
    is_mixed = b"0" in kinds or b"aA" in kinds
    return is_mixed or not text.isascii() or b"a" * 20 in kinds.translate(_AS_ONE)


def picked_alone(text: str) -> Iterator[Span]:
    """What looks so much like a password or a token that nothing need speak of access:
    in 262,000 lines of manuals and code no value looks so like the first; of 923 lines
    with hashes, numbers and long words from 70 repositories one value in a hundred is
    like the second, and no secret."""
    kinds = kinds_of(text)
    has_digits = b"00" in kinds or not text.isascii()
    if has_digits and _digits_by_sign().search(text):
        for found in _alone().finditer(text):
            yield Span("password", start=found.start(), end=found.end())
    lines = _lines_with_long_words(text, kinds)
    for token in chain.from_iterable(starmap(_token().finditer, lines)):
        drawn = token["drawn"]
        if not _thrice_mixed().fullmatch(drawn) or not is_surely_drawn(drawn):
            continue
        start, end = _line_about(text, *token.span())
        # A line of nothing else may be one of a certificate or an image.
        is_bare = not _said_before().match(token[0])
        is_whole_line = is_bare and token.span() == (start, end) != (0, len(text))
        is_address = "://" in text[start:end]
        place = (start, *token.span())
        if not (
            is_whole_line
            or is_address
            or _is_public(_public_words(text, start, end), text, place)
        ):
            yield Span("api-token", start=token.start(), end=token.end())


def likely_secrets(text: str, low: str, there: Collection[str]) -> Iterator[Span]:
    """The values that look like secrets in lines that speak of access; `low` is the
    text in small letters, and `there` has those of `HINTS` that occur in it.
    Overlapping, in no order."""
    words = [word for word in HINTS if word in there]
    # most sentences have no value, and need no look for access
    if not words or not _may_mix(text):
        return
    # how far was looked: with a word for passwords, and without
    found_until = {True: 0, False: 0}
    for place in places_of(words, low):
        access = _access().match(text, place)
        if access is None:
            continue
        is_password = any(access.group("password", "foreign"))
        if place < max(found_until[True], found_until[is_password]):
            continue
        start, end = _line_about(text, place, access.end())
        if is_password:
            end = max(_end_of_answer(text, end), _end_of_table(text, start, end))
        start = max(start, found_until[is_password])
        found_until[is_password] = end
        yield from _in_line(text, start, end, is_password=is_password)


def _line_about(text: str, start: int, end: int) -> tuple[int, int]:
    """The line that holds a place, of a long one what is near."""
    least = max(0, start - LONGEST)
    first = text.rfind("\n", least, start) + 1 or least
    last = text.find("\n", end, end + LONGEST)
    return first, last if last >= 0 else min(len(text), end + LONGEST)


@verbose
def _answer() -> str:
    """Below a line that asks for something or announces it, the line that has it, or
    some words that stand alone; below another, a name with one value."""
    return r"""
        (?: (?<=[?:]) (?<! \) : ) | (?<=[?:]["']) ) (?: (?: \n [ \t>-]* \S{1,200} [ \t]* (?=\n|\Z) ){1,3} | \n [^\n]{1,200} )
      | \n [ \t]* [A-Z] [\w ]{0,24} : [ \t]* \S{8,200} [ \t]* (?=\n|\Z)
    """


def _end_of_answer(text: str, end: int) -> int:
    """Where the answer ends to a line that ends at `end`."""
    answer = _answer().match(text, end)
    return answer.end() if answer else end


@verbose
def _names_of_columns() -> str:
    """The first line of a table: names with one mark between them."""
    return r"\| .* | [\w .-]{1,40} ([,;\t]) [\w .-]{1,40} (?: \1 [\w .-]{1,40} ){0,30}"


def _end_of_table(text: str, start: int, end: int) -> int:
    """Where the rows of a table end whose first line this is."""
    names = _names_of_columns().fullmatch(text, start, end)
    if names is None:
        return end
    mark = names[1] or "|"
    least = text.count(mark, start, end) if names[1] else 1
    most = min(len(text), end + LONGEST)
    while end < most:
        after = text.find("\n", end + 1, most)
        after = after if after >= 0 else most
        if text.count(mark, end, after) < least:
            break
        end = after
    return end


def _in_line(text: str, start: int, end: int, *, is_password: bool) -> Iterator[Span]:
    @cache
    def public_words() -> set[str | None]:
        return _public_words(text, start, end)

    last = start
    for word in _word().finditer(text, start, end):
        if "://" in word[0] or not _mixture().search(word[0]):
            continue
        for begin, finish in _parts(text, word):
            kind = _kind_of_value(text, last, begin, finish, is_password=is_password)
            if kind and (
                kind == "signed"
                or not _is_public(public_words(), text, (last, begin, finish))
            ):
                last = finish
                name = "api-token" if kind == "drawn" else "password"
                yield Span(name, start=begin, end=finish)
                break


def _public_words(text: str, start: int, end: int) -> set[str | None]:
    """The kinds of words in a line by which what looks drawn may be public."""
    return {found.lastgroup for found in _public().finditer(text, start, end)}


def _is_public(
    kinds: Collection[str | None], text: str, place: tuple[int, int, int]
) -> bool:
    """Whether a value is public by such words in its line: hex alone is a commit, and
    what is called a key or a token at once before it is none for a word of prose."""
    last, start, end = place
    if None in kinds:
        return True
    if "commit" in kinds and regex(r"[0-9a-f]{7,64}").fullmatch(text, start, end):
        return True
    opener = _opener().search(text, max(last, start - _BEFORE), start)
    return "open" in kinds and (opener is None or opener["between"] is not None)


def _kind_of_value(
    text: str, last: int, start: int, end: int, *, is_password: bool
) -> str | None:
    """Whether a value is `signed`, `drawn` or `picked`: the last two may be public."""
    value = text[start:end]
    if _is_signed(value):
        return "signed"
    if _is_mixed(value) or _is_named(text, last, start, end):
        return "drawn"
    return "picked" if is_password and _is_picked(value) else None


def _parts(text: str, word: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The word, and what stands behind each mark in it, without a host at its end."""
    start, end = word.span()
    if word[0].isalnum():
        yield start, end
        return
    emphasis = regex(r"[*_~]{2,}|[*_`](?=\w)").match(word[0])
    start += emphasis.end() if emphasis else 0
    bare = regex(r"(?>(?:[*_~]{2,}+|[.,;:])+)\Z").sub("", text[start:end])
    end = start + len(bare)
    yield start, end
    for mark in islice(_mark().finditer(bare), MOST_PARTS):
        begin = start + mark.end()
        yield begin, end
        if (host := bare.rfind("@")) > mark.end():
            yield begin, start + host


def _is_signed(value: str) -> bool:
    if value.isalnum() or not _signed().fullmatch(value):
        return False
    if _notation().fullmatch(value) or is_code(value) or is_drawn(value):
        return False
    return is_chosen(value)


def _is_mixed(value: str) -> bool:
    if not _mixed().fullmatch(value) or not looks_random(value) or is_drawn(value):
        return False
    is_path = value.count("/") > len(value) // 24 or value.count(".") > 2
    is_short = len(value) < 20 and (value.islower() or value.isupper())
    return not (
        is_path or is_short or _name().fullmatch(value) or _access().search(value)
    )


def _is_named(text: str, last: int, start: int, end: int) -> bool:
    """Whether a value of one alphabet stands behind its name, or behind another such
    value, which ends at `last`."""
    if not _one_alphabet().fullmatch(text, start, end):
        return False
    value = text[start:end]
    if not looks_random(value) or is_drawn(value):
        return False
    if regex(r"[\"'`]?,\s?[\"'`]?").fullmatch(text, last, start):
        return True
    opener = _opener().search(text, max(last, start - _BEFORE), start)
    if opener is None:
        return False
    # Anything may have a UUID: its name stands at once before it.
    return "-" not in value or opener["between"] is None


def _is_picked(value: str) -> bool:
    # few words get further: what is small, with digits at its end alone, is a name
    is_small = value.islower() and value.isalnum()
    if is_small and not regex(r"[a-z][0134]+[a-z]").search(value):
        return False
    if not _picked().fullmatch(value) or _notation().fullmatch(value):
        return False
    is_number = regex(r"[0-9a-f-]{7,64}|[\d.:-]+[a-z]?").fullmatch(value)
    if is_number or _access().search(value.translate(_LEET)):
        return False
    if is_code(value) or is_drawn(value):
        return False
    return is_chosen(value) or is_random(value)

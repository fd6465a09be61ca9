"""Whether a value looks like a secret that was chosen, or like a word, name or
placeholder."""

from functools import cache

from memcli.text.matching import regex, verbose

STOPS = ".,;:!?"
"""What may end a sentence, and is none of the value before it."""
_NEIGHBOURS = """
    a 48883572625978272989665572  b 74447422652733631653622051
    c 84668438607755951768632240  d 75569642823654741665533240
    e 85886774514879576999466863  f 64546632801633730655522140
    g 63338246603646530764621122  h 72337212703443730546411040
    i 76877672323879873788462506  j 40125100202001410030401000
    k 53437332511434441354433020  l 85569442814844851467642261
    m 85458332703564771365522231  n 84788684725546752489663242
    o 66774663635879670977867522  p 83558436604743761867633150
    q 01010100100400011322710000  r 94769552905676852777653160
    s 64759547815655775489744261  t 94659537914664863877634373
    u 66557540701778470777120201  v 73538321700233530343112020
    w 62335224603324520542101200  x 43526312500241350237111241
    y 43425331400555460455112122  z 40116000400110310012000021
"""
"""Each letter with how often `a` to `z` follow it, in the names and words of the
standard library of Python and of manuals (72,000 different ones): six more than the
binary logarithm of the share, against that of letters drawn by chance."""
_BY_CHANCE = 6
"""What stands in `_NEIGHBOURS` for a pair that is as frequent as by chance."""
_CHANGE = -1.5
"""Bits that a letter beside a digit tells, where a pair of words' letters tells 2."""
_DRAWN = -4.0
"""Bits below which a value counts as drawn."""
_SURELY_DRAWN = -1 / 3
"""Bits a character below which a long value is drawn wherever it stands."""


@verbose(ignore_case=True)
def masked() -> str:
    """Part of the drawing of a secret."""
    return r"x{6} | 0{10} | [*•]{3} | \.{3} | … | \[secret[ ]removed"


@verbose(ignore_case=True, dot_all=True)
def filler() -> str:
    """What stands where a secret would: a placeholder, a variable, a word for it."""
    return r"""
        [<\[{(] .*
      | \$ (?: \w+ | [{(] .* ) | % (?: \w+ % | [sd(] .* )   # $VAR ${…} $(…) %VAR% %s
      | \# [0-9a-f]{3,8}                                     # a colour
      | [*x.•…_?0-]+
      | (?: .* [^a-z0-9] )? your .* | .* change[_-]?me .*
      | replace[_-]? (?: me | this | with ) .*
      | (?: .* [^a-z0-9] )?
        (?: (?: my | an? | the | some ) (?: [ _-] .* )?
          | (?: example | sample | dummy | fake | placeholder | insert | redacted
              | removed | hidden | masked | todo | fixme ) (?: [^a-z0-9] .* )? )
      | pass (?: word | wd | phrase )? | pwd? | pw | secret | token | (?:api[_-]?)? key
      | tests? | foo | bar | baz | string | str | text | bytes | any | object | number
      | bool | boolean | none | null | nil | undefined | true | false | required
      | optional | empty | invalid | admin | root | guest | user | postgres | mysql
      | (?: os | process | env | import | self | this | config | settings | secrets | vars
          | args | params | req | ctx | request | system | vault | op | arn | ssm | sops
          | file ) [.:\[] .*
      | [a-z][a-z0-9+.-]* :// .*                             # an address
      | (?-i: [a-z]+ Pass(?:word|phrase)? )
      | [\#.]? (?: [a-z]+ [._-] )+ (?: password | passwd | secret | token | key )  # a name
    """


@verbose(ignore_case=True)
def known() -> str:
    """The name of an algorithm, a format or a size, which letters and digits make."""
    return r"""
        (?: sha | md | hs | rs | es | ps | aes | rsa | ec | ecdsa | base | b | utf | oauth
          | argon | pbkdf | ed | x | p | http | h | tls | ssl | ipv | python | py | s3
          | k8s | i18n | l10n | a11y | x509 | v | ec2 | auth0 | web3 | log4j | neo4j | mp
          | type | level | varchar | char | bcrypt | scrypt | node | java | php | go | ubuntu | debian )
        \d{0,5}
        (?: id | bit | mb\d | url | i | d | gcm | cbc | ctr | sum | crypt | enc | dec
          | (?:alpha|beta|rc) \d* )?
      | [a-z]{2,5} [24] [a-z]{2,5}                           # word2vec, log4net
      | \d+ (?: bytes? | bits? | chars? | characters? | min(?:utes?)? | h(?:ours?)?
          | d(?:ays?)? | s(?:ec)? | ms | [kmg]b? | password | ( st | nd | rd | th ) )?
    """


@verbose
def code() -> str:
    """What has signs and digits in it and is code, a version or an address."""
    return r"""
        [\w.+-]+ (?: \[bot\] )? @ (?: [A-Za-z][\w-]* (?: \. .* )? | \d{1,2} | \d+ \. .* )  # name@host
      | [a-z][a-z_.-]+ [=?] .*                               # key=value, page?id=3
      | [\^~<>=v]* \d+ (?: \. [\dx*]+ )+ .*                  # a version or an address
      | (?: HEAD | main | master ) [~^@] .*
      | [A-Z_][A-Z0-9_]* _ [A-Z0-9_]*                        # a constant
      | \d{4}-\d\d-\d\d .* | \d+ [%+*/-] \d* \w*             # a day, a sum
      | [./~] .* | .* / .* | .* \w\(.* | .* ::? [A-Za-z] .*
    """


def is_masked(value: str) -> bool:
    """The drawing of a token (`ghp_xxxxxxxx`, `sk-ant-your-key-here`), not a token."""
    several = len(regex(r"[A-Za-z0-9]+").findall(value[:400])) >= 3
    written = several and value.upper() != value  # groups of capitals are no words
    is_text = written and is_wordlike(value) and not looks_random(value)
    return is_text or bool(masked().search(value))


def is_drawn(value: str) -> bool:
    """A placeholder, or a secret that is masked."""
    return bool(masked().search(value) or filler().fullmatch(value))


def is_code(value: str) -> bool:
    """An address, a path, a version, a call or a pair of a name and a value."""
    return code().fullmatch(value) is not None


def is_filler(value: str) -> bool:
    """A placeholder or words, where a secret would stand."""
    bare = value.strip().rstrip(STOPS)
    if not bare or is_drawn(bare):
        return True
    return is_wordlike(bare) and not is_chosen(bare) and not looks_random(bare)


def is_chosen(value: str) -> bool:
    """Whether a value looks like a password that was chosen rather than written.

    It has letters and digits (`hunter2`), or signs among them (`Winter!24`), is not the
    name of an algorithm and not code; of several words with dashes between one must be
    no word (`summ3r-tiger12`)."""
    bare_value = value.rstrip(STOPS + "*")
    if (
        len(bare_value) < 6
        or not regex(r"[^\W\d_]").search(bare_value)
        or known().fullmatch(bare_value)
    ):
        return False
    if regex(r"[A-Za-z0-9]+[!@#$%^&*+=?]*").fullmatch(bare_value):
        return bool(regex(r"\d").search(bare_value)) or looks_random(bare_value)
    if is_code(bare_value):
        return not is_wordlike(bare_value) and is_random(bare_value)
    if _composed().match(bare_value):
        return True
    return any(map(_is_leet, regex(r"\w+").findall(bare_value))) or not is_wordlike(
        bare_value
    )


@verbose
def _composed() -> str:
    """A sign and a digit, or a name and a number with a dash between."""
    return r"""
        (?= .* [!\#$%&*+=?@^~] ) .* \d
      | [A-Z][a-z]{3,} [_-] \d{2,4} \Z
    """


def is_random(value: str) -> bool:
    """Whether a value is as long and mixed as one that a program drew."""
    bare = value.rstrip(STOPS + "*")
    return (
        len(bare) >= 8
        and regex(r"[A-Za-z]").search(bare) is not None
        and not is_wordlike(bare)
    )


@cache
def _bits_of_pairs() -> dict[str, int]:
    """The bits that two letters in a row tell for words and against chance."""
    fields = _NEIGHBOURS.split()
    letters = fields[::2]
    return {
        first + second: int(digit) - _BY_CHANCE
        for first, row in zip(letters, fields[1::2], strict=True)
        for second, digit in zip(letters, row, strict=True)
    }


def looks_random(value: str) -> bool:
    """Whether a value looks drawn by its neighbours: letters that seldom follow each
    other in words, digits between letters, capitals within short parts.

    The logarithms of how often each pair stands in words, against chance, are added
    up. Of 1,000 drawn values of twelve letters and digits 34 are passed over, of twelve
    small letters 42, of longer ones 9; of 23,000 words and names in manuals and code 71
    look so, most of them numbers in hex."""
    return _bits_of(value) < _DRAWN


def is_surely_drawn(value: str) -> bool:
    """Whether a long value looks drawn through and through, and is no placeholder and
    no alphabet."""
    if is_drawn(value) or "abcdefgh" in value.lower():
        return False
    return _bits_of(value) < _SURELY_DRAWN * len(value)


def _bits_of(value: str) -> float:
    """What the neighbours in a value tell for words, those of its last digits apart."""
    bare = value.rstrip("0123456789=")
    return sum(
        _bits(*triple) for triple in zip(f" {bare}", bare, bare[1:], strict=False)
    )


def _bits(before: str, first: str, second: str) -> float:
    """What two neighbours tell for words (more than 0), or for chance."""
    if first.isdigit() or second.isdigit():
        is_change = first.isalpha() or second.isalpha()
        return _CHANGE if is_change else 0
    if first.islower() and second.isupper():
        return 0 if before.islower() else 2 * _CHANGE  # a part of one letter
    if before.isupper() and first.isupper() and second.islower():
        return 0  # HTTPServer
    return _bits_of_pairs().get((first + second).lower(), 0)


def _is_leet(part: str) -> bool:
    """A word with digits in the place of letters: `w1nter`, `summ3r`."""
    shape = regex(r"[A-Za-z]{2,}[01345]+[A-Za-z]+|[A-Za-z][01345][A-Za-z]{3,}")
    return shape.fullmatch(part) is not None and known().fullmatch(part) is None


def is_wordlike(value: str) -> bool:
    """Words, identifiers and short numbers, as `tls-cert-v2` or `getAccessToken`."""
    parts = regex(r"[A-Za-z0-9]+").findall(value[:400])
    mixed = [part for part in parts if not _is_word(part)]
    short = regex(r"[A-Za-z]{1,4}\d{1,3}|\d{1,3}[A-Za-z]{1,4}")
    return 2 * len(mixed) <= len(parts) and all(short.fullmatch(part) for part in mixed)


def _is_word(part: str) -> bool:
    """Whether a run of letters and digits reads as a word or an identifier."""
    if known().fullmatch(part):
        return True
    letters = regex(r"[A-Za-z]+").findall(part)
    digits = len(part) - sum(map(len, letters))
    if not digits:
        return len(part) <= 4 or _has_humps(part, 3.5 if len(part) > 16 else 2.5)
    if digits > 5 or not 2 <= len(letters) <= 3:
        return False
    return _has_humps(part, 3.5)


def _has_humps(part: str, shortest: float) -> bool:
    """Whether its humps (`getToken` has two) are as long as those of words, at least
    `shortest` on average."""
    humps = regex(r"[A-Z]?[a-z]+|[A-Z]+").findall(part)
    capitals = [hump for hump in humps if len(hump) > 1 and hump.isupper()]
    lengths = [len(hump) for hump in humps]
    if len(capitals) > 2 or max(lengths) > 15:
        return False
    return sum(lengths) / len(lengths) >= shortest

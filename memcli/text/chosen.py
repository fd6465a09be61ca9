"""Whether a value looks like a secret that was chosen, or like a word, name or
placeholder."""

from functools import cache

from memcli.text.matching import regex, verbose

STOPS = ".,;:!?"
"""What may end a sentence, and is none of the value before it."""
_FOLLOWERS = """
    abcdgilmnprst babcdefilorsu cacehiklortu dabdefilorstu eacdeflmnprstx facdefilorstu
    gaeghilmnorsu haeiortuy iabcdefglmnoprstvz jaceiosuw kaeilnostu ladeilostuy
    mabeimopsu nacdefgiost ocdglmnoprstuvw paehiloprstu qlrsu racdegimnorstuy
    sacehilopstuy taehiorstuy uabcegilmnprst vaeio waehilnors xabcdefimpstxy
    yaceilmnoprst zaeioyz
"""
"""Each letter with those that follow it in one of fifty places or more: 91 % of the
pairs of letters in 14,000 words of manuals and code, 41 % of all there may be."""


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
        [\w.+-]+ @ (?: [A-Za-z][\w-]* (?: \. .* )? | \d{1,2} | \d+ \. .* )  # name@host
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
    bare = value.rstrip(STOPS + "*")
    if len(bare) < 6 or not regex(r"[^\W\d_]").search(bare) or known().fullmatch(bare):
        return False
    if regex(r"[A-Za-z0-9]+[!@#$%^&*+=?]*").fullmatch(bare):
        return bool(regex(r"\d").search(bare)) or looks_random(bare)
    if is_code(bare):
        return not is_wordlike(bare) and is_random(bare)
    if _composed().match(bare):
        return True
    return any(map(_is_leet, regex(r"\w+").findall(bare))) or not is_wordlike(bare)


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
def _usual_pairs() -> frozenset[str]:
    return frozenset(row[0] + after for row in _FOLLOWERS.split() for after in row[1:])


def looks_random(value: str) -> bool:
    """Whether a value looks drawn by its neighbours: letters that do not follow each
    other in words, digits between letters, capitals within short parts.

    Of 1,000 drawn values of 9 to 12 letters and digits it passes over 81, of longer
    ones 1; of 3,689 words from lines of manuals and code about access 13 look so."""
    bare = value.rstrip("0123456789=")
    odd = 0
    pairs = 0
    for before, first, second in zip(f" {bare}", bare, bare[1:], strict=False):
        if first.isalnum() and second.isalnum():
            pairs += 1
            odd += _is_odd(before, first, second)
    if not regex(r"\d").search(bare):
        return odd >= 4 and odd >= 0.4 * pairs
    return odd >= 4 and odd >= 0.3 * pairs


def _is_odd(before: str, first: str, second: str) -> bool:
    """Whether two letters or digits are rare neighbours in words and names."""
    if first.isdigit() or second.isdigit():
        return first.isdigit() != second.isdigit()
    if first.islower() and second.isupper():
        return not before.islower()  # a part of one letter
    if before.isupper() and first.isupper() and second.islower():
        return False  # HTTPServer
    return (first + second).lower() not in _usual_pairs()


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

"""What must not be shown, stored or obeyed: control characters, secrets, <private>, commands to the
agent.

Every pattern is linear: runs are possessive or bounded, and a rule is compiled only when one of its
literal hints occurs in the text, so that clean text costs a few substring searches. Of many texts
the hints are asked once (`rules_for`): each text is judged as it would be by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

INJECTION_NOTICE: Final = "[removed: reads like an instruction to the agent]"


class Secret(NamedTuple):
    """`text[start:end]` is a credential of the named kind."""

    kind: str
    start: int
    end: int


class Span(NamedTuple):
    """`text[start:end]` is a sentence that tries to command the reading agent."""

    kind: str
    start: int
    end: int


class _Rule(NamedTuple):
    """A pattern is asked of texts in which one of its hints occurs; no letter or digit is before a
    `^hint`.

    Every match begins with one of `starts`, in any case; none are given where that cannot be said.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    starts: tuple[str, ...] = ()


@cache
def _regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, flags)


def _lower(text: str) -> str:
    """`text` in lower case, of the same length: the dotted I alone would grow."""
    return text.replace("\u0130", "I").lower()


def _occurs(hint: str, text: str) -> bool:
    if hint[0] != "^":
        return hint in text
    at = text.find(hint[1:])
    while at > 0 and text[at - 1].isalnum():
        at = text.find(hint[1:], at + 1)
    return at >= 0


def _due(rules: Iterable[_Rule], text: str) -> Iterator[_Rule]:
    """The rules one of whose hints occurs in `text`."""
    seen: dict[str, bool] = {}
    for rule in rules:
        for hint in rule.hints:
            if hint not in seen:
                seen[hint] = _occurs(hint, text)
            if seen[hint]:
                yield rule
                break


def _settle(change: Callable[[str], str], text: str) -> str:
    """Apply `change` until nothing changes: a removal may bring together what then reads as
    another.
    """
    for _ in range(8):
        changed = change(text)
        if changed == text:
            break
        text = changed
    return text


def for_prompt(text: str) -> str:
    """Text that is safe to inject: no controls, private parts, secrets, commands or fence.
    Idempotent.
    """
    return _settle(_for_prompt_once, strip_controls(text))


def _for_prompt_once(text: str) -> str:
    return fence_safe(_neutralise_once(_redact_once(strip_private(text))))


def for_display(text: str) -> str:
    """Text that is safe to print on a terminal."""
    return strip_controls(text)


# Invisible or directional characters; C0 and C1 but newline and tab; runs of variation selectors.
_UNSEEN: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef"
)
_SUSPECT: Final = f"[{_UNSEEN}\u200c\u200d\u2028\u2029\ud800-\udfff]|[\ufe00-\ufe0f]{{2}}"
_LINE_END: Final = "\r\n?|[\u2028\u2029]"
_ESCAPE: Final = (
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\n\x07\x1b\x90\x98\x9c-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]"
)
# Joiners are letters' business in these scripts, and glue in emoji sequences.
_JOINING: Final = (
    "\u0600-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u180d\u180f-\u18af\u1b00-\u1bff\ua8e0-\ua8ff"
    "\ufb50-\ufdff\ufe70-\ufefc"
)
_EMOJI: Final = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINER: Final = (
    f"(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    "|([\u200c\u200d]++)"
)


def _is_plain(text: str) -> bool:
    """A quick look that is sure when it says yes: printable, and no mark that joins or selects
    (UTF-8).
    """
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return False
    if text.isascii():
        return True
    data = text.encode()
    return not any(mark in data for mark in (b"\xcd\x8f", b"\xef\xb8", b"\xf3\xa0"))


def strip_controls(text: str) -> str:
    """`text` without control, escape, bidi and zero-width characters; line ends become newlines."""
    if _is_plain(text) or not _regex(_SUSPECT).search(text):
        return text
    text = _regex(_LINE_END).sub("\n", text)
    text = _regex(_ESCAPE).sub("", text)
    text = _regex(f"[{_UNSEEN}]++").sub("", text)
    text = _regex(_JOINER).sub(lambda m: "" if m[1] else m[0], text)
    text = _regex("(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]++").sub("", text)
    return _regex("[\ud800-\udfff]").sub("\ufffd", text)


PRIVATE_TAG: Final = r"(?i)<\s{0,8}(/?)\s{0,8}private\s{0,8}>"
"""Begins a private part, or ends it where the group is not empty."""


def strip_private(text: str) -> str:
    """`text` without `<private>...</private>`; what is not closed is dropped to the end."""
    kept, at, depth = [], 0, 0
    for tag in _regex(PRIVATE_TAG).finditer(text):
        if not tag[1]:
            if depth == 0:
                kept.append(text[at : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
            at = tag.end()
    if not kept:
        return text
    result = "".join([*kept, text[at:]] if depth == 0 else kept)
    # Dropping a part may join halves of another tag: somebody meant to hide it, so nothing after it
    # stays.
    again = next((tag for tag in _regex(PRIVATE_TAG).finditer(result) if not tag[1]), None)
    return result[: again.start()] if again else result


@cache
def _fence(tag: str) -> re.Pattern[str]:
    name = "".join(_fence_letter(char) for char in tag)
    # A dangling "<" at the end could open the tag together with whatever is printed next.
    return re.compile(rf"[<＜﹤](?=[\s/\\／]*+(?:{name}|\Z))", re.IGNORECASE)


def _fence_letter(char: str) -> str:
    if char == "-":
        return "[-_ \u2010-\u2015\u2212\ufe63\uff0d]?"
    return (
        f"[{char}{chr(ord(char) + 0xFEE0)}]"
        if char.isalnum() and char.isascii()
        else re.escape(char)
    )


def fence_safe(text: str, tag: str = "recalled-memory") -> str:
    """`text` in which nothing opens or closes `<tag>`: the bracket becomes `&lt;`."""
    return _fence(tag).sub("&lt;", text)


_MANY: Final = 4096
"""Characters from which on it pays to look first where a search can find something."""
_ODD_LETTERS: Final = "\u0131\u017f"
"""They are an i and an s to a pattern that ignores case, and remain what they are in lower case."""
_B: Final = r"(?<![A-Za-z0-9])"
_E: Final = r"(?![A-Za-z0-9])"
_SEP: Final = r"""\\{0,3}["'`]?\s{0,4}(?:=>|[:=])\s{0,4}\\{0,3}["'`]?"""

# Shapes that speak for themselves. Group 1, where there is one, is what goes.
_TOKENS: Final = (
    _Rule("anthropic-key", ("sk-ant-",), _B + r"sk-ant-[\w-]{16,}+"),
    _Rule("openai-key", ("sk-",), _B + r"sk-(?:proj|svcacct|admin|None)-[\w-]{16,}+"),
    _Rule("openai-key", ("sk-",), _B + r"sk-(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}+(?![\w-])"),
    _Rule("api-token", ("sk-",), _B + r"sk-(?:or|lf|v1|cp|kimi)-(?:v1-)?[\w-]{20,}+"),
    _Rule("aws-access-key", ("AKIA", "ABIA", "ACCA"), _B + r"A(?:KIA|BIA|CCA)[0-9A-Z]{16}" + _E),
    _Rule("aws-access-key", ("ASIA",), _B + r"ASIA(?=[A-Z]{0,15}\d)[0-9A-Z]{16}" + _E),
    _Rule(
        "aws-secret-key",
        ("ecret",),
        r"(?i:secret_?access_?key)" + _SEP + r"([A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])",
    ),
    _Rule(
        "github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _B + r"gh[pousr]_[A-Za-z0-9][\w.-]{28,}\w"
    ),
    _Rule("github-token", ("github_pat_",), _B + r"github_pat_\w{30,}+"),
    _Rule(
        "gitlab-token",
        ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-"),
        _B + r"gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent)-[\w-]{16,}+(?:\.[\w-]+)*+",
    ),
    _Rule("slack-token", ("xox",), _B + r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+"),
    _Rule("slack-token", ("xapp-",), _B + r"xapp-\d-[A-Za-z0-9-]{20,}+"),
    _Rule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,}+)",
    ),
    _Rule("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d{10,20}/([\w-]{20,}+)"),
    _Rule("google-key", ("AIza",), _B + r"AIza[\w-]{30,}+"),
    _Rule("google-token", ("ya29.", "GOCSPX-"), _B + r"(?:ya29\.|GOCSPX-)[\w-]{20,}+"),
    _Rule("stripe-key", ("k_live_", "k_test_"), _B + r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}+"),
    _Rule("stripe-key", ("whsec_",), _B + r"whsec_[A-Za-z0-9+/=]{20,}+"),
    _Rule("npm-token", ("npm_",), _B + r"npm_[A-Za-z0-9]{30,}+"),
    _Rule("pypi-token", ("pypi-",), _B + r"pypi-[\w-]{32,}+"),
    _Rule("sendgrid-key", ("SG.",), _B + r"SG\.[\w-]{16,40}\.[\w-]{30,}+"),
    _Rule("twilio-key", ("SK", "AC"), _B + r"(?:SK|AC)[0-9a-f]{32}" + _E),
    _Rule("telegram-token", (":AA",), r"(?<!\d)\d{8,10}:AA[\w-]{32,35}(?![\w-])"),
    _Rule("jwt", ("eyJ",), r"(?<![\w-])eyJ[\w-]{5,}+\.eyJ[\w-]{5,}+(?:\.[\w-]*+)*+"),
    _Rule("azure-key", ("AccountKey", "SharedAccessKey"), r"Key\s?=\s?([A-Za-z0-9+/]{40,}+={0,2})"),
    _Rule("azure-key", ("sig=",), r"[?&;]sig=([\w%+/=-]{40,}+)"),
    _Rule("azure-key", ("Q~",), r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])"),
    _Rule(
        "api-token",
        (
            "hf_", "gsk_", "r8_", "xai-", "pplx-", "_v1_", "lin_api_", "ntn_", "figd_", "PMAK-", "shpat_",
            "shpss_", "sntry", "hvs.", "hvb.", "glsa_", "sbp_", "pscale_", "ATATT3", "tskey-", "AGE-SECRET",
            "dckr_pat_", "NRAK-", "rubygems_", "lsv2_", "dapi",
        ),
        _B + r"(?:hf_|gsk_|r8_|xai-|pplx-|do[opr]_v1_|lin_api_|ntn_|figd_|PMAK-|shp(?:at|ss)_|sntry[su]_"
        r"|hv[sb]\.|glsa_|sbp_|pscale_\w{2,8}_|ATATT3|tskey-\w{3,8}-|AGE-SECRET-KEY-1|dckr_pat_|NRAK-"
        r"|rubygems_|lsv2_\w\w_|dapi(?=[0-9a-f]{32}))[\w=+-]{20,}+",
    ),
)  # fmt: skip

# These carry a value that may also be a placeholder or an ordinary word.
_CREDENTIALS: Final = (
    _Rule(
        "authorization",
        ("authorization",),
        r"(?i:authorization)" + _SEP + r"(?i:bearer|basic|token|digest|apikey|bot)\s{1,4}"
        r"""([^\s"'`\\,;<>{}$]{8,}+)(?![{(])""",
    ),
    _Rule("bearer-token", ("bearer",), r"\b(?i:bearer)\s{1,4}([\w.~+/-]{20,}+={0,2})"),
    _Rule(
        "url-password",
        ("://",),
        r"""(?<=[A-Za-z0-9])://[^\s/:@"'<>]{0,100}+:([^\s/"'`<>]{1,200})@(?!sha)""",
    ),
    _Rule(
        "curl-password",
        ("curl",),
        r"""(?<!\S)(?:-u|--user)[ =]?["']?[^\s:"'$/]{1,64}:([^\s"'`@$]{4,200}+)""",
    ),
)


def redact_secrets(text: str) -> str:
    """`text` with every credential replaced by a notice that names its kind."""
    return _settle(_redact_once, text)


def _redact_once(text: str) -> str:
    found = secrets(text)
    return (
        _replace(text, [(s.start, s.end, f"[secret removed: {s.kind}]") for s in found])
        if found
        else text
    )


def _replace(text: str, parts: list[tuple[int, int, str]]) -> str:
    """`text` with the ascending, disjoint `parts` (start, end, new) replaced."""
    pieces, at = [], 0
    for start, end, new in parts:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def secrets(text: str, rules: Rules | None = None) -> list[Secret]:
    """The credentials in `text`: ascending, disjoint, the more specific kind first choice.

    `rules` are those for a set of texts to which this one belongs; they find what all rules find.
    """
    rules = rules or _EVERY_RULE
    low = _lower(text)
    found = list(_private_keys(text)) if rules.private_keys and _KEY_HINT in low else []
    if rules.tokens:
        for rule in _due(rules.tokens, _long_words(text) if len(text) > _MANY else text):
            found += _shaped(rule, text, _is_masked)
    for rule in _due(rules.credentials, low):
        found += _shaped(rule, text, _is_filler)
    return _disjoint([*found, *_assigned(text, low, rules.names)])


def _long_words(text: str) -> str:
    """Each of the tokens has a run of ten characters in which its hint stands."""
    return " ".join(_regex(r"\S{10,}+").findall(text))


def _disjoint(found: list[Secret]) -> list[Secret]:
    result: list[Secret] = []
    for secret in sorted(found, key=lambda s: s.start):
        if result and secret.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, secret.end))
        else:
            result.append(secret)
    return result


def _shaped(rule: _Rule, text: str, innocent: Callable[[str], bool]) -> Iterator[Secret]:
    for match in _regex(rule.pattern).finditer(text):
        group = 1 if match.lastindex else 0
        if not innocent(match[group]):
            yield Secret(rule.kind, match.start(group), match.end(group))


_MASKED: Final = r"(?i)x{6}|[*•]{3}|\.{3}|…|\[secret removed"


def _is_masked(value: str) -> bool:
    """Is this the drawing of a token (`ghp_xxxxxxxx`, `sk-ant-your-key-here`), not a token?"""
    if _regex(_MASKED).search(value):
        return True
    return len(_regex(r"[A-Za-z0-9]+").findall(value[:400])) >= 3 and _is_wordlike(value)


_FILLER: Final = r"""(?isx)
    [<\[{(] .* | \$ (?: \w+ | [{(] .* ) | % (?: \w+ % | [sd(] .* ) | [*x.•…_?0-]+
  | (?: .* [^a-z0-9] )? your .* | .* change[_-]?me .* | replace[_-]? (?: me | this | with ) .*
  | (?: .* [^a-z0-9] )? (?: my | an? | the | some | example | sample | dummy | fake | placeholder | insert
      | redacted | removed | hidden | masked | todo | fixme ) (?: [^a-z0-9] .* )?
  | pass (?: word | wd | phrase )? | pwd? | pw | secret | token | (?:api[_-]?)? key | tests? | foo | bar | baz
  | string | str | text | bytes | any | object | number | bool | boolean | none | null | nil | undefined
  | true | false | required | optional | empty | invalid | admin | root | guest | user | postgres | mysql
  | (?: os | process | env | import | self | this | config | settings | secrets | vars | args | params | req
      | ctx | request | system | vault | op | arn | ssm | sops | file ) [.:\[] .*
  | [a-z][a-z0-9+.-]* :// .* | (?-i: [a-z]+ Pass(?:word|phrase)? )
"""


def _is_filler(value: str) -> bool:
    """Is this value a placeholder, a reference or made of words, rather than a credential?"""
    bare = value.strip().rstrip(".,;:!?")
    if not bare or _regex(_MASKED).search(bare) or _regex(_FILLER).fullmatch(bare):
        return True
    return _is_wordlike(bare)


_KNOWN: Final = (
    r"(?i)(?:sha|md|hs|rs|es|ps|aes|rsa|ec|ecdsa|base|utf|oauth|argon|pbkdf|ed|x|p|http|h|tls|ipv|python|py|s3"
    r"|k8s|i18n|l10n|a11y|x509|v|ec2|auth0|web3|log4j|neo4j|mp)\d{0,5}(?:id|bit|mb\d|url|i|d|gcm|cbc|ctr|sum)?"
    r"|[a-z]{2,5}[24][a-z]{2,5}"
    r"|\d+(?:bytes?|bits?|chars?|characters?|min(?:utes?)?|h(?:ours?)?|d(?:ays?)?|s(?:ec)?|ms|[kmg]b?|password)?"
)


def _is_wordlike(value: str) -> bool:
    """Is this made of words, identifiers and short numbers, as `tls-cert-v2` or `getAccessToken`?"""
    parts = _regex(r"[A-Za-z0-9]+").findall(value[:400])
    mixed = [part for part in parts if not _is_word(part)]
    if any(
        not _regex(r"[A-Za-z]{1,4}\d{1,3}|\d{1,3}[A-Za-z]{1,4}").fullmatch(part) for part in mixed
    ):
        return False
    return not mixed or 2 * len(mixed) <= len(parts)


def _is_word(part: str) -> bool:
    if _regex(_KNOWN).fullmatch(part):
        return True
    letters = _regex(r"[A-Za-z]+").findall(part)
    digits = len(part) - sum(map(len, letters))
    if digits and (digits > 5 or len(letters) < 2 or len(letters) > 3):
        return False
    humps = _regex(r"[A-Z]?[a-z]+|[A-Z]+").findall(part)
    least = 3.5 if digits else 2.5
    if not digits and len(part) <= 4:
        return True
    return max(map(len, humps)) <= 15 and sum(map(len, humps)) / len(humps) >= least


_NAME_WORDS: Final = ("pass", "pw", "secret", "token", "credential", "key")
_OWNERS: Final = (
    r"(?i)(?:api|access|private|signing|encryption|master|account|auth|hmac|deploy|service|shared|license|admin)"
    r"[_ -]?\Z"
)
_ASSIGNMENT: Final = r"""(?ix)
    (?P<name> pass(?:word|wd|phrase|code)? | pwd? | secret | token | credentials? | key )
    (?P<suffix> [\w-]{0,40}+ )
    (?P<gap> (?: \\{0,3} ["'`] \]? | \*{1,2} )? \s{0,4}
      (?: (?: :\s{0,2} [a-z] [\w.|\[\] ]{0,30}? \s{0,2} )? ={1,3} >? | : =? )
      \s{0,4} \*{0,2} \s{0,2}
      | [ ] )
    (?P<value> \\{0,3} (?: "(?P<double> [^"\n]{1,400}? ) \\{0,3} " | '(?P<single> [^'\n]{1,400}? ) \\{0,3} ' )
      | ["'`]? (?P<bare> [^\s"'`,;<>&()\[\]{}]{1,160} ) )
"""
_METADATA: Final = (
    r"hash(?:ed)?|digest|ids?|names?|ur[il]|path|files?|dir|counts?|types?|ttl|expir(?:y|es|ation)|length|len|size"
    r"|limits?|budget|fields?|headers?|env|var|prefix|suffix|regex|pattern|policy|rotation|alg(?:orithm)?|scopes?"
    r"|endpoint|label|hint|placeholder|reset|manager|store|provider|class|version|min|max|format|encoding|bucket"
    r"|rate|usage|ref|arn|index|position|offset|stream|kind|status|validator|strength|required|issuer|audience"
)


def _assigned(text: str, low: str, names: Sequence[str]) -> Iterator[Secret]:
    """Values given to a secret-looking name: `password = "..."`, `API_KEY: ...`, `--token ...`."""
    covered = 0
    for at in sorted(_places(low, names)):
        match = _regex(_ASSIGNMENT).match(text, at) if at >= covered else None
        if match and _names_a_secret(match, text):
            group = next(g for g in ("double", "single", "bare") if match[g] is not None)
            if _holds_a_secret(match, group, text):
                covered = _bare_end(text, match.end(group)) if group == "bare" else match.end(group)
                yield Secret(_kind_of(match["name"]), match.start(group), covered)


def _places(low: str, names: Sequence[str]) -> Iterator[int]:
    for word in names:
        at = low.find(word)
        while at >= 0:
            yield at
            at = low.find(word, at + 1)


def _bare_end(text: str, end: int) -> int:
    run = _regex(r"""[^\s"'`,;<>&()\[\]{}]*+""").match(text, end)
    return run.end() if run else end


def _kind_of(name: str) -> str:
    low = name.lower()
    if low.startswith("p"):
        return "password"
    return "api-key" if low == "key" else low.rstrip("s")


def _names_a_secret(match: re.Match[str], text: str) -> bool:
    """Is it `password`, `DB_PASS` or `apiKey`, not `token_url`, `tokenizer`, `compass` or
    `sort_key`?
    """
    name, suffix = match["name"], match["suffix"]
    before = text[max(0, match.start() - 30) : match.start()]
    if match["gap"] == " " and not _regex(r"--[\w-]*\Z").search(before):
        return False
    if name.lower() == "key" and not _regex(_OWNERS).search(before):
        return False
    if name.lower() in ("pass", "pw") and not before.endswith(("_", "-")):
        return False
    if suffix[:1].isalpha() and not (name[-1].islower() and suffix[0].isupper()):
        return False
    words = _regex(r"[A-Z]?[a-z]+|[A-Z]+").findall(suffix)
    return not any(_regex(_METADATA).fullmatch(word.lower()) for word in words)


def _holds_a_secret(match: re.Match[str], group: str, text: str) -> bool:
    value = match[group].strip()
    password = _kind_of(match["name"]) == "password"
    if _regex(_MASKED).search(value) or _regex(_FILLER).fullmatch(value.rstrip(".,;:!?")):
        return False
    if group == "bare":
        return text[match.end(group) : match.end(group) + 1] not in ("(", "[", "{") and _is_random(
            value, password
        )
    if any(char.isspace() for char in value):
        return password and "=" in match["gap"] and len(value) >= 12 and "pass" not in value.lower()
    if password and not value.startswith(("/", "~/", "./")):
        return len(value) >= 4
    return len(value) >= 8 and not _is_wordlike(value)


def _is_random(value: str, password: bool) -> bool:
    """Does an unquoted value look chosen rather than written: letters with digits, no words?"""
    bare = value.rstrip(".,;:!?*")
    if len(bare) < (6 if password else 8) or not _regex(r"[A-Za-z]").search(bare):
        return False
    # A short password is a word with a digit: hunter2. Names of algorithms are that as well.
    if password and _regex(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{6,}[!@#$%^&*+=?]*").fullmatch(bare):
        return not _regex(_KNOWN).fullmatch(bare)
    return not _is_wordlike(bare)


_KEY_HINT: Final = "private key"
_KEY_MARK: Final = r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_TEXT: Final = (
    r"""(?:\\+[nrt]|[\s>|"'+,:]|[A-Za-z0-9+/=]{24,}+)*+(?:[A-Za-z0-9+/=]{1,23}+(?=["'\s\\]*+\Z))?"""
)


def _private_keys(text: str) -> Iterator[Secret]:
    """PEM, OpenSSH and PGP private key blocks; a block that is cut off ends with its base64 text."""
    marks = list(_regex(_KEY_MARK).finditer(text))
    covered = 0
    for mark, after in zip(marks, [*marks[1:], None], strict=False):
        if mark.start() < covered:
            continue
        if mark[1] == "END":
            start, end = _head_of_key(text, covered, mark.start()), mark.end()
        elif after and after[1] == "END" and _is_key_body(text[mark.end() : after.start()]):
            start, end = mark.start(), after.end()
        else:
            start, end = (
                mark.start(),
                _tail_of_key(text, mark.end(), after.start() if after else len(text)),
            )
        if end - start > len(mark[0]):
            yield Secret("private-key", start, end)
        covered = end


def _is_key_body(body: str) -> bool:
    lines = _regex(r"(?:\\+[nrt]|[\s>|\"'+,])++").split(body)
    if not body[:1].isspace() and not body.startswith("\\"):
        return False
    return any(len(line) >= 16 and _regex(r"[A-Za-z0-9+/=]++").fullmatch(line) for line in lines)


def _tail_of_key(text: str, start: int, end: int) -> int:
    body = _regex(_KEY_TEXT).match(text, start, end)
    if body is None or not _regex(r"[A-Za-z0-9+/=]{24}").search(body[0]):
        return start
    return start + len(body[0].rstrip())


def _head_of_key(text: str, floor: int, end: int) -> int:
    """Where the base64 lines above an END line begin whose BEGIN is missing."""
    at = end
    while at > floor:
        line = max(floor, text.rfind("\n", floor, at - 1) + 1)
        if not _regex(r"[\s>|\"'+]*+[A-Za-z0-9+/=]{4,}+[\s\\nr\"']*+").fullmatch(text, line, at):
            break
        at = line
    return at if end - at >= 24 else end


# Words of the patterns below; `·` stands for what may lie between two words.
_WORDS: Final = {
    "·": r"(?:[^\w.!?]|_){1,5}",
    "<NOT>": r"(?<!never[ ])(?<!not[ ])(?<!n't[ ])(?<!n’t[ ])(?<!cannot[ ])",
    "<START>": r"""(?:^ | (?<=[.!?:;,*#>"'(-][ ]) | (?<=[\n"'“(*>]) | (?<=please[ ])
        | (?<=now[ ]) | (?<=then[ ]) | (?<=and[ ]) | (?<=must[ ]) | (?<=should[ ]))""",
    "<PAST>": "(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing|former|past|initial|original)",
    "<ORDERS>": """(?:instructions?|prompts?|directions?|guidelines?|directives?|orders|rules|constraints
        |programming|training)\\b""",
    "<SECRETFILE>": r"""(?:\.env\b|id_(?:rsa|ed25519|ecdsa)|\.aws/|\.ssh/|\.netrc|\.npmrc|\.pypirc
        |/etc/(?:passwd|shadow)|credentials)""",
    "<SECRETVAR>": r"\$\{?\w{0,40}(?:KEY|SECRET|TOKEN|PASSW|CREDENTIAL)",
    "<AUTHNAME>": r"\w{0,20}(?:token|key|auth|secret|password|signature|sig)",
}


def _command(pattern: str) -> re.Pattern[str]:
    for word, meaning in _WORDS.items():
        pattern = pattern.replace(word, meaning)
    return _regex(pattern, re.IGNORECASE | re.MULTILINE | re.VERBOSE)


_TELLING: Final = (
    "reveal", "print", "show", "output", "repeat", "display", "leak", "expose", "recite", "dump",
    "share", "tell", "give", "send", "write",
)  # fmt: skip
_COMMANDS: Final = (
    _Rule(
        "override",
        ("ignore", "disregard", "forget", "override", "bypass", "discard", "neglect"),
        r"""\b<NOT>(?:ignore|disregard|forget|override|bypass|discard|neglect)·
        (?:(?:all|any|every|of|the|your|my|these|those|that|and|in|from|both|other)·){0,5}
        <PAST>·(?:(?:system|safety|developer|user|given)·)?<ORDERS>""",
        starts=("ignore", "disregard", "forget", "override", "bypass", "discard", "neglect"),
    ),
    _Rule(
        "override",
        ("ignore", "disregard", "forget"),
        r"""\b<NOT>(?:ignore|disregard|forget)·(?:
          (?:(?:all|any|every|of)·){0,3}your·
          (?:(?:own|current|existing|system|safety|developer|<PAST>)·){0,3}<ORDERS>
        | all·(?:(?:of|the|your|other|these)·){0,2}(?:instructions|guidelines|directives)\b
          (?!·(?:in|from|found|inside|within|embedded|contained|that|which)\b)
        | (?:everything|anything|all|what)·(?:that·)?
          (?:you(?:·were|·have·been|['’]ve·been)·(?:told|taught|instructed|given)
          | (?:(?:said|written|stated)·)?(?:above|before|previously)(?=\s{0,3}(?:[.!;,:\n]|\Z|and\b))))""",
        starts=("ignore", "disregard", "forget"),
    ),
    _Rule(
        "override",
        ("disregard", "forget"),
        r"""\b<NOT>(?:disregard|forget)·(?:(?:all|any|the|your|our|of)·){0,3}<PAST>·
        (?:context|conversation|messages)\b""",
        starts=("disregard", "forget"),
    ),
    _Rule(
        "override",
        ("system",),
        r"<START>(?:ignore|disregard|forget)·(?:the|this)·system·(?:prompt|message|instructions?)\b",
        starts=("ignore", "disregard", "forget"),
    ),
    _Rule(
        "override",
        ("anweisung", "instruktion", "befehl", "vorgabe", "regeln"),
        r"""\b(?<!nie[ ])(?<!nicht[ ])(?:ignorier(?:e|en|t)?|vergiss|vergesst|vergessen|missachte[nt]?)·
        (?:\w{1,12}·){0,4}(?:vorherig|vorig|bisherig|obig|früher|frueher|vorangegangen|vorhergehend
        |vorstehend|ursprünglich)\w{0,3}·(?:\w{1,12}·)?(?:anweisung|instruktion|befehl|vorgabe|regel)\w{0,3}""",
        starts=("ignorier", "verg", "missachte"),
    ),
    _Rule(
        "override",
        ("instruccion", "rdenes", "indicacion", "directric"),
        r"""\b(?<!no[ ])(?<!nunca[ ])
        (?:ignor[ae]d?|ignorar|olvid[ae]d?|olvidar|descart[ae]|desestim[ae]|haz·caso·omiso·(?:de|a))·
        (?:(?:todas?|todos?|de|las?|los|tus|sus|mis)·){0,4}
        (?:(?:anteriores|previas)·(?:instrucciones|[óo]rdenes|indicaciones|directrices)
        | (?:instrucciones|[óo]rdenes|indicaciones|directrices)·(?:\w{1,12}·){0,2}
          (?:anteriores|previas|precedentes|originales|de·arriba))\b""",
        starts=("ignor", "olvid", "descart", "desestim", "haz"),
    ),
    _Rule(
        "override",
        ("instruções", "instrucoes", "instructions"),
        r"""\b(?<!não[ ])(?:ignor[ae]|ignorez|esqueça|oubli(?:e|ez)|desconsidere)·
        (?:(?:todas?|toutes?|as|les|suas|vos|tes)·){0,3}
        (?:instruções|instrucoes|instructions)·(?:anteriores|prévias|précédentes|precedentes|antérieures)\b""",
        starts=("ignor", "esque", "oubli", "desconsidere"),
    ),
    _Rule(
        "override",
        ("忽", "无视", "無視", "忘", "理会"),
        r"""(?:忽略|忽视|忽視|无视|無視|忘记|忘記|忘掉|不要理会|不理会)[^\n。！？]{0,8}?
        (?:之前|以前|前面|上面|以上|先前|此前|前述|所有|全部|一切)[^\n。！？]{0,6}?
        (?:指令|指示|提示|命令|规则|規則|说明|說明|要求)
        | (?:以前|これまで|上記|前|すべて|全て)の[^\n。]{0,8}?
        (?:指示|命令|指令|プロンプト)[^\n。]{0,4}?(?:無視|忘れ)""",
    ),
    _Rule(
        "reveal",
        ("prompt", "instructions", "system message"),
        r"""\b<NOT>(?:reveal|print|show|output|repeat|display|leak|expose|recite|dump|share|tell|give|send|write)·
        (?:(?:me|us|out|back|all|of|to|exactly|verbatim|full)·){0,3}your·
        (?:(?:full|entire|complete|own|exact)·){0,2}
        (?:system·(?:prompt|message|instructions)
        | (?:hidden|initial|original|secret|internal)·(?:system·)?(?:instructions|prompt|message))\b""",
        starts=_TELLING,
    ),
    _Rule(
        "reveal",
        ("system prompt", "hidden", "initial"),
        r"""<START>(?:reveal|print|show|output|repeat|display|leak|expose|recite|dump)·
        (?:(?:me|us|out|the|full|entire|complete|secret|verbatim)·){0,4}
        (?:system·prompt|(?:hidden|initial)·(?:instructions|prompt))\b
        (?!·(?:with|via|using|by|when|if|in|for|to·(?:std|a·file|the·log))\b)""",
        starts=_TELLING[:10],
    ),
    _Rule(
        "role",
        ("you are", "you're", "you’re"),
        r"""\byou(?:·are|['’]re)·(?:now|henceforth|no·longer)·(?:
          (?:an?|my)·(?!(?:\w{1,20}·)?(?:member|maintainer|collaborator|contributor|co-?owner|owner|reviewer
            |approver|sponsor|subscriber|participant|part|step|few|bit|lot|little|couple|single|commit)s?\b)\w
        | (?:called|named|known·as|acting·as|playing|the·(?:assistant|model|ai|agent))\b
        | (?:free|freed|liberated|released)·(?:from|of)\b
        | (?:unrestricted|unfiltered|uncensored|jailbroken)\b
        | in·(?:developer|dan|god|jailbreak|unrestricted)·mode\b
        | (?-i:[A-Z][A-Za-z0-9-]{1,20})(?=[.,!;:\n]|\Z|·(?:who|and|with·no)\b)
        | (?:bound|restricted|limited|constrained|required·to·follow|claude|chatgpt|an·ai)\b)""",
        starts=("you",),
    ),
    _Rule(
        "role",
        ("from now on",),
        r"""\bfrom·now·on,?·(?:
          you·(?:are·(?:an?|my|called)|(?:will|must|shall)·(?:act|behave|obey|roleplay|pretend)|act|behave|obey)
        | act·as|behave·as|obey)\b""",
        starts=("from",),
    ),
    _Rule(
        "role",
        ("pretend",),
        r"""\b<NOT>pretend·(?:that·)?(?:
          you·(?:are·(?:an?|no|not|free|my|the|dan|unrestricted)|have·no|do·not·have|don['’]t·have)
        | to·be·(?:an?|my|the)·(?:\w{1,20}·){0,2}(?:ai|assistant|model|agent|bot|hacker|human|person|character
          |villain|twin|expert|admin|administrator|root|developer|user))\b""",
        starts=("pretend",),
    ),
    _Rule(
        "role",
        (
            "restrict",
            "unfiltered",
            "uncensored",
            "jailbroken",
            "^evil",
            "limit",
            "rules",
            "filters",
            "guideline",
        ),
        r"""\b(?:act|behave|respond|roleplay)·(?:as|like)·(?:an?|if)\b[^.!?\n]{0,60}\b(?:unrestricted|unfiltered
          |uncensored|jailbroken|evil|no·(?:restrictions|limits|rules|filters)
          |without·(?:any·)?(?:restrictions|limits|filters))\b
        | \byou·(?:now·)?(?:have·no|are·not·bound·by|are·free·(?:from|of)|no·longer·have)·
          (?:(?:any|all|your)·)?(?:restrictions|rules|guidelines|limitations|filters)\b""",
        starts=("act", "behave", "respond", "roleplay", "you"),
    ),
    _Rule(
        "new-instructions",
        ("instruction", "persona", "directive"),
        r"""(?<!added[ ])(?<!adds[ ])(?<!add[ ])(?<!the[ ])(?<!with[ ])(?<!for[ ])(?<!write[ ])
        \b(?:new|updated|revised|real|actual|secret|hidden|true|override)·(?:system·)?
        (?:instructions?|persona|directives?)(?:·(?:are|is|for·you))?\s{0,3}[:：]""",
        starts=(
            "new",
            "updated",
            "revised",
            "real",
            "actual",
            "secret",
            "hidden",
            "true",
            "override",
        ),
    ),
    _Rule(
        "jailbreak",
        ("do anything now", "jailbr"),
        r"""\bdo·anything·now\b
        | \bjailbreak·(?:mode|yourself)\b | \bjailbroken·(?:ai|assistant|mode|model|version)\b
        | \byou(?:['’]ve|·have)?·been·jailbroken\b""",
        starts=("do", "jailbr", "you"),
    ),
    _Rule(
        "jailbreak",
        ("developer mode", "god mode", "jailbreak mode", "dan mode"),
        r"""\b(?:respond|answer|act|reply|operate|you·are)\b[^.!?\n]{0,30}\b(?:in|with)·
          (?:developer|god|jailbreak)·mode\b
        | <START>(?:enter|enable|activate|switch·(?:to|into))·(?:the·)?(?:developer|god|jailbreak|dan)·mode\b
          (?![^.!?\n]{0,120}\b(?:android|ios|iphone|ipad|chrome|chromium|extensions?|windows|device|phone|settings
          |chromebook|edge|adb|xcode|macos|quest|tap|tapping|browser|powershell|symlinks?|flutter|flag|server
          |docker|npm|app|dashboard|cli|in|on|via|by|with|for|to)\b)
        | \bdeveloper·mode·(?:is·)?(?:now·)?(?:enabled|activated|on|engaged)\b[.!:,]?\s{0,3}
          (?:you·(?:can|are|must|will)|all·(?:restrictions|filters|safety)|ignore)\b""",
        starts=(
            "respond",
            "answer",
            "act",
            "reply",
            "operate",
            "you",
            "enter",
            "enable",
            "activate",
            "switch",
            "developer",
        ),
    ),
    _Rule(
        "role-marker",
        ("<|",),
        r"""<\|(?:im_(?:start|end|sep)|(?:start|end)_header_id|eot_id|system|user|assistant|endoftext
        |begin_of_text|end)\|>""",
        starts=("<|",),
    ),
    _Rule(
        "role-marker",
        ("inst]", "sys>>", "system", "_calls>", "_results>", "invoke name"),
        r"""(?<!`)(?:\[/?INST\] | <</?SYS>>
        | <\s{0,8}/?\s{0,8}(?:system(?:[-_](?:reminder|prompt|message|instructions?))?
          |(?:antml:)?function_(?:calls|results))\s{0,8}>
        | <(?:antml:)?invoke[ ]name=)(?!`)""",
        starts=("[", "<"),
    ),
    _Rule(
        "role-marker",
        ("system", "developer", "admin"),
        r"""^[\s#*>\[(<-]{0,8}(?:system|developer|admin(?:istrator)?)
        (?:·(?:message|prompt|note|override|notice|alert|update))?[\s\])*]{0,4}[:\]>][\s*]{0,6}
        (?:you(?:·(?:are|must|will|should|now|have|can|need)\b|['’]re)|ignore|disregard|forget|override|reveal|obey
        |new·(?:instructions|task)|the·user·(?:is|has|wants)|all·previous|from·now·on
        |your·(?:new·)?(?:task|role|instructions|goal))\b""",
    ),
    _Rule(
        "secrecy",
        ("^user", "^human", "^operator"),
        r"""\b(?:do·not|don['’]t|never|must·not|should·not)·(?:(?:ever|under·any·circumstances)·)?
          (?:tell|inform|alert|notify|warn|let|(?:mention|reveal|disclose)·(?:this|it|that)·to)·
          (?:the|your)·(?:user|human|operator)s?
          (?:·(?:about·(?:this|these|that|it|what·you|any·of)|(?:that|what|why)·you|you|this|anything
            |of·this|know|find·out|see·this|and|or)\b
          | \s{0,3}(?:[.!,;:]|$))
        | \bkeep·(?:this|it|that)·(?:a·)?(?:secret|hidden)·from·(?:the|your)·(?:user|human|operator)\b""",
        starts=("do", "never", "must", "should", "keep"),
    ),
    _Rule(
        "exfiltration",
        ("curl", "wget", "nc ", "ncat"),
        r"""(?:\b(?:env|printenv|set|history)|\bcat\s[^\n|]{0,80}?<SECRETFILE>[^\n|]{0,40})\s{0,3}\|
        (?:[^\n|]{0,60}\|)?\s{0,3}(?:curl|wget|nc|ncat)\b""",
        starts=("env", "printenv", "set", "history", "cat"),
    ),
    _Rule(
        "exfiltration",
        ("curl", "wget", "invoke-webrequest", "iwr", "fetch", "ncat", "http "),
        r"""\b(?:curl|wget|ncat|fetch|invoke-webrequest|iwr|http)\b[^\n]{0,200}?(?:
          \$\(\s{0,3}(?:env|printenv|set)\b | (?:\$\(|`)\s{0,3}(?:cat|base64|tar)\s[^\n)`]{0,60}?<SECRETFILE>
        | @[\w./~-]{0,60}?<SECRETFILE>
        | (?:-T|--upload-file|--post-file|--body-file)[\s=]{0,3}[\w./~-]{0,60}?<SECRETFILE>
        | [?&](?!<AUTHNAME>=)\w{1,30}=<SECRETVAR>
        | \s(?:-d|--data(?:-\w{1,12})?|--post-data|-F|--form)[ =]?["']?
          (?:(?!<AUTHNAME>=)\w{1,30}=)?["']?<SECRETVAR>)""",
        starts=("curl", "wget", "ncat", "fetch", "invoke-webrequest", "iwr", "http"),
    ),
    _Rule(
        "exfiltration",
        ("http://", "https://", "@"),
        r"""<START><NOT>(?:send|post|upload|exfiltrate|forward|transmit|e-?mail|leak)·
        (?:(?:the|all|your|any|every|me|us|contents?|of|users?|its|full|secret|their|current|s)·){0,6}
        (?:env(?:ironment)?(?:·(?:variables?|vars))?|secrets?|credentials?|(?:api|private|ssh|access)·keys?|tokens?
        |passwords?|`?\.env`?|[`\w./~-]{0,40}(?:id_rsa|\.ssh|\.aws)[`\w./~-]{0,40}|conversation|chat·history)
        (?!\w)[^.!?\n]{0,80}?\bto·(?:\w{1,12}·){0,3}
        (?:https?://(?!\S{0,40}(?:internal|localhost|vault))|[\w.+-]{1,40}@[\w-]{1,40}\.)""",
        starts=(
            "send",
            "post",
            "upload",
            "exfiltrate",
            "forward",
            "transmit",
            "e-mail",
            "email",
            "leak",
        ),
    ),
)

# The hints of these are looked for as they are written here.
_SHOUTED: Final = (
    _Rule("jailbreak", ("DAN",), r"\b(?-i:DAN)·mode\b | \b(?:as|like|are|called)·(?-i:DAN)\b"),
)

# Single letters in a row, then the whole run of them.
_SINGLES: Final = r"[^\w\n](?<=\W\w\W)\w(?=\W)"
_SPACED: Final = r"(?<!\w)(?:\w[^\w\n]{1,3}){12,}+\w?"
_SQUEEZED: Final = (
    r"(?:ignore|disregard|forget)(?:all|any|of|the|your|my){0,3}(?:previous|prior|above|earlier)"
    r"(?:instructions?|prompts?|rules|directives)|(?:reveal|print|show)(?:me)?(?:your|the)systemprompt"
)
_LONE_R: Final = r"[rR](?<!\w[rR])(?!\w)"
"""Every command that is found squeezed has an r, and not at its end."""
_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝѵɡɩοανρτυικεАВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwvgioavptuikeABEKMHOPCTXYIJSABEZHIKMNOPTYX",
)


class _Fold(dict[int, int]):
    """Code point to the ASCII character it imitates, itself when none; for `str.translate`."""

    def __missing__(self, code: int) -> int:
        import unicodedata

        shape = unicodedata.normalize("NFKD", chr(code))[0]
        self[code] = ord(shape) if shape.isascii() else code
        return self[code]


@cache
def _fold() -> _Fold:
    return _Fold({code: ord(to) if isinstance(to, str) else to for code, to in _LOOKALIKES.items()})


def _folded(text: str) -> str:
    """`text.translate(_fold())`, which takes long where few characters change."""
    fold = _fold()
    odd = {
        char: chr(to)
        for char in set(text)
        if not char.isascii() and (to := fold[ord(char)]) != ord(char)
    }
    if len(odd) > 20:
        return text.translate(fold)
    for char, shape in odd.items():
        text = text.replace(char, shape)
    return text


def neutralise(text: str) -> str:
    """`text` with each sentence that tries to command the agent replaced by a notice."""
    return _settle(_neutralise_once, text)


def _neutralise_once(text: str) -> str:
    found = injections(text)
    return (
        _replace(text, [(span.start, span.end, INJECTION_NOTICE) for span in found])
        if found
        else text
    )


def injections(text: str, rules: Rules | None = None) -> list[Span]:
    """The sentences of `text` that try to command the reading agent: ascending and disjoint.

    `rules` are those for a set of texts to which this one belongs; they find what all rules find.
    """
    rules = rules or _EVERY_RULE
    found = list(_commands(text, rules.plain))
    if not text.isascii() and any(rules.folded):
        # One character for one, so that positions hold.
        folded = _folded(text)
        found += _commands(folded, rules.folded) if folded != text else []
    return _sentences(text, sorted(found, key=lambda span: span.start)) if found else []


def _commands(text: str, rules: Commands) -> Iterator[Span]:
    low = _lower(text)
    places: dict[str, list[int]] = {}
    for rule in (*_due(rules.any_case, low), *_due(rules.shouted, text)):
        for match in _matches(rule, text, low, places):
            yield Span(rule.kind, match.start(), match.end())
    for run in (
        _regex(_SPACED).finditer(text) if rules.spaced and _regex(_SINGLES).search(text) else ()
    ):
        if _regex(_SQUEEZED, re.IGNORECASE).search(_regex(r"[\W_]++").sub("", run[0])):
            yield Span("override", run.start(), run.end())


def _matches(
    rule: _Rule, text: str, low: str, places: dict[str, list[int]]
) -> Iterator[re.Match[str]]:
    """As `finditer`, in a long text only where a match can begin; `places` keeps where the starts
    stand.
    """
    pattern = _command(rule.pattern)
    if len(text) <= _MANY or not rule.starts or _is_odd(low):
        yield from pattern.finditer(text)
        return
    for start in rule.starts:
        if start not in places:
            places[start] = _found(start, low)
    covered = 0
    for at in sorted({at for start in rule.starts for at in places[start]}):
        match = pattern.match(text, at) if at >= covered else None
        if match:
            covered = match.end()
            yield match


def _is_odd(low: str) -> bool:
    return not low.isascii() and any(letter in low for letter in _ODD_LETTERS)


def _found(word: str, low: str) -> list[int]:
    found, at = [], low.find(word)
    while at >= 0:
        found.append(at)
        at = low.find(word, at + 1)
    return found


def _sentences(text: str, found: list[Span]) -> list[Span]:
    """The spans widened to their sentences, or lines; list and quote marks before them stay."""
    stops = [m.end() for m in _regex(r"[.!?](?=\s)|[。！？\n]").finditer(text)]
    result: list[Span] = []
    for span in found:
        if result and span.start < result[-1].end:
            start = result.pop().start
        else:
            start = _sentence_start(text, stops, span.start)
        after = bisect_left(stops, span.end)
        end = stops[after] if after < len(stops) else len(text)
        end = max(span.end, start + len(text[start:end].rstrip()))
        result.append(Span(span.kind, start, end))
    return result


def _sentence_start(text: str, stops: list[int], position: int) -> int:
    before = bisect_right(stops, position)
    start = stops[before - 1] if before else 0
    marks = _regex(r"\s*+(?:(?:[-*+>#]{1,6}|\d{1,3}[.)])\s++)*+").match(text, start, position)
    return marks.end() if marks else start


# --- many texts


class Commands(NamedTuple):
    """The rules about commands that are worth asking; `spaced`: whether letters set apart are."""

    any_case: tuple[_Rule, ...]
    shouted: tuple[_Rule, ...]
    spaced: bool


class Rules(NamedTuple):
    """The rules that can find something in any of some texts: those that are left out find nothing."""

    private_keys: bool
    tokens: tuple[_Rule, ...]
    credentials: tuple[_Rule, ...]
    names: tuple[str, ...]
    plain: Commands
    folded: Commands


_EVERY_COMMAND: Final = Commands(_COMMANDS, _SHOUTED, spaced=True)
_EVERY_RULE: Final = Rules(
    private_keys=True,
    tokens=_TOKENS,
    credentials=_CREDENTIALS,
    names=_NAME_WORDS,
    plain=_EVERY_COMMAND,
    folded=_EVERY_COMMAND,
)


def rules_for(texts: Iterable[str]) -> Rules:
    """The rules for `secrets` and `injections` of these texts.

    Their hints are looked for in the words of all texts, each word once: a hint that stands in a
    text stands in one of its words, or its parts do when it has white space.
    """
    found: set[str] = set()
    for text in texts:
        found.update(text.split())
    words = "\n".join(found)
    low = _lower(words)
    return Rules(
        private_keys=_may_occur(_KEY_HINT, low),
        tokens=tuple(_narrowed(_TOKENS, _long_words(words))),
        credentials=tuple(_narrowed(_CREDENTIALS, low)),
        names=tuple(name for name in _NAME_WORDS if name in low),
        plain=_commands_for(words, low),
        folded=_folded_for(words),
    )


def _may_occur(hint: str, words: str) -> bool:
    return all(_occurs(part, words) for part in hint.split())


def _narrowed(rules: Iterable[_Rule], words: str) -> Iterator[_Rule]:
    """The rules that can be due in a text of these words, with the hints and starts that can occur
    in it.
    """
    odd = _is_odd(words)
    for rule in rules:
        if hints := tuple(hint for hint in rule.hints if _may_occur(hint, words)):
            starts = rule.starts if odd else tuple(start for start in rule.starts if start in words)
            if starts or not rule.starts:
                yield rule._replace(hints=hints, starts=starts)


def _folded_for(words: str) -> Commands:
    if words.isascii():
        return Commands((), (), spaced=False)
    folded = _folded(words)
    return _commands_for(folded, _lower(folded))


def _commands_for(words: str, low: str) -> Commands:
    return Commands(
        any_case=tuple(_narrowed(_COMMANDS, low)),
        shouted=tuple(_narrowed(_SHOUTED, words)),
        spaced=bool(_regex(_LONE_R).search(words)),
    )

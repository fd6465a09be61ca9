"""Credentials by their shape, their place or their name; group 1 of a rule is what
goes."""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain

from memcli.text import matching
from memcli.text.matching import Hints, Span, lowered, regex, rules

Groups = tuple[tuple[Hints, bool, Callable[[str], bool]], ...]
"""Hints, whether they are looked for in small letters, and what tells a value that is
innocent."""
_NAME_WORDS = ("pass", "pw", "secret", "token", "credential", "key")
_STOPS = ".,;:!?"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[nrt]|(?<=\s)-p"
_KEY_MOST = (
    8000  # how far the lines of a key without an end are looked for (characters)
)
_pattern = partial(matching.pattern, "text/secrets")


def redact_secrets(text: str) -> str:
    """`text` with every credential replaced by a notice that names its kind."""
    return matching.settle(redact_once, text)


def redact_once(text: str) -> str:
    """`redact_secrets` without a second look at what the notices joined."""
    found = find_secrets(text)
    return matching.replaced(
        text, [(s.start, s.end, f"[secret removed: {s.kind}]") for s in found]
    )


@cache
def _groups() -> Groups:
    known = rules("secrets.rules")
    return (
        (known["tokens"], False, _is_masked),  # shapes that speak for themselves
        (matching.shapes("text/token_shapes.txt"), False, _is_masked),
        (
            known["credentials"],
            True,
            _is_filler,
        ),  # may also be a placeholder or an ordinary word
        (
            known["told"],
            True,
            lambda value: (
                _is_drawn(value.rstrip(_STOPS)) or not _is_random(value, password=True)
            ),
        ),  # any word: only what looks chosen counts
    )


def find_secrets(text: str) -> list[Span]:
    """The credentials in `text`: ascending, disjoint, the more specific kind first
    choice."""
    low = lowered(text)
    keys = _private_keys(text) if "private key" in low else ()
    result: list[Span] = []
    found = (*keys, *_shaped(text, low), *_assigned(text, low))
    for secret in sorted(found, key=lambda s: s.start):
        if result and secret.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, secret.end))
        else:
            result.append(secret)
    return result


def _shaped(text: str, low: str) -> Iterator[Span]:
    # What stands for another character (`%3D`, `\\n`) is none of a token; one for one.
    bare = text
    if "%" in text or "\\" in text or " -p" in text:
        bare = regex(_ESCAPED).sub(lambda m: " " * len(m[0]), text)
    for group, small, innocent in _groups():
        sides = (text,) if small or bare == text else (text, bare)
        for kind, rule in matching.due(group, low if small else text):
            for match in chain.from_iterable(map(regex(rule).finditer, sides)):
                part = 1 if match.lastindex else 0
                if not innocent(match[part]):
                    yield Span(kind, match.start(part), match.end(part))


def _is_masked(value: str) -> bool:
    """The drawing of a token (`ghp_xxxxxxxx`, `sk-ant-your-key-here`), not a token."""
    several = len(regex(r"[A-Za-z0-9]+").findall(value[:400])) >= 3
    written = several and value.upper() != value  # groups of capitals are no words
    return bool(_pattern("masked").search(value)) or (written and _is_wordlike(value))


def _is_drawn(value: str) -> bool:
    return bool(_pattern("masked").search(value) or _pattern("filler").fullmatch(value))


def _is_filler(value: str) -> bool:
    bare = value.strip().rstrip(_STOPS)
    return not bare or _is_drawn(bare) or _is_wordlike(bare)


def _is_random(value: str, *, password: bool) -> bool:
    """An unquoted value that looks chosen rather than written: letters with digits, no
    words."""
    bare = value.rstrip(_STOPS + "*")
    if len(bare) < (6 if password else 8) or not regex(r"[A-Za-z]").search(bare):
        return False
    # A short password is a word with a digit: hunter2. Names of algorithms are that as
    # well.
    if password and regex(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{6,}[!@#$%^&*+=?]*").fullmatch(
        bare
    ):
        return not _pattern("known").fullmatch(bare)
    return not _is_wordlike(bare)


def _is_wordlike(value: str) -> bool:
    """Words, identifiers and short numbers, as `tls-cert-v2` or `getAccessToken`."""
    parts = regex(r"[A-Za-z0-9]+").findall(value[:400])
    mixed = [part for part in parts if not _is_word(part)]
    short = regex(r"[A-Za-z]{1,4}\d{1,3}|\d{1,3}[A-Za-z]{1,4}")
    return 2 * len(mixed) <= len(parts) and all(short.fullmatch(part) for part in mixed)


def _is_word(part: str) -> bool:
    if _pattern("known").fullmatch(part):
        return True
    letters = regex(r"[A-Za-z]+").findall(part)
    digits = len(part) - sum(map(len, letters))
    if digits and (digits > 5 or not 2 <= len(letters) <= 3):
        return False
    if not digits and len(part) <= 4:
        return True
    found = regex(r"[A-Z]?[a-z]+|[A-Z]+").findall(part)
    humps = list(map(len, found))
    drawn = sum(len(hump) > 1 and hump.isupper() for hump in found) > 2
    return (
        not drawn
        and max(humps) <= 15
        and sum(humps) / len(humps) >= (3.5 if digits or len(part) > 16 else 2.5)
    )


def _assigned(text: str, low: str) -> Iterator[Span]:
    """The values that stand behind a name such as `DB_PASSWORD=`.

    A bare value ends, for its judgement, where the next such name begins: else a run
    of names (`pwd:pwd:pwd:`) would be judged anew from each of them."""
    names = [word for word in _NAME_WORDS if word in low]
    places = sorted(m.start() for word in names for m in regex(word).finditer(low))
    tried = (_pattern("assignment").match(text, place) for place in places)
    named = [match for match in tried if match and _names_a_secret(match, text)]
    nexts = [match.start() for match in named[1:]] + [len(text)] * bool(named)
    covered = 0
    for match, following in zip(named, nexts, strict=True):
        if match.start() < covered:
            continue
        group = next(g for g in ("double", "single", "bare") if match[g] is not None)
        start, end = match.span(group)
        if group == "bare" and start <= following < end:
            end = following
        if not _holds_a_secret(match, group, text[start:end], text[end : end + 1]):
            continue
        covered = end
        if group == "bare":
            rest = regex(r"""[^\s"'`,;<>&()\[\]{}]*+""").match(text, end)
            covered = rest.end() if rest else end
        yield Span(_kind_of(match["name"]), start, covered)


def _kind_of(name: str) -> str:
    low = name.lower()
    if low.startswith("p"):
        return "password"
    return "api-key" if low == "key" else low.rstrip("s")


def _names_a_secret(match: re.Match[str], text: str) -> bool:
    """`password`, `DB_PASS`, `apiKey` do, `token_url`, `compass`, `sort_key` do not."""
    name = match["name"]
    suffix = match["suffix"]
    low = match["name"].lower()
    before = text[max(0, match.start() - 30) : match.start()]
    before_gap = {" ": r"(?:-[\w.-]*|\bset[xg]?\s+[\w.-]*)\Z", ">": r"<[\w.:-]*\Z"}.get(
        match["gap"]
    )
    if before_gap and not regex(before_gap).search(before):
        return False
    if low == "key" and not _pattern("owners").search(before):
        return False
    if low in ("pass", "pw") and not before.endswith(("_", "-")):
        return False
    if suffix[:1].isalpha() and not (name[-1].islower() and suffix[0].isupper()):
        return False
    words = regex(r"[A-Z]?[a-z]+|[A-Z]+").findall(suffix)
    return not any(_pattern("metadata").fullmatch(word.lower()) for word in words)


def _holds_a_secret(match: re.Match[str], group: str, value: str, after: str) -> bool:
    """Whether a value of that `group` reads as a secret; `after` is what follows it."""
    value = value.strip()
    password = _kind_of(match["name"]) == "password"
    if _pattern("masked").search(value) or _pattern("filler").fullmatch(
        value.rstrip(_STOPS)
    ):
        return False
    if group == "bare":
        is_call = after in ("(", "[", "{")
        return not is_call and _is_random(value, password=password)
    if any(char.isspace() for char in value):
        return (
            password
            and "=" in match["gap"]
            and len(value) >= 12
            and "pass" not in value.lower()
        )
    if password and not value.startswith(("/", "~/", "./")):
        return len(value) >= 4
    return len(value) >= 8 and not _is_wordlike(value)


def _private_keys(text: str) -> Iterator[Span]:
    """The blocks of private keys; one that is cut off ends with its base64 text."""
    marks = list(_pattern("key mark").finditer(text))
    covered = 0
    for mark, after in zip(marks, [*marks[1:], None], strict=False):
        if mark.start() < covered:
            continue
        start, end = mark.span()
        ended = after is not None and after[1] == "END"
        if mark[1] == "END":
            start = _head_of_key(text, covered, start)
        elif after and ended and _is_key_body(text[end : after.start()]):
            end = after.end()
        else:
            tail = _tail_of_key(text, end, after.start() if after else len(text))
            end = after.end() if after and ended and tail > end else tail
        if end - start > len(mark[0]):
            yield Span("private-key", start, end)
        covered = end


def _is_key_body(body: str) -> bool:
    lines = regex(r"(?:\\+[nrt]|[\s>|\"'+,])++").split(body)
    full = regex(r"[A-Za-z0-9+/=]{16,}+")
    return (body[:1].isspace() or body[:1] == "\\") and any(map(full.fullmatch, lines))


def _tail_of_key(text: str, start: int, end: int) -> int:
    """Where the text of a key ends whose END is missing, or hidden by what stands
    between lines."""
    body = _pattern("key text").match(text, start, end)
    if body is not None and regex(r"[A-Za-z0-9+/=]{24}").search(body[0]):
        return start + len(body[0].rstrip())
    last = start
    missed = 0
    for part in _pattern("key part").finditer(text, start, min(end, start + _KEY_MOST)):
        if not _is_masked(part[0]) and regex(r"(?=\D*\d)(?=[^A-Z]*[A-Z])").match(
            part[0]
        ):
            last = part.end()
            missed = 0
        elif (missed := missed + 1) > 8:
            break
    return last


def _head_of_key(text: str, floor: int, end: int) -> int:
    """Where the base64 lines above an END line begin whose BEGIN is missing."""
    at = end
    while at > floor:
        line = max(floor, text.rfind("\n", floor, at - 1) + 1)
        if not regex(r"[\s>|\"'+]*+[A-Za-z0-9+/=]{4,}+[\s\\nr\"']*+").fullmatch(
            text, line, at
        ):
            break
        at = line
    return at if end - at >= 24 else end

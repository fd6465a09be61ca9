"""Text without what hides or steers: control characters, <private> parts, the fence of a block."""

import re

from memcli.text.matching import pattern, regex


def _is_plain(text: str) -> bool:
    """A quick look, sure when it says yes: printable, and no mark that joins or selects (UTF-8)."""
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return False
    if text.isascii():
        return True
    data = text.encode()
    return not any(mark in data for mark in (b"\xcd\x8f", b"\xef\xb8", b"\xf3\xa0"))


def strip_controls(text: str) -> str:
    """`text` without control, escape, bidi and zero-width characters; line ends become newlines."""
    if _is_plain(text) or not pattern("text/controls", "suspect").search(text):
        return text
    text = regex("\r\n?|[\u2028\u2029]").sub("\n", text)
    text = pattern("text/controls", "escape").sub("", text)
    text = pattern("text/controls", "unseen").sub("", text)
    text = pattern("text/controls", "joiner").sub(lambda m: "" if m[1] else m[0], text)
    text = regex("(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]++").sub("", text)
    return regex("[\ud800-\udfff]").sub("\ufffd", text)


for_display = strip_controls  # text that is safe to print on a terminal
PRIVATE_TAG = r"(?i)<\s{0,8}(/?)\s{0,8}private\s{0,8}>"
"""Begins a private part, or ends it where the group is not empty."""


def strip_private(text: str) -> str:
    """`text` without `<private>...</private>`; what is not closed is dropped to the end."""
    kept, at, depth = [], 0, 0
    for tag in regex(PRIVATE_TAG).finditer(text):
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
    # Dropping a part may join halves of another tag: what follows was meant to be hidden.
    again = next((tag for tag in regex(PRIVATE_TAG).finditer(result) if not tag[1]), None)
    return result[: again.start()] if again else result


def fence_safe(text: str, tag: str = "recalled-memory") -> str:
    """`text` in which nothing opens or closes `<tag>`, letters and dashes, wide ones too."""
    dash = "[-_ \u2010-\u2015\u2212\ufe63\uff0d]?"
    name = "".join(dash if char == "-" else f"[{char}{chr(ord(char) + 0xFEE0)}]" for char in tag)
    # A dangling "<" at the end could open the tag together with whatever is printed next.
    return regex(rf"[<＜﹤](?=[\s/\\／]*+(?:{name}|\Z))", re.IGNORECASE).sub("&lt;", text)

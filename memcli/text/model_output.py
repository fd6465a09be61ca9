"""What the words of a language model must pass before they may become memory: a reply
is data."""

from collections.abc import Iterator
from functools import partial

from memcli.text import matching
from memcli.text.controls import find_injections, strip_controls, strip_private
from memcli.text.secrets import find_secrets

TITLE_LENGTH = 120
BODY_LENGTH = 2000
_pattern = partial(matching.pattern, "text/model_output")


class Refused(Exception):
    """A text that must not be written, for what it says: "secret", "injection" or
    "empty"."""


def safe_text(title: str, body: str, *, longest: int = BODY_LENGTH) -> tuple[str, str]:
    """Title (one line) and body as they may be written; raises `Refused` for secret or
    command."""
    check(f"{title}\n{body}")
    title = safe_line(_pattern("markup").sub("", _plain(title)), longest=TITLE_LENGTH)
    body = _cut("\n".join(_harmless(_plain(body))).strip(), longest)
    if not title and not body:
        raise Refused("empty")
    first = _pattern("markup").sub("", body.split("\n")[0])
    title = title or safe_line(first, longest=TITLE_LENGTH) or "Note"
    check(f"{title}\n{body}")
    return title, body


def safe_line(text: str, *, longest: int = 200) -> str:
    """`text` in one line of bounded length, maybe "". Raises `Refused` for secret or
    command."""
    line = _cut(" ".join(_plain(text).split()), longest)
    check(line)
    return line


def check(text: str) -> None:
    """Raise `Refused` when `text` holds a secret or a command to the agent, hidden or
    not."""
    for seen in {text, _plain(text)}:
        if find_secrets(seen):
            raise Refused("secret")
        if find_injections(seen):
            raise Refused("injection")


def _plain(text: str) -> str:
    return strip_private(strip_controls(text))


def _harmless(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = _pattern("fence").match(line)
        if _pattern("conflict").match(line):
            continue
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif not fence:
            if _pattern("rule").fullmatch(line):
                continue
            while found := _pattern("heading").match(line):
                line = line[found.end() :]
        yield line


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    end = max(text.rfind(" ", 0, longest - 2), text.rfind("\n", 0, longest - 2))
    return text[: end if end > longest // 2 else longest - 2].rstrip() + " …"

"""What a model's words must pass before they may become memory: a reply is data."""

from collections.abc import Iterator

from memcli.text.controls import fence_behind, strip_controls, strip_private
from memcli.text.injections import find_injections
from memcli.text.matching import verbose
from memcli.text.secrets import find_secrets

TITLE_LENGTH = 120
BODY_LENGTH = 2000


@verbose
def _markup() -> str:
    """What a title may begin with as Markdown: marks, or a date in brackets."""
    return r"^ (?: [\#>*\s-]+ | \[ \d{4}-\d{2}-\d{2} \] \s* )+"


@verbose
def _conflict() -> str:
    """A line by which git marks a conflict."""
    return r"(?: <{7} | \|{7} | ={7} | >{7} ) (?: [ ] | $ )"


@verbose
def _rule() -> str:
    """A line across the page, which may also begin front matter."""
    return r"[ \t]* (?: ([-_*=]) [ \t]* ) (?: \1 [ \t]* ){2,}"


@verbose
def _heading() -> str:
    """The mark of a heading."""
    return r"[ ]{0,3} \#{1,6} (?: [ \t]+ | $ )"


class Refused(Exception):
    """A text that must not be written, for what it says: "secret", "injection" or
    "empty"."""


def safe_text(title: str, body: str, *, longest: int = BODY_LENGTH) -> tuple[str, str]:
    """Title (one line) and body as they may be written; raises `Refused` for secret or
    command."""
    check(f"{title}\n{body}")
    title = safe_line(_markup().sub("", _plain(title)), longest=TITLE_LENGTH)
    body = _cut("\n".join(_harmless(_plain(body))).strip(), longest)
    if not title and not body:
        raise Refused("empty")
    first = _markup().sub("", body.split("\n")[0])
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
    """The lines without what would end an entry or begin another, but in code."""
    fence = ""
    for line in text.split("\n"):
        if _conflict().match(line):
            continue
        before = fence
        fence = fence_behind(line, fence)
        if not fence and not before:
            if _rule().fullmatch(line):
                continue
            line = _without_heading(line)
        yield line


def _without_heading(line: str) -> str:
    while mark := _heading().match(line):
        line = line[mark.end() :]
    return line


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    end = max(text.rfind(" ", 0, longest - 2), text.rfind("\n", 0, longest - 2))
    return text[: end if end > longest // 2 else longest - 2].rstrip() + " …"

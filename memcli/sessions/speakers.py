"""Whose words a text holds, how much of it is kept, and how it is cleaned. The input
is untrusted, and all work linear."""

import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memcli.memory.words import is_day
from memcli.sessions.handed_over import (
    is_block,
    without_blocks,
    without_pastes,
    without_referenced,
)
from memcli.sessions.model import Session, Turn
from memcli.text.controls import clean_text, strip_private
from memcli.text.injections import neutralise
from memcli.text.matching import regex, verbose
from memcli.text.secrets import find_secrets

RESULT = (2000, 1000)
"""Characters kept of the head and of the tail of a tool result, and of each text in a
tool call."""
SAID = (24_000, 8_000)  # the same of what a person or the agent said

_LOG = 4  # lines of a log that make a paste
_ITEMS = 40  # of a list or object that a tool was given
_WORD = 500  # characters before a cut in which a blank is looked for

_WHOLE = (
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
    "Stop hook feedback:",
    "Base directory for this skill:",
    "[Request interrupted by user",
    "<system_notification>",
)
"""How a text begins that is the harness's as a whole."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@verbose(dot_all=True)
def _recalled() -> str:
    """What mem itself said."""
    return r"<recalled-memory \b [^<>]{0,200} > .*? (?: </recalled-memory> | \Z )"


@verbose(lines=True)
def _notes() -> str:
    """Single lines that a harness writes under a person's name."""
    return r"""
        \[Request[ ]interrupted[ ]by[ ]user [^\]\n]{0,40} \]
      | ^ [ \t]* \#[ ]AGENTS\.md[ ]instructions (?: [ ]for[ ] [^\n]{0,1000} )? $
      | ^ [ \t]* Caveat:[ ]The[ ]messages[ ]below[ ]were[ ]generated[ ]by[ ]the[ ]user
        [ ]while[ ]running[ ]local [^\n]{0,400} (?: \n [^\n]{1,400} ){0,4} $
    """


@verbose
def _by_agent() -> str:
    """How the message of another agent begins."""
    return r"\s{0,8} < (?: teammate | cross-session | agent ) -message \b"


@verbose
def _not_typed() -> str:
    """How a text begins that a harness put in."""
    return r"""
        \s{0,8}
        (?: \#[ ]AGENTS\.md \b | < command-(?: name | message ) >
          | User[ ]initiated[ ]a[ ]review[ ]task
          | Use[ ]the[ ]` [\w:.-]{1,80} `[ ]skill[ ]from[ ]`
          | Launching[ ]skill: | The[ ]user[ ]just[ ]ran[ ]/
          | Implement[ ]the[ ]plan[ ]as[ ]specified,[ ]it[ ]is[ ]attached[ ]for[ ]your
          | You[ ]must[ ]fully[ ]embody[ ]this[ ]agent's[ ]persona[ ]and[ ]follow )
    """


@verbose(dot_all=True)
def _editor() -> str:
    """What an editor wraps around the words that are typed in it: up to its last mark,
    since a file that is selected there may hold one, too."""
    return r"""
        \A \s* \#[ ]Context[ ]from[ ]my[ ]IDE[ ]setup:
        (?: .* \n \#\#[ ]My[ ]request[ ]for[ ]Codex: | .* )
      | \A \s* <timestamp> [^<\n]{0,100} </timestamp> \s* (?: <user_query> )?
      | \A \s* <user_query>
      | </user_query> \s{0,8} \Z
    """


@verbose(dot_all=True)
def _filled_in() -> str:
    """A template of a slash command that shows the words that were typed with it."""
    return r"""
        .{0,4000}? \#\#[ ]User[ ]Input \s+ ```text \n (?P<typed> .{0,20000}? ) \s* ```
        \s+ You[ ]\*\*MUST\*\*[ ]consider[ ]the[ ]user[ ]input
    """


@verbose
def _order() -> str:
    """The line over a plan that an agent wrote and a person accepted."""
    return r"\s{0,8} Implement[ ]the[ ]following[ ]plan :? [^\n]*"


@verbose
def _logged() -> str:
    """How a line of a log or a trace begins."""
    return r"""
        [\s>|]*
        (?: \[? \d{4}[-/]\d\d[-/]\d\d [T ] \d\d:\d\d | \[? \d\d:\d\d:\d\d \b
          | at[ ] [\w.$<>/@ ]+ \( | File[ ]"[^"]+",[ ]line[ ]\d
          | Traceback[ ]\(most[ ]recent | Caused[ ]by: | \.\.\.[ ]\d+[ ]more
          | (?: npm | pnpm | yarn ) [ ] (?: ERR | WARN | error ) | \#\d+[ ]\d+\.\d+[ ]
          | (?: \S+ \s+ )? \|? [ ]?
            (?: ERROR | WARN(?:ING)? | INFO | DEBUG | TRACE | FATAL ) \b [\s:|\]] )
    """


@verbose(ignore_case=True)
def _exit_code() -> str:
    """How the output of a command begins that says how it ended."""
    return r"""
        \s{0,8} (?: Error:[ ] )? (?: Command[ ]failed[ ]with[ ] )?
        exit [ _-]? code :? [ ] (-?\d{1,9})
    """


@verbose
def _usual_key() -> str:
    """A key as most are: a number, a UUID."""
    return r"@\d{1,18} | [0-9a-z]{8} (?: -[0-9a-z]{4} ){3} - [0-9a-z]{12}"


def cut(text: str, limits: tuple[int, int] = SAID) -> str:
    """`text`, or its head and tail and how much is missing between them: cut at blanks,
    as half a credential would not be recognised as one."""
    head, tail = limits
    if len(text) - head - tail <= 100:
        return text
    first = _whole(text[:head])
    last = _whole(text[len(text) - tail :][::-1])[::-1] if tail else ""
    return f"{first}\n[… {len(text) - len(first) - len(last)} characters cut …]\n{last}"


def _whole(text: str) -> str:
    blank = max(text.rfind(" ", -_WORD), text.rfind("\n", -_WORD))
    return text[:blank] if blank > 0 else text


def clean(text: str, limits: tuple[int, int] = SAID) -> str:
    """The words that may be kept, cut to size: nothing private, nothing from mem
    itself, no half characters."""
    if "<" in text:
        text = _recalled().sub(" ", strip_private(text))
    text = cut(text, limits).strip()
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def human(text: str) -> str:
    """What a person typed of a text under the user's role; "" when nothing is."""
    has_tags = "<" in text
    text = _editor().sub("", strip_private(text) if has_tags else text)
    if text.lstrip()[:80].startswith(_WHOLE) or _not_typed().match(text):
        return ""
    if template := _filled_in().match(text):
        text = template["typed"]
    if has_tags:
        text = without_blocks(text)
    text = without_pastes(_notes().sub(" ", without_referenced(text)))
    return clean(_without_logs(text) if text.count("\n") >= _LOG else text)


def _without_logs(text: str) -> str:
    lines = text.split("\n")
    stretches: list[list[int]] = []
    for number, line in enumerate(lines):
        if _logged().match(line[:200]):
            if not stretches or number - stretches[-1][-1] > _LOG:
                stretches.append([])
            stretches[-1].append(number)
    for stretch in reversed(stretches):
        if len(stretch) >= _LOG:
            pasted = slice(stretch[0], stretch[-1] + 1)
            count = pasted.stop - pasted.start
            lines[pasted] = [f"[… {count} pasted lines …]"]
    return "\n".join(lines)


def of_agents(text: str) -> tuple[str, str]:
    """The person's part of what the user's role says, and what another agent wrote (a
    plan)."""
    if _by_agent().match(text):
        return "", text
    order = _order().match(text)
    end = order.end() if order else len(text)
    return text[:end], text[end:]


def failed(text: str) -> bool:
    """Whether a tool result begins by saying that the command failed."""
    status = _exit_code().match(text)
    if status is not None and int(status[1]) != 0:
        return True
    return text.startswith("<tool_use_error>")


_WEB = "web browse fetch playwright search_query http".split()
_FILE = frozenset(
    """read notebookread read_file read_many_files view view_image open_file cat grep
    glob ls list list_dir list_directory search_file_content file_search
    grep_files ripgrep""".split()
)


def origin(tool: str) -> str:
    """Whose words a tool's result are: "web", "file" or "tool:<name>"."""
    name = tool.lower()
    if name in _FILE:
        return "file"
    return "web" if any(part in name for part in _WEB) else f"tool:{tool or 'unknown'}"


def arguments(value: Any, depth: int = 3) -> Any:
    """What a tool was asked, of bounded size: texts cut, long lists and deep nesting
    left out."""
    if isinstance(value, str):
        return clean(value, RESULT)
    if isinstance(value, float):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else 0
    if isinstance(value, dict) and depth:
        items = list(value.items())[:_ITEMS]
        return {_key(key): arguments(item, depth - 1) for key, item in items}
    if isinstance(value, list) and depth:
        return [arguments(item, depth - 1) for item in value[:_ITEMS]]
    return None


def _key(text: str) -> str:
    return text if text.isidentifier() else clean(text, (100, 0))


def call(value: Any) -> Mapping[str, Any]:
    """The input of a tool call as a mapping; a plain text stands under "input"."""
    given = arguments(value)
    if isinstance(given, dict):
        return given
    return {} if given in (None, "") else {"input": given}


def name(value: Any) -> str:
    """A name from outside (id, tool) as a short word without anything special."""
    if not isinstance(value, str):
        return ""
    value = value[:128]
    plain = value.isascii() and value.replace("-", "").replace("_", "").isalnum()
    return value if plain else regex(r"[^\w.:@-]").sub("-", value)


def folder(value: Any) -> str:
    """A path from outside, "" when it is none or not one line: without a part of it, it
    would be another's."""
    is_path = isinstance(value, str) and len(value) <= 4096
    odd = regex(r"[\x00-\x1f\x7f\ud800-\udfff]")
    return value if is_path and not odd.search(value) else ""


def when(value: Any) -> str:
    """A time (RFC 3339, epoch seconds or milliseconds) in ISO 8601, UTC; "" for
    anything else."""
    try:
        time = _time(value)
        if time is None:
            return ""
        if isinstance(value, str) and _is_utc(value):
            return value
        stamp = time.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""
    return stamp.replace("+00:00", "Z").replace(".000Z", "Z")


def _time(value: Any) -> datetime.datetime | None:
    if isinstance(value, str):
        time = datetime.datetime.fromisoformat(value[:40])
        return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    seconds = value / 1000 if value > 1e11 else value
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def _is_utc(stamp: str) -> bool:
    """Whether a time stands already as `when` writes one."""
    return len(stamp) <= 27 and stamp[-1:] == "Z" and stamp[10:11] == "T"


def texts(content: Any) -> str:
    """The text of a content: a string, or the text blocks of a list; images give
    nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = [item.get("text") if isinstance(item, dict) else item for item in content]
    return "\n".join(part for part in parts if isinstance(part, str))


def typed_texts(content: Any) -> str:
    """The texts of a person's message without the blocks among them that are a
    harness's as a whole."""
    text = texts(content)
    if not isinstance(content, list) or _not_typed().match(text):
        return text
    parts = map(texts, ([part] for part in content))
    return "\n".join(part for part in parts if not is_block(part)) or text


TASK_LENGTH = 200
KEY_LENGTH = 100
GROUP = 200
GROUP_SIZE = 200_000


def clean_texts(texts: Sequence[str]) -> Sequence[str]:
    """`clean_text` of each; one look at all of them where there is nothing to clean."""
    every = "\n\n".join(texts)
    return texts if clean_text(every) == every else [*map(clean_text, texts)]


def line(text: str, longest: int) -> str:
    """`text` cleaned, in one line of at most `longest` characters."""
    return flat(clean_text(text), longest)


def flat(text: str, longest: int) -> str:
    """`text` in one line of at most `longest` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"


def clean_session(session: Session) -> Session:
    """The session with every text cleaned; reading has bounded texts and inputs."""
    name = line(session.name, TASK_LENGTH).replace("#", "-") or "-"
    title = line(session.title, TASK_LENGTH)
    turns: list[Turn] = []
    begun = size = 0
    for end, turn in enumerate(session.turns, 1):
        size += len(turn.text)
        if end - begun == GROUP or size > GROUP_SIZE or end == len(session.turns):
            turns += _clean_group(session.turns[begun:end])
            begun = end
            size = 0
    return session._replace(
        id=key_of(session.id), name=name, title=title, turns=tuple(turns)
    )


def _clean_group(group: Sequence[Turn]) -> Iterable[Turn]:
    """One look at many texts: only where there is something to clean are they taken one
    by one."""
    if all(map(_has_plain_key, group)) and _all_clean(group):
        return group
    return [
        turn._replace(
            text=clean_text(turn.text),
            input=_clean_value("", turn.input),
            key=key_of(turn.key),
        )
        for turn in group
    ]


def _has_plain_key(turn: Turn) -> bool:
    return len(turn.key) <= KEY_LENGTH and "#" not in turn.key


def _all_clean(group: Sequence[Turn]) -> bool:
    # Apart, as text with but one wide character takes twice as long to search.
    narrow: list[str] = []
    wide: list[str] = []
    for turn in group:
        for part in (turn.text, turn.key, *_strings(turn.input)):
            (narrow if part.isascii() else wide).append(part)
    return clean_texts(narrow) is narrow and clean_texts(wide) is wide


def _strings(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield f"{name}: {value}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item, str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item, name)


def _clean_value(key: str, value: Any) -> Any:
    if isinstance(value, str):
        return _clean_field(key, value)
    if isinstance(value, Mapping):
        return {
            line(str(name), KEY_LENGTH): _clean_value(str(name), item)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_clean_value("", item) for item in value]
    return value


def _clean_field(key: str, value: str) -> str:
    """A text without credentials, including one that only its key betrays."""
    if key and "\n" not in value:
        field = f"{key}: {json.dumps(value, ensure_ascii=False)}"
        for secret in find_secrets(field):
            return f"[secret removed: {secret.kind}]"
    return clean_text(value)


def key_of(text: str) -> str:
    """A turn's or session's name as it can be written: one line, bounded, without
    `#`."""
    if _usual_key().fullmatch(text):
        return text
    return line(text, KEY_LENGTH).replace("#", "-")


def task_of(turns: Iterable[Turn]) -> str:
    """What a session was about: its first human turn, 200 characters."""
    first = next((turn.text for turn in turns if turn.human and turn.text.strip()), "")
    return line(neutralise(first), TASK_LENGTH)


def day_of(time: str, today: str) -> str:
    """The day of a time stamp; today when it is unknown or in the future."""
    day = time[:10]
    return day if is_day(day) and day <= today else today

"""Whose words they are, how much of them is kept, and what is clean: untrusted, in
linear time."""

import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from memcli.memory.words import is_day
from memcli.sessions.model import Session, Turn
from memcli.text import matching
from memcli.text.controls import neutralise, strip_controls, strip_private
from memcli.text.secrets import find_secrets, redact_secrets

RESULT: Final = (2000, 1000)
"""Characters kept of the head and of the tail of a tool result, and of each text in a
tool call."""
SAID: Final = (24_000, 8_000)  # the same of what a person or the agent said

_LOG: Final = 4  # lines of a log that make a paste
_WORD: Final = 500  # characters before a cut in which a blank is looked for

_WHOLE: Final = (
    "This session is being continued from a previous conversation",
    "Stop hook feedback:",
    "Base directory for this skill:",
    "[Request interrupted by user",
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_pattern: Final = partial(matching.pattern, "sessions/speakers")
"""What harnesses put among a person's words: reminders, echoes of commands, output of
hooks."""


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
    """Words that may be kept, cut: nothing private, nothing of mem's own, no half
    characters."""
    text = cut(
        _pattern("own").sub(" ", strip_private(text)) if "<" in text else text, limits
    ).strip()
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def human(text: str) -> str:
    """What a person typed of a text under the user's role; "" when nothing is
    theirs."""
    text = strip_private(text) if "<" in text else text
    if text.lstrip()[:80].startswith(_WHOLE) or _pattern("not typed").match(text):
        return ""
    if "<" in text:
        text = _pattern("stray").sub(" ", _without_blocks(text))
    text = _pattern("notes").sub(" ", text)
    return clean(_without_logs(text) if text.count("\n") >= _LOG else text)


def _without_logs(text: str) -> str:
    lines = text.split("\n")
    stretches = list[list[int]]()
    for number, line in enumerate(lines):
        if _pattern("logged").match(line[:200]):
            if not stretches or number - stretches[-1][-1] > _LOG:
                stretches.append([])
            stretches[-1].append(number)
    for stretch in reversed(stretches):
        if len(stretch) >= _LOG:
            first = stretch[0]
            end = stretch[-1] + 1
            lines[first:end] = [f"[… {end - first} pasted lines …]"]
    return "\n".join(lines)


def answered(tool: str, text: str) -> str:
    """What a person said through a tool's result: an answer, a word with a refusal."""
    if tool == "AskUserQuestion":
        return "\n".join(map(" ".join, _pattern("choice").findall(text[:20_000])))
    found = (
        _pattern("reply").search(text[:400]) if "the user said:" in text[:400] else None
    )
    return text[found.start(1) :].strip() if found else ""


def of_agents(text: str) -> tuple[str, str]:
    """The person's part of what the user's role says, and what another agent wrote (a
    plan)."""
    if _pattern("agent").match(text):
        return "", text
    ordered = _pattern("order").match(text)
    return (text[: ordered.end()], text[ordered.end() :]) if ordered else (text, "")


def _without_blocks(text: str) -> str:
    """`text` without what stands in harness tags; a block that is not closed goes to
    the end."""
    kept = []
    at = 0
    while opened := _pattern("open").search(text, at):
        kept.append(text[at : opened.start()])
        close = re.compile(re.escape(f"</{opened[1]}>"), re.IGNORECASE).search(
            text, opened.end()
        )
        if close is None:
            return "".join(kept)
        at = close.end()
    return "".join([*kept, text[at:]])


def fenced(fence: str, line: str) -> str:
    """The code fence that is open behind a line, "" for none; `fence` is the one before
    it."""
    mark = _pattern("fence").match(line)
    if not mark or not fence:
        return mark[1] if mark else fence
    return (
        ""
        if mark[1].startswith(fence) and not line.strip().strip(mark[1][0])
        else fence
    )


def failed(text: str) -> bool:
    """Whether a tool result begins by saying that the command failed."""
    status = _pattern("exit").match(text)
    return (status is not None and int(status[1]) != 0) or text.startswith(
        "<tool_use_error>"
    )


_WEB: Final = ("web", "browse", "fetch", "playwright", "search_query", "http")
_FILE: Final = frozenset(
    "read notebookread read_file read_many_files view view_image open_file cat grep glob ls list"
    " list_dir list_directory search_file_content file_search grep_files ripgrep".split()
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
    if isinstance(value, dict) and depth:
        pairs = (
            (key, arguments(item, depth - 1)) for key, item in [*value.items()][:40]
        )
        return {
            key if key.isidentifier() else clean(key, (100, 0)): item
            for key, item in pairs
        }
    if isinstance(value, list) and depth:
        return [arguments(item, depth - 1) for item in value[:40]]
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else 0
    return value if isinstance(value, float) else None


def call(value: Any) -> Mapping[str, Any]:
    """The input of a tool call as a mapping; a plain text stands under "input"."""
    found = arguments(value)
    return (
        found
        if isinstance(found, dict)
        else {"input": found}
        if found not in (None, "")
        else {}
    )


def name(value: Any) -> str:
    """A name from outside (id, tool) as a short word without anything special."""
    if not isinstance(value, str):
        return ""
    value = value[:128]
    plain = value.isascii() and value.replace("-", "").replace("_", "").isalnum()
    return value if plain else _pattern("unsafe").sub("-", value)


def folder(value: Any) -> str:
    """A path from outside as one line; "" when it is none."""
    return _pattern("control").sub("", value[:4096]) if isinstance(value, str) else ""


def when(value: Any) -> str:
    """A time (RFC 3339, epoch seconds or milliseconds) in ISO 8601, UTC; "" when it is
    none."""
    try:
        if isinstance(value, str):
            time = datetime.datetime.fromisoformat(value[:40])
            if len(value) <= 27 and value[-1:] == "Z" and value[10:11] == "T":
                return value
            time = time.replace(tzinfo=time.tzinfo or datetime.UTC)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            seconds = value / 1000 if value > 1e11 else value
            time = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        else:
            return ""
        stamp = time.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""
    return stamp.replace("+00:00", "Z").replace(".000Z", "Z")


def texts(content: Any) -> str:
    """The text of a content: a string, or the text blocks of a list; images give
    nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    found = [item.get("text") if isinstance(item, dict) else item for item in content]
    return "\n".join(text for text in found if isinstance(text, str))


_NAMED = re.compile(
    r"@\d{1,18}|[0-9a-z]{8}(?:-[0-9a-z]{4}){3}-[0-9a-z]{12}"
)  # as most are
TASK_LENGTH = 200
KEY_LENGTH = 100
GROUP = 200
GROUP_SIZE = 200_000
_ROUGH = re.compile(r"[a-z0-9_\u00c0-\u04ff]{3,}|[\u2e80-\uffff]")


def clean_text(text: str) -> str:
    """`text` without controls, private parts and credentials."""
    return redact_secrets(strip_private(strip_controls(text)))


def clean_texts(texts: Sequence[str]) -> Sequence[str]:
    """`clean_text` of each, by one look at all where nothing goes."""
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
    turns: list[Turn] = []
    begun = size = 0
    for end, turn in enumerate(session.turns, 1):
        size += len(turn.text)
        if end - begun == GROUP or size > GROUP_SIZE or end == len(session.turns):
            turns += _clean_group(session.turns[begun:end])
            begun = end
            size = 0
    return session._replace(id=key_of(session.id), name=name, turns=tuple(turns))


def _clean_group(group: Sequence[Turn]) -> Iterable[Turn]:
    """One look at many texts: only where there is something to clean are they taken one
    by one."""
    parts = [
        part for turn in group for part in (turn.text, turn.key, *_strings(turn.input))
    ]
    # Apart, as text with but one wide character takes twice as long to search.
    narrow, wide = (
        [part for part in parts if part.isascii() is one] for one in (True, False)
    )
    plain = all(len(turn.key) <= KEY_LENGTH and "#" not in turn.key for turn in group)
    if plain and clean_texts(narrow) is narrow and clean_texts(wide) is wide:
        return group
    return [
        turn._replace(
            text=clean_text(turn.text), input=_clean_value("", turn.input), key=key
        )
        for turn, key in zip(group, (key_of(turn.key) for turn in group), strict=True)
    ]


def _strings(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield f"{name}: {value}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (str(key), *_strings(item, str(key)))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item, name)


def _clean_value(key: str, value: Any) -> Any:
    if isinstance(value, str):
        said = f"{key}: {json.dumps(value, ensure_ascii=False)}"
        secret = (
            next(iter(find_secrets(said)), None) if key and "\n" not in value else None
        )
        return f"[secret removed: {secret.kind}]" if secret else clean_text(value)
    if isinstance(value, Mapping):
        return {
            line(str(k), KEY_LENGTH): _clean_value(str(k), item)
            for k, item in value.items()
        }
    return (
        [_clean_value("", i) for i in value]
        if isinstance(value, (list, tuple))
        else value
    )


def key_of(text: str) -> str:
    """A turn's or session's name as it can be written: one line, bounded, without
    `#`."""
    return text if _NAMED.fullmatch(text) else line(text, KEY_LENGTH).replace("#", "-")


def task_of(turns: Iterable[Turn]) -> str:
    """What a session was about: its first human turn, 200 characters."""
    first = next((turn.text for turn in turns if turn.human and turn.text.strip()), "")
    return line(neutralise(first), TASK_LENGTH)


def day_of(time: str, today: str) -> str:
    """The day of a time stamp; today where it is not known or still to come."""
    day = time[:10]
    return day if is_day(day) and day <= today else today


def rough(text: str) -> frozenset[str]:
    """The words of a text for a quick comparison; of scripts without spaces, the
    characters."""
    return frozenset(_ROUGH.findall(text.casefold()))

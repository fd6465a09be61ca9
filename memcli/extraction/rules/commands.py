"""Commands of a session: what makes two calls the same one, and errors that were got
over."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memcli.extraction.rules.words import listed, says, sentences, spoken
from memcli.sessions.model import Finding, Turn
from memcli.sessions.tools import changed_by, shell_line
from memcli.text.matching import regex
from memcli.text.secrets import redact_secrets

# characters of an error, of the end of an output that is searched
ERROR = 200
OUTPUT = 8000
# recovered errors of a session, turns within which a fix must come
FAILURES = 3
REACH = 80

_SET = r"[A-Za-z_]\w*="  # a variable that is set
# A line that names its kind of error: "ValueError: ...".
_TYPED_ERROR = r"(?i)\b\w+(?:error|exception)\b\s*:"
# A line that says that something failed, in the words of common tools.
_ERROR = r"""(?xi)
    \b\w*(?:error|exception)\b\s*[:(] | \berror(?:\[\w+\])?: | \bfatal: | \berr!
    | \bpanic:
    | \b(?: cannot | could[ ]not | can't | unable[ ]to | permission[ ]denied
         | not[ ]found | refused | undefined | missing | timed[ ]out | failed[ ]to
         | no[ ]such )\b
"""
# What stands before the program: wrappers, and what runs it in an environment or as a
# module.
_BEFORE = (
    r"(?:(?:sudo|time|npx|env|timeout \S+)(?: |\Z))*"
    r"(?:(?:uv|poetry) run(?: |\Z))?(?:python\S* -m (?=\S))?"
)


class _Call(NamedTuple):
    turn: int
    command: str


def recoveries(turns: Sequence[Turn]) -> list[Finding]:
    """The first errors that were got over by an edit or another command line, with what the
    agent says of the cause."""
    findings: dict[str, Finding] = {}
    for finding in _got_over(turns):
        findings.setdefault(finding.title, finding)
        if len(findings) == FAILURES:
            break
    return list(findings.values())


def _got_over(turns: Sequence[Turn]) -> Iterator[Finding]:
    failed: dict[str, tuple[int, _Call]] = {}
    calls: list[_Call] = []
    for call, index, error in results(turns, calls):
        name = family(call.command)
        if not name or name.split()[0] in listed("looking"):
            continue
        if error:
            failed.setdefault(name, (index, call))
        elif name in failed:
            since, failure = failed.pop(name)
            near = turns[since : index + 3]
            if len(near) > REACH:
                continue
            lately = calls[-REACH:]
            between = [one for one in lately if since < one.turn < call.turn]
            if recovered := _recovered(near, since, failure, call, between):
                yield recovered


def results(
    turns: Sequence[Turn], calls: list[_Call]
) -> Iterator[tuple[_Call, int, bool]]:
    """(call, index of its result, whether it failed) by id or order; `calls` gets every
    call."""
    waiting: defaultdict[str, deque[_Call]] = defaultdict(deque)
    for index, turn in enumerate(turns):
        asked = waiting[turn.call or f"tool {turn.tool}"]
        if turn.role == "assistant" and turn.tool:
            calls.append(_Call(index, command_of(turn)))
            asked.append(calls[-1])
        elif turn.role == "tool" and asked:
            yield asked.popleft(), index, turn.error


def command_of(turn: Turn) -> str:
    """The shell command of a call; "" for another tool."""
    return shell_line(turn.input).strip()[:2000]


@lru_cache(maxsize=4096)
def essence(command: str) -> str:
    """The part of a shell line that does the work: without `cd x &&`, redirections and
    pipes."""
    line = command.split("\n", 1)[0]
    parts = [part.strip() for part in regex(r"&&|;").split(line) if part.strip()] or [
        ""
    ]
    while len(parts) > 1 and parts[0].split()[0] in listed("leading"):
        parts.pop(0)
    return regex(r"\s[12&]?>&?\s{0,2}\S+").sub("", parts[0].split(" | ", 1)[0]).strip()


@lru_cache(maxsize=4096)
def family(command: str) -> str:
    """What makes two calls the same command: its program, and its sub-command if it has
    such."""
    line = " ".join(
        each for each in essence(command).split()[:12] if not regex(_SET).match(each)
    )
    tokens = regex(_BEFORE).sub("", line, count=1).split() or [""]
    name = tokens[0].rsplit("/", 1)[-1]
    plain = [
        token for token in tokens[1:3] if regex(r"[a-z][a-z0-9:_-]*\Z").match(token)
    ]
    if name in listed("sub-commanded"):
        name = " ".join([name, *plain[: 2 if plain[:1] == ["run"] else 1]])
    elif name.startswith("python") and len(tokens) > 1:
        name = f"{name} {tokens[1]}"
    return name[:60]


def _error_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()[-200:]]
    named = [line for line in lines if len(line) < 1000 and regex(_ERROR).search(line)]
    typed = [line for line in named if regex(_TYPED_ERROR).search(line)]
    line = (typed or named[:1] or [""])[-1]
    line = regex(r"^(?:E\s+|npm ERR! |error: (?=error))").sub("", line)
    return cut(redact_secrets(line).replace("`", "'"), ERROR)


def cut(text: str, size: int) -> str:
    """At most `size` characters of a text, cut at the end of a word, not within the
    notice of a secret."""
    if len(text) <= size:
        return text
    blank = text.rfind(" ", size // 2, size)
    head = text[: blank if blank > 0 else size - 1]
    notice = head.rfind("[secret")
    head = head[:notice] if notice > 0 and "]" not in head[notice:] else head
    return head.rstrip(" ,;:.(") + "…"


def _recovered(
    turns: Sequence[Turn],
    start: int,
    failure: _Call,
    success: _Call,
    between: Sequence[_Call],
) -> Finding | None:
    """What was learned from an error: `turns` begin with its output, at `start` of the
    session."""
    name = family(failure.command)
    ran = _ran_between(name, between)
    files = (
        path for command in between for path in changed_by(turns[command.turn - start])
    )
    edited = tuple(dict.fromkeys(files))[:4]
    cause = _cause(turns)
    error = _error_line(turns[0].text[-OUTPUT:])
    is_other = essence(failure.command) != essence(success.command)
    if not (error and cause and (ran or edited or is_other)):
        return None
    steps = [f"ran {_code(command)}" for command in ran]
    steps += [f"edited {_code(path)}" for path in edited]
    steps.append(f"then {_code(success.command)} passed")
    rows = [f"{_code(failure.command)} failed: `{error}`", cause]
    rows.append(f"Recovery: {', '.join(steps)}.")
    return Finding(
        scope="corrective",
        title=cut(f"{name} failed: {error}", 100),
        body="\n".join(rows),
        turn=start,
        kind="pitfall",
        type="corrective",
        paths=edited,
        commands=(f"{name}*",),
    )


def _ran_between(name: str, between: Sequence[_Call]) -> list[str]:
    """The first other commands that did something: no looking around, no tests."""
    idle = listed("looking") | listed("testing")
    ran: dict[str, None] = {}
    for one in between:
        program = family(one.command)
        if program not in ("", name) and program.split()[0] not in idle:
            ran[one.command] = None
    return list(ran)[:4]


def _cause(turns: Sequence[Turn]) -> str:
    """The agent's last sentence that says why."""
    sentences_before = (
        sentence
        for turn in reversed(turns)
        if spoken(turn)
        for sentence in sentences(turn.text)[::-1]
    )
    why = (one.text for one in sentences_before if says("finding", one.low))
    return next((text for text in why if 20 < len(text) <= 300), "")


def _code(text: str) -> str:
    return f"`{cut(redact_secrets(essence(text) or text).replace('`', chr(39)), 160)}`"

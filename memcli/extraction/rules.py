"""What a session teaches, found by its wordings alone: no model, no network, the same answer every
time.

A false memory does more harm than a missed one, so every doubt here says "nothing".
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, NamedTuple

from memcli.extraction import rule_words as words
from memcli.sessions.model import Finding, Session, Turn
from memcli.text.secrets import redact_secrets

SENTENCE = 600
"""Characters of the longest sentence that is looked at, and of a body."""
TYPED = 6000
"""Characters of a human turn that are read; of a longer one its head and tail, as its middle is
pasted.
"""
TITLE = 80
ERROR = 200
OUTPUT = 8000
"""Characters of the end of a tool's output in which the error is looked for."""
PER_TURN = 3
FAILURES = 8
"""Findings of one human turn at most, and recovered errors of one session."""
REACH = 80
"""Turns after an error within which its fix must come."""


class Before(NamedTuple):
    """What the agent did right before a human turn."""

    acted: bool = False
    said: str = ""
    command: str = ""


class _Sentence(NamedTuple):
    words: str
    """As typed, blanks collapsed, without what leads into it."""
    low: str
    """Lower case, straight apostrophes, quotes and code masked: what patterns see."""


def find(session: Session) -> tuple[Finding, ...]:
    """Everything in `session` worth remembering, in order of its turns; deterministic, linear,
    never raises.

    Of equal wordings the first stands. Only words that a person typed give advice: what they
    pasted, what tools returned and what was said for the moment gives none.
    """
    found = sorted([*_said(session.turns), *recoveries(session.turns)], key=lambda one: one.turn)
    unique: dict[tuple[str, str], Finding] = {}
    for one in found:
        unique.setdefault((one.scope, one.body.casefold()), one)
    return tuple(unique.values())


def _said(turns: Sequence[Turn]) -> Iterator[Finding]:
    acted, said, call = False, "", None
    for i, turn in enumerate(turns):
        if turn.human:
            yield from of_turn(turn.text, Before(acted, said, _command(call) if call else ""), i)
            acted, said, call = False, "", None
        elif turn.role == "assistant":
            acted, said, call = True, turn.text or said, turn if turn.tool else call


def of_turn(text: str, before: Before, turn: int = 0) -> list[Finding]:
    """What one human turn teaches, given what the agent did `before` it; at most three findings."""
    if len(text) > TYPED:
        text = f"{text[: TYPED // 2]}\n{text[-TYPED // 3 :]}"
    if not _cued(_lower(text)):
        return []
    return list(islice(_of_sentences(_sentences(text), before, turn), PER_TURN))


def _cued(low: str) -> bool:
    """Whether a text can teach anything; plain searches, as most turns cannot."""
    if not words.CUE_WORDS.isdisjoint(_pattern(r"[^\W\d_]+").findall(low)):
        return True
    return any(cue in low for cue in words.CUE_STEMS) or not words.CUE_SIGNS.isdisjoint(low)


def _of_sentences(said: list[_Sentence], before: Before, turn: int) -> Iterator[Finding]:
    used = 0
    for i, sentence in enumerate(said):
        if i < used:
            continue
        if before.acted and i == _first(said):
            used, found = _corrected(said, i, before, turn)
            if found:
                yield found
                continue
        one = _of_sentence(said, i, before, turn)
        if one:
            yield one
        if _matches(words.PASTED, sentence.low):
            return


def _first(said: list[_Sentence]) -> int:
    """Where the first sentence that is more than assent stands."""
    return next((i for i, one in enumerate(said) if one.low), 0)


# -- the rules ----------------------------------------------------------------------------------


def _of_sentence(said: list[_Sentence], i: int, before: Before, turn: int) -> Finding | None:
    sentence = said[i]
    if not sentence.low or _matches(words.QUESTION, sentence.low):
        return None
    if _any((words.POINTING_ON, *words.POINTING), sentence.low):
        return _pointed(said[: i + 1], before, turn)
    if _any(words.REMEMBER, sentence.low):
        return _remembered(sentence, turn)
    if _idle(sentence.low):
        return None
    if _any(words.ESCALATION, sentence.low):
        return _finding("escalation", "preference", sentence, turn, about_person=True)
    if _any(words.MANNER, sentence.low):
        return _directive("preference", sentence, turn)
    if _any(words.DECIDED, sentence.low) and not _pointed_at(said, i):
        return _finding("observations", "decision", sentence, turn, type="declarative")
    if _any(words.POLICY, sentence.low) and not _wished(sentence.low):
        return _directive("policy", sentence, turn)
    if _any(words.PREFERENCE, sentence.low) and not _answers(sentence.low, before):
        return _directive("preference", sentence, turn)
    return None


def _idle(low: str) -> bool:
    """Whether a sentence is for the moment, a doubt, or another's words."""
    return (
        _matches(words.PASSING, low) or _matches(words.DOUBT, low) or _matches(words.REPORTED, low)
    )


def _wished(low: str) -> bool:
    """Whether a sentence says what the product must do: a task, unless it says "from now on"."""
    return _matches(words.WISHED, low) and not _any(words.POLICY[:2], low)


def _answers(low: str, before: Before) -> bool:
    """Whether a preference only chooses among what the agent offered."""
    return before.said.rstrip().endswith(("?", "？")) and not _matches(words.LASTING, low)


def _directive(kind: str, sentence: _Sentence, turn: int) -> Finding:
    person = _matches(words.OF_PERSON, sentence.low) and not _matches(words.OF_WORK, sentence.low)
    return _finding("observations", kind, sentence, turn, about_person=person)


def _finding(scope: str, kind: str, sentence: _Sentence, turn: int, **more: Any) -> Finding:
    return Finding(scope, title(sentence.words), sentence.words[:SENTENCE], turn, kind, **more)


def _remembered(sentence: _Sentence, turn: int) -> Finding | None:
    lead = _pattern("|".join(words.REMEMBER)).search(sentence.low)
    rest = sentence.words[lead.end() :] if lead else sentence.words
    return _fact(rest, turn) if len(rest) > 4 else None


def _pointed_at(said: list[_Sentence], i: int) -> bool:
    """Whether the next sentence says to remember this one, and so finds it."""
    return i + 1 < len(said) and _any((words.POINTING_ON, *words.POINTING), said[i + 1].low)


def _pointed(said: list[_Sentence], before: Before, turn: int) -> Finding | None:
    """The fact that the last sentence, "remember this", points to: the one before it, else the
    agent's last.

    What goes on after "and" is kept with it. A decision that gives its reason is one.
    """
    own = [
        one
        for one in said[:-1]
        if _substantial(one.words) and not _matches(words.QUESTION, one.low)
    ]
    meant = own or [one for one in _sentences(before.said[-TYPED:]) if _substantial(one.words)]
    if not meant:
        return None
    fact = _fact(meant[-1].words, turn)
    further = _pattern(words.POINTING_ON).search(said[-1].low)
    rest = f" {_begun(said[-1].words[further.end() :])}" if further else ""
    kind = "decision" if _any(words.DECIDED, meant[-1].low) else fact.kind
    return fact._replace(body=(fact.body + rest)[:SENTENCE], kind=kind)


def _substantial(text: str) -> bool:
    return len(text.split()) >= 4 or (not text.isascii() and len(text) >= 8)


def _fact(text: str, turn: int) -> Finding:
    return Finding(
        "observations",
        title(text),
        text[:SENTENCE],
        turn,
        "fact",
        type="declarative",
        priority="high",
    )


def _corrected(
    said: list[_Sentence], i: int, before: Before, turn: int
) -> tuple[int, Finding | None]:
    """(index after the sentences used, the correction that begins at sentence `i`)."""
    low = said[i].low
    if not _matches(words.OPENER, low) or _matches(words.QUESTION, low) or _any(words.MANNER, low):
        return i, None
    if _pattern("|".join(words.POLICY[:2])).search(low) and not _matches(words.WRONG, low):
        return i, None
    part = said[i : i + 3]
    advice = [n for n, one in enumerate(part) if _advises(one.low)]
    if not advice and _matches(words.WRONG, low):
        advice = [n for n, one in enumerate(part) if _states(one.low)]
    if not advice and _rejects(part, before):
        advice = [1]
    if not advice or any(_steers(one.low) for one in part[: advice[-1] + 1]):
        return i, None
    end = i + advice[-1] + 1
    while end < min(i + 4, len(said)) and _reasons(said, end, before, turn):
        end += 1
    body = _begun(" ".join(one.words for one in said[i:end]))[:SENTENCE]
    found = Finding(
        "corrective",
        title(part[advice[0]].words),
        body,
        turn,
        "pitfall",
        type="corrective",
        commands=_of_command(before.command, body),
    )
    return end, found


def _rejects(part: list[_Sentence], before: Before) -> bool:
    """Whether "no, not npm" speaks of the agent's command or says so again, and an order follows."""
    if (
        len(part) < 2
        or not _matches(words.REJECTED, part[0].low)
        or not _matches(words.ORDER, part[1].low)
    ):
        return False
    again = any(_matches(words.REPEATED, one.low) for one in part)
    return again or bool(_of_command(before.command, part[0].words))


def _reasons(said: list[_Sentence], i: int, before: Before, turn: int) -> bool:
    """Whether a sentence gives the reason of a correction, or its bounds, and is no finding of its
    own.
    """
    low = said[i].low
    if (
        not _matches(words.REASON, low)
        or _matches(words.QUESTION, low)
        or _idle(low)
        or _steers(low)
    ):
        return False
    return _of_sentence(said, i, before, turn) is None


def corrects(text: str) -> bool:
    """Whether a person's turn begins as corrections of the work do, not of manner; by its
    beginning.
    """
    said = _sentences(text[:SENTENCE])
    return bool(said) and _matches(words.OPENER, said[_first(said)].low) and not of_manner(text)


def of_manner(text: str) -> bool:
    """Whether a turn begins with how the person wants to be talked to, which is private."""
    return any(_any(words.MANNER, one.low) for one in _sentences(text[:SENTENCE]))


def _advises(low: str) -> bool:
    return not _idle(low) and not _matches(words.QUESTION, low) and _any(words.ADVICE, low)


def _states(low: str) -> bool:
    """Whether a sentence tells how things are, after or beside the words that something was wrong."""
    rest = _pattern(words.WRONG).sub("", low)
    return not _idle(low) and len(rest) > 12 and _matches(words.STATEMENT, rest)


def _steers(low: str) -> bool:
    return _matches(words.STEERING, low) and not _matches(words.LASTING, low)


def _of_command(command: str, body: str) -> tuple[str, ...]:
    """The glob of the command that a correction speaks of."""
    name = family(command)
    spoken = _pattern(r"\w[\w-]*(?:\.[\w-]+)*").findall(body.lower())
    return (f"{name}*",) if name and name.split()[0] in spoken else ()


# -- titles and sentences -----------------------------------------------------------------------


def title(text: str) -> str:
    """The person's words as a title: without fillers, at most 80 characters, cut at a word."""
    text = _pattern(r"(?i)^(?:i|ich|yo)\s+(?=prefer|bevorzuge)").sub(
        "", _trimmed(_first_line(text))
    )
    return _cut(_begun(text).rstrip(" .!;,:。！，；"), TITLE)


def _begun(text: str) -> str:
    """`text` without the "no" it begins with, and with a capital."""
    rest = _pattern(
        r"(?i)^(?:no+(?=[\s]*[,.!:-])|nope|nah|nein|nee|wrong|actually|stopp?(?=[,.!])|falsch|不对|不是|错了|不)"
        r"[\s,.!:，。！-]+"
    ).sub("", text)
    return rest[:1].upper() + rest[1:]


def _first_line(text: str) -> str:
    return text.lstrip().split("\n", 1)[0]


def _trimmed(text: str) -> str:
    """`text` without the fillers it begins with."""
    lead = _pattern(f"^{words.FILLERS}{{1,6}}").match(_lower(text))
    return text[lead.end() :] if lead else text


def _cut(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    blank = text.rfind(" ", size // 2, size)
    return text[: blank if blank > 0 else size - 1].rstrip(" ,;:.") + "…"


def _sentences(text: str) -> list[_Sentence]:
    """What the person typed themselves, sentence by sentence."""
    return [_sentence(*part) for line in own_lines(text) for part in _split(line)]


def _sentence(text: str, low: str) -> _Sentence:
    lead = _pattern(f"^{words.FILLERS}{{1,6}}").match(low)
    start = lead.end() if lead else 0
    return _Sentence(text[start:], low[start:]) if len(text) <= SENTENCE else _Sentence("", "")


_END = (
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bz\.b\.)(?<!\bej\.)(?<!\bbzw\.)"
    r"\s+|(?<=[。！？])"
)


def _split(line: str) -> Iterator[tuple[str, str]]:
    """(sentence, how patterns see it) of a line; a quotation is never cut."""
    line = " ".join(line.split())
    low, start = _masked(_lower(line)), 0
    for end in [*(match.end() for match in _pattern(_END).finditer(low)), len(line)]:
        if line[start:end].strip():
            yield line[start:end].rstrip(), low[start:end].rstrip()
        start = end


def own_lines(text: str) -> Iterator[str]:
    """The lines of a human turn without fences, quotes, logs, diffs, and what a colon announces as
    pasted.
    """
    fence = ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if fence or mark in ("```", "~~~"):
            fence = "" if mark == fence else fence or mark
            continue
        if not line.strip() or mark.startswith(">") or len(line) > 2 * SENTENCE:
            continue
        low = _lower(line)
        if _matches(words.LOGGED, low):
            continue
        head = _announced(low)
        yield _pattern(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+").sub("", line[:head])
        if head < len(line) or _matches(words.PASTED, low):
            return


def _announced(low: str) -> int:
    """Where in a line the pasted part begins, its length if there is none."""
    match = _pattern(words.ANNOUNCED).search(low)
    return match.end() if match else len(low)


_MASK = r'"[^"\n]{3,300}"|“[^”\n]{3,300}”|„[^“”\n]{3,300}[“”]|«[^»\n]{3,300}»|「[^」\n]{3,300}」|`[^`\n]{1,300}`'


def _masked(low: str) -> str:
    """`low` with quoted words (`·`) and code (`¤`) blotted out, of the same length."""
    return _pattern(_MASK).sub(lambda m: ("¤" if m[0][0] == "`" else "·") * len(m[0]), low)


def _lower(text: str) -> str:
    """Lower case with straight apostrophes, of the same length."""
    return text.replace("\u0130", "I").replace("’", "'").lower()


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _matches(pattern: str, low: str) -> bool:
    return _pattern(pattern).search(low) is not None


@cache
def _joined(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _any(patterns: tuple[str, ...], low: str) -> bool:
    return _joined(patterns).search(low) is not None


# -- errors followed by a fix ---------------------------------------------------------------------

# Fails for nothing: they look, and their exit code is an answer.
LOOKING = frozenset(
    """grep rg egrep ag find fd ls cat head tail sed awk which type test [ diff cmp stat file wc echo printf
    cd pwd true false sleep ps kill pkill tree jq less more man history env curl wget ping lsof git""".split()
)
_EDITING = frozenset(
    {
        "edit",
        "multiedit",
        "write",
        "notebookedit",
        "apply_patch",
        "str_replace",
        "replace",
        "write_file",
    }
)
_SHELL_KEYS = ("command", "cmd", "script")
_PATH_KEYS = ("file_path", "path", "filePath", "notebook_path", "absolute_path")
_TESTING = frozenset(
    "pytest tox nox jest vitest mocha rspec phpunit ctest ruff mypy eslint tsc flake8 pyright".split()
)
_SUBCOMMANDED = frozenset(
    """npm pnpm yarn bun npx cargo go docker kubectl make just uv poetry pip pip3 gradle mvn dotnet terraform
    bundle rails composer php mix helm gh aws gcloud brew apt apt-get alembic""".split()
)


ARGUMENTS = frozenset({*_SHELL_KEYS, *_PATH_KEYS, "input"})
"""All that is looked at of what a tool was asked."""


class _Call(NamedTuple):
    turn: int
    command: str
    edited: str


class _Failure(NamedTuple):
    turn: int
    command: str
    output: str


def recoveries(turns: Sequence[Turn]) -> list[Finding]:
    """Errors of commands that were got over in a way worth knowing, the first eight of a session.

    Worth knowing: the agent says the cause, or something else had to be run first, or the command
    had to be called with another flag or variable. Edit, run again, passes is daily work and is
    not.
    """
    found: dict[tuple[str, str], Finding] = {}
    failed: dict[str, _Failure] = {}
    calls: list[_Call] = []
    for call, at, error in _results(turns, calls):
        name = family(call.command)
        if not name or name.split()[0] in LOOKING:
            continue
        if error:
            if name not in failed or at - failed[name].turn > REACH:
                failed[name] = _Failure(at, call.command, turns[at].text[-OUTPUT:])
        elif name in failed:
            failure = failed.pop(name)
            one = (
                _recovered(turns, failure, call, at, calls) if at - failure.turn <= REACH else None
            )
            if one:
                found.setdefault((name, one.title), one)
        if len(found) >= FAILURES:
            break
    return list(found.values())


def _results(turns: Sequence[Turn], calls: list[_Call]) -> Iterator[tuple[_Call, int, bool]]:
    """(call, index of its result, whether it failed); every call is also appended to `calls`.

    A result belongs to the call with its id; without ids they are answered in order, tool by tool.
    """
    waiting: defaultdict[str, deque[_Call]] = defaultdict(deque)
    asked: dict[str, _Call] = {}
    for i, turn in enumerate(turns):
        if turn.role == "assistant" and turn.tool:
            call = _Call(i, _command(turn), _edited(turn))
            calls.append(call)
            if turn.call:
                asked[turn.call] = call
            else:
                waiting[turn.tool].append(call)
        elif turn.role == "tool":
            if turn.call in asked:
                yield asked.pop(turn.call), i, turn.error
            elif waiting[turn.tool] and not turn.call:
                yield waiting[turn.tool].popleft(), i, turn.error
        elif turn.human:
            waiting.clear()


def _command(turn: Turn) -> str:
    """The shell command of a call, one line; "" for another tool."""
    for key in _SHELL_KEYS:
        value = turn.input.get(key)
        if isinstance(value, (list, tuple)) and value:
            value = (
                value[-1]
                if len(value) == 3 and value[1] in ("-c", "-lc")
                else " ".join(map(str, value))
            )
        if isinstance(value, str):
            return value.strip()[:2000]
    return ""


def _edited(turn: Turn) -> str:
    if turn.tool.lower() not in _EDITING:
        return ""
    for key in _PATH_KEYS:
        value = turn.input.get(key)
        if isinstance(value, str):
            return _relative(value, turn.cwd)
    patch = _pattern(r"\*\*\* (?:Update|Add) File: ([^\n]{1,300})").search(
        str(turn.input.get("input", ""))[:5000]
    )
    return _relative(patch[1].strip(), turn.cwd) if patch else ""


def _relative(path: str, cwd: str) -> str:
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd else path


@lru_cache(maxsize=4096)
def essence(command: str) -> str:
    """The part of a shell line that does the work: without `cd x &&`, redirections and pipes."""
    line = command.split("\n", 1)[0]
    parts = [part.strip() for part in _pattern(r"&&|;").split(line) if part.strip()]
    while len(parts) > 1 and parts[0].split()[0] in ("cd", "export", "source", "set", ".", "pushd"):
        parts.pop(0)
    if not parts:
        return ""
    part = parts[0].split(" | ", 1)[0]
    return _pattern(r"\s[12&]?>&?\s{0,2}\S+").sub("", part).strip()


@lru_cache(maxsize=4096)
def family(command: str) -> str:
    """What makes two calls the same command: its program, and the sub-command where there are such."""
    tokens = [token for token in essence(command).split()[:12] if not _is_variable(token)]
    while (
        tokens
        and tokens[0] in ("sudo", "time", "timeout", "npx", "env", "uv", "poetry")
        and len(tokens) > 1
    ):
        if tokens[0] in ("uv", "poetry") and tokens[1] != "run":
            break
        tokens = tokens[2:] if tokens[0] in ("uv", "poetry", "timeout") else tokens[1:]
    if len(tokens) > 2 and tokens[0].startswith("python") and tokens[1] == "-m":
        tokens = tokens[2:]
    if not tokens:
        return ""
    name = tokens[0].rsplit("/", 1)[-1]
    plain = [token for token in tokens[1:3] if _pattern(r"[a-z][a-z0-9:_-]*\Z").match(token)]
    if name in _SUBCOMMANDED:
        name = " ".join([name, *plain[: 2 if plain[:1] == ["run"] else 1]])
    elif name.startswith("python") and len(tokens) > 1:
        name = f"{name} {tokens[1]}"
    return name[:60]


def _is_variable(token: str) -> bool:
    return _matches(r"^[A-Za-z_]\w*=", token)


_ERROR = (
    r"\b\w*(?:Error|Exception)\b\s*[:(]|\berror(?:\[\w+\])?:|\bfatal:|\bERR!|\bpanic:|\b(?:cannot"
    r"|could not|can't|unable to"
    r"|permission denied|not found|refused|undefined|missing|timed out|failed to|no such)\b"
)


def error_line(text: str) -> str:
    """The line of a tool's output that names the error, without secrets, at most 200 characters; or
    "".
    """
    lines = [line.strip() for line in text[-OUTPUT:].splitlines()[-200:]]
    named = [line for line in lines if len(line) < 1000 and re.search(_ERROR, line, re.IGNORECASE)]
    typed = [line for line in named if re.search(r"\b\w+(?:Error|Exception)\b\s*:", line)]
    line = (typed or named[:1] or [""])[-1]
    line = _pattern(r"^(?:E\s+|npm ERR! |error: (?=error))").sub("", line)
    return _cut(redact_secrets(line).replace("`", "'"), ERROR)


def _recovered(
    turns: Sequence[Turn], failure: _Failure, success: _Call, end: int, calls: list[_Call]
) -> Finding | None:
    between = [call for call in _since(calls, failure.turn) if call.turn < success.turn]
    ran = _unique(call.command for call in between if _acts(call.command, success.command))
    edited = _unique(call.edited for call in between if call.edited)
    cause = _cause(turns, failure.turn, end)
    changed = _changed(failure.command, success.command)
    testing = family(success.command).split()[0] in _TESTING
    if (
        not (cause and (ran or edited or changed))
        and not changed
        and (testing or not ran or edited)
    ):
        return None
    error = error_line(failure.output)
    return _pitfall(failure, error, success, cause, ran, edited) if error else None


def _since(calls: list[_Call], turn: int) -> list[_Call]:
    """The calls after a turn; they are near the end, as the search goes on with the session."""
    start = len(calls)
    while start and calls[start - 1].turn > turn:
        start -= 1
    return calls[start:]


def _unique(texts: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(texts))[:4]


def _acts(command: str, success: str) -> bool:
    """Whether a command changes something, and is not the one that failed."""
    name = family(command)
    return bool(name) and name != family(success) and name.split()[0] not in LOOKING | _TESTING


def _changed(failed: str, passed: str) -> bool:
    """Whether only flags or variables were added to the call or taken from it."""
    a, b = set(essence(failed).split()), set(essence(passed).split())
    other = a ^ b
    return bool(b - a) and all(token.startswith("-") or _is_variable(token) for token in other)


def _cause(turns: Sequence[Turn], start: int, end: int) -> str:
    """The agent's sentence that says why, the last one from the error to its next words after the
    fix.
    """
    found = ""
    for i in range(start, min(end + 3, len(turns))):
        turn = turns[i]
        if i > end and turn.human:
            break
        if turn.role != "assistant" or turn.tool or not turn.text:
            continue
        low = turn.text[:TYPED].lower()
        if not any(cue in low for cue in words.CAUSE_CUES):
            continue
        for sentence in _sentences(turn.text[:TYPED]):
            if _matches(words.CAUSE, sentence.low) and len(sentence.words) <= 300:
                found = sentence.words
    return found


def _pitfall(
    failure: _Failure, error: str, success: _Call, cause: str, ran: list[str], edited: list[str]
) -> Finding:
    steps = [f"ran {_code(command)}" for command in ran] + [
        f"edited {_code(path)}" for path in edited
    ]
    steps.append(f"then {_code(success.command)} passed")
    body = f"{_code(failure.command)} failed: `{error}`"
    body += f"\n{cause}" if cause else ""
    name = family(failure.command)
    return Finding(
        "corrective",
        _cut(f"{name} failed: {error}", 100),
        f"{body}\nRecovery: {', '.join(steps)}.",
        failure.turn,
        "pitfall",
        type="corrective",
        paths=tuple(edited),
        commands=(f"{name}*",),
    )


def _code(text: str) -> str:
    return f"`{_cut(redact_secrets(essence(text) or text).replace('`', chr(39)), 160)}`"

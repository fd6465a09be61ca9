"""What was said: its sentences, what their words show, and what they are about. Pure."""

import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from memcli.sessions.model import Finding, Turn
from memcli.sessions.tools import changed_by, shell_line
from memcli.text.matching import regex, table
from memcli.text.secrets import redact_secrets

LONGEST = 600  # characters of the longest sentence that is looked at
READ = (6000, 4000)  # characters of a turn that are read, of its head and its tail
_NO_END = "".join(rf"(?<!\b{s}\.)" for s in r"e\.g i\.e etc vs z\.b bzw ej \d".split())
_END = re.compile(rf"(?<=[.!?…]){_NO_END}[\"'”)*_]*\s+(?=[\"'“„(*_`@¿¡]*[\w`@])|(?<=[。！？])")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MARK = re.compile(r"\s*(?:(?:[-*•+]|\d{1,2}[.)])\s+|(#{1,6})\s+)(?:\[[ xX]\]\s+)?")
_CONTRACTION = re.compile(r"['’](?=(?:t|s|m|d|re|ve|ll)\b)")
_BLANKS = {n: " " for n in range(128) if not re.match(r"[\w?/.@-]", chr(n))} | {96: " ` "}
_BETWEEN = re.compile(r"[^\w`?/.@-]+|[.-](?=\s|$)|(?<=\s)[.-]")
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WORD = re.compile(r"\w{3,}")


class SpokenSentence(NamedTuple):
    """A sentence as it was said, and folded: what cues are looked for in, between blanks."""

    text: str
    low: str
    mark: str = ""  # "-" in a list, "#" in a heading


def spoken(turn: Turn) -> bool:
    """Whether a turn is in the agent's words."""
    return turn.role == "assistant" and bool(turn.text) and not turn.tool


def fold(text: str) -> str:
    """`text` in lower case between blanks, contractions as one word, without other punctuation."""
    low = (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()
    low = _CONTRACTION.sub("", low) if "'" in low or "’" in low else low
    if low.isascii():
        return (
            f" {' '.join(filter(None, (w.strip('.-') for w in low.translate(_BLANKS).split())))} "
        )
    return f" {_BETWEEN.sub(' ', low.replace('`', ' ` ')).strip()} "


def sentences(text: str, *, typed: bool = False) -> list[SpokenSentence]:
    """The sentences of a turn, without code, quotes and logs; if `typed`, nor what is pasted."""
    if len(text) > sum(READ):
        text = f"{text[: READ[0]]}\n{text[-READ[1] :]}"
    fence, found, logged, pasted = "", list[SpokenSentence](), pattern("logged"), pattern("pasted")
    for line in text.split("\n"):
        if begun := _FENCE.match(line):
            fence = "" if begun[1][:3] == fence else fence or begun[1][:3]
        elif not fence and line.strip() and not logged.match(line) and len(line) < 4 * LONGEST:
            mark = _MARK.match(line)
            kind = "" if mark is None else "#" if mark[1] else "-"
            found += _split(" ".join(line[mark.end() if mark else 0 :].split()), kind)
            if typed and pasted.search(line):
                break
    return found


def _split(line: str, mark: str) -> Iterator[SpokenSentence]:
    start = 0
    for end in [*(found.end() for found in _END.finditer(line)), len(line)]:
        text = line[start:end].strip()
        if text and len(text) <= LONGEST:
            yield SpokenSentence(text, fold(text), mark)
        start = end


@cache
def _cues() -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    kinds: list[str] = []
    for row in table("extraction/rules/cues.txt").splitlines():
        if row.startswith("[") and row.endswith("]"):
            kinds = row.strip("[]").split(", ")
        elif row and not row.startswith("#"):
            for kind in kinds:
                found[kind] += row.split("|")
    return dict(found)


@cache
def pattern(name: str) -> re.Pattern[str]:
    """A regular expression of the table."""
    text = table("extraction/rules/patterns.txt").partition(f"\n[{name}]\n")[2]
    return re.compile(text.partition("\n\n")[0].replace("\n", ""))


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of the table."""
    return frozenset(_cues()[f"list: {name}"])


@cache
def _phrases(name: str) -> tuple[str, ...]:
    return tuple(
        cue if _SPACELESS.search(cue) else f" {cue[:-1]}" if cue[-1] == "*" else f" {cue} "
        for cue in _cues()[f"list: {name}"]
    )


def says(name: str, low: str) -> bool:
    """Whether a folded text holds a phrase of a list of the table."""
    return any(phrase in low for phrase in _phrases(name))


@cache
def _index(prefix: str) -> tuple[dict[str, set[str]], dict[str, list[tuple[str, str]]]]:
    """Kinds by whole word, and (cue, kind) of longer cues by what they begin with."""
    whole: defaultdict[str, set[str]] = defaultdict(set)
    longer: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    kinds_there = (each for each in _cues().items() if each[0].rpartition(": ")[0] == prefix)
    for kind, cue in ((kind, cue) for kind, cues in kinds_there for cue in cues):
        if _SPACELESS.search(cue):
            longer[""].append((cue.rstrip("*"), kind))
        elif cue.endswith("*"):
            longer[f"{cue[:3]}*"].append((cue[:-1], kind))
        elif " " in cue:
            longer[cue.split(" ", 1)[0]].append((f" {cue} ", kind))
        else:
            whole[cue].add(kind)
    slips: dict[str, set[str]] = {}
    for cue, kinds in ((cue, kinds) for cue, kinds in whole.items() if len(cue) > 5):
        for i in range(1, len(cue)):  # a letter left out, or two exchanged, behind the first
            turned = cue[:i] + cue[i : i + 2][::-1] + cue[i + 2 :]
            slips |= {cue[:i] + cue[i + 1 :]: kinds, turned: kinds}
    known = {word: set[str]() for word in listed("stop")} | whole
    return {**slips, **known}, dict(longer)


@lru_cache(maxsize=1 << 16)
def _of_word(prefix: str, word: str) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    whole, longer = _index(prefix)
    stems = {kind for cue, kind in longer.get(f"{word[:3]}*", ()) if word.startswith(cue)}
    return frozenset(whole.get(word, set()) | stems), tuple(longer.get(word, ()))


def kinds_of(low: str) -> set[str]:
    """What the words of a folded sentence show."""
    found: set[str] = set()
    for word in low.split():
        kinds, phrases = _of_word("", word)
        found |= kinds
        if phrases:
            found.update(kind for cue, kind in phrases if cue in low)
    if not low.isascii() and _SPACELESS.search(low):
        found.update(kind for cue, kind in _index("")[1][""] if cue in low)
    return found


def begins(low: str) -> set[str]:
    """What a folded sentence begins with, after fillers: kinds of "begins: ..."."""
    words, fillers = low.replace("?", " ").split(), listed("filler")
    at = next((i for i, word in enumerate(words[:8]) if word not in fillers), 0)
    rest = f" {' '.join(words[at : at + 6])} "
    kinds, phrases = _of_word("begins", words[at]) if words else (set[str](), ())
    parts = () if low.isascii() else _index("begins")[1][""]
    found = {kind for cue, kind in phrases if rest.startswith(cue)}
    return found.union(kinds, (kind for cue, kind in parts if rest[1:].startswith(cue)))


def content(low: str) -> frozenset[str]:
    """The words of a folded text that say what it is about; of scripts without spaces, pairs."""
    stop = listed("stop")
    found = {word.rstrip("s") for word in _WORD.findall(low) if word not in stop}
    if not low.isascii() and _SPACELESS.search(low):
        run = "".join(_SPACELESS.findall(low))
        found |= {run[i : i + 2] for i in range(len(run) - 1)}
    return frozenset(found)


ERROR, OUTPUT = 200, 8000  # characters of an error, of the end of an output that is searched
FAILURES, REACH = 3, 80  # recovered errors of a session, turns within which a fix must come

_SET = r"[A-Za-z_]\w*="  # a variable that is set
# What stands before the program: wrappers, and what runs it in an environment or as a module.
_BEFORE = (
    r"(?:(?:sudo|time|npx|env|timeout \S+)(?: |\Z))*"
    r"(?:(?:uv|poetry) run(?: |\Z))?(?:python\S* -m (?=\S))?"
)


class _Call(NamedTuple):
    turn: int
    command: str


def recoveries(turns: Sequence[Turn]) -> list[Finding]:
    """The first errors that were got over with a reason, another command, option or variable."""
    found: dict[str, Finding] = {}
    failed: dict[str, tuple[int, _Call]] = {}
    calls: list[_Call] = []
    for call, at, error in results(turns, calls):
        name = family(call.command)
        since, failure = failed.get(name, (-REACH - 1, call))
        if not name or name.split()[0] in listed("looking"):
            continue
        if error and at - since > REACH:
            failed[name] = (at, call)
        elif not error and name in failed:
            del failed[name]
            between = [one for one in calls[-REACH:] if since < one.turn < call.turn]
            near = turns[since : at + 3] if at - since <= REACH else ()
            one = _recovered(near, since, failure, call, between) if near else None
            found |= {one.title: one} if one and one.title not in found else {}
    return list(found.values())[:FAILURES]


def results(turns: Sequence[Turn], calls: list[_Call]) -> Iterator[tuple[_Call, int, bool]]:
    """(call, index of its result, whether it failed) by id or order; `calls` gets every call."""
    waiting: defaultdict[str, deque[_Call]] = defaultdict(deque)
    for i, turn in enumerate(turns):
        asked = waiting[turn.call or f"tool {turn.tool}"]
        if turn.role == "assistant" and turn.tool:
            calls.append(_Call(i, command_of(turn)))
            asked.append(calls[-1])
        elif turn.role == "tool" and asked:
            yield asked.popleft(), i, turn.error


def command_of(turn: Turn) -> str:
    """The shell command of a call; "" for another tool."""
    return shell_line(turn.input).strip()[:2000]


@lru_cache(maxsize=4096)
def essence(command: str) -> str:
    """The part of a shell line that does the work: without `cd x &&`, redirections and pipes."""
    line = command.split("\n", 1)[0]
    parts = [part.strip() for part in regex(r"&&|;").split(line) if part.strip()] or [""]
    while len(parts) > 1 and parts[0].split()[0] in ("cd", "export", "source", "set", ".", "pushd"):
        parts.pop(0)
    return regex(r"\s[12&]?>&?\s{0,2}\S+").sub("", parts[0].split(" | ", 1)[0]).strip()


@lru_cache(maxsize=4096)
def family(command: str) -> str:
    """What makes two calls the same command: its program, and its sub-command if it has such."""
    line = " ".join(each for each in essence(command).split()[:12] if not regex(_SET).match(each))
    tokens = regex(_BEFORE).sub("", line, count=1).split() or [""]
    name = tokens[0].rsplit("/", 1)[-1]
    plain = [token for token in tokens[1:3] if regex(r"[a-z][a-z0-9:_-]*\Z").match(token)]
    if name in listed("sub-commanded"):
        name = " ".join([name, *plain[: 2 if plain[:1] == ["run"] else 1]])
    elif name.startswith("python") and len(tokens) > 1:
        name = f"{name} {tokens[1]}"
    return name[:60]


def _error_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()[-200:]]
    named = [line for line in lines if len(line) < 1000 and pattern("error").search(line.lower())]
    typed = [line for line in named if pattern("typed error").search(line.lower())]
    line = (typed or named[:1] or [""])[-1]
    line = regex(r"^(?:E\s+|npm ERR! |error: (?=error))").sub("", line)
    return cut(redact_secrets(line).replace("`", "'"), ERROR)


def cut(text: str, size: int) -> str:
    """At most `size` characters of a text, cut at the end of a word."""
    if len(text) <= size:
        return text
    blank = text.rfind(" ", size // 2, size)
    return text[: blank if blank > 0 else size - 1].rstrip(" ,;:.(") + "…"


def _recovered(
    turns: Sequence[Turn], start: int, failure: _Call, success: _Call, between: Sequence[_Call]
) -> Finding | None:
    """What was learned from an error: `turns` begin with its output, at `start` of the session."""
    name, looks = family(failure.command), listed("looking") | listed("testing")
    acts = (one.command for one in between if family(one.command) not in ("", name))
    ran = list(dict.fromkeys(one for one in acts if family(one).split()[0] not in looks))[:4]
    files = (path for one in between for path in changed_by(turns[one.turn - start]))
    edited = tuple(dict.fromkeys(files))[:4]
    cause, error = _cause(turns, success.turn - start), _error_line(turns[0].text[-OUTPUT:])
    before, after = ({*essence(one.command).split()} for one in (failure, success))
    options = all(regex(f"-|{_SET}").match(one) for one in before ^ after)
    explained = (cause and (ran or edited)) or (after - before and options)
    if not error or not (explained or (ran and not edited)):
        return None
    steps = [*(f"ran {_code(one)}" for one in ran), *(f"edited {_code(path)}" for path in edited)]
    recovery = f"Recovery: {', '.join([*steps, f'then {_code(success.command)} passed'])}."
    rows = filter(None, (f"{_code(failure.command)} failed: `{error}`", cause, recovery))
    short = cut(f"{name} failed: {error}", 100)
    found = Finding("corrective", short, "\n".join(rows), start, "pitfall", "corrective")
    return found._replace(paths=edited, commands=(f"{name}*",))


def _cause(turns: Sequence[Turn], end: int) -> str:
    """The agent's last sentence that says why, from the error to its next words after the fix."""
    later = (i for i, turn in enumerate(turns) if i > end and turn.human)
    near = turns[: next(later, len(turns))]
    said = (one for turn in reversed(near) if spoken(turn) for one in sentences(turn.text)[::-1])
    why = (one.text for one in said if "finding" in kinds_of(one.low))
    return next((text for text in why if 20 < len(text) <= 300), "")


def _code(text: str) -> str:
    return f"`{cut(redact_secrets(essence(text) or text).replace('`', chr(39)), 160)}`"

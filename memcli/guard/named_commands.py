"""Whether a rule forbids a command in words: by its words in code or plain, or by those
of what it is told to do and of an option ("never amend commits"). Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence

from memcli.bans.clauses import parts_of, span
from memcli.bans.patterns import matches, parse_pattern
from memcli.bans.said_commands import command_words, runs_next
from memcli.index.lexical import STOP_WORDS
from memcli.memory.words import stem, word_forms
from memcli.text.shell import Words

VERBS = (
    "run",
    "use",
    "execute",
    "call",
    "start",
    "launch",
    "invoke",
    "through",
    "with",
)
"""Words behind which the text of a rule names a program, as full-text search knows
them."""
NEAR = 3  # so many words may stand between
_WORD = r"[^\W\d_][\w-]*"


def expression(commands: Iterable[Words]) -> str:
    """What stands in the text of each rule that may forbid one of these commands, as
    full-text search takes it; "" for none."""
    wanted: dict[str, None] = {}
    for words in commands:
        if len(words) > 1:
            pair = re.findall(r"\w+", " ".join(words[:2]))
            wanted[f'"{" ".join(pair)}"'] = None
        if program := " ".join(re.findall(r"\w+", words[0])):
            near = (f'NEAR("{verb}" "{program}", {NEAR})' for verb in VERBS)
            wanted.update(dict.fromkeys(near))
        for option in _options(words):
            terms = [f'"{word}"' for word in option]
            wanted[f"({' AND '.join(terms)})"] = None
    return " OR ".join(wanted)


def forbids(text: str, commands: Sequence[Words]) -> bool:
    """Whether a clause of a rule that forbids something names one of these commands."""
    clauses = [clause for clause, _ in parts_of(text) if clause]
    return any(_names(clause, words) for clause in clauses for words in commands)


def _names(clause: str, words: Words) -> bool:
    """Whether a clause names a command, in whichever way."""
    return (
        _is_in_code(clause, words)
        or any(_is_shown(each, words) for each in _in_plain(clause, words))
        or _is_run_alone(clause, words[0])
        or _is_told(clause, words)
    )


def _is_in_code(clause: str, words: Words) -> bool:
    """Whether the code in a clause is a command, or an option of it."""
    for found in span().finditer(clause):
        code = found["code"] or found["quoted"]
        if code.startswith("--") and code in words:
            return True
        if " " in code.strip() and _is_shown(code, words):
            return True
    return False


def _is_told(clause: str, words: Words) -> bool:
    """Whether a clause has the words of what a program is told to do, and of one of its
    options."""
    said = {stem(form) for form in word_forms(clause.lower())}
    wanted = ((_told(words), *option) for option in _options(words))
    return any(said.issuperset(map(stem, each)) for each in wanted)


def _is_run_alone(clause: str, program: str) -> bool:
    """Whether a clause says of a program, and of no one command of it, that it is
    run."""
    plain = clause.replace("`", "")
    for found in re.finditer(rf"(?<![\w./-]){re.escape(program)}(?![\w/-])", plain):
        behind = re.split(r"[^\w\s-]", plain[found.end() :])[0].split()
        # "eslint or prettier": what stands before is run as well.
        before = re.sub(r"[\w./-]+,? (?:or|and|nor) \Z", "", plain[: found.start()])
        if runs_next().search(before) and not command_words(behind):
            return True
    return False


def _in_plain(clause: str, words: Words) -> Iterator[str]:
    """The first two words of a command where they follow each other in prose, with the
    options behind them."""
    plain = span().sub(" ; ", clause)
    head = r"\s+".join(map(re.escape, words[:2]))
    if len(words) > 1:
        for found in re.finditer(
            rf"(?<![\w./-]){head}(?![\w-])(?:\s--?\w[\w=-]*)*", plain
        ):
            yield found[0]


def _is_shown(command: str, words: Words) -> bool:
    try:
        return matches(parse_pattern(f"{command} *"), words)
    except ValueError:
        return False


def _told(words: Words) -> str:
    """What a program is told to do; the program where it is told nothing by a word."""
    return words[1] if re.fullmatch(_WORD, "".join(words[1:2])) else words[0]


def _options(words: Words) -> Iterator[list[str]]:
    """The words of each long option that say something."""
    for option in words[1:]:
        parts = option.partition("=")[0][2:].lower().split("-")
        known = [part for part in parts if part and part not in STOP_WORDS]
        if option.startswith("--") and known and all(map(str.isalpha, known)):
            yield known

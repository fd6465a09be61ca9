"""What a person says through the result of a tool: an answer to a question of the
agent's, a word with a refusal. Only the person's part of it is theirs."""

from collections.abc import Mapping, Sequence
from typing import Any

from memcli.sessions import speakers
from memcli.text.matching import verbose


@verbose(dot_all=True)
def _reply() -> str:
    """What a person said when they refused a tool: how Claude Code begins to tell it,
    and not what a tool printed."""
    return r"""
        \s* (?: Error: \s* )? The[ ]user[ ]doesn['’]t[ ]want[ ]to[ ]proceed
        .{0,400}? \b the[ ]user[ ]said: \s* (.+)
    """


@verbose
def _chosen() -> str:
    """The answer behind a question."""
    return r"""
        ( [^"\n]{1,4000} ) "
    """


@verbose
def _sentence_end() -> str:
    """The end of a sentence that another follows."""
    return r"""
        [.!?] [^\w\s]{0,8} \s | [。！？\n]
    """


def answered(questions: Sequence[Any], text: str, answers: object) -> str:
    """What a person answered, each with its question: as the client keeps `answers`,
    else as `text` tells it, of the questions that were asked."""
    if not isinstance(answers, Mapping):
        answers = _told_answers(questions, text[:20_000])
    pairs: Mapping[Any, Any] = answers
    return "\n".join(
        f"{_question(str(question))} {speakers.texts(answer)}".strip()
        for question, answer in pairs.items()
    )


def _told_answers(questions: Sequence[Any], text: str) -> dict[str, str]:
    """Question -> answer in a text, where the agent's questions cannot be taken for
    answers."""
    answers: dict[str, str] = {}
    if '"="' in "".join(map(str, questions)):
        return answers
    for question in questions:
        _, _, behind = text.partition(f'"{question}"="')
        if answer := _chosen().match(behind):
            answers[str(question)] = answer[1]
    return answers


def _question(text: str) -> str:
    """The last sentence where it asks: what an agent says before it is no word of who
    answers."""
    text = text[:2000].strip()
    ends = [found.end() for found in _sentence_end().finditer(text, 0, len(text) - 1)]
    return text[ends[-1] if ends else 0 :] if text.endswith(("?", "？")) else ""


def refused(tool: str, text: str, outcome: object) -> str:
    """What a person said when they refused a tool. The tool of a server writes its
    failures itself; what a tool gave back (`outcome`) is no refusal."""
    if tool.startswith("mcp__"):
        return ""
    is_refusal = outcome is None or (
        isinstance(outcome, str)
        and (outcome.startswith("User rejected tool use") or _reply().match(outcome))
    )
    reply = _reply().match(text) if is_refusal else None
    return reply[1].strip() if reply else ""

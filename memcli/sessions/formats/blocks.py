"""Messages whose content is a list of blocks, as several agents write them."""

from typing import Any

from memcli.sessions import replies, speakers
from memcli.sessions.gather import Gather, Record, TurnPlace, mappings, value_at

SPOKEN = ("text", "input_text", "output_text")
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


class Blocks:
    """Turns of messages."""

    def __init__(self, into: Gather) -> None:
        self.into = into
        self._answer: Any = ""
        self._questions: dict[str, list[Any]] = {}
        """The id of a call that asks the person -> its questions."""

    def user(
        self,
        content: Any,
        place: TurnPlace,
        *,
        typed: bool = True,
        outcome: Any = None,
    ) -> None:
        """A message under the user's role: tool results, and words, human only if
        `typed`. `outcome` is what the client keeps of the result, where it does."""
        self._answer = ""
        results = [
            block for block in mappings(content) if _kind(block) == "tool_result"
        ]
        for number, block in enumerate(results):
            self._result(block, place.nth(number), outcome)
        if isinstance(content, list):
            content = [part for part in content if _is_spoken(part)]
        if text := speakers.texts(content):
            where = place.nth(len(results))
            if typed:
                self.into.said("user", speakers.typed_texts(content), where)
            else:
                self.into.put_in(text, where)

    def assistant(self, content: Any, place: TurnPlace, answer: Any = "") -> None:
        """A message of the agent. Text after text of the same `answer` is more of that
        turn."""
        number = 0
        for given in content if isinstance(content, list) else [content]:
            block = given if isinstance(given, dict) else {"text": given}
            text = block.get("text")
            if _kind(block) in SPOKEN and isinstance(text, str):
                if self._text(text, place.nth(number), answer):
                    number += 1
            elif _kind(block) in CALLS:
                self._answer = ""
                where = place.nth(number)
                call = block.get("id")
                self.into.called(block.get("name"), block.get("input"), where, call)
                asked = mappings(value_at(block, "input", "questions"))
                if asked:
                    questions = [each.get("question") for each in asked]
                    self._questions[speakers.name(call)] = questions
                number += 1

    def _result(self, block: Record, place: TurnPlace, outcome: Any) -> None:
        call = block.get("tool_use_id")
        text = speakers.texts(block.get("content"))
        failed = block.get("is_error") is True
        tool = self.into.result("", text, place, error=failed, call=call)
        answer = ""
        if tool == "AskUserQuestion":
            questions = self._questions.pop(speakers.name(call), [])
            answer = replies.answered(questions, text, value_at(outcome, "answers"))
        elif failed:
            answer = replies.refused(tool, text, outcome)
        if answer:
            self.into.said("user", answer, place.nth("said"), in_reply=True)

    def _text(self, text: str, place: TurnPlace, answer: Any) -> bool:
        """Whether a turn was begun."""
        before = len(self.into.turns)
        if answer and answer == self._answer and before:
            self.into.more(text)
            return False
        self.into.said("assistant", text, place)
        begun = len(self.into.turns) > before
        self._answer = answer if begun else ""
        return begun


def _kind(block: Any) -> Any:
    return block.get("type", "text") if isinstance(block, dict) else None


def _is_spoken(part: Any) -> bool:
    return isinstance(part, str) or _kind(part) in SPOKEN

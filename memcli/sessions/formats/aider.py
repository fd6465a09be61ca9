"""aider's history, in Markdown: `#### ` is the person, `> ` a tool, all else the
agent; in a code fence nothing is a mark. Behind an empty line a person types anew, and
what `/ask` asks is written down twice. An architect's answer stands again as the prompt
of the editor, in the person's place."""

import re
import shlex

from memcli.sessions import speakers
from memcli.sessions.formats.protocol import Format
from memcli.sessions.formats.text import Page
from memcli.sessions.gather import Gather, Line, Lines, TurnPlace
from memcli.text.controls import fence_behind
from memcli.text.matching import verbose

HANDED_ON = 200  # characters by which an answer is known again
START = "# aider chat started at "
MARKS = {"#### ": "user", "> ": "tool"}


@verbose
def _asked() -> str:
    """A command that is only the way in which a person asks."""
    return r"/ (?: ask | architect | code | context ) \s+ (?=\S)"


@verbose(lines=True)
def _done() -> str:
    """What aider says that it changed: a file, or a commit of its own."""
    return r"""
        ^ (?: Applied[ ]edit[ ]to[ ] (?P<file> [^\n]{1,400}? )
            # what the person changed is committed by itself before an edit
            | Committing[ ] [^\n]{1,400} [ ]before[ ]applying[^\n]{0,40} \n Commit[ ] [^\n]*
            | Commit[ ] [0-9a-f]{7,40} [ ] (?P<subject> [^\n]{1,300}? ) ) \s* $
    """


@verbose(lines=True)
def _confirmed() -> str:
    """A question of aider's own that was answered, among a person's lines."""
    return r"^ [^\n]{0,300} \(Y\)es/\(N\)o [^\n]{0,300} $ \n?"


def _beginning(text: str) -> str:
    return " ".join(text.split())[:HANDED_ON]


def read(lines: Lines, into: Gather) -> None:
    """Turns by mark, of each chat in the history."""
    _History(into).read(lines)


class _History(Page):
    started = ""
    is_paused = False  # whether an empty line stands behind what the person typed
    unanswered = ""  # what the person asked last, while the agent has said nothing
    answer = ""  # how the agent's last words begin, blanks as one
    has_asked = False  # whether a person said something in this chat
    is_spaced = False  # whether aider's own lines still end in two blanks

    def line(self, line: Line, text: str) -> None:
        if text.startswith(START) and not self.fence:
            self._begin(text.removeprefix(START))
            return
        text = "> " if text == ">" else text
        mark = "" if self.fence else self._mark(text)
        words = text.removeprefix(mark)
        speaker = MARKS.get(mark, "assistant")
        goes_on = self._goes_on(speaker)
        self.is_paused = self.speaker == "user" and not text.strip()
        if not goes_on and (words.strip() or mark):
            self.flush()
            self.speaker = speaker
            self.place = line.place(self.started)
        self.fence = fence_behind(text, self.fence)
        self.keep(words)

    def _mark(self, text: str) -> str:
        """What a line begins with that tells who speaks. aider ends its lines with two
        blanks; without them a person's mark in an answer is a heading of it."""
        mark = next((mark for mark in MARKS if text.startswith(mark)), "")
        is_own = text.endswith("  ")
        self.is_spaced = self.is_spaced or (mark != "" and is_own)
        in_answer = self.is_paused or (self.speaker == "assistant" and self.has_asked)
        is_by_agent = self.is_spaced and not is_own and in_answer
        return "" if is_by_agent and MARKS.get(mark) == "user" else mark

    def _goes_on(self, speaker: str) -> bool:
        """Whether the turn before goes on; a person types anew behind an empty line."""
        if self.place is None or speaker != self.speaker:
            return False
        return not (speaker == "user" and self.is_paused)

    def _begin(self, time: str) -> None:
        """A chat begins; its time has no zone, and is taken for UTC."""
        self.flush()
        self.into.close()
        self.answer = ""
        self.has_asked = False
        self.started = speakers.when(time.strip())
        self.into.where(session="aider-" + re.sub(r"\W+", "", time)[:40])

    def turn(self, text: str, place: TurnPlace) -> None:
        if self.speaker == "tool":
            self._reported(text, place)
        elif self.speaker == "assistant" and not self.has_asked:
            self.into.put_in(text, place)  # the command line, over several lines
        elif self.speaker == "assistant":
            self.unanswered = ""
            self.answer = _beginning(text)
            self.into.said("assistant", text, place)
        else:
            self._typed(text, place)

    def _reported(self, text: str, place: TurnPlace) -> None:
        """What aider says, and behind it what it did, as the calls of other agents."""
        self.into.result("aider", text, place)
        for number, done in enumerate(_done().finditer(text), 1):
            if done["file"]:
                self.into.called("edit", {"path": done["file"]}, place.nth(number))
            elif done["subject"]:
                line = f"git commit -m {shlex.quote(done['subject'])}"
                self.into.called("git", {"command": line}, place.nth(number))

    def _typed(self, text: str, place: TurnPlace) -> None:
        text = _confirmed().sub("", text).strip()
        if not text:
            return
        asked = _asked().match(text)
        if asked is None and text.startswith(("/", "!")):
            self.into.put_in(text, place)
            return
        words = text[asked.end() :] if asked else text
        self.has_asked = True
        if self.answer and _beginning(words) == self.answer:
            self.into.put_in(words, place)
            return
        if words != self.unanswered:
            self.into.said("user", words, place)
        self.unanswered = words


FORMAT = Format(name="aider", title="aider", read=read)

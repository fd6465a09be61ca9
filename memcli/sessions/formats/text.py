"""Markdown or plain text in which each turn stands under a speaker. The first mark of
a file decides which count: a chat about chats is not cut at what it quotes."""

import re
from collections.abc import Callable

from memcli.errors import DataError
from memcli.sessions import speakers
from memcli.sessions.formats.protocol import Format
from memcli.sessions.gather import Gather, Line, Lines, TurnPlace
from memcli.text import controls
from memcli.text.matching import verbose

USERS = ("user", "human", "you", "you said", "me")
AGENTS = (
    "assistant", "agent", "ai", "bot", "claude", "claude code", "chatgpt",
    "chatgpt said", "gpt", "codex", "copilot", "gemini", "cursor",
)  # fmt: skip
TOOLS = ("tool", "tool result", "tool output")
ROLES = {
    **dict.fromkeys((*USERS, "prompt", "typed", "entire"), "user"),
    **dict.fromkeys((*TOOLS, "output"), "tool"),
    "system": "system",
}
"""Speaker -> role; all others are the agent."""
EMPTY = "_No text content captured for this message._"
ECHO = "<command-message>"
LONGEST_MARK = 400

_NAMES = "|".join(map(re.escape, (*USERS, *AGENTS, *TOOLS, "system")))
_ASIDE = r"(?: \s? \( [^()\n]{1,60} \) | \s? \[ [^\[\]\n]{1,60} \] )?"
"""What stands beside a name: a time, a model."""


@verbose(ignore_case=True)
def _specstory() -> str:
    """`_**User (2026-03-04 10:00:00Z)**_`, `_**Agent - sidechain (2026-03-04)**_`."""
    return r"""
        _\*\* (?P<name> user | human | agent | assistant )
        (?P<aside> (?: \s? - \s? [\w-]{1,20} )?
            (?: \s? \( [^()\n]{0,90} \) ){0,3} ) \*\*_ \s* $
    """


@verbose(ignore_case=True)
def _numbered() -> str:
    """`## 3. User (10:00)`, or `## Prompt 3`, under which stand person and agent."""
    return rf"""
        \#{{1,6}} \s{{1,4}}
        (?: \d{{1,6}} [.)] \s{{1,4}} (?P<name> {_NAMES} )
          | (?P<entire> prompt ) [ ] \d{{1,5}} )
        (?P<aside> (?: \s? \( [^()\n]{{1,60}} \) )? ) \s? :? \s* $
    """


@verbose
def _screen() -> str:
    """What is copied from the screen of an agent: its signs before each turn."""
    return r"""
        (?: (?P<typed> [❯>] ) | (?P<answer> [⏺●] ) | (?P<output> \s{1,4} ⎿ ) )
        (?: \s (?P<rest> .* ) | $ )
    """


@verbose(ignore_case=True, dot_all=True)
def _named() -> str:
    """A name as a heading, in bold, or before a colon."""
    return rf"""
        \s{{0,3}} (?: \[ [^\[\]\n]{{1,40}} \] \s? )?
        (?: \#{{1,6}} \s{{1,4}} (?: [^\w\s]{{1,4}} \s )? (?: \*\* )?
            (?P<name> {_NAMES} | prompt (?=:) | response (?=:) )
            (?P<aside> {_ASIDE} ) (?: \*\* )? \s? :? (?: \*\* )? \s* $
          | (?: \*\* | __ ) (?P<bold> {_NAMES} ) {_ASIDE}
            (?: : (?: \*\* | __ ) | (?: \*\* | __ ) \s? : | (?: \*\* | __ ) \s* $ )
            \s? (?P<after> .* )
          | (?P<plain> {_NAMES} ) {_ASIDE} \s? [:：] (?: \s (?P<rest> .* ) | \s* $ ) )
    """


STYLES: dict[str, Callable[[], re.Pattern[str]]] = {
    "specstory": _specstory,
    "numbered": _numbered,
    "screen": _screen,
    "named": _named,
}
"""The ways to mark a speaker, in the order in which they are tried."""


@verbose(ignore_case=True)
def _about() -> str:
    """A line above the turns that names the session or its folder, or a heading that
    says what it is about and when it was."""
    return r"""
        \s* (?: [-*] \s )? (?: \*\* )?
        (?: (?P<session> Session[ ]ID )
          | (?P<folder> Project[ ]directory | Directory | cwd ) )
        (?: \*\* )? : (?: \*\* )? \s+ `? (?P<value> [^`\n]{1,500} ) `? \s* $
      | <!--[ ] .{0,40} \b Session[ ] (?P<id> [\w-]{8,100} ) [ ]
      | \# [ ] (?P<title> [^\n]{3,200} ) [ ] \( \d{4}-\d\d-\d\d [ ] [\d:]{5,8} Z? \) \s* $
    """


@verbose
def _time() -> str:
    """A time beside a name."""
    return r"\d{4}-\d\d-\d\d [T _] \d\d:\d\d (?: :\d\d (?: \.\d+ )? )? Z?"


@verbose(lines=True)
def _read_along() -> str:
    """Where what an agent read along with a prompt begins."""
    return r"^ Called[ ]the[ ] \w+ [ ]tool[ ]with[ ]the[ ]following[ ]input:"


@verbose(dot_all=True)
def _blocks() -> str:
    """The blocks of SpecStory within an answer."""
    return r"""
        ( <tool-use[ ] .*? (?: </tool-use> | \Z ) | <think> .*? (?: </think> | \Z ) )
    """


@verbose
def _call() -> str:
    """How a block of SpecStory names the tool."""
    return r"""
        <tool-use[ ]data-tool-type="(?P<type>\w*)"[ ]
        data-tool-name="(?P<tool>[^"]{1,100})"
    """


@verbose
def _summary() -> str:
    """The line that says which tool was used, and on which file."""
    return r"""
        (?: <summary> )? Tool[ ]use:[ ] \*\* (?P<tool> [^*\n]{1,100} ) \*\*
        (?: [ ]` (?P<file> [^`\n]+ ) ` )?
    """


@verbose(lines=True)
def _subject() -> str:
    """The file or command that a tool was given."""
    return r"""
        (?: Run[ ]command | Read[ ]file | Edit[ ]file | Write[ ]file | File ) :[ ]
        (.+?) (?: </summary> )? \s* $
      | ^ ` ( [^`\n]+ ) ` \s* $
    """


@verbose(dot_all=True)
def _fenced_text() -> str:
    """The text in a code fence."""
    return r"\n (?: ``` | ~~~ ) \w* \n (.*?) \n (?: ``` | ~~~ )"


def read(lines: Lines, into: Gather) -> None:
    """Turns by speaker. Raises DataError where there are none."""
    page = Marked(into)
    page.read(lines)
    if not page.style:
        hint = "mark who speaks, with User: and Assistant: for example"
        raise DataError("no speaker can be told", hint)


class Page:
    """The turn that is being read, of bounded size."""

    def __init__(self, into: Gather) -> None:
        self.into = into
        self.speaker = "assistant"
        self.fence = ""
        self.kept: list[str] = []
        self.size = 0
        self.place: TurnPlace | None = None

    def read(self, lines: Lines) -> None:
        """Read to the end."""
        for line in lines:
            text = line.data.decode("utf-8-sig", "replace")
            self.line(line, controls.strip_controls(text))
            self.into.end = line.end
        self.flush()

    def keep(self, text: str) -> None:
        """Another line of the turn."""
        if self.size < 4 * sum(speakers.SAID):
            self.kept.append(text)
            self.size += len(text)

    def flush(self) -> None:
        """The turn is at its end."""
        text = "\n".join(self.kept).strip()
        if text and self.place is not None:
            self.turn(text, self.place)
        self.kept = []
        self.size = 0
        self.place = None

    def line(self, line: Line, text: str) -> None:
        """Take one line."""
        raise NotImplementedError

    def turn(self, text: str, place: TurnPlace) -> None:
        """Take one turn."""
        raise NotImplementedError


class Marked(Page):
    """A text with marks of one style."""

    def __init__(self, into: Gather) -> None:
        super().__init__(into)
        self.style = ""
        self.block = ""
        """The tag of the block of SpecStory that is open."""
        self.before = ""
        """The last line that was not empty."""
        self.echo: str | None = None
        """The time of a command's echo, while nothing was said after it."""

    def line(self, line: Line, text: str) -> None:
        """Take one line."""
        if not self._in_block(text):
            if mark := self._mark(text):
                text = self._begin(mark, line, text)
            else:
                self.fence = controls.fence_behind(text, self.fence)
        if text.strip():
            self.before = text
        self.place = self.place or line.place()
        self.keep(text)

    def _in_block(self, text: str) -> bool:
        if self.style == "specstory" and not self.block:
            tags = (tag for tag in ("tool-use", "think") if text.startswith(f"<{tag}"))
            self.block = next(tags, "")
        inside = self.block != ""
        if f"</{self.block}>" in text:
            self.block = ""
        return inside

    def _mark(self, text: str) -> re.Match[str] | None:
        """The mark of a speaker: outside of fences, but one that no fence can hold is
        believed."""
        after_rule = self.style == "specstory" and self.before.strip() == "---"
        if self.fence and not after_rule:
            return None
        if self.style:
            return STYLES[self.style]().match(text[:LONGEST_MARK])
        return self._first_mark(text) if text.strip() else None

    def _first_mark(self, text: str) -> re.Match[str] | None:
        for style, pattern in STYLES.items():
            mark = pattern().match(text[:LONGEST_MARK])
            # A quoted line of a mail begins like a prompt.
            decides = style != "screen" or text.startswith(("❯", "⏺", "●"))
            if mark and decides:
                self.style = style
                self.kept = self.kept if style == "named" else []
                return mark
        if about := _about().match(text):
            self._take_facts(about)
        return None

    def _take_facts(self, about: re.Match[str]) -> None:
        """Take what a line above the turns says of the session."""
        if about["folder"]:
            self.into.where(cwd=about["value"])
        elif about["title"]:
            self.into.called_session(about["title"])
        else:
            self.into.where(session=about["id"] or about["value"])

    def _begin(self, mark: re.Match[str], line: Line, text: str) -> str:
        """Begin the turn of a mark; what stands behind the mark."""
        self.flush()
        self.fence = ""
        groups = mark.groupdict(default="")
        aside = groups.get("aside", "")
        time = _time().search(aside)
        stamp = re.sub("[ _]", "T", time[0]) if time else ""
        self.place = line.place(speakers.when(stamp))
        signs = [sign for sign in ("typed", "entire", "output") if groups.get(sign)]
        names = [groups.get(group, "") for group in ("name", "bold", "plain")]
        name = next(filter(None, [*signs, *names]), "").lower()
        self.speaker = ROLES.get(name, "assistant")
        if "sidechain" in aside and self.speaker == "user":
            self.speaker = "assistant"
        behind = groups.get("after") or groups.get("rest")
        return behind + text[LONGEST_MARK:] if behind else ""

    def turn(self, text: str, place: TurnPlace) -> None:
        """Take one turn."""
        if self.style == "specstory":
            text = text.removesuffix("---").strip()
        if text in ("", EMPTY):
            return
        if self.speaker == "tool":
            self.into.result("", text, place)
        elif self.speaker == "system":
            self.into.put_in(text, place)
        elif self.speaker == "user":
            self._prompt(text, place)
        elif self.style == "specstory":
            self._answer(text, place)
        else:
            self.into.said("assistant", text, place)

    def _prompt(self, text: str, place: TurnPlace) -> None:
        if self._is_template(text, place):
            self.into.put_in(text, place)
            return
        if self.style == "numbered":
            text = _read_along().split(text, maxsplit=1)[0]
        self.into.said("user", text, place)

    def _is_template(self, text: str, place: TurnPlace) -> bool:
        """Whether a person's turn is the text of the slash command that was echoed
        before it."""
        echo = self.echo
        self.echo = place.time if ECHO in text else None
        if echo is None or self.echo is not None:
            return False
        return (echo != "" and echo == place.time) or text.startswith(("#", "<"))

    def _answer(self, text: str, place: TurnPlace) -> None:
        self.echo = None
        for number, part in enumerate(_blocks().split(text)):
            position = place.nth(number)
            if part.startswith("<tool-use"):
                self._tool(part, position)
            elif part.startswith("<think>") or not part.strip():
                continue
            elif summary := _summary().match(part.strip()):
                given = {"file_path": summary["file"]} if summary["file"] else {}
                self.into.called(summary["tool"], given, position)
            else:
                self.into.said("assistant", part, position)

    def _tool(self, text: str, place: TurnPlace) -> None:
        call = _call().match(text)
        summary = call or _summary().search(text)
        tool = summary["tool"] if summary else "unknown"
        subject = _subject().search(text)
        key = "command" if call and call["type"] == "shell" else "file_path"
        given = {key: subject[1] or subject[2]} if subject else {}
        self.into.called(tool, given, place, place.key)
        output = _fenced_text().search(text)
        result = output[1] if output else ""
        self.into.result(tool, result, place.nth(1), call=place.key)


FORMAT = Format(name="text", title="markdown or text with speakers", read=read)

"""What stands in a person's turn and was not typed by them: blocks of a harness, files
that were attached, texts that were pasted. All work is linear."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from memcli.text.matching import regex, verbose

_INDENT = 80  # characters before a tag that begins a line

_TAGS = r"""
    recalled-memory | system[-_]reminder | local-command-[a-z]{3,10}
  | command-(?: name | message | args | contents | stdout )
  | bash-(?: input | stdout | stderr )
  | [a-z-]{0,40}-hook | hook[-_][a-z]{1,20}
  | user_shell_command | user_action | user_instructions | environment_context | environment_details
  | instructions | permissions[ ]instructions | collaboration_mode | skill
  | subagent_notification | turn_aborted | task-notification | ide_[a-z_]{1,40}
  | new-diagnostics | persisted-output | session_context | additional_metadata
  | user_settings_change | fork-boilerplate | available_skills
"""
"""What harnesses put among a person's words: reminders, echoes of commands, output of
hooks."""


_ATTACHED = r"""
    (?: [a-z]{1,20} [-_:.] ){0,3}
    (?: files? | documents? | attachments? | attached | past(?:e|ed) | clipboard
      | selection | snippets? | excerpts? | web-?pages? )
    (?: [-_:.] [a-z]{1,20} ){0,3}
"""
"""What clients and people put around a text that they hand over."""


@verbose(ignore_case=True)
def _tag() -> str:
    """A tag of a harness, around a text that was handed over, or one that nobody
    knows."""
    return rf"""
        < (?P<closing> / )?
        (?P<name> (?P<harness> {_TAGS} ) | {_ATTACHED} | (?P<unknown> [a-z][\w:-]{{0,40}} ) )
        (?P<facts> \s [^<>]{{0,300}} )? >
    """


@verbose(ignore_case=True)
def _placeholder() -> str:
    """What a client shows in place of a text that was pasted, and how long that is."""
    return r"""
        \[ Pasted \b
        (?: [^\]\n]{0,40}? (?P<more> \+ )? (?P<count> \d{1,7} ) [ ] (?P<unit> lines? | char )
        )? [^\]\n]{0,60} \]
    """


@verbose(ignore_case=True)
def _stray() -> str:
    """A closing tag that nothing opened."""
    return rf"</ (?: {_TAGS} ) >"


@verbose(dot_all=True)
def _referenced() -> str:
    """The files that a client puts behind the words that name them (`@notes.md`), up to
    its last mark: a file may hold one, too."""
    return r"""
        (?: \A | \n ) --- [ ] Content [ ] from [ ] referenced [ ] files [ ] ---
        (?: .* \n --- [ ] End [ ] of [ ] content [ ] --- | .* )
    """


def without_referenced(text: str) -> str:
    """`text` without the files that a client put behind the words that name them."""
    return _referenced().sub("", text)


def without_blocks(text: str, query: str = "") -> str:
    """`text` without what stands in tags of harnesses, or was handed over in tags; a
    block that is not closed goes to the end. Of tags that nobody knows those go that
    begin a line and are closed: an application has names of its own for what it hands
    over, and who types such a block has it from elsewhere. What stands in tags of the
    name `query` a client has from the person."""
    tags = [tag for tag in _tag().finditer(text) if tag["name"] != query]
    ends = _ends_of(tags)
    remaining = []
    position = 0
    for number, tag in enumerate(tags):
        is_bare = _is_bare(tag, is_closed=number in ends)
        if tag["closing"] or is_bare or tag.start() < position:
            continue
        remaining.append(text[position : tag.start()])
        position = ends.get(number, len(text))
    return _stray().sub(" ", "".join([*remaining, text[position:]]))


def _ends_of(tags: Sequence[re.Match[str]]) -> dict[int, int]:
    """Where the blocks end whose opening tags have these numbers: what is handed over
    may hold tags, also one that closes the block and one that opens the next, so that
    the last counts that closes one of this name."""
    ends = {}
    opened: dict[str, int] = {}
    for number, tag in enumerate(tags):
        name = tag["name"].casefold()
        before = opened.get(name)
        if tag["closing"]:
            if before is not None:
                ends[before] = tag.end()
        elif before is None or _is_word(tags[before]):
            opened[name] = number
    return ends


def is_block(text: str) -> bool:
    """Whether a text is one block of a harness, or one that was handed over, whatever
    stands in it."""
    text = text.strip()
    tag = _tag().match(text)
    return tag is not None and text.casefold().endswith(f"</{tag['name'].casefold()}>")


def _is_bare(tag: re.Match[str], *, is_closed: bool) -> bool:
    """Whether an opening tag begins no block."""
    if tag["unknown"]:
        return _is_word(tag) or not is_closed
    return _is_word(tag) and not is_closed


def _is_word(tag: re.Match[str]) -> bool:
    """Whether a tag within a line may be a word of the person's: "cp <file> here"."""
    is_told_apart = tag["harness"] or (tag["facts"] and not tag["unknown"])
    return not is_told_apart and not _begins_line(tag)


def _begins_line(tag: re.Match[str]) -> bool:
    before = tag.string[max(0, tag.start() - _INDENT) : tag.start()]
    return not before.rpartition("\n")[2].strip()


def without_pastes(text: str) -> str:
    """`text` without what was pasted behind placeholders. Text behind one in its line
    is the person's where fewer lines follow than were pasted."""
    line_ends = [found.start() for found in regex(r"\n|\Z").finditer(text)]
    remaining = []
    position = 0
    for placeholder in _placeholder().finditer(text):
        if placeholder.start() >= position:
            remaining.append(text[position : placeholder.start()])
            position = _end_of_paste(placeholder, line_ends)
    return " ".join([*remaining, text[position:]])


def _end_of_paste(placeholder: re.Match[str], line_ends: Sequence[int]) -> int:
    """Where the text ends that a placeholder stands for."""
    start = placeholder.end()
    count = int(placeholder["count"] or 0)
    if placeholder["unit"] == "char":
        is_there = line_ends[-1] - start >= count
        return start + count + 1 if is_there else start
    line = bisect_left(line_ends, start)
    below = len(line_ends) - 1 - line
    if placeholder.string[start : line_ends[line]].strip(" \t:"):
        # Without so many lines below, what was pasted is not there.
        return line_ends[line + count] if 0 < count <= below else start
    lines = count + bool(placeholder["more"]) if count else below
    return line_ends[line + min(lines, below)]

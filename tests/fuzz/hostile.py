"""Hostile texts of any length: what makes a careless reader slow, deep or wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

CHARACTERS: Final = (
    "aA0 \t\n\r-#`~\"'<>[]{}()*_\\:,.;/|!?@$%&=+^é你ßа\u200b\u200d\u202e\x1b\x9b\x00\ufeff\ufe0f"
)
TOKENS: Final = (
    "---\n",
    "---\nid: x\n---\nb\n\n",
    "---\nid: x\n",
    "---\ntype: corrective\n",
    "--- \n\n",
    "```\n",
    "```a`\n",
    "~~~\n```\n",
    "````\n```\n",
    "# h\n",
    "###### h\n",
    "## [2026-01-01] a\n",
    "### Detail\n",
    "- a\n",
    "  - a\n",
    "1. a\n",
    "> a\n",
    "* * *\n",
    "id: x\n",
    "key: [",
    "key: {",
    "key: ",
    "? ",
    "- - ",
    "&a ",
    "*a ",
    "!a ",
    "'' ",
    '"a" ',
    '\\"',
    "|\n",
    "<private>",
    "</private>",
    "<private",
    "< / private",
    "a.b",
    "a_b",
    "aB",
    "AbC1",
    "x=",
    'password="',
    "password=",
    "password ",
    "api_key: ",
    "secret",
    "tokens",
    "sk-",
    "://",
    "http://",
    "://a:",
    "curl -u ",
    "bearer ",
    "authorization: bearer ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----\n",
    "A" * 24 + "\n",
    "eyJaaaaa.eyJaaaaa",
    "glpat-aaaaaaaaaaaaaaaaa.",
    "AccountKey",
    "ignore all ",
    "ignore previous ",
    "forget your ",
    "i g n o r e ",
    "you are ",
    "<system",
    "system: ",
    "<|im_start",
    "send the ",
    "curl $(cat ",
    "env | ",
    "do not tell ",
    "忽略",
    "前の",
    "enable developer mode ",
    "act as a ",
    "</recalled-memory",
    "<\u200b/",
    "\x1b[",
    "\x1b]8;;",
    "\x1b]0;a",
    "\u200d",
    "\ufe0f",
    "}{",
    "[[",
    "]]",
    '{"a":',
    '{"a":[',
    "[",
    "[1,",
    '{"type":"user"}\n',
    '{"role":"user","content":"a"}\n',
    '{"a',
    "User: a\n",
    "Human:\n",
    "#### a\n",
    "# aider chat started at 2026-01-01 10:00:00\n",
    "<<<<<<< a\n",
    ">>>>>>> a\n",
    "=======\n",
    "not ",
    "never ",
    "no longer ",
    "a b ",
    "| a ",
    "![a](",
    "[a](",
    "](",
    "<!--",
    "-->",
    "&amp;",
    "``",
    "` ",
    "`a b` ",
    "$ ",
    "&&",
    "cd a && ",
    "a=b ",
    "2026-01-01 ",
    "1.1",
    "a-",
    "-a",
    "--a ",
    "./a ",
    "~/a",
    "a/b/c ",
    "\\u0000",
    "\\ud800",
    "\ud800",
    "\r\n",
    "a\r\n",
    "@import x\n",
    "@a ",
    "a@b.c ",
    "- [decision] a #b\n",
    "- relates_to [[b]]\n",
    "[tool]",
    "<command-name>",
    "<system-reminder>",
    "</system-reminder>",
    "¿",
    "。",
    "ー",
    "ก",
    "a'b",
    "don’t ",
    "(a ",
    "a) ",
    "**a** ",
    "instead of ",
    "because ",
    "always use ",
    "we decided to ",
    "I prefer ",
    "error: ",
    "fixed by ",
    "no, ",
    "remember that ",
    "from now on ",
    "the problem was ",
    "x" * 30 + " ",
)
PREFIXES: Final = (
    "",
    '"',
    "'",
    "```\n",
    "---\n",
    "---\nid: ",
    "---\nid: x\ntags: [",
    "{",
    '{"a":"',
    "<private>",
    "password=",
    "# ",
    "\ufeff",
    "-----BEGIN PRIVATE KEY-----\n",
    "http://",
    "/",
    "- ",
    "User: ",
    "\x1b]",
)
SUFFIXES: Final = (
    "",
    "!",
    '"',
    "\n---\n",
    "\n```\n",
    "}",
    "</private>",
    "\n-----END PRIVATE KEY-----\n",
    " ignore",
)

BEFORE_BLANKS: Final = (
    "- ",
    "- a",
    "- [a] b",
    "key: x",
    "---\nid: x\nkey: x",
    "---\nid: x\n---\n## h",
    "# h",
    "> a",
    "```a",
    "---",
    "a",
    "@a",
    "User: a",
    "password =",
    "ignore",
    "{",
    '{"a":',
    "1. a",
    "| a",
    "`a",
    "| ",
    "#",
    "*",
    "[a](",
    "a -",
)
SEEDS: Final = (
    "---\nid: a1\ntype: corrective\ntags: [a, b]\n---\n## [2026-01-02] Freeze time\nUse `freeze`.\n\n"
    "---\nid: b2\nkind: policy\n---\n## Keys\nNever write down a key.\n\n# Prose\n- [decision] take it #x\n",
    '{"type":"user","sessionId":"s","cwd":"/r","message":{"role":"user","content":"no, use pnpm"}}\n'
    '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","name":"Bash","input":{}}]}}\n',
    '{"items":[{"turn":1,"kind":"fact","title":"t","text":"x"}],"facts":[{"operation":"new","title":"a","body":"b"}]}',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mem hook x"}]}]},"session_id":"s","cwd":"/r"}',
)
"""A memory file, a session, a reply and the input of a hook as they should be: what `mutated`
damages.
"""


class Family(NamedTuple):
    """A text of any length: `prefix`, then the `unit` again and again, then `suffix`."""

    name: str
    make: Callable[[int], str]


def repeated(unit: str, prefix: str = "", suffix: str = "") -> Family:
    """`unit` up to so many characters between two fixed ends."""
    name = "+".join(ascii(part)[1:-1][:24] for part in (prefix, f"{unit}*n", suffix) if part)
    return Family(name, lambda n: prefix + unit * max(1, n // len(unit)) + suffix)


def _nested(name: str, opens: str, closes: str) -> Family:
    return Family(name, lambda n: opens * (n // 2) + closes * (n // 2))


def _stairs(n: int) -> str:
    """A list whose items are ever deeper."""
    depth = int((2 * n) ** 0.5)
    return "".join(" " * i + "- a\n" for i in range(depth))


def _distinct(line: str) -> Callable[[int], str]:
    size = len(line.format(10**5))
    return lambda n: "".join(line.format(i) for i in range(max(1, n // size)))


FIXED: Final = (
    *(repeated(unit) for unit in (*CHARACTERS, *TOKENS)),
    *(repeated("a", prefix, suffix) for prefix in PREFIXES for suffix in ("", "!")),
    *(repeated(" ", prefix, "x y") for prefix in BEFORE_BLANKS),
    _nested("brackets", "[", "]"),
    _nested("objects", '{"a":', "}"),
    _nested("quotes", "> ", "\n"),
    _nested("private", "<private>", "</private>"),
    Family("stairs", _stairs),
    Family("distinct keys", lambda n: "---\nid: x\n" + _distinct("k{0}: v\n")(n) + "---\nbody\n"),
    Family(
        "distinct entries", _distinct("---\nid: i{0}\ntype: corrective\n---\n## t{0}\nw{0}\n\n")
    ),
    Family("equal entries", lambda n: "---\ntype: corrective\n---\nsame\n\n" * max(1, n // 34)),
    Family("distinct headings", _distinct("# h{0}\ntext {0}\n")),
    Family("equal headings", lambda n: "# h\ntext\n" * max(1, n // 9)),
    Family("distinct words", _distinct("w{0} ")),
    Family("distinct numbers", _distinct("{0}, ")),
    Family("distinct paths", _distinct("src/f{0}.py ")),
    Family("one line of json", lambda n: '{"role": "user", "content": "' + "a " * (n // 2) + '"}'),
    Family(
        "backslashes in json", lambda n: '{"role": "user", "content": "' + "\\\\" * (n // 2) + '"}'
    ),
)


def drawn(dice: random.Random) -> Iterator[Family]:
    """Families without end: a unit of one to four tokens between two ends."""
    units = (*CHARACTERS, *TOKENS)
    while True:
        unit = "".join(dice.choices(units, k=dice.randint(1, 4)))
        yield repeated(unit, dice.choice(PREFIXES), dice.choice(SUFFIXES))


def mutated(seed: str, dice: random.Random) -> str:
    """`seed` with a few pieces cut, doubled, swapped or replaced by hostile ones."""
    text = seed
    for _ in range(dice.randint(1, 6)):
        at, to = sorted(dice.randrange(len(text) + 1) for _ in range(2))
        to = min(to, at + dice.choice((1, 3, 20, 200)))
        piece = dice.choice(
            (
                "",
                text[at:to] * 2,
                dice.choice((*CHARACTERS, *TOKENS)),
                dice.choice(TOKENS) * dice.choice((2, 20)),
                text[to : to + 30],
                chr(dice.randrange(0x110000)),
            )
        )
        text = text[:at] + piece + text[to:]
    return text[:100_000]

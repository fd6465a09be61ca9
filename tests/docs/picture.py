"""The picture of the README: one loop as two terminals show it, drawn from what the
program prints. On Monday a person corrects the agent; on Tuesday another session is
told before it edits.

    python -m tests.docs.picture

writes docs/session.svg."""

import json
import sys
import tempfile
from html import escape
from pathlib import Path

from memcli.views.text import fold_text
from tests.docs import console

PICTURE = console.ROOT / "docs" / "session.svg"
WIDTH = 92
LINE = 18
LETTER = 8.0
FILE = "src/invoice/export.py"
ASKED = "The invoice export fails when a number is used twice. Please fix it."
DONE = "I give the second invoice a new number."
CORRECTED = "No, never change an invoice number: the ERP owns them."
SET_UP = (
    f"git init -q . && mkdir -p src/invoice && echo 'number = 1' > {FILE}"
    " && git add . && git commit -q -m Export && mem init -q 2> /dev/null"
)
LEARNED = "mem extract monday.jsonl 2> /dev/null | head -n 2"
TOLD = "MEM_NOW=2026-11-17 mem hook pre-tool --harness claude < edit.json"
LOG = "MEM_NOW=2026-11-17 mem told | sed -E 's/ [0-9]{2}:[0-9]{2} //'"


def session(folder):
    """What two days look like, with what the program prints, folded to the picture's
    width."""
    shop = folder / "shop"
    shop.mkdir()
    environ = {**console.world(folder), "MEM_NOW": "2026-11-16"}
    (folder / "shop" / "monday.jsonl").write_text(_monday(shop), encoding="utf-8")
    (folder / "shop" / "edit.json").write_text(_edit(shop), encoding="utf-8")
    commands = (SET_UP, LEARNED, TOLD, LOG)
    _, learned, answer, log = console.run(commands, shop, environ)
    told = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    lines = [
        "Monday, in a session with an agent",
        f"  you    {ASKED}",
        f"  agent  {DONE} (edits {FILE})",
        f"  you    {CORRECTED}",
        "",
        f"$ {LEARNED.partition(' 2>')[0]}      (a hook does it when the session ends)",
        *learned.split("\n"),
        "",
        f"Tuesday, another session, another agent: about to edit {FILE}, it reads",
        f"  {told}",
        "",
        "$ mem told",
        *log.split("\n"),
    ]
    return [part for line in lines for part in fold_text(line, WIDTH, hanging=9)]


def _monday(root):
    """Monday's session, as Claude Code keeps it."""
    edit = {"file_path": str(root / FILE), "old_string": "= 1", "new_string": "= 2"}
    call = {"type": "tool_use", "id": "t1", "name": "Edit", "input": edit}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Updated."}
    turns = (
        ("user", ASKED),
        ("assistant", [{"type": "text", "text": DONE}, call]),
        ("user", [result]),
        ("user", CORRECTED),
        ("assistant", [{"type": "text", "text": "Reverted."}]),
    )
    rows = (
        _turn(root, number, role, content)
        for number, (role, content) in enumerate(turns)
    )
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _turn(root, at, role, content):
    return {
        "type": role,
        "uuid": f"u{at}",
        "parentUuid": f"u{at - 1}" if at else None,
        "sessionId": "monday",
        "cwd": str(root),
        "timestamp": f"2026-11-16T09:0{at}:00Z",
        "message": {"role": role, "content": content},
    }


def _edit(root):
    """What Claude Code asks its hooks before an edit."""
    edit = {"file_path": str(root / FILE), "old_string": "= 1", "new_string": "= 3"}
    return json.dumps(
        {
            "session_id": "tuesday",
            "cwd": str(root),
            "hook_event_name": "PreToolUse",
            "tool_name": "Edit",
            "tool_input": edit,
        }
    )


def draw(lines):
    """The lines as an SVG: a dark window, commands in another colour."""
    while lines and not lines[-1]:
        lines.pop()
    width = WIDTH * LETTER + 40
    height = len(lines) * LINE + 40
    rows = [
        f'<text x="20" y="{34 + number * LINE}"{_style(line)}>{escape(line)}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}"'
            ' font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13"'
            ' xml:space="preserve" fill="#d7dae0" role="img" aria-label="Corrected on Monday, told before the edit on Tuesday">',
            f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1b1f27"/>',
            *rows,
            "</svg>\n",
        ]
    )


def _style(line):
    if line.startswith("$ "):
        return ' fill="#7ee2a8"'
    return ' font-weight="bold"' if line.startswith(("Monday", "Tuesday")) else ""


def main():
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_text(draw(session(Path(folder))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

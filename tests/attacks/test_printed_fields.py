"""Terminal escapes and look-alikes in whatever a repository can put into a printed
field."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.views.test_recall import strings

NASTY = "\x1b]0;evil\x07\x1b[2J\x1b]8;;http://e.vil\x1b\\link\x1b]8;;\x1b\\\x9b31m\u202ekcab\u200bz\x00\x08\ufeff"
IN_NAMES = NASTY.replace("\x00", "").replace("/", "_")
SEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]")
KEY = "AKIA" + "Z7Q2M4X6B8N1V3C5"
ID = "7d1f2c1e-5555-4aaa-8bbb-0123456789ab"


@pytest.fixture
def poisoned(project):
    """Escapes in ids, titles, tags, every free value, and names of files, jobs and
    tasks."""
    keys = "source session_id session_task outcome retired_because".split()
    free = {"id": f"a{NASTY}", "kind": "pitfall", **dict.fromkeys(keys, f"x{NASTY}")}
    keys = "tags paths commands supports contradicts merged_from".split()
    lists = {key: [f"x{NASTY}"] for key in keys}
    odd = {"id": ID, "type": f"odd{NASTY}", "phase": NASTY, "status": NASTY}
    told = {"kind": "episode", "started_at": NASTY}
    entries = [
        project.entry(f"Zebra {NASTY}", f"zebra {NASTY} stripes", **free, **lists),
        project.entry("Zebra plain", "zebra herd runs", **odd),
        project.entry("Zebra episode", f"zebra\n### Detail\n{NASTY}", **told),
        project.entry(
            "Zebra gone", "zebra old", status="retired", retired_because=NASTY
        ),
        f"---\nid: broken{NASTY}\n: [\n---\nzebra\n",
    ]
    project.memory("\n".join(entries).encode("utf-8", "surrogatepass"))
    project.write("institutional.md", f"# Norms {NASTY}\nzebra {NASTY}\n")
    for path in (
        "tasks/aX.md",
        ".mem/jobs/jX/MEMORY.md",
        ".mem/jobs/j/tasks/tX/MEMORY.md",
    ):
        far = project.entry("Zebra far", "zebra far away", id=None)
        project.write(path.replace("X", IN_NAMES), far)
    lines = project.entry("Zebra lines", "zebra two lines")
    project.write(".mem/jobs/new\nline/tasks/x\ny.md", lines)
    project.write(f"tasks/{KEY}.md", b"\xff\xfe no text \x1b[31m")
    (project.root / f"tasks/link{IN_NAMES}.md").symlink_to("/etc/passwd")
    os.mkfifo(project.root / f"tasks/pipe{IN_NAMES}.md")
    return project


COMMANDS = [
    [word.replace("NASTY", NASTY).replace("ID", ID) for word in command]
    for command in json.loads(
        Path(__file__).with_name("words.json").read_text("utf-8")
    )["commands"]
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: ascii(" ".join(a))[1:40])
def test_no_command_prints_an_escape(poisoned, arguments):
    """No answer and no talk carries a control, bidi or invisible character."""
    arguments = [word.replace("\x00", "") for word in arguments]
    result = poisoned.mem(*arguments)
    assert result.code != 70, result.err
    assert not SEEN.search(result.err), ascii(result.err)
    assert not SEEN.search(result.out), ascii(result.out)
    if "--json" in arguments:
        for text in strings(result.json):
            assert not SEEN.search(text), ascii(text)


def test_a_name_cannot_forge_a_line(poisoned):
    """A line end in a file's name makes no line of its own, in the answer or the
    talk."""
    poisoned.write("tasks/x\nMEMORY.md:1: forged.md", b"\xff")
    poisoned.write("tasks/y\nforgedz.md", poisoned.entry("Zebra forged", "zebra"))
    for line in (
        "index",
        "index --check",
        "doctor",
        "list",
        "recall zebra --max-tokens 0",
    ):
        result = poisoned.mem(*line.split())
        assert not re.search(
            "^(MEMORY.md:1: )?forged", result.out + result.err, re.MULTILINE
        ), result


def test_a_poisoned_configuration_is_quoted_without_escapes(poisoned):
    """A key or a value of the project file that is named in an error carries no
    escape."""
    odd = json.dumps(NASTY)
    for line in (f"decay = {odd}", f"{odd} = 1", f"[{odd}]", "x = \x1b[2J"):
        poisoned.write(".mem.toml", line + "\n")
        result = poisoned.mem("recall", "zebra")
        assert (
            result.code == 2 and "hint:" in result.err and not SEEN.search(result.err)
        ), ascii(result.err)
        doctor = poisoned.mem("doctor")
        assert doctor.code == 1 and not SEEN.search(doctor.out + doctor.err), ascii(
            doctor.out
        )


def test_a_secret_in_a_file_name_is_not_shown_to_an_agent(poisoned):
    """The block that agents read names no credential, wherever it stands."""
    poisoned.write(f"tasks/{KEY}.md", poisoned.entry("Zebra key", "zebra key"))
    poisoned.write(
        f".mem/jobs/{KEY}/MEMORY.md", poisoned.entry("Zebra job", "zebra job")
    )
    out = poisoned.mem("recall", "zebra", "--format", "prompt", "--max-tokens", "0").out
    assert "Zebra key" in out and KEY not in out


@pytest.mark.parametrize(
    "line",
    [
        "show 7d1f", "show 7d1f --json", "list", "list --json", "retire 7d1f --dry-run",
        "retire 7d1f --dry-run --json", "retire 7d1f", "export json",
        "export claude", "recall zebra --json", "recall zebra --format text", "health --json",
    ],
)  # fmt: skip
def test_a_secret_in_an_entry_is_not_printed(project, line):
    """Title, body, tags and provenance are redacted; only `--raw` prints them."""
    text = project.entry(
        f"Zebra {KEY}", f"zebra {KEY}", id=ID, tags=[KEY], source=f"x {KEY}"
    )
    project.memory(text + project.entry("Zebra herd", "zebra runs"))
    result = project.ok(*line.split())
    assert KEY not in result.out + result.err
    assert "Zebra" in result.out or "--json" in line
    if line in ("show 7d1f", "export json"):
        assert KEY in project.mem(*line.split(), "--raw").out

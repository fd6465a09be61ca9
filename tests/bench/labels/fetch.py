"""Fetches the labelled sessions: python -m tests.bench.labels.fetch OUT [--part look].

Each session is taken by git from its public repository, at the commit that
`sessions.jsonl` names, cut to its lines where it is one session of a longer file,
checked against its digest, and written to OUT/PART. What is there already stays. No
text of a session lies in this repository: each belongs to those who published it."""

import hashlib
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from memcli.errors import one_of
from tests.programs import run

HERE = Path(__file__).parent
# of repositories collected after the others
LATER = ("fresh", "last", "unseen", "anew", "strange", "recent")
PARTS = ("look", "choose", "score", *LATER)
HOST = "https://github.com"


def rows(name):
    """The objects of one of the files of JSON lines beside this one."""
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def part_of(repository):
    """The part that a repository belongs to, by the SHA-1 of its name alone.

    The first digit decides as in an older set of labelled sessions, whose hidden half
    has the odd ones: none of those repositories is ever looked at."""
    digits = [
        int(digit, 16) for digit in hashlib.sha1(repository.encode()).hexdigest()[:3]
    ]
    open_half = digits[0] % 2 == 0
    if open_half and digits[1] <= 10:
        return "look"
    return "choose" if digits[2] % 2 == 0 else "score"


def git(folder, *arguments):
    """What git prints in a folder. Raises CalledProcessError."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def cut_to(data, lines):
    """The named lines of a file, first and last from 1, or all of it."""
    if lines is None:
        return data
    first, last = lines
    return b"\n".join(data.split(b"\n")[first - 1 : last])


def fetch(repository, sessions, out, host):
    """Write the sessions of one repository; how many could not be had."""
    missing = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        git(folder, "init", "--quiet")
        git(folder, "remote", "add", "origin", f"{host}/{repository}")
        for session in sessions:
            commit = session["commit"]
            try:
                git(
                    folder,
                    "fetch",
                    "--quiet",
                    "--depth=1",
                    "--filter=blob:none",
                    "origin",
                    commit,
                )
                data = git(folder, "cat-file", "blob", f"{commit}:{session['path']}")
            except subprocess.CalledProcessError as error:
                reason = (
                    error.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
                )
                print(f"{session['id']} {repository}: not fetched: {' '.join(reason)}")
                missing += 1
                continue
            text = cut_to(data, session["lines"])
            if hashlib.sha256(text).hexdigest() != session["sha256"]:
                print(f"{session['id']} {repository}: not the text that was labelled")
                missing += 1
                continue
            target = out / session["part"] / session["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
    return missing


def main(out: Path, part: str = "", host: str = HOST) -> int:
    """Fetch the sessions of a part, or all, from where OWNER/NAME is a git repository."""
    one_of("--part", part, ("", *PARTS))
    wanted = defaultdict(list)
    for session in rows("sessions.jsonl"):
        target = out / session["part"] / session["file"]
        if part in ("", session["part"]) and not target.exists():
            wanted[session["repository"]].append(session)
    missing = 0
    for repository, sessions in wanted.items():
        missing += fetch(repository, sessions, out, host)
    total = sum(map(len, wanted.values()))
    print(f"{total - missing} of {total} sessions fetched to {out}")
    return 1 if missing else 0


if __name__ == "__main__":
    run(main)

"""What rules keep and propose of labelled sessions.

    python -m tests.bench.lessons FOLDER

FOLDER holds sessions.jsonl, lessons.jsonl, files/ and score.py, whose matching rule
says which lesson an entry teaches. Nothing is fitted here: the words of the rules were
looked at against a part of such sessions, and a figure is worth something on the
others. `--show` prints every lesson with its verdict."""

import importlib.util
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memcli.extraction import rules
from memcli.sessions import speakers
from memcli.sessions.model import Session
from memcli.sessions.reader import read_all
from tests.programs import run

Lesson = tuple[str, str]  # its title and its body


class LabelledSet:
    """A folder of labelled sessions."""

    def __init__(self, folder: Path):
        spec = importlib.util.spec_from_file_location("score", folder / "score.py")
        assert spec is not None and spec.loader is not None
        self.score: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.score)
        self.sessions = _rows(folder / "sessions.jsonl")
        self.labels: dict[str, list[Any]] = defaultdict(list)
        for label in _rows(folder / "lessons.jsonl"):
            quoted = bool(label.get("quote"))
            lines = None if quoted else self.score.text_lines(str(folder / "files"))
            key = self.score.key_sentence(label, lines)
            self.labels[label["session"]].append((label, key))
        self.files = {
            session["id"]: folder / "files" / Path(session["file"]).name
            for session in self.sessions
        }

    def hits(self, session: str, lesson: Lesson) -> list[Any]:
        """The labels that a lesson says."""
        title, body = lesson
        entry = {"said": f"{title}\n{body}", "title": title}
        return [
            label
            for label, key in self.labels[session]
            if self.score.matches(entry, label, key) >= 0.6 and not label["forget"]
        ]

    @property
    def clear(self) -> set[tuple[str, int]]:
        """The lessons that are worth keeping beyond doubt."""
        every = (label for pairs in self.labels.values() for label, _ in pairs)
        return {
            (label["session"], label["n"])
            for label in every
            if label["weight"] == "KEEP" and not label["forget"]
        }


def _rows(path: Path) -> list[Any]:
    lines = path.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def read(path: Path) -> Session:
    """A file's sessions as one, cleaned as `mem extract` does."""
    found = read_all(str(path))
    turns = tuple(turn for session in found for turn in session.turns)
    return speakers.clean_session(found[0]._replace(turns=turns))


def figures(given: LabelledSet, chosen: Mapping[str, Sequence[Lesson]]) -> str:
    """Precision, the share of clear lessons, and silence where there is no lesson."""
    verdicts = [
        (session, given.hits(session, lesson))
        for session, lessons in chosen.items()
        for lesson in lessons
    ]
    good = sum(bool(hits) for _, hits in verdicts)
    caught = {(session, hit["n"]) for session, hits in verdicts for hit in hits}
    silent = [one["id"] for one in given.sessions if not given.labels[one["id"]]]
    quiet = sum(not chosen.get(session) for session in silent)
    return (
        f"{len(verdicts)} lessons, {good} of them labelled,"
        f" {len(caught & given.clear)} of {len(given.clear)} clear ones,"
        f" silent in {quiet} of {len(silent)} sessions without any"
    )


def main(folder: Path, *, show: bool = False):
    given = LabelledSet(folder)
    kept: dict[str, list[Lesson]] = {}
    likely: dict[str, list[Lesson]] = {}
    for name, path in given.files.items():
        found = rules.find(read(path))
        kept[name] = [(one.title, one.body) for one in found.kept]
        proposed = found.proposed[: rules.PROPOSED]
        likely[name] = [(one.title, one.body) for one in proposed]
    both = {name: [*kept[name], *likely[name]] for name in kept}
    for what, chosen in (("kept", kept), ("proposed", likely), ("either", both)):
        print(f"{what}: {figures(given, chosen)}")
        for name, lessons in chosen.items() if show and what != "either" else ():
            for title, body in lessons:
                sign = "+" if given.hits(name, (title, body)) else "-"
                print(f"  {sign} {name[:10]} {title} | {' '.join(body.split())[:160]}")


if __name__ == "__main__":
    run(main)

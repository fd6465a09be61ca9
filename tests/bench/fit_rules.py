"""Fits the weights of the rules: python -m tests.bench.fit_rules FOLDER [--silent
CHATS] [--write].

FOLDER holds sessions.jsonl, lessons.jsonl, files/ and score.py, whose matching rule
says which sentence teaches a lesson. Logistic regression, drawn towards weights that
were set by hand; the figures that are printed are cross-validated by repository: no
sentence is judged by weights that saw its repository. CHATS is a folder of chats (JSON
with `messages` of `role` and `text`) in which nothing is to be learned: every second
one is fitted on, the others are counted."""

import argparse
import importlib.util
import io
import json
import textwrap
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memcli.extraction.rules import evidence
from memcli.sessions import speakers
from memcli.sessions.model import Session
from memcli.sessions.reader import read_all
from memcli.text.matching import PACKAGE

BY_HAND = Path(__file__).with_name("weights_by_hand.txt")
DOUBT = {
    True: -0.05,
    False: 0.2,
}  # how much more a sentence of a person, of an agent must be worth
PULL = 40.0  # how strongly a weight is drawn towards the one that was set by hand
LEAST = 0.1  # weights that are nearer to nothing are left out
TALK = 0.003  # how much a sentence of a chat that teaches nothing counts
LARGEST = 30  # sentences of a session that count whole


def fitted(rows: Any, good: Any, counts: Any, prior: Any) -> Any:
    """The weights that explain `good` best, by Newton's method."""
    found = prior.copy()
    pull = np.r_[np.full(len(prior) - 1, PULL), 0.5]
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (counts * (chance - good)) + pull * (found - prior)
        bend = (rows.T * (counts * chance * (1 - chance))) @ rows + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        found = found - step
        if abs(step).max() < 1e-6:
            break
    return found


class Set:
    """A folder of labelled sessions, and of chats in which nothing is to be learned."""

    def __init__(self, folder: Path, chats: Path | None = None) -> None:
        spec = importlib.util.spec_from_file_location("score", folder / "score.py")
        assert spec is not None and spec.loader is not None
        self.score: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.score)
        self.sessions = _rows(folder / "sessions.jsonl")
        self.repository = {s["id"]: s["source"]["repository"] for s in self.sessions}
        self.labels: dict[str, list[Any]] = defaultdict(list)
        for label in _rows(folder / "lessons.jsonl"):
            lines = (
                None
                if label.get("quote")
                else self.score.text_lines(str(folder / "files"))
            )
            self.labels[label["session"]].append(
                (label, self.score.key_sentence(label, lines))
            )
        self.silent = silent(chats) if chats else {}
        self.repository |= {i: f"silent {n % 2}" for n, i in enumerate(self.silent)}
        self.files = {
            s["id"]: folder / "files" / Path(s["file"]).name for s in self.sessions
        }

    def hits(self, session: str, title: str, body: str) -> list[Any]:
        """The labels that a lesson says."""
        entry = {"said": f"{title}\n{body}", "title": title}
        pairs = self.labels[session]
        found = [
            label
            for label, key in pairs
            if self.score.matches(entry, label, key) >= 0.6
        ]
        return [label for label in found if not label["forget"]]


def _by_hand(voice: str) -> dict[str, float]:
    text = BY_HAND.read_text("utf-8").split(f"[{voice}]")[1].split("[")[0]
    pairs = (" ".join(item.split()).rpartition(" ") for item in text.split("|"))
    return {name: float(weight) for name, _, weight in pairs}


def _rows(path: Path) -> list[Any]:
    return [
        json.loads(line)
        for line in path.read_text("utf-8").splitlines()
        if line.strip()
    ]


def read(path: Path) -> Session:
    """A file's sessions as one, cleaned as `mem extract` does."""
    found = read_all(str(path))
    turns = tuple(turn for session in found for turn in session.turns)
    return speakers.clean_session(found[0]._replace(turns=turns))


def silent(folder: Path) -> dict[str, Session]:
    """The chats of a folder by name."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        said = json.loads(path.read_text("utf-8"))["messages"]
        lines = [
            json.dumps({"role": one["role"], "content": one["text"]}) for one in said
        ]
        (session,) = read_all(io.BytesIO("\n".join(lines).encode()), format="chat")
        found[f"silent {path.stem}"] = session
    return found


def candidates(session: Session) -> list[evidence.Remark]:
    heard = evidence.hear(session.turns)
    around = evidence.Surroundings(session.turns, heard)
    return [around.judged(one) for one in evidence.by_words(session.turns, heard)]


def fit(
    given: Set, read_sessions: Mapping[str, Session], *, human: bool
) -> tuple[dict[str, float], dict[int, float]]:
    """The weights for a voice, and what each candidate (by id) is worth to weights that
    did not see its repository."""
    every = {**read_sessions, **given.silent}
    found = [
        (i, c) for i, s in every.items() for c in candidates(s) if c.human == human
    ]
    prior = _by_hand("person" if human else "agent")
    names = sorted(
        {name for _, c in found for name in c.evidence} | prior.keys() - {"base"}
    )
    at = {name: n for n, name in enumerate(names)}
    rows = np.zeros((len(found), len(names) + 1))
    rows[:, -1] = 1
    for n, (_, c) in enumerate(found):
        rows[n, [at[name] for name in c.evidence]] = 1
    text = [c.sentence.text for _, c in found]
    good = np.array(
        [bool(given.hits(i, t[:80], t)) for (i, _), t in zip(found, text, strict=True)],
        float,
    )
    of = np.array([given.repository[i] for i, _ in found])
    sizes: dict[str, int] = defaultdict(int)
    for i, _ in found:
        sizes[i] += 1
    counts = np.array([min(1.0, LARGEST / sizes[i]) for i, _ in found])
    counts *= np.where(np.char.startswith(of, "silent"), TALK, 1.0)
    start = np.array([prior.get(name, 0.0) for name in [*names, "base"]])
    worth = np.zeros(len(found))
    for repository in set(of):
        held = of == repository
        worth[held] = rows[held] @ fitted(
            rows[~held], good[~held], counts[~held], start
        )
    seen = of != "silent 1"
    final = fitted(rows[seen], good[seen], counts[seen], start)
    table = dict(zip([*names, "base"], final, strict=True))
    return table, {(i, c.turn, c.at): w for (i, c), w in zip(found, worth, strict=True)}


def figures(given: Set, chosen: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Precision, recall and silence of lessons (title, body) by session."""
    count = good = 0
    seen: set[tuple[str, int]] = set()
    for session, lessons in chosen.items():
        for title, body in lessons:
            hits = given.hits(session, title, body)
            count = count + 1
            good = good + bool(hits)
            seen |= {(session, label["n"]) for label in hits}
    keep = [
        x
        for pairs in given.labels.values()
        for x, _ in pairs
        if x["weight"] == "KEEP" and not x["forget"]
    ]
    human = [x for x in keep if x["source"] == "human"]
    caught, said = (
        sum((x["session"], x["n"]) in seen for x in part) for part in (keep, human)
    )
    silent = [s["id"] for s in given.sessions if not given.labels[s["id"]]]
    quiet = sum(not chosen.get(session) for session in silent)
    return (
        f"{count} lessons, precision {100 * good / max(1, count):.1f} %, KEEP {caught} of {len(keep)},"
        f" of people {said} of {len(human)}, silent {quiet} of {len(silent)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--write", action="store_true", help="write memcli/extraction/rules/weights.txt"
    )
    parser.add_argument(
        "--silent", type=Path, help="a folder of chats that teach nothing"
    )
    args = parser.parse_args()
    given = Set(args.folder, args.silent)
    report(given, {i: read(path) for i, path in given.files.items()}, write=args.write)


def report(given: Set, read_sessions: Mapping[str, Session], *, write: bool) -> None:
    tables = {}
    worths = {}
    for human in (True, False):
        tables[human], of = fit(given, read_sessions, human=human)
        worths |= of
    for person in (-0.1, 0.0, 0.2):
        for agent in (0.0, 0.2, 0.4):
            chosen = {}
            for i, session in read_sessions.items():
                worth = _worth(worths, i, person, agent)
                found = evidence.chosen(session.turns, worth)
                chosen[i] = [(one.sentence.text, body) for body, one in found]
            unseen = [
                s for i, s in given.silent.items() if given.repository[i] == "silent 1"
            ]
            noise = sum(
                bool(evidence.chosen(s.turns, _worth(worths, i, person, agent)))
                for i, s in given.silent.items()
            )
            said = (
                f", {noise} of {len(given.silent)} chats not silent" if unseen else ""
            )
            print(
                f"people from {person}, agents from {agent}: {figures(given, chosen)}{said}"
            )
    if write:
        _write(tables)


def _worth(
    worths: Mapping[Any, float], session: str, person: float, agent: float
) -> Callable[[evidence.Remark], float]:
    return lambda c: worths[session, c.turn, c.at] - (person if c.human else agent)


def _write(tables: Mapping[bool, Mapping[str, float]]) -> None:
    parts = []
    for human, name in ((True, "person"), (False, "agent")):
        table = {**tables[human], "base": tables[human]["base"] - DOUBT[human]}
        kept = sorted(
            ((round(w, 2), n) for n, w in table.items() if abs(w) >= LEAST),
            reverse=True,
        )
        body = textwrap.fill(
            " | ".join(f"{n} {w}" for w, n in kept), 98, break_on_hyphens=False
        )
        parts.append(f"[{name}]\n{body}\n")
    (PACKAGE / evidence.WEIGHTS).write_text("\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()

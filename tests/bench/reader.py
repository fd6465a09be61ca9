"""Learning with a model, scored without one: python -m tests.bench.reader FOLDER OUT.

FOLDER holds labelled sessions, as for `tests.bench.lessons`. What a model would be sent
is written to OUT/ID.txt, a reader who sees nothing else writes the replies to
OUT/ID.jsonl, one JSON value for each call, and the next run replays them through the
scripted provider and scores what is learned."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from statistics import median

from memcli.extraction import engines, placement, scopes
from memcli.extraction.engines import EngineInput
from memcli.extraction.scopes import ExtractionScope, Home
from memcli.extraction.segments import segments
from memcli.memory.parser import parse
from memcli.providers.llm import Scripted
from memcli.providers.llm.ledger import BYTES_PER_TOKEN
from memcli.sessions.model import Session
from memcli.sessions.speakers import task_of
from tests.bench import lessons
from tests.programs import run

TODAY = "2026-11-22"


def asked(session: Session) -> tuple[EngineInput, tuple[ExtractionScope, ...]]:
    """What an engine looks at, and the scopes that apply outside of a job."""
    human = any(turn.human and turn.text.strip() for turn in session.turns)
    inputs = {"transcript": "yes", **({"human turns": "yes"} if human else {})}
    runs, _ = scopes.chosen((), inputs, Home(), llm=True, global_on=False)
    stretches = segments(session.turns)
    return EngineInput(
        session=session,
        first=0,
        segments=stretches,
        inputs=inputs,
        folder="",
        root=Path("project"),
        today=TODAY,
    ), runs


def replayed(
    session: Session, replies: Path
) -> tuple[list[tuple[str, str]], placement.Outcome]:
    """The lessons (title, body) that these replies leave, and all that became of
    them."""
    given, runs = asked(session)
    found = engines.find(given, runs, Scripted(str(replies)))
    targets = scopes.targets_of(session.id, Home())
    context = placement.Context(
        session=session,
        task=task_of(session.turns),
        phase="unknown",
        today=TODAY,
        targets=targets,
    )
    outcome = placement.plan(found.drafts, context, [])
    lessons_left = chain.from_iterable(map(left_in, outcome.texts.items()))
    return list(lessons_left), outcome


def left_in(file: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """The lessons (title, body) in a file (name, text): entries, and lines of norms."""
    name, text = file
    for entry in parse(text, name).entries:
        if entry.kind != "episode":
            yield entry.title, entry.body
    if name.endswith("institutional.md"):
        for row in text.splitlines():
            if row.startswith("- "):
                yield row, row


def report(given: lessons.LabelledSet, read: Mapping[str, Session], out: Path):
    """Write the prompts; score those sessions that have replies."""
    sizes = []
    calls = []
    chosen = {}
    for name, session in read.items():
        parts = engines.sent(*asked(session))
        (out / f"{name}.txt").write_text("\n".join(parts), "utf-8")
        calls.append(max(0, len(parts) - 1))
        sizes.append(int(sum(len(part.encode()) for part in parts) / BYTES_PER_TOKEN))
        replies = out / f"{name}.jsonl"
        if replies.exists():
            chosen[name], outcome = replayed(session, replies)
            dropped = "".join(f", {n} {why}" for why, n in outcome.dropped.items())
            print(f"{name}: {len(chosen[name])} lessons{dropped}")
    print(f"calls a session: {median(calls):g} in the median, {max(calls)} at most")
    print(
        f"input tokens a session: {median(sizes):,.0f} in the median, {max(sizes):,} at most"
    )
    answered = [one for one in given.sessions if one["id"] in chosen]
    given.sessions = answered
    given.labels = {name: given.labels[name] for name in chosen}
    print(lessons.figures(given, chosen) if chosen else "no session is answered yet")


def main(folder: Path, out: Path):
    out.mkdir(parents=True, exist_ok=True)
    given = lessons.LabelledSet(folder)
    report(
        given,
        {name: lessons.read(path) for name, path in given.files.items()},
        out,
    )


if __name__ == "__main__":
    run(main)

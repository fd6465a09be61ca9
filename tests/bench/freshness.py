"""Names in old documents held against the code of today:
python -m tests.bench.freshness CLONE... [--of memory] [--show] [--marks N].

CLONE is a local git repository with years of history; nothing is fetched or written.
What its documents said at two older commits is the memory. The truth comes from git's
trees and the words of blobs, read by `tests.bench.history`, not by what is measured."""

import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from memcli.index.anchors import anchors_of
from memcli.index.codebase import Codebase
from memcli.index.fates import GONE, MOVED, Anchor, Fate
from memcli.index.sayings import UNKNOWN
from tests.bench.history import Snapshot, older_commits, sentences
from tests.programs import run

Held = dict[Anchor, Fate]


class Verdict(NamedTuple):
    """What a name in a sentence is by the history, and by mem's mark of it."""

    clone: str
    kind: str
    name: str
    sentence: str
    fate: Fate | None = None


class Result(NamedTuple):
    """The gone names with their marks, the standing names, and marks beyond both."""

    gone: list[Verdict]
    standing: list[Verdict]
    others: list[Verdict]


def fates_of(top: Path, texts: Iterable[str], seconds: float, commit: str) -> Held:
    """What mem says of all that these texts of a commit name."""
    anchors = {anchor for text in texts for anchor in anchors_of({}, text)}
    tree = Codebase(top, top, time.monotonic() + seconds)
    # the newest commit says nothing of when a text was written
    place = tree.places.get(commit, UNKNOWN)
    tree.since = {(anchor, commit): place for anchor in anchors}
    return tree.fates(anchors, {}, "", tree.since.keys())


def lost(held: Held, text: str) -> dict[str, tuple[Anchor, Fate]]:
    """The marks of a text, by the name as it is written, slashes aside."""
    return {
        plain(anchor.text): (anchor, held[anchor])
        for anchor in anchors_of({}, text)
        if held[anchor].state in (GONE, MOVED)
    }


def plain(name: str) -> str:
    """A name without its tool and the slashes around it."""
    return name.rpartition(" ")[2].removeprefix("./").strip("/")


def marked(marks: dict[str, tuple[Anchor, Fate]], name: str) -> Fate | None:
    """The mark that a name has, if also by a longer or a shorter path."""
    name = plain(name)
    for shown, (_, fate) in marks.items():
        same = shown == name or f"/{shown}".endswith(f"/{name}")
        if same or f"/{name}".endswith(f"/{shown}"):
            return fate
    return None


def measured(top: Path, seconds: float, kind: str) -> Result:
    """The memory of two older commits of a clone against its code of today."""
    today = Snapshot(top, "HEAD")
    result = Result([], [], [])
    for commit in older_commits(top, memory=kind == "memory"):
        then = Snapshot(top, commit, kind)
        told = list(dict.fromkeys(sentences(then)))
        held = fates_of(top, told, seconds, commit)
        for text in told:
            marks = lost(held, text)
            names = list(then.named(text))
            for sort, name in names:
                verdict = Verdict(
                    clone=top.name,
                    kind=sort,
                    name=name,
                    sentence=text,
                    fate=marked(marks, name),
                )
                known = result.standing if today.has(sort, name) else result.gone
                known.append(verdict)
            seen = {plain(name) for _, name in names}
            result.others.extend(
                Verdict(
                    clone=top.name,
                    kind=anchor.kind,
                    name=anchor.text,
                    sentence=text,
                    fate=fate,
                )
                for shown, (anchor, fate) in marks.items()
                if not any(marked({shown: (anchor, fate)}, name) for name in seen)
            )
    return result


def present(top: Path, seconds: float, kind: str) -> list[Verdict]:
    """The names that stand in the documents of today, with any mark on them."""
    today = Snapshot(top, "HEAD", kind)
    told = list(dict.fromkeys(sentences(today)))
    held = fates_of(top, told, seconds, "HEAD")
    return [
        Verdict(
            clone=top.name,
            kind=kind,
            name=name,
            sentence=text,
            fate=marked(lost(held, text), name),
        )
        for text in told
        for kind, name in today.named(text)
    ]


def unique(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """One verdict a name of a clone; one that has no mark stands for all."""
    kept: dict[tuple[str, str, str], Verdict] = {}
    for verdict in sorted(verdicts, key=lambda each: each.fate is not None):
        kept.setdefault((verdict.clone, verdict.kind, verdict.name), verdict)
    return list(kept.values())


def shares(title: str, verdicts: Sequence[Verdict], *, wanted: bool) -> Iterator[str]:
    """A line for all, and one for each kind: how many are as they should be."""
    right = Counter(v.kind for v in verdicts if (v.fate is not None) is wanted)
    every = Counter(verdict.kind for verdict in verdicts)
    yield f"{title}: {right.total()} of {every.total()}"
    for kind, number in sorted(every.items()):
        yield f"  {kind}: {right[kind]} of {number}"


def line_of(verdict: Verdict) -> str:
    """A verdict as one line to read."""
    text = re.sub(r"\s+", " ", verdict.sentence)
    at = max(0, text.find(verdict.name) - 70)
    fate = verdict.fate
    told = f"{fate.state} {fate.commit} {fate.now}" if fate is not None else "no mark"
    row = f"{verdict.clone} {verdict.kind} {verdict.name} [{told}]"
    return f"{row} … {text[at : at + 190]}"


def main(
    clones: list[Path],
    *,
    seconds: float = 120,
    kind: Annotated[str, typer.Option("--of")] = "own",
    display: Annotated[bool, typer.Option("--show")] = False,
    marks: int = 0,
):
    """Measure the documents of clones, with --of guides the pages for users, too, with
    --of memory what agents read; show what is missed and false, and so many marks to
    read."""
    whole = Result([], [], [])
    today: list[Verdict] = []
    for clone in clones:
        top = clone.resolve()
        result = measured(top, seconds, kind)
        whole.gone.extend(result.gone)
        whole.standing.extend(result.standing)
        whole.others.extend(result.others)
        today += present(top, seconds, kind)
    whole = Result(
        gone=unique(whole.gone),
        standing=unique(whole.standing),
        others=unique(whole.others),
    )
    today = unique(today)
    report(whole, today)
    if display:
        false = having_mark([*whole.standing, *today])
        missed = [verdict for verdict in whole.gone if verdict.fate is None]
        show("MISSED", missed)
        show("FALSE", false)
        show("OTHER", whole.others)
    if marks:
        every = having_mark([*whole.gone, *whole.standing, *whole.others])
        few = random.Random(7).sample(every, min(marks, len(every)))
        show("MARK", few)


def report(whole: Result, today: list[Verdict]):
    """Print how many names have the mark that they should have."""
    shown = (
        ("gone names found", whole.gone, True),
        ("old names that stand, unmarked", whole.standing, False),
        ("names of today, unmarked", today, False),
    )
    for title, verdicts, wanted in shown:
        for row in shares(title, verdicts, wanted=wanted):
            print(row)
    print(f"marks on what the truth does not know: {len(whole.others)}")


def having_mark(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.fate is not None]


def show(title: str, verdicts: Iterable[Verdict]):
    for verdict in verdicts:
        print(title, line_of(verdict))


if __name__ == "__main__":
    run(main)

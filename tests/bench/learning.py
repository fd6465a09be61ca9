"""Scores what `mem extract` keeps and proposes.

    python -m tests.bench.learning SESSIONS --part look

SESSIONS is the folder that `tests.bench.labels.fetch` fills. Each session of the part
is learned from by rules, by the command line, in a repository and a home of its own.
What then stands in memory files, episodes aside, was *kept*; what `mem inbox` lists was
*proposed*. An entry is right when it says a lesson that was labelled in its session; a
lesson is found when an entry says it. The part `score` is for a figure that is printed
once: what is chosen is chosen on the others, and only of `look` does `--show` print
entries."""

import hashlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from memcli.errors import MemError, UsageError, one_of
from memcli.sessions.reader import read_all
from tests import programs
from tests.bench.labels.fetch import PARTS, rows

SAYS = 0.6
"""The share of a quote's words from which on an entry says it (the older set's
threshold)."""
REPHRASED = 0.5
"""The share of the words that a labeller used from which on an entry says the same."""
NEAR = 0.4
"""What is enough of either where both have it, or where the entry comes from the same
turn."""
RESAMPLES = 2000
"""Draws of repositories behind an interval."""
SAFE = re.compile(r"PATH|LANG|LC_\w+|TZ|TMPDIR|VIRTUAL_ENV")
"""Variables of the environment that `mem` sees."""
WORD = re.compile(
    r"""
    [\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+  # Japanese, Chinese, Korean: no spaces to go by
    | [^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+
    """,
    re.VERBOSE,
)
COMMON = frozenset(
    """a an and are as at be but by can do for from has have how i if in into is it its just like
    me my no not of on or our so than that the their them then there these they this to too up us
    was we what when where which who why will with would you your der die das und ist nicht ein
    eine mit von zu den im auf que de la el en y un una es los las por con para se il lo gli che
    di non per le les des et est dans pour sur je vous pas ne o os as do da em no na um uma é
    и в не на что с по для это как""".split()
)


class Entry(NamedTuple):
    """A thing that was learned: its words, and the turns that it says it comes from."""

    title: str
    said: str
    sources: tuple[str, ...]


class Quote(NamedTuple):
    """Words that teach a lesson, and the names of the turn they stand in."""

    text: str
    turns: frozenset[str]


class Lesson(NamedTuple):
    """A labelled lesson, with every place where it is said."""

    quotes: tuple[Quote, ...]
    worded: str
    clear: bool


class Outcome(NamedTuple):
    """What was learned from a session, what should have been, and which meets which."""

    session: dict[str, Any]
    lessons: list[Lesson]
    kept: list[Entry]
    proposed: list[Entry]
    episodes: int
    failed: str


def spaced(text):
    """The text with every run of white space made one space, as offsets of labels count
    it."""
    return re.sub(r"\s+", " ", text).strip()


def digest(text):
    """What a label holds in place of the words that it points to."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def content(text):
    """The words that carry meaning, endings off; of scripts without spaces pairs of
    characters."""
    found = set()
    for word in WORD.findall(text.lower()):
        if "\u3040" <= word[0] <= "\ud7af":
            pairs = {word[place : place + 2] for place in range(len(word) - 1)}
            found |= pairs or {word}
        elif word not in COMMON:
            found.add(re.sub(r"(?<=\w{3})(?:ing|ies|es|ed|ly|s)$", "", word))
    return found


def share(part, whole):
    """How much of the one is in the other, 0 to 1."""
    return len(part & whole) / len(part) if part else 0.0


def says(entry, lesson):
    """Whether an entry says a lesson, as it is said in any of its places."""
    return any(agrees(entry, quote, lesson.worded) for quote in lesson.quotes)


def agrees(entry, given, wording):
    """Whether an entry has the words of a quote, is a cut of them, or says it in its
    own."""
    said = content(entry.said)
    title = content(entry.title)
    quote = content(given.text)
    worded = content(wording)
    of_quote = share(quote, said)
    of_worded = share(worded, said)
    same_turn = not given.turns.isdisjoint(entry.sources)
    cut = share(title, quote) >= SAYS and share(quote, title) >= NEAR
    both = of_quote >= NEAR and of_worded >= NEAR
    return any(
        (
            of_quote >= SAYS,
            of_worded >= REPHRASED,
            both,
            cut and len(title & quote) > 2,
            same_turn and of_worded >= NEAR,
            same_turn and of_quote >= NEAR and cut,
        )
    )


def names_of(turn):
    """How a `source` may name a turn."""
    return frozenset({turn.key, f"@{turn.offset}"})


def located(place, turns):
    """The words a label points to: where it says, else wherever its digest fits."""
    start, end = place["at"]
    length = end - start
    told = [turn for turn in turns if turn.line == place["line"]]
    for turn in told + list(turns):
        text = spaced(turn.text)
        starts = [start] if turn in told else range(len(text) - length + 1)
        for first in starts:
            quote = text[first : first + length]
            if digest(quote) == place["digest"]:
                return Quote(text=quote, turns=names_of(turn))
    return None


def lesson_of(label, turns):
    """A label with the words it points to; without quotes where they are not found."""
    quotes = [located(place, turns) for place in (label, *label["also"])]
    return Lesson(
        quotes=tuple(quote for quote in quotes if quote is not None),
        worded=label["lesson"],
        clear=label["weight"] == "clear",
    )


def run(command, folder, home):
    """A command's exit code, its JSON (none: {}), and its last line of errors."""
    environment = {
        name: value for name, value in os.environ.items() if SAFE.fullmatch(name)
    }
    places = ("HOME", "MEM_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
    environment |= {name: str(home) for name in (*places, "XDG_CACHE_HOME")}
    environment |= {"NO_COLOR": "1", "GIT_CONFIG_NOSYSTEM": "1"}
    process = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    try:
        reply = json.loads(process.stdout)
    except ValueError:
        reply = {}
    return process.returncode, reply, (process.stderr.strip().splitlines() or [""])[-1]


def sources_of(value):
    """The names of turns in a `source`, which is one text or several: FILE#TURN."""
    several = value if isinstance(value, list) else [value]
    return tuple(str(source).rpartition("#")[2] for source in several if source)


def entry_of(told):
    """An entry or a proposal, from its JSON; what an excerpt repeats is left out."""
    text = str(told.get("text", "")).split("\n### Detail")[0]
    title = str(told.get("title", "")) or re.sub(r"^[#-]+\s*(\[[\d-]+\]\s*)?", "", text)
    sources = told.get("source") or (told.get("extra") or {}).get("source")
    return Entry(title=title, said=f"{title}\n{text}", sources=sources_of(sources))


def learned(mem, path):
    """What one session leaves: kept, proposed, the number of episodes, and what went
    wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary, "home")
        folder = Path(temporary, "work")
        home.mkdir()
        folder.mkdir()
        subprocess.run(
            ["git", "init", "--quiet", str(folder)], check=True, capture_output=True
        )
        session = home / path.name
        shutil.copy(path, session)
        extract = [*mem, "extract", str(session), "--engine", "rules", "--json"]
        extract += ["--set", "compact_after_extract=false"]
        code, _, error = run(extract, folder, home)
        listed = {}
        for which in (["--proxy"], ["--store", "institutional"]):
            _, reply, _ = run([*mem, "list", "--json", *which], folder, home)
            listed |= {entry["id"]: entry["kind"] for entry in reply.get("entries", [])}
        kept = []
        for entry, kind in listed.items():
            if kind != "episode":
                _, told, _ = run(
                    [*mem, "show", entry, "--proxy", "--json"], folder, home
                )
                kept.append(entry_of(told))
        _, inbox, _ = run([*mem, "inbox", "--json"], folder, home)
        waiting = inbox if isinstance(inbox, list) else _first_list(inbox)
        proposed = [entry_of(told) for told in waiting]
    return kept, proposed, len(listed) - len(kept), error if code else ""


def _first_list(reply):
    """The list that a reply holds, under whatever name."""
    return next((value for value in reply.values() if isinstance(value, list)), [])


def outcome(session, labels, folder, mem):
    """One session, learned from and held against its labels."""
    path = folder / session["part"] / session["file"]
    try:
        turns = [turn for read in read_all(path) for turn in read.turns if turn.text]
    except MemError:
        turns = []
    lessons = [lesson_of(label, turns) for label in labels]
    kept, proposed, episodes, failed = learned(mem, path)
    if not all(lesson.quotes for lesson in lessons):
        failed = failed or "a label's words were not found in what was read"
    return Outcome(
        session=session,
        lessons=lessons,
        kept=kept,
        proposed=proposed,
        episodes=episodes,
        failed=failed,
    )


def right(entries, lessons):
    """The entries that say a lesson, of all."""
    good = [
        entry for entry in entries if any(says(entry, lesson) for lesson in lessons)
    ]
    return len(good), len(entries)


def found(entries, lessons, *, clear):
    """The lessons of one weight that an entry says, of all of that weight."""
    asked = [lesson for lesson in lessons if lesson.clear == clear]
    met = [lesson for lesson in asked if any(says(entry, lesson) for entry in entries)]
    return len(met), len(asked)


def silent(result):
    """Whether a session that teaches nothing left nothing in files."""
    if result.session["teaches"]:
        return 0, 0
    return int(not result.kept), 1


FIGURES = {
    "kept: right": lambda one: right(one.kept, one.lessons),
    "kept: clear lessons found": lambda one: found(one.kept, one.lessons, clear=True),
    "kept: arguable lessons found": lambda one: found(
        one.kept, one.lessons, clear=False
    ),
    "kept or proposed: right": lambda one: right(one.kept + one.proposed, one.lessons),
    "kept or proposed: clear lessons found": lambda one: found(
        one.kept + one.proposed, one.lessons, clear=True
    ),
    "sessions that teach nothing: nothing kept": silent,
}


def interval(counts):
    """95 % of a share when whole repositories are drawn anew."""
    draw = random.Random(37)
    names = sorted(counts)
    shares = []
    for _ in range(RESAMPLES):
        drawn = [counts[name] for name in draw.choices(names, k=len(names))]
        whole = sum(count[1] for count in drawn)
        if whole:
            shares.append(sum(count[0] for count in drawn) / whole)
    shares.sort()
    edge = len(shares) // 40
    return shares[edge], shares[-edge - 1]


def told(name, results, figure):
    """A line: the share, the counts, the interval."""
    counts = defaultdict(lambda: (0, 0))
    for result in results:
        good, whole = figure(result)
        before = counts[result.session["repository"]]
        counts[result.session["repository"]] = (before[0] + good, before[1] + whole)
    good = sum(count[0] for count in counts.values())
    whole = sum(count[1] for count in counts.values())
    if not whole:
        return f"{name:42} none of 0"
    low, high = interval(counts)
    share_right = f"{good / whole:4.0%} ({good} of {whole})"
    return f"{name:42} {share_right}, 95 %: {low:.0%} to {high:.0%}"


def report(results):
    """Print all figures, those of other languages and the trouble."""
    lessons = Counter(lesson.clear for result in results for lesson in result.lessons)
    repositories = {result.session["repository"] for result in results}
    print(
        f"{len(results)} sessions of {len(repositories)} repositories,"
        f" {lessons[True]} clear and {lessons[False]} arguable lessons"
    )
    other = [
        result for result in results if result.session["language"] not in ("en", "-")
    ]
    for title, group in (("all", results), ("not in English", other)):
        print(f"{title}, {len(group)} sessions:")
        for name, figure in FIGURES.items():
            print("  " + told(name, group, figure))
    report_rest(results)


def report_rest(results):
    """Print how many episodes there are, and what failed."""
    episodes = sum(result.episodes for result in results)
    quiet = sum(result.episodes for result in results if not result.session["teaches"])
    print(f"episodes: {episodes}, {quiet} of them of sessions that teach nothing")
    for result in results:
        if result.failed:
            print(f"{result.session['id']}: {result.failed}")


def show(results):
    """Print every entry with the verdict on it."""
    for result in results:
        for state, entries in (("kept", result.kept), ("proposed", result.proposed)):
            for entry in entries:
                met = any(says(entry, lesson) for lesson in result.lessons)
                verdict = "right" if met else "wrong"
                print(f"{result.session['id']} {state:8} {verdict} {entry.title[:110]}")


def chosen(folder, part, only):
    """The sessions of a part that are in the folder; of `only`, if it names any."""
    wanted = [row for row in rows("sessions.jsonl") if row["part"] == part]
    if only:
        wanted = [row for row in wanted if row["id"] in only.split(",")]
    there = [row for row in wanted if (folder / part / row["file"]).exists()]
    if len(there) < len(wanted):
        print(f"{len(wanted) - len(there)} sessions are not in {folder}")
    return there


def main(
    sessions: Path,
    *,
    part: Annotated[str, typer.Option()],
    mem: str = "mem",
    only: str = "",
    display: Annotated[bool, typer.Option("--show")] = False,
    jobs: int = 2,
):
    """Score a part with a command, whose words are split as in a shell; of sessions
    only some ids, with commas; show entries, of the part look alone."""
    one_of("--part", part, PARTS)
    if display and part != "look":
        what = "--show would give away sessions that rules are measured on"
        raise UsageError(what, "--part look")
    there = chosen(sessions, part, only)
    labels = defaultdict(list)
    for label in rows("lessons.jsonl"):
        labels[label["session"]].append(label)
    command = shlex.split(mem)

    def scored(row):
        return outcome(row, labels[row["id"]], sessions, command)

    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(scored, there))
    report(results)
    if display:
        show(results)
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    programs.run(main)

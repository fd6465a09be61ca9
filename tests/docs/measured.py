"""What docs/figures.json says, as parts of the pages: README.md and docs/benchmarks.md
call these functions through cog."""

from tests.bench import figures

NAMES = {
    "no change": "`mem index` without a change / look at every file",
    "recall": "`mem recall` / plain query",
    "ranked": "`mem recall --ranked` / plain query",
    "edit and recall": "an edit and a recall / plain query",
    "index": "first `mem index` / plain build",
}
HOOK_NAMES = {
    "prompt about memory": "a prompt about what is known",
    "prompt about nothing": "a prompt about nothing known",
    "session-start": "the start of a session",
    "pre-tool, file": "before a tool on a file",
    "pre-tool, command": "before a command",
    "session-end": "the end of a session",
}

OTHERS = (
    "Claude Code's memory",
    "claude-mem 13.25.3",
    "memsearch 0.4.23",
    "basic-memory 0.23.2",
    "qmd 2.8.3",
)
UNKNOWN = "not measured"
NO_SEARCH = "does not search"
BESIDE = {
    "packages, MB": (
        "",
        "part of it",
        "23, 35, and Bun and uv",
        "37, 387",
        "169, 432",
        "159, 844",
    ),
    "first answer from 1,000 notes, s": (
        "",
        "at once",
        UNKNOWN,
        UNKNOWN,
        "185",
        "4.0",
    ),
    "right of 40 on 1,000 notes": ("", NO_SEARCH, UNKNOWN, UNKNOWN, "40", "0"),
    "right of 20 questions on 27 pages": (
        "17; 19 (earlier state)",
        NO_SEARCH,
        UNKNOWN,
        UNKNOWN,
        "14",
        "0",
    ),
    "needs": (
        "nothing",
        "Claude Code",
        "a service, a Claude login",
        "a key, or a model from a hub",
        "a model from a hub, for meaning",
        "Node 22, models of 2 GB for meaning",
    ),
    "writes": (
        "an index beside the notes, which git ignores; `~/.local/state/mem`, `~/.cache/mem`; when asked `~/MEMORY.md` (global), `~/.local/share/mem` (sync)",
        "`~/.claude/projects`",
        "`~/.claude-mem`, `~/.claude`",
        "`~/.memsearch`",
        "front matter into each note; `~/.basic-memory`",
        "`~/.cache/qmd`",
    ),
    "finds notes written by hand": (
        "yes",
        "its own, the first 200 lines",
        "no",
        "yes",
        "yes",
        "yes",
    ),
    "answers from git history": ("yes", "no", "no", "no", "no", "no"),
}
"""What is compared: `mem`, where it is not measured here, then the others in order."""


def commands():
    """Commands beside plain SQLite."""
    values = _values("commands")
    rows = _by_size(values, NAMES)
    rows.append(["memory of a recall, MB", *_recall_memory(values)])
    _say(figures.table(["words / with vectors", *_sizes(values)], rows), "commands")


def hooks():
    """Hooks beside `import sqlite3`."""
    values = _values("hooks")
    heads = ["words / with vectors", *_sizes(values)]
    _say(figures.table(heads, _by_size(values, HOOK_NAMES)), "hooks")


def own_cases():
    """Cases of our own: changed decisions, and pairs of sentences."""
    changes = _values("changes")
    pairs = _values("duplicates")
    same = pairs["say the same"]
    apart = pairs["must stay apart"]
    changed = changes["changed"]
    mentioned = changes["mentioned"]
    rows = [
        ("decided, changed later: the newer is first", _of(changed, "leads")),
        ("only mentioned later: marked as newer", _of(mentioned, "marked")),
        ("pairs that say the same: merged", _of(same, "merged")),
        ("pairs that must stay apart: merged", _of(apart, "merged")),
    ]
    table = figures.table(["cases in `tests/`", "figure"], rows)
    _say(table, "changes", "duplicates")


def beside():
    """The README's table: `mem` beside others. The others were measured once."""
    import cog

    taken = _values("install")
    notes = _values("notes")
    own = {
        "packages, MB": f"{taken['packages']}, {taken['megabytes']}",
        "first answer from 1,000 notes, s": _both(notes, "first answer, s", "; "),
        "right of 40 on 1,000 notes": _both(notes, "right", "; "),
    }
    rows = [
        [label, own.get(label, ours), *others]
        for label, (ours, *others) in BESIDE.items()
    ]
    cog.outl(_table(["", "mem", *OTHERS], rows))


def _values(section):
    return figures.load()[section]["values"]


def _sizes(values):
    return [f"{int(size):,}" for size in sorted(values, key=int)]


def _by_size(values, names):
    """A row for each command that was measured, a column for each size."""
    sizes = sorted(values, key=int)
    return [
        [name, *(_both(values[size][command], "times", " / ") for size in sizes)]
        for command, name in names.items()
        if command in values[sizes[0]]
    ]


def _recall_memory(values):
    for size in sorted(values, key=int):
        yield _both(values[size]["recall"], "MB", " / ")


def _both(found, key, between):
    return f"{found['words'][key]:g}{between}{found['vectors'][key]:g}"


def _of(found, key):
    return f"{found[key]} of {found['of']}"


def _table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _say(table, *sections):
    import cog

    states = dict.fromkeys(map(figures.state, sections))
    lines = ["", table, "", *states, ""]
    cog.outl("\n".join(lines))

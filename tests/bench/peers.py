"""mem beside other tools that search notes: the same texts, the same questions, in turns in one
run.

    python -m tests.bench.peers FOLDER [--questions 100] [--docs 10000] [--only NAME]...

FOLDER is a question set (see tests.bench.retrieval); its largest group is used. Each peer is
installed from its registry into a folder of its own that goes afterwards. A peer that cannot be
installed or used is named, with the reason. Every search is a cold command; every question is asked
to all in turns.

mem reads memory files of 200 entries, qmd and rg one file for each text, sqlite-utils a table. mem
and qmd are asked the question as it stands (qmd wants all of its words). sqlite-utils is asked for
its words joined by OR (as it stands it wants all of them, too), rg for those longer than three
letters joined by |: rg does not rank.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.retrieval import entry, load
from tests.bench.speed import peak_memory

CHECKOUT = Path(__file__).parents[2]
FOUND = 10
UNUSABLE = {
    "memsearch": "every embedder it has needs an API key, a server, or a model to download",
    "llm": "its search needs an embedding model: a key, or a model to download",
}
"""Installed for their size alone."""


class Corpus(NamedTuple):
    """Texts and questions of one group."""

    docs: list[dict[str, Any]]
    queries: list[dict[str, Any]]


class Peer(NamedTuple):
    """How to install, index, search and change one text; `ids` reads the answer, None without
    ranking.
    """

    name: str
    install: Callable[[Path], Sequence[str]]
    fill: Callable[[Path, Corpus], None]
    build: Callable[[], Sequence[Sequence[str]]]
    search: Callable[[str], Sequence[str]]
    edit: Callable[[Path, Corpus, int], None]
    update: Callable[[], Sequence[Sequence[str]]]
    ids: Callable[[str], list[str]] | None
    environ: Mapping[str, str] = {}


class Ready(NamedTuple):
    """A peer that was installed: where, and how large it is."""

    peer: Peer
    folder: Path
    environ: dict[str, str]
    megabytes: float


# --- the peers


def _venv(*packages: str) -> Callable[[Path], Sequence[str]]:
    def install(folder: Path) -> Sequence[str]:
        _run([sys.executable, "-m", "venv", str(folder / "tool")], folder)
        return [str(folder / "tool/bin/pip"), "install", "-q", *packages]

    return install


def _npm(*packages: str) -> Callable[[Path], Sequence[str]]:
    def install(folder: Path) -> Sequence[str]:
        place = ["--prefix", f"{folder}/tool"]
        return ["npm", "install", "--silent", "--no-audit", "--no-fund", *place, *packages]

    return install


def _apt(package: str) -> Callable[[Path], Sequence[str]]:
    """The package unpacked, for which nobody must be root."""

    def install(folder: Path) -> Sequence[str]:
        return [
            "sh",
            "-c",
            f"apt-get download -q {package} && dpkg -x {package}_*.deb tool && rm *.deb",
        ]

    return install


def _memory_files(folder: Path, corpus: Corpus) -> None:
    (folder / "data/tasks").mkdir(parents=True)
    (folder / "data/MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    for i, docs in enumerate(batched_docs(corpus.docs)):
        (folder / f"data/tasks/t{i:04}.md").write_text(
            "\n".join(map(entry, docs)), encoding="utf-8"
        )


def batched_docs(docs: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], ...]]:
    return [tuple(docs[at : at + 200]) for at in range(0, len(docs), 200)]


def _edit_memory(folder: Path, corpus: Corpus, number: int) -> None:
    path = folder / "data/tasks/t0000.md"
    changed = [
        {**corpus.docs[0], "text": f"{corpus.docs[0]['text']} n{number}"},
        *corpus.docs[1:200],
    ]
    path.write_text("\n".join(map(entry, changed)), encoding="utf-8")


def _single_files(folder: Path, corpus: Corpus) -> None:
    (folder / "data").mkdir()
    for doc in corpus.docs:
        (folder / f"data/{doc['id']}.md").write_text(
            f"# {doc['title']}\n\n{doc['text']}\n", encoding="utf-8"
        )


def _edit_single(folder: Path, corpus: Corpus, number: int) -> None:
    doc = corpus.docs[0]
    text = f"# {doc['title']}\n\n{doc['text']} n{number}\n"
    (folder / f"data/{doc['id']}.md").write_text(text, encoding="utf-8")


def _lines(folder: Path, corpus: Corpus) -> None:
    (folder / "data").mkdir()
    text = "".join(json.dumps(_row(doc)) + "\n" for doc in corpus.docs)
    (folder / "data/docs.jsonl").write_text(text, encoding="utf-8")


def _row(doc: Mapping[str, Any], more: str = "") -> dict[str, str]:
    return {"id": doc["id"], "title": doc["title"], "text": doc["text"] + more}


def _edit_line(folder: Path, corpus: Corpus, number: int) -> None:
    text = json.dumps(_row(corpus.docs[0], f" n{number}")) + "\n"
    (folder / "data/one.jsonl").write_text(text, encoding="utf-8")


def words(question: str) -> list[str]:
    return [word for word in dict.fromkeys(re.findall(r"\w+", question.lower())) if len(word) > 1]


def _any_word(question: str) -> str:
    return " OR ".join(f'"{word}"' for word in words(question))


def _mem_ids(answer: str) -> list[str]:
    return [str(hit["id"]) for hit in json.loads(answer)["hits"]]


def _qmd_ids(answer: str) -> list[str]:
    found = answer[answer.find("[") :] if "[" in answer else "[]"
    return [Path(hit["file"]).stem for hit in json.loads(found)]


def _sqlite_ids(answer: str) -> list[str]:
    return [str(row["id"]) for row in json.loads(answer or "[]")]


def _mem(name: str, embedder: str, *packages: str) -> Peer:
    return Peer(
        name, _venv(*packages), _memory_files, lambda: [["mem", "index", "-q"]],
        lambda q: ["mem", "recall", q, "--ranked", "--json", "--limit", str(FOUND), "--max-tokens", "0"],
        _edit_memory, list, _mem_ids, {"MEM_EMBEDDER": embedder},
    )  # fmt: skip


SQLITE = ["sqlite-utils"]
QMD = ["bun", "../tool/node_modules/@tobilu/qmd/dist/cli/qmd.js"]
"""Of Node it wants a newer one than many machines have; bun comes from the same registry."""
PORTER = ["--tokenize", "porter"]
PEERS = (
    _mem("mem, words alone", "none", str(CHECKOUT)),
    _mem("mem, with vectors", "local", f"{CHECKOUT}[local]"),
    Peer(
        "qmd search", _npm("@tobilu/qmd@2.8.3", "bun"), _single_files,
        lambda: [[*QMD, "collection", "add", ".", "--name", "notes"]],
        lambda q: [*QMD, "search", q, "--json", "-n", str(FOUND)],
        _edit_single, lambda: [[*QMD, "update"]], _qmd_ids,
    ),
    Peer(
        "sqlite-utils", _venv("sqlite-utils"), _lines,
        lambda: [
            [*SQLITE, "insert", "docs.db", "docs", "docs.jsonl", "--nl", "--pk", "id"],
            [*SQLITE, "enable-fts", "docs.db", "docs", "title", "text", "--create-triggers", *PORTER],
        ],
        lambda q: [*SQLITE, "search", "docs.db", "docs", _any_word(q), "--limit", str(FOUND), "-c", "id"],
        _edit_line, lambda: [[*SQLITE, "upsert", "docs.db", "docs", "one.jsonl", "--nl", "--pk", "id"]],
        _sqlite_ids,
    ),
    Peer(
        "rg", _apt("ripgrep"), _single_files, list,
        lambda q: ["rg", "-i", "-w", "-l", "|".join(word for word in words(q) if len(word) > 3) or q, "."],
        _edit_single, list, None,
    ),
)  # fmt: skip


# --- measuring


def corpus_of(folder: Path, questions: int, docs: int) -> Corpus:
    """The largest group of a set, and so many of its questions, evenly chosen."""
    data = load(folder)
    group = Counter(doc["group"] for doc in data.docs).most_common(1)[0][0]
    asked = [q for q in data.queries if q["group"] == group and q.get("category") != "adversarial"]
    step = max(1, len(asked) // questions)
    return Corpus([d for d in data.docs if d["group"] == group][:docs], asked[::step][:questions])


def ready(peer: Peer, folder: Path, corpus: Corpus) -> Ready:
    """Install a peer and lay out its texts. Raises OSError or CalledProcessError when that fails."""
    folder.mkdir()
    _run(peer.install(folder), folder)
    size = _megabytes(folder / "tool")
    peer.fill(folder, corpus)
    places = ("bin", "usr/bin", "node_modules/.bin")
    paths = [*(f"{folder}/tool/{place}" for place in places), os.environ["PATH"]]
    environ = {
        "PATH": ":".join(paths), "HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache",
        "XDG_CONFIG_HOME": f"{folder}/config", "XDG_STATE_HOME": f"{folder}/state", "LANG": "C.UTF-8",
        "MEM_NOW": "2026-11-21", **peer.environ,
    }  # fmt: skip
    return Ready(peer, folder, environ, size)


def _megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    skipped = ("pip", "setuptools")
    return sum(path.stat().st_size for path in files if not _is_of(path, skipped)) / 1e6


def _is_of(path: Path, packages: Sequence[str]) -> bool:
    """Whether a file belongs to what every virtual environment has, or to what runs JavaScript."""
    parts = path.parts
    if "node_modules" in parts:
        return parts[parts.index("node_modules") + 1] in ("bun", "@oven")
    if "site-packages" not in parts:
        return False
    return parts[parts.index("site-packages") + 1].split("-")[0] in packages


def _run(
    command: Sequence[str], cwd: Path, environ: Mapping[str, str] | None = None
) -> tuple[float, str]:
    """Seconds and answer of a command; exit 1 is that of a search that finds nothing."""
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=cwd, env=environ, capture_output=True, text=True, check=False, timeout=600
    )
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1) or (done.returncode and done.stderr.strip()):
        raise OSError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return seconds, done.stdout


def measure(tools: Sequence[Ready], corpus: Corpus) -> list[dict[str, Any]]:
    """A row for each tool."""
    rows = []
    for tool in tools:
        data = tool.folder / "data"
        _run(["true"], data)
        seconds = sum(_run(command, data, tool.environ)[0] for command in tool.peer.build())
        rows.append({"tool": tool.peer.name, "install, MB": tool.megabytes, "index, s": seconds})
    took: list[list[float]] = [[] for _ in tools]
    recalls: list[list[float]] = [[] for _ in tools]
    for question in corpus.queries:
        for tool, times, shares in zip(tools, took, recalls, strict=True):
            seconds, answer = _run(
                tool.peer.search(question["query"]), tool.folder / "data", tool.environ
            )
            times.append(seconds)
            if tool.peer.ids is not None:
                got = set(map(str.lower, tool.peer.ids(answer)[:FOUND]))
                due = set(map(str.lower, question["relevant"]))
                shares.append(len(due & got) / len(due))
    for tool, row, times, shares in zip(tools, rows, took, recalls, strict=True):
        row["search, ms"] = statistics.median(times) * 1000
        row["edit and search, ms"] = statistics.median(_edits(tool, corpus)) * 1000
        search = tool.peer.search(corpus.queries[0]["query"])
        row["memory, MB"] = peak_memory(search, tool.environ, tool.folder / "data")
        row["recall@10, %"] = 100 * statistics.mean(shares) if shares else None
    return rows


def _edits(tool: Ready, corpus: Corpus) -> list[float]:
    """Seconds from a changed text to the answer of a search, five times."""
    found = []
    for number in range(5):
        tool.peer.edit(tool.folder, corpus, number)
        commands = [*tool.peer.update(), tool.peer.search(corpus.queries[0]["query"])]
        found.append(
            sum(_run(command, tool.folder / "data", tool.environ)[0] for command in commands)
        )
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "| --- |" + " --: |" * (len(names) - 1)]
    lines += [f"| {' | '.join(_cell(row[name]) for name in names)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
    return "does not rank" if value is None else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    given = parser.parse_args(arguments)
    corpus = corpus_of(given.folder, given.questions, given.docs)
    missing: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mem-peers-") as folder:
        tools = []
        for i, peer in enumerate(PEERS):
            if given.only and peer.name not in given.only:
                continue
            try:
                tools.append(ready(peer, Path(folder, str(i)), corpus))
            except (OSError, subprocess.SubprocessError) as error:
                missing.append(f"{peer.name}: cannot be installed here: {error}")
        print(table(measure(tools, corpus)))
        for name, why in UNUSABLE.items():
            missing.append(f"{name} ({_size(name, Path(folder))}): not measured: {why}")
    print(f"\n{len(corpus.docs):,} texts, {len(corpus.queries)} questions of {given.folder.name}")
    print("\n".join(missing))
    return 0


def _size(package: str, folder: Path) -> str:
    place = folder / package
    place.mkdir()
    try:
        _run(_venv(package)(place), place)
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot be installed here: {str(error)[-120:]}"
    return f"{_megabytes(place / 'tool'):.0f} MB installed"


if __name__ == "__main__":
    sys.exit(main())

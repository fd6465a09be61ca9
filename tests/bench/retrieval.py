"""Retrieval quality of the whole default pipeline on a question set.

    python -m tests.bench.retrieval FOLDER... [--set KEY=VALUE]... [--against
    KEY=VALUE]...

With `--against` every question is asked once more with these settings on top, and the
difference in recall@10 is given with its 95 % interval by paired bootstrap: `--set
embedder=local --against embedder=none` compares hybrid recall with words alone.

A folder holds docs.jsonl (group, id, title, text, date) and queries.jsonl (group,
query, relevant, category). Each group becomes a repository with a real memory file;
every question goes through the real index and the real recall (ranked layer, no token
limit). Category "adversarial" has no true answer and is reported apart."""

import json
import math
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.memory.changes import render_entry
from memcli.recall.answer import RecallRequest
from tests.programs import run

METRICS = ("recall@5", "recall@10", "hit@1", "hit@5", "nDCG@10", "MRR")
DRAWS = 2000
"""How often the bootstrap draws the questions anew."""


class Set(NamedTuple):
    name: str
    docs: list[dict[str, Any]]
    queries: list[dict[str, Any]]


def load(folder):
    """Read one set folder."""

    def lines(name):
        text = (folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    return Set(folder.name, lines("docs.jsonl"), lines("queries.jsonl"))


def entry(doc):
    """One document as an entry; all metadata equal, so that relevance alone decides."""
    values = {
        "id": doc["id"],
        "type": "declarative",
        "domain": "task",
        "importance": 0.5,
    }
    if doc.get("date"):
        values["created_at"] = doc["date"][:10]
    day = f"[{doc['date'][:10]}] " if doc.get("date") else ""
    return render_entry(values, f"## {day}{doc['title']}\n{doc['text']}")


def build(docs, folder):
    """One repository per group, with one memory file each."""
    groups = defaultdict(list)
    for doc in docs:
        groups[doc["group"]].append(entry(doc))
    roots = {}
    for group, entries in groups.items():
        roots[group] = folder / group
        roots[group].mkdir(parents=True)
        (roots[group] / "MEMORY.md").write_text("\n".join(entries), encoding="utf-8")
    return roots


def measures(got, relevant):
    """The metrics of one question: recall is the share of relevant entries found."""
    places = [i for i, entry_id in enumerate(got[:10]) if entry_id in relevant]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(relevant))))
    return {
        "recall@5": sum(i < 5 for i in places) / len(relevant),
        "recall@10": len(places) / len(relevant),
        "hit@1": float(0 in places),
        "hit@5": float(any(i < 5 for i in places)),
        "nDCG@10": sum(1 / math.log2(i + 2) for i in places) / ideal,
        "MRR": 1 / (places[0] + 1) if places else 0.0,
    }


def answers(data, sets):
    """(question, ids found, mode) of every question of a set."""
    with tempfile.TemporaryDirectory() as folder:
        roots = build(data.docs, Path(folder) / "groups")
        home = Path(folder) / "home"
        home.mkdir()
        apps = {}
        for question in data.queries:
            group = question["group"]
            if group not in apps:
                environ = {"MEM_HOME": str(home), "XDG_CONFIG_HOME": folder}
                options = Options(str(roots[group]), ("max_tokens=0", *sets))
                apps[group] = App(options, environ, roots[group])
            report = recall(
                apps[group],
                RecallRequest(question["query"], ranked_only=True),
            )
            yield question, [str(hit.id) for hit in report.hits], report.mode
        for app in apps.values():
            app.__exit__(None, None, None)


class Row(NamedTuple):
    """The metrics of one question; `adversarial` ones have no true answer."""

    adversarial: bool
    metrics: dict[str, float]


def rows(data, sets):
    """Every question with its metrics, and the modes that answered."""
    found = []
    modes = set()
    for question, got, mode in answers(data, sets):
        modes.add(mode)
        adversarial = question.get("category") == "adversarial"
        found.append(Row(adversarial, measures(got, set(question["relevant"]))))
    return found, " ".join(sorted(modes))


def evaluate(data, sets, against=()):
    """Mean metrics in percent, without and with the adversarial questions; the
    comparison."""
    own, mode = rows(data, sets)
    result = {"set": data.name, "mode": mode, **_means(own)}
    if against:
        other, mode = rows(data, (*sets, *against))
        result["against"] = {"mode": mode, **_means(other)}
        result["difference"] = difference(_recalls(own), _recalls(other))
    return result


def _means(found):
    return {
        "without adversarial": _mean(
            [row.metrics for row in found if not row.adversarial]
        ),
        "with adversarial": _mean([row.metrics for row in found]),
    }


def _recalls(found):
    return [row.metrics["recall@10"] for row in found if not row.adversarial]


def difference(own, other):
    """Mean of `own` minus `other` in points, and its 95 % interval by paired
    bootstrap."""
    apart = [a - b for a, b in zip(own, other, strict=True)]
    dice = random.Random(1)
    means = sorted(
        sum(dice.choices(apart, k=len(apart))) / len(apart) for _ in range(DRAWS)
    )
    low = means[round(DRAWS * 0.025)]
    high = means[round(DRAWS * 0.975) - 1]
    points = {"points": sum(apart) / len(apart), "low": low, "high": high}
    return {key: round(100 * value, 2) for key, value in points.items()}


def _mean(rows):
    means = {
        metric: round(100 * sum(row[metric] for row in rows) / max(len(rows), 1), 1)
        for metric in METRICS
    }
    return {"questions": len(rows), **means}


def main(
    folders: list[Path],
    *,
    sets: Annotated[list[str], typer.Option("--set")] = (),
    against: list[str] = (),
):
    results = [evaluate(load(folder), sets, against) for folder in folders]
    print(
        f"{'set':<14} {'mode':<7} {'questions':>22} "
        + " ".join(f"{metric:>9}" for metric in METRICS)
    )
    for result in results:
        _print_rows(result["set"], result)
        if "against" in result:
            _print_rows(result["set"], result["against"])
            gained = "{points:+} points ({low:+} to {high:+})".format(
                **result["difference"]
            )
            print(f"{result['set']:<14} recall@10 {gained}")


def _print_rows(name, result):
    for part in ("without adversarial", "with adversarial"):
        row = result[part]
        label = f"{row['questions']} {part.split()[0]}"
        values = " ".join(f"{row[metric]:>9.1f}" for metric in METRICS)
        print(f"{name:<14} {result['mode']:<7} {label:>22} {values}")


if __name__ == "__main__":
    run(main)

"""What is found by meaning: paraphrase yes, nonsense no, and never what the scope
leaves out."""

import os
import sqlite3
import sys
from contextlib import closing

import pytest

from memcli.index import vector_lane, weights
from memcli.memory.arithmetic import cosines, quantise
from memcli.providers.embed import local

pytestmark = [
    pytest.mark.usefixtures("vectors"),
]
SALAD = (
    "correct horse battery staple", "purple idea sleeps furiously", "seventeen umbrellas argue politely",
    "qzxvkjwq fjdksl wpeoriu", "asdf jkl qwerty uiop", "8f3a9c1d7e 0xdeadbeef 4b1c",
)  # fmt: skip


def recalled(project, task, *args, **options):
    result = project.ok(
        "recall",
        "--json",
        "--ranked",
        "--max-tokens",
        "0",
        *args,
        "--",
        task,
        **options,
    )
    assert result.json["mode"] == "blend", result.err
    return result.titles


@pytest.fixture
def garage(project):
    """Three entries about different things."""
    e = project.entry
    project.memory(
        e("Automobile", "The vehicle is parked.", created_at="2026-03-01"),
        e("Postgres", "Queries need an index.", created_at="2026-04-01"),
        e("Green tea", "Steep it at eighty degrees.", created_at="2026-05-01"),
    )
    return project


def test_a_paraphrase_is_found_by_its_vector_alone(garage):
    """Without one word in common; words alone do not find it."""
    assert recalled(garage, "car") == ["Automobile"]
    assert recalled(garage, "cars and trucks")[0] == "Automobile"
    result = garage.mem("recall", "--ranked", "--json", "car", "--set", "embedder=none")
    assert (result.json["mode"], result.hits) == ("bm25", [])


@pytest.mark.parametrize(
    "task",
    ["密码怎么重置", "パスワードを再設定する", "비밀번호 재설정", "сбросить пароль"],
)
def test_a_question_in_another_language_finds_english(garage, task):
    """Without one word in common, by its vector."""
    garage.write(
        "tasks/login.md",
        garage.entry("Reset a password", "Passwords are reset by a link in a mail."),
    )
    assert recalled(garage, task)[0] == "Reset a password"


def test_explain_shows_the_cosine(garage):
    """`vector` is the cosine, `lexical` 0 where no word is shared; relevance of the
    best is 1."""
    (hit,) = garage.mem("recall", "--ranked", "--json", "--explain", "car").hits
    assert hit["factors"]["vector"] >= weights.NEAR
    assert (hit["factors"]["lexical"], hit["factors"]["relevance"]) == (0.0, 1.0)
    text = garage.mem("recall", "--ranked", "--explain", "--format", "text", "car").out
    assert "vector 0." in text


@pytest.mark.parametrize("task", SALAD)
def test_nonsense_finds_nothing(garage, task):
    """Word salad, keyboard mash and hashes are near nothing."""
    assert recalled(garage, task) == []


def test_min_cosine_is_the_floor(garage):
    """What is asked for decides: everything at 0, nothing at 1."""
    assert recalled(garage, "car", "--set", "min_cosine=1") == []
    assert recalled(garage, "car", "--set", "min_cosine=0")[0] == "Automobile"
    assert vector_lane.floor(-1.0, 100) == weights.NEAR
    assert vector_lane.floor(0.0, 100) == 0.0
    assert vector_lane.floor(-1.0, 1000) == pytest.approx(
        weights.NEAR + weights.NEAR_STEP
    )


ODD = (
    "the of and", "?!", "\0\ud800", "🚗🚙", "自動車", "การจอดรถ", "x", "é", "a " * 100_000,
    "x9" * 100_000, "slow " * 40_000, " ".join(f"word{i}" for i in range(20_000)), "自" * 200_000,
    "getHTTPResponseCode",
)  # fmt: skip


@pytest.mark.parametrize("task", ODD, ids=range(len(ODD)))
def test_any_task_is_answered(garage, task):
    """Stop words, marks, other scripts, two hundred thousand characters."""
    assert len(recalled(garage, "-", input=task.encode(errors="surrogatepass"))) <= 3
    assert recalled(garage, task[:5000].replace("\0", "")) is not None


def test_words_beyond_the_first_64_of_a_long_task_count_by_rarity(garage):
    """Of a long task those words are compared that are searched for, too."""
    filler = " ".join(f"filler{number}" for number in range(100))
    assert recalled(garage, f"{filler} automobile")[0] == "Automobile"


def test_a_filter_holds_for_the_vector_lane(garage):
    """What it leaves out does not come back by its vector; what it keeps is found by
    it."""
    e = garage.entry
    garage.write(
        "~/MEMORY.md",
        e("Car policy", "A vehicle.", type="directive", created_at="2026-10-01"),
    )
    kept = {
        "": ["Automobile", "Car policy"],
        "--type directive": ["Car policy"],
        "--level global": ["Car policy"],
        "--level project": ["Automobile"],
        "--since 2026-09-01": ["Car policy"],
        "--until 2026-09-01": ["Automobile"],
        "--type corrective": [],
    }
    for given, titles in kept.items():
        assert recalled(garage, "driving a truck", *given.split()) == titles, given


def test_a_narrow_filter_still_finds_its_one_hit(project):
    """However many entries outside of it are nearer."""
    near = "".join(
        project.entry(f"Car {number}", f"The car number {number}.")
        for number in range(vector_lane.NEAREST + 60)
    )
    project.memory(near)
    project.write(
        "~/MEMORY.md",
        project.entry("Automobile", "The vehicle is parked.", type="directive"),
    )
    assert recalled(project, "car", "--type", "directive") == ["Automobile"]
    assert recalled(project, "car", "--level", "global") == ["Automobile"]


def test_a_file_out_of_view_is_not_found_by_its_vector(project):
    """A level that was not asked for is left out of both lanes."""
    project.remembers("Green tea", "Steep it.")
    project.write("~/MEMORY.md", project.entry("Automobile", "The vehicle is parked."))
    assert recalled(project, "car") == ["Automobile"]
    assert recalled(project, "car", "--level", "project") == []


def test_copies_count_once(project):
    """One id at two levels is one hit, with relevance 1."""
    entry = project.entry("Automobile", "The vehicle is parked.")
    project.write(".mem/jobs/j/MEMORY.md", entry.replace("is parked", "is a car"))
    project.memory(entry)
    ranked = project.mem("recall", "--ranked", "--json", "--explain", "car").hits
    assert [(hit["title"], hit["path"]) for hit in ranked] == [
        ("Automobile", "MEMORY.md")
    ]
    assert ranked[0]["factors"]["relevance"] == 1.0


def test_a_long_entry_is_found_by_its_end(project):
    """Every chunk has a vector; the best counts."""
    tea = "Green tea is steeped at eighty degrees in a small pot. " * 60
    project.remembers("Notes", tea + "The automobile vehicle is parked. " * 30)
    assert recalled(project, "driving a truck") == ["Notes"]


@pytest.mark.parametrize("mode", ["linear", "rrf", "blend"])
def test_every_fusion_can_be_chosen(garage, mode):
    """All of them find by vector alone, and say which they are."""
    report = garage.mem(
        "recall", "--ranked", "--json", "--set", f"fusion={mode}", "car"
    ).json
    assert (report["mode"], [hit["title"] for hit in report["hits"]]) == (
        mode,
        ["Automobile"],
    )


def test_auto_is_the_blend_for_word_vectors_and_linear_for_models():
    """A mode that was named stays."""
    for provider in ("local", "openai", "ollama"):
        wanted = "blend" if provider == "local" else "linear"
        assert vector_lane.fusion("auto", provider) == wanted
        assert vector_lane.fusion("rrf", provider) == "rrf"


def test_a_warm_recall_loads_nothing_heavy(garage):
    """Neither numpy nor the package of the table: the whole lane runs on the standard
    library."""
    recalled(garage, "car")
    import subprocess

    code = (
        "import sys; from memcli.cli.program import run; code = run(['recall', '--ranked', 'car', 'vehicles']);"
        "print([n for n in ('numpy', 'rich', 'yaml') if n in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    out = subprocess.check_output(command, cwd=garage.root, env=os.environ, text=True)
    assert "Automobile" in out and out.splitlines()[-1] == "[]"


def test_a_torn_table_costs_one_line_and_the_vectors(garage, tmp_path, monkeypatch):
    """Words answer; the index is up to date and stays; `mem index` is exit 4, and
    doctor names the table."""
    recalled(garage, "car")
    garage.ok("index", "--history")  # both tiers note it, once it is said
    torn = tmp_path / "vectors.sqlite"
    torn.write_bytes(local.TABLE.read_bytes()[:20_000])
    monkeypatch.setattr(local, "TABLE", torn)
    result = garage.mem("recall", "--ranked", "--json", "postgres cluster")
    assert (result.code, result.json["mode"], len(result.hits)) == (0, "bm25", 1)
    assert result.err.startswith(
        "mem: words alone were searched: the table of word vectors cannot be read"
    )
    assert result.err.count("\n") == 1
    garage.write("tasks/new.md", garage.entry("Bicycle", "It has two wheels."))
    failed = garage.ends(4, "index")
    assert str(torn) in failed.err
    garage.ok("index", "--check")
    (row,) = [row for row in garage.checks() if row["name"] == "embedder"]
    assert row["status"] == "FAIL" and str(torn) in row["detail"]
    assert not list(garage.root.glob("*.aside-*"))
    monkeypatch.undo()


def test_each_word_of_a_task_counts_by_its_best_match():
    """The mean by idf of the best likeness of each word; nothing alike is 0."""
    alike = [{7: 1.0, 8: 0.5}, {9: 0.4}]
    actual = vector_lane.met(
        alike, [3.0, 1.0], {"both": [8, 9, 7], "half": [8], "none": [5], "empty": []}
    )
    assert actual == pytest.approx(
        {"both": 0.85, "half": 0.375, "none": 0.0, "empty": 0.0}
    )
    assert vector_lane.met([], [], {"a": [1]}) == {"a": 0.0}


def test_a_word_has_one_vector_however_it_is_written(garage):
    """In the index it stands once, in small letters, and is met in all."""
    garage.write("tasks/loud.md", garage.entry("GARAGE", "The Garage is a garage."))
    garage.ok("index")
    with closing(sqlite3.connect(garage.root / ".memory.db")) as db:
        words = {word for (word,) in db.execute("SELECT word FROM words")}
    assert "garage" in words and words == set(map(str.lower, words))


def test_nearness_is_the_cosine_and_how_well_each_word_is_met():
    """A text without words is near to nothing; a word that is rare counts more."""
    task = "a kitten naps on the couch"
    texts = [
        "A cat sleeps on the sofa.",
        "Compile the kernel module.",
        "…",
        "The couch.",
    ]
    table = local.Local()
    near = vector_lane.nearness(table, task, {}, texts)
    whole, *rows = map(quantise, table.embed([task, *texts[:2]]))
    exact = cosines(whole, dict(enumerate(rows)))
    assert [cosine for cosine, _ in near[:2]] == pytest.approx(
        list(exact.values()), abs=0.03
    )
    assert near[0] > near[1]
    assert near[0][1] > near[1][1]
    assert near[2] == (0.0, 0.0)
    rare = vector_lane.nearness(table, task, {"kitten": 1.0, "naps": 1.0}, texts)
    common = vector_lane.nearness(table, task, {"couch": 1.0, "naps": 9.0}, texts)
    assert rare[3][1] > common[3][1]

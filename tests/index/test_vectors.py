"""The vectors of an index: the same however it came about, of one model, and never in
the way."""

import json
import threading
from array import array

import pytest

from memcli.index.embedding import restored
from memcli.index.vectors import BLOCK, embedded_text
from memcli.memory.arithmetic import quantise
from memcli.providers.embed import http
from memcli.text.digests import digest
from tests.index.test_database import FILES, Editor, sql
from tests.providers.embed.server import HANG, Answer, serving, vector_of


def embedded(project):
    select = "SELECT title FROM chunks WHERE id IN (SELECT chunk FROM vectors)"
    return {row[0] for row in sql(project, select)}


def contents(project):
    """Every vector with the chunk it is of and the words it has, whatever their numbers
    are."""
    words = dict(sql(project, "SELECT id, word FROM words"))
    rows = sql(
        project,
        "SELECT c.text, v.vector, v.words FROM vectors v JOIN chunks c ON c.id = v.chunk",
    )
    return sorted((d, v, [words[i] for i in array("I", own)]) for d, v, own in rows)


def sign_bits(project):
    """The sign bits of every place that is not empty."""
    found = {}
    for block, data in sql(project, "SELECT block, bits FROM signs WHERE block >= 0"):
        for place in range(len(data) // 32):
            own = data[place * 32 : place * 32 + 32]
            if any(own):
                found[block * BLOCK + place] = own
    return found


def answer(project, task):
    report = project.mem(
        "recall", "--json", "--ranked", "--explain", "--max-tokens", "0", task
    ).json
    assert report["mode"] == "blend"
    return [
        (hit["id"], hit["score"], hit["path"], tuple(hit["factors"].items()))
        for hit in report["hits"]
    ]


@pytest.mark.parametrize("seed", range(3))
def test_edited_step_by_step_or_built_at_once_it_is_the_same(project, vectors, seed):
    """After edits, deletions and moves the vectors and the answers are those of an
    index made anew."""
    editor = Editor(project, seed)
    for name in FILES:
        project.write(name, "".join(editor.entry() for _ in range(6)))
    for _ in range(8):
        editor.step()
        project.mem("recall", "zebra")
    tasks = [
        "zebra stripe at a gallop",
        "a wild animal",
        "rollback of the deploy",
        "斑马",
    ]
    grown = contents(project)
    step_by_step = [answer(project, task) for task in tasks]
    assert sign_bits(project).keys() == {
        row[0] for row in sql(project, "SELECT chunk FROM vectors")
    }
    project.index_file.unlink()
    assert [answer(project, task) for task in tasks] == step_by_step
    assert contents(project) == grown
    assert project.mem("index", "--rebuild").code in (
        0,
        3,
    )  # 3: the editor leaves bad files, too
    assert contents(project) == grown and len(grown) > 2


def test_what_is_embedded_is_what_is_live(project, vectors):
    """Entries and sections of the memory store; no archives, proxies, norms, nothing
    retired."""
    project.memory(
        "# Prose\n\nSome text.\n\n",
        project.entry("Live"),
        project.entry("Old", status="retired"),
    )
    project.write("MEMORY.archive.md", project.entry("Archived", embed=True))
    project.write("institutional.md", "# Norm\n\nBe kind.\n")
    project.ok("index")
    assert embedded(project) == {"Prose", "Live"}


def test_front_matter_has_the_last_word(project, vectors):
    """`embed: true` forces, `embed: false` forbids."""
    e = project.entry
    project.memory(
        e("Fact", kind="fact", importance=0.9),
        e("Pitfall", kind="pitfall", importance=0.2),
        e("Never", kind="fact", embed=False, importance=0.9),
        e("Always", kind="episode", embed=True, importance=0.1),
        e("Corrective", type="corrective", importance=0.6),
    )

    def chosen(*sets):
        project.ok("index", *(part for value in sets for part in ("--set", value)))
        return embedded(project)

    assert chosen() == {"Fact", "Pitfall", "Always", "Corrective"}
    assert chosen("embed_kinds=['fact']") == {"Fact", "Always"}
    assert chosen("embed_types=['corrective']") == {"Corrective", "Always"}
    assert chosen("embed_min_importance=0.6") == {"Fact", "Corrective", "Always"}
    both = ("embed_kinds=['fact', 'pitfall']", "embed_min_importance=0.5")
    assert chosen(*both) == {"Fact", "Always"}
    assert chosen() == {"Fact", "Pitfall", "Always", "Corrective"}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET vector = x'0102'",
        "UPDATE vectors SET words = x'ffffff00'",
        "UPDATE signs SET bits = 'text'",
        "DELETE FROM signs",
        "DELETE FROM words",
        "UPDATE meta SET value = '{' WHERE key = 'vectors'",
        "UPDATE meta SET value = '7' WHERE key = 'vectors'",
    ],
)
def test_damaged_rows_are_a_note_at_most_and_heal(project, vectors, damage):
    """Words still answer; the run after has whole vectors, without a word from the
    user."""
    project.memory(
        project.entry("Car", "The vehicle in the garage."),
        project.entry("Tea", "Green tea."),
    )
    wanted = answer(project, "garage automobile")
    sql(project, damage)
    result = project.ok("recall", "--ranked", "--json", "garage automobile")
    assert result.hits[0]["title"] == "Car"
    assert result.err.count("\n") <= 1
    assert "Traceback" not in result.err
    # Costs only what words do not find, until there is a write.
    if "FROM signs" not in damage:
        assert answer(project, "garage automobile") == wanted
    project.ok("index", "--rebuild")
    assert answer(project, "garage automobile") == wanted


@pytest.fixture
def server(monkeypatch):
    """A provider on loopback, chosen by the environment."""
    monkeypatch.setattr(http, "PAUSE", 0.0)
    with serving() as found:
        for name, value in {
            "EMBEDDER": "openai-compatible",
            "EMBED_MODEL": "m",
            "EMBED_URL": found.url,
        }.items():
            monkeypatch.setenv(f"MEM_{name}", value)
        yield found


def two(project):
    project.memory(
        project.entry("Alpha", "zebra stripes"), project.entry("Beta", "quagga")
    )


def recalled(project, *args):
    result = project.ok("recall", "--ranked", "--json", *args, "zebra")
    assert result.hits[0]["title"] == "Alpha"
    return result


def test_the_cache_keeps_little_endian_float32_by_content_provider_and_model(
    project, server
):
    """One row for each text, as it came from the provider."""
    two(project)
    project.ok("index")
    texts = [embedded_text("Alpha", "zebra stripes"), embedded_text("Beta", "quagga")]
    rows = sql(project, "SELECT hash, vector FROM embedding_cache")
    kept = {h: list(restored(data)) for h, data in rows}
    assert kept == {
        digest(text.encode()): pytest.approx(vector_of(text)) for text in texts
    }
    made = {row[0] for row in sql(project, "SELECT vector FROM vectors")}
    assert made == {quantise(vector_of(text)) for text in texts}


def test_a_rebuild_costs_no_call(project, server):
    """Vectors are taken from the cache; an edit pays for its own text alone, and equal
    texts once."""
    two(project)
    project.ok("index")
    asked = len(server.asked)
    assert asked
    project.ok("index", "--rebuild")
    project.ok("index")
    assert len(server.asked) == asked
    same = project.entry("Gamma", "okapi")
    project.write("tasks/a.md", same)
    project.write("tasks/b.md", same)
    project.ok("index")
    assert [body["input"] for body in server.bodies[asked:]] == [["Gamma\nokapi"]]


def test_a_recall_sends_the_task_alone(project, server):
    """A refresh embeds nothing; the mode of a provider is linear, and every other can
    be chosen."""
    two(project)
    project.ok("index")
    asked = len(server.asked)
    project.write("tasks/c.md", project.entry("Gamma", "okapi"))
    actual = recalled(project)
    assert (actual.json["mode"], actual.err) == ("linear", "")
    assert [body["input"] for body in server.bodies[asked:]] == [["zebra"]]
    for mode in ("rrf", "blend", "linear", "bm25"):
        assert recalled(project, "--set", f"fusion={mode}").json["mode"] == mode
    assert len(server.asked) == asked + 4  # bm25 asks nobody


def test_vectors_of_two_models_never_meet(project, server):
    """Another model: words alone and one line, until `mem index`; back again, it costs
    nothing."""
    two(project)
    assert recalled(project).err.startswith(
        "mem: words alone were searched: the vectors are missing"
    )
    project.ok("index")
    other = ("--set", "embed_model=other")
    actual = recalled(project, *other)
    assert actual.json["mode"] == "bm25"
    assert actual.err.count("\n") == 1
    assert "the vectors are of openai-compatible/" in actual.err
    project.ok("index", *other)
    assert recalled(project, *other).json["mode"] == "linear"
    assert recalled(project).json["mode"] == "bm25"
    asked = len(server.asked)
    project.ok("index")
    assert len(server.asked) == asked
    assert (
        len({row[0] for row in sql(project, "SELECT model FROM embedding_cache")}) == 2
    )
    assert recalled(project).json["mode"] == "linear"


def bad(vectors):
    return Answer(
        body={
            "data": [
                {"index": number, "embedding": row}
                for number, row in enumerate(vectors)
            ]
        }
    )


FAULTS = {
    "wrong key": Answer(401, {"error": {"message": "no"}}),
    "wrong dimension": bad([[1.0, 2.0, 3.0]]),
    "no JSON": Answer(body=b"<html>"),
}


@pytest.mark.parametrize("fault", [*FAULTS, "slow"])
def test_a_provider_that_fails_leaves_words(project, server, fault, monkeypatch):
    """Recall answers from words with one line and exit 0."""
    from memcli.index import vector_lane

    two(project)
    project.ok("index")
    before = sql(project, "SELECT * FROM embedding_cache")
    monkeypatch.setattr(vector_lane, "DEADLINE", 0.2 if fault == "slow" else 60)
    server.answers = [HANG] if fault == "slow" else [FAULTS[fault]] * 5
    actual = recalled(project)
    assert actual.json["mode"] == "bm25"
    assert actual.err.startswith(
        "mem: words alone were searched: openai-compatible embeddings: "
    )
    assert actual.err.count("\n") == 1
    if fault != "slow":
        project.write("tasks/c.md", project.entry("Gamma", "okapi"))
        server.answers = [FAULTS[fault]] * 5
        actual = project.mem("index", "--json")
        assert (actual.code, "hint:" in actual.err) == (4, True)
        assert (actual.json["vectors"]["have"], actual.json["vectors"]["chosen"]) == (
            2,
            3,
        )
        project.ok("index", "--check")
        server.answers = []
        assert sql(project, "SELECT * FROM embedding_cache") == before
        project.ok("index")
        assert embedded(project) == {"Alpha", "Beta", "Gamma"}
        assert recalled(project).json["mode"] == "linear"


def test_interrupted_work_goes_on_where_it_stopped(project, server, monkeypatch):
    """What was embedded before a failure is kept, and not paid for again."""
    from memcli.index import embedding as module

    monkeypatch.setattr(module, "PAID_BATCH", 1)
    two(project)
    server.answers = [lambda body: Answer(body=server.speak(body)), FAULTS["wrong key"]]
    project.ends(4, "index")
    assert embedded(project) == {"Alpha"}
    project.ok("index")
    inputs = [body["input"] for body in server.bodies]
    assert inputs == [["Alpha\nzebra stripes"], ["Beta\nquagga"], ["Beta\nquagga"]]


def test_an_edit_in_the_middle_of_a_call_is_not_given_the_old_vector(project, server):
    """While the provider works another process changes the entry and the model."""
    two(project)

    def meanwhile(body):
        two_changed = project.read().replace("zebra stripes", "zebra hooves")
        project.memory(two_changed)
        shell = threading.Thread(
            target=lambda: results.append(
                project.shell("index", "--set", "embed_model=other")
            )
        )
        shell.start()
        shell.join(60)
        return Answer(body=server.speak(body))

    results = []
    server.answers = [meanwhile]
    project.mem("index")
    assert results[0].code == 0, results[0].err
    state = json.loads(
        sql(project, "SELECT value FROM meta WHERE key = 'vectors'")[0][0]
    )
    rows = sql(
        project,
        "SELECT c.title, c.text, v.vector FROM vectors v JOIN chunks c ON c.id = v.chunk",
    )
    assert "other" in state[1]
    assert {vector for _, _, vector in rows} == {
        quantise(vector_of(embedded_text(title, text))) for title, text, _ in rows
    }
    assert len(rows) == 2


def test_a_model_that_changed_behind_its_name_is_refused(project, server):
    """Vectors of another dimension never meet those of before."""
    two(project)
    project.ok("index")
    server.speak = lambda body: bad([[1.0] * 7] * len(body["input"])).body
    assert "dimension 7" in recalled(project).err
    project.write("tasks/c.md", project.entry("Gamma", "okapi"))
    result = project.ends(4, "index")
    assert "dimension 7, not 4 as before" in result.err
    assert {
        row[0] for row in sql(project, "SELECT length(vector) FROM embedding_cache")
    } == {16}

"""Large content that a repository brings: what it costs to be read, and what a hit of it
shows."""

import json
import random
import resource

import pytest

from memcli.index.fulltext import LEADERS, POOL
from memcli.memory.tombstones import words_of
from memcli.storage.files import MEMORY_BYTES
from tests.work import calls, ends

WORDS = "cart payment search index queue worker cache token deploy schema".split()
TASK = "payment search schema of the queue worker"


def some(dice, words):
    return " ".join(
        f"{dice.choice(WORDS)}{dice.randrange(99)} {dice.choice(WORDS)}"
        for _ in range(words // 2)
    )


def cost(project, *words):
    """Seconds of the processor that a command takes, the least of three."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = project.shell(*words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert result.code == 0, result
        found.append(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
    return min(found)


def ordinary(project):
    dice = random.Random(1)
    notes = "".join(
        f"## Note {number}\n\n{some(dice, 60)}\n\n" for number in range(400)
    )
    project.memory(f"# Notes\n\n{notes}")


def documents(project):
    """Ten documents of half a megabyte without a heading inside."""
    dice = random.Random(2)
    links = "".join(
        f"- [d{number}](docs/d{number}.md): payment search\n" for number in range(10)
    )
    project.memory(f"# Notes\n\n{links}")
    for number in range(10):
        text = "".join(f"{some(dice, 14)}.\n" for _ in range(4_000))
        project.write(f"docs/d{number}.md", f"# Doc {number} payment\n\n{text}")


def one_line(project):
    text = f"{some(random.Random(3), 60)} " * 9_000
    project.memory(f"# Payment search\n\n{text}\n")


@pytest.mark.parametrize("hostile", [documents, one_line])
def test_a_recall_costs_at_most_three_ordinary_ones(project, hostile):
    ordinary(project)
    assert project.shell("index").code == 0
    usual = cost(project, "recall", TASK)
    hostile(project)
    assert project.shell("index").code == 0
    assert cost(project, "recall", TASK) <= 3 * usual


def test_norms_of_any_length_cost_no_recall_its_time(project):
    ordinary(project)
    assert project.shell("index").code == 0
    usual = cost(project, "recall", TASK)
    project.write("institutional.md", "Never deploy on a Friday. " * 200_000)
    assert project.shell("index").code == 0
    assert cost(project, "recall", TASK) <= 3 * usual
    shown = project.shell("recall", TASK, "--max-tokens", "0").out
    assert "tokens more)" in shown and len(shown) < 200_000


@pytest.mark.parametrize(
    "piece", ["## x\n", "- a\n", "```\n", "---\nid: a\n---\n", "## x\r"]
)
def test_a_file_of_too_many_pieces_is_named_and_left_alone(project, piece):
    """Each would be an entry, in a thousand times the room of its line."""
    path = project.memory(piece * 70_000)
    project.write("tasks/t.md", project.entry("Zebra", "zebra stripes"))
    before = path.read_bytes()
    result = project.shell("index")
    assert result.code == 3 and "MEMORY.md" in result.err and "headings" in result.err
    assert "zebra stripes" in project.shell("recall", "zebra").out
    project.shell("add", "The zebra is new here, and has stripes.")
    assert path.read_bytes() == before


def test_a_part_of_a_long_text_is_shown_and_says_that_there_is_more(project):
    dice = random.Random(4)
    lines = [some(dice, 12) for _ in range(4_000)]
    lines[3_000] = "The zebra crosses at dawn."
    project.memory("# Notes\n\n" + "\n".join(lines))
    shown = json.loads(project.shell("recall", "zebra dawn", "--json").out)
    (hit,) = shown["hits"]
    assert "The zebra crosses at dawn." in hit["text"]
    assert "more lines: mem show" in hit["text"] and len(hit["text"]) < 25_000


def test_what_is_private_stays_so_in_a_part_of_a_long_text(project):
    """Its tag stands far before the part that matched."""
    dice = random.Random(5)
    lines = [some(dice, 12) for _ in range(4_000)]
    lines[10] = "<private>"
    lines[3_000] = "The zebra crosses at dawn."
    lines[3_900] = "</private>"
    project.memory("# Notes\n\n" + "\n".join(lines))
    for most in ("2000", "0"):
        shown = project.shell("recall", "zebra dawn", "--max-tokens", most)
        assert "crosses" not in shown.out


@pytest.mark.parametrize("at", [0, 700, 1400])
def test_no_half_of_a_key_is_shown_at_a_cut(project, at):
    """Wherever the cut falls, the lines of a key beside it are not shown."""
    body = [
        f"{random.Random(number).getrandbits(380):064x}"[:64] for number in range(24)
    ]
    key = ["-----BEGIN RSA PRIVATE " + "KEY-----", *body]
    dice = random.Random(6)
    before = [some(dice, 12)[:70] for _ in range(at)]
    around = [some(dice, 12)[:70] for _ in range(180)]
    text = [*before, *key, *around, "The zebra crosses at dawn.", *around, *around]
    project.memory("# Notes\n\n" + "\n".join(text))
    shown = project.shell("recall", "zebra dawn", "--max-tokens", "0").out
    assert "zebra" in shown
    assert not [line for line in body if line in shown]


def tie(project, number):
    """Entries that say the same."""
    same = "The cart total is kept in cents."
    written = (project.entry("Cart total", same) for _ in range(number))
    project.memory(*written)


@pytest.mark.parametrize("embedder", ["none", "local"])
def test_entries_that_tie_cost_little_by_their_number(project, monkeypatch, embedder):
    """Of very many that are equally good the newest are weighed; it was each."""
    monkeypatch.setenv("MEM_EMBEDDER", embedder)

    def spent(number):
        tie(project, number)
        project.ok("recall", "cart total")
        return calls(lambda: project.mem("recall", "cart total"))

    few = spent(POOL + LEADERS)
    many = spent(3 * (POOL + LEADERS))
    assert many < 1.3 * few
    found = project.mem("recall", "cart total", "--limit", "1", "--json").json
    project.index_file.unlink()
    again = project.mem("recall", "cart total", "--limit", "1", "--json").json
    assert again["hits"] == found["hits"]


@pytest.mark.parametrize("letter", ["L", "é", "1", "a.", "#", "漢"])
def test_a_word_without_an_end_is_compared_in_one_pass(letter):
    """As a model may write one into a title, or a person paste one into a turn."""
    with ends():
        assert len(words_of(letter * 200_000)) < 200_000


def test_doctor_reads_a_line_of_names_of_passwords_in_no_time(project):
    """400 KB of them cost a few times what 400 KB of sentences do."""
    sentences = "The worker reads its queue in the morning and writes a ledger.\n"
    project.remembers("Prose", sentences * (400_000 // len(sentences)))
    usual = cost(project, "doctor")
    for part in ("pwd:", "pwd:x "):
        project.memory("")
        project.remembers("Names", part * (400_000 // len(part)))
        assert cost(project, "doctor") < 8 * usual


def test_a_version_that_is_too_large_is_passed_over(project):
    """What became of an entry there is not told; what comes after it is doubtful."""
    project.memory(project.entry("Zebra", "Stripes.", id="zzzz1111"))
    project.commit("Small")
    with open(project.root / "MEMORY.md", "wb") as file:
        file.truncate(MEMORY_BYTES + 1)
    project.commit("Large")
    project.memory(project.entry("Zebra", "Stripes.", id="zzzz1111"))
    project.commit("Small again")
    rows = project.mem("log", "zzzz1111", "--json").json["rows"]
    doubt = "the version before is too large to be read"
    assert [(row["what"], row["detail"]) for row in rows] == [
        ("added", doubt),
        ("added", ""),
    ]
    assert "Zebra" in project.ok("diff", "HEAD~1").out

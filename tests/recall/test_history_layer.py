"""History in an answer: numbered with the entries, and never saying what they say."""

from types import SimpleNamespace

import pytest

from memcli.history.record import opened
from memcli.index.past import found_in, search
from memcli.memory.docs import Doc
from memcli.recall.budget import write
from memcli.recall.history_layer import HistoryLayer
from memcli.recall.hit import Hit


@pytest.fixture
def record(tmp_path):
    """One with thirty exchanges about something else."""
    with opened(tmp_path / "record.db", make=True) as made:
        assert made is not None
        made.add(
            exchange(f"noise{number}", 1, f"Rename port {number} of the page", "Done.")
            for number in range(30)
        )
        yield made


TASK = "which port does the metrics exporter use"


def exchange(unit, turn, person, agent):
    return Doc(
        source="session",
        unit=unit,
        turn=0,
        key=f"s:{unit}@{turn}",
        who="claude",
        date=f"2026-01-0{turn}T10:00:00Z",
        title=person,
        said=(("person", person), ("agent", agent)),
    )


def layer_of(record):
    return HistoryLayer(found_in(record, TASK, search(record, TASK)), 0.5)


def learned_from(event, *, of_type="declarative"):
    values = {"source": [f"name#{event}"], "session_id": "one"}
    return SimpleNamespace(type=of_type, values=values)


def test_what_an_entry_was_learned_from_is_not_told_beside_it(record):
    """Nor what was said next; without the entry both are. A place in a session is known
    by the session's id, whatever its file is called."""
    record.add(
        [
            exchange("one", 1, "Which port for the metrics exporter?", "Port 9464."),
            exchange("one", 2, "And the metrics exporter port stays?", "It does."),
        ]
    )
    layer = layer_of(record)
    entry = Hit(key="entry", layer="ranked", head="Exporter", text="A rule.")
    assert [item.key for item in layer.items(400, [entry])]
    layer.learned({"entry": learned_from("@1")})
    assert layer.items(400, [entry]) == []
    assert [item.key for item in layer.items(400)]


def test_an_episode_takes_no_answer_from_history(record):
    """It says what was asked and done at last; the answer stands in the exchange."""
    said = exchange("one", 1, "Which port for the metrics exporter?", "Port 9464.")
    record.add([said])
    layer = layer_of(record)
    layer.learned({"entry": learned_from("@1", of_type="episodic")})
    text = "Which port for the metrics exporter? I split the commit."
    episode = Hit(key="entry", layer="ranked", head="Episode", text=text)
    [item] = layer.items(400, [episode])
    assert "9464" in item.text


def test_what_sums_up_is_shown_before_what_has_more_words_of_the_task(record):
    """It is what was decided; an essay with a heading of that name is none."""
    decided = "Understood: port 9464, as whatever lies above nine thousand is open to the scraper and never in use."
    essay = "A metrics exporter has a port.\n\n### Summary\nPorts of metrics matter."
    record.add(
        [
            exchange("one", 1, "Which port does the metrics exporter use?", essay),
            exchange("one", 2, "The one above 9000.", decided),
        ]
    )
    [item] = layer_of(record).items(70)
    assert item.text == f"agent: {decided}"


def test_a_list_goes_on_below_the_gate_where_something_passes_it(record):
    """In a block a hit that falls short is left out, and what has not half as much of
    the task as another; a record that answers nothing lists nothing."""
    record.add([exchange("one", 1, "Which port for the exporter?", "Port 9464.")])
    record.add([exchange("two", 2, "Which port does the page use?", "8080.")])
    found = found_in(record, TASK, search(record, TASK))
    layer = HistoryLayer(found, 0.5)
    assert len(layer.items(4000)) == len(layer.hits) - 1 == 1
    assert len(layer.listed()) > 1
    assert layer.listed()[0].key == layer.items(4000)[0].key
    weak = found.hits[2:]
    assert not HistoryLayer(found._replace(hits=weak), 0.5).listed()
    mixed = [weak[0], found.hits[0]]
    assert HistoryLayer(found._replace(hits=mixed), 0.5).hits == mixed


def test_what_amends_a_hit_bears_on_all_that_it_does(record):
    """Else a hook would not tell it, and must not tell the older."""
    record.add([exchange("one", 1, "Which port for the metrics exporter?", "9464.")])
    found = found_in(record, TASK, search(record, TASK))
    weak = found.hits[0]._replace(met=0, docs=(exchange("two", 2, "9090", "Yes."),))
    old = found.hits[0]._replace(newer=weak.doc.handle)
    for hits in ([weak], [weak, old]):
        layer = HistoryLayer(found._replace(hits=hits), 0.5)
        assert layer.strong is (old in hits)


def test_one_list_is_numbered_through():
    """Whichever tier a hit is of; apart, history has no numbers."""
    layers = ("ranked", "history", "ranked")
    items = [
        Hit(key=str(number), layer=layer, head=f"Head {number}", text="", listed=True)
        for number, layer in enumerate(layers)
    ]
    block = write(items, 0)
    assert all(f"### {number + 1}. Head {number}\n" in block for number in range(3))
    apart = write([item._replace(listed=False) for item in items[:2]], 0)
    assert "### 1. Head 0" in apart and "### Head 1" in apart


def test_of_stretches_met_by_the_same_words_the_nearer_sentence_leads(record):
    """By words alone the first of two stays first."""

    def near(task, rarity, texts):
        assert rarity.keys() <= set(task.split())
        return [(float("9464" in text), 0.0) for text in texts]

    answers = {"one": "Indeed.", "two": "It is 9464."}
    subject = "The metrics exporter has a port."
    record.add(exchange(unit, 1, subject, said) for unit, said in answers.items())
    _, by_words = search(record, TASK)
    _, by_meaning = search(record, TASK, near=near)
    assert by_words[0].doc.unit == "one"
    assert by_meaning[0].doc.unit == "two"


def commit(unit, title, *paths):
    made = exchange(unit, 4, title, "")._replace(source="commit", key=unit)
    return made._replace(said=(("person", title),), about={"paths": paths})


def test_a_commit_that_says_what_an_entry_says_is_left_out(record):
    """Its subject word for word, behind a prefix or not, or nothing changed but the
    entry's file; what says the opposite, or more, is told."""
    rule = "Use port 9464 for the metrics exporter"
    record.add(
        [
            commit("1" * 40, f"Memory: {rule.lower()}", "MEMORY.md", "a.py"),
            commit("2" * 40, "Metrics exporter, written down", "MEMORY.md"),
            commit("3" * 40, "Do not use port 9464 for the metrics exporter", "a.py"),
            commit("4" * 40, "Metrics exporter port 9464 behind nginx", "a.py"),
        ]
    )
    layer = layer_of(record)
    entry = Hit(
        key="entry", layer="ranked", head=rule, title=rule, text="", path="MEMORY.md"
    )
    assert len(layer.items(800)) == 4
    told = [str(item.id)[2] for item in layer.items(800, [entry])]
    assert sorted(told) == ["3", "4"]


def test_a_commit_is_shown_below_its_subject(record):
    """Which takes no room, however long it is; what the message lists stands in
    lines."""
    subject = f"Use another port for the metrics exporter {'and for others ' * 6}too"
    body = "The old one is taken.\n\n- The exporter uses port 9464\n- Nginx moves"
    noted = commit("1" * 40, f"{subject[:99]}…", "a.py")
    noted = noted._replace(said=(("person", f"{subject}\n\n{body}"),))
    record.add([noted])
    (item,) = layer_of(record).items(100)
    assert item.text.split("\n")[0] == "The old one is taken."
    assert "- The exporter uses port 9464" in item.text.split("\n")


def test_an_exchange_in_which_an_entry_was_said_is_left_out(record):
    """Where a sentence of the entry is what the person said; not where that is one
    word of many in it, or the opposite."""
    rule = "Use port 9464 for the metrics exporter"
    other = "Nginx listens in front of it since the spring, for the firewall."
    record.add(
        [
            exchange("one", 1, f"{rule}.", "Yes, done."),
            exchange("two", 1, f"Never {rule}", "Yes, done."),
            exchange("three", 1, "metrics exporter port", other),
        ]
    )
    layer = layer_of(record)
    entry = Hit(key="entry", layer="ranked", head="", title="Ports", text=f"{rule}.")
    told = {str(item.id).partition(".")[0] for item in layer.items(900, [entry])}
    assert told == {"s:two", "s:three"}
    assert len(layer.items(900)) == 3


def test_what_is_left_out_of_a_commit_is_marked(record):
    """Its lines stay lines, and alike items of a list are all told."""
    body = """Two options of the metrics exporter take the port of another:
- `--no-port` of the exporter, which overrides `--port`
- `--no-host` of the exporter, which overrides `--host`

Everything else stays as it was.

The port of the metrics exporter is told in its manual."""
    noted = commit("1" * 40, "Opposing options", "a.py")
    noted = noted._replace(said=(("person", f"Opposing options\n\n{body}"),))
    record.add([noted])
    (item,) = layer_of(record).items(120)
    assert item.text.split("\n") == [
        "Two options of the metrics exporter take the port of another:",
        "- `--no-port` of the exporter, which overrides `--port`",
        "- `--no-host` of the exporter, which overrides `--host` …",
        "The port of the metrics exporter is told in its manual.",
    ]

"""History in an answer: numbered with the entries, and never saying what they say."""

import pytest

from memcli.history.record import opened
from memcli.index.past import FoundPast, search
from memcli.index.view import Candidate
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
            exchange(f"noise{number}", 1, f"Rename part {number} of the page", "Done.")
            for number in range(30)
        )
        yield made


TASK = "which port does the metrics exporter use"


def exchange(unit, turn, person, agent):
    return Doc(
        source="session",
        unit=unit,
        turn=0,
        key=f"s:{unit}-{turn}",
        who="claude",
        date=f"2026-01-0{turn}T10:00:00Z",
        title=person,
        said=(("person", person), ("agent", agent)),
    )


def learned_from(event):
    return Candidate(
        rowid=1,
        source=1,
        entry="entry",
        part=0,
        offset=0,
        line=1,
        type="declarative",
        kind="fact",
        date="",
        title="Exporter",
        text="",
        values={"source": [f"session#{event}"]},
    )


def test_what_an_entry_was_learned_from_is_not_told_beside_it(record):
    """Nor what was said next; without the entry both are."""
    record.add(
        [
            exchange("one", 1, "Which port for the metrics exporter?", "Port 9464."),
            exchange("one", 2, "And the metrics exporter port stays?", "It does."),
        ]
    )
    layer = HistoryLayer(FoundPast(*search(record, TASK), {}))
    entry = Hit(key="entry", layer="ranked", head="Exporter", text="A rule.")
    assert [item.key for item in layer.items(400, [entry])]
    layer.learned({"entry": learned_from("one-1")})
    assert layer.items(400, [entry]) == []
    assert [item.key for item in layer.items(400)]


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
    [item] = HistoryLayer(FoundPast(*search(record, TASK), {})).items(70)
    assert item.text == f"agent: {decided}"


def test_the_subject_of_a_commit_takes_no_room_of_what_is_below_it(record):
    """It stands in the heading, and the sentence below it is shown in the rest."""
    subject = "Move the port of the metrics exporter off the range of the old proxy"
    reason = "The metrics exporter must use port 9464 since both proxies bind what is below 9400."
    said = (("person", f"{subject}\n\n{reason}"),)
    record.add([commit("c0ffee1", subject)._replace(said=said)])
    layer = HistoryLayer(FoundPast(*search(record, TASK), {}))
    assert layer.shown(layer.hits[0], 60).text == reason


def test_a_list_goes_on_below_the_gate_where_something_passes_it(tmp_path):
    """In a block a hit that falls short is left out; a record that answers nothing
    lists nothing."""
    with opened(tmp_path / "record.db", make=True) as record:
        assert record is not None
        record.add([exchange("one", 1, "Which port for the exporter?", "Port 9464.")])
        record.add(
            exchange(f"noise{number}", 1, f"Rename port {number} of the page", "Done.")
            for number in range(30)
        )
        asked, found = search(record, TASK)
    layer = HistoryLayer(FoundPast(asked, found, {}))
    weak = [hit._replace(strength=0.0, met=1) for hit in found]
    assert len(layer.items(4000)) == len(layer.hits) == 1
    assert len(layer.listed()) > 1
    assert layer.listed()[0].key == layer.items(4000)[0].key
    assert HistoryLayer(FoundPast(asked, weak, {})).listed() == []
    mixed = [weak[0], found[1]._replace(strength=1.0)]
    assert HistoryLayer(FoundPast(asked, mixed, {})).hits == mixed


def test_one_list_is_numbered_through():
    """Whichever tier a hit is of; apart, history has no numbers."""
    layers = ("ranked", "history", "ranked")
    items = [
        Hit(key=str(number), layer=layer, head=f"Head {number}", text="", listed=True)
        for number, layer in enumerate(layers)
    ]
    heads = [line for line in write(items, 0).splitlines() if line.startswith("###")]
    assert heads == ["### 1. Head 0", "### 2. Head 1", "### 3. Head 2"]
    apart = write([item._replace(listed=False) for item in items[:2]], 0)
    assert "### 1. Head 0" in apart and "### Head 1" in apart


def test_of_stretches_met_by_the_same_words_the_nearer_sentence_leads(tmp_path):
    """By words alone the first of two stays first."""

    def near(task, rarity, texts):
        assert rarity.keys() <= set(task.split())
        return [(float("9464" in text), 0.0) for text in texts]

    with opened(tmp_path / "record.db", make=True) as record:
        assert record is not None
        record.add(
            [
                exchange("one", 1, "The metrics exporter has a port.", "Indeed."),
                exchange(
                    "two",
                    2,
                    "The metrics exporter has a port.",
                    "It is 9464.",
                ),
            ]
        )
        _, by_words = search(record, TASK)
        _, by_meaning = search(record, TASK, near=near)
    assert [hit.doc.unit for hit in by_words] == ["one", "two"]
    assert [hit.doc.unit for hit in by_meaning] == ["two", "one"]


def commit(unit, title, *paths):
    return Doc(
        source="commit",
        unit=unit,
        turn=0,
        key=unit,
        who="Ann",
        date="2026-01-04T10:00:00Z",
        title=title,
        said=(("person", title),),
        about={"paths": paths},
    )


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
    layer = HistoryLayer(FoundPast(*search(record, TASK), {}))
    entry = Hit(
        key="entry", layer="ranked", head=rule, title=rule, text="", path="MEMORY.md"
    )
    assert len(layer.items(800)) == 4
    told = [str(item.id)[2] for item in layer.items(800, [entry])]
    assert sorted(told) == ["3", "4"]


def test_a_commit_is_shown_below_its_subject(record):
    """However long that is; what the message lists stands in lines."""
    subject = f"Use another port for the metrics exporter {'and for others ' * 6}too"
    body = "The old one is taken.\n\n- The exporter uses port 9464\n- Nginx moves"
    noted = commit("1" * 40, f"{subject[:99]}…", "a.py")
    noted = noted._replace(said=(("person", f"{subject}\n\n{body}"),))
    record.add([noted])
    (item,) = HistoryLayer(FoundPast(*search(record, TASK), {})).items(800)
    assert item.text.split("\n")[0] == "The old one is taken."
    assert "- The exporter uses port 9464" in item.text.split("\n")


def test_an_exchange_in_which_an_entry_was_said_is_left_out(record):
    """Where a sentence of the entry is what the person said; not where that is one
    word of many in it, or the opposite."""
    rule = "Use port 9464 for the metrics exporter"
    said = ("one", f"{rule}."), ("two", "Never use port 9464 for the metrics exporter")
    record.add(exchange(unit, 1, person, "Yes, done.") for unit, person in said)
    record.add(
        [
            exchange(
                "three",
                1,
                "metrics exporter port",
                "Nginx listens in front of it since the spring, for the firewall.",
            )
        ]
    )
    layer = HistoryLayer(FoundPast(*search(record, TASK), {}))
    entry = Hit(key="entry", layer="ranked", head="", title="Ports", text=f"{rule}.")
    told = {str(item.id).partition(".")[0] for item in layer.items(900, [entry])}
    assert told == {"s:two", "s:three"}
    assert len(layer.items(900)) == 3

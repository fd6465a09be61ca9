"""Entries of very many chunks: shown by the part that matches, without reading all."""

from memcli.app import Options, opened
from memcli.index.passages import passage

LINE = "The booking desk keeps a ledger of every guest who came by boat.\n"
WANTED = "The turbine gate opens by hand."


def written(lines, above=""):
    half = LINE * (lines // 2)
    return f"# Notes\n\n{above}{half}{WANTED}\n{half}"


def matched(app):
    """The first chunk of the entry, with the number of the part that has the words."""
    query = "SELECT id, part FROM chunks WHERE text LIKE ?"
    rowid, part = app.index.db.execute(query, (f"%{WANTED}%",)).fetchone()
    (chunk,) = app.index.entries.candidates([rowid])
    (first,) = app.index.entries.copies([chunk.entry])
    return first._replace(part=part)


def steps(db, work):
    """How many thousand steps SQLite takes for some work."""
    count = 0

    def step():
        nonlocal count
        count += 1

    db.set_progress_handler(step, 100)
    work()
    db.set_progress_handler(None, 0)
    return count


def shown(project, text):
    project.write("memory/notes.md", text)
    project.mem("index")
    with opened(Options(str(project.root))) as app:
        candidate = matched(app)
        found = passage(app.index.entries, candidate)
        return found, steps(app.index.db, lambda: passage(app.index.entries, candidate))


def test_what_is_left_out_is_counted_in_lines(project):
    text = written(1000)
    found, _ = shown(project, text)
    assert WANTED in found.text
    assert found.ahead and found.behind
    below = text.removeprefix("# Notes\n\n").rstrip("\n")
    assert abs(found.lines - (below.count("\n") - found.text.count("\n"))) <= 2


def test_a_longer_entry_is_not_looked_through(project):
    """An entry of eight times the size takes no twice the work."""
    _, few = shown(project, written(1000))
    _, many = shown(project, written(8000))
    assert many < 2 * few + 10


def test_what_is_private_far_above_is_not_shown(project):
    """Its tag may stand hundreds of chunks before what matches."""
    found, _ = shown(project, written(1000, above="<Private >The key is 12.\n"))
    assert WANTED not in found.text
    closed = "<private>The key is 12.</private>\n"
    found, _ = shown(project, written(1000, above=closed))
    assert WANTED in found.text

"""The query: any words -> terms that FTS5 takes as text."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index.fulltext import quoted
from memcli.index.lexical import MAX_TERMS, build, concepts, widened

HOSTILE = [
    "AND NOT NEAR (",
    '"',
    "'",
    "*",
    "^",
    "NUL \0 NUL",
    "\ud800",
    "{x y}: z",
    "-",
    "col:x",
]


@pytest.fixture(scope="module")
def fts():
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    db.execute(
        "INSERT INTO t VALUES ('the lock timeout of c++ in x.py'), ('what is near and not far')"
    )
    yield db
    db.close()


def matches(db, terms):
    return sum(
        len(db.execute("SELECT 1 FROM t WHERE t MATCH ?", (quoted(term),)).fetchall())
        for term in terms
    )


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from([*HOSTILE, "word", "snake_case", "日本"])).map(
            " ".join
        ),
    )
)
def test_no_text_is_an_fts_syntax_error(fts, task):
    """Whatever is asked, real FTS5 accepts every term of it."""
    matches(fts, build(task).terms)


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ("snake_case", {"snake case", "snake", "case"}),
        ("camelCase", {"camelcase", "camel", "case"}),
        ("a1.b2/c3", {"a1 b2 c3", "a1", "b2", "c3"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
    ],
)
def test_identifiers_are_kept_whole_and_split(task, wanted):
    """An identifier is searched as it stands and by its pieces."""
    assert wanted <= set(build(task).terms)


def test_stop_words_go_unless_nothing_remains():
    """Stop words are no terms, but a task of nothing else is still a question."""
    assert build("how do we fix the build").terms == ("fix", "build")
    assert build("how do we").terms == ("how", "do", "we")
    assert build("warum läuft das nicht über den Proxy").terms == ("läuft", "proxy")
    assert build("quelles étapes avant la comment-policy").terms[0] == "étapes"


def test_a_word_that_stands_nowhere_is_asked_by_its_beginning():
    """The longest that occurs, without at most three letters; short words are left
    alone."""
    known = {"verbindung*": 2, "verbindun*": 2, "model*": 1, "auth*": 9, "화면*": 1}
    query = build("Verbindungen modelos author proxy 화면에서")
    actual = widened(query, lambda words: [known.get(word, 0) for word in words])
    assert actual.terms == ("verbindung*", "model*", "author", "proxy", "화면*")


def test_a_pair_of_characters_that_stands_nowhere_is_asked_by_each():
    """What only joins words is left out; a pair that occurs stays as it is."""
    actual = widened(
        build("更新次数的"), lambda words: [int(word == "次数") for word in words]
    )
    assert actual.terms == ("更*", "新*", "次*", "次数")


def test_what_another_language_names_is_also_asked_in_english():
    """Of compounds, too. A task in English is left as it is."""
    found = concepts("Protokolldateien der 数据库")
    assert all(
        any(name in each for each in found)
        for name in ("log |", "sql |", "데이터베이스*")
    )
    assert any("database" in each for each in found)
    assert concepts("why does the fusion of licence logs fail with zustand") == []
    assert concepts("what is the zugriff") == [] != concepts("zugriff")


def test_a_long_task_counts_by_its_rarest_terms():
    """Of more than 64 terms the 64 rarest that occur at all are kept, the rarest
    first."""
    words = [f"w{number}x" for number in range(200)]
    frequency = {word: (number * 7) % 200 for number, word in enumerate(words)}
    actual = build(
        " ".join(words), lambda asked: [frequency.get(word, 0) for word in asked]
    ).terms
    found = [word for word in words if frequency[word]]
    assert list(actual) == sorted(found, key=frequency.__getitem__)[:MAX_TERMS]


def test_neighbours_are_phrases_and_stop_words_part_them():
    """Two or three content words in a row form a phrase; a stop word between them ends
    it."""
    wanted = {"red blue", "blue green", "red blue green"}
    assert set(build("red blue green of gold").phrases) == wanted


def test_scripts_without_blanks_are_asked_in_pairs():
    """Chinese is asked by overlapping pairs, each by itself; a single character by
    prefix."""
    assert build("数据库").terms == ("数据", "据库")
    assert build("库").terms == ("库*",)
    assert build("我们的数据").terms == ("数据",) and build("どうすれば").terms


def test_a_phrase_has_bounded_parts_and_none_twice():
    """An identifier of thousands of parts costs no more than a short one."""
    long = ".".join(f"part{number}" for number in range(3_000))
    for task in (
        long,
        f"{long} {long}",
        "aa." * 3_000 + "bb",
        f"{'.'.join('abcdefgh')} " * 3,
    ):
        query = build(task, lambda words: [1] * len(words))
        for phrase in (*query.terms, *query.phrases):
            assert len(phrase.split()) <= 16, phrase
    assert build("one.two.three.two.four").terms == (
        "one two three",
        "one",
        "two",
        "three",
        "four",
    )

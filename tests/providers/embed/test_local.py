"""Static word vectors: the table that ships, how words are cut, and a damaged one."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import ProviderError
from memcli.memory.arithmetic import DIM, cosines, quantise
from memcli.memory.words import word_forms
from memcli.providers.embed import local
from memcli.providers.embed.local import CRUMB, MARK, MOST_WEIGHT, TABLE, Local, cut

NOTICES = Path(local.__file__).parents[3] / "docs" / "notices.md"
BIGGEST = 12_000_000
UNICODE = """
    über straße naïve café Łódź Привет мир Ελληνικά 日本 本語 中文 한국어 สวัสดี नमस्ते مرحبا
    שלום ﬁre ½ ² Ⅷ ｆｕｌｌ 𝔘𝔫𝔦 𝟙𝟚 Ǆ ǅ İstanbul ıssız ẞ ŉ x1y2 abc123 0xdeadbeef v2 i18n
    HTTPServer 12345678901234567890 ᚠᛇᚻ 𓀀𓀁 ꙮ ಠ zzzzqqqqxxxx e\u0301 \u0915\u094d\u0937
""".split()
words = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=32)


@pytest.fixture
def table():
    with closing(Local()) as made:
        yield made


def test_the_table_is_the_one_that_the_notices_name(table):
    """Small enough for a wheel, whole, and with the checksum that is written down."""
    data = TABLE.read_bytes()
    assert len(data) <= BIGGEST
    assert hashlib.sha256(data).hexdigest() in NOTICES.read_text(encoding="utf-8")
    table.check()


def test_a_word_is_cut_into_the_longest_pieces_from_its_beginning():
    """A mark stands before what begins a word; unknown characters are left out."""
    known = {MARK + "un", MARK + "u", "known", "kno", "w", MARK}
    assert cut(MARK + "unknown", known) == [MARK + "un", "known"]
    assert cut(MARK + "unknow", known) == [MARK + "un", "kno", "w"]
    assert cut(MARK + "w?w", known) == [MARK, "w", "w"]
    assert cut(MARK + "?", known) == []


@settings(max_examples=8, deadline=None)
@given(st.sets(words, min_size=1, max_size=12))
def test_few_and_many_words_have_the_same_vectors(some):
    """Whether pieces are looked up or all of them read."""
    with closing(Local()) as own:
        few = own.words(some)
        many = own.words(some | {f"word{number}" for number in range(local.MANY)})
    assert {word: many[word] for word in some} == few
    for word in few.values():
        assert len(word.vector) == DIM and 0 <= word.weight <= MOST_WEIGHT


def test_every_script_is_embedded(table):
    """What has no known piece is all zero, and a text of it points anywhere."""
    assert table.words(UNICODE).keys() == set(UNICODE)
    assert all(map(any, table.embed(["ᚠᛇᚻ", "", "zebra"])))


def test_keyboard_mash_is_no_known_word(table):
    """What falls into crumbs is left out of a task; words are kept, however long."""
    assert CRUMB > 1
    asked = ["qzxvkjwq", "x9f3k2q8z", "documentation", "timeout", "配置"]
    assert table.words(asked, crumbs=False).keys() == {
        "documentation",
        "timeout",
        "配置",
    }
    assert table.words([], crumbs=False) == {}


SAME = [
    ("password", "Passwort 密码 パスワード 비밀번호 contraseña passe senha пароль"),
    ("file", "Datei 文件 ファイル 파일 archivo fichier arquivo файл"),
    ("error", "Fehler 错误 エラー 오류 error erreur erro ошибка"),
    ("delete", "löschen 删除 削除 삭제 eliminar supprimer excluir удалить"),
]


@pytest.mark.parametrize(("english", "others"), SAME)
def test_words_of_ten_languages_meet(table, english, others):
    """A word is nearer to its translations than to a translation of any other."""
    for place, word in enumerate(others.split()):
        every = {e: o.split()[place] for e, o in SAME}
        forms = {e: list(word_forms(w)) for e, w in every.items()}
        vectors = {e: table.embed([" ".join(f)])[0] for e, f in forms.items()}
        (own,) = table.words([english]).values()
        quantised = {e: quantise(vector) for e, vector in vectors.items()}
        near = cosines(own.vector, quantised)
        assert max(near, key=lambda name: near[name]) == english, (word, near)


@pytest.mark.parametrize("damage", ["noise", "cut", "foreign", "gone", "late", "bit"])
def test_a_damaged_table_is_a_provider_error(tmp_path, damage):
    """It says which file cannot be read and what to do, whatever is wrong with it."""
    path = tmp_path / "vectors.sqlite"
    data = TABLE.read_bytes()
    late = data[:8192] + b"\0" * (len(data) - 8192)
    damaged = {"noise": b"\xff" * 9999, "cut": data[:9999], "late": late}
    if damage == "foreign":
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE about (model TEXT, digest TEXT)")
            db.execute("INSERT INTO about VALUES ('other-1', '')")
            db.commit()
    elif damage == "bit":
        copied = bytearray(data)
        copied[len(copied) // 2] ^= 1
        path.write_bytes(copied)
    elif damage != "gone":
        path.write_bytes(damaged[damage])
    with closing(Local(path)) as own, pytest.raises(ProviderError) as caught:
        own.check()
    assert str(path) in caught.value.what
    assert "embedder=none" in caught.value.hint

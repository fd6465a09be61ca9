"""Static word vectors: the table, how words are cut, and what happens to a cache."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import ProviderError, UsageError
from memcli.memory.words import word_forms
from memcli.providers.embed import DIM, LOCAL_TABLE, local, local_package
from memcli.providers.embed.local import CRUMB, Local

pytestmark = pytest.mark.skipif(
    local_package() is None, reason="needs the extra `local`"
)

PROSE = Path(local.__file__).parents[3] / "docs"
UNICODE = """
    über straße naïve café Łódź Привет мир Ελληνικά 日本 本語 中文 한국어 สวัสดี नमस्ते مرحبا שלום ﬁre ½ ²
    Ⅷ ｆｕｌｌ
    𝔘𝔫𝔦 𝟙𝟚 Ǆ ǅ İstanbul ıssız ẞ ŉ x1y2 abc123 0xdeadbeef v2 i18n HTTPServer 12345678901234567890 ᚠᛇᚻ 𓀀𓀁 ꙮ ಠ
    zzzzqqqqxxxx aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa e\u0301 \u0915\u094d\u0937
""".split()
words = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=32)


@pytest.fixture(scope="module")
def table(_table: Path) -> Iterator[Local]:
    with closing(Local(lambda: _table)) as made:
        yield made


def prose() -> list[str]:
    """Several hundred words as they stand in this project's documents, and some of
    other scripts."""
    text = " ".join(
        path.read_text(encoding="utf-8") for path in sorted(PROSE.glob("*.md"))
    )
    found = sorted(set(word_forms(text)))
    return [*found[:: max(1, len(found) // 900)], *UNICODE]


def test_words_are_cut_as_the_tokenizer_of_the_model_cuts_them(table: Local) -> None:
    """Piece for piece, in every script, for a thousand words."""
    tokenizers = pytest.importorskip("tokenizers")
    folder = local_package()
    assert folder is not None
    model = tokenizers.Tokenizer.from_file(
        str(folder / "tokenizers" / local._TOKENIZER)
    )
    model.no_padding()
    model.no_truncation()
    asked = prose()
    assert len(asked) > 500
    wanted = {
        word: model.encode(word, add_special_tokens=False).tokens for word in asked
    }
    assert {word: table._cut([word])[word] for word in asked[::7]} == {
        w: wanted[w] for w in asked[::7]
    }
    assert table._cut(asked) == wanted


@settings(max_examples=20, deadline=None)
@given(st.sets(words, min_size=1, max_size=12))
def test_few_and_many_words_have_the_same_vectors(_table: Path, some: set[str]) -> None:
    """Without numpy and with it: the same bytes and weights."""
    with closing(Local(lambda: _table)) as own:
        cut = own._cut(sorted(some))
        few = own._summed(cut)
        assert own._many(cut) == few
        assert own.words(some) == few
    assert all(
        len(word.vector) == DIM and 0 < word.weight <= 1023 for word in few.values()
    )


def test_keyboard_mash_is_no_known_word(table: Local) -> None:
    """What falls into crumbs is left out of a task; words are kept, however long."""
    assert CRUMB > 1
    assert table.known(
        ["qzxvkjwq", "x9f3k2q8z", "documentation", "timeout"]
    ).keys() == {
        "documentation",
        "timeout",
    }
    assert table.known([]) == {}


def vectors_of(folder: Path) -> dict[str, local.WordVector]:
    with closing(Local(lambda: folder)) as made:
        return made.words(["lock", "timeout"])


@pytest.mark.parametrize("damage", ["noise", "cut", "unfinished", "folder", "late"])
def test_a_damaged_table_is_made_anew(
    tmp_path: Path, _table: Path, table: Local, damage: str
) -> None:
    """Whatever a killed process or a bad disk left there."""
    (good,) = _table.iterdir()
    path = tmp_path / good.name
    data = good.read_bytes()
    (tmp_path / f"{good.name}.4242").write_bytes(b"half a table")
    if damage == "folder":
        path.mkdir()
    elif damage == "unfinished":
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE done (value)")
    else:
        # "late": the head is whole, so that only reading words finds the damage
        late = data[:8192] + b"\0" * (len(data) - 8192)
        path.write_bytes(
            {"noise": b"\xff" * 9999, "cut": data[:9999], "late": late}[damage]
        )
    assert vectors_of(tmp_path) == table.words(["lock", "timeout"])
    if damage != "folder":
        assert [each.name for each in tmp_path.iterdir()] == [good.name]
        assert path.stat().st_size == good.stat().st_size


def package(folder: Path, name: str, data: bytes) -> None:
    """A package that lacks nothing but the one file, which has `data`."""
    real = local_package()
    assert real is not None
    for part in (f"weights/{LOCAL_TABLE}", f"tokenizers/{local._TOKENIZER}"):
        path = folder / "wordllama" / part
        path.parent.mkdir(parents=True)
        if path.name == name:
            path.write_bytes(data)
        else:
            os.symlink(real / part, path)


HEADER = json.dumps(
    {"t": {"dtype": "F16", "shape": [1, 256], "data_offsets": [0, 512]}}
).encode()
BROKEN = [
    (LOCAL_TABLE, b""),
    (LOCAL_TABLE, len(HEADER).to_bytes(8, "little") + HEADER + b"\0" * 512),
    (local._TOKENIZER, b'{"model": {"vocab": ["a"]}}'),
]


@pytest.mark.parametrize(("name", "data"), BROKEN)
def test_a_broken_package_is_a_provider_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes
) -> None:
    """It says what cannot be read and what to do; nothing is left in the cache."""
    package(tmp_path, name, data)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ProviderError) as caught:
        vectors_of(tmp_path / "cache")
    assert "wordllama cannot be read" in caught.value.what
    assert "reinstall" in caught.value.hint
    assert not (tmp_path / "cache").exists()


def test_a_missing_package_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a table was made before, the package is not asked for."""
    vectors_of(tmp_path / "made")
    monkeypatch.setattr(sys, "path", [])
    assert local_package() is None
    with pytest.raises(UsageError) as caught:
        vectors_of(tmp_path / "cache")
    assert "[local]" in caught.value.hint
    assert vectors_of(tmp_path / "made")
    shutil.rmtree(tmp_path / "made")

"""A sentence-transformer from a folder: a real, tiny model run by the real runtime."""

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memcli.errors import ProviderError, UsageError
from memcli.project.config import Config
from memcli.providers.configured import make_embedder
from memcli.providers.embed.onnx import Onnx

pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cow", "zebra", "grass", "query", "of"]
TABLE = [[float(i), float(i * i), 1.0, -float(i)] for i in range(len(WORDS))]
TABLE[8] = [0.0] * 4


def _number(value: int) -> bytes:
    out = b""
    while value > 127:
        out = out + bytes([value & 127 | 128])
        value = value >> 7
    return out + bytes([value])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    data = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(data)) + data


def _port(name: str, kind: int, dims: list[str]) -> bytes:
    shape = b"".join(_field(1, _field(2, dim)) for dim in dims)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def model(
    *,
    kind: int = 7,
    extra: tuple[str, ...] = ("attention_mask", "token_type_ids"),
    table: Any = None,
) -> bytes:
    """An ONNX model that looks each id up in a table: `last_hidden_state` is (n,
    tokens, 4)."""
    rows = TABLE if table is None else table
    raw = b"".join(struct.pack("<4f", *row) for row in rows)
    tensor = (
        _field(1, len(rows))
        + _field(1, 4)
        + _field(2, 1)
        + _field(8, "table")
        + _field(9, raw)
    )
    node = (
        _field(1, "table")
        + _field(1, "input_ids")
        + _field(2, "last_hidden_state")
        + _field(4, "Gather")
    )
    inputs = [
        _field(11, _port(name, kind, ["n", "t"])) for name in ("input_ids", *extra)
    ]
    output = _field(12, _port("last_hidden_state", 1, ["n", "t", "d"]))
    graph = (
        _field(1, node) + _field(2, "g") + _field(5, tensor) + b"".join(inputs) + output
    )
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with the model and a tokenizer that puts [CLS] and [SEP] around the
    words."""
    made = tmp_path / "tiny-model"
    made.mkdir()
    (made / "model.onnx").write_bytes(model())
    known = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(known, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(made / "tokenizer.json"))
    yield made


def settings(folder: Path, name: str, value: Any) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def mean(*ids: int) -> Any:
    return np.mean([TABLE[i] for i in (2, *ids, 3)], axis=0).astype(np.float32)


def test_texts_become_the_mean_of_their_tokens(folder: Path) -> None:
    """Padding does not count, order is kept, and rows are as long as the model makes
    them."""
    embedder = Onnx(str(folder))
    vectors = embedder.embed(["cow zebra grass", "cow", "zebra unknown"])
    assert np.allclose(vectors, [mean(4, 5, 6), mean(4), mean(5, 1)])
    assert vectors.dtype == np.float32
    assert embedder.embed([]).shape == (0, 0)


@pytest.mark.parametrize(
    "made", [model(kind=6), model(extra=()), model(extra=("attention_mask",))]
)
def test_the_model_says_which_inputs_it_wants(folder: Path, made: bytes) -> None:
    """Of 32 or 64 bits, with and without mask and types."""
    (folder / "model.onnx").write_bytes(made)
    assert np.allclose(
        Onnx(str(folder)).embed(["cow", "cow zebra"]), [mean(4), mean(4, 5)]
    )


def test_the_model_may_lie_in_a_folder_of_its_own(folder: Path) -> None:
    """onnx/model.onnx is found, and embed_model names any other file."""
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx/model.onnx")
    assert np.allclose(Onnx(str(folder)).embed(["cow"]), [mean(4)])
    (folder / "onnx/model_int8.onnx").write_bytes(model(table=[[1.0] * 4] * len(WORDS)))
    assert np.allclose(
        Onnx(str(folder), model="onnx/model_int8.onnx").embed(["cow"]), [[1.0] * 4]
    )


def test_another_model_or_setting_has_another_name(folder: Path) -> None:
    """So vectors of two models never meet in the cache; the same folder keeps its
    name."""
    names = [Onnx(str(folder)).model, Onnx(str(folder)).model]
    settings(folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    names.append(Onnx(str(folder)).model)
    (folder / "model.onnx").write_bytes(model(table=TABLE[::-1]))
    names.append(Onnx(str(folder)).model)
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert all(name.startswith("tiny-model-") for name in names)


def test_what_is_missing_is_named(folder: Path) -> None:
    """No folder, no tokenizer, no model: each is a usage error that says what to
    set."""
    missing = [("", "needs a folder"), (str(folder / "no"), "is no folder")]
    for given, words in missing:
        with pytest.raises(UsageError, match=words) as caught:
            make_embedder(Config(embedder="onnx", embed_folder=given), {})
        assert "embed_folder" in caught.value.hint
    with pytest.raises(UsageError, match=r"no other\.onnx"):
        Onnx(str(folder), model="other.onnx")
    (folder / "model.onnx").unlink()
    with pytest.raises(UsageError, match=r"no model\.onnx"):
        Onnx(str(folder))
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UsageError, match=r"no tokenizer\.json"):
        Onnx(str(folder))


def test_a_missing_extra_is_named_with_the_command_that_gets_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries are no dependency of mem itself."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UsageError, match="needs tokenizers") as caught:
        Onnx(str(folder))
    assert "[onnx]" in caught.value.hint


UNFIT: list[tuple[str, Any, str]] = [
    ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "Dense layer"),
    ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling by max"),
    ("modules.json", "{", "cannot be read"),
]


@pytest.mark.parametrize(("name", "value", "words"), UNFIT)
def test_settings_that_cannot_be_followed_are_refused(
    folder: Path, name: str, value: Any, words: str
) -> None:
    """Better no vectors than wrong ones."""
    settings(folder, name, value)
    with pytest.raises(UsageError, match=words):
        Onnx(str(folder))


NAN = [[float("nan")] * 4] * len(WORDS)
USELESS = [
    ("model.onnx", b"rubbish", "cannot be loaded"),
    ("model.onnx", model(extra=("pixel_values",)), "input 'pixel_values'"),
    ("model.onnx", model(table=TABLE[:3]), "cannot run"),
    ("model.onnx", model(table=NAN), "NaN"),
]


@pytest.mark.parametrize(("name", "value", "words"), USELESS)
def test_a_model_that_does_not_work_is_a_provider_error(
    folder: Path, name: str, value: bytes, words: str
) -> None:
    """It names the file, and nothing is returned."""
    (folder / name).write_bytes(value)
    with pytest.raises(ProviderError, match=words) as caught:
        Onnx(str(folder)).embed(["cow"])
    assert str(folder / "model.onnx") in caught.value.what

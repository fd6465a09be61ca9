"""A sentence-transformer from a folder: `model.onnx` and `tokenizer.json` (extra
`onnx`)."""

import json
import sys
import time
from collections.abc import Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memcli.errors import ProviderError, UsageError
from memcli.project import distribution
from memcli.providers.embed.http import BLANK, fault_of
from memcli.providers.embed.wire import prefix_of

if TYPE_CHECKING:
    from memcli.providers.embed import Matrix

T = TypeVar("T", list[Any], dict[str, Any])
BATCH = 32
MOST_TOKENS = 512
POOLING = "1_Pooling/config.json"
_MODELS = (
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
)


class Onnx:
    """An embedder that runs in this process; `model` names a file that is not the usual
    one."""

    provider = "onnx"

    def __init__(self, folder: str, *, model: str = "") -> None:
        if not folder:
            raise UsageError(
                "embedder = onnx needs a folder with a model", "set embed_folder"
            )
        for name in ("onnxruntime", "tokenizers"):
            if sys.modules.get(name) is None and (
                name in sys.modules or not find_spec(name)
            ):
                raise UsageError(
                    f"embedder = onnx needs {name}", distribution.hint("onnx")
                )
        self.folder = Path(folder).expanduser()
        self.file = _model_file(self.folder, model)
        self.pooling = read_pooling(self.folder)
        self.model = f"{self.folder.name}-{_digest(self.folder, self.file)}"
        self._loaded: tuple[Any, Any] | None = None

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        deadline: float | None = None,
    ) -> "Matrix":
        """One row for each text, those of like length together."""
        import numpy as np

        if not texts:
            return np.zeros((0, 0), np.float32)
        until = float("inf") if deadline is None else time.monotonic() + deadline
        self._loaded = self._loaded or self._load()
        before = prefix_of(self.folder.name, query)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        parts = []
        for start in range(0, len(order), BATCH):
            if time.monotonic() > until:
                raise self._failed("no answer in time")
            batch = [
                texts[number].strip() or BLANK
                for number in order[start : start + BATCH]
            ]
            parts.append(self._embed(*self._loaded, [before + text for text in batch]))
        vectors: Matrix = np.concatenate(parts)[np.argsort(order)]
        if wrong := fault_of(vectors):
            raise self._failed(wrong)
        return vectors

    def _embed(self, tokenizer: Any, session: Any, batch: list[str]) -> "Matrix":
        import numpy as np

        encoded = tokenizer.encode_batch(
            [t.encode("utf-8", "replace").decode() for t in batch]
        )
        columns = {
            "input_ids": [one.ids for one in encoded],
            "attention_mask": [one.attention_mask for one in encoded],
            "token_type_ids": [one.type_ids for one in encoded],
        }
        fed = {}
        for asked in session.get_inputs():
            if asked.name not in columns:
                raise self._failed(
                    f"the model wants an input {asked.name!r}, which is not known"
                )
            kind = "int32" if "int32" in asked.type else "int64"
            fed[asked.name] = np.array(columns[asked.name], kind)
        # The sentence vectors where the model makes them, else those of the tokens.
        names = [output.name for output in session.get_outputs()]
        wanted = "sentence_embedding" if "sentence_embedding" in names else names[0]
        try:
            made = session.run([wanted], fed)[0]
        except Exception as error:  # the runtime's own errors have no common base
            raise self._failed(
                f"the model cannot run ({' '.join(str(error).split())[:200]})"
            ) from None
        vectors = _pooled(
            made, np.array(columns["attention_mask"], np.float32), self.pooling
        )
        if vectors is None:
            raise self._failed("the model's output is not understood")
        return vectors

    def _load(self) -> tuple[Any, Any]:
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
            tokenizer.enable_truncation(max_length=MOST_TOKENS)
            known = tokenizer.padding or {}
            usual = (
                name
                for name in ("[PAD]", "<pad>")
                if tokenizer.token_to_id(name) is not None
            )
            token = known.get("pad_token") or next(usual, "[PAD]")
            pad = known.get("pad_id", tokenizer.token_to_id(token) or 0)
            tokenizer.enable_padding(pad_id=pad, pad_token=token)
            session = onnxruntime.InferenceSession
            return tokenizer, session(
                str(self.file), providers=["CPUExecutionProvider"]
            )
        except (
            Exception
        ) as error:  # both raise bare errors for a file that they cannot read
            raise self._failed(
                f"the model cannot be loaded ({' '.join(str(error).split())[:200]})"
            ) from None

    def _failed(self, what: str) -> ProviderError:
        return ProviderError(
            f"onnx embeddings: {what} ({self.file})", "check embed_folder"
        )


def _model_file(folder: Path, name: str) -> Path:
    hint = "set embed_folder to a folder with model.onnx and tokenizer.json"
    if not folder.is_dir():
        raise UsageError(f"embed_folder is no folder ({folder})", hint)
    if not (folder / "tokenizer.json").is_file():
        raise UsageError(f"no tokenizer.json ({folder})", hint)
    for candidate in (name,) if name else _MODELS:
        if (folder / candidate).is_file():
            return folder / candidate
    raise UsageError(f"no {name or 'model.onnx, nor onnx/model.onnx'} ({folder})", hint)


def read_pooling(folder: Path) -> str:
    """How token vectors become one: mean or cls. Raises UsageError for any other
    way."""
    if any(".Dense" in str(module) for module in _json(folder / "modules.json", list)):
        hint = f"choose another model ({folder})"
        raise UsageError("a model with a Dense layer cannot be used", hint)
    settings = _json(folder / POOLING, dict)
    chosen = {
        name.removeprefix("pooling_mode_")
        for name, on in settings.items()
        if on is True
    }
    modes = chosen - {"include_prompt"} or {"mean_tokens"}
    if modes not in ({"cls_token"}, {"mean_tokens"}):
        asked = (
            f"pooling by {', '.join(sorted(modes))} cannot be used, only mean or cls"
        )
        raise UsageError(f"{asked} ({folder / POOLING})", "")
    return "cls" if "cls_token" in modes else "mean"


def _json(path: Path, kind: type[T]) -> T:
    """The value of a settings file, an empty one where it is missing or of another
    kind."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError, RecursionError):
        what = f"a setting of the model cannot be read ({path})"
        raise UsageError(what, "mend or remove it") from None
    return value if isinstance(value, kind) else kind()


def _digest(folder: Path, file: Path) -> str:
    """Tells models apart without reading all: sizes, both ends, the way of pooling."""
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        tokens = (folder / "tokenizer.json").stat().st_size
        digest = blake2b(f"{size} {tokens}".encode(), digest_size=4)
        for start in (0, max(0, size - 65_536)):
            stream.seek(start)
            digest.update(stream.read(65_536))
    pooling = folder / POOLING
    digest.update(pooling.read_bytes() if pooling.is_file() else b"-")
    return digest.hexdigest()


def _pooled(made: Any, mask: Any, pooling: str) -> "Matrix | None":
    """Sentence vectors of token vectors (n, tokens, dim); None for another shape."""
    import numpy as np

    if made.ndim == 3 and pooling == "cls":
        made = made[:, 0]
    elif made.ndim == 3:
        weights = mask[:, :, None]
        made = (made * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    if made.ndim != 2 or made.shape[0] != len(mask):
        return None
    vectors: Matrix = made.astype(np.float32)
    return vectors

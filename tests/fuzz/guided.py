"""Texts that a coverage-guided fuzzer looks for: `atheris`, which only the long drill needs."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Final

from tests.fuzz.hostile import FIXED, SEEDS, TOKENS

LONGEST: Final = 4096
HANGS: Final = 20
"""Seconds after which one text counts as a hang."""
_OURS: Final = ("memcli", "tests.fuzz.targets")


def by_coverage(name: str, seconds: int, folder: Path) -> None:
    """Drive one target for so many seconds; ends the process, at the first finding with its text in
    `folder`.

    Only `memcli` counts what ways are taken: the standard library and YAML would take minutes to
    prepare.
    """
    import atheris

    for module in [module for module in sys.modules if module.startswith(_OURS)]:
        del sys.modules[module]  # was imported before anybody counted
    with atheris.instrument_imports(include=["memcli"]):
        targets = importlib.import_module("tests.fuzz.targets")
    target = next(target for target in targets.TARGETS if target.name == name)

    def once(data: bytes) -> None:
        targets.tried(target, data.decode("utf-8", "surrogateescape"))

    atheris.Setup([sys.argv[0], *_options(seconds, folder)], once)
    atheris.Fuzz()


def _options(seconds: int, folder: Path) -> list[str]:
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for i, text in enumerate((*SEEDS, *(family.make(60) for family in FIXED))):
        (corpus / f"seed{i}").write_bytes(_bytes(text))
    words = folder / "words"
    words.write_text("".join(f'"{_escaped(token)}"\n' for token in TOKENS))
    return [
        str(corpus),
        f"-dict={words}",
        f"-artifact_prefix={folder}{os.sep}",
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        f"-timeout={HANGS}",
        "-rss_limit_mb=1500",
        "-print_final_stats=1",
        "-verbosity=1",
    ]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _escaped(token: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in _bytes(token)[:60])

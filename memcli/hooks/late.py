"""A prompt whose hook gave up (`protocol.SECONDS`) is kept, and looked up with the next
one of its session."""

import time
from contextlib import suppress
from pathlib import Path

from memcli.storage.files import digest, private_dir, state_dir

MOST = 8_000  # characters of a prompt that are kept
FRESH = 3600.0  # seconds for which it is worth an answer


def keep(session: str, prompt: str) -> None:
    """Keep a prompt that was not answered."""
    path = _path(session)
    private_dir(path.parent)
    path.write_text(prompt[:MOST], encoding="utf-8", errors="replace")


def take(session: str) -> str:
    """The prompt that was not answered, once; "" for none."""
    path = _path(session)
    with suppress(OSError):
        age = time.time() - path.stat().st_mtime
        text = path.read_text(encoding="utf-8", errors="replace")
        path.unlink()
        return text if age < FRESH else ""
    return ""


def _path(session: str) -> Path:
    name = digest(session.encode("utf-8", "surrogatepass"))
    return state_dir() / "late" / f"{name}.txt"

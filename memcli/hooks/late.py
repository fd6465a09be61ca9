"""A prompt or a start whose hook gave up (`protocol.SECONDS`) is kept, and answered with
the next prompt of its session."""

import time
from contextlib import suppress
from pathlib import Path

from memcli.storage.files import private_dir, state_dir
from memcli.text.digests import digest

MOST = 8_000  # characters of a prompt that are kept
FRESH = 3600.0  # seconds for which it is worth an answer


def keep(verb: str, session: str, text: str) -> None:
    """Keep what was not answered: a prompt, or the source of a start."""
    path = _path(state_dir(), verb, session)
    private_dir(path.parent)
    path.write_text(text[:MOST], encoding="utf-8", errors="replace")


def take(state_folder: Path, verb: str, session: str) -> str:
    """What was not answered, once; "" for nothing."""
    path = _path(state_folder, verb, session)
    with suppress(OSError):
        age = time.time() - path.stat().st_mtime
        text = path.read_text(encoding="utf-8", errors="replace")
        path.unlink()
        return text if age < FRESH else ""
    return ""


def _path(state_folder: Path, verb: str, session: str) -> Path:
    name = digest(f"{verb} {session}".encode("utf-8", "surrogatepass"))
    return state_folder / "late" / f"{name}.txt"

"""What git makes of two changes of one text."""

from pathlib import Path
from tempfile import TemporaryDirectory

from memcli.errors import DataError
from memcli.project import git


def merge_texts(base: str, ours: str, theirs: str, *options: str) -> tuple[str, int]:
    """What git makes of both changes, as merge.conflictStyle has it here, and how many
    conflicts it has. Raises DataError for what git does not merge: binary content, or
    it takes too long."""
    with TemporaryDirectory(prefix="mem-merge-") as folder:
        files = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, text in zip(files, (ours, base, theirs), strict=True):
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        process = git.run(
            ["merge-file", "-p", "-q", *options, "--", *map(str, files)], Path.cwd()
        )
    if not 0 <= process.returncode < 128 or (process.returncode and not process.stdout):
        raise DataError("git cannot merge it", "merge the two versions by hand")
    return process.stdout, process.returncode

"""Where rules for agents lie: the names of their files, and for what they hold."""

import os
import re
from pathlib import Path

from memcli.project import git
from memcli.text.matching import table, verbose

NAMES = table("exchange/rule_files.txt").split()
FOLDERS = (".cursor/rules", ".claude/rules", ".github/instructions")


@verbose
def _own_folder() -> str:
    """The folder in which a tool keeps the rules of the folder around it."""
    return r"""
        (?: ^ | / ) (?:
            \.cursor/rules | \.claude/rules | \.github/instructions
          | (?: \.github | \.claude ) \Z
        ) (?: / .* )? \Z
    """


def below_folder(name: str) -> tuple[str, ...]:
    """The glob of the files for which the rules of a file hold, none for all."""
    folder = _own_folder().sub("", os.path.dirname(name))
    literal = re.sub(r"([\\*?\[\]!#])", r"\\\1", folder)
    return (f"{literal}/**",) if folder else ()


def rule_files(path: Path) -> list[Path]:
    """The files with rules in a folder, and in those below it; each once."""
    inside = path.as_posix().endswith(FOLDERS)
    folders = [path] if inside else [path / folder for folder in FOLDERS]
    names = [*(path / name for name in NAMES), path / ".github" / NAMES[-1]]
    files = [name for name in names if name.is_file()]
    for folder in folders:
        files += files_below(folder, (".mdc", ".md"))
    if not inside:
        files += _deeper(path)
    once: dict[str, Path] = {}
    # one file under several names: it holds where the highest of them stands
    for file in sorted(files, key=lambda file: (len(file.parts), file.is_symlink())):
        once.setdefault(os.path.realpath(file), file)
    return list(once.values())


def _deeper(path: Path) -> list[Path]:
    """The files with rules in the folders below, of those that git tracks."""
    names = [f"*/{name}" for name in NAMES]
    names += [f"*/{folder}/*.{end}" for folder in FOLDERS for end in ("mdc", "md")]
    files = (path / name for name in git.tracked(path, *names))
    return [file for file in files if file.is_file()]


def files_below(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files below a folder whose names end so, without links and hidden folders."""
    files = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(base, name) for name in sorted(names) if name.endswith(suffixes))
        files += [path for path in paths if not path.is_symlink()]
    return files


def is_rule_file(path: Path, name: str) -> bool:
    """Whether a file is one with rules by its name, or by its folder."""
    folder = path.parent if path.is_file() else path / os.path.dirname(name)
    known = os.path.basename(name) in NAMES or name.endswith(".mdc")
    return known or folder.as_posix().endswith(FOLDERS)

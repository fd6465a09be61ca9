"""Get the packages of sources.toml:
`python -m tests.bench.vectors.fetch FOLDER [SOURCE...]`.

Debian packages and their sources come by apt-get, wheels by pip, tarballs by npm: into
`deb`, `src`, `pypi` and `npm` below the folder, each in the version that was trained on.
Debian's archive keeps the newest alone, its snapshots the others: what is gone is said,
and the newest comes instead. Sources are of trixie, the rest of bookworm; apt has to
know both. What is there is not fetched again. Nothing is installed or run.
"""

import subprocess
import sys
from pathlib import Path

from tests.bench.vectors.sources import SOURCES

COMMANDS = {
    "debian": ("deb", ["apt-get", "download", "-q"]),
    "source": ("src", ["apt-get", "source", "-q", "--download-only"]),
    "pypi": ("pypi", ["pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]),
    "npm": ("npm", ["npm", "pack", "--silent", "--ignore-scripts"]),
}


def came(command, package, folder):
    """Whether a package could be fetched, or a newer one of Debian."""
    if not subprocess.run([*command, package], cwd=folder).returncode:
        return True
    name = package.partition("=")[0]
    if command[0] != "apt-get":
        return False
    print(f"{package} is gone: the newest", flush=True)
    done = subprocess.run([*command, name], cwd=folder)
    return not done.returncode or any(folder.glob(f"{name}_*.orig.tar.*"))


def main():
    """0 when every package came."""
    folder = Path(sys.argv[1])
    only = set(sys.argv[2:])
    failed = []
    for name, source in SOURCES.items():
        if only and name not in only:
            continue
        if any(list(folder.glob(pattern)) for pattern in source["files"].split()):
            continue
        for kind, (below, command) in COMMANDS.items():
            (folder / below).mkdir(parents=True, exist_ok=True)
            for package in source.get(kind, "").split():
                print(package, flush=True)
                failed += [] if came(command, package, folder / below) else [package]
    print(f"missing: {' '.join(failed) or 'nothing'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

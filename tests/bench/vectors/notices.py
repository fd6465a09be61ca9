"""Print the table of docs/notices.md: `python notices.py FOLDER COUNTED.json TABLE`."""

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

HERE = Path(__file__).parent


def version_of(name: str) -> str:
    """The version in the name of a package's file."""
    name = re.sub(r"\.(tgz|deb|whl)$", "", unquote(name))
    if "_" in name and re.search(r"_(all|amd64)$", name):
        return name.split("_")[1]
    found = re.search(r"-v?(\d[\w.+]*)", name)
    return found[1] if found else ""


def main() -> None:
    """A row for each source, and the checksum of the table that ships."""
    folder, counted, table = map(Path, sys.argv[1:])
    pairs = json.loads(counted.read_text())
    print("| source | packages | version | licence | pairs |")
    print("| --- | --- | --- | --- | --: |")
    sources = tomllib.loads((HERE / "sources.toml").read_text())
    for name, source in sources.items():
        is_used = name in pairs or source.get("held")
        if not is_used:
            continue
        patterns = source["files"].split()
        files = [file for pattern in patterns for file in folder.glob(pattern)]
        where = next(kind for kind in ("debian", "pypi", "npm") if kind in source)
        packages = f"{where}: {source[where]}"
        # Those of other registries are named with their versions.
        found = {version_of(file.name) for file in files}
        versions = sorted(found) if where == "debian" else []
        said = "for scoring alone" if source.get("held") else f"{pairs.get(name, 0):,}"
        row = (name, packages, ", ".join(versions), source["licence"], said)
        print(f"| {' | '.join(row)} |")
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    print(f"\nSHA-256 of `{table.name}`: `{digest}`.")


if __name__ == "__main__":
    main()

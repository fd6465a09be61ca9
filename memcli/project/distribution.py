"""How this installation was made, and how to install it again, with extras or in CI."""

import importlib.util
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from memcli.errors import UsageError

NAME = "memfiles"  # the name of the distribution, which may differ from that of the package


def hint(extra: str = "", *, anew: bool = False) -> str:
    """The command that installs this program again with an extra; `anew` reinstalls
    everything."""
    spec = shlex.quote(requirement(extra))
    prefix = Path(sys.prefix)
    again = " --reinstall" if anew else ""
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install --force{again} {spec}"
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {spec}"
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install{again} --python {python} {spec}"
    return f"{python} -m pip install{' --force-reinstall' if anew else ''} {spec}"


def requirement(extra: str = "") -> str:
    """The pip requirement of this installation, with an extra: a URL, a folder, or its
    name."""
    ending = f"[{extra}]" if extra else ""
    address, folder = _origin()
    if address:
        return f"{NAME}{ending} @ {address}"
    return f"{folder}{ending}" if folder is not None else f"{NAME}{ending}"


def for_ci(tree_top: Path) -> str:
    """What CI should install: a URL with a commit, or a folder of the tree. A checkout
    elsewhere is named by the URL it came from, if the checked-out commit was published
    there. Raises UsageError if CI could not get it."""
    address, folder = _origin()
    # git+file: also means this machine
    if address and not urlsplit(address).scheme.endswith("file"):
        return f"{NAME} @ {address}"
    resolved = os.path.realpath(tree_top)
    if folder is not None and folder.is_relative_to(resolved):
        return f"./{folder.relative_to(resolved).as_posix()}"
    if folder is not None and (published := _published(folder)):
        return f"{NAME} @ {published}"
    raise UsageError(
        "CI cannot install this mem: it was installed from this machine",
        "give a pip requirement: mem init --ci --from "
        "'git+https://HOST/OWNER/NAME@COMMIT'",
    )


def _published(folder: Path) -> str:
    """The URL and commit of a checkout, "" if others cannot get exactly that. Uses only
    what git knows without the network: a remote branch contains the commit, and no file
    differs from it."""
    from memcli.project import git

    if git.work_tree(folder) != folder:
        return ""
    address = git.run(["remote", "get-url", "origin"], folder).stdout.strip()
    commit = git.run(["rev-parse", "HEAD"], folder).stdout.strip()
    holders = git.run(["branch", "--remotes", "--contains", "HEAD"], folder).stdout
    changes = git.run(["status", "--porcelain", "--untracked-files=no"], folder)
    is_web = urlsplit(address).scheme == "https" and "@" not in address
    is_same = changes.returncode == 0 and not changes.stdout
    return f"git+{address}@{commit}" if is_web and holders and is_same else ""


def _origin() -> tuple[str, Path | None]:
    """The URL this was installed from, with the commit; or the folder."""
    record = _direct_url()
    url = str(record.get("url", ""))
    vcs = record.get("vcs_info")
    if url.startswith("file:") and "dir_info" in record:
        from urllib.request import url2pathname  # imports HTTP, TLS and e-mail

        return "", Path(os.path.realpath(url2pathname(unquote(urlsplit(url).path))))
    if isinstance(vcs, dict):
        folder = record.get("subdirectory")
        tail = f"#subdirectory={folder}" if folder else ""
        commit = vcs.get("commit_id", "HEAD")
        return f"{vcs.get('vcs', 'git')}+{url}@{commit}{tail}", None
    checkout = Path(__file__).parents[2]  # run from there, never installed
    is_checkout = not url and (checkout / "pyproject.toml").is_file()
    return url, checkout if is_checkout else None


def _direct_url() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        values = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}

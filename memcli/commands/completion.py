"""mem completion: the script that completes a command line of mem in a shell."""

from contextlib import suppress
from importlib import metadata
from pathlib import Path

from memcli.errors import RefusedError, one_of
from memcli.project import distribution

SCRIPTS = {
    "bash": ("mem.bash", "share/bash-completion/completions/mem"),
    "zsh": ("_mem", "share/zsh/site-functions/_mem"),
    "fish": ("mem.fish", "share/fish/vendor_completions.d/mem.fish"),
}
"""By shell: the script's name in a checkout, and where an installation has it."""
CHECKOUT = Path(__file__).parents[2] / "completions"


def script(shell: str) -> str:
    """The text of the script: of the checkout's folder, else of the installed
    package."""
    one_of("shell", shell, tuple(SCRIPTS))
    name, installed = SCRIPTS[shell]
    places = [CHECKOUT / name]
    # Where the package's own record says it lies.
    with suppress(metadata.PackageNotFoundError):
        files = metadata.files(distribution.NAME) or ()
        places += (
            Path(str(each.locate())) for each in files if str(each).endswith(installed)
        )
    for place in places:
        if place.is_file():
            return place.read_text(encoding="utf-8")
    raise RefusedError(f"the script for {shell} was not installed", distribution.hint())

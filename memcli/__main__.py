"""`python -m memcli`, and the console script `mem`."""

import sys

if __name__ == "__main__" and __spec__ is not None and not sys.flags.safe_path:
    del sys.path[
        0
    ]  # `python -m` puts the working directory first, with a repository's modules

import gc
import os


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        if sys.argv[1:2] in (["recall"], ["hook"], ["index"]):
            gc.set_threshold(
                100_000
            )  # nearly all that is made in a short run lives to its end
        code = _run(sys.argv[1:])
        if sys.argv[1:2] in (["recall"], ["hook"]):
            leave(code)
    except (
        KeyboardInterrupt
    ):  # while modules are still being imported, or at the last flush
        code = 130
    sys.exit(code)


def leave(code: int) -> None:
    """End at once: taking the interpreter apart is a tenth of a recall; a thread may
    still wait."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
    os._exit(code)


def _run(arguments: list[str]) -> int:
    verb = arguments[:1]
    rest = arguments[1:]
    helped = bool({"-h", "--help"} & set(rest))
    if verb == ["merge-driver"] and not helped:
        from memcli.commands import (
            merge_driver,
        )  # git waits for it in every merge: no Typer

        return merge_driver.main(rest)
    if (
        verb == ["hook"]
        and rest[:1] != ["worker"]
        and os.environ.get("MEM_HOOK") == "off"
    ):
        return (
            0  # an agent that mem itself has started: what it does is nobody's memory
        )
    if verb == ["hook"] and not helped:
        from memcli.hooks import (
            protocol,
        )  # agents wait for it on every prompt: no Typer

        return protocol.main(rest)
    if verb in (["recall"], ["index"]):
        from memcli.cli import (
            fast,
        )  # recall runs on every prompt: no Typer for a plain line

        code = fast.run_plain(rest) if verb == ["recall"] else fast.run_index(rest)
        if code is not None:
            return code
    from memcli.cli.program import run

    return run(arguments)


if __name__ == "__main__":
    main()

"""`python -m memcli`, and the console script `mem`."""

import sys

if __name__ == "__main__" and __spec__ is not None and not sys.flags.safe_path:
    # `python -m` puts the working directory first, with a repository's modules
    del sys.path[0]

import gc
import os


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        verb = "".join(sys.argv[1:2])
        if verb in ("recall", "hook", "index"):
            # nearly all that is made in a short run lives to its end
            gc.set_threshold(100_000)
        code = _run(sys.argv[1:])
        if verb in ("recall", "hook"):
            leave(code)
    except KeyboardInterrupt:
        # while modules are still being imported, or at the last flush
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
    """Run a line, where somebody waits for it at every turn without Typer."""
    verb = "".join(arguments[:1])
    rest = arguments[1:]
    code: int | None = None
    if not {"-h", "--help"} & set(rest):
        code = _run_fast(verb, rest)
    if code is None:
        from memcli.cli.program import run

        return run(arguments)
    return code


def _run_fast(verb: str, rest: list[str]) -> int | None:
    """Run what git waits for in every merge, agents at every prompt, and a plain
    recall; None when the line needs Typer."""
    if verb == "merge-driver":
        from memcli.commands import merge_driver

        return merge_driver.main(rest)
    if verb == "hook":
        # an agent that mem itself has started: what it does is nobody's memory
        if os.environ.get("MEM_HOOK") == "off" and rest[:1] != ["worker"]:
            return 0
        from memcli.hooks import protocol

        return protocol.main(rest)
    if verb in ("recall", "index"):
        from memcli.cli import fast

        return fast.run_plain(rest) if verb == "recall" else fast.run_index(rest)
    return None


if __name__ == "__main__":
    main()

"""`python -m memcli`, and the console script `mem`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules are still being imported, or at the last flush
        code = 130
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["merge-driver"]:
        from memcli.commands import merge_driver  # git waits for it in every merge: no Typer

        return merge_driver.main(arguments[1:])
    if arguments[:1] == ["recall"]:
        from memcli.answer import run_plain  # it runs on every prompt: no Typer for a plain line

        code = run_plain(arguments[1:])
        if code is not None:
            return code
    from memcli.cli import run

    return run(arguments)


if __name__ == "__main__":
    main()

"""`python -m memcli`, and the console script `mem`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        from memcli.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules are still being imported, or at the last flush
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()

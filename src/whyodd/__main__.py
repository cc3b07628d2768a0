"""The ``whyodd`` command, also as ``python -m whyodd``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an interrupt while it is still being loaded ends like any other."""
    try:
        from whyodd.cli.app import main as run
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

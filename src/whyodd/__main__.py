"""The ``whyodd`` command, also as ``python -m whyodd``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. An interrupt while it still loads ends it like any other interrupt."""
    try:
        from whyodd.cli.app import main as run
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

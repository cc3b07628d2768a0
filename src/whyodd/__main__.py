"""``python -m whyodd``: the same as the ``whyodd`` command."""

from __future__ import annotations

from whyodd.cli.app import main

if __name__ == "__main__":
    main()

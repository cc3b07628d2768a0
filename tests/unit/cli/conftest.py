"""Standard error apart from standard output, whichever Click is installed."""

import inspect
from functools import partialmethod

from typer.testing import CliRunner

# Click 8.1 mixes the two unless it is told not to. From 8.2 on they are always apart.
if "mix_stderr" in inspect.signature(CliRunner).parameters:
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)

"""The ``whyodd`` command: what all commands share."""

from __future__ import annotations

import atexit
import gc
import sys
from copy import copy
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_name

from whyodd.cli.columns import columns
from whyodd.cli.demo import demo
from whyodd.cli.drift import drift
from whyodd.cli.evaluate import evaluate
from whyodd.cli.explain import explain
from whyodd.cli.feedback import accept, feedback, reject
from whyodd.cli.fit import fit
from whyodd.cli.image import image
from whyodd.cli.models import models
from whyodd.cli.paper import paper
from whyodd.cli.score import score
from whyodd.cli.series import series
from whyodd.cli.serve import serve
from whyodd.cli.text import text
from whyodd.cli.warm_up import warm_up
from whyodd.cli.watch import watch
from whyodd.io.imports_on_demand import import_on_demand
from whyodd.io.terminal import printable
from whyodd.version import __version__


class _OneSentenceErrors(TyperGroup):
    """Group whose commands answer a mistake with one sentence on standard error, not with a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _say("Interrupted.")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise  # `whyodd demo | head` is not an error; typer ends quietly
        except (OSError, ValueError, ModuleNotFoundError) as error:
            _say(f"Error: {printable(_sentence(error))}")
            raise typer.Exit(1) from None
        except MemoryError:
            _say("Error: there is not enough memory. Use fewer rows or columns.")
            raise typer.Exit(1) from None


def _sentence(error: Exception) -> str:
    """The text of an error; an error from the operating system names the file first.

    Without a file it is what is printed to: all others are opened by name.
    """
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename or 'cannot print the results'}: {error.strerror}. Choose another place."


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whyodd {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_OneSentenceErrors,
    help="Find what is odd in your data, and see why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(explain)
app.command()(columns)
app.command()(fit)
app.command()(score)
app.command()(accept)
app.command()(reject)
app.command()(feedback)
app.command()(watch)
app.command()(drift)
app.command()(evaluate)
app.command()(image)
app.command()(series)
app.command()(text)
app.command()(models)
app.command()(serve)
app.command()(warm_up)
app.command()(paper)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] != ["serve"]:  # it answers in threads
        import_on_demand()
    # What modules hold is no garbage: it is searched for some less often, and no more at the end.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # names and values may hold letters that a terminal lacks
    # Typer builds every command before it runs one, unless there is only the one that people asked for.
    named = [
        c
        for c in app.registered_commands
        if c.callback and get_command_name(c.callback.__name__) in sys.argv[1:2]
    ]
    chosen = copy(app)
    chosen.registered_commands = named or app.registered_commands
    chosen()

"""The ``whyodd`` command in a process of its own, which need not import everything anew."""

import atexit
import multiprocessing
import multiprocessing.util  # it waits for children at the end: its turn comes after ours
import os
import signal
import sys

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        *("polars", "skops.io", "matplotlib.pyplot"),
        *("whyodd.cli.tables", "whyodd.cli.watch_run", "whyodd.cli.app", "whyodd.findings.find"),
    ]
)


def start(arguments, output, errors, source=os.devnull):
    """Start the command; it reads the file ``source``, and prints to the files ``output`` and ``errors``.

    Returns
    -------
    multiprocessing.Process
    """
    process = _CONTEXT.Process(
        target=_play, args=(list(map(str, arguments)), str(output), str(errors), str(source))
    )
    process.start()
    # A test that fails leaves its process behind, and the run would wait for it for ever. A daemon could not
    # have children of its own.
    atexit.register(process.kill)
    return process


def _play(arguments, output, errors, source):
    os.dup2(os.open(source, os.O_RDONLY), 0)
    for number, path in ((1, output), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOCTTY), number)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["whyodd", *arguments]
    from whyodd.cli.app import main

    try:
        main()
    finally:
        sys.stdout = None  # multiprocessing would flush it again, and stumble once more

"""The ``whyodd`` command in a process of its own, which need not import everything anew."""

import multiprocessing
import os
import signal
import sys

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["polars", "skops.io", "whyodd.cli.tables", "whyodd.cli.app"])


def start(arguments, output, errors):
    """Start the command; what it prints goes to the files ``output`` and ``errors``.

    Returns
    -------
    multiprocessing.Process
    """
    process = _CONTEXT.Process(target=_play, args=(list(map(str, arguments)), str(output), str(errors)))
    process.start()
    return process


def _play(arguments, output, errors):
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

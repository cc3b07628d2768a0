"""Blocks of rows over threads: one block per thread at a time, BLAS held to one thread inside."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# A block of about a million similarities: large enough for matrix products at full speed, small enough for
# the last-level cache.
BLOCK_ELEMENTS = 1 << 20
# Products of fewer rows would read many centers from memory too often.
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 128, 1024
# Rows to ask first: enough to tell what most are like; one in so many, as the answer may be no.
_LEAST_PROBED, _ONE_IN = 8, 128
# Pairs below which starting threads costs more than they save.
WORTH_A_THREAD = 1 << 20


def count_threads(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``: all available cores for None or -1, else at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r}: expected a whole number of threads, or None for all cores.")
    return int(n_jobs) if n_jobs > 0 else max(cores + 1 + int(n_jobs), 1)


def block_rows(
    n: int,
    threads: int,
    bytes_per_row: int,
    elements_per_row: int,
    memory_mb: float,
    most: int = MAX_BLOCK_ROWS,
) -> int:
    """Rows per block, so that all threads are busy to the end and all blocks stay within the given memory."""
    by_cache = max(BLOCK_ELEMENTS // max(elements_per_row, 1), MIN_BLOCK_ROWS)
    by_memory = int(min(memory_mb * 2**20 / threads / max(bytes_per_row, 1), most))
    by_threads = -(-n // threads)
    size = max(min(by_cache, by_memory, by_threads, most), 1)
    # As many blocks of like size for each thread: the others would wait for a last one.
    turns = -(-n // (size * threads))
    return max(-(-n // (turns * threads)), 1) if n else size


def probed_rows(n: int, most: int = 32) -> NDArray[np.intp]:
    """A few of n rows, evenly spread: they tell what will serve the others."""
    count = int(np.clip(n // _ONE_IN, _LEAST_PROBED, most))
    return np.unique(np.linspace(0, n - 1, count).astype(np.intp))


class Blocks:
    """Ranges of rows handed out one after the other to whichever thread asks, with progress."""

    def __init__(self, n: int, size: int, progress: Callable[[int], None] | None) -> None:
        self.count = -(-n // size)
        self._starts = iter(range(0, n, size))
        self._n, self._size = n, size
        self._progress = progress
        self._done = 0
        self._lock = Lock()
        self._stopped = False

    def __iter__(self) -> Iterator[slice]:
        while True:
            with self._lock:
                start = None if self._stopped else next(self._starts, None)
            if start is None:
                return
            rows = slice(start, min(start + self._size, self._n))
            yield rows
            self._report(rows.stop - rows.start)

    def stop(self) -> None:
        """Hand out no more blocks: every thread ends after its present one."""
        self._stopped = True

    def _report(self, rows: int) -> None:
        if self._progress is not None:
            with self._lock:
                self._done += rows
                self._progress(self._done)


def run(blocks: Blocks, threads: int, work: Callable[[Blocks], Any]) -> None:
    """Let ``threads`` threads each ``work`` through the shared blocks; an interrupt stops all of them.

    One block is left to one thread, and to as many of BLAS as were allowed.
    """
    if blocks.count == 1 and threads > 1:
        work(blocks)
        return
    if threads == 1:
        with single_threaded_blas():
            work(blocks)
        return
    with single_threaded_blas(), ThreadPoolExecutor(min(threads, blocks.count)) as pool:
        futures = [pool.submit(work, blocks) for _ in range(min(threads, blocks.count))]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            blocks.stop()
        for future in futures:
            future.result()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold every BLAS in the process to one thread.

    The limit is a property of the process and must be taken back by the thread that set it: while one caller
    holds it, others go ahead under it.
    """
    if not _HOLD.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _HOLD.release()


@contextmanager
def openmp_threads(threads: int) -> Iterator[None]:
    """Let compiled code that brings its own threads use this many, for the calling thread."""
    with _controller().limit(limits=threads, user_api="openmp"):
        yield


_HOLD = Lock()


@cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, so it is done once.
    return ThreadpoolController()

"""Rows handed out once, progress that adds up, failures that surface, BLAS left as it was."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from whyodd.compute.blocks import (
    Blocks,
    block_rows,
    count_threads,
    probed_rows,
    run,
    single_threaded_blas,
)

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(None, CORES), (-1, CORES), (-2, max(CORES - 1, 1)), (-10_000, 1), (1, 1), (3, 3), (np.int64(3), 3)],
)
def test_threads_for_n_jobs(n_jobs, expected):
    assert count_threads(n_jobs) == expected


def test_zero_jobs_are_a_clear_error():
    with pytest.raises(ValueError, match=r"n_jobs=0: expected a whole number of threads, or None"):
        count_threads(0)


def test_a_fraction_of_jobs_is_a_clear_error():
    with pytest.raises((TypeError, ValueError), match="n_jobs"):
        count_threads(2.5)


@pytest.mark.parametrize("n", [1, 7, 10**6, 10**12])
@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize("m", [1, 500, 10**5, 10**9])
@pytest.mark.parametrize("memory_mb", [1e-9, 1.0, 256.0, 1e9])
def test_a_block_has_at_least_a_row_at_most_its_share_and_fits_into_memory(n, threads, m, memory_mb):
    rows = block_rows(n, threads, 16 * m, m, memory_mb)
    assert isinstance(rows, int)
    assert 1 <= rows <= -(-n // threads)
    # One row per thread is the least there can be.
    assert rows == 1 or rows * threads * 16 * m <= memory_mb * 2**20


@pytest.mark.parametrize("n", [7, 4096, 20_000])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("m", [20, 1000, 4096])
def test_every_thread_has_as_many_blocks_of_like_size(n, threads, m):
    rows = block_rows(n, threads, 16 * m, m, 256.0)
    blocks = -(-n // rows)
    assert blocks % threads == 0 or rows < threads
    # All blocks but the last have ``rows``: the last lacks less than one row for each block.
    assert blocks * rows - n < blocks


@pytest.mark.parametrize(("n", "count"), [(1, 1), (5, 5), (1000, 8), (2560, 20), (10**6, 32)])
def test_probed_rows_are_few_and_from_end_to_end(n, count):
    rows = probed_rows(n)
    assert rows.size == count
    assert rows[0] == 0
    assert rows[-1] == n - 1


def test_blocks_of_empty_rows_are_possible():
    assert block_rows(10, 1, 0, 0, 1.0) == 10


def test_unlimited_memory_is_possible():
    assert block_rows(10, 1, 8, 1, np.inf) >= 1


def handed_out(n, size, threads, *, pause=0.0):
    seen, lock = [], threading.Lock()

    def work(blocks):
        for rows in blocks:
            time.sleep(pause)
            with lock:
                seen.append(rows)

    run(Blocks(n, size, None), threads, work)
    return seen


@pytest.mark.parametrize(("n", "size"), [(1, 1), (10, 3), (1000, 1), (1000, 7), (5, 100)])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_each_row_is_handed_out_exactly_once(n, size, threads):
    seen = handed_out(n, size, threads)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([np.arange(n)[rows] for rows in seen])), np.arange(n)
    )
    assert max(rows.stop - rows.start for rows in seen) <= size


def test_several_threads_take_part():
    names, both = set(), threading.Barrier(2, timeout=30)

    def work(blocks):
        for _ in blocks:
            if len(names) < 2:
                names.add(threading.current_thread().name)
                both.wait()

    run(Blocks(2, 1, None), 2, work)
    assert len(names) == 2


def test_a_single_block_is_done_in_the_calling_thread():
    seen = []
    run(Blocks(3, 5, None), 8, lambda blocks: seen.extend(threading.current_thread() for _ in blocks))
    assert seen == [threading.current_thread()]


@pytest.mark.parametrize("threads", [1, 4])
def test_progress_is_cumulative_and_ends_at_the_number_of_rows(threads):
    told = []
    run(Blocks(103, 10, told.append), threads, lambda blocks: [None for _ in blocks])
    assert told == sorted(set(told))
    assert len(told) == 11
    assert told[-1] == 103


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_failure_in_one_thread_surfaces_and_stops_the_others(threads):
    done, failed, lock = [], threading.Event(), threading.Lock()

    def work(blocks):
        for rows in blocks:
            if rows.start == 20:
                failed.set()
                raise RuntimeError("block 20")
            if failed.is_set():
                time.sleep(0.005)
            with lock:
                done.append(rows.start)

    with pytest.raises(RuntimeError, match="block 20"):
        run(Blocks(10_000, 1, None), threads, work)
    assert len(done) < 2_000


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_an_interrupt_from_the_progress_callback_stops_everything(kind, threads):
    told = []

    def progress(done):
        told.append(done)
        if done >= 5:
            raise kind

    with pytest.raises(kind):
        run(Blocks(10_000, 1, progress), threads, lambda blocks: [time.sleep(0.001) for _ in blocks])
    assert 5 <= max(told) < 2_000


def test_an_interrupt_while_the_main_thread_waits_stops_the_threads(monkeypatch):
    seen = []

    def interrupted(*_, **__):
        while len(seen) < 5:
            time.sleep(0.001)
        raise KeyboardInterrupt

    def work(blocks):
        for rows in blocks:
            seen.append(rows.start)
            time.sleep(0.001)

    monkeypatch.setattr("whyodd.compute.blocks.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(Blocks(10_000, 1, None), 2, work)
    assert len(seen) < 2_000
    count = len(seen)
    time.sleep(0.02)
    assert len(seen) == count  # no thread is left behind


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def _two_blas_threads():
    with threadpool_limits(2, user_api="blas"):
        if 2 not in blas_threads():
            pytest.skip("this BLAS has one thread")
        yield


@pytest.mark.usefixtures("_two_blas_threads")
def test_blas_has_one_thread_inside_and_as_many_as_before_afterwards():
    inside = []
    before = blas_threads()
    run(Blocks(4, 1, None), 2, lambda blocks: [inside.extend(blas_threads()) for _ in blocks])
    assert set(inside) == {1}
    assert blas_threads() == before


@pytest.mark.usefixtures("_two_blas_threads")
def test_blas_gets_its_threads_back_after_a_failure():
    before = blas_threads()

    def fail(_):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        run(Blocks(4, 1, None), 2, fail)
    assert blas_threads() == before


@pytest.fixture
def _blas_restored():
    """Whatever the test leaves behind."""
    before = threadpool_info()
    yield
    threadpool_limits(before)


@pytest.mark.skipif(CORES == 1, reason="BLAS has one thread anyway")
@pytest.mark.usefixtures("_blas_restored")
def test_blas_gets_its_threads_back_when_two_callers_overlap():
    before = blas_threads()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        with single_threaded_blas():
            first_in.set()
            assert second_in.wait(10)
        first_out.set()

    def second():
        assert first_in.wait(10)
        with single_threaded_blas():
            second_in.set()
            assert first_out.wait(10)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(first), pool.submit(second)]:
            future.result(timeout=30)
    assert blas_threads() == before

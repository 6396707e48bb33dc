"""Work over rows is the same in any number of threads."""

import threading
import time

import numpy as np
import pytest

from shaketable.core.threads import count_threads, map_ahead, run_over_rows


@pytest.mark.parametrize("threads", ["1", "3"])
def test_all_rows_are_worked_on_once(monkeypatch, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    ranges, names = [], set()

    def add(x, out, step):
        ranges.append(len(x))
        names.add(threading.current_thread().name)
        out += x + step

    x = np.arange(2_000_000.0).reshape(1000, 2000)
    out = np.zeros_like(x)
    run_over_rows(add, x, out, settings=(0.5,))
    np.testing.assert_array_equal(out, x + 0.5)
    assert sum(ranges) == 1000
    assert (len(ranges) > 1) == (threads == "3")
    assert (names == {threading.current_thread().name}) == (threads == "1")


def test_little_work_stays_in_this_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    names = []
    run_over_rows(lambda out: names.append(threading.current_thread().name), np.zeros((10, 10)))
    assert names == [threading.current_thread().name]


def test_errors_of_threads_are_raised(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")

    def fail(out):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_over_rows(fail, np.zeros((1000, 2000)))


@pytest.mark.parametrize(("value", "expected"), [("3", 3), ("1", 1)])
def test_the_number_of_threads_can_be_set(monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert count_threads() == expected


@pytest.mark.parametrize("value", ["", "0", "-2", "many"])
def test_otherwise_there_is_one_thread_per_core(monkeypatch, value):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    expected = count_threads()
    assert expected >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert count_threads() == expected


@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_results_come_in_order_and_few_are_made_ahead(monkeypatch, ahead):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    started, names = [], set()
    both = threading.Barrier(2, timeout=600)

    def square(i):
        started.append(i)
        names.add(threading.current_thread().name)
        if ahead == 5 and i < 2:
            both.wait()  # each for the other, so that there must be two threads
        time.sleep(0.002 * (3 - i % 3))
        return i * i

    results = []
    for i, result in enumerate(map_ahead(square, range(12), ahead=ahead)):
        results.append(result)
        assert len(started) <= i + 1 + ahead
    assert results == [i * i for i in range(12)]
    assert (threading.current_thread().name in names) == (ahead == 0)
    assert len(names) <= 3
    assert len(names) > 1 or ahead < 5


def test_a_result_is_made_while_the_one_before_is_used():
    made = threading.Event()
    results = map_ahead(lambda i: made.set() if i == 1 else None, range(2), ahead=1)
    next(results)
    assert made.wait(timeout=600)


def test_compiled_loops_stay_in_the_thread_of_their_item(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert list(map_ahead(lambda _: count_threads(), range(3), ahead=2)) == [1, 1, 1]
    assert list(map_ahead(lambda _: count_threads(), range(3), ahead=0)) == [3, 3, 3]
    assert count_threads() == 3


def test_work_ahead_stops_at_an_error_and_when_nobody_asks_any_more(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    started = []

    def fail(i):
        started.append(i)
        return 1 / (2 - i)

    results = map_ahead(fail, range(1000), ahead=2)
    assert next(results) == 0.5
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert len(started) < 10
    left = map_ahead(fail, [0, 1, 0, 1, 0, 1, 0, 1], ahead=2)
    next(left)
    left.close()
    assert len(started) < 20

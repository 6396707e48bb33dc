"""Work over rows is the same in any number of threads."""

import threading

import numpy as np
import pytest

from shaketable.core.threads import count_threads, run_over_rows


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

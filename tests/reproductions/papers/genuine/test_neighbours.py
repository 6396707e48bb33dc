"""Counts behind Table 1, the analogue of Tables 1 and 2, and Table 3 on small data."""

import numpy as np
import pytest
from scipy.stats import binomtest

import shaketable as st
from shaketable.adversary.agreement import Agreement
from shaketable.core.errors import InputError
from shaketable.reproductions.papers.genuine import neighbours
from shaketable.reproductions.published import load_published


def judge(found):
    return {j.claim: j.verdict for j in found.judgements}


@pytest.fixture
def tiny(monkeypatch):
    regimes = neighbours._DIGITS.regimes[:1]
    small = neighbours._Analogue("bands(n=200)", "mlp(width=8)", 4, 50, regimes)
    monkeypatch.setattr(neighbours, "_DIGITS", small)
    monkeypatch.setattr(neighbours, "_SHAPES", small)


def test_counts_behind_table_1():
    table = load_published("genuine-table1")
    both = [
        neighbours.find_counts(table, rows) for rows in neighbours._group_brackets(table).values()
    ]
    counts = [(a.differing, a.first, a.second) for found in both for a in found]
    assert counts == [(154, 30, 16), (154, 49, 40), (54, 7, 11), (54, 13, 16)]


def test_sums_of_binomials():
    for counts in ((30, 16), (7, 11), (5, 5), (0, 0), (0, 9)):
        found = Agreement(100, *counts)
        n = sum(counts)
        exact = binomtest(counts[0], n).pvalue if n else 1.0
        assert neighbours._sum_binomial(found) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("name", ["genuine-table1", "genuine-table2"])
def test_the_procedure_of_the_analogue(tiny, name):
    verdicts = judge(st.reproduce(name))
    assert {v for k, v in verdicts.items() if "learned" not in k} == {"holds"}


def test_another_test_is_noticed(tiny, monkeypatch):
    exact = Agreement.p_value.fget
    monkeypatch.setattr(Agreement, "p_value", property(lambda self: exact(self) / 2))
    with pytest.raises(ValueError, match="no counts"):
        st.reproduce("genuine-table1")
    verdicts = judge(st.reproduce("genuine-table2"))
    assert verdicts["our p-values are sums of binomial probabilities"] == "fails"


def make_file(path, shape, classes=10):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (60, *shape), dtype=np.uint8)
    y = np.arange(60) % classes
    np.savez(path, x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])


def test_both_sets_of_a_folder_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "_PART", 10)
    monkeypatch.setitem(neighbours._LEFT_OUT, "MNIST", 5)
    make_file(tmp_path / "a.npz", (28, 28))
    make_file(tmp_path / "b.npz", (32, 32, 3))
    found = st.reproduce("genuine-table3", data=tmp_path)
    assert len(found.judgements) == 6
    assert found.verdict == "fails"  # these are no images
    only = st.reproduce("genuine-table3", data=tmp_path / "b.npz", form="full")
    assert len(only.judgements) == 3
    (print_,) = [t for t in only.measured.tables if t.key == "print"]
    assert [n.printed.value for n in print_.numbers[1:]] == [0.1722, 0.2427, 0.1773, 0.2242]


def test_other_data_are_refused(tmp_path):
    make_file(tmp_path / "a.npz", (8, 8))
    with pytest.raises(InputError, match="28 x 28"):
        st.reproduce("genuine-table3", data=tmp_path / "a.npz")
    with pytest.raises(InputError, match="MNIST"):
        st.reproduce("genuine-table3")

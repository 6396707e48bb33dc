"""Counts behind Table 1, and the analogue of Tables 1 and 2."""

from dataclasses import replace

import pytest
from scipy.stats import binomtest

import shaketable as st
from helpers.commands import run_failing
from helpers.trainings import write_images
from shaketable.adversary.agreement import Agreement
from shaketable.reproductions.papers.genuine import agreements
from shaketable.reproductions.published import load_published


def judge(found):
    return {j.claim: j.verdict for j in found.judgements}


@pytest.fixture
def tiny(monkeypatch):
    regimes = agreements._DIGITS.regimes[:1]
    small = agreements._Analogue("bands(n=200)", "mlp(width=8)", 4, 50, regimes)
    monkeypatch.setattr(agreements, "_DIGITS", small)
    monkeypatch.setattr(agreements, "_SHAPES", small)
    some = replace(small, data="", points=15, train_points=30, shape=(32, 32, 3))
    monkeypatch.setattr(agreements, "_SOME_MNIST", some)
    monkeypatch.setattr(agreements, "_SOME_CIFAR", some)


def test_counts_behind_table_1(tiny):
    numbers = st.reproduce("genuine-table1").numbers.by_name
    columns = ("differing", "not adversarially trained", "adversarially trained")
    counts = [
        tuple(numbers[f"counts: {row} / {column}"].value for column in columns)
        for row in load_published("genuine-table1").rows
    ]
    assert counts == [(154, 30, 16), (154, 49, 40), (54, 7, 11), (54, 13, 16)]
    for row, (_, *pair) in zip(load_published("genuine-table1").rows, counts, strict=True):
        exact = binomtest(int(pair[0]), int(sum(pair))).pvalue
        assert numbers[f"p-values: {row}"].value == pytest.approx(exact, rel=1e-12)


def test_sums_of_binomials():
    for counts in ((30, 16), (7, 11), (5, 5), (0, 0), (0, 9)):
        found = Agreement(100, *counts)
        n = sum(counts)
        exact = binomtest(counts[0], n).pvalue if n else 1.0
        assert agreements._sum_binomial(found) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("name", ["genuine-table1", "genuine-table2"])
def test_the_procedure_of_the_analogue(tiny, name):
    verdicts = judge(st.reproduce(name))
    assert {v for k, v in verdicts.items() if "learned" not in k} == {"holds"}


@pytest.mark.parametrize("name", ["genuine-table1", "genuine-table2"])
def test_the_fast_form_takes_some_of_the_given_data(tiny, name, tmp_path):
    path = write_images(tmp_path / "images.npz", n_train=40, n_test=20)
    found = st.reproduce(name, data=path)
    assert "30 of 40 training points" in found.settings["Data"]
    assert "15 of 20 test points" in found.settings["Data"]
    own = (n for key, n in found.numbers.by_name.items() if key.startswith("counts-ours"))
    assert max(n.value for n in own) <= 15


def test_networks_are_trained_once(tiny, monkeypatch, tmp_path):
    first = st.reproduce("genuine-table2", out=tmp_path)
    monkeypatch.setattr(agreements, "_train_anew", None)  # would be an error
    again = st.reproduce("genuine-table2", out=tmp_path)
    assert [*again.numbers.by_name] == [*first.numbers.by_name]
    for name, number in first.numbers.by_name.items():
        assert again.numbers.by_name[name].value == number.value
    with pytest.raises(TypeError):
        st.reproduce("genuine-table2", out=tmp_path, seed=1)


def test_time_is_enough_in_the_end(tiny, monkeypatch, tmp_path):
    regimes = [("a", 2.0, "pgd_at(2, norm=2, steps=1)"), ("b", 2.0, "pgd_at(1, norm=2, steps=1)")]
    monkeypatch.setattr(agreements, "_SHAPES", replace(agreements._SHAPES, regimes=regimes))
    clock = iter(range(0, 10**6, 100))
    monkeypatch.setattr(agreements, "monotonic", lambda: next(clock))
    found = st.reproduce("genuine-table2", out=tmp_path, minutes=1)
    assert found.measured.unfinished == (
        "1 of 2 adversarial trainings are done; the same command goes on"
    )
    assert st.reproduce("genuine-table2", out=tmp_path, minutes=60).measured.unfinished == ""


@pytest.mark.parametrize("form", ["fast", "gpu"])
def test_data_of_another_shape_are_refused(form, tmp_path, capsys):
    path = write_images(tmp_path / "images.npz", n_train=20, n_test=10, size=8)
    for name, wanted in (("genuine-table1", "MNIST"), ("genuine-table2", "CIFAR-10")):
        words = ["reproduce", name, "--form", form, "--data", str(path), "--device", "cpu"]
        message = run_failing(capsys, *words)
        assert f"--data must be {wanted}, images of" in message
        assert "points of 8 x 8 x 3 values" in message


SHARES = "counts give the printed shares"
P_VALUES = "their p-values, by McNemar's exact test, round to the printed ones"
SUMS = "our p-values are sums of binomial probabilities"


def test_another_test_is_noticed(tiny, monkeypatch):
    exact = Agreement.p_value.fget
    monkeypatch.setattr(Agreement, "p_value", property(lambda self: exact(self) * 1.3))
    found = st.reproduce("genuine-table1")
    verdicts = judge(found)
    assert (verdicts[P_VALUES], verdicts[SUMS], verdicts[SHARES]) == ("fails", "fails", "holds")
    assert found.exit_code == 1
    assert judge(st.reproduce("genuine-table2"))[SUMS] == "fails"


def test_other_shares_are_noticed(tiny, monkeypatch):
    shares = Agreement.shares.fget
    doubled = property(lambda self: tuple(2 * share for share in shares(self)))
    monkeypatch.setattr(Agreement, "shares", doubled)
    verdicts = judge(st.reproduce("genuine-table1"))
    assert (verdicts[SHARES], verdicts[P_VALUES]) == ("fails", "holds")

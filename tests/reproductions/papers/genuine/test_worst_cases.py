"""Toy example, sunset data and Theorem 2: closed forms, and claims that notice a change."""

import numpy as np
import pytest

import shaketable as st
from shaketable.models.builtin import f3, oracle
from shaketable.reproductions.papers.genuine import worst_cases


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(worst_cases, "_TOY_SIZES", (0.255, 0.755, 1.255, 2.255, 3.055))
    monkeypatch.setattr(worst_cases, "_SUNSET", 100)
    monkeypatch.setattr(worst_cases, "_SUNSET_SIZES", (0.1, 0.25))
    monkeypatch.setattr(worst_cases, "_SETS", ("toy1d(n=20)", "sunset(n=40)"))
    monkeypatch.setattr(worst_cases, "_SEARCHED", ())
    monkeypatch.setattr(worst_cases, "_NORMS", (2.0, float("inf")))


def judge(found):
    return {j.claim: j.verdict for j in found.judgements}


def test_toy_curves_are_closed_forms():
    found = st.reproduce("genuine-toy")
    assert {v for k, v in judge(found).items() if "area" not in k} == {"holds"}


def test_a_wrong_classifier_is_noticed(monkeypatch):
    def f3_moved(x):
        return f3(x - 0.25)

    f3_moved.__name__ = "f3"
    monkeypatch.setattr(worst_cases, "_STEPS", (*worst_cases._STEPS[:2], f3_moved))
    verdicts = judge(st.reproduce("genuine-toy"))
    assert (
        verdicts["standard accuracy cannot tell f2 from f3: no difference at any size"] == "fails"
    )


def test_distances_to_the_parabola():
    places = np.array([[0.0, 1.5], [1.0, 0.0], [-1.0, 1.0]])
    grid = np.linspace(-4, 4, 400_001)
    nearest = [np.hypot(grid - a, grid**2 / 4 - b).min() for a, b in places]
    found = worst_cases._reach_parabola(places, np.ones(3, bool))
    np.testing.assert_allclose(found, nearest, atol=1e-8)
    assert (oracle(places) == ["A", "B", "A"]).all()


def test_standard_accuracy_of_sunset_is_known(monkeypatch):
    monkeypatch.setattr(worst_cases, "_GROWING", (30, 60))
    monkeypatch.setattr(worst_cases, "_SEPARATIONS", (100, 1000))
    verdicts = judge(st.reproduce("genuine-sunset"))
    standard = "standard accuracy is the share of points farther than epsilon from a boundary"
    theorem = "genuine accuracy of 1-NN on the points is 1 at every size, proven"
    assert verdicts[standard] == verdicts[theorem] == "holds"


def test_theorem_2_is_proven_and_needs_its_proof(monkeypatch):
    found = st.reproduce("genuine-1nn")
    assert judge(found)["genuine accuracy is 1 at every size, proven"] == "holds"
    monkeypatch.setattr(worst_cases, "THEOREM_2", "another theorem")
    found = st.reproduce("genuine-1nn")
    assert judge(found)["genuine accuracy is 1 at every size, proven"] == "fails"

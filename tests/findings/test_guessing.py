"""A clean accuracy that is not better than guessing is pointed out."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import shaketable as st
from shaketable.findings.guessing import note_guessing
from shaketable.findings.results import find
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_share

RNG = np.random.default_rng(0)
Y = np.arange(200) % 4
X = RNG.integers(0, 40, (200, 8, 8), dtype=np.uint8) + (60 * Y[:, None, None]).astype(np.uint8)


def trained_on_levels(x):
    """Right on values from 0 to 255."""
    return np.clip(np.asarray(x).reshape(len(x), -1).mean(axis=1) // 60, 0, 3).astype(int)


def trained_on_fractions(x):
    """Right on values from 0 to 1."""
    return trained_on_levels(255 * x)


def test_a_model_of_other_units_is_pointed_out_everywhere(tmp_path, capsys):
    records = st.evaluate(trained_on_levels, (X, Y), "linf(0.01)", k=1)
    results = find(records)
    (note,) = (note for note in results.json()["notes"] if "clean accuracy" in note)
    assert note.startswith("trained_on_levels (25.00 %): clean accuracy is hardly above")
    assert "that of always answering 0, 25.00 %, or below it;" in note
    assert "outside the range that the model was trained on" in note
    results.print()
    assert "outside the range" in capsys.readouterr().err
    page = st.report(records, tmp_path / "page.html")
    assert "outside the range" in page.read_text()
    assessment = st.assess(trained_on_levels, (X[:100], Y[:100]), (X[100:], Y[100:]))
    assert "outside the range" in str(assessment)
    worst = st.worst_case(trained_on_levels, (X, Y), [0.01], norm="inf")
    assert "outside the range" in worst.json()["notes"][-1]


def test_a_model_in_its_range_is_not_pointed_out():
    for model, x in ((trained_on_fractions, X), (trained_on_levels, X.astype(np.float32))):
        records = st.evaluate(model, (x, Y), "linf(0.01)", k=1)
        assert records.cells[0].accuracy == 1
        assert not any("clean accuracy" in note for note in find(records).notes)


@pytest.mark.parametrize(
    ("value", "low", "high", "near"),
    [
        (0.62, 0.56, 0.68, True),
        (0.62, 0.61, 0.63, False),  # better than the most frequent class, by little
        (0.30, 0.25, 0.35, True),  # worse than it
        (0.71, 0.40, 0.90, False),  # few points: the interval says nothing
        (0.69, 0.55, 0.80, True),
    ],
)
def test_the_rate_of_the_most_frequent_class_decides(value, low, high, near):
    y = np.array([1] * 6 + [0] * 2 + [2] * 2)
    clean = Estimate(value, low, high, 0.95, "by hand")
    always = np.ones(10, dtype=int)
    assert bool(note_guessing("net", clean, y, always, ("a", "b", "c"))) == near


def make_uneven(found, false, n=600, rare=72):
    """Classes of which one is rare, and answers that find some of it and raise false alarms."""
    y, answers = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    y[:rare], answers[:found], answers[rare : rare + false] = 1, 1, 1
    return y, answers


@pytest.mark.parametrize(
    ("found", "false", "points_out"),
    [
        (24, 12, False),  # a sound model: 90.00 %, always answering 0 has 88.00 %
        (40, 60, False),  # sound and trained for balanced classes: 84.67 %
        (0, 0, True),  # always answers 0
        (4, 6, True),  # nearly always
        (12, 88, True),  # as often by chance
        (2, 0, True),  # too few to speak of
    ],
)
def test_answers_decide_where_classes_are_uneven(found, false, points_out):
    y, answers = make_uneven(found, false)
    records = st.evaluate(lambda x: answers[x[:, 0].astype(int)], (np.arange(600), y), (), k=1)
    assert any("outside the range" in note for note in find(records).notes) == points_out


@pytest.mark.parametrize(("noise", "knows"), [(0.0, True), (0.5, True), (1.0, False)])
def test_agreement_by_chance_has_its_law(noise, knows):
    # kappa and its variance are those over all orders of the answers
    y, answers = np.arange(90) % 3, np.arange(90) % 3
    rng = np.random.default_rng(1)
    mixed = np.where(rng.random(90) < noise, rng.permutation(answers), answers)
    orders = [(rng.permutation(mixed) == y).sum() for _ in range(4000)]
    far = ((mixed == y).sum() - np.mean(orders)) / np.std(orders)
    assert (far > 1.96) == knows
    clean = Estimate(0.33, 0.2, 0.4, 0.95, "by hand")
    assert bool(note_guessing("net", clean, y, mixed, ("a", "b", "c"))) == (not knows)


def test_answers_that_are_no_class_of_the_data_are_no_knowledge():
    y = np.array([0, 1] * 20)
    clean = Estimate(0.0, 0.0, 0.1, 0.95, "by hand")
    assert note_guessing("net", clean, y, np.full(40, -1), ("a", "b"))


def test_a_model_trained_here_has_other_causes():
    records = st.study((X[:40], Y[:40]), DummyClassifier(), train_eps=[0.5], runs=1, k=1)
    (note,) = (note for note in find(records).notes if "clean accuracy" in note)
    assert "training that is too short for this model, or noise that hides the classes" in note


def test_a_model_that_evaluate_trains_is_not_told_of_ranges_alone():
    x = np.random.default_rng(0).random((80, 2))
    records = st.evaluate(DummyClassifier(), (x, np.arange(80) % 2), "linf(0.1)", refit=True, k=1)
    (note,) = (note for note in find(records).notes if "clean accuracy" in note)
    assert note.endswith("; if it was trained here, features that tell little of the classes")


def test_the_rate_is_the_mean_over_runs_as_the_accuracy_is():
    y = np.arange(60) % 5 // 2  # 0 and 1 twice as often as 2
    records = st.study((X[:60], y), DummyClassifier(), train_eps=[0], runs=5, k=1, n_jobs=1)
    first, *others = (c.points.y for c in records if c.corruption == "clean")
    counts = np.bincount(np.concatenate([first, *others]))
    (note,) = (note for note in find(records).notes if "clean accuracy" in note)
    rate = format_share(counts.max() / counts.sum())
    assert f"always answering {counts.argmax()}, {rate}, or below it;" in note
    assert rate != format_share(np.bincount(first).max() / len(first))


def test_models_that_guess_alike_share_a_note():
    always = {name: lambda x: np.zeros(len(x), dtype=int) for name in ("a", "b")}
    records = st.evaluate(always, (X, Y), "linf(0.01)", k=1)
    (note,) = (note for note in find(records).notes if "clean accuracy" in note)
    assert note.startswith("a (25.00 %), b (25.00 %): clean accuracy is hardly above")

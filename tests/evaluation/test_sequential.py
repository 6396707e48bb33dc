import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.sequential import choose_look, list_looks
from shaketable.evaluation.store import Store
from shaketable.evaluation.study import study

X = np.random.default_rng(0).uniform(size=(1000, 2))
Y = (X[:, 0] > 0.5).astype(int)
NOISE = ["linf(0.2)"]


class Threshold:
    """A model that counts the points that it classifies."""

    def __init__(self, cut=0.5):
        self.points, self.cut = 0, cut

    def __call__(self, x):
        self.points += len(x)
        return (x[:, 0] > self.cut).astype(int)


class After:
    """Stops after so many points or runs."""

    def __init__(self, size):
        self.size = size

    def forecast(self, records):
        cells = [cell for cell in records if cell.corruption == "clean"]
        return self.size / (len(cells) if len(cells) > 1 else cells[0].n)


def evaluate_until(rule, model=None, noise=NOISE, **options):
    options = {"k": 3, "model_id": "threshold", "bounds": None} | options
    return evaluate(model or Threshold(), (X, Y), noise, until=rule, **options)


def test_looks_grow_and_follow_the_forecast():
    looks = list_looks(1000, 100)
    assert looks[:3] == [100, 110, 121]
    assert looks[-1] == 1000
    assert list_looks(60, 100) == [60]
    assert choose_look(looks, 100, times=1.01) == 110
    assert choose_look(looks, 100, times=2) <= 200
    assert choose_look(looks, 100, times=np.inf) <= 400


def test_points_are_a_random_sample_with_the_counts_of_all_points():
    everything = evaluate(Threshold(), (X, Y), NOISE, k=3, bounds=None)
    first = evaluate_until(After(300))
    (n,) = {cell.n for cell in first}
    assert 300 <= n < 330
    for part, whole in zip(first, everything, strict=True):
        np.testing.assert_array_equal(part.hits, whole.hits[part.points.rows])
        np.testing.assert_array_equal(part.points.y, Y[part.points.rows])
    np.testing.assert_array_equal(
        first.cells[0].predictions, everything.cells[0].predictions[first.cells[0].points.rows]
    )
    rows = first.cells[0].points.rows
    assert len(set(rows)) == n
    assert rows.mean() == pytest.approx(500, abs=70)
    longer = evaluate_until(After(500)).cells[0].points.rows
    np.testing.assert_array_equal(longer[:n], rows)
    other = evaluate_until(After(300), seed=1).cells[0].points.rows
    assert not np.array_equal(other, rows)


def test_what_a_results_file_holds_is_continued(tmp_path):
    store, model = tmp_path / "r.sqlite", Threshold()
    first = evaluate_until(After(200), model, store=store)
    assert model.points == first.cells[0].n * (1 + 3)
    with Store(store) as kept:
        assert len(kept.records()) == 2  # nothing of earlier looks
    again = evaluate_until(After(150), model, store=store)
    assert again.cells[0].n == first.cells[0].n
    assert model.points == first.cells[0].n * (1 + 3)
    more = evaluate_until(After(900), model, store=store)
    assert model.points == more.cells[0].n * (1 + 3)
    with Store(store) as kept:
        assert len({cell.n for cell in kept.records()}) == 2  # both results stay on record
    longest = evaluate_until(After(150), model, store=store)
    assert longest.cells[0].n == more.cells[0].n, "the one with the most points is continued"
    assert model.points == more.cells[0].n * (1 + 3)
    fresh = evaluate_until(After(900))
    for a, b in zip(more, fresh, strict=True):
        np.testing.assert_array_equal(a.hits, b.hits)


def test_a_corruption_that_is_added_catches_up(tmp_path):
    store, model = tmp_path / "r.sqlite", Threshold()
    first = evaluate_until(After(200), model, store=store).cells[0].n
    both = evaluate_until(After(200), model, ["linf(0.2)", "linf(0.1)"], store=store)
    assert [cell.n for cell in both] == [first] * 3
    assert model.points == first * (1 + 3 + 3)
    # with less of one corruption on record, the findings of the file still have clean points
    evaluate_until(After(600), model, store=store)
    with Store(store) as kept:
        found = st.find(kept.records()).json()
    assert {c["corruption"] for c in found["models"][0]["cells"]} == {
        "clean",
        "linf(0.2)",
        "linf(0.1)",
    }


def test_a_rule_that_is_never_content_gets_all_points():
    records = evaluate_until(After(10_000))
    assert records.cells[0].n == 1000


def test_draws_are_chosen_by_their_variance():
    with pytest.raises(InputError, match="got 'auto'; add until="):
        evaluate_until(None, k="auto")
    # a tenth of the points is wrong whatever the draw, under weak noise
    weak = evaluate_until(After(100), Threshold(0.6), ["linf(0.01)"], k="auto")
    assert weak.cells[1].k == 1
    # under strong noise every draw is a coin toss, and points hardly differ
    strong = evaluate_until(After(100), Threshold(0.6), ["linf(50)"], k="auto")
    assert strong.cells[1].k > 3


def test_a_study_adds_runs_with_the_counts_of_a_fixed_number():
    data = X[:60], Y[:60]
    options = {"train_eps": [0], "test_eps": [0.1], "k": 1, "n_jobs": 1}
    model = {"1nn": KNeighborsClassifier(1)}
    stopped = study(data, model, runs=30, until=After(7), **options)
    fixed = study(data, model, runs=7, **options)
    assert [c.hits.tolist() for c in stopped] == [c.hits.tolist() for c in fixed]
    a, b = (st.metrics.accuracy(r) for r in (stopped, fixed))
    assert a.value == b.value
    assert a.high - a.low > b.high - b.low
    assert "any number of runs" in a.method
    assert "any number" not in b.method
    most = study(data, model, runs=8, until=After(70), **options)
    assert len({c.run for c in most}) == 8


def test_answers_grow_with_the_points_and_are_asked_for_again(tmp_path):
    options = {"store": tmp_path / "r.sqlite"}
    evaluate_until(After(200), record="hits", **options)
    model = Threshold()
    records = evaluate_until(After(400), model, record="answers", **options)
    assert model.points == sum(cell.n * cell.k for cell in records)
    for cell in records:
        right = cell.answers.predicted == cell.points.y[:, None]
        np.testing.assert_array_equal(right.sum(axis=1), cell.hits)
        np.testing.assert_array_equal(cell.first(50).answers.predicted, cell.answers.predicted[:50])
    evaluate_until(After(200), record="hits", store=tmp_path / "h.sqlite")
    mixed = evaluate_until(After(400), store=tmp_path / "h.sqlite")  # goes on from hits
    assert [cell.answers for cell in mixed] == [None, None]

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier

from shaketable.data.arrays import make_dataset
from shaketable.evaluation import dry_run as module
from shaketable.evaluation.dry_run import dry_run, extrapolate
from shaketable.evaluation.evaluate_options import StudyOptions
from shaketable.evaluation.store import Store
from shaketable.evaluation.study import study

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(1000, 2))
DATA = make_dataset(X, np.where(X[:, 0] > 0.5, "right", "left"))
OPTIONS = {"train_eps": [0, 0.01], "test_eps": [0, 0.05], "k": 3, "runs": 3}


class Slow(ClassifierMixin, BaseEstimator):
    """A model that takes a time per point to train, and needs 150 points."""

    def __init__(self, seconds=2e-4):
        self.seconds = seconds

    def fit(self, x, y):
        if len(x) < 150:
            raise ValueError("too few")
        end = time.process_time() + self.seconds * len(x)
        while time.process_time() < end:
            pass
        self.classes_ = np.unique(y)
        return self

    def predict(self, x):
        return np.repeat(self.classes_[:1], len(x))


def test_the_numbers_are_those_of_the_study(tmp_path):
    path = tmp_path / "s.sqlite"
    models = {"a": KNeighborsClassifier(1), "b": KNeighborsClassifier(3)}
    plan = dry_run(DATA, models, StudyOptions(store=path, **OPTIONS))
    assert not path.exists()
    study(DATA, models, store=path, **{**OPTIONS, "runs": 2})
    size = path.stat().st_size
    left = dry_run(DATA, models, StudyOptions(store=path, **OPTIONS))
    assert path.stat().st_size == size
    records = study(DATA, models, store=path, **OPTIONS)
    assert (plan.trainings, plan.cells, plan.tests) == (12, len(records), 3)
    assert (plan.models, plan.regimes, plan.runs, plan.known, plan.todo) == (2, 2, 3, 0, 12)
    assert (left.trainings, left.cells, left.known, left.todo) == (12, 36, 24, 4)
    assert {(s.model, s.trainings) for s in left.samples} == {("a", 1), ("b", 1)}
    assert all(s.seconds == s.training_seconds + s.test_seconds > 0 for s in plan.samples)
    assert plan.bytes == pytest.approx(path.stat().st_size, rel=0.3)  # measured: 0.84 to 1.17
    done = dry_run(DATA, models, StudyOptions(store=path, **OPTIONS))
    assert (done.todo, done.samples, done.seconds) == (0, (), 0)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_times_are_extrapolated_by_their_growth(power):
    times = {size: 3 * size**power for size in (100, 200, 400)}
    assert extrapolate(times, 1600) == pytest.approx(3 * 1600**power)
    assert extrapolate(times, 400) == times[400]
    line = {size: 7 + 2 * size for size in (100, 200)}
    assert extrapolate(line, 1600) == pytest.approx(7 + 2 * 1600)
    assert extrapolate({100: 2.0, 200: 1.5}, 400) == 1.5, "time that falls is noise"
    assert extrapolate({100: 2.0}, 400) == 8.0


def test_no_cubic_law_follows_from_two_sizes():
    cubic = {size: 1e-6 * size**3 for size in (100, 200, 400)}
    assert extrapolate(cubic, 1600) == pytest.approx(1e-6 * 1600**3)
    two = {size: cubic[size] for size in (100, 200)}
    assert extrapolate(two, 1600) == pytest.approx(8 * (1600 / 200) ** 2)
    # an error of one time counts over three sizes, not over two
    shaken = {100: 1.0, 200: 2.0, 400: 4 * 1.3}
    assert extrapolate(shaken, 12800) < 2 * 5.2 * 32 < 5.2 * 32 ** (np.log2(1.3) + 1)


class Waiting(Slow):
    """A model that waits for the processor, as on a machine that others use."""

    def fit(self, x, y):
        time.sleep(0.02)
        return super().fit(x, y)


def test_the_load_of_the_machine_does_not_count():
    options = {**OPTIONS, "train_eps": [0], "runs": 1}
    (sample,) = dry_run(DATA, {"m": Waiting(2e-6)}, StudyOptions(**options)).samples
    assert sample.points == sample.of == 800
    assert 800 * 2e-6 <= sample.training_seconds < 0.015


def test_a_slow_model_is_timed_on_few_points(monkeypatch):
    monkeypatch.setattr(module, "_BUDGET", 0.1)
    plan = dry_run(DATA, {"slow": Slow()}, StudyOptions(**{**OPTIONS, "train_eps": [0]}))
    (sample,) = plan.samples
    assert 200 <= sample.points < sample.of == 800
    assert plan.extrapolated
    assert 0.14 < sample.training_seconds < 0.3  # 0.16 if all were trained on
    assert plan.work == pytest.approx(3 * sample.seconds)


def test_several_processes_share_the_work():
    one, two = (
        dry_run(DATA, {"slow": Slow()}, StudyOptions(**{**OPTIONS, "train_eps": [0], "jobs": n}))
        for n in (1, 2)
    )
    assert (one.processes, two.processes) == (1, 2)
    assert one.seconds == one.work
    assert two.seconds == two.work / 2


def test_separations_are_taken_from_the_results_file(tmp_path, monkeypatch):
    path = tmp_path / "s.sqlite"
    models = {"a": KNeighborsClassifier(1)}
    study(DATA, models, store=path, **{**OPTIONS, "runs": 1})
    monkeypatch.setattr("shaketable.evaluation.resolve.separation", None)  # not needed again
    assert dry_run(DATA, models, StudyOptions(store=path, **OPTIONS)).known == 6
    with Store(path) as store:
        assert len(store.keys()) == 6

"""The attacks that run by default: for every kind of model, and harder with more effort."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from helpers.commands import run_failing, run_json
from helpers.regions import make_region
from shaketable.adversary.curve import adversarial_accuracy
from shaketable.adversary.effort import choose_attacks
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import Classifier, as_classifier

LABELS_ONLY = Classifier("labels", lambda x: np.zeros(len(x), int), {0: 0, 1: 1}, None)
NETWORK = Classifier("network", lambda x: x, dict(enumerate(range(5))), None, "cpu")


def choose(model, d, p=2.0, *, constraint="none", effort=3):
    region = make_region(np.zeros((1, d)), 0.1, constraint, p=p)
    return [attack.spec for attack in choose_attacks(model, region, effort)]


def fitted(estimator):
    rng = np.random.default_rng(0)
    data = make_dataset(rng.normal(size=(40, 3)), rng.integers(0, 2, 40))
    return as_classifier(estimator.fit(data.x, data.y), data)


def test_regions_of_one_and_two_dimensions_are_covered():
    for model in (LABELS_ONLY, NETWORK):
        assert choose(model, 1) == ["cover(resolution=0.001)"]
        assert choose(model, 2) == ["cover(resolution=0.05)"]
        assert len(choose(model, 2, 0.5)) > 1


def test_networks_are_attacked_along_gradients_and_by_scores():
    attacks = ["pgd(steps=20, restarts=1, loss=margin)", "apgd(steps=100, restarts=1, loss=ce)"]
    attacks += ["apgd(steps=100, restarts=4, loss=targeted)", "square(queries=1000)"]
    assert choose(NETWORK, 3) == choose(NETWORK, 2, 0.5) == attacks


def test_other_models_are_searched_by_what_they_tell():
    forest = fitted(RandomForestClassifier(3, random_state=0))
    assert choose(forest, 3) == ["random(queries=200)", "leaves(queries=1000)"]
    scores = ["random(queries=200)", "square(queries=1000)"]
    assert choose(fitted(LogisticRegression()), 3) == scores
    assert choose(forest, 3, constraint="genuine-exact") == scores
    assert choose(fitted(LinearSVC()), 3) == scores  # by its decision function
    assert choose(LABELS_ONLY, 3) == ["random(queries=600)", "rays(queries=600, aim=first)"]
    many = ["random(queries=200)", "rays(queries=1000, aim=first)"]
    assert choose(LABELS_ONLY, 11) == many


@pytest.mark.parametrize("model", [LABELS_ONLY, NETWORK])
def test_more_effort_spends_more(model):
    def budget(effort):
        attacks = choose_attacks(model, make_region(np.zeros((1, 5)), 0.1), effort)
        steps = sum(2 * a.steps * a.restarts for a in attacks if hasattr(a, "steps"))
        return steps + sum(getattr(a, "queries", 0) for a in attacks)

    spent = [budget(effort) for effort in (1, 2, 3, 4, 5)]
    assert all(2 * less <= more for less, more in pairwise(spent))
    resolutions = [choose(model, 2, effort=effort)[0] for effort in (1, 2, 3, 4, 5)]
    assert len(set(resolutions)) == 5


def test_effort_is_taken_and_checked(capsys):
    x = np.linspace(-1, 1, 6)[:, None] * np.ones((1, 3))
    y = x[:, 0] > 0
    model = GaussianNB().fit(x, y)
    found = adversarial_accuracy(model, x, y, epsilon=0.01, effort=1)
    assert [trial.spec for trial in found.trials] == ["random(queries=50)", "square(queries=250)"]
    with pytest.raises(InputError, match="effort must be a whole number from 1 to 5, got 6"):
        adversarial_accuracy(model, x, y, epsilon=1, effort=6)
    arguments = ("adversary", "--data", "toy1d(n=40)", "--model", "f2", "--eps", "0.3", "--quiet")
    (point,) = run_json(capsys, *arguments, "--effort", "1")["curves"][0]["points"]
    assert [trial["spec"] for trial in point["trials"]] == ["cover(resolution=0.01)"]
    assert "effort" in run_failing(capsys, *arguments, "--effort", "0")
    assert "not allowed with" in run_failing(
        capsys, *arguments, "--effort", "2", "--attack", "random(9)"
    )

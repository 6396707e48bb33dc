"""A dozen models of different kinds on the built-in digits, and every notion of robustness of each.

All notions are of the same test points. Those that need a size of noise take it in L-inf: MSCR at
eps_min, as it is defined; the worst cases, random noise beside them, and rare failures at half of
it, where they differ between models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset
from shaketable.reproductions.numbers import rescale
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate

HALF = 0.5
"""Size of worst cases and rare failures, in units of eps_min."""

FAR = 4.0
"""Size of worst cases at which hardly anything withstands, in units of eps_min."""

RARE = 1e-6
"""Probability of a failure above which a point counts as one where failures happen."""


@dataclass(frozen=True)
class Budget:
    """How much is measured."""

    train: int = 1437
    test: int = 150
    answers: int = 5000
    """Answers of a model per point, for rare failures."""
    epochs: int = 30
    """Of the networks."""


@dataclass(frozen=True)
class Notion:
    """A notion of robustness."""

    name: str
    about: str
    higher_is_better: bool


NOTIONS = {
    "error": Notion("clean error", "error on clean points", False),
    "mscr": Notion("MSCR", "change of accuracy under random noise of eps_min", True),
    "worst": Notion("worst case", "accuracy at the worst points within half of eps_min", True),
    "genuine": Notion("genuine", "the same within the Voronoi cells of the points", True),
    "distance": Notion("distance", "mean distance to the nearest failure, of eps_min", True),
    "rare": Notion(
        "rare failures",
        "points with a probability of failure above 1e-6 under random noise of half of eps_min",
        False,
    ),
    "mce": Notion("mCE", "mean error under the 19 common corruptions", False),
    "mce_lp": Notion("mCE_Lp", "mean error under noise of 9 p-norms", False),
    "faults": Notion("two faults", "mean accuracy over the 69 sets of two faults", True),
    "cv": Notion("CV", "variation of the accuracy over these sets", False),
}
"""Notions by key, in the order of columns; all are shown in per cent."""


@dataclass(frozen=True, eq=False)
class Measures:
    """What was measured of one model."""

    values: Mapping[str, Estimate]
    """Every notion, as fractions; the distance in units of eps_min."""
    gaps: Mapping[str, float]
    """What must not be negative, as fractions."""
    cells_matter: int
    """Points that withstand in their cell and not in the ball."""
    far: float
    """Genuine accuracy in the worst case of size `FAR`, as a fraction."""
    proven: bool
    """Whether its worst case is exact; else it is an upper bound of the accuracy."""
    inexact: int
    """Points whose distance is an upper bound alone, or between two bounds."""


def load_digits(budget: Budget) -> Dataset:
    """Digits as images of 8 x 8 pixels in [0, 1], the training part first.

    >>> load_digits(Budget(test=100)).n
    1537
    """
    from sklearn import datasets

    x, y = datasets.load_digits(return_X_y=True)
    rows = np.r_[: budget.train, len(y) - budget.test : len(y)]
    images = (x[rows] / x.max()).reshape(-1, 8, 8, 1)
    return make_dataset(
        images, y[rows], n_train=budget.train, bounds=(0, 1), name="digits, 8x8 pixels"
    )


@dataclass(frozen=True)
class Setting:
    """What a training needs besides the data."""

    epsilon: float
    """eps_min, the size of the noise of those that are trained with noise."""
    seed: int
    epochs: int
    device: str | None


@dataclass(frozen=True)
class Maker:
    """A kind of model."""

    family: str
    about: str
    train: Callable[[Dataset, Setting], Any]


def list_makers() -> dict[str, Maker]:
    """Return the models by name, not yet trained.

    >>> len(list_makers())
    12
    """
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    def estimator(make: Callable[[int], Any]) -> Callable[[Dataset, Setting], Any]:
        return lambda data, setting: make(setting.seed).fit(*_take_training(data))

    trees, neighbours, others, networks = "trees", "neighbours", "others", "networks"
    return {
        "tree": Maker(
            trees, "decision tree", estimator(lambda s: DecisionTreeClassifier(random_state=s))
        ),
        "forest": Maker(
            trees,
            "random forest, 50 trees",
            estimator(lambda s: RandomForestClassifier(50, random_state=s)),
        ),
        "forest with noise": Maker(
            trees, "the same, trained with L-inf noise of eps_min", _train_noisy_forest
        ),
        "boosting": Maker(
            trees,
            "gradient boosting, 30 rounds",
            estimator(lambda s: GradientBoostingClassifier(n_estimators=30, random_state=s)),
        ),
        "1-NN": Maker(
            neighbours, "nearest neighbour", estimator(lambda _: KNeighborsClassifier(1))
        ),
        "25-NN": Maker(
            neighbours, "vote of 25 neighbours", estimator(lambda _: KNeighborsClassifier(25))
        ),
        "logistic": Maker(
            others,
            "logistic regression, C 0.1",
            estimator(lambda _: LogisticRegression(C=0.1, max_iter=1000)),
        ),
        "Bayes": Maker(
            others, "naive Bayes, Gaussian", estimator(lambda _: GaussianNB(var_smoothing=0.01))
        ),
        "SVM": Maker(others, "support vector machine, RBF", estimator(lambda _: SVC())),
        "network": Maker(
            networks, "two hidden layers of 64", lambda d, s: _train_network(d, s, "clean")
        ),
        "network with noise": Maker(
            networks,
            "the same, trained with L-inf noise of eps_min",
            lambda d, s: _train_network(d, s, f"linf({s.epsilon!r})"),
        ),
        "network with adversary": Maker(
            networks,
            "the same, trained against PGD within half of eps_min",
            lambda d, s: _train_network(d, s, f"pgd_at({HALF * s.epsilon!r})"),
        ),
    }


def _take_training(data: Dataset) -> tuple[Any, Any]:
    """Points as rows, and labels, of the training part."""
    n = data.n_train
    assert n is not None, "digits have a fixed test part"
    return data.x[:n].reshape(n, -1), data.labels[:n]


def _train_noisy_forest(data: Dataset, setting: Setting) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    from shaketable.models.augmented import NoiseAugmented

    forest = RandomForestClassifier(50, random_state=setting.seed)
    model = NoiseAugmented(
        forest, epsilon=setting.epsilon, k=3, random_state=setting.seed, bounds=(0, 1)
    )
    return model.fit(*_take_training(data)).estimator_  # whose trees are known to provers


def _train_network(data: Dataset, setting: Setting, regime: str) -> Any:
    from shaketable.training.trained import train

    trained = train(
        "mlp(width=64, depth=2)",
        data,
        noise=regime,
        recipe="points",
        epochs=setting.epochs,
        seed=setting.seed,
        device=setting.device,
    )
    return trained.model


def measure_model(
    name: str,
    model: Any,
    data: Dataset,
    *,
    eps_min: float,
    budget: Budget,
    seed: int,
    store: Path | None,
) -> Measures:
    """Measure every notion of a fitted model at the test points."""
    from shaketable import metrics
    from shaketable.adversary.distance import distance
    from shaketable.adversary.worst_case import worst_case
    from shaketable.corruptions.suites.suite import suite
    from shaketable.evaluation.evaluate import evaluate
    from shaketable.rare.risk import risk

    kept: dict[str, Any] = {"seed": seed, "store": store, "name": name}
    suites = [suite(each) for each in ("common-19", "pnorm", "two-factor")]
    records = evaluate(model, data, ["linf(eps_min)", *suites], **kept)
    worst = worst_case(
        model,
        data,
        [HALF * eps_min, FAR * eps_min],
        norm="inf",
        constraints=["none", "genuine-max"],
        random=10,
        **kept,
    )
    away = distance(model, data, norm="inf", **kept)
    (rare,) = risk(model, data, f"linf({HALF}*eps_min)", budget=budget.answers, **kept).risks
    failing = rare.risks.value > RARE
    (ball, _), (cell, far) = worst.curves
    faults = metrics.mcv(records)
    mean = away.mean.found or away.mean.proven  # failures of some points may not be found
    values = {
        "error": metrics.accuracy(records).subtract_from(1),
        "mscr": metrics.mscr(records),
        "worst": ball.estimate,
        "genuine": cell.estimate,
        "distance": rescale(mean, 1 / eps_min),
        "rare": intervals.proportion(int(failing.sum()), len(failing)),
        "mce": metrics.mce(records),
        "mce_lp": metrics.mce_lp(records),
        "faults": faults.mean,
        "cv": faults.cv,
    }
    ((noise, _),) = (by_size.values() for by_size in worst.random.values())
    return Measures(
        values,
        {
            "random noise": noise.value - ball.value,
            "without rare failures": 1 - values["rare"].value - ball.value,
            "genuine": cell.value - ball.value,
        },
        int((cell.withstood & ~ball.withstood).sum()),
        far.value,
        bool(ball.proven),
        away.n - away.exact,
    )

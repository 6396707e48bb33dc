"""Standard and genuine adversarial accuracy where they are known: two examples, and 1-NN."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.curve import Curve, adversarial_curve
from shaketable.adversary.one_nn import THEOREM_2
from shaketable.adversary.region import Constraint
from shaketable.adversary.worst_case import WorstCase, worst_case
from shaketable.core.norms import norm_title
from shaketable.core.types import Array, FloatArray
from shaketable.data.files import as_dataset
from shaketable.models.builtin import circle, f1, f2, f3, flat, oracle
from shaketable.reproductions.claims import Close, Order, Within
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.separations.separation import separation

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart

Law: TypeAlias = Callable[[str, float], float]
"""Accuracy of a model, by its name and the size of the adversary."""

_TOY = 200
_TOY_SIZES = np.arange(0.055, 3.2, 0.1)
"""Between the points, which are 0.01 apart, so that no distance is a size."""
_ONE_POINT = 1 / _TOY + 1e-9
_STEPS = (f1, f2, f3)
_BEYOND = ("eps > 2", 2, math.inf)

_SUNSET = 400
_SUNSET_SIZES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.45)
_GROWING = (100, 400, 1000)
_LARGE = (0.1, 0.25, 0.45)
_SEPARATIONS = (100, 1000, 10_000)
_PLACES = (0.1, 0.5, 0.9)

_SETS = ("toy1d(n=40)", "sunset(n=100)", "bands(n=100)", "iris", "wine")
_NORMS = (1.0, 2.0, math.inf)
_MULTIPLES = (0.5, 0.99, 2.0, 10.0)
"""Sizes of the adversary, in units of eps_min."""
_SEARCHED = ("toy1d(n=40)", "iris")
_BOTH: tuple[Constraint, ...] = ("genuine-exact", "genuine-max")

_NEAREST = "1-NN"
_YES = Printed(1)
_REAL = 1e-9  # imaginary part of a real root, by rounding
_NO_DIFFERENCE = 1e-9
_AT_ALL_SIZES = "at every size "


@declare(
    "genuine-toy",
    place="Sec. 1.2.1, Fig. 4 and 6",
    about="three classifiers on a line: standard accuracy cannot rank them, genuine accuracy can",
    forms={
        "full": Form(
            about=f"both accuracies of f1, f2 and f3 on {_TOY} points at {len(_TOY_SIZES)} sizes, "
            "against closed forms",
            takes="seconds",
            claims=[
                Close("all three have accuracy 1", "print: * / accuracy"),
                Close(
                    "all three have the area 1.5 under standard accuracy",
                    "print: * / area",
                    tolerance=0.01,
                ),
                Close(
                    _AT_ALL_SIZES + "standard accuracy is its closed form, up to one point",
                    "standard: *",
                    tolerance=_ONE_POINT,
                ),
                Within(
                    "standard accuracy cannot tell f2 from f3: no difference at any size",
                    "same: f2, f3",
                    high=_NO_DIFFERENCE,
                ),
                Close(
                    _AT_ALL_SIZES + "genuine accuracy is its closed form on a finite sample",
                    "genuine: *",
                    tolerance=_NO_DIFFERENCE,
                ),
                Close(
                    "at the ends of a finite sample f1 has 3/4 and f2 has 1/2",
                    "ends: * / all four",
                    tolerance=_NO_DIFFERENCE,
                ),
                Close(
                    "at the ends that half-open intervals have, f1 has 1/2 and f2 has 0",
                    "ends: * / the two of the paper",
                    tolerance=_NO_DIFFERENCE,
                ),
            ],
            deviations=[
                "The paper's intervals are continuous and half-open; ours are samples of "
                f"{_TOY} points, whose four ends all have room beyond them. At the two ends that "
                "belong to the intervals, -2 and 1, accuracies are those of the paper.",
                "f2 is printed as 1 - step(x + 4) + step(x), which is 2 between the intervals. It "
                "is read as 1 where x >= 0 or x < -4.",
            ],
        ),
    },
    errata=["genuine-boundary", "genuine-continuum"],
)
def measure_toy(asked: Asked) -> Measured:
    """Attack f1, f2 and f3 at many sizes, and compare with closed forms."""
    data, published = f"toy1d(n={_TOY})", load_published("genuine-toy")
    worst = _attack_all(_STEPS, data, _TOY_SIZES, asked.seed)
    assert worst.data is not None
    standard, genuine = ([*each] for each in zip(*map(worst.of, worst.models), strict=True))
    printed = [
        Number(c.model, value, published[c.model, column], column=column)
        for c in standard
        for column, value in (("accuracy", c.clean), ("area", c.area))
    ]
    first, second = (np.array([a.value for a in c]) for c in standard[1:])
    gap = Number("f2, f3", float(np.abs(first - second).max()))
    belong = np.isin(worst.data.x.ravel(), (-2.0, 1.0))
    ends = []
    for curve, column, low, high in ((genuine[0], "0 < eps < 1", 0, 1), (genuine[1], *_BEYOND)):
        some = [a for a in curve if low < a.epsilon < high]
        right = published[curve.model, column]
        row = f"{curve.model}, {column}"
        at_all = [a.value for a in some]
        at_two = [a.withstood[a.remains & belong].mean() for a in some]
        ends.append(Number(row, float(np.mean(at_all)), right, "all four"))
        as_printed = Printed(float(right.slip), text=right.slip)
        ends.append(Number(row, float(np.mean(at_two)), as_printed, "the two of the paper"))
    return Measured(
        tables=[
            NumberTable("print", "As printed", printed, corner="classifier"),
            NumberTable("same", "Largest difference of standard accuracies", [gap]),
            NumberTable("ends", "Genuine accuracy at the ends", ends, corner="classifier, size"),
            _compare("standard", standard, _expect_standard),
            _compare("genuine", genuine, _expect_genuine),
        ],
        figure=lambda: _draw(worst),
        settings={"Data": data},
    )


def _expect_standard(model: str, epsilon: float) -> float:
    """Standard accuracy on the half-open intervals.

    >>> [_expect_standard("f1", e) for e in (0.5, 1.5, 2.5)], _expect_standard("f2", 1.5)
    ([0.75, 0.5, 0.25], 0.5)
    """
    if model == "f1":
        return 1 - min(epsilon, 1.0) / 2 - min(max(epsilon - 2, 0.0), 1.0) / 2
    return 1 - min(max(epsilon - 1, 0.0), 1.0)


def _expect_genuine(model: str, epsilon: float) -> float:
    """Genuine accuracy, exactly epsilon, on a finite sample: of four ends, from 1 on of two.

    >>> _expect_genuine("f1", 0.5), _expect_genuine("f2", 2.5), _expect_genuine("f3", 2.5)
    (0.75, 0.5, 1.0)
    """
    if model == "f1" and epsilon < 1:
        return 0.75
    return 0.5 if model == "f2" and epsilon > 2 else 1.0


def _compare(key: str, curves: Sequence[Curve], law: Law) -> NumberTable:
    """Return accuracies of several models by size, each beside its law."""
    numbers = [
        Number(f"{each[0].epsilon:.3f}", a.value, Printed(law(c.model, a.epsilon)), c.model)
        for each in zip(*curves, strict=True)
        for c, a in zip(curves, each, strict=True)
    ]
    title = curves[0].title
    return NumberTable(key, title, numbers, digits=3, corner="epsilon", against="closed form")


def _attack_all(
    models: Sequence[Any], data: str, sizes: Iterable[float], seed: int, **options: Any
) -> WorstCase:
    """Attack several models at all points of the same data, under both constraints."""
    ladder = [*map(float, sizes)]
    kinds: list[Constraint] = ["none", "genuine-exact"]
    each = [
        worst_case(model, data, ladder, constraints=kinds, seed=seed, own=True, **options)
        for model in models
    ]
    return reduce(operator.add, each)


def _draw(worst: WorstCase) -> Chart:
    from shaketable.adversary.charts import curves_chart

    return curves_chart(worst)


@declare(
    "genuine-sunset",
    place="Sec. 1.3.1 and Fig. 5",
    about="a circle on a line: standard accuracy prefers a blind classifier, genuine the oracle",
    forms={
        "full": Form(
            about=f"both accuracies of four classifiers on {_SUNSET} points, against distances in "
            "closed form",
            takes="a minute",
            claims=[
                Close(
                    "circle, oracle and 1-NN label all points right",
                    "clean: *",
                    tolerance=_NO_DIFFERENCE,
                ),
                Order(
                    "the separation of the classes falls towards 0 as points are added",
                    [f"separation: n = {n}" for n in reversed(_SEPARATIONS)],
                ),
                Close(
                    "places that the paper names get the labels that it says",
                    "places: *",
                    tolerance=_NO_DIFFERENCE,
                ),
                Close(
                    "standard accuracy is the share of points farther than epsilon from a boundary",
                    "standard: *",
                    tolerance=2 / _SUNSET + _NO_DIFFERENCE,
                ),
                Order(
                    "standard accuracy at 0.25 prefers the blind classifier to the oracle",
                    [f"standard: 0.250 / {name}" for name in ("circle", "oracle", "flat")],
                ),
                Order(
                    "genuine accuracy at 0.1 prefers the oracle",
                    [f"genuine: 0.100 / {name}" for name in ("circle", "flat", "oracle")],
                ),
                *(
                    Order(
                        f"genuine accuracy of the oracle at {size:g} rises with the points",
                        [f"limit: n = {n} / {size:g}" for n in _GROWING],
                    )
                    for size in _LARGE
                ),
                Within(
                    f"on {_GROWING[-1]} points it is 1 up to 3 %",
                    f"limit: n = {_GROWING[-1]} / *",
                    low=0.97,
                ),
                Close(
                    "genuine accuracy of 1-NN on the points is 1 at every size, proven",
                    "nearest: *",
                    tolerance=_NO_DIFFERENCE,
                ),
            ],
            deviations=[
                "The paper's classes are all points of a circle and of a line. On a sample, cells "
                "near the boundary are as wide as the gaps between points, so the oracle keeps "
                "all labels only in the limit of many points; 1-NN keeps them on every sample.",
                "The line is cut at |x1| = 2.",
            ],
        ),
    },
)
def measure_sunset(asked: Asked) -> Measured:
    """Attack four classifiers of the sunset data, and compare with distances to boundaries."""
    from sklearn.neighbors import KNeighborsClassifier

    from shaketable.data.builtin import sunset

    data = f"sunset(n={_SUNSET}, seed={asked.seed})"
    points = sunset(_SUNSET, seed=asked.seed)
    rules = circle, oracle, flat
    worst = _attack_all(rules, data, _SUNSET_SIZES, asked.seed)
    nearest = KNeighborsClassifier(1).fit(points.x, points.labels)
    worst += _attack_all([nearest], data, _SUNSET_SIZES, asked.seed, name=_NEAREST)
    away = {f.__name__: measure(points.x, points.labels == "A") for f, measure in _AWAY.items()}
    standard, genuine = (
        [*each] for each in zip(*(worst.of(f.__name__) for f in rules), strict=True)
    )
    clean = [
        Number(c.model, c.clean, Printed(1))
        for c in worst.curves
        if c.constraint == "none" and c.model != "flat"
    ]
    limit = []
    for n in _GROWING:
        sample = f"sunset(n={n}, seed={asked.seed})"
        curve = worst_case(oracle, sample, _LARGE, constraints="genuine-exact", own=True).curves[0]
        limit += [Number(f"n = {n}", a.value, column=f"{a.epsilon:g}") for a in curve]
    return Measured(
        tables=[
            NumberTable("clean", "Accuracy", clean, corner="classifier", against="the paper"),
            NumberTable(
                "separation",
                "Distance between the classes",
                [_measure_separation(n, asked.seed) for n in _SEPARATIONS],
                digits=6,
                corner="points",
            ),
            NumberTable(
                "places",
                "Places that the paper names: share with the label, or the distance, it says",
                [*_check_places()],
                against="the paper",
            ),
            _compare("standard", standard, lambda m, e: float((away[m] > e).mean())),
            NumberTable(
                "genuine",
                genuine[0].title,
                [Number(f"{a.epsilon:.3f}", a.value, column=c.model) for c in genuine for a in c],
                digits=3,
                corner="epsilon",
            ),
            NumberTable(
                "limit",
                "Genuine accuracy of the oracle, by points and size",
                limit,
                digits=3,
                corner="points",
            ),
            NumberTable(
                "nearest",
                "Genuine accuracy of 1-NN on its own points, where it is proven",
                [
                    Number(f"epsilon = {a.epsilon:g}", _prove(a), Printed(1))
                    for a in worst.of(_NEAREST)[1]
                ],
                digits=3,
                against="theorem 2",
            ),
        ],
        figure=lambda: _draw(worst),
        settings={"Data": data},
    )


def _prove(a: AdversarialAccuracy) -> float:
    """Accuracy if it is proven by Theorem 2; a search alone counts as nothing."""
    return a.value if a.proven.startswith(THEOREM_2) else 0.0


def _measure_separation(n: int, seed: int) -> Number:
    return Number(f"n = {n}", separation(f"sunset(n={n}, seed={seed})", norm=2).two_r)


def _check_places() -> Iterator[Number]:
    """Compare labels and distances at the places of Sec. 1.3.1 with what the paper says."""
    for e in _PLACES:
        top, beyond = circle(np.array([[0.0, 2.0], [0.0, 2 + e]]))
        yield Number(
            f"(0, 2 + {e:g}) is labelled otherwise than (0, 2)", float(top != beyond), _YES
        )
        touched = np.array([e, 1 - np.sqrt(1 - e**2)])
        is_a = circle(touched[None])[0] == "A"
        yield Number(f"({touched[0]:g}, {touched[1]:.3f}) is of class A", float(is_a), _YES)
        near = np.hypot(*(touched - (e, 0))) <= e
        yield Number(f"and within {e:g} of ({e:g}, 0)", float(near), _YES)
        place = np.array([2 * e, e**2])  # on the parabola
        gap = abs(float(np.hypot(place[0], place[1] - 1)) - 1) - place[1]
        yield Number(
            f"({place[0]:g}, {place[1]:.2f}): one distance less the other", gap, Printed(0)
        )


def _leave_disk(x: FloatArray, is_a: Array) -> FloatArray:
    """Distance of every point to a place that `circle` labels otherwise."""
    return np.where(is_a, 0.0, np.hypot(x[:, 0], x[:, 1] - 1) - 1)


def _reach_plane(x: FloatArray, is_a: Array) -> FloatArray:
    """Distance of every point to a place that `flat` labels wrong; 0 where it is wrong itself."""
    return np.where(is_a, np.maximum(x[:, 1] - 0.5, 0.0), 0.5 - x[:, 1])


def _reach_parabola(x: FloatArray, _: Array) -> FloatArray:
    """Distance of every point to the parabola, whose nearest place solves a cubic equation.

    >>> _reach_parabola(np.array([[0.0, 1.0], [0.0, 2.0]]), np.ones(2, bool))
    array([1., 2.])
    """
    found = []
    for right, up in x:
        roots = np.roots([0.25, 0, 2 - up, -2 * right])
        real = roots[np.abs(roots.imag) < _REAL].real
        found.append(np.hypot(real - right, real**2 / 4 - up).min())
    return np.array(found)


_AWAY: dict[Callable[[Array], Array], Callable[[FloatArray, Array], FloatArray]] = {
    circle: _leave_disk,
    oracle: _reach_parabola,
    flat: _reach_plane,
}


@declare(
    "genuine-1nn",
    place="Theorem 2",
    about="1-NN keeps every label under genuine adversaries of its own points and norm",
    forms={
        "full": Form(
            about="five built-in sets in L1, L2 and L-inf at sizes up to ten times eps_min, "
            "proven; on two of them also searched at the largest, with a 1-NN that is not "
            "recognised",
            takes="half a minute",
            claims=[
                Close("genuine accuracy is 1 at every size, proven", "proven: *", _NO_DIFFERENCE),
                Close(
                    "a search that knows nothing of 1-NN finds no failure",
                    "search: *",
                    _NO_DIFFERENCE,
                ),
                Close(
                    "standard accuracy is 1 up to eps_min",
                    "standard: * / 0.99 eps_min",
                    _NO_DIFFERENCE,
                ),
                Within("at ten times eps_min it is not", "standard: * / 10 eps_min", high=1.0),
                Within("a random forest is not as robust", "forest: *", high=1.0),
            ],
            deviations=[
                "Points of different classes that coincide are left out: the theorem needs "
                "exclusive classes.",
                "The theorem is about all sizes, of which four are taken.",
            ],
        ),
    },
)
def measure_one_nn(asked: Asked) -> Measured:
    """Prove, and search for failures of, 1-NN on its own points."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier

    proven, searched, standard, forest = [], [], [], []
    for name in _SETS:
        data = as_dataset(name).drop_clashes()
        x, y = data.x.reshape(data.n, -1).astype(np.float64), data.labels
        for p in _NORMS:
            attack = partial(adversarial_curve, data=(x, y), norm=p, own=True, seed=asked.seed)
            nearest = KNeighborsClassifier(1, metric=_name_metric(p)).fit(x, y)
            half = separation(x, y, norm=p).epsilon_min
            row = f"{name}, {norm_title(p)}"
            sizes = [multiple * half for multiple in _MULTIPLES]
            for kind in _BOTH:
                curve = attack(nearest, epsilons=sizes, constraint=kind)
                proven.append(Number(row, _prove_all(curve), Printed(1), column=kind))
                if name in _SEARCHED:
                    found = attack(nearest.predict, epsilons=sizes[-1], constraint=kind)
                    least = found.accuracies[0].value
                    searched.append(Number(row, least, Printed(1), column=kind))
            if p == 2:
                curve = attack(nearest, epsilons=sizes)
                standard += [
                    Number(
                        name,
                        a.value,
                        Printed(1) if multiple < 1 else None,
                        column=f"{multiple:g} eps_min",
                    )
                    for a, multiple in zip(curve, _MULTIPLES, strict=True)
                ]
            if name in _SEARCHED and p == 2:
                trees = RandomForestClassifier(100, random_state=asked.seed).fit(x, y)
                worst = attack(trees, epsilons=sizes[-1], constraint="genuine-max")
                forest.append(Number(name, worst.accuracies[0].value))
    by_norm = partial(NumberTable, corner="data, norm", against="theorem")
    return Measured(
        tables=[
            by_norm("proven", "Least genuine accuracy of 1-NN, where proven", proven),
            by_norm("search", "The same by searching, the classifier unknown", searched),
            NumberTable(
                "standard",
                "Standard accuracy of 1-NN in L2",
                standard,
                digits=3,
                corner="data",
                against="theorem",
            ),
            NumberTable(
                "forest",
                "Genuine accuracy of a random forest of 100 trees, L2, 10 eps_min",
                forest,
                digits=3,
                corner="data",
            ),
        ],
    )


def _prove_all(curve: Curve) -> float:
    """Least accuracy of a curve if Theorem 2 proves it at every size, else 0."""
    known = [a for a in curve if a.n]
    proven = all(a.proven.startswith(THEOREM_2) for a in known)
    return min(a.value for a in known) if proven else 0.0


def _name_metric(p: float) -> str:
    """Return the metric's name as scikit-learn has it.

    >>> _name_metric(math.inf)
    'chebyshev'
    """
    return {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}[p]

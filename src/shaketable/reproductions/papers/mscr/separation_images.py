"""Networks on images: training noise against test noise (Table 3, Fig. 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.types import FloatArray
from shaketable.data.bounds import Bounds
from shaketable.reproductions.claims import Claim, Close, Order, Within
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.papers.images import (
    OTHER_IMAGES,
    TrainingPlan,
    load_images,
    name_set,
)
from shaketable.reproductions.papers.pieces import run_pieces
from shaketable.reproductions.published import Published, load_published
from shaketable.reproductions.registry import Asked, Form, FormName, Measured, declare

if TYPE_CHECKING:
    from shaketable.evaluation.records import Records
    from shaketable.findings.series import Series
    from shaketable.views.drawing import Chart

SIZES = ("0", "0.01", "0.02", "0.03", "0.05", "0.07", "eps_min", "0.15")
"""Sizes of training noise and of test noise, as print names them."""

PLANS: Mapping[FormName, TrainingPlan] = {
    "fast": TrainingPlan(
        recipe="fast",
        network="resnet9(width=4)",
        epochs=3,
        batch=64,
        rate=0.15,
        training_images=10_000,
        test_images=3_000,
        runs=7,
    ),
    "gpu": TrainingPlan(recipe="fast", epochs=10, runs=20),
    "full": TrainingPlan(recipe="mscr-cifar", runs=20),
}

_CIFAR = "CIFAR-10 by --data; torch"
_FIRST, _LAST = SIZES[0], SIZES[-1]
_SMALL = (
    "The network is small and sees 10 000 images three times: half of its answers are right, in "
    "print nine of ten. So signs and orders are claimed, and no values.",
    "Networks are tested on 3 000 of the 10 000 test images, the same in every run. eps_min is "
    "that of all 60 000 images.",
)
_SHORT = (
    "ResNet-9 and 10 epochs in place of WRN-28-10 and 30: a training takes seconds. Values are "
    "claimed within a stated distance of print.",
)
_STEPS = (
    "MSCR rises with every size of noise in print. So few runs of so small a network show that of "
    "the largest size; eps_min and the sizes between are measured, and nothing is claimed of them."
)
_OURS = "Intervals are Student's t over runs; print has 1.96 standard errors, divided by n."
_DIAGONAL = (
    "That optima lie off the diagonal is claimed of the paper's network alone. ResNet-9 with 20 "
    "runs on an H200 had the best training noise of every row on the diagonal, as one expects "
    "of a model that is trained for its test."
)


@dataclass(frozen=True, eq=False)
class Matrix:
    """A study of training noise against test noise, by the names of sizes."""

    records: Records
    sizes: Mapping[str, float]
    comparable: bool
    """Whether the images are those of print."""

    @cached_property
    def by_size(self) -> Mapping[tuple[float, float], Series]:
        """Series by the sizes of test noise and of training noise."""
        from shaketable import metrics

        return {
            (s.first.epsilon or 0.0, s.first.train_epsilon or 0.0): s
            for s in metrics.series(self.records)
        }

    def find(self, test: str, train: str) -> Series:
        """Return the series of two sizes."""
        return self.by_size[self.sizes[test], self.sizes[train]]

    def look_up(self, row: str, column: str) -> Printed | None:
        """Return the printed number, if the images are those of print."""
        return load_published("mscr-table3").get(row, column) if self.comparable else None


def measure_matrix(asked: Asked) -> tuple[Matrix | None, str, dict[str, Any]]:
    """Train with every size of noise, as far as time allows; both names share the study."""
    from shaketable.separations.separation import separation

    plan = PLANS[asked.form]
    whole = load_images(asked, "CIFAR-10")
    eps_min = separation(whole, norm="inf", points=False, per_class=False, closest=1).epsilon_min
    sizes = {name: eps_min if name == "eps_min" else float(name) for name in SIZES}
    data, network, runs = plan.take_images(whole), plan.make_network(asked), plan.count_runs(asked)
    records, left = run_pieces(
        asked.share(f"mscr-images-{asked.form}"),
        network,
        data,
        runs=runs,
        options={
            "train_eps": list(sizes.values()),
            "corruptions": [f"linf({size})" for size in sizes.values() if size],
            "k": 1,
            "bounds": Bounds(0, 1, "truncate"),
        },
    )
    settings = plan.describe(network, data, runs) | {
        "Noise": "L-inf, truncated to [0, 1], k = 1; in training new in every epoch",
        "eps_min": f"{eps_min:.6f}, of all {whole.n} images",
    }
    matrix = Matrix(records, sizes, name_set(whole) == "CIFAR-10") if len(records) else None
    return matrix, left, settings


def tabulate_accuracies(matrix: Matrix) -> NumberTable:
    """Return accuracies by test noise and training noise."""
    numbers = [
        Number(
            f"test {test}",
            100 * matrix.find(test, train).accuracies,
            matrix.look_up(f"test {test}", f"train {train}"),
            column=f"train {train}",
        )
        for test in SIZES
        for train in SIZES
    ]
    return NumberTable("accuracy", "Accuracy", numbers, unit="%", corner="test noise")


def tabulate_mscr(matrix: Matrix) -> NumberTable:
    """Return MSCR by training noise."""
    numbers = []
    for train in SIZES:
        ours = 100 * matrix.find("eps_min", train).relative_losses
        numbers.append(Number(f"train {train}", ours, matrix.look_up("MSCR", f"train {train}")))
    return NumberTable("MSCR", "MSCR", numbers, unit="%", corner="training noise")


def tabulate_gains(matrix: Matrix) -> NumberTable:
    """Return the clean accuracy minus that of plain training, paired by run."""
    numbers = []
    for train in SIZES[1:]:
        printed = [matrix.look_up(f"test {_FIRST}", f"train {size}") for size in (train, _FIRST)]
        theirs = None
        if printed[0] and printed[1]:
            theirs = Printed(printed[0].value - printed[1].value)
        noisy, plain = (matrix.find(_FIRST, size).accuracies for size in (train, _FIRST))
        gain = 100 * (noisy - plain)
        numbers.append(Number(f"train {train}", gain, theirs))
    title = "Clean accuracy minus that of plain training, by run"
    return NumberTable("gain", title, numbers, unit="points", corner="training noise")


def follow_mscr() -> NumberTable:
    """Return the row MSCR as it follows from the printed accuracies alone."""
    from shaketable.metrics import relative_change

    published = load_published("mscr-table3")
    numbers = []
    for train in SIZES:
        column = f"train {train}"
        clean, robust = (published[f"test {size}", column].value for size in (_FIRST, "eps_min"))
        change = 100 * float(relative_change([clean], [robust])[0])
        numbers.append(Number(column, change, published["MSCR", column]))
    title = "MSCR that follows from the printed accuracies"
    return NumberTable("follows", title, numbers, unit="%", digits=3, corner="training noise")


_FOLLOWS = Close(
    "the printed MSCR are those of the printed mean accuracies, the column .01 corrected",
    "follows: *",
    tolerance=0.002,
)
_SIGNS: list[Claim] = [
    Within("plain training loses accuracy under noise of size eps_min", "MSCR: train 0", high=0),
    Order(
        "training with noise of size .15 raises MSCR",
        [f"MSCR: train {size}" for size in (_FIRST, _LAST)],
    ),
    Within("it makes MSCR positive", "MSCR: train 0.15", low=0),
    Within("it costs clean accuracy", "gain: train 0.15", high=0),
    Order(
        "under noise of its size it is better than plain training",
        [f"accuracy: test {_LAST} / train {size}" for size in (_FIRST, _LAST)],
    ),
]
_ALL_SIGNS: list[Claim] = [
    *_SIGNS,
    Within("training with noise of size eps_min makes MSCR positive", "MSCR: train eps_min", low=0),
    Order(
        "MSCR rises from size to size, from .02 on, and from plain training to .02",
        [f"MSCR: train {size}" for size in (_FIRST, *SIZES[2:])],
    ),
]


@declare(
    "mscr-table3",
    place="Table 3",
    takes=("data", "runs"),
    about="accuracy and MSCR of networks on CIFAR-10, by training noise and test noise",
    forms={
        "fast": Form(
            about="ResNet-9 of width 4, 3 epochs of 10 000 images, 7 runs of 8 training noises",
            takes="7 minutes on two cores",
            needs=_CIFAR,
            claims=[_FOLLOWS, *_SIGNS],
            deviations=[*_SMALL, _STEPS, _OURS],
        ),
        "gpu": Form(
            about="ResNet-9, 10 epochs of all images, 20 runs of 8 training noises",
            takes="15 minutes on an H200",
            needs=f"{_CIFAR}; a GPU",
            claims=[
                _FOLLOWS,
                *_ALL_SIGNS,
                Close("every MSCR is within 7 points of print", "MSCR: *", tolerance=7),
                Close(
                    "every clean accuracy is within 2.5 points of print",
                    "accuracy: test 0 / *",
                    tolerance=2.5,
                ),
                Within(
                    "noise of size .01 changes the clean accuracy by less than half a point",
                    "gain: train 0.01",
                    low=-0.5,
                    high=0.5,
                ),
            ],
            deviations=[
                *_SHORT,
                "An earlier script made such a study on an H200: every MSCR was within 6 points of "
                "print (benchmarks/results/table3.md). The distances claimed here were chosen "
                "after it.",
                "That noise of size .01 raises the clean accuracy is not claimed: print has +.25 "
                "points, and says that it is not shown.",
                _OURS,
            ],
        ),
        "full": Form(
            about="WRN-28-10 by the paper's recipe, 20 runs of 8 training noises",
            takes="15 hours on an H200, in pieces of ten minutes",
            needs=f"{_CIFAR}; a GPU",
            claims=[
                _FOLLOWS,
                *_ALL_SIGNS,
                Close("every MSCR is within 4 points of print", "MSCR: *", tolerance=4),
                Close(
                    "every accuracy up to test noise .07 is within 4 points of print",
                    "accuracy: test 0 / *; accuracy: test 0.0* / *",
                    tolerance=4,
                ),
            ],
            deviations=[_OURS],
        ),
    },
    errata=["mscr-table3-column", "mscr-table3-intervals", "mscr-intervals-over-runs"],
)
def measure_table(asked: Asked) -> Measured:
    """Measure accuracies and MSCR of Table 3."""
    matrix, left, settings = measure_matrix(asked)
    if matrix is None:
        return Measured(tables=[follow_mscr()], settings=settings, unfinished=left)
    tables = [tabulate_mscr(matrix), tabulate_gains(matrix), tabulate_accuracies(matrix)]
    return Measured(
        tables=[*tables, follow_mscr()],
        figure=lambda: _draw_matrix(matrix),
        settings=settings,
        unfinished=left,
        claims=None if matrix.comparable else [_FOLLOWS, OTHER_IMAGES],
    )


def _draw_matrix(matrix: Matrix) -> Chart:
    """Draw the matrix with the best of every row."""
    from shaketable.findings.figures.studies import draw_optima

    return draw_optima(matrix.records)


def find_best_sizes(matrix: Matrix, test: str) -> FloatArray:
    """Return the best training noise of every run, as its place among the sizes."""
    accuracies = [matrix.find(test, train).accuracies for train in SIZES]
    best: FloatArray = np.argmax(accuracies, axis=0).astype(np.float64)
    return best


def find_printed_best(published: Published, test: str) -> str:
    """Return the best training noise in print.

    >>> find_printed_best(load_published("mscr-table3"), "0.15")
    'eps_min'
    """
    return max(SIZES, key=lambda train: published[f"test {test}", f"train {train}"].value)


def tabulate_optima(matrix: Matrix) -> list[NumberTable]:
    """Return the best training noise of every row, and its distance from the diagonal."""
    published = load_published("mscr-table3")
    best, steps = [], []
    for place, test in enumerate(SIZES):
        row, found = f"test {test}", find_best_sizes(matrix, test)
        theirs = find_printed_best(published, test)
        size = np.array([matrix.sizes[SIZES[int(i)]] for i in found])
        away = SIZES.index(theirs) - place
        printed = [Printed(v) if matrix.comparable else None for v in (matrix.sizes[theirs], away)]
        best.append(Number(row, size, printed[0]))
        steps.append(Number(row, found - place, printed[1]))
    head = "mean over runs"
    return [
        NumberTable("best", f"Best training noise, {head}", best, digits=4, corner="test noise"),
        NumberTable(
            "steps", f"Sizes above the diagonal, {head}", steps, digits=1, corner="test noise"
        ),
    ]


def follow_optima() -> NumberTable:
    """Return how far the best of every printed row lies above the diagonal, in sizes."""
    published = load_published("mscr-table3")
    numbers = [
        Number(f"test {test}", float(SIZES.index(find_printed_best(published, test)) - place))
        for place, test in enumerate(SIZES)
    ]
    title = "Sizes above the diagonal that follow from the printed accuracies"
    return NumberTable("print", title, numbers, digits=0, corner="test noise")


_PRINTED_OPTIMA: list[Claim] = [
    Within(
        "in print, weak noise is met best with more of it",
        "print: test 0; print: test 0.01",
        low=0,
    ),
    Within(
        "in print, strong noise is met best with less of it",
        "print: test 0.07; print: test eps_min; print: test 0.15",
        high=0,
    ),
]


@declare(
    "mscr-fig7",
    place="Fig. 7",
    takes=("data", "runs"),
    about="the best training noise for every test noise, on CIFAR-10",
    forms={
        "fast": Form(
            about="ResNet-9 of width 4, 3 epochs of 10 000 images, 7 runs; the study of "
            "mscr-table3",
            takes="7 minutes on two cores, or seconds after mscr-table3",
            needs=_CIFAR,
            claims=[
                *_PRINTED_OPTIMA,
                Order(
                    "the best training noise rises with the test noise",
                    ["best: test 0", "best: test 0.15"],
                ),
                Within("for the strongest test noise it is above .05", "best: test 0.15", low=0.05),
            ],
            deviations=[*_SMALL, _DIAGONAL],
        ),
        "gpu": Form(
            about="ResNet-9, 10 epochs of all images, 20 runs; the study of mscr-table3",
            takes="15 minutes on an H200, or seconds after mscr-table3",
            needs=f"{_CIFAR}; a GPU",
            claims=[
                *_PRINTED_OPTIMA,
                Order(
                    "the best training noise rises with the test noise",
                    [f"best: test {size}" for size in (_FIRST, "0.05", "eps_min", _LAST)],
                ),
                Close(
                    "the best size of every row is within a size and a half of print",
                    "steps: *",
                    tolerance=1.5,
                ),
            ],
            deviations=[*_SHORT, _DIAGONAL],
        ),
        "full": Form(
            about="WRN-28-10 by the paper's recipe, 20 runs; the study of mscr-table3",
            takes="15 hours on an H200, in pieces, or seconds after mscr-table3",
            needs=f"{_CIFAR}; a GPU",
            claims=[
                *_PRINTED_OPTIMA,
                Order(
                    "the best training noise rises with the test noise",
                    [f"best: test {size}" for size in (_FIRST, "0.05", "eps_min", _LAST)],
                ),
                Within(
                    "strong noise is met best with less of it",
                    "steps: test eps_min; steps: test 0.15",
                    high=0,
                ),
            ],
        ),
    },
    errata=["mscr-table3-column"],
)
def measure_optima(asked: Asked) -> Measured:
    """Measure where the best training noise of every row lies."""
    matrix, left, settings = measure_matrix(asked)
    if matrix is None:
        return Measured(tables=[follow_optima()], settings=settings, unfinished=left)
    return Measured(
        tables=[*tabulate_optima(matrix), follow_optima()],
        figure=lambda: _draw_matrix(matrix),
        settings=settings,
        unfinished=left,
        claims=None if matrix.comparable else [*_PRINTED_OPTIMA, OTHER_IMAGES],
    )

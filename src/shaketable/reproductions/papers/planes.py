"""Data in the plane: class separation, the matrix of training and test noise, and its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.norms import as_p
from shaketable.core.types import FloatArray
from shaketable.findings.series import relative_change
from shaketable.reproductions.claims import Agrees, Claim, Close, Order, Precise, Within
from shaketable.reproductions.numbers import Number, NumberTable, rescale
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.reproductions.papers.balanced_runs import GroupedHits
    from shaketable.statistics.estimate import Estimate
    from shaketable.views.drawing import Chart, Row

LEVELS: tuple[float | str, ...] = (0, 0.001, 0.002, "eps_min", 0.007, 0.01, 0.015, 0.02, 0.03)
"""Sizes of the noise in training and in tests."""

PRINTED_SIZES = {"2D dataset": 4674, "CIFAR-10": 60_000}
"""Number of points of the data of the paper, by their name in its Table 1."""

_STUDY = "mscr-table2"
_DATA_2D = "the paper's set of 4674 points in the plane (.npz with x and y)"
_BALANCED = (
    "runs are balanced within groups of 25: the test parts of five runs are the folds of one "
    "permutation, and the shared offsets of a group are drawn from strata. Every run has the law "
    "of the paper's runs, so that means estimate the same; they need fewer runs"
)
_INTERVALS = (
    "MSCR is the mean of the runs' ratios, as in Algorithm 1, where print has the ratio of means; "
    "intervals are Student's over groups of runs"
)


@declare(
    "mscr-table1",
    place="Table 1",
    about="L-inf class separation 2r and eps_min of the data in the plane and of CIFAR-10",
    forms={
        "full": Form(
            about="exact search over training and test part together",
            takes="seconds",
            needs=f"{_DATA_2D}, and CIFAR-10; a file of one, or a folder that holds both",
            claims=[
                Close("2r and eps_min of the data in the plane are as printed", "size: 2D*"),
                Close("2r and eps_min of CIFAR-10 are as printed", "size: CIFAR*"),
            ],
        ),
    },
)
def measure_separations(asked: Asked) -> Measured:
    """Measure the separation of every data set that was given."""
    from shaketable.separations.separation import separation

    published = load_published(asked.name or "mscr-table1")
    numbers, lacking, notes = [], list(published.rows), []
    given = asked.require_data("the set in the plane, CIFAR-10, or a folder that holds both")
    with asked.open_store() as store:
        for data in _list_datasets(Path(given)):
            row = "2D dataset" if data.d == 2 else "CIFAR-10"
            is_printed = data.n == PRINTED_SIZES[row]
            if is_printed and row in lacking:
                lacking.remove(row)
            found = separation(data, norm=asked.norm, points=False, per_class=False, keep=store)
            notes += [f"{data.name}: {found}"]
            for column, value in (("2r", found.two_r), ("eps_min", found.epsilon_min)):
                printed = published.get(row, column) if is_printed and asked.norm == "inf" else None
                name = row if is_printed else data.name
                numbers.append(Number(name, value, printed, column=column))
    if not numbers:
        raise InputError(
            f"data must be {_DATA_2D}, or CIFAR-10, or a folder that holds them, got {given!r}, "
            "which has neither"
        )
    return Measured(
        tables=[NumberTable("size", "Class separation", numbers, digits=6, corner="data")],
        unfinished=f"not given: {' and '.join(lacking)}" if lacking else "",
        notes=notes,
        claims=None if asked.norm == "inf" else [],
    )


def _list_datasets(path: Path) -> Iterator[Dataset]:
    """Yield the data sets at a path, or in a folder, that are in the plane or like CIFAR-10."""
    from shaketable.data.files import load

    try:
        found = [load(path)]
    except InputError:
        if not path.is_dir():
            raise
        found = []
        for entry in sorted(path.iterdir()):
            if entry.is_dir() or entry.suffix == ".npz":
                try:
                    found.append(load(entry))
                except InputError:
                    continue
    yield from (data for data in found if data.d == 2 or data.shape == (32, 32, 3))


def name_cell(test: float | str, train: float | str) -> str:
    """Name of a cell of Table 2, as claims call it."""
    return f"test {test} / train {train}"


def name_mscr(train: float | str) -> str:
    """Name of an MSCR of Table 2, as claims call it."""
    return f"mscr: MSCR / train {train}"


def list_shared_claims(*, full: bool) -> list[Claim]:
    """Claims on Table 2 as printed, whose points share their noise."""
    everything = "accuracy: *; mscr: *"
    clean = [f"accuracy: {name_cell(0, train)}" for train in LEVELS]
    best = LEVELS.index(0.007)
    claims: list[Claim] = [
        Agrees("all 81 accuracies agree with print", "accuracy: *"),
        Agrees("all nine MSCR agree with print", "mscr: *"),
        Within("MSCR is negative after plain training", name_mscr(0), high=0),
    ]
    strong = [f"accuracy: {name_cell(0.03, train)}" for train in (0.03, 0.02)]
    claims.append(
        Order("the best training noise is not the test noise: for .03 it is weaker", strong)
    )
    if not full:
        few = [clean[0], clean[LEVELS.index("eps_min")], clean[best]]
        return [
            *claims,
            Precise("all 90 intervals are at most five times as wide as print's", everything, 5),
            Order("clean accuracy rises with training noise up to .007", few),
            Order("MSCR rises with training noise", [*map(name_mscr, ("eps_min", 0.015, 0.03))]),
        ]
    return [
        *claims,
        Precise("all 90 numbers are at least as precise as print's", everything),
        Order("clean accuracy rises with training noise up to .007", clean[: best + 1]),
        Order("clean accuracy falls from there on", [*reversed(clean[best:])]),
        Order(
            "MSCR rises with training noise from eps_min on (.01 apart, which print cannot tell "
            "from .007)",
            [name_mscr(train) for train in ("eps_min", 0.007, 0.015, 0.02, 0.03)],
        ),
        Within("MSCR becomes positive", name_mscr(0.03), low=0),
    ]


def list_independent_claims() -> list[Claim]:
    """Claims on Table 2 where every point has noise of its own."""
    printed = load_published(_STUDY)

    def side(text: str, test: float, train: float, *, above: bool) -> Within:
        value = printed[f"test {test}", f"train {train}"].value
        name = f"accuracy: {name_cell(test, train)}"
        return Within(text, name, low=value) if above else Within(text, name, high=value)

    weak = "; ".join(f"accuracy: {name_cell('*', train)}" for train in LEVELS[:4])
    return [
        Close("up to training noise eps_min, accuracies are within 0.15 of print", weak, 0.15),
        side("clean accuracy after training noise .03 is above print", 0, 0.03, above=True),
        side("accuracy under .03 after training noise .03 is below", 0.03, 0.03, above=False),
        side("accuracy under .02 after training noise .015 is below", 0.02, 0.015, above=False),
        Within("MSCR is never positive", "mscr: *", high=0),
        Order("MSCR does not rise steadily", [name_mscr(0.015), name_mscr("eps_min")]),
    ]


def list_general_claims() -> list[Claim]:
    """Claims on the data of the paper in a norm that it does not print."""
    best = [f"accuracy: {name_cell(0, train)}" for train in (0, "eps_min")]
    return [
        Order("training noise of eps_min raises the clean accuracy", best),
        Within("MSCR is negative after plain training", name_mscr(0), high=0),
    ]


@declare(
    "mscr-table2",
    place="Table 2",
    about="accuracy by training noise and test noise, and MSCR, of a random forest in the plane",
    forms={
        "fast": Form(
            about="8 groups of 25 runs",
            takes="3 minutes on two cores",
            needs=_DATA_2D,
            claims=list_shared_claims(full=False),
            deviations=[_BALANCED, _INTERVALS],
        ),
        "full": Form(
            about="60 groups of 25 runs, for the precision of print",
            takes="20 minutes on two cores",
            needs=_DATA_2D,
            claims=list_shared_claims(full=True),
            deviations=[_BALANCED, _INTERVALS],
        ),
    },
    errata=[
        "mscr-shared-draws",
        "mscr-intervals-over-runs",
        "mscr-division",
        "mscr-l2-square",
        "mscr-steady-rise",
    ],
)
def measure_matrix(asked: Asked) -> Measured:
    """Measure the matrix of Table 2."""
    found = run_forest(asked, 8 if asked.form == "fast" else 60)
    data, claims = found.plan.data, None
    printed = load_published(_STUDY) if is_printed_set(data) and asked.norm == "inf" else None
    if not is_printed_set(data):
        claims: list[Claim] | None = []
    elif printed is None:
        claims = list_general_claims()
    elif asked.draws != "shared":
        claims = list_independent_claims()
    return describe(asked, found)

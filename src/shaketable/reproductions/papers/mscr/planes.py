"""Data in the plane: class separation, the matrix of training and test noise, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.norms import as_p, norm_title
from shaketable.core.types import FloatArray
from shaketable.findings.series import relative_change
from shaketable.reproductions.claims import Agrees, Claim, Close, Order, Precise, Within
from shaketable.reproductions.numbers import Number, NumberTable, mean_over_runs, rescale
from shaketable.reproductions.papers.mscr.balanced_runs import RUNS_EACH
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.views.numbers import format_seconds

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.reproductions.papers.mscr.balanced_runs import GroupedHits
    from shaketable.statistics.estimate import Estimate
    from shaketable.views.drawing import Chart, Row

LEVELS: tuple[float | str, ...] = (0, 0.001, 0.002, "eps_min", 0.007, 0.01, 0.015, 0.02, 0.03)
"""Sizes of the noise in training and in tests."""

_CLASSES = [2204, 2470]
"""Points of either class of the printed set in the plane."""

PRINTED_SIZES = {"2D dataset": 4674, "CIFAR-10": 60_000}
"""Number of points of the data of the paper, by their name in its Table 1."""

_STUDY = "mscr-table2"
DATA_2D = "the points in the plane (.npz)"
DEVIATIONS = (
    (
        "Runs are balanced within groups of 25: the test parts of five runs are the folds of one "
        "permutation, and the shared offsets of a group are drawn from strata. Every run has the "
        "law of the paper's runs, so that means estimate the same; they need fewer runs."
    ),
    (
        "MSCR is the mean of the runs' ratios, as in Algorithm 1, where print has the ratio of "
        "means; intervals are Student's over groups of runs."
    ),
)


@declare(
    "mscr-table1",
    place="Table 1",
    takes=("data", "norm"),
    about="L-inf class separation 2r and eps_min of the data in the plane and of CIFAR-10",
    forms={
        "full": Form(
            about="exact search over training and test part together",
            takes="seconds",
            needs=f"{DATA_2D}, CIFAR-10, or both in a folder",
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
    numbers: list[Number] = []
    lacking, notes = list(published.rows), []
    given = asked.require_data("the set in the plane, CIFAR-10, or a folder that holds both")
    with asked.open_store() as store:
        for data in _list_datasets(Path(given)):
            row = _name_in_print(data)
            if row in lacking:
                lacking.remove(row)
            name = row or data.name
            if any(number.row == name for number in numbers):
                continue
            found = separation(data, norm=asked.norm, points=False, per_class=False, keep=store)
            notes += [f"{data.name}: {found}"]
            for column, value in (("2r", found.two_r), ("eps_min", found.epsilon_min)):
                printed = published.get(row, column) if row and asked.norm == "inf" else None
                numbers.append(Number(name, value, printed, column=column))
    if not numbers:
        raise InputError(
            f"data must be {DATA_2D}, or CIFAR-10, or a folder that holds them, got {given!r}, "
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
        data = load(path)
    except InputError:
        if not path.is_dir():
            raise
    else:
        if _is_of_the_paper(data):
            yield data
        return
    for entry in sorted(path.iterdir()):
        if entry.is_dir() or entry.suffix == ".npz":
            with suppress(InputError):
                data = load(entry)
                if _is_of_the_paper(data):
                    yield data


def _name_in_print(data: Dataset) -> str:
    """Return what Table 1 calls the data, or nothing, by their size and number of classes."""
    if (data.d, data.n) == (2, PRINTED_SIZES["2D dataset"]):
        return "2D dataset"
    return "CIFAR-10" if (data.n, len(data.classes)) == (PRINTED_SIZES["CIFAR-10"], 10) else ""


def _is_of_the_paper(data: Dataset) -> bool:
    """Whether data are in the plane, or images as those of CIFAR-10."""
    return data.d == 2 or data.shape == (32, 32, 3)


def name_cell(test: float | str, train: float | str) -> str:
    """Name of a cell of Table 2, as claims call it."""
    return f"test {test} / train {train}"


def name_mscr(train: object) -> str:
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
            Order("clean accuracy rises from training noise 0 to eps_min to .007", few),
            Order(
                "MSCR rises from training noise eps_min to .015 to .03",
                [*map(name_mscr, ("eps_min", 0.015, 0.03))],
            ),
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

    mild = "; ".join(map(name_mscr, LEVELS[:7]))
    weak = "; ".join(f"accuracy: {name_cell('*', train)}" for train in LEVELS[:4])
    return [
        Close("up to training noise eps_min, accuracies are within 0.2 of print", weak, 0.2),
        side("clean accuracy after training noise .03 is above print", 0, 0.03, above=True),
        side("accuracy under .03 after training noise .03 is below", 0.03, 0.03, above=False),
        side("accuracy under .02 after training noise .015 is below", 0.02, 0.015, above=False),
        Within("MSCR is negative up to training noise .015", mild, high=0),
        *(
            Within(
                f"MSCR after training noise {train} is below print's",
                name_mscr(train),
                high=printed["MSCR", f"train {train}"].value,
            )
            for train in (0.015, 0.02, 0.03)
        ),
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
    takes=("data", "runs", "norm", "draws"),
    about="accuracy and MSCR of a random forest on points in the plane, by training noise",
    forms={
        "full": Form(
            about="groups of 25 runs; 72 by default, for the precision of print",
            takes="17 minutes on two cores",
            needs=DATA_2D,
            claims=list_shared_claims(full=True),
            deviations=DEVIATIONS,
        ),
        "fast": Form(
            about="groups of 25 runs; 8 by default",
            takes="2 minutes on two cores",
            needs=DATA_2D,
            claims=list_shared_claims(full=False),
            deviations=DEVIATIONS,
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
    found = run_forest(asked, asked.runs or (8 if asked.form == "fast" else 72))
    data = found.plan.data
    claims: list[Claim] | None = None
    published: Mapping[Any, Any] | None = None
    if not is_printed_set(data):
        claims = []
    elif asked.norm != "inf":
        claims = list_general_claims()
    else:
        published = load_published(_STUDY).numbers
        claims = None if asked.draws == "shared" else list_independent_claims()
    rows = make_rows("ours", found) if found.groups > 1 else []
    rows += _make_printed_rows(found) if rows and published else []
    return Measured(
        tables=tabulate(found, published),
        figure=(lambda: draw_lines(rows)) if rows else None,
        settings=describe(found),
        unfinished=found.unfinished,
        claims=claims,
    )


def is_printed_set(data: Dataset) -> bool:
    """Whether data are those of the paper's Tables 1 and 2, by their classes."""
    return sorted(np.bincount(data.y)) == _CLASSES


def load_set(asked: Asked) -> Dataset:
    """Load the points that were given, by their path, or by that of a folder."""
    from shaketable.data.files import load

    given = asked.require_data(DATA_2D)
    if not Path(given).is_dir():
        data = load(given)
        if (data.d, len(data.classes)) != (2, 2):
            raise InputError(
                f"data must be points in the plane, with two features and two classes, got "
                f"{data.name}: {data.d} features and {len(data.classes)} classes"
            )
        return data
    for data in _list_datasets(Path(given)):
        if data.d == 2:
            return data
    raise InputError(f"data must be {DATA_2D}, or a folder that holds it, got {given!r}")


def run_forest(asked: Asked, groups: int) -> GroupedHits:
    """Carry out groups of runs of the random forest under all noise."""
    from shaketable.reproductions.papers.mscr.plane_forest import PlaneForest

    return run_model(asked, PlaneForest(), LEVELS, groups)


def run_model(asked: Asked, model: Any, tests: Sequence[float | str], groups: int) -> GroupedHits:
    """Carry out groups of runs of a model, under noise of some sizes; all names keep theirs."""
    from shaketable.reproductions.papers.mscr.balanced_runs import Plan, find_noise, run_groups

    data, p = load_set(asked), as_p(asked.norm)
    with asked.share(_STUDY).open_store() as store:
        noise = find_noise(data, p, LEVELS, store)
        plan = Plan(
            data=data,
            model=model,
            p=p,
            train=[*noise.values()],
            test=[noise[level] for level in tests],
            draws=asked.draws,
            seed=asked.seed,
        )
        jobs, minutes = asked.jobs or -1, asked.minutes
        return run_groups(plan, groups, store, jobs=jobs, minutes=minutes, quiet=asked.quiet)


def compute_accuracies(found: GroupedHits) -> FloatArray:
    """Mean accuracy of every group in per cent, (groups, test noise, training noise)."""
    return np.asarray(100 * found.accuracies.mean(axis=1))


def compute_mscr(found: GroupedHits) -> FloatArray:
    """Mean MSCR of every group in per cent, (groups, training noise)."""
    plan = found.plan
    at = [*plan.test].index(plan.train[LEVELS.index("eps_min")])
    clean, robust = found.accuracies[:, :, 0], found.accuracies[:, :, at]
    losses = relative_change(clean, robust)
    return np.asarray(100 * losses.mean(axis=1))


def tabulate(found: GroupedHits, published: Mapping[Any, Any] | None) -> list[NumberTable]:
    """Return the matrix and the row of MSCR, beside print if that is of the same data."""
    if not found.groups:
        return []
    accuracies = compute_accuracies(found)
    mscr = compute_mscr(found)

    def make_number(row: str, column: str, values: FloatArray) -> Number:
        printed = published[row, column].printed if published else None
        return Number(row, values, printed, column=column, runs_each=RUNS_EACH)

    columns = [f"train {level}" for level in LEVELS]
    cells = [
        make_number(f"test {level}", column, accuracies[:, i, j])
        for i, level in enumerate(LEVELS)
        for j, column in enumerate(columns)
    ]
    row = [make_number("MSCR", column, mscr[:, j]) for j, column in enumerate(columns)]
    return [
        NumberTable("accuracy", "Accuracy", cells, "per cent", 3, "test noise"),
        NumberTable("mscr", "MSCR", row, "per cent", 3),
    ]


def describe(found: GroupedHits) -> dict[str, Any]:
    """Say how runs were carried out."""
    plan = found.plan
    settings = {
        "Data": f"{plan.data.name}, {plan.data.n} points",
        "Noise": f"{norm_title(plan.p)}, {plan.draws}, k = {plan.k}",
        "Model": "random forest of 100 trees, those of scikit-learn",
        "Runs": f"{found.groups} group{'s' * (found.groups != 1)} of {RUNS_EACH}",
    }
    if found.read:
        settings["Runs"] += f"; {found.read} runs were done by an earlier call"
    if found.seconds > 0:
        settings["Processor time of all runs"] = format_seconds(found.seconds)
    return settings


def make_rows(model: str, found: GroupedHits) -> list[Row]:
    """Rows of charts: MSCR, and clean accuracy, of a model by training noise."""
    clean, mscr = compute_accuracies(found)[:, 0], compute_mscr(found)
    estimates = [
        (mean_over_runs(m), mean_over_runs(c)) for m, c in zip(mscr.T, clean.T, strict=True)
    ]
    return _make_rows(model, found, estimates)


def _make_printed_rows(found: GroupedHits) -> list[Row]:
    """The same rows as printed in Table 2."""
    published = load_published(_STUDY)
    columns = [f"train {level}" for level in LEVELS]
    pairs = [(published["MSCR", c].estimate, published["test 0", c].estimate) for c in columns]
    return _make_rows("print", found, pairs)


def _make_rows(
    model: str, found: GroupedHits, estimates: Sequence[tuple[Estimate, Estimate]]
) -> list[Row]:
    from shaketable.views.drawing import make_columns

    return [
        {
            "model": model,
            "train": str(level),
            "train_epsilon": getattr(noise, "epsilon", 0.0),
            **make_columns(rescale(mscr, 0.01)),
            **make_columns(rescale(clean, 0.01), "clean"),
        }
        for level, noise, (mscr, clean) in zip(LEVELS, found.plan.train, estimates, strict=True)
    ]


def draw_lines(rows: Sequence[Row]) -> Chart:
    """Clean accuracy and MSCR against the training noise."""
    from shaketable.findings.figures import models
    from shaketable.views.drawing import compose_figure

    clean = [row | {name: row[f"clean{end}"] for name, end in _ENDS.items()} for row in rows]
    panels = [
        models.draw_lines(clean, "a  Clean accuracy", "clean accuracy, per cent", at_most=100),
        models.draw_lines(rows, "b  MSCR", "MSCR, per cent"),
    ]
    return compose_figure(
        panels,
        finding="Clean accuracy and MSCR by training noise.",
        about="Points: means over groups of runs; bars: 95 % intervals.",
    )


_ENDS = {"value": "", "low": "_low", "high": "_high"}

"""What a search for training noise found: right answers by noise, the choice, the test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import UndefinedError
from shaketable.core.types import IntArray
from shaketable.corruptions import Clean
from shaketable.data.dataset import Dataset
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.records import Record
from shaketable.evaluation.study import resolve_training
from shaketable.evaluation.trainees import save_model, train_model
from shaketable.models.feature_scaling import attach_scaling
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate, EstimateJson, EstimateWithMethodJson
from shaketable.training.hardening import view
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


@dataclass(frozen=True, eq=False)
class Answers:
    """Numbers of right answers, (runs, points), of models that were trained with one noise."""

    clean: IntArray
    robust: IntArray
    """Under noise: of all corruptions together, each with the same weight."""
    draws: int
    """Largest possible number under noise."""

    @property
    def runs(self) -> int:
        """Number of trainings."""
        return len(self.clean)

    @property
    def by_point(self) -> tuple[IntArray, IntArray]:
        """Right answers of all runs together, clean and under noise."""
        return self.clean.sum(axis=0), self.robust.sum(axis=0)

    @property
    def clean_accuracy(self) -> float:
        """Mean accuracy on clean points."""
        return float(self.clean.mean())

    @property
    def robust_accuracy(self) -> float:
        """Mean accuracy under noise."""
        return float(self.robust.mean() / self.draws)


class MeasuresJson(TypedDict):
    """Accuracy on clean points and under noise, or differences of them."""

    clean: EstimateWithMethodJson
    robust: EstimateWithMethodJson
    change: Annotated[
        EstimateWithMethodJson | None, "of the accuracy under noise, relative to the clean one"
    ]


@dataclass(frozen=True)
class Measures:
    """Accuracy on clean points and under noise, and the relative change; or differences of them."""

    clean: Estimate
    robust: Estimate
    change: Estimate | None
    """Accuracy under noise relative to the clean one, minus 1; None if that is 0."""

    def json(self) -> MeasuresJson:
        """Values in per cent, or percentage points."""
        return {
            "clean": self.clean.json_with_method(),
            "robust": self.robust.json_with_method(),
            "change": None if self.change is None else self.change.json_with_method(),
        }


def collect_answers(records: Iterable[Record]) -> dict[str, Answers]:
    """Gather the records of a study of one model by training noise."""
    clean: dict[str, dict[int, IntArray]] = {}
    robust: dict[str, dict[int, IntArray]] = {}
    draws: dict[tuple[str, int], int] = {}
    for cell in records:
        if cell.corruption == "clean":
            clean.setdefault(cell.train, {})[cell.run] = cell.hits
            continue
        runs = robust.setdefault(cell.train, {})
        runs[cell.run] = runs.get(cell.run, 0) + cell.hits
        draws[cell.train, cell.run] = draws.get((cell.train, cell.run), 0) + cell.k
    return {
        train: Answers(
            np.stack([runs[run] for run in sorted(runs)]),
            np.stack([robust[train][run] for run in sorted(runs)]),
            draws[train, 0],
        )
        for train, runs in clean.items()
    }


def compare_splits(first: Answers, second: Answers) -> tuple[Estimate, Estimate]:
    """Clean and robust accuracy of the first minus those of the second; every run is a new split.

    Paired: run r of both has the same points and the same noise.
    """
    pairs = ((first.clean, second.clean, 1), (first.robust, second.robust, first.draws))
    if first.runs == 1:
        clean, robust = (intervals.mean_difference(a[0], b[0], k) for a, b, k in pairs)
    else:
        clean, robust = (intervals.mean_difference_over_runs(a, b, k) for a, b, k in pairs)
    return clean, robust


def measure_accuracies(answers: Answers) -> Measures:
    """Accuracies and relative change of models that were all tested on the same points."""
    a, runs, k = answers, answers.runs, answers.draws
    clean, robust = (
        _join_runs(
            runs,
            partial(intervals.mean_share, hits.sum(axis=0), k * runs),
            partial(intervals.mean_share_over_runs, hits, k),
            (0.0, 1.0),
        )
        for hits, k in ((a.clean, 1), (a.robust, a.draws))
    )
    change = _join_defined(
        runs,
        lambda: intervals.relative_change(*a.by_point, k * runs, clean_k=runs),
        lambda: intervals.relative_change_over_runs(a.clean, a.robust, k),
        (-1.0, math.inf),
    )
    return Measures(clean, robust, change)


def compare_trainings(first: Answers, second: Answers) -> Measures:
    """Measures of the first minus those of the second, paired by point and by run.

    All models were tested on the same points.
    """
    a, b, runs, k = first, second, first.runs, first.draws
    clean, robust = (
        _join_runs(
            runs,
            partial(intervals.mean_difference, x.sum(axis=0), y.sum(axis=0), k * runs),
            partial(intervals.mean_difference_over_runs, x, y, k),
            (-1.0, 1.0),
        )
        for x, y, k in ((a.clean, b.clean, 1), (a.robust, b.robust, a.draws))
    )
    change = _join_defined(
        runs,
        lambda: intervals.change_difference(a.by_point, b.by_point, k * runs, clean_k=runs),
        lambda: intervals.change_difference_over_runs((a.clean, a.robust), (b.clean, b.robust), k),
    )
    return Measures(clean, robust, change)


def join_sources(
    by_points: Estimate, by_runs: Estimate, ends: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:
    r"""Estimate whose interval covers new points and new trainings on the same training points.

    The runs share their test points, so the spread between runs does not show what other points
    would give, and the spread between points not what other trainings would. With the distances
    :math:`l_p` and :math:`l_r` from the value to the lower limits of both, the joint one is

    .. math:: \sqrt{l_p^2 + l_r^2}

    and likewise above (MOVER; Zou & Donner 2008), within the `ends` of the range.

    >>> points = Estimate(0.1, 0.07, 0.13, 0.95, "by points")
    >>> print(join_sources(points, Estimate(0.1, 0.06, 0.14, 0.95, "by runs")))
    0.100 (95 % interval 0.050 to 0.150)
    """

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        parts = [
            e.again(confidence=confidence, times=times, careful=careful)
            for e in (by_points, by_runs)
        ]
        low = math.hypot(*(e.value - e.low for e in parts))
        high = math.hypot(*(e.high - e.value for e in parts))
        return max(by_runs.value - low, ends[0]), min(by_runs.value + high, ends[1])

    method = f"points and runs joined in quadrature; by points: {by_points.method}; by runs: "
    return Estimate(
        by_runs.value,
        *limits(by_runs.confidence, 1.0, False),
        by_runs.confidence,
        method + by_runs.method,
        limits,
    )


def _join_runs(
    runs: int,
    by_points: Callable[[], Estimate],
    by_runs: Callable[[], Estimate],
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    return by_points() if runs == 1 else join_sources(by_points(), by_runs(), ends)


def _join_defined(
    runs: int,
    by_points: Callable[[], Estimate],
    by_runs: Callable[[], Estimate],
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate | None:
    try:
        return _join_runs(runs, by_points, by_runs, ends)
    except UndefinedError:
        return None


ONE_ERROR = 0.68
"""Confidence of an interval of one standard error to both sides."""


class CandidateJson(TypedDict):
    """Training noise of the search."""

    noise: str
    size: float | None
    clean: Annotated[float, "accuracy on clean points, in per cent"]
    robust: Annotated[float, "accuracy under the target, in per cent"]
    clean_difference: EstimateJson
    robust_difference: EstimateJson
    fits_price: bool


@dataclass(frozen=True)
class Candidate:
    """Training noise of the search, compared with none on points left out of fitting."""

    noise: str
    size: float | None
    """Its size relative to the ladder's unit; None for noise that was named."""
    clean_accuracy: float
    robust_accuracy: float
    clean: Estimate
    """Clean accuracy minus that of training without noise, on as many copies."""
    robust: Estimate
    """Accuracy under the test noise minus that of the same."""

    def fits(self, price: float) -> bool:
        """Whether the loss of clean accuracy is at most `price`, up to one standard error."""
        return self.clean.again(confidence=ONE_ERROR).high >= -price

    def json(self, price: float) -> CandidateJson:
        """Values in per cent, differences in percentage points."""
        return {
            "noise": self.noise,
            "size": self.size,
            "clean": 100 * self.clean_accuracy,
            "robust": 100 * self.robust_accuracy,
            "clean_difference": self.clean.json(),
            "robust_difference": self.robust.json(),
            "fits_price": self.fits(price),
        }


def choose_candidate(candidates: Iterable[Candidate], price: float) -> Candidate | None:
    """Return the candidate with the highest accuracy under noise among those that fit the price.

    None if none of these is more accurate under noise than training without noise. Of equal ones,
    the first is chosen.
    """
    fit = [candidate for candidate in candidates if candidate.fits(price)]
    best = max(fit, key=lambda candidate: candidate.robust.value, default=None)
    return best if best is not None and best.robust.value > 0 else None


Outcome: TypeAlias = Literal["helps", "costs more", "not shown", "none found"]
"""``helps``: accuracy under noise is shown to rise, and clean accuracy not shown to fall by more
than the price. ``costs more``: both are shown to change. ``not shown``: what was best in the search
is not shown to be better on the test part. ``none found``: nothing was better in the search."""

PLAIN = Clean().spec


class SearchJson(TypedDict):
    """The search for training noise."""

    runs: Annotated[int, "trainings with every noise"]
    fit_points: Annotated[int, "points that are trained on"]
    selection_points: Annotated[int, "points that are compared on"]
    unit: Annotated[str, "what sizes are relative to; empty for training noise that was named"]
    candidates: list[CandidateJson]
    diverged: Annotated[
        list[str], "noise that is no candidate, because a training with it diverged"
    ]
    chosen: Annotated[str, "the best noise; clean if none was better"]


class TestJson(TypedDict):
    """The comparison on points that the search did not use."""

    runs: int
    points: int
    plain: Annotated[MeasuresJson, "without noise, on one copy of every point"]
    copies: Annotated[
        MeasuresJson | None, "without noise, on k copies; null for networks and if k is 1"
    ]
    chosen: MeasuresJson | None
    difference: Annotated[
        MeasuresJson | None, "chosen minus copies, or minus plain where copies is null"
    ]
    copies_difference: Annotated[MeasuresJson | None, "copies minus plain"]


class HardeningJson(TypedDict):
    """What a search for training noise found; rates are in per cent."""

    data: str
    model: str
    target: Annotated[str, "noise or suite that the model is to be robust to"]
    at_eps_min: Annotated[bool, "whether it is noise of size eps_min, so that change is MSCR"]
    price: Annotated[float, "largest loss of clean accuracy, in percentage points"]
    k: Annotated[int, "noisy copies of every point"]
    seed: int
    search: SearchJson
    test: Annotated[TestJson, "on points that the search did not use"]
    outcome: Outcome
    noise: Annotated[str, "the chosen noise if it helps, else clean"]
    verdict: str


class HardenJson(HardeningJson):
    """Result of harden."""

    file: Annotated[str | None, "the model, trained with noise"]


@dataclass(frozen=True, eq=False)
class Workshop:
    """What is needed to train the model again, as in the test."""

    name: str
    trainee: Any
    data: Dataset
    """With a fixed test part."""
    noise: Noise

    def train(self, noise: str, run: int = 0) -> Any:
        """Return the model as trained with a noise in a run of the test."""
        ready = Noise(k=self.noise.k, seed=self.noise.seed, bounds=self.noise.bounds, run=run)
        (training,) = resolve_training(self.trainee, [noise], self.data, ready)
        rows, _ = self.data.parts()
        return train_model(
            self.trainee, training, self.data, rows, ready, name=self.name, checkpoint=None, place=0
        )


@dataclass(frozen=True, eq=False)
class Hardening(Displayed):
    """Which training noise helps, and by how much; the models are trained when they are asked for.

    The chosen noise is compared with training without noise, on as many copies of every point if
    the model gets copies.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> found = st.harden("iris", "1nn", noise=["linf(0.1)"], runs=2, search_runs=2, k=1)
    >>> sorted(found.json())[:2]
    ['at_eps_min', 'data']
    >>> type(found.train(noise="linf(0.1)")).__name__
    'KNeighborsClassifier'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found.save(Path(folder) / "model.joblib")
    """

    workshop: Workshop
    target: str
    """Noise, or suite, that the model is to be robust to."""
    unit: str
    """What sizes of candidates are relative to; empty for noise that was named."""
    at_eps_min: bool
    """Whether the target is noise of size eps_min, so that the relative change is MSCR."""
    price: float
    """Largest loss of clean accuracy, a fraction."""
    search_runs: int
    parts: tuple[int, int, int]
    """Numbers of points: fitted and compared on in the search, and of the test part."""
    candidates: tuple[Candidate, ...]
    diverged: tuple[str, ...]
    """Training noise that is no candidate, because a training with it diverged."""
    chosen: str
    """Training noise that was best in the search; ``clean`` if none was."""
    runs: int
    plain_test: Measures
    """Training without noise, on one copy of every point, as measured on the test part."""
    copies_test: Measures | None
    """The same on k copies; None for networks, which get none, and for k = 1."""
    chosen_test: Measures | None
    difference: Measures | None
    """The chosen noise minus no noise, both with the same number of copies; None if no noise was
    chosen, as is `chosen_test`."""
    copies_difference: Measures | None
    """What the copies alone change: `copies_test` minus `plain_test`."""

    @property
    def outcome(self) -> Outcome:
        """What the intervals on the test part show."""
        if self.difference is None:
            return "none found"
        if not self.difference.robust.low > 0:
            return "not shown"
        return "costs more" if self.difference.clean.high < -self.price else "helps"

    @property
    def helps(self) -> bool:
        """Whether the chosen noise is shown to help, within the price."""
        return self.outcome == "helps"

    @property
    def noise(self) -> str:
        """Training noise to use: the chosen one if it helps, else ``clean``."""
        return self.chosen if self.helps else PLAIN

    @property
    def verdict(self) -> str:
        """What was found, as a sentence."""
        parts = (
            view.describe_outcome(self),
            view.describe_diverged(self),
            view.describe_copies(self),
        )
        return "; ".join(filter(None, parts))

    @cached_property
    def model(self) -> Any:
        """The model, trained with `noise` on the training part: that of the first run."""
        return self.plain if self.noise == PLAIN else self.workshop.train(self.noise)

    @cached_property
    def plain(self) -> Any:
        """The model, trained on the training part without noise or copies: that of run 0."""
        return self.workshop.train(PLAIN)

    def train(self, *, noise: str, run: int = 0) -> Any:
        """Train the model with any noise on the training part, as in a run of the test.

        Parameters
        ----------
        noise
            Spec of the training noise.
        run
            Number of the run.

        Returns
        -------
        Any
            The trained model.
        """
        return self.workshop.train(noise, check_whole("run", run, least=0))

    def save(self, path: str | Path) -> None:
        """Write `model` to a file: ``.pt`` for networks, ``.joblib`` for estimators.

        If the data were scaled, the model in the file scales them by itself.

        Parameters
        ----------
        path
            File to write.
        """
        save_model(attach_scaling(self.model, self.workshop.data), path)

    def json(self) -> HardeningJson:
        """Return the result as a JSON object; rates are in per cent.

        Returns
        -------
        dict
            Keys as in ``shaketable harden --json``.
        """
        fit, selection, test = self.parts
        return {
            "data": self.workshop.data.name,
            "model": self.workshop.name,
            "target": self.target,
            "at_eps_min": self.at_eps_min,
            "price": 100 * self.price,
            "k": self.workshop.noise.k,
            "seed": self.workshop.noise.seed,
            "search": {
                "runs": self.search_runs,
                "fit_points": fit,
                "selection_points": selection,
                "unit": self.unit,
                "candidates": [candidate.json(self.price) for candidate in self.candidates],
                "diverged": list(self.diverged),
                "chosen": self.chosen,
            },
            "test": {
                "runs": self.runs,
                "points": test,
                "plain": self.plain_test.json(),
                "copies": _json(self.copies_test),
                "chosen": _json(self.chosen_test),
                "difference": _json(self.difference),
                "copies_difference": _json(self.copies_difference),
            },
            "outcome": self.outcome,
            "noise": self.noise,
            "verdict": self.verdict,
        }

    def blocks(self) -> list[Block]:
        """Return the search, the comparison on the test part, and the verdict."""
        return view.make_blocks(self)


def _json(measures: Measures | None) -> MeasuresJson | None:
    return None if measures is None else measures.json()

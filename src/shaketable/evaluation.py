"""The loop: a model, points and corruptions in, records out; never more than a batch in memory."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.corruptions import (
    Bounds,
    BoundsLike,
    Clean,
    Corruption,
    as_bounds,
    noisy_copies,
    parse,
)
from shaketable.data import Dataset, as_floats
from shaketable.errors import InputError, unknown, whole
from shaketable.files import as_dataset
from shaketable.keys import SCHEME, digest, row_keys
from shaketable.models import Classifier, as_classifier, fit
from shaketable.progress import bar
from shaketable.records import Points, Record, Records, SeparationRecord
from shaketable.separations import separation
from shaketable.store import Store
from shaketable.types import IntArray

Draws: TypeAlias = Literal["independent", "shared"]

BATCH_VALUES, BATCH_ROWS = 1 << 22, 1 << 16
"""Values (32 MB of float64) and rows handed to the model at a time; results do not depend on it."""


AS_GIVEN = "as given"
"""Training noise of a model that was not trained in a study."""


@dataclass(frozen=True, kw_only=True)
class Noise:
    """All that decides which noise a point meets, whatever the model."""

    k: int
    seed: int
    run: int = 0
    draws: Draws = "independent"
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("seed", 0), ("run", 0)):
            # a plain int, whatever kind of integer it was: it goes into keys and into the store
            object.__setattr__(self, name, whole(name, getattr(self, name), least=least))
        if self.draws not in get_args(Draws):
            raise unknown("draws", self.draws, get_args(Draws))

    def keys(self, data: Dataset, corruption: Corruption, rows: IntArray, draws: IntArray) -> Any:
        """Keys of every row and draw, shape (rows, draws).

        With shared draws all points, all levels of a ladder, training and test get the same k
        offsets, scaled: the published 2-D study was made so (Siedel et al. 2022, Table 2).
        """
        if self.draws == "shared":
            rows = np.zeros_like(rows)
        return row_keys(self._key(data, corruption), rows, draws)

    def _key(self, data: Dataset, corruption: Corruption) -> int:
        stream = corruption.ladder if self.draws == "shared" else corruption.spec
        return digest(SCHEME, data.fingerprint, stream, self.run, self.seed)


def evaluate(
    model: Any,
    data: Any,
    corruptions: Iterable[str | Corruption],
    *,
    k: int = 10,
    seed: int = 0,
    store: str | Path | None = None,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "independent",
    name: str | None = None,
    model_id: str | None = None,
    refit: bool = False,
    unscale: bool = False,
    progress: bool = False,
) -> Records:
    """Measure a fitted model on clean points and under every corruption.

    Parameters
    ----------
    model
        Fitted estimator, or a callable from points to labels or scores.
    data
        ``(x, y)``, a `Dataset`, or what `load` takes. Measured on the test part; on all points
        when there is none and the model comes fitted.
    corruptions
        Spec strings such as ``linf(0.1)``; ``linf(eps_min)`` stands for half the separation of
        these data.
    k
        Noisy copies of every point.
    seed
        Every model gets the same noise from the same seed, so their results are paired.
    store
        Results file; cells that are in it already are not computed again.
    bounds
        (low, high) to clip to, a `Bounds` for another rule, None for no bounds; by default what
        the data declare.
    draws
        ``"shared"`` gives all points the same k offsets, for reproducing the paper only.
    name, model_id, unscale
        See `as_classifier`.
    refit
        Train a copy of the model on the training part first: the data's own, or 80 % of the points
        chosen by `seed`.
    progress
        Show a bar on stderr.
    """
    data = as_dataset(data)
    if refit:
        train, rows = data.parts(seed=seed)
        model = fit(model, data, train, seed=seed)
    else:
        rows = np.arange(data.n_train or 0, data.n)
        data.check_test_size(len(rows))
    classifier = as_classifier(
        model, data, name=name, model_id=model_id, unscale=unscale and not refit
    )
    with Store(store) as opened:
        chosen = resolve(corruptions, data, opened)
        noise = Noise(k=k, seed=seed, draws=draws, bounds=bounds_of(data, bounds))
        identity = classifier.identity or f"once {digest(time.time_ns()):016x}"
        maker = Maker(classifier.name, recipe=identity, train=AS_GIVEN)
        points = make_points(data, rows)
        cells = [Cell(data, points, c, noise, maker, identity) for c in with_clean(chosen)]
        return _measure_missing(opened, classifier, cells, progress=progress)


def bounds_of(data: Dataset, bounds: BoundsLike | Literal["declared"]) -> Bounds | None:
    """Bounds to keep noise in, as asked for; refused when the data themselves leave them."""
    chosen = data.bounds if bounds == "declared" else as_bounds(bounds)
    if chosen is not None:
        chosen.check(as_floats(np.array([data.x.min(), data.x.max()], dtype=data.x.dtype)))
    return chosen


def _measure_missing(
    store: Store, classifier: Classifier, cells: Sequence[Cell], *, progress: bool
) -> Records:
    """Measure the cells that `store` does not have yet, and return all that were asked for."""
    known = store.keys()
    missing = [cell for cell in cells if cell.key not in known]
    for cell in bar(missing, f"shaking {classifier.name}", total=len(missing), enabled=progress):
        store.add([cell.measure(classifier)])
    return recorded(store, cells)


def recorded(store: Store, cells: Iterable[Cell]) -> Records:
    """Records of these cells, under the names their models have now."""
    names = {cell.key: cell.maker.name for cell in cells}
    found = store.records(names)
    return replace(found, cells=tuple(replace(c, model=names[c.key]) for c in found))


@dataclass(frozen=True)
class Maker:
    """How a model came about: what the models of all runs have in common."""

    name: str
    recipe: str
    train: str


@dataclass(frozen=True, eq=False)
class Cell:
    """One model against one corruption: its key before, its record after it was measured."""

    data: Dataset
    points: Points
    corruption: Corruption
    noise: Noise
    maker: Maker
    model_id: str
    """Tells this very model from any other, also of other runs."""

    @property
    def k(self) -> int:
        """Draws a point; clean points are measured once."""
        return 1 if isinstance(self.corruption, Clean) else self.noise.k

    @property
    def bounds(self) -> str:
        """The bounds as recorded; clean points have none."""
        return "none" if isinstance(self.corruption, Clean) else str(self.noise.bounds or "none")

    @property
    def draws(self) -> str:
        """How noise was drawn; clean points have none."""
        return "none" if isinstance(self.corruption, Clean) else self.noise.draws

    @property
    def key(self) -> str:
        """Hash of all that the counts depend on."""
        noise = self.noise
        parts = (self.corruption.spec, self.points.id, self.model_id, self.bounds, self.draws,
                 self.k, noise.seed, noise.run)  # fmt: skip
        return f"{digest(SCHEME, *parts):016x}{digest(*parts, 'second half'):016x}"

    def measure(self, answer: Callable[[Any], IntArray]) -> Record:
        """Shake the model and count."""
        started = time.perf_counter()
        hits, predictions, dtype = count_hits(answer, self)
        return Record(
            key=self.key, points=self.points, data=self.data.name,
            fingerprint=self.data.fingerprint, model=self.maker.name, recipe=self.maker.recipe,
            model_id=self.model_id, train=self.maker.train, corruption=self.corruption.spec,
            bounds=self.bounds,
            draws=self.draws, dtype=dtype, k=self.k, seed=self.noise.seed,
            run=self.noise.run, hits=hits, predictions=predictions, versions=versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=time.perf_counter() - started,
        )  # fmt: skip


def count_hits(
    answer: Callable[[Any], IntArray], cell: Cell
) -> tuple[IntArray, IntArray | None, str]:
    """Correct answers per point, the answers themselves on clean points, and the dtype used."""
    data, rows, k = cell.data, cell.points.rows, cell.k
    hits = np.zeros(len(rows), np.int64)
    clean = isinstance(cell.corruption, Clean)
    predictions = np.zeros(len(rows), np.int64) if clean else None
    corruption = cell.corruption.bind(cell.noise.bounds)
    dtype = ""
    for some, draws in _batches(len(rows), k, data.d):
        x = data.rows(rows[some])
        dtype = str(x.dtype)
        if not clean:
            keys = cell.noise.keys(data, cell.corruption, rows[some], draws)
            x = noisy_copies(corruption, x, keys)
        codes = answer(x)
        if predictions is not None:
            predictions[some] = codes
        right = codes.reshape(-1, len(draws)) == data.y[rows[some], None]
        hits[some] += right.sum(axis=1)
    return hits, predictions, dtype


def resolve(
    corruptions: Iterable[str | Corruption], data: Dataset, store: Store
) -> list[Corruption]:
    """Corruptions from their specs; separations that ``eps_min`` asks for are recorded.

    What is on record is not measured again, and metrics know by it which cells are at eps_min.
    """

    def eps_min(p: float) -> float:
        known = store.separation(data.fingerprint, p)
        if known is None:
            known = SeparationRecord.of(separation(data, norm=p), data.fingerprint)
            store.add_separation(known)
        return known.epsilon_min

    if isinstance(corruptions, str):
        corruptions = [corruptions]
    found = [parse(c, eps_min=eps_min) if isinstance(c, str) else c for c in corruptions]
    for c in found:
        if c != c.bind(None):
            raise InputError(f"bounds of {c.spec} must be left out; give them to evaluate instead")
    return found


def with_clean(corruptions: Iterable[Corruption]) -> list[Corruption]:
    """Clean points first, then every corruption once."""
    return list({c.spec: c for c in (Clean(), *corruptions)}.values())


def make_points(data: Dataset, rows: IntArray) -> Points:
    """Name the points that cells are measured on."""
    id_ = f"{digest(data.fingerprint, rows.astype('<i8').tobytes()):016x}"
    return Points(id_, data.classes, rows, data.y[rows])


@cache
def versions() -> dict[str, str]:
    """Versions a result may depend on."""
    packages = ("shaketable", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}


def _batches(n: int, k: int, d: int) -> Iterator[tuple[slice, IntArray]]:
    """Points and draws that fit into one batch together."""
    fit = max(1, min(BATCH_VALUES // d, BATCH_ROWS))
    rows, draws = max(1, fit // k), min(k, fit)
    for i in range(0, n, rows):
        for j in range(0, k, draws):
            yield slice(i, min(n, i + rows)), np.arange(j, min(k, j + draws))

"""The loop: a model, points and corruptions in, records out; never more than a batch in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.progress import count_steps
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Clean, Corruption, parse
from shaketable.corruptions.published import open_published
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds
from shaketable.data.dataset import Dataset, as_floats
from shaketable.data.files import as_dataset
from shaketable.evaluation.records import Points, Record, Records, SuiteRecord
from shaketable.evaluation.store import Store
from shaketable.models.classifier import Classifier, as_classifier
from shaketable.models.fitting import fit
from shaketable.separations.record import SeparationRecord
from shaketable.separations.separation import separation

Draws: TypeAlias = Literal["independent", "ladder", "shared"]
Corruptions: TypeAlias = "Iterable[str | Corruption | Suite] | str | Suite"

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
    on_device: bool = False
    """Whether the model's torch device makes the noise: the same laws, but numbers of its own."""

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("seed", 0), ("run", 0)):
            # a plain int, whatever kind of integer it was: it goes into keys and into the store
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least=least))
        if self.draws not in get_args(Draws):
            raise unknown_name("draws", self.draws, get_args(Draws))

    def keys(self, data: Dataset, corruption: Corruption, rows: IntArray, draws: IntArray) -> Any:
        """Keys of every row and draw, shape (rows, draws).

        With ladder draws a point's noise is drawn once and scaled to all sizes. With shared draws
        all points, training and test get the same k offsets on top of that: the published 2-D study
        was made so (Siedel et al. 2022, Table 2).
        """
        if self.draws == "shared":
            rows = np.zeros_like(rows)
        key = digest(SCHEME, data.fingerprint, self.stream(corruption), self.run, self.seed)
        return row_keys(key, rows, draws)

    def stream(self, corruption: Corruption) -> str:
        """Name of the noise: corruptions of the same name meet the same draws."""
        return corruption.spec if self.draws == "independent" else corruption.ladder


def evaluate(
    model: Any,
    data: Any,
    corruptions: Corruptions,
    *,
    k: int | None = None,
    seed: int = 0,
    store: str | Path | None = None,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws | None = None,
    device_noise: bool = False,
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
        Spec strings such as ``linf(0.1)``, or suites, such as ``suite("pnorm-cifar")``;
        ``linf(eps_min)`` stands for half the separation of these data.
    k
        Noisy copies of every point; by default 10, for a suite what it was published with.
    seed
        Every model gets the same noise from the same seed, so their results are paired.
    store
        Results file; cells that are in it already are not computed again.
    bounds
        (low, high) to clip to, a `Bounds` for another rule, None for no bounds; by default what
        the data declare.
    draws
        ``"independent"`` noise for every corruption, the default outside suites. ``"ladder"``, the
        default within them, draws a point's noise once a norm and scales it to all sizes: a tenth
        of the work for ten sizes, and less chance in the steps between them; the noise of one size
        is distributed the same. ``"shared"`` gives all points the same k offsets besides, for
        reproducing the 2-D study only.
    device_noise
        Make noise on the device of a torch module, not on the CPU. Quicker there, and of the same
        laws; but other models meet other noise, so results are never paired with theirs.
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
        limits = bounds_of(data, bounds)
        plain = Noise(
            k=10 if k is None else k,
            seed=seed,
            draws=draws or "independent",
            bounds=limits,
            on_device=device_noise,
        )
        if device_noise and classifier.device is None:
            raise InputError(
                f"device_noise needs a torch module, and model {classifier.name} is none; leave "
                "it out: noise is then made on the CPU"
            )
        identity = classifier.identity or f"once {digest(time.time_ns()):016x}"
        maker = Maker(classifier.name, recipe=identity, train=AS_GIVEN)
        points = make_points(data, rows)
        met: list[tuple[Corruption, Noise]] = [(Clean(), plain)]
        for item in _listed(corruptions):
            noise = plain
            if isinstance(item, Suite):
                own = replace(plain, k=item.k if k is None else k, draws=draws or "ladder")
                noise = replace(own, bounds=range_of(data, bounds) if item.needs_range else limits)
            met += [(c, noise) for c in resolve([item], data, opened, noise.bounds)]
        cells = [Cell(data, points, c, noise, maker, identity) for c, noise in met]
        distinct = list({cell.key: cell for cell in cells}.values())
        return _measure_missing(opened, classifier, distinct, progress=progress)


def bounds_of(data: Dataset, bounds: BoundsLike | Literal["declared"]) -> Bounds | None:
    """Bounds to keep noise in, as asked for; refused when the data themselves leave them."""
    chosen = data.bounds if bounds == "declared" else as_bounds(bounds)
    if chosen is not None:
        chosen.check(as_floats(np.array([data.x.min(), data.x.max()], dtype=data.x.dtype)))
        if data.x.dtype == np.uint8 and (chosen.low, chosen.high) == (0, 1):
            chosen = replace(chosen, steps=255)
    return chosen


def range_of(data: Dataset, bounds: BoundsLike | Literal["declared"]) -> Bounds | None:
    """Bounds for corruptions that need a value range: scaled features lie in [0, 1]."""
    if bounds == "declared" and data.bounds is None and data.scaling is not None:
        return Bounds(0.0, 1.0)
    return bounds_of(data, bounds)


def _measure_missing(
    store: Store, classifier: Classifier, cells: Sequence[Cell], *, progress: bool
) -> Records:
    """Measure the cells that `store` does not have yet, and return all that were asked for."""
    known = store.keys()
    groups = together(cell for cell in cells if cell.key not in known)
    for records in shaken(groups, classifier, progress=progress):
        store.add(records)
    return recorded(store, cells)


def shaken(
    groups: Sequence[Sequence[Cell]], classifier: Classifier, *, progress: bool
) -> Iterator[list[Record]]:
    """Measure group after group of cells that meet the same draws."""
    questions = sum(len(group) * len(list(_batches(group[0]))) for group in groups)
    with count_steps(f"shaking {classifier.name}", total=questions, enabled=progress) as step:
        for group in groups:
            yield measure(group, classifier, step)


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
    def is_clean(self) -> bool:
        """Whether the points are as they are."""
        return isinstance(self.corruption, Clean)

    @property
    def k(self) -> int:
        """Draws a point; clean points are measured once, and so are pictures that are read."""
        return 1 if self.is_clean or self.corruption.by_row else self.noise.k

    @property
    def bounds(self) -> str:
        """The bounds as recorded; clean points have none."""
        return "none" if self.is_clean else str(self.noise.bounds or "none")

    @property
    def draws(self) -> str:
        """How noise was drawn; clean points have none."""
        return "none" if self.is_clean else self.noise.draws

    @property
    def made_on(self) -> str:
        """Where noise is made; clean points have none."""
        on_device = self.noise.on_device and not self.corruption.by_row
        return "none" if self.is_clean else "device" if on_device else "cpu"

    @property
    def key(self) -> str:
        """Hash of all that the counts depend on."""
        noise = self.noise
        parts = (self.corruption.spec, self.points.id, self.model_id, self.bounds, self.draws,
                 self.made_on, self.k, noise.seed, noise.run)  # fmt: skip
        return f"{digest(SCHEME, *parts):016x}{digest(*parts, 'second half'):016x}"


def together(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells of one model in groups that meet the same draws: levels of a ladder, or one alone."""
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        stream = cell.noise.stream(cell.corruption)
        groups.setdefault((replace(cell.noise, k=cell.k), stream), []).append(cell)
    return list(groups.values())


def measure(cells: Sequence[Cell], model: Classifier, step: Callable[[], None]) -> list[Record]:
    """Shake a model with cells that meet the same draws, and count; a step is one question."""
    first, started = cells[0], time.perf_counter()
    data, rows = first.data, first.points.rows
    hits = np.zeros((len(cells), len(rows)), np.int64)
    predictions = np.zeros(len(rows), np.int64)
    bound = [cell.corruption.bind(cell.noise.bounds) for cell in cells]
    strongest = max(bound, key=lambda c: c.size)
    dtype = ""
    for some, draws in _batches(first):
        x: Any = np.repeat(data.rows(rows[some]), len(draws), axis=0)
        dtype = str(x.dtype)
        if first.noise.on_device:
            x = model.to_device(x)
        keys = _keys(first, rows[some], draws).reshape(-1)
        drawn = strongest.draw(x, keys)
        for i, corruption in enumerate(bound):
            codes = model(corruption.apply(x, drawn)).reshape(-1, len(draws))
            predictions[some] = codes[:, 0]
            hits[i, some] += (codes == data.y[rows[some], None]).sum(axis=1)
            step()
    seconds = (time.perf_counter() - started) / len(cells)
    return [
        Record(
            key=cell.key, points=cell.points, data=data.name, fingerprint=data.fingerprint,
            model=cell.maker.name, recipe=cell.maker.recipe, model_id=cell.model_id,
            train=cell.maker.train, corruption=cell.corruption.spec, bounds=cell.bounds,
            draws=cell.draws, noise=cell.made_on, dtype=dtype, k=cell.k, seed=cell.noise.seed,
            run=cell.noise.run,
            hits=right, predictions=predictions if cell.is_clean else None,
            versions=list_versions() if model.device is None else list_versions("torch"),
            created=datetime.now(UTC).isoformat(timespec="seconds"), seconds=seconds,
        )
        for cell, right in zip(cells, hits, strict=True)
    ]  # fmt: skip


def _keys(cell: Cell, rows: IntArray, draws: IntArray) -> Any:
    """Keys of every row and draw, shape (rows, draws), as the corruption understands them."""
    if cell.corruption.by_row:
        places = rows - (cell.data.n_train or 0)
        return np.repeat(places.astype(np.uint64)[:, None], len(draws), axis=1)
    return cell.noise.keys(cell.data, cell.corruption, rows, draws)


def resolve(
    corruptions: Corruptions, data: Dataset, store: Store, bounds: Bounds | None
) -> list[Corruption]:
    """Corruptions from their specs; suites, and separations for ``eps_min``, are recorded.

    What is on record is not measured again, and metrics know by it which cells are at eps_min.
    """

    def eps_min(p: float) -> float:
        known = store.separation(data.fingerprint, p)
        if known is None:
            known = SeparationRecord.of(separation(data, norm=p), data.fingerprint)
            store.add_separation(known)
        return known.epsilon_min

    found: list[Corruption] = []
    for c in _listed(corruptions):
        if isinstance(c, Suite):
            mine = c.on(data.shape, bounds)
            members = _ready((parse(name, eps_min=eps_min) for name in mine.names), data)
            specs = tuple(member.spec for member in members)
            store.add_suite(
                SuiteRecord(data.fingerprint, mine.name, mine.metric, mine.derived, specs)
            )
            found += members
        else:
            found += _ready([parse(c, eps_min=eps_min) if isinstance(c, str) else c], data)
    for c in found:
        if c != c.bind(None):
            raise InputError(f"bounds of {c.spec} must be left out; give them to evaluate instead")
    return found


def _ready(corruptions: Iterable[Corruption], data: Dataset) -> list[Corruption]:
    """Corruptions with all filled in that the data decide, but for the value range."""
    return open_published(
        [c.for_shape(data.shape).for_columns(data.columns) for c in corruptions], data
    )


def _listed(corruptions: Corruptions) -> list[str | Corruption | Suite]:
    return [corruptions] if isinstance(corruptions, str | Suite) else list(corruptions)


def with_clean(corruptions: Iterable[Corruption]) -> list[Corruption]:
    """Clean points first, then every corruption once."""
    return list({c.spec: c for c in (Clean(), *corruptions)}.values())


def make_points(data: Dataset, rows: IntArray) -> Points:
    """Name the points that cells are measured on."""
    id_ = f"{digest(data.fingerprint, rows.astype('<i8').tobytes()):016x}"
    return Points(id_, data.classes, rows, data.y[rows])


def _batches(cell: Cell) -> Iterator[tuple[slice, IntArray]]:
    """Points and draws that fit into one batch together."""
    n, k, fit = len(cell.points.rows), cell.k, max(1, min(BATCH_VALUES // cell.data.d, BATCH_ROWS))
    rows, draws = max(1, fit // k), min(k, fit)
    for i in range(0, n, rows):
        for j in range(0, k, draws):
            yield slice(i, min(n, i + rows)), np.arange(j, min(k, j + draws))

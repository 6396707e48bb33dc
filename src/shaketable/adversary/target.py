"""What is attacked: a fitted model, and the points around which adversaries search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.adversary.embedded import EmbeddedCells
from shaketable.adversary.one_nn import FittedOneNN, extract_one_nn
from shaketable.adversary.proofs.registry import Prover, find_provers
from shaketable.adversary.region import Constraint, Held, Region
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.corruptions import PNormNoise
from shaketable.corruptions.only import fit_to_columns
from shaketable.data.bounds import Bounds, BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.data.sampling import Sample
from shaketable.evaluation.attack_record import AttackRecord
from shaketable.evaluation.cells import Cell, Origin, make_points, measure_groups
from shaketable.evaluation.certificate_record import CertificateRecord
from shaketable.evaluation.noise import Noise, choose_bounds
from shaketable.evaluation.records import AS_GIVEN, Points
from shaketable.models.classifier import Classifier, as_classifier
from shaketable.models.embedding import PlacedEmbedding, as_embedding
from shaketable.models.fitting import fit
from shaketable.separations.opponents import check_moving, place_beside

_BATCH = 1 << 22  # values of the points that a model labels at a time


Draws: TypeAlias = tuple[IntArray, int]
"""Hits of every point, and the number of draws per point."""


@dataclass(frozen=True, eq=False)
class Attacked:
    """What results need to know of a target: its points and labels, without data and model."""

    model: str
    model_id: str
    """Identifies the model; empty for a function without an ID."""
    data: str
    fingerprint: str
    is_table: bool
    """Whether the data are a table of several kinds of columns."""
    points: Points
    codes: IntArray
    """Class codes that the model gives the points as they are."""
    bounds: str
    seed: int
    embedding: str = ""
    """Embedding in which Voronoi cells are, and what identifies it; empty if there is none."""
    about_data: tuple[str, ...] = ()
    about_model: tuple[str, ...] = ()

    @classmethod
    def restore(cls, r: AttackRecord | CertificateRecord, *, embedding: str = "") -> Attacked:
        """Return what a record of a results file holds."""
        return cls(
            model=r.model,
            model_id=r.model_id,
            data=r.data,
            fingerprint=r.fingerprint,
            is_table=r.is_table,
            points=r.points,
            codes=r.codes,
            bounds=r.bounds,
            seed=r.seed,
            embedding=embedding,
            about_data=r.about_data,
            about_model=r.about_model,
        )

    @property
    def rows(self) -> IntArray:
        """Rows of the points, ascending."""
        return self.points.rows

    @property
    def right(self) -> Array:
        """Whether the model labels each point correctly as it is."""
        return np.asarray(self.codes == self.points.y)


@dataclass(frozen=True, eq=False)
class Target:
    """A fitted model, and the points it is attacked at."""

    data: Dataset
    rows: IntArray
    """Rows of the points, ascending."""
    classifier: Classifier
    one_nn: FittedOneNN | None
    """The model, if it is a 1-NN classifier in the units of the data."""
    provers: tuple[Prover, ...]
    """What can say of this model how far failures are away."""
    bounds: Bounds | None
    seed: int
    embedding: PlacedEmbedding | None = None
    """Map to vectors, whose distances make the Voronoi cells."""

    @classmethod
    def of(
        cls,
        model: Any,
        data: Any,
        *,
        bounds: BoundsLike | Literal["declared"] = "declared",
        seed: int = 0,
        name: str | None = None,
        refit: bool = False,
        own: bool = False,
        split: bool = False,
        unscale: bool = False,
        points: int | None = None,
        embedding: Any = None,
    ) -> Target:
        """Prepare a model and the points it is attacked at.

        Parameters
        ----------
        model, data
            As in `evaluate`. The model is attacked at the test part; a fitted model at all points
            if the data have no test part.
        bounds, name, refit, unscale
            As in `evaluate`.
        seed
            Seed of random starts, and of the split where the data have no test part.
        own
            Attack at all points, and train on all of them if `refit`: the setting of theorems.
        split
            Attack a fitted model at the test part on which a model trained here would be attacked.
        points
            Attack only so many of these points, drawn with `seed`.
        embedding
            Map to vectors, whose distances make the Voronoi cells, as in `separation`.
        """
        data = as_dataset(data)
        place = None
        if embedding is not None:
            scaled = unscale and data.scaling is not None
            place = as_embedding(embedding).bind(data, unscale=scaled)
        check_moving(data)
        rows, model = _select_points(model, data, seed, refit=refit, own=own, split=split)
        rows = rows if points is None else rows[Sample(points, seed).choose(len(rows))]
        unscale = unscale and not refit and data.scaling is not None
        classifier = as_classifier(model, data, name=name, unscale=unscale)
        plain = data.table is None
        if not plain:  # gradients would follow columns that are held
            classifier = replace(classifier, device=None)
        one_nn = extract_one_nn(model, features=data.features) if plain and not unscale else None
        provers = find_provers(model, data, unscale=unscale)
        limits = choose_bounds(data, bounds)
        return cls(data, rows, classifier, one_nn, provers, limits, seed, place)

    def under(self, constraint: Constraint) -> Target:
        """Return what this constraint needs of it: no embedding, or no proofs for other cells."""
        if self.embedding is None:
            return self
        if constraint == "none":
            return replace(self, embedding=None)
        return replace(self, one_nn=None, provers=())

    @property
    def is_nameless(self) -> bool:
        """Whether an embedding is a function without an ID, so that results must not be kept."""
        return self.embedding is not None and self.embedding.identity is None

    @cached_property
    def points(self) -> Array:
        """The points as models take them."""
        return self.data.rows(self.rows)

    @cached_property
    def y(self) -> IntArray:
        """Class codes of the points."""
        return self.data.y[self.rows]

    @cached_property
    def right(self) -> Array:
        """Whether the model labels each point correctly as it is."""
        return np.asarray(self.codes == self.y)

    @cached_property
    def codes(self) -> IntArray:
        """Class codes that the model gives the points as they are."""
        return self.predict(self.points)

    @cached_property
    def keys(self) -> KeyArray:
        """One random key per point."""
        key = digest("adversary", SCHEME, self.data.fingerprint, int(self.seed))
        return np.asarray(row_keys(key, self.rows, np.arange(1))[:, 0])

    @cached_property
    def attacked(self) -> Attacked:
        """What results need to know of it."""
        return Attacked(
            model=self.classifier.name,
            model_id=self.classifier.identity or "",
            data=self.data.name,
            fingerprint=self.data.fingerprint,
            is_table=self.data.table is not None,
            points=make_points(self.data, self.rows),
            codes=self.codes,
            bounds=str(self.bounds or "none"),
            seed=self.seed,
            embedding="" if self.embedding is None else self.embedding.title,
            about_data=(*self.data.notes(), *self._note_cells()),
            about_model=tuple(self.classifier.notes),
        )

    def _note_cells(self) -> list[str]:
        if self.embedding is None:
            return []
        return [
            f"Voronoi cells are those of the points embedded by {self.embedding.name}: a point "
            "counts if its vector is closer to that of x than to any other. Epsilon and eps_min "
            "are distances of the points themselves"
        ]

    def evaluate_noise(
        self, p: float, ladder: Iterable[float], k: int, *, progress: bool = False
    ) -> dict[float, Draws]:
        """Draw random noise of every size at the points, k times each."""
        noise = Noise(k=k, seed=self.seed, draws="ladder", bounds=self.bounds)
        points, origin = self.attacked.points, Origin(self.classifier.name, "", AS_GIVEN)
        if not (sizes := sorted({e for e in ladder if e > 0})):
            return {}
        noises = [fit_to_columns(PNormNoise(p, e), self.data.columns) for e in sizes]
        cells = [Cell(self.data, points, each, noise, origin, "") for each in noises]
        return {
            epsilon: (record.hits, record.k)
            for records in measure_groups([cells], self.classifier, progress=progress)
            for epsilon, record in zip(sizes, records, strict=True)
        }

    def predict(self, points: Array) -> IntArray:
        """Class codes that the model gives points of its own type and shape."""
        size = max(1, _BATCH // self.data.d)
        parts = [self.classifier(points[i : i + size]) for i in range(0, len(points), size)]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def make_region(
        self, p: float, reach: float, constraint: Constraint, *, progress: bool = False
    ) -> Region:
        """Region of radius `reach` around the points; Voronoi cells are those of these points."""
        if constraint not in get_args(Constraint):
            raise unknown_name("constraint", str(constraint), get_args(Constraint))
        if p < 1 and constraint != "none":
            raise InputError(f"norm must be 1 or more for cells, got {p:g}; take constraint none")
        x, held = self.points.reshape(len(self.rows), -1).astype(np.float64), None
        if self.data.table is not None:
            held = Held(self.points, self.data.table)
            x = held.moving
        region = Region(x, self.data.shape, self.points.dtype, p, reach, constraint)
        region = replace(region, bounds=self.bounds, held=held)
        if constraint == "none":
            return region
        if self.embedding is not None:
            embedded = EmbeddedCells.of(region, self.embedding, progress=progress)
            embedded.refuse_clashes(self.y)
            return replace(region, voronoi=embedded)
        device = fast_device(self.classifier)
        if self.data.table is not None:
            beside = place_beside(self.data, self.rows, p, reach)
            region = replace(region, beside=beside if beside.shape[1] else None)
            x = np.hstack([x, beside])
        voronoi = VoronoiCells.of(x, p, reach, dtype=region.dtype, progress=progress, device=device)
        voronoi.refuse_clashes(self.y)
        return replace(region, voronoi=voronoi)


def fast_device(model: Classifier) -> str | None:
    """Device of a model if it computes distances in float64 faster than the CPU, else None."""
    return str(model.device) if getattr(model.device, "type", "") == "cuda" else None


def _select_points(
    model: Any, data: Dataset, seed: int, *, refit: bool, own: bool, split: bool
) -> tuple[IntArray, Any]:
    """Rows to evaluate, ascending, and the model, fitted if `refit`."""
    if own:
        every = np.arange(data.n)
        return every, fit(model, data, every, seed=seed) if refit else model
    if refit or split:
        train, test = data.parts(seed=seed)
        return np.sort(test), fit(model, data, train, seed=seed) if refit else model
    return np.arange(data.n_train or 0, data.n), model

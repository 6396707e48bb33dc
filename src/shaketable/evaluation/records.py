"""Records: one row a cell, with the counts that all metrics and reports are made from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm_level
from shaketable.core.types import IntArray
from shaketable.corruptions.suites.suite import SuiteKind, suite_kind
from shaketable.separations.record import SeparationRecord

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Points:
    """The points a cell was measured on: rows of the data set and their class codes."""

    id: str
    classes: tuple[Any, ...]
    rows: IntArray
    y: IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """One cell: one model met one corruption, k draws a point."""

    key: str
    points: Points
    data: str
    fingerprint: str
    model: str
    recipe: str
    """What the models of all runs have in common; for a model brought fitted, its `model_id`."""
    model_id: str
    """Tells this very model from any other."""
    train: str
    """Training noise as a spec string; ``clean`` for plain training, ``as given`` if not ours."""
    corruption: str
    bounds: str
    draws: str
    noise: str
    """Where noise was made: ``cpu``, ``device``, or ``none``."""
    dtype: str
    k: int
    seed: int
    run: int
    hits: IntArray
    """How many of its k draws were classified correctly, per point."""
    predictions: IntArray | None = None
    """Class codes answered on clean points; None for noise."""
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""
    seconds: float = math.nan

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.hits)

    @property
    def accuracy(self) -> float:
        """Share of draws classified correctly."""
        return float(self.hits.sum() / (self.n * self.k))

    @property
    def epsilon(self) -> float | None:
        """Size of p-norm noise, 0 for none; None for any other corruption."""
        return _epsilon(self.corruption)

    @property
    def train_epsilon(self) -> float | None:
        """Size of the training noise, likewise."""
        return _epsilon(self.train)


@dataclass(frozen=True, eq=False)
class Records:
    """What was measured: cells, the separations of their data, and the suites they belong to."""

    cells: tuple[Record, ...]
    separations: tuple[SeparationRecord, ...] = ()
    suites: tuple[SuiteRecord, ...] = ()

    def __iter__(self) -> Iterator[Record]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __add__(self, other: Records) -> Records:
        cells = {c.key: c for c in (*self.cells, *other.cells)}
        known = {(s.fingerprint, s.norm): s for s in (*self.separations, *other.separations)}
        suites = tuple(dict.fromkeys((*self.suites, *other.suites)))
        return Records(tuple(cells.values()), tuple(known.values()), suites)

    def __repr__(self) -> str:
        return f"<Records: {len(self)} cells, models {', '.join(self.models)}>"

    @cached_property
    def models(self) -> list[str]:
        """Names of the models, in the order they came."""
        return list(dict.fromkeys(cell.model for cell in self))

    def select(self, **wanted: object) -> Records:
        """Only the cells whose fields equal the given values, such as ``model="rf"``."""
        unknown_fields = set(wanted) - {
            *(f.name for f in fields(Record)),
            "epsilon",
            "train_epsilon",
        }
        if unknown_fields:
            raise InputError(f"records have no field {sorted(unknown_fields)[0]!r}")
        cells = (c for c in self if all(getattr(c, name) == v for name, v in wanted.items()))
        return replace(self, cells=tuple(cells))

    def at_eps_min(self, cell: Record) -> bool:
        """Whether the cell's noise is exactly eps_min of its data in its own norm."""
        level = pnorm_level(cell.corruption)
        return any(
            s.fingerprint == cell.fingerprint and level == (s.norm, s.epsilon_min)
            for s in self.separations
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a cell as a pandas DataFrame; accuracies are fractions."""
        import pandas as pd  # only where a frame is wanted

        columns = [
            "data", "model", "train", "corruption", "bounds", "draws", "k", "seed", "run", "n",
            "accuracy", "seconds", "key",
        ]  # fmt: skip
        return pd.DataFrame([[getattr(c, name) for name in columns] for c in self], columns=columns)


@dataclass(frozen=True)
class SuiteRecord:
    """What metrics and reports need to know of a suite that was measured on some data."""

    fingerprint: str
    name: str
    metric: str
    """The metric it is made for; empty for none."""
    derived: str
    """How its sizes were derived; empty for published ones."""
    specs: tuple[str, ...]

    @property
    def kind(self) -> SuiteKind:
        """What the suite consists of; see `suite_kind`."""
        return suite_kind(self.metric)


def _epsilon(spec: str) -> float | None:
    if spec == "clean":
        return 0.0
    level = pnorm_level(spec) if spec != "as given" else None
    return None if level is None else level[1]
